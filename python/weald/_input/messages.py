"""Values in messages, warnings that point at the line of the user, and what names of other libraries are here."""

from __future__ import annotations

import inspect
import re
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import NotFittedError

# The maximum length of a value in a message.
_MOST_CHARACTERS = 80


def described(value: object) -> str:
    """A plain value itself, the dtype and shape of an array, or the type of any other object."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if value is None or isinstance(value, bool | int | float | str | np.generic):
        return cut(repr(value) if type(value) is not int or abs(value) < 2**64 else hex(value))
    if isinstance(value, np.ndarray | sparse.sparray | sparse.spmatrix):
        array: Any = value
        return f"{_with_article(type(value).__name__)} of dtype {array.dtype} and shape {array.shape}"
    if isinstance(value, list | tuple):
        return f"{_with_article(type(value).__name__)} of length {len(value)}"
    if isinstance(value, dict):
        return f"a dict with the keys {cut(str(sorted(map(str, value))))}"
    name = getattr(value, "__qualname__", None)
    return _with_article(type(value).__name__) + (f" ({cut(name)})" if isinstance(name, str) else "")


def kind_of(value: object) -> str:
    """What an argument is that should be an estimator: "the class X", or "a X" for an instance."""
    return f"the class {value.__name__}" if isinstance(value, type) else f"a {type(value).__name__}"


def kind_and_module(value: object) -> str:
    """The same with the module of the type of an instance, which tells types of the same name apart."""
    return kind_of(value) if isinstance(value, type) else f"{kind_of(value)} of {type(value).__module__}"


def cut(text: str) -> str:
    """The text, which ends with an ellipsis if it is long."""
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}…"


# For values of parameters, or the first of several that is accepted: their names elsewhere.
_VALUES = {
    ("neg_root_mean_squared_error",): "rmse root_mean_squared_error",
    ("squared_error", "neg_mean_squared_error"): "l2 least_squares ls mean_squared_error mse regression rmse",
    ("absolute_error", "neg_mean_absolute_error"): "l1 lad mae mean_absolute_error",
    (
        "log_loss",
        "neg_log_loss",
    ): "binary binary_crossentropy cross_entropy deviance logistic logloss multiclass softmax",
    ("roc_auc",): "auc roc",
    ("f1_macro",): "macro_f1",
    ("f1_micro",): "micro_f1",
    ("sqrt",): "auto",
    ("one_vs_rest",): "ovr binary_relevance",
    ("soft",): "hard",
}


def closest(value: object, options: Iterable[str]) -> str | None:
    """The option that is meant by a string, or most like it, if one is."""
    if not isinstance(value, str):
        return None
    known, plain = list(options), value.lower().replace("-", "_").replace(" ", "_")
    meant = [one for ours, names in _VALUES.items() if plain in names.split() for one in ours if one in known]
    return next(iter(meant or get_close_matches(plain, known, 1)), None)


def did_you_mean(value: object, options: Iterable[str]) -> str:
    """The end of a message that refuses a string: the option that is most like it, if one is."""
    close = closest(value, options)
    return "" if close is None else f". Did you mean {close!r}?"


def _with_article(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"


# Packages whose frames are not those of the user.
_OURS = {"weald", "sklearn", "joblib", "contextlib", "_weald"}
_lock = threading.Lock()


def warn(message: str | Warning, category: type[Warning] | None = None) -> None:
    """Warn at the first frame outside this package, scikit-learn and joblib.

    In a thread that joblib or `concurrent.futures` has started, there may be no such frame: then at the outermost one.
    """
    level, frame = 1, sys._getframe(1)
    while frame.f_globals.get("__name__", "").partition(".")[0] in _OURS and frame.f_back is not None:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level + 1)


@contextmanager
def at_user() -> Iterator[None]:
    """Let the warnings of the calls inside, of scikit-learn, point at the user as well.

    It is for fits alone, and for calls that take no time: warnings are caught for all threads, one at a time here.
    """
    with _lock, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for found in caught:
        warn(found.message)


# Only weights of a smaller mean are tiny: an oversight, and not the choice of a strong regularization.
_TINY = 0.1


def of_tiny_weights(weights: NDArray[np.float64], least: dict[str, float]) -> bool:
    """Warn if all weights together are so small that what is in their unit decides the model; return whether they are.

    `least` has the weight of all samples below which each of these decides it.
    """
    with np.errstate(over="ignore"):
        total, n = float(weights.sum()), int(np.count_nonzero(weights))
    names = [name for name, needed in least.items() if needed > total]
    if total > _TINY * n or not names:
        return False
    factor = n / total
    shown = (
        np.format_float_positional(factor, precision=6, fractional=False, trim="-") if factor < 1e9 else f"{factor:.6g}"
    )
    warn(
        f"sample_weight sums to {total:.3g} over {n} samples, so that {' and '.join(names)} decide{'' if names[1:] else 's'} "
        f"the model: multiply sample_weight by {shown}, and weights are 1 on average",
        UserWarning,
    )
    return True


_Method = TypeVar("_Method", bound=Callable[..., Any])

# For a parameter of ours, or several of which an estimator has the first one that it has: its names elsewhere.
_PARAMETERS = {
    (
        "n_estimators",
        "max_iter",
    ): "epochs iterations max_iter n_iter n_trees ntree num_boost_round num_iterations num_round num_trees",
    ("learning_rate",): "eta shrinkage shrinkage_rate",
    ("max_leaf_nodes",): "max_leaves num_leaves",
    ("max_depth",): "depth",
    ("l2_regularization", "C"): "l2_leaf_reg lambda_l2 reg_lambda",
    ("C",): "alpha",
    ("min_weight_leaf",): "min_child_weight min_hessian_to_split min_sum_hessian_in_leaf",
    ("min_samples_leaf",): "min_child_samples min_data_in_leaf nodesize",
    ("min_impurity_decrease",): "gamma min_gain_to_split min_split_gain min_split_loss",
    ("max_features",): "colsample_bylevel colsample_bynode colsample_bytree feature_fraction feature_fraction_bynode "
    "max_features_by_tree mtry rsm",
    ("subsample", "max_samples"): "bagging_fraction sample_fraction sampsize subsample",
    ("max_bins",): "border_count max_bin",
    ("n_iter_no_change",): "early_stopping_round early_stopping_rounds od_wait",
    ("scoring",): "custom_metric eval_metric metric",
    ("loss",): "application loss_function objective",
    ("n_jobs",): "n_threads nthread num_threads thread_count",
    ("random_state",): "random_seed seed",
    ("verbose",): "logging_level silent verbosity",
    ("monotonic_cst",): "monotone_constraints monotonic_constraints",
    ("interaction_cst",): "interaction_constraints",
    ("categorical_features",): "cat_features categorical_feature enable_categorical",
    ("class_weight",): "auto_class_weights class_weights is_unbalance scale_pos_weight",
    ("output_strategy",): "multi_strategy output_projection n_projections relabel_leaves",
    ("early_stopping",): "cv refit",
    ("init",): "base_score init_cv",
    ("warm_start",): "init_model xgb_model",
    ("alpha",): "confidence_level coverage significance_level",
    ("estimator", "estimators"): "base_estimator classifier clf model regressor",
}
_OTHER_NAMES = {name: ours for ours, names in _PARAMETERS.items() for name in names.split()}

_NOT_NEEDED = "leave it out, for fit reads it from y"
_PENALTY = "the penalty is the square of the weights, by C or l2_regularization"
_PROCESSORS = "fits run on processors, with n_jobs threads"
_ALONE = {
    "alpha": "weald.loss.Quantile(level) as loss has the level, and l2_regularization is the penalty",
    "base_estimator": "the models inside are trees",
    "booster": "stages are trees, or models of the parameter estimator of boosting",
    "boosting_type": "stages are trees, and forests are weald.RandomForestClassifier and RandomForestRegressor",
    "bootstrap_type": "subsample of boosting, bootstrap and max_samples of forests say which samples are drawn",
    "device": _PROCESSORS,
    "gpu_id": _PROCESSORS,
    "grow_policy": "with max_leaf_nodes trees are grown best first",
    "importance_type": "weald.inspection.feature_importances has the kinds of importances",
    "lambda_l1": _PENALTY,
    "missing": "NaN is a missing value",
    "num_class": _NOT_NEEDED,
    "one_hot_max_size": "categories are split by subsets, see docs/categories.md",
    "penalty": _PENALTY,
    "reg_alpha": _PENALTY,
    "solver": "there is one solver, whose precision is tol",
    "task_type": _PROCESSORS,
    "tree_method": "max_bins says how splits are searched",
    "use_label_encoder": _NOT_NEEDED,
}

_VALIDATION = "pass X_val and y_val, or eval_sets to record the loss of several sets"
_OF_FIT = {
    "eval_set": _VALIDATION,
    "validation_data": _VALIDATION,
    "eval_names": "pass eval_sets as a dict, whose keys are the names",
    "eval_sample_weight": "pass sample_weight_val",
    "sample_weight_eval_set": "pass sample_weight_val",
    "feature_name": "pass X as a frame, whose columns have names",
    "init_score": "pass base_margin",
    "pred_contrib": "weald.inspection.shap_values has the contributions of features",
    "pred_leaf": "apply has the leaves",
    "raw_score": "decision_function has the scores",
}


# What there is in place of methods and attributes of other libraries, and of those that some estimators have.
_FILES = "weald.save(estimator, path) writes a model, weald.load(path) reads it, and weald.export has other formats"
_BATCHES = "a model is fitted to all of its samples at once, see docs/new-subjects.md"
_IMPORTANCES = "feature_importances_ and weald.inspection.feature_importances have importances"
_OF_ATTRIBUTES = {
    "best_iteration": "n_estimators_ has the number of stages",
    "best_iteration_": "n_estimators_ has the number of stages",
    "booster_": _FILES,
    "coef_": f"linear models have weights of features; {_IMPORTANCES}",
    "decision_function": "boosting of classes and linear models have it; other classifiers have predict_proba, and regressors "
    "predict",
    "dump_model": _FILES,
    "evals_result": "eval_results_ of boosting has the curves",
    "evals_result_": "eval_results_ of boosting has the curves",
    "feature_importance": _IMPORTANCES,
    "feature_importances": _IMPORTANCES,
    "get_booster": _FILES,
    "get_feature_importance": _IMPORTANCES,
    "get_score": _IMPORTANCES,
    "load_model": _FILES,
    "partial_fit": _BATCHES,
    "plot_importance": "weald.inspection.FeatureImportanceDisplay draws importances",
    "plot_tree": "weald.inspection.TreeDisplay draws trees",
    "predict_proba": 'classifiers have probabilities, unless their loss is "hinge"; regressors have predict',
    "predict_quantiles": "regressors with loss=weald.loss.Quantile([...]) have it",
    "predict_topk": "it ranks labels, classes of one output, or several numbers",
    "save": _FILES,
    "save_model": _FILES,
    "shap_values": "weald.inspection.shap_values(estimator, X) explains predictions",
    "update": _BATCHES,
}


# The names of fitted attributes.
_LEARNT = re.compile("(?!_).*_$")


def tell_advice(error: AttributeError, estimator: object, name: str) -> None:
    """Add what to do to the error for an attribute that the estimator does not have."""
    told, is_late = _OF_ATTRIBUTES.get(name, ""), isinstance(error.__cause__, NotFittedError)
    if name.endswith("_") and (not told or hasattr(type(estimator), name)):
        is_late = not any(map(_LEARNT.match, vars(estimator)))
    if (is_late or told) and ": " not in str(error) and not isinstance(error, NotFittedError):
        error.args = (f"{error}: {'call fit first' if is_late else told}",)


def _hint(name: str, of_fit: bool, known: list[str], parameters: list[str]) -> str | None:
    """What an argument that is not known is called here, if anything."""
    ours = next((ours for ours in (name, *_OTHER_NAMES.get(name, ())) if ours in parameters), None)
    if ours is not None and of_fit:
        return f"set the parameter {ours} of the constructor"
    if ours is not None:
        return f"its name is {ours} here, see docs/migration.md for its values"
    close = closest(name, known)
    return (_OF_FIT if of_fit else _ALONE).get(name, None if close is None else f"did you mean {close}?")


def telling_names(method: _Method) -> _Method:
    """The TypeError for an unknown argument of a constructor, `fit` or `predict` says what it is called here."""
    accepted = inspect.signature(method).parameters
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in accepted.values()):
        return method
    known, of_fit = list(accepted)[1:], method.__name__ != "__init__"

    @wraps(method)
    def telling(self: Any, *args: object, **kwargs: object) -> Any:
        if of_fit and not hasattr(self, "get_params"):
            name, _, called = method.__qualname__.rpartition(".")
            raise TypeError(f"{called} must be called on an instance of {name}, got the class and {described(self)}")
        for name in kwargs.keys() - known:
            if (hint := _hint(name, of_fit, known, self._get_param_names() if of_fit else known)) is not None:
                where = f"{type(self).__name__}.{method.__name__}()"
                raise TypeError(f"{where} got an unexpected keyword argument '{name}': {hint}")
        return method(self, *args, **kwargs)

    return cast(_Method, telling)
