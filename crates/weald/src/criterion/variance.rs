//! The variance of numerical outputs, for any number of outputs.
//!
//! The targets of the root are centred and rounded to multiples of 2^−s, with s as large as possible if every weighted
//! sum is below 2⁵²: with n samples, 51 − log₂ n bits are left for the output with the widest range. Sums of the
//! rounded targets are exact, whatever their order. The sums of the larger child of a node are therefore those of the
//! node minus those of the smaller child, without reading its samples. If weight times spread has decreased so much
//! that a finer grid pays, a node gets a *frame* of its own: a new centre and grid for its samples, which its
//! descendants inherit. With S the sums and W the weights, minimizing the weighted variance of the sides is equivalent
//! to maximizing Σ_j S_mj² / W_m + Σ_j (S_j − S_mj)² / W_r.
//!
//! Where targets are ratios of gradients and second derivatives and weights have the latter as factors, products of both,
//! which are gradients again, are rounded to 28 bits: see [`BITS_OF_RATIOS`].
//!
//! Outputs that are scaled or weighted are multiplied by their factors when they are read, before anything else.

mod mover;
mod rounding;

use std::any::Any;
use std::slice;

pub(crate) use mover::Mover;

use super::cells::CellsVariance;
use super::counts::GiniIndex;
use super::moved_sums::OUTPUTS;
pub(crate) use super::moved_sums::{Many, MovedSums, One};
use super::sparse_variance::SparseVariance;
use super::table::{CriterionKind, Decrease, NodeData, SideSums, SplitSums, TakeStatistics, TargetKind};
use super::{NodeCriterion, NodeStats, Units, least_weight, score_from};
use crate::control::Control;
use crate::data::train_y::{RealTargets, TrainY};
use crate::elementary::Squared;
use crate::error::{Purpose, Result};
use crate::exact::reduce::{Part, Reduce, Workers, other_sums};
use crate::exact::{PowerOfTwo, Total, debug_assert_exact, exponent_above};
use crate::reuse::Buffer;

/// The variance in the table of criteria.
pub(crate) struct VarianceOfNumbers;

impl CriterionKind for VarianceOfNumbers {
    const NAME: &'static str = "variance";
    const DOMAIN: TargetKind = TargetKind::Numbers;
    const PROJECTED: &'static [TargetKind] = &[TargetKind::Numbers, TargetKind::ClassesAndLabels];
    const DECREASE: Option<Decrease> = Some(VarianceOfNumbers::decrease);
    const TAKES_FACTORS: bool = true;
    const TAKES_ENTRIES: bool = true;

    fn statistics<'a, U: Units, T: TakeStatistics<'a>>(data: &NodeData<'a, U>, taker: T) -> Result<T::Outcome> {
        let (units, exact, workers, control) = (data.units, data.exact_weights, data.workers, data.control);
        match data.y {
            TrainY::Real(y) if y.n_outputs == 1 => {
                taker.take_variance(AnyVariance::One(Variance::new(y, units, exact, One, control, workers)?))
            }
            TrainY::Real(y) => {
                let variance = Variance::new(y, units, exact, Many::new(y.n_outputs)?, control, workers)?;
                taker.take_variance(AnyVariance::Many(variance))
            }
            TrainY::SparseReal(y) => taker.take(SparseVariance::new(y, units, exact, control, workers)?),
            // There is only one worker if cells are unknown.
            TrainY::MaskedReal(y) => taker.take(CellsVariance::new(y, units, exact, control)?),
            // For columns of 0 and 1, the variance is a multiple of the Gini index.
            TrainY::Slots(_) | TrainY::MaskedSlots(_) => GiniIndex::statistics(data, taker),
        }
    }
}

impl VarianceOfNumbers {
    /// The decrease by a split is the variance between the two sides, which can be computed without data.
    fn decrease(split: &SplitSums<'_>) -> f64 {
        let SplitSums { left, right, .. } = split;
        let mean = |side: &SideSums<'_>, sum: f64| sum / side.total;
        let pairs = left.sums.iter().zip(right.sums);
        let between: f64 = pairs.map(|(&l, &r)| (mean(left, l) - mean(right, r)).squared()).sum();
        between * left.weight * right.weight / (left.weight + right.weight)
    }
}

