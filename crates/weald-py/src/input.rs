//! numpy arrays and scipy sparse matrices as the engine's views.
//!
//! Memory is borrowed. Only offsets (`indptr`), 64-bit indices (the engine's have 32 bits) and non-contiguous arrays of
//! sparse matrices are copied. The engine's `try_new` checks all of them before they are used.

use std::borrow::Cow;

use ndarray::ArrayView2;
use numpy::Element;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use weald::{
    CellWeights, ClassWeight, Dataset, ErrorKind, LabelView, Matrix, RowWeights, SparseTargets, SparseView, Targets,
};

use crate::array::{Read1, Read2};
use crate::error::raise;

/// X: a two-dimensional float32 array with any strides, or a float32 CSR or CSC matrix.
#[derive(Debug)]
pub(crate) enum PyMatrix<'py> {
    Dense(Read2<'py, f32>),
    Csr(PySparse<'py>),
    Csc(PySparse<'py>),
}

impl<'py> FromPyObject<'_, 'py> for PyMatrix<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(array) = object.extract() {
            return Ok(PyMatrix::Dense(array));
        }
        let Ok(format) = object.getattr("format") else {
            let kind = object.get_type().name()?;
            return Err(PyTypeError::new_err(format!("X must be a 2-D float32 array, CSR or CSC, got {kind}")));
        };
        match format.extract::<Cow<'_, str>>()?.as_ref() {
            "csr" => Ok(PyMatrix::Csr(object.extract()?)),
            "csc" => Ok(PyMatrix::Csc(object.extract()?)),
            other => Err(PyTypeError::new_err(format!("X must be sparse in format csr or csc, got {other}"))),
        }
    }
}

impl PyMatrix<'_> {
    pub(crate) fn view(&self) -> PyResult<Matrix<'_>> {
        Ok(match self {
            PyMatrix::Dense(x) => Matrix::Dense(x.as_array()),
            PyMatrix::Csr(x) => Matrix::Csr(x.view(x.shape.0, x.shape.1, "features")?),
            PyMatrix::Csc(x) => Matrix::Csc(x.view(x.shape.1, x.shape.0, "samples")?),
        })
    }
}

/// The attributes of a scipy CSR or CSC matrix.
#[derive(Debug, FromPyObject)]
pub(crate) struct PySparse<'py> {
    data: Read1<'py, f32>,
    indices: PyIndices<'py>,
    indptr: PyIndices<'py>,
    shape: (usize, usize),
}

impl PySparse<'_> {
    fn view(&self, n_major: usize, n_minor: usize, minors: &'static str) -> PyResult<SparseView<'_>> {
        let limit = u32::MAX as usize;
        if n_minor > limit {
            return Err(raise(ErrorKind::TooMany { what: minors, limit }.into()));
        }
        let ptr = self.indptr.to_offsets("X")?;
        if ptr.len().checked_sub(1) != Some(n_major) {
            let message = format!("indptr of X has length {}, expected {}", ptr.len(), n_major + 1);
            return Err(PyValueError::new_err(message));
        }
        SparseView::try_new(ptr, self.indices.to_u32("X", n_minor)?, contiguous(&self.data, "X")?, n_minor)
            .map_err(raise)
    }
}

/// Indices in one of the two widths that scipy uses.
#[derive(Debug, FromPyObject)]
pub(crate) enum PyIndices<'py> {
    Narrow(Read1<'py, i32>),
    Wide(Read1<'py, i64>),
}

impl PyIndices<'_> {
    pub(crate) fn to_u32(&self, what: &'static str, n_minor: usize) -> PyResult<Cow<'_, [u32]>> {
        match self {
            // Negative indices that are read as unsigned numbers are 2³¹ or more, so the check that indices are below
            // n_minor finds them.
            PyIndices::Narrow(indices) => match indices.as_slice() {
                Ok(indices) if i32::try_from(n_minor).is_ok() => Ok(Cow::Borrowed(bytemuck::cast_slice(indices))),
                _ => converted(indices, what).map(Cow::Owned),
            },
            PyIndices::Wide(indices) => converted(indices, what).map(Cow::Owned),
        }
    }

    pub(crate) fn to_offsets(&self, what: &'static str) -> PyResult<Vec<usize>> {
        match self {
            PyIndices::Narrow(offsets) => converted(offsets, what),
            PyIndices::Wide(offsets) => converted(offsets, what),
        }
    }
}

pub(crate) fn contiguous<'a, T: Element + Copy>(array: &'a Read1<'_, T>, what: &'static str) -> PyResult<Cow<'a, [T]>> {
    Ok(match array.as_slice() {
        Ok(slice) => Cow::Borrowed(slice),
        Err(_) => Cow::Owned(collected(what, array.as_array().iter().copied().map(Ok))?),
    })
}

