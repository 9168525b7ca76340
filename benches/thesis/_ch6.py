"""What the scripts of chapter 6 share: methods, the grid of hyper-parameters, validation, comparison of methods.

A. Joly, Exploiting random projections and sparsity with random forests and gradient boosting methods (Liège, 2016),
chapter 6. Trees are grown best first to at most 8 leaves; hyper-parameters and the number of steps are those with the
best score on a fifth of the training part; the model that was fitted on the other four fifths is scored, not one
fitted again on all: the published figures match the former.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import weald
from _common import Cells, greet, mean_std, options, original, split
from _data import filled, standard_y
from _harness import Data
from _pictures import name_lines, seconds_along
from _scores import macro_r2, ranking_precision
from ch5_table import SIZES
from scipy import stats
from sklearn.isotonic import IsotonicRegression
from weald.datasets import make_friedman1_chain, make_friedman1_group, make_friedman1_ind
from weald.projection import Projected

BOOSTING: dict[str, dict[str, Any]] = {
    "st-gbrt": {"output_strategy": "single_target"},
    "gbmort": {"output_strategy": "joint"},
    "gbrt-relabel-rpo-gaussian": {"output_strategy": "projected"},
    "gbrt-relabel-rpo-subsampled": {"output_strategy": Projected("subsample")},
    "gbrt-rpo-gaussian": {"output_strategy": Projected(relabel_leaves=False)},
    "gbrt-rpo-subsampled": {"output_strategy": Projected("subsample", relabel_leaves=False)},
}
"""Methods by their published names; br-gbrt is st-gbrt on labels."""
SHOWN = {
    "artificial-gbrt": "model that knows the structure",
    "st-gbrt": "single target",
    "gbmort": "joint",
    "gbrt-relabel-rpo-gaussian": "projected (Gaussian), relabelled leaves",
    "gbrt-relabel-rpo-subsampled": "projected (one output), relabelled leaves",
    "gbrt-rpo-gaussian": "projected (Gaussian)",
    "gbrt-rpo-subsampled": "projected (one output)",
    "st-rf": "one forest for each output",
    "mo-rf": "one forest for all outputs",
    "br-gbrt": "one model for each label",
    "br-rf": "one forest for each label",
}
"""Methods by the names that pictures give them."""

RATES = (1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01)
FEATURES = ("sqrt", 0.1, 0.2, 0.5, 1.0)
LEAVES = (2, 3, 4, 5, 6, 7, 8)
LOSSES = {"numbers": ("squared_error", "absolute_error"), "labels": ("squared_error", "log_loss")}
STUMPS: dict[str, Any] = {"max_depth": None, "max_leaf_nodes": 2, "max_features": None, "learning_rate": 0.1}

FRIEDMAN = {"chain": make_friedman1_chain, "group": make_friedman1_group, "ind": make_friedman1_ind}
N_TRAIN, N_TEST, N_OUTPUTS = 300, 4000, 16


@functools.cache
def friedman(problem: str, noisy: int, seed: int) -> Data:
    """Both parts come from one draw, since noisy outputs are noise in both of them."""
    X, y = FRIEDMAN[problem](N_TRAIN + N_TEST, N_OUTPUTS, noisy, seed)
    return Data(X[:N_TRAIN], y[:N_TRAIN], X[N_TRAIN:], y[N_TRAIN:])


@functools.cache
def grid(task: str) -> list[dict[str, Any]]:
    """The 490 settings in a random order that is the same for all methods: the first N are a random selection of N."""
    everything = [
        {"loss": loss, "learning_rate": rate, "max_features": features, "max_leaf_nodes": leaves}
        for loss, rate, features, leaves in itertools.product(LOSSES[task], RATES, FEATURES, LEAVES)
    ]
    return [everything[i] for i in np.random.default_rng(6).permutation(len(everything))]


def booster(task: str, strategy: dict[str, Any], seed: int, **parameters: Any) -> Any:
    """Trees without a limit of the depth. Splits of dense X use histograms with 255 bins, unless `max_bins=None`."""
    kind = weald.GradientBoostingRegressor if task == "numbers" else weald.GradientBoostingClassifier
    said = {"max_depth": None, "max_leaf_nodes": None, "min_weight_leaf": 0.0, "leaf_estimation": "line_search"}
    said |= {"output_strategy": "projected", "random_state": seed, "n_jobs": 1}
    return kind(**(said | strategy | parameters))


def staged_scores(model: Any, X: Any) -> Iterator[np.ndarray]:
    """What `scores_after` returns, for each step in turn."""
    method = "staged_decision_function" if hasattr(model, "staged_decision_function") else "staged_predict"
    yield from getattr(model, method)(X)


def scores_after(model: Any, X: Any, steps: int) -> np.ndarray:
    """The result after a number of steps: predictions of numerical outputs, or raw scores that rank labels."""
    method = "decision_function" if hasattr(model, "decision_function") else "predict"
    return getattr(model, method)(X, n_stages=steps)


def judge(task: str, scores: np.ndarray, y: Any) -> float:
    """Macro-r², or label ranking average precision."""
    return macro_r2(scores, y) if task == "numbers" else ranking_precision(scores, y)


def steps_judged(task: str, last: int) -> set[int]:
    """Every step for numerical outputs; for labels, whose score takes longer than a step, a grid with factor 1.1."""
    if task == "numbers":
        return set(range(1, last + 1))
    return {m for i in range(400) if (m := round(1.1**i)) <= last} | {last}


# ---- real data

LABEL_SETS = (*SIZES, "mediamill_sample", "rcv1sub1", "reuters21578_r90", "yahoo_arts")
LARGE_SETS = ("eisen_go", "goemotions", "seq_go")
NUMBER_SETS = ("atp1d", "edm", "enb", "jura", "oes10", "oes97", "osales", "rf1", "scm20d", "wq")


@functools.cache
def random_split(task: str, name: str, seed: int) -> Data:
    """A random split with as many training samples as published, or half of the samples if no number was published.

    Missing values of X are replaced by the mean of their column. Numerical outputs have mean 0 and deviation 1. Both
    are computed from the training part.
    """
    data = original(name)
    n = data.X.shape[0] + data.X_test.shape[0]
    if task == "labels":
        n_train, n_test = SIZES.get(name, (data.X.shape[0], data.X_test.shape[0], 0))[:2]
        found = split(name, n_train, n_test, seed)
    else:
        n_train = data.X.shape[0] if name == "scm20d" else n // 2
        X, y = np.concatenate([data.X, data.X_test]), np.concatenate([data.y, data.y_test])
        order = np.random.default_rng(seed).permutation(n)
        train, test = order[:n_train], order[n_train:]
        found = standard_y(Data(X[train], y[train], X[test], y[test]))
    return found if sp.issparse(found.X) else filled(found)


# ---- validation


def rows(a: Any, at: np.ndarray) -> Any:
    return (a.tocsr() if sp.issparse(a) else a)[at]


def held_out(data: Data, seed: int) -> Data:
    """Four fifths of the training part for the fit, and a fifth for the score."""
    n = data.X.shape[0]
    order = np.random.default_rng(1_000_000 + seed).permutation(n)
    learn, check = order[n // 5 :], order[: n // 5]
    return Data(rows(data.X, learn), rows(data.y, learn), rows(data.X, check), rows(data.y, check))


@dataclass(frozen=True)
class Validated:
    """A model truncated to its best step on the held-out samples."""

    model: Any
    step: int
    score: float
    seconds: float

    def scores(self, X: Any) -> np.ndarray:
        return scores_after(self.model, X, self.step)


def validated(task: str, model: Any, part: Data, steps: int, seconds: float | None = None) -> Validated:
    """Fits up to `steps` steps, or as many as fit into `seconds` of processor time, and finds the best step on held-out
    samples.

    If the time is not limited, the number of steps is doubled until the second half of the steps brings no improvement:
    from then on, a model overfits or does not change.
    """
    model.set_params(warm_start=True)
    total, score, step, judged, n = 0.0, -np.inf, 0, 0, 0
    while n < steps:
        n = affordable(model, part, steps, seconds) if seconds else min(max(2 * n, 128), steps)
        start = time.process_time()
        model.set_params(n_estimators=n).fit(part.X, part.y)
        total += time.process_time() - start
        at = steps_judged(task, n)
        for m, values in enumerate(staged_scores(model, part.X_test), 1):
            if m > judged and m in at and (now := judge(task, values, part.y_test)) > score:
                score, step = now, m
        judged = n
        if seconds or (n >= 1024 and 2 * step <= n):
            break
    return Validated(model, step, score, total)


def affordable(model: Any, part: Data, steps: int, seconds: float) -> int:
    """The number of steps that take `seconds`, estimated from the first few."""
    return int(np.clip(seconds / seconds_of_a_step(model, part, seconds / 10), 1, steps))


def seconds_of_a_step(model: Any, part: Data, least: float) -> float:
    """Processor seconds of one step, which do not depend on other processes of the machine.

    They are computed from fits with increasing numbers of steps, until a fit takes `least`, or a twentieth of a second,
    longer than a fit of one step. The work before the first step is excluded.
    """
    first, few = _seconds_of(model, part, 1), 1
    while True:
        few *= 8
        longer = max(_seconds_of(model, part, few) - first, 1e-6)
        if longer > min(least, 0.05) or few >= 4096:
            return longer / (few - 1)


def _seconds_of(model: Any, part: Data, steps: int) -> float:
    model.set_params(n_estimators=steps, warm_start=False)
    start = time.process_time()
    model.fit(part.X, part.y)
    return time.process_time() - start


# ---- comparison of methods


LEAST_SPLITS = 3


def whole_searches(done: dict[int, int]) -> tuple[int, list[int]]:
    """The number of settings that a search counts, and the splits that have as many, from the finished settings of each
    split.

    It is the number of settings that three splits have; with fewer splits, all splits count.
    """
    counts = sorted(done.values(), reverse=True)
    settings = counts[min(LEAST_SPLITS, len(counts)) - 1] if counts else 0
    return settings, [split for split, count in sorted(done.items()) if settings and count >= settings]


def leading(there: Iterable[bool]) -> int:
    """The number of items before the first one that is missing."""
    return sum(1 for _ in itertools.takewhile(bool, there))


def ranks(scores: Sequence[float]) -> np.ndarray:
    """1 for the largest score; equal scores share the mean of their ranks. Scores are rounded as in the tables."""
    return stats.rankdata(-np.round(scores, 4))


def paired_t(a: Sequence[float], b: Sequence[float]) -> float:
    return float(stats.ttest_rel(a, b).pvalue) if len(a) > 1 and np.any(np.subtract(a, b)) else 1.0


def wilcoxon(a: Sequence[float], b: Sequence[float]) -> float:
    return float(stats.wilcoxon(a, b).pvalue) if len(a) > 1 and np.any(np.subtract(a, b)) else 1.0


def critical_difference(n_methods: int, n_sets: int, alpha: float = 0.05) -> float:
    """Nemenyi's critical difference: mean ranks that are further apart differ (Demšar, JMLR 2006)."""
    q = stats.studentized_range.isf(alpha, n_methods, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6 * n_sets)))


