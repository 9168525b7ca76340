//! Leaves and steps of one stage as regularised Newton steps (see `loss::steps::newton`).
//!
//! | loss | a leaf and score | one value g for each leaf, and a step for each score |
//! |---|---|---|
//! | squared error (`scores`) | Σ w r / (Σ w + λ) | Σ w r g / (Σ w g² + λ Σ_l g_l²) |
//! | with curvature | Σ w r / (Σ w h + λ), halved while the loss of the leaf rises | Σ w r g / (Σ w h g² + λ Σ_l g_l²), halved alike |
//! | softmax | the same of each class, times (K − 1)/K; the classes of an output are halved together | the same |
//! | without curvature | the minimum over the leaf | the minimum along g |
//!
//! In each leaf, λ has the effect of λ samples of curvature 1. Along one value for each leaf, it stands for the same
//! penalty of all leaves, λ/2 times the squares of what leaves add, restricted to multiples of g. The result therefore
//! depends neither on the unit of y nor on that of projections.
//!
//! Losses that are summed by leaf take one pass over the samples, and the sums nearly always prove that the loss does
//! not rise. For the remaining *doubts*, the samples of the leaf are evaluated. For other losses, each leaf and column
//! is processed separately.
//!
//! Sums are exact, so that results depend neither on the order of the samples nor on the number of threads.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use super::Fit;
use super::sums::leaf_derivatives;
use crate::control::Control;
use crate::error::{Purpose, Result};
use crate::exact::{weighted_sum, weighted_sum_of_all};
use crate::loss::LineProblem;
use crate::loss::column::ColumnLoss;
use crate::loss::kernels::float::Float;
use crate::loss::outputs::ColumnLosses;
use crate::loss::rows::RowSums;
use crate::loss::steps::newton::{Change, LeafTotals, Regularization, halve_each, halved};
use crate::loss::working::NewtonLeaves;
use crate::pool;

const PURPOSE: Purpose = Purpose("the leaves of a stage");

/// Returns the values of the leaves of a stage, a row for each leaf.
pub(crate) fn table<T: Float>(fit: Fit<'_, T>, scores: &[T]) -> Result<Vec<f64>> {
    match fit.data.loss.newton_leaves() {
        NewtonLeaves::OfSums(sums) => Stage { fit, scores }.table_of_sums(&*sums),
        NewtonLeaves::OneByOne(losses) => Stage { fit, scores }.table_one_by_one(losses),
    }
}

/// Returns the steps of all scores along `values`, one for each leaf.
pub(crate) fn steps<T: Float>(fit: Fit<'_, T>, scores: &[T], values: &[f64]) -> Result<Vec<f64>> {
    match fit.data.loss.newton_leaves() {
        NewtonLeaves::OfSums(sums) => Stage { fit, scores }.steps_of_sums(&*sums, values),
        NewtonLeaves::OneByOne(losses) => Stage { fit, scores }.steps_one_by_one(losses, values),
    }
}

/// What all leaves of a stage share.
struct Stage<'s, T: Float> {
    fit: Fit<'s, T>,
    scores: &'s [T],
}

/// A leaf, and the columns for which the sums do not prove that their steps do not raise the loss; together with these
/// sums.
struct Doubt {
    leaf: usize,
    line: usize,
    sums: Vec<f64>,
}

/// A leaf whose samples move by g times some steps, and sums over them.
#[derive(Clone, Copy)]
struct Moved<'a> {
    leaf: usize,
    g: f64,
    totals: LeafTotals<'a>,
}

/// Writes `steps` times a factor.
fn scale(to: &mut [f64], steps: &[f64], by: f64) {
    to.iter_mut().zip(steps).for_each(|(to, step)| *to = step * by);
}

/// Selects the part of some columns from the sums of a leaf, which has all columns one after the other; see
/// [`leaf_derivatives`].
fn totals(sums: &[f64], columns: Range<usize>, weight: f64) -> LeafTotals<'_> {
    let width = sums.len() / 3;
    let part = |at: usize| &sums[at * width..][columns.clone()];
    LeafTotals { weight, gradients: part(0), curvatures: part(1), on: part(2) }
}

