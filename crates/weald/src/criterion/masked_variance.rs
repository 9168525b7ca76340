//! The variance of numerical outputs with unknown cells.
//!
//! Let W_tj be the weight of the known cells of output j in node t, and S_tj their sum. The squares that remain after a
//! cut are smallest if Σ_j S_mj² / W_mj + (S_tj − S_mj)² / (W_tj − W_mj) is largest. A side without known cells of an
//! output has no term for it. Every node centres its known values and rounds them to a grid of its own, which is as
//! fine as possible if all weighted sums are below 2⁵², so that sums are exact, whatever their order. The cost of a
//! node is therefore a pass over all its samples, and that of a score the number of outputs. If all cells are known,
//! [`super::variance`] costs less.
//!
//! The impurity of a node is its sum of squares, divided by its weight and by the mean number of known cells of a
//! sample at the root. At the root, it is the mean variance of the known cells. Decreases of weight × impurity
//! therefore add up over the tree.

use super::moved_sums::{Many, MovedSums, OUTPUTS};
use super::{NodeCriterion, NodeStats, Units};
use crate::control::Control;
use crate::data::masked::MaskedNumbers;
use crate::elementary::Squared;
use crate::error::{Purpose, Result};
use crate::exact::reduce::{Reduce, Workers};
use crate::exact::{FixedPoint, Grid, PowerOfTwo, Total, debug_assert_exact, exponent_above};
use crate::vectorised::vectorised;

/// The rounding errors of scores, relative to the score, are far smaller: they are sums of at most this many terms, which
/// are not negative and are rounded a few times.
const MARGIN: f64 = 1e-9;
const MOST_TERMS: usize = 1 << 20;

#[derive(Debug)]
pub(crate) struct MaskedVariance<'a, U> {
    y: &'a MaskedNumbers,
    weights: &'a [U],
    /// Whether weights are integer multiples of a sample: a sample of weight 2 is equivalent to two samples.
    exact_weights: bool,
    workers: Workers,
    control: Control,
    /// For each sample, its weight, followed for each output by the weight of its cell and weight × rounded value,
    /// which are zero for unknown cells. They are in the grid of the last entered node that contains the sample.
    rounded: Vec<f64>,
    moved: Many,
    /// For the node, the weight and the sum of each output, as in a sample.
    total: Vec<f64>,
    weight: f64,
    /// The score if no sample is moved.
    base: f64,
    /// The spacing of the grid.
    grid: PowerOfTwo,
    low: Vec<f64>,
    high: Vec<f64>,
    /// The number of bits of squared values: see [`super::variance`].
    square_bits: i32,
    /// The mean number of known cells of a sample; `None` until the root is entered.
    cells_of_a_sample: Option<f64>,
}

impl<'a, U: Units> MaskedVariance<'a, U> {
    pub(crate) fn new(y: &'a MaskedNumbers, weights: &'a [U], exact_weights: bool, control: &Control) -> Result<Self> {
        let q = y.n_outputs();
        Ok(MaskedVariance {
            y,
            weights,
            exact_weights,
            workers: Workers::One,
            control: control.clone(),
            rounded: control.filled(Purpose("the rounded targets"), 0.0, weights.len().saturating_mul(2 * q + 1))?,
            moved: Many::new(2 * q)?,
            total: OUTPUTS.filled(0.0, 2 * q)?,
            weight: 0.0,
            base: 0.0,
            grid: PowerOfTwo::ONE,
            low: OUTPUTS.filled(0.0, q)?,
            high: OUTPUTS.filled(0.0, q)?,
            square_bits: 30 - (exponent_above(q as f64) - 13).max(0) / 2,
            cells_of_a_sample: None,
        })
    }

    /// Returns the criterion with the samples of `workers`.
    pub(crate) fn with_workers(self, workers: &Workers) -> Self {
        MaskedVariance { workers: workers.clone(), ..self }
    }

