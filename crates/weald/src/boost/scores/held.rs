//! Scores that are stored, and the pass over samples and their scores.
//!
//! Scores are row-major, one sample after the other: float32 for labels and classes, float64 for numerical outputs.
//! Nothing else of size n × width is stored. One *sweep* adds the contribution of a stage and, while a sample is in the
//! cache, computes its loss, its negative gradients, and from these the targets of the next tree. This pass takes scores
//! of any width; the pass for one score of a sample is in `one`.

use super::{Moved, Moves, Pass, Start, one};
use crate::boost::data::{Data, Losses};
use crate::boost::projector::Projector;
use crate::control::Control;
use crate::error::{Purpose, Result};
use crate::exact::reduce::Reduce;
use crate::loss::kernels::float::Float;
use crate::loss::kernels::vector::{TILE_ROWS, take_largest, vectorised};
use crate::pool;
use crate::reuse::Buffer;

/// Scores that are stored.
#[derive(Debug)]
pub(crate) struct Held<T> {
    pub(crate) scores: Vec<T>,
    /// Bounds of the negative gradients of each score, from the last time that targets were projected.
    pub(crate) bounds: Vec<T>,
    /// Whether the targets then were the negative gradients of samples with one score each.
    pub(crate) are_targets_gradients: bool,
}

impl<T: Float> Held<T> {
    /// Every sample starts with the same scores, plus its margins if these are given.
    pub(crate) fn new(data: &Data<'_, T>, (start, margins): Start<'_>, control: &Control) -> Result<Self> {
        let purpose = Purpose("the scores of the training rows");
        let len = data.n_samples.checked_mul(start.len());
        let len = len.ok_or_else(|| purpose.missing::<T>(usize::MAX))?;
        let mut scores = control.filled(purpose, T::from_f64(0.0), len)?;
        let start = purpose.collected(start.iter().map(|&s| T::from_f64(s)))?;
        scores.chunks_exact_mut(start.len()).for_each(|row| row.copy_from_slice(&start));
        if let Some(margins) = margins {
            let cells = scores.iter_mut().zip(margins);
            cells.for_each(|(score, &margin)| *score += T::from_f64(margin));
        }
        Ok(Held { scores, bounds: Vec::new(), are_targets_gradients: false })
    }

    /// See [`super::Scores::sweep`].
    pub(crate) fn sweep(
        &mut self,
        data: &Data<'_, T>,
        moved: Moved<'_, impl Moves<T>>,
        mut pass: Pass<'_>,
    ) -> Result<Losses> {
        let moved = moved.as_ref().map(|(leaf_of, moves)| (&leaf_of[..], *moves));
        let (losses, bounds) = sweep(data, &mut self.scores, moved, &mut pass)?;
        if let Some(projector) = pass.projector {
            self.bounds = bounds;
            self.are_targets_gradients = matches!(projector, Projector::Identity(1)) && !pass.targets.is_empty();
        }
        data.mean_losses(&losses, &self.scores, &pass)
    }
}

/// Number of cells that are swept at a time.
pub(crate) const CHUNK_CELLS: usize = 1 << 16;
/// Number of cells whose negative gradients are projected together: they stay in the second-level cache.
const TILE_CELLS: usize = 1 << 14;

/// Moves scores that are stored; see [`super::Scores::sweep`]. Returns the loss of each sample, and bounds of the
/// negative gradients of each score.
pub(crate) fn sweep<T: Float, M: Moves<T>>(
    data: &Data<'_, T>,
    scores: &mut [T],
    moved: Option<(&[u32], &M)>,
    pass: &mut Pass<'_>,
) -> Result<(Buffer<f64>, Vec<T>)> {
    match one::sweep(data, scores, moved, pass)? {
        Some(found) => Ok(found),
        None => sweep_rows(data, scores, moved, pass),
    }
}

