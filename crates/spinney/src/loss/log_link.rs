//! Losses whose scores are logarithms of what is predicted: deviances of numbers that are not negative.
//!
//! **No exponential overflows.** Where an exponent is above [`LARGEST_EXPONENT`] the exponential goes on as its tangent:
//! gradients stay below about 10¹⁵⁰, the largest magnitude that y may have, so that squares of them can be summed. The
//! minimum of a row, at f = ln y, is never beyond. Second derivatives stay those of the place where the tangent begins;
//! they bound the loss from above, and Newton steps still descend.

use super::column::{ColumnLoss, NumberColumn};
use super::line_search::LineSearch;
use super::newton::{Regularization, newton_step_within};
use super::{LARGEST_STEP, LineProblem, Link, Loss, weight_of_absent};
use crate::control::Control;
use crate::data::Outputs;
use crate::error::Result;
use crate::exact::reduce::Reduce;
use crate::exact::{exact_mean_of_all, weighted_sum};

/// e^345.4 is 1.01·10¹⁵⁰.
pub(crate) const LARGEST_EXPONENT: f64 = 345.4;

/// Distance from the minimum up to which values are written with e^d − 1, which keeps the digits of small differences.
pub(crate) const NEAR: f64 = 30.0;

/// e^x, and its tangent far out.
#[inline]
pub(crate) fn exp(x: f64) -> f64 {
    let clipped = x.min(LARGEST_EXPONENT);
    clipped.exp() * (1.0 + (x - clipped))
}

/// The derivative of [`exp`].
#[inline]
pub(crate) fn slope_of_exp(x: f64) -> f64 {
    x.min(LARGEST_EXPONENT).exp()
}

/// The logarithm of a mean. A mean of zero has none: such an output counts as if a row of y = 1 and of half the weight of a
/// row were there, or of a 64th of all weight where that is less, as a label that is always off does.
fn log_of_mean(mean: f64, total: f64) -> f64 {
    if total == 0.0 {
        0.0
    } else if mean > 0.0 {
        mean.ln()
    } else {
        // In two logarithms: weights may be far from one.
        weight_of_absent(total).ln() - total.ln()
    }
}

/// The logarithm of the weighted mean: the best constant of every deviance of this crate.
pub(crate) fn start(y: &[f64], weights: &[f64]) -> f64 {
    let total: f64 = weights.iter().sum();
    log_of_mean(if total > 0.0 { weighted_sum(weights, y) / total } else { 0.0 }, total)
}

/// The same of a column of numbers.
fn start_of(column: &NumberColumn<'_>) -> Result<f64> {
    let workers = column.weights.workers();
    let total = workers.sum_of(column.values().map(|(_, units)| units).sum::<u64>())?;
    Ok(log_of_mean(exact_mean_of_all(column.values(), workers)?, column.weights.in_sums(total)))
}

/// A loss whose scores are logarithms: all that learners ask of it follows.
pub(crate) trait Deviance: Loss {}

impl<L: Deviance> ColumnLoss for L {
    fn has_curvature(&self) -> bool {
        true
    }

    fn link(&self, _: &Outputs) -> Link {
        Link::Log
    }

    fn start_of(&self, column: &NumberColumn<'_>, _: &Control) -> Result<f64> {
        start_of(column)
    }

    /// Halved until the loss does not rise. No score moves by more than [`LARGEST_STEP`] at first: where scores are far from
    /// what their rows ask for, the second derivative is small beside the gradient, and halvings of the whole step would not
    /// come back from so far out.
    fn newton_step(
        &self,
        problem: &LineProblem<'_>,
        regularization: Regularization,
        search: LineSearch,
    ) -> Result<f64> {
        newton_step_within(self, problem, regularization, search, LARGEST_STEP)
    }
}
