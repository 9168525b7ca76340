//! A node in 12 bytes, in the form that prediction uses.

use crate::data::MOST_FEATURES;
use crate::partition::category_sets::CategorySets;
use crate::partition::decision::{Decision, Side};

/// A node of a tree: a leaf, or a split with its decision (see [`crate::Tree::decision`]). Nodes are in pre-order: the
/// left child of node i is i + 1.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Node {
    /// The tested feature, with the flags [`MISSING_LEFT`], [`SAW_MISSING`] and [`TESTS_CATEGORIES`], or
    /// [`Node::LEAF`].
    feature: u32,
    /// Samples with `x[feature] <= threshold` go left. It is zero in leaves; in a test of categories, its bits are the
    /// number of the set.
    threshold: f32,
    /// The index of the right child, or the number of the leaf.
    right: u32,
}

/// The flag in [`Node::feature`] of splits that send missing values left. It is not in [`Node::right`], because a
/// traversal waits for the right child, whereas the processor predicts the side long before it has read the feature.
const MISSING_LEFT: u32 = 1 << 31;

/// The flag in [`Node::feature`] of splits whose samples had missing values in growth.
const SAW_MISSING: u32 = 1 << 30;

/// The flag in [`Node::feature`] of splits that list the categories that go left.
const TESTS_CATEGORIES: u32 = 1 << 29;

const FLAGS: u32 = MISSING_LEFT | SAW_MISSING | TESTS_CATEGORIES;

impl Node {
    /// The value of [`Node::feature`] in leaves.
    pub const LEAF: u32 = u32::MAX;

    /// The maximum number of nodes of a tree.
    pub(crate) const MOST: usize = 1 << 31;

    /// Creates a leaf with its row in the table of leaves.
    pub(crate) fn leaf(row: u32) -> Self {
        Node { feature: Node::LEAF, threshold: 0.0, right: row }
    }

    /// Creates node number `at`, a leaf, for traversals with a fixed number of steps: a split that sends every value
    /// right, back to itself, because no value is as small as its threshold.
    pub(crate) fn standstill(at: u32) -> Self {
        Node { feature: 0, threshold: f32::NEG_INFINITY, right: at }
    }

    /// Creates a split at a threshold whose right child is not yet known. Missing values go right, and none were seen.
    pub(crate) fn split(feature: u32, threshold: f32) -> Self {
        debug_assert!((feature as usize) < MOST_FEATURES);
        Node { feature, threshold, right: 0 }
    }

    /// Creates a split that sends the categories of set number `set` left.
    pub(crate) fn split_by_set(feature: u32, set: u32) -> Self {
        let mut node = Node::split(feature, 0.0);
        node.set_categories(set);
        node
    }

    pub(crate) fn set_threshold(&mut self, threshold: f32) {
        self.threshold = threshold;
        self.feature &= !TESTS_CATEGORIES;
    }

    /// Turns the split into a test of categories.
    pub(crate) fn set_categories(&mut self, set: u32) {
        self.threshold = f32::from_bits(set);
        self.feature |= TESTS_CATEGORIES;
    }

    /// Sets the side of missing values, and whether some were seen.
    pub(crate) fn set_missing(&mut self, side: Side, is_seen: bool) {
        let side = if side == Side::Left { MISSING_LEFT } else { 0 };
        let saw = if is_seen { SAW_MISSING } else { 0 };
        self.feature = self.feature & !(MISSING_LEFT | SAW_MISSING) | side | saw;
    }

    /// Replaces the feature of the split.
    pub(crate) fn set_feature(&mut self, feature: u32) {
        debug_assert!((feature as usize) < MOST_FEATURES);
        self.feature = self.feature & FLAGS | feature;
    }

    /// Sets the right child of a split.
    #[inline]
    pub(crate) fn set_right(&mut self, right: u32) {
        debug_assert!((right as usize) < Node::MOST);
        self.right = right;
    }

    /// Returns the split with another right child.
    pub(crate) fn with_right(mut self, right: u32) -> Self {
        self.set_right(right);
        self
    }

    /// Returns whether the node is a leaf.
    #[inline]
    pub fn is_leaf(&self) -> bool {
        self.feature == Node::LEAF
    }

    /// Returns the feature that a split tests, or [`Node::LEAF`] for leaves.
    #[inline]
    pub fn feature(&self) -> u32 {
        if self.is_leaf() { Node::LEAF } else { self.feature & !FLAGS }
    }

