//! y as growth reads it: slots of classes and labels, or numbers, as rows or as entries; and the same where some cells are not
//! known.

use std::borrow::Cow;

use super::known::Known;
use super::masked::{MaskedNumbers, MaskedSlots};
use super::slots::Slots;
use super::sparse_targets::SparseNumbers;
use super::targets::Targets;
use crate::error::{Error, Result, try_filled, try_with_capacity};

/// y as criteria use it.
#[derive(Debug)]
pub(crate) enum TrainY<'a> {
    Slots(Slots<'a>),
    Real(RealTargets<'a>),
    SparseReal(SparseNumbers<'a>),
    MaskedSlots(MaskedSlots<'a>),
    MaskedReal(MaskedNumbers),
}

impl<'a> TrainY<'a> {
    /// Lent where the layout allows.
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
                let mut values = try_with_capacity("the targets", y.len())?;
                values.extend(y.iter().copied());
                Cow::Owned(values)
            }
        };
        Ok(TrainY::Real(RealTargets::new(values, y.ncols())?))
    }

    /// The same, of which the search of splits takes each number times the factor of its output. Classes and labels
    /// have none.
    pub(crate) fn times(self, factors: Vec<f64>) -> Self {
        match self {
            TrainY::Real(y) => TrainY::Real(y.times(factors)),
            TrainY::SparseReal(y) => TrainY::SparseReal(y.times(factors)),
            TrainY::MaskedReal(y) => TrainY::MaskedReal(y.times(factors)),
            slots @ (TrainY::Slots(_) | TrainY::MaskedSlots(_)) => slots,
        }
    }

    /// Of which some cells are not known. `y` has no labels there, `units` tells what each row weighs.
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

/// Numeric targets, row after row.
///
/// Leaves have the numbers themselves, [`RealTargets::of`]; the search of splits has [`RealTargets::searched`], each
/// output times its factor. The products are those of a copy of y that was multiplied before, bit for bit.
#[derive(Debug)]
pub(crate) struct RealTargets<'a> {
    pub(crate) values: Cow<'a, [f64]>,
    pub(crate) n_outputs: usize,
    /// Of each output: finite, not negative.
    factors: Vec<f64>,
}

impl<'a> RealTargets<'a> {
    /// Which are searched as they are.
    pub(crate) fn new(values: impl Into<Cow<'a, [f64]>>, n_outputs: usize) -> Result<Self> {
        Ok(RealTargets {
            values: values.into(),
            n_outputs,
            factors: try_filled("the factors of outputs", 1.0, n_outputs)?,
        })
    }

    /// The same with these factors.
    pub(crate) fn times(self, factors: Vec<f64>) -> Self {
        debug_assert_eq!(factors.len(), self.n_outputs);
        RealTargets { factors, ..self }
    }

    #[inline]
    pub(crate) fn of(&self, row: u32) -> &[f64] {
        let start = row as usize * self.n_outputs;
        &self.values[start..start + self.n_outputs]
    }

    /// What the search of splits takes the outputs times.
    pub(crate) fn factors(&self) -> &[f64] {
        &self.factors
    }

    /// The row as the search of splits takes it.
    #[inline]
    pub(crate) fn searched(&self, row: u32) -> impl Iterator<Item = f64> + Clone + '_ {
        self.of(row).iter().zip(&self.factors).map(|(y, factor)| y * factor)
    }
}
