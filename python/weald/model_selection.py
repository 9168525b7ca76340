"""Cross-validation for multi-label data: stratified folds, and scikit-learn's functions for sparse y.

The searches of scikit-learn (`GridSearchCV`, `RandomizedSearchCV` and the halving searches) support sparse y, but its
cross-validation functions raise an error. The functions of the same names in this module call those of scikit-learn,
and also support sparse y. With dense y the results are identical.

See `docs/sparse-labels.md` for the other parts of scikit-learn that support sparse y.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from numbers import Integral
from typing import Any, Literal, TypeVar

import numpy as np
import sklearn.model_selection as theirs
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.metrics import check_scoring
from sklearn.utils import check_array, check_consistent_length, check_random_state, get_tags
from sklearn.utils.validation import _num_samples

from weald import _ranks, _stratify
from weald._scorers import predict_topk
from weald._sparse import is_sparse
from weald._types import MatrixLike, Prediction, RandomState

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
    The cost is O(m log m) for m stored entries of y, plus about a tenth of a millisecond per label. The memory is
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
        if isinstance(n_splits, bool) or not isinstance(n_splits, Integral) or n_splits < 2:
            raise ValueError(f"n_splits must be an integer of at least 2, got {n_splits!r}")
        if not isinstance(shuffle, bool | np.bool_):
            raise TypeError(f"shuffle must be True or False, got {shuffle!r}")
        if not shuffle and random_state is not None:
            raise ValueError(
                f"random_state must be None with shuffle=False, which draws no random numbers, got {random_state!r}"
            )
        self.n_splits = int(n_splits)
        self.shuffle = bool(shuffle)
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
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

    def split(self, X: Any, y: MatrixLike, groups: Any = None) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Generate the indices of the training and test samples of each fold.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or None
            The samples, of which only the number is used.
        y : {array-like, sparse matrix} of shape (n_samples, n_labels)
            Labels, 0 or 1. Unknown labels, NaN in a dense array, count as 0.
        groups : object
            Always ignored, exists for compatibility.

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
        if X is not None:
            check_consistent_length(X, y)
        fold = self._folds(y)
        for j in range(self.n_splits):
            yield np.flatnonzero(fold != j), np.flatnonzero(fold == j)

    def _folds(self, y: Any) -> NDArray[np.int64]:
        labels = _labels(y)
        n, n_labels = labels.shape
        if n < self.n_splits:
            raise ValueError(f"n_splits must be at most the number of samples, {n}, got {self.n_splits}")
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
            f"y must have shape (n_samples, n_labels), got an array with {np.ndim(y)} dimension(s); for a "
            "single column of classes use sklearn.model_selection.StratifiedKFold"
        )
    y = check_array(y, accept_sparse=True, input_name="y", ensure_all_finite="allow-nan")
    return _ranks.labels_of(y, "y")


def _signed_as(original: Callable[..., Any], **more: Any) -> Callable[[_Function], _Function]:
    """Set the signature to that of scikit-learn's function, plus the keyword parameters `more` with their defaults."""

    def shown(function: _Function) -> _Function:
        signature = inspect.signature(original)
        added = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=more[name]) for name in more]
        function.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[*signature.parameters.values(), *added]
        )
        return function

    return shown


def _on_sparse(original: Callable[..., Any], estimator: Any, X: Any, y: Any, options: dict[str, Any]) -> Any:
    """Call scikit-learn's function without its decorator, which only raises an error for sparse y.

    An integer `cv` is the number of folds of `KFold`, as in scikit-learn for multi-label y.
    """
    options = {**options, "cv": theirs.check_cv(options.get("cv"))}
    return inspect.unwrap(original)(estimator, X, y.tocsr(), **options)


