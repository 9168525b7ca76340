//! What enters the engine: borrowed views, valid by construction.
//!
//! [`Matrix`] is X (dense in any layout, CSR or CSC), [`Targets`] is y (numbers, classes or labels) and
//! `Weights` turns sample weights into the exact integer units in which all statistics are summed.

pub(crate) mod bins;
pub mod dense;
pub mod row_weights;
pub mod sparse;
pub mod targets;
pub(crate) mod weights;

pub(crate) use bins::{Bins, Codes};
pub(crate) use dense::DenseColumns;
pub use row_weights::{ClassWeight, RowWeights};
pub(crate) use sparse::SparseColumns;
pub use sparse::SparseView;
pub use targets::{LabelView, Outputs, Targets};
pub(crate) use weights::Weights;

use ndarray::ArrayView2;

use crate::error::{Error, ErrorKind, Result};

/// X as the caller holds it; nothing is copied until it must be.
#[derive(Clone, Debug)]
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

    /// Refuses NaN and infinities, and more rows or columns than 32-bit indices can name.
    pub(crate) fn check(&self) -> Result<()> {
        let limit = u32::MAX as usize - 1;
        if self.n_samples() > limit {
            return Err(ErrorKind::TooMany { what: "samples", limit }.into());
        }
        if self.n_features() > limit {
            return Err(ErrorKind::TooMany { what: "features", limit }.into());
        }
        let finite = match self {
            Matrix::Dense(x) => x.iter().all(|v| v.is_finite()),
            Matrix::Csr(x) | Matrix::Csc(x) => x.values().iter().all(|v| v.is_finite()),
        };
        if finite { Ok(()) } else { Err(Error::invalid("X", "NaN or infinite in places", "finite float32 values")) }
    }
}
