//! The variance of numerical outputs with unknown cells, and the Gini index of labels of which few are known, at a cost
//! in proportion to the known cells.
//!
//! Let n be the weight of the known cells of an output in a node, s their sum, and n_m, s_m those of the moved side. The
//! squares around the mean decrease by (s_m n_r − s_r n_m)² / (n n_m n_r), where r is the rest; if a side has no cell, by
//! zero. This form has no difference of large squares, and equal means gain exactly zero. Each node centres the cells
//! of an output in the middle of their range, and rounds them to a grid of their own on which weighted sums are exact
//! integers below 2⁵². The gain of an output is rounded once to a grid of the node, which follows from the weights and
//! ranges of its outputs and on which the sum over outputs is an exact integer, too. Moving a sample therefore changes
//! only the gains of the outputs that it knows, and the score of a cut, the sum of gains, costs nothing. In nodes in which
//! many cells are known, it is faster to compute all gains, several at a time; the integers are the same.
//!
//! Outputs whose cells in the node are all equal gain nothing: their cells are left out when the node is entered.
//!
//! The impurity of a node is its sum of squares, divided by its weight and by the mean weight of known cells of a sample
//! at the root, in units of its weight. At the root, it is the mean variance of the known cells. Decreases of weight ×
//! impurity therefore add up over the tree.

#[cfg(test)]
mod tests;

use std::any::Any;
use std::ops::Range;

use super::{NodeCriterion, NodeStats, Units};
use crate::control::Control;
use crate::data::known::cells::CellUnits;
use crate::data::known::masked::MaskedNumbers;
use crate::elementary::Squared;
use crate::error::{Purpose, Result};
use crate::exact::{FixedPoint, Grid, PowerOfTwo, Total, debug_assert_exact, exponent_above};
use crate::vectorised::vectorised;

const PURPOSE: Purpose = Purpose("the known cells of a node");

/// The bits of the sum of the gains of all outputs, which are below its bound.
const BITS_OF_GAINS: i32 = 50;

/// The bits of squared values.
const BITS_OF_SQUARES: i32 = 30;

/// The place of outputs whose cells in the node are equal.
const NOWHERE: u32 = u32::MAX;

/// The range of an output in the node, and the weight of its cells.
#[derive(Clone, Copy, Debug)]
struct Known {
    low: f64,
    high: f64,
    units: u64,
    n_cells: usize,
    /// The place of the output among those that differ.
    place: u32,
}

impl Known {
    const NONE: Known = Known { low: f64::INFINITY, high: f64::NEG_INFINITY, units: 0, n_cells: 0, place: NOWHERE };
}

/// How the cells of an output are rounded.
#[derive(Clone, Copy, Debug)]
struct Rounding {
    middle: f64,
    fixed: FixedPoint,
    for_squares: FixedPoint,
    /// The sum of weighted squares.
    squares: i128,
}

/// Sums over the node and over the moved side, of the outputs that differ, by place.
#[derive(Debug, Default)]
struct Sums {
    columns: Vec<u32>,
    weights: Vec<f64>,
    sums: Vec<f64>,
    /// A unit of gain, divided by the weight.
    factors: Vec<f64>,
    moved_weights: Vec<f64>,
    moved_sums: Vec<f64>,
    /// The gains of the cut, but for those that are stale.
    gains: Vec<f64>,
    states: Vec<State>,
    /// The places that are not untouched, and those of them that are stale. In a table, all gains are computed.
    touched: Vec<u32>,
    stale: Vec<u32>,
}

/// What has happened to an output since the search of a feature began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    #[default]
    Untouched,
    /// Cells have been moved, and the gain is that of the cut.
    Settled,
    /// Cells have been moved since the gain was computed.
    Stale,
}

impl Sums {
    fn clear(&mut self) {
        let Sums { columns, weights, sums, factors, moved_weights, moved_sums, gains, states, .. } = self;
        [weights, sums, factors, moved_weights, moved_sums, gains].into_iter().for_each(Vec::clear);
        states.clear();
        columns.clear();
    }

