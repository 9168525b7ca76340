"""Metrics, folds, thresholds and best labels for sparse labels: seconds, and megabytes for thresholds.

    python benches/sparse_labels.py [--parts metrics folds thresholds topk] [--rows 100000] [--labels 100000]
                                    [--scores 100] [--repeat 5]

Metrics: `--rows` samples × labels, with `--scores` sparse scores and five labels for each sample, most of which have
scores. Folds: as many samples, 1000 labels of which few are frequent, three for each sample; seconds for all five
folds, and the relative difference between the frequency of a label in a fold and in all samples, as a mean over
labels and folds, compared with `KFold` on shuffled samples.

Thresholds: for 4000 labels, tuned on 50 000 samples with 20, 50 and 100 scores each. Every case runs in its own
process, which reports its peak memory, and by how much that exceeds the earlier peak. Best labels: the five of
`predict_topk` against `predict_proba` and a partial sort, on delicious if it is available, and on generated labels,
alternating.

Seconds are processor seconds on one thread: medians of `--repeat` runs.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import weald
from scipy import sparse
from sklearn.model_selection import KFold
from weald import metrics
from weald.model_selection import MultilabelStratifiedKFold


def columns_of_rows(rng: np.random.Generator, n_rows: int, n_columns: int, n_each: int) -> np.ndarray:
    """Distinct ascending columns for each row: one in each of equal parts of the columns."""
    width = n_columns // n_each
    return np.arange(n_each) * width + rng.integers(0, width, (n_rows, n_each))


def matrix(values: np.ndarray, columns: np.ndarray, n_columns: int) -> sparse.csr_array:
    n, each = columns.shape
    return sparse.csr_array((values.ravel(), columns.ravel(), np.arange(n + 1) * each), shape=(n, n_columns))


def middle_seconds(call, repeat: int) -> tuple[float, object]:
    """The median of processor seconds, and the result. Everything runs on one thread."""
    seconds = []
    for _ in range(repeat):
        begun = time.process_time()
        found = call()
        seconds.append(time.process_time() - begun)
    return statistics.median(seconds), found


def time_metrics(n: int, d: int, n_scores: int, repeat: int) -> None:
    rng = np.random.default_rng(0)
    columns = columns_of_rows(rng, n, d, n_scores)
    scores = matrix(rng.random((n, n_scores)).astype(np.float32), columns, d)
    picked = np.sort(rng.permuted(np.tile(np.arange(n_scores), (n, 1)), axis=1)[:, :5], axis=1)
    truth = np.take_along_axis(columns, picked, axis=1)
    missed = rng.random(n) < 0.3
    truth[missed] = columns_of_rows(rng, n, d, 5)[missed]
    truth = matrix(np.ones(truth.shape), truth, d)
    p = metrics.propensities(truth)
    ranked = metrics._ranks.first(scores, 5, scores.shape, None)
    pair = (ranked, -np.tile(np.arange(5.0), (n, 1)))
    predicted = scores > 0.9
    print(f"{n} x {d}, {n_scores} scores a row: seconds, value")
    for name in ("precision_at_k", "recall_at_k", "ndcg_at_k", "psp_at_k", "psndcg_at_k", "label_coverage_at_k"):
        options = {"propensities": p} if name.startswith("ps") else {}
        metric = getattr(metrics, name)
        for form, y_score in (("sparse", scores), ("top 5", pair)):
            seconds, found = middle_seconds(lambda: metric(truth, y_score, 5, **options), repeat)  # noqa: B023
            print(f"  {name:20} {form:7} {seconds:6.3f}  {found:.4f}")
    for name, y_pred in (("coverage_error", scores), ("micro_f1", predicted), ("macro_f1", predicted)):
        seconds, found = middle_seconds(lambda: getattr(metrics, name)(truth, y_pred), repeat)  # noqa: B023
        print(f"  {name:20} sparse  {seconds:6.3f}  {found:.4f}")


def deviation(Y: sparse.csr_array, splits: list) -> float:
    """Mean of |frequency in the fold - frequency| / frequency over folds and labels that occur."""
    frequency = np.asarray(Y.mean(axis=0)).ravel()
    some = frequency > 0
    of_folds = np.array([np.asarray(Y[test].mean(axis=0)).ravel() for _, test in splits])
    return float(np.mean(np.abs(of_folds[:, some] - frequency[some]) / frequency[some]))


def time_folds(n: int, d: int, repeat: int) -> None:
    rng = np.random.default_rng(0)
    labels = np.minimum((d * rng.random((n, 3)) ** 4).astype(np.int64), d - 1)
    Y = sparse.csr_array((np.ones(3 * n, dtype=bool), (np.arange(n).repeat(3), labels.ravel())), shape=(n, d))
    print(f"{n} x {d}, 3 labels a row: seconds of five folds, deviation of frequencies")
    for name, cv in (
        ("MultilabelStratifiedKFold", MultilabelStratifiedKFold(5)),
        ("  shuffled", MultilabelStratifiedKFold(5, shuffle=True, random_state=0)),
        ("KFold, shuffled", KFold(5, shuffle=True, random_state=0)),
    ):
        seconds, splits = middle_seconds(lambda: list(cv.split(Y, Y)), repeat)  # noqa: B023
        print(f"  {name:28} {seconds:6.3f}  {deviation(Y, splits):.4f}")


def peak() -> float:
    """Memory of this process in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def time_thresholds(objective: str, n_scores: int, repeat: int, n: int = 50_000, d: int = 4000) -> None:
    """Runs the case in this process, whose peak memory is then that of the case."""
    from weald._labels.thresholds import Objective, tuned

    rng = np.random.default_rng(0)
    columns = columns_of_rows(rng, n, d, n_scores)
    values = rng.random((n, n_scores))
    # Labels with large scores are mostly true, and rare labels have few.
    is_true = rng.random((n, n_scores)) < 0.1 * values * (1 - columns / d)
    scores = matrix(values, columns, d)
    truth = sparse.csr_array(sparse.coo_array((np.ones(is_true.sum()), (*np.nonzero(is_true),)), (n, n_scores)))
    truth = sparse.csr_array((np.ones(is_true.sum(), bool), columns[is_true], truth.indptr), shape=(n, d))
    del columns, values, is_true
    before, seconds = peak(), []
    for _ in range(repeat):
        begun = time.process_time()
        tuned(scores, truth, np.ones(n), Objective.parsed(objective), 50.0, "share", 0.01)
        seconds.append(time.process_time() - begun)
    middle = statistics.median(seconds)
    print(
        f"  {objective:12} {n_scores:4} scores a row {middle:6.2f} s, peak {peak():5.0f} MB, +{peak() - before:.0f} MB"
    )


