//! Where a split parts the values of its feature, and to which side it sends missing ones.

use crate::partition::category_sets::CategorySets;
use crate::partition::decision::{ABOVE_ALL, Decision, Side};

/// Two neighbouring values of a feature in a node, or the codes of two neighbouring bins; `low < high`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Gap {
    pub(crate) low: f32,
    pub(crate) high: f32,
}

impl Gap {
    /// Between two that differ, given in either order.
    #[inline]
    pub(crate) fn between(a: f32, b: f32) -> Self {
        if a < b { Gap { low: a, high: b } } else { Gap { low: b, high: a } }
    }

    /// The largest float32 τ that is not above the midpoint of two values.
    ///
    /// The midpoint is between them in float64, so low <= τ < high even for neighbours. Rounding down, and not to the
    /// nearest, sends every float32 to the side on which it lies of the midpoint itself: data on a grid have test values
    /// half way between training values.
    pub(crate) fn threshold(self) -> f32 {
        let middle = (f64::from(self.low) + f64::from(self.high)) / 2.0;
        let nearest = middle as f32;
        if f64::from(nearest) > middle { nearest.next_down() } else { nearest }
    }
}

/// What a search found about a feature: where to part its values, and the side of missing ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cut {
    place: Place,
    /// `None` where the node has no sample whose value is missing.
    missing: Option<Side>,
}

/// Where values are parted.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    /// Growth puts the threshold in it.
    Gap(Gap),
    /// A threshold; there are none of codes, as bins are for the best splitter alone.
    Drawn(f32),
    /// All values go left, and missing ones right.
    AboveAll,
    /// A set of categories goes left: its place among the sets of the feature while that is searched, then among those that
    /// were found in the tree, [`CategorySets`].
    Subset(u32),
}

impl Cut {
    /// Between two neighbouring values, in either order, one of which may be missing.
    pub(crate) fn between(a: f32, b: f32, missing: Option<Side>) -> Self {
        if a.is_nan() || b.is_nan() { Cut::MISSING } else { Cut { place: Place::Gap(Gap::between(a, b)), missing } }
    }

    /// At a threshold.
    pub(crate) fn drawn(threshold: f32, missing: Option<Side>) -> Self {
        Cut { place: Place::Drawn(threshold), missing }
    }

    /// Missing values against all others.
    pub(crate) const MISSING: Cut = Cut { place: Place::AboveAll, missing: Some(Side::Right) };

    /// A set of categories against the others, which comes after so many sets of the feature; `sees_missing` is whether
    /// some of the others are missing.
    pub(crate) fn of_subset(place: u32, sees_missing: bool) -> Self {
        Cut { place: Place::Subset(place), missing: sees_missing.then_some(Side::Right) }
    }

    /// The place of its set of categories, if that is what it is.
    pub(crate) fn subset(self) -> Option<u32> {
        match self.place {
            Place::Subset(place) => Some(place),
            Place::Gap(_) | Place::Drawn(_) | Place::AboveAll => None,
        }
    }

    /// The same cut with its set at another place.
    pub(crate) fn with_subset(self, place: u32) -> Self {
        Cut { place: Place::Subset(place), ..self }
    }

    /// The side of missing values, if the node has some.
    pub(crate) fn missing(self) -> Option<Side> {
        self.missing
    }

    /// Parts the samples of the node that was searched, among the values or codes that were searched: the same sides as
    /// for every threshold inside the gap.
    pub(crate) fn parting(self, subsets: &CategorySets) -> Decision<'_> {
        match self.place {
            Place::Subset(subset) => self.sending_missing(Decision::any_of(subsets.of(subset))),
            Place::Gap(_) | Place::Drawn(_) | Place::AboveAll => self.by_threshold(),
        }
    }

    /// The same of a cut that is no set of categories.
    #[inline]
    pub(crate) fn by_threshold(self) -> Decision<'static> {
        self.sending_missing(Decision::at_most(self.lowest()))
    }

    #[inline]
    fn sending_missing<'a>(&self, decision: Decision<'a>) -> Decision<'a> {
        self.missing.map_or(decision, |side| decision.with_missing(side))
    }

    /// The threshold of the tree. `values` turns a gap between codes into one between values.
    pub(crate) fn threshold(self, values: impl FnOnce(Gap) -> Gap) -> f32 {
        match self.place {
            Place::Gap(gap) => values(gap).threshold(),
            Place::Drawn(_) | Place::AboveAll | Place::Subset(_) => self.lowest(),
        }
    }

    /// Whether it comes before another cut of the same feature and node: those that send missing values right do, then
    /// those of a lower threshold. Gaps of a feature do not overlap, and sets of categories are offered in order.
    pub(crate) fn is_before(self, other: Cut) -> bool {
        let rank = |cut: Cut| (cut.missing == Some(Side::Left), cut.lowest());
        rank(self) < rank(other)
    }

    /// The lowest threshold that parts the node's samples in this way.
    fn lowest(self) -> f32 {
        match self.place {
            Place::Gap(gap) => gap.low,
            Place::Drawn(threshold) => threshold,
            Place::AboveAll => ABOVE_ALL,
            Place::Subset(place) => place as f32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn thresholds_separate_even_neighbouring_floats(a in any::<f32>(), steps in 1u32..4, far in any::<f32>()) {
            prop_assume!(a.is_finite() && far.is_finite());
            let near = (0..steps).fold(a, |v, _| v.next_up());
            for b in [near, far] {
                prop_assume!(a != b && b.is_finite());
                let gap = Gap::between(a, b);
                let (low, high, t) = (gap.low, gap.high, gap.threshold());
                prop_assert!((low, high) == (a.min(b), a.max(b)) && gap == Gap::between(b, a));
                prop_assert!(low <= t && t < high, "{low:e} {t:e} {high:e}");
                let middle = (f64::from(low) + f64::from(high)) / 2.0;
                prop_assert!(f64::from(t) <= middle && middle < f64::from(t.next_up()), "{low:e} {t:e} {high:e}");
                for side in [None, Some(Side::Left), Some(Side::Right)] {
                    let cut = Cut::between(b, a, side);
                    let subsets = CategorySets::default();
                    let decision = cut.parting(&subsets);
                    prop_assert!(decision.goes_left(low) && !decision.goes_left(high));
                    prop_assert!(side.is_none_or(|side| decision.missing() == side));
                    prop_assert_eq!(cut.threshold(|gap| gap), t);
                    prop_assert!(!cut.is_before(cut) && (cut.is_before(Cut::MISSING) || side == Some(Side::Left)));
                }
                prop_assert_eq!(Cut::between(a, f32::NAN, None), Cut::MISSING);
                let subsets = CategorySets::default();
                let missing = Cut::MISSING.parting(&subsets);
                prop_assert!(missing.goes_left(high) && !missing.goes_left(f32::NAN));
            }
        }
    }
}
