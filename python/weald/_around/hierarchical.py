"""`HierarchicalLabels`: a classifier whose predictions respect a hierarchy of labels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator

from weald._around import unseen
from weald._around.base import Claims, Fit, need
from weald._around.labels import LabelsAround, has
from weald._fit.base import keep
from weald._fitted.at_once import fitted_at_once, of_one_fit
from weald._fitted.proof import check_fitted
from weald._input import checks, frames, masks, registry, targets
from weald._input.checks import Float, Matrix
from weald._input.sklearn_private import StrOptions
from weald._labels.hierarchy import WEIGHTS, LabelHierarchy
from weald._labels.label_graph import METHODS
from weald._parameters.types import MatrixLike, Prediction, available_if
from weald._ranking import ranks
from weald._ranking.outputs import apart, of_labels
from weald._rounds.rounds import Progress

# The least number of samples of an implication that `fit` infers, as in `LabelHierarchy.from_labels`.
_LEAST = 5.0


def _is_hierarchy(around: Any, found: Any) -> None:
    is_one = isinstance(found, LabelHierarchy) and found.n_labels == around.n_outputs_
    need(is_one, f"a LabelHierarchy of {around.n_outputs_} labels", found)


@registry.stored(registry.META_ESTIMATORS, "weald.multilabel")
class HierarchicalLabels(LabelsAround):
    """Multi-label classifier whose scores never rise from a label to those below it, and whose label sets are closed.

    Use it where labels form a hierarchy. It closes the label sets of the training samples, fits an estimator to them,
    and makes the scores that this predicts consistent. A forest predicts consistent probabilities by itself, except for
    labels with unknown entries; boosting and linear models do not. Put it inside `TunedThresholds`, whose thresholds
    then respect the hierarchy. See `docs/hierarchies.md`.

    >>> import weald, numpy as np
    >>> hierarchy, X = weald.multilabel.LabelHierarchy([(1, 0)]), np.random.default_rng(0).random((99, 2))
    >>> weald.multilabel.HierarchicalLabels(weald.LinearClassifier(), hierarchy).fit(X, X > 0.5).predict_proba(X).shape
    (99, 2)

    Parameters
    ----------
    estimator : classifier or Pipeline
        A multi-label classifier with `predict_proba` or `decision_function`. A `sklearn.frozen.FrozenEstimator` is not
        refitted: `fit` only checks that it predicts these labels. If it is `TunedThresholds`, its labels are made
        consistent.
    hierarchy : LabelHierarchy or None, default=None
        The hierarchy, with a label for each column of y. None: inferred by `LabelHierarchy.from_labels` with its
        defaults.
    method : {"max", "min", "isotonic"}, default="max"
        How scores are made consistent: "max" raises the score of a label to the largest one below it, "min" lowers it
        to the smallest one above it, and "isotonic" changes scores as little as possible, in the sum of squares.
    not_closed : {"close", "raise"}, default="close"
        What happens in `fit` and `score` if a sample has a label without one above it: "close" adds what is missing,
        and "raise" raises an error that names the sample and the labels.
    label_weight : {"depth", "information_content", "information_accretion"} or None, default=None
        Weights of labels that are passed to the estimator, or to the last step of a pipeline, as its parameter
        `label_weight`: see `LabelHierarchy.label_weight`. None leaves the parameter as it is.
    verbose : int, default=0
        Whether the fit is reported, as in `weald.RandomForestClassifier`. The estimator has a `verbose` of its own.

    Attributes
    ----------
    estimator_, hierarchy_, classes_, n_outputs_, n_features_in_ : estimator, LabelHierarchy, ndarray, int and int
        The estimator, fitted on closed label sets or frozen, the hierarchy, the indices of the labels, and the numbers
        of labels and features.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LabelsAround._parameter_constraints,
        "hierarchy": [LabelHierarchy, None],
        "method": [StrOptions(set(METHODS))],
        "not_closed": [StrOptions({"close", "raise"})],
        "label_weight": [StrOptions(set(WEIGHTS)), None],
    }
    FITTED: ClassVar[Claims] = {**LabelsAround.FITTED, "hierarchy_": _is_hierarchy}

    hierarchy_: LabelHierarchy

    hierarchy: LabelHierarchy | None
    method: Literal["max", "min", "isotonic"]
    not_closed: Literal["close", "raise"]
    label_weight: Literal["depth", "information_content", "information_accretion"] | None

    def __init__(
        self,
        estimator: BaseEstimator,
        hierarchy: LabelHierarchy | None = None,
        *,
        method: Literal["max", "min", "isotonic"] = "max",
        not_closed: Literal["close", "raise"] = "close",
        label_weight: Literal["depth", "information_content", "information_accretion"] | None = None,
        verbose: int = 0,
    ) -> None:
        keep(self, locals())

    def fit(
        self,
        X: MatrixLike,
        y: MatrixLike,
        sample_weight: ArrayLike | None = None,
        *,
        y_weight: MatrixLike | None = None,
        label_names: ArrayLike | None = None,
    ) -> Self:
        """Close the label sets, and fit the estimator to them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples, in any form that the estimator accepts.
        y : {array-like, sparse matrix} of shape (n_samples, n_labels)
            Labels, 0 or 1. `predict` returns labels of the same container and dtype.
        sample_weight, y_weight, label_names : as in the `fit` of the estimator
            Weights, unknown entries and names of the labels. What the hierarchy says about unknown entries becomes
            known.

        Returns
        -------
        self : HierarchicalLabels
            The fitted classifier.
        """
        return self._run(Fit(X, y, sample_weight, y_weight, label_names))

    def _fit(self, given: Fit) -> None:
        given, estimator = self._prepared(given)
        if isinstance(estimator, FrozenEstimator):
            # It raises for samples that it does not accept, and if it predicts another number of labels.
            unseen.scores_at_least(estimator, given.X, 1.0, self.n_outputs_)
        else:
            with Progress(type(self).__name__, "fit", 1, self.verbose) as progress:
                estimator = given.fits.start(estimator, given, lambda: progress(1))()
        self.estimator_ = estimator

    def _without_out_of_bag(self, n_labels: int) -> str | None:
        """What the estimator lacks to have out-of-bag scores."""
        return unseen.without_out_of_bag(self.estimator, n_labels)

    def _fit_out_of_bag(self, given: Fit, min_score: float) -> tuple[sparse.csr_array, NDArray[np.bool_]]:
        """Fit around a forest; return consistent out-of-bag scores of at least `min_score`, and which samples have some."""
        with fitted_at_once(self, anew=True) as new:
            given, estimator = new._prepared(Fit(*given.data, fits=given.fits))
            with Progress(type(self).__name__, "fit", 1, self.verbose) as progress:
                new.estimator_, scores, known = unseen.out_of_bag(estimator, given, new._floor(min_score))
                progress(1)
        return self._at_least(scores, min_score), known

    def _prepared(self, given: Fit) -> tuple[Fit, BaseEstimator]:
        """The fit to closed label sets, and the estimator to fit. Sets the attributes for y."""
        given = self._checked(given)
        given = self._with_target(given, self._with_hierarchy(given.target, given.sample_weight))
        if not isinstance(self.estimator, FrozenEstimator):
            unseen.check_takes_masks(self.estimator, given)
        return given, self._weighted(given.target, given.sample_weight)

    def _with_hierarchy(self, target: targets.Target, weights: Float | None) -> targets.Target:
        """The target with closed label sets. Sets the hierarchy."""
        hierarchy = self.hierarchy
        if hierarchy is None:
            hierarchy = LabelHierarchy._inferred(target, weights, _LEAST, "dag")
        else:
            hierarchy._check_columns(target.n_outputs, "y")
            if (where := frames.different(target.names, hierarchy.label_names)) is not None:
                raise ValueError(f"y must have {where}: labels must be those of the hierarchy, in the same order")
            if target.names is None and hierarchy.label_names is not None:
                target = replace(target, names=hierarchy.label_names.copy())
        self.hierarchy_ = hierarchy
        labels, mask = self._closed(target)
        return replace(target, original=labels, known=None if mask is None else masks.KnownCells(mask))

    def _closed(self, target: targets.Target, what: str = "y") -> tuple[sparse.csr_array, sparse.csr_array | None]:
        if self.not_closed == "raise":
            self.hierarchy_._check(target.original, target.mask, what)
        return self.hierarchy_._closed(target.original, target.mask)

    def _weighted(self, target: targets.Target, weights: Float | None) -> BaseEstimator:
        """The estimator with the weights of labels, if they are asked for."""
        if self.label_weight is None or isinstance(self.estimator, FrozenEstimator):
            return self.estimator
        estimator = clone(self.estimator)
        final, _ = apart(estimator)
        if "label_weight" not in final.get_params(deep=False):
            raise ValueError(
                f"label_weight must be None for {type(final).__name__}, which has no parameter label_weight, got "
                f"{self.label_weight!r}"
            )
        if self.label_weight == "depth":
            found = self.hierarchy_.label_weight("depth")
        else:
            found = self.hierarchy_._information(target.original, weights, self.label_weight)
        # If all labels are alike, their weights do not matter, but one must be positive.
        final.set_params(label_weight=found if found.any() else np.ones(len(found)))
        return estimator

    # --- predictions -------------------------------------------------------------------------------------------------

    @available_if(has("predict_proba"))
    @of_one_fit
    def predict_proba(self, X: MatrixLike) -> Float:
        """Predict consistent probabilities as a dense array.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that the estimator accepts.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            The probability that each label is 1, which is never larger than that of a label above it.
        """
        return self._dense(X, "predict_proba")

    @available_if(has("decision_function"))
    @of_one_fit
    def decision_function(self, X: MatrixLike) -> Float:
        """Predict consistent scores as a dense array: those of `decision_function` of the estimator, made consistent.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that the estimator accepts.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            The scores, none of which is larger than that of a label above it.
        """
        return self._dense(X, "decision_function")

    def _dense(self, X: MatrixLike, method: str) -> Float:
        check_fitted(self)
        scores = of_labels(self.estimator_, method, X)
        if scores.shape[1] != self.n_outputs_:
            raise ValueError(f"estimator must predict scores of {self.n_outputs_} labels, got {scores.shape[1]}")
        found: Float = self.hierarchy_._consistent(scores, self.method)
        return found

    @of_one_fit
    def predict_sparse(self, X: MatrixLike, min_score: float = 0.0) -> sparse.csr_array:
        """Predict the consistent positive scores of at least `min_score` as a CSR array.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that the estimator accepts.
        min_score : float, default=0
            Scores below this value, between 0 and 1, are not stored.

        Returns
        -------
        csr_array of shape (n_samples, n_labels)
            The scores, float64: probabilities, or 1 / (1 + exp(-s)) for scores s of `decision_function` if there are no
            probabilities.
        """
        check_fitted(self)
        return self._scores(X, ranks.checked_min_score(min_score))

    def _scores(self, X: MatrixLike, floor: float) -> sparse.csr_array:
        """Consistent scores of at least `floor`."""
        scores = unseen.scores_at_least(self.estimator_, X, self._floor(floor), self.n_outputs_)
        return self._at_least(scores, floor)

    def _floor(self, floor: float) -> float:
        """The floor of scores that decide about consistent scores of at least `floor`."""
        # With "max" and "min", no score below the floor decides about one above it.
        return 0.0 if self.method == "isotonic" else floor

    def _at_least(self, scores: sparse.csr_array, floor: float) -> sparse.csr_array:
        """Scores of at least `_floor(floor)`, made consistent, without those below the floor."""
        found: sparse.csr_array = self.hierarchy_._consistent(scores.astype(np.float64, copy=False), self.method)
        if (found.data < floor).any():
            found.data[found.data < floor] = 0.0
            found.eliminate_zeros()
        return found

    @of_one_fit
    def predict(self, X: MatrixLike) -> Prediction:
        """Predict closed label sets: the labels whose consistent score is greater than 0.5.

        If the estimator is `TunedThresholds`, the labels that it predicts are made consistent in place of its scores.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in any form that the estimator accepts.

        Returns
        -------
        {ndarray, CSR matrix} of shape (n_samples, n_labels)
            The labels, 0 or 1, with the dtype of the y passed to `fit`; sparse if that y was sparse.
        """
        return self._built(self._named(X))

    def _named(self, X: MatrixLike) -> sparse.csr_array:
        check_fitted(self)
        final, before = apart(self.estimator_)
        if isinstance(final, LabelsAround) and hasattr(final, "threshold_"):
            labels = final._named(X if before is None else before.transform(X)).astype(np.float64)
            found = self.hierarchy_._consistent(labels, self.method)
        else:
            found = self._scores(X, 0.5)
        named = sparse.csr_array(found > 0.5)
        named.sort_indices()
        return named

    @property
    def _label_hierarchy(self) -> LabelHierarchy:
        """The hierarchy that the scores respect, which thresholds of `TunedThresholds` respect, too."""
        return self.hierarchy_

    def _k_best(self, X: MatrixLike, k: int, marked: Any, *, as_margins: bool) -> tuple[NDArray[np.uint32], Float]:
        scores: Any = self.decision_function(X) if as_margins else self.predict_sparse(X)
        return self.hierarchy_._k_best(scores, k, marked)

    @of_one_fit
    def score(
        self, X: Matrix, y: MatrixLike, sample_weight: ArrayLike | None = None, *, y_weight: MatrixLike | None = None
    ) -> float:
        """Return the fraction of samples for which all labels are predicted correctly, after y is closed.

        Parameters
        ----------
        X, y, sample_weight, y_weight : as in `fit`
            Samples and their true values. If some are unknown, they are left out, and the returned score has an
            attribute `n_cells`, the number of values that were used.

        Returns
        -------
        float
            The fraction of samples all of whose known labels are right.
        """
        named = self._named(X)
        truth, mask = self._read(y, y_weight, named.shape[0])
        told = None if mask is None else masks.KnownCells(mask)
        truth, mask = self._closed(targets.Target("labels", None, self.n_outputs_, [], truth, known=told))
        wrong: Matrix = truth != named
        return masks.accuracy(wrong, mask, checks.score_weights(sample_weight, named.shape[0]))
