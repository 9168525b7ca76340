//! Leaves and steps of the logistic loss, a column of scores at a time.
//!
//! A few columns at once are copied out of the rows, in the order of the leaves, and each is searched to its end while it is
//! in the cache: the sums of its leaves at the scores as they are, its leaves, and as many more sums as its search asks
//! for. To the loss a column is one long row, whose cells are on where rows are.

use std::ops::Range;

use super::leaf_search::{LeafDerivatives, LeafLine, Model};
use super::loss::grid::OnGrid;
use super::loss::rows::RowTargets;
use super::state::{Data, Leaves, State};
use super::vector::{Score, vectorised};
use crate::control::Control;
use crate::error::{Result, try_filled, try_with_capacity};
use crate::pool;

/// Columns that are copied at once, at most: a few lines of the cache out of every row.
const COLUMNS: usize = 64;
/// At least: a line.
const FEW_COLUMNS: usize = 16;
/// Cells that are copied at once, if these are that many columns.
const CELLS: usize = 1 << 20;
/// Cells whose derivatives are in the first cache.
const CHUNK: usize = 2048;

/// Rows of a stage, ready to be read by columns.
#[derive(Debug)]
pub(crate) struct Columns<'c, T: Score> {
    data: &'c Data<'c, T>,
    state: &'c State<T>,
    leaves: &'c Leaves<'c>,
    control: &'c Control,
    /// Rows, leaf by leaf. Their places in it are *positions*.
    rows: Vec<u32>,
    /// Of each position, in units; `None` if all are 1.
    weights: Option<Vec<f64>>,
    /// Leaves and positions in pieces that no chunk divides.
    pieces: Vec<(usize, Range<usize>)>,
    /// Where column j is on: positions `on[on_ptr[j]..on_ptr[j + 1]]`, rising.
    on_ptr: Vec<usize>,
    on: Vec<u32>,
    /// Round gradients and curvatures.
    magic: (T, T),
}

/// One worker's memory.
#[derive(Debug)]
struct Scratch<T> {
    /// Columns, one after the other.
    scores: Vec<T>,
    steps: Vec<T>,
    gradients: Vec<T>,
    curvatures: Vec<T>,
    on: Vec<u32>,
    on_weights: Vec<f64>,
    sums: LeafDerivatives,
    model: Model,
}

/// Leaves and steps of some columns.
#[derive(Debug)]
struct Block {
    /// A row of leaves for each column.
    directions: Vec<f64>,
    steps: Vec<f64>,
}

impl<'c, T: Score> Columns<'c, T> {
    pub(crate) fn new(
        data: &'c Data<'c, T>,
        state: &'c State<T>,
        leaves: &'c Leaves<'c>,
        control: &'c Control,
    ) -> Result<Self> {
        const WHAT: &str = "the rows of a stage";
        let n: usize = (0..leaves.len()).map(|leaf| leaves.rows(leaf).len()).sum();
        let mut rows = try_with_capacity(WHAT, n)?;
        let mut pieces = Vec::new();
        for leaf in 0..leaves.len() {
            let mut start = rows.len();
            rows.extend_from_slice(leaves.rows(leaf));
            while start < rows.len() {
                let end = (start + 1).next_multiple_of(CHUNK).min(rows.len());
                pieces.push((leaf, start..end));
                start = end;
            }
        }
        let mut on_ptr = try_filled(WHAT, 0usize, data.width + 1)?;
        let on_of = |row: u32| match data.row(row as usize) {
            RowTargets::On(on) => on,
            RowTargets::Numbers(_) => unreachable!("the logistic loss is of labels and classes"),
        };
        rows.iter().for_each(|&row| on_of(row).iter().for_each(|&j| on_ptr[j as usize + 1] += 1));
        (0..data.width).for_each(|j| on_ptr[j + 1] += on_ptr[j]);
        let mut on = try_filled(WHAT, 0u32, on_ptr[data.width])?;
        let mut next = on_ptr.clone();
        for (position, &row) in (0..).zip(&rows) {
            for &j in on_of(row) {
                on[next[j as usize]] = position;
                next[j as usize] += 1;
            }
        }
        let units = |&row: &u32| data.weights.units(row as usize);
        let weights = if rows.iter().all(|row| units(row) == 1) {
            None
        } else {
            let mut weights = try_with_capacity(WHAT, n)?;
            weights.extend(rows.iter().map(|row| units(row) as f64));
            Some(weights)
        };
        let total = leaves.weights.iter().sum();
        let (gradient, curvature) = data.loss.bounds().expect("the logistic loss has bounds");
        let magic = (T::magic(gradient, total), T::magic(curvature, total));
        Ok(Columns { data, state, leaves, control, rows, weights, pieces, on_ptr, on, magic })
    }

