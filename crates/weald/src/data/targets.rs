//! y in the form of the caller, and the columns that boosting and compression make of it, one for each score.

use std::borrow::Cow;

use ndarray::{ArrayBase, ArrayView2, Axis, Data, Ix2, Slice};

use super::sparse::check_pattern;
use super::sparse_targets::SparseTargets;
use crate::error::{Error, Purpose, Result};

/// Sparse 0/1 labels: `indices[ptr[i]..ptr[i + 1]]` are the labels of sample `i`, in strictly increasing order.
#[derive(Clone, Debug)]
pub struct LabelView<'a> {
    ptr: Cow<'a, [usize]>,
    indices: Cow<'a, [u32]>,
    n_labels: usize,
}

impl<'a> LabelView<'a> {
    /// Returns a view of the two arrays, after checking them against each other and against `n_labels`.
    ///
    /// # Errors
    /// [`crate::ErrorKind::SparseFormat`] under the same conditions as [`crate::SparseView::try_new`].
    pub fn try_new(
        ptr: impl Into<Cow<'a, [usize]>>,
        indices: impl Into<Cow<'a, [u32]>>,
        n_labels: usize,
    ) -> Result<Self> {
        let (ptr, indices) = (ptr.into(), indices.into());
        check_pattern("y", &ptr, &indices, n_labels)?;
        Ok(LabelView { ptr, indices, n_labels })
    }

    /// Returns a view of the same labels.
    pub(crate) fn view(&self) -> LabelView<'_> {
        LabelView { ptr: Cow::Borrowed(&self.ptr), indices: Cow::Borrowed(&self.indices), n_labels: self.n_labels }
    }

    /// Returns the number of samples.
    pub fn n_samples(&self) -> usize {
        self.ptr.len() - 1
    }

    /// Returns the number of labels.
    pub fn n_labels(&self) -> usize {
        self.n_labels
    }

    /// Returns the offsets of the samples in the indices, of length `n_samples() + 1`.
    pub fn ptr(&self) -> &[usize] {
        &self.ptr
    }

    /// Returns the labels of all samples, one sample after another.
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }
}

/// The targets y of a supervised problem.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Targets<'a> {
    /// Numerical outputs, of shape (n_samples, n_outputs).
    Real(ArrayView2<'a, f64>),
    /// Classes: codes `0..n_classes[j]` in column j of an array of shape (n_samples, n_outputs).
    Classes {
        /// The class codes.
        codes: ArrayView2<'a, u32>,
        /// The number of classes of each output.
        n_classes: Vec<u32>,
    },
    /// 0/1 labels, stored sparse.
    Labels(LabelView<'a>),
    /// Sparse numerical outputs: values that are not stored are zero. If most values are zero, trees and forests with
    /// the variance criterion are fitted on the stored entries. All other fits make a dense copy.
    SparseReal(SparseTargets<'a>),
}

impl<'a> From<ArrayView2<'a, f64>> for Targets<'a> {
    fn from(y: ArrayView2<'a, f64>) -> Self {
        Targets::Real(y)
    }
}

impl<'a, S: Data<Elem = f64>> From<&'a ArrayBase<S, Ix2>> for Targets<'a> {
    fn from(y: &'a ArrayBase<S, Ix2>) -> Self {
        Targets::Real(y.view())
    }
}

impl<'a> From<LabelView<'a>> for Targets<'a> {
    fn from(y: LabelView<'a>) -> Self {
        Targets::Labels(y)
    }
}

impl<'a> From<SparseTargets<'a>> for Targets<'a> {
    fn from(y: SparseTargets<'a>) -> Self {
        Targets::SparseReal(y)
    }
}

impl<'a> From<&'a Targets<'_>> for Targets<'a> {
    fn from(y: &'a Targets<'_>) -> Self {
        y.view()
    }
}

impl<'a> Targets<'a> {
    /// Returns classes: codes below `n_classes[j]` in column j.
    pub fn classes(codes: impl Into<ArrayView2<'a, u32>>, n_classes: impl Into<Vec<u32>>) -> Self {
        Targets::Classes { codes: codes.into(), n_classes: n_classes.into() }
    }
}

/// Bound on the magnitude of targets: their squares, summed over samples and outputs, must be finite.
pub(crate) const LARGEST: f64 = 1e150;

