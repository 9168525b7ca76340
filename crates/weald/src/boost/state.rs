//! The scores of some samples during a fit, and the passes over them.
//!
//! Scores are row-major, one sample after the other: float32 for labels and classes, float64 for numerical outputs.
//! Nothing else of size n × width is stored. One *sweep* adds the contribution of a stage and, while a sample is in the
//! cache, computes its loss, its negative gradients, and from these the targets of the next tree. *Leaf sums* of
//! negative gradients and curvatures are what leaves and step sizes are computed from.
//!
//! Every term of a leaf sum is rounded to a grid on which all sums are exact (compare `criterion`), so that sums do not
//! depend on the order of the samples, and a sample of weight two is the same as two samples, unless weights
//! are themselves rounded.

use std::ops::Range;

use ndarray::ArrayView2;

use super::low_rank::LowRank;
use super::projector::Projector;
use crate::control::Control;
use crate::data::slots::Slots;
use crate::data::train_y::TrainY;
use crate::data::{Targets, Weights};
use crate::error::{ErrorKind, Result, try_collected, try_copied, try_filled, try_push, try_with_capacity};
use crate::exact::reduce::{Reduce, Workers};
use crate::exact::{Total, WeightedGrids, exact_mean_of_all};
use crate::loss::float::Float;
use crate::loss::known_cells::mean_of_columns;
use crate::loss::rows::{LeafRows, RowLoss, RowSums, RowTargets};
use crate::loss::vector::{TILE_ROWS, add, add_scaled, take_largest, vectorised};
use crate::loss::working::WorkingLoss;
use crate::pool;
use crate::tree::grow::Structure;

/// The training or held-out samples: everything that stays the same while their scores change.
#[derive(Debug)]
pub(crate) struct Data<'a, T: Float> {
    /// y, a column for each score.
    pub(crate) y: TrainY<'a>,
    pub(crate) loss: &'a WorkingLoss<'a>,
    /// The loss of one sample.
    pub(crate) of_row: Box<dyn RowLoss<T> + 'a>,
    pub(crate) weights: Weights,
    pub(crate) n_samples: usize,
    pub(crate) width: usize,
    /// The weight of each score in the loss of a sample; `None` if all scores have the same weight.
    pub(crate) shares: Option<&'a [f64]>,
}

impl<'a, T: Float> Data<'a, T> {
    /// `y` must have `width` columns.
    pub(crate) fn new(
        y: &'a Targets<'_>,
        (loss, shares): (&'a WorkingLoss<'a>, Option<&'a [f64]>),
        weights: Weights,
        width: usize,
    ) -> Result<Self> {
        let (n_samples, y, of_row) = (y.n_samples(), TrainY::new(y)?, loss.rows(shares));
        Ok(Data { n_samples, y, loss, of_row, weights, width, shares })
    }

    /// Returns the mean loss of all samples by their scores, row-major; `None` if y is unknown for all of them.
    pub(crate) fn mean_loss(&self, scores: &mut [T], control: &Control) -> Result<Option<f64>> {
        let (losses, _) = sweep(self, scores, None, None, &mut [], control)?;
        Ok(self.mean_losses(&losses, scores, None, control)?.all)
    }

    /// Returns the means of the losses of samples, of which `losses` has one for each sample and `scores` are the
    /// scores.
    fn mean_losses(&self, losses: &[f64], scores: &[T], in_bag: Option<&[bool]>, control: &Control) -> Result<Losses> {
        let (Some(columns), TrainY::Real(y)) = (self.loss.of_known_cells(), &self.y) else {
            let out_of_bag = self.out_of_bag_loss(|row| losses[row], in_bag)?;
            return Ok(Losses { all: Some(self.mean_loss_in(|row| losses[row], |_| true)?), out_of_bag });
        };
        let all = mean_of_columns(columns, y, scores, &self.weights, |_| true, control)?;
        let of_others =
            |in_bag: &[bool]| mean_of_columns(columns, y, scores, &self.weights, |row| !in_bag[row], control);
        Ok(Losses { all, out_of_bag: in_bag.map(of_others).transpose()?.flatten() })
    }

    /// Returns the mean of the losses of the samples that are not `in_bag`, all of whose cells must be known; `None` if
    /// there are no such samples.
    pub(crate) fn out_of_bag_loss(&self, loss: impl Fn(usize) -> f64, in_bag: Option<&[bool]>) -> Result<Option<f64>> {
        let Some(in_bag) = in_bag else { return Ok(None) };
        let is_outside = |row: usize| !in_bag[row];
        let units = (0..self.n_samples).filter(|&row| is_outside(row)).map(|row| i128::from(self.weights.units(row)));
        if self.weights.workers().sum_of(units.sum::<i128>())? == 0 {
            return Ok(None);
        }
        self.mean_loss_in(loss, is_outside).map(Some)
    }

    /// Returns the weighted mean over these samples, divided by the number of scores of a sample.
    fn mean_loss_in(&self, loss: impl Fn(usize) -> f64, is_inside: impl Fn(usize) -> bool) -> Result<f64> {
        let is_there = |row: &usize| self.weights.units(*row) > 0 && is_inside(*row);
        let weighted = (0..self.n_samples).filter(is_there).map(|row| (loss(row), self.weights.units(row)));
        Ok(exact_mean_of_all(weighted, self.weights.workers())? / self.width as f64)
    }

    /// Returns those of `rows` of which some cell is known; `None` if this is true of all of them.
    pub(crate) fn known_rows(&self, rows: &[u32]) -> Result<Option<Vec<u32>>> {
        let TrainY::Real(y) = &self.y else { return Ok(None) };
        let is_known = |row: &u32| y.of(*row).iter().any(|y| !y.is_nan());
        if !self.loss.skips_unknown() || rows.iter().all(is_known) {
            return Ok(None);
        }
        let mut known = try_with_capacity("the rows of a stage", rows.len())?;
        known.extend(rows.iter().copied().filter(is_known));
        Ok(Some(known))
    }

    pub(crate) fn row(&self, row: usize) -> RowTargets<'_> {
        RowTargets::new(&self.y, row as u32)
    }
}

