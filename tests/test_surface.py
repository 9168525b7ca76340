"""The names that scikit-learn's estimators have and weald's lack are those that docs/scikit-learn.md lists."""

from __future__ import annotations

import pytest
import real_data
import sklearn.ensemble
import sklearn.tree
import weald
from conftest import make_data

# Public names of scikit-learn that weald does not have, by kind of estimator; docs/scikit-learn.md gives the reasons.
ABSENT = {
    "tree": {"monotonic_cst"},
    "forest": {"monotonic_cst", "estimators_samples_", "estimator", "estimator_", "estimator_params"},
    "boosting": {
        "alpha",
        "ccp_alpha",
        "criterion",
        "init_",
        "n_trees_per_iteration_",
        # scikit-learn has these from its base class of ensembles.
        "estimator_",
        "estimator_params",
    },
}
KINDS = {
    "DecisionTree": "tree",
    "ExtraTree": "tree",
    "RandomForest": "forest",
    "ExtraTrees": "forest",
    "GradientBoosting": "boosting",
}


def public(estimator):
    return {name for name in dir(estimator) if not name.startswith("_") and hasattr(estimator, name)}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("task", ["Classifier", "Regressor"])
@pytest.mark.parametrize("stem", KINDS)
def test_what_is_absent_is_said(stem, task):
    name = stem + task
    kind = KINDS[stem]
    X, y = make_data(name)
    params = {} if kind == "tree" else {"n_estimators": 3}
    if kind == "boosting":
        params["subsample"] = 0.5
    elif kind == "forest":
        params |= {"bootstrap": True, "oob_score": True}
    theirs = getattr(sklearn.tree if kind == "tree" else sklearn.ensemble, name)(**params).fit(X, y)
    ours = getattr(weald, name)(**params).fit(X, y)
    absent = public(theirs) - public(ours)
    # scikit-learn's regressors have the attribute `class_weight`, which is None.
    assert absent - {"class_weight"} <= ABSENT[kind]
    text = (real_data.REPOSITORY / "docs" / "scikit-learn.md").read_text()
    assert all(f"`{name}`" in text for name in absent)
