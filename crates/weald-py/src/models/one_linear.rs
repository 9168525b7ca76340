//! Scores and best labels of one sample at a time by a linear model, for services.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use numpy::{Element, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt};
use weald::{ErrorKind, LinearScorer, LinearScratch, Link, Result};

use crate::enter::{Entry, SHORT, at_once};
use crate::error::raise;
use crate::models::linear::PyLinear;
use crate::models::one_sample::{BRIEF, values};
use crate::output;

/// Features and values of a sample.
type Entries = Vec<(u32, f32)>;

/// Best labels and their scores, each of shape (k,).
type Best<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<f64>>);

/// The memory of a call.
#[derive(Debug)]
struct Scratch {
    entries: Entries,
    columns: Vec<u32>,
    of_scorer: LinearScratch,
}

/// A linear model that scores one sample after another, bit for bit as the model. Any number of threads may use it.
///
/// A sample is an array, list or tuple of numbers, a CSR matrix of one row in canonical form, or a dictionary from some
/// names of features to their values, if the object was made with a dictionary from names to features. Methods return None
/// for whatever else, for another number of features, for values that are not finite, and where the work is so long that it
/// must be possible to interrupt it.
#[pyclass(frozen, module = "weald._weald", name = "OneLinear")]
#[derive(Debug)]
pub(crate) struct PyOneLinear {
    scorer: LinearScorer,
    names: Option<Py<PyDict>>,
    /// What no call uses at present.
    idle: Mutex<Vec<Scratch>>,
}

#[pymethods]
impl PyOneLinear {
    #[new]
    #[pyo3(signature = (model, names=None))]
    fn new(model: &PyLinear, names: Option<Py<PyDict>>) -> PyResult<Self> {
        let scorer = LinearScorer::new(Arc::clone(model.shared())).map_err(raise)?;
        Ok(PyOneLinear { scorer, names, idle: Mutex::new(Vec::new()) })
    }

    /// (1, width) float64: the scores of a sample.
    fn scores<'py>(&self, py: Python<'py>, sample: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        let width = self.scorer.model().n_columns();
        let found = self.with_sample(py, sample, |Scratch { entries, of_scorer, .. }| {
            let mut scores = ndarray::Array2::zeros((1, width));
            let to = scores.as_slice_mut().expect("new memory is contiguous");
            self.scorer.scores(entries.iter().copied(), of_scorer, to).map(|()| scores)
        })?;
        Ok(found.map(|scores| output::array(py, scores)))
    }

    /// (k,) int64 and (k,) float64: the labels with the largest scores, of which `k` are no more than there are, and their
    /// probabilities or margins, for models of labels.
    fn topk<'py>(
        &self,
        py: Python<'py>,
        sample: &Bound<'py, PyAny>,
        k: usize,
        as_margins: bool,
    ) -> PyResult<Option<Best<'py>>> {
        let model = self.scorer.model();
        if k > model.n_columns() {
            return Ok(None);
        }
        let found = self.with_sample(py, sample, |Scratch { entries, columns, of_scorer }| {
            let mut scores = vec![0.0; k];
            columns.resize(k, 0);
            self.scorer.topk(entries.iter().copied(), of_scorer, columns, &mut scores)?;
            let of_score = |score: f64| if as_margins { 2.0 * score } else { Link::Logistic.of_score(score) };
            scores.iter_mut().for_each(|score| *score = of_score(*score));
            Ok((columns.iter().map(|&column| column.into()).collect(), scores))
        })?;
        Ok(found.map(|(labels, scores)| (output::vector(py, labels), output::vector(py, scores))))
    }
}

impl PyOneLinear {
    /// Reads a sample, and returns what the work finds.
    fn with_sample<T: Send>(
        &self,
        py: Python<'_>,
        sample: &Bound<'_, PyAny>,
        work: impl FnOnce(&mut Scratch) -> Result<T> + Send,
    ) -> PyResult<Option<T>> {
        if self.scorer.model().n_columns() >= SHORT {
            return Ok(None);
        }
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut scratch = match idle {
            Some(scratch) => scratch,
            None => {
                Scratch { entries: Vec::new(), columns: Vec::new(), of_scorer: self.scorer.scratch().map_err(raise)? }
            }
        };
        let found = self.found(py, sample, &mut scratch, work);
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(scratch);
        found
    }

    fn found<T: Send>(
        &self,
        py: Python<'_>,
        sample: &Bound<'_, PyAny>,
        scratch: &mut Scratch,
        work: impl FnOnce(&mut Scratch) -> Result<T> + Send,
    ) -> PyResult<Option<T>> {
        scratch.entries.clear();
        if self.read(sample, &mut scratch.entries).is_none() {
            return Ok(None);
        }
        let cost = self.scorer.cost(scratch.entries.iter().map(|(feature, _)| *feature));
        let work = || match work(scratch) {
            Ok(found) => Ok(Some(found)),
            Err(error) if matches!(error.kind(), ErrorKind::Invalid { .. }) => Ok(None),
            Err(error) => Err(error),
        };
        match cost {
            ..BRIEF => at_once(work),
            BRIEF..SHORT => Entry::to_the_end().run(py, |_| work()),
            _ => Ok(None),
        }
    }

