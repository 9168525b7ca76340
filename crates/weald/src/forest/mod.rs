//! Forests: trees that are functions of (data, parameters, seed, index), grown in parallel and averaged.
//!
//! A prediction is the *mean over trees*. The sum is taken in the order of the trees and divided by their number at the
//! end, so that it is bit for bit the same for any number of threads, any block of samples and any layout of X. A
//! sample is *out of bag* for a tree that did not draw it.
//!
//! | file | what |
//! |---|---|
//! | `bootstrap`, `draws` | the samples that each tree draws, and their weights in that tree |
//! | `predict` | means over trees, leaves, paths, the best k columns, partial dependence, by [`crate::model`] |
//! | `methods` | the methods of trees and predictions that forests of any trees have |
//! | `compact` | the same trees with leaves that need less memory |
//! | `oob` | means over the trees for which a sample is out of bag, and their spread |
//! | `importance`, `prune` | operations on single trees, applied to all trees |
//! | `by_output` | a forest of its own for each output: growth, out-of-bag predictions and pruning |
//! | `stored_samples` | the weights of training samples in predictions, and quantiles and draws from them |
//!
//! The growth of a tree is in [`crate::tree`], and reading trees is in [`crate::model`].

pub(crate) mod bootstrap;
mod by_output;
mod compact;
pub(crate) mod config;
pub(crate) mod draws;
pub(crate) mod grow;
mod importance;
mod methods;
pub(crate) mod oob;
mod predict;
mod prune;
mod stored_samples;
#[cfg(test)]
mod tests;

pub use crate::model::{DecisionPath, SparseScores, TopK};
pub use config::{ForestConfig, Sampling};
pub(crate) use methods::forest_methods;
pub use oob::{Oob, SparseOob};
pub use stored_samples::StoredSamples;

use std::sync::Arc;

use crate::data::Outputs;
use crate::error::{Error, Purpose, Result};
use crate::tree::Tree;

/// A fitted forest. It is immutable, and its trees are shared, so that extending a forest costs memory only for the new
/// trees.
#[derive(Clone, Debug, PartialEq)]
pub struct Forest {
    pub(crate) n_features: usize,
    pub(crate) outputs: Outputs,
    /// The trees, in order. If they are grown for one output each, tree t of d outputs is tree ⌊t / d⌋ of output t mod d.
    pub(crate) trees: Vec<Arc<Tree>>,
    /// Whether each tree is grown for one output, of several numerical outputs or labels, and has its values alone.
    pub(crate) by_output: bool,
}

forest_methods!(Forest, Tree, ForestConfig);

impl From<Tree> for Forest {
    /// Makes a forest of one tree.
    fn from(tree: Tree) -> Self {
        Forest::from(Arc::new(tree))
    }
}

impl From<Arc<Tree>> for Forest {
    /// Makes a forest of one tree, which is shared and not copied.
    fn from(tree: Arc<Tree>) -> Self {
        Forest { n_features: tree.n_features, outputs: tree.outputs().clone(), trees: vec![tree], by_output: false }
    }
}

impl Forest {
    /// Returns one forest with the trees of all `parts`, in order. Trees are shared, not copied.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Invalid`] if `parts` is empty, or if the parts differ in features, outputs or
    /// criterion.
    pub fn merge(parts: &[&Forest]) -> Result<Forest> {
        const WHAT: &str = "forests to merge";
        let first = parts.first().ok_or_else(|| Error::invalid(WHAT, "none", "have at least one part"))?;
        let mut trees = Purpose("the merged forest").with_capacity(parts.iter().map(|part| part.n_trees()).sum())?;
        for part in parts {
            if part.n_features != first.n_features {
                let got = format!("{} and {} features", first.n_features, part.n_features);
                return Err(Error::invalid(WHAT, got, "have the same number of features"));
            }
            if part.outputs != first.outputs {
                return Err(Error::invalid(WHAT, "different outputs", "have the same outputs and classes"));
            }
            if part.by_output != first.by_output {
                let got = "trees of one output and trees of all outputs";
                return Err(Error::invalid(WHAT, got, "have the same output strategy"));
            }
            trees.extend(part.trees.iter().cloned());
        }
        let mut criteria = trees.windows(2).map(|pair: &[Arc<Tree>]| (pair[0].criterion, pair[1].criterion));
        if let Some((a, b)) = criteria.find(|(a, b)| a != b) {
            return Err(Error::invalid(WHAT, format!("{a:?} and {b:?}"), "have the same criterion"));
        }
        Ok(Forest { trees, ..(*first).clone() })
    }
}
