//! Parsing of one line of labels and entries: `l1,l2,... f1:v1 f2:v2 ...`.

use crate::error::{Error, Result};

use super::lines::{Line, is_blank, shown, split_word, without_leading_blanks};
use super::number::{decimal, leading_decimal, leading_whole};
use super::rows::Rows;

/// The ranges of indices in a file: below `n_features` and `n_labels`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) n_features: u32,
    pub(super) n_labels: u32,
}

/// Pushes the labels at the beginning of the text, and returns the rest. There are no labels if the text begins with a
/// blank or an entry.
#[inline]
pub(super) fn push_labels<'a>(rows: &mut Rows, line: &Line<'_>, text: &'a [u8], limits: Limits) -> Result<&'a [u8]> {
    if text.first().is_none_or(|&byte| is_blank(byte)) {
        return Ok(text);
    }
    let mut rest = text;
    loop {
        let ends = |after: Option<u8>| after.is_none_or(|byte| byte == b',' || is_blank(byte));
        let Some((label, n_bytes)) = leading_index(rest, limits.n_labels, ends) else {
            let is_entry = split_word(text).0.contains(&b':');
            return if is_entry { Ok(text) } else { Err(unfit(line, "label", rest, b',', limits.n_labels)) };
        };
        rows.push_label(label)?;
        rest = match &rest[n_bytes..] {
            [b',', others @ ..] => others,
            entries => return Ok(entries),
        };
    }
}

/// Pushes the entries of the text.
#[inline]
pub(super) fn push_entries(rows: &mut Rows, line: &Line<'_>, text: &[u8], limits: Limits) -> Result<()> {
    let mut rest = without_leading_blanks(text);
    while !rest.is_empty() {
        let (feature, n_bytes) = leading_index(rest, limits.n_features, |after| after == Some(b':'))
            .ok_or_else(|| unfit_entry(line, rest, limits.n_features))?;
        rest = &rest[n_bytes + 1..];
        let value;
        (value, rest) = leading_value(rest).ok_or_else(|| unfit_value(line, feature, rest))?;
        rows.push_entry(feature, value)?;
        // There is mostly one blank.
        rest = match rest {
            [_, rest @ ..] if !rest.first().is_some_and(|&byte| is_blank(byte)) => rest,
            rest => without_leading_blanks(rest),
        };
    }
    Ok(())
}

/// Returns an index below `limit` at the beginning of the text and its number of bytes, if the byte after it satisfies
/// `ends`.
#[inline]
fn leading_index(text: &[u8], limit: u32, ends: impl Fn(Option<u8>) -> bool) -> Option<(u32, usize)> {
    let (index, n_bytes) = leading_whole(text)?;
    let index = u32::try_from(index).ok().filter(|&index| index < limit)?;
    ends(text.get(n_bytes).copied()).then_some((index, n_bytes))
}

/// Returns the number in the first word, and the rest of the text.
#[inline]
fn leading_value(text: &[u8]) -> Option<(f32, &[u8])> {
    match leading_decimal(text) {
        Some((value, n_bytes)) if text.get(n_bytes).is_none_or(|&byte| is_blank(byte)) => {
            Some((value, &text[n_bytes..]))
        }
        _ => {
            let word = split_word(text).0;
            Some((decimal(word)?, &text[word.len()..]))
        }
    }
}

#[cold]
fn unfit_entry(line: &Line<'_>, text: &[u8], n_features: u32) -> Error {
    let word = split_word(text).0;
    if word.contains(&b':') {
        unfit(line, "feature", word, b':', n_features)
    } else {
        line.error(shown(word), "feature:value")
    }
}

#[cold]
fn unfit_value(line: &Line<'_>, feature: u32, text: &[u8]) -> Error {
    let got = format!("the value {} of the feature {feature}", shown(split_word(text).0));
    line.error(got, "a number that float32 holds, or nan")
}

/// Returns an error: the text up to `end` is not a valid index.
#[cold]
fn unfit(line: &Line<'_>, what: &str, text: &[u8], end: u8, limit: u32) -> Error {
    let index = split_word(text).0.split(|&byte| byte == end).next().unwrap_or_default();
    let expected = match limit.checked_sub(1) {
        Some(last) => format!("a whole number from 0 to {last}"),
        None => "none, as there are 0 of them".to_owned(),
    };
    line.error(format!("the {what} {}", shown(index)), expected)
}
