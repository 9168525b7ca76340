//! ½(y − f)².

use super::{LARGEST_STEP, LineProblem, Loss, weighted_sum};
use crate::boost::line_search::LineSearch;
use crate::error::Result;

/// Half the squared error.
#[derive(Clone, Copy, Debug)]
pub struct SquaredError;

impl Loss for SquaredError {
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

    /// The weighted mean.
    fn start(&self, y: &[f64], weights: &[f64]) -> Result<f64> {
        let total: f64 = weights.iter().sum();
        Ok(if total > 0.0 { weighted_sum(weights, y) / total } else { 0.0 })
    }

    /// Σ w r g / Σ w g², with r = y − f; 0 where no row moves.
    fn step(&self, problem: &LineProblem<'_>, _: LineSearch) -> Result<f64> {
        // In units of the largest g: squares of small numbers vanish.
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
