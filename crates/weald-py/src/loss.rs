//! The table of losses, and losses that are computed in Python, for many cells at a time.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use numpy::{PyArray1, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict, PyTuple};
use weald::compress::CompressLoss;
use weald::{Control, Domain, Link, Loss, LossKind, LossTargets, Outputs};

use crate::array::{Read1, ReadDyn};
use crate::config::{unknown, with_parameter};
use crate::error::raise;
use crate::names::{DOMAINS, LINKS_OF_LOSSES};
use crate::output;

const CELLS: &str = "the cells of a loss";

/// Returns the table of losses: for each, a dictionary of its name, the name of its type, a description, the kinds of y
/// that it is meant for, its domain, link and parameter, and what supports it.
#[pyfunction]
pub(crate) fn losses(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let row = |row: &weald::LossRow| {
        let about = PyDict::new(py);
        about.set_item("name", row.name)?;
        about.set_item("type", row.type_name)?;
        about.set_item("about", row.about)?;
        about.set_item("of_numbers", row.targets != LossTargets::Labels)?;
        about.set_item("of_labels", row.targets != LossTargets::Numbers)?;
        about.set_item("domain", DOMAINS.iter().find(|(domain, _)| *domain == row.domain()).map(|found| found.1))?;
        about.set_item("link", LINKS_OF_LOSSES.iter().find(|(link, _)| *link == row.link()).map(|found| found.1))?;
        about.set_item("softmax", row.has_softmax())?;
        about.set_item("compresses", CompressLoss::named(row.name).is_some())?;
        about.set_item("has_workers", row.loss().has_workers())?;
        let parameter = row.parameter.map(|parameter| {
            let about = PyDict::new(py);
            about.set_item("name", parameter.name)?;
            about.set_item("about", parameter.about)?;
            about.set_item("default", parameter.default)?;
            about.set_item("above", parameter.above)?;
            about.set_item("below", parameter.below)?;
            about.set_item("must", parameter.must)?;
            PyResult::Ok(about)
        });
        about.set_item("parameter", parameter.transpose()?)?;
        Ok(about)
    };
    weald::binding::LOSSES.iter().map(row).collect()
}

/// The values and the first and second derivatives of a loss for some pairs of y and score.
type Cells<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

/// Returns the values of a loss of the table, and its first and second derivatives by the scores.
#[pyfunction]
#[pyo3(signature = (name, parameter, y, scores))]
pub(crate) fn loss_cells<'py>(
    py: Python<'py>,
    name: &str,
    parameter: Option<f64>,
    y: Read1<'py, f64>,
    scores: Read1<'py, f64>,
) -> PyResult<Cells<'py>> {
    let kind = match parameter {
        Some(parameter) => with_parameter(name, parameter)?,
        None => LossKind::named(name).ok_or_else(|| unknown("loss", name))?,
    };
    let loss = kind.as_loss();
    loss.check().map_err(raise)?;
    let (y, scores) = (y.as_array(), scores.as_array());
    let of_cells = |value: &dyn Fn(f64, f64) -> f64| -> PyResult<_> {
        let found: Vec<f64> = y.iter().zip(scores).map(|(&y, &score)| value(y, score)).collect();
        output::copied(py, CELLS, &found)
    };
    Ok((
        of_cells(&|y, score| loss.value(y, score))?,
        of_cells(&|y, score| -loss.negative_gradient(y, score))?,
        of_cells(&|y, score| loss.curvature(y, score))?,
    ))
}

/// A loss of the user as Python passes it.
#[derive(Debug, FromPyObject)]
pub(crate) struct PyLossObject {
    /// The object with the methods.
    functions: Py<PyAny>,
    name: String,
    domain: String,
    link: Option<String>,
}

/// An object with the methods `loss(y, scores)` and `gradient_hessian(y, scores)`, whose arguments are vectors of equal
/// length. The methods are called on the threads of the fit, one call at a time. An exception that they raise ends the
/// fit.
#[derive(Debug)]
pub(crate) struct PyLoss {
    object: Py<PyAny>,
    name: String,
    domain: Domain,
    /// `None`: predictions are scores.
    link: Option<Link>,
    raised: Mutex<Option<PyErr>>,
    /// The control of the current fit.
    control: OnceLock<Control>,
}

impl PyLoss {
    pub(crate) fn new(loss: PyLossObject) -> PyResult<Self> {
        let PyLossObject { functions: object, name, domain, link } = loss;
        let domain = DOMAINS.iter().find(|(_, known)| *known == domain).ok_or_else(|| unknown("domain", &domain))?.0;
        let of = |link: String| {
            let found = LINKS_OF_LOSSES.iter().find(|(_, known)| *known == Some(link.as_str()));
            found.map(|found| found.0).ok_or_else(|| unknown("link", &link))
        };
        let link = link.map(of).transpose()?;
        Ok(PyLoss { object, name, domain, link, raised: Mutex::default(), control: OnceLock::new() })
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
    fn name(&self) -> &str {
        &self.name
    }

    fn domain(&self) -> Domain {
        self.domain
    }

    fn link(&self, outputs: &Outputs) -> Link {
        match (self.link, outputs) {
            (Some(Link::Logistic), _) => Link::of_half_log_odds(outputs),
            (Some(Link::Log), _) => Link::Log,
            (_, Outputs::Real { .. }) => Link::Identity,
            _ => Link::Margin,
        }
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
