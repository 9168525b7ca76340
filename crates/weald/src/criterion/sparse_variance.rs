//! The variance of numerical outputs that are mostly zero, from sums of their entries.
//!
//! Numbers are rounded to multiples of 2^−s around zero, with one grid for the whole tree. It is as fine as possible if
//! the squares of all sums are below 2¹²⁷: with n samples and d outputs, 62 − log₂ n − ½ log₂ d bits are left for the
//! largest number. An *amount* is weight × rounded number, which is an integer. Let t_j be the sum of the amounts of
//! output j in the node, m_j that in the moved side, and W the weights. Minimizing the weighted variance of the sides
//! is equivalent to maximizing
//!
//!   Σ_j m_j² / W_m + Σ_j (t_j − m_j)² / W_r,
//!
//! for which Σ t², Σ t m and Σ m² are stored. An entry with amount a changes them by a t_j and a (2 m_j + a), as in
//! [`super::counts`]. The cost of a sample is therefore the number of its entries, never the number of outputs.

use super::{NodeCriterion, NodeStats, Units, least_weight};
use crate::control::Control;
use crate::data::sparse_targets::SparseNumbers;
use crate::elementary::Squared;
use crate::error::{Purpose, Result};
use crate::exact::reduce::{Reduce, Workers};
use crate::exact::{FixedPoint, debug_assert_exact, exponent_above};

const PURPOSE: Purpose = Purpose("the sums of a node");

/// The number of bits of a sum of amounts, times the root of the number of outputs. Twice the sum of squares over all
/// outputs then fits in 127 bits.
const SUM_BITS: i32 = 62;

/// A node is remembered if its samples have this many times more entries than there are outputs with entries.
const WORTHWHILE: usize = 3;

/// The sums of one output.
#[derive(Clone, Copy, Debug, Default)]
struct OfOutput {
    /// The sum over the node.
    total: i64,
    /// The sum over the moved side.
    moved: i64,
    /// The numbers of entries in both. Sums of numbers of both signs may be zero.
    n: u32,
    n_moved: u32,
}

#[derive(Debug)]
pub(crate) struct SparseVariance<'a, U> {
    y: &'a SparseNumbers<'a>,
    weights: &'a [U],
    /// Whether weights are integer multiples of a sample: a sample of weight 2 is equivalent to two samples.
    exact_weights: bool,
    workers: Workers,
    control: Control,
    /// The grid; `None` before the root is entered.
    grid: Option<FixedPoint>,
    /// The amounts of all entries of y, in their order.
    amounts: Vec<i64>,
    /// For each sample, Σ w q² over its entries, in squared spacings.
    squares_of_rows: Vec<i128>,
    of_outputs: Vec<OfOutput>,
    /// The outputs with entries in the node, and in the moved side.
    present: Vec<u32>,
    touched: Vec<u32>,
    /// The number of samples of the node, and of their entries.
    n: u32,
    n_entries: usize,
    weight: U,
    /// Σ t², and Σ w q².
    squares: i128,
    own_squares: i128,
    /// An upper bound on the squared distance of the samples of the node from the mean, in spacings.
    reach: f64,
    most_in_a_row: usize,
}

/// The sums of a node.
#[derive(Debug, Default)]
pub(crate) struct Memory<U> {
    n: u32,
    n_entries: usize,
    weight: U,
    own_squares: i128,
    /// Outputs, with their numbers of entries and totals.
    totals: Vec<(u32, u32, i64)>,
}

/// Sums over the moved side.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sums<U> {
    weight: U,
    /// Σ m².
    squares: i128,
    /// Σ t m.
    products: i128,
}

impl<U> Sums<U> {
    /// Moves an amount of an output.
    #[inline]
    fn add(&mut self, amount: i64, of_output: &mut OfOutput) {
        let before = of_output.moved;
        of_output.moved += amount;
        // a (2 m + a) = a (m before + m after).
        self.squares += i128::from(amount) * i128::from(before + of_output.moved);
        self.products += i128::from(amount) * i128::from(of_output.total);
    }
}

