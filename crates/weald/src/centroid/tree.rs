//! One fitted tree of centroids.

use std::ops::{Add, Range};

use super::centroids::Centroids;
use super::parents::Parents;
use super::route::{Router, greatest};
use super::vectors::Vectors;
use crate::control::Control;
use crate::elementary::exp_of_negative;
use crate::error::{Error, ErrorKind, Purpose, Result};
use crate::tree::LeafTable;

const PURPOSE: Purpose = Purpose("the nodes of a tree");

/// A tree whose nodes send a sample to the child with the nearest centroid. It is immutable.
///
/// Nodes are numbered level by level, so that the children of a node are adjacent, in order of decreasing weight of
/// their clusters. Leaves are numbered separately, in the same order; leaf i is row i of the [`LeafTable`].
#[derive(Clone, Debug, PartialEq)]
pub struct CentroidTree {
    /// The children of node i are the nodes `starts[i]..starts[i + 1]`; a leaf has none.
    pub(crate) starts: Vec<u32>,
    pub(crate) centroids: Centroids,
    /// The number of distinct samples of positive weight in each node.
    pub(crate) n_node_samples: Vec<u32>,
    /// The total weight of the samples in each node.
    pub(crate) weighted_n_node_samples: Vec<f64>,
    pub(crate) leaves: LeafTable,
    /// The row of each node in the table of leaves, 0 for nodes that are not leaves. It follows from `starts`.
    pub(crate) leaf_of: Vec<u32>,
    /// The parents, if leaves are shrunk towards them.
    pub(crate) parents: Option<Parents>,
}

/// A feature and its weight in a centroid.
pub type FeatureWeight = (u32, f32);

impl CentroidTree {
    /// Returns the number of nodes, including leaves.
    pub fn n_nodes(&self) -> usize {
        self.n_node_samples.len()
    }

    /// Returns the number of leaves.
    pub fn n_leaves(&self) -> usize {
        self.leaves.n_leaves()
    }

    /// Returns the values of the leaves.
    pub fn leaves(&self) -> &LeafTable {
        &self.leaves
    }

    /// Returns the children of a node; the range is empty for a leaf.
    ///
    /// # Panics
    /// Panics when there is no such node.
    pub fn children(&self, node: usize) -> Range<usize> {
        self.starts[node] as usize..self.starts[node + 1] as usize
    }

    /// Returns the first child of each node, and the number of nodes at the end: the children of node i are the nodes
    /// from element i up to, but not including, element i + 1.
    pub fn children_start(&self) -> &[u32] {
        &self.starts
    }

    /// Returns the number of distinct samples of positive weight in each node.
    pub fn n_node_samples(&self) -> &[u32] {
        &self.n_node_samples
    }

    /// Returns the total weight of the samples in each node.
    pub fn weighted_n_node_samples(&self) -> &[f64] {
        &self.weighted_n_node_samples
    }

    /// Returns the number of splits above each node.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::OutOfMemory`] when there is not enough memory.
    pub fn depth(&self) -> Result<Vec<u32>> {
        let mut depth = PURPOSE.filled(0, self.n_nodes())?;
        for node in 0..self.n_nodes() {
            let below = depth[node] + 1;
            depth[self.children(node)].fill(below);
        }
        Ok(depth)
    }

    /// Returns the features and weights of the centroid of a node, with increasing features. The root has no centroid,
    /// and the result for it is empty.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Invalid`] when there is no such node, or [`crate::ErrorKind::OutOfMemory`].
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

    /// Returns the `k` features with the largest weights for each child of a node, in descending order; of equal
    /// weights, the lower feature comes first.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Invalid`] when there is no such node, or [`crate::ErrorKind::OutOfMemory`].
    pub fn heaviest_features(&self, node: usize, k: usize) -> Result<Vec<Vec<FeatureWeight>>> {
        self.check_node(node)?;
        let mut of_children = PURPOSE.with_capacity(self.children(node).len())?;
        for child in self.children(node) {
            let mut entries = self.centroids.of(child)?;
            entries.sort_unstable_by(|a: &FeatureWeight, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            entries.truncate(k);
            of_children.push(entries);
        }
        Ok(of_children)
    }

    /// Returns the memory of the tree in bytes, without the stored y of samples, which all trees share.
    pub fn n_bytes(&self) -> usize {
        let of_parents = self.parents.as_ref().map_or(0, Parents::n_bytes);
        self.centroids.n_bytes() + self.leaves.n_bytes() + of_parents + 20 * self.n_nodes()
    }

    /// Returns the nodes that are leaves, in the order of the rows of the table.
    pub(crate) fn leaf_nodes(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.n_nodes()).filter(|&node| self.children(node).is_empty())
    }

