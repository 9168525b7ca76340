//! The squared error of many labels whose residuals are not written out: they follow from the labels and the coefficients.

use super::on::OnColumns;
use super::residuals::{ResidualRows, predicted_of_columns, reported_of_columns, start_of_columns};
use super::{CommonRows, LossRows};
use crate::control::Control;
use crate::error::Result;

/// Rows and their labels.
#[derive(Debug)]
pub(crate) struct LabelRows {
    rows: CommonRows,
    on: OnColumns,
}

impl LabelRows {
    /// None of the rows is judged by its mistakes.
    pub(super) fn new(mut rows: CommonRows, on: OnColumns) -> Result<Self> {
        start_of_columns(&mut rows, &on)?;
        let squares = rows.start.iter().map(|b| b * b).sum::<f64>();
        for row in 0..rows.n_rows() {
            let of_on = on.of(row).iter().map(|&c| 1.0 - 2.0 * rows.start[c as usize]).sum::<f64>();
            let loss = (squares + of_on) / rows.report.n_outputs;
            rows.report.put(row, rows.weight[row], loss);
        }
        Ok(LabelRows { rows, on })
    }

    /// Labels of a row.
    pub(crate) fn on(&self, row: usize) -> &[u32] {
        self.on.of(row)
    }

    /// Tells of a row by how much the sum of squares of its residuals has risen. Returns what that adds to its loss.
    pub(crate) fn add_squares(&mut self, row: usize, squares: f64) -> f64 {
        let rise = squares / self.rows.report.n_outputs;
        self.rows.report.add(row, self.rows.weight[row], rise);
        squares / 2.0
    }

    /// As they start, with residuals written out.
    pub(super) fn written_out(self, control: &Control) -> Result<ResidualRows> {
        ResidualRows::of_columns(self.rows, self.on, control)
    }
}

impl LossRows for LabelRows {
    fn rows(&self) -> &CommonRows {
        &self.rows
    }

    fn predicted(&self, row: usize, p: &[f64], out: &mut [f64]) {
        predicted_of_columns(self.on.of(row), p, out);
    }

    fn reported(&self, row: usize, residuals: &[f64]) -> f64 {
        reported_of_columns(&self.rows, row, self.on.of(row), residuals)
    }

    fn curvature(&self) -> f64 {
        1.0
    }

    fn fits_all(&self, _: f64) -> bool {
        false
    }
}
