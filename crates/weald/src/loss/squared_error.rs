//! The squared error, ½(y − f)².

use super::column::{ColumnLoss, LeafRule, NumberColumn};
use super::rows::RowLoss;
use super::rows::square_rows::SquareRows;
use super::{Domain, LARGEST_STEP, LineProblem, Loss};
use crate::control::Control;
use crate::error::Result;
use crate::exact::{exact_mean_of_all, weighted_sum};

/// Half the squared error.
#[derive(Clone, Copy, Debug)]
pub struct SquaredError;

impl Loss for SquaredError {
    fn domain(&self) -> Domain {
        Domain::Numbers
    }

    #[inline]
    fn value(&self, y: f64, score: f64) -> f64 {
        0.5 * (y - score) * (y - score)
    }

    #[inline]
    fn negative_gradient(&self, y: f64, score: f64) -> f64 {
        y - score
    }

    fn curvature(&self, _: f64, _: f64) -> f64 {
        1.0
    }

    /// Returns the weighted mean.
    fn start(&self, y: &[f64], weights: &[f64], _: &Control) -> Result<f64> {
        let total: f64 = weights.iter().sum();
        Ok(if total > 0.0 { weighted_sum(weights, y) / total } else { 0.0 })
    }

    /// Returns Σ w r g / Σ w g², with r = y − f, or 0 if all directions are zero.
    fn step(&self, problem: &LineProblem<'_>) -> Result<f64> {
        // Values are divided by the largest |g|, because squares of small numbers underflow.
        let largest = problem.largest_direction();
        if largest == 0.0 {
            return Ok(0.0);
        }
        let slope = problem.sum(|y, f, g| (y - f) * (g / largest))?;
        let curvature = problem.sum(|_, _, g| (g / largest) * (g / largest))?;
        let step = (slope / curvature / largest).clamp(-LARGEST_STEP, LARGEST_STEP);
        problem.unless_worse(self, step)
    }
}

impl ColumnLoss for SquaredError {
    fn leaf_rule(&self) -> LeafRule {
        LeafRule::Residuals
    }

    fn start_of(&self, column: &NumberColumn<'_>, _: &Control) -> Result<f64> {
        exact_mean_of_all(column.values(), column.weights.workers())
    }

    fn rows_in_float32(&self) -> Option<Box<dyn RowLoss<f32>>> {
        Some(Box::new(SquareRows))
    }

    fn rows_in_float64(&self) -> Option<Box<dyn RowLoss<f64>>> {
        Some(Box::new(SquareRows))
    }
}
