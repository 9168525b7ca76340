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
                self.offer(column.feature, 1, &moved, || threshold_between(entry.value(), 0.0));
            }
            return;
        }
        let (negative, positive) = Self::nonzero(&column);
        let has_zeros = column.n_zeros > 0 || negative.len() + positive.len() < column.entries.len();
        let zero = has_zeros.then_some(0.0);
        // Without zeros the cut between the signs is offered by the positive side alone.
        let below_positive = zero.or_else(|| negative.last().map(|e| e.value()));
        self.move_inwards(column.feature, positive.iter().rev(), below_positive);
        self.move_inwards(column.feature, negative.iter(), zero);
    }

    /// Moves entries from the outermost value inwards and offers the cut after each distinct value. `inner` is the value in
    /// the node that comes after the last entry, if any.
    #[inline]
    fn move_inwards<'e>(
        &mut self,
        feature: u32,
        mut entries: impl ExactSizeIterator<Item = &'e Entry>,
        inner: Option<f32>,
    ) {
        let n_entries = entries.len() as u32;
        let Some(mut outer) = entries.next() else { return };
        let mut moved = self.criterion.reset();
        for (n_moved, next) in (1..).zip(entries) {
            self.criterion.move_sample(&mut moved, outer.row());
            if next.key() != outer.key() {
                self.offer(feature, n_moved, &moved, || threshold_between(outer.value(), next.value()));
            }
            outer = next;
        }
        if let Some(inner) = inner {
            self.criterion.move_sample(&mut moved, outer.row());
            self.offer(feature, n_entries, &moved, || threshold_between(outer.value(), inner));
        }
    }
}

/// A float32 τ with low <= τ < high, half way where rounding allows, for low ≠ high in either order.
///
/// The midpoint is exact in float64; rounded to float32 it may land on the upper value, then τ is the lower one.
pub(crate) fn threshold_between(a: f32, b: f32) -> f32 {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    let middle = ((f64::from(low) + f64::from(high)) / 2.0) as f32;
    if middle >= high { low } else { middle }
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
                let (low, high) = (a.min(b), a.max(b));
                let t = threshold_between(a, b);
                prop_assert!(low <= t && t < high, "{low:e} {t:e} {high:e}");
                prop_assert_eq!(t, threshold_between(b, a));
            }
        }
    }
}
