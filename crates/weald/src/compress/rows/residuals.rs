//! The squared error with stored residuals of every sample. Those of unknown cells are zero, whatever moves.

use super::on::OnColumns;
use super::unknown::{Unknown, UnknownOfRow, unknown_output};
use super::{CommonRows, Gradients, LossRows, PURPOSE};
use crate::control::Control;
use crate::data::train_y::RealTargets;
use crate::elementary::Squared;
use crate::error::{Error, Result};

/// The samples and their residuals.
#[derive(Clone, Debug)]
pub(crate) struct ResidualRows {
    rows: CommonRows,
    /// The residuals, sample after sample, in the units of the scores.
    residuals: Vec<f64>,
    of: ResidualsOf,
    /// Residuals of unknown cells stay zero.
    unknown: Unknown,
}

#[derive(Clone, Debug)]
enum ResidualsOf {
    Numbers,
    Columns(OnColumns),
}

/// Writes the initial residuals of a sample with columns of 0 and 1, in units of these roots.
pub(super) fn of_row_of_columns(on: &[u32], root: &[f64], centre: &[f64], out: &mut [f64]) {
    out.iter_mut().zip(centre).for_each(|(r, b)| *r = -b);
    on.iter().for_each(|&c| out[c as usize] += root[c as usize]);
}

/// Sets the constants of columns of 0 and 1 to the share of the weight of known cells that is on. Returns what is
/// subtracted for the initial residuals: the constants, or zero for columns of weight zero, whose residuals are zero.
pub(super) fn start_of_columns(rows: &mut CommonRows, on: &OnColumns, unknown: &Unknown) -> Result<Vec<f64>> {
    let mut centre = on.weights(&rows.weight, rows.width, unknown)?;
    let totals = unknown.weights_of_known(rows)?;
    let columns = centre.iter_mut().zip(&totals).zip(&mut rows.start).zip(&rows.root);
    for (((centre, total), start), &root) in columns {
        let share = *centre / total;
        *centre = root * share;
        *start = if root > 0.0 { *centre } else { share };
    }
    Ok(centre)
}

/// Returns the reported loss of a sample with columns of 0 and 1, from its residuals.
pub(super) fn reported_of_columns(
    rows: &CommonRows,
    row: usize,
    on: &[u32],
    unknown: UnknownOfRow<'_>,
    residuals: &[f64],
) -> f64 {
    let sum = match &rows.report.mistakes {
        Some(mistakes) if !rows.is_training(row) => {
            let score = |c: usize| f64::from(u8::from(on.contains(&(c as u32)))) - residuals[c];
            mistakes.count(score, on, unknown)
        }
        // The squares of columns have the weights that they have in the units of the scores.
        Some(_) | None => residuals.iter().map(|r| r.squared()).sum::<f64>(),
    };
    sum / rows.report.n_outputs_of(row)
}

/// Returns the mean over the outputs of squares in the units of y.
fn mean_square(rows: &CommonRows, row: usize, residuals: &[f64]) -> f64 {
    residuals.iter().zip(&rows.scale).map(|(r, s)| (r * s).squared()).sum::<f64>() / rows.report.n_outputs_of(row)
}

/// Writes the residuals of predictions of columns of 0 and 1, in units of these roots.
pub(super) fn predicted_of_columns(on: &[u32], root: &[f64], p: &[f64], out: &mut [f64]) {
    for (c, ((r, p), root)) in out.iter_mut().zip(p).zip(root).enumerate() {
        *r = root * (f64::from(u8::from(on.contains(&(c as u32)))) - p);
    }
}

impl ResidualRows {
    pub(super) fn of_numbers(
        mut rows: CommonRows,
        y: &RealTargets<'_>,
        unknown: Unknown,
        control: &Control,
    ) -> Result<Self> {
        let width = rows.width;
        let mut residuals = zeros(&rows, control)?;
        for (&id, values) in rows.ids.iter().zip(residuals.chunks_exact_mut(width)) {
            values.copy_from_slice(y.of(id));
        }
        start_numbers(&mut rows, &mut residuals, &unknown)?;
        let mut this = ResidualRows { rows, residuals, of: ResidualsOf::Numbers, unknown };
        this.recount();
        Ok(this)
    }

    pub(super) fn of_columns(mut rows: CommonRows, on: OnColumns, unknown: Unknown, control: &Control) -> Result<Self> {
        let centre = start_of_columns(&mut rows, &on, &unknown)?;
        let mut residuals = zeros(&rows, control)?;
        for (i, values) in residuals.chunks_exact_mut(rows.width).enumerate() {
            of_row_of_columns(on.of(i), &rows.root, &centre, values);
            unknown.of(i, rows.width).clear(values);
        }
        let mut this = ResidualRows { rows, residuals, of: ResidualsOf::Columns(on), unknown };
        this.recount();
        Ok(this)
    }

    /// Returns whether any cell is unknown.
    pub(crate) fn has_unknown(&self) -> bool {
        self.unknown.is_any()
    }

    /// Returns the residuals of all samples. Losses are not updated until [`Gradients::recount`].
    pub(crate) fn residuals_mut(&mut self) -> &mut [f64] {
        &mut self.residuals
    }

