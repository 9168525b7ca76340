//! Loss functions. Each is in a file of its own, with everything that is specific to it.
//!
//! | loss | ℓ(y, f) | start | step |
//! |---|---|---|---|
//! | [`SquaredError`] | ½(y − f)² | mean | closed form |
//! | [`AbsoluteError`] | \|y − f\| | lower median | lower weighted median |
//! | [`LogLoss`] | log(1 + e^(−2yf)) | half the log-odds | Newton |
//! | [`Exponential`] | e^(−yf) | half the log-odds | Newton |
//! | [`Hinge`] | max(0, 1 − yf) | ±1 | its kinks |
//! | [`Huber`] | ½r² up to \|r\| = δ, δ(\|r\| − δ/2) beyond, r = y − f | searched | searched |
//! | [`Quantile`] | q r for r = y − f ≥ 0, (q − 1) r below | weighted quantile | weighted quantile |
//! | [`Poisson`] | e^f − y f − y + y ln y | log of the mean | searched |
//! | [`Gamma`] | y e^(−f) + f − ln y − 1 | log of the mean | searched |
//! | [`Tweedie`] | half the deviance of a power 1 < p < 2 | log of the mean | searched |
//!
//! f is the score. y is a numerical output, or stands for a label or class: 0 or −1 if it is absent, +1 if it is
//! present, as specified by the [`Domain`] of the loss.
//!
//! # The traits of a loss
//!
//! [`Loss`] is the trait for losses defined by users: values and two derivatives, for one cell or for many at a time
//! ([`Loss::takes_blocks`]); the domain of y, bounds, start and step have defaults. `column::ColumnLoss` adds what
//! learners need to know about the losses of this crate: how leaves and steps are found, what scores mean (the
//! [`Link`]), whether scores are float32, whether classes share a softmax, and kernels for several outputs. All of
//! these have defaults too.
//!
//! **To add a loss**, write a file with both traits, and add a row to the table of `table`, which is the only place that
//! knows all losses: configurations, messages and Python read it.
//!
//! A fit makes a `working::WorkingLoss` of the loss and the outputs: a sum over columns of scores, or over outputs
//! whose classes are treated jointly (`softmax`, with `rows::softmax_rows`, is not a sum over columns). It contains the
//! initial constants of all scores, the kernel for several outputs, and the searches of steps, for one column or for
//! the classes of one output.
//!
//! | module | what |
//! |---|---|
//! | `steps` | searches of steps |
//! | `rows` | losses and gradients for all scores of a sample together |
//! | `kernels` | loops over many scores, and the two float types of scores |
//! | `outputs` | a separate loss for each output |
//! | `log_link` | code shared by losses whose scores are logarithms: exponentials that do not overflow, starts, Newton steps |
//!
//! **Sums are exact** (see `exact`): they do not depend on the order of samples, and a sample of weight 0 has no
//! effect. With weights that are multiples of 1/64, a sample of weight 2 is equivalent to two samples.
//!
//! # Classes without weight
//!
//! The optimal score of a label that is always present, or of a class that never occurs, is infinite. All losses and
//! learners follow one rule: a class without weight is treated as if it had half the weight of a sample of weight 1, or
//! a 64th of the total weight if that is less (`weight_of_absent`). The rule treats a sample of weight 2 in the same
//! way as two samples.

#![cfg_attr(not(test), warn(clippy::wildcard_enum_match_arm))]

mod absolute_error;
pub(crate) mod column;
mod exponential;
mod gamma;
mod hinge;
mod huber;
pub(crate) mod kernels;
pub(crate) mod known_cells;
pub(crate) mod link;
mod log_link;
mod log_loss;
pub(crate) mod outputs;
mod poisson;
mod quantile;
pub(crate) mod rows;
pub(crate) mod softmax;
mod squared_error;
pub(crate) mod steps;
mod table;
#[cfg(test)]
mod tests;
mod tweedie;
pub(crate) mod working;

use std::fmt::Debug;

use crate::control::{Control, STEPS};
use crate::data::Outputs;
use crate::elementary::ln;
use crate::error::{Purpose, Result};
use crate::exact::weighted_sum;
pub use absolute_error::AbsoluteError;
pub use exponential::Exponential;
pub use gamma::Gamma;
pub use hinge::Hinge;
pub use huber::Huber;
pub use link::Link;
pub use log_loss::LogLoss;
pub use outputs::OutputLosses;
pub use poisson::Poisson;
pub use quantile::Quantile;
pub use squared_error::SquaredError;
pub use table::{LossKind, LossParameter, LossRow, LossTargets};
pub use tweedie::Tweedie;

