//! The text format of the Extreme Classification Repository (Bhatia et al., 2016).
//!
//! The first line is `n_samples n_features n_labels`. It is followed by a line for each sample, `l1,l2,... f1:v1 f2:v2
//! ...`, with indices from 0. The line of a sample without labels begins with a blank.

use std::io::Write;

use crate::control::Control;
use crate::data::{LabelView, SparseView};
use crate::error::{Error, Purpose, Result};

use super::lines::{Line, Lines, error_of_line, is_blank, shown, trimmed};
use super::number::whole;
use super::rows::{LabelData, Rows};
use super::sample::{Limits, push_entries, push_labels};

const COUNTS: &str = "three counts: n_samples n_features n_labels";

struct Header {
    n_samples: u64,
    limits: Limits,
}

impl Header {
    fn of(line: Option<Line<'_>>) -> Result<Self> {
        let Some(line) = line else {
            return Err(error_of_line(1, "an empty file", COUNTS));
        };
        let mut words = line.text.split(|&byte| is_blank(byte)).filter(|word| !word.is_empty());
        let counts: [Option<u64>; 3] = std::array::from_fn(|_| words.next().and_then(whole));
        let ([Some(n_samples), Some(n_features), Some(n_labels)], None) = (counts, words.next()) else {
            return Err(line.error(shown(line.text), COUNTS));
        };
        let limit = |what: &str, count: u64| {
            u32::try_from(count).map_err(|_| line.error(format!("{count} {what}"), format!("at most {}", u32::MAX)))
        };
        let limits = Limits { n_features: limit("features", n_features)?, n_labels: limit("labels", n_labels)? };
        Ok(Header { n_samples, limits })
    }
}

/// Reads a file of the Extreme Classification Repository.
///
/// Lines end with `\n` or `\r\n`, and blanks are spaces and tabs. Entries and labels of a line may be in any order.
/// Blank lines are allowed after the samples. A sample whose line begins with an entry has no labels either.
///
/// ```
/// use weald::Control;
/// use weald::label_files::read_xmc;
///
/// let data = read_xmc(b"2 4 3\n0,2 1:0.5 3:2\n 0:1\n", &Control::default())?;
/// assert_eq!((data.x.ptr, data.x.indices, data.x.values), (vec![0, 2, 3], vec![1, 3, 0], vec![0.5, 2.0, 1.0]));
/// assert_eq!((data.y.ptr, data.y.indices, data.y.n_labels), (vec![0, 2, 2], vec![0, 2], 3));
/// # Ok::<(), weald::Error>(())
/// ```
///
/// # Errors
/// Returns [`crate::ErrorKind::Line`] if the text does not have this format, if an index is out of range or occurs
/// twice in a sample, and if there are fewer or more samples than the header says; [`crate::ErrorKind::Interrupted`] or
/// [`crate::ErrorKind::OutOfMemory`].
pub fn read_xmc(text: &[u8], control: &Control) -> Result<LabelData> {
    let mut lines = Lines::of(text);
    let header = Header::of(lines.next())?;
    let mut rows = Rows::for_text(text)?;
    let mut pulse = control.pulse();
    while (rows.len() as u64) < header.n_samples {
        let Some(line) = lines.next() else {
            let got = format!("the end of the file after {} samples", rows.len());
            return Err(error_of_line(lines.next_number(), got, format!("{}, as line 1 says", header.n_samples)));
        };
        pulse.after(line.text.len())?;
        let entries = push_labels(&mut rows, &line, line.text, header.limits)?;
        push_entries(&mut rows, &line, entries, header.limits)?;
        rows.end_row(&line)?;
    }
    if let Some(line) = lines.find(|line| !trimmed(line.text).is_empty()) {
        let expected = format!("the end of the file after {} samples, as line 1 says", header.n_samples);
        return Err(line.error(shown(line.text), expected));
    }
    let mut data = rows.into_data();
    data.x.n_features = header.limits.n_features as usize;
    data.y.n_labels = header.limits.n_labels as usize;
    Ok(data)
}

/// Maximum number of bytes of one entry: a blank, a feature of up to ten digits, a colon, and a number of up to 17
/// characters.
const ENTRY: usize = 32;

/// Writes X (CSR) and the labels of the same number of samples in the format of the Extreme Classification Repository.
///
/// Numbers have as many digits as are needed to distinguish them from other float32, so that [`read_xmc`] returns the
/// same arrays.
///
/// # Errors
/// Returns [`crate::ErrorKind::Shape`] if the numbers of samples differ, [`crate::ErrorKind::Invalid`] if X contains
/// infinity, [`crate::ErrorKind::Interrupted`] or [`crate::ErrorKind::OutOfMemory`].
pub fn write_xmc(x: &SparseView<'_>, y: &LabelView<'_>, control: &Control) -> Result<Vec<u8>> {
    const PURPOSE: Purpose = Purpose("the text of a file");
    if x.n_major() != y.n_samples() {
        return Err(Error::shape("y", x.n_major(), y.n_samples()));
    }
    let mut text = Vec::new();
    PURPOSE.grow(&mut text, 3 * ENTRY)?;
    put(&mut text, format_args!("{} {} {}\n", x.n_major(), x.n_minor(), y.n_labels()));
    let mut pulse = control.pulse();
    for (row, of_row) in y.ptr().windows(2).enumerate() {
        let labels = &y.indices()[of_row[0]..of_row[1]];
        let (features, values) = x.slice(row);
        pulse.after(labels.len() + features.len())?;
        PURPOSE.grow(&mut text, ENTRY * (labels.len() + features.len() + 1))?;
        for (i, label) in labels.iter().enumerate() {
            put(&mut text, format_args!("{}{label}", if i > 0 { "," } else { "" }));
        }
        if features.is_empty() && labels.is_empty() {
            text.push(b' ');
        }
        for (feature, &value) in features.iter().zip(values) {
            if value.is_infinite() {
                let got = format!("{value} at sample {row}, feature {feature}");
                return Err(Error::invalid("X", got, "have finite values or NaN"));
            }
            put(&mut text, format_args!(" {feature}:"));
            put_number(&mut text, value);
        }
        text.push(b'\n');
    }
    Ok(text)
}

/// Writes a number without an exponent where that is short.
fn put_number(text: &mut Vec<u8>, value: f32) {
    if value == 0.0 || value.is_nan() || (1e-5..1e16).contains(&value.abs()) {
        put(text, format_args!("{value}"));
    } else {
        put(text, format_args!("{value:e}"));
    }
}

fn put(text: &mut Vec<u8>, what: std::fmt::Arguments<'_>) {
    text.write_fmt(what).expect("a vector takes all bytes");
}