def pairwise(scores: dict[str, Sequence[float]], test: Any, **names: Any) -> list[dict[str, Any]]:
    """For each pair of methods: means, p-value, and the better one if p < 0.05."""
    found = []
    for a, b in itertools.combinations(scores, 2):
        p = test(scores[a], scores[b])
        better = "" if p >= 0.05 else (a if np.mean(scores[a]) > np.mean(scores[b]) else b)
        found.append(names | {"method": a, "against": b, "p_value": p, "better": better})
    return found


def diagram(axis: Any, mean_ranks: dict[str, float], difference: float) -> None:
    """Mean ranks on a line, best first, with a band of the ranks that do not differ from the best."""
    order = sorted(mean_ranks, key=mean_ranks.__getitem__)
    values = [mean_ranks[m] for m in order]
    axis.axvspan(values[0], values[0] + difference, color="C0", alpha=0.12, linewidth=0)
    axis.plot(values, range(len(order)), "o", markersize=6, color="C0")
    for i, rank in enumerate(values):
        axis.text(rank + 0.12, i, f"{rank:.1f}", va="center", fontsize=9)
    axis.set_yticks(range(len(order)), [SHOWN[method] for method in order])
    axis.set_xlim(1, len(order))
    axis.invert_yaxis()
    axis.grid(axis="y", visible=False)
    axis.set_xlabel("mean rank over the data sets (1 is best)")


