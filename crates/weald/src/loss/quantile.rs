//! The quantile (pinball) loss: q r for a residual r = y − f above 0, and (q − 1) r below. Its best constant is the
//! quantile q of y. With q = ½, it is half the absolute error.
//!
//! Source: Koenker and Bassett, *Regression quantiles* (1978).

use super::column::ColumnLoss;
use super::steps::line_search::{LARGEST_MOVE, first_with_weight};
use super::steps::newton::Regularization;
use super::{Domain, LineProblem, Loss, LossKind, LossParameter, ROWS};
use crate::control::Control;
use crate::error::Result;
use crate::exact::Rounding;

/// The quantile loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantile {
    /// The quantile q, greater than 0 and less than 1.
    pub quantile: f64,
}

impl LossKind {
    /// Returns the loss for this [`Quantile`].
    pub fn quantile(quantile: f64) -> Self {
        LossKind::Quantile(Quantile { quantile })
    }
}

impl Quantile {
    pub(super) const PARAMETER: LossParameter = LossParameter {
        name: "quantile",
        about: "Level of the quantile, or several different levels of each output, which are kept in increasing order.",
        default: 0.5,
        above: 0.0,
        below: 1.0,
        must: "be above 0 and below 1",
    };

    /// Returns the smallest value such that a fraction q of the total weight is at or below it.
    fn weighted(self, pairs: &mut [(f64, f64)], control: &Control) -> Result<f64> {
        let total: f64 = pairs.iter().map(|p| p.1).sum();
        first_with_weight(self.quantile * total, pairs, control)
    }
}

/// Returns gradient × √|r|. The gradient of a distance only tells on which side of the score a target is: trees that are
/// grown on it cannot tell targets apart that are on one side, near or far. The root keeps what is far from deciding
/// alone, as it would with r itself (`benches/defaults/distances.py`). Outputs that share trees have different units, which
/// their gradients do not have.
pub(super) fn with_distance(gradient: f64, r: f64) -> f64 {
    gradient * r.abs().sqrt()
}

impl Loss for Quantile {
    fn domain(&self) -> Domain {
        Domain::Numbers
    }

    fn check(&self) -> Result<()> {
        Self::PARAMETER.check(self.quantile)
    }

    fn value(&self, y: f64, score: f64) -> f64 {
        let r = y - score;
        if r >= 0.0 { self.quantile * r } else { (self.quantile - 1.0) * r }
    }

    /// Returns q for scores below y, q − 1 above, and 0 at y.
    fn negative_gradient(&self, y: f64, score: f64) -> f64 {
        let r = y - score;
        if r == 0.0 {
            0.0
        } else if r > 0.0 {
            self.quantile
        } else {
            self.quantile - 1.0
        }
    }

    fn curvature(&self, _: f64, _: f64) -> f64 {
        0.0
    }

    /// Returns the smallest value such that a fraction q of the total weight is at or below it.
    fn start(&self, y: &[f64], weights: &[f64], control: &Control) -> Result<f64> {
        let mut pairs = ROWS.collected(y.iter().copied().zip(weights.iter().copied()))?;
        self.weighted(&mut pairs, control)
    }

    /// Returns the smallest minimum. Before all kinks r / g, the slope is −q |g| for increasing and (q − 1) |g| for
    /// decreasing g, and each kink adds w |g|. The result is 0 if all directions are zero.
    fn step(&self, problem: &LineProblem<'_>) -> Result<f64> {
        let grid = Rounding::of(problem.weights).grid(problem.largest_direction());
        // The unit of steps is that of y: only moves that overflow are too long.
        let most = LARGEST_MOVE / problem.largest_direction();
        let ratio = |y: f64, f: f64, g: f64| ((y - f) / g).clamp(-most, most);
        let mut pairs = ROWS.with_capacity(problem.y.len())?;
        let (mut rising, mut falling) = (0.0, 0.0);
        for (y, f, g, w) in problem.moving() {
            let bend = grid.product(w, g.abs());
            *(if g > 0.0 { &mut rising } else { &mut falling }) += bend;
            pairs.push((ratio(y, f, g), bend));
        }
        let least = self.quantile * rising + (1.0 - self.quantile) * falling;
        problem.unless_worse(self, first_with_weight(least, &mut pairs, problem.control)?)
    }
}

impl ColumnLoss for Quantile {
    /// Returns the negative gradient × √|y − f|: see [`with_distance`].
    fn response(&self, y: f64, score: f64) -> f64 {
        with_distance(self.negative_gradient(y, score), y - score)
    }

    /// Returns the quantile of the residuals, without a bound on its magnitude.
    fn leaf_value(&self, problem: &LineProblem<'_>, _: Regularization) -> Result<f64> {
        let residuals = problem.y.iter().zip(problem.scores).map(|(y, f)| y - f);
        let mut pairs = ROWS.collected(residuals.zip(problem.weights.iter().copied()))?;
        self.weighted(&mut pairs, problem.control)
    }
}
