//! Sums for one sample whose leaves store few of many columns.

use crate::error::{Purpose, Result};
use crate::tree::LeafTable;

const ROW: Purpose = Purpose("a row of predictions");

/// The sums of one sample, and the columns that its leaves store.
#[derive(Debug)]
pub(crate) struct TouchedRow {
    sums: Vec<f64>,
    seen: Vec<bool>,
    /// The columns that are marked in `seen`, each listed once; `sums` is zero elsewhere.
    columns: Vec<u32>,
}

impl TouchedRow {
    pub(crate) fn new(width: usize) -> Result<Self> {
        let (sums, seen) = (ROW.filled(0.0, width)?, ROW.filled(false, width)?);
        Ok(TouchedRow { sums, seen, columns: Vec::new() })
    }

    /// Adds the values of a leaf, multiplied by a factor.
    pub(super) fn add(&mut self, leaves: &LeafTable, leaf: usize, factor: f64) -> Result<()> {
        let TouchedRow { sums, seen, columns } = self;
        // Room for all columns is reserved once, as none is listed twice.
        ROW.grow(columns, sums.len() - columns.len())?;
        leaves.visit(leaf, |column, value| {
            sums[column as usize] += factor * value;
            if !std::mem::replace(&mut seen[column as usize], true) {
                columns.push(column);
            }
        });
        Ok(())
    }

    /// Adds a value to each of some columns, which are distinct.
    pub(crate) fn add_each(&mut self, more: &[u32], values: &[f64]) -> Result<()> {
        let TouchedRow { sums, seen, columns } = self;
        ROW.grow(columns, sums.len() - columns.len())?;
        for (&column, &value) in more.iter().zip(values) {
            sums[column as usize] += value;
            if !std::mem::replace(&mut seen[column as usize], true) {
                columns.push(column);
            }
        }
        Ok(())
    }

    /// Replaces larger sums by `largest`, if it is finite.
    pub(super) fn limit(&mut self, largest: f64) {
        if largest.is_finite() {
            let TouchedRow { sums, columns, .. } = self;
            columns.iter().for_each(|&column| sums[column as usize] = sums[column as usize].min(largest));
        }
    }

    /// Returns the columns that leaves have stored values for, in the order of their first occurrence, or increasing
    /// after they were sorted.
    pub(crate) fn columns(&self) -> &[u32] {
        &self.columns
    }

    pub(crate) fn sort_columns(&mut self) {
        self.columns.sort_unstable();
    }

    /// Returns the columns that no leaf has stored a value for, in increasing order.
    pub(super) fn others(&self) -> impl Iterator<Item = u32> + '_ {
        (0u32..).zip(&self.seen).filter(|(_, seen)| !**seen).map(|(column, _)| column)
    }

    pub(crate) fn sum(&self, column: u32) -> f64 {
        self.sums[column as usize]
    }

    /// Sets all sums to zero, in time proportional to the number of touched columns.
    pub(crate) fn forget(&mut self) {
        for column in self.columns.drain(..) {
            self.sums[column as usize] = 0.0;
            self.seen[column as usize] = false;
        }
    }
}
