//! The matrix Φ of a projection.

use ndarray::{Array2, ArrayView2};

use super::hadamard::HadamardRows;
use super::{OUTPUT_PROJECTION, PURPOSE};
use crate::control::Control;
use crate::data::sparse::check_pattern;
use crate::error::{Error, Purpose, Result};
use crate::rng::Key;

/// A projection matrix Φ with q rows (projections) and d columns (outputs). It is immutable.
///
/// It is stored by output, so that projecting y of a sample adds a vector of length q for each of its non-zero entries.
#[derive(Clone, Debug, PartialEq)]
pub struct ProjectionMatrix {
    pub(super) n_projections: usize,
    pub(super) n_outputs: usize,
    pub(super) layout: MatrixLayout,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum MatrixLayout {
    /// The values of output j are `j * q..(j + 1) * q`.
    Dense(Vec<f64>),
    /// The entries of output j are `ptr[j]..ptr[j + 1]`: indices of projections, which are increasing, and values.
    Sparse { ptr: Vec<usize>, projections: Vec<u32>, values: Vec<f64> },
    /// Only the indices of the rows are stored.
    Hadamard(HadamardRows),
}

impl ProjectionMatrix {
    /// Copies a (q, d) array.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Invalid`] for `output_projection` if the matrix has no rows or no columns or if a
    /// value is not finite, or [`crate::ErrorKind::OutOfMemory`].
    pub fn from_dense(matrix: ArrayView2<'_, f64>) -> Result<Self> {
        let (n_projections, n_outputs) = matrix.dim();
        check(n_projections, n_outputs, matrix.iter())?;
        let mut values = PURPOSE.with_capacity(n_projections.saturating_mul(n_outputs))?;
        matrix.columns().into_iter().for_each(|column| values.extend(column));
        Ok(ProjectionMatrix { n_projections, n_outputs, layout: MatrixLayout::Dense(values) })
    }

    /// Returns whether the matrix is the identity. The cost is O(stored values).
    pub(super) fn is_identity(&self) -> bool {
        let q = self.n_projections;
        let is_unit = |output: usize, column: &mut dyn Iterator<Item = (usize, f64)>| {
            column.filter(|(_, value)| *value != 0.0).eq([(output, 1.0)])
        };
        q == self.n_outputs
            && match &self.layout {
                MatrixLayout::Dense(values) => values
                    .chunks_exact(q)
                    .enumerate()
                    .all(|(output, column)| is_unit(output, &mut column.iter().copied().enumerate())),
                MatrixLayout::Sparse { ptr, projections, values } => {
                    ptr.windows(2).enumerate().all(|(output, range)| {
                        let range = range[0]..range[1];
                        let projections = projections[range.clone()].iter().map(|&projection| projection as usize);
                        is_unit(output, &mut projections.zip(values[range].iter().copied()))
                    })
                }
                MatrixLayout::Hadamard(_) => false,
            }
    }

    /// Builds a matrix with `n_outputs` columns from compressed sparse rows: the entries of row k are the slice
    /// `ptr[k]..ptr[k + 1]` of `indices` and `values`; indices must be strictly increasing within a row.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::SparseFormat`] or [`crate::ErrorKind::Shape`] if the arrays contradict each other,
    /// and the errors of [`ProjectionMatrix::from_dense`].
    pub fn from_csr(ptr: &[usize], indices: &[u32], values: &[f64], n_outputs: usize) -> Result<Self> {
        check_pattern(OUTPUT_PROJECTION, ptr, indices, n_outputs)?;
        if values.len() != indices.len() {
            return Err(Error::shape("values of output_projection", indices.len(), values.len()));
        }
        check(ptr.len() - 1, n_outputs, values.iter())?;
        ProjectionMatrix::by_output(ptr, indices, values, n_outputs, &Control::default())
    }

