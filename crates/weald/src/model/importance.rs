//! Feature importances: how much the splits on each feature reduced the impurity, over all trees of a model.

use super::Additive;
use crate::error::{Purpose, Result};
use crate::tree::importance::normalize;

/// How the trees of a model are weighted in its feature importances. With either choice, the importances are divided by
/// their sum at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TreeWeighting {
    /// The decreases of impurity are divided by their sum within each tree before they are added, so that every tree
    /// has the same weight. This suits forests, whose trees solve one problem and differ by chance, and it is what
    /// scikit-learn does for them. Trees of a single leaf are ignored.
    Equal,
    /// The decreases of impurity are added as they are, so that a tree has more weight the more it reduces the
    /// impurity. This suits boosting, whose later trees are grown on what is left of y and explain less of it, and it
    /// is what scikit-learn does for boosting.
    ByDecrease,
}

impl Additive<'_> {
    /// Returns the decrease of impurity by the splits on each feature, over all trees, as shares that sum to 1. All
    /// shares are zero if no split decreased the impurity.
    ///
    /// `outputs` selects some outputs of the trees; `None` takes all of them.
    ///
    /// # Errors
    /// The same as for [`crate::Tree::feature_importances`].
    pub fn feature_importances(&self, outputs: Option<&[usize]>, weighting: TreeWeighting) -> Result<Vec<f64>> {
        let mut sums = Purpose("feature importances").filled(0.0, self.n_features)?;
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
