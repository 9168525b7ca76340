"""Estimators whose predictions are averaged.

`Mean`
    A classifier or regressor that averages the predictions of others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager, nullcontext
from typing import Any, Self

import numpy as np
from joblib import parallel_config
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier, is_regressor
from sklearn.frozen import FrozenEstimator
from sklearn.utils import Bunch, Tags, get_tags
from sklearn.utils.validation import has_fit_parameter

from weald._fit.base import BaseModel
from weald._fit.named_outputs import NamedLabels, NamedOutputs, has_labels
from weald._fit.predictions import accuracy_of, known_target, logarithms_of, r2_of, ranks_columns
from weald._fitted.around import is_meta_estimator, prove_names
from weald._fitted.at_once import FittedAsOne, fitted_at_once, of_one_fit
from weald._fitted.fits import HERE, Fits, fitted
from weald._fitted.proof import check_fitted, is_label_format
from weald._input import checks, registry, targets
from weald._input.checks import Float, is_integer
from weald._input.described import described, kind_of
from weald._input.frames import CONTAINERS, OUTPUT
from weald._input.sklearn_private import BaseComposition, safe_indexing
from weald._input.sparse import is_sparse
from weald._input.targets import LabelFormat, Target, label_classes
from weald._labels import label_scores
from weald._labels.around import LabelsAround
from weald._parameters.types import MatrixLike, Prediction, Scores, available_if
from weald._ranking import best, ranks
from weald._ranking.pipelines import apart
from weald._ranking.scorers import dense_scores

__all__ = ["Mean"]

_ACCEPTED = "a list of pairs (name, estimator)"
_DROP = "drop"
# Attributes that a fitted estimator may have.
_OPTIONAL = {"target_names_in_", OUTPUT}


def _is_of_classes(estimator: Mean) -> bool:
    return bool(is_classifier(estimator))


def _is_own(final: object) -> bool:
    """Whether this is an estimator of weald, which knows labels, sparse y and weights of zero."""
    return isinstance(final, BaseModel) or is_meta_estimator(final)


class Mean(NamedLabels, NamedOutputs, MetaEstimatorMixin, FittedAsOne, BaseComposition):  # type: ignore[misc]
    """Averages the predictions of several estimators: probabilities of classes or labels, or numbers.

    The mean of models that err differently, such as a forest, a boosted model and a linear one, often errs less than each of
    them. This is `sklearn.ensemble.VotingClassifier` with `voting="soft"`, and `VotingRegressor`, also for labels, for several
    outputs, for sparse y and for y with unknown values. It is a classifier if its estimators are classifiers, and a regressor
    if they are regressors.

    Parameters
    ----------
    estimators : list of (str, estimator)
        The estimators with their names, which are classifiers with `predict_proba` or regressors: of weald, of scikit-learn,
        or pipelines. `fit` fits clones of them. An estimator in `sklearn.frozen.FrozenEstimator` is not fitted again. "drop" in
        place of an estimator leaves it out, as in scikit-learn. `set_params` and `get_params` know them by their names.
    weights : array-like of shape (n_estimators,) or None, default=None
        The weight of each estimator: finite numbers, none of them negative and at least one of them positive. Only their
        ratios matter. An estimator with the weight zero is fitted, and left out of the mean. None: all have the same weight.
    n_jobs : int or None, default=None
        Number of threads of those estimators whose own `n_jobs` is None, in `fit` and in predictions; -1 means all processors.
        None changes nothing. Estimators are fitted one after another, so that the memory of one fit suffices. The results do
        not depend on it.

    Attributes
    ----------
    estimators_ : list of estimator
        The fitted estimators.
    named_estimators_ : Bunch
        The fitted estimators by name.
    weights_ : ndarray of shape (n_estimators,)
        Their weights, divided by the largest one.
    classes_ : ndarray or list of ndarray
        Only for classifiers: the classes, or the indices of the labels, as in `weald.RandomForestClassifier`.
    n_classes_ : int or list of int
        Only for classifiers: the number of classes of each output, or the number of labels.
    n_outputs_ : int
        The number of outputs.
    n_features_in_ : int
        The number of features of the first estimator.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        The names of its features, if it has them.
    target_names_in_ : ndarray of shape (`n_outputs_`,)
        The names of the outputs. It exists only if y is a frame whose column names are all strings, if y is a Series with a
        name, or if `label_names` was passed to `fit` of a classifier.

    See Also
    --------
    weald.multilabel.TunedThresholds : Decision thresholds of labels, also around a `Mean`.
    weald.multilabel.CalibratedLabels : Calibrates probabilities separately for each label.

    Notes
    -----
    Whether y has classes or labels is decided as in `weald.RandomForestClassifier`. Estimators with a parameter `multi_label`
    must have the same value of it.

    Estimators that are not of weald are fitted without the samples of weight zero.

    Predicted labels, `predict_topk` and `predict_sparse` are computed in blocks of samples with about eight million dense
    scores, whatever the estimators.

    Weights should not be chosen by scores of training samples. With estimators that are frozen, a fit costs next to nothing,
    so that samples that were held out can choose among weights.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import weald
    >>> X, y = load_iris(return_X_y=True)
    >>> mean = weald.Mean(
    ...     [
    ...         ("forest", weald.RandomForestClassifier(20, random_state=0)),
    ...         ("boosting", weald.GradientBoostingClassifier(n_estimators=20, random_state=0)),
    ...     ],
    ...     weights=[2, 1],
    ... )
    >>> mean.fit(X, y).predict_proba(X).shape
    (150, 3)
    """

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        registry.add(registry.META_ESTIMATORS, cls)

    estimators: Sequence[tuple[str, Any]]
    weights: ArrayLike | None
    n_jobs: int | None

    estimators_: list[Any]
    weights_: Float
    classes_: Any
    n_classes_: Any
    n_outputs_: int
    _label_format: LabelFormat | None
    # The names of the fitted estimators.
    _names: list[str]

    def __init__(
        self,
        estimators: Sequence[tuple[str, Any]],
        *,
        weights: ArrayLike | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimators = estimators
        self.weights = weights
        self.n_jobs = n_jobs

    # --- parameters --------------------------------------------------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, and with `deep` also the estimators by name and their parameters.

        Parameters
        ----------
        deep : bool, default=True
            Whether parameters of the estimators are included, with names such as "forest__max_depth".

        Returns
        -------
        dict
            Values by name.
        """
        found: dict[str, Any] = self._get_params("estimators", deep=deep)
        return found

    def set_params(self, **params: object) -> Self:
        """Set parameters, estimators by name, and their parameters.

        Parameters
        ----------
        **params
            Values by name: `weights`, `forest` for the estimator of that name, or `forest__max_depth` for its parameter.

        Returns
        -------
        self : Mean
            This estimator.
        """
        self._set_params("estimators", **params)
        return self

    def _validate_params(self) -> None:
        kept = self._kept()
        self._checked_weights(kept)
        if self.n_jobs is not None and not is_integer(self.n_jobs):
            raise ValueError(f"n_jobs must be an integer or None, got {described(self.n_jobs)}")
        if self.n_jobs == 0:
            raise ValueError("n_jobs must not be 0: 1 is one thread, and -1 are all processors")
        self._multi_label(kept)

    def _kept(self) -> list[tuple[str, Any]]:
        """The checked pairs of `estimators` that are not dropped."""
        given = self.estimators
        if not isinstance(given, list | tuple) or not given:
            raise ValueError(f"estimators must be {_ACCEPTED}, got {described(given)}")
        for pair in given:
            if not isinstance(pair, list | tuple) or len(pair) != 2 or not isinstance(pair[0], str):
                raise ValueError(f"estimators must be {_ACCEPTED}, got the item {described(pair)}")
        self._validate_names([name for name, _ in given])
        kept = [(name, estimator) for name, estimator in given if not _is_dropped(estimator)]
        if not kept:
            raise ValueError("estimators must have one that is not 'drop'")
        for name, estimator in kept:
            if isinstance(estimator, type) or not hasattr(estimator, "fit"):
                raise TypeError(f"estimators must be instances with a method fit, got {kind_of(estimator)} as {name!r}")
            if not is_classifier(estimator) and not is_regressor(estimator):
                raise TypeError(
                    f"estimators must be classifiers or regressors, got {kind_of(apart(estimator)[0])} as {name!r}"
                )
            final = apart(estimator)[0]
            # Whether estimators of weald have probabilities may depend on y.
            if is_classifier(estimator) and not _is_own(final) and not hasattr(estimator, "predict_proba"):
                raise TypeError(f"estimators must have predict_proba, which {kind_of(final)} as {name!r} has not")
        first = kept[0]
        for name, estimator in kept:
            if is_classifier(estimator) != is_classifier(first[1]):
                one, other = (name, first[0]) if is_classifier(estimator) else (first[0], name)
                raise ValueError(
                    "estimators must all be classifiers or all be regressors, got "
                    f"the classifier {one!r} and the regressor {other!r}"
                )
        return kept

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

    def _multi_label(self, kept: list[tuple[str, Any]]) -> Any:
        """The parameter `multi_label` of all estimators that have it; True if one of them takes labels alone."""
        found: dict[Any, str] = {}
        for name, estimator in kept:
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

    def _without_out_of_bag(self) -> str | None:
        """Why there are no out-of-bag scores of the mean, or None."""
        kept = self._kept()
        for (_, estimator), weight in zip(kept, self._checked_weights(kept), strict=True):
            if weight and (why := label_scores.without_out_of_bag(estimator)) is not None:
                return why
        return None

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
        self : Mean
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter or the input is not valid, or if estimators do not fit together. The estimator is left unchanged. An
            error in the fit of one of the estimators has a note with its name.
        TypeError
            If one of the estimators is a class, has no `predict_proba`, or does not support `sample_weight`. The estimator is
            left unchanged.
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
    ) -> Target:
        """Fit all members by `fit`, which returns the fitted estimator, and set the attributes."""
        name = type(self).__name__
        if y is None:
            raise ValueError(f"This {name} estimator requires y to be passed, but the target y is None.")
        kept = self._kept()
        n = checks.count_samples(X)
        weights = checks.check_weights(sample_weight, n)
        if is_classifier(self):
            options: dict[str, Any] = {"warn_column": False, "multi_label": self._multi_label(kept)}
            target = targets.classes(y, weights, n, name, masks=True, y_mask=y_mask, **options)
        else:
            rules: dict[str, Any] = {"warn_column": False, "weights": weights, "keeps_sparse": True}
            target = targets.numbers(y, n, name, masks=True, y_mask=y_mask, **rules)
        target = targets.with_label_names(target, label_names)
        if target.mask is None:
            y_mask = None
        elif (which := self._without_masks()) is not None:
            raise ValueError(
                f"{kind_of(apart(dict(kept)[which])[0])} as {which!r} does not support y with masked entries: estimators "
                "must be of weald and support them, or be fitted ones in FrozenEstimator"
            )
        members = []
        for which, estimator in kept:
            with _of_member(which), self._threads():
                rows, own = None, _is_own(apart(estimator)[0])
                values = y
                if not own and target.label_format is not None and target.n_outputs == 1:
                    # Others take a single label for two classes.
                    values = target.original.toarray()[:, 0].astype(target.label_format.dtype)
                if weights is not None and not own and not isinstance(estimator, FrozenEstimator):
                    _check_takes_weights(which, estimator)
                    rows = checks.rows_there(weights)
                if isinstance(estimator, FrozenEstimator):
                    # Whether it takes such samples.
                    estimator.predict(safe_indexing(X.tocsr() if is_sparse(X) else X, [0]))
                if rows is None or weights is None:
                    members.append(fit(estimator, X, values, weights, y_mask))
                else:
                    there = [safe_indexing(part.tocsr() if is_sparse(part) else part, rows) for part in (X, values)]
                    members.append(fit(estimator, *there, weights[rows], None))
        self.estimators_, self._names = members, [which for which, _ in kept]
        self.weights_ = self._checked_weights(kept)
        self.n_outputs_, self._label_format = target.n_outputs, target.label_format
        self.__dict__.pop("target_names_in_", None)
        if target.names is not None:
            self.target_names_in_ = target.names
        self._check_members()
        if is_classifier(self):
            self._set_classes(self._classes_of_all(target.classes) if target.kind == "classes" else None)
        return target

    def _fit_out_of_bag(
        self, X: Any, y: Any, sample_weight: object, min_score: float, y_mask: Any = None, fits: Fits = HERE
    ) -> tuple[sparse.csr_array, NDArray[np.intp]]:
        """Fit to labels; return out-of-bag scores of at least `min_score`, and whether each sample has any, as a number."""
        found: list[tuple[sparse.csr_array, NDArray[np.bool_]]] = []
        kept = self._kept()
        used = iter(self._checked_weights(kept) > 0)

        def fit(estimator: Any, X: Any, y: Any, weights: object, mask: object) -> Any:
            if not next(used):
                return fits.start(estimator, X, y, weights, mask)()
            model, scores, known = label_scores.out_of_bag(fits, estimator, X, y, weights, 0.0, mask)
            found.append((scores, known))
            return model

        with fitted_at_once(self, anew=True) as new:
            new._fit(X, y, sample_weight, y_mask, None, fit)
            weights = new.weights_[new.weights_ > 0]
        mean = _mean_of([scores for scores, _ in found], weights)
        mean.data[mean.data < min_score] = 0.0
        mean.eliminate_zeros()
        mean.sort_indices()
        return mean, np.all([known for _, known in found], axis=0).astype(np.intp)

    def _set_classes(self, classes: list[NDArray[Any]] | None) -> None:
        """Set the attributes of classes, or of labels for None."""
        if classes is None:
            self.classes_, self.n_classes_ = label_classes(self.n_outputs_), self.n_outputs_
            return
        single = self.n_outputs_ == 1
        self.classes_ = classes[0] if single else classes
        self.n_classes_ = len(classes[0]) if single else [len(found) for found in classes]

    def _classes_of_all(self, classes: list[NDArray[Any]]) -> list[NDArray[Any]]:
        """The classes of y, with those that estimators have in addition, which were fitted before."""
        for name, model in zip(self._names, self.estimators_, strict=True):
            known = _classes_of(model)
            if len(known) != len(classes):
                raise ValueError(
                    f"y must have {len(known)} outputs, as in the fit of the estimator {name!r}, got {len(classes)}"
                )
            for j, (one, other) in enumerate(zip(known, classes, strict=True)):
                if np.array_equal(one, other):
                    continue
                # NumPy would make texts of numbers beside texts.
                if (one.dtype.kind in "biuf") != (other.dtype.kind in "biuf"):
                    raise ValueError(
                        f"y must have classes of the type of those of the estimator {name!r}, {one[:1].tolist()[0]!r}, "
                        f"got {other[:1].tolist()[0]!r}"
                    )
                classes = [*classes[:j], np.union1d(other, one), *classes[j + 1 :]]
        return classes

    def _check_members(self) -> None:
        """Raise for fitted estimators whose outputs are not those of y."""
        for name, model in zip(self._names, self.estimators_, strict=True):
            final = apart(model)[0]
            if is_classifier(model) and not hasattr(model, "predict_proba"):
                raise TypeError(
                    f"estimators must have predict_proba, which {kind_of(final)} as {name!r} has not after its fit"
                )
            if not _is_own(final):
                continue
            if final.n_outputs_ != self.n_outputs_:
                raise ValueError(
                    f"y must have {final.n_outputs_} outputs, as in the fit of the estimator {name!r}, got "
                    f"{self.n_outputs_}"
                )
            has_label_format = getattr(final, "_label_format", None) is not None
            if has_label_format != (self._label_format is not None):
                there, here = ("labels", "classes") if has_label_format else ("classes", "labels")
                raise ValueError(f"y must have {there}, as in the fit of the estimator {name!r}, got {here}")

    @contextmanager
    def _threads(self) -> Iterator[None]:
        """Gives this number of threads to estimators that leave theirs open."""
        with nullcontext() if self.n_jobs is None else parallel_config(n_jobs=int(self.n_jobs)):
            yield

    # --- attributes --------------------------------------------------------------------------------------------------

    @property
    @of_one_fit
    def named_estimators_(self) -> Any:
        """The fitted estimators by name."""
        check_is_there(self, "named_estimators_")
        return Bunch(**dict(zip(self._names, self.estimators_, strict=True)))

    @property
    @of_one_fit
    def n_features_in_(self) -> int:
        """Number of features of the first estimator."""
        check_is_there(self, "n_features_in_")
        n_features: int = self.estimators_[0].n_features_in_
        return n_features

    @property
    @of_one_fit
    def feature_names_in_(self) -> NDArray[np.object_]:
        """Names of the features of the first estimator, if it has them."""
        check_is_there(self, "feature_names_in_")
        names: NDArray[np.object_] = self.estimators_[0].feature_names_in_
        return names

    def __sklearn_is_fitted__(self) -> bool:
        return "estimators_" in self.__dict__

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        try:
            of_all = [get_tags(estimator) for _, estimator in self._kept()]
        except (TypeError, ValueError):  # `fit` says what is wrong
            return tags
        first = of_all[0]
        tags.estimator_type = first.estimator_type
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

    # --- predictions -------------------------------------------------------------------------------------------------

    def _used(self) -> Iterator[tuple[Any, str]]:
        """The estimators with a positive weight, and their names."""
        for model, name, weight in zip(self.estimators_, self._names, self.weights_, strict=True):
            if weight > 0:
                yield model, name

    def _mean(self, X: Any) -> Any:
        """The mean of the probabilities, in the form of `predict_proba`, or of the predicted numbers as columns."""
        check_fitted(self)
        of_members = self._probabilities if hasattr(self, "classes_") else self._numbers
        with self._threads():
            found = [of_members(model, name, X) for model, name in self._used()]
        weights = self.weights_[self.weights_ > 0]
        if isinstance(found[0], list):
            return [_mean_of(list(parts), weights) for parts in zip(*found, strict=True)]
        return _mean_of(found, weights)

    def _probabilities(self, model: Any, name: str, X: Any) -> Any:
        if self._label_format is not None:
            return self._of_labels(model, name, X)
        found = model.predict_proba(X)
        parts = found if isinstance(found, list) else [found]
        classes = [self.classes_] if self.n_outputs_ == 1 else self.classes_
        wide = [
            _in_columns(part, known, wanted)
            for part, known, wanted in zip(parts, _classes_of(model), classes, strict=True)
        ]
        return wide[0] if self.n_outputs_ == 1 else wide

    def _of_labels(self, model: Any, name: str, X: Any) -> Any:
        found = dense_scores(model, X, "predict_proba")
        if self.n_outputs_ == 1 and getattr(apart(model)[0], "_label_format", None) is None:
            # As above, of others.
            return best.of_one_label(found, _classes_of(model)[0]).reshape(-1, 1)
        return self._checked_width(found, name)

    def _numbers(self, model: Any, name: str, X: Any) -> Any:
        found = model.predict(X)
        if is_sparse(found):
            return self._checked_width(found, name)
        found = np.asarray(found, dtype=np.float64)
        return self._checked_width(found.reshape(len(found), -1), name)

    def _checked_width(self, found: Any, name: str) -> Any:
        if found.shape[1] != self.n_outputs_:
            raise ValueError(
                f"estimators must have {self.n_outputs_} outputs, the number of columns of y, got {found.shape[1]} from "
                f"{name!r}"
            )
        return found

    def _blocks(self, X: Any) -> Iterator[Any]:
        """Blocks of samples with about eight million scores."""
        return label_scores.blocks_of(X, self.n_outputs_)

    def _n_samples(self, X: Any) -> int:
        return checks.count_samples(X)

    @of_one_fit
    def predict(self, X: MatrixLike) -> Prediction:
        """Predict numbers, classes or labels by the mean of the estimators.

        The predicted class is the one with the largest mean probability, the first in `classes_` if several have it. The
        predicted labels are those with a mean probability above one half.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that all estimators accept.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs), or CSR of shape (n_samples, n_outputs)
            The predictions, as of `weald.RandomForestClassifier` and `weald.RandomForestRegressor`. Labels have the dtype of y,
            and are sparse if y was. Numbers are sparse if those of all estimators with a positive weight are.
        """
        check_fitted(self)
        if not hasattr(self, "classes_"):
            mean = self._mean(X)
            return mean[:, 0] if self.n_outputs_ == 1 and not is_sparse(mean) else mean
        if self._label_format is not None:
            if self._label_format.container is None:
                return self._label_format.build(self._mean(X) > 0.5)
            parts = [sparse.csr_array(self._mean(rows) > 0.5) for rows in self._blocks(X)]
            return self._label_format.build(sparse.csr_array(sparse.vstack(parts, format="csr")))
        mean = self._mean(X)
        if self.n_outputs_ == 1:
            return self.classes_.take(mean.argmax(axis=1))
        outputs = zip(self.classes_, mean, strict=True)
        return np.stack([classes.take(part.argmax(axis=1)) for classes, part in outputs], axis=1)

    @available_if(_is_of_classes)
    @of_one_fit
    def predict_proba(self, X: MatrixLike) -> Prediction:
        """Predict probabilities: the weighted mean of those of the estimators. Only for classifiers.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that all estimators accept.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            For one output of classes. Columns are in the order of `classes_`.
        ndarray of shape (n_samples, n_labels)
            For labels: the probability that each label is 1.
        list of ndarray of shape (n_samples, n_classes)
            For several outputs of classes: one array for each output, as in scikit-learn.
        """
        return self._mean(X)

    @available_if(_is_of_classes)
    @of_one_fit
    def predict_log_proba(self, X: MatrixLike) -> Prediction:
        """Predict the logarithms of the probabilities; the logarithm of zero is minus infinity. Only for classifiers.

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
        floor = best.checked_min_score(min_score)
        parts = [best.at_least(self._mean(rows), floor) for rows in self._blocks(X)]
        return parts[0] if len(parts) == 1 else sparse.csr_array(sparse.vstack(parts, format="csr"))

    @available_if(lambda estimator: is_classifier(estimator) and ranks_columns(estimator))
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
        """Predict the `k` labels, or classes of one output, with the largest mean probabilities.

        The scores of all labels are never held at once.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that all estimators accept.
        k : int
            The number of labels per sample, from 1 to the number of labels.
        scores : {"auto", "probability", "margin"}, default="auto"
            The scores that are returned: "probability" are those of `predict_proba`, and "margin" those of
            `decision_function`, where for two classes that of the first class is the negative one of the second. "auto" are
            probabilities if there are any, and margins otherwise.
        min_score : float or None, default=None
            Labels with a lower score are not returned. It is in the unit of the scores: from 0 to 1 for probabilities, and any
            number for margins. None returns all.
        exclude : sparse matrix of shape (n_samples, n_labels), list of int or None, default=None
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
        width = self.n_classes_
        has_margins = self._label_format is not None
        as_margins = best.are_margins(scores, True, has_margins, type(self).__name__)
        k, floor = best.checked_k(k, width), best.checked_floor(min_score, as_margins)
        marked = best.pattern(exclude, self._n_samples(X), width)
        found, start = [], 0
        for rows in self._blocks(X):
            mean = self._mean(rows)
            end = start + len(mean)
            some = marked if marked is None or marked.shape[0] == 1 else marked[start:end]
            found.append(ranks.k_best(mean - 0.5 if as_margins else mean, k, some))
            start = end
        indices, values = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return best.ranked(indices, values, floor, are_margins=as_margins)

    @of_one_fit
    def score(
        self, X: MatrixLike, y: MatrixLike, sample_weight: ArrayLike | None = None, *, y_mask: MatrixLike | None = None
    ) -> float:
        """Return R² of regressors, averaged over the outputs, or the accuracy of classifiers.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that all estimators accept.
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_outputs)
            The true values, classes or labels. If y has several columns of floats, NaN marks unknown values.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Sample weights.
        y_mask : {array-like, sparse matrix} of the shape of y or None, default=None
            Marks values of y to leave out by True or 1, in addition to those that are NaN. If any are left out, the returned
            score has an attribute `n_cells`, the number of values that were used.

        Returns
        -------
        float
            The score, as of `weald.RandomForestRegressor` and `weald.RandomForestClassifier`. For labels, all labels of a
            sample must be right.
        """
        check_fitted(self)
        if hasattr(self, "classes_"):
            return accuracy_of(self, self.predict(X), y, sample_weight, y_mask)
        return r2_of(self, self._mean(X), y, sample_weight, y_mask)

    def _known_target(self) -> Target:
        return known_target(self)

    # --- files -------------------------------------------------------------------------------------------------------

    def _fitted_names(self) -> Set[str]:
        own = {"estimators_", "_names", "weights_", "classes_", "n_classes_", "n_outputs_", "_label_format"}
        return own | {"target_names_in_"}

    @of_one_fit
    def _parts_of_members(self) -> tuple[list[tuple[str, Any, bool]], dict[str, Any], dict[str, Any]]:
        """Names and fitted estimators, and whether these were frozen; the parameters, and the fitted attributes.

        Parameters that are frozen estimators are None in the list.
        """
        members = []
        for name, model in zip(self._names, self.estimators_, strict=True):
            inner = model
            while isinstance(inner, FrozenEstimator):
                inner = inner.estimator
            members.append((name, inner, inner is not model))
        params = self.get_params(deep=False)
        params["estimators"] = [
            (name, None if isinstance(found, FrozenEstimator) else found if _is_dropped(found) else clone(found))
            for name, found in params["estimators"]
        ]
        fitted: dict[str, Any] = {"n_outputs_": self.n_outputs_, "weights_": self.weights_.tolist()}
        if hasattr(self, "classes_"):
            fitted["_label_format"] = self._label_format
            if self._label_format is None:
                fitted["classes_"] = self.classes_
        fitted |= {name: self.__dict__[name] for name in _OPTIONAL if name in self.__dict__}
        return members, params, fitted

    def _put_together(self, members: list[tuple[str, Any, bool]], fitted: dict[str, Any]) -> None:
        """Set the attributes from parts of `_parts_of_members` that a file contains, after validation."""

        def need(holds: object, attribute: str, why: str) -> None:
            if not holds:
                raise ValueError(f"{type(self).__name__}: {attribute} {why}")

        need(members, "estimators_", "must have at least one estimator")
        names = [name for name, _, _ in members]
        need(all(type(name) is str for name in names), "estimators_", "must have strings as names")
        need(len(set(names)) == len(names), "estimators_", "must have distinct names, got a name twice")
        kind = is_classifier if is_classifier(members[0][1]) else is_regressor
        for _, inner, _ in members:
            final = apart(inner)[0]
            is_fitted = kind(inner) and (not _is_own(final) or hasattr(final, "n_outputs_"))
            need(is_fitted, "estimators_", f"must be fitted classifiers or fitted regressors, got {described(inner)}")
        expected = {"n_outputs_", "weights_", *(("_label_format",) if kind is is_classifier else ())}
        form = fitted.get("_label_format")
        if kind is is_classifier and form is None:
            expected |= {"classes_"}
        wrong = sorted(expected ^ (fitted.keys() - _OPTIONAL))
        need(not wrong, "attributes", f"must be {sorted(expected)}, got {sorted(fitted)}")
        n_outputs, weights = fitted["n_outputs_"], fitted["weights_"]
        need(
            type(n_outputs) is int and n_outputs > 0,
            "n_outputs_",
            f"must be a positive integer, got {described(n_outputs)}",
        )
        are_weights = (
            isinstance(weights, list)
            and len(weights) == len(members)
            and all(type(weight) is float and 0 <= weight <= 1 for weight in weights)
            and max(weights) == 1
        )
        need(are_weights, "weights_", f"must be {len(members)} floats from 0 to 1, the largest of them 1")
        need(
            form is None or is_label_format(form), "_label_format", f"must be a format of labels, got {described(form)}"
        )
        if "target_names_in_" in fitted:
            prove_names(need, "target_names_in_", fitted["target_names_in_"], n_outputs)
        if OUTPUT in fitted:
            container = fitted[OUTPUT]
            is_known = type(container) is str and container in CONTAINERS
            need(is_known, OUTPUT, f"must be one of {', '.join(CONTAINERS)}, got {described(container)}")
        self.__dict__.update({name: fitted[name] for name in _OPTIONAL if name in fitted})
        self.estimators_ = [FrozenEstimator(inner) if is_frozen else inner for _, inner, is_frozen in members]
        self._names, self.weights_ = names, np.array(weights)
        self.n_outputs_, self._label_format = n_outputs, form
        try:
            self._check_members()
            if kind is is_classifier:
                self._set_classes(None if form is not None else self._proven_classes(need, fitted["classes_"]))
        except TypeError as error:
            raise ValueError(f"{type(self).__name__}: {error}") from error

    def _proven_classes(self, need: Callable[[Any, str, str], None], found: Any) -> list[NDArray[Any]]:
        classes = [found] if self.n_outputs_ == 1 else found
        are_arrays = (
            isinstance(classes, list)
            and len(classes) == self.n_outputs_
            and all(isinstance(part, np.ndarray) and part.ndim == 1 and len(part) for part in classes)
        )
        need(are_arrays, "classes_", f"must have {self.n_outputs_} arrays of classes, got {described(found)}")
        for j, part in enumerate(classes):
            need(np.array_equal(np.unique(part), part), "classes_", "must be distinct and in increasing order")
            known = [_classes_of(model) for model in self.estimators_]
            fits = all(len(of_model) == len(classes) and np.isin(of_model[j], part).all() for of_model in known)
            need(fits, "classes_", "must have all classes of the estimators")
        return list(classes)

    def __setstate__(self, state: dict[str, Any]) -> None:
        # States from pickle, joblib and skops come from an untrusted source.
        if "estimators_" in state:
            proven = object.__new__(type(self))
            proven.__dict__.update(state)
            members, _, fitted = proven._parts_of_members()
            proven._put_together(members, fitted)
        super().__setstate__(state)


