//! Losses that are computed in Python, for many cells at a time.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use numpy::PyUntypedArrayMethods;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyTuple};
use weald::{Control, Domain, Loss};

use crate::array::ReadDyn;
use crate::output;

const CELLS: &str = "the cells of a loss";

/// An object with the methods `loss(y, scores)` and `gradient_hessian(y, scores)`, whose arguments are vectors of equal
/// length. The methods are called on the threads of the fit, one call at a time. An exception that they raise ends the
/// fit.
#[derive(Debug)]
pub(crate) struct PyLoss {
    object: Py<PyAny>,
    raised: Mutex<Option<PyErr>>,
    /// The control of the current fit.
    control: OnceLock<Control>,
}

impl PyLoss {
    pub(crate) fn new(object: Py<PyAny>) -> Self {
        PyLoss { object, raised: Mutex::default(), control: OnceLock::new() }
    }

    fn raised(&self) -> std::sync::MutexGuard<'_, Option<PyErr>> {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `compute`. After an exception, raised by this or by an earlier call, nothing is computed and the fit is
    /// stopped.
    fn computed(&self, compute: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<()>) {
        if self.raised().is_some() {
            return;
        }
        // A line search may try steps that are so long that exponentials overflow. It then turns back, so numpy's
        // warnings are suppressed.
        let quietly = |py: Python<'_>| {
            let options = [("all", "ignore")].into_py_dict(py)?;
            let state = py.import("numpy")?.call_method("errstate", (), Some(&options))?;
            state.call_method0("__enter__")?;
            let outcome = compute(self.object.bind(py));
            state.call_method1("__exit__", (py.None(), py.None(), py.None()))?;
            outcome
        };
        if let Err(error) = Python::attach(quietly) {
            self.raised().get_or_insert(error);
            if let Some(control) = self.control.get() {
                control.stop();
            }
        }
    }
}

impl Loss for PyLoss {
    fn domain(&self) -> Domain {
        Domain::Numbers
    }

    fn value(&self, y: f64, score: f64) -> f64 {
        let mut value = [f64::NAN];
        self.values(&[y], &[score], &mut value);
        value[0]
    }

    fn negative_gradient(&self, y: f64, score: f64) -> f64 {
        let (mut negative_gradient, mut curvature) = ([f64::NAN], [f64::NAN]);
        self.derivatives(&[y], &[score], &mut negative_gradient, &mut curvature);
        negative_gradient[0]
    }

    fn curvature(&self, y: f64, score: f64) -> f64 {
        let (mut negative_gradient, mut curvature) = ([f64::NAN], [f64::NAN]);
        self.derivatives(&[y], &[score], &mut negative_gradient, &mut curvature);
        curvature[0]
    }

    fn takes_blocks(&self) -> bool {
        true
    }

    fn values(&self, y: &[f64], scores: &[f64], values: &mut [f64]) {
        if y.is_empty() {
            return;
        }
        self.computed(|object| {
            let found = object.call_method1("loss", arguments(object.py(), y, scores)?)?;
            write("loss.loss", &found, values)
        });
    }

    fn derivatives(&self, y: &[f64], scores: &[f64], negative_gradients: &mut [f64], curvatures: &mut [f64]) {
        const METHOD: &str = "loss.gradient_hessian";
        if y.is_empty() {
            return;
        }
        self.computed(|object| {
            let found = object.call_method1("gradient_hessian", arguments(object.py(), y, scores)?)?;
            let Ok((gradient, hessian)) = found.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>() else {
                let kind = found.get_type().name()?;
                return Err(PyTypeError::new_err(format!(
                    "{METHOD} returned {kind}, expected a tuple of two arrays: first and second derivatives by the scores"
                )));
            };
            write(METHOD, &gradient, negative_gradients)?;
            negative_gradients.iter_mut().for_each(|r| *r = -*r);
            write(METHOD, &hessian, curvatures)
        });
    }
}

fn arguments<'py>(py: Python<'py>, y: &[f64], scores: &[f64]) -> PyResult<Bound<'py, PyTuple>> {
    (output::copied(py, CELLS, y)?, output::copied(py, CELLS, scores)?).into_pyobject(py)
}

/// Copies an array that has one number for each cell.
fn write(method: &str, found: &Bound<'_, PyAny>, to: &mut [f64]) -> PyResult<()> {
    let numpy = found.py().import("numpy")?;
    let array = numpy.call_method1("asarray", (found, "float64"))?;
    let array: ReadDyn<'_, f64> = array.extract()?;
    if array.shape() != [to.len()] {
        return Err(PyValueError::new_err(format!(
            "{method} returned an array of shape {}, expected ({},): a number for each y",
            PyTuple::new(found.py(), array.shape())?.str()?,
            to.len()
        )));
    }
    to.iter_mut().zip(array.as_array()).for_each(|(to, &value)| *to = value);
    Ok(())
}

/// The loss of a fit, if Python computes it.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnLoss(pub(crate) Option<Arc<PyLoss>>);

impl OwnLoss {
    /// Arranges that an exception of the loss stops this work.
    pub(crate) fn stops(&self, control: &Control) {
        if let OwnLoss(Some(loss)) = self {
            loss.control.get_or_init(|| control.clone());
        }
    }

    /// Returns the exception that the loss raised, or otherwise the outcome of the work.
    pub(crate) fn unless_raised<T>(&self, outcome: PyResult<T>) -> PyResult<T> {
        match self.0.as_ref().and_then(|loss| loss.raised().take()) {
            Some(error) => Err(error),
            None => outcome,
        }
    }
}
