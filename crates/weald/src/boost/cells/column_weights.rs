//! The weights of the known cells of each column, where cells of the same sample have several.

use crate::data::{Outputs, Weights, known::Known};
use crate::error::{Purpose, Result};

const PURPOSE: Purpose = Purpose("the weights of cells");

/// The weights of samples in each column of scores. There are none if cells weigh what their samples do.
#[derive(Debug, Default)]
pub(in crate::boost) struct ColumnWeights(Vec<Weights>);

impl ColumnWeights {
    /// The weights of unknown cells, which count nowhere, are those of their samples.
    pub(in crate::boost) fn new(
        known: Option<&Known>,
        outputs: &Outputs,
        sample_weight: Option<&[f64]>,
        n_samples: usize,
    ) -> Result<Self> {
        let Some(known) = known.filter(|known| known.has_factors()) else { return Ok(ColumnWeights::default()) };
        let of_rows = || match sample_weight {
            Some(weights) => PURPOSE.copied(weights),
            None => PURPOSE.filled(1.0, n_samples),
        };
        let mut of_outputs = PURPOSE.results((0..known.n_outputs()).map(|_| of_rows()))?;
        for row in 0..n_samples as u32 {
            known.each_known(row, |output, factor| of_outputs[output as usize][row as usize] *= factor);
        }
        let n_classes: &[u32] = match outputs {
            Outputs::Classes { n_classes } => n_classes,
            Outputs::Labels { .. } | Outputs::Real { .. } => &[],
        };
        let mut columns = Vec::new();
        for (output, weights) in of_outputs.iter().enumerate() {
            for _ in 0..n_classes.get(output).copied().unwrap_or(1) {
                PURPOSE.push(&mut columns, Weights::of_rows(Some(weights), n_samples)?)?;
            }
        }
        Ok(ColumnWeights(columns))
    }

    /// Returns the weights of a column if they are not those of samples.
    pub(in crate::boost) fn of(&self, column: usize) -> Option<&Weights> {
        self.0.get(column)
    }

    /// Returns the weights in a column of a part of the copies of samples, of which `all` are all copies and `part` those
    /// of the part; `None` if they are not other than `part`.
    pub(in crate::boost) fn of_part(
        &self,
        column: usize,
        [all, part]: [&Weights; 2],
        n_samples: usize,
    ) -> Result<Option<Weights>> {
        let Some(own) = self.of(column) else { return Ok(None) };
        let units = |row: usize| {
            let [own, part, all] = [own, part, all].map(|weights| u128::from(weights.units(row)));
            (own * part).checked_div(all).unwrap_or(0) as u64
        };
        Ok(Some(own.with_units(PURPOSE.collected((0..n_samples).map(units))?)))
    }
}
