//! Copies of dense columns that contain only the samples of a node, for the nodes below it.
//!
//! The values of a small node are spread over the columns of X, so that each costs a line of the cache, again in every
//! node on the way down. A node of few samples that is about to be split therefore gets columns of its own, which fit
//! into the fast caches together.

use std::ops::Range;

use super::permutation::split_stably;
use crate::data::DenseColumns;
use crate::error::{Purpose, Result};

/// The maximum number of copied values, which are 256 KiB. It is small in tests, which have few samples.
const MOST_VALUES: usize = if cfg!(test) { 1 << 8 } else { 1 << 16 };

/// Nodes with fewer samples are not copied.
const FEWEST: usize = 16;

const PURPOSE: Purpose = Purpose("the columns of a node");

/// The columns of the node that was copied last.
///
/// Invariant: sample `order[i]` of the partitioner, for `i` in `samples`, is `rows[places[i - samples.start]]`, and its
/// value of feature j is `values[j * rows.len() + place]`.
#[derive(Debug)]
pub(super) struct CopiedColumns {
    samples: Range<u32>,
    /// The maximum number of samples of a node that is copied.
    most: usize,
    rows: Vec<u32>,
    places: Vec<u32>,
    scratch: Vec<u32>,
    values: Vec<f32>,
    /// The number of values that were copied, and of those that nodes have read from copies.
    n_copied: usize,
    n_read: usize,
}

impl CopiedColumns {
    /// `n_samples` is the number of samples of the tree.
    pub(super) fn new(n_samples: usize, n_features: usize) -> Result<Self> {
        let most = (MOST_VALUES / n_features.max(1)).min(n_samples);
        Ok(CopiedColumns {
            samples: 0..0,
            most,
            rows: PURPOSE.with_capacity(most)?,
            places: PURPOSE.with_capacity(most)?,
            scratch: PURPOSE.with_capacity(most)?,
            values: PURPOSE.with_capacity(most * n_features)?,
            n_copied: 0,
            n_read: 0,
        })
    }

    /// Returns whether a node is inside the node that was copied last.
    #[inline]
    pub(super) fn hold(&self, node: &Range<u32>) -> bool {
        self.samples.start <= node.start && node.end <= self.samples.end
    }

    /// Copies the columns of a node that is about to be split, which is not inside the last one, if this pays: nodes
    /// read only the features that they draw, and nodes that are not split depth-first leave their copies early.
    pub(super) fn copy(&mut self, node: &Range<u32>, rows: &[u32], x: &DenseColumns<'_>) {
        let n_values = rows.len() * x.n_features();
        let is_small = (FEWEST..=self.most).contains(&rows.len());
        if !is_small || self.n_copied > self.n_read + MOST_VALUES {
            return;
        }
        self.n_copied += n_values;
        self.samples = node.clone();
        self.rows.clear();
        self.rows.extend_from_slice(rows);
        self.places.clear();
        self.places.extend(0..rows.len() as u32);
        self.scratch.resize(rows.len().max(self.scratch.len()), 0);
        self.values.clear();
        for feature in 0..x.n_features() as u32 {
            let column = x.column(feature);
            self.values.extend(rows.iter().map(|&row| column[row as usize]));
        }
    }

    /// Returns the places, in the copied columns, of the samples of a node.
    pub(super) fn places(&self, node: &Range<u32>) -> &[u32] {
        &self.places[(node.start - self.samples.start) as usize..(node.end - self.samples.start) as usize]
    }

    pub(super) fn column(&self, feature: u32) -> &[f32] {
        &self.values[feature as usize * self.rows.len()..][..self.rows.len()]
    }

    /// Counts the values that a node reads.
    pub(super) fn count(&mut self, n_values: usize) {
        self.n_read += n_values;
    }

    /// Moves the samples that go right behind the others. Returns the number of the others, and all samples in their
    /// new order.
    pub(super) fn split(
        &mut self,
        node: &Range<u32>,
        feature: u32,
        goes_right: impl Fn(f32) -> bool,
    ) -> (usize, impl Iterator<Item = u32>) {
        let column = &self.values[feature as usize * self.rows.len()..][..self.rows.len()];
        let start = self.samples.start;
        let places = &mut self.places[(node.start - start) as usize..(node.end - start) as usize];
        let n_left = split_stably(places, &mut self.scratch, |place| goes_right(column[place as usize]));
        (n_left, places.iter().map(|&place| self.rows[place as usize]))
    }
}