    /// Builds a dense matrix: `row(k)` is called once for each row, and the function that it returns once for each
    /// entry, in order.
    pub(super) fn dense_by_rows<F: FnMut(usize) -> f64>(
        n_projections: usize,
        n_outputs: usize,
        control: &Control,
        row: impl Fn(usize) -> F,
    ) -> Result<Self> {
        // Rows side by side fill a cache line before the next one is fetched.
        const SIDE_BY_SIDE: usize = 8;
        let mut values = control.filled(PURPOSE, 0.0, n_projections.saturating_mul(n_outputs))?;
        let mut pulse = control.pulse();
        for first in (0..n_projections).step_by(SIDE_BY_SIDE) {
            let mut rows: Vec<F> = (first..n_projections.min(first + SIDE_BY_SIDE)).map(&row).collect();
            for (output, column) in values.chunks_exact_mut(n_projections).enumerate() {
                column[first..].iter_mut().zip(&mut rows).for_each(|(to, entry)| *to = entry(output));
                pulse.after(SIDE_BY_SIDE)?;
            }
        }
        Ok(ProjectionMatrix { n_projections, n_outputs, layout: MatrixLayout::Dense(values) })
    }

    /// Builds a matrix of random rows of a Hadamard matrix.
    pub(super) fn hadamard(n_projections: usize, n_outputs: usize, key: Key, control: &Control) -> Result<Self> {
        let rows = HadamardRows::draw(n_projections, n_outputs, key, control)?;
        Ok(ProjectionMatrix { n_projections, n_outputs, layout: MatrixLayout::Hadamard(rows) })
    }

    /// Builds a matrix from valid rows, by one counting sort, O(stored entries + outputs).
    pub(super) fn by_output(
        ptr: &[usize],
        indices: &[u32],
        values: &[f64],
        n_outputs: usize,
        control: &Control,
    ) -> Result<Self> {
        let mut ends = control.filled(PURPOSE, 0usize, n_outputs + 1)?;
        let mut pulse = control.pulse();
        for &output in indices {
            ends[output as usize + 1] += 1;
            pulse.after(1)?;
        }
        for output in 0..n_outputs {
            ends[output + 1] += ends[output];
            pulse.after(1)?;
        }
        let mut projections = control.filled(PURPOSE, 0u32, indices.len())?;
        let mut moved = control.filled(PURPOSE, 0.0, indices.len())?;
        for (row, range) in ptr.windows(2).enumerate() {
            pulse.after(1)?;
            for at in range[0]..range[1] {
                // The next free position of the output; at the end, the end of its slice.
                let place = &mut ends[indices[at] as usize];
                projections[*place] = row as u32;
                moved[*place] = values[at];
                *place += 1;
                pulse.after(1)?;
            }
        }
        ends.rotate_right(1);
        ends[0] = 0;
        let layout = MatrixLayout::Sparse { ptr: ends, projections, values: moved };
        Ok(ProjectionMatrix { n_projections: ptr.len() - 1, n_outputs, layout })
    }

    /// Returns the number of rows, q.
    pub fn n_projections(&self) -> usize {
        self.n_projections
    }

    /// Returns the number of columns, d.
    pub fn n_outputs(&self) -> usize {
        self.n_outputs
    }

    /// Returns a copy, or an error if there is not enough memory.
    pub(super) fn try_clone(&self, control: &Control) -> Result<Self> {
        fn copied<T: Copy>(values: &[T], control: &Control) -> Result<Vec<T>> {
            let mut copy = PURPOSE.with_capacity(values.len())?;
            for values in values.chunks(COPIED_AT_ONCE) {
                control.check()?;
                copy.extend_from_slice(values);
            }
            Ok(copy)
        }
        let layout = match &self.layout {
            MatrixLayout::Dense(values) => MatrixLayout::Dense(copied(values, control)?),
            MatrixLayout::Sparse { ptr, projections, values } => MatrixLayout::Sparse {
                ptr: copied(ptr, control)?,
                projections: copied(projections, control)?,
                values: copied(values, control)?,
            },
            MatrixLayout::Hadamard(rows) => MatrixLayout::Hadamard(rows.try_clone()?),
        };
        Ok(ProjectionMatrix { layout, ..*self })
    }

    /// Returns the largest magnitude of an entry.
    pub(super) fn largest(&self, control: &Control) -> Result<f64> {
        match &self.layout {
            MatrixLayout::Dense(values) | MatrixLayout::Sparse { values, .. } => {
                values.chunks(COPIED_AT_ONCE).try_fold(0.0, |largest, values| {
                    control.check()?;
                    Ok(values.iter().fold(largest, |m: f64, v| m.max(v.abs())))
                })
            }
            MatrixLayout::Hadamard(rows) => Ok(rows.entry(0, 0)),
        }
    }

