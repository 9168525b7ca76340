"""Numbers and objects that a parameter does not expect: they are accepted if valid, or an error names the parameter."""

from __future__ import annotations

import copy
import inspect
import io
import re
import warnings
from concurrent.futures import Executor, Future
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
import weald
from conftest import ALL, BOOSTING, CENTROIDS, COMPRESSED, LABEL_TREES, LINEAR, check_refused, make, make_data, unless
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from weald import conformal, datasets, distribute, inspection, metrics, model_selection, projection
from weald._input.messages import described
from weald.export import to_c, to_onnx
from weald.inspection import export_centroids, export_rules, feature_importances
from weald.multilabel import (
    CalibratedLabels,
    HierarchicalLabels,
    LabelHierarchy,
    LabelReliabilityDisplay,
    TunedThresholds,
)
from weald.projection import Projected

EVERY = ALL + BOOSTING + CENTROIDS + LINEAR + LABEL_TREES + COMPRESSED
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
    np.array(3),
    np.timedelta64(2),
    np.timedelta64(2, "s"),
    Fraction(1, 3),
    np.longdouble("1e4000"),
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
# Numbers of other types, and arrays without numbers.
ODD = [
    Fraction(10**400),
    Decimal(1),
    1j,
    np.complex64(1),
    np.array(2),
    np.array(np.nan),
    np.array([10**400], dtype=object),
    np.datetime64("2020"),
    [HUGE] * 3,
    ["a", None],
    b"text",
    {1},
    range(2),
    [[1], [2, 3]],
    pytest,
]
# Between these values and `HUGE` the parameters are valid, but a fit takes too long or too much memory.
LONG = {"n_estimators": 1000, "max_steps": 1000, "max_samples": 10_000, "n_projections": 10_000}


def faults_of(ask, model, before, parameter):
    """What is wrong with how `ask()` refuses the value of the parameter; None if it is accepted."""
    try:
        ask()
    except (ValueError, TypeError) as error:
        faults = [] if names(error, parameter) else [repr(error)]
        if any(model.__dict__[key] is not before[key] for key in before):
            faults.append("the estimator has changed")
        return faults
    except Exception as error:
        return [repr(error)]
    return None


def is_count(value: object) -> bool:
    """Whether a value of the lists is an integer; NumPy calls spans of time integers, too."""
    return isinstance(value, int | np.integer) and not isinstance(value, np.timedelta64)


def names(error: Exception, parameter: str) -> bool:
    return re.search(rf"(?<![a-z_]){parameter}(?![a-z])", str(error)) is not None


def few_trees(name):
    has_trees = "n_estimators" in make(name).get_params(deep=False) and name not in LINEAR
    return {"n_estimators": 2} if has_trees else {}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", EVERY)
def test_every_parameter_of_every_estimator(name):
    X, y = make_data(name, n=24)
    small = few_trees(name)
    small |= {"max_steps": 3, "cv": 2} if name in COMPRESSED else {}
    fitted = make(name, **small).fit(X, y)
    faults = []
    for parameter in fitted.get_params(deep=False):
        for value in HOSTILE:
            if parameter in LONG and is_count(value) and LONG[parameter] < int(value) < HUGE:
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
            found = faults_of(lambda m=model: m.fit(X, y), model, before, parameter)
            if found is not None:
                faults += [(parameter, value, fault) for fault in found]
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


