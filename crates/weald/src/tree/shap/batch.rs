//! Weights of leaves times their values: of many outputs many leaves at a time, feature by feature.
//!
//! A *cell* is a feature, or a pair of features, of a group of rows, with a sum for each output. Those of one cell stay in
//! the nearest cache while all leaves of a batch are added to them. For each sum leaves come in their order, so that
//! batches cannot be seen.

use super::{Eight, LANES, LeafColumns, PURPOSE};
use crate::error::Result;

/// Pairs of a leaf and a feature in a batch: some hundreds for each feature, and no more than the second cache holds.
const PAIRS: usize = 1 << 15;
/// Pairs of one feature whose weights stay in the first cache while all outputs are added.
const AT_ONCE: usize = 128;
/// Outputs whose sums are in registers.
const TILE: usize = 4;

/// Where values of leaves go: of a cell and of its output o to number cell · `stride` + `first` + o.
#[derive(Debug)]
pub(crate) struct To<'s> {
    pub(crate) sums: &'s mut [Eight],
    pub(crate) stride: usize,
    pub(crate) first: usize,
}

/// Adds the values of leaves, times weights.
#[derive(Debug)]
pub(crate) struct LeafSums<'a> {
    pub(crate) leaves: LeafColumns<'a>,
    /// A row of values for each leaf where outputs are few; else empty.
    pub(crate) table: &'a [f64],
    /// That of the leaf read last.
    pub(crate) row: &'a [f64],
    /// Leaves whose values are still to be added, where outputs are many.
    pub(crate) batch: &'a mut Batch,
    pub(crate) to: To<'a>,
}

impl LeafSums<'_> {
    /// Reads the values of a leaf; whether some are not zero. Its cells come next.
    #[inline(always)]
    pub(crate) fn read(&mut self, leaf: usize) -> Result<bool> {
        if self.table.is_empty() {
            return self.batch.read(&self.leaves, leaf, self.to.stride);
        }
        let n_outputs = self.table.len() / self.leaves.tree.n_leaves();
        self.row = &self.table[leaf * n_outputs..][..n_outputs];
        Ok(true)
    }

    /// Adds them to a cell.
    #[inline(always)]
    pub(crate) fn add(&mut self, cell: usize, weight: &Eight) -> Result<()> {
        if self.table.is_empty() {
            return self.batch.push(cell as u32, *weight);
        }
        let sums = &mut self.to.sums[cell * self.to.stride + self.to.first..];
        sums.iter_mut().zip(self.row).for_each(|(sum, value)| add(sum, weight, *value));
        Ok(())
    }

    /// Adds what is still to be added if that is much, or at the end.
    #[inline(always)]
    pub(crate) fn flush(&mut self, is_end: bool) -> Result<()> {
        if is_end || self.batch.pairs.len() >= PAIRS {
            self.batch.flush(self.to.sums, self.to.stride)?;
        }
        Ok(())
    }
}

/// Leaves whose values are still to be added.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// The cell and the number of the leaf in the batch.
    pairs: Vec<(u32, u32)>,
    weights: Vec<Eight>,
    /// Columns and values of leaves, one leaf after the other, which end at `ends`: where few are stored.
    cells: Vec<(u32, f64)>,
    ends: Vec<usize>,
    /// A row of values for each leaf, where all are stored.
    rows: Vec<f64>,
    n_leaves: usize,
    /// By cell: how many pairs it has, then where its next one goes. Zero between batches.
    next: Vec<u32>,
    cells_met: Vec<u32>,
    /// Weights and leaves, cell by cell.
    sorted: Vec<Eight>,
    leaves: Vec<u32>,
}

impl Batch {
    pub(crate) fn prepare(&mut self, n_cells: usize) -> Result<()> {
        PURPOSE.resize(&mut self.next, n_cells, 0)
    }

