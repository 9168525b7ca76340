//! Which features reduced the impurity: the mean over trees.

use super::Forest;
use crate::error::Result;
use crate::model::TreeWeighting;

impl Forest {
    /// Mean over trees of their feature importances, as shares that sum to 1 (or zeros when nothing decreased).
    ///
    /// Trees of a single leaf have no say, as in scikit-learn: see [`TreeWeighting::Equal`].
    ///
    /// # Errors
    /// As [`crate::Tree::feature_importances`].
    pub fn feature_importances(&self, outputs: Option<&[usize]>) -> Result<Vec<f64>> {
        self.additive()?.feature_importances(outputs, TreeWeighting::Equal)
    }
}
