//! Gradient boosting: fitting models, using them, and weak models that Python provides.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use ndarray::{Array2, ArrayView2, Axis};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use weald::{
    BoostConfig, Boosted, Dataset, ErrorKind, Link, OutputStrategy, Result, StageObserver, StageReport, WeakLearner,
    WeakPredictions,
};

use crate::array::{Read1, Read2};
use crate::config::PyBoostConfig;
use crate::enter::{Caller, Entry};
use crate::error::raise;
use crate::input::{PyCellWeights, PyData, PyMatrix, PyRowWeights, PyTargets, contiguous_weights, margins};
use crate::memory;
use crate::models::forest::PyForest;
use crate::models::model::{compacting, copies, grown, model, properties, scores, vectors};
use crate::names::name_of_term;
use crate::output;

/// The approximate number of steps per stage for each stored value of X, over the levels of a tree.
const STEPS_PER_VALUE: usize = 4;
/// The number of scores that are copied between two checks of the stop flag.
const VALUES_AT_ONCE: usize = 1 << 18;

/// A validation set, and its initial scores.
type PyValidation<'py> = (PyData<'py>, Option<Read2<'py, f64>>);

/// A validation set without X, which weak models look up themselves.
pub(super) type PyValidationTargets<'py> = (PyTargets<'py>, Option<Read1<'py, f64>>);

const STAGES: &str = "the stages of a model";

/// A fitted boosting model. It is immutable, so several threads may use it at the same time.
#[pyclass(frozen, eq, module = "weald._weald", name = "Boosted")]
#[derive(Debug, PartialEq)]
pub(crate) struct PyBoosted(pub(crate) Arc<Boosted>);

model!(PyBoosted, Boosted);
grown!(PyBoosted);
properties! { PyBoosted {
    /// The number of scores of a sample.
    width: usize,
    n_stages: usize,
    /// The number of test nodes of all trees.
    n_test_nodes: usize,
    learning_rate: f64,
    /// Whether scores can be turned into probabilities.
    has_probabilities: bool,
}}
copies! { PyBoosted, STAGES, {
    /// (width,): the constant scores before the first stage.
    start: f64,
    /// (n_stages,): the training loss after each stage.
    train_score: f64,
    /// (n_stages,): the validation loss after each stage. Empty without a validation set.
    validation_score: f64,
    /// (n_stages,): the loss after each stage on the samples that the stage was not fitted to. Empty if some stage was
    /// fitted to all samples.
    oob_score: f64,
}}
vectors! { PyBoosted {
    /// (n_stages,): the out-of-bag loss of the previous stage minus that of the stage. Empty if some stage was fitted
    /// to all samples.
    oob_improvement: f64,
}}
scores! { PyBoosted {
    /// (n_samples, width) float64: the scores.
    predict_scores,
}}

/// Returns one weight for each sample, the sample weight times the class weight, or `None` if all weights are equal.
/// Balanced class weights count the samples in which an output is known.
#[pyfunction]
#[pyo3(signature = (y, weights, y_weight=None))]
pub(crate) fn weights_by_row<'py>(
    py: Python<'py>,
    y: PyTargets<'py>,
    weights: PyRowWeights<'py>,
    y_weight: Option<PyCellWeights<'py>>,
) -> PyResult<Option<Bound<'py, PyArray1<f64>>>> {
    let (y, weights) = (y.view()?, weights.contiguous()?);
    let y_weight = y_weight.as_ref().map(PyCellWeights::view).transpose()?;
    let by_row = weights.view()?.by_row(&y, y_weight.as_ref()).map_err(raise)?;
    Ok(by_row.map(|w| output::vector(py, w.into_owned())))
}

/// Returns the sum of the values of each group, rounded once: it does not depend on the order of the values. `groups`
/// has the group of each value, from 0 to `n_groups` − 1.
#[pyfunction]
pub(crate) fn exact_sums<'py>(
    py: Python<'py>,
    groups: Read1<'py, i64>,
    values: Read1<'py, f64>,
    n_groups: usize,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (groups, values) = (groups.as_slice()?, values.as_slice()?);
    let sums = Entry::to_the_end().run(py, |_| weald::exact_sums(groups, values, n_groups))?;
    Ok(output::vector(py, sums))
}

