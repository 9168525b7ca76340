//! Reduced-error pruning: a subtree that does not decrease the loss on validation samples is replaced by a leaf
//! (Quinlan, Simplifying decision trees, 1987).
//!
//! The input is a tree, and validation samples with their y. The output is the smallest of the pruned trees with the
//! lowest loss on these samples. Losses are sums over samples, so each subtree can be decided separately, from the
//! leaves up: a split becomes a leaf if its loss as a leaf is not larger than the loss of what remains below it. If no
//! validation sample reaches a split, both losses are zero and it becomes a leaf. Unknown cells of y do not count.
//!
//! | y | loss of a sample |
//! |---|---|
//! | numbers | squared error, summed over outputs |
//! | classes | number of outputs whose most frequent class, the first of equals, is not that of the sample |
//! | labels | number of wrong labels, if labels with a frequency above one half are predicted |
//!
//! For classes and labels, the cells stored in leaves and the labels of the validation samples are sorted by column, and
//! the counts of a column are added from its cells up, with O(depth · log(n_leaves)) steps for a cell and O(cells)
//! memory. Counts are exact, so that ties are recognized. Unknown cells of validation samples count as cells. For
//! numbers, columns are processed in chunks, in O((n_nodes + n_samples) · n_outputs) time, with residuals about each
//! node's own value and a stack of the subtrees whose parents are still to come.

mod counts;
mod numbers;
#[cfg(test)]
mod tests;

use std::ops::{Add, Range};

use self::counts::{LeafColumns, mistakes};
use self::numbers::{HeldOutNumbers, squared_errors};
use super::Tree;
use crate::control::Control;
use crate::data::dataset::Names;
use crate::data::known::Known;
use crate::data::{Dataset, Outputs, Targets, Weights};
use crate::error::{Error, Purpose, Result};
use crate::tree::rows::Rows;
use crate::tree::traverse::by_leaf;

const PURPOSE: Purpose = Purpose("the losses of nodes");

impl Tree {
    /// Returns the smallest pruned tree with the lowest loss on validation samples, which are the samples of `data`.
    ///
    /// The loss is the squared error for numerical outputs, and the number of wrong classes or labels otherwise. Cells of
    /// y under a mask do not count, and an output may have none that is known. The
    /// samples of `data` must not be training samples. Subtrees that no validation sample reaches are replaced by
    /// leaves. The result does not depend on the layout of X.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Shape`] if the number of features or samples does not match; [`crate::ErrorKind::Invalid`]
    /// if there are no samples, if the outputs or classes differ from those of the tree, if weights are invalid, if
    /// values are not finite, and if leaves are medians; [`crate::ErrorKind::Interrupted`],
    /// [`crate::ErrorKind::OutOfMemory`].
    pub fn prune_reduced_error<'d>(&self, data: impl Into<Dataset<'d>>) -> Result<Tree> {
        let data = data.into();
        let control = &data.under();
        let observed = data.observed_held_out()?;
        let data = data.with_observed(observed.as_ref());
        HeldOut::new(self.n_features, &self.outputs, &data, control)?.prune(self, control)
    }
}

/// The validation samples, checked against the model.
#[derive(Debug)]
pub(crate) struct HeldOut<'a, 't> {
    x: Rows<'a>,
    y: &'a Targets<'t>,
    weights: Weights,
    known: Option<&'a Known>,
}

impl<'a, 't> HeldOut<'a, 't> {
    /// The mask of `data` must have been applied.
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
        Ok(HeldOut { x: rows, y: data.y(), weights, known: data.known() })
    }

    pub(crate) fn prune(&self, tree: &Tree, control: &Control) -> Result<Tree> {
        let rows = RowsOfLeaves::new(tree, self, control)?;
        let numbers =
            |y| squared_errors(tree, HeldOutNumbers { y, weights: &self.weights, known: self.known }, &rows, control);
        let becomes_leaf = match self.y {
            Targets::Real(y) => decide(tree, numbers(y.view())?)?,
            Targets::SparseReal(y) => {
                let y = y.to_dense()?;
                decide(tree, numbers(y.view())?)?
            }
            Targets::Classes { codes, n_classes } => {
                let classes = LeafColumns::of_classes(tree, codes.view(), n_classes)?;
                decide(tree, mistakes(tree, (&classes, &self.weights, self.known), &rows, control)?)?
            }
            Targets::Labels(y) => {
                let labels = LeafColumns::Labels(y);
                decide(tree, mistakes(tree, (&labels, &self.weights, self.known), &rows, control)?)?
            }
        };
        tree.collapsed(|i| becomes_leaf[i], control)
    }
}

/// Returns which splits become leaves, given the loss of each node as a leaf.
fn decide<L: Copy + Add<Output = L> + PartialOrd>(tree: &Tree, mut losses: Vec<L>) -> Result<Vec<bool>> {
    let mut becomes_leaf = PURPOSE.filled(false, tree.n_nodes())?;
    // The loop is backwards, so that `losses` of the nodes below are those of what remains of their subtrees.
    for (i, node) in tree.nodes.iter().enumerate().rev().filter(|(_, node)| !node.is_leaf()) {
        let below = losses[i + 1] + losses[node.right() as usize];
        becomes_leaf[i] = losses[i] <= below;
        if !becomes_leaf[i] {
            losses[i] = below;
        }
    }
    Ok(becomes_leaf)
}

/// The validation samples of positive weight that reach each leaf, in increasing order.
#[derive(Debug)]
struct RowsOfLeaves {
    rows: Vec<u32>,
    ranges: Vec<Range<u32>>,
}

impl RowsOfLeaves {
    fn new(tree: &Tree, held_out: &HeldOut<'_, '_>, control: &Control) -> Result<Self> {
        let leaves = held_out.x.leaves(tree, control)?;
        let mut there = Purpose("the rows of leaves").with_capacity(leaves.len())?;
        there.extend((0..leaves.len() as u32).filter(|&row| held_out.weights.units(row as usize) > 0));
        let (rows, ranges) = by_leaf(&there, &leaves, tree.n_leaves())?;
        Ok(RowsOfLeaves { rows, ranges })
    }

    fn of(&self, leaf: usize) -> &[u32] {
        let range = &self.ranges[leaf];
        &self.rows[range.start as usize..range.end as usize]
    }
}
