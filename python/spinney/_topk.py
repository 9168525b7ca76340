"""The best labels of many rows, through pipelines and chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from spinney._pipelines import apart
from spinney._sparse import is_sparse
from spinney._validation import Float

__all__ = ["topk", "topk_chunks"]


def topk(model: Any, X: Any, k: int, *, min_score: float = 0.0, exclude: Any = None) -> tuple[NDArray[np.int64], Float]:
    """The `k` best labels of each row: `predict_topk` of a classifier, or of the last step of a pipeline.

    Parameters
    ----------
    model : estimator or Pipeline
        Fitted. A classifier of spinney, `spinney.multilabel.TunedThresholds` or `CalibratedLabels`, or a
        `sklearn.pipeline.Pipeline` that ends with one; `FrozenEstimator` around these is looked through.
    X : rows as the first step takes them
    k : int
        From 1 to the number of labels.
    min_score : float, default=0
        Name no label whose probability is below; from 0 to 1.
    exclude : sparse matrix of shape (n_samples, n_labels) or list of int, default=None
        Labels not to be named: those that are not zero in the row, or a list for all rows.

    Returns
    -------
    indices : int64 ndarray of shape (n_samples, k)
        The best label first; -1 where `min_score` and `exclude` leave none.
    scores : float64 ndarray of shape (n_samples, k)
        As of `predict_topk` of the classifier.

    Raises
    ------
    TypeError
        When the classifier has no `predict_topk`.
    ValueError
        As of `predict_topk`.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> import spinney
    >>> texts, tags = 10 * ["red fox", "red fish", "blue fish"], 10 * [[1, 0], [1, 1], [0, 1]]
    >>> forest = spinney.RandomForestClassifier(20, random_state=0)
    >>> pipeline = make_pipeline(TfidfVectorizer(), forest).fit(texts, tags)
    >>> spinney.topk(pipeline, ["red fox", "blue fish"], k=1)[0].ravel()
    array([0, 1])
    """
    final, before = apart(model)
    if not hasattr(final, "predict_topk"):
        raise TypeError(
            f"model is {type(final).__name__}, which has no predict_topk, accepted: a classifier of spinney that was "
            "fitted on labels or one output of classes, or a pipeline that ends with one"
        )
    if before is not None:
        X = before.transform(X)
    found: tuple[NDArray[np.int64], Float] = final.predict_topk(X, k, min_score=min_score, exclude=exclude)
    return found


def topk_chunks(
    model: Any,
    X: Any,
    k: int,
    *,
    chunk_size: int = 10_000,
    min_score: float = 0.0,
    exclude: Any = None,
    progress: bool = False,
) -> Iterator[tuple[NDArray[np.int64], Float]]:
    """`topk` of one chunk of rows after the other: no more than a chunk is transformed and held at once.

    Parameters
    ----------
    model, k, min_score
        As in `topk`.
    X : rows, or an iterator of chunks of rows
        An array, a sparse matrix, a frame or a list is cut into chunks; from an iterator (or a generator) each item is
        a chunk as it is.
    chunk_size : int, default=10_000
        Rows of a chunk of X; without meaning for an iterator.
    exclude : sparse matrix of shape (n_samples, n_labels) or list of int, default=None
        As in `topk`; the rows of a matrix are those of all chunks, one after the other.
    progress : bool, default=False
        Show a bar of rows with `tqdm.auto`.

    Yields
    ------
    indices, scores : ndarray of shape (n_rows_of_chunk, k)
        As of `topk`.

    Raises
    ------
    ValueError, TypeError
        As of `topk`, and for a `chunk_size` that is no positive integer: at the call, before the first chunk is asked
        for, where it is not of a chunk.
    ImportError
        With `progress` and without tqdm.

    Examples
    --------
    >>> import numpy as np
    >>> import spinney
    >>> X, Y = np.eye(6), np.eye(6)[:, :3]
    >>> forest = spinney.RandomForestClassifier(5, random_state=0).fit(X, Y)
    >>> [indices.shape for indices, scores in spinney.topk_chunks(forest, X, k=2, chunk_size=4)]
    [(4, 2), (2, 2)]
    """
    if isinstance(chunk_size, bool) or not isinstance(chunk_size, Integral) or chunk_size < 1:
        raise ValueError(f"chunk_size is {chunk_size!r}, accepted: an integer of at least 1")
    bar = _bar(None if isinstance(X, Iterator) else _num_samples(X)) if progress else None
    return _chunks(model, X, k, int(chunk_size), min_score, exclude, bar)


def _bar(n_rows: int | None) -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        raise ImportError("progress=True requires tqdm: install it with `pip install tqdm`") from error
    return tqdm(total=n_rows, unit="row")


def _chunks(
    model: Any, X: Any, k: int, size: int, min_score: float, exclude: Any, bar: Any
) -> Iterator[tuple[NDArray[np.int64], Float]]:
    if is_sparse(exclude):
        exclude = exclude.tocsr()
    done = 0
    try:
        for rows in X if isinstance(X, Iterator) else _cut(X, size):
            n = _num_samples(rows)
            some = exclude[done : done + n] if is_sparse(exclude) else exclude
            found = topk(model, rows, k, min_score=min_score, exclude=some)
            done += n
            if bar is not None:
                bar.update(n)
            yield found
    finally:
        if bar is not None:
            bar.close()


def _cut(X: Any, size: int) -> Iterator[Any]:
    if is_sparse(X):
        X = X.tocsr()
    for start in range(0, _num_samples(X), size):
        yield _safe_indexing(X, slice(start, start + size))
