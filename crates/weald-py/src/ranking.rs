//! Rankings of labels by scores that are given.

use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use weald::{Control, LabelScores, LabelView, Result, StoredScores, model};

use crate::array::{Read1, Read2};
use crate::enter::Entry;
use crate::error::raise;
use crate::input::{PyIndices, PyPattern, contiguous};
use crate::output;

/// Scores of labels: a float64 or float32 array of shape (n_samples, n_labels); or `indptr`, `indices`, `data` of CSR, the
/// number of labels, and whether labels without a stored score are ranked with score zero.
#[derive(Debug, FromPyObject)]
pub(crate) enum PyScores<'py> {
    Dense(Read2<'py, f64>),
    Single(Read2<'py, f32>),
    Stored(PyIndices<'py>, PyIndices<'py>, Read1<'py, f64>, usize, bool),
}

impl PyScores<'_> {
    fn view(&self) -> PyResult<LabelScores<'_>> {
        Ok(match self {
            PyScores::Dense(scores) => LabelScores::Dense(scores.as_array()),
            PyScores::Single(scores) => LabelScores::Single(scores.as_array()),
            PyScores::Stored(ptr, labels, scores, n_labels, with_zeros) => {
                let (ptr, labels) = (ptr.to_offsets("scores")?, labels.to_u32("scores", *n_labels)?);
                let scores = contiguous(scores, "scores")?;
                let stored = StoredScores::try_new(ptr, labels, scores, *n_labels).map_err(raise)?;
                if *with_zeros { LabelScores::Sparse(stored) } else { LabelScores::Listed(stored) }
            }
        })
    }
}

/// Returns the k best labels of each sample and their scores, as `predict_topk` of a model does, but for any k.
#[pyfunction]
#[pyo3(signature = (scores, k, exclude=None, n_threads=1))]
pub(crate) fn rank_rows<'py>(
    py: Python<'py>,
    scores: PyScores<'py>,
    k: usize,
    exclude: Option<PyPattern<'py>>,
    n_threads: usize,
) -> PyResult<Bound<'py, PyTuple>> {
    let scores = scores.view()?;
    let exclude = exclude.as_ref().map(|exclude| exclude.view("exclude")).transpose()?;
    let entry = Entry { n_threads, cost: scores.n_stored().saturating_add(scores.n_samples()), progress: None };
    let best = entry.run(py, |control| model::rank_rows(&scores, k, exclude.as_ref(), control))?;
    (output::array(py, best.indices), output::array(py, best.scores)).into_pyobject(py)
}

/// Returns the label ranking average precision of each sample.
#[pyfunction]
#[pyo3(signature = (scores, truth, mask=None, n_threads=1))]
pub(crate) fn label_precision<'py>(
    py: Python<'py>,
    scores: PyScores<'py>,
    truth: PyPattern<'py>,
    mask: Option<PyPattern<'py>>,
    n_threads: usize,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    of_samples(py, (scores, truth, mask), n_threads, model::label_precision)
}

/// Returns the coverage error of each sample: the largest rank of one of its labels.
#[pyfunction]
#[pyo3(signature = (scores, truth, mask=None, n_threads=1))]
pub(crate) fn coverage<'py>(
    py: Python<'py>,
    scores: PyScores<'py>,
    truth: PyPattern<'py>,
    mask: Option<PyPattern<'py>>,
    n_threads: usize,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    of_samples(py, (scores, truth, mask), n_threads, model::coverage)
}

type Measure = fn(&LabelScores<'_>, &LabelView<'_>, Option<&LabelView<'_>>, &Control) -> Result<Vec<f64>>;

fn of_samples<'py>(
    py: Python<'py>,
    (scores, truth, mask): (PyScores<'py>, PyPattern<'py>, Option<PyPattern<'py>>),
    n_threads: usize,
    measure: Measure,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (scores, truth) = (scores.view()?, truth.view("y")?);
    let mask = mask.as_ref().map(|mask| mask.view("y_weight")).transpose()?;
    let entry = Entry { n_threads, cost: scores.n_stored().saturating_add(scores.n_samples()), progress: None };
    Ok(output::vector(py, entry.run(py, |control| measure(&scores, &truth, mask.as_ref(), control))?))
}
