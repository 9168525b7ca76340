//! Parameters: plain data with scikit-learn's names, checked when used.

use crate::data::Outputs;
use crate::error::{Error, Result};
use crate::projection::OutputProjection;

/// Impurity that splits reduce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Criterion {
    /// Gini index, for classes and labels.
    Gini,
    /// Shannon entropy in bits, for classes and labels.
    Entropy,
    /// Variance (mean squared error), for numbers and for projected outputs.
    Variance,
}

/// How the threshold of a drawn feature is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Splitter {
    /// The best of all thresholds.
    Best,
    /// One threshold, uniform between the least and the largest value in the node (extra-trees).
    Random,
}

/// Number of features drawn at each node.
#[derive(Clone, Copy, Debug, PartialEq)]
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
        let p = n_features as f64;
        let k = match self {
            MaxFeatures::All => n_features,
            MaxFeatures::Sqrt => p.sqrt() as usize,
            MaxFeatures::Log2 => p.log2() as usize,
            MaxFeatures::Count(0) => return Err(Error::invalid("max_features", 0, "at least 1")),
            MaxFeatures::Count(k) => k,
            MaxFeatures::Fraction(f) if f > 0.0 && f <= 1.0 => (f * p) as usize,
            MaxFeatures::Fraction(f) => return Err(Error::invalid("max_features", f, "a share in (0, 1]")),
        };
        Ok(k.clamp(1, n_features.max(1)))
    }
}

/// Parameters of one tree.
///
/// ```
/// use spinney::{Criterion, TreeConfig};
/// let config = TreeConfig { max_depth: Some(3), ..TreeConfig::new(Criterion::Gini) };
/// assert_eq!(config.min_samples_split, 2);
/// ```
#[derive(Clone, Debug, PartialEq)]
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
            max_features: MaxFeatures::All,
            max_leaf_nodes: None,
            min_impurity_decrease: 0.0,
            seed: 0,
            output_projection: None,
            ccp_alpha: 0.0,
        }
    }

    pub(crate) fn check(&self, outputs: &Outputs) -> Result<()> {
        use Criterion::{Entropy, Gini, Variance};
        let numeric = matches!(outputs, Outputs::Real { .. });
        let accepted = match (&self.output_projection, numeric) {
            (_, true) => (&[Variance][..], "Variance for numbers"),
            (None, false) => (&[Gini, Entropy][..], "Gini or Entropy for classes and labels"),
            // The Gini index of classes and labels is a multiple of the variance of their columns of 0 and 1.
            (Some(_), false) => (&[Gini, Variance][..], "Gini or Variance for projected classes and labels"),
        };
        if !accepted.0.contains(&self.criterion) {
            return Err(Error::invalid("criterion", format!("{:?}", self.criterion), accepted.1));
        }
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
        if !(0.0..=0.5).contains(&self.min_weight_fraction_leaf) {
            return Err(Error::invalid("min_weight_fraction_leaf", self.min_weight_fraction_leaf, "in [0, 0.5]"));
        }
        if self.max_leaf_nodes.is_some_and(|m| m < 2) {
            return Err(Error::invalid("max_leaf_nodes", "below 2", "at least 2"));
        }
        if !(self.min_impurity_decrease >= 0.0 && self.min_impurity_decrease.is_finite()) {
            return Err(Error::invalid("min_impurity_decrease", self.min_impurity_decrease, "finite, at least 0"));
        }
        crate::tree::prune::check_alpha(self.ccp_alpha)?;
        Ok(())
    }
}

/// Rows on which each tree of a forest is grown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sampling {
    /// All rows.
    All,
    /// So many draws with replacement (bootstrap); `None` draws as many as there are rows. Whole sample weights are
    /// counts: a row of weight 3 is drawn as three rows. Draws of a row with another weight weigh as the row does.
    Bootstrap(Option<usize>),
    /// Bootstrap of that share of the rows, rounded down, at least one.
    BootstrapShare(f64),
    /// So many distinct rows (pasting).
    WithoutReplacement(usize),
}

/// Parameters of a forest.
///
/// ```
/// use spinney::{Criterion, ForestConfig};
/// let config = ForestConfig { n_trees: 500, seed: 7, ..ForestConfig::random_forest(Criterion::Gini) };
/// assert_eq!(config.tree.min_samples_leaf, 1);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ForestConfig {
    /// Parameters of each tree; its seed is not used.
    pub tree: TreeConfig,
    /// Number of trees.
    pub n_trees: usize,
    /// Rows of each tree.
    pub sampling: Sampling,
    /// Seed: tree `i` is a function of (data, parameters, seed, i) alone.
    pub seed: u64,
}

impl ForestConfig {
    /// 100 trees on bootstrap samples; √p features a node for classes and labels, all for numbers.
    pub fn random_forest(criterion: Criterion) -> Self {
        let max_features = if criterion == Criterion::Variance { MaxFeatures::All } else { MaxFeatures::Sqrt };
        ForestConfig {
            tree: TreeConfig { max_features, ..TreeConfig::new(criterion) },
            n_trees: 100,
            sampling: Sampling::Bootstrap(None),
            seed: 0,
        }
    }

    /// 100 trees on all rows with random thresholds; features as [`ForestConfig::random_forest`].
    pub fn extra_trees(criterion: Criterion) -> Self {
        let mut config = ForestConfig { sampling: Sampling::All, ..ForestConfig::random_forest(criterion) };
        config.tree.splitter = Splitter::Random;
        config
    }
}
