//! Predictions for the training rows by the trees that have not seen them.

use ndarray::Array2;

use super::Forest;
use super::bootstrap::{Urn, tree_key};
use super::predict::{Ensemble, TREES_AT_ONCE, into_array, try_matrix};
use crate::config::ForestConfig;
use crate::control::Control;
use crate::data::Matrix;
use crate::error::{Error, Result, try_filled};
use crate::pool;

/// Out-of-bag predictions.
#[derive(Clone, Debug, PartialEq)]
pub struct Oob {
    /// Mean over the trees that did not draw the row, (n_samples, width); NaN where every tree did.
    pub scores: Array2<f64>,
    /// Number of those trees, for each row.
    pub n_trees: Vec<u32>,
}

impl Forest {
    /// Predictions for the rows on which the forest was grown, each by the trees that did not draw it.
    ///
    /// `config`, `x` and `sample_weight` must be those of the fit: draws are made again from the seed. Rows of weight zero
    /// are out of bag for every tree. Bit for bit the same for any number of threads; O(n · trees · depth).
    ///
    /// # Errors
    /// As [`Forest::predict`]; [`crate::ErrorKind::Shape`] when `sample_weight` does not fit X.
    pub fn oob_predict(
        &self,
        config: &ForestConfig,
        x: &Matrix<'_>,
        sample_weight: Option<&[f64]>,
        control: &Control,
    ) -> Result<Oob> {
        let ensemble = Ensemble::of_forest(self);
        let rows = ensemble.rows(x)?;
        let (n, width, n_threads) = (rows.n_samples(), ensemble.width, control.n_threads());
        if let Some(w) = sample_weight.filter(|w| w.len() != n) {
            return Err(Error::shape("sample_weight", n, w.len()));
        }
        let weighted = |row: usize| sample_weight.is_none_or(|w| w[row] > 0.0);
        let urn = Urn::new(x, sample_weight, config.sampling)?;
        urn.check(config.sampling)?;
        let mut scores = try_matrix("out-of-bag predictions", 0.0, n, width)?;
        let mut n_trees = try_filled("out-of-bag predictions", 0u32, n)?;
        // Bit t of row i: tree `first + t` did not draw it.
        let mut unseen = try_filled("out-of-bag rows", 0u64, n)?;
        let block = rows.block_rows(TREES_AT_ONCE, n_threads);
        for first in (0..self.n_trees()).step_by(TREES_AT_ONCE) {
            let trees = first..(first + TREES_AT_ONCE).min(self.n_trees());
            let draws = pool::map(n_threads, trees.len(), |t| {
                control.check()?;
                urn.draw(config.sampling, n, tree_key(config.seed, first + t))
            })?;
            unseen.fill(0);
            for (t, counts) in draws.iter().enumerate() {
                // Without draws a tree has seen all rows that weigh something.
                for (i, bits) in unseen.iter_mut().enumerate() {
                    let is_unseen = counts.as_ref().map_or_else(|| !weighted(i), |counts| counts[i] == 0);
                    *bits |= u64::from(is_unseen) << t;
                }
            }
            pool::for_each(
                n_threads,
                scores
                    .chunks_mut((block * width).max(1))
                    .zip(n_trees.chunks_mut(block))
                    .zip(unseen.chunks(block))
                    .enumerate(),
                || ensemble.worker(&rows),
                |worker, (b, ((sums, n_trees), unseen))| {
                    control.check()?;
                    let range = b * block..b * block + unseen.len();
                    let seen = |r: usize, t: usize| unseen[r] >> t & 1 == 0;
                    ensemble.add_block(&rows, range, trees.clone(), worker, sums, seen);
                    n_trees.iter_mut().zip(unseen).for_each(|(n, bits)| *n += bits.count_ones());
                    Ok(())
                },
            )?;
        }
        for (sums, &n) in scores.chunks_mut(width.max(1)).zip(&n_trees) {
            sums.iter_mut().for_each(|sum| *sum = if n == 0 { f64::NAN } else { *sum / f64::from(n) });
        }
        Ok(Oob { scores: into_array(scores, n, width), n_trees })
    }
}