    fn push(&mut self, column: u32, weight: f64) -> Result<()> {
        let Sums { columns, weights, sums, factors, moved_weights, moved_sums, gains, states, touched, stale } = self;
        PURPOSE.push(columns, column)?;
        PURPOSE.push(weights, weight)?;
        [sums, factors, moved_weights, moved_sums, gains].into_iter().try_for_each(|all| PURPOSE.push(all, 0.0))?;
        PURPOSE.push(states, State::Untouched)?;
        // Each has room for all, as moving a cell cannot fail.
        [touched, stale].into_iter().try_for_each(|places| PURPOSE.reserve(places, columns.len()))
    }

    /// Moves a cell without computing the gain of its output.
    #[inline(always)]
    fn move_cell(&mut self, Cell { place, weight, amount }: Cell) {
        let at = place as usize;
        self.moved_weights[at] += weight;
        self.moved_sums[at] += amount;
        let state = &mut self.states[at];
        if *state != State::Stale {
            if *state == State::Untouched {
                self.touched.push(place);
            }
            *state = State::Stale;
            self.stale.push(place);
        }
    }

    fn len(&self) -> usize {
        self.columns.len()
    }

    /// Returns the gain of the output at this place if cells of this weight and sum are moved.
    #[inline(always)]
    fn gain(&self, place: usize, weight: f64, sum: f64) -> f64 {
        gain([weight, sum], [self.weights[place], self.sums[place]], self.factors[place])
    }

    /// Adds outputs without cells, so that the number of outputs is a multiple of [`LANES`].
    fn pad(&mut self) -> Result<()> {
        let Sums { weights, sums, factors, moved_weights, moved_sums, .. } = self;
        let padded = weights.len().next_multiple_of(LANES);
        let mut all = [weights, sums, factors, moved_weights, moved_sums].into_iter();
        all.try_for_each(|all| PURPOSE.resize(all, padded, 0.0))
    }

    /// Returns the gain of the cut, of all outputs.
    fn gain_of_all(&self) -> f64 {
        if self.len() <= 2 * LANES {
            return self.sum_of_gains();
        }
        vectorised(
            #[inline(always)]
            || self.sum_of_gains(),
        )
    }

    #[inline(always)]
    fn sum_of_gains(&self) -> f64 {
        let moved = lanes_of(&self.moved_weights).iter().zip(lanes_of(&self.moved_sums));
        let of_node = lanes_of(&self.weights).iter().zip(lanes_of(&self.sums));
        let mut lanes = [0.0; LANES];
        for (((w, s), (of_w, of_s)), factor) in moved.zip(of_node).zip(lanes_of(&self.factors)) {
            for i in 0..LANES {
                lanes[i] += gain([w[i], s[i]], [of_w[i], of_s[i]], factor[i]);
            }
        }
        // Sums of whole numbers are exact in any order.
        lanes.iter().sum()
    }
}

/// The number of outputs whose gains are computed together.
const LANES: usize = 4;

#[inline(always)]
fn lanes_of(all: &[f64]) -> &[[f64; LANES]] {
    all.as_chunks::<LANES>().0
}

/// Returns the gain if a part of a node of this weight and sum is moved. Both sides of the difference are products that
/// are rounded once, so that it is zero if the means are equal; and it is zero if one of the sides has no cell.
#[inline(always)]
fn gain([weight, sum]: [f64; 2], [of_node, sum_of_node]: [f64; 2], factor: f64) -> f64 {
    let rest = of_node - weight;
    let apart = sum * rest - (sum_of_node - sum) * weight;
    Grid::WHOLE.round(apart.squared() / (weight * rest).max(1.0) * factor)
}

/// The cells of outputs that differ in the node, sample after sample. If most are known, all outputs are stored for each
/// sample, with zeros for unknown cells, so that several can be moved at a time.
#[derive(Debug, Default)]
struct NodeCells {
    is_table: bool,
    /// The known cells; empty in a table.
    listed: Vec<Cell>,
    /// The weights of a table, and weights × rounded values.
    weights: Vec<f64>,
    amounts: Vec<f64>,
}

/// A known cell: the place of its output, its weight, and weight × rounded value. They are read together.
#[derive(Clone, Copy, Debug)]
struct Cell {
    place: u32,
    weight: f64,
    amount: f64,
}

