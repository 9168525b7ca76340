//! Linear models: parameters from a dictionary, fits, and a frozen class around the model.

use std::sync::Arc;

use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use weald::{Calibration, Dataset, FoldModels, Grid, LinearConfig, LinearModel, Matrix};

use crate::array::Read2;
use crate::config::one_of;
use crate::enter::Entry;
use crate::error::raise;
use crate::input::{PyData, collected};
use crate::models::model::{model, properties, scores};
use crate::names::{self, LINEAR_LOSSES};
use crate::output;

const WHAT: &str = "the weights of a linear model";

/// The keys of the dictionary of a linear model's parameters.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct PyLinearConfig {
    loss: String,
    /// `None`: C is chosen by held-out samples.
    c: Option<f64>,
    /// `None`: features are chosen in the same way.
    features: Option<String>,
    calibration: bool,
    intercept_scaling: f64,
    tol: f64,
    max_iter: usize,
    min_weight: f64,
    half_precision: bool,
    seed: u64,
}

impl PyLinearConfig {
    /// Returns the configuration, and what is chosen by held-out samples.
    pub(crate) fn into_config(self) -> PyResult<(LinearConfig, Option<Grid>)> {
        let features = self.features.map(|name| names::features(&name)).transpose()?;
        let loss = one_of("loss", &self.loss, LINEAR_LOSSES)?;
        let (plain, mut grid) = (LinearConfig::default().loss(loss), Grid::of(loss));
        let is_chosen = self.c.is_none() || features.is_none();
        grid.c = self.c.map_or(grid.c, |c| vec![c]);
        grid.features = features.map_or(grid.features, |features| vec![features]);
        let config = plain
            .c(grid.c[0])
            .features(grid.features[0])
            .calibration(self.calibration)
            .intercept_scaling(self.intercept_scaling)
            .tol(self.tol)
            .max_iter(self.max_iter)
            .min_weight(self.min_weight)
            .half_precision(self.half_precision)
            .seed(self.seed);
        Ok((config, is_chosen.then_some(grid)))
    }
}

/// The approximate number of passes over the stored entries of X for each sixteen columns.
const PASSES: usize = 16;

/// The approximate number of steps of a link for each score.
const STEPS_PER_VALUE: usize = 16;

/// A fitted linear model. It is immutable, so several threads may use it at the same time.
#[pyclass(frozen, eq, module = "weald._weald", name = "LinearModel")]
#[derive(Debug, PartialEq)]
pub(crate) struct PyLinear(Arc<LinearModel>);

model!(PyLinear, LinearModel);
scores! { PyLinear {
    /// (n_samples, width) float64: the scores, logits or half of them for the logistic link.
    predict_scores,
    /// (n_samples, n_columns) float64: the probabilities.
    predict,
}}
properties! { PyLinear {
    /// The number of columns whose fit did not reach the tolerance.
    n_unfinished: usize,
    /// The largest number of passes over the samples of a column.
    n_iter: usize,
}}

/// (n_samples,) uint32: the fold of each sample; the model of each fold, fitted to the samples of the others.
type PyFoldModels<'py> = (Bound<'py, PyArray1<u32>>, Vec<PyLinear>);

/// Fits a linear model, or its columns from the first of `columns` to before the second. Returns it, the C that it was fitted
/// with, and `with_folds` the models without each of three folds, with the calibration of the model.
#[pyfunction]
#[pyo3(signature = (data, config, n_threads=1, progress=None, columns=None, with_folds=false))]
pub(crate) fn fit_linear<'py>(
    py: Python<'py>,
    data: PyData<'py>,
    config: PyLinearConfig,
    n_threads: usize,
    progress: Option<Bound<'py, PyAny>>,
    columns: Option<(usize, usize)>,
    with_folds: bool,
) -> PyResult<(PyLinear, f64, Option<PyFoldModels<'py>>)> {
    let ((data, weights), (config, grid)) = (data.views()?, config.into_config()?);
    let data = weights.of(&data)?;
    let entry = Entry { n_threads, cost: cost_of_fit(&data), progress };
    let (first, end) = columns.unwrap_or((0, usize::MAX));
    let (model, c, folds) = entry.run(py, |control| {
        let Some(grid) = grid.or_else(|| with_folds.then(|| Grid::only(&config))) else {
            return Ok((config.fit_columns((&data, control), first..end)?, config.c, None));
        };
        let choice = config.choose((&data, control), &grid)?;
        let model = choice.fit_columns((&data, control), first..end)?;
        let folds = with_folds.then(|| choice.fold_models((&data, control))).transpose()?;
        Ok((model, choice.config.c, folds))
    })?;
    let folds = folds.map(|found| to_python(py, found));
    Ok((PyLinear::from(model), c, folds))
}

/// Fits linear models without each of some folds, with the calibration of `model`.
#[pyfunction]
#[pyo3(signature = (model, data, config, n_folds, n_threads=1))]
pub(crate) fn fold_models_of_linear<'py>(
    py: Python<'py>,
    model: &PyLinear,
    data: PyData<'py>,
    config: PyLinearConfig,
    n_folds: usize,
    n_threads: usize,
) -> PyResult<PyFoldModels<'py>> {
    let ((data, weights), (config, _)) = (data.views()?, config.into_config()?);
    let data = weights.of(&data)?;
    let entry = Entry { n_threads, cost: cost_of_fit(&data).saturating_mul(n_folds), progress: None };
    let found = entry.run(py, |control| config.fold_models((&data, control), n_folds))?;
    Ok(to_python(py, found.calibrated_as(&model.0)))
}

