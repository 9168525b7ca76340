//! The tensors of trees: their names and types, and the lengths that fit together.

use safetensors::Dtype;

use super::codec::Names;
use super::header::Head;
use crate::error::{Error, Result};

pub(super) const WHOLE: &[Dtype] = &[Dtype::U8, Dtype::U16, Dtype::U32];
pub(super) const NUMBERS: &[Dtype] = &[Dtype::U8, Dtype::U16, Dtype::U32, Dtype::F16, Dtype::F32, Dtype::F64];

/// The tensors of leaves, which all trees have.
pub(super) const OF_LEAVES: Names = &[
    ("leaf_above", WHOLE),
    ("leaf_amounts", NUMBERS),
    ("leaf_columns", WHOLE),
    ("leaf_factors", NUMBERS),
    ("leaf_layout", &[Dtype::U8]),
    ("leaf_records", WHOLE),
    ("leaf_scales", NUMBERS),
    ("leaf_sizes", WHOLE),
    ("leaf_totals", NUMBERS),
    ("n_node_samples", WHOLE),
    ("n_nodes", WHOLE),
    ("row_ends", &[Dtype::U8]),
    ("row_ids", &[Dtype::U8]),
    ("row_set", WHOLE),
    ("row_units", NUMBERS),
    ("set_layout", &[Dtype::U8]),
    ("set_rows", WHOLE),
    ("set_scales", NUMBERS),
    ("set_sizes", WHOLE),
    ("set_slots", &[Dtype::U8]),
    ("set_values", NUMBERS),
    ("weights", NUMBERS),
];
/// The tensors of nodes that test features.
pub(super) const OF_TESTS: Names = &[
    ("categories", WHOLE),
    ("category_sizes", WHOLE),
    ("category_splits", &[Dtype::U8]),
    ("features", &[Dtype::U16, Dtype::U32]),
    ("leaf_impurity", NUMBERS),
    ("missing_sides", &[Dtype::U8]),
    ("split_impurity", NUMBERS),
    ("thresholds", &[Dtype::F32]),
];

/// Checks that the lengths of the tensors of trees are consistent, as far as this can be seen from the lengths
/// alone.
pub(super) fn check_lengths(head: &Head) -> Result<()> {
    let there = |name| head.length(name).ok_or_else(|| Error::corrupt(format!("there is no `{name}`")));
    let (n_trees, n_nodes) = (there("n_nodes")?, there("features")?);
    if n_nodes < n_trees || !(n_nodes - n_trees).is_multiple_of(2) {
        return Err(Error::corrupt(format!("{n_trees} trees cannot have {n_nodes} nodes")));
    }
    let n_splits = (n_nodes - n_trees) / 2;
    let n_leaves = n_nodes - n_splits;
    // Leaves that share values have cells in inner nodes too.
    let n_values = n_nodes.saturating_mul(head.header.outputs.width() as u64);
    let n_cells = there("leaf_amounts")?;
    let lengths = [
        ("thresholds", n_splits, n_splits),
        ("split_impurity", n_splits, n_splits),
        ("leaf_layout", n_trees, n_trees),
        ("leaf_sizes", 0, n_nodes),
        ("leaf_columns", 0, n_cells),
        ("leaf_amounts", 0, n_values),
        ("n_node_samples", n_leaves, n_nodes),
    ];
    let optional = [
        ("leaf_impurity", n_leaves, n_leaves),
        ("leaf_above", 0, n_nodes),
        ("leaf_records", 0, n_trees),
        ("leaf_scales", 0, n_trees.saturating_mul(head.header.outputs.width() as u64)),
        ("leaf_factors", 0, n_leaves),
        ("leaf_totals", 0, n_leaves),
        ("category_sizes", 0, n_splits),
        ("weights", n_leaves, n_nodes),
        ("row_set", 0, n_trees),
    ];
    let required = lengths.map(|(name, least, most)| there(name).map(|n| (name, n, least, most)));
    let optional = optional.map(|(name, least, most)| head.length(name).map(|n| Ok((name, n, least, most))));
    for found in required.into_iter().chain(optional.into_iter().flatten()) {
        let (name, n, least, most) = found?;
        // If the smallest length is not zero, the tensor has one number for each leaf, or one for each node.
        if !(least..=most).contains(&n) || least > 0 && n != least && n != most {
            let short = if n < most { "short" } else { "long" };
            return Err(Error::corrupt(format!("`{name}` is too {short} for {n_trees} trees of {n_nodes} nodes")));
        }
    }
    check_sets(head)
}

/// Checks the lengths of the tensors of sets of samples.
pub(super) fn check_sets(head: &Head) -> Result<()> {
    if head.length("set_rows") == head.length("set_layout") {
        Ok(())
    } else {
        Err(Error::corrupt("`set_rows` and `set_layout` have different lengths"))
    }
}
