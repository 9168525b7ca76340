"""The features that a linear model chooses: given, normalised or tf-idf, on text with few and with very many labels.

    python benches/defaults/linear_features.py results.jsonl [--only bibtex] [--kinds 01 counts]

X is what a set of text has, counts or tf-idf of its source, or 0 and 1. Three quarters of the training part are fitted with each
kind of features, and with the one that `LinearClassifier` chooses; the last quarter says what share of samples has a right first
label, and the nDCG of the first five. `C` is "auto", or 0.3 for more than 2 000 labels where features are given. The test parts
are not read. One thread, processor seconds. Results that `results.jsonl` has are not measured again; the table is printed at the
end.
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
from weald.metrics import ndcg_at_k, precision_at_k

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))

import _data

SETS = [
    "medical",
    "bibtex",
    "reuters21578_r90",
    "yahoo_arts",
    "rcv1sub1",
    "20newsgroup",
    "goemotions",
    "corel5k",
    "delicious",
    "finna_en",
]
FEATURES = ["given", "normalized", "tfidf", "auto"]
# At most so many samples of a training part, drawn at random.
MOST = {"20newsgroup": 5000, "delicious": 9000, "goemotions": 12_000}


def training_part(name: str, kind: str) -> tuple[Any, Any] | None:
    """X and labels, as 0 and 1 or as they are; None if there is nothing to make 0 and 1 of."""
    data = _data.named(name)
    X, y = sp.csr_array(data.X), data.y
    if kind == "01" or (X.data == 1).all():
        if kind != "01":
            return None
        X.data[:] = 1
    Y = sp.csr_array(y) if sp.issparse(y) else sp.csr_array(np.asarray(y)[:, None] == np.unique(y))
    order = np.random.default_rng(0).permutation(X.shape[0])[: MOST.get(name)]
    return X[order], Y[order].astype(float)


def measured(X: Any, Y: Any, features: str) -> dict[str, Any]:
    """Scores of the last quarter by a model of the first three."""
    n = X.shape[0] * 3 // 4
    C = 0.3 if Y.shape[1] > 2000 and features != "auto" else "auto"
    start = time.process_time()
    model = weald.LinearClassifier(C=C, features=features, random_state=0).fit(X[:n], Y[:n])
    seconds = time.process_time() - start
    top = model.predict_topk(X[n:], 5)[0]
    return {
        "precision": precision_at_k(Y[n:], top, 1),
        "ndcg": ndcg_at_k(Y[n:], top, 5),
        "chosen": model.features_,
        "C": model.C_,
        "seconds": seconds,
    }


def main() -> None:
    """Measure what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--only", nargs="+", default=SETS)
    parser.add_argument("--kinds", nargs="+", default=["01", "counts"])
    args = parser.parse_args()
    lines = args.results.read_text().splitlines() if args.results.exists() else []
    found = {tuple(line.pop("case")): line for line in map(json.loads, lines)}
    for name in args.only:
        for kind in args.kinds:
            if (part := training_part(name, kind)) is None:
                continue
            for features in FEATURES:
                if (case := (name, kind, part[1].shape[1], features)) not in found:
                    found[case] = measured(*part, features)
                    with args.results.open("a") as file:
                        print(json.dumps({"case": case, **found[case]}), file=file)
    print("| set, labels, X | given | normalized | tf-idf | chosen |")
    print("|---|--:|--:|--:|---|")
    for name, kind, n_labels in dict.fromkeys(case[:3] for case in found):
        of_kinds = [found.get((name, kind, n_labels, features)) for features in FEATURES]
        if None in of_kinds:
            continue
        scores = [f"{of['precision']:.3f}, {of['ndcg']:.3f}" for of in of_kinds]
        chosen = of_kinds[-1]["chosen"]
        print(f"| {name}, {n_labels}, {kind} | {' | '.join(scores[:3])} | {chosen} |")


if __name__ == "__main__":
    main()