/// The variance of one output or of several.
#[derive(Debug)]
pub(crate) enum AnyVariance<'a, U> {
    One(Variance<'a, U, One>),
    Many(Variance<'a, U, Many>),
}

/// How the targets of some samples were centred and rounded. Targets are in *spacings* of the grid. Squares are summed
/// separately, in finer units of their own.
#[derive(Clone, Copy, Debug)]
struct Frame {
    /// The spacing of the grid.
    grid: f64,
    /// The unit of squares in squared spacings.
    square_unit: f64,
    /// The unit of squares in squared units of the targets.
    square_size: PowerOfTwo,
    /// The level of the node for which the frame was made: see [`Variance::level`].
    level: i32,
    /// The number of the frame and of its centers.
    number: u32,
}

/// The bytes of a sample in addition to its weight and targets, which are rounded: its square, frame and units.
pub(crate) const BYTES_OF_A_SAMPLE: usize = size_of::<i128>() + size_of::<u32>() + size_of::<u64>();

/// A node gets a frame of its own if its standard deviation is less than this number of spacings,
const COARSE: f64 = (1u64 << 26) as f64;

/// and its level is so far below that of its frame that its targets would gain eight bits.
const WORTHWHILE_LEVELS: i32 = 16;

/// It also gets a frame if its variance is so small a fraction of its mean square that their difference would lose half
/// of its bits. This includes all nodes whose targets are equal.
const LOST_SHARE: f64 = 1.0 / (1u64 << 26) as f64;

/// Nodes with fewer samples are not remembered, because reading the larger child costs no more than a subtraction.
const FEW_SAMPLES: u32 = 4;

/// The number of bits of sums of rounded targets before they are rounded.
const BITS_OF_SUMS: i32 = Total::BITS as i32 - 1;

/// The number of bits of the units of the largest second derivative, and thereby the resolution for those of other
/// samples.
pub(crate) const BITS_OF_CURVATURES: u32 = 12;

/// The number of bits of ratios of gradients and curvatures, at most, before these are multiplied again: gradients have 28
/// bits then, so that thousands of samples have room in a word of a histogram.
const BITS_OF_RATIOS: i32 = 28 - BITS_OF_CURVATURES as i32;

/// The purpose of memory for frames, for error messages.
const FRAMES: Purpose = Purpose("the grids of nodes");

/// Sums over the samples of a node, in spacings of its frame.
#[derive(Clone, Debug, Default)]
struct Sums {
    total: Vec<f64>,
    weight: f64,
    /// Σ w |z|², in the frame's units of squares.
    squares: i128,
}

impl Sums {
    fn new(q: usize) -> Result<Self> {
        Ok(Sums { total: OUTPUTS.filled(0.0, q)?, ..Sums::default() })
    }

    fn set(&mut self, other: &Sums) -> Result<()> {
        self.total.clear();
        Purpose("the waiting nodes of a tree").extend(&mut self.total, other.total.iter().copied())?;
        (self.weight, self.squares) = (other.weight, other.squares);
        Ok(())
    }

    /// Checks, in builds with debug assertions, that sums over at least one sample are exact.
    #[inline(always)]
    fn debug_assert_exact(&self) {
        if cfg!(debug_assertions) {
            debug_assert!(self.weight >= 1.0, "a node without samples");
            debug_assert!(self.squares >= 0, "squares beyond 127 bits");
            self.total.iter().chain([&self.weight]).for_each(|&sum| debug_assert_exact(sum));
        }
    }

    /// Returns |mean|².
    fn mean_square(&self) -> f64 {
        self.total.iter().map(|s| s * s).sum::<f64>() / (self.weight * self.weight)
    }
}

#[derive(Debug)]
pub(crate) struct Variance<'a, U, M> {
    y: &'a RealTargets<'a>,
    weights: &'a [U],
    /// Whether weights are integer multiples of a sample: a sample of weight 2 is equivalent to two samples.
    exact_weights: bool,
    workers: Workers,
    control: Control,
    moved: M,
    /// The sums of the moved side for each thread; see [`Mover`].
    of_movers: Vec<M>,
    /// The minimum number of samples of the work of a thread.
    pub(super) least_in_block: usize,
    /// For each sample, its weight, followed by weight × rounded target of each output.
    rounded: Buffer<f64>,
    /// For each sample, weight × squared norm of its targets, in its frame's units of squares.
    squares: Buffer<i128>,
    /// The frame of each sample. All samples of a node have the same frame.
    frame_of: Buffer<u32>,
    frames: Vec<Frame>,
    /// The centers of all frames, one frame after another.
    centers: Vec<f64>,
    low: Vec<f64>,
    high: Vec<f64>,
    center: Vec<f64>,
    /// The number of bits of squared targets. It is smaller for thousands of outputs, because squares are added up in
    /// 127 bits.
    square_bits: i32,
    node: Sums,
    /// The sums of the node in its parent's frame, from which those of its sibling are computed.
    inherited: Sums,
    frame: Frame,
    /// The number of samples of the node.
    n_samples: u32,
    /// An upper bound on the distance, in spacings, of the samples of the node from the mean.
    distance: f64,
    /// Whether this bound is needed.
    is_distance_wanted: bool,
}

