"""A fit replaces a model at once: concurrent predictions use either the old model or the new one, never a mixture."""

from __future__ import annotations

import copy
import threading

import numpy as np
import pytest
import weald
from conftest import ALL, BOOSTING, COMPRESSED, make
from weald.projection import Projected

EVERY = ALL + BOOSTING + COMPRESSED
METHODS = (
    "predict",
    "predict_proba",
    "predict_log_proba",
    "decision_function",
    "apply",
    "decision_path",
    "staged_predict",
    "staged_decision_function",
)


def problem(name, refit):
    """X and y; those of a refit differ in values, classes, and numbers of samples and outputs."""
    rng = np.random.default_rng(refit)
    X = rng.random((50 + 10 * refit, 4))
    codes = (X[:, :2] > 0.5).astype(int) + (X[:, 2:] > 0.8)
    if name.endswith("Regressor"):
        return X, np.column_stack([codes, X[:, 3]])[:, : 2 + refit].astype(float)
    names = np.array([["x", "y", "z"], ["a", "b", "c"]])[int(refit)]
    return X, names[codes[:, [0, 1, 0][: 2 + refit]]]


def as_text(said):
    return repr(said if isinstance(said, np.ndarray | list | tuple) else list(said))


def answers(model, X):
    """The results of all methods, as text."""
    found = {}
    for method in METHODS:
        if not hasattr(model, method):
            continue
        said = getattr(model, method)(X)
        found[method] = as_text(said)
    return found


@pytest.mark.parametrize("name", EVERY)
def test_until_the_end_of_a_fit_the_old_model_answers(name):
    old, new = problem(name, False), problem(name, True)
    rng = np.random.default_rng(0)

    def phi(n_outputs, n_projections, random_state):
        if phi.looks:
            phi.seen.append((answers(model, old[0][:5]), dict(model.__dict__)))
        return rng.normal(size=(n_projections, n_outputs))

    phi.looks, phi.seen = False, []
    params = {"output_projection": phi, "n_projections": 2}
    if name in BOOSTING:
        params = {"output_strategy": Projected(phi, 2)}
    if name in COMPRESSED:
        params = {"estimator": make(name).estimator.set_params(**params), "l1_norm": None, "max_steps": 20}
    model = make(name, **params).fit(*old)
    before, expected = dict(model.__dict__), answers(model, old[0][:5])
    phi.looks = True
    model.fit(*new)
    phi.looks = False
    assert phi.seen
    for said, state in phi.seen:
        assert said == expected
        assert state == before
    assert answers(model, old[0][:5]) != expected
    assert model.n_outputs_ == 3


class Refits:
    """Samples whose conversion refits the model, after the method that received them has begun."""

    def __init__(self, X, refit):
        self.X, self.refit = X, refit
        self.shape = X.shape

    def __len__(self):
        return len(self.X)

    def __array__(self, dtype=None, copy=None):
        thread = threading.Thread(target=self.refit)
        thread.start()
        thread.join()
        return np.array(self.X, dtype=dtype)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", EVERY)
def test_a_method_that_has_begun_ends_with_the_model_it_began_with(name, method):
    old, new = problem(name, False), problem(name, True)
    params = {"l1_norm": None, "max_steps": 20} if name in COMPRESSED else {}
    model = make(name, **params).fit(*old)
    if not hasattr(model, method):
        return
    expected = answers(model, old[0][:5])[method]
    X = Refits(old[0][:5], lambda: model.fit(*new))
    found = getattr(model, method)(X)
    assert as_text(found) == expected
    assert model.n_outputs_ == 3
    assert answers(model, old[0][:5])[method] != expected


@pytest.mark.parametrize("name", ["RandomForestClassifier", "GradientBoostingRegressor", "CompressedForestClassifier"])
def test_members_are_those_of_the_model_that_was_asked(name):
    old, new = problem(name, False), problem(name, True)
    params = {"l1_norm": None, "max_steps": 20} if name in COMPRESSED else {}
    model = make(name, **params).fit(*old)
    members = model.estimators_
    expected = [member.predict(old[0]).tolist() for member in members]
    model.fit(*new)
    assert [member.predict(old[0]).tolist() for member in members] == expected


def test_other_threads_predict_with_the_old_forest_or_the_new():
    rng = np.random.default_rng(0)
    X = rng.random((2000, 8), dtype=np.float32)
    y = [names[(X[:, i] > 0.5).astype(int)] for i, names in enumerate(np.array([["a", "b"], ["x", "y"]]))]
    model = weald.RandomForestClassifier(20, random_state=0)
    right = [model.fit(X, part).predict(X[:50]).tolist() for part in y]
    fits = threading.Thread(target=lambda: [model.fit(X, y[i % 2]) for i in range(8)])
    fits.start()
    while fits.is_alive():
        assert model.predict(X[:50]).tolist() in right


def test_parameters_set_during_a_fit_stay_set():
    X, y = problem("RandomForestRegressor", False)
    model = make("RandomForestRegressor", output_projection=lambda d, q, seed: set_them() or np.ones((q, d)))

    def set_them():
        model.set_params(n_jobs=2, max_depth=1)

    model.fit(X, y)
    assert (model.n_jobs, model.max_depth) == (2, 1)
    assert max(tree.get_depth() for tree in model) > 1


@pytest.mark.parametrize("name", EVERY)
def test_of_two_fits_the_one_that_ends_last_is_whole(name):
    old, new = problem(name, False), problem(name, True)
    rng = np.random.default_rng(0)

    def phi(n_outputs, n_projections, random_state):
        if phi.fits:
            phi.fits = False
            model.fit(*new)
        return rng.normal(size=(n_projections, n_outputs))

    phi.fits = False
    params = {"output_projection": phi, "n_projections": 2}
    if name in BOOSTING:
        params = {"output_strategy": Projected(phi, 2)}
    if name in COMPRESSED:
        params = {"estimator": make(name).estimator.set_params(**params), "l1_norm": None, "max_steps": 20}
    model = make(name, **params).fit(*old)
    keys = model.__dict__.keys()
    phi.fits = True
    model.fit(*old)
    assert model.__dict__.keys() == keys
    assert model.n_outputs_ == 2
    assert len(model.predict(old[0])) == len(old[0])
    copy.copy(model)  # checks that all attributes fit together
