//! Finding the leaves of samples.
//!
//! The input are nodes and dense samples (a sparse sample is expanded into a dense one beforehand), and the output is
//! the index of the leaf's node. Each step down a tree waits for memory and needs a branch prediction. Branches are
//! predicted poorly for dense samples, so [`LANES`] traversals make their steps in turn, without branches that depend
//! on the data, so that their waiting times overlap. They are either many samples in one tree, or one sample in many
//! trees. Sparse samples are almost entirely zero and their branches are predicted well, so a plain loop, which the
//! processor executes speculatively, is faster for them.
//!
//! If some value is missing, each step checks whether the tested value is. If it is known that none is missing, steps
//! only compare. The parameter `MISSING` tells which of the two is the case.
//!
//! [`by_leaf`] puts samples in the order of their leaves. Not here: what leaves predict, threads, and samples that go
//! down trees with few leaves together: [`super::few_leaves`].

use std::array;
use std::hint::{black_box, select_unpredictable};
use std::ops::Range;

use super::Tree;
use super::node::Node;
use crate::error::{Purpose, Result};

/// The number of simultaneous traversals.
pub(crate) const LANES: usize = 8;

/// Calls `visit` with each node on the path of sample `row`, from the root to the leaf.
pub(crate) fn path<const MISSING: bool>(tree: &Tree, row: &[f32], mut visit: impl FnMut(u32)) {
    if !tree.sets.is_empty() {
        return path_by_categories(tree, row, visit);
    }
    let nodes = &tree.nodes[..];
    let mut at = 0;
    loop {
        visit(at);
        let node = &nodes[at as usize];
        if node.is_leaf() {
            return;
        }
        let value = row[node.tested()];
        let decision = node.threshold_decision();
        let goes_left = if MISSING { decision.goes_left(value) } else { decision.sends_left(value) };
        at = if goes_left {
            at + 1
        } else {
            // This call does nothing, but the compiler cannot know that and therefore keeps the branch. Without it, the
            // compiler would select the node without a branch, and each step would wait for the value, which takes
            // three times as long on text (`benches/two_builds.py`, "predict forest, text").
            black_box(());
            node.right()
        };
    }
}

/// Calls `visit` with each node on the path, in a tree with tests of categories, which look the value up in a set.
fn path_by_categories(tree: &Tree, row: &[f32], mut visit: impl FnMut(u32)) {
    let mut at = 0;
    loop {
        visit(at);
        let node = &tree.nodes[at as usize];
        if node.is_leaf() {
            return;
        }
        at = if node.decision(&tree.sets).goes_left(row[node.tested()]) { at + 1 } else { node.right() };
    }
}

/// Returns the node of the leaf that sample `row` reaches.
pub(crate) fn leaf_node<const MISSING: bool>(tree: &Tree, row: &[f32]) -> u32 {
    let mut leaf = 0;
    path::<MISSING>(tree, row, |at| leaf = at);
    leaf
}

/// Finds the nodes of the leaves of all `rows` (row-major, `tree.n_features` wide), whose number must be a multiple of
/// [`LANES`]. The node of row r is written to `ids[r * stride]`.
pub(crate) fn walk_rows<const MISSING: bool>(
    tree: &Tree,
    rows: &[f32],
    ids: &mut [u32],
    stride: usize,
    small: &mut SmallTree,
) {
    let n_features = tree.n_features;
    if tree.nodes.len() == 1 {
        return ids.iter_mut().step_by(stride).for_each(|id| *id = 0);
    }
    if !tree.sets.is_empty() {
        let rows = rows.chunks_exact(n_features);
        return rows.zip(ids.iter_mut().step_by(stride)).for_each(|(row, id)| *id = leaf_node::<MISSING>(tree, row));
    }
    let is_small = tree.nodes.len() <= rows.len() / n_features && small.copy(tree);
    for (g, group) in rows.chunks_exact(LANES * n_features).enumerate() {
        let lanes = array::from_fn(|lane| &group[lane * n_features..(lane + 1) * n_features]);
        let leaves = if is_small {
            small.walk::<MISSING>(lanes)
        } else {
            walk_lanes::<MISSING>([&tree.nodes[..]; LANES], lanes)
        };
        for (lane, leaf) in leaves.into_iter().enumerate() {
            ids[(g * LANES + lane) * stride] = leaf;
        }
    }
}

/// A copy of a tree, for at least as many samples as it has nodes. All samples take as many steps as the longest path
/// has, without checks for leaves, because leaves lead back to themselves ([`Node::standstill`]). Such steps are a
/// third faster than steps with checks.
#[derive(Debug, Default)]
pub(crate) struct SmallTree {
    nodes: Vec<Node>,
    /// The depth of each node.
    depths: Vec<u8>,
    n_steps: u8,
}

