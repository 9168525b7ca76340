//! One fitted tree: an immutable structure of arrays in pre-order, and the table of its leaves.

pub(crate) mod fill;
mod frontier;
pub(crate) mod grow;
pub(crate) mod leaves;

pub use leaves::LeafTable;

use crate::config::Criterion;
use crate::data::Outputs;

/// A node in 12 bytes, as prediction walks it. Nodes are in pre-order: the left child of node i is i + 1.
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Node {
    /// Feature tested, or [`Node::LEAF`].
    pub feature: u32,
    /// Samples with `x[feature] <= threshold` go left. Zero in leaves.
    pub threshold: f32,
    /// Index of the right child; in a leaf, the leaf's row in the [`LeafTable`] (leaves are numbered in pre-order).
    pub right: u32,
}

impl Node {
    /// Value of `feature` in leaves.
    pub const LEAF: u32 = u32::MAX;

    /// Whether the node is a leaf.
    pub fn is_leaf(&self) -> bool {
        self.feature == Node::LEAF
    }
}

/// A fitted decision tree. Immutable; shared freely between threads.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    pub(crate) n_features: usize,
    pub(crate) outputs: Outputs,
    /// Impurity that the splits reduced.
    pub(crate) criterion: Criterion,
    pub(crate) nodes: Vec<Node>,
    /// Impurity of each node (mean over outputs).
    pub(crate) impurity: Vec<f64>,
    /// Distinct samples of positive weight in each node.
    pub(crate) n_node_samples: Vec<u32>,
    /// Total weight in each node.
    pub(crate) weighted_n_node_samples: Vec<f64>,
    pub(crate) leaves: LeafTable,
}
