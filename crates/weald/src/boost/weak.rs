//! Weak models of the caller: anything that can be fitted to numerical targets and predicts numbers.

use std::ops::ControlFlow;

use ndarray::{Array2, ArrayView2};

use super::config::{BoostConfig, OutputStrategy};
use super::data::{Data, Losses};
use super::leaves::{LeafValues, Leaves};
use super::model::{Boosted, Combine};
use super::observer::StageReport;
use super::problem::Problem;
use super::projector::Projector;
use super::scores::HeldScores;
use super::scores::sweep::Update;
use super::stage_projection::{Needs, Statistics, TargetRows};
use super::stages::{drawn, in_bag};
use super::stopping::{EarlyStopping, least};
use crate::control::Control;
use crate::data::dataset::Names;
use crate::data::targets::{in_columns, n_scores};
use crate::data::train_y::TrainY;
use crate::data::{Matrix, Targets, Weights};
use crate::error::{Error, Result, try_collected, try_filled, try_with_capacity};
use crate::forest::bootstrap::{Population, Urn, tree_key};
use crate::loss::float::Float;
use crate::rounds::rounds;

/// The strategies that are supported with weak models other than trees, for messages.
const STRATEGIES: &str = "be Joint, or Projected without relabelled leaves, for weak models other than trees";

/// A weak model of the caller, other than a tree.
pub trait WeakLearner: Send {
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
pub struct WeakPredictions {
    /// The predictions for all training samples.
    pub train: Array2<f64>,
    /// The predictions for all validation samples, if there are any.
    pub validation: Option<Array2<f64>>,
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
    /// The same as for [`BoostConfig::fit`], [`crate::ErrorKind::Invalid`] for single targets and relabelled leaves,
    /// [`crate::ErrorKind::Shape`] for predictions of another shape, and any error that `weak` returns.
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
        let combine = match &self.strategy {
            OutputStrategy::Joint => Combine::OtherEach,
            OutputStrategy::Projected { relabel: false, .. } => Combine::OtherRankOne,
            OutputStrategy::Projected { .. } => {
                return Err(Error::invalid("strategy", "Projected with relabelled leaves", STRATEGIES));
            }
            OutputStrategy::SingleTarget => {
                return Err(Error::invalid("strategy", "SingleTarget", STRATEGIES));
            }
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
        let columns = in_columns(y)?;
        let columns_validation = validation.as_ref().map(|(y, _)| in_columns(y)).transpose()?;
        let fitting = Fitting { config: self, problem, control };
        let mut model = Boosted::empty(&fitting.problem, n_features, self.learning_rate);
        let validation = columns_validation.as_ref().zip(validation.as_ref().map(|v| v.1));
        if fitting.problem.loss.has_float32_scores() {
            fitting.fit::<f32>(weak, &mut model, &columns, sample_weight, validation)?;
        } else {
            fitting.fit::<f64>(weak, &mut model, &columns, sample_weight, validation)?;
        }
        let model =
            if self.n_iter_no_change.is_some() { model.truncated(least(&model.validation_score) + 1)? } else { model };
        model.with_finite_scores()
    }
}

/// Samples and their scores, to which predictions of the caller are added.
struct ScoredRows<'a, T: Float> {
    data: Data<'a, T>,
    scores: HeldScores<T>,
}

impl<'a, T: Float> ScoredRows<'a, T> {
    fn new(data: Data<'a, T>, start: &[f64], control: &Control) -> Result<Self> {
        let scores = HeldScores::new(&data, start, None, false, control)?;
        Ok(ScoredRows { data, scores })
    }

    /// See [`HeldScores::sweep`].
    fn sweep(
        &mut self,
        update: Option<Update<'_, T>>,
        projector: Option<&Projector>,
        targets: &mut [f64],
        in_bag: Option<&[bool]>,
        control: &Control,
    ) -> Result<Losses> {
        self.scores.sweep(&self.data, update, projector, targets, in_bag, control)
    }
}

struct Fitting<'f> {
    config: &'f BoostConfig,
    problem: Problem<'f>,
    control: &'f Control,
}

