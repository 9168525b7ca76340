//! The memory of a fit of label trees: samples of X, thrice while the nodes of a level are fitted, labels as points, and
//! weights.

use super::linear::LANES;
use super::trees::{STORED, objects};
use super::{FitShapes, LayoutOfX, MemoryTerm, bytes, count};
use crate::label_tree::{LabelTree, LabelTreeConfig};

/// The most features of the point of a label.
const MOST_OF_POINT: u128 = 1024;

/// The bytes of a weight: its value and column, and the share of its feature and of the offsets.
const WEIGHT: u128 = 8;

impl LabelTreeConfig {
    /// Estimates the memory of a fit on data of these shapes, with this number of threads: see [`crate::memory`].
    pub fn fit_memory(&self, shapes: &FitShapes, n_threads: usize) -> Vec<MemoryTerm> {
        let (n, p, width) = (count(shapes.n_samples), count(shapes.n_features), count(shapes.width));
        let (stored, entries) = (shapes.layout.n_stored().unwrap_or(n * p), count(shapes.n_entries));
        let mut found = vec![
            MemoryTerm::new("X by samples", STORED * stored),
            MemoryTerm::new("the samples in their order", STORED * stored + 2 * bytes::<f64>() * n),
            MemoryTerm::new("the samples of nodes", 2 * STORED * stored),
        ];
        if matches!(shapes.layout, LayoutOfX::Csc(_)) {
            found.push(MemoryTerm::new("the transposed X", STORED * stored));
        }
        let columns_of_a_sample = entries.div_ceil(n.max(1));
        let of_labels = stored * columns_of_a_sample;
        let columns = width.min(count(self.max_children.max(self.max_leaf_labels)));
        let n_blocks = count(n_threads);
        // Most nodes are leaves, of half of the labels that they may have or more.
        let nodes = count(self.beam_width).min(2 * width.div_ceil(count(self.max_leaf_labels)));
        // A feature has a weight in the columns of its samples, in two or three levels, and in few others.
        let n_weights = (3 * of_labels).min(2 * p * width) * count(self.n_trees);
        found.extend([
            objects::<LabelTree>(count(self.n_trees)),
            MemoryTerm::new("the labels of samples", 4 * bytes::<u32>() * entries),
            MemoryTerm::new("the unknown labels of samples", 4 * bytes::<u32>() * count(shapes.n_unknown)),
            MemoryTerm::new("the nodes that samples reach", n * nodes * (3 * bytes::<(f64, u32)>() + bytes::<u32>())),
            MemoryTerm::new("the labels as points", STORED * of_labels.min(MOST_OF_POINT * width)),
            MemoryTerm::new("the centres of clusters", n_blocks * bytes::<f32>() * LANES.min(columns) * p),
            MemoryTerm::new("the weights of blocks", n_blocks * bytes::<f32>() * LANES * p),
            MemoryTerm::new("the dual variables of blocks", n_blocks * (bytes::<f32>() * LANES + 10) * n),
            MemoryTerm::new("the weights of all columns", WEIGHT * n_weights + 12 * width),
        ]);
        found
    }
}
