"""Cross-validation for labels: stratified folds, and scikit-learn's functions for sparse y and unknown values of y.

The searches of scikit-learn (`GridSearchCV`, `RandomizedSearchCV` and the halving searches) support sparse y, but its
cross-validation functions raise an error. `cross_validate` and `cross_val_predict` of this module call those of
scikit-learn, and also support sparse y, and unknown values (NaN, or `y_weight`). With dense y that is known the results are
identical, except for a label that all training samples of a fold have: scikit-learn's `cross_val_predict` takes it for one
that none has. For searches of y with unknown values, and for scikit-learn's other functions, `check_cv` makes the folds.

See `docs/sparse-labels.md` for the other parts of scikit-learn that support sparse y.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
import sklearn.model_selection as theirs
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import BaseCrossValidator, GroupKFold
from sklearn.pipeline import Pipeline
from sklearn.utils import Tags, check_array, check_consistent_length, get_tags
from sklearn.utils.metadata_routing import MetadataRouter

from weald import _weald
from weald._around.labels import LabelsAround
from weald._fit.predictions import BaseClassifier
from weald._input import registry, targets
from weald._input.checks import (
    Float,
    check_has_fit,
    check_jobs,
    check_names_of_scorers,
    folds_of,
    generator,
    integer,
    named,
)
from weald._input.masks import KnownCells
from weald._input.messages import described
from weald._input.sklearn_private import BaseSearchCV, num_samples
from weald._input.sparse import Raw, is_sparse
from weald._input.targets import check_array_of_y
from weald._parameters.types import MatrixLike, Prediction, RandomState, YWeight
from weald._ranking import scorers
from weald._rounds.rounds import check_verbose

__all__ = [
    "MultilabelStratifiedGroupKFold",
    "MultilabelStratifiedKFold",
    "check_cv",
    "cross_val_predict",
    "cross_validate",
]


# Passes over the groups in which a group changes its fold where that is better. Few groups still do after the first.
_MOST_PASSES = 10


class _Shares:
    """The share that each group has of each count, and the shares that the folds have so far.

    The loss is the sum over counts and folds of the squared difference between the share of the fold and that of a fold
    of equal ones.
    """

    def __init__(self, counts: sparse.csr_array, n_splits: int) -> None:
        totals = counts.sum(axis=0)
        self.ptr, self.columns = counts.indptr, counts.indices.astype(np.intp)
        self.of_groups = counts.data / totals[counts.indices]
        self.of_folds = np.zeros((n_splits, counts.shape[1]))
        self.n_groups = np.zeros(n_splits, dtype=np.int64)

    def of(self, group: int) -> tuple[NDArray[np.intp], Float]:
        """The counts that a group has a share of, and these shares."""
        there = slice(self.ptr[group], self.ptr[group + 1])
        return self.columns[there], self.of_groups[there]

    def norms(self) -> Float:
        """The sum of the squared shares of each group."""
        return np.asarray(np.add.reduceat(self.of_groups**2, self.ptr[:-1]))

    def put(self, group: int, fold: int, sign: int = 1) -> None:
        """Put a group into a fold, or with the sign -1 take it out."""
        columns, shares = self.of(group)
        self.of_folds[fold, columns] += sign * shares
        self.n_groups[fold] += sign

    def best(self, group: int) -> int:
        """The fold that the group, which is in none, makes the loss smallest in; the first of several."""
        columns, shares = self.of(group)
        # The loss grows by 2 Σ share (share of the fold) and a term that is the same for all folds.
        return int(np.argmin((self.of_folds[:, columns] * shares).sum(axis=1)))


def _loss_of_folds(counts: sparse.csr_array, fold: NDArray[np.int64], n_splits: int) -> float:
    """The loss of folds of groups: see `_Shares`."""
    member = sparse.csr_array((np.ones(len(fold)), (fold, np.arange(len(fold)))), shape=(n_splits, len(fold)))
    shares = (member @ counts).toarray() / counts.sum(axis=0)
    return float(((shares - 1 / n_splits) ** 2).sum())


def folds_of_groups(
    labels: sparse.csr_array, group: NDArray[np.intp], n_groups: int, n_splits: int, priority: NDArray[np.intp]
) -> NDArray[np.int64]:
    """The fold of each group, of which there are at least as many as folds.

    Groups are put into folds in the order of the largest shares, each into the fold where the loss is smallest then;
    `priority` is their order where shares are equal. Then groups are moved while that makes the loss smaller. If folds
    of equal numbers of samples have a smaller loss still, these are returned.
    """
    n = labels.shape[0]
    member = sparse.csr_array((np.ones(n), (group, np.arange(n))), shape=(n_groups, n))
    of_labels = sparse.csr_array(member @ labels.astype(np.float64))
    some = np.flatnonzero(of_labels.sum(axis=0))
    # The last count is that of samples, of which every group has some.
    sizes = np.bincount(group, minlength=n_groups).astype(np.float64)
    counts = sparse.csr_array(sparse.hstack([of_labels[:, some], sparse.csr_array(sizes[:, None])], format="csr"))
    counts.sort_indices()
    shares = _Shares(counts, n_splits)
    order = np.lexsort((priority, -shares.norms()))
    fold = np.empty(n_groups, dtype=np.int64)
    for one in order:
        # A fold without groups has no shares, so that it comes before all others.
        fold[one] = shares.best(one)
        shares.put(one, fold[one])
    for _ in range(_MOST_PASSES):
        if not _moved(shares, fold, order):
            break
    equal = np.empty(n_groups, dtype=np.int64)
    for j, (_, test) in enumerate(GroupKFold(n_splits).split(np.zeros(n), groups=group)):
        equal[group[test]] = j
    return equal if _loss_of_folds(counts, equal, n_splits) < _loss_of_folds(counts, fold, n_splits) else fold


def _moved(shares: _Shares, fold: NDArray[np.int64], order: NDArray[np.intp]) -> bool:
    """Move each group to the fold where the loss is smallest, if that is not its own, and tell whether any was moved."""
    n_moved = 0
    for group in order:
        own = fold[group]
        if shares.n_groups[own] == 1:
            continue
        columns, of_group = shares.of(group)
        shares.put(group, own, -1)
        costs = (shares.of_folds[:, columns] * of_group).sum(axis=1)
        best = int(np.argmin(costs))
        # Sums in another order may differ by rounding, by which a group would move back and forth.
        if costs[best] < costs[own] - 1e-12:
            fold[group] = best
            n_moved += 1
        shares.put(group, fold[group])
    return n_moved > 0


_Function = TypeVar("_Function", bound=Callable[..., Any])


@registry.stored(registry.FOLDS)
class MultilabelStratifiedKFold(theirs.BaseCrossValidator):
    """K-fold cross-validator for multi-label data in which each label is about as frequent in all folds.

    This is the iterative stratification of Sechidis, Tsoumakas and Vlahavas, On the stratification of multi-label data,
    ECML PKDD 2011. The labels are processed from the rarest to the most frequent. Each sample of a label is assigned to
    the fold with the fewest samples of this label, and among these to the fold with the fewest samples. Samples without
    labels are assigned last. Since a sample that was assigned because of a rarer label is not moved again, the
    frequencies are close to those in the whole data set but not necessarily the closest possible. A label with fewer
    samples than there are folds is missing from some folds. The folds may have different sizes, but none is empty.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds. Must be at least 2.
    shuffle : bool, default=False
        Whether to process samples in random order, and to break ties between labels with the same number of remaining
        samples at random. If False, samples and labels are processed in the order of their indices.
    random_state : int, RandomState instance or None, default=None
        Controls the random order if `shuffle` is True, and must be None otherwise. With an integer, every call of
        `split` returns the same folds, which `HalvingGridSearchCV` requires.

    Raises
    ------
    ValueError
        If `n_splits` is out of range, or `random_state` is given and `shuffle` is False.
    TypeError
        If `shuffle` is not a bool.

    Notes
    -----
    The cost is O(m log m) for m stored entries of y, plus `n_splits` steps per label. The memory is
    `n_splits` integers per label.

    Examples
    --------
    >>> from scipy import sparse
    >>> from weald.model_selection import MultilabelStratifiedKFold
    >>> Y = sparse.csr_array([[1, 0], [1, 0], [1, 1], [1, 1], [0, 0], [0, 0]])
    >>> for train, test in MultilabelStratifiedKFold(n_splits=2).split(Y, Y):
    ...     print(test, Y[test].sum(axis=0))
    [0 2 4] [2 1]
    [1 3 5] [2 1]
    """

    n_splits: int
    shuffle: bool
    random_state: RandomState

    def __init__(self, n_splits: int = 5, *, shuffle: bool = False, random_state: RandomState = None) -> None:
        n_splits = integer("n_splits", n_splits, 2)
        if not isinstance(shuffle, bool | np.bool_):
            raise TypeError(f"shuffle must be True or False, got {shuffle!r}")
        if not shuffle and random_state is not None:
            raise ValueError(
                f"random_state must be None with shuffle=False, which draws no random numbers, got {random_state!r}"
            )
        self.n_splits = n_splits
        self.shuffle = bool(shuffle)
        self.random_state = random_state

    def get_n_splits(
        self, X: MatrixLike | None = None, y: MatrixLike | None = None, groups: ArrayLike | None = None
    ) -> int:
        """Return the number of folds.

        Parameters
        ----------
        X, y, groups : object
            Ignored. They exist for compatibility with scikit-learn.

        Returns
        -------
        int
            The number of folds.
        """
        return self.n_splits

    def split(
        self, X: MatrixLike | None, y: MatrixLike, groups: ArrayLike | None = None, *, y_weight: YWeight = None
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Generate the indices of the training and test samples of each fold.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or None
            The samples, of which only the number is used.
        y : {array-like, sparse matrix} of shape (n_samples, n_labels)
            Labels, 0 or 1. NaN in a dense array marks unknown entries: those of a label are distributed among the folds
            like its samples, so that the entries that are known to be 1 and those known to be 0 are both about as
            frequent in all folds.
        groups : object
            Always ignored, exists for compatibility.
        y_weight : {array-like, sparse matrix} of the shape of y or None, default=None
            0 marks unknown entries of y, in addition to those that are NaN.

        Yields
        ------
        train : ndarray of int
            Indices of the training samples, in ascending order.
        test : ndarray of int
            Indices of the test samples, in ascending order.

        Raises
        ------
        ValueError
            If `y` is not a label matrix, `X` and `y` have different numbers of samples, or there are fewer samples than
            folds.
        """
        fold = self._folds(y, y_weight)
        if X is not None:
            check_consistent_length(X, fold)
        for j in range(self.n_splits):
            yield np.flatnonzero(fold != j), np.flatnonzero(fold == j)

    def _folds(self, y: MatrixLike | None, y_weight: YWeight = None) -> NDArray[np.int64]:
        labels = _known_and_unknown(y, y_weight)
        n, n_labels = labels.shape
        if n < self.n_splits:
            raise ValueError(f"n_splits must be at most the number of samples, {n}, got {self.n_splits}")
        if not self.shuffle:
            return _folds(labels, self.n_splits, np.arange(n_labels))
        rng = generator(self.random_state)
        order, priority = rng.permutation(n), rng.permutation(n_labels)
        fold = np.empty(n, dtype=np.int64)
        fold[order] = _folds(labels[order], self.n_splits, priority)
        return fold


