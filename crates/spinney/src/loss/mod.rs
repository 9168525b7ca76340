//! Losses, each in a file of its own that has all that follows from it.
//!
//! | loss | ℓ(y, f) | start | step |
//! |---|---|---|---|
//! | [`SquaredError`] | ½(y − f)² | mean | closed form |
//! | [`AbsoluteError`] | \|y − f\| | lower median | lower weighted median |
//! | [`LogLoss`] | log(1 + e^(−2yf)) | half the log-odds | Newton or Brent |
//! | [`Exponential`] | e^(−yf) | half the log-odds | Newton or Brent |
//! | [`Hinge`] | max(0, 1 − yf) | ±1 | its kinks |
//! | [`Huber`] | ½r² up to \|r\| = δ, δ(\|r\| − δ/2) beyond, r = y − f | searched | searched |
//! | [`Quantile`] | q r for r = y − f ≥ 0, (q − 1) r below | weighted quantile | weighted quantile |
//! | [`Poisson`] | e^f − y f − y + y ln y | log of the mean | searched |
//! | [`Gamma`] | y e^(−f) + f − ln y − 1 | log of the mean | searched |
//! | [`Tweedie`] | half the deviance of a power 1 < p < 2 | log of the mean | searched |
//!
//! f is the score. y is a number, or stands for a label or class that is off or on: 0 and 1 or −1 and +1, as the loss's
//! [`Domain`] has it.
//!
//! # What a loss says of itself
//!
//! [`Loss`] is what anybody may implement: values and two derivatives, of one cell or of many at a time
//! ([`Loss::takes_blocks`]); the domain of y, bounds, start and step have defaults. `column::ColumnLoss` adds what learners
//! ask of the losses of this crate: how leaves and steps are found, what scores mean (the [`Link`]), whether they are
//! float32, whether classes share a softmax, kernels of rows. All of it has defaults too.
//!
//! **A new loss** is a file with both traits, and a row of the table of [`LossKind`], the one place that knows all losses.
//!
//! A fit makes a `working::WorkingLoss` of the loss and the outputs: a sum over columns, or over outputs whose classes are
//! judged together (`softmax`, with `softmax_rows`, is no sum over columns). It has the constants of all scores, the kernel
//! of rows, and the searches of steps, of one column or of the classes of one output.
//!
//! | module | what |
//! |---|---|
//! | `line_search` | one-dimensional minimisation: Newton, Brent, medians, kinks |
//! | `newton` | regularised Newton steps of leaves, halved while the loss rises |
//! | `rows`, `square_rows`, `log_loss_rows`, `softmax_rows` | losses and gradients of whole rows of scores |
//! | `outputs` | a loss of its own for each output |
//! | `vector` | loops over rows of scores |
//! | `log_link` | what losses share whose scores are logarithms: exponentials that do not overflow, starts, Newton steps |
//! | `float` | the two floats that scores are kept in, and the grids that gradients are rounded to |
//! | `off_sums` | sums that a search of the logistic loss over leaves asks for |
//! | `sums` | sums whose order cannot be seen |
//!
//! **Sums are exact** for weights in 64ths (see `sums`): the order of rows cannot be seen, a row of weight 2 is two rows
//! and one of weight 0 is none.
//!
//! # Classes without weight
//!
//! The best score of a label that is always on, or of a class that never occurs, is infinite. One rule holds for all
//! losses and learners: a class without weight is taken to weigh as much as half a row of weight 1, or a 64th of all weight
//! where that is less (`weight_of_absent`). A row of weight 2 cannot be told from two rows by it.

mod absolute_error;
pub(crate) mod column;
mod exponential;
pub(crate) mod exponentials;
pub(crate) mod float;
mod gamma;
mod hinge;
mod huber;
pub(crate) mod known_cells;
pub(crate) mod line_search;
pub(crate) mod link;
mod log_link;
mod log_loss;
pub(crate) mod log_loss_rows;
pub(crate) mod newton;
pub(crate) mod off_sums;
pub(crate) mod outputs;
mod poisson;
mod quantile;
pub(crate) mod rows;
pub(crate) mod softmax;
pub(crate) mod softmax_rows;
mod softmax_step;
pub(crate) mod square_rows;
mod squared_error;
#[cfg(test)]
mod tests;
mod tweedie;
pub(crate) mod vector;
pub(crate) mod working;

use std::fmt::Debug;
use std::sync::Arc;

