//! One random threshold for each drawn feature (extra-trees, Geurts et al. 2006).

use super::Scan;
use crate::criterion::Criterion;
use crate::partition::{Column, Entry};

impl<C: Criterion> Scan<'_, C> {
    /// Draws τ uniformly between the least and the largest value of the feature in the node and offers that cut. Only
    /// entries on the side of τ away from zero are moved. Nothing is sorted: O(entries).
    pub(super) fn random_cut(&mut self, column: Column<'_>) {
        let first = if column.n_zeros > 0 { Entry::new(0.0, 0) } else { column.entries[0] };
        let (low, high) = column.entries.iter().fold((first, first), |(low, high), &e| (low.min(e), high.max(e)));
        let (low, high) = (low.value(), high.value());
        let share = self.thresholds.uniform(u64::from(column.feature));
        let drawn = (f64::from(low) + share * (f64::from(high) - f64::from(low))) as f32;
        // Rounding to float32 may land on the upper value, which separates nothing.
        let threshold = if drawn >= high { low } else { drawn };
        let zero_goes_left = threshold >= 0.0;
        let key = Entry::new(threshold, 0).key();
        // Picked without a branch: which side an entry takes cannot be foretold.
        self.picked.resize(column.entries.len(), 0);
        let mut n_moved = 0;
        for entry in column.entries.iter() {
            self.picked[n_moved] = entry.row();
            n_moved += usize::from((entry.key() > key) == zero_goes_left);
        }
        let mut moved = self.criterion.reset();
        for &row in &self.picked[..n_moved] {
            self.criterion.move_sample(&mut moved, row);
        }
        self.offer(column.feature, n_moved as u32, &moved, || threshold);
    }
}
