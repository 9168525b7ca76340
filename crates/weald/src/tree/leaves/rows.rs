//! Samples of y that leaves refer to, in place of values of their own.
//!
//! The value of a leaf is a function of its training samples: amounts are sums of whole units, and means are computed
//! by `exact_mean`. Computed again from the same samples of y and the same units, in any order, they have the same
//! bits. y is stored once for all trees, so that a tree takes a few bytes for each sample, for any number of outputs.
//!
//! The cost of a leaf is one step for each stored slot (label or class) of its samples, or two if there are several
//! samples. Numbers take samples × outputs steps, three times. Leaves of one sample are as fast as those of a table.

use std::cell::Cell;
use std::ops::Range;

use super::{Amounts, Indices};
use crate::data::train_y::TrainY;
use crate::error::{Error, ErrorKind, Purpose, Result};
use crate::exact::exact_mean;

const PURPOSE: Purpose = Purpose("the stored rows of y");

/// Some training samples of y, shared by the trees of a forest.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StoredRows {
    pub(crate) n_rows: usize,
    /// The number of columns of predictions.
    pub(crate) width: usize,
    pub(crate) values: StoredValues,
}

/// The values of the samples.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum StoredValues {
    /// Sample r has the columns `slots[ptr[r]..ptr[r + 1]]`, which are strictly increasing.
    Slots { ptr: Vec<u32>, slots: Indices },
    /// Sample r has the numbers `values[r * width..(r + 1) * width]`, multiplied by the scales of their columns, which
    /// are powers of two.
    Numbers { values: Amounts, scales: Option<Vec<f64>> },
}

/// The samples of one leaf: `range` of a tree's list, with the units of each sample.
#[derive(Clone, Debug)]
pub(super) struct LeafRows<'a> {
    pub(super) ids: &'a Indices,
    pub(super) units: &'a Amounts,
    pub(super) range: Range<usize>,
}

impl LeafRows<'_> {
    fn iter(&self) -> impl Iterator<Item = (usize, f64)> + Clone + '_ {
        self.range.clone().map(|i| (self.ids.at(i) as usize, self.units.at(i)))
    }
}

thread_local! {
    /// The sums of one leaf, which are zero between two uses. It grows to the largest width of y on this thread.
    static SUMS: Cell<Vec<f64>> = const { Cell::new(Vec::new()) };
}

impl StoredRows {
    /// Stores the samples `rows` of y, in this order.
    pub(crate) fn new(y: &TrainY<'_>, rows: &[u32]) -> Result<Self> {
        let (width, values) = match y {
            TrainY::Slots(y) => {
                let n_slots: usize = rows.iter().map(|&row| y.of(row).len()).sum();
                let limit = u32::MAX as usize;
                if n_slots > limit {
                    return Err(ErrorKind::TooMany { what: "labels in the stored rows", limit }.into());
                }
                let mut ptr = PURPOSE.with_capacity(rows.len() + 1)?;
                let mut slots = Indices::for_width(y.width);
                slots.try_reserve(PURPOSE, n_slots)?;
                let mut end = 0;
                ptr.push(end);
                for &row in rows {
                    y.of(row).iter().try_for_each(|&slot| slots.push(slot))?;
                    end += y.of(row).len() as u32;
                    ptr.push(end);
                }
                (y.width, StoredValues::Slots { ptr, slots })
            }
            TrainY::MaskedSlots(_) | TrainY::MaskedReal(_) => {
                return Err(Error::unsupported("y_weight", "if leaves refer to training samples"));
            }
            TrainY::SparseReal(y) => {
                let mut values = PURPOSE.filled(0.0, rows.len().saturating_mul(y.n_outputs()))?;
                for (&row, values) in rows.iter().zip(values.chunks_exact_mut(y.n_outputs())) {
                    y.numbers().entries(row).for_each(|(output, value)| values[output as usize] = value);
                }
                (y.n_outputs(), StoredValues::Numbers { values: Amounts::F64(values), scales: None })
            }
            TrainY::Real(y) => {
                let mut values = PURPOSE.with_capacity(rows.len().saturating_mul(y.n_outputs))?;
                rows.iter().for_each(|&row| values.extend_from_slice(y.of(row)));
                (y.n_outputs, StoredValues::Numbers { values: Amounts::F64(values), scales: None })
            }
        };
        Ok(StoredRows { n_rows: rows.len(), width, values })
    }

    /// Returns the number of bytes of memory that the samples occupy.
    pub(crate) fn n_bytes(&self) -> usize {
        match &self.values {
            StoredValues::Slots { ptr, slots } => 4 * ptr.len() + slots.item_bytes() * ptr[ptr.len() - 1] as usize,
            StoredValues::Numbers { values, scales } => {
                values.item_bytes() * values.len() + 8 * scales.as_ref().map_or(0, Vec::len)
            }
        }
    }

