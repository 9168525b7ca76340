//! The engine's arrays as numpy arrays: memory changes hands, nothing is copied.

use ndarray::{Array, Dimension};
use numpy::{Element, IntoPyArray, PyArray, PyArray1, PyArray2};
use pyo3::prelude::*;

/// A new array of zeros in C order, in numpy's memory. numpy asks the system for large pages where an array is large: far
/// fewer page faults when it is first written.
pub(crate) fn zeros(py: Python<'_>, n_rows: usize, n_columns: usize) -> PyResult<Bound<'_, PyArray2<f64>>> {
    // By its Python name: a failure is then numpy's `MemoryError`.
    Ok(py.import("numpy")?.call_method1("zeros", ((n_rows, n_columns),))?.cast_into()?)
}

/// A numpy array that owns `array`'s memory.
pub(crate) fn array<T: Element, D: Dimension>(py: Python<'_>, array: Array<T, D>) -> Bound<'_, PyArray<T, D>> {
    array.into_pyarray(py)
}

/// A numpy array that owns `vector`'s memory.
pub(crate) fn vector<T: Element>(py: Python<'_>, vector: Vec<T>) -> Bound<'_, PyArray1<T>> {
    vector.into_pyarray(py)
}
