//! The estimate of the memory of a fit.

use pyo3::prelude::*;
use weald::{BoostConfig, CompressConfig, FitShapes, LayoutOfX, MemoryTerm};

use crate::config::{PyBoostConfig, PyForestConfig, unknown};
use crate::models::centroid::PyCentroidForestConfig;
use crate::models::label_tree::PyLabelTreeConfig;
use crate::models::linear::PyLinearConfig;

/// The attributes of the shapes of a fit.
#[derive(Debug, FromPyObject)]
pub(crate) struct PyFitShapes {
    n_samples: usize,
    n_features: usize,
    /// "C" or "F" for dense X, "csr" or "csc".
    layout: String,
    n_stored: usize,
    is_dense_numbers: bool,
    width: usize,
    n_entries: usize,
    is_weighted: bool,
    n_cells: usize,
    n_unknown: usize,
    categories: Vec<u32>,
}

impl PyFitShapes {
    fn into_shapes(self) -> PyResult<FitShapes> {
        let layout = match self.layout.as_str() {
            "C" => LayoutOfX::RowMajor,
            "F" => LayoutOfX::ColumnMajor,
            "csr" => LayoutOfX::Csr(self.n_stored),
            "csc" => LayoutOfX::Csc(self.n_stored),
            other => return Err(unknown("layout", other)),
        };
        Ok(FitShapes::new((self.n_samples, self.n_features), layout, self.width)
            .is_dense_numbers(self.is_dense_numbers)
            .n_entries(self.n_entries)
            .is_weighted(self.is_weighted)
            .n_cells(self.n_cells)
            .n_unknown(self.n_unknown)
            .categories(self.categories))
    }
}

/// What is stored, its size in bytes, and whether every fit holds it at the same time as the others.
type PyTerm = (&'static str, u64, bool);

fn to_python(terms: Vec<MemoryTerm>) -> Vec<PyTerm> {
    terms.into_iter().map(|term| (term.what, term.n_bytes, term.is_certain)).collect()
}

/// Returns the parts of the memory of a fit of a forest.
#[pyfunction]
pub(crate) fn memory_of_forest(config: PyForestConfig, shapes: PyFitShapes, n_threads: usize) -> PyResult<Vec<PyTerm>> {
    Ok(to_python(config.into_config()?.fit_memory(&shapes.into_shapes()?, n_threads)))
}

/// Returns those of a centroid forest.
#[pyfunction]
pub(crate) fn memory_of_centroids(
    config: PyCentroidForestConfig,
    shapes: PyFitShapes,
    n_threads: usize,
) -> PyResult<Vec<PyTerm>> {
    Ok(to_python(config.into_config()?.fit_memory(&shapes.into_shapes()?, n_threads)))
}

/// Returns those of a linear model.
#[pyfunction]
pub(crate) fn memory_of_linear(config: PyLinearConfig, shapes: PyFitShapes, n_threads: usize) -> PyResult<Vec<PyTerm>> {
    Ok(to_python(config.into_config()?.0.fit_memory(&shapes.into_shapes()?, n_threads)))
}

/// Returns those of a label tree.
#[pyfunction]
pub(crate) fn memory_of_label_tree(
    config: PyLabelTreeConfig,
    shapes: PyFitShapes,
    n_threads: usize,
) -> PyResult<Vec<PyTerm>> {
    Ok(to_python(config.into_config()?.fit_memory(&shapes.into_shapes()?, n_threads)))
}

/// Returns those of boosting, which an observer may end if `may_stop`. Without a configuration, models of Python are
/// boosted.
#[pyfunction]
pub(crate) fn memory_of_boosting(
    config: Option<PyBoostConfig>,
    shapes: PyFitShapes,
    n_threads: usize,
    may_stop: bool,
) -> PyResult<Vec<PyTerm>> {
    let shapes = shapes.into_shapes()?;
    Ok(to_python(match config {
        Some(config) => config.into_config()?.0.fit_memory(&shapes, n_threads, may_stop),
        None => BoostConfig::fit_with_memory(&shapes),
    }))
}

/// Returns those of compression of a forest with this configuration, or of one that already has `n_fitted` trees.
#[pyfunction]
pub(crate) fn memory_of_compression(
    config: PyForestConfig,
    n_fitted: Option<usize>,
    shapes: PyFitShapes,
    n_threads: usize,
) -> PyResult<Vec<PyTerm>> {
    Ok(to_python(CompressConfig::fit_memory(&config.into_config()?, n_fitted, &shapes.into_shapes()?, n_threads)))
}
