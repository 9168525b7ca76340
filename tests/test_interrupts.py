"""Ctrl-C stops the engine within half a second, whatever it is doing, and leaves the estimator as it was before."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import contextmanager

import children
import numpy as np
import pytest
import weald
from conftest import model_bytes

pytestmark = pytest.mark.alone

SETUP = """
from sklearn.frozen import FrozenEstimator
import numpy as np, weald
from scipy import sparse
rng = np.random.default_rng(0)


def data(n, p, d=None):
    return rng.random((n, p), dtype=np.float32), rng.random(n if d is None else (n, d))


def fit(model, n, p, d=None):
    X, y = data(n, p, d)
    return model, lambda: model.fit(X, y)
"""

TREES = """
def fit_labels():
    X = rng.random((3_000, 50), dtype=np.float32)
    Y = sparse.csr_array(rng.random((3_000, 500)) < 0.01)
    model = weald.ExtraTreesClassifier(n_estimators=100_000, n_jobs=2)
    return model, lambda: model.fit(X, Y)


def fit_centroids():
    X = sparse.csr_array(rng.random((20_000, 300)) < 0.05, dtype=np.float32)
    Y = sparse.csr_array(rng.random((20_000, 500)) < 0.01)
    model = weald.CentroidForestClassifier(100_000, n_jobs=2)
    return model, lambda: model.fit(X, Y)


def fit_linear():
    X = sparse.csr_array(rng.random((20_000, 300)) < 0.05, dtype=np.float32)
    Y = sparse.csr_array(rng.random((20_000, 2_000)) < 0.01)
    model = weald.LinearClassifier(1e4, tol=1e-6, max_iter=10_000, n_jobs=2)
    return model, lambda: model.fit(X, Y)


def fit_label_tree():
    X = sparse.csr_array(rng.random((20_000, 300)) < 0.05, dtype=np.float32)
    Y = sparse.csr_array(rng.random((20_000, 2_000)) < 0.01)
    model = weald.LinearClassifier(1e4, strategy="tree", tol=1e-6, max_iter=10_000, n_jobs=2)
    return model, lambda: model.fit(X, Y)


def fit_oob():
    # Growth is short against the predictions of samples out of the bag.
    model = weald.RandomForestRegressor(500, max_depth=10, max_features=1, oob_score=True, max_samples=20, n_jobs=2)
    return fit(model, 120_000, 2, 40)


def fit_draws_of_centroids():
    model = weald.CentroidForestRegressor(9, bootstrap=True, max_samples=2**32 - 1)
    return fit(model, 40, 3, 4)


def draw():
    model = weald.projection.GaussianProjection()
    return model, lambda: model.draw(20_000, 20_000)


