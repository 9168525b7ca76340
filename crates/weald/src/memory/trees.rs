//! What all learners of trees have in common.

use super::{FitShapes, LayoutOfX, MemoryTerm, bytes, count};
use crate::data::Category;
use crate::data::bins::codes::LARGE;
use crate::data::known::Known;
use crate::data::known::bits::KnownBits;
use crate::elementary::exp_m1;
use crate::forest::Sampling;
use crate::partition::{Entry, sorted_entries};
use crate::projection::{NProjections, Projection};
use crate::tree::TreeConfig;

/// The bytes of a category in a node while its sets are searched (`split::categories`), without those of the sums of
/// outputs: its code, number of samples, weight, key, and places in lists that have spare capacity.
const CATEGORY_SUMS: u128 = 60;

/// The bytes of a stored value of sparse X with its index.
pub(super) const STORED: u128 = (size_of::<u32>() + size_of::<f32>()) as u128;

/// The bytes of a stored value of X whose columns are sorted.
pub(super) const SORTED: u128 = sorted_entries::BYTES_OF_A_VALUE as u128;

/// The bytes of a stored value in a growing tree, which has sorted columns and a buffer for one side of a node.
pub(super) const SORTED_OF_TREE: u128 = 2 * SORTED;

/// How many trees of how many samples grow, and how many of them at the same time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Growth {
    pub(super) n_trees: u128,
    pub(super) at_once: u128,
    pub(super) n_rows: u128,
}

impl Growth {
    pub(super) fn new(n_trees: usize, n_threads: usize, shapes: &FitShapes, sampling: Sampling) -> Self {
        let n_rows = samples_of_a_tree(sampling, shapes.n_samples);
        let at_once = n_threads.min(n_trees).max(1);
        Growth { n_trees: count(n_trees), at_once: count(at_once), n_rows: count(n_rows) }
    }
}

/// Returns the number of distinct samples that a tree draws from `n`, with weights that are no counts.
fn samples_of_a_tree(sampling: Sampling, n: usize) -> usize {
    // As many draws as there are samples hit 1 − 1/e of them on average, if there are many, and s times as many hit
    // 1 − e⁻ˢ.
    const OF_ALL: f64 = 0.64;
    let of_share = |share: f64| ((OF_ALL * exp_m1(-share) / exp_m1(-1.0)).min(1.0) * n as f64) as usize;
    match sampling {
        Sampling::All => n,
        Sampling::Bootstrap(n_draws) => of_share(n_draws.map_or(1.0, |n_draws| n_draws as f64 / n.max(1) as f64)),
        Sampling::BootstrapShare(share) => of_share(share),
        Sampling::WithoutReplacement(n_draws) => n_draws.min(n),
        Sampling::ShareWithoutReplacement(share) => ((share * n as f64) as usize).clamp(1, n.max(1)),
    }
}

/// The trees themselves, without their nodes and leaves: so many are there whatever the data are.
pub(super) const TREES: &str = "the trees";

/// Returns the objects of so many trees and the lists that they are collected in.
pub(super) fn objects<T>(n_trees: u128) -> MemoryTerm {
    MemoryTerm::new(TREES, n_trees * (bytes::<T>() + bytes::<usize>())).certain_if(true, "grow fewer trees")
}

