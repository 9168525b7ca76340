//! Any loss of one score, over the known cells of y. NaN is an unknown cell, whose loss is zero for every score.
//!
//! Its gradient and its curvature are zero, too. Searches over samples leave out those with unknown cells and call the
//! loss for the others. There are no kernels for rows and no sums over leaves in float32: cells are computed one by
//! one, and leaves are searched one by one.

use super::column::{ColumnLoss, NumberColumn, forwarded};
use super::kernels::float::Float;
use super::outputs::ColumnLosses;
use super::steps::newton::Regularization;
use super::{Bounds, Domain, LineProblem, Link, Loss, ROWS};
use crate::control::Control;
use crate::data::train_y::RealTargets;
use crate::data::{Outputs, Weights};
use crate::error::{Purpose, Result};
use crate::exact::exact_mean;
use crate::pool;

/// The loss over the known cells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownCells<'l>(pub(crate) &'l dyn ColumnLoss);

/// Returns the items of the samples whose y is known.
fn of_known(y: &[f64], items: &[f64]) -> Result<Vec<f64>> {
    let mut kept = Vec::new();
    for (_, &item) in y.iter().zip(items).filter(|(y, _)| !y.is_nan()) {
        ROWS.push(&mut kept, item)?;
    }
    Ok(kept)
}

impl<'l> KnownCells<'l> {
    /// Returns these losses for the losses of columns, which are one for all columns or one for each.
    pub(crate) fn of(losses: ColumnLosses<'l>) -> Result<Vec<KnownCells<'l>>> {
        Purpose("the losses of outputs").collected((0..losses.n_losses()).map(|column| KnownCells(losses.of(column))))
    }

    /// Calls `search` with the samples whose y is known. If there are none, the step is zero.
    fn search(&self, problem: &LineProblem<'_>, search: impl FnOnce(&LineProblem<'_>) -> Result<f64>) -> Result<f64> {
        if problem.y.iter().all(|y| !y.is_nan()) {
            return search(problem);
        }
        let known = |items| of_known(problem.y, items);
        let (y, scores) = (known(problem.y)?, known(problem.scores)?);
        let (direction, weights) = (known(problem.direction)?, known(problem.weights)?);
        if y.is_empty() {
            return Ok(0.0);
        }
        let control = problem.control;
        search(&LineProblem { y: &y, scores: &scores, direction: &direction, weights: &weights, control })
    }
}

impl Loss for KnownCells<'_> {
    forwarded! { self => self.0;
        fn name() -> &str;
        fn link(outputs: &Outputs) -> Link;
        fn domain() -> Domain;
        fn bounds() -> Option<Bounds>;
        fn check() -> Result<()>;
        fn takes_blocks() -> bool;
    }

    fn value(&self, y: f64, score: f64) -> f64 {
        if y.is_nan() { 0.0 } else { self.0.value(y, score) }
    }

    fn negative_gradient(&self, y: f64, score: f64) -> f64 {
        if y.is_nan() { 0.0 } else { self.0.negative_gradient(y, score) }
    }

    fn curvature(&self, y: f64, score: f64) -> f64 {
        if y.is_nan() { 0.0 } else { self.0.curvature(y, score) }
    }

    fn values(&self, y: &[f64], scores: &[f64], values: &mut [f64]) {
        let (known_y, known_scores) = known_cells(y, scores);
        let mut found = vec![0.0; known_y.len()];
        self.0.values(&known_y, &known_scores, &mut found);
        spread(y, &found, values);
    }

    fn derivatives(&self, y: &[f64], scores: &[f64], negative_gradients: &mut [f64], curvatures: &mut [f64]) {
        let (known_y, known_scores) = known_cells(y, scores);
        let (mut gradients, mut found) = (vec![0.0; known_y.len()], vec![0.0; known_y.len()]);
        self.0.derivatives(&known_y, &known_scores, &mut gradients, &mut found);
        spread(y, &gradients, negative_gradients);
        spread(y, &found, curvatures);
    }

    fn start(&self, y: &[f64], weights: &[f64], control: &Control) -> Result<f64> {
        let (known_y, weights) = (of_known(y, y)?, of_known(y, weights)?);
        if known_y.is_empty() { Ok(0.0) } else { self.0.start(&known_y, &weights, control) }
    }

    fn step(&self, problem: &LineProblem<'_>) -> Result<f64> {
        self.search(problem, |problem| self.0.step(problem))
    }
}