/// Largest magnitude of a step, for the losses that have a search of their own.
pub const LARGEST_STEP: f64 = 1000.0;

/// The name in errors of the arrays of a search that have one value for each sample.
pub(crate) const ROWS: Purpose = Purpose("the rows of a line search");

/// A loss that is a sum over samples and outputs. y is a numerical output, or −1 or +1.
///
/// Methods on single cells cannot fail. [`Loss::start`] and [`Loss::step`] receive all samples, and return an error of
/// kind [`OutOfMemory`](crate::ErrorKind::OutOfMemory) if they cannot allocate a few values for each sample.
pub trait Loss: Debug + Send + Sync {
    /// Returns the name of the loss, which models and their files keep. By default, it is "custom".
    fn name(&self) -> &str {
        "custom"
    }

    /// Returns how scores of these outputs are turned into predictions, which models and their files keep. By default,
    /// scores are numerical outputs, and those of labels and classes cannot be turned into probabilities.
    ///
    /// A loss defined by the user may return [`Link::Identity`] and [`Link::Log`] for numerical outputs, and for labels
    /// and classes [`Link::Margin`] or [`Link::of_half_log_odds`].
    fn link(&self, outputs: &Outputs) -> Link {
        match outputs {
            Outputs::Real { .. } => Link::Identity,
            Outputs::Labels { .. } | Outputs::Classes { .. } => Link::Margin,
        }
    }

    /// Returns the kind of y that the loss supports. By default: numerical outputs, and labels and classes as −1 and
    /// +1.
    fn domain(&self) -> Domain {
        Domain::NumbersAndSigns
    }

    /// Returns bounds on the gradient and the curvature, if they are known. Gradients are then rounded to grids of that
    /// size.
    fn bounds(&self) -> Option<Bounds> {
        None
    }

    /// Checks the parameters of the loss, and returns an error of kind [`Invalid`](crate::ErrorKind::Invalid) if one is
    /// out of range.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// Returns ℓ(y, score).
    fn value(&self, y: f64, score: f64) -> f64;

    /// Returns the negative gradient −∂ℓ/∂score.
    fn negative_gradient(&self, y: f64, score: f64) -> f64;

    /// Returns the second derivative by the score, or 0 where there is none.
    fn curvature(&self, y: f64, score: f64) -> f64;

    /// Returns whether the loss computes many cells at a time, in [`Loss::values`] and [`Loss::derivatives`]. If so,
    /// learners call these with as many cells as they have together, and call the methods for one cell only where a
    /// search visits single samples.
    fn takes_blocks(&self) -> bool {
        false
    }

    /// Computes [`Loss::value`] for each of some cells.
    fn values(&self, y: &[f64], scores: &[f64], values: &mut [f64]) {
        for ((&y, &score), value) in y.iter().zip(scores).zip(values) {
            *value = self.value(y, score);
        }
    }

    /// Computes [`Loss::negative_gradient`] and [`Loss::curvature`] for each of some cells.
    fn derivatives(&self, y: &[f64], scores: &[f64], negative_gradients: &mut [f64], curvatures: &mut [f64]) {
        let derivatives = negative_gradients.iter_mut().zip(curvatures);
        for ((&y, &score), (negative_gradient, curvature)) in y.iter().zip(scores).zip(derivatives) {
            *negative_gradient = self.negative_gradient(y, score);
            *curvature = self.curvature(y, score);
        }
    }

    /// Returns the best constant score, arg min_c Σ w ℓ(y, c). By default, it is searched from 0, like a step;
    /// `control` can stop the search.
    fn start(&self, y: &[f64], weights: &[f64], control: &Control) -> Result<f64> {
        let scores = ROWS.filled(0.0, y.len())?;
        let direction = ROWS.filled(1.0, y.len())?;
        self.step(&LineProblem { y, scores: &scores, direction: &direction, weights, control })
    }

    /// Returns the best step, arg min_ρ Σ w ℓ(y, f + ρ g), whose loss is never higher than that of ρ = 0. By default,
    /// it takes Newton steps, which are halved until the loss decreases, or Brent's method if `search` asks for it. At
    /// kinks or without curvature, it finds the point where the slope changes its sign, to the last bit. The loss is
    /// assumed to be convex. The search starts with steps that change scores by 1, and enlarges them by factors of 8
    /// while the loss still decreases, until scores have changed by 1e150. A value or slope that is not finite is
    /// treated as too far. The losses of this crate that have a search of their own restrict it to |ρ| ≤ 1000.
    ///
    /// If the loss of every sample decreases indefinitely along the line, as with labels that it separates, the minimum
    /// of a loss with an asymptote is at infinity. The search then ends where the slope has decreased to 10⁻⁸ of the
    /// slope at ρ = 0.
    fn step(&self, problem: &LineProblem<'_>) -> Result<f64> {
        steps::line_search::minimise(self, problem)
    }
}

