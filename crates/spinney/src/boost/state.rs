//! The scores of some rows while a model grows, and the passes over them.
//!
//! Scores are row-major, one row after the other: labels and classes in float32, numbers in float64. Nothing else of
//! size n × width is kept. One *sweep* adds a stage's contribution, and while a row is in the cache computes its loss, its
//! negative gradients, and from them the targets of the next tree. *Leaf sums* of negative gradients and curvatures are
//! what leaves and step sizes are made of.
//!
//! Every term of a leaf sum is rounded to a grid on which all sums are exact (compare `criterion`), so that the order of
//! rows cannot be seen, and a row of weight two is two rows. Where weights are rounded themselves, the order is fixed.

use std::ops::Range;

use super::loss::rows::{RowLoss, RowTargets};
use super::projector::Projector;
use super::vector::{Score, TILE_ROWS, add, add_rounded, add_scaled, take_largest, vectorised};
use crate::control::Control;
use crate::data::Weights;
use crate::error::{ErrorKind, Result, try_collected, try_copied, try_filled, try_push};
use crate::pool;
use crate::split::dispatch::SplitY;
use crate::tree::fill::exact_mean;
use crate::tree::grow::Structure;

/// What stays the same while scores change.
#[derive(Debug)]
pub(crate) struct Data<'a, T: Score> {
    /// y, a column for each score.
    pub(crate) y: SplitY<'a>,
    pub(crate) loss: Box<dyn RowLoss<T>>,
    pub(crate) weights: Weights,
    pub(crate) n_samples: usize,
    pub(crate) width: usize,
}

impl<T: Score> Data<'_, T> {
    pub(crate) fn row(&self, row: usize) -> RowTargets<'_> {
        match &self.y {
            SplitY::Slots(y) => RowTargets::On(y.of(row as u32)),
            SplitY::Real(y) => RowTargets::Numbers(y.of(row as u32)),
        }
    }
}

/// What a stage adds to the scores.
#[derive(Debug)]
pub(crate) enum Update<'u, T> {
    /// Row i takes row `leaf_of[i]` of a table.
    Leaves { leaf_of: &'u [u32], table: &'u [T] },
    /// Row i takes `values[i]` times the direction.
    RankOne { values: &'u [f64], direction: &'u [T] },
    /// Row i takes row i of the values, each times its part of the direction.
    Each { values: &'u [f64], direction: &'u [T] },
}

/// What a sweep has seen.
#[derive(Debug)]
pub(crate) struct Swept<T> {
    /// Weighted mean over rows, divided by the number of scores of a row.
    pub(crate) loss: f64,
    /// Bounds of the negative gradients of each score.
    pub(crate) bounds: Vec<T>,
}

/// The scores of all rows.
#[derive(Debug)]
pub(crate) struct State<T> {
    pub(crate) scores: Vec<T>,
}

/// Cells that are swept at a time.
const CHUNK_CELLS: usize = 1 << 16;
/// Cells whose negative gradients are projected together: they stay in the second cache.
const TILE_CELLS: usize = 1 << 14;

impl<T: Score> State<T> {
    /// Every row starts with the same scores.
    pub(crate) fn new(start: &[f64], n_samples: usize, control: &Control) -> Result<Self> {
        let what = "the scores of the training rows";
        let len = n_samples.checked_mul(start.len()).ok_or(ErrorKind::OutOfMemory { what, bytes: usize::MAX })?;
        let mut scores = control.try_filled(what, T::from_f64(0.0), len)?;
        let start = try_collected(what, start.iter().map(|&s| T::from_f64(s)))?;
        scores.chunks_exact_mut(start.len()).for_each(|row| row.copy_from_slice(&start));
        Ok(State { scores })
    }

