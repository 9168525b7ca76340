//! Models as text: C and JSON.

use std::io;

use pyo3::prelude::*;
use pyo3::types::PyString;
use weald::export::{About, Added, Exported};
use weald::{Control, Result};

use crate::config::one_of;
use crate::enter::Entry;
use crate::models::centroid::PyCentroidForest;
use crate::models::label_tree::PyLabelTree;
use crate::models::linear::PyLinear;
use crate::models::model::PyAdditive;

const ADDED: [(&str, Added); 3] = [("scores", Added::Scores), ("log", Added::Log), ("half_logit", Added::HalfLogOdds)];

/// A model to export.
#[derive(Debug, FromPyObject)]
pub(crate) enum PyExported {
    #[pyo3(transparent)]
    Trees(PyAdditive),
    Linear(Py<PyLinear>),
    Centroids(Py<PyCentroidForest>),
    LabelTrees(Py<PyLabelTree>),
}

/// The linear model that trees start from, and what is added of it.
type PyStart = Option<(Py<PyLinear>, String)>;

/// Text in memory.
struct Bytes(Vec<u8>);

impl io::Write for Bytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_reserve(bytes.len()).map_err(|_| io::ErrorKind::OutOfMemory)?;
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns what `to_text` writes of a model.
fn text<'py>(
    py: Python<'py>,
    model: &PyExported,
    start: PyStart,
    to_text: impl FnOnce(&Exported<'_>, &mut Bytes, &Control) -> Result<()> + Send,
) -> PyResult<Bound<'py, PyString>> {
    let start = start.map(|(linear, added)| one_of("added", &added, ADDED).map(|added| (linear, added))).transpose()?;
    let text = Entry { n_threads: 1, cost: usize::MAX, progress: None }.run(py, |control| {
        let model = match model {
            PyExported::Trees(model) => {
                let start = start.as_ref().map(|(linear, added)| (linear.get().as_ref(), *added));
                Exported::Trees(model.additive()?, start)
            }
            PyExported::Linear(model) => Exported::Linear(model.get().as_ref()),
            PyExported::Centroids(model) => Exported::Centroids(model.get().as_ref()),
            PyExported::LabelTrees(model) => Exported::LabelTrees(model.get().as_ref()),
        };
        let mut text = Bytes(Vec::new());
        to_text(&model, &mut text, control)?;
        Ok(text.0)
    })?;
    PyString::from_bytes(py, &text)
}

/// The model as a C99 source file, whose names begin with `name`.
#[pyfunction]
#[pyo3(signature = (model, name, estimator, threshold, start=None))]
pub(crate) fn to_c<'py>(
    py: Python<'py>,
    model: PyExported,
    name: &str,
    estimator: &str,
    threshold: f64,
    start: PyStart,
) -> PyResult<Bound<'py, PyString>> {
    let mut about = About::new(estimator);
    about.threshold = threshold;
    text(py, &model, start, |model, text, control| model.to_c(name, &about, text, control))
}

/// The model as a JSON object, with `members`, JSON without braces, among its members.
#[pyfunction]
#[pyo3(signature = (model, estimator, threshold, members, start=None))]
pub(crate) fn to_json<'py>(
    py: Python<'py>,
    model: PyExported,
    estimator: &str,
    threshold: f64,
    members: &str,
    start: PyStart,
) -> PyResult<Bound<'py, PyString>> {
    let mut about = About::new(estimator);
    (about.threshold, about.members) = (threshold, members);
    text(py, &model, start, |model, text, control| model.to_json(&about, text, control))
}
