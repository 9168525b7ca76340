//! The centroids of a tree: what the samples of each node have in common, as a few features with weights.

use super::codes::Codes;
use super::config::CentroidPrecision;
use super::gaps::GapLists;
use super::vectors::Vectors;
use crate::elementary::Squared;
use crate::error::{ErrorKind, Purpose, Result};

const PURPOSE: Purpose = Purpose("the centroids of a tree");

/// How the length of a centroid is treated.
#[derive(Clone, Copy, Debug)]
pub(super) enum Length {
    One,
    AsItIs,
}

/// The centroids of all nodes: node i has the entries `ptr[i]..ptr[i + 1]`, with increasing features; the root has
/// none. Weights are not zero.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Centroids {
    pub(crate) ptr: Vec<u32>,
    /// The features of each node, as a list.
    pub(crate) features: GapLists,
    pub(crate) codes: Codes,
    /// A factor for each node, if weights are codes times a factor; otherwise empty.
    pub(crate) factors: Vec<f32>,
}

impl Centroids {
    pub(super) fn new(precision: CentroidPrecision) -> Self {
        let (features, codes) = (GapLists::default(), Codes::new(precision));
        Centroids { ptr: vec![0], features, codes, factors: Vec::new() }
    }

    /// Returns the number of stored weights.
    pub(crate) fn n_stored(&self) -> usize {
        self.ptr.last().map_or(0, |&end| end as usize)
    }

    /// Returns the number of stored weights of a node.
    pub(super) fn n_of(&self, node: usize) -> usize {
        (self.ptr[node + 1] - self.ptr[node]) as usize
    }

    pub(crate) fn n_bytes(&self) -> usize {
        4 * self.ptr.len() + self.features.n_bytes() + self.codes.n_bytes() + 4 * self.factors.len()
    }

    /// Calls `each` with the features and weights of the centroid of a node, with increasing features.
    #[inline(always)]
    pub(crate) fn try_for_each(&self, node: usize, mut each: impl FnMut(u32, f32) -> Result<()>) -> Result<()> {
        let entries = self.ptr[node] as usize..self.ptr[node + 1] as usize;
        let features = self.features.of(node, entries.len());
        match &self.codes {
            Codes::Nibble(codes) => {
                let factor = self.factors[node];
                features.zip(codes.of(entries)).try_for_each(|(feature, weight)| each(feature, weight * factor))
            }
            Codes::Byte(codes) => {
                let factor = self.factors[node];
                let mut entries = features.zip(&codes[entries]);
                entries.try_for_each(|(feature, &code)| each(feature, f32::from(code) * factor))
            }
            Codes::Half(codes) => {
                let mut entries = features.zip(&codes[entries]);
                entries.try_for_each(|(feature, &weight)| each(feature, f64::from(weight) as f32))
            }
        }
    }

    /// Returns the sum over the features, which are increasing, of their value times their weight in the centroid of a
    /// node. The time is that of a search for each feature.
    #[inline(always)]
    pub(super) fn product(&self, node: usize, features: &[u32], values: &[f32]) -> f32 {
        let start = self.ptr[node] as usize;
        let mut search = self.features.search(node, self.n_of(node));
        let mut product = 0.0;
        for (&feature, &value) in features.iter().zip(values) {
            if let Some(at) = search.position(feature) {
                product += value * self.weight(node, start + at);
            }
        }
        product
    }

    /// Returns the weight at a place among the entries of a node.
    #[inline(always)]
    fn weight(&self, node: usize, at: usize) -> f32 {
        match &self.codes {
            Codes::Nibble(codes) => codes.at(at) * self.factors[node],
            Codes::Byte(codes) => f32::from(codes[at]) * self.factors[node],
            Codes::Half(codes) => f64::from(codes[at]) as f32,
        }
    }

    /// Returns the features and weights of the centroid of a node.
    pub(super) fn of(&self, node: usize) -> Result<Vec<(u32, f32)>> {
        let mut entries = PURPOSE.with_capacity(self.n_of(node))?;
        self.try_for_each(node, |feature, weight| {
            entries.push((feature, weight));
            Ok(())
        })?;
        Ok(entries)
    }

    /// Appends a node without a centroid.
    pub(super) fn push_empty(&mut self) -> Result<()> {
        self.push(&mut Vec::new(), Length::AsItIs)
    }

