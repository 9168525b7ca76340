//! A loss of its own for each output: losses of one sort, whose parameters differ.

use super::column::ColumnLoss;
use super::float::Float;
use super::known_cells::KnownCells;
use super::rows::{RowLoss, RowTargets};
use super::{Bounds, LossKind};
use crate::error::{Error, Result};

/// A loss for each output of numbers.
#[derive(Clone, Debug)]
pub struct OutputLosses {
    /// At least one; all of one sort and domain, and none of them of outputs itself.
    losses: Vec<LossKind>,
}

impl OutputLosses {
    /// The losses, one for each output.
    pub fn losses(&self) -> &[LossKind] {
        &self.losses
    }

    /// What holds for all: their sort, domain and link.
    pub(crate) fn first(&self) -> &LossKind {
        &self.losses[0]
    }
}

impl LossKind {
    /// A loss of its own for each output of numbers, all of one sort: such as one quantile each.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) for none, and for losses of several sorts.
    pub fn of_outputs(losses: Vec<LossKind>) -> Result<Self> {
        let is_one_sort = |loss: &LossKind| {
            !matches!(loss, LossKind::OfOutputs(_))
                && loss.name() == losses[0].name()
                && loss.as_loss().domain() == losses[0].as_loss().domain()
        };
        if losses.is_empty() {
            return Err(Error::invalid("loss", "no loss", "have one loss for each output"));
        }
        if !losses.iter().all(is_one_sort) {
            return Err(Error::invalid("loss", "several types", "have losses of one type, one for each output"));
        }
        Ok(LossKind::OfOutputs(OutputLosses { losses }))
    }

    /// The losses of the columns of scores.
    pub(crate) fn as_columns(&self) -> ColumnLosses<'_> {
        if let LossKind::OfOutputs(of_outputs) = self {
            ColumnLosses::Each(&of_outputs.losses)
        } else {
            ColumnLosses::One(self.as_column())
        }
    }
}

/// The losses of columns.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ColumnLosses<'l> {
    /// One for all of them.
    One(&'l dyn ColumnLoss),
    /// One for each: not empty.
    Each(&'l [LossKind]),
    /// The same, of the cells of y that are known.
    EachKnown(&'l [KnownCells<'l>]),
}

impl<'l> ColumnLosses<'l> {
    #[inline]
    pub(crate) fn of(self, column: usize) -> &'l dyn ColumnLoss {
        match self {
            ColumnLosses::One(loss) => loss,
            ColumnLosses::Each(losses) => losses[column].as_column(),
            ColumnLosses::EachKnown(losses) => &losses[column],
        }
    }

    pub(crate) fn n_losses(self) -> usize {
        match self {
            ColumnLosses::One(_) => 1,
            ColumnLosses::Each(losses) => losses.len(),
            ColumnLosses::EachKnown(losses) => losses.len(),
        }
    }

    /// What holds for all: link, leaf rule, domain.
    pub(crate) fn first(self) -> &'l dyn ColumnLoss {
        self.of(0)
    }
}

/// Rows of numbers, cell by cell, of a loss for each column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CellsOfEach<'l>(pub(crate) ColumnLosses<'l>);

impl CellsOfEach<'_> {
    /// Calls `visit(column, loss, y)` for every column.
    fn each(&self, y: RowTargets<'_>, width: usize, mut visit: impl FnMut(usize, &dyn ColumnLoss, f64)) {
        for column in 0..width {
            let loss = self.0.of(column);
            visit(column, loss, y.of_column(column, loss.domain().off()));
        }
    }
}

impl<T: Float> RowLoss<T> for CellsOfEach<'_> {
    fn negative_gradients(&self, y: RowTargets<'_>, scores: &[T], out: &mut [T]) -> f64 {
        let mut sum = 0.0;
        self.each(y, scores.len(), |column, loss, y| {
            let score = scores[column].to_f64();
            out[column] = T::from_f64(loss.negative_gradient(y, score));
            sum += loss.value(y, score);
        });
        sum
    }

    fn loss(&self, y: RowTargets<'_>, scores: &[T]) -> f64 {
        let mut sum = 0.0;
        self.each(y, scores.len(), |column, loss, y| sum += loss.value(y, scores[column].to_f64()));
        sum
    }

    /// The largest of all columns.
    fn bounds(&self) -> Option<Bounds> {
        let larger = |a: Bounds, b: Bounds| Bounds {
            gradient: a.gradient.max(b.gradient),
            curvature: a.curvature.max(b.curvature),
        };
        let all = (0..self.0.n_losses()).map(|column| self.0.of(column).bounds());
        all.reduce(|a, b| a.zip(b).map(|(a, b)| larger(a, b))).flatten()
    }
}
