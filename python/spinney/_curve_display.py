"""The picture of the curves of boosting."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from spinney._boosting_fit import BaseBoosting
from spinney._path_display import _pyplot
from spinney._validation import Float

_STYLES = {"training": ":", "validation": "-"}


class BoostingCurveDisplay:
    """Loss or score of boosting after each round, on training rows, validation rows and `eval_sets`.

    Made by `from_estimator`; needs matplotlib to plot.

    Parameters
    ----------
    curves : dict of ndarray of shape (n_rounds,)
        "training" and "validation", where they are known: one number for each round, from the first. They are not
        copied, and may go on beyond the rounds that were kept.
    eval_curves : dict of ndarray of shape (n_rounds,), default=None
        The same of other sets, by name.
    n_kept : int, default=None
        Rounds that the model has: where the mark is.
    ylabel : str, default="loss"
        What was measured.
    name : str, default=None
        Name of the model, to tell several in one picture apart: labels begin with it.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : dict of matplotlib artists
        Of `curves` by their names, and "kept", the mark, where `n_kept` is given.
    eval_lines_ : dict of matplotlib artists
        Of `eval_curves` by their names.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import load_diabetes
    >>> import spinney
    >>> X, y = load_diabetes(return_X_y=True)
    >>> boosting = spinney.GradientBoostingRegressor(early_stopping=True, random_state=0)
    >>> boosting = boosting.fit(X[:300], y[:300], eval_sets={"test": (X[300:], y[300:])})
    >>> display = spinney.inspection.BoostingCurveDisplay.from_estimator(boosting)
    >>> [text.get_text() for text in display.ax_.get_legend().get_texts()][:3]
    ['training', 'validation', 'test']
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
        estimator: Any,
        *,
        ax: Any = None,
        name: str | None = None,
        which: Literal["loss", "score"] = "loss",
    ) -> BoostingCurveDisplay:
        """Plot the curves of a fitted model.

        Parameters
        ----------
        estimator : GradientBoostingRegressor or GradientBoostingClassifier
            Fitted.
        ax : matplotlib Axes, default=None
            Where to; None makes a figure.
        name : str, default=None
            Labels begin with it: to tell models on the same axes apart.
        which : {"loss", "score"}, default="loss"
            "loss": `train_score_`, and where there are any `validation_score_` and the losses of `eval_results_`.
            "score": `validation_metric_` and the scores of `eval_results_`, of models with `scoring`; training rows
            have no score, unless they are among `eval_sets`.

        Returns
        -------
        BoostingCurveDisplay

        Raises
        ------
        ImportError
            Without matplotlib.
        sklearn.exceptions.NotFittedError
            When `estimator` is not fitted.
        TypeError
            When it is no boosting of spinney.
        ValueError
            For another `which`, and for scores of a model that has none.
        """
        _pyplot(f"{cls.__name__}.from_estimator")
        if not isinstance(estimator, BaseBoosting):
            what = f"the class {estimator.__name__}" if isinstance(estimator, type) else f"a {type(estimator).__name__}"
            raise TypeError(f"estimator must be a gradient boosting model of spinney, got {what}")
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
        measure = fitted._shared["loss"] if which == "loss" else fitted.scoring
        ylabel = f"{which} ({measure})" if isinstance(measure, str) else which
        display = cls(curves, eval_curves, n_kept=fitted.n_estimators_, ylabel=ylabel, name=name)
        return display.plot(ax=ax)

    def plot(self, *, ax: Any = None) -> BoostingCurveDisplay:
        """Plot the curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to; None makes a figure.

        Returns
        -------
        BoostingCurveDisplay
            This object, with the attributes set.

        Raises
        ------
        ImportError
            Without matplotlib.
        """
        plt = _pyplot(f"{type(self).__name__}.plot")
        if ax is None:
            _, ax = plt.subplots()
        prefix = "" if self.name is None else f"{self.name}, "

        def line(label: str, values: Float, style: str) -> Any:
            # A line of one point is nothing to see.
            marker = "." if len(values) == 1 else None
            (drawn,) = ax.plot(
                np.arange(1, len(values) + 1), values, linestyle=style, marker=marker, label=prefix + label
            )
            return drawn

        lines = {key: line(key, values, _STYLES.get(key, "-")) for key, values in self.curves.items()}
        eval_lines = {key: line(key, values, "--") for key, values in (self.eval_curves or {}).items()}
        if self.n_kept is not None:
            label = f"{prefix}{self.n_kept} round{'' if self.n_kept == 1 else 's'} kept"
            lines["kept"] = ax.axvline(self.n_kept, color="0.5", linewidth=0.8, label=label)
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set_xlabel("round")
        ax.set_ylabel(self.ylabel)
        ax.legend()
        self.ax_, self.figure_, self.lines_, self.eval_lines_ = ax, ax.figure, lines, eval_lines
        return self
