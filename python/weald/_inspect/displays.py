"""Displays of curves, paths, coverage and reliability."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from types import ModuleType
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from weald._around import calibrated
from weald._around.unseen import check_scores, scores_at_least
from weald._fit.boosting import BaseBoosting
from weald._input import checks, targets
from weald._input.checks import MOST, Float, check_is_instance, floats, integer, is_integer, named
from weald._input.frames import check_same_names, names_of
from weald._input.messages import described, kind_of
from weald._input.sparse import is_sparse
from weald._parameters.types import MatrixLike, SampleWeight, YWeight
from weald._ranking.outputs import check_names_of_outputs
from weald._ranking.ranks import are_entries_in, without


def pyplot(caller: str) -> ModuleType:
    """`matplotlib.pyplot`, or an ImportError that names the caller."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(f"{caller} requires matplotlib: install it with `pip install matplotlib`") from error
    return plt


def style(name: str, given: dict[str, Any] | None, artist: type, /, **defaults: object) -> dict[str, Any]:
    """The default keyword arguments of matplotlib, replaced by those that are given as the parameter `name`.

    `artist` is the class that defines the aliases of keywords, such as `ls` for `linestyle`.
    """
    if given is None:
        return defaults
    if not isinstance(given, dict):
        raise TypeError(
            f"{name} must be a dict of keyword arguments of matplotlib, or None, got a {type(given).__name__}"
        )
    from matplotlib.cbook import normalize_kwargs

    return defaults | normalize_kwargs(given, artist)


def checked_names(what: str, names: Sequence[Any] | None, expected: int, meaning: str) -> list[str] | None:
    if names is None:
        return None
    with named(what):
        is_list = not isinstance(names, str) and not is_sparse(names) and hasattr(names, "__len__") and np.ndim(names)
    if not is_list or len(names) != expected:
        got = f"{len(names)} names" if is_list else described(names)
        raise ValueError(f"{what} must have length {expected}, {meaning}, got {got}")
    return [str(name) for name in names]


def bars(
    caller: str,
    values: Float,
    names: Sequence[str] | None,
    most: tuple[str, object],
    ax: Any,
    bar_kw: dict[str, Any] | None,
    spread: Float | None = None,
) -> Any:
    """Horizontal bars of the `most` values of largest magnitude, the largest on top, with these names or "feature_0"."""
    plt = pyplot(caller)
    from matplotlib.patches import Rectangle

    drawn = style("bar_kw", bar_kw, Rectangle)
    order = np.argsort(-np.abs(values), kind="stable")[: integer(*most, 1)][::-1]
    axes = plt.subplots(layout="constrained")[1] if ax is None else ax
    found = axes.barh(range(len(order)), values[order], xerr=None if spread is None else spread[order], **drawn)
    axes.set_yticks(range(len(order)), [f"feature_{j}" if names is None else names[j] for j in order])
    return found


_ALPHAS = (0.5, 0.4, 0.3, 0.2, 0.1, 0.05)


@dataclass(eq=False, repr=False)
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

    level: Float
    coverage: Float
    size: Float
    _: KW_ONLY
    size_label: str = "size"
    name: str | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: MatrixLike,
        y: MatrixLike,
        sample_weight: SampleWeight = None,
        *,
        y_weight: YWeight = None,
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
        check_names_of_outputs(estimator, y)
        values = np.sort(np.atleast_1d(floats(_ALPHAS if alphas is None else alphas, "alphas")))[::-1]
        rows = []
        size_label = "size"
        for alpha in values:
            found, classes = calibrated.found_by(estimator, X, calibrated.check_alpha(float(alpha)), joint=joint)
            predicted = calibrated.Predicted.of(found, classes)
            predicted, weights, *truth = predicted.scored(sample_weight, y, y_weight)
            (inside, mask), sizes = predicted.inside(*truth), predicted.sizes()
            if joint:
                with np.errstate(divide="ignore"):
                    whole = float(np.average(np.log(sizes).sum(axis=1), weights=weights))
                rows.append((calibrated.together(inside, mask, weights), whole))
            else:
                share = calibrated.averaged(calibrated.by_output(inside, mask, weights), "uniform_average")
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


_STYLES = {"training": ":", "validation": "-"}


@dataclass(eq=False, repr=False)
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

    curves: dict[str, Float]
    eval_curves: dict[str, Float] | None = None
    _: KW_ONLY
    n_kept: int | None = None
    ylabel: str = "loss"
    name: str | None = None

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
        checks.choice("which", which, "loss", "score")
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


@dataclass(eq=False, repr=False)
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

    path: dict[str, NDArray[Any]]
    _: KW_ONLY
    chosen: float | None = None
    full_loss: float | None = None
    name: str | None = None

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

        checks.choice("against", against, "l1_norm", "n_test_nodes")
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


@dataclass(eq=False, repr=False)
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

    mean_probability: list[Float]
    fraction_true: list[Float]
    n_cells: list[Float]
    _: KW_ONLY
    names: list[str] | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: MatrixLike,
        y: MatrixLike,
        *,
        y_weight: YWeight = None,
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
        check_names_of_outputs(estimator, y)
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
        y_weight: YWeight = None,
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
        why = "its columns must be those of y_true, in the same order"
        check_same_names(names_of(y_score, "y_score"), target.names, "y_score", why)
        truth = target.original
        scores = sparse.csr_array(y_score if is_sparse(y_score) else floats(y_score, "y_score"))
        if scores.shape != truth.shape:
            raise ValueError(f"y_score must have shape {truth.shape}, that of y_true, got {scores.shape}")
        if not ((scores.data >= 0) & (scores.data <= 1)).all():
            raise ValueError("y_score must be probabilities from 0 to 1, got other values")
        n_bins = integer("n_bins", n_bins, 1, MOST)
        checks.choice("strategy", strategy, "uniform", "quantile")
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
