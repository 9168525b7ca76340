"""The base class of the multi-label meta-estimators `TunedThresholds`, `CalibratedLabels` and `HierarchicalLabels`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence, Set
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.utils import Tags, get_tags

from weald._fit.named_outputs import NamedLabels, NamedOutputs
from weald._fit.predictions import BaseClassifier
from weald._fitted.at_once import FittedAsOne, of_one_fit
from weald._fitted.proof import check_fitted, is_label_format
from weald._input import checks, masks, registry, targets
from weald._input.checks import Float
from weald._input.described import described
from weald._input.frames import CONTAINERS, OUTPUT
from weald._input.targets import LabelFormat, Target, label_classes
from weald._labels import label_scores
from weald._parameters.types import MatrixLike, Scores, available_if
from weald._ranking import best, ranks
from weald._ranking.pipelines import apart
from weald._rounds.progress import check_verbose


def has(method: str) -> Any:
    def check(estimator: BaseEstimator) -> bool:
        inner = getattr(estimator, "estimator_", estimator.estimator)
        final, _ = apart(inner)
        getattr(final, method)
        return True

    return check


def has_probabilities(estimator: BaseEstimator) -> bool:
    return hasattr(estimator, "predict_proba")


# Attributes that a fitted estimator may have.
_OPTIONAL = {"target_names_in_", OUTPUT}


class LabelsAround(NamedLabels, NamedOutputs, ClassifierMixin, MetaEstimatorMixin, FittedAsOne, BaseEstimator):  # type: ignore[misc]
    """Base class of multi-label meta-estimators: validation of y, and model files."""

    _masks_y = True

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        registry.add(registry.META_ESTIMATORS, cls)

    estimator: BaseEstimator | None
    verbose: int

    estimator_: BaseEstimator
    classes_: NDArray[np.int64]
    n_outputs_: int
    _label_format: LabelFormat

    def _validate_params(self) -> None:
        if isinstance(self.estimator, type):
            raise TypeError(f"estimator must be an instance, got the class {self.estimator.__name__}")
        label_scores.check_scores(self.estimator)
        check_verbose(self.verbose)

    def _checked_labels(
        self, X: MatrixLike, y: MatrixLike, sample_weight: object, y_mask: MatrixLike | None, label_names: object
    ) -> tuple[Target, Float | None]:
        """Validated y and sample weights."""
        if y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        n = checks.count_samples(X)
        weights = checks.check_weights(sample_weight, n)
        target = targets.labels(y, n, weights, y_mask=y_mask, each_output=True)
        target = targets.with_label_names(target, label_names)
        weights = masks.weights_of_known(target.mask, weights, target.names)
        if not target.original.nnz:
            raise ValueError("y must have at least one label in a sample of positive weight, got none")
        return target, weights

    def _check_masks(self, target: Target) -> None:
        """Raise if y has unknown entries and the estimator does not support them."""
        final, _ = apart(self.estimator)
        if target.mask is not None and not getattr(final, "_masks_y", False):
            raise ValueError(
                f"{type(final).__name__} does not support y with masked entries: estimator must be a classifier "
                "of weald that does, or a fitted one in FrozenEstimator"
            )

    def _as_given(self, target: Target) -> Any:
        """The labels for the fit of the estimator."""
        form = target.label_format
        assert form is not None
        # Other estimators than those of weald may not support sparse y, and get y as it was passed.
        is_sparse = isinstance(apart(self.estimator)[0], BaseClassifier) or form.container
        return (target.original if is_sparse else target.original.toarray()).astype(form.dtype)

    def _set_labels(self, target: Target) -> None:
        """Set the attributes for y."""
        assert target.label_format is not None
        self._label_format = target.label_format
        self.n_outputs_ = target.n_outputs
        self.classes_ = label_classes(target.n_outputs)
        if target.names is not None:
            self.target_names_in_ = target.names

    def _read(self, y: MatrixLike | None, y_mask: MatrixLike | None, n_samples: int) -> tuple[sparse.csr_array, Any]:
        """The known labels of other samples, and the pattern of unknown ones."""
        names = getattr(self, "target_names_in_", None)
        target = Target("labels", None, self.n_outputs_, [], None, self._label_format, names)
        return target.read(y, n_samples, type(self).__name__, y_mask=y_mask)

    @property
    @of_one_fit
    def n_features_in_(self) -> int:
        """Number of features of the fitted estimator."""
        if not hasattr(self, "estimator_"):
            raise AttributeError(f"{type(self).__name__} has no n_features_in_ before it is fitted")
        n_features: int = self.estimator_.n_features_in_
        return n_features

    @property
    @of_one_fit
    def feature_names_in_(self) -> NDArray[np.object_]:
        """Names of the features of the fitted estimator, if it has them."""
        if not hasattr(self, "estimator_"):
            raise AttributeError(f"{type(self).__name__} has no feature_names_in_ before it is fitted")
        names: NDArray[np.object_] = self.estimator_.feature_names_in_
        return names

    @property
    @of_one_fit
    def feature_importances_(self) -> Float:
        """Importance of each feature for the fitted estimator, or for the last step if that is a pipeline."""
        if not hasattr(self, "estimator_"):
            raise AttributeError(f"{type(self).__name__} has no feature_importances_ before it is fitted")
        importances: Float = apart(self.estimator_)[0].feature_importances_
        return importances

    # --- predictions of all of them ----------------------------------------------------------------------------------

    @available_if(has_probabilities)
    @of_one_fit
    def predict_log_proba(self, X: MatrixLike) -> Float:
        """Predict the logarithms of the probabilities; the logarithm of zero is minus infinity.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that the estimator accepts.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            The logarithms of the result of `predict_proba`.
        """
        with np.errstate(divide="ignore"):
            found: Float = np.log(self.predict_proba(X))
        return found

    @of_one_fit
    def predict_topk(
        self,
        X: MatrixLike,
        k: int,
        *,
        scores: Scores = "auto",
        min_score: float | None = None,
        exclude: MatrixLike | None = None,
    ) -> tuple[NDArray[np.int64], Float]:
        """Predict the `k` highest-scoring labels of each sample. Thresholds are not used.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that the estimator accepts.
        k : int
            The number of labels per sample, from 1 to the number of labels.
        scores : {"auto", "probability", "margin"}, default="auto"
            The scores that are returned: "probability" are those of `predict_proba`, and "margin" those of
            `decision_function`, where for two classes that of the first class is the negative one of the second. "auto" are
            probabilities if there are any, and margins otherwise.
        min_score : float, default=None
            Labels with a lower score are not returned. It is in the unit of the scores: from 0 to 1 for probabilities, and any
            number for margins. None returns all.
        exclude : sparse matrix of shape (n_samples, n_labels) or list of int, default=None
            Labels that are not returned: the non-zero entries of a sparse matrix, or a list of labels to exclude for all
            samples.

        Returns
        -------
        indices : int64 ndarray of shape (n_samples, k)
            Indices of labels, or positions in `classes_`, in decreasing order of the score; of equal ones, the lower index
            comes first. If `min_score` and `exclude` leave fewer than `k` for a sample, the last places are -1.
        scores : float64 ndarray of shape (n_samples, k)
            Their scores. Where the index is -1, the probability 0 or the margin minus infinity.

        Raises
        ------
        ValueError, TypeError
            If `k` or `min_score` is out of range, if there are no such `scores`, or if `exclude` does not have a valid shape
            or type.
        """
        check_fitted(self)
        own = (hasattr(self, "predict_proba"), hasattr(self, "decision_function"))
        as_margins = best.are_margins(scores, *own, type(self).__name__)
        k, floor = best.checked_k(k, self.n_outputs_), best.checked_floor(min_score, as_margins)
        marked = best.pattern(exclude, checks.count_samples(X), self.n_outputs_)
        indices, found = self._k_best(X, k, marked, as_margins=as_margins)
        return best.ranked(indices, found, floor, are_margins=as_margins)

    @abstractmethod
    def _k_best(self, X: MatrixLike, k: int, marked: object, *, as_margins: bool) -> tuple[NDArray[np.uint32], Float]:
        """The `k` best labels of samples, without the marked ones, and their scores."""

    def _inside(self) -> BaseEstimator:
        """The estimator whose scores are used."""
        check_fitted(self)
        return self.estimator_

    def _built(self, named: sparse.csr_array) -> BaseEstimator:
        """Labels in the form of y: sparse or dense, and of its dtype."""
        form = self._label_format
        labels: Any = named if form.container is not None else named.toarray()
        return form.build(labels)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        tags.input_tags.string = inner.input_tags.string
        tags.target_tags.single_output = False
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        return tags

    # --- files -------------------------------------------------------------------------------------------------------

    # Fitted attributes of the class itself that are saved in files.
    _fitted: ClassVar[tuple[str, ...]]

    def _fitted_names(self) -> Set[str]:
        return {"estimator_", "classes_", "n_outputs_", "_label_format", "target_names_in_", "_maps", *self._fitted}

    @abstractmethod
    def _prove(self, need: Callable[[Any, str, str], None]) -> None:
        """Validate the fitted attributes of the class; `need` takes a condition, an attribute and a message."""

    @of_one_fit
    def _parts(self) -> tuple[Any, bool, dict[str, Any], dict[str, Any]]:
        """The fitted inner estimator, whether it was frozen, the parameters, and the fitted attributes."""
        inner, params = self.estimator_, self.get_params(deep=False)
        is_frozen = isinstance(inner, FrozenEstimator)
        while isinstance(inner, FrozenEstimator):
            inner = inner.estimator
        estimator = params.pop("estimator")
        if not is_frozen:
            params["estimator"] = clone(estimator)
        names = ("n_outputs_", "_label_format", *self._fitted)
        fitted = {name: getattr(self, name) for name in names}
        fitted |= {name: self.__dict__[name] for name in _OPTIONAL if name in self.__dict__}
        return inner, is_frozen, params, fitted

    def _put_together(self, inner: BaseEstimator, is_frozen: bool, fitted: dict[str, Any]) -> None:
        """Set the attributes from the result of `_parts` that a file contains, after validation."""

        def need(holds: object, attribute: str, why: str) -> None:
            if not holds:
                raise ValueError(f"{type(self).__name__}: {attribute} {why}")

        names = {"n_outputs_", "_label_format", *self._fitted}
        wrong = sorted(names ^ (fitted.keys() - _OPTIONAL))
        need(not wrong, "attributes", f"must be {sorted(names)}, got {sorted(fitted)}")
        final, _ = apart(inner)
        is_own = isinstance(final, BaseClassifier) or is_meta_estimator(final)
        is_fitted = is_classifier(inner) and (not is_own or hasattr(final, "n_outputs_"))
        need(is_fitted, "estimator_", f"must be a fitted classifier, got {described(inner)}")
        n_labels, form = fitted["n_outputs_"], fitted["_label_format"]
        need(
            type(n_labels) is int and n_labels > 0,
            "n_outputs_",
            f"must be a positive integer, got {described(n_labels)}",
        )
        fits = not is_own or n_labels == final.n_outputs_
        need(fits, "n_outputs_", f"must be the number of labels of estimator_, got {described(n_labels)}")
        need(is_label_format(form), "_label_format", f"must be a format of labels, got {described(form)}")
        if "target_names_in_" in fitted:
            prove_names(need, "target_names_in_", fitted["target_names_in_"], n_labels)
        if OUTPUT in fitted:
            container = fitted[OUTPUT]
            is_known = type(container) is str and container in CONTAINERS
            need(is_known, OUTPUT, f"must be one of {', '.join(CONTAINERS)}, got {described(container)}")
        self.estimator_ = FrozenEstimator(inner) if is_frozen else inner
        self.classes_ = label_classes(n_labels)
        self.__dict__.update(fitted)
        self._prove(need)

    def __setstate__(self, state: dict[str, Any]) -> None:
        # States from pickle, joblib and skops come from an untrusted source.
        if "estimator_" in state:
            proven = object.__new__(type(self))
            proven.__dict__.update(state)
            inner, is_frozen, _, fitted = proven._parts()
            proven._put_together(inner, is_frozen, fitted)
        super().__setstate__(state)


def is_meta_estimator(estimator: object) -> bool:
    """Whether this is a meta-estimator of weald."""
    return registry.META_ESTIMATORS.get(type(estimator).__name__) is type(estimator)


def prove_names(need: Callable[[Any, str, str], None], attribute: str, names: Sequence[str], expected: int) -> None:
    """Check that the names of labels are distinct strings, one for each label."""
    is_list = isinstance(names, np.ndarray) and names.dtype == object and names.shape == (expected,)
    are_strings = is_list and all(isinstance(name, str) for name in names)
    need(are_strings, attribute, f"must have {expected} strings, one name for each label, got {described(names)}")
    need(len(set(names)) == len(names), attribute, "must have distinct names, got a name twice")


def is_array(value: object, dtype: object, shape: tuple[int, ...]) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == dtype and value.shape == shape


def without(cells: sparse.csr_array, mask: sparse.csr_array | None) -> sparse.csr_array:
    """The stored entries that are not in the pattern `mask`, if there is one."""
    return cells if mask is None else ranks.without(cells, mask)


def n_positive_rows(truth: sparse.csr_array, weights: Float) -> NDArray[np.int64]:
    """For each label, the number of samples of positive weight that have it."""
    rows = np.repeat(weights > 0, np.diff(truth.indptr))
    return np.bincount(truth.indices, rows, minlength=truth.shape[1]).astype(np.int64)