use crate::control::{Control, STEPS};
use crate::error::{Result, try_collected, try_filled, try_with_capacity};
use crate::exact::weighted_sum;
pub use absolute_error::AbsoluteError;
use column::ColumnLoss;
pub use exponential::Exponential;
pub use gamma::Gamma;
pub use hinge::Hinge;
pub use huber::Huber;
pub use line_search::LineSearch;
pub use link::Link;
pub use log_loss::LogLoss;
pub use outputs::OutputLosses;
pub use poisson::Poisson;
pub use quantile::Quantile;
pub use squared_error::SquaredError;
pub use tweedie::Tweedie;

/// No step of a loss with a search of its own is larger.
pub const LARGEST_STEP: f64 = 1000.0;

/// What a search has a number of for each row.
pub(crate) const ROWS: &str = "the rows of a line search";

/// A loss that is a sum over rows and outputs. y is a number, or −1/+1.
///
/// What is computed for one cell cannot fail. [`Loss::start`] and [`Loss::step`] see all rows, and are an error of kind
/// [`OutOfMemory`](crate::ErrorKind::OutOfMemory) where they cannot have room for a few numbers a row.
pub trait Loss: Debug + Send + Sync {
    /// Which y it is of; by default numbers, and −1 and +1 for labels and classes.
    fn domain(&self) -> Domain {
        Domain::NumbersAndSigns
    }

    /// Of the gradient and the curvature, where they are known; then gradients are rounded to grids of that size.
    fn bounds(&self) -> Option<Bounds> {
        None
    }

    /// Refuses parameters out of range: an error of kind [`Invalid`](crate::ErrorKind::Invalid).
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// ℓ(y, score).
    fn value(&self, y: f64, score: f64) -> f64;

    /// −∂ℓ/∂score.
    fn negative_gradient(&self, y: f64, score: f64) -> f64;

    /// The second derivative by the score; 0 where there is none.
    fn curvature(&self, y: f64, score: f64) -> f64;

    /// Whether cells are computed many at a time, as [`Loss::values`] and [`Loss::derivatives`] do: then learners call these
    /// with as many cells as they have together, and the methods of one cell only where a search looks at single rows.
    fn takes_blocks(&self) -> bool {
        false
    }

    /// [`Loss::value`] of each of some cells.
    fn values(&self, y: &[f64], scores: &[f64], values: &mut [f64]) {
        for ((&y, &score), value) in y.iter().zip(scores).zip(values) {
            *value = self.value(y, score);
        }
    }

    /// [`Loss::negative_gradient`] and [`Loss::curvature`] of each of some cells.
    fn derivatives(&self, y: &[f64], scores: &[f64], negative_gradients: &mut [f64], curvatures: &mut [f64]) {
        let derivatives = negative_gradients.iter_mut().zip(curvatures);
        for ((&y, &score), (negative_gradient, curvature)) in y.iter().zip(scores).zip(derivatives) {
            *negative_gradient = self.negative_gradient(y, score);
            *curvature = self.curvature(y, score);
        }
    }

    /// arg min_c Σ w ℓ(y, c). By default searched from 0, as a step is; `control` stops the search.
    fn start(&self, y: &[f64], weights: &[f64], control: &Control) -> Result<f64> {
        let scores = try_filled(ROWS, 0.0, y.len())?;
        let direction = try_filled(ROWS, 1.0, y.len())?;
        self.step(&LineProblem { y, scores: &scores, direction: &direction, weights, control }, LineSearch::Newton)
    }

    /// arg min_ρ Σ w ℓ(y, f + ρ g), never a higher loss than at 0. By default Newton steps, halved until the loss falls, or
    /// Brent if asked; where there are kinks or no curvature, the place where the slope changes its sign, to the last bit.
    /// Losses are taken to be convex. The search looks where scores have moved by 1, and eight times further as long as the
    /// loss still falls there, until they have moved by 1e150. A value or slope that is not finite is taken to be too far.
    /// Losses of this crate with a search of their own keep to |ρ| ≤ 1000.
    ///
    /// Where every row's loss falls for ever along the line, as with labels that it separates, the minimum of a loss with
    /// an asymptote is at infinity: the search settles where the slope has shrunk to 10⁻⁸ of what it is at ρ = 0.
    fn step(&self, problem: &LineProblem<'_>, search: LineSearch) -> Result<f64> {
        line_search::minimise(self, problem, search)
    }
}

