"""Bad input, odd input, interruption, exhaustion, threads, forks. An error names its argument and changes nothing."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import weald
from conftest import ALL, CLASSIFIERS, FORESTS, REGRESSORS, make, make_data, model_bytes
from scipy import sparse
from sklearn.exceptions import NotFittedError
from weald import _weald
from weald._fit.base import prepare
from weald._fitted.fits import Fit

SPARSE = [sparse.csr_array, sparse.csc_array]
# Parts of the messages about projections.
N_PROJECTIONS = r'n_projections must be "log", an integer of at least 1, or a fraction in \(0, 1\]'
SHAPE, SHAPE_OF_ONE = (
    rf"must have shape \({n}, 3\), with at least one row and a column for each output "
    r"\(for classes, for each class of each output\)"
    for n in ("n_projections", 1)
)
CALLED = r"output_projection\(n_outputs, n_projections, random_state\)"


def with_value(X, value, container):
    X = X.copy()
    X[3, 2] = value
    return container(X)


@pytest.mark.parametrize("container", [np.asarray, *SPARSE])
@pytest.mark.parametrize(
    ("value", "message"),
    [
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
        (np.zeros(3), np.zeros(3), "^X must have shape .*Reshape your data"),
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
def test_sparse_y_that_is_not_numerical_is_refused(name):
    X, _ = make_data(name)
    with pytest.raises(ValueError, match=r"y must be .*got a sparse matrix of dtype"):
        make(name).fit(X, sparse.csr_array(np.eye(len(X), dtype=complex)))


@pytest.mark.parametrize("name", REGRESSORS)
def test_text_y_is_not_for_regressors(name):
    X, _ = make_data(name)
    classifier = name.replace("Regressor", "Classifier")
    with pytest.raises(ValueError, match=f"^y must have numbers, got 'a': {classifier} is for classes"):
        make(name).fit(X, ["a"] * len(X))


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize(
    ("Y", "message"),
    [
        (sparse.csr_array(np.full((60, 3), 2)), "y must have the values 0 and 1 for labels"),
        (sparse.csr_array(np.full((60, 3), -1.0)), "y must have the values 0 and 1 for labels"),
        (sparse.csr_array(np.full((60, 3), np.nan)), "y must have the values 0 and 1 for labels"),
        (sparse.csr_array(np.full((60, 3), 1j)), "y must be .*got a sparse matrix of dtype complex"),
        (sparse.csr_array((59, 3)), "inconsistent numbers of samples.*60.*59"),
        (sparse.csr_array((60, 0)), "y must have at least one label, got 0 labels"),
        pytest.param(
            sparse.coo_array(np.ones(60)),
            r"y must have shape \(n_samples, .*got a sparse array with 1 dimension",
            marks=pytest.mark.skipif(sparse.coo_array(np.ones(60)).ndim > 1, reason="SciPy has them from 1.13"),
        ),
    ],
)
def test_sparse_y_that_is_no_labels(name, Y, message):
    X, _ = make_data(name)
    with pytest.raises(ValueError, match=message):
        make(name).fit(X, Y)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(59), r"^sample_weight must have shape \(60,\), one weight for each sample, got \(59,\)$"),
        (np.ones((60, 1)), r"^sample_weight must have shape \(60,\), one weight for each sample, got \(60, 1\)$"),
        (np.where(np.arange(60) == 5, -1.0, 1.0), "sample_weight must not be negative, got "),
        (np.zeros(60), "sample_weight must be positive for at least one sample"),
        (np.where(np.arange(60) == 5, np.nan, 1.0), "sample_weight contains NaN"),
        (np.where(np.arange(60) == 5, np.inf, 1.0), "sample_weight contains infinity"),
        (0, "sample_weight must be positive for at least one sample"),
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
        {"criterion": "mae"},
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
        ({"bootstrap": False, "max_samples": 5}, "max_samples is not supported with bootstrap=False"),
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
    with pytest.raises(ValueError, match="class_weight must be positive for at least one sample"):
        make(name, class_weight={"a": 0, "b": 0, "c": 0}).fit(X, y)


def projected(name, n=60, **params):
    """An estimator, and data with three outputs: labels for classifiers, numerical outputs for regressors."""
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
        ({"n_projections": True}, f"^{N_PROJECTIONS}, got True$"),
        ({"n_projections": True, "output_projection": "gaussian"}, f"^{N_PROJECTIONS}, got True$"),
        (
            {"output_projection": weald.projection.GaussianProjection},
            r"must be an instance, GaussianProjection\(\), got the class GaussianProjection",
        ),
        (
            {"output_projection": weald.projection.Projection()},
            "output_projection must be a projection of weald, .*got Projection",
        ),
        ({"output_projection": "subsample", "n_projections": 4}, "n_projections"),
        ({"output_projection": "hadamard", "n_projections": 5}, "n_projections"),
        ({"output_projection": "pca", "n_projections": 4}, "n_projections"),
        (
            {"output_projection": np.ones((2, 4))},
            rf"^output_projection {SHAPE}, got \(2, 4\)$",
        ),
        ({"output_projection": sparse.csr_array(np.ones((2, 4)))}, rf"^output_projection {SHAPE}, got \(2, 4\)$"),
        ({"output_projection": np.ones(3)}, rf"^output_projection {SHAPE}, got \(3,\)$"),
        ({"output_projection": np.ones((1, 2, 3))}, rf"^output_projection {SHAPE}, got \(1, 2, 3\)$"),
        ({"output_projection": np.ones((0, 3))}, rf"^output_projection {SHAPE}, got \(0, 3\)$"),
        ({"output_projection": sparse.csr_array((0, 3))}, rf"^output_projection {SHAPE}, got \(0, 3\)$"),
        ({"output_projection": []}, "output_projection"),
        ({"output_projection": np.array(1.0)}, "output_projection"),
        ({"output_projection": [[1, 2], [3]]}, "output_projection must be a matrix of numbers"),
        ({"output_projection": [["a", "b", "c"]]}, "output_projection must be a matrix of numbers"),
        ({"output_projection": [[1j, 0, 0]]}, "output_projection must be a matrix of numbers"),
        ({"output_projection": [[np.nan, 0, 0]]}, "output_projection must be finite, got NaN"),
        ({"output_projection": [[np.inf, 0, 0]]}, "output_projection must be finite, got infinity"),
        ({"output_projection": sparse.csr_array([[np.nan, 0, 0]])}, "output_projection must be finite, got NaN"),
        (
            {"output_projection": np.ones((2, 3)), "n_projections": 3},
            "n_projections must be 2, the number of rows of the matrix ou",
        ),
        ({"output_projection": np.ones((2, 3)), "n_projections": 1.0}, r"n_projections must be.*got 1\.0"),
        ({"output_projection": lambda d, q, s: np.ones((q + 1, d))}, rf"^{CALLED} {SHAPE_OF_ONE}, got \(2, 3\)$"),
        ({"output_projection": lambda d, q, s: np.ones((q, d - 1))}, rf"^{CALLED} {SHAPE_OF_ONE}, got \(1, 2\)$"),
        ({"output_projection": lambda d, q, s: np.full((q, d), np.nan)}, "must be finite, got NaN"),
        ({"output_projection": lambda d, q, s: None}, rf"^{CALLED} {SHAPE_OF_ONE}, got \(\)$"),
        ({"output_projection": lambda d, q, s: "rubbish"}, rf"^{CALLED} must be a matrix of numbers: "),
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
        with pytest.raises(ValueError, match=r"output_projection does not support y with a single output of classes"):
            make(name, output_projection=phi).fit(X, y)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_criteria_of_projected_classifiers(name):
    for criterion in ("entropy", "log_loss"):
        model, X, y = projected(name, criterion=criterion, output_projection="gaussian")
        with pytest.raises(ValueError, match=f"criterion must be 'gini' or 'squared_error'.*got '{criterion}'"):
            model.fit(X, y)
    model, X, y = projected(name, criterion="squared_error")
    with pytest.raises(
        ValueError, match=r"criterion must be .* for classifiers without output_projection, got 'squared_error'"
    ):
        model.fit(X, y)


@pytest.mark.parametrize("name", REGRESSORS)
def test_criteria_of_regressors_are_not_those_of_classifiers(name):
    model, X, y = projected(name, criterion="gini", output_projection="gaussian")
    with pytest.raises(ValueError, match="'criterion' parameter"):
        model.fit(X, y)


def test_more_projections_than_the_engine_counts(name):
    for family in ("gaussian", "rademacher", "sparse", weald.projection.SubsampleProjection(replacement=True)):
        for count in (2**40, 2**62, 10**30):
            model, X, y = projected(name, output_projection=family, n_projections=count)
            with pytest.raises(ValueError, match=rf"^n_projections must be below 2\^32, got {min(count, 2**63 - 1)}$"):
                model.fit(X, y)


@pytest.mark.parametrize(
    ("make_family", "message"),
    [
        (lambda: weald.projection.RademacherProjection(0.5), "sparsity must be .* got 0.5"),
        (
            lambda: weald.projection.RademacherProjection(np.nan),
            r'sparsity must be a finite number of at least 1, "achlioptas" \(3\) or "sqrt" \(√d\), got nan',
        ),
        (
            lambda: weald.projection.RademacherProjection(np.inf),
            r'sparsity must be a finite number of at least 1, "achlioptas" \(3\) or "sqrt" \(√d\), got inf',
        ),
        (lambda: weald.projection.RademacherProjection(True), "sparsity must be a finite.*got True"),
        (lambda: weald.projection.RademacherProjection("log"), "sparsity must be a finite.*got 'log'"),
        (lambda: weald.projection.RademacherProjection(None), "sparsity must be a finite.*got None"),
        (lambda: weald.projection.SubsampleProjection("yes"), "replacement must be True or False, got 'yes'"),
        (
            lambda: weald.projection.GaussianProjection().draw(0),
            "n_outputs must be an integer from 1 to 4294967295, got 0",
        ),
        (
            lambda: weald.projection.GaussianProjection().draw(2.0),
            r"n_outputs must be an integer from 1 to 4294967295, got 2\.0",
        ),
        (
            lambda: weald.projection.GaussianProjection().draw(True),
            "n_outputs must be an integer from 1 to 4294967295, got True",
        ),
        (
            lambda: weald.projection.GaussianProjection().draw(3, 0),
            r'n_projections must be "log", an integer of at least 1, or a fraction in \(0, 1\], got 0',
        ),
        (
            lambda: weald.projection.GaussianProjection().draw(3, True),
            f"^{N_PROJECTIONS}, got True$",
        ),
        (
            lambda: weald.projection.GaussianProjection().draw(3, 2.0),
            r'n_projections must be "log", an integer of at least 1, or a fraction in \(0, 1\], got 2\.0',
        ),
        (lambda: weald.projection.GaussianProjection().draw(3, "sqrt"), "n_projections must be.*got 'sqrt'"),
        (lambda: weald.projection.GaussianProjection().draw(3, 1, "seed"), "seed"),
        (lambda: weald.projection.SubsampleProjection().draw(3, 4), "n_projections"),
        (lambda: weald.projection.HadamardProjection().draw(3, 5), "n_projections"),
        (lambda: weald.projection.johnson_lindenstrauss_dim(0, 0.5), "n_samples must be a positive integer, got 0"),
        (
            lambda: weald.projection.johnson_lindenstrauss_dim(2.5, 0.5),
            r"n_samples must be a positive integer, got 2\.5",
        ),
        (lambda: weald.projection.johnson_lindenstrauss_dim(9, 0), r"eps must be in \(0, 1\), got 0"),
        (lambda: weald.projection.johnson_lindenstrauss_dim(9, 1.0), r"eps must be in \(0, 1\), got 1"),
        (
            lambda: weald.projection.johnson_lindenstrauss_dim(9, "a"),
            "eps must be a number greater than 0 and less than 1, got 'a'",
        ),
        (lambda: weald.projection.johnson_lindenstrauss_dim(9, np.nan), r"eps must be in \(0, 1\), got NaN"),
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
    with pytest.raises(ValueError, match=f"k must be an integer from 1 to 3, got {k!r}"):
        make("RandomForestClassifier").fit(X, y).predict_topk(X, k)


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
    with pytest.raises(ValueError, match="not a valid weald model"):
        _weald.Forest.from_bytes(broken)


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


def test_constant_features_all_tied(name):
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
    # Where classes alternate, the best cut separates a single sample at an end of the range.
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
        X_new = with_value(X_new, np.inf, np.asarray)
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

        monkeypatch.setattr(_weald, "fit_forest" if name in FORESTS else "fit_tree", interrupted)
    with pytest.raises((ValueError, KeyboardInterrupt)):
        model.fit(X_new, y_new, sample_weight=w)
    assert model.__dict__.keys() == before.keys()
    assert all(model.__dict__[key] is before[key] for key in before)


def test_an_exception_of_the_progress_callback_ends_the_work():
    X, y = make_data("RandomForestClassifier", n=2000)
    model = make("RandomForestClassifier", n_estimators=10).fit(X, y)
    samples = prepare(model, Fit(X, y))
    config = model._forest_config(samples, (0, 100_000))

    def refuse(n_done):
        raise LookupError(f"stopped at {n_done}")

    with pytest.raises(LookupError, match="stopped at"):
        _weald.fit_forest(samples.in_engine, config, 2, refuse)


def test_models_cannot_be_changed():
    X, y = make_data("RandomForestClassifier")
    model = make("RandomForestClassifier").fit(X, y)
    with pytest.raises(AttributeError):
        model._forest.n_trees = 3
    with pytest.raises(ValueError, match="read-only"):
        model[0].tree_.threshold[0] = 1
    assert len({repr(name) for name in ALL}) == 8
    assert weald.__version__
