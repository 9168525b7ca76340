"""Numbers and objects that a parameter does not expect: they are accepted if valid, or an error names the parameter."""

from __future__ import annotations

import copy
import inspect
import warnings

import numpy as np
import pytest
import weald
from conftest import ALL, BOOSTING, CENTROIDS, COMPRESSED, make, make_data
from weald import datasets, metrics, projection
from weald.inspection import export_rules, feature_importances

EVERY = ALL + BOOSTING + CENTROIDS + COMPRESSED
HUGE = 10**400
HOSTILE = [
    HUGE,
    -HUGE,
    1e400,
    -1e400,
    np.nan,
    5e-324,
    0,
    -1,
    2**31,
    2**63,
    2**64,
    np.float32(0.25),
    np.float64(np.nan),
    np.float16(np.inf),
    np.int8(2),
    np.uint64(2**63),
    np.int64(1),
    True,
    np.True_,
    "text",
    "",
    None,
    [1],
    [],
    {},
    {0: HUGE},
    {"a": np.nan, "b": 1},
    {"a": "heavy"},
    object(),
    int,
]
# Between these values and `HUGE` the parameters are valid, but a fit takes too long or too much memory.
LONG = {"n_estimators": 1000, "max_steps": 1000, "max_samples": 10_000, "n_projections": 10_000}


def names(error: Exception, parameter: str) -> bool:
    return parameter in str(error)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", EVERY)
def test_every_parameter_of_every_estimator(name):
    X, y = make_data(name, n=24)
    small = {"n_estimators": 2} if "n_estimators" in make(name).get_params(deep=False) else {}
    small |= {"max_steps": 3, "cv": 2} if name in COMPRESSED else {}
    fitted = make(name, **small).fit(X, y)
    faults = []
    for parameter in fitted.get_params(deep=False):
        for value in HOSTILE:
            if parameter in LONG and isinstance(value, int | np.integer) and LONG[parameter] < int(value) < HUGE:
                continue
            if parameter == "oob_score" and value is int:
                continue  # `int` is called as a function, and raises errors of its own
            given = {**small, parameter: value}
            if parameter == "max_samples":
                given["bootstrap"] = True
            if parameter == "validation_fraction":
                given["n_iter_no_change"] = 2
            model = copy.copy(fitted).set_params(**given)
            before = dict(model.__dict__)
            try:
                model.fit(X, y)
            except (ValueError, TypeError) as error:
                if not names(error, parameter):
                    faults.append((parameter, value, repr(error)))
                if any(model.__dict__[key] is not before[key] for key in before):
                    faults.append((parameter, value, "the estimator has changed"))
            except Exception as error:
                faults.append((parameter, value, repr(error)))
            else:
                predicted = model.predict(X)
                if predicted.dtype.kind == "f" and not np.isfinite(predicted).all():
                    faults.append((parameter, value, "NaN or infinity from"))
    assert not faults


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", EVERY)
def test_the_estimate_of_memory_takes_the_same_parameters(name):
    X, y = make_data(name, n=24)
    faults = []
    for parameter in make(name).get_params(deep=False):
        for value in HOSTILE:
            try:
                assert weald.estimate_fit_memory(make(name).set_params(**{parameter: value}), X, y) >= 0
            except (ValueError, TypeError) as error:
                if not names(error, parameter):
                    faults.append((parameter, value, repr(error)))
            except Exception as error:
                faults.append((parameter, value, repr(error)))
    assert not faults


