//! Parameters, read from dictionaries whose keys follow scikit-learn's names.

use std::ops::Range;
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use weald::ndarray::Array2;
use weald::{
    BoostConfig, Criterion, FeatureKind, ForestConfig, LeafEstimation, LossKind, MaxFeatures, OutputProjection,
    OutputScaling, OutputStrategy, Sampling, Schema, Splitter, TreeConfig,
};

use crate::error::raise;
use crate::loss::{OwnLoss, PyLoss, PyLossObject};
use crate::names::CRITERIA;
use crate::projection::PyOutputProjection;

/// The keys of the dictionary of a tree's parameters.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct PyTreeConfig {
    criterion: String,
    splitter: String,
    max_depth: Option<usize>,
    min_samples_split: usize,
    min_samples_leaf: usize,
    min_weight_fraction_leaf: f64,
    min_weight_leaf: f64,
    /// The number of features drawn at each node.
    max_features: usize,
    max_leaf_nodes: Option<usize>,
    min_impurity_decrease: f64,
    seed: u64,
    output_projection: Option<PyOutputProjection>,
    /// The maximum number of bins of a feature; `None`: splits are searched over all values. In boosting `None`.
    max_bins: Option<usize>,
    ccp_alpha: f64,
    /// The number of categories of each feature; 0 for features that are not categorical.
    categories: Option<Vec<u32>>,
    /// The direction of each feature, for all outputs or for each output.
    monotonic_cst: Option<Vec<Vec<i8>>>,
    /// The groups of features that may interact.
    interaction_cst: Option<Vec<Vec<u32>>>,
    output_scaling: Option<PyOutputScaling>,
    output_weights: Option<Vec<f64>>,
}

/// The name of a rule, or the scales of outputs.
#[derive(Debug, FromPyObject)]
pub(crate) enum PyOutputScaling {
    Rule(String),
    By(Vec<f64>),
}

impl PyTreeConfig {
    /// Returns the kinds of the features.
    pub(crate) fn schema(&self) -> Schema<'static> {
        let kind = |&n_categories: &u32| match n_categories {
            0 => FeatureKind::Ordered,
            n_categories => FeatureKind::Category { n_categories },
        };
        self.categories
            .as_ref()
            .map_or_else(Schema::default, |of_all| Schema::new(of_all.iter().map(kind).collect::<Vec<_>>()))
    }

    pub(crate) fn into_config(self) -> PyResult<TreeConfig> {
        let criterion =
            one_of("criterion", &self.criterion, CRITERIA.into_iter().chain([("log_loss", Criterion::Entropy)]))?;
        let splitters = [("best", Splitter::Best), ("random", Splitter::Random)];
        let splitter = one_of("splitter", &self.splitter, splitters)?;
        let monotonic_cst = self.monotonic_cst.map(|signs| {
            let shape = (signs.len(), signs.first().map_or(0, Vec::len));
            Array2::from_shape_vec(shape, signs.concat())
                .map_err(|_| unknown("monotonic_cst", "of rows of other lengths"))
        });
        let output_scaling = match self.output_scaling {
            None => OutputScaling::Unscaled,
            Some(PyOutputScaling::Rule(rule)) if rule == "variance" => OutputScaling::Variance,
            Some(PyOutputScaling::Rule(other)) => return Err(unknown("output_scaling", &other)),
            Some(PyOutputScaling::By(scales)) => OutputScaling::By(scales),
        };
        Ok(TreeConfig::new(criterion)
            .splitter(splitter)
            .monotonic_cst(monotonic_cst.transpose()?)
            .interaction_cst(self.interaction_cst)
            .max_depth(self.max_depth)
            .min_samples_split(self.min_samples_split)
            .min_samples_leaf(self.min_samples_leaf)
            .min_weight_fraction_leaf(self.min_weight_fraction_leaf)
            .min_weight_leaf(self.min_weight_leaf)
            .max_features(MaxFeatures::Count(self.max_features))
            .max_leaf_nodes(self.max_leaf_nodes)
            .min_impurity_decrease(self.min_impurity_decrease)
            .seed(self.seed)
            .output_projection(self.output_projection.map(PyOutputProjection::into_projection).transpose()?)
            .output_scaling(output_scaling)
            .output_weights(self.output_weights)
            .max_bins(self.max_bins)
            .ccp_alpha(self.ccp_alpha))
    }
}

/// The keys of the dictionary of a forest's parameters.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct PyForestConfig {
    tree: PyTreeConfig,
    /// The trees to grow, as a half-open range.
    trees: (usize, usize),
    bootstrap: bool,
    /// The number or fraction of samples drawn for each tree; `None`: as many as there are.
    max_samples: Option<PyMaxSamples>,
    /// Whether each output has trees of its own.
    by_output: bool,
}

/// A number or a fraction of samples.
#[derive(Clone, Copy, Debug, FromPyObject)]
pub(crate) enum PyMaxSamples {
    Count(usize),
    Share(f64),
}

/// Returns how trees draw their samples.
pub(crate) fn sampling(bootstrap: bool, max_samples: Option<PyMaxSamples>) -> Sampling {
    match (bootstrap, max_samples) {
        (false, _) => Sampling::All,
        (true, None) => Sampling::Bootstrap(None),
        (true, Some(PyMaxSamples::Count(count))) => Sampling::Bootstrap(Some(count)),
        (true, Some(PyMaxSamples::Share(share))) => Sampling::BootstrapShare(share),
    }
}

