//! Bounds of the scores of a model, for every sample.
//!
//! The magnitude of a score is at most the sum over trees of the largest magnitude in their leaves. If only some trees
//! add to a score, the sum over all trees is still an upper bound.

use std::sync::Arc;

use super::{Additive, Term};
use crate::tree::LeafTable;
use crate::tree::leaves::{Amounts, StoredRows, StoredValues, of_amounts};

impl Additive<'_> {
    /// Returns whether the scores are finite for every sample, in O(stored values).
    pub(crate) fn has_finite_scores(&self) -> bool {
        let factors = self.terms().map(|term| match term {
            Term::Leaf | Term::Column(_) => 1.0,
            Term::RankOne(direction) => largest_of(direction.factors()),
        });
        let of_trees = largest_values(self.trees().iter().map(|tree| tree.leaves()))
            .zip(factors)
            .map(|(value, factor)| value * factor);
        has_finite_sum(std::iter::once(largest_of(self.start().iter().copied())).chain(of_trees))
    }
}

/// Returns the largest magnitude of a value of each table, which bounds the predictions of its tree.
pub(crate) fn largest_values<'t>(tables: impl Iterator<Item = &'t LeafTable> + 't) -> impl Iterator<Item = f64> + 't {
    let mut last: Option<(&Arc<StoredRows>, f64)> = None;
    tables.map(move |leaves| match leaves.stored_rows() {
        // Values with totals are frequencies.
        _ if leaves.totals.is_some() => 1.0,
        None => {
            let of_leaves = leaves.leaf_scales.iter().flatten().copied().reduce(f64::max);
            largest(&leaves.amounts, leaves.scales.as_deref()) * of_leaves.unwrap_or(1.0)
        }
        // Values are means of stored samples; most trees have the same set of samples.
        Some(stored) => match last {
            Some((before, value)) if Arc::ptr_eq(before, stored) => value,
            Some(_) | None => {
                let value = match &stored.values {
                    StoredValues::Slots { .. } => 1.0,
                    StoredValues::Numbers { values, scales } => largest(values, scales.as_deref()),
                };
                last = Some((stored, value));
                value
            }
        },
    })
}

/// Returns whether the sum of numbers with these magnitudes is finite, in whatever order they are added.
pub(crate) fn has_finite_sum(magnitudes: impl Iterator<Item = f64>) -> bool {
    // The remaining half of the range is far more than rounding can add. The comparison is false for NaN.
    magnitudes.sum::<f64>() <= f64::MAX / 2.0
}

fn largest(values: &Amounts, scales: Option<&[f64]>) -> f64 {
    fn largest<T: Copy + Into<f64>>(values: &[T]) -> f64 {
        largest_of(values.iter().map(|&value| value.into()))
    }
    of_amounts!(values, v => largest(v)) * scales.map_or(1.0, largest)
}

/// Returns the largest magnitude; NaN if there is one.
fn largest_of(numbers: impl Iterator<Item = f64>) -> f64 {
    numbers.fold(0.0, |most, number| if number.abs() <= most { most } else { number.abs() })
}
