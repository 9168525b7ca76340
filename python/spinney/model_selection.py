"""Cross-validation for labels: folds in which each label is as frequent as in all rows, and helpers for sparse y.

scikit-learn's searches (`GridSearchCV`, `RandomizedSearchCV`, the halving ones) take sparse y as they are; its
functions for cross-validation refuse it. Those of the same names here are scikit-learn's, and take it. With dense y
they are the same.

`docs/sparse-labels.md` says what else of scikit-learn takes sparse y.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from numbers import Integral
from typing import Any, TypeVar

import numpy as np
import sklearn.model_selection as theirs
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.metrics import check_scoring
from sklearn.utils import check_array, check_consistent_length, check_random_state, get_tags

from spinney import _ranks, _stratify
from spinney._scorers import predict_topk
from spinney._sparse import is_sparse

__all__ = [
    "MultilabelStratifiedKFold",
    "cross_val_predict",
    "cross_val_predict_topk",
    "cross_val_score",
    "cross_validate",
    "learning_curve",
    "permutation_test_score",
    "validation_curve",
]

_Function = TypeVar("_Function", bound=Callable[..., Any])


class MultilabelStratifiedKFold(theirs.BaseCrossValidator):  # type: ignore[misc]
    """Folds in which each label is about as frequent as in all rows.

    Iterative stratification, of Sechidis, Tsoumakas and Vlahavas, On the stratification of multi-label data, ECML PKDD
    2011: labels are dealt out from the rarest to the most frequent, each row to the fold that has the fewest rows of
    the label, among these to the one with the fewest rows. Rows without labels come last. Rows that went with a rarer
    label are not moved, so that frequencies are near those of all rows but need not be the nearest possible, and a
    label of fewer rows than folds is missing in some. Folds need not have one size, but none is empty.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2.
    shuffle : bool, default=False
        Whether rows, and labels of equally many remaining rows, are dealt out in an order that is drawn. Without it
        they are in theirs.
    random_state : int, RandomState instance or None, default=None
        Of the order that is drawn. An integer gives the same folds in each call of `split`, as `HalvingGridSearchCV`
        needs. None without `shuffle`.

    Raises
    ------
    ValueError
        When a parameter is out of range, or `random_state` is given without `shuffle`.

    Notes
    -----
    The cost is O(entries log entries) and about a tenth of a millisecond for each label; memory is n_splits integers
    for each label.

    Examples
    --------
    >>> from scipy import sparse
    >>> from spinney.model_selection import MultilabelStratifiedKFold
    >>> Y = sparse.csr_array([[1, 0], [1, 0], [1, 1], [1, 1], [0, 0], [0, 0]])
    >>> for train, test in MultilabelStratifiedKFold(n_splits=2).split(Y, Y):
    ...     print(test, Y[test].sum(axis=0))
    [0 2 4] [2 1]
    [1 3 5] [2 1]
    """

    n_splits: int
    shuffle: bool
    random_state: Any

    def __init__(self, n_splits: int = 5, *, shuffle: bool = False, random_state: Any = None) -> None:
        if isinstance(n_splits, bool) or not isinstance(n_splits, Integral) or n_splits < 2:
            raise ValueError(f"n_splits is {n_splits!r}, accepted: an integer from 2")
        if not isinstance(shuffle, bool | np.bool_):
            raise TypeError(f"shuffle is {shuffle!r}, accepted: True or False")
        if not shuffle and random_state is not None:
            raise ValueError(f"random_state is {random_state!r}, but shuffle=False draws nothing, accepted: None")
        self.n_splits = int(n_splits)
        self.shuffle = bool(shuffle)
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return `n_splits`; the arguments are ignored."""
        return self.n_splits

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Yield the rows to train on and those to test on, for each fold.

        Parameters
        ----------
        X : array-like or sparse matrix of n_samples rows
            Only the number of rows matters.
        y : {array-like, sparse matrix} of shape (n_samples, n_labels)
            Labels, 0 or 1, in any format. NaN in a dense array, a label that is not known, counts as 0.
        groups : object
            Ignored.

        Yields
        ------
        train, test : ndarray of ints
            In rising order.

        Raises
        ------
        ValueError
            When `y` is not labels or has other rows than `X`, or there are fewer rows than folds.
        """
        if X is not None:
            check_consistent_length(X, y)
        fold = self._folds(y)
        for j in range(self.n_splits):
            yield np.flatnonzero(fold != j), np.flatnonzero(fold == j)

    def _folds(self, y: Any) -> NDArray[np.int64]:
        labels = _labels(y)
        n, n_labels = labels.shape
        if n < self.n_splits:
            raise ValueError(f"n_splits is {self.n_splits}, but y has {n} rows, accepted: at most so many")
        if not self.shuffle:
            return _stratify.folds(labels, self.n_splits, np.arange(n_labels))
        rng = check_random_state(self.random_state)
        order, priority = rng.permutation(n), rng.permutation(n_labels)
        fold = np.empty(n, dtype=np.int64)
        fold[order] = _stratify.folds(labels[order], self.n_splits, priority)
        return fold


def _labels(y: Any) -> sparse.csr_array:
    if not is_sparse(y) and np.ndim(y) != 2:
        raise ValueError(
            f"y has {np.ndim(y)} dimension(s), accepted: labels of shape (n_samples, n_labels); for one column of "
            "classes use sklearn.model_selection.StratifiedKFold"
        )
    y = check_array(y, accept_sparse=True, input_name="y", ensure_all_finite="allow-nan")
    return _ranks.labels_of(y, "y")


def _signed_as(original: Callable[..., Any], **more: Any) -> Callable[[_Function], _Function]:
    """Shows the parameters of scikit-learn's function, whose options are passed on, and `more` with their defaults."""

    def shown(function: _Function) -> _Function:
        signature = inspect.signature(original)
        added = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=more[name]) for name in more]
        function.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[*signature.parameters.values(), *added]
        )
        return function

    return shown


