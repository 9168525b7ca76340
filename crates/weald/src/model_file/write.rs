//! Writing: the tensors of trees.

use std::sync::Arc;

use safetensors::Dtype;

use super::bits::packed;
use super::frequencies::{Sums, sums};
use super::tensor::{PURPOSE, Tensor, Whole, bytes, floats, narrowest, type_bits, whole};
use super::{ABOVE, COUNTS, INHERITED, PARTIAL, ROWS, SPARSE, rows};
use crate::data::Outputs;
use crate::error::Result;
use crate::partition::decision::{Decision, Side};
use crate::tree::leaves::{Amounts, Indices, Layout, Records};
use crate::tree::{LeafTable, Node, Tree};

/// Returns the tensors of trees, in the order of the trees.
pub(super) fn tensors(all: &[Arc<Tree>], n_features: usize) -> Result<Vec<Tensor>> {
    let trees = || all.iter().map(|tree| &**tree);
    let placed: Vec<Placed<'_>> = trees().map(Placed::new).collect::<Result<_>>()?;
    let splits = || placed.iter().flat_map(Placed::splits);
    let leaves = || placed.iter().flat_map(Placed::leaves);
    let tables = PURPOSE.collected(all.iter().map(|tree| &tree.leaves))?;
    let mut tensors = vec![
        narrowest("n_nodes", || trees().map(|tree| tree.n_nodes() as f64))?,
        features(all, n_features)?,
        floats("thresholds", || splits().map(|(tree, i)| threshold(&tree.nodes[i])))?,
        narrowest("split_impurity", || splits().map(|(tree, i)| tree.impurity[i]))?,
    ];
    tensors.extend(leaf_tensors(&tables, outputs_of(all))?);
    let sets = || splits().filter_map(|(tree, i)| tree.nodes[i].set().map(|set| tree.sets.of(set)));
    if sets().next().is_some() {
        let is_listed = splits().map(|(tree, i)| u64::from(tree.nodes[i].tests_categories()));
        tensors.push(packed("category_splits", 1, is_listed)?);
        tensors.push(narrowest("category_sizes", || sets().map(|set| set.len() as f64))?);
        tensors.push(narrowest("categories", || sets().flatten().map(|&category| f64::from(category)))?);
    }
    let decisions = || splits().map(|(tree, i)| tree.decision(i));
    if decisions().any(|decision| decision.saw_missing()) {
        let side = |decision: Decision<'_>| match decision.missing() {
            _ if !decision.saw_missing() => 0,
            Side::Left => 1,
            Side::Right => 2,
        };
        tensors.push(packed("missing_sides", 2, decisions().map(side))?);
    }
    if leaves().any(|(tree, i)| tree.impurity[i] != 0.0) {
        tensors.push(narrowest("leaf_impurity", || leaves().map(|(tree, i)| tree.impurity[i]))?);
    }
    let n_samples = |tree: &Tree, i: usize| f64::from(tree.n_node_samples[i]);
    let weight = |tree: &Tree, i: usize| tree.weighted_n_node_samples[i];
    tensors.push(statistic(&placed, "n_node_samples", n_samples)?);
    let follows = |tree: &Tree| {
        if tree.leaves.has_rows() {
            rows::weights_follow(tree)
        } else {
            (0..tree.n_nodes()).all(|i| n_samples(tree, i) == weight(tree, i))
        }
    };
    if !trees().all(follows) {
        tensors.push(statistic(&placed, "weights", weight)?);
    }
    let totals = || {
        let with_total = |(tree, i): (&'_ Tree, usize)| {
            tree.leaves.total(tree.nodes[i].right() as usize).map(|total| (total, weight(tree, i)))
        };
        placed.iter().filter(|placed| !placed.tree.leaves.has_rows()).flat_map(Placed::leaves).filter_map(with_total)
    };
    if totals().any(|(total, weight)| total != weight) {
        tensors.push(narrowest("leaf_totals", || totals().map(|(total, _)| total))?);
    }
    Ok(tensors)
}

/// Returns the tensors of leaves, in the order of the trees, except their totals.
pub(super) fn leaf_tensors(tables: &[&LeafTable], outputs: &Outputs) -> Result<Vec<Tensor>> {
    let sparse = || tables.iter().filter(|leaves| leaves.is_sparse());
    let listed = || tables.iter().filter(|leaves| !leaves.has_rows());
    let columns = || {
        sparse().filter_map(|leaves| match &leaves.layout {
            Layout::Sparse { columns, .. } | Layout::Inherited(Records { columns, .. }) => Some(match columns {
                Indices::U16(v) => Whole::U16(v),
                Indices::U32(v) => Whole::U32(v),
            }),
            Layout::Dense | Layout::Rows { .. } => None,
        })
    };
    let sizes = || {
        sparse().flat_map(|leaves| {
            let n_records = leaves.records().map_or(leaves.n_leaves(), |records| records.above.len());
            (0..n_records).map(|record| leaves.range(record).len() as f64)
        })
    };
    let counts = || {
        listed().map(|leaves| match &leaves.amounts {
            Amounts::U8(v) => Some(Whole::U8(v)),
            Amounts::U16(v) => Some(Whole::U16(v)),
            Amounts::U32(v) => Some(Whole::U32(v)),
            Amounts::I8(_) | Amounts::F16(_) | Amounts::F32(_) | Amounts::F64(_) => None,
        })
    };
    let layouts = PURPOSE.collected(tables.iter().map(|leaves| layout(leaves, outputs)))?;
    let mut tensors = vec![
        narrowest("leaf_layout", || layouts.iter().copied().map(f64::from))?,
        narrowest("leaf_sizes", sizes)?,
        whole("leaf_columns", columns)?,
        if counts().all(|counts| counts.is_some()) {
            whole("leaf_amounts", || counts().flatten())?
        } else {
            narrowest("leaf_amounts", || {
                listed().flat_map(|leaves| {
                    let above = if leaves.leaf_scales.is_some() { f64::from(ABOVE) } else { 0.0 };
                    (0..leaves.n_stored()).map(move |cell| leaves.amounts.at(cell) + above)
                })
            })?
        },
    ];
    let records = || tables.iter().filter_map(|leaves| leaves.records().map(|records| (leaves, records)));
    if records().next().is_some() {
        let n_inner = || records().map(|(leaves, records)| (records.above.len() - leaves.n_leaves()) as f64);
        tensors.push(narrowest("leaf_records", n_inner)?);
        tensors.push(whole("leaf_above", || records().map(|(_, records)| Whole::U32(&records.above)))?);
    }
    if tables.iter().any(|leaves| leaves.scales.is_some()) {
        tensors.push(narrowest("leaf_scales", || {
            tables.iter().flat_map(|leaves| leaves.scales.iter().flatten().copied())
        })?);
    }
    if tables.iter().any(|leaves| leaves.leaf_scales.is_some()) {
        let factors = || tables.iter().flat_map(|leaves| leaves.leaf_scales.iter().flatten().copied());
        tensors.push(narrowest("leaf_factors", factors)?);
    }
    tensors.extend(rows::tensors(tables)?);
    Ok(tensors)
}