    /// Finds the range of each output in these samples, and returns the weight of all known cells.
    fn find_ranges(&mut self, rows: &[u32]) -> Result<f64> {
        self.low.fill(f64::INFINITY);
        self.high.fill(f64::NEG_INFINITY);
        let mut cells = 0i128;
        for piece in self.control.pieces(rows, self.low.len()) {
            for &row in piece? {
                let mut n_known = 0i128;
                for (y, (low, high)) in self.y.searched(row).zip(self.low.iter_mut().zip(&mut self.high)) {
                    // Comparisons with NaN are false.
                    *low = if y < *low { y } else { *low };
                    *high = if y > *high { y } else { *high };
                    n_known += i128::from(!y.is_nan());
                }
                cells += self.weights[row as usize].to_f64() as i128 * n_known;
            }
        }
        for (low, high) in self.low.iter_mut().zip(&mut self.high) {
            (*low, *high) = self.workers.range((*low, *high))?;
        }
        Ok(self.workers.sum_of(cells)? as f64)
    }

    /// Rounds the samples of the node to a grid and sums them. Returns the sum of squares around the means of outputs,
    /// and its unit. `reach` must be at least the distance of each value from the middle of its output's range.
    fn round(&mut self, rows: &[u32], reach: f64) -> Result<(f64, PowerOfTwo)> {
        let q = self.low.len();
        // Rounding adds at most half a spacing for each unit of weight, for which one bit is left.
        let fixed = FixedPoint::with_bits(reach, Total::BITS as i32 - 1 - Total::of_sum(self.weight)?.exponent_above());
        let for_squares = FixedPoint::with_bits(reach, self.square_bits);
        let mut squares = 0i128;
        let mut sums = self.moved.reset();
        for piece in self.control.pieces(rows, q) {
            for &row in piece? {
                let w = self.weights[row as usize].to_f64();
                let out = &mut self.rounded[row as usize * (2 * q + 1)..][..2 * q + 1];
                out[0] = w;
                let cells = out[1..].as_chunks_mut::<2>().0.iter_mut().zip(self.y.searched(row));
                let mut square_of_row = 0i128;
                for ((cell, y), (low, high)) in cells.zip(self.low.iter().zip(&self.high)) {
                    if y.is_nan() {
                        *cell = [0.0; 2];
                        continue;
                    }
                    let from_middle = y - middle(*low, *high);
                    let scaled = fixed.up(from_middle);
                    let rounded =
                        if self.exact_weights { w * Grid::WHOLE.round(scaled) } else { Grid::WHOLE.round(w * scaled) };
                    *cell = [w, rounded];
                    square_of_row += i128::from(for_squares.up(from_middle).squared() as i64);
                }
                squares += i128::from(w as i64) * square_of_row;
                self.moved.add(&mut sums, out);
            }
        }
        self.moved.totals(&sums, &mut self.total);
        self.workers.sum(&mut self.total)?;
        self.total.iter().for_each(|&sum| debug_assert_exact(sum));
        let squares = self.workers.sum_of(squares)? as f64;
        self.grid = PowerOfTwo::new(-fixed.exponent());
        self.base = terms(&self.total);
        let square_unit = PowerOfTwo::new(2 * (for_squares.exponent() - fixed.exponent()));
        let around_means = (squares - square_unit.times(self.base)).max(0.0);
        Ok((around_means, PowerOfTwo::new(-2 * for_squares.exponent())))
    }

    /// Returns the weight of cells over which a sum of squares of the node is averaged.
    fn n_cells(&self) -> f64 {
        self.weight * self.cells_of_a_sample.unwrap_or(1.0)
    }
}

/// Returns the middle of a range, without overflow. If both ends are equal, it is exactly this value.
fn middle(low: f64, high: f64) -> f64 {
    if low == high { low } else { low / 2.0 + high / 2.0 }
}

/// Returns s² / w, or 0 if the weight is 0.
#[inline]
fn term(w: f64, s: f64) -> f64 {
    if w > 0.0 { s * s / w } else { 0.0 }
}

/// Returns Σ_j S_j² / W_j, where weights and sums alternate.
fn terms(sums: &[f64]) -> f64 {
    sums.as_chunks::<2>().0.iter().map(|&[w, s]| term(w, s)).sum()
}

