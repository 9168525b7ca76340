//! y of samples times Φᵀ.
//!
//! The sum of a projected value is taken over the stored entries of its sample in the order of the outputs and nothing
//! else, so that the projection of a sample is a function of its y and Φ. Labels give the same bits as numerical
//! outputs of value 1. An unknown cell counts as the mean of the known cells of its output. Numerical outputs are those
//! from which splits are searched: outputs with factors are multiplied by them before they are projected.

use super::matrix::{MatrixLayout, ProjectionMatrix};
use crate::control::Control;
use crate::data::train_y::TrainY;
use crate::error::{Purpose, Result};

/// A non-zero entry of y.
pub(super) trait Summed: Copy {
    fn output(self) -> usize;
    fn value(self) -> f64;
    /// Returns the value times x.
    fn times(self, x: f64) -> f64;
}

/// A label, or the column of a class.
impl Summed for u32 {
    fn output(self) -> usize {
        self as usize
    }

    fn value(self) -> f64 {
        1.0
    }

    fn times(self, x: f64) -> f64 {
        x
    }
}

/// A numerical output.
impl Summed for (u32, f64) {
    fn output(self) -> usize {
        self.0 as usize
    }

    fn value(self) -> f64 {
        self.1
    }

    fn times(self, x: f64) -> f64 {
        self.1 * x
    }
}

impl ProjectionMatrix {
    /// Projects `rows` of y. `out` has q values for every sample of y; those of sample i are `out[i * q..(i + 1) * q]`.
    ///
    /// The cost is O(stored entries of those samples × stored entries in a column of Φ).
    pub(super) fn project(&self, y: &TrainY<'_>, rows: &[u32], out: &mut [f64], control: &Control) -> Result<()> {
        self.project_to(y, rows, |_, row| row as usize, out, control)
    }

    /// Projects samples and stores the results one after the other, in the order of the list.
    pub(crate) fn project_listed(
        &self,
        y: &TrainY<'_>,
        rows: &[u32],
        out: &mut [f64],
        control: &Control,
    ) -> Result<()> {
        self.project_to(y, rows, |at, _| at, out, control)
    }

    /// Projects samples; `place` tells, for each position in the list, at which row of `out` the result is written.
    fn project_to(
        &self,
        y: &TrainY<'_>,
        rows: &[u32],
        place: impl Fn(usize, u32) -> usize,
        out: &mut [f64],
        control: &Control,
    ) -> Result<()> {
        let q = self.n_projections;
        let mut scratch = Scratch { columns: self.columns_for(rows.len())?, row: Vec::new() };
        let mut pulse = control.pulse();
        match y {
            TrainY::Slots(y) => {
                for (at, &row) in rows.iter().enumerate() {
                    pulse.after(q.saturating_mul(1 + y.of(row).len()))?;
                    self.project_row(y.of(row), &mut out[place(at, row) * q..][..q], &mut scratch)?;
                }
            }
            TrainY::Real(y) => {
                let mut entries: Vec<(u32, f64)> = Purpose("a row of y").with_capacity(y.n_outputs)?;
                for (at, &row) in rows.iter().enumerate() {
                    pulse.after(q.saturating_mul(1 + y.n_outputs))?;
                    entries.clear();
                    entries.extend((0..).zip(y.searched(row)).filter(|(_, v)| *v != 0.0));
                    self.project_row(&entries, &mut out[place(at, row) * q..][..q], &mut scratch)?;
                }
            }
            TrainY::SparseReal(y) => {
                let mut entries: Vec<(u32, f64)> = Purpose("a row of y").with_capacity(y.numbers().most_in_a_row())?;
                for (at, &row) in rows.iter().enumerate() {
                    entries.clear();
                    entries.extend(y.searched(row).filter(|(_, v)| *v != 0.0));
                    pulse.after(q.saturating_mul(1 + entries.len()))?;
                    self.project_row(&entries, &mut out[place(at, row) * q..][..q], &mut scratch)?;
                }
            }
            TrainY::MaskedSlots(y) => {
                let slots_of = y.slots_of_outputs()?;
                let mut entries: Vec<(u32, f64)> = Purpose("a row of y").with_capacity(y.width())?;
                for (at, &row) in rows.iter().enumerate() {
                    y.fill_row(row, &slots_of, &mut entries);
                    pulse.after(q.saturating_mul(1 + entries.len()))?;
                    self.project_row(&entries, &mut out[place(at, row) * q..][..q], &mut scratch)?;
                }
            }
            TrainY::MaskedReal(y) => {
                let mut entries: Vec<(u32, f64)> = Purpose("a row of y").with_capacity(y.n_outputs())?;
                for (at, &row) in rows.iter().enumerate() {
                    pulse.after(q.saturating_mul(1 + y.n_outputs()))?;
                    entries.clear();
                    entries.extend((0..).zip(y.filled_row(row)).filter(|(_, v)| *v != 0.0));
                    self.project_row(&entries, &mut out[place(at, row) * q..][..q], &mut scratch)?;
                }
            }
        }
        Ok(())
    }