/// Like [`sweep`], for scores of any width.
pub(super) fn sweep_rows<T: Float, M: Moves<T>>(
    data: &Data<'_, T>,
    scores: &mut [T],
    moved: Option<(&[u32], &M)>,
    pass: &mut Pass<'_>,
) -> Result<(Buffer<f64>, Vec<T>)> {
    let (width, Pass { projector, targets, control, .. }) = (data.width, pass);
    let projector = *projector;
    let n_targets = projector.map_or(0, Projector::n_targets);
    let n_rows = (CHUNK_CELLS / width).max(1);
    let mut losses = control.buffer(Purpose("the losses of rows"), data.n_samples)?;
    losses.fill(0.0);
    let (known, blocks) = (data.of_row.bounds(), data.of_row.in_blocks());
    let n_chunks = data.n_samples.div_ceil(n_rows).max(1);
    let zero = T::from_f64(0.0);
    let mut largest = match known {
        Some(_) => Vec::new(),
        None => Purpose("the bounds of gradients").filled(zero, n_chunks * width)?,
    };
    let at_once = (TILE_CELLS / width).clamp(1, TILE_ROWS);
    let scratch = || Purpose("rows of gradients").filled(zero, at_once * width);
    let mut targets = targets.chunks_mut((n_rows * n_targets).max(1));
    let mut bounds = largest.chunks_mut(width);
    let chunks = scores.chunks_mut(n_rows * width).zip(losses.chunks_mut(n_rows)).enumerate();
    let jobs = chunks.map(|(chunk, (scores, losses))| {
        let targets = if n_targets > 0 { targets.next() } else { None };
        (chunk * n_rows, scores, losses, targets.unwrap_or_default(), bounds.next())
    });
    pool::for_each(control.n_threads(), jobs, scratch, |r, (first, scores, losses, targets, bounds)| {
        control.check()?;
        let (mut bounds, mut targets) = (bounds, targets.chunks_mut((at_once * n_targets).max(1)));
        let move_row = |row: usize, scores: &mut [T]| {
            if let Some((leaf_of, moves)) = moved {
                vectorised(
                    #[inline(always)]
                    || moves.add_to(leaf_of[row] as usize, scores),
                );
            }
        };
        let mut in_blocks = Vec::new();
        if let Some(blocks) = blocks {
            for (row, scores) in (first..).zip(scores.chunks_exact_mut(width)) {
                if data.weights.units(row) > 0 {
                    move_row(row, scores);
                }
            }
            if projector.is_some() {
                in_blocks = Purpose("rows of gradients").filled(zero, scores.len())?;
            }
            let out = projector.is_some().then_some(&mut *in_blocks);
            blocks.block(|i| data.row(first + i), scores, width, losses, out)?;
        }
        let mut in_blocks = in_blocks.chunks_mut(at_once * width);
        let tiles = scores.chunks_mut(at_once * width).zip(losses.chunks_mut(at_once));
        for (tile, (scores, losses)) in tiles.enumerate() {
            let r = in_blocks.next().unwrap_or(&mut r[..scores.len()]);
            let rows = scores.chunks_exact_mut(width).zip(r.chunks_exact_mut(width)).zip(losses);
            for (row, ((scores, r), loss)) in (first + tile * at_once..).zip(rows) {
                if data.weights.units(row) == 0 {
                    r.fill(zero);
                    continue;
                }
                if blocks.is_none() {
                    let y = data.row(row);
                    let step = moved.and_then(|(leaf_of, moves)| moves.stored(leaf_of[row] as usize, width));
                    *loss = if let (Some(step), Some(_)) = (step, projector) {
                        data.of_row.responses_after(y, scores, step, r)
                    } else {
                        move_row(row, scores);
                        match projector {
                            None => data.of_row.loss(y, scores),
                            Some(_) => data.of_row.responses(y, scores, r),
                        }
                    };
                }
                if let Some(bounds) = &mut bounds {
                    take_largest(bounds, r);
                }
            }
            if let Some(projector) = projector {
                let targets = targets.next().unwrap_or_default();
                vectorised(
                    #[inline(always)]
                    || projector.project(r, width, targets),
                );
            }
        }
        Ok(())
    })?;
    let bounds = match known {
        Some(bounds) => Purpose("the bounds of gradients").filled(T::from_f64(bounds.gradient), width)?,
        None => {
            let (first, rest) = largest.split_at_mut(width);
            rest.chunks_exact(width).for_each(|chunk| take_largest(first, chunk));
            data.weights.workers().max(first)?;
            Purpose("the bounds of gradients").copied(first)?
        }
    };
    Ok((losses, bounds))
}
