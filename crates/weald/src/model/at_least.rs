//! Predictions that are large enough, as a sparse matrix.

use ndarray::ArrayView2;

use super::touched::TouchedRow;
use super::{Additive, means};
use crate::control::Control;
use crate::error::{Purpose, Result};
use crate::pool;
use crate::tree::rows::Rows;

const LISTED: Purpose = Purpose("sparse predictions");

/// Predictions as a sparse matrix in CSR form: sample i has the columns and values from `ptr[i]` to `ptr[i + 1]`, with
/// increasing columns. The predictions of columns that are not stored are zero, or below the floor that was asked for.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SparseScores {
    /// Offsets of the samples, n_samples + 1 of them.
    pub ptr: Vec<usize>,
    /// Column indices, sample after sample.
    pub columns: Vec<u32>,
    /// The predictions of these columns.
    pub values: Vec<f64>,
}

impl SparseScores {
    /// Returns a matrix without rows.
    pub(crate) fn empty() -> Result<Self> {
        let mut ptr = LISTED.with_capacity(1)?;
        ptr.push(0);
        Ok(SparseScores { ptr, columns: Vec::new(), values: Vec::new() })
    }

    /// Returns the scores of a table that are positive and at least `floor`.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Invalid`] when `floor` is negative or NaN, or [`crate::ErrorKind::OutOfMemory`].
    pub(crate) fn of_dense(scores: ArrayView2<'_, f64>, floor: f64) -> Result<Self> {
        means::check_floor(floor)?;
        let mut found = SparseScores::empty()?;
        for row in scores.rows() {
            found.push_scores(row.into_iter().copied(), floor)?;
        }
        Ok(found)
    }

    /// Appends a sample: its scores that are positive and at least `floor`.
    fn push_scores(&mut self, scores: impl Iterator<Item = f64>, floor: f64) -> Result<()> {
        for (column, value) in (0u32..).zip(scores).filter(|(_, value)| *value > 0.0 && *value >= floor) {
            LISTED.push(&mut self.columns, column)?;
            LISTED.push(&mut self.values, value)?;
        }
        LISTED.push(&mut self.ptr, self.columns.len())
    }

    /// Returns `n` empty matrices.
    pub(super) fn empty_blocks(n: usize) -> Result<Vec<Self>> {
        let mut blocks = LISTED.with_capacity(n)?;
        for _ in 0..n {
            blocks.push(SparseScores::empty()?);
        }
        Ok(blocks)
    }

    /// Appends a sample: the sums divided by `divisor`, where they are positive and at least `floor`. Resets the sums.
    pub(super) fn push_row(&mut self, sums: &mut TouchedRow, divisor: f64, floor: f64) -> Result<()> {
        sums.sort_columns();
        for &column in sums.columns() {
            let value = sums.sum(column) / divisor;
            if value > 0.0 && value >= floor {
                LISTED.push(&mut self.columns, column)?;
                LISTED.push(&mut self.values, value)?;
            }
        }
        sums.forget();
        LISTED.push(&mut self.ptr, self.columns.len())
    }

    /// Concatenates the samples of all blocks. Each block is freed after it is copied.
    pub(crate) fn joined(blocks: Vec<SparseScores>) -> Result<Self> {
        let n_rows = blocks.iter().map(|block| block.ptr.len() - 1).sum::<usize>();
        let n_stored = blocks.iter().map(|block| block.columns.len()).sum();
        let mut all = SparseScores {
            ptr: LISTED.with_capacity(n_rows + 1)?,
            columns: LISTED.with_capacity(n_stored)?,
            values: LISTED.with_capacity(n_stored)?,
        };
        all.ptr.push(0);
        for block in blocks {
            let before = all.columns.len();
            all.ptr.extend(block.ptr[1..].iter().map(|end| before + end));
            LISTED.extend(&mut all.columns, block.columns)?;
            LISTED.extend(&mut all.values, block.values)?;
        }
        Ok(all)
    }
}

impl Additive<'_> {
    /// Returns the scores of each sample that are positive and at least `floor`, for trees of one score each. They have the
    /// bits of [`Additive::scores`]. Memory is that of the result and a block of scores for each thread.
    ///
    /// # Errors
    /// The same as for [`means::at_least`].
    pub(crate) fn scores_at_least(&self, rows: &Rows<'_>, floor: f64, control: &Control) -> Result<SparseScores> {
        means::check_floor(floor)?;
        let n = rows.n_samples();
        let n_threads = self.threads_for(n, self.trees.len(), control.n_threads());
        let size = self.rows_at_once(rows, n_threads);
        let mut blocks = SparseScores::empty_blocks(n.div_ceil(size))?;
        pool::for_each(
            n_threads,
            blocks.iter_mut().enumerate(),
            || self.worker(rows, 0..self.trees.len()),
            |worker, (b, block)| {
                let range = b * size..(b * size + size).min(n);
                let mut scores = Purpose("a block of scores").zeros(range.len(), self.width)?;
                self.scores_of_block(rows, range, worker, &mut scores, control)?;
                scores.chunks_exact(self.width).try_for_each(|row| block.push_scores(row.iter().copied(), floor))
            },
        )?;
        SparseScores::joined(blocks)
    }
}