    /// Returns the feature that a split tests. The node must not be a leaf.
    #[inline]
    pub(crate) fn tested(&self) -> usize {
        debug_assert!(!self.is_leaf());
        self.feature_bits()
    }

    /// Returns the feature of any node, for traversals that check for leaves afterwards. In leaves it is larger than
    /// any feature.
    #[inline]
    pub(crate) fn feature_bits(&self) -> usize {
        (self.feature & !FLAGS) as usize
    }

    /// Returns whether the node is a split that lists the categories that go left.
    #[inline]
    pub fn tests_categories(&self) -> bool {
        !self.is_leaf() && self.feature & TESTS_CATEGORIES != 0
    }

    /// Returns the threshold of a split (see [`crate::Test::AtMost`]), zero for leaves, or NaN if categories are
    /// tested.
    #[inline]
    pub fn threshold(&self) -> f32 {
        if self.tests_categories() { f32::NAN } else { self.threshold }
    }

    /// Returns the number of the set of categories that go left, for a split that tests categories.
    #[inline]
    pub(crate) fn set(&self) -> Option<u32> {
        self.tests_categories().then(|| self.threshold.to_bits())
    }

    /// Returns the index of the right child, or, for a leaf, its row in the [`crate::LeafTable`] (leaves are numbered
    /// in pre-order).
    #[inline]
    pub fn right(&self) -> u32 {
        self.right
    }

    /// Returns which values of the feature go left, in a tree with these sets. It is meaningless for leaves.
    #[inline]
    pub(crate) fn decision<'a>(&self, sets: &'a CategorySets) -> Decision<'a> {
        match self.set() {
            None => self.threshold_decision(),
            Some(set) => self.with_missing_side(Decision::any_of(sets.of(set))),
        }
    }

    /// Returns the decision of a node that is known not to test categories.
    #[inline]
    pub(crate) fn threshold_decision(&self) -> Decision<'static> {
        self.with_missing_side(Decision::at_most(self.threshold))
    }

    #[inline]
    fn with_missing_side<'a>(&self, decision: Decision<'a>) -> Decision<'a> {
        let missing = if self.feature & MISSING_LEFT != 0 { Side::Left } else { Side::Right };
        if self.feature & SAW_MISSING == 0 { decision.with_unseen(missing) } else { decision.with_missing(missing) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_split_keeps_its_decision_whatever_its_children() {
        let mut sets = CategorySets::default();
        sets.push([2, 5].into_iter()).unwrap();
        sets.push([1].into_iter()).unwrap();
        for missing in [Side::Left, Side::Right] {
            let decision = Decision::at_most(-2.5);
            for decision in [decision.with_missing(missing), decision.with_unseen(missing)] {
                for (feature, right) in [(0, 7), (3, 0), (MOST_FEATURES as u32 - 1, Node::MOST as u32 - 1)] {
                    let mut node = Node::split(feature, -2.5).with_right(right);
                    node.set_missing(missing, decision.saw_missing());
                    assert_eq!(
                        (node.feature(), node.decision(&sets), node.right(), node.is_leaf()),
                        (feature, decision, right, false)
                    );
                    let sides = [-3.0, -2.5, 0.0, f32::NAN].map(|value| node.decision(&sets).goes_left(value));
                    assert_eq!(sides, [true, true, false, missing == Side::Left]);
                    // Tests of categories send missing values right: with all flags set, the last feature would be the
                    // mark of a leaf.
                    node.set_missing(Side::Right, decision.saw_missing());
                    node.set_categories(0);
                    assert!(node.tests_categories() && node.threshold().is_nan());
                    assert_eq!(node.decision(&sets).test(), Decision::any_of(&[2, 5]).test());
                    assert_eq!((node.feature(), node.decision(&sets).saw_missing()), (feature, decision.saw_missing()));
                    node.set_threshold(-2.5);
                    node.set_missing(missing, decision.saw_missing());
                    assert_eq!(node.decision(&sets), decision);
                }
            }
        }
        assert_eq!(size_of::<Node>(), 12);
        assert_eq!(Node::split_by_set(4, 1).decision(&sets), Decision::any_of(&[1]));
        assert!(!Node::leaf(3).tests_categories());
    }

    #[test]
    fn where_missing_values_go_right_no_bit_is_set() {
        let node = Node::split(3, 0.5).with_right(9);
        assert_eq!(node, Node { feature: 3, threshold: 0.5, right: 9 });
        assert_eq!(Node::leaf(4), Node { feature: u32::MAX, threshold: 0.0, right: 4 });
    }
}
