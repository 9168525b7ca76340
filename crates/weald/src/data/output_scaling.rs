//! Scales and weights of the outputs in the search of splits.
//!
//! The impurity of numerical outputs is a mean over outputs, in their squared units: without scaling, outputs with
//! large values dominate the choice of splits at the expense of all others. Here, each output gets a *factor*, √(its
//! share of the output weights) divided by its scale, by which the search multiplies it. Leaves contain the values in
//! the original units.

use super::Weights;
use super::known::cells::weighted;
use super::targets::{LARGEST, Outputs};
use super::train_y::TrainY;
use crate::control::Control;
use crate::error::{Error, Purpose, Result};
use crate::exact::exact_deviation_of_all;
use crate::exact::reduce::Reduce;

/// The scale by which the search of splits divides each output.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum OutputScaling {
    /// No scaling: outputs contribute by their squared units.
    #[default]
    Unscaled,
    /// The weighted standard deviation of each output over the training samples, or over the known cells if some are
    /// masked. A constant output has scale 1, and the smallest scale is 10⁻¹⁵⁰. In boosting, it is the standard
    /// deviation of the negative gradients of each score before the first stage, which is the same for the squared
    /// error; the gradients of other losses have other units than y.
    Variance,
    /// The given scales: finite and positive, one for each output.
    By(Vec<f64>),
}

impl From<Vec<f64>> for OutputScaling {
    fn from(scales: Vec<f64>) -> Self {
        OutputScaling::By(scales)
    }
}

/// Smaller standard deviations are replaced by this value, so that factors are finite.
const LEAST_DEVIATION: f64 = 1e-150;

const SCALING: &str = "output_scaling";
const WEIGHTS: &str = "output_weights";

/// The scales and weights of outputs that are parameters of a fit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutputFactors<'c> {
    pub(crate) scaling: &'c OutputScaling,
    pub(crate) weights: Option<&'c [f64]>,
}

