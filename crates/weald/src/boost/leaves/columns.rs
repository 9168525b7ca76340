//! Leaves and steps of the logistic loss, from sums over leaves.
//!
//! A few columns of scores at a time are copied, in the order of the leaves. Every search needs the sums at the current
//! scores, and nearly every search needs them at one more point: these are computed for all copied columns at once,
//! sample by sample (`tile`). Searches that need more points, and data with few columns, proceed one column at a time.

use std::ops::Range;

use super::Fit;
use super::search::{LeafDerivatives, LeafLine, LeafModel, Next, Search};
use super::tile::{Tile, UnitWeights};
use crate::error::{Purpose, Result};
use crate::exact::reduce::Reduce;
use crate::loss::kernels::float::Float;
use crate::loss::kernels::off_sums::{Grids, IN_A_SUM, LANES, of_column, of_weighted_column};
use crate::loss::kernels::vector::vectorised;
use crate::pool;

/// Maximum number of columns that are copied at once: a few cache lines of every sample.
const COLUMNS: usize = 64;
/// Number of cells that are copied at once, if they contain at least [`LANES`] columns.
const CELLS: usize = 1 << 20;

/// The samples of a stage, arranged for sums over leaves.
#[derive(Debug)]
pub(crate) struct StageColumns<'c, T: Float> {
    fit: Fit<'c, T>,
    scores: &'c [f32],
    /// The samples, leaf by leaf. Indices into this vector are called *positions*.
    rows: Vec<u32>,
    weights: UnitWeights,
    /// The leaves and their positions, in pieces of at most [`IN_A_SUM`].
    pieces: Vec<(usize, Range<usize>)>,
    /// The positions where column j is on are `on[on_ptr[j]..on_ptr[j + 1]]`, in increasing order.
    on_ptr: Vec<usize>,
    on: Vec<u32>,
}

/// The memory of one worker.
#[derive(Debug)]
struct Scratch {
    tile: Tile,
    /// The columns, one after the other.
    scores: Vec<f32>,
    sums: LeafDerivatives,
    model: LeafModel,
}

/// One column and its search.
#[derive(Clone, Debug)]
struct ColumnSearch {
    column: usize,
    /// The direction of each leaf; empty if all columns have the same directions.
    directions: Vec<f64>,
    /// For each leaf, the total weight of samples for which the column is on.
    on: Vec<f64>,
    /// The search; `None` before it begins.
    search: Option<Search>,
    next: Next,
}

impl<'c, T: Float> StageColumns<'c, T> {
    pub(crate) fn new(fit: Fit<'c, T>, scores: &'c [f32]) -> Result<Self> {
        let Fit { data, leaves, .. } = fit;
        const PURPOSE: Purpose = Purpose("the rows of a stage");
        let n: usize = (0..leaves.len()).map(|leaf| leaves.rows(leaf).len()).sum();
        let mut rows = PURPOSE.with_capacity(n)?;
        let mut pieces = Vec::new();
        for leaf in 0..leaves.len() {
            let mut start = rows.len();
            rows.extend_from_slice(leaves.rows(leaf));
            while start < rows.len() {
                let end = (start + IN_A_SUM).min(rows.len());
                PURPOSE.push(&mut pieces, (leaf, start..end))?;
                start = end;
            }
        }
        let mut on_ptr = PURPOSE.filled(0usize, data.width + 1)?;
        let on_of = |row: u32| data.row(row as usize).on();
        rows.iter().for_each(|&row| on_of(row).iter().for_each(|&j| on_ptr[j as usize + 1] += 1));
        (0..data.width).for_each(|j| on_ptr[j + 1] += on_ptr[j]);
        let mut on = PURPOSE.filled(0u32, on_ptr[data.width])?;
        let mut next = PURPOSE.copied(&on_ptr)?;
        for (position, &row) in (0..).zip(&rows) {
            for &j in on_of(row) {
                on[next[j as usize]] = position;
                next[j as usize] += 1;
            }
        }
        let units = |&row: &u32| leaves.units(row);
        let grids = Grids::new(leaves.total);
        let weights = match grids.of_bits() {
            Some(of_bits) if rows.iter().all(|row| units(row) == 1) => UnitWeights::Ones(of_bits),
            _ => UnitWeights::Any(PURPOSE.collected(rows.iter().map(|row| units(row) as f64))?, grids),
        };
        Ok(StageColumns { fit, scores, rows, weights, pieces, on_ptr, on })
    }

