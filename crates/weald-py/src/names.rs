//! The Python names of the engine's values. Enums of the engine may grow; new values have no name until it is added
//! here.

use pyo3::PyResult;
use weald::{Additive, Criterion, Domain, Features, LinearLoss, Link, Outputs, Term};

use crate::config::one_of;

const UNNAMED: &str = "without a name";

/// The names of criteria.
pub(crate) const CRITERIA: [(&str, Criterion); 5] = [
    ("gini", Criterion::Gini),
    ("entropy", Criterion::Entropy),
    ("squared_error", Criterion::Variance),
    ("poisson", Criterion::Poisson),
    ("absolute_error", Criterion::AbsoluteError),
];

/// The names of the losses of linear models.
pub(crate) const LINEAR_LOSSES: [(&str, LinearLoss); 2] =
    [("squared_hinge", LinearLoss::SquaredHinge), ("log_loss", LinearLoss::LogLoss)];

/// Returns the way to prepare X for linear models that has this name.
pub(crate) fn features(name: &str) -> PyResult<Features> {
    one_of("features", name, Features::ALL.map(|features| (features.name(), features)))
}

fn name_in<T: PartialEq>(names: &[(&'static str, T)], value: T) -> &'static str {
    names.iter().find(|(_, known)| *known == value).map_or(UNNAMED, |(name, _)| name)
}

/// Returns the name of a criterion as models report it. With projected outputs, it is that of the variance.
pub(crate) fn name_of(criterion: Criterion) -> &'static str {
    name_in(&CRITERIA, criterion)
}

/// The names of the domains of losses.
pub(crate) const DOMAINS: [(Domain, &str); 5] = [
    (Domain::Numbers, "numbers"),
    (Domain::NotNegative, "not_negative"),
    (Domain::Positive, "positive"),
    (Domain::Signs, "signs"),
    (Domain::NumbersAndSigns, "numbers_and_signs"),
];

/// The names of the links of losses, after the function of the prediction that is the score. Scores of labels that only
/// rank them are no such function.
pub(crate) const LINKS_OF_LOSSES: [(Link, Option<&str>); 4] = [
    (Link::Identity, Some("identity")),
    (Link::Log, Some("log")),
    (Link::Logistic, Some("half_logit")),
    (Link::Margin, None),
];

/// Returns how the leaves of a model's trees are added to scores. It is the same for all trees; for a model without
/// trees, it is "leaf".
pub(crate) fn name_of_term(model: &Additive<'_>) -> &'static str {
    match model.terms().next() {
        None | Some(Term::Leaf) => "leaf",
        Some(Term::Column(_)) => "column",
        Some(Term::RankOne(_)) => "rank_one",
        Some(_) => UNNAMED,
    }
}

/// Returns the kind of y.
pub(crate) fn kind_of(outputs: &Outputs) -> &'static str {
    match outputs {
        Outputs::Real { .. } => "numbers",
        Outputs::Classes { .. } => "classes",
        Outputs::Labels { .. } => "labels",
        _ => UNNAMED,
    }
}

/// Returns the number of classes of each output: 1 for numerical outputs, 2 for labels.
pub(crate) fn n_classes(outputs: &Outputs) -> Vec<i64> {
    match outputs {
        Outputs::Real { n_outputs } => vec![1; *n_outputs],
        Outputs::Classes { n_classes } => n_classes.iter().map(|&k| i64::from(k)).collect(),
        Outputs::Labels { n_labels } => vec![2; *n_labels],
        other => vec![1; other.n_outputs()],
    }
}
