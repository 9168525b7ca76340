//! Storage of the step sizes of a model, stage after stage.

use crate::error::{Purpose, Result};

const PURPOSE: Purpose = Purpose("the stages of a model");

/// The step sizes of some stages; those of one stage are adjacent.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct StepSizes(pub(crate) Vec<f64>);

impl StepSizes {
    /// Returns the number of steps.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Appends the steps of a stage, or of a part of it.
    pub(crate) fn extend(&mut self, steps: Vec<f64>) -> Result<()> {
        PURPOSE.extend(&mut self.0, steps)
    }

    /// Returns the steps of a stage of `width` scores.
    pub(crate) fn of_stage(&self, stage: usize, width: usize) -> impl ExactSizeIterator<Item = f64> + Clone {
        self.0[stage * width..(stage + 1) * width].iter().copied()
    }

    /// Returns the steps of the first stages.
    pub(crate) fn first(&self, n_stages: usize, width: usize) -> Result<Self> {
        PURPOSE.copied(&self.0[..n_stages * width]).map(StepSizes)
    }
}
