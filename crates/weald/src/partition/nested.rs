//! Columns that contain only the samples of a node, for the nodes below it.
//!
//! A column is stored for all samples, and reading it to find the few samples of a small node is most of the work in
//! deep trees. Therefore, a node that is [`SHRINKAGE`] times smaller than the last one for which this was done, and is
//! about to be split, gets columns of its own, which are gathered from its rows. They are called a *level*. Levels are
//! nested like the nodes on a path. Each entry is copied once for every factor of [`SHRINKAGE`] between root and leaf.
//! Features that no sample of the node stores have no column: they are zero in all nodes below it.

use std::ops::Range;

use super::permutation::Permutation;
use super::stored_column::StoredColumn;
use super::{Entry, Span};
use crate::data::SparseColumns;
use crate::error::{Purpose, Result};

/// A node gets a level if its number of samples is less than that of the last level divided by this.
const SHRINKAGE: u32 = 4;

/// Nodes with fewer samples get no level, because their rows can be read faster.
const FEWEST: u32 = 16;

/// The maximum number of columns for each feature that a node draws. If a node examines fewer features, copying all
/// columns does not pay.
const MOST_PER_DRAWN: usize = 64;

const PURPOSE: Purpose = Purpose("the columns of a node");

/// The columns, and the levels that contain the node visited last.
#[derive(Debug)]
pub(super) struct NestedColumns<'a> {
    x: &'a SparseColumns<'a>,
    /// The levels, each inside the previous one.
    levels: Vec<Level>,
    /// Levels that can be reused.
    spare: Vec<Level>,
}

/// The columns of one node.
#[derive(Debug)]
struct Level {
    samples: Range<u32>,
    /// The start and the end of each feature's column, which is empty if no sample of the node stores the feature.
    columns: Vec<(u32, u32)>,
    /// The features that have a column.
    features: Vec<u32>,
    /// The entries, column by column, with samples in increasing order. The vector never shrinks; entries left over
    /// from larger nodes are ignored.
    entries: Vec<Entry>,
}

impl<'a> NestedColumns<'a> {
    pub(super) fn new(x: &'a SparseColumns<'a>) -> Self {
        NestedColumns { x, levels: Vec::new(), spare: Vec::new() }
    }

    /// Drops the levels that do not contain the node.
    #[inline]
    pub(super) fn leave(&mut self, span: &Span) {
        let Range { start, end } = span.samples;
        while self.levels.last().is_some_and(|l| start < l.samples.start || l.samples.end < end) {
            self.spare.extend(self.levels.pop());
        }
    }

    /// Adds a level for the node, which must be inside the last one. Its samples are in increasing order.
    pub(super) fn cut(&mut self, span: &Span, samples: &Permutation) {
        let n_features = self.x.by_column.n_major();
        let level = self.spare.pop().map_or_else(|| Level::new(n_features), Ok);
        let rows = samples.rows(span.samples.clone());
        // A level affects only speed, so none is added if there is not enough memory.
        self.levels.extend(level.and_then(|level| level.gather(span, rows, self.x)));
    }

    /// Returns whether a node with `n` samples inside the last level, which is about to be split, should get columns of
    /// its own, if nodes draw `n_drawn` features.
    pub(super) fn are_worth_cutting(&self, n: u32, n_drawn: u32) -> bool {
        let draws_many = n_drawn as usize >= self.x.by_column.n_major() / MOST_PER_DRAWN;
        n >= FEWEST && n < self.n_samples() / SHRINKAGE && draws_many
    }

    /// Returns the mean number of stored entries of a sample.
    pub(super) fn per_row(&self) -> f64 {
        self.x.by_column.values().len() as f64 / self.x.by_column.n_minor() as f64
    }

    /// Returns the number of samples over which the columns extend.
    #[inline]
    pub(super) fn n_samples(&self) -> u32 {
        self.levels.last().map_or(self.x.by_column.n_minor() as u32, |l| l.samples.end - l.samples.start)
    }

    /// Returns whether the columns are those of all samples.
    #[inline]
    pub(super) fn are_whole(&self) -> bool {
        self.levels.is_empty()
    }

    /// Returns a column, which contains the entries of the node.
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

    /// Resets the state to that before the first node.
    #[cfg(feature = "bench-internals")]
    pub(super) fn clear(&mut self) {
        self.spare.append(&mut self.levels);
    }
}

impl Level {
    fn new(n_features: usize) -> Result<Self> {
        let columns = PURPOSE.filled((0, 0), n_features)?;
        Ok(Level { samples: 0..0, columns, features: PURPOSE.with_capacity(n_features)?, entries: Vec::new() })
    }

    /// Reads the node's rows twice, in O(stored entries of these rows) time.
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
            self.entries = PURPOSE.filled(Entry::default(), next as usize)?;
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
