//! y with unknown cells, in training and held-out samples.

use super::rows::check_held_out;
use super::{CompressConfig, CompressMethod};
use crate::control::Control;
use crate::data::known::{Observed, Spread};
use crate::data::{Dataset, Weights};
use crate::error::{Error, Purpose, Result};

/// The weights that a mask leaves: samples without a known cell have weight zero, in training and held out. A sample
/// whose known cells have several weights is several samples.
#[derive(Debug)]
pub(super) struct Unmasked {
    observed: Observed,
    spread: Option<Spread>,
    train: Vec<f64>,
    held_out: Option<Vec<f64>>,
}

impl Unmasked {
    /// Returns `None` if there is no mask, or if it masks no cell.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Invalid`] for an output without a known cell, if no held-out sample has a known cell,
    /// and for weights that are not valid.
    pub(super) fn new(data: &Dataset<'_>, held_out: Option<&[f64]>, control: &Control) -> Result<Option<Self>> {
        const PURPOSE: Purpose = Purpose("the known cells of y");
        let (n, train) = (data.n_samples(), data.row_weights().sample_weight);
        check_held_out(held_out, n)?;
        Weights::check(train, n)?;
        // Held-out samples have weight zero in training; their cells are counted like those of training samples.
        let train = match train {
            Some(weights) => PURPOSE.copied(weights)?,
            None => PURPOSE.filled(1.0, n)?,
        };
        let held = |row: usize| held_out.map_or(0.0, |held| held[row]);
        let seen = PURPOSE.collected(train.iter().enumerate().map(|(row, w)| w.max(held(row))))?;
        let of_all = data.view().sample_weight(&seen[..]);
        let Some(observed) = of_all.observed()? else { return Ok(None) };
        let left = of_all.with_observed(Some(&observed));
        let left_of = |row: usize| left.row_weights().sample_weight.map_or(seen[row], |weights| weights[row]);
        let of_known = |(row, w): (usize, &f64)| if *w > 0.0 { left_of(row) * (w / seen[row]) } else { 0.0 };
        let mut held_out = held_out.map(|held| PURPOSE.collected(held.iter().enumerate().map(of_known))).transpose()?;
        if held_out.as_ref().is_some_and(|held| held.iter().all(|w| *w == 0.0)) {
            return Err(Error::invalid(
                "y_weight",
                "a mask of all their cells",
                "leave at least one observed cell among the held-out samples",
            ));
        }
        let mut train = PURPOSE.collected(train.iter().enumerate().map(of_known))?;
        let spread = left.spread(control)?;
        if let Some(spread) = &spread {
            let by_class =
                left.view().sample_weight(&train[..]).weight_by_row()?.map(|weights| spread.weights(&weights));
            train = by_class.transpose()?.map_or_else(|| spread.weights(&train), Ok)?;
            held_out = held_out.map(|held| spread.weights(&held)).transpose()?;
        }
        Ok(Some(Unmasked { observed, spread, train, held_out }))
    }

    /// Returns the data set of the training samples.
    pub(super) fn of_training<'o>(&'o self, data: &'o Dataset<'_>) -> Dataset<'o> {
        let known = match &self.spread {
            Some(spread) => spread.data(data),
            None => data.with_observed(Some(&self.observed)),
        };
        known.sample_weight(&self.train[..])
    }

    /// Returns the weights of the held-out samples.
    pub(super) fn held_out(&self) -> Option<&[f64]> {
        self.held_out.as_deref()
    }
}

impl CompressConfig {
    /// Returns an error for methods whose steps need the same curvature for all outputs: only then does a group have a
    /// closed form.
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
