"""The highest-scoring labels of samples, for pipelines too, and in chunks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from weald._input.checks import Float, check_is_instance, count_samples, integer, named
from weald._input.sklearn_private import safe_indexing
from weald._input.sparse import Raw, is_sparse
from weald._parameters.types import MatrixLike, Scores
from weald._ranking.outputs import apart
from weald._rounds.rounds import Progress, check_verbose

__all__ = ["topk"]


def topk(
    estimator: BaseEstimator,
    X: Raw,
    k: int,
    *,
    names: bool = False,
    scores: Scores = "auto",
    min_score: float | None = None,
    exclude: MatrixLike | None = None,
    chunk_size: int | None = None,
    verbose: int = 0,
) -> tuple[NDArray[Any], Float]:
    """Predict the `k` highest-scoring labels or outputs of each sample, by a model or a pipeline that ends with one.

    For a pipeline, X is transformed by the first steps and passed to `predict_topk` of the last step.

    Parameters
    ----------
    estimator : estimator or Pipeline
        A fitted classifier of weald, `weald.VotingClassifier`, `weald.multilabel.TunedThresholds` or `CalibratedLabels`, a
        regressor with several outputs, or a `sklearn.pipeline.Pipeline` that ends with one of them. Each of these may be
        wrapped in `FrozenEstimator`.
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
        Number of samples that are transformed and predicted at a time, so that the features of no more samples are in
        memory. The result is the same. None: all at once.
    verbose : int, default=0
        How samples of chunks that are done are reported: as by `verbose` of `weald.RandomForestClassifier`.

    Returns
    -------
    indices : ndarray of shape (n_samples, k), int64 or with `names=True` of objects
        Indices of labels, positions in `classes_`, or their names, in decreasing order of the score; of equal ones,
        the lower index comes first. If `min_score` and `exclude` leave fewer than `k`, the last places are -1, or
        None for names.
    scores : float64 ndarray of shape (n_samples, k)
        Their scores. Where there is no label, the probability 0, or minus infinity as the margin or the number.

    Raises
    ------
    TypeError
        If the model has no `predict_topk`.
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
            "estimator must be a model of weald that was fitted on labels, one output of classes or several numbers, or "
            f"a pipeline that ends with one, got {type(final).__name__}, which has no predict_topk"
        )

    def of(rows: Any, left_out: Any) -> tuple[NDArray[Any], Float]:
        rows = rows if before is None else before.transform(rows)
        options = {"names": names, "scores": scores, "min_score": min_score, "exclude": left_out}
        found: tuple[NDArray[Any], Float] = final.predict_topk(rows, k, **options)
        return found

    if chunk_size is None:
        return of(X, exclude)
    size, n = integer("chunk_size", chunk_size, 1, also=" or None"), count_samples(X)
    X, by_row = X.tocsr() if is_sparse(X) else X, by_sample(exclude, n)
    found = []
    with Progress(type(final).__name__, "sample", n, check_verbose(verbose)) as report:
        for start in range(0, max(n, 1), size):
            chunk = slice(start, start + size)
            found.append(of(safe_indexing(X, chunk), exclude if by_row is None else safe_indexing(by_row, chunk)))
            report(min(start + size, n))
    labels, values = zip(*found, strict=True)
    return np.concatenate(labels), np.concatenate(values)


def by_sample(exclude: Raw, n_samples: int) -> Any:
    """`exclude` in a form that is cut into rows, if it is a matrix with a row for each sample; None if it is not."""
    with named("exclude"):
        if exclude is None or (not is_sparse(exclude) and np.ndim(exclude) != 2):
            return None
    if (found := count_samples(exclude, "exclude")) != n_samples:
        raise ValueError(f"exclude must have {n_samples} rows, one for each sample of X, got {found}")
    return exclude.tocsr() if is_sparse(exclude) else exclude
