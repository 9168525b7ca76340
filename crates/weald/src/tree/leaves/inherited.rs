//! Leaves that hold only the values that differ from those of the nodes above.
//!
//! If some cells of y are unknown, a leaf takes the values of its unknown columns from the nodes above it, and most
//! leaves below a node take the same ones. They are stored once, in a *record* of this node: cells of columns, which
//! apply to all leaves below unless a record in between has the same column. Each leaf has a record, possibly without
//! cells, and each record has a link to the next one above.
//!
//! A leaf costs one step for each cell of its record and of those above.

use std::cell::Cell;
use std::ops::Range;

use super::{Amounts, ColumnIndex, Indices, LeafTable, PURPOSE, Precision, of_indices};
use crate::error::Result;

/// The cells of leaves and of the inner nodes above them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Records {
    /// Record r has the cells `ptr[r]..ptr[r + 1]`. The records of leaves come first, in the order of leaves, followed
    /// by those of inner nodes, each of which comes after the one above it.
    pub(crate) ptr: Vec<u32>,
    /// The columns of cells, strictly increasing in each record.
    pub(crate) columns: Indices,
    /// For each record, one plus the position of the next record above among those of inner nodes; 0 if there is none.
    pub(crate) above: Vec<u32>,
}

/// The columns that have been seen on the way up from a leaf: those with the current stamp.
#[derive(Debug, Default)]
struct Seen {
    stamps: Vec<u32>,
    current: u32,
}

thread_local! {
    /// It grows to the largest width of leaves on this thread.
    static SEEN: Cell<Seen> = const { Cell::new(Seen { stamps: Vec::new(), current: 0 }) };
}

impl Records {
    pub(super) fn try_clone(&self) -> Result<Self> {
        let (ptr, above) = (PURPOSE.copied(&self.ptr)?, PURPOSE.copied(&self.above)?);
        Ok(Records { ptr, columns: self.columns.try_clone()?, above })
    }

    pub(super) fn n_bytes(&self) -> usize {
        let n_cells = self.ptr.last().map_or(0, |&end| end as usize);
        4 * (self.ptr.len() + self.above.len()) + self.columns.item_bytes() * n_cells
    }

    /// Returns the cells of a record.
    pub(super) fn range(&self, record: usize) -> Range<usize> {
        self.ptr[record] as usize..self.ptr[record + 1] as usize
    }

    /// Calls `each` with the columns of a leaf and their non-zero values, in any order.
    pub(super) fn visit(&self, table: &LeafTable, leaf: usize, mut each: impl FnMut(u32, f64)) {
        of_indices!(&self.columns, columns => match (&table.amounts, table.scales.as_deref()) {
            (Amounts::F64(v), None) => self.walk(columns, table, leaf, |cell, column| each(column, v[cell])),
            (Amounts::F32(v), None) => self.walk(columns, table, leaf, |cell, column| each(column, v[cell].into())),
            (amounts, scales) => self.walk(columns, table, leaf, |cell, column| {
                each(column, amounts.at(cell) * scales.map_or(1.0, |scales| scales[column as usize]));
            }),
        })
    }

    /// Calls `each` with the cells that apply to a leaf and have a value other than zero, and their columns.
    fn walk<C: ColumnIndex>(&self, columns: &[C], table: &LeafTable, leaf: usize, mut each: impl FnMut(usize, u32)) {
        let mut seen = SEEN.take();
        if seen.stamps.len() < table.width {
            seen.stamps.resize(table.width, 0);
        }
        seen.current = seen.current.wrapping_add(1);
        if seen.current == 0 {
            seen.stamps.fill(0);
            seen.current = 1;
        }
        let mut record = leaf;
        loop {
            let range = self.range(record);
            for (cell, column) in range.clone().zip(&columns[range]) {
                let stamp = &mut seen.stamps[column.column()];
                if *stamp != seen.current {
                    *stamp = seen.current;
                    each(cell, column.column() as u32);
                }
            }
            match self.above[record] {
                0 => break,
                above => record = table.n_leaves + above as usize - 1,
            }
        }
        SEEN.set(seen);
    }

    /// Returns the columns and non-zero amounts of a leaf, in increasing order of columns.
    pub(super) fn cells(&self, table: &LeafTable, leaf: usize) -> Vec<(u32, f64)> {
        let mut cells = Vec::new();
        self.visit(table, leaf, |column, value| cells.push((column, value)));
        cells.sort_unstable_by_key(|cell| cell.0);
        cells
    }

    /// Returns the values of all cells, each with its column.
    pub(crate) fn values<'a>(&'a self, table: &'a LeafTable) -> impl Iterator<Item = (u32, f64)> + 'a {
        (0..table.amounts.len()).map(|cell| {
            let column = self.columns.at(cell);
            (column, table.amounts.at(cell) * table.scales.as_ref().map_or(1.0, |scales| scales[column as usize]))
        })
    }

    /// Returns the amounts of all cells as floats of fewer bits, and the scales of columns; `None` if a column has no
    /// scale.
    pub(super) fn narrowed(&self, table: &LeafTable, to: Precision) -> Result<Option<(Amounts, Option<Vec<f64>>)>> {
        to.narrowed(table.width, || self.values(table))
    }
}
