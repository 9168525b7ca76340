//! Parameters of a centroid forest: plain data, checked when they are used.

use crate::data::Outputs;
use crate::error::{Error, Result};
use crate::forest::Sampling;
use crate::projection::OutputProjection;
use crate::setters::setters;

/// Which nodes share the directions on which outputs are projected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DirectionScope {
    /// Each node has directions of its own.
    Node,
    /// All nodes of a tree share their directions.
    Tree,
    /// All nodes of a forest share their directions.
    Forest,
}

/// How the similarity of projected samples is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Clustering {
    /// By angle: each sample is normalised to length one, and the nearest centre has the largest product. This suits
    /// labels and classes, of which some samples have more than others.
    Spherical,
    /// By Euclidean distance. This suits numerical outputs, whose magnitude is informative.
    Euclidean,
}

/// The type in which the weights of features in centroids are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CentroidPrecision {
    /// A sign and one of eight levels, from a tenth of the largest weight of the centroid to the whole, in steps of 39
    /// %. Weights below half a tenth are dropped.
    Nibble,
    /// Integers of 8 bits, −127 to 127, times a factor for each centroid. Weights below 1/254 of the largest weight of
    /// the centroid are dropped.
    Byte,
    /// float16.
    Half,
}

/// Whether the centroids of a node are refined, so that more samples go to the child of their cluster.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Refinement {
    /// Centroids are means, normalised to length one.
    None,
    /// One pass of gradient descent on the multinomial logistic loss of the clusters, over the samples of the node in
    /// random order. It starts from the means times `scale`, and a weight changes by `rate` × value × error. Centroids
    /// may gain features of other centroids of the node: see `min_centroid_weight`.
    Logistic {
        /// The factor by which products of unit vectors are multiplied to obtain logits.
        scale: f32,
        /// The step size of the descent.
        rate: f32,
    },
}

/// Whether a predicted sample may be sent to a second child.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Routing {
    /// A sample is sent only to the child with the largest product.
    Nearest,
    /// A sample is sent to the two children with the largest products, with shares proportional to e^(`sharpness` ×
    /// product), unless the share of the second would be less than `least` of the whole sample.
    Shared {
        /// The larger this is, the smaller is the share of the second child.
        sharpness: f32,
        /// The minimum share of a sample that is sent down a path of its own, in [0.01, 0.5].
        least: f32,
    },
}

/// Parameters of a centroid forest.
///
/// ```
/// use weald::CentroidForestConfig;
/// let config = CentroidForestConfig::default().n_trees(100).n_children(16).seed(7);
/// assert_eq!(config.max_leaf_samples, 10);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CentroidForestConfig {
    /// Number of trees.
    pub n_trees: usize,
    /// The samples on which each tree is grown.
    pub sampling: Sampling,
    /// The seed. Tree `i` is a function of (data, parameters, seed, i) alone.
    pub seed: u64,
    /// Maximum number of children of a node, which is the number of clusters that are searched.
    pub n_children: usize,
    /// A node has at most its number of samples divided by this as children, but may always have two.
    pub samples_per_child: usize,
    /// A node with at most this number of samples is a leaf. Whole sample weights are counts here, as in a bootstrap.
    pub max_leaf_samples: usize,
    /// Maximum number of splits on a path; `None` for no limit.
    pub max_depth: Option<usize>,
    /// Maximum number of samples of a node from which clusters are found; they are drawn without replacement. `None`
    /// for all. The others are assigned to the nearest cluster. Samples with the same labels or classes count as one,
    /// with their total weight.
    pub sample_size: Option<usize>,
    /// Number of directions of random signs, if `output_projection` is `None`. Numerical outputs that are not more than
    /// this are clustered without projection.
    pub n_projections: usize,
    /// Directions of another family, instead of random signs. Its scope is ignored.
    pub output_projection: Option<OutputProjection>,
    /// Which nodes share the directions.
    pub direction_scope: DirectionScope,
    /// How the similarity of projected samples is measured.
    pub clustering: Clustering,
    /// Whether the mean of the node is subtracted from projected samples.
    pub center: bool,
    /// Number of times that centres are moved to the mean of their clusters.
    pub n_passes: usize,
    /// Maximum number of features of a centroid, those with the largest magnitude; `None` for all.
    pub max_centroid_features: Option<usize>,
    /// Weights of a centroid below this share of its largest weight are dropped.
    pub min_centroid_weight: f64,
    /// The share of the features, drawn for each tree, that its centroids may use.
    pub max_features: f64,
    /// Whether centroids are refined by gradient descent.
    pub refinement: Refinement,
    /// Whether predicted samples may be sent to a second child.
    pub routing: Routing,
    /// Shrinkage of leaves: each leaf predicts as if it had this number of additional samples, like those of its parent
    /// on average.
    pub leaf_shrinkage: f64,
    /// Whether X of each sample is normalised to length one.
    pub normalize: bool,
    /// Whether features are weighted by inverse document frequency: 1 + ln((1 + n) / (1 + n with the feature)).
    pub idf: bool,
    /// The type in which the weights of features in centroids are stored.
    pub centroid_precision: CentroidPrecision,
    /// The weight of each column of predictions in the clustering; `None` if all have the same weight.
    pub output_weights: Option<Vec<f64>>,
    /// Whether leaves refer to samples, whose y is then stored once for all trees. Leaves of classes or labels with
    /// fewer distinct ones than samples store these in any case.
    pub store_rows: bool,
}

