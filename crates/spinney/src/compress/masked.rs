//! Numbers of which some cells are not known, in training rows and in rows held out.

use super::rows::check_held_out;
use super::{CompressConfig, CompressMethod};
use crate::data::known::Observed;
use crate::data::{Dataset, Outputs, Weights};
use crate::error::{Error, Result, try_collected, try_copied};

/// What a mask leaves: rows without a known cell weigh nothing, on either side.
#[derive(Debug)]
pub(super) struct Unmasked {
    observed: Observed,
    train: Vec<f64>,
    held_out: Option<Vec<f64>>,
}

impl Unmasked {
    /// `None` without a mask, or where it masks nothing.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Invalid`] for a mask of classes or labels, for an output without a known cell, and where no
    /// row held out knows any; bad weights.
    pub(super) fn new(data: &Dataset<'_>, held_out: Option<&[f64]>) -> Result<Option<Self>> {
        const WHAT: &str = "the known cells of y";
        let (n, train) = (data.n_samples(), data.row_weights().sample_weight);
        check_held_out(held_out, n)?;
        Weights::check(train, n)?;
        // Rows held out weigh nothing in training: their cells count like those of training rows.
        let train = match train {
            Some(weights) => try_copied(WHAT, weights)?,
            None => try_collected(WHAT, (0..n).map(|_| 1.0))?,
        };
        let held = |row: usize| held_out.map_or(0.0, |held| held[row]);
        let seen = try_collected(WHAT, train.iter().enumerate().map(|(row, w)| w.max(held(row))))?;
        let of_all = data.view().sample_weight(&seen[..]);
        let Some(observed) = of_all.observed()? else { return Ok(None) };
        if !matches!(data.outputs(), Outputs::Real { .. }) {
            return Err(Error::unsupported("y_mask", "for classes and labels in compression"));
        }
        let left = of_all.with_observed(Some(&observed));
        let is_there = |row: usize| left.row_weights().sample_weight.is_none_or(|w| w[row] > 0.0);
        let of_known = |(row, w): (usize, &f64)| if is_there(row) { *w } else { 0.0 };
        let held_out = held_out.map(|held| try_collected(WHAT, held.iter().enumerate().map(of_known))).transpose()?;
        if held_out.as_ref().is_some_and(|held| held.iter().all(|w| *w == 0.0)) {
            return Err(Error::invalid(
                "y_mask",
                "a mask of all their cells",
                "leave at least one observed cell among the held-out samples",
            ));
        }
        let train = try_collected(WHAT, train.iter().enumerate().map(of_known))?;
        Ok(Some(Unmasked { observed, train, held_out }))
    }

    /// The data set of the training rows.
    pub(super) fn of_training<'o>(&'o self, data: &'o Dataset<'_>) -> Dataset<'o> {
        data.with_observed(Some(&self.observed)).sample_weight(&self.train[..])
    }

    /// Weights of the rows held out.
    pub(super) fn held_out(&self) -> Option<&[f64]> {
        self.held_out.as_deref()
    }
}

impl CompressConfig {
    /// Refuses methods whose steps ask for one curvature of all outputs: that of a group has a closed form then alone.
    pub(super) fn check_masked(&self) -> Result<()> {
        match self.method {
            CompressMethod::Stagewise { .. } => Ok(()),
            CompressMethod::Lasso { .. } | CompressMethod::Grow { .. } => {
                let must = "be Stagewise if y has masked cells, as outputs have curvatures of their own then";
                Err(Error::invalid("method", format!("{:?}", self.method), must))
            }
        }
    }
}
