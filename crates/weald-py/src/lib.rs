//! The binding, which converts between Python's objects and the engine's and does nothing else.
//!
//! | file | what it contains |
//! |------|---------------|
//! | `enter` | the only place that releases the GIL; Ctrl-C, progress, panics |
//! | `error` | the engine's error kinds as Python exceptions |
//! | `input` | numpy arrays and scipy matrices as the engine's views, without copies where possible |
//! | `output` | the engine's arrays as numpy arrays, without copies |
//! | `config` | parameters from dictionaries |
//! | `label_files` | text formats of label data |
//! | `loss` | losses that are computed in Python |
//! | `names` | the Python names of the engine's values |
//! | `projection` | output projections: families, matrices, and draws from a family |
//! | `samples` | folds, digests and stored training samples |
//! | `ranking` | the best labels and the ranks of true labels, by scores that are given |
//! | `models` | fits, and frozen classes around the engine's models |
//! | `shap` | Shapley values of models that are sums of trees |
//! | `memory` | the estimate of the memory of a fit |
//! | `model_file` | reading and writing files with a model and the data of its estimator |
//!
//! In a call, inputs become views, `enter` runs the engine on them, and the result becomes numpy arrays or a frozen
//! class.

mod array;
mod config;
mod elementary;
mod enter;
mod error;
mod export;
mod input;
mod label_files;
mod loss;
mod memory;
mod model_file;
mod models;
mod names;
mod output;
mod plan;
mod projection;
mod ranking;
mod samples;
mod shap;

/// The engine of weald. It is private: names may change in any version.
#[pyo3::pymodule(gil_used = false)]
mod _weald {
    use pyo3::prelude::*;
    use pyo3::types::PyDict;

    #[pymodule_export]
    use crate::elementary::{exp, label_probabilities, log, log1p};
    #[pymodule_export]
    use crate::export::{to_c, to_json};
    #[pymodule_export]
    use crate::label_files::{read_mulan, read_svmlight, read_xmc, write_xmc};
    #[pymodule_export]
    use crate::loss::{loss_cells, losses};
    #[pymodule_export]
    use crate::memory::{
        memory_of_boosting, memory_of_centroids, memory_of_compression, memory_of_forest, memory_of_label_tree,
        memory_of_linear,
    };
    #[pymodule_export]
    use crate::model_file::{inspect_model, load_model, read_model, save_model, write_file, write_model};
    #[pymodule_export]
    use crate::models::boost::{
        PyBoosted, PyStaged, exact_sums, fit_boosting, fit_boosting_with, mean_loss, refit_leaves, weights_by_row,
    };
    #[pymodule_export]
    use crate::models::centroid::{PyCentroidForest, PyCentroidTree, fit_centroid_forest};
    #[pymodule_export]
    use crate::models::compress::{PyCompressed, PyCompressionPath, compress_forest, cross_validate_compression};
    #[pymodule_export]
    use crate::models::forest::{PyForest, fit_forest, fit_tree};
    #[pymodule_export]
    use crate::models::label_tree::{PyLabelTree, fit_label_tree};
    #[pymodule_export]
    use crate::models::linear::{PyLinear, fit_linear, fold_models_of_linear};
    #[pymodule_export]
    #[pymodule_export]
    use crate::models::one_sample::PyOneSample;
    #[pymodule_export]
    use crate::models::part::fit_boosting_part;
    #[pymodule_export]
    use crate::models::search::{search_stages, search_stages_with};
    #[pymodule_export]
    use crate::models::tree::PyTree;
    #[pymodule_export]
    use crate::plan::{counts_of_plan, plan_of_boosting};
    #[pymodule_export]
    use crate::projection::{count_projections, draw_projection, py_johnson_lindenstrauss_dim};
    #[pymodule_export]
    use crate::ranking::{coverage, label_precision, rank_rows};
    #[pymodule_export]
    use crate::samples::{
        folds_of_samples, hashes_of_samples, held_out_samples, label_folds, py_data_digest, stored_draws,
        stored_quantiles, stored_weights,
    };
    #[pymodule_export]
    use crate::shap::{shap_base_values, shap_interaction_values, shap_values, shap_values_sparse};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("LARGEST_LOG", weald::binding::LARGEST_LOG)?;
        module.add("BENT", weald::binding::BENT)?;
        module.add("LEAST_PROBABILITY", weald::export::Added::LEAST_PROBABILITY)?;
        module.add("MOST_COPIED", weald::binding::MOST_COPIED)?;
        module.add("FEW_OUTPUTS", weald::binding::FEW_OUTPUTS)?;
        module.add("ZEROS_TO_ONE", weald::binding::ZEROS_TO_ONE)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }

    /// Returns information about this build for bug reports.
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
