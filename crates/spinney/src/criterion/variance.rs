//! Variance of numbers, any number of outputs.
//!
//! The targets of the root are centred and rounded to multiples of 2^−s, s as large as keeps every weighted sum below 2⁵²:
//! with n samples that leaves 51 − log₂ n bits for the widest output. Sums of the rounded targets are exact, whatever
//! their order; so the larger child of a node is the node minus the smaller child, without a look at its samples. Where
//! weight times spread has shrunk so far that a finer grid pays, a node gets a *frame* of its own: a new centre and grid
//! for its samples, which their descendants inherit. With S the sums and W the weights, minimising the weighted variance
//! of the sides is maximising Σ_j S_mj² / W_m + Σ_j (S_j − S_mj)² / W_r.

use std::borrow::Cow;

use super::{Criterion, NodeStats, Units, least_weight};
use crate::data::weights::exponent_above;
use crate::error::{Result, try_extend, try_filled, try_push};

/// Sums of the moved side. A sample is its weight, followed by weight × target of each output.
pub(crate) trait MovedSums: std::fmt::Debug {
    /// What is kept in registers during a scan; its first item is the weight.
    type Local: Copy;

    fn n_outputs(&self) -> usize;
    /// The sample in row `row` of the table.
    fn sample<'t>(&self, table: &'t [f64], row: u32) -> &'t [f64];
    fn reset(&mut self) -> Self::Local;
    fn add(&mut self, local: &mut Self::Local, sample: &[f64]);
    /// Adds four samples.
    fn add_four(&mut self, local: &mut Self::Local, samples: [&[f64]; 4]) {
        samples.into_iter().for_each(|sample| self.add(local, sample));
    }
    fn weight(local: &Self::Local) -> f64;
    /// Writes m_j.
    fn totals(&self, local: &Self::Local, out: &mut [f64]);
    /// Σ_j m_j² and Σ_j (total_j − m_j)².
    fn squares(&self, local: &Self::Local, total: &[f64]) -> (f64, f64);
}

/// One output: both sums stay in registers.
#[derive(Debug)]
pub(crate) struct One;

impl MovedSums for One {
    type Local = [f64; 2];

    fn n_outputs(&self) -> usize {
        1
    }

    #[inline]
    fn sample<'t>(&self, table: &'t [f64], row: u32) -> &'t [f64] {
        &table.as_chunks::<2>().0[row as usize]
    }

    #[inline]
    fn reset(&mut self) -> [f64; 2] {
        [0.0; 2]
    }

    #[inline]
    fn add(&mut self, local: &mut [f64; 2], sample: &[f64]) {
        local[0] += sample[0];
        local[1] += sample[1];
    }

    #[inline]
    fn weight(local: &[f64; 2]) -> f64 {
        local[0]
    }

    #[inline]
    fn totals(&self, local: &[f64; 2], out: &mut [f64]) {
        out[0] = local[1];
    }

    #[inline]
    fn squares(&self, local: &[f64; 2], total: &[f64]) -> (f64, f64) {
        let rest = total[0] - local[1];
        (local[1] * local[1], rest * rest)
    }
}

/// What there is a number of for each output.
const OUTPUTS: &str = "the sums of a node";

/// Any number of outputs.
#[derive(Debug)]
pub(crate) struct Many(Vec<f64>);

impl Many {
    pub(crate) fn new(n_outputs: usize) -> Result<Self> {
        Ok(Many(try_filled(OUTPUTS, 0.0, n_outputs)?))
    }
}

impl MovedSums for Many {
    type Local = f64;

    fn n_outputs(&self) -> usize {
        self.0.len()
    }

