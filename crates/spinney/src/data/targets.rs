//! y as the caller holds it, and the columns of scores that boosting and compression make of it.

use std::borrow::Cow;

use ndarray::{ArrayBase, ArrayView2, Axis, Data, Ix2, Slice};

use super::sparse::check_pattern;
use super::sparse_targets::SparseTargets;
use crate::error::{Error, Result, try_copied, try_filled, try_with_capacity};

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
#[non_exhaustive]
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
    /// Numbers, stored sparse: those that are not stored are zero. Trees and forests of the variance are fitted to their
    /// entries where most are zero; all else is fitted to rows of all numbers, of which a fit makes a copy.
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
    /// Classes: codes below `n_classes[j]` in column j.
    pub fn classes(codes: impl Into<ArrayView2<'a, u32>>, n_classes: impl Into<Vec<u32>>) -> Self {
        Targets::Classes { codes: codes.into(), n_classes: n_classes.into() }
    }
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
            Targets::SparseReal(y) => Targets::SparseReal(y.view()),
        }
    }

    /// Number of samples.
    pub fn n_samples(&self) -> usize {
        match self {
            Targets::Real(y) => y.nrows(),
            Targets::Classes { codes, .. } => codes.nrows(),
            Targets::Labels(y) => y.n_samples(),
            Targets::SparseReal(y) => y.n_samples(),
        }
    }

    /// Number of stored values: entries of labels and of sparse numbers, all of numbers and classes.
    pub fn n_stored(&self) -> usize {
        match self {
            Targets::Real(y) => y.len(),
            Targets::Classes { codes, .. } => codes.len(),
            Targets::Labels(y) => y.indices().len(),
            Targets::SparseReal(y) => y.values().len(),
        }
    }

    /// Number of columns of predictions: see [`Outputs::width`].
    pub fn width(&self) -> usize {
        match self {
            Targets::Real(y) => y.ncols(),
            Targets::Classes { n_classes, .. } => n_classes.iter().map(|&k| k as usize).sum(),
            Targets::Labels(y) => y.n_labels(),
            Targets::SparseReal(y) => y.n_outputs(),
        }
    }

    /// Proves lengths, finiteness and ranges.
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

    /// What the columns of the leaf table mean.
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

/// Meaning of the columns of predictions.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
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
    /// A copy, or [`crate::ErrorKind::OutOfMemory`].
    pub(crate) fn try_clone(&self) -> Result<Outputs> {
        Ok(match self {
            Outputs::Real { n_outputs } => Outputs::Real { n_outputs: *n_outputs },
            Outputs::Classes { n_classes } => {
                Outputs::Classes { n_classes: try_copied("the classes of outputs", n_classes)? }
            }
            Outputs::Labels { n_labels } => Outputs::Labels { n_labels: *n_labels },
        })
    }

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

    /// First column of the classes of each output, and the number of columns at the end; empty of numbers and labels.
    pub(crate) fn class_starts(&self) -> Result<Vec<usize>> {
        match self {
            Outputs::Classes { n_classes } => starts(n_classes),
            Outputs::Real { .. } | Outputs::Labels { .. } => Ok(Vec::new()),
        }
    }
}

/// Number of scores of a row: one for each number and label, one for two classes, else one for each class.
pub(crate) fn n_scores(outputs: &Outputs) -> usize {
    match outputs {
        Outputs::Classes { n_classes } if is_binary(n_classes) => 1,
        other => other.width(),
    }
}

pub(crate) fn is_binary(n_classes: &[u32]) -> bool {
    n_classes == [2]
}

/// y with a column for each score: two classes are one label, which is on for the second.
pub(crate) fn in_columns<'a>(y: &'a Targets<'_>) -> Result<Targets<'a>> {
    match y {
        Targets::Classes { codes, n_classes } if is_binary(n_classes) => {
            let (n, mut n_on) = (codes.nrows(), 0);
            let mut ptr = try_with_capacity("the classes of samples", n + 1)?;
            ptr.push(0);
            ptr.extend(codes.column(0).iter().map(|&code| {
                n_on += code as usize;
                n_on
            }));
            Ok(Targets::Labels(LabelView::try_new(ptr, try_filled("a label", 0, n_on)?, 1)?))
        }
        other => Ok(other.view()),
    }
}

/// Column `j` of y, as the only one.
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

/// One label, on in some rows.
fn indicator<'a>(n: usize, on: impl Fn(usize) -> bool) -> Result<Targets<'a>> {
    let mut ptr = try_with_capacity("a label", n + 1)?;
    ptr.push(0);
    let mut n_on = 0;
    ptr.extend((0..n).map(|row| {
        n_on += usize::from(on(row));
        n_on
    }));
    Ok(Targets::Labels(LabelView::try_new(ptr, try_filled("a label", 0, n_on)?, 1)?))
}

/// First column of each output, and the number of columns at the end.
pub(crate) fn starts(n_classes: &[u32]) -> Result<Vec<usize>> {
    let mut starts = try_with_capacity("the columns of scores", n_classes.len() + 1)?;
    starts.push(0);
    starts.extend(n_classes.iter().scan(0, |end, &k| {
        *end += k as usize;
        Some(*end)
    }));
    Ok(starts)
}
