"""Coverage and size of conformal intervals, regions and sets of labels, on real data sets.

    python benches/conformal.py [--sets NAME ...] [--labels NAME ...] [--splits 20] [--trees 100] [--mapie N] [--scores ...]

Numbers: the samples of both parts of a data set are split at random, one third for tests, `--splits` times. A random forest
is calibrated out of bag, at 1 − alpha = 0.9. Printed are means over the splits: the coverage of the intervals, averaged over
the outputs, with its standard error; the median width in standard deviations of the output in the training samples; the share
of samples whose box, or ellipsoid, holds all outputs; and the mean side, which is the volume of the region in these units to
the power 1 / outputs. With `--mapie N`, the first output alone, in the first N splits: weald out of bag, and MAPIE around the
same forest (`CrossConformalRegressor`, five folds, its defaults otherwise), with seconds.

Labels: sets with a recall of 0.9, by a forest calibrated out of bag: recall and labels in a set, over random splits of the
same kind.

One line for each case is written as soon as it is measured.
"""

from __future__ import annotations

import statistics
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import weald
from scipy import sparse
from sklearn.metrics import precision_score, recall_score
from weald.conformal import ConformalLabels, ConformalRegressor, coverage

sys.path.insert(0, str(Path(__file__).resolve().parent / "peers"))

from _data import named
from _harness import AbsentDataError, Table, is_absent, n_trees, options, parser, timed

NUMBERS = ["edm", "enb", "jura", "wq", "atp1d", "oes10", "oes97", "rf1", "scm20d"]
LABELS = ["bibtex", "delicious"]
ALPHA = 0.1


def pooled(name: str) -> tuple[Any, Any]:
    """The samples of both parts."""
    data = named(name)
    stack = lambda *both: sparse.csr_array(sparse.vstack(both)) if sparse.issparse(both[0]) else np.concatenate(both)  # noqa: E731
    return stack(data.X, data.X_test), stack(data.y, data.y_test)


