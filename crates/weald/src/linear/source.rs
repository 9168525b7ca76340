//! The data of a fit, in the form that linear models need: X, and the columns of each sample.

use super::samples::{Given, Lists};
use crate::centroid::Vectors;
use crate::control::Control;
use crate::data::dataset::Names;
use crate::data::known::spread::Spread;
use crate::data::slots::Slots;
use crate::data::targets::{in_columns, is_binary};
use crate::data::{Dataset, Matrix, Outputs, Weights};
use crate::elementary::power_of_two;
use crate::error::{Error, Purpose, Result};

const PURPOSE: Purpose = Purpose("the columns of samples");

/// A unit has at most this weight: products of two sums of weights and margins are then finite.
const LARGEST_UNIT: f64 = power_of_two(428);

/// Validated training data.
#[derive(Debug)]
pub(crate) struct Source<'d> {
    /// What the fit receives, with its mask applied. Of its samples, those whose known cells have several weights become
    /// several.
    pub(super) data: &'d Dataset<'d>,
    spread: Option<&'d Spread>,
    pub(crate) x: &'d Matrix<'d>,
    pub(crate) y: Cells,
    pub(crate) outputs: Outputs,
    pub(crate) weights: Weights,
}

/// The columns of y: one for each label, for the second of two classes, or for each class of each output.
#[derive(Debug)]
pub(crate) struct Cells {
    /// The columns that each sample has, in increasing order.
    pub(crate) positives: Lists,
    /// The columns whose y is unknown for each sample, in increasing order; `None` if all are known.
    pub(crate) unknown: Option<Lists>,
    pub(crate) n_columns: usize,
}

impl Source<'_> {
    /// Validates `data` and calls `f` with it. A sample whose known cells have several weights is several samples.
    pub(crate) fn with<T>(
        data: &Dataset<'_>,
        control: &Control,
        f: impl FnOnce(&Source<'_>) -> Result<T>,
    ) -> Result<T> {
        let observed = data.observed()?;
        let data = &data.with_observed(observed.as_ref());
        data.check(&Names::TRAINING)?;
        let (spread, received) = (data.spread(control)?, data);
        let data = &spread.as_ref().map_or_else(|| data.view(), |spread| spread.data(data));
        if data.categories()?.is_some() {
            return Err(Error::invalid("schema", "categorical features", "have no categorical features"));
        }
        let outputs = data.outputs();
        let y = Cells::new(data, &outputs)?;
        let overall = data.weight_by_row()?;
        let mut weights = Weights::of_rows(overall.as_deref(), data.n_samples())?;
        weights.unit = weights.unit.min(LARGEST_UNIT);
        f(&Source { data: received, spread: spread.as_ref(), x: data.x(), y, outputs, weights })
    }

    /// Returns the sample of `data` that a sample is, or is a part of.
    pub(super) fn sample_of(&self, row: usize) -> usize {
        self.spread.map_or(row, |spread| spread.sample_of(row))
    }

    pub(crate) fn n_samples(&self) -> usize {
        self.x.n_samples()
    }

    pub(crate) fn n_features(&self) -> usize {
        self.x.n_features()
    }
}

impl Cells {
    fn new(data: &Dataset<'_>, outputs: &Outputs) -> Result<Self> {
        let y = in_columns(data.y())?;
        let slots = Slots::new(&y)?.ok_or_else(|| Error::unsupported("y", "if it is numerical, by a linear model"))?;
        let unknown = unknown_columns(data, outputs)?;
        let mut positives = Lists::new()?;
        for row in 0..data.n_samples() {
            let unknown = unknown.as_ref().map_or(&[][..], |unknown| unknown.of(row));
            // An unknown class has a code all the same.
            let is_known = |column: &u32| unknown.binary_search(column).is_err();
            positives.push(slots.of(row as u32).iter().copied().filter(is_known))?;
        }
        Ok(Cells { positives, unknown, n_columns: slots.width })
    }

