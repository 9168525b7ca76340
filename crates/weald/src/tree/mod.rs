//! A fitted tree: an immutable structure of arrays in pre-order, and the table of its leaves.
//!
//! *Nodes* are numbered in pre-order, so that the left child of node i is i + 1, and children come after their parents.
//! *Leaves* are numbered separately, in the same order; their numbers are the rows of the [`LeafTable`].
//!
//! A tree is made by growth or read from a model file. It computes predictions and, on request, the arrays that
//! scikit-learn's tools read. Every pass over the nodes is a loop, never a recursion, because trees on sparse data can
//! be arbitrarily deep.
//!
//! | file | what |
//! |---|---|
//! | `config` | parameters |
//! | `constraints` | monotonic and interaction constraints, for the outputs and features of a fit |
//! | `node` | a leaf, or a split with its decision, in 12 bytes |
//! | `categories` | the sets of categories that splits send left |
//! | `leaves` | the table of leaf values, dense or sparse, and its compact forms |
//! | `leaf_values` | the values of leaves as a sparse matrix |
//! | `rows` | X in the form that prediction reads: blocks of dense samples, or sparse samples expanded one by one |
//! | `traverse` | finding the leaf of each sample |
//! | `partial_dependence` | partial dependence: the mean prediction for given values of some features |
//! | `shap` | Shapley values: the contributions of features to the difference of a prediction from the mean |
//! | `importance` | feature importances: the decrease of impurity, for all or for selected outputs |
//! | `growth` | growing a tree |
//! | `fill`, `masked_fill`, `median` | the values of leaves, computed from their samples |
//! | `collapse` | the tree that remains when splits are replaced by leaves |
//! | `prune` | pruning by minimal cost-complexity |
//! | `reduced_error` | pruning by the loss on other samples |
//! | `rules` | leaves as rules in text, with merged conditions |

mod categories;
mod collapse;
pub(crate) mod config;
pub(crate) mod constraints;
mod few_leaves;
pub(crate) mod fill;
pub(crate) mod growth;
pub(crate) mod importance;
mod leaf_values;
pub(crate) mod leaves;
pub(crate) mod masked_fill;
mod median;
mod node;
pub(crate) mod partial_dependence;
pub(crate) mod prune;
pub(crate) mod reduced_error;
pub(crate) mod rows;
mod rules;
pub(crate) mod shap;
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
use crate::error::{Purpose, Result};
use crate::exact::{PowerOfTwo, exponent_above};
use crate::partition::category_sets::CategorySets;
use crate::partition::decision::{Decision, Side};

/// A fitted decision tree. It is immutable and can be shared between threads.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    pub(crate) n_features: usize,
    /// The outputs are shared, because a model file could otherwise demand memory for (number of trees) × (number of
    /// outputs).
    pub(crate) outputs: Arc<Outputs>,
    /// The impurity that the splits reduced.
    pub(crate) criterion: Criterion,
    pub(crate) nodes: Vec<Node>,
    /// The sets of categories of the splits that list categories, in the order of the splits.
    pub(crate) sets: CategorySets,
    /// The impurity of each node (mean over outputs).
    pub(crate) impurity: Vec<f64>,
    /// The number of distinct samples of positive weight in each node.
    pub(crate) n_node_samples: Vec<u32>,
    /// The total weight in each node.
    pub(crate) weighted_n_node_samples: Vec<f64>,
    pub(crate) leaves: LeafTable,
}

/// The feature that scikit-learn stores in leaves.
const NO_FEATURE: i64 = -2;
/// The child that scikit-learn stores in leaves.
const NO_CHILD: i64 = -1;
/// The threshold that scikit-learn stores in leaves.
const NO_THRESHOLD: f64 = -2.0;

impl Tree {
    /// The bytes of a node without the values of its leaf and the set of its categories.
    pub(crate) const BYTES_OF_A_NODE: usize = size_of::<Node>() + 2 * size_of::<f64>() + size_of::<u32>();

    /// Returns the number of features that samples must have.
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// Returns the meaning of the columns of predictions.
    pub fn outputs(&self) -> &Outputs {
        &self.outputs
    }

