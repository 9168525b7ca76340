//! y in the form that growth reads: slots of classes and labels, or numbers, as rows or as entries, each with or
//! without unknown cells.

use std::borrow::Cow;

use ndarray::Array2;

use super::known::Known;
use super::masked::{MaskedNumbers, MaskedSlots};
use super::slots::Slots;
use super::sparse_targets::SparseNumbers;
use super::targets::Targets;
use crate::error::{Error, Purpose, Result};

/// y in the form that criteria use.
#[derive(Debug)]
pub(crate) enum TrainY<'a> {
    Slots(Slots<'a>),
    Real(RealTargets<'a>),
    SparseReal(SparseNumbers<'a>),
    MaskedSlots(MaskedSlots<'a>),
    MaskedReal(MaskedNumbers),
}

impl<'a> TrainY<'a> {
    /// Converts y; memory is borrowed if the layout allows this.
    pub(crate) fn new(y: &'a Targets<'_>) -> Result<Self> {
        let y = match y {
            Targets::Labels(y) => return Slots::of_labels(y).map(TrainY::Slots),
            Targets::Classes { codes, n_classes } => return Slots::of_classes(codes, n_classes).map(TrainY::Slots),
            Targets::SparseReal(y) => return Ok(TrainY::SparseReal(SparseNumbers::new(y.view()))),
            Targets::Real(y) => y,
        };
        let values = match y.to_slice() {
            Some(values) => Cow::Borrowed(values),
            None => {
                let mut values = Purpose("the targets").with_capacity(y.len())?;
                values.extend(y.iter().copied());
                Cow::Owned(values)
            }
        };
        Ok(TrainY::Real(RealTargets::new(values, y.ncols())?))
    }

    /// Returns the same targets, with these factors of outputs for the search of splits. Classes and labels have no
    /// factors.
    pub(crate) fn times(self, factors: Vec<f64>) -> Self {
        match self {
            TrainY::Real(y) => TrainY::Real(y.times(factors)),
            TrainY::SparseReal(y) => TrainY::SparseReal(y.times(factors)),
            TrainY::MaskedReal(y) => TrainY::MaskedReal(y.times(factors)),
            slots @ (TrainY::Slots(_) | TrainY::MaskedSlots(_)) => slots,
        }
    }

    /// Converts numbers of which unknown cells are NaN.
    pub(super) fn of_numbers_with_gaps(values: Array2<f64>, units: impl Fn(u32) -> u64) -> Result<TrainY<'static>> {
        let n_outputs = values.ncols();
        let numbers = RealTargets::new(values.into_raw_vec_and_offset().0, n_outputs)?;
        MaskedNumbers::with_gaps(numbers, units).map(TrainY::MaskedReal)
    }

    /// Converts y with unknown cells. `y` must have no labels in unknown cells; `units` returns the weight of a sample.
    pub(super) fn masked(y: &'a Targets<'_>, known: &'a Known, units: impl Fn(u32) -> u64) -> Result<Self> {
        Ok(match TrainY::new(y)? {
            TrainY::Slots(slots) => {
                let n_classes = match y {
                    Targets::Classes { n_classes, .. } => Some(&n_classes[..]),
                    Targets::Real(_) | Targets::SparseReal(_) | Targets::Labels(_) => None,
                };
                TrainY::MaskedSlots(MaskedSlots::new(slots, n_classes, known, units)?)
            }
            TrainY::Real(numbers) => TrainY::MaskedReal(MaskedNumbers::new(numbers, known, units)?),
            TrainY::SparseReal(_) => return Err(Error::unsupported("y_mask", "for sparse numerical outputs")),
            masked @ (TrainY::MaskedSlots(_) | TrainY::MaskedReal(_)) => masked,
        })
    }
}

/// Numerical targets in row-major order.
///
/// Leaves use the numbers themselves, [`RealTargets::of`]. The search of splits uses [`RealTargets::searched`], the
/// numbers times the factors of their outputs. The products are bit for bit those of a copy of y that is multiplied in
/// advance.
#[derive(Debug)]
pub(crate) struct RealTargets<'a> {
    pub(crate) values: Cow<'a, [f64]>,
    pub(crate) n_outputs: usize,
    /// The factor of each output, which is finite and not negative.
    factors: Vec<f64>,
}

impl<'a> RealTargets<'a> {
    /// Creates targets with factors of one.
    pub(crate) fn new(values: impl Into<Cow<'a, [f64]>>, n_outputs: usize) -> Result<Self> {
        Ok(RealTargets {
            values: values.into(),
            n_outputs,
            factors: Purpose("the factors of outputs").filled(1.0, n_outputs)?,
        })
    }

    /// Returns the same targets with these factors.
    pub(crate) fn times(self, factors: Vec<f64>) -> Self {
        debug_assert_eq!(factors.len(), self.n_outputs);
        RealTargets { factors, ..self }
    }

    #[inline]
    pub(crate) fn of(&self, row: u32) -> &[f64] {
        let start = row as usize * self.n_outputs;
        &self.values[start..start + self.n_outputs]
    }

    /// Returns the factors of outputs for the search of splits.
    pub(crate) fn factors(&self) -> &[f64] {
        &self.factors
    }

    /// Returns a sample as the search of splits uses it.
    #[inline]
    pub(crate) fn searched(&self, row: u32) -> impl Iterator<Item = f64> + Clone + '_ {
        self.of(row).iter().zip(&self.factors).map(|(y, factor)| y * factor)
    }
}
