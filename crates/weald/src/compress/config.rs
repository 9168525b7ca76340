//! Parameters of compression.

use crate::data::Outputs;
use crate::data::output_scaling::{OutputFactors, OutputScaling};
use crate::error::{Error, Result};
use crate::setters::setters;

/// How the coefficients of nodes are found.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum CompressMethod {
    /// Monotone incremental forward stagewise regression (Hastie et al. 2007): small steps on the best node.
    Stagewise {
        /// ε, the length of a step. Numerical outputs are scaled to unit variance; columns of 0 and 1 are not.
        step_size: f64,
        /// Maximum number of steps; `None`: the path ends when no step lowers the loss.
        max_steps: Option<usize>,
    },
    /// The (group) lasso on a decreasing sequence of penalties, by coordinate descent.
    Lasso {
        /// Number of penalties.
        n_alphas: usize,
        /// The smallest penalty, as a share of the largest.
        eps: f64,
        /// Maximum violation of the optimality conditions, as a share of each penalty.
        tol: f64,
        /// Maximum number of sweeps for each penalty.
        max_iter: usize,
    },
    /// Globally induced forests (Begon, Joly, Geurts 2017): each step chooses the best node below the existing ones.
    Grow {
        /// The share of the best weight of a node that is added.
        learning_rate: f64,
        /// Maximum number of nodes with a weight.
        max_nodes: usize,
        /// Number of candidates that are drawn for each step; `None` considers all.
        candidate_window: Option<usize>,
    },
}

/// The loss that the coefficients minimise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CompressLoss {
    /// Squares of residuals: of numerical outputs, or of columns of 0 and 1.
    SquaredError,
    /// Logistic loss of labels and of two classes, softmax loss of three or more classes.
    LogLoss,
}

impl CompressLoss {
    /// Returns the loss with this name in the table of [`LossKind`](crate::LossKind), or `None` if compression does not
    /// support it.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "squared_error" => Some(CompressLoss::SquaredError),
            "log_loss" => Some(CompressLoss::LogLoss),
            _ => None,
        }
    }
}

/// Parameters of compression.
///
/// ```
/// use weald::compress::{CompressConfig, CompressMethod};
/// let config = CompressConfig::stagewise(0.01).max_test_nodes(1000);
/// assert!(!config.standardize);
/// assert!(matches!(config.method, CompressMethod::Stagewise { max_steps: None, .. }));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CompressConfig {
    /// How coefficients are found.
    pub method: CompressMethod,
    /// The loss that they minimise.
    pub loss: CompressLoss,
    /// Whether indicators of nodes are centred and scaled to unit variance. If false, they are 0 and 1, and stagewise
    /// steps do not change the constant.
    pub standardize: bool,
    /// The path ends with the first step that keeps more than this number of test nodes; `None` for no limit.
    pub max_test_nodes: Option<usize>,
    /// Maximum number of scores that a stagewise step moves, those with the largest gradients; `None` moves all. With
    /// many labels, moving few of them results in leaves that are mostly zero, and in models of a fraction of the
    /// bytes.
    pub step_outputs: Option<usize>,
    /// The weight of each label: finite numbers, none negative and at least one positive, of which only the ratios
    /// matter. All losses, in training, of held-out samples and of the forest before compression, are means over labels
    /// with these weights. A label of weight 2 is the same as the label twice: lengths, of steps and of norms, are
    /// those of coefficients times √(weight / mean of the non-zero weights). A label of weight zero is ignored, and its
    /// score stays at its constant. `None`: all labels have the same weight. Only supported for labels.
    pub output_weights: Option<Vec<f64>>,
    /// Seed of the candidates that [`CompressMethod::Grow`] draws.
    pub seed: u64,
}

setters! { CompressConfig {
    method: CompressMethod,
    loss: CompressLoss,
    standardize: bool,
    max_test_nodes: impl Into<Option<usize>>,
    step_outputs: impl Into<Option<usize>>,
    output_weights: impl Into<Option<Vec<f64>>>,
    seed: u64,
} }

impl CompressConfig {
    /// Returns parameters for stagewise steps of length `step_size` on raw indicators, with the squared error.
    pub fn stagewise(step_size: f64) -> Self {
        CompressConfig::new(CompressMethod::Stagewise { step_size, max_steps: None })
    }

    /// Returns parameters for a method with raw indicators and the squared error.
    pub fn new(method: CompressMethod) -> Self {
        CompressConfig {
            method,
            loss: CompressLoss::SquaredError,
            standardize: false,
            max_test_nodes: None,
            step_outputs: None,
            output_weights: None,
            seed: 0,
        }
    }

    /// Returns the weights of labels in the form that other learners use.
    pub(crate) fn output_factors(&self) -> OutputFactors<'_> {
        OutputFactors { scaling: &OutputScaling::Unscaled, weights: self.output_weights.as_deref() }
    }

    pub(crate) fn check(&self, outputs: &Outputs) -> Result<()> {
        if self.output_weights.is_some() && !matches!(outputs, Outputs::Labels { .. }) {
            return Err(Error::unsupported("output_weights", "for numerical outputs and classes in compression"));
        }
        self.output_factors().check(outputs)?;
        let positive = |what: &'static str, v: f64| {
            if v > 0.0 && v.is_finite() { Ok(()) } else { Err(Error::invalid(what, v, "be a finite number above 0")) }
        };
        let share = |what: &'static str, v: f64| {
            if v > 0.0 && v < 1.0 { Ok(()) } else { Err(Error::invalid(what, v, "be between 0 and 1")) }
        };
        if self.step_outputs == Some(0) {
            return Err(Error::invalid("step_outputs", 0, "be at least 1"));
        }
        match self.method {
            CompressMethod::Stagewise { step_size, .. } => positive("step_size", step_size)?,
            CompressMethod::Lasso { n_alphas, eps, tol, max_iter } => {
                share("eps", eps)?;
                share("tol", tol)?;
                if n_alphas == 0 {
                    return Err(Error::invalid("n_alphas", 0, "be at least 1"));
                }
                if max_iter == 0 {
                    return Err(Error::invalid("max_iter", 0, "be at least 1"));
                }
            }
            CompressMethod::Grow { learning_rate, candidate_window, .. } => {
                positive("learning_rate", learning_rate)?;
                if learning_rate > 1.0 {
                    return Err(Error::invalid("learning_rate", learning_rate, "be at most 1"));
                }
                if candidate_window == Some(0) {
                    return Err(Error::invalid("candidate_window", 0, "be at least 1"));
                }
                if self.standardize {
                    return Err(Error::invalid("standardize", true, "be false if forests are grown by nodes"));
                }
            }
        }
        if self.loss == CompressLoss::LogLoss && matches!(outputs, Outputs::Real { .. }) {
            return Err(Error::invalid("loss", "LogLoss", "be SquaredError for numerical outputs"));
        }
        Ok(())
    }
}
