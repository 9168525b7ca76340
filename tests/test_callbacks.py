"""Callbacks of scikit-learn, where its version has them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import weald
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

callback = pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks from 1.9 on")

RNG = np.random.default_rng(0)
X = RNG.integers(0, 9, (120, 4)).astype(np.float32)
Y = X @ RNG.normal(size=(4, 12))


class Record:
    """A callback that records its calls and the models' predictions; it can end the fit or raise an error."""

    def __init__(self, ends_at=None, raises_at=None):
        self.ends_at, self.raises_at = ends_at, raises_at
        self.told, self.predictions = [], []

    def setup(self, estimator, context):
        self.told.append(("setup", context.task_name))

    def teardown(self, estimator, context):
        self.told.append(("teardown", context.task_name))

    def on_fit_task_begin(self, estimator, context, *, X, y, metadata):
        self.told.append(("begin", context.task_name, context.task_id))

    def on_fit_task_end(self, estimator, context, *, X, fitted_estimator):
        self.told.append(("end", context.task_name, context.task_id))
        if context.task_name != "round" or fitted_estimator is None:
            return False
        if context.task_id == self.raises_at:
            raise ZeroDivisionError("by the callback")
        self.predictions.append(fitted_estimator.predict(X))
        return context.task_id == self.ends_at


def boosting(**params):
    return weald.GradientBoostingRegressor(**{"n_estimators": 5, "random_state": 0} | params)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_rounds_are_tasks_and_models_are_those_of_their_stages(n_jobs):
    record = Record()
    model = boosting(n_jobs=n_jobs).set_callbacks(record).fit(X, Y)
    rounds = [(what, "round", i) for i in range(5) for what in ("begin", "end")]
    assert record.told == [("setup", "fit"), ("begin", "fit", 0), *rounds, ("end", "fit", 0), ("teardown", "fit")]
    assert_array_equal(record.predictions, list(model.staged_predict(X)))
    assert_array_equal(model.predict(X), boosting().fit(X, Y).predict(X))
    assert not {"_callback_fit_ctx", "_skl_callbacks_to_teardown"} & model.__dict__.keys()


def test_a_callback_ends_the_fit():
    record = Record(ends_at=2)
    model = boosting().set_callbacks(record).fit(X, Y)
    assert model.n_estimators_ == 3
    assert_array_equal(model.predict(X), boosting(n_estimators=3).fit(X, Y).predict(X))
    assert record.told[-3:] == [("end", "round", 2), ("end", "fit", 0), ("teardown", "fit")]


def test_an_early_stop_leaves_no_task_open():
    record = Record()
    y = np.zeros(120)
    model = boosting(n_estimators=50, n_iter_no_change=3).set_callbacks(record).fit(X, y, X_val=X, y_val=y)
    assert model.n_estimators_ < 50
    begun, ended = ([told[1:] for told in record.told if told[0] == what] for what in ("begin", "end"))
    assert sorted(begun) == sorted(ended)


def test_what_a_callback_raises_comes_through_and_nothing_changes():
    model = boosting().fit(X, Y)
    before = model.predict(X)
    record = Record(raises_at=1)
    with pytest.raises(ZeroDivisionError, match="by the callback"):
        model.set_callbacks(record).fit(X + 1, Y)
    assert record.told[-1] == ("teardown", "fit")
    assert_array_equal(model.predict(X), before)
    assert_array_equal(model.set_callbacks().fit(X, Y).predict(X), before)


def test_classifiers_scorers_pipelines_copies_and_files(tmp_path):
    y = (Y[:, 0] > Y[:, 0].mean()).astype(int)
    record = Record()
    model = weald.GradientBoostingClassifier(n_estimators=4, early_stopping=True, scoring="accuracy", random_state=0)
    model.set_callbacks(record).fit(X, y, X_val=X, y_val=y)
    assert len(record.predictions) == 4
    assert_array_equal(
        record.predictions[-1], model.predict(X, n_stages=4) if model.n_estimators_ == 4 else record.predictions[-1]
    )
    assert_array_equal(pickle.loads(pickle.dumps(model.set_callbacks())).predict(X), model.predict(X))
    with pytest.raises(TypeError, match=r"call set_callbacks\(\) first"):
        weald.save(model.set_callbacks(Record()), tmp_path / "model")
    weald.save(model.set_callbacks(), tmp_path / "model")
    assert_array_equal(weald.load(tmp_path / "model").predict(X), model.predict(X))
    assert len(clone(model.set_callbacks(Record()))._skl_callbacks) == 1
    outer = Record()
    steps = make_pipeline(boosting().set_callbacks(outer))
    steps.fit(X, Y)
    assert len(outer.predictions) == 5


def test_scikit_learns_own_monitor():
    monitor = callback.ScoringMonitor(scoring="r2")
    model = boosting().set_callbacks(monitor).fit(X, Y)
    log = monitor.get_logs()
    assert log is not None
    assert model.n_estimators_ == 5


def test_weak_models_have_no_tasks():
    with pytest.raises(ValueError, match="does not support callbacks: call set_callbacks"):
        boosting(estimator=Ridge()).set_callbacks(Record()).fit(X, Y)
    with pytest.raises(TypeError, match="callbacks"):
        boosting().set_callbacks(1)
