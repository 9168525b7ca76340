//! One pass over samples and their scores.
//!
//! Scores are row-major, one sample after the other: float32 for labels and classes, float64 for numerical outputs.
//! Nothing else of size n × width is stored. One *sweep* adds the contribution of a stage and, while a sample is in the
//! cache, computes its loss, its negative gradients, and from these the targets of the next tree.
//!
//! This pass takes scores of any width. A pass for one score of a sample would have the same arguments and results.

use super::Moves;
use crate::boost::data::Data;
use crate::boost::projector::Projector;
use crate::control::Control;
use crate::error::{Result, try_copied, try_filled};
use crate::exact::reduce::Reduce;
use crate::loss::float::Float;
use crate::loss::vector::{TILE_ROWS, take_largest, vectorised};
use crate::pool;

/// Number of cells that are swept at a time.
pub(crate) const CHUNK_CELLS: usize = 1 << 16;
/// Number of cells whose negative gradients are projected together: they stay in the second-level cache.
const TILE_CELLS: usize = 1 << 14;

/// Moves scores that are stored; see [`super::Scores::sweep`]. Returns the loss of each sample, and bounds of the negative
/// gradients of each score.
pub(crate) fn sweep<T: Float, M: Moves<T>>(
    data: &Data<'_, T>,
    scores: &mut [T],
    moved: Option<(&[u32], &M)>,
    projector: Option<&Projector>,
    targets: &mut [f64],
    control: &Control,
) -> Result<(Vec<f64>, Vec<T>)> {
    let width = data.width;
    let n_targets = projector.map_or(0, Projector::n_targets);
    let n_rows = (CHUNK_CELLS / width).max(1);
    let mut losses = try_filled("the losses of rows", 0.0, data.n_samples)?;
    let (known, blocks) = (data.of_row.bounds(), data.of_row.in_blocks());
    let n_chunks = data.n_samples.div_ceil(n_rows).max(1);
    let zero = T::from_f64(0.0);
    let mut largest = match known {
        Some(_) => Vec::new(),
        None => try_filled("the bounds of gradients", zero, n_chunks * width)?,
    };
    let at_once = (TILE_CELLS / width).clamp(1, TILE_ROWS);
    let scratch = || try_filled("rows of gradients", zero, at_once * width);
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
                in_blocks = try_filled("rows of gradients", zero, scores.len())?;
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
                    move_row(row, scores);
                    *loss = match projector {
                        None => data.of_row.loss(data.row(row), scores),
                        Some(_) => data.of_row.negative_gradients(data.row(row), scores, r),
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
        Some(bounds) => try_filled("the bounds of gradients", T::from_f64(bounds.gradient), width)?,
        None => {
            let (first, rest) = largest.split_at_mut(width);
            rest.chunks_exact(width).for_each(|chunk| take_largest(first, chunk));
            data.weights.workers().max(first)?;
            try_copied("the bounds of gradients", first)?
        }
    };
    Ok((losses, bounds))
}
