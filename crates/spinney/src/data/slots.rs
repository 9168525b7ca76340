//! Classes and labels as one thing: each sample occupies some *slots*, columns of the prediction.
//!
//! A class output occupies one slot of its classes; a label vector occupies the slots of its labels. Counts of slots are
//! all that Gini and entropy need.

use std::borrow::Cow;

use ndarray::ArrayView2;

use crate::data::Targets;
use crate::error::{ErrorKind, Result, try_with_capacity};

/// Slots of every sample.
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
    /// Every sample has that many.
    Stride(usize),
    Ptr(&'a [usize]),
}

impl<'a> Slots<'a> {
    /// Gives numbers back.
    pub(crate) fn new<'y>(y: &'a Targets<'y>) -> Result<std::result::Result<Self, &'a ArrayView2<'y, f64>>> {
        let width = y.outputs().width();
        if width > u32::MAX as usize {
            return Err(ErrorKind::TooMany { what: "classes of all outputs", limit: u32::MAX as usize }.into());
        }
        Ok(match y {
            Targets::Real(y) => Err(y),
            Targets::Labels(y) => Ok(Slots {
                offsets: Offsets::Ptr(y.ptr()),
                slots: Cow::Borrowed(y.indices()),
                width,
                n_class_outputs: None,
            }),
            Targets::Classes { codes, n_classes } => {
                let mut slots = try_with_capacity("the classes of samples", codes.len())?;
                for row in codes.rows() {
                    let mut first = 0;
                    for (&code, &k) in row.iter().zip(n_classes) {
                        slots.push(first + code);
                        first += k;
                    }
                }
                let stride = n_classes.len();
                Ok(Slots {
                    offsets: Offsets::Stride(stride),
                    slots: slots.into(),
                    width,
                    n_class_outputs: Some(stride),
                })
            }
        })
    }

    pub(crate) fn of(&self, row: u32) -> &[u32] {
        let row = row as usize;
        match self.offsets {
            Offsets::Stride(stride) => &self.slots[row * stride..(row + 1) * stride],
            Offsets::Ptr(ptr) => &self.slots[ptr[row]..ptr[row + 1]],
        }
    }

    /// The largest number of slots that one sample occupies.
    pub(crate) fn most_in_a_row(&self) -> usize {
        match self.offsets {
            Offsets::Stride(stride) => stride,
            Offsets::Ptr(ptr) => ptr.windows(2).map(|w| w[1] - w[0]).max().unwrap_or(0),
        }
    }
}