def _on_sparse(original: Callable[..., Any], estimator: Any, X: Any, y: Any, options: dict[str, Any]) -> Any:
    """Call scikit-learn's function, past the check that refuses sparse y and does nothing else.

    Integers as `cv` are as many folds of `KFold`, as scikit-learn has it for labels.
    """
    options = {**options, "cv": theirs.check_cv(options.get("cv"))}
    return inspect.unwrap(original)(estimator, X, y.tocsr(), **options)


@_signed_as(theirs.cross_validate)
def cross_validate(estimator: Any, X: Any, y: Any = None, **options: Any) -> dict[str, Any]:
    """Fit and score an estimator on each fold: `sklearn.model_selection.cross_validate`, for sparse y too.

    Parameters
    ----------
    estimator : estimator
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
    y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_labels), default=None
        Sparse labels stay sparse; CSR is used as it is, other formats are converted once.
    **options
        `groups`, `scoring`, `cv`, `n_jobs`, `verbose`, `params`, `pre_dispatch`, `return_train_score`,
        `return_estimator`, `return_indices`, `error_score`, as there. `scoring` may be of
        `spinney.metrics.make_topk_scorer`, `cv` a `MultilabelStratifiedKFold`.

    Returns
    -------
    dict of arrays
        "test_score", or `"test_"` and the name of each scorer, "fit_time", "score_time" and what is asked for, as
        there.

    Examples
    --------
    >>> from scipy import sparse
    >>> import spinney
    >>> from spinney.metrics import make_topk_scorer
    >>> from spinney.model_selection import cross_validate
    >>> X = [[i % 4] for i in range(40)]
    >>> Y = sparse.csr_array([[x[0] == j for j in range(4)] for x in X])
    >>> scoring = {"p@1": make_topk_scorer("precision_at_k", k=1), "f1": "f1_micro"}
    >>> found = cross_validate(spinney.DecisionTreeClassifier(), X, Y, cv=2, scoring=scoring)
    >>> found["test_p@1"], found["test_f1"]
    (array([1., 1.]), array([1., 1.]))
    """
    if not is_sparse(y):
        return dict(theirs.cross_validate(estimator, X, y, **options))
    return dict(_on_sparse(theirs.cross_validate, estimator, X, y, options))


