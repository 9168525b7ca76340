//! The exponential loss, e^(−yf) with y = ±1.

use super::column::ColumnLoss;
use super::{Domain, LineProblem, Link, Loss, half_log_odds};
use crate::control::Control;
use crate::data::Outputs;
use crate::elementary::exp;
use crate::error::Result;
use crate::loss::steps::line_search::newton_or_brent;

/// The exponential loss. If −yf is above 80, the loss continues as its tangent, so that gradients fit in float32, and
/// sums of their squares in float64.
#[derive(Clone, Copy, Debug)]
pub struct Exponential;

/// The largest exponent: e^80 is 5.5·10³⁴.
pub(crate) const LARGEST_EXPONENT: f64 = 80.0;

impl Loss for Exponential {
    fn link(&self, outputs: &Outputs) -> Link {
        Link::of_half_log_odds(outputs)
    }

    fn domain(&self) -> Domain {
        Domain::Signs
    }

    fn value(&self, y: f64, score: f64) -> f64 {
        let exponent = -y * score;
        let clipped = exponent.min(LARGEST_EXPONENT);
        exp(clipped) * (1.0 + (exponent - clipped))
    }

    /// Returns y e^(−yf).
    fn negative_gradient(&self, y: f64, score: f64) -> f64 {
        y * self.curvature(y, score)
    }

    /// Returns e^(−yf). Along the tangent it stays e^80, which is an upper bound on the curvature, so that Newton steps
    /// still decrease the loss.
    fn curvature(&self, y: f64, score: f64) -> f64 {
        exp((-y * score).min(LARGEST_EXPONENT)).max(f64::MIN_POSITIVE)
    }

    /// Returns ½ log(W₊ / W₋), as for the logistic loss.
    fn start(&self, y: &[f64], weights: &[f64], _: &Control) -> Result<f64> {
        Ok(half_log_odds(y, weights))
    }

    /// Newton's method applies because |ℓ'''| ≤ ℓ''.
    fn step(&self, problem: &LineProblem<'_>) -> Result<f64> {
        // On the tangent, the curvature is only an upper bound.
        let is_far = problem.moving().any(|(y, f, _, _)| -y * f > LARGEST_EXPONENT);
        newton_or_brent(self, problem, problem.largest_direction(), is_far)
    }
}

impl ColumnLoss for Exponential {
    fn has_curvature(&self) -> bool {
        true
    }
}
