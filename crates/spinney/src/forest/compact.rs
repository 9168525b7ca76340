//! The same trees with smaller leaves: fewer bits, fewer columns, or rows of y in place of values.
//!
//! Every function returns a new forest with the structure of the old one. [`Forest::largest_change`] bounds what that does to
//! predictions.

use std::ops::Range;
use std::sync::Arc;

use super::Forest;
use super::bootstrap::tree_key;
use super::draws::Draws;
use crate::control::Control;
use crate::criterion::LeafValues;
use crate::data::train_y::TrainY;
use crate::data::{Dataset, Outputs};
use crate::error::{Error, Result, try_copied, try_filled, try_with_capacity};
use crate::forest::config::Sampling;
use crate::pool;
use crate::rng::Key;
use crate::tree::leaves::{Amounts, Indices, StoredRows};
use crate::tree::rows::Rows;
use crate::tree::{LeafTable, Precision, Tree};

const WHAT: &str = "the rows of leaves";

/// Means that leaves were given otherwise than by growth (by pruning, say) may differ so much, for each unit of the largest
/// of their column, from those of the rows.
const MEANS_MAY_DIFFER: f64 = 1e-9;

impl Forest {
    /// Leaves, and impurities of nodes, with fewer bits; predictions remain sums of float64.
    ///
    /// Numbers change by at most what [`Precision`] says; where a column of a tree is beyond the reach of the type, all of
    /// it is scaled by a power of two. Frequencies that already take no more bytes than the type has are left exact; so
    /// are leaves of stored rows, but numbers of the rows themselves have fewer bits then. Impurities have float32
    /// where float16 does not hold the largest. O(stored values).
    ///
    /// # Errors
    /// [`crate::ErrorKind::Invalid`] for [`Precision::Byte`] of labels and classes;
    /// [`crate::ErrorKind::Interrupted`], [`crate::ErrorKind::OutOfMemory`].
    pub fn with_precision(&self, precision: Precision, control: &Control) -> Result<Forest> {
        let largest = self.trees.iter().flat_map(|tree| &tree.impurity).copied().fold(0.0, f64::max);
        if precision == Precision::Byte && !matches!(self.outputs, Outputs::Real { .. }) {
            return Err(Error::invalid("precision", "Byte", "be Half or Single for labels and classes"));
        }
        let of_impurity =
            [precision.of_floats(), Precision::Single].into_iter().find(|precision| precision.holds(largest));
        // The trees of a forest share their stored rows, so that each set is narrowed once.
        let mut sets: Vec<(Arc<StoredRows>, Arc<StoredRows>)> = Vec::new();
        for stored in self.trees.iter().filter_map(|tree| tree.leaves.stored_rows()) {
            if !sets.iter().any(|(old, _)| Arc::ptr_eq(old, stored)) {
                sets.push((Arc::clone(stored), Arc::new(stored.narrowed(precision)?)));
            }
        }
        self.with_trees(control, |tree| {
            let mut leaves = tree.leaves.narrowed(precision)?;
            if let Some(stored) = tree.leaves.stored_rows()
                && let Some((_, narrow)) = sets.iter().find(|(old, _)| Arc::ptr_eq(old, stored))
            {
                leaves = leaves.on_rows(narrow);
            }
            let mut tree = tree.with_leaves(leaves)?;
            if let Some(precision) = of_impurity {
                tree.impurity.iter_mut().for_each(|impurity| *impurity = precision.nearest(*impurity));
            }
            Ok(tree)
        })
    }

    /// Leaves without numbers of magnitudes up to `floor`.
    pub(crate) fn without_small(&self, floor: f64, control: &Control) -> Result<Forest> {
        self.with_trees(control, |tree| tree.with_leaves(tree.leaves.without_small(floor)?))
    }

    /// Leaves that keep, of each output's classes or of all labels, the `k` of largest frequency; of equals, the first. The
    /// others have frequency zero and those that are kept their own: sums may fall below 1.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Invalid`] when `k` is 0 or outputs are numbers, which have no order of importance;
    /// [`crate::ErrorKind::Interrupted`], [`crate::ErrorKind::OutOfMemory`].
    pub fn with_top_k(&self, k: usize, control: &Control) -> Result<Forest> {
        if k == 0 {
            return Err(Error::invalid("top_k", k, "be at least 1"));
        }
        let groups: Vec<Range<u32>> = match &self.outputs {
            Outputs::Real { .. } => return Err(Error::unsupported("top_k", "for numerical outputs")),
            Outputs::Labels { n_labels } => std::iter::once(0..*n_labels as u32).collect(),
            Outputs::Classes { n_classes } => {
                let ends = n_classes.iter().scan(0, |end, &k| {
                    *end += k;
                    Some(*end - k..*end)
                });
                ends.collect()
            }
        };
        self.with_trees(control, |tree| tree.with_leaves(tree.leaves.top_k(k, &groups)?))
    }

