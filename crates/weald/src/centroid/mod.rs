//! Centroid forests: trees whose nodes cluster samples by their targets, and send each sample to the child whose
//! centroid in X is the nearest.
//!
//! A test of a single word separates few of many sparse samples, so that trees on text are deep and unbalanced. In a
//! centroid forest, a node clusters its samples by their outputs, projected on a few random directions. The centroid of
//! each cluster in X, a few features with weights, becomes a child, and each sample goes to the child whose centroid
//! has the largest product with it. With ten children for each node, trees have about six levels, no feature is
//! searched, and the cost is proportional to the stored entries.
//!
//! Sources: Y. Prabhu and M. Varma, *FastXML*, 2014, for trees that divide samples by their labels; W. Siblini, P.
//! Kuntz and F. Meyer, *CRAFTML, an efficient clustering-based random forest for extreme multi-label learning*, 2018,
//! for projected labels, k-means and centroids. CRAFTML also projects the features; weald does not, so that centroids
//! can be interpreted.
//!
//! # How a node is split
//!
//! 1. A node with few samples, with a single y, or at the maximum depth is a leaf.
//! 2. The outputs of its samples, or of a subset of them, times random directions of ±1 become points, and k-means
//!    finds clusters.
//! 3. The mean X of each cluster, restricted to its largest features, is normalised to length one and stored in few
//!    bits. Clusters with more weight come first.
//! 4. Every sample goes to the child with the largest product, and to the first of equal ones, so that samples without
//!    features go to the heaviest cluster. Children without samples are dropped.
//! 5. If all samples go to one child, the node is clustered again with different draws, at most three times in all;
//!    then it is a leaf.
//!
//! Leaves contain frequencies of classes and labels, or means of numerical outputs. The prediction is the mean over
//! trees.
//!
//! Cells of y may be unknown. A leaf predicts each output by the samples that know it, see `tree::masked_fill`; if there
//! are none, it has the value of the nearest node above with some. In clusters, an unknown label or class adds nothing to
//! the random signs of a sample, and an unknown number counts as the mean of its output. A node whose samples agree in all
//! that is known is a leaf.
//!
//! | file | what |
//! |---|---|
//! | `config` | parameters |
//! | `vectors` | X of samples: sparse, weighted, normalised |
//! | `project`, `clustering` | samples as points of few dimensions, and their clusters |
//! | `centroids`, `gaps`, `codes` | the centroids of a tree: features and weights in few bits |
//! | `refine` | refinement of centroids by gradient descent |
//! | `route` | the search for the child with the nearest centroid |
//! | `parents` | shrinkage of leaves towards their parents |
//! | `grow`, `fit` | one tree; all trees of a fit |
//! | `tree` | the finished tree |
//! | `predict`, `oob` | means over trees, by `model::means` |
//!
//! # What results depend on
//!
//! A tree is a function of (data, parameters, seed, index). It does not depend on the layout of X, which is first
//! converted to sparse rows, or on the number of threads. Samples are added in their order; for normalised X, and
//! always for outputs, such sums are exact. A sample of weight zero has no effect. A sample of weight two is the same
//! as two adjacent samples if X is normalised, samples are not drawn (`sampling`, `sample_size`), centroids are not
//! refined, and weights are integers with a mean of at most 64.

mod centroids;
mod clustering;
mod codes;
pub(crate) mod config;
mod fit;
mod gaps;
mod grow;
mod one_sample;
mod oob;
mod parents;
mod predict;
mod project;
mod refine;
mod route;
#[cfg(test)]
mod tests;
mod tree;
mod vectors;

pub use config::{CentroidForestConfig, CentroidPrecision, Clustering, DirectionScope, Refinement, Routing};
pub(crate) use one_sample::OfCentroids;
pub use tree::{CentroidTree, FeatureWeight};
pub(crate) use vectors::{Preparation, Vectors, inverse_document_frequencies};
#[cfg(feature = "model-files")]
pub(crate) use {
    centroids::Centroids,
    codes::{Codes, Nibbles},
    gaps::GapLists,
    parents::Parents,
};

use std::sync::Arc;

use crate::data::Outputs;
use crate::error::{Error, Purpose, Result};
use crate::forest::forest_methods;
use crate::tree::leaves::StoredRows;

/// A fitted centroid forest. It is immutable, and its trees are shared, so that extending a forest costs memory only
/// for the new trees.
#[derive(Clone, Debug, PartialEq)]
pub struct CentroidForest {
    pub(crate) n_features: usize,
    pub(crate) outputs: Outputs,
    /// Whether X of each sample is normalised to length one.
    pub(crate) normalize: bool,
    /// A factor for each feature, if features are weighted.
    pub(crate) idf: Option<Arc<Vec<f32>>>,
    pub(crate) routing: Routing,
    pub(crate) leaf_shrinkage: f64,
    pub(crate) trees: Vec<Arc<CentroidTree>>,
}

