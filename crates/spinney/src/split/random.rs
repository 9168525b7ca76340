//! One random threshold for each drawn feature (extra-trees, Geurts et al. 2006).

use super::Scan;
use crate::criterion::Criterion;
use crate::partition::{Column, Entry};

impl<C: Criterion> Scan<'_, C> {
    /// Draws τ uniformly between the least and the largest value of the feature in the node and offers that cut. Only
    /// entries on the side of τ away from zero are moved. Nothing is sorted: O(entries).
    pub(super) fn random_cut(&mut self, column: Column<'_>) {
        let zero = (column.n_zeros > 0).then_some(Entry::ZERO_KEY);
        let keys = || column.entries.iter().map(|e| e.key()).chain(zero);
        let (low, high) = keys().fold((u32::MAX, 0), |(low, high), key| (low.min(key), high.max(key)));
        let (low, high) = (Entry::from_parts(low, 0).value(), Entry::from_parts(high, 0).value());
        let share = self.thresholds.uniform(u64::from(column.feature));
        let drawn = (f64::from(low) + share * (f64::from(high) - f64::from(low))) as f32;
        // Rounding to float32 may land on the upper value, which separates nothing.
        let threshold = if drawn >= high { low } else { drawn };
        self.criterion.reset();
        let mut n_moved = 0;
        let zero_goes_left = threshold >= 0.0;
        let moved = column.entries.iter().filter(|e| (e.value() > threshold) == zero_goes_left);
        self.criterion.move_samples(moved.map(|e| e.row()).inspect(|_| n_moved += 1));
        self.offer(column.feature, n_moved, || threshold);
    }
}
