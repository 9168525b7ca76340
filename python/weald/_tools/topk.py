"""The highest-scoring labels of samples, for pipelines and in chunks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from weald._input.checks import Float, Matrix, check_is_instance, count_samples, integer
from weald._input.sklearn_private import safe_indexing
from weald._input.sparse import Raw, is_sparse
from weald._parameters.types import MatrixLike, Scores
from weald._ranking.pipelines import apart
from weald._rounds.progress import Progress, check_verbose

__all__ = ["topk", "topk_chunks"]


def topk(
    estimator: BaseEstimator,
    X: MatrixLike,
    k: int,
    *,
    scores: Scores = "auto",
    min_score: float | None = None,
    exclude: MatrixLike | None = None,
) -> tuple[NDArray[np.int64], Float]:
    """Predict the `k` highest-scoring labels of each sample, by a classifier or a pipeline that ends with one.

    For a pipeline, X is transformed by the first steps and passed to `predict_topk` of the last step.

    Parameters
    ----------
    estimator : estimator or Pipeline
        A fitted classifier of weald, `weald.VotingClassifier`, `weald.multilabel.TunedThresholds` or `CalibratedLabels`, or a
        `sklearn.pipeline.Pipeline` that ends with one of them. Each of these may be wrapped in `FrozenEstimator`.
    X : {array-like, sparse matrix} of n_samples samples
        Samples, in any form that the model or the first step of the pipeline accepts.
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
        Indices of the labels, best first, padded with -1 if `min_score` and `exclude` leave fewer than `k` labels.
    scores : float64 ndarray of shape (n_samples, k)
        Their scores, as returned by `predict_topk` of the classifier.

    Raises
    ------
    TypeError
        If the classifier has no `predict_topk`.
    ValueError
        If a parameter or the input is not valid.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> import weald
    >>> texts, tags = 10 * ["red fox", "red fish", "blue fish"], 10 * [[1, 0], [1, 1], [0, 1]]
    >>> forest = weald.RandomForestClassifier(20, random_state=0)
    >>> pipeline = make_pipeline(TfidfVectorizer(), forest).fit(texts, tags)
    >>> weald.topk(pipeline, ["red fox", "blue fish"], k=1)[0].ravel()
    array([0, 1])
    """
    final, before = apart(estimator)
    check_is_instance(final)
    if not hasattr(final, "predict_topk"):
        raise TypeError(
            "estimator must be a classifier of weald that was fitted on labels or one output of classes, or a "
            f"pipeline that ends with one, got {type(final).__name__}, which has no predict_topk"
        )
    if before is not None:
        X = before.transform(X)
    found: tuple[NDArray[np.int64], Float] = final.predict_topk(
        X, k, scores=scores, min_score=min_score, exclude=exclude
    )
    return found


def topk_chunks(
    estimator: BaseEstimator,
    X: MatrixLike,
    k: int,
    *,
    chunk_size: int = 10_000,
    scores: Scores = "auto",
    min_score: float | None = None,
    exclude: MatrixLike | None = None,
    verbose: int = 0,
) -> Iterator[tuple[NDArray[np.int64], Float]]:
    """Predict the `k` highest-scoring labels of each sample, chunk by chunk, to limit memory.

    Only one chunk at a time is transformed and held in memory.

    Parameters
    ----------
    estimator : estimator or Pipeline
        A fitted model, as in `topk`.
    X : {array-like, sparse matrix, DataFrame, list} of n_samples samples, or iterator of such chunks
        Samples. An iterator or generator yields the chunks; anything else is split into chunks of `chunk_size` samples.
    k : int
        The number of labels per sample, from 1 to the number of labels.
    chunk_size : int, default=10_000
        Number of samples in each chunk. It has no effect if X is an iterator.
    scores : {"auto", "probability", "margin"}, default="auto"
        The scores that are returned: "probability" are those of `predict_proba`, and "margin" those of
        `decision_function`, where for two classes that of the first class is the negative one of the second. "auto" are
        probabilities if there are any, and margins otherwise.
    min_score : float or None, default=None
        Labels with a lower score are not returned. It is in the unit of the scores: from 0 to 1 for probabilities, and any
        number for margins. None returns all.
    exclude : sparse matrix of shape (n_samples, n_labels), list of int or None, default=None
        Labels that are not returned, as in `topk`. The rows of a matrix are the samples of all chunks in order.
    verbose : int, default=0
        How samples that are done are reported: as by `verbose` of `weald.RandomForestClassifier`.

    Yields
    ------
    indices : int64 ndarray of shape (n_samples_of_chunk, k)
        Indices of the labels, as returned by `topk`.
    scores : float64 ndarray of shape (n_samples_of_chunk, k)
        Their scores, as returned by `topk`.

    Raises
    ------
    ValueError
        If `chunk_size` is not a positive integer, which is raised by the call itself. Errors of `topk` are raised when
        the first chunk is requested.
    TypeError
        If the classifier has no `predict_topk`.

    Examples
    --------
    >>> import numpy as np
    >>> import weald
    >>> X, Y = np.eye(6), np.eye(6)[:, :3]
    >>> forest = weald.RandomForestClassifier(5, random_state=0).fit(X, Y)
    >>> [indices.shape for indices, scores in weald.topk_chunks(forest, X, k=2, chunk_size=4)]
    [(4, 2), (2, 2)]
    """
    options = {"scores": scores, "min_score": min_score}
    return _chunks(estimator, X, k, integer("chunk_size", chunk_size, 1), options, exclude, check_verbose(verbose))


def _chunks(
    model: BaseEstimator, X: MatrixLike, k: int, size: int, options: dict[str, Any], exclude: Raw, verbose: int
) -> Iterator[tuple[NDArray[np.int64], Float]]:
    if is_sparse(exclude):
        exclude = exclude.tocsr()
    name, total = type(apart(model)[0]).__name__, None if isinstance(X, Iterator) else count_samples(X)
    done = 0
    with Progress(name, "sample", total, verbose) as report:
        for rows in X if isinstance(X, Iterator) else _cut(X, size):
            n = count_samples(rows)
            some = exclude[done : done + n] if is_sparse(exclude) else exclude
            found = topk(model, rows, k, exclude=some, **options)
            done += n
            report(done)
            yield found


def _cut(X: Matrix, size: int) -> Iterator[Any]:
    if is_sparse(X):
        X = X.tocsr()
    for start in range(0, count_samples(X), size):
        yield safe_indexing(X, slice(start, start + size))
