//! Weights of leaves times their values: many leaves at a time, feature by feature.
//!
//! Sums of one feature, a number for each output, stay in the nearest cache while all leaves of a batch are added to them.
//! For each sum leaves come in their order, so that batches cannot be seen.

use super::{Eight, LANES, LeafColumns, PURPOSE};
use crate::error::Result;

/// Pairs of a leaf and a feature in a batch: some hundreds for each feature, and no more than the second cache holds.
const PAIRS: usize = 1 << 15;
/// Pairs of one feature whose weights stay in the first cache while all outputs are added.
const AT_ONCE: usize = 128;
/// Outputs whose sums are in registers.
const TILE: usize = 4;

/// Leaves whose values are still to be added.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// Place of the feature and number of the leaf in the batch.
    pairs: Vec<(u32, u32)>,
    weights: Vec<Eight>,
    /// Columns and values of leaves, one leaf after the other, which end at `ends`: where few are stored.
    cells: Vec<(u32, f64)>,
    ends: Vec<usize>,
    /// A row of values for each leaf, where all are stored.
    rows: Vec<f64>,
    n_leaves: usize,
    /// By place: how many pairs it has, then where its next one goes. Zero between batches.
    next: Vec<u32>,
    places: Vec<u32>,
    /// Weights and leaves, place by place.
    sorted: Vec<Eight>,
    leaves: Vec<u32>,
}

impl Batch {
    pub(crate) fn prepare(&mut self, n_places: usize) -> Result<()> {
        PURPOSE.resize(&mut self.next, n_places, 0)
    }

    /// Reads the values of a leaf, of which there are `width`; whether some are not zero. Its pairs come next.
    #[inline(always)]
    pub(crate) fn read(&mut self, leaves: &LeafColumns<'_>, leaf: usize, width: usize) -> Result<bool> {
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

    /// Notes the weight that the leaf read last has for a feature.
    #[inline(always)]
    pub(crate) fn push(&mut self, place: u32, weight: Eight) -> Result<()> {
        let next = &mut self.next[place as usize];
        if *next == 0 {
            PURPOSE.push(&mut self.places, place)?;
        }
        *next += 1;
        PURPOSE.push(&mut self.pairs, (place, self.n_leaves as u32 - 1))?;
        PURPOSE.push(&mut self.weights, weight)
    }

    #[inline(always)]
    pub(crate) fn is_full(&self) -> bool {
        self.pairs.len() >= PAIRS
    }

    /// Adds all pairs to sums, of which the place of a feature has `width`, and forgets them.
    #[inline(always)]
    pub(crate) fn flush(&mut self, found: &mut [Eight], width: usize) -> Result<()> {
        let mut first = 0;
        for &place in &self.places {
            first += std::mem::replace(&mut self.next[place as usize], first);
        }
        self.sorted.clear();
        PURPOSE.extend(&mut self.sorted, self.pairs.iter().map(|_| Eight::default()))?;
        self.leaves.clear();
        PURPOSE.extend(&mut self.leaves, self.pairs.iter().map(|_| 0))?;
        for (&(place, leaf), weight) in self.pairs.iter().zip(&self.weights) {
            let at = &mut self.next[place as usize];
            (self.sorted[*at as usize], self.leaves[*at as usize]) = (*weight, leaf);
            *at += 1;
        }
        let mut first = 0;
        for &place in &self.places {
            let end = std::mem::take(&mut self.next[place as usize]) as usize;
            let (weights, leaves) = (&self.sorted[first..end], &self.leaves[first..end]);
            let found = &mut found[place as usize * width..][..width];
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
        self.places.clear();
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