    /// Returns the nodes that have a leaf among their children.
    pub(crate) fn parent_nodes(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.n_nodes()).filter(|&node| self.children(node).any(|child| self.children(child).is_empty()))
    }

    /// Returns the values of the leaves, and of their parents if leaves are shrunk.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &LeafTable> + '_ {
        std::iter::once(&self.leaves).chain(self.parents.as_ref().map(Parents::table))
    }

    /// Returns the weights of some nodes.
    pub(crate) fn weights_of(&self, nodes: impl Iterator<Item = usize>) -> Result<Vec<f64>> {
        let mut weights = Vec::new();
        for node in nodes {
            PURPOSE.push(&mut weights, self.weighted_n_node_samples[node])?;
        }
        Ok(weights)
    }

    /// Fills in the `values` of nodes that are not leaves, as sums of those of their children.
    pub(crate) fn sum_up<T: Copy + Default + Add<Output = T>>(starts: &[u32], values: &mut [T]) {
        for node in (0..values.len()).rev() {
            let children = starts[node] as usize..starts[node + 1] as usize;
            if !children.is_empty() {
                values[node] = values[children].iter().fold(T::default(), |sum, &value| sum + value);
            }
        }
    }

    /// Returns the row of each node in the table of leaves.
    pub(crate) fn number_leaves(starts: &[u32]) -> Result<Vec<u32>> {
        let mut n_leaves = 0;
        let number = |range: &[u32]| {
            let is_leaf = range[0] == range[1];
            n_leaves += u32::from(is_leaf);
            if is_leaf { n_leaves - 1 } else { 0 }
        };
        PURPOSE.collected(starts.windows(2).map(number))
    }

    /// Finds the leaf that each of some samples reaches, and writes the node for sample i to `out[i * stride]`. The
    /// cost is O(entries × children) for each level.
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
        PURPOSE.resize(sorted, order.len(), 0)?;
        // The samples of node i are order[ranges[i]]: the children of a node divide its range among them.
        ranges.clear();
        PURPOSE.resize(ranges, self.n_nodes(), (0, 0))?;
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

/// A leaf that counts for a sample of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hit {
    /// The position of the sample in the block.
    pub(super) at: u32,
    pub(super) leaf: u32,
    pub(super) share: f32,
}

/// The children to which a sample is sent.
#[derive(Clone, Copy, Debug)]
struct Choice {
    first: u32,
    second: u32,
    /// The share of the second child: zero if the sample is sent only to the first.
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
        // Of equal products, the first child gets everything: samples without features go where they went when the tree
        // was grown.
        if apart <= 0.0 || apart.is_nan() {
            return Choice { first, second: first, of_second: 0.0 };
        }
        let odds = exp_of_negative(-apart);
        let of_second = share * (odds / (1.0 + odds)) as f32;
        Choice { first, second: second.1, of_second: if of_second < least { 0.0 } else { of_second } }
    }
}

impl CentroidTree {
    /// Appends the leaves that some samples reach when samples are shared by children, leaf after leaf.
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
        // The samples of node i, and its share of each, are order[ranges[i]] and shares[ranges[i]]; those of the
        // children are appended.
        order.clear();
        shares.clear();
        PURPOSE.extend(order, rows.clone().map(|row| row as u32))?;
        PURPOSE.resize(shares, order.len(), 1.0)?;
        ranges.clear();
        PURPOSE.resize(ranges, self.n_nodes(), (0, 0))?;
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
                PURPOSE.extend(hits, order[start..end].iter().zip(&shares[start..end]).map(hit))?;
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

/// Appends the samples from `start` on, which are sent where `choices` says, to those of the children, and writes the
/// ranges of the children.
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
    PURPOSE.resize(order, next as usize, 0)?;
    PURPOSE.resize(shares, next as usize, 0.0)?;
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

/// Groups the samples that go to the same child, without changing their order: `ranges` become those of the children,
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

/// The working memory with which one thread sends samples down trees.
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
            order: PURPOSE.with_capacity(n_rows)?,
            sorted: PURPOSE.with_capacity(n_rows)?,
            child_of: PURPOSE.with_capacity(n_rows)?,
            ranges: Vec::new(),
            shares: Vec::new(),
            choices: Vec::new(),
        })
    }
}
