//! One fitted tree of centroids.

use std::ops::{Add, Range};

use super::centroids::Centroids;
use super::parents::Parents;
use super::route::{Router, greatest};
use super::vectors::Vectors;
use crate::control::Control;
use crate::error::{
    Error, ErrorKind, Result, try_collected, try_extend, try_filled, try_push, try_resize, try_with_capacity,
};
use crate::loss::exponentials::exp;
use crate::tree::LeafTable;

const WHAT: &str = "the nodes of a tree";

/// A tree whose nodes send a sample to the child with the nearest centroid. Immutable.
///
/// Nodes are numbered level by level, so that the children of a node follow one another, those of more weight in
/// clusters first. Leaves are numbered among themselves, in the same order, and name the rows of the [`LeafTable`].
#[derive(Clone, Debug, PartialEq)]
pub struct CentroidTree {
    /// Children of node i are the nodes `starts[i]..starts[i + 1]`: none of leaves.
    pub(crate) starts: Vec<u32>,
    pub(crate) centroids: Centroids,
    /// Distinct samples of positive weight in each node.
    pub(crate) n_node_samples: Vec<u32>,
    /// Total weight in each node.
    pub(crate) weighted_n_node_samples: Vec<f64>,
    pub(crate) leaves: LeafTable,
    /// The row of each node in the table, 0 of nodes that are no leaves: follows from `starts`.
    pub(crate) leaf_of: Vec<u32>,
    /// Where leaves are shrunk to their parents.
    pub(crate) parents: Option<Parents>,
}

/// A feature and its weight in a centroid.
pub type FeatureWeight = (u32, f32);

impl CentroidTree {
    /// Number of nodes, leaves included.
    pub fn n_nodes(&self) -> usize {
        self.n_node_samples.len()
    }

    /// Number of leaves.
    pub fn n_leaves(&self) -> usize {
        self.leaves.n_leaves()
    }

    /// Values of the leaves.
    pub fn leaves(&self) -> &LeafTable {
        &self.leaves
    }

    /// The children of a node; none of a leaf.
    ///
    /// # Panics
    /// When there is no such node.
    pub fn children(&self, node: usize) -> Range<usize> {
        self.starts[node] as usize..self.starts[node + 1] as usize
    }

    /// The first child of each node, and the number of nodes at the end: children of node i are the nodes from
    /// element i to element i + 1.
    pub fn children_start(&self) -> &[u32] {
        &self.starts
    }

    /// Distinct samples of positive weight in each node.
    pub fn n_node_samples(&self) -> &[u32] {
        &self.n_node_samples
    }

    /// Total weight in each node.
    pub fn weighted_n_node_samples(&self) -> &[f64] {
        &self.weighted_n_node_samples
    }

    /// Number of splits above each node.
    ///
    /// # Errors
    /// [`crate::ErrorKind::OutOfMemory`].
    pub fn depth(&self) -> Result<Vec<u32>> {
        let mut depth = try_filled(WHAT, 0, self.n_nodes())?;
        for node in 0..self.n_nodes() {
            let below = depth[node] + 1;
            depth[self.children(node)].fill(below);
        }
        Ok(depth)
    }

    /// Features and weights of a node's centroid, features rising: nothing at the root.
    ///
    /// # Errors
    /// [`crate::ErrorKind::OutOfMemory`], [`crate::ErrorKind::Invalid`] where there is no such node.
    pub fn centroid(&self, node: usize) -> Result<Vec<FeatureWeight>> {
        self.check_node(node)?;
        self.centroids.of(node)
    }

    fn check_node(&self, node: usize) -> Result<()> {
        if node >= self.n_nodes() {
            return Err(Error::invalid("node", node, "be a node of the tree"));
        }
        Ok(())
    }

    /// The `k` features of largest weight of each child of a node: weight descending, then feature ascending.
    ///
    /// # Errors
    /// [`crate::ErrorKind::OutOfMemory`], [`crate::ErrorKind::Invalid`] where there is no such node.
    pub fn heaviest_features(&self, node: usize, k: usize) -> Result<Vec<Vec<FeatureWeight>>> {
        self.check_node(node)?;
        let mut of_children = try_with_capacity(WHAT, self.children(node).len())?;
        for child in self.children(node) {
            let mut entries = self.centroids.of(child)?;
            entries.sort_unstable_by(|a: &FeatureWeight, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            entries.truncate(k);
            of_children.push(entries);
        }
        Ok(of_children)
    }

    /// Bytes of memory that the tree holds; stored rows of y are shared by all trees and do not count.
    pub fn n_bytes(&self) -> usize {
        let of_parents = self.parents.as_ref().map_or(0, Parents::n_bytes);
        self.centroids.n_bytes() + self.leaves.n_bytes() + of_parents + 20 * self.n_nodes()
    }

    /// Nodes that are leaves, in the order of the rows of the table.
    pub(crate) fn leaf_nodes(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.n_nodes()).filter(|&node| self.children(node).is_empty())
    }

