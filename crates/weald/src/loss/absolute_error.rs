//! The absolute error, |y − f|.

use super::column::ColumnLoss;
use super::quantile::with_distance;
use super::steps::newton::Regularization;
use super::{Domain, LineProblem, Loss, ROWS};
use crate::control::Control;
use crate::error::Result;
use crate::exact::Rounding;
use crate::loss::steps::line_search::{LARGEST_MOVE, LineSearch, weighted_median};

/// The absolute error.
#[derive(Clone, Copy, Debug)]
pub struct AbsoluteError;

impl Loss for AbsoluteError {
    fn domain(&self) -> Domain {
        Domain::Numbers
    }

    fn value(&self, y: f64, score: f64) -> f64 {
        (y - score).abs()
    }

    /// Returns the sign of y − f, which is 0 at 0.
    fn negative_gradient(&self, y: f64, score: f64) -> f64 {
        let r = y - score;
        if r == 0.0 { 0.0 } else { r.signum() }
    }

    fn curvature(&self, _: f64, _: f64) -> f64 {
        0.0
    }

    /// Returns the lower weighted median.
    fn start(&self, y: &[f64], weights: &[f64], control: &Control) -> Result<f64> {
        let mut pairs = ROWS.collected(y.iter().copied().zip(weights.iter().copied()))?;
        weighted_median(&mut pairs, control)
    }

    /// Returns the lower median of r / g with weights w |g|, or 0 if all directions are zero.
    fn step(&self, problem: &LineProblem<'_>, _: LineSearch) -> Result<f64> {
        let grid = Rounding::of(problem.weights).grid(problem.largest_direction());
        // The unit of steps is that of y: only moves that overflow are too long.
        let most = LARGEST_MOVE / problem.largest_direction();
        let ratio = |y: f64, f: f64, g: f64| ((y - f) / g).clamp(-most, most);
        let mut pairs = ROWS.with_capacity(problem.y.len())?;
        pairs.extend(problem.moving().map(|(y, f, g, w)| (ratio(y, f, g), grid.product(w, g.abs()))));
        problem.unless_worse(self, weighted_median(&mut pairs, problem.control)?)
    }
}

impl ColumnLoss for AbsoluteError {
    /// Returns the sign of y − f, × √|y − f|.
    fn response(&self, y: f64, score: f64) -> f64 {
        with_distance(self.negative_gradient(y, score), y - score)
    }

    /// Returns the lower weighted median of the residuals, without a bound on its magnitude.
    fn leaf_value(&self, problem: &LineProblem<'_>, _: Regularization, _: LineSearch) -> Result<f64> {
        let residuals = problem.y.iter().zip(problem.scores).map(|(y, f)| y - f);
        let mut pairs = ROWS.collected(residuals.zip(problem.weights.iter().copied()))?;
        weighted_median(&mut pairs, problem.control)
    }
}
