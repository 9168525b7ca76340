//! Interaction constraints: which features may meet on one path from the root to a leaf.
//!
//! Features are in groups, which may overlap. Below a node may be split on the features of those groups that have all
//! features on the path to it. So groups only drop out on the way down, and the sets of features are few: each is made
//! once, O(features).

use std::collections::HashMap;
use std::sync::Arc;

use crate::error::{Result, try_copied, try_push, try_with_capacity};
use crate::partition::lottery::FeatureSet;

const WHAT: &str = "the groups of features";

/// Groups of features that may interact: every feature is in one or more.
#[derive(Debug)]
pub(crate) struct Groups {
    n_features: usize,
    /// The features of each group, rising.
    members: Vec<Vec<u32>>,
    /// The groups of each feature, rising.
    of_feature: Vec<Vec<u32>>,
}

impl Groups {
    /// Each group's features, below `n_features` and named once each; all others are one more group.
    pub(crate) fn new(n_features: usize, mut members: Vec<Vec<u32>>) -> Result<Self> {
        let mut of_feature: Vec<Vec<u32>> = try_with_capacity(WHAT, n_features)?;
        of_feature.resize_with(n_features, Vec::new);
        let mut add = |group: usize, features: &[u32]| {
            features.iter().try_for_each(|&feature| try_push(WHAT, &mut of_feature[feature as usize], group as u32))
        };
        members.iter().enumerate().try_for_each(|(group, features)| add(group, features))?;
        let mut others = try_with_capacity(WHAT, n_features)?;
        others.extend((0..n_features as u32).filter(|&feature| of_feature[feature as usize].is_empty()));
        if !others.is_empty() {
            let group = members.len() as u32;
            for &feature in &others {
                try_push(WHAT, &mut of_feature[feature as usize], group)?;
            }
            try_push(WHAT, &mut members, others)?;
        }
        Ok(Groups { n_features, members, of_feature })
    }
}

/// The sets of features that nodes may be split on, each at a *place*.
#[derive(Debug)]
pub(super) struct AllowedFeatures {
    groups: Arc<Groups>,
    /// Groups that have all features on the path; features of these.
    sets: Vec<(Vec<u32>, Arc<FeatureSet>)>,
    places: HashMap<Vec<u32>, u32>,
}

impl AllowedFeatures {
    /// With that of the root, at place 0: all features.
    pub(super) fn new(groups: &Arc<Groups>) -> Result<Self> {
        let mut allowed = AllowedFeatures { groups: Arc::clone(groups), sets: Vec::new(), places: HashMap::new() };
        let mut all = try_with_capacity(WHAT, groups.members.len())?;
        all.extend(0..groups.members.len() as u32);
        allowed.place(all)?;
        Ok(allowed)
    }

    /// The features that a node at `place` may be split on; `None` for all.
    pub(super) fn at(&self, place: u32) -> Option<&Arc<FeatureSet>> {
        Some(&self.sets[place as usize].1).filter(|features| (features.len() as usize) < self.groups.n_features)
    }

    /// The place of both children of a node at `place` that is split on this feature.
    pub(super) fn below(&mut self, place: u32, feature: u32) -> Result<u32> {
        let of_feature = &self.groups.of_feature[feature as usize];
        let here = &self.sets[place as usize].0;
        let mut left = try_with_capacity(WHAT, here.len())?;
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
        self.places.insert(try_copied(WHAT, &groups)?, place);
        try_push(WHAT, &mut self.sets, (groups, features))?;
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
        // 4 and 5 are in no group that was given.
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
