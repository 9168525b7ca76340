//! Centroid forests: parameters from a dictionary, growth, and frozen classes around the forest and its trees.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use weald::{
    CentroidForest, CentroidForestConfig, CentroidPrecision, CentroidTree, Clustering, Criterion, Dataset,
    DirectionScope, Matrix, Refinement, Routing,
};

use crate::config::{PyMaxSamples, one_of, sampling};
use crate::enter::Entry;
use crate::error::raise;
use crate::input::PyData;
use crate::memory;
use crate::models::model::{check_node, copies, mean_of_trees, model, properties};
use crate::output;
use crate::projection::PyOutputProjection;

const WHAT: &str = "the nodes of a tree";

/// The keys of the dictionary of a centroid forest's parameters.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct PyCentroidForestConfig {
    /// The trees to grow, as a half-open range.
    trees: (usize, usize),
    bootstrap: bool,
    /// The number or fraction of samples drawn for each tree; `None`: as many as there are.
    max_samples: Option<PyMaxSamples>,
    seed: u64,
    n_children: usize,
    samples_per_child: usize,
    max_leaf_samples: usize,
    max_depth: Option<usize>,
    sample_size: Option<usize>,
    n_projections: usize,
    output_projection: Option<PyOutputProjection>,
    projection_scope: String,
    clustering: String,
    center: bool,
    n_passes: usize,
    max_centroid_features: Option<usize>,
    min_centroid_weight: f64,
    max_features: f64,
    /// The scale and the rate of the logistic pass.
    refinement: Option<(f32, f32)>,
    /// The sharpness, and the smallest share that the second child gets.
    routing: Option<(f32, f32)>,
    leaf_shrinkage: f64,
    normalize: bool,
    idf: bool,
    centroid_dtype: String,
    output_weights: Option<Vec<f64>>,
    store_rows: bool,
}

impl PyCentroidForestConfig {
    pub(crate) fn into_config(self) -> PyResult<CentroidForestConfig> {
        let scopes =
            [("node", DirectionScope::Node), ("tree", DirectionScope::Tree), ("forest", DirectionScope::Forest)];
        let direction_scope = one_of("projection_scope", &self.projection_scope, scopes)?;
        let clusterings = [("spherical", Clustering::Spherical), ("euclidean", Clustering::Euclidean)];
        let clustering = one_of("clustering", &self.clustering, clusterings)?;
        let [nibble, byte, half] = [CentroidPrecision::Nibble, CentroidPrecision::Byte, CentroidPrecision::Half];
        let precisions = [("levels", nibble), ("int8", byte), ("float16", half)];
        let precision = one_of("centroid_dtype", &self.centroid_dtype, precisions)?;
        let refinement = self.refinement.map_or(Refinement::None, |(scale, rate)| Refinement::Logistic { scale, rate });
        let routing = self.routing.map_or(Routing::Nearest, |(sharpness, least)| Routing::Shared { sharpness, least });
        Ok(CentroidForestConfig::plain()
            .n_trees(self.trees.1.saturating_sub(self.trees.0))
            .sampling(sampling(self.bootstrap, self.max_samples))
            .seed(self.seed)
            .n_children(self.n_children)
            .samples_per_child(self.samples_per_child)
            .max_leaf_samples(self.max_leaf_samples)
            .max_depth(self.max_depth)
            .sample_size(self.sample_size)
            .n_projections(self.n_projections)
            .output_projection(self.output_projection.map(PyOutputProjection::into_projection).transpose()?)
            .direction_scope(direction_scope)
            .clustering(clustering)
            .center(self.center)
            .n_passes(self.n_passes)
            .max_centroid_features(self.max_centroid_features)
            .min_centroid_weight(self.min_centroid_weight)
            .max_features(self.max_features)
            .refinement(refinement)
            .routing(routing)
            .leaf_shrinkage(self.leaf_shrinkage)
            .normalize(self.normalize)
            .idf(self.idf)
            .centroid_precision(precision)
            .output_weights(self.output_weights)
            .store_rows(self.store_rows))
    }
}

/// The approximate number of levels of a tree. Each level reads all entries of X.
const LEVELS: usize = 8;

