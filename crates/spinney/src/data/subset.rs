//! Some features of X, numbered anew.

use crate::error::{Result, try_collected};

/// The features that a tree has: all of X, or some of them, which are numbered anew in their order.
#[derive(Debug, Default)]
pub(crate) struct FeatureSubset(Option<Vec<u32>>);

impl FeatureSubset {
    /// The number in X of a feature of the subset.
    #[inline]
    pub(crate) fn in_x(&self, feature: u32) -> u32 {
        self.0.as_ref().map_or(feature, |features| features[feature as usize])
    }

    /// The number in the subset of a feature of X, if it is in it.
    pub(crate) fn number_of(&self, feature: u32) -> Option<u32> {
        match &self.0 {
            None => Some(feature),
            // They rise.
            Some(features) => features.binary_search(&feature).ok().map(|number| number as u32),
        }
    }

    /// Some of the subset alone, by their numbers in it.
    pub(crate) fn narrowed(&self, features: &[u32]) -> Result<Self> {
        let in_x = features.iter().map(|&feature| self.in_x(feature));
        Ok(FeatureSubset(Some(try_collected("the features of a tree", in_x)?)))
    }

    /// The numbers in X of its features; `None` where it has all.
    pub(crate) fn numbers(&self) -> Option<&[u32]> {
        self.0.as_deref()
    }
}
