//! Text formats of label data: from bytes to the arrays of CSR, and back.

use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use weald::label_files::{self, Features, IndexBase, LabelData, LabelRows, SparseRows};
use weald::{Control, Matrix, Result, Targets};

use crate::enter::Entry;
use crate::input::{PyMatrix, PyTargets, collected};
use crate::output;

/// The offsets and indices of CSR, both in the narrower of scipy's two types that can hold them.
type PyPattern<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);
/// Values, indices, offsets and the number of columns.
type PyRows<'py> = (Bound<'py, PyArray1<f32>>, Bound<'py, PyAny>, Bound<'py, PyAny>, usize);
/// Indices, offsets and the number of labels.
type PyLabels<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, usize);

/// Runs a reader without the GIL on bytes, which are immutable and so cannot change meanwhile.
fn read<T: Send>(
    py: Python<'_>,
    text: &Bound<'_, PyBytes>,
    reader: impl FnOnce(&[u8], &Control) -> Result<T> + Send,
) -> PyResult<T> {
    let bytes = text.as_bytes();
    Entry { n_threads: 1, cost: bytes.len(), progress: None }.run(py, |control| reader(bytes, control))
}

/// Reads X and labels in the format of the Extreme Classification Repository.
#[pyfunction]
pub(crate) fn read_xmc<'py>(py: Python<'py>, text: &Bound<'py, PyBytes>) -> PyResult<(PyRows<'py>, PyLabels<'py>)> {
    data(py, read(py, text, label_files::read_xmc)?)
}

/// Reads X and labels in the svmlight format. If `zero_based` is None, features are counted from 1, unless the file has
/// a feature 0.
#[pyfunction]
pub(crate) fn read_svmlight<'py>(
    py: Python<'py>,
    text: &Bound<'py, PyBytes>,
    n_features: Option<usize>,
    n_labels: Option<usize>,
    zero_based: Option<bool>,
) -> PyResult<(PyRows<'py>, PyLabels<'py>)> {
    let base = match zero_based {
        None => IndexBase::Auto,
        Some(true) => IndexBase::Zero,
        Some(false) => IndexBase::One,
    };
    let reader = |text: &[u8], control: &Control| label_files::read_svmlight(text, n_features, n_labels, base, control);
    data(py, read(py, text, reader)?)
}

/// Reads an ARFF file. If X is dense, it is returned as its values in row-major order and the number of columns.
#[pyfunction]
pub(crate) fn read_mulan<'py>(
    py: Python<'py>,
    text: &Bound<'py, PyBytes>,
    labels: Vec<String>,
) -> PyResult<Bound<'py, PyDict>> {
    let mulan = read(py, text, |text, control| label_files::read_mulan(text, &labels, control))?;
    let found = PyDict::new(py);
    match mulan.x {
        Features::Dense { values, n_features } => found.set_item("dense", (output::vector(py, values), n_features))?,
        Features::Sparse(x) => found.set_item("sparse", rows(py, x)?)?,
        _ => {}
    }
    found.set_item("labels", label_rows(py, mulan.y)?)?;
    found.set_item("feature_names", mulan.feature_names)?;
    found.set_item("label_names", mulan.label_names)?;
    found.set_item("categories", mulan.categories)?;
    Ok(found)
}

/// Writes X (CSR) and labels in the format of the Extreme Classification Repository.
#[pyfunction]
pub(crate) fn write_xmc<'py>(py: Python<'py>, x: PyMatrix<'_>, y: PyTargets<'_>) -> PyResult<Bound<'py, PyBytes>> {
    let (Matrix::Csr(x), Targets::Labels(y)) = (x.view()?, y.view()?) else {
        return Err(pyo3::exceptions::PyTypeError::new_err("X must be CSR and y must be labels"));
    };
    let cost = x.values().len() + y.indices().len();
    let entry = Entry { n_threads: 1, cost, progress: None };
    let text = entry.run(py, |control| label_files::write_xmc(&x, &y, control))?;
    output::bytes(py, &text)
}

fn data(py: Python<'_>, data: LabelData) -> PyResult<(PyRows<'_>, PyLabels<'_>)> {
    Ok((rows(py, data.x)?, label_rows(py, data.y)?))
}

fn rows(py: Python<'_>, x: SparseRows) -> PyResult<PyRows<'_>> {
    let (ptr, indices) = pattern(py, x.ptr, x.indices, x.n_features)?;
    Ok((output::vector(py, x.values), indices, ptr, x.n_features))
}

fn label_rows(py: Python<'_>, y: LabelRows) -> PyResult<PyLabels<'_>> {
    let (ptr, indices) = pattern(py, y.ptr, y.indices, y.n_labels)?;
    Ok((indices, ptr, y.n_labels))
}

fn pattern(py: Python<'_>, ptr: Vec<usize>, indices: Vec<u32>, n_columns: usize) -> PyResult<PyPattern<'_>> {
    const WHAT: &str = "the rows of a file";
    if i32::try_from(n_columns.max(indices.len())).is_ok() {
        let ptr = collected(WHAT, ptr.iter().map(|&offset| Ok(offset as i32)))?;
        let indices: Vec<i32> = bytemuck::allocation::cast_vec(indices);
        return Ok((output::vector(py, ptr).into_any(), output::vector(py, indices).into_any()));
    }
    let ptr = collected(WHAT, ptr.iter().map(|&offset| Ok(offset as i64)))?;
    let indices = collected(WHAT, indices.iter().map(|&index| Ok(i64::from(index))))?;
    Ok((output::vector(py, ptr).into_any(), output::vector(py, indices).into_any()))
}
