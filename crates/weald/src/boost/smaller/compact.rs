//! The same model with leaves that need less memory: fewer bits, or without values that hardly matter.

use crate::boost::model::{Boosted, Combine};
use crate::control::Control;
use crate::error::{Error, Result};
use crate::forest::Forest;
use crate::pool;
use crate::tree::Precision;

impl Boosted {
    /// Returns the model with leaves that have fewer bits, as [`Forest::with_precision`] does. Scores are still sums of
    /// float64. Models whose weak models are not trees are returned unchanged. The cost is O(stored values).
    ///
    /// # Errors
    /// The same as for [`Forest::with_precision`].
    pub fn with_precision(&self, precision: Precision, control: &Control) -> Result<Boosted> {
        self.with_forest(|forest| forest.with_precision(precision, control))
    }

    /// Returns the model without leaf values that are so small that leaving them out changes no score of any sample by
    /// more than `max_change`: with k stages, values up to `max_change` / k in magnitude. If most values are left out,
    /// leaves store the columns of the others. Models whose leaves hold one value for all scores, and models whose weak
    /// models are not trees, are returned unchanged. The cost is O(stored values).
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Invalid`] when `max_change` is negative or not finite,
    /// [`crate::ErrorKind::Interrupted`] or [`crate::ErrorKind::OutOfMemory`].
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

    /// Returns a bound on the difference between a score of `other` and the same score of `self`, up to rounding of the
    /// sums: the largest difference of what a leaf adds in each stage, summed over stages. `other` must have the
    /// structure of `self`. The cost is O(stored values).
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Invalid`] for another number of trees, nodes or columns, or
    /// [`crate::ErrorKind::Interrupted`].
    pub fn largest_change(&self, other: &Boosted, control: &Control) -> Result<f64> {
        let mut pairs = self.trees.iter().zip(&other.trees);
        let are_alike = pairs.all(|(a, b)| a.nodes == b.nodes && a.leaves.width() == b.leaves.width());
        let is_alike = self.combine == other.combine && self.width == other.width;
        if self.trees.len() != other.trees.len() || !are_alike || !is_alike {
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
                let steps = &self.step_sizes.0;
                let largest = |steps: &[f64]| steps.iter().fold(0.0f64, |largest, step| largest.max(step.abs()));
                let stages = changes.iter().zip(steps.chunks_exact(self.width));
                Ok(stages.map(|(change, steps)| change * self.learning_rate.abs() * largest(steps)).sum())
            }
            Combine::OtherRankOne | Combine::OtherEach => Ok(0.0),
        }
    }

    /// Returns the model with its trees replaced by those that `change` returns.
    fn with_forest(&self, change: impl FnOnce(&Forest) -> Result<Forest>) -> Result<Boosted> {
        let mut model = self.truncated(self.n_stages())?;
        if let Some(forest) = self.forest() {
            let forest = change(&forest)?;
            model.trees = forest.trees;
        }
        Ok(model)
    }
}
