//! A separate loss for each output: losses of the same type with different parameters.

use super::LossKind;
use super::column::ColumnLoss;
use super::known_cells::KnownCells;
use crate::error::{Error, Result};

/// One loss for each numerical output.
#[derive(Clone, Debug)]
pub struct OutputLosses {
    /// The losses: at least one, all of the same type and domain, none of which is itself `OfOutputs`.
    losses: Vec<LossKind>,
}

impl OutputLosses {
    /// Returns the losses, one for each output.
    pub fn losses(&self) -> &[LossKind] {
        &self.losses
    }

    /// Returns the first loss, which has the type, the domain and the link of all.
    pub(crate) fn first(&self) -> &LossKind {
        &self.losses[0]
    }
}

impl LossKind {
    /// Returns a loss with a separate loss for each numerical output. All must have the same type, for example quantile
    /// losses for different quantiles.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) if there are no losses, or if their types differ.
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

    /// Returns the losses of the columns of scores.
    pub(crate) fn as_columns(&self) -> ColumnLosses<'_> {
        if let LossKind::OfOutputs(of_outputs) = self {
            ColumnLosses::Each(&of_outputs.losses)
        } else {
            ColumnLosses::One(self.as_column())
        }
    }
}

/// The losses of the columns of scores.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ColumnLosses<'l> {
    /// One loss for all columns.
    One(&'l dyn ColumnLoss),
    /// One loss for each column; the slice is not empty.
    Each(&'l [LossKind]),
    /// One loss for each column, restricted to the known cells of y.
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

    /// Returns the first loss, which has the link, the leaf rule and the domain of all.
    pub(crate) fn first(self) -> &'l dyn ColumnLoss {
        self.of(0)
    }
}
