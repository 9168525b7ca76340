//! Variance of numbers, any number of outputs.
//!
//! On entering a node its targets are centred and rounded to multiples of 2^−s, s as large as keeps every weighted sum
//! below 2⁵²: with n samples that leaves 51 − log₂ n bits for the widest output of the node, and deeper nodes get finer
//! grids. Sums of the rounded targets are exact, whatever their order. With S the sums and W the weights, minimising the
//! weighted variance of the sides is maximising Σ_j S_mj² / W_m + Σ_j (S_j − S_mj)² / W_r.

use std::borrow::Cow;

use super::{Criterion, NodeStats, Units, least_weight};
use crate::data::weights::exponent_above;

/// Sums of the moved side. A sample is its weight, followed by weight × target of each output.
pub(crate) trait MovedSums: std::fmt::Debug {
    /// What is kept in registers during a scan; its first item is the weight.
    type Local: Copy;

    fn n_outputs(&self) -> usize;
    /// The sample in row `row` of the table.
    fn sample<'t>(&self, table: &'t [f64], row: u32) -> &'t [f64];
    fn reset(&mut self) -> Self::Local;
    fn add(&mut self, local: &mut Self::Local, sample: &[f64]);
    fn weight(local: &Self::Local) -> f64;
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
    fn squares(&self, local: &[f64; 2], total: &[f64]) -> (f64, f64) {
        let rest = total[0] - local[1];
        (local[1] * local[1], rest * rest)
    }
}

/// Any number of outputs.
#[derive(Debug)]
pub(crate) struct Many(Vec<f64>);

impl Many {
    pub(crate) fn new(n_outputs: usize) -> Self {
        Many(vec![0.0; n_outputs])
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
    fn weight(weight: &f64) -> f64 {
        *weight
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

#[derive(Debug)]
pub(crate) struct Variance<'a, U, M> {
    y: &'a RealTargets<'a>,
    weights: &'a [U],
    /// Weights are whole multiples of a sample: weight 2 is the sample twice.
    exact_weights: bool,
    moved: M,
    /// For every row of the node: its weight, then weight × rounded target of each output.
    rounded: Vec<f64>,
    low: Vec<f64>,
    high: Vec<f64>,
    center: Vec<f64>,
    total: Vec<f64>,
    weight: f64,
    /// Size of the grid: 2^−s.
    grid: f64,
    /// At least the squared distance, in steps of the grid, of every sample of the node from the mean.
    reach: f64,
}

impl<'a, U: Units, M: MovedSums> Variance<'a, U, M> {
    pub(crate) fn new(
        y: &'a RealTargets<'a>,
        weights: &'a [U],
        exact_weights: bool,
        moved: M,
    ) -> crate::error::Result<Self> {
        let q = moved.n_outputs();
        Ok(Variance {
            y,
            weights,
            exact_weights,
            moved,
            rounded: crate::error::try_filled("the rounded targets", 0.0, weights.len() * (q + 1))?,
            low: vec![0.0; q],
            high: vec![0.0; q],
            center: vec![0.0; q],
            total: vec![0.0; q],
            weight: 0.0,
            grid: 1.0,
            reach: 0.0,
        })
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

impl<U: Units, M: MovedSums> Criterion for Variance<'_, U, M> {
    type Memory = ();
    type Moved = M::Local;

    fn enter(&mut self, rows: &[u32]) -> NodeStats {
        let q = self.moved.n_outputs();
        self.weight = rows.iter().map(|&row| self.weights[row as usize].to_f64()).sum();
        self.find_range(rows);
        let mut reach = 0f64;
        for j in 0..q {
            let (low, high) = (self.low[j], self.high[j]);
            self.center[j] = if low == high { low } else { low / 2.0 + high / 2.0 };
            reach = reach.max(high - self.center[j]).max(self.center[j] - low);
        }
        if reach == 0.0 {
            return NodeStats { weight: self.weight, impurity: 0.0, pure: self.low == self.high };
        }
        let exponent = 51 - exponent_above(self.weight) - exponent_above(reach);
        let (up, up_again) = two_to(exponent);
        // z² is rounded to 60 bits: exact sums of squares as well, in 128 bits.
        let (square, square_again) = two_to(30 - exponent_above(reach));
        let mut squares = 0i128;
        self.total[..q].fill(0.0);
        for &row in rows {
            let w = self.weights[row as usize];
            let weight = w.to_f64();
            let y = &self.y.of(row)[..q];
            let out = &mut self.rounded[row as usize * (q + 1)..][..q + 1];
            out[0] = weight;
            for j in 0..q {
                let z = y[j] - self.center[j];
                let scaled = z * up * up_again;
                let t =
                    if self.exact_weights { weight * round_to_grid(scaled) } else { round_to_grid(weight * scaled) };
                out[j + 1] = t;
                self.total[j] += t;
                let z = z * square * square_again;
                squares += i128::from(weight as i64) * i128::from((z * z) as i64);
            }
        }
        let (down, down_again) = two_to(-exponent);
        self.grid = down * down_again;
        self.reach = (0..q)
            .map(|j| {
                let mean = self.total[j] / self.weight;
                let [low, high] = [self.low[j], self.high[j]].map(|y| (y - self.center[j]) * up * up_again);
                (mean - low).max(high - mean) + 1.0
            })
            .map(|distance| distance * distance)
            .sum();
        // Both moments in steps of 2^(exponent of the reach − 30), so that nothing overflows before the last product.
        let coarser = 2f64.powi(exponent_above(self.weight) - 21);
        let square_mean: f64 = self.total[..q].iter().map(|s| (s / self.weight * coarser).powi(2)).sum();
        let variance = (squares as f64 / self.weight - square_mean).max(0.0);
        let (unsquare, unsquare_again) = two_to(2 * (exponent_above(reach) - 30));
        let impurity = variance / q as f64 * unsquare * unsquare_again;
        NodeStats { weight: self.weight, impurity, pure: false }
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

    #[inline]
    fn moved_weight(&self, moved: &M::Local) -> f64 {
        M::weight(moved)
    }

    #[inline]
    fn score(&self, moved: &M::Local) -> f64 {
        let (moved_squares, rest_squares) = self.moved.squares(moved, &self.total);
        let weight = M::weight(moved);
        moved_squares / weight + rest_squares / (self.weight - weight)
    }

    fn least_moved_weight(&self, score: f64) -> f64 {
        let q = self.moved.n_outputs();
        let base: f64 = self.total[..q].iter().map(|s| s * s).sum::<f64>() / self.weight;
        least_weight(score, base, self.weight, self.reach)
    }

    fn decrease(&self, score: f64) -> f64 {
        let q = self.moved.n_outputs();
        let whole: f64 = self.total[..q].iter().map(|s| s * s).sum::<f64>() / self.weight;
        ((score - whole) / self.weight * self.grid * self.grid / q as f64).max(0.0)
    }
}
