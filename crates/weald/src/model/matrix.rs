//! Allocation of row-major results for many samples.

use bytemuck::Zeroable;
use bytemuck::allocation::try_zeroed_vec;
use ndarray::Array2;

use crate::error::{ErrorKind, Result, out_of_memory};

/// Returns `rows * columns` zeros, or [`ErrorKind::OutOfMemory`]. The memory comes from the system as pages of zeros
/// that have not been touched: the first write to a large matrix takes about as long as other work on it, and is left
/// to the caller, who writes and checks the stop flag.
pub(crate) fn try_matrix<T: Zeroable>(what: &'static str, rows: usize, columns: usize) -> Result<Vec<T>> {
    let len = rows.checked_mul(columns).ok_or(ErrorKind::OutOfMemory { what, bytes: usize::MAX })?;
    try_zeroed_vec(len).map_err(|()| out_of_memory::<T>(what, len))
}

pub(crate) fn into_array<T>(values: Vec<T>, rows: usize, columns: usize) -> Array2<T> {
    Array2::from_shape_vec((rows, columns), values).expect("the vector was made with rows * columns values")
}
