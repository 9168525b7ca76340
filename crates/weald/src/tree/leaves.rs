//! What the leaves predict, filled once after growth and stored in the smaller of two layouts.
//!
//! Frequencies are stored as exact amounts (units of weight) and the total of the leaf, so that a count takes one or
//! two bytes and the predicted value is the correctly rounded quotient. Means of numbers are stored as they are. A
//! table can be made smaller afterwards (`compact`): by numbers of fewer bits, down to eight with a factor for each
//! leaf, by keeping only the largest columns, or by the training samples of each leaf in place of its values (`rows`),
//! which are stored once for all trees.
//!
//! | file | what |
//! |---|---|
//! | `amounts`, `half` | arrays of the narrowest sufficient types; float16 |
//! | `compact` | fewer bits, fewer columns |
//! | `rows` | the samples of y that leaves refer to |
//! | `inherited` | values that are stored once for several leaves |
//!
//! A *cell* is a stored pair of column and amount. The input are the cells of each leaf, in the order of the leaves,
//! and the output is a [`LeafTable`]. Building takes O(cells); the dense layout is only written if it is the smaller
//! one.

mod amounts;
mod compact;
mod half;
mod inherited;
mod rows;

use std::ops::Range;
use std::sync::Arc;

use crate::error::{ErrorKind, Purpose, Result};
use crate::loss::kernels::vector::vectorised;

pub use compact::Precision;

pub(crate) use amounts::{Amounts, Indices, of_amounts, of_indices};
pub(crate) use half::Half;
pub(crate) use inherited::Records;
pub(crate) use rows::{StoredRows, StoredValues};

const PURPOSE: Purpose = Purpose("the table of leaf values");

/// Where the amounts of a leaf are stored.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Layout {
    /// Leaf l has the amounts `l * width..(l + 1) * width`.
    Dense,
    /// Leaf l has the amounts and columns `ptr[l]..ptr[l + 1]`; the columns of a leaf are strictly increasing.
    Sparse { ptr: Vec<u32>, columns: Indices },
    /// Leaf l has the samples `ids[ptr[l]..ptr[l + 1]]` of `stored`, which are strictly increasing; the amounts are
    /// their units. A leaf has at least one sample.
    Rows { ptr: Vec<u32>, ids: Indices, stored: Arc<StoredRows> },
    /// Leaf l has the cells of its record, and of those above it the ones of other columns. Amounts are means. Only
    /// leaves of labels and numbers have this layout.
    Inherited(Records),
}

/// The values of all leaves of one tree: the value of leaf l in column c is `amount / total[l]`, or the amount itself
/// if there are no totals.
#[derive(Clone, Debug, PartialEq)]
pub struct LeafTable {
    pub(crate) n_leaves: usize,
    pub(crate) width: usize,
    pub(crate) layout: Layout,
    pub(crate) amounts: Amounts,
    /// The divisor of each leaf; `None` for means.
    pub(crate) totals: Option<Vec<f64>>,
    /// The factor of the amounts of each column, a power of two; `None` if all are 1. Only means have such factors.
    pub(crate) scales: Option<Vec<f64>>,
    /// The factor of the amounts of each leaf, a power of two. Only signed amounts of 8 bits have such factors.
    pub(crate) leaf_scales: Option<Vec<f64>>,
}

impl LeafTable {
    /// Returns a table of means, which are stored as they are.
    pub(crate) fn of_means(n_leaves: usize, width: usize, layout: Layout, amounts: Vec<f64>) -> Self {
        let amounts = Amounts::F64(amounts);
        LeafTable { n_leaves, width, layout, amounts, totals: None, scales: None, leaf_scales: None }
    }

