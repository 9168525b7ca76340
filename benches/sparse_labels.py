"""Metrics of sparse scores and folds of sparse labels: seconds, and how near the frequencies of labels are in folds.

    python benches/sparse_labels.py [--rows 100000] [--labels 100000] [--scores 100] [--repeat 5]

Metrics: rows x labels with `--scores` sparse scores a row and five labels a row, most of which have scores; the least
of `--repeat` runs. Folds: as many rows, 1000 labels of which few are frequent, three a row; seconds of all five folds,
and the mean over labels and folds of how far the frequency of a label in a fold is from that in all rows, as a share of
the latter, beside `KFold` of shuffled rows.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from scipy import sparse
from sklearn.model_selection import KFold
from spinney import metrics
from spinney.model_selection import MultilabelStratifiedKFold


def columns_of_rows(rng: np.random.Generator, n_rows: int, n_columns: int, n_each: int) -> np.ndarray:
    """Columns of each row, each once and rising: one of each part of the columns."""
    width = n_columns // n_each
    return np.arange(n_each) * width + rng.integers(0, width, (n_rows, n_each))


def matrix(values: np.ndarray, columns: np.ndarray, n_columns: int) -> sparse.csr_array:
    n, each = columns.shape
    return sparse.csr_array((values.ravel(), columns.ravel(), np.arange(n + 1) * each), shape=(n, n_columns))


def least_seconds(call, repeat: int) -> tuple[float, object]:
    seconds = []
    for _ in range(repeat):
        begun = time.perf_counter()
        found = call()
        seconds.append(time.perf_counter() - begun)
    return min(seconds), found


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
            seconds, found = least_seconds(lambda: metric(truth, y_score, 5, **options), repeat)  # noqa: B023
            print(f"  {name:20} {form:7} {seconds:6.3f}  {found:.4f}")
    for name, y_pred in (("coverage_error", scores), ("micro_f1", predicted), ("macro_f1", predicted)):
        seconds, found = least_seconds(lambda: getattr(metrics, name)(truth, y_pred), repeat)  # noqa: B023
        print(f"  {name:20} sparse  {seconds:6.3f}  {found:.4f}")


def deviation(Y: sparse.csr_array, splits: list) -> float:
    """Mean of |frequency in the fold - frequency| / frequency over folds and labels that some row has."""
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
        seconds, splits = least_seconds(lambda: list(cv.split(Y, Y)), repeat)  # noqa: B023
        print(f"  {name:28} {seconds:6.3f}  {deviation(Y, splits):.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--labels", type=int, default=100_000)
    parser.add_argument("--scores", type=int, default=100)
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    time_metrics(arguments.rows, arguments.labels, arguments.scores, arguments.repeat)
    time_folds(arguments.rows, 1000, arguments.repeat)
    time_folds(arguments.rows, 100_000, 1)
