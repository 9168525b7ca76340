//! Parameters of label trees: plain data, checked when they are used.

use crate::error::{Error, Result};
use crate::linear::{Features, LinearConfig};
use crate::setters::setters;

/// Parameters of a model of label trees.
///
/// ```
/// use weald::{Features, LabelTreeConfig};
/// let config = LabelTreeConfig::default().c(1.0).features(Features::Normalized);
/// assert_eq!(config.n_trees, 1);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LabelTreeConfig {
    /// The inverse strength of regularisation: see [`LinearConfig::c`].
    pub c: f64,
    /// The value of the constant feature whose weight is the intercept: see [`LinearConfig::intercept_scaling`].
    pub intercept_scaling: f64,
    /// A column is finished when no projected gradient of a sample is larger than this.
    pub tol: f64,
    /// Maximum number of passes over the samples of a node.
    pub max_iter: usize,
    /// Weights whose magnitude is below this are dropped after the fit: see [`LinearConfig::min_weight`].
    pub min_weight: f64,
    /// Whether weights are rounded to half precision: see [`LinearConfig::half_precision`].
    pub half_precision: bool,
    /// How the features of X are prepared; not [`Features::Standardized`].
    pub features: Features,
    /// The number of trees, whose predictions are averaged.
    pub n_trees: usize,
    /// The index of the first of these trees. Models of the trees 0 and 1 and of tree 2 are merged to the model of three trees:
    /// see [`LabelTreeModel::merge`](super::LabelTreeModel::merge).
    pub first_tree: usize,
    /// Maximum number of children of a node. With 2, both have the same number of labels, or one more.
    pub max_children: usize,
    /// Maximum number of labels of a leaf. If there are no more labels than this, a tree is a linear model of all labels, as
    /// [`LinearConfig`] fits it.
    pub max_leaf_labels: usize,
    /// The number of nodes of a tree that searches follow at each depth: those of samples of the fit, whose labels are
    /// compared with those of these nodes, and those of predictions.
    pub beam_width: usize,
    /// The seed of the clusters, and of the order in which samples are visited.
    pub seed: u64,
}

setters! { LabelTreeConfig {
    c: f64,
    intercept_scaling: f64,
    tol: f64,
    max_iter: usize,
    min_weight: f64,
    half_precision: bool,
    features: Features,
    n_trees: usize,
    first_tree: usize,
    max_children: usize,
    max_leaf_labels: usize,
    beam_width: usize,
    seed: u64,
} }

impl Default for LabelTreeConfig {
    /// Parameters for counts of words, which were chosen by held-out titles with 16 000 subjects.
    fn default() -> Self {
        let LinearConfig { intercept_scaling, max_iter, min_weight, features, seed, .. } = LinearConfig::default();
        LabelTreeConfig {
            c: 0.2,
            intercept_scaling,
            tol: 0.3,
            max_iter,
            min_weight,
            half_precision: false,
            features,
            n_trees: 1,
            first_tree: 0,
            max_children: 100,
            max_leaf_labels: 400,
            beam_width: 20,
            seed,
        }
    }
}

/// Columns of a node have numbers of sixteen bits.
pub(super) const MOST_COLUMNS: usize = 1 << 16;

pub(super) fn check_beam_width(beam_width: usize) -> Result<()> {
    // Files have numbers of 32 bits.
    if beam_width == 0 || beam_width > u32::MAX as usize {
        return Err(Error::invalid("beam_width", beam_width, "be between 1 and 4294967295"));
    }
    Ok(())
}

impl LabelTreeConfig {
    /// Checks the parameters, and returns those of the nodes.
    pub(super) fn of_nodes(&self) -> Result<LinearConfig> {
        if self.features == Features::Standardized {
            return Err(Error::invalid("features", "Standardized", "be Given, Normalized or TfIdf for a label tree"));
        }
        if self.n_trees == 0 {
            return Err(Error::invalid("n_trees", 0, "be at least 1"));
        }
        if !(2..=MOST_COLUMNS).contains(&self.max_children) {
            return Err(Error::invalid("max_children", self.max_children, "be between 2 and 65536"));
        }
        if !(1..=MOST_COLUMNS).contains(&self.max_leaf_labels) {
            return Err(Error::invalid("max_leaf_labels", self.max_leaf_labels, "be between 1 and 65536"));
        }
        check_beam_width(self.beam_width)?;
        let of_nodes = LinearConfig::default()
            .c(self.c)
            .intercept_scaling(self.intercept_scaling)
            .tol(self.tol)
            .max_iter(self.max_iter)
            .min_weight(self.min_weight)
            .half_precision(self.half_precision)
            .features(self.features)
            .seed(self.seed);
        of_nodes.check()?;
        Ok(of_nodes)
    }
}
