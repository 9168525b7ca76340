//! Where the leaves and the splits of a tree are: nodes in pre-order, proven to be one tree.

use std::ops::Add;

use super::read::{TensorReader, with_numbers};
use crate::error::{Error, Result, try_reserve};
use crate::tree::Node;

const WHAT: &str = "the model";

/// Which nodes of a tree are leaves and which are splits. The loops over them have no branch for either, which no
/// processor could foretell.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// Nodes that are leaves, rising. While a tree grows, the first `n_leaves`.
    pub(super) leaves: Vec<u32>,
    /// Nodes that are splits, rising. While a tree grows, the first `n_splits`.
    pub(super) splits: Vec<u32>,
    /// Splits that have no right child yet: as many as `n_splits` is above `n_leaves`.
    open: Vec<u32>,
    n_leaves: usize,
    n_splits: usize,
}

fn not_one_tree() -> Error {
    Error::corrupt("`features` are not the nodes of one tree in pre-order")
}

impl Places {
    /// Room for a tree of `n_nodes`, of which none is known.
    pub(super) fn begin(&mut self, n_nodes: usize) -> Result<()> {
        // Room for one more than there may be: `grow` writes before it knows which kind a node is of.
        let n = n_nodes / 2 + 1;
        for places in [&mut self.leaves, &mut self.splits, &mut self.open] {
            try_reserve(WHAT, places, n.saturating_sub(places.len()))?;
            places.resize(n, 0);
        }
        (self.n_leaves, self.n_splits) = (0, 0);
        Ok(())
    }

    /// More nodes, of these features in pre-order.
    pub(super) fn grow(
        &mut self,
        features: impl Iterator<Item = u32>,
        leaf_mark: u32,
        n_features: usize,
        nodes: &mut Vec<Node>,
    ) -> Result<()> {
        let Places { leaves, splits, open, n_leaves, n_splits } = self;
        let most_splits = splits.len() - 1;
        for feature in features {
            // Leaves close splits: as many are open as there are more splits, and one leaf more closes the tree.
            if *n_leaves > *n_splits {
                return Err(not_one_tree());
            }
            let n_open = *n_splits - *n_leaves;
            let is_leaf = feature == leaf_mark;
            if !is_leaf & ((feature as usize >= n_features) | (*n_splits == most_splits)) {
                return Err(if feature as usize >= n_features {
                    Error::corrupt(format!("feature {feature} of {n_features}"))
                } else {
                    // More splits than leaves: the marks do not close the tree.
                    not_one_tree()
                });
            }
            let here = nodes.len() as u32;
            leaves[*n_leaves] = here;
            splits[*n_splits] = here;
            open[n_open] = here;
            nodes.push(if is_leaf { Node::leaf(*n_leaves as u32) } else { Node::split(feature, 0.0) });
            if !(is_leaf & (n_open == 0)) {
                // After a leaf, the last open split has its left children. A split writes to itself, for the time being.
                nodes[open[n_open - usize::from(is_leaf)] as usize].set_right(here + 1);
            }
            *n_leaves += usize::from(is_leaf);
            *n_splits += usize::from(!is_leaf);
        }
        Ok(())
    }

    /// Proves that the tree is closed.
    pub(super) fn end(&mut self) -> Result<()> {
        self.leaves.truncate(self.n_leaves);
        self.splits.truncate(self.n_splits);
        if self.n_leaves == self.n_splits + 1 { Ok(()) } else { Err(not_one_tree()) }
    }
}

/// Puts the next numbers of `stream`, one after the other, to those `places` among `values`.
pub(super) fn place<T>(
    stream: &mut TensorReader<'_>,
    places: &[u32],
    values: &mut [T],
    cast: impl Fn(f64) -> T,
    is_right: impl Fn(f64) -> bool,
    wrong: impl Fn() -> Error,
) -> Result<()> {
    let mut rest = places;
    stream.pieces(places.len(), |numbers| {
        let (places, later) = rest.split_at(numbers.len());
        rest = later;
        let mut all_right = true;
        with_numbers!(numbers, |numbers| {
            for (number, &place) in numbers.zip(places) {
                all_right &= is_right(number);
                values[place as usize] = cast(number);
            }
        });
        if all_right { Ok(()) } else { Err(wrong()) }
    })
}

/// Fills the splits among `values` of all nodes with the sums of their children.
pub(super) fn sum_up<T: Copy + Add<Output = T>>(nodes: &[Node], places: &Places, values: &mut [T]) {
    for i in places.splits.iter().rev().map(|&i| i as usize) {
        values[i] = values[i + 1] + values[nodes[i].right() as usize];
    }
}
