//! Scores that are boosted together, of the training samples and of the held-out samples.

use ndarray::Array2;

use super::{Moved, Pass, Scored, Scores};
use crate::boost::data::{Losses, OutOfBag};
use crate::boost::projector::Projector;
use crate::control::Control;
use crate::error::{Purpose, Result};
use crate::loss::kernels::float::Float;
use crate::model::into_array;

/// The state of all scores, or of one score if each has trees of its own (single target).
#[derive(Debug)]
pub(crate) struct Booster<'a, T: Float, S> {
    pub(crate) train: Scored<'a, T, S>,
    pub(crate) validation: Option<Scored<'a, T, S>>,
    pub(crate) start: Vec<f64>,
}

impl<'a, T: Float, S: Scores<'a, T>> Booster<'a, T, S> {
    /// Adds a stage to the scores of the training samples and returns their losses, including that of the samples
    /// `out_of_bag`. If `next` is given, writes the targets of the next stage.
    pub(crate) fn advance(
        &mut self,
        moved: Moved<'_, S::Moves>,
        next: Option<&Projector>,
        targets: &mut Vec<f64>,
        out_of_bag: Option<OutOfBag<'_>>,
        control: &Control,
    ) -> Result<Losses> {
        let Scored { data, scores } = &mut self.train;
        let len = data.n_samples * next.map_or(0, Projector::n_targets);
        if targets.len() != len {
            *targets = control.filled(Purpose("the targets of a stage"), 0.0, len)?;
        }
        scores.sweep(data, moved, Pass { projector: next, targets, out_of_bag, control })
    }

    /// Writes the targets at the current scores.
    pub(crate) fn aim(&mut self, projector: &Projector, targets: &mut Vec<f64>, control: &Control) -> Result<()> {
        self.advance(None, Some(projector), targets, None, control).map(drop)
    }

    /// Adds a stage, if one is given, to the scores of the held-out samples and returns their loss; `None` if there are
    /// no such samples, or if y is unknown for all of them.
    pub(crate) fn validate(&mut self, moved: Moved<'_, S::Moves>, control: &Control) -> Result<Option<f64>> {
        let Some(Scored { data, scores }) = &mut self.validation else { return Ok(None) };
        Ok(scores.sweep(data, moved, Pass::of_losses(control))?.all)
    }

    /// Returns the scores of the held-out samples, one column for each score, for observers that ask for them.
    pub(crate) fn validation_scores(boosters: &[Self]) -> Result<Option<Array2<f64>>> {
        const PURPOSE: Purpose = Purpose("scores of the validation set");
        let mut all = Vec::new();
        for booster in boosters {
            let Some(held) = booster.validation.as_ref().and_then(|scored| scored.scores.held()) else {
                return Ok(None);
            };
            PURPOSE.push(&mut all, &held.scores)?;
        }
        let n_columns: usize = boosters.iter().map(|booster| booster.start.len()).sum();
        let n_rows = all.first().map_or(0, |scores| scores.len() * all.len() / n_columns);
        let mut scores = into_array(PURPOSE.zeros(n_rows, n_columns)?, n_rows, n_columns);
        if let [held] = all[..] {
            scores.iter_mut().zip(held).for_each(|(to, score)| *to = score.to_f64());
        } else {
            for (mut column, held) in scores.columns_mut().into_iter().zip(all) {
                column.iter_mut().zip(held).for_each(|(to, score)| *to = score.to_f64());
            }
        }
        Ok(Some(scores))
    }
}
