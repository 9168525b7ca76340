//! What the columns of scores stand for.

use ndarray::{Axis, Slice};

use crate::data::{LabelView, Outputs, Targets};
use crate::error::{Result, try_with_capacity};

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
            Ok(Targets::Labels(LabelView::try_new(ptr, vec![0; n_on], 1)?))
        }
        other => Ok(other.view()),
    }
}

/// Column `j` of y, as the only one.
pub(crate) fn column<'a>(y: &'a Targets<'_>, starts: &[usize], j: usize) -> Result<Targets<'a>> {
    Ok(match y {
        Targets::Real(y) => Targets::Real(y.slice_axis(Axis(1), Slice::from(j..j + 1))),
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
    Ok(Targets::Labels(LabelView::try_new(ptr, vec![0; n_on], 1)?))
}

/// First column of each output, and the number of columns at the end.
pub(crate) fn starts(n_classes: &[u32]) -> Vec<usize> {
    let mut starts = vec![0];
    starts.extend(n_classes.iter().scan(0, |end, &k| {
        *end += k as usize;
        Some(*end)
    }));
    starts
}
