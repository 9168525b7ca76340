//! The engine's errors as Python exceptions: one map, so that a kind of error is the same exception everywhere.

use pyo3::exceptions::{PyKeyboardInterrupt, PyMemoryError, PyValueError};
use pyo3::prelude::*;
use spinney::{Error, ErrorKind};

/// The exception for an error of the engine; its message names the argument.
pub(crate) fn raise(error: Error) -> PyErr {
    let message = error.to_string();
    match error.kind() {
        ErrorKind::OutOfMemory { .. } => PyMemoryError::new_err(message),
        ErrorKind::Interrupted => PyKeyboardInterrupt::new_err(message),
        // Shapes, values, formats, limits and broken models are all about what was passed.
        _ => PyValueError::new_err(message),
    }
}