    /// Returns the steps of all columns along `values`, one for each leaf; or, if `values` is `None`, along mean
    /// negative gradients, which are written to `table`, one row for each leaf.
    pub(crate) fn steps(&self, values: Option<&[f64]>, table: &mut [f64]) -> Result<Vec<f64>> {
        if !self.fit.data.weights.workers().has_all_rows() {
            return self.steps_of_all(values, table);
        }
        let (width, n_threads) = (self.fit.data.width, self.fit.control.n_threads());
        let mut steps = Purpose("the steps of a stage").filled(0.0, width)?;
        let size = self.block_size();
        let n_blocks = width.div_ceil(size);
        // A few blocks are processed at a time: only their leaves are in memory twice.
        let at_once = 4 * n_threads;
        for first in (0..n_blocks).step_by(at_once) {
            let mut blocks: Vec<Vec<ColumnSearch>> = vec![Vec::new(); at_once.min(n_blocks - first)];
            let jobs = blocks.iter_mut().enumerate();
            pool::for_each(
                n_threads,
                jobs,
                || self.scratch(),
                |scratch, (i, block)| {
                    self.fit.control.check()?;
                    let start = (first + i) * size;
                    *block = self.block(start..(start + size).min(width), values, scratch)?;
                    Ok(())
                },
            )?;
            for line in blocks.iter().flatten() {
                if let Next::Done(step) = line.next {
                    steps[line.column] = step;
                }
            }
            let Some(start) = blocks[0].first().map(|line| line.column) else { continue };
            for (leaf, row) in table.chunks_exact_mut(width).enumerate() {
                row[start..].iter_mut().zip(blocks.iter().flatten()).for_each(|(to, line)| *to = line.directions[leaf]);
            }
        }
        Ok(steps)
    }

    /// Computes the steps of all columns if other workers also have samples: the searches of some columns request their
    /// sums together. Sums are exact, so that the result does not depend on how they are computed.
    fn steps_of_all(&self, values: Option<&[f64]>, table: &mut [f64]) -> Result<Vec<f64>> {
        let (workers, width, n_leaves) = (self.fit.data.weights.workers(), self.fit.data.width, self.fit.leaves.len());
        let mut steps = Purpose("the steps of a stage").filled(0.0, width)?;
        let mut found = LeafDerivatives::of_leaves(n_leaves)?;
        let mut model = LeafModel::with_leaves(n_leaves)?;
        let n = self.rows.len();
        let mut scores = Purpose("columns of scores").filled(0.0, n * COLUMNS.min(width))?;
        for first in (0..width).step_by(COLUMNS) {
            let columns = first..(first + COLUMNS).min(width);
            let mut lines = Purpose("the leaves of a stage").with_capacity(columns.len())?;
            let mut on = Purpose("the leaves of a stage").with_capacity(columns.len() * n_leaves)?;
            for (at, column) in columns.enumerate() {
                let line = self.line(column, values.is_none())?;
                on.extend_from_slice(&line.on);
                lines.push(line);
                let cells = self.rows.iter().map(|&row| self.scores[row as usize * width + column]);
                scores[at * n..][..n].iter_mut().zip(cells).for_each(|(to, score)| *to = score);
            }
            workers.sum(&mut on)?;
            lines.iter_mut().zip(on.chunks_exact(n_leaves)).for_each(|(line, on)| line.on.copy_from_slice(on));
            loop {
                self.fit.control.check()?;
                let mut sums = Vec::new();
                for (at, line) in lines.iter().enumerate() {
                    if let Next::At(point) = line.next {
                        let directions = values.unwrap_or(&line.directions);
                        self.sum_column(&scores[at * n..][..n], point, directions, &mut found);
                        Purpose("sums of gradients").extend(&mut sums, found.gradients.iter().copied())?;
                        Purpose("sums of gradients").extend(&mut sums, found.curvatures.iter().copied())?;
                    }
                }
                if sums.is_empty() {
                    break;
                }
                workers.sum(&mut sums)?;
                let open = lines.iter_mut().filter(|line| matches!(line.next, Next::At(_)));
                for (line, sums) in open.zip(sums.chunks_exact(2 * n_leaves)) {
                    found.gradients.copy_from_slice(&sums[..n_leaves]);
                    found.curvatures.copy_from_slice(&sums[n_leaves..]);
                    self.go_on(line, values, &mut found, &mut model);
                }
            }
            for line in &lines {
                if let Next::Done(step) = line.next {
                    steps[line.column] = step;
                }
                if values.is_none() {
                    let of_column = table[line.column..].iter_mut().step_by(width);
                    of_column.zip(&line.directions).for_each(|(to, g)| *to = *g);
                }
            }
        }
        Ok(steps)
    }

    /// Returns the number of columns that are copied at once.
    fn block_size(&self) -> usize {
        let size = (CELLS / self.rows.len()).clamp(LANES, COLUMNS) / LANES * LANES;
        size.min(self.fit.data.width)
    }

    fn line(&self, column: usize, has_directions: bool) -> Result<ColumnSearch> {
        let of_leaves = |n| Purpose("the leaves of a stage").filled(0.0, n);
        let n = self.fit.leaves.len();
        let directions = of_leaves(if has_directions { n } else { 0 })?;
        let mut line = ColumnSearch { column, directions, on: of_leaves(n)?, search: None, next: Next::At(0.0) };
        self.weights_on(column, &mut line.on);
        Ok(line)
    }

    fn scratch(&self) -> Result<Scratch> {
        Ok(Scratch {
            tile: Tile::new(self.block_size(), self.rows.len(), self.fit.leaves.len())?,
            scores: Purpose("columns of scores").filled(0.0, self.rows.len() * self.block_size().min(LANES))?,
            sums: LeafDerivatives::of_leaves(self.fit.leaves.len())?,
            model: LeafModel::with_leaves(self.fit.leaves.len())?,
        })
    }

