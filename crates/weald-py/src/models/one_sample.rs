//! Scores and best labels of one sample at a time, for services: what does not depend on the sample is done once.

use std::borrow::Cow;
use std::sync::Arc;

use numpy::{Element, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyTuple};
use weald::{ErrorKind, Link, Result, Sample, Scorer};

use crate::enter::{Entry, SHORT, at_once};
use crate::error::raise;
use crate::models::linear::PyLinear;
use crate::models::model::PyAdditive;
use crate::output;

/// Work of fewer steps than this ends in some ten microseconds, and keeps the GIL.
const BRIEF: usize = 1 << 14;

/// Best labels and their scores, each of shape (k,).
type Best<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<f64>>);

/// The models that score one sample.
#[derive(Debug, FromPyObject)]
enum Scored {
    Trees(PyAdditive),
    Linear(Py<PyLinear>),
}

/// The values of a sample: all, or those of some features.
#[derive(Debug)]
enum Values {
    All(Vec<f32>),
    Some(Vec<u32>, Vec<f32>),
}

impl Values {
    fn view(&self) -> Sample<'_> {
        match self {
            Values::All(values) => values.into(),
            Values::Some(features, values) => (features, values).into(),
        }
    }
}

/// A model that scores one sample after another, bit for bit as it scores many. Any number of threads may use it.
///
/// A sample is an array, list or tuple of numbers, a CSR matrix of one row in canonical form, or a dictionary from some
/// names of features to their values, if the object was made with a dictionary from names to features. Methods return None
/// for whatever else, for another number of features, for values that the model does not take, and where the work is so
/// long that it must be possible to interrupt it.
#[pyclass(frozen, module = "weald._weald", name = "OneSample")]
#[derive(Debug)]
pub(crate) struct PyOneSample {
    scorer: Scorer,
    names: Option<Py<PyDict>>,
}

#[pymethods]
impl PyOneSample {
    #[new]
    #[pyo3(signature = (model, names=None))]
    fn new(model: Scored, names: Option<Py<PyDict>>) -> PyResult<Self> {
        let scorer = match model {
            Scored::Trees(PyAdditive::Forest(model)) => Scorer::new(model.get().as_ref().clone()),
            Scored::Trees(PyAdditive::Boosted(model)) => Scorer::new(model.get().as_ref().clone()),
            Scored::Trees(PyAdditive::Compressed(model)) => Scorer::new(model.get().as_ref().clone()),
            Scored::Linear(model) => Scorer::new(Arc::clone(model.get().shared())),
        };
        Ok(PyOneSample { scorer: scorer.map_err(raise)?, names })
    }

    /// (1, width) float64: the scores of a sample.
    fn scores<'py>(&self, py: Python<'py>, sample: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        let found = self.of_sample(py, sample, |sample| {
            let mut scores = ndarray::Array2::zeros((1, self.scorer.n_scores()));
            let to = scores.as_slice_mut().expect("new memory is contiguous");
            self.scorer.scores(sample, to).map(|()| scores)
        })?;
        Ok(found.map(|scores| output::array(py, scores)))
    }

    /// (k,) int64 and (k,) float64: the labels with the largest scores, of which `k` are no more than there are, and their
    /// probabilities or margins, for linear models of labels.
    fn topk<'py>(
        &self,
        py: Python<'py>,
        sample: &Bound<'py, PyAny>,
        k: usize,
        as_margins: bool,
    ) -> PyResult<Option<Best<'py>>> {
        let of_score = |score: f64| if as_margins { 2.0 * score } else { Link::Logistic.of_score(score) };
        let found = self.of_sample(py, sample, |sample| {
            let best = self.scorer.topk(sample, k)?;
            Ok(best
                .into_iter()
                .map(|(column, score)| (i64::from(column), of_score(score)))
                .unzip::<_, _, Vec<_>, Vec<_>>())
        })?;
        Ok(found.map(|(labels, scores)| (output::vector(py, labels), output::vector(py, scores))))
    }
}

