"""Each estimator has one model and one array of predictions, for all numbers of threads and all layouts of X."""

from __future__ import annotations

import warnings
from pathlib import Path

import children
import numpy as np
import pytest
from conftest import ALL, BOOSTING, CENTROIDS, COMPRESSED, LABEL_TREES, LINEAR, class_of, make, make_data, model_bytes
from scipy import sparse
from weald.projection import Projected

LAYOUTS = {"C": np.ascontiguousarray, "F": np.asfortranarray, "CSR": sparse.csr_array, "CSC": sparse.csc_array}
THREADS = [1, 2, 3, 8]
BOOSTING_PARAMS = [
    {"output_strategy": "projected"},
    {"output_strategy": Projected(relabel_leaves=False)},
    {"output_strategy": "joint", "subsample": 0.7},
    {"output_strategy": "single_target", "max_features": 3},
    {"output_strategy": "joint", "leaf_estimation": "line_search"},
    {"output_strategy": Projected(relabel_leaves=False), "leaf_estimation": "line_search"},
]
COMPRESSED_PARAMS = [{"cv": 2}, {"induced": True, "l1_norm": None, "max_steps": 50}]
CENTROID_PARAMS = [{}, {"bootstrap": True}, {"output_projection": "gaussian", "n_projections": 2}]
BY_TREE = [
    {"output_strategy": "joint", "max_features": 3},
]
TABLE = [
    *((name, {}) for name in ALL),
    *((name, {"output_projection": "gaussian", "n_projections": 2}) for name in ALL),
    *(
        (name, {"max_bins": bins})
        for name in ALL
        if name.startswith(("DecisionTree", "RandomForest"))
        for bins in (5, 255)
    ),
    *((name, {"max_bins": None, **params}) for name in BOOSTING for params in BOOSTING_PARAMS),
    *((name, {"max_bins": bins, **params}) for name in BOOSTING for params in BY_TREE for bins in (None, 4, 255)),
    *((name, params) for name in COMPRESSED for params in COMPRESSED_PARAMS),
    *((name, params) for name in CENTROIDS for params in CENTROID_PARAMS),
    *(
        (name, {"features": features})
        for name in LINEAR
        for features in ("given", "normalized", "tfidf", "standardized")
    ),
    *((name, {"max_leaf_labels": labels, "max_children": 2}) for name in LABEL_TREES for labels in (1, 2, 400)),
]


@pytest.mark.parametrize(("name", "params"), TABLE)
def test_one_hash_for_all_threads_and_layouts(name, params):
    X, y = make_data(name, n=150, outputs="labels" if name.endswith("Classifier") else "several")
    X = X.astype(np.float32)
    takes_threads = "n_jobs" in class_of(name)._get_param_names()
    hashes = {}
    for layout, convert in LAYOUTS.items():
        Z = convert(X)
        for n_threads in THREADS if takes_threads else [1]:
            model = make(name, **params, **({"n_jobs": n_threads} if takes_threads else {}))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # with five trees, some samples have no out-of-bag score
                model.fit(Z, y)
            parts = [
                model_bytes(model),
                model.predict(Z),
                model.predict_proba(Z) if name in LINEAR + LABEL_TREES else model.apply(Z),
            ]
            parts += [model.feature_importances_] if name not in CENTROIDS + LINEAR + LABEL_TREES else []
            parts += [model.predict_proba(Z)] if name.endswith("Classifier") else []
            parts += list(model.staged_predict(Z)) if name in BOOSTING else []
            hashes[layout, n_threads] = children.digest(*parts)
    assert len(set(hashes.values())) == 1, hashes
    assert len(hashes) == len(LAYOUTS) * (len(THREADS) if takes_threads else 1)


PAGE = Path(__file__).parents[1] / "docs" / "determinism.md"


@pytest.mark.parametrize("name", [*ALL, *BOOSTING, *LINEAR, *LABEL_TREES, *COMPRESSED])
def test_what_depends_on_the_order_of_samples_is_an_exception_on_the_page(name):
    X, y = make_data(name, n=120)
    X, order = X + np.linspace(0, 0.01, X.size).reshape(X.shape), np.random.default_rng(0).permutation(120)
    # No random draws that depend on the order.
    free = {"l1_norm": None, "max_steps": 40} if name in COMPRESSED else {}
    fits = [make(name, **free).fit(X[rows], y[rows]) for rows in (slice(None), order)]
    one, other = (getattr(fitted, "decision_function", fitted.predict)(X) for fitted in fits)
    if np.array_equal(one, other):
        return
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
    exceptions = PAGE.read_text().split("**the order of the samples**")[1].split("\n*")[0]
    kind = name.removesuffix("Classifier").removesuffix("Regressor")
    assert f"`{kind}*`" in exceptions