/// Returns `sample_weight` as a slice, if it is given.
pub(crate) fn contiguous_weights<'a>(weights: Option<&'a Read1<'_, f64>>) -> PyResult<Option<Cow<'a, [f64]>>> {
    weights.map(|weights| contiguous(weights, "sample_weight")).transpose()
}

/// Collects the items into a vector, and reports if there is not enough memory for it.
///
/// # Errors
/// `MemoryError`, or the error of an item.
pub(crate) fn collected<T>(what: &'static str, items: impl ExactSizeIterator<Item = PyResult<T>>) -> PyResult<Vec<T>> {
    let mut all = Vec::new();
    let bytes = items.len().saturating_mul(size_of::<T>());
    all.try_reserve_exact(items.len()).map_err(|_| raise(ErrorKind::OutOfMemory { what, bytes }.into()))?;
    for item in items {
        all.push(item?);
    }
    Ok(all)
}

fn converted<T, U>(array: &Read1<'_, T>, what: &'static str) -> PyResult<Vec<U>>
where
    T: Element + Copy,
    U: TryFrom<T>,
{
    let out_of_range = || format!("{what} is not a valid sparse matrix: an index is out of range");
    let convert = |&index: &T| U::try_from(index).map_err(|_| PyValueError::new_err(out_of_range()));
    collected(what, array.as_array().iter().map(convert))
}

/// y: numerical outputs (a float64 array), classes (a uint32 array and the number of classes of each output), labels
/// (`indptr`, `indices` and the number of labels), or sparse numerical outputs (`indptr`, `indices`, `data` and the
/// number of outputs).
#[derive(Debug, FromPyObject)]
pub(crate) enum PyTargets<'py> {
    Real(Read2<'py, f64>),
    Classes(Read2<'py, u32>, Vec<u32>),
    Labels(PyPattern<'py>),
    SparseReal(PyEntries<'py>),
}

impl PyTargets<'_> {
    pub(crate) fn view(&self) -> PyResult<Targets<'_>> {
        Ok(match self {
            PyTargets::Real(y) => Targets::Real(y.as_array()),
            PyTargets::Classes(codes, n_classes) => {
                Targets::Classes { codes: codes.as_array(), n_classes: n_classes.clone() }
            }
            PyTargets::Labels(labels) => Targets::Labels(labels.view("y")?),
            PyTargets::SparseReal(y) => Targets::SparseReal(y.view("y")?),
        })
    }
}

/// The unknown cells of y, as a bool array of the same shape, or `indptr`, `indices` and the number of outputs; or the
/// weights of cells, as an array of float64, or `indptr`, `indices`, weights and the number of outputs.
#[derive(Debug, FromPyObject)]
pub(crate) enum PyCellWeights<'py> {
    Unknown(Read2<'py, bool>),
    UnknownOutputs(PyPattern<'py>),
    Dense(Read2<'py, f64>),
    Stored(PyEntries<'py>),
}

impl PyCellWeights<'_> {
    pub(crate) fn view(&self) -> PyResult<CellWeights<'_>> {
        Ok(match self {
            PyCellWeights::Unknown(mask) => CellWeights::Unknown(mask.as_array()),
            PyCellWeights::UnknownOutputs(outputs) => CellWeights::UnknownOutputs(outputs.view("y_weight")?),
            PyCellWeights::Dense(weights) => CellWeights::Dense(weights.as_array()),
            PyCellWeights::Stored(weights) => CellWeights::Stored(weights.view("y_weight")?),
        })
    }
}

/// A set of columns for each row: `indptr`, `indices` and the number of columns.
#[derive(Debug, FromPyObject)]
pub(crate) struct PyPattern<'py>(PyIndices<'py>, PyIndices<'py>, usize);

impl PyPattern<'_> {
    pub(crate) fn view(&self, what: &'static str) -> PyResult<LabelView<'_>> {
        let PyPattern(ptr, indices, n_columns) = self;
        let (ptr, indices) = (ptr.to_offsets(what)?, indices.to_u32(what, *n_columns)?);
        LabelView::try_new(ptr, indices, *n_columns).map_err(raise)
    }
}

/// Stored numbers of each row: `indptr`, `indices`, numbers and the number of columns.
#[derive(Debug, FromPyObject)]
pub(crate) struct PyEntries<'py>(PyIndices<'py>, PyIndices<'py>, Read1<'py, f64>, usize);

impl PyEntries<'_> {
    fn view(&self, what: &'static str) -> PyResult<SparseTargets<'_>> {
        let PyEntries(ptr, indices, values, n_columns) = self;
        let (ptr, indices) = (ptr.to_offsets(what)?, indices.to_u32(what, *n_columns)?);
        SparseTargets::try_new(ptr, indices, contiguous(values, what)?, *n_columns).map_err(raise)
    }
}

/// Sample weights and class weights. Class weights are None, "balanced", "balanced_subsample", or a weight for each
/// sample.
#[derive(Debug, FromPyObject)]
pub(crate) struct PyRowWeights<'py>(Option<Read1<'py, f64>>, PyClassWeight<'py>);

#[derive(Debug, FromPyObject)]
pub(crate) enum PyClassWeight<'py> {
    Rule(String),
    Rows(Option<Read1<'py, f64>>),
}

/// Weights as slices, which are borrowed if the memory is contiguous.
#[derive(Debug)]
pub(crate) struct Weights<'a> {
    sample_weight: Option<Cow<'a, [f64]>>,
    rows: Option<Cow<'a, [f64]>>,
    rule: Option<&'a str>,
}