impl NodeCells {
    fn len(&self) -> usize {
        if self.is_table { self.weights.len() } else { self.listed.len() }
    }
}

/// The cells of a node are stored as a table if at least one in this number is known. It is set by hand.
const TABLE: usize = 3;

/// Returns the bytes that a tree takes for so many samples with these cells while it grows.
pub(crate) fn bytes(n_samples: u128, n_cells: u128, n_known: u128) -> u128 {
    let (of_sample, of_number) = (size_of::<Range<usize>>() as u128, size_of::<f64>() as u128);
    let of_cells = match TABLE as u128 * n_known >= n_cells {
        true => 2 * of_number * n_cells,
        false => size_of::<Cell>() as u128 * n_known,
    };
    of_sample * n_samples + of_cells
}

/// The moved side.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MovedSide {
    weight: f64,
    gain: f64,
}

#[derive(Debug)]
pub(crate) struct CellsVariance<'a, U> {
    y: &'a MaskedNumbers,
    weights: &'a [U],
    units: CellUnits,
    /// Whether the weights of cells are integer multiples of a sample: a sample of weight 2 is equivalent to two samples.
    exact_weights: bool,
    control: Control,
    of_outputs: Vec<Known>,
    /// The outputs with cells in the node.
    seen: Vec<u32>,
    roundings: Vec<Rounding>,
    /// The exponent of the coarsest grid of an output.
    coarsest: i32,
    sums: Sums,
    cells: NodeCells,
    /// The cells of each sample of the node.
    of_rows: Vec<Range<usize>>,
    weight: f64,
    n_samples: usize,
    /// The value of a unit of gain.
    unit: PowerOfTwo,
    /// The impurity of a unit of variance.
    scale: f64,
    /// The mean weight of the known cells of a sample, in units of its weight; `None` until the root is entered.
    cells_of_a_sample: Option<f64>,
}

impl<'a, U: Units> CellsVariance<'a, U> {
    pub(crate) fn new(y: &'a MaskedNumbers, weights: &'a [U], exact_weights: bool, control: &Control) -> Result<Self> {
        let units = y.cells().units(|row| weights[row as usize].to_f64() as u64)?;
        Ok(CellsVariance {
            y,
            weights,
            exact_weights: exact_weights && units.exact,
            units,
            control: control.clone(),
            of_outputs: PURPOSE.filled(Known::NONE, y.n_outputs())?,
            seen: PURPOSE.with_capacity(y.n_outputs())?,
            roundings: Vec::new(),
            coarsest: i32::MAX,
            sums: Sums::default(),
            cells: NodeCells::default(),
            of_rows: PURPOSE.filled(0..0, weights.len())?,
            weight: 0.0,
            n_samples: 0,
            unit: PowerOfTwo::ONE,
            scale: 1.0,
            cells_of_a_sample: None,
        })
    }

    /// Returns the Gini index of labels, which is twice their variance.
    pub(crate) fn gini_of_labels(self) -> Self {
        CellsVariance { scale: 2.0, ..self }
    }

