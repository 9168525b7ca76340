//! The memory of a fit of a linear model: samples of X, twice while they are put in order, blocks of columns, and weights.

use super::trees::STORED;
use super::{FitShapes, LayoutOfX, MemoryTerm, bytes, count};
use crate::linear::{Features, LinearConfig, MOST_CLASS_MARGINS};

/// The number of columns of a block.
pub(super) const LANES: u128 = 16;

/// The bytes of a weight while the blocks are put together: its feature, column and value, twice, and the result.
const WEIGHT: u128 = 28;

/// The most margins of held-out samples that are held at once.
const AT_ONCE: u128 = 1 << 22;

impl LinearConfig {
    /// Estimates the memory of a fit on data of these shapes, with this number of threads: see [`crate::memory`].
    pub fn fit_memory(&self, shapes: &FitShapes, n_threads: usize) -> Vec<MemoryTerm> {
        let (n, p, width) = (count(shapes.n_samples), count(shapes.n_features), count(shapes.width));
        let given = shapes.layout.n_stored().unwrap_or(n * p);
        let stored = if self.features == Features::Standardized { n * p } else { given };
        let mut found = vec![
            MemoryTerm::new("X by samples", STORED * stored),
            MemoryTerm::new("the samples in their order", STORED * stored + 2 * bytes::<f64>() * n),
        ];
        if matches!(shapes.layout, LayoutOfX::Csc(_)) {
            found.push(MemoryTerm::new("the transposed X", STORED * given));
        }
        let n_blocks = width.div_ceil(LANES).min(count(n_threads));
        // A feature has a weight in the columns of its samples, and in few others.
        let columns_of_a_sample = count(shapes.n_entries).div_ceil(n.max(1));
        let n_weights = (stored * columns_of_a_sample).min(p * width);
        found.extend([
            MemoryTerm::new("the labels of samples", 4 * bytes::<u32>() * count(shapes.n_entries)),
            MemoryTerm::new("the unknown labels of samples", 4 * bytes::<u32>() * count(shapes.n_unknown)),
            MemoryTerm::new("the weights of blocks", n_blocks * bytes::<f32>() * LANES * p),
            MemoryTerm::new("the dual variables of blocks", n_blocks * (bytes::<f32>() * LANES + 10) * n),
            MemoryTerm::new("the weights of all columns", WEIGHT * n_weights + 12 * width + 8 * p),
        ]);
        if self.calibration {
            let n_margins = (n * width).min(AT_ONCE);
            found.push(MemoryTerm::new("the margins of held-out samples", bytes::<f32>() * n_margins));
            if count(shapes.n_entries) <= n {
                // One class each, as a rule: those of all folds, and three numbers for each.
                let n_margins = (n * width).min(MOST_CLASS_MARGINS as u128);
                found
                    .push(MemoryTerm::new("the margins of classes", (bytes::<f32>() + 3 * bytes::<f64>()) * n_margins));
            }
        }
        found
    }
}