/// Grows the stages of a boosting model of trees. With `grown`, a fitted model, only the stages that it does not have
/// yet are grown.
///
/// `observer` is called after each stage with (stage, training loss, validation loss or None, (out-of-bag loss,
/// improvement) or None, model, scores). The model is that of the stages so far if `wants_models` is true; otherwise it
/// is a model without stages if there are scores, and None if there are none. The scores are those of the validation
/// set, (n_samples, width) float64, if `wants_scores` is true, and None otherwise. If the observer returns a true
/// value, the fit ends.
#[pyfunction]
#[pyo3(signature = (
    data, config, validation=None, grown=None, n_threads=1, progress=None, base_margin=None, observer=None,
    wants_scores=false, wants_models=false,
))]
#[allow(clippy::too_many_arguments)] // the signature of a Python function
pub(crate) fn fit_boosting<'py>(
    py: Python<'py>,
    data: PyData<'py>,
    config: PyBoostConfig,
    validation: Option<PyValidation<'py>>,
    grown: Option<Py<PyBoosted>>,
    n_threads: usize,
    progress: Option<Bound<'py, PyAny>>,
    base_margin: Option<Read2<'py, f64>>,
    observer: Option<Py<PyAny>>,
    wants_scores: bool,
    wants_models: bool,
) -> PyResult<PyBoosted> {
    let (data, weights) = data.views()?;
    let data = weights.of(&data)?.base_margin(margins(&base_margin)).schema(config.schema());
    let (config, loss) = config.into_config()?;
    let held = validation.as_ref().map(|(data, margin)| PyResult::Ok((data.views()?, margins(margin)))).transpose()?;
    let held = held.as_ref().map(|((data, weights), margin)| PyResult::Ok(weights.of(data)?.base_margin(*margin)));
    let validation = held.transpose()?;
    let entry = Entry { n_threads, cost: cost_of_fit(&data, &config), progress };
    let grown = grown.as_ref().map(|model| &*model.get().0);
    let grown = entry.run_with_calls(py, |control, caller| {
        loss.stops(control);
        // A fit that goes on has its scores already.
        if grown.is_none() {
            memory::reserve(&data, None, |shapes| config.fit_memory(shapes, n_threads, observer.is_some()))?;
        }
        let observer = observer.map(Arc::new);
        let mut observer = PyObserver { observer, caller, wants_scores, wants_models };
        let mut fit = config.fitting().start_from(grown).observer(&mut observer);
        if let Some(held_out) = &validation {
            fit = fit.validation(held_out);
        }
        fit.fit((&data, control))
    });
    loss.unless_raised(grown).map(PyBoosted::from)
}

/// A Python function that is called after each stage, if there is one.
#[derive(Debug)]
struct PyObserver<'c> {
    observer: Option<Arc<Py<PyAny>>>,
    caller: &'c mut Caller,
    wants_scores: bool,
    wants_models: bool,
}

impl StageObserver for PyObserver<'_> {
    fn after(&mut self, report: &StageReport<'_>) -> ControlFlow<()> {
        const WHAT: &str = "scores of the validation set";
        let Some(observer) = &self.observer else { return ControlFlow::Continue(()) };
        let found = || {
            let wanted =
                if self.wants_models { Some(report.model.n_stages()) } else { report.validation_scores.map(|_| 0) };
            let model = wanted.map(|n_stages| report.model.truncated(n_stages)).transpose().map_err(raise)?;
            let scores = report.validation_scores.map(|scores| output::owned(WHAT, scores)).transpose()?;
            Ok((model.map(PyBoosted::from), scores))
        };
        let (model, scores) = match found() {
            Ok(found) => found,
            Err(error) => {
                self.caller.call(|_| Err(error));
                return ControlFlow::Break(());
            }
        };
        let out_of_bag = report.oob_loss.zip(report.oob_improvement);
        let (observer, report) =
            (Arc::clone(observer), (report.stage, report.train_loss, report.validation_loss, out_of_bag));
        let goes_on = self.caller.call(move |py| {
            let scores = scores.map(|scores| output::array(py, scores));
            let ends = observer.bind(py).call1((report.0, report.1, report.2, report.3, model, scores))?;
            Ok(!ends.is_truthy()?)
        });
        if goes_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    fn wants_scores(&self) -> bool {
        self.wants_scores
    }
}

