"""Estimators that average what others predict.

`VotingClassifier`
    Averages probabilities of classes or labels.
`VotingRegressor`
    Averages numbers.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import fields, replace
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np
from joblib import parallel_config
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import ClassifierMixin, RegressorMixin, is_classifier, is_regressor
from sklearn.frozen import FrozenEstimator
from sklearn.utils import Bunch, Tags, get_tags
from sklearn.utils.validation import has_fit_parameter

from weald._around import unseen
from weald._around.base import Around, Claims, Fit, is_array, is_own, need
from weald._around.labels import LabelsAround
from weald._fit.base import BestLabels, NamedOutputs, has_labels, keep
from weald._fit.predictions import accuracy_of, logarithms_of, r2_of
from weald._fitted.at_once import fitted_at_once, of_one_fit
from weald._fitted.fits import fitted
from weald._fitted.proof import check_fitted, is_label_format
from weald._input import checks, frames, targets
from weald._input.checks import Float
from weald._input.messages import described, kind_of
from weald._input.sklearn_private import BaseHeterogeneousEnsemble, Interval, StrOptions, safe_indexing
from weald._input.sparse import is_sparse
from weald._input.targets import LabelFormat, Target, kind_of_classes, label_classes
from weald._parameters.types import LabelNames, MatrixLike, Prediction, SampleWeight, YWeight, available_if
from weald._ranking import outputs, ranks
from weald._ranking.outputs import apart, classes_of
from weald._rounds.rounds import Progress

__all__ = ["VotingClassifier", "VotingRegressor"]


_ACCEPTED = "a list of pairs (name, estimator)"


def _are_inside(around: Any, models: Any) -> None:
    need(isinstance(models, list) and models, "a list of at least one estimator", models)
    for model in models:
        final = apart(model)[0]
        is_fitted = around._is_kind(model) and (not is_own(final) or hasattr(final, "n_outputs_"))
        need(is_fitted, f"fitted {around._kinds[0]}", model)


def _are_names(around: Any, names: Any) -> None:
    are_names = isinstance(names, dict) and all(type(n) is str and type(k) is bool for n, k in names.items())
    need(are_names and sum(names.values()) == len(around.estimators_), "a name for each of estimators_", names)


def _are_weights(around: Any, weights: Any) -> None:
    n = len(around.estimators_)
    is_valid = is_array(weights, np.float64, (n,)) and (weights >= 0).all() and weights.max() == 1
    need(is_valid, f"{n} floats from 0 to 1, the largest of them 1", weights)


class BaseVoting(BestLabels, NamedOutputs, Around, BaseHeterogeneousEnsemble):
    """The members of a mean: their fits, their weights."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_jobs": [Interval(Integral, None, -1, closed="right"), Interval(Integral, 1, None, closed="left"), None],
        **Around._parameter_constraints,
    }
    FITTED: ClassVar[Claims] = {
        "estimators_": _are_inside,
        "_names": _are_names,
        "weights_": _are_weights,
        **Around.FITTED,
    }
    _held = "estimators_"
    _fits_apart = False

    estimators: Sequence[tuple[str, Any]]
    weights: ArrayLike | None
    n_jobs: int | None

    estimators_: list[Any]
    weights_: Float
    # The names of all estimators, and whether each is among the fitted ones: others were dropped.
    _names: dict[str, bool]

    # Whether an estimator is of the right kind, its name, and what is for others.
    _is_kind: ClassVar[Any]
    _kinds: ClassVar[tuple[str, str]]

    # --- parameters --------------------------------------------------------------------------------------------------

    def _validate_params(self) -> None:
        super()._validate_params()
        self._checked_weights(self._kept())

    def _kept(self) -> list[tuple[str, Any]]:
        """The checked pairs of `estimators` that are not dropped."""
        given = self.estimators
        pairs = given if isinstance(given, list | tuple) else ()
        wrong = [f"the item {described(pair)}" for pair in pairs if not _is_pair(pair)]
        if wrong or not pairs:
            raise ValueError(f"estimators must be {_ACCEPTED}, got {wrong[0] if wrong else described(given)}")
        self._validate_names([name for name, _ in given])
        kept = [(name, estimator) for name, estimator in given if not _is_dropped(estimator)]
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
            raise TypeError(f"estimators must be {self._kinds[0]}, got {found} as {name!r}; {self._kinds[1]}")

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
        found = found[[not _is_dropped(estimator) for _, estimator in self.estimators]]
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
        tags.classifier_tags, tags.regressor_tags = of_all[0].classifier_tags, of_all[0].regressor_tags
        # Lists, not generators: one that is interrupted cannot pass the interruption on.
        tags.non_deterministic = True in [found.non_deterministic for found in of_all]
        for name in (field.name for field in fields(tags.input_tags)):
            found = [getattr(each.input_tags, name) for each in of_all]
            setattr(tags.input_tags, name, True in found if name == "positive_only" else False not in found)
        tags.target_tags = replace(of_all[0].target_tags, required=True)
        for name in ("multi_output", "single_output"):
            setattr(tags.target_tags, name, False not in [getattr(each.target_tags, name) for each in of_all])
        return tags

    # --- fit ---------------------------------------------------------------------------------------------------------

    def fit(
        self,
        X: MatrixLike,
        y: MatrixLike,
        sample_weight: SampleWeight = None,
        *,
        y_weight: YWeight = None,
        label_names: LabelNames = None,
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
        y_weight : {array-like, sparse matrix} of the shape of y or None, default=None
            0 marks unknown entries of y, in addition to those that are NaN. All estimators that are fitted must support
            them.
        label_names : array-like of shape (n_labels,) of str or None, default=None
            Distinct names of the labels, which become `target_names_in_`. If y is a frame, they must be those of its
            columns.

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
        return self._run(Fit(X, y, sample_weight, y_weight, label_names))

    def _fit(self, given: Fit, fit: Callable[..., Any] = fitted) -> None:
        """Fit all members by `fit`, which returns the fitted estimator, and set the attributes."""
        checks.check_is_given(given.y, type(self).__name__)
        kept = self._kept()
        weights = checks.check_weights(given.sample_weight, checks.count_samples(given.X))
        given = replace(given, sample_weight=weights)
        target = targets.with_label_names(self._target(given), given.label_names, given.y_weight)
        if target.mask is not None and (which := self._without_masks()) is not None:
            raise ValueError(
                f"{kind_of(apart(dict(kept)[which])[0])} as {which!r} does not support y with masked entries: estimators "
                "must be of weald and support them, or be fitted ones in FrozenEstimator"
            )
        given = replace(given, y_weight=None if target.mask is None else given.y_weight, target=target)
        self.estimators_ = []
        with Progress(type(self).__name__, "fit", len(kept), self.verbose) as progress:
            for which, estimator in kept:
                with _noting(which), self._threads():
                    own = _for_member(which, estimator, given)
                    self.estimators_.append(fit(estimator, own))
                progress(len(self.estimators_))
        self._names = {which: not _is_dropped(estimator) for which, estimator in self.estimators}
        self.weights_ = self._checked_weights(kept)
        self._set_outputs(target)
        self._set_columns(target)

    @abstractmethod
    def _target(self, given: Fit) -> Target:
        """Checked y."""

    def _set_columns(self, target: Target) -> None:
        """Set the attributes for what the columns of y are, after a check that the members have the same."""
        self._check_members()

    def _by_name(self) -> Iterator[tuple[str, Any]]:
        """The fitted estimators by name."""
        return zip([name for name, is_kept in self._names.items() if is_kept], self.estimators_, strict=True)

    def _check_members(self) -> None:
        """Raise for fitted estimators whose outputs are not those of y."""
        for name, model in self._by_name():
            final = apart(model)[0]
            if not is_own(final):
                continue
            if final.n_outputs_ != self.n_outputs_:
                raise ValueError(
                    f"y must have {final.n_outputs_} outputs, as in the fit of the estimator {name!r}, got "
                    f"{self.n_outputs_}"
                )
            names, own = (getattr(model, "target_names_in_", None) for model in (self, final))
            frames.check_same_names(names, own, "y", f"outputs must be those of the fit of the estimator {name!r}")

    # --- attributes --------------------------------------------------------------------------------------------------

    @property
    @of_one_fit
    def named_estimators_(self) -> Any:
        """The fitted estimators by name, and "drop" for those that were left out."""
        self._first("named_estimators_")
        models = iter(self.estimators_)
        return Bunch(**{name: next(models) if is_kept else "drop" for name, is_kept in self._names.items()})

    # --- means -------------------------------------------------------------------------------------------------------

    def _threads(self) -> Any:
        """A context that gives this number of threads to estimators that leave theirs open."""
        return nullcontext() if self.n_jobs is None else parallel_config(n_jobs=int(self.n_jobs))

    def _mean(self, X: Any) -> Any:
        """The mean of what estimators with a positive weight predict, as columns; a list for several outputs of classes."""
        check_fitted(self)
        used = [pair for pair in zip(self._by_name(), self.weights_.tolist(), strict=True) if pair[1] > 0]
        with self._threads():
            found = [self._of_member(model, name, X) for (name, model), _ in used]
        weights = [weight for _, weight in used]
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

    def _blocks(self, X: Any) -> Iterator[Any]:
        """Blocks of samples with about eight million scores."""
        return ranks.blocks_of(X, self.n_outputs_)

    def _to_rank(self, X: MatrixLike) -> tuple[Any, int]:
        return X, self._n_samples(X)

    def _k_best(self, X: MatrixLike, k: int, marked: Any, *, as_margins: bool) -> tuple[NDArray[np.uint32], Float]:
        middle = 0.5 if as_margins and is_classifier(self) else 0.0
        means = map(self._mean, self._blocks(X))
        return ranks.ranked_parts(((mean.toarray() if is_sparse(mean) else mean) - middle for mean in means), k, marked)

    # --- files -------------------------------------------------------------------------------------------------------

    def _prove(self) -> None:
        super()._prove()
        try:
            self._check_members()
        except TypeError as error:
            raise ValueError(f"{type(self).__name__}: {error}") from error

    @staticmethod
    def _each(params: dict[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
        pairs = params["estimators"]
        if not isinstance(pairs, list | tuple) or not all(map(_is_pair, pairs)):
            raise ValueError(f"estimators must be {_ACCEPTED}, got {described(pairs)}")
        return params | {"estimators": [(name, change(estimator)) for name, estimator in pairs]}


def _is_format_or_none(_: Any, form: Any) -> None:
    need(form is None or is_label_format(form), "a format of labels or None", form)


def _are_classes(around: Any, classes: Any) -> None:
    if around._label_format is not None:
        return need(classes is None, "None for labels", classes)
    n = around.n_outputs_
    are_arrays = isinstance(classes, list) and len(classes) == n
    are_arrays = are_arrays and all(isinstance(part, np.ndarray) and part.ndim == 1 and len(part) for part in classes)
    need(are_arrays, f"{n} arrays of classes", classes)
    known = [classes_of(model) for model in around.estimators_]
    for j, part in enumerate(classes):
        need(np.array_equal(np.unique(part), part), "distinct and in increasing order", part)
        fits = all(len(of_model) == n and np.isin(of_model[j], part).all() for of_model in known)
        need(fits, "all classes of the estimators", part)
    return None


class BaseVotingClassifier(BaseVoting):
    """What `VotingClassifier` computes."""

    _is_kind = staticmethod(is_classifier)
    _kinds = "classifiers", "VotingRegressor is for regressors"

    voting: str

    # The classes of each output, or None for labels.
    _classes: list[NDArray[Any]] | None
    _label_format: LabelFormat | None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseVoting._parameter_constraints,
        "voting": [StrOptions({"soft"})],
    }
    FITTED: ClassVar[Claims] = {**BaseVoting.FITTED, "_label_format": _is_format_or_none, "_classes": _are_classes}

    def _validate_params(self) -> None:
        super()._validate_params()
        self._multi_label()

    def _check_kind(self, name: str, estimator: Any) -> None:
        super()._check_kind(name, estimator)
        final = apart(estimator)[0]
        # Whether estimators of weald have probabilities may depend on y.
        if not is_own(final) and not hasattr(estimator, "predict_proba"):
            raise TypeError(f"estimators must have predict_proba, which {kind_of(final)} as {name!r} has not")

    def _multi_label(self) -> Any:
        """The parameter `multi_label` of all estimators that have it; True if one of them takes labels alone."""
        found: dict[Any, str] = {}
        for name, estimator in self._kept():
            final = apart(estimator)[0]
            if isinstance(final, LabelsAround):
                return True
            if (value := getattr(final, "multi_label", None)) is not None:
                found.setdefault(value if isinstance(value, str) else bool(value), name)
        if len(found) > 1:
            (one, first), (other, second) = list(found.items())[:2]
            raise ValueError(
                f"estimators must have the same multi_label, got {one!r} in {first!r} and {other!r} in {second!r}"
            )
        return next(iter(found), "auto")

    def _target(self, given: Fit) -> Target:
        rules: dict[str, Any] = {"warn_column": False, "multi_label": self._multi_label(), "masks": True}
        n = checks.count_samples(given.X)
        return targets.classes(given.y, given.sample_weight, n, type(self).__name__, y_weight=given.y_weight, **rules)

    def _set_columns(self, target: Target) -> None:
        self._label_format = target.label_format
        super()._set_columns(target)
        self._classes = self._classes_of_all(target.classes) if target.kind == "classes" else None

    def _classes_of_all(self, classes: list[NDArray[Any]]) -> list[NDArray[Any]]:
        """The classes of y, with those that estimators have in addition, which were fitted before."""
        for name, model in self._by_name():
            known = classes_of(model)
            if len(known) != len(classes):
                raise ValueError(
                    f"y must have {len(known)} outputs, as in the fit of the estimator {name!r}, got {len(classes)}"
                )
            for j, (one, other) in enumerate(zip(known, classes, strict=True)):
                if np.array_equal(one, other):
                    continue
                # NumPy would make texts of numbers beside texts.
                if kind_of_classes(one) != kind_of_classes(other):
                    raise ValueError(
                        f"y must have classes of the type of those of the estimator {name!r}, {one[:1].tolist()[0]!r}, "
                        f"got {other[:1].tolist()[0]!r}"
                    )
                classes = [*classes[:j], np.union1d(other, one), *classes[j + 1 :]]
        return classes

    def _check_members(self) -> None:
        for name, model in self._by_name():
            final = apart(model)[0]
            if not hasattr(model, "predict_proba"):
                raise TypeError(
                    f"estimators must have predict_proba, which {kind_of(final)} as {name!r} has not after its fit"
                )
            has_label_format = getattr(final, "_label_format", None) is not None
            if is_own(final) and has_label_format != (self._label_format is not None):
                there, here = ("labels", "classes") if has_label_format else ("classes", "labels")
                raise ValueError(f"y must have {there}, as in the fit of the estimator {name!r}, got {here}")
        super()._check_members()

    @property
    @of_one_fit
    def classes_(self) -> Any:
        """The classes, for several outputs a list of them; or the indices of the labels."""
        self._first("classes_")
        if self._classes is None:
            return label_classes(self.n_outputs_)
        return self._classes[0] if self.n_outputs_ == 1 else list(self._classes)

    @property
    @of_one_fit
    def n_classes_(self) -> Any:
        """The number of classes, for several outputs a list of them; or the number of labels."""
        self._first("n_classes_")
        if self._classes is None:
            return self.n_outputs_
        sizes = [len(found) for found in self._classes]
        return sizes[0] if self.n_outputs_ == 1 else sizes

    def _without_out_of_bag(self, n_labels: int) -> str | None:
        """Why there are no out-of-bag scores of the mean, or None."""
        kept = self._kept()
        for (_, estimator), weight in zip(kept, self._checked_weights(kept), strict=True):
            if weight and (why := unseen.without_out_of_bag(estimator, n_labels)) is not None:
                return why
        return None

    def _fit_out_of_bag(self, given: Fit, min_score: float) -> tuple[sparse.csr_array, NDArray[np.intp]]:
        """Fit to labels; return out-of-bag scores of at least `min_score`, and whether each sample has any, as a number."""
        found: list[tuple[sparse.csr_array, NDArray[np.bool_]]] = []
        used = iter(self._checked_weights(self._kept()) > 0)

        def fit(estimator: Any, own: Fit) -> Any:
            if not next(used):
                return given.fits.start(estimator, own)()
            model, scores, known = unseen.out_of_bag(estimator, own, 0.0)
            found.append((scores, known))
            return model

        with fitted_at_once(self, anew=True) as new:
            new._fit(Fit(*given.data, fits=given.fits), fit)
            weights = new.weights_[new.weights_ > 0].tolist()
        mean = mean_of([scores for scores, _ in found], weights)
        mean.data[mean.data < min_score] = 0.0
        mean.eliminate_zeros()
        mean.sort_indices()
        return mean, np.all([known for _, known in found], axis=0).astype(np.intp)

    def _of_member(self, model: Any, name: str, X: Any) -> Any:
        n = self._n_samples(X)
        if self._classes is None:
            if self.n_outputs_ == 1 and getattr(apart(model)[0], "_label_format", None) is None:
                # Others take a single label for two classes.
                [(found, classes)] = outputs.probabilities(model, X, n)
                return outputs.of_one_label(found, classes, outputs.called(model, "predict_proba")).reshape(-1, 1)
            return self._checked_width(outputs.of_labels(model, "predict_proba", X, n), name)
        pairs = zip(outputs.probabilities(model, X, n), self._classes, strict=True)
        wide = [outputs.in_columns(part, known, wanted, f"estimator {name!r}") for (part, known), wanted in pairs]
        return wide[0] if self.n_outputs_ == 1 else wide


def _is_pair(pair: object) -> bool:
    return isinstance(pair, list | tuple) and len(pair) == 2 and isinstance(pair[0], str)


def _is_dropped(estimator: object) -> bool:
    return isinstance(estimator, str) and estimator == "drop"


@contextmanager
def _noting(name: str) -> Iterator[None]:
    """Errors get a note with the name of the estimator."""
    try:
        yield
    except Exception as error:
        error.add_note(f"in the fit of the estimator {name!r}")
        raise


def _for_member(name: str, estimator: Any, given: Fit) -> Fit:
    """What a member is fitted to. Others than those of weald get no absent samples."""
    final, is_frozen = apart(estimator)[0], isinstance(estimator, FrozenEstimator)
    X, y, weights, target = given.X, given.y, given.sample_weight, given.target
    if is_frozen:
        # Whether it takes such samples.
        estimator.predict(safe_indexing(X.tocsr() if is_sparse(X) else X, [0]))
    if not is_own(final) and target.label_format is not None and target.n_outputs == 1:
        # Others take a single label for two classes.
        y = target.original.toarray()[:, 0].astype(target.label_format.dtype)
    if weights is None or is_own(final) or is_frozen:
        return replace(given, y=y)
    if not has_fit_parameter(final, "sample_weight"):
        raise TypeError(
            f"sample_weight must be None: {kind_of(final)} as {name!r} in estimators does not support sample weights"
        )
    rows = checks.rows_there(weights)
    if rows is None:
        return replace(given, y=y)
    X, y = (safe_indexing(part.tocsr() if is_sparse(part) else part, rows) for part in (X, y))
    return replace(given, X=X, y=y, sample_weight=weights[rows], y_weight=None)


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


class VotingClassifier(ClassifierMixin, BaseVotingClassifier):
    """Averages the probabilities of classes or labels of several classifiers.

    The mean of models that err differently, such as a forest, a boosted model and a linear one, often errs less than each of
    them. This is `sklearn.ensemble.VotingClassifier` with `voting="soft"`, also for labels, for several outputs, for sparse y
    and for y with unknown values.

    >>> import weald
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 9, [0, 0, 1, 1] * 9
    >>> members = [("forest", weald.RandomForestClassifier(20)), ("linear", weald.LinearClassifier())]
    >>> weald.VotingClassifier(members, weights=[2, 1]).fit(X, y).predict([[3.0]])
    array([1])

    Parameters
    ----------
    estimators : list of (str, estimator)
        The estimators with their names: classifiers with `predict_proba`, of weald, of scikit-learn, or pipelines. `fit` fits
        clones of them, except for one in `sklearn.frozen.FrozenEstimator`. "drop" in place of an estimator leaves it out.
        `set_params` and `get_params` know them by their names.
    voting : "soft", default="soft"
        Probabilities are averaged. It is there for scikit-learn, and has no other value.
    weights : array-like of shape (n_estimators,) or None, default=None
        The weight of each estimator: finite numbers, none of them negative and at least one of them positive. Only their
        ratios matter. An estimator with the weight zero is fitted, and left out of the mean. None: all have the same weight.
    n_jobs : int or None, default=None
        Number of threads of those estimators whose own `n_jobs` is None, in `fit` and in predictions; -1 means all processors.
        None changes nothing. Estimators are fitted one after another, so that the memory of one fit suffices. The results do
        not depend on it.
    verbose : int, default=0
        Whether the fits of estimators are reported, as in `weald.RandomForestClassifier`: not at all with 0, by a bar on a
        terminal and by lines elsewhere with 1, and by a line for each fit above 1.

    Attributes
    ----------
    estimators_ : list of estimator
        The fitted estimators, without those that were dropped.
    named_estimators_ : Bunch
        The fitted estimators by name, and "drop" for those that were left out.
    weights_ : ndarray of shape (n_estimators,)
        Their weights, divided by the largest one.
    classes_ : ndarray or list of ndarray
        The classes, or the indices of the labels, as in `weald.RandomForestClassifier`.
    n_classes_ : int or list of int
        The number of classes of each output, or the number of labels.
    n_outputs_ : int
        The number of outputs.
    n_features_in_ : int
        The number of features of the first estimator.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        The names of its features, if it has them.
    target_names_in_ : ndarray of shape (`n_outputs_`,)
        The names of the outputs. It exists only if y is a frame whose column names are all strings, if y is a Series with a
        name, or if `label_names` was passed to `fit`.

    See Also
    --------
    VotingRegressor : The same for numbers.
    weald.multilabel.TunedThresholds : Decision thresholds of labels, also around a `VotingClassifier`.
    weald.multilabel.CalibratedLabels : Calibrates probabilities separately for each label.

    Notes
    -----
    Whether y has classes or labels is decided as in `weald.RandomForestClassifier`. Estimators with a parameter `multi_label`
    must have the same value of it. Classes that an estimator does not know have the probability 0 in it.

    Estimators that are not of weald are fitted without the samples of weight zero.

    Predicted labels, `predict_topk` and `predict_sparse` are computed in blocks of samples with about eight million dense
    scores, whatever the estimators.

    Weights should not be chosen by scores of training samples. With estimators that are frozen, a fit costs next to nothing,
    so that samples that were held out can choose among weights.
    """

    def __init__(
        self,
        estimators: Sequence[tuple[str, Any]],
        *,
        voting: Literal["soft"] = "soft",
        weights: ArrayLike | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        keep(self, locals())

    @of_one_fit
    def predict(self, X: MatrixLike) -> Prediction:
        """Predict classes or labels by the mean of the estimators.

        The predicted class is the one with the largest mean probability, the first in `classes_` if several have it. The
        predicted labels are those with a mean probability above one half.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that all estimators accept.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs), or CSR of shape (n_samples, n_labels)
            The predictions, as of `weald.RandomForestClassifier`. Labels have the dtype of y, and are sparse if y was.
        """
        check_fitted(self)
        if self._label_format is not None:
            if self._label_format.container is None:
                return self._label_format.build(self._mean(X) > 0.5)
            parts = [sparse.csr_array(self._mean(rows) > 0.5) for rows in self._blocks(X)]
            return self._label_format.build(sparse.csr_array(sparse.vstack(parts, format="csr")))
        mean = self._mean(X)
        if self.n_outputs_ == 1:
            return self.classes_.take(mean.argmax(axis=1))
        pairs = zip(self.classes_, mean, strict=True)
        return np.stack([classes.take(part.argmax(axis=1)) for classes, part in pairs], axis=1)

    @of_one_fit
    def predict_proba(self, X: MatrixLike) -> Prediction:
        """Predict probabilities: the weighted mean of those of the estimators.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that all estimators accept.

        Returns
        -------
        ndarray of shape (n_samples, n_classes) or (n_samples, n_labels), or list of ndarray
            For one output of classes, in the order of `classes_`; for labels, the probabilities of 1. For several
            outputs of classes, an array for each.
        """
        return self._mean(X)

    @of_one_fit
    def predict_log_proba(self, X: MatrixLike) -> Prediction:
        """Predict the logarithms of the probabilities; the logarithm of zero is minus infinity.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that all estimators accept.

        Returns
        -------
        ndarray or list of ndarray
            In the form of `predict_proba`.
        """
        return logarithms_of(self._mean(X))

    @available_if(has_labels)
    @of_one_fit
    def decision_function(self, X: MatrixLike) -> Float:
        """Compute scores of the labels, which are positive for predicted labels. Only after a fit on labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that all estimators accept.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            The mean probabilities minus one half, as those of forests.
        """
        found: Float = self._mean(X) - 0.5
        return found

    @available_if(has_labels)
    @of_one_fit
    def predict_sparse(self, X: MatrixLike, min_score: float = 0.0) -> sparse.csr_array:
        """Predict the positive mean probabilities of at least `min_score` as a CSR array. Only after a fit on labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that all estimators accept.
        min_score : float, default=0
            Probabilities below this value, between 0 and 1, are not stored.

        Returns
        -------
        csr_array of shape (n_samples, n_labels)
            The probabilities, as of `RandomForestClassifier.predict_sparse`.
        """
        check_fitted(self)
        floor = ranks.checked_min_score(min_score)
        parts = [ranks.at_least(self._mean(rows), floor) for rows in self._blocks(X)]
        return parts[0] if len(parts) == 1 else sparse.csr_array(sparse.vstack(parts, format="csr"))

    @of_one_fit
    def score(
        self, X: MatrixLike, y: MatrixLike, sample_weight: SampleWeight = None, *, y_weight: YWeight = None
    ) -> float:
        """Return the accuracy.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that all estimators accept.
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_outputs)
            The true classes or labels. If y has several columns of floats, NaN marks unknown values.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Sample weights.
        y_weight : {array-like, sparse matrix} of the shape of y or None, default=None
            0 marks values of y to leave out, besides those that are NaN. If any are left out, the returned score has an
            attribute `n_cells`, the number of values that were used.

        Returns
        -------
        float
            The fraction of samples that are predicted right. For labels, all labels of a sample must be right.
        """
        return accuracy_of(self, self.predict(X), y, sample_weight, y_weight)


class VotingRegressor(RegressorMixin, BaseVoting):
    """Averages the numbers that several regressors predict.

    The mean of models that err differently often errs less than each of them. This is `sklearn.ensemble.VotingRegressor`, also
    for several outputs, for sparse y and for y with unknown values.

    >>> import weald
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 9, [0.0, 0.0, 2.0, 2.0] * 9
    >>> members = [("forest", weald.RandomForestRegressor(20)), ("tree", weald.DecisionTreeRegressor())]
    >>> bool(weald.VotingRegressor(members).fit(X, y).predict([[3.0]])[0] > 1.5)
    True

    Parameters
    ----------
    estimators : list of (str, estimator)
        The estimators with their names: regressors, of weald, of scikit-learn, or pipelines. `fit` fits clones of
        them, except for one in `sklearn.frozen.FrozenEstimator`. "drop" in place of an estimator leaves it out. `set_params`
        and `get_params` know them by their names.
    weights : array-like of shape (n_estimators,) or None, default=None
        The weight of each estimator: finite numbers, none of them negative and at least one of them positive. Only their
        ratios matter. An estimator with the weight zero is fitted, and left out of the mean. None: all have the same weight.
    n_jobs : int or None, default=None
        Number of threads of those estimators whose own `n_jobs` is None, in `fit` and in predictions; -1 means all processors.
        None changes nothing. Estimators are fitted one after another, so that the memory of one fit suffices. The results do
        not depend on it.
    verbose : int, default=0
        Whether the fits of estimators are reported, as in `weald.RandomForestClassifier`: not at all with 0, by a bar on a
        terminal and by lines elsewhere with 1, and by a line for each fit above 1.

    Attributes
    ----------
    estimators_ : list of estimator
        The fitted estimators, without those that were dropped.
    named_estimators_ : Bunch
        The fitted estimators by name, and "drop" for those that were left out.
    weights_ : ndarray of shape (n_estimators,)
        Their weights, divided by the largest one.
    n_outputs_ : int
        The number of outputs.
    n_features_in_ : int
        The number of features of the first estimator.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        The names of its features, if it has them.
    target_names_in_ : ndarray of shape (`n_outputs_`,)
        The names of the outputs. It exists only if y is a frame whose column names are all strings, or if y is a Series
        with a name.

    See Also
    --------
    VotingClassifier : The same for classes and labels, with more notes.
    """

    _is_kind = staticmethod(is_regressor)
    _kinds = "regressors", "VotingClassifier is for classifiers"

    def __init__(
        self,
        estimators: Sequence[tuple[str, Any]],
        *,
        weights: ArrayLike | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        keep(self, locals())

    @of_one_fit
    def predict(self, X: MatrixLike) -> Prediction:
        """Predict numbers by the mean of the estimators.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that all estimators accept.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs), or CSR of shape (n_samples, n_outputs)
            The predictions, as of `weald.RandomForestRegressor`. They are sparse if those of all estimators with a positive
            weight are.
        """
        mean = self._mean(X)
        return mean[:, 0] if self.n_outputs_ == 1 and not is_sparse(mean) else mean

    @of_one_fit
    def score(
        self, X: MatrixLike, y: MatrixLike, sample_weight: SampleWeight = None, *, y_weight: YWeight = None
    ) -> float:
        """Return R², averaged over the outputs.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that all estimators accept.
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_outputs)
            The true values. If y has several columns of floats, NaN marks unknown values.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Sample weights.
        y_weight : {array-like, sparse matrix} of the shape of y or None, default=None
            0 marks values of y to leave out, besides those that are NaN. If any are left out, the returned score has an
            attribute `n_cells`, the number of values that were used.

        Returns
        -------
        float
            The score, as of `weald.RandomForestRegressor`.
        """
        return r2_of(self, self._mean(X), y, sample_weight, y_weight)

    def _target(self, given: Fit) -> Target:
        rules: dict[str, Any] = {"weights": given.sample_weight, "y_weight": given.y_weight, "masks": True}
        n = checks.count_samples(given.X)
        return targets.numbers(given.y, n, type(self).__name__, warn_column=False, keeps_sparse=True, **rules)

    def _of_member(self, model: Any, name: str, X: Any) -> Any:
        found = model.predict(X)
        if is_sparse(found):
            outputs.check_values(found.data, outputs.called(model, "predict"), is_proba=False)
            return self._checked_width(found, name)
        found = outputs.checked(model, "predict", found, self._n_samples(X))
        return self._checked_width(found.reshape(len(found), -1), name)
