//! Observers, which are called after each stage of a fit.

use std::ops::ControlFlow;

use ndarray::ArrayView2;

use super::model::Boosted;
use crate::rounds::Unobserved;

/// What an observer is told about a stage that is finished.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct StageReport<'a> {
    /// The number of the stage, from 0.
    pub stage: usize,
    /// The model with all stages so far.
    pub model: &'a Boosted,
    /// The loss on the training samples: the weighted mean over samples, divided by the number of scores of a sample.
    pub train_loss: f64,
    /// The loss on the validation set, defined in the same way; `None` without a validation set.
    pub validation_loss: Option<f64>,
    /// The scores of the validation set, (n_samples, width); `None` without a validation set, or if
    /// [`StageObserver::wants_scores`] is false.
    pub validation_scores: Option<ArrayView2<'a, f64>>,
    /// The loss on the samples that the stage was not fitted to: see [`Boosted::oob_score`].
    pub oob_loss: Option<f64>,
    /// The improvement over the loss of the previous stage: see [`Boosted::oob_improvement`].
    pub oob_improvement: Option<f64>,
}

impl<'a> StageReport<'a> {
    /// Describes the last stage of a model.
    pub(super) fn of_last(model: &'a Boosted, train_loss: f64, validation_loss: Option<f64>) -> Self {
        let (oob_loss, oob_improvement) = model.last_oob().unzip();
        let stage = model.n_stages() - 1;
        StageReport { stage, model, train_loss, validation_loss, validation_scores: None, oob_loss, oob_improvement }
    }
}

/// An observer of a fit. Its methods are called on the thread of the fit.
pub trait StageObserver {
    /// Is called after every stage. If it breaks, the fit ends, and the model has the stages so far.
    fn after(&mut self, stage: &StageReport<'_>) -> ControlFlow<()>;

    /// Is called when the fit ends with an error, with the model of the stages that were finished before. It is not
    /// called if the fit fails before the first stage.
    fn failed(&mut self, done: &Boosted) {
        let _ = done;
    }

    /// Returns whether reports must contain the scores of the validation set, which costs a copy in float64 for each
    /// stage.
    fn wants_scores(&self) -> bool {
        false
    }
}

impl StageObserver for Unobserved {
    fn after(&mut self, _: &StageReport<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}
