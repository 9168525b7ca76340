//! Growing and using forests. A single tree is a forest with one tree.

use std::sync::Arc;

use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use weald::{Dataset, Forest, Matrix, Precision, Targets, TreeConfig};

use crate::array::{Read1, Read2};
use crate::config::{PyForestConfig, PyMaxSamples, PyTreeConfig, sampling};
use crate::enter::Entry;
use crate::error::raise;
use crate::input::{PyMask, PyMatrix, PyPattern, PyRowWeights, PyTargets, contiguous_weights};
use crate::names::{kind_of, n_classes, name_of};
use crate::output;
use crate::projection;
use crate::tree::PyTree;

/// The approximate number of steps of growth for each stored value of X and each tree, which is that of a sort.
const STEPS_PER_VALUE: usize = 16;

/// A fitted forest. It is immutable, so several threads may use it at the same time.
#[pyclass(frozen, eq, module = "weald._weald", name = "Forest")]
#[derive(Debug, PartialEq)]
pub(crate) struct PyForest(Arc<Forest>);

impl From<Forest> for PyForest {
    fn from(forest: Forest) -> Self {
        PyForest(Arc::new(forest))
    }
}

impl AsRef<Forest> for PyForest {
    fn as_ref(&self) -> &Forest {
        &self.0
    }
}

/// Grows one tree, and returns a forest that contains only this tree.
#[pyfunction]
#[pyo3(signature = (x, y, weights, config, y_mask=None, n_threads=1))]
pub(crate) fn fit_tree(
    py: Python<'_>,
    x: PyMatrix<'_>,
    y: PyTargets<'_>,
    weights: PyRowWeights<'_>,
    config: PyTreeConfig,
    y_mask: Option<PyMask<'_>>,
    n_threads: usize,
) -> PyResult<PyForest> {
    let schema = config.schema();
    let (x, y, weights, config) = (x.view()?, y.view()?, weights.contiguous()?, config.into_config()?);
    let (weights, y_mask) = (weights.view()?, y_mask.as_ref().map(PyMask::view).transpose()?);
    let cost = cost_of_tree(&x, &y, &config);
    let entry = Entry { n_threads, cost, progress: None };
    entry
        .run(py, |control| {
            let data = Dataset::new(&x, &y).weights(weights).y_mask(y_mask).schema(schema);
            config.fit(data, control).map(Forest::from)
        })
        .map(PyForest::from)
}

/// Grows the trees `config["trees"]` of a forest.
#[pyfunction]
#[pyo3(signature = (x, y, weights, config, n_threads=1, progress=None, y_mask=None))]
#[expect(clippy::too_many_arguments, reason = "the signature of a Python function")]
pub(crate) fn fit_forest<'py>(
    py: Python<'py>,
    x: PyMatrix<'py>,
    y: PyTargets<'py>,
    weights: PyRowWeights<'py>,
    config: PyForestConfig,
    n_threads: usize,
    progress: Option<Bound<'py, PyAny>>,
    y_mask: Option<PyMask<'py>>,
) -> PyResult<PyForest> {
    let (trees, schema) = (config.trees(), config.schema());
    let (x, y, weights, config) = (x.view()?, y.view()?, weights.contiguous()?, config.into_config()?);
    let (weights, y_mask) = (weights.view()?, y_mask.as_ref().map(PyMask::view).transpose()?);
    let cost = cost_of_tree(&x, &y, &config.tree).saturating_mul(trees.len());
    let entry = Entry { n_threads, cost, progress };
    let data = Dataset::new(&x, &y).weights(weights).y_mask(y_mask).schema(schema);
    entry.run(py, |control| config.fit_trees(trees, &data, control)).map(PyForest::from)
}

/// Returns the approximate number of steps of growing one tree.
fn cost_of_tree(x: &Matrix<'_>, y: &Targets<'_>, config: &TreeConfig) -> usize {
    let growth = x.n_stored().saturating_add(y.n_samples()).saturating_mul(STEPS_PER_VALUE);
    growth.saturating_add(projection::cost_of_tree(config.output_projection.as_ref(), y))
}

impl PyForest {
    /// Returns how to run a walk of `x` down the trees that writes `width` values for each sample.
    fn entry<'py>(&self, x: &Matrix<'_>, width: usize, n_threads: usize) -> Entry<'py> {
        let per_row = width.saturating_add(STEPS_PER_VALUE).saturating_mul(self.0.n_trees());
        let cost = x.n_samples().saturating_mul(per_row).saturating_add(x.n_stored());
        Entry { n_threads, cost, progress: None }
    }

    /// Returns how to run a pass over the leaves.
    fn compacting<'py>(&self, n_threads: usize) -> Entry<'py> {
        let cost = self.0.trees().iter().map(|tree| tree.n_nodes().saturating_add(tree.leaves().n_stored())).sum();
        Entry { n_threads, cost, progress: None }
    }
}

