//! The memory of a fit of a centroid forest: samples of X, points of y, the largest nodes, and the trees.

use super::trees::{Growth, STORED, gaps, leaf_bytes, n_projections, objects};
use super::{FitShapes, LayoutOfX, MemoryTerm, bytes, count};
use crate::centroid::config::MOST_DIRECTIONS;
use crate::centroid::{CentroidForestConfig, CentroidTree};

/// The bytes of an entry of a centroid, with the spare capacity of its lists.
const CENTROID_ENTRY: f64 = 6.0;

/// The number of entries of all centroids of a tree for each stored value of X, which was measured.
const KEPT: f64 = 1.1;

/// The bytes of a sample of a growing node, without its coordinates.
const POINT: u128 = 32;

/// The bytes of a node, without its centroid and its leaf.
const NODE: u128 = 32;

impl CentroidForestConfig {
    /// Estimates the memory of a fit on data of these shapes, with this number of threads: see [`crate::memory`].
    /// Parameters that the fit refuses may count as nothing.
    pub fn fit_memory(&self, shapes: &FitShapes, n_threads: usize) -> Vec<MemoryTerm> {
        let (n, p) = (count(shapes.n_samples), count(shapes.n_features));
        let Growth { n_trees, at_once, n_rows } = Growth::new(self.n_trees, n_threads, shapes, self.sampling);
        let stored = shapes.layout.n_stored().unwrap_or(n * p);
        let q = match &self.output_projection {
            Some(projection) => n_projections(&projection.family, projection.n_projections, shapes.width),
            None => count(self.n_projections),
        };
        let mut found = vec![MemoryTerm::new("X by samples", STORED * stored)];
        if matches!(shapes.layout, LayoutOfX::Csc(_)) {
            found.push(MemoryTerm::new("the transposed X", STORED * stored));
        }
        let of_point = bytes::<i16>() * q.min(count(MOST_DIRECTIONS)) + POINT;
        // For each feature, a weight for each child, and the lists of the features that the node has.
        let of_feature = bytes::<f32>() * count(self.n_children) + 20;
        let leaves = (2 * n_rows / (1 + count(self.max_leaf_samples).min(n_rows))).max(1);
        let n_nodes = 2 * leaves;
        let share = n_rows * stored / n.max(1);
        let most = n_nodes * p.min(self.max_centroid_features.map_or(p, count));
        let n_entries = (share as f64 * KEPT).min(most as f64);
        // Labels are stored once, and leaves store the lists of their samples, unless cells are unknown.
        let stores_rows = !shapes.is_dense_numbers && shapes.n_unknown == 0;
        let of_leaves = if stores_rows { bytes::<u32>() * n_rows } else { leaf_bytes(shapes, leaves, n_rows) };
        found.extend([
            objects::<CentroidTree>(n_trees),
            MemoryTerm::new("the points of growing trees", at_once * n_rows * of_point),
            MemoryTerm::new("the centroids of growing nodes", at_once * p * of_feature),
            MemoryTerm::new("the centroids of all trees", n_trees * (CENTROID_ENTRY * n_entries) as u128),
            MemoryTerm::new("the leaves of all trees", n_trees * (of_leaves + n_nodes * NODE)),
            MemoryTerm::new(
                "the stored labels",
                if stores_rows { bytes::<u32>() * count(shapes.n_entries) } else { 0 },
            ),
        ]);
        found.extend(gaps(shapes));
        found
    }
}