impl<'a, U: Units> SparseVariance<'a, U> {
    pub(crate) fn new(
        y: &'a SparseNumbers<'a>,
        weights: &'a [U],
        exact_weights: bool,
        control: &Control,
        workers: &Workers,
    ) -> Result<Self> {
        let n_outputs = y.n_outputs();
        Ok(SparseVariance {
            y,
            weights,
            exact_weights,
            workers: workers.clone(),
            control: control.clone(),
            grid: None,
            amounts: control.filled(Purpose("the rounded targets"), 0, y.numbers().values().len())?,
            squares_of_rows: control.filled(Purpose("the rounded targets"), 0, weights.len())?,
            of_outputs: PURPOSE.filled(OfOutput::default(), n_outputs)?,
            present: PURPOSE.with_capacity(n_outputs)?,
            touched: PURPOSE.with_capacity(n_outputs)?,
            n: 0,
            n_entries: 0,
            weight: U::default(),
            squares: 0,
            own_squares: 0,
            reach: 0.0,
            most_in_a_row: y.numbers().most_in_a_row(),
        })
    }

    /// Chooses the grid for the samples of the tree, and rounds their numbers.
    fn round(&mut self, rows: &[u32]) -> Result<()> {
        let (mut largest, mut weight) = (0f64, 0f64);
        for piece in self.control.pieces(rows, self.most_in_a_row) {
            for &row in piece? {
                weight += self.weights[row as usize].to_f64();
                largest = self.y.searched(row).fold(largest, |largest, (_, y)| largest.max(y.abs()));
            }
        }
        let (largest, weight) = (self.workers.max_of(largest)?, self.workers.sum_of(weight)?);
        let of_outputs = (exponent_above(self.y.n_outputs() as f64) + 1) / 2;
        let grid = match largest {
            0.0 => FixedPoint::ONE,
            largest => FixedPoint::with_bits(largest, SUM_BITS - of_outputs - exponent_above(weight)),
        };
        for piece in self.control.pieces(rows, self.most_in_a_row) {
            for &row in piece? {
                let w = self.weights[row as usize].to_f64();
                let mut squares = 0;
                for (amount, (_, y)) in self.amounts[self.y.numbers().range(row)].iter_mut().zip(self.y.searched(row)) {
                    let scaled = grid.up(y);
                    if self.exact_weights {
                        let rounded = scaled.round_ties_even() as i64;
                        *amount = w as i64 * rounded;
                        squares += i128::from(*amount) * i128::from(rounded);
                    } else {
                        *amount = (w * scaled).round_ties_even() as i64;
                        squares += (w * (scaled * scaled)).round_ties_even() as i128;
                    }
                }
                self.squares_of_rows[row as usize] = squares;
            }
        }
        self.grid = Some(grid);
        Ok(())
    }

