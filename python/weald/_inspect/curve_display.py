"""The display of the curves of boosting."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from weald._fit.boosting import BaseBoosting
from weald._input.checks import Float
from weald._input.messages import kind_of
from weald._inspect.displays import pyplot, style

_STYLES = {"training": ":", "validation": "-"}


class BoostingCurveDisplay:
    """Loss or score of boosting after each stage, on training samples, validation samples and `eval_sets`.

    Use `from_estimator` to create it; plotting needs matplotlib.

    >>> import weald, matplotlib
    >>> matplotlib.use("Agg")
    >>> boosting = weald.GradientBoostingRegressor(n_estimators=3).fit([[0.0], [1.0]] * 9, [0.0, 1.0] * 9)
    >>> weald.inspection.BoostingCurveDisplay.from_estimator(boosting).ax_.get_ylabel()
    'loss (squared_error)'

    Parameters
    ----------
    curves : dict of ndarray of shape (n_stages,)
        "training" and "validation", where they are known: one value for each stage, also beyond those that were kept.
    eval_curves : dict of ndarray of shape (n_stages,) or None, default=None
        The values on other sets, by the name of the set.
    n_kept : int or None, default=None
        Number of stages that the model has, which a vertical line marks. None draws no line.
    ylabel : str, default="loss"
        Label of the vertical axis.
    name : str or None, default=None
        Name of the model, with which the labels in the legend begin.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        What was plotted.
    lines_, eval_lines_ : dict of matplotlib artists
        The lines of `curves`, with "kept", the vertical line, and of `eval_curves`, by their names.
    """

    def __init__(
        self,
        curves: dict[str, Float],
        eval_curves: dict[str, Float] | None = None,
        *,
        n_kept: int | None = None,
        ylabel: str = "loss",
        name: str | None = None,
    ) -> None:
        self.curves = curves
        self.eval_curves = eval_curves
        self.n_kept = n_kept
        self.ylabel = ylabel
        self.name = name

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        *,
        which: Literal["loss", "score"] = "loss",
        name: str | None = None,
        ax: object = None,
        line_kw: dict[str, Any] | None = None,
        kept_kw: dict[str, Any] | None = None,
    ) -> BoostingCurveDisplay:
        """Plot the curves of a fitted model.

        Parameters
        ----------
        estimator : GradientBoostingRegressor or GradientBoostingClassifier
            A fitted model.
        which : {"loss", "score"}, default="loss"
            "loss" plots `train_score_`, and if they exist `validation_score_` and the losses of `eval_results_`.
            "score" plots `validation_metric_` and the scores of `eval_results_` of models with `scoring`.
        name, ax, line_kw, kept_kw : str, matplotlib Axes, dict, dict
            As in `plot`.

        Returns
        -------
        BoostingCurveDisplay
        """
        pyplot(f"{cls.__name__}.from_estimator")
        if not isinstance(estimator, BaseBoosting):
            raise TypeError(f"estimator must be a gradient boosting model of weald, got {kind_of(estimator)}")
        check_is_fitted(estimator)
        if not isinstance(which, str) or which not in ("loss", "score"):
            raise ValueError(f"which must be 'loss' or 'score', got {which!r}")
        fitted = estimator._twin()
        attributes = {"training": "train_score_", "validation": "validation_score_"}
        if which == "score":
            attributes = {"validation": "validation_metric_"}
        curves = {
            key: getattr(fitted, attribute) for key, attribute in attributes.items() if hasattr(fitted, attribute)
        }
        sets = getattr(fitted, "eval_results_", {})
        eval_curves = {key: found[which] for key, found in sets.items() if which in found}
        if not curves and not eval_curves:
            raise ValueError(
                f"which must be 'loss', since the {type(estimator).__name__} was fitted without scoring, got 'score'"
            )
        measure = fitted._loss.name if which == "loss" else fitted.scoring
        ylabel = f"{which} ({measure})" if isinstance(measure, str) else which
        display = cls(curves, eval_curves, n_kept=fitted.n_estimators_, ylabel=ylabel, name=name)
        return display.plot(ax, line_kw=line_kw, kept_kw=kept_kw)

    def plot(
        self,
        ax: Any = None,
        *,
        name: str | None = None,
        line_kw: dict[str, Any] | None = None,
        kept_kw: dict[str, Any] | None = None,
    ) -> BoostingCurveDisplay:
        """Plot the curves.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to plot on. None creates a figure.
        name : str or None, default=None
            Name of the model in the legend. None uses the name that was given when the display was created.
        line_kw, kept_kw : dict or None, default=None
            Keyword arguments of `matplotlib.axes.Axes` for all curves (`plot`), and for the line at the number of
            stages (`axvline`).

        Returns
        -------
        BoostingCurveDisplay
            This object, with the attributes set.
        """
        plt = pyplot(f"{type(self).__name__}.plot")
        from matplotlib.lines import Line2D

        name = self.name if name is None else name
        prefix = "" if name is None else f"{name}, "
        kept = style("kept_kw", kept_kw, Line2D, color="0.5", linewidth=0.8)

        def curve(label: str, values: Float, linestyle: str) -> object:
            # A line with a single point is invisible.
            marker = "." if len(values) == 1 else None
            drawn = style("line_kw", line_kw, Line2D, linestyle=linestyle, marker=marker, label=prefix + label)
            return axes.plot(np.arange(1, len(values) + 1), values, **drawn)[0]

        style("line_kw", line_kw, Line2D)  # an error leaves no empty figure behind
        axes = plt.subplots()[1] if ax is None else ax
        lines = {key: curve(key, values, _STYLES.get(key, "-")) for key, values in self.curves.items()}
        eval_lines = {key: curve(key, values, "--") for key, values in (self.eval_curves or {}).items()}
        if self.n_kept is not None:
            label = f"{prefix}{self.n_kept} stage{'' if self.n_kept == 1 else 's'} kept"
            lines["kept"] = axes.axvline(self.n_kept, **({"label": label} | kept))
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.set(xlabel="number of stages", ylabel=self.ylabel)
        axes.legend()
        self.ax_, self.figure_, self.lines_, self.eval_lines_ = axes, axes.figure, lines, eval_lines
        return self
