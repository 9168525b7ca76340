//! The search of one thread among sums of the samples of a node.

use super::{MovedSums, Units, Variance};
use crate::criterion::moved_sums::AT_ONCE;
use crate::error::Result;

/// Moves sums to one side of the node that the criterion has entered last, and scores the cuts between.
#[derive(Debug)]
pub(crate) struct Mover<'c, 'a, U, M> {
    criterion: &'c Variance<'a, U, M>,
    moved: &'c mut M,
}

impl<'a, U: Units, M: MovedSums> Variance<'a, U, M> {
    /// Passes the criterion to `search`, and the sums of the moved side for each of `n` movers of one node.
    pub(crate) fn with_movers<T>(&mut self, n: usize, search: impl FnOnce(&Self, &mut [M]) -> Result<T>) -> Result<T> {
        while self.of_movers.len() < n {
            super::OUTPUTS.push(&mut self.of_movers, self.moved.another()?)?;
        }
        let mut of_movers = std::mem::take(&mut self.of_movers);
        let found = search(self, &mut of_movers[..n]);
        self.of_movers = of_movers;
        found
    }

    pub(crate) fn mover<'c>(&'c self, moved: &'c mut M) -> Mover<'c, 'a, U, M> {
        Mover { criterion: self, moved }
    }
}

impl<U: Units, M: MovedSums> Mover<'_, '_, U, M> {
    /// Returns the number of items of a sample.
    pub(crate) fn sample_len(&self) -> usize {
        self.moved.n_outputs() + 1
    }

    /// Moves nothing.
    #[inline]
    pub(crate) fn reset(&mut self) -> M::Local {
        self.moved.reset()
    }

    /// Moves sums number `i`, where sums have the layout of samples.
    #[inline]
    pub(crate) fn add(&mut self, moved: &mut M::Local, sums: &[f64], i: usize) {
        self.moved.add(moved, self.moved.sample(sums, i as u32));
    }

    /// Returns the weight of sums number `i`.
    #[inline]
    pub(crate) fn weight_of(&self, sums: &[f64], i: usize) -> f64 {
        self.moved.sample(sums, i as u32)[0]
    }

    /// Moves the sums from number `i` on, as many as are looked at together, if no cut before any of them can score
    /// `floor`. Returns their number, which is zero if they are not moved. Sums without samples must be zero.
    #[inline(always)]
    pub(crate) fn skip(&self, moved: &mut M::Local, sums: &[f64], i: usize, floor: f64) -> usize {
        let node = &self.criterion.node;
        let sums = &sums[i * self.sample_len()..];
        if self.moved.skip(moved, sums, (node.weight, &node.total), floor) { AT_ONCE } else { 0 }
    }

    /// Returns the score if it is at least `floor`.
    #[inline]
    pub(crate) fn score_from(&self, moved: &M::Local, floor: f64) -> Option<f64> {
        self.criterion.score_of(self.moved, moved, floor)
    }

    /// See [`NodeCriterion::side_means`](crate::criterion::NodeCriterion::side_means).
    pub(crate) fn side_means(&self, moved: &M::Local, column: u32) -> [f64; 2] {
        self.criterion.means_of_sides(self.moved, moved, column)
    }
}
