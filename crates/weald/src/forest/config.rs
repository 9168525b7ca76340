//! Parameters of a forest: plain data with the names of scikit-learn, checked when they are used.

use crate::criterion::Criterion;
use crate::projection::OutputProjection;
use crate::setters::setters;
use crate::split::Splitter;
use crate::tree::config::{MaxFeatures, TreeConfig, growth_setters};

/// The samples on which each tree of a forest is grown.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Sampling {
    /// Each tree is grown on all samples.
    All,
    /// Bootstrap: each tree draws this number of samples with replacement; `None` draws as many as there are samples.
    /// Whole sample weights are counts: a sample of weight 3 is drawn as three samples. With other weights, each draw
    /// of a sample has the weight of the sample.
    Bootstrap(Option<usize>),
    /// Bootstrap with this share of the number of samples as the number of draws, rounded down, at least one.
    BootstrapShare(f64),
    /// Each tree draws this number of distinct samples (pasting). Whole sample weights are counts: a sample of weight 3
    /// is three samples, of which some may be drawn. With other weights, a draw of a sample has the weight of the sample.
    WithoutReplacement(usize),
    /// Like `WithoutReplacement`, with this share of the samples, rounded down, at least one.
    ShareWithoutReplacement(f64),
}

/// Parameters of a forest.
///
/// ```
/// use weald::{Criterion, ForestConfig};
/// let config = ForestConfig::random_forest(Criterion::Gini).n_trees(500).min_samples_leaf(2).seed(7);
/// assert_eq!(config.tree.min_samples_leaf, 2);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ForestConfig {
    /// Parameters of each tree. The seed in it is not used.
    pub tree: TreeConfig,
    /// Number of trees.
    pub n_trees: usize,
    /// The samples on which each tree is grown.
    pub sampling: Sampling,
    /// The seed. Tree `i` is a function of (data, parameters, seed, i) alone.
    pub seed: u64,
    /// Whether each of several numerical outputs or labels has `n_trees` trees of its own, which are grown on the samples
    /// for which it is known: those of the forest that is fitted to this output alone, with the same seed.
    pub by_output: bool,
}

setters! { ForestConfig {
    tree: TreeConfig,
    n_trees: usize,
    sampling: Sampling,
    seed: u64,
    by_output: bool,
} }
growth_setters!(ForestConfig.tree: TreeConfig);
setters! { ForestConfig.tree: TreeConfig {
    splitter: Splitter,
    output_projection: impl Into<Option<OutputProjection>>,
    max_bins: impl Into<Option<usize>>,
    ccp_alpha: f64,
} }

impl ForestConfig {
    /// Returns the parameters of a random forest: 100 trees on bootstrap samples. Each node considers √p of the p
    /// features for classes and labels, and all features for numerical outputs.
    pub fn random_forest(criterion: Criterion) -> Self {
        let max_features = if criterion.is_for_numbers() { MaxFeatures::All } else { MaxFeatures::Sqrt };
        ForestConfig {
            tree: TreeConfig::new(criterion).max_features(max_features),
            n_trees: 100,
            sampling: Sampling::Bootstrap(None),
            seed: 0,
            by_output: false,
        }
    }

    /// Returns the parameters of extra-trees: 100 trees on all samples with random thresholds. The number of features
    /// is that of [`ForestConfig::random_forest`].
    pub fn extra_trees(criterion: Criterion) -> Self {
        ForestConfig::random_forest(criterion).sampling(Sampling::All).splitter(Splitter::Random)
    }
}
