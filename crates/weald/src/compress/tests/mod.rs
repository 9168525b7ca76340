//! Properties of compression, in addition to the tests of single modules.

mod cross_validate;
mod grow;
mod label_weight;
mod lasso;
mod rows;
mod stagewise;