@_signed_as(theirs.cross_val_score)
def cross_val_score(estimator: Any, X: Any, y: Any = None, **options: Any) -> NDArray[np.float64]:
    """The score of an estimator on each fold: `sklearn.model_selection.cross_val_score`, for sparse y too.

    Parameters
    ----------
    estimator : estimator
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
    y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_labels), default=None
    **options
        `groups`, `scoring`, `cv`, `n_jobs`, `verbose`, `params`, `pre_dispatch`, `error_score`, as there.

    Returns
    -------
    ndarray of floats of shape (n_splits,)

    Examples
    --------
    >>> from scipy import sparse
    >>> import spinney
    >>> from spinney.model_selection import cross_val_score
    >>> X = [[i % 4] for i in range(40)]
    >>> Y = sparse.csr_array([[x[0] == j for j in range(4)] for x in X])
    >>> cross_val_score(spinney.DecisionTreeClassifier(), X, Y, cv=2)
    array([1., 1.])
    """
    if not is_sparse(y):
        return np.asarray(theirs.cross_val_score(estimator, X, y, **options))
    scorer = check_scoring(estimator, scoring=options.pop("scoring", None))
    found = cross_validate(estimator, X, y, **options, scoring={"score": scorer})
    return np.asarray(found["test_score"])


@_signed_as(theirs.cross_val_predict, k=None)
def cross_val_predict(
    estimator: Any, X: Any, y: Any = None, *, method: str = "predict", k: int | None = None, **options: Any
) -> Any:
    """Predictions for each row by a model that was fitted without its fold, for sparse y too.

    `sklearn.model_selection.cross_val_predict`, which refuses sparse y but for `method="predict"`.

    Parameters
    ----------
    estimator : estimator
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
    y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_labels), default=None
    method : str, default="predict"
        "predict", "predict_proba", "predict_log_proba", "decision_function" or "predict_topk".
    k : int, default=None
        Of "predict_topk" alone.
    **options
        `groups`, `cv`, `n_jobs`, `verbose`, `params`, `pre_dispatch`, as there.

    Returns
    -------
    ndarray or sparse matrix of n_samples rows, or tuple of arrays
        What the method returns for all rows; with "predict_topk" labels and scores, see `cross_val_predict_topk`.
        Probabilities of sparse labels are dense, n_samples × n_labels.

    Raises
    ------
    ValueError
        When test folds do not have each row once, or `k` is given without "predict_topk" or missing with it.

    Examples
    --------
    >>> from scipy import sparse
    >>> import spinney
    >>> from spinney.model_selection import cross_val_predict
    >>> X = [[i % 4] for i in range(40)]
    >>> Y = sparse.csr_array([[x[0] == j for j in range(4)] for x in X])
    >>> cross_val_predict(spinney.DecisionTreeClassifier(), X, Y, method="predict_proba").shape
    (40, 4)
    """
    if method == "predict_topk":
        if k is None:
            raise ValueError("k is None, accepted with method='predict_topk': a positive integer")
        return cross_val_predict_topk(estimator, X, y, k, **options)
    if k is not None:
        raise ValueError(f"k is {k!r}, but method is {method!r}, accepted: None, or method='predict_topk'")
    if not is_sparse(y):
        return theirs.cross_val_predict(estimator, X, y, method=method, **options)
    accepted = ("predict", "predict_proba", "predict_log_proba", "decision_function")
    if method not in accepted:
        raise ValueError(f"method is {method!r}, accepted: one of {[*accepted, 'predict_topk']}")
    if method != "predict":
        estimator = _Predicting(estimator, method)
    return _on_sparse(theirs.cross_val_predict, estimator, X, y, options)


