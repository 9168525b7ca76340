//! What the classes around the engine's models have in common: each macro writes methods of a class whose field 0 is an
//! `Arc` of the model.

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use weald::{Additive, Matrix, Precision, Result, Tree};

use crate::config::one_of;
use crate::enter::Entry;
use crate::models::boost::PyBoosted;
use crate::models::compress::PyCompressed;
use crate::models::forest::PyForest;

/// Properties of a class that are numbers of the model.
macro_rules! properties {
    ($class:ident { $($(#[$doc:meta])* $name:ident: $type:ty,)* }) => {
        #[pymethods]
        impl $class {$(
            $(#[$doc])*
            #[getter]
            fn $name(&self) -> $type {
                self.0.$name()
            }
        )*}
    };
}

/// Methods of a class that return copies of arrays of the model, whose purpose is `$what`.
macro_rules! copies {
    ($class:ident, $what:expr, { $($(#[$doc:meta])* $name:ident: $type:ty,)* }) => {
        #[pymethods]
        impl $class {$(
            $(#[$doc])*
            fn $name<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, numpy::PyArray1<$type>>> {
                $crate::output::copied(py, $what, self.0.$name())
            }
        )*}
    };
}

/// Methods of a class that return arrays that are computed from the model.
macro_rules! vectors {
    ($class:ident { $($(#[$doc:meta])* $name:ident: $type:ty,)* }) => {
        #[pymethods]
        impl $class {$(
            $(#[$doc])*
            fn $name<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, numpy::PyArray1<$type>>> {
                Ok($crate::output::vector(py, self.0.$name().map_err($crate::error::raise)?))
            }
        )*}
    };
}

/// What all classes of models have. A class has a property `width`, the number of scores of a sample, and a function
/// `entry` that tells how to run a walk of X that writes so many values for each sample.
macro_rules! model {
    ($class:ident, $model:ident) => {
        impl From<$model> for $class {
            fn from(model: $model) -> Self {
                $class(std::sync::Arc::new(model))
            }
        }

        impl AsRef<$model> for $class {
            fn as_ref(&self) -> &$model {
                &self.0
            }
        }

        $crate::models::model::properties! { $class {
            n_features: usize,
        }}

        #[pymethods]
        impl $class {
            /// The kind of y: "numbers", "classes" or "labels".
            #[getter]
            fn kind(&self) -> &'static str {
                $crate::names::kind_of(self.0.outputs())
            }

            /// The number of outputs.
            #[getter]
            fn n_outputs(&self) -> usize {
                self.0.outputs().n_outputs()
            }

            /// The number of classes of each output: 1 for numerical outputs, 2 for labels.
            #[getter]
            fn n_classes<'py>(&self, py: Python<'py>) -> Bound<'py, numpy::PyArray1<i64>> {
                $crate::output::vector(py, $crate::names::n_classes(self.0.outputs()))
            }

            /// Returns the column indices (uint32) and values (float64) of the `k` largest predictions of each sample,
            /// in decreasing order.
            #[pyo3(signature = (x, k, n_threads=1, exclude=None))]
            fn predict_topk<'py>(
                &self,
                py: Python<'py>,
                x: $crate::input::PyMatrix<'py>,
                k: usize,
                n_threads: usize,
                exclude: Option<$crate::input::PyPattern<'py>>,
            ) -> PyResult<Bound<'py, pyo3::types::PyTuple>> {
                let x = x.view()?;
                let exclude = exclude.as_ref().map(|exclude| exclude.view("exclude")).transpose()?;
                let exclude = exclude.as_ref();
                let entry = self.entry(&x, self.width(), n_threads);
                let best = entry.run(py, |control| self.0.predict_topk_excluding((&x, control), k, exclude))?;
                ($crate::output::array(py, best.indices), $crate::output::array(py, best.scores)).into_pyobject(py)
            }

            /// Returns the model as bytes. Equal models have equal bytes.
            fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, pyo3::types::PyBytes>> {
                $crate::output::model_bytes(py, || self.0.to_bytes())
            }

            /// Returns the model that `to_bytes` wrote. All trees are checked before they are used.
            #[staticmethod]
            fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<$class> {
                $crate::enter::Entry::to_the_end().run(py, |_| $model::from_bytes(bytes)).map($class::from)
            }

            fn __reduce__<'py>(
                &self,
                py: Python<'py>,
            ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, pyo3::types::PyBytes>,))> {
                Ok((py.get_type::<$class>().getattr("from_bytes")?, (self.to_bytes(py)?,)))
            }
        }
    };
}

/// What classes have whose predictions are means over trees, whose class is `$tree`. The dictionary of parameters is
/// `$config`.
macro_rules! mean_of_trees {
    ($class:ident, $model:ident, $tree:ident, $config:ident) => {
        $crate::models::model::properties! { $class {
            n_trees: usize,
        }}

        #[pymethods]
        impl $class {
            /// The number of columns of predictions.
            #[getter]
            fn width(&self) -> usize {
                self.0.outputs().width()
            }

            /// Returns tree `index` as arrays.
            fn tree(&self, index: usize) -> PyResult<$tree> {
                $crate::models::model::check_tree(index, self.0.n_trees())?;
                Ok($tree(std::sync::Arc::clone(self.0.tree(index))))
            }

            /// Returns a forest that has only tree `index`, and shares its memory.
            fn only(&self, index: usize) -> PyResult<$class> {
                $crate::models::model::check_tree(index, self.0.n_trees())?;
                Ok($class::from(self.0.only(index)))
            }

            /// Returns a forest with all trees of `forests`, in their order.
            #[staticmethod]
            fn merge(py: Python<'_>, forests: Vec<Py<$class>>) -> PyResult<$class> {
                let parts: Vec<&$model> = forests.iter().map(|forest| forest.bind(py).get().as_ref()).collect();
                $model::merge(&parts).map($class::from).map_err($crate::error::raise)
            }

            /// (n_samples, width) float64: the predictions.
            #[pyo3(signature = (x, n_threads=1))]
            fn predict<'py>(
                &self,
                py: Python<'py>,
                x: $crate::input::PyMatrix<'py>,
                n_threads: usize,
            ) -> PyResult<Bound<'py, numpy::PyArray2<f64>>> {
                let x = x.view()?;
                let entry = self.entry(&x, self.width(), n_threads);
                let scores = $crate::output::zeros(py, x.n_samples(), self.width())?;
                {
                    let mut out = numpy::PyArrayMethods::try_readwrite(&scores)?;
                    let out = out.as_slice_mut()?;
                    entry.run(py, |control| self.0.predict_into((&x, control), out))?;
                }
                Ok(scores)
            }

            /// (n_samples, n_trees) uint32: the leaf of each sample in each tree.
            #[pyo3(signature = (x, n_threads=1))]
            fn apply<'py>(
                &self,
                py: Python<'py>,
                x: $crate::input::PyMatrix<'py>,
                n_threads: usize,
            ) -> PyResult<Bound<'py, numpy::PyArray2<u32>>> {
                let x = x.view()?;
                let leaves = self.entry(&x, 1, n_threads).run(py, |control| self.0.apply((&x, control)))?;
                Ok($crate::output::array(py, leaves))
            }

            /// Returns the predictions that are positive and at least `floor`, as CSR (indptr, indices uint32, data
            /// float64).
            #[pyo3(signature = (x, floor, n_threads=1))]
            fn predict_at_least<'py>(
                &self,
                py: Python<'py>,
                x: $crate::input::PyMatrix<'py>,
                floor: f64,
                n_threads: usize,
            ) -> PyResult<$crate::output::SparseArrays<'py>> {
                let x = x.view()?;
                let entry = self.entry(&x, 1, n_threads);
                let found = entry.run(py, |control| self.0.predict_at_least((&x, control), floor))?;
                Ok($crate::output::sparse(py, found))
            }

            /// Returns the out-of-bag predictions for the training samples (NaN for samples that every tree drew), and
            /// the number of trees that did not draw each sample.
            #[pyo3(signature = (config, data, n_threads=1))]
            fn oob_predict<'py>(
                &self,
                py: Python<'py>,
                config: $config,
                data: $crate::input::PyData<'py>,
                n_threads: usize,
            ) -> PyResult<Bound<'py, pyo3::types::PyTuple>> {
                let ((data, weights), config) = (data.views()?, config.into_config()?);
                let data = weights.of_rows_alone(&data);
                let entry = self.entry(data.x(), self.width(), n_threads);
                let entry = entry.drawing(config.sampling, data.n_samples(), self.0.n_trees());
                let oob = entry.run(py, |control| self.0.oob_predict(&config, (&data, control)))?;
                ($crate::output::array(py, oob.scores), $crate::output::vector(py, oob.n_trees)).into_pyobject(py)
            }

            /// Returns the out-of-bag predictions that are positive and at least `floor`, as CSR (indptr, indices
            /// uint32, data float64), and the number of trees that did not draw each sample.
            #[pyo3(signature = (config, data, floor, n_threads=1))]
            fn oob_at_least<'py>(
                &self,
                py: Python<'py>,
                config: $config,
                data: $crate::input::PyData<'py>,
                floor: f64,
                n_threads: usize,
            ) -> PyResult<Bound<'py, pyo3::types::PyTuple>> {
                let ((data, weights), config) = (data.views()?, config.into_config()?);
                let data = weights.of_rows_alone(&data);
                let entry = self.entry(data.x(), 1, n_threads);
                let entry = entry.drawing(config.sampling, data.n_samples(), self.0.n_trees());
                let oob = entry.run(py, |control| self.0.oob_at_least(&config, (&data, control), floor))?;
                ($crate::output::sparse(py, oob.scores), $crate::output::vector(py, oob.n_trees)).into_pyobject(py)
            }

            fn __len__(&self) -> usize {
                self.0.n_trees()
            }
        }
    };
}

