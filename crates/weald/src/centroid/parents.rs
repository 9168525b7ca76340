//! Shrinkage of leaves towards the values of their parents.
//!
//! A leaf of weight n predicts (n · its values + a · its parent's values) / (n + a): as if it contained a additional
//! samples that are like those of its parent. The values of a parent are the weighted mean of those of all leaves below
//! it. For labels, only the most frequent ones are kept, as the others would take more memory than all leaves and
//! change little. If some cells of y are unknown, `tree::masked_fill` computes the values of parents.

use super::CentroidTree;
use crate::data::Outputs;
use crate::error::{Purpose, Result};
use crate::exact::{PowerOfTwo, exponent_above};
use crate::tree::LeafTable;
use crate::tree::leaves::LeafTableBuilder;

const PURPOSE: Purpose = Purpose("the parents of leaves");

/// Maximum number of labels that a parent keeps.
const MOST_LABELS: usize = 32;

/// The parent of each leaf, and the weight of the leaf's own values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Parents {
    /// The values of the nodes that are parents of leaves, one row for each.
    table: LeafTable,
    /// The row of each leaf's parent in this table.
    of_leaf: Vec<u32>,
    /// n / (n + a) of each leaf.
    own: Vec<f64>,
}

impl Parents {
    /// Computes the parents; `None` if the tree is a single leaf. For labels, parents keep the most frequent ones.
    pub(super) fn new(tree: &CentroidTree, outputs: &Outputs, a: f64) -> Result<Option<Self>> {
        if a == 0.0 || tree.n_nodes() == 1 {
            return Ok(None);
        }
        let width = tree.leaves.width();
        let are_counts = (0..tree.leaves.n_leaves()).all(|leaf| tree.leaves.total(leaf).is_some());
        let mut table = if are_counts { LeafTableBuilder::new(width) } else { LeafTableBuilder::of_means(width) };
        let mut sum = Sum { sums: PURPOSE.filled(0.0, width)?, columns: Vec::new(), below: Vec::new() };
        tree.parent_nodes().try_for_each(|node| sum.push(tree, node, are_counts, &mut table))?;
        Parents::of_values(tree, table.finish()?, outputs, a).map(Some)
    }

    /// Builds the parents from their values. For labels, they keep the most frequent ones.
    pub(super) fn of_values(tree: &CentroidTree, table: LeafTable, outputs: &Outputs, a: f64) -> Result<Self> {
        let table = match outputs {
            Outputs::Labels { n_labels } if *n_labels > MOST_LABELS => {
                table.top_k(MOST_LABELS, std::slice::from_ref(&(0..*n_labels as u32)))?
            }
            Outputs::Labels { .. } | Outputs::Classes { .. } | Outputs::Real { .. } => table,
        };
        Parents::of_table(tree, table, a)
    }

    /// Builds the parents from a table, which must have a row for each node with a leaf among its children, in the
    /// order of the nodes.
    pub(crate) fn of_table(tree: &CentroidTree, table: LeafTable, a: f64) -> Result<Self> {
        let mut of_leaf = PURPOSE.filled(0, tree.leaves.n_leaves())?;
        let mut own = PURPOSE.filled(0.0, tree.leaves.n_leaves())?;
        for (row, parent) in (0..).zip(tree.parent_nodes()) {
            for child in tree.children(parent).filter(|&child| tree.children(child).is_empty()) {
                let (leaf, weight) = (tree.leaf_of[child] as usize, tree.weighted_n_node_samples[child]);
                of_leaf[leaf] = row;
                own[leaf] = weight / (weight + a);
            }
        }
        Ok(Parents { table, of_leaf, own })
    }

    pub(crate) fn table(&self) -> &LeafTable {
        &self.table
    }

    pub(super) fn n_bytes(&self) -> usize {
        self.table.n_bytes() + 4 * self.of_leaf.len() + 8 * self.own.len()
    }

    /// Returns the weight of a leaf's own values, and the table and row of its parent, which has the rest of the
    /// weight.
    pub(crate) fn of(&self, leaf: usize) -> (f64, &LeafTable, usize) {
        (self.own[leaf], &self.table, self.of_leaf[leaf] as usize)
    }
}

/// Sums over the leaves below a node.
#[derive(Debug)]
struct Sum {
    /// The sums, which are zero between two nodes.
    sums: Vec<f64>,
    columns: Vec<u32>,
    /// The nodes that are still to be visited.
    below: Vec<u32>,
}

impl Sum {
    /// Appends the values of a node: amounts divided by their total, or weighted means.
    fn push(&mut self, tree: &CentroidTree, node: usize, are_counts: bool, table: &mut LeafTableBuilder) -> Result<()> {
        let mut total = 0.0;
        // Weights are divided by a power of two, which changes no bit of the means, so that their products with large
        // values are finite.
        let scale = PowerOfTwo::new(-exponent_above(tree.weighted_n_node_samples[node]));
        self.columns.clear();
        PURPOSE.push(&mut self.below, node as u32)?;
        while let Some(node) = self.below.pop() {
            let node = node as usize;
            if !tree.children(node).is_empty() {
                PURPOSE.extend(&mut self.below, (tree.starts[node]..tree.starts[node + 1]).rev())?;
                continue;
            }
            let leaf = tree.leaf_of[node] as usize;
            let weight = if are_counts { 1.0 } else { scale.times(tree.weighted_n_node_samples[node]) };
            total += tree.leaves.total(leaf).filter(|_| are_counts).unwrap_or(weight);
            for (column, amount) in tree.leaves.cells(leaf) {
                PURPOSE.push(&mut self.columns, column)?;
                self.sums[column as usize] += weight * amount;
            }
        }
        self.columns.sort_unstable();
        self.columns.dedup();
        if are_counts {
            let mut cells = Vec::new();
            for &column in &self.columns {
                PURPOSE.push(&mut cells, (column, std::mem::take(&mut self.sums[column as usize]) as u64))?;
            }
            return table.push_counts(&cells, total as u64);
        }
        let Sum { columns, sums, .. } = self;
        let means = columns.iter().map(|&column| (column, std::mem::take(&mut sums[column as usize]) / total));
        table.push_rounded(means.filter(|(_, mean)| *mean != 0.0))
    }
}
