"""The names of scikit-learn that it calls private, which a release may move or change: all of them are here.

Others import them from this module; `tests/test_package.py` keeps it so.
"""

from __future__ import annotations

from sklearn.base import _fit_context as fit_context
from sklearn.ensemble._base import _BaseHeterogeneousEnsemble as BaseHeterogeneousEnsemble
from sklearn.model_selection._search import BaseSearchCV
from sklearn.tree._tree import NODE_DTYPE, Tree
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._available_if import _AvailableIfDescriptor as AvailableIfDescriptor
from sklearn.utils._param_validation import HasMethods, Interval, RealNotInt, StrOptions, validate_parameter_constraints
from sklearn.utils.validation import _check_feature_names as check_feature_names
from sklearn.utils.validation import _check_n_features as check_n_features
from sklearn.utils.validation import _get_feature_names as get_feature_names
from sklearn.utils.validation import _num_samples as num_samples

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
