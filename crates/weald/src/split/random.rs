//! One random threshold for each drawn feature (extra-trees, Geurts et al. 2006).

use super::cut::Cut;
use super::scan::{MovedSide, Scan};
use crate::criterion::{CopiedSample, NodeCriterion};
use crate::partition::decision::Side;
use crate::partition::{Column, Entry, PlainColumn};

/// The largest number of samples that are copied at once. The copies of larger nodes would not fit into the fast caches;
/// they are made anew for each feature. It is small in tests, which have few samples.
pub(super) const MOST_COPIED: usize = if cfg!(test) { 1 << 4 } else { 1 << 13 };

impl<C: NodeCriterion> Scan<'_, C> {
    /// Draws a threshold uniformly between the smallest and the largest value of the feature in the node, and offers
    /// this cut, with missing values on a random side. If there is a single value and missing ones, it offers the cut
    /// between them. Only samples on the side away from zero are moved. Nothing is sorted: O(entries).
    pub(super) fn random_cut(&mut self, column: Column<'_>) {
        let zero = (column.n_zeros > 0).then(|| Entry::new(0.0, 0));
        let first = zero.unwrap_or(column.entries[0]);
        let (low, mut high) = column.entries.iter().fold((first, first), |(low, high), &e| (low.min(e), high.max(e)));
        let mut missing = None;
        if high.is_missing() {
            // The smallest value is not missing, because the column varies; so there is a largest value, too.
            let present = column.entries.iter().filter(|e| !e.is_missing());
            high = present.fold(zero.unwrap_or(low), |high, &e| high.max(e));
            missing = Some(self.missing_side(column.feature));
        }
        let cut = if low.key() == high.key() {
            Cut::MISSING
        } else {
            Cut::drawn(self.draw_threshold(column.feature, low.value(), high.value()), missing)
        };
        self.offer_random(column.feature, cut, column.entries.iter().map(|e| (e.value(), e.row())));
    }

    /// Like [`Scan::random_cut`], for a dense column without missing values.
    pub(super) fn random_plain_cut(&mut self, column: PlainColumn<'_>) {
        let (low, high) = column.range;
        let threshold = self.draw_threshold(column.feature, low, high);
        // As in other columns, the samples on the side away from zero are moved.
        let (cut, moves_right) = (Cut::drawn(threshold, None), 0.0 <= threshold);
        if moves_right {
            self.offer_chosen(column, |value| value > threshold, (cut, Side::Right));
        } else {
            self.offer_chosen(column, |value| value <= threshold, (cut, Side::Left));
        }
    }

    /// Offers the cut between the samples with chosen values, which go to this side, and all others.
    #[inline]
    fn offer_chosen(&mut self, column: PlainColumn<'_>, is_chosen: impl Fn(f32) -> bool, (cut, side): (Cut, Side)) {
        let PlainColumn { feature, values, rows, .. } = column;
        if !C::Sample::IS_SUPPORTED {
            let cells = values.iter().copied().zip(rows.iter().copied());
            self.offer_moved(feature, is_chosen, cells, (cut, side));
            return;
        }
        let (mut moved, mut n_moved) = (self.criterion.reset(), 0);
        for (values, rows) in values.chunks(MOST_COPIED).zip(rows.chunks(MOST_COPIED)) {
            if !self.has_copied {
                if self.control.is_stopped() {
                    return;
                }
                self.memory.copied.clear();
                self.memory.copied.extend(rows.iter().map(|&row| self.criterion.sample(row)));
                self.has_copied = rows.len() == column.rows.len();
            }
            n_moved += C::Sample::move_chosen(&mut moved, self.memory.copied, values, &is_chosen);
        }
        self.offer(feature, MovedSide { n: n_moved, moved: &moved, side }, || cut);
    }

    fn draw_threshold(&self, feature: u32, low: f32, high: f32) -> f32 {
        let share = self.thresholds.uniform(u64::from(feature));
        let drawn = (f64::from(low) + share * (f64::from(high) - f64::from(low))) as f32;
        // Rounding to float32 may give the upper value, which does not separate anything. Adding zero converts −0.0 to
        // zero.
        (if drawn >= high { low } else { drawn }) + 0.0
    }

    /// Offers the cut between the cells, pairs of a value and a sample, that go left and those that go right.
    #[inline]
    fn offer_random(&mut self, feature: u32, cut: Cut, cells: impl ExactSizeIterator<Item = (f32, u32)>) {
        let decision = cut.by_threshold();
        let zero_goes_left = decision.goes_left(0.0);
        let side = if zero_goes_left { Side::Right } else { Side::Left };
        self.offer_moved(feature, |value| decision.goes_left(value) != zero_goes_left, cells, (cut, side));
    }

    /// Offers the cut between the moved cells, which go to this side, and all others. Returns the weight of the moved
    /// cells.
    #[inline]
    pub(super) fn offer_moved(
        &mut self,
        feature: u32,
        is_moved: impl Fn(f32) -> bool,
        cells: impl ExactSizeIterator<Item = (f32, u32)>,
        (cut, side): (Cut, Side),
    ) -> f64 {
        // Cells are selected without a branch, because the side of a value is unpredictable for the processor.
        self.memory.picked.resize(self.memory.picked.len().max(cells.len()), 0);
        let mut n_moved = 0;
        for (value, row) in cells {
            self.memory.picked[n_moved] = row;
            n_moved += usize::from(is_moved(value));
        }
        let mut moved = self.criterion.reset();
        let picked = std::mem::take(self.memory.picked);
        let is_whole = self.move_long_run(&mut moved, &picked[..n_moved], |row| row);
        *self.memory.picked = picked;
        if is_whole {
            self.offer(feature, MovedSide { n: n_moved as u32, moved: &moved, side }, || cut);
        }
        self.criterion.moved_weight(&moved)
    }
}
