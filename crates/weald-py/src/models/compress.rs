//! Compression: paths of forests, their cross-validation, and compressed models.

use std::sync::Arc;

use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use weald::folds::Split;
use weald::{CompressConfig, CompressLoss, CompressMethod, Compressed, CompressionPath, Control, Dataset, Forest};

use crate::array::Read1;
use crate::config::{PyForestConfig, unknown};
use crate::enter::Entry;
use crate::error::raise;
use crate::input::{PyData, collected, contiguous_weights};
use crate::memory;
use crate::models::forest::PyForest;
use crate::models::model::{copies, model, of_trees, properties, scores};
use crate::output;

/// The keys of the dictionary of compression's parameters. Parameters of other methods are ignored.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct PyCompressConfig {
    method: String,
    loss: String,
    standardize: bool,
    seed: u64,
    max_test_nodes: Option<usize>,
    step_outputs: Option<usize>,
    output_weights: Option<Vec<f64>>,
    step_size: f64,
    max_steps: Option<usize>,
    n_alphas: usize,
    eps: f64,
    tol: f64,
    max_iter: usize,
    learning_rate: f64,
    max_nodes: Option<usize>,
    candidate_window: Option<usize>,
}

impl PyCompressConfig {
    fn into_config(self) -> PyResult<CompressConfig> {
        let method = match self.method.as_str() {
            "stagewise" => CompressMethod::Stagewise { step_size: self.step_size, max_steps: self.max_steps },
            "lasso" => {
                CompressMethod::Lasso { n_alphas: self.n_alphas, eps: self.eps, tol: self.tol, max_iter: self.max_iter }
            }
            "grow" => CompressMethod::Grow {
                learning_rate: self.learning_rate,
                max_nodes: self.max_nodes.unwrap_or(usize::MAX),
                candidate_window: self.candidate_window,
            },
            other => return Err(unknown("method", other)),
        };
        let loss = CompressLoss::named(&self.loss).ok_or_else(|| unknown("loss", &self.loss))?;
        Ok(CompressConfig::new(method)
            .loss(loss)
            .standardize(self.standardize)
            .max_test_nodes(self.max_test_nodes)
            .step_outputs(self.step_outputs)
            .output_weights(self.output_weights)
            .seed(self.seed))
    }
}

/// Returns the approximate number of steps of a path: one walk of X and some hundred steps of the path.
fn cost_of_path(data: &Dataset<'_>, n_trees: usize) -> usize {
    let per_row = data.y().width().saturating_add(n_trees).saturating_mul(100);
    data.n_samples().saturating_mul(per_row).saturating_add(data.x().n_stored())
}

/// Returns the whole path of `forest`. `held_out` has the weights of test samples, whose own weights must be 0.
#[pyfunction]
#[pyo3(signature = (forest, data, config, held_out=None, n_threads=1, progress=None))]
pub(crate) fn compress_forest<'py>(
    py: Python<'py>,
    forest: Py<PyForest>,
    data: PyData<'py>,
    config: PyCompressConfig,
    held_out: Option<Read1<'py, f64>>,
    n_threads: usize,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<PyCompressionPath> {
    let ((data, weights), config) = (data.views()?, config.into_config()?);
    let (data, held) = (weights.of(&data)?, contiguous_weights(held_out.as_ref())?);
    let forest: &Forest = forest.get().as_ref();
    let entry = Entry { n_threads, cost: cost_of_path(&data, forest.n_trees()), progress };
    entry
        .run(py, |control| {
            memory::reserve(&data, None, |shapes| CompressConfig::path_memory(forest, shapes))?;
            config.path(forest, (&data, control), held.as_deref())
        })
        .map(|path| PyCompressionPath(Arc::new(path)))
}

/// Returns the test losses of folds. For each fold, `grow` grows a forest of its own.
#[pyfunction]
#[pyo3(signature = (data, grow, config, folds, n_threads=1, progress=None))]
pub(crate) fn cross_validate_compression<'py>(
    py: Python<'py>,
    data: PyData<'py>,
    grow: PyForestConfig,
    config: PyCompressConfig,
    folds: Vec<(Read1<'py, u32>, Read1<'py, u32>)>,
    n_threads: usize,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyTuple>> {
    let (data, weights) = data.views()?;
    let data = weights.of(&data)?.schema(grow.schema());
    let (grow, config) = (grow.into_config()?, config.into_config()?);
    let rows = |rows: &Read1<'_, u32>| collected("the rows of a fold", rows.as_array().iter().copied().map(Ok));
    let fold = |(train, test): &(_, _)| Ok(Split::new(rows(train)?, rows(test)?));
    let folds: Vec<Split> = folds.iter().map(fold).collect::<PyResult<_>>()?;
    let cost = cost_of_path(&data, grow.n_trees).saturating_mul(folds.len());
    let entry = Entry { n_threads, cost, progress };
    let found = entry.run(py, |control| config.cross_validate(&grow, (&data, control), &folds))?;
    let losses = (output::array(py, found.test_loss), output::array(py, found.n_test_nodes));
    (output::vector(py, found.l1_norms), losses.0, losses.1, output::vector(py, found.full_forest_loss))
        .into_pyobject(py)
}

