"""Metrics, folds, thresholds and best labels for sparse labels: seconds, and megabytes for thresholds.

    python benches/sparse_labels.py [--only thresholds] [--rows 100000] [--labels 100000] [--scores 100] [--repeat 5]

The parts are `metrics`, `folds`, `thresholds` and `topk`.

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

import json
import resource
import sys
from pathlib import Path
from typing import Any

import numpy as np
import weald
from scipy import sparse
from sklearn.model_selection import KFold
from weald import metrics
from weald._ranking import ranks
from weald.model_selection import MultilabelStratifiedKFold
from weald.projection import Projected

sys.path.insert(0, str(Path(__file__).resolve().parent / "peers"))

from _data import delicious
from _harness import (
    PLAIN_BOOSTING,
    AbsentDataError,
    Table,
    in_fresh_process,
    in_turns,
    options,
    parser,
    ratios,
    spread,
    timed,
    told,
)


def columns_of_rows(rng: np.random.Generator, n_rows: int, n_columns: int, n_each: int) -> np.ndarray:
    """Distinct ascending columns for each row: one in each of equal parts of the columns."""
    width = n_columns // n_each
    return np.arange(n_each) * width + rng.integers(0, width, (n_rows, n_each))


def matrix(values: np.ndarray, columns: np.ndarray, n_columns: int) -> sparse.csr_array:
    n, each = columns.shape
    return sparse.csr_array((values.ravel(), columns.ravel(), np.arange(n + 1) * each), shape=(n, n_columns))


def time_metrics(n: int, d: int, n_scores: int, repeat: int, table: Table) -> None:
    rng = np.random.default_rng(0)
    columns = columns_of_rows(rng, n, d, n_scores)
    scores = matrix(rng.random((n, n_scores)).astype(np.float32), columns, d)
    picked = np.sort(rng.permuted(np.tile(np.arange(n_scores), (n, 1)), axis=1)[:, :5], axis=1)
    truth = np.take_along_axis(columns, picked, axis=1)
    missed = rng.random(n) < 0.3
    truth[missed] = columns_of_rows(rng, n, d, 5)[missed]
    truth = matrix(np.ones(truth.shape), truth, d)
    p = metrics.propensities(truth)
    ranked = ranks.first(scores, 5, scores.shape, None)
    pair = (ranked, -np.tile(np.arange(5.0), (n, 1)))
    predicted = scores > 0.9
    calls = {}
    for name in ("precision_at_k", "recall_at_k", "ndcg_at_k", "psp_at_k", "psndcg_at_k", "label_coverage_at_k"):
        rest = {"propensities": p} if name.startswith("ps") else {}
        for form, y_score in (("sparse", scores), ("top 5", pair)):
            calls[name, form] = lambda name=name, y=y_score, rest=rest: getattr(metrics, name)(truth, y, 5, **rest)
    for name, y_pred in (("coverage_error", scores), ("micro_f1", predicted), ("macro_f1", predicted)):
        calls[name, "sparse"] = lambda name=name, y=y_pred: getattr(metrics, name)(truth, y)
    for (name, form), call in calls.items():
        runs = [timed(call) for _ in range(repeat)]
        case = f"{name}, {n} x {d}, {n_scores} scores a row"
        table.row(case, form, spread([seconds for seconds, _ in runs]), f"{runs[0][1]:.4f}")


def deviation(Y: sparse.csr_array, splits: list) -> float:
    """Mean of |frequency in the fold - frequency| / frequency over folds and labels that occur."""
    frequency = np.asarray(Y.mean(axis=0)).ravel()
    some = frequency > 0
    of_folds = np.array([np.asarray(Y[test].mean(axis=0)).ravel() for _, test in splits])
    return float(np.mean(np.abs(of_folds[:, some] - frequency[some]) / frequency[some]))


def time_folds(n: int, d: int, repeat: int, table: Table) -> None:
    rng = np.random.default_rng(0)
    labels = np.minimum((d * rng.random((n, 3)) ** 4).astype(np.int64), d - 1)
    Y = sparse.csr_array((np.ones(3 * n, dtype=bool), (np.arange(n).repeat(3), labels.ravel())), shape=(n, d))
    for name, cv in (
        ("MultilabelStratifiedKFold", MultilabelStratifiedKFold(5)),
        ("shuffled", MultilabelStratifiedKFold(5, shuffle=True, random_state=0)),
        ("KFold, shuffled", KFold(5, shuffle=True, random_state=0)),
    ):
        runs = [timed(lambda cv=cv: list(cv.split(Y, Y))) for _ in range(repeat)]
        seconds, case = spread([seconds for seconds, _ in runs]), f"five folds, {n} x {d}, 3 labels a row"
        table.row(case, name, seconds, f"{deviation(Y, runs[0][1]):.4f}")


def peak() -> float:
    """Memory of this process in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def time_thresholds(objective: str, n_scores: int, repeat: int, n: int = 50_000, d: int = 4000) -> dict[str, Any]:
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
    before = peak()
    tune = lambda: tuned(scores, truth, np.ones(n), Objective.parsed(objective), 50.0, "share", 0.01)  # noqa: E731
    seconds = [timed(tune)[0] for _ in range(repeat)]
    return {"seconds": seconds, "peak": peak(), "above": peak() - before}


