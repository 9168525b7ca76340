//! The test of a node on the value of its feature, and the side to which missing values go.
//!
//! [`Decision::goes_left`] is the only place where a value is compared with a threshold or a set of categories.
//! Partitioners, searches, prediction and rules all call it, so they cannot disagree.

use crate::data::{Category, category_of};

/// One of the two sides of a split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "there are two")]
pub enum Side {
    /// The side of the left child.
    Left,
    /// The side of the right child.
    Right,
}

impl Side {
    /// Returns the side with more weight, or the left one if both are equal. Missing values go to this side if the node
    /// did not have any during training.
    pub(crate) fn heavier(left: f64, right: f64) -> Self {
        if left >= right { Side::Left } else { Side::Right }
    }
}

/// The test of a node for values that are not missing.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Test<'a> {
    /// Values less than or equal to this threshold go left.
    AtMost(f32),
    /// These categories, in increasing order, go left. All other values go to the side of missing values: categories
    /// that the node did not have during training, and values that are not valid categories.
    AnyOf(&'a [Category]),
}

/// Returns whether `value` is one of `categories`, which must be in increasing order.
#[inline]
fn is_any_of(categories: &[Category], value: f32) -> bool {
    category_of(value).is_some_and(|category| categories.binary_search(&category).is_ok())
}

/// A threshold that no value exceeds: a node with it separates missing values from all others.
pub(crate) const ABOVE_ALL: f32 = f32::MAX;

/// The decision of a node: the side to which every value goes.
///
/// ```
/// use weald::{Decision, Side, Test};
/// let decision = Decision::at_most(1.5);
/// assert!(decision.goes_left(1.5) && !decision.goes_left(2.0));
/// assert_eq!((decision.test(), decision.missing()), (Test::AtMost(1.5), Side::Right));
/// assert!(!decision.goes_left(f32::NAN) && decision.with_missing(Side::Left).goes_left(f32::NAN));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision<'a> {
    test: Test<'a>,
    missing: Side,
    saw_missing: bool,
}

impl<'a> Decision<'a> {
    /// Returns a decision that sends values up to `threshold` left, and larger and missing values right.
    #[inline]
    pub const fn at_most(threshold: f32) -> Self {
        Decision { test: Test::AtMost(threshold), missing: Side::Right, saw_missing: false }
    }

    /// Returns a decision that sends these categories, in increasing order, left, and all other and missing values
    /// right.
    #[inline]
    pub const fn any_of(categories: &'a [Category]) -> Self {
        Decision { test: Test::AnyOf(categories), missing: Side::Right, saw_missing: false }
    }

    /// Returns the same test for a node that had missing values during training, and sends them to this side.
    #[inline]
    pub const fn with_missing(self, missing: Side) -> Self {
        Decision { missing, saw_missing: true, ..self }
    }

    /// Returns the same test for a node that had no missing values during training, and sends those in new samples to
    /// this side.
    #[inline]
    pub const fn with_unseen(self, missing: Side) -> Self {
        Decision { missing, saw_missing: false, ..self }
    }

    /// Returns the test for values that are not missing.
    #[inline]
    pub const fn test(&self) -> Test<'a> {
        self.test
    }

    /// Returns the side to which missing values go.
    #[inline]
    pub const fn missing(&self) -> Side {
        self.missing
    }

    /// Returns whether the node had missing values during training, so that their side was learned from them.
    #[inline]
    pub const fn saw_missing(&self) -> bool {
        self.saw_missing
    }

    /// Returns whether `value` goes left; NaN is a missing value. Values that are not missing are compared without
    /// branches.
    #[inline]
    pub fn goes_left(&self, value: f32) -> bool {
        if value.is_nan() {
            return self.sends_missing_left();
        }
        match self.test {
            Test::AtMost(threshold) => value <= threshold,
            Test::AnyOf(categories) => is_any_of(categories, value),
        }
    }

    /// Like [`Decision::goes_left`], for a value that is known not to be missing. Prediction calls it at every step,
    /// where the check for missing values takes a tenth of the time.
    #[inline]
    pub(crate) fn sends_left(&self, value: f32) -> bool {
        debug_assert!(!value.is_nan());
        match self.test {
            Test::AtMost(threshold) => value <= threshold,
            Test::AnyOf(categories) => is_any_of(categories, value),
        }
    }

    #[cold]
    fn sends_missing_left(&self) -> bool {
        self.missing == Side::Left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listed_categories_go_left_and_all_else_right() {
        let decision = Decision::any_of(&[0, 3, 65_535]);
        for (value, goes_left) in [
            (0.0, true),
            (-0.0, true),
            (3.0, true),
            (65_535.0, true),
            (1.0, false),
            (3.5, false),
            (-3.0, false),
            (65_536.0, false),
            (f32::INFINITY, false),
        ] {
            assert_eq!((decision.goes_left(value), decision.sends_left(value)), (goes_left, goes_left), "{value}");
        }
        assert!(!decision.goes_left(f32::NAN) && !Decision::any_of(&[]).goes_left(0.0));
    }

    #[test]
    fn goes_left_and_sends_left_agree_for_every_value() {
        let values = [f32::NEG_INFINITY, -1.5, -0.0, 0.0, f32::MIN_POSITIVE, 1.5, f32::MAX, f32::INFINITY, f32::NAN];
        for threshold in &values[..8] {
            for side in [Side::Left, Side::Right] {
                let decision = Decision::at_most(*threshold).with_missing(side);
                for value in values {
                    assert!(value.is_nan() || decision.goes_left(value) == decision.sends_left(value));
                }
                assert_eq!(decision.goes_left(f32::NAN), side == Side::Left);
            }
        }
    }
}
