//! When a fit ends: by the loss of held-out samples, or when an observer says so; and the stages that are kept.

use std::cell::Cell;
use std::ops::ControlFlow;

use super::config::BoostConfig;
use crate::error::{Result, try_copied};
use crate::rounds::Observer;

/// Ends the fit when the validation loss has not improved for `n_iter_no_change` stages.
#[derive(Debug)]
pub(super) struct EarlyStopping<'c> {
    config: &'c BoostConfig,
    /// The validation loss before the first stage.
    at_start: Option<f64>,
    /// The validation loss after each stage so far.
    losses: Vec<f64>,
}

impl<'c> EarlyStopping<'c> {
    /// `at_start` is the validation loss before the first stage; `losses` are those after the existing stages.
    pub(super) fn new(config: &'c BoostConfig, at_start: Option<f64>, losses: &[f64]) -> Result<Self> {
        Ok(EarlyStopping { config, at_start, losses: try_copied("the losses of stages", losses)? })
    }

    fn is_over(&self) -> bool {
        let (Some(patience), Some(at_start)) = (self.config.n_iter_no_change, self.at_start) else { return false };
        let Some(before) = self.losses.len().checked_sub(patience).filter(|&before| before > 0) else { return false };
        let least = |losses: &[f64]| losses.iter().copied().fold(f64::INFINITY, f64::min);
        // A loss of zero cannot improve.
        at_start == 0.0 || least(&self.losses[before..]) > least(&self.losses[..before]) - self.config.tol * at_start
    }
}

impl Observer for EarlyStopping<'_> {
    fn after(&mut self, _: usize, validation_loss: Option<f64>) -> ControlFlow<()> {
        self.losses.extend(validation_loss);
        if self.is_over() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Returns the index of the first minimum.
pub(super) fn least(scores: &[f64]) -> usize {
    (0..scores.len()).reduce(|best, i| if scores[i] < scores[best] { i } else { best }).unwrap_or(0)
}

/// Decides when the fit ends: by the validation loss, or when the observer says so.
#[derive(Debug)]
pub(super) struct Watched<'w> {
    pub(super) stopping: EarlyStopping<'w>,
    pub(super) is_ended: &'w Cell<bool>,
}

impl Observer for Watched<'_> {
    fn after(&mut self, round: usize, validation_loss: Option<f64>) -> ControlFlow<()> {
        let of_loss = self.stopping.after(round, validation_loss);
        if self.is_ended.get() { ControlFlow::Break(()) } else { of_loss }
    }
}
