//! The combination of loss, outputs and strategy.

use super::config::{BoostConfig, OutputStrategy};
use super::model::{Boosted, Combine};
use crate::data::Outputs;
use crate::data::targets::n_scores;
use crate::error::{Error, Purpose, Result};
use crate::loss::Link;
use crate::loss::known_cells::KnownCells;
use crate::loss::working::WorkingLoss;

/// The combination of loss, outputs and strategy of a fit.
#[derive(Debug)]
pub(crate) struct Problem<'a> {
    pub(crate) loss: WorkingLoss<'a>,
    /// The loss of each score, if scores are boosted separately and have different losses; otherwise empty.
    of_columns: Vec<WorkingLoss<'a>>,
    pub(crate) outputs: Outputs,
    pub(crate) width: usize,
    pub(crate) combine: Combine,
    pub(crate) link: Link,
    pub(crate) loss_name: String,
    /// The weight of each label divided by the mean weight; `None` if all labels have the same weight.
    pub(super) label_shares: Option<Vec<f64>>,
}

impl<'a> Problem<'a> {
    /// # Errors
    /// Returns [`crate::ErrorKind::OutOfMemory`] when there is not enough memory.
    ///
    /// `known` must have the losses of known cells, see [`WorkingLoss::of_known`], if some cells of y are unknown.
    pub(crate) fn new(config: &'a BoostConfig, outputs: Outputs, known: Option<&'a [KnownCells<'a>]>) -> Result<Self> {
        let width = n_scores(&outputs);
        let single = matches!(config.strategy, OutputStrategy::SingleTarget);
        let combine = match config.strategy {
            OutputStrategy::SingleTarget if width > 1 => Combine::Columns,
            // With one score, all strategies are the same.
            OutputStrategy::Projected { relabel: false, .. } if width > 1 => Combine::RankOne,
            OutputStrategy::SingleTarget | OutputStrategy::Joint | OutputStrategy::Projected { .. } => Combine::Leaves,
        };
        let loss = WorkingLoss::new(&config.loss, &outputs, single)?;
        let loss = match known {
            None => loss,
            Some(losses) => loss.of_known(losses),
        };
        let link = loss.link(&outputs);
        let n_apart = if combine == Combine::Columns { width } else { 0 };
        let mut of_columns = Vec::new();
        for of_column in (0..n_apart).map_while(|column| loss.of_column(column)) {
            Purpose("the losses of outputs").push(&mut of_columns, of_column)?;
        }
        let label_shares = config.tree.output_factors().shares_of_labels(&outputs)?;
        let loss_name = config.loss.name().to_owned();
        Ok(Problem { loss, of_columns, outputs, width, combine, link, loss_name, label_shares })
    }

    /// Returns whether leaves have one value, by multiples of which several scores move.
    pub(crate) fn is_rank_one(&self) -> bool {
        match self.combine {
            Combine::RankOne | Combine::OtherRankOne => self.width > 1,
            Combine::Leaves | Combine::Columns | Combine::OtherEach => false,
        }
    }

    /// Returns the weight of each score in the loss of a sample, if scores are boosted together and have different
    /// weights.
    pub(crate) fn shares(&self) -> Option<&[f64]> {
        self.label_shares.as_deref().filter(|_| self.combine != Combine::Columns)
    }

    /// Returns the weight of the loss of score `t`, if scores are boosted separately.
    pub(crate) fn share_of(&self, t: usize) -> f64 {
        match &self.label_shares {
            Some(shares) if self.combine == Combine::Columns => shares[t],
            Some(_) | None => 1.0,
        }
    }

    /// Returns the weighted mean of the losses, of scores that are boosted separately, that are not missing: those of
    /// columns that have a known cell, or none if there are no such samples.
    pub(super) fn mean_of_known(&self, losses: impl Iterator<Item = Option<f64>>) -> Option<f64> {
        let of_share = |t: usize, loss: Option<f64>| loss.map(|loss| (self.share_of(t), loss));
        let known = losses.enumerate().filter_map(|(t, loss)| of_share(t, loss));
        let (total, sum) = known.fold((0.0, 0.0), |(total, sum), (share, loss)| (total + share, sum + share * loss));
        (total > 0.0).then(|| sum / total)
    }

    /// Returns the loss of the scores that are boosted together: all scores, or score `t`.
    pub(crate) fn loss_of(&self, t: usize) -> &WorkingLoss<'a> {
        self.of_columns.get(t).unwrap_or(&self.loss)
    }

    /// Returns an error if stages cannot be added to `model`, because it is of another kind.
    pub(crate) fn check_model(&self, config: &BoostConfig, model: &Boosted, n_features: usize) -> Result<()> {
        const WHAT: &str = "model";
        if model.n_features != n_features {
            return Err(Error::shape("each row of X", model.n_features, n_features));
        }
        if model.outputs != self.outputs {
            return Err(Error::invalid(WHAT, "other outputs", "have the same outputs and classes"));
        }
        if model.combine != self.combine || model.link != self.link {
            return Err(Error::invalid(WHAT, "another strategy or loss", "have the same strategy and loss"));
        }
        if model.n_stages() > config.n_estimators {
            let must = "be at least the number of stages of the model";
            return Err(Error::invalid("n_estimators", config.n_estimators, must));
        }
        Ok(())
    }
}
