//! Codes of sparse X by cell, for histograms.
//!
//! A *cell* is a non-zero value that a column stores. Counts and flags have few of them: a column with thousands of
//! entries may have five. Columns with fewer entries than a cut must move have no cells, because none of their cuts
//! satisfies the constraints in any node.

use crate::control::Control;
use crate::data::SparseView;
use crate::error::{ErrorKind, Purpose, Result};

/// The minimum mean number of entries of a cell for which histograms pay.
const ENTRIES_PER_CELL: usize = 4;

const PURPOSE: Purpose = Purpose("the cells of X");

/// The codes of sparse X, relative to that of zero.
#[derive(Debug)]
pub(crate) struct SparseCells {
    pub(super) by_column: SparseView<'static>,
    /// The features that have cells, in increasing order.
    features: Vec<u32>,
    /// The cells of column i are `start[i]..start[i + 1]`.
    start: Vec<u32>,
    /// The value of each cell, in increasing order within a column, with NaN last.
    values: Vec<f32>,
    /// The column of each cell.
    column_of: Vec<u32>,
    row_start: Vec<usize>,
    /// The cells of the entries, row by row, in increasing order within a row.
    of_rows: Vec<u32>,
    /// Whether the cells are those of all workers.
    of_all: bool,
}

impl SparseCells {
    /// Creates cells from `codes`, which are columns of whole numbers. Columns with fewer than `least_entries` entries
    /// are left out. Returns the codes if there are too many cells for histograms to pay.
    ///
    /// The cost is two passes over the stored entries.
    pub(crate) fn try_new(
        codes: SparseView<'static>,
        least_entries: usize,
        control: &Control,
    ) -> Result<std::result::Result<Self, SparseView<'static>>> {
        Self::where_worth(codes, least_entries, ENTRIES_PER_CELL, control)
    }

    /// Like [`SparseCells::try_new`], with another minimum number of entries per cell.
    pub(super) fn where_worth(
        codes: SparseView<'static>,
        least_entries: usize,
        per_cell: usize,
        control: &Control,
    ) -> Result<std::result::Result<Self, SparseView<'static>>> {
        let cells = Cells::new(&codes, least_entries, control)?;
        if cells.values.len() * per_cell > cells.n_entries || u32::try_from(cells.values.len()).is_err() {
            return Ok(Err(codes));
        }
        cells.with_rows(codes, control).map(Ok)
    }

    /// Creates cells if other workers have entries, too. `values_of` returns the codes of a feature that any worker
    /// has, except that of zero, in increasing order and with NaN last. There may be more cells than pay, and columns
    /// with few entries.
    pub(crate) fn of_all<V: AsRef<[f32]>>(
        codes: SparseView<'static>,
        values_of: impl Fn(usize) -> Result<V>,
        control: &Control,
    ) -> Result<Self> {
        let codes_of =
            |feature, values: &mut Vec<f32>| PURPOSE.extend(values, values_of(feature)?.as_ref().iter().copied());
        let cells = Cells::of(&codes, codes_of, true, control)?;
        let limit = u32::MAX as usize;
        if cells.values.len() > limit {
            return Err(ErrorKind::TooMany { what: "bins of sparse X", limit }.into());
        }
        cells.with_rows(codes, control)
    }

    /// Returns the cells of a feature, if it has any.
    pub(super) fn cells(&self, feature: u32) -> Option<std::ops::Range<usize>> {
        let column = self.features.binary_search(&feature).ok()?;
        Some(self.start[column] as usize..self.start[column + 1] as usize)
    }

    /// Returns the cells of some features, which must be in increasing order and are renumbered. The cost is two passes
    /// over their stored entries.
    pub(crate) fn narrowed(&self, features: &[u32], least_entries: usize, control: &Control) -> Result<Self> {
        let codes = self.by_column.narrowed(features, control)?;
        if self.of_all {
            let values_of = |at: usize| Ok(self.cells(features[at]).map_or(&[][..], |cells| self.values(cells)));
            return SparseCells::of_all(codes, values_of, control);
        }
        Cells::new(&codes, least_entries, control)?.with_rows(codes, control)
    }

    pub(super) fn n_cells(&self) -> usize {
        self.values.len()
    }

    /// Returns the mean number of entries of a row.
    pub(super) fn per_row(&self) -> f64 {
        self.of_rows.len() as f64 / self.by_column.n_minor() as f64
    }

    /// Returns the number of features that have cells.
    pub(super) fn n_columns(&self) -> usize {
        self.features.len()
    }

    /// Returns some of the features that have cells, with their cells.
    pub(super) fn columns(
        &self,
        columns: std::ops::Range<usize>,
    ) -> impl Iterator<Item = (u32, std::ops::Range<usize>)> {
        let ranges = self.start[columns.start..=columns.end].windows(2).map(|w| w[0] as usize..w[1] as usize);
        self.features[columns].iter().copied().zip(ranges)
    }

    pub(super) fn values(&self, cells: std::ops::Range<usize>) -> &[f32] {
        &self.values[cells]
    }

    /// Returns the index of a cell's column among those that have cells, and the value of the cell.
    pub(super) fn cell(&self, cell: u32) -> (u32, f32) {
        (self.column_of[cell as usize], self.values[cell as usize])
    }

    pub(super) fn feature(&self, column: u32) -> u32 {
        self.features[column as usize]
    }

    #[inline]
    pub(super) fn of_row(&self, row: u32) -> &[u32] {
        &self.of_rows[self.row_start[row as usize]..self.row_start[row as usize + 1]]
    }
}

