//! The Gini index of one output with two classes, the sums of whose moved side fit in two registers: its weight, and
//! that of the second class. All sums are whole numbers, so scores are those of [`Gini`] bit for bit.

use super::super::{NodeCriterion, NodeStats, Units, score_from};
use super::{Gini, Memory, Occupancy, OneSlot};
use crate::data::slots::Slots;
use crate::error::Result;
use crate::exact::reduce::Workers;

/// The statistics of nodes are those of [`Gini`]; the moved side has its own.
#[derive(Debug)]
pub(crate) struct GiniOfTwo<U: Units>(Gini<U, OneSlot<U>>);

impl<U: Units> GiniOfTwo<U> {
    pub(crate) fn new(slots: &Slots<'_>, weights: &[U], workers: &Workers) -> Result<Self> {
        debug_assert_eq!(slots.width, 2);
        Ok(GiniOfTwo(Gini::new(OneSlot::new(slots, weights)?, slots, workers)?))
    }

    /// Returns the sums of squares of both sides, and their weights.
    #[inline]
    fn sides(&self, &[weight, second]: &[U; 2]) -> ([f64; 2], [f64; 2]) {
        let total = &self.0.total;
        let rest = [total[0] - (weight - second), total[1] - second];
        let squares = |[first, second]: [U; 2]| U::square_to_f64(first.times(first) + second.times(second));
        let moved_weight = weight.to_f64();
        ([squares([weight - second, second]), squares(rest)], [moved_weight, self.0.weight.to_f64() - moved_weight])
    }
}

impl<U: Units> NodeCriterion for GiniOfTwo<U> {
    type Memory = Memory<U>;

    fn enter(&mut self, rows: &[u32]) -> Result<NodeStats> {
        self.0.enter(rows)
    }

    fn remember(&self, memory: &mut Memory<U>) -> Result<bool> {
        self.0.remember(memory)
    }

    fn enter_rest(&mut self, whole: &Memory<U>, rows: &[u32]) -> Result<NodeStats> {
        self.0.enter_rest(whole, rows)
    }

    /// The weight of the moved side, and that of its second class.
    type Moved = [U; 2];

    #[inline]
    fn reset(&mut self) -> [U; 2] {
        [U::default(); 2]
    }

    #[inline]
    fn move_sample(&mut self, moved: &mut [U; 2], row: u32) {
        let [weight, second] = self.sample(row);
        moved[0] += weight;
        moved[1] += second;
    }

    const LONG_RUN: usize = 24;

    type Sample = [U; 2];

    #[inline]
    fn sample(&self, row: u32) -> [U; 2] {
        let (weight, slot) = self.0.y.of_rows[row as usize];
        [weight, if slot == 1 { weight } else { U::default() }]
    }

    #[inline]
    fn moved_weight(&self, moved: &[U; 2]) -> f64 {
        moved[0].to_f64()
    }

    #[inline]
    fn score(&self, moved: &[U; 2]) -> f64 {
        let ([moved, rest], [moved_weight, rest_weight]) = self.sides(moved);
        moved / moved_weight + rest / rest_weight
    }

    #[inline]
    fn score_from(&self, moved: &[U; 2], floor: f64) -> Option<f64> {
        let (squares, weights) = self.sides(moved);
        score_from(floor, squares, weights)
    }

    #[inline]
    fn move_one(&mut self, row: u32) -> [U; 2] {
        self.sample(row)
    }

    fn perfect_score(&self) -> f64 {
        self.0.perfect_score()
    }

    fn least_moved_weight(&self, score: f64) -> f64 {
        self.0.least_moved_weight(score)
    }

    type Sum = U;

    fn moved_sums(&self, &[weight, second]: &[U; 2], mut visit: impl FnMut(u32, U)) -> U {
        visit(0, weight - second);
        visit(1, second);
        weight
    }

    fn node_sums(&self, visit: impl FnMut(u32, U)) -> U {
        self.0.node_sums(visit)
    }

    fn move_side(&mut self, moved: &mut [U; 2], weight: U, sums: &[(u32, U)]) {
        moved[0] += weight;
        sums.iter().filter(|(slot, _)| *slot == 1).for_each(|&(_, sum)| moved[1] += sum);
    }

    fn ordering_sum(&self) -> Option<u32> {
        self.0.y.ordering_slot()
    }

    fn score_without_gain(&self) -> f64 {
        self.0.score_without_gain()
    }

    fn decrease(&self, score: f64) -> f64 {
        self.0.decrease(score)
    }
}
