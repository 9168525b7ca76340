//! Parameters of a tree: plain data with scikit-learn's names, checked when used.

use ndarray::Array2;

use super::prune::check_alpha;
use crate::criterion::Criterion;
use crate::data::output_scaling::OutputFactors;
use crate::data::{OutputScaling, Outputs};
use crate::error::{Error, Result};
use crate::projection::OutputProjection;
use crate::setters::setters;
use crate::split::Splitter;

/// Number of features drawn at each node.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum MaxFeatures {
    /// Every feature.
    All,
    /// ⌊√p⌋, at least 1.
    Sqrt,
    /// ⌊log₂ p⌋, at least 1.
    Log2,
    /// That many.
    Count(usize),
    /// That share of p, rounded down, at least 1.
    Fraction(f64),
}

impl MaxFeatures {
    pub(crate) fn resolve(self, n_features: usize) -> Result<usize> {
        self.resolve_as("max_features", n_features)
    }

    /// The number of a draw that errors call `what`.
    pub(crate) fn resolve_as(self, what: &'static str, n_features: usize) -> Result<usize> {
        let p = n_features as f64;
        let k = match self {
            MaxFeatures::All => n_features,
            MaxFeatures::Sqrt => p.sqrt() as usize,
            MaxFeatures::Log2 => p.log2() as usize,
            MaxFeatures::Count(0) => return Err(Error::invalid(what, 0, "be at least 1")),
            MaxFeatures::Count(k) => k,
            MaxFeatures::Fraction(f) if f > 0.0 && f <= 1.0 => (f * p) as usize,
            MaxFeatures::Fraction(f) => return Err(Error::invalid(what, f, "be a fraction in (0, 1]")),
        };
        Ok(k.clamp(1, n_features.max(1)))
    }
}

/// Parameters of one tree.
///
/// ```
/// use spinney::{Criterion, TreeConfig};
/// let config = TreeConfig::new(Criterion::Gini).max_depth(3);
/// assert_eq!((config.max_depth, config.min_samples_split), (Some(3), 2));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TreeConfig {
    /// Impurity that splits reduce.
    pub criterion: Criterion,
    /// How thresholds are chosen.
    pub splitter: Splitter,
    /// Largest depth; `None` for no limit.
    pub max_depth: Option<usize>,
    /// Nodes with fewer samples are leaves.
    pub min_samples_split: usize,
    /// Splits that leave fewer samples on a side are not considered.
    pub min_samples_leaf: usize,
    /// Splits that leave less than this share of the total weight on a side are not considered; in [0, 0.5].
    pub min_weight_fraction_leaf: f64,
    /// Splits that leave less weight than that of so many samples on a side are not considered. A sample of weight 2 counts
    /// as two, which [`TreeConfig::min_samples_leaf`] counts as one: what counts as one is the largest power of two of which
    /// all weights are multiples, 1 for whole numbers of which one is odd; or the mean weight where that is below 1/64.
    /// Finite, at least 0.
    pub min_weight_leaf: f64,
    /// Number of features drawn at each node, without replacement.
    pub max_features: MaxFeatures,
    /// Grow best-first until this many leaves; `None` grows depth-first without limit.
    pub max_leaf_nodes: Option<usize>,
    /// Splits must reduce the impurity, weighted by the node's share of the total weight, by at least this.
    pub min_impurity_decrease: f64,
    /// Seed of a tree on its own; a forest derives its trees' streams from its own seed.
    pub seed: u64,
    /// Grows the structure on projections of the outputs; `None` on the outputs themselves. See [`crate::projection`].
    ///
    /// With a projection the criterion is the variance of the projected outputs, for every kind of y. `Gini` is accepted
    /// for classes and labels and means the same, as the Gini index is a multiple of the variance of their columns of
    /// 0 and 1. The fitted tree's criterion is `Variance`, and its impurities are means over projected outputs.
    pub output_projection: Option<OutputProjection>,
    /// What the search of splits divides the outputs by, where y is numbers: without, the impurity is in their units
    /// squared, and an output of large numbers decides alone. Leaves hold the means of y itself; impurities, their
    /// decreases, importances and what [`TreeConfig::ccp_alpha`] is compared with are of the divided outputs. Outputs
    /// are divided before they are projected. For the variance alone. Cost: two passes over y, once for a fit.
    pub output_scaling: OutputScaling,
    /// How much each output counts in the impurity, which is the mean of the outputs' variances by these weights;
    /// `None` for all the same. Finite, none negative, one positive; their ratios alone count. An output of weight zero
    /// has leaves like the others. With [`TreeConfig::output_scaling`], weights are of the divided outputs. For the
    /// variance alone, and for the Gini index of labels: the splits are then those of the variance of the labels as
    /// numbers, and the fitted tree's criterion is `Variance`. Not in boosting of labels, nor where cells of labels are
    /// masked.
    pub output_weights: Option<Vec<f64>>,
    /// Prunes the grown tree, see [`crate::Tree::pruned`]; 0 does not. Not in boosting.
    pub ccp_alpha: f64,
    /// The directions in which predictions may go with each feature, (n_features, 1) for all outputs or (n_features,
    /// n_outputs): 1 where they never fall as the feature rises, −1 where they never rise, 0 for no constraint. Of two
    /// classes it is the frequency of the second that is meant. Not for more classes, for features that are categories,
    /// with projections, or with masked cells of y.
    pub monotonic_cst: Option<Array2<i8>>,
    /// Groups of features, numbered from 0, that may be on one path from the root to a leaf; features that are in none are
    /// one more group. A feature may be in several. Where not all features may be drawn, [`TreeConfig::max_features`] are
    /// drawn of those that may.
    pub interaction_cst: Option<Vec<Vec<u32>>>,
}

