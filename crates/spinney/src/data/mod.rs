//! What enters the engine: borrowed views, valid by construction.
//!
//! [`Dataset`] is what learners take. [`Matrix`] is X (dense in any layout, CSR or CSC), [`Schema`] the kinds of its
//! features, [`Targets`] is y (numbers, classes or labels), [`Mask`] the cells of y that are not known, and `Weights` turns
//! sample weights into the exact integer units in which all statistics are summed.

pub(crate) mod bins;
pub(crate) mod codes;
pub(crate) mod dataset;
pub(crate) mod dense;
pub(crate) mod known;
pub(crate) mod masked;
pub(crate) mod output_scaling;
pub(crate) mod row_weights;
mod schema;
pub(crate) mod slots;
pub(crate) mod sort;
pub(crate) mod sparse;
pub(crate) mod sparse_targets;
mod subset;
pub(crate) mod targets;
pub(crate) mod train_y;
pub(crate) mod weights;
pub(crate) mod worker_bins;

pub(crate) use bins::Bins;
pub(crate) use codes::Codes;
pub use dataset::{Dataset, Mask};
pub(crate) use dense::DenseColumns;
pub use output_scaling::OutputScaling;
pub use row_weights::{ClassWeight, RowWeights};
pub(crate) use schema::category_of;
pub use schema::{Category, FeatureKind, Schema};
pub(crate) use sparse::SparseColumns;
pub use sparse::SparseView;
pub use sparse_targets::SparseTargets;
pub(crate) use subset::FeatureSubset;
pub use targets::{LabelView, Outputs, Targets};
pub(crate) use weights::Weights;

use std::borrow::Cow;

use ndarray::{ArrayBase, ArrayView2, Data, Ix2};

use crate::error::{Error, ErrorKind, Result};

/// Most columns of X: nodes of trees have so many bits for the feature that they test.
pub(crate) const MOST_FEATURES: usize = 1 << 29;

/// Most categories of a feature.
pub(crate) const MOST_CATEGORIES: u32 = 65_535;

/// X as the caller holds it; nothing is copied until it must be.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Matrix<'a> {
    /// Dense, any strides (C order, Fortran order, a slice of either).
    Dense(ArrayView2<'a, f32>),
    /// Compressed sparse rows: `major` runs over rows.
    Csr(SparseView<'a>),
    /// Compressed sparse columns: `major` runs over columns.
    Csc(SparseView<'a>),
}

impl<'a> From<ArrayView2<'a, f32>> for Matrix<'a> {
    fn from(x: ArrayView2<'a, f32>) -> Self {
        Matrix::Dense(x)
    }
}

impl<'a, S: Data<Elem = f32>> From<&'a ArrayBase<S, Ix2>> for Matrix<'a> {
    fn from(x: &'a ArrayBase<S, Ix2>) -> Self {
        Matrix::Dense(x.view())
    }
}

impl<'a> From<&'a Matrix<'_>> for Matrix<'a> {
    fn from(x: &'a Matrix<'_>) -> Self {
        x.view()
    }
}

impl<'a> Matrix<'a> {
    /// A CSR matrix: see [`SparseView::try_new`].
    ///
    /// # Errors
    /// As [`SparseView::try_new`].
    pub fn csr(
        ptr: impl Into<Cow<'a, [usize]>>,
        columns: impl Into<Cow<'a, [u32]>>,
        values: impl Into<Cow<'a, [f32]>>,
        n_features: usize,
    ) -> Result<Self> {
        SparseView::try_new(ptr, columns, values, n_features).map(Matrix::Csr)
    }

    /// A CSC matrix: see [`SparseView::try_new`].
    ///
    /// # Errors
    /// As [`SparseView::try_new`].
    pub fn csc(
        ptr: impl Into<Cow<'a, [usize]>>,
        rows: impl Into<Cow<'a, [u32]>>,
        values: impl Into<Cow<'a, [f32]>>,
        n_samples: usize,
    ) -> Result<Self> {
        SparseView::try_new(ptr, rows, values, n_samples).map(Matrix::Csc)
    }
}

impl Matrix<'_> {
    /// The same, lent: nothing is copied.
    pub fn view(&self) -> Matrix<'_> {
        match self {
            Matrix::Dense(x) => Matrix::Dense(x.view()),
            Matrix::Csr(x) => Matrix::Csr(x.view()),
            Matrix::Csc(x) => Matrix::Csc(x.view()),
        }
    }

    /// Number of rows.
    pub fn n_samples(&self) -> usize {
        match self {
            Matrix::Dense(x) => x.nrows(),
            Matrix::Csr(x) => x.n_major(),
            Matrix::Csc(x) => x.n_minor(),
        }
    }

    /// Number of columns.
    pub fn n_features(&self) -> usize {
        match self {
            Matrix::Dense(x) => x.ncols(),
            Matrix::Csr(x) => x.n_minor(),
            Matrix::Csc(x) => x.n_major(),
        }
    }

    /// Number of stored values: all of a dense matrix.
    pub fn n_stored(&self) -> usize {
        match self {
            Matrix::Dense(x) => x.len(),
            Matrix::Csr(x) | Matrix::Csc(x) => x.values().len(),
        }
    }

    /// Refuses infinities, and more rows or columns than can be named; tells whether a value is missing.
    pub(crate) fn check(&self) -> Result<bool> {
        let limit = u32::MAX as usize - 1;
        if self.n_samples() > limit {
            return Err(ErrorKind::TooMany { what: "samples", limit }.into());
        }
        if self.n_features() > MOST_FEATURES {
            return Err(ErrorKind::TooMany { what: "features", limit: MOST_FEATURES }.into());
        }
        // Without an early end, which keeps the compiler from comparing several at once.
        let seen = |(infinite, missing): (bool, bool), v: &f32| (infinite | v.is_infinite(), missing | v.is_nan());
        let (infinite, missing) = match self {
            Matrix::Dense(x) => match x.as_slice_memory_order() {
                Some(values) => values.iter().fold((false, false), seen),
                None => x.iter().fold((false, false), seen),
            },
            Matrix::Csr(x) | Matrix::Csc(x) => x.values().iter().fold((false, false), seen),
        };
        if infinite {
            return Err(Error::invalid(
                "X",
                "an infinite value",
                "have finite float32 values, or NaN for missing values",
            ));
        }
        Ok(missing)
    }
}
