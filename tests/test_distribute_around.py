"""Meta-estimators whose folds, and whose forests, executors fit: the same bytes as on one machine."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
import weald
from conftest import unless
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from test_distribute import SPAWN, InTurn, Never
from weald import distribute
from weald.conformal import ConformalClassifier, ConformalLabels, ConformalRegressor
from weald.multilabel import CalibratedLabels, HierarchicalLabels, LabelHierarchy, TunedThresholds

RNG = np.random.default_rng(5)
N = 90
X = sp.csr_array(RNG.poisson(0.6, size=(N, 12)).astype(np.float32))
DENSE = X.toarray()
NUMBERS = DENSE @ RNG.normal(size=(12, 2)) + RNG.normal(size=(N, 2))
CLASSES = np.array(list("abc"))[(DENSE[:, 0] + DENSE[:, 1]).astype(int) % 3]
TWO = np.column_stack([CLASSES, np.array(list("xy"))[(DENSE[:, 2] > 0).astype(int)]])
LABELS = (DENSE @ RNG.normal(size=(12, 7)) > 0.3).astype(np.int8)
# Label 1 is below label 0, and label 2 below label 1.
LABELS[:, 1] |= LABELS[:, 2]
LABELS[:, 0] |= LABELS[:, 1]
WEIGHTS = np.arange(N) % 4
GAPS = RNG.random((N, 2)) < 0.1
UNKNOWN = sp.csr_array(RNG.random((N, 7)) < 0.1)
GROUPS = np.arange(N) // 3

FOREST = weald.RandomForestClassifier(7, random_state=0)
OF_NUMBERS = weald.RandomForestRegressor(7, random_state=1)
BOOSTED = weald.GradientBoostingClassifier(n_estimators=3, random_state=0)
OF_TREES = weald.LinearClassifier(
    strategy="tree", n_estimators=3, max_leaf_labels=4, features="normalized", random_state=0
)
LINEAR = weald.LinearClassifier(random_state=0)
HIERARCHY = LabelHierarchy([(0, 1), (1, 2)], n_labels=7)
TFIDF = make_pipeline(TfidfTransformer(), FOREST)


def frozen(model, y):
    return FrozenEstimator(clone(model).fit(X, y))


# Each has calibration samples that are predicted in another way, or another kind of parts.
CASES = {
    "out of bag": (ConformalRegressor(OF_NUMBERS), NUMBERS, {}),
    "forest by folds": (ConformalRegressor(OF_NUMBERS, cv=3, random_state=0), NUMBERS[:, 0], {}),
    "normalized": (ConformalRegressor(OF_NUMBERS, conformity_score="normalized"), NUMBERS, {"y_weight": unless(GAPS)}),
    "normalized by folds": (
        ConformalRegressor(OF_NUMBERS, conformity_score="normalized", cv=3, random_state=0),
        NUMBERS,
        {"sample_weight": WEIGHTS},
    ),
    "quantiles": (
        ConformalRegressor(
            weald.RandomForestRegressor(7, keep_rows=True, random_state=0),
            conformity_score="quantile",
            cv=KFold(3),
        ),
        NUMBERS,
        {"y_weight": unless(GAPS)},
    ),
    "boosted quantiles": (
        ConformalRegressor(
            weald.GradientBoostingRegressor(
                loss=weald.loss.Quantile([0.05, 0.5, 0.95]), n_estimators=3, random_state=0
            ),
            conformity_score="quantile",
            cv=3,
            random_state=np.random.RandomState(3),
        ),
        NUMBERS,
        {},
    ),
    "warm start and out-of-bag score": (
        ConformalRegressor(
            weald.ExtraTreesRegressor(7, bootstrap=True, oob_score=True, warm_start=True, random_state=0)
        ),
        sp.csr_array(np.where(NUMBERS > 0, NUMBERS, 0)),
        {},
    ),
    "groups": (
        ConformalRegressor(weald.ExtraTreesRegressor(7, random_state=0), cv=GroupKFold(4)),
        NUMBERS[:, 0],
        {"groups": GROUPS, "sample_weight": WEIGHTS},
    ),
    "of scikit-learn": (ConformalRegressor(Ridge(), cv=3, random_state=0), NUMBERS, {}),
    "pipeline out of bag": (ConformalRegressor(make_pipeline(MaxAbsScaler(), OF_NUMBERS)), NUMBERS, {}),
    "frozen": (ConformalRegressor(frozen(OF_NUMBERS, NUMBERS)), NUMBERS, {"sample_weight": WEIGHTS}),
    "frozen pipeline": (ConformalClassifier(frozen(TFIDF, CLASSES), random_state=0), CLASSES, {}),
    "classes": (ConformalClassifier(FOREST, random_state=0), CLASSES, {"sample_weight": WEIGHTS}),
    "two outputs": (ConformalClassifier(FOREST, method="aps", cv=3, random_state=0), TWO, {}),
    "boosted classes": (ConformalClassifier(BOOSTED, cv=3, random_state=0), CLASSES, {}),
    # Parts of a linear model are ranges of labels, which classes are not.
    "linear, of classes": (ConformalClassifier(LINEAR, cv=3, random_state=0), CLASSES, {}),
    "frozen classes": (ConformalClassifier(frozen(BOOSTED, TWO[:, 1]), random_state=0), TWO[:, 1], {}),
    "labels": (ConformalLabels(FOREST, alpha=0.3), LABELS, {"y_weight": unless(UNKNOWN)}),
    "labels in groups": (ConformalLabels(FOREST, alpha=0.3, cv=GroupKFold(3)), LABELS, {"groups": GROUPS}),
    "thresholds": (TunedThresholds(FOREST), LABELS, {"label_names": list("abcdefg")}),
    "thresholds by folds": (
        TunedThresholds(FOREST, cv=3, random_state=0, objective="micro_f1"),
        sp.csr_array(LABELS),
        {"sample_weight": WEIGHTS, "y_weight": unless(UNKNOWN)},
    ),
    "linear": (TunedThresholds(LINEAR), LABELS, {"sample_weight": WEIGHTS, "y_weight": unless(UNKNOWN)}),
    "linear by folds": (TunedThresholds(LINEAR, cv=3, random_state=0), LABELS, {}),
    "boosted labels": (CalibratedLabels(BOOSTED, cv=3, random_state=0), LABELS, {}),
    "label trees": (CalibratedLabels(OF_TREES, cv=2, random_state=0, min_positives=1), LABELS, {}),
    "calibrated out of bag": (CalibratedLabels(FOREST, method="sigmoid"), LABELS, {"sample_weight": WEIGHTS}),
    "pipeline": (CalibratedLabels(TFIDF, cv=3, random_state=0), LABELS, {"sample_weight": WEIGHTS}),
    "pipeline of labels out of bag": (TunedThresholds(TFIDF), LABELS, {"y_weight": unless(UNKNOWN)}),
    "frozen labels": (TunedThresholds(frozen(LINEAR, LABELS)), LABELS, {"sample_weight": WEIGHTS}),
    "mean": (
        TunedThresholds(weald.VotingClassifier([("forest", FOREST), ("linear", LINEAR)])),
        LABELS,
        {"sample_weight": WEIGHTS},
    ),
    "hierarchy": (HierarchicalLabels(FOREST, HIERARCHY, label_weight="depth"), LABELS, {"y_weight": unless(UNKNOWN)}),
    "hierarchy of linear models": (HierarchicalLabels(LINEAR, HIERARCHY), LABELS, {}),
    "hierarchy of boosting": (HierarchicalLabels(BOOSTED, HIERARCHY), LABELS, {}),
    "thresholds of a hierarchy": (TunedThresholds(HierarchicalLabels(FOREST, HIERARCHY)), LABELS, {}),
    "thresholds of a hierarchy by folds": (
        TunedThresholds(make_pipeline(MaxAbsScaler(), HierarchicalLabels(FOREST, HIERARCHY)), cv=3, random_state=0),
        LABELS,
        {"sample_weight": WEIGHTS},
    ),
}


def fitted(name, x=X):
    model, y, arguments = CASES[name]
    return clone(model).fit(x, y, **arguments)


@cache
def of_one_machine(name):
    return weald.dumps(fitted(name))


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize("n_parts", [1, 3, 50])
@pytest.mark.parametrize("name", CASES)
def test_fits_are_byte_for_byte_those_of_one_machine(name, n_parts):
    model, y, arguments = CASES[name]
    with ThreadPoolExecutor(2) as threads:
        ways = {1: [(threads, X)], 3: [(InTurn(n_lost=2), X.tocsc())], 50: [(threads, X.tocsc()), (InTurn(), X)]}
        for executor, x in ways[n_parts]:
            found = clone(model)
            assert distribute.fit(found, x, y, executor, n_parts=n_parts, **arguments) is found
            assert weald.dumps(found) == of_one_machine(name)


@pytest.mark.slow("python/weald/_distribute", "python/weald/distribute.py", "python/weald/_fitted/fits.py")
@pytest.mark.parametrize(
    "name", ["out of bag", "quantiles", "of scikit-learn", "two outputs", "linear", "thresholds of a hierarchy", "mean"]
)
def test_processes_give_the_same_bytes(name):
    model, y, arguments = CASES[name]
    with ProcessPoolExecutor(2, mp_context=SPAWN) as executor:
        found = distribute.fit(clone(model), X, y, executor, timeout=120, **arguments)
    assert weald.dumps(found) == weald.dumps(fitted(name))


@pytest.mark.parametrize(
    ("name", "n_parts", "n_tasks"),
    [
        ("out of bag", 3, 3),
        ("out of bag", 50, 7),
        # Three folds, and the parts of the fit to all samples.
        ("forest by folds", 2, 5),
        ("boosted labels", 2, 4),
        ("of scikit-learn", 2, 4),
        ("pipeline", 3, 6),
        ("linear", 3, 3),
        ("linear, of classes", 2, 4),
        ("mean", 2, 4),
        ("hierarchy", 3, 3),
        ("hierarchy of boosting", 3, 1),
        ("thresholds of a hierarchy", 3, 3),
        ("thresholds of a hierarchy by folds", 3, 6),
        # Blocks of samples that a given model predicts; steps before it might predict other bits in blocks.
        ("frozen", 3, 3),
        ("frozen labels", 50, 50),
        ("frozen pipeline", 3, 0),
    ],
)
def test_what_the_tasks_are(name, n_parts, n_tasks):
    model, y, arguments = CASES[name]
    executor = InTurn()
    distribute.fit(clone(model), X, y, executor, n_parts=n_parts, **arguments)
    assert executor.n_tasks == n_tasks


class Scatters(InTurn):
    """An executor that passes a number to tasks in place of each data."""

    def __init__(self):
        super().__init__()
        self.data = []

    def scatter(self, data):
        self.data.append(data)
        return len(self.data) - 1

    def submit(self, function, data, *arguments):
        return super().submit(function, self.data[data], *arguments)


def test_data_are_sent_once_for_folds_and_parts():
    model, y, arguments = CASES["forest by folds"]
    executor = Scatters()
    found = distribute.fit(clone(model), X, y, executor, n_parts=2, **arguments)
    assert executor.n_tasks == 5
    assert len(executor.data) == 1
    assert weald.dumps(found) == weald.dumps(fitted("forest by folds"))


@pytest.mark.parametrize("name", ["forest by folds", "thresholds by folds", "linear by folds", "pipeline"])
def test_frames_are_taken_apart_by_samples(name):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    model, y, arguments = CASES[name]
    frame = pandas.DataFrame(DENSE).add_prefix("word ")
    found = distribute.fit(clone(model), frame, y, InTurn(), n_parts=2, **arguments)
    assert weald.dumps(found) == weald.dumps(fitted(name, frame))
    assert found.feature_names_in_[0] == "word 0"


@pytest.mark.parametrize(
    "name", ["thresholds", "labels", "boosted labels", "hierarchy", "thresholds of a hierarchy by folds"]
)
def test_best_labels_of_blocks(name):
    model = fitted(name)
    expected = weald.topk(model, X, 2)
    with ThreadPoolExecutor(2) as executor:
        found = distribute.predict(model, X, executor, method="predict_topk", k=2, n_parts=4)
    assert np.array_equal(found[0], expected[0])
    assert np.array_equal(found[1], expected[1])


PREDICTIONS = {
    "intervals": ("out of bag", "predict_interval", {"alpha": 0.2}),
    "regions": ("normalized", "predict_region", {}),
    "quantiles": ("quantiles", "predict_interval", {}),
    "log volumes": ("out of bag", "log_volume", {"region": "ellipsoid"}),
    "sparse numbers": ("warm start and out-of-bag score", "predict", {}),
    "sets": ("classes", "predict_sets", {}),
    # A share of each class is drawn by the probabilities of the sample.
    "random sets": ("two outputs", "predict_sets", {"alpha": 0.3}),
    "probabilities of two outputs": ("two outputs", "predict_proba", {}),
    "classes": ("classes", "predict", {}),
    "labels": ("labels", "predict", {}),
    "sparse labels": ("thresholds by folds", "predict", {}),
    "sparse scores": ("calibrated out of bag", "predict_sparse", {"min_score": 0.2}),
    "best labels": ("linear", "predict_topk", {"k": 2}),
    "of a hierarchy": ("thresholds of a hierarchy by folds", "predict_proba", {}),
}


def pieces(found):
    if isinstance(found, list | tuple):
        return [piece for part in found for piece in pieces(part)]
    return [found.data, found.indices, found.indptr] if sp.issparse(found) else [found]


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize("n_parts", [1, 4, 500])
@pytest.mark.parametrize("name", PREDICTIONS)
def test_predictions_of_blocks_are_those_of_all_samples(name, n_parts):
    of_model, method, options = PREDICTIONS[name]
    model = fitted(of_model)
    expected = getattr(model, method)(X, **options)
    found = distribute.predict(model, X, InTurn(n_lost=1), method=method, n_parts=n_parts, **options)
    assert type(found) is type(expected)
    for ours, theirs in zip(pieces(found), pieces(expected), strict=True):
        assert ours.dtype == theirs.dtype
        assert np.array_equal(ours, theirs)


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_predictions_of_blocks_are_frames_if_those_of_all_samples_are(container):
    pytest.importorskip(container, reason=f"{container} is not installed")
    for name, options in [("thresholds", {}), ("classes", {}), ("classes", {"method": "predict_proba"})]:
        model = fitted(name).set_output(predict=container)
        expected = getattr(model, options.get("method", "predict"))(X)
        found = distribute.predict(model, X, InTurn(), n_parts=3, **options)
        assert type(found) is type(expected)
        assert found.equals(expected)


def test_predictions_of_no_samples_and_of_other_methods():
    model = fitted("out of bag")
    with pytest.raises(ValueError, match="0 sample"):
        distribute.predict(model, X[:0], InTurn())
    for method in ("predict_sets", "alpha", 3):
        with pytest.raises(TypeError, match="method must be the name of a method of ConformalRegressor, got"):
            distribute.predict(model, X, InTurn(), method=method)
    with pytest.raises(TypeError, match=r"method must return arrays .* but get_params returned"):
        distribute.predict(Answers(), X, InTurn(), method="get_params")
    with pytest.raises(ValueError, match="alpha must be"):
        distribute.predict(model, X, InTurn(), method="predict_interval", alpha=2)
    executor = Never()
    with pytest.raises(TimeoutError, match="rows 0 to 44, rows 45 to 89 did not finish"):
        distribute.predict(model, X, executor, n_parts=2, timeout=0.05)
    assert all(future.cancelled() for future in executor.futures)


class Answers(Ridge):
    def get_params(self, deep=True):
        return {}


def test_fits_are_reported_here(capsys):
    model, y, arguments = CASES["forest by folds"]
    model = clone(model).set_params(verbose=2, estimator__verbose=2)
    distribute.fit(model, X, y, InTurn(), n_parts=2, **arguments)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(",")[0] for line in lines if line.startswith("Conformal")] == [
        f"ConformalRegressor: fit {i} of 4" for i in (1, 2, 3, 4)
    ]
    # The parts of the fit to all samples; what the folds write is written where they are fitted, here in this process.
    assert [line.split(",")[0] for line in lines if "of 7" in line][-2:] == [
        f"RandomForestRegressor: tree {i} of 7" for i in (3, 7)
    ]


# --- errors -----------------------------------------------------------------------------------------------------------


class Failing(Ridge):
    """A regressor that cannot be fitted to some of the samples."""

    def fit(self, X, y, sample_weight=None):
        if X.shape[0] < N:
            raise ValueError("too few samples for this regressor")
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize(
    ("model", "y", "options", "error", "message"),
    [
        (
            ConformalRegressor(weald.RandomForestRegressor()),
            NUMBERS,
            {},
            ValueError,
            "^RandomForestRegressor: random_state must be an integer with trees, .* got None",
        ),
        (
            TunedThresholds(make_pipeline(MaxAbsScaler(), weald.LinearClassifier()), cv=3),
            LABELS,
            {},
            ValueError,
            "^LinearClassifier: random_state must be an integer with labels, .* got None",
        ),
        (ConformalRegressor(Failing(), cv=3), NUMBERS, {}, ValueError, "too few samples for this regressor"),
        (
            ConformalRegressor(OF_NUMBERS, cv=KFold(3)),
            NUMBERS,
            {"groups": GROUPS},
            ValueError,
            "groups require a cv that keeps them together",
        ),
        (
            TunedThresholds(FOREST),
            LABELS,
            {"groups": GROUPS},
            TypeError,
            "fit of TunedThresholds accepts sample_weight, y_weight, label_names, got groups",
        ),
        (
            ConformalRegressor(
                OF_NUMBERS, cv=[(np.arange(60), np.arange(60, N)), (np.arange(60), np.arange(50, 60))] * 2
            ),
            NUMBERS,
            {},
            ValueError,
            "cv must have disjoint test folds",
        ),
        (ConformalRegressor(OF_NUMBERS, alpha=2), NUMBERS, {}, ValueError, "alpha must be"),
        (ConformalRegressor(OF_NUMBERS), NUMBERS[:-1], {}, ValueError, "y"),
        (TunedThresholds(FOREST), LABELS, {"sample_weight": [1.0]}, ValueError, "sample_weight"),
        (TunedThresholds(FOREST), LABELS, {"n_parts": 0}, ValueError, "n_parts must be a positive integer or None"),
        (TunedThresholds(FOREST), LABELS, {"timeout": 0}, ValueError, "timeout must be a positive number of seconds"),
        (TunedThresholds(weald.RandomForestClassifier(0, random_state=0)), LABELS, {}, ValueError, "n_estimators"),
        (weald.VotingClassifier([("forest", FOREST)]), LABELS, {}, TypeError, "got a VotingClassifier"),
    ],
)
def test_errors_leave_the_estimator_as_it_was(model, y, options, error, message):
    model = clone(model)
    before = set(vars(model))
    with pytest.raises(error, match=message):
        distribute.fit(model, X, y, InTurn(), **options)
    assert set(vars(model)) == before


def test_a_failed_fit_leaves_the_fit_before():
    model = fitted("forest by folds")
    before = weald.dumps(model)
    for executor, y, error in [(InTurn(n_lost=99), NUMBERS[:, 0], RuntimeError), (InTurn(), NUMBERS[1:], ValueError)]:
        with pytest.raises(error):
            distribute.fit(model, X, y, executor)
        assert weald.dumps(model) == before


def test_classes_are_no_estimators():
    with pytest.raises(TypeError, match=r"estimator must be one of forests, .* got a "):
        distribute.fit(TunedThresholds, X, LABELS, InTurn())


def test_lost_folds_run_again_and_not_for_ever():
    model, y, _ = CASES["forest by folds"]
    with pytest.raises(RuntimeError, match="the fit without fold 0 failed 3 times: ConnectionError"):
        distribute.fit(clone(model), X, y, InTurn(n_lost=99), n_parts=2)
    with pytest.raises(RuntimeError, match="the executor returned nothing for the fit without fold 0"):
        distribute.fit(clone(model), X, y, InTurn(result=lambda _: None), n_parts=2)


def test_a_deadline_names_folds_and_parts_and_cancels_them():
    model, y, _ = CASES["forest by folds"]
    executor = Never()
    expected = "the fit without fold 0, the fit without fold 1, the fit without fold 2 and 2 more did not finish within"
    with pytest.raises(TimeoutError, match=expected):
        distribute.fit(clone(model), X, y, executor, n_parts=2, timeout=0.05)
    assert len(executor.futures) == 5
    assert all(future.cancelled() for future in executor.futures)


class Stops(Never):
    """An executor that runs some tasks, and then no more."""

    def __init__(self, n_tasks):
        super().__init__()
        self.n_tasks, self.first = n_tasks, InTurn()

    def submit(self, function, *arguments):
        if self.first.n_tasks < self.n_tasks:
            return self.first.submit(function, *arguments)
        return super().submit(function, *arguments)


def test_the_deadline_is_that_of_all_fits_together():
    # The folds of linear models wait for the fit to all samples.
    model, y, _ = CASES["linear by folds"]
    executor = Stops(2)
    with pytest.raises(TimeoutError, match="fold 0, the fit without fold 1, the fit without fold 2 did"):
        distribute.fit(clone(model), X, y, executor, n_parts=2, timeout=0.5)
    assert len(executor.futures) == 3
    assert all(future.cancelled() for future in executor.futures)
