//! The memory of a fit of boosting.

use super::trees::{
    Growth, SORTED, SORTED_OF_TREE, codes, columns, gaps, most_leaves, n_projections, sets_of_categories,
};
use super::{FitShapes, MemoryTerm, bytes, count};
use crate::boost::{BoostConfig, OutputStrategy};
use crate::criterion::variance;

/// The number of scores of a sample, which is one for two classes.
fn n_scores(shapes: &FitShapes) -> usize {
    if !shapes.is_dense_numbers && shapes.width == 2 { 1 } else { shapes.width }
}

impl BoostConfig {
    /// Estimates the memory of a fit on data of these shapes, with this number of threads: see [`crate::memory`].
    /// `may_stop`: an observer may end the fit. Parameters that the fit refuses may count as nothing.
    pub fn fit_memory(&self, shapes: &FitShapes, n_threads: usize, may_stop: bool) -> Vec<MemoryTerm> {
        let (n, width) = (count(shapes.n_samples), count(n_scores(shapes)));
        let (projection, is_single, is_low_rank) = match &self.strategy {
            OutputStrategy::SingleTarget => (None, true, false),
            OutputStrategy::Joint => (None, false, false),
            OutputStrategy::Projected { projection, n_projections, relabel } => {
                (Some((projection, *n_projections)), false, !relabel)
            }
        };
        let mut found = self.features(shapes, if is_single { n_threads } else { 1 });
        if !is_low_rank || shapes.is_dense_numbers {
            let of_score = if shapes.is_dense_numbers { bytes::<f64>() } else { bytes::<f32>() };
            // Single targets are fitted one after the other, and each has its scores.
            let is_certain = !is_single && !is_low_rank;
            let scores = MemoryTerm::new("the scores of all samples", of_score * n * width);
            found.push(scores.certain_if(is_certain, "fit fewer outputs at a time"));
        }
        let q = match projection {
            Some((family, q)) => n_projections(family, q, n_scores(shapes)),
            None if is_single => 1,
            None => width,
        };
        // The gradients and the rounded targets.
        let of_outputs = 2 * bytes::<f64>() * (q + 1);
        let of_sample = variance::BYTES_OF_A_SAMPLE as u128 + of_outputs;
        found.push(MemoryTerm::new("the targets of a stage", n * of_sample));
        if projection.is_some() && self.tree.output_factors().are_given() {
            found.push(MemoryTerm::new("the gradients before the first stage", bytes::<f64>() * n * width));
        }
        let n_stages = count(self.n_estimators);
        let leaves = most_leaves(&self.tree, n);
        let values = leaves * if is_low_rank { 1 } else { width };
        found.push(MemoryTerm::new("the leaves of all stages", n_stages * bytes::<f64>() * values));
        // A fit that stops early keeps fewer steps.
        let is_certain = self.n_iter_no_change.is_none() && !may_stop;
        let steps = MemoryTerm::new("the step sizes", n_stages * bytes::<f64>() * width);
        found.push(steps.certain_if(is_certain, "fit fewer stages"));
        found.extend(gaps(shapes));
        if shapes.n_unknown > 0 {
            let of_y = bytes::<f64>() * count(shapes.n_cells);
            found.push(MemoryTerm::new("y without its missing values", of_y));
        }
        let n_trees = n_stages * if is_single { width } else { 1 };
        let growth = Growth { n_trees, at_once: 1, n_rows: n };
        found.extend(sets_of_categories(shapes, growth, leaves));
        if self.subsample < 1.0 {
            // The drawn samples and the losses, and the losses of all samples if scores are not stored.
            let of_loss = bytes::<bool>() + bytes::<f64>() * if is_low_rank { 2 } else { 1 };
            found.push(MemoryTerm::new("the losses of out-of-bag samples", n * of_loss));
        }
        found
    }

    /// Estimates the memory of [`BoostConfig::fit_with`] on data of these shapes, without that of weak models.
    pub fn fit_with_memory(shapes: &FitShapes) -> Vec<MemoryTerm> {
        let n_values = count(shapes.n_samples) * count(n_scores(shapes));
        // The scores, the targets, and the predictions of a weak model.
        vec![MemoryTerm::new("scores and targets", 3 * bytes::<f64>() * n_values)]
    }

    /// X in the form in which trees grow, `at_once` of them at the same time.
    fn features(&self, shapes: &FitShapes, at_once: usize) -> Vec<MemoryTerm> {
        let (n, p) = (count(shapes.n_samples), count(shapes.n_features));
        if let Some(n_stored) = shapes.layout.n_stored() {
            let n_bytes = (SORTED + SORTED_OF_TREE) * n_stored;
            let mut found = vec![MemoryTerm::new("the sorted entries of X", n_bytes)];
            let n_kept = count(self.n_features_of_tree(shapes.n_features).unwrap_or(shapes.n_features));
            if n_kept < p {
                let of_trees = n_bytes * n_kept / p * count(at_once);
                found.push(MemoryTerm::new("the entries of growing trees", of_trees));
            }
            return found;
        }
        if self.max_bins.is_none() {
            return columns(&self.tree, shapes, Growth { n_trees: 1, at_once: 1, n_rows: n }, true);
        }
        codes(shapes)
    }
}
