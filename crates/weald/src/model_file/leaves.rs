//! Reading leaves, which do not depend on the splits above them. Each table is checked before it is returned.

use std::ops::Range;

use safetensors::Dtype;

use super::amounts::{counts, in_bytes, means, scales};
use super::codec::tensors;
use super::frequencies::{Sums, sums};
use super::lengths::{NUMBERS, WHOLE};
use super::read::{File, with_whole};
use super::rows::{Packed, RowLists, RowTensors};
use super::{BYTES, COUNTS, HALF, INHERITED, PARTIAL, ROWS, SCALED, SINGLE, SPARSE};
use crate::data::Outputs;
use crate::error::{Error, Purpose, Result};
use crate::tree::LeafTable;
use crate::tree::leaves::{Amounts, Indices, Layout, Records};

const PURPOSE: Purpose = Purpose("the model");

tensors! {
    OF_LEAVES, Stored {
        leaf_layout: &[Dtype::U8],
        leaf_sizes: WHOLE,
        leaf_columns: WHOLE,
        leaf_amounts: NUMBERS,
    }
    optional {
        leaf_scales: NUMBERS,
        leaf_factors: NUMBERS,
        leaf_totals: NUMBERS,
        leaf_records: WHOLE,
        leaf_above: WHOLE,
    }
    others {
        n_node_samples: WHOLE,
        n_nodes: WHOLE,
        weights: NUMBERS,
    }
}

/// The parts of the tensors of leaves that later trees will read.
#[derive(Debug)]
pub(super) struct LeafTensors<'f> {
    of: Stored<'f>,
    rows: RowTensors<'f>,
}

impl<'f> LeafTensors<'f> {
    pub(super) fn new(file: &'f File<'_>, packed: &'f Packed<'_>) -> Result<Self> {
        Ok(LeafTensors { of: Stored::new(file)?, rows: RowTensors::new(file, packed)? })
    }

    pub(super) fn finish(&self) -> Result<()> {
        self.rows.finish()?;
        self.of.finish()
    }

    /// Reads the layout of the leaves of the next tree.
    pub(super) fn layout(&mut self) -> Result<u8> {
        let layout = self.of.leaf_layout.one()?;
        if layout.fract() != 0.0 || !(0.0..=f64::from(u8::MAX)).contains(&layout) || !is_known(layout as u8) {
            return Err(Error::corrupt(format!("leaf layout {layout} is unknown")));
        }
        Ok(layout as u8)
    }

    /// Reads the layout of the leaves of the next tree, whose leaves cannot share values.
    pub(super) fn layout_of_own_values(&mut self) -> Result<u8> {
        let layout = self.layout()?;
        if layout & INHERITED == INHERITED {
            return Err(Error::corrupt(format!("leaf layout {layout} is unknown for these trees")));
        }
        Ok(layout)
    }

    /// Reads the stored samples of the tree's leaves, if leaves refer to stored samples. `n_samples` is the number of
    /// samples of each leaf.
    pub(super) fn rows(
        &mut self,
        layout: u8,
        n_samples: impl ExactSizeIterator<Item = u32>,
    ) -> Result<Option<RowLists>> {
        if layout & INHERITED == ROWS { self.rows.next(n_samples).map(Some) } else { Ok(None) }
    }

    /// Reads the tree's leaves, which have these `weights`.
    pub(super) fn table(
        &mut self,
        layout: u8,
        lists: Option<RowLists>,
        weights: impl ExactSizeIterator<Item = f64>,
        outputs: &Outputs,
    ) -> Result<LeafTable> {
        let leaves = match lists {
            Some(lists) => rows_table(lists, layout)?,
            None => self.values(weights, outputs.width(), layout)?,
        };
        match (sums(&leaves, outputs), layout & PARTIAL != 0) {
            (Sums::One, false) | (Sums::Less, true) => Ok(leaves),
            (Sums::One, true) => Err(Error::corrupt("a tree is marked as lacking classes, but has all of them")),
            (Sums::Less, false) | (Sums::Wrong, _) => Err(Error::corrupt(
                "the frequencies of a leaf are not from 0 to 1, or those of classes do not sum to one",
            )),
        }
    }