/// The scores or the predictions of a model of scores, as float64.
macro_rules! scores {
    ($class:ident { $($(#[$doc:meta])* $name:ident,)* }) => {
        #[pymethods]
        impl $class {$(
            $(#[$doc])*
            #[pyo3(signature = (x, n_threads=1))]
            fn $name<'py>(
                &self,
                py: Python<'py>,
                x: $crate::input::PyMatrix<'py>,
                n_threads: usize,
            ) -> PyResult<Bound<'py, numpy::PyArray2<f64>>> {
                let x = x.view()?;
                let entry = self.entry(&x, self.width(), n_threads);
                Ok($crate::output::array(py, entry.run(py, |control| self.0.$name((&x, control)))?))
            }
        )*}
    };
}

/// What classes have whose predictions are sums over trees with tests.
macro_rules! of_trees {
    ($class:ident) => {
        impl $class {
            /// Returns how to run a walk of `x` down the trees that writes `width` values for each sample.
            fn entry<'py>(&self, x: &weald::Matrix<'_>, width: usize, n_threads: usize) -> $crate::enter::Entry<'py> {
                $crate::models::model::walk(self.0.additive(), x, width, n_threads)
            }
        }

        #[pymethods]
        impl $class {
            /// Returns the model with values of type "int8", "float16" or "float32" in the leaves.
            #[pyo3(signature = (dtype, n_threads=1))]
            fn with_precision(&self, py: Python<'_>, dtype: &str, n_threads: usize) -> PyResult<$class> {
                let precision = $crate::models::model::precision(dtype)?;
                let entry = $crate::models::model::compacting(self.0.additive(), n_threads);
                entry.run(py, |control| self.0.with_precision(precision, control)).map($class::from)
            }
        }
    };
}

