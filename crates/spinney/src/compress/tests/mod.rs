//! What must hold for compression, apart from what modules test of themselves.

mod cross_validate;
mod grow;
mod label_weight;
mod lasso;
mod rows;
mod stagewise;
