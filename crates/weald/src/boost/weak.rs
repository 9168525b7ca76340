//! Weak models of the caller: anything that can be fitted to numerical targets and predicts numbers.

use std::ops::ControlFlow;

use ndarray::{Array2, ArrayView2};

use super::config::{BoostConfig, OutputStrategy};
use super::fit::Validation;
use super::leaves::steps::searched;
use super::leaves::{Fit, Leaves};
use super::model::{Boosted, Combine};
use super::observer::StageReport;
use super::problem::Problem;
use super::projector::Projector;
use super::scores::booster::Booster;
use super::scores::{Scored, Scores};
use super::stages::{Drawn, Fitting, Learner, Stage};
use crate::control::Control;
use crate::data::dataset::Names;
use crate::data::targets::n_scores;
use crate::data::{Matrix, Targets, Weights};
use crate::error::{Error, Purpose, Result};
use crate::exact::reduce::Workers;
use crate::forest::bootstrap::Population;
use crate::loss::kernels::float::Float;

/// The strategies that are supported with weak models other than trees, for messages.
const STRATEGIES: &str = "be Joint, or Projected without relabelled leaves, for weak models other than trees";

/// A weak model of the caller, other than a tree.
pub trait WeakLearner: Send {
    /// Returns the model to which the fit adds stages, if there is one. For each of its stages,
    /// [`fit_predict`](WeakLearner::fit_predict) is called without samples, and only predicts.
    fn model(&self) -> Option<&Boosted> {
        None
    }

    /// Fits stage `stage` to `targets` (one row for each of the samples `rows`, which are increasing, with `weights`),
    /// and returns its predictions.
    ///
    /// # Errors
    /// Any error that is returned ends the fit.
    fn fit_predict(
        &mut self,
        stage: usize,
        rows: &[u32],
        targets: ArrayView2<'_, f64>,
        weights: &[f64],
    ) -> Result<WeakPredictions>;

    /// Is called after every stage. The report has no scores of a validation set.
    ///
    /// # Errors
    /// Any error that is returned ends the fit.
    fn after(&mut self, _: &StageReport<'_>) -> Result<()> {
        Ok(())
    }
}

/// Predictions of a weak model: one number for each sample, or with the joint strategy one for each score of each
/// sample.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WeakPredictions {
    /// The predictions for all training samples.
    pub train: Array2<f64>,
    /// The predictions for all validation samples, if there are any.
    pub validation: Option<Array2<f64>>,
}

impl WeakPredictions {
    /// Returns the predictions for all training samples and, if there are any, for all validation samples.
    pub fn new(train: Array2<f64>, validation: impl Into<Option<Array2<f64>>>) -> Self {
        WeakPredictions { train, validation: validation.into() }
    }
}

/// y of a validation set, and an optional weight for each sample.
pub type ValidationTargets<'a> = (Targets<'a>, Option<&'a [f64]>);