/// Returns the outputs of trees, which all trees have in common.
fn outputs_of(all: &[Arc<Tree>]) -> &Outputs {
    const NONE: &Outputs = &Outputs::Labels { n_labels: 0 };
    all.first().map_or(NONE, |tree| tree.outputs())
}

/// Returns the threshold of a split, or zero if it lists categories.
fn threshold(node: &Node) -> f32 {
    if node.tests_categories() { 0.0 } else { node.threshold() }
}

/// Returns a tensor with one number for each leaf, or for each node if the numbers of splits are not the sums over
/// their children.
fn statistic(all: &[Placed<'_>], name: &'static str, of: impl Fn(&Tree, usize) -> f64) -> Result<Tensor> {
    let is_sum = |placed: &Placed<'_>| {
        placed.splits().all(|(tree, i)| of(tree, i + 1) + of(tree, tree.nodes[i].right() as usize) == of(tree, i))
    };
    if all.iter().all(is_sum) {
        narrowest(name, || all.iter().flat_map(Placed::leaves).map(|(tree, i)| of(tree, i)))
    } else {
        let nodes = |placed: &Placed<'_>| placed.tree.n_nodes();
        narrowest(name, || all.iter().flat_map(|placed| (0..nodes(placed)).map(|i| of(placed.tree, i))))
    }
}

/// A tree with the lists of its splits and its leaves, which are computed once for all tensors.
struct Placed<'t> {
    tree: &'t Tree,
    splits: Vec<u32>,
    leaves: Vec<u32>,
}

impl<'t> Placed<'t> {
    fn new(tree: &'t Tree) -> Result<Self> {
        // Each node is written to both lists, and kept in one of them. This avoids a branch, which the processor could
        // not predict. There is one leaf more than there are splits, and the last node is a leaf.
        let n_splits = tree.n_nodes() / 2;
        let mut splits = PURPOSE.filled(0, n_splits + 1)?;
        let mut leaves = PURPOSE.filled(0, n_splits + 1)?;
        let mut ends = [0, 0];
        for (i, node) in tree.nodes.iter().enumerate() {
            splits[ends[0]] = i as u32;
            leaves[ends[1]] = i as u32;
            ends[0] += usize::from(!node.is_leaf());
            ends[1] += usize::from(node.is_leaf());
        }
        splits.truncate(n_splits);
        Ok(Placed { tree, splits, leaves })
    }

    /// Returns the nodes that are splits, in order.
    fn splits(&self) -> impl Iterator<Item = (&'t Tree, usize)> {
        self.splits.iter().map(|&i| (self.tree, i as usize))
    }

    /// Returns the nodes that are leaves, in order.
    fn leaves(&self) -> impl Iterator<Item = (&'t Tree, usize)> {
        self.leaves.iter().map(|&i| (self.tree, i as usize))
    }
}

fn layout(leaves: &LeafTable, outputs: &Outputs) -> u8 {
    let cells = match &leaves.layout {
        Layout::Dense => 0,
        Layout::Sparse { .. } => SPARSE,
        Layout::Rows { .. } => ROWS,
        Layout::Inherited(_) => INHERITED,
    };
    let counts = if leaves.totals.is_some() { COUNTS } else { 0 };
    let partial = if sums(leaves, outputs) == Sums::One { 0 } else { PARTIAL };
    cells | counts | partial | type_bits(&leaves.amounts, leaves.scales.as_deref())
}

/// Returns the features of all nodes, with the largest number of the type for leaves. The type has 16 bits if this
/// number is not a feature.
fn features(trees: &[Arc<Tree>], n_features: usize) -> Result<Tensor> {
    let nodes = || trees.iter().flat_map(|tree| &tree.nodes);
    let n = trees.iter().map(|tree| tree.n_nodes()).sum();
    if n_features <= usize::from(u16::MAX) {
        // The mark of leaves, 2³² − 1, becomes 2¹⁶ − 1.
        bytes("features", Dtype::U16, n, nodes().map(|node| (node.feature() as u16).to_le_bytes()))
    } else {
        bytes("features", Dtype::U32, n, nodes().map(|node| node.feature().to_le_bytes()))
    }
}
