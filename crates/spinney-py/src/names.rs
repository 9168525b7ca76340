//! What the Python package calls the engine's values. Enums of the engine may grow: what is new has no name until it gets one
//! here.

use spinney::{Additive, Criterion, Link, Outputs, StepDtype, Term};

const UNNAMED: &str = "without a name";

/// A criterion, as models tell it: that of projected outputs is the variance.
pub(crate) fn name_of(criterion: Criterion) -> &'static str {
    match criterion {
        Criterion::Gini => "gini",
        Criterion::Entropy => "entropy",
        Criterion::Variance => "squared_error",
        Criterion::Poisson => "poisson",
        Criterion::AbsoluteError => "absolute_error",
        _ => UNNAMED,
    }
}

/// The type of step sizes.
pub(crate) fn name_of_dtype(dtype: StepDtype) -> &'static str {
    match dtype {
        StepDtype::Float64 => "float64",
        StepDtype::Float8 => "float8",
        _ => UNNAMED,
    }
}

/// What scores mean.
pub(crate) fn name_of_link(link: Link) -> &'static str {
    match link {
        Link::Identity => "identity",
        Link::Log => "log",
        Link::Margin => "margin",
        Link::Share => "share",
        Link::Logistic => "logistic",
        Link::OneAgainstRest => "one_against_rest",
        Link::Softmax => "softmax",
        _ => UNNAMED,
    }
}

/// How the leaves of a model's trees are added to scores: all its trees alike. A model without trees adds leaves.
pub(crate) fn name_of_term(model: &Additive<'_>) -> &'static str {
    match model.terms().next() {
        None | Some(Term::Leaf) => "leaf",
        Some(Term::Column(_)) => "column",
        Some(Term::RankOne(_)) => "rank_one",
        Some(_) => UNNAMED,
    }
}

/// What y is.
pub(crate) fn kind_of(outputs: &Outputs) -> &'static str {
    match outputs {
        Outputs::Real { .. } => "numbers",
        Outputs::Classes { .. } => "classes",
        Outputs::Labels { .. } => "labels",
        _ => UNNAMED,
    }
}

/// Number of classes of each output: 1 for numbers, 2 for labels.
pub(crate) fn n_classes(outputs: &Outputs) -> Vec<i64> {
    match outputs {
        Outputs::Real { n_outputs } => vec![1; *n_outputs],
        Outputs::Classes { n_classes } => n_classes.iter().map(|&k| i64::from(k)).collect(),
        Outputs::Labels { n_labels } => vec![2; *n_labels],
        other => vec![1; other.n_outputs()],
    }
}
