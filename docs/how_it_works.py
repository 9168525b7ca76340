"""Pictures of the page "How it works", of small fits.

    python docs/how_it_works.py

Each function fits a small model, computes again what the picture shows, and asserts that the model has it. The pictures
are written to `_static/how_*.png`, in two themes.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import weald
from weald.projection import GaussianProjection

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benches" / "thesis"))

from _pictures import BLUE, ORANGE, faint, ink, picture

HERE = Path(__file__).resolve().parent
SPLIT_SEED = 45  # of data whose feature has entries on both sides of zero


def gini(counts: np.ndarray) -> np.ndarray:
    """The Gini index of counts of classes, along the last axis."""
    total = counts.sum(axis=-1, keepdims=True)
    return 1 - ((counts / np.maximum(total, 1)) ** 2).sum(axis=-1)


def cuts(column: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Thresholds of a column of a node, and the decrease of the Gini index at each.

    Only stored entries are visited, in ascending order: first the negative ones, then all zeros at once, whose counts
    are those of the node minus those of the entries, then the positive ones.
    """
    node = np.bincount(y, minlength=2)
    stored = np.flatnonzero(column)
    zeros = node - np.bincount(y[stored], minlength=2)
    steps = [(float(column[i]), np.eye(2, dtype=int)[y[i]]) for i in stored]
    steps = sorted([*steps, (0.0, zeros)], key=lambda step: step[0])
    values = np.array([value for value, _ in steps])
    left = np.cumsum([counts for _, counts in steps], axis=0)
    ends = np.flatnonzero(np.diff(values) > 0)
    left = left[ends]
    n_left, n = left.sum(axis=1), node.sum()
    inside = n_left * gini(left) + (n - n_left) * gini(node - left)
    return (values[ends] + values[ends + 1]) / 2, gini(node) - inside / n


def one_split() -> Any:
    """The split of a child of the root, from the stored entries of its samples."""
    rng = np.random.default_rng(SPLIT_SEED)
    X = sp.random_array(
        (40, 10), density=0.3, rng=rng, data_sampler=rng.normal
    ).toarray()
    X = X.round(1)
    signal = 2 * X[:, 2] + 1.5 * X[:, 6] + rng.normal(scale=0.6, size=40)
    y = (signal > 0).astype(int)
    model = weald.DecisionTreeClassifier(max_depth=2, random_state=0)
    tree = model.fit(sp.csc_array(X.astype(np.float32)), y).tree_
    root, left = 0, 1
    in_left = X[:, tree.feature[root]] <= tree.threshold[root]
    right = int(tree.children_right[root])
    node = left if in_left.sum() > (~in_left).sum() else right
    is_inside = in_left if node == left else ~in_left
    feature, threshold = int(tree.feature[node]), float(tree.threshold[node])

    column, labels = X[is_inside, feature], y[is_inside]
    thresholds, decrease = cuts(column, labels)
    best = int(decrease.argmax())
    assert abs(thresholds[best] - threshold) < 1e-6  # float32 of decimals
    for other in range(X.shape[1]):
        found = cuts(X[is_inside, other], labels)[1]
        assert found.max(initial=0) <= decrease[best] + 1e-12  # rounding
    return X, is_inside, feature, column, labels, thresholds, decrease


