//! Forests: trees that are functions of (data, parameters, seed, index), grown in parallel and averaged.

mod grow;

use std::sync::Arc;

use crate::data::Outputs;
use crate::tree::Tree;

/// A fitted forest. Immutable; trees are shared, so that a forest of more trees costs only the new ones.
#[derive(Clone, Debug, PartialEq)]
pub struct Forest {
    pub(crate) n_features: usize,
    pub(crate) outputs: Outputs,
    pub(crate) trees: Vec<Arc<Tree>>,
}
