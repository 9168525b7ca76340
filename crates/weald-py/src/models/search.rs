//! Searches for the number of stages of boosting by folds.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use numpy::PyArray1;
use pyo3::prelude::*;
use weald::folds::Split;
use weald::{Search, SearchObserver, StageReport, StageSearch, WeakFold};

use super::boost::{Callback, PyBoosted, PyValidationTargets, cost_of_fit};
use crate::array::{Read1, Read2};
use crate::config::PyBoostConfig;
use crate::enter::{Caller, Entry};
use crate::error::raise;
use crate::input::{PyData, PyTargets, contiguous, contiguous_weights, margins};
use crate::memory;
use crate::output;

/// The mean losses of training samples and of held-out ones and, if there are scorers, the mean scores after each stage, and the
/// number of stages.
type PySearch<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, usize);

/// Searches for the number of stages by the mean losses of `folds`, which are pairs of training and held-out samples.
/// `base_margins` are the initial scores of all samples for each fold, if these differ.
///
/// `observer` is called after each stage with (stage, training loss, held-out loss, score or None); if it returns a true value,
/// the search ends. `scorers`, one for each fold, are called with (a model without stages, scores of the held-out samples).
#[pyfunction]
#[pyo3(signature = (
    data, config, folds, patience_share, n_threads=1, progress=None, base_margin=None, base_margins=Vec::new(),
    observer=None, scorers=Vec::new(),
))]
#[allow(clippy::too_many_arguments)] // the signature of a Python function
pub(crate) fn search_stages<'py>(
    py: Python<'py>,
    data: PyData<'py>,
    config: PyBoostConfig,
    folds: Vec<(Read1<'py, u32>, Read1<'py, u32>)>,
    patience_share: f64,
    n_threads: usize,
    progress: Option<Bound<'py, PyAny>>,
    base_margin: Option<Read2<'py, f64>>,
    base_margins: Vec<Read2<'py, f64>>,
    observer: Option<Py<PyAny>>,
    scorers: Vec<Py<PyAny>>,
) -> PyResult<PySearch<'py>> {
    let (data, weights) = data.views()?;
    let data = weights.of(&data)?.base_margin(margins(&base_margin)).schema(config.schema());
    let (config, loss) = config.into_config()?;
    let rows = |rows: &Read1<'_, u32>| contiguous(rows, "folds").map(|rows| rows.to_vec());
    let split = |(train, held): &(_, _)| Ok(Split::new(rows(train)?, rows(held)?));
    let folds = folds.iter().map(split).collect::<PyResult<Vec<Split>>>()?;
    let of_folds = base_margins.iter().map(|margins| margins.as_array()).collect::<Vec<_>>();
    let entry = Entry { n_threads, cost: cost_of_fit(&data, &config), progress };
    let search = StageSearch::default().folds(&folds).base_margins(&of_folds).patience_share(patience_share);
    let found = entry.run_with_calls(py, |control, caller| {
        loss.stops(control);
        memory::reserve(&data, None, |shapes| config.fit_memory(shapes, n_threads, true))?;
        config.search((&data, control), &search, &mut PyObserver::new(observer, scorers, caller))
    });
    Ok(arrays(py, loss.unless_raised(found)?))
}