    fn values(&mut self, weights: impl ExactSizeIterator<Item = f64>, width: usize, bits: u8) -> Result<LeafTable> {
        let n_leaves = weights.len();
        let totals = if bits & COUNTS == 0 { None } else { Some(self.totals(weights)?) };
        let (layout, n_cells) = if bits & SPARSE == 0 {
            let n_cells = n_leaves.checked_mul(width);
            (Layout::Dense, n_cells.ok_or_else(|| Error::corrupt("`leaf_amounts` is too short"))?)
        } else if bits & INHERITED == INHERITED {
            self.records(n_leaves, width)?
        } else {
            let (ptr, columns) = self.sparse_cells(n_leaves, width)?;
            let n_cells = ptr[n_leaves] as usize;
            (Layout::Sparse { ptr, columns }, n_cells)
        };
        let amounts = &mut self.of.leaf_amounts;
        let amounts = match totals {
            _ if bits & BYTES != 0 => in_bytes(amounts, n_cells)?,
            Some(_) => counts(amounts, n_cells)?,
            None => means(amounts, n_cells, bits)?,
        };
        let leaf_scales = if bits & BYTES == 0 { None } else { Some(scales(&mut self.of.leaf_factors, n_leaves)?) };
        let scales = if bits & SCALED == 0 { None } else { Some(scales(&mut self.of.leaf_scales, width)?) };
        let table = LeafTable { n_leaves, width, layout, amounts, totals, scales, leaf_scales };
        let is_scaled = table.scales.is_some() || table.leaf_scales.is_some();
        let are_finite = || match table.records() {
            Some(records) => records.values(&table).all(|(_, v)| v.is_finite()),
            None => (0..n_leaves).flat_map(|leaf| table.cells(leaf)).all(|(_, v)| v.is_finite()),
        };
        if is_scaled && !are_finite() {
            return Err(Error::corrupt("a value of a leaf is not finite"));
        }
        if table.totals.as_ref().is_some_and(|totals| !within(&table, totals)) {
            return Err(Error::corrupt("an amount of a leaf is above its total"));
        }
        Ok(table)
    }

    fn totals(&mut self, weights: impl ExactSizeIterator<Item = f64>) -> Result<Vec<f64>> {
        let totals = match &mut self.of.leaf_totals {
            Some(stored) => stored.collect(PURPOSE, weights.len(), |total| total)?,
            None => PURPOSE.collected(weights)?,
        };
        if totals.iter().fold(true, |all, &total| all & (total > 0.0) & (total < f64::INFINITY)) {
            Ok(totals)
        } else {
            Err(Error::corrupt("the total of a leaf is not positive and finite"))
        }
    }

    /// Reads the records of a tree whose leaves share values, and the number of their cells.
    fn records(&mut self, n_leaves: usize, width: usize) -> Result<(Layout, usize)> {
        let missing = || Error::corrupt("there is no `leaf_records` or `leaf_above`");
        let n_inner = self.of.leaf_records.as_mut().ok_or_else(missing)?.whole(PURPOSE, 1)?[0] as usize;
        if n_inner >= n_leaves {
            return Err(Error::corrupt("the leaves of a tree share values of more nodes than there are above"));
        }
        let n_records = n_leaves + n_inner;
        let above = self.of.leaf_above.as_mut().ok_or_else(missing)?.whole(PURPOSE, n_records)?;
        let mut of_inner = (0u32..).zip(&above[n_leaves..]);
        if above[..n_leaves].iter().any(|&at| at as usize > n_inner) || of_inner.any(|(i, &at)| at > i) {
            return Err(Error::corrupt("a leaf takes values from a node that is not above it"));
        }
        let (ptr, columns) = self.sparse_cells(n_records, width)?;
        let n_cells = ptr[n_records] as usize;
        Ok((Layout::Inherited(Records { ptr, columns, above }), n_cells))
    }

    fn sparse_cells(&mut self, n_leaves: usize, width: usize) -> Result<(Vec<u32>, Indices)> {
        let too_many = || Error::corrupt("the leaves of a tree have 2^32 cells or more");
        let ptr = self.of.leaf_sizes.offsets(n_leaves, 0u32, |end, size| end.checked_add(size).ok_or_else(too_many))?;
        let n_cells = ptr[n_leaves] as usize;
        self.of.leaf_columns.check(n_cells)?;
        let mut columns = Indices::for_width(width);
        columns.try_reserve(PURPOSE, n_cells)?;
        let mut most = 0;
        self.of.leaf_columns.pieces(n_cells, |piece| {
            most = most.max(with_whole!(piece, "leaf_columns", |columns| Ok(columns.fold(0, u32::max)))?);
            with_whole!(piece, "leaf_columns", |stored| {
                match &mut columns {
                    Indices::U16(v) => v.extend(stored.map(|column| column as u16)),
                    Indices::U32(v) => v.extend(stored),
                }
                Ok(())
            })
        })?;
        let rise = match &columns {
            Indices::U16(v) => rise(v, &ptr),
            Indices::U32(v) => rise(v, &ptr),
        };
        if !rise || (n_cells > 0 && most as usize >= width) {
            return Err(Error::corrupt("the columns of a leaf are out of range or not in increasing order"));
        }
        Ok((ptr, columns))
    }
}

