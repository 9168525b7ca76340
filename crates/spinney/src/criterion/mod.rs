//! Impurity statistics of one node and of the two sides of a cut. A criterion sees y and never x.
//!
//! Vocabulary: a scan *moves* samples, one after another, from the *rest* of the node to the *moved* side; which of the two
//! ends up left is the search's business. The *score* of a cut grows with the decrease of impurity.
//!
//! **Sums are exact.** Weights are whole numbers of units (see `data::weights`), class counts are integers, and the
//! variance criterion rounds the targets of each node to a grid so fine that all its sums are exact integers below
//! 2⁵². Exact sums do not depend on the order of addition; so neither the layout of x, nor the way entries are found, nor
//! the number of threads can change a tree, and "rest = node − moved" loses nothing.
//!
//! A criterion tells about itself, see `table`: its name, the outputs that it is for, the statistics of nodes, what leaves
//! hold, and what importances need.
//!
//! | file | targets | cost of moving a sample | cost of a score |
//! |---|---|---|---|
//! | [`counts`] | Gini of classes and labels | its labels (one for each class output) | 1 |
//! | [`entropy`] | entropy of classes and labels | its labels | labels present in the node |
//! | [`variance`] | numbers | outputs | outputs |
//! | [`sparse_variance`] | numbers that are mostly zero | its entries | 1 |
//! | [`poisson`] | numbers that are not negative | outputs | outputs |
//! | [`absolute_error`] | numbers | outputs × log of the node's samples | outputs × log of the node's samples |
//! | [`masked_counts`] | classes and labels with unknown cells | its labels, half of the outputs | slots in the node |
//! | [`masked_variance`] | numbers with unknown cells | outputs | outputs |

pub(crate) mod absolute_error;
pub(crate) mod counts;
pub(crate) mod entropy;
pub(crate) mod masked_counts;
pub(crate) mod masked_variance;
pub(crate) mod moved_sums;
pub(crate) mod poisson;
pub(crate) mod sparse_variance;
#[macro_use]
mod table;
#[cfg(test)]
mod tests;
pub(crate) mod variance;

use std::any::Any;

pub(crate) use table::{Decrease, LeafValues, NodeData, SideSums, SplitSums, TakeStatistics};

use crate::error::Result;
use crate::exact::reduce::Summand;

// The table of criteria: a criterion is its file and a row here.
criteria! {
    /// Gini index, for classes and labels.
    Gini: counts::GiniIndex,
    /// Shannon entropy in bits, for classes and labels.
    Entropy: entropy::ShannonEntropy,
    /// Variance (mean squared error), for numbers and for projected outputs.
    Variance: variance::VarianceOfNumbers,
    /// Half the mean Poisson deviance, for numbers that are not negative.
    Poisson: poisson::PoissonDeviance,
    /// Mean absolute deviation from the median, for numbers. Leaves have medians.
    AbsoluteError: absolute_error::DeviationFromMedians,
}

impl Criterion {
    /// What trees reduce that are grown for a model of their own, on gradients of a loss; and what trees say that they
    /// reduced whose leaves are numbers put in afterwards.
    pub(crate) const OF_GRADIENTS: Criterion = Criterion::Variance;
}

/// What a node is, before any split.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct NodeStats {
    /// Number of samples, of all workers: what depends on it asks no slice for its length.
    pub(crate) n: u32,
    /// Total weight, in units.
    pub(crate) weight: f64,
    /// Mean impurity over outputs.
    pub(crate) impurity: f64,
    /// All targets of the node are equal, as values.
    pub(crate) pure: bool,
}

/// Statistics of one node while its splits are searched.
pub(crate) trait NodeCriterion {
    /// Takes the samples of a node, of which `rows` are those of this worker. Everything below speaks of this node until the
    /// next call.
    fn enter(&mut self, rows: &[u32]) -> Result<NodeStats>;

    /// What the criterion has made of the samples of a node and would make otherwise without the nodes above it, for a
    /// criterion of these samples alone; by default nothing.
    fn hand_over(&self, _rows: &[u32]) -> Result<Option<Box<dyn Any + Send>>> {
        Ok(None)
    }

    /// Before any node is entered: takes over what another criterion of the same targets has made of `rows`.
    fn take_over(&mut self, _rows: &[u32], _made: Box<dyn Any + Send>) -> Result<()> {
        Ok(())
    }

    /// What is worth remembering of a node until it is split.
    type Memory: Default + Send + 'static;

    /// Writes the node into `memory`; false when entering its children anew costs no more than using it.
    fn remember(&self, _memory: &mut Self::Memory) -> Result<bool> {
        Ok(false)
    }

    /// Takes the samples of a node that are those of `whole` without those of the node entered last: the same outcome as
    /// [`NodeCriterion::enter`], whole minus part instead of a walk through the larger child.
    fn enter_rest(&mut self, _whole: &Self::Memory, rows: &[u32]) -> Result<NodeStats> {
        self.enter(rows)
    }

    /// What of the moved side fits in registers; belongs to one scan, which starts with [`NodeCriterion::reset`].
    type Moved;

    /// Moves every sample back to the rest.
    fn reset(&mut self) -> Self::Moved;

    /// Moves one sample.
    fn move_sample(&mut self, moved: &mut Self::Moved, row: u32);

