//! Losses of whole rows of scores, in float32 or float64, which a pass over the data calls for every sample.
//!
//! Any loss of one score can be used through [`Cells`], one cell at a time. Losses with loops of their own have them in
//! separate files: `square_rows`, `log_loss_rows`, `softmax_rows`. The loops are plain Rust, compiled a second time for
//! the wider registers that the machine may have. Lanes are fixed and there are no fused operations, so that the bits
//! are the same on any machine.

pub(crate) mod log_loss_rows;
pub(crate) mod softmax_rows;
pub(crate) mod square_rows;

use std::fmt::Debug;
use std::ops::Range;
use std::slice;

use crate::data::train_y::TrainY;
use crate::error::{Error, Purpose, Result};
use crate::exact::Total;
use crate::loss::Bounds;
use crate::loss::column::ColumnLoss;
use crate::loss::kernels::float::Float;
use crate::loss::kernels::vector::{add, vectorised};
use crate::loss::outputs::ColumnLosses;

/// y of one sample.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RowTargets<'a> {
    /// Numerical outputs.
    Numbers(&'a [f64]),
    /// The columns of present labels and classes, in increasing order; all others are absent.
    On(&'a [u32]),
}

impl<'a> RowTargets<'a> {
    #[inline(always)]
    pub(crate) fn new(y: &'a TrainY<'_>, row: u32) -> Self {
        match y {
            TrainY::Slots(y) => RowTargets::On(y.of(row)),
            TrainY::Real(y) => RowTargets::Numbers(y.of(row)),
            TrainY::SparseReal(_) => unreachable!("losses read numbers row after row"),
            TrainY::MaskedSlots(y) => RowTargets::On(y.of(row)),
            TrainY::MaskedReal(_) => unreachable!("losses have the known cells apart from y"),
        }
    }

    /// Returns y of one column; `off` is the value of an absent label or class.
    pub(crate) fn of_column(self, j: usize, off: f64) -> f64 {
        match self {
            RowTargets::Numbers(y) => y[j],
            RowTargets::On(on) if on.binary_search(&(j as u32)).is_ok() => 1.0,
            RowTargets::On(_) => off,
        }
    }

    /// Returns the columns of present labels and classes, in increasing order. It is empty for numerical outputs.
    pub(crate) fn on(&self) -> &'a [u32] {
        match self {
            RowTargets::On(on) => on,
            RowTargets::Numbers(_) => &[],
        }
    }

    /// Visits the columns of present labels and classes.
    pub(crate) fn each_on(self, mut visit: impl FnMut(usize)) {
        match self {
            RowTargets::On(on) => on.iter().for_each(|&j| visit(j as usize)),
            RowTargets::Numbers(y) => y.iter().enumerate().filter(|(_, y)| **y > 0.0).for_each(|(j, _)| visit(j)),
        }
    }
}

/// y of consecutive samples with one score each.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ColumnTargets<'a> {
    Numbers(&'a [f64]),
    /// Whether the label or class is present.
    On(&'a [bool]),
}

impl<'a> ColumnTargets<'a> {
    /// Returns y of the i-th of these samples.
    #[inline]
    pub(crate) fn of(self, i: usize) -> RowTargets<'a> {
        match self {
            ColumnTargets::Numbers(y) => RowTargets::Numbers(slice::from_ref(&y[i])),
            ColumnTargets::On(on) => RowTargets::On(if on[i] { &[0] } else { &[] }),
        }
    }

    /// Returns y of the i-th of these samples as a number; `off` is the value of an absent label or class.
    #[inline]
    pub(crate) fn number(self, i: usize, off: f64) -> f64 {
        match self {
            ColumnTargets::Numbers(y) => y[i],
            ColumnTargets::On(on) => {
                if on[i] {
                    1.0
                } else {
                    off
                }
            }
        }
    }

    /// Returns y of some of these samples.
    pub(crate) fn part(self, range: Range<usize>) -> Self {
        match self {
            ColumnTargets::Numbers(y) => ColumnTargets::Numbers(&y[range]),
            ColumnTargets::On(on) => ColumnTargets::On(&on[range]),
        }
    }
}