impl Targets<'_> {
    /// Returns a view of the same targets. Only the numbers of classes are copied.
    pub fn view(&self) -> Targets<'_> {
        match self {
            Targets::Real(y) => Targets::Real(y.view()),
            Targets::Classes { codes, n_classes } => {
                Targets::Classes { codes: codes.view(), n_classes: n_classes.clone() }
            }
            Targets::Labels(y) => Targets::Labels(y.view()),
            Targets::SparseReal(y) => Targets::SparseReal(y.view()),
        }
    }

    /// Returns a number of numerical outputs.
    pub(crate) fn number(&self, row: usize, output: u32) -> f64 {
        match self {
            Targets::Real(y) => y[[row, output as usize]],
            Targets::SparseReal(y) => {
                let (outputs, values) = y.of(row as u32);
                outputs.binary_search(&output).map_or(0.0, |at| values[at])
            }
            Targets::Classes { .. } | Targets::Labels(_) => unreachable!("classes and labels are no numbers"),
        }
    }

    /// Returns the number of samples.
    pub fn n_samples(&self) -> usize {
        match self {
            Targets::Real(y) => y.nrows(),
            Targets::Classes { codes, .. } => codes.nrows(),
            Targets::Labels(y) => y.n_samples(),
            Targets::SparseReal(y) => y.n_samples(),
        }
    }

    /// Returns the number of stored values: the entries of labels and of sparse numerical outputs, and all values of
    /// dense numerical outputs and classes.
    pub fn n_stored(&self) -> usize {
        match self {
            Targets::Real(y) => y.len(),
            Targets::Classes { codes, .. } => codes.len(),
            Targets::Labels(y) => y.indices().len(),
            Targets::SparseReal(y) => y.values().len(),
        }
    }

    /// Returns the number of columns of predictions: see [`Outputs::width`].
    pub fn width(&self) -> usize {
        match self {
            Targets::Real(y) => y.ncols(),
            Targets::Classes { n_classes, .. } => n_classes.iter().map(|&k| k as usize).sum(),
            Targets::Labels(y) => y.n_labels(),
            Targets::SparseReal(y) => y.n_outputs(),
        }
    }

    /// Validates lengths, finiteness and ranges.
    pub(crate) fn check(&self, n_samples: usize) -> Result<()> {
        if self.n_samples() != n_samples {
            return Err(Error::shape("y", n_samples, self.n_samples()));
        }
        match self {
            Targets::Real(y) => check_numbers(y.ncols(), y.iter())?,
            Targets::SparseReal(y) => check_numbers(y.n_outputs(), y.values().iter())?,
            Targets::Classes { codes, n_classes } => {
                if codes.ncols() == 0 {
                    return Err(Error::invalid("y", "0 outputs", "have at least one output"));
                }
                if codes.ncols() != n_classes.len() {
                    return Err(Error::shape("n_classes", codes.ncols(), n_classes.len()));
                }
                for row in codes.rows() {
                    if let Some((&c, &k)) = row.iter().zip(n_classes).find(|(c, k)| c >= k) {
                        return Err(Error::invalid(
                            "y",
                            format!("class {c} of {k}"),
                            "have class codes below n_classes",
                        ));
                    }
                }
            }
            Targets::Labels(y) => {
                if y.n_labels() == 0 {
                    return Err(Error::invalid("y", "0 labels", "have at least one label"));
                }
            }
        }
        Ok(())
    }

    /// Returns the meaning of the columns of the leaf table.
    pub(crate) fn outputs(&self) -> Outputs {
        match self {
            Targets::Real(y) => Outputs::Real { n_outputs: y.ncols() },
            Targets::SparseReal(y) => Outputs::Real { n_outputs: y.n_outputs() },
            Targets::Classes { n_classes, .. } => Outputs::Classes { n_classes: n_classes.clone() },
            Targets::Labels(y) => Outputs::Labels { n_labels: y.n_labels() },
        }
    }
}

fn check_numbers<'v>(n_outputs: usize, mut values: impl Iterator<Item = &'v f64> + Clone) -> Result<()> {
    if n_outputs == 0 {
        return Err(Error::invalid("y", "0 outputs", "have at least one output"));
    }
    if !values.clone().all(|v| v.is_finite()) {
        return Err(Error::invalid("y", "NaN or infinity", "have finite values"));
    }
    if let Some(v) = values.find(|v| v.abs() > LARGEST) {
        return Err(Error::invalid("y", format!("{v:e}"), "have absolute values of at most 1e150"));
    }
    Ok(())
}

/// The meaning of the columns of predictions.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outputs {
    /// Numerical outputs: one column for each output, which is its mean.
    Real {
        /// Number of outputs.
        n_outputs: usize,
    },
    /// Classes: for each output, one column for each class, which is its frequency.
    Classes {
        /// The number of classes of each output.
        n_classes: Vec<u32>,
    },
    /// Labels: one column for each label, which is its frequency.
    Labels {
        /// Number of labels.
        n_labels: usize,
    },
}