    #[inline]
    fn sample<'t>(&self, table: &'t [f64], row: u32) -> &'t [f64] {
        let width = self.0.len() + 1;
        &table[row as usize * width..][..width]
    }

    #[inline]
    fn reset(&mut self) -> f64 {
        self.0.fill(0.0);
        0.0
    }

    #[inline]
    fn add(&mut self, weight: &mut f64, sample: &[f64]) {
        *weight += sample[0];
        for (moved, t) in self.0.iter_mut().zip(&sample[1..]) {
            *moved += t;
        }
    }

    #[inline]
    fn add_four(&mut self, weight: &mut f64, [a, b, c, d]: [&[f64]; 4]) {
        // Sums are exact, so they may be added in any order: one write for four samples.
        *weight += (a[0] + b[0]) + (c[0] + d[0]);
        let (ab, cd) = (a[1..].iter().zip(&b[1..]), c[1..].iter().zip(&d[1..]));
        for (moved, ((a, b), (c, d))) in self.0.iter_mut().zip(ab.zip(cd)) {
            *moved += (a + b) + (c + d);
        }
    }

    #[inline]
    fn weight(weight: &f64) -> f64 {
        *weight
    }

    #[inline]
    fn totals(&self, _: &f64, out: &mut [f64]) {
        out.copy_from_slice(&self.0);
    }

    #[inline]
    fn squares(&self, _: &f64, total: &[f64]) -> (f64, f64) {
        // Partial sums over every second output, in a fixed order: the processor adds two at a time.
        let (mut moved_squares, mut rest_squares) = ([0.0; 2], [0.0; 2]);
        let ((moved, moved_tail), (total, total_tail)) = (self.0.as_chunks::<2>(), total.as_chunks::<2>());
        for (m, t) in moved.iter().zip(total) {
            let rest = [t[0] - m[0], t[1] - m[1]];
            moved_squares = [moved_squares[0] + m[0] * m[0], moved_squares[1] + m[1] * m[1]];
            rest_squares = [rest_squares[0] + rest[0] * rest[0], rest_squares[1] + rest[1] * rest[1]];
        }
        if let ([m], [t]) = (moved_tail, total_tail) {
            moved_squares[0] += m * m;
            rest_squares[0] += (t - m) * (t - m);
        }
        (moved_squares[0] + moved_squares[1], rest_squares[0] + rest_squares[1])
    }
}

/// Numeric targets, row after row.
#[derive(Debug)]
pub(crate) struct RealTargets<'a> {
    pub(crate) values: Cow<'a, [f64]>,
    pub(crate) n_outputs: usize,
}

impl RealTargets<'_> {
    pub(crate) fn of(&self, row: u32) -> &[f64] {
        let start = row as usize * self.n_outputs;
        &self.values[start..start + self.n_outputs]
    }
}

/// How the targets of some rows were centred and rounded. Targets are in *steps* of the grid; squares are summed apart,
/// in finer units of their own.
#[derive(Clone, Copy, Debug)]
struct Frame {
    /// Size of a step.
    grid: f64,
    /// Steps², for one unit of squares.
    square_unit: f64,
    /// The same in squared units of the targets, in two factors: one alone may overflow.
    square_size: (f64, f64),
    /// Of the node for which the frame was made: see [`level`].
    level: i32,
}

/// Twice log₂(weight × standard deviation), for variances in units of one frame.
fn level(weight: f64, variance: f64) -> i32 {
    2 * exponent_above(weight) + exponent_above(variance)
}

/// A node gets a frame of its own when its standard deviation is fewer steps than this...
const COARSE: f64 = (1u64 << 26) as f64;

/// ... and its level so far below that of its frame that eight bits of its targets would be gained;
const WORTHWHILE_LEVELS: i32 = 16;

/// and when its variance is so small a share of its mean square that their difference would lose half of its bits. Nodes
/// of equal targets always are.
const LOST_SHARE: f64 = 1.0 / (1u64 << 26) as f64;

/// Nodes of fewer samples are not worth remembering: walking the larger child costs no more than a subtraction.
const FEW_SAMPLES: usize = 4;

/// Sums over the samples of a node, in steps of its frame.
#[derive(Clone, Debug, Default)]
struct Sums {
    total: Vec<f64>,
    weight: f64,
    /// Σ w |z|², in the frame's units of squares.
    squares: i128,
}

impl Sums {
    fn new(q: usize) -> Result<Self> {
        Ok(Sums { total: try_filled(OUTPUTS, 0.0, q)?, ..Sums::default() })
    }

    fn set(&mut self, other: &Sums) -> Result<()> {
        self.total.clear();
        try_extend("the waiting nodes of a tree", &mut self.total, other.total.iter().copied())?;
        (self.weight, self.squares) = (other.weight, other.squares);
        Ok(())
    }

    /// |mean|².
    fn mean_square(&self) -> f64 {
        self.total.iter().map(|s| s * s).sum::<f64>() / (self.weight * self.weight)
    }
}