    /// Returns the outputs and amounts of a sample.
    #[inline]
    fn entries(&self, row: u32) -> impl Iterator<Item = (u32, i64)> + '_ {
        let numbers = self.y.numbers();
        numbers.of(row).0.iter().copied().zip(self.amounts[numbers.range(row)].iter().copied())
    }

    fn clear_node(&mut self) {
        self.reset();
        for output in self.present.drain(..) {
            self.of_outputs[output as usize] = OfOutput::default();
        }
    }

    /// Returns whether all samples have the same numbers, as the search of splits uses them.
    fn are_equal(&self, rows: &[u32]) -> Result<bool> {
        let numbers = |row: u32| self.y.searched(row).filter(|(_, y)| *y != 0.0);
        let of_own = rows.windows(2).all(|pair| numbers(pair[0]).eq(numbers(pair[1])));
        if self.workers.has_all_rows() {
            return Ok(of_own);
        }
        // The smallest and the largest number of each output, from one sample of each worker.
        let width = self.y.n_outputs();
        let mut range = PURPOSE.filled(f64::NEG_INFINITY, 2 * width)?;
        if let Some(&row) = rows.first() {
            range.fill(0.0);
            numbers(row).for_each(|(j, y)| (range[j as usize], range[width + j as usize]) = (-y, y));
        }
        self.workers.max(&mut range)?;
        let is_one = |j: usize| -range[j] == range[width + j];
        Ok(self.workers.max_of(u32::from(!of_own))? == 0 && (0..width).all(is_one))
    }

    /// Adds up the entries of all workers, after those of this worker have been added up.
    fn sum_over_workers(&mut self) -> Result<()> {
        if self.workers.has_all_rows() {
            return Ok(());
        }
        let mut totals = PURPOSE.collected(self.of_outputs.iter().map(|of| of.total))?;
        let mut counts = PURPOSE.collected(self.of_outputs.iter().map(|of| of.n))?;
        self.workers.sum(&mut totals)?;
        self.workers.sum(&mut counts)?;
        self.present.clear();
        for (output, (of, (total, n))) in (0u32..).zip(self.of_outputs.iter_mut().zip(totals.into_iter().zip(counts))) {
            (of.total, of.n) = (total, n);
            if n > 0 {
                self.present.push(output);
            }
        }
        self.n_entries = self.workers.sum_of(self.n_entries as u64)? as usize;
        self.own_squares = self.workers.sum_of(self.own_squares)?;
        Ok(())
    }

    /// Computes the statistics of a node from its sums. `rows` are the samples of this worker.
    fn summarize(&mut self, rows: &[u32]) -> Result<NodeStats> {
        self.squares = self.present.iter().map(|&j| i128::from(self.of_outputs[j as usize].total).pow(2)).sum();
        debug_assert!(self.squares >= 0 && self.own_squares >= 0, "squares of 127 bits");
        debug_assert_exact(self.weight.to_f64());
        let w = self.weight.to_f64();
        let mean_square = self.squares as f64 / (w * w);
        let longest =
            rows.iter().map(|&row| self.squares_of_rows[row as usize] as f64 / self.weights[row as usize].to_f64());
        let longest = self.workers.max_of(longest.fold(0.0, f64::max))?;
        // |e − r| is at most |e| + |r|. An entry that was rounded together with its weight is off by less than a spacing.
        self.reach = (longest.sqrt() + mean_square.sqrt() + self.most_in_a_row as f64 + 1.0).squared() * (1.0 + 1e-9);
        let pure = self.are_equal(rows)?;
        let (grid, d) = (self.grid.unwrap_or(FixedPoint::ONE), self.y.n_outputs() as f64);
        let variance = (self.own_squares as f64 / w - mean_square).max(0.0) / d;
        let impurity = if pure { 0.0 } else { grid.down(grid.down(variance)) };
        Ok(NodeStats { n: self.n, weight: w, impurity, pure })
    }
}

