"""Smaller models with the same or nearly the same predictions."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

import numpy as np
from sklearn.utils.validation import check_is_fitted

from weald import _weald
from weald._fit.base import BaseModel
from weald._input import checks
from weald._input.messages import described
from weald._parameters import growing
from weald._parameters.types import MatrixLike
from weald._ranking import ranks

__all__ = ["CompactReport", "compact_leaves"]

# The models whose leaves are corrections of others.
_CORRECTED = {_weald.Boosted: "boosted models", _weald.Compressed: "compressed forests"}


class CompactReport(TypedDict):
    """The result of `compact_leaves`.

    Attributes
    ----------
    n_bytes_before, n_bytes_after : int
        Size of the model file in bytes.
    max_change : float
        Upper bound of the change of any prediction, or predicted probability, for any sample, up to the rounding of
        sums: the mean over the trees, or the sum over the stages, of the largest change of a leaf value.
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

    It takes O(size of the model) time, and with `training_data` O(n_samples · trees · depth) and about six bytes for
    each sample and tree. The changes of compressed and boosted models are those of scores (`decision_function`). See
    `docs/memory.md#making-a-model-smaller`.

    >>> from sklearn.datasets import make_multilabel_classification
    >>> import weald
    >>> X, Y = make_multilabel_classification(500, n_classes=60, n_labels=9, random_state=0)
    >>> forest = weald.RandomForestClassifier(random_state=0).fit(X, Y)
    >>> small, report = weald.compression.compact_leaves(forest, training_data=(X, Y), X=X)
    >>> bool(report["n_bytes_after"] < report["n_bytes_before"] / 2), report["max_change"], report["max_change_on_X"]
    (True, 0.0, 0.0)

    Parameters
    ----------
    estimator : fitted tree, forest, compressed forest or boosted model of weald
        The model, which is not changed. Its weak models must be trees.
    top_k : int or None, default=None
        Maximum number of labels, or of classes of each output, to keep in each leaf: those with the largest
        frequencies, which do not change. Not for numerical outputs, compressed or boosted models.
    dtype : {"float32", "float16", "int8"} or None, default=None
        Type of the leaf values. A value changes by at most 2**-24, 2**-11 or 1/127 of the largest absolute value in its
        column of its tree, or in its leaf for "int8", which is for numerical outputs, boosted and compressed models.
        Predictions are still sums in float64.
    max_change : float or None, default=None
        Only for boosted models with `relabel_leaves=True`: maximum change of any score of any sample. Leaf values up to
        `max_change` / k, for k stages, are removed, which makes leaves smaller and predictions faster.
    training_data : (X, y), (X, y, sample_weight) or None, default=None
        The data of the fit; others raise a ValueError. Leaves then store their samples, and y is stored once for all
        trees: exact, and much smaller if y has many columns. With `dtype`, the values of y are rounded. Not for
        compressed or boosted models or "absolute_error".
    X : {array-like, sparse matrix} of shape (n_samples, n_features) or None, default=None
        Samples for which to measure the change of the predictions.

    Returns
    -------
    compact : estimator of the same class
        A copy of `estimator` with smaller leaves, which shares all other attributes with it.
    report : dict
        `n_bytes_before`, `n_bytes_after`, `max_change` and `max_change_on_X`, as in `CompactReport`.
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
                raise ValueError(f"{name} must be None for a forest with {growing.ASKED}, whose leaves have one value")
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
        return forest.with_stored_rows((X, target.engine, row_weights, None), *args)
    except (ValueError, TypeError) as error:
        if str(error).startswith("training_data"):
            raise
        raise type(error)(f"training_data: {error}") from error


def _change_on(model: BaseModel, compact: object, X: MatrixLike) -> float:
    """The largest difference between the scores of the model and of a smaller one for samples."""
    checked = model._check_X(X, reset=False)
    before, after = _explained(model._engine), _explained(compact)
    predict = [getattr(one, "predict_scores", None) or one.predict for one in (before, after)]
    n_threads, change = model._n_threads(), 0.0
    for block in ranks.blocks_of(checked, before.width):
        difference = predict[0](block, n_threads)
        difference -= predict[1](block, n_threads)
        change = max(change, float(np.abs(difference, out=difference).max()))
    return change