    /// Reports the loss of a sample whose sum of squares has risen.
    fn report(&mut self, row: usize, squares: f64) {
        let weight = self.rows.weight[row];
        let is_training = weight > 0.0;
        // In training, squares in the same units follow from the rise.
        let rise = match &self.of {
            ResidualsOf::Numbers if self.rows.width == 1 && is_training => {
                squares * self.rows.scale[0] * self.rows.scale[0]
            }
            ResidualsOf::Columns(_) if is_training || self.rows.report.mistakes.is_none() => {
                squares / self.rows.report.n_outputs_of(row)
            }
            ResidualsOf::Numbers | ResidualsOf::Columns(_) => {
                let loss = self.reported(row, self.gradient(row));
                return self.rows.report.set(row, weight, loss);
            }
        };
        self.rows.report.add(row, weight, rise);
    }
}

/// Lowers a residual, and writes its change; returns what that adds to its square.
#[inline(always)]
fn lower(residual: &mut f64, by: f64, change: &mut f64) -> f64 {
    let next = *residual - by;
    // (r + δ)² − r², without loss of digits.
    let squares = (next - *residual) * (next + *residual);
    *change = next - *residual;
    *residual = next;
    squares
}

/// Allocates what is stored for all samples.
pub(super) fn zeros(rows: &CommonRows, control: &Control) -> Result<Vec<f64>> {
    let n_values = PURPOSE.zeros::<()>(rows.n_rows(), rows.width)?.len();
    control.filled(PURPOSE, 0.0, n_values)
}

/// Numbers that differ by at most this share are considered equal up to rounding: two neighbouring floats and one more.
const ROUNDING: f64 = 2.0 * f64::EPSILON;

/// The squares of smaller differences are not normal float64.
const LEAST_SPREAD: f64 = 1e-150;

/// Scales numerical outputs to unit variance about their mean, which is the constant, using the known cells. Unknown
/// cells become zero. Columns that are equal up to rounding are not scaled.
fn start_numbers(rows: &mut CommonRows, values: &mut [f64], unknown: &Unknown) -> Result<()> {
    let (width, n) = (rows.width, rows.n_rows());
    for column in 0..width {
        let at = |i: usize| i * width + column;
        let is_known = |i: usize| unknown.of(i, width).is_known(column);
        let of_training = || (0..n).filter(|&i| rows.weight[i] > 0.0 && is_known(i));
        let total = if !unknown.is_any() { rows.total } else { of_training().map(|i| rows.weight[i]).sum() };
        if total == 0.0 {
            return Err(unknown_output(column));
        }
        // Differences from a value of the column are used, so that a constant column has exactly zero variance.
        let some = of_training().next().map_or(0.0, |i| values[at(i)]);
        let spread = of_training().map(|i| (values[at(i)] - some).abs()).fold(0.0, f64::max);
        let largest = of_training().map(|i| values[at(i)].abs()).fold(0.0, f64::max);
        if spread > 0.0 && spread <= ROUNDING * largest {
            for i in 0..n {
                // The values in training are equal.
                let is_apart = is_known(i) && rows.weight[i] == 0.0;
                values[at(i)] = if is_apart { values[at(i)] - some } else { 0.0 };
            }
            (rows.scale[column], rows.start[column]) = (1.0, some);
            continue;
        }
        if spread > 0.0 && spread < LEAST_SPREAD {
            let got = format!("values at most {spread:e} apart in output {column}");
            return Err(Error::invalid("y", got, "have values in each output that are equal or at least 1e-150 apart"));
        }
        let mean = of_training().map(|i| rows.weight[i] * (values[at(i)] - some)).sum::<f64>() / total;
        let square = |i: usize| (values[at(i)] - some - mean).squared();
        let variance = of_training().map(|i| rows.weight[i] * square(i)).sum::<f64>() / total;
        let scale = if variance > 0.0 { variance.sqrt() } else { 1.0 };
        for i in 0..n {
            values[at(i)] = if is_known(i) { (values[at(i)] - some - mean) / scale } else { 0.0 };
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
                    // No step has been made yet: y is the residual plus the constant.
                    let y = r + start;
                    *out = y - p / scale;
                }
            }
            ResidualsOf::Columns(on) => predicted_of_columns(on.of(row), &self.rows.root, p, out),
        }
        self.unknown.of(row, self.rows.width).clear(out);
    }

    fn reported(&self, row: usize, residuals: &[f64]) -> f64 {
        match &self.of {
            ResidualsOf::Numbers => mean_square(&self.rows, row, residuals),
            ResidualsOf::Columns(on) => {
                let unknown = self.unknown.of(row, self.rows.width);
                reported_of_columns(&self.rows, row, on.of(row), unknown, residuals)
            }
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
        let UnknownOfRow(unknown) = self.unknown.of(row, self.rows.width);
        let cells = self.residuals[range].iter_mut().zip(direction).zip(&mut *change);
        let squares = if unknown.is_empty() {
            cells.map(|((r, u), change)| lower(r, amount * u, change)).sum()
        } else {
            let by = |u: f64, is_unknown: bool| if is_unknown { 0.0 } else { amount * u };
            cells.zip(unknown).map(|(((r, u), change), unknown)| lower(r, by(*u, *unknown), change)).sum()
        };
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
        Ok(ResidualRows {
            rows: self.rows.try_clone()?,
            residuals: PURPOSE.copied(&self.residuals)?,
            of,
            unknown: self.unknown.try_clone()?,
        })
    }
}
