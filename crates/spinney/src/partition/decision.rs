//! What a node asks of the value of its feature: a test, and the side of values that are missing.
//!
//! [`Decision::goes_left`] is the one place where a value meets a threshold or a set of categories: partitioners, searches,
//! prediction and rules ask it, so that none can differ from another.

use crate::data::{Category, category_of};

/// One of the two sides of a split: there will be no third.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The left child's.
    Left,
    /// The right child's.
    Right,
}

impl Side {
    /// The side of more weight; the left one of equal weights. Missing values go there where a node has seen none.
    pub(crate) fn heavier(left: f64, right: f64) -> Self {
        if left >= right { Side::Left } else { Side::Right }
    }
}

/// What a node asks of values that are not missing.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Test<'a> {
    /// Values up to this threshold go left.
    AtMost(f32),
    /// These categories go left, in rising order. All others go right with the missing ones: categories that the node did
    /// not see in training, and values that are no category.
    AnyOf(&'a [Category]),
}

/// Whether a value is one of these categories, which rise.
#[inline]
fn is_any_of(categories: &[Category], value: f32) -> bool {
    category_of(value).is_some_and(|category| categories.binary_search(&category).is_ok())
}

/// No value is above this threshold: a node with it parts missing values from all others.
pub(crate) const ABOVE_ALL: f32 = f32::MAX;

/// The side to which every value goes.
///
/// ```
/// use spinney::{Decision, Side, Test};
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
    /// Values up to `threshold` go left, larger and missing ones right.
    #[inline]
    pub const fn at_most(threshold: f32) -> Self {
        Decision { test: Test::AtMost(threshold), missing: Side::Right, saw_missing: false }
    }

    /// These categories, which rise, go left; all others and missing values go right.
    #[inline]
    pub const fn any_of(categories: &'a [Category]) -> Self {
        Decision { test: Test::AnyOf(categories), missing: Side::Right, saw_missing: false }
    }

    /// The same test of a node that saw missing values, and sends them to this side.
    #[inline]
    pub const fn with_missing(self, missing: Side) -> Self {
        Decision { missing, saw_missing: true, ..self }
    }

    /// The same test of a node that saw no missing values, and sends them to this side if there are any later.
    #[inline]
    pub const fn with_unseen(self, missing: Side) -> Self {
        Decision { missing, saw_missing: false, ..self }
    }

    /// What is asked of values that are not missing.
    #[inline]
    pub const fn test(&self) -> Test<'a> {
        self.test
    }

    /// The side of missing values.
    #[inline]
    pub const fn missing(&self) -> Side {
        self.missing
    }

    /// Whether some samples of the node had missing values, so that their side was learnt from them.
    #[inline]
    pub const fn saw_missing(&self) -> bool {
        self.saw_missing
    }

    /// Whether a value goes left; NaN is a missing one. Without branches on values that are not missing.
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

    /// The same of a value that is not missing, for rows of which that is known: prediction asks at every step, and the
    /// question whether a value is there costs a tenth of it.
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
    fn both_comparisons_agree() {
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
