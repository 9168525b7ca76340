//! The binding: conversions between Python's objects and the engine's, and nothing else.
//!
//! | file | what it knows |
//! |------|---------------|
//! | `enter` | the one place that releases the GIL; Ctrl-C, progress, panics |
//! | `error` | the engine's error kinds as Python exceptions |
//! | `input` | numpy arrays and scipy matrices as the engine's views, without copies where memory allows |
//! | `output` | the engine's arrays as numpy arrays, without copies |
//! | `config` | parameters from dictionaries |
//! | `label_files` | text formats of label data |
//! | `loss` | a loss that Python computes |
//! | `names` | what Python calls the engine's values |
//! | `projection` | output projections: families and matrices, and what a family draws |
//! | `tree`, `forest`, `boost`, `centroid`, `compress` | frozen classes around the engine's models |
//! | `one_sample` | scores of one sample at a time |
//! | `part` | boosting with samples on several workers |
//! | `shap` | Shapley values of any of them that is a sum of trees |
//! | `model_file` | models with what an estimator adds, to files and back |
//!
//! One call: inputs become views, `enter` runs the engine on them, the result becomes numpy arrays or a frozen class.

mod boost;
mod centroid;
mod compress;
mod config;
mod enter;
mod error;
mod forest;
mod input;
mod label_files;
mod loss;
mod model_file;
mod names;
mod one_sample;
mod output;
mod part;
mod projection;
mod shap;
mod tree;

/// The engine of spinney. Private: the names here may change between any two versions.
#[pyo3::pymodule(gil_used = false)]
mod _spinney {
    use pyo3::prelude::*;
    use pyo3::types::PyDict;

    #[pymodule_export]
    use crate::boost::{PyBoosted, PyStaged, fit_boosting, fit_boosting_with, refit_leaves, weights_by_row};
    #[pymodule_export]
    use crate::centroid::{PyCentroidForest, PyCentroidTree, fit_centroid_forest};
    #[pymodule_export]
    use crate::compress::{PyCompressed, PyCompressionPath, compress_forest, cross_validate_compression};
    #[pymodule_export]
    use crate::forest::{PyForest, fit_forest, fit_tree};
    #[pymodule_export]
    use crate::label_files::{read_mulan, read_svmlight, read_xmc, write_xmc};
    #[pymodule_export]
    use crate::model_file::{
        inspect_bytes, inspect_model, load_model, read_model, save_model, write_file, write_model,
    };
    #[pymodule_export]
    use crate::one_sample::PyOneSample;
    #[pymodule_export]
    use crate::part::fit_boosting_part;
    #[pymodule_export]
    use crate::projection::{count_projections, draw_projection, py_johnson_lindenstrauss_dim};
    #[pymodule_export]
    use crate::shap::{shap_base_values, shap_interaction_values, shap_values, shap_values_sparse};
    #[pymodule_export]
    use crate::tree::PyTree;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }

    /// What a bug report should say about this build.
    #[pyfunction]
    fn build_info(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let info = PyDict::new(py);
        info.set_item("version", env!("CARGO_PKG_VERSION"))?;
        info.set_item("profile", if cfg!(debug_assertions) { "debug" } else { "release" })?;
        info.set_item("target", format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS))?;
        info.set_item("pointer_width", usize::BITS)?;
        Ok(info)
    }
}
