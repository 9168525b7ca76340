//! The only way from Python into the engine.
//!
//! Work runs without the GIL, except work of a few microseconds ([`at_once`]). Long work that is started by Python's
//! main thread, which is the one that receives signals, runs on a helper thread. Meanwhile, the main thread wakes up
//! every [`WAKE`] to check for Ctrl-C and to report progress. Python functions that the engine calls during the work
//! run on the thread that entered ([`Caller`]), so they may draw or print. A panic of the engine becomes a
//! `RuntimeError`.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use weald::binding::has_room_for_a_thread;
use weald::{Control, ErrorKind, Result, Sampling};

use crate::error::raise;

/// The time between two checks for Ctrl-C. It is a tenth of the half second within which Ctrl-C takes effect.
const WAKE: Duration = Duration::from_millis(50);

/// Work with fewer elementary steps than this takes milliseconds and runs on the calling thread.
pub(crate) const SHORT: usize = 1 << 18;

/// The result of work that may have panicked.
type Outcome<T> = thread::Result<Result<T>>;

/// Runs work of a few microseconds while holding the GIL, because releasing and acquiring it would take as long.
///
/// # Errors
/// The engine's errors, as exceptions; `RuntimeError` for a panic.
pub(crate) fn at_once<T>(work: impl FnOnce() -> Result<T>) -> PyResult<T> {
    // Unwind safety: the reason is given in [`Entry::run_with_calls`].
    catch_unwind(AssertUnwindSafe(work)).map_err(panicked)?.map_err(raise)
}

/// How work is to be run.
#[derive(Debug)]
pub(crate) struct Entry<'py> {
    /// The number of threads that the engine may use.
    pub(crate) n_threads: usize,
    /// The approximate number of elementary steps. Only its order of magnitude matters.
    pub(crate) cost: usize,
    /// Is called with the number of finished trees, at most every [`WAKE`], and at the end.
    pub(crate) progress: Option<Bound<'py, PyAny>>,
}

