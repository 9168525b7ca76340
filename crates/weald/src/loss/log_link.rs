//! Losses whose scores are logarithms of predictions: deviances of non-negative outputs.
//!
//! **Exponentials do not overflow.** Beyond the exponent [`LARGEST_EXPONENT`], the exponential continues as its
//! tangent. Gradients are therefore at most about 10¹⁵⁰, which is the largest magnitude of y, so that their squares can
//! be summed. The minimum of a sample, f = ln y, is never beyond this exponent. Along the tangent, second derivatives
//! stay those of the point where it begins. They are then upper bounds, so that Newton steps still decrease the loss.

use super::column::{ColumnLoss, NumberColumn};
use super::steps::newton::{Regularization, newton_step};
use super::{LARGEST_STEP, LineProblem, Loss, weight_of_absent};
use crate::control::Control;
use crate::elementary::{self, ln};
use crate::error::Result;
use crate::exact::reduce::Reduce;
use crate::exact::{exact_mean_of_all, weighted_sum};

/// e^345.4 is 1.01·10¹⁵⁰.
pub(crate) const LARGEST_EXPONENT: f64 = 345.4;

/// Up to this distance from the minimum, values are computed with e^d − 1, which keeps the digits of small differences.
pub(crate) const NEAR: f64 = 30.0;

/// Returns e^x, or its tangent for large x.
#[inline]
pub(crate) fn exp(x: f64) -> f64 {
    let clipped = x.min(LARGEST_EXPONENT);
    elementary::exp(clipped) * (1.0 + (x - clipped))
}

/// Returns the derivative of [`exp`].
#[inline]
pub(crate) fn slope_of_exp(x: f64) -> f64 {
    elementary::exp(x.min(LARGEST_EXPONENT))
}

/// Returns the logarithm of a mean. A mean of zero has no logarithm: such an output is treated as if there were a
/// sample with y = 1 and half the weight of a sample, or a 64th of the total weight if that is less, as for a label
/// that is always absent.
fn log_of_mean(mean: f64, total: f64) -> f64 {
    if total == 0.0 {
        0.0
    } else if mean > 0.0 {
        ln(mean)
    } else {
        // Two logarithms are used, because the quotient may underflow.
        ln(weight_of_absent(total)) - ln(total)
    }
}

/// Returns the logarithm of the weighted mean, which is the best constant for every deviance of this crate.
pub(crate) fn start(y: &[f64], weights: &[f64]) -> f64 {
    let total: f64 = weights.iter().sum();
    log_of_mean(if total > 0.0 { weighted_sum(weights, y) / total } else { 0.0 }, total)
}

/// Returns the same for a column of numerical targets.
fn start_of(column: &NumberColumn<'_>) -> Result<f64> {
    let workers = column.weights.workers();
    let total = workers.sum_of(column.values().map(|(_, units)| units).sum::<u64>())?;
    Ok(log_of_mean(exact_mean_of_all(column.values(), workers)?, column.weights.in_sums(total)))
}

/// A loss whose scores are logarithms. All properties that learners need follow from this.
pub(crate) trait Deviance: Loss {}

impl<L: Deviance> ColumnLoss for L {
    fn has_curvature(&self) -> bool {
        true
    }

    fn start_of(&self, column: &NumberColumn<'_>, _: &Control) -> Result<f64> {
        start_of(column)
    }

    /// The step is halved until the loss does not increase. Initially, no score moves by more than [`LARGEST_STEP`]: if
    /// scores are far from the optimum of their samples, the second derivative is small compared with the gradient, and
    /// the whole step would be so long that halvings could not compensate for it.
    fn newton_step(&self, problem: &LineProblem<'_>, regularization: Regularization) -> Result<f64> {
        newton_step(self, problem, regularization, LARGEST_STEP)
    }
}
