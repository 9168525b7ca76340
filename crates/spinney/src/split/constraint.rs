//! What every split must leave on both of its sides.
//!
//! A constraint on sizes is one implementation of [`Constraint`] and one row of [`Constraints`]. Those that nodes hand on
//! to their children are in `monotonic` and `interactions`.

use std::sync::Arc;

use super::interactions::Groups;
use super::monotonic::Directions;
use crate::criterion::NodeStats;

/// One side of a cut.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CutSide {
    pub(crate) n: u32,
    /// In units.
    pub(crate) weight: f64,
}

/// A condition on splits.
pub(crate) trait Constraint {
    /// Whether the node may have an admitted cut. Where not, it is a leaf without a search.
    fn may_split(&self, node: &NodeStats) -> bool;

    /// Whether a cut with these sides is admitted.
    fn admits(&self, sides: [CutSide; 2]) -> bool;
}

/// Least samples and least weight of a leaf.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeafSizes {
    pub(crate) min_samples: u32,
    /// In units.
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
    /// Directions of the features that are held; `None` where none has one.
    pub(crate) monotonic: Option<Arc<Directions>>,
    /// Groups of the features that are held; `None` where all may interact.
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
