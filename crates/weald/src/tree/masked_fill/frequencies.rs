//! The leaves for classes and labels with unknown cells: frequencies, from weights in units.
//!
//! A tile of columns is computed at a time, so that a pass over the nodes reads and writes whole lines of the cache, and
//! the columns of a tile are added and divided together.

use super::records::{Leaves, Shared};
use super::{Nodes, PURPOSE, Tables};
use crate::control::Control;
use crate::data::known::bits::KnownBits;
use crate::data::known::masked::MaskedSlots;
use crate::error::{ErrorKind, Result};
use crate::tree::LeafTable;
use crate::tree::leaves::{Indices, Layout, is_dense_smaller};
use crate::vectorised::vectorised;

/// The number of columns of a tile, a number for each of which a node has.
const TILE: usize = 8;
type Lanes = [f64; TILE];

/// Computes the tables.
pub(super) fn frequencies(
    nodes: &Nodes<'_>,
    y: &MaskedSlots<'_>,
    units: impl Fn(u32) -> u64,
    control: &Control,
) -> Result<Tables> {
    let (n_nodes, width) = (nodes.len(), y.width());
    // The outputs of labels are their slots.
    let bits = y.bits().filter(|_| y.n_class_outputs().is_none());
    let known = Known::new(nodes, y, &units, bits)?;
    let mut counts = PURPOSE.filled([0.0; TILE], n_nodes)?;
    let mut weights = PURPOSE.filled([0.0; TILE], n_nodes)?;
    let tiles = Tiles::new(nodes.leaves.len(), width)?;
    let mut table = match y.n_class_outputs() {
        None => Leaves::Both(Shared::new(nodes, width)?, tiles),
        // The frequencies of the classes of an output are read together.
        Some(_) => Leaves::Apart(tiles),
    };
    let mut of_parents =
        nodes.shrinkage.is_some().then(|| Tiles::new(nodes.leaf_parents().len(), width)).transpose()?;
    for first in (0..width).step_by(TILE) {
        control.check()?;
        let columns = first..width.min(first + TILE);
        counts.fill([0.0; TILE]);
        weights.fill([0.0; TILE]);
        for (lane, slot) in columns.clone().enumerate() {
            known.of_slots.of(slot as u32).for_each(|(leaf, units)| counts[leaf as usize][lane] += units as f64);
        }
        match bits {
            Some(bits) => add_bits(nodes, bits, &units, first, &mut weights),
            None => known.add_listed(nodes, columns.clone().map(|slot| y.output(slot as u32)), &mut weights),
        }
        let mut above = [0.0; TILE];
        above.iter_mut().zip(&y.means()[columns]).for_each(|(above, mean)| *above = *mean);
        vectorised(
            #[inline(always)]
            || to_values(nodes, &mut counts, &mut weights, above),
        );
        if let Some(tiles) = &mut of_parents {
            tiles.push(nodes.leaf_parents().iter().map(|&node| counts[node as usize]))?;
        }
        if let Some(shared) = table.shared() {
            for lane in 0..TILE.min(width - first) {
                shared.push(nodes, |node| counts[node][lane], |node| weights[node][lane] > 0.0)?;
            }
        }
        if let Some(tiles) = table.apart() {
            tiles.push(nodes.leaves.iter().map(|&leaf| counts[leaf as usize]))?;
        }
        table = table.decided(nodes, |tiles| tiles.values.len());
    }
    let leaves = match table {
        Leaves::Both(_, tiles) | Leaves::Apart(tiles) => tiles.into_table()?,
        Leaves::Shared(shared) => shared.into_table(nodes)?,
    };
    Ok(Tables { leaves, parents: of_parents.map(Tiles::into_table).transpose()? })
}

/// Sums over the nodes, from the leaves up, and replaces the counts by the values of the nodes, from the root down: the
/// frequency among the known cells, or else the value of the node above.
#[inline(always)]
fn to_values(nodes: &Nodes<'_>, counts: &mut [Lanes], weights: &mut [Lanes], of_all: Lanes) {
    for (i, &parent) in nodes.parents.iter().enumerate().skip(1).rev() {
        let parent = parent as usize;
        for lane in 0..TILE {
            counts[parent][lane] += counts[i][lane];
            weights[parent][lane] += weights[i][lane];
        }
    }
    for (i, weights) in weights.iter().enumerate() {
        let above = if i == 0 { of_all } else { counts[nodes.parents[i] as usize] };
        for lane in 0..TILE {
            let frequency = counts[i][lane] / weights[lane];
            counts[i][lane] = if weights[lane] > 0.0 { frequency } else { above[lane] };
        }
        let Some(shrinkage) = nodes.shrinkage.as_ref().filter(|_| nodes.is_leaf(i)) else { continue };
        for lane in (0..TILE).filter(|&lane| weights[lane] > 0.0) {
            counts[i][lane] = shrinkage.shrunk(i, weights[lane], counts[i][lane], above[lane]);
        }
    }
}