def project():
    n, d, entries = 20_000, 50_000, 500
    indices = np.arange(0, d, d // entries) + rng.integers(0, d // entries, (n, entries))
    ones = np.ones(n * entries, dtype=np.int8)
    y = sparse.csr_array((ones, indices.ravel().astype(np.int32), np.arange(n + 1) * entries), shape=(n, d))
    X = rng.random((n, 1), dtype=np.float32)
    model = weald.DecisionTreeClassifier(output_projection="rademacher", n_projections=2_000)
    return model, lambda: model.fit(X, y)


cases = {
    "tree": lambda: fit(weald.DecisionTreeRegressor(), 200_000, 300),
    "tree on threads": lambda: fit(weald.DecisionTreeRegressor(n_jobs=2), 200_000, 300),
    "pruned tree": lambda: fit(weald.DecisionTreeRegressor(ccp_alpha=1e-9), 200_000, 100),
    "forest": lambda: fit(weald.RandomForestRegressor(100_000, n_jobs=2), 5_000, 50),
    "extra-trees": lambda: fit(weald.ExtraTreesRegressor(100_000, n_jobs=2, max_leaf_nodes=500), 5_000, 50, 10),
    "labels": fit_labels,
    "centroids": fit_centroids,
    "linear": fit_linear,
    "label tree": fit_label_tree,
    "out of bag": fit_oob,
    # Nearly all of the time goes into draws.
    "draws of forests": lambda: fit(weald.RandomForestRegressor(9, max_samples=2**32 - 1), 40, 3),
    "draws of centroid forests": fit_draws_of_centroids,
    "draw": draw,
    "principal directions": lambda: fit(weald.DecisionTreeRegressor(output_projection="pca"), 4_000, 1, 2_000),
    "project": project,
}
"""

BOOSTING = """
def boosting(n=20_000, d=20, **params):
    return fit(weald.GradientBoostingRegressor(n_estimators=100_000, **params), n, 50, d)


def weak():
    from sklearn.linear_model import Ridge
    return boosting(estimator=Ridge(), output_strategy=weald.projection.Projected(relabel_leaves=False))


def labels():
    X = rng.random((5_000, 50), dtype=np.float32)
    Y = rng.random((5_000, 50)) < 0.1
    model = weald.GradientBoostingClassifier(n_estimators=100_000, n_jobs=2)
    return model, lambda: model.fit(X, Y)


def classes():
    X, y = data(300_000, 50)
    model = weald.GradientBoostingClassifier(n_estimators=100_000, n_jobs=2)
    return model, lambda: model.fit(X, y < 0.5)


cases = {
    "one score": lambda: fit(weald.GradientBoostingRegressor(n_estimators=100_000, n_jobs=2), 300_000, 50),
    "classes": classes,
    "projected": lambda: boosting(output_strategy="projected", n_jobs=2),
    "low rank": lambda: boosting(output_strategy=weald.projection.Projected(relabel_leaves=False), n_jobs=2),
    "joint": lambda: boosting(output_strategy="joint", n_jobs=2),
    "single_target": lambda: boosting(output_strategy="single_target", n_jobs=2),
    "absolute error": lambda: boosting(loss="absolute_error", n_jobs=2),
    "labels": labels,
    "weak": weak,
}
"""

COMPRESSION = """
X, y = rng.random((4_000, 10), dtype=np.float32), rng.normal(size=4_000)
forest = weald.ExtraTreesRegressor(200, random_state=0).fit(X, y)


def compress(**params):
    model = weald.CompressedForestRegressor(FrozenEstimator(forest), l1_norm=None, step_size=1e-4, **params)
    return model, lambda: model.fit(X, y)


def induce():
    model = weald.InducedForestRegressor(FrozenEstimator(forest), n_nodes=None)
    return model, lambda: model.fit(X, y)


def outputs():
    Y = rng.normal(size=(2_000, 100))
    many = weald.ExtraTreesRegressor(200, random_state=0).fit(X[:2_000], Y)
    model = weald.CompressedForestRegressor(FrozenEstimator(many), l1_norm=None, step_size=1e-4)
    return model, lambda: model.fit(X[:2_000], Y)


def folds():
    model = weald.CompressedForestRegressor(weald.ExtraTreesRegressor(50), step_size=1e-4, n_jobs=2)
    return model, lambda: model.fit(X, y)


def grown():
    model = weald.CompressedForestRegressor(weald.ExtraTreesRegressor(100_000))
    return model, lambda: model.fit(X, y)


def at():
    # The path ends after a step or two; between them penalties are searched for.
    X = rng.random((100_000, 10), dtype=np.float32)
    y = rng.random((100_000, 3)) + X[:, :3] > 1.0
    forest = weald.ExtraTreesClassifier(50, max_depth=5, n_jobs=2).fit(X, y)
    params = {"solver": "lasso", "l1_norm": None, "max_test_nodes": 2}
    model = weald.CompressedForestClassifier(FrozenEstimator(forest), loss="log_loss", **params).fit(X, y)
    norm = model.path_["l1_norm"][-2:].mean()
    return model, lambda: model.at(norm)


cases = {
    "path": compress,
    "at": at,
    "outputs": outputs,
    "folds": folds,
    "lasso": lambda: compress(solver="lasso"),
    "grow": lambda: induce(),
    "the forest": grown,
}
"""

SLOW = """
def softmax():
    X = rng.random((10_000, 20), dtype=np.float32)
    y = (rng.integers(0, 100, 10_000) // 2 + (X[:, 0] * 50).astype(int)) % 100
    model = weald.GradientBoostingClassifier(n_estimators=100_000)
    return model, lambda: model.fit(X, y)


def entropy(labels):
    n = 20_000
    X, classes = rng.random((n, 3), dtype=np.float32), rng.permutation(n)
    y = sparse.csr_array((np.ones(n), (np.arange(n), classes)), shape=(n, n)) if labels else classes
    model = weald.DecisionTreeClassifier(criterion="entropy")
    return model, lambda: model.fit(X, y)


def transpose():
    n, d, entries = 1_000_000, 100_000, 40
    indices = np.arange(0, d, d // entries) + rng.integers(0, d // entries, (n, entries))
    ones = np.ones(n * entries, dtype=np.float32)
    X = sparse.csr_array((ones, indices.ravel().astype(np.int32), np.arange(n + 1) * entries), shape=(n, d))
    y = rng.normal(size=n)
    model = weald.DecisionTreeRegressor(max_features=10)
    return model, lambda: model.fit(X, y)


def searched():
    X = rng.random((3_000_000, 2), dtype=np.float32)
    y = rng.random(3_000_000) < 0.3 + 0.4 * X[:, 0]
    model = weald.GradientBoostingClassifier(leaf_estimation="line_search", n_estimators=1_000, max_depth=2)
    return model, lambda: model.fit(X, y)


def median():
    # X is constant: nearly all time goes into the order of samples, by y, and the start, which sorts all rows.
    X = np.zeros((6_000_000, 1), dtype=np.float32)
    y = rng.random(len(X))
    model = weald.GradientBoostingRegressor(loss="absolute_error", n_estimators=1, max_depth=1)
    return model, lambda: model.fit(X, y)


def csc():
    n, p, entries = 1_000_000, 50_000, 1_250
    indices = np.arange(0, n, n // entries) + rng.integers(0, n // entries, (p, entries))
    values = rng.random(p * entries, dtype=np.float32)
    return sparse.csc_array((values, indices.ravel().astype(np.int32), np.arange(p + 1) * entries), shape=(n, p))


def bins_of_csc():
    X = csc()
    y = rng.random(X.shape[0])
    model = weald.GradientBoostingRegressor(n_estimators=1, n_jobs=2)
    return model, lambda: model.fit(X, y)


def rows_of_csc():
    X = csc()
    few = sparse.csc_array(X.tocsr()[:100])
    model = weald.DecisionTreeRegressor(max_depth=2).fit(few, rng.normal(size=100))
    return model, lambda: model.predict(X)


cases = {
    "median": median,
    "bins of CSC": bins_of_csc,
    "rows of CSC": rows_of_csc,
    "softmax": softmax,
    "labels": lambda: entropy(True),
    "classes": lambda: entropy(False),
    "sort": lambda: fit(weald.DecisionTreeRegressor(), 8_000_000, 1),
    "transpose": transpose,
    "searched": searched,
}
"""

MODELS = """
X, Y = data(2_000, 10, 20)
forest = weald.ExtraTreesRegressor(300, n_jobs=2, max_features=1, max_depth=12, random_state=0).fit(X, Y)
rows = np.tile(X, (300, 1))
truth = np.tile(Y, (300, 1))
labels = sparse.csr_array(Y > 0.8)


def on(name, *args):
    return lambda: (forest, lambda: getattr(forest, name)(*args))


def topk():
    model = weald.ExtraTreesClassifier(300, n_jobs=2, max_features=1, random_state=0).fit(X, labels)
    return model, lambda: model.predict_topk(rows, 5)


def sparse_probabilities():
    model = weald.ExtraTreesClassifier(300, n_jobs=2, max_features=1, random_state=0).fit(X, labels)
    return model, lambda: model.predict_sparse(rows)


def sparse_labels():
    model = weald.ExtraTreesClassifier(300, n_jobs=2, max_features=1, random_state=0).fit(X, labels)
    return model, lambda: model.predict(rows)


def boosting(method):
    model = weald.GradientBoostingRegressor(n_estimators=300, n_jobs=2).fit(X[:500], Y[:500])
    return model, lambda: list(getattr(model, method)(rows[:50_000] if method == "staged_predict" else rows))


def compressed():
    model = weald.CompressedForestRegressor(FrozenEstimator(forest), l1_norm=None, max_steps=300).fit(X, Y)
    many = np.tile(rows, (3, 1))
    return model, lambda: model.predict(many)


def compact(**params):
    X, Y = data(60_000, 2, 3)
    model = weald.ExtraTreesRegressor(250, n_jobs=2, max_features=1, max_depth=11, random_state=0).fit(X, Y)
    if params.get("training_data"):
        params["training_data"] = (X, Y)
    return model, lambda: weald.compression.compact_leaves(model, **params)


def wide(method):
    # Results of more than a gigabyte: most of the time goes into writing them for the first time.
    X, Y = data(400, 3, 1_000)
    model = weald.GradientBoostingClassifier(n_estimators=1, n_jobs=2).fit(X, Y < 0.1)
    many = np.tile(X, (400, 1))
    return model, lambda: list(getattr(model, method)(many))


cases = {
    "wide": lambda: wide("predict_proba"),
    "wide, staged": lambda: wide("staged_predict_proba"),
    "predict": on("predict", rows),
    "csr": on("predict", sparse.csr_array(rows)),
    "apply": on("apply", rows),
    "decision_path": on("decision_path", rows),
    "topk": topk,
    "sparse labels": sparse_labels,
    "sparse probabilities": sparse_probabilities,
    "boosting": lambda: boosting("predict"),
    "staged": lambda: boosting("staged_predict"),
    "compressed": compressed,
    "prune": on("prune_reduced_error", rows, truth),
    "compact by rows": lambda: compact(training_data=True),
    "compact on X": lambda: (forest, lambda: weald.compression.compact_leaves(forest, dtype="float16", X=rows)),
}
"""


@pytest.mark.parametrize(
    ("code", "kinds", "wait"),
    [
        pytest.param(
            TREES,
            ["tree", "tree on threads", "forest", "labels", "extra-trees", "centroids", "linear"],
            0.4,
            id="trees",
        ),
        pytest.param(TREES, ["draw", "principal directions"], 0.4, id="projections"),
        pytest.param(TREES, ["project"], 3.0, id="project"),
        pytest.param(TREES, ["draws of forests", "draws of centroid forests"], 0.4, id="draws of samples"),
        pytest.param(TREES, ["out of bag", "pruned tree"], 0.4, id="after growth"),
        pytest.param(
            BOOSTING,
            ["projected", "low rank", "joint", "single_target", "absolute error", "labels", "weak"],
            0.4,
            id="boosting",
        ),
        # Bins are made in the first seconds.
        pytest.param(BOOSTING, ["one score", "classes"], 4.0, id="one score"),
        pytest.param(BOOSTING, ["one score", "classes"], 0.4, id="bins of one score"),
        pytest.param(SLOW, ["softmax", "labels", "classes"], 0.5, id="many classes"),
        pytest.param(
            SLOW, ["sort", "transpose", "searched", "median", "bins of CSC", "rows of CSC"], 1.0, id="many samples"
        ),
        pytest.param(
            COMPRESSION, ["path", "at", "outputs", "folds", "lasso", "grow", "the forest"], 0.4, id="compression"
        ),
        pytest.param(
            MODELS,
            ["predict", "csr", "apply", "decision_path", "topk", "sparse labels", "sparse probabilities"],
            0.3,
            id="predict",
        ),
        pytest.param(MODELS, ["boosting", "staged", "compressed"], 0.3, id="predict of ensembles"),
        pytest.param(MODELS, ["wide", "wide, staged"], 0.3, id="wide results"),
        pytest.param(MODELS, ["prune", "compact by rows", "compact on X"], 0.3, id="smaller models"),
    ],
)
def test_ctrl_c_is_answered_within_half_a_second(code, kinds, wait):
    found = children.interrupted(SETUP + code, kinds, wait)
    assert all(seconds < 0.5 and state == "unchanged" for seconds, state in found.values()), found
    assert list(found) == kinds


# Where Ctrl-C is ignored


@contextmanager
def ignored():
    """What `nohup`, the background of a script and some runners do to their children."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def blocked():
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@pytest.mark.skipif(os.name != "posix", reason="needs the signals of POSIX")
@pytest.mark.parametrize("how", [ignored, blocked])
def test_children_answer_even_if_their_parent_ignores_ctrl_c(how):
    with how():
        found = children.interrupted(SETUP + TREES, ["tree"], 0.4)
    assert found["tree"][1] == "unchanged"


@pytest.mark.parametrize("name", ["RandomForestRegressor", "GradientBoostingRegressor"])
def test_a_fit_goes_on_where_ctrl_c_is_ignored(name):
    rng = np.random.default_rng(0)
    X, y = rng.random((4_000, 20)), rng.random(4_000)
    # Long enough for a fit that looks for signals.
    model = getattr(weald, name)(n_estimators=50, random_state=0, n_jobs=2)
    expected = model_bytes(model.fit(X, y))
    over = threading.Event()

    def press():
        while not over.wait(0.01):
            signal.raise_signal(signal.SIGINT)

    with ignored():
        pressing = threading.Thread(target=press)
        pressing.start()
        try:
            found = model_bytes(model.fit(X, y))
        finally:
            over.set()
            pressing.join()
    assert found == expected
