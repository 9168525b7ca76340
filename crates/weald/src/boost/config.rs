//! Parameters of boosting: plain data with the names of scikit-learn, checked when they are used.

use crate::criterion::Criterion;
use crate::data::known::cells::TargetCells;
use crate::data::targets::n_scores;
use crate::data::{Outputs, Targets};
use crate::error::{Error, Result};
use crate::forest::config::Sampling;
use crate::loss::LossKind;
use crate::loss::steps::newton::Regularization;
use crate::projection::{NProjections, Projection};
use crate::setters::setters;
use crate::split::Splitter;
use crate::tree::config::{MaxFeatures, TreeConfig, growth_setters};

/// What the weak models of a stage are fitted to, and how their predictions are added to the scores (thesis, ch. 6).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum OutputStrategy {
    /// Each output has trees of its own, fitted to its negative gradient.
    SingleTarget,
    /// Each stage has one tree for all outputs, fitted to all negative gradients at once.
    Joint,
    /// Each stage has one tree for all outputs, fitted to random combinations of the negative gradients. The
    /// combinations are drawn anew for each stage.
    Projected {
        /// The family of the projections. [`Projection::Given`] contains one matrix for all stages, or one for each
        /// stage.
        projection: Projection,
        /// The number of combinations.
        n_projections: NProjections,
        /// If true, leaves are relabelled: each leaf stores a value for every output. If false, a leaf stores one
        /// value, and every output adds a multiple of it: this is a small model for many outputs, and it requires a
        /// single projection.
        relabel: bool,
    },
}

/// How the values that the leaves of a tree add to the scores are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeafEstimation {
    /// For each leaf and score, the regularised Newton step Σ w r / (Σ w h + λ), where r are the negative gradients and
    /// h the second derivatives of the samples in the leaf. The step is halved while it raises their loss. If leaves
    /// store one value, the same step is taken along it for each score. For losses without second derivatives, the
    /// value is the minimum of the loss over the samples in the leaf.
    #[default]
    Newton,
    /// For each leaf, its mean negative gradients, times a step for each score that minimises the loss over all samples
    /// (thesis, ch. 6).
    LineSearch,
}

/// Parameters of gradient boosting.
///
/// ```
/// use weald::{BoostConfig, LossKind, OutputStrategy};
/// let config = BoostConfig::new(LossKind::LogLoss).n_estimators(500).strategy(OutputStrategy::Joint).max_depth(5);
/// assert_eq!((config.tree.max_depth, config.learning_rate), (Some(5), 0.1));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BoostConfig {
    /// Parameters of each tree. The criterion is the variance and thresholds are the best ones; the seed and the
    /// projection in it are not used. [`TreeConfig::output_scaling`] and [`TreeConfig::output_weights`] apply to the
    /// negative gradients on which trees are grown, before these are projected; leaves and steps minimise the loss
    /// itself. They have no effect if each tree is grown for one score ([`OutputStrategy::SingleTarget`]). For labels,
    /// only weights are supported. The weights of labels also apply to the losses of training and validation, and are
    /// not supported if some cells of y are unknown. None of this is supported for weak models other than trees.
    pub tree: TreeConfig,
    /// Number of stages.
    pub n_estimators: usize,
    /// Factor by which every step is multiplied: finite and positive.
    pub learning_rate: f64,
    /// The loss that is minimised.
    pub loss: LossKind,
    /// What trees are fitted to.
    pub strategy: OutputStrategy,
    /// Number of features that are available to each tree, drawn without replacement; each node draws
    /// [`TreeConfig::max_features`] of these. Weak models other than trees have all features.
    pub max_features_by_tree: MaxFeatures,
    /// Share of the samples that each stage is fitted to, drawn without replacement: in (0, 1]. Whole weights are counts, as
    /// for [`Sampling::WithoutReplacement`](crate::Sampling::WithoutReplacement).
    pub subsample: f64,
    /// How leaf values are computed. Weak models other than trees have no leaves: their steps are found by line search.
    pub leaf_estimation: LeafEstimation,
    /// λ of [`LeafEstimation::Newton`], which is added to the sums of second derivatives: finite, at least 0. In each
    /// leaf, it has the effect of λ samples of weight 1 and second derivative 1. It is not supported for losses whose
    /// leaves are not Newton steps: absolute error, quantile, Huber, hinge.
    pub l2_regularization: f64,
    /// With [`LeafEstimation::Newton`], a leaf whose sum of second derivatives for a score is less than this adds
    /// nothing to the score: finite, at least 0. It is not supported for the same losses.
    pub min_sum_hessian_in_leaf: f64,
    /// Maximum number of bins for each feature, 2 to 255: values in the same bin are not distinguished. `None`
    /// distinguishes all values. For a feature with no more distinct values than bins, the search for splits is exact
    /// in both cases.
    pub max_bins: Option<usize>,
    /// The fit stops when the loss of the validation set has not improved by `tol` times its initial value for this
    /// number of stages. `None`: all stages are fitted.
    pub n_iter_no_change: Option<usize>,
    /// Minimum improvement of the validation loss that counts, as a share of its value before the first stage: finite,
    /// not negative.
    pub tol: f64,
    /// The seed. Stage `m` is a function of (data, parameters, seed, the stages before it).
    pub seed: u64,
}

