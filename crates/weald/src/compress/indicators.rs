//! Indicators of nodes, which are never stored as a matrix: the samples in each node, and sums over the samples of
//! nodes.
//!
//! If the samples of a tree are sorted by leaf, those in a node are contiguous, because nodes and leaves are in
//! pre-order. A node is therefore a range, and what is needed for all nodes is, for each tree, its samples in this
//! order, the leaf of each sample, and for each node its range and its parent: two numbers for each sample and tree,
//! and three for each node.
//!
//! The nodes of all trees are numbered together: those of tree t begin at `offsets[t]`.

use std::iter::repeat_n;
use std::ops::Range;

use crate::control::Control;
use crate::data::Matrix;
use crate::error::{ErrorKind, Purpose, Result};
use crate::forest::Forest;
use crate::tree::rows::Rows;

const PURPOSE: Purpose = Purpose("the rows of nodes");

/// The parent of roots.
pub(crate) const NO_NODE: u32 = u32::MAX;

/// The samples of the nodes of a forest.
#[derive(Clone, Debug)]
pub(crate) struct Indicators {
    pub(crate) n_rows: usize,
    /// The first node of each tree, followed by the number of nodes.
    pub(crate) offsets: Vec<usize>,
    /// The samples of each tree, by leaf and in increasing order within a leaf: `n_rows` for each tree.
    order: Vec<u32>,
    /// The leaf of each sample, as a node of the tree: `n_rows` for each tree.
    leaf: Vec<u32>,
    /// The range of each node in the order of its tree.
    start: Vec<u32>,
    end: Vec<u32>,
    /// The parent of each node, as a node of the tree.
    parent: Vec<u32>,
}

/// The working memory of [`Indicators::touched`]; it is zero between calls.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    sums: Vec<f64>,
    /// For nodes on the way, the number of children that are still to come; 1 for leaves with samples.
    pending: Vec<u8>,
    /// The leaves with samples.
    leaves: Vec<u32>,
}

impl Indicators {
    /// Sends `rows` of X down all trees. Here, samples are numbered by their position in `rows`.
    pub(crate) fn new(forest: &Forest, x: &Matrix<'_>, rows: &[u32], control: &Control) -> Result<Self> {
        let x = Rows::new(x, forest.n_features, control)?;
        let (n, n_trees) = (rows.len(), forest.n_trees());
        let mut offsets = PURPOSE.with_capacity(n_trees + 1)?;
        offsets.push(0);
        for tree in &forest.trees {
            offsets.push(offsets[offsets.len() - 1] + tree.n_nodes());
        }
        let n_nodes = offsets[n_trees];
        let limit = u32::MAX as usize - 1;
        if n_nodes > limit {
            return Err(ErrorKind::TooMany { what: "nodes", limit }.into());
        }
        let cells = n.checked_mul(n_trees).ok_or(PURPOSE.missing::<u8>(usize::MAX))?;
        let mut order = control.filled(PURPOSE, 0u32, cells)?;
        let mut leaf = control.filled(PURPOSE, 0u32, cells)?;
        let mut start = control.filled(PURPOSE, 0u32, n_nodes)?;
        let mut end = control.filled(PURPOSE, 0u32, n_nodes)?;
        let mut parent = control.filled(PURPOSE, NO_NODE, n_nodes)?;
        for (t, tree) in forest.trees.iter().enumerate() {
            control.check()?;
            let nodes = offsets[t]..offsets[t + 1];
            let (start, end) = (&mut start[nodes.clone()], &mut end[nodes.clone()]);
            let parent = &mut parent[nodes];
            let (order, leaf) = (&mut order[t * n..(t + 1) * n], &mut leaf[t * n..(t + 1) * n]);
            let leaves = x.leaves(tree, control)?;
            // The node of each leaf, then a counting sort of the samples by leaf.
            let mut node_of = PURPOSE.with_capacity(tree.n_leaves())?;
            node_of.extend((0u32..).zip(&tree.nodes).filter(|(_, node)| node.is_leaf()).map(|(i, _)| i));
            let mut next = PURPOSE.filled(0u32, tree.n_leaves() + 1)?;
            rows.iter().for_each(|&row| next[leaves[row as usize] as usize + 1] += 1);
            for l in 0..tree.n_leaves() {
                next[l + 1] += next[l];
                let node = node_of[l] as usize;
                (start[node], end[node]) = (next[l], next[l + 1]);
            }
            for (i, &row) in rows.iter().enumerate() {
                let l = leaves[row as usize] as usize;
                leaf[i] = node_of[l];
                order[next[l] as usize] = i as u32;
                next[l] += 1;
            }
            for (i, node) in tree.nodes.iter().enumerate().rev().filter(|(_, node)| !node.is_leaf()) {
                let right = node.right() as usize;
                (start[i], end[i]) = (start[i + 1], end[right]);
                (parent[i + 1], parent[right]) = (i as u32, i as u32);
            }
        }
        Ok(Indicators { n_rows: n, offsets, order, leaf, start, end, parent })
    }

