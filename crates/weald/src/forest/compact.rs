//! The same trees with leaves that need less memory: fewer bits, fewer columns, or references to samples instead of
//! values.
//!
//! Every function returns a new forest with the same structure. [`Forest::largest_change`] bounds the effect on
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
use crate::error::{Error, Purpose, Result};
use crate::forest::config::Sampling;
use crate::pool;
use crate::rng::Key;
use crate::tree::leaves::{Amounts, Indices, StoredRows};
use crate::tree::rows::Rows;
use crate::tree::{LeafTable, Precision, Tree};

const PURPOSE: Purpose = Purpose("the rows of leaves");

/// If the means of a leaf were not computed by growth (but by pruning, for example), they may differ from the means of
/// its samples by at most this, relative to the largest value of the column.
const MEANS_MAY_DIFFER: f64 = 1e-9;

impl Forest {
    /// Returns the forest with leaves, and impurities of nodes, that have fewer bits. Predictions are still sums of
    /// float64.
    ///
    /// Values change by at most what [`Precision`] says. If the values of a column are outside the range of the type in
    /// some tree, the whole column of this tree is scaled by a power of two. Frequencies that already take no more
    /// bytes than the type are left exact. Leaves that refer to stored samples are left exact too, but numerical
    /// outputs of the stored samples themselves then have fewer bits. Impurities become float32 if float16 cannot
    /// represent the largest one. The cost is O(stored values).
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Invalid`] for [`Precision::Byte`] with labels or classes,
    /// [`crate::ErrorKind::Interrupted`] or [`crate::ErrorKind::OutOfMemory`].
    pub fn with_precision(&self, precision: Precision, control: &Control) -> Result<Forest> {
        let largest = self.trees.iter().flat_map(|tree| &tree.impurity).copied().fold(0.0, f64::max);
        if precision == Precision::Byte && !matches!(self.outputs, Outputs::Real { .. }) {
            return Err(Error::invalid("precision", "Byte", "be Half or Single for labels and classes"));
        }
        let of_impurity =
            [precision.of_floats(), Precision::Single].into_iter().find(|precision| precision.holds(largest));
        // The trees of a forest share their stored samples, so that each set is converted only once.
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

    /// Returns the forest with leaves that do not store values of magnitude up to `floor`.
    pub(crate) fn without_small(&self, floor: f64, control: &Control) -> Result<Forest> {
        self.with_trees(control, |tree| tree.with_leaves(tree.leaves.without_small(floor)?))
    }

    /// Returns the forest with leaves that keep only the `k` largest frequencies, among the classes of each output or
    /// among all labels; of equal ones, the first. The frequency of the others becomes zero, and those that are kept do
    /// not change: sums may fall below 1.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Invalid`] when `k` is 0 or when the outputs are numerical, because these have no
    /// order of importance, [`crate::ErrorKind::Interrupted`] or [`crate::ErrorKind::OutOfMemory`].
    pub fn with_top_k(&self, k: usize, control: &Control) -> Result<Forest> {
        if k == 0 {
            return Err(Error::invalid("top_k", k, "be at least 1"));
        }
        self.check_of_all_outputs("top_k")?;
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

    /// Returns the forest with leaves that refer to their training samples, whose y is stored once for all trees.
    ///
    /// `data`, `sampling` and `seed` must be those of the fit: samples are drawn and sent down the trees again. The
    /// predictions of trees that were not changed after growth stay the same, bit for bit. The cost is O(n · trees ·
    /// depth) time, and about six bytes of memory for each sample of each tree.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Invalid`] when the samples do not reproduce the number of samples, the weight and
    /// the values of each leaf, and with [`crate::Criterion::AbsoluteError`], whose leaves are medians;
    /// [`crate::ErrorKind::Shape`] for data of another shape; [`crate::ErrorKind::Interrupted`] or
    /// [`crate::ErrorKind::OutOfMemory`].
    pub fn with_stored_rows<'d>(&self, data: impl Into<Dataset<'d>>, sampling: Sampling, seed: u64) -> Result<Forest> {
        let data = data.into();
        let control = &data.under();
        self.check_of_all_outputs("stored samples")?;
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
        let (draws, _) = Draws::new(x, y, data.known(), data.row_weights(), sampling, control)?;
        let lists = pool::map(control.n_threads(), self.n_trees(), |t| {
            let leaves = rows.leaves(&self.trees[t], &control.on_one_thread())?;
            RowLists::new(&self.trees[t], &leaves, &draws, tree_key(seed, t), control)
        })?;
        // Samples that are in no tree are not stored; the others keep their order.
        let mut place = PURPOSE.filled(0u32, n_samples)?;
        lists.iter().flat_map(|list| &list.rows).for_each(|&row| place[row as usize] = 1);
        let mut kept = PURPOSE.with_capacity(n_samples)?;
        for (row, place) in (0..).zip(&mut place).filter(|(_, place)| **place > 0) {
            *place = kept.len() as u32;
            kept.push(row);
        }
        let stored = Arc::new(StoredRows::new(&TrainY::new(y)?, &kept)?);
        let trees = pool::map(control.n_threads(), self.n_trees(), |t| {
            control.check()?;
            let RowLists { ptr, rows, units } = &lists[t];
            let mut ids = Indices::for_width(kept.len());
            ids.try_reserve(PURPOSE, rows.len())?;
            rows.iter().try_for_each(|&row| ids.push(place[row as usize]))?;
            let leaves = LeafTable::of_rows(PURPOSE.copied(ptr)?, ids, units.try_clone()?, Arc::clone(&stored))?;
            let old = &self.trees[t];
            if !agree(&old.leaves, &leaves)? {
                return Err(not_reproduced());
            }
            Ok(Arc::new(old.with_leaves(leaves)?))
        })?;
        Ok(Forest { trees, ..self.clone() })
    }

    /// Returns a bound on the difference between a prediction of `other` and the same prediction of `self`, up to
    /// rounding of the sums: the mean over trees of the largest difference of a value of a leaf. `other` must have the
    /// structure of `self`. The cost is O(stored values).
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Invalid`] for another number of trees, nodes or columns, or
    /// [`crate::ErrorKind::Interrupted`].
    pub fn largest_change(&self, other: &Forest, control: &Control) -> Result<f64> {
        let alike = |(a, b): (&Arc<Tree>, &Arc<Tree>)| a.nodes == b.nodes && a.leaves.width() == b.leaves.width();
        if self.n_trees() != other.n_trees() || !self.trees.iter().zip(&other.trees).all(alike) {
            return Err(Error::invalid("forest", "other trees", "have the same trees"));
        }
        let changes = pool::map(control.n_threads(), self.n_trees(), |t| {
            control.check()?;
            Ok(self.trees[t].leaves.largest_change(&other.trees[t].leaves))
        })?;
        if !self.by_output {
            return Ok(changes.iter().sum::<f64>() / self.n_trees() as f64);
        }
        let (d, n_trees) = (self.outputs.n_outputs(), self.n_trees_of_an_output() as f64);
        let of_output = |output: usize| changes.iter().skip(output).step_by(d).sum::<f64>() / n_trees;
        Ok((0..d).map(of_output).fold(0.0, f64::max))
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

/// The samples of each leaf of a tree, in increasing order within each leaf, and their weights in units.
#[derive(Debug)]
struct RowLists {
    ptr: Vec<u32>,
    rows: Vec<u32>,
    units: Amounts,
}

impl RowLists {
    /// `leaves` has the leaf of every sample. Returns an error if the samples do not add up to the counts and weights
    /// of the leaves of the tree.
    fn new(tree: &Tree, leaves: &[u32], draws: &Draws<'_, '_>, key: Key, control: &Control) -> Result<Self> {
        let draw = draws.of_tree(key, control)?;
        let n_leaves = tree.n_leaves();
        let mut ptr = PURPOSE.filled(0u32, n_leaves + 1)?;
        let mut total = PURPOSE.filled(0u64, n_leaves)?;
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
        let mut next = PURPOSE.copied(&ptr[..n_leaves])?;
        let mut rows = PURPOSE.filled(0u32, ptr[n_leaves] as usize)?;
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

/// Returns whether leaves that refer to samples have the values of the table that they replace: the same frequencies,
/// and means that differ by at most [`MEANS_MAY_DIFFER`].
fn agree(old: &LeafTable, new: &LeafTable) -> Result<bool> {
    if old.totals.is_some() || new.totals.is_some() {
        return Ok(old.totals == new.totals && old.largest_change(new) == 0.0);
    }
    let mut largest = PURPOSE.filled(0.0f64, old.width())?;
    for (column, value) in (0..old.n_leaves()).flat_map(|leaf| old.value(leaf)) {
        largest[column as usize] = largest[column as usize].max(value.abs());
    }
    let mut differences = PURPOSE.filled(0.0f64, old.width())?;
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
