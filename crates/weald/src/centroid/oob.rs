//! Out-of-bag predictions: predictions for the training samples by the trees that did not draw them.

use std::sync::Arc;

use super::fit::takes_entries;
use super::{CentroidForest, CentroidForestConfig};
use crate::control::Control;
use crate::data::{Dataset, Matrix};
use crate::error::Result;
use crate::forest::Oob;
use crate::forest::oob::Unseen;
use crate::model::means;

impl CentroidForest {
    /// Writes the mean over the trees that did not draw a sample, and of which there are `n_trees`.
    pub(super) fn oob_predict_of(
        &self,
        x: &Matrix<'_>,
        (unseen, n_trees): (&Unseen, &[u32]),
        scores: &mut [f64],
        control: &Control,
    ) -> Result<()> {
        let divisor = |row: usize| f64::from(n_trees[row]);
        let found = self.leaves_of(x, control)?;
        means::means_into(&found, (self.outputs.width(), scores), |row, tree| unseen.has(row, tree), divisor, control)
    }

    /// Centroid trees have all outputs.
    #[expect(clippy::unnecessary_wraps, clippy::unused_self, reason = "forests of trees that test features may")]
    pub(super) fn oob_by_output(&self, _: &CentroidForestConfig, _: &Dataset<'_>, _: &Control) -> Result<Option<Oob>> {
        Ok(None)
    }

    pub(super) fn only_of(&self, i: usize) -> CentroidForest {
        CentroidForest { trees: vec![Arc::clone(&self.trees[i])], ..self.clone() }
    }

    /// Repeats the draws of the fit.
    pub(super) fn unseen(
        &self,
        config: &CentroidForestConfig,
        data: &Dataset<'_>,
        control: &Control,
    ) -> Result<Unseen> {
        let observed = data.observed()?;
        let data = data.with_observed(observed.as_ref());
        // The population identifies samples by their content, as the fit saw it.
        let restored = data.restored(takes_entries(&data.outputs()))?;
        let data = data.with_restored(restored.as_ref());
        Unseen::new(self.n_trees(), config.sampling, config.seed, &data, control)
    }
}
