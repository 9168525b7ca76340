//! The search over all thresholds of a feature.

use super::cut::Cut;
use super::scan::{MovedSide, Scan};
use crate::control::STEPS;
use crate::criterion::NodeCriterion;
use crate::data::sort::sort_by_value_with;
use crate::partition::decision::Side;
use crate::partition::{Column, Entry};

impl<C: NodeCriterion> Scan<'_, C> {
    /// Offers every cut of the column. Positive values are moved in decreasing order, negative ones in increasing
    /// order. Zeros lie between them and are never moved, so the cost is proportional to the non-zero entries.
    pub(super) fn best_cut(&mut self, column: Column<'_>) {
        // The result of an interrupted search is meaningless: see `Visitor::is_over`.
        if !column.sorted
            && let Err(error) = sort_by_value_with(column.entries, self.memory.sorting, self.control)
        {
            self.failure.get_or_insert(error);
            return;
        }
        if let ([entry], true) = (&*column.entries, column.n_zeros > 0) {
            // One sample against zeros is the case of most columns of sparse data with many features, deep in the tree.
            if entry.key() != Entry::ZERO_KEY {
                let moved = if self.needs_sums() {
                    let mut moved = self.criterion.reset();
                    self.criterion.move_sample(&mut moved, entry.row());
                    moved
                } else {
                    self.criterion.move_one(entry.row())
                };
                // Missing values are sorted above all others.
                let side = if entry.value() < 0.0 { Side::Left } else { Side::Right };
                let moved = MovedSide { n: 1, moved: &moved, side };
                self.offer(column.feature, moved, || Cut::between(entry.value(), 0.0, None));
            }
            return;
        }
        let (negative, positive) = Self::nonzero(column.entries);
        let has_zeros = column.n_zeros > 0 || negative.len() + positive.len() < column.entries.len();
        let zero = has_zeros.then_some(0.0);
        // If there are no zeros, the cut between the signs is offered only by the positive side.
        let below_positive = zero.or_else(|| negative.last().map(|e| e.value()));
        if !positive.last().is_some_and(|e| e.is_missing()) {
            self.move_positive(column.feature, positive, below_positive, None);
            self.move_negative(column.feature, negative, zero, &[], None);
            return;
        }
        // On the right, missing values are treated as the largest. On the left, they are treated as the smallest, and
        // the cut between them and all others is omitted because it has been offered already.
        let (present, missing) = positive.split_at(positive.partition_point(|e| !e.is_missing()));
        self.move_positive(column.feature, positive, below_positive, Some(Side::Right));
        self.move_negative(column.feature, negative, zero, &[], Some(Side::Right));
        self.move_positive(column.feature, present, below_positive, Some(Side::Left));
        self.move_negative(column.feature, negative, zero, missing, Some(Side::Left));
    }

    /// Offers the cuts above zero in decreasing order. The last one is between the entries and `inner`.
    #[inline]
    fn move_positive(&mut self, feature: u32, entries: &[Entry], inner: Option<f32>, missing: Option<Side>) {
        // Counts and flags have many equal small values, continuous features have almost none. The first values are
        // sufficient to choose, because the choice affects only speed.
        if let [first, second, ..] = entries
            && first.key() == second.key()
        {
            self.move_runs(feature, Runs(entries), inner, missing);
        } else {
            let pieces = entries.rchunks(self.at_once()).map(|piece| piece.iter().rev());
            self.move_entries(feature, pieces, inner, (Side::Right, &[]), missing);
        }
    }

    /// Offers the cuts below zero in increasing order, together with the entries `before` them.
    #[inline]
    fn move_negative(
        &mut self,
        feature: u32,
        entries: &[Entry],
        inner: Option<f32>,
        before: &[Entry],
        missing: Option<Side>,
    ) {
        let pieces = entries.chunks(self.at_once()).map(<[Entry]>::iter);
        self.move_entries(feature, pieces, inner, (Side::Left, before), missing);
    }

    /// Returns the number of entries that are moved between two checks of the flag.
    fn at_once(&self) -> usize {
        // Runs are moved in groups of four, so that pieces must not divide a group.
        (STEPS / self.criterion.cost().max(1)).max(1).next_multiple_of(4)
    }

    /// Moves entries from the outermost value inwards and offers the cut after each distinct value. The entries come in
    /// pieces, between which the flag is checked. `inner` is the value in the node after the last entry, if there is
    /// one. The moved entries are on `side` of every cut, together with the entries `before` the first.
    #[inline]
    fn move_entries<'e, E: ExactSizeIterator<Item = &'e Entry>>(
        &mut self,
        feature: u32,
        mut pieces: impl Iterator<Item = E>,
        inner: Option<f32>,
        (side, before): (Side, &[Entry]),
        missing: Option<Side>,
    ) {
        let Some(mut entries) = pieces.next() else { return };
        let mut n_entries = (before.len() + entries.len()) as u32;
        let Some(mut outer) = entries.next() else { return };
        let mut moved = self.criterion.reset();
        if !before.is_empty() && !self.move_long_run(&mut moved, before, Entry::row) {
            return;
        }
        loop {
            while let Some((cut, score)) =
                next_cut(self.criterion, &mut moved, &mut outer, &mut entries, self.best.score)
            {
                let moved = MovedSide { n: n_entries - 1 - entries.len() as u32, moved: &moved, side };
                self.offer_score(feature, moved, score, || Cut::between(cut.value(), outer.value(), missing));
            }
            let Some(piece) = pieces.next() else { break };
            if self.control.is_stopped() {
                return;
            }
            n_entries += piece.len() as u32;
            entries = piece;
        }
        if let Some(inner) = inner {
            self.criterion.move_sample(&mut moved, outer.row());
            let moved = MovedSide { n: n_entries, moved: &moved, side };
            self.offer(feature, moved, || Cut::between(outer.value(), inner, missing));
        }
    }

    /// Offers the cuts above zero, moving a run of equal values at a time.
    #[inline]
    fn move_runs(&mut self, feature: u32, mut runs: Runs<'_>, inner: Option<f32>, missing: Option<Side>) {
        let mut moved = self.criterion.reset();
        let mut n_moved = 0;
        let at_once = self.at_once();
        let mut left = at_once;
        while let Some(run) = runs.next() {
            if run.len() < C::LONG_RUN {
                run.iter().for_each(|entry| self.criterion.move_sample(&mut moved, entry.row()));
            } else if !self.move_long_run(&mut moved, run, Entry::row) {
                return;
            }
            // A run also costs a score.
            left = left.saturating_sub(run.len());
            if left == 0 {
                if self.control.is_stopped() {
                    return;
                }
                left = at_once;
            }
            n_moved += run.len() as u32;
            let value = run[0].value();
            if let Some(next) = runs.peek().map(|e| e.value()).or(inner) {
                let moved = MovedSide { n: n_moved, moved: &moved, side: Side::Right };
                self.offer(feature, moved, || Cut::between(value, next, missing));
            }
        }
    }
}