impl OutputFactors<'_> {
    /// Returns whether any were given.
    pub(crate) fn are_given(&self) -> bool {
        *self.scaling != OutputScaling::Unscaled || self.weights.is_some()
    }

    /// Returns the name of the parameter that was given, for error messages.
    pub(crate) fn name(&self) -> &'static str {
        if *self.scaling != OutputScaling::Unscaled { SCALING } else { WEIGHTS }
    }

    /// Checks the scales and weights against the outputs. Both are rejected for classes, and scales are rejected for
    /// labels.
    pub(crate) fn check(&self, outputs: &Outputs) -> Result<()> {
        if !self.are_given() {
            return Ok(());
        }
        let n_outputs = match *outputs {
            Outputs::Real { n_outputs } => n_outputs,
            Outputs::Labels { n_labels } if *self.scaling == OutputScaling::Unscaled => n_labels,
            Outputs::Labels { .. } | Outputs::Classes { .. } => {
                return Err(Error::unsupported(self.name(), "for classes, and scales are not supported for labels"));
            }
        };
        if let OutputScaling::By(scales) = self.scaling {
            if scales.len() != n_outputs {
                return Err(Error::shape(SCALING, n_outputs, scales.len()));
            }
            if let Some(bad) = scales.iter().find(|scale| !(scale.is_finite() && **scale > 0.0)) {
                return Err(Error::invalid(SCALING, bad, "have finite, positive values"));
            }
        }
        let Some(weights) = self.weights else { return Ok(()) };
        if weights.len() != n_outputs {
            return Err(Error::shape(WEIGHTS, n_outputs, weights.len()));
        }
        if let Some(bad) = weights.iter().find(|weight| !(weight.is_finite() && **weight >= 0.0)) {
            return Err(Error::invalid(WEIGHTS, bad, "have finite values of at least 0"));
        }
        if weights.iter().all(|&weight| weight == 0.0) {
            return Err(Error::invalid(WEIGHTS, "zeros only", "have at least one positive value"));
        }
        Ok(())
    }

    /// Returns the factor of each output of numbers `y`, in which NaN is an unknown cell, or `None` if no scales or
    /// weights were given. `rows` are the samples of the fit, of positive weight.
    ///
    /// The factors only depend on samples and weights: neither on their order nor on how often a sample is repeated
    /// instead of having a larger weight.
    pub(crate) fn of(
        &self,
        y: &TrainY<'_>,
        rows: &[u32],
        weights: &Weights,
        control: &Control,
    ) -> Result<Option<Vec<f64>>> {
        if !self.are_given() {
            return Ok(None);
        }
        let units = |row: u32| weights.units(row as usize);
        let mut scales = Scales { of: self, weights, found: Vec::new() };
        match y {
            TrainY::Real(y) => {
                scales.of_columns(y.n_outputs, rows, |row, j| y.of(row)[j], control)?;
            }
            TrainY::MaskedReal(y) => {
                let cells = y.cells();
                let of_rows = rows.iter().map(|&row| (row, row));
                let columns = cells.by_column(of_rows, &cells.units(units)?, units)?;
                (0..y.n_outputs()).try_for_each(|j| scales.push(weighted(columns.of(j))))?;
            }
            TrainY::SparseReal(y) => {
                let mut pulse = control.pulse();
                let total: u64 = rows.iter().map(|&row| units(row)).sum();
                y.by_output(rows, units, |entries| {
                    pulse.after(entries.len())?;
                    let zeros = total - entries.iter().map(|entry| entry.1).sum::<u64>();
                    scales.push(entries.iter().copied().chain((zeros > 0).then_some((0.0, zeros))))
                })?;
            }
            // Labels have a common scale.
            TrainY::Slots(y) => scales.found = Purpose("the factors of outputs").filled((1.0, 1.0), y.width)?,
            TrainY::MaskedSlots(y) => scales.found = Purpose("the factors of outputs").filled((1.0, 1.0), y.width())?,
        }
        let factors = scales.found;
        let shares = self.shares(factors.len())?;
        let factors = factors.into_iter().enumerate().map(|(j, (scale, largest))| {
            let root = shares.as_ref().map_or(1.0, |shares| shares[j].sqrt());
            let factor = root / scale;
            if factor.is_finite() && factor * largest <= LARGEST {
                return Ok(factor);
            }
            let got = format!("values of up to {:e} in output {j}", factor * largest);
            Err(Error::invalid(self.name(), got, "have scales and weights for which y stays below 1e150"))
        });
        Purpose("the factors of outputs").results(factors).map(Some)
    }

    /// Returns the weights of labels divided by their mean, which are the squares of the factors of
    /// [`OutputFactors::of`], or `None` if all are 1 or y are not labels.
    pub(crate) fn shares_of_labels(&self, outputs: &Outputs) -> Result<Option<Vec<f64>>> {
        let Outputs::Labels { n_labels } = *outputs else { return Ok(None) };
        Ok(self.shares(n_labels)?.filter(|shares| shares.iter().any(|&share| share != 1.0)))
    }

    /// Returns the weights of labels divided by the mean of the non-zero weights, so that a label of weight zero has no
    /// effect, or `None` if all are 1 or y are not labels.
    pub(crate) fn shares_of_labels_that_count(&self, outputs: &Outputs) -> Result<Option<Vec<f64>>> {
        let (Outputs::Labels { .. }, Some(weights)) = (outputs, self.weights) else { return Ok(None) };
        let n_counting = weights.iter().filter(|weight| **weight > 0.0).count();
        Ok(self.shares(n_counting)?.filter(|shares| shares.iter().any(|&share| share != 1.0)))
    }

    /// Returns the weights divided by their mean, if there are `n_outputs` of them.
    fn shares(&self, n_outputs: usize) -> Result<Option<Vec<f64>>> {
        let Some(weights) = self.weights else { return Ok(None) };
        // Neither sums nor products overflow if the largest weight is one.
        let largest = weights.iter().copied().fold(0.0, f64::max);
        let total: f64 = weights.iter().map(|weight| weight / largest).sum();
        let share = |weight: &f64| weight / largest * n_outputs as f64 / total;
        Purpose("the weights of outputs").collected(weights.iter().map(share)).map(Some)
    }
}

/// The scale of each output and its largest magnitude, for one output after another.
#[derive(Debug)]
struct Scales<'o, 'c> {
    of: &'o OutputFactors<'c>,
    weights: &'o Weights,
    found: Vec<(f64, f64)>,
}

impl Scales<'_, '_> {
    /// Adds all outputs, given their cells; NaN is an unknown cell.
    fn of_columns(
        &mut self,
        n_outputs: usize,
        rows: &[u32],
        cell: impl Fn(u32, usize) -> f64,
        control: &Control,
    ) -> Result<()> {
        let mut pulse = control.pulse();
        for j in 0..n_outputs {
            pulse.after(rows.len())?;
            let cells = rows.iter().map(|&row| (cell(row, j), self.weights.units(row as usize)));
            self.push(cells.filter(|(y, _)| !y.is_nan()))?;
        }
        Ok(())
    }