    pub(crate) fn try_clone(&self) -> Result<LeafTable> {
        let copied = |floats: &Option<Vec<f64>>| floats.as_ref().map(|floats| PURPOSE.copied(floats)).transpose();
        let layout = match &self.layout {
            Layout::Dense => Layout::Dense,
            Layout::Sparse { ptr, columns } => {
                Layout::Sparse { ptr: PURPOSE.copied(ptr)?, columns: columns.try_clone()? }
            }
            Layout::Rows { ptr, ids, stored } => {
                Layout::Rows { ptr: PURPOSE.copied(ptr)?, ids: ids.try_clone()?, stored: Arc::clone(stored) }
            }
            Layout::Inherited(records) => Layout::Inherited(records.try_clone()?),
        };
        let (amounts, totals, scales) = (self.amounts.try_clone()?, copied(&self.totals)?, copied(&self.scales)?);
        let leaf_scales = copied(&self.leaf_scales)?;
        Ok(LeafTable { n_leaves: self.n_leaves, width: self.width, layout, amounts, totals, scales, leaf_scales })
    }

    /// Returns the number of leaves: the rows of the table.
    pub fn n_leaves(&self) -> usize {
        self.n_leaves
    }

    /// Returns the number of columns of predictions.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns the number of stored amounts, or of stored samples if leaves refer to these. The dense layout also
    /// stores zeros.
    pub fn n_stored(&self) -> usize {
        self.amounts.len()
    }

    /// Returns whether leaves are computed from stored training samples.
    pub fn has_rows(&self) -> bool {
        matches!(self.layout, Layout::Rows { .. })
    }

    /// Returns the samples of y from which leaves are computed, if any.
    pub(crate) fn stored_rows(&self) -> Option<&Arc<StoredRows>> {
        match &self.layout {
            Layout::Rows { stored, .. } => Some(stored),
            Layout::Dense | Layout::Sparse { .. } | Layout::Inherited(_) => None,
        }
    }

    /// Returns whether only some columns of a leaf are stored.
    pub fn is_sparse(&self) -> bool {
        matches!(self.layout, Layout::Sparse { .. } | Layout::Inherited(_))
    }

    /// Returns the values that leaves share, if there are any.
    pub(crate) fn records(&self) -> Option<&Records> {
        match &self.layout {
            Layout::Inherited(records) => Some(records),
            Layout::Dense | Layout::Sparse { .. } | Layout::Rows { .. } => None,
        }
    }

    /// Returns the number of bytes of memory that the table occupies. Stored samples of y are shared by all trees and
    /// are not counted.
    pub fn n_bytes(&self) -> usize {
        let layout = match &self.layout {
            Layout::Dense => 0,
            Layout::Sparse { ptr, columns: indices } | Layout::Rows { ptr, ids: indices, .. } => {
                4 * ptr.len() + indices.item_bytes() * self.n_stored()
            }
            Layout::Inherited(records) => records.n_bytes(),
        };
        let floats: usize = [&self.totals, &self.scales, &self.leaf_scales].into_iter().flatten().map(Vec::len).sum();
        layout + self.amounts.item_bytes() * self.n_stored() + 8 * floats
    }