    /// Returns whether the matrix is stored sparsely.
    pub fn is_sparse(&self) -> bool {
        matches!(self.layout, MatrixLayout::Sparse { .. })
    }

    /// Returns the matrix as a (q, d) array.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::OutOfMemory`] when there is not enough memory, and [`crate::ErrorKind::Interrupted`]
    /// when its control is stopped.
    pub fn to_dense(&self, control: &Control) -> Result<Array2<f64>> {
        let (q, d) = (self.n_projections, self.n_outputs);
        let mut matrix = control.filled(Purpose("a projection as a dense array"), 0.0, q.saturating_mul(d))?;
        self.visit(control, |projection, output, value| matrix[projection * d + output] = value)?;
        Ok(Array2::from_shape_vec((q, d), matrix).expect("q × d numbers were made"))
    }

    /// Returns the offsets, indices and values of compressed sparse rows, as [`ProjectionMatrix::from_csr`] takes them:
    /// the stored entries of a sparse matrix, or the non-zero entries of any other.
    ///
    /// # Errors
    /// The same as for [`ProjectionMatrix::to_dense`].
    pub fn to_csr(&self, control: &Control) -> Result<(Vec<usize>, Vec<u32>, Vec<f64>)> {
        let is_stored = |value: f64| self.is_sparse() || value != 0.0;
        let mut ends = control.filled(SPARSE, 0usize, self.n_projections + 1)?;
        self.visit(control, |projection, _, value| ends[projection + 1] += usize::from(is_stored(value)))?;
        (0..self.n_projections).for_each(|projection| ends[projection + 1] += ends[projection]);
        let mut indices = control.filled(SPARSE, 0u32, ends[self.n_projections])?;
        let mut values = control.filled(SPARSE, 0.0, ends[self.n_projections])?;
        self.visit(control, |projection, output, value| {
            if is_stored(value) {
                // The next free position of the row; at the end, the end of its slice.
                let place = &mut ends[projection];
                indices[*place] = output as u32;
                values[*place] = value;
                *place += 1;
            }
        })?;
        ends.rotate_right(1);
        ends[0] = 0;
        Ok((ends, indices, values))
    }

    /// Calls `entry(projection, output, value)` for each stored entry, output after output, with increasing
    /// projections.
    fn visit(&self, control: &Control, mut entry: impl FnMut(usize, usize, f64)) -> Result<()> {
        let q = self.n_projections;
        let mut pulse = control.pulse();
        for output in 0..self.n_outputs {
            // A column may be long, so that the stop flag is checked within it.
            match &self.layout {
                MatrixLayout::Dense(values) => {
                    for (projection, &value) in values[output * q..][..q].iter().enumerate() {
                        entry(projection, output, value);
                        pulse.after(1)?;
                    }
                }
                MatrixLayout::Sparse { ptr, projections, values } => {
                    pulse.after(1)?;
                    for at in ptr[output]..ptr[output + 1] {
                        entry(projections[at] as usize, output, values[at]);
                        pulse.after(1)?;
                    }
                }
                MatrixLayout::Hadamard(rows) => {
                    for projection in 0..q {
                        entry(projection, output, rows.entry(projection, output));
                        pulse.after(1)?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// What memory was requested for, in errors.
const SPARSE: Purpose = Purpose("a projection as sparse rows");

/// Number of values that are read or copied between two checks of the stop flag.
const COPIED_AT_ONCE: usize = 1 << 18;

fn check<'a>(n_projections: usize, n_outputs: usize, mut values: impl Iterator<Item = &'a f64>) -> Result<()> {
    if n_projections == 0 || n_projections > u32::MAX as usize {
        return Err(Error::invalid(PURPOSE.0, format!("a matrix of {n_projections} rows"), "have 1 to 2^32 - 1 rows"));
    }
    if n_outputs == 0 || n_outputs > u32::MAX as usize {
        return Err(Error::invalid(
            PURPOSE.0,
            format!("a matrix of {n_outputs} columns"),
            "have 1 to 2^32 - 1 columns",
        ));
    }
    if values.any(|v| !v.is_finite()) {
        return Err(Error::invalid(PURPOSE.0, "NaN or infinity", "have finite values"));
    }
    Ok(())
}
