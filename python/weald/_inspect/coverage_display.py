"""The display of coverage against the level that was asked for, with sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from weald._around import measures, ranked
from weald._input.checks import Float, floats, score_weights
from weald._inspect.displays import pyplot, style
from weald._parameters.types import MatrixLike

_ALPHAS = (0.5, 0.4, 0.3, 0.2, 0.1, 0.05)


class CoverageDisplay:
    """Coverage of intervals or sets against the level that was asked for, beside their size.

    Use `from_estimator` to create it; plotting needs matplotlib. Coverage on the diagonal is what was promised; of two
    models on the diagonal, the one with the smaller size says more.

    >>> import weald, numpy as np, matplotlib
    >>> matplotlib.use("Agg")
    >>> X = np.random.default_rng(0).random((300, 2))
    >>> model = weald.conformal.ConformalRegressor().fit(X, X[:, 0])
    >>> weald.conformal.CoverageDisplay.from_estimator(model, X, X[:, 0]).coverage.shape
    (6,)

    Parameters
    ----------
    level, coverage, size : ndarray of shape (n_levels,)
        The levels that were asked for, 1 − alpha, in increasing order, and the coverage and the size at each.
    size_label : str, default="size"
        Label of the vertical axis of sizes.
    name : str or None, default=None
        Name of the model in the legend.

    Attributes
    ----------
    axes_, figure_, lines_ : ndarray of shape (2,) of matplotlib Axes, Figure, and list of artists
        The axes of coverage and of size, the figure, and the lines.
    """

    def __init__(
        self,
        level: Float,
        coverage: Float,
        size: Float,
        *,
        size_label: str = "size",
        name: str | None = None,
    ) -> None:
        self.level = level
        self.coverage = coverage
        self.size = size
        self.size_label = size_label
        self.name = name

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: MatrixLike,
        y: MatrixLike,
        sample_weight: ArrayLike | None = None,
        *,
        y_weight: MatrixLike | None = None,
        alphas: ArrayLike | None = None,
        joint: bool = False,
        name: str | None = None,
        ax: Any = None,
        line_kw: dict[str, Any] | None = None,
    ) -> CoverageDisplay:
        """Plot the coverage and the size of the intervals or sets of a fitted model on samples that it has not seen.

        Parameters
        ----------
        estimator : ConformalRegressor or ConformalClassifier
            A fitted model, or a pipeline or search around one.
        X, y, sample_weight, y_weight : as in `score` of the estimator
            Samples with their true values or classes.
        alphas : array-like of float or None, default=None
            Values of alpha, above 0 and below 1, and not too small for the calibration samples. None are 0.5 to 0.05.
        joint : bool, default=False
            Whether regions of all outputs together are plotted, and the mean logarithm of their volume.
        name, ax, line_kw : str, sequence of two matplotlib Axes, and dict, or None, default=None
            As in `plot`. The name is that of the class if it is None.

        Returns
        -------
        CoverageDisplay
        """
        pyplot(f"{cls.__name__}.from_estimator")
        values = np.sort(np.atleast_1d(floats(_ALPHAS if alphas is None else alphas, "alphas")))[::-1]
        rows = []
        size_label = "size"
        for alpha in values:
            found, classes = measures.found_by(estimator, X, ranked.check_alpha(float(alpha)), joint=joint)
            predicted = measures.Predicted.of(found, classes)
            inside, mask = predicted.inside(y, y_weight)
            weights = score_weights(sample_weight, len(inside))
            sizes = predicted.sizes()
            if joint:
                with np.errstate(divide="ignore"):
                    whole = float(np.average(np.log(sizes).sum(axis=1), weights=weights))
                rows.append((measures.together(inside, mask, weights), whole))
            else:
                share = measures.averaged(measures.by_output(inside, mask, weights), "uniform_average")
                rows.append((share, float(np.average(sizes, axis=0, weights=weights).mean())))
            kind = "width" if predicted.intervals is not None else "number of classes"
            size_label = "mean log volume" if joint else f"mean {kind}"
        coverage, size = np.array(rows).reshape(-1, 2).T
        told = type(estimator).__name__ if name is None else name
        display = cls(1 - values, coverage, size, size_label=size_label, name=told)
        return display.plot(ax, line_kw=line_kw)

    def plot(
        self, ax: Any = None, *, name: str | None = None, line_kw: dict[str, Any] | None = None
    ) -> CoverageDisplay:
        """Plot coverage and size against the level.

        Parameters
        ----------
        ax : sequence of two matplotlib Axes or None, default=None
            Axes of coverage and of size. None creates a figure.
        name : str or None, default=None
            Name of the model in the legend. None uses the name that was given when the display was created.
        line_kw : dict or None, default=None
            Keyword arguments of `matplotlib.axes.Axes.plot` for both lines.

        Returns
        -------
        CoverageDisplay
            This object, with the attributes set.
        """
        plt = pyplot(f"{type(self).__name__}.plot")
        from matplotlib.lines import Line2D

        drawn = style("line_kw", line_kw, Line2D, marker="o", label=self.name if name is None else name)
        if ax is None:
            axes = plt.subplots(1, 2, layout="constrained")[1]
        else:
            axes = np.asarray(ax, dtype=object).ravel()
            if len(axes) != 2:
                raise ValueError(f"ax must be two Axes, one of coverage and one of size, got {len(axes)}")
        of_coverage, of_size = axes
        # Several models share one diagonal.
        if not any(line.get_gid() == "asked" for line in of_coverage.get_lines()):
            of_coverage.axline((0.5, 0.5), slope=1, color="0.5", linewidth=0.8, linestyle=":", gid="asked")
        self.lines_ = [
            of_coverage.plot(self.level, self.coverage, **drawn)[0],
            of_size.plot(self.level, self.size, **drawn)[0],
        ]
        of_coverage.set(xlabel="level asked for (1 − alpha)", ylabel="coverage")
        of_size.set(xlabel="level asked for (1 − alpha)", ylabel=self.size_label)
        if drawn.get("label") is not None:
            of_coverage.legend()
        self.axes_, self.figure_ = axes, of_coverage.figure
        return self
