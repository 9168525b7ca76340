//! The absolute error, |y − f|.

use super::column::ColumnLoss;
use super::quantile::{Quantile, with_distance};
use super::steps::newton::Regularization;
use super::{Domain, LineProblem, Loss};
use crate::control::Control;
use crate::error::Result;

/// Half the absolute error, with the same minima.
const MEDIAN: Quantile = Quantile { quantile: 0.5 };

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
        MEDIAN.start(y, weights, control)
    }

    /// Returns the lower median of r / g with weights w |g|, or 0 if all directions are zero.
    fn step(&self, problem: &LineProblem<'_>) -> Result<f64> {
        MEDIAN.step(problem)
    }
}

impl ColumnLoss for AbsoluteError {
    /// Returns the sign of y − f, × √|y − f|.
    fn response(&self, y: f64, score: f64) -> f64 {
        with_distance(self.negative_gradient(y, score), y - score)
    }

    /// Returns the lower weighted median of the residuals, without a bound on its magnitude.
    fn leaf_value(&self, problem: &LineProblem<'_>, regularization: Regularization) -> Result<f64> {
        MEDIAN.leaf_value(problem, regularization)
    }
}
