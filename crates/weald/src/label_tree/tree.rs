//! A fitted label tree: flat arrays, with the weights of each node feature by feature.

use super::plan::Plan;
use crate::error::{Purpose, Result};
use crate::linear::Kept;

const PURPOSE: Purpose = Purpose("the weights of a label tree");

/// A fitted label tree. Nodes are numbered breadth first, and the root is node 0.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelTree {
    /// Whether the columns of a node are labels, and not nodes.
    pub(crate) is_leaf: Vec<bool>,
    /// The columns of node i are those from `column_ptr[i]` to `column_ptr[i + 1]`.
    pub(crate) column_ptr: Vec<usize>,
    /// The node of each column, or in a leaf its label. The nodes of a node are consecutive, the labels of a leaf increasing.
    pub(crate) targets: Vec<u32>,
    pub(crate) intercepts: Vec<f32>,
    /// The features with a weight in node i, which are increasing, are those from `feature_ptr[i]` to
    /// `feature_ptr[i + 1]` in `features`.
    pub(crate) feature_ptr: Vec<usize>,
    pub(crate) features: Vec<u32>,
    /// The weights of the i-th of `features` are those from `weight_ptr[i]` to `weight_ptr[i + 1]`. Columns are counted
    /// from the first one of the node, and increasing.
    pub(crate) weight_ptr: Vec<usize>,
    pub(crate) columns: Vec<u16>,
    pub(crate) values: Vec<f32>,
    /// The number of columns whose fit did not reach the tolerance.
    pub(crate) n_unfinished: usize,
    /// The largest number of passes over the samples of a column.
    pub(crate) n_iter: usize,
}

impl LabelTree {
    /// Returns the number of nodes, with leaves.
    pub fn n_nodes(&self) -> usize {
        self.is_leaf.len()
    }

    /// Returns the number of leaves.
    pub fn n_leaves(&self) -> usize {
        self.is_leaf.iter().filter(|is_leaf| **is_leaf).count()
    }

    /// Returns the children of a node, or `None` if it is a leaf.
    pub fn children(&self, node: usize) -> Option<&[u32]> {
        (!self.is_leaf[node]).then(|| self.targets_of(node))
    }

    /// Returns the labels of a leaf, in increasing order, or `None` if the node is no leaf.
    pub fn labels(&self, node: usize) -> Option<&[u32]> {
        self.is_leaf[node].then(|| self.targets_of(node))
    }

    /// Returns the intercepts of the columns of a node: its children, or the labels of a leaf.
    pub fn intercepts(&self, node: usize) -> &[f32] {
        &self.intercepts[self.column_ptr[node]..self.column_ptr[node + 1]]
    }

    /// Returns the columns of a node with a weight for a feature, counted from its first one, and these weights.
    pub fn weights_of(&self, node: usize, feature: u32) -> (&[u16], &[f32]) {
        let first = self.feature_ptr[node];
        match self.features[first..self.feature_ptr[node + 1]].binary_search(&feature) {
            Ok(at) => self.stored(first + at),
            Err(_) => (&[], &[]),
        }
    }

    /// Returns the largest number of edges between the root and a leaf.
    pub fn depth(&self) -> usize {
        let mut depths = vec![0usize; self.n_nodes()];
        for node in 0..self.n_nodes() {
            for &child in self.children(node).unwrap_or(&[]) {
                depths[child as usize] = depths[node] + 1;
            }
        }
        depths.into_iter().max().unwrap_or(0)
    }

    /// Returns the number of stored weights.
    pub fn n_weights(&self) -> usize {
        self.values.len()
    }

    /// Returns the largest number of passes over the samples of a column.
    pub fn n_iter(&self) -> usize {
        self.n_iter
    }

    /// Returns the number of bytes of the arrays.
    pub fn n_bytes(&self) -> usize {
        let offsets = size_of_val(&*self.column_ptr) + size_of_val(&*self.feature_ptr) + size_of_val(&*self.weight_ptr);
        let of_columns = self.is_leaf.len() + size_of_val(&*self.targets) + size_of_val(&*self.intercepts);
        let of_weights = size_of_val(&*self.columns) + size_of_val(&*self.values);
        offsets + of_columns + size_of_val(&*self.features) + of_weights
    }

    pub(crate) fn targets_of(&self, node: usize) -> &[u32] {
        &self.targets[self.column_ptr[node]..self.column_ptr[node + 1]]
    }

    fn stored(&self, at: usize) -> (&[u16], &[f32]) {
        let range = self.weight_ptr[at]..self.weight_ptr[at + 1];
        (&self.columns[range.clone()], &self.values[range])
    }