impl<C: NodeCriterion> Scan<'_, C> {
    /// Moves many samples between which no cut is scored. Returns false if it was interrupted.
    #[inline]
    pub(super) fn move_long_run<R: Copy>(
        &mut self,
        moved: &mut C::Moved,
        run: &[R],
        row_of: impl Fn(R) -> u32 + Copy,
    ) -> bool {
        for piece in run.chunks(self.at_once()) {
            if self.control.is_stopped() {
                return false;
            }
            self.criterion.move_run(moved, piece, row_of);
        }
        true
    }
}

/// Moves entries up to the next cut that scores at least `floor`. Returns its outer entry and its score; `outer` is
/// then the inner entry. The loop is separate and writes nothing else, so that all its variables stay in registers.
#[inline]
fn next_cut<'e, C: NodeCriterion>(
    criterion: &mut C,
    moved: &mut C::Moved,
    outer: &mut &'e Entry,
    entries: &mut impl Iterator<Item = &'e Entry>,
    floor: f64,
) -> Option<(&'e Entry, f64)> {
    for next in entries {
        criterion.move_sample(moved, outer.row());
        let last = std::mem::replace(outer, next);
        if next.key() != last.key()
            && let Some(score) = criterion.score_from(moved, floor)
        {
            return Some((last, score));
        }
    }
    None
}

/// The runs of equal values in sorted entries, from the last to the first.
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