    /// Nodes that have a leaf among their children.
    pub(crate) fn parent_nodes(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.n_nodes()).filter(|&node| self.children(node).any(|child| self.children(child).is_empty()))
    }

    /// Values of the leaves, and of their parents where these are asked for.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &LeafTable> + '_ {
        std::iter::once(&self.leaves).chain(self.parents.as_ref().map(Parents::table))
    }

    /// The weights of some nodes.
    pub(crate) fn weights_of(&self, nodes: impl Iterator<Item = usize>) -> Result<Vec<f64>> {
        let mut weights = Vec::new();
        for node in nodes {
            try_push(WHAT, &mut weights, self.weighted_n_node_samples[node])?;
        }
        Ok(weights)
    }

    /// Fills the nodes among `values` that are no leaves with the sums of their children.
    pub(crate) fn sum_up<T: Copy + Default + Add<Output = T>>(starts: &[u32], values: &mut [T]) {
        for node in (0..values.len()).rev() {
            let children = starts[node] as usize..starts[node + 1] as usize;
            if !children.is_empty() {
                values[node] = values[children].iter().fold(T::default(), |sum, &value| sum + value);
            }
        }
    }

    /// The rows of nodes in the table of leaves.
    pub(crate) fn number_leaves(starts: &[u32]) -> Result<Vec<u32>> {
        let mut n_leaves = 0;
        let number = |range: &[u32]| {
            let is_leaf = range[0] == range[1];
            n_leaves += u32::from(is_leaf);
            if is_leaf { n_leaves - 1 } else { 0 }
        };
        try_collected(WHAT, starts.windows(2).map(number))
    }

    /// Nodes of the leaves that some rows reach: of row i to `out[i * stride]`. O(entries × children) a level.
    pub(super) fn walk(
        &self,
        x: &Vectors,
        rows: Range<usize>,
        walker: &mut Walker,
        out: &mut [u32],
        stride: usize,
        control: &Control,
    ) -> Result<()> {
        let Walker { router, order, sorted, child_of, ranges, .. } = walker;
        order.clear();
        order.extend(rows.clone().map(|row| row as u32));
        try_resize(WHAT, sorted, order.len(), 0)?;
        // Rows of node i are order[ranges[i]]: children of a node share its range among them.
        ranges.clear();
        try_resize(WHAT, ranges, self.n_nodes(), (0, 0))?;
        ranges[0] = (0, order.len() as u32);
        for node in 0..self.n_nodes() {
            let (start, end) = ranges[node];
            let (own, children) = (start as usize..end as usize, self.children(node));
            if own.is_empty() {
                continue;
            }
            if children.is_empty() {
                order[own].iter().for_each(|&row| out[(row as usize - rows.start) * stride] = node as u32);
                continue;
            }
            control.check()?;
            child_of.clear();
            router.route(x, &order[own.clone()], &self.centroids, children.clone(), |products| {
                child_of.push(greatest(products));
            })?;
            let ends = &mut ranges[children];
            share(child_of, &mut order[own.clone()], &mut sorted[own], ends, start);
        }
        Ok(())
    }
}

/// A leaf that counts for a row of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hit {
    /// Place of the row in the block.
    pub(super) at: u32,
    pub(super) leaf: u32,
    pub(super) share: f32,
}

/// Which children a row goes on to.
#[derive(Clone, Copy, Debug)]
struct Choice {
    first: u32,
    second: u32,
    /// What the second child has of the row: zero where it goes to the first alone.
    of_second: f32,
}

impl Choice {
    fn new(products: &[f32], share: f32, sharpness: f32, least: f32) -> Self {
        let first = greatest(products);
        let mut second = (f32::NEG_INFINITY, first);
        for (&product, child) in products.iter().zip(0..) {
            if product > second.0 && child != first {
                second = (product, child);
            }
        }
        let apart = f64::from(sharpness) * f64::from(products[first as usize] - second.0);
        // Of equals the first has all: rows without features go where they went when the tree was grown.
        if apart <= 0.0 || apart.is_nan() {
            return Choice { first, second: first, of_second: 0.0 };
        }
        let odds = exp(-apart);
        let of_second = share * (odds / (1.0 + odds)) as f32;
        Choice { first, second: second.1, of_second: if of_second < least { 0.0 } else { of_second } }
    }
}

