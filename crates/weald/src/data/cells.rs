//! y as a set of known cells: the form of y of which much is unknown. Its size is that of what is known.

use super::dataset::Dataset;
use super::known::Known;
use super::slots::Slots;
use super::targets::{Targets, starts};
use crate::error::{Purpose, Result};

const PURPOSE: Purpose = Purpose("the known cells of y");

/// The known cells of y, sample after sample, with increasing columns in each sample.
///
/// A column is an output of numbers, a label, which is 0 or 1, or a class of an output, which is 1 for the class of the
/// sample and 0 for the other classes of an output that it knows.
#[derive(Debug)]
pub(crate) struct TargetCells {
    n_columns: usize,
    ptr: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
    /// The factor of each cell, by which it multiplies the weight of its sample; `None` if all are one.
    factors: Option<Vec<f64>>,
}

/// The known cells of one sample: columns, values, and factors of weights, which are empty if all are one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowCells<'a> {
    pub(crate) columns: &'a [u32],
    pub(crate) values: &'a [f64],
    factors: &'a [f64],
}

impl RowCells<'_> {
    /// Visits the cells in increasing order of columns, with their columns, values and factors of weights.
    #[inline]
    pub(crate) fn each(self, mut visit: impl FnMut(u32, f64, f64)) {
        for (i, (&column, &value)) in self.columns.iter().zip(self.values).enumerate() {
            visit(column, value, self.factors.get(i).copied().unwrap_or(1.0));
        }
    }
}

impl TargetCells {
    /// Lists the known cells of a data set of which a learner has taken the mask: see [`Dataset::observed`].
    pub(crate) fn of(data: &Dataset<'_>, known: &Known) -> Result<Self> {
        let (y, n) = (data.y(), data.n_samples());
        let mut cells = TargetCells {
            n_columns: data.outputs().width(),
            ptr: PURPOSE.with_capacity(n + 1)?,
            columns: Vec::new(),
            values: Vec::new(),
            factors: known.has_factors().then(Vec::new),
        };
        cells.ptr.push(0);
        let on = match y {
            Targets::Labels(_) => Some(Slots::new(y)?),
            Targets::Real(_) | Targets::SparseReal(_) | Targets::Classes { .. } => None,
        }
        .flatten();
        let starts = match y {
            Targets::Classes { n_classes, .. } => starts(n_classes)?,
            Targets::Real(_) | Targets::SparseReal(_) | Targets::Labels(_) => Vec::new(),
        };
        for row in 0..n {
            let mut failed = Ok(());
            let mut push = |column: u32, value: f64, factor: f64| {
                let pushed = PURPOSE
                    .push(&mut cells.columns, column)
                    .and_then(|()| PURPOSE.push(&mut cells.values, value))
                    .and_then(|()| cells.factors.as_mut().map_or(Ok(()), |all| PURPOSE.push(all, factor)));
                if failed.is_ok() {
                    failed = pushed;
                }
            };
            known.each_known(row as u32, |output, factor| match y {
                Targets::Real(y) => push(output, y[[row, output as usize]], factor),
                Targets::SparseReal(_) => unreachable!("masks of sparse numbers are refused"),
                Targets::Labels(_) => {
                    let is_on = on.as_ref().is_some_and(|on| on.of(row as u32).binary_search(&output).is_ok());
                    push(output, f64::from(u8::from(is_on)), factor);
                }
                Targets::Classes { codes, .. } => {
                    let (start, end) = (starts[output as usize], starts[output as usize + 1]);
                    let code = start + codes[[row, output as usize]] as usize;
                    (start..end).for_each(|slot| push(slot as u32, f64::from(u8::from(slot == code)), factor));
                }
            });
            failed?;
            cells.ptr.push(cells.columns.len());
        }
        Ok(cells)
    }

    /// Lists cells by their columns, values and the factor of each sample.
    #[cfg(test)]
    pub(crate) fn of_samples<'r>(n_columns: usize, rows: impl Iterator<Item = (&'r [u32], &'r [f64], f64)>) -> Self {
        let (mut ptr, mut columns, mut values, mut factors) = (vec![0], Vec::new(), Vec::new(), Vec::new());
        for (of_row, values_of_row, factor) in rows {
            columns.extend(of_row);
            values.extend(values_of_row);
            factors.resize(columns.len(), factor);
            ptr.push(columns.len());
        }
        TargetCells { n_columns, ptr, columns, values, factors: Some(factors) }
    }

    /// Returns the number of columns.
    pub(crate) fn n_columns(&self) -> usize {
        self.n_columns
    }

    /// Returns the number of samples.
    pub(crate) fn n_rows(&self) -> usize {
        self.ptr.len() - 1
    }

    /// Returns whether cells have factors, which may still all be one.
    pub(crate) fn has_factors(&self) -> bool {
        self.factors.is_some()
    }

    /// Returns the number of known cells.
    pub(crate) fn len(&self) -> usize {
        self.columns.len()
    }

    /// Returns the known cells of a sample.
    #[inline]
    pub(crate) fn of_row(&self, row: u32) -> RowCells<'_> {
        let range = self.ptr[row as usize]..self.ptr[row as usize + 1];
        RowCells {
            columns: &self.columns[range.clone()],
            values: &self.values[range.clone()],
            factors: self.factors.as_ref().map_or(&[], |all| &all[range]),
        }
    }
}
