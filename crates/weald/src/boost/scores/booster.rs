//! Scores that are boosted together, of the training samples and of the held-out samples.

use ndarray::Array2;

use super::Scored;
use super::sweep::Update;
use crate::boost::data::Losses;
use crate::boost::projector::Projector;
use crate::control::Control;
use crate::error::{Result, try_push};
use crate::loss::float::Float;
use crate::model::{into_array, try_matrix};

/// The state of all scores, or of one score if each has trees of its own (single target).
#[derive(Debug)]
pub(crate) struct Booster<'a, T: Float> {
    pub(crate) train: Scored<'a, T>,
    pub(crate) validation: Option<Scored<'a, T>>,
    pub(crate) start: Vec<f64>,
}

impl<T: Float> Booster<'_, T> {
    /// Adds a stage to the scores of the training samples and returns their losses, including that of the samples that
    /// are not `in_bag`. If `next` is given, writes the targets of the next stage.
    pub(crate) fn advance(
        &mut self,
        update: Option<Update<'_, T>>,
        next: Option<&Projector>,
        targets: &mut Vec<f64>,
        in_bag: Option<&[bool]>,
        control: &Control,
    ) -> Result<Losses> {
        let len = self.train.data.n_samples * next.map_or(0, Projector::n_targets);
        if targets.len() != len {
            *targets = control.try_filled("the targets of a stage", 0.0, len)?;
        }
        self.train.sweep(update, next, targets, in_bag, control)
    }

    /// Writes the targets at the current scores.
    pub(crate) fn aim(&mut self, projector: &Projector, targets: &mut Vec<f64>, control: &Control) -> Result<()> {
        self.advance(None, Some(projector), targets, None, control)?;
        Ok(())
    }

    /// Returns the loss of the held-out samples at the current scores; `None` if there are no such samples, or
    /// if y is unknown for all of them.
    pub(crate) fn validation_loss(&mut self, control: &Control) -> Result<Option<f64>> {
        let scored = self.validation.as_mut();
        let loss = scored.map(|scored| scored.sweep(None, None, &mut [], None, control).map(|losses| losses.all));
        Ok(loss.transpose()?.flatten())
    }

    /// Returns the loss, at the current scores, of the training samples that are not `in_bag`; `None` if y is unknown
    /// for all of them.
    pub(crate) fn out_of_bag_loss(&mut self, in_bag: Option<&[bool]>, control: &Control) -> Result<Option<f64>> {
        Ok(self.train.sweep(None, None, &mut [], in_bag, control)?.out_of_bag)
    }

    /// Returns the scores of the held-out samples, one column for each score, for observers that ask for them.
    pub(crate) fn validation_scores(boosters: &[Booster<'_, T>]) -> Result<Option<Array2<f64>>> {
        const WHAT: &str = "scores of the validation set";
        let mut all = Vec::new();
        for booster in boosters {
            let Some(scores) = booster.validation.as_ref().and_then(Scored::held_scores) else { return Ok(None) };
            try_push(WHAT, &mut all, scores)?;
        }
        let n_columns: usize = boosters.iter().map(|booster| booster.start.len()).sum();
        let n_rows = all.first().map_or(0, |scores| scores.len() * all.len() / n_columns);
        let mut scores = into_array(try_matrix(WHAT, n_rows, n_columns)?, n_rows, n_columns);
        if let [held] = all[..] {
            scores.iter_mut().zip(held).for_each(|(to, score)| *to = score.to_f64());
        } else {
            for (mut column, held) in scores.columns_mut().into_iter().zip(all) {
                column.iter_mut().zip(held).for_each(|(to, score)| *to = score.to_f64());
            }
        }
        Ok(Some(scores))
    }

    /// Adds a stage to the scores of the held-out samples and returns their loss; `None` if there are no such samples,
    /// or if y is unknown for all of them.
    pub(crate) fn advance_validation(&mut self, update: Update<'_, T>, control: &Control) -> Result<Option<f64>> {
        let scored = self.validation.as_mut();
        let loss =
            scored.map(|scored| scored.sweep(Some(update), None, &mut [], None, control).map(|losses| losses.all));
        Ok(loss.transpose()?.flatten())
    }
}