# ---- curves of score against time


def doublings(steps: int) -> list[int]:
    """1, 2, 3, 4, 6, 8, 11, …: numbers of steps that grow by a factor of √2, up to `steps`."""
    return sorted({m for i in range(60) if (m := round(2 ** (i / 2))) < steps} | {steps})


Points = dict[int, dict[str, float]]
"""The score, and the processor seconds to fit, after each of some numbers of steps. Processor seconds do not depend on
other processes."""


def of_separate_fits(task: str, make: Callable[[int], Any], data: Data, steps: Sequence[int]) -> Points:
    """A fit for each number of steps: on small data, a call after each step would take longer than the step."""
    points = {}
    for m in steps:
        model = make(m)
        start = time.process_time()
        model.fit(data.X, data.y)
        seconds = time.process_time() - start
        points[m] = {"score": judge(task, scores_after(model, data.X_test, m), data.y_test), "seconds": seconds}
    return points


def of_one_fit(task: str, make: Callable[[int], Any], data: Data, steps: Sequence[int]) -> Points:
    """One fit of the largest number of steps, with a clock that is read after each step (about 0.1 ms)."""
    clock = Clock()
    model = make(max(steps)).set_callbacks(clock)
    start = time.process_time()
    model.fit(data.X, data.y)
    return {
        m: {
            "score": judge(task, scores_after(model, data.X_test, m), data.y_test),
            "seconds": clock.readings[m - 1] - start,
        }
        for m in steps
    }


