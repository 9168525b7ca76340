//! The table of losses: one row for each. Whatever needs to know which losses there are reads it.

use std::sync::Arc;

use super::column::ColumnLoss;
use super::{
    AbsoluteError, Domain, Exponential, Gamma, Hinge, Huber, Link, LogLoss, Loss, OutputLosses, Poisson, Quantile,
    SquaredError, Tweedie,
};
use crate::data::Outputs;
use crate::error::{Error, Result};

/// The kinds of y that a loss is meant for. Its [`Domain`] may permit others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LossTargets {
    /// Numerical outputs.
    Numbers,
    /// Labels and classes.
    Labels,
    /// Numerical outputs, labels and classes.
    Both,
}

/// The parameter of a loss: a number in an open interval.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct LossParameter {
    /// The name of the parameter.
    pub name: &'static str,
    /// What the parameter means.
    pub about: &'static str,
    /// The default value.
    pub default: f64,
    /// Values must be above this number.
    pub above: f64,
    /// Values must be below this number.
    pub below: f64,
    /// The same in words that follow "must".
    pub must: &'static str,
}

impl LossParameter {
    /// Returns an error of kind [`Invalid`](crate::ErrorKind::Invalid) if `value` is out of range.
    pub(super) fn check(&self, value: f64) -> Result<()> {
        if value > self.above && value < self.below {
            return Ok(());
        }
        Err(Error::invalid(self.name, value, self.must))
    }
}

/// A row of the table of losses.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct LossRow {
    /// The name of the loss, for example "huber".
    pub name: &'static str,
    /// The name of the type of the loss, for example "Huber".
    pub type_name: &'static str,
    /// What the loss is: the formula.
    pub about: &'static str,
    /// The kinds of y that the loss is meant for.
    pub targets: LossTargets,
    /// The parameter of the loss, if it has one.
    pub parameter: Option<LossParameter>,
}

impl LossRow {
    /// Returns the domain of y.
    pub fn domain(&self) -> Domain {
        self.loss().as_column().domain()
    }

    /// Returns how scores of one output are turned into predictions: of a numerical output if the loss is meant for
    /// these, otherwise of a label.
    pub fn link(&self) -> Link {
        let outputs = match self.targets {
            LossTargets::Numbers | LossTargets::Both => Outputs::Real { n_outputs: 1 },
            LossTargets::Labels => Outputs::Labels { n_labels: 1 },
        };
        self.loss().as_column().link(&outputs)
    }

    /// Returns whether outputs of three or more classes share the softmax.
    pub fn has_softmax(&self) -> bool {
        self.loss().as_column().has_softmax()
    }

    /// Returns the loss, with the default of its parameter.
    pub fn loss(&self) -> LossKind {
        LossKind::named(self.name).expect("a row has the name of a loss")
    }
}

