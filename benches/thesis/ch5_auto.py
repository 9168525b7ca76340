"""A family of projections and their number, chosen by the out-of-bag score of the training samples.

Chapter 5 ends with the wish to choose both automatically for a problem. Here a choice is made as a parameter "auto"
would make it: a forest for each candidate, no projection among them, on the same samples and with the same seed; the
one with the best out-of-bag label ranking average precision is taken. Forests of a choice have 25 trees, or all of
them. Nothing of the test parts is read: a quarter of the training part of each data set is held out, and scores are of
it.

With a margin, a candidate is taken only if it is above no projection by two standard errors of the mean difference over
the samples. `ch5_auto.csv` has, for each data set, the held-out scores without projection, with each candidate, with
those that were chosen, and with the best candidate of the split (which needs the held-out samples); and the time of
the choice as a multiple of the time of a fit without projection.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import scipy.sparse as sp
import weald
from _common import Cells, at_hand, greet, mean_std, options, original, print_table, write_table

SETS = (
    "emotions",
    "scene",
    "medical",
    "CAL500",
    "diatoms",
    "mediamill_sample",
    "yahoo_arts",
    "corel5k",
    "bibtex",
    "reuters21578_r90",
    "rcv1sub1",
    "eisen_go",
    "seq_go",
    "delicious",
)
CANDIDATES = {
    "none": {},
    "gaussian log": {"output_projection": "gaussian", "n_projections": "log"},
    "gaussian 25": {"output_projection": "gaussian", "n_projections": 25},
    "subsample log": {"output_projection": "subsample", "n_projections": "log"},
    "subsample 25": {"output_projection": "subsample", "n_projections": 25},
    "sparse log": {"output_projection": "sparse", "n_projections": "log"},
}
OF_A_CHOICE = 25
"""Trees of the smaller forests among which is chosen."""
VALUES = ("oob_few", "oob_few_s", "oob_all", "oob_all_s", "error_few", "error_all", "score")
"""Out-of-bag scores and seconds with few and with all trees; standard errors of their differences from no projection;
the score of the samples that are held out."""


def at_most(n_outputs: int, projection: dict[str, Any]) -> dict[str, Any]:
    q = projection.get("n_projections")
    return {**projection, "n_projections": min(q, n_outputs)} if isinstance(q, int) else projection


def precisions(truth: Any, scores: Any) -> np.ndarray:
    """The label ranking average precision of each sample; 1 for those without labels, as in scikit-learn."""
    found = np.ones(truth.shape[0])
    for i in range(len(found)):
        labels = truth.indices[truth.indptr[i] : truth.indptr[i + 1]]
        if len(labels):
            row = scores[[i]].toarray()[0] if sp.issparse(scores) else scores[i]
            own = row[labels]
            above = len(row) - np.searchsorted(np.sort(row), own, "left")
            found[i] = ((len(own) - np.searchsorted(np.sort(own), own, "left")) / above).mean()
    return found


def cell(name: str, trees: int, seed: int) -> dict[str, float]:
    data = original(name)
    X, Y = data.X, sp.csr_array(data.y)
    order = np.random.default_rng(seed).permutation(X.shape[0])
    held, kept = order[: len(order) // 4], order[len(order) // 4 :]
    found: dict[str, float] = {}
    without: dict[str, np.ndarray] = {}
    for candidate, projection in CANDIDATES.items():
        parameters = {"max_features": "sqrt", "random_state": seed, "n_jobs": 1, "bootstrap": True, "oob_score": True}
        parameters |= at_most(Y.shape[1], projection)
        for size, n in (("few", min(trees, OF_A_CHOICE)), ("all", trees)):
            start = time.perf_counter()
            forest = weald.RandomForestClassifier(n, **parameters).fit(X[kept], Y[kept])
            seconds = time.perf_counter() - start
            out_of_bag = precisions(Y[kept], forest.oob_decision_function_)
            error = (out_of_bag - without.setdefault(size, out_of_bag)).std() / len(out_of_bag) ** 0.5
            found |= {
                f"{candidate}, oob_{size}": float(out_of_bag.mean()),
                f"{candidate}, oob_{size}_s": seconds,
                f"{candidate}, error_{size}": float(error),
            }
        found[f"{candidate}, score"] = float(precisions(Y[held], forest.predict_proba(X[held])).mean())
    return found


def chosen(values: dict[str, float], size: str, margin: float) -> str:
    """The candidate of the best out-of-bag score; of equal ones, the first."""
    best = max(CANDIDATES, key=lambda c: values[f"{c}, oob_{size}"])
    gain = values[f"{best}, oob_{size}"] - values[f"none, oob_{size}"]
    return best if gain > margin * values[f"{best}, error_{size}"] else "none"


CHOICES = {"by 25 trees": ("few", 0.0), "by all trees": ("all", 0.0), "by all trees, margin": ("all", 2.0)}


def summary(cells: Cells, trees: int) -> list[dict[str, Any]]:
    rows = []
    for name in SETS:
        found = [v for k, v in cells.done.items() if k[:2] == (name, str(trees))]
        if not found:
            continue
        row: dict[str, Any] = {"dataset": name, "splits": len(found)}
        for candidate in CANDIDATES:
            row[candidate] = mean_std([v[f"{candidate}, score"] for v in found])[0]
        for how, (size, margin) in CHOICES.items():
            taken = [chosen(v, size, margin) for v in found]
            row[how] = mean_std([v[f"{t}, score"] for v, t in zip(found, taken, strict=True)])[0]
            row[f"{how}, which"] = "; ".join(taken)
        row["best of the split"] = mean_std([max(v[f"{c}, score"] for c in CANDIDATES) for v in found])[0]
        for size in ("few", "all"):
            spent = [sum(v[f"{c}, oob_{size}_s"] for c in CANDIDATES) / v["none, oob_all_s"] for v in found]
            row[f"time of choice, {size}"] = mean_std(spent)[0]
        rows.append(row)
    if len(rows) > 1:
        mean: dict[str, Any] = {"dataset": "mean", "splits": sum(row["splits"] for row in rows)}
        for column, value in list(rows[0].items())[2:]:
            mean[column] = "" if isinstance(value, str) else mean_std([row[column] for row in rows])[0]
        rows.append(mean)
    return rows


def main() -> None:
    args = options(__doc__.splitlines()[0], repeat=3)
    greet(__doc__.splitlines()[0])
    values = [f"{candidate}, {value}" for candidate in CANDIDATES for value in VALUES]
    cells = Cells(args.out / "ch5_auto_cells.csv", ("dataset", "trees", "seed"), values, args.fresh)
    wanted = [
        (name, args.trees, seed) for seed in range(args.repeat) for name in SETS if at_hand(name) and args.only in name
    ]
    cells.run(wanted, cell, args.n_jobs)
    if rows := summary(cells, args.trees):
        write_table(args.out / "ch5_auto.csv", rows)
        print_table([{k: v for k, v in row.items() if "which" not in k} for row in rows])


if __name__ == "__main__":
    main()