class Clock:
    """A callback of scikit-learn that reads the processor time at the end of each step."""

    def __init__(self) -> None:
        self.readings: list[float] = []

    def setup(self, estimator: Any, context: Any) -> None:
        pass

    def teardown(self, estimator: Any, context: Any) -> None:
        pass

    def on_fit_task_begin(self, estimator: Any, context: Any, *, X: Any, y: Any, metadata: Any) -> None:
        pass

    def on_fit_task_end(self, estimator: Any, context: Any, *, X: Any, fitted_estimator: Any) -> bool:
        if context.task_name == "round":
            self.readings.append(time.process_time())
        return False


def curves(cells: Cells) -> list[dict[str, Any]]:
    """Mean score and median seconds over seeds, after each number of steps."""
    seed = cells.keys.index("seed")
    groups: dict[tuple[str, ...], list[dict[str, float]]] = {}
    for key, found in cells.done.items():
        groups.setdefault(tuple(k for i, k in enumerate(key) if i != seed), []).append(found)
    keys = [k for i, k in enumerate(cells.keys) if i != seed]
    rows = [
        dict(zip(keys, group, strict=True))
        | {"repeats": len(found), "seconds": statistics.median(f["seconds"] for f in found)}
        | dict(zip(("score", "std"), mean_std([f["score"] for f in found]), strict=True))
        for group, found in groups.items()
    ]
    return sorted(rows, key=lambda row: ([row[k] for k in keys if k != "steps"], int(row["steps"])))


