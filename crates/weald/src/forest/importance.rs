//! Feature importances of a forest: the mean over trees.

use super::Forest;
use crate::error::Result;
use crate::model::TreeWeighting;

impl Forest {
    /// Returns the mean, over trees, of their feature importances, as shares that sum to 1. All shares are zero if no
    /// split decreased the impurity.
    ///
    /// Trees of a single leaf are ignored, as in scikit-learn: see [`TreeWeighting::Equal`].
    ///
    /// # Errors
    /// The same as for [`crate::Tree::feature_importances`].
    pub fn feature_importances(&self, outputs: Option<&[usize]>) -> Result<Vec<f64>> {
        self.additive()?.feature_importances(outputs, TreeWeighting::Equal)
    }
}
