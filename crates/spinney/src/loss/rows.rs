//! Losses of whole rows of scores, in float32 or float64: what a sweep over the data calls for every row.
//!
//! Any loss of one score serves through [`Cells`], one cell at a time. Losses with loops of their own have them beside
//! themselves: `square_rows`, `log_loss_rows`, `softmax_rows`. The loops are plain Rust, compiled once more for the wider
//! registers that the machine may have; lanes are fixed and nothing is fused, so the bits are those of any machine.

use std::fmt::Debug;

use super::Bounds;
use super::column::ColumnLoss;
use super::float::Float;
use crate::data::train_y::TrainY;
use crate::error::{Error, Result, try_collected, try_filled, try_with_capacity};

/// y of one row.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RowTargets<'a> {
    /// As the loss sees them.
    Numbers(&'a [f64]),
    /// Columns that are on, rising; all others are off.
    On(&'a [u32]),
}

impl<'a> RowTargets<'a> {
    pub(crate) fn new(y: &'a TrainY<'_>, row: u32) -> Self {
        match y {
            TrainY::Slots(y) => RowTargets::On(y.of(row)),
            TrainY::Real(y) => RowTargets::Numbers(y.of(row)),
            TrainY::SparseReal(_) => unreachable!("losses read numbers row after row"),
            TrainY::MaskedSlots(y) => RowTargets::On(y.of(row)),
            TrainY::MaskedReal(y) => RowTargets::Numbers(y.of(row)),
        }
    }

    /// y of one column; `off` is that of a column that is off.
    pub(crate) fn of_column(self, j: usize, off: f64) -> f64 {
        match self {
            RowTargets::Numbers(y) => y[j],
            RowTargets::On(on) if on.binary_search(&(j as u32)).is_ok() => 1.0,
            RowTargets::On(_) => off,
        }
    }

    /// The columns of labels and classes that are on, rising; none of numbers.
    pub(crate) fn on(&self) -> &'a [u32] {
        match self {
            RowTargets::On(on) => on,
            RowTargets::Numbers(_) => &[],
        }
    }

    /// Visits the columns that are on.
    pub(crate) fn each_on(self, mut visit: impl FnMut(usize)) {
        match self {
            RowTargets::On(on) => on.iter().for_each(|&j| visit(j as usize)),
            RowTargets::Numbers(y) => y.iter().enumerate().filter(|(_, y)| **y > 0.0).for_each(|(j, _)| visit(j)),
        }
    }
}

/// A loss of one row, the sum over its outputs.
pub(crate) trait RowLoss<T: Float>: Debug + Send + Sync {
    /// Writes the negative gradient of every output and returns the loss of the row.
    fn negative_gradients(&self, y: RowTargets<'_>, scores: &[T], out: &mut [T]) -> f64;

    /// The loss of the row alone.
    fn loss(&self, y: RowTargets<'_>, scores: &[T]) -> f64;

    /// The same where output j counts `shares[j]` times; `None` where cells have to be computed one by one.
    fn weighed_loss(&self, _: RowTargets<'_>, _: &[T], _: &[f64]) -> Option<f64> {
        None
    }

    /// Of every score, where they are known beforehand.
    fn bounds(&self) -> Option<Bounds>;

    /// What computes many rows at a time, for losses that want them so.
    fn in_blocks(&self) -> Option<Cells<'_>> {
        None
    }
}

/// Some rows of a leaf.
pub(crate) struct LeafRows<'a, 'd, T> {
    pub(crate) ids: &'a [u32],
    pub(crate) y: &'a dyn Fn(u32) -> RowTargets<'d>,
    pub(crate) scores: &'a dyn Fn(u32) -> &'d [T],
    /// Weight of a row.
    pub(crate) units: &'a dyn Fn(u32) -> u64,
    /// Of all rows of all leaves: sums are exact, and the same whatever rows they are made of.
    pub(crate) total_units: f64,
}

/// Sums over the rows of leaves, of a loss whose Newton steps are made of them.
pub(crate) trait RowSums<T: Float>: Sync {
    /// Adds up Σ w r and Σ w h of every output, which are zero before; each term is rounded to a grid.
    fn add(&self, rows: &LeafRows<'_, '_, T>, gradients: &mut [f64], curvatures: &mut [f64]) -> Result<()>;
}

/// Any loss, cell by cell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cells<'l> {
    pub(crate) loss: &'l dyn ColumnLoss,
    /// How much each output counts in the loss of a row; `None` where all count the same.
    pub(crate) shares: Option<&'l [f64]>,
}

