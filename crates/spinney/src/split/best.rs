//! The best of all thresholds of a feature.

use super::cut::Cut;
use super::scan::{MovedSide, Scan};
use crate::control::STEPS;
use crate::criterion::NodeCriterion;
use crate::data::sort::sort_by_value;
use crate::partition::decision::Side;
use crate::partition::{Column, Entry};

impl<C: NodeCriterion> Scan<'_, C> {
    /// Offers every cut of the column. Positive values are moved from the largest down, negative ones from the least up;
    /// zeros lie between and are never moved, so the cost is the entries that are not zero.
    pub(super) fn best_cut(&mut self, column: Column<'_>) {
        // A search that was stopped tells nothing: see `Visitor::is_over`.
        if !column.sorted && sort_by_value(column.entries, self.control).is_err() {
            return;
        }
        if let ([entry], true) = (&*column.entries, column.n_zeros > 0) {
            // One sample against zeros: most columns of wide sparse data, deep in the tree.
            if entry.key() != Entry::ZERO_KEY {
                let moved = if self.needs_sums() {
                    let mut moved = self.criterion.reset();
                    self.criterion.move_sample(&mut moved, entry.row());
                    moved
                } else {
                    self.criterion.move_one(entry.row())
                };
                // Missing values are above all others.
                let side = if entry.value() < 0.0 { Side::Left } else { Side::Right };
                let moved = MovedSide { n: 1, moved: &moved, side };
                self.offer(column.feature, moved, || Cut::between(entry.value(), 0.0, None));
            }
            return;
        }
        let (negative, positive) = Self::nonzero(&column);
        let has_zeros = column.n_zeros > 0 || negative.len() + positive.len() < column.entries.len();
        let zero = has_zeros.then_some(0.0);
        // Without zeros the cut between the signs is offered by the positive side alone.
        let below_positive = zero.or_else(|| negative.last().map(|e| e.value()));
        if !positive.last().is_some_and(|e| e.is_missing()) {
            self.move_positive(column.feature, positive, below_positive, None);
            self.move_negative(column.feature, negative, zero, &[], None);
            return;
        }
        // On the right, missing values count as the largest. On the left they count as the least, where the cut between
        // them and all others is left out: it has been offered.
        let (present, missing) = positive.split_at(positive.partition_point(|e| !e.is_missing()));
        self.move_positive(column.feature, positive, below_positive, Some(Side::Right));
        self.move_negative(column.feature, negative, zero, &[], Some(Side::Right));
        self.move_positive(column.feature, present, below_positive, Some(Side::Left));
        self.move_negative(column.feature, negative, zero, missing, Some(Side::Left));
    }

    /// Offers the cuts above zero, the largest first; the last one is between the entries and `inner`.
    #[inline]
    fn move_positive(&mut self, feature: u32, entries: &[Entry], inner: Option<f32>, missing: Option<Side>) {
        // Counts and flags repeat their small values, continuous features nothing: one look tells, and only speed hangs on it.
        if let [first, second, ..] = entries
            && first.key() == second.key()
        {
            self.move_runs(feature, Runs(entries), inner, missing);
        } else {
            let pieces = entries.rchunks(self.at_once()).map(|piece| piece.iter().rev());
            self.move_entries(feature, pieces, inner, (Side::Right, &[]), missing);
        }
    }

    /// The same of those below zero, the least first, together with the entries `before` them.
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

    /// Entries that are moved between two looks at the flag.
    fn at_once(&self) -> usize {
        // Runs are moved by fours: the groups stay the same.
        (STEPS / self.criterion.cost().max(1)).max(1).next_multiple_of(4)
    }

    /// Moves entries from the outermost value inwards and offers the cut after each distinct value; they come in pieces,
    /// between which it looks at the flag. `inner` is the value in the node that comes after the last entry, if any.
    /// They are on this side in every cut, with the entries `before` the first.
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
                next_cut(self.criterion, &mut moved, &mut outer, &mut entries, self.best_score)
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

    /// The same of those above zero, a run of equal values at a time.
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
            // A run costs a score too.
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
    /// Moves many samples between which no cut is scored; false when it was stopped.
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

/// Moves entries up to the next cut that scores at least `floor`; returns its outer entry and its score, `outer` is then the
/// inner one. A loop of its own, which writes nothing else, so that everything else stays in registers.
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