/// Adds the units of the known cells of leaves, in a tile of labels.
fn add_bits(nodes: &Nodes<'_>, bits: &KnownBits, units: impl Fn(u32) -> u64, first: usize, weights: &mut [Lanes]) {
    vectorised(
        #[inline(always)]
        || {
            for &leaf in &nodes.leaves {
                let weights = &mut weights[leaf as usize];
                for &row in nodes.rows(leaf as usize) {
                    let (known, units) = ((bits.of_row(row)[first / 64] >> (first % 64)) as u32, units(row) as f64);
                    for (lane, weight) in (0u32..).zip(weights.iter_mut()) {
                        *weight += units * f64::from(known >> lane & 1);
                    }
                }
            }
        },
    );
}

/// The units of leaves: pairs (node of the leaf, units), one column after the other.
#[derive(Debug)]
struct Known {
    of_slots: ByColumn,
    /// A correction to `mostly` for each output; empty if there are bits of known cells.
    of_outputs: ByColumn,
    /// The units of samples of which the majority of outputs is known, by node.
    mostly: Vec<i64>,
}

impl Known {
    fn new(
        nodes: &Nodes<'_>,
        y: &MaskedSlots<'_>,
        units: &impl Fn(u32) -> u64,
        bits: Option<&KnownBits>,
    ) -> Result<Self> {
        let mut known = Known {
            of_slots: ByColumn::new(y.width())?,
            of_outputs: ByColumn::new(y.known().n_outputs())?,
            mostly: PURPOSE.filled(0i64, nodes.len())?,
        };
        for count in [true, false] {
            for &leaf in &nodes.leaves {
                for &row in nodes.rows(leaf as usize) {
                    let (is_mostly, listed) = y.known().of(row);
                    let listed = if bits.is_some() { &[] } else { listed };
                    if count {
                        known.of_slots.count(y.of(row));
                        known.of_outputs.count(listed);
                        continue;
                    }
                    let units = units(row) as i64;
                    known.mostly[leaf as usize] += if is_mostly { units } else { 0 };
                    known.of_slots.put(y.of(row), leaf, units);
                    known.of_outputs.put(listed, leaf, if is_mostly { -units } else { units });
                }
            }
            if count {
                known.of_slots.make_room()?;
                known.of_outputs.make_room()?;
            }
        }
        Ok(known)
    }

    /// Adds the units of the known cells of leaves, in a tile of these outputs.
    fn add_listed(&self, nodes: &Nodes<'_>, outputs: impl Iterator<Item = u32>, weights: &mut [Lanes]) {
        for &leaf in &nodes.leaves {
            weights[leaf as usize] = [self.mostly[leaf as usize] as f64; TILE];
        }
        for (lane, output) in outputs.enumerate() {
            let listed = self.of_outputs.of(output);
            listed.for_each(|(leaf, units)| weights[leaf as usize][lane] += units as f64);
        }
    }
}

/// The values of leaves, one tile after the other.
#[derive(Debug)]
struct Tiles {
    width: usize,
    /// The number of values of each leaf that are not zero.
    sizes: Vec<u32>,
    /// For each tile and leaf, a bit for each column, which is set if its value is not zero.
    are_set: Vec<u8>,
    /// These values.
    values: Vec<f64>,
}

impl Tiles {
    fn new(n_leaves: usize, width: usize) -> Result<Self> {
        let are_set = PURPOSE.with_capacity(n_leaves.saturating_mul(width.div_ceil(TILE)))?;
        Ok(Tiles { width, sizes: PURPOSE.filled(0, n_leaves)?, are_set, values: Vec::new() })
    }