/// Returns a table that each growing tree has. That of one tree is certain if `is_certain`.
pub(super) fn of_each(
    [what, of_others]: [&'static str; 2],
    n_bytes: u128,
    at_once: u128,
    (is_certain, advice): (bool, &'static str),
) -> [MemoryTerm; 2] {
    let of_one = MemoryTerm::new(what, n_bytes).certain_if(is_certain, advice);
    [of_one, MemoryTerm::new(of_others, (at_once - 1) * n_bytes)]
}

/// Returns the number of projections, which is 0 for a number that the fit refuses.
pub(super) fn n_projections(family: &Projection, n_projections: NProjections, n_outputs: usize) -> u128 {
    count(family.resolve(n_outputs, n_projections).unwrap_or(0))
}

/// X in the form in which trees grow, and the sorted columns of each tree. `some_rows`: trees may have fewer samples
/// than there are.
pub(super) fn columns(tree: &TreeConfig, shapes: &FitShapes, growth: Growth, some_rows: bool) -> Vec<MemoryTerm> {
    let (n, p) = (count(shapes.n_samples), count(shapes.n_features));
    let n_drawn = tree.max_features.resolve(shapes.n_features).unwrap_or(shapes.n_features);
    let n_stored = shapes.layout.n_stored();
    let carries = tree.carries_columns(n_stored.is_none(), n_drawn, shapes.n_features);
    let mut found = Vec::new();
    if tree.max_bins.is_some() {
        match n_stored {
            None => {
                let mut found = codes(shapes);
                let n_values = count(shapes.n_samples) * count(shapes.n_features);
                if n_values < count(LARGE) {
                    found.push(MemoryTerm::new(CODES_BY_ROW, bytes::<u8>() * n_values));
                }
                return found;
            }
            Some(n_stored) => found.push(MemoryTerm::new("the codes of X", STORED * n_stored)),
        }
    }
    if let Some(n_stored) = n_stored {
        // With bins, the transposed X is no longer needed when trees grow.
        if tree.max_bins.is_some() {
            found.push(MemoryTerm::new("the transposed X", STORED * n_stored));
        } else if matches!(shapes.layout, LayoutOfX::Csr(_)) || !carries {
            let transposed = MemoryTerm::new("the transposed X", STORED * n_stored);
            found.push(transposed.certain_if(true, "pass X as CSC and draw all features at each node"));
        }
        if carries {
            found.push(MemoryTerm::new("the sorted entries of X", SORTED * n_stored));
            let of_trees = SORTED_OF_TREE * n_stored * growth.at_once;
            found.push(MemoryTerm::new("the entries of growing trees", of_trees));
        }
        return found;
    }
    if shapes.layout != LayoutOfX::ColumnMajor {
        let copy = MemoryTerm::new("the column-major copy of X", bytes::<f32>() * n * p);
        found.push(copy.certain_if(true, "pass X in Fortran order"));
    }
    if carries {
        const FEWER: &str = "draw fewer features at each node, below a fifth of them, or use fewer threads";
        found.push(MemoryTerm::new("the sorted columns of X", bytes::<Entry>() * n * p).certain_if(true, FEWER));
        let of_tree = bytes::<Entry>() * growth.n_rows * p;
        let what = ["the sorted columns of a tree", "the sorted columns of other trees"];
        found.extend(of_each(what, of_tree, growth.at_once, (!some_rows, FEWER)));
    }
    found
}

const CODES_BY_ROW: &str = "the codes of samples";

/// Dense X as the codes of bins, which are made from its columns.
pub(super) fn codes(shapes: &FitShapes) -> Vec<MemoryTerm> {
    let n_values = count(shapes.n_samples) * count(shapes.n_features);
    let codes = MemoryTerm::new("the codes of X", bytes::<u8>() * n_values);
    let mut found = vec![codes.certain_if(true, "pass fewer features")];
    if n_values >= count(LARGE) {
        found.push(MemoryTerm::new(CODES_BY_ROW, bytes::<u8>() * n_values));
    }
    if shapes.layout != LayoutOfX::ColumnMajor {
        found.push(MemoryTerm::new("the column-major copy of X", bytes::<f32>() * n_values));
    }
    found
}

/// Returns the number of leaves of a tree of `n_rows` samples that splits as long as the parameters allow it.
pub(super) fn most_leaves(tree: &TreeConfig, n_rows: u128) -> u128 {
    let by_samples = n_rows / count(tree.min_samples_leaf.max(1));
    let by_depth = tree.max_depth.filter(|&depth| depth < 38).map_or(u128::MAX, |depth| 1 << depth);
    let by_leaves = tree.max_leaf_nodes.map_or(u128::MAX, count);
    by_samples.min(by_depth).min(by_leaves).max(1)
}

/// Returns the bytes of the values of leaves: numbers for each leaf and column; for labels and classes counts, as sparse
/// entries if these are smaller. If cells are unknown, values are numbers, of which a leaf has one for each entry and each
/// column that it does not know, or leaves share them, so that there is about one for each known cell.
pub(super) fn leaf_bytes(shapes: &FitShapes, leaves: u128, n_rows: u128) -> u128 {
    let of_table = leaves * count(shapes.width);
    let of_rows = |n: usize| count(n) * n_rows / count(shapes.n_samples).max(1);
    let entries = of_rows(shapes.n_entries);
    if shapes.n_unknown > 0 {
        let of_number = bytes::<u32>() + bytes::<f64>();
        let known = of_rows(shapes.n_cells.saturating_sub(shapes.n_unknown));
        let of_shared = of_number * known + 4 * bytes::<u32>() * leaves;
        let of_apart =
            if shapes.is_dense_numbers { u128::MAX } else { of_number * (entries + of_rows(shapes.n_unknown)) };
        return (bytes::<f64>() * of_table).min(of_shared).min(of_apart);
    }
    if shapes.is_dense_numbers {
        return bytes::<f64>() * of_table;
    }
    // An entry has a column and a count of one byte.
    let of_entries = (bytes::<u32>() + 1) * entries + bytes::<u32>() * leaves;
    bytes::<f64>() * leaves + of_table.min(of_entries)
}

/// Unknown values of y: the mask, and a copy of y without their values.
pub(super) fn gaps(shapes: &FitShapes) -> Vec<MemoryTerm> {
    if shapes.n_unknown == 0 {
        return Vec::new();
    }
    let (of_sample, of_listed) = Known::BYTES;
    let n_listed = shapes.n_unknown.min(shapes.n_cells.saturating_sub(shapes.n_unknown));
    let of_mask = of_sample as u128 * count(shapes.n_samples) + of_listed as u128 * count(n_listed);
    let n_outputs = shapes.n_cells.checked_div(shapes.n_samples).unwrap_or(0);
    let has_bits = !shapes.is_dense_numbers && KnownBits::are_stored(shapes.n_samples, n_outputs, n_listed);
    let of_bits = if has_bits { KnownBits::bytes(n_outputs) as u128 * count(shapes.n_samples) } else { 0 };
    let of_mask = of_mask + of_bits;
    let of_y = match shapes.is_dense_numbers {
        // If few are known, they are stored with their outputs.
        true => {
            let n_known = count(shapes.n_cells.saturating_sub(shapes.n_unknown));
            (bytes::<f64>() * count(shapes.n_cells)).min((bytes::<u32>() + bytes::<f64>()) * n_known)
        }
        false => bytes::<u32>() * count(shapes.n_entries),
    };
    vec![MemoryTerm::new("the mask of y", of_mask), MemoryTerm::new("the known values of y", of_y)]
}

/// The sets of categories of splits, and the sums of categories in a node.
///
/// A set has at most the number of categories and the number of samples of its node; together, the nodes of a level
/// have at most all samples.
pub(super) fn sets_of_categories(shapes: &FitShapes, growth: Growth, leaves: u128) -> Vec<MemoryTerm> {
    let Some(&most) = shapes.categories.iter().max() else { return Vec::new() };
    let most = u128::from(most);
    let n_levels = u128::from(u128::BITS - leaves.leading_zeros());
    let of_all_features = ((leaves - 1) * most).min(growth.n_rows * n_levels);
    let of_splits =
        of_all_features * count(shapes.categories.len().min(shapes.n_features)) / count(shapes.n_features).max(1);
    let sums = growth.at_once * most * (CATEGORY_SUMS + bytes::<f64>() * count(shapes.width));
    vec![
        MemoryTerm::new("the categories of splits", growth.n_trees * bytes::<Category>() * of_splits),
        MemoryTerm::new("the sums of categories", sums),
    ]
}
