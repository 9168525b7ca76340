//! Leaves and steps of the logistic loss, from sums over leaves.
//!
//! A few columns of scores at a time are copied, in the order of the leaves, and their searches ask for their sums together,
//! so that other workers may have samples as well. Sums are exact: the result does not depend on how they are computed.

use std::ops::Range;

use super::Fit;
use super::search::{LeafDerivatives, LeafLine, LeafModel, Next, Search};
use crate::error::{Purpose, Result};
use crate::exact::reduce::Reduce;
use crate::loss::kernels::float::Float;
use crate::loss::kernels::off_sums::{BitGrids, Grids, IN_A_SUM, of_column, of_weighted_column};
use crate::loss::kernels::vector::vectorised;
use crate::pool;

const LEAVES: Purpose = Purpose("the leaves of a stage");
const ROWS: Purpose = Purpose("the rows of a stage");
const SCORES: Purpose = Purpose("columns of scores");

/// Number of columns that are copied at once: a cache line of every sample.
const COLUMNS: usize = 16;
/// Number of samples that are transposed to columns while they are in the first-level cache.
const AT_ONCE: usize = 64;

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
}

/// The weights of positions in units, and the grids of sums with them.
#[derive(Debug)]
enum UnitWeights {
    Ones(BitGrids),
    Any(Vec<f64>, Grids),
}

/// One column and its search.
#[derive(Debug)]
struct ColumnSearch {
    /// The direction of each leaf; empty if all columns have the same directions.
    directions: Vec<f64>,
    /// The search; `None` before it begins.
    search: Option<Search>,
    next: Next,
}

impl<'c, T: Float> StageColumns<'c, T> {
    pub(crate) fn new(fit: Fit<'c, T>, scores: &'c [f32]) -> Result<Self> {
        let leaves = fit.leaves;
        let mut rows = ROWS.with_capacity((0..leaves.len()).map(|leaf| leaves.rows(leaf).len()).sum())?;
        let mut pieces = Vec::new();
        for leaf in 0..leaves.len() {
            for piece in leaves.rows(leaf).chunks(IN_A_SUM) {
                ROWS.push(&mut pieces, (leaf, rows.len()..rows.len() + piece.len()))?;
                rows.extend_from_slice(piece);
            }
        }
        let units = |&row: &u32| leaves.units(row);
        let grids = Grids::new(leaves.total);
        let weights = match grids.of_bits() {
            Some(of_bits) if rows.iter().all(|row| units(row) == 1) => UnitWeights::Ones(of_bits),
            _ => UnitWeights::Any(ROWS.collected(rows.iter().map(|row| units(row) as f64))?, grids),
        };
        Ok(StageColumns { fit, scores, rows, weights, pieces })
    }

    /// Returns the steps of all columns along `values`, one for each leaf; or, if `values` is `None`, along mean
    /// negative gradients, which are written to `table`, one row for each leaf.
    pub(crate) fn steps(&self, values: Option<&[f64]>, table: &mut [f64]) -> Result<Vec<f64>> {
        let width = self.fit.data.width;
        let n_threads = self.fit.data.weights.workers().n_threads(self.fit.control.n_threads());
        let mut steps = Purpose("the steps of a stage").with_capacity(width)?;
        while steps.len() < width {
            // A few blocks are searched at a time: only their leaves are in memory twice.
            let first = steps.len();
            let n_blocks = (width - first).div_ceil(COLUMNS).min(4 * n_threads);
            let found = pool::map(n_threads, n_blocks, |block| {
                let start = first + block * COLUMNS;
                self.block(start..(start + COLUMNS).min(width), values)
            })?;
            for (step, directions) in found.into_iter().flatten() {
                let of_column = table.iter_mut().skip(steps.len()).step_by(width);
                of_column.zip(&directions).for_each(|(to, g)| *to = *g);
                steps.push(step);
            }
        }
        Ok(steps)
    }