/// Returns the type of values in leaves that has this name.
pub(crate) fn precision(dtype: &str) -> PyResult<Precision> {
    match dtype {
        "int8" => Ok(Precision::Byte),
        "float16" => Ok(Precision::Half),
        "float32" => Ok(Precision::Single),
        other => Err(PyValueError::new_err(format!("dtype is {other:?}, which is not known"))),
    }
}

#[pymethods]
impl PyForest {
    #[getter]
    fn n_trees(&self) -> usize {
        self.0.n_trees()
    }

    #[getter]
    fn n_features(&self) -> usize {
        self.0.n_features()
    }

    /// The criterion with which the trees were grown. With projected outputs, it is that of the variance.
    #[getter]
    fn criterion(&self) -> &'static str {
        name_of(self.0.tree(0).criterion())
    }

    /// The kind of y: "numbers", "classes" or "labels".
    #[getter]
    fn kind(&self) -> &'static str {
        kind_of(self.0.outputs())
    }

    /// The number of outputs.
    #[getter]
    fn n_outputs(&self) -> usize {
        self.0.outputs().n_outputs()
    }

    /// The number of columns of predictions.
    #[getter]
    fn width(&self) -> usize {
        self.0.outputs().width()
    }

    /// The number of classes of each output: 1 for numerical outputs, 2 for labels.
    #[getter]
    fn n_classes<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        output::vector(py, n_classes(self.0.outputs()))
    }

    /// Returns tree `index` as arrays.
    fn tree(&self, index: usize) -> PyResult<PyTree> {
        self.checked(index)?;
        Ok(PyTree(Arc::clone(self.0.tree(index))))
    }

    /// Returns a forest that has only tree `index`, and shares its memory.
    fn only(&self, index: usize) -> PyResult<PyForest> {
        self.checked(index)?;
        Ok(PyForest::from(Forest::from(Arc::clone(self.0.tree(index)))))
    }

    /// Returns a forest with all trees of `forests`, in their order.
    #[staticmethod]
    fn merge(py: Python<'_>, forests: Vec<Py<PyForest>>) -> PyResult<PyForest> {
        let parts: Vec<&Forest> = forests.iter().map(|forest| forest.bind(py).get().0.as_ref()).collect();
        Forest::merge(&parts).map(PyForest::from).map_err(raise)
    }

    /// (n_samples, width) float64: the predictions.
    #[pyo3(signature = (x, n_threads=1))]
    fn predict<'py>(&self, py: Python<'py>, x: PyMatrix<'py>, n_threads: usize) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let x = x.view()?;
        let entry = self.entry(&x, self.0.outputs().width(), n_threads);
        let scores = output::zeros(py, x.n_samples(), self.0.outputs().width())?;
        {
            let mut out = scores.try_readwrite()?;
            let out = out.as_slice_mut()?;
            entry.run(py, |control| self.0.predict_into(&x, out, control))?;
        }
        Ok(scores)
    }

    /// (n_samples, n_trees) uint32: the leaf of each sample in each tree.
    #[pyo3(signature = (x, n_threads=1))]
    fn apply<'py>(&self, py: Python<'py>, x: PyMatrix<'py>, n_threads: usize) -> PyResult<Bound<'py, PyArray2<u32>>> {
        let x = x.view()?;
        let leaves = self.entry(&x, 1, n_threads).run(py, |control| self.0.apply(&x, control))?;
        Ok(output::array(py, leaves))
    }

    /// Returns the pattern in CSR (indptr, indices) of the nodes that each sample passes, and the first node of each
    /// tree.
    #[pyo3(signature = (x, n_threads=1))]
    fn decision_path<'py>(&self, py: Python<'py>, x: PyMatrix<'py>, n_threads: usize) -> PyResult<Bound<'py, PyTuple>> {
        let x = x.view()?;
        let path = self.entry(&x, 1, n_threads).run(py, |control| self.0.decision_path(&x, control))?;
        let (ptr, nodes) = (output::vector(py, path.ptr), output::vector(py, path.nodes));
        (ptr, nodes, output::vector(py, path.tree_offsets)).into_pyobject(py)
    }

    /// Returns the column indices (uint32) and values (float64) of the `k` largest predictions of each sample, in
    /// decreasing order.
    #[pyo3(signature = (x, k, n_threads=1, exclude=None))]
    fn predict_topk<'py>(
        &self,
        py: Python<'py>,
        x: PyMatrix<'py>,
        k: usize,
        n_threads: usize,
        exclude: Option<PyPattern<'py>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let x = x.view()?;
        let exclude = exclude.as_ref().map(|exclude| exclude.view("exclude")).transpose()?;
        let exclude = exclude.as_ref();
        let entry = self.entry(&x, self.0.outputs().width(), n_threads);
        let best = entry.run(py, |control| self.0.predict_topk_excluding(&x, k, exclude, control))?;
        (output::array(py, best.indices), output::array(py, best.scores)).into_pyobject(py)
    }

    /// Returns the predictions that are positive and at least `floor`, as CSR (indptr, indices uint32, data float64).
    #[pyo3(signature = (x, floor, n_threads=1))]
    fn predict_at_least<'py>(
        &self,
        py: Python<'py>,
        x: PyMatrix<'py>,
        floor: f64,
        n_threads: usize,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let x = x.view()?;
        let entry = self.entry(&x, 1, n_threads);
        let found = entry.run(py, |control| self.0.predict_at_least(&x, floor, control))?;
        output::sparse(py, found).into_pyobject(py)
    }

    /// Returns the out-of-bag predictions for the training samples (NaN for samples that every tree drew), and
    /// the number of trees that did not draw each sample.
    #[pyo3(signature = (config, x, y, sample_weight, n_threads=1, y_mask=None))]
    #[expect(clippy::too_many_arguments, reason = "the signature of a Python function")]
    fn oob_predict<'py>(
        &self,
        py: Python<'py>,
        config: PyForestConfig,
        x: PyMatrix<'py>,
        y: PyTargets<'py>,
        sample_weight: Option<Read1<'py, f64>>,
        n_threads: usize,
        y_mask: Option<PyMask<'py>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let (x, y, config) = (x.view()?, y.view()?, config.into_config()?);
        let w = contiguous_weights(sample_weight.as_ref())?;
        let y_mask = y_mask.as_ref().map(PyMask::view).transpose()?;
        let entry = self.entry(&x, self.0.outputs().width(), n_threads);
        let data = Dataset::new(&x, &y).sample_weight(w.as_deref()).y_mask(y_mask);
        let oob = entry.run(py, |control| self.0.oob_predict(&config, &data, control))?;
        (output::array(py, oob.scores), output::vector(py, oob.n_trees)).into_pyobject(py)
    }

    /// Returns the out-of-bag predictions that are positive and at least `floor`, as CSR (indptr, indices uint32, data
    /// float64), and the number of trees that did not draw each sample.
    #[pyo3(signature = (config, x, y, sample_weight, floor, n_threads=1, y_mask=None))]
    #[expect(clippy::too_many_arguments, reason = "the signature of a Python function")]
    fn oob_at_least<'py>(
        &self,
        py: Python<'py>,
        config: PyForestConfig,
        x: PyMatrix<'py>,
        y: PyTargets<'py>,
        sample_weight: Option<Read1<'py, f64>>,
        floor: f64,
        n_threads: usize,
        y_mask: Option<PyMask<'py>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let (x, y, config) = (x.view()?, y.view()?, config.into_config()?);
        let w = contiguous_weights(sample_weight.as_ref())?;
        let y_mask = y_mask.as_ref().map(PyMask::view).transpose()?;
        let entry = self.entry(&x, 1, n_threads);
        let data = Dataset::new(&x, &y).sample_weight(w.as_deref()).y_mask(y_mask);
        let oob = entry.run(py, |control| self.0.oob_at_least(&config, &data, floor, control))?;
        (output::sparse(py, oob.scores), output::vector(py, oob.n_trees)).into_pyobject(py)
    }

    /// Returns the forest in which each tree is pruned by its loss on held-out samples.
    #[pyo3(signature = (x, y, sample_weight=None, n_threads=1, y_mask=None))]
    fn prune_reduced_error(
        &self,
        py: Python<'_>,
        x: PyMatrix<'_>,
        y: PyTargets<'_>,
        sample_weight: Option<Read1<'_, f64>>,
        n_threads: usize,
        y_mask: Option<PyMask<'_>>,
    ) -> PyResult<PyForest> {
        let (x, y, w) = (x.view()?, y.view()?, contiguous_weights(sample_weight.as_ref())?);
        let entry = self.entry(&x, self.0.outputs().width(), n_threads);
        let n_nodes: usize = self.0.trees().iter().map(|tree| tree.n_nodes()).sum();
        let entry = Entry { cost: entry.cost.saturating_add(n_nodes.saturating_mul(STEPS_PER_VALUE)), ..entry };
        let y_mask = y_mask.as_ref().map(PyMask::view).transpose()?;
        let data = Dataset::new(&x, &y).sample_weight(w.as_deref()).y_mask(y_mask);
        let pruned = entry.run(py, |control| self.0.prune_reduced_error(data, control))?;
        Ok(PyForest::from(pruned))
    }

    /// Returns the mean decrease of impurity of each feature, for all outputs or some of them.
    #[pyo3(signature = (outputs=None))]
    fn feature_importances<'py>(
        &self,
        py: Python<'py>,
        outputs: Option<Vec<usize>>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let importances = Entry::to_the_end().run(py, |_| self.0.feature_importances(outputs.as_deref()))?;
        Ok(output::vector(py, importances))
    }

    /// (n_points, width) float64: the mean prediction at each point. The columns of `points` are values of `features`.
    #[pyo3(signature = (features, points, n_threads=1))]
    fn partial_dependence<'py>(
        &self,
        py: Python<'py>,
        features: Vec<usize>,
        points: Read2<'py, f32>,
        n_threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let points = points.as_array();
        let nodes: usize = self.0.trees().iter().map(|tree| tree.n_nodes()).sum();
        let entry = Entry { n_threads, cost: nodes.saturating_mul(points.nrows().max(1)), progress: None };
        let means = entry.run(py, |control| self.0.partial_dependence(&features, points, control))?;
        Ok(output::array(py, means))
    }

    /// Returns the forest with values of type "int8", "float16" or "float32" in the leaves.
    #[pyo3(signature = (dtype, n_threads=1))]
    fn with_precision(&self, py: Python<'_>, dtype: &str, n_threads: usize) -> PyResult<PyForest> {
        let precision = precision(dtype)?;
        let run = |control: &_| self.0.with_precision(precision, control);
        self.compacting(n_threads).run(py, run).map(PyForest::from)
    }

    /// Returns the forest with only the `k` largest frequencies of classes or labels in each leaf.
    #[pyo3(signature = (k, n_threads=1))]
    fn with_top_k(&self, py: Python<'_>, k: usize, n_threads: usize) -> PyResult<PyForest> {
        self.compacting(n_threads).run(py, |control| self.0.with_top_k(k, control)).map(PyForest::from)
    }

    /// Returns the forest with leaves that refer to the training samples, whose y is stored once. The arguments must be
    /// those of the fit.
    #[pyo3(signature = (x, y, weights, bootstrap, max_samples, seed, n_threads=1))]
    #[expect(clippy::too_many_arguments, reason = "the signature of a Python function")]
    fn with_stored_rows<'py>(
        &self,
        py: Python<'py>,
        x: PyMatrix<'py>,
        y: PyTargets<'py>,
        weights: PyRowWeights<'py>,
        bootstrap: bool,
        max_samples: Option<PyMaxSamples>,
        seed: u64,
        n_threads: usize,
    ) -> PyResult<PyForest> {
        let (x, y, weights) = (x.view()?, y.view()?, weights.contiguous()?);
        let weights = weights.view()?;
        let entry = self.entry(&x, self.0.outputs().width(), n_threads);
        let sampling = sampling(bootstrap, max_samples);
        entry
            .run(py, |control| self.0.with_stored_rows(Dataset::new(&x, &y).weights(weights), sampling, seed, control))
            .map(PyForest::from)
    }

    /// Returns a bound on the difference between a prediction of `other` and the same prediction of this forest: the
    /// mean over trees of the largest difference of a leaf value.
    #[pyo3(signature = (other, n_threads=1))]
    fn largest_change(&self, py: Python<'_>, other: &PyForest, n_threads: usize) -> PyResult<f64> {
        self.compacting(n_threads).run(py, |control| self.0.largest_change(&other.0, control))
    }

    /// Returns the model as bytes. Equal models have equal bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        output::model_bytes(py, || self.0.to_bytes())
    }

    /// Returns the model that `to_bytes` wrote. All trees are checked before they are used.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<PyForest> {
        Entry::to_the_end().run(py, |_| Forest::from_bytes(bytes)).map(PyForest::from)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((py.get_type::<PyForest>().getattr("from_bytes")?, (self.to_bytes(py)?,)))
    }

    fn __len__(&self) -> usize {
        self.0.n_trees()
    }
}

impl PyForest {
    fn checked(&self, index: usize) -> PyResult<()> {
        if index < self.0.n_trees() {
            return Ok(());
        }
        Err(PyIndexError::new_err(format!("tree {index} of {}", self.0.n_trees())))
    }
}
