//! y as the caller holds it.

use std::borrow::Cow;

use ndarray::ArrayView2;

use super::sparse::check_pattern;
use crate::error::{Error, Result};

/// Sparse 0/1 labels: `indices[ptr[i]..ptr[i + 1]]` are the labels of sample `i`, strictly rising.
#[derive(Clone, Debug)]
pub struct LabelView<'a> {
    ptr: Cow<'a, [usize]>,
    indices: Cow<'a, [u32]>,
    n_labels: usize,
}

impl<'a> LabelView<'a> {
    /// Checks the two arrays against each other and against `n_labels`.
    ///
    /// # Errors
    /// [`crate::ErrorKind::SparseFormat`] as [`crate::SparseView::try_new`].
    pub fn try_new(
        ptr: impl Into<Cow<'a, [usize]>>,
        indices: impl Into<Cow<'a, [u32]>>,
        n_labels: usize,
    ) -> Result<Self> {
        let (ptr, indices) = (ptr.into(), indices.into());
        check_pattern("y", &ptr, &indices, n_labels)?;
        Ok(LabelView { ptr, indices, n_labels })
    }

    /// The same, lent.
    pub(crate) fn view(&self) -> LabelView<'_> {
        LabelView { ptr: Cow::Borrowed(&self.ptr), indices: Cow::Borrowed(&self.indices), n_labels: self.n_labels }
    }

    /// Number of samples.
    pub fn n_samples(&self) -> usize {
        self.ptr.len() - 1
    }

    /// Number of labels.
    pub fn n_labels(&self) -> usize {
        self.n_labels
    }

    /// Offsets of the samples, `n_samples() + 1` of them.
    pub fn ptr(&self) -> &[usize] {
        &self.ptr
    }

    /// Labels, sample after sample.
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }
}

/// The outputs of a supervised problem.
#[derive(Clone, Debug)]
pub enum Targets<'a> {
    /// Numbers, (n_samples, n_outputs).
    Real(ArrayView2<'a, f64>),
    /// Classes: codes `0..n_classes[j]` in column j of (n_samples, n_outputs).
    Classes {
        /// Class codes.
        codes: ArrayView2<'a, u32>,
        /// Number of classes of each output.
        n_classes: Vec<u32>,
    },
    /// 0/1 labels, stored sparse.
    Labels(LabelView<'a>),
}

/// Squares of targets, summed over samples and outputs, must be finite.
const LARGEST: f64 = 1e150;

impl Targets<'_> {
    /// The same, lent: nothing is copied but the numbers of classes.
    pub fn view(&self) -> Targets<'_> {
        match self {
            Targets::Real(y) => Targets::Real(y.view()),
            Targets::Classes { codes, n_classes } => {
                Targets::Classes { codes: codes.view(), n_classes: n_classes.clone() }
            }
            Targets::Labels(y) => Targets::Labels(y.view()),
        }
    }

    /// Number of samples.
    pub fn n_samples(&self) -> usize {
        match self {
            Targets::Real(y) => y.nrows(),
            Targets::Classes { codes, .. } => codes.nrows(),
            Targets::Labels(y) => y.n_samples(),
        }
    }

    /// Proves lengths, finiteness and ranges.
    pub(crate) fn check(&self, n_samples: usize) -> Result<()> {
        if self.n_samples() != n_samples {
            return Err(Error::shape("y", n_samples, self.n_samples()));
        }
        match self {
            Targets::Real(y) => {
                if y.ncols() == 0 {
                    return Err(Error::invalid("y", "0 columns wide", "at least one output"));
                }
                if !y.iter().all(|v| v.is_finite()) {
                    return Err(Error::invalid("y", "NaN or infinite in places", "finite numbers"));
                }
                if let Some(v) = y.iter().find(|v| v.abs() > LARGEST) {
                    return Err(Error::invalid("y", format!("{v:e} in places"), "magnitudes up to 1e150"));
                }
            }
            Targets::Classes { codes, n_classes } => {
                if codes.ncols() == 0 {
                    return Err(Error::invalid("y", "0 columns wide", "at least one output"));
                }
                if codes.ncols() != n_classes.len() {
                    return Err(Error::shape("n_classes", codes.ncols(), n_classes.len()));
                }
                for row in codes.rows() {
                    if let Some((&c, &k)) = row.iter().zip(n_classes).find(|(c, k)| c >= k) {
                        return Err(Error::invalid("y", format!("class {c} of {k}"), "codes below n_classes"));
                    }
                }
            }
            Targets::Labels(y) => {
                if y.n_labels() == 0 {
                    return Err(Error::invalid("y", "0 columns wide", "at least one label"));
                }
            }
        }
        Ok(())
    }

    /// What the columns of the leaf table mean.
    pub(crate) fn outputs(&self) -> Outputs {
        match self {
            Targets::Real(y) => Outputs::Real { n_outputs: y.ncols() },
            Targets::Classes { n_classes, .. } => Outputs::Classes { n_classes: n_classes.clone() },
            Targets::Labels(y) => Outputs::Labels { n_labels: y.n_labels() },
        }
    }
}

/// Meaning of the columns of predictions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outputs {
    /// One column for each output: its mean.
    Real {
        /// Number of outputs.
        n_outputs: usize,
    },
    /// For each output, one column for each of its classes: the class's frequency.
    Classes {
        /// Number of classes of each output.
        n_classes: Vec<u32>,
    },
    /// One column for each label: its frequency.
    Labels {
        /// Number of labels.
        n_labels: usize,
    },
}

impl Outputs {
    /// Number of columns of predictions: outputs, classes of all outputs, or labels.
    pub fn width(&self) -> usize {
        match self {
            Outputs::Real { n_outputs } => *n_outputs,
            Outputs::Classes { n_classes } => n_classes.iter().map(|&k| k as usize).sum(),
            Outputs::Labels { n_labels } => *n_labels,
        }
    }

    /// Number of outputs: columns of y.
    pub fn n_outputs(&self) -> usize {
        match self {
            Outputs::Real { n_outputs } => *n_outputs,
            Outputs::Classes { n_classes } => n_classes.len(),
            Outputs::Labels { n_labels } => *n_labels,
        }
    }
}