def _known_and_unknown(y: MatrixLike | None, y_weight: YWeight) -> sparse.csr_array:
    """The labels, and columns of the unknown entries of those labels that have any.

    Unknown entries are distributed like those of a label, so that known negatives are as well.
    """
    target = targets.labels(y, y_weight=y_weight)
    known: sparse.csr_array = target.original
    if target.mask is None:
        return known
    hidden = target.mask.tocsc()
    some = hidden[:, np.diff(hidden.indptr) > 0]
    return sparse.csr_array(sparse.hstack([known, some.astype(np.bool_)], format="csr"))


@registry.stored(registry.FOLDS)
class MultilabelStratifiedGroupKFold(MultilabelStratifiedKFold):
    """K-fold cross-validator for multi-label data whose folds do not divide groups, such as patients or scaffolds.

    All samples of a group are in the same fold, and each label is about as frequent in all folds as groups allow. The
    share of a fold in a label is the fraction of the samples with this label that are in the fold, and its share in the
    samples is defined in the same way. Folds are chosen by the sum of the squared differences of all shares from
    1 / `n_splits`: groups are put into folds one by one, those with the largest shares first, and then moved between
    folds while the sum becomes smaller. It is never larger than for the folds of `sklearn.model_selection.GroupKFold`,
    which are of about equal size. The folds depend on the groups and their labels, and not on the order of the samples.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds. Must be at least 2.
    shuffle : bool, default=False
        Whether to process groups with equal shares in random order. If False, they are processed in increasing order of
        their values in `groups`.
    random_state : int, RandomState instance or None, default=None
        Controls the random order if `shuffle` is True, and must be None otherwise. With an integer, every call of
        `split` returns the same folds, which `HalvingGridSearchCV` requires.

    Raises
    ------
    ValueError
        If `n_splits` is out of range, or `random_state` is given and `shuffle` is False.
    TypeError
        If `shuffle` is not a bool.

    Notes
    -----
    The cost is O(m k) for k folds and m counts of a label in a group, in at most eleven passes over the groups. The
    memory is k numbers per label.

    Examples
    --------
    >>> import numpy as np
    >>> from weald.model_selection import MultilabelStratifiedGroupKFold
    >>> Y = np.array([[1, 0], [0, 0], [0, 1], [1, 0], [0, 1], [0, 0]])
    >>> patients = ["a", "a", "b", "c", "d", "d"]
    >>> for train, test in MultilabelStratifiedGroupKFold(n_splits=2).split(Y, Y, patients):
    ...     print(test, Y[test].sum(axis=0))
    [0 1 2] [1 1]
    [3 4 5] [1 1]
    """

    # scikit-learn routes the groups to `split`.
    __metadata_request__split: ClassVar[dict[str, object]] = {"groups": True}

    def split(
        self, X: MatrixLike | None, y: MatrixLike, groups: ArrayLike | None = None, *, y_weight: YWeight = None
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Generate the indices of the training and test samples of each fold.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or None
            The samples, of which only the number is used.
        y : {array-like, sparse matrix} of shape (n_samples, n_labels)
            Labels, 0 or 1. NaN in a dense array marks unknown entries: those of a label are distributed among the folds
            like its samples, so that the entries that are known to be 1 and those known to be 0 are both about as
            frequent in all folds as groups allow.
        groups : array-like of shape (n_samples,)
            The group of each sample: numbers or strings.
        y_weight : {array-like, sparse matrix} of the shape of y or None, default=None
            0 marks unknown entries of y, in addition to those that are NaN.

        Yields
        ------
        train : ndarray of int
            Indices of the training samples, in ascending order.
        test : ndarray of int
            Indices of the test samples, in ascending order.

        Raises
        ------
        ValueError
            If `y` is not a label matrix, `X`, `y` and `groups` have different numbers of samples, `groups` is not given
            or has missing values, or there are fewer groups than folds.
        """
        labels = _known_and_unknown(y, y_weight)
        fold = self._folds_of_groups(labels, groups)
        if X is not None:
            check_consistent_length(X, fold)
        for j in range(self.n_splits):
            yield np.flatnonzero(fold != j), np.flatnonzero(fold == j)

    def _folds_of_groups(self, labels: sparse.csr_array, groups: ArrayLike | None) -> NDArray[np.int64]:
        if groups is None:
            raise ValueError(
                "groups must be given: one value for each sample, and samples of equal values stay together"
            )
        with named("groups"):
            given = check_array(groups, ensure_2d=False, dtype=None, input_name="groups")
        if given.shape != (labels.shape[0],):
            raise ValueError(
                f"groups must have shape ({labels.shape[0]},), one value for each sample of y, got {given.shape}"
            )
        with named("groups"):
            found, group = np.unique(given, return_inverse=True)
        if len(found) < self.n_splits:
            raise ValueError(f"n_splits must be at most the number of groups, {len(found)}, got {self.n_splits}")
        priority = generator(self.random_state).permutation(len(found)) if self.shuffle else np.arange(len(found))
        return folds_of_groups(labels, group, len(found), self.n_splits, priority)[group]


def _folds(labels: sparse.csr_array, n_splits: int, priority: NDArray[np.int64]) -> NDArray[np.int64]:
    """The fold of each sample, by iterative stratification in the engine."""
    pattern = labels.indptr, labels.indices, labels.shape[1]
    return _weald.label_folds(pattern, n_splits, priority).astype(np.int64)


def _signed_as(original: Callable[..., Any], **more: object) -> Callable[[_Function], _Function]:
    """Set the signature to that of scikit-learn's function, plus the keyword parameters `more` with their defaults."""

    def shown(function: _Function) -> _Function:
        signature = inspect.signature(original)
        added = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=more[name]) for name in more]
        function.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[*signature.parameters.values(), *added]
        )
        return function

    return shown


