//! The inputs of the engine: borrowed views that are validated on construction.
//!
//! [`Dataset`] is the input of learners. [`Matrix`] is X (dense with any strides, CSR or CSC), [`Schema`] the kinds of
//! its features, [`Targets`] y (numerical outputs, classes or labels), and [`CellWeights`] the cells of y whose values are
//! unknown. `Weights` converts sample weights to integer units, in which all statistics are summed exactly.

pub(crate) mod bins;
pub(crate) mod dataset;
pub(crate) mod dense;
mod digest;
#[cfg(feature = "sprs")]
mod from_sprs;
pub(crate) mod known;
pub(crate) mod output_scaling;
pub(crate) mod row_weights;
pub(crate) mod rows;
mod sample;
mod schema;
pub(crate) mod slots;
pub(crate) mod sort;
pub(crate) mod sparse;
pub(crate) mod sparse_targets;
mod subset;
pub(crate) mod targets;
pub(crate) mod train_y;
pub(crate) mod weights;

pub(crate) use bins::{Bins, codes::Codes};
pub use dataset::{CellWeights, Dataset};
pub(crate) use dense::DenseColumns;
pub use digest::{Cells, data_digest};
pub use output_scaling::OutputScaling;
pub use row_weights::{ClassWeight, RowWeights};
pub use sample::Sample;
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

use crate::control::Control;
use crate::error::{Error, ErrorKind, Result};

/// Maximum number of features: nodes of trees store the feature that they test in a limited number of bits.
pub(crate) const MOST_FEATURES: usize = 1 << 29;

/// Maximum number of categories of a feature.
pub(crate) const MOST_CATEGORIES: u32 = 65_535;

/// X in the layout of the caller. It is copied only when a learner needs another layout.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Matrix<'a> {
    /// A dense matrix of shape (n_samples, n_features) with any strides: C order, Fortran order, or a slice of either.
    Dense(ArrayView2<'a, f32>),
    /// Compressed sparse rows (CSR): the major axis is samples.
    Csr(SparseView<'a>),
    /// Compressed sparse columns (CSC): the major axis is features.
    Csc(SparseView<'a>),
}

/// The samples of a prediction: X, (n_samples, n_features), or X with a [`Control`], `(&x, &control)`. Without one, the
/// prediction has one thread.
#[derive(Clone, Debug)]
pub struct Query<'a> {
    pub(crate) x: Matrix<'a>,
    pub(crate) control: Control,
}

impl<'a, X: Into<Matrix<'a>>> From<X> for Query<'a> {
    fn from(x: X) -> Self {
        Query { x: x.into(), control: Control::default() }
    }
}

impl<'a, X: Into<Matrix<'a>>> From<(X, &Control)> for Query<'a> {
    fn from((x, control): (X, &Control)) -> Self {
        Query { x: x.into(), control: control.clone() }
    }
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
    /// Returns a CSR matrix with `n_features` features: see [`SparseView::try_new`].
    ///
    /// # Errors
    /// The same as [`SparseView::try_new`].
    pub fn csr(
        ptr: impl Into<Cow<'a, [usize]>>,
        columns: impl Into<Cow<'a, [u32]>>,
        values: impl Into<Cow<'a, [f32]>>,
        n_features: usize,
    ) -> Result<Self> {
        SparseView::try_new(ptr, columns, values, n_features).map(Matrix::Csr)
    }

    /// Returns a CSC matrix with `n_samples` samples: see [`SparseView::try_new`].
    ///
    /// # Errors
    /// The same as [`SparseView::try_new`].
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
    /// Returns a view of the same matrix, without a copy.
    pub fn view(&self) -> Matrix<'_> {
        match self {
            Matrix::Dense(x) => Matrix::Dense(x.view()),
            Matrix::Csr(x) => Matrix::Csr(x.view()),
            Matrix::Csc(x) => Matrix::Csc(x.view()),
        }
    }

    /// Returns the number of samples.
    pub fn n_samples(&self) -> usize {
        match self {
            Matrix::Dense(x) => x.nrows(),
            Matrix::Csr(x) => x.n_major(),
            Matrix::Csc(x) => x.n_minor(),
        }
    }

    /// Returns the number of features.
    pub fn n_features(&self) -> usize {
        match self {
            Matrix::Dense(x) => x.ncols(),
            Matrix::Csr(x) => x.n_minor(),
            Matrix::Csc(x) => x.n_major(),
        }
    }

    /// Returns the number of stored values: of a dense matrix, all values.
    pub fn n_stored(&self) -> usize {
        match self {
            Matrix::Dense(x) => x.len(),
            Matrix::Csr(x) | Matrix::Csc(x) => x.values().len(),
        }
    }

    /// Returns the size of the stored values and their indices.
    pub(crate) fn n_bytes(&self) -> usize {
        let of_value = if matches!(self, Matrix::Dense(_)) { size_of::<f32>() } else { size_of::<(f32, u32)>() };
        self.n_stored().saturating_mul(of_value)
    }

    /// Returns an error if X has infinite values, or more samples or features than can be indexed. Returns whether X
    /// has missing values.
    pub(crate) fn check(&self) -> Result<bool> {
        let limit = u32::MAX as usize - 1;
        if self.n_samples() > limit {
            return Err(ErrorKind::TooMany { what: "samples", limit }.into());
        }
        if self.n_features() > MOST_FEATURES {
            return Err(ErrorKind::TooMany { what: "features", limit: MOST_FEATURES }.into());
        }
        // The loop does not end early, which allows the compiler to compare several values at once.
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