#[derive(Debug)]
pub(crate) struct Variance<'a, U, M> {
    y: &'a RealTargets<'a>,
    weights: &'a [U],
    /// Weights are whole multiples of a sample: weight 2 is the sample twice.
    exact_weights: bool,
    moved: M,
    /// For every row: its weight, then weight × rounded target of each output.
    rounded: Vec<f64>,
    /// For every row: weight × squared norm of its targets, in its frame's units of squares.
    squares: Vec<i128>,
    /// Frame of every row. Rows of one node have the same.
    frame_of: Vec<u32>,
    frames: Vec<Frame>,
    low: Vec<f64>,
    high: Vec<f64>,
    center: Vec<f64>,
    /// Bits of squared targets: fewer for thousands of outputs, whose squares are added up in 127 bits.
    square_bits: i32,
    node: Sums,
    /// The same in its parent's frame; what its sibling is computed from.
    inherited: Sums,
    frame: Frame,
    n_samples: usize,
    /// At least the distance, in steps, of every sample of the node from the mean.
    distance: f64,
    /// Whether that is asked for.
    is_distance_wanted: bool,
}

impl<'a, U: Units, M: MovedSums> Variance<'a, U, M> {
    pub(crate) fn new(y: &'a RealTargets<'a>, weights: &'a [U], exact_weights: bool, moved: M) -> Result<Self> {
        const WHAT: &str = "the rounded targets";
        let q = moved.n_outputs();
        Ok(Variance {
            y,
            weights,
            exact_weights,
            moved,
            rounded: try_filled(WHAT, 0.0, weights.len() * (q + 1))?,
            squares: try_filled(WHAT, 0, weights.len())?,
            frame_of: try_filled(WHAT, 0, weights.len())?,
            frames: Vec::new(),
            low: try_filled(OUTPUTS, 0.0, q)?,
            high: try_filled(OUTPUTS, 0.0, q)?,
            center: try_filled(OUTPUTS, 0.0, q)?,
            square_bits: 30 - (exponent_above(q as f64) - 13).max(0) / 2,
            node: Sums::new(q)?,
            inherited: Sums::new(q)?,
            frame: Frame { grid: 1.0, square_unit: 1.0, square_size: (1.0, 1.0), level: 0 },
            n_samples: 0,
            distance: 0.0,
            is_distance_wanted: true,
        })
    }

    /// The same where nobody asks for [`Criterion::least_moved_weight`]: it costs a walk through each node.
    pub(crate) fn without_distance(self) -> Self {
        Variance { is_distance_wanted: false, ..self }
    }

    /// Names the frame of a row: sums of rows in different frames have nothing to do with each other.
    pub(crate) fn frame_of(&self, row: u32) -> u32 {
        self.frame_of[row as usize]
    }

    /// Samples of all rows, each in its own frame.
    pub(crate) fn samples(&self) -> &[f64] {
        &self.rounded
    }

    /// Items of a sample.
    pub(crate) fn sample_len(&self) -> usize {
        self.moved.n_outputs() + 1
    }

    /// The weight of all these rows, if it is one.
    pub(crate) fn common_weight(&self, rows: &[u32]) -> Option<f64> {
        let first = self.weights[*rows.first()? as usize];
        rows.iter().all(|&row| self.weights[row as usize] == first).then(|| first.to_f64())
    }

