//! Shapley values of models that are sums of trees.

use numpy::{PyArray1, PyArray3};
use pyo3::prelude::*;
use weald::{Additive, Matrix, Result, Tree};

use crate::input::PyMatrix;
use crate::models::model::{PyAdditive, over_trees};
use crate::output::{self, SparseArrays};

/// The approximate number of steps for each node of a tree and each sample.
const STEPS_PER_NODE: usize = 8;

/// Runs `work` on the model, for `n_samples` samples.
fn explained<T: Send>(
    py: Python<'_>,
    model: &PyAdditive,
    n_samples: usize,
    n_threads: usize,
    work: impl FnOnce(&Additive<'_>, &weald::Control) -> Result<T> + Send,
) -> PyResult<T> {
    // The cost cannot be known before the trees are walked. The estimate is high enough that any long work checks for
    // Ctrl-C.
    let steps = |tree: &Tree| tree.n_nodes().saturating_mul(STEPS_PER_NODE).saturating_mul(n_samples);
    let entry = over_trees(model.additive(), n_threads, steps);
    entry.run(py, |control| work(&model.additive()?, control))
}

/// Returns the samples, those of the background, and the number of pairs of them.
fn views<'a>(
    x: &'a PyMatrix<'_>,
    background: Option<&'a PyMatrix<'_>>,
) -> PyResult<(Matrix<'a>, Option<Matrix<'a>>, usize)> {
    let (x, background) = (x.view()?, background.map(PyMatrix::view).transpose()?);
    let n_pairs = x.n_samples().saturating_mul(background.as_ref().map_or(1, |b| b.n_samples()));
    Ok((x, background, n_pairs))
}

/// (n_samples, n_features, len(outputs)) float64: the Shapley values of the scores, for all outputs or some of them.
#[pyfunction]
#[pyo3(signature = (model, x, background=None, outputs=None, n_threads=1))]
pub(crate) fn shap_values<'py>(
    py: Python<'py>,
    model: PyAdditive,
    x: PyMatrix<'py>,
    background: Option<PyMatrix<'py>>,
    outputs: Option<Vec<usize>>,
    n_threads: usize,
) -> PyResult<Bound<'py, PyArray3<f64>>> {
    let (x, background, n_samples) = views(&x, background.as_ref())?;
    let values = explained(py, &model, n_samples, n_threads, |model, control| {
        model.shap_values((&x, control), background, outputs.as_deref())
    })?;
    Ok(output::array(py, values))
}

/// Returns the non-zero Shapley values: for each output a CSR matrix of shape (n_samples, n_features), as (indptr,
/// indices uint32, data float64).
#[pyfunction]
#[pyo3(signature = (model, x, background=None, outputs=None, n_threads=1))]
pub(crate) fn shap_values_sparse<'py>(
    py: Python<'py>,
    model: PyAdditive,
    x: PyMatrix<'py>,
    background: Option<PyMatrix<'py>>,
    outputs: Option<Vec<usize>>,
    n_threads: usize,
) -> PyResult<Vec<SparseArrays<'py>>> {
    let (x, background, n_samples) = views(&x, background.as_ref())?;
    let values = explained(py, &model, n_samples, n_threads, |model, control| {
        model.shap_values_sparse((&x, control), background, outputs.as_deref())
    })?;
    Ok(values.into_iter().map(|values| output::sparse(py, values)).collect())
}

/// (len(outputs),) float64: the scores to which Shapley values are added.
#[pyfunction]
#[pyo3(signature = (model, background=None, outputs=None, n_threads=1))]
pub(crate) fn shap_base_values<'py>(
    py: Python<'py>,
    model: PyAdditive,
    background: Option<PyMatrix<'py>>,
    outputs: Option<Vec<usize>>,
    n_threads: usize,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let background = background.as_ref().map(PyMatrix::view).transpose()?;
    let n_samples = background.as_ref().map_or(1, |b| b.n_samples());
    let values = explained(py, &model, n_samples, n_threads, |model, control| {
        model.shap_base_values(background, outputs.as_deref(), control)
    })?;
    Ok(output::vector(py, values))
}

/// (n_samples, n_features, n_features) float64: the interaction values of one output.
#[pyfunction]
#[pyo3(signature = (model, x, output, background=None, n_threads=1))]
pub(crate) fn shap_interaction_values<'py>(
    py: Python<'py>,
    model: PyAdditive,
    x: PyMatrix<'py>,
    output: usize,
    background: Option<PyMatrix<'py>>,
    n_threads: usize,
) -> PyResult<Bound<'py, PyArray3<f64>>> {
    let (x, background, n_samples) = views(&x, background.as_ref())?;
    let values = explained(py, &model, n_samples, n_threads, |model, control| {
        model.shap_interaction_values((&x, control), background, output)
    })?;
    Ok(output::array(py, values))
}
