//! Growing and using forests. A single tree is a forest with one tree.

use std::sync::Arc;

use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use weald::{Dataset, Forest, TreeConfig};

use crate::config::{PyForestConfig, PyMaxSamples, PyTreeConfig, sampling};
use crate::enter::Entry;
use crate::error::raise;
use crate::input::{PyData, PyMatrix};
use crate::memory;
use crate::models::model::{compacting, grown, mean_of_trees, model};
use crate::models::tree::PyTree;
use crate::names::name_of;
use crate::output;
use crate::projection;

/// The approximate number of steps of growth for each stored value of X and each tree, which is that of a sort.
const STEPS_PER_VALUE: usize = 16;

/// A fitted forest. It is immutable, so several threads may use it at the same time.
#[pyclass(frozen, eq, module = "weald._weald", name = "Forest")]
#[derive(Debug, PartialEq)]
pub(crate) struct PyForest(Arc<Forest>);

model!(PyForest, Forest);
mean_of_trees!(PyForest, Forest, PyTree, PyForestConfig);
grown!(PyForest);

/// Grows one tree, and returns a forest that contains only this tree.
#[pyfunction]
#[pyo3(signature = (data, config, n_threads=1))]
pub(crate) fn fit_tree(py: Python<'_>, data: PyData<'_>, config: PyTreeConfig, n_threads: usize) -> PyResult<PyForest> {
    let (data, weights) = data.views()?;
    let data = weights.of(&data)?.schema(config.schema());
    let config = config.into_config()?;
    let entry = Entry { n_threads, cost: cost_of_tree(&data, &config), progress: None };
    entry
        .run(py, |control| {
            memory::reserve(&data, Some(config.criterion), |shapes| config.fit_memory(shapes, n_threads))?;
            config.fit((&data, control)).map(Forest::from)
        })
        .map(PyForest::from)
}

/// Grows the trees `config["trees"]` of a forest.
#[pyfunction]
#[pyo3(signature = (data, config, n_threads=1, progress=None))]
pub(crate) fn fit_forest<'py>(
    py: Python<'py>,
    data: PyData<'py>,
    config: PyForestConfig,
    n_threads: usize,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<PyForest> {
    let (data, weights) = data.views()?;
    let data = weights.of(&data)?.schema(config.schema());
    let (trees, config) = (config.trees(), config.into_config()?);
    let n_trees = trees.len().saturating_mul(if config.by_output { data.y().width() } else { 1 });
    let cost = cost_of_tree(&data, &config.tree).saturating_mul(n_trees);
    let entry = Entry { n_threads, cost, progress }.drawing(config.sampling, data.n_samples(), n_trees);
    entry
        .run(py, |control| {
            memory::reserve(&data, Some(config.tree.criterion), |shapes| config.fit_memory(shapes, n_threads))?;
            config.fit_trees(trees, (&data, control))
        })
        .map(PyForest::from)
}

/// Returns the approximate number of steps of growing one tree.
fn cost_of_tree(data: &Dataset<'_>, config: &TreeConfig) -> usize {
    let growth = data.x().n_stored().saturating_add(data.n_samples()).saturating_mul(STEPS_PER_VALUE);
    growth.saturating_add(projection::cost_of_tree(config.output_projection.as_ref(), data.y()))
}

