//! When a fit ends: by the loss of held-out samples, or when an observer says so; and the stages that are kept.

use std::cell::Cell;
use std::ops::ControlFlow;

use super::config::BoostConfig;
use super::model::Boosted;
use crate::error::{Purpose, Result};
use crate::rounds::Observer;

/// Ends the fit when the validation loss has not improved for `n_iter_no_change` stages, or when an observer says so.
#[derive(Debug)]
pub(super) struct Stopping<'c> {
    config: &'c BoostConfig,
    /// The validation loss before the first stage.
    at_start: Option<f64>,
    /// The validation loss after each stage so far.
    losses: Vec<f64>,
    /// Whether an observer has ended the fit.
    is_ended: &'c Cell<bool>,
}

impl<'c> Stopping<'c> {
    /// `at_start` is the validation loss before the first stage; `losses` are those after the existing stages.
    pub(super) fn new(
        config: &'c BoostConfig,
        at_start: Option<f64>,
        losses: &[f64],
        is_ended: &'c Cell<bool>,
    ) -> Result<Self> {
        Ok(Stopping { config, at_start, losses: Purpose("the losses of stages").copied(losses)?, is_ended })
    }

    fn is_over(&self) -> bool {
        let (Some(patience), Some(at_start)) = (self.config.n_iter_no_change, self.at_start) else { return false };
        let Some(before) = self.losses.len().checked_sub(patience).filter(|&before| before > 0) else { return false };
        let least = |losses: &[f64]| losses.iter().copied().fold(f64::INFINITY, f64::min);
        // A loss of zero cannot improve.
        at_start == 0.0 || least(&self.losses[before..]) > least(&self.losses[..before]) - self.config.tol * at_start
    }
}

impl Observer for Stopping<'_> {
    fn after(&mut self, _: usize, validation_loss: Option<f64>) -> ControlFlow<()> {
        self.losses.extend(validation_loss);
        if self.is_ended.get() || self.is_over() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl Boosted {
    /// Returns the model with the stages that a fit keeps: all of them or, with early stopping, those up to the first
    /// of least validation loss.
    pub(super) fn kept(self, config: &BoostConfig) -> Result<Self> {
        let losses = &self.validation_score;
        let least = (0..losses.len()).reduce(|best, i| if losses[i] < losses[best] { i } else { best });
        if config.n_iter_no_change.is_some() { self.truncated(least.unwrap_or(0) + 1) } else { Ok(self) }
    }
}
