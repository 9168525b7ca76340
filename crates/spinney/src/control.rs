//! What a caller holds while work is under way: a flag that stops it, a counter that shows how far it is, and
//! the number of threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::error::{ErrorKind, Result};

/// Shared handle on work under way. Cloning gives another handle on the same work.
///
/// Growth polls the flag once per node and prediction once per block of rows, so that a raised flag is answered
/// within milliseconds.
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
    /// A fresh handle for work on `n_threads` threads (at least one).
    pub fn with_threads(n_threads: usize) -> Self {
        Control { stop: Arc::default(), done: Arc::default(), n_threads: n_threads.max(1) }
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
}
