//! Linear models of many labels: a weight for each feature and label, fitted sixteen labels at a time.
//!
//! | file | what |
//! |---|---|
//! | `arrays` | models from arrays, and what these must fulfil |
//! | `config` | parameters |
//! | `features` | how X is prepared |
//! | `source` | the data of a fit, by columns |
//! | `samples` | the samples of a fit, in an order of their own |
//! | `loss` | the losses, and what depends on them |
//! | `problem` | what is visited: each X, or its weight with and without a column |
//! | `solve`, `log_loss` | dual coordinate descent for sixteen columns, by squared hinge and by log loss |
//! | `weights` | the weights that are kept |
//! | `folds`, `held_out` | margins of samples that a fit did not see |
//! | `counts`, `calibration` | how often margins were right; the probabilities of margins |
//! | `ranks` | how well margins rank columns |
//! | `classes` | the probabilities of margins of classes, together |
//! | `parts` | models of some columns, and their merger |
//! | `choose` | features and strength by held-out samples |
//! | `fit`, `predict`, `scores` | all columns of a fit; margins; scores, probabilities and best columns |
//! | `one_sample` | scores of one sample after another |

mod arrays;
mod calibration;
mod choose;
mod config;
mod features;
mod fit;
mod held_out;
mod log_loss;
mod loss;
mod one_sample;
mod parts;
mod predict;
mod problem;
mod samples;
mod scores;
mod solve;
mod source;
#[cfg(test)]
mod tests;
mod weights;

pub use calibration::Calibration;
pub use choose::{Candidate, Choice, Grid};
pub use config::LinearConfig;
pub use features::Features;
pub use held_out::FoldModels;
pub use loss::LinearLoss;
pub(crate) use one_sample::OfWeights;

use std::sync::Arc;

use crate::data::Outputs;
pub(crate) use fit::{Task, n_blocks};
pub(crate) use held_out::MOST_CLASS_MARGINS;
pub(crate) use samples::{Lists, Samples};
pub(crate) use solve::Block;
pub(crate) use source::{Source, by_column};
pub(crate) use weights::{Kept, Weights};

/// A fitted linear model. It is immutable.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearModel {
    pub(crate) n_features: usize,
    pub(crate) outputs: Outputs,
    /// How the features of X are prepared.
    pub(crate) features: Features,
    /// The inverse document frequency of each feature, if `features` are tf-idf.
    pub(crate) idf: Option<Arc<Vec<f32>>>,
    pub(crate) weights: Weights,
    /// What makes probabilities of margins; without it, slopes are 1 and intercepts 0.
    pub(crate) calibration: Option<Calibration>,
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

    /// Returns how the features of X are prepared. If they are standardised, weights and intercepts are those of X as it
    /// is given.
    pub fn features(&self) -> Features {
        self.features
    }

    /// Returns what makes probabilities of margins, if it is known; otherwise, slopes are 1 and intercepts 0.
    pub fn calibration(&self) -> Option<&Calibration> {
        self.calibration.as_ref()
    }

    /// Returns the inverse document frequency of each feature, if the features are tf-idf.
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

    /// Returns the largest number of passes over the samples of a column.
    pub fn n_iter(&self) -> usize {
        self.weights.n_iter
    }

    /// Returns the number of columns whose fit did not reach the tolerance within the passes that were allowed.
    pub fn n_unfinished(&self) -> usize {
        self.weights.n_unfinished
    }
}
