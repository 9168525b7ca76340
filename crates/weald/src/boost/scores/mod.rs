//! The scores of some samples during a fit: stored, row-major, or implied by a sum of low rank.

pub(crate) mod booster;
pub(crate) mod low_rank;
pub(crate) mod sweep;

use ndarray::ArrayView2;

use super::data::{Data, Losses};
use super::projector::Projector;
use crate::control::Control;
use crate::data::slots::Slots;
use crate::error::{ErrorKind, Result, try_collected};
use crate::loss::float::Float;
use low_rank::LowRank;
use sweep::{Update, sweep};

/// Scores that are stored, row-major.
#[derive(Debug)]
pub(crate) struct HeldScores<T> {
    pub(crate) scores: Vec<T>,
    /// Bounds of the negative gradients of each score, from the last time that targets were projected.
    pub(crate) bounds: Vec<T>,
    /// Whether leaves have one value, which each score multiplies by a step of its own.
    pub(crate) has_one_number: bool,
}

impl<T: Float> HeldScores<T> {
    /// Every sample starts with the same scores, plus its `margins` if these are given.
    pub(crate) fn new(
        data: &Data<'_, T>,
        start: &[f64],
        margins: Option<ArrayView2<'_, f64>>,
        has_one_number: bool,
        control: &Control,
    ) -> Result<Self> {
        let what = "the scores of the training rows";
        let len = data.n_samples.checked_mul(start.len());
        let len = len.ok_or(ErrorKind::OutOfMemory { what, bytes: usize::MAX })?;
        let mut scores = control.try_filled(what, T::from_f64(0.0), len)?;
        let start = try_collected(what, start.iter().map(|&s| T::from_f64(s)))?;
        scores.chunks_exact_mut(start.len()).for_each(|row| row.copy_from_slice(&start));
        if let Some(margins) = margins {
            let cells = scores.iter_mut().zip(margins);
            cells.for_each(|(score, &margin)| *score += T::from_f64(margin));
        }
        Ok(HeldScores { scores, bounds: Vec::new(), has_one_number })
    }

    /// See [`Scored::sweep`].
    pub(crate) fn sweep(
        &mut self,
        data: &Data<'_, T>,
        update: Option<Update<'_, T>>,
        projector: Option<&Projector>,
        targets: &mut [f64],
        in_bag: Option<&[bool]>,
        control: &Control,
    ) -> Result<Losses> {
        let (losses, found) = sweep(data, &mut self.scores, update.as_ref(), projector, targets, control)?;
        if projector.is_some() {
            self.bounds = found;
        }
        data.mean_losses(&losses, &self.scores, in_bag, control)
    }
}

/// The scores of samples, either stored or implied.
#[derive(Debug)]
pub(crate) enum Scores<'a, T> {
    Held(HeldScores<T>),
    LowRank(LowRank<'a>),
}

/// Samples and their scores, to which trees are added.
#[derive(Debug)]
pub(crate) struct Scored<'a, T: Float> {
    pub(crate) data: Data<'a, T>,
    pub(crate) scores: Scores<'a, T>,
}

impl<'a, T: Float> Scored<'a, T> {
    /// Every sample starts with the same scores, plus its `margins` if these are given. The scores are stored.
    pub(crate) fn held(
        data: Data<'a, T>,
        start: &[f64],
        margins: Option<ArrayView2<'_, f64>>,
        has_one_number: bool,
        control: &Control,
    ) -> Result<Self> {
        let scores = Scores::Held(HeldScores::new(&data, start, margins, has_one_number, control)?);
        Ok(Scored { data, scores })
    }

    /// Every sample starts with the same scores, which are implied by a sum of low rank; `y` must be that of the data.
    pub(crate) fn implied(data: Data<'a, T>, y: Slots<'a>, start: &[f64]) -> Result<Self> {
        let scores = Scores::LowRank(LowRank::new(&data, y, start)?);
        Ok(Scored { data, scores })
    }

    /// Returns the scores of samples, row-major, if they are stored.
    pub(crate) fn held_scores(&self) -> Option<&[T]> {
        match &self.scores {
            Scores::Held(held) => Some(&held.scores),
            Scores::LowRank(_) => None,
        }
    }

    /// From now on, losses are also computed for the samples that are not in the bag, even if scores are implied.
    pub(crate) fn tell_losses_out_of_bag(&mut self) -> Result<()> {
        match &mut self.scores {
            Scores::Held(_) => Ok(()),
            Scores::LowRank(low_rank) => low_rank.follow_rows(&self.data),
        }
    }

    /// Updates the scores, then writes the targets of the next tree if a projector is given. Returns the losses after
    /// the update, including that of the samples that are not `in_bag`.
    pub(crate) fn sweep(
        &mut self,
        update: Option<Update<'_, T>>,
        projector: Option<&Projector>,
        targets: &mut [f64],
        in_bag: Option<&[bool]>,
        control: &Control,
    ) -> Result<Losses> {
        match &mut self.scores {
            Scores::Held(held) => held.sweep(&self.data, update, projector, targets, in_bag, control),
            Scores::LowRank(low_rank) => {
                match update {
                    None => {}
                    Some(Update::RankOne { leaf_of, values, direction }) => {
                        low_rank.take(&self.data, leaf_of, values, direction, control)?;
                    }
                    Some(Update::Table { .. } | Update::Each { .. }) => unreachable!("{ONE_NUMBER}"),
                }
                if let Some(projector) = projector {
                    low_rank.project(projector, targets, control)?;
                }
                low_rank.losses(&self.data, in_bag)
            }
        }
    }
}

/// Why some combinations of updates and scores do not occur.
const ONE_NUMBER: &str = "scores are implied where every leaf has one number";