/// Returns the approximate number of steps of growing one tree.
fn cost_of_tree(data: &Dataset<'_>, config: &CentroidForestConfig) -> usize {
    let of_points = config.n_projections.saturating_mul(data.n_samples().saturating_add(data.y().n_stored()));
    let of_rows = data.x().n_stored().saturating_add(of_points);
    of_rows.saturating_mul(LEVELS.saturating_mul(config.n_children.saturating_add(config.n_passes)))
}

/// A fitted centroid forest. It is immutable, so several threads may use it at the same time.
#[pyclass(frozen, eq, module = "weald._weald", name = "CentroidForest")]
#[derive(Debug, PartialEq)]
pub(crate) struct PyCentroidForest(Arc<CentroidForest>);

model!(PyCentroidForest, CentroidForest);
mean_of_trees!(PyCentroidForest, CentroidForest, PyCentroidTree, PyCentroidForestConfig);
properties! { PyCentroidForest {
    /// The number of bytes of memory that the model takes.
    n_bytes: usize,
}}

/// Grows the trees `config["trees"]` of a centroid forest.
#[pyfunction]
#[pyo3(signature = (data, config, n_threads=1, progress=None))]
pub(crate) fn fit_centroid_forest<'py>(
    py: Python<'py>,
    data: PyData<'py>,
    config: PyCentroidForestConfig,
    n_threads: usize,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<PyCentroidForest> {
    let (data, weights) = data.views()?;
    let data = weights.of(&data)?;
    let (trees, config) = (config.trees.0..config.trees.1, config.into_config()?);
    let cost = cost_of_tree(&data, &config).saturating_mul(trees.len());
    let entry = Entry { n_threads, cost, progress }.drawing(config.sampling, data.n_samples(), trees.len());
    entry
        .run(py, |control| {
            memory::reserve(&data, Some(Criterion::Variance), |shapes| config.fit_memory(shapes, n_threads))?;
            config.fit_trees(trees, (&data, control))
        })
        .map(PyCentroidForest::from)
}

impl PyCentroidForest {
    /// Returns how to run a walk of `x` down the trees that writes `width` values for each sample.
    fn entry<'py>(&self, x: &Matrix<'_>, width: usize, n_threads: usize) -> Entry<'py> {
        let per_tree = x.n_samples().saturating_mul(width).saturating_add(x.n_stored().saturating_mul(LEVELS * 10));
        Entry { n_threads, cost: per_tree.saturating_mul(self.0.n_trees()), progress: None }
    }
}

/// A fitted tree of centroids. Each call creates a new array.
#[pyclass(frozen, module = "weald._weald", name = "CentroidTree")]
#[derive(Debug)]
pub(crate) struct PyCentroidTree(Arc<CentroidTree>);

properties! { PyCentroidTree {
    n_leaves: usize,
}}
copies! { PyCentroidTree, WHAT, {
    /// The children of node i are the nodes from element i up to, but not including, element i + 1.
    children_start: u32,
    n_node_samples: u32,
    weighted_n_node_samples: f64,
}}

#[pymethods]
impl PyCentroidTree {
    #[getter]
    fn node_count(&self) -> usize {
        self.0.n_nodes()
    }

    #[getter]
    fn max_depth(&self) -> PyResult<u32> {
        Ok(self.0.depth().map_err(raise)?.into_iter().max().unwrap_or(0))
    }

    /// Returns the features of a node's centroid, in increasing order, and their weights.
    fn centroid<'py>(&self, py: Python<'py>, node: usize) -> PyResult<Bound<'py, PyTuple>> {
        check_node(node, self.0.n_nodes())?;
        let (features, weights): (Vec<u32>, Vec<f32>) = self.0.centroid(node).map_err(raise)?.into_iter().unzip();
        (output::vector(py, features), output::vector(py, weights)).into_pyobject(py)
    }

    /// Returns the `k` features with the largest weight for each child of a node, in decreasing order of weight.
    fn heaviest_features(&self, node: usize, k: usize) -> PyResult<Vec<Vec<(u32, f32)>>> {
        check_node(node, self.0.n_nodes())?;
        self.0.heaviest_features(node, k).map_err(raise)
    }
}
