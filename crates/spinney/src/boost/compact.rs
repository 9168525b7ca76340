//! The same model with smaller leaves: fewer bits, or without numbers that hardly count.

use super::model::{Boosted, Combine};
use crate::control::Control;
use crate::error::{Error, Result};
use crate::forest::Forest;
use crate::pool;
use crate::tree::Precision;

impl Boosted {
    /// Leaves with fewer bits, as [`Forest::with_precision`]; scores remain sums of float64. Models without trees stay as
    /// they are. O(stored values).
    ///
    /// # Errors
    /// As [`Forest::with_precision`].
    pub fn with_precision(&self, precision: Precision, control: &Control) -> Result<Boosted> {
        self.with_forest(|forest| forest.with_precision(precision, control))
    }

    /// Leaves without numbers so small that no score of any sample changes by more than `max_change`: of k stages those up
    /// to `max_change` / k. Where most are left out, leaves store the columns of the others. Models whose leaves
    /// hold one number for all scores, or that have no trees, stay as they are. O(stored values).
    ///
    /// # Errors
    /// [`crate::ErrorKind::Invalid`] for a `max_change` that is negative or not finite; [`crate::ErrorKind::Interrupted`],
    /// [`crate::ErrorKind::OutOfMemory`].
    pub fn without_small_values(&self, max_change: f64, control: &Control) -> Result<Boosted> {
        if !(max_change >= 0.0 && max_change.is_finite()) {
            return Err(Error::invalid("max_change", max_change, "be finite and at least 0"));
        }
        match self.combine {
            Combine::Leaves | Combine::Columns => {
                let floor = max_change / self.n_stages().max(1) as f64;
                self.with_forest(|forest| forest.without_small(floor, control))
            }
            Combine::RankOne | Combine::OtherRankOne | Combine::OtherEach => self.truncated(self.n_stages()),
        }
    }

    /// What no score of `other` differs by more from that of `self`, but for rounding of the sums: of each stage the largest
    /// difference of what a leaf adds, summed over stages. `other` must have the structure of `self`. O(stored values).
    ///
    /// # Errors
    /// [`crate::ErrorKind::Interrupted`]; [`crate::ErrorKind::Invalid`] for another number of trees, nodes or columns.
    pub fn largest_change(&self, other: &Boosted, control: &Control) -> Result<f64> {
        let alike = self
            .trees
            .iter()
            .zip(&other.trees)
            .all(|(a, b)| a.nodes == b.nodes && a.leaves.width() == b.leaves.width());
        if self.trees.len() != other.trees.len() || self.combine != other.combine || self.width != other.width || !alike
        {
            return Err(Error::invalid("model", "other trees", "have the same trees"));
        }
        let changes = pool::map(control.n_threads(), self.trees.len(), |t| {
            control.check()?;
            Ok(self.trees[t].leaves.largest_change(&other.trees[t].leaves))
        })?;
        match self.combine {
            Combine::Leaves => Ok(changes.iter().sum()),
            Combine::Columns => {
                let of_column = |column: usize| changes.iter().skip(column).step_by(self.width).sum::<f64>();
                Ok((0..self.width).map(of_column).fold(0.0, f64::max))
            }
            Combine::RankOne => {
                let steps = self.step_sizes.all(self.width)?;
                let largest = |steps: &[f64]| steps.iter().fold(0.0f64, |largest, step| largest.max(step.abs()));
                let stages = changes.iter().zip(steps.chunks_exact(self.width));
                Ok(stages.map(|(change, steps)| change * self.learning_rate.abs() * largest(steps)).sum())
            }
            Combine::OtherRankOne | Combine::OtherEach => Ok(0.0),
        }
    }

    /// The model with other trees.
    fn with_forest(&self, change: impl FnOnce(&Forest) -> Result<Forest>) -> Result<Boosted> {
        let mut model = self.truncated(self.n_stages())?;
        if let Some(forest) = self.forest() {
            let forest = change(&forest)?;
            model.trees = forest.trees;
        }
        Ok(model)
    }
}
