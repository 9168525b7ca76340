//! The memory of the compression of a forest.

use super::trees::{TREES, most_leaves};
use super::{FitShapes, MemoryTerm, bytes, count};
use crate::compress::CompressConfig;
use crate::forest::ForestConfig;

/// The bytes of a node on the path without its gradients, and the number of columns up to which a node has a gradient
/// for each.
const NODE: u128 = 60;
const MOST_GRADIENTS: usize = 16;

impl CompressConfig {
    /// Estimates the memory of growing a forest with parameters `grow` on data of these shapes, with this number of
    /// threads, and of compressing it: see [`crate::memory`]. The memory does not depend on the parameters of
    /// compression. `n_fitted`: the number of trees of a forest that is already grown.
    pub fn fit_memory(
        grow: &ForestConfig,
        n_fitted: Option<usize>,
        shapes: &FitShapes,
        n_threads: usize,
    ) -> Vec<MemoryTerm> {
        let growth = if n_fitted.is_some() { Vec::new() } else { grow.fit_memory(shapes, n_threads) };
        // Only the trees are certain to be there when the forest is compressed.
        let at_end = |term: MemoryTerm| term.certain_if(term.is_certain && term.what == TREES);
        let mut found: Vec<MemoryTerm> = growth.into_iter().map(at_end).collect();
        let (n, n_trees) = (count(shapes.n_samples), count(n_fitted.unwrap_or(grow.n_trees)));
        let n_nodes = n_trees * 2 * most_leaves(&grow.tree, n);
        let of_node = NODE + bytes::<f64>() * count(shapes.width.min(MOST_GRADIENTS));
        found.extend([
            MemoryTerm::new("the samples of nodes", bytes::<u64>() * n * n_trees).certain_if(!shapes.is_weighted),
            MemoryTerm::new("the residuals", 2 * bytes::<f64>() * n * count(shapes.width)),
            MemoryTerm::new("the values of nodes", n_nodes * of_node),
        ]);
        found
    }
}