const PATH: &str = "the path";

/// A compression path. It is immutable, so several threads may use it at the same time.
#[pyclass(frozen, module = "weald._weald", name = "CompressionPath")]
#[derive(Debug)]
pub(crate) struct PyCompressionPath(Arc<CompressionPath>);

properties! { PyCompressionPath {
    /// The number of steps after the constant. The arrays have one element more.
    n_steps: usize,
    /// The number of scores of a sample.
    width: usize,
}}
copies! { PyCompressionPath, PATH, {
    l1_norm: f64,
    train_loss: f64,
    /// Empty without test samples.
    test_loss: f64,
}}

#[pymethods]
impl PyCompressionPath {
    fn n_test_nodes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        Ok(output::vector(py, collected(PATH, self.0.n_test_nodes().iter().map(|&n| Ok(n as i64)))?))
    }

    fn n_nonzero<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        Ok(output::vector(py, collected(PATH, self.0.n_nonzero().iter().map(|&n| Ok(n as i64)))?))
    }

    /// Returns the last step whose norm is at most `l1_norm`.
    fn step_of(&self, l1_norm: f64) -> PyResult<usize> {
        self.0.step_of(l1_norm).map_err(raise)
    }

    /// Returns the model of norm `l1_norm`.
    fn at(&self, py: Python<'_>, l1_norm: f64) -> PyResult<PyCompressed> {
        // The lasso solves dozens of problems on all training samples.
        self.run(py, usize::MAX, |path, control| path.at(l1_norm, control)).map(PyCompressed::from)
    }

    /// Returns the model after `step` steps.
    fn at_step(&self, py: Python<'_>, step: usize) -> PyResult<PyCompressed> {
        self.run(py, self.cost(), |path, control| path.at_step(step, control)).map(PyCompressed::from)
    }

    /// Returns trees, nodes (uint32) and coefficients, (n_nonzero, width), for indicators that are 0 or 1 and in the
    /// units of y.
    fn coefficients<'py>(&self, py: Python<'py>, step: usize) -> PyResult<Bound<'py, PyTuple>> {
        let found = self.run(py, self.cost(), |path, control| path.coefficients(step, control))?;
        let trees = collected(PATH, found.iter().map(|c| Ok(c.tree)))?;
        let nodes = collected(PATH, found.iter().map(|c| Ok(c.node)))?;
        let values = output::zeros(py, found.len(), self.0.width())?;
        let mut rows = values.try_readwrite()?;
        for (mut row, coefficient) in rows.as_array_mut().rows_mut().into_iter().zip(found) {
            row.iter_mut().zip(coefficient.values).for_each(|(to, b)| *to = b);
        }
        drop(rows);
        (output::vector(py, trees), output::vector(py, nodes), values).into_pyobject(py)
    }

    /// (width,): the constant of the scores after `step` steps.
    fn intercept<'py>(&self, py: Python<'py>, step: usize) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let found = self.run(py, self.cost(), |path, control| path.intercept(step, control))?;
        Ok(output::vector(py, found))
    }
}

impl PyCompressionPath {
    /// Returns the approximate number of steps of building a model from the steps of the path.
    fn cost(&self) -> usize {
        let nodes: usize = self.0.forest().trees().iter().map(|tree| tree.n_nodes()).sum();
        nodes.saturating_add(self.0.n_steps().saturating_mul(self.0.width()))
    }

    /// Runs `work` without the GIL.
    fn run<T: Send>(
        &self,
        py: Python<'_>,
        cost: usize,
        work: impl FnOnce(&CompressionPath, &Control) -> weald::Result<T> + Send,
    ) -> PyResult<T> {
        Entry { n_threads: 1, cost, progress: None }.run(py, |control| work(&self.0, control))
    }
}

/// A compressed model. It is immutable, so several threads may use it at the same time.
#[pyclass(frozen, eq, module = "weald._weald", name = "Compressed")]
#[derive(Debug, PartialEq)]
pub(crate) struct PyCompressed(Arc<Compressed>);

model!(PyCompressed, Compressed);
of_trees!(PyCompressed);
properties! { PyCompressed {
    /// The number of scores of a sample.
    width: usize,
    /// Whether scores are log-odds, rather than numerical outputs or estimates of 0 and 1.
    has_log_odds: bool,
    l1_norm: f64,
    n_test_nodes: usize,
}}
scores! { PyCompressed {
    /// (n_samples, width) float64: the scores.
    predict_scores,
    /// (n_samples, n_columns) float64: numerical outputs or probabilities.
    predict,
}}

#[pymethods]
impl PyCompressed {
    /// The number of columns of predictions.
    #[getter]
    fn n_columns(&self) -> usize {
        self.0.outputs().width()
    }

    /// The link, that is, how scores are turned into predictions.
    #[getter]
    fn link(&self) -> PyResult<&'static str> {
        self.0.additive().map(|model| model.link().name()).map_err(raise)
    }

    /// The forest of scores, which has one numerical output for each score. Its trees are shared with this model.
    #[getter]
    fn forest(&self) -> PyForest {
        PyForest::from(self.0.forest().clone())
    }
}