    /// Returns the known cells of a sample: outputs, values and weights.
    #[inline]
    fn known(&self, row: u32) -> impl Iterator<Item = (u32, f64, u64)> + '_ {
        let of_row = self.weights[row as usize].to_f64() as u64;
        let range = self.y.cells().range(row);
        range.zip(self.y.searched(row)).map(move |(at, (output, value))| (output, value, self.units.of(at, of_row)))
    }

    /// Finds the ranges and the weights of outputs.
    fn find_ranges(&mut self, rows: &[u32]) -> Result<()> {
        self.seen.drain(..).for_each(|output| self.of_outputs[output as usize] = Known::NONE);
        let (mut of_outputs, mut seen) = (std::mem::take(&mut self.of_outputs), std::mem::take(&mut self.seen));
        let control = self.control.clone();
        let mut weight = 0.0;
        for piece in control.pieces(rows, 1 + self.cost()) {
            for &row in piece? {
                weight += self.weights[row as usize].to_f64();
                for (output, value, units) in self.known(row).filter(|cell| cell.2 > 0) {
                    let of = &mut of_outputs[output as usize];
                    if of.units == 0 {
                        seen.push(output);
                    }
                    of.low = of.low.min(value);
                    of.high = of.high.max(value);
                    of.units += units;
                    of.n_cells += 1;
                }
            }
        }
        debug_assert_exact(weight);
        (self.of_outputs, self.seen, self.weight, self.n_samples) = (of_outputs, seen, weight, rows.len());
        if self.cells_of_a_sample.is_none() {
            let units = self.seen.iter().map(|&output| u128::from(self.of_outputs[output as usize].units));
            self.cells_of_a_sample = Some(units.sum::<u128>() as f64 / weight);
        }
        Ok(())
    }

    /// Gives a place and a grid to each output that differs, and returns the exponent of a unit of gain in the values
    /// of y: there are 2^exponent units in a square of one.
    fn find_grids(&mut self) -> Result<i32> {
        self.roundings.clear();
        self.sums.clear();
        self.coarsest = i32::MAX;
        let (mut largest, mut n_cells) = (i32::MIN, 0);
        for &column in &self.seen {
            let of = &mut self.of_outputs[column as usize];
            if of.low < of.high {
                let (weight, middle) = (of.units as f64, of.low / 2.0 + of.high / 2.0);
                let (reach, above) = ((of.high - middle).max(middle - of.low), exponent_above(weight));
                largest = largest.max(above + 2 * exponent_above(reach));
                n_cells += of.n_cells;
                of.place = self.sums.len() as u32;
                // Rounding adds at most half a spacing for each unit of weight, for which one bit is left.
                let fixed = FixedPoint::with_bits(reach, Total::BITS as i32 - 1 - above);
                self.coarsest = self.coarsest.min(fixed.exponent());
                let for_squares = FixedPoint::with_bits(reach, BITS_OF_SQUARES);
                PURPOSE.push(&mut self.roundings, Rounding { middle, fixed, for_squares, squares: 0 })?;
                self.sums.push(column, weight)?;
            }
        }
        self.cells.is_table = TABLE * n_cells >= self.n_samples * self.sums.len();
        if self.cells.is_table {
            self.sums.pad()?;
        }
        Ok((BITS_OF_GAINS - largest.max(-1900) - exponent_above(self.sums.len() as f64)).min(2000))
    }

    /// Rounds and sums the cells of outputs that differ.
    fn round(&mut self, rows: &[u32]) -> Result<()> {
        let (mut cells, mut of_rows) = (std::mem::take(&mut self.cells), std::mem::take(&mut self.of_rows));
        let (mut sums, mut roundings) = (std::mem::take(&mut self.sums), std::mem::take(&mut self.roundings));
        cells.listed.clear();
        cells.weights.clear();
        cells.amounts.clear();
        for piece in self.control.pieces(rows, 1 + self.cost()) {
            for &row in piece? {
                let start = cells.len();
                if cells.is_table {
                    PURPOSE.resize(&mut cells.weights, start + sums.weights.len(), 0.0)?;
                    PURPOSE.resize(&mut cells.amounts, start + sums.weights.len(), 0.0)?;
                }
                for (output, value, units) in self.known(row) {
                    let place = self.of_outputs[output as usize].place;
                    if place == NOWHERE || units == 0 {
                        continue;
                    }
                    let (rounding, weight) = (&mut roundings[place as usize], units as f64);
                    let from_middle = value - rounding.middle;
                    let scaled = rounding.fixed.up(from_middle);
                    let amount = match self.exact_weights {
                        true => weight * Grid::WHOLE.round(scaled),
                        false => Grid::WHOLE.round(weight * scaled),
                    };
                    let square = rounding.for_squares.up(from_middle).squared() as i64;
                    rounding.squares += i128::from(units) * i128::from(square);
                    sums.sums[place as usize] += amount;
                    if cells.is_table {
                        let at = start + place as usize;
                        (cells.weights[at], cells.amounts[at]) = (weight, amount);
                    } else {
                        PURPOSE.push(&mut cells.listed, Cell { place, weight, amount })?;
                    }
                }
                of_rows[row as usize] = start..cells.len();
            }
        }
        (self.cells, self.of_rows, self.sums, self.roundings) = (cells, of_rows, sums, roundings);
        Ok(())
    }

    /// Finds the factors of gains, and returns the sum of squares around the means of outputs, in units of gain.
    fn find_factors(&mut self, exponent: i32) -> f64 {
        let mut squares = 0.0;
        let Sums { weights, sums, factors, .. } = &mut self.sums;
        for (((factor, rounding), &sum), &weight) in factors.iter_mut().zip(&self.roundings).zip(&*sums).zip(&*weights)
        {
            debug_assert_exact(sum);
            let unit = |fixed: FixedPoint| PowerOfTwo::new((exponent - 2 * fixed.exponent()).max(-2000)).value();
            *factor = unit(rounding.fixed) / weight;
            let around_mean = rounding.squares as f64 * unit(rounding.for_squares) - sum.squared() * *factor;
            squares += Grid::WHOLE.round(around_mean.max(0.0));
        }
        squares
    }

    /// Returns the weight of cells over which a sum of squares of the node is averaged.
    fn n_cells(&self) -> f64 {
        self.weight * self.cells_of_a_sample.unwrap_or(1.0)
    }

    #[inline(always)]
    fn move_cells(&mut self, row: u32) {
        let range = self.of_rows[row as usize].clone();
        if self.cells.is_table {
            let Sums { moved_weights, moved_sums, .. } = &mut self.sums;
            let add = |sums: &mut Vec<f64>, cells: &[f64]| {
                let lanes = sums.as_chunks_mut::<LANES>().0.iter_mut().zip(lanes_of(cells));
                lanes.for_each(|(to, of_row)| to.iter_mut().zip(of_row).for_each(|(to, cell)| *to += cell));
            };
            add(moved_weights, &self.cells.weights[range.clone()]);
            add(moved_sums, &self.cells.amounts[range]);
        } else {
            for cell in &self.cells.listed[range] {
                self.sums.move_cell(*cell);
            }
        }
    }

    /// Visits sums and weights of outputs: first all sums, then all weights.
    fn visit(&self, weights: &[f64], sums: &[f64], visit: &mut impl FnMut(u32, f64)) {
        let n_outputs = self.of_outputs.len() as u32;
        // In increasing order: places depend on the order of samples.
        let there = || (0u32..).zip(&self.of_outputs).filter(|(_, output)| output.place != NOWHERE);
        there().for_each(|(column, output)| visit(column, sums[output.place as usize]));
        there().for_each(|(column, output)| visit(n_outputs + column, weights[output.place as usize]));
    }

    /// Computes the gains that have changed.
    #[inline(always)]
    fn settle(&mut self, moved: &mut MovedSide) {
        if self.cells.is_table {
            moved.gain = self.sums.gain_of_all();
            return;
        }
        let sums = &mut self.sums;
        while let Some(place) = sums.stale.pop() {
            let at = place as usize;
            let gain = sums.gain(at, sums.moved_weights[at], sums.moved_sums[at]);
            sums.states[at] = State::Settled;
            moved.gain += gain - std::mem::replace(&mut sums.gains[at], gain);
        }
    }
}