impl<'a, U: Units, M: MovedSums> Variance<'a, U, M> {
    pub(crate) fn new(
        y: &'a RealTargets<'a>,
        weights: &'a [U],
        exact_weights: bool,
        moved: M,
        control: &Control,
        workers: &Workers,
    ) -> Result<Self> {
        const PURPOSE: Purpose = Purpose("the rounded targets");
        let q = moved.n_outputs();
        Ok(Variance {
            y,
            weights,
            exact_weights,
            workers: workers.clone(),
            control: control.clone(),
            moved,
            of_movers: Vec::new(),
            least_in_block: rounding::LEAST_IN_BLOCK.div_ceil(q),
            rounded: control.buffer(PURPOSE, weights.len() * (q + 1))?,
            squares: control.buffer(PURPOSE, weights.len())?,
            frame_of: control.buffer(PURPOSE, weights.len())?,
            frames: Vec::new(),
            centers: Vec::new(),
            low: OUTPUTS.filled(0.0, q)?,
            high: OUTPUTS.filled(0.0, q)?,
            center: OUTPUTS.filled(0.0, q)?,
            square_bits: 30 - (exponent_above(q as f64) - 13).max(0) / 2,
            node: Sums::new(q)?,
            inherited: Sums::new(q)?,
            frame: Frame { grid: 1.0, square_unit: 1.0, square_size: PowerOfTwo::ONE, level: 0, number: 0 },
            n_samples: 0,
            distance: 0.0,
            is_distance_wanted: true,
        })
    }

    /// Returns the criterion for searches that do not call [`NodeCriterion::least_moved_weight`], which would need a
    /// pass over each node.
    pub(crate) fn without_distance(self) -> Self {
        Variance { is_distance_wanted: false, ..self }
    }

    /// Returns the number of the frame of a sample. Sums of samples in different frames are not comparable.
    pub(crate) fn frame_of(&self, row: u32) -> u32 {
        self.frame_of[row as usize]
    }

    /// Returns the number of the frame of the node that was entered last.
    pub(crate) fn number_of_last_frame(&self) -> u32 {
        self.frame.number
    }

    /// Returns the number of the frame of a node, of which a worker may have no sample.
    pub(crate) fn number_of_frame(&self, rows: &[u32]) -> Result<u32> {
        self.workers.max_of(rows.first().map_or(0, |&row| self.frame_of(row)))
    }

    /// Returns the frame of a node.
    fn frame_of_node(&self, rows: &[u32]) -> Result<Frame> {
        self.frames.get(self.number_of_frame(rows)? as usize).copied().ok_or_else(other_sums)
    }

    /// Returns all samples, each in its own frame.
    pub(crate) fn samples(&self) -> &[f64] {
        &self.rounded
    }

    /// Returns the number of items of a sample.
    pub(crate) fn sample_len(&self) -> usize {
        self.moved.n_outputs() + 1
    }

