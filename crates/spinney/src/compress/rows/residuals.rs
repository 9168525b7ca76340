//! The squared error: residuals of every row, written out.

use super::on::OnColumns;
use super::{CommonRows, Gradients, LossRows, WHAT};
use crate::control::Control;
use crate::data::train_y::RealTargets;
use crate::error::{Error, Result, try_copied};
use crate::model::try_matrix;

/// Rows and their residuals.
#[derive(Clone, Debug)]
pub(crate) struct ResidualRows {
    rows: CommonRows,
    /// Row after row, in the units of the scores.
    residuals: Vec<f64>,
    of: ResidualsOf,
}

#[derive(Clone, Debug)]
enum ResidualsOf {
    Numbers,
    Columns(OnColumns),
}

/// Residuals of a row at its start: y − b of columns of 0 and 1.
pub(super) fn of_row_of_columns(on: &[u32], start: &[f64], out: &mut [f64]) {
    out.iter_mut().zip(start).for_each(|(r, b)| *r = -b);
    on.iter().for_each(|&c| out[c as usize] += 1.0);
}

/// Constants of columns of 0 and 1: the share of weight that is on.
pub(super) fn start_of_columns(rows: &mut CommonRows, on: &OnColumns) -> Result<()> {
    let on = on.weights(&rows.weight, rows.width)?;
    rows.start.iter_mut().zip(&on).for_each(|(b, on)| *b = on / rows.total);
    Ok(())
}

/// Loss of a row of columns of 0 and 1, as it is reported, from its residuals.
pub(super) fn reported_of_columns(rows: &CommonRows, row: usize, on: &[u32], residuals: &[f64]) -> f64 {
    match &rows.report.mistakes {
        Some(mistakes) if !rows.is_training(row) => {
            let score = |c: usize| f64::from(u8::from(on.contains(&(c as u32)))) - residuals[c];
            mistakes.share(score, on)
        }
        Some(_) | None => mean_square(rows, residuals),
    }
}

/// Mean over the outputs of squares in the units of y.
fn mean_square(rows: &CommonRows, residuals: &[f64]) -> f64 {
    residuals.iter().zip(&rows.scale).map(|(r, s)| (r * s).powi(2)).sum::<f64>() / rows.report.n_outputs
}

/// What predictions leave of columns of 0 and 1.
pub(super) fn predicted_of_columns(on: &[u32], p: &[f64], out: &mut [f64]) {
    for (c, (r, p)) in out.iter_mut().zip(p).enumerate() {
        *r = f64::from(u8::from(on.contains(&(c as u32)))) - p;
    }
}

impl ResidualRows {
    pub(super) fn of_numbers(mut rows: CommonRows, y: &RealTargets<'_>, control: &Control) -> Result<Self> {
        let width = rows.width;
        let mut residuals = zeros(&rows, control)?;
        for (&id, values) in rows.ids.iter().zip(residuals.chunks_exact_mut(width)) {
            values.copy_from_slice(y.of(id));
        }
        start_numbers(&mut rows, &mut residuals)?;
        let mut this = ResidualRows { rows, residuals, of: ResidualsOf::Numbers };
        this.recount();
        Ok(this)
    }

    pub(super) fn of_columns(mut rows: CommonRows, on: OnColumns, control: &Control) -> Result<Self> {
        start_of_columns(&mut rows, &on)?;
        let mut residuals = zeros(&rows, control)?;
        for (i, values) in residuals.chunks_exact_mut(rows.width).enumerate() {
            of_row_of_columns(on.of(i), &rows.start, values);
        }
        let mut this = ResidualRows { rows, residuals, of: ResidualsOf::Columns(on) };
        this.recount();
        Ok(this)
    }

    /// Residuals of all rows. Losses are as they were until [`Gradients::recount`].
    pub(crate) fn residuals_mut(&mut self) -> &mut [f64] {
        &mut self.residuals
    }

    /// Reports the loss of a row whose sum of squares has risen.
    fn report(&mut self, row: usize, squares: f64) {
        let weight = self.rows.weight[row];
        let is_training = weight > 0.0;
        // In training, squares in the same units follow from how much they rise.
        let rise = match &self.of {
            ResidualsOf::Numbers if self.rows.width == 1 && is_training => {
                squares * self.rows.scale[0] * self.rows.scale[0]
            }
            ResidualsOf::Columns(_) if is_training || self.rows.report.mistakes.is_none() => {
                squares / self.rows.report.n_outputs
            }
            ResidualsOf::Numbers | ResidualsOf::Columns(_) => {
                let loss = self.reported(row, self.gradient(row));
                return self.rows.report.set(row, weight, loss);
            }
        };
        self.rows.report.add(row, weight, rise);
    }
}

