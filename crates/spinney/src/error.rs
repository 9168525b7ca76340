//! One opaque error for the whole crate; its kind says what went wrong, with the numbers.

use std::error::Error as StdError;
use std::path::PathBuf;
use std::sync::Arc;
use std::{fmt, io};

/// What went wrong, with the argument's name and the figures.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A length or a width does not fit the other inputs.
    Shape {
        /// Argument at fault.
        what: &'static str,
        /// Length that the other inputs ask for.
        expected: usize,
        /// Length that came.
        got: usize,
    },
    /// A value or a parameter outside what is accepted.
    Invalid {
        /// Argument at fault.
        what: &'static str,
        /// What came.
        got: String,
        /// What the argument must satisfy, from the verb on: "be at least 1".
        must: &'static str,
    },
    /// An argument that is not supported together with others.
    Unsupported {
        /// Argument at fault.
        what: &'static str,
        /// With what it is not supported.
        when: &'static str,
    },
    /// A sparse matrix whose arrays contradict each other.
    SparseFormat {
        /// Argument at fault.
        what: &'static str,
        /// The rule that is broken.
        rule: &'static str,
    },
    /// More items than 32-bit indices can name.
    TooMany {
        /// The items.
        what: &'static str,
        /// The largest number accepted.
        limit: usize,
    },
    /// An allocation failed; nothing was changed.
    OutOfMemory {
        /// What the memory was for.
        what: &'static str,
        /// Bytes asked for.
        bytes: usize,
    },
    /// The system did not start threads, mostly for lack of memory; nothing was changed.
    Threads {
        /// Threads asked for.
        n_threads: usize,
    },
    /// Workers of a fit have lost each other: their numbers could not be reduced.
    Workers {
        /// What went wrong.
        why: String,
    },
    /// The stop flag was raised while the work was under way.
    Interrupted,
    /// The system failed to read or write a file; a file that was to be written is as it was before.
    File {
        /// The file.
        path: PathBuf,
        /// What went wrong, where the standard library has a name for it.
        kind: io::ErrorKind,
        /// The system's number of the error, where it has one.
        code: Option<i32>,
        /// What the system says.
        message: String,
    },
    /// A line of a text that cannot be what it should.
    Line {
        /// Number of the line, counted from 1.
        line: usize,
        /// What came.
        got: String,
        /// What is expected there.
        expected: String,
    },
    /// Bytes that are not a valid model.
    Corrupt {
        /// The proof that failed.
        why: String,
    },
}

/// Error of every fallible function of this crate.
///
/// Its message says all there is to say. [`source`](StdError::source) gives the error of the standard library or of a parser
/// behind it, for those who look for its type: an [`io::Error`] of files that the system fails to read or write. Errors of
/// the same kind are equal.
#[derive(Clone, Debug)]
pub struct Error {
    kind: ErrorKind,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

impl PartialEq for Error {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
    }
}

/// Result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// What went wrong.
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }

    /// The same, caused by `source`.
    pub(crate) fn caused_by(self, source: impl StdError + Send + Sync + 'static) -> Self {
        Error { source: Some(Arc::new(source)), ..self }
    }

    pub(crate) fn shape(what: &'static str, expected: usize, got: usize) -> Self {
        ErrorKind::Shape { what, expected, got }.into()
    }

    /// The message is "`what` must `must`, got `got`".
    pub(crate) fn invalid(what: &'static str, got: impl ToString, must: &'static str) -> Self {
        ErrorKind::Invalid { what, got: got.to_string(), must }.into()
    }

    /// The message is "`what` is not supported `when`".
    pub(crate) fn unsupported(what: &'static str, when: &'static str) -> Self {
        ErrorKind::Unsupported { what, when }.into()
    }

    pub(crate) fn corrupt(why: impl Into<String>) -> Self {
        ErrorKind::Corrupt { why: why.into() }.into()
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Error { kind, source: None }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ErrorKind::Shape { what, expected, got } => {
                write!(f, "{what} must have length {expected}, got {got}")
            }
            ErrorKind::Invalid { what, got, must } => write!(f, "{what} must {must}, got {got}"),
            ErrorKind::Unsupported { what, when } => write!(f, "{what} is not supported {when}"),
            ErrorKind::SparseFormat { what, rule } => {
                write!(f, "{what} is not a valid sparse matrix: {rule}")
            }
            ErrorKind::TooMany { what, limit } => write!(f, "more than {limit} {what}"),
            ErrorKind::OutOfMemory { what, bytes } => {
                write!(f, "cannot allocate {bytes} bytes for {what}")
            }
            ErrorKind::Threads { n_threads: 1 } => {
                write!(f, "cannot start a thread: leave more memory or more threads to the process")
            }
            ErrorKind::Threads { n_threads } => {
                write!(
                    f,
                    "cannot start {n_threads} threads: allow fewer, or leave more memory or threads to the process"
                )
            }
            ErrorKind::Workers { why } => write!(f, "the workers of the fit have lost each other: {why}"),
            ErrorKind::Interrupted => write!(f, "interrupted"),
            ErrorKind::File { path, message, .. } => write!(f, "{}: {message}", path.display()),
            ErrorKind::Line { line, got, expected } => write!(f, "line {line}: {got}, expected {expected}"),
            ErrorKind::Corrupt { why } => write!(f, "not a valid spinney model: {why}"),
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}

