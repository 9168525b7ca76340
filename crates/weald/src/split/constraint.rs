//! The minimum sizes of both sides of every split.
//!
//! A constraint on sizes is an implementation of [`Constraint`] and a row of [`Constraints`]. Constraints that nodes
//! pass on to their children are in `monotonic` and `interactions`.

use std::sync::Arc;

use super::interactions::Groups;
use super::monotonic::Directions;
use crate::criterion::NodeStats;

/// One side of a cut.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CutSide {
    pub(crate) n: u32,
    /// The weight in units.
    pub(crate) weight: f64,
}

/// A condition on splits.
pub(crate) trait Constraint {
    /// Returns whether the node may have a cut that satisfies the constraint. If not, it becomes a leaf without a
    /// search.
    fn may_split(&self, node: &NodeStats) -> bool;

    /// Returns whether a cut with these sides satisfies the constraint.
    fn admits(&self, sides: [CutSide; 2]) -> bool;
}

/// The minimum number of samples and the minimum weight of a leaf.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeafSizes {
    pub(crate) min_samples: u32,
    /// The minimum weight in units.
    pub(crate) min_weight: f64,
}

impl Constraint for LeafSizes {
    fn may_split(&self, node: &NodeStats) -> bool {
        node.n / 2 >= self.min_samples && node.weight >= 2.0 * self.min_weight
    }

    #[inline]
    fn admits(&self, sides: [CutSide; 2]) -> bool {
        sides.iter().all(|side| side.n >= self.min_samples && side.weight >= self.min_weight)
    }
}

/// The constraints of a tree.
#[derive(Clone, Debug)]
pub(crate) struct Constraints {
    pub(crate) leaf_sizes: LeafSizes,
    /// The monotonic constraints; `None` if there are none.
    pub(crate) monotonic: Option<Arc<Directions>>,
    /// The groups of features that may interact; `None` if all features may interact.
    pub(crate) interactions: Option<Arc<Groups>>,
}

impl Constraints {
    fn rows(&self) -> [&dyn Constraint; 1] {
        [&self.leaf_sizes]
    }

    pub(super) fn may_split(&self, node: &NodeStats) -> bool {
        self.rows().iter().all(|constraint| constraint.may_split(node))
    }

    #[inline]
    pub(super) fn admit(&self, sides: [CutSide; 2]) -> bool {
        self.rows().iter().all(|constraint| constraint.admits(sides))
    }
}