/// Losses of samples: the mean over the columns of scores of the weighted means over samples. If some cells of y are
/// unknown, the mean of a column is that of its known cells, and columns without a known cell do not count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Losses {
    /// The loss of all samples; `None` if y is unknown for all of them.
    pub(crate) all: Option<f64>,
    /// The loss of the samples that a stage is not fitted to; `None` if there are no such samples, or if y is unknown
    /// for all of them.
    pub(crate) out_of_bag: Option<f64>,
}

/// What a stage adds to the scores.
#[derive(Debug)]
pub(crate) enum Update<'u, T> {
    /// Sample i adds row `leaf_of[i]` of a table.
    Table { leaf_of: Vec<u32>, table: &'u [T] },
    /// Sample i adds `values[leaf_of[i]]` times the direction.
    RankOne { leaf_of: Vec<u32>, values: &'u [f64], direction: &'u [f64] },
    /// Sample i adds row i of the values, each multiplied by its element of the direction.
    Each { values: &'u [f64], direction: &'u [f64] },
}

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

/// Number of cells that are swept at a time.
const CHUNK_CELLS: usize = 1 << 16;
/// Number of cells whose negative gradients are projected together: they stay in the second-level cache.
const TILE_CELLS: usize = 1 << 14;

/// Updates scores that are stored; see [`Scored::sweep`]. Returns the loss of each sample, and bounds of the negative
/// gradients of each score.
fn sweep<T: Float>(
    data: &Data<'_, T>,
    scores: &mut [T],
    update: Option<&Update<'_, T>>,
    projector: Option<&Projector>,
    targets: &mut [f64],
    control: &Control,
) -> Result<(Vec<f64>, Vec<T>)> {
    let width = data.width;
    let n_targets = projector.map_or(0, Projector::n_targets);
    let n_rows = (CHUNK_CELLS / width).max(1);
    let mut losses = try_filled("the losses of rows", 0.0, data.n_samples)?;
    let (known, blocks) = (data.of_row.bounds(), data.of_row.in_blocks());
    let direction = update.map_or_else(|| Ok(Vec::new()), Update::direction)?;
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
            if let Some(update) = update {
                vectorised(
                    #[inline(always)]
                    || update.add_to(row, &direction, scores),
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

impl<T: Float> Update<'_, T> {
    /// Returns the direction in which samples are moved, in the type of scores.
    fn direction(&self) -> Result<Vec<T>> {
        match self {
            Update::Table { .. } => Ok(Vec::new()),
            Update::RankOne { direction, .. } | Update::Each { direction, .. } => {
                try_collected("the steps of a stage", direction.iter().map(|&v| T::from_f64(v)))
            }
        }
    }

    #[inline(always)]
    fn add_to(&self, row: usize, direction: &[T], scores: &mut [T]) {
        let width = scores.len();
        match self {
            Update::Table { leaf_of, table } => add(scores, &table[leaf_of[row] as usize * width..][..width]),
            Update::RankOne { leaf_of, values, .. } => {
                add_scaled(scores, T::from_f64(values[leaf_of[row] as usize]), direction);
            }
            Update::Each { values, .. } => {
                let values = values[row * width..][..width].iter().zip(direction);
                scores.iter_mut().zip(values).for_each(|(score, (&v, &d))| *score += T::from_f64(v) * d);
            }
        }
    }
}

const LEAVES: &str = "the leaves of a stage";

/// The samples to which a stage is fitted, by leaf: a leaf is a set of samples for which the weak model predicts the
/// same.
#[derive(Debug)]
pub(crate) struct Leaves<'s> {
    order: &'s [u32],
    ranges: Vec<Range<u32>>,
    /// The total weight of each leaf, in units.
    pub(crate) weights: Vec<f64>,
    /// The total weight of all leaves.
    pub(crate) total: Total,
}

impl<'s> Leaves<'s> {
    pub(crate) fn of_tree(structure: &'s Structure, weights: &Weights) -> Result<Self> {
        Leaves::new(&structure.order, try_collected(LEAVES, structure.leaf_samples.iter().cloned())?, weights)
    }

    /// Makes each sample a leaf of its own.
    pub(crate) fn single_rows(rows: &'s [u32], weights: &Weights) -> Result<Self> {
        Leaves::new(rows, try_collected(LEAVES, (0..rows.len() as u32).map(|i| i..i + 1))?, weights)
    }

    pub(crate) fn new(order: &'s [u32], ranges: Vec<Range<u32>>, weights: &Weights) -> Result<Self> {
        let rows_of = |range: &Range<u32>| order[range.start as usize..range.end as usize].iter();
        let total = |range| rows_of(range).map(|&row| weights.units(row as usize)).sum::<u64>() as f64;
        let mut totals = try_collected(LEAVES, ranges.iter().map(total))?;
        weights.workers().sum(&mut totals)?;
        let total = Total::of_sum(totals.iter().sum())?;
        Ok(Leaves { order, ranges, weights: totals, total })
    }

    pub(crate) fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Returns the leaf of each of `n_samples` samples; 0 for samples in no leaf.
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

/// Returns the number of samples whose sums are computed together; the sums of such chunks are added in their order.
fn chunk_rows(width: usize) -> usize {
    (CHUNK_CELLS / width).clamp(64, 1 << 13)
}

/// Calls `visit` with the sums over the samples of each leaf, leaf by leaf. The sums are `n_sums` numbers, to which
/// `add` adds those of some samples.
pub(crate) fn sum_by_leaf<S>(
    leaves: &Leaves<'_>,
    workers: &Workers,
    (n_sums, size): (usize, usize),
    control: &Control,
    scratch: impl Fn() -> Result<S> + Sync,
    add: impl Fn(&mut S, &[u32], &mut [f64]) -> Result<()> + Sync,
    mut visit: impl FnMut(usize, &[f64]) -> Result<()>,
) -> Result<()> {
    let mut chunks: Vec<(usize, &[u32])> = Vec::new();
    for leaf in 0..leaves.len() {
        let rows = leaves.rows(leaf);
        if rows.is_empty() {
            // Other workers may have samples of this leaf.
            try_push(SUMS, &mut chunks, (leaf, rows))?;
        }
        rows.chunks(size).try_for_each(|rows| try_push(SUMS, &mut chunks, (leaf, rows)))?;
    }
    // A few chunks are processed at a time: only their sums are in memory.
    let at_once = 4 * control.n_threads();
    let mut sums = try_filled(SUMS, 0.0, at_once.min(chunks.len()) * n_sums)?;
    let mut of_leaf = try_filled(SUMS, 0.0, n_sums)?;
    let next_leaf = |chunk: usize| chunks.get(chunk + 1).map(|(leaf, _)| *leaf);
    for (batch, chunks) in chunks.chunks(at_once).enumerate() {
        let jobs = chunks.iter().zip(sums.chunks_exact_mut(n_sums));
        pool::for_each(control.n_threads(), jobs, &scratch, |scratch, (&(_, rows), sums)| {
            control.check()?;
            sums.fill(0.0);
            add(scratch, rows, sums)
        })?;
        for (i, (&(leaf, _), sums)) in chunks.iter().zip(sums.chunks_exact(n_sums)).enumerate() {
            of_leaf.iter_mut().zip(sums).for_each(|(total, sum)| *total += sum);
            if next_leaf(batch * at_once + i) != Some(leaf) {
                workers.sum(&mut of_leaf)?;
                visit(leaf, &of_leaf)?;
                of_leaf.fill(0.0);
            }
        }
    }
    Ok(())
}

const SUMS: &str = "sums of gradients";

/// Calls `visit` with Σ w r of each leaf, in order; `bounds` are those of the negative gradients of each score.
pub(crate) fn leaf_sums<T: Float>(
    data: &Data<'_, T>,
    (scores, bounds): (&[T], &[T]),
    leaves: &Leaves<'_>,
    control: &Control,
    mut visit: impl FnMut(usize, &[f64]),
) -> Result<()> {
    let width = data.width;
    let grids = WeightedGrids::for_sums(bounds.iter().map(|bound| bound.to_f64()), leaves.total)?;
    let blocks = data.of_row.in_blocks();
    let scratch = || try_filled(SUMS, T::from_f64(0.0), width);
    let add = |r: &mut Vec<T>, rows: &[u32], sums: &mut [f64]| {
        if let Some(blocks) = blocks {
            let of_rows = rows.iter().flat_map(|&row| &scores[row as usize * width..][..width]);
            let mut block = try_with_capacity(SUMS, rows.len() * width)?;
            block.extend(of_rows.copied());
            let mut gradients = try_filled(SUMS, T::from_f64(0.0), block.len())?;
            let mut losses = try_filled(SUMS, 0.0, rows.len())?;
            let y = |i: usize| data.row(rows[i] as usize);
            blocks.block(y, &block, width, &mut losses, Some(&mut gradients))?;
            for (&row, r) in rows.iter().zip(gradients.chunks_exact(width)) {
                grids.add(data.weights.units(row as usize) as f64, r, sums);
            }
            return Ok(());
        }
        for &row in rows {
            let row = row as usize;
            data.of_row.negative_gradients(data.row(row), &scores[row * width..][..width], r);
            vectorised(
                #[inline(always)]
                || grids.add(data.weights.units(row) as f64, r, sums),
            );
        }
        Ok(())
    };
    sum_by_leaf(leaves, data.weights.workers(), (width, chunk_rows(width)), control, scratch, add, |leaf, sums| {
        visit(leaf, sums);
        Ok(())
    })
}

/// Calls `visit`, leaf by leaf, with Σ w r, Σ w h and the weight of the cells that are on, each for all columns one
/// after the other.
pub(crate) fn leaf_derivatives<T: Float>(
    data: &Data<'_, T>,
    scores: &[T],
    sums_of: &dyn RowSums<T>,
    leaves: &Leaves<'_>,
    control: &Control,
    visit: impl FnMut(usize, &[f64]) -> Result<()>,
) -> Result<()> {
    let width = data.width;
    let y = |row: u32| data.row(row as usize);
    let scores = |row: u32| &scores[row as usize * width..][..width];
    let units = |row: u32| data.weights.units(row as usize);
    let add = |_: &mut (), ids: &[u32], sums: &mut [f64]| {
        let (gradients, sums) = sums.split_at_mut(width);
        let (curvatures, on) = sums.split_at_mut(width);
        let rows = LeafRows { ids, y: &y, scores: &scores, units: &units, total: leaves.total };
        sums_of.add(&rows, gradients, curvatures)?;
        ids.iter().for_each(|&row| y(row).each_on(|j| on[j] += units(row) as f64));
        Ok(())
    };
    sum_by_leaf(leaves, data.weights.workers(), (3 * width, chunk_rows(width)), control, || Ok(()), add, visit)
}
