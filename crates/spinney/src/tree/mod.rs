//! One fitted tree: an immutable structure of arrays in pre-order, and the table of its leaves.
//!
//! Vocabulary: *nodes* are numbered in pre-order, so the left child of node i is i + 1 and children come after their
//! parents; *leaves* are numbered among themselves, in the same order, and name the rows of the [`LeafTable`].
//!
//! In: what growth or a model file made. Out: predictions, and the arrays that scikit-learn's tools read, computed when
//! asked for. Every pass over nodes is a loop, never a recursion: trees on sparse data are as deep as they please.
//!
//! | file | what |
//! |---|---|
//! | `config` | parameters |
//! | `constraints` | monotonic and interaction constraints for the columns and features of a fit |
//! | `node` | a leaf, or a split with its decision, in 12 bytes |
//! | `categories` | the sets of categories that splits send left |
//! | `leaves` | the table of leaf values, dense or sparse, and its smaller forms |
//! | `leaf_values` | the values of leaves as a sparse matrix |
//! | `rows` | X as prediction reads it: blocks of dense rows, or sparse rows scattered one by one |
//! | `traverse` | walking rows to their leaves |
//! | `partial_dependence` | what is predicted on average when some features are given |
//! | `shap` | Shapley values: how features move what a tree tells away from its mean |
//! | `importance` | which features reduced the impurity, of all or of chosen outputs |
//! | `fill`, `masked_fill`, `median` | values of the leaves, from their samples |
//! | `collapse` | the tree that is left when splits become leaves |
//! | `prune` | which splits: by cost and complexity |
//! | `reduced_error` | which splits: by the loss of other rows |
//! | `subtrees` | growth on several threads: what is below some nodes, side by side |
//! | `rules` | leaves as text, with merged conditions |

mod categories;
mod collapse;
pub(crate) mod config;
pub(crate) mod constraints;
pub(crate) mod fill;
mod frontier;
pub(crate) mod grow;
pub(crate) mod grower;
pub(crate) mod importance;
mod leaf_values;
pub(crate) mod leaves;
mod masked_fill;
mod median;
mod node;
pub(crate) mod partial_dependence;
pub(crate) mod prune;
pub(crate) mod reduced_error;
pub(crate) mod rows;
mod rules;
pub(crate) mod shap;
mod subtrees;
pub(crate) mod traverse;

pub use config::{MaxFeatures, TreeConfig};
pub use leaf_values::LeafValues;
pub use leaves::{LeafTable, Precision};
pub use node::Node;
pub use prune::PruningPath;
pub use rules::RuleStyle;

use std::sync::Arc;

use ndarray::Array3;

use crate::criterion::Criterion;
use crate::data::Outputs;
use crate::error::{ErrorKind, Result, try_collected, try_copied, try_filled, try_with_capacity};
use crate::partition::category_sets::CategorySets;
use crate::partition::decision::{Decision, Side};

/// A fitted decision tree. Immutable; shared freely between threads.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    pub(crate) n_features: usize,
    /// Shared: there may be as many trees and outputs as a file has bytes.
    pub(crate) outputs: Arc<Outputs>,
    /// Impurity that the splits reduced.
    pub(crate) criterion: Criterion,
    pub(crate) nodes: Vec<Node>,
    /// Of the splits that list categories, in their order.
    pub(crate) sets: CategorySets,
    /// Impurity of each node (mean over outputs).
    pub(crate) impurity: Vec<f64>,
    /// Distinct samples of positive weight in each node.
    pub(crate) n_node_samples: Vec<u32>,
    /// Total weight in each node.
    pub(crate) weighted_n_node_samples: Vec<f64>,
    pub(crate) leaves: LeafTable,
}

/// Feature that scikit-learn writes in leaves.
const NO_FEATURE: i64 = -2;
/// Child that scikit-learn writes in leaves.
const NO_CHILD: i64 = -1;
/// Threshold that scikit-learn writes in leaves.
const NO_THRESHOLD: f64 = -2.0;

impl Tree {
    /// Number of features that rows must have.
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// Meaning of the columns of predictions.
    pub fn outputs(&self) -> &Outputs {
        &self.outputs
    }

    /// Impurity that the splits reduced.
    pub fn criterion(&self) -> Criterion {
        self.criterion
    }

    /// Nodes in pre-order.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Values of the leaves.
    pub fn leaves(&self) -> &LeafTable {
        &self.leaves
    }

    /// Number of nodes, leaves included.
    pub fn n_nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Number of leaves.
    pub fn n_leaves(&self) -> usize {
        self.leaves.n_leaves
    }

