//! One tree of a forest, as arrays.

use std::sync::Arc;

use numpy::{PyArray1, PyArray3};
use pyo3::prelude::*;
use spinney::Tree;

use crate::error::raise;
use crate::output;

/// A fitted tree. Each array is made anew when asked for, O(nodes); `value` is O(nodes × outputs × classes).
#[pyclass(frozen, module = "spinney._spinney", name = "Tree")]
#[derive(Debug)]
pub(crate) struct PyTree(pub(crate) Arc<Tree>);

#[pymethods]
impl PyTree {
    #[getter]
    fn node_count(&self) -> usize {
        self.0.n_nodes()
    }

    #[getter]
    fn n_leaves(&self) -> usize {
        self.0.n_leaves()
    }

    #[getter]
    fn max_depth(&self) -> usize {
        self.0.max_depth()
    }

    fn children_left<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        output::vector(py, self.0.children_left())
    }

    fn children_right<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        output::vector(py, self.0.children_right())
    }

    fn feature<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        output::vector(py, self.0.feature())
    }

    fn threshold<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        output::vector(py, self.0.threshold())
    }

    fn impurity<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        output::vector(py, self.0.impurity().to_vec())
    }

    fn n_node_samples<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        output::vector(py, self.0.n_node_samples().to_vec())
    }

    fn weighted_n_node_samples<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        output::vector(py, self.0.weighted_n_node_samples().to_vec())
    }

    /// (n_nodes, n_outputs, max_n_classes): means of numbers, frequencies of classes.
    fn value<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<f64>>> {
        Ok(output::array(py, self.0.value().map_err(raise)?))
    }
}
