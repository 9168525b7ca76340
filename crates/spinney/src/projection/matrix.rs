//! The matrix Φ of a projection.

use std::iter::StepBy;
use std::slice;

use ndarray::{Array2, ArrayView2};

use super::WHAT;
use super::hadamard::HadamardRows;
use crate::data::sparse::check_pattern;
use crate::error::{Error, Result, try_filled, try_with_capacity};
use crate::rng::Key;

/// A projection matrix Φ of q rows (projections) and d columns (outputs). Immutable.
///
/// Stored by output, so that projecting a row adds a q-vector for each entry of y that is not zero.
#[derive(Clone, Debug, PartialEq)]
pub struct ProjectionMatrix {
    pub(super) n_projections: usize,
    pub(super) n_outputs: usize,
    pub(super) layout: Layout,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Layout {
    /// Output j owns values `j * q..(j + 1) * q`.
    Dense(Vec<f64>),
    /// Output j owns `ptr[j]..ptr[j + 1]`: projections, which rise, and values.
    Sparse { ptr: Vec<usize>, projections: Vec<u32>, values: Vec<f64> },
    /// Nothing is stored but the indices of rows.
    Hadamard(HadamardRows),
}

impl ProjectionMatrix {
    /// A copy of a (q, d) array.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Invalid`] naming `output_projection` for a matrix without rows or columns and for values
    /// that are not finite; [`crate::ErrorKind::OutOfMemory`].
    pub fn from_dense(matrix: ArrayView2<'_, f64>) -> Result<Self> {
        let (n_projections, n_outputs) = matrix.dim();
        check(n_projections, n_outputs, matrix.iter())?;
        let mut values = try_with_capacity(WHAT, n_projections.saturating_mul(n_outputs))?;
        matrix.columns().into_iter().for_each(|column| values.extend(column));
        Ok(ProjectionMatrix { n_projections, n_outputs, layout: Layout::Dense(values) })
    }

    /// A matrix of `n_outputs` columns in compressed sparse rows: slice `ptr[k]..ptr[k + 1]` of `indices` and
    /// `values` holds the entries of row k; indices rise strictly inside it.
    ///
    /// # Errors
    /// [`crate::ErrorKind::SparseFormat`] and [`crate::ErrorKind::Shape`] when the arrays contradict each other, else
    /// as [`ProjectionMatrix::from_dense`].
    pub fn from_csr(ptr: &[usize], indices: &[u32], values: &[f64], n_outputs: usize) -> Result<Self> {
        check_pattern(WHAT, ptr, indices, n_outputs)?;
        if values.len() != indices.len() {
            return Err(Error::shape("values of output_projection", indices.len(), values.len()));
        }
        check(ptr.len() - 1, n_outputs, values.iter())?;
        ProjectionMatrix::by_output(ptr, indices, values, n_outputs)
    }