def draw_split(plt: Any) -> Any:
    X, is_inside, feature, column, labels, thresholds, decrease = one_split()
    figure = plt.figure(figsize=(7.4, 4.2))
    grid = figure.add_gridspec(2, 2, width_ratios=[1, 1.75], height_ratios=[1.5, 1])
    matrix, values = figure.add_subplot(grid[:, 0]), figure.add_subplot(grid[0, 1])
    scores = figure.add_subplot(grid[1, 1], sharex=values)

    order = np.argsort(~is_inside, kind="stable")
    X, n_inside = X[order], int(is_inside.sum())
    rows, columns = np.nonzero(X)
    is_read = (columns == feature) & (rows < n_inside)
    # Squares of stored entries: those of the node in the column, and all others.
    look = {"marker": "s", "linewidths": 0}
    matrix.scatter(columns[~is_read], rows[~is_read], s=14, color=faint(plt), **look)
    matrix.scatter(columns[is_read], rows[is_read], s=26, color=BLUE, **look)
    box = (feature - 0.5, -0.7), 1, n_inside + 0.2
    matrix.add_patch(plt.Rectangle(*box, fill=False, edgecolor=BLUE, linewidth=1.3))
    matrix.axhline(n_inside - 0.5, color=ink(plt), linewidth=0.8, linestyle="--")
    for at, name in (
        ((n_inside - 1) / 2, "samples of the node"),
        ((n_inside + len(X) - 1) / 2, "other samples"),
    ):
        matrix.text(-1.1, at, name, rotation=90, ha="right", va="center")
    matrix.set(xlim=(-1, X.shape[1]), ylim=(len(X), -1.2), yticks=[], xticks=[feature])
    matrix.set_xticklabels([f"feature {feature}"])
    matrix.set_title("stored entries of X")
    matrix.grid(visible=False)

    # Samples along the feature, stacked where values are equal; all zeros are one box.
    is_zero = column == 0
    heights: dict[float, int] = {}
    for label, marker, colour in ((0, "o", BLUE), (1, "D", ORANGE)):
        x, height = [], []
        for value in column[~is_zero & (labels == label)]:
            heights[value] = heights.get(value, -1) + 1
            x.append(value)
            height.append(heights[value])
        values.plot(x, height, marker, color=colour, markersize=6)
    n_ones = int(labels[is_zero].sum())
    values.plot([0], [0], "s", color=faint(plt), markersize=9)
    values.annotate(
        f"{is_zero.sum()} zeros, {n_ones} of class 1:\nthe node minus its entries",
        (0, 0.25),
        (-0.05, 2),
        ha="right",
        va="bottom",
        arrowprops={"arrowstyle": "-", "color": faint(plt), "relpos": (1, 0)},
    )
    values.text(0, 1.04, "● class 0", color=BLUE, transform=values.transAxes)
    values.text(0.21, 1.04, "◆ class 1", color=ORANGE, transform=values.transAxes)
    values.set(ylim=(-0.6, 4.2), yticks=[])
    values.spines["left"].set_visible(False)
    values.tick_params(labelbottom=False)
    values.set_title("the node along this feature", pad=20)

    best = int(decrease.argmax())
    colours = [BLUE if i == best else faint(plt) for i in range(len(decrease))]
    scores.vlines(thresholds, 0, decrease, colors=colours, linewidth=2.4)
    scores.plot(thresholds[best], decrease[best], "o", color=BLUE, markersize=6)
    values.axvline(thresholds[best], color=BLUE, linewidth=1, linestyle="--")
    for name, move, side in (("left child", -6, "right"), ("right child", 6, "left")):
        values.annotate(
            name,
            (thresholds[best], 3.6),
            (move, 0),
            textcoords="offset points",
            ha=side,
            color=BLUE,
        )
    scores.annotate(
        f"best cut: {thresholds[best]:.2f}",
        (thresholds[best], decrease[best]),
        (8, -2),
        textcoords="offset points",
        color=BLUE,
        va="center",
        weight="bold",
    )
    scores.set(
        ylim=(0, 1.2 * decrease.max()),
        xlabel=f"value of feature {feature}",
        ylabel="decrease of\nthe Gini index",
    )
    return figure


def shades(plt: Any, n_sides: int) -> Any:
    """From the ground to blue; with two sides, from orange over the ground to blue."""
    from matplotlib.colors import LinearSegmentedColormap

    ground = plt.rcParams["axes.facecolor"]
    cycle = plt.rcParams["axes.prop_cycle"].by_key()["color"]
    ends = [cycle[1], ground, cycle[0]] if n_sides == 2 else [ground, cycle[0]]
    return LinearSegmentedColormap.from_list("shades", ends)


def by_leaf(leaves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The samples in the order of their leaves, and where a new leaf begins."""
    order = np.argsort(leaves, kind="stable")
    return order, np.flatnonzero(np.diff(leaves[order])) + 0.5


def heat(axis: Any, values: np.ndarray, colours: Any, largest: float) -> Any:
    """Draws a matrix; colours of two sides have the same length."""
    low = -largest if values.min() < 0 else 0
    drawn = axis.imshow(
        values,
        cmap=colours,
        vmin=low,
        vmax=largest,
        aspect="auto",
        interpolation="nearest",
    )
    axis.set(xticks=[], yticks=[])
    axis.grid(visible=False)
    for spine in axis.spines.values():
        spine.set_visible(True)
    return drawn


def divide(axis: Any, places: np.ndarray, colour: str) -> None:
    for place in places:
        axis.axhline(place, color=colour, linewidth=0.9)


def groups(n_outputs: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Samples of four groups, which X tells apart, with the labels of their group."""
    rng = np.random.default_rng(seed)
    group = rng.integers(4, size=60)
    centres = 2 * np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]])
    X = np.column_stack(
        [centres[group] + rng.normal(size=(60, 2)), rng.normal(size=(60, 4))]
    )
    chance = np.where(rng.random((4, n_outputs)) < 0.3, 0.8, 0.06)
    return X, (rng.random((60, n_outputs)) < chance[group]).astype(float)


