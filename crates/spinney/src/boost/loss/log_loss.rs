//! log(1 + e^(−2yf)), y = ±1: P(y = 1) = 1 / (1 + e^(−2f)), so the score is half the log-odds.

use super::{LineProblem, Loss, half_log_odds};
use crate::boost::line_search::{LineSearch, newton_or_brent};
use crate::error::Result;

/// Logistic loss.
#[derive(Clone, Copy, Debug)]
pub struct LogLoss;

/// e^(−2|f|), at least the smallest normal number: curvatures far out are rounded up, never to zero, so that Newton steps
/// stay finite and certain to descend.
fn tail(score: f64) -> f64 {
    (-2.0 * score.abs()).exp().max(f64::MIN_POSITIVE)
}

/// P(y = 1) of a score.
pub(crate) fn probability(score: f64) -> f64 {
    let e = (-2.0 * score.abs()).exp();
    if score >= 0.0 { 1.0 / (1.0 + e) } else { e / (1.0 + e) }
}

impl Loss for LogLoss {
    fn value(&self, y: f64, score: f64) -> f64 {
        let margin = y * score;
        (-2.0 * margin).max(0.0) + (-2.0 * margin.abs()).exp().ln_1p()
    }

    /// 2y / (1 + e^(2yf)).
    fn negative_gradient(&self, y: f64, score: f64) -> f64 {
        let tail = tail(score);
        let numerator = if y * score >= 0.0 { tail } else { 1.0 };
        2.0 * y * numerator / (1.0 + tail)
    }

    /// 4 P (1 − P).
    fn curvature(&self, _: f64, score: f64) -> f64 {
        let tail = tail(score);
        4.0 * tail / ((1.0 + tail) * (1.0 + tail))
    }

    /// ½ log(W₊ / W₋), the weights of the two classes; one without weight counts as half a row, so that constant labels
    /// have a finite start.
    fn start(&self, y: &[f64], weights: &[f64]) -> Result<f64> {
        Ok(half_log_odds(y, weights))
    }

    /// |ℓ'''| ≤ 2 ℓ''.
    fn step(&self, problem: &LineProblem<'_>, search: LineSearch) -> Result<f64> {
        newton_or_brent(self, problem, 2.0 * problem.largest_direction(), search)
    }
}