setters! { BoostConfig {
    tree: TreeConfig,
    n_estimators: usize,
    learning_rate: f64,
    strategy: OutputStrategy,
    max_features_by_tree: MaxFeatures,
    subsample: f64,
    leaf_estimation: LeafEstimation,
    l2_regularization: f64,
    min_sum_hessian_in_leaf: f64,
    max_bins: impl Into<Option<usize>>,
    n_iter_no_change: impl Into<Option<usize>>,
    tol: f64,
    seed: u64,
} }
growth_setters!(BoostConfig.tree: TreeConfig);

impl BoostConfig {
    /// Returns default parameters: 100 stages of trees with 31 leaves at learning rate 0.1, each tree fitted to one
    /// Gaussian projection and relabelled with Newton steps; leaves have a weight of at least two samples. These values
    /// were chosen by `benches/defaults`.
    pub fn new(loss: LossKind) -> Self {
        BoostConfig {
            tree: TreeConfig {
                max_leaf_nodes: Some(31),
                min_weight_leaf: 2.0,
                ..TreeConfig::new(Criterion::OF_GRADIENTS)
            },
            n_estimators: 100,
            learning_rate: 0.1,
            loss,
            strategy: OutputStrategy::Projected {
                projection: Projection::Gaussian,
                n_projections: NProjections::Count(1),
                relabel: true,
            },
            max_features_by_tree: MaxFeatures::All,
            subsample: 1.0,
            leaf_estimation: LeafEstimation::Newton,
            l2_regularization: 1.0,
            min_sum_hessian_in_leaf: 1e-3,
            max_bins: Some(MOST_BINS),
            n_iter_no_change: None,
            tol: 1e-4,
            seed: 0,
        }
    }

    /// Returns an error for monotonic constraints if trees or scores mix the signs of outputs.
    pub(crate) fn check_monotonic(&self, outputs: &Outputs) -> Result<()> {
        const WHAT: &str = "monotonic_cst";
        if self.tree.monotonic_cst.is_none() {
            return Ok(());
        }
        if let (OutputStrategy::Projected { .. }, true) = (&self.strategy, n_scores(outputs) > 1) {
            return Err(Error::unsupported(WHAT, "with the strategy Projected, which mixes the signs of outputs"));
        }
        match outputs {
            Outputs::Classes { .. } if n_scores(outputs) > 1 => {
                Err(Error::unsupported(WHAT, "for the log loss of three and more classes"))
            }
            Outputs::Classes { .. } | Outputs::Labels { .. } | Outputs::Real { .. } => Ok(()),
        }
    }

    /// Returns an error if a parameter is out of range; `width` is the number of scores of a sample.
    pub(crate) fn check(&self, outputs: &Outputs, width: usize) -> Result<()> {
        // Trees are fitted to numerical targets, whatever y is.
        let tree = TreeConfig { output_projection: None, ..self.tree.clone() };
        tree.check(&Outputs::Real { n_outputs: width })?;
        self.tree.output_factors().check(outputs)?;
        if self.tree.splitter != Splitter::Best {
            return Err(Error::invalid("splitter", "Random", "be Best in boosting"));
        }
        if let Some(max_bins) = self.tree.max_bins {
            return Err(Error::invalid(
                "tree.max_bins",
                max_bins,
                "be none in boosting, which has max_bins of its own",
            ));
        }
        if self.tree.ccp_alpha != 0.0 {
            return Err(Error::invalid("ccp_alpha", self.tree.ccp_alpha, "be 0 in boosting"));
        }
        if self.n_estimators == 0 {
            return Err(Error::invalid("n_estimators", 0, "be at least 1"));
        }
        if !(self.learning_rate > 0.0 && self.learning_rate.is_finite()) {
            return Err(Error::invalid("learning_rate", self.learning_rate, "be finite and positive"));
        }
        self.n_features_of_tree(1)?;
        if !(self.subsample > 0.0 && self.subsample <= 1.0) {
            return Err(Error::invalid("subsample", self.subsample, "be in (0, 1]"));
        }
        if self.max_bins.is_some_and(|bins| !(2..=MOST_BINS).contains(&bins)) {
            return Err(Error::invalid("max_bins", self.max_bins.unwrap_or(0), "be between 2 and 255, or none"));
        }
        if self.n_iter_no_change == Some(0) {
            return Err(Error::invalid("n_iter_no_change", 0, "be at least 1"));
        }
        let (l2, least) = (self.l2_regularization, self.min_sum_hessian_in_leaf);
        for (name, value) in [("tol", self.tol), ("l2_regularization", l2), ("min_sum_hessian_in_leaf", least)] {
            if !(value >= 0.0 && value.is_finite()) {
                return Err(Error::invalid(name, value, "be finite and at least 0"));
            }
        }
        self.check_loss(outputs)?;
        if let OutputStrategy::Projected { projection, n_projections, relabel } = &self.strategy {
            let q = projection.resolve(width, *n_projections)?;
            if !relabel && q != 1 {
                return Err(Error::invalid("n_projections", q, "be 1 if leaves are not relabelled"));
            }
        }
        Ok(())
    }

