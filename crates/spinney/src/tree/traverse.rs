//! Walking rows down trees.
//!
//! In: nodes and dense rows (a sparse row is scattered into a dense one beforehand). Out: the index of the leaf's
//! node. A step down a tree waits for memory and guesses a branch. Dense rows guess badly, so [`LANES`] of them go down a
//! tree in turn, without branches on the data: their waits overlap. Sparse rows are zero almost everywhere and guess well,
//! so a plain loop, which the processor runs ahead of itself, is faster for them.
//!
//! Rows of which some value is missing ask at each step whether it is the one; of others it is known that none is, and
//! their steps compare and do nothing else: `MISSING` tells which they are.
//!
//! Not here: what leaves predict, threads.

use std::hint::{black_box, select_unpredictable};

use super::Tree;

/// Dense rows under way at once.
const LANES: usize = 8;

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

/// The leaves' nodes of all `rows` (row-major, `tree.n_features` wide): that of row r goes to `ids[r * stride]`.
pub(crate) fn walk_rows<const MISSING: bool>(tree: &Tree, rows: &[f32], ids: &mut [u32], stride: usize) {
    let mut ids = ids.iter_mut().step_by(stride);
    if tree.nodes.len() == 1 {
        return ids.for_each(|id| *id = 0);
    }
    // Rows of a tree with categories go down one by one.
    let in_groups = if tree.sets.is_empty() { rows } else { &[] };
    let groups = in_groups.chunks_exact(LANES * tree.n_features);
    let rest = if tree.sets.is_empty() { groups.remainder() } else { rows };
    for group in groups {
        walk_group::<MISSING>(tree, group).into_iter().zip(&mut ids).for_each(|(leaf, id)| *id = leaf);
    }
    for (row, id) in rest.chunks_exact(tree.n_features).zip(ids) {
        *id = leaf_node::<MISSING>(tree, row);
    }
}

/// The leaves' nodes of [`LANES`] rows; lanes that have arrived stand still until the last one has.
fn walk_group<const MISSING: bool>(tree: &Tree, rows: &[f32]) -> [u32; LANES] {
    let mut at = [0u32; LANES];
    loop {
        let mut moving = false;
        for (lane, at) in at.iter_mut().enumerate() {
            let node = tree.nodes[*at as usize];
            let is_leaf = node.is_leaf();
            let feature = if is_leaf { 0 } else { node.tested() };
            let value = rows[lane * tree.n_features + feature];
            let decision = node.threshold_decision();
            let goes_left = if MISSING { decision.goes_left(value) } else { decision.sends_left(value) };
            let next = select_unpredictable(goes_left, *at + 1, node.right());
            *at = select_unpredictable(is_leaf, *at, next);
            moving |= !is_leaf;
        }
        if !moving {
            return at;
        }
    }
}
