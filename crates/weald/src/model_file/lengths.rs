//! The types of tensors, and the lengths of the tensors of trees that fit together.

use safetensors::Dtype;

use super::header::Head;
use crate::error::{Error, Result};

pub(super) const WHOLE: &[Dtype] = &[Dtype::U8, Dtype::U16, Dtype::U32];
pub(super) const NUMBERS: &[Dtype] = &[Dtype::U8, Dtype::U16, Dtype::U32, Dtype::F16, Dtype::F32, Dtype::F64];

/// Returns an error for the first tensor that does not fit the others, `of` which there are so many numbers.
pub(super) fn check_fit(tensors: &[(&str, bool)], of: impl FnOnce() -> String) -> Result<()> {
    match tensors.iter().find(|(_, fits)| !fits) {
        None => Ok(()),
        Some((name, _)) => Err(Error::corrupt(format!("`{name}` does not fit {}", of()))),
    }
}

/// Checks that the lengths of the tensors of trees are consistent, as far as this can be seen from the lengths
/// alone.
pub(super) fn check_lengths(head: &Head) -> Result<()> {
    let there = |name| head.required_length(name);
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
