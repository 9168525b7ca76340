"""Bad input, odd input, interruption, exhaustion, threads, forks. An error names its argument and changes nothing."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import spinney
from conftest import ALL, CLASSIFIERS, FORESTS, REGRESSORS, make, make_data, model_bytes
from scipy import sparse
from sklearn.exceptions import NotFittedError
from spinney import _spinney

SPARSE = [sparse.csr_array, sparse.csc_array]


def with_value(X, value, container):
    X = X.copy()
    X[3, 2] = value
    return container(X)


@pytest.mark.parametrize("container", [np.asarray, *SPARSE])
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.nan, "X contains NaN.*not supported yet"),
        (np.inf, "X contains infinity or a value too large"),
        (-np.inf, "X contains infinity or a value too large"),
        (1e300, "X contains infinity or a value too large for dtype..float32"),
    ],
)
def test_values_of_X_that_are_no_float32(name, container, value, message):
    X, y = make_data(name)
    model = make(name).fit(X, y)
    bad = with_value(X, value, container)
    with pytest.raises(ValueError, match=message):
        make(name).fit(bad, y)
    for method in ("predict", "apply", "decision_path"):
        with pytest.raises(ValueError, match=message):
            getattr(model, method)(bad)


def test_finite_values_whose_sum_overflows_float32_are_fine(name):
    X, y = make_data(name)
    X[:, 0] = 3e38
    make(name).fit(X, y).predict(X)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.zeros((0, 3)), np.zeros(0), "0 sample"),
        (np.zeros((3, 0)), np.zeros(3), "0 feature"),
        (np.zeros(3), np.zeros(3), "2D array"),
        (np.zeros((3, 2, 2)), np.zeros(3), "dim 3"),
        (np.zeros((3, 2)), np.zeros(4), "inconsistent numbers of samples"),
        (np.zeros((3, 2)), np.zeros(0), "inconsistent numbers|0 sample"),
        (np.zeros((3, 2)), np.zeros((3, 2, 2)), "dim 3"),
        (np.zeros((3, 2)), np.array(0.0), "y|array"),
        (np.zeros((3, 2)), None, "y is None"),
        (np.array([["a", "b"]] * 3), np.zeros(3), "could not convert string"),
        (np.zeros((3, 2), dtype=complex), np.zeros(3), "[Cc]omplex"),
        (sparse.csr_array((0, 3)), np.zeros(0), "0 sample"),
        (sparse.csc_array((3, 0)), np.zeros(3), "0 feature"),
    ],
)
def test_shapes_and_types(name, X, y, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make(name).fit(X, y)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_y_that_is_not_finite(name, value):
    X, y = make_data(name)
    y = np.arange(len(X), dtype=float)
    y[1] = value
    with pytest.raises(ValueError, match=r"y contains (NaN|infinity)|Input y"):
        make(name).fit(X, y)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_continuous_y_is_not_for_classifiers(name):
    X, _ = make_data(name)
    with pytest.raises(ValueError, match=r"continuous|Unknown label type"):
        make(name).fit(X, np.linspace(0, 1, len(X)))


@pytest.mark.parametrize("name", REGRESSORS)
def test_sparse_y_is_not_for_regressors(name):
    X, _ = make_data(name)
    with pytest.raises(TypeError, match=r"y is sparse.*dense"):
        make(name).fit(X, sparse.csr_array(np.eye(len(X))))


@pytest.mark.parametrize("name", REGRESSORS)
def test_text_y_is_not_for_regressors(name):
    X, _ = make_data(name)
    with pytest.raises(ValueError, match="could not convert"):
        make(name).fit(X, ["a"] * len(X))


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize(
    ("Y", "message"),
    [
        (sparse.csr_array(np.full((60, 3), 2)), "y is sparse and holds values other than 0 and 1"),
        (sparse.csr_array(np.full((60, 3), -1.0)), "y is sparse and holds values other than 0 and 1"),
        (sparse.csr_array(np.full((60, 3), np.nan)), "y is sparse and holds values other than 0 and 1"),
        (sparse.csr_array(np.full((60, 3), 1j)), "y is sparse of dtype complex"),
        (sparse.csr_array((59, 3)), "inconsistent numbers of samples.*60.*59"),
        (sparse.csr_array((60, 0)), "y is 0 columns wide"),
        (sparse.coo_array(np.ones(60)), "y is sparse with 1 dimension"),
    ],
)
def test_sparse_y_that_is_no_labels(name, Y, message):
    X, _ = make_data(name)
    with pytest.raises(ValueError, match=message):
        make(name).fit(X, Y)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(59), "sample_weight has shape"),
        (np.ones((60, 1)), "sample_weight has shape|1D"),
        (np.where(np.arange(60) == 5, -1.0, 1.0), "sample_weight has a negative value"),
        (np.zeros(60), "sample_weight is zero for every row"),
        (np.where(np.arange(60) == 5, np.nan, 1.0), "sample_weight contains NaN"),
        (np.where(np.arange(60) == 5, np.inf, 1.0), "sample_weight contains infinity"),
        (0, "sample_weight is zero for every row"),
        (["a"] * 60, "could not convert"),
    ],
)
def test_sample_weights(name, weights, message):
    X, y = make_data(name)
    with pytest.raises(ValueError, match=message):
        make(name).fit(X, y, sample_weight=weights)


def test_a_number_as_sample_weight_is_the_same_for_all(name):
    X, y = make_data(name)
    np.testing.assert_array_equal(make(name).fit(X, y, sample_weight=0.5).apply(X), make(name).fit(X, y).apply(X))


@pytest.mark.parametrize(
    "params",
    [
        {"max_depth": 0},
        {"max_depth": 2.5},
        {"min_samples_split": 1},
        {"min_samples_split": 0.0},
        {"min_samples_leaf": 0},
        {"min_samples_leaf": 1.0},
        {"min_weight_fraction_leaf": 0.6},
        {"max_features": 0},
        {"max_features": 1.5},
        {"max_features": "auto"},
        {"max_leaf_nodes": 1},
        {"min_impurity_decrease": -0.1},
        {"criterion": "absolute_error"},
        {"random_state": "seed"},
        {"output_projection": "gauss"},
        {"output_projection": 3},
        {"n_projections": 0},
        {"n_projections": -1},
        {"n_projections": 0.0},
        {"n_projections": 1.5},
        {"n_projections": np.nan},
        {"n_projections": "sqrt"},
        {"n_projections": None},
    ],
)
def test_parameters(name, params):
    X, y = make_data(name)
    (parameter,) = params
    with pytest.raises(ValueError, match=f"'{parameter}' parameter of {name}"):
        make(name, **params).fit(X, y)


@pytest.mark.parametrize("name", FORESTS)
@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_estimators": 0}, "n_estimators"),
        ({"bootstrap": False, "oob_score": True}, "oob_score.*bootstrap=True"),
        ({"bootstrap": False, "max_samples": 5}, "max_samples.*bootstrap=True"),
        ({"bootstrap": True, "max_samples": 0}, "max_samples"),
        ({"bootstrap": True, "max_samples": -0.5}, "max_samples"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"projection_scope": "node"}, "'projection_scope' parameter"),
    ],
)
def test_parameters_of_forests(name, params, message):
    X, y = make_data(name)
    with pytest.raises(ValueError, match=message):
        make(name, **params).fit(X, y)


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("class_weight", [{"a": 1, "d": 2}, "even", [{"a": 1}] * 2, {"a": -1, "b": 1, "c": 1}])
def test_class_weights(name, class_weight):
    X, y = make_data(name)
    with pytest.raises(ValueError, match="class"):
        make(name, class_weight=class_weight).fit(X, y)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classes_of_weight_zero_are_left_out_of_growth(name):
    X, y = make_data(name)
    model = make(name, class_weight={"a": 0, "b": 1, "c": 1}).fit(X, y)
    assert (model.predict_proba(X)[:, 0] == 0).all()
    with pytest.raises(ValueError, match="class_weight is zero for every row"):
        make(name, class_weight={"a": 0, "b": 0, "c": 0}).fit(X, y)


def projected(name, n=60, **params):
    """An estimator, and data of three outputs: labels or numbers."""
    X, y = make_data(name, n=n, outputs="labels" if name in CLASSIFIERS else "several")
    return make(name, **params), X, y


def test_an_unknown_family_is_told_those_that_exist(name):
    model, X, y = projected(name, output_projection="gauss")
    with pytest.raises(ValueError, match="'output_projection'") as raised:
        model.fit(X, y)
    for family in ("achlioptas", "gaussian", "hadamard", "pca", "rademacher", "sparse", "subsample"):
        assert repr(family) in str(raised.value)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_projections": True}, "n_projections is True, accepted"),
        ({"n_projections": True, "output_projection": "gaussian"}, "n_projections is True, accepted"),
        (
            {"output_projection": spinney.projection.GaussianProjection},
            "the class GaussianProjection, accepted: an obj",
        ),
        ({"output_projection": spinney.projection.Projection()}, "Projection is no family"),
        ({"output_projection": "subsample", "n_projections": 4}, "n_projections"),
        ({"output_projection": "hadamard", "n_projections": 5}, "n_projections"),
        ({"output_projection": "pca", "n_projections": 4}, "n_projections"),
        (
            {"output_projection": np.ones((2, 4))},
            r"output_projection has shape \(2, 4\), expected \(n_projections, 3\)",
        ),
        ({"output_projection": sparse.csr_array(np.ones((2, 4)))}, "output_projection has shape"),
        ({"output_projection": np.ones(3)}, "output_projection has shape"),
        ({"output_projection": np.ones((1, 2, 3))}, "output_projection has shape"),
        ({"output_projection": np.ones((0, 3))}, r"output_projection has shape \(0, 3\)"),
        ({"output_projection": sparse.csr_array((0, 3))}, r"output_projection has shape \(0, 3\)"),
        ({"output_projection": []}, "output_projection"),
        ({"output_projection": np.array(1.0)}, "output_projection"),
        ({"output_projection": [[1, 2], [3]]}, "output_projection is not a matrix of numbers"),
        ({"output_projection": [["a", "b", "c"]]}, "output_projection is not a matrix of numbers"),
        ({"output_projection": [[1j, 0, 0]]}, "output_projection is not a matrix of numbers"),
        ({"output_projection": [[np.nan, 0, 0]]}, "output_projection contains NaN"),
        ({"output_projection": [[np.inf, 0, 0]]}, "output_projection contains infinity"),
        ({"output_projection": sparse.csr_array([[np.nan, 0, 0]])}, "output_projection contains NaN"),
        ({"output_projection": np.ones((2, 3)), "n_projections": 3}, "n_projections is 3, but .* matrix of 2 rows"),
        ({"output_projection": np.ones((2, 3)), "n_projections": 1.0}, "n_projections is 1.0, but"),
        ({"output_projection": lambda d, q, s: np.ones((q + 1, d))}, r"has shape \(2, 3\), expected \(1, 3\)"),
        ({"output_projection": lambda d, q, s: np.ones((q, d - 1))}, "has shape"),
        ({"output_projection": lambda d, q, s: np.full((q, d), np.nan)}, "contains NaN"),
        ({"output_projection": lambda d, q, s: None}, "not a matrix|has shape"),
        ({"output_projection": lambda d, q, s: "rubbish"}, "not a matrix|has shape"),
    ],
)
def test_projections(name, params, message):
    model, X, y = projected(name)
    model.fit(X, y)
    before = model_bytes(model)
    with pytest.raises((ValueError, TypeError), match=message):
        model.set_params(**params).fit(X, y)
    assert model_bytes(model) == before


def test_what_a_callable_raises_is_raised(name):
    model, X, y = projected(name)
    before = model_bytes(model.fit(X, y))
    for error in (KeyError("mine"), KeyboardInterrupt()):

        def draw(n_outputs, n_projections, random_state, error=error):
            raise error

        with pytest.raises(type(error)):
            model.set_params(output_projection=draw).fit(X, y)
        assert model_bytes(model) == before
    with pytest.raises(TypeError, match="argument"):
        model.set_params(output_projection=lambda d: None).fit(X, y)


def test_matrices_of_projections_are_not_written_to(name):
    model, X, y = projected(name)
    zeros = sparse.csr_array(np.array([[2.0, 0, 1], [0, 1, 0]]))
    messy = sparse.csr_array((np.ones(4), np.array([2, 0, 0, 1]), np.array([0, 3, 4])), shape=(2, 3))
    stored = sparse.csr_array((np.array([2.0, 0, 1, 1]), np.array([0, 1, 2, 1]), np.array([0, 3, 4])), shape=(2, 3))
    frozen = np.array([[1, 0, 2], [0, 1, 0]], dtype=np.float32)[:, ::-1]
    frozen.flags.writeable = False
    expected = model.set_params(output_projection=zeros.toarray()).fit(X, y)._forest
    for phi in (zeros, messy, stored, frozen):
        parts = [phi.data, phi.indices, phi.indptr] if sparse.issparse(phi) else [phi]
        before = [part.copy() for part in parts]
        assert model.set_params(output_projection=phi).fit(X, y)._forest == expected
        for old, new in zip(
            before, [phi.data, phi.indices, phi.indptr] if sparse.issparse(phi) else [phi], strict=True
        ):
            np.testing.assert_array_equal(old, new)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_single_output_of_classes_has_no_projection(name):
    X, y = make_data(name)
    for phi in ("gaussian", np.eye(3)):
        with pytest.raises(ValueError, match=r"output_projection is for several outputs.*single output of classes"):
            make(name, output_projection=phi).fit(X, y)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_criteria_of_projected_classifiers(name):
    for criterion in ("entropy", "log_loss"):
        model, X, y = projected(name, criterion=criterion, output_projection="gaussian")
        with pytest.raises(ValueError, match=f"criterion is '{criterion}'.*accepted: 'gini' and 'squared_error'"):
            model.fit(X, y)
    model, X, y = projected(name, criterion="squared_error")
    with pytest.raises(ValueError, match=r"criterion is 'squared_error'.*output_projection only"):
        model.fit(X, y)


@pytest.mark.parametrize("name", REGRESSORS)
def test_criteria_of_regressors_are_not_those_of_classifiers(name):
    model, X, y = projected(name, criterion="gini", output_projection="gaussian")
    with pytest.raises(ValueError, match="'criterion' parameter"):
        model.fit(X, y)


def test_more_projections_than_the_engine_counts(name):
    for family in ("gaussian", "rademacher", "sparse", spinney.projection.SubsampleProjection(replacement=True)):
        for count in (2**40, 2**62, 10**30):
            model, X, y = projected(name, output_projection=family, n_projections=count)
            with pytest.raises(ValueError, match=r"n_projections is .* accepted"):
                model.fit(X, y)


@pytest.mark.parametrize(
    ("make_family", "message"),
    [
        (lambda: spinney.projection.RademacherProjection(0.5), "sparsity is 0.5, accepted"),
        (lambda: spinney.projection.RademacherProjection(np.nan), "sparsity is nan"),
        (lambda: spinney.projection.RademacherProjection(np.inf), "sparsity is inf"),
        (lambda: spinney.projection.RademacherProjection(True), "sparsity is True"),
        (lambda: spinney.projection.RademacherProjection("log"), "sparsity is 'log'.*achlioptas.*sqrt"),
        (lambda: spinney.projection.RademacherProjection(None), "sparsity is None"),
        (lambda: spinney.projection.SubsampleProjection("yes"), "replacement is 'yes'"),
        (lambda: spinney.projection.GaussianProjection().draw(0), "n_outputs is 0"),
        (lambda: spinney.projection.GaussianProjection().draw(2.0), "n_outputs is 2.0"),
        (lambda: spinney.projection.GaussianProjection().draw(True), "n_outputs is True"),
        (lambda: spinney.projection.GaussianProjection().draw(3, 0), "n_projections is 0"),
        (lambda: spinney.projection.GaussianProjection().draw(3, True), "n_projections is True"),
        (lambda: spinney.projection.GaussianProjection().draw(3, 2.0), "n_projections is 2.0"),
        (lambda: spinney.projection.GaussianProjection().draw(3, "sqrt"), "n_projections is 'sqrt'"),
        (lambda: spinney.projection.GaussianProjection().draw(3, 1, "seed"), "seed"),
        (lambda: spinney.projection.SubsampleProjection().draw(3, 4), "n_projections"),
        (lambda: spinney.projection.HadamardProjection().draw(3, 5), "n_projections"),
        (lambda: spinney.projection.johnson_lindenstrauss_dim(0, 0.5), "n_samples is 0"),
        (lambda: spinney.projection.johnson_lindenstrauss_dim(2.5, 0.5), "n_samples is 2.5"),
        (lambda: spinney.projection.johnson_lindenstrauss_dim(9, 0), "eps is 0"),
        (lambda: spinney.projection.johnson_lindenstrauss_dim(9, 1.0), "eps is 1"),
        (lambda: spinney.projection.johnson_lindenstrauss_dim(9, "a"), "eps is 'a'"),
        (lambda: spinney.projection.johnson_lindenstrauss_dim(9, np.nan), "eps is"),
    ],
)
def test_families_and_their_draws(make_family, message):
    with pytest.raises(ValueError, match=message):
        make_family()


def test_enormous_integers_are_limits_that_never_bind(name):
    X, y = make_data(name)
    params = {"max_depth": 10**30, "max_features": 10**30, "max_leaf_nodes": 10**30}
    assert make(name, **params).fit(X, y).predict(X).shape == (len(X),)
    stump = make(name, min_samples_split=10**30).fit(X, y)
    assert (stump.apply(X) == 0).all()


def test_predict_wants_the_features_of_fit(name):
    X, y = make_data(name)
    model = make(name).fit(X, y)
    for container in (np.asarray, *SPARSE):
        with pytest.raises(ValueError, match=r"11 features.*expecting 12"):
            model.predict(container(X[:, 1:]))


def test_unfitted(name):
    X, _ = make_data(name)
    model = make(name)
    for method in ("predict", "apply", "decision_path", "predict_proba", "predict_log_proba", "get_depth"):
        if hasattr(type(model), method):
            with pytest.raises(NotFittedError):
                getattr(model, method)(*([] if method == "get_depth" else [X]))
    for attribute in ("feature_importances_", *(["estimators_"] if name in FORESTS else [])):
        with pytest.raises(NotFittedError):
            getattr(model, attribute)


@pytest.mark.parametrize("k", [0, 4, -1, 1.5, "2"])
def test_k_out_of_range(k):
    X, y = make_data("RandomForestClassifier")
    with pytest.raises(ValueError, match=f"k is {k!r}, accepted: an integer from 1 to 3"):
        make("RandomForestClassifier").fit(X, y).predict_topk(X, k)


@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array])
def test_unsorted_and_duplicate_entries_are_repaired_on_a_copy(name, container):
    X, y = make_data(name)
    X = X.astype(np.float32)
    clean = container(X)
    major = np.repeat(np.arange(len(clean.indptr) - 1), np.diff(clean.indptr))
    # Every entry is split in two halves, all of them in falling order.
    order = np.lexsort((-np.repeat(clean.indices, 2), np.repeat(major, 2)))
    messy = container(
        (np.repeat(clean.data / 2, 2)[order], np.repeat(clean.indices, 2)[order], clean.indptr * 2), shape=X.shape
    )
    before = [a.copy() for a in (messy.data, messy.indices, messy.indptr)]
    model = make(name).fit(messy, y)
    assert model_bytes(model) == model_bytes(make(name).fit(X, y))
    np.testing.assert_array_equal(model.predict(messy), model.predict(X))
    for old, new in zip(before, (messy.data, messy.indices, messy.indptr), strict=True):
        np.testing.assert_array_equal(old, new)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_labels_with_explicit_zeros_and_duplicates_are_repaired_on_a_copy(name):
    X, Y = make_data(name, outputs="labels")
    rows, columns = np.nonzero(Y)
    zeros = np.nonzero(Y == 0)
    everything = np.ones(len(rows), dtype=np.int64)
    messy = sparse.coo_array(
        (
            np.concatenate([everything, everything, np.zeros(len(zeros[0]), dtype=np.int64)]),
            (np.concatenate([rows, rows, zeros[0]]), np.concatenate([columns, columns, zeros[1]])),
        ),
        shape=Y.shape,
    )
    before = messy.data.copy()
    assert model_bytes(make(name).fit(X, messy)) == model_bytes(make(name).fit(X, Y))
    np.testing.assert_array_equal(messy.data, before)


@pytest.mark.parametrize("broken", ["indptr falls", "index too large", "index negative", "indptr too long"])
def test_sparse_X_that_contradicts_itself(name, broken):
    X, y = make_data(name)
    bad = sparse.csr_matrix(X.astype(np.float32))
    if broken == "indptr falls":
        bad.indptr[3] = bad.indptr[-1]
    elif broken == "index too large":
        bad.indices[5] = 10**6
    elif broken == "index negative":
        bad.indices[5] = -1
    else:
        bad.indptr = np.append(bad.indptr, bad.indptr[-1])
    with pytest.raises(ValueError, match=r"X is not a valid sparse matrix|indptr"):
        make(name).fit(bad, y)


def test_the_engine_itself_refuses_what_contradicts_itself():
    X, y = make_data("DecisionTreeRegressor")
    model = make("DecisionTreeRegressor").fit(X, y)._forest
    good = sparse.csr_matrix(X.astype(np.float32))
    for change in ({"indptr": good.indptr[:-1]}, {"indices": good.indices[:-1]}, {"data": good.data[:-1]}):
        bad = good.copy()
        bad.__dict__.update(change)
        with pytest.raises(ValueError, match="X"):
            model.predict(bad)
    bad = good.copy()
    bad.indices = bad.indices.astype(np.int64) - 2**40
    with pytest.raises(ValueError, match="out of range"):
        model.predict(bad)
    bad = good.copy()
    bad.indices[0] = -1
    with pytest.raises(ValueError, match="X is not a valid sparse matrix"):
        model.predict(bad)
    with pytest.raises(TypeError, match="X is sparse in format coo"):
        model.predict(good.tocoo())
    with pytest.raises(TypeError, match="X is a list"):
        model.predict([[1.0]])
    with pytest.raises(TypeError):
        model.predict(X)  # float64


@pytest.mark.parametrize("how", ["truncated", "flipped", "empty", "foreign"])
def test_broken_models_are_refused(how):
    X, y = make_data("RandomForestClassifier")
    data = model_bytes(make("RandomForestClassifier").fit(X, y))
    broken = {
        "truncated": data[: len(data) // 2],
        "flipped": data[:8] + b"x" + data[9:],
        "empty": b"",
        "foreign": pickle.dumps(X),
    }[how]
    with pytest.raises(ValueError, match="not a valid spinney model"):
        _spinney.Forest.from_bytes(broken)


def test_one_sample(name):
    X, y = make_data(name)
    model = make(name).fit(X[:1], y[:1])
    assert (model.predict(X) == y[0]).all()
    assert (model.feature_importances_ == 0).all()


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_one_class(name):
    X, _ = make_data(name)
    model = make(name).fit(X, ["only"] * len(X))
    assert model.classes_.tolist() == ["only"]
    assert set(model.predict(X)) == {"only"}
    assert (model.predict_proba(X) == 1).all()


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_constant_label_keeps_its_column(name):
    X, Y = make_data(name, outputs="labels")
    Y[:, 0], Y[:, 1] = 0, 1
    model = make(name).fit(X, Y)
    assert (model.predict_proba(X)[:, :2] == [0, 1]).all()
    assert (model.predict(X)[:, :2] == [0, 1]).all()


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_one_label(name):
    X, Y = make_data(name, outputs="labels")
    model = make(name).fit(X, sparse.csc_matrix(Y[:, :1]))
    assert model.predict(X).shape == (len(X), 1)
    assert model.predict_proba(X).shape == (len(X), 1)


@pytest.mark.parametrize("name", REGRESSORS)
def test_constant_y(name):
    X, _ = make_data(name)
    model = make(name).fit(X, np.full(len(X), 0.1))
    assert (model.predict(X) == 0.1).all()


def test_all_columns_tied(name):
    X, y = make_data(name)
    model = make(name).fit(np.ones_like(X), y)
    assert len(np.unique(model.apply(np.ones_like(X)), axis=0)) == 1
    assert (model.feature_importances_ == 0).all()


def test_an_empty_sparse_matrix_of_the_right_shape(name):
    X, y = make_data(name)
    model = make(name).fit(sparse.csr_array(X.shape), y)
    assert len(model.predict(sparse.csc_array(X.shape))) == len(X)


@pytest.mark.parametrize("name", ["DecisionTreeClassifier", "RandomForestClassifier"])
def test_a_chain_of_twenty_thousand_splits(name):
    # Where classes alternate, the cut that takes one row off an end is the best of all.
    n = 20_001
    X = np.arange(n, dtype=np.float32)[:, None]
    params = {"n_estimators": 1, "bootstrap": False} if name in FORESTS else {}
    model = make(name, **params).fit(X, np.arange(n) % 2)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), np.arange(n) % 2)
    tree = model if name not in FORESTS else model[0]
    assert tree.get_n_leaves() == n
    assert tree.get_depth() > n / 2
    assert tree.decision_path(X[-2:]).shape == (2, 2 * n - 1)


def test_many_nodes():
    rng = np.random.default_rng(0)
    X = rng.random((80_000, 3), dtype=np.float32)
    y = rng.random(80_000)
    model = make("ExtraTreeRegressor", max_features=1).fit(X, y)
    assert model.tree_.node_count > 70_000
    np.testing.assert_array_equal(model.predict(X), y)
    assert model_bytes(pickle.loads(pickle.dumps(model))) == model_bytes(model)


@pytest.mark.parametrize("failure", ["X", "y", "sample_weight", "parameter", "interrupt"])
@pytest.mark.parametrize("fitted", [True, False])
def test_a_failed_fit_leaves_the_estimator_as_it_was(name, failure, fitted, monkeypatch):
    X, y = make_data(name)
    model = make(name)
    if fitted:
        model.fit(X, y)
    before = dict(model.__dict__)
    X_new, y_new, w = make_data(name, seed=1, p=7)[0], y, None
    if failure == "X":
        X_new = with_value(X_new, np.nan, np.asarray)
    elif failure == "y":
        y_new = y[1:]
    elif failure == "sample_weight":
        w = -np.ones(len(X))
    elif failure == "parameter":
        monkeypatch.setattr(model, "max_depth", -1)
        before["max_depth"] = -1
    else:

        def interrupted(*args):
            raise KeyboardInterrupt

        monkeypatch.setattr(_spinney, "fit_forest" if name in FORESTS else "fit_tree", interrupted)
    with pytest.raises((ValueError, KeyboardInterrupt)):
        model.fit(X_new, y_new, sample_weight=w)
    assert model.__dict__.keys() == before.keys()
    assert all(model.__dict__[key] is before[key] for key in before)


def test_predict_from_sixteen_threads(name):
    X, y = make_data(name, n=300)
    model = make(name).fit(X, y)
    expected = model.predict(X)
    with ThreadPoolExecutor(16) as pool:
        for found in pool.map(lambda _: model.predict(X), range(64)):
            np.testing.assert_array_equal(found, expected)


def test_fit_from_threads():
    X, y = make_data("RandomForestClassifier", n=300)
    with ThreadPoolExecutor(8) as pool:
        models = list(pool.map(lambda _: make("RandomForestClassifier", n_jobs=2).fit(X, y), range(16)))
    assert len({model_bytes(model) for model in models}) == 1


def run(code: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    source = [sys.executable, "-W", "error", "-c", textwrap.dedent(code)]
    return subprocess.run(source, capture_output=True, text=True, timeout=timeout, check=False)


# Work that lasts minutes, and what is asked of it.
LONG = """
    import sys, time, numpy as np, spinney
    rng = np.random.default_rng(0)
    kind = sys.argv[1]
    if kind == "fit tree":
        model = spinney.DecisionTreeRegressor()
        X, y = rng.random((200_000, 300), dtype=np.float32), rng.random(200_000)
        work = lambda: model.fit(X, y)
    elif kind == "fit forest":
        model = spinney.RandomForestClassifier(n_estimators=100_000, n_jobs=2)
        X, y = rng.random((5_000, 50), dtype=np.float32), rng.integers(0, 5, 5_000)
        work = lambda: model.fit(X, y)
    elif kind == "draw":
        model = spinney.projection.GaussianProjection()
        work = lambda: model.draw(20_000, 20_000)
    elif kind == "principal directions":
        model = spinney.DecisionTreeRegressor(output_projection="pca")
        X, y = rng.random((4_000, 1), dtype=np.float32), rng.random((4_000, 2_000))
        work = lambda: model.fit(X, y)
    elif kind == "project":
        from scipy import sparse
        model = spinney.DecisionTreeClassifier(output_projection="rademacher", n_projections=2_000)
        n, d, entries = 20_000, 50_000, 500
        indices = np.arange(0, d, d // entries) + rng.integers(0, d // entries, (n, entries))
        ones = np.ones(n * entries, dtype=np.int8)
        y = sparse.csr_array((ones, indices.ravel().astype(np.int32), np.arange(n + 1) * entries), shape=(n, d))
        X = rng.random((n, 1), dtype=np.float32)
        work = lambda: model.fit(X, y)
    else:
        model = spinney.RandomForestRegressor(n_estimators=300, n_jobs=2)
        X = rng.random((2_000, 10), dtype=np.float32)
        model.fit(X, rng.random((2_000, 20)))
        X = np.tile(X, (200, 1))
        work = lambda: model.predict(X)
    print("ready", flush=True)
    try:
        work()
    except KeyboardInterrupt:
        print(time.monotonic(), "fitted" if hasattr(model, "n_features_in_") else "unfitted", flush=True)
    else:
        print("finished", flush=True)
"""


@pytest.mark.parametrize(
    ("kind", "wait"),
    [
        ("fit tree", 1.0),
        ("fit forest", 1.0),
        ("draw", 1.0),
        ("principal directions", 1.0),
        ("project", 4.0),
        ("predict", 1.0),
    ],
)
def test_ctrl_c_is_answered_within_half_a_second(kind, wait):
    source = [sys.executable, "-c", textwrap.dedent(LONG), kind]
    with subprocess.Popen(source, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            time.sleep(wait)
            sent = time.monotonic()
            process.send_signal(signal.SIGINT)
            answer = process.stdout.readline().split()
            assert len(answer) == 2, (answer, process.stderr.read())
            assert float(answer[0]) - sent < 0.5
            assert answer[1] == ("fitted" if kind == "predict" else "unfitted")
        finally:
            process.kill()


@pytest.mark.skipif(sys.platform != "linux", reason="limits the address space")
@pytest.mark.parametrize("what", ["fit", "predict", "labels"])
def test_memory_that_cannot_be_had_is_a_memory_error(what):
    code = f"""
    import resource, numpy as np, spinney
    what = {what!r}
    rng = np.random.default_rng(0)
    X = rng.random((200, 5), dtype=np.float32)
    model = spinney.ExtraTreesClassifier(n_estimators=1) if what == "labels" else spinney.DecisionTreeRegressor()
    if what == "labels":
        from scipy import sparse
        Y = sparse.csr_array((np.ones(200), np.arange(200), np.arange(201)), shape=(200, 1_000_000))
        model.fit(X, Y)
    else:
        model.fit(X, rng.random((200, 1000)))
    big = np.zeros((60_000_000, 5), dtype=np.float32) if what == "fit" else np.zeros((400_000, 5), dtype=np.float32)
    y = np.zeros(len(big))
    with open("/proc/self/statm") as pages:
        used = int(pages.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 400_000_000, resource.RLIM_INFINITY))
    before = model.__dict__.copy()
    try:
        if what == "fit":
            model.fit(big, y)
        else:
            (model.predict_proba if what == "labels" else model.predict)(big)
    except MemoryError as error:
        assert model.__dict__ == before
        print("MemoryError", error)
    """
    done = run(code)
    assert done.stdout.startswith("MemoryError"), (done.stdout, done.stderr, done.returncode)


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory as Linux has them")
@pytest.mark.parametrize(
    "work",
    [
        "tree('gaussian').fit(X, X)",
        "tree('sparse').fit(X, X)",
        "tree(p.SubsampleProjection(replacement=True)).fit(X, X)",
        "tree(lambda d, q, seed: np.broadcast_to(1.0, (q, d))).fit(X, X)",
        "p.GaussianProjection().draw(3, n)",
        "p.RademacherProjection('sqrt').draw(3, n)",
        "p.SubsampleProjection(replacement=True).draw(3, n)",
        "p.SubsampleProjection().draw(n, n)",
        "p.HadamardProjection().draw(n, 1000)",
        "p.HadamardProjection().draw(n, n)",
        "p.PCAProjection().draw(n, 8, y=sparse.eye_array(50, n, format='csr'))",
        # One block of vectors has room, a second one not.
        "p.PCAProjection().draw(n >> 8, 8, y=sparse.eye_array(50, n >> 8, format='csr'))",
    ],
)
def test_projections_that_memory_does_not_hold(work):
    code = f"""
    import resource, numpy as np, spinney
    import spinney.projection as p
    from scipy import sparse
    X, n = np.random.default_rng(0).random((50, 3)), 1 << 28
    tree = lambda phi: spinney.DecisionTreeRegressor(output_projection=phi, n_projections=n)
    tree("gaussian").set_params(n_projections=1).fit(X, X)
    with open("/proc/self/statm") as pages:
        used = int(pages.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 400_000_000, resource.RLIM_INFINITY))
    try:
        {work}
        print("finished")
    except MemoryError as error:
        print("MemoryError", error)
    """
    done = run(code)
    assert done.stdout.startswith("MemoryError"), (done.stdout, done.stderr[-2000:], done.returncode)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_fork_after_fit_does_not_hang():
    code = """
    import os, signal, numpy as np, spinney
    rng = np.random.default_rng(0)
    X, y = rng.random((3000, 20)), rng.integers(0, 3, 3000)
    model = spinney.RandomForestClassifier(n_estimators=30, n_jobs=4, random_state=0).fit(X, y)
    expected = model.predict(X)
    import warnings
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python's own, of forks beside threads
        child = os.fork()
    if child == 0:
        signal.alarm(30)
        same = (model.predict(X) == expected).all()
        again = spinney.RandomForestClassifier(n_estimators=30, n_jobs=4, random_state=0).fit(X, y)
        same &= again._forest.to_bytes() == model._forest.to_bytes()
        os._exit(0 if same else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert (model.predict(X) == expected).all()
    print("fine")
    """
    assert run(code).stdout == "fine\n"


def test_an_exception_of_the_progress_callback_ends_the_work():
    X, y = make_data("RandomForestClassifier", n=2000)
    model = make("RandomForestClassifier", n_estimators=10).fit(X, y)
    target = model._check_y(y, None, len(X))
    config = model._forest_config(target, None, (0, 100_000))

    def refuse(n_done):
        raise LookupError(f"stopped at {n_done}")

    with pytest.raises(LookupError, match="stopped at"):
        _spinney.fit_forest(X.astype(np.float32), target.engine, (None, None), config, 2, refuse)


def test_models_cannot_be_changed():
    X, y = make_data("RandomForestClassifier")
    model = make("RandomForestClassifier").fit(X, y)
    with pytest.raises(AttributeError):
        model._forest.n_trees = 3
    with pytest.raises(ValueError, match="read-only"):
        model[0].tree_.threshold[0] = 1
    assert len({repr(name) for name in ALL}) == 8
    assert spinney.__version__
