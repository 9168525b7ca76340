//! Functions of samples without a model: folds of labels, digests of training data, and the training samples that forests
//! keep.

use numpy::{PyArray1, PyArray3};
use pyo3::prelude::*;
use weald::data::{Cells, data_digest};
use weald::folds;
use weald::forest::StoredSamples;

use crate::array::{Read1, Read2};
use crate::enter::Entry;
use crate::input::{PyCellWeights, PyData, PyMatrix, PyPattern, contiguous, margins};
use crate::output::{self, SparseArrays};

/// Returns the fold of each sample by iterative stratification of its labels.
#[pyfunction]
pub(crate) fn label_folds<'py>(
    py: Python<'py>,
    labels: PyPattern<'py>,
    n_folds: usize,
    priority: Read1<'py, i64>,
) -> PyResult<Bound<'py, PyArray1<u32>>> {
    let (labels, priority) = (labels.view("y")?, contiguous(&priority, "priority")?);
    let cost = labels.indices().len().saturating_add(labels.n_labels().saturating_mul(n_folds));
    let entry = Entry { n_threads: 1, cost, progress: None };
    Ok(output::vector(py, entry.run(py, |control| folds::label_folds(&labels, n_folds, &priority, control))?))
}

/// The training and the held-out samples of a fold.
type PySplit<'py> = (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<u32>>);

/// Returns the training and the held-out samples of each fold.
#[pyfunction]
pub(crate) fn folds_of_samples<'py>(
    py: Python<'py>,
    data: PyData<'py>,
    n_folds: usize,
    seed: u64,
    base_margin: Option<Read2<'py, f64>>,
) -> PyResult<Vec<PySplit<'py>>> {
    let (data, weights) = data.views()?;
    let data = weights.of(&data)?.base_margin(margins(&base_margin));
    let entry = Entry { n_threads: 1, cost: data.x().n_stored(), progress: None };
    let found = entry.run(py, |control| folds::splits(&data, n_folds, seed, control))?;
    Ok(found.into_iter().map(|split| (output::vector(py, split.train), output::vector(py, split.held_out))).collect())
}

/// Returns the samples to hold out, a share of all.
#[pyfunction]
pub(crate) fn held_out_samples<'py>(
    py: Python<'py>,
    data: PyData<'py>,
    share: f64,
    seed: u64,
) -> PyResult<Bound<'py, PyArray1<u32>>> {
    let (data, weights) = data.views()?;
    let data = weights.of(&data)?;
    let entry = Entry { n_threads: 1, cost: data.x().n_stored(), progress: None };
    Ok(output::vector(py, entry.run(py, |control| folds::held_out(&data, share, seed, control))?))
}

/// Returns a hash of the features of each sample.
#[pyfunction]
pub(crate) fn hashes_of_samples<'py>(py: Python<'py>, x: PyMatrix<'py>) -> PyResult<Bound<'py, PyArray1<u64>>> {
    let x = x.view()?;
    let entry = Entry { n_threads: 1, cost: x.n_stored(), progress: None };
    Ok(output::vector(py, entry.run(py, |control| folds::hashes(&x, control))?))
}

/// y of any type: numbers; a CSR pattern and its values; or the samples, outputs and texts of cells, and their shape.
#[derive(Debug, FromPyObject)]
pub(crate) enum PyCells<'py> {
    Dense(Read2<'py, f64>),
    Stored(PyPattern<'py>, Read1<'py, f64>),
    Texts(Read1<'py, i64>, Read1<'py, i64>, Vec<String>, (usize, usize)),
}

