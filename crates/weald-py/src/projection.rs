//! Output projections: families and matrices from Python's objects, and draws from a family.

use ndarray::Array2;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use weald::Targets;
use weald::projection::{
    NProjections, OutputProjection, Projection, ProjectionMatrix, ProjectionScope, Sparsity, johnson_lindenstrauss_dim,
};

use crate::array::{Read1, Read2};
use crate::enter::Entry;
use crate::error::raise;
use crate::input::{PyIndices, PyTargets, contiguous, contiguous_weights};
use crate::output;

/// The keys of the dictionary of a family.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct PyFamily {
    name: String,
    /// The sparsity; `None`: √d.
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
        if let Ok(dense) = object.extract::<Read2<'py, f64>>() {
            return ProjectionMatrix::from_dense(dense.as_array()).map(Self).map_err(raise);
        }
        let (ptr, indices, values, n_outputs): (PyIndices<'py>, PyIndices<'py>, Read1<'py, f64>, usize) =
            object.extract()?;
        let what = "output_projection";
        let (ptr, indices) = (ptr.to_offsets(what)?, indices.to_u32(what, n_outputs)?);
        ProjectionMatrix::from_csr(&ptr, &indices, &contiguous(&values, "output_projection")?, n_outputs)
            .map(Self)
            .map_err(raise)
    }
}

/// The keys of the dictionary of a fit's projections.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct PyOutputProjection {
    /// The family; `None`: the matrices are used.
    family: Option<PyFamily>,
    matrices: Vec<PyProjectionMatrix>,
    n_projections: usize,
    /// Whether all trees have the same projection.
    shared: bool,
}

impl PyOutputProjection {
    /// Returns the engine's projection. Matrices are moved, because they may be large.
    pub(crate) fn into_projection(self) -> PyResult<OutputProjection> {
        let given = |matrices: Vec<PyProjectionMatrix>| matrices.into_iter().map(|matrix| matrix.0).collect();
        let family = match &self.family {
            Some(family) => family.to_projection()?,
            None => Projection::Given(given(self.matrices)),
        };
        let scope = if self.shared { ProjectionScope::Forest } else { ProjectionScope::Tree };
        Ok(OutputProjection::new(family).n_projections(self.n_projections).scope(scope))
    }
}

/// Returns the matrix that a tree with this seed would use: an array, or `indptr`, `indices` and values of CSR.
#[pyfunction]
#[pyo3(signature = (family, n_outputs, n_projections, seed, y=None, sample_weight=None))]
pub(crate) fn draw_projection<'py>(
    py: Python<'py>,
    family: PyFamily,
    n_outputs: usize,
    n_projections: usize,
    seed: u64,
    y: Option<PyTargets<'py>>,
    sample_weight: Option<Read1<'py, f64>>,
) -> PyResult<Bound<'py, PyAny>> {
    let family = family.to_projection()?;
    let (y, w) = (y.as_ref().map(PyTargets::view).transpose()?, contiguous_weights(sample_weight.as_ref())?);
    let cost = cost(n_outputs, n_projections, y.as_ref());
    let drawn = Entry { n_threads: 1, cost, progress: None }.run(py, |control| {
        let matrix = family.draw(n_outputs, n_projections, seed, y.as_ref(), w.as_deref(), control)?;
        if matrix.is_sparse() {
            let (ptr, indices, values) = matrix.to_csr(control)?;
            Ok(Drawn::Sparse(ptr, indices, values))
        } else {
            matrix.to_dense(control).map(Drawn::Dense)
        }
    })?;
    Ok(match drawn {
        Drawn::Dense(matrix) => output::array(py, matrix).into_any(),
        Drawn::Sparse(ptr, indices, values) => {
            let parts = (output::vector(py, ptr), output::vector(py, indices), output::vector(py, values));
            parts.into_pyobject(py)?.into_any()
        }
    })
}

/// A matrix in the form that Python gets.
enum Drawn {
    Dense(Array2<f64>),
    Sparse(Vec<usize>, Vec<u32>, Vec<f64>),
}

/// Returns the approximate number of steps of drawing a projection for y and of applying it.
pub(crate) fn cost_of_tree(projection: Option<&OutputProjection>, y: &Targets<'_>) -> usize {
    let n_outputs = y.width();
    // An invalid number of projections raises an error later, and costs nothing.
    projection.map_or(0, |p| cost(n_outputs, p.n_projections.resolve(n_outputs).unwrap_or(0), Some(y)))
}

fn cost(n_outputs: usize, n_projections: usize, y: Option<&Targets<'_>>) -> usize {
    let n_entries = y.map_or(0, Targets::n_stored);
    n_projections.saturating_mul(n_outputs.saturating_add(n_entries))
}

/// Returns the number of projections of `n_outputs` outputs: `count`, or the fraction `share` of the outputs, or by
/// default the logarithm of `n_outputs`.
#[pyfunction]
#[pyo3(signature = (n_outputs, count=None, share=None))]
pub(crate) fn count_projections(n_outputs: usize, count: Option<usize>, share: Option<f64>) -> PyResult<usize> {
    let rule = count.map(NProjections::Count).or(share.map(NProjections::Fraction)).unwrap_or(NProjections::Log);
    rule.resolve(n_outputs).map_err(raise)
}

/// Returns the number of projections that preserve all squared distances between `n_samples` samples up to a factor
/// within 1 ± eps.
#[pyfunction]
#[pyo3(name = "johnson_lindenstrauss_dim")]
pub(crate) fn py_johnson_lindenstrauss_dim(n_samples: usize, eps: f64) -> PyResult<usize> {
    johnson_lindenstrauss_dim(n_samples, eps).map_err(raise)
}