    /// Steps of all columns along `values`, one for each leaf; or along mean negative gradients, which are written to
    /// `table`, a row for each leaf.
    pub(crate) fn steps(&self, values: Option<&[f64]>, table: &mut [f64]) -> Result<Vec<f64>> {
        let (width, n_leaves) = (self.data.width, self.leaves.len());
        let mut steps = try_with_capacity("the steps of a stage", width)?;
        let size = self.block_size();
        let n_blocks = width.div_ceil(size);
        let n_threads = self.control.n_threads();
        // A few blocks at a time: their leaves are all that is held twice.
        let at_once = 4 * n_threads;
        let mut first = 0;
        while first < n_blocks {
            let mut blocks: Vec<Option<Block>> = Vec::new();
            blocks.resize_with(at_once.min(n_blocks - first), || None);
            let scratch = || self.scratch();
            pool::for_each(n_threads, blocks.iter_mut().enumerate(), scratch, |scratch, (i, block)| {
                self.control.check()?;
                let start = (first + i) * size;
                *block = Some(self.block(start..(start + size).min(width), values, scratch)?);
                Ok(())
            })?;
            for block in blocks.into_iter().flatten() {
                let from = steps.len();
                steps.extend_from_slice(&block.steps);
                if values.is_none() {
                    let columns = block.steps.len();
                    for (leaf, row) in table.chunks_exact_mut(width).enumerate() {
                        let of_leaf = block.directions.iter().skip(leaf).step_by(n_leaves);
                        row[from..from + columns].iter_mut().zip(of_leaf).for_each(|(to, &g)| *to = g);
                    }
                }
            }
            first += at_once;
        }
        Ok(steps)
    }

    /// Columns that are copied at once.
    fn block_size(&self) -> usize {
        (CELLS / self.rows.len()).clamp(FEW_COLUMNS, COLUMNS).min(self.data.width)
    }

    fn scratch(&self) -> Result<Scratch<T>> {
        const WHAT: &str = "columns of scores";
        let zero = T::from_f64(0.0);
        let chunk = || try_filled(WHAT, zero, CHUNK.min(self.rows.len()));
        let of_leaves = || try_filled(WHAT, 0.0, self.leaves.len());
        Ok(Scratch {
            scores: try_filled(WHAT, zero, self.rows.len() * self.block_size())?,
            steps: chunk()?,
            gradients: chunk()?,
            curvatures: chunk()?,
            on: Vec::new(),
            on_weights: of_leaves()?,
            sums: LeafDerivatives { gradients: of_leaves()?, curvatures: of_leaves()? },
            model: Model::default(),
        })
    }

    fn block(&self, columns: Range<usize>, values: Option<&[f64]>, scratch: &mut Scratch<T>) -> Result<Block> {
        let (n, n_leaves) = (self.rows.len(), self.leaves.len());
        let mut block = Block { directions: Vec::new(), steps: Vec::new() };
        if values.is_none() {
            block.directions = try_filled("the leaves of a stage", 0.0, n_leaves * columns.len())?;
        }
        let mut all = std::mem::take(&mut scratch.scores);
        self.copy(columns.clone(), &mut all);
        for (at, j) in columns.enumerate() {
            let scores = &all[at * n..][..n];
            let mut sums = std::mem::take(&mut scratch.sums);
            self.sums(j, scores, None, scratch, &mut sums);
            let directions = match values {
                Some(values) => values,
                None => {
                    let g = &mut block.directions[at * n_leaves..][..n_leaves];
                    let means = sums.gradients.iter().zip(&self.leaves.weights);
                    g.iter_mut().zip(means).for_each(|(g, (sum, weight))| *g = sum / weight);
                    g
                }
            };
            let mut on = std::mem::take(&mut scratch.on_weights);
            self.weights_on(j, &mut on);
            let line = LeafLine { directions, weights: &self.leaves.weights, on: &on };
            let mut model = std::mem::take(&mut scratch.model);
            let step = line.search(&mut model, &mut sums, |point, sums| {
                self.control.check()?;
                self.sums(j, scores, Some((point, directions)), scratch, sums);
                Ok(())
            })?;
            block.steps.push(step);
            (scratch.on_weights, scratch.model, scratch.sums) = (on, model, sums);
        }
        scratch.scores = all;
        Ok(block)
    }

