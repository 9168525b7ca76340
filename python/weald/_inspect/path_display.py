"""The display of a compression path."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from weald._input.checks import check_is_instance
from weald._inspect.displays import pyplot, style


class CompressionPathDisplay:
    """Error and size of a compressed forest along its path.

    Use `from_estimator` to create it; plotting needs matplotlib.

    >>> import weald, numpy as np, matplotlib
    >>> matplotlib.use("Agg")
    >>> X = np.random.default_rng(0).random((90, 3))
    >>> small = weald.CompressedForestRegressor(cv=3, max_steps=20, random_state=0).fit(X, X[:, 0])
    >>> weald.inspection.CompressionPathDisplay.from_estimator(small).ax_.get_xlabel()
    'ℓ1 norm of the coefficients'

    Parameters
    ----------
    path : dict of ndarray
        `path_` of a compressed forest: "l1_norm", "train_loss", "n_test_nodes" and, with cross-validation,
        "test_loss_mean" and "test_loss_std".
    chosen : float or None, default=None
        Norm at which the path is cut.
    full_loss : float or None, default=None
        Test loss of the forest before compression.
    name : str or None, default=None
        Name of the model, with which the labels in the legend begin.

    Attributes
    ----------
    ax_, size_ax_, figure_ : matplotlib Axes, Axes or None, and Figure
        The losses, and the number of test nodes against the norm on the same horizontal axis.
    lines_ : dict of matplotlib artists
        "train_loss", and, if they exist, "test_loss", "test_loss_std", "full_loss", "chosen" and "n_test_nodes".
    """

    def __init__(
        self,
        path: dict[str, NDArray[Any]],
        *,
        chosen: float | None = None,
        full_loss: float | None = None,
        name: str | None = None,
    ) -> None:
        self.path = path
        self.chosen = chosen
        self.full_loss = full_loss
        self.name = name

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        *,
        against: Literal["l1_norm", "n_test_nodes"] = "l1_norm",
        name: str | None = None,
        ax: object = None,
        line_kw: dict[str, Any] | None = None,
        fill_between_kw: dict[str, Any] | None = None,
        size_line_kw: dict[str, Any] | None = None,
    ) -> CompressionPathDisplay:
        """Plot the path of a fitted compressed forest.

        Parameters
        ----------
        estimator : CompressedForestRegressor or CompressedForestClassifier
            A fitted model.
        against, name, ax : {"l1_norm", "n_test_nodes"}, str, matplotlib Axes
            As in `plot`.
        line_kw, fill_between_kw, size_line_kw : dict or None, default=None
            Styles, as in `plot`.

        Returns
        -------
        CompressionPathDisplay
        """
        pyplot(f"{cls.__name__}.from_estimator")
        check_is_instance(estimator)
        check_is_fitted(estimator)
        if not (hasattr(estimator, "path_") and hasattr(estimator, "l1_norm_")):
            raise TypeError(
                "estimator must be a compressed forest with `path_`, which files contain with keep_path=True alone, got "
                f"{type(estimator).__name__}"
            )
        full_loss = getattr(estimator, "full_loss_", None)
        display = cls(estimator.path_, chosen=estimator.l1_norm_, full_loss=full_loss, name=name)
        return display.plot(
            ax, against=against, line_kw=line_kw, fill_between_kw=fill_between_kw, size_line_kw=size_line_kw
        )

    def plot(
        self,
        ax: Any = None,
        *,
        against: Literal["l1_norm", "n_test_nodes"] = "l1_norm",
        name: str | None = None,
        line_kw: dict[str, Any] | None = None,
        fill_between_kw: dict[str, Any] | None = None,
        size_line_kw: dict[str, Any] | None = None,
    ) -> CompressionPathDisplay:
        """Plot the path.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to plot on. None creates a figure.
        against : {"l1_norm", "n_test_nodes"}, default="l1_norm"
            What is on the horizontal axis: the norm of the coefficients, with the number of test nodes on a second
            vertical axis, or this number, on a log scale and without steps that add no node.
        name : str or None, default=None
            Name of the model in the legend. None uses the name that was given when the display was created.
        line_kw, fill_between_kw, size_line_kw : dict or None, default=None
            Keyword arguments of `matplotlib.axes.Axes` for the losses (`plot`), for one standard deviation over the
            folds on each side of the mean (`fill_between`), and for the number of test nodes (`plot`).

        Returns
        -------
        CompressionPathDisplay
            This object, with the attributes set.
        """
        plt = pyplot(f"{type(self).__name__}.plot")
        from matplotlib.collections import PolyCollection
        from matplotlib.lines import Line2D

        if not isinstance(against, str) or against not in ("l1_norm", "n_test_nodes"):
            raise ValueError(f"against must be 'l1_norm' or 'n_test_nodes', got {against!r}")
        name = self.name if name is None else name
        prefix = "" if name is None else f"{name}, "
        test_style = style("line_kw", line_kw, Line2D, color="C0")
        color = test_style["color"]
        train_style = style("line_kw", line_kw, Line2D, color=color, linestyle=":")
        band_style = style("fill_between_kw", fill_between_kw, PolyCollection, facecolor=color, alpha=0.15, linewidth=0)
        size_style = style("size_line_kw", size_line_kw, Line2D, color="C1", label=f"{prefix}size")
        if ax is None:
            _, ax = plt.subplots()

        norms = self.path["l1_norm"]
        steps = np.arange(len(norms))
        if against == "n_test_nodes":
            # The last step of each size. A model without splits cannot be shown on a log scale.
            sizes = self.path["n_test_nodes"]
            steps = np.flatnonzero((sizes > 0) & np.append(np.diff(sizes) != 0, True))
        x = self.path[against][steps]

        lines: dict[str, Any] = {}
        (lines["train_loss"],) = ax.plot(
            x, self.path["train_loss"][steps], **({"label": f"{prefix}training"} | train_style)
        )
        if "test_loss_mean" in self.path:
            mean, std = self.path["test_loss_mean"][steps], self.path["test_loss_std"][steps]
            (lines["test_loss"],) = ax.plot(x, mean, **({"label": f"{prefix}cross-validation"} | test_style))
            lines["test_loss_std"] = ax.fill_between(x, mean - std, mean + std, **band_style)
        if self.full_loss is not None:
            lines["full_loss"] = ax.axhline(
                self.full_loss, color=color, linestyle="--", linewidth=0.8, label=f"{prefix}forest"
            )
        if self.chosen is not None:
            at = self.chosen
            if against == "n_test_nodes":
                at = self.path["n_test_nodes"][max(0, int(np.searchsorted(norms, self.chosen, side="right")) - 1)]
            lines["chosen"] = ax.axvline(at, color="0.5", linewidth=0.8, label=f"{prefix}chosen")
        size_ax = None
        if against == "l1_norm":
            size_ax = ax.twinx()
            (lines["n_test_nodes"],) = size_ax.plot(norms, self.path["n_test_nodes"], **size_style)
            size_ax.set_ylabel("number of test nodes", color=size_style["color"])
            size_ax.tick_params(axis="y", colors=size_style["color"])
            size_ax.set_ylim(bottom=0)
            ax.set_xlabel("ℓ1 norm of the coefficients")
        else:
            ax.set(xscale="log", xlabel="number of test nodes (log scale)")
        ax.set_ylabel("loss")
        ax.set_ylim(bottom=min(0.0, float(np.min(self.path["train_loss"]))))
        # With two vertical axes, no corner of the plot is always empty: the legend is below the plot.
        labelled = [*ax.get_legend_handles_labels()[0], *(size_ax.get_legend_handles_labels()[0] if size_ax else [])]
        ax.legend(handles=labelled, frameon=False, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.17))
        self.ax_, self.size_ax_, self.figure_, self.lines_ = ax, size_ax, ax.figure, lines
        return self