/// The kinds of y that a loss supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Domain {
    /// Numerical outputs. A label or class is encoded as 0 if it is absent and 1 if it is present.
    Numbers,
    /// Numerical outputs that are not negative. Labels and classes are not supported.
    NotNegative,
    /// Positive numerical outputs. Labels and classes are not supported.
    Positive,
    /// Only labels and classes, encoded as −1 if absent and +1 if present.
    Signs,
    /// Numerical outputs. A label or class is encoded as −1 if it is absent and +1 if it is present.
    NumbersAndSigns,
}

impl Domain {
    /// Returns the code of a label or class that is absent; the code of one that is present is 1.
    pub(crate) fn off(self) -> f64 {
        match self {
            // The method is never called for losses that support only numerical outputs.
            Domain::Numbers | Domain::NotNegative | Domain::Positive => 0.0,
            Domain::Signs | Domain::NumbersAndSigns => -1.0,
        }
    }

    /// Returns whether y may be numerical outputs, though possibly not all values.
    pub(crate) fn has_numbers(self) -> bool {
        match self {
            Domain::Numbers | Domain::NotNegative | Domain::Positive | Domain::NumbersAndSigns => true,
            Domain::Signs => false,
        }
    }

    /// Returns whether y may be labels and classes.
    pub(crate) fn has_labels(self) -> bool {
        match self {
            Domain::Numbers | Domain::Signs | Domain::NumbersAndSigns => true,
            Domain::NotNegative | Domain::Positive => false,
        }
    }

    /// Returns what y must satisfy, as a phrase that follows "must", if this value does not satisfy it.
    pub(crate) fn refuses(self, y: f64) -> Option<&'static str> {
        match self {
            Domain::Numbers | Domain::Signs | Domain::NumbersAndSigns => None,
            Domain::NotNegative => (y < 0.0).then_some("be at least 0"),
            Domain::Positive => (y <= 0.0).then_some("be above 0"),
        }
    }
}

/// Bounds on the derivatives of a loss, for every y and score.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Bounds {
    /// Upper bound on |∂ℓ/∂score|.
    pub gradient: f64,
    /// Upper bound on the second derivative by the score.
    pub curvature: f64,
}

impl Bounds {
    /// Returns these bounds on |∂ℓ/∂score| and on the second derivative.
    pub fn new(gradient: f64, curvature: f64) -> Self {
        Bounds { gradient, curvature }
    }
}

/// The samples of a line search for a step ρ: the loss is evaluated at `scores + ρ · direction`. All arrays have length
/// n_samples.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct LineProblem<'a> {
    /// The targets y.
    pub y: &'a [f64],
    /// The current scores f.
    pub scores: &'a [f64],
    /// The predictions g of the weak model.
    pub direction: &'a [f64],
    /// The weights w, none of which is negative.
    pub weights: &'a [f64],
    /// The handle that can stop the search: sums over samples check its flag.
    pub control: &'a Control,
}