/// Returns the mean loss of samples by their scores, (n_samples, width) float64, in the way of a fit; `None` if no cell of
/// y is known. Without scores, only y is checked.
#[pyfunction]
#[pyo3(signature = (y, sample_weight, config, scores=None, n_threads=1, y_weight=None))]
pub(crate) fn mean_loss<'py>(
    py: Python<'py>,
    y: PyTargets<'py>,
    sample_weight: Option<Read1<'py, f64>>,
    config: PyBoostConfig,
    scores: Option<Read2<'py, f64>>,
    n_threads: usize,
    y_weight: Option<PyCellWeights<'py>>,
) -> PyResult<Option<f64>> {
    let (y, (config, loss)) = (y.view()?, config.into_config()?);
    let w = contiguous_weights(sample_weight.as_ref())?;
    let y_weight = y_weight.as_ref().map(PyCellWeights::view).transpose()?;
    let scores = scores.as_ref().map(|scores| scores.as_array());
    let entry = Entry { n_threads, cost: scores.map_or(0, |scores| scores.len()), progress: None };
    let found = entry.run(py, |control| {
        loss.stops(control);
        config.mean_loss(&y, w.as_deref(), y_weight, scores, control)
    });
    loss.unless_raised(found)
}

/// Returns a model with the trees of `model` and with leaves that are fitted to these data; if `n_test_nodes` is given,
/// after the weakest splits have become leaves, so that at most so many are left.
#[pyfunction]
#[pyo3(signature = (model, data, config, n_threads=1, base_margin=None, n_test_nodes=None))]
pub(crate) fn refit_leaves<'py>(
    py: Python<'py>,
    model: Py<PyBoosted>,
    data: PyData<'py>,
    config: PyBoostConfig,
    n_threads: usize,
    base_margin: Option<Read2<'py, f64>>,
    n_test_nodes: Option<usize>,
) -> PyResult<PyBoosted> {
    let (data, weights) = data.views()?;
    let data = weights.of(&data)?.base_margin(margins(&base_margin)).schema(config.schema());
    let (config, loss) = config.into_config()?;
    let entry = Entry { n_threads, cost: cost_of_fit(&data, &config), progress: None };
    let model = &model.get().0;
    let refitted = entry.run(py, |control| {
        loss.stops(control);
        let data = (&data, control);
        match n_test_nodes {
            Some(n_test_nodes) => config.prune(model, data, n_test_nodes),
            None => config.refit_leaves(model, data),
        }
    });
    loss.unless_raised(refitted).map(PyBoosted::from)
}

/// Boosts weak models. `shape` is the shape of X, which only `fit_predict` knows. `fit_predict` is called with the
/// stage, the samples, their targets and their weights, fits a model, and returns its predictions for all training
/// samples and for those of the validation set. With `grown`, a fitted model, only the stages that it does not have yet
/// are fitted; for the others, `fit_predict` is called without samples and only predicts.
///
/// `observer` is called after each stage with (stage, training loss, validation loss or None, (out-of-bag loss,
/// improvement) or None). Both functions run on the calling thread. An exception that they raise, such as that of
/// Ctrl-C, ends the fit.
#[pyfunction]
#[pyo3(signature = (fit_predict, shape, y, sample_weight, config, validation=None, progress=None, observer=None, grown=None))]
#[allow(clippy::too_many_arguments)] // the signature of a Python function
pub(crate) fn fit_boosting_with<'py>(
    py: Python<'py>,
    fit_predict: Py<PyAny>,
    shape: (usize, usize),
    y: PyTargets<'py>,
    sample_weight: Option<Read1<'py, f64>>,
    config: PyBoostConfig,
    validation: Option<PyValidationTargets<'py>>,
    progress: Option<Bound<'py, PyAny>>,
    observer: Option<Py<PyAny>>,
    grown: Option<Py<PyBoosted>>,
) -> PyResult<PyBoosted> {
    let (y, (config, loss)) = (y.view()?, config.into_config()?);
    let w = contiguous_weights(sample_weight.as_ref())?;
    let held_weights = contiguous_weights(validation.as_ref().and_then(|(_, w)| w.as_ref()))?;
    let validation = match &validation {
        Some((y, _)) => Some((y.view()?, held_weights.as_deref())),
        None => None,
    };
    let unbound = progress.clone().map(Bound::unbind);
    let mut learner = Callback { progress: unbound, observer, grown, ..Callback::new(fit_predict) };
    let entry = Entry { n_threads: 1, cost: 0, progress };
    let outcome = entry.run(py, |control| {
        loss.stops(control);
        config.fit_with(&mut learner, shape, &y, w.as_deref(), validation, control)
    });
    let outcome = loss.unless_raised(outcome);
    match learner.raised {
        Some(error) => Err(error),
        None => outcome.map(PyBoosted::from),
    }
}