    /// Number `i` of some sums, laid out as samples are.
    #[inline]
    pub(crate) fn sums<'t>(&self, sums: &'t [f64], i: usize) -> &'t [f64] {
        self.moved.sample(sums, i as u32)
    }

    /// The score, if it is at least `floor`. Most cuts are told from it without a division: all terms are positive, so that
    /// the margin is far beyond what is lost in rounding.
    #[inline]
    pub(crate) fn score_from(&self, moved: &M::Local, floor: f64) -> Option<f64> {
        let (moved_squares, rest_squares) = self.moved.squares(moved, &self.node.total);
        let weight = M::weight(moved);
        let rest = self.node.weight - weight;
        if moved_squares * rest + rest_squares * weight < floor * (1.0 - 1e-12) * (weight * rest) {
            return None;
        }
        let score = moved_squares / weight + rest_squares / rest;
        (score >= floor).then_some(score)
    }

    /// Moves samples whose sums these are.
    #[inline]
    pub(crate) fn move_sums(&mut self, moved: &mut M::Local, sums: &[f64]) {
        self.moved.add(moved, sums);
    }

    fn find_range(&mut self, rows: &[u32]) {
        let q = self.moved.n_outputs();
        self.low[..q].fill(f64::INFINITY);
        self.high[..q].fill(f64::NEG_INFINITY);
        for &row in rows {
            for (j, &y) in self.y.of(row)[..q].iter().enumerate() {
                self.low[j] = self.low[j].min(y);
                self.high[j] = self.high[j].max(y);
            }
        }
    }

    /// Makes a frame for these rows, the node's, whose weight is known, and sums them in it; returns whether all their
    /// targets are equal.
    fn round(&mut self, rows: &[u32]) -> Result<bool> {
        let q = self.moved.n_outputs();
        let weight = self.node.weight;
        self.find_range(rows);
        let mut reach = 0f64;
        for j in 0..q {
            let (low, high) = (self.low[j], self.high[j]);
            self.center[j] = if low == high { low } else { low / 2.0 + high / 2.0 };
            reach = reach.max(high - self.center[j]).max(self.center[j] - low);
        }
        if reach == 0.0 {
            return Ok(self.low == self.high);
        }
        let exponent = 51 - exponent_above(weight) - exponent_above(reach);
        let (up, up_again) = two_to(exponent);
        let (square, square_again) = two_to(self.square_bits - exponent_above(reach));
        let frame = self.frames.len() as u32;
        for &row in rows {
            let w = self.weights[row as usize].to_f64();
            let y = &self.y.of(row)[..q];
            let out = &mut self.rounded[row as usize * (q + 1)..][..q + 1];
            out[0] = w;
            for (out, (y, center)) in out[1..].iter_mut().zip(y.iter().zip(&self.center)) {
                let scaled = (y - center) * up * up_again;
                *out = if self.exact_weights { w * round_to_grid(scaled) } else { round_to_grid(w * scaled) };
            }
            // Four squares of 60 bits fit 64.
            let squares = y.chunks(4).zip(self.center.chunks(4)).map(|(y, center)| {
                let scaled = y.iter().zip(center).map(|(y, center)| (y - center) * square * square_again);
                i128::from(scaled.map(|z| (z * z) as i64).sum::<i64>())
            });
            let squares: i128 = squares.sum();
            self.squares[row as usize] = i128::from(w as i64) * squares;
            self.frame_of[row as usize] = frame;
        }
        let (down, down_again) = two_to(-exponent);
        self.frame = Frame {
            grid: down * down_again,
            square_unit: 2f64.powi(2 * (51 - exponent_above(weight) - self.square_bits)),
            square_size: two_to(2 * (exponent_above(reach) - self.square_bits)),
            level: 0,
        };
        self.sum(rows);
        self.frame.level = level(weight, self.variance());
        try_push("the grids of nodes", &mut self.frames, self.frame)?;
        self.distance = self.find_distance(rows);
        Ok(false)
    }

    /// Sums rows that have a frame.
    fn sum(&mut self, rows: &[u32]) {
        // Summed where moved samples are, in registers if there is one output.
        let mut sums = self.moved.reset();
        let mut squares = 0;
        for &row in rows {
            let sample = self.moved.sample(&self.rounded, row);
            self.moved.add(&mut sums, sample);
            squares += self.squares[row as usize];
        }
        self.moved.totals(&sums, &mut self.node.total);
        (self.node.weight, self.node.squares) = (M::weight(&sums), squares);
    }

    /// Variance of the node, summed over outputs, in units of squares.
    fn variance(&self) -> f64 {
        let node = &self.node;
        (node.squares as f64 / node.weight - node.mean_square() / self.frame.square_unit).max(0.0)
    }

    /// Score of moving nothing.
    fn base(&self) -> f64 {
        self.node.total.iter().map(|s| s * s).sum::<f64>() / self.node.weight
    }

    /// What the sums of the node say; a new frame when the old one has become too coarse.
    fn summarize(&mut self, rows: &[u32]) -> Result<NodeStats> {
        let weight = self.node.weight;
        let equal = NodeStats { weight, impurity: 0.0, pure: true };
        if rows.len() == 1 {
            return Ok(equal);
        }
        let mut variance = self.variance();
        let is_lost = variance <= LOST_SHARE * (self.node.squares as f64 / weight);
        let is_coarse = variance * self.frame.square_unit < COARSE * COARSE;
        if is_lost || is_coarse && level(weight, variance) + WORTHWHILE_LEVELS <= self.frame.level {
            if self.round(rows)? {
                return Ok(equal);
            }
            variance = self.variance();
        }
        let (size, size_again) = self.frame.square_size;
        let impurity = variance / self.moved.n_outputs() as f64 * size * size_again;
        Ok(NodeStats { weight, impurity, pure: false })
    }

    /// Largest distance, in steps, of a sample from the mean.
    fn find_distance(&self, rows: &[u32]) -> f64 {
        if !self.is_distance_wanted {
            return f64::INFINITY;
        }
        let node = &self.node;
        let mean_square = node.mean_square();
        let mut largest = (0f64, 0f64);
        for &row in rows {
            let sample = self.moved.sample(&self.rounded, row);
            let product: f64 = sample[1..].iter().zip(&node.total).map(|(t, s)| t * s).sum();
            let square = self.squares[row as usize] as f64 * self.frame.square_unit;
            let from_mean = (square - 2.0 * product / node.weight) / sample[0];
            largest = (largest.0.max(from_mean), largest.1.max(square / sample[0]));
        }
        // What rounding may have taken: half a step of each output, and bits of the larger terms of a difference.
        let outputs = self.moved.n_outputs() as f64;
        let lost = 1e-9 * (largest.1 + mean_square) + 4.0 * outputs;
        (largest.0 + mean_square + lost).sqrt() + outputs.sqrt()
    }
}