    /// Returns the impurity that the splits reduced.
    pub fn criterion(&self) -> Criterion {
        self.criterion
    }

    /// Returns the nodes in pre-order.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns the values of the leaves.
    pub fn leaves(&self) -> &LeafTable {
        &self.leaves
    }

    /// Returns the number of nodes, including leaves.
    pub fn n_nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the number of leaves.
    pub fn n_leaves(&self) -> usize {
        self.leaves.n_leaves
    }

    /// Returns a tree with the same nodes and other leaves.
    pub(crate) fn with_leaves(&self, leaves: LeafTable) -> Result<Tree> {
        const PURPOSE: Purpose = Purpose("the nodes of a tree");
        Ok(Tree {
            n_features: self.n_features,
            outputs: self.outputs.clone(),
            criterion: self.criterion,
            nodes: PURPOSE.copied(&self.nodes)?,
            sets: self.sets.try_clone()?,
            impurity: PURPOSE.copied(&self.impurity)?,
            n_node_samples: PURPOSE.copied(&self.n_node_samples)?,
            weighted_n_node_samples: PURPOSE.copied(&self.weighted_n_node_samples)?,
            leaves,
        })
    }

    pub(crate) fn try_clone(&self) -> Result<Tree> {
        self.with_leaves(self.leaves.try_clone()?)
    }

    /// Returns the number of splits on the longest path from the root to a leaf: 0 for a tree with a single leaf.
    /// O(n_nodes).
    pub fn max_depth(&self) -> usize {
        self.depths().max().unwrap_or(0)
    }

    /// Returns the depth of each node: the number of splits above it.
    fn depths(&self) -> impl Iterator<Item = usize> {
        // The depths of right children that are still to come: in pre-order, the last of them follows a leaf.
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

    /// Returns the left child of each node, of length n_nodes; −1 for leaves.
    ///
    /// # Errors
    /// [`crate::ErrorKind::OutOfMemory`].
    pub fn children_left(&self) -> Result<Vec<i64>> {
        self.per_node(NO_CHILD, |i, _| i as i64 + 1)
    }

    /// Returns the right child of each node, of length n_nodes; −1 for leaves.
    ///
    /// # Errors
    /// [`crate::ErrorKind::OutOfMemory`].
    pub fn children_right(&self) -> Result<Vec<i64>> {
        self.per_node(NO_CHILD, |_, node| node.right().into())
    }

    /// Returns the feature that each node tests, of length n_nodes; −2 for leaves.
    ///
    /// # Errors
    /// [`crate::ErrorKind::OutOfMemory`].
    pub fn feature(&self) -> Result<Vec<i64>> {
        self.per_node(NO_FEATURE, |_, node| node.feature().into())
    }

    /// Returns the decision of a split. It is meaningless for leaves.
    pub fn decision(&self, node: usize) -> Decision<'_> {
        self.nodes[node].decision(&self.sets)
    }

    /// Returns the threshold of each node, of length n_nodes; −2 for leaves. Samples with `x[feature] <= threshold` go
    /// left. The threshold is NaN if the node tests categories, see [`Tree::categories_left`].
    ///
    /// # Errors
    /// [`crate::ErrorKind::OutOfMemory`].
    pub fn threshold(&self) -> Result<Vec<f64>> {
        self.per_node(NO_THRESHOLD, |_, node| node.threshold().into())
    }

    /// Returns 1 for each node that sends missing values to the left child, and 0 for all others and for leaves.
    ///
    /// # Errors
    /// [`crate::ErrorKind::OutOfMemory`].
    pub fn missing_go_to_left(&self) -> Result<Vec<u8>> {
        self.per_node(0, |_, node| u8::from(node.decision(&self.sets).missing() == Side::Left))
    }

    /// Returns the impurity of each node: the mean over outputs.
    pub fn impurity(&self) -> &[f64] {
        &self.impurity
    }

    /// Returns the number of distinct samples of positive weight in each node.
    pub fn n_node_samples(&self) -> &[u32] {
        &self.n_node_samples
    }

