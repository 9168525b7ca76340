//! One random threshold for each drawn feature (extra-trees, Geurts et al. 2006).

use super::Scan;
use crate::criterion::Criterion;
use crate::partition::{Column, Entry, PlainColumn};

impl<C: Criterion> Scan<'_, C> {
    /// Draws τ uniformly between the least and the largest value of the feature in the node and offers that cut. Only
    /// entries on the side of τ away from zero are moved. Nothing is sorted: O(entries).
    pub(super) fn random_cut(&mut self, column: Column<'_>) {
        let first = if column.n_zeros > 0 { Entry::new(0.0, 0) } else { column.entries[0] };
        let (low, high) = column.entries.iter().fold((first, first), |(low, high), &e| (low.min(e), high.max(e)));
        let threshold = self.draw_threshold(column.feature, low.value(), high.value());
        let key = Entry::new(threshold, 0).key();
        let cells = column.entries.iter().map(|e| (e.row(), e.key() > key));
        self.offer_random(column.feature, threshold, cells);
    }

    /// The same for a dense column.
    pub(super) fn random_plain_cut(&mut self, column: PlainColumn<'_>) {
        let (low, high) = column.range;
        let threshold = self.draw_threshold(column.feature, low, high);
        let cells = column.rows.iter().zip(column.values).map(|(&row, &value)| (row, value > threshold));
        self.offer_random(column.feature, threshold, cells);
    }

    fn draw_threshold(&self, feature: u32, low: f32, high: f32) -> f32 {
        let share = self.thresholds.uniform(u64::from(feature));
        let drawn = (f64::from(low) + share * (f64::from(high) - f64::from(low))) as f32;
        // Rounding to float32 may land on the upper value, which separates nothing. Adding zero makes −0.0 zero.
        (if drawn >= high { low } else { drawn }) + 0.0
    }

    /// Offers the cut that sends the marked cells right.
    #[inline]
    fn offer_random(&mut self, feature: u32, threshold: f32, cells: impl ExactSizeIterator<Item = (u32, bool)>) {
        let zero_goes_left = threshold >= 0.0;
        // Picked without a branch: which side a value takes cannot be foretold.
        self.picked.resize(self.picked.len().max(cells.len()), 0);
        let mut n_moved = 0;
        for (row, goes_right) in cells {
            self.picked[n_moved] = row;
            n_moved += usize::from(goes_right == zero_goes_left);
        }
        let mut moved = self.criterion.reset();
        self.criterion.move_run(&mut moved, &self.picked[..n_moved], |row| row);
        self.offer(feature, n_moved as u32, &moved, || threshold);
    }
}