    /// Leaves that refer to their training rows, whose y is stored once for all trees.
    ///
    /// `data`, `sampling` and `seed` must be those of the fit: rows are drawn and sent down the trees again.
    /// Predictions of trees as they were grown stay the same bit for bit. O(n · trees · depth) time, and memory of some six
    /// bytes for each row of each tree.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Invalid`] when the rows do not give the number of samples, the weight and the values of each
    /// leaf, and with [`crate::Criterion::AbsoluteError`], whose leaves are medians; [`crate::ErrorKind::Shape`] for data of another shape, [`crate::ErrorKind::Interrupted`],
    /// [`crate::ErrorKind::OutOfMemory`].
    pub fn with_stored_rows<'d>(
        &self,
        data: impl Into<Dataset<'d>>,
        sampling: Sampling,
        seed: u64,
        control: &Control,
    ) -> Result<Forest> {
        let data = data.into();
        data.check_mask()?;
        if let Some(tree) = self.trees.iter().find(|tree| tree.criterion.leaf_values() == LeafValues::Medians) {
            let must = "be a criterion whose leaves are means, if leaves refer to training samples";
            return Err(Error::invalid("criterion", format!("{:?}", tree.criterion), must));
        }
        let takes_entries = self.trees.first().is_some_and(|tree| tree.criterion.takes_entries());
        let restored = data.restored(takes_entries)?;
        let data = data.with_restored(restored.as_ref());
        let (x, y) = (data.x(), data.y());
        let rows = Rows::new(x, self.n_features, control)?;
        let n_samples = x.n_samples();
        y.check(n_samples)?;
        if y.outputs() != self.outputs {
            return Err(Error::invalid("y", "other outputs or classes", "be the y of the fit"));
        }
        if n_samples == 0 {
            return Err(Error::invalid("X", "0 samples", "have at least one sample"));
        }
        let (draws, _) = Draws::new(x, y, data.row_weights(), sampling)?;
        let lists = pool::map(control.n_threads(), self.n_trees(), |t| {
            control.check()?;
            let leaves = rows.leaves(&self.trees[t], &control.on_one_thread())?;
            RowLists::new(&self.trees[t], &leaves, &draws, tree_key(seed, t))
        })?;
        // Rows that no tree has are not stored; the others keep their order.
        let mut place = try_filled(WHAT, 0u32, n_samples)?;
        lists.iter().flat_map(|list| &list.rows).for_each(|&row| place[row as usize] = 1);
        let mut kept = try_with_capacity(WHAT, n_samples)?;
        for (row, place) in (0..).zip(&mut place).filter(|(_, place)| **place > 0) {
            *place = kept.len() as u32;
            kept.push(row);
        }
        let stored = Arc::new(StoredRows::new(&TrainY::new(y)?, &kept)?);
        let trees = pool::map(control.n_threads(), self.n_trees(), |t| {
            control.check()?;
            let RowLists { ptr, rows, units } = &lists[t];
            let mut ids = Indices::for_width(kept.len());
            ids.try_reserve(WHAT, rows.len())?;
            rows.iter().try_for_each(|&row| ids.push(place[row as usize]))?;
            let leaves = LeafTable::of_rows(try_copied(WHAT, ptr)?, ids, units.try_clone()?, Arc::clone(&stored))?;
            let old = &self.trees[t];
            if !agree(&old.leaves, &leaves)? {
                return Err(not_reproduced());
            }
            Ok(Arc::new(old.with_leaves(leaves)?))
        })?;
        Ok(Forest { trees, ..self.clone() })
    }

    /// What no prediction of `other` differs by more from that of `self`, but for rounding of the sums: the mean over trees
    /// of the largest difference of a value of a leaf. `other` must have the structure of `self`. O(stored values).
    ///
    /// # Errors
    /// [`crate::ErrorKind::Interrupted`]; [`crate::ErrorKind::Invalid`] for another number of trees, nodes or columns.
    pub fn largest_change(&self, other: &Forest, control: &Control) -> Result<f64> {
        let alike = |(a, b): (&Arc<Tree>, &Arc<Tree>)| a.nodes == b.nodes && a.leaves.width() == b.leaves.width();
        if self.n_trees() != other.n_trees() || !self.trees.iter().zip(&other.trees).all(alike) {
            return Err(Error::invalid("forest", "other trees", "have the same trees"));
        }
        let changes = pool::map(control.n_threads(), self.n_trees(), |t| {
            control.check()?;
            Ok(self.trees[t].leaves.largest_change(&other.trees[t].leaves))
        })?;
        Ok(changes.iter().sum::<f64>() / self.n_trees() as f64)
    }

    pub(crate) fn with_trees(
        &self,
        control: &Control,
        change: impl Fn(&Tree) -> Result<Tree> + Sync,
    ) -> Result<Forest> {
        let trees = pool::map(control.n_threads(), self.n_trees(), |t| {
            control.check()?;
            Ok(Arc::new(change(&self.trees[t])?))
        })?;
        Ok(Forest { trees, ..self.clone() })
    }
}