    /// Returns the regularisation of Newton steps.
    pub(super) fn regularization(&self) -> Regularization {
        match self.leaf_estimation {
            LeafEstimation::Newton => Regularization::new(self.l2_regularization, self.min_sum_hessian_in_leaf),
            LeafEstimation::LineSearch => Regularization::NONE,
        }
    }

    /// Returns the number of features of each tree, out of `n_features`.
    pub(crate) fn n_features_of_tree(&self, n_features: usize) -> Result<usize> {
        Ok(self.max_features_by_tree.resolve_as("max_features_by_tree", n_features)?.min(n_features))
    }

    /// Returns how a stage draws its samples.
    pub(super) fn sampling(&self) -> Sampling {
        if self.subsample < 1.0 { Sampling::ShareWithoutReplacement(self.subsample) } else { Sampling::All }
    }

    fn check_loss(&self, outputs: &Outputs) -> Result<()> {
        let loss = self.loss.as_loss();
        loss.check()?;
        if let LossKind::OfOutputs(of_outputs) = &self.loss {
            let losses = of_outputs.losses();
            losses.iter().try_for_each(|loss| loss.as_loss().check())?;
            if !matches!(outputs, Outputs::Real { n_outputs } if *n_outputs == losses.len()) {
                let got = format!("{} losses", losses.len());
                return Err(Error::invalid("loss", got, "have one loss, or one loss for each numerical output"));
            }
        }
        let (is_supported, must) = match outputs {
            Outputs::Real { .. } => (loss.domain().has_numbers(), "be a regression loss, as y has numerical outputs"),
            Outputs::Labels { .. } | Outputs::Classes { .. } => {
                (loss.domain().has_labels(), "be a classification loss, as y has labels or classes")
            }
        };
        if !is_supported {
            return Err(Error::invalid("loss", format!("{:?}", self.loss), must));
        }
        if matches!(self.loss, LossKind::Custom(_)) && !loss.link(outputs).fits(outputs) {
            let must =
                "be Identity or Log for numerical outputs, and Margin or of_half_log_odds for labels and classes";
            return Err(Error::invalid("the link of the loss", format!("{:?}", loss.link(outputs)), must));
        }
        Ok(())
    }

    /// Returns an error if y of a sample with positive weight is not in the domain of the loss; the error calls y
    /// `what`.
    pub(super) fn check_domain(&self, what: &'static str, y: &Targets<'_>, weight: Option<&[f64]>) -> Result<()> {
        let Targets::Real(y) = y else { return Ok(()) };
        let rows = y.rows().into_iter().enumerate().filter(|(row, _)| weight.is_none_or(|weight| weight[*row] > 0.0));
        self.check_numbers(what, rows.flat_map(|(_, row)| row.into_iter().copied()))
    }

    /// The same for the known cells of numbers.
    pub(super) fn check_cells(&self, what: &'static str, y: &TargetCells, weight: Option<&[f64]>) -> Result<()> {
        if !self.loss.as_loss().domain().has_numbers() {
            return Ok(());
        }
        let rows = (0..y.n_rows() as u32).filter(|&row| weight.is_none_or(|weight| weight[row as usize] > 0.0));
        self.check_numbers(what, rows.flat_map(|row| y.of_row(row).values.iter().copied()))
    }

    fn check_numbers(&self, what: &'static str, mut numbers: impl Iterator<Item = f64>) -> Result<()> {
        let domain = self.loss.as_loss().domain();
        match numbers.find_map(|y| domain.refuses(y).map(|must| (y, must))) {
            Some((y, must)) => Err(Error::invalid(what, format!("{y} with loss={:?}", self.loss.name()), must)),
            None => Ok(()),
        }
    }
}

/// Codes of bins have eight bits.
const MOST_BINS: usize = 255;