impl PyOneSample {
    /// Reads a sample, and returns what the work finds; nothing for a sample of which it refuses a value.
    fn of_sample<T: Send>(
        &self,
        py: Python<'_>,
        sample: &Bound<'_, PyAny>,
        work: impl FnOnce(Sample<'_>) -> Result<T> + Send,
    ) -> PyResult<Option<T>> {
        // So few scores that their memory is not asked for in ways that may be refused.
        if self.scorer.n_scores() >= SHORT {
            return Ok(None);
        }
        let Some(values) = self.read(sample) else { return Ok(None) };
        let work = || match work(values.view()) {
            Ok(found) => Ok(Some(found)),
            Err(error) if matches!(error.kind(), ErrorKind::Invalid { .. }) => Ok(None),
            Err(error) => Err(error),
        };
        match self.scorer.cost(values.view()) {
            ..BRIEF => at_once(work),
            BRIEF..SHORT => Entry::to_the_end().run(py, |_| work()),
            _ => Ok(None),
        }
    }

    fn read(&self, sample: &Bound<'_, PyAny>) -> Option<Values> {
        if let Ok(named) = sample.cast::<PyDict>() {
            return read_named(named, self.names.as_ref()?.bind(sample.py()));
        }
        let n_features = self.scorer.n_features();
        if let Some(values) = values(sample) {
            return (values.len() == n_features).then_some(Values::All(values));
        }
        read_sparse(sample, n_features)
    }
}

/// The numbers of an array of shape (n,) or (1, n) in C order, or of a list or a tuple, as float32.
fn values(sample: &Bound<'_, PyAny>) -> Option<Vec<f32>> {
    if sample.is_exact_instance_of::<PyList>() || sample.is_exact_instance_of::<PyTuple>() {
        return sample.extract::<Vec<f64>>().ok().map(rounded);
    }
    array_values::<f32>(sample).or_else(|| array_values::<f64>(sample).map(rounded))
}

/// Reads a dictionary from names to numbers, whose features `names` contains.
fn read_named(named: &Bound<'_, PyDict>, names: &Bound<'_, PyDict>) -> Option<Values> {
    let py = named.py();
    if !named.is_exact_instance_of::<PyDict>() {
        // Classes may have items of their own; `collections.Counter` does not.
        let items = intern!(py, "items");
        let of_dict = py.get_type::<PyDict>().getattr(items).ok()?;
        if !named.get_type().getattr(items).ok()?.is(&of_dict) {
            return None;
        }
    }
    let mut entries: Vec<(u32, f32)> = Vec::new();
    for (name, value) in named {
        entries.push((names.get_item(name).ok()??.extract().ok()?, number(&value)?));
    }
    entries.sort_unstable_by_key(|(feature, _)| *feature);
    let (features, values) = entries.into_iter().unzip();
    Some(Values::Some(features, values))
}

/// Returns a number as numpy rounds it to float32.
fn number(value: &Bound<'_, PyAny>) -> Option<f32> {
    if let Ok(value) = value.cast::<PyFloat>() {
        return Some(value.value() as f32);
    }
    if value.is_exact_instance_of::<PyInt>() || value.is_exact_instance_of::<PyBool>() {
        // Larger integers are rounded twice on the way to float32 if other values of the sample are no integers.
        const LARGEST: i64 = 1 << f64::MANTISSA_DIGITS;
        let value = value.extract().ok()?;
        return (-LARGEST..=LARGEST).contains(&value).then_some(value as f32);
    }
    None
}

/// Reads a CSR matrix of shape (1, n_features); the order of the columns is not looked at.
fn read_sparse(sample: &Bound<'_, PyAny>, n_features: usize) -> Option<Values> {
    let py = sample.py();
    let is_csr = sample.getattr(intern!(py, "format")).ok()?.extract::<Cow<'_, str>>().ok()? == "csr";
    if !is_csr || sample.getattr(intern!(py, "shape")).ok()?.extract::<(usize, usize)>().ok()? != (1, n_features) {
        return None;
    }
    let data = sample.getattr(intern!(py, "data")).ok()?;
    let values: Vec<f32> = if let Some(data) = array::<f64>(&data) {
        rounded(data.as_slice().ok()?.iter().copied())
    } else if let Some(data) = array::<i64>(&data) {
        data.as_slice().ok()?.iter().map(|&value| value as f32).collect()
    } else {
        array::<f32>(&data)?.as_slice().ok()?.to_vec()
    };
    let indices = sample.getattr(intern!(py, "indices")).ok()?;
    let features: Vec<u32> = match array::<i32>(&indices) {
        Some(indices) => all(indices.as_slice().ok()?)?,
        None => all(array::<i64>(&indices)?.as_slice().ok()?)?,
    };
    let ends = sample.getattr(intern!(py, "indptr")).ok()?;
    let is_one_row = match array::<i32>(&ends) {
        Some(ends) => are_ends(ends.as_slice().ok()?, values.len()),
        None => are_ends(array::<i64>(&ends)?.as_slice().ok()?, values.len()),
    };
    (is_one_row && features.len() == values.len()).then_some(Values::Some(features, values))
}

/// Returns the indices, if all of them fit.
fn all<T: Copy + TryInto<u32>>(indices: &[T]) -> Option<Vec<u32>> {
    indices.iter().map(|&index| index.try_into().ok()).collect()
}

/// Whether these are the ends of a single row with `n` entries.
fn are_ends<T: Copy + TryInto<usize>>(ends: &[T], n: usize) -> bool {
    ends.len() == 2 && ends.iter().zip([0, n]).all(|(&end, expected)| end.try_into().is_ok_and(|end| end == expected))
}

/// Returns an array with elements of this type, if that is what it is.
fn array<'py, T: Element>(array: &Bound<'py, PyAny>) -> Option<PyReadonlyArray1<'py, T>> {
    let array = array.cast::<PyArray1<T>>().ok()?;
    if array.is_aligned() { array.try_readonly().ok() } else { None }
}

fn array_values<T: Element + Copy>(sample: &Bound<'_, PyAny>) -> Option<Vec<T>> {
    if let Ok(array) = sample.cast::<PyArray1<T>>() {
        return array.to_vec().ok();
    }
    let array = sample.cast::<PyArray2<T>>().ok()?;
    if array.dims()[0] == 1 { array.to_vec().ok() } else { None }
}

/// As numpy converts them: what is beyond float32 becomes infinite.
fn rounded(values: impl IntoIterator<Item = f64>) -> Vec<f32> {
    values.into_iter().map(|value| value as f32).collect()
}
