//! The weights of a fitted model, feature by feature: those that are not zero, with their columns.

use super::features::{Features, Standard};
use super::problem::Problem;
use super::solve::{Block, LANES, Lanes, Row, larger};
use crate::error::{Purpose, Result};
use crate::tree::leaves::Half;

const PURPOSE: Purpose = Purpose("the weights of a linear model");

/// What is kept of a block: weights of all features, in the order of the lanes.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// Feature of X, column and weight.
    pub(crate) entries: Vec<(u32, u32, f32)>,
    /// The column and its intercept, if that is finite.
    pub(crate) intercepts: Vec<(u32, f32)>,
    /// Columns that were not finished after the last pass.
    pub(crate) unfinished: usize,
    /// The number of passes.
    pub(crate) n_passes: usize,
}

impl Kept {
    /// `columns` are those of the block, whose `problem` says how the samples are.
    pub(super) fn of(block: &Block, columns: &[usize], problem: &Problem<'_>) -> Result<Self> {
        let Problem { samples, config, .. } = problem;
        let mut largest: Lanes = [0.0; LANES];
        for Row(weights) in &block.weights {
            for (largest, weight) in largest.iter_mut().zip(weights).filter(|(_, weight)| weight.is_finite()) {
                *largest = larger(weight.abs(), *largest);
            }
        }
        // Weights have the unit of y divided by that of X.
        let least = largest.map(|largest| (config.min_weight * (1.0 / samples.length).min(largest.into())) as f32);
        // Weights of standardised features have another unit in the end, in which they are rounded.
        let is_rounded = config.half_precision && config.features != Features::Standardized;
        let mut kept = Kept::default();
        for (&feature, Row(weights)) in samples.features.iter().zip(&block.weights) {
            if weights.iter().all(|weight| *weight == 0.0) {
                continue;
            }
            for ((&column, &weight), &least) in columns.iter().zip(weights).zip(&least) {
                if weight != 0.0 && weight.abs() >= least && weight.is_finite() {
                    let weight = if is_rounded { in_half_precision(weight) } else { weight };
                    PURPOSE.push(&mut kept.entries, (feature, column as u32, weight))?;
                }
            }
        }
        let finite = columns.iter().zip(&block.intercepts).filter(|(_, intercept)| intercept.is_finite());
        for (&column, &intercept) in finite {
            PURPOSE.push(&mut kept.intercepts, (column as u32, intercept))?;
        }
        kept.n_passes = block.n_passes;
        kept.unfinished = block.is_finished[..columns.len()].iter().filter(|finished| !**finished).count();
        Ok(kept)
    }
}

/// Returns the nearest number of half precision, if it has eleven significant bits there, and otherwise the number itself.
pub(super) fn in_half_precision(weight: f32) -> f32 {
    let exact = f64::from(weight);
    match (Half::LEAST_NORMAL..=Half::LARGEST).contains(&exact.abs()) {
        true => f64::from(Half::nearest(exact)) as f32,
        false => weight,
    }
}

/// The weights of all columns. Those of feature j are `ptr[j]..ptr[j + 1]`, with increasing columns.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Weights {
    pub(crate) ptr: Vec<usize>,
    pub(crate) columns: Vec<u32>,
    pub(crate) values: Vec<f32>,
    pub(crate) intercepts: Vec<f32>,
    /// The number of columns whose fit did not reach the tolerance.
    pub(crate) n_unfinished: usize,
    /// The largest number of passes of a block.
    pub(crate) n_iter: usize,
}

impl Weights {
    /// Columns that no block has keep their `intercepts`, and get no weights.
    pub(super) fn joined(blocks: &[Kept], n_features: usize, mut intercepts: Vec<f32>) -> Result<Self> {
        let entries = blocks.iter().flat_map(|block| &block.entries);
        let entries = entries.map(|&(feature, column, weight)| (feature as usize, (column, weight)));
        let (ptr, mut stored) = PURPOSE.grouped(n_features, entries)?;
        ptr.windows(2).for_each(|range| stored[range[0]..range[1]].sort_unstable_by_key(|(column, _)| *column));
        let of_blocks = blocks.iter().flat_map(|block| &block.intercepts);
        of_blocks.for_each(|&(column, intercept)| intercepts[column as usize] = intercept);
        Ok(Weights {
            ptr,
            columns: PURPOSE.collected(stored.iter().map(|(column, _)| *column))?,
            values: PURPOSE.collected(stored.iter().map(|(_, weight)| *weight))?,
            intercepts,
            n_unfinished: blocks.iter().map(|block| block.unfinished).sum(),
            n_iter: blocks.iter().map(|block| block.n_passes).max().unwrap_or(0),
        })
    }

    /// Replaces weights for standardised features by those for the features themselves, and intercepts as well.
    pub(super) fn for_unstandardized(&mut self, standard: &Standard, half_precision: bool) -> Result<()> {
        let mut intercepts = PURPOSE.collected(self.intercepts.iter().map(|&intercept| f64::from(intercept)))?;
        let mut end = 0;
        for feature in 0..standard.means.len() {
            let range = self.ptr[feature]..self.ptr[feature + 1];
            self.ptr[feature] = end;
            for at in range {
                let exact = f64::from(self.values[at]) * standard.factors[feature];
                // A feature whose values hardly differ may have a weight that is too large for float32.
                let nearest = exact.clamp(f32::MIN.into(), f32::MAX.into()) as f32;
                let weight = if half_precision { in_half_precision(nearest) } else { nearest };
                // A feature with values that are large enough has weights that vanish.
                if weight != 0.0 {
                    let column = self.columns[at];
                    intercepts[column as usize] -= f64::from(weight) * standard.means[feature];
                    (self.columns[end], self.values[end]) = (column, weight);
                    end += 1;
                }
            }
        }
        self.ptr[standard.means.len()] = end;
        self.columns.truncate(end);
        self.values.truncate(end);
        let nearest = |intercept: f64| intercept.clamp(f32::MIN.into(), f32::MAX.into()) as f32;
        self.intercepts.iter_mut().zip(intercepts).for_each(|(to, intercept)| *to = nearest(intercept));
        Ok(())
    }

    /// Adds the weights of a sample to `margins`, which has one number for each column.
    #[inline]
    pub(super) fn add(&self, features: &[u32], values: &[f32], margins: &mut [f32]) {
        for (&feature, &value) in features.iter().zip(values) {
            let range = self.ptr[feature as usize]..self.ptr[feature as usize + 1];
            for (&column, &weight) in self.columns[range.clone()].iter().zip(&self.values[range]) {
                margins[column as usize] += value * weight;
            }
        }
    }
}
