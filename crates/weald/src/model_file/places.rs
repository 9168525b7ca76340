//! The places of the leaves and the splits of a tree. Nodes are in pre-order, and are checked to form one tree.

use std::ops::Add;

use super::read::{TensorReader, with_numbers};
use crate::error::{Error, Purpose, Result};
use crate::tree::Node;

/// Which nodes of a tree are leaves and which are splits. With these lists, loops over either need no branch, which the
/// processor could not predict.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// The nodes that are leaves, in increasing order. While a tree grows, these are the first `n_leaves` elements.
    pub(super) leaves: Vec<u32>,
    /// The nodes that are splits, in increasing order. While a tree grows, these are the first `n_splits` elements.
    pub(super) splits: Vec<u32>,
    /// The splits that have no right child yet. Their number is `n_splits` − `n_leaves`.
    open: Vec<u32>,
    n_leaves: usize,
    n_splits: usize,
}

fn not_one_tree() -> Error {
    Error::corrupt("`features` are not the nodes of one tree in pre-order")
}

impl Places {
    /// Prepares for a tree of `n_nodes`, none of which is known yet.
    pub(super) fn begin(&mut self, n_nodes: usize) -> Result<()> {
        // There is one element more than needed, because `grow` writes a node to all lists before it knows its kind.
        let n = n_nodes / 2 + 1;
        for places in [&mut self.leaves, &mut self.splits, &mut self.open] {
            Purpose("the model").reserve(places, n.saturating_sub(places.len()))?;
            places.resize(n, 0);
        }
        (self.n_leaves, self.n_splits) = (0, 0);
        Ok(())
    }

    /// Adds nodes with these features, in pre-order.
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
            // Each leaf closes a split. The number of open splits is the difference of the counts, and one more leaf
            // closes the tree.
            if *n_leaves > *n_splits {
                return Err(not_one_tree());
            }
            let n_open = *n_splits - *n_leaves;
            let is_leaf = feature == leaf_mark;
            if !is_leaf & ((feature as usize >= n_features) | (*n_splits == most_splits)) {
                return Err(if feature as usize >= n_features {
                    Error::corrupt(format!("feature {feature} is out of range: there are {n_features} features"))
                } else {
                    // With more splits than leaves, the marks do not close the tree.
                    not_one_tree()
                });
            }
            let here = nodes.len() as u32;
            leaves[*n_leaves] = here;
            splits[*n_splits] = here;
            open[n_open] = here;
            nodes.push(if is_leaf { Node::leaf(*n_leaves as u32) } else { Node::split(feature, 0.0) });
            if !(is_leaf & (n_open == 0)) {
                // The left subtree of the last open split ends with this leaf. For a split, this writes to the split
                // itself, and the value is replaced later.
                nodes[open[n_open - usize::from(is_leaf)] as usize].set_right(here + 1);
            }
            *n_leaves += usize::from(is_leaf);
            *n_splits += usize::from(!is_leaf);
        }
        Ok(())
    }

    /// Checks that the tree is closed.
    pub(super) fn end(&mut self) -> Result<()> {
        self.leaves.truncate(self.n_leaves);
        self.splits.truncate(self.n_splits);
        if self.n_leaves == self.n_splits + 1 { Ok(()) } else { Err(not_one_tree()) }
    }
}

/// Writes the next numbers of `stream` to these `places` of `values`.
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

/// Sets the elements of `values` that belong to splits to the sums of their children.
pub(super) fn sum_up<T: Copy + Add<Output = T>>(nodes: &[Node], places: &Places, values: &mut [T]) {
    for i in places.splits.iter().rev().map(|&i| i as usize) {
        values[i] = values[i + 1] + values[nodes[i].right() as usize];
    }
}