    /// Returns the non-zero values of `leaf` with their columns, in increasing order of columns.
    pub fn value(&self, leaf: usize) -> impl Iterator<Item = (u32, f64)> + '_ {
        let total = self.total(leaf).unwrap_or(1.0);
        self.cells(leaf).map(move |(column, amount)| (column, amount / total))
    }

    /// Adds the values of `leaf` to a row of `width` numbers.
    pub(crate) fn add_to(&self, leaf: usize, row: &mut [f64]) {
        if let Layout::Inherited(records) = &self.layout {
            return records.visit(self, leaf, |column, value| row[column as usize] += value);
        }
        let total = self.totals.as_ref().map(|totals| totals[leaf]);
        let range = self.range(leaf);
        if let Some(scales) = &self.leaf_scales {
            return self.add_bytes(leaf, scales[leaf], row);
        }
        if self.scales.is_some() {
            return self.cells(leaf).for_each(|(column, amount)| row[column as usize] += amount);
        }
        match &self.layout {
            Layout::Rows { ids, stored, .. } => stored.add_to(&self.leaf_rows(ids, range), total, row),
            Layout::Dense => of_amounts!(&self.amounts, v => add_dense(&v[range], total, row)),
            Layout::Sparse { columns, .. } => of_indices!(columns, columns => of_amounts!(&self.amounts, v => {
                add_sparse(&columns[range.clone()], &v[range], total, row);
            })),
            Layout::Inherited(_) => {}
        }
    }

    /// Adds the values of `leaf`, multiplied by a factor, to a row of `width` numbers.
    pub(crate) fn add_times(&self, leaf: usize, factor: f64, row: &mut [f64]) {
        if factor == 1.0 {
            return self.add_to(leaf, row);
        }
        self.visit(leaf, |column, value| row[column as usize] += factor * value);
    }

    /// Calls `each` with the columns of `leaf` and their non-zero values, in any order.
    pub(crate) fn visit(&self, leaf: usize, mut each: impl FnMut(u32, f64)) {
        let (range, total) = (self.range(leaf), self.total(leaf));
        let is_scaled = self.scales.is_some() || self.leaf_scales.is_some();
        match &self.layout {
            Layout::Rows { ids, stored, .. } => stored.visit(&self.leaf_rows(ids, range), total, each),
            Layout::Sparse { columns, .. } if !is_scaled => of_indices!(columns, columns => {
                of_amounts!(&self.amounts, v => visit_sparse(&columns[range.clone()], &v[range], total, each));
            }),
            Layout::Inherited(records) => records.visit(self, leaf, |column, value| {
                if value != 0.0 {
                    each(column, value);
                }
            }),
            Layout::Dense | Layout::Sparse { .. } => self.value(leaf).for_each(|(column, value)| each(column, value)),
        }
    }

    /// Adds the values of each of `leaves` to the row of the same position in `rows`.
    pub(crate) fn add_each(&self, leaves: impl Iterator<Item = usize>, rows: &mut [f64]) {
        let totals = self.totals.as_deref();
        match &self.layout {
            Layout::Dense if self.scales.is_none() && self.leaf_scales.is_none() => {
                of_amounts!(&self.amounts, v => add_each_dense(v, totals, leaves, self.width, rows));
            }
            _ => leaves.zip(rows.chunks_exact_mut(self.width)).for_each(|(leaf, row)| self.add_to(leaf, row)),
        }
    }

    /// Adds amounts of 8 bits, multiplied by the scale of their leaf.
    fn add_bytes(&self, leaf: usize, scale: f64, row: &mut [f64]) {
        let range = self.range(leaf);
        match (&self.layout, &self.amounts) {
            (Layout::Dense, Amounts::I8(v)) => vectorised(
                #[inline(always)]
                || row.iter_mut().zip(&v[range]).for_each(|(sum, &code)| *sum += f64::from(code) * scale),
            ),
            _ => self.cells(leaf).for_each(|(column, amount)| row[column as usize] += amount),
        }
    }

    /// Returns the samples `range` of the table's list, with their units.
    fn leaf_rows<'a>(&'a self, ids: &'a Indices, range: Range<usize>) -> rows::LeafRows<'a> {
        rows::LeafRows { ids, units: &self.amounts, range }
    }

    /// Returns the columns and non-zero amounts of `leaf`, before the division by the total.
    pub(crate) fn cells(&self, leaf: usize) -> impl Iterator<Item = (u32, f64)> + '_ {
        let range = self.range(leaf);
        let start = range.start;
        // Stored samples are summed in advance, and shared values are sorted; other cells are read one by one.
        let (listed, columns, summed) = match &self.layout {
            Layout::Rows { ids, stored, .. } => (0..0, None, stored.cells(&self.leaf_rows(ids, range))),
            Layout::Dense => (range, None, Vec::new()),
            Layout::Sparse { columns, .. } => (range, Some(columns), Vec::new()),
            Layout::Inherited(records) => (0..0, None, records.cells(self, leaf)),
        };
        let of_leaf = self.leaf_scales.as_ref().map_or(1.0, |scales| scales[leaf]);
        let listed = listed.map(move |cell| {
            let column = columns.map_or((cell - start) as u32, |columns| columns.at(cell));
            let scale = self.scales.as_ref().map_or(1.0, |scales| scales[column as usize]);
            (column, self.amounts.at(cell) * scale * of_leaf)
        });
        listed.chain(summed).filter(|&(_, amount)| amount != 0.0)
    }

    /// Returns the divisor of `leaf`, or `None` if the table holds means.
    pub(crate) fn total(&self, leaf: usize) -> Option<f64> {
        self.totals.as_ref().map(|totals| totals[leaf])
    }

    /// Returns the range of the cells that `leaf` does not share with others.
    pub(crate) fn range(&self, leaf: usize) -> Range<usize> {
        match &self.layout {
            Layout::Dense => leaf * self.width..(leaf + 1) * self.width,
            Layout::Sparse { ptr, .. } | Layout::Rows { ptr, .. } => ptr[leaf] as usize..ptr[leaf + 1] as usize,
            Layout::Inherited(records) => records.range(leaf),
        }
    }
}