registry.add(registry.META_ESTIMATORS, Mean)


def check_is_there(estimator: Mean, attribute: str) -> None:
    """Raise AttributeError for an attribute of an estimator that is not fitted."""
    if "estimators_" not in estimator.__dict__:
        raise AttributeError(f"{type(estimator).__name__} has no {attribute} before it is fitted")


def _is_dropped(estimator: object) -> bool:
    return isinstance(estimator, str) and estimator == _DROP


@contextmanager
def _of_member(name: str) -> Iterator[None]:
    """Errors get a note with the name of the estimator."""
    try:
        yield
    except Exception as error:
        error.add_note(f"in the fit of the estimator {name!r}")
        raise


def _check_takes_weights(name: str, estimator: BaseEstimator) -> None:
    final = apart(estimator)[0]
    if not has_fit_parameter(final, "sample_weight"):
        raise TypeError(
            f"sample_weight must be None: {kind_of(final)} as {name!r} in estimators does not support sample weights"
        )


def _classes_of(model: Any) -> list[NDArray[Any]]:
    """The classes of each output."""
    found = apart(model)[0].classes_
    return list(found) if isinstance(found, list) else [np.asarray(found)]


def _in_columns(part: Any, known: NDArray[Any], wanted: NDArray[Any]) -> Float:
    """Probabilities of known classes in the columns of the wanted ones, of which others have zero."""
    values: Float = np.asarray(part, dtype=np.float64)
    if len(known) == len(wanted):
        return values
    found = np.zeros((len(values), len(wanted)))
    found[:, np.searchsorted(wanted, known)] = values
    return found


def _mean_of(parts: list[Any], weights: Float) -> Any:
    """The weighted mean. It is sparse if all parts are, with the same values.

    Sums of weights and of weighted values are rounded in the same order, so that the mean is at most the largest value if that
    is a probability of 1, and values are unchanged if there is one part.
    """
    are_sparse = all(map(is_sparse, parts))
    total: Any = None
    for part, weight in zip(parts, weights.tolist(), strict=True):
        term = part.toarray() if is_sparse(part) and not are_sparse else part
        term = term * weight
        total = term if total is None else total + term
    divisor = 0.0
    for weight in weights.tolist():
        divisor += weight
    mean = total / divisor
    if are_sparse:
        mean = (sparse.csr_array if isinstance(parts[0], sparse.sparray) else sparse.csr_matrix)(mean)
        mean.eliminate_zeros()
    return mean