/// A weak model that a Python function fits.
#[derive(Debug)]
pub(super) struct Callback {
    fit_predict: Py<PyAny>,
    progress: Option<Py<PyAny>>,
    observer: Option<Py<PyAny>>,
    grown: Option<Py<PyBoosted>>,
    /// The exception that a function raised. The engine is told that the work was interrupted, and Python gets this
    /// exception.
    pub(super) raised: Option<PyErr>,
}

const PREDICTIONS: &str = "predictions of the weak model";

impl Callback {
    pub(super) fn new(fit_predict: Py<PyAny>) -> Self {
        Callback { fit_predict, progress: None, observer: None, grown: None, raised: None }
    }

    fn unless_raised<T>(&mut self, found: PyResult<T>) -> Result<T> {
        found.map_err(|error| {
            self.raised = Some(error);
            ErrorKind::Interrupted.into()
        })
    }

    fn call(
        &self,
        py: Python<'_>,
        stage: usize,
        rows: &[u32],
        targets: ArrayView2<'_, f64>,
        weights: &[f64],
    ) -> PyResult<WeakPredictions> {
        if let Some(progress) = &self.progress {
            progress.call1(py, (stage,))?;
        }
        const WHAT: &str = "the targets of a stage";
        let targets = output::copied_rows(py, WHAT, targets)?;
        let arguments = (stage, output::copied(py, WHAT, rows)?, targets, output::copied(py, WHAT, weights)?);
        let found = self.fit_predict.bind(py).call1(arguments)?;
        let (train, validation): (Read2<'_, f64>, Option<Read2<'_, f64>>) = found.extract()?;
        let validation = validation.map(|values| output::owned(PREDICTIONS, values.as_array())).transpose()?;
        Ok(WeakPredictions::new(output::owned(PREDICTIONS, train.as_array())?, validation))
    }
}

impl WeakLearner for Callback {
    fn model(&self) -> Option<&Boosted> {
        self.grown.as_ref().map(|model| &*model.get().0)
    }

    fn fit_predict(
        &mut self,
        stage: usize,
        rows: &[u32],
        targets: ArrayView2<'_, f64>,
        weights: &[f64],
    ) -> Result<WeakPredictions> {
        let found = Python::attach(|py| self.call(py, stage, rows, targets, weights));
        self.unless_raised(found)
    }

    fn after(&mut self, report: &StageReport<'_>) -> Result<()> {
        let Some(observer) = &self.observer else { return Ok(()) };
        let told =
            (report.stage, report.train_loss, report.validation_loss, report.oob_loss.zip(report.oob_improvement));
        let told = Python::attach(|py| observer.call1(py, told).map(|_| ()));
        self.unless_raised(told)
    }
}

/// Returns the approximate number of steps of growing all stages.
pub(super) fn cost_of_fit(data: &Dataset<'_>, config: &BoostConfig) -> usize {
    let width = data.y().width();
    let trees = if matches!(config.strategy, OutputStrategy::SingleTarget) { width } else { 1 };
    let growth = data.x().n_stored().saturating_mul(STEPS_PER_VALUE).saturating_mul(trees);
    let sweep = data.n_samples().saturating_mul(width);
    growth.saturating_add(sweep).saturating_mul(config.n_estimators)
}

#[pymethods]
impl PyBoosted {
    /// The trees in the order of stages and, within a stage, of scores. `None` if the weak models are not trees.
    #[getter]
    fn forest(&self) -> Option<PyForest> {
        self.0.forest().map(PyForest::from)
    }

    /// Returns the model after its first `n_stages` stages.
    fn truncated(&self, py: Python<'_>, n_stages: usize) -> PyResult<PyBoosted> {
        Entry::to_the_end().run(py, |_| self.0.truncated(n_stages)).map(PyBoosted::from)
    }

    /// Whether scores are logarithms of the predicted numbers.
    #[getter]
    fn has_log_link(&self) -> bool {
        self.0.link() == Link::Log
    }

