//! The leaves of a stage: its samples by leaf, what leaves take as values, and how scores move by them.

pub(crate) mod columns;
pub(crate) mod curvatures;
pub(crate) mod newton;
pub(crate) mod search;
pub(crate) mod steps;
pub(crate) mod sums;
pub(crate) mod tile;

use std::ops::Range;

use super::scores::sweep::Update;
use crate::data::Weights;
use crate::error::{Result, try_collected, try_filled, try_with_capacity};
use crate::exact::Total;
use crate::exact::reduce::Reduce;
use crate::loss::float::Float;
use crate::tree::grow::Structure;
use crate::tree::leaves::{LeafTable, LeafTableBuilder};

const LEAVES: &str = "the leaves of a stage";
const CONTRIBUTIONS: &str = "the contributions of a stage";

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
}

impl<'s> Leaves<'s> {
    pub(crate) fn of_tree(structure: &'s Structure, weights: &Weights) -> Result<Self> {
        Leaves::new(&structure.order, try_collected(LEAVES, structure.leaf_samples.iter().cloned())?, weights)
    }

    /// Makes each sample a leaf of its own.
    pub(crate) fn single_rows(rows: &'s [u32], weights: &Weights) -> Result<Self> {
        Leaves::new(rows, try_collected(LEAVES, (0..rows.len() as u32).map(|i| i..i + 1))?, weights)
    }

    pub(crate) fn new(order: &'s [u32], ranges: Vec<Range<u32>>, weights: &Weights) -> Result<Self> {
        let rows_of = |range: &Range<u32>| order[range.start as usize..range.end as usize].iter();
        let total = |range| rows_of(range).map(|&row| weights.units(row as usize)).sum::<u64>() as f64;
        let mut totals = try_collected(LEAVES, ranges.iter().map(total))?;
        weights.workers().sum(&mut totals)?;
        let total = Total::of_sum(totals.iter().sum())?;
        Ok(Leaves { order, ranges, weights: totals, total })
    }

    pub(crate) fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Returns the leaf of each of `n_samples` samples; 0 for samples in no leaf.
    pub(crate) fn of_rows(&self, n_samples: usize) -> Result<Vec<u32>> {
        let mut leaf_of = try_filled("the leaves of rows", 0u32, n_samples)?;
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

/// What a weak model predicts for the samples of each leaf.
#[derive(Debug)]
pub(crate) enum LeafValues {
    /// One value for each score: a table with a row for each leaf.
    Table(Vec<f64>),
    /// One value for each leaf.
    Scalars(Vec<f64>),
}

/// The samples of an existing tree by leaf, for the leaves that samples reach.
#[derive(Debug)]
pub(crate) struct RowsByLeaf {
    /// The leaves, in increasing order.
    pub(crate) leaves: Vec<u32>,
    /// The samples of the first of these leaves, then those of the second, and so on.
    pub(crate) order: Vec<u32>,
    pub(crate) ranges: Vec<Range<u32>>,
}

impl RowsByLeaf {
    pub(crate) fn new(rows: &[u32], leaf_of: &[u32], n_leaves: usize) -> Result<Self> {
        let mut ends = try_filled(LEAVES, 0u32, n_leaves + 1)?;
        rows.iter().for_each(|&row| ends[leaf_of[row as usize] as usize + 1] += 1);
        (0..n_leaves).for_each(|leaf| ends[leaf + 1] += ends[leaf]);
        let (mut leaves, mut ranges) = (try_with_capacity(LEAVES, n_leaves)?, try_with_capacity(LEAVES, n_leaves)?);
        for (leaf, range) in (0..).zip(ends.windows(2)).filter(|(_, range)| range[0] < range[1]) {
            leaves.push(leaf);
            ranges.push(range[0]..range[1]);
        }
        let mut order = try_filled(LEAVES, 0u32, rows.len())?;
        for &row in rows {
            let next = &mut ends[leaf_of[row as usize] as usize];
            order[*next as usize] = row;
            *next += 1;
        }
        Ok(RowsByLeaf { leaves, order, ranges })
    }

    /// Returns a table with the new values of these leaves, and the old values of all others.
    pub(crate) fn table(&self, new: &LeafTable, old: &LeafTable) -> Result<LeafTable> {
        let mut builder = LeafTableBuilder::new(old.width());
        let mut row = try_filled(LEAVES, 0.0, old.width())?;
        let mut reached = self.leaves.iter().enumerate().peekable();
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

/// Returns the leaves that the model stores and, for a table, what they add to the scores.
pub(crate) fn contributions<T: Float>(values: &LeafValues, steps: &[f64], mu: f64) -> Result<(LeafTable, Vec<T>)> {
    match values {
        LeafValues::Table(g) => {
            let width = steps.len();
            let mut builder = LeafTableBuilder::new(width);
            let mut table = try_filled(CONTRIBUTIONS, T::from_f64(0.0), g.len())?;
            let mut of_leaf = try_filled(CONTRIBUTIONS, 0.0, width)?;
            for (g, row) in g.chunks_exact(width).zip(table.chunks_exact_mut(width)) {
                for ((sum, g), step) in of_leaf.iter_mut().zip(g).zip(steps) {
                    *sum = mu * (step * g);
                }
                row.iter_mut().zip(&of_leaf).for_each(|(value, &sum)| *value = T::from_f64(sum));
                builder.push_means(&of_leaf)?;
            }
            Ok((builder.finish()?, table))
        }
        LeafValues::Scalars(g) => {
            let mut builder = LeafTableBuilder::new(1);
            g.iter().try_for_each(|&g| builder.push_means(&[g]))?;
            Ok((builder.finish()?, Vec::new()))
        }
    }
}

/// Describes what the leaves add to the scores of their samples: rows of `table`, or `direction` times one value for
/// each leaf.
pub(crate) fn update<'u, T>(
    leaf_of: Vec<u32>,
    values: &'u LeafValues,
    table: &'u [T],
    direction: &'u [f64],
) -> Update<'u, T> {
    match values {
        LeafValues::Table(_) => Update::Table { leaf_of, table },
        LeafValues::Scalars(values) => Update::RankOne { leaf_of, values, direction },
    }
}