/// The cells of all columns, before they are assigned to the entries of rows.
#[derive(Debug)]
struct Cells {
    features: Vec<u32>,
    start: Vec<u32>,
    values: Vec<f32>,
    column_of: Vec<u32>,
    row_start: Vec<usize>,
    n_entries: usize,
    of_all: bool,
}

impl Cells {
    fn new(codes: &SparseView<'_>, least_entries: usize, control: &Control) -> Result<Self> {
        let mut present = Vec::new();
        let codes_of = |feature: usize, values: &mut Vec<f32>| {
            let stored = codes.slice(feature).1;
            if stored.len() < least_entries {
                return Ok(());
            }
            let places = Places::of(stored);
            places.fill(&mut present, false)?;
            stored.iter().for_each(|&code| present[places.of_code(code)] = true);
            // An empty column has the place of zero, which is not present.
            let mut found = (0..present.len()).filter(|&place| present[place]);
            found.try_for_each(|place| PURPOSE.push(values, places.code(place)))
        };
        Cells::of(codes, codes_of, false, control)
    }

    /// `append_codes` appends the codes of a feature that have cells.
    fn of(
        codes: &SparseView<'_>,
        mut append_codes: impl FnMut(usize, &mut Vec<f32>) -> Result<()>,
        of_all: bool,
        control: &Control,
    ) -> Result<Self> {
        let (mut features, mut values, mut column_of) = (Vec::new(), Vec::new(), Vec::new());
        let mut start = vec![0];
        let mut row_start = PURPOSE.filled(0usize, codes.n_minor() + 1)?;
        let mut n_entries = 0;
        for feature in 0..codes.n_major() {
            control.check()?;
            append_codes(feature, &mut values)?;
            if values.len() == column_of.len() {
                continue;
            }
            PURPOSE.resize(&mut column_of, values.len(), features.len() as u32)?;
            let (rows, _) = codes.slice(feature);
            rows.iter().for_each(|&row| row_start[row as usize + 1] += 1);
            n_entries += rows.len();
            PURPOSE.push(&mut features, feature as u32)?;
            PURPOSE.push(&mut start, values.len() as u32)?;
        }
        (0..codes.n_minor()).for_each(|row| row_start[row + 1] += row_start[row]);
        Ok(Cells { features, start, values, column_of, row_start, n_entries, of_all })
    }

    /// Adds the cells of the entries of rows; `codes` must be those from which the cells were made.
    fn with_rows(self, codes: SparseView<'static>, control: &Control) -> Result<SparseCells> {
        let Cells { features, start, values, column_of, row_start, n_entries, of_all } = self;
        let n_rows = codes.n_minor();
        let mut next = PURPOSE.with_capacity(n_rows)?;
        next.extend_from_slice(&row_start[..n_rows]);
        let mut of_rows = PURPOSE.filled(0u32, n_entries)?;
        let mut cell_of = Vec::new();
        for (i, &feature) in features.iter().enumerate() {
            control.check()?;
            let places = Places::of(&values[start[i] as usize..start[i + 1] as usize]);
            places.fill(&mut cell_of, 0u32)?;
            for cell in start[i]..start[i + 1] {
                cell_of[places.of_code(values[cell as usize])] = cell;
            }
            let (rows, stored) = codes.slice(feature as usize);
            for (&row, &code) in rows.iter().zip(stored) {
                let next = &mut next[row as usize];
                of_rows[*next] = cell_of[places.of_code(code)];
                *next += 1;
            }
        }
        Ok(SparseCells { by_column: codes, features, start, values, column_of, row_start, of_rows, of_all })
    }
}

/// The places of the codes of a column in a table, in increasing order. Missing values have the last place.
#[derive(Clone, Copy, Debug)]
struct Places {
    low: f32,
    high: f32,
}

impl Places {
    fn of(codes: &[f32]) -> Self {
        // The minimum and the maximum ignore missing values.
        let range = |(low, high): (f32, f32), &code: &f32| (code.min(low), code.max(high));
        let (low, high) = codes.iter().fold((0.0, 0.0), range);
        Places { low, high }
    }

    fn of_missing(self) -> usize {
        (self.high - self.low) as usize + 1
    }

    fn of_code(self, code: f32) -> usize {
        if code.is_nan() { self.of_missing() } else { (code - self.low) as usize }
    }

    fn code(self, place: usize) -> f32 {
        if place == self.of_missing() { f32::NAN } else { place as f32 + self.low }
    }

    /// Fills a table with one item for each place.
    fn fill<T: Clone>(self, table: &mut Vec<T>, item: T) -> Result<()> {
        table.clear();
        PURPOSE.grow(table, self.of_missing() + 1)?;
        table.resize(self.of_missing() + 1, item);
        Ok(())
    }
}