impl LineProblem<'_> {
    /// Returns Σ w ℓ(y, f + ρ g). Returns an error of kind [`OutOfMemory`](crate::ErrorKind::OutOfMemory), because
    /// terms are stored with 8 bytes for each sample, or [`Interrupted`](crate::ErrorKind::Interrupted).
    pub fn loss<L: Loss + ?Sized>(&self, loss: &L, step: f64) -> Result<f64> {
        if loss.takes_blocks() {
            let mut values = ROWS.filled(0.0, self.y.len())?;
            loss.values(self.y, &self.moved(step)?, &mut values);
            self.control.check()?;
            return Ok(weighted_sum(self.weights, &values));
        }
        self.sum(|y, f, g| loss.value(y, f + step * g))
    }

    /// Returns the first and the second derivative of [`LineProblem::loss`] by ρ, with the same errors.
    pub fn derivatives<L: Loss + ?Sized>(&self, loss: &L, step: f64) -> Result<(f64, f64)> {
        if loss.takes_blocks() {
            let (mut gradients, mut curvatures) = self.derivatives_of_rows(loss, step)?;
            let cells = gradients.iter_mut().zip(&mut curvatures).zip(self.direction);
            cells.for_each(|((gradient, curvature), g)| (*gradient, *curvature) = (*gradient * g, g * g * *curvature));
            return Ok((-weighted_sum(self.weights, &gradients), weighted_sum(self.weights, &curvatures)));
        }
        Ok((self.slope(loss, step)?, self.sum(|y, f, g| g * g * loss.curvature(y, f + step * g))?))
    }

    /// Returns the first derivative of [`LineProblem::loss`] by ρ, with the same errors.
    pub(crate) fn slope<L: Loss + ?Sized>(&self, loss: &L, step: f64) -> Result<f64> {
        if loss.takes_blocks() {
            return Ok(self.derivatives(loss, step)?.0);
        }
        Ok(-self.sum(|y, f, g| g * loss.negative_gradient(y, f + step * g))?)
    }

    /// Returns the negative gradient of each sample, not multiplied by its direction.
    pub(crate) fn negative_gradients<L: Loss + ?Sized>(&self, loss: &L, step: f64) -> Result<Vec<f64>> {
        Ok(self.derivatives_of_rows(loss, step)?.0)
    }

    /// Returns the negative gradient and the curvature of each sample, computed as a block.
    fn derivatives_of_rows<L: Loss + ?Sized>(&self, loss: &L, step: f64) -> Result<(Vec<f64>, Vec<f64>)> {
        let (mut gradients, mut curvatures) = (ROWS.filled(0.0, self.y.len())?, ROWS.filled(0.0, self.y.len())?);
        loss.derivatives(self.y, &self.moved(step)?, &mut gradients, &mut curvatures);
        self.control.check()?;
        Ok((gradients, curvatures))
    }

    /// Returns the scores f + ρ g.
    fn moved(&self, step: f64) -> Result<Vec<f64>> {
        ROWS.collected(self.scores.iter().zip(self.direction).map(|(f, g)| f + step * g))
    }

    /// Returns Σ w · term(y, f, g).
    pub(crate) fn sum(&self, term: impl Fn(f64, f64, f64) -> f64) -> Result<f64> {
        let mut terms = ROWS.with_capacity(self.y.len())?;
        let pieces = self.y.chunks(STEPS).zip(self.scores.chunks(STEPS)).zip(self.direction.chunks(STEPS));
        for ((y, scores), direction) in pieces {
            self.control.check()?;
            let rows = y.iter().zip(scores).zip(direction);
            terms.extend(rows.map(|((&y, &f), &g)| term(y, f, g)));
        }
        Ok(weighted_sum(self.weights, &terms))
    }

    /// Returns (y, f, g, w) of the samples that have positive weight and a non-zero direction.
    pub(crate) fn moving(&self) -> impl Iterator<Item = (f64, f64, f64, f64)> {
        let rows = self.y.iter().zip(self.scores).zip(self.direction.iter().zip(self.weights));
        rows.map(|((&y, &f), (&g, &w))| (y, f, g, w)).filter(|&(_, _, g, w)| g != 0.0 && w > 0.0)
    }

    /// Returns max |g|.
    pub(crate) fn largest_direction(&self) -> f64 {
        self.moving().fold(0.0, |most, (_, _, g, _)| most.max(g.abs()))
    }

    /// Returns `step`, or 0 if its loss is not lower, because of rounding or of a search that failed.
    pub(crate) fn unless_worse<L: Loss + ?Sized>(&self, loss: &L, step: f64) -> Result<f64> {
        Ok(if step != 0.0 && self.loss(loss, step)? <= self.loss(loss, 0.0)? { step } else { 0.0 })
    }
}

/// Returns the total weights of the samples with y = +1 and of all others. A class without weight gets half the weight
/// of a sample of weight 1, or a 64th of the total weight if that is less, so that constant labels have finite odds.
/// Neither bound distinguishes a sample of weight 2 from two samples.
pub(crate) fn weights_of_signs(y: &[f64], weights: &[f64]) -> (f64, f64) {
    let of = |positive: bool| -> f64 {
        y.iter().zip(weights).filter(|(y, _)| (**y > 0.0) == positive).map(|(_, w)| w).sum()
    };
    let (positive, negative) = (of(true), of(false));
    let least = weight_of_absent(positive + negative);
    (if positive == 0.0 { least } else { positive }, if negative == 0.0 { least } else { negative })
}

/// Returns the weight that is assumed for a class without weight.
pub(crate) fn weight_of_absent(total: f64) -> f64 {
    (total / 64.0).min(0.5)
}

/// Returns ½ log(W₊ / W₋), the best constant score of [`LogLoss`] and [`Exponential`].
pub(crate) fn half_log_odds(y: &[f64], weights: &[f64]) -> f64 {
    let (positive, negative) = weights_of_signs(y, weights);
    // Two logarithms are used because the quotient may overflow. If all weights are zero, the result is 0.
    if positive + negative == 0.0 { 0.0 } else { 0.5 * (ln(positive) - ln(negative)) }
}