setters! { CentroidForestConfig {
    n_trees: usize,
    sampling: Sampling,
    seed: u64,
    n_children: usize,
    samples_per_child: usize,
    max_leaf_samples: usize,
    max_depth: impl Into<Option<usize>>,
    sample_size: impl Into<Option<usize>>,
    n_projections: usize,
    output_projection: impl Into<Option<OutputProjection>>,
    direction_scope: DirectionScope,
    clustering: Clustering,
    center: bool,
    n_passes: usize,
    max_centroid_features: impl Into<Option<usize>>,
    min_centroid_weight: f64,
    max_features: f64,
    refinement: Refinement,
    routing: Routing,
    leaf_shrinkage: f64,
    normalize: bool,
    idf: bool,
    centroid_precision: CentroidPrecision,
    output_weights: impl Into<Option<Vec<f64>>>,
    store_rows: bool,
} }

impl Default for CentroidForestConfig {
    /// Default parameters for labels and classes: 50 trees on all samples, ten children for each node, 128 random signs
    /// drawn for each node, refined centroids.
    fn default() -> Self {
        CentroidForestConfig {
            samples_per_child: 5,
            min_centroid_weight: 0.1,
            refinement: Refinement::Logistic { scale: 5.0, rate: 3.0 },
            routing: Routing::Shared { sharpness: 2.0, least: 0.2 },
            leaf_shrinkage: 0.5,
            idf: true,
            centroid_precision: CentroidPrecision::Nibble,
            store_rows: true,
            ..CentroidForestConfig::plain()
        }
    }
}

impl CentroidForestConfig {
    /// Returns the same without the options that rank better and take longer: centroids are means, samples go only to
    /// the nearest child, and leaves store the unshrunk values of their samples.
    pub fn plain() -> Self {
        CentroidForestConfig {
            n_trees: 50,
            sampling: Sampling::All,
            seed: 0,
            n_children: 10,
            samples_per_child: 1,
            max_leaf_samples: 10,
            max_depth: None,
            sample_size: None,
            n_projections: 128,
            output_projection: None,
            direction_scope: DirectionScope::Node,
            clustering: Clustering::Spherical,
            center: false,
            n_passes: 3,
            max_centroid_features: None,
            min_centroid_weight: 0.0,
            max_features: 1.0,
            refinement: Refinement::None,
            routing: Routing::Nearest,
            leaf_shrinkage: 0.0,
            normalize: true,
            idf: false,
            centroid_precision: CentroidPrecision::Byte,
            output_weights: None,
            store_rows: false,
        }
    }
}

/// Maximum number of children of a node, as they are numbered with 16 bits.
pub(super) const MOST_CHILDREN: usize = 1 << 15;

/// Maximum number of directions: products of fixed-point numbers fit into 32 bits for any number, but working memory
/// grows with it.
pub(crate) const MOST_DIRECTIONS: usize = 1 << 16;

