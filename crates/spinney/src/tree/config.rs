//! Parameters of a tree: plain data with scikit-learn's names, checked when used.

use super::prune::check_alpha;
use crate::criterion::Criterion;
use crate::data::Outputs;
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
            MaxFeatures::Count(0) => return Err(Error::invalid(what, 0, "at least 1")),
            MaxFeatures::Count(k) => k,
            MaxFeatures::Fraction(f) if f > 0.0 && f <= 1.0 => (f * p) as usize,
            MaxFeatures::Fraction(f) => return Err(Error::invalid(what, f, "a share in (0, 1]")),
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
    /// Prunes the grown tree, see [`crate::Tree::pruned`]; 0 does not. Not in boosting.
    pub ccp_alpha: f64,
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
            ccp_alpha: 0.0,
        }
    }

    pub(crate) fn check(&self, outputs: &Outputs) -> Result<()> {
        self.criterion.check_outputs(outputs, self.output_projection.is_some())?;
        if let Some(projection) = &self.output_projection {
            projection.check(outputs)?;
        }
        if self.max_depth == Some(0) {
            return Err(Error::invalid("max_depth", 0, "at least 1"));
        }
        if self.min_samples_split < 2 {
            return Err(Error::invalid("min_samples_split", self.min_samples_split, "at least 2"));
        }
        if self.min_samples_leaf < 1 {
            return Err(Error::invalid("min_samples_leaf", self.min_samples_leaf, "at least 1"));
        }
        if !(self.min_weight_leaf >= 0.0 && self.min_weight_leaf.is_finite()) {
            return Err(Error::invalid("min_weight_leaf", self.min_weight_leaf, "finite, at least 0"));
        }
        if !(0.0..=0.5).contains(&self.min_weight_fraction_leaf) {
            return Err(Error::invalid("min_weight_fraction_leaf", self.min_weight_fraction_leaf, "in [0, 0.5]"));
        }
        if self.max_leaf_nodes.is_some_and(|m| m < 2) {
            return Err(Error::invalid("max_leaf_nodes", "below 2", "at least 2"));
        }
        if !(self.min_impurity_decrease >= 0.0 && self.min_impurity_decrease.is_finite()) {
            return Err(Error::invalid("min_impurity_decrease", self.min_impurity_decrease, "finite, at least 0"));
        }
        check_alpha(self.ccp_alpha)?;
        Ok(())
    }
}
