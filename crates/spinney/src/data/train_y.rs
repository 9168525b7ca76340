//! y as growth reads it: slots of classes and labels, or rows of numbers.

use std::borrow::Cow;

use super::slots::Slots;
use super::targets::Targets;
use crate::error::{Result, try_with_capacity};

/// y as criteria use it.
#[derive(Debug)]
pub(crate) enum TrainY<'a> {
    Slots(Slots<'a>),
    Real(RealTargets<'a>),
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