/// Returns the mean over columns of the weighted mean losses of their known cells, for the samples that are inside;
/// `None` if none of their cells is known. Columns without a known cell do not count. `scores` are row-major, and `shares`
/// are the weights of columns, if they differ; `None` is also the result if no column with a known cell has a weight.
pub(crate) fn mean_of_columns<T: Float>(
    (losses, shares): (ColumnLosses<'_>, Option<&[f64]>),
    y: &RealTargets<'_>,
    scores: &[T],
    weights: &Weights,
    is_inside: impl Fn(usize) -> bool + Sync,
    control: &Control,
) -> Result<Option<f64>> {
    let width = y.n_outputs;
    let of_column = |column: usize| {
        control.check()?;
        let (mut known_y, mut of_known, mut units) = (Vec::new(), Vec::new(), Vec::new());
        let is_there = |row: &usize| weights.units(*row) > 0 && is_inside(*row);
        for row in (0..scores.len() / width).filter(is_there) {
            let y = y.of(row as u32)[column];
            if !y.is_nan() {
                ROWS.push(&mut known_y, y)?;
                ROWS.push(&mut of_known, scores[row * width + column].to_f64())?;
                ROWS.push(&mut units, weights.units(row))?;
            }
        }
        let mut values = ROWS.filled(0.0, units.len())?;
        losses.of(column).values(&known_y, &of_known, &mut values);
        Ok((!units.is_empty()).then(|| exact_mean(values.iter().copied().zip(units.iter().copied()))))
    };
    let means = pool::map(control.n_threads(), width, of_column)?;
    let weight = |column: usize| shares.map_or(1.0, |shares| shares[column]);
    let known = means.iter().enumerate().filter_map(|(column, mean)| mean.map(|mean| (weight(column), mean)));
    let (total, sum) = known.fold((0.0, 0.0), |(total, sum), (weight, mean)| (total + weight, sum + weight * mean));
    Ok((total > 0.0).then(|| sum / total))
}

/// Returns the cells of a block whose y is known, and their scores.
fn known_cells(y: &[f64], scores: &[f64]) -> (Vec<f64>, Vec<f64>) {
    y.iter().zip(scores).filter(|(y, _)| !y.is_nan()).unzip()
}

/// Writes the values found for known cells to their places, and zeros to the others.
fn spread(y: &[f64], found: &[f64], out: &mut [f64]) {
    let mut found = found.iter();
    for (y, out) in y.iter().zip(out) {
        *out = if y.is_nan() { 0.0 } else { found.next().copied().unwrap_or(0.0) };
    }
}

impl ColumnLoss for KnownCells<'_> {
    fn response(&self, y: f64, score: f64) -> f64 {
        if y.is_nan() { 0.0 } else { self.0.response(y, score) }
    }

    fn skips_unknown(&self) -> bool {
        true
    }

    forwarded! { self => self.0;
        fn has_curvature() -> bool;
        fn has_float32_scores() -> bool;
    }

    fn newton_step(&self, problem: &LineProblem<'_>, regularization: Regularization) -> Result<f64> {
        self.search(problem, |problem| self.0.newton_step(problem, regularization))
    }

    fn leaf_value(&self, problem: &LineProblem<'_>, regularization: Regularization) -> Result<f64> {
        self.search(problem, |problem| self.0.leaf_value(problem, regularization))
    }

    fn change(&self, y: f64, score: f64, step: f64) -> f64 {
        if y.is_nan() { 0.0 } else { self.0.change(y, score, step) }
    }

    fn start_of(&self, column: &NumberColumn<'_>, control: &Control) -> Result<f64> {
        let mut rows = Vec::new();
        for &row in column.rows.iter().filter(|&&row| !column.y.of(row)[column.column].is_nan()) {
            ROWS.push(&mut rows, row)?;
        }
        if rows.is_empty() { Ok(0.0) } else { self.0.start_of(&NumberColumn { rows: &rows, ..*column }, control) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::LossKind;

    #[test]
    fn samples_that_are_not_known_are_ignored() {
        let control = Control::default();
        let (y, scores) = ([1.0, f64::NAN, 3.0, 0.5, f64::NAN], [0.0, 9.0, 0.5, -1.0, -9.0]);
        let (direction, weights) = ([1.0, 5.0, 2.0, -1.0, 3.0], [1.0, 2.0, 1.0, 3.0, 1.0]);
        let kept = |items: [f64; 5]| [items[0], items[2], items[3]];
        let (known_y, known_scores) = (kept(y), kept(scores));
        let (known_direction, known_weights) = (kept(direction), kept(weights));
        let masked =
            LineProblem { y: &y, scores: &scores, direction: &direction, weights: &weights, control: &control };
        let known = LineProblem {
            y: &known_y,
            scores: &known_scores,
            direction: &known_direction,
            weights: &known_weights,
            control: &control,
        };
        let regularization = Regularization::new(0.5, 0.0);
        for kind in [LossKind::SquaredError, LossKind::AbsoluteError, LossKind::Poisson] {
            let loss = kind.as_column();
            let of_known = KnownCells(loss);
            assert_eq!(of_known.step(&masked).unwrap(), loss.step(&known).unwrap());
            assert_eq!(
                of_known.start(&y, &weights, &control).unwrap(),
                loss.start(&known_y, &known_weights, &control).unwrap()
            );
            assert_eq!(
                of_known.newton_step(&masked, regularization).unwrap(),
                loss.newton_step(&known, regularization).unwrap()
            );
            let (mut values, mut gradients, mut curvatures) = ([9.0; 5], [9.0; 5], [9.0; 5]);
            of_known.values(&y, &scores, &mut values);
            of_known.derivatives(&y, &scores, &mut gradients, &mut curvatures);
            for i in 0..5 {
                let cell = |of_cell: fn(&dyn ColumnLoss, f64, f64) -> f64| {
                    if y[i].is_nan() { 0.0 } else { of_cell(loss, y[i], scores[i]) }
                };
                assert_eq!(values[i], cell(|loss, y, score| loss.value(y, score)));
                assert_eq!(gradients[i], cell(|loss, y, score| loss.negative_gradient(y, score)));
                assert_eq!(curvatures[i], cell(|loss, y, score| loss.curvature(y, score)));
                assert_eq!(values[i], of_known.value(y[i], scores[i]));
            }
        }
        let nothing = [f64::NAN; 5];
        let none = LineProblem { y: &nothing, ..masked };
        assert_eq!(KnownCells(LossKind::AbsoluteError.as_column()).step(&none).unwrap(), 0.0);
    }
}
