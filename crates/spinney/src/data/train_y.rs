//! y as growth reads it: slots of classes and labels, or rows of numbers; and the same where some cells are not known.

use std::borrow::Cow;

use super::known::Known;
use super::masked::{MaskedNumbers, MaskedSlots};
use super::slots::Slots;
use super::targets::Targets;
use crate::error::{Result, try_with_capacity};

/// y as criteria use it.
#[derive(Debug)]
pub(crate) enum TrainY<'a> {
    Slots(Slots<'a>),
    Real(RealTargets<'a>),
    MaskedSlots(MaskedSlots<'a>),
    MaskedReal(MaskedNumbers),
}

impl<'a> TrainY<'a> {
    /// Lent where the layout allows.
    pub(crate) fn new(y: &'a Targets<'_>) -> Result<Self> {
        let y = match Slots::new(y)? {
            Ok(slots) => return Ok(TrainY::Slots(slots)),
            Err(numbers) => numbers,
        };
        let values = match y.to_slice() {
            Some(values) => Cow::Borrowed(values),
            None => {
                let mut values = try_with_capacity("the targets", y.len())?;
                values.extend(y.iter().copied());
                Cow::Owned(values)
            }
        };
        Ok(TrainY::Real(RealTargets { values, n_outputs: y.ncols() }))
    }

    /// Of which some cells are not known. `y` has no labels there, `units` tells what each row weighs.
    pub(super) fn masked(y: &'a Targets<'_>, known: &'a Known, units: impl Fn(u32) -> u64) -> Result<Self> {
        Ok(match TrainY::new(y)? {
            TrainY::Slots(slots) => {
                let n_classes = match y {
                    Targets::Classes { n_classes, .. } => Some(&n_classes[..]),
                    Targets::Real(_) | Targets::Labels(_) => None,
                };
                TrainY::MaskedSlots(MaskedSlots::new(slots, n_classes, known, units)?)
            }
            TrainY::Real(numbers) => TrainY::MaskedReal(MaskedNumbers::new(numbers, known, units)?),
            masked @ (TrainY::MaskedSlots(_) | TrainY::MaskedReal(_)) => masked,
        })
    }
}

/// Numeric targets, row after row.
#[derive(Debug)]
pub(crate) struct RealTargets<'a> {
    pub(crate) values: Cow<'a, [f64]>,
    pub(crate) n_outputs: usize,
}

impl RealTargets<'_> {
    pub(crate) fn of(&self, row: u32) -> &[f64] {
        let start = row as usize * self.n_outputs;
        &self.values[start..start + self.n_outputs]
    }
}