    /// The same nodes with other leaves.
    pub(crate) fn with_leaves(&self, leaves: LeafTable) -> Result<Tree> {
        const WHAT: &str = "the nodes of a tree";
        Ok(Tree {
            n_features: self.n_features,
            outputs: self.outputs.clone(),
            criterion: self.criterion,
            nodes: try_copied(WHAT, &self.nodes)?,
            sets: self.sets.try_clone()?,
            impurity: try_copied(WHAT, &self.impurity)?,
            n_node_samples: try_copied(WHAT, &self.n_node_samples)?,
            weighted_n_node_samples: try_copied(WHAT, &self.weighted_n_node_samples)?,
            leaves,
        })
    }

    pub(crate) fn try_clone(&self) -> Result<Tree> {
        self.with_leaves(self.leaves.try_clone()?)
    }

    /// Number of splits on the longest path: 0 for a single leaf. O(n_nodes).
    pub fn max_depth(&self) -> usize {
        self.depths().max().unwrap_or(0)
    }

    /// Number of splits above each node.
    fn depths(&self) -> impl Iterator<Item = usize> {
        // Of the right children to come: in pre-order the last of them is next after a leaf.
        let mut to_come = Vec::new();
        let mut next = 0;
        self.nodes.iter().map(move |node| {
            let depth = next;
            if node.is_leaf() {
                next = to_come.pop().unwrap_or(0);
            } else {
                next = depth + 1;
                to_come.push(next);
            }
            depth
        })
    }

    /// Left child of each node, −1 in leaves.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`].
    pub fn children_left(&self) -> Result<Vec<i64>> {
        self.per_node(NO_CHILD, |i, _| i as i64 + 1)
    }

    /// Right child of each node, −1 in leaves.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`].
    pub fn children_right(&self) -> Result<Vec<i64>> {
        self.per_node(NO_CHILD, |_, node| node.right().into())
    }

    /// Feature that each node tests, −2 in leaves.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`].
    pub fn feature(&self) -> Result<Vec<i64>> {
        self.per_node(NO_FEATURE, |_, node| node.feature().into())
    }

    /// What a split asks of its feature. Means nothing in leaves.
    pub fn decision(&self, node: usize) -> Decision<'_> {
        self.nodes[node].decision(&self.sets)
    }

    /// Threshold of each node, −2 in leaves: `x[feature] <= threshold` goes left. NaN where categories are tested, see
    /// [`Tree::categories_left`].
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`].
    pub fn threshold(&self) -> Result<Vec<f64>> {
        self.per_node(NO_THRESHOLD, |_, node| node.threshold().into())
    }

    /// 1 where samples whose value is missing go to the left child, 0 elsewhere and in leaves.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`].
    pub fn missing_go_to_left(&self) -> Result<Vec<u8>> {
        self.per_node(0, |_, node| u8::from(node.decision(&self.sets).missing() == Side::Left))
    }

    /// Impurity of each node: mean over outputs.
    pub fn impurity(&self) -> &[f64] {
        &self.impurity
    }

    /// Distinct samples of positive weight in each node.
    pub fn n_node_samples(&self) -> &[u32] {
        &self.n_node_samples
    }

    /// Total weight in each node.
    pub fn weighted_n_node_samples(&self) -> &[f64] {
        &self.weighted_n_node_samples
    }

    fn per_node<T: Copy>(&self, in_leaves: T, split: impl Fn(usize, &Node) -> T) -> Result<Vec<T>> {
        let of_node = |(i, node): (usize, &Node)| if node.is_leaf() { in_leaves } else { split(i, node) };
        try_collected("the nodes of a tree", self.nodes.iter().enumerate().map(of_node))
    }

    /// What each node would predict as a leaf, of shape (n_nodes, n_outputs, max_n_classes): means of numbers (one
    /// "class"), frequencies of the classes (zeros beyond an output's own), or of 0 and 1 for labels.
    ///
    /// Internal nodes have the weighted mean of their leaves, where these are medians as well. O(n_nodes · width), time and memory: this is for
    /// looking at trees, nothing else needs it.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`].
    pub fn value(&self) -> Result<Array3<f64>> {
        const WHAT: &str = "the values of all nodes";
        let max_n_classes = match self.outputs() {
            Outputs::Real { .. } => 1,
            Outputs::Classes { n_classes } => n_classes.iter().copied().max().unwrap_or(0) as usize,
            Outputs::Labels { .. } => 2,
        };
        let (n_nodes, n_outputs) = (self.n_nodes(), self.outputs.n_outputs());
        let stride = n_outputs * max_n_classes;
        let out_of_memory = ErrorKind::OutOfMemory { what: WHAT, bytes: usize::MAX };
        let mut value = try_filled(WHAT, 0.0, n_nodes.checked_mul(stride).ok_or(out_of_memory)?)?;
        let mut totals = try_filled(WHAT, 0.0, n_nodes)?;
        let places = self.outputs.places(max_n_classes)?;
        // Bottom-up: first sums over the leaves below each node, then quotients, so counts stay exact to the end.
        for (i, node) in self.nodes.iter().enumerate().rev() {
            if node.is_leaf() {
                let leaf = node.right() as usize;
                let (scale, total) = self.leaf_scale(i);
                totals[i] = total;
                for (column, amount) in self.leaves.cells(leaf) {
                    value[i * stride + places[column as usize]] = amount * scale;
                }
            } else {
                let (left, right) = (i + 1, node.right() as usize);
                totals[i] = totals[left] + totals[right];
                for at in 0..stride {
                    value[i * stride + at] = value[left * stride + at] + value[right * stride + at];
                }
            }
        }
        if stride > 0 {
            for (node, total) in value.chunks_exact_mut(stride).zip(&totals) {
                node.iter_mut().for_each(|v| *v /= total);
                if let Outputs::Labels { .. } = self.outputs() {
                    node.chunks_exact_mut(2).for_each(|v| v[0] = 1.0 - v[1]);
                }
            }
        }
        Ok(Array3::from_shape_vec((n_nodes, n_outputs, max_n_classes), value).expect("length is the product above"))
    }

    /// For the leaf at node `i`: the factor that turns its amounts into summable ones, and the divisor of such sums.
    /// Counts are summed as they are; means are summed with their leaf's weight.
    fn leaf_scale(&self, i: usize) -> (f64, f64) {
        let weight = self.weighted_n_node_samples[i];
        self.leaves.total(self.nodes[i].right() as usize).map_or((weight, weight), |total| (1.0, total))
    }
}

