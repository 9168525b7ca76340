//! The engine's exponentials, logarithms and probabilities, of arrays: those of NumPy have other bits on other machines.

use numpy::PyArray1;
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use weald::{Link, binding as elementary};

use crate::array::Read1;
use crate::enter::Entry;
use crate::output;

fn of_each<'py>(
    py: Python<'py>,
    values: &Read1<'py, f64>,
    function: impl Fn(f64) -> f64 + Send + Sync,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let values = values.as_slice()?;
    let mut found = Vec::new();
    let reserved = found.try_reserve_exact(values.len());
    reserved.map_err(|_| PyMemoryError::new_err("no memory for the values of a function"))?;
    Entry::to_the_end().run(py, |_| {
        found.extend(values.iter().map(|&x| function(x)));
        Ok(())
    })?;
    Ok(output::vector(py, found))
}

/// Returns e^x of each value.
#[pyfunction]
pub(crate) fn exp<'py>(py: Python<'py>, values: Read1<'py, f64>) -> PyResult<Bound<'py, PyArray1<f64>>> {
    of_each(py, &values, elementary::exp)
}

/// Returns ln x of each value: −∞ for zero, NaN for negative numbers.
#[pyfunction]
pub(crate) fn log<'py>(py: Python<'py>, values: Read1<'py, f64>) -> PyResult<Bound<'py, PyArray1<f64>>> {
    of_each(py, &values, elementary::ln)
}

/// Returns ln (1 + x) of each value.
#[pyfunction]
pub(crate) fn log1p<'py>(py: Python<'py>, values: Read1<'py, f64>) -> PyResult<Bound<'py, PyArray1<f64>>> {
    of_each(py, &values, elementary::ln_1p)
}

/// Returns the probability of a label for each score, which is half its log-odds.
#[pyfunction]
pub(crate) fn label_probabilities<'py>(
    py: Python<'py>,
    scores: Read1<'py, f64>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    of_each(py, &scores, |score| Link::Logistic.of_score(score))
}
