//! Conversion of a linear model over indicators into an ordinary forest.
//!
//! A test node is kept if a strict descendant has a coefficient; otherwise it becomes a leaf. In each of the M trees
//! with more than one leaf, a leaf contains constant + M × the sum of the coefficients on its path, so that the mean
//! over trees is the linear model. Trees that are single leaves are dropped, as they contribute nothing: roots have no
//! coefficients. One of them is kept if there is no other tree.
//!
//! If sums of coefficients are mostly zero, leaves contain only these, and one more tree, a single leaf, contains the
//! constant: the sums are then stored sparsely.

use std::sync::Arc;

use super::engine::NARROW;
use super::path::Coefficient;
use crate::control::Control;
use crate::criterion::Criterion;
use crate::data::Outputs;
use crate::error::{Purpose, Result};
use crate::forest::Forest;
use crate::tree::leaves::LeafTableBuilder;
use crate::tree::{Node, Tree};

const PURPOSE: Purpose = Purpose("the compressed forest");
/// Leaves are treated as sparse if at most one in this number of the coefficients of a node is not zero.
const FEW: usize = 8;

/// A linear model over indicators that are 0 and 1.
#[derive(Clone, Debug)]
pub(crate) struct Linear {
    pub(crate) intercept: Vec<f64>,
    /// The coefficients, in increasing order of tree and node.
    pub(crate) coefficients: Vec<Coefficient>,
}

pub(crate) fn rebuild(forest: &Forest, linear: &Linear, control: &Control) -> Result<Forest> {
    let outputs = Outputs::Real { n_outputs: linear.intercept.len() };
    let mut parts: Vec<&[Coefficient]> = PURPOSE.with_capacity(forest.n_trees())?;
    parts.extend(linear.coefficients.chunk_by(|a, b| a.tree == b.tree));
    let is_sparse = is_sparse(linear);
    let n_kept = (parts.len() + usize::from(is_sparse)) as f64;
    let mut trees = PURPOSE.with_capacity(parts.len() + 1)?;
    let zeros = PURPOSE.filled(0.0, linear.intercept.len())?;
    let of_all = if is_sparse { &zeros } else { &linear.intercept };
    for part in &parts {
        control.check()?;
        let tree = &forest.trees[part[0].tree as usize];
        trees.push(Arc::new(rebuild_tree(tree, part, of_all, n_kept, &outputs)?));
    }
    if trees.is_empty() || is_sparse {
        let constant = PURPOSE.collected(linear.intercept.iter().map(|b| n_kept.max(1.0) * b))?;
        trees.push(Arc::new(rebuild_tree(&forest.trees[0], &[], &constant, 1.0, &outputs)?));
    }
    Ok(Forest { n_features: forest.n_features, outputs, trees, by_output: false })
}

/// Returns whether coefficients are sparse enough for leaves without the constant: at most an eighth of all on average,
/// with more than `NARROW` scores.
fn is_sparse(linear: &Linear) -> bool {
    let width = linear.intercept.len();
    let n_cells: usize = linear.coefficients.iter().map(|c| c.values.iter().filter(|b| **b != 0.0).count()).sum();
    width > NARROW && n_cells > 0 && n_cells <= linear.coefficients.len() * width / FEW
}

/// Rebuilds one tree; coefficients are multiplied by `factor`.
fn rebuild_tree(
    tree: &Tree,
    coefficients: &[Coefficient],
    intercept: &[f64],
    factor: f64,
    outputs: &Outputs,
) -> Result<Tree> {
    let n = tree.n_nodes();
    let control = Control::default();
    // For each node, the position of its coefficients plus one, and whether it or one of its descendants has any.
    let mut place = control.filled(PURPOSE, 0u32, n)?;
    (1u32..).zip(coefficients).for_each(|(i, c)| place[c.node as usize] = i);
    let mut below = control.filled(PURPOSE, false, n)?;
    for (i, node) in tree.nodes.iter().enumerate().rev() {
        below[i] = place[i] > 0 || (!node.is_leaf() && (below[i + 1] || below[node.right() as usize]));
    }
    let is_kept = |i: usize| {
        let node = &tree.nodes[i];
        !node.is_leaf() && (below[i + 1] || below[node.right() as usize])
    };
    let mut leaves = LeafTableBuilder::new(intercept.len());
    let mut nodes: Vec<Node> = Vec::new();
    let (mut impurity, mut samples, mut weights) = (Vec::new(), Vec::new(), Vec::new());
    let mut n_leaves = 0;
    // The sums along the path to a node: there are never more of them than leaves that are still to come.
    let mut values = PURPOSE.filled(0.0, intercept.len())?;
    let mut todo: Vec<(usize, Option<usize>, Vec<f64>)> = vec![(0, None, PURPOSE.copied(&values)?)];
    while let Some((i, right_of, mut sums)) = todo.pop() {
        if let Some(parent) = right_of {
            let parent: &mut Node = &mut nodes[parent];
            parent.set_right(nodes_len(&impurity));
        }
        if place[i] > 0 {
            let beta = &coefficients[place[i] as usize - 1].values;
            sums.iter_mut().zip(beta).for_each(|(s, b)| *s += b);
        }
        PURPOSE.push(&mut impurity, tree.impurity[i])?;
        PURPOSE.push(&mut samples, tree.n_node_samples[i])?;
        PURPOSE.push(&mut weights, tree.weighted_n_node_samples[i])?;
        let node = tree.nodes[i];
        if is_kept(i) {
            PURPOSE.push(&mut todo, (node.right() as usize, Some(nodes.len()), PURPOSE.copied(&sums)?))?;
            PURPOSE.push(&mut todo, (i + 1, None, sums))?;
            PURPOSE.push(&mut nodes, node)?;
        } else {
            values.iter_mut().zip(intercept).zip(&sums).for_each(|((v, b), s)| *v = b + factor * s);
            leaves.push_means(&values)?;
            PURPOSE.push(&mut nodes, Node::leaf(n_leaves))?;
            n_leaves += 1;
        }
    }
    Ok(Tree {
        n_features: tree.n_features,
        outputs: outputs.clone().into(),
        criterion: Criterion::OF_GRADIENTS,
        sets: tree.sets.kept_by(&mut nodes)?,
        nodes,
        impurity,
        n_node_samples: samples,
        weighted_n_node_samples: weights,
        leaves: leaves.finish()?,
    })
}

/// Returns the number of nodes so far, each of which has an impurity.
fn nodes_len(impurity: &[f64]) -> u32 {
    impurity.len() as u32
}
