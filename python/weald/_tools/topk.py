"""The highest-scoring labels of samples, for pipelines too, and in chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias, overload

from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from weald._input.checks import Float, Matrix, check_is_instance, count_samples, integer
from weald._input.sklearn_private import safe_indexing
from weald._input.sparse import is_sparse
from weald._parameters.types import MatrixLike, Scores
from weald._ranking.best import by_sample
from weald._ranking.pipelines import apart
from weald._rounds.progress import Progress, check_verbose

__all__ = ["topk"]

Best: TypeAlias = tuple[NDArray[Any], Float]


@overload
def topk(
    estimator: BaseEstimator,
    X: MatrixLike,
    k: int,
    *,
    names: bool = False,
    scores: Scores = "auto",
    min_score: float | None = None,
    exclude: MatrixLike | None = None,
    chunk_size: None = None,
    verbose: int = 0,
) -> Best: ...


@overload
def topk(
    estimator: BaseEstimator,
    X: MatrixLike,
    k: int,
    *,
    names: bool = False,
    scores: Scores = "auto",
    min_score: float | None = None,
    exclude: MatrixLike | None = None,
    chunk_size: int,
    verbose: int = 0,
) -> Iterator[Best]: ...


def topk(
    estimator: BaseEstimator,
    X: MatrixLike,
    k: int,
    *,
    names: bool = False,
    scores: Scores = "auto",
    min_score: float | None = None,
    exclude: MatrixLike | None = None,
    chunk_size: int | None = None,
    verbose: int = 0,
) -> Best | Iterator[Best]:
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
    names : bool, default=False
        Whether names are returned in place of indices: those in `target_names_in_`, or classes of one output.
    scores : {"auto", "probability", "margin"}, default="auto"
        The scores that are returned: those of `predict_proba` or of `decision_function`, which for the first of two
        classes is the negative one of the second. "auto" are probabilities if there are any.
    min_score : float or None, default=None
        Labels with a lower score, in the unit of the scores, are not returned. None returns all.
    exclude : {array-like, sparse matrix} of shape (n_samples, n_labels), list of int or None, default=None
        Labels that are not returned, such as those that a sample has already: True or 1 in a matrix, or entries of
        a sparse one that are not zero; or a list of labels for all samples. Classes of one output are given by
        positions.
    chunk_size : int or None, default=None
        If it is given, the result is an iterator over chunks of so many samples, with the result for each chunk. Only one
        chunk at a time is transformed and held in memory.
    verbose : int, default=0
        How samples of chunks that are done are reported: as by `verbose` of `weald.RandomForestClassifier`.

    Returns
    -------
    indices : ndarray of shape (n_samples, k), int64 or with `names=True` of objects
        Indices of labels, positions in `classes_`, or their names, in decreasing order of the score; of equal ones,
        the lower index comes first. If `min_score` and `exclude` leave fewer than `k`, the last places are -1, or
        None for names.
    scores : float64 ndarray of shape (n_samples, k)
        Their scores. Where there is no label, the probability 0 or the margin minus infinity.

    Raises
    ------
    TypeError
        If the classifier has no `predict_topk`.
    ValueError
        If a parameter or the input is not valid. With `chunk_size`, errors of `predict_topk` are raised when the first
        chunk is requested.

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
    >>> [indices.shape for indices, scores in weald.topk(pipeline, texts, k=2, chunk_size=20)]
    [(20, 2), (10, 2)]
    """
    final, before = apart(estimator)
    check_is_instance(final)
    if not hasattr(final, "predict_topk"):
        raise TypeError(
            "estimator must be a classifier of weald that was fitted on labels or one output of classes, or a "
            f"pipeline that ends with one, got {type(final).__name__}, which has no predict_topk"
        )

    def of(rows: Any, exclude: Any) -> Best:
        rows = rows if before is None else before.transform(rows)
        found: Best = final.predict_topk(rows, k, names=names, scores=scores, min_score=min_score, exclude=exclude)
        return found

    if chunk_size is None:
        return of(X, exclude)
    size = integer("chunk_size", chunk_size, 1, also=" or None")
    return _chunks(of, X, size, exclude, type(final).__name__, check_verbose(verbose))


def _chunks(
    of: Callable[[Any, Any], Best], X: Matrix, size: int, exclude: Any, name: str, verbose: int
) -> Iterator[Best]:
    if is_sparse(X):
        X = X.tocsr()
    n = count_samples(X)
    of_samples = by_sample(exclude, n)
    with Progress(name, "sample", n, verbose) as report:
        for start in range(0, n, size):
            chunk = slice(start, start + size)
            found = of(safe_indexing(X, chunk), exclude if of_samples is None else safe_indexing(of_samples, chunk))
            report(min(start + size, n))
            yield found
