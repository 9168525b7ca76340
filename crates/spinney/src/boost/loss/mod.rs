//! Losses of one score, each in a file of its own.
//!
//! | file | loss ℓ(y, f) | start | step |
//! |---|---|---|---|
//! | [`squared_error`] | ½(y − f)² | mean | closed form |
//! | [`absolute_error`] | \|y − f\| | lower median | lower weighted median |
//! | [`log_loss`] | log(1 + e^(−2yf)) | half the log-odds | Newton or Brent |
//! | [`exponential`] | e^(−yf) | half the log-odds | Newton or Brent |
//! | [`hinge`] | max(0, 1 − yf) | ±1 | its kinks |
//!
//! Classes against each other are in `softmax`, which is no sum over columns.
//!
//! f is the score. y is a number, or −1/+1 for a label or class that is off or on; [`squared_error`] and
//! [`absolute_error`] see 0/1 in their place.
//!
//! **Sums are exact** for weights in 64ths (see `sums`): the order of rows cannot be seen, a row of weight 2 is two rows
//! and one of weight 0 is none.
//!
//! A sweep over the data reads whole rows of scores through `rows`, and sums gradients that `grid` has rounded;
//! the sums that a search of the logistic loss asks for are in `off_sums`.
//!
//! A new loss is a type that implements [`Loss`]; [`Loss::start`] and [`Loss::step`] have defaults.

pub mod absolute_error;
pub mod exponential;
pub(crate) mod grid;
pub mod hinge;
pub mod log_loss;
pub(crate) mod off_sums;
pub(crate) mod rows;
pub(crate) mod softmax;
pub(crate) mod square_rows;
pub mod squared_error;
pub(crate) mod sums;
#[cfg(test)]
mod tests;

use std::fmt::Debug;
use std::sync::Arc;

use super::line_search::{self, LineSearch};
use crate::error::{Result, try_collected, try_filled};
pub use absolute_error::AbsoluteError;
pub use exponential::Exponential;
pub use hinge::Hinge;
pub use log_loss::LogLoss;
pub use squared_error::SquaredError;
use sums::weighted_sum;

/// No step and no start of a search is larger.
pub const LARGEST_STEP: f64 = 1000.0;

/// What a search has a number of for each row.
pub(crate) const ROWS: &str = "the rows of a line search";

/// A loss that is a sum over rows and outputs. y is a number, or −1/+1.
///
/// What is computed for one cell cannot fail. [`Loss::start`] and [`Loss::step`] see all rows, and are an error of kind
/// [`OutOfMemory`](crate::ErrorKind::OutOfMemory) where they cannot have room for a few numbers a row.
pub trait Loss: Debug + Send + Sync {
    /// ℓ(y, score).
    fn value(&self, y: f64, score: f64) -> f64;

    /// −∂ℓ/∂score.
    fn negative_gradient(&self, y: f64, score: f64) -> f64;

    /// The second derivative by the score; 0 where there is none.
    fn curvature(&self, y: f64, score: f64) -> f64;

    /// arg min_c Σ w ℓ(y, c). By default searched from 0, |c| ≤ 1000.
    fn start(&self, y: &[f64], weights: &[f64]) -> Result<f64> {
        let scores = try_filled(ROWS, 0.0, y.len())?;
        let direction = try_filled(ROWS, 1.0, y.len())?;
        self.step(&LineProblem { y, scores: &scores, direction: &direction, weights }, LineSearch::Newton)
    }

    /// arg min_ρ Σ w ℓ(y, f + ρ g), |ρ| ≤ 1000, never a higher loss than at 0. By default Newton steps, halved until the
    /// loss falls, or Brent if asked; where there are kinks or no curvature, the place where the slope changes its sign, to
    /// the last bit. Losses are taken to be convex.
    ///
    /// Where every row's loss falls for ever along the line, as with labels that it separates, the minimum of a loss with
    /// an asymptote is at infinity: the search settles where the slope has shrunk to 10⁻⁸ of what it is at ρ = 0.
    fn step(&self, problem: &LineProblem<'_>, search: LineSearch) -> Result<f64> {
        line_search::minimise(self, problem, search)
    }
}

/// Rows along which a step is searched: the loss at `scores + ρ · direction`.
#[derive(Clone, Copy, Debug)]
pub struct LineProblem<'a> {
    /// Targets.
    pub y: &'a [f64],
    /// Scores f so far.
    pub scores: &'a [f64],
    /// Predictions g of the weak model.
    pub direction: &'a [f64],
    /// Weights, none negative.
    pub weights: &'a [f64],
}