    /// Updates the scores; then computes losses, and the targets of the next tree where a projector is given.
    pub(crate) fn sweep(
        &mut self,
        data: &Data<'_, T>,
        update: Option<&Update<'_, T>>,
        projector: Option<&Projector>,
        targets: &mut [f64],
        control: &Control,
    ) -> Result<Swept<T>> {
        let width = data.width;
        let n_targets = projector.map_or(0, Projector::n_targets);
        let n_rows = (CHUNK_CELLS / width).max(1);
        let mut losses = try_filled("the losses of rows", 0.0, data.n_samples)?;
        let known = data.loss.bounds();
        let n_chunks = data.n_samples.div_ceil(n_rows);
        let zero = T::from_f64(0.0);
        let mut largest = match known {
            Some(_) => Vec::new(),
            None => try_filled("the bounds of gradients", zero, n_chunks * width)?,
        };
        let at_once = (TILE_CELLS / width).clamp(1, TILE_ROWS);
        let scratch = || try_filled("rows of gradients", zero, at_once * width);
        let mut targets = targets.chunks_mut((n_rows * n_targets).max(1));
        let mut bounds = largest.chunks_mut(width);
        let chunks = self.scores.chunks_mut(n_rows * width).zip(losses.chunks_mut(n_rows)).enumerate();
        let jobs = chunks.map(|(chunk, (scores, losses))| {
            let targets = if n_targets > 0 { targets.next() } else { None };
            (chunk * n_rows, scores, losses, targets.unwrap_or_default(), bounds.next())
        });
        pool::for_each(control.n_threads(), jobs, scratch, |r, (first, scores, losses, targets, bounds)| {
            control.check()?;
            let (mut bounds, mut targets) = (bounds, targets.chunks_mut((at_once * n_targets).max(1)));
            let tiles = scores.chunks_mut(at_once * width).zip(losses.chunks_mut(at_once));
            for (tile, (scores, losses)) in tiles.enumerate() {
                let r = &mut r[..scores.len()];
                let rows = scores.chunks_exact_mut(width).zip(r.chunks_exact_mut(width)).zip(losses);
                for (row, ((scores, r), loss)) in (first + tile * at_once..).zip(rows) {
                    if data.weights.units(row) == 0 {
                        r.fill(zero);
                        continue;
                    }
                    if let Some(update) = update {
                        vectorised(
                            #[inline(always)]
                            || update.add_to(row, scores),
                        );
                    }
                    *loss = match projector {
                        None => data.loss.loss(data.row(row), scores),
                        Some(_) => data.loss.negative_gradients(data.row(row), scores, r),
                    };
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
            Some((gradient, _)) => try_filled("the bounds of gradients", T::from_f64(gradient), width)?,
            None => {
                let (first, rest) = largest.split_at_mut(width);
                rest.chunks_exact(width).for_each(|chunk| take_largest(first, chunk));
                try_copied("the bounds of gradients", first)?
            }
        };
        let weighted = losses.iter().enumerate().map(|(row, &loss)| (loss, data.weights.units(row)));
        let loss = exact_mean(weighted.filter(|(_, units)| *units > 0)) / width as f64;
        Ok(Swept { loss, bounds })
    }
}

impl<T: Score> Update<'_, T> {
    #[inline(always)]
    fn add_to(&self, row: usize, scores: &mut [T]) {
        let width = scores.len();
        match self {
            Update::Leaves { leaf_of, table } => add(scores, &table[leaf_of[row] as usize * width..][..width]),
            Update::RankOne { values, direction } => add_scaled(scores, T::from_f64(values[row]), direction),
            Update::Each { values, direction } => {
                let values = values[row * width..][..width].iter().zip(*direction);
                scores.iter_mut().zip(values).for_each(|(score, (&v, &d))| *score = *score + T::from_f64(v) * d);
            }
        }
    }
}

const LEAVES: &str = "the leaves of a stage";

/// The rows on which a stage is fitted, by leaf: rows for which its weak model predicts the same.
#[derive(Debug)]
pub(crate) struct Leaves<'s> {
    order: &'s [u32],
    ranges: Vec<Range<u32>>,
    /// Total weight of each leaf, in units.
    pub(crate) weights: Vec<f64>,
}

impl<'s> Leaves<'s> {
    pub(crate) fn of_tree(structure: &'s Structure, weights: &Weights) -> Result<Self> {
        Leaves::new(&structure.order, try_collected(LEAVES, structure.leaf_samples.iter().cloned())?, weights)
    }

