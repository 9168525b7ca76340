"""The display of reliability curves of the probabilities of labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from weald._around.unseen import check_scores, scores_at_least
from weald._input import targets
from weald._input.checks import MOST, Float, floats, integer, is_integer, named
from weald._input.frames import different, names_of
from weald._input.sparse import is_sparse
from weald._inspect.displays import pyplot, style
from weald._parameters.types import MatrixLike
from weald._ranking.ranks import are_entries_in, without


def bins_of(truth: Any, scores: Any, mask: Any, labels: Any, n_bins: int, strategy: str) -> tuple[Float, Float, Float]:
    """Mean probability, fraction of true labels, and number of pairs of a sample and a label, of each non-empty bin.

    Entries that are not stored have the probability zero, and are counted together. Those of the mask do not count.
    """
    truth, scores = sparse.csr_array(truth[:, labels]), sparse.csr_array(scores[:, labels])
    for cells in (truth, scores):
        cells.sort_indices()
    n_cells = scores.shape[0] * scores.shape[1]
    if mask is not None:
        mask = sparse.csr_array(mask[:, labels])
        mask.sort_indices()
        scores, n_cells = without(scores, mask), n_cells - mask.nnz
    is_true = are_entries_in(scores, truth)
    n_zero = n_cells - scores.nnz
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
    """Reliability curves of labels: the fraction of labels that are true as a function of the predicted probability.

    This is `sklearn.calibration.CalibrationDisplay` for labels: one curve for all labels together, or a curve for each
    of some labels, from dense or sparse probabilities. Use `from_estimator` or `from_predictions`; plotting needs
    matplotlib.

    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from weald.multilabel import LabelReliabilityDisplay
    >>> Y, P = [[1, 0], [1, 1], [0, 0], [0, 1]], [[0.9, 0.1], [0.8, 0.8], [0.2, 0.1], [0.2, 0.9]]
    >>> LabelReliabilityDisplay.from_predictions(Y, P, n_bins=2).fraction_true[0]
    array([0., 1.])

    Parameters
    ----------
    mean_probability, fraction_true, n_cells : list of ndarray of shape (n_bins,)
        For each curve, of each bin that is not empty: the mean predicted probability, the fraction of the labels that
        are true, and the number of pairs of a sample and a label.
    names : list of str or None, default=None
        Names of the curves in the legend.

    Attributes
    ----------
    ax_, figure_, lines_ : matplotlib Axes, Figure, and list of artists
        What was plotted.
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
        estimator: BaseEstimator,
        X: MatrixLike,
        y: MatrixLike,
        *,
        y_weight: MatrixLike | None = None,
        labels: Sequence[int] | None = None,
        n_bins: int = 10,
        strategy: Literal["uniform", "quantile"] = "uniform",
        min_score: float = 0.0,
        name: str | None = None,
        ref_line: bool = True,
        ax: object = None,
        line_kw: dict[str, Any] | None = None,
        ref_line_kw: dict[str, Any] | None = None,
    ) -> LabelReliabilityDisplay:
        """Plot the curves of a fitted classifier, on samples that it was not fitted on.

        Parameters
        ----------
        estimator : classifier or Pipeline
            A classifier that was fitted on labels.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        y, y_weight : as y_true and y_weight in `from_predictions`
            The true labels.
        labels, n_bins, strategy : list of int, int, str
            As in `from_predictions`.
        min_score : float, default=0
            Probabilities below this value count as zero, which saves memory.
        name : str or None, default=None
            Name of the curve, or the beginning of the names of several curves. None uses the name of the class.
        ref_line, ax, line_kw, ref_line_kw : bool, matplotlib Axes, dict, dict
            As in `plot`.

        Returns
        -------
        LabelReliabilityDisplay
        """
        pyplot(f"{cls.__name__}.from_estimator")
        check_scores(estimator)
        check_is_fitted(estimator)
        target = targets.labels(y, y_weight=y_weight)
        scores = scores_at_least(estimator, X, min_score, target.n_outputs)
        name = type(estimator).__name__ if name is None else name
        told: Any = target.known
        return cls.from_predictions(
            target.original,
            scores,
            y_weight=told,
            labels=labels,
            n_bins=n_bins,
            strategy=strategy,
            name=name,
            ref_line=ref_line,
            ax=ax,
            line_kw=line_kw,
            ref_line_kw=ref_line_kw,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: MatrixLike,
        y_score: Any,
        *,
        y_weight: MatrixLike | None = None,
        labels: Sequence[int] | None = None,
        n_bins: int = 10,
        strategy: Literal["uniform", "quantile"] = "uniform",
        name: str | None = None,
        ref_line: bool = True,
        ax: object = None,
        line_kw: dict[str, Any] | None = None,
        ref_line_kw: dict[str, Any] | None = None,
    ) -> LabelReliabilityDisplay:
        """Plot the curves of predicted probabilities.

        Parameters
        ----------
        y_true, y_score : {array-like, sparse matrix} of shape (n_samples, n_labels)
            The true labels, 0 and 1, or NaN for unknown ones, and probabilities; entries that are not stored are zero.
        y_weight : {array-like, sparse matrix} of the shape of y_true or None, default=None
            0 marks further unknown entries. Unknown entries are left out.
        labels : list of int or None, default=None
            Labels that get a curve each. None plots one curve for all labels together.
        n_bins : int, default=10
            Number of bins.
        strategy : {"uniform", "quantile"}, default="uniform"
            Bins of the same width, or bins with about the same number of stored probabilities.
        name : str or None, default=None
            Name of the curve, or the beginning of the names of several curves.
        ref_line, ax, line_kw, ref_line_kw : bool, matplotlib Axes, dict, dict
            As in `plot`.

        Returns
        -------
        LabelReliabilityDisplay
        """
        target = targets.labels(y_true, what="y_true", y_weight=y_weight)
        if (where := different(names_of(y_score, "y_score"), target.names)) is not None:
            raise ValueError(f"y_score must have {where}: its columns must be those of y_true, in the same order")
        truth = target.original
        scores = sparse.csr_array(y_score if is_sparse(y_score) else floats(y_score, "y_score"))
        if scores.shape != truth.shape:
            raise ValueError(f"y_score must have shape {truth.shape}, that of y_true, got {scores.shape}")
        if not ((scores.data >= 0) & (scores.data <= 1)).all():
            raise ValueError("y_score must be probabilities from 0 to 1, got other values")
        n_bins = integer("n_bins", n_bins, 1, MOST)
        if not isinstance(strategy, str) or strategy not in ("uniform", "quantile"):
            raise ValueError(f"strategy must be 'uniform' or 'quantile', got {strategy!r}")
        d = truth.shape[1]
        asked: list[Any] = [np.arange(d)]
        names = ["all labels" if name is None else name]
        if labels is not None:
            with named("labels"):
                labels = list(labels)
            wrong = [j for j in labels if not is_integer(j) or not 0 <= j < d]
            if wrong or not len(labels):
                raise ValueError(f"labels must be a list of integers from 0 to {d - 1}, got {labels!r}")
            asked = [np.array([j]) for j in labels]
            names = [f"label {j}" if name is None else f"{name}, label {j}" for j in labels]
        curves = [bins_of(truth, scores, target.mask, columns, n_bins, strategy) for columns in asked]
        mean, fraction, cells = (list(part) for part in zip(*curves, strict=True))
        display = cls(mean, fraction, cells, names=names)
        return display.plot(ax, ref_line=ref_line, line_kw=line_kw, ref_line_kw=ref_line_kw)

    def plot(
        self,
        ax: Any = None,
        *,
        ref_line: bool = True,
        line_kw: dict[str, Any] | None = None,
        ref_line_kw: dict[str, Any] | None = None,
    ) -> LabelReliabilityDisplay:
        """Plot the curves.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to plot on. None creates a figure.
        ref_line : bool, default=True
            Plot the diagonal, on which the curve of perfectly calibrated probabilities lies.
        line_kw, ref_line_kw : dict or None, default=None
            Keyword arguments of `matplotlib.axes.Axes.plot` for the curves and for the diagonal.

        Returns
        -------
        LabelReliabilityDisplay
            This object, with the attributes set.
        """
        plt = pyplot(f"{type(self).__name__}.plot")
        from matplotlib.lines import Line2D

        curve = style("line_kw", line_kw, Line2D, marker=".")
        diagonal = style("ref_line_kw", ref_line_kw, Line2D, linestyle=":", color="0.5", label="perfectly calibrated")
        if ax is None:
            _, ax = plt.subplots()
        # Displays on the same axes share one diagonal.
        if ref_line and diagonal["label"] not in ax.get_legend_handles_labels()[1]:
            ax.plot([0, 1], [0, 1], **diagonal)
        names: Sequence[str | None] = self.names or [None] * len(self.mean_probability)
        self.lines_ = [
            ax.plot(x, y, **({"label": name} | curve))[0]
            for x, y, name in zip(self.mean_probability, self.fraction_true, names, strict=True)
        ]
        ax.set(xlabel="mean predicted probability", ylabel="fraction of true labels")
        if ax.get_legend_handles_labels()[0]:
            ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self
