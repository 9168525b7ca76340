//! Parameters of boosting: plain data with scikit-learn's names, checked when used.

use super::line_search::LineSearch;
use super::loss::LossKind;
use super::step_sizes::StepDtype;
use crate::config::{Criterion, Splitter, TreeConfig};
use crate::data::Outputs;
use crate::error::{Error, Result};
use crate::projection::{NProjections, Projection};

/// What the weak models of a stage are fitted to, and how their predictions are added to the scores (thesis, ch. 6).
#[derive(Clone, Debug, PartialEq)]
pub enum OutputStrategy {
    /// A tree of its own for each output, fitted to that output's negative gradient.
    SingleTarget,
    /// One tree for all outputs, fitted to all negative gradients at once.
    Joint,
    /// One tree for all outputs, fitted to random combinations of the negative gradients, drawn anew at each stage.
    Projected {
        /// Family of the projections. [`Projection::Given`] holds one matrix, or one for each stage.
        projection: Projection,
        /// Number of combinations.
        n_projections: NProjections,
        /// Leaves are labelled anew with the mean negative gradient of every output. Without, a leaf keeps one number, and
        /// every output takes a multiple of it: a small model for many outputs, which needs a single projection.
        relabel: bool,
    },
}

/// Parameters of gradient boosting.
///
/// ```
/// use spinney::{BoostConfig, LossKind, OutputStrategy};
/// let config = BoostConfig { n_estimators: 500, strategy: OutputStrategy::Joint, ..BoostConfig::new(LossKind::LogLoss) };
/// assert_eq!(config.learning_rate, 0.1);
/// ```
#[derive(Clone, Debug)]
pub struct BoostConfig {
    /// Parameters of each tree. The criterion is the variance and thresholds are the best ones; its seed and its
    /// projection are not used.
    pub tree: TreeConfig,
    /// Number of stages.
    pub n_estimators: usize,
    /// Factor of every step: finite and positive.
    pub learning_rate: f64,
    /// What is minimised.
    pub loss: LossKind,
    /// What trees are fitted to.
    pub strategy: OutputStrategy,
    /// Share of the rows that each stage is fitted on, drawn without replacement: in (0, 1].
    pub subsample: f64,
    /// How steps without a closed form are found.
    pub line_search: LineSearch,
    /// Type in which the model keeps its steps. Those of models without relabelled leaves alone may be float8: leaves of
    /// others hold what they add. Not for the log loss of three and more classes, whose steps depend on each other.
    pub step_dtype: StepDtype,
    /// Values of a feature are told apart by at most so many bins, 2 to 255; `None` tells all apart. A feature with no
    /// more distinct values than bins is searched exactly either way.
    pub max_bins: Option<usize>,
    /// Stops when the loss of the validation set has not improved by `tol` for so many stages.
    pub n_iter_no_change: Option<usize>,
    /// Least improvement of the validation loss that counts: finite, not negative.
    pub tol: f64,
    /// Seed: stage `m` is a function of (data, parameters, seed, the stages before it).
    pub seed: u64,
}

impl BoostConfig {
    /// 100 stages of trees of depth 3 at learning rate 0.1, each fitted to one Gaussian projection and labelled anew.
    pub fn new(loss: LossKind) -> Self {
        BoostConfig {
            tree: TreeConfig { max_depth: Some(3), ..TreeConfig::new(Criterion::Variance) },
            n_estimators: 100,
            learning_rate: 0.1,
            loss,
            strategy: OutputStrategy::Projected {
                projection: Projection::Gaussian,
                n_projections: NProjections::Count(1),
                relabel: true,
            },
            subsample: 1.0,
            line_search: LineSearch::Newton,
            step_dtype: StepDtype::Float64,
            max_bins: Some(MOST_BINS),
            n_iter_no_change: None,
            tol: 1e-4,
            seed: 0,
        }
    }

    /// Refuses parameters out of range; `width` is the number of scores of a row.
    pub(crate) fn check(&self, outputs: &Outputs, width: usize) -> Result<()> {
        // Trees are fitted to numbers, whatever y is.
        let tree = TreeConfig { output_projection: None, ..self.tree.clone() };
        tree.check(&Outputs::Real { n_outputs: width })?;
        if self.tree.splitter != Splitter::Best {
            return Err(Error::invalid("splitter", "Random", "Best in boosting"));
        }
        if self.tree.ccp_alpha != 0.0 {
            return Err(Error::invalid("ccp_alpha", self.tree.ccp_alpha, "0 in boosting"));
        }
        if self.n_estimators == 0 {
            return Err(Error::invalid("n_estimators", 0, "at least 1"));
        }
        if !(self.learning_rate > 0.0 && self.learning_rate.is_finite()) {
            return Err(Error::invalid("learning_rate", self.learning_rate, "finite and positive"));
        }
        if !(self.subsample > 0.0 && self.subsample <= 1.0) {
            return Err(Error::invalid("subsample", self.subsample, "in (0, 1]"));
        }
        if self.max_bins.is_some_and(|bins| !(2..=MOST_BINS).contains(&bins)) {
            return Err(Error::invalid("max_bins", self.max_bins.unwrap_or(0), "from 2 to 255, or None"));
        }
        if self.n_iter_no_change == Some(0) {
            return Err(Error::invalid("n_iter_no_change", 0, "at least 1"));
        }
        if !(self.tol >= 0.0 && self.tol.is_finite()) {
            return Err(Error::invalid("tol", self.tol, "finite, at least 0"));
        }
        self.check_loss(outputs)?;
        if let OutputStrategy::Projected { projection, n_projections, relabel } = &self.strategy {
            let q = projection.resolve(width, *n_projections)?;
            if !relabel && q != 1 {
                return Err(Error::invalid("n_projections", q, "1 without relabelled leaves"));
            }
        }
        let has_steps = matches!(self.strategy, OutputStrategy::Projected { relabel: false, .. });
        if self.step_dtype != StepDtype::Float64 && !has_steps {
            let accepted = "Float64, but for output_strategy projected without relabelled leaves";
            return Err(Error::invalid("step_dtype", format!("{:?}", self.step_dtype), accepted));
        }
        Ok(())
    }
}

impl BoostConfig {
    fn check_loss(&self, outputs: &Outputs) -> Result<()> {
        let of_classes = matches!(self.loss, LossKind::LogLoss | LossKind::Exponential | LossKind::Hinge);
        if of_classes && matches!(outputs, Outputs::Real { .. }) {
            let accepted = "SquaredError, AbsoluteError or Custom for numbers";
            return Err(Error::invalid("loss", format!("{:?}", self.loss), accepted));
        }
        Ok(())
    }
}

/// Codes of bins have eight bits.
const MOST_BINS: usize = 255;