@_signed_as(theirs.cross_validate)
def cross_validate(estimator: Any, X: Any, y: MatrixLike | None = None, **options: Any) -> dict[str, Any]:
    """Fit and score an estimator on each fold.

    This is `sklearn.model_selection.cross_validate`, extended to sparse y.

    Parameters
    ----------
    estimator : estimator
        The estimator to fit.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Training samples.
    y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_outputs), default=None
        Targets. Sparse y is not made dense; formats other than CSR are converted to CSR once.
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
    if not is_sparse(y):
        return dict(theirs.cross_validate(estimator, X, y, **options))
    return dict(_on_sparse(theirs.cross_validate, estimator, X, y, options))


@_signed_as(theirs.cross_val_score)
def cross_val_score(estimator: Any, X: Any, y: MatrixLike | None = None, **options: Any) -> NDArray[np.float64]:
    """Score an estimator on each fold.

    This is `sklearn.model_selection.cross_val_score`, extended to sparse y.

    Parameters
    ----------
    estimator : estimator
        The estimator to fit.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Training samples.
    y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_outputs), default=None
        Targets. Sparse y is not made dense.
    **options
        `groups`, `scoring`, `cv`, `n_jobs`, `verbose`, `params`, `pre_dispatch` and `error_score`, as in scikit-learn.

    Returns
    -------
    ndarray of shape (n_splits,)
        The score on each fold.

    Examples
    --------
    >>> from scipy import sparse
    >>> import weald
    >>> from weald.model_selection import cross_val_score
    >>> X = [[i % 4] for i in range(40)]
    >>> Y = sparse.csr_array([[x[0] == j for j in range(4)] for x in X])
    >>> cross_val_score(weald.DecisionTreeClassifier(), X, Y, cv=2)
    array([1., 1.])
    """
    if not is_sparse(y):
        return np.asarray(theirs.cross_val_score(estimator, X, y, **options))
    scorer = check_scoring(estimator, scoring=options.pop("scoring", None))
    found = cross_validate(estimator, X, y, **options, scoring={"score": scorer})
    return np.asarray(found["test_score"])


@_signed_as(theirs.cross_val_predict, k=None)
def cross_val_predict(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    method: Literal["predict", "predict_proba", "predict_log_proba", "decision_function", "predict_topk"] = "predict",
    k: int | None = None,
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
    y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_outputs), default=None
        Targets. Sparse y is not made dense.
    method : str, default="predict"
        The method to predict with: "predict", "predict_proba", "predict_log_proba", "decision_function" or
        "predict_topk".
    k : int, default=None
        The number of labels per sample. Required with "predict_topk", and must be None with all other methods.
    **options
        `groups`, `cv`, `n_jobs`, `verbose`, `params` and `pre_dispatch`, as in scikit-learn.

    Returns
    -------
    {ndarray, sparse matrix} with n_samples rows, or tuple of ndarrays
        The predictions of the method for all samples. With "predict_topk" these are labels and scores, see
        `cross_val_predict_topk`. Probabilities of sparse labels are a dense array of shape (n_samples, n_labels).

    Raises
    ------
    ValueError
        If a sample is not in exactly one test fold, if `k` is given without "predict_topk" or missing with it, or if
        `method` is unknown.

    Examples
    --------
    >>> from scipy import sparse
    >>> import weald
    >>> from weald.model_selection import cross_val_predict
    >>> X = [[i % 4] for i in range(40)]
    >>> Y = sparse.csr_array([[x[0] == j for j in range(4)] for x in X])
    >>> cross_val_predict(weald.DecisionTreeClassifier(), X, Y, method="predict_proba").shape
    (40, 4)
    """
    if method == "predict_topk":
        if k is None:
            raise ValueError("k must be a positive integer with method='predict_topk', got None")
        return cross_val_predict_topk(estimator, X, y, k, **options)
    if k is not None:
        raise ValueError(
            f"k must be None with method={method!r}, got {k!r}; it is only used with method='predict_topk'"
        )
    if not is_sparse(y):
        return theirs.cross_val_predict(estimator, X, y, method=method, **options)
    accepted = ("predict", "predict_proba", "predict_log_proba", "decision_function")
    if method not in accepted:
        raise ValueError(f"method must be one of {[*accepted, 'predict_topk']}, got {method!r}")
    if method != "predict":
        estimator = _Predicting(estimator, method)
    return _on_sparse(theirs.cross_val_predict, estimator, X, y, options)