/// Maximum of scales and rates of refinement: far beyond what is useful, and no weight overflows.
const MOST_OF_REFINEMENT: f32 = 1e3;

/// With smaller shares, a sample would be sent down a hundred paths of a tree or more.
const LEAST_SHARE: f32 = 0.01;

impl Routing {
    pub(crate) fn check(self) -> Result<()> {
        let Routing::Shared { sharpness, least } = self else { return Ok(()) };
        if !(sharpness > 0.0 && sharpness.is_finite() && (LEAST_SHARE..=0.5).contains(&least)) {
            let got = format!("sharpness {sharpness} and smallest fraction {least}");
            return Err(Error::invalid("routing", got, "have a positive sharpness and a fraction in [0.01, 0.5]"));
        }
        Ok(())
    }
}

impl CentroidForestConfig {
    pub(super) fn check(&self, outputs: &Outputs) -> Result<()> {
        if !(2..=MOST_CHILDREN).contains(&self.n_children) {
            return Err(Error::invalid("n_children", self.n_children, "be between 2 and 32768"));
        }
        if self.samples_per_child == 0 {
            return Err(Error::invalid("samples_per_child", 0, "be at least 1"));
        }
        if self.max_leaf_samples == 0 {
            return Err(Error::invalid("max_leaf_samples", 0, "be at least 1"));
        }
        if self.max_depth == Some(0) {
            return Err(Error::invalid("max_depth", 0, "be at least 1"));
        }
        if self.sample_size.is_some_and(|size| size < 2) {
            return Err(Error::invalid("sample_size", "below 2", "be at least 2"));
        }
        if !(1..=MOST_DIRECTIONS).contains(&self.n_projections) {
            return Err(Error::invalid("n_projections", self.n_projections, "be between 1 and 65536"));
        }
        if self.max_centroid_features == Some(0) {
            return Err(Error::invalid("max_centroid_features", 0, "be at least 1"));
        }
        if !(0.0..1.0).contains(&self.min_centroid_weight) {
            return Err(Error::invalid("min_centroid_weight", self.min_centroid_weight, "be a fraction in [0, 1)"));
        }
        if !(self.max_features > 0.0 && self.max_features <= 1.0) {
            return Err(Error::invalid("max_features", self.max_features, "be a fraction in (0, 1]"));
        }
        if let Refinement::Logistic { scale, rate } = self.refinement {
            let is_positive = |x: f32| x > 0.0 && x <= MOST_OF_REFINEMENT;
            if !is_positive(scale) || !is_positive(rate) {
                let got = format!("scale {scale} and rate {rate}");
                return Err(Error::invalid("refinement", got, "have positive values of at most 1000"));
            }
        }
        self.routing.check()?;
        if !(self.leaf_shrinkage >= 0.0 && self.leaf_shrinkage.is_finite()) {
            return Err(Error::invalid("leaf_shrinkage", self.leaf_shrinkage, "be finite and at least 0"));
        }
        if let Some(projection) = &self.output_projection {
            projection.check(outputs)?;
            let q = projection.family.resolve(outputs.width(), projection.n_projections)?;
            if q > MOST_DIRECTIONS {
                return Err(Error::invalid("n_projections", q, "be between 1 and 65536"));
            }
        }
        self.check_output_weights(outputs)
    }

    fn check_output_weights(&self, outputs: &Outputs) -> Result<()> {
        let Some(weights) = &self.output_weights else { return Ok(()) };
        if weights.len() != outputs.width() {
            return Err(Error::shape("output_weights", outputs.width(), weights.len()));
        }
        if let Some(bad) = weights.iter().find(|w| !w.is_finite() || **w < 0.0) {
            return Err(Error::invalid("output_weights", bad, "have finite values of at least 0"));
        }
        if weights.iter().all(|&w| w == 0.0) {
            return Err(Error::invalid("output_weights", "zeros only", "have at least one positive value"));
        }
        if self.output_projection.is_some() && matches!(outputs, Outputs::Classes { .. }) {
            return Err(Error::unsupported("output_weights", "if classes are projected by output_projection"));
        }
        Ok(())
    }
}
