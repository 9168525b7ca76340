"""Predictions of gene functions with and without their hierarchy: Fmax, areas under precision-recall curves, violations.

    python benches/defaults/hierarchies.py [--headers FOLDER] [--trees 100] [--rounds 50] [--only eisen_go] [--no-test]

The labels of eisen_go and seq_go are functions of the Gene Ontology, whose hierarchy stands in the header of the ARFF files
that the data sets were made from: `FOLDER` has eisen_GO.train.arff and seq_GO.train.arff of the source that
`benches/data.py` names, and the labels are the nodes in the order of their names. Without `--headers`, the hierarchy is the one
that the labels of the training part imply (`LabelHierarchy.from_labels`), which is another one.

A random forest, boosting and a linear model are fitted to the first two thirds of the training part, the source's own part for
training, and scored on the rest, its part for validation; then to all of it and scored on the test part. The scores as
they are ("flat") are compared with the consistent ones of each method. Labels without a sample in the part that is scored are
left out of averages over labels. One seed.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import weald
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from weald.metrics import auprc, fmax, hierarchical_f1
from weald.multilabel import LabelHierarchy

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))

import _data

SETS = {"eisen_go": ("eisen_GO", 1055), "seq_go": ("seq_GO", 1692)}
METHODS = ("flat", "max", "min", "isotonic")


def from_header(path: Path) -> LabelHierarchy:
    """The hierarchy in the header of an ARFF file of CLUS."""
    with open(path) as file:
        line = next(
            line for line in file if re.match(r"@ATTRIBUTE\s+class\s+hierarchical\s", line, flags=re.IGNORECASE)
        )
    pairs = [pair.split("/") for pair in line.split()[-1].split(",")]
    names = sorted({child for _, child in pairs})
    return LabelHierarchy([(child, parent) for parent, child in pairs if parent != "root"], label_names=names)


def estimators(trees: int, rounds: int) -> dict[str, Any]:
    linear = make_pipeline(SimpleImputer(), StandardScaler(), weald.LinearClassifier(random_state=0))
    return {
        "forest": weald.RandomForestClassifier(n_estimators=trees, random_state=0, n_jobs=-1),
        "boosting": weald.GradientBoostingClassifier(n_estimators=rounds, random_state=0, n_jobs=-1),
        "linear": linear,
    }


def report(what: str, scores: Any, truth: Any, hierarchy: LabelHierarchy) -> None:
    for method in METHODS:
        start = time.perf_counter()
        found = scores if method == "flat" else hierarchy.consistent(scores, method)
        seconds = time.perf_counter() - start
        figures = [fmax(truth, found), *(auprc(truth, found, average=name) for name in ("micro", "macro", "weighted"))]
        n_rises = hierarchy.n_violations(found)
        labels = (found > 0.5).astype(int)
        print(
            f"| {what} | {method} | {' | '.join(f'{figure:.4f}' for figure in figures)} | "
            f"{hierarchical_f1(truth, labels, hierarchy):.4f} | {n_rises} | {hierarchy.n_violations(labels)} | {seconds:.2f} s |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--headers", type=Path)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--only", nargs="*", default=list(SETS))
    parser.add_argument("--models", nargs="*", default=["forest", "boosting", "linear"])
    parser.add_argument("--no-test", action="store_true")
    options = parser.parse_args()
    columns = ["Fmax", "micro AUPRC", "macro AUPRC", "weighted AUPRC", "hF1 at 0.5", "rises", "not closed", "time"]
    print(f"| scores | method | {' | '.join(columns)} |")
    print(f"|---|---|{'--:|' * len(columns)}")
    for name in options.only:
        data = _data.named(name)
        stem, n_train = SETS[name]
        X, Y = np.asarray(data.X), sp.csr_array(data.y)
        if options.headers is None:
            hierarchy = LabelHierarchy.from_labels(Y)
        else:
            hierarchy = from_header(options.headers / f"{stem}.train.arff")
        hierarchy.check(Y)
        print(f"\n{name}: {hierarchy}", flush=True)
        parts = [("validation", X[:n_train], Y[:n_train], X[n_train:], Y[n_train:])]
        if not options.no_test:
            parts.append(("test", X, Y, np.asarray(data.X_test), sp.csr_array(data.y_test)))
        for part, X_fit, Y_fit, X_told, Y_told in parts:
            for kind, model in estimators(options.trees, options.rounds).items():
                if kind not in options.models:
                    continue
                start = time.perf_counter()
                model.fit(X_fit, Y_fit)
                seconds = time.perf_counter() - start
                scores = np.asarray(model.predict_proba(X_told))
                report(f"{name}, {part}, {kind} ({seconds:.0f} s)", scores, Y_told, hierarchy)


if __name__ == "__main__":
    main()