/// A vector of `len` copies of `value`, or [`ErrorKind::OutOfMemory`]: for sizes that come from data.
pub(crate) fn try_filled<T: Clone>(what: &'static str, value: T, len: usize) -> Result<Vec<T>> {
    let mut v = try_with_capacity(what, len)?;
    v.resize(len, value);
    Ok(v)
}

/// The items in a vector, or [`ErrorKind::OutOfMemory`].
pub(crate) fn try_collected<T>(what: &'static str, items: impl ExactSizeIterator<Item = T>) -> Result<Vec<T>> {
    let mut v = try_with_capacity(what, items.len())?;
    v.extend(items);
    Ok(v)
}

/// The items in a vector, the first error among them, or [`ErrorKind::OutOfMemory`].
pub(crate) fn try_results<T>(
    what: &'static str,
    mut items: impl ExactSizeIterator<Item = Result<T>>,
) -> Result<Vec<T>> {
    let mut v = try_with_capacity(what, items.len())?;
    items.try_for_each(|item| item.map(|item| v.push(item)))?;
    Ok(v)
}

/// An empty vector with room for `len` values, or [`ErrorKind::OutOfMemory`].
pub(crate) fn try_with_capacity<T>(what: &'static str, len: usize) -> Result<Vec<T>> {
    let mut v = Vec::new();
    try_reserve(what, &mut v, len)?;
    Ok(v)
}

/// Appends a value, or [`ErrorKind::OutOfMemory`]. Room doubles when it is used up, as with [`Vec::push`].
#[inline]
pub(crate) fn try_push<T>(what: &'static str, v: &mut Vec<T>, value: T) -> Result<()> {
    if v.len() == v.capacity() {
        try_grow(what, v, 1)?;
    }
    v.push(value);
    Ok(())
}

/// Appends items, or [`ErrorKind::OutOfMemory`]. Room grows as in [`try_push`].
#[inline]
pub(crate) fn try_extend<T>(
    what: &'static str,
    v: &mut Vec<T>,
    items: impl IntoIterator<IntoIter: ExactSizeIterator<Item = T>>,
) -> Result<()> {
    let items = items.into_iter();
    try_grow(what, v, items.len())?;
    v.extend(items);
    Ok(())
}

/// As [`Vec::resize`], or [`ErrorKind::OutOfMemory`]. Room grows as in [`try_push`].
#[inline]
pub(crate) fn try_resize<T: Clone>(what: &'static str, v: &mut Vec<T>, len: usize, value: T) -> Result<()> {
    try_grow(what, v, len.saturating_sub(v.len()))?;
    v.resize(len, value);
    Ok(())
}

/// Room for `len` more values in a vector that grows again and again, or [`ErrorKind::OutOfMemory`].
#[inline]
pub(crate) fn try_grow<T>(what: &'static str, v: &mut Vec<T>, len: usize) -> Result<()> {
    if v.capacity() - v.len() < len {
        v.try_reserve(len).map_err(|_| out_of_memory::<T>(what, v.len().saturating_add(len)))?;
    }
    Ok(())
}

/// A copy, or [`ErrorKind::OutOfMemory`].
pub(crate) fn try_copied<T: Copy>(what: &'static str, values: &[T]) -> Result<Vec<T>> {
    try_collected(what, values.iter().copied())
}

/// A copy of a text, or [`ErrorKind::OutOfMemory`].
pub(crate) fn try_string(what: &'static str, text: &str) -> Result<String> {
    let mut copy = String::new();
    copy.try_reserve_exact(text.len()).map_err(|_| out_of_memory::<u8>(what, text.len()))?;
    copy.push_str(text);
    Ok(copy)
}

/// Memory for `len` values that cannot be had.
#[cold]
pub(crate) fn out_of_memory<T>(what: &'static str, len: usize) -> Error {
    ErrorKind::OutOfMemory { what, bytes: len.saturating_mul(size_of::<T>()) }.into()
}

/// Room for `len` more values and no more, or [`ErrorKind::OutOfMemory`].
pub(crate) fn try_reserve<T>(what: &'static str, v: &mut Vec<T>, len: usize) -> Result<()> {
    v.try_reserve_exact(len).map_err(|_| out_of_memory::<T>(what, len))
}