    /// Each row is a leaf of its own.
    pub(crate) fn single_rows(rows: &'s [u32], weights: &Weights) -> Result<Self> {
        Leaves::new(rows, try_collected(LEAVES, (0..rows.len() as u32).map(|i| i..i + 1))?, weights)
    }

    pub(crate) fn new(order: &'s [u32], ranges: Vec<Range<u32>>, weights: &Weights) -> Result<Self> {
        let mut leaves = Leaves { order, ranges, weights: Vec::new() };
        let total = |leaf| leaves.rows(leaf).iter().map(|&row| weights.units(row as usize)).sum::<u64>() as f64;
        leaves.weights = try_collected(LEAVES, (0..leaves.ranges.len()).map(total))?;
        Ok(leaves)
    }

    pub(crate) fn len(&self) -> usize {
        self.ranges.len()
    }

    /// The leaf of each of `n_samples` rows; 0 for rows in none.
    pub(crate) fn of_rows(&self, n_samples: usize) -> Result<Vec<u32>> {
        let mut leaf_of = try_filled("the leaves of rows", 0u32, n_samples)?;
        for leaf in 0..self.len() {
            self.rows(leaf).iter().for_each(|&row| leaf_of[row as usize] = leaf as u32);
        }
        Ok(leaf_of)
    }

    pub(crate) fn rows(&self, leaf: usize) -> &'s [u32] {
        let range = &self.ranges[leaf];
        &self.order[range.start as usize..range.end as usize]
    }
}

/// Rows whose sums are taken together; the sums of such chunks are added in their order.
fn chunk_rows(width: usize) -> usize {
    (CHUNK_CELLS / width).clamp(64, 1 << 13)
}

impl<T: Score> State<T> {
    /// Hands Σ w r of each leaf, in order, to `visit`; `bounds` are those of the negative gradients of each score.
    pub(crate) fn leaf_sums(
        &self,
        data: &Data<'_, T>,
        leaves: &Leaves<'_>,
        bounds: &[T],
        control: &Control,
        mut visit: impl FnMut(usize, &[f64]),
    ) -> Result<()> {
        const WHAT: &str = "sums of gradients";
        let (size, width) = (chunk_rows(data.width), data.width);
        let total: f64 = leaves.weights.iter().sum();
        let grids = try_collected(WHAT, bounds.iter().map(|&bound| T::magic(bound.to_f64(), total)))?;
        let mut chunks: Vec<(usize, &[u32])> = Vec::new();
        for leaf in 0..leaves.len() {
            leaves.rows(leaf).chunks(size).try_for_each(|rows| try_push(WHAT, &mut chunks, (leaf, rows)))?;
        }
        // A few chunks at a time: their sums are all that is held.
        let at_once = 4 * control.n_threads();
        let mut sums = try_filled(WHAT, 0.0, at_once.min(chunks.len()) * width)?;
        let mut of_leaf = try_filled(WHAT, 0.0, width)?;
        let next_leaf = |chunk: usize| chunks.get(chunk + 1).map(|(leaf, _)| *leaf);
        for (batch, chunks) in chunks.chunks(at_once).enumerate() {
            let jobs = chunks.iter().zip(sums.chunks_exact_mut(width));
            let scratch = || try_filled(WHAT, T::from_f64(0.0), width);
            pool::for_each(control.n_threads(), jobs, scratch, |r, (&(_, rows), sums)| {
                control.check()?;
                sums.fill(0.0);
                for &row in rows {
                    let row = row as usize;
                    data.loss.negative_gradients(data.row(row), &self.scores[row * width..][..width], r);
                    vectorised(
                        #[inline(always)]
                        || add_rounded(data.weights.units(row) as f64, r, &grids, sums),
                    );
                }
                Ok(())
            })?;
            for (i, (&(leaf, _), sums)) in chunks.iter().zip(sums.chunks_exact(width)).enumerate() {
                of_leaf.iter_mut().zip(sums).for_each(|(total, sum)| *total += sum);
                if next_leaf(batch * at_once + i) != Some(leaf) {
                    visit(leaf, &of_leaf);
                    of_leaf.fill(0.0);
                }
            }
        }
        Ok(())
    }
}
