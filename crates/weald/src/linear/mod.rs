//! Linear models of many labels: a weight for each feature and label, fitted sixteen labels at a time.
//!
//! | file | what |
//! |---|---|
//! | `config` | parameters |
//! | `samples` | the samples of a fit, in an order of their own |
//! | `solve` | dual coordinate descent for sixteen columns |
//! | `weights` | the weights that are kept |
//! | `fit`, `predict` | all columns of a fit; margins and best columns |

mod config;
mod fit;
mod predict;
mod samples;
mod solve;
#[cfg(test)]
mod tests;
mod weights;

pub use config::LinearConfig;

use std::sync::Arc;

use crate::data::Outputs;
use weights::Weights;

/// A fitted linear model. It is immutable.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearModel {
    pub(crate) n_features: usize,
    pub(crate) outputs: Outputs,
    /// Whether X of each sample is normalised to length one.
    pub(crate) normalize: bool,
    /// A factor for each feature, if features are weighted.
    pub(crate) idf: Option<Arc<Vec<f32>>>,
    pub(crate) weights: Weights,
}

impl LinearModel {
    /// Returns the number of features.
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// Returns the number of columns: one for each label, one for an output with two classes, and otherwise one for each
    /// class of each output.
    pub fn n_columns(&self) -> usize {
        self.weights.intercepts.len()
    }

    /// Returns whether X of each sample is normalised to length one.
    pub fn normalizes(&self) -> bool {
        self.normalize
    }

    /// Returns the weight of each feature, if features are weighted by inverse document frequency.
    pub fn idf(&self) -> Option<&[f32]> {
        self.idf.as_deref().map(Vec::as_slice)
    }

    /// Returns the intercept of each column.
    pub fn intercepts(&self) -> &[f32] {
        &self.weights.intercepts
    }

    /// Returns the columns with a weight for a feature, and these weights.
    pub fn weights_of(&self, feature: usize) -> (&[u32], &[f32]) {
        let range = self.weights.ptr[feature]..self.weights.ptr[feature + 1];
        (&self.weights.columns[range.clone()], &self.weights.values[range])
    }

    /// Returns the number of columns whose fit did not reach the tolerance within the passes that were allowed.
    pub fn n_unfinished(&self) -> usize {
        self.weights.n_unfinished
    }
}
