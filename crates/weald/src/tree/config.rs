//! The parameters of a tree: plain data with scikit-learn's names, which are checked by `fit`.

use ndarray::Array2;

use super::prune::check_alpha;
use crate::criterion::Criterion;
use crate::data::output_scaling::OutputFactors;
use crate::data::{OutputScaling, Outputs};
use crate::error::{Error, Result};
use crate::projection::OutputProjection;
use crate::setters::setters;
use crate::split::Splitter;

/// The number of features that are drawn at each node. p is the number of features of X.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum MaxFeatures {
    /// All features.
    All,
    /// ⌊√p⌋, but at least 1.
    Sqrt,
    /// ⌊log₂ p⌋, but at least 1.
    Log2,
    /// ⌈p / 2⌉, but at least 4, or all if there are fewer.
    Half,
    /// This number of features.
    Count(usize),
    /// This fraction of p, rounded down, but at least 1.
    Fraction(f64),
}

impl MaxFeatures {
    pub(crate) fn resolve(self, n_features: usize) -> Result<usize> {
        self.resolve_as("max_features", n_features)
    }

    /// Returns the number of features; error messages use the parameter name `what`.
    pub(crate) fn resolve_as(self, what: &'static str, n_features: usize) -> Result<usize> {
        let p = n_features as f64;
        let k = match self {
            MaxFeatures::All => n_features,
            MaxFeatures::Sqrt => p.sqrt() as usize,
            MaxFeatures::Log2 => n_features.checked_ilog2().unwrap_or(0) as usize,
            MaxFeatures::Half => n_features.div_ceil(2).max(4),
            MaxFeatures::Count(0) => return Err(Error::invalid(what, 0, "be at least 1")),
            MaxFeatures::Count(k) => k,
            MaxFeatures::Fraction(f) if f > 0.0 && f <= 1.0 => (f * p) as usize,
            MaxFeatures::Fraction(f) => return Err(Error::invalid(what, f, "be a fraction in (0, 1]")),
        };
        Ok(k.clamp(1, n_features.max(1)))
    }
}