def cross_val_predict_topk(
    estimator: Any, X: Any, y: MatrixLike, k: int, **options: Any
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Predict the `k` highest-scoring labels of each sample by a model that was fitted on the other folds.

    Parameters
    ----------
    estimator : estimator
        A classifier with `predict_topk`, or a pipeline that ends with one. Other classifiers are supported as described
        in `weald.metrics.make_topk_scorer`.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Training samples.
    y : {array-like, sparse matrix} of shape (n_samples, n_labels)
        Labels, 0 or 1. Sparse labels are not made dense.
    k : int
        The number of labels per sample, from 1 to the number of labels.
    **options
        `groups`, `cv`, `n_jobs`, `verbose`, `params` and `pre_dispatch`, as in
        `sklearn.model_selection.cross_val_predict`.

    Returns
    -------
    indices : int64 ndarray of shape (n_samples, k)
        Indices of the labels, best first. The metrics in `weald.metrics` accept the returned tuple as `y_score`.
    scores : float64 ndarray of shape (n_samples, k)
        The scores of these labels.

    Raises
    ------
    ValueError
        If a sample is not in exactly one test fold, `y` is not a label matrix, or `k` is out of range.

    Examples
    --------
    >>> from scipy import sparse
    >>> import weald
    >>> from weald.metrics import precision_at_k
    >>> from weald.model_selection import MultilabelStratifiedKFold, cross_val_predict_topk
    >>> X = [[i % 4] for i in range(40)]
    >>> Y = sparse.csr_array([[x[0] == j for j in range(4)] for x in X])
    >>> found = cross_val_predict_topk(weald.DecisionTreeClassifier(), X, Y, k=1, cv=MultilabelStratifiedKFold(2))
    >>> precision_at_k(Y, found, k=1)
    1.0
    """
    if isinstance(k, bool) or not isinstance(k, Integral) or k < 1:
        raise ValueError(f"k must be a positive integer, got {k!r}")
    if not is_sparse(y):
        if np.ndim(y) != 2:
            raise ValueError(f"y must have shape (n_samples, n_labels), got an array with {np.ndim(y)} dimension(s)")
        found = theirs.cross_val_predict(_Predicting(estimator, "predict_topk", int(k)), X, y, **options)
    else:
        found = _on_sparse(theirs.cross_val_predict, _Predicting(estimator, "predict_topk", int(k)), X, y, options)
    return np.ascontiguousarray(found["labels"]), np.ascontiguousarray(found["scores"])


class _Predicting(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """An estimator whose `predict` calls another method of the estimator that it wraps, for `cross_val_predict`."""

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
        # A single structured array, since scikit-learn reorders the samples of one array.
        pairs = np.empty(len(labels), dtype=[("labels", np.int64, (self.k,)), ("scores", np.float64, (self.k,))])
        pairs["labels"], pairs["scores"] = labels, scores
        return pairs

    def get_metadata_routing(self) -> Any:
        return self.estimator.get_metadata_routing()

    def __sklearn_tags__(self) -> Any:
        return get_tags(self.estimator)


@_signed_as(theirs.learning_curve)
def learning_curve(estimator: Any, X: Any, y: MatrixLike, **options: Any) -> tuple[NDArray[Any], ...]:
    """Compute cross-validated scores for training sets of different sizes.

    This is `sklearn.model_selection.learning_curve`, extended to sparse y.

    Parameters
    ----------
    estimator : estimator
        The estimator to fit.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Training samples.
    y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_outputs)
        Targets. Sparse y is not made dense.
    **options
        All other parameters of the function in scikit-learn. `exploit_incremental_learning=True` does not support
        sparse y.

    Returns
    -------
    train_sizes, train_scores, test_scores : ndarray
        Training set sizes and scores, and with `return_times=True` also times, as in scikit-learn.

    Examples
    --------
    >>> from scipy import sparse
    >>> import weald
    >>> from weald.model_selection import learning_curve
    >>> X = [[i % 4] for i in range(40)]
    >>> Y = sparse.csr_array([[x[0] == j for j in range(4)] for x in X])
    >>> sizes, _, scores = learning_curve(weald.DecisionTreeClassifier(), X, Y, cv=2, train_sizes=[4, 20])
    >>> scores.shape
    (2, 2)
    """
    if not is_sparse(y):
        return tuple(theirs.learning_curve(estimator, X, y, **options))
    if options.get("exploit_incremental_learning"):
        raise ValueError("exploit_incremental_learning=True does not support sparse y: it must be False, or y dense")
    return tuple(_on_sparse(theirs.learning_curve, estimator, X, y, options))


@_signed_as(theirs.validation_curve)
def validation_curve(estimator: Any, X: Any, y: MatrixLike, **options: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Compute cross-validated training and test scores for different values of one parameter.

    This is `sklearn.model_selection.validation_curve`, extended to sparse y.

    Parameters
    ----------
    estimator : estimator
        The estimator to fit.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Training samples.
    y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_outputs)
        Targets. Sparse y is not made dense.
    **options
        `param_name`, `param_range` and all other parameters of the function in scikit-learn.

    Returns
    -------
    train_scores : ndarray of shape (n_values, n_splits)
        Scores on the training sets.
    test_scores : ndarray of shape (n_values, n_splits)
        Scores on the test sets.

    Examples
    --------
    >>> from scipy import sparse
    >>> import weald
    >>> from weald.model_selection import validation_curve
    >>> X = [[i % 4] for i in range(40)]
    >>> Y = sparse.csr_array([[x[0] == j for j in range(4)] for x in X])
    >>> tree = weald.DecisionTreeClassifier()
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
    estimator: Any, X: Any, y: MatrixLike, *, groups: ArrayLike | None = None, **options: Any
) -> tuple[float, NDArray[np.float64], float]:
    """Test the significance of a cross-validated score with permutations of y.

    This is `sklearn.model_selection.permutation_test_score`, extended to sparse y. Whole rows of y are permuted, so
    correlations between labels are preserved.

    Parameters
    ----------
    estimator : estimator
        The estimator to fit.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Training samples.
    y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_outputs)
        Targets. Sparse y is not made dense.
    groups : array-like of shape (n_samples,), default=None
        Groups of the samples. If given, y is permuted within groups.
    **options
        `cv`, `n_permutations`, `n_jobs`, `random_state`, `verbose`, `scoring` and `params`, as in scikit-learn.

    Returns
    -------
    score : float
        The score without permutation, averaged over folds.
    permutation_scores : ndarray of shape (n_permutations,)
        The score for each permutation.
    pvalue : float
        The p-value: an estimate of the probability of a score at least as good if X and y were independent.

    Examples
    --------
    >>> from scipy import sparse
    >>> import weald
    >>> from weald.model_selection import permutation_test_score
    >>> X = [[i % 4] for i in range(40)]
    >>> Y = sparse.csr_array([[x[0] == j for j in range(4)] for x in X])
    >>> tree = weald.DecisionTreeClassifier(random_state=0)
    >>> score, _, pvalue = permutation_test_score(tree, X, Y, cv=2, n_permutations=9, random_state=0)
    >>> print(score, pvalue)
    1.0 0.1
    """
    if not is_sparse(y):
        score, of_permuted, pvalue = theirs.permutation_test_score(estimator, X, y, groups=groups, **options)
        return score, of_permuted, pvalue
    options = {**options, "cv": theirs.check_cv(options.get("cv"))}
    if groups is None:
        # Without groups scikit-learn calls len(y), which sparse matrices do not support; with one group it does not.
        groups, options["cv"] = np.zeros(_num_samples(y), dtype=np.int64), _WithoutGroups(options["cv"])
    options["groups"] = groups
    score, of_permuted, pvalue = _on_sparse(theirs.permutation_test_score, estimator, X, y, options)
    return score, of_permuted, pvalue


class _WithoutGroups:
    """A splitter to which groups are not passed."""

    def __init__(self, cv: Any) -> None:
        self.cv = cv

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        return int(self.cv.get_n_splits(X, y))

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Any:
        return self.cv.split(X, y)
