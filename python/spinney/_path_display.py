"""The picture of a compression path."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted


def _pyplot(caller: str) -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(f"{caller} requires matplotlib: install it with `pip install matplotlib`") from error
    return plt


class CompressionPathDisplay:
    """Error and size of a compressed forest along its path.

    Made by `from_estimator`; needs matplotlib to plot.

    Parameters
    ----------
    path : dict of ndarray
        `path_` of a compressed forest: "l1_norm", "train_loss", "n_test_nodes" and, when there are, "test_loss_mean"
        and "test_loss_std".
    chosen : float, default=None
        Norm at which the path is cut.
    full_loss : float, default=None
        Test loss of the forest before compression.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Losses against the norm.
    size_ax_ : matplotlib Axes
        Test nodes against the norm, on the same horizontal axis.
    figure_ : matplotlib Figure
    lines_ : dict of matplotlib artists
        "train_loss", "n_test_nodes" and, when there are, "test_loss", "test_loss_std", "full_loss" and "chosen".

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import load_diabetes
    >>> import spinney
    >>> X, y = load_diabetes(return_X_y=True)
    >>> trees = spinney.ExtraTreesRegressor(20, random_state=0)
    >>> small = spinney.CompressedForestRegressor(trees, cv=3, max_steps=200, random_state=0).fit(X, y)
    >>> display = spinney.inspection.CompressionPathDisplay.from_estimator(small)
    >>> display.ax_.get_xlabel()
    'ℓ1 norm of the coefficients'
    """

    def __init__(
        self, path: dict[str, NDArray[Any]], *, chosen: float | None = None, full_loss: float | None = None
    ) -> None:
        self.path = path
        self.chosen = chosen
        self.full_loss = full_loss

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> CompressionPathDisplay:
        """Plot the path of a fitted compressed forest.

        Parameters
        ----------
        estimator : CompressedForestRegressor or CompressedForestClassifier
            Fitted.
        ax : matplotlib Axes, default=None
            Where to; None makes a figure.

        Returns
        -------
        CompressionPathDisplay

        Raises
        ------
        ImportError
            Without matplotlib.
        sklearn.exceptions.NotFittedError
            When `estimator` is not fitted.
        TypeError
            When it has no path.
        """
        _pyplot(f"{cls.__name__}.from_estimator")
        check_is_fitted(estimator)
        if not hasattr(estimator, "path_"):
            raise TypeError(f"estimator must be a compressed forest, which has `path_`, got {type(estimator).__name__}")
        full_loss = getattr(estimator, "full_loss_", None)
        return cls(estimator.path_, chosen=estimator.l1_norm_, full_loss=full_loss).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> CompressionPathDisplay:
        """Plot the path.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to; None makes a figure.

        Returns
        -------
        CompressionPathDisplay
            This object, with the attributes set.

        Raises
        ------
        ImportError
            Without matplotlib.
        """
        plt = _pyplot(f"{type(self).__name__}.plot")
        if ax is None:
            _, ax = plt.subplots()
        norms = self.path["l1_norm"]
        lines: dict[str, Any] = {}
        (lines["train_loss"],) = ax.plot(norms, self.path["train_loss"], color="C0", linestyle=":", label="training")
        if "test_loss_mean" in self.path:
            mean, std = self.path["test_loss_mean"], self.path["test_loss_std"]
            (lines["test_loss"],) = ax.plot(norms, mean, color="C0", label="cross-validation")
            lines["test_loss_std"] = ax.fill_between(norms, mean - std, mean + std, color="C0", alpha=0.15, linewidth=0)
        if self.full_loss is not None:
            lines["full_loss"] = ax.axhline(self.full_loss, color="C0", linestyle="--", linewidth=0.8, label="forest")
        if self.chosen is not None:
            lines["chosen"] = ax.axvline(self.chosen, color="0.5", linewidth=0.8)
        size_ax = ax.twinx()
        (lines["n_test_nodes"],) = size_ax.plot(norms, self.path["n_test_nodes"], color="C1", label="test nodes")
        ax.set_xlabel("ℓ1 norm of the coefficients")
        ax.set_ylabel("loss")
        ax.set_ylim(bottom=min(0.0, float(np.min(self.path["train_loss"]))))
        size_ax.set_ylabel("test nodes")
        size_ax.set_ylim(bottom=0)
        labelled = [line for line in lines.values() if not line.get_label().startswith("_")]
        ax.legend(handles=labelled, frameon=False)
        self.ax_, self.size_ax_, self.figure_, self.lines_ = ax, size_ax, ax.figure, lines
        return self