/// A function that is called with the GIL. It returns whether the work is to continue.
type Request = Box<dyn FnOnce(Python<'_>) -> PyResult<bool> + Send>;

/// How work calls Python.
#[derive(Debug)]
pub(crate) enum Caller {
    /// Calls run on this thread, which is the one that entered.
    Here { raised: Option<PyErr> },
    /// Calls run on the thread that entered, which waits for requests.
    There { ask: Sender<Request>, answered: Receiver<bool> },
}

impl Caller {
    /// Returns whether the work is to continue, which is false after an exception.
    pub(crate) fn call(&mut self, request: impl FnOnce(Python<'_>) -> PyResult<bool> + Send + 'static) -> bool {
        match self {
            Caller::Here { raised } => match Python::attach(request) {
                Ok(goes_on) => goes_on,
                Err(error) => {
                    *raised = Some(error);
                    false
                }
            },
            Caller::There { ask, answered } => ask.send(Box::new(request)).is_ok() && answered.recv().unwrap_or(false),
        }
    }
}

impl<'py> Entry<'py> {
    /// Returns the entry for work on one thread that does not check the stop flag and so cannot be interrupted.
    pub(crate) fn to_the_end() -> Self {
        Entry { n_threads: 1, cost: 0, progress: None }
    }

    /// Returns the entry for work that also draws the samples of `n_trees` trees, many times those that there are if a
    /// parameter says so.
    pub(crate) fn drawing(self, sampling: Sampling, n_samples: usize, n_trees: usize) -> Self {
        let n_draws = match sampling {
            Sampling::Bootstrap(Some(count)) => count,
            Sampling::BootstrapShare(share) => (share * n_samples as f64) as usize,
            _ => 0,
        };
        Entry { cost: self.cost.saturating_add(n_draws.saturating_mul(n_trees)), ..self }
    }

    /// Runs `work` without the GIL.
    ///
    /// # Errors
    /// The engine's errors, as exceptions; exceptions raised by a signal handler or the progress callback;
    /// `RuntimeError` for a panic.
    pub(crate) fn run<T: Send>(self, py: Python<'py>, work: impl FnOnce(&Control) -> Result<T> + Send) -> PyResult<T> {
        self.run_with_calls(py, |control, _| work(control))
    }

    /// Like [`Entry::run`], for work that calls Python meanwhile. An exception that such a call raises is raised in
    /// place of the result of `work`.
    pub(crate) fn run_with_calls<T: Send>(
        self,
        py: Python<'py>,
        work: impl FnOnce(&Control, &mut Caller) -> Result<T> + Send,
    ) -> PyResult<T> {
        let control = Control::with_threads(self.n_threads);
        // Unwind safety: after a panic, nothing that `work` may have left in an inconsistent state is used again.
        let guarded = |caller: &mut Caller| catch_unwind(AssertUnwindSafe(|| work(&control, caller)));
        let watched = self.cost >= SHORT && (self.progress.is_some() || on_main_thread(py)?);
        let outcome = if watched {
            self.watch(py, &control, guarded)?
        } else {
            let mut caller = Caller::Here { raised: None };
            let outcome = detach(py, || guarded(&mut caller));
            match caller {
                Caller::Here { raised: Some(error) } => return Err(error),
                Caller::Here { raised: None } | Caller::There { .. } => outcome,
            }
        };
        self.tell(&control)?;
        outcome.map_err(panicked)?.map_err(raise)
    }

    fn watch<T: Send>(
        &self,
        py: Python<'py>,
        control: &Control,
        work: impl FnOnce(&mut Caller) -> Outcome<T> + Send,
    ) -> PyResult<Outcome<T>> {
        let (done, mut outcome) = channel();
        let (ask, mut asked) = channel();
        let (answer, answered) = channel();
        thread::scope(|scope| {
            let run = move || {
                let mut caller = Caller::There { ask, answered };
                // The thread that entered waits for the outcome.
                _ = done.send(work(&mut caller));
            };
            let refused = || raise(ErrorKind::Threads { n_threads: 1 }.into());
            if !has_room_for_a_thread() {
                return Err(refused());
            }
            thread::Builder::new().name("weald".into()).spawn_scoped(scope, run).map_err(|_| refused())?;
            let mut raised = None;
            loop {
                // When the work ends, its side of the channel of requests is closed.
                let (asked, outcome) = (&mut asked, &mut outcome);
                let request: std::result::Result<Request, _> = detach(py, move || asked.recv_timeout(WAKE));
                let looked = match request {
                    Ok(_) if raised.is_some() => {
                        _ = answer.send(false);
                        Ok(())
                    }
                    Ok(request) => {
                        let goes_on = py.check_signals().and_then(|()| request(py));
                        _ = answer.send(*goes_on.as_ref().unwrap_or(&false));
                        goes_on.map(|_| ())
                    }
                    Err(RecvTimeoutError::Timeout) if raised.is_some() => Ok(()),
                    Err(RecvTimeoutError::Timeout) => self.look(py, control),
                    Err(RecvTimeoutError::Disconnected) => {
                        let outcome = detach(py, move || outcome.recv());
                        return match raised {
                            Some(error) => Err(error),
                            None => outcome.map_err(|_| PyRuntimeError::new_err("a bug in weald: no outcome of work")),
                        };
                    }
                };
                if let Err(error) = looked {
                    raised = Some(error);
                    control.stop();
                }
            }
        })
    }

    /// Runs Python's signal handlers and the progress callback.
    fn look(&self, py: Python<'py>, control: &Control) -> PyResult<()> {
        py.check_signals()?;
        self.tell(control)
    }

    /// Calls the progress callback. Of work that knows about how many rounds it has, it is a `Progress` of `_rounds`.
    fn tell(&self, control: &Control) -> PyResult<()> {
        if let Some(progress) = &self.progress {
            if control.n_expected() > 0 {
                progress.call_method1("expect", (control.n_expected(),))?;
            }
            progress.call1((control.n_done(),))?;
        }
        Ok(())
    }
}

#[allow(clippy::disallowed_methods)]
fn detach<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    py.detach(work)
}

/// Returns whether signals are delivered to the calling thread.
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
    PyRuntimeError::new_err(format!("a bug in weald, please report it: {message}"))
}