    /// Returns the total weight in each node.
    pub fn weighted_n_node_samples(&self) -> &[f64] {
        &self.weighted_n_node_samples
    }

    fn per_node<T: Copy>(&self, in_leaves: T, split: impl Fn(usize, &Node) -> T) -> Result<Vec<T>> {
        let of_node = |(i, node): (usize, &Node)| if node.is_leaf() { in_leaves } else { split(i, node) };
        Purpose("the nodes of a tree").collected(self.nodes.iter().enumerate().map(of_node))
    }

    /// Returns the prediction of each node as if it were a leaf, of shape (n_nodes, n_outputs, max_n_classes): the
    /// means of numerical outputs (with one "class"), the frequencies of classes (0 for classes that an output does not
    /// have), or the frequencies of 0 and 1 for labels.
    ///
    /// Internal nodes have the weighted mean of their leaves, also if these are medians. Time and memory are O(n_nodes
    /// · width): the method is meant for inspecting trees, and is not used by other methods.
    ///
    /// # Errors
    /// [`crate::ErrorKind::OutOfMemory`].
    pub fn value(&self) -> Result<Array3<f64>> {
        const PURPOSE: Purpose = Purpose("the values of all nodes");
        let max_n_classes = match self.outputs() {
            Outputs::Real { .. } => 1,
            Outputs::Classes { n_classes } => n_classes.iter().copied().max().unwrap_or(0) as usize,
            Outputs::Labels { .. } => 2,
        };
        let (n_nodes, n_outputs) = (self.n_nodes(), self.outputs.n_outputs());
        let stride = n_outputs * max_n_classes;
        let out_of_memory = PURPOSE.missing::<u8>(usize::MAX);
        let mut value = PURPOSE.filled(0.0, n_nodes.checked_mul(stride).ok_or(out_of_memory)?)?;
        let mut totals = PURPOSE.filled(0.0, n_nodes)?;
        let places = self.outputs.places(max_n_classes)?;
        // The computation is bottom-up: it first sums over the leaves below each node and divides at the end, so that
        // counts stay exact.
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

    /// Returns the power of two by which the weights of nodes are multiplied before they are multiplied by means or impurities:
    /// weights may have any finite size, but not so their products. Impurities of numbers of up to 1e150 are below 2^998.
    fn scale_of_weights(&self) -> PowerOfTwo {
        let exponent = exponent_above(self.weighted_n_node_samples[0]);
        PowerOfTwo::new(exponent.clamp(-26, 26) - exponent)
    }

    /// Returns, for the leaf at node `i`, the factor that makes its amounts summable, and the divisor of such sums.
    /// Counts are summed as they are; means are multiplied by the weight of their leaf.
    fn leaf_scale(&self, i: usize) -> (f64, f64) {
        let weight = self.scale_of_weights().times(self.weighted_n_node_samples[i]);
        self.leaves.total(self.nodes[i].right() as usize).map_or((weight, weight), |total| (1.0, total))
    }
}

impl Outputs {
    /// Returns the position of each column of predictions in a node of shape (n_outputs, max_n_classes).
    fn places(&self, max_n_classes: usize) -> Result<Vec<usize>> {
        const PURPOSE: Purpose = Purpose("the columns of predictions");
        match self {
            Outputs::Real { n_outputs } => PURPOSE.collected(0..*n_outputs),
            Outputs::Labels { n_labels } => PURPOSE.collected((0..*n_labels).map(|label| 2 * label + 1)),
            Outputs::Classes { n_classes } => {
                let of_output = |(o, &k): (usize, &u32)| (0..k as usize).map(move |c| o * max_n_classes + c);
                let mut places = PURPOSE.with_capacity(self.width())?;
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
                    // The mean of the leaves below, computed in another order.
                    assert!((got - sum / tree.weighted_n_node_samples[i]).abs() < 1e-12);
                    if tree.nodes[i].is_leaf() && tree.leaves.totals.is_some() {
                        assert_eq!(got, leaves[[tree.nodes[i].right() as usize, column]]);
                    }
                }
            }
        }
    }
}