fn not_reproduced() -> Error {
    Error::invalid("data", "data that do not lead to the same leaves", "be the data, sampling and seed of the fit")
}

/// The rows of each leaf of a tree, rising in each, and their units.
#[derive(Debug)]
struct RowLists {
    ptr: Vec<u32>,
    rows: Vec<u32>,
    units: Amounts,
}

impl RowLists {
    /// `leaves` are those of all rows. Refuses rows that do not add up to what the tree says of its leaves.
    fn new(tree: &Tree, leaves: &[u32], draws: &Draws<'_, '_>, key: Key) -> Result<Self> {
        let draw = draws.of_tree(key)?;
        let n_leaves = tree.n_leaves();
        let mut ptr = try_filled(WHAT, 0u32, n_leaves + 1)?;
        let mut total = try_filled(WHAT, 0u64, n_leaves)?;
        for row in draw.rows() {
            let leaf = leaves[row as usize] as usize;
            ptr[leaf + 1] += 1;
            total[leaf] += draw.units(row as usize);
        }
        for (i, node) in tree.nodes.iter().enumerate().filter(|(_, node)| node.is_leaf()) {
            let leaf = node.right() as usize;
            let weight = total[leaf] as f64 * draw.weights().unit;
            if ptr[leaf + 1] != tree.n_node_samples[i] || weight != tree.weighted_n_node_samples[i] {
                return Err(not_reproduced());
            }
        }
        for leaf in 0..n_leaves {
            ptr[leaf + 1] += ptr[leaf];
        }
        let mut next = try_copied(WHAT, &ptr[..n_leaves])?;
        let mut rows = try_filled(WHAT, 0u32, ptr[n_leaves] as usize)?;
        for row in draw.rows() {
            let at = &mut next[leaves[row as usize] as usize];
            rows[*at as usize] = row;
            *at += 1;
        }
        let mut units = Amounts::U8(Vec::new());
        rows.iter().try_for_each(|&row| units.push(draw.units(row as usize)))?;
        Ok(RowLists { ptr, rows, units })
    }
}

/// Whether the leaves of rows have the values of the table that they replace: the same frequencies, and means as near as
/// [`MEANS_MAY_DIFFER`].
fn agree(old: &LeafTable, new: &LeafTable) -> Result<bool> {
    if old.totals.is_some() || new.totals.is_some() {
        return Ok(old.totals == new.totals && old.largest_change(new) == 0.0);
    }
    let mut largest = try_filled(WHAT, 0.0f64, old.width())?;
    for (column, value) in (0..old.n_leaves()).flat_map(|leaf| old.value(leaf)) {
        largest[column as usize] = largest[column as usize].max(value.abs());
    }
    let mut differences = try_filled(WHAT, 0.0f64, old.width())?;
    for leaf in 0..old.n_leaves() {
        for (column, value) in old.value(leaf) {
            differences[column as usize] = -value;
        }
        for (column, value) in new.value(leaf) {
            differences[column as usize] += value;
        }
        let may = |largest: &f64| MEANS_MAY_DIFFER * largest;
        if differences.iter().zip(&largest).any(|(difference, largest)| difference.abs() > may(largest)) {
            return Ok(false);
        }
        differences.fill(0.0);
    }
    Ok(true)
}

#[cfg(test)]
#[cfg(feature = "model-files")] // most of them read back what they wrote
mod tests;
