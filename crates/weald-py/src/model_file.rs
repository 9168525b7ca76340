//! Model files: a model of the engine with the text and the arrays of an estimator.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ndarray::{ArrayD, IxDyn};
use numpy::{Element, PyArrayDyn};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};
use weald::model_file::{Array, Extra, Kind, Summary, Values, inspect, write_bytes};
use weald::{ErrorKind, Model, ModelFile};

use crate::array::{Read1, ReadDyn};
use crate::enter::{Caller, Entry};
use crate::error::raise;
use crate::input::collected;
use crate::models::boost::PyBoosted;
use crate::models::centroid::PyCentroidForest;
use crate::models::compress::PyCompressed;
use crate::models::forest::PyForest;
use crate::models::label_tree::PyLabelTree;
use crate::models::linear::PyLinear;
use crate::names::{kind_of, name_of};
use crate::output;

/// A model, and the arrays of its estimator by name.
type PyParts<'py> = (Bound<'py, PyAny>, Bound<'py, PyDict>);

/// Writes a file with a model and the text and arrays of an estimator. If writing fails, an existing file is left
/// unchanged.
#[pyfunction]
pub(crate) fn save_model(
    py: Python<'_>,
    path: PathBuf,
    model: Bound<'_, PyAny>,
    estimator: Option<Bound<'_, PyString>>,
    arrays: BTreeMap<String, Bound<'_, PyAny>>,
) -> PyResult<()> {
    let file = file_of(&model, estimator, arrays)?;
    Entry::to_the_end().run(py, |_| file.save(&path))
}

/// Returns the bytes of the file that `save_model` writes.
#[pyfunction]
pub(crate) fn write_model<'py>(
    py: Python<'py>,
    model: Bound<'_, PyAny>,
    estimator: Option<Bound<'_, PyString>>,
    arrays: BTreeMap<String, Bound<'_, PyAny>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let file = file_of(&model, estimator, arrays)?;
    output::model_bytes(py, || file.to_bytes())
}

/// Writes other bytes with the same guarantees as `save_model`.
#[pyfunction]
pub(crate) fn write_file(py: Python<'_>, path: PathBuf, bytes: &[u8]) -> PyResult<()> {
    Entry::to_the_end().run(py, |_| write_bytes(&path, bytes))
}

fn file_of(
    model: &Bound<'_, PyAny>,
    estimator: Option<Bound<'_, PyString>>,
    arrays: BTreeMap<String, Bound<'_, PyAny>>,
) -> PyResult<ModelFile> {
    let arrays: PyResult<_> = arrays.into_iter().map(|(name, array)| Ok((name, array_of(&array)?))).collect();
    let estimator = estimator.map(|text| copied(text.to_str()?)).transpose()?;
    let mut extra = Extra::default();
    (extra.estimator, extra.arrays) = (estimator, arrays?);
    Ok(ModelFile::new(model_of(model)?, extra))
}

