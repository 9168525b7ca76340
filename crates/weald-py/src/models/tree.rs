//! One tree of a forest, as arrays.

use std::sync::Arc;

use numpy::{PyArray1, PyArray3};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use weald::{RuleStyle, Tree};

use crate::enter::Entry;
use crate::models::model::{check_node, copies, properties, vectors};
use crate::output;

const WHAT: &str = "the nodes of a tree";

/// A fitted tree. Each call creates a new array, in O(nodes) time; `value` takes O(nodes × outputs × classes).
#[pyclass(frozen, module = "weald._weald", name = "Tree")]
#[derive(Debug)]
pub(crate) struct PyTree(pub(crate) Arc<Tree>);

properties! { PyTree {
    n_leaves: usize,
    max_depth: usize,
}}
copies! { PyTree, WHAT, {
    impurity: f64,
    n_node_samples: u32,
    weighted_n_node_samples: f64,
}}
vectors! { PyTree {
    children_left: i64,
    children_right: i64,
    feature: i64,
    threshold: f64,
    missing_go_to_left: u8,
}}

#[pymethods]
impl PyTree {
    #[getter]
    fn node_count(&self) -> usize {
        self.0.n_nodes()
    }

    /// Returns the categories that a split sends left, in increasing order. It is empty for leaves and if the split
    /// tests a threshold.
    fn categories_left<'py>(&self, py: Python<'py>, node: usize) -> PyResult<Bound<'py, PyArray1<u16>>> {
        check_node(node, self.0.n_nodes())?;
        output::copied(py, WHAT, self.0.categories_left(node))
    }

    /// (n_nodes, n_outputs, max_n_classes): means of numerical outputs, frequencies of classes.
    fn value<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<f64>>> {
        Ok(output::array(py, Entry::to_the_end().run(py, |_| self.0.value())?))
    }

    /// Returns the contributions of leaves to predictions, with one row for each node, as CSR (indptr, indices uint32,
    /// data float64).
    fn leaf_values<'py>(&self, py: Python<'py>) -> PyResult<output::SparseArrays<'py>> {
        let found = Entry::to_the_end().run(py, |_| self.0.leaf_values())?;
        Ok((output::vector(py, found.ptr), output::vector(py, found.columns), output::vector(py, found.values)))
    }

    /// Returns the effective alphas and the impurities of minimal cost-complexity pruning.
    fn cost_complexity_pruning_path<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let path = self.entry().run(py, |control| self.0.cost_complexity_pruning_path(control))?;
        (output::vector(py, path.ccp_alphas), output::vector(py, path.impurities)).into_pyobject(py)
    }

    /// Returns the leaves as text, with one rule per line.
    #[pyo3(signature = (feature_names, column_names, decimals, max_depth, top_k, category_names=None))]
    #[allow(clippy::too_many_arguments)] // the signature of a Python function
    fn rules<'py>(
        &self,
        py: Python<'py>,
        feature_names: Option<Vec<String>>,
        column_names: Option<Vec<String>>,
        decimals: Option<usize>,
        max_depth: Option<usize>,
        top_k: usize,
        category_names: Option<Vec<Vec<String>>>,
    ) -> PyResult<Bound<'py, PyString>> {
        let (feature_names, column_names) = (feature_names.as_deref(), column_names.as_deref());
        let style = RuleStyle::default()
            .feature_names(feature_names)
            .column_names(column_names)
            .category_names(category_names.as_deref())
            .decimals(decimals)
            .max_depth(max_depth)
            .top_k(top_k);
        output::text(py, &self.entry().run(py, |control| self.0.rules(&style, control))?)
    }
}

/// The approximate number of steps for each node of a tree.
const STEPS_PER_NODE: usize = 16;

impl PyTree {
    fn entry<'py>(&self) -> Entry<'py> {
        Entry { n_threads: 1, cost: self.0.n_nodes().saturating_mul(STEPS_PER_NODE), progress: None }
    }
}