/// The same for weak models that Python fits. Each fold has a function as that of `fit_boosting_with`, the weights of all
/// samples, and y and the weights of the held-out samples.
#[pyfunction]
#[pyo3(signature = (shape, y, config, folds, patience_share, progress=None, observer=None))]
#[allow(clippy::too_many_arguments)] // the signature of a Python function
pub(crate) fn search_stages_with<'py>(
    py: Python<'py>,
    shape: (usize, usize),
    y: PyTargets<'py>,
    config: PyBoostConfig,
    folds: Vec<(Py<PyAny>, Read1<'py, f64>, PyValidationTargets<'py>)>,
    patience_share: f64,
    progress: Option<Bound<'py, PyAny>>,
    observer: Option<Py<PyAny>>,
) -> PyResult<PySearch<'py>> {
    let (y, (config, loss)) = (y.view()?, config.into_config()?);
    let learner = |(fit_predict, ..): &(Py<PyAny>, _, _)| Callback::new(fit_predict.clone_ref(py));
    let mut learners = folds.iter().map(learner).collect::<Vec<_>>();
    let weights = |(_, of_all, (_, w)): &(_, Read1<'_, f64>, PyValidationTargets<'_>)| {
        Ok((contiguous(of_all, "sample_weight")?.into_owned(), contiguous_weights(w.as_ref())?.map(|w| w.into_owned())))
    };
    let weights = folds.iter().map(weights).collect::<PyResult<Vec<_>>>()?;
    let mut parts = Vec::with_capacity(folds.len());
    for ((weak, (of_all, w)), (.., (y, _))) in learners.iter_mut().zip(&weights).zip(&folds) {
        parts.push(WeakFold::new(weak, of_all, (y.view()?, w.as_deref())));
    }
    let entry = Entry { n_threads: 1, cost: 0, progress };
    let found = entry.run_with_calls(py, |control, caller| {
        loss.stops(control);
        let mut observer = PyObserver::new(observer, Vec::new(), caller);
        config.search_with(shape, &y, parts, patience_share, &mut observer, control)
    });
    let found = loss.unless_raised(found);
    match learners.into_iter().find_map(|learner| learner.raised) {
        Some(error) => Err(error),
        None => Ok(arrays(py, found?)),
    }
}

fn arrays(py: Python<'_>, found: Search) -> PySearch<'_> {
    let [train, held_out, scores] = [found.train, found.held_out, found.scores].map(|curve| output::vector(py, curve));
    (train, held_out, scores, found.n_stages)
}

/// Python functions that are called after each stage, and that score the stages of each fold.
struct PyObserver<'c> {
    observer: Option<Arc<Py<PyAny>>>,
    scorers: Vec<Arc<Py<PyAny>>>,
    caller: &'c mut Caller,
}

impl<'c> PyObserver<'c> {
    fn new(observer: Option<Py<PyAny>>, scorers: Vec<Py<PyAny>>, caller: &'c mut Caller) -> Self {
        PyObserver { observer: observer.map(Arc::new), scorers: scorers.into_iter().map(Arc::new).collect(), caller }
    }
}

impl SearchObserver for PyObserver<'_> {
    fn after(&mut self, so_far: &Search) -> ControlFlow<()> {
        let Some(observer) = self.observer.clone() else { return ControlFlow::Continue(()) };
        let last = |curve: &[f64]| curve.last().copied();
        let told = (so_far.train.len() - 1, last(&so_far.train), last(&so_far.held_out), last(&so_far.scores));
        let goes_on = self.caller.call(move |py| Ok(!observer.bind(py).call1(told)?.is_truthy()?));
        if goes_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    fn scores(&self) -> bool {
        !self.scorers.is_empty()
    }

    fn score(&mut self, fold: usize, report: &StageReport<'_>) -> ControlFlow<(), f64> {
        const WHAT: &str = "scores of the validation set";
        let Some(scorer) = self.scorers.get(fold).cloned() else { return ControlFlow::Break(()) };
        let model = report.model.truncated(0).map_err(raise);
        let scores = report.validation_scores.map(|scores| output::owned(WHAT, scores)).transpose();
        let found = Arc::new(Mutex::new(0.0));
        let score = Arc::clone(&found);
        let goes_on = self.caller.call(move |py| {
            let (model, scores) = (PyBoosted::from(model?), scores?.map(|scores| output::array(py, scores)));
            *score.lock().unwrap_or_else(PoisonError::into_inner) =
                scorer.bind(py).call1((model, scores))?.extract()?;
            Ok(true)
        });
        let found = *found.lock().unwrap_or_else(PoisonError::into_inner);
        if goes_on { ControlFlow::Continue(found) } else { ControlFlow::Break(()) }
    }
}