impl LineProblem<'_> {
    /// Σ w ℓ(y, f + ρ g), or an error of kind [`OutOfMemory`](crate::ErrorKind::OutOfMemory): terms are kept, 8 bytes a row.
    pub fn loss<L: Loss + ?Sized>(&self, loss: &L, step: f64) -> Result<f64> {
        self.sum(|y, f, g| loss.value(y, f + step * g))
    }

    /// First and second derivative of [`LineProblem::loss`] by ρ, with the same errors.
    pub fn derivatives<L: Loss + ?Sized>(&self, loss: &L, step: f64) -> Result<(f64, f64)> {
        let slope = -self.sum(|y, f, g| g * loss.negative_gradient(y, f + step * g))?;
        Ok((slope, self.sum(|y, f, g| g * g * loss.curvature(y, f + step * g))?))
    }

    /// Σ w · term(y, f, g).
    pub(crate) fn sum(&self, term: impl Fn(f64, f64, f64) -> f64) -> Result<f64> {
        let rows = self.y.iter().zip(self.scores).zip(self.direction);
        let terms = try_collected(ROWS, rows.map(|((&y, &f), &g)| term(y, f, g)))?;
        Ok(weighted_sum(self.weights, &terms))
    }

    /// Rows that weigh something and move: y, f, g, w.
    pub(crate) fn moving(&self) -> impl Iterator<Item = (f64, f64, f64, f64)> {
        let rows = self.y.iter().zip(self.scores).zip(self.direction.iter().zip(self.weights));
        rows.map(|((&y, &f), (&g, &w))| (y, f, g, w)).filter(|&(_, _, g, w)| g != 0.0 && w > 0.0)
    }

    /// max |g|.
    pub(crate) fn largest_direction(&self) -> f64 {
        self.moving().fold(0.0, |most, (_, _, g, _)| most.max(g.abs()))
    }

    /// `step`, or 0 where rounding or a search that went astray made it no better.
    pub(crate) fn unless_worse<L: Loss + ?Sized>(&self, loss: &L, step: f64) -> Result<f64> {
        Ok(if step != 0.0 && self.loss(loss, step)? <= self.loss(loss, 0.0)? { step } else { 0.0 })
    }
}

/// Which loss.
#[derive(Clone, Debug)]
pub enum LossKind {
    /// ½(y − f)².
    SquaredError,
    /// |y − f|.
    AbsoluteError,
    /// log(1 + e^(−2yf)); f is half the log-odds.
    LogLoss,
    /// e^(−yf).
    Exponential,
    /// max(0, 1 − yf).
    Hinge,
    /// Any other.
    Custom(Arc<dyn Loss>),
}

impl LossKind {
    /// The loss itself.
    pub fn as_loss(&self) -> &dyn Loss {
        match self {
            LossKind::SquaredError => &SquaredError,
            LossKind::AbsoluteError => &AbsoluteError,
            LossKind::LogLoss => &LogLoss,
            LossKind::Exponential => &Exponential,
            LossKind::Hinge => &Hinge,
            LossKind::Custom(loss) => loss.as_ref(),
        }
    }

    /// What the loss sees of a label or class that is off; one that is on is 1.
    pub fn y_of_off(&self) -> f64 {
        match self {
            LossKind::SquaredError | LossKind::AbsoluteError => 0.0,
            _ => -1.0,
        }
    }
}

/// Weights of the positive and of all other rows. A class without weight is taken for half a row of weight 1, or for a
/// 64th of all weight where that is less: so constant labels have finite odds. Neither bound can tell a row of weight 2
/// from two rows.
pub(crate) fn weights_of_signs(y: &[f64], weights: &[f64]) -> (f64, f64) {
    let of = |positive: bool| -> f64 {
        y.iter().zip(weights).filter(|(y, _)| (**y > 0.0) == positive).map(|(_, w)| w).sum()
    };
    let (positive, negative) = (of(true), of(false));
    let least = weight_of_absent(positive + negative);
    (if positive == 0.0 { least } else { positive }, if negative == 0.0 { least } else { negative })
}

/// What a class without weight is taken to weigh.
pub(crate) fn weight_of_absent(total: f64) -> f64 {
    (total / 64.0).min(0.5)
}

/// ½ log(W₊ / W₋): the best constant score of [`LogLoss`] and [`Exponential`].
pub(crate) fn half_log_odds(y: &[f64], weights: &[f64]) -> f64 {
    let (positive, negative) = weights_of_signs(y, weights);
    // In two logarithms: the quotient may overflow. All weights zero: 0.
    if positive + negative == 0.0 { 0.0 } else { 0.5 * (positive.ln() - negative.ln()) }
}
