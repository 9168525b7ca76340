"""The names of scikit-learn that it calls private, which a release may move or change: all of them are here.

Others import them from this module; `tests/test_package.py` keeps it so.
"""

from __future__ import annotations

from typing import Any

from sklearn.base import _fit_context as fit_context
from sklearn.ensemble._base import _BaseHeterogeneousEnsemble as BaseHeterogeneousEnsemble
from sklearn.model_selection._search import BaseSearchCV
from sklearn.tree._tree import NODE_DTYPE, Tree
from sklearn.utils import _param_validation
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._available_if import _AvailableIfDescriptor as AvailableIfDescriptor
from sklearn.utils._param_validation import HasMethods, Interval, RealNotInt
from sklearn.utils.validation import _check_feature_names as check_feature_names
from sklearn.utils.validation import _check_n_features as check_n_features
from sklearn.utils.validation import _get_feature_names as get_feature_names
from sklearn.utils.validation import _num_samples as num_samples

from weald._input.messages import did_you_mean

__all__ = [
    "NODE_DTYPE",
    "AvailableIfDescriptor",
    "BaseHeterogeneousEnsemble",
    "BaseSearchCV",
    "HasMethods",
    "Interval",
    "RealNotInt",
    "StrOptions",
    "Tree",
    "check_feature_names",
    "check_n_features",
    "fit_context",
    "get_feature_names",
    "num_samples",
    "safe_indexing",
    "validate_parameter_constraints",
]


class StrOptions(_param_validation.StrOptions):  # type: ignore[misc]
    """Some strings, which messages list in order."""

    def __str__(self) -> str:
        return f"a str among {{{', '.join(map(repr, sorted(self.options)))}}}"


def validate_parameter_constraints(constraints: dict[str, list[Any]], params: dict[str, Any], caller_name: str) -> None:
    """scikit-learn's validation; the message for a string names the option that is most like it."""
    for name, value in params.items():
        try:
            _param_validation.validate_parameter_constraints(constraints, {name: value}, caller_name)
        except _param_validation.InvalidParameterError as error:
            accepted = [part.options for part in constraints[name] if isinstance(part, StrOptions)]
            told = str(error).removesuffix(".") + (did_you_mean(value, set().union(*accepted)) or ".")
            raise type(error)(told) from None
