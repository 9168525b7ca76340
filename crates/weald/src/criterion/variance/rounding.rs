//! How the targets of a node's samples are rounded, and summed. Sums are exact, so that any number of threads may share
//! the samples.

use std::slice;
use std::sync::{Mutex, PoisonError};

use super::{BITS_OF_RATIOS, BITS_OF_SUMS, FRAMES, Frame, MovedSums, OUTPUTS, Units, Variance};
use crate::error::Result;
use crate::exact::reduce::{Part, Reduce};
use crate::exact::{FixedPoint, Grid, PowerOfTwo, Total};
use crate::pool;

/// The minimum number of targets for each thread; it is set by hand.
pub(super) const LEAST_IN_BLOCK: usize = 1 << 12;

/// The number of samples of which ranges are found side by side.
const LANES: usize = 8;

/// The grid of a new frame.
struct Rounding<'r> {
    fixed: FixedPoint,
    fixed_for_squares: FixedPoint,
    center: &'r [f64],
    factors: &'r [f64],
    /// Whether weights are integer multiples of a sample.
    exact_weights: bool,
    /// See [`RealTargets::curvatures`].
    curvatures: Option<&'r [u32]>,
}

impl Rounding<'_> {
    /// Writes the weight of a sample and weight × rounded targets. Returns weight × the squared norm of its targets. With
    /// curvatures, the products with these are rounded, which are gradients.
    #[inline(always)]
    fn round(&self, row: u32, y: &[f64], w: f64, out: &mut [f64]) -> i128 {
        let (factors, center) = (&self.factors[..y.len()], &self.center[..y.len()]);
        let scaled = |y: f64, factor: f64, center: f64, grid: &FixedPoint| grid.up(y * factor - center);
        out[0] = w;
        let cells = || y.iter().zip(factors).zip(center);
        for (out, ((y, factor), center)) in out[1..].iter_mut().zip(cells()) {
            let scaled = scaled(*y, *factor, *center, &self.fixed);
            *out = match self.curvatures {
                _ if !self.exact_weights => Grid::WHOLE.round(w * scaled),
                None => w * Grid::WHOLE.round(scaled),
                Some(of_rows) => {
                    let curvature = f64::from(of_rows[row as usize]);
                    w / curvature * Grid::WHOLE.round(curvature * scaled)
                }
            };
        }
        // The sum of four squares of 60 bits fits in 64 bits.
        let fours = y.chunks(4).zip(factors.chunks(4)).zip(center.chunks(4));
        let squares = fours.map(|((y, factors), center)| {
            let cells = y.iter().zip(factors).zip(center);
            let scaled = cells.map(|((y, factor), center)| scaled(*y, *factor, *center, &self.fixed_for_squares));
            i128::from(scaled.map(|z| (z * z) as i64).sum::<i64>())
        });
        i128::from(w as i64) * squares.sum::<i128>()
    }
}

