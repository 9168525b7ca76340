//! Sums of one row where the leaves that it reaches touch few of many columns.

use crate::error::{Result, try_filled, try_grow};
use crate::tree::LeafTable;

const ROW: &str = "a row of predictions";

/// Sums of one row, and the columns that they touch.
#[derive(Debug)]
pub(super) struct TouchedRow {
    sums: Vec<f64>,
    seen: Vec<bool>,
    /// Columns that are `seen`, each once; `sums` is zero elsewhere.
    columns: Vec<u32>,
}

impl TouchedRow {
    pub(super) fn new(width: usize) -> Result<Self> {
        let (sums, seen) = (try_filled(ROW, 0.0, width)?, try_filled(ROW, false, width)?);
        Ok(TouchedRow { sums, seen, columns: Vec::new() })
    }

    /// Adds the values of a leaf, times a factor.
    pub(super) fn add(&mut self, leaves: &LeafTable, leaf: usize, factor: f64) -> Result<()> {
        let TouchedRow { sums, seen, columns } = self;
        // Room for all columns, once: none is listed twice.
        try_grow(ROW, columns, sums.len() - columns.len())?;
        leaves.visit(leaf, |column, value| {
            sums[column as usize] += factor * value;
            if !std::mem::replace(&mut seen[column as usize], true) {
                columns.push(column);
            }
        });
        Ok(())
    }

    /// Columns that leaves have touched, in the order of the first touch, or rising once they were sorted.
    pub(super) fn columns(&self) -> &[u32] {
        &self.columns
    }

    pub(super) fn sort_columns(&mut self) {
        self.columns.sort_unstable();
    }

    /// Columns that no leaf has touched, rising.
    pub(super) fn others(&self) -> impl Iterator<Item = u32> + '_ {
        (0u32..).zip(&self.seen).filter(|(_, seen)| !**seen).map(|(column, _)| column)
    }

    pub(super) fn sum(&self, column: u32) -> f64 {
        self.sums[column as usize]
    }

    /// Makes it a row of zeros, in as many steps as columns were touched.
    pub(super) fn forget(&mut self) {
        for column in self.columns.drain(..) {
            self.sums[column as usize] = 0.0;
            self.seen[column as usize] = false;
        }
    }
}