impl BoostConfig {
    /// Fits a model whose weak models are not trees, to `n_samples` samples with `n_features` features; only `weak`
    /// knows their X.
    ///
    /// The joint strategy needs a prediction for each score, a projection without relabelled leaves needs one number
    /// for each sample. The parameters of trees are not used. A stage costs one call of `weak`, and for each score a
    /// line search over the samples.
    ///
    /// # Errors
    /// The same as for [`BoostConfig::fit`], [`crate::ErrorKind::Invalid`] for single targets and relabelled
    /// leaves, [`crate::ErrorKind::Shape`] for predictions of another shape, and any error that `weak` returns.
    pub fn fit_with(
        &self,
        weak: &mut dyn WeakLearner,
        (n_samples, n_features): (usize, usize),
        y: &Targets<'_>,
        sample_weight: Option<&[f64]>,
        validation: Option<ValidationTargets<'_>>,
        control: &Control,
    ) -> Result<Boosted> {
        if n_samples == 0 {
            return Err(Error::invalid("X", "0 samples", "have at least one sample"));
        }
        y.check(n_samples)?;
        Weights::check(sample_weight, n_samples)?;
        let outputs = y.outputs();
        let width = n_scores(&outputs);
        self.check(&outputs, width)?;
        let refused = |got: &str| Err(Error::invalid("strategy", got, STRATEGIES));
        let combine = match &self.strategy {
            OutputStrategy::Joint => Combine::OtherEach,
            OutputStrategy::Projected { relabel: false, .. } => Combine::OtherRankOne,
            OutputStrategy::Projected { relabel: true, .. } => return refused("Projected with relabelled leaves"),
            OutputStrategy::SingleTarget => return refused("SingleTarget"),
        };
        let factors = self.tree.output_factors();
        if factors.are_given() {
            return Err(Error::unsupported(factors.name(), "with weak models other than trees"));
        }
        if let Targets::SparseReal(_) = y {
            return Err(Error::invalid("y", "sparse numerical outputs", "be dense with weak models other than trees"));
        }
        self.check_domain(Names::TRAINING.y, y, sample_weight)?;
        if let Some((y, weight)) = &validation {
            y.check(y.n_samples())?;
            Weights::check(*weight, y.n_samples())?;
            self.check_domain(Names::VALIDATION.y, y, *weight)?;
            if y.outputs() != outputs {
                return Err(Error::invalid("y of the validation set", "other outputs", "have the outputs of y"));
            }
        } else if self.n_iter_no_change.is_some() {
            return Err(Error::invalid("validation", "no validation set", "be given, as n_iter_no_change is given"));
        }
        let mut problem = Problem::new(self, outputs, None)?;
        problem.combine = combine;
        if let Some(model) = weak.model() {
            problem.check_model(self, model, n_features)?;
        }
        // Samples are drawn by their positions, because their content is not known here.
        let places = Purpose("the places of rows").filled(0.0f32, n_samples)?;
        let places = Matrix::Dense(ArrayView2::from_shape((n_samples, 1), &places).expect("a place for each row"));
        let population = Population::new(&places, None, None, sample_weight);
        let held_out = validation.as_ref();
        let held_out = held_out.map(|(y, w)| Validation::new(y.view(), *w));
        let y = y.view();
        let mut fitting = Fitting::new(self, problem, &y, &population, held_out.as_ref(), &Workers::One, control)?;
        fitting.n_features = n_features;
        fitting.fit(&mut Asking(weak))?.with_finite_scores()
    }
}

/// Asks the caller for the weak models of a fit.
struct Asking<'w>(&'w mut dyn WeakLearner);