def check_cv(
    cv: int | BaseCrossValidator | Iterable[Any] | None = 5, y: Raw = None, *, classifier: bool = False
) -> Any:
    """Return a cross-validator, as `sklearn.model_selection.check_cv`, also for sparse y and for unknown labels.

    scikit-learn's searches call their own function, which raises an error for y with NaN if `cv` is an integer or None.
    Pass the result of this function to them: `GridSearchCV(forest, grid, cv=check_cv(5, Y))`.

    Parameters
    ----------
    cv : int, cross-validation generator, iterable or None, default=5
        The number of folds, at least 2, or what determines the folds. None means 5.
    y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_outputs) or None, default=None
        Targets, whose unknown values may be NaN if there are several columns.
    classifier : bool, default=False
        Whether the folds are stratified if y has a single column of classes.

    Returns
    -------
    cross-validator
        `StratifiedKFold` for a classifier with a single column of classes, `KFold` for all other y, or `cv` itself if
        it is not an integer.

    Raises
    ------
    ValueError
        If `cv` or `y` is not valid.

    Examples
    --------
    >>> import numpy as np
    >>> from weald.model_selection import check_cv
    >>> check_cv(3, np.array([[0, np.nan], [1, 0], [np.nan, 1]]), classifier=True)
    KFold(n_splits=3, random_state=None, shuffle=False)
    """
    check_array_of_y(y, "y")
    with named("y"):
        n_samples = None if y is None else num_samples(y)
    folds = folds_of(cv, n_samples, "the number of folds, a cross-validation generator, an iterable of pairs or None")
    if is_sparse(y) or (len(np.shape(y)) == 2 and np.shape(y)[1] > 1):
        y = None
    return theirs.check_cv(folds, y, classifier=classifier)