impl Outputs {
    /// Where each column of predictions lies in a node of shape (n_outputs, max_n_classes).
    fn places(&self, max_n_classes: usize) -> Result<Vec<usize>> {
        const WHAT: &str = "the columns of predictions";
        match self {
            Outputs::Real { n_outputs } => try_collected(WHAT, 0..*n_outputs),
            Outputs::Labels { n_labels } => try_collected(WHAT, (0..*n_labels).map(|label| 2 * label + 1)),
            Outputs::Classes { n_classes } => {
                let of_output = |(o, &k): (usize, &u32)| (0..k as usize).map(move |c| o * max_n_classes + c);
                let mut places = try_with_capacity(WHAT, self.width())?;
                places.extend(n_classes.iter().enumerate().flat_map(of_output));
                Ok(places)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{models, naive};

    #[test]
    fn arrays_are_those_of_scikit_learn() {
        let tree = models::chain(2);
        assert_eq!((tree.n_nodes(), tree.n_leaves(), tree.max_depth()), (5, 3, 2));
        assert_eq!(tree.children_left().unwrap(), [1, 2, -1, -1, -1]);
        assert_eq!(tree.children_right().unwrap(), [4, 3, -1, -1, -1]);
        assert_eq!(tree.feature().unwrap(), [0, 0, -2, -2, -2]);
        assert_eq!(tree.threshold().unwrap(), [0.0, -1.0, -2.0, -2.0, -2.0]);
        assert_eq!(tree.n_node_samples(), [3, 2, 1, 1, 1]);
        assert_eq!(tree.weighted_n_node_samples(), [3.0, 2.0, 1.0, 1.0, 1.0]);
        let value = tree.value().unwrap();
        assert_eq!(value.dim(), (5, 2, 2));
        let positive: Vec<f64> = (0..5).map(|i| value[[i, 1, 1]]).collect();
        assert_eq!(positive, [1.0 / 3.0, 0.5, 0.0, 1.0, 0.0]);
        assert_eq!(value[[0, 1, 0]], 1.0 - 1.0 / 3.0);
    }

    #[test]
    fn values_are_weighted_means_of_the_leaves_below() {
        for seed in 0..150 {
            let forest = models::some_forest(seed);
            let tree = forest.tree(0);
            let (value, leaves) = (tree.value().unwrap(), naive::leaf_values(tree));
            let max_n_classes = value.dim().2;
            let places = tree.outputs.places(max_n_classes).unwrap();
            for i in 0..tree.n_nodes() {
                let mut end = i;
                while !tree.nodes[end].is_leaf() {
                    end = tree.nodes[end].right() as usize;
                }
                for (column, &place) in places.iter().enumerate() {
                    let below = (i..=end).filter(|&l| tree.nodes[l].is_leaf());
                    let sum: f64 = below
                        .map(|l| tree.weighted_n_node_samples[l] * leaves[[tree.nodes[l].right() as usize, column]])
                        .sum();
                    let got = value[[i, place / max_n_classes, place % max_n_classes]];
                    // The mean of the leaves below, in another order.
                    assert!((got - sum / tree.weighted_n_node_samples[i]).abs() < 1e-12);
                    if tree.nodes[i].is_leaf() && tree.leaves.totals.is_some() {
                        assert_eq!(got, leaves[[tree.nodes[i].right() as usize, column]]);
                    }
                }
            }
        }
    }
}
