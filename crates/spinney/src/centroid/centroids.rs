//! The centroids of a tree: what each node's samples have in common, as a few features with weights.

use super::config::CentroidPrecision;
use super::vectors::Vectors;
use crate::error::{ErrorKind, Result, try_extend, try_filled, try_push};
use crate::tree::leaves::{Half, Indices};

const WHAT: &str = "the centroids of a tree";

/// Weights of features, as they are stored.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Codes {
    /// Times the factor of their node.
    Byte(Vec<i8>),
    Half(Vec<Half>),
}

/// What becomes of the length of a centroid.
#[derive(Clone, Copy, Debug)]
pub(super) enum Length {
    One,
    AsItIs,
}

/// The centroids of all nodes: node i has the entries `ptr[i]..ptr[i + 1]`, features rising; the root has none. Weights
/// are not zero.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Centroids {
    pub(crate) ptr: Vec<u32>,
    pub(crate) features: Indices,
    pub(crate) codes: Codes,
    /// Of each node where weights are bytes; else empty.
    pub(crate) factors: Vec<f32>,
}

impl Codes {
    fn len(&self) -> usize {
        match self {
            Codes::Byte(codes) => codes.len(),
            Codes::Half(codes) => codes.len(),
        }
    }
}

impl Centroids {
    pub(super) fn new(n_features: usize, precision: CentroidPrecision) -> Self {
        let codes = match precision {
            CentroidPrecision::Byte => Codes::Byte(Vec::new()),
            CentroidPrecision::Half => Codes::Half(Vec::new()),
        };
        Centroids { ptr: vec![0], features: Indices::for_width(n_features), codes, factors: Vec::new() }
    }

    /// Number of stored weights.
    pub(crate) fn n_stored(&self) -> usize {
        self.codes.len()
    }

    pub(crate) fn n_bytes(&self) -> usize {
        let index = match self.features {
            Indices::U16(_) => 2,
            Indices::U32(_) => 4,
        };
        let code = match self.codes {
            Codes::Byte(_) => 1,
            Codes::Half(_) => 2,
        };
        4 * self.ptr.len() + (index + code) * self.n_stored() + 4 * self.factors.len()
    }