/// What classes of forests and of stages have.
macro_rules! grown {
    ($class:ident) => {
        $crate::models::model::of_trees!($class);

        #[pymethods]
        impl $class {
            /// Returns a bound on the difference between a score of `other`, a model with the same structure, and the
            /// same score of this model.
            #[pyo3(signature = (other, n_threads=1))]
            fn largest_change(&self, py: Python<'_>, other: &$class, n_threads: usize) -> PyResult<f64> {
                let entry = $crate::models::model::compacting(self.0.additive(), n_threads);
                entry.run(py, |control| self.0.largest_change(&other.0, control))
            }

            /// (n_points, width) float64: the mean score at each point. The columns of `points` are values of
            /// `features`.
            #[pyo3(signature = (features, points, n_threads=1))]
            fn partial_dependence<'py>(
                &self,
                py: Python<'py>,
                features: Vec<usize>,
                points: $crate::array::Read2<'py, f32>,
                n_threads: usize,
            ) -> PyResult<Bound<'py, numpy::PyArray2<f64>>> {
                let points = points.as_array();
                let each = |tree: &weald::Tree| tree.n_nodes().saturating_mul(points.nrows().max(1));
                let entry = $crate::models::model::over_trees(self.0.additive(), n_threads, each);
                let means = entry.run(py, |control| self.0.partial_dependence(&features, points, control))?;
                Ok($crate::output::array(py, means))
            }
        }
    };
}