def calls():
    """Functions and methods with numerical parameters, and valid arguments for them."""
    X, y = make_data("RandomForestClassifier")
    labels = (X[:, :3] > 0).astype(int)
    forest = make("RandomForestClassifier").fit(X, y)
    boosting = make("GradientBoostingClassifier").fit(X, labels)
    compressed = make("CompressedForestClassifier", l1_norm=None, max_steps=5).fit(X, labels)
    tree = make("DecisionTreeRegressor", max_depth=3).fit(X, X[:, 0])
    scores = np.random.default_rng(0).random(labels.shape)
    few = {"n_samples": 10, "n_outputs": 3, "random_state": 0}
    yield metrics.precision_at_k, {"y_true": labels, "y_score": scores, "k": 2}, ["k"]
    yield metrics.ndcg_at_k, {"y_true": labels, "y_score": scores, "k": 2}, ["k"]
    for model in (forest, boosting, compressed):
        yield model.predict_topk, {"X": X, "k": 2}, ["k", "min_score", "exclude"]
    for model in (boosting, compressed):
        yield model.predict_sparse, {"X": X}, ["min_score"]
    yield weald.topk_chunks, {"model": forest, "X": X, "k": 2}, ["chunk_size"]
    yield compressed.at, {"l1_norm": 0.1}, ["l1_norm"]
    yield export_rules, {"model": tree}, ["tree", "decimals", "max_depth", "top_k"]
    yield feature_importances, {"model": forest}, ["outputs"]
    yield weald.compression.compact_leaves, {"model": forest}, ["top_k", "dtype"]
    yield projection.johnson_lindenstrauss_dim, {"n_samples": 10, "eps": 0.5}, ["n_samples", "eps"]
    yield projection.RademacherProjection, {}, ["sparsity"]
    yield projection.SubsampleProjection, {}, ["replacement"]
    for family in (projection.GaussianProjection(), projection.HadamardProjection()):
        yield family.draw, {"n_outputs": 4, "n_projections": 1}, ["n_outputs", "n_projections"]
    for made in (datasets.make_friedman1_chain, datasets.make_friedman1_group, datasets.make_friedman1_ind):
        yield made, few, ["n_samples", "n_outputs", "noisy_outputs"]
    yield datasets.make_twonorm, {"n_samples": 10, "random_state": 0}, ["n_samples"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("function", "arguments", "parameters"), list(calls()), ids=lambda a: getattr(a, "__name__", "")
)
def test_every_number_of_every_function(function, arguments, parameters):
    faults = []
    for parameter in parameters:
        assert parameter in inspect.signature(function).parameters
        for value in HOSTILE:
            if isinstance(value, int | np.integer) and 2**31 <= int(value) < HUGE:
                continue  # the result would be as large as this value
            try:
                function(**{**arguments, parameter: value})
            except (ValueError, TypeError) as error:
                if not names(error, parameter):
                    faults.append((parameter, value, repr(error)))
            except Exception as error:
                faults.append((parameter, value, repr(error)))
    assert not faults


@pytest.mark.parametrize("bad", [[{"a": 1}, {"b": 1}], [1], [None], {"a": -1}, {"a": np.inf}, {"a": None}], ids=str)
@pytest.mark.parametrize("name", [n for n in ALL + BOOSTING if n.endswith("Classifier")])
def test_class_weights_are_refused_by_name(name, bad):
    X, y = make_data(name)
    with pytest.raises((ValueError, TypeError), match=r"^class_weight must have "):
        make(name, class_weight=bad).fit(X, y)


def test_a_list_of_one_dict_is_for_one_output():
    X, y = make_data("RandomForestClassifier")
    weights = {"a": 2, "b": np.float32(0.5), "c": 0}
    a, b = (make("DecisionTreeClassifier", class_weight=given).fit(X, y) for given in (weights, [weights]))
    np.testing.assert_array_equal(a.predict_proba(X), b.predict_proba(X))


@pytest.mark.parametrize("metric", [metrics.ndcg_at_k, metrics.precision_at_k])
def test_a_label_is_not_ranked_twice(metric):
    with pytest.raises(
        ValueError, match=r"^y_score must have each label once in a row, got the label 1 twice in row 1$"
    ):
        metric([[0, 1], [0, 1]], [[0, 1], [1, 1]], 2)
    # Labels after the first k are not checked.
    assert metric([[0, 1], [0, 1]], [[1, 1], [1, 1]], 1) == 1


@pytest.mark.alone
def test_a_great_number_of_threads_is_no_work():
    X, y = make_data("RandomForestClassifier")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        few, many = (make("RandomForestClassifier", n_jobs=n).fit(X, y) for n in (1, HUGE))
    assert many._n_threads() <= 256
    np.testing.assert_array_equal(few.predict_proba(X), many.predict_proba(X))