def one_projection() -> Any:
    """A tree that is grown on three combinations of forty outputs."""
    X, Y = groups(40, seed=3)
    phi = np.asarray(GaussianProjection().draw(40, 3, 0))
    tree = weald.DecisionTreeRegressor(
        max_leaf_nodes=4, output_projection=phi, random_state=0
    ).fit(X, Y)
    Z = Y @ phi.T
    same = weald.DecisionTreeRegressor(max_leaf_nodes=4, random_state=0).fit(X, Z)
    leaves = tree.apply(X)
    assert np.array_equal(leaves, same.apply(X))
    found = tree.predict(X)
    for leaf in np.unique(leaves):
        means = Y[leaves == leaf].mean(axis=0)
        assert np.allclose(found[leaves == leaf], means)  # float32 of leaves
    return Y, phi, Z, found, leaves


def draw_projection(plt: Any) -> Any:
    Y, phi, Z, found, leaves = one_projection()
    order, places = by_leaf(leaves)
    figure, axes = plt.subplots(
        1, 4, figsize=(7.4, 3.8), width_ratios=[40, 6, 6, 40], gridspec_kw={"wspace": 0}
    )
    one, two = shades(plt, 1), shades(plt, 2)
    panels = [
        (Y[order], one, 1, "Y: 60 samples", "40 outputs"),
        (phi.T, two, np.abs(phi).max(), "Φᵀ", "q = 3"),
        (Z[order], two, np.abs(Z).max(), "Y Φᵀ", "q = 3"),
        (found[order], one, 1, "what the leaves predict", "40 outputs"),
    ]
    for axis, (values, colours, largest, title, below) in zip(
        axes, panels, strict=True
    ):
        heat(axis, values, colours, largest)
        axis.set_title(title, loc="center")
        axis.set_xlabel(below)
    for axis in (axes[0], axes[2], axes[3]):
        divide(axis, places, ink(plt))
    axes[0].set_ylabel("samples, by leaf of the tree")
    axes[1].set_ylabel("outputs")
    for axis, sign in zip(axes, ("×", "=", "→"), strict=False):
        axis.text(
            1.0,
            0.5,
            f" {sign} ",
            transform=axis.transAxes,
            fontsize=15,
            va="center",
        )
    return figure


def one_stage() -> Any:
    """The first stage of boosting with thirty outputs, at learning rate 1."""
    X, Y = groups(30, seed=5)
    model = weald.GradientBoostingClassifier(
        n_estimators=1,
        learning_rate=1,
        output_strategy="projected",
        max_leaf_nodes=4,
        random_state=0,
    ).fit(X, Y.astype(int))
    start = Y.mean(axis=0)
    before = Y - start
    leaves = model.apply(X)[:, 0]
    # The engine's scores are half the logarithms of odds, so its λ is 4 of this one.
    penalty = model.plan_["l2_regularization"] / 4
    steps = np.empty_like(Y)
    for leaf in np.unique(leaves):
        inside = leaves == leaf
        curvature = inside.sum() * start * (1 - start)
        steps[inside] = before[inside].sum(axis=0) / (curvature + penalty)
    scores = np.log(start / (1 - start)) + steps
    assert np.allclose(model.decision_function(X), scores, atol=1e-4)  # float32
    after = Y - 1 / (1 + np.exp(-scores))
    return before, steps, after, leaves


def draw_stage(plt: Any) -> Any:
    before, steps, after, leaves = one_stage()
    order, places = by_leaf(leaves)
    figure, axes = plt.subplots(1, 3, figsize=(7.4, 3.9))
    colours = shades(plt, 2)
    panels = [
        (before, 1, "before: y − p", "negative gradient"),
        (steps, np.abs(steps).max(), "one tree: a step for each\nleaf and output", ""),
        (after, 1, "after: y − p", "negative gradient"),
    ]
    for axis, (values, largest, title, name) in zip(axes, panels, strict=True):
        drawn = heat(axis, values[order], colours, largest)
        divide(axis, places, ink(plt))
        axis.set_title(title, loc="center")
        axis.set_xlabel("30 outputs")
        figure.colorbar(
            drawn,
            ax=axis,
            location="bottom",
            label=name or "step of the score (log-odds)",
            aspect=14,
            shrink=0.9,
        ).outline.set_visible(False)
    axes[0].set_ylabel("60 samples, by leaf")
    return figure


PICTURES = {
    "how_split.png": draw_split,
    "how_projection.png": draw_projection,
    "how_stage.png": draw_stage,
}


def main() -> None:
    for name, draw in PICTURES.items():
        picture(HERE / "_static" / name, draw)


if __name__ == "__main__":
    main()
