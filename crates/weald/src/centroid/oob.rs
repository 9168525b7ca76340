//! Out-of-bag predictions: predictions for the training samples by the trees that did not draw them.

use super::fit::takes_entries;
use super::{CentroidForest, CentroidForestConfig};
use crate::control::Control;
use crate::data::Dataset;
use crate::error::Result;
use crate::forest::oob::Unseen;
use crate::forest::{Oob, SparseOob};
use crate::model::{into_array, means, try_matrix};

impl CentroidForest {
    /// Returns predictions for the samples to which the forest was fitted, each by the trees that did not draw the
    /// sample.
    ///
    /// `config` and `data` must be those of the fit, as the draws are repeated from the seed. Samples of weight zero
    /// are out of bag for every tree.
    ///
    /// # Errors
    /// The same as for [`CentroidForest::predict`], and [`crate::ErrorKind::Shape`] when `y` or `sample_weight` does
    /// not fit X.
    pub fn oob_predict<'d>(
        &self,
        config: &CentroidForestConfig,
        data: impl Into<Dataset<'d>>,
        control: &Control,
    ) -> Result<Oob> {
        let data = data.into();
        let unseen = self.unseen(config, &data, control)?;
        let n_trees = unseen.n_trees()?;
        let found = self.leaves_of(data.x(), control)?;
        let (n, width) = (data.n_samples(), self.outputs.width());
        let mut scores = try_matrix("out-of-bag predictions", n, width)?;
        let divisor = |row: usize| f64::from(n_trees[row]);
        means::means_into(&found, (width, &mut scores), |row, tree| unseen.has(row, tree), divisor, control)?;
        Ok(Oob { scores: into_array(scores, n, width), n_trees })
    }

    /// Returns the same predictions where they are positive and at least `floor`, with the same bits. The whole
    /// prediction is never in memory.
    ///
    /// # Errors
    /// The same as for [`CentroidForest::oob_predict`], and [`crate::ErrorKind::Invalid`] when `floor` is negative or
    /// NaN.
    pub fn oob_at_least<'d>(
        &self,
        config: &CentroidForestConfig,
        data: impl Into<Dataset<'d>>,
        floor: f64,
        control: &Control,
    ) -> Result<SparseOob> {
        let data = data.into();
        let unseen = self.unseen(config, &data, control)?;
        let n_trees = unseen.n_trees()?;
        let found = self.leaves_of(data.x(), control)?;
        let divisor = |row: usize| f64::from(n_trees[row]);
        let counts = |row: usize, tree: usize| unseen.has(row, tree);
        let scores = means::at_least(&found, (self.outputs.width(), floor), counts, divisor, control)?;
        Ok(SparseOob { scores, n_trees })
    }

    fn unseen(&self, config: &CentroidForestConfig, data: &Dataset<'_>, control: &Control) -> Result<Unseen> {
        data.check_mask()?;
        // The population identifies samples by their content, as the fit saw it.
        let restored = data.restored(takes_entries(&data.outputs()))?;
        let data = data.with_restored(restored.as_ref());
        Unseen::new(self.n_trees(), config.sampling, config.seed, &data, control)
    }
}
