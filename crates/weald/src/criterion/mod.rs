//! Impurity statistics of a node and of the two sides of a cut. A criterion reads y and never X.
//!
//! A scan *moves* samples, one after another, from the *rest* of the node to the *moved* side. The search decides which
//! of the two sides becomes the left child. The *score* of a cut increases with the decrease of impurity.
//!
//! **Sums are exact.** Weights are integer multiples of a unit (see `data::weights`), class counts are integers, and
//! the variance criterion rounds the targets of each node to a grid that is fine enough for their values and for which
//! all sums are exact integers below 2⁵². The type [`Total`](crate::exact::Total) refuses totals of weights that are not
//! below 2⁵². Exact sums do not depend on the order of addition. Therefore neither the layout of X, nor the way in which
//! entries are found, nor the number of threads can change a tree, and "rest = node − moved" has no rounding error: as
//! each sample weighs at least one unit, a side has no weight if and only if it has no sample.
//!
//! A criterion describes itself, see `table`: its name, the outputs that it supports, the statistics of nodes, the
//! values of leaves, and what importances need.
//!
//! | file | targets | cost of moving a sample | cost of a score |
//! |---|---|---|---|
//! | [`counts`] | Gini of classes and labels | its labels (one for each class output) | 1 |
//! | [`entropy`] | entropy of classes and labels | its labels | labels present in the node |
//! | [`variance`] | numerical outputs | outputs | outputs |
//! | [`sparse_variance`] | numerical outputs that are mostly zero | its entries | 1 |
//! | [`poisson`] | numerical outputs that are not negative | outputs | outputs |
//! | [`absolute_error`] | numerical outputs | outputs × log of the node's samples | outputs × log of the node's samples |
//! | [`masked_counts`] | classes and labels with unknown cells | its labels, and its outputs that are unlike the majority, 64 at a time if these are many | slots in the node |
//! | [`cells`] | numerical outputs with unknown cells | its known cells | 1 |

pub(crate) mod absolute_error;
pub(crate) mod cells;
mod copied;
pub(crate) mod counts;
pub(crate) mod entropy;
pub(crate) mod masked_counts;
pub(crate) mod moved_sums;
pub(crate) mod poisson;
pub(crate) mod sparse_variance;
#[macro_use]
mod table;
#[cfg(test)]
mod tests;
pub(crate) mod variance;

use std::any::Any;

pub(crate) use copied::CopiedSample;
pub(crate) use table::{Decrease, LeafValues, NodeData, SideSums, SplitSums, TakeStatistics};

use crate::error::Result;
use crate::exact::reduce::Summand;

// The table of criteria. To add a criterion, write a file and add a row here.
criteria! {
    /// The Gini index, for classes and labels.
    Gini: counts::GiniIndex,
    /// The Shannon entropy in bits, for classes and labels.
    Entropy: entropy::ShannonEntropy,
    /// The variance (mean squared error), for numerical outputs and for projected outputs.
    Variance: variance::VarianceOfNumbers,
    /// Half the mean Poisson deviance, for numerical outputs that are not negative.
    Poisson: poisson::PoissonDeviance,
    /// The mean absolute deviation from the median, for numerical outputs. The values of leaves are medians.
    AbsoluteError: absolute_error::DeviationFromMedians,
}

impl Criterion {
    /// The criterion of trees that are grown on gradients of a loss, as part of another model, and the criterion that
    /// is stored in trees whose leaf values are set after growth.
    pub(crate) const OF_GRADIENTS: Criterion = Criterion::Variance;
}

/// The statistics of a node, before any split.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct NodeStats {
    /// Number of samples, over all workers. Code that depends on it must not use the length of a slice instead.
    pub(crate) n: u32,
    /// The total weight, in units.
    pub(crate) weight: f64,
    /// The mean impurity over outputs.
    pub(crate) impurity: f64,
    /// Whether all targets of the node are equal, compared as values.
    pub(crate) pure: bool,
}

