//! The search of a node in parts, each of which is done by one thread.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::BinnedSums;
use crate::criterion::Units;
use crate::criterion::variance::{Mover, Variance};
use crate::error::Result;
use crate::partition::decision::Side;
use crate::partition::lottery::Lottery;
use crate::pool;
use crate::split::Rules;
use crate::split::constraint::CutSide;
use crate::split::cut::Cut;
use crate::split::monotonic::InRange;
use crate::split::scan::{Best, Scan};

/// The number of jobs for each thread, which may not be equally fast.
pub(super) const PIECES: usize = 4;

/// The best cut of the features that one thread has searched so far, and what it needs for a better one. In contrast to
/// a [`Scan`], it moves the sums of bins, never samples, and knows no sets of categories.
#[derive(Debug)]
pub(super) struct Part<'p, 'a, U, M> {
    pub(super) mover: Mover<'p, 'a, U, M>,
    pub(super) rules: &'p Rules,
    pub(super) lottery: &'p Lottery,
    n_samples: u32,
    pub(super) weight: f64,
    pub(super) best: Best,
    in_range: Option<InRange<'p>>,
}

impl<'a, U: Units, M: BinnedSums> Scan<'_, Variance<'a, U, M>> {
    /// Runs `search` for each of `jobs`, which are distributed to at most `n_threads` threads, and keeps the best cut.
    pub(super) fn in_parts<J: Send>(
        &mut self,
        n_threads: usize,
        jobs: impl ExactSizeIterator<Item = J> + Send,
        search: impl Fn(&mut Part<'_, 'a, U, M>, J) + Sync,
    ) -> Result<()> {
        let Scan { rules, lottery, n_samples, weight, .. } = *self;
        // The middles of the best cut are kept in one place.
        let n_threads = if self.in_range.is_some() { 1 } else { n_threads.min(jobs.len()).max(1) };
        let start = self.best;
        let (best, in_range) = (Mutex::new(&mut self.best), Mutex::new(self.in_range.as_mut().map(InRange::again)));
        self.criterion.with_movers(n_threads, |criterion, of_movers| {
            let of_movers = Mutex::new(of_movers.iter_mut());
            let part = || {
                let mover = criterion.mover(lock(&of_movers).next().expect("one for each thread"));
                Ok(Part { mover, rules, lottery, n_samples, weight, best: start, in_range: lock(&in_range).take() })
            };
            pool::for_each(n_threads, jobs, part, |part, job| {
                search(part, job);
                let mut best = lock(&best);
                best.take_over(part.best, lottery);
                part.best = **best;
                Ok(())
            })
        })
    }
}

/// A thread that panics while it holds the lock ends the search of all.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<U: Units, M: BinnedSums> Part<'_, '_, U, M> {
    /// Offers the cut between the moved sums, which go to `side`, and the others. `n_moved` returns the number of moved
    /// samples from their weight.
    #[inline]
    pub(super) fn offer(
        &mut self,
        feature: u32,
        (moved, side): (&M::Local, Side),
        n_moved: impl FnOnce(f64) -> u32,
        cut: impl FnOnce() -> Cut,
    ) {
        let Some(score) = self.mover.score_from(moved, self.best.score) else { return };
        let weight = M::weight(moved);
        let of_moved = CutSide { n: n_moved(weight), weight };
        debug_assert!(weight >= 1.0 && self.weight - weight >= 1.0, "a side without samples");
        let of_rest = CutSide { n: self.n_samples - of_moved.n, weight: self.weight - weight };
        let mover = &self.mover;
        let admits = self.rules.constraints.admit([of_moved, of_rest])
            && self
                .in_range
                .as_mut()
                .is_none_or(|in_range| in_range.admits(feature, side, |column| mover.side_means(moved, column)));
        if admits
            && self.best.offer(self.lottery, feature, score, cut())
            && let Some(in_range) = &mut self.in_range
        {
            in_range.keep();
        }
    }
}