    pub(crate) fn n_trees(&self) -> usize {
        self.offsets.len() - 1
    }

    pub(crate) fn n_nodes(&self) -> usize {
        self.start.len()
    }

    /// Returns the tree of a node, and its number in the tree.
    pub(crate) fn place(&self, node: usize) -> (usize, usize) {
        let tree = self.offsets.partition_point(|&offset| offset <= node) - 1;
        (tree, node - self.offsets[tree])
    }

    /// Returns the nodes of a tree.
    pub(crate) fn nodes(&self, tree: usize) -> Range<usize> {
        self.offsets[tree]..self.offsets[tree + 1]
    }

    /// Returns the samples in a node.
    pub(crate) fn rows(&self, node: usize) -> &[u32] {
        let tree = self.place(node).0;
        let order = &self.order[tree * self.n_rows..(tree + 1) * self.n_rows];
        &order[self.start[node] as usize..self.end[node] as usize]
    }

    /// Returns the samples of a tree in the order of its leaves, and for each of its nodes the beginning and the end of
    /// its range.
    pub(crate) fn ranges(&self, tree: usize) -> (&[u32], &[u32], &[u32]) {
        let order = &self.order[tree * self.n_rows..(tree + 1) * self.n_rows];
        (order, &self.start[self.nodes(tree)], &self.end[self.nodes(tree)])
    }

    /// Returns the parent of a node; `None` for roots.
    pub(crate) fn parent(&self, node: usize) -> Option<usize> {
        let parent = self.parent[node];
        (parent != NO_NODE).then(|| self.offsets[self.place(node).0] + parent as usize)
    }

    pub(crate) fn is_root(&self, node: usize) -> bool {
        self.parent[node] == NO_NODE
    }