impl CentroidTree {
    /// Appends the leaves that some rows reach where rows are shared by children, leaf after leaf.
    pub(super) fn walk_shared(
        &self,
        x: &Vectors,
        rows: Range<usize>,
        (sharpness, least): (f32, f32),
        walker: &mut Walker,
        hits: &mut Vec<Hit>,
        control: &Control,
    ) -> Result<()> {
        let Walker { router, order, shares, choices, ranges, .. } = walker;
        // Rows of node i, and what it has of each, are order[ranges[i]] and shares[ranges[i]]: those of children are
        // appended.
        order.clear();
        shares.clear();
        try_extend(WHAT, order, rows.clone().map(|row| row as u32))?;
        try_resize(WHAT, shares, order.len(), 1.0)?;
        ranges.clear();
        try_resize(WHAT, ranges, self.n_nodes(), (0, 0))?;
        ranges[0] = (0, order.len() as u32);
        for node in 0..self.n_nodes() {
            let (start, end) = (ranges[node].0 as usize, ranges[node].1 as usize);
            let children = self.children(node);
            if start == end {
                continue;
            }
            if children.is_empty() {
                let leaf = self.leaf_of[node];
                let hit = |(&row, &share): (&u32, &f32)| Hit { at: row - rows.start as u32, leaf, share };
                try_extend(WHAT, hits, order[start..end].iter().zip(&shares[start..end]).map(hit))?;
                continue;
            }
            control.check()?;
            choices.clear();
            let mut of_rows = shares[start..end].iter();
            router.route(x, &order[start..end], &self.centroids, children.clone(), |products| {
                let share = *of_rows.next().expect("a share for each row");
                choices.push(Choice::new(products, share, sharpness, least));
            })?;
            append(choices, start, order, shares, &mut ranges[children])?;
        }
        Ok(())
    }
}

/// Appends the rows from `start` on, of which `choices` tells where they go, to those of the children, whose ranges
/// it writes.
fn append(
    choices: &[Choice],
    start: usize,
    order: &mut Vec<u32>,
    shares: &mut Vec<f32>,
    ranges: &mut [(u32, u32)],
) -> Result<()> {
    ranges.fill((0, 0));
    for choice in choices {
        ranges[choice.first as usize].1 += 1;
        ranges[choice.second as usize].1 += u32::from(choice.of_second > 0.0);
    }
    let limit = u32::MAX as usize;
    let too_many = || ErrorKind::TooMany { what: "rows in all nodes of a tree", limit };
    let mut next = u32::try_from(order.len()).map_err(|_| too_many())?;
    for range in ranges.iter_mut() {
        let n = range.1;
        *range = (next, next);
        next = next.checked_add(n).ok_or_else(too_many)?;
    }
    try_resize(WHAT, order, next as usize, 0)?;
    try_resize(WHAT, shares, next as usize, 0.0)?;
    for (at, choice) in (start..).zip(choices) {
        let (row, share) = (order[at], shares[at]);
        let mut go_to = |child: u32, share: f32| {
            let end = &mut ranges[child as usize].1;
            order[*end as usize] = row;
            shares[*end as usize] = share;
            *end += 1;
        };
        go_to(choice.first, share - choice.of_second);
        if choice.of_second > 0.0 {
            go_to(choice.second, choice.of_second);
        }
    }
    Ok(())
}

/// Moves rows together that go to the same child, in the order that they have: `ranges` become those of the children,
/// from `start` on.
pub(super) fn share(child_of: &[u32], order: &mut [u32], sorted: &mut [u32], ranges: &mut [(u32, u32)], start: u32) {
    ranges.fill((0, 0));
    child_of.iter().for_each(|&child| ranges[child as usize].1 += 1);
    let mut next = start;
    for range in ranges.iter_mut() {
        let n = range.1;
        *range = (next, next);
        next += n;
    }
    for (&row, &child) in order.iter().zip(child_of) {
        let end = &mut ranges[child as usize].1;
        sorted[(*end - start) as usize] = row;
        *end += 1;
    }
    order.copy_from_slice(sorted);
}

/// What one thread walks rows with.
#[derive(Debug)]
pub(super) struct Walker {
    router: Router,
    order: Vec<u32>,
    sorted: Vec<u32>,
    child_of: Vec<u32>,
    ranges: Vec<(u32, u32)>,
    shares: Vec<f32>,
    choices: Vec<Choice>,
}

impl Walker {
    pub(super) fn new(n_features: usize, n_rows: usize) -> Result<Self> {
        Ok(Walker {
            router: Router::new(n_features)?,
            order: try_with_capacity(WHAT, n_rows)?,
            sorted: try_with_capacity(WHAT, n_rows)?,
            child_of: try_with_capacity(WHAT, n_rows)?,
            ranges: Vec::new(),
            shares: Vec::new(),
            choices: Vec::new(),
        })
    }
}