    /// Searches the steps of some columns. Returns each with the directions of leaves, unless these are `values`.
    fn block(&self, columns: Range<usize>, values: Option<&[f64]>) -> Result<Vec<(f64, Vec<f64>)>> {
        let Fit { data, leaves, control, .. } = self.fit;
        let (workers, n_leaves) = (data.weights.workers(), leaves.len());
        let scores = self.copied(columns.clone())?;
        let scores = |at: usize| &scores[at * self.rows.len()..][..self.rows.len()];
        let on = self.weights_on(columns.clone())?;
        let mut model = LeafModel::with_leaves(n_leaves)?;
        let mut lines = LEAVES.with_capacity(columns.len())?;
        for _ in columns {
            let directions = LEAVES.filled(0.0, if values.is_none() { n_leaves } else { 0 })?;
            lines.push(ColumnSearch { directions, search: None, next: Next::At(0.0) });
        }
        loop {
            control.check()?;
            let mut sums = Vec::new();
            for (at, line) in lines.iter().enumerate() {
                if let Next::At(point) = line.next {
                    self.sum_column(scores(at), point, values.unwrap_or(&line.directions), &mut sums)?;
                }
            }
            if sums.is_empty() {
                break;
            }
            workers.sum(&mut sums)?;
            let open = lines.iter_mut().enumerate().filter(|(_, line)| matches!(line.next, Next::At(_)));
            for ((at, line), sums) in open.zip(sums.chunks_exact_mut(2 * n_leaves)) {
                self.go_on(line, values, &on[at * n_leaves..][..n_leaves], sums, &mut model);
            }
        }
        let step = |next: Next| match next {
            Next::At(_) => unreachable!("the loop ends when all searches have"),
            Next::Done(step) => step,
        };
        LEAVES.collected(lines.into_iter().map(|line| (step(line.next), line.directions)))
    }

    /// Copies some columns of scores, one after the other.
    fn copied(&self, columns: Range<usize>) -> Result<Vec<f32>> {
        let (n, width) = (self.rows.len(), self.fit.data.width);
        let mut scores = SCORES.filled(0.0, n * columns.len())?;
        for (tile, rows) in self.rows.chunks(AT_ONCE).enumerate() {
            for (column, to) in columns.clone().zip(scores.chunks_exact_mut(n)) {
                let cells = rows.iter().map(|&row| self.scores[row as usize * width + column]);
                to[tile * AT_ONCE..].iter_mut().zip(cells).for_each(|(to, score)| *to = score);
            }
        }
        Ok(scores)
    }

    /// Returns the total weight of samples for which a column is on, by column and leaf, over all workers.
    fn weights_on(&self, columns: Range<usize>) -> Result<Vec<f64>> {
        let Fit { data, leaves, .. } = self.fit;
        let mut weights = LEAVES.filled(0.0, columns.len() * leaves.len())?;
        for leaf in 0..leaves.len() {
            for &row in leaves.rows(leaf) {
                let on = data.row(row as usize).on();
                let on = &on[on.partition_point(|&j| (j as usize) < columns.start)..];
                for &j in on.iter().take_while(|j| (**j as usize) < columns.end) {
                    weights[(j as usize - columns.start) * leaves.len() + leaf] += leaves.units(row) as f64;
                }
            }
        }
        data.weights.workers().sum(&mut weights)?;
        Ok(weights)
    }

    /// Takes the sums that a search has asked for, gradients and then curvatures, of cells as if all were off.
    fn go_on(
        &self,
        line: &mut ColumnSearch,
        values: Option<&[f64]>,
        on: &[f64],
        sums: &mut [f64],
        model: &mut LeafModel,
    ) {
        let (gradients, curvatures) = sums.split_at_mut(on.len());
        gradients.iter_mut().zip(on).for_each(|(gradient, on)| *gradient = 2.0 * on - *gradient);
        let weights = &self.fit.leaves.weights[..];
        if line.search.is_none() {
            let means = gradients.iter().zip(weights).map(|(sum, weight)| sum / weight);
            line.directions.iter_mut().zip(means).for_each(|(g, mean)| *g = mean);
        }
        let sums = LeafDerivatives { gradients, curvatures };
        let of_leaves = LeafLine { directions: values.unwrap_or(&line.directions), weights, on };
        let search = line.search.get_or_insert_with(|| Search::new(of_leaves, sums));
        line.next = search.next(of_leaves, model, sums);
    }

    /// Appends the sums of a column by leaf, gradients and then curvatures, at the distance `point` along `directions`
    /// from its scores, of cells as if all were off.
    fn sum_column(&self, scores: &[f32], point: f64, directions: &[f64], sums: &mut Vec<f64>) -> Result<()> {
        let first = sums.len();
        LEAVES.resize(sums, first + 2 * directions.len(), 0.0)?;
        let (gradients, curvatures) = sums[first..].split_at_mut(directions.len());
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
                    gradients[*leaf] += gradient;
                    curvatures[*leaf] += curvature;
                }
            },
        );
        Ok(())
    }
}
