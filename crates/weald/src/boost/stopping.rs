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
        let BoostConfig { n_iter_no_change, tol, .. } = *self.config;
        let rule = Patience { n: n_iter_no_change, share: 0.0, tol, at_start: self.at_start };
        self.at_start.is_some() && rule.is_over(self.losses.iter().copied(), 0)
    }
}

/// How long a fit waits for a smaller loss.
#[derive(Debug)]
pub(super) struct Patience {
    /// The number of stages without one; `None`: for ever.
    pub(super) n: Option<usize>,
    /// The share of the best number of stages so far that it is at least.
    pub(super) share: f64,
    /// The improvement that counts, as a share of the loss before the first stage.
    pub(super) tol: f64,
    /// That loss; `None` for negative scores, whose improvements are absolute.
    pub(super) at_start: Option<f64>,
}

impl Patience {
    /// Returns whether it ends after these losses, of which the one after `n_best` stages is the least.
    pub(super) fn is_over(&self, losses: impl ExactSizeIterator<Item = f64> + Clone, n_best: usize) -> bool {
        let Some(patience) = self.n.map(|n| n.max((self.share * n_best as f64) as usize)) else { return false };
        let Some(before) = losses.len().checked_sub(patience).filter(|&before| before > 0) else { return false };
        let best = losses.clone().take(before).fold(f64::INFINITY, f64::min);
        let since = losses.skip(before).fold(f64::INFINITY, f64::min);
        match self.at_start {
            // Losses may be negative. From a loss of zero, only those below zero are better.
            Some(0.0) => since >= best.min(0.0),
            Some(at_start) => since > best - self.tol * at_start.abs(),
            None => since >= best - self.tol,
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::LossKind;

    /// Returns the number of stages after which a fit with these validation losses ends.
    fn n_rounds(at_start: f64, losses: &[f64]) -> usize {
        let config = BoostConfig::new(LossKind::SquaredError).n_iter_no_change(3).tol(0.01);
        let is_ended = Cell::new(false);
        let mut stopping = Stopping::new(&config, Some(at_start), &[], &is_ended).unwrap();
        let mut ends = |&(stage, loss): &(usize, &f64)| stopping.after(stage, Some(*loss)).is_break();
        losses.iter().enumerate().find(|one| ends(one)).map_or(losses.len(), |(last, _)| last + 1)
    }

    #[test]
    fn worse_stages_are_no_improvement_of_a_loss_of_any_sign() {
        let falls = |at_start: f64, by: f64| (1..6).map(|i| at_start - by * f64::from(i)).collect::<Vec<_>>();
        for at_start in [5.0_f64, 1e-9, 0.0, -1e-9, -5.0, -1e9] {
            // The improvement that counts is a hundredth of the loss before the first stage.
            let size = f64::max(at_start.abs(), 1e-12);
            assert_eq!(n_rounds(at_start, &falls(at_start, 0.1 * size)), 5, "{at_start}");
            let [little, none, worse] = [1e-3, 0.0, -0.1].map(|by| n_rounds(at_start, &falls(at_start, by * size)));
            assert_eq!([none, worse], [4; 2], "{at_start}");
            assert_eq!(little, if at_start == 0.0 { 5 } else { 4 }, "{at_start}");
        }
        // A loss that is never below zero does not improve from zero.
        assert_eq!(n_rounds(0.0, &[3.0, 2.0, 1.0, 0.5, 0.2]), 4);
    }
}