def cross_val_predict_topk(
    estimator: Any, X: Any, y: Any, k: int, **options: Any
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The `k` best labels of each row, of a model that was fitted without its fold.

    Parameters
    ----------
    estimator : estimator
        With `predict_topk`, or a pipeline that ends with one; see `spinney.metrics.make_topk_scorer` for others.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
    y : {array-like, sparse matrix} of shape (n_samples, n_labels)
    k : int
        From 1 to the number of labels.
    **options
        `groups`, `cv`, `n_jobs`, `verbose`, `params`, `pre_dispatch`, of `sklearn.model_selection.cross_val_predict`.

    Returns
    -------
    indices : int64 ndarray of shape (n_samples, k)
        Labels, the best first: the functions of `spinney.metrics` take the tuple as `y_score`.
    scores : float64 ndarray of shape (n_samples, k)

    Raises
    ------
    ValueError
        When test folds do not have each row once, `y` is not labels, or `k` is out of range.

    Examples
    --------
    >>> from scipy import sparse
    >>> import spinney
    >>> from spinney.metrics import precision_at_k
    >>> from spinney.model_selection import MultilabelStratifiedKFold, cross_val_predict_topk
    >>> X = [[i % 4] for i in range(40)]
    >>> Y = sparse.csr_array([[x[0] == j for j in range(4)] for x in X])
    >>> found = cross_val_predict_topk(spinney.DecisionTreeClassifier(), X, Y, k=1, cv=MultilabelStratifiedKFold(2))
    >>> precision_at_k(Y, found, k=1)
    1.0
    """
    if isinstance(k, bool) or not isinstance(k, Integral) or k < 1:
        raise ValueError(f"k is {k!r}, accepted: a positive integer")
    if not is_sparse(y):
        if np.ndim(y) != 2:
            raise ValueError(f"y has {np.ndim(y)} dimension(s), accepted: labels of shape (n_samples, n_labels)")
        found = theirs.cross_val_predict(_Predicting(estimator, "predict_topk", int(k)), X, y, **options)
    else:
        found = _on_sparse(theirs.cross_val_predict, _Predicting(estimator, "predict_topk", int(k)), X, y, options)
    return np.ascontiguousarray(found["labels"]), np.ascontiguousarray(found["scores"])


class _Predicting(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """An estimator whose `predict` is another method of the one that it fits, for `cross_val_predict`."""

    def __init__(self, estimator: Any, method: str, k: int | None = None) -> None:
        self.estimator = estimator
        self.method = method
        self.k = k

    def fit(self, X: Any, y: Any, **params: Any) -> _Predicting:
        self.estimator_ = clone(self.estimator).fit(X, y, **params)
        return self

    def predict(self, X: Any) -> Any:
        if self.k is None:
            return getattr(self.estimator_, self.method)(X)
        labels, scores = predict_topk(self.estimator_, X, self.k)
        # One array of rows, as rows are put in order there.
        pairs = np.empty(len(labels), dtype=[("labels", np.int64, (self.k,)), ("scores", np.float64, (self.k,))])
        pairs["labels"], pairs["scores"] = labels, scores
        return pairs

    def get_metadata_routing(self) -> Any:
        return self.estimator.get_metadata_routing()

    def __sklearn_tags__(self) -> Any:
        return get_tags(self.estimator)


@_signed_as(theirs.learning_curve)
def learning_curve(estimator: Any, X: Any, y: Any, **options: Any) -> tuple[NDArray[Any], ...]:
    """Scores of training on more and more rows: `sklearn.model_selection.learning_curve`, for sparse y too.

    Parameters
    ----------
    estimator : estimator
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
    y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_labels)
    **options
        All others, as there. `exploit_incremental_learning` needs dense y.

    Returns
    -------
    train_sizes, train_scores, test_scores : ndarrays
        And times with `return_times`, as there.

    Examples
    --------
    >>> from scipy import sparse
    >>> import spinney
    >>> from spinney.model_selection import learning_curve
    >>> X = [[i % 4] for i in range(40)]
    >>> Y = sparse.csr_array([[x[0] == j for j in range(4)] for x in X])
    >>> sizes, _, scores = learning_curve(spinney.DecisionTreeClassifier(), X, Y, cv=2, train_sizes=[4, 20])
    >>> scores.shape
    (2, 2)
    """
    if not is_sparse(y):
        return tuple(theirs.learning_curve(estimator, X, y, **options))
    if options.get("exploit_incremental_learning"):
        raise ValueError("exploit_incremental_learning is True, but y is sparse, accepted: False, or dense y")
    return tuple(_on_sparse(theirs.learning_curve, estimator, X, y, options))


@_signed_as(theirs.validation_curve)
def validation_curve(estimator: Any, X: Any, y: Any, **options: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Scores for values of one parameter: `sklearn.model_selection.validation_curve`, for sparse y too.

    Parameters
    ----------
    estimator : estimator
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
    y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_labels)
    **options
        `param_name`, `param_range` and all others, as there.

    Returns
    -------
    train_scores, test_scores : ndarrays of shape (n_values, n_splits)

    Examples
    --------
    >>> from scipy import sparse
    >>> import spinney
    >>> from spinney.model_selection import validation_curve
    >>> X = [[i % 4] for i in range(40)]
    >>> Y = sparse.csr_array([[x[0] == j for j in range(4)] for x in X])
    >>> tree = spinney.DecisionTreeClassifier()
    >>> _, scores = validation_curve(tree, X, Y, cv=2, param_name="max_depth", param_range=[1, 3])
    >>> scores[1]
    array([1., 1.])
    """
    if is_sparse(y):
        train, test = _on_sparse(theirs.validation_curve, estimator, X, y, options)
    else:
        train, test = theirs.validation_curve(estimator, X, y, **options)
    return train, test


