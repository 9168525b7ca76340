//! Subsets of the features of X, which are renumbered.

use crate::error::{Purpose, Result};

/// The features of a tree: all features of X, or some of them, which are renumbered in their order.
#[derive(Debug, Default)]
pub(crate) struct FeatureSubset(Option<Vec<u32>>);

impl FeatureSubset {
    /// Returns the number in X of a feature of the subset.
    #[inline]
    pub(crate) fn in_x(&self, feature: u32) -> u32 {
        self.0.as_ref().map_or(feature, |features| features[feature as usize])
    }

    /// Returns the number in the subset of a feature of X, if the subset contains it.
    pub(crate) fn number_of(&self, feature: u32) -> Option<u32> {
        match &self.0 {
            None => Some(feature),
            // The features are in increasing order.
            Some(features) => features.binary_search(&feature).ok().map(|number| number as u32),
        }
    }

    /// Returns a subset of this subset; `features` are numbers in this subset.
    pub(crate) fn narrowed(&self, features: &[u32]) -> Result<Self> {
        let in_x = features.iter().map(|&feature| self.in_x(feature));
        Ok(FeatureSubset(Some(Purpose("the features of a tree").collected(in_x)?)))
    }

    /// Returns the numbers in X of the features, or `None` if all features are in the subset.
    pub(crate) fn numbers(&self) -> Option<&[u32]> {
        self.0.as_deref()
    }
}