/// Statistics of one node while its splits are searched.
pub(crate) trait NodeCriterion {
    /// Computes the statistics of a node, of which `rows` are the samples of this worker. All following calls refer to
    /// this node, until the next call.
    fn enter(&mut self, rows: &[u32]) -> Result<NodeStats>;

    /// Returns data that the criterion has computed from the samples of a node and would otherwise have to compute
    /// again, for a criterion on these samples alone. By default, there are none.
    fn hand_over(&self, _rows: &[u32]) -> Result<Option<Box<dyn Any + Send>>> {
        Ok(None)
    }

    /// Accepts, before any node is entered, the data that another criterion on the same targets has computed from
    /// `rows`.
    fn take_over(&mut self, _rows: &[u32], _made: Box<dyn Any + Send>) -> Result<()> {
        Ok(())
    }

    /// Statistics of a node that are stored until it is split.
    type Memory: Default + Send + 'static;

    /// Writes the statistics of the node to `memory`. Returns false if entering its children without it costs no more.
    fn remember(&self, _memory: &mut Self::Memory) -> Result<bool> {
        Ok(false)
    }

    /// Computes the statistics of a node whose samples are those of `whole` without those of the node entered last. The
    /// result is the same as that of [`NodeCriterion::enter`], but is computed as whole minus part, without visiting
    /// the samples of the larger child.
    fn enter_rest(&mut self, _whole: &Self::Memory, rows: &[u32]) -> Result<NodeStats> {
        self.enter(rows)
    }

    /// The part of the statistics of the moved side that fits in registers. It belongs to one scan, which starts with
    /// [`NodeCriterion::reset`].
    type Moved;

    /// Moves all samples back to the rest.
    fn reset(&mut self) -> Self::Moved;

    /// Moves one sample.
    fn move_sample(&mut self, moved: &mut Self::Moved, row: u32);

    /// What moving a sample reads, if a few numbers suffice, and `()` otherwise.
    type Sample: CopiedSample<Self::Moved>;

    /// Returns a copy of a sample, if copies are supported.
    #[inline]
    fn sample(&self, _row: u32) -> Self::Sample {
        Self::Sample::default()
    }

    /// Number of samples from which [`NodeCriterion::move_run`] is faster than moving samples one by one.
    const LONG_RUN: usize = usize::MAX;

    /// Moves many samples between which no cut is scored. `row_of` returns the index of a sample.
    #[inline]
    fn move_run<R: Copy>(&mut self, moved: &mut Self::Moved, run: &[R], row_of: impl Fn(R) -> u32) {
        run.iter().for_each(|&sample| self.move_sample(moved, row_of(sample)));
    }

    /// Approximate number of values that are read to move a sample and to score the cut after it. It determines how
    /// often a scan checks the flag that stops it.
    fn cost(&self) -> usize {
        1
    }

    /// Returns the weight of the moved side, in units.
    fn moved_weight(&self, moved: &Self::Moved) -> f64;

    /// Returns the score of the cut between moved and rest, both of which must have positive weight. NaN rejects the
    /// cut.
    fn score(&self, moved: &Self::Moved) -> f64;

    /// Returns the score of the cut if it is at least `floor`. A scan of all cuts of a feature calls it for each of them,
    /// and few reach the best so far, so a criterion can spare most divisions: see [`is_below`].
    #[inline]
    fn score_from(&self, moved: &Self::Moved, floor: f64) -> Option<f64> {
        let score = self.score(moved);
        (score >= floor).then_some(score)
    }

    /// Returns whether the score of the cut is certainly below `floor`, if that costs less than the score.
    #[inline]
    fn is_below(&self, _moved: &Self::Moved, _floor: f64) -> bool {
        false
    }

    /// Returns the statistics of the moved side after moving a single sample, without a reset before or after. On
    /// sparse data with many features, most moves in deep nodes are of this kind.
    fn move_one(&mut self, row: u32) -> Self::Moved {
        let mut moved = self.reset();
        self.move_sample(&mut moved, row);
        moved
    }