/// Returns whether the columns of each leaf are strictly increasing: a column may be followed by a smaller or equal one
/// only at the end of a leaf.
fn rise<T: Copy + PartialOrd>(columns: &[T], ptr: &[u32]) -> bool {
    // The total number of such places is compared with the number at ends of leaves. Counting is faster than a test for
    // each leaf, because most leaves are short.
    let n_falls = columns.iter().zip(columns.iter().skip(1)).filter(|(a, b)| a >= b).count();
    let mut last = 0;
    let mut n_at_ends = 0;
    for end in ptr.iter().map(|&end| end as usize).filter(|&end| end < columns.len()) {
        if end > last {
            n_at_ends += usize::from(columns[end - 1] >= columns[end]);
            last = end;
        }
    }
    n_falls == n_at_ends
}

/// Returns whether no amount of a leaf is above its total.
fn within(table: &LeafTable, totals: &[f64]) -> bool {
    /// This many amounts are compared at once; most leaves do not have more cells. Amounts that belong to the next leaf
    /// are compared too, and masked afterwards.
    const AT_ONCE: usize = 32;

    fn within<T: Copy + PartialOrd + Into<f64>>(
        amounts: &[T],
        table: &LeafTable,
        totals: &[f64],
        cut: impl Fn(f64) -> T,
    ) -> bool {
        let mut any_above = false;
        for (leaf, &total) in totals.iter().enumerate() {
            let Range { start, end } = table.range(leaf);
            // Amounts are whole numbers, so they can be compared with the whole part of the total.
            let most = cut(total);
            let mut at = start;
            while at < end {
                let n = end - at;
                if let Some(next) = amounts[at..].first_chunk::<AT_ONCE>() {
                    let n = n.min(AT_ONCE) as u8;
                    let mut above = 0;
                    for (i, &amount) in next.iter().enumerate() {
                        above |= u8::from(amount > most) & u8::from((i as u8) < n);
                    }
                    any_above |= above != 0;
                } else {
                    any_above |= amounts[at..end].iter().take(AT_ONCE).any(|&amount| amount > most);
                }
                at += AT_ONCE;
            }
        }
        !any_above
    }
    match &table.amounts {
        // Conversions to narrow types saturate at the largest number of the type.
        Amounts::U8(v) => within(v, table, totals, |total| total as u8),
        Amounts::U16(v) => within(v, table, totals, |total| total as u16),
        Amounts::U32(v) => within(v, table, totals, |total| total as u32),
        // Leaves with totals have whole amounts, which are never of these types.
        Amounts::I8(_) | Amounts::F16(_) | Amounts::F32(_) => false,
        Amounts::F64(v) => within(v, table, totals, |total| total),
    }
}

/// Returns whether this layout of leaves exists.
fn is_known(layout: u8) -> bool {
    let type_bits = layout & (SINGLE | HALF | SCALED | BYTES);
    let no_type = layout & COUNTS != 0 || layout & INHERITED == ROWS;
    if layout & INHERITED == INHERITED && layout & (COUNTS | PARTIAL | BYTES) != 0 {
        return false;
    }
    (layout & BYTES == 0 || layout & !SPARSE == BYTES)
        && type_bits & (SINGLE | HALF) != SINGLE | HALF
        && type_bits != SCALED
        && (type_bits == 0 || !no_type)
}

fn rows_table(lists: RowLists, layout: u8) -> Result<LeafTable> {
    let RowLists { ptr, ids, units, stored } = lists;
    let table = LeafTable::of_rows(ptr, ids, units, stored)?;
    if table.totals.is_some() == (layout & COUNTS != 0) {
        Ok(table)
    } else {
        Err(Error::corrupt("the stored samples and the leaves are of different kinds"))
    }
}
