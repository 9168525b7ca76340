//! Who is told of the stages of a fit.

use std::ops::ControlFlow;

use ndarray::ArrayView2;

use super::model::Boosted;

/// A stage that is done.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct StageReport<'a> {
    /// Its number, from 0.
    pub stage: usize,
    /// The model so far.
    pub model: &'a Boosted,
    /// Loss on the training rows: the weighted mean over rows, divided by the number of scores of a row.
    pub train_loss: f64,
    /// The same of the validation set, where there is one.
    pub validation_loss: Option<f64>,
    /// Scores of the validation set, (n_samples, width), where there is one and [`StageObserver::wants_scores`].
    pub validation_scores: Option<ArrayView2<'a, f64>>,
    /// Loss on the rows that the stage was not fitted on: see [`Boosted::oob_score`].
    pub oob_loss: Option<f64>,
    /// By how much it is below that of the stage before: see [`Boosted::oob_improvement`].
    pub oob_improvement: Option<f64>,
}

impl<'a> StageReport<'a> {
    /// The last stage of a model.
    pub(super) fn of_last(model: &'a Boosted, train_loss: f64, validation_loss: Option<f64>) -> Self {
        let (oob_loss, oob_improvement) = model.last_oob().unzip();
        let stage = model.n_stages() - 1;
        StageReport { stage, model, train_loss, validation_loss, validation_scores: None, oob_loss, oob_improvement }
    }
}

/// Is told of every stage, on the thread of the fit.
pub trait StageObserver {
    /// A break ends the fit: the model has the stages so far.
    fn after(&mut self, stage: &StageReport<'_>) -> ControlFlow<()>;

    /// The fit ends with an error: this is the model of the stages that were done before. It is not told of fits that end
    /// before the first stage.
    fn failed(&mut self, done: &Boosted) {
        let _ = done;
    }

    /// Whether reports are to have the scores of the validation set: a copy in float64 for each stage.
    fn wants_scores(&self) -> bool {
        false
    }
}

/// Lets all stages pass.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unobserved;

impl StageObserver for Unobserved {
    fn after(&mut self, _: &StageReport<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}
