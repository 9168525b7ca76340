//! Lines of a text with their numbers, and errors that state them.

use std::io::BufRead;

use crate::error::{Error, ErrorKind};

/// Maximum number of bytes of a text that a message shows.
const SHOWN: usize = 40;

/// The lines of a text, without their ends (`\n` or `\r\n`); the last line need not have one. A UTF-8 byte order mark
/// at the beginning of the text is skipped.
#[derive(Debug)]
pub(super) struct Lines<'a> {
    rest: &'a [u8],
    n_read: usize,
}

/// A line and its number, counted from 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a> {
    pub(super) number: usize,
    pub(super) text: &'a [u8],
}

impl<'a> Lines<'a> {
    pub(super) fn of(text: &'a [u8]) -> Self {
        Lines { rest: text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text), n_read: 0 }
    }

    /// Returns the number of the next line.
    pub(super) fn next_number(&self) -> usize {
        self.n_read + 1
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    #[inline]
    fn next(&mut self) -> Option<Line<'a>> {
        if self.rest.is_empty() {
            return None;
        }
        let mut after = self.rest;
        let n_bytes = after.skip_until(b'\n').expect("bytes in memory are read without errors");
        let text = &self.rest[..n_bytes];
        let text = text.strip_suffix(b"\n").unwrap_or(text);
        self.rest = after;
        self.n_read += 1;
        Some(Line { number: self.n_read, text: text.strip_suffix(b"\r").unwrap_or(text) })
    }
}

impl Line<'_> {
    /// Returns an error for this line, with what was found and what is expected.
    #[cold]
    pub(super) fn error(&self, got: impl Into<String>, expected: impl Into<String>) -> Error {
        error_of_line(self.number, got, expected)
    }
}

#[cold]
pub(super) fn error_of_line(line: usize, got: impl Into<String>, expected: impl Into<String>) -> Error {
    ErrorKind::Line { line, got: got.into(), expected: expected.into() }.into()
}

/// Formats bytes for a message, between quotes: non-printable ones are escaped, and long texts are truncated.
#[cold]
pub(super) fn shown(text: &[u8]) -> String {
    let end = if text.len() > SHOWN { "..." } else { "" };
    format!("'{}{end}'", text[..text.len().min(SHOWN)].escape_ascii())
}

pub(super) fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// Returns the text without leading blanks.
pub(super) fn without_leading_blanks(text: &[u8]) -> &[u8] {
    let start = text.iter().position(|&byte| !is_blank(byte)).unwrap_or(text.len());
    &text[start..]
}

/// Returns the text without leading and trailing blanks.
pub(super) fn trimmed(text: &[u8]) -> &[u8] {
    let text = without_leading_blanks(text);
    let end = text.iter().rposition(|&byte| !is_blank(byte)).map_or(0, |last| last + 1);
    &text[..end]
}

/// Returns the first word, up to a blank, and what follows the blank.
#[inline]
pub(super) fn split_word(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.iter().position(|&byte| is_blank(byte)).unwrap_or(text.len());
    (&text[..end], text.get(end + 1..).unwrap_or_default())
}