/// A column index of either width.
trait ColumnIndex: Copy {
    fn column(self) -> usize;
}

impl ColumnIndex for u16 {
    fn column(self) -> usize {
        self.into()
    }
}

impl ColumnIndex for u32 {
    fn column(self) -> usize {
        self as usize
    }
}

fn add_dense<A: Copy + Into<f64>>(amounts: &[A], total: Option<f64>, row: &mut [f64]) {
    match total {
        Some(total) => row.iter_mut().zip(amounts).for_each(|(sum, &a)| *sum += a.into() / total),
        None => row.iter_mut().zip(amounts).for_each(|(sum, &a)| *sum += a.into()),
    }
}

fn add_each_dense<A: Copy + Into<f64>>(
    amounts: &[A],
    totals: Option<&[f64]>,
    leaves: impl Iterator<Item = usize>,
    width: usize,
    rows: &mut [f64],
) {
    for (leaf, row) in leaves.zip(rows.chunks_exact_mut(width)) {
        add_dense(&amounts[leaf * width..(leaf + 1) * width], totals.map(|totals| totals[leaf]), row);
    }
}

fn add_sparse<C: ColumnIndex, A: Copy + Into<f64>>(columns: &[C], amounts: &[A], total: Option<f64>, row: &mut [f64]) {
    let cells = columns.iter().zip(amounts);
    match total {
        Some(total) => cells.for_each(|(&c, &a)| row[c.column()] += a.into() / total),
        None => cells.for_each(|(&c, &a)| row[c.column()] += a.into()),
    }
}

fn visit_sparse<C: ColumnIndex, A: Copy + Into<f64>>(
    columns: &[C],
    amounts: &[A],
    total: Option<f64>,
    mut each: impl FnMut(u32, f64),
) {
    let total = total.unwrap_or(1.0);
    for (&column, &amount) in columns.iter().zip(amounts) {
        let amount: f64 = amount.into();
        if amount != 0.0 {
            each(column.column() as u32, amount / total);
        }
    }
}

/// Returns whether the dense layout of so many leaves and columns takes no more bytes than the sparse one of so many
/// amounts.
pub(crate) fn is_dense_smaller(
    of_amount: usize,
    of_column: usize,
    (n_leaves, width): (usize, usize),
    n_stored: usize,
) -> bool {
    let dense_bytes = of_amount as u128 * n_leaves as u128 * width as u128;
    let sparse_bytes = (of_amount + of_column) * n_stored + size_of::<u32>() * (n_leaves + 1);
    dense_bytes <= sparse_bytes as u128
}

/// Collects the leaves of a tree in pre-order. It only holds stored cells.
#[derive(Debug)]
pub(crate) struct LeafTableBuilder {
    width: usize,
    /// The end of each leaf's cells, after a leading zero. The ends wrap beyond `u32::MAX` cells, which `finish`
    /// rejects.
    ptr: Vec<u32>,
    columns: Indices,
    amounts: Amounts,
    totals: Vec<f64>,
    scales: Option<Vec<f64>>,
    /// The scales of leaves of 8-bit amounts.
    leaf_scales: Vec<f64>,
}

impl LeafTableBuilder {
    pub(crate) fn new(width: usize) -> Self {
        LeafTableBuilder {
            width,
            ptr: vec![0],
            columns: Indices::for_width(width),
            amounts: Amounts::U8(Vec::new()),
            totals: Vec::new(),
            scales: None,
            leaf_scales: Vec::new(),
        }
    }

