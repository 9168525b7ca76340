//! Boosting with samples on several workers, whose sums a Python function reduces.

use std::error::Error as StdError;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use numpy::{Element, PyArray1, PyArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyList;
use weald::{AllReduce, Boosted, ReduceBuffer, ReduceOp, StageObserver, StageReport};

use crate::config::PyBoostConfig;
use crate::enter::Entry;
use crate::error::raise;
use crate::input::PyData;
use crate::models::boost::PyBoosted;

/// Grows the stages of a boosting model of trees on the samples of several workers. Each worker calls this function
/// with its own samples.
///
/// `all_reduce` is called with a one-dimensional float64 or int64 array and "sum" or "max". It must replace the
/// elements of the array by their sums or maxima over all workers. It runs on the calling thread. An exception that it
/// raises, such as that of Ctrl-C, ends the fit. In that case the model of the finished stages, if there are any, is
/// appended to the list `kept`. `observer` is called with the model of the stages so far after every `every` stages, on
/// the same thread and on all workers after the same stage; its exceptions end the fit, too.
#[pyfunction]
#[pyo3(signature = (data, config, all_reduce, n_threads=1, grown=None, kept=None, every=1, observer=None))]
#[allow(clippy::too_many_arguments)] // the signature of a Python function
pub(crate) fn fit_boosting_part<'py>(
    py: Python<'py>,
    data: PyData<'py>,
    config: PyBoostConfig,
    all_reduce: Py<PyAny>,
    n_threads: usize,
    grown: Option<Py<PyBoosted>>,
    kept: Option<Bound<'py, PyList>>,
    every: usize,
    observer: Option<Py<PyAny>>,
) -> PyResult<PyBoosted> {
    let (data, weights) = data.views()?;
    let data = weights.of(&data)?.schema(config.schema());
    let (config, loss) = config.into_config()?;
    let raised: Raised = Arc::default();
    let reduce = Arc::new(PyReduce { all_reduce, raised: Arc::clone(&raised) });
    // With a cost of 0, the work stays on this thread, and signals are checked before each call of `all_reduce`.
    let entry = Entry { n_threads, cost: 0, progress: None };
    let grown = grown.as_ref().map(|model| &*model.get().0);
    let mut done = Done { kept: None, every, observer, raised: Arc::clone(&raised) };
    let grown = entry.run(py, |control| {
        loss.stops(control);
        config.fitting().start_from(grown).observer(&mut done).worker(reduce).fit((&data, control))
    });
    if let (Some(kept), Some(model)) = (kept, done.kept) {
        kept.append(Bound::new(py, PyBoosted::from(model))?)?;
    }
    match raised.lock().unwrap_or_else(PoisonError::into_inner).take() {
        Some(error) => Err(error),
        None => loss.unless_raised(grown).map(PyBoosted::from),
    }
}

/// The exception that a Python function raised. The engine gets its message, and Python gets the exception.
type Raised = Arc<Mutex<Option<PyErr>>>;

/// The stages that are finished: when a fit fails, and for an observer in between.
#[derive(Debug)]
struct Done {
    kept: Option<Boosted>,
    every: usize,
    observer: Option<Py<PyAny>>,
    raised: Raised,
}

impl StageObserver for Done {
    fn after(&mut self, report: &StageReport<'_>) -> ControlFlow<()> {
        let Some(observer) = self.observer.as_ref().filter(|_| (report.stage + 1).is_multiple_of(self.every)) else {
            return ControlFlow::Continue(());
        };
        let model = report.model.truncated(report.model.n_stages()).map_err(raise);
        let told = model.and_then(|model| Python::attach(|py| observer.call1(py, (PyBoosted::from(model),)).map(drop)));
        told.map_or_else(
            |error| {
                self.raised.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                ControlFlow::Break(())
            },
            ControlFlow::Continue,
        )
    }

    fn failed(&mut self, done: &Boosted) {
        // If there is not enough memory for the model, none is kept.
        self.kept = done.truncated(done.n_stages()).ok();
    }
}

/// A Python function that reduces arrays over workers.
#[derive(Debug)]
struct PyReduce {
    all_reduce: Py<PyAny>,
    raised: Raised,
}

impl PyReduce {
    fn reduced<T: Element + Copy>(&self, own: &mut [T], op: &str) -> PyResult<()> {
        Python::attach(|py| {
            py.check_signals()?;
            let array = PyArray1::from_slice(py, own);
            let returned = self.all_reduce.call1(py, (&array, op))?;
            // The function may have returned the sums instead of writing them, or an object that completes later, such
            // as that of `async_op` in torch.distributed.
            if !returned.is_none(py) && !returned.is(&array) {
                let name = returned.bind(py).get_type().name()?;
                let text = format!(
                    "all_reduce must return None and write the sums into the buffer that it was given, got {name}"
                );
                return Err(PyTypeError::new_err(text));
            }
            let found = array.try_readonly().map_err(|_| PyValueError::new_err("all_reduce keeps its buffer"))?;
            own.copy_from_slice(found.as_slice()?);
            Ok(())
        })
    }
}

impl AllReduce for PyReduce {
    fn all_reduce(&self, buffer: ReduceBuffer<'_>, op: ReduceOp) -> Result<(), Box<dyn StdError + Send + Sync>> {
        let op = match op {
            ReduceOp::Sum => "sum",
            ReduceOp::Max => "max",
            _ => return Err("unknown reduction".into()),
        };
        let reduced = match buffer {
            ReduceBuffer::Float64(own) => self.reduced(own, op),
            ReduceBuffer::Int64(own) => self.reduced(own, op),
            _ => return Err("unknown numbers".into()),
        };
        reduced.map_err(|error| {
            let message = error.to_string();
            self.raised.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            message.into()
        })
    }
}