    pub(super) fn try_clone(&self) -> Result<Self> {
        let values = match &self.values {
            StoredValues::Slots { ptr, slots } => {
                StoredValues::Slots { ptr: PURPOSE.copied(ptr)?, slots: slots.try_clone()? }
            }
            StoredValues::Numbers { values, scales } => {
                let scales = scales.as_ref().map(|scales| PURPOSE.copied(scales)).transpose()?;
                StoredValues::Numbers { values: values.try_clone()?, scales }
            }
        };
        Ok(StoredRows { n_rows: self.n_rows, width: self.width, values })
    }

    /// Returns the columns of a sample: all columns if they are numbers.
    fn slots(&self, row: usize) -> impl Iterator<Item = usize> + '_ {
        let (range, slots) = match &self.values {
            StoredValues::Slots { ptr, slots } => (ptr[row] as usize..ptr[row + 1] as usize, Some(slots)),
            StoredValues::Numbers { .. } => (0..self.width, None),
        };
        range.map(move |at| slots.map_or(at, |slots| slots.at(at) as usize))
    }

    /// Returns the mean of a column of numbers over some samples.
    fn mean(values: &Amounts, scales: Option<&Vec<f64>>, width: usize, rows: &LeafRows<'_>, column: usize) -> f64 {
        let scale = scales.map_or(1.0, |scales| scales[column]);
        let value = |row: usize| values.at(row * width + column) * scale;
        if rows.range.len() == 1 {
            return value(rows.ids.at(rows.range.start) as usize);
        }
        exact_mean(rows.iter().map(|(row, units)| (value(row), units as u64)))
    }

    /// Adds the values of a leaf to a row of predictions.
    pub(super) fn add_to(&self, rows: &LeafRows<'_>, total: Option<f64>, out: &mut [f64]) {
        self.visit(rows, total, |column, value| out[column as usize] += value);
    }

    /// Calls `each` with the columns of a leaf and their non-zero values.
    pub(super) fn visit(&self, rows: &LeafRows<'_>, total: Option<f64>, mut each: impl FnMut(u32, f64)) {
        match (&self.values, total) {
            (StoredValues::Numbers { values, scales }, _) => {
                for column in 0..self.width {
                    let mean = Self::mean(values, scales.as_ref(), self.width, rows, column);
                    if mean != 0.0 {
                        each(column as u32, mean);
                    }
                }
            }
            (StoredValues::Slots { .. }, _) if rows.range.len() == 1 => {
                self.slots(rows.ids.at(rows.range.start) as usize).for_each(|slot| each(slot as u32, 1.0));
            }
            (StoredValues::Slots { .. }, total) => {
                let total = total.unwrap_or(1.0);
                self.with_sums(rows, |sums| {
                    for slot in rows.iter().flat_map(|(row, _)| self.slots(row)) {
                        let sum = std::mem::take(&mut sums[slot]);
                        // The sum is zero if an earlier sample with this slot has already used it.
                        if sum != 0.0 {
                            each(slot as u32, sum / total);
                        }
                    }
                });
            }
        }
    }

    /// Returns the columns and amounts of a leaf, in increasing order of columns.
    pub(super) fn cells(&self, rows: &LeafRows<'_>) -> Vec<(u32, f64)> {
        if let StoredValues::Numbers { values, scales } = &self.values {
            let mean = |column| (column as u32, Self::mean(values, scales.as_ref(), self.width, rows, column));
            return (0..self.width).map(mean).collect();
        }
        let mut cells = Vec::new();
        self.with_sums(rows, |sums| {
            for slot in rows.iter().flat_map(|(row, _)| self.slots(row)) {
                let sum = std::mem::take(&mut sums[slot]);
                if sum != 0.0 {
                    cells.push((slot as u32, sum));
                }
            }
        });
        cells.sort_unstable_by_key(|cell| cell.0);
        cells
    }

    /// Calls `use_up` with the units of each slot of the samples. They are whole numbers, so that the result does not
    /// depend on the order of addition. `use_up` must leave zeros.
    fn with_sums(&self, rows: &LeafRows<'_>, use_up: impl FnOnce(&mut [f64])) {
        let mut sums = SUMS.take();
        if sums.len() < self.width {
            sums.resize(self.width, 0.0);
        }
        for (row, units) in rows.iter() {
            self.slots(row).for_each(|slot| sums[slot] += units);
        }
        use_up(&mut sums);
        debug_assert!(sums.iter().all(|&sum| sum == 0.0));
        SUMS.set(sums);
    }
}