impl SmallTree {
    /// The maximum number of steps. A tree with a longer path has leaves at many depths, and samples would stay at
    /// their leaf most of the time.
    const MOST_STEPS: u8 = 16;

    /// Copies the tree, which must be without categories, and returns whether it was copied. A tree that is too deep,
    /// or for which memory is refused, is not copied.
    fn copy(&mut self, tree: &Tree) -> bool {
        let SmallTree { nodes, depths, n_steps } = self;
        nodes.clear();
        depths.clear();
        *n_steps = 0;
        if nodes.try_reserve(tree.nodes.len()).is_err() || depths.try_reserve(tree.nodes.len()).is_err() {
            return false;
        }
        // Children come after their parents.
        depths.resize(tree.nodes.len(), 0);
        for (at, node) in tree.nodes.iter().enumerate() {
            if node.is_leaf() {
                nodes.push(Node::standstill(at as u32));
                continue;
            }
            let below = depths[at] + 1;
            if below > Self::MOST_STEPS {
                return false;
            }
            depths[at + 1] = below;
            depths[node.right() as usize] = below;
            *n_steps = below.max(*n_steps);
            nodes.push(*node);
        }
        true
    }

    /// Returns the nodes of the leaves that samples reach.
    #[inline(always)]
    fn walk<const MISSING: bool>(&self, rows: [&[f32]; LANES]) -> [u32; LANES] {
        let nodes = &self.nodes[..];
        let mut at = [0u32; LANES];
        for _ in 0..self.n_steps {
            for (at, row) in at.iter_mut().zip(rows) {
                let node = &nodes[*at as usize];
                let (value, decision) = (row[node.tested()], node.threshold_decision());
                let goes_left = if MISSING { decision.goes_left(value) } else { decision.sends_left(value) };
                *at = select_unpredictable(goes_left, *at + 1, node.right());
            }
        }
        at
    }
}

/// Finds the nodes of the leaves that one sample reaches in `trees`.
pub(crate) fn walk_trees<const MISSING: bool>(trees: &[&Tree], row: &[f32], ids: &mut [u32]) {
    for (trees, ids) in trees.chunks(LANES).zip(ids.chunks_mut(LANES)) {
        // Trees with categories are traversed one by one.
        if trees.len() == 1 || row.is_empty() || trees.iter().any(|tree| !tree.sets.is_empty()) {
            trees.iter().zip(ids).for_each(|(tree, id)| *id = leaf_node::<MISSING>(tree, row));
        } else {
            // The remaining lanes repeat the last tree.
            let lanes = array::from_fn(|lane| &trees[lane.min(trees.len() - 1)].nodes[..]);
            ids.copy_from_slice(&walk_lanes::<MISSING>(lanes, [row; LANES])[..trees.len()]);
        }
    }
}

/// Returns the nodes of the leaves that [`LANES`] non-empty samples reach, each in a tree without categories. Lanes
/// that have reached their leaf stay there until all have.
#[inline(always)]
fn walk_lanes<const MISSING: bool>(nodes: [&[Node]; LANES], rows: [&[f32]; LANES]) -> [u32; LANES] {
    let mut at = [0u32; LANES];
    loop {
        let mut moving = false;
        for lane in 0..LANES {
            let (row, node) = (rows[lane], &nodes[lane][at[lane] as usize]);
            let is_leaf = node.is_leaf();
            // In a leaf this is an arbitrary feature, and the result is discarded.
            let value = row[node.feature_bits().min(row.len() - 1)];
            let decision = node.threshold_decision();
            let goes_left = if MISSING { decision.goes_left(value) } else { decision.sends_left(value) };
            let next = select_unpredictable(goes_left, at[lane] + 1, node.right());
            at[lane] = select_unpredictable(is_leaf, at[lane], next);
            moving |= !is_leaf;
        }
        if !moving {
            return at;
        }
    }
}

/// Returns the samples in the order of their leaves, and the range of each leaf.
pub(crate) fn by_leaf(rows: &[u32], leaf_of: &[u32], n_leaves: usize) -> Result<(Vec<u32>, Vec<Range<u32>>)> {
    const PURPOSE: Purpose = Purpose("the rows of leaves");
    let mut ends = PURPOSE.filled(0u32, n_leaves)?;
    rows.iter().for_each(|&row| ends[leaf_of[row as usize] as usize] += 1);
    let mut ranges = PURPOSE.with_capacity(n_leaves)?;
    let mut end = 0;
    for n in &mut ends {
        ranges.push(end..end + *n);
        // From here on, the position of the next sample of each leaf.
        end += std::mem::replace(n, end);
    }
    let mut order = PURPOSE.filled(0u32, rows.len())?;
    for &row in rows {
        let place = &mut ends[leaf_of[row as usize] as usize];
        order[*place as usize] = row;
        *place += 1;
    }
    Ok((order, ranges))
}