    #[inline(always)]
    fn read(&mut self, leaves: &LeafColumns<'_>, leaf: usize, width: usize) -> Result<bool> {
        if leaves.are_dense() {
            let first = self.rows.len();
            PURPOSE.resize(&mut self.rows, first + width, 0.0)?;
            let row = &mut self.rows[first..];
            leaves.visit(leaf, |column, value| row[column as usize] = value);
        } else {
            let before = self.cells.len();
            let cells = &mut self.cells;
            let mut pushed = Ok(());
            leaves.visit(leaf, |column, value| {
                if pushed.is_ok() {
                    pushed = PURPOSE.push(cells, (column, value));
                }
            });
            pushed?;
            if self.cells.len() == before {
                return Ok(false);
            }
            PURPOSE.push(&mut self.ends, self.cells.len())?;
        }
        self.n_leaves += 1;
        Ok(true)
    }

    /// Notes the weight that the leaf read last has for a cell.
    #[inline(always)]
    fn push(&mut self, cell: u32, weight: Eight) -> Result<()> {
        let next = &mut self.next[cell as usize];
        if *next == 0 {
            PURPOSE.push(&mut self.cells_met, cell)?;
        }
        *next += 1;
        PURPOSE.push(&mut self.pairs, (cell, self.n_leaves as u32 - 1))?;
        PURPOSE.push(&mut self.weights, weight)
    }

    /// Adds all pairs to sums, of which a cell has `width`, and forgets them.
    #[inline(always)]
    fn flush(&mut self, found: &mut [Eight], width: usize) -> Result<()> {
        let mut first = 0;
        for &cell in &self.cells_met {
            first += std::mem::replace(&mut self.next[cell as usize], first);
        }
        self.sorted.clear();
        PURPOSE.extend(&mut self.sorted, self.pairs.iter().map(|_| Eight::default()))?;
        self.leaves.clear();
        PURPOSE.extend(&mut self.leaves, self.pairs.iter().map(|_| 0))?;
        for (&(cell, leaf), weight) in self.pairs.iter().zip(&self.weights) {
            let at = &mut self.next[cell as usize];
            (self.sorted[*at as usize], self.leaves[*at as usize]) = (*weight, leaf);
            *at += 1;
        }
        let mut first = 0;
        for &cell in &self.cells_met {
            let end = std::mem::take(&mut self.next[cell as usize]) as usize;
            let (weights, leaves) = (&self.sorted[first..end], &self.leaves[first..end]);
            let found = &mut found[cell as usize * width..][..width];
            if self.rows.is_empty() {
                for (weight, &leaf) in weights.iter().zip(leaves) {
                    let first = leaf.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
                    for &(column, value) in &self.cells[first..self.ends[leaf as usize]] {
                        add(&mut found[column as usize], weight, value);
                    }
                }
            } else {
                for (weights, leaves) in weights.chunks(AT_ONCE).zip(leaves.chunks(AT_ONCE)) {
                    add_rows(weights, leaves, &self.rows, found);
                }
            }
            first = end;
        }
        self.pairs.clear();
        self.weights.clear();
        self.cells_met.clear();
        self.cells.clear();
        self.ends.clear();
        self.rows.clear();
        self.n_leaves = 0;
        Ok(())
    }
}

#[inline(always)]
fn add(sum: &mut Eight, weight: &Eight, value: f64) {
    for lane in 0..LANES {
        sum.0[lane] += weight.0[lane] * value;
    }
}

/// Adds the rows of some leaves, times their weights.
#[inline(always)]
fn add_rows(weights: &[Eight], leaves: &[u32], rows: &[f64], found: &mut [Eight]) {
    let width = found.len();
    for (t, tile) in found.chunks_mut(TILE).enumerate() {
        if let Ok(tile) = <&mut [Eight; TILE]>::try_from(&mut *tile) {
            let mut sums = *tile;
            for (weight, &leaf) in weights.iter().zip(leaves) {
                let values = &rows[leaf as usize * width + t * TILE..][..TILE];
                for (sum, value) in sums.iter_mut().zip(values) {
                    add(sum, weight, *value);
                }
            }
            *tile = sums;
        } else {
            for (weight, &leaf) in weights.iter().zip(leaves) {
                let values = &rows[leaf as usize * width + t * TILE..];
                tile.iter_mut().zip(values).for_each(|(sum, value)| add(sum, weight, *value));
            }
        }
    }
}
