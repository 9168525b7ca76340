"""Bad input, odd input, interruption and threads in boosting. An error names its argument and changes nothing."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
import weald
from conftest import BOOSTING, check_refused, make, make_data, model_bytes
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeClassifier
from weald import EarlyStopping, _weald
from weald._fit.boosting import NO_EFFECT
from weald.loss import Huber, LogLoss, Poisson, Tweedie
from weald.projection import GaussianProjection, Projected

CLASSIFIER, REGRESSOR = BOOSTING


@pytest.fixture(params=BOOSTING)
def name(request):
    return request.param


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, sparse.csc_array])
@pytest.mark.parametrize("value", [-np.inf, np.inf, 1e300])
def test_values_of_X_that_are_no_float32(name, container, value):
    X, y = make_data(name)
    model = make(name).fit(X, y)
    bad = X.copy()
    bad[3, 2] = value
    message = "X contains infinity or a value too large"
    check_refused(model, ValueError, message, container(bad), y)
    check_refused(model, ValueError, message.replace("X", "X_val"), X, y, X_val=container(bad), y_val=y)
    for method in ("predict", "apply"):
        with pytest.raises(ValueError, match=message):
            getattr(model, method)(container(bad))
    with pytest.raises(ValueError, match=message):
        next(model.staged_predict(container(bad)))


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


@pytest.mark.parametrize(
    "params",
    [
        {"loss": "deviance"},
        {"output_strategy": "multi"},
        {"learning_rate": 0},
        {"learning_rate": -0.1},
        {"learning_rate": np.nan},
        {"learning_rate": np.inf},
        {"tol": np.inf},
        {"l2_regularization": -1e-9},
        {"l2_regularization": np.nan},
        {"l2_regularization": np.inf},
        {"l2_regularization": "1"},
        {"leaf_estimation": "gradient"},
        {"leaf_estimation": None},
        {"n_estimators": 0},
        {"subsample": 0.0},
        {"subsample": 1.1},
        {"max_bins": 1},
        {"max_bins": 256},
        {"early_stopping": 3},
        {"output_strategy": GaussianProjection()},
        {"estimator": 3},
        {"validation_fraction": 0.0},
        {"validation_fraction": 1.0},
        {"n_iter_no_change": 0},
        {"tol": -1.0},
        {"max_depth": 0},
        {"max_leaf_nodes": 1},
        {"min_samples_split": 1},
        {"random_state": "seed"},
    ],
)
def test_parameters(name, params):
    X, y = make_data(name)
    (parameter,) = params
    model = make(name).fit(X, y)
    check_refused(model.set_params(**params), ValueError, f"'{parameter}' parameter of {name}", X, y)


@pytest.mark.parametrize(
    ("cls", "params", "message"),
    [
        (Projected, {"relabel_leaves": 2}, "'relabel_leaves' parameter of Projected"),
        (
            Projected,
            {"projection": "gauss"},
            "'projection' parameter of Projected .* Got 'gauss' instead. Did you mean 'gaussian'",
        ),
        (Projected, {"projection": None}, "'projection' parameter of Projected"),
        (Projected, {"n_projections": 0}, "n_projections must be"),
        (Projected, {"n_projections": True}, "n_projections must be .*, got True"),
        (EarlyStopping, {"cv": 1}, "'cv' parameter of EarlyStopping"),
        (EarlyStopping, {"cv": True}, "'cv' parameter of EarlyStopping"),
        (EarlyStopping, {"cv": 2.5}, "'cv' parameter of EarlyStopping"),
        (EarlyStopping, {"refit": 1}, "'refit' parameter of EarlyStopping"),
        (EarlyStopping, {"patience_share": -0.1}, "'patience_share' parameter of EarlyStopping"),
        (EarlyStopping, {"patience_share": np.nan}, "'patience_share' parameter of EarlyStopping"),
    ],
)
def test_fields_are_checked_when_an_object_is_made_or_changed(cls, params, message):
    with pytest.raises(ValueError, match=message):
        cls(**params)
    made = cls()
    with pytest.raises(ValueError, match=message):
        made.set_params(**params)
    assert made == cls()
    state = {**cls().__getstate__(), **params}
    with pytest.raises(ValueError, match=message):
        object.__new__(cls).__setstate__(state)
    with pytest.raises(TypeError, match="unexpected keyword argument 'n_folds'"):
        made.set_params(n_folds=3)


def test_objects_of_parameters_are_compared_cloned_searched_and_kept(tmp_path):
    X, Y = make_data(REGRESSOR, outputs="several")
    pairs = [
        (EarlyStopping(cv=2, refit=True), EarlyStopping(cv=3)),
        (EarlyStopping(cv=[(np.arange(30), np.arange(30, 60))] * 2), EarlyStopping(cv=2)),
        (Projected("pca"), Projected(relabel_leaves=False)),
        (Projected(np.eye(3)[:2], 2), Projected(np.ones((1, 3)))),
        (Projected(sparse.csr_array(np.eye(3)[:2])), Projected(weald.projection.PCAProjection())),
    ]
    for one, other in pairs:
        assert one == one.set_params() != other
        assert clone(one, safe=False) == pickle.loads(pickle.dumps(one)) == copy.deepcopy(one) == one
        name = "output_strategy" if isinstance(one, Projected) else "early_stopping"
        model = make(REGRESSOR, **{name: one}).fit(X, Y)
        assert getattr(clone(model), name) == getattr(weald.loads(weald.dumps(model)), name) == one
        with pytest.raises(dataclasses.FrozenInstanceError):
            one.cv = 3
        with pytest.raises(TypeError, match="unhashable"):
            hash(one)
    search = GridSearchCV(make(REGRESSOR, early_stopping=EarlyStopping(cv=2)), {"early_stopping__cv": [2, 3]}, cv=2)
    search.set_params(estimator__output_strategy=Projected()).fit(X, Y)
    assert search.best_estimator_.early_stopping.cv in (2, 3)
    assert search.estimator.early_stopping == EarlyStopping(cv=2)
    assert search.get_params()["estimator__output_strategy__relabel_leaves"] is True


NUMBER, NUMBERS, LABELS = (REGRESSOR, "single"), (REGRESSOR, "several"), (CLASSIFIER, "labels")


@pytest.mark.parametrize(
    ("case", "params", "parameter"),
    [
        (NUMBER, {"output_scaling": "variance"}, "output_scaling"),
        (NUMBERS, {"output_scaling": [1.0, 2.0, 3.0]}, "output_scaling"),
        (NUMBERS, {"output_weights": [1.0, 2.0, 3.0], "output_strategy": "single_target"}, "output_weights"),
        (NUMBER, {"output_weights": [1.0], "output_strategy": "joint"}, "output_weights"),
        (NUMBER, {"output_strategy": Projected("pca")}, "Projected.projection"),
        (NUMBER, {"output_strategy": Projected(n_projections="log")}, "Projected.n_projections"),
        (NUMBER, {"output_strategy": Projected(relabel_leaves=False)}, "Projected.relabel_leaves"),
        (NUMBERS, {"estimator": Ridge(), "leaf_estimation": "line_search"}, "leaf_estimation"),
        (NUMBERS, {"estimator": Ridge(), "min_weight_leaf": 3.0}, "min_weight_leaf"),
        (NUMBERS, {"estimator": Ridge(), "output_scaling": "variance"}, "output_scaling"),
        (LABELS, {"estimator": Ridge(), "label_weight": "balanced"}, "label_weight"),
        (NUMBER, {"early_stopping": EarlyStopping(patience_share=0.5)}, "EarlyStopping.patience_share"),
        (
            NUMBER,
            {"early_stopping": EarlyStopping(cv=3, patience_share=0.5), "n_iter_no_change": 5},
            "EarlyStopping.patience_share",
        ),
    ],
    ids=str,
)
def test_parameters_of_our_own_without_an_effect_are_refused(case, params, parameter):
    X, y = make_data(case[0], outputs=case[1])
    model = make(case[0]).fit(X, y)
    message = rf"^{re.escape(parameter)} has no effect .*: it must be .*, got "
    check_refused(model.set_params(**params), ValueError, message, X, y)


def test_a_last_fit_has_no_effect_with_a_validation_set():
    X, y = make_data(REGRESSOR)
    model = make(REGRESSOR, early_stopping=EarlyStopping(refit=True)).fit(X, y)
    check_refused(model, ValueError, "^EarlyStopping.refit has no effect with `X_val`", X, y, X_val=X, y_val=y)


def test_the_page_has_the_table_of_parameters_without_an_effect():
    page = (Path(__file__).parents[1] / "docs" / "boosting.md").read_text()
    rows = [f"| {', '.join(f'`{name}`' for name in row.parameters)} | {row.where} |\n" for row in NO_EFFECT]
    assert "| parameters | have no effect |\n|---|---|\n" + "".join(rows) + "\n" in page


@pytest.mark.parametrize(
    ("name", "parameter", "valid"),
    [
        (
            REGRESSOR,
            "loss",
            ["squared_error", "absolute_error", "quantile", "huber", "poisson", "gamma", "tweedie"],
        ),
        (CLASSIFIER, "loss", ["log_loss", "exponential", "hinge", "squared_error"]),
        (REGRESSOR, "output_strategy", ["projected", "joint", "single_target"]),
        (REGRESSOR, "leaf_estimation", ["newton", "line_search"]),
    ],
)
def test_an_unknown_name_raises_an_error_that_lists_the_valid_names(name, parameter, valid):
    X, y = make_data(name)
    with pytest.raises(ValueError, match=f"'{parameter}'") as raised:
        make(name, **{parameter: "unknown"}).fit(X, y)
    assert all(repr(value) in str(raised.value) for value in valid)


def test_losses_of_each_output_have_as_many_values_as_there_are_outputs():
    X, Y = make_data(REGRESSOR, outputs="several")
    for loss in (Huber([1.0, 2.0]), Huber([1.0]), Tweedie([1.5] * 4)):
        model = make(REGRESSOR).fit(X, Y)
        n = len(loss._parameter)
        message = re.escape(f"loss must have one value for all outputs, or 3 of them, one for each output, got {n} in ")
        check_refused(model.set_params(loss=loss), ValueError, message, X, Y)


@pytest.mark.parametrize(
    ("name", "bad", "accepted"),
    [(REGRESSOR, LogLoss(), "squared_error, .*tweedie"), (CLASSIFIER, Poisson(), "squared_error, log_loss, .*hinge")],
)
def test_losses_of_other_kinds_of_y(name, bad, accepted):
    X, y = make_data(name)
    what = "numbers" if name == REGRESSOR else "labels and classes"
    message = f"loss must be a loss of {what}, such as {accepted}, got {type(bad).__name__}"
    check_refused(make(name).fit(X, y).set_params(loss=bad), ValueError, message, X, y)


@pytest.mark.parametrize("weak", [False, True])
@pytest.mark.parametrize(
    ("loss", "bad", "accepted"),
    [
        ("poisson", -1.0, "at least 0"),
        ("tweedie", -1e-300, "at least 0"),
        ("gamma", 0.0, "above 0"),
        ("gamma", -2.0, "above 0"),
    ],
)
def test_y_outside_the_domain_of_the_loss(loss, bad, accepted, weak):
    X, Y = make_data(REGRESSOR, outputs="several")
    Y = np.exp(Y)
    params = {"estimator": Ridge(), "output_strategy": "joint"} if weak else {}
    model = make(REGRESSOR, loss=loss, **params).fit(X, Y)
    outside = Y.copy()
    outside[7, 2] = bad
    # The engine writes a number with all its digits, and Python with an exponent.
    number = r"-(1e-300|0\.0{299}1)" if bad == -1e-300 else f"{bad:g}"
    message = f'must be {accepted}, got {number} with loss="{loss}"$'
    check_refused(model, ValueError, "^y " + message, X, outside)
    check_refused(model, ValueError, "^y_val " + message, X, Y, X_val=X, y_val=outside)
    for fraction in (0.1, 0.9):  # with these fractions, the sample is trained on or held out
        model.set_params(n_iter_no_change=2, validation_fraction=fraction)
        check_refused(model, ValueError, "^y " + message, X, outside)
    model.set_params(n_iter_no_change=None)
    # A sample of weight zero is ignored, whatever its target is.
    w = np.ones(len(X))
    w[7] = 0
    model.fit(X, outside, sample_weight=w, X_val=X, y_val=outside, sample_weight_val=w)
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (
            {"output_strategy": Projected(n_projections=2, relabel_leaves=False)},
            "n_projections must be 1 with relabel_leaves=False, .*got 2",
        ),
        ({"output_strategy": Projected(np.ones((2, 3)), relabel_leaves=False)}, "n_projections must be 1 with .*got 2"),
        (
            {"output_strategy": Projected(np.ones((2, 3)), 3)},
            "n_projections must be 2, the number of rows of the matrix projection, or 1",
        ),
        (
            {"output_strategy": Projected(np.ones((2, 4)))},
            r"^projection must have shape \(n_projections, 3\), with at least one row .*, got \(2, 4\)$",
        ),
        ({"output_strategy": Projected([[np.nan, 0, 0]])}, "^projection must be finite, got NaN"),
        (
            {"output_strategy": Projected(weald.projection.GaussianProjection)},
            r"must be an instance, GaussianProjection\(\), got the class GaussianProjection",
        ),
        (
            {"output_strategy": Projected(lambda d, q, seed: np.ones((q + 1, d)))},
            r"must have shape \(1, 3\), with at least one row .*, got \(2, 3\)$",
        ),
        ({"output_strategy": Projected("subsample", 4)}, "n_projections"),
        ({"output_strategy": Projected(n_projections=2**62)}, "n_projections"),
        (
            {"estimator": Ridge, "output_strategy": Projected(relabel_leaves=False)},
            r"estimator must be an instance, Ridge\(\), got the class Ridge",
        ),
        (
            {"estimator": LogisticRegression(), "output_strategy": Projected(relabel_leaves=False)},
            "estimator must be a regressor of scikit-learn, got LogisticRegression",
        ),
        (
            {"estimator": DecisionTreeClassifier(), "output_strategy": Projected(relabel_leaves=False)},
            "must be a regressor of scikit-learn, got DecisionTreeClassifier",
        ),
        ({"estimator": SVR(), "output_strategy": "joint"}, "estimator must support 3 outputs .*got SVR"),
        (
            {"estimator": Ridge(), "output_strategy": "single_target"},
            "output_strategy must be .* with estimator, .*got 'single_target'",
        ),
        (
            {"estimator": Ridge(), "output_strategy": "projected"},
            r"output_strategy must be .* Projected\(relabel_leaves=False\) with estimator, .*got 'projected'",
        ),
    ],
)
def test_parameters_that_contradict_each_other_or_y(name, params, message):
    X, y = make_data(name, outputs="labels" if name == CLASSIFIER else "several")
    model = make(name).fit(X, y)
    check_refused(model.set_params(**params), ValueError, message, X, y)


@pytest.mark.parametrize(
    ("Y", "message"),
    [
        (sparse.csr_array(np.full((60, 3), 2)), "y must have the values 0 and 1 for labels"),
        (sparse.csr_array(np.full((60, 3), np.nan)), "y must have the values 0 and 1 for labels"),
        (sparse.csr_array((59, 3)), "inconsistent numbers of samples.*60.*59"),
        (np.linspace(0, 1, 60), "continuous|Unknown label type"),
        (np.full((60, 3), 0.5), "continuous|Unknown label type"),
        (np.full((60, 3), np.nan), "NaN"),
    ],
)
def test_y_that_is_no_labels_or_classes(Y, message):
    X, y = make_data(CLASSIFIER)
    check_refused(make(CLASSIFIER).fit(X, y), ValueError, message, X, Y)


def test_y_that_is_not_numerical():
    X, y = make_data(REGRESSOR)
    model = make(REGRESSOR).fit(X, y)
    check_refused(
        model,
        ValueError,
        "y must be .*got a sparse matrix of dtype",
        X,
        sparse.csr_array(np.eye(len(X), dtype=complex)),
    )
    check_refused(model, ValueError, "^y must have numbers, got 'a'", X, ["a"] * len(X))
    check_refused(model, ValueError, "NaN", X, np.full(len(X), np.nan))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(59), r"sample_weight must have shape \(60,\), one weight for each sample, got \(59,\)$"),
        (np.where(np.arange(60) == 5, -1.0, 1.0), "sample_weight must not be negative, got "),
        (np.zeros(60), "sample_weight must be positive for at least one sample"),
        (np.where(np.arange(60) == 5, np.nan, 1.0), "sample_weight contains NaN"),
    ],
)
def test_sample_weights(name, weights, message):
    X, y = make_data(name)
    model = make(name).fit(X, y)
    check_refused(model, ValueError, message, X, y, sample_weight=weights)
    of_val = message.replace("sample_weight", "sample_weight_val")
    check_refused(model, ValueError, of_val, X, y, X_val=X, y_val=y, sample_weight_val=weights)


@pytest.mark.parametrize("class_weight", [{"a": 1, "d": 2}, "even", {"a": -1, "b": 1, "c": 1}])
def test_class_weights(class_weight):
    X, y = make_data(CLASSIFIER)
    check_refused(make(CLASSIFIER).fit(X, y).set_params(class_weight=class_weight), ValueError, "class", X, y)


def test_validation_sets(name):
    X, y = make_data(name)
    model = make(name).fit(X, y)
    check_refused(model, ValueError, "y_val must be given if X_val is, got None", X, y, X_val=X)
    check_refused(model, ValueError, "X_val must be given if y_val is, got None", X, y, y_val=y)
    check_refused(
        model, ValueError, "X_val and y_val must be given if sample_weight_val is", X, y, sample_weight_val=np.ones(60)
    )
    check_refused(model, ValueError, "X_val.*features", X, y, X_val=X[:, 1:], y_val=y)
    check_refused(model, ValueError, "inconsistent numbers", X, y, X_val=X, y_val=y[1:])
    two = np.column_stack([y, y])
    check_refused(model, ValueError, "y_val must have 1 outputs, as in the fit, got 2", X, y, X_val=X, y_val=two)
    check_refused(
        model,
        (TypeError, ValueError),
        "sparse|must have 1 outputs, as in the fit, got 60",
        X,
        y,
        X_val=X,
        y_val=sparse.eye_array(60),
    )
    if name == CLASSIFIER:
        check_refused(
            model, ValueError, "y_val must have classes of the training data, got 'z'", X, y, X_val=X[:1], y_val=["z"]
        )
        Y = make_data(name, outputs="labels")[1]
        check_refused(
            model, ValueError, "y_val must have 3 outputs, as in the fit, got 2", X, Y, X_val=X, y_val=Y[:, :2]
        )
        check_refused(model, ValueError, "must have the values 0 and 1 for labels, got 2", X, Y, X_val=X, y_val=Y + 1)
    model.set_params(n_iter_no_change=2, validation_fraction=0.99)
    check_refused(model, ValueError, "validation_fraction must allow a split of the samples, got 0.99", X[:5], y[:5])


def test_warm_start_refuses_what_cannot_be_added(name):
    X, y = make_data(name)
    model = make(name, warm_start=True, output_strategy="projected").fit(X, y)
    check_refused(
        model.set_params(n_estimators=3),
        ValueError,
        "n_estimators must be at least 5 with warm_start=True, .*got 3",
        X,
        y,
    )
    model.set_params(n_estimators=8)
    check_refused(model, ValueError, "X must have 12 features with warm_start=True, .*got 11", X[:, 1:], y)
    several = make_data(name, outputs="several")[1]
    check_refused(model, ValueError, "y must have 1 outputs with warm_start=True, .*got 3", X, several)
    if name == CLASSIFIER:
        check_refused(model, ValueError, "other classes", X, np.char.upper(y))
    loss = "exponential" if name == CLASSIFIER else "absolute_error"
    changes = {
        "loss": loss,
        "output_strategy": "joint",
        "learning_rate": 0.2,
    }
    for parameter, value in changes.items():
        old = getattr(model, parameter)
        kept = model._shared[parameter]
        message = f"{parameter} must be {kept!r} with warm_start=True, as in the previous fit, got {value!r}"
        check_refused(model.set_params(**{parameter: value}), ValueError, message, X, y)
        model.set_params(**{parameter: old})
    model.set_params(estimator=Ridge())
    check_refused(model, ValueError, "output_strategy|estimator", X, y)
    model.set_params(estimator=None, n_estimators=5)
    with pytest.warns(UserWarning, match="does not fit new stages"):
        model.fit(X, y)


class Bad(RegressorMixin, BaseEstimator):
    """A weak model that predicts or raises what it is given."""

    def __init__(self, predicts=None, raises=None):
        self.predicts = predicts
        self.raises = raises

    def fit(self, X, y):
        if self.raises is not None:
            raise self.raises
        return self

    def predict(self, X):
        return self.predicts(X)


@pytest.mark.parametrize(
    ("weak", "error", "message"),
    [
        (Bad(raises=LookupError("mine")), LookupError, "mine"),
        (Bad(raises=KeyboardInterrupt()), KeyboardInterrupt, None),
        (
            Bad(lambda X: np.full(len(X), np.nan)),
            ValueError,
            "estimator must predict finite numbers, got NaN or infinity from Bad",
        ),
        (
            Bad(lambda X: np.ones((len(X), 2))),
            ValueError,
            "estimator must predict 1 columns for each of 60 samples, got an array of shape .60, 2. from Bad",
        ),
        (Bad(lambda X: ["a"] * len(X)), ValueError, "could not convert"),
        (Bad(lambda X: np.ones(len(X) - 1)), ValueError, "reshape|rows|shape"),
    ],
)
def test_what_weak_models_raise_is_raised(name, weak, error, message):
    X, y = make_data(name)
    y = y if name == REGRESSOR else y == "a"
    model = make(name).fit(X, y)
    check_refused(model.set_params(estimator=weak), error, message, X, y)


def test_weak_models_are_fitted_to_the_principal_direction_of_y():
    X, Y = make_data(REGRESSOR, outputs="several")
    params = {"estimator": Ridge(), "n_estimators": 4}
    model = make(REGRESSOR, output_strategy=Projected("pca", relabel_leaves=False), **params).fit(X, Y)
    direction = np.linalg.svd(Y - Y.mean(axis=0), full_matrices=False)[2][:1]
    given = make(REGRESSOR, output_strategy=Projected(direction, relabel_leaves=False), **params).fit(X, Y)
    # The direction is an eigenvector to 1e-10 of the largest variance; its error is that divided by the relative gap
    # between the variances.
    np.testing.assert_allclose(model.predict(X), given.predict(X), rtol=1e-7)


def test_weak_models_without_weights(name):
    X, y = make_data(name)
    model = make(name, estimator=Bad(lambda X: X[:, 0]), output_strategy=Projected(relabel_leaves=False)).fit(
        X, y, sample_weight=np.ones(60)
    )
    message = "estimator must support sample_weight in fit, .*got Bad"
    check_refused(model, ValueError, message, X, y, sample_weight=np.arange(1, 61))


# Odd input


@pytest.mark.parametrize("params", [{}, {"output_strategy": "projected"}, {"output_strategy": "single_target"}])
def test_one_sample_one_class_constant_y_and_constant_features(name, params):
    X, y = make_data(name)
    model = make(name, **params).fit(X[:1], y[:1])
    assert (model.predict(X) == y[0]).all()
    assert (model.feature_importances_ == 0).all()
    constant = make(name, **params).fit(np.ones_like(X), y)
    assert len(np.unique(constant.predict(X))) == 1
    assert len(make(name, **params).fit(sparse.csr_array(X.shape), y).predict(X)) == len(X)
    if name == REGRESSOR:
        assert (make(name, **params).fit(X, np.full(60, 0.1)).predict(X) == 0.1).all()
    else:
        one = make(name, **params).fit(X, ["only"] * 60)
        assert set(one.predict(X)) == {"only"}
        assert (one.predict_proba(X) == 1).all()
        assert np.isfinite(one.decision_function(X)).all()


@pytest.mark.parametrize("loss", ["log_loss", "exponential", "hinge", "squared_error"])
@pytest.mark.parametrize("strategy", ["projected", "joint", "single_target"])
def test_a_constant_label_keeps_its_column(loss, strategy):
    X, Y = make_data(CLASSIFIER, outputs="labels")
    Y[:, 0], Y[:, 1] = 0, 1
    model = make(CLASSIFIER, loss=loss, output_strategy=strategy, learning_rate=1.0, n_estimators=30).fit(X, Y)
    assert np.isfinite(model.decision_function(X)).all()
    assert (model.predict(X)[:, :2] == [0, 1]).all()
    one = make(CLASSIFIER, loss=loss, output_strategy=strategy).fit(X, sparse.csc_matrix(Y[:, 2:]))
    assert one.predict(X).shape == (60, 1)
    assert one.decision_function(X).shape == (60, 1)


@pytest.mark.parametrize("loss", ["log_loss", "exponential", "hinge"])
def test_separable_classes_stay_finite(loss):
    X = np.arange(40.0)[:, None]
    y = np.arange(40) >= 20
    model = make(CLASSIFIER, loss=loss, learning_rate=1.0, n_estimators=200).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    assert np.isfinite(model.train_score_).all()
    assert (model.predict(X) == y).all()


def test_tiny_and_huge_targets():
    X, y = make_data(REGRESSOR)
    for scale in (1e-100, 1e100):
        model = make(REGRESSOR).fit(X, y * scale)
        assert np.isfinite(model.predict(X)).all()
        # `scale` is not a power of two, so that y * scale and the sums of products are rounded.
        np.testing.assert_allclose(model.predict(X) / scale, make(REGRESSOR).fit(X, y).predict(X), rtol=1e-11)


def test_broken_models_are_refused():
    X, y = make_data(CLASSIFIER)
    data = model_bytes(make(CLASSIFIER).fit(X, y))
    for broken in (data[: len(data) // 2], data[:8] + b"x" + data[9:], b"", pickle.dumps(X)):
        with pytest.raises(ValueError, match="not a valid weald model"):
            _weald.Boosted.from_bytes(broken)


# Interruption and threads


def test_models_cannot_be_changed():
    X, y = make_data(CLASSIFIER)
    model = make(CLASSIFIER).fit(X, y)
    with pytest.raises(AttributeError):
        model._model.n_stages = 3
    with pytest.raises(ValueError, match="read-only"):
        model[0].tree_.threshold[0] = 1
