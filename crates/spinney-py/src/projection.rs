//! Output projections: families and matrices from Python's objects, and what a family draws.

use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use spinney::projection::{
    NProjections, OutputProjection, Projection, ProjectionMatrix, ProjectionScope, Sparsity, johnson_lindenstrauss_dim,
};

use crate::enter::Entry;
use crate::error::raise;
use crate::input::{PyIndices, PyTargets, contiguous};
use crate::output;

/// Keys of the dictionary of a family.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct PyFamily {
    name: String,
    /// `None` for √d.
    sparsity: Option<f64>,
    replacement: bool,
}

impl PyFamily {
    fn to_projection(&self) -> PyResult<Projection> {
        Ok(match self.name.as_str() {
            "gaussian" => Projection::Gaussian,
            "rademacher" => Projection::Rademacher { sparsity: self.sparsity.map_or(Sparsity::Sqrt, Sparsity::Factor) },
            "subsample" => Projection::Subsample { replacement: self.replacement },
            "hadamard" => Projection::Hadamard,
            "pca" => Projection::Pca,
            other => return Err(PyValueError::new_err(format!("output_projection is {other:?}, which is not known"))),
        })
    }
}

/// A matrix Φ: an array, or `indptr`, `indices` and values of CSR and the number of outputs.
#[derive(Debug)]
struct PyProjectionMatrix(ProjectionMatrix);

impl<'py> FromPyObject<'_, 'py> for PyProjectionMatrix {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(dense) = object.extract::<PyReadonlyArray2<'py, f64>>() {
            return ProjectionMatrix::from_dense(dense.as_array()).map(Self).map_err(raise);
        }
        let (ptr, indices, values, n_outputs): (PyIndices<'py>, PyIndices<'py>, PyReadonlyArray1<'py, f64>, usize) =
            object.extract()?;
        let what = "output_projection";
        let (ptr, indices) = (ptr.to_offsets(what)?, indices.to_u32(what, n_outputs)?);
        ProjectionMatrix::from_csr(&ptr, &indices, &contiguous(&values), n_outputs).map(Self).map_err(raise)
    }
}

/// Keys of the dictionary of a fit's projections.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct PyOutputProjection {
    /// `None` for the matrices.
    family: Option<PyFamily>,
    matrices: Vec<PyProjectionMatrix>,
    n_projections: usize,
    /// Whether all trees have the same.
    shared: bool,
}

impl PyOutputProjection {
    pub(crate) fn to_projection(&self) -> PyResult<OutputProjection> {
        let given = || Projection::Given(self.matrices.iter().map(|matrix| matrix.0.clone()).collect());
        Ok(OutputProjection {
            family: self.family.as_ref().map_or_else(|| Ok(given()), PyFamily::to_projection)?,
            n_projections: NProjections::Count(self.n_projections),
            scope: if self.shared { ProjectionScope::Forest } else { ProjectionScope::Tree },
        })
    }
}

/// The matrix that a tree of that seed would use: an array, or `indptr`, `indices` and values of CSR.
#[pyfunction]
#[pyo3(signature = (family, n_outputs, n_projections, seed, y=None, sample_weight=None))]
pub(crate) fn draw_projection<'py>(
    py: Python<'py>,
    family: PyFamily,
    n_outputs: usize,
    n_projections: usize,
    seed: u64,
    y: Option<PyTargets<'py>>,
    sample_weight: Option<PyReadonlyArray1<'py, f64>>,
) -> PyResult<Bound<'py, PyAny>> {
    let family = family.to_projection()?;
    let (y, w) = (y.as_ref().map(PyTargets::view).transpose()?, sample_weight.as_ref().map(contiguous));
    let entry = Entry { n_threads: 1, cost: n_outputs.saturating_mul(n_projections), progress: None };
    let matrix = entry.run(py, |_| family.draw(n_outputs, n_projections, seed, y.as_ref(), w.as_deref()))?;
    if matrix.is_sparse() {
        let (ptr, indices, values) = matrix.to_csr();
        let parts = (output::vector(py, ptr), output::vector(py, indices), output::vector(py, values));
        return Ok(parts.into_pyobject(py)?.into_any());
    }
    // `to_dense` cannot say that there is no room: asked of numpy first, that is a `MemoryError`.
    drop(output::zeros(py, matrix.n_projections(), matrix.n_outputs())?);
    Ok(output::array(py, matrix.to_dense()).into_any())
}

/// Projections that keep all squared distances between `n_samples` rows within 1 ± eps.
#[pyfunction]
#[pyo3(name = "johnson_lindenstrauss_dim")]
pub(crate) fn py_johnson_lindenstrauss_dim(n_samples: usize, eps: f64) -> PyResult<usize> {
    johnson_lindenstrauss_dim(n_samples, eps).map_err(raise)
}