def _prepared(
    estimator: BaseEstimator, y: Raw, y_weight: YWeight, options: dict[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """Y with NaN where it is unknown, as CSR if it is sparse, and the options with folds as an object."""
    check_has_fit(estimator)
    check_jobs(options.get("n_jobs"))
    check_verbose(options.get("verbose", 0))
    check_names_of_scorers(options.get("scoring"))
    check_array_of_y(y, "y")
    known = targets.known_of(y, y_weight)
    if known is not None and known.is_graded:
        # Folds carry what is unknown in y, and weights as a parameter of the fits.
        params = options.get("params") or {}
        options = {**options, "params": {**params, _in_last_step(estimator): known.as_array().weights}}
        known = KnownCells(known.mask)
    y = targets.with_gaps(y, known)
    if is_sparse(y):
        y = y.tocsr()
    if options.get("scoring") is not None and scorers.has_gaps(y):
        options = {**options, "scoring": scorers.scoring_of_known(options["scoring"], estimator)}
    return y, {**options, "cv": check_cv(options.get("cv"), y, classifier=is_classifier(estimator))}


def _called(
    original: Callable[..., Any], estimator: BaseEstimator, X: MatrixLike, y: MatrixLike, options: dict[str, Any]
) -> Any:
    """Call scikit-learn's function, for sparse y without its decorator, which only raises an error."""
    function = inspect.unwrap(original) if is_sparse(y) else original
    return function(estimator, X, y, **options)


@_signed_as(theirs.cross_validate, y_weight=None)
def cross_validate(
    estimator: BaseEstimator, X: Raw, y: MatrixLike | None = None, *, y_weight: YWeight = None, **options: Any
) -> dict[str, Any]:
    """Fit and score an estimator on each fold.

    This is `sklearn.model_selection.cross_validate`, extended to sparse y.

    Parameters
    ----------
    estimator : estimator
        The estimator to fit.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Training samples.
    y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_outputs) or None, default=None
        Targets. Sparse y is not made dense; formats other than CSR are converted to CSR once.
    y_weight : {array-like, sparse matrix} of the shape of y or None, default=None
        0 marks unknown values of y, in addition to those that are NaN, if y has several columns of numbers or
        labels. Fits and scores leave them out, if the estimator and the scorer do.
    **options
        `groups`, `scoring`, `cv`, `n_jobs`, `verbose`, `params`, `pre_dispatch`, `return_train_score`,
        `return_estimator`, `return_indices` and `error_score`, as in scikit-learn. `scoring` may be a scorer made by
        `weald.metrics.make_topk_scorer`, and `cv` a `MultilabelStratifiedKFold`.

    Returns
    -------
    dict of arrays
        The same keys as in scikit-learn: "test_score", or `"test_"` followed by the name of each scorer, "fit_time",
        "score_time", and those that options ask for.

    Examples
    --------
    >>> from scipy import sparse
    >>> import weald
    >>> from weald.metrics import make_topk_scorer
    >>> from weald.model_selection import cross_validate
    >>> X = [[i % 4] for i in range(40)]
    >>> Y = sparse.csr_array([[x[0] == j for j in range(4)] for x in X])
    >>> scoring = {"p@1": make_topk_scorer("precision_at_k", k=1), "f1": "f1_micro"}
    >>> found = cross_validate(weald.DecisionTreeClassifier(), X, Y, cv=2, scoring=scoring)
    >>> found["test_p@1"], found["test_f1"]
    (array([1., 1.]), array([1., 1.]))
    """
    y, options = _prepared(estimator, y, y_weight, options)
    return dict(_called(theirs.cross_validate, estimator, X, y, options))


@_signed_as(theirs.cross_val_predict, k=None, y_weight=None)
def cross_val_predict(
    estimator: BaseEstimator,
    X: Raw,
    y: Raw = None,
    *,
    method: Literal["predict", "predict_proba", "predict_log_proba", "decision_function", "predict_topk"] = "predict",
    k: int | None = None,
    y_weight: YWeight = None,
    **options: Any,
) -> Prediction:
    """Predict each sample by a model that was fitted on the other folds.

    This is `sklearn.model_selection.cross_val_predict`, extended to sparse y and to `predict_topk`.

    Parameters
    ----------
    estimator : estimator
        The estimator to fit.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Training samples.
    y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_outputs) or None, default=None
        Targets. Sparse y is not made dense.
    method : str, default="predict"
        The method to predict with: "predict", "predict_proba", "predict_log_proba", "decision_function" or
        "predict_topk".
    k : int or None, default=None
        The number of labels per sample, from 1 to the number of labels. Required with "predict_topk", and must be None
        with all other methods. Classifiers without `predict_topk` are supported as by `weald.metrics.make_topk_scorer`.
    y_weight : {array-like, sparse matrix} of the shape of y or None, default=None
        0 marks unknown values of y, in addition to those that are NaN, if y has several columns of numbers or
        labels. Fits and scores leave them out, if the estimator and the scorer do.
    **options
        `groups`, `cv`, `n_jobs`, `verbose`, `params` and `pre_dispatch`, as in scikit-learn.

    Returns
    -------
    {ndarray, sparse matrix} with n_samples rows, or tuple of ndarrays
        The predictions of the method for all samples. With "predict_topk" these are indices of labels, best first, and
        their scores, of shape (n_samples, k): the metrics of `weald.metrics` take the tuple as `y_score`. Probabilities
        of sparse labels are a dense array of shape (n_samples, n_labels).

    Raises
    ------
    ValueError
        If a sample is not in exactly one test fold, if `method` is unknown, or if `k` is given without "predict_topk";
        with it, if `k` is missing or out of range, or y is no matrix.

    Examples
    --------
    >>> from scipy import sparse
    >>> import weald
    >>> from weald.metrics import precision_at_k
    >>> from weald.model_selection import cross_val_predict
    >>> X = [[i % 4] for i in range(40)]
    >>> Y = sparse.csr_array([[x[0] == j for j in range(4)] for x in X])
    >>> cross_val_predict(weald.DecisionTreeClassifier(), X, Y, method="predict_proba").shape
    (40, 4)
    >>> best = cross_val_predict(weald.DecisionTreeClassifier(), X, Y, method="predict_topk", k=1)
    >>> precision_at_k(Y, best, k=1)
    1.0
    """
    accepted = ("predict", "predict_proba", "predict_log_proba", "decision_function")
    if not isinstance(method, str) or method not in (*accepted, "predict_topk"):
        raise ValueError(f"method must be one of {[*accepted, 'predict_topk']}, got {described(method)}")
    if method == "predict_topk":
        if k is None:
            raise ValueError("k must be a positive integer with method='predict_topk', got None")
        k = integer("k", k, 1)
    elif k is not None:
        raise ValueError(
            f"k must be None with method={method!r}, got {k!r}; it is only used with method='predict_topk'"
        )
    y, options = _prepared(estimator, y, y_weight, options)
    if k is not None:
        if len(shape := np.shape(y)) != 2:
            raise ValueError(f"y must have shape (n_samples, n_labels), got an array with {len(shape)} dimension(s)")
        found = _called(theirs.cross_val_predict, _Predicting(estimator, method, k), X, y, options)
        return np.ascontiguousarray(found["labels"]), np.ascontiguousarray(found["scores"])
    if method == "predict" or y is None:
        return _called(theirs.cross_val_predict, estimator, X, y, {**options, "method": method})
    # scikit-learn numbers the classes of each column of y: NaN would be a class, and a label that every sample has the
    # class 0. Classifiers of weald have scores of labels in one array, which need no order of classes.
    final, prefix = _innermost(estimator)
    said = final._multi_label() if isinstance(final, BaseClassifier) else "auto"
    is_own = isinstance(final, BaseClassifier | LabelsAround)
    if is_sparse(y) or said is True or (is_own and said == "auto" and targets.are_labels(y)):
        return _called(theirs.cross_val_predict, _Predicting(estimator, method), X, y, options)
    known, mask = targets.filled(y)
    if mask is not None:
        name = _in_last_step(estimator)
        y, options["params"] = known, {**(options.get("params") or {}), name: ~mask}
    if isinstance(final, BaseClassifier):
        # The numbers of two classes are 0 and 1, which would be labels.
        estimator = clone(estimator).set_params(**{f"{prefix}multi_label": False})
    return theirs.cross_val_predict(estimator, X, y, method=method, **options)


def _in_last_step(estimator: BaseEstimator) -> str:
    """The name of `y_weight` among the parameters of a fit."""
    return "y_weight" if not isinstance(estimator, Pipeline) else f"{estimator.steps[-1][0]}__y_weight"


def _innermost(estimator: BaseEstimator) -> tuple[Any, str]:
    """The estimator that predicts, in pipelines and searches, and the prefix of its parameters."""
    if isinstance(estimator, Pipeline):
        final, prefix = _innermost(estimator.steps[-1][1])
        return final, f"{estimator.steps[-1][0]}__{prefix}"
    if isinstance(estimator, BaseSearchCV | FrozenEstimator):
        final, prefix = _innermost(estimator.estimator)
        return final, f"estimator__{prefix}"
    return estimator, ""


class _Predicting(MetaEstimatorMixin, BaseEstimator):
    """An estimator whose `predict` calls another method of the estimator that it wraps, for `cross_val_predict`."""

    def __init__(self, estimator: BaseEstimator, method: str, k: int | None = None) -> None:
        self.estimator = estimator
        self.method = method
        self.k = k

    def fit(self, X: MatrixLike, y: MatrixLike, **params: object) -> _Predicting:
        self.estimator_ = clone(self.estimator).fit(X, y, **params)
        return self

    def predict(self, X: MatrixLike) -> Any:
        if self.k is None:
            return getattr(self.estimator_, self.method)(X)
        labels, scores = scorers.predict_topk(self.estimator_, X, self.k)
        # A single structured array, since scikit-learn reorders the samples of one array.
        pairs = np.empty(len(labels), dtype=[("labels", np.int64, (self.k,)), ("scores", np.float64, (self.k,))])
        pairs["labels"], pairs["scores"] = labels, scores
        return pairs

    def get_metadata_routing(self) -> MetadataRouter:
        return self.estimator.get_metadata_routing()

    def __sklearn_tags__(self) -> Tags:
        return get_tags(self.estimator)
