//! Feature importances of a forest: the mean over trees.

use super::Forest;
use crate::error::{Error, Result};
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
        let Some(chosen) = outputs.filter(|_| self.by_output) else {
            return self.additive()?.feature_importances(outputs, TreeWeighting::Equal);
        };
        let d = self.outputs.n_outputs();
        if let Some(&output) = chosen.iter().find(|&&output| output >= d) {
            return Err(Error::invalid("outputs", output, "be outputs of the forest"));
        }
        let mut model = self.additive()?;
        let trees = model.trees.iter().enumerate().filter(|(t, _)| chosen.contains(&(t % d)));
        model.trees = trees.map(|(_, tree)| *tree).collect();
        model.feature_importances(None, TreeWeighting::Equal)
    }
}