/// Which y a loss is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Domain {
    /// Numbers; a label or class is 0 when it is off and 1 when it is on.
    Numbers,
    /// Numbers from 0 up; neither labels nor classes.
    NotNegative,
    /// Numbers above 0; neither labels nor classes.
    Positive,
    /// Labels and classes alone: −1 when off, +1 when on.
    Signs,
    /// Numbers; a label or class is −1 when off and +1 when on.
    NumbersAndSigns,
}

impl Domain {
    /// What a loss sees of a label or class that is off; one that is on is 1.
    pub(crate) fn off(self) -> f64 {
        match self {
            // Those of numbers alone are never asked.
            Domain::Numbers | Domain::NotNegative | Domain::Positive => 0.0,
            Domain::Signs | Domain::NumbersAndSigns => -1.0,
        }
    }

    /// Whether y may be numbers, if not all of them.
    pub(crate) fn has_numbers(self) -> bool {
        match self {
            Domain::Numbers | Domain::NotNegative | Domain::Positive | Domain::NumbersAndSigns => true,
            Domain::Signs => false,
        }
    }

    /// Whether y may be labels and classes.
    pub(crate) fn has_labels(self) -> bool {
        match self {
            Domain::Numbers | Domain::Signs | Domain::NumbersAndSigns => true,
            Domain::NotNegative | Domain::Positive => false,
        }
    }

    /// What y must satisfy, from the verb on, where this number does not.
    pub(crate) fn refuses(self, y: f64) -> Option<&'static str> {
        match self {
            Domain::Numbers | Domain::Signs | Domain::NumbersAndSigns => None,
            Domain::NotNegative => (y < 0.0).then_some("be at least 0"),
            Domain::Positive => (y <= 0.0).then_some("be above 0"),
        }
    }
}

/// Bounds that hold for every y and score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Of |∂ℓ/∂score|.
    pub gradient: f64,
    /// Of the second derivative.
    pub curvature: f64,
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
    /// Stops the search: sums over rows look at its flag.
    pub control: &'a Control,
}

