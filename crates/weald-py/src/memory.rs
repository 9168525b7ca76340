//! The estimate of the memory of a fit, and its reservation.

use pyo3::prelude::*;
use weald::{BoostConfig, CompressConfig, Criterion, Dataset, FitShapes, LayoutOfX, MemoryTerm};

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
            .n_cells(self.n_cells)
            .n_unknown(self.n_unknown)
            .categories(self.categories))
    }
}

/// Returns an error if the memory that a fit needs for certain is not available: see `weald::reserve`.
pub(crate) fn reserve(
    data: &Dataset<'_>,
    criterion: Option<Criterion>,
    terms: impl FnOnce(&FitShapes) -> Vec<MemoryTerm>,
) -> weald::Result<()> {
    weald::reserve(&terms(&FitShapes::of(data, criterion)?))
}

fn total(terms: &[MemoryTerm]) -> u64 {
    terms.iter().fold(0, |sum, term| sum.saturating_add(term.n_bytes))
}

/// Returns the estimated memory of a fit of a forest, in bytes.
#[pyfunction]
pub(crate) fn memory_of_forest(config: PyForestConfig, shapes: PyFitShapes, n_threads: usize) -> PyResult<u64> {
    Ok(total(&config.into_config()?.fit_memory(&shapes.into_shapes()?, n_threads)))
}

/// Returns that of a centroid forest.
#[pyfunction]
pub(crate) fn memory_of_centroids(
    config: PyCentroidForestConfig,
    shapes: PyFitShapes,
    n_threads: usize,
) -> PyResult<u64> {
    Ok(total(&config.into_config()?.fit_memory(&shapes.into_shapes()?, n_threads)))
}

/// Returns that of a linear model.
#[pyfunction]
pub(crate) fn memory_of_linear(config: PyLinearConfig, shapes: PyFitShapes, n_threads: usize) -> PyResult<u64> {
    Ok(total(&config.into_config()?.0.fit_memory(&shapes.into_shapes()?, n_threads)))
}

/// Returns that of a label tree.
#[pyfunction]
pub(crate) fn memory_of_label_tree(config: PyLabelTreeConfig, shapes: PyFitShapes, n_threads: usize) -> PyResult<u64> {
    Ok(total(&config.into_config()?.fit_memory(&shapes.into_shapes()?, n_threads)))
}

/// Returns that of boosting. Without a configuration, models of Python are boosted.
#[pyfunction]
pub(crate) fn memory_of_boosting(
    config: Option<PyBoostConfig>,
    shapes: PyFitShapes,
    n_threads: usize,
) -> PyResult<u64> {
    let shapes = shapes.into_shapes()?;
    Ok(total(&match config {
        Some(config) => config.into_config()?.0.fit_memory(&shapes, n_threads, false),
        None => BoostConfig::fit_with_memory(&shapes),
    }))
}

/// Returns that of compression of a forest with this configuration, or of one that already has `n_fitted` trees.
#[pyfunction]
pub(crate) fn memory_of_compression(
    config: PyForestConfig,
    n_fitted: Option<usize>,
    shapes: PyFitShapes,
    n_threads: usize,
) -> PyResult<u64> {
    Ok(total(&CompressConfig::fit_memory(&config.into_config()?, n_fitted, &shapes.into_shapes()?, n_threads)))
}
