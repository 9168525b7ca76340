//! What a caller gives and gets: the data are checked, the stages grown.

use super::config::{BoostConfig, OutputStrategy};
use super::model::Boosted;
use super::problem::{Problem, n_scores};
use super::projector::Projector;
use super::stages::Fitting;
use crate::control::Control;
use crate::data::{Matrix, Targets, Weights};
use crate::error::{Error, Result};
use crate::forest::bootstrap::tree_key;
use crate::projection::{PROJECTION, Projection, ProjectionMatrix};

/// Rows on which the model is not fitted: they tell when to stop.
#[derive(Clone, Debug)]
pub struct Validation<'a> {
    /// As X.
    pub x: Matrix<'a>,
    /// As y, with the same outputs.
    pub y: Targets<'a>,
    /// One weight for each row.
    pub sample_weight: Option<&'a [f64]>,
}

impl BoostConfig {
    /// Fits the model.
    ///
    /// `x` is (n_samples, n_features), `y` has as many rows, `sample_weight` one number for each. Scores of all rows are held
    /// in memory, n_samples × width float32 for labels and classes and float64 for numbers, but for the squared error
    /// of labels projected without relabelling, which needs the stored labels, one number for each row and stage, and the
    /// model. Dense `x` is held a second time as codes of bins, one byte a value.
    ///
    /// The loss of `validation` is computed after each stage; with `n_iter_no_change` it ends the fit, and the model of
    /// least validation loss is returned.
    ///
    /// Source: Joly (2016), ch. 6; Friedman (2001).
    ///
    /// # Errors
    /// [`crate::ErrorKind::Invalid`] and [`crate::ErrorKind::Shape`] for bad parameters or data,
    /// [`crate::ErrorKind::OutOfMemory`], and [`crate::ErrorKind::Interrupted`] when `control` is stopped.
    pub fn fit(
        &self,
        x: &Matrix<'_>,
        y: &Targets<'_>,
        sample_weight: Option<&[f64]>,
        validation: Option<&Validation<'_>>,
        control: &Control,
    ) -> Result<Boosted> {
        self.run(None, x, y, sample_weight, validation, control)
    }

    /// Adds stages `model.n_stages()..self.n_estimators` to a model: with the same data and parameters the result is that of
    /// [`BoostConfig::fit`].
    ///
    /// # Errors
    /// As [`BoostConfig::fit`]; [`crate::ErrorKind::Invalid`] when the model has other features, outputs or strategy, or
    /// more stages.
    pub fn fit_more(
        &self,
        model: &Boosted,
        x: &Matrix<'_>,
        y: &Targets<'_>,
        sample_weight: Option<&[f64]>,
        validation: Option<&Validation<'_>>,
        control: &Control,
    ) -> Result<Boosted> {
        self.run(Some(model), x, y, sample_weight, validation, control)
    }

    fn run(
        &self,
        model: Option<&Boosted>,
        x: &Matrix<'_>,
        y: &Targets<'_>,
        sample_weight: Option<&[f64]>,
        validation: Option<&Validation<'_>>,
        control: &Control,
    ) -> Result<Boosted> {
        check_data("X", x, y, sample_weight)?;
        let outputs = y.outputs();
        if let Some(validation) = validation {
            check_data("X of the validation set", &validation.x, &validation.y, validation.sample_weight)?;
            if validation.x.n_features() != x.n_features() {
                let (expected, got) = (x.n_features(), validation.x.n_features());
                return Err(Error::shape("each row of X of the validation set", expected, got));
            }
            if validation.y.outputs() != outputs {
                return Err(Error::invalid("y of the validation set", "of other outputs", "the outputs of y"));
            }
        } else if self.n_iter_no_change.is_some() {
            return Err(Error::invalid("validation", "None", "a validation set, as n_iter_no_change is given"));
        }
        self.check(&outputs, n_scores(&outputs))?;
        let problem = Problem::new(self, outputs)?;
        if let Some(model) = model {
            problem.check_model(self, model, x)?;
        }
        let (x, y) = (x.view(), y.view());
        let validation =
            validation.map(|v| Validation { x: v.x.view(), y: v.y.view(), sample_weight: v.sample_weight });
        let data =
            Fitting { config: self, problem, x: &x, y: &y, sample_weight, validation: validation.as_ref(), control };
        if data.problem.is_narrow() { data.fit::<f32>(model) } else { data.fit::<f64>(model) }
    }
}

impl BoostConfig {
    /// What stage `stage` is fitted to.
    pub(super) fn projector(
        &self,
        stage: usize,
        width: usize,
        fixed: Option<&ProjectionMatrix>,
        control: &Control,
    ) -> Result<Projector> {
        let drawn;
        let matrix = match &self.strategy {
            OutputStrategy::Projected { projection, n_projections, .. } if width > 1 => match (projection, fixed) {
                (_, Some(matrix)) => matrix,
                (Projection::Given(matrices), _) => match matrices.as_slice() {
                    [matrix] => matrix,
                    each if each.len() == self.n_estimators => &each[stage],
                    other => {
                        let expected = self.n_estimators;
                        return Err(Error::shape("matrices of output_projection", expected, other.len()));
                    }
                },
                (family, None) => {
                    let q = family.resolve(width, *n_projections)?;
                    let key = tree_key(self.seed, stage).child(PROJECTION);
                    drawn = family.draw_random(width, q, key, control)?;
                    &drawn
                }
            },
            _ => return Ok(Projector::Identity(width)),
        };
        Projector::new(matrix, control)
    }
}

fn check_data(what: &'static str, x: &Matrix<'_>, y: &Targets<'_>, sample_weight: Option<&[f64]>) -> Result<()> {
    if x.n_samples() == 0 {
        return Err(Error::invalid(what, "0 rows long", "at least one sample"));
    }
    if x.n_features() == 0 {
        return Err(Error::invalid(what, "0 columns wide", "at least one feature"));
    }
    x.check()?;
    y.check(x.n_samples())?;
    Weights::check(sample_weight, x.n_samples())
}

/// Whether the validation loss has not improved for long.
pub(super) fn is_over(config: &BoostConfig, scores: &[f64]) -> bool {
    let Some(patience) = config.n_iter_no_change else { return false };
    let Some(before) = scores.len().checked_sub(patience).filter(|&before| before > 0) else { return false };
    let least = |scores: &[f64]| scores.iter().copied().fold(f64::INFINITY, f64::min);
    least(&scores[before..]) > least(&scores[..before]) - config.tol
}

/// The place of the first least score.
pub(super) fn least(scores: &[f64]) -> usize {
    (0..scores.len()).reduce(|best, i| if scores[i] < scores[best] { i } else { best }).unwrap_or(0)
}