impl<U: Units> NodeCriterion for CellsVariance<'_, U> {
    type Memory = ();
    type Moved = MovedSide;
    type Sample = ();

    fn enter(&mut self, rows: &[u32]) -> Result<NodeStats> {
        self.reset();
        self.find_ranges(rows)?;
        let (n, weight) = (rows.len() as u32, self.weight);
        let exponent = self.find_grids()?;
        if self.sums.len() == 0 {
            return Ok(NodeStats { n, weight, impurity: 0.0, pure: true });
        }
        self.round(rows)?;
        let squares = self.find_factors(exponent);
        self.unit = PowerOfTwo::new(-exponent);
        Ok(NodeStats { n, weight, impurity: self.unit.times(self.scale * squares / self.n_cells()), pure: false })
    }

    fn hand_over(&self, _rows: &[u32]) -> Result<Option<Box<dyn Any + Send>>> {
        Ok(self.cells_of_a_sample.map(|cells| Box::new(cells) as Box<dyn Any + Send>))
    }

    fn take_over(&mut self, _rows: &[u32], made: Box<dyn Any + Send>) -> Result<()> {
        self.cells_of_a_sample = made.downcast().ok().map(|cells| *cells);
        Ok(())
    }

    #[inline]
    fn reset(&mut self) -> MovedSide {
        let Sums { moved_weights, moved_sums, gains, states, touched, stale, .. } = &mut self.sums;
        stale.clear();
        for at in touched.drain(..).map(|place| place as usize) {
            (moved_weights[at], moved_sums[at], gains[at], states[at]) = (0.0, 0.0, 0.0, State::Untouched);
        }
        if self.cells.is_table {
            moved_weights.fill(0.0);
            moved_sums.fill(0.0);
        }
        MovedSide::default()
    }

    #[inline]
    fn move_sample(&mut self, moved: &mut MovedSide, row: u32) {
        moved.weight += self.weights[row as usize].to_f64();
        self.move_cells(row);
        self.settle(moved);
    }

    const LONG_RUN: usize = 2;

    #[inline]
    fn move_run<R: Copy>(&mut self, moved: &mut MovedSide, run: &[R], row_of: impl Fn(R) -> u32) {
        for &sample in run {
            let row = row_of(sample);
            moved.weight += self.weights[row as usize].to_f64();
            self.move_cells(row);
        }
        self.settle(moved);
    }

    fn cost(&self) -> usize {
        self.cells.len() / self.n_samples.max(1)
    }

    #[inline]
    fn moved_weight(&self, moved: &MovedSide) -> f64 {
        moved.weight
    }

    #[inline]
    fn score(&self, moved: &MovedSide) -> f64 {
        moved.gain
    }

    #[inline]
    fn move_one(&mut self, row: u32) -> MovedSide {
        let (sums, cells, range) = (&self.sums, &self.cells, self.of_rows[row as usize].clone());
        let of = |cell: &Cell| sums.gain(cell.place as usize, cell.weight, cell.amount);
        let start = range.start;
        let gain = match cells.is_table {
            true => range.map(|at| sums.gain(at - start, cells.weights[at], cells.amounts[at])).sum(),
            false => cells.listed[range].iter().map(of).sum(),
        };
        MovedSide { weight: self.weights[row as usize].to_f64(), gain }
    }

    type Sum = f64;

    /// The sums are those of outputs, followed by the weights of their known cells.
    fn moved_sums(&self, moved: &MovedSide, mut visit: impl FnMut(u32, f64)) -> f64 {
        self.visit(&self.sums.moved_weights, &self.sums.moved_sums, &mut visit);
        moved.weight
    }

    fn node_sums(&self, mut visit: impl FnMut(u32, f64)) -> f64 {
        self.visit(&self.sums.weights, &self.sums.sums, &mut visit);
        self.weight
    }

    fn move_side(&mut self, moved: &mut MovedSide, weight: f64, sums: &[(u32, f64)]) {
        let n_outputs = self.of_outputs.len() as u32;
        moved.weight += weight;
        for &(number, sum) in sums {
            let place = self.of_outputs[(number % n_outputs) as usize].place;
            if place != NOWHERE {
                let (weight, amount) = if number < n_outputs { (0.0, sum) } else { (sum, 0.0) };
                self.sums.move_cell(Cell { place, weight, amount });
            }
        }
        self.settle(moved);
    }

    /// Outputs whose cells are known in different samples have no common mean.
    fn ordering_sum(&self) -> Option<u32> {
        None
    }

    /// Each output is rounded to a grid of its own. Unknown cells are in the middle of the range.
    fn ordering_unit(&self, number: u32) -> Option<f64> {
        let place = self.of_outputs.get(number as usize)?.place;
        let exponent = self.roundings.get(place as usize)?.fixed.exponent();
        Some(PowerOfTwo::new((self.coarsest - exponent).max(-2000)).value())
    }

    fn score_without_gain(&self) -> f64 {
        0.0
    }

    fn decrease(&self, score: f64) -> f64 {
        self.unit.times(self.scale * score / self.n_cells())
    }
}
