//! The memory of a fit of a forest, of which a single tree is a case.

use super::trees::{
    Growth, STORED, columns, gaps, leaf_bytes, most_leaves, n_projections, objects, of_each, sets_of_categories,
};
use super::{FitShapes, LayoutOfX, MemoryTerm, bytes, count};
use crate::criterion::{cells, variance};
use crate::forest::{ForestConfig, Sampling};
use crate::tree::{Tree, TreeConfig, growth::grow};

impl TreeConfig {
    /// Estimates the memory of a fit of one tree: see [`ForestConfig::fit_memory`].
    pub fn fit_memory(&self, shapes: &FitShapes, n_threads: usize) -> Vec<MemoryTerm> {
        let forest = ForestConfig::random_forest(self.criterion).sampling(Sampling::All).n_trees(1);
        forest.tree(self.clone()).fit_memory(shapes, n_threads)
    }
}

impl ForestConfig {
    /// Estimates the memory of a fit on data of these shapes, with this number of threads: see [`crate::memory`].
    /// Parameters that the fit refuses may count as nothing.
    pub fn fit_memory(&self, shapes: &FitShapes, n_threads: usize) -> Vec<MemoryTerm> {
        let n_outputs = shapes.n_cells.checked_div(shapes.n_samples).unwrap_or(0);
        // Classes have more columns than outputs, unless each output has one class.
        if !self.by_output || n_outputs < 2 || n_outputs != shapes.width {
            return self.terms(shapes, 1, n_threads);
        }
        let n_known = shapes.n_cells.saturating_sub(shapes.n_unknown);
        let (some_unknown, n_samples) = (shapes.n_unknown > 0, n_known / n_outputs);
        let share = |n: usize| (n as u128 * count(n_samples) / count(shapes.n_samples).max(1)) as usize;
        let layout = match shapes.layout {
            layout if !some_unknown => layout,
            LayoutOfX::RowMajor | LayoutOfX::ColumnMajor => LayoutOfX::ColumnMajor,
            LayoutOfX::Csr(n) | LayoutOfX::Csc(n) => LayoutOfX::Csr(share(n)),
        };
        let one = FitShapes {
            n_samples,
            layout,
            width: 1,
            n_entries: shapes.n_entries / n_outputs,
            n_cells: n_samples,
            n_unknown: 0,
            is_dense_numbers: shapes.is_dense_numbers,
            ..shapes.clone()
        };
        let mut found = self.terms(&one, n_outputs, n_threads);
        if some_unknown {
            let at_once = count(n_threads.clamp(1, n_outputs));
            let of_x = match layout.n_stored() {
                None => bytes::<f32>() * count(n_samples) * count(shapes.n_features),
                Some(n_stored) => STORED * n_stored,
            };
            // What a group of outputs makes of its X is counted once above.
            let growth = Growth::new(self.n_trees, 1, &one, self.sampling);
            let of_others: u128 =
                columns(&self.tree, &one, growth, true).iter().map(|term| u128::from(term.n_bytes)).sum();
            found.push(MemoryTerm::new("the samples of outputs", at_once * of_x + (at_once - 1) * of_others));
            found.extend(gaps(shapes));
        }
        found
    }

    /// Returns the terms of `n_forests` forests of one output each, or of one forest.
    fn terms(&self, shapes: &FitShapes, n_forests: usize, n_threads: usize) -> Vec<MemoryTerm> {
        let draws = self.sampling != Sampling::All;
        let growth = Growth::new(self.n_trees.saturating_mul(n_forests), n_threads, shapes, self.sampling);
        let Growth { n_trees, at_once, n_rows } = growth;
        let mut found = columns(&self.tree, shapes, growth, draws || shapes.is_weighted);
        let projection = self.tree.output_projection.as_ref();
        let q = projection.map(|phi| n_projections(&phi.family, phi.n_projections, shapes.width));
        // Splits of weighted labels with unknown cells are searched on numbers.
        let are_cells = shapes.n_unknown > 0 && (shapes.is_dense_numbers || self.tree.output_weights.is_some());
        let n_known = count(shapes.n_cells.saturating_sub(shapes.n_unknown));
        if are_cells {
            found.push(MemoryTerm::new("the list of known cells", (bytes::<u32>() + bytes::<f64>()) * n_known));
        }
        if are_cells || shapes.is_dense_numbers || q.is_some() {
            // Rounded targets and the weight, and the projected targets from which they are made.
            let of_outputs = bytes::<f64>() * (q.unwrap_or(count(shapes.width)) + 1 + q.unwrap_or(0));
            let of_tree = match are_cells && q.is_none() {
                true => cells::bytes(count(shapes.n_samples), count(shapes.n_cells), n_known),
                false => count(shapes.n_samples) * (variance::BYTES_OF_A_SAMPLE as u128 + of_outputs),
            };
            let what = ["the targets of a tree", "the targets of other trees"];
            let advice = "fit fewer outputs at a time, or choose splits by few combinations with output_projection";
            found.extend(of_each(what, of_tree, at_once, (true, advice)));
        }
        let leaves = most_leaves(&self.tree, n_rows);
        let n_nodes = 2 * leaves;
        found.extend([
            objects::<Tree>(n_trees),
            MemoryTerm::new("the leaves of all trees", n_trees * leaf_bytes(shapes, leaves, n_rows)),
            MemoryTerm::new("the nodes of all trees", n_trees * n_nodes * Tree::BYTES_OF_A_NODE as u128),
            MemoryTerm::new("the nodes of growing trees", at_once * n_nodes * grow::BYTES_OF_A_NODE as u128),
        ]);
        found.extend(gaps(shapes));
        found.extend(sets_of_categories(shapes, growth, leaves));
        found
    }
}