    /// Returns an upper bound on scores: the score of two pure sides, if it is known exactly.
    fn perfect_score(&self) -> f64 {
        f64::INFINITY
    }

    /// Returns a weight below which no moved side can reach `score`, or 0 if no bound is known. See [`least_weight`].
    fn least_moved_weight(&self, _score: f64) -> f64 {
        0.0
    }

    /// A sum over samples, which is exact and from which scores are computed. The samples of a category are summed once
    /// and moved together.
    type Sum: SideSum;

    /// Calls `visit` with each sum of the moved side and its number, with or without sums that are zero, and returns
    /// the weight of the side. Sums that do not determine an order, see [`NodeCriterion::ordering_unit`], may be
    /// passed in several parts.
    fn moved_sums(&self, moved: &Self::Moved, visit: impl FnMut(u32, Self::Sum)) -> Self::Sum;

    /// Like [`NodeCriterion::moved_sums`], for the whole node.
    fn node_sums(&self, visit: impl FnMut(u32, Self::Sum)) -> Self::Sum;

    /// Moves a group of samples with this weight and these sums.
    fn move_side(&mut self, moved: &mut Self::Moved, weight: Self::Sum, sums: &[(u32, Self::Sum)]);

    /// Returns the number of the sum whose mean orders the categories such that the best set of categories is a prefix,
    /// if there is one: with one output, or two classes (Breiman et al. 1984, chapter 4).
    fn ordering_sum(&self) -> Option<u32>;

    /// Returns the value of a unit of the sum with this number if means of sides are computed from it. Scores may use
    /// other sums.
    fn ordering_unit(&self, _number: u32) -> Option<f64> {
        Some(1.0)
    }

    /// Returns the means of sum `column` of the moved side and of the rest, which are comparable between all nodes of a
    /// tree. Both sides must have positive weight. O(sums).
    fn side_means(&self, moved: &Self::Moved, column: u32) -> [f64; 2] {
        let (mut of_moved, mut of_node) = (Self::Sum::default(), Self::Sum::default());
        let of_column = |sum: &mut Self::Sum, (number, value)| {
            if number == column {
                *sum = value;
            }
        };
        let weight = self.moved_sums(moved, |number, value| of_column(&mut of_moved, (number, value)));
        let whole = self.node_sums(|number, value| of_column(&mut of_node, (number, value)));
        let rest = (of_node - of_moved).as_f64() / (whole - weight).as_f64();
        [of_moved.as_f64() / weight.as_f64(), rest]
    }

    /// Returns the decrease of the mean impurity of the node by a cut with this score.
    fn decrease(&self, score: f64) -> f64;

    /// Returns the score of a cut that gains nothing.
    fn score_without_gain(&self) -> f64;
}

/// Returns the smallest weight M that the moved side must have for a gain of `gain` in a node of weight W, if scores
/// are sums of squared sums divided by weights.
///
/// With p the mean of the moved samples and r that of the node, the gain is M W / (W − M) · |p − r|². The mean p is a
/// convex combination of samples, so |p − r|² is at most `reach`, its largest value over single samples; the other
/// factor increases with M. Therefore, a sparse column whose entries weigh less than M can be skipped, because its cuts
/// move entries, never zeros. In text, this is the case of most columns in most nodes. The margin covers the rounding
/// of scores.
pub(crate) fn least_weight(score: f64, base: f64, weight: f64, reach: f64) -> f64 {
    let gain = score - base - 1e-9 * base;
    if gain > 0.0 { gain * weight / (reach * weight + gain) * (1.0 - 1e-9) } else { 0.0 }
}