    /// Creates a builder for leaves of means, of which only the values of some columns are given.
    pub(crate) fn of_means(width: usize) -> Self {
        LeafTableBuilder::of_floats(width, Amounts::F64(Vec::new()), None)
    }

    /// Creates a builder for leaves of numbers. `amounts` must be empty and not of unsigned integers. The numbers are
    /// divided by the scales of their columns.
    fn of_floats(width: usize, amounts: Amounts, scales: Option<Vec<f64>>) -> Self {
        LeafTableBuilder { amounts, scales, ..LeafTableBuilder::new(width) }
    }

    /// Adds the next leaf, as the numbers of some columns in strictly increasing order. The builder must be one of
    /// [`LeafTableBuilder::of_floats`].
    pub(crate) fn push_rounded(&mut self, cells: impl Iterator<Item = (u32, f64)>) -> Result<()> {
        for (column, value) in cells {
            self.columns.push(column)?;
            self.amounts.push_rounded(self.scales.as_ref().map_or(value, |scales| value / scales[column as usize]))?;
        }
        self.push_end()
    }

    /// Adds the next leaf, as counts: columns in strictly increasing order with their positive units, and the units of
    /// the whole leaf.
    pub(crate) fn push_counts(&mut self, cells: &[(u32, u64)], total_units: u64) -> Result<()> {
        debug_assert!(cells.windows(2).all(|w| w[0].0 < w[1].0));
        debug_assert!(cells.iter().all(|&(c, units)| (c as usize) < self.width && units > 0));
        for &(column, units) in cells {
            self.columns.push(column)?;
            self.amounts.push(units)?;
        }
        PURPOSE.push(&mut self.totals, total_units as f64)?;
        self.push_end()
    }

    /// Adds the next leaf, as the means of all columns. A table holds either counts or means.
    pub(crate) fn push_means(&mut self, means: &[f64]) -> Result<()> {
        debug_assert!(means.len() == self.width && self.totals.is_empty());
        if self.ptr.len() == 1 {
            self.amounts = Amounts::F64(Vec::new());
        }
        for (column, &mean) in means.iter().enumerate().filter(|(_, mean)| **mean != 0.0) {
            self.columns.push(column as u32)?;
            self.amounts.push_rounded(mean)?;
        }
        self.push_end()
    }

    /// Ends the current leaf.
    fn push_end(&mut self) -> Result<()> {
        PURPOSE.push(&mut self.ptr, self.amounts.len() as u32)
    }

