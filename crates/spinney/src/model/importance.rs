//! Which features reduced the impurity, over all trees of a model.

use super::Additive;
use crate::error::{Result, try_filled};
use crate::tree::importance::normalize;

/// How much say each tree has in the importances of a model. Either way they are divided by their sum at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TreeWeighting {
    /// Decreases of impurity are divided by their sum in each tree, then added: every tree has the same say. That is for
    /// forests, whose trees repeat one problem and differ by chance, as in scikit-learn. Trees of a single leaf have no say.
    Equal,
    /// Decreases of impurity are added as they are: a tree has the more say the more it reduces. That is for boosting, whose
    /// later trees are grown on what is left of y, and explain the less of it, as in scikit-learn.
    ByDecrease,
}

impl Additive<'_> {
    /// Decrease of impurity by the splits on each feature, over all trees, as shares that sum to 1 (or zeros when nothing
    /// decreased).
    ///
    /// `outputs` chooses some of the outputs of the trees, `None` takes all.
    ///
    /// # Errors
    /// As [`crate::Tree::feature_importances`].
    pub fn feature_importances(&self, outputs: Option<&[usize]>, weighting: TreeWeighting) -> Result<Vec<f64>> {
        let mut sums = try_filled("feature importances", 0.0, self.n_features)?;
        for tree in self.trees.iter().filter(|tree| tree.n_nodes() > 1) {
            let of_tree = match weighting {
                TreeWeighting::Equal => tree.feature_importances(outputs)?,
                TreeWeighting::ByDecrease => tree.unnormalized_feature_importances(outputs)?,
            };
            sums.iter_mut().zip(of_tree).for_each(|(sum, v)| *sum += v);
        }
        normalize(&mut sums);
        Ok(sums)
    }
}