/// Reads what `save_model` wrote. `accept` is called with what `inspect_model` returns before anything else is read, and
/// refuses the file by an exception. All trees are checked before they are used; the arrays are returned as they are.
#[pyfunction]
pub(crate) fn load_model(py: Python<'_>, path: PathBuf, accept: Py<PyAny>) -> PyResult<PyParts<'_>> {
    let entry = Entry::to_the_end();
    let file = entry.run_with_calls(py, |_, caller| ModelFile::load_if(&path, |summary| ask(accept, summary, caller)));
    parts(py, file?)
}

/// Like `load_model`, for a file that is in memory or mapped into memory, as a contiguous array of bytes.
#[pyfunction]
pub(crate) fn read_model<'py>(py: Python<'py>, bytes: Read1<'py, u8>, accept: Py<PyAny>) -> PyResult<PyParts<'py>> {
    let bytes = bytes.as_slice()?;
    let entry = Entry::to_the_end();
    let file =
        entry.run_with_calls(py, |_, caller| ModelFile::from_bytes_if(bytes, |summary| ask(accept, summary, caller)));
    parts(py, file?)
}

/// Shows the summary of a file to `accept`, whose exception is raised in place of this error.
fn ask(accept: Py<PyAny>, summary: Summary, caller: &mut Caller) -> weald::Result<()> {
    let accepted = caller.call(move |py| accept.call1(py, (told(py, summary)?,)).map(|_| true));
    if accepted { Ok(()) } else { Err(ErrorKind::Interrupted.into()) }
}

/// Returns what the header of a model file contains.
#[pyfunction]
pub(crate) fn inspect_model(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyDict>> {
    let summary = Entry::to_the_end().run(py, |_| inspect(&path))?;
    told(py, summary)
}

fn told(py: Python<'_>, summary: Summary) -> PyResult<Bound<'_, PyDict>> {
    let kind = match summary.kind {
        Kind::Forest => "forest",
        Kind::Boosted => "boosted",
        Kind::Compressed => "compressed",
        Kind::Centroid => "centroid",
        Kind::Linear => "linear",
        Kind::LabelTree => "label_tree",
        _ => return Err(PyRuntimeError::new_err("a kind of model without a name")),
    };
    let tensors = PyList::empty(py);
    for tensor in &summary.tensors {
        let about = PyDict::new(py);
        about.set_item("name", &tensor.name)?;
        about.set_item("dtype", &tensor.dtype)?;
        about.set_item("shape", PyTuple::new(py, &tensor.shape)?)?;
        about.set_item("n_bytes", tensor.n_bytes)?;
        about.set_item("share", tensor.share)?;
        tensors.append(about)?;
    }
    let about = PyDict::new(py);
    about.set_item("format_version", summary.format_version)?;
    about.set_item("release", &summary.release)?;
    about.set_item("kind", kind)?;
    about.set_item("outputs", kind_of(&summary.outputs))?;
    about.set_item("n_outputs", summary.outputs.n_outputs())?;
    about.set_item("width", summary.outputs.width())?;
    about.set_item("criterion", name_of(summary.criterion))?;
    about.set_item("n_features", summary.n_features)?;
    about.set_item("n_trees", summary.n_trees)?;
    about.set_item("n_nodes", summary.n_nodes)?;
    about.set_item("n_bytes", summary.n_bytes)?;
    about.set_item("n_header_bytes", summary.n_header_bytes)?;
    about.set_item("tensors", tensors)?;
    about.set_item("estimator", summary.estimator.map(|text| output::text(py, &text)).transpose()?)?;
    Ok(about)
}

/// Returns a copy of a text, and reports if there is not enough memory for it.
fn copied(text: &str) -> PyResult<String> {
    let mut copy = String::new();
    let bytes = text.len();
    let refused = || raise(ErrorKind::OutOfMemory { what: "the text of the estimator", bytes }.into());
    copy.try_reserve_exact(bytes).map_err(|_| refused())?;
    copy.push_str(text);
    Ok(copy)
}

fn model_of(model: &Bound<'_, PyAny>) -> PyResult<Model> {
    if let Ok(forest) = model.cast::<PyForest>() {
        return Ok(Model::Forest(forest.get().as_ref().clone()));
    }
    if let Ok(boosted) = model.cast::<PyBoosted>() {
        return Ok(Model::Boosted(boosted.get().as_ref().clone()));
    }
    if let Ok(compressed) = model.cast::<PyCompressed>() {
        return Ok(Model::Compressed(compressed.get().as_ref().clone()));
    }
    if let Ok(forest) = model.cast::<PyCentroidForest>() {
        return Ok(Model::Centroid(forest.get().as_ref().clone()));
    }
    if let Ok(linear) = model.cast::<PyLinear>() {
        return Ok(Model::Linear(linear.get().as_ref().clone()));
    }
    if let Ok(tree) = model.cast::<PyLabelTree>() {
        return Ok(Model::LabelTree(tree.get().as_ref().clone()));
    }
    Err(PyTypeError::new_err(format!("model must be a model of the engine, got {}", model.get_type().name()?)))
}

fn parts(py: Python<'_>, file: ModelFile) -> PyResult<PyParts<'_>> {
    let model = match file.model {
        Model::Forest(forest) => PyForest::from(forest).into_pyobject(py)?.into_any(),
        Model::Boosted(boosted) => PyBoosted::from(boosted).into_pyobject(py)?.into_any(),
        Model::Compressed(compressed) => PyCompressed::from(compressed).into_pyobject(py)?.into_any(),
        Model::Centroid(forest) => PyCentroidForest::from(forest).into_pyobject(py)?.into_any(),
        Model::Linear(linear) => PyLinear::from(linear).into_pyobject(py)?.into_any(),
        Model::LabelTree(tree) => PyLabelTree::from(tree).into_pyobject(py)?.into_any(),
        _ => return Err(PyRuntimeError::new_err("a model of a kind without a name")),
    };
    let arrays = PyDict::new(py);
    for (name, array) in file.extra.arrays {
        arrays.set_item(name, array_to(py, array)?)?;
    }
    Ok((model, arrays))
}

/// Copies the values of a numpy array in C order.
fn array_of(array: &Bound<'_, PyAny>) -> PyResult<Array> {
    fn read<'py, T: Element + Copy>(
        array: &Bound<'py, PyAny>,
        values: fn(Vec<T>) -> Values,
    ) -> Option<PyResult<Array>> {
        let array: ReadDyn<'py, T> = array.extract().ok()?;
        let view = array.as_array();
        let copy = collected("an array of the model", view.iter().copied().map(Ok));
        Some(copy.and_then(|copy| Array::try_new(view.shape().to_vec(), values(copy)).map_err(raise)))
    }
    let found = read(array, Values::Bool)
        .or_else(|| read(array, Values::U8))
        .or_else(|| read(array, Values::I32))
        .or_else(|| read(array, Values::I64))
        .or_else(|| read(array, Values::U32))
        .or_else(|| read(array, Values::U64))
        .or_else(|| read(array, Values::F32))
        .or_else(|| read(array, Values::F64));
    found.unwrap_or_else(|| Err(PyTypeError::new_err("an array is of a type that model files do not hold")))
}

/// Returns a numpy array that owns the values.
fn array_to(py: Python<'_>, array: Array) -> PyResult<Bound<'_, PyAny>> {
    fn make<T: Element>(py: Python<'_>, shape: Vec<usize>, values: Vec<T>) -> PyResult<Bound<'_, PyAny>> {
        let array = ArrayD::from_shape_vec(IxDyn(&shape), values);
        let array = array.map_err(|error| PyValueError::new_err(error.to_string()))?;
        let array: Bound<'_, PyArrayDyn<T>> = output::array(py, array);
        Ok(array.into_any())
    }
    let (shape, values) = array.into_parts();
    match values {
        Values::Bool(v) => make(py, shape, v),
        Values::U8(v) => make(py, shape, v),
        Values::I32(v) => make(py, shape, v),
        Values::I64(v) => make(py, shape, v),
        Values::U32(v) => make(py, shape, v),
        Values::U64(v) => make(py, shape, v),
        Values::F32(v) => make(py, shape, v),
        Values::F64(v) => make(py, shape, v),
        _ => Err(PyRuntimeError::new_err("an array of a type without a name")),
    }
}
