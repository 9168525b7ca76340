//! The text format of svmlight and libsvm, with several labels.

use crate::control::Control;
use crate::error::{ErrorKind, Result};

use super::lines::{Lines, error_of_line, split_word, trimmed, without_leading_blanks};
use super::rows::{LabelData, Rows};
use super::sample::{Limits, push_entries, push_labels};

/// The index of the first feature of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum IndexBase {
    /// One, unless the file contains a feature with index 0.
    #[default]
    Auto,
    /// Zero.
    Zero,
    /// One.
    One,
}

/// The largest feature of a file, and its line.
#[derive(Clone, Copy)]
struct Largest {
    feature: u32,
    line: usize,
}

/// Reads the format of svmlight and libsvm, with labels separated by commas: `l1,l2,... f1:v1 f2:v2 ...`.
///
/// Labels are non-negative integers, which are the indices of the columns of y: they are counted from 0, whatever
/// `base` says about features. A line that begins with an entry has no labels. `qid:` and its number after the labels
/// are skipped, as are comments after `#` and blank lines. If `n_features` or `n_labels` is `None`, it is one more than
/// the largest index that occurs.
///
/// # Errors
/// Returns [`crate::ErrorKind::Line`] if the text does not have this format, or if an index is out of range or occurs
/// twice in a sample; [`crate::ErrorKind::TooMany`], [`crate::ErrorKind::Interrupted`] or
/// [`crate::ErrorKind::OutOfMemory`].
pub fn read_svmlight(
    text: &[u8],
    n_features: Option<usize>,
    n_labels: Option<usize>,
    base: IndexBase,
    control: &Control,
) -> Result<LabelData> {
    let n_features = n_features.map(|count| checked("features", count)).transpose()?;
    let n_labels = n_labels.map(|count| checked("labels", count)).transpose()?;
    // Which features are out of range is only known after all have been read.
    let limits = Limits { n_features: u32::MAX, n_labels: n_labels.unwrap_or(u32::MAX) };
    let mut rows = Rows::for_text(text)?;
    let mut largest: Option<Largest> = None;
    let mut has_zero = false;
    let mut pulse = control.pulse();
    for line in Lines::of(text) {
        pulse.after(line.text.len())?;
        let told = trimmed(without_comment(line.text));
        if told.is_empty() {
            continue;
        }
        let start = rows.x.indices.len();
        let entries = push_labels(&mut rows, &line, told, limits)?;
        push_entries(&mut rows, &line, without_query(entries), limits)?;
        rows.end_row(&line)?;
        let features = &rows.x.indices[start..];
        if let (Some(&first), Some(&last)) = (features.first(), features.last()) {
            has_zero |= first == 0;
            if base == IndexBase::One && first == 0 {
                return Err(line.error("the feature 0", "features from 1, as the file is said to count"));
            }
            if largest.is_none_or(|before| last > before.feature) {
                largest = Some(Largest { feature: last, line: line.number });
            }
        }
    }
    let from_one = base == IndexBase::One || (base == IndexBase::Auto && !has_zero);
    let offset = u32::from(from_one && largest.is_some());
    rows.x.indices.iter_mut().for_each(|feature| *feature -= offset);
    let mut data = rows.into_data();
    data.x.n_features = width(n_features, largest, offset)? as usize;
    let of_labels = data.y.indices.iter().max().map_or(0, |&last| last + 1);
    data.y.n_labels = n_labels.unwrap_or(of_labels) as usize;
    Ok(data)
}

/// Returns the number of columns of X: the given number, if the largest feature is below it.
fn width(n_features: Option<u32>, largest: Option<Largest>, offset: u32) -> Result<u32> {
    let needed = largest.map_or(0, |largest| largest.feature - offset + 1);
    match (n_features, largest) {
        (Some(n_features), Some(largest)) if n_features < needed => {
            let got = format!("the feature {}", largest.feature);
            let expected = format!("one of {n_features} features, counted from {offset}, as n_features says");
            Err(error_of_line(largest.line, got, expected))
        }
        (said, _) => Ok(said.unwrap_or(needed)),
    }
}

fn without_comment(text: &[u8]) -> &[u8] {
    // Few lines have a comment, and `contains` compares many bytes at once.
    if text.contains(&b'#') { text.split(|&byte| byte == b'#').next().unwrap_or_default() } else { text }
}

/// Returns the entries without the number of a query before them.
fn without_query(text: &[u8]) -> &[u8] {
    let entries = without_leading_blanks(text);
    if entries.starts_with(b"qid:") { split_word(entries).1 } else { entries }
}

fn checked(what: &'static str, count: usize) -> Result<u32> {
    u32::try_from(count).map_err(|_| ErrorKind::TooMany { what, limit: u32::MAX as usize }.into())
}