/// The loss of one sample, which is a sum over its outputs.
pub(crate) trait RowLoss<T: Float>: Debug + Send + Sync {
    /// Writes the negative gradient of every output, or [`ColumnLoss::response`] of a single one, and returns the loss of the
    /// sample.
    fn responses(&self, y: RowTargets<'_>, scores: &[T], out: &mut [T]) -> f64;

    /// Adds `step` to the scores, and then does what [`RowLoss::responses`] does.
    fn responses_after(&self, y: RowTargets<'_>, scores: &mut [T], step: &[T], out: &mut [T]) -> f64 {
        vectorised(
            #[inline(always)]
            || add(scores, step),
        );
        self.responses(y, scores, out)
    }

    /// Writes the responses and the losses of samples with one score each, which are those of [`RowLoss::responses`].
    fn column(&self, y: ColumnTargets<'_>, scores: &[T], out: &mut [T], losses: &mut [f64]) {
        for (i, ((score, r), loss)) in scores.iter().zip(out).zip(losses).enumerate() {
            *loss = self.responses(y.of(i), slice::from_ref(score), slice::from_mut(r));
        }
    }

    /// Returns only the loss of the sample.
    fn loss(&self, y: RowTargets<'_>, scores: &[T]) -> f64;

    /// Returns the loss of the sample, with output j multiplied by `shares[j]`, or `None` if cells have to be computed
    /// one by one.
    fn weighed_loss(&self, _: RowTargets<'_>, _: &[T], _: &[f64]) -> Option<f64> {
        None
    }

    /// Returns bounds for every score, if they are known in advance.
    fn bounds(&self) -> Option<Bounds>;

    /// Returns the object that computes many samples at a time, for losses that need this.
    fn in_blocks(&self) -> Option<Cells<'_>> {
        None
    }
}

/// Some samples of a leaf.
#[derive(Clone, Copy)]
pub(crate) struct LeafRows<'a, T> {
    pub(crate) ids: &'a [u32],
    /// y of all samples.
    pub(crate) y: &'a TrainY<'a>,
    /// The scores of all samples, row after row.
    pub(crate) scores: &'a [T],
    /// The number of scores of a sample.
    pub(crate) width: usize,
    /// The weights of all samples; `None` if every sample weighs one unit.
    pub(crate) units: Option<&'a [u64]>,
    /// The total weight of all samples of all leaves. Sums are exact, and the same for any division into pieces.
    pub(crate) total: Total,
}

impl<'a, T> LeafRows<'a, T> {
    #[inline(always)]
    pub(crate) fn y(&self, row: u32) -> RowTargets<'a> {
        RowTargets::new(self.y, row)
    }

    #[inline(always)]
    pub(crate) fn scores(&self, row: u32) -> &'a [T] {
        &self.scores[row as usize * self.width..][..self.width]
    }

    #[inline(always)]
    pub(crate) fn units(&self, row: u32) -> u64 {
        self.units.map_or(1, |units| units[row as usize])
    }

    /// Returns whether every sample weighs one unit.
    pub(crate) fn are_units(&self) -> bool {
        self.units.is_none() || self.ids.iter().all(|&row| self.units(row) == 1)
    }
}

/// Sums over the samples of leaves, for losses whose Newton steps are computed from them.
pub(crate) trait RowSums<T: Float>: Sync {
    /// Adds Σ w r and Σ w h of every output to sums that must be zero before. Each term is rounded to a grid.
    fn add(&self, rows: &LeafRows<'_, T>, gradients: &mut [f64], curvatures: &mut [f64]) -> Result<()>;
}

/// Any loss, computed cell by cell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cells<'l> {
    pub(crate) losses: ColumnLosses<'l>,
    /// The factor of each output in the loss of a sample; `None` if all outputs count the same.
    pub(crate) shares: Option<&'l [f64]>,
}

