//! The engine's errors as Python exceptions: one map, so that a kind of error is the same exception everywhere.

use std::io;

use pyo3::exceptions::{PyKeyboardInterrupt, PyMemoryError, PyOSError, PyValueError};
use pyo3::prelude::*;
use spinney::{Error, ErrorKind};

/// The exception for an error of the engine; its message names the argument.
pub(crate) fn raise(error: Error) -> PyErr {
    let message = error.to_string();
    match error.kind() {
        ErrorKind::OutOfMemory { .. } => PyMemoryError::new_err(message),
        ErrorKind::File { path, code: Some(code), message, .. } if cfg!(unix) => {
            // Python makes of the number the exception that belongs to it, `FileNotFoundError` and so on.
            let message = message.split(" (os error").next().unwrap_or_default().to_owned();
            PyOSError::new_err((*code, message, path.clone().into_os_string()))
        }
        ErrorKind::File { kind, .. } => io::Error::new(*kind, message).into(),
        ErrorKind::Interrupted => PyKeyboardInterrupt::new_err(message),
        // Shapes, values, formats, limits and broken models are all about what was passed.
        _ => PyValueError::new_err(message),
    }
}
