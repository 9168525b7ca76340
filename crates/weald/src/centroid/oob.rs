//! Out-of-bag predictions: predictions for the training samples by the trees that did not draw them.

use std::sync::Arc;

use super::fit::takes_entries;
use super::{CentroidForest, CentroidForestConfig};
use crate::control::Control;
use crate::data::Dataset;
use crate::error::Result;
use crate::forest::Oob;
use crate::forest::oob::Unseen;

impl CentroidForest {
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
        let takes_entries = takes_entries(&data.outputs());
        Unseen::new(self.n_trees(), (config.sampling, config.seed), data, takes_entries, control)
    }
}
