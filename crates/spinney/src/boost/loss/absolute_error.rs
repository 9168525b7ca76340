//! |y − f|.

use super::sums::{Rounding, bits_left};
use super::{LARGEST_STEP, LineProblem, Loss, ROWS};
use crate::boost::line_search::{LineSearch, weighted_median};
use crate::error::{Result, try_collected, try_with_capacity};

/// The absolute error.
#[derive(Clone, Copy, Debug)]
pub struct AbsoluteError;

impl Loss for AbsoluteError {
    fn value(&self, y: f64, score: f64) -> f64 {
        (y - score).abs()
    }

    /// The sign of y − f; 0 at 0.
    fn negative_gradient(&self, y: f64, score: f64) -> f64 {
        let r = y - score;
        if r == 0.0 { 0.0 } else { r.signum() }
    }

    fn curvature(&self, _: f64, _: f64) -> f64 {
        0.0
    }

    /// The lower weighted median.
    fn start(&self, y: &[f64], weights: &[f64]) -> Result<f64> {
        let mut pairs = try_collected(ROWS, y.iter().copied().zip(weights.iter().copied()))?;
        Ok(weighted_median(&mut pairs))
    }

    /// The lower median of r / g with weights w |g|; 0 where no row moves.
    fn step(&self, problem: &LineProblem<'_>, _: LineSearch) -> Result<f64> {
        let rounding = Rounding::new(problem.largest_direction(), bits_left(problem.weights));
        let ratio = |y: f64, f: f64, g: f64| ((y - f) / g).clamp(-LARGEST_STEP, LARGEST_STEP);
        let mut pairs = try_with_capacity(ROWS, problem.y.len())?;
        pairs.extend(problem.moving().map(|(y, f, g, w)| (ratio(y, f, g), w * rounding.round(g.abs()))));
        problem.unless_worse(self, weighted_median(&mut pairs))
    }
}
