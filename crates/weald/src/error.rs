//! The error type of the whole crate, whose kind states what went wrong, with the values in question; and allocations
//! that return it instead of ending the process.

use std::error::Error as StdError;
use std::path::PathBuf;
use std::sync::Arc;
use std::{fmt, io};

use bytemuck::Zeroable;
use bytemuck::allocation::try_zeroed_vec;

/// What went wrong, with the name of the argument and the values in question.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A length or a width does not match the other inputs.
    Shape {
        /// Name of the invalid argument.
        what: &'static str,
        /// Length that the other inputs require.
        expected: usize,
        /// Length of the argument.
        got: usize,
    },
    /// A value or a parameter is outside the accepted range.
    Invalid {
        /// Name of the invalid argument.
        what: &'static str,
        /// The invalid value or text, as it was given.
        got: String,
        /// What the argument must satisfy, as a phrase that follows "must", for example "be at least 1".
        must: &'static str,
    },
    /// An argument is not supported in combination with others.
    Unsupported {
        /// Name of the invalid argument.
        what: &'static str,
        /// The condition under which the argument is not supported, as the end of the message.
        when: &'static str,
    },
    /// The arrays of a sparse matrix contradict each other.
    SparseFormat {
        /// Name of the invalid argument.
        what: &'static str,
        /// The rule that the arrays violate.
        rule: &'static str,
    },
    /// There are more items than 32-bit indices can address.
    TooMany {
        /// The kind of items, for example "samples".
        what: &'static str,
        /// The largest number that is accepted.
        limit: usize,
    },
    /// An allocation failed. Nothing was changed.
    OutOfMemory {
        /// What the memory was needed for.
        what: &'static str,
        /// Number of bytes requested.
        bytes: usize,
    },
    /// The memory that a fit holds for certain at the same time is not available. Nothing was allocated.
    FitMemory {
        /// The estimate of the whole memory, in bytes.
        bytes: u64,
        /// The bytes of it that are certain.
        at_once: u64,
        /// The largest part that is certain, and its bytes.
        largest: (&'static str, u64),
        /// How to reduce this part.
        advice: &'static str,
    },
    /// The operating system could not start threads, usually because memory is exhausted. Nothing was changed.
    Threads {
        /// Number of threads requested.
        n_threads: usize,
    },
    /// The reduction over the workers of a distributed fit failed.
    Workers {
        /// Description of the failure.
        why: String,
    },
    /// The stop flag was raised during the computation.
    Interrupted,
    /// The operating system failed to read or write a file. A file that was being written is unchanged.
    File {
        /// Path of the file.
        path: PathBuf,
        /// Category of the error in the standard library.
        kind: io::ErrorKind,
        /// Error number of the operating system, if there is one.
        code: Option<i32>,
        /// Message of the operating system.
        message: String,
    },
    /// A line of a text file is not valid.
    Line {
        /// Line number, counted from 1.
        line: usize,
        /// The invalid value or text, as it was given.
        got: String,
        /// Description of what is expected in this line.
        expected: String,
    },
    /// The bytes are not a valid model.
    Corrupt {
        /// The check that failed.
        why: String,
    },
}

/// The error that every fallible function of this crate returns.
///
/// The message is complete. [`source`](StdError::source) returns the underlying error of the standard library or of a
/// parser, if there is one: for example, an [`io::Error`] if the operating system fails to read or write a file. Two
/// errors are equal if their kinds are equal.
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

/// A result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Returns what went wrong.
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }

    /// Returns the same error with `source` as its cause.
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
            ErrorKind::FitMemory { bytes, at_once, largest: (what, of_largest), advice } => {
                let [bytes, at_once, of_largest] = [bytes, at_once, of_largest].map(|n| *n as f64 / 1e6);
                write!(
                    f,
                    "the fit needs about {bytes:.0} MB in addition to X and y, {at_once:.0} MB of it at the same time, \
                     which are not available. The largest part is {what}, {of_largest:.0} MB: {advice}"
                )
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
            ErrorKind::Corrupt { why } => write!(f, "not a valid weald model: {why}"),
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}

