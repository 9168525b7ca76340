//! y as a set of known cells: the form of y of which much is unknown. Its size is that of what is known.

use std::ops::Range;

use super::Known;
use crate::data::dataset::Dataset;
use crate::data::slots::Slots;
use crate::data::targets::{Targets, starts};
use crate::data::weights::Weights;
use crate::error::{Purpose, Result};
use crate::exact::Total;

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
                Targets::Real(_) | Targets::SparseReal(_) => push(output, y.number(row, output), factor),
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

    /// Makes cells from columns and values of samples.
    #[cfg(test)]
    pub(crate) fn of_rows(rows: Vec<Vec<(u32, f64)>>, n_columns: usize) -> Self {
        let ptr = (0..=rows.len()).map(|end| rows[..end].iter().map(Vec::len).sum()).collect();
        let (columns, values) = rows.into_iter().flatten().unzip();
        TargetCells { n_columns, ptr, columns, values, factors: None }
    }

    #[cfg(test)]
    pub(crate) fn with_factors(self, factors: Vec<f64>) -> Self {
        TargetCells { factors: Some(factors), ..self }
    }

    /// Returns the number of columns.
    pub(crate) fn n_columns(&self) -> usize {
        self.n_columns
    }

    /// Returns whether cells have factors, which may still all be one.
    pub(crate) fn has_factors(&self) -> bool {
        self.factors.is_some()
    }

    /// Returns the number of known cells.
    pub(crate) fn len(&self) -> usize {
        self.columns.len()
    }

    /// Returns the number of samples.
    pub(crate) fn n_rows(&self) -> usize {
        self.ptr.len() - 1
    }

    /// Returns the places of the cells of a sample among all cells.
    #[inline]
    pub(crate) fn range(&self, row: u32) -> Range<usize> {
        self.ptr[row as usize]..self.ptr[row as usize + 1]
    }

    /// Returns the known cells of a sample.
    #[inline]
    pub(crate) fn of_row(&self, row: u32) -> RowCells<'_> {
        let range = self.range(row);
        RowCells {
            columns: &self.columns[range.clone()],
            values: &self.values[range.clone()],
            factors: self.factors.as_ref().map_or(&[], |all| &all[range]),
        }
    }
    /// Returns the weights of cells, given those of samples in units.
    pub(crate) fn units(&self, of_rows: impl Fn(u32) -> u64) -> Result<CellUnits> {
        let Some(factors) = &self.factors else { return Ok(CellUnits { of_cells: None, exact: true }) };
        let factors = Weights::of_rows(Some(factors), factors.len())?;
        let rows = || (0..self.n_rows() as u32).map(|row| (row, u128::from(of_rows(row))));
        let cells = || rows().flat_map(|(row, units)| self.range(row).map(move |at| (at, units)));
        let products = || cells().map(|(at, units)| units * u128::from(factors.units(at)));
        let total = products().fold(0, u128::saturating_add);
        let shift = (u128::BITS - total.leading_zeros()).saturating_sub(Total::BITS - 1);
        let mut of_cells = PURPOSE.with_capacity(self.len())?;
        // A cell of positive weight keeps at least one unit.
        of_cells.extend(products().map(|units| ((units >> shift) as u64).max(u64::from(units > 0))));
        Ok(CellUnits { of_cells: Some(of_cells), exact: factors.exact && shift == 0 })
    }

    /// Returns the cells of some samples, one column after the other. Each sample has a number by which its cells are
    /// known; in a column, they are in the order of the samples. Cells of weight zero are left out.
    pub(crate) fn by_column(
        &self,
        rows: impl Iterator<Item = (u32, u32)> + Clone,
        units: &CellUnits,
        of_rows: impl Fn(u32) -> u64,
    ) -> Result<ColumnCells> {
        let each = |visit: &mut dyn FnMut(usize, ColumnCell)| {
            for (number, row) in rows.clone() {
                for at in self.range(row) {
                    let units = units.of(at, of_rows(row));
                    if units > 0 {
                        visit(self.columns[at] as usize, ColumnCell { number, value: self.values[at], units });
                    }
                }
            }
        };
        let mut ptr = PURPOSE.filled(0, self.n_columns + 1)?;
        each(&mut |column, _| ptr[column + 1] += 1);
        (0..self.n_columns).for_each(|column| ptr[column + 1] += ptr[column]);
        let mut next = PURPOSE.copied(&ptr)?;
        let mut cells = PURPOSE.filled(ColumnCell::default(), ptr[self.n_columns])?;
        each(&mut |column, cell| {
            cells[next[column]] = cell;
            next[column] += 1;
        });
        Ok(ColumnCells { ptr, cells })
    }
}

/// The weights of cells, in units.
#[derive(Debug)]
pub(crate) struct CellUnits {
    /// The units of each cell; `None` if they are those of its sample.
    of_cells: Option<Vec<u64>>,
    /// Whether cells are integer multiples of the units of samples, which are not rounded.
    pub(crate) exact: bool,
}

impl CellUnits {
    /// Returns the weight of a cell, given its place and the weight of its sample.
    #[inline]
    pub(crate) fn of(&self, at: usize, of_row: u64) -> u64 {
        self.of_cells.as_ref().map_or(of_row, |units| units[at])
    }
}

/// A cell in a list of those of its column.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ColumnCell {
    /// The number of its sample.
    pub(crate) number: u32,
    pub(crate) value: f64,
    pub(crate) units: u64,
}

/// Cells, one column after the other.
#[derive(Debug)]
pub(crate) struct ColumnCells {
    ptr: Vec<usize>,
    cells: Vec<ColumnCell>,
}

impl ColumnCells {
    /// Returns the cells of a column.
    pub(crate) fn of(&self, column: usize) -> &[ColumnCell] {
        &self.cells[self.ptr[column]..self.ptr[column + 1]]
    }
}

/// Returns the values of cells with their weights.
pub(crate) fn weighted(cells: &[ColumnCell]) -> impl Iterator<Item = (f64, u64)> + Clone + '_ {
    cells.iter().map(|cell| (cell.value, cell.units))
}
