//! y in the form that growth reads: slots of classes and labels, or numbers, as rows or as entries, each with or
//! without unknown cells.

use std::borrow::Cow;

use super::dataset::Dataset;
use super::known::Known;
use super::known::cells::TargetCells;
use super::known::masked::{MaskedNumbers, MaskedSlots};
use super::slots::Slots;
use super::sparse_targets::SparseNumbers;
use super::targets::Targets;
use crate::error::{Purpose, Result};

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

    /// Converts y with unknown cells. It must have no labels in unknown cells; `units` returns the weight of a sample.
    pub(super) fn masked(data: &'a Dataset<'_>, known: &'a Known, units: impl Fn(u32) -> u64) -> Result<Self> {
        let (slots, n_classes) = match data.y() {
            Targets::Labels(y) => (Slots::of_labels(y)?, None),
            Targets::Classes { codes, n_classes } => (Slots::of_classes(codes, n_classes)?, Some(&n_classes[..])),
            Targets::Real(_) | Targets::SparseReal(_) => return TrainY::numbers(data, known, units),
        };
        data.check_without_factors("for classes, and for labels by other criteria than the Gini index")?;
        MaskedSlots::new(slots, n_classes, known, units).map(TrainY::MaskedSlots)
    }

    /// Converts y with unknown cells to numbers, which are 0 and 1 for labels.
    pub(super) fn numbers(data: &Dataset<'_>, known: &Known, units: impl Fn(u32) -> u64) -> Result<Self> {
        let are_labels = matches!(data.y(), Targets::Labels(_));
        MaskedNumbers::new(TargetCells::of(data, known)?, are_labels, units).map(TrainY::MaskedReal)
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
    /// The units of the second derivative of each sample, if weights are products of a weight and these.
    pub(crate) curvatures: Option<&'a [u32]>,
}

impl<'a> RealTargets<'a> {
    /// Creates targets with factors of one.
    pub(crate) fn new(values: impl Into<Cow<'a, [f64]>>, n_outputs: usize) -> Result<Self> {
        Ok(RealTargets {
            values: values.into(),
            n_outputs,
            factors: Purpose("the factors of outputs").filled(1.0, n_outputs)?,
            curvatures: None,
        })
    }

    /// Returns the same targets of one output, of samples with these units of their second derivatives.
    pub(crate) fn curved(self, curvatures: Option<&'a [u32]>) -> Self {
        debug_assert!(self.n_outputs == 1 || curvatures.is_none());
        RealTargets { curvatures, ..self }
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