def run_curves(
    about: str,
    name: str,
    curve: Callable[..., Points],
    keys: Sequence[str],
    wanted: Callable[..., list[Any]],
    *,
    repeat: int,
    steps: tuple[int, int],
) -> tuple[argparse.Namespace, list[dict[str, Any]]]:
    """Options of a script with curves, with at most `steps` steps (usual and with --quick); its cells; and the curves.

    Cells are `wanted(options)`, with a value for each of `keys`, of which the last is "steps", except those that --only
    excludes. `curve` is called with the other values and a list of steps. Curves are measured one at a time in this
    process, since two at a time would slow each other down.
    """

    def extra(parser: Any) -> None:
        parser.add_argument("--steps", type=int, help=f"steps at most ({steps[0]}; with --quick {steps[1]})")

    args = options(about, repeat=repeat, extra=extra)
    args.steps = args.steps or steps[args.quick]
    greet(about)
    cells = Cells(args.out / f"{name}_cells.csv", keys, ("score", "seconds"), args.fresh)
    steps_of: dict[tuple[Any, ...], list[int]] = {}
    for *of, m in wanted(args):
        if args.only in f"{of[0]} {of[1]}":
            steps_of.setdefault(tuple(of), []).append(m)
    missing = {of: ms for of, ms in steps_of.items() if any(tuple(map(str, (*of, m))) not in cells.done for m in ms)}
    if missing and cells.measures:
        points = (((*of, m), found) for of, ms in missing.items() for m, found in curve(*of, sorted(ms)).items())
        cells.add(points, sum(map(len, missing.values())))
    return args, curves(cells)


def best_points(
    rows: list[dict[str, Any]], problems: Iterable[str], by: str, values: Iterable[str], reference: str
) -> list[dict[str, Any]]:
    """For each curve, its best score and when it is reached; seconds and steps to 0.99 of the best score of
    `reference`.

    Curves are distinguished by the column `by`. A problem is left out until all of its curves have results.
    """
    found = []
    for problem in problems:
        of = {value: [r for r in rows if r["problem"] == problem and r[by] == value] for value in values}
        if not all(of.values()):
            continue
        goal = 0.99 * max(r["score"] for r in of[reference])
        for value, points in of.items():
            best = max(points, key=lambda r: r["score"])
            there = next((r for r in points if r["score"] >= goal), {"seconds": "", "steps": ""})
            found.append(
                {
                    "problem": problem,
                    by: value,
                    "best": best["score"],
                    "step": int(best["steps"]),
                    "seconds": best["seconds"],
                    "goal": goal,
                    "seconds_to_goal": there["seconds"],
                    "steps_to_goal": there["steps"],
                }
            )
    return found


def draw(
    axis: Any,
    rows: Sequence[dict[str, Any]],
    by: str,
    names: dict[str, str],
    title: str,
    least: float,
    write_names: Callable[..., None] = name_lines,
) -> None:
    """Score against seconds to fit, with a line for each value of the column `by`.

    Points before `least` seconds are left out, except the last one of a line.
    The times of short fits contain other work of the processor. Since more steps take more time, the seconds are
    replaced by the closest non-decreasing sequence. Bands are one standard deviation of the repeats.
    """
    lines = []
    for value, label in names.items():
        mine = sorted((row for row in rows if row[by] == value), key=lambda row: int(row["steps"]))
        if not mine:
            continue
        seconds = IsotonicRegression().fit_transform(range(len(mine)), [row["seconds"] for row in mine])
        score, std = (np.array([row[k] for row in mine]) for k in ("score", "std"))
        seen = seconds >= min(least, seconds[-1])
        seconds, score, std = seconds[seen], score[seen], std[seen]
        (line,) = axis.plot(seconds, score, marker=".")
        axis.fill_between(seconds, score - std, score + std, color=line.get_color(), alpha=0.15, linewidth=0)
        lines.append((line, label))
    axis.set_xscale("log")
    seconds_along(axis)
    write_names(axis, lines)
    axis.set_title(title)
