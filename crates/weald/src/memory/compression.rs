//! The memory of the compression of a forest.

use super::trees::{TREES, most_leaves};
use super::{FitShapes, MemoryTerm, bytes, count};
use crate::compress::CompressConfig;
use crate::forest::{Forest, ForestConfig};

/// The bytes of a node on the path without its gradients, and the number of columns up to which a node has a gradient
/// for each.
const NODE: u128 = 60;
const MOST_GRADIENTS: u128 = 16;

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
        let at_end = |term: MemoryTerm| MemoryTerm { is_certain: term.is_certain && term.what == TREES, ..term };
        let mut found: Vec<MemoryTerm> = growth.into_iter().map(at_end).collect();
        let n_trees = count(n_fitted.unwrap_or(grow.n_trees));
        found.extend(of_path(n_trees, n_trees * 2 * most_leaves(&grow.tree, count(shapes.n_samples)), shapes));
        found
    }

    /// Estimates the memory of the path of this forest.
    pub fn path_memory(forest: &Forest, shapes: &FitShapes) -> Vec<MemoryTerm> {
        let n_nodes = forest.trees().iter().map(|tree| count(tree.n_nodes())).sum();
        of_path(count(forest.n_trees()), n_nodes, shapes).to_vec()
    }
}

fn of_path(n_trees: u128, n_nodes: u128, shapes: &FitShapes) -> [MemoryTerm; 3] {
    let (n, width) = (count(shapes.n_samples), count(shapes.width));
    let of_node = NODE + bytes::<f64>() * width.min(MOST_GRADIENTS);
    let samples = MemoryTerm::new("the samples of nodes", bytes::<u64>() * n * n_trees);
    [
        samples.certain_if(!shapes.is_weighted, "compress a forest of fewer trees"),
        MemoryTerm::new("the residuals", 2 * bytes::<f64>() * n * width),
        MemoryTerm::new("the values of nodes", n_nodes * of_node),
    ]
}