    /// Adds the next tile.
    fn push(&mut self, of_leaves: impl Iterator<Item = Lanes>) -> Result<()> {
        PURPOSE.reserve(&mut self.values, TILE * self.sizes.len())?;
        for (lanes, size) in of_leaves.zip(&mut self.sizes) {
            let mut are_set = 0;
            for (lane, value) in lanes.into_iter().enumerate().filter(|(_, value)| *value != 0.0) {
                are_set |= 1u8 << lane;
                self.values.push(value);
            }
            self.are_set.push(are_set);
            *size += are_set.count_ones();
        }
        Ok(())
    }

    /// Visits the values that are not zero, as leaf, column and value. The columns of a leaf increase.
    fn visit(&self, mut visit: impl FnMut(usize, usize, f64)) {
        let mut values = self.values.iter();
        for (tile, are_set) in self.are_set.chunks_exact(self.sizes.len().max(1)).enumerate() {
            for (leaf, &are_set) in are_set.iter().enumerate() {
                let mut left = are_set;
                while left != 0 {
                    let value = values.next().copied().unwrap_or_default();
                    visit(leaf, tile * TILE + left.trailing_zeros() as usize, value);
                    left &= left - 1;
                }
            }
        }
    }

    fn into_table(self) -> Result<LeafTable> {
        let (n_leaves, width, n_stored) = (self.sizes.len(), self.width, self.values.len());
        let limit = u32::MAX as usize;
        if n_stored > limit {
            return Err(ErrorKind::TooMany { what: "values in the leaves of a tree", limit }.into());
        }
        let indices = Indices::for_width(width);
        if is_dense_smaller(size_of::<f64>(), indices.item_bytes(), (n_leaves, width), n_stored) {
            let mut amounts = PURPOSE.filled(0.0, n_leaves * width)?;
            self.visit(|leaf, column, value| amounts[leaf * width + column] = value);
            return Ok(LeafTable::of_means(n_leaves, width, Layout::Dense, amounts));
        }
        let mut ptr = PURPOSE.with_capacity(n_leaves + 1)?;
        let mut end = 0;
        ptr.push(end);
        for &size in &self.sizes {
            end += size;
            ptr.push(end);
        }
        let mut next = PURPOSE.copied(&ptr)?;
        let mut amounts = PURPOSE.filled(0.0, n_stored)?;
        let mut place = |leaf: usize| {
            next[leaf] += 1;
            next[leaf] as usize - 1
        };
        let columns = match indices {
            Indices::U16(_) => {
                let mut columns = PURPOSE.filled(0u16, n_stored)?;
                self.visit(|leaf, column, value| {
                    let at = place(leaf);
                    (columns[at], amounts[at]) = (column as u16, value);
                });
                Indices::U16(columns)
            }
            Indices::U32(_) => {
                let mut columns = PURPOSE.filled(0u32, n_stored)?;
                self.visit(|leaf, column, value| {
                    let at = place(leaf);
                    (columns[at], amounts[at]) = (column as u32, value);
                });
                Indices::U32(columns)
            }
        };
        Ok(LeafTable::of_means(n_leaves, width, Layout::Sparse { ptr, columns }, amounts))
    }
}

/// The units of leaves, one column after the other. Cells are first counted and then stored.
#[derive(Debug)]
struct ByColumn {
    /// Before the cells are stored, the start of each column; afterwards, its end.
    ends: Vec<usize>,
    starts: Vec<usize>,
    cells: Vec<(u32, i64)>,
}

impl ByColumn {
    fn new(n_columns: usize) -> Result<Self> {
        Ok(ByColumn { ends: PURPOSE.filled(0, n_columns)?, starts: Vec::new(), cells: Vec::new() })
    }

    fn count(&mut self, columns: &[u32]) {
        columns.iter().for_each(|&column| self.ends[column as usize] += 1);
    }

    fn make_room(&mut self) -> Result<()> {
        let mut n_cells = 0;
        for end in &mut self.ends {
            n_cells += std::mem::replace(end, n_cells);
        }
        PURPOSE.extend(&mut self.starts, self.ends.iter().copied())?;
        self.cells = PURPOSE.filled((0, 0), n_cells)?;
        Ok(())
    }

    fn put(&mut self, columns: &[u32], leaf: u32, units: i64) {
        for &column in columns {
            let end = &mut self.ends[column as usize];
            self.cells[*end] = (leaf, units);
            *end += 1;
        }
    }

    fn of(&self, column: u32) -> impl Iterator<Item = (u32, i64)> + '_ {
        self.cells[self.starts[column as usize]..self.ends[column as usize]].iter().copied()
    }
}
