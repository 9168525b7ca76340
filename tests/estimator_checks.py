"""scikit-learn's checks of estimators, and for settings of an estimator those checks that could give another result."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
import tiers
from conftest import make
from sklearn.utils.estimator_checks import estimator_checks_generator

# Checks whose outcome depends on the computed model, and so on its parameters. All others concern validation,
# attributes and layouts of arrays, which are the same code for all settings of an estimator.
OF_VALUES = {
    "check_class_weight_classifiers",
    "check_classifiers_classes",
    "check_classifiers_one_label",
    "check_classifiers_one_label_sample_weights",
    "check_classifiers_train",
    "check_decision_proba_consistency",
    "check_dict_unchanged",
    "check_dont_overwrite_parameters",
    "check_estimators_dtypes",
    "check_estimators_pickle",
    "check_fit2d_1feature",
    "check_fit2d_1sample",
    "check_fit_idempotent",
    "check_fit_score_takes_y",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_regressors_int",
    "check_regressors_train",
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
}


def with_estimator_checks(
    defaults: Iterable[Any],
    variations: Iterable[Any] = (),
    expected_failures: Callable[[Any], dict[str, str]] = lambda _: {},
) -> Any:
    """Parametrize a test over `estimator` and `check`: all checks for `defaults`, and some for `variations`.

    Where several classes have the same variation, checks take them in turn: all pairs of class and check, class and
    variation, variation and check occur.
    """

    def checks(estimators: Iterable[Any], only: set[str] | None) -> Iterable[Any]:
        for estimator in estimators:
            failures = expected_failures(estimator)
            for case in estimator_checks_generator(estimator, expected_failed_checks=failures, mark="xfail"):
                _, check = case.values if hasattr(case, "values") else case
                if only is None or (check.func.__name__ in only and not check.keywords):
                    yield case

    cases = [*paired(checks(defaults, None)), *paired(checks(variations, OF_VALUES))]
    return pytest.mark.parametrize(("estimator", "check"), cases, ids=name_of)


def paired(checks: Iterable[Any]) -> list[Any]:
    cases = list(checks)
    rows = [parts(*(case.values if hasattr(case, "values") else case)) for case in cases]
    return [cases[position] for position in tiers.paired(rows)]


def parts(estimator: Any, check: Any) -> tuple[str, str, str]:
    """The name of the class, how its parameters differ from those of `make`, and the name of the check."""
    cls = type(estimator).__name__
    usual = make(cls).get_params(deep=False)
    differ = {name: value for name, value in estimator.get_params(deep=False).items() if str(value) != str(usual[name])}
    # A forest in an estimator has the task of the estimator.
    return cls, str(differ).replace("Classifier", "").replace("Regressor", ""), name_of(check)


# The texts of estimators, which are kept so that no other has the id of one of them.
TEXTS: dict[int, tuple[Any, str]] = {}


def name_of(value: Any) -> str:
    """An id that is the same in every run: the estimator as text, or the name of the check with its options."""
    if hasattr(value, "get_params"):
        # An estimator has some fifty checks, and its text takes a millisecond.
        if id(value) not in TEXTS:
            TEXTS[id(value)] = value, "".join(str(value).split())
        return TEXTS[id(value)][1]
    options = ",".join(f"{name}={option}" for name, option in value.keywords.items())
    return value.func.__name__ + (f"({options})" if options else "")
