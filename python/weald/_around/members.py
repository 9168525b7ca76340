"""The members of a mean of estimators: their fits, their weights, their files."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager, nullcontext
from typing import Any, ClassVar, Self

import numpy as np
from joblib import parallel_config
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import Bunch, Tags, get_tags
from sklearn.utils.validation import has_fit_parameter

from weald._fit.base import BaseModel
from weald._fit.named_outputs import NamedOutputs
from weald._fit.predictions import known_target
from weald._fitted.around import is_meta_estimator, prove_names
from weald._fitted.at_once import FittedAsOne, fitted_at_once, of_one_fit
from weald._fitted.fits import fitted
from weald._fitted.proof import check_fitted
from weald._input import checks, frames, registry, targets
from weald._input.checks import Float, is_integer
from weald._input.described import described, kind_of
from weald._input.frames import CONTAINERS, OUTPUT
from weald._input.sklearn_private import BaseHeterogeneousEnsemble, safe_indexing
from weald._input.sparse import is_sparse
from weald._input.targets import Target
from weald._parameters.types import MatrixLike
from weald._ranking.pipelines import apart
from weald._rounds.progress import Progress, check_verbose

_ACCEPTED = "a list of pairs (name, estimator)"
# Attributes that a fitted estimator may have.
_OPTIONAL = {"target_names_in_", OUTPUT}


class BaseVoting(NamedOutputs, FittedAsOne, BaseHeterogeneousEnsemble):  # type: ignore[misc]
    """The members of a mean: their fits, their weights, their files."""

    estimators: Sequence[tuple[str, Any]]
    weights: ArrayLike | None
    n_jobs: int | None
    verbose: int

    estimators_: list[Any]
    weights_: Float
    n_outputs_: int
    # The names of all estimators, and whether each is among the fitted ones: others were dropped.
    _names: dict[str, bool]

    # Whether an estimator is of the right kind, and what is said of it.
    _is_kind: ClassVar[Any]
    _kind: ClassVar[str]
    _other: ClassVar[str]

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        registry.add(registry.META_ESTIMATORS, cls)

    # --- parameters --------------------------------------------------------------------------------------------------

    def _validate_params(self) -> None:
        self._checked_weights(self._kept())
        if self.n_jobs is not None and not is_integer(self.n_jobs):
            raise ValueError(f"n_jobs must be an integer or None, got {described(self.n_jobs)}")
        if self.n_jobs == 0:
            raise ValueError("n_jobs must not be 0: 1 is one thread, and -1 are all processors")
        check_verbose(self.verbose)

    def _kept(self) -> list[tuple[str, Any]]:
        """The checked pairs of `estimators` that are not dropped."""
        given = self.estimators
        if not isinstance(given, list | tuple) or not given:
            raise ValueError(f"estimators must be {_ACCEPTED}, got {described(given)}")
        for pair in given:
            if not isinstance(pair, list | tuple) or len(pair) != 2 or not isinstance(pair[0], str):
                raise ValueError(f"estimators must be {_ACCEPTED}, got the item {described(pair)}")
        self._validate_names([name for name, _ in given])
        kept = [(name, estimator) for name, estimator in given if not is_dropped(estimator)]
        if not kept:
            raise ValueError("estimators must have one that is not 'drop'")
        for name, estimator in kept:
            if isinstance(estimator, type) or not hasattr(estimator, "fit"):
                raise TypeError(f"estimators must be instances with a method fit, got {kind_of(estimator)} as {name!r}")
            self._check_kind(name, estimator)
        return kept

    def _check_kind(self, name: str, estimator: Any) -> None:
        """Raise for an estimator of another kind."""
        if not self._is_kind(estimator):
            found = kind_of(apart(estimator)[0])
            raise TypeError(f"estimators must be {self._kind}, got {found} as {name!r}; {self._other}")

    def _checked_weights(self, kept: list[tuple[str, Any]]) -> Float:
        """The weights of the estimators that are not dropped, divided by the largest one."""
        if self.weights is None:
            return np.ones(len(kept))
        found = checks.floats(self.weights, "weights", "a list of numbers")
        n = len(self.estimators)
        if found.shape != (n,):
            raise ValueError(f"weights must have shape ({n},), one weight for each estimator, got {found.shape}")
        if not np.isfinite(found).all() or (found < 0).any():
            wrong = found[~(np.isfinite(found) & (found >= 0))][0]
            raise ValueError(f"weights must be finite numbers that are not negative, got {wrong:g}")
        found = found[[not is_dropped(estimator) for _, estimator in self.estimators]]
        if not found.any():
            raise ValueError("weights must be positive for at least one estimator, got zero for every one")
        weights: Float = found / found.max()
        return weights

    @property
    def _masks_y(self) -> bool:
        """Whether all estimators that are fitted support unknown values of y."""
        return self._without_masks() is None

    def _without_masks(self) -> str | None:
        """The name of an estimator that is fitted and does not support unknown values of y."""
        for name, estimator in self._kept():
            if not isinstance(estimator, FrozenEstimator) and not getattr(apart(estimator)[0], "_masks_y", False):
                return name
        return None

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        try:
            of_all = [get_tags(estimator) for _, estimator in self._kept()]
        except (TypeError, ValueError):  # `fit` says what is wrong
            return tags
        first = of_all[0]
        tags.classifier_tags, tags.regressor_tags = first.classifier_tags, first.regressor_tags
        # Lists, not generators: one that is interrupted cannot pass the interruption on.
        tags.non_deterministic = True in [found.non_deterministic for found in of_all]
        tags.target_tags = first.target_tags
        tags.target_tags.required = True
        for name in ("multi_output", "single_output"):
            setattr(tags.target_tags, name, False not in [getattr(found.target_tags, name) for found in of_all])
        for name in ("sparse", "allow_nan", "string", "categorical", "two_d_array", "one_d_array", "three_d_array"):
            setattr(tags.input_tags, name, False not in [getattr(found.input_tags, name) for found in of_all])
        tags.input_tags.positive_only = True in [found.input_tags.positive_only for found in of_all]
        return tags

    # --- fit ---------------------------------------------------------------------------------------------------------

    def fit(
        self,
        X: MatrixLike,
        y: MatrixLike,
        sample_weight: ArrayLike | None = None,
        *,
        y_mask: MatrixLike | None = None,
        label_names: ArrayLike | None = None,
    ) -> Self:
        """Fit the estimators, one after another.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples, in any form that all estimators accept.
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_outputs)
            The target values, as in `weald.RandomForestClassifier` and `weald.RandomForestRegressor`.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Sample weights. Samples of weight zero are treated as if they were absent.
        y_mask : {array-like, sparse matrix} of the shape of y or None, default=None
            True or 1 marks unknown entries of y, in addition to those that are NaN. All estimators that are fitted must support
            them.
        label_names : array-like of shape (n_labels,) of str or None, default=None
            Distinct names of the labels. They become `target_names_in_`, which `topk_names`, `export_rules` and frames use and
            which model files contain. If y is a frame, they must be the names of its columns. Only for labels.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter or the input is not valid, or if estimators do not fit together. The estimator is left unchanged. An
            error in the fit of one of the estimators has a note with its name.
        TypeError
            If one of the estimators is a class, of the wrong kind, or does not support `sample_weight`. The estimator is left
            unchanged.
        """
        self._validate_params()
        with fitted_at_once(self, anew=True) as new:
            new._fit(X, y, sample_weight, y_mask, label_names, fitted)
        return self

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: object,
        y_mask: Any,
        label_names: object,
        fit: Callable[..., Any],
    ) -> None:
        """Fit all members by `fit`, which returns the fitted estimator, and set the attributes."""
        name = type(self).__name__
        checks.check_is_given(y, name)
        kept = self._kept()
        n = checks.count_samples(X)
        weights = checks.check_weights(sample_weight, n)
        target = targets.with_label_names(self._target(kept, y, weights, n, y_mask), label_names, y_mask)
        if target.mask is None:
            y_mask = None
        elif (which := self._without_masks()) is not None:
            raise ValueError(
                f"{kind_of(apart(dict(kept)[which])[0])} as {which!r} does not support y with masked entries: estimators "
                "must be of weald and support them, or be fitted ones in FrozenEstimator"
            )
        self.estimators_ = []
        with Progress(name, "fit", len(kept), self.verbose) as progress:
            for which, estimator in kept:
                with _of_member(which), self._threads():
                    data = _for_member(which, estimator, X, y, weights, y_mask, target)
                    self.estimators_.append(fit(estimator, *data))
                progress(len(self.estimators_))
        self._names = {which: not is_dropped(estimator) for which, estimator in self.estimators}
        self.weights_, self.n_outputs_ = self._checked_weights(kept), target.n_outputs
        if target.names is not None:
            self.target_names_in_ = target.names
        self._set_columns(target)

    @abstractmethod
    def _target(self, kept: list[tuple[str, Any]], y: Any, weights: Float | None, n_samples: int, mask: Any) -> Target:
        """Checked y."""

    def _set_columns(self, target: Target) -> None:
        """Set the attributes for what the columns of y are, after a check that the members have the same."""
        self._check_members()

    def _members(self) -> Iterator[tuple[str, Any]]:
        """The fitted estimators by name."""
        return zip([name for name, is_kept in self._names.items() if is_kept], self.estimators_, strict=True)

    def _check_members(self) -> None:
        """Raise for fitted estimators whose outputs are not those of y."""
        for name, model in self._members():
            final = apart(model)[0]
            if not is_own(final):
                continue
            if final.n_outputs_ != self.n_outputs_:
                raise ValueError(
                    f"y must have {final.n_outputs_} outputs, as in the fit of the estimator {name!r}, got "
                    f"{self.n_outputs_}"
                )
            own = getattr(final, "target_names_in_", None)
            if (where := frames.different(getattr(self, "target_names_in_", None), own)) is not None:
                raise ValueError(f"y must have {where}: outputs must be those of the fit of the estimator {name!r}")

    # --- attributes --------------------------------------------------------------------------------------------------

    @property
    @of_one_fit
    def named_estimators_(self) -> Any:
        """The fitted estimators by name, and "drop" for those that were left out."""
        self._of_first("named_estimators_", lambda _: None)
        models = iter(self.estimators_)
        return Bunch(**{name: next(models) if is_kept else "drop" for name, is_kept in self._names.items()})

    @property
    @of_one_fit
    def n_features_in_(self) -> int:
        """Number of features of the first estimator."""
        return int(self._of_first("n_features_in_"))

    @property
    @of_one_fit
    def feature_names_in_(self) -> NDArray[np.object_]:
        """Names of the features of the first estimator, if it has them."""
        names: NDArray[np.object_] = self._of_first("feature_names_in_")
        return names

    def _of_first(self, attribute: str, read: Callable[[Any], Any] | None = None) -> Any:
        """An attribute of the first fitted estimator."""
        if "estimators_" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has no {attribute} before it is fitted")
        return getattr(self.estimators_[0], attribute) if read is None else read(self.estimators_[0])

    def __sklearn_is_fitted__(self) -> bool:
        return "estimators_" in self.__dict__

    # --- means -------------------------------------------------------------------------------------------------------

    @contextmanager
    def _threads(self) -> Iterator[None]:
        """Gives this number of threads to estimators that leave theirs open."""
        with nullcontext() if self.n_jobs is None else parallel_config(n_jobs=int(self.n_jobs)):
            yield

    def _mean(self, X: Any) -> Any:
        """The mean of what estimators with a positive weight predict, as columns; a list for several outputs of classes."""
        check_fitted(self)
        weights = self.weights_.tolist()
        with self._threads():
            found = [
                self._of_member(model, name, X)
                for (name, model), weight in zip(self._members(), weights, strict=True)
                if weight > 0
            ]
        weights = [weight for weight in weights if weight > 0]
        if isinstance(found[0], list):
            return [mean_of(list(parts), weights) for parts in zip(*found, strict=True)]
        return mean_of(found, weights)

    @abstractmethod
    def _of_member(self, model: Any, name: str, X: Any) -> Any:
        """What a member predicts."""

    def _checked_width(self, found: Any, name: str) -> Any:
        if found.shape[1] != self.n_outputs_:
            raise ValueError(
                f"estimators must have {self.n_outputs_} outputs, the number of columns of y, got {found.shape[1]} from "
                f"{name!r}"
            )
        return found

    def _n_samples(self, X: Any) -> int:
        return checks.count_samples(X)

    def _known_target(self) -> Target:
        return known_target(self)

    # --- files -------------------------------------------------------------------------------------------------------

    # Attributes that are in files, beside the members.
    _stored: ClassVar[tuple[str, ...]] = ("n_outputs_",)

    def _fitted_names(self) -> Set[str]:
        return {"estimators_", "_names", "weights_", "target_names_in_", *self._stored}

    @of_one_fit
    def _parts_of_members(self) -> tuple[list[tuple[str, Any, bool]], dict[str, Any], dict[str, Any]]:
        """Names and fitted estimators, and whether these were frozen; the parameters, and the fitted attributes.

        Parameters that are frozen estimators are None in the list.
        """
        members = []
        for name, model in self._members():
            inner = model
            while isinstance(inner, FrozenEstimator):
                inner = inner.estimator
            members.append((name, inner, inner is not model))
        params = self.get_params(deep=False)
        params["estimators"] = [
            (name, None if isinstance(found, FrozenEstimator) else found if is_dropped(found) else clone(found))
            for name, found in params["estimators"]
        ]
        kept: dict[str, Any] = {name: getattr(self, name) for name in self._stored}
        kept |= {"_names": self._names, "weights_": self.weights_.tolist()}
        kept |= {name: self.__dict__[name] for name in _OPTIONAL if name in self.__dict__}
        return members, params, kept

    def _need(self, holds: object, attribute: str, why: str) -> None:
        if not holds:
            raise ValueError(f"{type(self).__name__}: {attribute} {why}")

    def _put_together(self, members: list[tuple[str, Any, bool]], kept: dict[str, Any]) -> None:
        """Set the attributes from parts of `_parts_of_members` that a file contains, after validation."""
        need = self._need
        need(members, "estimators_", "must have at least one estimator")
        for _, inner, _ in members:
            final = apart(inner)[0]
            is_fitted = self._is_kind(inner) and (not is_own(final) or hasattr(final, "n_outputs_"))
            need(is_fitted, "estimators_", f"must be fitted {self._kind}, got {described(inner)}")
        expected = {"_names", "weights_", *self._stored}
        wrong = sorted(expected ^ (kept.keys() - _OPTIONAL))
        need(not wrong, "attributes", f"must be {sorted(expected)}, got {sorted(kept)}")
        n_outputs, weights, names = kept["n_outputs_"], kept["weights_"], kept["_names"]
        are_names = isinstance(names, dict) and all(type(n) is str and type(k) is bool for n, k in names.items())
        are_names = are_names and [name for name, _, _ in members] == [name for name, k in names.items() if k]
        need(are_names, "_names", f"must be those of the estimators, got {described(names)}")
        is_number = type(n_outputs) is int and n_outputs > 0
        need(is_number, "n_outputs_", f"must be a positive integer, got {described(n_outputs)}")
        are_weights = (
            isinstance(weights, list)
            and len(weights) == len(members)
            and all(type(weight) is float and 0 <= weight <= 1 for weight in weights)
            and max(weights) == 1
        )
        need(are_weights, "weights_", f"must be {len(members)} floats from 0 to 1, the largest of them 1")
        if "target_names_in_" in kept:
            prove_names(need, "target_names_in_", kept["target_names_in_"], n_outputs)
        if OUTPUT in kept:
            container = kept[OUTPUT]
            is_known = type(container) is str and container in CONTAINERS
            need(is_known, OUTPUT, f"must be one of {', '.join(CONTAINERS)}, got {described(container)}")
        self.__dict__.update(kept)
        self.estimators_ = [FrozenEstimator(inner) if is_frozen else inner for _, inner, is_frozen in members]
        self.weights_ = np.array(weights)
        self._prove_columns()
        try:
            self._check_members()
        except TypeError as error:
            raise ValueError(f"{type(self).__name__}: {error}") from error

    def _prove_columns(self) -> None:
        """Validate the attributes of `_set_columns`."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        # States from pickle, joblib and skops come from an untrusted source.
        if "estimators_" in state:
            proven = object.__new__(type(self))
            proven.__dict__.update(state)
            members, _, kept = proven._parts_of_members()
            proven._put_together(members, kept)
        super().__setstate__(state)


