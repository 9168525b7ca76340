//! Models that are described by arrays, as exports of models are.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use weald::model::{AddsTo, DescribedModel, Description, TreeArrays};
use weald::{Error, ErrorKind, Link, Outputs};

use crate::array::Read1;
use crate::config::unknown;
use crate::enter::Entry;
use crate::error::raise;
use crate::models::model::{scores, walk};
use crate::names::name_of_link;

/// A model that was described: see [`DescribedModel`]. It is immutable, so several threads may use it at the same time.
#[pyclass(frozen, eq, module = "weald._weald", name = "DescribedModel")]
#[derive(Debug, PartialEq)]
pub(crate) struct PyDescribed(DescribedModel);

/// The arrays of a tree: features, thresholds, children on the left and on the right, whether missing values go left,
/// pairs of splits and categories, the offsets, columns and values of leaves, and the score or the factors of scores
/// that values are added to.
#[derive(Debug, FromPyObject)]
struct PyTreeArrays<'py> {
    feature: Read1<'py, i64>,
    threshold: Read1<'py, f32>,
    left: Read1<'py, i64>,
    right: Read1<'py, i64>,
    missing_left: Read1<'py, bool>,
    categories: Vec<(usize, Vec<i64>)>,
    ptr: Read1<'py, i64>,
    columns: Read1<'py, i64>,
    values: Read1<'py, f64>,
    column: Option<usize>,
    factors: Option<Read1<'py, f64>>,
}

impl PyTreeArrays<'_> {
    fn view(&self) -> PyResult<TreeArrays<'_>> {
        Ok(TreeArrays {
            features: self.feature.as_slice()?,
            thresholds: self.threshold.as_slice()?,
            left: self.left.as_slice()?,
            right: self.right.as_slice()?,
            missing_left: self.missing_left.as_slice()?,
            categories: &self.categories,
            leaf_ptr: self.ptr.as_slice()?,
            leaf_columns: self.columns.as_slice()?,
            leaf_values: self.values.as_slice()?,
            adds_to: match (self.column, &self.factors) {
                (Some(column), _) => AddsTo::Column(column),
                (None, Some(factors)) => AddsTo::Factors(factors.as_slice()?),
                (None, None) => AddsTo::Columns,
            },
        })
    }
}

/// Returns the outputs of a kind of y, with the numbers of classes of outputs of classes.
pub(crate) fn outputs_of(kind: &str, n_outputs: usize, n_classes: Vec<u32>) -> PyResult<Outputs> {
    Ok(match kind {
        "numbers" => Outputs::Real { n_outputs },
        "labels" => Outputs::Labels { n_labels: n_outputs },
        "classes" => Outputs::Classes { n_classes },
        other => return Err(unknown("kind", other)),
    })
}

/// Returns the error for a description that is not one of a model.
pub(crate) fn refused(error: Error) -> PyErr {
    match error.kind() {
        ErrorKind::Corrupt { why } => PyValueError::new_err(why.clone()),
        _ => raise(error),
    }
}

scores! { PyDescribed {
    /// (n_samples, n_scores) float64: the scores.
    predict_scores,
    /// (n_samples, n_columns) float64: numerical outputs, probabilities, or scores that are none.
    predict,
}}

#[pymethods]
impl PyDescribed {
    /// Builds a model. `kind` is that of y, and `n_classes` are the numbers of classes of outputs of classes.
    #[new]
    #[expect(clippy::too_many_arguments, reason = "the signature of a Python function")]
    fn new(
        py: Python<'_>,
        n_features: usize,
        kind: &str,
        n_outputs: usize,
        n_classes: Vec<u32>,
        n_scores: usize,
        start: Vec<f64>,
        divisor: f64,
        link: &str,
        trees: Vec<PyTreeArrays<'_>>,
    ) -> PyResult<Self> {
        let outputs = outputs_of(kind, n_outputs, n_classes)?;
        let link = Link::ALL.into_iter().find(|found| name_of_link(*found) == link);
        let link = link.ok_or_else(|| PyValueError::new_err("link is not a link of the engine"))?;
        let of = Description { n_features, outputs, n_scores, start, divisor, link };
        let trees: Vec<TreeArrays<'_>> = trees.iter().map(PyTreeArrays::view).collect::<PyResult<_>>()?;
        let built = Entry::to_the_end().run(py, |_| Ok(DescribedModel::new(of, &trees)))?;
        built.map(PyDescribed).map_err(refused)
    }
}

impl PyDescribed {
    fn width(&self) -> usize {
        self.0.additive().map_or(0, |model| model.n_scores())
    }

    fn entry<'py>(&self, x: &weald::Matrix<'_>, width: usize, n_threads: usize) -> Entry<'py> {
        walk(self.0.additive(), x, width, n_threads)
    }
}
