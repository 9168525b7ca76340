//! The types of floats in which scores are kept.

use std::fmt::Debug;
use std::ops::Mul;

use crate::exact::GridFloat;
use crate::loss::column::ColumnLoss;
use crate::loss::rows::{RowLoss, RowSums};

/// A type of floats in which scores are kept.
pub(crate) trait Float:
    GridFloat + Debug + Default + PartialOrd + Mul<Output = Self> + Send + Sync + 'static
{
    fn to_f64(self) -> f64;
    fn abs(self) -> Self;
    /// Returns the scores if they are float32.
    fn narrow(scores: &[Self]) -> Option<&[f32]>;
    /// Returns the loss's own kernel for rows of such scores, if there is one.
    fn kernel(loss: &dyn ColumnLoss) -> Option<Box<dyn RowLoss<Self>>>;
    /// Returns the loss's sums over leaves for such scores, if there are any.
    fn sums(loss: &dyn ColumnLoss) -> Option<Box<dyn RowSums<Self>>>;
}

impl Float for f32 {
    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
    #[inline(always)]
    fn abs(self) -> f32 {
        f32::abs(self)
    }
    fn narrow(scores: &[f32]) -> Option<&[f32]> {
        Some(scores)
    }
    fn kernel(loss: &dyn ColumnLoss) -> Option<Box<dyn RowLoss<f32>>> {
        loss.rows_in_float32()
    }
    fn sums(loss: &dyn ColumnLoss) -> Option<Box<dyn RowSums<f32>>> {
        loss.sums_in_float32()
    }
}

impl Float for f64 {
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }
    #[inline(always)]
    fn abs(self) -> f64 {
        f64::abs(self)
    }
    fn narrow(_: &[f64]) -> Option<&[f32]> {
        None
    }
    fn kernel(loss: &dyn ColumnLoss) -> Option<Box<dyn RowLoss<f64>>> {
        loss.rows_in_float64()
    }
    fn sums(_: &dyn ColumnLoss) -> Option<Box<dyn RowSums<f64>>> {
        None
    }
}
