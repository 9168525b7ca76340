//! Weak models other than trees: anything that can be fitted to numbers and predict numbers, in the caller's hands.

use ndarray::{Array2, ArrayView2};

use super::config::{BoostConfig, OutputStrategy};
use super::fit::{is_over, least};
use super::model::{Boosted, Combine};
use super::problem::{Problem, in_columns, n_scores};
use super::projector::Projector;
use super::stages::drawn;
use super::start::start;
use super::state::{Data, Leaves, State, Update};
use super::steps::{Method, Stage, Weak};
use super::vector::Score;
use crate::config::Sampling;
use crate::control::Control;
use crate::data::{Matrix, Targets, Weights};
use crate::error::{Error, Result, try_collected, try_filled, try_with_capacity};
use crate::forest::bootstrap::{Urn, tree_key};
use crate::split::dispatch::SplitY;

/// A weak model in the caller's hands.
pub trait WeakLearner: Send {
    /// Fits stage `stage` to `targets` (one row for each of `rows`, which rise, with `weights`), and predicts.
    ///
    /// # Errors
    /// Whatever fails ends the fit.
    fn fit_predict(
        &mut self,
        stage: usize,
        rows: &[u32],
        targets: ArrayView2<'_, f64>,
        weights: &[f64],
    ) -> Result<WeakPredictions>;
}

/// Predictions of a weak model: of one number a row, or with the joint strategy of one for each score.
#[derive(Clone, Debug)]
pub struct WeakPredictions {
    /// Of all training rows.
    pub train: Array2<f64>,
    /// Of all validation rows, where there are some.
    pub validation: Option<Array2<f64>>,
}

/// y of a validation set, and one weight for each row.
pub type ValidationTargets<'a> = (Targets<'a>, Option<&'a [f64]>);

impl BoostConfig {
    /// Fits a model whose weak models are not trees: `n_samples` rows of an X that only `weak` knows, with `n_features`.
    ///
    /// The joint strategy asks for a prediction for each score, a projected one without relabelled leaves for one number.
    /// The parameters of trees are not used. Cost: one call of `weak` a stage, and for each score a line search over the
    /// rows.
    ///
    /// # Errors
    /// As [`BoostConfig::fit`]; [`crate::ErrorKind::Invalid`] for single targets and relabelled leaves,
    /// [`crate::ErrorKind::Shape`] for predictions of another shape, and whatever `weak` fails with.
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
            return Err(Error::invalid("X", "0 rows long", "at least one sample"));
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
                return Err(Error::invalid("relabel_leaves", "true", "false for weak models that are no trees"));
            }
            OutputStrategy::SingleTarget => {
                let accepted = "\"joint\" or \"projected\" for weak models that are no trees";
                return Err(Error::invalid("output_strategy", "\"single_target\"", accepted));
            }
        };
        if let Some((y, weight)) = &validation {
            y.check(y.n_samples())?;
            Weights::check(*weight, y.n_samples())?;
            if y.outputs() != outputs {
                return Err(Error::invalid("y of the validation set", "of other outputs", "the outputs of y"));
            }
        } else if self.n_iter_no_change.is_some() {
            return Err(Error::invalid("validation", "None", "a validation set, as n_iter_no_change is given"));
        }
        let mut problem = Problem::new(self, outputs)?;
        problem.combine = combine;
        let columns = in_columns(y)?;
        let columns_validation = validation.as_ref().map(|(y, _)| in_columns(y)).transpose()?;
        let mut fitting = Fitting { config: self, problem, weak, control };
        let mut model = Boosted::empty(&fitting.problem, n_features, self.learning_rate);
        let validation = columns_validation.as_ref().zip(validation.as_ref().map(|v| v.1));
        if fitting.problem.is_narrow() {
            fitting.fit::<f32>(&mut model, &columns, sample_weight, validation)?;
        } else {
            fitting.fit::<f64>(&mut model, &columns, sample_weight, validation)?;
        }
        if self.n_iter_no_change.is_some() { model.truncated(least(&model.validation_score) + 1) } else { Ok(model) }
    }
}

struct Fitting<'f> {
    config: &'f BoostConfig,
    problem: Problem<'f>,
    weak: &'f mut dyn WeakLearner,
    control: &'f Control,
}

