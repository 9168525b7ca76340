"""How far should thresholds of labels be shrunk to a common one, and how good are thresholds from out-of-bag scores?

    python benches/defaults/label_thresholds.py run results.jsonl [--sets bibtex medical] [--trees 100] [--rows 0 1000]
    python benches/defaults/label_thresholds.py report results.jsonl

A random forest is fitted to the training part of each data set, or to a random selection of its samples (`--rows`), so
that more labels are rare. `weald.multilabel.TunedThresholds` tunes thresholds on its out-of-bag scores for each
objective and shrinkage. They are scored on the test part: F1 of all values, mean F1 of labels, mean F1 of labels with
fewer than ten training samples and at least one in the test part, and precision. The report has means over data sets,
and the shrinkage that would be chosen for each data set on the other ones.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))

import _data
import _records

SETS = ("medical", "bibtex", "yahoo_arts", "rcv1sub1", "reuters21578_r90", "delicious", "goemotions")
# The amount of shrinkage and its target: the share of predicted values of all labels, or the threshold of all labels.
RULES = (
    *((shrinkage, "share") for shrinkage in (0.0, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, np.inf)),
    *((shrinkage, "threshold") for shrinkage in (1.0, 10.0, np.inf)),
)
OBJECTIVES = ("f1", "macro_f1", "micro_f1", "precision>=.8")
FEW = 10


def judged(named: sp.csr_array, truth: sp.csr_array, n_train: np.ndarray) -> dict[str, float]:
    """F1 and precision of the labels predicted for the test part."""
    hits = np.asarray(named.multiply(truth).sum(axis=0)).ravel()
    n_named, n_true = (np.asarray(part.sum(axis=0)).ravel() for part in (named, truth))
    by_label = 2 * hits / np.maximum(n_named + n_true, 1)
    rare = (n_train < FEW) & (n_train > 0) & (n_true > 0)
    return {
        "micro": float(2 * hits.sum() / max(n_named.sum() + n_true.sum(), 1)),
        "macro": float(by_label[n_true > 0].mean()),
        "rare": float(by_label[rare].mean()) if rare.any() else float("nan"),
        "n_rare": int(rare.sum()),
        "precision": float(hits.sum() / n_named.sum()) if n_named.sum() else float("nan"),
        "recall": float(hits.sum() / n_true.sum()),
        "labels_a_row": float(n_named.sum() / named.shape[0]),
    }


def run(out: Path, sets: list[str], n_trees: int, n_rows: list[int], seeds: int) -> None:
    for name in sets:
        data = _data.named(name)
        X, X_test = sp.csr_array(data.X, dtype=np.float32), sp.csr_array(data.X_test, dtype=np.float32)
        y, y_test = sp.csr_array(data.y).astype(bool), sp.csr_array(data.y_test).astype(bool)
        for size in n_rows:
            if size >= X.shape[0]:
                continue
            for seed in range(seeds):
                rows = np.arange(X.shape[0])
                if size:
                    rows = np.sort(np.random.default_rng(seed).permutation(X.shape[0])[:size])
                for line in lines_of(X[rows], y[rows], X_test, y_test, n_trees, seed):
                    _records.append(out, {"set": name, "rows": size, **line})
                print(name, size, seed, flush=True)


def lines_of(X: Any, y: Any, X_test: Any, y_test: Any, n_trees: int, seed: int) -> Iterator[dict[str, Any]]:
    """The scores of each objective and shrinkage with one forest."""
    import weald
    from weald.multilabel import TunedThresholds

    n_train = np.asarray(y.sum(axis=0)).ravel()
    begin = time.perf_counter()
    forest = kept(weald.RandomForestClassifier(n_trees, random_state=seed, n_jobs=-1), X, y)
    base = {"seed": seed, "trees": n_trees, "fit_s": round(time.perf_counter() - begin, 2)}
    base |= {"weald": weald.__version__, "numpy": version("numpy"), "python": platform.python_version()}
    proba = forest.model.predict_sparse(X_test, 0.01)
    yield {**base, "objective": "half", "rule": None, **judged(proba > 0.5, y_test, n_train)}
    for objective in OBJECTIVES:
        for shrinkage, toward in RULES:
            tuner = TunedThresholds(forest, objective=objective, shrinkage=shrinkage, toward=toward, cv="oob")
            begin = time.perf_counter()
            tuner.fit(X, y)
            line = {"objective": objective, "rule": f"{shrinkage:g} {toward}", "tune_s": time.perf_counter() - begin}
            named = proba.copy()
            named.data = (named.data >= tuner.threshold_[named.indices]).astype(float)
            named.eliminate_zeros()
            yield {**base, **line, **judged(sp.csr_array(named > 0), y_test, n_train)}


def kept(forest: Any, X: Any, y: Any) -> Any:
    """A forest that is fitted once, and whose out-of-bag scores every tuner uses."""
    from weald._fitted.fits import Fit

    class KeptForest(type(forest)):  # type: ignore[misc]
        def __sklearn_clone__(self) -> Any:
            return self

        def _fit_out_of_bag(self, given: Any, min_score: float) -> Any:
            return self.scores, self.n_trees

    found = KeptForest(**forest.get_params())
    found.model = forest
    found.scores, found.n_trees = forest._fit_out_of_bag(Fit(X, y), 0.01)
    return found


def report(path: Path) -> None:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    found: dict[Any, list[float]] = defaultdict(list)
    for line in lines:
        for measure in ("micro", "macro", "rare", "precision", "recall", "labels_a_row"):
            found[line["objective"], line["rule"], line["set"], line["rows"], measure].append(line[measure])
    mean = {key: float(np.mean(values)) for key, values in found.items()}
    cases = sorted({(key[2], key[3]) for key in mean}, key=lambda case: (case[1], SETS.index(case[0])))
    names = [f"{name}{f' {size}' if size else ''}" for name, size in cases]
    rules = [f"{shrinkage:g} {toward}" for shrinkage, toward in RULES]
    for objective in ("half", *OBJECTIVES):
        shown = ("precision", "recall") if objective.startswith("prec") else ("micro", "macro", "rare", "labels_a_row")
        for measure in shown:
            print(f"\n{objective}: {measure}\n\n| | " + " | ".join(names) + " | mean |")
            print("|---|" + "--:|" * (len(names) + 1))
            for rule in [None] if objective == "half" else rules:
                row = [mean[(objective, rule, *case, measure)] for case in cases]
                print(f"| {rule} | " + " | ".join(f"{value:.3f}" for value in [*row, np.nanmean(row)]) + " |")
    print("\nThe rule that is best on the other sets, by the mean of F1 of all cells and mean F1 of labels:\n")
    for objective in OBJECTIVES[:3]:

        def value(rule: str, case: Any, objective: str = objective) -> float:
            return (mean[(objective, rule, *case, "micro")] + mean[(objective, rule, *case, "macro")]) / 2

        for left_out in dict.fromkeys(name for name, _ in cases):
            others = [case for case in cases if case[0] != left_out]
            own = [case for case in cases if case[0] == left_out]
            best = max(rules, key=lambda rule, o=others: np.mean([value(rule, case) for case in o]))
            got, alone, one = (np.mean([value(r, case) for case in own]) for r in (best, "0 share", "inf threshold"))
            print(f"{objective}, {left_out}: {best}: {got:.3f}; alone {alone:.3f}, one threshold {one:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "report"])
    parser.add_argument("path", type=Path)
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--rows", nargs="*", type=int, default=[0, 1000])
    parser.add_argument("--seeds", type=int, default=2)
    args = parser.parse_args()
    if args.what == "run":
        run(args.path, args.sets, args.trees, args.rows, args.seeds)
    else:
        report(args.path)


if __name__ == "__main__":
    main()