    /// A dense matrix whose row k is written by `write(k, row)`.
    pub(super) fn dense_by_rows(
        n_projections: usize,
        n_outputs: usize,
        write: impl Fn(usize, StepBy<slice::IterMut<'_, f64>>),
    ) -> Result<Self> {
        let mut values = try_filled(WHAT, 0.0, n_projections.saturating_mul(n_outputs))?;
        for k in 0..n_projections {
            write(k, values[k..].iter_mut().step_by(n_projections));
        }
        Ok(ProjectionMatrix { n_projections, n_outputs, layout: Layout::Dense(values) })
    }

    /// Random rows of a Hadamard matrix.
    pub(super) fn hadamard(n_projections: usize, n_outputs: usize, key: Key) -> Result<Self> {
        let rows = HadamardRows::draw(n_projections, n_outputs, key)?;
        Ok(ProjectionMatrix { n_projections, n_outputs, layout: Layout::Hadamard(rows) })
    }

    /// From valid rows: one counting sort, O(stored entries + outputs).
    pub(super) fn by_output(ptr: &[usize], indices: &[u32], values: &[f64], n_outputs: usize) -> Result<Self> {
        let mut ends = try_filled(WHAT, 0usize, n_outputs + 1)?;
        indices.iter().for_each(|&output| ends[output as usize + 1] += 1);
        (0..n_outputs).for_each(|output| ends[output + 1] += ends[output]);
        let mut projections = try_filled(WHAT, 0u32, indices.len())?;
        let mut moved = try_filled(WHAT, 0.0, indices.len())?;
        for (row, range) in ptr.windows(2).enumerate() {
            for at in range[0]..range[1] {
                // The next free place of the output; in the end, the end of its slice.
                let place = &mut ends[indices[at] as usize];
                projections[*place] = row as u32;
                moved[*place] = values[at];
                *place += 1;
            }
        }
        ends.rotate_right(1);
        ends[0] = 0;
        let layout = Layout::Sparse { ptr: ends, projections, values: moved };
        Ok(ProjectionMatrix { n_projections: ptr.len() - 1, n_outputs, layout })
    }

    /// Number q of rows.
    pub fn n_projections(&self) -> usize {
        self.n_projections
    }

    /// Number d of columns.
    pub fn n_outputs(&self) -> usize {
        self.n_outputs
    }

    /// The largest magnitude of an entry.
    pub(super) fn largest(&self) -> f64 {
        match &self.layout {
            Layout::Dense(values) | Layout::Sparse { values, .. } => values.iter().fold(0.0, |m, v| m.max(v.abs())),
            Layout::Hadamard(rows) => rows.entry(0, 0),
        }
    }

    /// Whether only some entries are stored.
    pub fn is_sparse(&self) -> bool {
        matches!(self.layout, Layout::Sparse { .. })
    }

    /// The matrix as a (q, d) array.
    pub fn to_dense(&self) -> Array2<f64> {
        let q = self.n_projections;
        let mut matrix = Array2::zeros((q, self.n_outputs));
        for (output, mut column) in matrix.columns_mut().into_iter().enumerate() {
            match &self.layout {
                Layout::Dense(values) => column.iter_mut().zip(&values[output * q..]).for_each(|(to, v)| *to = *v),
                Layout::Sparse { ptr, projections, values } => {
                    (ptr[output]..ptr[output + 1]).for_each(|at| column[projections[at] as usize] = values[at]);
                }
                Layout::Hadamard(rows) => {
                    column.iter_mut().enumerate().for_each(|(k, to)| *to = rows.entry(k, output));
                }
            }
        }
        matrix
    }

    /// Offsets, indices and values of compressed sparse rows, as [`ProjectionMatrix::from_csr`] takes them: the stored
    /// entries of a sparse matrix, those that differ from zero of any other.
    pub fn to_csr(&self) -> (Vec<usize>, Vec<u32>, Vec<f64>) {
        let mut rows: Vec<(Vec<u32>, Vec<f64>)> = vec![Default::default(); self.n_projections];
        let mut push = |projection: usize, output: usize, value: f64| {
            rows[projection].0.push(output as u32);
            rows[projection].1.push(value);
        };
        match &self.layout {
            Layout::Sparse { ptr, projections, values } => {
                for output in 0..self.n_outputs {
                    (ptr[output]..ptr[output + 1]).for_each(|at| push(projections[at] as usize, output, values[at]));
                }
            }
            _ => {
                let dense = self.to_dense();
                let stored = dense.indexed_iter().filter(|(_, value)| **value != 0.0);
                stored.for_each(|((projection, output), &value)| push(projection, output, value));
            }
        }
        let (mut ptr, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for (row_indices, row_values) in rows {
            indices.extend(row_indices);
            values.extend(row_values);
            ptr.push(indices.len());
        }
        (ptr, indices, values)
    }
}

fn check<'a>(n_projections: usize, n_outputs: usize, mut values: impl Iterator<Item = &'a f64>) -> Result<()> {
    if n_projections == 0 || n_projections > u32::MAX as usize {
        return Err(Error::invalid(WHAT, format!("a matrix of {n_projections} rows"), "1 to 2^32 - 1 rows"));
    }
    if n_outputs == 0 || n_outputs > u32::MAX as usize {
        return Err(Error::invalid(WHAT, format!("a matrix of {n_outputs} columns"), "1 to 2^32 - 1 columns"));
    }
    if values.any(|v| !v.is_finite()) {
        return Err(Error::invalid(WHAT, "NaN or infinite in places", "finite numbers"));
    }
    Ok(())
}
