"""Smaller models with the same or nearly the same predictions."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

import numpy as np
from sklearn.utils.validation import check_is_fitted

from weald import _weald
from weald._fit.base import BaseModel
from weald._input import checks
from weald._input.described import described
from weald._input.sparse import is_sparse
from weald._parameters import output_strategy
from weald._parameters.types import MatrixLike

__all__ = ["CompactReport", "compact_leaves"]

# The models whose leaves are corrections of others.
_CORRECTED = {_weald.Boosted: "boosted models", _weald.Compressed: "compressed forests"}

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
    X: MatrixLike | None = None,
) -> tuple[Any, CompactReport]:
    """Reduce the size of the leaves of a tree, forest, compressed forest or boosted model. The splits do not change.

    Parameters
    ----------
    estimator : fitted tree, forest, compressed forest or boosted model of weald
        The model, which is not changed.
    top_k : int or None, default=None
        Maximum number of labels, or of classes of each output, to keep in each leaf: those with the largest
        frequencies, and of equal ones the first. The frequencies of the others become zero, and those of the kept ones
        do not change. Not supported for numerical outputs, or for compressed and boosted models, whose leaves hold
        corrections that all count.
    dtype : {"float32", "float16", "int8"} or None, default=None
        Type of the leaf values. Predictions are still sums in float64.

        - "float32", "float16": each value changes by at most 2**-24 (float32) or 2**-11 (float16) of the largest
          absolute value in its column of its tree. If a column exceeds the range of the type, it is divided by a power
          of two. Counts of weights that are whole numbers stay exact if they take no more bytes than the type. The
          impurities of nodes, from which importances are computed, are rounded to the same type, or to float32 if they
          exceed the range of float16.
        - "int8": leaves hold integers from -127 to 127, times a power of two for each leaf. Each value changes by at
          most 1/127 of the largest absolute value in its leaf. For numerical outputs, boosted models and compressed
          models, and not for frequencies. The sum over hundreds of stages hardly changes.
    max_change : float or None, default=None
        Only for boosted models: maximum change of any score of any sample (`decision_function`, or the prediction of a
        regressor). Leaf values up to `max_change` / k, for k stages, are removed. If most values of a leaf are removed,
        the leaf stores only the columns of the others, which makes it smaller and predictions faster. It has no effect
        on models with `Projected(relabel_leaves=False)`, whose leaves hold one value each.
    training_data : (X, y), (X, y, sample_weight) or None, default=None
        The data that `estimator` was fitted to. Leaves then store the lists of their training samples, and y is stored
        once for all trees instead of in each tree. This is exact, and much smaller if y has many columns. To find the
        samples of each leaf, bootstrap samples are drawn again and pass through the trees. With `dtype`, the values of
        y are rounded instead of those of leaves, by the same fraction of the largest absolute value in the column of y.
        Not supported for compressed and boosted models, or for trees with `criterion="absolute_error"`, whose leaves
        are not means of samples.
    X : {array-like, sparse matrix} of shape (n_samples, n_features) or None, default=None
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
    if not isinstance(estimator, BaseModel) or not estimator._tests_features:
        hint = ""
        if isinstance(estimator, BaseModel):
            hint = "; a centroid forest is smaller with a larger max_leaf_samples or min_centroid_weight"
        accepted = "a tree, forest, compressed forest or boosting model of weald"
        raise TypeError(f"estimator must be {accepted}, got a {type(estimator).__name__}{hint}")
    check_is_fitted(estimator)
    if not estimator._has_trees:
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
        if estimator._proof.engine is not _weald.Boosted:
            raise ValueError(f"max_change is only supported for boosted models: it must be None, got {max_change!r}")
    if getattr(estimator._engine, "by_output", False):
        for name, value in (("top_k", top_k), ("training_data", training_data)):
            if value is not None:
                raise ValueError(
                    f"{name} must be None for a forest with {output_strategy.ASKED}, whose leaves have one value"
                )
    before, n_threads, unit = estimator._engine, estimator._n_threads(), estimator._unit()
    if (what := _CORRECTED.get(type(before))) is not None:
        for name, value in (("top_k", top_k), ("training_data", training_data)):
            if value is not None:
                raise ValueError(f"{name} is not supported for {what}, whose leaves are corrections: it must be None")
    after = before
    if max_change is not None:
        after = after.without_small_values(max_change / unit, n_threads)
    if training_data is not None:
        after = _with_stored_rows(estimator, training_data)
    if top_k is not None:
        after = after.with_top_k(min(int(top_k), before.width), n_threads)
    if dtype is not None:
        after = after.with_precision(dtype, n_threads)
    report = CompactReport(
        n_bytes_before=len(before.to_bytes()),
        n_bytes_after=len(after.to_bytes()),
        max_change=_explained(before).largest_change(_explained(after), n_threads) * unit,
        max_change_on_X=None if X is None else _change_on(estimator, after, X) * unit,
    )
    result = estimator._with_engine(after)
    result.__dict__.pop("_path", None)
    return result, report


def _explained(model: object) -> Any:
    """The model of the engine whose leaves have scores as values."""
    return model.forest if isinstance(model, _weald.Compressed) else model


def _with_stored_rows(model: BaseModel, training_data: object) -> _weald.Forest:
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


def _change_on(model: BaseModel, compact: object, X: MatrixLike) -> float:
    """The largest difference between the scores of the model and of a smaller one for samples."""
    checked = model._check_X(X, reset=False)
    checked = checked.tocsr() if is_sparse(checked) else checked
    before, after = _explained(model._engine), _explained(compact)
    predict = [getattr(one, "predict_scores", None) or one.predict for one in (before, after)]
    n_threads, change = model._n_threads(), 0.0
    n_rows = max(1, _BLOCK_SCORES // before.width)
    for start in range(0, checked.shape[0], n_rows):
        block = checked[start : start + n_rows]
        difference = predict[0](block, n_threads)
        difference -= predict[1](block, n_threads)
        change = max(change, float(np.abs(difference, out=difference).max()))
    return change