    /// Calls `found` with each column of a node, its target, and the margin of a sample with increasing features.
    /// Margins are sums in float64 in the order of the features.
    pub(super) fn each_margin(
        &self,
        node: usize,
        (features, values): (&[u32], &[f32]),
        margins: &mut Vec<f64>,
        mut found: impl FnMut(u32, f64) -> Result<()>,
    ) -> Result<()> {
        margins.clear();
        PURPOSE.extend(margins, self.intercepts(node).iter().map(|&intercept| f64::from(intercept)))?;
        let (mut at, end) = (self.feature_ptr[node], self.feature_ptr[node + 1]);
        for (&feature, &value) in features.iter().zip(values) {
            at += self.features[at..end].partition_point(|&stored| stored < feature);
            if at == end {
                break;
            }
            if self.features[at] == feature {
                let (columns, weights) = self.stored(at);
                for (&column, &weight) in columns.iter().zip(weights) {
                    margins[usize::from(column)] += f64::from(value) * f64::from(weight);
                }
            }
        }
        self.targets_of(node).iter().zip(&*margins).try_for_each(|(&target, &margin)| found(target, margin))
    }
}

/// The weights of a node.
#[derive(Debug)]
pub(super) struct NodeWeights {
    intercepts: Vec<f32>,
    features: Vec<u32>,
    /// The number of weights of each feature.
    n_weights: Vec<usize>,
    columns: Vec<u16>,
    values: Vec<f32>,
    n_unfinished: usize,
    n_iter: usize,
}

impl NodeWeights {
    /// Joins the blocks of a node.
    pub(super) fn joined(blocks: &[Kept], n_columns: usize) -> Result<Self> {
        let mut entries = PURPOSE.with_capacity(blocks.iter().map(|block| block.entries.len()).sum())?;
        blocks.iter().for_each(|block| entries.extend_from_slice(&block.entries));
        entries.sort_unstable_by_key(|&(feature, column, _)| (feature, column));
        let (mut features, mut n_weights): (Vec<u32>, Vec<usize>) = (Vec::new(), Vec::new());
        for &(feature, ..) in &entries {
            if features.last() != Some(&feature) {
                PURPOSE.push(&mut features, feature)?;
                PURPOSE.push(&mut n_weights, 0)?;
            }
            *n_weights.last_mut().expect("a feature") += 1;
        }
        let mut intercepts = PURPOSE.filled(-1.0, n_columns)?;
        let of_blocks = blocks.iter().flat_map(|block| &block.intercepts);
        of_blocks.for_each(|&(column, intercept)| intercepts[column as usize] = intercept);
        Ok(NodeWeights {
            intercepts,
            features,
            n_weights,
            columns: PURPOSE.collected(entries.iter().map(|&(_, column, _)| column as u16))?,
            values: PURPOSE.collected(entries.iter().map(|&(.., weight)| weight))?,
            n_unfinished: blocks.iter().map(|block| block.unfinished).sum(),
            n_iter: blocks.iter().map(|block| block.n_passes).max().unwrap_or(0),
        })
    }
}

/// A tree to which the weights of its nodes are added, one node after the other.
#[derive(Debug)]
pub(super) struct Growing(LabelTree);

impl Growing {
    pub(super) fn new(plan: &Plan) -> Result<Self> {
        let (mut column_ptr, mut targets) = (PURPOSE.filled(0, 1)?, Vec::new());
        for part in &plan.parts {
            match part.is_leaf() {
                true => PURPOSE.extend(&mut targets, plan.labels[part.start..part.end].iter().copied())?,
                false => {
                    let children = part.first_child..part.first_child + part.n_children;
                    PURPOSE.extend(&mut targets, children.map(|child| child as u32))?;
                }
            }
            PURPOSE.push(&mut column_ptr, targets.len())?;
        }
        Ok(Growing(LabelTree {
            is_leaf: PURPOSE.collected(plan.parts.iter().map(|part| part.is_leaf()))?,
            column_ptr,
            targets,
            intercepts: Vec::new(),
            feature_ptr: PURPOSE.filled(0, 1)?,
            features: Vec::new(),
            weight_ptr: PURPOSE.filled(0, 1)?,
            columns: Vec::new(),
            values: Vec::new(),
            n_unfinished: 0,
            n_iter: 0,
        }))
    }

    pub(super) fn push(&mut self, node: NodeWeights) -> Result<()> {
        let tree = &mut self.0;
        PURPOSE.extend(&mut tree.intercepts, node.intercepts)?;
        PURPOSE.extend(&mut tree.features, node.features)?;
        PURPOSE.push(&mut tree.feature_ptr, tree.features.len())?;
        let mut end = tree.values.len();
        for n in node.n_weights {
            end += n;
            PURPOSE.push(&mut tree.weight_ptr, end)?;
        }
        PURPOSE.extend(&mut tree.columns, node.columns)?;
        PURPOSE.extend(&mut tree.values, node.values)?;
        tree.n_unfinished += node.n_unfinished;
        tree.n_iter = tree.n_iter.max(node.n_iter);
        Ok(())
    }

    /// Returns the tree with the nodes that were added.
    pub(super) fn tree(&self) -> &LabelTree {
        &self.0
    }

    /// Returns the tree, whose arrays have no spare capacity.
    pub(super) fn finished(self) -> LabelTree {
        let mut tree = self.0;
        tree.features.shrink_to_fit();
        tree.weight_ptr.shrink_to_fit();
        tree.columns.shrink_to_fit();
        tree.values.shrink_to_fit();
        tree
    }
}
