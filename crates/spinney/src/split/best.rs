//! The best of all thresholds of a feature.

use super::Scan;
use crate::criterion::Criterion;
use crate::partition::sort::sort_by_value;
use crate::partition::{Column, Entry};

impl<C: Criterion> Scan<'_, C> {
    /// Offers every cut of the column. Positive values are moved from the largest down, negative ones from the least up;
    /// zeros lie between and are never moved, so the cost is the entries that are not zero.
    pub(super) fn best_cut(&mut self, column: Column<'_>) {
        if !column.sorted {
            sort_by_value(column.entries);
        }
        if let ([entry], true) = (&*column.entries, column.n_zeros > 0) {
            // One sample against zeros: most columns of wide sparse data, deep in the tree.
            if entry.key() != Entry::ZERO_KEY {
                let moved = self.criterion.move_one(entry.row());
                let between = self.between;
                self.offer(column.feature, 1, &moved, || between(entry.value(), 0.0));
            }
            return;
        }
        let (negative, positive) = Self::nonzero(&column);
        let has_zeros = column.n_zeros > 0 || negative.len() + positive.len() < column.entries.len();
        let zero = has_zeros.then_some(0.0);
        // Without zeros the cut between the signs is offered by the positive side alone.
        let below_positive = zero.or_else(|| negative.last().map(|e| e.value()));
        // Counts and flags repeat their small values, continuous features nothing: one look tells, and only speed hangs on it.
        if let [first, second, ..] = positive
            && first.key() == second.key()
        {
            self.move_runs(column.feature, Runs(positive), below_positive);
        } else {
            self.move_entries(column.feature, positive.iter().rev(), below_positive);
        }
        self.move_entries(column.feature, negative.iter(), zero);
    }

    /// Moves entries from the outermost value inwards and offers the cut after each distinct value. `inner` is the value in
    /// the node that comes after the last entry, if any.
    #[inline]
    fn move_entries<'e>(
        &mut self,
        feature: u32,
        mut entries: impl ExactSizeIterator<Item = &'e Entry>,
        inner: Option<f32>,
    ) {
        let n_entries = entries.len() as u32;
        let Some(mut outer) = entries.next() else { return };
        let between = self.between;
        let mut moved = self.criterion.reset();
        while let Some((cut, score)) = next_cut(self.criterion, &mut moved, &mut outer, &mut entries, self.best_score) {
            let n_moved = n_entries - 1 - entries.len() as u32;
            self.offer_score(feature, n_moved, &moved, score, || between(cut.value(), outer.value()));
        }
        if let Some(inner) = inner {
            self.criterion.move_sample(&mut moved, outer.row());
            self.offer(feature, n_entries, &moved, || between(outer.value(), inner));
        }
    }

    /// The same, a run of equal values at a time.
    #[inline]
    fn move_runs(&mut self, feature: u32, mut runs: Runs<'_>, inner: Option<f32>) {
        let between = self.between;
        let mut moved = self.criterion.reset();
        let mut n_moved = 0;
        while let Some(run) = runs.next() {
            if run.len() < C::LONG_RUN {
                run.iter().for_each(|entry| self.criterion.move_sample(&mut moved, entry.row()));
            } else {
                self.criterion.move_run(&mut moved, run, Entry::row);
            }
            n_moved += run.len() as u32;
            let value = run[0].value();
            if let Some(next) = runs.peek().map(|e| e.value()).or(inner) {
                self.offer(feature, n_moved, &moved, || between(value, next));
            }
        }
    }
}

/// Moves entries up to the next cut that scores at least `floor`; returns its outer entry and its score, `outer` is then the
/// inner one. A loop of its own, which writes nothing else, so that everything else stays in registers.
#[inline]
fn next_cut<'e, C: Criterion>(
    criterion: &mut C,
    moved: &mut C::Moved,
    outer: &mut &'e Entry,
    entries: &mut impl Iterator<Item = &'e Entry>,
    floor: f64,
) -> Option<(&'e Entry, f64)> {
    for next in entries {
        criterion.move_sample(moved, outer.row());
        let last = std::mem::replace(outer, next);
        if next.key() != last.key() {
            let score = criterion.score(moved);
            if score >= floor {
                return Some((last, score));
            }
        }
    }
    None
}

/// Runs of equal values in sorted entries, from the last.
struct Runs<'a>(&'a [Entry]);

impl<'a> Runs<'a> {
    fn peek(&self) -> Option<&'a Entry> {
        self.0.last()
    }
}

impl<'a> Iterator for Runs<'a> {
    type Item = &'a [Entry];

    #[inline]
    fn next(&mut self) -> Option<&'a [Entry]> {
        let key = self.peek()?.key();
        let start = self.0.iter().rposition(|e| e.key() != key).map_or(0, |i| i + 1);
        let (inner, run) = self.0.split_at(start);
        self.0 = inner;
        Some(run)
    }
}

/// The largest float32 τ that is not above the midpoint of low and high, given in either order.
///
/// The midpoint is between them in float64, so low <= τ < high even for neighbours. Rounding down, and not to the
/// nearest, sends every float32 to the side on which it lies of the midpoint itself: data on a grid have test values
/// half way between training values.
pub(crate) fn threshold_between(a: f32, b: f32) -> f32 {
    let middle = (f64::from(a) + f64::from(b)) / 2.0;
    let nearest = middle as f32;
    if f64::from(nearest) > middle { nearest.next_down() } else { nearest }
}

/// Codes are at most 254 apart.
const MOST_STEPS: f32 = 1024.0;

/// The threshold between the codes a < b of two neighbouring bins of a node, given in either order: a + (b − a) / 1024,
/// which is exact and tells both.
pub(crate) fn code_threshold(a: f32, b: f32) -> f32 {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    low + (high - low) / MOST_STEPS
}

/// The codes that [`code_threshold`] was given, the lower one first.
pub(crate) fn codes_around(threshold: f32) -> (i32, i32) {
    let low = threshold.floor();
    let steps = (threshold - low) * MOST_STEPS;
    (low as i32, low as i32 + steps as i32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn thresholds_of_codes_separate_and_give_the_codes_back() {
        for a in -254i32..=254 {
            for b in a + 1..=254.min(a + 254) {
                let t = code_threshold(a as f32, b as f32);
                assert!(a as f32 <= t && t < b as f32 && t < (a + 1) as f32);
                assert_eq!(t, code_threshold(b as f32, a as f32));
                assert_eq!(codes_around(t), (a, b));
            }
        }
    }

    proptest! {
        #[test]
        fn thresholds_separate_even_neighbouring_floats(a in any::<f32>(), steps in 1u32..4, far in any::<f32>()) {
            prop_assume!(a.is_finite() && far.is_finite());
            let near = (0..steps).fold(a, |v, _| v.next_up());
            for b in [near, far] {
                prop_assume!(a != b && b.is_finite());
                let (low, high) = (a.min(b), a.max(b));
                let t = threshold_between(a, b);
                prop_assert!(low <= t && t < high, "{low:e} {t:e} {high:e}");
                let middle = (f64::from(low) + f64::from(high)) / 2.0;
                prop_assert!(f64::from(t) <= middle && middle < f64::from(t.next_up()), "{low:e} {t:e} {high:e}");
                prop_assert_eq!(t, threshold_between(b, a));
            }
        }
    }
}