impl PyRowWeights<'_> {
    pub(crate) fn contiguous(&self) -> PyResult<Weights<'_>> {
        let (rows, rule) = match &self.1 {
            PyClassWeight::Rule(rule) => (None, Some(rule.as_str())),
            PyClassWeight::Rows(rows) => (rows.as_ref().map(|w| contiguous(w, "class_weight")).transpose()?, None),
        };
        let sample_weight = contiguous_weights(self.0.as_ref())?;
        Ok(Weights { sample_weight, rows, rule })
    }
}

/// The samples of a fit: X, y, their weights and those of classes, and the unknown cells of y or the weights of cells.
#[derive(Debug, FromPyObject)]
pub(crate) struct PyData<'py>(PyMatrix<'py>, PyTargets<'py>, PyRowWeights<'py>, Option<PyCellWeights<'py>>);

impl PyData<'_> {
    /// Returns the samples without weights, and the weights.
    pub(crate) fn views(&self) -> PyResult<(Dataset<'_>, Weights<'_>)> {
        let PyData(x, y, weights, y_weight) = self;
        let y_weight = y_weight.as_ref().map(PyCellWeights::view).transpose()?;
        Ok((Dataset::new(x.view()?, y.view()?).y_weight(y_weight), weights.contiguous()?))
    }
}

/// Returns the initial scores of samples, if they are given.
pub(crate) fn margins<'a>(given: &'a Option<Read2<'_, f64>>) -> Option<ArrayView2<'a, f64>> {
    given.as_ref().map(|margins| margins.as_array())
}

impl Weights<'_> {
    /// Returns samples with these weights.
    pub(crate) fn of<'d>(&'d self, data: &'d Dataset<'_>) -> PyResult<Dataset<'d>> {
        Ok(data.view().weights(self.view()?))
    }

    /// Returns samples with these weights, without those of classes.
    pub(crate) fn of_rows_alone<'d>(&'d self, data: &'d Dataset<'_>) -> Dataset<'d> {
        data.view().sample_weight(self.sample_weight.as_deref())
    }

    pub(crate) fn view(&self) -> PyResult<RowWeights<'_>> {
        let class_weight = match (self.rule, &self.rows) {
            (None, None) => ClassWeight::Equal,
            (None, Some(rows)) => ClassWeight::Rows(rows),
            (Some("balanced"), _) => ClassWeight::Balanced,
            (Some("balanced_subsample"), _) => ClassWeight::BalancedSubsample,
            (Some(other), _) => {
                return Err(PyValueError::new_err(format!("class_weight is {other:?}, which is not known")));
            }
        };
        let mut weights = RowWeights::from(self.sample_weight.as_deref());
        weights.class_weight = class_weight;
        Ok(weights)
    }
}
