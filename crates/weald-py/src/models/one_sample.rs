//! Scores of one sample at a time, for services: what does not depend on the sample is done once.

use std::borrow::Cow;

use ndarray::Array2;
use numpy::{Element, PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use weald::{Control, ErrorKind, Matrix, Result, SparseView};

use crate::enter::{Entry, SHORT, at_once};
use crate::error::raise;
use crate::input::PyIndices;
use crate::models::model::{PyAdditive, STEPS_PER_TREE};
use crate::output;

/// Work of fewer steps than this ends in some ten microseconds, and keeps the GIL.
pub(crate) const BRIEF: usize = 1 << 14;

/// Scores of one dense sample after another, bit for bit those of the model. Immutable: any number of threads may use it.
#[pyclass(frozen, module = "weald._weald", name = "OneSample")]
#[derive(Debug)]
pub(crate) struct PyOneSample {
    model: PyAdditive,
    n_features: usize,
    width: usize,
    /// Rough number of steps of one call.
    cost: usize,
}

#[pymethods]
impl PyOneSample {
    #[new]
    fn new(model: PyAdditive) -> PyResult<Self> {
        let ((n_features, width), n_trees) = {
            let model = model.additive().map_err(raise)?;
            ((model.n_features(), model.n_scores()), model.trees().len())
        };
        let cost = width.saturating_add(STEPS_PER_TREE).saturating_mul(n_trees).saturating_add(n_features);
        Ok(PyOneSample { model, n_features, width, cost })
    }

    /// (1, width) float64: the scores of an array, list or tuple of numbers, or of a CSR matrix of one row in canonical form.
    /// None for whatever else, for another number of features, for infinity, and where the work is so long that it must be
    /// possible to interrupt it.
    fn scores<'py>(&self, py: Python<'py>, sample: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        // So few features and scores, too, that their memory is not asked for in ways that may be refused.
        if self.cost >= SHORT {
            return Ok(None);
        }
        let found = if let Some(sample) = values(sample) {
            if sample.len() != self.n_features {
                return Ok(None);
            }
            self.run(py, || {
                let mut scores = Array2::zeros((1, self.width));
                let to = scores.as_slice_mut().expect("new memory is contiguous");
                self.model.additive()?.scores_of_sample(&sample, to)?;
                Ok(scores)
            })?
        } else if let Some((indices, values)) = sparse_values(sample, self.n_features) {
            let Ok(x) = SparseView::try_new(vec![0, values.len()], indices, values, self.n_features) else {
                return Ok(None);
            };
            self.run(py, || self.model.additive()?.scores(&Matrix::Csr(x), &Control::default()))?
        } else {
            None
        };
        Ok(found.map(|scores| output::array(py, scores)))
    }
}

impl PyOneSample {
    /// What the work finds; nothing in a sample of which it refuses a value.
    fn run<T: Send>(&self, py: Python<'_>, work: impl FnOnce() -> Result<T> + Send) -> PyResult<Option<T>> {
        let work = || match work() {
            Ok(found) => Ok(Some(found)),
            Err(error) if matches!(error.kind(), ErrorKind::Invalid { .. }) => Ok(None),
            Err(error) => Err(error),
        };
        if self.cost < BRIEF { at_once(work) } else { Entry::to_the_end().run(py, |_| work()) }
    }
}

/// The numbers of an array of shape (n,) or (1, n) in C order, or of a list or a tuple, as float32.
pub(crate) fn values(sample: &Bound<'_, PyAny>) -> Option<Vec<f32>> {
    if sample.is_exact_instance_of::<PyList>() || sample.is_exact_instance_of::<PyTuple>() {
        return sample.extract().ok().map(rounded);
    }
    array_values::<f32>(sample).or_else(|| array_values::<f64>(sample).map(rounded))
}

/// Columns and numbers of a CSR matrix of shape (1, n_features), as float32; the columns are not looked at.
fn sparse_values(sample: &Bound<'_, PyAny>, n_features: usize) -> Option<(Vec<u32>, Vec<f32>)> {
    let is_csr = sample.getattr("format").ok()?.extract::<Cow<'_, str>>().ok()? == "csr";
    if !is_csr || sample.getattr("shape").ok()?.extract::<(usize, usize)>().ok()? != (1, n_features) {
        return None;
    }
    let indices: PyIndices<'_> = sample.getattr("indices").ok()?.extract().ok()?;
    let values = values(&sample.getattr("data").ok()?)?;
    let indices = indices.to_u32("X", n_features).ok()?.into_owned();
    let ends: PyIndices<'_> = sample.getattr("indptr").ok()?.extract().ok()?;
    (ends.to_offsets("X").ok()? == [0, values.len()]).then_some((indices, values))
}

fn array_values<T: Element + Copy>(sample: &Bound<'_, PyAny>) -> Option<Vec<T>> {
    if let Ok(array) = sample.cast::<PyArray1<T>>() {
        return array.to_vec().ok();
    }
    let array = sample.cast::<PyArray2<T>>().ok()?;
    if array.dims()[0] == 1 { array.to_vec().ok() } else { None }
}

/// As numpy converts them: what is beyond float32 becomes infinite.
fn rounded(values: Vec<f64>) -> Vec<f32> {
    values.into_iter().map(|value| value as f32).collect()
}
