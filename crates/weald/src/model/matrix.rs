//! Row-major results for many samples.

use ndarray::Array2;

pub(crate) fn into_array<T>(values: Vec<T>, rows: usize, columns: usize) -> Array2<T> {
    Array2::from_shape_vec((rows, columns), values).expect("the vector was made with rows * columns values")
}
