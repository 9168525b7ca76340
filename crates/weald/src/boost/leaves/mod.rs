//! The leaves of a stage: its samples by leaf, and what leaves take as values. How scores move by them is in
//! [`super::scores`].

pub(crate) mod columns;
pub(crate) mod curvatures;
pub(crate) mod newton;
pub(crate) mod search;
pub(crate) mod steps;
pub(crate) mod sums;

use std::ops::Range;

use super::config::BoostConfig;
use super::data::Data;
use crate::control::Control;
use crate::data::Weights;
use crate::error::{Purpose, Result};
use crate::exact::Total;
use crate::exact::reduce::Reduce;
use crate::loss::kernels::float::Float;
use crate::loss::steps::newton::Regularization;
use crate::tree::growth::grow::Structure;
use crate::tree::leaves::{LeafTable, LeafTableBuilder};
use crate::tree::traverse::by_leaf;

const LEAVES: Purpose = Purpose("the leaves of a stage");

/// The samples to which a stage is fitted, by leaf: a leaf is a set of samples for which the weak model predicts the
/// same.
#[derive(Debug)]
pub(crate) struct Leaves<'s> {
    order: &'s [u32],
    ranges: Vec<Range<u32>>,
    /// The total weight of each leaf, in units.
    pub(crate) weights: Vec<f64>,
    /// The total weight of all leaves.
    pub(crate) total: Total,
    /// The weights of the samples in the stage.
    of_rows: &'s Weights,
}

impl<'s> Leaves<'s> {
    pub(crate) fn of_tree(structure: &'s Structure, weights: &'s Weights) -> Result<Self> {
        Leaves::new(&structure.order, LEAVES.collected(structure.leaf_samples.iter().cloned())?, weights)
    }

    /// Makes each sample a leaf of its own.
    pub(crate) fn single_rows(rows: &'s [u32], weights: &'s Weights) -> Result<Self> {
        Leaves::new(rows, LEAVES.collected((0..rows.len() as u32).map(|i| i..i + 1))?, weights)
    }

    pub(crate) fn new(order: &'s [u32], ranges: Vec<Range<u32>>, of_rows: &'s Weights) -> Result<Self> {
        let total = |range: &Range<u32>| of_rows.total(&order[range.start as usize..range.end as usize]) as f64;
        let mut weights = LEAVES.collected(ranges.iter().map(total))?;
        of_rows.workers().sum(&mut weights)?;
        let total = Total::of_sum(weights.iter().sum())?;
        Ok(Leaves { order, ranges, weights, total, of_rows })
    }

    /// Returns the weight of a sample in the stage, in units.
    pub(crate) fn units(&self, row: u32) -> u64 {
        self.of_rows.units(row as usize)
    }

    /// Returns the weight of a sample in the stage, in sums of weights times terms.
    pub(crate) fn weight_in_sums(&self, row: u32) -> f64 {
        self.of_rows.in_sums(self.units(row))
    }

    pub(crate) fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Returns Σ w g² of one value for each leaf.
    pub(crate) fn square(&self, values: &[f64]) -> f64 {
        values.iter().zip(&self.weights).map(|(g, w)| g * g * w).sum()
    }

    /// Returns the leaf of each of `n_samples` samples; 0 for samples in no leaf.
    pub(crate) fn of_rows(&self, n_samples: usize) -> Result<Vec<u32>> {
        let mut leaf_of = Purpose("the leaves of rows").filled(0u32, n_samples)?;
        for leaf in 0..self.len() {
            self.rows(leaf).iter().for_each(|&row| leaf_of[row as usize] = leaf as u32);
        }
        Ok(leaf_of)
    }

    pub(crate) fn rows(&self, leaf: usize) -> &'s [u32] {
        let range = &self.ranges[leaf];
        &self.order[range.start as usize..range.end as usize]
    }
}

/// What the values of leaves are computed from, besides scores.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fit<'s, T: Float> {
    pub(crate) data: &'s Data<'s, T>,
    pub(crate) leaves: &'s Leaves<'s>,
    /// The negative gradients of samples with one score each, if they are in memory.
    pub(crate) gradients: Option<&'s [f64]>,
    pub(crate) config: &'s BoostConfig,
    pub(crate) control: &'s Control,
}

impl<T: Float> Fit<'_, T> {
    /// Returns the regularisation for sums in which a sample counts by its units.
    pub(crate) fn in_units(&self) -> Regularization {
        self.config.regularization().of_units(self.data.weights.unit, 1.0)
    }
}

/// The samples of an existing tree by leaf, for the leaves that samples reach.
#[derive(Debug)]
pub(crate) struct RowsByLeaf {
    /// The leaves, in increasing order.
    pub(crate) reached: Vec<u32>,
    order: Vec<u32>,
    /// The range of each leaf of the tree.
    ranges: Vec<Range<u32>>,
}

impl RowsByLeaf {
    pub(crate) fn new(rows: &[u32], leaf_of: &[u32], n_leaves: usize) -> Result<Self> {
        let (order, ranges) = by_leaf(rows, leaf_of, n_leaves)?;
        let mut reached = LEAVES.with_capacity(n_leaves)?;
        reached.extend((0..).zip(&ranges).filter(|(_, range)| !range.is_empty()).map(|(leaf, _)| leaf));
        Ok(RowsByLeaf { reached, order, ranges })
    }

    /// Returns the leaves that samples reach.
    pub(crate) fn leaves<'s>(&'s self, weights: &'s Weights) -> Result<Leaves<'s>> {
        let range = |&leaf: &u32| self.ranges[leaf as usize].clone();
        Leaves::new(&self.order, LEAVES.collected(self.reached.iter().map(range))?, weights)
    }

    /// Returns a table with the values of these leaves in `new`, which has all leaves, and the old values of all others.
    pub(crate) fn of_both(&self, new: &LeafTable, old: &LeafTable) -> Result<LeafTable> {
        let mut builder = LeafTableBuilder::of_means(old.width());
        let mut reached = self.reached.iter().peekable();
        for leaf in 0..old.n_leaves() {
            let table = if reached.next_if(|reached| **reached as usize == leaf).is_some() { new } else { old };
            builder.push_rounded(table.cells(leaf))?;
        }
        builder.finish()
    }

    /// Returns a table with the new values of these leaves, and the old values of all others.
    pub(crate) fn table(&self, new: &LeafTable, old: &LeafTable) -> Result<LeafTable> {
        let mut builder = LeafTableBuilder::new(old.width());
        let mut row = LEAVES.filled(0.0, old.width())?;
        let mut reached = self.reached.iter().enumerate().peekable();
        for leaf in 0..old.n_leaves() {
            row.fill(0.0);
            match reached.next_if(|(_, reached)| **reached as usize == leaf) {
                Some((at, _)) => new.add_to(at, &mut row),
                None => old.add_to(leaf, &mut row),
            }
            builder.push_means(&row)?;
        }
        builder.finish()
    }
}
