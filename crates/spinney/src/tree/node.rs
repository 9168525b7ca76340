//! A node in 12 bytes, as prediction walks it.

use crate::data::MOST_FEATURES;
use crate::partition::decision::{Decision, Side, Test};

/// A node of a tree: a leaf, or a split with its [`Decision`]. Nodes are in pre-order: the left child of node i is i + 1.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Node {
    /// Feature tested, with [`MISSING_LEFT`] and [`SAW_MISSING`]; or [`Node::LEAF`].
    feature: u32,
    /// Samples with `x[feature] <= threshold` go left. Zero in leaves.
    threshold: f32,
    /// Index of the right child, or the leaf's row.
    right: u32,
}

/// Set in [`Node::feature`] of splits where missing values go left. Not in [`Node::right`]: a walk waits for the right
/// child, and the processor has guessed the side long before it knows the feature.
const MISSING_LEFT: u32 = 1 << 31;

/// Set in [`Node::feature`] of splits that saw missing values.
const SAW_MISSING: u32 = 1 << 30;

const FLAGS: u32 = MISSING_LEFT | SAW_MISSING;

impl Node {
    /// What [`Node::feature`] is in leaves.
    pub const LEAF: u32 = u32::MAX;

    /// Most nodes of a tree.
    pub(crate) const MOST: usize = 1 << 31;

    /// A leaf, with its row in the table of leaves.
    pub(crate) fn leaf(row: u32) -> Self {
        Node { feature: Node::LEAF, threshold: 0.0, right: row }
    }

    /// A split whose right child is not known yet.
    pub(crate) fn split(feature: u32, decision: Decision) -> Self {
        debug_assert!((feature as usize) < MOST_FEATURES);
        let mut node = Node { feature, threshold: 0.0, right: 0 };
        node.set_decision(decision);
        node
    }

    pub(crate) fn set_decision(&mut self, decision: Decision) {
        let Test::AtMost(threshold) = decision.test();
        self.threshold = threshold;
        let side = if decision.missing() == Side::Left { MISSING_LEFT } else { 0 };
        let saw = if decision.saw_missing() { SAW_MISSING } else { 0 };
        self.feature = self.feature & !FLAGS | side | saw;
    }

    /// The same split of another feature.
    pub(crate) fn set_feature(&mut self, feature: u32) {
        debug_assert!((feature as usize) < MOST_FEATURES);
        self.feature = self.feature & FLAGS | feature;
    }

    /// Names the right child of a split.
    #[inline]
    pub(crate) fn set_right(&mut self, right: u32) {
        debug_assert!((right as usize) < Node::MOST);
        self.right = right;
    }

    /// The same split with another right child.
    pub(crate) fn with_right(mut self, right: u32) -> Self {
        self.set_right(right);
        self
    }

    /// Whether the node is a leaf.
    #[inline]
    pub fn is_leaf(&self) -> bool {
        self.feature == Node::LEAF
    }

    /// Feature that a split tests; [`Node::LEAF`] in leaves.
    #[inline]
    pub fn feature(&self) -> u32 {
        if self.is_leaf() { Node::LEAF } else { self.feature & !FLAGS }
    }

    /// The same of a split.
    #[inline]
    pub(crate) fn tested(&self) -> usize {
        debug_assert!(!self.is_leaf());
        (self.feature & !FLAGS) as usize
    }

    /// Threshold of a split, see [`Test::AtMost`]; zero in leaves.
    #[inline]
    pub fn threshold(&self) -> f32 {
        self.threshold
    }

    /// Index of the right child; in a leaf, the leaf's row in the [`crate::LeafTable`] (leaves are numbered in pre-order).
    #[inline]
    pub fn right(&self) -> u32 {
        self.right
    }

    /// Which values of the feature go left. Means nothing in leaves.
    #[inline]
    pub fn decision(&self) -> Decision {
        let missing = if self.feature & MISSING_LEFT != 0 { Side::Left } else { Side::Right };
        let decision = Decision::at_most(self.threshold);
        if self.feature & SAW_MISSING == 0 { decision.with_unseen(missing) } else { decision.with_missing(missing) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_split_keeps_its_decision_whatever_its_children() {
        for missing in [Side::Left, Side::Right] {
            let decision = Decision::at_most(-2.5);
            for decision in [decision.with_missing(missing), decision.with_unseen(missing)] {
                for (feature, right) in [(0, 7), (3, 0), (MOST_FEATURES as u32 - 1, Node::MOST as u32 - 1)] {
                    let node = Node::split(feature, decision).with_right(right);
                    assert_eq!(
                        (node.feature(), node.decision(), node.right(), node.is_leaf()),
                        (feature, decision, right, false)
                    );
                    let sides = [-3.0, -2.5, 0.0, f32::NAN].map(|value| node.decision().goes_left(value));
                    assert_eq!(sides, [true, true, false, missing == Side::Left]);
                }
            }
        }
        assert_eq!(size_of::<Node>(), 12);
    }

    #[test]
    fn where_missing_values_go_right_no_bit_is_set() {
        let node = Node::split(3, Decision::at_most(0.5)).with_right(9);
        assert_eq!(node, Node { feature: 3, threshold: 0.5, right: 9 });
        assert_eq!(Node::leaf(4), Node { feature: u32::MAX, threshold: 0.0, right: 4 });
    }
}