impl Cells<'_> {
    #[inline]
    fn weighed(&self, j: usize, value: f64) -> f64 {
        self.shares.map_or(value, |shares| shares[j] * value)
    }

    /// Calls `visit(output, y)` for every output.
    fn each(&self, y: RowTargets<'_>, width: usize, mut visit: impl FnMut(usize, f64)) {
        match y {
            RowTargets::Numbers(y) => (0..width).for_each(|j| visit(j, y[j])),
            RowTargets::On(mut on) => {
                let off = self.loss.domain().off();
                for j in 0..width {
                    if let Some((_, rest)) = on.split_first().filter(|(first, _)| **first as usize == j) {
                        on = rest;
                        visit(j, 1.0);
                    } else {
                        visit(j, off);
                    }
                }
            }
        }
    }
}

impl<T: Float> RowLoss<T> for Cells<'_> {
    fn negative_gradients(&self, y: RowTargets<'_>, scores: &[T], out: &mut [T]) -> f64 {
        let mut sum = 0.0;
        self.each(y, scores.len(), |j, y| {
            let score = scores[j].to_f64();
            out[j] = T::from_f64(self.loss.negative_gradient(y, score));
            sum += self.weighed(j, self.loss.value(y, score));
        });
        sum
    }

    fn loss(&self, y: RowTargets<'_>, scores: &[T]) -> f64 {
        let mut sum = 0.0;
        self.each(y, scores.len(), |j, y| sum += self.weighed(j, self.loss.value(y, scores[j].to_f64())));
        sum
    }

    fn bounds(&self) -> Option<Bounds> {
        self.loss.bounds()
    }

    fn in_blocks(&self) -> Option<Cells<'_>> {
        self.loss.takes_blocks().then_some(*self)
    }
}

/// The kernel of a loss where outputs do not count the same: gradients are those of each output, the loss is weighed.
#[derive(Debug)]
pub(crate) struct Weighed<'l, T: Float> {
    pub(crate) kernel: Box<dyn RowLoss<T>>,
    /// With these shares.
    pub(crate) cells: Cells<'l>,
    pub(crate) shares: &'l [f64],
}

impl<T: Float> RowLoss<T> for Weighed<'_, T> {
    fn negative_gradients(&self, y: RowTargets<'_>, scores: &[T], out: &mut [T]) -> f64 {
        self.kernel.negative_gradients(y, scores, out);
        self.loss(y, scores)
    }

    fn loss(&self, y: RowTargets<'_>, scores: &[T]) -> f64 {
        self.kernel.weighed_loss(y, scores, self.shares).unwrap_or_else(|| self.cells.loss(y, scores))
    }

    fn bounds(&self) -> Option<Bounds> {
        self.kernel.bounds()
    }
}

impl Cells<'_> {
    /// The losses of some rows, and their negative gradients where `out` has room for them. `y` tells those of row i.
    pub(crate) fn block<'y, T: Float>(
        &self,
        y: impl Fn(usize) -> RowTargets<'y>,
        scores: &[T],
        width: usize,
        losses: &mut [f64],
        out: Option<&mut [T]>,
    ) -> Result<()> {
        let n = scores.len();
        let mut cells = try_with_capacity(BLOCK, n)?;
        (0..n / width).for_each(|i| self.each(y(i), width, |_, y| cells.push(y)));
        let scores = try_collected(BLOCK, scores.iter().map(|score| score.to_f64()))?;
        let mut values = try_filled(BLOCK, 0.0, n)?;
        self.loss.values(&cells, &scores, &mut values);
        check_finite(&values)?;
        for (loss, values) in losses.iter_mut().zip(values.chunks_exact(width)) {
            *loss = values.iter().enumerate().map(|(j, &value)| self.weighed(j, value)).sum();
        }
        if let Some(out) = out {
            let mut curvatures = try_filled(BLOCK, 0.0, n)?;
            self.loss.derivatives(&cells, &scores, &mut values, &mut curvatures);
            check_finite(&values)?;
            check_finite(&curvatures)?;
            out.iter_mut().zip(values).for_each(|(out, gradient)| *out = T::from_f64(gradient));
        }
        Ok(())
    }
}

/// At scores that rows have a loss of the caller's must be told; searches may look too far.
fn check_finite(found: &[f64]) -> Result<()> {
    let is_finite = found.iter().all(|value| value.is_finite());
    let error = || Error::invalid("loss", "NaN or infinity", "have finite values and derivatives for every sample");
    if is_finite { Ok(()) } else { Err(error()) }
}

/// What a block has a number of for each cell.
const BLOCK: &str = "a block of scores";
