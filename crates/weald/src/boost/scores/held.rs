//! Scores that are stored: row-major, one sample after the other, float32 for labels and classes, float64 for numerical
//! outputs.

use ndarray::ArrayView2;

use super::Moves;
use super::sweep::sweep;
use crate::boost::data::{Data, Losses};
use crate::boost::projector::Projector;
use crate::control::Control;
use crate::error::{ErrorKind, Result, try_collected};
use crate::loss::float::Float;

/// Scores that are stored.
#[derive(Debug)]
pub(crate) struct Held<T> {
    pub(crate) scores: Vec<T>,
    /// Bounds of the negative gradients of each score, from the last time that targets were projected.
    pub(crate) bounds: Vec<T>,
}

impl<T: Float> Held<T> {
    /// Every sample starts with the same scores, plus its `margins` if these are given.
    pub(crate) fn new(
        data: &Data<'_, T>,
        start: &[f64],
        margins: Option<ArrayView2<'_, f64>>,
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
        Ok(Held { scores, bounds: Vec::new() })
    }

    /// See [`super::Scores::sweep`]. The pass over the samples is chosen here.
    pub(crate) fn sweep(
        &mut self,
        data: &Data<'_, T>,
        moved: Option<(Vec<u32>, &impl Moves<T>)>,
        projector: Option<&Projector>,
        targets: &mut [f64],
        in_bag: Option<&[bool]>,
        control: &Control,
    ) -> Result<Losses> {
        let moved = moved.as_ref().map(|(leaf_of, moves)| (&leaf_of[..], *moves));
        let (losses, bounds) = sweep(data, &mut self.scores, moved, projector, targets, control)?;
        if projector.is_some() {
            self.bounds = bounds;
        }
        data.mean_losses(&losses, &self.scores, in_bag, control)
    }
}
