//! Labels and classes of samples as columns of 0 and 1.

use super::PURPOSE;
use super::unknown::Unknown;
use crate::data::slots::Slots;
use crate::error::Result;

/// The columns that are 1: `columns[ptr[i]..ptr[i + 1]]` for sample i, in increasing order.
#[derive(Clone, Debug)]
pub(super) struct OnColumns {
    ptr: Vec<usize>,
    columns: Vec<u32>,
}

impl OnColumns {
    pub(super) fn new(y: &Slots<'_>, ids: &[u32]) -> Result<Self> {
        let stored = ids.iter().map(|&id| y.of(id).len()).sum();
        let mut columns = PURPOSE.with_capacity(stored)?;
        let mut ptr = PURPOSE.with_capacity(ids.len() + 1)?;
        ptr.push(0);
        for &id in ids {
            columns.extend_from_slice(y.of(id));
            ptr.push(columns.len());
        }
        Ok(OnColumns { ptr, columns })
    }

    pub(super) fn try_clone(&self) -> Result<Self> {
        Ok(OnColumns { ptr: PURPOSE.copied(&self.ptr)?, columns: PURPOSE.copied(&self.columns)? })
    }

    pub(super) fn of(&self, row: usize) -> &[u32] {
        &self.columns[self.ptr[row]..self.ptr[row + 1]]
    }

    /// Returns, for each of `width` columns, the total weight of the samples for which it is known to be 1.
    pub(super) fn weights(&self, weight: &[f64], width: usize, unknown: &Unknown) -> Result<Vec<f64>> {
        let mut on = PURPOSE.filled(0.0, width)?;
        for (row, w) in weight.iter().enumerate() {
            let unknown = unknown.of(row, width);
            self.of(row).iter().filter(|&&c| unknown.is_known(c as usize)).for_each(|&c| on[c as usize] += w);
        }
        Ok(on)
    }
}
