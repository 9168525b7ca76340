"""Callbacks of scikit-learn, where its version has them."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor

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

    def __init__(self, ends_at=None, raises_at=None, part="round"):
        self.ends_at, self.raises_at, self.part = ends_at, raises_at, part
        self.told, self.predictions = [], []

    def setup(self, estimator, context):
        self.told.append(("setup", context.task_name))

    def teardown(self, estimator, context):
        self.told.append(("teardown", context.task_name))

    def on_fit_task_begin(self, estimator, context, *, X, y, metadata):
        self.told.append(("begin", context.task_name, context.task_id))

    def on_fit_task_end(self, estimator, context, *, X, fitted_estimator):
        self.told.append(("end", context.task_name, context.task_id))
        if context.task_name != self.part or fitted_estimator is None:
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


# --- forests ----------------------------------------------------------------------------------------------------------

FORESTS = ["RandomForestRegressor", "ExtraTreesRegressor", "CentroidForestRegressor"]


def forest(name="RandomForestRegressor", **params):
    return getattr(weald, name)(**{"n_estimators": 23, "random_state": 0} | params)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("name", FORESTS)
def test_blocks_of_trees_are_tasks_and_forests_are_those_of_their_trees(name, n_jobs):
    record = Record(part="trees")
    plain = forest(name).fit(X, Y)
    model = forest(name, n_jobs=n_jobs).set_callbacks(record).fit(X, Y)
    blocks = [(what, "trees", i) for i in range(10) for what in ("begin", "end")]
    assert record.told == [("setup", "fit"), ("begin", "fit", 0), *blocks, ("end", "fit", 0), ("teardown", "fit")]
    assert weald.dumps(model.set_callbacks().set_params(n_jobs=None)) == weald.dumps(plain)
    cuts = [23 * i // 10 for i in range(1, 11)]
    assert_array_equal(record.predictions, [forest(name, n_estimators=n).fit(X, Y).predict(X) for n in cuts])
    assert not {"_callback_fit_ctx", "_skl_callbacks_to_teardown"} & model.__dict__.keys()


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize(
    "params",
    [
        {"output_projection": "gaussian", "n_projections": 2},
        {"output_projection": "gaussian", "n_projections": 2, "projection_scope": "forest"},
        {"max_bins": 8, "oob_score": True, "keep_rows": True, "output_scaling": "variance"},
        {"criterion": "poisson", "bootstrap": False},
    ],
)
def test_blocks_change_no_forest(params):
    y, weights = np.abs(Y), np.arange(120) % 3.0
    plain = forest(**params).fit(X, y, weights)
    model = forest(**params).set_callbacks(Record(part="trees")).fit(X, y, weights).set_callbacks()
    assert weald.dumps(model) == weald.dumps(plain)
    assert model.__dict__.keys() == plain.__dict__.keys()


@pytest.mark.parametrize("name", FORESTS)
def test_a_callback_ends_the_growth_of_a_forest(name):
    record = Record(ends_at=2, part="trees")
    model = forest(name, bootstrap=True, oob_score=True).set_callbacks(record)
    with pytest.warns(UserWarning, match="do not have OOB scores"):
        model.fit(X, Y)
    few = forest(name, n_estimators=6, bootstrap=True, oob_score=True)
    with pytest.warns(UserWarning, match="do not have OOB scores"):
        few.fit(X, Y)
    assert len(model) == 6
    assert model.n_estimators == 23
    assert_array_equal(model.predict(X), few.predict(X))
    assert_array_equal(model.oob_prediction_, few.oob_prediction_)
    assert record.told[-3:] == [("end", "trees", 2), ("end", "fit", 0), ("teardown", "fit")]


def test_a_warm_start_tells_of_the_trees_that_it_adds():
    model = forest(n_estimators=2, warm_start=True).fit(X, Y)
    record = Record(part="trees", ends_at=1)
    model.set_params(n_estimators=6).set_callbacks(record).fit(X, Y)
    assert [told for told in record.told if told[:2] == ("end", "trees")] == [("end", "trees", i) for i in range(2)]
    assert len(model) == 4
    model.set_callbacks().fit(X, Y)
    assert_array_equal(model.predict(X), forest(n_estimators=6).fit(X, Y).predict(X))
    again = Record(part="trees")
    with pytest.warns(UserWarning, match="does not fit new trees"):
        model.set_callbacks(again).fit(X, Y)
    assert again.told == [("setup", "fit"), ("begin", "fit", 0), ("end", "fit", 0), ("teardown", "fit")]


def test_a_part_that_ended_early_is_the_part_of_its_trees():
    parts = [forest(n_estimators=6).set_callbacks(Record(ends_at=1, part="trees")).fit(X, Y, trees=range(3))]
    parts += [forest(n_estimators=6).fit(X, Y, trees=range(2, 6))]
    merged = weald.merge([part.set_callbacks() for part in parts], X, Y)
    assert_array_equal(merged.predict(X), forest(n_estimators=6).fit(X, Y).predict(X))


def test_what_a_callback_of_a_forest_raises_comes_through_and_nothing_changes():
    model = forest().fit(X, Y)
    before = weald.dumps(model)
    record = Record(raises_at=1, part="trees")
    with pytest.raises(ZeroDivisionError, match="by the callback"):
        model.set_callbacks(record).fit(X + 1, Y)
    assert record.told[-1] == ("teardown", "fit")
    assert weald.dumps(model.set_callbacks()) == before
    with pytest.raises(ValueError, match="X has 120 rows, y has 3"):
        model.set_callbacks(record).fit(X, Y[:3])
    assert weald.dumps(model.set_callbacks()) == before


def test_classes_labels_files_and_scikit_learns_callbacks_of_forests(capsys):
    labels = Y > 0
    monitor = callback.ScoringMonitor(scoring="accuracy")
    model = weald.RandomForestClassifier(4, random_state=0, verbose=2)
    model.set_callbacks(monitor, callback.ProgressBar()).fit(X, labels[:, 0])
    assert monitor.get_logs() is not None
    assert "RandomForestClassifier: tree 4 of 4" in capsys.readouterr().out
    record = Record(part="trees")
    many = weald.ExtraTreesClassifier(4, random_state=0).set_callbacks(record).fit(X, labels)
    assert len(record.predictions) == 4
    assert_array_equal(record.predictions[-1], many.predict(X))
    with pytest.raises(TypeError, match=r"call set_callbacks\(\) first"):
        weald.dumps(many)
    with ThreadPoolExecutor(1) as executor:
        apart = weald.distribute.fit(clone(many), X, labels, executor, n_parts=2)
    assert len(record.predictions) == 4
    assert_array_equal(apart.predict(X), many.predict(X))