/// Returns a digest of training data, which does not depend on its layout.
#[pyfunction]
#[pyo3(name = "data_digest")]
pub(crate) fn py_data_digest(
    py: Python<'_>,
    x: PyMatrix<'_>,
    y: PyCells<'_>,
    mask: Option<PyCellWeights<'_>>,
    weights: Option<Read1<'_, f64>>,
    classes: Vec<Vec<String>>,
) -> PyResult<String> {
    let (x, mask) = (x.view()?, mask.as_ref().map(PyCellWeights::view).transpose()?);
    let weights = weights.as_ref().map(|w| contiguous(w, "sample_weight")).transpose()?;
    let (pattern, listed, of_rows, of_columns);
    let y = match &y {
        PyCells::Dense(y) => Cells::Dense(y.as_array()),
        PyCells::Stored(of_y, values) => {
            (pattern, listed) = (of_y.view("y")?, contiguous(values, "y")?);
            Cells::Stored(&pattern, &listed)
        }
        PyCells::Texts(rows, columns, texts, shape) => {
            (of_rows, of_columns) = (contiguous(rows, "y")?, contiguous(columns, "y")?);
            Cells::Texts(&of_rows, &of_columns, texts, *shape)
        }
    };
    let run = |_: &_| data_digest(&x, &y, mask.as_ref(), weights.as_deref(), &classes);
    Entry::to_the_end().run(py, run)
}

/// The training samples of a forest: the leaf of each one in each tree, (n_samples, n_trees), and their weights.
type PyStored<'py> = (Read2<'py, u32>, Read1<'py, f64>);

fn stored(py: Python<'_>, (leaves, weights): &PyStored<'_>) -> PyResult<StoredSamples> {
    let (leaves, weights) = (leaves.as_array(), contiguous(weights, "sample_weight")?);
    Entry::to_the_end().run(py, |_| StoredSamples::new(leaves, &weights))
}

fn entry<'py>(stored: &StoredSamples, reached: &Read2<'_, u32>, n_threads: usize) -> Entry<'py> {
    Entry { n_threads, cost: stored.cost(reached.as_array()), progress: None }
}

/// Returns the weights of training samples for samples that reach some leaves, all or the `k` largest of each sample, as
/// CSR (indptr, indices uint32, data float64).
#[pyfunction]
#[pyo3(signature = (samples, reached, k=None, n_threads=1))]
pub(crate) fn stored_weights<'py>(
    py: Python<'py>,
    samples: PyStored<'py>,
    reached: Read2<'py, u32>,
    k: Option<usize>,
    n_threads: usize,
) -> PyResult<SparseArrays<'py>> {
    let stored = stored(py, &samples)?;
    let view = reached.as_array();
    let found = entry(&stored, &reached, n_threads).run(py, |control| stored.weights(view, k, control))?;
    Ok(output::sparse(py, found))
}

/// Returns quantiles of the targets of training samples, (n, n_outputs, n_levels) float64.
#[pyfunction]
#[pyo3(signature = (samples, targets, reached, levels, n_threads=1))]
pub(crate) fn stored_quantiles<'py>(
    py: Python<'py>,
    samples: PyStored<'py>,
    targets: Read2<'py, f64>,
    reached: Read2<'py, u32>,
    levels: Vec<f64>,
    n_threads: usize,
) -> PyResult<Bound<'py, PyArray3<f64>>> {
    let stored = stored(py, &samples)?;
    let (view, targets) = (reached.as_array(), targets.as_array());
    let run = |control: &_| stored.quantiles(targets, view, &levels, control);
    Ok(output::array(py, entry(&stored, &reached, n_threads).run(py, run)?))
}

/// Returns targets of training samples that are drawn by their weights, (n, n_outputs, n_draws) float64.
#[pyfunction]
#[pyo3(signature = (samples, targets, reached, shares, n_threads=1))]
pub(crate) fn stored_draws<'py>(
    py: Python<'py>,
    samples: PyStored<'py>,
    targets: Read2<'py, f64>,
    reached: Read2<'py, u32>,
    shares: Read2<'py, f64>,
    n_threads: usize,
) -> PyResult<Bound<'py, PyArray3<f64>>> {
    let stored = stored(py, &samples)?;
    let (view, targets, shares) = (reached.as_array(), targets.as_array(), shares.as_array());
    let run = |control: &_| stored.draws(targets, view, shares, control);
    Ok(output::array(py, entry(&stored, &reached, n_threads).run(py, run)?))
}
