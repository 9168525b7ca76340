//! Where a split parts the values of its feature.

use crate::partition::decision::Decision;

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

/// What a search found about a feature: a gap, in which growth puts the threshold, or a threshold that was drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cut {
    Gap(Gap),
    /// A value; there are none of codes, as bins are for the best splitter alone.
    Drawn(f32),
}

impl From<Gap> for Cut {
    fn from(gap: Gap) -> Self {
        Cut::Gap(gap)
    }
}

impl Cut {
    /// Parts the samples of the node that was searched, among the values or codes that were searched: the same sides as
    /// for every threshold inside the gap.
    pub(crate) fn parting(self) -> Decision {
        Decision::at_most(self.lowest())
    }

    /// What the tree asks of values. `values` turns a gap between codes into one between values.
    pub(crate) fn decision(self, values: impl FnOnce(Gap) -> Gap) -> Decision {
        match self {
            Cut::Gap(gap) => Decision::at_most(values(gap).threshold()),
            Cut::Drawn(threshold) => Decision::at_most(threshold),
        }
    }

    /// Whether its threshold is lower than that of another cut of the same feature and node. Gaps of a feature do not
    /// overlap.
    pub(crate) fn is_below(self, other: Cut) -> bool {
        self.lowest() < other.lowest()
    }

    /// The lowest threshold that parts the node's samples in this way.
    fn lowest(self) -> f32 {
        match self {
            Cut::Gap(gap) => gap.low,
            Cut::Drawn(threshold) => threshold,
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
                for decision in [Cut::Gap(gap).parting(), Cut::Gap(gap).decision(|gap| gap)] {
                    prop_assert!(decision.goes_left(low) && !decision.goes_left(high));
                }
            }
        }
    }
}