def time_topk(repeat: int, table: Table) -> None:
    rng = np.random.default_rng(0)
    X = sparse.random_array((12_000, 2000), density=0.02, random_state=rng, format="csr", dtype=np.float32)
    words = rng.integers(0, 2000, 20_000)
    made = sparse.csr_array((X[:, words] > 0.97).astype(np.int8))
    problems = {"made, 20 000 labels": (X[:8000], made[:8000], X[8000:])}
    try:
        data = delicious()
        problems["delicious, 983 labels"] = (data.X, sparse.csr_array(data.y), data.X_test)
    except AbsentDataError as absent:
        table.row("delicious, 983 labels", f"left out: {absent.caught()}")
    for name, (X, Y, X_new) in problems.items():
        for model in (weald.RandomForestClassifier(50, random_state=0, n_jobs=1), boosting()):
            model.fit(X, Y)

            def all_scores(model=model, X_new=X_new) -> object:
                scores = model.predict_proba(X_new)
                best = np.argpartition(scores, -5, axis=1)[:, -5:]
                return np.take_along_axis(best, np.argsort(-np.take_along_axis(scores, best, axis=1)), axis=1)

            found = in_turns(
                {"predict_topk": lambda m=model, X=X_new: m.predict_topk(X, 5), "all and sort": all_scores}, repeat
            )
            for side, seconds in found.items():
                ratio = told(ratios(seconds, found["predict_topk"])) if side == "all and sort" else ""
                table.row(f"five best, {name}, {type(model).__name__}", side, spread(seconds), "", ratio)


def boosting() -> weald.GradientBoostingClassifier:
    return weald.GradientBoostingClassifier(
        **PLAIN_BOOSTING | {"output_strategy": Projected(relabel_leaves=False)},
        n_estimators=30,
        random_state=0,
        n_jobs=1,
    )


def main() -> None:
    common = parser(__doc__ or "")
    common.add_argument("--rows", type=int, default=100_000)
    common.add_argument("--labels", type=int, default=100_000)
    common.add_argument("--scores", type=int, default=100)
    args = options(common)
    if args.worker:
        print(json.dumps(time_thresholds(args.worker[0], int(args.worker[1]), args.repeat)))
        return
    table = Table(
        "case | side | seconds | value | ratio | peak of the process, MB | above the earlier peak, MB", texts=2
    )
    if args.only in "metrics":
        time_metrics(args.rows, args.labels, args.scores, args.repeat, table)
    if args.only in "folds":
        time_folds(args.rows, 1000, args.repeat, table)
        time_folds(args.rows, 100_000, 1, table)
    if args.only in "thresholds":
        for objective, n_scores in (("f1", 20), ("f1", 50), ("f1", 100), ("micro_f1", 50)):
            found = in_fresh_process(objective, str(n_scores))
            case, memory = "thresholds, 50 000 x 4000", (f"{found[key]:.0f}" for key in ("peak", "above"))
            table.row(case, f"{objective}, {n_scores} scores a row", spread(found["seconds"]), "", "", *memory)
    if args.only in "topk":
        time_topk(args.repeat, table)


if __name__ == "__main__":
    main()