def is_own(final: object) -> bool:
    """Whether this is an estimator of weald, which knows labels, sparse y and weights of zero."""
    return isinstance(final, BaseModel) or is_meta_estimator(final)


def is_dropped(estimator: object) -> bool:
    return isinstance(estimator, str) and estimator == "drop"


@contextmanager
def _of_member(name: str) -> Iterator[None]:
    """Errors get a note with the name of the estimator."""
    try:
        yield
    except Exception as error:
        error.add_note(f"in the fit of the estimator {name!r}")
        raise


def _for_member(
    name: str, estimator: Any, X: Any, y: Any, weights: Float | None, mask: Any, target: Target
) -> tuple[Any, Any, Any, Any]:
    """What a member is fitted to: X, y, sample weights and the mask. Others than those of weald get no absent samples."""
    final, is_frozen = apart(estimator)[0], isinstance(estimator, FrozenEstimator)
    if is_frozen:
        # Whether it takes such samples.
        estimator.predict(safe_indexing(X.tocsr() if is_sparse(X) else X, [0]))
    if not is_own(final) and target.label_format is not None and target.n_outputs == 1:
        # Others take a single label for two classes.
        y = target.original.toarray()[:, 0].astype(target.label_format.dtype)
    if weights is None or is_own(final) or is_frozen:
        return X, y, weights, mask
    if not has_fit_parameter(final, "sample_weight"):
        raise TypeError(
            f"sample_weight must be None: {kind_of(final)} as {name!r} in estimators does not support sample weights"
        )
    rows = checks.rows_there(weights)
    if rows is None:
        return X, y, weights, mask
    X, y = (safe_indexing(part.tocsr() if is_sparse(part) else part, rows) for part in (X, y))
    return X, y, weights[rows], None


def mean_of(parts: list[Any], weights: list[float]) -> Any:
    """The weighted mean. It is sparse if all parts are, with the same values.

    Sums of weights and of weighted values are rounded in the same order, so that the mean is at most the largest value if that
    is a probability of 1, and values are unchanged if there is one part.
    """
    are_sparse = all(map(is_sparse, parts))
    total: Any = None
    divisor = 0.0
    for part, weight in zip(parts, weights, strict=True):
        term = (part.toarray() if is_sparse(part) and not are_sparse else part) * weight
        total = term if total is None else total + term
        divisor += weight
    mean = total / divisor
    if are_sparse:
        mean = (sparse.csr_array if isinstance(parts[0], sparse.sparray) else sparse.csr_matrix)(mean)
        mean.eliminate_zeros()
    return mean
