//! The floats that scores are kept in.

use std::fmt::Debug;
use std::ops::Mul;

use super::column::ColumnLoss;
use super::rows::{RowLoss, RowSums};
use crate::exact::GridFloat;

/// A kind of float that scores are kept in.
pub(crate) trait Float:
    GridFloat + Debug + Default + PartialOrd + Mul<Output = Self> + Send + Sync + 'static
{
    fn to_f64(self) -> f64;
    fn abs(self) -> Self;
    /// The scores, where these are float32.
    fn narrow(scores: &[Self]) -> Option<&[f32]>;
    /// The kernel of rows that the loss has of its own for such scores.
    fn kernel(loss: &dyn ColumnLoss) -> Option<Box<dyn RowLoss<Self>>>;
    /// The sums over leaves that the loss has for such scores.
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
