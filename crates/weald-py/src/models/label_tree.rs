//! Label trees: parameters from a dictionary, fits, and a frozen class around the model.

use std::sync::Arc;

use numpy::PyArray1;
use pyo3::prelude::*;
use weald::{Dataset, LabelTree, LabelTreeConfig, LabelTreeModel, Matrix};

use crate::enter::Entry;
use crate::error::raise;
use crate::input::{PyData, PyMatrix};
use crate::memory;
use crate::models::model::{model, properties};
use crate::names::features;
use crate::output;

const WHAT: &str = "the weights of a label tree";

/// The keys of the dictionary of a label tree's parameters.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct PyLabelTreeConfig {
    c: f64,
    features: String,
    n_trees: usize,
    first_tree: usize,
    max_children: usize,
    max_leaf_labels: usize,
    beam_width: usize,
    intercept_scaling: f64,
    tol: f64,
    max_iter: usize,
    min_weight: f64,
    half_precision: bool,
    seed: u64,
}

impl PyLabelTreeConfig {
    pub(crate) fn into_config(self) -> PyResult<LabelTreeConfig> {
        Ok(LabelTreeConfig::default()
            .c(self.c)
            .features(features(&self.features)?)
            .n_trees(self.n_trees)
            .first_tree(self.first_tree)
            .max_children(self.max_children)
            .max_leaf_labels(self.max_leaf_labels)
            .beam_width(self.beam_width)
            .intercept_scaling(self.intercept_scaling)
            .tol(self.tol)
            .max_iter(self.max_iter)
            .min_weight(self.min_weight)
            .half_precision(self.half_precision)
            .seed(self.seed))
    }
}

/// The approximate number of passes over the stored entries of X for each tree: those of clusters and of some levels.
const PASSES: usize = 64;

/// A fitted model of label trees. It is immutable, so several threads may use it at the same time.
#[pyclass(frozen, eq, module = "weald._weald", name = "LabelTreeModel")]
#[derive(Debug, PartialEq)]
pub(crate) struct PyLabelTree(Arc<LabelTreeModel>);

model!(PyLabelTree, LabelTreeModel);
properties! { PyLabelTree {
    /// The number of nodes of a tree that predictions follow at a time.
    beam_width: usize,
    /// The number of columns of all trees: children and labels of all nodes.
    n_columns: usize,
    /// The number of columns whose fit did not reach the tolerance.
    n_unfinished: usize,
    /// The largest number of passes over the samples of a column.
    n_iter: usize,
    /// The number of stored weights of all trees.
    n_weights: usize,
    /// The number of bytes of memory that the model takes.
    n_bytes: usize,
}}

/// Fits label trees.
#[pyfunction]
#[pyo3(signature = (data, config, n_threads=1, progress=None))]
pub(crate) fn fit_label_tree<'py>(
    py: Python<'py>,
    data: PyData<'py>,
    config: PyLabelTreeConfig,
    n_threads: usize,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<PyLabelTree> {
    let ((data, weights), config) = (data.views()?, config.into_config()?);
    let data = weights.of(&data)?;
    let entry = Entry { n_threads, cost: cost_of_fit(&data).saturating_mul(config.n_trees), progress };
    entry
        .run(py, |control| {
            memory::reserve(&data, None, |shapes| config.fit_memory(shapes, n_threads))?;
            config.fit((&data, control))
        })
        .map(PyLabelTree::from)
}

/// Returns the approximate number of steps of the fit of a tree.
fn cost_of_fit(data: &Dataset<'_>) -> usize {
    let (x, y) = (data.x(), data.y());
    let of_samples = x.n_stored().saturating_add(x.n_samples()).saturating_add(y.n_stored());
    of_samples.saturating_mul(PASSES).saturating_add(y.width())
}

impl PyLabelTree {
    /// Returns how to run a search for `width` labels of each sample.
    fn entry<'py>(&self, x: &Matrix<'_>, width: usize, n_threads: usize) -> Entry<'py> {
        let model = &self.0;
        let nodes: usize = model.trees().iter().map(LabelTree::n_nodes).sum();
        // A sample visits some columns of each node that is followed, and reads the features that it has.
        let per_node = model.n_columns() / nodes.max(1) + 16;
        let followed = model.beam_width().saturating_mul(3 * model.trees().len()).min(nodes);
        let of_samples = x.n_samples().saturating_mul(followed.saturating_mul(per_node).saturating_add(width));
        Entry { n_threads, cost: of_samples.saturating_add(x.n_stored().saturating_mul(followed)), progress: None }
    }
}

#[pymethods]
impl PyLabelTree {
    /// Returns a model with all trees of `parts`, in their order.
    #[staticmethod]
    fn merge(py: Python<'_>, parts: Vec<Py<PyLabelTree>>) -> PyResult<Self> {
        let parts: Vec<_> = parts.iter().map(|part| part.bind(py).get().0.as_ref()).collect();
        LabelTreeModel::merge(&parts).map(PyLabelTree::from).map_err(raise)
    }

    /// The number of labels or classes.
    #[getter]
    fn width(&self) -> usize {
        self.0.n_labels()
    }

    /// The number of trees.
    #[getter]
    fn n_trees(&self) -> usize {
        self.0.trees().len()
    }

    /// What is done with X: "given", "normalized" or "tfidf".
    #[getter]
    fn features(&self) -> &'static str {
        self.0.features().name()
    }

    /// The largest number of edges between the root and a leaf of each tree.
    fn depths(&self) -> Vec<usize> {
        self.0.trees().iter().map(LabelTree::depth).collect()
    }

    /// The number of leaves of each tree.
    fn n_leaves(&self) -> Vec<usize> {
        self.0.trees().iter().map(LabelTree::n_leaves).collect()
    }

    /// The scores of the labels that are found, logarithms of their probabilities for labels, as CSR (indptr, indices
    /// uint32, data float64).
    #[pyo3(signature = (x, n_threads=1))]
    fn predict_scores<'py>(
        &self,
        py: Python<'py>,
        x: PyMatrix<'py>,
        n_threads: usize,
    ) -> PyResult<output::SparseArrays<'py>> {
        let x = x.view()?;
        let found = self.entry(&x, 1, n_threads).run(py, |control| self.0.predict_scores((&x, control)))?;
        Ok(output::sparse(py, found))
    }

    /// The probabilities that are positive and at least `floor`, in the same form.
    #[pyo3(signature = (x, floor, n_threads=1))]
    fn predict_at_least<'py>(
        &self,
        py: Python<'py>,
        x: PyMatrix<'py>,
        floor: f64,
        n_threads: usize,
    ) -> PyResult<output::SparseArrays<'py>> {
        let x = x.view()?;
        let found = self.entry(&x, 1, n_threads).run(py, |control| self.0.predict_at_least((&x, control), floor))?;
        Ok(output::sparse(py, found))
    }

    /// (n_features,) float32: the inverse document frequencies, if features are weighted by them.
    fn idf<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray1<f32>>>> {
        self.0.idf().map(|idf| output::copied(py, WHAT, idf)).transpose()
    }
}
