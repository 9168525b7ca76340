//! Predictions for the training rows by the trees that have not seen them.

use super::fit::takes_entries;
use super::{CentroidForest, CentroidForestConfig};
use crate::control::Control;
use crate::data::Dataset;
use crate::error::Result;
use crate::forest::oob::Unseen;
use crate::forest::{Oob, SparseOob};
use crate::model::{into_array, means, try_matrix};

impl CentroidForest {
    /// Predictions for the rows on which the forest was grown, each by the trees that did not draw it.
    ///
    /// `config` and `data` must be those of the fit: draws are made again from the seed. Rows of weight zero
    /// are out of bag for every tree.
    ///
    /// # Errors
    /// As [`CentroidForest::predict`]; [`crate::ErrorKind::Shape`] when `y` or `sample_weight` does not fit X.
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

    /// The same predictions where they are positive and at least `floor`: the same bits, never held as a whole.
    ///
    /// # Errors
    /// As [`CentroidForest::oob_predict`]; [`crate::ErrorKind::Invalid`] when `floor` is negative or NaN.
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
        // Urns know rows by what they hold, as the fit saw it.
        let restored = data.restored(takes_entries(&data.outputs()))?;
        let data = data.with_restored(restored.as_ref());
        Unseen::new(self.n_trees(), config.sampling, config.seed, &data, control)
    }
}