/// What memory is for, as errors name it. Its methods make and extend vectors, or return
/// [`ErrorKind::OutOfMemory`] with this name.
#[derive(Clone, Copy)]
pub(crate) struct Purpose(pub(crate) &'static str);

impl Purpose {
    /// Returns a vector of `len` copies of `value`.
    pub(crate) fn filled<T: Clone>(self, value: T, len: usize) -> Result<Vec<T>> {
        let mut v = self.with_capacity(len)?;
        v.resize(len, value);
        Ok(v)
    }

    /// Returns `rows * columns` zeros. The memory comes from the system as pages of zeros that have not been touched:
    /// the first write to a large matrix takes about as long as other work on it, and is left to the caller, who
    /// writes and checks the stop flag.
    pub(crate) fn zeros<T: Zeroable>(self, rows: usize, columns: usize) -> Result<Vec<T>> {
        let len = rows.checked_mul(columns).ok_or_else(|| self.missing::<T>(usize::MAX))?;
        try_zeroed_vec(len).map_err(|()| self.missing::<T>(len))
    }

    /// Collects the items in a vector.
    pub(crate) fn collected<T>(self, items: impl ExactSizeIterator<Item = T>) -> Result<Vec<T>> {
        let mut v = self.with_capacity(items.len())?;
        v.extend(items);
        Ok(v)
    }

    /// Collects the items in a vector, or returns the first error among them.
    pub(crate) fn results<T>(self, mut items: impl ExactSizeIterator<Item = Result<T>>) -> Result<Vec<T>> {
        let mut v = self.with_capacity(items.len())?;
        items.try_for_each(|item| item.map(|item| v.push(item)))?;
        Ok(v)
    }

    /// Sorts items by their groups, below `n`: those of group g are from `ptr[g]` to `ptr[g + 1]`, in their order.
    pub(crate) fn grouped<T: Copy + Default>(
        self,
        n: usize,
        items: impl Iterator<Item = (usize, T)> + Clone,
    ) -> Result<(Vec<usize>, Vec<T>)> {
        let mut ptr = self.filled(0usize, n + 1)?;
        items.clone().for_each(|(group, _)| ptr[group + 1] += 1);
        (0..n).for_each(|group| ptr[group + 1] += ptr[group]);
        let mut sorted = self.filled(T::default(), ptr[n])?;
        items.for_each(|(group, item)| {
            // The next free place of the group; afterwards, its end.
            sorted[ptr[group]] = item;
            ptr[group] += 1;
        });
        ptr.rotate_right(1);
        ptr[0] = 0;
        Ok((ptr, sorted))
    }

    /// Returns an empty vector with capacity for `len` values.
    pub(crate) fn with_capacity<T>(self, len: usize) -> Result<Vec<T>> {
        let mut v = Vec::new();
        self.reserve(&mut v, len)?;
        Ok(v)
    }

    /// Appends a value. The capacity is doubled when it is exhausted, as with [`Vec::push`].
    #[inline]
    pub(crate) fn push<T>(self, v: &mut Vec<T>, value: T) -> Result<()> {
        if v.len() == v.capacity() {
            self.grow(v, 1)?;
        }
        v.push(value);
        Ok(())
    }

    /// Appends items. The capacity grows as in [`Purpose::push`].
    #[inline]
    pub(crate) fn extend<T>(
        self,
        v: &mut Vec<T>,
        items: impl IntoIterator<IntoIter: ExactSizeIterator<Item = T>>,
    ) -> Result<()> {
        let items = items.into_iter();
        self.grow(v, items.len())?;
        v.extend(items);
        Ok(())
    }

    /// Like [`Vec::resize`]. The capacity grows as in [`Purpose::push`].
    #[inline]
    pub(crate) fn resize<T: Clone>(self, v: &mut Vec<T>, len: usize, value: T) -> Result<()> {
        self.grow(v, len.saturating_sub(v.len()))?;
        v.resize(len, value);
        Ok(())
    }

    /// Reserves capacity for `len` more values in a vector that is extended repeatedly.
    #[inline]
    pub(crate) fn grow<T>(self, v: &mut Vec<T>, len: usize) -> Result<()> {
        if v.capacity() - v.len() < len {
            v.try_reserve(len).map_err(|_| self.missing::<T>(v.len().saturating_add(len)))?;
        }
        Ok(())
    }

    /// Reserves capacity for exactly `len` more values.
    pub(crate) fn reserve<T>(self, v: &mut Vec<T>, len: usize) -> Result<()> {
        v.try_reserve_exact(len).map_err(|_| self.missing::<T>(len))
    }

    /// Returns a copy.
    pub(crate) fn copied<T: Copy>(self, values: &[T]) -> Result<Vec<T>> {
        self.collected(values.iter().copied())
    }

    /// Returns a copy of a text.
    pub(crate) fn string(self, text: &str) -> Result<String> {
        let mut copy = String::new();
        copy.try_reserve_exact(text.len()).map_err(|_| self.missing::<u8>(text.len()))?;
        copy.push_str(text);
        Ok(copy)
    }

    /// The error for a failed allocation of `len` values.
    #[cold]
    pub(crate) fn missing<T>(self, len: usize) -> Error {
        ErrorKind::OutOfMemory { what: self.0, bytes: len.saturating_mul(size_of::<T>()) }.into()
    }
}