def meta_estimators():
    """The classes around other estimators: their parameters, which the tests change one at a time, and data."""
    X, y = make_data("RandomForestRegressor", n=40)
    labels = (X[:, :3] > np.median(X[:, :3], axis=0)).astype(int)
    of_labels = make("RandomForestClassifier", n_estimators=20, bootstrap=True)
    of_numbers = make("RandomForestRegressor", n_estimators=20, bootstrap=True)
    for cls in (TunedThresholds, HierarchicalLabels, conformal.ConformalLabels):
        yield cls, {"estimator": of_labels}, X, labels
    yield CalibratedLabels, {"estimator": of_labels, "min_positives": 1}, X, labels
    yield conformal.ConformalClassifier, {"estimator": of_labels}, X, labels[:, 0]
    yield conformal.ConformalRegressor, {"estimator": of_numbers}, X, y
    boosting = make("GradientBoostingRegressor", n_estimators=2)
    yield weald.VotingRegressor, {"estimators": [("a", of_numbers), ("b", boosting)]}, X, y


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("cls", "given", "X", "y"), list(meta_estimators()), ids=lambda a: getattr(a, "__name__", ""))
def test_every_parameter_of_every_meta_estimator(cls, given, X, y):
    fitted = cls(**given).fit(X, y)
    faults = []
    for parameter in fitted.get_params(deep=False):
        for value in HOSTILE + ODD:
            model = copy.copy(fitted)
            setattr(model, parameter, value)
            before = dict(model.__dict__)
            asked = [lambda m=model: m.fit(X, y)]
            if parameter == "estimator":
                asked += [
                    lambda m=model: m.__sklearn_tags__(),
                    lambda m=model: model_selection.cross_validate(m, X, y),
                ]
            for ask in asked:
                found = faults_of(ask, model, before, parameter)
                faults += [(parameter, value, fault) for fault in found or ()]
    assert not faults


@pytest.mark.parametrize(("cls", "given", "X", "y"), list(meta_estimators()), ids=lambda a: getattr(a, "__name__", ""))
def test_random_state_is_checked_also_where_nothing_is_drawn(cls, given, X, y):
    if "random_state" in inspect.signature(cls).parameters:
        for value in (np.nan, b"x", 1j, np.datetime64("2020"), "text", -1):
            check_refused(cls(**given, random_state=value), ValueError, "random_state", X, y)


