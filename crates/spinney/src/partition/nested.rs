//! Columns cut down to the rows of a node, for the nodes inside it.
//!
//! A column is stored for all rows, and walking it to find the few of a small node is most of the work in deep trees. So
//! a node that is [`SHRINKAGE`] times smaller than the last one for which this was done, and about to be split, gets columns
//! of its own, gathered from its rows: a *level*. Levels lie inside one another like the nodes on a path; each entry is
//! copied once for every factor of [`SHRINKAGE`] between root and leaf. Features that no row of the node stores have no
//! column: they are zero in all nodes inside it.

use std::ops::Range;

use super::permutation::Permutation;
use super::stored_column::StoredColumn;
use super::{Entry, Span};
use crate::data::SparseColumns;
use crate::error::{Result, try_filled, try_with_capacity};

/// A node of fewer samples than this share of those of the last level gets a level.
const SHRINKAGE: u32 = 4;

/// Nodes of fewer samples get none: their rows are quicker to walk.
const FEWEST: u32 = 16;

/// Columns that a node may have for each one it draws: where it looks at fewer, copying all does not pay.
const MOST_PER_DRAWN: usize = 64;

const WHAT: &str = "the columns of a node";

/// The columns, and the levels around the node visited last.
#[derive(Debug)]
pub(super) struct NestedColumns<'a> {
    x: &'a SparseColumns<'a>,
    /// Each inside the one before it.
    levels: Vec<Level>,
    /// To be used again.
    spare: Vec<Level>,
}

/// The columns of one node.
#[derive(Debug)]
struct Level {
    samples: Range<u32>,
    /// Where each feature's column starts and ends: nowhere if no row of the node stores it.
    columns: Vec<(u32, u32)>,
    /// Features that have a column.
    features: Vec<u32>,
    /// Column after column, rows rising. Never shrinks: what is left over from larger nodes is not looked at.
    entries: Vec<Entry>,
}

impl<'a> NestedColumns<'a> {
    pub(super) fn new(x: &'a SparseColumns<'a>) -> Self {
        NestedColumns { x, levels: Vec::new(), spare: Vec::new() }
    }

    /// Leaves the levels that are not around the node.
    #[inline]
    pub(super) fn leave(&mut self, span: &Span) {
        let Range { start, end } = span.samples;
        while self.levels.last().is_some_and(|l| start < l.samples.start || l.samples.end < end) {
            self.spare.extend(self.levels.pop());
        }
    }

    /// Adds a level for the node, which lies inside the last one and whose samples rise.
    pub(super) fn cut(&mut self, span: &Span, samples: &Permutation) {
        let n_features = self.x.by_column.n_major();
        let level = self.spare.pop().map_or_else(|| Level::new(n_features), Ok);
        let rows = samples.rows(span.samples.clone());
        // Only speed hangs on a level: where memory is short there is none.
        self.levels.extend(level.and_then(|level| level.gather(span, rows, self.x)));
    }

    /// Whether a node of `n` samples inside the last level, about to be split, should get columns of its own, where nodes
    /// draw `n_drawn` features.
    pub(super) fn are_worth_cutting(&self, n: u32, n_drawn: u32) -> bool {
        let draws_many = n_drawn as usize >= self.x.by_column.n_major() / MOST_PER_DRAWN;
        n >= FEWEST && n < self.n_samples() / SHRINKAGE && draws_many
    }

    /// Mean number of stored entries of a row.
    pub(super) fn per_row(&self) -> f64 {
        self.x.by_column.values().len() as f64 / self.x.by_column.n_minor() as f64
    }

    /// Samples over which the columns run.
    #[inline]
    pub(super) fn n_samples(&self) -> u32 {
        self.levels.last().map_or(self.x.by_column.n_minor() as u32, |l| l.samples.end - l.samples.start)
    }

    /// Whether the columns are those of all rows.
    #[inline]
    pub(super) fn are_whole(&self) -> bool {
        self.levels.is_empty()
    }

    /// A column: the entries of the node are among its own.
    #[inline]
    pub(super) fn column(&self, feature: u32) -> StoredColumn<'_> {
        match self.levels.last() {
            None => {
                let (rows, values) = self.x.by_column.slice(feature as usize);
                StoredColumn::Whole(rows, values)
            }
            Some(level) => {
                let (start, end) = level.columns[feature as usize];
                StoredColumn::Cut(&level.entries[start as usize..end as usize])
            }
        }
    }

    /// As if no node had been visited yet.
    #[cfg(feature = "bench-internals")]
    pub(super) fn clear(&mut self) {
        self.spare.append(&mut self.levels);
    }
}

impl Level {
    fn new(n_features: usize) -> Result<Self> {
        let columns = try_filled(WHAT, (0, 0), n_features)?;
        Ok(Level { samples: 0..0, columns, features: try_with_capacity(WHAT, n_features)?, entries: Vec::new() })
    }

    /// Two walks through the node's rows: O(their stored entries).
    fn gather(mut self, span: &Span, rows: &[u32], x: &SparseColumns<'_>) -> Result<Self> {
        self.samples = span.samples.clone();
        let (columns, features) = (&mut self.columns[..], &mut self.features);
        features.drain(..).for_each(|feature| columns[feature as usize] = (0, 0));
        for &row in rows {
            for &feature in x.by_row.slice(row as usize).0 {
                let n_entries = &mut columns[feature as usize].1;
                if *n_entries == 0 {
                    features.push(feature);
                }
                *n_entries += 1;
            }
        }
        let mut next = 0;
        for &feature in features.iter() {
            let column = &mut columns[feature as usize];
            let start = next;
            next += column.1;
            *column = (start, start);
        }
        if self.entries.len() < next as usize {
            self.entries = try_filled(WHAT, Entry::default(), next as usize)?;
        }
        let entries = &mut self.entries[..];
        for &row in rows {
            let (features, values) = x.by_row.slice(row as usize);
            for (&feature, &value) in features.iter().zip(values) {
                let end = &mut columns[feature as usize].1;
                entries[*end as usize] = Entry::new(value, row);
                *end += 1;
            }
        }
        Ok(self)
    }
}