impl Fitting<'_> {
    fn fit<T: Float>(
        &self,
        weak: &mut dyn WeakLearner,
        model: &mut Boosted,
        y: &Targets<'_>,
        sample_weight: Option<&[f64]>,
        validation: Option<(&Targets<'_>, Option<&[f64]>)>,
    ) -> Result<()> {
        let (n, width) = (y.n_samples(), self.problem.width);
        let data = self.data::<T>(y, sample_weight)?;
        // Samples are drawn by their positions, because their content is not known here.
        let places = try_filled("the places of rows", 0.0f32, n)?;
        let places = ArrayView2::from_shape((n, 1), &places).expect("a place for each row");
        let weights = Weights::of_rows(sample_weight, n)?;
        let mut all: Vec<u32> = try_with_capacity("the places of rows", n)?;
        all.extend((0..n as u32).filter(|&row| data.weights.units(row as usize) > 0));
        let sampling = self.config.sampling(all.len());
        let urn = Urn::new(&Population::new(&Matrix::Dense(places), None, None, sample_weight), sampling)?;
        model.start = self.problem.loss.start(&data.y, width, &all, &data.weights, self.control)?;
        let mut train = ScoredRows::new(data, &model.start, self.control)?;
        let held_out = |(y, weight)| ScoredRows::new(self.data::<T>(y, weight)?, &model.start, self.control);
        let mut validation = validation.map(held_out).transpose()?;
        let mut projection = self.config.stage_projection(width)?;
        let loss_of = |scored: &mut ScoredRows<'_, T>| {
            scored.sweep(None, None, &mut [], None, self.control).map(|losses| losses.all.unwrap_or(0.0))
        };
        let at_start = validation.as_mut().map(loss_of).transpose()?;
        let mut stopping = EarlyStopping::new(self.config, at_start, &[])?;
        rounds(0..self.config.n_estimators, self.control, &mut stopping, |stage| {
            let key = tree_key(self.config.seed, stage);
            let counts = urn.draw(sampling, n, key)?;
            let of_stage = counts.map(|counts| drawn(&all, &counts)).transpose()?;
            let rows = of_stage.as_deref().unwrap_or(&all);
            let mut statistics = Statistics::default();
            if projection.needs(stage) == Needs::Targets {
                statistics.targets = Some(TargetRows { y: TrainY::new(y)?, weights: &weights, rows: &all });
            }
            let projector = projection.draw(stage, &statistics, self.control)?;
            let q = projector.n_targets();
            let mut targets = try_filled("the targets of a stage", 0.0, n * q)?;
            let in_bag = if rows.len() == all.len() { None } else { Some(in_bag(rows, n)?) };
            let before = train.sweep(None, Some(&projector), &mut targets, in_bag.as_deref(), self.control)?;
            if stage == 0 {
                model.oob_losses.extend(before.out_of_bag);
            }
            let weights = &train.data.weights;
            let mut of_rows = try_with_capacity("the targets of a stage", rows.len() * q)?;
            rows.iter().for_each(|&row| of_rows.extend_from_slice(&targets[row as usize * q..][..q]));
            let weight = |&row: &u32| weights.in_sums(weights.units(row as usize));
            let of_stage = try_collected("the weights of a stage", rows.iter().map(weight))?;
            let view = ArrayView2::from_shape((rows.len(), q), &of_rows).expect("q targets for each row");
            let predictions = weak.fit_predict(stage, rows, view, &of_stage)?;
            let values = checked(&predictions.train, n, q)?;
            let leaves = Leaves::single_rows(rows, weights)?;
            let mut of_rows = try_with_capacity("predictions of the weak model", rows.len() * q)?;
            rows.iter().for_each(|&row| of_rows.extend_from_slice(&values[row as usize * q..][..q]));
            let of_leaves = if q == width { LeafValues::Table(of_rows) } else { LeafValues::Scalars(of_rows) };
            let steps =
                train.scores.search_steps(&train.data, &of_leaves, &leaves, self.config.line_search, self.control)?;
            let steps = self.problem.step_dtype.cut(steps);
            let scaled = steps.iter().map(|step| self.config.learning_rate * step);
            let direction = try_collected("the steps of a stage", scaled)?;
            let add = |scored: &mut ScoredRows<'_, T>, values: &[f64], in_bag: Option<&[bool]>| {
                let update = if q == width {
                    Update::Each { values, direction: &direction }
                } else {
                    let leaf_of = try_collected("the leaves of rows", 0..scored.data.n_samples as u32)?;
                    Update::RankOne { leaf_of, values, direction: &direction }
                };
                scored.sweep(Some(update), None, &mut [], in_bag, self.control)
            };
            let losses = add(&mut train, &values, in_bag.as_deref())?;
            model.record_oob(losses.out_of_bag);
            // All cells of y are known.
            let train_loss = losses.all.unwrap_or(0.0);
            model.train_score.push(train_loss);
            let mut validation_loss = None;
            if let Some(scored) = &mut validation {
                let missing =
                    || Error::invalid("predictions of the weak model", "too few", "have predictions for all samples");
                let values = predictions.validation.as_ref().ok_or_else(missing)?;
                let loss = add(scored, &checked(values, scored.data.n_samples, q)?, None)?.all.unwrap_or(0.0);
                model.validation_score.push(loss);
                validation_loss = Some(loss);
            }
            model.step_sizes.extend(steps)?;
            model.check_last_stage(0)?;
            weak.after(&StageReport::of_last(model, train_loss, validation_loss))?;
            Ok(ControlFlow::Continue(validation_loss))
        })
    }

    fn data<'y, T: Float>(&'y self, y: &'y Targets<'_>, sample_weight: Option<&[f64]>) -> Result<Data<'y, T>> {
        let weights = Weights::of_rows(sample_weight, y.n_samples())?;
        Data::new(y, (&self.problem.loss, None), weights, self.problem.width)
    }
}

/// Returns the values of predictions of this shape, row-major, or an error.
fn checked(predictions: &Array2<f64>, n_rows: usize, n_columns: usize) -> Result<Vec<f64>> {
    const WHAT: &str = "predictions of the weak model";
    if predictions.dim() != (n_rows, n_columns) {
        return Err(Error::shape(WHAT, n_rows * n_columns, predictions.len()));
    }
    if !predictions.iter().all(|v| v.is_finite()) {
        return Err(Error::invalid(WHAT, "NaN or infinity", "have finite values"));
    }
    try_collected(WHAT, predictions.iter().copied())
}
