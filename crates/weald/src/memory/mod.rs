//! The memory of a fit, estimated before it starts.
//!
//! `fit_memory` of a configuration returns the parts of the estimate: tables whose sizes follow from the shapes of the
//! data, the parameters and the number of threads, with the sizes of the types that the engine stores. Parts that every
//! such fit holds at the same time are *certain*: their sum is a lower bound of the peak, and [`reserve`] refuses a fit for
//! which it is not available. The others count trees of the maximum size that the parameters allow. X, y and their
//! conversions to float32 and float64 are not counted.
//!
//! | file | what |
//! |---|---|
//! | `trees` | what all learners of trees have in common: columns of X, leaves, masks of y, sets of categories |
//! | `forest`, `boosting`, `centroids`, `linear`, `label_tree`, `compression` | one file for each learner |
//!
//! ```
//! use weald::{Criterion, FitShapes, ForestConfig, LayoutOfX};
//! let shapes = FitShapes::new((10_000, 50), LayoutOfX::ColumnMajor, 1);
//! let terms = ForestConfig::random_forest(Criterion::Variance).fit_memory(&shapes, 2);
//! let at_once: u64 = terms.iter().filter(|term| term.is_certain).map(|term| term.n_bytes).sum();
//! assert!(at_once > 10_000 * 50 * 8);
//! ```

mod boosting;
mod centroids;
mod compression;
mod forest;
mod label_tree;
mod linear;
#[cfg(test)]
mod tests;
mod trees;

use crate::criterion::Criterion;
use crate::data::{Dataset, Matrix, Targets};
use crate::error::{ErrorKind, Result};
use crate::setters::setters;

/// How X is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LayoutOfX {
    /// Dense, sample after sample, or in any other order than [`LayoutOfX::ColumnMajor`].
    RowMajor,
    /// Dense, feature after feature.
    ColumnMajor,
    /// CSR with this number of stored values.
    Csr(usize),
    /// CSC with this number of stored values.
    Csc(usize),
}

impl LayoutOfX {
    /// Returns the number of stored values; `None` for dense X.
    fn n_stored(self) -> Option<u128> {
        match self {
            LayoutOfX::RowMajor | LayoutOfX::ColumnMajor => None,
            LayoutOfX::Csr(n_stored) | LayoutOfX::Csc(n_stored) => Some(count(n_stored)),
        }
    }
}

/// The shapes of the data of a fit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FitShapes {
    /// The number of samples.
    pub n_samples: usize,
    /// The number of features of X.
    pub n_features: usize,
    /// How X is stored.
    pub layout: LayoutOfX,
    /// The number of columns of predictions.
    pub width: usize,
    /// Whether y has numerical outputs that are fitted as dense rows: if more than one in eight of their values is not zero.
    pub is_dense_numbers: bool,
    /// The number of labels or classes of all samples, or of non-zero values of numerical y that is fitted as sparse
    /// entries.
    pub n_entries: usize,
    /// The number of values of y: samples times outputs.
    pub n_cells: usize,
    /// The number of unknown values of y.
    pub n_unknown: usize,
    /// Whether samples have weights, of which some may be zero.
    pub is_weighted: bool,
    /// The number of categories of each categorical feature.
    pub categories: Vec<u32>,
}

setters! { FitShapes {
    is_dense_numbers: bool,
    n_entries: usize,
    n_cells: usize,
    n_unknown: usize,
    is_weighted: bool,
    categories: Vec<u32>,
} }

impl FitShapes {
    /// Returns the shapes of X, (n_samples, n_features), and numerical outputs, (n_samples, n_outputs), that are fitted
    /// as dense rows, without weights, unknown values and categories.
    pub fn new((n_samples, n_features): (usize, usize), layout: LayoutOfX, n_outputs: usize) -> Self {
        let n_cells = n_samples.saturating_mul(n_outputs);
        FitShapes {
            n_samples,
            n_features,
            layout,
            width: n_outputs,
            is_dense_numbers: true,
            n_entries: n_cells,
            n_cells,
            n_unknown: 0,
            is_weighted: false,
            categories: Vec::new(),
        }
    }
}