impl Cells<'_> {
    #[inline]
    fn weighed(&self, j: usize, value: f64) -> f64 {
        self.shares.map_or(value, |shares| shares[j] * value)
    }

    /// Calls `visit(output, loss, y)` for every output.
    fn each(&self, y: RowTargets<'_>, width: usize, mut visit: impl FnMut(usize, &dyn ColumnLoss, f64)) {
        let mut visit = |j: usize, y: f64| visit(j, self.losses.of(j), y);
        match y {
            RowTargets::Numbers(y) => (0..width).for_each(|j| visit(j, y[j])),
            RowTargets::On(mut on) => {
                let off = self.losses.first().domain().off();
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
    fn responses(&self, y: RowTargets<'_>, scores: &[T], out: &mut [T]) -> f64 {
        let (mut sum, is_alone) = (0.0, scores.len() == 1);
        self.each(y, scores.len(), |j, loss, y| {
            let score = scores[j].to_f64();
            out[j] = T::from_f64(if is_alone { loss.response(y, score) } else { loss.negative_gradient(y, score) });
            sum += self.weighed(j, loss.value(y, score));
        });
        sum
    }

    fn loss(&self, y: RowTargets<'_>, scores: &[T]) -> f64 {
        let mut sum = 0.0;
        self.each(y, scores.len(), |j, loss, y| sum += self.weighed(j, loss.value(y, scores[j].to_f64())));
        sum
    }

    /// Returns the largest bounds over all columns.
    fn bounds(&self) -> Option<Bounds> {
        let larger = |a: Bounds, b: Bounds| Bounds {
            gradient: a.gradient.max(b.gradient),
            curvature: a.curvature.max(b.curvature),
        };
        let all = (0..self.losses.n_losses()).map(|column| self.losses.of(column).bounds());
        all.reduce(|a, b| a.zip(b).map(|(a, b)| larger(a, b))).flatten()
    }

    fn in_blocks(&self) -> Option<Cells<'_>> {
        matches!(self.losses, ColumnLosses::One(loss) if loss.takes_blocks()).then_some(*self)
    }
}

/// The kernel of a loss if outputs do not count the same: gradients are those of each output, and the loss is weighted.
#[derive(Debug)]
pub(crate) struct Weighed<'l, T: Float> {
    pub(crate) kernel: Box<dyn RowLoss<T>>,
    /// The loss cell by cell, with these shares.
    pub(crate) cells: Cells<'l>,
    pub(crate) shares: &'l [f64],
}

impl<T: Float> RowLoss<T> for Weighed<'_, T> {
    fn responses(&self, y: RowTargets<'_>, scores: &[T], out: &mut [T]) -> f64 {
        self.kernel.responses(y, scores, out);
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
    /// Computes the losses of some samples and, if `out` is given, their negative gradients. `y(i)` returns the targets
    /// of sample i.
    pub(crate) fn block<'y, T: Float>(
        &self,
        y: impl Fn(usize) -> RowTargets<'y>,
        scores: &[T],
        width: usize,
        losses: &mut [f64],
        out: Option<&mut [T]>,
    ) -> Result<()> {
        let (n, loss) = (scores.len(), self.losses.first());
        let mut cells = BLOCK.with_capacity(n)?;
        (0..n / width).for_each(|i| self.each(y(i), width, |_, _, y| cells.push(y)));
        let scores = BLOCK.collected(scores.iter().map(|score| score.to_f64()))?;
        let mut values = BLOCK.filled(0.0, n)?;
        loss.values(&cells, &scores, &mut values);
        check_finite(&values)?;
        for (of_row, values) in losses.iter_mut().zip(values.chunks_exact(width)) {
            *of_row = values.iter().enumerate().map(|(j, &value)| self.weighed(j, value)).sum();
        }
        if let Some(out) = out {
            let mut curvatures = BLOCK.filled(0.0, n)?;
            loss.derivatives(&cells, &scores, &mut values, &mut curvatures);
            check_finite(&values)?;
            check_finite(&curvatures)?;
            out.iter_mut().zip(values).for_each(|(out, gradient)| *out = T::from_f64(gradient));
        }
        Ok(())
    }
}

/// Checks values at the scores of samples. A loss of the caller must be defined there; only searches may try scores
/// that are too far away.
fn check_finite(found: &[f64]) -> Result<()> {
    let is_finite = found.iter().all(|value| value.is_finite());
    let error = || Error::invalid("loss", "NaN or infinity", "have finite values and derivatives for every sample");
    if is_finite { Ok(()) } else { Err(error()) }
}

/// The purpose of memory with one number for each cell of a block, for error messages.
const BLOCK: Purpose = Purpose("a block of scores");
