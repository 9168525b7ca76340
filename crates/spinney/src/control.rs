//! What a caller holds while work is under way: a flag that stops it, a counter that shows how far it is, and
//! the number of threads.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use crate::error::{ErrorKind, Result, try_with_capacity};

/// Shared handle on work under way. Cloning gives another handle on the same work.
///
/// Growth polls the flag at each node and each some ten thousand samples of it, prediction at each block of rows, and
/// projections each some ten thousand steps, so that a raised flag is answered within milliseconds.
#[derive(Clone, Debug)]
pub struct Control {
    stop: Arc<AtomicBool>,
    done: Arc<AtomicUsize>,
    n_threads: usize,
}

impl Default for Control {
    fn default() -> Self {
        Control::with_threads(1)
    }
}

impl Control {
    /// A fresh handle for work on `n_threads` threads: at least one, and at most 64 or as many as the system runs at once,
    /// whichever is more.
    pub fn with_threads(n_threads: usize) -> Self {
        Control { stop: Arc::default(), done: Arc::default(), n_threads: n_threads.clamp(1, most_threads()) }
    }

    /// A handle on the same work that allows one thread.
    pub(crate) fn on_one_thread(&self) -> Control {
        Control { n_threads: 1, ..self.clone() }
    }

    /// A handle on the same work for each of `n_jobs` that are done side by side: the threads that are left for it alone.
    pub(crate) fn shared_by(&self, n_jobs: usize) -> Control {
        Control { n_threads: (self.n_threads / n_jobs.max(1)).max(1), ..self.clone() }
    }

    /// Asks the work to end; it returns [`ErrorKind::Interrupted`].
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// [`ErrorKind::Interrupted`] when the flag is raised.
    pub fn check(&self) -> Result<()> {
        if self.is_stopped() { Err(ErrorKind::Interrupted.into()) } else { Ok(()) }
    }

    /// Whether the flag is raised.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Number of trees finished so far.
    pub fn n_done(&self) -> usize {
        self.done.load(Ordering::Relaxed)
    }

    /// Number of threads that the work may use.
    pub fn n_threads(&self) -> usize {
        self.n_threads
    }

    pub(crate) fn one_more_done(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// To be told of the steps that are done: looks at the flag once in [`STEPS`].
    pub(crate) fn pulse(&self) -> Pulse<'_> {
        Pulse { control: self, left: STEPS }
    }

    /// The items in pieces that each take some [`STEPS`], a look at the flag before each; an item takes `cost` steps.
    pub(crate) fn pieces<'t, T>(&'t self, items: &'t [T], cost: usize) -> impl Iterator<Item = Result<&'t [T]>> {
        items.chunks((STEPS / cost.max(1)).max(1)).map(|piece| self.check().map(|()| piece))
    }

    /// As [`crate::error::try_filled`], but stops: writing a large vector for the first time takes seconds, most of them
    /// the system's, which provides the memory page by page.
    pub(crate) fn try_filled<T: Clone>(&self, what: &'static str, value: T, len: usize) -> Result<Vec<T>> {
        let mut v = try_with_capacity(what, len)?;
        self.fill_up(&mut v, value, len)?;
        Ok(v)
    }

    /// Appends copies of `value` up to a length of `len`, for which there is room.
    pub(crate) fn fill_up<T: Clone>(&self, v: &mut Vec<T>, value: T, len: usize) -> Result<()> {
        debug_assert!(len <= v.capacity());
        while v.len() < len {
            self.check()?;
            v.resize(len.min(v.len() + 4 * STEPS), value.clone());
        }
        Ok(())
    }
}

/// Threads beyond this number make nothing faster, and each takes memory for its stack and for its part of the work.
fn most_threads() -> usize {
    static MOST: OnceLock<usize> = OnceLock::new();
    *MOST.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from).max(64))
}

/// Steps between two looks at the flag: even where each waits for memory, milliseconds.
pub(crate) const STEPS: usize = 1 << 16;

/// See [`Control::pulse`].
#[derive(Debug)]
pub(crate) struct Pulse<'a> {
    control: &'a Control,
    left: usize,
}

impl Pulse<'_> {
    /// So many more steps are done. [`ErrorKind::Interrupted`] when it was time to look and the flag is raised.
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
