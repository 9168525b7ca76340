"""The picture of how right probabilities of labels are."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from spinney import _validation
from spinney._label_scores import check_scores, scores_at_least
from spinney._path_display import _pyplot
from spinney._ranks import are_entries_in
from spinney._sparse import is_sparse
from spinney._validation import Float


def bins_of(truth: Any, scores: Any, labels: Any, n_bins: int, strategy: str) -> tuple[Float, Float, Float]:
    """Mean probability, share of true cells and number of cells of each bin that has some.

    Cells that are not stored have the probability zero, and are counted all at once.
    """
    truth, scores = sparse.csr_array(truth[:, labels]), sparse.csr_array(scores[:, labels])
    for cells in (truth, scores):
        cells.sort_indices()
    is_true = are_entries_in(scores, truth)
    n_zero = scores.shape[0] * scores.shape[1] - scores.nnz
    p = np.append(scores.data, 0.0)
    n = np.append(np.ones(scores.nnz), n_zero)
    hits = np.append(is_true.astype(np.float64), truth.nnz - is_true.sum())
    edges = np.linspace(0.0, 1.0, n_bins + 1)
    if strategy == "quantile" and scores.nnz:
        edges = np.unique(np.quantile(scores.data, edges))
        edges = np.concatenate([[0.0], edges[1:-1], [1.0]]) if len(edges) > 2 else np.array([0.0, 1.0])
    bins = np.searchsorted(edges[1:-1], p, side="left")
    size = len(edges) - 1
    cells, total, right = (np.bincount(bins, w, minlength=size) for w in (n, n * p, hits))
    there = cells > 0
    return total[there] / cells[there], right[there] / cells[there], cells[there].astype(np.float64)


class LabelReliabilityDisplay:
    """How often labels are true among cells of about the same predicted probability.

    Made by `from_estimator` or `from_predictions`; needs matplotlib to plot. As
    `sklearn.calibration.CalibrationDisplay`, of labels: all cells together, or some labels each for itself, from sparse
    probabilities.

    Parameters
    ----------
    mean_probability : list of ndarray of shape (n_bins,)
        Of each curve the mean probability of the cells of each bin that has some.
    fraction_true : list of ndarray of shape (n_bins,)
        The share of these cells that are true.
    n_cells : list of ndarray of shape (n_bins,)
        How many these are.
    names : list of str, default=None
        Of the curves, for the legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : list of matplotlib artists
        Of the curves.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np
    >>> from spinney.multilabel import LabelReliabilityDisplay
    >>> Y = np.array([[1, 0], [1, 1], [0, 0], [0, 1]])
    >>> P = np.array([[0.9, 0.1], [0.8, 0.8], [0.2, 0.1], [0.2, 0.9]])
    >>> display = LabelReliabilityDisplay.from_predictions(Y, P, n_bins=2)
    >>> display.fraction_true[0]
    array([0., 1.])
    """

    def __init__(
        self,
        mean_probability: list[Float],
        fraction_true: list[Float],
        n_cells: list[Float],
        *,
        names: list[str] | None = None,
    ) -> None:
        self.mean_probability = mean_probability
        self.fraction_true = fraction_true
        self.n_cells = n_cells
        self.names = names

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        labels: Sequence[int] | None = None,
        n_bins: int = 10,
        strategy: Literal["uniform", "quantile"] = "uniform",
        min_score: float = 0.0,
        name: str | None = None,
        ax: Any = None,
    ) -> LabelReliabilityDisplay:
        """Plot the curves of a fitted classifier on rows, which it should not have seen.

        Parameters
        ----------
        estimator : classifier or Pipeline
            Fitted on labels.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : {array-like, sparse matrix} of shape (n_samples, n_labels)
        labels, n_bins, strategy, name, ax
            As of `from_predictions`.
        min_score : float, default=0
            Probabilities below count as zero: keeps fewer cells.

        Returns
        -------
        LabelReliabilityDisplay

        Raises
        ------
        ImportError
            Without matplotlib.
        sklearn.exceptions.NotFittedError, TypeError, ValueError
            When `estimator` is not fitted or has no scores, and as of `from_predictions`.
        """
        _pyplot(f"{cls.__name__}.from_estimator")
        check_scores(estimator)
        check_is_fitted(estimator)
        truth = _labels(y)
        scores = scores_at_least(estimator, X, min_score, truth.shape[1])
        name = type(estimator).__name__ if name is None else name
        return cls.from_predictions(truth, scores, labels=labels, n_bins=n_bins, strategy=strategy, name=name, ax=ax)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_score: Any,
        *,
        labels: Sequence[int] | None = None,
        n_bins: int = 10,
        strategy: Literal["uniform", "quantile"] = "uniform",
        name: str | None = None,
        ax: Any = None,
    ) -> LabelReliabilityDisplay:
        """Plot the curves of probabilities.

        Parameters
        ----------
        y_true : {array-like, sparse matrix} of shape (n_samples, n_labels)
            0 and 1.
        y_score : {array-like, sparse matrix} of shape (n_samples, n_labels)
            Probabilities; cells that are not stored have zero.
        labels : list of int, default=None
            A curve for each of these labels; None is one curve of all cells.
        n_bins : int, default=10
        strategy : {"uniform", "quantile"}, default="uniform"
            Bins of the same width, or of about as many of the cells that are stored.
        name : str, default=None
            Of the curve, or the beginning of the names of curves.
        ax : matplotlib Axes, default=None
            Where to; None makes a figure.

        Returns
        -------
        LabelReliabilityDisplay

        Raises
        ------
        ImportError
            Without matplotlib.
        ValueError
            When shapes do not fit, probabilities are outside 0 and 1, `labels` names none that there is, or for
            another `n_bins` or `strategy`.
        """
        truth = _labels(y_true)
        scores = sparse.csr_array(y_score if is_sparse(y_score) else np.asarray(y_score, dtype=np.float64))
        if scores.shape != truth.shape:
            raise ValueError(f"y_score must have shape {truth.shape}, that of y_true, got {scores.shape}")
        if not ((scores.data >= 0) & (scores.data <= 1)).all():
            raise ValueError("y_score must be probabilities from 0 to 1, got other values")
        if isinstance(n_bins, bool) or not isinstance(n_bins, Integral) or n_bins < 1:
            raise ValueError(f"n_bins must be a positive integer, got {n_bins!r}")
        if not isinstance(strategy, str) or strategy not in ("uniform", "quantile"):
            raise ValueError(f"strategy must be 'uniform' or 'quantile', got {strategy!r}")
        d = truth.shape[1]
        asked: list[Any] = [np.arange(d)]
        names = ["all labels" if name is None else name]
        if labels is not None:
            wrong = [j for j in labels if isinstance(j, bool) or not isinstance(j, Integral) or not 0 <= j < d]
            if wrong or not len(labels):
                raise ValueError(f"labels must be a list of integers from 0 to {d - 1}, got {labels!r}")
            asked = [np.array([j]) for j in labels]
            names = [f"label {j}" if name is None else f"{name}, label {j}" for j in labels]
        curves = [bins_of(truth, scores, columns, int(n_bins), strategy) for columns in asked]
        mean, fraction, cells = (list(part) for part in zip(*curves, strict=True))
        return cls(mean, fraction, cells, names=names).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> LabelReliabilityDisplay:
        """Plot the curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to; None makes a figure.

        Returns
        -------
        LabelReliabilityDisplay
            This object, with the attributes set.

        Raises
        ------
        ImportError
            Without matplotlib.
        """
        plt = _pyplot(f"{type(self).__name__}.plot")
        if ax is None:
            _, ax = plt.subplots()
        ax.plot([0, 1], [0, 1], linestyle=":", color="0.5", label="as right as said")
        names: Sequence[str | None] = self.names or [None] * len(self.mean_probability)
        self.lines_ = [
            ax.plot(x, y, marker=".", label=name)[0]
            for x, y, name in zip(self.mean_probability, self.fraction_true, names, strict=True)
        ]
        ax.set_xlabel("mean predicted probability")
        ax.set_ylabel("share of true cells")
        ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _labels(y: Any) -> sparse.csr_array:
    shape = np.shape(y)
    if len(shape) != 2:
        raise ValueError(f"y must have shape (n_samples, n_labels), got an array with {len(shape)} dimension(s)")
    target = _validation.classes(y, None, shape[0], "LabelReliabilityDisplay", warn_column=False, multi_label=True)
    found: sparse.csr_array = target.original
    found.sort_indices()
    return found
