"""What arguments of `fit` of other libraries are called here."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

_Method = TypeVar("_Method", bound=Callable[..., Any])

_VALIDATION = "pass X_val and y_val, or eval_sets to record the loss of several sets"
_CATEGORIES = "set the parameter categorical_features of the constructor"
_OTHER = {
    "eval_set": _VALIDATION,
    "validation_data": _VALIDATION,
    "eval_names": "pass eval_sets as a dict, whose keys are the names",
    "eval_sample_weight": "pass sample_weight_val",
    "sample_weight_eval_set": "pass sample_weight_val",
    "eval_metric": "set the parameter scoring of the constructor",
    "early_stopping_rounds": "set the parameter n_iter_no_change of the constructor",
    "callbacks": "set the parameter callbacks of the constructor",
    "verbose": "set the parameter verbose of the constructor",
    "cat_features": _CATEGORIES,
    "categorical_feature": _CATEGORIES,
    "categorical_features": _CATEGORIES,
    "feature_name": "pass X as a frame, whose columns have names",
    "init_score": "pass base_margin",
    "init_model": "set the parameter warm_start of the constructor",
    "xgb_model": "set the parameter warm_start of the constructor",
}


def telling_names(fit: _Method) -> _Method:
    """The TypeError for an unknown argument of `fit` says what it is called here, if other libraries have it."""

    @wraps(fit)
    def told(self: object, *args: object, **kwargs: object) -> Any:
        for name in kwargs:
            if name in _OTHER:
                raise TypeError(
                    f"{type(self).__name__}.fit() got an unexpected keyword argument '{name}': {_OTHER[name]}"
                )
        return fit(self, *args, **kwargs)

    return cast(_Method, told)