    /// Returns the weight of all samples, if it is the same for all; `rows` are the samples of this worker.
    pub(crate) fn common_weight(&self, rows: &[u32]) -> Result<Option<f64>> {
        let ranges = self.of_blocks(rows, |rows| {
            let weights = rows.iter().map(|&row| self.weights[row as usize].to_f64());
            Ok(weights.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), w| (low.min(w), high.max(w))))
        })?;
        let wider = |a: (f64, f64), b: (f64, f64)| (a.0.min(b.0), a.1.max(b.1));
        let own = ranges.into_iter().reduce(wider).unwrap_or((f64::INFINITY, f64::NEG_INFINITY));
        let (low, high) = self.workers.range(own)?;
        Ok((low == high).then_some(low))
    }

    pub(crate) fn workers(&self) -> &Workers {
        &self.workers
    }

    /// Returns bounds of sums over samples of the node that was entered last.
    ///
    /// They follow from sums that all workers have: (Σ w |z|)² ≤ Σ w · Σ w z² for targets z that are not rounded, in
    /// spacings. Squares have lost less than one of their units for each output and unit of weight, and |w t| is larger
    /// than w |z| by half the weight at most.
    pub(crate) fn bounds(&self) -> Bounds {
        // More than the operations on floats lose.
        const MARGIN: f64 = 1.0 + 1.0 / (1u64 << 20) as f64;
        let (weight, n_samples) = (self.node.weight, self.n_samples);
        let lost = weight * self.moved.n_outputs() as f64;
        let squares = (self.node.squares as f64 + lost) * self.frame.square_unit;
        Bounds { weight, target: (weight * squares).sqrt() * MARGIN + weight, n_samples }
    }

    /// Returns sums number `i`, where sums have the layout of samples.
    #[inline]
    pub(crate) fn sums<'t>(&self, sums: &'t [f64], i: usize) -> &'t [f64] {
        self.moved.sample(sums, i as u32)
    }

    /// Returns the score of moved sums if it is at least `floor`.
    #[inline]
    fn score_of(&self, all: &M, moved: &M::Local, floor: f64) -> Option<f64> {
        let (moved_squares, rest_squares) = all.squares(moved, &self.node.total);
        let weight = M::weight(moved);
        score_from(floor, [moved_squares, rest_squares], [weight, self.node.weight - weight])
    }

    /// Returns the mean of a column on the side of moved samples, and on the other.
    fn means_of_sides(&self, all: &M, moved: &M::Local, column: u32) -> [f64; 2] {
        let q = all.n_outputs();
        let (center, grid) = (self.centers[self.frame.number as usize * q + column as usize], self.frame.grid);
        let (weight, sum) = (M::weight(moved), all.sum(moved, column));
        let rest = (self.node.total[column as usize] - sum) / (self.node.weight - weight);
        [sum / weight, rest].map(|mean| center + grid * mean)
    }

    /// Returns the variance of the node, summed over outputs, in units of squares.
    fn variance(&self) -> f64 {
        let node = &self.node;
        (node.squares as f64 / node.weight - node.mean_square() / self.frame.square_unit).max(0.0)
    }

    /// Returns twice log₂(weight × standard deviation) of the node, for variances in units of one frame. Ratios have all
    /// their bits whatever the weight.
    fn level(&self, variance: f64) -> i32 {
        let of_weight = if self.y.curvatures.is_some() { 0 } else { 2 * exponent_above(self.node.weight) };
        of_weight + exponent_above(variance)
    }

    /// Computes the statistics of the node from its sums, and makes a new frame if the old one has become too coarse.
    fn summarize(&mut self, rows: &[u32]) -> Result<NodeStats> {
        let weight = self.node.weight;
        let n = self.n_samples;
        let equal = NodeStats { n, weight, impurity: 0.0, pure: true };
        if n == 1 {
            return Ok(equal);
        }
        let mut variance = self.variance();
        let is_lost = variance <= LOST_SHARE * (self.node.squares as f64 / weight);
        let is_coarse = variance * self.frame.square_unit < COARSE * COARSE;
        if is_lost || is_coarse && self.level(variance) + WORTHWHILE_LEVELS <= self.frame.level {
            if self.round(rows)? {
                return Ok(equal);
            }
            variance = self.variance();
        }
        let impurity = self.frame.square_size.times(variance / self.moved.n_outputs() as f64);
        Ok(NodeStats { n, weight, impurity, pure: false })
    }
}