def time_topk(repeat: int) -> None:
    sys.path.insert(0, str(Path(__file__).resolve().parent / "peers"))
    import _data

    print("five best labels: seconds of predict_topk, of the table and a partial sort, times")
    rng = np.random.default_rng(0)
    X = sparse.random_array((12_000, 2000), density=0.02, random_state=rng, format="csr", dtype=np.float32)
    words = rng.integers(0, 2000, 20_000)
    made = sparse.csr_array((X[:, words] > 0.97).astype(np.int8))
    problems = {"made, 20 000 labels": (X[:8000], made[:8000], X[8000:])}
    try:
        data = _data.delicious()
        problems["delicious, 983 labels"] = (data.X, sparse.csr_array(data.y), data.X_test)
    except SystemExit as missing:
        print(missing)
    for name, (X, Y, X_new) in problems.items():
        for model in (weald.RandomForestClassifier(50, random_state=0, n_jobs=1), boosting()):
            model.fit(X, Y)

            def table(model=model, X_new=X_new) -> object:
                scores = model.predict_proba(X_new)
                best = np.argpartition(scores, -5, axis=1)[:, -5:]
                return np.take_along_axis(best, np.argsort(-np.take_along_axis(scores, best, axis=1)), axis=1)

            found: tuple[list[float], list[float]] = ([], [])
            for _ in range(repeat):
                for side, call in zip(found, (lambda m=model, X=X_new: m.predict_topk(X, 5), table), strict=True):
                    begun = time.process_time()
                    call()
                    side.append(time.process_time() - begun)
            ours, theirs = map(statistics.median, found)
            print(f"  {name:24} {type(model).__name__:28} {ours:6.3f} {theirs:6.3f} {theirs / ours:5.1f}")


def boosting() -> weald.GradientBoostingClassifier:
    return weald.GradientBoostingClassifier(
        n_estimators=30, learning_rate=0.1, max_features=None, relabel_leaves=False, random_state=0, n_jobs=1
    )


PARTS = ["metrics", "folds", "thresholds", "topk"]

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--labels", type=int, default=100_000)
    parser.add_argument("--scores", type=int, default=100)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    repeat = arguments.repeat
    if arguments.one:
        time_thresholds(arguments.one[0], int(arguments.one[1]), repeat)
        raise SystemExit
    if "metrics" in arguments.parts:
        time_metrics(arguments.rows, arguments.labels, arguments.scores, repeat)
    if "folds" in arguments.parts:
        time_folds(arguments.rows, 1000, repeat)
        time_folds(arguments.rows, 100_000, 1)
    if "thresholds" in arguments.parts:
        print("thresholds of 4000 labels x 50 000 rows", flush=True)
        for case in (["f1", "20"], ["f1", "50"], ["f1", "100"], ["micro_f1", "50"]):
            subprocess.run([sys.executable, __file__, "--repeat", str(repeat), "--one", *case], check=True)
    if "topk" in arguments.parts:
        time_topk(repeat)
