"""How many leaves should a tree have that many scores share? Errors of boosting with 31, 63 and 127 leaves.

    python benches/defaults/leaves.py run results.jsonl          # appends the missing results
    python benches/defaults/leaves.py report results.jsonl

Each number of leaves is fitted to three quarters of the training samples (at most 20 000, of texts 8 000) and scored on
the other quarter, three draws with fewer than 1 000 samples; test parts are never used. y has 11 to 100 columns of scores:

* numbers: sets of the data folder, and every other column of X of other sets (standardized, at most 40), predicted from
  the columns between them. The error is the mean over outputs of the root of the squared errors ÷ those of the mean;
* labels: the mean log loss, and label ranking average precision;
* classes: the log loss. Sets of KEEL with few classes have each class cut in two or three by k-means; numbers of
  `benches/tables` are cut into up to 15 classes of equal size, which are mostly noise.

One thread, processor seconds.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics import label_ranking_average_precision_score as ranking_precision

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tables"))

import _data
import _records
from _more_numbers import MORE_NUMBERS
from _tables import keel

LEAVES = (31, 63, 127)
MOST_ROWS, MOST_TEXTS, MOST_OUTPUTS = 20_000, 8_000, 40
LEAST_PROBABILITY = 1e-6

Problem = tuple[Any, np.ndarray]


def of_folder(name: str) -> Problem:
    data = _data.named(name)
    y = data.y.toarray() if hasattr(data.y, "toarray") else data.y
    return (data.X.tocsr() if hasattr(data.X, "tocsr") else data.X), y


def halves(X: np.ndarray) -> Problem:
    """Every other column predicts those between; columns of one or two values are left out."""
    X = np.nan_to_num(np.asarray(X, dtype=np.float64))
    X = X[:, [len(np.unique(column)) > 2 for column in X.T]]
    Y = X[:, 1::2]
    Y = Y[:, np.linspace(0, Y.shape[1] - 1, min(MOST_OUTPUTS, Y.shape[1])).astype(int)]
    return X[:, ::2], (Y - Y.mean(axis=0)) / np.maximum(Y.std(axis=0), 1e-9)


def pixels() -> Problem:
    """The lower half of a digit of mnist from the upper one, every other row and column of 15 000."""
    X = _data.named("mnist").X.tocsr()[:15_000].toarray().reshape(-1, 28, 28)[:, ::2, ::2]
    return X[:, :7].reshape(len(X), -1), X[:, 7:].reshape(len(X), -1) / 255.0


def cut_classes(name: str, n_parts: int) -> Problem:
    frame = keel(name)()
    X, y = frame.drop(columns="class").to_numpy(dtype=np.float64), frame["class"].factorize(sort=True)[0]
    found = y.copy()
    for k in range(y.max() + 1 if n_parts > 1 else 0):
        found[y == k] = n_parts * k + KMeans(n_parts, n_init=1, random_state=0).fit_predict(X[y == k])
    return X, found


def quantiles(name: str) -> Problem:
    X, y = MORE_NUMBERS[name].load()
    values = y.to_numpy(dtype=np.float64).reshape(len(X), -1)[:, 0]
    known = np.isfinite(values)
    edges = np.unique(np.quantile(values[known], np.linspace(0, 1, 16))[1:-1])
    return X[known].reset_index(drop=True), np.unique(np.digitize(values[known], edges), return_inverse=True)[1]


def features(name: str) -> Problem:
    X = of_folder(name)[0]
    return halves(X.toarray() if hasattr(X, "toarray") else X)


KINDS: dict[str, dict[str, Callable[[], Problem]]] = {
    "numbers": {
        **{name: lambda name=name: of_folder(name) for name in ("oes97", "oes10", "osales", "wq", "scm20d")},
        **{
            f"{name}, features": lambda name=name: halves(keel(name)().drop(columns="class"))
            for name in ("ionosphere", "sonar", "spambase", "satimage", "texture", "optdigits")
        },
        **{
            f"{name}, features": lambda name=name: features(name)
            for name in ("atp1d", "emotions", "CAL500", "scene", "eisen_go", "diatoms", "seq_go", "mediamill_sample", "rf1")
        },
        "digits, pixels": lambda: (lambda X: (X[:, :32], X[:, 32:]))(load_digits().data),
        "mnist, pixels": pixels,
    },
    "labels": {
        name: lambda name=name: of_folder(name) for name in ("medical", "yahoo_arts", "reuters21578_r90", "goemotions")
    },
    "classes": {
        **{
            f"{name}, {parts} parts" if parts > 1 else name: lambda name=name, parts=parts: cut_classes(name, parts)
            for name, parts in {
                "movement_libras": 1, "segment": 2, "texture": 1, "optdigits": 2, "satimage": 3, "penbased": 2
            }.items()
        },
        **{
            f"{name}, quantiles": lambda name=name: quantiles(name)
            for name in ("saratoga", "wage", "med_exp", "west_roxbury", "computers", "nox", "k401ksubs", "gapminder", "check_times")
        },
        "20newsgroup": lambda: of_folder("20newsgroup"),
    },
}  # fmt: skip


def taken(X: Any, rows: np.ndarray) -> Any:
    return X.iloc[rows].reset_index(drop=True) if hasattr(X, "iloc") else X[rows]


def scores(model: Any, X: Any, y: np.ndarray, y_fitted: np.ndarray, kind: str) -> dict[str, float]:
    if kind == "numbers":
        errors = ((y - model.predict(X)) ** 2).sum(axis=0)
        of_mean = ((y - y_fitted.mean(axis=0)) ** 2).sum(axis=0)
        return {"error": float(np.sqrt(errors[of_mean > 0] / of_mean[of_mean > 0]).mean())}
    p = np.asarray(model.predict_proba(X))
    clipped = np.clip(p, LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY)
    if kind == "labels":
        loss = -(np.log(clipped) * (y > 0) + np.log1p(-clipped) * (y == 0)).mean()
        return {"error": float(loss), "ranking precision": float(ranking_precision(y > 0, p))}
    chosen = clipped[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    return {"error": float(-np.log(chosen).mean())}


def draws(load: Callable[[], Problem]) -> Iterator[tuple[int, Any, np.ndarray, np.ndarray, np.ndarray]]:
    """The number of each draw, X, y, and the samples that are fitted and those that are held out."""
    X, y = load()
    rows = np.random.default_rng(7).permutation(len(y))[: MOST_TEXTS if hasattr(X, "indptr") else MOST_ROWS]
    X, y = taken(X, rows), y[rows]
    for draw in range(3 if len(y) < 1000 else 1):
        held, fitted = np.split(np.random.default_rng(draw).permutation(len(y)), [len(y) // 4])
        yield draw, X, y, fitted, held


def geometric_mean(ratios: list[float]) -> str:
    """The geometric mean with the standard error of the mean logarithm, if there are several, and how many are below 1."""
    logs = np.log(ratios)
    spread = f" ± {logs.std(ddof=1) / np.sqrt(len(logs)):.3f}" if len(logs) > 1 else ""
    return f"{np.exp(logs.mean()):.3f}{spread}, better on {(logs < 0).sum()}"


def run(path: Path, kinds: list[str]) -> None:
    import weald

    warnings.simplefilter("ignore")
    done = {(row["set"], row["leaves"], row["draw"]) for row in _records.read(path)}
    problems = [(kind, name, load) for kind in kinds for name, load in KINDS[kind].items()]
    for kind, name, load in problems:
        estimator = weald.GradientBoostingRegressor if kind == "numbers" else weald.GradientBoostingClassifier
        for draw, X, y, fitted, held in draws(load):
            for leaves in LEAVES:
                if (name, leaves, draw) in done:
                    continue
                begin = time.process_time()
                model = estimator(max_leaf_nodes=leaves, output_strategy="projected", random_state=0, n_jobs=1)
                model.fit(taken(X, fitted), y[fitted])
                row = {"kind": kind, "set": name, "leaves": leaves, "draw": draw, "samples": len(fitted)}
                row |= {"columns": model._model.width, "seconds": time.process_time() - begin}
                _records.append(path, row | scores(model, taken(X, held), y[held], y[fitted], kind))
        print(name, flush=True)


def report(path: Path) -> None:
    found: dict[str, dict[int, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for row in _records.read(path):
        found[row["set"]][row["leaves"]].append(row)

    def mean(name: str, leaves: int, what: str) -> float:
        return float(np.mean([row[what] for row in found[name][leaves]]))

    print(
        "| kind | set | samples | columns | error, 31 leaves | 63, ratio | 127, ratio | ranking precision | seconds |"
    )
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|")
    for name in sorted(
        found, key=lambda name: (list(KINDS).index(found[name][31][0]["kind"]), mean(name, 31, "samples"))
    ):
        first, error = found[name][31][0], mean(name, 31, "error")
        ratios = [f"{mean(name, n, 'error') / error:.3f}" for n in LEAVES[1:]]
        ranks = "ranking precision"
        ranking = " / ".join(f"{mean(name, n, ranks):.4f}" for n in LEAVES) if ranks in first else ""
        seconds = " / ".join(f"{mean(name, n, 'seconds'):.2g}" for n in LEAVES)
        told = [first["kind"], name, first["samples"], first["columns"], f"{error:.4g}", *ratios, ranking, seconds]
        print("|", " | ".join(map(str, told)), "|")
    print("\n| samples | sets | 63 leaves | 127 leaves | seconds |\n|---|--:|--:|--:|--:|")
    for told, least, most in (("up to 2 000", 0, 2000), ("up to 5 000", 2001, 5000), ("more", 5001, MOST_ROWS)):
        names = [name for name in found if least <= mean(name, 31, "samples") <= most]
        cells = [
            geometric_mean([mean(name, n, "error") / mean(name, 31, "error") for name in names]) for n in LEAVES[1:]
        ]
        times = [
            np.mean(np.log([mean(name, n, "seconds") / mean(name, 31, "seconds") for name in names]))
            for n in LEAVES[1:]
        ]
        print(f"| {told} | {len(names)} | {' | '.join(cells)} | × {np.exp(times[0]):.1f}, × {np.exp(times[1]):.1f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "report"])
    parser.add_argument("path", type=Path)
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), choices=list(KINDS))
    args = parser.parse_args()
    if args.what == "run":
        run(args.path, args.kinds)
    else:
        report(args.path)


if __name__ == "__main__":
    main()
