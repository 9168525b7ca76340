//! Unknown cells of y: they have no loss, no gradient, and no part in constants and means of losses.

use super::{CommonRows, PURPOSE};
use crate::compress::CompressLoss;
use crate::data::Outputs;
use crate::data::known::Known;
use crate::data::targets::starts;
use crate::error::{Error, Result};

/// Which cells of the columns of scores are unknown, sample after sample; empty if all are known. All columns of an
/// unknown output of classes are unknown.
#[derive(Clone, Debug, Default)]
pub(super) struct Unknown {
    cells: Vec<bool>,
}

impl Unknown {
    /// Counts the known cells, which are the divisors of the reported losses. `known` must be the known cells, or `None`
    /// if all are known.
    pub(super) fn new(
        rows: &mut CommonRows,
        known: Option<&Known>,
        outputs: &Outputs,
        loss: CompressLoss,
    ) -> Result<Self> {
        let Some(known) = known else { return Ok(Unknown::default()) };
        // The first column of each output of classes.
        let starts = match outputs {
            Outputs::Classes { n_classes } => Some(starts(n_classes)?),
            Outputs::Real { .. } | Outputs::Labels { .. } => None,
        };
        // What a known cell counts in the mean of the loss of training samples, and in what is reported of held-out
        // ones.
        let counts = |output: usize| match (&starts, loss) {
            (None, _) => [rows.root[output] * rows.root[output]; 2],
            (Some(starts), CompressLoss::SquaredError) => [(starts[output + 1] - starts[output]) as f64, 1.0],
            (Some(_), CompressLoss::LogLoss) => [1.0; 2],
        };
        let of_all = (0..known.n_outputs()).map(counts).fold([0.0; 2], |[a, b], [c, d]| [a + c, b + d]);
        let mut cells = PURPOSE.filled(false, rows.n_rows() * rows.width)?;
        // Weights, and counts of known cells times weights, in training and held out.
        let (mut totals, mut counted) = ([0.0; 2], [0.0; 2]);
        for (row, (&id, cells)) in rows.ids.iter().zip(cells.chunks_exact_mut(rows.width)).enumerate() {
            let mut left = of_all;
            known.each_masked(id, |output| {
                let output = output as usize;
                left.iter_mut().zip(counts(output)).for_each(|(left, count)| *left -= count);
                match &starts {
                    None => cells[output] = true,
                    Some(starts) => cells[starts[output]..starts[output + 1]].fill(true),
                }
            });
            let weights = [rows.weight[row], rows.report.held_weight(row)];
            for side in 0..2 {
                totals[side] += weights[side];
                // Weights of labels may not add up to zero exactly.
                counted[side] += weights[side] * left[side].max(0.0);
            }
        }
        let mean = |side: usize| if totals[side] > 0.0 { counted[side] / totals[side] } else { 1.0 };
        if [0, 1].iter().any(|&side| mean(side) <= TINY * of_all[side]) {
            return Err(Error::invalid(
                "y_weight",
                "a mask of all cells of labels with a weight",
                "leave at least one observed cell of a label with a weight, in training and among held-out samples",
            ));
        }
        rows.report.set_known_cells(mean(0), mean(1));
        Ok(Unknown { cells })
    }

    /// Returns whether any cell is unknown.
    pub(super) fn is_any(&self) -> bool {
        !self.cells.is_empty()
    }

    /// Returns which cells of a sample are unknown.
    #[inline]
    pub(super) fn of(&self, row: usize, width: usize) -> UnknownOfRow<'_> {
        UnknownOfRow(self.cells.get(row * width..(row + 1) * width).unwrap_or_default())
    }

    /// Returns the weight of the training samples for which each column is known.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Invalid`] for a column without any.
    pub(super) fn weights_of_known(&self, rows: &CommonRows) -> Result<Vec<f64>> {
        if !self.is_any() {
            return PURPOSE.filled(rows.total, rows.width);
        }
        let mut weights = PURPOSE.filled(0.0, rows.width)?;
        for (row, w) in rows.weight.iter().enumerate() {
            let unknown = self.of(row, rows.width);
            weights.iter_mut().enumerate().filter(|(c, _)| unknown.is_known(*c)).for_each(|(_, sum)| *sum += w);
        }
        match weights.iter().position(|w| *w == 0.0) {
            Some(column) => Err(unknown_output(column)),
            None => Ok(weights),
        }
    }

    pub(super) fn try_clone(&self) -> Result<Self> {
        Ok(Unknown { cells: PURPOSE.copied(&self.cells)? })
    }
}

/// Means of counts below this share of the count of all cells are rounding errors.
const TINY: f64 = 1e-12;

/// Returns the error for a column whose cells are all unknown in training.
pub(super) fn unknown_output(column: usize) -> Error {
    let got = format!("true for all training samples of output {column}");
    let must = "leave at least one observed cell of each output among the samples of positive weight";
    Error::invalid("y_weight", got, must)
}

/// Which cells of a sample are unknown; empty if all are known.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnknownOfRow<'u>(pub(super) &'u [bool]);

impl UnknownOfRow<'_> {
    #[inline]
    pub(super) fn is_known(self, column: usize) -> bool {
        self.0.get(column).is_none_or(|unknown| !unknown)
    }

    /// Sets the values of unknown cells to zero.
    pub(super) fn clear(self, values: &mut [f64]) {
        values.iter_mut().zip(self.0).filter(|(_, unknown)| **unknown).for_each(|(value, _)| *value = 0.0);
    }
}
