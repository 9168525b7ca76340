//! Interaction constraints: which features may occur together on a path from the root to a leaf.
//!
//! Features are in groups, which may overlap. A node may be split on the features of those groups that contain all
//! features on the path to it. Groups are therefore only dropped on the way down, and there are few different sets of
//! features. Each set is computed once, in O(features) time.

use std::collections::HashMap;
use std::sync::Arc;

use crate::error::{Purpose, Result};
use crate::partition::lottery::FeatureSet;

const PURPOSE: Purpose = Purpose("the groups of features");

/// Groups of features that may interact. Every feature is in at least one group.
#[derive(Debug)]
pub(crate) struct Groups {
    n_features: usize,
    /// The features of each group, in increasing order.
    members: Vec<Vec<u32>>,
    /// The groups of each feature, in increasing order.
    of_feature: Vec<Vec<u32>>,
}

impl Groups {
    /// Creates groups from the features of each, which must be below `n_features` and distinct. All other features form
    /// one more group.
    pub(crate) fn new(n_features: usize, mut members: Vec<Vec<u32>>) -> Result<Self> {
        let mut of_feature: Vec<Vec<u32>> = PURPOSE.with_capacity(n_features)?;
        of_feature.resize_with(n_features, Vec::new);
        let mut add = |group: usize, features: &[u32]| {
            features.iter().try_for_each(|&feature| PURPOSE.push(&mut of_feature[feature as usize], group as u32))
        };
        members.iter().enumerate().try_for_each(|(group, features)| add(group, features))?;
        let mut others = PURPOSE.with_capacity(n_features)?;
        others.extend((0..n_features as u32).filter(|&feature| of_feature[feature as usize].is_empty()));
        if !others.is_empty() {
            let group = members.len() as u32;
            for &feature in &others {
                PURPOSE.push(&mut of_feature[feature as usize], group)?;
            }
            PURPOSE.push(&mut members, others)?;
        }
        Ok(Groups { n_features, members, of_feature })
    }
}

/// The sets of features on which nodes may be split. Each set has an index, its *place*.
#[derive(Debug)]
pub(super) struct AllowedFeatures {
    groups: Arc<Groups>,
    /// The groups that contain all features on the path, and the features of these groups.
    sets: Vec<(Vec<u32>, Arc<FeatureSet>)>,
    places: HashMap<Vec<u32>, u32>,
}

impl AllowedFeatures {
    /// Starts with the set of the root, which has place 0 and contains all features.
    pub(super) fn new(groups: &Arc<Groups>) -> Result<Self> {
        let mut allowed = AllowedFeatures { groups: Arc::clone(groups), sets: Vec::new(), places: HashMap::new() };
        let mut all = PURPOSE.with_capacity(groups.members.len())?;
        all.extend(0..groups.members.len() as u32);
        allowed.place(all)?;
        Ok(allowed)
    }

    /// Returns the features on which a node at `place` may be split, or `None` for all features.
    pub(super) fn at(&self, place: u32) -> Option<&Arc<FeatureSet>> {
        Some(&self.sets[place as usize].1).filter(|features| (features.len() as usize) < self.groups.n_features)
    }

    /// Returns the place of both children of a node at `place` that is split on this feature.
    pub(super) fn below(&mut self, place: u32, feature: u32) -> Result<u32> {
        let of_feature = &self.groups.of_feature[feature as usize];
        let here = &self.sets[place as usize].0;
        let mut left = PURPOSE.with_capacity(here.len())?;
        left.extend(here.iter().filter(|group| of_feature.binary_search(group).is_ok()));
        self.place(left)
    }

    fn place(&mut self, groups: Vec<u32>) -> Result<u32> {
        if let Some(&place) = self.places.get(&groups) {
            return Ok(place);
        }
        let members = groups.iter().flat_map(|&group| &self.groups.members[group as usize]).copied();
        let features = Arc::new(FeatureSet::new(self.groups.n_features, members)?);
        let place = self.sets.len() as u32;
        self.places.insert(PURPOSE.copied(&groups)?, place);
        PURPOSE.push(&mut self.sets, (groups, features))?;
        Ok(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_drop_out_on_the_way_down() {
        let groups = Arc::new(Groups::new(6, vec![vec![0, 1, 2], vec![2, 3], vec![1, 2]]).unwrap());
        let mut allowed = AllowedFeatures::new(&groups).unwrap();
        assert!(allowed.at(0).is_none());
        let features = |allowed: &AllowedFeatures, place| {
            (0..6).filter(|&f| allowed.at(place).is_none_or(|set| set.contains(f))).collect::<Vec<_>>()
        };
        // Features 4 and 5 are in none of the given groups.
        for (path, expected) in [
            (&[0][..], &[0, 1, 2][..]),
            (&[2], &[0, 1, 2, 3]),
            (&[2, 1], &[0, 1, 2]),
            (&[2, 3], &[2, 3]),
            (&[2, 1, 0], &[0, 1, 2]),
            (&[4], &[4, 5]),
            (&[4, 5, 4], &[4, 5]),
        ] {
            let place = path.iter().fold(0, |place, &feature| allowed.below(place, feature).unwrap());
            assert_eq!(features(&allowed, place), expected, "{path:?}");
        }
        assert_eq!(allowed.below(0, 2).unwrap(), allowed.below(0, 2).unwrap());
    }
}