/// The parameters of one tree.
///
/// ```
/// use weald::{Criterion, TreeConfig};
/// let config = TreeConfig::new(Criterion::Gini).max_depth(3);
/// assert_eq!((config.max_depth, config.min_samples_split), (Some(3), 2));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TreeConfig {
    /// The impurity that splits reduce.
    pub criterion: Criterion,
    /// The method that chooses thresholds.
    pub splitter: Splitter,
    /// The maximum depth of the tree. `None`: the depth is not limited.
    pub max_depth: Option<usize>,
    /// The minimum number of samples that a node must have to be split.
    pub min_samples_split: usize,
    /// The minimum number of samples in each child of a split.
    pub min_samples_leaf: usize,
    /// The minimum weight in each child of a split, as a fraction of the total weight; in [0, 0.5].
    pub min_weight_fraction_leaf: f64,
    /// The minimum weight in each child of a split, in units of the sample weights; finite and at least 0. A sample of
    /// weight 2 counts as two, while [`TreeConfig::min_samples_leaf`] counts it as one.
    pub min_weight_leaf: f64,
    /// The number of features drawn at each node, without replacement.
    pub max_features: MaxFeatures,
    /// The maximum number of leaves. The tree is grown best-first. `None`: the tree is grown depth-first and the number
    /// of leaves is not limited.
    pub max_leaf_nodes: Option<usize>,
    /// The minimum decrease of impurity by a split, weighted by the node's fraction of the total weight.
    pub min_impurity_decrease: f64,
    /// The seed of a single tree. A forest derives the random numbers of its trees from its own seed.
    pub seed: u64,
    /// The projection of the outputs on which the structure of the tree is grown. `None`: it is grown on the outputs
    /// themselves. See [`crate::projection`].
    ///
    /// With a projection, the criterion is the variance of the projected outputs, for every kind of y. `Gini` is
    /// accepted for classes and labels and gives the same splits, because the Gini index is a multiple of the variance
    /// of the columns of 0 and 1. The criterion of the fitted tree is `Variance`, and its impurities are means over
    /// projected outputs.
    pub output_projection: Option<OutputProjection>,
    /// The scales by which the search of splits divides numerical outputs. Without scaling, the impurity is in squared
    /// units of the outputs, and outputs with large values dominate the choice of splits. Leaves contain the means of y
    /// itself. Impurities, their decreases, importances and the values that [`TreeConfig::ccp_alpha`] is compared with
    /// refer to the scaled outputs. Outputs are scaled before they are projected. Scaling is supported only with the
    /// variance criterion. It costs two passes over y, once for each fit.
    pub output_scaling: OutputScaling,
    /// The weight of each output in the impurity, which is the weighted mean of the variances of the outputs. `None`:
    /// all outputs have the same weight. Weights must be finite and not negative, and at least one must be positive;
    /// only their ratios matter. Leaves predict an output of weight zero like all others. With
    /// [`TreeConfig::output_scaling`], the weights apply to the scaled outputs. Output weights are supported with the
    /// variance criterion, and with the Gini index for labels, where the splits are those of the variance of the labels
    /// as numbers, and the criterion of the fitted tree is `Variance`. They are not supported in boosting of labels, or
    /// if cells of labels are masked.
    pub output_weights: Option<Vec<f64>>,
    /// The maximum number of bins of a numerical feature, 2 to 255: equal values are in the same bin, bins have about equal
    /// weights, and thresholds are between bins. If a feature has no more distinct values, nothing is lost. `None`: all
    /// values are searched. Bins are made once for all trees of a forest, from all samples. They are not supported with
    /// random thresholds; boosting has [a parameter of its own](crate::BoostConfig::max_bins).
    pub max_bins: Option<usize>,
    /// The complexity parameter of pruning after growth, see [`crate::Tree::pruned`]; 0 does not prune. It is not
    /// supported in boosting.
    pub ccp_alpha: f64,
    /// The monotonic constraints, of shape (n_features, 1) for all outputs or (n_features, n_outputs): 1 if predictions
    /// must not decrease when the feature increases, −1 if they must not increase, and 0 for no constraint. With two
    /// classes, they apply to the frequency of the second class. They are not supported with more than two classes, for
    /// categorical features, with projections, or with masked cells of y.
    pub monotonic_cst: Option<Array2<i8>>,
    /// The interaction constraints: groups of features, numbered from 0, that may be used together on a path from the
    /// root to a leaf. Features that are in no group form one more group. A feature may be in several groups. If fewer
    /// features are drawn than there are, [`TreeConfig::max_features`] are drawn from those that the constraints allow
    /// at the node.
    pub interaction_cst: Option<Vec<Vec<u32>>>,
}

/// Setters of the growth parameters that all learners of trees have.
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
    max_bins: impl Into<Option<usize>>,
    ccp_alpha: f64,
} }

impl TreeConfig {
    /// Returns scikit-learn's default parameters of a decision tree, with this criterion.
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
            max_bins: None,
            ccp_alpha: 0.0,
            monotonic_cst: None,
            interaction_cst: None,
        }
    }

    pub(crate) fn output_factors(&self) -> OutputFactors<'_> {
        OutputFactors { scaling: &self.output_scaling, weights: self.output_weights.as_deref() }
    }

    /// Returns whether splits are searched on numerical values computed from the outputs: their projections, or labels
    /// multiplied by their weights.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_features_is_rounded_up_and_at_least_four() {
        let found = [1, 3, 4, 7, 8, 9, 10, 101].map(|p| MaxFeatures::Half.resolve(p).unwrap());
        assert_eq!(found, [1, 3, 4, 4, 4, 5, 5, 51]);
    }
}
