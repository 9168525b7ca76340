//! The engine's errors as Python exceptions. This is the only mapping, so that a kind of error is the same exception
//! everywhere, and messages use the names of Python's parameters.

use std::io;

use pyo3::exceptions::{PyKeyboardInterrupt, PyMemoryError, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use weald::{Error, ErrorKind};

/// Names of arguments and values in the engine's messages, and their names in Python.
const WORDS: [(&str, &str); 31] = [
    ("precision", "dtype"),
    ("Byte", "'int8'"),
    ("be Half or Single for labels and classes", "be 'float16' or 'float32' for labels and classes"),
    ("X of the validation set", "X_val"),
    ("each row of X of the validation set", "each row of X_val"),
    ("y of the validation set", "y_val"),
    ("n_trees", "n_estimators"),
    ("sampling", "max_samples"),
    ("strategy", "output_strategy"),
    (
        "be Joint, or Projected without relabelled leaves, for weak models other than trees",
        "be 'joint', or 'projected' with relabel_leaves=False, with an estimator",
    ),
    ("LogLoss", "'log_loss'"),
    ("be SquaredError for numerical outputs", "be 'squared_error' for numerical outputs"),
    ("be LogLoss or Exponential", "be 'log_loss' or 'exponential'"),
    ("be Variance if y has masked cells", "be 'squared_error' if y has masked entries"),
    ("be Variance if outputs are scaled or weighted", "be 'squared_error' if outputs are scaled or weighted"),
    ("Variance", "'squared_error'"),
    ("AbsoluteError", "'absolute_error'"),
    ("Poisson", "'poisson'"),
    ("Gini", "'gini'"),
    ("Entropy", "'entropy'"),
    ("Pca", "'pca'"),
    ("be Newton if samples are spread over workers", "be 'newton' if samples are spread over workers"),
    (
        "be Newton for three and more classes if samples are spread over workers",
        "be 'newton' for three and more classes if samples are spread over workers",
    ),
    (
        "with the strategy Projected, which mixes the signs of outputs",
        "with output_strategy='projected', which mixes the signs of outputs",
    ),
    ("grow fewer trees", "set a smaller n_estimators"),
    ("fit fewer stages", "set a smaller n_estimators"),
    ("pass X as CSC and draw all features at each node", "pass X as CSC and max_features=None"),
    ("pass X in Fortran order", "pass X in Fortran order as float32, np.asfortranarray(X, dtype=np.float32)"),
    (
        "draw fewer features at each node, below a fifth of them, or use fewer threads",
        "draw fewer features at each node with max_features, below a fifth of them, or use less n_jobs",
    ),
    ("data", "training_data"),
    (
        "be the data, sampling and seed of the fit",
        "be X, y and sample_weight of the fit, with the parameters of the fit",
    ),
];

/// Returns the Python name for a text of the engine's messages, or the text itself if Python has no other name.
fn word(text: &str) -> &str {
    WORDS.iter().find(|(engine, _)| *engine == text).map_or(text, |(_, python)| *python)
}

/// Returns the message of an error with Python's names.
fn message(error: &Error) -> String {
    match error.kind() {
        ErrorKind::Shape { what, expected, got } => {
            Error::from(ErrorKind::Shape { what: word(what), expected: *expected, got: *got }).to_string()
        }
        ErrorKind::Invalid { what, got, must } => {
            let got = word(got).to_owned();
            Error::from(ErrorKind::Invalid { what: word(what), got, must: word(must) }).to_string()
        }
        ErrorKind::Unsupported { what, when } => {
            Error::from(ErrorKind::Unsupported { what: word(what), when: word(when) }).to_string()
        }
        ErrorKind::FitMemory { bytes, at_once, largest, advice } => {
            let (bytes, at_once, largest) = (*bytes, *at_once, *largest);
            Error::from(ErrorKind::FitMemory { bytes, at_once, largest, advice: word(advice) }).to_string()
        }
        _ => error.to_string(),
    }
}

/// Returns the exception for an error of the engine. Its message names the argument.
pub(crate) fn raise(error: Error) -> PyErr {
    let message = message(&error);
    match error.kind() {
        ErrorKind::Threads { n_threads } if *n_threads > 1 => PyMemoryError::new_err(format!(
            "cannot start {n_threads} threads: lower n_jobs, or leave more memory or threads to the process"
        )),
        ErrorKind::Threads { .. } | ErrorKind::OutOfMemory { .. } | ErrorKind::FitMemory { .. } => {
            PyMemoryError::new_err(message)
        }
        ErrorKind::File { path, code: Some(code), message, .. } if cfg!(unix) => {
            // From the error code, Python creates the matching exception, such as `FileNotFoundError`.
            let message = message.split(" (os error").next().unwrap_or_default().to_owned();
            PyOSError::new_err((*code, message, path.clone().into_os_string()))
        }
        ErrorKind::File { kind, .. } => io::Error::new(*kind, message).into(),
        ErrorKind::Workers { .. } => PyRuntimeError::new_err(message),
        ErrorKind::Interrupted => PyKeyboardInterrupt::new_err(message),
        // Errors of shapes, values, formats, limits and invalid models are all about the arguments.
        _ => PyValueError::new_err(message),
    }
}