impl PyForestConfig {
    pub(crate) fn schema(&self) -> Schema<'static> {
        self.tree.schema()
    }

    pub(crate) fn trees(&self) -> Range<usize> {
        self.trees.0..self.trees.1
    }

    pub(crate) fn into_config(self) -> PyResult<ForestConfig> {
        let tree = self.tree.into_config()?;
        Ok(ForestConfig::random_forest(tree.criterion)
            .n_trees(self.trees.1.saturating_sub(self.trees.0))
            .sampling(sampling(self.bootstrap, self.max_samples))
            .seed(tree.seed)
            .by_output(self.by_output)
            .tree(tree))
    }
}

/// The keys of the dictionary of boosting's parameters.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct PyBoostConfig {
    tree: PyTreeConfig,
    /// The number of stages of the whole model.
    n_estimators: usize,
    learning_rate: f64,
    loss: PyLossSource,
    /// The parameter of the loss, if it has a name and a parameter.
    loss_parameter: Option<PyLossParameter>,
    strategy: String,
    /// The projection for the strategy "projected".
    output_projection: Option<PyOutputProjection>,
    relabel: bool,
    subsample: f64,
    /// The share of the features that each tree draws.
    features_of_tree: f64,
    leaf_estimation: String,
    l2_regularization: f64,
    min_sum_hessian_in_leaf: f64,
    /// The maximum number of bins of a feature; `None`: splits are searched over all values.
    max_bins: Option<usize>,
    n_iter_no_change: Option<usize>,
    tol: f64,
}

impl PyBoostConfig {
    pub(crate) fn schema(&self) -> Schema<'static> {
        self.tree.schema()
    }

    /// Returns the engine's configuration, and the loss if Python computes it.
    pub(crate) fn into_config(self) -> PyResult<(BoostConfig, OwnLoss)> {
        let tree = self.tree.into_config()?;
        let mut own = OwnLoss::default();
        let loss = match (self.loss, self.loss_parameter) {
            (PyLossSource::Name(name), None) => LossKind::named(&name).ok_or_else(|| unknown("loss", &name))?,
            (PyLossSource::Name(name), Some(PyLossParameter::One(parameter))) => with_parameter(&name, parameter)?,
            (PyLossSource::Name(name), Some(PyLossParameter::Each(parameters))) => {
                let losses: PyResult<Vec<LossKind>> = parameters.iter().map(|&p| with_parameter(&name, p)).collect();
                LossKind::of_outputs(losses?).map_err(raise)?
            }
            (PyLossSource::Object(object), _) => {
                let loss = Arc::new(PyLoss::new(object)?);
                own = OwnLoss(Some(Arc::clone(&loss)));
                LossKind::Custom(loss)
            }
        };
        let strategy = match (self.strategy.as_str(), self.output_projection) {
            ("single_target", _) => OutputStrategy::SingleTarget,
            ("joint", _) => OutputStrategy::Joint,
            ("projected", Some(projection)) => {
                let OutputProjection { family, n_projections, .. } = projection.into_projection()?;
                OutputStrategy::Projected { projection: family, n_projections, relabel: self.relabel }
            }
            (other, _) => return Err(unknown("output_strategy", other)),
        };
        let estimations = [("newton", LeafEstimation::Newton), ("line_search", LeafEstimation::LineSearch)];
        let leaf_estimation = one_of("leaf_estimation", &self.leaf_estimation, estimations)?;
        let config = BoostConfig::new(loss)
            .n_estimators(self.n_estimators)
            .learning_rate(self.learning_rate)
            .strategy(strategy)
            .subsample(self.subsample)
            .max_features_by_tree(MaxFeatures::Fraction(self.features_of_tree))
            .leaf_estimation(leaf_estimation)
            .l2_regularization(self.l2_regularization)
            .min_sum_hessian_in_leaf(self.min_sum_hessian_in_leaf)
            .max_bins(self.max_bins)
            .n_iter_no_change(self.n_iter_no_change)
            .tol(self.tol)
            .seed(tree.seed)
            .tree(tree);
        Ok((config, own))
    }
}

/// The name of a loss of the engine, or an object that computes a loss in Python.
#[derive(Debug, FromPyObject)]
pub(crate) enum PyLossSource {
    Name(String),
    Object(PyLossObject),
}

/// The parameter of a loss, for all outputs or for each output.
#[derive(Debug, FromPyObject)]
pub(crate) enum PyLossParameter {
    One(f64),
    Each(Vec<f64>),
}

/// Returns the loss with this name and parameter.
pub(crate) fn with_parameter(name: &str, parameter: f64) -> PyResult<LossKind> {
    LossKind::with_parameter(name, parameter).ok_or_else(|| unknown("loss with a parameter", name))
}

/// Returns the value of `parameter` with this name.
pub(crate) fn one_of<T>(
    parameter: &str,
    name: &str,
    known: impl IntoIterator<Item = (&'static str, T)>,
) -> PyResult<T> {
    let found = known.into_iter().find(|(known, _)| *known == name);
    found.map(|(_, value)| value).ok_or_else(|| unknown(parameter, name))
}

/// Returns the error for a name of a value of `parameter` that is not known.
pub(crate) fn unknown(parameter: &str, value: &str) -> PyErr {
    PyValueError::new_err(format!("{parameter} is {value:?}, which is not known"))
}
