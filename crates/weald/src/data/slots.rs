//! A common representation of classes and labels: each sample occupies some *slots*, which are columns of predictions.
//!
//! A sample occupies one slot for each class output, that of its class, and the slots of all its labels. Counts of
//! slots are sufficient for the Gini index and the entropy.

use std::borrow::Cow;

use ndarray::ArrayView2;

use crate::data::{LabelView, Targets};
use crate::error::{ErrorKind, Purpose, Result};

/// The slots of every sample.
#[derive(Debug)]
pub(crate) struct Slots<'a> {
    offsets: Offsets<'a>,
    slots: Cow<'a, [u32]>,
    pub(crate) width: usize,
    /// Number of class outputs, or `None` for labels.
    pub(crate) n_class_outputs: Option<usize>,
}

#[derive(Debug)]
enum Offsets<'a> {
    /// Every sample has this number of slots.
    Stride(usize),
    Ptr(&'a [usize]),
}

impl<'a> Slots<'a> {
    /// Returns the slot whose share determines all others: that of a single label, or that of the second of two
    /// classes.
    pub(crate) fn ordering_slot(&self) -> Option<u32> {
        match (self.n_class_outputs, self.width) {
            (None, 1) => Some(0),
            (Some(1), 2) => Some(1),
            _ => None,
        }
    }

    /// Returns the slots of y, or `None` for numerical outputs.
    pub(crate) fn new(y: &'a Targets<'_>) -> Result<Option<Self>> {
        match y {
            Targets::Labels(y) => Slots::of_labels(y).map(Some),
            Targets::Classes { codes, n_classes } => Slots::of_classes(codes, n_classes).map(Some),
            Targets::Real(_) | Targets::SparseReal(_) => Ok(None),
        }
    }

    /// Returns the slots of labels, which are the labels themselves.
    pub(crate) fn of_labels(y: &'a LabelView<'_>) -> Result<Self> {
        let (offsets, slots) = (Offsets::Ptr(y.ptr()), Cow::Borrowed(y.indices()));
        Slots { offsets, slots, width: y.n_labels(), n_class_outputs: None }.checked()
    }

    /// Returns the slots of classes, one for each class of each output.
    pub(crate) fn of_classes(codes: &ArrayView2<'_, u32>, n_classes: &[u32]) -> Result<Self> {
        let mut slots = Purpose("the classes of samples").with_capacity(codes.len())?;
        for row in codes.rows() {
            let mut first = 0;
            for (&code, &k) in row.iter().zip(n_classes) {
                slots.push(first + code);
                first += k;
            }
        }
        let (stride, width) = (n_classes.len(), n_classes.iter().map(|&k| k as usize).sum());
        let offsets = Offsets::Stride(stride);
        Slots { offsets, slots: slots.into(), width, n_class_outputs: Some(stride) }.checked()
    }

    fn checked(self) -> Result<Self> {
        if self.width > u32::MAX as usize {
            return Err(ErrorKind::TooMany { what: "classes of all outputs", limit: u32::MAX as usize }.into());
        }
        Ok(self)
    }

    #[inline]
    pub(crate) fn of(&self, row: u32) -> &[u32] {
        let row = row as usize;
        match self.offsets {
            Offsets::Stride(stride) => &self.slots[row * stride..(row + 1) * stride],
            Offsets::Ptr(ptr) => &self.slots[ptr[row]..ptr[row + 1]],
        }
    }

    /// Returns the largest number of slots of a sample.
    pub(crate) fn most_in_a_row(&self) -> usize {
        match self.offsets {
            Offsets::Stride(stride) => stride,
            Offsets::Ptr(ptr) => ptr.windows(2).map(|w| w[1] - w[0]).max().unwrap_or(0),
        }
    }
}
