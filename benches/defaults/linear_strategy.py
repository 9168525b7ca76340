"""From how many labels on a linear model is a tree of labels: ranks of held-out samples, seconds, and bytes of both strategies.

    python benches/defaults/linear_strategy.py results.jsonl [--only finna_en]

Three quarters of the training part are fitted with `strategy="one_vs_rest"` and with `"tree"`, at the other defaults, and the last
quarter says what precision at 1, 3 and 5 has. "finna_en_large 60000 5000" are 60 000 of its titles with their 5 000 most frequent
subjects, without titles that have none of them. Missing values of dense X are the means of their columns. The test parts are not
read. One thread, processor seconds. Results that `results.jsonl` has are not measured again; the table is printed at the end.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import weald
from weald.metrics import precision_at_k

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))

import _data

STRATEGIES = ["one_vs_rest", "tree"]
SETS = ["bibtex", "corel5k", "delicious", "eisen_go", "seq_go", "finna_en"]
SETS += [f"finna_en_large 60000 {most}" for most in (1000, 2000, 5000, 10_000, 20_000)]


def training_part(case: str) -> tuple[Any, Any]:
    """X and labels in a random order."""
    name, *sizes = case.split()
    data = _data.named(name)
    X, Y = data.X if sp.issparse(data.X) else _data.filled(data).X, sp.csr_array(data.y).astype(float)
    order = np.random.default_rng(0).permutation(X.shape[0])
    if sizes:
        order = order[: int(sizes[0])]
        frequent = np.argsort(-Y[order].sum(axis=0), kind="stable")[: int(sizes[1])]
        Y = Y[:, np.sort(frequent)]
        order = order[Y[order].sum(axis=1) > 0]
    return sp.csr_array(X)[order] if sp.issparse(X) else X[order], Y[order]


def measured(X: Any, Y: Any, strategy: str) -> dict[str, Any]:
    """Scores of the last quarter by a model of the first three."""
    n = X.shape[0] * 3 // 4
    start = time.process_time()
    model = weald.LinearClassifier(strategy=strategy, random_state=0).fit(X[:n], Y[:n])
    seconds = time.process_time() - start
    top = model.predict_topk(X[n:], 5)[0]
    precisions = [precision_at_k(Y[n:], top[:, :k], k) for k in (1, 3, 5)]
    return {"n": n, "labels": Y.shape[1], "precision": precisions, "seconds": seconds, "bytes": len(weald.dumps(model))}


def main() -> None:
    """Measure what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    lines = args.results.read_text().splitlines() if args.results.exists() else []
    found = {tuple(line.pop("case")): line for line in map(json.loads, lines)}
    for case in (case for case in SETS if args.only in case):
        part = None
        for strategy in STRATEGIES:
            if (case, strategy) not in found:
                part = part or training_part(case)
                found[case, strategy] = measured(*part, strategy)
                with args.results.open("a") as file:
                    print(json.dumps({"case": (case, strategy), **found[case, strategy]}), file=file)
    print("| set | fitted samples | labels | one against rest: at 1 / 3 / 5 | tree | seconds | MB |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for case in dict.fromkeys(case for case, _ in found):
        both = [found[case, strategy] for strategy in STRATEGIES if (case, strategy) in found]
        at = (" / ".join(f"{value:.4f}"[1:] for value in one["precision"]) for one in both)
        seconds, size = (
            ", ".join(f"{one[key] / unit:.3g}" for one in both) for key, unit in (("seconds", 1), ("bytes", 1e6))
        )
        print(f"| {case.split()[0]} | {both[0]['n']} | {both[0]['labels']} | {' | '.join(at)} | {seconds} | {size} |")


if __name__ == "__main__":
    main()