    /// Columns of scores, one after the other, each by position. Rows lie far apart: a few are fetched at once, with
    /// nothing in between, so that the memory is asked for all of them together.
    fn copy(&self, columns: Range<usize>, to: &mut [T]) {
        const ROWS: usize = 64;
        let (n, width, len) = (self.rows.len(), self.data.width, columns.len());
        let mut fetched = [T::from_f64(0.0); ROWS * COLUMNS];
        for (tile, rows) in self.rows.chunks(ROWS).enumerate() {
            for (to, &row) in fetched.chunks_exact_mut(COLUMNS).zip(rows) {
                to[..len].copy_from_slice(&self.state.scores[row as usize * width..][columns.clone()]);
            }
            for (at, to) in to.chunks_exact_mut(n).take(len).enumerate() {
                let to = to[tile * ROWS..].iter_mut().zip(fetched[at..].iter().step_by(COLUMNS));
                to.take(rows.len()).for_each(|(to, score)| *to = *score);
            }
        }
    }

    /// Positions where column j is on.
    fn on(&self, j: usize) -> &[u32] {
        &self.on[self.on_ptr[j]..self.on_ptr[j + 1]]
    }

    /// Total weight of rows that are on, by leaf.
    fn weights_on(&self, j: usize, weights: &mut [f64]) {
        weights.fill(0.0);
        let mut pieces = self.pieces.iter();
        let mut piece = pieces.next();
        for &position in self.on(j) {
            while let Some((leaf, positions)) = piece {
                if positions.contains(&(position as usize)) {
                    weights[*leaf] += self.weights.as_ref().map_or(1.0, |weights| weights[position as usize]);
                    break;
                }
                piece = pieces.next();
            }
        }
    }

    /// Sums of column j by leaf, `along` so far from its scores.
    fn sums(
        &self,
        j: usize,
        scores: &[T],
        along: Option<(f64, &[f64])>,
        scratch: &mut Scratch<T>,
        sums: &mut LeafDerivatives,
    ) {
        sums.gradients.fill(0.0);
        sums.curvatures.fill(0.0);
        let mut on = self.on(j);
        let mut pieces = self.pieces.as_slice();
        let Scratch { steps, gradients, curvatures, on: on_of_chunk, .. } = scratch;
        for (chunk, scores) in scores.chunks(CHUNK).enumerate() {
            let (start, len) = (chunk * CHUNK, scores.len());
            let (of_chunk, rest) = pieces.split_at(pieces.partition_point(|(_, p)| p.start < start + len));
            pieces = rest;
            let (steps, r, h) = (&mut steps[..len], &mut gradients[..len], &mut curvatures[..len]);
            match along {
                None => steps.fill(T::from_f64(0.0)),
                Some((point, directions)) => {
                    for (leaf, positions) in of_chunk {
                        let step = T::from_f64(point * directions[*leaf]);
                        steps[positions.start - start..positions.end - start].fill(step);
                    }
                }
            }
            let (on_here, on_later) = on.split_at(on.partition_point(|&p| (p as usize) < start + len));
            on = on_later;
            on_of_chunk.clear();
            on_of_chunk.extend(on_here.iter().map(|&p| p - start as u32));
            self.data.loss.derivatives(RowTargets::On(on_of_chunk), scores, steps, r, h);
            vectorised(
                #[inline(always)]
                || {
                    for (leaf, positions) in of_chunk {
                        let here = positions.start - start..positions.end - start;
                        let weights = self.weights.as_ref().map(|weights| &weights[positions.clone()]);
                        sums.gradients[*leaf] += sum(&r[here.clone()], self.magic.0, weights);
                        sums.curvatures[*leaf] += sum(&h[here], self.magic.1, weights);
                    }
                },
            );
        }
    }
}

/// Σ of values times weights, each value rounded.
#[inline(always)]
fn sum<T: OnGrid>(values: &[T], magic: T, weights: Option<&[f64]>) -> f64 {
    match weights {
        None => T::sum_rounded(values, magic),
        Some(weights) => values.iter().zip(weights).map(|(value, w)| w * value.round(magic).to_f64()).sum(),
    }
}
