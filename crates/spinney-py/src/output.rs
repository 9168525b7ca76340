//! The engine's arrays as numpy arrays: memory changes hands, nothing is copied.

use ndarray::{Array, Dimension};
use numpy::{Element, IntoPyArray, PyArray, PyArray1};
use pyo3::prelude::*;

/// A numpy array that owns `array`'s memory.
pub(crate) fn array<T: Element, D: Dimension>(py: Python<'_>, array: Array<T, D>) -> Bound<'_, PyArray<T, D>> {
    array.into_pyarray(py)
}

/// A numpy array that owns `vector`'s memory.
pub(crate) fn vector<T: Element>(py: Python<'_>, vector: Vec<T>) -> Bound<'_, PyArray1<T>> {
    vector.into_pyarray(py)
}