    /// Features and weights of a node's centroid.
    #[inline(always)]
    pub(super) fn of(&self, node: usize) -> impl Iterator<Item = (u32, f32)> + '_ {
        let factor = self.factors.get(node).copied().unwrap_or(1.0);
        (self.ptr[node] as usize..self.ptr[node + 1] as usize)
            .map(move |at| (self.features.at(at), self.at(at, factor)))
    }

    #[inline(always)]
    fn at(&self, entry: usize, factor: f32) -> f32 {
        match &self.codes {
            Codes::Byte(codes) => f32::from(codes[entry]) * factor,
            Codes::Half(codes) => f64::from(codes[entry]) as f32,
        }
    }

    /// Appends a node without a centroid.
    pub(super) fn push_empty(&mut self) -> Result<()> {
        self.push(&[], Length::AsItIs)
    }

    /// Appends the centroid of the next node: `entries`, features rising, brought to length one or as they are.
    pub(super) fn push(&mut self, entries: &[(u32, f64)], length: Length) -> Result<()> {
        let largest = entries.iter().map(|(_, weight)| weight.abs()).fold(0.0, f64::max);
        match &mut self.codes {
            Codes::Byte(codes) => {
                let mut squares = 0u64;
                for &(feature, weight) in entries {
                    let code = (weight / largest * f64::from(i8::MAX)).round_ties_even() as i8;
                    if code != 0 {
                        squares += u64::from(code.unsigned_abs()).pow(2);
                        self.features.push(feature)?;
                        try_push(WHAT, codes, code)?;
                    }
                }
                let factor = match length {
                    _ if squares == 0 => 0.0,
                    Length::One => 1.0 / (squares as f64).sqrt(),
                    Length::AsItIs => largest / f64::from(i8::MAX),
                };
                try_push(WHAT, &mut self.factors, factor as f32)?;
            }
            Codes::Half(codes) => {
                let scale = match length {
                    // By the largest first: squares neither overflow nor vanish.
                    Length::One => largest * entries.iter().map(|(_, w)| (w / largest).powi(2)).sum::<f64>().sqrt(),
                    Length::AsItIs => 1.0,
                };
                for &(feature, weight) in entries {
                    let weight = Half::nearest((weight / scale).clamp(-Half::LARGEST, Half::LARGEST));
                    if f64::from(weight) != 0.0 {
                        self.features.push(feature)?;
                        try_push(WHAT, codes, weight)?;
                    }
                }
            }
        }
        self.push_end()
    }

    /// Appends the centroid of node `node` of others, of the same type.
    pub(super) fn push_of(&mut self, others: &Centroids, node: usize) -> Result<()> {
        let range = others.ptr[node] as usize..others.ptr[node + 1] as usize;
        range.clone().try_for_each(|at| self.features.push(others.features.at(at)))?;
        match (&mut self.codes, &others.codes) {
            (Codes::Byte(to), Codes::Byte(from)) => try_extend(WHAT, to, from[range].iter().copied())?,
            (Codes::Half(to), Codes::Half(from)) => try_extend(WHAT, to, from[range].iter().copied())?,
            (Codes::Byte(_) | Codes::Half(_), _) => unreachable!("the codes of a tree are of one type"),
        }
        if let Some(&factor) = others.factors.get(node) {
            try_push(WHAT, &mut self.factors, factor)?;
        }
        self.push_end()
    }

    /// The centroid under way has all its entries.
    fn push_end(&mut self) -> Result<()> {
        let limit = u32::MAX as usize;
        let end = u32::try_from(self.codes.len());
        let end = end.map_err(|_| ErrorKind::TooMany { what: "weights in the centroids of a tree", limit })?;
        try_push(WHAT, &mut self.ptr, end)
    }

    /// Forgets the nodes from `n_nodes` on.
    pub(super) fn truncate(&mut self, n_nodes: usize) {
        self.ptr.truncate(n_nodes + 1);
        self.factors.truncate(n_nodes);
        let end = self.ptr[n_nodes] as usize;
        self.features.truncate(end);
        match &mut self.codes {
            Codes::Byte(codes) => codes.truncate(end),
            Codes::Half(codes) => codes.truncate(end),
        }
    }

    /// Gives back what was reserved for more.
    pub(super) fn shrink(&mut self) {
        self.ptr.shrink_to_fit();
        self.factors.shrink_to_fit();
        self.features.shrink();
        match &mut self.codes {
            Codes::Byte(codes) => codes.shrink_to_fit(),
            Codes::Half(codes) => codes.shrink_to_fit(),
        }
    }
}

/// Adds up rows of X.
#[derive(Debug)]
pub(super) struct RowSum {
    /// Zero but for `touched`.
    sums: Vec<f64>,
    is_touched: Vec<bool>,
    touched: Vec<u32>,
    entries: Vec<(u32, f64)>,
}

impl RowSum {
    pub(super) fn new(n_features: usize) -> Result<Self> {
        Ok(RowSum {
            sums: try_filled(WHAT, 0.0, n_features)?,
            is_touched: try_filled(WHAT, false, n_features)?,
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
                try_push(WHAT, &mut self.touched, feature)?;
            }
            self.sums[at] += weight * f64::from(value);
        }
        Ok(())
    }

    /// The entries of the sum that `keep` has, features rising. Forgets the sum.
    pub(super) fn take(&mut self, keep: &Keep<'_>) -> Result<&[(u32, f64)]> {
        self.entries.clear();
        for feature in self.touched.drain(..) {
            let sum = std::mem::take(&mut self.sums[feature as usize]);
            self.is_touched[feature as usize] = false;
            if sum != 0.0 && keep.features.is_none_or(|kept| kept[feature as usize]) {
                try_push(WHAT, &mut self.entries, (feature, sum))?;
            }
        }
        keep.apply(&mut self.entries);
        Ok(&self.entries)
    }
}

/// Which entries centroids keep.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keep<'a> {
    /// Whether the tree has the feature; `None` for all.
    pub(super) features: Option<&'a [bool]>,
    /// So many of the largest magnitude; of equals the first features.
    pub(super) most: Option<usize>,
    /// Those from this share of the largest magnitude on.
    pub(super) least: f64,
}

impl Keep<'_> {
    /// Leaves those of largest magnitude, features rising.
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