    /// Reads the values of a sample that are not zero, and maybe zeros.
    fn read(&self, sample: &Bound<'_, PyAny>, entries: &mut Entries) -> Option<()> {
        let n_features = self.scorer.model().n_features();
        if let Ok(named) = sample.cast::<PyDict>() {
            return read_named(named, self.names.as_ref()?.bind(sample.py()), entries);
        }
        if let Some(values) = values(sample) {
            let stored = |(_, value): &(u32, f32)| *value != 0.0;
            return (values.len() == n_features).then(|| entries.extend((0..).zip(values).filter(stored)));
        }
        read_sparse(sample, n_features, entries)
    }
}

/// Reads a dictionary from names to numbers, whose features `names` contains.
fn read_named(named: &Bound<'_, PyDict>, names: &Bound<'_, PyDict>, entries: &mut Entries) -> Option<()> {
    let py = named.py();
    if !named.is_exact_instance_of::<PyDict>() {
        // Classes may have items of their own; `collections.Counter` does not.
        let items = intern!(py, "items");
        let of_dict = py.get_type::<PyDict>().getattr(items).ok()?;
        if !named.get_type().getattr(items).ok()?.is(&of_dict) {
            return None;
        }
    }
    for (name, value) in named {
        let feature = names.get_item(name).ok()??.extract().ok()?;
        entries.push((feature, number(&value)?));
    }
    entries.sort_unstable_by_key(|(feature, _)| *feature);
    Some(())
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

/// Reads a CSR matrix of shape (1, n_features); the columns are not looked at.
fn read_sparse(sample: &Bound<'_, PyAny>, n_features: usize, entries: &mut Entries) -> Option<()> {
    let py = sample.py();
    let is_csr = sample.getattr(intern!(py, "format")).ok()?.extract::<Cow<'_, str>>().ok()? == "csr";
    if !is_csr || sample.getattr(intern!(py, "shape")).ok()?.extract::<(usize, usize)>().ok()? != (1, n_features) {
        return None;
    }
    let indices = sample.getattr(intern!(py, "indices")).ok()?;
    if let Some(indices) = array::<i32>(&indices) {
        return read_entries(sample, indices.as_slice().ok()?, entries);
    }
    read_entries(sample, array::<i64>(&indices)?.as_slice().ok()?, entries)
}

fn read_entries<T: Copy + TryInto<u32>>(sample: &Bound<'_, PyAny>, indices: &[T], entries: &mut Entries) -> Option<()> {
    let py = sample.py();
    let ends = sample.getattr(intern!(py, "indptr")).ok()?;
    let n = indices.len();
    let is_all = match array::<i32>(&ends) {
        Some(ends) => are_ends(ends.as_slice().ok()?, n),
        None => are_ends(array::<i64>(&ends)?.as_slice().ok()?, n),
    };
    let data = sample.getattr(intern!(py, "data")).ok()?;
    let found = if let Some(data) = array::<f64>(&data) {
        joined(indices, data.as_slice().ok()?, |value| value as f32, entries)
    } else if let Some(data) = array::<i64>(&data) {
        joined(indices, data.as_slice().ok()?, |value| value as f32, entries)
    } else {
        joined(indices, array::<f32>(&data)?.as_slice().ok()?, |value| value, entries)
    };
    found.filter(|()| is_all)
}

/// Whether these are the ends of a single row with `n` entries.
fn are_ends<T: Copy + TryInto<usize>>(ends: &[T], n: usize) -> bool {
    ends.len() == 2 && ends.iter().zip([0, n]).all(|(&end, expected)| end.try_into().is_ok_and(|end| end == expected))
}

fn joined<T, V>(indices: &[T], data: &[V], of: impl Fn(V) -> f32, entries: &mut Entries) -> Option<()>
where
    T: Copy + TryInto<u32>,
    V: Copy,
{
    if indices.len() != data.len() {
        return None;
    }
    for (&index, &value) in indices.iter().zip(data) {
        entries.push((index.try_into().ok()?, of(value)));
    }
    Some(())
}

/// Returns an array with elements of this type, if that is what it is.
fn array<'py, T: Element>(array: &Bound<'py, PyAny>) -> Option<PyReadonlyArray1<'py, T>> {
    let array = array.cast::<PyArray1<T>>().ok()?;
    if array.is_aligned() { array.try_readonly().ok() } else { None }
}
