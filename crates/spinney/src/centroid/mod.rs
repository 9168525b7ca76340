//! Centroid forests: trees whose nodes group samples by what they are to predict, and send each on by what it is near
//! to.
//!
//! A test of one word parts few of many sparse samples, so that trees on text are deep and unbalanced. Here a node
//! clusters its samples by their outputs, projected on a few random directions; the centroid of each cluster in X, a
//! few words with weights, becomes a child; and each sample goes on to the child whose centroid has the greatest
//! product with it. Ten children a node make trees of half a dozen levels, no feature is searched, and the cost goes
//! with the stored entries.
//!
//! Sources: Y. Prabhu and M. Varma, *FastXML*, 2014, for trees that part samples by their labels; W. Siblini, P.
//! Kuntz and F. Meyer, *CRAFTML, an efficient clustering-based random forest for extreme multi-label learning*, 2018,
//! for projected labels, k-means and centroids. Their features are projected as well; ours are not, so that centroids
//! can be read.
//!
//! # A node
//!
//! 1. A node of few samples, of one y, or deep enough is a leaf.
//! 2. Outputs of its samples, or of a sample of them, times random directions of ±1 become points; k-means finds
//!    clusters.
//! 3. The mean of each cluster's rows of X, of its largest features, is brought to length one and stored in few bits.
//!    Clusters
//!    of more weight come first.
//! 4. Every sample goes to the child of the greatest product; the first of equals, so that samples without features
//!    go with
//!    the heaviest cluster. Children without samples vanish.
//! 5. Where all go to one child, the node is clustered anew with other draws, three times at most; then it is a leaf.
//!
//! Leaves have frequencies of classes and labels, or means of numbers, and the prediction is the mean over trees.
//!
//! | file | what |
//! |---|---|
//! | `config` | parameters |
//! | `vectors` | rows of X: sparse, weighted, of length one |
//! | `project`, `clustering` | samples as points of few dimensions, and their clusters |
//! | `centroids`, `gaps`, `codes` | centroids of a tree: features and weights in few bits |
//! | `refine` | centroids learned further |
//! | `route` | to the child with the nearest centroid |
//! | `parents` | what leaves are shrunk to |
//! | `grow`, `fit` | one tree; all trees of a fit |
//! | `tree` | the finished tree |
//! | `predict`, `oob` | means over trees: readings of `model::means` |
//!
//! # What results depend on
//!
//! A tree is a function of (data, parameters, seed, index): not of the layout of X, which becomes rows of entries
//! first, nor of the number of threads. Rows are added in their order; for rows of length one, and for outputs
//! always, such sums are exact. A row of weight zero is no row. A row of weight two is two rows that stand side by
//! side, where rows are not drawn (`sampling`, `sample_size`) and weights are whole or of few bits.

mod centroids;
mod clustering;
mod codes;
pub(crate) mod config;
mod fit;
mod gaps;
mod grow;
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

pub(crate) use centroids::Centroids;
pub(crate) use codes::{Codes, Nibbles};
pub use config::{CentroidForestConfig, CentroidPrecision, Clustering, DirectionScope, Refinement, Routing};
pub(crate) use gaps::GapLists;
pub(crate) use parents::Parents;
pub use tree::{CentroidTree, FeatureWeight};

use std::sync::Arc;

use crate::data::Outputs;
use crate::error::{Error, Result, try_with_capacity};
use crate::tree::leaves::StoredRows;

/// A fitted centroid forest. Immutable; trees are shared, so that a forest of more trees costs only the new ones.
#[derive(Clone, Debug, PartialEq)]
pub struct CentroidForest {
    pub(crate) n_features: usize,
    pub(crate) outputs: Outputs,
    /// Whether rows of X are brought to length one.
    pub(crate) normalize: bool,
    /// A factor for each feature, if features are weighted.
    pub(crate) idf: Option<Arc<Vec<f32>>>,
    pub(crate) routing: Routing,
    pub(crate) leaf_shrinkage: f64,
    pub(crate) trees: Vec<Arc<CentroidTree>>,
}

impl CentroidForest {
    /// Number of trees.
    pub fn n_trees(&self) -> usize {
        self.trees.len()
    }

    /// Number of features that rows must have.
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// Meaning of the columns of predictions.
    pub fn outputs(&self) -> &Outputs {
        &self.outputs
    }

    /// Whether rows of X are brought to length one.
    pub fn normalizes(&self) -> bool {
        self.normalize
    }

    /// The weight of each feature, if features are weighted by how few samples have them.
    pub fn idf(&self) -> Option<&[f32]> {
        self.idf.as_deref().map(Vec::as_slice)
    }

    /// Whether samples go on to a second child.
    pub fn routing(&self) -> Routing {
        self.routing
    }

    /// How many samples of their parents leaves have in addition.
    pub fn leaf_shrinkage(&self) -> f64 {
        self.leaf_shrinkage
    }

    /// Tree `i`.
    ///
    /// # Panics
    /// When `i` is not below [`CentroidForest::n_trees`].
    pub fn tree(&self, i: usize) -> &Arc<CentroidTree> {
        &self.trees[i]
    }

    /// All trees, in order.
    pub fn trees(&self) -> &[Arc<CentroidTree>] {
        &self.trees
    }

    /// A forest of tree `i` alone, which is shared.
    ///
    /// # Panics
    /// When `i` is not below [`CentroidForest::n_trees`].
    pub fn only(&self, i: usize) -> CentroidForest {
        CentroidForest { trees: vec![Arc::clone(&self.trees[i])], ..self.clone() }
    }

    /// Bytes of memory that the model holds: nodes, centroids, leaves, and the stored rows of y once.
    pub fn n_bytes(&self) -> usize {
        let mut stored: Vec<_> = self.trees.iter().filter_map(|tree| tree.leaves.stored_rows()).collect();
        stored.dedup_by(|a, b| Arc::ptr_eq(a, b));
        let of_trees: usize = self.trees.iter().map(|tree| tree.n_bytes()).sum();
        let of_idf = self.idf.as_ref().map_or(0, |idf| 4 * idf.len());
        of_trees + of_idf + stored.iter().map(|rows| rows.n_bytes()).sum::<usize>()
    }

    /// One forest of the trees of all `parts`, in order; trees are shared, not copied.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Invalid`] without parts, or when parts differ in features, outputs, or in what becomes of
    /// rows of X.
    pub fn merge(parts: &[&CentroidForest]) -> Result<CentroidForest> {
        const WHAT: &str = "forests to merge";
        let first = parts.first().ok_or_else(|| Error::invalid(WHAT, "none", "have at least one part"))?;
        let mut trees = try_with_capacity("the merged forest", parts.iter().map(|part| part.n_trees()).sum())?;
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

/// Makes trees whose leaves refer to equal rows of y refer to the same.
fn share_rows(trees: &mut [Arc<CentroidTree>]) -> Result<()> {
    // Each set that came, and the first one that is equal to it.
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
