//! The one way from Python into the engine.
//!
//! Work runs without the GIL. Long work started by Python's main thread, the one that receives signals, runs on a
//! helper thread, while the main thread wakes every [`WAKE`] to look for Ctrl-C and to report progress. A panic of the
//! engine becomes a `RuntimeError`.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::{PyMemoryError, PyRuntimeError};
use pyo3::prelude::*;
use spinney::{Control, Result};

use crate::error::raise;

/// Time between two looks for Ctrl-C: a tenth of the half second within which it is answered.
const WAKE: Duration = Duration::from_millis(50);

/// Work of fewer elementary steps than this ends in milliseconds and runs where it is called.
const SHORT: usize = 1 << 18;

/// Result of work that may have panicked.
type Outcome<T> = thread::Result<Result<T>>;

/// How work is to be run.
#[derive(Debug)]
pub(crate) struct Entry<'py> {
    /// Threads that the engine may use.
    pub(crate) n_threads: usize,
    /// Rough number of elementary steps; only its order of magnitude matters.
    pub(crate) cost: usize,
    /// Called with the number of finished trees, at most every [`WAKE`].
    pub(crate) progress: Option<Bound<'py, PyAny>>,
}

impl<'py> Entry<'py> {
    /// Runs `work` without the GIL.
    ///
    /// # Errors
    /// The engine's, as exceptions; what a signal handler or the progress callback raised; `RuntimeError` for a panic.
    pub(crate) fn run<T: Send>(self, py: Python<'py>, work: impl FnOnce(&Control) -> Result<T> + Send) -> PyResult<T> {
        let control = Control::with_threads(self.n_threads);
        // Unwind safety: after a panic nothing that `work` could have left half done is looked at again.
        let guarded = || catch_unwind(AssertUnwindSafe(|| work(&control)));
        let watched = self.cost >= SHORT && (self.progress.is_some() || on_main_thread(py)?);
        let outcome = if watched { self.watch(py, &control, guarded)? } else { detach(py, guarded) };
        if let Some(progress) = &self.progress {
            progress.call1((control.n_done(),))?;
        }
        outcome.map_err(panicked)?.map_err(raise)
    }

    fn watch<T: Send>(
        &self,
        py: Python<'py>,
        control: &Control,
        work: impl FnOnce() -> Outcome<T> + Send,
    ) -> PyResult<Outcome<T>> {
        let slot = Mutex::new(None);
        let ready = Condvar::new();
        thread::scope(|scope| {
            let run = || {
                let outcome = work();
                *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
                ready.notify_one();
            };
            thread::Builder::new()
                .name("spinney".into())
                .spawn_scoped(scope, run)
                .map_err(|error| PyMemoryError::new_err(format!("cannot start a thread: {error}")))?;
            let mut raised = None;
            loop {
                let outcome = detach(py, || {
                    let slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
                    let waited = ready.wait_timeout_while(slot, WAKE, |outcome| outcome.is_none());
                    waited.unwrap_or_else(PoisonError::into_inner).0.take()
                });
                match (outcome, raised) {
                    (Some(_), Some(error)) => return Err(error),
                    (Some(outcome), None) => return Ok(outcome),
                    (None, error @ Some(_)) => raised = error,
                    (None, None) => {
                        raised = self.look(py, control).err();
                        if raised.is_some() {
                            control.stop();
                        }
                    }
                }
            }
        })
    }

    /// Runs Python's signal handlers and the progress callback.
    fn look(&self, py: Python<'py>, control: &Control) -> PyResult<()> {
        py.check_signals()?;
        if let Some(progress) = &self.progress {
            progress.call1((control.n_done(),))?;
        }
        Ok(())
    }
}

#[allow(clippy::disallowed_methods)]
fn detach<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    py.detach(work)
}

/// Whether signals are delivered to the calling thread.
fn on_main_thread(py: Python<'_>) -> PyResult<bool> {
    let threading = py.import("threading")?;
    let main = threading.call_method0("main_thread")?;
    Ok(threading.call_method0("current_thread")?.is(&main))
}

fn panicked(payload: Box<dyn Any + Send>) -> PyErr {
    let message = payload
        .downcast_ref::<&str>()
        .map(|message| (*message).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "panic".to_owned());
    PyRuntimeError::new_err(format!("a bug in spinney, please report it: {message}"))
}