impl FitShapes {
    /// Returns the shapes of the data of a fit with this criterion; `None`: y is fitted as dense rows.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Invalid`] if the weights are not valid, or [`ErrorKind::OutOfMemory`].
    pub fn of(data: &Dataset<'_>, criterion: Option<Criterion>) -> Result<Self> {
        let layout = match data.x() {
            Matrix::Dense(x) if x.t().is_standard_layout() => LayoutOfX::ColumnMajor,
            Matrix::Dense(_) => LayoutOfX::RowMajor,
            Matrix::Csr(x) => LayoutOfX::Csr(x.values().len()),
            Matrix::Csc(x) => LayoutOfX::Csc(x.values().len()),
        };
        let is_real = matches!(data.y(), Targets::Real(_) | Targets::SparseReal(_));
        let are_entries = is_real && data.fits_entries(criterion.is_some_and(Criterion::takes_entries))?;
        let (n, outputs) = (data.n_samples(), data.outputs());
        let n_cells = n.saturating_mul(outputs.n_outputs());
        let n_entries = match data.y() {
            Targets::Real(y) if are_entries => y.iter().filter(|value| **value != 0.0).count(),
            Targets::SparseReal(_) if !are_entries => n_cells,
            y => y.n_stored(),
        };
        Ok(FitShapes::new((n, data.n_features()), layout, outputs.width())
            .is_dense_numbers(is_real && !are_entries)
            .n_entries(n_entries)
            .n_cells(n_cells)
            .n_unknown(data.n_masked())
            .is_weighted(data.row_weights().sample_weight.is_some())
            .categories(data.numbers_of_categories()?))
    }
}

/// Returns an error if the parts of an estimate that are certain are not available together. Nothing stays allocated.
///
/// # Errors
/// Returns [`ErrorKind::FitMemory`].
pub fn reserve(terms: &[MemoryTerm]) -> Result<()> {
    let certain = || terms.iter().filter(|term| term.is_certain);
    // The first of equal ones.
    let Some(largest) = certain().rev().max_by_key(|term| term.n_bytes) else { return Ok(()) };
    let sum = |n_bytes: u64, term: &MemoryTerm| n_bytes.saturating_add(term.n_bytes);
    let at_once = certain().fold(0, sum);
    let available = usize::try_from(at_once).is_ok_and(|n| Vec::<u8>::new().try_reserve_exact(n).is_ok());
    if available {
        return Ok(());
    }
    Err(ErrorKind::FitMemory {
        bytes: terms.iter().fold(0, sum),
        at_once,
        largest: (largest.what, largest.n_bytes),
        advice: largest.advice,
    }
    .into())
}

/// A part of the estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryTerm {
    /// What is stored.
    pub what: &'static str,
    /// Its size in bytes.
    pub n_bytes: u64,
    /// Whether every fit holds it, at the same time as the other parts that are certain.
    pub is_certain: bool,
    /// How to reduce a part that is certain.
    pub advice: &'static str,
}

impl MemoryTerm {
    /// Creates a part that a fit may hold.
    fn new(what: &'static str, n_bytes: u128) -> Self {
        MemoryTerm { what, n_bytes: u64::try_from(n_bytes).unwrap_or(u64::MAX), is_certain: false, advice: "" }
    }

    /// Returns the part as one that is certain if the condition holds, with an advice how to reduce it.
    fn certain_if(self, is_certain: bool, advice: &'static str) -> Self {
        MemoryTerm { is_certain, advice, ..self }
    }
}

/// Returns a number of things for a product of sizes. At most three numbers and a constant below 2¹⁰ are multiplied, so
/// that no product overflows; no fit has more things than that.
fn count(n: usize) -> u128 {
    n.min(1 << 38) as u128
}

/// Returns the size of a type.
fn bytes<T>() -> u128 {
    size_of::<T>() as u128
}
