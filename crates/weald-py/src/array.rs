//! Arrays of numpy that are read.

use std::ops::Deref;

use ndarray::{Dimension, Ix1, Ix2, IxDyn};
use numpy::{Element, PyReadonlyArray, PyUntypedArrayMethods};
use pyo3::prelude::*;

/// An array that is read in place, or a copy of it if its memory is not aligned for its elements: numpy has such arrays
/// in records, and in buffers of bytes that another process has sent.
#[derive(Debug)]
pub(crate) struct ReadArray<'py, T: Element, D: Dimension>(PyReadonlyArray<'py, T, D>);

pub(crate) type Read1<'py, T> = ReadArray<'py, T, Ix1>;
pub(crate) type Read2<'py, T> = ReadArray<'py, T, Ix2>;
pub(crate) type ReadDyn<'py, T> = ReadArray<'py, T, IxDyn>;

impl<'a, 'py, T: Element + 'a, D: Dimension + 'a> FromPyObject<'a, 'py> for ReadArray<'py, T, D> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let array: PyReadonlyArray<'py, T, D> = object.extract()?;
        if array.is_aligned() {
            return Ok(ReadArray(array));
        }
        // Rows or columns stay contiguous.
        Ok(ReadArray(object.call_method1("copy", ("K",))?.extract()?))
    }
}

impl<'py, T: Element, D: Dimension> Deref for ReadArray<'py, T, D> {
    type Target = PyReadonlyArray<'py, T, D>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}
