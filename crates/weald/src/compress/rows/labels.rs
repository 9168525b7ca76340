//! The squared error of many labels without stored residuals: they follow from the labels and the coefficients.

use super::on::OnColumns;
use super::residuals::{ResidualRows, of_row_of_columns, predicted_of_columns, reported_of_columns, start_of_columns};
use super::unknown::{Unknown, UnknownOfRow};
use super::{CommonRows, LossRows, PURPOSE};
use crate::control::Control;
use crate::error::Result;

/// The samples and their labels, all of which are known.
#[derive(Debug)]
pub(crate) struct LabelRows {
    rows: CommonRows,
    on: OnColumns,
    /// What is subtracted for the initial residuals, in the units of the scores.
    centre: Vec<f64>,
}

impl LabelRows {
    /// The reported loss must be the squared error, and not the share of errors.
    pub(super) fn new(mut rows: CommonRows, on: OnColumns) -> Result<Self> {
        let centre = start_of_columns(&mut rows, &on, &Unknown::default())?;
        let squares = centre.iter().map(|b| b * b).sum::<f64>();
        // (√m − b)² − b² of a label that is on.
        let more = PURPOSE.collected(rows.root.iter().zip(&centre).map(|(root, b)| root * root - 2.0 * root * b))?;
        for row in 0..rows.n_rows() {
            let of_on = on.of(row).iter().map(|&c| more[c as usize]).sum::<f64>();
            let loss = (squares + of_on) / rows.report.n_outputs_of(row);
            rows.report.put(row, rows.weight[row], loss);
        }
        Ok(LabelRows { rows, on, centre })
    }

    /// Returns the labels of a sample.
    pub(crate) fn on(&self, row: usize) -> &[u32] {
        self.on.of(row)
    }

    /// Returns what is subtracted for the initial residuals, in the units of the scores.
    pub(crate) fn centre(&self) -> &[f64] {
        &self.centre
    }

    /// Writes the initial residuals of a sample.
    pub(crate) fn residuals_at_start(&self, row: usize, out: &mut [f64]) {
        of_row_of_columns(self.on.of(row), &self.rows.root, &self.centre, out);
    }

    /// Records by how much the sum of squared residuals of a sample has risen. Returns what that adds to its loss.
    pub(crate) fn add_squares(&mut self, row: usize, squares: f64) -> f64 {
        let rise = squares / self.rows.report.n_outputs_of(row);
        self.rows.report.add(row, self.rows.weight[row], rise);
        squares / 2.0
    }

    /// Returns the initial state with stored residuals.
    pub(super) fn written_out(self, control: &Control) -> Result<ResidualRows> {
        ResidualRows::of_columns(self.rows, self.on, Unknown::default(), control)
    }
}

impl LossRows for LabelRows {
    fn rows(&self) -> &CommonRows {
        &self.rows
    }

    fn predicted(&self, row: usize, p: &[f64], out: &mut [f64]) {
        predicted_of_columns(self.on.of(row), &self.rows.root, p, out);
    }

    fn reported(&self, row: usize, residuals: &[f64]) -> f64 {
        reported_of_columns(&self.rows, row, self.on.of(row), UnknownOfRow(&[]), residuals)
    }

    fn curvature(&self) -> f64 {
        1.0
    }

    fn fits_all(&self, _: f64) -> bool {
        false
    }
}