/// Room for what is kept of all rows.
pub(super) fn zeros(rows: &CommonRows, control: &Control) -> Result<Vec<f64>> {
    let n_values = try_matrix::<()>(WHAT, rows.n_rows(), rows.width)?.len();
    control.try_filled(WHAT, 0.0, n_values)
}

/// Squares of smaller differences are no normal float64.
const LEAST_SPREAD: f64 = 1e-150;

/// Scales numbers to unit variance about their mean, which is the constant.
fn start_numbers(rows: &mut CommonRows, values: &mut [f64]) -> Result<()> {
    let (width, n) = (rows.width, rows.n_rows());
    for column in 0..width {
        let at = |i: usize| i * width + column;
        let of_training = || (0..n).filter(|&i| rows.weight[i] > 0.0);
        // Differences from a value of the column: a constant column has exactly no variance.
        let some = of_training().next().map_or(0.0, |i| values[at(i)]);
        let spread = of_training().map(|i| (values[at(i)] - some).abs()).fold(0.0, f64::max);
        if spread > 0.0 && spread < LEAST_SPREAD {
            let got = format!("at most {spread:e} apart in column {column}");
            return Err(Error::invalid("y", got, "numbers that are equal or at least 1e-150 apart in each column"));
        }
        let mean = of_training().map(|i| rows.weight[i] * (values[at(i)] - some)).sum::<f64>() / rows.total;
        let square = |i: usize| (values[at(i)] - some - mean).powi(2);
        let variance = of_training().map(|i| rows.weight[i] * square(i)).sum::<f64>() / rows.total;
        let scale = if variance > 0.0 { variance.sqrt() } else { 1.0 };
        for i in 0..n {
            values[at(i)] = (values[at(i)] - some - mean) / scale;
        }
        (rows.scale[column], rows.start[column]) = (scale, (some + mean) / scale);
    }
    Ok(())
}

impl LossRows for ResidualRows {
    fn rows(&self) -> &CommonRows {
        &self.rows
    }

    fn predicted(&self, row: usize, p: &[f64], out: &mut [f64]) {
        match &self.of {
            ResidualsOf::Numbers => {
                let units = self.rows.start.iter().zip(&self.rows.scale);
                for (((out, r), p), (start, scale)) in out.iter_mut().zip(self.gradient(row)).zip(p).zip(units) {
                    // No step is made yet: y is its residual and the constant.
                    let y = r + start;
                    *out = y - p / scale;
                }
            }
            ResidualsOf::Columns(on) => predicted_of_columns(on.of(row), p, out),
        }
    }

    fn reported(&self, row: usize, residuals: &[f64]) -> f64 {
        match &self.of {
            ResidualsOf::Numbers => mean_square(&self.rows, residuals),
            ResidualsOf::Columns(on) => reported_of_columns(&self.rows, row, on.of(row), residuals),
        }
    }

    fn curvature(&self) -> f64 {
        1.0
    }

    fn fits_all(&self, _: f64) -> bool {
        false
    }
}

impl Gradients for ResidualRows {
    #[inline]
    fn gradient(&self, row: usize) -> &[f64] {
        &self.residuals[row * self.rows.width..(row + 1) * self.rows.width]
    }

    fn shift(&mut self, row: usize, amount: f64, direction: &[f64], change: &mut [f64]) -> f64 {
        let range = row * self.rows.width..(row + 1) * self.rows.width;
        let mut squares = 0.0;
        for ((r, u), change) in self.residuals[range].iter_mut().zip(direction).zip(&mut *change) {
            let next = *r - amount * u;
            // (r + δ)² − r², without the loss of digits.
            squares += (next - *r) * (next + *r);
            *change = next - *r;
            *r = next;
        }
        self.report(row, squares);
        squares / 2.0
    }

    fn recount(&mut self) {
        self.rows.report.clear();
        for row in 0..self.rows.n_rows() {
            let loss = self.reported(row, self.gradient(row));
            self.rows.report.put(row, self.rows.weight[row], loss);
        }
    }

    fn try_clone(&self) -> Result<Self> {
        let of = match &self.of {
            ResidualsOf::Numbers => ResidualsOf::Numbers,
            ResidualsOf::Columns(on) => ResidualsOf::Columns(on.try_clone()?),
        };
        Ok(ResidualRows { rows: self.rows.try_clone()?, residuals: try_copied(WHAT, &self.residuals)?, of })
    }
}