    /// Samples from which [`NodeCriterion::move_run`] is quicker than one after the other.
    const LONG_RUN: usize = usize::MAX;

    /// Moves many samples between which no cut is scored. `row_of` tells the row of each.
    #[inline]
    fn move_run<R: Copy>(&mut self, moved: &mut Self::Moved, run: &[R], row_of: impl Fn(R) -> u32) {
        run.iter().for_each(|&sample| self.move_sample(moved, row_of(sample)));
    }

    /// Numbers that are read for a move and the score after it, roughly: how soon a scan looks at the flag that stops it.
    fn cost(&self) -> usize {
        1
    }

    /// Weight moved so far, in units.
    fn moved_weight(&self, moved: &Self::Moved) -> f64;

    /// Score of the cut between moved and rest; both have positive weight. NaN refuses the cut.
    fn score(&self, moved: &Self::Moved) -> f64;

    /// What moving one sample alone gives, without a reset before or after. Wide sparse data ask for little else in deep
    /// nodes.
    fn move_one(&mut self, row: u32) -> Self::Moved {
        let mut moved = self.reset();
        self.move_sample(&mut moved, row);
        moved
    }

    /// A score that no cut exceeds: that of two pure sides, where it is known exactly.
    fn perfect_score(&self) -> f64 {
        f64::INFINITY
    }

    /// A weight below which no moved side can reach `score`; 0 when nothing is known. See [`least_weight`].
    fn least_moved_weight(&self, _score: f64) -> f64 {
        0.0
    }

    /// A sum over samples, exact: what scores are made of. Categories are added up once and moved as a whole.
    type Sum: SideSum;

    /// Shows the sums of the moved side, each with its number, those of zero left out or not; returns its weight. Sums that
    /// tell no order, see [`NodeCriterion::n_ordering_sums`], may come in several parts.
    fn moved_sums(&self, moved: &Self::Moved, visit: impl FnMut(u32, Self::Sum)) -> Self::Sum;

    /// The same of the whole node.
    fn node_sums(&self, visit: impl FnMut(u32, Self::Sum)) -> Self::Sum;

    /// Moves samples of this weight and these sums.
    fn move_side(&mut self, moved: &mut Self::Moved, weight: Self::Sum, sums: &[(u32, Self::Sum)]);

    /// The number of the sum whose mean tells what is best on one side with what, where one does: of one output, or of two
    /// classes (Breiman et al. 1984, chapter 4).
    fn ordering_sum(&self) -> Option<u32>;

    /// The sums with numbers below this are what the means of sides are made of; others may be there that scores ask for.
    fn n_ordering_sums(&self) -> u32 {
        u32::MAX
    }

    /// Means of number `column` of the sums of the moved side and of the rest, comparable between all nodes of a tree; both
    /// sides have positive weight. O(sums).
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

    /// Decrease of the node's mean impurity by a cut of this score.
    fn decrease(&self, score: f64) -> f64;
}

/// Least weight M that the moved side must have for a gain of `gain` in a node of weight W, where a score is a sum of
/// squared sums over weights.
///
/// With p the mean of the moved samples and r that of the node, the gain is M W / (W − M) · |p − r|². The mean p is a convex
/// combination of samples, so |p − r|² is at most `reach`, its largest value over single samples; the rest grows
/// with M. So a sparse column whose entries weigh less than M need not be looked at: its cuts move entries, never
/// zeros. In text most columns of most nodes fall below. The margin covers the rounding of scores.
pub(crate) fn least_weight(score: f64, base: f64, weight: f64, reach: f64) -> f64 {
    let gain = score - base - 1e-9 * base;
    if gain > 0.0 { gain * weight / (reach * weight + gain) * (1.0 - 1e-9) } else { 0.0 }
}

/// See [`NodeCriterion::Sum`].
pub(crate) trait SideSum:
    Copy + Default + PartialEq + std::fmt::Debug + std::ops::AddAssign + std::ops::Sub<Output = Self>
{
    /// To find an order; scores use the sums themselves.
    fn as_f64(self) -> f64;
}

macro_rules! side_sums {
    ($($sum:ty),*) => { $(
        impl SideSum for $sum {
            #[inline]
            fn as_f64(self) -> f64 {
                self as f64
            }
        }
    )* };
}

side_sums!(f64, u32, u64, i128);

/// Weight of samples in one tree: units as narrow as exactness allows.
pub(crate) trait Units: Summand + SideSum {
    /// Wide enough for the square of a total.
    type Square: Copy
        + Default
        + std::fmt::Debug
        + std::ops::Add<Output = Self::Square>
        + std::ops::Sub<Output = Self::Square>
        + Into<i128>;

    fn to_f64(self) -> f64;
    fn times(self, other: Self) -> Self::Square;
    /// Times a whole number, where a square holds the product.
    fn times_whole(self, whole: i64) -> Self::Square;
    /// From a sum of such weights.
    fn of_whole(whole: i128) -> Self;
    fn square_to_f64(square: Self::Square) -> f64;
}

/// Totals below 2³¹.
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
        whole as u32
    }

    fn square_to_f64(square: i64) -> f64 {
        square as f64
    }
}

/// Totals below 2⁵².
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
        whole as u64
    }

    fn square_to_f64(square: i128) -> f64 {
        square as f64
    }
}
