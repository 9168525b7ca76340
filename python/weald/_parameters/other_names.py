"""What parameters of other libraries, and arguments of their `fit`, are called here."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from difflib import get_close_matches
from functools import wraps
from typing import Any, TypeVar, cast

_Method = TypeVar("_Method", bound=Callable[..., Any])

# For a parameter of ours, or several of which an estimator has the first one that it has: its names elsewhere.
_PARAMETERS = {
    (
        "n_estimators",
        "max_iter",
    ): "iterations max_iter n_iter n_trees ntree num_boost_round num_iterations num_round num_trees",
    ("learning_rate",): "eta shrinkage shrinkage_rate",
    ("max_leaf_nodes",): "max_leaves num_leaves",
    ("max_depth",): "depth",
    ("l2_regularization", "C"): "alpha l2_leaf_reg lambda_l2 reg_lambda",
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
}
_OURS = {name: ours for ours, names in _PARAMETERS.items() for name in names.split()}

_ALONE = {
    "device": "fits run on processors, with n_jobs threads",
    "grow_policy": "with max_leaf_nodes trees are grown best first",
    "task_type": "fits run on processors, with n_jobs threads",
    "tree_method": "max_bins says how splits are searched",
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
}


def _hint(name: str, of_fit: bool, known: list[str], parameters: list[str]) -> str | None:
    """What an argument that is not known is called here, if anything."""
    ours = next((ours for ours in (name, *_OURS.get(name, ())) if ours in parameters), None)
    if ours is not None and of_fit:
        return f"set the parameter {ours} of the constructor"
    if ours is not None:
        return f"its name is {ours} here, see docs/migration.md for its values"
    close = get_close_matches(name, known, 1)
    return (_OF_FIT if of_fit else _ALONE).get(name, f"did you mean {close[0]}?" if close else None)


def telling_names(method: _Method) -> _Method:
    """The TypeError for an unknown argument of a constructor or of `fit` says what it is called here."""
    accepted = inspect.signature(method).parameters
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in accepted.values()):
        return method
    known, of_fit = list(accepted)[1:], method.__name__ == "fit"

    @wraps(method)
    def telling(self: Any, *args: object, **kwargs: object) -> Any:
        for name in kwargs.keys() - known:
            if (hint := _hint(name, of_fit, known, self._get_param_names() if of_fit else known)) is not None:
                where = f"{type(self).__name__}.{method.__name__}()"
                raise TypeError(f"{where} got an unexpected keyword argument '{name}': {hint}")
        return method(self, *args, **kwargs)

    return cast(_Method, telling)