fn to_python(py: Python<'_>, found: FoldModels) -> PyFoldModels<'_> {
    (output::vector(py, found.folds), found.models.into_iter().map(PyLinear::from).collect())
}

/// Returns the approximate number of steps of a fit.
fn cost_of_fit(data: &Dataset<'_>) -> usize {
    let n_read = data.x().n_stored().saturating_add(data.n_samples());
    n_read.saturating_mul(data.y().width().saturating_add(PASSES))
}

impl PyLinear {
    pub(crate) fn shared(&self) -> &Arc<LinearModel> {
        &self.0
    }

    /// Returns the weights of margins as CSR with a row for each feature: offsets, columns, weights.
    fn by_feature(&self) -> (Vec<usize>, Vec<u32>, Vec<f32>) {
        let (mut ends, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for feature in 0..self.0.n_features() {
            let (of_feature, weights) = self.0.weights_of(feature);
            columns.extend_from_slice(of_feature);
            values.extend_from_slice(weights);
            ends.push(columns.len());
        }
        (ends, columns, values)
    }

    /// Returns how to run a pass over `x` that writes `width` values for each sample.
    fn entry<'py>(&self, x: &Matrix<'_>, width: usize, n_threads: usize) -> Entry<'py> {
        let of_scores = x.n_samples().saturating_mul(width);
        let of_weights = x.n_stored().saturating_mul(1 + self.0.n_weights() / self.0.n_features().max(1));
        Entry { n_threads, cost: of_scores.saturating_add(of_weights), progress: None }
    }
}

#[pymethods]
impl PyLinear {
    /// The number of columns of scores.
    #[getter]
    fn width(&self) -> usize {
        self.0.n_columns()
    }

    /// What is done with X: "given", "normalized", "tfidf" or "standardized".
    #[getter]
    fn features(&self) -> &'static str {
        self.0.features().name()
    }

    /// Returns a model of parts, each with the first of its columns and one past the last, in increasing order.
    #[staticmethod]
    fn merge(py: Python<'_>, parts: Vec<(Py<PyLinear>, usize, usize)>) -> PyResult<Self> {
        let parts: Vec<_> =
            parts.iter().map(|(part, first, end)| (part.bind(py).get().0.as_ref(), *first..*end)).collect();
        LinearModel::merge(&parts).map(PyLinear::from).map_err(raise)
    }

    /// Offsets, columns (uint32) and values (float32) of the weights of features, with a row for each feature; intercepts
    /// of margins, and slopes and intercepts of log-odds (float32).
    fn arrays<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let model = &self.0;
        let (ends, columns, values) = self.by_feature();
        let n = model.n_columns();
        let (slopes, offsets) = match model.calibration() {
            None => (vec![1.0; n], vec![0.0; n]),
            Some(found) => (found.slopes().to_vec(), found.intercepts().to_vec()),
        };
        (
            output::vector(py, ends),
            output::vector(py, columns),
            output::vector(py, values),
            output::copied(py, WHAT, model.intercepts())?,
            output::vector(py, slopes),
            output::vector(py, offsets),
        )
            .into_pyobject(py)
    }

    /// The link, that is, how scores are turned into predictions.
    #[getter]
    fn link(&self) -> &'static str {
        self.0.link().name()
    }

    /// (n_samples, n_columns) float64: the probabilities that scores mean.
    fn to_predictions<'py>(&self, py: Python<'py>, scores: Read2<'py, f64>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let scores = scores.as_array();
        let entry = Entry { n_threads: 1, cost: scores.len().saturating_mul(STEPS_PER_VALUE), progress: None };
        Ok(output::array(py, entry.run(py, |control| self.0.to_predictions(scores, control))?))
    }

    /// The weights of features for log-odds, as CSR with a row for each feature: offsets, columns (uint32), weights.
    fn weights<'py>(&self, py: Python<'py>) -> PyResult<output::SparseArrays<'py>> {
        let (ends, columns, values) = self.by_feature();
        let slopes = self.0.calibration().map(Calibration::slopes);
        let slope = |column: u32| slopes.map_or(1.0, |slopes| f64::from(slopes[column as usize]));
        let weights = columns.iter().zip(values).map(|(&column, value)| slope(column) * f64::from(value));
        let weights: Vec<f64> = weights.collect();
        Ok((output::vector(py, ends), output::vector(py, columns), output::vector(py, weights)))
    }

    /// (width,) float64: the intercepts of log-odds.
    fn intercepts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let of_margins = self.0.intercepts().iter().map(|&intercept| f64::from(intercept));
        let found = match self.0.calibration() {
            None => collected(WHAT, of_margins.map(Ok))?,
            Some(found) => {
                let lines = found.slopes().iter().zip(found.intercepts()).map(|(&a, &b)| (f64::from(a), f64::from(b)));
                collected(
                    WHAT,
                    of_margins.zip(lines).map(|(margin, (slope, intercept))| Ok(slope * margin + intercept)),
                )?
            }
        };
        Ok(output::vector(py, found))
    }

    /// (n_features,) float32: the inverse document frequencies, if features are weighted by them.
    fn idf<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray1<f32>>>> {
        self.0.idf().map(|idf| output::copied(py, WHAT, idf)).transpose()
    }
}
