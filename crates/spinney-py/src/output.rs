//! The engine's arrays as numpy arrays: memory changes hands, nothing is copied.

use ndarray::{Array, Array2, ArrayView2, Dimension};
use numpy::{Element, IntoPyArray, PyArray, PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyString};
use spinney::{Result, SparseScores};

use crate::enter::Entry;
use crate::input::collected;

/// A new array of zeros in C order, in numpy's memory. numpy asks the system for large pages where an array is large: far
/// fewer page faults when it is first written.
pub(crate) fn zeros(py: Python<'_>, n_rows: usize, n_columns: usize) -> PyResult<Bound<'_, PyArray2<f64>>> {
    static ZEROS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    // By its Python name: a failure is then numpy's `MemoryError`.
    Ok(ZEROS.import(py, "numpy", "zeros")?.call1(((n_rows, n_columns),))?.cast_into()?)
}

/// A numpy array that owns `array`'s memory.
pub(crate) fn array<T: Element, D: Dimension>(py: Python<'_>, array: Array<T, D>) -> Bound<'_, PyArray<T, D>> {
    array.into_pyarray(py)
}

/// A numpy array that owns `vector`'s memory.
pub(crate) fn vector<T: Element>(py: Python<'_>, vector: Vec<T>) -> Bound<'_, PyArray1<T>> {
    vector.into_pyarray(py)
}

/// A sparse matrix as the arrays of scipy's CSR: offsets, columns, values.
pub(crate) type SparseArrays<'py> = (Bound<'py, PyArray1<usize>>, Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<f64>>);

/// numpy arrays that own the memory of sparse predictions.
pub(crate) fn sparse(py: Python<'_>, scores: SparseScores) -> SparseArrays<'_> {
    (vector(py, scores.ptr), vector(py, scores.columns), vector(py, scores.values))
}

/// A numpy array with a copy of some values, whose memory may be refused.
///
/// # Errors
/// `MemoryError`.
pub(crate) fn copied<'py, T: Element + Copy>(
    py: Python<'py>,
    what: &'static str,
    values: &[T],
) -> PyResult<Bound<'py, PyArray1<T>>> {
    Ok(vector(py, collected(what, values.iter().copied().map(Ok))?))
}

/// The same of a matrix, in C order.
///
/// # Errors
/// `MemoryError`.
pub(crate) fn copied_rows<'py>(
    py: Python<'py>,
    what: &'static str,
    rows: ArrayView2<'_, f64>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    Ok(array(py, owned(what, rows)?))
}

/// A copy of a matrix, in C order, whose memory may be refused.
///
/// # Errors
/// `MemoryError`.
pub(crate) fn owned(what: &'static str, rows: ArrayView2<'_, f64>) -> PyResult<Array2<f64>> {
    let values = collected(what, rows.iter().copied().map(Ok))?;
    Ok(Array2::from_shape_vec(rows.dim(), values).expect("as many values as the matrix has"))
}

/// A text of any length. Where PyO3 makes strings by itself, memory that is refused is a panic.
///
/// # Errors
/// `MemoryError`.
pub(crate) fn text<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyString>> {
    PyString::from_bytes(py, text.as_bytes())
}

/// The bytes of a model, which are made and copied without the GIL.
///
/// # Errors
/// Those of `to_bytes`; `MemoryError`.
pub(crate) fn model_bytes<'py>(
    py: Python<'py>,
    to_bytes: impl FnOnce() -> Result<Vec<u8>> + Send,
) -> PyResult<Bound<'py, PyBytes>> {
    bytes(py, &Entry::to_the_end().run(py, |_| to_bytes())?)
}

/// A copy as Python's bytes, made without the GIL.
///
/// # Errors
/// `MemoryError`.
pub(crate) fn bytes<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, bytes.len(), |copy| {
        Entry::to_the_end().run(py, |_| {
            copy.copy_from_slice(bytes);
            Ok(())
        })
    })
}