    /// Computes the sums of `values` (`width` numbers for each of `rows`) in the nodes of a tree that contain any of
    /// these samples, and calls `visit` with each node, as a node of the forest, and its sums. The order of the nodes
    /// is not specified.
    ///
    /// Each sum is that of the two children, and in a leaf that of its samples in the order in which they are given.
    /// The cost is O(samples + nodes that contain any of them) × width, or O(nodes of the tree) if there are many
    /// samples.
    pub(crate) fn touched(
        &self,
        tree: usize,
        rows: &[u32],
        values: &[f64],
        width: usize,
        scratch: &mut Scratch,
        mut visit: impl FnMut(usize, &[f64]),
    ) -> Result<()> {
        let (first, n_nodes) = (self.offsets[tree], self.nodes(tree).len());
        let leaf = &self.leaf[tree * self.n_rows..(tree + 1) * self.n_rows];
        let parent = &self.parent[self.nodes(tree)];
        if scratch.pending.len() < n_nodes {
            let more = n_nodes - scratch.pending.len();
            PURPOSE.extend(&mut scratch.pending, repeat_n(0, more))?;
        }
        if scratch.sums.len() < n_nodes * width {
            let more = n_nodes * width - scratch.sums.len();
            PURPOSE.extend(&mut scratch.sums, repeat_n(0.0, more))?;
        }
        let Scratch { sums, pending, leaves } = scratch;
        leaves.clear();
        PURPOSE.reserve(leaves, n_nodes.div_ceil(2))?;
        for (&row, values) in rows.iter().zip(values.chunks_exact(width)) {
            let node = leaf[row as usize];
            let at = node as usize;
            sums[at * width..(at + 1) * width].iter_mut().zip(values).for_each(|(s, v)| *s += v);
            if pending[at] == 0 {
                pending[at] = 1;
                leaves.push(node);
            }
        }
        // Visits a node whose sums are complete, and adds them to those of its parent.
        let mut finish = |at: usize, sums: &mut [f64]| {
            let (before, own) = sums.split_at_mut(at * width);
            let own = &mut own[..width];
            visit(first + at, own);
            if parent[at] != NO_NODE {
                let up = parent[at] as usize * width;
                before[up..up + width].iter_mut().zip(&*own).for_each(|(s, v)| *s += v);
            }
            own.fill(0.0);
        };
        if leaves.len() * MANY >= n_nodes {
            // Children come after their parents.
            for at in (0..n_nodes).rev() {
                if std::mem::take(&mut pending[at]) > 0 {
                    finish(at, sums);
                    if parent[at] != NO_NODE {
                        pending[parent[at] as usize] = 1;
                    }
                }
            }
            return Ok(());
        }
        // First, each path from a leaf to the root is followed to count the children of each node that have samples;
        // then again, visiting each node after its children.
        for &node in &*leaves {
            let mut at = parent[node as usize];
            while at != NO_NODE {
                pending[at as usize] += 1;
                if pending[at as usize] == 2 {
                    break;
                }
                at = parent[at as usize];
            }
        }
        for &node in &*leaves {
            let mut at = node as usize;
            pending[at] = 0;
            loop {
                finish(at, sums);
                if parent[at] == NO_NODE {
                    break;
                }
                at = parent[at] as usize;
                pending[at] -= 1;
                if pending[at] > 0 {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Computes sums over all samples in every node of a tree: `add` adds the values of a sample to sums of `width`
    /// numbers, and `visit` is called with the node and its sums.
    ///
    /// The larger child is processed first, so that at most log₂(nodes) sums are in memory at once, however deep the
    /// tree is.
    pub(crate) fn all_sums(
        &self,
        tree: usize,
        width: usize,
        add: impl Fn(usize, &mut [f64]),
        mut visit: impl FnMut(usize, &[f64]) -> Result<()>,
    ) -> Result<()> {
        let nodes = self.nodes(tree);
        let (first, parent) = (nodes.start, &self.parent[nodes.clone()]);
        let order = &self.order[tree * self.n_rows..(tree + 1) * self.n_rows];
        // The right child of each node (0 for a leaf), and the end of its subtree.
        let mut right = PURPOSE.filled(0u32, nodes.len())?;
        let mut end: Vec<u32> = PURPOSE.with_capacity(nodes.len())?;
        end.extend(1..=nodes.len() as u32);
        for at in (1..nodes.len()).rev() {
            let up = parent[at] as usize;
            right[up] = right[up].max(at as u32);
            end[up] = end[up].max(end[at]);
        }
        let mut spare: Vec<Vec<f64>> = Vec::new();
        let mut done: Vec<Vec<f64>> = Vec::new();
        // A node, and whether its children are done.
        let mut todo = vec![(0u32, false)];
        while let Some((at, ready)) = todo.pop() {
            let i = at as usize;
            if right[i] == 0 {
                let mut sums = spare.pop().unwrap_or_default();
                sums.clear();
                PURPOSE.resize(&mut sums, width, 0.0)?;
                let rows = &order[self.start[first + i] as usize..self.end[first + i] as usize];
                rows.iter().for_each(|&row| add(row as usize, &mut sums));
                visit(first + i, &sums)?;
                PURPOSE.push(&mut done, sums)?;
            } else if ready {
                let (second, mut sums) = (done.pop().unwrap_or_default(), done.pop().unwrap_or_default());
                sums.iter_mut().zip(&second).for_each(|(s, v)| *s += v);
                PURPOSE.push(&mut spare, second)?;
                visit(first + i, &sums)?;
                PURPOSE.push(&mut done, sums)?;
            } else {
                let (left, right) = (at + 1, right[i]);
                let left_is_larger = end[left as usize] - left >= end[right as usize] - right;
                let (larger, smaller) = if left_is_larger { (left, right) } else { (right, left) };
                PURPOSE.extend(&mut todo, [(at, true), (smaller, false), (larger, false)])?;
            }
        }
        Ok(())
    }
}

/// Maximum number of nodes of a tree, for each leaf with samples, at which a pass over all nodes is faster than
/// following the samples.
const MANY: usize = 4;
