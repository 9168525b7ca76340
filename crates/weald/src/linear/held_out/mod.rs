//! Models without a fold of the samples, and the margins of the samples that they did not see.

pub(super) mod classes;
pub(crate) use classes::MOST as MOST_CLASS_MARGINS;
pub(super) mod counts;
pub(super) mod folds;
pub(super) mod ranks;

use std::ops::Range;

use super::calibration::ENOUGH;
use super::fit::n_blocks;
use super::source::{Cells, Source};
use super::{Calibration, LinearConfig, LinearModel};
use crate::control::Control;
use crate::data::Dataset;
use crate::error::{Error, Purpose, Result};
use classes::ClassMargins;
use counts::Counts;
use folds::Folds;
use ranks::Ranks;

const PURPOSE: Purpose = Purpose("the margins of held-out samples");

/// Margins that are in memory at once.
const CELLS: usize = 1 << 22;

/// The models of a fit without each of some folds: what they say about the samples of their fold, they did not learn
/// from them.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FoldModels {
    /// The fold of each sample, below the number of models.
    pub folds: Vec<u32>,
    /// The model of each fold, fitted to the samples of the others.
    pub models: Vec<LinearModel>,
}

impl FoldModels {
    /// Gives the models the calibration of `model`.
    #[must_use]
    pub fn calibrated_as(self, model: &LinearModel) -> Self {
        self.calibrated_by(model.calibration.as_ref())
    }

    pub(super) fn calibrated_by(mut self, calibration: Option<&Calibration>) -> Self {
        for of_fold in &mut self.models {
            of_fold.calibration = calibration.cloned();
        }
        self
    }
}

/// What held-out samples say about the fits of a candidate.
#[derive(Debug)]
pub(super) struct HeldOut {
    pub(super) counts: Counts,
    /// How well columns are ranked, where it is asked for.
    pub(super) ranks: Option<Ranks>,
    /// The margins themselves, where classes are calibrated together.
    pub(super) classes: Option<ClassMargins>,
    /// The models without each fold.
    pub(super) models: Vec<LinearModel>,
}

impl HeldOut {
    pub(super) fn new(source: &Source<'_>, y: &Cells, folds: &Folds) -> Result<Self> {
        let n_samples = source.n_samples().div_ceil(folds.n_folds) * folds.with_samples(ENOUGH);
        let (counts, classes) = (Counts::new(y.n_columns)?, ClassMargins::new(source, y, n_samples)?);
        Ok(HeldOut { counts, ranks: None, classes, models: Vec::new() })
    }

    /// Adds what the samples of some folds say, and the models without each of these folds.
    pub(super) fn add(
        &mut self,
        config: &LinearConfig,
        (source, y): (&Source<'_>, &Cells),
        (folds, counted): (&Folds, Range<usize>),
        control: &Control,
    ) -> Result<()> {
        for fold in counted {
            let HeldOut { counts, ranks, classes, models } = self;
            let model = config.each_held_out(source, y, folds, fold, control, |rows, margins| {
                if let Some(classes) = classes {
                    classes.add(source, folds, rows, margins)?;
                }
                if let Some(ranks) = ranks {
                    ranks.add(y, &source.weights, rows, margins, control)?;
                }
                counts.add(y, &source.weights, rows, margins, control)
            })?;
            PURPOSE.push(models, model)?;
        }
        Ok(())
    }
}

impl LinearConfig {
    /// Returns the models without each of some folds of samples, not calibrated.
    ///
    /// Folds are those of [`crate::folds::deal`]. The number of samples should be at least `n_folds`:
    /// a fit without samples has no weights, and all its margins are −1.
    ///
    /// Time is that of `n_folds` fits. [`Choice::fold_models`](super::Choice::fold_models) uses those of a choice again.
    ///
    /// # Errors
    /// The same as for [`LinearConfig::fit`], and [`crate::ErrorKind::Invalid`] if there are fewer than two
    /// folds.
    pub fn fold_models<'d>(&self, data: impl Into<Dataset<'d>>, n_folds: usize) -> Result<FoldModels> {
        let data = data.into();
        let control = &data.under();
        self.check()?;
        Source::with(&data, control, |source| {
            let folds = self.folds(source, n_folds, control)?;
            self.fit_others(source, folds.of, n_folds, Vec::new(), control)
        })
    }

    /// Fits the models of the folds that have none yet.
    pub(super) fn fit_others(
        &self,
        source: &Source<'_>,
        folds: Vec<u32>,
        n_folds: usize,
        mut models: Vec<LinearModel>,
        control: &Control,
    ) -> Result<FoldModels> {
        control.expect(n_blocks(source.y.n_columns) * n_folds.saturating_sub(models.len()));
        for fold in models.len()..n_folds {
            let model = self.fit_without(source, &source.y, &folds, fold, control)?;
            PURPOSE.push(&mut models, model)?;
        }
        Ok(FoldModels { folds, models })
    }

    pub(super) fn folds(&self, source: &Source<'_>, n_folds: usize, control: &Control) -> Result<Folds> {
        if !(2..=1 << 20).contains(&n_folds) {
            return Err(Error::invalid("n_folds", n_folds, "be between 2 and 1048576"));
        }
        Folds::new(source, n_folds, self.seed, control)
    }

    /// Fits columns of y without the samples of a fold.
    pub(super) fn fit_without(
        &self,
        source: &Source<'_>,
        y: &Cells,
        folds: &[u32],
        fold: usize,
        control: &Control,
    ) -> Result<LinearModel> {
        Ok(self.fit_on(source, y, &(0..y.n_columns), |row| folds[source.sample_of(row)] as usize != fold, control)?.0)
    }

    /// Fits columns of y without the samples of a fold, calls `visit` with these samples and their margins, some samples at
    /// a time, and returns the model.
    pub(super) fn each_held_out(
        &self,
        source: &Source<'_>,
        y: &Cells,
        folds: &Folds,
        fold: usize,
        control: &Control,
        mut visit: impl FnMut(&[u32], &[f32]) -> Result<()>,
    ) -> Result<LinearModel> {
        let model = self.fit_without(source, y, &folds.of, fold, control)?;
        let rows = folds.rows(source, fold)?;
        if rows.is_empty() {
            return Ok(model);
        }
        let x = model.prepared(source.x, control)?;
        let at_once = (CELLS / y.n_columns).max(1);
        let mut margins = PURPOSE.filled(0f32, at_once.min(rows.len()) * y.n_columns)?;
        for rows in rows.chunks(at_once) {
            let margins = &mut margins[..rows.len() * y.n_columns];
            model.fill_margins(&x, |at| rows[at], margins, control)?;
            visit(rows, margins)?;
        }
        Ok(model)
    }
}