impl<U: Units> NodeCriterion for SparseVariance<'_, U> {
    type Memory = Memory<U>;
    type Moved = Sums<U>;
    type Sample = ();

    fn enter(&mut self, rows: &[u32]) -> Result<NodeStats> {
        if self.grid.is_none() {
            self.round(rows)?;
        }
        self.clear_node();
        let (mut weight, mut n_entries, mut own_squares) = (U::default(), 0, 0);
        for piece in self.control.pieces(rows, self.most_in_a_row) {
            for &row in piece? {
                weight += self.weights[row as usize];
                own_squares += self.squares_of_rows[row as usize];
                let numbers = self.y.numbers();
                let range = numbers.range(row);
                n_entries += range.len();
                for (&output, &amount) in numbers.of(row).0.iter().zip(&self.amounts[range]) {
                    let of = &mut self.of_outputs[output as usize];
                    if of.n == 0 {
                        self.present.push(output);
                    }
                    of.n += 1;
                    of.total += amount;
                }
            }
        }
        (self.n_entries, self.own_squares) = (n_entries, own_squares);
        self.sum_over_workers()?;
        (self.n, self.weight) = (self.workers.sum_of(rows.len() as u32)?, self.workers.sum_of(weight)?);
        self.summarize(rows)
    }

    fn remember(&self, memory: &mut Memory<U>) -> Result<bool> {
        if self.n_entries < WORTHWHILE * self.present.len() {
            return Ok(false);
        }
        let Memory { n, n_entries, weight, own_squares, totals } = memory;
        (*n, *n_entries, *weight, *own_squares) = (self.n, self.n_entries, self.weight, self.own_squares);
        totals.clear();
        let of_outputs = self.present.iter().map(|&j| (j, &self.of_outputs[j as usize]));
        Purpose("the waiting nodes of a tree").extend(totals, of_outputs.map(|(j, of)| (j, of.n, of.total)))?;
        Ok(true)
    }

    fn enter_rest(&mut self, whole: &Memory<U>, rows: &[u32]) -> Result<NodeStats> {
        self.reset();
        self.present.clear();
        for &(output, n, total) in &whole.totals {
            let of = &mut self.of_outputs[output as usize];
            (of.n, of.total) = (n - of.n, total - of.total);
            if of.n > 0 {
                self.present.push(output);
            }
        }
        (self.n, self.n_entries) = (whole.n - self.n, whole.n_entries - self.n_entries);
        self.weight = whole.weight - self.weight;
        self.own_squares = whole.own_squares - self.own_squares;
        self.summarize(rows)
    }

    #[inline]
    fn reset(&mut self) -> Sums<U> {
        for output in self.touched.drain(..) {
            let of = &mut self.of_outputs[output as usize];
            (of.moved, of.n_moved) = (0, 0);
        }
        Sums::default()
    }

    #[inline]
    fn move_sample(&mut self, sums: &mut Sums<U>, row: u32) {
        sums.weight += self.weights[row as usize];
        let numbers = self.y.numbers();
        let amounts = &self.amounts[numbers.range(row)];
        for (&output, &amount) in numbers.of(row).0.iter().zip(amounts) {
            sums.add(amount, touch(&mut self.of_outputs, &mut self.touched, output));
        }
    }

    fn cost(&self) -> usize {
        self.most_in_a_row
    }

    #[inline]
    fn moved_weight(&self, sums: &Sums<U>) -> f64 {
        sums.weight.to_f64()
    }

    #[inline]
    fn score(&self, sums: &Sums<U>) -> f64 {
        let moved = sums.weight.to_f64();
        let rest_squares = self.squares + sums.squares - 2 * sums.products;
        sums.squares as f64 / moved + rest_squares as f64 / (self.weight.to_f64() - moved)
    }

    #[inline]
    fn move_one(&mut self, row: u32) -> Sums<U> {
        let mut sums = Sums { weight: self.weights[row as usize], ..Sums::default() };
        for (output, amount) in self.entries(row) {
            sums.add(amount, &mut OfOutput { moved: 0, ..self.of_outputs[output as usize] });
        }
        sums
    }

    fn least_moved_weight(&self, score: f64) -> f64 {
        let w = self.weight.to_f64();
        least_weight(score, self.squares as f64 / w, w, self.reach)
    }

    type Sum = i128;

    fn moved_sums(&self, sums: &Sums<U>, mut visit: impl FnMut(u32, i128)) -> i128 {
        self.touched.iter().for_each(|&j| visit(j, self.of_outputs[j as usize].moved.into()));
        whole(sums.weight)
    }

    fn node_sums(&self, mut visit: impl FnMut(u32, i128)) -> i128 {
        self.present.iter().for_each(|&j| visit(j, self.of_outputs[j as usize].total.into()));
        whole(self.weight)
    }

    fn move_side(&mut self, moved: &mut Sums<U>, weight: i128, sums: &[(u32, i128)]) {
        moved.weight += U::of_whole(weight);
        for &(output, sum) in sums {
            moved.add(sum as i64, touch(&mut self.of_outputs, &mut self.touched, output));
        }
    }

    /// Fits with entries have at least 16 outputs, none of which determines the order alone.
    fn ordering_sum(&self) -> Option<u32> {
        (self.y.n_outputs() == 1).then_some(0)
    }

    fn score_without_gain(&self) -> f64 {
        self.squares as f64 / self.weight.to_f64()
    }

    fn decrease(&self, score: f64) -> f64 {
        let (w, grid) = (self.weight.to_f64(), self.grid.unwrap_or(FixedPoint::ONE));
        let variance = ((score - self.score_without_gain()) / w / self.y.n_outputs() as f64).max(0.0);
        grid.down(grid.down(variance))
    }
}

/// Returns the sums of an output to which an amount will be moved.
#[inline]
fn touch<'o>(of_outputs: &'o mut [OfOutput], touched: &mut Vec<u32>, output: u32) -> &'o mut OfOutput {
    let of = &mut of_outputs[output as usize];
    if of.n_moved == 0 {
        touched.push(output);
    }
    of.n_moved += 1;
    of
}

fn whole<U: Units>(weight: U) -> i128 {
    // Weights are below 2⁵².
    weight.to_f64() as i128
}
