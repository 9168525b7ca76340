//! Where a split separates the values of its feature, and to which side it sends missing values.

use crate::partition::category_sets::CategorySets;
use crate::partition::decision::{ABOVE_ALL, Decision, Side};

/// Two neighbouring values of a feature in a node, or the codes of two neighbouring bins, with `low < high`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Gap {
    pub(crate) low: f32,
    pub(crate) high: f32,
}

impl Gap {
    /// Returns the gap between two different values, in either order.
    #[inline]
    pub(crate) fn between(a: f32, b: f32) -> Self {
        if a < b { Gap { low: a, high: b } } else { Gap { low: b, high: a } }
    }

    /// Returns the largest float32 τ that is not above the midpoint of the two values.
    ///
    /// The midpoint is between them in float64, so that low <= τ < high even for neighbouring floats. Rounding down
    /// instead of to the nearest sends every float32 to the side of the midpoint on which it is. This matters for data
    /// on a grid, where test values can be exactly half-way between training values.
    pub(crate) fn threshold(self) -> f32 {
        let middle = (f64::from(self.low) + f64::from(self.high)) / 2.0;
        let nearest = middle as f32;
        if f64::from(nearest) > middle { nearest.next_down() } else { nearest }
    }
}

/// The result of a search for a feature: where its values are separated, and the side of missing values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cut {
    place: Place,
    /// The side; `None` if the node has no missing values.
    missing: Option<Side>,
}

/// Where values are separated.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    /// Growth chooses the threshold in this gap.
    Gap(Gap),
    /// A given threshold. It is never a code, because bins are used only with the best splitter.
    Drawn(f32),
    /// All values go left, and missing values go right.
    AboveAll,
    /// A set of categories goes left. This is its index among the sets of the feature during the search, and afterwards
    /// among the sets found in the tree, [`CategorySets`].
    Subset(u32),
}

impl Cut {
    /// Returns the cut between two neighbouring values, in either order, one of which may be missing.
    pub(crate) fn between(a: f32, b: f32, missing: Option<Side>) -> Self {
        if a.is_nan() || b.is_nan() { Cut::MISSING } else { Cut { place: Place::Gap(Gap::between(a, b)), missing } }
    }

    /// Returns the cut at a threshold.
    pub(crate) fn drawn(threshold: f32, missing: Option<Side>) -> Self {
        Cut { place: Place::Drawn(threshold), missing }
    }

    /// The cut between missing values and all others.
    pub(crate) const MISSING: Cut = Cut { place: Place::AboveAll, missing: Some(Side::Right) };

    /// Returns the cut between set `place` of the categories of the feature and the others; `sees_missing` is whether
    /// the others include missing values.
    pub(crate) fn of_subset(place: u32, sees_missing: bool) -> Self {
        Cut { place: Place::Subset(place), missing: sees_missing.then_some(Side::Right) }
    }

    /// Returns the index of its set of categories, if it is such a cut.
    pub(crate) fn subset(self) -> Option<u32> {
        match self.place {
            Place::Subset(place) => Some(place),
            Place::Gap(_) | Place::Drawn(_) | Place::AboveAll => None,
        }
    }

    /// Returns the same cut with another index of its set.
    pub(crate) fn with_subset(self, place: u32) -> Self {
        Cut { place: Place::Subset(place), ..self }
    }

    /// Returns the side of missing values, if the node has any.
    pub(crate) fn missing(self) -> Option<Side> {
        self.missing
    }

    /// Returns a decision that separates the samples of the searched node, in terms of the values or codes that were
    /// searched. All thresholds inside the gap give the same sides.
    pub(crate) fn parting(self, subsets: &CategorySets) -> Decision<'_> {
        match self.place {
            Place::Subset(subset) => self.sending_missing(Decision::any_of(subsets.of(subset))),
            Place::Gap(_) | Place::Drawn(_) | Place::AboveAll => self.by_threshold(),
        }
    }

    /// Like [`Cut::parting`], for a cut that is not a set of categories.
    #[inline]
    pub(crate) fn by_threshold(self) -> Decision<'static> {
        self.sending_missing(Decision::at_most(self.lowest()))
    }

    #[inline]
    fn sending_missing<'a>(&self, decision: Decision<'a>) -> Decision<'a> {
        self.missing.map_or(decision, |side| decision.with_missing(side))
    }

    /// Returns the threshold for the tree. `values` converts a gap between codes to one between values.
    pub(crate) fn threshold(self, values: impl FnOnce(Gap) -> Gap) -> f32 {
        match self.place {
            Place::Gap(gap) => values(gap).threshold(),
            Place::Drawn(_) | Place::AboveAll | Place::Subset(_) => self.lowest(),
        }
    }

    /// Returns whether the cut comes before another cut of the same feature and node. Cuts that send missing values
    /// right come first, then those with a lower threshold. The gaps of a feature do not overlap, and sets of
    /// categories are offered in order.
    pub(crate) fn is_before(self, other: Cut) -> bool {
        let rank = |cut: Cut| (cut.missing == Some(Side::Left), cut.lowest());
        rank(self) < rank(other)
    }

    /// Returns the lowest threshold that separates the node's samples in this way.
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