impl Outputs {
    /// Returns a copy, or [`crate::ErrorKind::OutOfMemory`].
    pub(crate) fn try_clone(&self) -> Result<Outputs> {
        Ok(match self {
            Outputs::Real { n_outputs } => Outputs::Real { n_outputs: *n_outputs },
            Outputs::Classes { n_classes } => {
                Outputs::Classes { n_classes: Purpose("the classes of outputs").copied(n_classes)? }
            }
            Outputs::Labels { n_labels } => Outputs::Labels { n_labels: *n_labels },
        })
    }

    /// Returns the number of columns of predictions: the number of numerical outputs, of classes of all outputs, or of
    /// labels.
    pub fn width(&self) -> usize {
        match self {
            Outputs::Real { n_outputs } => *n_outputs,
            Outputs::Classes { n_classes } => n_classes.iter().map(|&k| k as usize).sum(),
            Outputs::Labels { n_labels } => *n_labels,
        }
    }

    /// Returns the number of outputs: the columns of y.
    pub fn n_outputs(&self) -> usize {
        match self {
            Outputs::Real { n_outputs } => *n_outputs,
            Outputs::Classes { n_classes } => n_classes.len(),
            Outputs::Labels { n_labels } => *n_labels,
        }
    }

    /// Returns the first column of the classes of each output, followed by the total number of columns. It is empty for
    /// numerical outputs and labels.
    pub(crate) fn class_starts(&self) -> Result<Vec<usize>> {
        match self {
            Outputs::Classes { n_classes } => starts(n_classes),
            Outputs::Real { .. } | Outputs::Labels { .. } => Ok(Vec::new()),
        }
    }
}

/// Returns the number of scores of a sample: one for each numerical output and each label, one for an output with two
/// classes, and otherwise one for each class.
pub(crate) fn n_scores(outputs: &Outputs) -> usize {
    match outputs {
        Outputs::Classes { n_classes } if is_binary(n_classes) => 1,
        other => other.width(),
    }
}

pub(crate) fn is_binary(n_classes: &[u32]) -> bool {
    n_classes == [2]
}

/// Returns y with one column for each score. An output with two classes becomes one label, which is 1 for the second
/// class.
pub(crate) fn in_columns<'a>(y: &'a Targets<'_>) -> Result<Targets<'a>> {
    match y {
        Targets::Classes { codes, n_classes } if is_binary(n_classes) => {
            let (n, mut n_on) = (codes.nrows(), 0);
            let mut ptr = Purpose("the classes of samples").with_capacity(n + 1)?;
            ptr.push(0);
            ptr.extend(codes.column(0).iter().map(|&code| {
                n_on += code as usize;
                n_on
            }));
            Ok(Targets::Labels(LabelView::try_new(ptr, Purpose("a label").filled(0, n_on)?, 1)?))
        }
        other => Ok(other.view()),
    }
}

/// Returns column `j` of y as the only output.
pub(crate) fn column<'a>(y: &'a Targets<'_>, starts: &[usize], j: usize) -> Result<Targets<'a>> {
    Ok(match y {
        Targets::Real(y) => Targets::Real(y.slice_axis(Axis(1), Slice::from(j..j + 1))),
        Targets::SparseReal(y) => Targets::SparseReal(y.column(j as u32)?),
        Targets::Labels(y) => {
            let on = |row: usize| y.indices()[y.ptr()[row]..y.ptr()[row + 1]].binary_search(&(j as u32)).is_ok();
            indicator(y.n_samples(), on)?
        }
        Targets::Classes { codes, .. } => {
            let output = starts.partition_point(|&start| start <= j) - 1;
            let code = (j - starts[output]) as u32;
            indicator(codes.nrows(), |row| codes[[row, output]] == code)?
        }
    })
}

/// Returns a single label, which is 1 for the samples for which `on` is true.
fn indicator<'a>(n: usize, on: impl Fn(usize) -> bool) -> Result<Targets<'a>> {
    let mut ptr = Purpose("a label").with_capacity(n + 1)?;
    ptr.push(0);
    let mut n_on = 0;
    ptr.extend((0..n).map(|row| {
        n_on += usize::from(on(row));
        n_on
    }));
    Ok(Targets::Labels(LabelView::try_new(ptr, Purpose("a label").filled(0, n_on)?, 1)?))
}

/// Returns the first column of each output, followed by the total number of columns.
pub(crate) fn starts(n_classes: &[u32]) -> Result<Vec<usize>> {
    let mut starts = Purpose("the columns of scores").with_capacity(n_classes.len() + 1)?;
    starts.push(0);
    starts.extend(n_classes.iter().scan(0, |end, &k| {
        *end += k as usize;
        Some(*end)
    }));
    Ok(starts)
}