def splits(n: int, n_splits: int) -> Iterator[tuple[Any, Any]]:
    for seed in range(n_splits):
        order = np.random.default_rng(seed).permutation(n)
        yield order[n // 3 :], order[: n // 3]


def forest(n_trees: int, seed: int, **params: Any) -> weald.RandomForestRegressor:
    return weald.RandomForestRegressor(n_trees, max_features=1 / 3, n_jobs=2, random_state=seed, **params)


def with_error(values: list[float]) -> str:
    error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else float("nan")
    return f"{statistics.mean(values):.3f} ± {error:.3f}"


def regression(name: str, n_splits: int, n_trees: int, scores: list[str], table: Table) -> None:
    X, Y = pooled(name)
    for score in scores:
        rows: dict[str, list[float]] = {}
        begun = time.perf_counter()
        for seed, (train, test) in enumerate(splits(len(Y), n_splits)):
            rules: dict[str, Any] = {"keep_rows": True} if score == "quantile" else {}
            cv = 5 if score == "quantile" else "oob"
            model = ConformalRegressor(
                forest(n_trees, seed, **rules), alpha=ALPHA, conformity_score=score, cv=cv, random_state=seed
            ).fit(X[train], Y[train])
            unit = Y[train].std(axis=0)
            unit[unit == 0] = 1.0
            intervals, boxes = model.predict_interval(X[test]), model.predict_region(X[test])
            shift = np.log(unit).sum()
            found = {
                "coverage": coverage(Y[test], intervals),
                "width": float(np.median(size_of(intervals) / unit)),
                "box": coverage(Y[test], boxes, joint=True),
                "side of box": float(np.exp((np.median(model.log_volume(X[test])) - shift) / len(unit))),
                "ellipsoid": float(model.contains(X[test], Y[test], region="ellipsoid").mean()),
                "side of ellipsoid": float(
                    np.exp((np.median(model.log_volume(X[test], region="ellipsoid")) - shift) / len(unit))
                ),
            }
            for key, value in found.items():
                rows.setdefault(key, []).append(value)
        seconds = (time.perf_counter() - begun) / n_splits
        shape = f"{name}, {Y.shape[0]} x {Y.shape[1]}"
        table.row(shape, score, f"{seconds:.2f}", *map(with_error, rows.values()))


def size_of(intervals: np.ndarray) -> np.ndarray:
    return intervals[..., 1] - intervals[..., 0]


def peer(name: str, n_splits: int, n_trees: int, table: Table) -> None:
    """Intervals of the first output, by weald and by MAPIE around the same forest."""
    from mapie.regression import CrossConformalRegressor

    X, Y = pooled(name)
    rows: dict[str, list[list[float]]] = {}
    for seed, (train, test) in enumerate(splits(len(Y), n_splits)):
        y, truth = Y[train, 0].astype(np.float64), Y[test, 0].astype(np.float64)

        def theirs(y=y, train=train, test=test, seed=seed) -> np.ndarray:
            model = CrossConformalRegressor(forest(n_trees, seed), confidence_level=1 - ALPHA, cv=5, random_state=seed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit_conformalize(X[train], y)
                return model.predict_interval(X[test])[1][:, :, 0]

        def ours(score: str, y=y, train=train, test=test, seed=seed) -> np.ndarray:
            model = ConformalRegressor(forest(n_trees, seed), alpha=ALPHA, conformity_score=score)
            return model.fit(X[train], y).predict_interval(X[test])

        sides = {
            "weald, absolute": lambda ours=ours: ours("absolute"),
            "weald, normalized": lambda ours=ours: ours("normalized"),
            "MAPIE": theirs,
        }
        for side, call in sides.items():
            seconds, found = timed(call, time.perf_counter)
            inside = ((found[:, 0] <= truth) & (truth <= found[:, 1])).mean()
            width = np.median(found[:, 1] - found[:, 0]) / (y.std() or 1.0)
            rows.setdefault(side, []).append([float(inside), float(width), seconds])
    for side, values in rows.items():
        covered, widths, seconds = zip(*values, strict=True)
        case = f"{name}, first output, {n_splits} splits"
        table.row(case, side, f"{statistics.mean(seconds):.2f}", with_error(list(covered)), with_error(list(widths)))


def labels(name: str, n_splits: int, n_trees: int, table: Table) -> None:
    X, Y = pooled(name)
    for control, alpha in (("recall", ALPHA), ("precision", 0.5)):
        reached, sizes, frequent, seconds = [], [], [], []
        for seed, (train, test) in enumerate(splits(Y.shape[0], n_splits)):
            model = ConformalLabels(
                weald.RandomForestClassifier(n_trees, n_jobs=2, random_state=seed), control=control, alpha=alpha
            )
            seconds.append(timed(lambda m=model, t=train: m.fit(X[t], Y[t]), time.perf_counter)[0])
            named = model.predict(X[test])
            score, without = (recall_score, np.nan) if control == "recall" else (precision_score, 1.0)
            reached.append(score(Y[test], named, average="samples", zero_division=without))
            sizes.append(named.sum() / len(test))
            frequent.append(float(len(model.frequent_)))
        case, side = f"{name}, {Y.shape[0]} x {Y.shape[1]}", f"{control} {1 - alpha:.1f}"
        table.row(case, side, f"{statistics.mean(seconds):.1f}", *map(with_error, (reached, sizes, frequent)))


def many_labels(n: int, d: int, table: Table) -> None:
    """Seconds of the calibration alone, for generated scores."""
    from weald._around import calibrated

    rng = np.random.default_rng(0)
    truth = sparse.csr_array(sparse.random_array((n, d), density=5 / d, random_state=rng, format="csr").astype(bool))
    noise = sparse.random_array((n, d), density=50 / d, random_state=rng, format="csr")
    scores = sparse.csr_array(noise * 0.5 + truth * 0.4)
    scores.sort_indices()
    truth.sort_indices()
    weights = np.ones(n)
    for control in ("recall", "precision"):
        begun = time.perf_counter()
        if control == "recall":
            frequency = calibrated.frequencies(truth, None, weights)
            calibrated.recall_thresholds(scores, truth, weights, frequency, ALPHA)
        else:
            calibrated.precision_threshold(scores, truth, weights, ALPHA, 0.1, 0.001)
        took = time.perf_counter() - begun
        table.row(f"calibration alone, {n} x {d}, {scores.nnz} scores", control, f"{took:.1f}")


def main() -> None:
    common = parser(__doc__ or "")
    common.add_argument("--sets", nargs="*", default=NUMBERS)
    common.add_argument("--labels", nargs="*", default=LABELS)
    common.add_argument("--scores", nargs="+", default=["absolute", "normalized"])
    common.add_argument("--splits", type=int, help="random splits (20, with --quick 1)")
    common.add_argument("--mapie", type=int, default=0, help="number of splits in which MAPIE is measured too")
    common.add_argument("--calibration", action="store_true", help="the calibration of 100 000 samples and 1000 labels")
    args = options(common)
    splits, m = args.splits or (1 if args.quick else 20), n_trees(args, usual=100, quick=20)
    if args.mapie and is_absent("mapie"):
        raise SystemExit("mapie is not installed")
    rest = "coverage | width" if args.mapie else "coverage | width | box | side of box | ellipsoid | side of ellipsoid"
    numbers = Table(f"case | side | seconds | {rest}", texts=2)
    for name in args.sets:
        try:
            if args.mapie:
                peer(name, args.mapie, m, numbers)
            else:
                regression(name, splits, m, args.scores, numbers)
        except AbsentDataError as error:
            numbers.row(name, f"left out: {error.caught()}")
    print()
    sets = Table("case | side | seconds | reached | labels a sample | frequent labels", texts=2)
    for name in args.labels:
        try:
            labels(name, splits, m, sets)
        except AbsentDataError as error:
            sets.row(name, f"left out: {error.caught()}")
    if args.calibration:
        many_labels(100_000, 1000, sets)


if __name__ == "__main__":
    main()
