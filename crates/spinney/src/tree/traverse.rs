//! Walking rows down trees.
//!
//! In: nodes and dense rows (a sparse row is scattered into a dense one beforehand). Out: the index of the leaf's
//! node. A step down a tree waits for memory and guesses a branch. Dense rows guess badly, so [`LANES`] walks make their
//! steps in turn, without branches on the data: their waits overlap. They are the walks of many rows down one tree, or of
//! one row down many trees. Sparse rows are zero almost everywhere and guess well, so a plain loop, which the processor runs
//! ahead of itself, is faster for them.
//!
//! Rows of which some value is missing ask at each step whether it is the one; of others it is known that none is, and
//! their steps compare and do nothing else: `MISSING` tells which they are.
//!
//! Not here: what leaves predict, threads, and samples that go down trees with few leaves together: [`super::few_leaves`].

use std::array;
use std::hint::{black_box, select_unpredictable};

use super::Tree;
use super::node::Node;

/// Walks under way at once.
pub(crate) const LANES: usize = 8;

/// Calls `visit` with each node on the path of `row`, from the root to the leaf.
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
            // The compiler cannot see that this is nothing, and keeps the branch. It would choose without one, and wait for
            // the value at each step: three times as long on text (`benches/two_builds.py`, "predict forest, text").
            black_box(());
            node.right()
        };
    }
}

/// The same in a tree with tests of categories, which look the value up in a set.
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

/// The node of the leaf that `row` reaches.
pub(crate) fn leaf_node<const MISSING: bool>(tree: &Tree, row: &[f32]) -> u32 {
    let mut leaf = 0;
    path::<MISSING>(tree, row, |at| leaf = at);
    leaf
}

/// The leaves' nodes of all `rows` (row-major, `tree.n_features` wide), of which there are a multiple of [`LANES`]: that of
/// row r goes to `ids[r * stride]`.
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

/// A copy of a tree for more rows than it has nodes: all take as many steps as the longest path has, and none asks whether it
/// has arrived. Leaves lead back to themselves ([`Node::standstill`]). Steps are a third faster than those that ask.
#[derive(Debug, Default)]
pub(crate) struct SmallTree {
    nodes: Vec<Node>,
    /// Of each node.
    depths: Vec<u8>,
    n_steps: u8,
}

impl SmallTree {
    /// Longest path: a tree with one that is longer has leaves at many depths, and rows would stand still most of the time.
    const MOST_STEPS: u8 = 16;

    /// Whether the tree, without categories, is copied: where it is too deep, or memory is refused, it is walked as it is.
    fn copy(&mut self, tree: &Tree) -> bool {
        let SmallTree { nodes, depths, n_steps } = self;
        nodes.clear();
        depths.clear();
        *n_steps = 0;
        if nodes.try_reserve(tree.nodes.len()).is_err() || depths.try_reserve(tree.nodes.len()).is_err() {
            return false;
        }
        // Children come after their parent.
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

    /// The leaves' nodes that rows reach.
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

/// The leaves' nodes that one row reaches in `trees`.
pub(crate) fn walk_trees<const MISSING: bool>(trees: &[&Tree], row: &[f32], ids: &mut [u32]) {
    for (trees, ids) in trees.chunks(LANES).zip(ids.chunks_mut(LANES)) {
        // Trees with categories are walked one by one.
        if trees.len() == 1 || row.is_empty() || trees.iter().any(|tree| !tree.sets.is_empty()) {
            trees.iter().zip(ids).for_each(|(tree, id)| *id = leaf_node::<MISSING>(tree, row));
        } else {
            // The last lanes walk the last tree again.
            let lanes = array::from_fn(|lane| &trees[lane.min(trees.len() - 1)].nodes[..]);
            ids.copy_from_slice(&walk_lanes::<MISSING>(lanes, [row; LANES])[..trees.len()]);
        }
    }
}

/// The leaves' nodes that [`LANES`] rows, which are not empty, reach, each in a tree without categories; lanes that have
/// arrived stand still until the last one has.
#[inline(always)]
fn walk_lanes<const MISSING: bool>(nodes: [&[Node]; LANES], rows: [&[f32]; LANES]) -> [u32; LANES] {
    let mut at = [0u32; LANES];
    loop {
        let mut moving = false;
        for lane in 0..LANES {
            let (row, node) = (rows[lane], &nodes[lane][at[lane] as usize]);
            let is_leaf = node.is_leaf();
            // Of a leaf this is any feature: what follows from it is not chosen.
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