    /// Returns the table, in the layout that takes fewer bytes.
    ///
    /// # Errors
    /// [`ErrorKind::TooMany`] beyond 2³² − 1 stored cells, [`ErrorKind::OutOfMemory`].
    pub(crate) fn finish(mut self) -> Result<LeafTable> {
        let n_stored = self.amounts.len();
        let limit = u32::MAX as usize;
        if n_stored > limit {
            return Err(ErrorKind::TooMany { what: "values in the leaves of a tree", limit }.into());
        }
        let n_leaves = self.ptr.len() - 1;
        let amount = self.amounts.item_bytes();
        let is_dense = is_dense_smaller(amount, self.columns.item_bytes(), (n_leaves, self.width), n_stored);
        let totals = (self.totals.len() == n_leaves && n_leaves > 0).then_some(self.totals);
        let scales = self.scales;
        let leaf_scales = matches!(self.amounts, Amounts::I8(_)).then_some(self.leaf_scales);
        if !is_dense {
            self.amounts.shrink();
            self.columns.shrink();
            self.ptr.shrink_to_fit();
            let layout = Layout::Sparse { ptr: self.ptr, columns: self.columns };
            return Ok(LeafTable {
                n_leaves,
                width: self.width,
                layout,
                amounts: self.amounts,
                totals,
                scales,
                leaf_scales,
            });
        }
        let mut leaf_of = PURPOSE.filled(0u32, n_stored)?;
        for (leaf, ends) in self.ptr.windows(2).enumerate() {
            leaf_of[ends[0] as usize..ends[1] as usize].fill(leaf as u32);
        }
        let place = |cell: usize| leaf_of[cell] as usize * self.width + self.columns.at(cell) as usize;
        let amounts = self.amounts.spread(n_leaves * self.width, place)?;
        Ok(LeafTable { n_leaves, width: self.width, layout: Layout::Dense, amounts, totals, scales, leaf_scales })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dense_rows(table: &LeafTable) -> Vec<Vec<f64>> {
        (0..table.n_leaves())
            .map(|leaf| {
                let mut row = vec![0.0; table.width()];
                table.add_to(leaf, &mut row);
                let mut by_value = vec![0.0; table.width()];
                table.value(leaf).for_each(|(c, v)| by_value[c as usize] = v);
                assert_eq!(row, by_value);
                row
            })
            .collect()
    }

    #[test]
    fn counts_are_exact_quotients_in_both_layouts() {
        let mut dense = LeafTableBuilder::new(3);
        dense.push_counts(&[(0, 1), (2, 2)], 3).unwrap();
        dense.push_counts(&[(1, 7)], 7).unwrap();
        let dense = dense.finish().unwrap();
        assert!(!dense.is_sparse());
        assert_eq!(dense_rows(&dense), [[1.0 / 3.0, 0.0, 2.0 / 3.0], [0.0, 1.0, 0.0]]);

        let mut sparse = LeafTableBuilder::new(1000);
        sparse.push_counts(&[(0, 1), (999, 2)], 3).unwrap();
        sparse.push_counts(&[], 5).unwrap();
        sparse.push_counts(&[(500, 5)], 5).unwrap();
        let sparse = sparse.finish().unwrap();
        assert!(sparse.is_sparse());
        assert_eq!((sparse.n_stored(), sparse.n_bytes()), (3, 3 * 3 + 4 * 4 + 3 * 8));
        let rows = dense_rows(&sparse);
        assert_eq!((rows[0][999], rows[2][500]), (2.0 / 3.0, 1.0));
        assert!(rows[1].iter().all(|&v| v == 0.0));
    }

    #[test]
    fn amounts_and_columns_are_as_narrow_as_they_can_be() {
        let narrow = |units: u64| {
            let mut b = LeafTableBuilder::new(1);
            b.push_counts(&[(0, 1)], 1).unwrap();
            b.push_counts(&[(0, units)], units).unwrap();
            let table = b.finish().unwrap();
            assert_eq!((table.amounts.at(0), table.amounts.at(1)), (1.0, units as f64));
            table.amounts.item_bytes()
        };
        assert_eq!([narrow(255), narrow(256), narrow(65535), narrow(65536)], [1, 2, 2, 4]);
        assert_eq!([narrow(u32::MAX.into()), narrow(1 << 32), narrow(1 << 51)], [4, 8, 8]);
        for (width, bytes) in [(65536, 2), (65537, 4)] {
            let mut b = LeafTableBuilder::new(width);
            b.push_counts(&[(width as u32 - 1, 1)], 1).unwrap();
            let table = b.finish().unwrap();
            let Layout::Sparse { columns, .. } = &table.layout else { panic!("sparse is smaller") };
            assert_eq!(columns.item_bytes(), bytes);
            assert_eq!(table.value(0).collect::<Vec<_>>(), [(width as u32 - 1, 1.0)]);
        }
    }

    #[test]
    fn means_are_kept_as_they_are() {
        let mut b = LeafTableBuilder::new(2);
        b.push_means(&[0.1, -3.0]).unwrap();
        b.push_means(&[0.0, 1e-300]).unwrap();
        let table = b.finish().unwrap();
        assert!(table.totals.is_none());
        assert_eq!(dense_rows(&table), [[0.1, -3.0], [0.0, 1e-300]]);

        let mut b = LeafTableBuilder::new(100);
        let mut means = vec![0.0; 100];
        means[7] = -2.5;
        b.push_means(&means).unwrap();
        let table = b.finish().unwrap();
        assert!(table.is_sparse());
        assert_eq!(dense_rows(&table), [means]);
    }
}
