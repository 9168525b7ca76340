//! Trees and tree ensembles for data that is wide on both sides.
#[cfg(feature = "bench-internals")]
#[doc(hidden)]
pub mod bench;
mod config;
mod control;
mod criterion;
pub mod data;
mod error;
pub mod forest;
mod model_file;
mod partition;
mod pool;
mod rng;
mod split;
#[cfg(test)]
pub(crate) mod testing;
pub mod tree;

pub use config::{Criterion, ForestConfig, MaxFeatures, Sampling, Splitter, TreeConfig};
pub use control::Control;
pub use data::{ClassWeight, LabelView, Matrix, RowWeights, SparseView, Targets, targets::Outputs};
pub use error::{Error, ErrorKind, Result};
pub use forest::{DecisionPath, Forest, Oob, TopK};
pub use tree::{LeafTable, Node, Tree};