    /// Searches the steps of some columns.
    fn block(&self, columns: Range<usize>, values: Option<&[f64]>, scratch: &mut Scratch) -> Result<Vec<ColumnSearch>> {
        let mut lines = Purpose("the leaves of a stage").with_capacity(columns.len())?;
        for column in columns.clone() {
            lines.push(self.line(column, values.is_none())?);
        }
        let width = self.fit.data.width;
        scratch.tile.copy(&self.rows, columns.len(), |row| &self.scores[row as usize * width..][columns.clone()]);
        if columns.len() >= LANES {
            for _ in 0..2 {
                self.fit.control.check()?;
                let of_line = |line: &ColumnSearch, leaf: usize| match line.next {
                    Next::At(point) => (point * values.unwrap_or(&line.directions)[leaf]) as f32,
                    Next::Done(_) => 0.0,
                };
                scratch.tile.move_leaves(lines.len(), |leaf, at| of_line(&lines[at], leaf));
                scratch.tile.sum(&self.pieces, &self.weights);
                for (at, line) in lines.iter_mut().enumerate() {
                    if matches!(line.next, Next::At(_)) {
                        scratch.tile.take_column(at, &mut scratch.sums);
                        self.go_on(line, values, &mut scratch.sums, &mut scratch.model);
                    }
                }
            }
        }
        let mut open: Vec<(usize, &mut ColumnSearch)> =
            lines.iter_mut().enumerate().filter(|(_, line)| matches!(line.next, Next::At(_))).collect();
        let (n, mut scores) = (self.rows.len(), std::mem::take(&mut scratch.scores));
        for lines in open.chunks_mut(LANES) {
            scratch.tile.turn(lines.iter().map(|(at, _)| *at), &mut scores);
            for ((_, line), scores) in lines.iter_mut().zip(scores.chunks_exact(n)) {
                while let Next::At(point) = line.next {
                    self.fit.control.check()?;
                    self.sum_column(scores, point, values.unwrap_or(&line.directions), &mut scratch.sums);
                    self.go_on(line, values, &mut scratch.sums, &mut scratch.model);
                }
            }
        }
        scratch.scores = scores;
        // Of the finished blocks, only the leaves are kept while the block waits for the others.
        lines.iter_mut().for_each(|line| line.on = Vec::new());
        Ok(lines)
    }

    /// Computes the sums that a search has asked for, of cells as if all were off.
    fn go_on(
        &self,
        line: &mut ColumnSearch,
        values: Option<&[f64]>,
        sums: &mut LeafDerivatives,
        model: &mut LeafModel,
    ) {
        sums.gradients.iter_mut().zip(&line.on).for_each(|(gradient, on)| *gradient = 2.0 * on - *gradient);
        if line.search.is_none() {
            let means = sums.gradients.iter().zip(&self.fit.leaves.weights);
            line.directions.iter_mut().zip(means).for_each(|(g, (sum, weight))| *g = sum / weight);
        }
        let directions = values.unwrap_or(&line.directions);
        let of_leaves = LeafLine { directions, weights: &self.fit.leaves.weights, on: &line.on };
        let search = line.search.get_or_insert_with(|| Search::new(of_leaves, sums));
        line.next = search.next(of_leaves, model, sums);
    }

    /// Returns the positions where column j is on.
    fn on(&self, j: usize) -> &[u32] {
        &self.on[self.on_ptr[j]..self.on_ptr[j + 1]]
    }

    /// Computes the total weight of samples for which column j is on, for each leaf.
    fn weights_on(&self, j: usize, weights: &mut [f64]) {
        let mut pieces = self.pieces.iter();
        let mut piece = pieces.next();
        for &position in self.on(j) {
            while let Some((leaf, positions)) = piece {
                if positions.contains(&(position as usize)) {
                    weights[*leaf] += match &self.weights {
                        UnitWeights::Ones(_) => 1.0,
                        UnitWeights::Any(weights, _) => weights[position as usize],
                    };
                    break;
                }
                piece = pieces.next();
            }
        }
    }

    /// Computes the sums of a column by leaf, at the distance `point` along `directions` from its scores, of cells as
    /// if all were off.
    fn sum_column(&self, scores: &[f32], point: f64, directions: &[f64], sums: &mut LeafDerivatives) {
        sums.gradients.fill(0.0);
        sums.curvatures.fill(0.0);
        vectorised(
            #[inline(always)]
            || {
                for (leaf, positions) in &self.pieces {
                    let step = (point * directions[*leaf]) as f32;
                    let scores = &scores[positions.clone()];
                    let (gradient, curvature) = match &self.weights {
                        UnitWeights::Ones(grids) => of_column(scores, step, *grids),
                        UnitWeights::Any(weights, grids) => {
                            of_weighted_column(scores, step, &weights[positions.clone()], *grids)
                        }
                    };
                    sums.gradients[*leaf] += gradient;
                    sums.curvatures[*leaf] += curvature;
                }
            },
        );
    }
}