/// Bounds of sums over any of the samples of a node, in its frame. They are the same for all workers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bounds {
    /// The weight of the node.
    pub(crate) weight: f64,
    /// At least Σ w |t| of each output, where t are rounded targets.
    pub(crate) target: f64,
    pub(crate) n_samples: u32,
}

/// The samples of one node in their frame.
#[derive(Debug)]
struct Framed {
    frame: Frame,
    center: Vec<f64>,
    /// See [`Variance::rounded`] and [`Variance::squares`]; these are for the samples of the node.
    rounded: Vec<f64>,
    squares: Vec<i128>,
}

/// A node that waits to be split.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    n_samples: u32,
    /// The number of its frame.
    frame: u32,
    sums: Sums,
    distance: f64,
}

impl<U: Units, M: MovedSums> NodeCriterion for Variance<'_, U, M> {
    type Memory = Memory;
    type Moved = M::Local;
    type Sample = M::Copied;

    #[inline]
    fn sample(&self, row: u32) -> M::Copied {
        M::copied(self.moved.sample(&self.rounded, row))
    }

    fn enter(&mut self, rows: &[u32]) -> Result<NodeStats> {
        if self.frames.is_empty() {
            // This is the root. Without sums, its variance is zero, so that a frame is made.
            self.n_samples = rows.len() as u32;
            let weight = |rows: &[u32]| Ok(rows.iter().map(|&row| self.weights[row as usize].to_f64()).sum::<f64>());
            self.node.weight = self.of_blocks(rows, weight)?.into_iter().sum();
            let (n, weight) = (slice::from_mut(&mut self.n_samples), slice::from_mut(&mut self.node.weight));
            self.workers.sum_together([Part::Counts(n), Part::Floats(weight)])?;
            return self.summarize(rows);
        }
        let number = self.sum(rows)?;
        self.frame = self.frames.get(number as usize).copied().ok_or_else(other_sums)?;
        self.inherited.set(&self.node)?;
        if self.n_samples > 1 {
            self.distance = self.find_distance(rows)?;
        }
        self.summarize(rows)
    }

    fn hand_over(&self, rows: &[u32]) -> Result<Option<Box<dyn Any + Send>>> {
        const PURPOSE: Purpose = Purpose("the rounded targets of a subtree");
        let (q, frame) = (self.moved.n_outputs(), self.frame_of_node(rows)?);
        let center = PURPOSE.copied(&self.centers[frame.number as usize * q..][..q])?;
        let mut rounded = PURPOSE.with_capacity(rows.len() * (q + 1))?;
        rows.iter().for_each(|&row| rounded.extend_from_slice(&self.rounded[row as usize * (q + 1)..][..q + 1]));
        let squares = PURPOSE.collected(rows.iter().map(|&row| self.squares[row as usize]))?;
        Ok(Some(Box::new(Framed { frame: Frame { number: 0, ..frame }, center, rounded, squares })))
    }

    fn take_over(&mut self, rows: &[u32], made: Box<dyn Any + Send>) -> Result<()> {
        let Ok(framed) = made.downcast::<Framed>() else { return Ok(()) };
        let len = self.sample_len();
        for ((&row, rounded), squares) in rows.iter().zip(framed.rounded.chunks_exact(len)).zip(framed.squares) {
            self.rounded[row as usize * len..][..len].copy_from_slice(rounded);
            self.squares[row as usize] = squares;
            self.frame_of[row as usize] = 0;
        }
        FRAMES.push(&mut self.frames, framed.frame)?;
        FRAMES.extend(&mut self.centers, framed.center)
    }

    fn remember(&self, memory: &mut Memory) -> Result<bool> {
        if self.n_samples < FEW_SAMPLES {
            return Ok(false);
        }
        memory.n_samples = self.n_samples;
        memory.frame = self.frame.number;
        memory.sums.set(&self.node)?;
        memory.distance = self.distance;
        Ok(true)
    }

    fn enter_rest(&mut self, whole: &Memory, rows: &[u32]) -> Result<NodeStats> {
        self.n_samples = whole.n_samples - self.n_samples;
        // A worker may have no sample of the node. In subtrees that are handed over, frames have other numbers, but
        // workers have all samples there.
        let known = rows.first().filter(|_| self.workers.has_all_rows()).map(|&row| self.frame_of(row));
        self.frame = self.frames[known.unwrap_or(whole.frame) as usize];
        let (sums, part) = (&whole.sums, &self.inherited);
        self.node.weight = sums.weight - part.weight;
        self.node.squares = sums.squares - part.squares;
        let (of_rest, of_whole) = (1.0 / self.node.weight, 1.0 / sums.weight);
        let mut shift = 0.0;
        for (rest, (s, p)) in self.node.total.iter_mut().zip(sums.total.iter().zip(&part.total)) {
            *rest = s - p;
            shift += (*rest * of_rest - s * of_whole).squared();
        }
        self.distance = whole.distance + shift.sqrt();
        self.node.debug_assert_exact();
        self.summarize(rows)
    }

    #[inline]
    fn reset(&mut self) -> M::Local {
        self.moved.reset()
    }

    #[inline]
    fn move_sample(&mut self, moved: &mut M::Local, row: u32) {
        let sample = self.moved.sample(&self.rounded, row);
        self.moved.add(moved, sample);
    }

    const LONG_RUN: usize = 4;

    #[inline]
    fn move_run<R: Copy>(&mut self, moved: &mut M::Local, run: &[R], row_of: impl Fn(R) -> u32) {
        let (fours, rest) = run.as_chunks::<4>();
        for &four in fours {
            let samples = four.map(|sample| self.moved.sample(&self.rounded, row_of(sample)));
            self.moved.add_four(moved, samples);
        }
        rest.iter().for_each(|&sample| self.move_sample(moved, row_of(sample)));
    }

    fn cost(&self) -> usize {
        self.moved.n_outputs()
    }

    #[inline]
    fn moved_weight(&self, moved: &M::Local) -> f64 {
        M::weight(moved)
    }

    #[inline]
    fn score(&self, moved: &M::Local) -> f64 {
        let (moved_squares, rest_squares) = self.moved.squares(moved, &self.node.total);
        let weight = M::weight(moved);
        moved_squares / weight + rest_squares / (self.node.weight - weight)
    }

    #[inline]
    fn score_from(&self, moved: &M::Local, floor: f64) -> Option<f64> {
        self.score_of(&self.moved, moved, floor)
    }

    fn least_moved_weight(&self, score: f64) -> f64 {
        if !self.is_distance_wanted {
            return 0.0;
        }
        least_weight(score, self.score_without_gain(), self.node.weight, self.distance * self.distance)
    }

    type Sum = f64;

    fn moved_sums(&self, moved: &M::Local, visit: impl FnMut(u32, f64)) -> f64 {
        self.moved.for_each(moved, visit);
        M::weight(moved)
    }

    fn node_sums(&self, mut visit: impl FnMut(u32, f64)) -> f64 {
        (0..).zip(&self.node.total).for_each(|(output, &sum)| visit(output, sum));
        self.node.weight
    }

    fn move_side(&mut self, moved: &mut M::Local, weight: f64, sums: &[(u32, f64)]) {
        self.moved.add_sums(moved, weight, sums);
    }

    fn ordering_sum(&self) -> Option<u32> {
        (self.moved.n_outputs() == 1).then_some(0)
    }

    fn side_means(&self, moved: &M::Local, column: u32) -> [f64; 2] {
        self.means_of_sides(&self.moved, moved, column)
    }

    fn score_without_gain(&self) -> f64 {
        self.node.total.iter().map(|s| s * s).sum::<f64>() / self.node.weight
    }

    fn decrease(&self, score: f64) -> f64 {
        let grid = self.frame.grid;
        ((score - self.score_without_gain()) / self.node.weight * grid * grid / self.moved.n_outputs() as f64).max(0.0)
    }
}