def calls():
    """All functions and methods with parameters that are not samples, and valid arguments for them."""
    X, y = make_data("RandomForestClassifier")
    labels = (X[:, :3] > 0).astype(int)
    numbers = X[:, :3] + 1.0
    forest = make("RandomForestClassifier").fit(X, y)
    of_labels = make("RandomForestClassifier", max_depth=3).fit(X, labels)
    regressor = make("RandomForestRegressor", keep_rows=True).fit(X, numbers)
    boosting = make("GradientBoostingClassifier").fit(X, labels)
    boosted = make("GradientBoostingRegressor").fit(X, numbers)
    compressed = make("CompressedForestClassifier", l1_norm=None, max_steps=5).fit(X, labels)
    centroids = make("CentroidForestClassifier").fit(sparse.csr_array(X), labels)
    tree = make("DecisionTreeRegressor", max_depth=3).fit(X, X[:, 0])
    tuned, calibrated = TunedThresholds(of_labels, cv=2), CalibratedLabels(of_labels, cv=2, min_positives=1)
    scores = np.random.default_rng(0).random(labels.shape)
    few = {"n_samples": 10, "n_outputs": 3, "random_state": 0}
    ranked = {"y_true": labels, "y_score": scores, "k": 2}
    executor = AtOnce()
    for metric in (metrics.precision_at_k, metrics.recall_at_k, metrics.ndcg_at_k, metrics.label_coverage_at_k):
        yield metric, ranked, ["k", "y_weight"]
    for metric in (metrics.psp_at_k, metrics.psndcg_at_k):
        yield metric, {**ranked, "propensities": [0.5, 0.6, 0.7]}, ["k", "propensities", "y_weight"]
    for metric in (metrics.one_error, metrics.coverage_error):
        yield metric, {"y_true": labels, "y_score": scores}, ["y_true", "y_score", "y_weight"]
    for metric in (metrics.micro_f1, metrics.macro_f1):
        yield metric, {"y_true": labels, "y_pred": labels}, ["y_true", "y_pred", "y_weight", "zero_division"]
    hierarchy = LabelHierarchy([(1, 0)], n_labels=3)
    for metric in (metrics.hierarchical_precision, metrics.hierarchical_recall, metrics.hierarchical_f1):
        arguments = ["y_true", "y_pred", "hierarchy", "average", "y_weight", "zero_division"]
        yield metric, {"y_true": labels, "y_pred": labels, "hierarchy": hierarchy}, arguments
    rated = {"y_true": labels, "y_score": scores}
    yield metrics.fmax, rated, ["y_true", "y_score", "hierarchy", "thresholds", "y_weight"]
    yield metrics.auprc, rated, ["y_true", "y_score", "average", "y_weight"]
    yield LabelHierarchy, {"edges": [(1, 0)]}, ["edges", "n_labels", "label_names"]
    inferred = ["Y", "sample_weight", "y_weight", "min_samples", "kind", "label_names"]
    yield LabelHierarchy.from_labels, {"Y": labels}, inferred
    yield hierarchy.closure, {"Y": labels}, ["Y", "y_weight"]
    yield hierarchy.check, {"Y": hierarchy.closure(labels)}, ["Y", "y_weight"]
    yield hierarchy.label_weight, {"kind": "information_content", "Y": labels}, ["kind", "Y", "y_weight", "base"]
    yield hierarchy.consistent, {"scores": scores}, ["scores", "method"]
    yield hierarchy.n_violations, {"scores": scores}, ["scores"]
    yield hierarchy.topk, {"scores": scores, "k": 2}, ["scores", "k", "method"]
    for metric in (metrics.roc_auc, metrics.average_precision, metrics.log_loss, metrics.brier):
        asked = ["y_true", "y_score", "average", "sample_weight", "y_weight", "return_counts"]
        yield metric, {"y_true": labels, "y_score": scores}, asked
    yield metrics.make_label_scorer, {"metric": "brier"}, ["metric", "greater_is_better"]
    yield metrics.propensities, {"Y": labels}, ["Y", "a", "b"]
    yield metrics.make_topk_scorer, {"metric": "precision_at_k", "k": 1}, ["metric", "k", "greater_is_better"]
    yield conformal.size, {"predicted": scores[:, :2]}, ["predicted", "sample_weight"]
    yield conformal.coverage, {"y_true": numbers[:, 0], "predicted": scores[:, :2]}, ["y_true", "predicted", "y_weight"]
    yield conformal.coverage, {"y_true": labels[:, 0], "predicted": labels[:, :2] > 0}, ["classes"]
    hierarchical = HierarchicalLabels(of_labels).fit(X, labels)
    around = (tuned.fit(X, labels), calibrated.fit(X, labels), hierarchical)
    for model in (of_labels, boosting, compressed, centroids, *around):
        yield model.predict_topk, {"X": X, "k": 2}, ["k", "names", "scores", "min_score", "exclude"]
        yield model.predict_sparse, {"X": X}, ["min_score"]
    mean = weald.VotingClassifier([("a", make("RandomForestClassifier"))]).fit(X, labels)
    for method in (mean.predict, mean.predict_proba, mean.predict_sparse, tuned.predict_sparse):
        yield method, {"X": X}, ["X"]
    yield forest.predict_topk, {"X": X, "k": 2}, ["k", "names", "scores", "min_score", "exclude"]
    for model, target in (
        (forest, y),
        (regressor, numbers),
        (boosted, numbers),
        (tree, X[:, 0]),
        (tuned, labels),
        (hierarchical, labels),
    ):
        yield model.fit, {"X": X, "y": target}, ["X", "y", "sample_weight", "y_weight"]
        yield model.predict, {"X": X}, ["X"]
        yield model.score, {"X": X, "y": target}, ["y", "sample_weight", "y_weight"]
    yield (
        boosted.fit,
        {"X": X, "y": numbers, "X_val": X, "y_val": numbers},
        ["y_val", "sample_weight_val", "base_margin", "base_margin_val"],
    )
    yield boosted.fit, {"X": X, "y": numbers}, ["eval_sets"]
    yield boosting.fit, {"X": X, "y": labels}, ["label_names"]
    yield forest.fit, {"X": X, "y": y}, ["trees"]
    yield boosted.predict, {"X": X}, ["n_stages", "base_margin"]
    yield boosted.truncated, {"n_stages": 2}, ["n_stages"]
    yield boosted.refit_leaves, {"X": X, "y": numbers}, ["y", "sample_weight", "y_weight", "base_margin"]
    yield regressor.predict_quantiles, {"X": X, "q": 0.5}, ["q"]
    quantiles = make("GradientBoostingRegressor", loss=weald.loss.Quantile([0.1, 0.5, 0.9])).fit(X, numbers)
    yield quantiles.predict_quantiles, {"X": X, "q": 0.5}, ["X", "q", "n_stages", "base_margin"]
    yield quantiles.score, {"X": X, "y": numbers}, ["y", "sample_weight", "y_weight"]
    held_out = {"X_val": X, "y_val": numbers}
    yield quantiles.fit, {"X": X, "y": numbers, **held_out}, ["X", "y", "y_weight", "y_val", "sample_weight_val"]
    yield quantiles.fit, {"X": X, "y": numbers}, ["sample_weight", "label_names", "eval_sets"]
    yield regressor.sample_y, {"X": X[:2], "n_samples": 2}, ["n_samples", "random_state"]
    yield copy.copy(regressor).update, {"X": X, "y": numbers, "retire": 1}, ["y", "retire", "sample_weight", "y_weight"]
    yield forest.prune_reduced_error, {"X_val": X, "y_val": y}, ["X_val", "y_val", "sample_weight"]
    yield tree.cost_complexity_pruning_path, {"X": X, "y": X[:, 0]}, ["y", "sample_weight", "y_weight"]
    yield weald.topk, {"estimator": of_labels, "X": X, "k": 2}, ["X", "k", "names", "scores", "min_score", "exclude"]
    in_chunks = {"estimator": forest, "X": X, "k": 2, "chunk_size": 4}
    yield weald.topk, in_chunks, ["X", "k", "chunk_size", "names", "scores", "min_score", "exclude", "verbose"]
    yield weald.estimate_fit_memory, {"estimator": forest, "X": X, "y": y}, ["estimator", "X", "y", "y_weight"]
    yield compressed.at, {"l1_norm": 0.1}, ["l1_norm"]
    yield export_rules, {"estimator": tree}, ["estimator", "tree", "decimals", "max_depth", "top_k", "feature_names"]
    yield export_rules, {"estimator": forest}, ["class_names"]
    yield (
        export_centroids,
        {"estimator": centroids},
        ["estimator", "tree", "node", "n_features", "decimals", "feature_names"],
    )
    yield feature_importances, {"estimator": forest}, ["outputs", "kind"]
    yield inspection.similar_rows, {"estimator": regressor, "X": X}, ["estimator", "X", "k"]
    yield inspection.shap_values, {"estimator": tree, "X": X[:2]}, ["estimator", "X", "outputs", "background"]
    yield inspection.shap_interaction_values, {"estimator": tree, "X": X[:2]}, ["output", "background"]
    yield inspection.partial_dependence, {"estimator": tree, "X": X, "features": 0}, ["estimator", "X", "features"]
    permuted = {"estimator": tree, "X": sparse.csr_array(X), "y": X[:, 0], "n_repeats": 1}
    yield (
        inspection.permutation_importance,
        permuted,
        ["estimator", "X", "y", "n_repeats", "n_jobs", "scoring", "random_state", "y_weight"],
    )
    yield weald.compression.compact_leaves, {"estimator": forest}, ["top_k", "dtype", "max_change"]
    yield weald.compression.compact_leaves, {"estimator": boosted, "max_change": 0.1, "X": X}, ["max_change"]
    yield projection.johnson_lindenstrauss_dim, {"n_samples": 10, "eps": 0.5}, ["n_samples", "eps"]
    yield projection.RademacherProjection, {}, ["sparsity"]
    yield projection.SubsampleProjection, {}, ["replacement"]
    drawn = ["n_outputs", "n_projections", "random_state"]
    for family in (projection.GaussianProjection(), projection.HadamardProjection()):
        yield family.draw, {"n_outputs": 4, "n_projections": 1}, drawn
    of_y = {"n_outputs": 3, "n_projections": 1, "y": numbers}
    yield projection.PCAProjection().draw, of_y, [*drawn, "y", "sample_weight"]
    by_kernel = projection.KernelProjection()
    yield by_kernel.fit, {"Y": numbers}, ["Y"]
    yield by_kernel.fit_transform, {"Y": numbers}, ["Y"]
    of_kernel = projection.KernelProjection("linear").fit(numbers)
    yield of_kernel.transform, {"Y": numbers}, ["Y"]
    yield of_kernel.decode, {"Z": of_kernel.transform(numbers)}, ["Z", "candidates"]
    yield of_kernel.inverse_transform, {"Z": of_kernel.transform(numbers)}, ["Z"]
    for made in (datasets.make_friedman1_chain, datasets.make_friedman1_group, datasets.make_friedman1_ind):
        yield made, few, ["n_samples", "n_outputs", "noisy_outputs", "random_state"]
    yield datasets.make_twonorm, {"n_samples": 10, "random_state": 0}, ["n_samples", "n_features", "random_state"]
    lines = {"path_or_buffer": b"0,1 1:1 2:3\n"}
    yield datasets.load_svmlight_multilabel, lines, ["n_features", "n_labels", "zero_based"]
    sent = {"X": X, "y": y, "executor": executor}
    yield distribute.fit, {"estimator": forest, **sent}, ["n_parts", "sample_weight", "timeout", "max_retries"]
    checked = {"estimator": forest, **sent, "cv": 2}
    yield (
        distribute.cross_validate,
        checked,
        ["estimator", "X", "executor", "settings", "cv", "scoring", "timeout", "max_retries"],
    )
    best = {"estimator": of_labels, "X": X, "method": "predict_topk", "k": 2, "executor": executor}
    yield (
        distribute.predict,
        best,
        ["estimator", "X", "executor", "k", "n_parts", "scores", "min_score", "exclude", "timeout", "max_retries"],
    )
    of_blocks = {"estimator": of_labels, "X": X, "executor": executor}
    yield (
        distribute.predict,
        of_blocks,
        ["estimator", "X", "executor", "method", "n_parts", "timeout", "max_retries"],
    )
    alone = {
        "estimator": clone(boosted),
        "X": X,
        "y": numbers,
        "all_reduce": lambda values, _: values,
        "n_samples": len(X),
    }
    yield distribute.fit_part, alone, ["y", "n_samples", "sample_weight"]
    yield model_selection.MultilabelStratifiedKFold, {}, ["n_splits", "shuffle"]
    yield model_selection.MultilabelStratifiedGroupKFold, {}, ["n_splits", "shuffle"]
    of_groups = {"X": X, "y": labels, "groups": np.arange(len(X)) // 2}
    yield model_selection.MultilabelStratifiedGroupKFold(2).split, of_groups, ["y", "groups", "y_weight"]
    yield model_selection.check_cv, {"y": labels, "classifier": True}, ["cv"]
    folds = {"estimator": forest, "X": X, "y": labels, "cv": 2}
    yield model_selection.cross_validate, folds, ["cv", "y_weight"]
    yield model_selection.cross_validate, {**folds, "cv": 2}, ["n_jobs", "scoring"]
    part = {"parts": [clone(forest).fit(X, y, trees=range(forest.n_estimators))]}
    yield weald.merge, part, ["parts"]
    yield model_selection.cross_val_predict, {**folds, "method": "predict_topk", "k": 1}, ["k", "cv", "y_weight"]
    yield model_selection.cross_val_predict, folds, ["method", "estimator"]
    of_pairs = {"y_true": labels, "y_score": scores}
    yield LabelReliabilityDisplay.from_predictions, of_pairs, ["n_bins", "strategy", "labels", "y_weight"]
    yield to_onnx, {"estimator": tree}, ["ml_opset"]
    yield to_c, {"estimator": tree}, ["estimator", "name"]
    yield datasets.dump_xmc, {"X": X, "Y": labels, "path_or_buffer": io.BytesIO()}, ["X", "Y"]


class AtOnce(Executor):
    """Runs each call when it is submitted."""

    def submit(self, function, /, *args, **kwargs):
        future = Future()
        try:
            future.set_result(function(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


# Between these values and `HUGE` the arguments are valid, but the results take long or are large.
LARGE = {
    "n_projections",
    "n_samples",
    "n_outputs",
    "noisy_outputs",
    "n_features",
    "n_labels",
    "n_bins",
    "n_repeats",
    "chunk_size",
}
# Values that have nothing in common with numbers but a method: classes and callables, where the argument is one.
CALLABLES = {"metric", "scoring"}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("function", "arguments", "parameters"), list(calls()), ids=lambda a: getattr(a, "__qualname__", "")
)
def test_every_argument_of_every_function(function, arguments, parameters):
    faults = []
    accepted = inspect.signature(function).parameters
    # What several functions have in common belongs to the list of each.
    for parameter in {*parameters, *({"n_jobs", "verbose"} & accepted.keys())}:
        assert parameter in accepted or "options" in accepted
        for value in HOSTILE + ODD:
            if parameter in LARGE and is_count(value) and 1000 < int(value) < 2**64:
                continue
            if parameter in CALLABLES and callable(value):
                continue
            try:
                found = function(**{**arguments, parameter: value})
                if inspect.isgenerator(found):
                    next(found, None)
            except (ValueError, TypeError) as error:
                # A number of labels that contradicts the file is told by its line, and lengths by scikit-learn's words.
                told = {"n_labels": "line 1: ", "X": "inconsistent numbers of samples"}.get(parameter)
                if not names(error, parameter) and not (told and told in str(error)):
                    faults.append(f"{parameter}={described(value)}: {error!r:.200}")
            except Exception as error:
                faults.append(f"{parameter}={described(value)}: {error!r:.200}")
    assert not faults, "\n".join(faults)


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


class Returning(BaseEstimator):
    """An initial model or weak model whose predictions are a constant."""

    def __init__(self, value=0.0):
        self.value = value

    def fit(self, X, y, sample_weight=None):
        return None

    def predict(self, X):
        return self.value


@pytest.mark.parametrize("loss", ["squared_error", "hinge"])
def test_init_without_decision_function_is_refused_and_the_estimator_is_left(loss):
    X, y = make_data("GradientBoostingClassifier")
    model = make("GradientBoostingClassifier").fit(X, y == "a")
    model.set_params(loss=loss, init=weald.DecisionTreeClassifier())
    check_refused(model, TypeError, r"^init must have the method decision_function .*got DecisionTree", X, y == "a")


@pytest.mark.parametrize("value", [None, "text", np.nan, [1.0], np.zeros((60, 2)), np.full(60, np.inf), [HUGE] * 60])
def test_models_that_predict_something_else_are_refused_by_name(value):
    X, y = make_data("GradientBoostingRegressor")
    model = make("GradientBoostingRegressor", init=Returning(value))
    check_refused(model, (ValueError, TypeError), r"\binit\b", X, y)


def refusals():
    """Fits that the engine refuses because two arguments do not go together."""
    X, y = make_data("RandomForestRegressor")
    Y = np.column_stack([y, -y, y])
    mask = np.zeros(Y.shape, dtype=bool)
    mask[0, 0] = True
    regressor, classifier = weald.GradientBoostingRegressor, weald.GradientBoostingClassifier
    for criterion in ("absolute_error", "poisson"):
        yield lambda c=criterion: weald.DecisionTreeRegressor(criterion=c).fit(X, np.abs(Y), y_weight=unless(mask))
    yield lambda: weald.DecisionTreeRegressor(criterion="absolute_error").fit(X, Y).prune_reduced_error(X, Y)
    signs = {"output_strategy": "projected", "monotonic_cst": [1] * X.shape[1]}
    yield lambda: regressor(**signs).fit(X, Y)
    yield lambda: regressor(output_strategy=Projected("pca")).fit(X, Y, y_weight=unless(mask))
    three = np.digitize(y, np.quantile(y, [0.3, 0.6]))
    for model, target in ((classifier(), y > 0), (classifier(), three)):
        model = clone(model).set_params(leaf_estimation="line_search", random_state=0)
        sent = {"all_reduce": lambda values, op: None, "n_samples": len(X)}
        yield lambda m=model, t=target, sent=sent: distribute.fit_part(m, X, t, **sent)


@pytest.mark.parametrize("refused", list(refusals()))
def test_refusals_have_the_names_of_values_in_python(refused):
    names_of_engine = r"Variance|AbsoluteError|Poisson|Gini|Entropy|Pca|Brent|Projected|Joint|Stagewise|be Newton"
    with pytest.raises((ValueError, TypeError)) as told:
        refused()
    assert re.search(rf"\b({names_of_engine})\b", str(told.value)) is None


def numerical():
    """Everything that takes an array of numbers beside X and y: the name, the call, and valid numbers."""
    X, y = make_data("RandomForestRegressor")
    Y, labels = np.column_stack([y, -y, y]), (X[:, :3] > 0).astype(int)
    ones, few = np.ones(len(X)), np.array([1.0, 2.0, 1.0])
    scores = np.abs(Y) / np.abs(Y).max()
    regressor = make("RandomForestRegressor", keep_rows=True).fit(X, Y)
    boosted = make("GradientBoostingRegressor").fit(X, y)
    quantiles = make("GradientBoostingRegressor", loss=weald.loss.Quantile([0.1, 0.5, 0.9])).fit(X, y)
    hierarchy = LabelHierarchy([(1, 0)], n_labels=3)
    of_kernel = projection.KernelProjection("linear").fit(Y)
    mean = weald.VotingRegressor([("a", make("DecisionTreeRegressor")), ("b", make("DecisionTreeRegressor"))])
    for name in EVERY:
        data = make_data(name, n=24)
        small = few_trees(name)
        yield "sample_weight", lambda w, n=name, d=data, s=small: make(n, **s).fit(*d, sample_weight=w), np.ones(24)
    yield "sample_weight", lambda w: regressor.score(X, Y, sample_weight=w), ones
    for metric in (metrics.roc_auc, metrics.average_precision, metrics.log_loss, metrics.brier):
        yield "sample_weight", lambda w, m=metric: m(labels, scores, sample_weight=w), ones
        yield "y_score", lambda s, m=metric: m(labels, s), scores
    for metric in (metrics.precision_at_k, metrics.ndcg_at_k):
        yield "y_score", lambda s, m=metric: m(labels, s, 1), scores
        yield "y_score", lambda s, m=metric: m(labels, (np.argsort(-scores), s), 1), scores
    for metric in (metrics.one_error, metrics.coverage_error, metrics.fmax, metrics.auprc):
        yield "y_score", lambda s, m=metric: m(labels, s), scores
    yield "propensities", lambda p: metrics.psp_at_k(labels, scores, 1, propensities=p), few / 2
    yield "thresholds", lambda t: metrics.fmax(labels, scores, thresholds=t), few / 2
    yield "sample_weight", lambda w: LabelHierarchy.from_labels(labels, sample_weight=w), ones
    yield "scores", hierarchy.consistent, scores
    yield "base_margin", lambda m: boosted.predict(X, base_margin=m), ones
    yield "base_margin", lambda m: make("GradientBoostingRegressor").fit(X, y, base_margin=m), ones
    yield "q", lambda q: regressor.predict_quantiles(X, q), few / 4
    yield "q", lambda q: quantiles.predict_quantiles(X, q), few[:1] / 2
    yield "quantile", weald.loss.Quantile, few[:1] / 2
    for name in ("output_weights", "output_scaling"):
        yield name, lambda v, n=name: make("RandomForestRegressor", n_estimators=2, **{n: v}).fit(X, Y), few
        given = {"output_strategy": "joint", "n_estimators": 2}
        yield name, lambda v, n=name, g=given: make("GradientBoostingRegressor", **{n: v}, **g).fit(X, Y), few
    for of in ("RandomForestClassifier", "GradientBoostingClassifier", "LinearClassifier"):
        if "label_weight" in make(of).get_params():
            yield "label_weight", lambda v, of=of: make(of, label_weight=v).fit(X, labels), few
    yield "weights", lambda w: clone(mean).set_params(weights=w).fit(X, y), few[:2]
    yield "output_projection", lambda p: make("RandomForestRegressor", output_projection=p).fit(X, Y), few[None]
    projected = {"n_estimators": 2, "random_state": 0}
    yield (
        "projection",
        lambda p: make("GradientBoostingRegressor", output_strategy=projection.Projected(p), **projected).fit(X, Y),
        few[None],
    )
    yield "Z", of_kernel.decode, of_kernel.transform(Y)
    yield "Y", projection.KernelProjection("linear").fit, Y
    yield "y", lambda v: projection.PCAProjection().draw(3, 1, y=v), Y
    yield "y_true", lambda v: conformal.coverage(v, np.stack([y - 1, y + 1], axis=1)), y
    yield "y_score", lambda s: LabelReliabilityDisplay.from_predictions(labels, s), scores
    for number in ("y", "scores"):
        given = {"y": y, "scores": y}
        yield number, lambda v, n=number, g=given: weald.loss.SquaredError().loss(**{**g, n: v}), y


def no_numbers(values):
    """The same shape of dates, spans of time, and complex numbers, in several containers."""
    days = np.datetime64("2020-01-01") + np.arange(values.size).reshape(values.shape)
    for found in (days, days - days.ravel()[0], values + 0j):
        yield found
        yield found.tolist()
        yield found.astype(object)
    if values.ndim == 1:
        yield list(days)
        yield pd.Series(days)
        yield pd.Series(days).dt.tz_localize("UTC")
        yield pd.Series(days - days[0])
        yield pl.Series(days)


@pytest.mark.filterwarnings("ignore:A column-vector")
@pytest.mark.parametrize(("name", "call", "valid"), list(numerical()), ids=lambda a: a if isinstance(a, str) else "")
def test_dates_spans_and_complex_numbers_are_no_numbers(name, call, valid):
    call(valid)
    call(valid.tolist())
    for values in no_numbers(valid):
        with pytest.raises((ValueError, TypeError), match=rf"(?<![a-z_]){name}(?![a-z])"):
            pytest.fail(f"accepted {described(values)}: {call(values)!r:.100}")


def scored():
    """Everything else that takes any estimator."""
    X, y = make_data("RandomForestClassifier")
    labels = (X[:, :3] > 0).astype(int)
    yield lambda model: metrics.make_topk_scorer("precision_at_k", 1)(model, X, labels)
    yield lambda model: weald.topk(model, X, 1)
    yield lambda model: weald.topk(model, X, 1, chunk_size=5)
    yield lambda model: conformal.make_coverage_scorer()(model, X, y)
    yield lambda model: inspection.permutation_importance(model, X, y)
    yield lambda model: distribute.fit(model, X, y, AtOnce())
    yield lambda model: distribute.predict(model, X, AtOnce())
    yield lambda model: distribute.predict(model, X, AtOnce(), method="predict_topk", k=1)
    yield lambda model: distribute.cross_validate(model, X, y, AtOnce())
    yield lambda model: weald.estimate_fit_memory(model, X, y)
    yield lambda model: weald.dumps(model)
    yield weald.Predictor
    yield lambda model: weald.VotingClassifier([("a", model)]).fit(X, y)
    for function in ("cross_validate", "cross_val_predict"):
        yield lambda model, name=function: getattr(model_selection, name)(model, X, y)


@pytest.mark.parametrize(
    "model", [5, "x", None, [1], {}, np.array(3), 1j, object(), len, LogisticRegression], ids=described
)
@pytest.mark.parametrize("call", list(scored()))
def test_what_is_no_estimator_is_refused(call, model):
    with pytest.raises(TypeError, match=r"\bestimators?\b"):
        call(model)