impl LineProblem<'_> {
    /// Σ w ℓ(y, f + ρ g), or an error of kind [`OutOfMemory`](crate::ErrorKind::OutOfMemory), as terms are kept, 8 bytes a
    /// row, or [`Interrupted`](crate::ErrorKind::Interrupted).
    pub fn loss<L: Loss + ?Sized>(&self, loss: &L, step: f64) -> Result<f64> {
        if loss.takes_blocks() {
            let mut values = try_filled(ROWS, 0.0, self.y.len())?;
            loss.values(self.y, &self.moved(step)?, &mut values);
            self.control.check()?;
            return Ok(weighted_sum(self.weights, &values));
        }
        self.sum(|y, f, g| loss.value(y, f + step * g))
    }

    /// First and second derivative of [`LineProblem::loss`] by ρ, with the same errors.
    pub fn derivatives<L: Loss + ?Sized>(&self, loss: &L, step: f64) -> Result<(f64, f64)> {
        if loss.takes_blocks() {
            let (mut gradients, mut curvatures) = self.derivatives_of_rows(loss, step)?;
            let cells = gradients.iter_mut().zip(&mut curvatures).zip(self.direction);
            cells.for_each(|((gradient, curvature), g)| (*gradient, *curvature) = (*gradient * g, g * g * *curvature));
            return Ok((-weighted_sum(self.weights, &gradients), weighted_sum(self.weights, &curvatures)));
        }
        Ok((self.slope(loss, step)?, self.sum(|y, f, g| g * g * loss.curvature(y, f + step * g))?))
    }

    /// First derivative of [`LineProblem::loss`] by ρ, with the same errors.
    pub(crate) fn slope<L: Loss + ?Sized>(&self, loss: &L, step: f64) -> Result<f64> {
        if loss.takes_blocks() {
            return Ok(self.derivatives(loss, step)?.0);
        }
        Ok(-self.sum(|y, f, g| g * loss.negative_gradient(y, f + step * g))?)
    }

    /// Of each row, not times its direction.
    pub(crate) fn negative_gradients<L: Loss + ?Sized>(&self, loss: &L, step: f64) -> Result<Vec<f64>> {
        Ok(self.derivatives_of_rows(loss, step)?.0)
    }

    /// Negative gradient and curvature of each row, as a block.
    fn derivatives_of_rows<L: Loss + ?Sized>(&self, loss: &L, step: f64) -> Result<(Vec<f64>, Vec<f64>)> {
        let (mut gradients, mut curvatures) =
            (try_filled(ROWS, 0.0, self.y.len())?, try_filled(ROWS, 0.0, self.y.len())?);
        loss.derivatives(self.y, &self.moved(step)?, &mut gradients, &mut curvatures);
        self.control.check()?;
        Ok((gradients, curvatures))
    }

    /// Scores f + ρ g.
    fn moved(&self, step: f64) -> Result<Vec<f64>> {
        try_collected(ROWS, self.scores.iter().zip(self.direction).map(|(f, g)| f + step * g))
    }

    /// Σ w · term(y, f, g).
    pub(crate) fn sum(&self, term: impl Fn(f64, f64, f64) -> f64) -> Result<f64> {
        let mut terms = try_with_capacity(ROWS, self.y.len())?;
        let pieces = self.y.chunks(STEPS).zip(self.scores.chunks(STEPS)).zip(self.direction.chunks(STEPS));
        for ((y, scores), direction) in pieces {
            self.control.check()?;
            let rows = y.iter().zip(scores).zip(direction);
            terms.extend(rows.map(|((&y, &f), &g)| term(y, f, g)));
        }
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

/// Declares [`LossKind`] from a row for each loss: the variant, which has the name of the loss's type and holds it where it
/// has parameters, and the name that callers use.
macro_rules! losses {
    (@pattern $payload:ty, $loss:ident) => { $loss };
    (@loss $variant:ident, $loss:ident, $payload:ty) => { $loss };
    (@loss $variant:ident, $loss:ident) => { &$variant };
    ($($(#[$doc:meta])* $variant:ident $(($payload:ty))? = $name:literal,)*) => {
        /// Which loss.
        #[derive(Clone, Debug)]
        #[non_exhaustive]
        pub enum LossKind {
            $($(#[$doc])* $variant $(($payload))?,)*
            /// One for each output of numbers: see [`LossKind::of_outputs`].
            OfOutputs(OutputLosses),
            /// Any other.
            Custom(Arc<dyn Loss>),
        }

        impl LossKind {
            /// The loss of a name, with the parameters that it has if nothing is said.
            pub fn named(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(LossKind::$variant $((<$payload>::default()))?),)*
                    _ => None,
                }
            }

            /// "custom" for any other; that of all where each output has one.
            pub fn name(&self) -> &'static str {
                match self {
                    $(LossKind::$variant { .. } => $name,)*
                    LossKind::OfOutputs(losses) => losses.first().name(),
                    LossKind::Custom(_) => "custom",
                }
            }

            /// Of losses of outputs the first, which tells what holds for all.
            pub(crate) fn as_column(&self) -> &dyn ColumnLoss {
                match self {
                    $(LossKind::$variant $((losses!(@pattern $payload, loss)))? => {
                        losses!(@loss $variant, loss $(, $payload)?)
                    })*
                    LossKind::OfOutputs(losses) => losses.first().as_column(),
                    LossKind::Custom(loss) => loss,
                }
            }
        }
    };
}

losses! {
    /// ½(y − f)².
    SquaredError = "squared_error",
    /// |y − f|.
    AbsoluteError = "absolute_error",
    /// log(1 + e^(−2yf)); f is half the log-odds.
    LogLoss = "log_loss",
    /// e^(−yf).
    Exponential = "exponential",
    /// max(0, 1 − yf).
    Hinge = "hinge",
    /// ½(y − f)² where |y − f| ≤ δ, and δ(|y − f| − δ/2) beyond.
    Huber(Huber) = "huber",
    /// q (y − f) where y ≥ f, and (q − 1)(y − f) below.
    Quantile(Quantile) = "quantile",
    /// e^f − y f − y + y ln y of y ≥ 0; predictions are e^f.
    Poisson = "poisson",
    /// y e^(−f) + f − ln y − 1 of y > 0; predictions are e^f.
    Gamma = "gamma",
    /// Half the Tweedie deviance of a power between 1 and 2, of y ≥ 0; predictions are e^f.
    Tweedie(Tweedie) = "tweedie",
}

impl LossKind {
    /// The loss itself; where each output has one, that of the first.
    pub fn as_loss(&self) -> &dyn Loss {
        self.as_column()
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
