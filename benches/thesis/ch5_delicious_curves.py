"""Curves of chapter 5 on delicious: precision against the number q of projections, and against the features drawn.

A. Joly, Exploiting random projections and sparsity with random forests and gradient boosting methods (Liège, 2016),
section 5.3.1 (one tree; a forest with one Φ for all trees or one for each), 5.3.3 (q and features drawn at a node) and
5.3.4 (families of projections). One split, the original; forests of 100 fully grown trees with √p features a node
unless said otherwise; each point is the mean over seeds. The thesis prints these results as curves without numbers:
what it says of them in words is checked here, statement by statement, in `ch5_delicious_claims.csv`;
`ch5_delicious_curves.csv` has the points.

A curve has converged at q when its means from there on stay within one standard deviation (that of single runs, over
seeds, the greatest on the curve) of where it goes.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

import numpy as np
import weald
from _common import (
    Cells,
    fit_and_score,
    greet,
    log_of,
    mean_std,
    options,
    original,
    print_table,
    write_table,
)
from _pictures import BLUE, GOLD, GREEN, ORANGE, PURPLE, SKY, counts, heading, ink, name_lines, picture

D, P = 983, 500
LOG = log_of(D)
FAMILIES: dict[str, Any] = {
    "gaussian": "gaussian",
    "rademacher": "rademacher",
    "achlioptas": "achlioptas",
    "sparse": "sparse",
    "subsample": "subsample",
    "hadamard": "hadamard",
    "pca": "pca",
}
LABELS = {
    "none": "no projection",
    "gaussian": "Gaussian",
    "rademacher": "Rademacher, s = 1",
    "achlioptas": "Rademacher, s = 3",
    "sparse": "Rademacher, s = √d",
    "subsample": "subsampled outputs",
    "hadamard": "subsampled Hadamard",
    "pca": "principal components",
}
TREE_Q = (1, 2, 5, 10, 25, 50, 100, 200, 400, D)
FOREST_Q = (1, 2, 5, 10, 25, 50, 75, 100, 200)
FAMILY_Q = (1, 2, 5, 10, 25, 50, 100, 200)
DRAWN = (1, 5, 22, 50, 125, 250, P)
"""Features drawn at a node; 22 = ⌊√p⌋."""
REPEATS = {"tree": 10, "forest": 5, "families": 3, "features": 3}
"""Seeds of each part. The thesis takes ten; a forest here costs seconds, some of `features` a minute."""
ROOT = 22


def wanted(part: str, trees: int, seeds: range, quick: bool) -> list[tuple[Any, ...]]:
    """Cells (model, family, scope, q, features, trees, seed). Parts share cells: Gaussian forests are in three."""
    take = (lambda grid: grid[::3]) if quick else (lambda grid: grid)
    none = "none"
    cells: list[tuple[Any, ...]] = []
    for seed in seeds:
        if part == "tree":
            cells.append(("tree", none, none, 0, P, 1, seed))
            cells += [("tree", "gaussian", "tree", q, P, 1, seed) for q in take(TREE_Q)]
        elif part == "forest":
            cells.append(("forest", none, none, 0, ROOT, trees, seed))
            for scope in ("tree", "forest"):
                cells += [("forest", "gaussian", scope, q, ROOT, trees, seed) for q in take(FOREST_Q)]
        elif part == "families":
            cells.append(("forest", none, none, 0, ROOT, trees, seed))
            cells += [("forest", f, "tree", q, ROOT, trees, seed) for f in FAMILIES for q in take(FAMILY_Q)]
        else:
            for k in take(DRAWN):
                cells.append(("forest", none, none, 0, k, trees, seed))
                cells += [("forest", "gaussian", "tree", q, k, trees, seed) for q in (1, LOG, 2 * LOG)]
    return cells


def cell(model: str, family: str, scope: str, q: int, features: int, trees: int, seed: int) -> dict[str, float]:
    parameters: dict[str, Any] = {"max_features": features, "random_state": seed}
    if family != "none":
        parameters |= {"output_projection": FAMILIES[family], "n_projections": q}
    if model == "tree":
        return fit_and_score(weald.DecisionTreeClassifier(**parameters), original("delicious"))
    if family != "none":
        parameters["projection_scope"] = scope
    return fit_and_score(
        weald.RandomForestClassifier(n_estimators=trees, n_jobs=1, **parameters), original("delicious")
    )


# ---- curves


class Curve:
    """Means and standard deviations along one axis, where there are results."""

    def __init__(self, cells: Cells, axis: str, grid: Sequence[int], **where: Any) -> None:
        points = [(x, cells.of("score", **(where | {axis: x}))) for x in grid]
        self.points = {x: mean_std(scores) for x, scores in points if scores}

    def __bool__(self) -> bool:
        return bool(self.points)

    def __getitem__(self, x: int) -> float:
        return self.points[x][0]

    def covers(self, grid: Sequence[int]) -> bool:
        """Whether there are enough results for a judgement: every point, and several runs."""
        return list(grid) == self.xs and self.spread > 0

    @property
    def xs(self) -> list[int]:
        return list(self.points)

    @property
    def means(self) -> list[float]:
        return [mean for mean, _ in self.points.values()]

    @property
    def spread(self) -> float:
        return max(std for _, std in self.points.values())

    def converges(self, to: float) -> int | None:
        """The smallest x from which on every mean is within one standard deviation of `to`."""
        found = None
        for x in reversed(self.xs):
            if abs(self[x] - to) > self.spread:
                break
            found = x
        return found


class Curves:
    """All curves of one set of cells."""

    def __init__(self, cells: Cells, trees: int) -> None:
        tree: dict[str, Any] = {"model": "tree", "trees": 1}
        forest: dict[str, Any] = {"model": "forest", "trees": trees}
        self.tree = Curve(cells, "q", TREE_Q, family="gaussian", **tree)
        self.tree_none = mean_std(cells.of("score", family="none", **tree) or [np.nan])
        self.own = Curve(cells, "q", FOREST_Q, family="gaussian", scope="tree", features=ROOT, **forest)
        self.shared = Curve(cells, "q", FOREST_Q, family="gaussian", scope="forest", features=ROOT, **forest)
        self.none = mean_std(cells.of("score", family="none", features=ROOT, **forest) or [np.nan])
        self.families = {
            f: Curve(cells, "q", FAMILY_Q, family=f, scope="tree", features=ROOT, **forest) for f in FAMILIES
        }
        self.drawn = {0: Curve(cells, "features", DRAWN, family="none", **forest)} | {
            q: Curve(cells, "features", DRAWN, q=q, family="gaussian", scope="tree", **forest)
            for q in (1, LOG, 2 * LOG)
        }


# ---- what the thesis says


def claims(c: Curves) -> list[dict[str, str]]:
    rows: list[dict[str, str]] = []

    def claim(section: str, text: str, holds: bool, found: str) -> None:
        rows.append({"section": section, "statement": text, "holds": "yes" if holds else "no", "found": found})

    if c.tree.covers(TREE_Q):
        q = c.tree.converges(c.tree[D])
        claim("5.3.1", "one tree: converged around q = 200", q is not None and 100 <= q <= 400, f"q = {q}")
        loss = c.tree_none[0] - c.tree[200]
        claim(
            "5.3.1",
            "one tree: a slight loss against no projection at q = 200",
            0 < loss < 0.1 * c.tree_none[0],
            f"{c.tree[200]:.4f} against {c.tree_none[0]:.4f}",
        )
        if c.none[0] > 0:
            ratio = c.none[0] / c.tree_none[0]
            claim("5.3.1", "a forest is almost twice as precise as a tree", 1.6 <= ratio <= 2.2, f"{ratio:.2f} times")
    if c.own.covers(FOREST_Q) and c.shared.covers(FOREST_Q):
        own, shared = c.own.converges(c.own.means[-1]), c.shared.converges(c.shared.means[-1])
        claim("5.3.1", "one Φ a tree: converged at q = 25", own is not None and own <= 25, f"q = {own}")
        claim("5.3.1", "one Φ for all: converged at q = 75", shared is not None and shared <= 75, f"q = {shared}")
        claim(
            "5.3.1",
            "one Φ a tree converges at a smaller q than one Φ for all",
            own is not None and (shared is None or own < shared),
            f"q = {own} against {shared}",
        )
        ahead = [q for q in FOREST_Q if c.own[q] >= c.shared[q]]
        less = min(c.own[q] - c.shared[q] for q in FOREST_Q)
        claim(
            "5.3.1",
            "one Φ a tree is never worse than one Φ for all (means)",
            less >= -max(c.own.spread, c.shared.spread),
            f"ahead at {len(ahead)} of {len(c.own.xs)} q, least difference {less:+.4f}",
        )
        best = max(c.own.xs, key=lambda q: c.own[q])
        claim(
            "5.3.1",
            "one Φ a tree slightly outperforms no projection",
            c.own[best] > c.none[0],
            f"{c.own[best]:.4f} at q = {best} against {c.none[0]:.4f}",
        )
    f = c.families
    if all(curve.covers(FAMILY_Q) for curve in f.values()):
        for name, label in (("rademacher", "Rademacher (s = 1)"), ("hadamard", "subsampled Hadamard")):
            far = max(abs(f[name][q] - f["gaussian"][q]) for q in f[name].xs)
            bound = 2 * max(f[name].spread, f["gaussian"].spread)
            claim(
                "5.3.4",
                f"{label} behaves like Gaussian",
                far <= bound,
                f"means differ by at most {far:.4f}, two standard deviations are {bound:.4f}",
            )
        dense, third = (f[name].converges(c.none[0]) for name in ("rademacher", "achlioptas"))
        claim(
            "5.3.4",
            "Rademacher converges faster with s = 3 than with s = 1",
            third is not None and (dense is None or third < dense),
            f"q = {third} against {dense}",
        )
        best = max(f["sparse"].xs, key=lambda q: f["sparse"][q])
        claim("5.3.4", "s = √d is best at q = 1", best == 1, f"best at q = {best}: {f['sparse'][best]:.4f}")
        claim(
            "5.3.4",
            "s = √d at q = 1 improves over no projection",
            f["sparse"][1] > c.none[0],
            f"{f['sparse'][1]:.4f} against {c.none[0]:.4f}",
        )
        sub = f["subsample"]
        best = max(sub.xs, key=lambda q: sub[q])
        claim(
            "5.3.4",
            "subsampled outputs improve notably over no projection",
            sub[best] > c.none[0] + max(sub.spread, c.none[1]),
            f"{sub[best]:.4f} at q = {best} against {c.none[0]:.4f}",
        )
        slow, others = sub.converges(c.none[0]), [f[n].converges(c.none[0]) for n in ("achlioptas", "sparse")]
        claim(
            "5.3.4",
            "subsampled outputs converge slower than s = 3 and s = √d",
            all(q is not None and (slow is None or slow > q) for q in others),
            f"q = {slow} against {others[0]} and {others[1]}",
        )
        for name in ("achlioptas", "sparse", "subsample"):
            last = f[name].xs[-1]
            claim(
                "5.3.4",
                f"{LABELS[name]} converges to no projection",
                f[name].converges(c.none[0]) is not None,
                f"{f[name][last]:.4f} at q = {last} against {c.none[0]:.4f}",
            )
        behind = [q for q in f["pca"].xs if f["pca"][q] < f["gaussian"][q] - f["gaussian"].spread]
        claim(
            "5.3.4",
            "principal components are far less effective than Gaussian",
            len(behind) > len(f["pca"].xs) / 2,
            f"behind by more than one standard deviation at {len(behind)} of {len(f['pca'].xs)} q; "
            f"mean difference {statistics.fmean(f['pca'][q] - f['gaussian'][q] for q in f['pca'].xs):+.4f}",
        )
    drawn = c.drawn
    if all(curve.covers(DRAWN) for curve in drawn.values()):
        drop = {q: max(curve.means) - curve.means[-1] for q, curve in drawn.items()}
        claim(
            "5.3.3",
            "few projections: more robust as more features are drawn",
            all(drop[q] < drop[0] for q in drop if q),
            "from the best to the last: "
            + ", ".join(f"{'none' if q == 0 else f'q = {q}'} {x:.4f}" for q, x in drop.items()),
        )
        best_none, best = max(drawn[0].means), max(max(drawn[q].means) for q in drawn if q)
        claim(
            "5.3.3",
            "tuning q and the features drawn together does not improve over no projection",
            best <= best_none + drawn[0].spread,
            f"best {best:.4f} against {best_none:.4f}",
        )
    return rows


# ---- pictures


def draw(axis: Any, curve: Curve, colour: str) -> Any:
    """Means as a line, one standard deviation of runs as a band."""
    xs, means = np.array(curve.xs), np.array(curve.means)
    spread = np.array([std for _, std in curve.points.values()])
    (line,) = axis.plot(xs, means, "o-", color=colour)
    axis.fill_between(xs, means - spread, means + spread, color=colour, alpha=0.15, linewidth=0)
    return line


def level(axis: Any, value: tuple[float, float], xs: Sequence[int], plt: Any) -> Any:
    """The score without projections, as a line over the whole axis."""
    (line,) = axis.plot([xs[0], xs[-1]], [value[0]] * 2, "--", color=ink(plt), linewidth=1)
    axis.fill_between(
        [xs[0], xs[-1]], value[0] - value[1], value[0] + value[1], color=ink(plt), alpha=0.08, linewidth=0
    )
    return line


Panel = tuple[str, list[tuple[str, Curve, str]], tuple[float, float] | None]


def panels(path: Any, title: str, x: str, ticks: Sequence[int], parts: list[Panel], alike: bool = True) -> None:
    """Panels one below the other, each with curves and optionally the score without projections."""

    def draw_all(plt: Any) -> Any:
        figure, axes = plt.subplots(len(parts), 1, figsize=(6.8, 1 + 2.7 * len(parts)), sharey=alike, squeeze=False)
        for axis, (name, curves, base) in zip(axes.flat, parts, strict=True):
            axis.set(xscale="log")
            lines = [(draw(axis, curve, colour), label) for label, curve, colour in curves]
            if base is not None:
                lines.append((level(axis, base, curves[0][1].xs, plt), "no projection"))
            counts(axis, "x", ticks)
            name_lines(axis, lines)
            axis.set_title(name)
            axis.set_ylabel("score")
        axes[-1, 0].set_xlabel(x)
        heading(
            figure,
            title,
            "score: label ranking average precision; means of runs; bands: one standard deviation",
        )
        return figure

    picture(path, draw_all)


def plot(c: Curves, out: Any) -> None:
    q = "n_projections"
    if c.tree and c.own and c.shared:
        panels(
            out / "ch5_delicious_curves.png",
            "Trees grown on random projections of 983 labels (delicious)",
            q,
            (1, 5, 25, 100, 400),
            [
                (
                    "random forest of 100 trees, Gaussian projections",
                    [("one for each tree", c.own, BLUE), ("one for all trees", c.shared, ORANGE)],
                    c.none,
                ),
                ("one tree, max_features=None", [("Gaussian", c.tree, BLUE)], c.tree_none),
            ],
            alike=False,
        )
    if all(c.families.values()):
        colours = dict(zip(FAMILIES, (BLUE, SKY, ORANGE, PURPLE, GOLD, GREEN, SKY), strict=True))
        groups = (
            ("dense projections", ("gaussian", "rademacher", "hadamard")),
            ("sparse projections", ("achlioptas", "sparse", "subsample")),
            ("not random", ("gaussian", "pca")),
        )
        panels(
            out / "ch5_delicious_families.png",
            "Forests of 100 trees by family of projections: delicious, 983 labels",
            q,
            (1, 5, 25, 100),
            [(name, [(LABELS[f], c.families[f], colours[f]) for f in group], c.none) for name, group in groups],
            alike=False,
        )
    if all(c.drawn.values()):
        colours = dict(zip(c.drawn, (GREEN, BLUE, ORANGE, PURPLE), strict=True))
        panels(
            out / "ch5_delicious_features.png",
            "Features drawn at each node: 100 trees on delicious, 500 features",
            "max_features",
            DRAWN,
            [
                (
                    "",
                    [
                        ("no projection" if n == 0 else f"n_projections={n}", curve, colours[n])
                        for n, curve in c.drawn.items()
                    ],
                    None,
                )
            ],
        )


def main() -> None:
    def extra(parser: Any) -> None:
        parser.add_argument("--part", choices=[*REPEATS, "all"], default="all")

    args = options(__doc__.splitlines()[0], repeat=5, extra=extra)
    greet(__doc__.splitlines()[0])
    keys = ("model", "family", "scope", "q", "features", "trees", "seed")
    cells = Cells(args.out / "ch5_delicious_cells.csv", keys, ("score", "seconds"), args.fresh)
    todo: dict[tuple[Any, ...], None] = {}
    for part, repeat in REPEATS.items():
        if args.part in (part, "all"):
            seeds = range(args.repeat if args.repeat_given or args.quick else repeat)
            todo |= dict.fromkeys(wanted(part, args.trees, seeds, args.quick))
    cells.run([key for key in todo if args.only in " ".join(map(str, key))], cell, args.n_jobs)
    curves = Curves(cells, args.trees)
    points = {key[:-1] for key in cells.done if key[0] == "tree" or key[5] == str(args.trees)}
    rows = []
    for point in sorted(points, key=lambda k: (k[0], k[1], k[2], int(k[4]), int(k[3]))):
        where = dict(zip(keys, point, strict=False))
        mean, std = mean_std(cells.of("score", **where))
        rows.append(where | {"runs": len(cells.of("score", **where)), "mean": mean, "std": std})
        rows[-1]["seconds"] = mean_std(cells.of("seconds", **where))[0]
    if rows:
        write_table(args.out / "ch5_delicious_curves.csv", rows)
        plot(curves, args.out)
    # Statements about parts that are not complete are not judged.
    if statements := claims(curves):
        write_table(args.out / "ch5_delicious_claims.csv", statements)
        print_table(statements)


if __name__ == "__main__":
    main()