impl<U: Units, M: MovedSums> Variance<'_, U, M> {
    /// Sets the minimum number of samples for each thread.
    #[cfg(test)]
    pub(crate) fn with_blocks_of(self, n: usize) -> Self {
        Variance { least_in_block: n, ..self }
    }

    /// Returns the number of threads among which samples are divided, and the number of samples of a thread.
    fn blocks(&self, n_rows: usize) -> (usize, usize) {
        pool::blocks(self.control.n_threads(), n_rows, self.least_in_block)
    }

    /// Returns the results for parts of the samples, which are divided among threads.
    pub(super) fn of_blocks<T: Send>(
        &self,
        rows: &[u32],
        of_block: impl Fn(&[u32]) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        pool::map_blocks(self.control.n_threads(), rows.len(), self.least_in_block, |block| of_block(&rows[block]))
    }

    /// Finds the smallest and the largest value of each output.
    fn find_range(&mut self, rows: &[u32]) -> Result<()> {
        let q = self.moved.n_outputs();
        let (mut low, mut high) = (std::mem::take(&mut self.low), std::mem::take(&mut self.high));
        low[..q].fill(f64::INFINITY);
        high[..q].fill(f64::NEG_INFINITY);
        let widened = self.widen(rows, (&mut low, &mut high));
        (self.low, self.high) = (low, high);
        widened
    }

    /// Widens the range of each output to the values of these samples.
    fn widen(&self, rows: &[u32], (low, high): (&mut [f64], &mut [f64])) -> Result<()> {
        let q = self.moved.n_outputs();
        if self.blocks(rows.len()).0 == 1 {
            return self.widen_here(rows, (low, high));
        }
        let ranges = self.of_blocks(rows, |rows| {
            let (mut low, mut high) = (OUTPUTS.filled(f64::INFINITY, q)?, OUTPUTS.filled(f64::NEG_INFINITY, q)?);
            self.widen_here(rows, (&mut low, &mut high))?;
            Ok((low, high))
        })?;
        for (of_block, highest) in ranges {
            low.iter_mut().zip(of_block).for_each(|(low, other)| *low = low.min(other));
            high.iter_mut().zip(highest).for_each(|(high, other)| *high = high.max(other));
        }
        Ok(())
    }

    /// [`Variance::widen`] on this thread.
    fn widen_here(&self, rows: &[u32], (low, high): (&mut [f64], &mut [f64])) -> Result<()> {
        for piece in self.control.pieces(rows, self.moved.n_outputs()) {
            if let (&[factor], [low], [high]) = (self.y.factors(), &mut *low, &mut *high) {
                // Several ranges do not wait for each other.
                let mut ranges = [[*low, *high]; LANES];
                for rows in piece?.chunks(LANES) {
                    for (&row, [low, high]) in rows.iter().zip(&mut ranges) {
                        let y = self.y.values[row as usize] * factor;
                        (*low, *high) = (if y < *low { y } else { *low }, if y > *high { y } else { *high });
                    }
                }
                *low = ranges.iter().fold(*low, |low, of_lane| low.min(of_lane[0]));
                *high = ranges.iter().fold(*high, |high, of_lane| high.max(of_lane[1]));
                continue;
            }
            for &row in piece? {
                for ((y, low), high) in self.y.searched(row).zip(&mut *low).zip(&mut *high) {
                    *low = low.min(y);
                    *high = high.max(y);
                }
            }
        }
        Ok(())
    }

    /// Makes a frame for the samples of the node, whose weight must be known, and sums them in it. Returns whether all
    /// their targets are equal.
    pub(super) fn round(&mut self, rows: &[u32]) -> Result<bool> {
        let q = self.moved.n_outputs();
        let weight = self.node.weight;
        self.find_range(rows)?;
        let mut reach = 0f64;
        self.workers.ranges(&mut self.low[..q], &mut self.high[..q])?;
        for j in 0..q {
            let (low, high) = (self.low[j], self.high[j]);
            self.center[j] = if low == high { low } else { low / 2.0 + high / 2.0 };
            reach = reach.max(high - self.center[j]).max(self.center[j] - low);
        }
        if reach == 0.0 {
            return Ok(self.low == self.high);
        }
        // Rounding adds at most half a spacing for each unit of weight, for which one bit is left.
        let bits = BITS_OF_SUMS - Total::of_sum(weight)?.exponent_above();
        let bits = if self.y.curvatures.is_some() { bits.min(BITS_OF_RATIOS) } else { bits };
        let fixed = FixedPoint::with_bits(reach, bits);
        let fixed_for_squares = FixedPoint::with_bits(reach, self.square_bits);
        self.frame = Frame {
            grid: fixed.values().1,
            square_unit: PowerOfTwo::new(2 * (fixed.exponent() - fixed_for_squares.exponent())).value(),
            square_size: PowerOfTwo::new(-2 * fixed_for_squares.exponent()),
            level: 0,
            number: self.frames.len() as u32,
        };
        self.round_rows(rows, fixed, fixed_for_squares)?;
        self.sum(rows)?;
        self.frame.level = self.level(self.variance());
        FRAMES.push(&mut self.frames, self.frame)?;
        FRAMES.extend(&mut self.centers, self.center.iter().copied())?;
        self.distance = self.find_distance(rows)?;
        Ok(false)
    }

    /// Rounds the targets of samples, which are in increasing order, in the new frame.
    fn round_rows(&mut self, rows: &[u32], fixed: FixedPoint, fixed_for_squares: FixedPoint) -> Result<()> {
        let (q, (n_blocks, _)) = (self.moved.n_outputs(), self.blocks(rows.len()));
        let (y, weights, control, frame) = (self.y, self.weights, &self.control, self.frame.number);
        let (center, factors) = (&self.center[..q], &y.factors()[..q]);
        let rounding = Rounding {
            fixed,
            fixed_for_squares,
            center,
            factors,
            exact_weights: self.exact_weights,
            curvatures: y.curvatures,
        };
        // Each thread writes the samples of one part of the tables.
        let at_once = weights.len().div_ceil(n_blocks).max(1);
        let mut rows_of = pool::rows_of_blocks(rows, at_once);
        let tables = self.rounded.chunks_mut(at_once * (q + 1)).zip(self.squares.chunks_mut(at_once));
        let blocks = tables
            .zip(self.frame_of.chunks_mut(at_once))
            .enumerate()
            .map(|(block, tables)| (block * at_once, tables, rows_of(block)));
        pool::for_each(
            n_blocks,
            blocks,
            || Ok(()),
            |(), (first, ((rounded, squares), frame_of), rows)| {
                for piece in control.pieces(rows, q) {
                    for &row in piece? {
                        let (i, w) = (row as usize - first, weights[row as usize].to_f64());
                        let (y, out) = (&y.of(row)[..q], &mut rounded[i * (q + 1)..][..q + 1]);
                        // The loops over one output are not loops.
                        squares[i] = match y {
                            [y] => rounding.round(row, slice::from_ref(y), w, out),
                            several => rounding.round(row, several, w, out),
                        };
                        frame_of[i] = frame;
                    }
                }
                Ok(())
            },
        )
    }

    /// Counts and sums samples that have a frame, and returns its number.
    pub(super) fn sum(&mut self, rows: &[u32]) -> Result<u32> {
        let (n_blocks, at_once) = self.blocks(rows.len());
        let mut node = std::mem::take(&mut self.node);
        node.total.fill(0.0);
        (node.weight, node.squares) = (0.0, 0);
        let of_all = Mutex::new(&mut node);
        let summed = self.with_movers(n_blocks, |criterion, of_movers| {
            let blocks = rows.chunks(at_once).zip(of_movers);
            pool::for_each(
                n_blocks,
                blocks,
                || Ok(()),
                |(), (rows, moved)| {
                    // The sums are computed as those of moved samples, which are in registers if there is one output.
                    let mut sums = moved.reset();
                    let mut squares = 0;
                    for piece in criterion.control.pieces(rows, moved.n_outputs()) {
                        for &row in piece? {
                            moved.add(&mut sums, moved.sample(&criterion.rounded, row));
                            squares += criterion.squares[row as usize];
                        }
                    }
                    let mut node = of_all.lock().unwrap_or_else(PoisonError::into_inner);
                    moved.for_each(&sums, |output, sum| node.total[output as usize] += sum);
                    node.weight += M::weight(&sums);
                    node.squares += squares;
                    Ok(())
                },
            )
        });
        self.node = node;
        summed?;
        let (mut n, mut frame) = (rows.len() as u32, f64::from(rows.first().map_or(0, |&row| self.frame_of(row))));
        // Workers without samples of the node do not know its frame; the others have the same number.
        let mut n_who_know = u32::from(!rows.is_empty());
        self.workers.sum_together([
            Part::Floats(&mut self.node.total),
            Part::Floats(slice::from_mut(&mut self.node.weight)),
            Part::Large(&mut self.node.squares),
            Part::Counts(slice::from_mut(&mut n)),
            Part::Floats(slice::from_mut(&mut frame)),
            Part::Counts(slice::from_mut(&mut n_who_know)),
        ])?;
        self.n_samples = n;
        self.node.debug_assert_exact();
        Ok((frame / f64::from(n_who_know.max(1))) as u32)
    }

    /// Returns an upper bound on the distance, in spacings, of the samples from the mean.
    pub(super) fn find_distance(&self, rows: &[u32]) -> Result<f64> {
        if !self.is_distance_wanted {
            return Ok(f64::INFINITY);
        }
        let node = &self.node;
        let mean_square = node.mean_square();
        let mut largest = [0f64; 2];
        for piece in self.control.pieces(rows, self.moved.n_outputs()) {
            for &row in piece? {
                let sample = self.moved.sample(&self.rounded, row);
                let product: f64 = sample[1..].iter().zip(&node.total).map(|(t, s)| t * s).sum();
                let square = self.squares[row as usize] as f64 * self.frame.square_unit;
                let from_mean = (square - 2.0 * product / node.weight) / sample[0];
                largest = [largest[0].max(from_mean), largest[1].max(square / sample[0])];
            }
        }
        self.workers.max(&mut largest)?;
        // The effect of rounding: half a spacing of each output, and bits of the larger terms of a difference.
        let outputs = self.moved.n_outputs() as f64;
        let lost = 1e-9 * (largest[1] + mean_square) + 4.0 * outputs;
        Ok((largest[0] + mean_square + lost).sqrt() + outputs.sqrt())
    }
}