    /// The link, that is, how scores are turned into predictions.
    #[getter]
    fn link(&self) -> &'static str {
        self.0.link().name()
    }

    /// How leaves are added to scores. "leaf": a leaf has one value for each score. "column": a leaf has one value for
    /// one score, and trees take turns over the scores. "rank_one": a leaf has one value, which is multiplied by the
    /// learning rate and the step size of each score.
    #[getter]
    fn term(&self) -> PyResult<&'static str> {
        self.0.additive().map(|model| name_of_term(&model)).map_err(raise)
    }

    /// (n_stages, width): the step sizes, without the learning rate.
    fn step_sizes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        Ok(output::array(py, Entry::to_the_end().run(py, |_| self.0.step_sizes())?))
    }

    /// Returns an iterator over the scores after each stage. X should not be CSC, because each stage would transpose
    /// it.
    #[pyo3(signature = (x, n_threads=1))]
    fn staged_scores(&self, py: Python<'_>, x: Py<PyAny>, n_threads: usize) -> PyResult<PyStaged> {
        let n_samples = x.bind(py).extract::<PyMatrix<'_>>()?.view()?.n_samples();
        let cost = n_samples.saturating_mul(self.0.width()).saturating_mul(STEPS_PER_VALUE);
        let entry = Entry { n_threads: 1, cost, progress: None };
        let start = entry.run(py, |control| self.0.start_scores(n_samples, control))?;
        Ok(PyStaged { model: Arc::clone(&self.0), x, n_threads, state: Mutex::new((0, start)) })
    }

    /// Turns the scores of each sample into predictions: numerical outputs or probabilities, with two columns for two
    /// classes.
    fn to_predictions<'py>(&self, py: Python<'py>, scores: Read2<'py, f64>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let scores = scores.as_array();
        let entry = Entry { n_threads: 1, cost: scores.len().saturating_mul(STEPS_PER_VALUE), progress: None };
        Ok(output::array(py, entry.run(py, |control| self.0.to_predictions(scores, control))?))
    }

    /// Returns the total decrease of impurity by each feature, as a fraction of the sum over features.
    fn feature_importances<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let importances = Entry::to_the_end().run(py, |_| self.0.feature_importances())?;
        Ok(output::vector(py, importances))
    }

    /// Returns the model without leaf values that are so small that leaving them out changes no score by more than
    /// `max_change`.
    #[pyo3(signature = (max_change, n_threads=1))]
    fn without_small_values(&self, py: Python<'_>, max_change: f64, n_threads: usize) -> PyResult<PyBoosted> {
        let run = |control: &_| self.0.without_small_values(max_change, control);
        compacting(self.0.additive(), n_threads).run(py, run).map(PyBoosted::from)
    }
}

/// An iterator over the scores after each stage. It stores the scores of the last stage.
#[pyclass(frozen, module = "weald._weald", name = "StagedScores")]
#[derive(Debug)]
pub(crate) struct PyStaged {
    model: Arc<Boosted>,
    x: Py<PyAny>,
    n_threads: usize,
    /// The number of stages so far, and the scores after them.
    state: Mutex<(usize, Array2<f64>)>,
}

#[pymethods]
impl PyStaged {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    /// (n_samples, width) float64: the scores after the next stage.
    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        // This never waits for the lock, because the thread that has it may be waiting for the GIL.
        let Ok(mut state) = self.state.try_lock() else {
            return Err(PyValueError::new_err("scores of the next stage are being computed by another thread"));
        };
        let (stage, scores) = &mut *state;
        if *stage == self.model.n_stages() {
            return Ok(None);
        }
        let x: PyMatrix<'_> = self.x.bind(py).extract()?;
        let x = x.view()?;
        let cost = scores.len().saturating_mul(STEPS_PER_VALUE).saturating_add(x.n_stored());
        let entry = Entry { n_threads: self.n_threads, cost, progress: None };
        let copy = output::zeros(py, scores.nrows(), scores.ncols())?;
        let mut new = copy.try_readwrite().expect("nobody else has the new array");
        let mut new_rows = new.as_array_mut();
        entry.run(py, |control| {
            self.model.add_stage(*stage, (&x, control), scores)?;
            let n_rows = (VALUES_AT_ONCE / self.model.width()).max(1);
            let parts = new_rows.axis_chunks_iter_mut(Axis(0), n_rows).zip(scores.axis_chunks_iter(Axis(0), n_rows));
            parts.into_iter().try_for_each(|(mut to, part)| {
                to.assign(&part);
                control.check()
            })
        })?;
        *stage += 1;
        Ok(Some(copy))
    }
}
