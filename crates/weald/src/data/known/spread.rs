//! Samples whose known cells have several weights, as samples with one weight each: the same X, once for each weight, and
//! the cells of that weight known. This is for learners to which a cell is known or not.

use super::{Known, Observed, Values};
use crate::control::Control;
use crate::data::Dataset;
use crate::data::rows::Rows;
use crate::error::{Purpose, Result};

const PURPOSE: Purpose = Purpose("the samples of known cells");

/// The samples of [`Dataset::spread`].
#[derive(Debug)]
pub(crate) struct Spread {
    rows: Rows,
    observed: Observed,
    /// The sample that each has been, and the weight of its known cells in it.
    parts: Vec<(u32, f64)>,
}

impl Spread {
    /// Returns these weights of the samples that were spread, times those of the cells.
    pub(crate) fn weights(&self, of_rows: &[f64]) -> Result<Vec<f64>> {
        PURPOSE.collected(self.parts.iter().map(|&(row, factor)| factor * of_rows[row as usize]))
    }

    /// Returns the sample that sample `row` has been.
    pub(crate) fn sample_of(&self, row: usize) -> usize {
        self.parts[row].0 as usize
    }

    /// Returns the samples that those of `data` have become.
    pub(crate) fn data<'a>(&'a self, data: &'a Dataset<'_>) -> Dataset<'a> {
        let Observed { sample_weight, known, .. } = &self.observed;
        let spread = self.rows.data(data).sample_weight(sample_weight.as_deref());
        spread.with_targets(self.observed.targets()).with_known(known.as_ref())
    }
}

impl Dataset<'_> {
    /// Spreads samples of which a learner has taken the mask; `None` if their known cells have one weight each. The class
    /// weights of samples become part of their weights.
    pub(crate) fn spread(&self, control: &Control) -> Result<Option<Spread>> {
        let Some(known) = self.known().filter(|known| known.has_factors()) else { return Ok(None) };
        let of_rows = self.weight_by_row()?;
        let (mut parts, mut spread) = (Vec::new(), Known::without_rows(known.n_outputs())?);
        let mut cells: Vec<(f64, u32)> = PURPOSE.with_capacity(known.n_outputs())?;
        let mut outputs: Vec<u32> = PURPOSE.with_capacity(known.n_outputs())?;
        let mut pulse = control.pulse();
        for row in 0..self.n_samples() as u32 {
            cells.clear();
            known.each_known(row, |output, factor| cells.push((factor, output)));
            pulse.after(1 + cells.len())?;
            cells.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            for of_weight in cells.chunk_by(|a, b| a.0 == b.0) {
                outputs.clear();
                outputs.extend(of_weight.iter().map(|cell| cell.1));
                PURPOSE.push(&mut parts, (row, of_weight[0].0))?;
                spread.push(&outputs, false)?;
            }
        }
        let weight = |&(row, factor): &(u32, f64)| factor * of_rows.as_ref().map_or(1.0, |of| of[row as usize]);
        let weights = PURPOSE.collected(parts.iter().map(weight))?;
        let rows = Rows::of(self, &PURPOSE.collected(parts.iter().map(|part| part.0))?, control)?;
        let values = Values::new(rows.data(self).y(), &spread, true, |row| weights[*row as usize] > 0.0)?;
        let observed = Observed { values, sample_weight: Some(weights), known: Some(spread) };
        Ok(Some(Spread { rows, observed, parts }))
    }
}
