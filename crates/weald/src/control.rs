//! The caller's handle on a running computation: a flag that stops it, a counter of its progress, and the number of
//! threads.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use crate::error::{ErrorKind, Purpose, Result};
use crate::reuse::{Buffer, Shelved, Shelves};

/// A shared handle on a running computation. A clone is another handle on the same computation. Memory of one tree or
/// stage that the next one uses again is released with the last handle.
///
/// The flag is checked at each node and about every ten thousand samples during growth, at each block of samples during
/// prediction, and about every ten thousand operations during projections, so that the computation stops within
/// milliseconds after the flag is raised.
#[derive(Clone, Debug)]
pub struct Control {
    stop: Arc<AtomicBool>,
    done: Arc<AtomicUsize>,
    expected: Arc<AtomicUsize>,
    n_threads: usize,
    /// Vectors of an earlier part of the computation, for the next.
    shelves: Arc<Shelves>,
}

impl Default for Control {
    fn default() -> Self {
        Control::with_threads(1)
    }
}

impl Control {
    /// Returns a new handle for a computation on `n_threads` threads. The number is clipped to the range from 1 to 64,
    /// or to the number of threads that the system can run at once if that is larger than 64.
    pub fn with_threads(n_threads: usize) -> Self {
        let n_threads = n_threads.clamp(1, most_threads());
        Control {
            stop: Arc::default(),
            done: Arc::default(),
            expected: Arc::default(),
            n_threads,
            shelves: Arc::default(),
        }
    }

    /// Returns a handle on the same computation that allows one thread.
    pub(crate) fn on_one_thread(&self) -> Control {
        Control { n_threads: 1, ..self.clone() }
    }

    /// Returns a handle on the same computation for one of `n_jobs` jobs that run in parallel, with its share of the
    /// threads.
    pub(crate) fn shared_by(&self, n_jobs: usize) -> Control {
        Control { n_threads: (self.n_threads / n_jobs.max(1)).max(1), ..self.clone() }
    }

    /// Asks the computation to stop. It then returns [`ErrorKind::Interrupted`].
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Returns [`ErrorKind::Interrupted`] if the flag is raised.
    pub fn check(&self) -> Result<()> {
        if self.is_stopped() { Err(ErrorKind::Interrupted.into()) } else { Ok(()) }
    }

    /// Returns whether the flag is raised.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Returns the number of trees or other rounds that are finished.
    pub fn n_done(&self) -> usize {
        self.done.load(Ordering::Relaxed)
    }

    /// Returns the number of rounds that there will be, as far as it is known, and 0 if nothing is known about it.
    pub fn n_expected(&self) -> usize {
        match self.expected.load(Ordering::Relaxed) {
            0 => 0,
            n => n.max(self.n_done()),
        }
    }

    /// Says that there are about `n` rounds left.
    pub(crate) fn expect(&self, n: usize) {
        self.expected.store(self.n_done().saturating_add(n), Ordering::Relaxed);
    }

    /// Returns the number of threads that the computation may use.
    pub fn n_threads(&self) -> usize {
        self.n_threads
    }

    pub(crate) fn one_more_done(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns a counter of operations, which checks the flag once in [`STEPS`] operations.
    pub(crate) fn pulse(&self) -> Pulse<'_> {
        Pulse { control: self, left: STEPS }
    }

    /// Divides the items into pieces of about [`STEPS`] operations each, and checks the flag before each piece. An item
    /// takes `cost` operations.
    pub(crate) fn pieces<'t, T>(&'t self, items: &'t [T], cost: usize) -> impl Iterator<Item = Result<&'t [T]>> {
        items.chunks((STEPS / cost.max(1)).max(1)).map(|piece| self.check().map(|()| piece))
    }

    /// Like [`Purpose::filled`], but can be interrupted. Writing a large vector for the first time takes
    /// seconds, most of which the operating system needs to provide the memory page by page.
    pub(crate) fn filled<T: Clone>(&self, purpose: Purpose, value: T, len: usize) -> Result<Vec<T>> {
        let mut v = purpose.with_capacity(len)?;
        self.fill_up(&mut v, value, len)?;
        Ok(v)
    }

    /// Returns a vector whose contents are not specified, and which is used again when it has been dropped. It is kept as
    /// long as a handle on the computation. New memory is written, which can be interrupted.
    pub(crate) fn buffer<T: Shelved>(&self, purpose: Purpose, len: usize) -> Result<Buffer<T>> {
        Buffer::take(&self.shelves, purpose, len, |items| self.fill_up(items, T::default(), len))
    }

    /// Appends copies of `value` up to a length of `len`. The vector must have enough capacity.
    pub(crate) fn fill_up<T: Clone>(&self, v: &mut Vec<T>, value: T, len: usize) -> Result<()> {
        debug_assert!(len <= v.capacity());
        while v.len() < len {
            self.check()?;
            v.resize(len.min(v.len() + 4 * STEPS), value.clone());
        }
        Ok(())
    }
}

/// More threads than this do not make anything faster, and each needs memory for its stack and its part of the work.
fn most_threads() -> usize {
    static MOST: OnceLock<usize> = OnceLock::new();
    *MOST.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from).max(64))
}

/// Number of operations between two checks of the flag. They take milliseconds even if each waits for memory.
pub(crate) const STEPS: usize = 1 << 16;

/// A counter of operations: see [`Control::pulse`].
#[derive(Debug)]
pub(crate) struct Pulse<'a> {
    control: &'a Control,
    left: usize,
}

impl Pulse<'_> {
    /// Counts `steps` more operations. Returns [`ErrorKind::Interrupted`] if the flag was due to be checked and is
    /// raised.
    pub(crate) fn after(&mut self, steps: usize) -> Result<()> {
        if steps < self.left {
            self.left -= steps;
            return Ok(());
        }
        self.left = STEPS;
        self.control.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_at_least_one_and_no_more_than_are_of_use() {
        assert_eq!([0, 1, 2, 64].map(|n| Control::with_threads(n).n_threads()), [1, 1, 2, 64]);
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        assert_eq!(Control::with_threads(usize::MAX).n_threads(), processors.max(64));
    }
}