/// Nearest whole number, ties to even, for |x| < 2⁵¹: adding 1.5 · 2⁵² leaves no bits for a fraction.
pub(crate) fn round_to_grid(x: f64) -> f64 {
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    (x + SHIFT) - SHIFT
}

/// 2^e as a product of two factors that are finite and normal, for |e| ≤ 2 000.
fn two_to(e: i32) -> (f64, f64) {
    (2f64.powi(e / 2), 2f64.powi(e - e / 2))
}

/// A node that waits to be split.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    sums: Sums,
    distance: f64,
}

impl<U: Units, M: MovedSums> Criterion for Variance<'_, U, M> {
    type Memory = Memory;
    type Moved = M::Local;

    fn enter(&mut self, rows: &[u32]) -> Result<NodeStats> {
        self.n_samples = rows.len();
        if self.frames.is_empty() {
            // The root: without sums its variance is zero, which calls for a frame.
            self.node.weight = rows.iter().map(|&row| self.weights[row as usize].to_f64()).sum();
            return self.summarize(rows);
        }
        self.frame = self.frames[self.frame_of[rows[0] as usize] as usize];
        self.sum(rows);
        self.inherited.set(&self.node)?;
        if rows.len() > 1 {
            self.distance = self.find_distance(rows);
        }
        self.summarize(rows)
    }

    fn remember(&self, memory: &mut Memory) -> Result<bool> {
        if self.n_samples < FEW_SAMPLES {
            return Ok(false);
        }
        memory.sums.set(&self.node)?;
        memory.distance = self.distance;
        Ok(true)
    }

    fn enter_rest(&mut self, whole: &Memory, rows: &[u32]) -> Result<NodeStats> {
        self.n_samples = rows.len();
        self.frame = self.frames[self.frame_of[rows[0] as usize] as usize];
        let (sums, part) = (&whole.sums, &self.inherited);
        self.node.weight = sums.weight - part.weight;
        self.node.squares = sums.squares - part.squares;
        let (of_rest, of_whole) = (1.0 / self.node.weight, 1.0 / sums.weight);
        let mut shift = 0.0;
        for (rest, (s, p)) in self.node.total.iter_mut().zip(sums.total.iter().zip(&part.total)) {
            *rest = s - p;
            shift += (*rest * of_rest - s * of_whole).powi(2);
        }
        self.distance = whole.distance + shift.sqrt();
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

    fn least_moved_weight(&self, score: f64) -> f64 {
        if !self.is_distance_wanted {
            return 0.0;
        }
        least_weight(score, self.base(), self.node.weight, self.distance * self.distance)
    }

    fn decrease(&self, score: f64) -> f64 {
        let grid = self.frame.grid;
        ((score - self.base()) / self.node.weight * grid * grid / self.moved.n_outputs() as f64).max(0.0)
    }
}