    /// Returns a column for each of two classes, of which this is the second one.
    pub(crate) fn of_both_classes(&self) -> Result<Self> {
        let (mut positives, mut unknown) = (Lists::new()?, Lists::new()?);
        for row in 0..self.positives.len() {
            let is_unknown = !self.unknown_of(row).is_empty();
            let class = u32::from(!self.positives.of(row).is_empty());
            positives.push((!is_unknown).then_some(class).into_iter())?;
            unknown.push(if is_unknown { 0..2 } else { 0..0 })?;
        }
        Ok(Cells { positives, unknown: self.unknown.is_some().then_some(unknown), n_columns: 2 })
    }

    pub(super) fn unknown_of(&self, row: usize) -> &[u32] {
        self.unknown.as_ref().map_or(&[], |unknown| unknown.of(row))
    }

    /// Returns sample `row` of these columns and of `x`.
    pub(super) fn given<'s>(&'s self, x: &'s Vectors, row: usize) -> Given<'s> {
        let (features, values) = x.of(row as u32);
        Given { features, values, positives: self.positives.of(row), unknown: self.unknown_of(row) }
    }

    /// Returns some columns, which are numbered in their order.
    pub(super) fn narrowed(&self, columns: &[u32]) -> Result<Self> {
        const NONE: u32 = u32::MAX;
        let mut number = PURPOSE.filled(NONE, self.n_columns)?;
        (0u32..).zip(columns).for_each(|(to, &column)| number[column as usize] = to);
        let narrowed = |lists: &Lists| -> Result<Lists> {
            let mut kept = Lists::new()?;
            for row in 0..lists.len() {
                let numbers = lists.of(row).iter().map(|&column| number[column as usize]);
                kept.push(numbers.filter(|&number| number != NONE))?;
            }
            Ok(kept)
        };
        let unknown = self.unknown.as_ref().map(narrowed).transpose()?;
        Ok(Cells { positives: narrowed(&self.positives)?, unknown, n_columns: columns.len() })
    }

    /// Returns how much each column counts among all samples of positive weight, in units.
    pub(super) fn totals(&self, weights: &Weights) -> Result<Vec<u64>> {
        let mut totals = PURPOSE.filled(0, self.n_columns)?;
        for row in 0..self.positives.len() {
            self.positives.of(row).iter().for_each(|&column| totals[column as usize] += weights.units(row));
        }
        Ok(totals)
    }
}

/// Returns the columns whose y is unknown, for each sample; `None` if all are known.
fn unknown_columns(data: &Dataset<'_>, outputs: &Outputs) -> Result<Option<Lists>> {
    let Some(known) = data.known() else { return Ok(None) };
    let starts = class_starts(outputs)?;
    let mut unknown = Lists::new()?;
    for row in 0..data.n_samples() as u32 {
        let mut columns = Vec::new();
        known.each_masked(row, |output| match &starts {
            None => columns.push(output),
            Some(starts) => columns.extend(starts[output as usize] as u32..starts[output as usize + 1] as u32),
        });
        unknown.push(columns.into_iter())?;
    }
    Ok(Some(unknown))
}

/// Returns where the columns of each output begin, and their number at the end, if outputs have a column for each class.
fn class_starts(outputs: &Outputs) -> Result<Option<Vec<usize>>> {
    match outputs {
        Outputs::Classes { n_classes } if !is_binary(n_classes) => outputs.class_starts().map(Some),
        Outputs::Classes { .. } | Outputs::Labels { .. } | Outputs::Real { .. } => Ok(None),
    }
}

/// Returns the samples of each column, in increasing order.
pub(crate) fn by_column(rows: &Lists, n_columns: usize) -> Result<Lists> {
    let of_row = |row: usize| rows.of(row).iter().map(move |&column| (column as usize, row as u32));
    let (ptr, items) = PURPOSE.grouped(n_columns, (0..rows.len()).flat_map(of_row))?;
    Ok(Lists { ptr, items })
}
