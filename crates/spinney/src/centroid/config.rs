//! Parameters of a centroid forest: plain data, checked when used.

use crate::data::Outputs;
use crate::error::{Error, Result};
use crate::forest::Sampling;
use crate::projection::OutputProjection;
use crate::setters::setters;

/// Which nodes share the directions that outputs are projected on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DirectionScope {
    /// None: each draws its own.
    Node,
    /// Those of a tree.
    Tree,
    /// All nodes of a forest.
    Forest,
}

/// What makes projected samples alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Clustering {
    /// The angle between them: each is brought to length one, and the nearest centre has the greatest product. For
    /// labels and classes, of which some samples have more than others.
    Spherical,
    /// Their distance. For numbers, whose size says something.
    Euclidean,
}

/// Types of the weights of features in centroids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CentroidPrecision {
    /// A sign and one of eight levels, from a tenth of the centroid's largest weight to the whole in steps of 39 %.
    /// Features below half a tenth are lost.
    Nibble,
    /// Whole numbers of 8 bits, −127 to 127, times a factor for each centroid. Features below 1/254 of its largest
    /// are lost.
    Byte,
    /// float16.
    Half,
}

/// Whether the weights of a node's centroids are learned further, so that more samples go to their cluster.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Refinement {
    /// They are means, brought to length one.
    None,
    /// One pass of gradient descent on the multinomial logistic loss of the clusters, over the samples of the node in
    /// random order. It starts from the means times `scale`; an entry moves by `rate` × value × error. Centroids may
    /// gain features that others of the node have: see `min_centroid_weight`.
    Logistic {
        /// What products of unit vectors are multiplied by, to be logits.
        scale: f32,
        /// Step of the descent.
        rate: f32,
    },
}

/// Whether a sample goes on to a second child when it is predicted.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Routing {
    /// To the child of the greatest product alone.
    Nearest,
    /// To the two children of the greatest products, by shares in proportion to e^(`sharpness` × product), unless the
    /// second would have less than `least` of the whole sample.
    Shared {
        /// The larger, the less the second child has.
        sharpness: f32,
        /// Least share of the sample that follows a path of its own, in [0.01, 0.5].
        least: f32,
    },
}

/// Parameters of a centroid forest.
///
/// ```
/// use spinney::CentroidForestConfig;
/// let config = CentroidForestConfig::default().n_trees(100).n_children(16).seed(7);
/// assert_eq!(config.max_leaf_samples, 10);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CentroidForestConfig {
    /// Number of trees.
    pub n_trees: usize,
    /// Rows of each tree.
    pub sampling: Sampling,
    /// Seed: tree `i` is a function of (data, parameters, seed, i) alone.
    pub seed: u64,
    /// Most children of a node: clusters that are looked for.
    pub n_children: usize,
    /// A node has no more children than samples divided by this, but two.
    pub samples_per_child: usize,
    /// A node of so many samples or fewer is a leaf. Whole sample weights are counts here, as in a bootstrap.
    pub max_leaf_samples: usize,
    /// Most splits on a path; `None` for any number.
    pub max_depth: Option<usize>,
    /// Most samples of a node of which clusters are found, drawn without replacement; `None` for all. The others join
    /// the nearest cluster. Samples of the same labels or classes are one, of their joint weight.
    pub sample_size: Option<usize>,
    /// Number of directions of random signs, where there is no `output_projection`. Numbers of no more outputs are
    /// clustered as they are.
    pub n_projections: usize,
    /// Directions of another family, in place of signs. Its scope is not looked at.
    pub output_projection: Option<OutputProjection>,
    /// Which nodes share the directions.
    pub direction_scope: DirectionScope,
    /// What makes projected samples alike.
    pub clustering: Clustering,
    /// Whether projected samples are taken less their mean in the node.
    pub center: bool,
    /// How often centres are moved to the mean of their clusters.
    pub n_passes: usize,
    /// Features of largest magnitude that each centroid keeps; `None` for all.
    pub max_centroid_features: Option<usize>,
    /// Weights of a centroid below this share of its largest are dropped.
    pub min_centroid_weight: f64,
    /// The share of the features, drawn for each tree, that its centroids may have.
    pub max_features: f64,
    /// Whether centroids are learned further.
    pub refinement: Refinement,
    /// Whether samples go on to a second child when they are predicted.
    pub routing: Routing,
    /// Leaves predict as if they had so many samples more, alike to those of their parent on the average.
    pub leaf_shrinkage: f64,
    /// Whether rows of X are brought to length one.
    pub normalize: bool,
    /// Whether features are weighted by how few samples have them: 1 + ln((1 + n) / (1 + n with the feature)).
    pub idf: bool,
    /// Type of the weights of features in centroids.
    pub centroid_precision: CentroidPrecision,
    /// What each column of predictions counts for in clusters; `None` for all the same.
    pub output_weights: Option<Vec<f64>>,
    /// Whether leaves refer to rows of y, which are then stored once for all trees. Trees of classes or labels whose
    /// leaves have fewer different ones than rows list these in any case.
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
    /// 50 trees of all rows, ten children a node, 128 signs anew in each node, learned centroids: for labels and
    /// classes.
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
    /// The same without what ranks better and takes longer: centroids are means, samples go to the nearest child,
    /// leaves have the values of their samples, which they store.
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

/// Most children of a node: they have numbers of 16 bits.
pub(super) const MOST_CHILDREN: usize = 1 << 15;

/// Most directions: products of their fixed-point numbers have 32 bits whatever their number, scratch grows with it.
const MOST_DIRECTIONS: usize = 1 << 16;

/// Scales and rates of refinements, at most: far beyond what is of use, and no weight overflows.
const MOST_OF_REFINEMENT: f32 = 1e3;

/// Smaller shares would make a sample pass a hundred paths of a tree and more.
const LEAST_SHARE: f32 = 0.01;

impl Routing {
    pub(crate) fn check(self) -> Result<()> {
        let Routing::Shared { sharpness, least } = self else { return Ok(()) };
        if !(sharpness > 0.0 && sharpness.is_finite() && (LEAST_SHARE..=0.5).contains(&least)) {
            let got = format!("of sharpness {sharpness} and least share {least}");
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
                let got = format!("of scale {scale} and rate {rate}");
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
