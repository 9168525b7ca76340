//! Walking rows down trees.
//!
//! In: nodes and dense rows (a sparse row is scattered into a dense one beforehand). Out: the index of the leaf's
//! node. A step waits for memory most of its time, so several rows on one tree, or one row on several trees, are
//! walked in turn ([`LANES`] at once) and their waits overlap.
//!
//! Not here: what leaves predict, threads.

use super::{Node, Tree};

/// Walks under way at once.
const LANES: usize = 8;

impl Node {
    /// The node below this one, node `at`, on the path of `row`.
    #[inline(always)]
    fn next(&self, at: u32, row: &[f32]) -> u32 {
        if row[self.feature as usize] <= self.threshold { at + 1 } else { self.right }
    }
}

/// Calls `visit` with each node on the path of `row`, from the root to the leaf.
pub(crate) fn path(tree: &Tree, row: &[f32], mut visit: impl FnMut(u32)) {
    let mut at = 0;
    loop {
        visit(at);
        let node = &tree.nodes[at as usize];
        if node.is_leaf() {
            return;
        }
        at = node.next(at, row);
    }
}

/// The node of the leaf that `row` reaches.
pub(crate) fn leaf_node(tree: &Tree, row: &[f32]) -> u32 {
    let mut leaf = 0;
    path(tree, row, |at| leaf = at);
    leaf
}

/// Walks [`LANES`] rows, or one row on [`LANES`] trees, to their leaves' nodes.
#[inline(always)]
fn walk(nodes: [&[Node]; LANES], rows: [&[f32]; LANES]) -> [u32; LANES] {
    let mut at = [0u32; LANES];
    loop {
        let mut moving = false;
        for lane in 0..LANES {
            let node = &nodes[lane][at[lane] as usize];
            if !node.is_leaf() {
                at[lane] = node.next(at[lane], rows[lane]);
                moving = true;
            }
        }
        if !moving {
            return at;
        }
    }
}

/// The leaves' nodes of all `rows` (row-major, `tree.n_features` wide): that of row r goes to `ids[r * stride]`.
pub(crate) fn walk_rows(tree: &Tree, rows: &[f32], ids: &mut [u32], stride: usize) {
    if tree.nodes.len() == 1 {
        ids.iter_mut().step_by(stride).for_each(|id| *id = 0);
        return;
    }
    let p = tree.n_features;
    let mut ids = ids.iter_mut().step_by(stride);
    let groups = rows.chunks_exact(LANES * p);
    let rest = groups.remainder();
    for group in groups {
        let rows = std::array::from_fn(|lane| &group[lane * p..(lane + 1) * p]);
        walk([&tree.nodes; LANES], rows).into_iter().zip(&mut ids).for_each(|(leaf, id)| *id = leaf);
    }
    for (row, id) in rest.chunks_exact(p).zip(ids) {
        *id = leaf_node(tree, row);
    }
}

/// The leaves' nodes of one row on all `trees`.
pub(crate) fn walk_trees(trees: &[&Tree], row: &[f32], ids: &mut [u32]) {
    let n_grouped = trees.len() / LANES * LANES;
    let (grouped, rest) = trees.split_at(n_grouped);
    let (grouped_ids, rest_ids) = ids.split_at_mut(n_grouped);
    for (trees, ids) in grouped.chunks_exact(LANES).zip(grouped_ids.chunks_exact_mut(LANES)) {
        let nodes = std::array::from_fn(|lane| &trees[lane].nodes[..]);
        ids.copy_from_slice(&walk(nodes, [row; LANES]));
    }
    for (tree, id) in rest.iter().zip(rest_ids) {
        *id = leaf_node(tree, row);
    }
}