pub(crate) use {copies, grown, mean_of_trees, model, of_trees, properties, scores, vectors};

/// A model whose scores are sums or means over trees.
#[derive(Debug, FromPyObject)]
pub(crate) enum PyAdditive {
    Forest(Py<PyForest>),
    Boosted(Py<PyBoosted>),
    Compressed(Py<PyCompressed>),
}

impl PyAdditive {
    pub(crate) fn additive(&self) -> Result<Additive<'_>> {
        match self {
            PyAdditive::Forest(model) => model.get().as_ref().additive(),
            PyAdditive::Boosted(model) => model.get().as_ref().additive(),
            PyAdditive::Compressed(model) => model.get().as_ref().additive(),
        }
    }
}

/// Returns how to run work that takes so many steps for each tree of a model. If there is no such model, the work finds
/// this out itself.
pub(crate) fn over_trees<'py>(
    model: Result<Additive<'_>>,
    n_threads: usize,
    steps: impl Fn(&Tree) -> usize,
) -> Entry<'py> {
    let cost = model.map_or(0, |model| model.trees().iter().map(|tree| steps(tree)).fold(0, usize::saturating_add));
    Entry { n_threads, cost, progress: None }
}

/// The approximate number of steps for each tree that a sample walks down.
pub(crate) const STEPS_PER_TREE: usize = 16;

/// Returns how to run a walk of `x` down the trees of a model that writes `width` values for each sample.
pub(crate) fn walk<'py>(model: Result<Additive<'_>>, x: &Matrix<'_>, width: usize, n_threads: usize) -> Entry<'py> {
    let per_row = width.saturating_add(STEPS_PER_TREE).saturating_mul(model.map_or(0, |model| model.trees().len()));
    let cost = x.n_samples().saturating_mul(per_row).saturating_add(x.n_stored());
    Entry { n_threads, cost, progress: None }
}

/// Returns how to run a pass over all leaves of a model.
pub(crate) fn compacting<'py>(model: Result<Additive<'_>>, n_threads: usize) -> Entry<'py> {
    over_trees(model, n_threads, |tree| tree.n_nodes().saturating_add(tree.leaves().n_stored()))
}

/// Checks that a model has tree `index`.
pub(crate) fn check_tree(index: usize, n_trees: usize) -> PyResult<()> {
    if index < n_trees { Ok(()) } else { Err(PyIndexError::new_err(format!("tree {index} of {n_trees}"))) }
}

/// Checks that a tree has node `node`.
pub(crate) fn check_node(node: usize, n_nodes: usize) -> PyResult<()> {
    if node < n_nodes {
        return Ok(());
    }
    Err(PyIndexError::new_err(format!("node must be between 0 and {}, got {node}", n_nodes - 1)))
}

/// Returns the type of values in leaves that has this name.
pub(crate) fn precision(dtype: &str) -> PyResult<Precision> {
    one_of("dtype", dtype, [("int8", Precision::Byte), ("float16", Precision::Half), ("float32", Precision::Single)])
}
