"""Bad input, budgets, interruption and threads in compression. An error names its argument and changes nothing."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.ensemble
from conftest import COMPRESSED, INDUCED, cases, check_refused, make, make_data, model_bytes
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import KFold, StratifiedKFold
from weald import _weald

CLASSIFIER, REGRESSOR = COMPRESSED


@pytest.fixture(params=COMPRESSED)
def name(request):
    return request.param


def forest_of(name, **params):
    return make(name.replace("CompressedForest", "ExtraTrees"), **params)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, sparse.csc_array])
@pytest.mark.parametrize("value", [-np.inf, np.inf, 1e300])
def test_values_of_X_that_are_no_float32(name, container, value):
    X, y = make_data(name)
    model = make(name, l1_norm=0.2).fit(X, y)
    bad = X.copy()
    bad[3, 2] = value
    message = "X contains infinity or a value too large"
    check_refused(model, ValueError, message, container(bad), y)
    for method in ("predict", "apply", "decision_path"):
        with pytest.raises(ValueError, match=message):
            getattr(model, method)(container(bad))


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.zeros((0, 3)), np.zeros(0), "0 sample"),
        (np.zeros((3, 0)), np.zeros(3), "0 feature"),
        (np.zeros((3, 2)), np.zeros(4), "inconsistent numbers of samples"),
        (np.zeros((3, 2)), None, "y is None"),
        (sparse.csr_array((0, 3)), np.zeros(0), "0 sample"),
    ],
)
def test_shapes(name, X, y, message):
    with pytest.raises(ValueError, match=message):
        make(name).fit(X, y)


def test_sparse_targets_are_made_dense():
    X, y = make_data(REGRESSOR)
    of_sparse = make(REGRESSOR).fit(X, sparse.csr_array(y.reshape(-1, 1)))
    np.testing.assert_array_equal(of_sparse.predict(X), make(REGRESSOR).fit(X, y).predict(X))


def test_a_column_of_y_is_warned_of_once(name):
    X, y = make_data(name)
    with pytest.warns(DataConversionWarning) as caught:
        model = make(name, l1_norm=0.2).fit(X, y.reshape(-1, 1))
    assert len(caught) == 1
    assert model_bytes(model) == model_bytes(make(name, l1_norm=0.2).fit(X, y))


@pytest.mark.parametrize(
    "params",
    [
        {"solver": "lars"},
        {"loss": "hinge"},
        {"step_size": 0},
        {"step_size": -0.1},
        {"step_size": np.nan},
        {"step_size": np.inf},
        {"l1_norm": -0.1},
        {"l1_norm": np.nan},
        {"l1_norm": np.inf},
        {"l1_norm": "best"},
        {"cv": 1},
        {"cv": 0},
        {"cv": "ten"},
        {"max_steps": 0},
        {"step_outputs": 0},
        {"step_outputs": 1.5},
        {"standardize": 2},
        {"max_test_nodes": -1},
        {"max_test_nodes": 1.5},
        {"max_bytes": 0},
        {"max_loss_increase": -2},
        {"max_loss_increase": np.nan},
        {"n_jobs": 1.5},
        {"random_state": "seed"},
    ],
)
def test_parameters(name, params):
    X, y = make_data(name)
    (parameter,) = params
    model = make(name, l1_norm=0.2).fit(X, y)
    check_refused(model.set_params(**params), ValueError, f"'{parameter}' parameter of {name}", X, y)


@pytest.mark.parametrize("name", INDUCED)
@pytest.mark.parametrize(
    "params",
    [
        {"n_nodes": -1},
        {"n_nodes": 1.5},
        {"n_nodes": "best"},
        {"max_nodes": 0},
        {"learning_rate": 0},
        {"learning_rate": 1.1},
        {"candidate_window": 0},
        {"max_loss_increase": -2},
    ],
)
def test_parameters_of_induced_forests(name, params):
    X, y = make_data(name)
    (parameter,) = params
    model = make(name, n_nodes=4).fit(X, y)
    check_refused(model.set_params(**params), ValueError, parameter, X, y)


@pytest.mark.parametrize(
    ("name", "parameter", "valid"),
    [
        (REGRESSOR, "loss", ["squared_error"]),
        (CLASSIFIER, "loss", ["squared_error", "log_loss"]),
        (REGRESSOR, "solver", ["stagewise", "lasso"]),
    ],
)
def test_an_unknown_name_raises_an_error_that_lists_the_valid_names(name, parameter, valid):
    X, y = make_data(name)
    with pytest.raises(ValueError, match=f"'{parameter}'") as raised:
        make(name, **{parameter: "unknown"}).fit(X, y)
    assert all(repr(value) in str(raised.value) for value in valid)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"l1_norm": 1.0, "max_loss_increase": 0.1}, "l1_norm must be 'cv' with max_loss_increase, .*got 1.0"),
        ({"l1_norm": None, "max_loss_increase": 0.1}, "l1_norm must be 'cv' with max_loss_increase, .*got None"),
    ],
)
def test_parameters_that_contradict_each_other(name, params, message):
    X, y = make_data(name)
    check_refused(make(name, l1_norm=0.2).fit(X, y).set_params(**params), ValueError, message, X, y)


def test_compression_refuses_estimators_that_are_no_forests_of_weald(name):
    X, y = make_data(name)
    model = make(name, l1_norm=0.2).fit(X, y)
    other = make({REGRESSOR: "ExtraTreesClassifier", CLASSIFIER: "ExtraTreesRegressor"}[name])
    boosting = make(name.replace("CompressedForest", "GradientBoosting"))
    theirs = getattr(sklearn.ensemble, name.replace("CompressedForest", "ExtraTrees"))()
    for estimator in (other, boosting, theirs, make(name), 3, "forest"):
        message = f"estimator must be a tree or forest of weald .*got {type(estimator).__name__}"
        for given in (estimator, FrozenEstimator(estimator)):
            check_refused(model.set_params(estimator=given), ValueError, message, X, y)
    kind = type(forest_of(name))
    message = rf"estimator must be an instance, {kind.__name__}\(\), got the class {kind.__name__}"
    check_refused(model.set_params(estimator=kind), ValueError, message, X, y)


# Forests that were fitted before


def test_a_forest_that_is_not_fitted(name):
    X, y = make_data(name)
    model = make(name, l1_norm=0.2).fit(X, y)
    model.set_params(estimator=FrozenEstimator(model.estimator))
    check_refused(model, NotFittedError, "ExtraTrees", X, y)


def test_a_forest_of_other_features(name):
    X, y = make_data(name)
    model = make(name, estimator=FrozenEstimator(forest_of(name).fit(X[:, :7], y)))
    check_refused(model, ValueError, "X must have 7 features, as in the fit of ExtraTrees.*, got 12", X, y)


def test_a_forest_of_other_names(name):
    import pandas as pd

    X, y = make_data(name, p=3)
    frame = pd.DataFrame(dict(zip("abc", X.T, strict=True)))
    model = make(name, estimator=FrozenEstimator(forest_of(name).fit(frame, y)), l1_norm=0.2)
    check_refused(model, ValueError, "feature names should match those", frame.rename(columns={"a": "z"}), y)
    assert model.fit(frame, y).feature_names_in_.tolist() == ["a", "b", "c"]


def test_a_forest_of_other_outputs():
    X, Y = make_data(REGRESSOR, outputs="several")
    model = make(REGRESSOR, estimator=FrozenEstimator(forest_of(REGRESSOR).fit(X, Y)))
    check_refused(model, ValueError, "y must have 3 outputs, as in the fit of ExtraTreesRegressor, got 1", X, Y[:, 0])
    check_refused(model, ValueError, "y must have 3 outputs, as in the fit of ExtraTreesRegressor, got 2", X, Y[:, :2])


def test_a_forest_of_other_classes():
    X, y = make_data(CLASSIFIER)
    model = make(CLASSIFIER, estimator=FrozenEstimator(forest_of(CLASSIFIER).fit(X, y)))
    check_refused(model, ValueError, "y must have the classes of the fit", X, np.where(y == "a", "z", y))
    check_refused(model, ValueError, "y must have the classes of the fit", X[y != "a"], y[y != "a"])
    _, Y = make_data(CLASSIFIER, outputs="labels")
    _, several = make_data(CLASSIFIER, outputs="several")
    check_refused(model, ValueError, "y must have 1 outputs, .*got 3", X, Y)
    model.set_params(estimator=FrozenEstimator(forest_of(CLASSIFIER).fit(X, Y)))
    check_refused(model, ValueError, "y must be labels, as in the fit of ExtraTreesClassifier, got classes", X, several)
    model.set_params(estimator=FrozenEstimator(forest_of(CLASSIFIER).fit(X, several)))
    check_refused(model, ValueError, "y must be classes, as in the fit of ExtraTreesClassifier, got labels", X, Y)
    check_refused(model, ValueError, "y must have the classes of the fit", X, several + 1)


def test_the_forest_is_not_changed(name):
    X, y = make_data(name)
    forest = forest_of(name).fit(X, y)
    before, bytes_before = dict(forest.__dict__), model_bytes(forest)
    make(name, estimator=FrozenEstimator(forest)).fit(X, y)
    assert forest.__dict__.keys() == before.keys()
    assert all(forest.__dict__[key] is before[key] for key in before)
    assert model_bytes(forest) == bytes_before
    unfitted = clone(forest)
    make(name, estimator=unfitted).fit(X, y)
    assert unfitted.__dict__ == clone(forest).__dict__


# Folds


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        ([], "cv must have at least 2 folds, got .* with 0 folds"),
        ([(np.arange(30), np.arange(30, 60))], "(?s)cv must have at least 2 folds, got .* with 1 folds"),
        (KFold(70), r"cv must split the samples into folds, got .*: Cannot have number of splits"),
        ([([0, 1], [1, 2])] * 2, "must have disjoint training and test samples, got sample 1 in both of fold 0"),
        ([([0, 1], [])] * 2, "cv must have test samples of positive weight in each fold, got none in fold 0"),
        ([([], [0, 1])] * 2, "cv must have training samples of positive weight in each fold, got none in fold 0"),
        ([([0, 1], [2, 60])] * 2, "(?s)cv must split the samples into folds"),
        ([([0, 1], [0.5, 2])] * 2, "(?s)cv must split the samples into folds"),
    ],
)
def test_folds(name, cv, message):
    X, y = make_data(name)
    model = make(name, l1_norm=0.2).fit(X, y)
    check_refused(model.set_params(cv=cv, l1_norm="cv"), ValueError, message, X, y)


# scikit-learn warns about small classes, too.
@pytest.mark.filterwarnings("ignore:The least populated class")
def test_folds_of_samples_that_do_not_exist(name):
    X, y = make_data(name)
    w = np.ones(60)
    w[:20] = 0
    model = make(name, l1_norm=0.2).fit(X, y)
    rows = np.arange(60)
    folds = [(rows[20:], rows[:20]), (rows[:40], rows[40:])]
    model.set_params(cv=folds, l1_norm="cv")
    check_refused(
        model,
        ValueError,
        "cv must have test samples of positive weight in each fold, got none in fold 0",
        X,
        y,
        sample_weight=w,
    )
    most = 40 if name == REGRESSOR else max(np.unique(y[20:], return_counts=True)[1])
    with pytest.warns(UserWarning, match=f"cv is 41, but there are only {most} .* positive weight: using {most} folds"):
        model.set_params(cv=41).fit(X, y, sample_weight=w)
    model.set_params(cv=40 if name == REGRESSOR else 5).fit(X, y, sample_weight=w)


@pytest.mark.filterwarnings("ignore:The least populated class")
@pytest.mark.filterwarnings("ignore:The number of unique classes")
def test_too_few_samples_of_each_class():
    X, _ = make_data(CLASSIFIER)
    y = np.arange(60) // 2
    model = make(CLASSIFIER, l1_norm=0.2).fit(X, y).set_params(l1_norm="cv")
    check_refused(
        model.set_params(cv=StratifiedKFold(3)),
        ValueError,
        "cv must split the samples into folds, got .*: n_splits=3 cannot be greater",
        X,
        y,
    )
    with pytest.warns(UserWarning, match="cv is 3, but there are only 2 samples of the largest .*: using 2 folds"):
        model.set_params(cv=3).fit(X, y)
    check_refused(
        model.set_params(cv=3),
        ValueError,
        "cv requires at least 2 samples of the largest class .*, got 1, n_samples=30",
        X[::2],
        y[::2],
    )


def test_one_sample_and_one_class(name):
    with pytest.raises(ValueError, match="n_samples=1"):
        make(name).fit([[1.0, 2.0]], [1])
    one = make(name, l1_norm=None).fit([[1.0, 2.0]], [3])
    assert one.predict([[0.0, 0.0]]).tolist() == [3]
    X, _ = make_data(name)
    same = make(name).fit(X, np.full(60, 3))
    assert (same.predict(X) == 3).all()
    assert (same.n_test_nodes_, same.l1_norm_, len(same.path_["l1_norm"])) == (0, 0, 1)
    assert same.compression_ratio_ == 1
    if name == CLASSIFIER:
        np.testing.assert_array_equal(same.predict_proba(X), 1)


def test_a_class_that_a_fold_does_not_have():
    X, y = make_data(CLASSIFIER)
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    for loss in ("squared_error", "log_loss"):
        model = make(CLASSIFIER, cv=KFold(3), loss=loss).fit(X, y)
        assert np.isfinite(model.path_["test_loss_mean"]).all()


# Norms


@pytest.mark.parametrize("norm", [-0.1, np.nan, np.inf, "cv", None, True, [1.0]])
def test_norms_that_are_none(name, norm):
    X, y = make_data(name)
    model = make(name, l1_norm=0.2).fit(X, y)
    with pytest.raises(ValueError, match=r"l1_norm must be a finite number of at least 0, got "):
        model.at(norm)


def test_before_fit(name):
    model = make(name)
    X, _ = make_data(name)
    for method in ("predict", "apply", "decision_path", *["predict_proba", "decision_function"] * (name == CLASSIFIER)):
        with pytest.raises(NotFittedError):
            getattr(model, method)(X)
    with pytest.raises(NotFittedError):
        model.at(1.0)
    for attribute in ("estimators_", "feature_importances_"):
        with pytest.raises(NotFittedError):
            getattr(model, attribute)


# Failure


@cases(lambda failure, frozen: not (frozen and failure == "fit_forest"))  # a frozen forest is not grown again
@pytest.mark.parametrize(
    "failure", ["X", "y", "sample_weight", "fit_forest", "compress_forest", "cross_validate_compression"]
)
@pytest.mark.parametrize("fitted", [True, False])
@pytest.mark.parametrize("frozen", [True, False])
def test_a_failed_fit_leaves_the_estimator_as_it_was(name, failure, fitted, frozen, monkeypatch):
    X, y = make_data(name)
    forest = forest_of(name).fit(X, y)
    model = make(name, estimator=FrozenEstimator(forest) if frozen else forest)
    if fitted:
        model.fit(X, y)
    before, forest_before = dict(model.__dict__), dict(forest.__dict__)
    X_new, y_new, w = make_data(name, seed=1)[0], y, None
    if failure == "X":
        X_new = X_new.copy()
        X_new[0, 0] = np.inf
    elif failure == "y":
        y_new = y[1:]
    elif failure == "sample_weight":
        w = -np.ones(len(X))
    else:

        def interrupted(*args):
            raise KeyboardInterrupt

        monkeypatch.setattr(_weald, failure, interrupted)
    with pytest.raises((ValueError, KeyboardInterrupt)):
        model.fit(X_new, y_new, sample_weight=w)
    assert model.__dict__.keys() == before.keys()
    assert all(model.__dict__[key] is before[key] for key in before)
    assert forest.__dict__ == forest_before


def test_models_cannot_be_changed(name):
    model = make(name, l1_norm=1.0).fit(*make_data(name))
    with pytest.raises(AttributeError):
        model._model.l1_norm = 3
    with pytest.raises(ValueError, match="read-only"):
        model[0].tree_.threshold[0] = 1


def test_bytes_of_a_model_are_checked_before_use(name):
    model = make(name, l1_norm=1.0).fit(*make_data(name))
    data = bytearray(model_bytes(model))
    for cut in (0, 7, len(data) // 2, len(data) - 1):
        with pytest.raises(ValueError, match=r"\w"):
            _weald.Compressed.from_bytes(bytes(data[:cut]))
    forest = forest_of(name).fit(*make_data(name))
    with pytest.raises(ValueError, match=r"\w"):
        _weald.Compressed.from_bytes(model_bytes(forest))