forest_methods!(CentroidForest, CentroidTree, CentroidForestConfig);

impl CentroidForest {
    /// Returns whether X of each sample is normalised to length one.
    pub fn normalizes(&self) -> bool {
        self.normalize
    }

    /// Returns the weight of each feature, if features are weighted by inverse document frequency.
    pub fn idf(&self) -> Option<&[f32]> {
        self.idf.as_deref().map(Vec::as_slice)
    }

    /// Returns how predicted samples are sent to children: to the nearest one, or to the two nearest.
    pub fn routing(&self) -> Routing {
        self.routing
    }

    /// Returns the number of additional samples, with the mean of the parent, by which the values of a leaf are shrunk.
    pub fn leaf_shrinkage(&self) -> f64 {
        self.leaf_shrinkage
    }

    /// Returns the memory of the model in bytes: nodes, centroids and leaves, and the stored y of samples once.
    pub fn n_bytes(&self) -> usize {
        let mut stored: Vec<_> = self.trees.iter().filter_map(|tree| tree.leaves.stored_rows()).collect();
        stored.dedup_by(|a, b| Arc::ptr_eq(a, b));
        let of_trees: usize = self.trees.iter().map(|tree| tree.n_bytes()).sum();
        let of_idf = self.idf.as_ref().map_or(0, |idf| 4 * idf.len());
        of_trees + of_idf + stored.iter().map(|rows| rows.n_bytes()).sum::<usize>()
    }

    /// Returns one forest with the trees of all `parts`, in order. Trees are shared, not copied.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Invalid`] if `parts` is empty, or if the parts differ in features, outputs, or in
    /// how X is prepared.
    pub fn merge(parts: &[&CentroidForest]) -> Result<CentroidForest> {
        const WHAT: &str = "forests to merge";
        let first = parts.first().ok_or_else(|| Error::invalid(WHAT, "none", "have at least one part"))?;
        let mut trees = Purpose("the merged forest").with_capacity(parts.iter().map(|part| part.n_trees()).sum())?;
        for part in parts {
            if part.n_features != first.n_features {
                let got = format!("{} and {} features", first.n_features, part.n_features);
                return Err(Error::invalid(WHAT, got, "have the same number of features"));
            }
            if part.outputs != first.outputs {
                return Err(Error::invalid(WHAT, "different outputs", "have the same outputs and classes"));
            }
            if (part.normalize, &part.idf) != (first.normalize, &first.idf) {
                return Err(Error::invalid(
                    WHAT,
                    "different ones",
                    "have the same normalize, and idf of the same data",
                ));
            }
            if (part.routing, part.leaf_shrinkage) != (first.routing, first.leaf_shrinkage) {
                return Err(Error::invalid(WHAT, "different ones", "have the same routing and leaf shrinkage"));
            }
            let precision = |forest: &CentroidForest| forest.trees.first().map(|tree| tree.centroids.codes.precision());
            if precision(part) != precision(first) {
                return Err(Error::invalid(WHAT, "different precisions", "have the same centroid precision"));
            }
            trees.extend(part.trees.iter().cloned());
        }
        share_rows(&mut trees)?;
        Ok(CentroidForest { trees, ..(*first).clone() })
    }
}

/// Makes trees whose leaves refer to equal stored samples share them.
fn share_rows(trees: &mut [Arc<CentroidTree>]) -> Result<()> {
    // Each set that was found, and the first one that is equal to it.
    let mut sets: Vec<(Arc<StoredRows>, Arc<StoredRows>)> = Vec::new();
    for tree in trees {
        let Some(stored) = tree.leaves.stored_rows() else { continue };
        let known = sets.iter().find(|(set, _)| Arc::ptr_eq(set, stored)).map(|(_, first)| Arc::clone(first));
        let first = match known {
            Some(first) => first,
            None => {
                let equal = sets.iter().find(|(set, _)| set == stored).map(|(_, first)| first);
                let first = Arc::clone(equal.unwrap_or(stored));
                sets.push((Arc::clone(stored), Arc::clone(&first)));
                first
            }
        };
        if !Arc::ptr_eq(&first, stored) {
            let leaves = tree.leaves.try_clone()?.on_rows(&first);
            *tree = Arc::new(CentroidTree { leaves, ..CentroidTree::clone(tree) });
        }
    }
    Ok(())
}