#[pymethods]
impl PyForest {
    /// The criterion with which the trees were grown. With projected outputs, it is that of the variance.
    #[getter]
    fn criterion(&self) -> &'static str {
        name_of(self.0.tree(0).criterion())
    }

    /// Whether each tree is grown for one output alone: tree t of d outputs for output t mod d.
    #[getter]
    fn by_output(&self) -> bool {
        self.0.is_by_output()
    }

    /// The number of trees of each output: all of them, unless they are grown for one output each.
    #[getter]
    fn n_trees_of_an_output(&self) -> usize {
        self.0.n_trees_of_an_output()
    }

    /// Returns a forest that has the trees `start` to `stop` - 1 of each output, and shares their memory.
    fn some_trees(&self, start: usize, stop: usize) -> PyResult<PyForest> {
        self.0.some_trees(start..stop).map(PyForest::from).map_err(raise)
    }

    /// (n_samples, width) float64: the standard deviation over the trees of the prediction of each sample.
    #[pyo3(signature = (x, n_threads=1))]
    fn spread<'py>(&self, py: Python<'py>, x: PyMatrix<'py>, n_threads: usize) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let x = x.view()?;
        let spread = self.entry(&x, self.width(), n_threads).run(py, |control| self.0.spread((&x, control)))?;
        Ok(output::array(py, spread))
    }

    /// Returns the result of `oob_predict`, and the standard deviation over the same trees.
    #[pyo3(signature = (config, data, n_threads=1))]
    fn oob_spread<'py>(
        &self,
        py: Python<'py>,
        config: PyForestConfig,
        data: PyData<'py>,
        n_threads: usize,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let ((data, weights), config) = (data.views()?, config.into_config()?);
        let data = weights.of_rows_alone(&data);
        let entry = self.entry(data.x(), self.width(), n_threads);
        let entry = entry.drawing(config.sampling, data.n_samples(), self.0.n_trees());
        let (oob, spread) = entry.run(py, |control| self.0.oob_spread(&config, (&data, control)))?;
        (output::array(py, oob.scores), output::vector(py, oob.n_trees), output::array(py, spread)).into_pyobject(py)
    }

    /// Returns the pattern in CSR (indptr, indices) of the nodes that each sample passes, and the first node of each
    /// tree.
    #[pyo3(signature = (x, n_threads=1))]
    fn decision_path<'py>(&self, py: Python<'py>, x: PyMatrix<'py>, n_threads: usize) -> PyResult<Bound<'py, PyTuple>> {
        let x = x.view()?;
        let path = self.entry(&x, 1, n_threads).run(py, |control| self.0.decision_path((&x, control)))?;
        let (ptr, nodes) = (output::vector(py, path.ptr), output::vector(py, path.nodes));
        (ptr, nodes, output::vector(py, path.tree_offsets)).into_pyobject(py)
    }

    /// Returns the forest in which each tree is pruned by its loss on held-out samples.
    #[pyo3(signature = (data, n_threads=1))]
    fn prune_reduced_error(&self, py: Python<'_>, data: PyData<'_>, n_threads: usize) -> PyResult<PyForest> {
        let (data, weights) = data.views()?;
        let data = weights.of(&data)?;
        let entry = self.entry(data.x(), self.width(), n_threads);
        let n_nodes: usize = self.0.trees().iter().map(|tree| tree.n_nodes()).sum();
        let entry = Entry { cost: entry.cost.saturating_add(n_nodes.saturating_mul(STEPS_PER_VALUE)), ..entry };
        let pruned = entry.run(py, |control| self.0.prune_reduced_error((&data, control)))?;
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

    /// Returns the forest with only the `k` largest frequencies of classes or labels in each leaf.
    #[pyo3(signature = (k, n_threads=1))]
    fn with_top_k(&self, py: Python<'_>, k: usize, n_threads: usize) -> PyResult<PyForest> {
        compacting(self.0.additive(), n_threads).run(py, |control| self.0.with_top_k(k, control)).map(PyForest::from)
    }

    /// Returns the forest with leaves that refer to the training samples, whose y is stored once. The arguments must be
    /// those of the fit.
    #[pyo3(signature = (data, bootstrap, max_samples, seed, n_threads=1))]
    fn with_stored_rows<'py>(
        &self,
        py: Python<'py>,
        data: PyData<'py>,
        bootstrap: bool,
        max_samples: Option<PyMaxSamples>,
        seed: u64,
        n_threads: usize,
    ) -> PyResult<PyForest> {
        let (data, weights) = data.views()?;
        let (data, sampling) = (weights.of(&data)?, sampling(bootstrap, max_samples));
        let entry = self.entry(data.x(), self.width(), n_threads);
        let entry = entry.drawing(sampling, data.n_samples(), self.0.n_trees());
        entry.run(py, |control| self.0.with_stored_rows((&data, control), sampling, seed)).map(PyForest::from)
    }
}
