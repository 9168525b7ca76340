//! The plan of a fit of boosting.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use weald::plan::{Asked, Counts, Kind, MOST_COUNTED, Plan, Sharing, Stop};

use crate::config::unknown;
use crate::enter::Entry;
use crate::input::PyData;

/// What a caller gives, by the keys of a dictionary. `None` is "auto".
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct PyAsked {
    kind: String,
    n_outputs: usize,
    n_columns: usize,
    n_features: usize,
    output_strategy: Option<String>,
    /// The strategy of the model that the fit goes on with.
    kept: Option<String>,
    has_directions: bool,
    has_weak_models: bool,
    has_init: bool,
    is_linear_init: bool,
    learning_rate: Option<f64>,
    n_estimators: Option<usize>,
    /// 0: no limit.
    max_leaf_nodes: Option<usize>,
    /// Whether nothing else says when the fit ends.
    is_free: bool,
    patience: Option<usize>,
}

/// The numbers of samples, of rows that are dealt and of different ones, whether each output is known outside each fold, and
/// whether few cells are known.
type PyCounts = (usize, usize, usize, bool, bool);

fn sharing(name: &str) -> PyResult<Sharing> {
    match name {
        "projected" => Ok(Sharing::Projected),
        "joint" => Ok(Sharing::Joint),
        "single_target" => Ok(Sharing::SingleTarget),
        other => Err(unknown("output_strategy", other)),
    }
}

impl PyAsked {
    fn into_asked(self) -> PyResult<Asked> {
        let kind = match self.kind.as_str() {
            "numbers" => Kind::Numbers,
            "classes" => Kind::Classes,
            "labels" => Kind::Labels,
            other => return Err(unknown("kind", other)),
        };
        let mut asked = Asked::nothing(kind, self.n_outputs, self.n_columns);
        asked.n_features = self.n_features;
        asked.sharing = self.output_strategy.as_deref().map(sharing).transpose()?;
        asked.kept = self.kept.as_deref().map(sharing).transpose()?;
        (asked.has_directions, asked.has_weak_models) = (self.has_directions, self.has_weak_models);
        (asked.has_init, asked.is_linear_init) = (self.has_init, self.is_linear_init);
        (asked.learning_rate, asked.n_stages) = (self.learning_rate, self.n_estimators);
        asked.max_leaf_nodes = self.max_leaf_nodes;
        asked.stop = match (self.is_free, self.patience) {
            (_, Some(rounds)) => Stop::After(rounds),
            (true, None) => Stop::Free,
            (false, None) => Stop::Never,
        };
        Ok(asked)
    }
}

/// Counts what a plan has to know of the samples.
#[pyfunction]
pub(crate) fn counts_of_plan<'py>(py: Python<'py>, asked: PyAsked, data: PyData<'py>, seed: u64) -> PyResult<PyCounts> {
    let ((data, weights), asked) = (data.views()?, asked.into_asked()?);
    let data = weights.of(&data)?;
    let entry = Entry { n_threads: 1, cost: data.x().n_stored(), progress: None };
    let found = entry.run(py, |control| Counts::counted(data.view(), &asked, seed, control))?;
    Ok((found.n_samples, found.n_rows, found.n_different, found.knows_all, found.has_few_cells))
}

/// Decides what is not given. Without counts, samples are only known by their number.
#[pyfunction]
pub(crate) fn plan_of_boosting(py: Python<'_>, asked: PyAsked, counts: PyCounts) -> PyResult<Bound<'_, PyDict>> {
    let mut known = Counts::of(counts.0);
    (_, known.n_rows, known.n_different, known.knows_all, known.has_few_cells) = counts;
    let asked = asked.into_asked()?;
    let plan = Plan::new(&asked, &known);
    let found = PyDict::new(py);
    found.set_item(
        "output_strategy",
        match plan.sharing {
            Sharing::Joint => "joint",
            Sharing::SingleTarget => "single_target",
            _ => "projected",
        },
    )?;
    found.set_item("learning_rate", plan.learning_rate)?;
    found.set_item("max_leaf_nodes", (plan.max_leaf_nodes > 0).then_some(plan.max_leaf_nodes))?;
    found.set_item("max_features", plan.draws_half.then_some("half"))?;
    found.set_item("features_of_tree", plan.features_of_tree)?;
    found.set_item("subsample", plan.subsample)?;
    found.set_item("l2_regularization", plan.l2_regularization)?;
    found.set_item("n_estimators", plan.n_stages)?;
    found.set_item("n_iter_no_change", plan.patience)?;
    found.set_item("cv", plan.search.map(|search| search.n_folds))?;
    found.set_item("n_grown", plan.search.map(|search| search.n_grown))?;
    found.set_item("all_gain", plan.search.and_then(|search| search.all_gain))?;
    found.set_item("has_few_cells", plan.has_few_cells)?;
    found.set_item("counts_different", asked.counts_different())?;
    found.set_item("most_counted", MOST_COUNTED)?;
    Ok(found)
}
