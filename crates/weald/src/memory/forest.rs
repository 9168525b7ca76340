//! The memory of a fit of a forest, of which a single tree is a case.

use super::trees::{Growth, columns, gaps, leaf_bytes, most_leaves, n_projections, of_each, sets_of_categories};
use super::{FitShapes, MemoryTerm, bytes, count};
use crate::criterion::variance;
use crate::forest::{ForestConfig, Sampling};
use crate::tree::{Tree, grow};

impl ForestConfig {
    /// Estimates the memory of a fit on data of these shapes, with this number of threads: see [`crate::memory`].
    /// Parameters that the fit refuses may count as nothing.
    pub fn fit_memory(&self, shapes: &FitShapes, n_threads: usize) -> Vec<MemoryTerm> {
        let draws = self.sampling != Sampling::All;
        let growth = Growth::new(self.n_trees, n_threads, shapes, self.sampling);
        let Growth { n_trees, at_once, n_rows } = growth;
        let mut found = columns(&self.tree, shapes, growth, draws || shapes.is_weighted);
        let projection = self.tree.output_projection.as_ref();
        let q = projection.map(|phi| n_projections(&phi.family, phi.n_projections, shapes.width));
        if shapes.is_dense_numbers || q.is_some() {
            // Rounded targets and the weight, and the projected targets from which they are made.
            let of_outputs = bytes::<f64>() * (q.unwrap_or(count(shapes.width)) + 1 + q.unwrap_or(0));
            let of_tree = count(shapes.n_samples) * (variance::BYTES_OF_A_SAMPLE as u128 + of_outputs);
            found.extend(of_each(["the targets of a tree", "the targets of other trees"], of_tree, at_once));
        }
        let leaves = most_leaves(&self.tree, n_rows);
        let n_nodes = 2 * leaves;
        found.extend([
            MemoryTerm::new("the leaves of all trees", n_trees * leaf_bytes(shapes, leaves, n_rows)),
            MemoryTerm::new("the nodes of all trees", n_trees * n_nodes * Tree::BYTES_OF_A_NODE as u128),
            MemoryTerm::new("the nodes of growing trees", at_once * n_nodes * grow::BYTES_OF_A_NODE as u128),
        ]);
        found.extend(gaps(shapes));
        found.extend(sets_of_categories(shapes, growth, leaves));
        found
    }
}