    fn project_row<E: Summed>(&self, entries: &[E], out: &mut [f64], scratch: &mut Scratch) -> Result<()> {
        match (&self.layout, &scratch.columns) {
            (MatrixLayout::Dense(columns), _) | (MatrixLayout::Sparse { .. }, Some(columns)) => {
                sum_columns(columns, entries, out)
            }
            (MatrixLayout::Hadamard(rows), _) => rows.project_row(entries, out, scratch)?,
            (MatrixLayout::Sparse { ptr, projections, values }, None) => {
                out.fill(0.0);
                for &entry in entries {
                    let range = ptr[entry.output()]..ptr[entry.output() + 1];
                    for (&projection, &value) in projections[range.clone()].iter().zip(&values[range]) {
                        out[projection as usize] += entry.times(value);
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns the columns of a matrix that is not stored densely (for a Hadamard matrix, without its scale), if
    /// summing them is faster and `n_rows` samples are enough to make up for computing them. Zeros do not change sums,
    /// so that the bits are the same.
    fn columns_for(&self, n_rows: usize) -> Result<Option<Vec<f64>>> {
        let (q, d) = (self.n_projections, self.n_outputs);
        if q.saturating_mul(d) > CACHED || n_rows < d / 8 {
            return Ok(None);
        }
        let mut columns = Purpose("the columns of a projection").filled(0.0, q * d)?;
        match &self.layout {
            MatrixLayout::Dense(_) => return Ok(None),
            MatrixLayout::Sparse { ptr, projections, values } => {
                // Adding entries one by one costs a branch for each column, and ten times as much for each entry.
                let stored = values.len();
                if 4 * stored < d || q * d > 16 * (stored + d) {
                    return Ok(None);
                }
                for (column, range) in columns.chunks_exact_mut(q).zip(ptr.windows(2)) {
                    (range[0]..range[1]).for_each(|at| column[projections[at] as usize] = values[at]);
                }
            }
            MatrixLayout::Hadamard(rows) => {
                for (output, column) in columns.chunks_exact_mut(q).enumerate() {
                    rows.add_signed(&[output as u32], column, 1.0);
                }
            }
        }
        Ok(Some(columns))
    }
}

/// Number of entries of columns that stay in the second-level cache: a megabyte.
const CACHED: usize = 1 << 17;

/// The working memory for projecting one sample after the other.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// See [`ProjectionMatrix::columns_for`].
    pub(super) columns: Option<Vec<f64>>,
    /// The sample that is being transformed.
    pub(super) row: Vec<f64>,
}

/// Computes the sum of the columns given by `entries`, times their values. Column j is `columns[j * q..][..q]`, where q
/// is the length of `out`.
pub(super) fn sum_columns<E: Summed>(columns: &[f64], entries: &[E], out: &mut [f64]) {
    // Partial sums stay in registers: the number of projections at a time is what 16 registers of two numbers can hold.
    let mut at = sum_block::<24, E>(columns, entries, out, 0);
    at = sum_block::<8, E>(columns, entries, out, at);
    at = sum_block::<4, E>(columns, entries, out, at);
    sum_block::<1, E>(columns, entries, out, at);
}

/// Sums blocks of N projections, starting at `at`; returns the first projection that is left.
fn sum_block<const N: usize, E: Summed>(columns: &[f64], entries: &[E], out: &mut [f64], mut at: usize) -> usize {
    let q = out.len();
    while let Some(out) = out[at..].first_chunk_mut::<N>() {
        let mut sums = [0.0; N];
        for &entry in entries {
            let column = columns[entry.output() * q + at..].first_chunk::<N>().expect("N projections are left");
            for (sum, &x) in sums.iter_mut().zip(column) {
                *sum += entry.times(x);
            }
        }
        *out = sums;
        at += N;
    }
    at
}
