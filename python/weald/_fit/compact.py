"""Smaller models with the same or nearly the same predictions."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Literal, TypedDict

import numpy as np
from sklearn.utils.validation import check_is_fitted

from weald import _weald
from weald._fit.arrays import Tree
from weald._fit.bagging import BaseBagging
from weald._fit.boosting import BaseBoosting
from weald._fit.compression import BaseCompressed
from weald._fit.forest import BaseForest
from weald._fit.tree import BaseTree
from weald._input import checks
from weald._input.described import described
from weald._input.sparse import is_sparse

if TYPE_CHECKING:
    from weald._fit.base import BaseModel

__all__ = ["CompactReport", "compact_leaves"]

# Predictions are compared in blocks of about this number of scores, which is 64 MiB.
_BLOCK_SCORES = 1 << 23


class CompactReport(TypedDict):
    """The result of `compact_leaves`.

    Attributes
    ----------
    n_bytes_before, n_bytes_after : int
        Size of the model file in bytes.
    max_change : float
        Upper bound of the change of any prediction, or predicted probability, for any sample, except for rounding of
        sums (a relative error of about 1e-16). It is the mean over the trees of the largest change of a leaf value; for
        boosted models, it is the sum over the stages. It is computed from all leaves.
    max_change_on_X : float or None
        Largest change of a prediction for the samples in `X`; None if `X` was not given.
    """

    n_bytes_before: int
    n_bytes_after: int
    max_change: float
    max_change_on_X: float | None


def compact_leaves(
    estimator: BaseModel,
    *,
    top_k: int | None = None,
    dtype: Literal["float32", "float16", "int8"] | None = None,
    max_change: float | None = None,
    training_data: tuple[Any, ...] | None = None,
    X: Any = None,
) -> tuple[Any, CompactReport]:
    """Reduce the size of the leaves of a tree, forest, compressed forest or boosted model. The splits do not change.

    Parameters
    ----------
    estimator : fitted tree, forest, compressed forest or boosted model of weald
        The model, which is not changed.
    top_k : int, default=None
        Maximum number of labels, or of classes of each output, to keep in each leaf: those with the largest
        frequencies, and of equal ones the first. The frequencies of the others become zero, and those of the kept ones
        do not change. Not supported for numerical outputs, or for compressed and boosted models, whose leaves hold
        corrections that all count.
    dtype : {"float32", "float16", "int8"}, default=None
        Type of the leaf values. Predictions are still sums in float64.

        - "float32", "float16": each value changes by at most 2**-24 (float32) or 2**-11 (float16) of the largest
          absolute value in its column of its tree. If a column exceeds the range of the type, it is divided by a power
          of two. Counts of weights that are whole numbers stay exact if they take no more bytes than the type. The
          impurities of nodes, from which importances are computed, are rounded to the same type, or to float32 if they
          exceed the range of float16.
        - "int8": leaves hold integers from -127 to 127, times a power of two for each leaf. Each value changes by at
          most 1/127 of the largest absolute value in its leaf. For numerical outputs, boosted models and compressed
          models, and not for frequencies. The sum over hundreds of stages hardly changes.
    max_change : float, default=None
        Only for boosted models: maximum change of any score of any sample (`decision_function`, or the prediction of a
        regressor). Leaf values up to `max_change` / k, for k stages, are removed. If most values of a leaf are removed,
        the leaf stores only the columns of the others, which makes it smaller and predictions faster. It has no effect
        on models with `relabel_leaves=False`, whose leaves hold one value each.
    training_data : (X, y) or (X, y, sample_weight), default=None
        The data that `estimator` was fitted to. Leaves then store the lists of their training samples, and y is stored
        once for all trees instead of in each tree. This is exact, and much smaller if y has many columns. To find the
        samples of each leaf, bootstrap samples are drawn again and pass through the trees. With `dtype`, the values of
        y are rounded instead of those of leaves, by the same fraction of the largest absolute value in the column of y.
        Not supported for compressed and boosted models, or for trees with `criterion="absolute_error"`, whose leaves
        are not means of samples.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
        Samples for which to measure the change of the predictions.

    Returns
    -------
    compact : estimator of the same class
        A copy of `estimator` with smaller leaves, which shares all other attributes with it.
    report : dict
        `n_bytes_before`, `n_bytes_after`, `max_change` and `max_change_on_X`, as in `CompactReport`.

    Raises
    ------
    NotFittedError
        If `estimator` is not fitted.
    TypeError
        If `estimator` is not a tree, forest, compressed forest or boosted model of weald, or if it is a boosted model
        with `estimator`.
    ValueError
        If an argument is invalid; the message names it. `training_data` is invalid if it does not have the shape and
        the outputs of the data of the fit, or if it does not reproduce the leaves, for example because parameters of
        the estimator have changed since.

    Notes
    -----
    It takes O(size of the model) time. With `training_data`, it takes O(n_samples · trees · depth) and about six bytes
    of memory for each sample and tree.

    With `training_data`, a prediction adds the labels of the samples in each leaf that is reached. It is as fast as
    before for leaves of one sample, and takes one step for each label of the samples for larger leaves. Numerical
    outputs of large leaves are averaged again for each prediction, which takes samples times outputs steps: `dtype` is
    then preferable.

    For a compressed or boosted model, `max_change` and `max_change_on_X` refer to scores (`decision_function`), before
    they become probabilities or exponentials. The smaller model of a compressed forest has no path. With `warm_start`,
    training continues from the scores of the smaller model.

    With `training_data`, a model file contains y, without the samples that no tree has drawn.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> import weald
    >>> X, Y = make_multilabel_classification(500, n_classes=60, n_labels=9, random_state=0)
    >>> forest = weald.RandomForestClassifier(random_state=0).fit(X, Y)
    >>> small, report = weald.compression.compact_leaves(forest, training_data=(X, Y), X=X)
    >>> bool(report["n_bytes_after"] < report["n_bytes_before"] / 2)
    True
    >>> report["max_change"], report["max_change_on_X"]
    (0.0, 0.0)
    """
    if not isinstance(estimator, (BaseForest, BaseTree, BaseCompressed, BaseBoosting)):
        hint = ""
        if isinstance(estimator, BaseBagging):
            hint = "; a centroid forest is smaller with a larger max_leaf_samples or min_centroid_weight"
        accepted = "a tree, forest, compressed forest or boosting model of weald"
        raise TypeError(f"estimator must be {accepted}, got a {type(estimator).__name__}{hint}")
    check_is_fitted(estimator)
    if isinstance(estimator, BaseBoosting) and estimator._weak is not None:
        raise TypeError(f"estimator must have trees, got a {type(estimator).__name__} with estimator=, which has none")
    if top_k is not None:
        checks.integer("top_k", top_k, 1, also=", or None")
    if dtype is not None and (not isinstance(dtype, str) or dtype not in ("float32", "float16", "int8")):
        raise ValueError(f'dtype must be None, "float32", "float16" or "int8", got {dtype!r}')
    if top_k is not None and training_data is not None:
        raise ValueError("top_k is not supported with training_data: one of them must be None")
    if max_change is not None:
        accepted = "None or a finite number of at least 0"
        max_change = checks.number("max_change", max_change, lambda found: 0 <= found < np.inf, accepted)
        if not isinstance(estimator, BaseBoosting):
            raise ValueError(f"max_change is only supported for boosted models: it must be None, got {max_change!r}")
    if isinstance(estimator, BaseBoosting):
        return _compact_stages(estimator, top_k, dtype, max_change, training_data, X)
    if isinstance(estimator, BaseCompressed):
        return _compact_scores(estimator, top_k, dtype, training_data, X)
    forest, n_threads = estimator._forest, estimator._n_threads()
    compact = forest
    if training_data is not None:
        compact = _with_stored_rows(estimator, training_data)
    if top_k is not None:
        compact = compact.with_top_k(min(int(top_k), forest.width), n_threads)
    if dtype is not None:
        compact = compact.with_precision(dtype, n_threads)
    report = CompactReport(
        n_bytes_before=len(forest.to_bytes()),
        n_bytes_after=len(compact.to_bytes()),
        max_change=forest.largest_change(compact, n_threads),
        max_change_on_X=None if X is None else _change_on(estimator, compact, X),
    )
    result = copy.copy(estimator)
    if isinstance(result, BaseTree):
        result.tree_ = Tree(compact)
    else:
        result._forest = compact
    return result, report


def _compact_scores(
    model: BaseModel, top_k: int | None, dtype: Any, training_data: Any, X: Any
) -> tuple[Any, CompactReport]:
    """`compact_leaves` of a compressed forest."""
    for name, value in (("top_k", top_k), ("training_data", training_data)):
        if value is not None:
            raise ValueError(
                f"{name} is not supported for compressed forests, whose leaves are corrections: it must be None"
            )
    before, n_threads = model._model, model._n_threads()
    after = before if dtype is None else before.with_precision(dtype, n_threads)
    report = CompactReport(
        n_bytes_before=len(before.to_bytes()),
        n_bytes_after=len(after.to_bytes()),
        max_change=before.forest.largest_change(after.forest, n_threads),
        max_change_on_X=None if X is None else _change_on(model, after.forest, X),
    )
    result = copy.copy(model)
    result._model = after
    result.__dict__.pop("_path", None)
    return result, report


def _compact_stages(
    model: BaseModel, top_k: int | None, dtype: Any, max_change: float | None, training_data: Any, X: Any
) -> tuple[Any, CompactReport]:
    """`compact_leaves` of a boosted model."""
    for name, value in (("top_k", top_k), ("training_data", training_data)):
        if value is not None:
            raise ValueError(
                f"{name} is not supported for boosted models, whose leaves are corrections: it must be None"
            )
    before, n_threads, unit = model._model, model._n_threads(), model._unit()
    after = before
    if max_change is not None:
        after = after.without_small_values(float(max_change) / unit, n_threads)
    if dtype is not None:
        after = after.with_precision(dtype, n_threads)
    on_X = None
    if X is not None:
        X = model._check_X(X, reset=False)
        X = X.tocsr() if is_sparse(X) else X
        on_X = _largest_difference(before.predict_scores, after.predict_scores, X, before.width, n_threads) * unit
    report = CompactReport(
        n_bytes_before=len(before.to_bytes()),
        n_bytes_after=len(after.to_bytes()),
        max_change=before.largest_change(after, n_threads) * unit,
        max_change_on_X=on_X,
    )
    result = model._twin()
    result._model = after
    return result, report


def _with_stored_rows(model: BaseModel, training_data: Any) -> _weald.Forest:
    if not isinstance(training_data, (tuple, list)) or len(training_data) not in (2, 3):
        raise ValueError(
            f"training_data must be a tuple (X, y) or (X, y, sample_weight), got {described(training_data)}"
        )
    X, y, sample_weight = (*training_data, None)[:3]
    forest: _weald.Forest = model._forest
    try:
        X = model._check_X(X, reset=False)
        weights = checks.check_weights(sample_weight, X.shape[0])
        target = model._check_y(y, weights, X.shape[0])
        if target.mask is not None:
            raise ValueError("y does not support masked entries for leaves of training samples: y must not contain NaN")
        if target.n_outputs != model.n_outputs_:
            raise ValueError(f"y must have {model.n_outputs_} outputs, as the model, got {target.n_outputs}")
        if "classes_" in model.__dict__:
            has_labels = model._label_format is not None
            known = model.classes_ if isinstance(model.classes_, list) else [model.classes_]
            same = has_labels or all(map(np.array_equal, target.classes, known))
            if has_labels != (target.kind == "labels") or not same:
                raise ValueError("y must have the classes of the model, got other classes")
        row_weights = model._row_weights(target, weights)
        bootstrap, max_samples = getattr(model, "_draws", (False, None))
        args = (bootstrap, max_samples, getattr(model, "_seed", 0), model._n_threads())
        return forest.with_stored_rows(X, target.engine, row_weights, *args)
    except (ValueError, TypeError) as error:
        if str(error).startswith("training_data"):
            raise
        raise type(error)(f"training_data: {error}") from error


def _change_on(model: BaseModel, compact: _weald.Forest, X: Any) -> float:
    X = model._check_X(X, reset=False)
    if is_sparse(X):
        X = X.tocsr()
    return _largest_difference(model._forest.predict, compact.predict, X, compact.width, model._n_threads())


def _largest_difference(before: Any, after: Any, X: Any, width: int, n_threads: int) -> float:
    """The largest difference between two functions of (X, number of threads) that predict `width` columns."""
    n_rows = max(1, _BLOCK_SCORES // width)
    change = 0.0
    for start in range(0, X.shape[0], n_rows):
        block = X[start : start + n_rows]
        difference = before(block, n_threads)
        difference -= after(block, n_threads)
        change = max(change, float(np.abs(difference, out=difference).max()))
    return change