impl Learner for Asking<'_> {
    fn model(&self) -> Option<&Boosted> {
        self.0.model()
    }

    fn resume<'y, T: Float, S: Scores<'y, T>>(
        &mut self,
        fitting: &Fitting<'_>,
        boosters: &mut [Booster<'y, T, S>],
    ) -> Result<Option<Boosted>> {
        let Some(model) = self.0.model() else { return Ok(None) };
        let mut grown = model.truncated(model.n_stages())?;
        grown.validation_score.clear();
        let [booster] = boosters else { unreachable!("all scores have one weak model") };
        let q = if fitting.problem.combine == Combine::OtherRankOne { 1 } else { fitting.problem.width };
        let none = ArrayView2::from_shape((0, q), &[]).expect("no targets");
        for stage in 0..grown.n_stages() {
            let predictions = self.0.fit_predict(stage, &[], none, &[])?;
            let direction = grown.direction(stage, 0..fitting.problem.width)?;
            let added = Added { predictions: &predictions, direction: &direction, q };
            let (leaf_of, moved) = added.to_training::<T, S>(fitting.n_samples)?;
            booster.advance(Some((leaf_of, &moved)), None, &mut Vec::new(), None, fitting.control)?;
            grown.validation_score.extend(added.validate(booster, fitting.control)?);
        }
        Ok(Some(grown))
    }

    fn stages<'y, T: Float, S: Scores<'y, T>>(
        &mut self,
        fitting: &Fitting<'_>,
        stage: usize,
        drawn: Drawn<'_>,
        boosters: &mut [Booster<'y, T, S>],
        targets: &mut Vec<f64>,
        next: Option<&Projector>,
    ) -> Result<Vec<Stage>> {
        let Fitting { config, control, .. } = fitting;
        let Drawn { rows, weights, .. } = drawn;
        let [booster] = boosters else { unreachable!("all scores have one weak model") };
        let n = fitting.n_samples;
        let q = targets.len() / n;
        let of_rows = |values: &[f64]| {
            let mut of_rows = PURPOSE.with_capacity(rows.len() * q)?;
            rows.iter().for_each(|&row| of_rows.extend_from_slice(&values[row as usize * q..][..q]));
            Ok::<_, Error>(of_rows)
        };
        let of_stage = of_rows(targets)?;
        let view = ArrayView2::from_shape((rows.len(), q), &of_stage).expect("q targets for each row");
        let weight = |&row: &u32| weights.in_sums(weights.units(row as usize));
        let of_stage = Purpose("the weights of a stage").collected(rows.iter().map(weight))?;
        let predictions = self.0.fit_predict(stage, rows, view, &of_stage)?;
        let values = checked(&predictions.train, n, q)?;
        let leaves = Leaves::single_rows(rows, weights)?;
        let Scored { data, scores } = &booster.train;
        let held = scores.held().expect("scores that weak models of the caller move are stored");
        let fit = Fit { data, leaves: &leaves, gradients: None, config, control };
        let steps = searched(fit, &held.scores, &of_rows(&values)?)?;
        let direction = Purpose("the steps of a stage").collected(steps.iter().map(|s| config.learning_rate * s))?;
        let added = Added { predictions: &predictions, direction: &direction, q };
        let (leaf_of, moved) = added.to_training::<T, S>(n)?;
        let in_bag = fitting.in_bag(rows)?;
        let losses =
            booster.advance(Some((leaf_of, &moved)), next, targets, drawn.out_of_bag(in_bag.as_deref()), control)?;
        let validation_loss = added.validate(booster, control)?;
        Ok(vec![Stage { tree: None, steps, losses, validation_loss }])
    }

    fn after(&mut self, report: &StageReport<'_>) -> Result<ControlFlow<()>> {
        self.0.after(report)?;
        Ok(ControlFlow::Continue(()))
    }
}

/// What a weak model adds to the scores: a direction times its predictions, of which there are `q` for each sample.
struct Added<'a> {
    predictions: &'a WeakPredictions,
    direction: &'a [f64],
    q: usize,
}

impl Added<'_> {
    /// Returns the moves of these predictions, as if each sample were in a leaf of its own.
    fn moves<'y, T: Float, S: Scores<'y, T>>(&self, values: Vec<f64>) -> Result<(Vec<u32>, S::Moves)> {
        let leaf_of = Purpose("the leaves of rows").collected(0..(values.len() / self.q) as u32)?;
        let direction = Purpose("the steps of a stage").copied(self.direction)?;
        Ok((leaf_of, S::moves_of_rows(values, direction)?))
    }

    fn to_training<'y, T: Float, S: Scores<'y, T>>(&self, n: usize) -> Result<(Vec<u32>, S::Moves)> {
        self.moves::<T, S>(checked(&self.predictions.train, n, self.q)?)
    }

    /// Adds the predictions to the scores of the held-out samples and returns their loss; see [`Booster::validate`].
    fn validate<'y, T: Float, S: Scores<'y, T>>(
        &self,
        booster: &mut Booster<'y, T, S>,
        control: &Control,
    ) -> Result<Option<f64>> {
        let Some(scored) = &booster.validation else { return Ok(None) };
        let missing = || Error::invalid(PURPOSE.0, "too few", "have predictions for all samples");
        let values = self.predictions.validation.as_ref().ok_or_else(missing)?;
        let (leaf_of, moved) = self.moves::<T, S>(checked(values, scored.data.n_samples, self.q)?)?;
        booster.validate(Some((leaf_of, &moved)), control)
    }
}

const PURPOSE: Purpose = Purpose("predictions of the weak model");

/// Returns the values of predictions of this shape, row-major, or an error.
fn checked(predictions: &Array2<f64>, n_rows: usize, n_columns: usize) -> Result<Vec<f64>> {
    if predictions.dim() != (n_rows, n_columns) {
        return Err(Error::shape(PURPOSE.0, n_rows * n_columns, predictions.len()));
    }
    if !predictions.iter().all(|v| v.is_finite()) {
        return Err(Error::invalid(PURPOSE.0, "NaN or infinity", "have finite values"));
    }
    PURPOSE.collected(predictions.iter().copied())
}
