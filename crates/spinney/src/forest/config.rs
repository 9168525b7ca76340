//! Parameters of a forest: plain data with scikit-learn's names, checked when used.

use crate::criterion::Criterion;
use crate::projection::OutputProjection;
use crate::setters::setters;
use crate::split::Splitter;
use crate::tree::config::{MaxFeatures, TreeConfig, growth_setters};

/// Rows on which each tree of a forest is grown.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
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
/// let config = ForestConfig::random_forest(Criterion::Gini).n_trees(500).min_samples_leaf(2).seed(7);
/// assert_eq!(config.tree.min_samples_leaf, 2);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
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

setters! { ForestConfig {
    tree: TreeConfig,
    n_trees: usize,
    sampling: Sampling,
    seed: u64,
} }
growth_setters!(ForestConfig.tree: TreeConfig);
setters! { ForestConfig.tree: TreeConfig {
    splitter: Splitter,
    output_projection: impl Into<Option<OutputProjection>>,
    ccp_alpha: f64,
} }

impl ForestConfig {
    /// 100 trees on bootstrap samples; √p features a node for classes and labels, all for numbers.
    pub fn random_forest(criterion: Criterion) -> Self {
        let max_features = if criterion.is_for_numbers() { MaxFeatures::All } else { MaxFeatures::Sqrt };
        ForestConfig {
            tree: TreeConfig::new(criterion).max_features(max_features),
            n_trees: 100,
            sampling: Sampling::Bootstrap(None),
            seed: 0,
        }
    }

    /// 100 trees on all rows with random thresholds; features as [`ForestConfig::random_forest`].
    pub fn extra_trees(criterion: Criterion) -> Self {
        ForestConfig::random_forest(criterion).sampling(Sampling::All).splitter(Splitter::Random)
    }
}
