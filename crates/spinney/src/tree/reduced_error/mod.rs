//! Reduced-error pruning: a subtree that does not help on rows held out from growth becomes a leaf (Quinlan, Simplifying
//! decision trees, 1987).
//!
//! In: a tree, held-out rows and their y. Out: of all trees that pruning can make, the smallest of least loss on those
//! rows. Losses are sums over rows, so each subtree is decided by itself, from the leaves up: a split becomes a leaf when its
//! loss as a leaf is no larger than that of what is left below it. Where no held-out row comes, both are zero, and it does.
//!
//! | y | loss of a row |
//! |---|---|
//! | numbers | squared error, summed over outputs |
//! | classes | number of outputs whose class of largest frequency, the first of equals, is not the row's |
//! | labels | number of labels that are wrongly there or missing: those of frequency above one half are predicted |
//!
//! The loss of every node as a leaf takes one pass over the nodes from the last to the first, with a stack of the subtrees
//! whose parents are still to come. For classes and labels an entry holds the counts of its subtree in a map, and the
//! smaller map goes into the larger one: O(cells · log(n_leaves)) time and O(cells) memory for the cells stored in leaves
//! and the labels of the held-out rows, nothing the size of nodes × labels. Counts are whole numbers: ties are ties.
//! For numbers columns go in chunks, O((n_nodes + n_rows) · n_outputs) time, with residuals about each node's own value.

mod counts;
mod numbers;
#[cfg(test)]
mod tests;

use std::ops::Add;

use self::counts::{LeafColumns, mistakes};
use self::numbers::squared_errors;
use super::Tree;
use crate::control::Control;
use crate::data::dataset::Names;
use crate::data::{Dataset, Outputs, Targets, Weights};
use crate::error::{Error, Result, try_filled};
use crate::tree::rows::Rows;

const WHAT: &str = "the losses of nodes";

impl Tree {
    /// The smallest pruning of the tree whose loss on held-out rows is least.
    ///
    /// The loss is the squared error for numbers, the number of wrong classes or labels otherwise; rows of `data` must not be
    /// those of the fit. Subtrees that none of them reaches become leaves. Independent of the layout of X.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Shape`] for another number of features or rows, [`crate::ErrorKind::Invalid`] without rows, for other outputs
    /// or classes than the tree's, bad weights and values that are not finite, and where leaves are medians; [`crate::ErrorKind::Interrupted`],
    /// [`crate::ErrorKind::OutOfMemory`].
    pub fn prune_reduced_error<'d>(&self, data: impl Into<Dataset<'d>>, control: &Control) -> Result<Tree> {
        HeldOut::new(self.n_features, &self.outputs, &data.into(), control)?.prune(self, control)
    }
}

/// Rows that growth has not seen, checked against the model.
#[derive(Debug)]
pub(crate) struct HeldOut<'a, 't> {
    x: Rows<'a>,
    y: &'a Targets<'t>,
    weights: Weights,
}

impl<'a, 't> HeldOut<'a, 't> {
    pub(crate) fn new(n_features: usize, outputs: &Outputs, data: &'a Dataset<'t>, control: &Control) -> Result<Self> {
        if data.n_samples() == 0 {
            return Err(Error::invalid(Names::VALIDATION.x, "0 samples", "have at least one sample"));
        }
        let rows = Rows::new(data.x(), n_features, control)?;
        data.check_values()?;
        if data.outputs() != *outputs {
            return Err(Error::invalid(
                Names::VALIDATION.y,
                "other outputs",
                "have the outputs and classes that the tree was grown on",
            ));
        }
        let weights = Weights::of_rows(data.weight_by_row()?.as_deref(), data.n_samples())?;
        Ok(HeldOut { x: rows, y: data.y(), weights })
    }

    pub(crate) fn prune(&self, tree: &Tree, control: &Control) -> Result<Tree> {
        let rows = RowsOfLeaves::new(tree, self, control)?;
        let becomes_leaf = match self.y {
            Targets::Real(y) => decide(tree, squared_errors(tree, (y.view(), &self.weights), &rows, control)?)?,
            Targets::SparseReal(y) => {
                let y = y.to_dense()?;
                decide(tree, squared_errors(tree, (y.view(), &self.weights), &rows, control)?)?
            }
            Targets::Classes { codes, n_classes } => {
                let classes = LeafColumns::of_classes(tree, codes.view(), n_classes)?;
                decide(tree, mistakes(tree, (&classes, &self.weights), &rows, control)?)?
            }
            Targets::Labels(y) => {
                decide(tree, mistakes(tree, (&LeafColumns::Labels(y), &self.weights), &rows, control)?)?
            }
        };
        tree.collapsed(|i| becomes_leaf[i], control)
    }
}

/// Which splits become leaves, given what each node loses as a leaf.
fn decide<L: Copy + Add<Output = L> + PartialOrd>(tree: &Tree, mut losses: Vec<L>) -> Result<Vec<bool>> {
    let mut becomes_leaf = try_filled(WHAT, false, tree.n_nodes())?;
    // Backwards: `losses` of the nodes below are those of what is left of their subtrees.
    for (i, node) in tree.nodes.iter().enumerate().rev().filter(|(_, node)| !node.is_leaf()) {
        let below = losses[i + 1] + losses[node.right() as usize];
        becomes_leaf[i] = losses[i] <= below;
        if !becomes_leaf[i] {
            losses[i] = below;
        }
    }
    Ok(becomes_leaf)
}

/// The held-out rows of positive weight that reach each leaf, rising.
#[derive(Debug)]
struct RowsOfLeaves {
    ends: Vec<u32>,
    rows: Vec<u32>,
}

impl RowsOfLeaves {
    fn new(tree: &Tree, held_out: &HeldOut<'_, '_>, control: &Control) -> Result<Self> {
        const WHAT: &str = "the rows of leaves";
        let leaves = held_out.x.leaves(tree, control)?;
        let exists = |row: usize| held_out.weights.units(row) > 0;
        let mut ends = try_filled(WHAT, 0u32, tree.n_leaves() + 1)?;
        leaves.iter().enumerate().filter(|(row, _)| exists(*row)).for_each(|(_, &leaf)| ends[leaf as usize + 1] += 1);
        (1..ends.len()).for_each(|leaf| ends[leaf] += ends[leaf - 1]);
        let mut rows = try_filled(WHAT, 0u32, ends[tree.n_leaves()] as usize)?;
        // Invariant: ends[leaf] is where the next row of `leaf` goes; at last, where its rows end.
        for (row, &leaf) in leaves.iter().enumerate().filter(|(row, _)| exists(*row)) {
            rows[ends[leaf as usize] as usize] = row as u32;
            ends[leaf as usize] += 1;
        }
        Ok(RowsOfLeaves { ends, rows })
    }

    fn of(&self, leaf: usize) -> &[u32] {
        let start = if leaf == 0 { 0 } else { self.ends[leaf - 1] };
        &self.rows[start as usize..self.ends[leaf] as usize]
    }
}