impl Fitting<'_> {
    fn fit<T: Score>(
        &mut self,
        model: &mut Boosted,
        y: &Targets<'_>,
        sample_weight: Option<&[f64]>,
        validation: Option<(&Targets<'_>, Option<&[f64]>)>,
    ) -> Result<()> {
        let (n, width) = (y.n_samples(), self.problem.width);
        let data = self.data::<T>(y, sample_weight)?;
        let validation = validation.map(|(y, weight)| self.data::<T>(y, weight)).transpose()?;
        // Rows are drawn by their places: what is in them is not known here.
        let places = try_filled("the places of rows", 0.0f32, n)?;
        let places = ArrayView2::from_shape((n, 1), &places).expect("a place for each row");
        let mut all: Vec<u32> = try_with_capacity("the places of rows", n)?;
        all.extend((0..n as u32).filter(|&row| data.weights.units(row as usize) > 0));
        let sampling = match self.config.subsample {
            share if share < 1.0 => Sampling::WithoutReplacement(((share * all.len() as f64) as usize).max(1)),
            _ => Sampling::All,
        };
        let urn = Urn::new(&Matrix::Dense(places), sample_weight, sampling)?;
        model.start = start(&data, self.problem.kind, self.problem.softmax.as_deref(), &all)?;
        let mut state = State::<T>::new(&model.start, n, self.control)?;
        let mut state_validation =
            validation.as_ref().map(|data| State::<T>::new(&model.start, data.n_samples, self.control)).transpose()?;
        for stage in 0..self.config.n_estimators {
            self.control.check()?;
            let key = tree_key(self.config.seed, stage);
            let counts = urn.draw(sampling, n, key)?;
            let of_stage = counts.map(|counts| drawn(&all, &counts)).transpose()?;
            let rows = of_stage.as_deref().unwrap_or(&all);
            let projector = match self.problem.combine {
                Combine::OtherEach => Projector::Identity(width),
                _ => self.config.projector(stage, width, None, self.control)?,
            };
            let q = projector.n_targets();
            let mut targets = try_filled("the targets of a stage", 0.0, n * q)?;
            let swept = state.sweep(&data, None, Some(&projector), &mut targets, self.control)?;
            let mut of_rows = try_with_capacity("the targets of a stage", rows.len() * q)?;
            rows.iter().for_each(|&row| of_rows.extend_from_slice(&targets[row as usize * q..][..q]));
            let weight = |&row: &u32| data.weights.units(row as usize) as f64 * data.weights.unit;
            let weights = try_collected("the weights of a stage", rows.iter().map(weight))?;
            let view = ArrayView2::from_shape((rows.len(), q), &of_rows).expect("q targets for each row");
            let predictions = self.weak.fit_predict(stage, rows, view, &weights)?;
            let train = checked(&predictions.train, n, q)?;
            let leaves = Leaves::single_rows(rows, &data.weights)?;
            let mut of_rows = try_with_capacity("predictions of the weak model", rows.len() * q)?;
            rows.iter().for_each(|&row| of_rows.extend_from_slice(&train[row as usize * q..][..q]));
            let weak = if q == width { Weak::Table(of_rows) } else { Weak::Scalars(of_rows) };
            let method = if self.problem.softmax.is_some() { Method::Softmax } else { Method::Columns };
            let steps = Stage {
                data: &data,
                state: &state,
                leaves: &leaves,
                bounds: &swept.bounds,
                kind: self.problem.kind,
                method,
                search: self.config.line_search,
                starts: self.problem.softmax.as_deref().unwrap_or_default(),
                control: self.control,
            }
            .steps_along(&weak)?;
            let steps = self.problem.step_dtype.cut(steps);
            let scaled = steps.iter().map(|step| T::from_f64(self.config.learning_rate * step));
            let direction = try_collected("the steps of a stage", scaled)?;
            let update = |values| match q == width {
                true => Update::Each { values, direction: &direction },
                false => Update::RankOne { values, direction: &direction },
            };
            let swept = state.sweep(&data, Some(&update(&train)), None, &mut [], self.control)?;
            model.train_score.push(swept.loss);
            if let (Some(data), Some(state)) = (&validation, &mut state_validation) {
                let missing = || Error::invalid("predictions of the weak model", "None", "predictions of all rows");
                let values = predictions.validation.as_ref().ok_or_else(missing)?;
                let values = checked(values, data.n_samples, q)?;
                let swept = state.sweep(data, Some(&update(&values)), None, &mut [], self.control)?;
                model.validation_score.push(swept.loss);
            }
            model.step_sizes.extend(steps)?;
            self.control.one_more_done();
            if is_over(self.config, &model.validation_score) {
                break;
            }
        }
        Ok(())
    }

    fn data<'y, T: Score>(&self, y: &'y Targets<'_>, sample_weight: Option<&[f64]>) -> Result<Data<'y, T>> {
        let n_samples = y.n_samples();
        let weights = Weights::of_rows(sample_weight, n_samples)?;
        let loss = self.problem.rows::<T>()?;
        Ok(Data { n_samples, y: SplitY::new(y)?, loss, weights, width: self.problem.width })
    }
}

/// The values of predictions of that shape, row-major.
fn checked(predictions: &Array2<f64>, n_rows: usize, n_columns: usize) -> Result<Vec<f64>> {
    const WHAT: &str = "predictions of the weak model";
    if predictions.dim() != (n_rows, n_columns) {
        return Err(Error::shape(WHAT, n_rows * n_columns, predictions.len()));
    }
    if !predictions.iter().all(|v| v.is_finite()) {
        return Err(Error::invalid(WHAT, "NaN or infinite in places", "finite numbers"));
    }
    try_collected(WHAT, predictions.iter().copied())
}