    /// Appends the centroid of the next node: `entries`, with increasing features, normalised to length one or
    /// unchanged. Afterwards, `entries` contains those that are stored, with their stored weights.
    pub(super) fn push(&mut self, entries: &mut Vec<(u32, f64)>, length: Length) -> Result<()> {
        let largest = entries.iter().map(|(_, weight)| weight.abs()).fold(0.0, f64::max);
        let of_largest = self.codes.of_largest();
        let scale = match (of_largest, length) {
            (Some(_), _) => largest,
            (None, Length::AsItIs) => 1.0,
            // Entries are divided by the largest one first, so that squares neither overflow nor underflow.
            (None, Length::One) => {
                largest * entries.iter().map(|(_, weight)| (weight / largest).squared()).sum::<f64>().sqrt()
            }
        };
        entries.retain_mut(|(_, weight)| {
            *weight = self.codes.stored(*weight / scale);
            *weight != 0.0
        });
        self.features.push(entries.iter().map(|entry| entry.0))?;
        if let Some(of_largest) = of_largest {
            let squares: f64 = entries.iter().map(|entry| entry.1.squared()).sum();
            let factor = match length {
                _ if squares == 0.0 => 0.0,
                Length::One => 1.0 / squares.sqrt(),
                Length::AsItIs => largest / of_largest,
            };
            PURPOSE.push(&mut self.factors, factor as f32)?;
        }
        entries.iter().try_for_each(|&(_, stored)| self.codes.push(stored))?;
        self.push_end(self.n_stored() + entries.len())
    }

    /// Appends the centroid of node `node` of `others`, which must have the same type.
    pub(super) fn push_of(&mut self, others: &Centroids, node: usize) -> Result<()> {
        let range = others.ptr[node] as usize..others.ptr[node + 1] as usize;
        let end = self.n_stored() + range.len();
        self.features.push_of(&others.features, node)?;
        self.codes.push_of(&others.codes, range)?;
        if let Some(&factor) = others.factors.get(node) {
            PURPOSE.push(&mut self.factors, factor)?;
        }
        self.push_end(end)
    }

    /// Ends the current centroid, whose entries end at `end`.
    fn push_end(&mut self, end: usize) -> Result<()> {
        let limit = u32::MAX as usize;
        let end = u32::try_from(end);
        let end = end.map_err(|_| ErrorKind::TooMany { what: "weights in the centroids of a tree", limit })?;
        PURPOSE.push(&mut self.ptr, end)
    }

    /// Removes the nodes from `n_nodes` on.
    pub(super) fn truncate(&mut self, n_nodes: usize) {
        self.ptr.truncate(n_nodes + 1);
        self.factors.truncate(n_nodes);
        self.features.truncate(n_nodes);
        self.codes.truncate(self.n_stored());
    }

    /// Releases unused capacity.
    pub(super) fn shrink(&mut self) {
        self.ptr.shrink_to_fit();
        self.factors.shrink_to_fit();
        self.features.shrink();
        self.codes.shrink();
    }
}

/// Adds up X of samples.
#[derive(Debug)]
pub(super) struct RowSum {
    /// The sums, which are zero except for the features in `touched`.
    sums: Vec<f64>,
    is_touched: Vec<bool>,
    touched: Vec<u32>,
    entries: Vec<(u32, f64)>,
}

impl RowSum {
    pub(super) fn new(n_features: usize) -> Result<Self> {
        Ok(RowSum {
            sums: PURPOSE.filled(0.0, n_features)?,
            is_touched: PURPOSE.filled(false, n_features)?,
            touched: Vec::new(),
            entries: Vec::new(),
        })
    }

    pub(super) fn add(&mut self, x: &Vectors, row: u32, weight: f64) -> Result<()> {
        let (features, values) = x.of(row);
        for (&feature, &value) in features.iter().zip(values) {
            let at = feature as usize;
            if !self.is_touched[at] {
                self.is_touched[at] = true;
                PURPOSE.push(&mut self.touched, feature)?;
            }
            self.sums[at] += weight * f64::from(value);
        }
        Ok(())
    }

    /// Returns the entries of the sum that `keep` selects, with increasing features, and resets the sum.
    pub(super) fn take(&mut self, keep: &Keep<'_>) -> Result<&mut Vec<(u32, f64)>> {
        self.entries.clear();
        for feature in self.touched.drain(..) {
            let sum = std::mem::take(&mut self.sums[feature as usize]);
            self.is_touched[feature as usize] = false;
            if sum != 0.0 && keep.features.is_none_or(|kept| kept[feature as usize]) {
                PURPOSE.push(&mut self.entries, (feature, sum))?;
            }
        }
        keep.apply(&mut self.entries);
        Ok(&mut self.entries)
    }
}

/// Which entries centroids keep.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keep<'a> {
    /// Whether the tree may use each feature; `None` for all.
    pub(super) features: Option<&'a [bool]>,
    /// Maximum number of entries: those with the largest magnitudes are kept; of equal ones, the first features.
    pub(super) most: Option<usize>,
    /// Entries below this share of the largest magnitude are dropped.
    pub(super) least: f64,
}

impl Keep<'_> {
    /// Removes the entries that are not kept; the others have increasing features.
    pub(super) fn apply(&self, entries: &mut Vec<(u32, f64)>) {
        if let Some(most) = self.most.filter(|&most| most < entries.len()) {
            let largest_first = |a: &(u32, f64), b: &(u32, f64)| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0));
            entries.select_nth_unstable_by(most - 1, largest_first);
            entries.truncate(most);
        }
        if self.least > 0.0 {
            let largest = entries.iter().map(|(_, weight)| weight.abs()).fold(0.0, f64::max);
            entries.retain(|(_, weight)| weight.abs() >= self.least * largest);
        }
        entries.sort_unstable_by_key(|entry| entry.0);
    }
}