    /// Adds the next output, given its known values with their units.
    fn push(&mut self, known: impl Iterator<Item = (f64, u64)> + Clone) -> Result<()> {
        let scale = match self.of.scaling {
            OutputScaling::Unscaled => 1.0,
            OutputScaling::Variance => match exact_deviation_of_all(known.clone(), self.weights.workers())? {
                0.0 => 1.0,
                deviation => deviation.max(LEAST_DEVIATION),
            },
            OutputScaling::By(scales) => scales[self.found.len()],
        };
        let largest = self.weights.workers().max_of(known.map(|(y, _)| y.abs()).fold(0.0, f64::max))?;
        Purpose("the factors of outputs").push(&mut self.found, (scale, largest))
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, array};

    use super::*;
    use crate::data::Targets;
    use crate::error::ErrorKind;

    fn factors(scaling: &OutputScaling, weights: Option<&[f64]>, y: &Array2<f64>) -> Result<Option<Vec<f64>>> {
        let asked = OutputFactors { scaling, weights };
        asked.check(&Outputs::Real { n_outputs: y.ncols() })?;
        let (targets, n) = (Targets::Real(y.view()), y.nrows());
        let rows: Vec<u32> = (0..n as u32).collect();
        asked.of(&TrainY::new(&targets)?, &rows, &Weights::of_rows(None, n)?, &Control::default())
    }

    #[test]
    fn factors_are_roots_of_weights_over_scales() {
        let y = array![[1.0, 5.0, f64::NAN], [3.0, 5.0, 2e4], [1.0, 5.0, 4e4], [3.0, 5.0, 2e4], [1.0, 5.0, 4e4]];
        let deviations = [(24.0f64 / 25.0).sqrt(), 1.0, 1e4];
        let found = factors(&OutputScaling::Variance, None, &y).unwrap().unwrap();
        for (factor, deviation) in found.iter().zip(deviations) {
            // Deviations are rounded to 2⁻³⁶ of half the range.
            assert!((factor * deviation - 1.0).abs() < 1e-9, "{factor}");
        }
        let found = factors(&OutputScaling::By(vec![2.0, 1.0, 0.5]), Some(&[0.0, 3.0, 1.5]), &y).unwrap().unwrap();
        assert_eq!(found, [0.0, 2f64.sqrt(), 2.0]);
        assert_eq!(factors(&OutputScaling::Unscaled, None, &y).unwrap(), None);
        assert_eq!(factors(&OutputScaling::By(vec![1.0; 3]), None, &y).unwrap().unwrap(), [1.0; 3]);
        assert_eq!(factors(&OutputScaling::Unscaled, Some(&[0.1; 3]), &y).unwrap().unwrap(), [1.0; 3]);
        assert_eq!(factors(&OutputScaling::Unscaled, Some(&[f64::MAX; 3]), &y).unwrap().unwrap(), [1.0; 3]);
    }

    #[test]
    fn bad_scales_and_weights_are_named() {
        let y = array![[1.0, 1e100], [2.0, 3.0]];
        let by = |scales: &[f64]| OutputScaling::By(scales.to_vec());
        let what = |scaling: OutputScaling, weights: Option<&[f64]>| match factors(&scaling, weights, &y)
            .unwrap_err()
            .kind()
        {
            ErrorKind::Invalid { what, .. } | ErrorKind::Shape { what, .. } => *what,
            other => panic!("{other:?}"),
        };
        for bad in [&[1.0][..], &[1.0; 3], &[0.0, 1.0], &[-1.0, 1.0], &[f64::NAN, 1.0], &[f64::INFINITY, 1.0]] {
            assert_eq!(what(by(bad), None), SCALING);
        }
        // The products exceed the largest number whose square is allowed.
        for bad in [[1e-300, 1.0], [1.0, 1e-51], [5e-324, 1.0]] {
            assert_eq!(what(by(&bad), Some(&[1.0; 2])), SCALING);
        }
        for bad in [&[1.0][..], &[0.0, 0.0], &[-1.0, 1.0], &[f64::NAN, 1.0], &[f64::INFINITY, 1.0]] {
            assert_eq!(what(OutputScaling::Unscaled, Some(bad)), WEIGHTS);
        }
        let labels = Outputs::Labels { n_labels: 2 };
        assert!(OutputFactors { scaling: &OutputScaling::Variance, weights: None }.check(&labels).is_err());
        assert!(OutputFactors { scaling: &OutputScaling::Unscaled, weights: None }.check(&labels).is_ok());
    }
}