impl<T: Float> Stage<'_, T> {
    /// Returns the regularisation for sums in which a sample counts by what its units contribute.
    fn in_sums(&self) -> Regularization {
        self.fit.config.regularization().of_units(self.fit.data.weights.unit, self.fit.data.weights.in_sums(1))
    }

    /// Computes the table of leaves, one row for each leaf.
    fn table_of_sums(&self, sums_of: &dyn RowSums<T>) -> Result<Vec<f64>> {
        let (loss, width, regularization) = (self.fit.data.loss, self.fit.data.width, self.fit.in_units());
        let mut table = PURPOSE.filled(0.0, self.fit.leaves.len() * width)?;
        let doubts = Mutex::new(Vec::new());
        leaf_derivatives(self.fit, self.scores, sums_of, &mut table, |leaf, sums, steps| {
            for line in 0..loss.n_lines(width) {
                let columns = loss.columns_of(line);
                let steps = &mut steps[columns.clone()];
                let of_leaf = totals(sums, columns, self.fit.leaves.weights[leaf]);
                loss.newton_steps(of_leaf, regularization, steps);
                if loss.bounds_of_change(line, of_leaf, steps).rises() != Some(false) {
                    let mut sums = PURPOSE.with_capacity(3 * steps.len())?;
                    for part in [of_leaf.gradients, of_leaf.curvatures, of_leaf.on] {
                        sums.extend_from_slice(part);
                    }
                    let mut doubts = doubts.lock().unwrap_or_else(PoisonError::into_inner);
                    PURPOSE.push(&mut doubts, Doubt { leaf, line, sums })?;
                }
            }
            Ok(())
        })?;
        let doubts = doubts.into_inner().unwrap_or_else(PoisonError::into_inner);
        let n_threads = self.fit.data.weights.workers().n_threads(self.fit.control.n_threads());
        let found = pool::map(n_threads, doubts.len(), |i| {
            let Doubt { leaf, line, sums } = &doubts[i];
            let columns = loss.columns_of(*line);
            let of_leaf = totals(sums, 0..columns.len(), self.fit.leaves.weights[*leaf]);
            let steps = &table[leaf * width..][columns];
            self.kept_length(*line, steps, &[Moved { leaf: *leaf, g: 1.0, totals: of_leaf }])
        })?;
        for (Doubt { leaf, line, .. }, length) in doubts.iter().zip(found) {
            table[leaf * width..][loss.columns_of(*line)].iter_mut().for_each(|step| *step *= length);
        }
        Ok(table)
    }

    /// Computes a step for each score along `values`, one for each leaf.
    fn steps_of_sums(&self, sums_of: &dyn RowSums<T>, values: &[f64]) -> Result<Vec<f64>> {
        let (loss, width, regularization) =
            (self.fit.data.loss, self.fit.data.width, self.fit.in_units().along(values));
        let mut of_leaves = PURPOSE.filled(0.0, self.fit.leaves.len() * 3 * width)?;
        leaf_derivatives(self.fit, self.scores, sums_of, &mut of_leaves, |_, sums, of_leaf| {
            of_leaf.copy_from_slice(sums);
            Ok(())
        })?;
        let n_threads = self.fit.data.weights.workers().n_threads(self.fit.control.n_threads());
        let found = pool::map(n_threads, loss.n_lines(width), |line| {
            self.fit.control.check()?;
            let columns = loss.columns_of(line);
            let k = columns.len();
            let of_leaf = |leaf: usize| {
                totals(&of_leaves[leaf * 3 * width..][..3 * width], columns.clone(), self.fit.leaves.weights[leaf])
            };
            // Sums over samples of r g and h g².
            let mut along = PURPOSE.filled(0.0, 3 * k)?;
            for (leaf, g) in values.iter().enumerate() {
                let LeafTotals { gradients, curvatures, .. } = of_leaf(leaf);
                let (of_gradients, of_curvatures) = along[..2 * k].split_at_mut(k);
                of_gradients.iter_mut().zip(gradients).for_each(|(sum, gradient)| *sum += g * gradient);
                of_curvatures.iter_mut().zip(curvatures).for_each(|(sum, curvature)| *sum += g * g * curvature);
            }
            let mut steps = PURPOSE.filled(0.0, k)?;
            loss.newton_steps(totals(&along, 0..k, 0.0), regularization, &mut steps);
            let moved = values.iter().enumerate().map(|(leaf, &g)| Moved { leaf, g, totals: of_leaf(leaf) });
            let length = self.kept_length(line, &steps, &PURPOSE.collected(moved)?)?;
            steps.iter_mut().for_each(|step| *step *= length);
            Ok(steps)
        })?;
        let mut steps = PURPOSE.with_capacity(width)?;
        found.into_iter().try_for_each(|of_line| PURPOSE.extend(&mut steps, of_line))?;
        Ok(steps)
    }

    /// Returns the factor of the steps of a line, a power of two: the steps are halved while the loss over these leaves
    /// rises.
    fn kept_length(&self, line: usize, steps: &[f64], leaves: &[Moved<'_>]) -> Result<f64> {
        let mut moves = PURPOSE.filled(0.0, steps.len())?;
        let mut changes = PURPOSE.filled(Change::NONE, leaves.len())?;
        let mut order = PURPOSE.collected(0..leaves.len())?;
        let total = |changes: &[Change]| changes.iter().fold(Change::NONE, |sum, &change| sum.and(change)).rises();
        halved(1.0, |length| {
            self.fit.control.check()?;
            for (change, leaf) in changes.iter_mut().zip(leaves) {
                scale(&mut moves, steps, length * leaf.g);
                *change = self.fit.data.loss.bounds_of_change(line, leaf.totals, &moves);
            }
            if let Some(rises) = total(&changes) {
                return Ok(rises);
            }
            // The samples of leaves are evaluated until the sum is known well enough, beginning with the leaf with the
            // widest bounds.
            order.sort_unstable_by(|&a, &b| changes[b].width().total_cmp(&changes[a].width()).then(a.cmp(&b)));
            for (n_looked_at, &i) in (1usize..).zip(&order) {
                scale(&mut moves, steps, length * leaves[i].g);
                changes[i] = Change::exactly(self.change(line, leaves[i].leaf, &moves)?);
                if (n_looked_at.is_power_of_two() || n_looked_at == leaves.len())
                    && let Some(rises) = total(&changes)
                {
                    return Ok(rises);
                }
            }
            // NaN.
            Ok(true)
        })
    }

    /// Returns by how much the loss of a line changes over the samples of a leaf.
    fn change(&self, line: usize, leaf: usize, moves: &[f64]) -> Result<f64> {
        let (loss, width) = (self.fit.data.loss, self.fit.data.width);
        let (columns, rows) = (loss.columns_of(line), self.fit.leaves.rows(leaf));
        let of_row = |&row: &u32| {
            let scores = &self.scores[row as usize * width..][columns.clone()];
            loss.change(line, self.fit.data.row(row as usize), scores, moves)
        };
        let changes = PURPOSE.collected(rows.iter().map(of_row))?;
        let weights = PURPOSE.collected(rows.iter().map(|&row| self.fit.leaves.units(row) as f64))?;
        weighted_sum_of_all(&weights, &changes, self.fit.data.weights.workers())
    }

    fn table_one_by_one(&self, losses: ColumnLosses<'_>) -> Result<Vec<f64>> {
        let width = self.fit.data.width;
        let one = if self.fit.leaves.len() > 1 { self.fit.control.on_one_thread() } else { self.fit.control.clone() };
        let found = pool::map(self.fit.control.n_threads(), self.fit.leaves.len(), |leaf| {
            let rows = self.fit.leaves.rows(leaf);
            if let ColumnLosses::One(loss) = losses
                && loss.takes_blocks()
                && !rows.is_empty()
            {
                return self.leaf_in_blocks(loss, rows, &one);
            }
            let direction = PURPOSE.filled(1.0, rows.len())?;
            let mut steps = PURPOSE.with_capacity(width)?;
            for column in 0..width {
                let loss = losses.of(column);
                steps.push(self.with_line(loss, column, rows, &direction, &one, |line, regularization| {
                    loss.leaf_value(line, regularization)
                })?);
            }
            Ok(steps)
        })?;
        let mut table = PURPOSE.with_capacity(self.fit.leaves.len() * width)?;
        found.into_iter().try_for_each(|of_leaf: Vec<f64>| PURPOSE.extend(&mut table, of_leaf))?;
        Ok(table)
    }

    /// Computes the steps of one leaf, for a loss that processes all columns of its samples at once.
    fn leaf_in_blocks(&self, loss: &dyn ColumnLoss, rows: &[u32], control: &Control) -> Result<Vec<f64>> {
        let (width, n) = (self.fit.data.width, rows.len());
        let cells = self.cells(loss, 0..width, rows, control)?;
        let (mut gradients, mut curvatures) = (PURPOSE.filled(0.0, n * width)?, PURPOSE.filled(0.0, n * width)?);
        loss.derivatives(&cells.y, &cells.scores, &mut gradients, &mut curvatures);
        control.check()?;
        let mut steps = PURPOSE.with_capacity(width)?;
        let direction = PURPOSE.filled(1.0, n)?;
        for column in 0..width {
            let at = column * n..(column + 1) * n;
            let gradient = weighted_sum(&cells.weights, &gradients[at.clone()]);
            let curvature = weighted_sum(&cells.weights, &curvatures[at]);
            let step = if curvature == 0.0 && gradient != 0.0 {
                loss.leaf_value(&cells.line(column, &direction, control), self.in_sums())?
            } else {
                self.in_sums().step(gradient, curvature)
            };
            steps.push(if step.is_finite() { step } else { 0.0 });
        }
        let sums = |y: &[f64], scores: &[f64]| -> Result<Vec<f64>> {
            let mut values = PURPOSE.filled(0.0, y.len())?;
            loss.values(y, scores, &mut values);
            control.check()?;
            PURPOSE.collected(values.chunks_exact(n).map(|values| weighted_sum(&cells.weights, values)))
        };
        let before = sums(&cells.y, &cells.scores)?;
        halve_each(&mut steps, |left, steps, raised| {
            let len = left.len() * n;
            let (mut y, mut moved) = (PURPOSE.with_capacity(len)?, PURPOSE.with_capacity(len)?);
            for &column in left {
                y.extend_from_slice(&cells.y[column * n..][..n]);
                moved.extend(cells.scores[column * n..][..n].iter().map(|score| score + steps[column]));
            }
            let after = sums(&y, &moved)?;
            raised.extend(left.iter().zip(after).map(|(&column, after)| after > before[column] || after.is_nan()));
            Ok(())
        })?;
        Ok(steps)
    }

    fn steps_one_by_one(&self, losses: ColumnLosses<'_>, values: &[f64]) -> Result<Vec<f64>> {
        let width = self.fit.data.width;
        let n = (0..self.fit.leaves.len()).map(|leaf| self.fit.leaves.rows(leaf).len()).sum();
        let (mut rows, mut direction) = (PURPOSE.with_capacity(n)?, PURPOSE.with_capacity(n)?);
        for (leaf, &g) in values.iter().enumerate() {
            rows.extend_from_slice(self.fit.leaves.rows(leaf));
            direction.resize(rows.len(), g);
        }
        let one = if width > 1 { self.fit.control.on_one_thread() } else { self.fit.control.clone() };
        pool::map(self.fit.control.n_threads(), width, |column| {
            let loss = losses.of(column);
            self.with_line(loss, column, &rows, &direction, &one, |line, regularization| {
                loss.newton_step(line, regularization.along(values))
            })
        })
    }

    /// Calls `find` with one column of some samples.
    fn with_line(
        &self,
        loss: &dyn ColumnLoss,
        column: usize,
        rows: &[u32],
        direction: &[f64],
        control: &Control,
        find: impl FnOnce(&LineProblem<'_>, Regularization) -> Result<f64>,
    ) -> Result<f64> {
        let cells = self.cells(loss, column..column + 1, rows, control)?;
        find(&cells.line(0, direction, control), self.in_sums())
    }

    /// Gathers some columns of some samples.
    fn cells(&self, loss: &dyn ColumnLoss, columns: Range<usize>, rows: &[u32], control: &Control) -> Result<Cells> {
        control.check()?;
        let (data, off, n_cells) = (self.fit.data, loss.domain().off(), rows.len() * columns.len());
        let (mut y, mut scores) = (PURPOSE.with_capacity(n_cells)?, PURPOSE.with_capacity(n_cells)?);
        for column in columns {
            y.extend(rows.iter().map(|&row| data.row(row as usize).of_column(column, off)));
            scores.extend(rows.iter().map(|&row| self.scores[row as usize * data.width + column].to_f64()));
        }
        let weight = |&row: &u32| self.fit.leaves.weight_in_sums(row);
        Ok(Cells { y, scores, weights: PURPOSE.collected(rows.iter().map(weight))? })
    }
}

/// y and scores of some columns of some samples, one column after the other, and the weights of the samples.
struct Cells {
    y: Vec<f64>,
    scores: Vec<f64>,
    weights: Vec<f64>,
}

impl Cells {
    fn line<'c>(&'c self, column: usize, direction: &'c [f64], control: &'c Control) -> LineProblem<'c> {
        let at = column * self.weights.len()..(column + 1) * self.weights.len();
        LineProblem { y: &self.y[at.clone()], scores: &self.scores[at], direction, weights: &self.weights, control }
    }
}