/// Declares [`LossKind`] and [`LossKind::ALL`] from one row for each loss: the variant, which has the name of the type
/// of the loss, and contains it with the name of its parameter if it has one; the name that callers use; and the kinds
/// of y that it is meant for. The text describes the loss to users.
macro_rules! losses {
    (@value $loss:ident { $field:ident: $value:expr }) => { LossKind::$loss($loss { $field: $value }) };
    (@parameter $loss:ident $field:ident) => { Some($loss::PARAMETER) };
    (@parameter $loss:ident) => { None };
    (@loss $variant:ident, $loss:ident, $field:ident) => { $loss };
    (@loss $variant:ident, $loss:ident) => { &$variant };
    ($($(#[doc = $doc:literal])* $variant:ident $({ $field:ident })? = $name:literal, $targets:ident;)*) => {
        /// The loss function of a fit.
        #[derive(Clone, Debug)]
        #[non_exhaustive]
        pub enum LossKind {
            $($(#[doc = $doc])* $variant $((losses!(@type $variant $field)))?,)*
            /// One loss for each numerical output: see [`LossKind::of_outputs`].
            OfOutputs(OutputLosses),
            /// A loss defined by the user.
            Custom(Arc<dyn Loss>),
        }

        $(losses!(@with_default $variant $($field)?);)*

        impl LossKind {
            /// The table of losses.
            pub(crate) const ALL: &'static [LossRow] = &[$(LossRow {
                name: $name,
                type_name: stringify!($variant),
                about: concat!($($doc, "\n"),*),
                targets: LossTargets::$targets,
                parameter: losses!(@parameter $variant $($field)?),
            },)*];

            /// Returns the loss with this name, with the default of its parameter, or `None` if there is none.
            pub fn named(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(losses!(@default $variant $($field)?)),)*
                    _ => None,
                }
            }

            /// Returns the loss with this name and this value of its parameter, which is not checked, or `None` if
            /// there is no such loss with a parameter.
            pub fn with_parameter(name: &str, value: f64) -> Option<Self> {
                match name {
                    $($($name => Some(losses!(@value $variant { $field: value })),)?)*
                    _ => None,
                }
            }

            /// Returns the name of the loss: that of its own for a loss defined by the user, and the common name if
            /// each output has a loss of its own.
            pub fn name(&self) -> &str {
                match self {
                    $(LossKind::$variant { .. } => $name,)*
                    LossKind::OfOutputs(losses) => losses.first().name(),
                    LossKind::Custom(loss) => loss.name(),
                }
            }

            /// Returns the loss as a trait object. If each output has a loss of its own, it is the first, whose general
            /// properties are those of all.
            pub(crate) fn as_column(&self) -> &dyn ColumnLoss {
                match self {
                    $(losses!(@pattern loss, $variant $($field)?) => losses!(@loss $variant, loss $(, $field)?),)*
                    LossKind::OfOutputs(losses) => losses.first().as_column(),
                    LossKind::Custom(loss) => loss,
                }
            }
        }
    };
    (@with_default $loss:ident $field:ident) => {
        impl Default for $loss {
            /// Returns the loss with the default of its parameter.
            fn default() -> Self {
                $loss { $field: Self::PARAMETER.default }
            }
        }
    };
    (@with_default $loss:ident) => {};
    (@type $loss:ident $field:ident) => { $loss };
    (@default $loss:ident $field:ident) => { LossKind::$loss($loss::default()) };
    (@default $loss:ident) => { LossKind::$loss };
    (@pattern $found:ident, $loss:ident $field:ident) => { LossKind::$loss($found) };
    (@pattern $found:ident, $loss:ident) => { LossKind::$loss };
}

losses! {
    /// The squared error ½ (y − f)².
    SquaredError = "squared_error", Both;
    /// The absolute error |y − f|.
    AbsoluteError = "absolute_error", Numbers;
    /// The logistic loss log(1 + e^(−2yf)) for y = ±1. The score f is half the log-odds.
    LogLoss = "log_loss", Labels;
    /// The exponential loss e^(−yf) for y = ±1. The score f is half the log-odds.
    Exponential = "exponential", Labels;
    /// The hinge loss max(0, 1 − yf) for y = ±1.
    Hinge = "hinge", Labels;
    /// Huber's loss: ½ (y − f)² if |y − f| ≤ δ, and δ (|y − f| − δ/2) otherwise.
    Huber { delta } = "huber", Numbers;
    /// The quantile loss: q (y − f) if y ≥ f, and (q − 1) (y − f) otherwise.
    Quantile { quantile } = "quantile", Numbers;
    /// Half the Poisson deviance e^f − y f − y + y ln y, for y ≥ 0. Predictions are e^f.
    Poisson = "poisson", Numbers;
    /// Half the gamma deviance y e^(−f) + f − ln y − 1, for y > 0. Predictions are e^f.
    Gamma = "gamma", Numbers;
    /// Half the Tweedie deviance with a power between 1 and 2, for y ≥ 0. Predictions are e^f.
    Tweedie { power } = "tweedie", Numbers;
}

impl LossKind {
    /// Returns whether the fits of workers that each hold some of the samples support this loss.
    pub fn has_workers(&self) -> bool {
        matches!(self, LossKind::SquaredError | LossKind::LogLoss)
    }

    /// Returns the loss as a trait object. If each output has a loss of its own, it is the first.
    pub fn as_loss(&self) -> &dyn Loss {
        self.as_column()
    }
}