/// Returns whether m / M + r / R is certainly below `floor`, for sums of squares m and r that are not negative, and
/// weights M and R of the two sides. There is no division: all terms are positive, so that the margin is far larger than
/// the rounding errors of both sides of the comparison, and of the score.
#[inline]
pub(crate) fn is_below(floor: f64, [moved, rest]: [f64; 2], [moved_weight, rest_weight]: [f64; 2]) -> bool {
    moved * rest_weight + rest * moved_weight < floor * (1.0 - 1e-12) * (moved_weight * rest_weight)
}

/// Returns the score m / M + r / R of these sums of squares and weights if it is at least `floor`.
#[inline]
pub(crate) fn score_from(floor: f64, squares: [f64; 2], weights: [f64; 2]) -> Option<f64> {
    if is_below(floor, squares, weights) {
        return None;
    }
    let score = squares[0] / weights[0] + squares[1] / weights[1];
    (score >= floor).then_some(score)
}

/// A sum over the samples of a side: see [`NodeCriterion::Sum`].
pub(crate) trait SideSum:
    Copy + Default + PartialEq + std::fmt::Debug + std::ops::AddAssign + std::ops::Sub<Output = Self>
{
    /// Converts the sum to a float, to order categories. Scores use the sums themselves.
    fn as_f64(self) -> f64;

    /// Returns the sum if all bits of the mask are set, and zero if none is.
    fn masked(self, mask: u32) -> Self;
}

macro_rules! side_sums {
    ($($sum:ty),*) => { $(
        impl SideSum for $sum {
            #[inline]
            fn as_f64(self) -> f64 {
                self as f64
            }

            #[inline]
            fn masked(self, mask: u32) -> Self {
                // The sign is extended to all bits.
                self & mask.cast_signed() as Self
            }
        }
    )* };
}

side_sums!(u32, u64, i128);

impl SideSum for f64 {
    #[inline]
    fn as_f64(self) -> f64 {
        self
    }

    #[inline]
    fn masked(self, mask: u32) -> f64 {
        f64::from_bits(self.to_bits().masked(mask))
    }
}

/// The integer type of weights in one tree: the narrowest one in which sums are exact.
pub(crate) trait Units: Summand + SideSum {
    /// An integer type that is wide enough for the square of a total.
    type Square: Copy
        + Default
        + std::fmt::Debug
        + std::ops::Add<Output = Self::Square>
        + std::ops::Sub<Output = Self::Square>
        + Into<i128>;

    fn to_f64(self) -> f64;
    fn times(self, other: Self) -> Self::Square;
    /// Returns the product with an integer, which must fit in a square.
    fn times_whole(self, whole: i64) -> Self::Square;
    /// Converts a sum of such weights.
    fn of_whole(whole: i128) -> Self;
    fn square_to_f64(square: Self::Square) -> f64;
}

/// For total weights below 2³¹.
impl Units for u32 {
    type Square = i64;

    fn to_f64(self) -> f64 {
        f64::from(self)
    }

    fn times(self, other: Self) -> i64 {
        i64::from(self) * i64::from(other)
    }

    #[inline]
    fn times_whole(self, whole: i64) -> i64 {
        i64::from(self) * whole
    }

    fn of_whole(whole: i128) -> Self {
        debug_assert!((0..1 << 31).contains(&whole), "a total below 2³¹: {whole}");
        whole as u32
    }

    fn square_to_f64(square: i64) -> f64 {
        square as f64
    }
}

/// For total weights below the limit of [`Total`](crate::exact::Total), 2⁵².
impl Units for u64 {
    type Square = i128;

    fn to_f64(self) -> f64 {
        self as f64
    }

    fn times(self, other: Self) -> i128 {
        i128::from(self) * i128::from(other)
    }

    #[inline]
    fn times_whole(self, whole: i64) -> i128 {
        i128::from(self) * i128::from(whole)
    }

    fn of_whole(whole: i128) -> Self {
        debug_assert!((0..1 << 52).contains(&whole), "a total below 2⁵²: {whole}");
        whole as u64
    }

    fn square_to_f64(square: i128) -> f64 {
        square as f64
    }
}
