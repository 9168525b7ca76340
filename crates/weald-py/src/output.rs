//! The engine's arrays as numpy arrays. Ownership of the memory is transferred where possible, and copies report if
//! there is not enough memory.

use ndarray::{Array, Array2, ArrayView2, Dimension};
use numpy::{Element, IntoPyArray, PyArray, PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyString};
use weald::{Result, SparseScores};

use crate::enter::Entry;
use crate::input::collected;

/// Returns a new array of zeros in C order, in numpy's memory. For large arrays, numpy asks the operating system for
/// large pages, so that writing the array causes far fewer page faults.
pub(crate) fn zeros(py: Python<'_>, n_rows: usize, n_columns: usize) -> PyResult<Bound<'_, PyArray2<f64>>> {
    static ZEROS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    // `zeros` is called through Python, so that a failure is numpy's `MemoryError`.
    Ok(ZEROS.import(py, "numpy", "zeros")?.call1(((n_rows, n_columns),))?.cast_into()?)
}

/// Returns a numpy array that owns the memory of `array`.
pub(crate) fn array<T: Element, D: Dimension>(py: Python<'_>, array: Array<T, D>) -> Bound<'_, PyArray<T, D>> {
    array.into_pyarray(py)
}

/// Returns a numpy array that owns the memory of `vector`.
pub(crate) fn vector<T: Element>(py: Python<'_>, vector: Vec<T>) -> Bound<'_, PyArray1<T>> {
    vector.into_pyarray(py)
}

/// A sparse matrix as the arrays of scipy's CSR: offsets, columns and values.
pub(crate) type SparseArrays<'py> = (Bound<'py, PyArray1<usize>>, Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<f64>>);

/// Returns numpy arrays that own the memory of sparse predictions.
pub(crate) fn sparse(py: Python<'_>, scores: SparseScores) -> SparseArrays<'_> {
    (vector(py, scores.ptr), vector(py, scores.columns), vector(py, scores.values))
}

/// Returns a numpy array with a copy of some values.
///
/// # Errors
/// `MemoryError` if there is not enough memory.
pub(crate) fn copied<'py, T: Element + Copy>(
    py: Python<'py>,
    what: &'static str,
    values: &[T],
) -> PyResult<Bound<'py, PyArray1<T>>> {
    Ok(vector(py, collected(what, values.iter().copied().map(Ok))?))
}

/// Returns a numpy array with a copy of a matrix, in C order.
///
/// # Errors
/// `MemoryError` if there is not enough memory.
pub(crate) fn copied_rows<'py>(
    py: Python<'py>,
    what: &'static str,
    rows: ArrayView2<'_, f64>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    Ok(array(py, owned(what, rows)?))
}

/// Returns a copy of a matrix, in C order.
///
/// # Errors
/// `MemoryError` if there is not enough memory.
pub(crate) fn owned(what: &'static str, rows: ArrayView2<'_, f64>) -> PyResult<Array2<f64>> {
    let values = collected(what, rows.iter().copied().map(Ok))?;
    Ok(Array2::from_shape_vec(rows.dim(), values).expect("as many values as the matrix has"))
}

/// Returns a text of any length as a Python string. PyO3's own conversion panics if there is not enough memory.
///
/// # Errors
/// `MemoryError` if there is not enough memory.
pub(crate) fn text<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyString>> {
    PyString::from_bytes(py, text.as_bytes())
}

/// Returns the bytes of a model, which are written and copied without the GIL.
///
/// # Errors
/// The errors of `to_bytes`; `MemoryError` if there is not enough memory.
pub(crate) fn model_bytes<'py>(
    py: Python<'py>,
    to_bytes: impl FnOnce() -> Result<Vec<u8>> + Send,
) -> PyResult<Bound<'py, PyBytes>> {
    bytes(py, &Entry::to_the_end().run(py, |_| to_bytes())?)
}

/// Returns a copy of `bytes` as Python's bytes, which is made without the GIL.
///
/// # Errors
/// `MemoryError` if there is not enough memory.
pub(crate) fn bytes<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, bytes.len(), |copy| {
        Entry::to_the_end().run(py, |_| {
            copy.copy_from_slice(bytes);
            Ok(())
        })
    })
}