@_signed_as(theirs.permutation_test_score)
def permutation_test_score(
    estimator: Any, X: Any, y: Any, *, groups: Any = None, **options: Any
) -> tuple[float, NDArray[np.float64], float]:
    """How probable scores as good are without a relation of y to X, for sparse y too.

    `sklearn.model_selection.permutation_test_score`. The rows of labels are permuted as they are.

    Parameters
    ----------
    estimator : estimator
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
    y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_labels)
    groups : array-like of shape (n_samples,), default=None
        Rows are permuted within groups.
    **options
        `cv`, `n_permutations`, `n_jobs`, `random_state`, `verbose`, `scoring`, `params`, as there.

    Returns
    -------
    score : float
        The mean over folds.
    permutation_scores : ndarray of shape (n_permutations,)
    pvalue : float

    Examples
    --------
    >>> from scipy import sparse
    >>> import spinney
    >>> from spinney.model_selection import permutation_test_score
    >>> X = [[i % 4] for i in range(40)]
    >>> Y = sparse.csr_array([[x[0] == j for j in range(4)] for x in X])
    >>> tree = spinney.DecisionTreeClassifier(random_state=0)
    >>> score, _, pvalue = permutation_test_score(tree, X, Y, cv=2, n_permutations=9, random_state=0)
    >>> print(score, pvalue)
    1.0 0.1
    """
    if not is_sparse(y):
        score, of_permuted, pvalue = theirs.permutation_test_score(estimator, X, y, groups=groups, **options)
        return score, of_permuted, pvalue
    options = {**options, "cv": theirs.check_cv(options.get("cv"))}
    if groups is None:
        # Without groups scikit-learn asks for len(y), which sparse matrices have not; in one group for its rows.
        groups, options["cv"] = np.zeros(y.shape[0], dtype=np.int64), _WithoutGroups(options["cv"])
    options["groups"] = groups
    score, of_permuted, pvalue = _on_sparse(theirs.permutation_test_score, estimator, X, y, options)
    return score, of_permuted, pvalue


class _WithoutGroups:
    """A splitter that is not told of groups."""

    def __init__(self, cv: Any) -> None:
        self.cv = cv

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        return int(self.cv.get_n_splits(X, y))

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Any:
        return self.cv.split(X, y)