/// Returns the score to within [`MARGIN`], if there are at most [`MOST_TERMS`] outputs, in other operations than
/// [`NodeCriterion::score`] has: a division for each output, of several outputs at a time.
fn about(moved: &[f64], total: &[f64]) -> f64 {
    const LANES: usize = 4;

    #[inline(always)]
    fn of_output([w, s]: [f64; 2], [total_w, total_s]: [f64; 2]) -> f64 {
        let (rest_w, rest_s) = (total_w - w, total_s - s);
        // The sum of a side without known cells is exactly zero.
        let (w, rest_w) = (w.max(1.0), rest_w.max(1.0));
        (s * s * rest_w + rest_s * rest_s * w) / (w * rest_w)
    }

    vectorised(
        #[inline(always)]
        || {
            let ((moved, moved_tail), (total, total_tail)) =
                (moved.as_chunks::<{ 2 * LANES }>(), total.as_chunks::<{ 2 * LANES }>());
            let mut sums = [0.0; LANES];
            for (m, t) in moved.iter().zip(total) {
                for i in 0..LANES {
                    sums[i] += of_output([m[2 * i], m[2 * i + 1]], [t[2 * i], t[2 * i + 1]]);
                }
            }
            let tail = moved_tail.as_chunks::<2>().0.iter().zip(total_tail.as_chunks::<2>().0);
            (sums[0] + sums[1]) + (sums[2] + sums[3]) + tail.map(|(&m, &t)| of_output(m, t)).sum::<f64>()
        },
    )
}

/// Visits alternating weights and sums: first all sums, then all weights.
fn for_each(sums: &[f64], visit: &mut impl FnMut(u32, f64)) {
    let sums = sums.as_chunks::<2>().0;
    (0..).zip(sums).for_each(|(number, &[_, sum])| visit(number, sum));
    (sums.len() as u32..).zip(sums).for_each(|(number, &[weight, _])| visit(number, weight));
}

