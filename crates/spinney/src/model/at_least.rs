//! Predictions that are large enough, as rows of a sparse matrix.

use super::predict::LeavesOfRows;
use super::touched::TouchedRow;
use super::{Additive, Terms, means};
use crate::control::Control;
use crate::error::{Result, try_extend, try_push, try_with_capacity};
use crate::tree::rows::Rows;

const LISTED: &str = "sparse predictions";

/// Predictions that are stored: row i has the columns and values from `ptr[i]` to `ptr[i + 1]`, columns rising. Those of
/// other columns are zero, or below the floor that was asked for.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SparseScores {
    /// Offsets of the rows, n_samples + 1 of them.
    pub ptr: Vec<usize>,
    /// Columns, row after row.
    pub columns: Vec<u32>,
    /// Their predictions.
    pub values: Vec<f64>,
}

impl SparseScores {
    /// Without rows.
    pub(super) fn empty() -> Result<Self> {
        let mut ptr = try_with_capacity(LISTED, 1)?;
        ptr.push(0);
        Ok(SparseScores { ptr, columns: Vec::new(), values: Vec::new() })
    }

    /// So many of them.
    pub(super) fn empty_blocks(n: usize) -> Result<Vec<Self>> {
        let mut blocks = try_with_capacity(LISTED, n)?;
        for _ in 0..n {
            blocks.push(SparseScores::empty()?);
        }
        Ok(blocks)
    }

    /// Appends a row: sums over the divisor, where they are positive and at least the floor. Forgets the sums.
    pub(super) fn push_row(&mut self, sums: &mut TouchedRow, divisor: f64, floor: f64) -> Result<()> {
        sums.sort_columns();
        for &column in sums.columns() {
            let value = sums.sum(column) / divisor;
            if value > 0.0 && value >= floor {
                try_push(LISTED, &mut self.columns, column)?;
                try_push(LISTED, &mut self.values, value)?;
            }
        }
        sums.forget();
        try_push(LISTED, &mut self.ptr, self.columns.len())
    }

    /// The rows of all blocks, which are given back one after the other.
    pub(super) fn joined(blocks: Vec<SparseScores>) -> Result<Self> {
        let n_rows = blocks.iter().map(|block| block.ptr.len() - 1).sum::<usize>();
        let n_stored = blocks.iter().map(|block| block.columns.len()).sum();
        let mut all = SparseScores {
            ptr: try_with_capacity(LISTED, n_rows + 1)?,
            columns: try_with_capacity(LISTED, n_stored)?,
            values: try_with_capacity(LISTED, n_stored)?,
        };
        all.ptr.push(0);
        for block in blocks {
            let before = all.columns.len();
            all.ptr.extend(block.ptr[1..].iter().map(|end| before + end));
            try_extend(LISTED, &mut all.columns, block.columns)?;
            try_extend(LISTED, &mut all.values, block.values)?;
        }
        Ok(all)
    }
}

impl Additive<'_> {
    /// Means of each row over the trees that count for it, where they are positive and at least `floor`.
    ///
    /// `counts(row, tree)`, and `n_counting(row)` is how many do: a row has no entry where none does. The bits are those of
    /// the whole mean, for any number of threads. Only of models that are means of leaves' rows. Memory is that of the
    /// result and a row for each thread, time the cells of the leaves that are reached.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Invalid`] for a floor that is negative or NaN; [`crate::ErrorKind::Interrupted`],
    /// [`crate::ErrorKind::OutOfMemory`].
    pub(crate) fn means_at_least(
        &self,
        rows: &Rows<'_>,
        floor: f64,
        counts: impl Fn(usize, usize) -> bool + Sync,
        n_counting: impl Fn(usize) -> f64 + Sync,
        control: &Control,
    ) -> Result<SparseScores> {
        debug_assert!(matches!(self.terms, Terms::Leaves) && self.start.is_empty() && self.link.is_identity());
        let found = LeavesOfRows { model: self, rows };
        means::at_least(&found, (self.width, floor), counts, n_counting, control)
    }
}