/// Setters of when and where trees split, which all learners of trees have.
macro_rules! growth_setters {
    ($($of:tt)+) => {
        $crate::setters::setters! { $($of)+ {
            max_depth: impl Into<Option<usize>>,
            min_samples_split: usize,
            min_samples_leaf: usize,
            min_weight_fraction_leaf: f64,
            min_weight_leaf: f64,
            max_features: MaxFeatures,
            max_leaf_nodes: impl Into<Option<usize>>,
            min_impurity_decrease: f64,
            monotonic_cst: impl Into<Option<ndarray::Array2<i8>>>,
            interaction_cst: impl Into<Option<Vec<Vec<u32>>>>,
            output_scaling: impl Into<crate::data::OutputScaling>,
            output_weights: impl Into<Option<Vec<f64>>>,
        } }
    };
}

pub(crate) use growth_setters;

growth_setters!(TreeConfig);
setters! { TreeConfig {
    splitter: Splitter,
    seed: u64,
    output_projection: impl Into<Option<OutputProjection>>,
    ccp_alpha: f64,
} }

impl TreeConfig {
    /// scikit-learn's defaults of a decision tree.
    pub fn new(criterion: Criterion) -> Self {
        TreeConfig {
            criterion,
            splitter: Splitter::Best,
            max_depth: None,
            min_samples_split: 2,
            min_samples_leaf: 1,
            min_weight_fraction_leaf: 0.0,
            min_weight_leaf: 0.0,
            max_features: MaxFeatures::All,
            max_leaf_nodes: None,
            min_impurity_decrease: 0.0,
            seed: 0,
            output_projection: None,
            output_scaling: OutputScaling::Unscaled,
            output_weights: None,
            ccp_alpha: 0.0,
            monotonic_cst: None,
            interaction_cst: None,
        }
    }

    pub(crate) fn output_factors(&self) -> OutputFactors<'_> {
        OutputFactors { scaling: &self.output_scaling, weights: self.output_weights.as_deref() }
    }

    /// Whether splits are searched on numbers made of the outputs: their projections, or labels times their weights.
    pub(crate) fn searches_numbers(&self, outputs: &Outputs) -> bool {
        let weighs_labels = matches!(outputs, Outputs::Labels { .. }) && self.output_weights.is_some();
        self.output_projection.is_some() || weighs_labels
    }

    pub(crate) fn check(&self, outputs: &Outputs) -> Result<()> {
        self.criterion.check_outputs(outputs, self.searches_numbers(outputs))?;
        if let Some(projection) = &self.output_projection {
            projection.check(outputs)?;
        }
        let factors = self.output_factors();
        factors.check(outputs)?;
        if factors.are_given() && !self.criterion.takes_factors() && !self.searches_numbers(outputs) {
            let got = format!("{:?} with {}", self.criterion, factors.name());
            return Err(Error::invalid("criterion", got, "be Variance if outputs are scaled or weighted"));
        }
        if self.max_depth == Some(0) {
            return Err(Error::invalid("max_depth", 0, "be at least 1"));
        }
        if self.min_samples_split < 2 {
            return Err(Error::invalid("min_samples_split", self.min_samples_split, "be at least 2"));
        }
        if self.min_samples_leaf < 1 {
            return Err(Error::invalid("min_samples_leaf", self.min_samples_leaf, "be at least 1"));
        }
        if !(self.min_weight_leaf >= 0.0 && self.min_weight_leaf.is_finite()) {
            return Err(Error::invalid("min_weight_leaf", self.min_weight_leaf, "be finite and at least 0"));
        }
        if !(0.0..=0.5).contains(&self.min_weight_fraction_leaf) {
            return Err(Error::invalid("min_weight_fraction_leaf", self.min_weight_fraction_leaf, "be in [0, 0.5]"));
        }
        if self.max_leaf_nodes.is_some_and(|m| m < 2) {
            return Err(Error::invalid("max_leaf_nodes", "below 2", "be at least 2"));
        }
        if !(self.min_impurity_decrease >= 0.0 && self.min_impurity_decrease.is_finite()) {
            return Err(Error::invalid(
                "min_impurity_decrease",
                self.min_impurity_decrease,
                "be finite and at least 0",
            ));
        }
        check_alpha(self.ccp_alpha)?;
        Ok(())
    }
}
