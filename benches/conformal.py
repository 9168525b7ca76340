"""Coverage and size of conformal intervals, regions and sets of labels, on real data sets.

    python benches/conformal.py [--sets NAME ...] [--labels NAME ...] [--splits 20] [--trees 100] [--peers N] [--scores ...]

Numbers: the samples of both parts of a data set are split at random, one third for tests, `--splits` times. A random forest
is calibrated out of bag, at 1 − alpha = 0.9. Printed are means over the splits: the coverage of the intervals, averaged over
the outputs, with its standard error; the median width in standard deviations of the output in the training samples; the share
of samples whose box, or ellipsoid, holds all outputs; and the mean side, which is the volume of the region in these units to
the power 1 / outputs. With `--peers N`, the first output alone, in the first N splits: weald out of bag, and MAPIE around the
same forest (`CrossConformalRegressor`, five folds, its defaults otherwise), with seconds.

Labels: sets with a recall of 0.9, by a forest calibrated out of bag: recall and labels in a set, over random splits of the
same kind.

One line for each case is written as soon as it is measured.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import sklearn
import weald
from data import real_data
from scipy import sparse
from weald.conformal import ConformalLabels, ConformalRegressor, coverage
from weald.datasets import load_npz_folder

NUMBERS = ["edm", "enb", "jura", "wq", "atp1d", "oes10", "oes97", "rf1", "scm20d"]
LABELS = ["bibtex", "delicious"]
ALPHA = 0.1


def pooled(name: str) -> tuple[Any, Any]:
    """The samples of both parts."""
    if (missing := real_data.missing(name)) is not None:
        raise SystemExit(missing)
    parts = load_npz_folder(real_data.root() / name)
    stack = lambda *both: sparse.csr_array(sparse.vstack(both)) if sparse.issparse(both[0]) else np.concatenate(both)  # noqa: E731
    return stack(parts[0], parts[1]), stack(parts[2], parts[3])


def splits(n: int, n_splits: int) -> Iterator[tuple[Any, Any]]:
    for seed in range(n_splits):
        order = np.random.default_rng(seed).permutation(n)
        yield order[n // 3 :], order[: n // 3]


def forest(n_trees: int, seed: int, **params: Any) -> weald.RandomForestRegressor:
    return weald.RandomForestRegressor(n_trees, max_features=1 / 3, n_jobs=2, random_state=seed, **params)


def with_error(values: list[float]) -> str:
    error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else float("nan")
    return f"{statistics.mean(values):.3f} ± {error:.3f}"


def regression(name: str, n_splits: int, n_trees: int, scores: list[str]) -> None:
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
        cells = "  ".join(f"{key} {with_error(values)}" for key, values in rows.items())
        print(f"{name:8} {score:11} n={len(Y)} d={Y.shape[1]}  {cells}  {seconds:.2f} s", flush=True)


def size_of(intervals: np.ndarray) -> np.ndarray:
    return intervals[..., 1] - intervals[..., 0]


def peer(name: str, n_splits: int, n_trees: int) -> None:
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
            begun = time.perf_counter()
            found = call()
            seconds = time.perf_counter() - begun
            inside = ((found[:, 0] <= truth) & (truth <= found[:, 1])).mean()
            width = np.median(found[:, 1] - found[:, 0]) / (y.std() or 1.0)
            rows.setdefault(side, []).append([float(inside), float(width), seconds])
    for side, values in rows.items():
        covered, widths, seconds = zip(*values, strict=True)
        told = (
            f"coverage {with_error(list(covered))}  width {with_error(list(widths))}  {statistics.mean(seconds):.2f} s"
        )
        print(f"{name:8} first output, {n_splits} splits, {side:18} {told}", flush=True)


def labels(name: str, n_splits: int, n_trees: int) -> None:
    X, Y = pooled(name)
    for control, alpha in (("recall", ALPHA), ("precision", 0.5)):
        reached, sizes, frequent, seconds = [], [], [], []
        for seed, (train, test) in enumerate(splits(Y.shape[0], n_splits)):
            model = ConformalLabels(
                weald.RandomForestClassifier(n_trees, n_jobs=2, random_state=seed), control=control, alpha=alpha
            )
            begun = time.perf_counter()
            model.fit(X[train], Y[train])
            seconds.append(time.perf_counter() - begun)
            reached.append(model.score(X[test], Y[test]))
            sizes.append(model.predict(X[test]).sum() / len(test))
            frequent.append(float(len(model.frequent_)))
        told = f"{control} {with_error(reached)}  labels a sample {with_error(sizes)}  frequent {with_error(frequent)}"
        print(
            f"{name:10} n={Y.shape[0]} d={Y.shape[1]} {1 - alpha:.1f}  {told}  {statistics.mean(seconds):.1f} s",
            flush=True,
        )


def many_labels(n: int, d: int) -> None:
    """Seconds of the calibration alone, for generated scores."""
    from weald._conformal import label_risk

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
            frequency = label_risk.frequencies(truth, None, weights)
            label_risk.recall_thresholds(scores, truth, weights, frequency, ALPHA)
        else:
            label_risk.precision_threshold(scores, truth, weights, ALPHA, 0.1, 0.001)
        took = time.perf_counter() - begun
        print(
            f"calibration of {control} alone, {n} samples x {d} labels, {scores.nnz} scores: {took:.1f} s", flush=True
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="*", default=NUMBERS)
    parser.add_argument("--labels", nargs="*", default=LABELS)
    parser.add_argument("--scores", nargs="+", default=["absolute", "normalized"])
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--peers", type=int, default=0, help="number of splits in which MAPIE is measured too")
    parser.add_argument("--made", action="store_true", help="time the calibration of 100 000 samples and 1000 labels")
    args = parser.parse_args()
    print(f"weald {weald.__version__}, scikit-learn {sklearn.__version__}, numpy {np.__version__}", flush=True)
    for name in args.sets:
        if args.peers:
            peer(name, args.peers, args.trees)
        else:
            regression(name, args.splits, args.trees, args.scores)
    for name in args.labels:
        labels(name, args.splits, args.trees)
    if args.made:
        many_labels(100_000, 1000)


if __name__ == "__main__":
    main()