impl<U: Units> NodeCriterion for MaskedVariance<'_, U> {
    type Memory = ();
    /// The moved weight.
    type Moved = f64;
    type Sample = ();

    fn enter(&mut self, rows: &[u32]) -> Result<NodeStats> {
        let n = self.workers.sum_of(rows.len() as u32)?;
        self.weight = self.workers.sum_of(rows.iter().map(|&row| self.weights[row as usize].to_f64()).sum())?;
        let weight = self.weight;
        let cells = self.find_ranges(rows)?;
        self.cells_of_a_sample.get_or_insert(cells / weight);
        // The range of an output without a known cell is empty.
        let known = || self.low.iter().zip(&self.high).filter(|(low, high)| low <= high);
        if known().all(|(low, high)| low == high) {
            return Ok(NodeStats { n, weight, impurity: 0.0, pure: true });
        }
        let reach = known().map(|(&low, &high)| (high - middle(low, high)).max(middle(low, high) - low));
        let reach = reach.fold(0.0, f64::max);
        let (around_means, unit) = self.round(rows, reach)?;
        Ok(NodeStats { n, weight, impurity: unit.times(around_means / self.n_cells()), pure: false })
    }

    #[inline]
    fn reset(&mut self) -> f64 {
        self.moved.reset()
    }

    #[inline]
    fn move_sample(&mut self, moved: &mut f64, row: u32) {
        let sample = self.moved.sample(&self.rounded, row);
        self.moved.add(moved, sample);
    }

    const LONG_RUN: usize = 4;

    #[inline]
    fn move_run<R: Copy>(&mut self, moved: &mut f64, run: &[R], row_of: impl Fn(R) -> u32) {
        let (fours, rest) = run.as_chunks::<4>();
        for &four in fours {
            let samples = four.map(|sample| self.moved.sample(&self.rounded, row_of(sample)));
            self.moved.add_four(moved, samples);
        }
        rest.iter().for_each(|&sample| self.move_sample(moved, row_of(sample)));
    }

    fn cost(&self) -> usize {
        4 * self.low.len()
    }

    #[inline]
    fn moved_weight(&self, moved: &f64) -> f64 {
        *moved
    }

    #[inline]
    fn score(&self, _: &f64) -> f64 {
        let (moved, total) = (self.moved.sums().as_chunks::<2>().0, self.total.as_chunks::<2>().0);
        // Every second term goes to the same sum, so that the processor can add two terms at a time.
        let mut score = [0.0; 2];
        for (&[w, s], &[total_w, total_s]) in moved.iter().zip(total) {
            score[0] += term(w, s);
            score[1] += term(total_w - w, total_s - s);
        }
        score[0] + score[1]
    }

    #[inline]
    fn is_below(&self, _: &f64, floor: f64) -> bool {
        self.low.len() < MOST_TERMS && about(self.moved.sums(), &self.total) < floor * (1.0 - MARGIN)
    }

    #[inline]
    fn score_from(&self, moved: &f64, floor: f64) -> Option<f64> {
        if self.is_below(moved, floor) {
            return None;
        }
        let score = self.score(moved);
        (score >= floor).then_some(score)
    }

    type Sum = f64;

    /// The sums are those of all outputs, followed by the weights of their known cells.
    fn moved_sums(&self, moved: &f64, mut visit: impl FnMut(u32, f64)) -> f64 {
        for_each(self.moved.sums(), &mut visit);
        *moved
    }

    fn node_sums(&self, mut visit: impl FnMut(u32, f64)) -> f64 {
        for_each(&self.total, &mut visit);
        self.weight
    }

    fn move_side(&mut self, moved: &mut f64, weight: f64, sums: &[(u32, f64)]) {
        let q = self.low.len() as u32;
        *moved += weight;
        for &(number, sum) in sums {
            let place = if number < q { 2 * number + 1 } else { 2 * (number - q) };
            self.moved.add_to(place, sum);
        }
    }

    /// Outputs whose cells are known in different samples have no common mean.
    fn ordering_sum(&self) -> Option<u32> {
        None
    }

    fn n_ordering_sums(&self) -> u32 {
        self.low.len() as u32
    }

    fn score_without_gain(&self) -> f64 {
        self.base
    }

    fn decrease(&self, score: f64) -> f64 {
        self.grid.times(self.grid.times((score - self.base) / self.n_cells())).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::data::{Dataset, Mask};

    #[test]
    fn sums_do_not_depend_on_the_order_of_samples_and_masked_values_are_not_read() {
        let (n, q) = (40usize, 3);
        let value = |i: usize, j: usize| ((i * 7919 + j * 104_729) % 1013) as f64 * [1e-9, 1.0, 1e12][j];
        let mask = Array2::from_shape_fn((n, q), |(i, j)| (i * 3 + j * 5) % 4 == 0);
        let x = Array2::<f32>::zeros((n, 1));
        let rows: Vec<u32> = (0..n as u32).collect();
        let weights = vec![3u32; n];
        let mut seen = None;
        for under_mask in [0.0, f64::NAN, 1e300] {
            let y = Array2::from_shape_fn((n, q), |(i, j)| if mask[[i, j]] { under_mask } else { value(i, j) });
            let data = Dataset::new(&x, &y).y_mask(Mask::from(&mask));
            let observed = data.observed().unwrap().unwrap();
            let data = data.with_observed(Some(&observed));
            let crate::data::train_y::TrainY::MaskedReal(y) = data.train_y(None).unwrap() else { panic!("masked") };
            for reversed in [false, true] {
                let mut rows = rows.clone();
                if reversed {
                    rows.reverse();
                }
                let mut variance = MaskedVariance::new(&y, &weights, true, &Control::default()).unwrap();
                let stats = variance.enter(&rows).unwrap();
                let mut moved = variance.reset();
                rows.iter().filter(|row| **row % 3 == 0).for_each(|&row| variance.move_sample(&mut moved, row));
                let score = variance.score(&moved);
                let found = [stats.impurity, score, variance.decrease(score)].map(f64::to_bits);
                assert_eq!(*seen.get_or_insert(found), found);
            }
        }
    }
}
