"""Projected forests with relabelled leaves against those that are decoded by least squares.

Chapter 5 labels the leaves of a projected tree with the original outputs, so that nothing has to be decoded. The end of
chapter 6 names the alternative: leaves keep the q means of the projected outputs, which takes less memory with many
outputs, and a prediction z is mapped back by the pseudo-inverse, y = Φ⁺ z; the thesis expects a cost in accuracy and in
time of predictions, and gives no figures. Here: random forests of 100 fully grown trees with √p features a node, on
Gaussian projections; data sets split at random into parts of the published sizes. All forests of a line have the same
split and the same seed.

"one" is one Φ for all trees: `RandomForestRegressor` on Y Φᵀ, decoded after the mean over trees. Its targets differ from
those of the relabelled forest with `projection_scope="forest"` in their rounding only. "each" is one Φ for each tree:
forests of one tree, of which each is decoded with its own Φ before the mean.

`ch5_decoded.csv` has the mean label ranking average precision over splits, and the mebibytes of the pickled forests.
"""

from __future__ import annotations

import pickle
import time
from typing import Any

import numpy as np
import weald
from _common import Cells, at_hand, greet, log_of, lrap, mean_std, options, print_table, split, write_table
from ch5_table import SIZES
from weald.projection import GaussianProjection

SETS = ("emotions", "scene", "medical", "CAL500", "diatoms", "corel5k", "bibtex")
WAYS = ("none", "relabelled, one", "decoded, one", "relabelled, each", "decoded, each")


class DecodedForest:
    """Trees on Y Φᵀ whose predictions are mapped back by least squares."""

    def __init__(self, q: int, each: bool, n_estimators: int, **parameters: Any) -> None:
        self.q, self.each, self.n_estimators, self.parameters = q, each, n_estimators, parameters

    def fit(self, X: Any, Y: Any) -> DecodedForest:
        n_groups = self.n_estimators if self.each else 1
        seed = self.parameters["random_state"]
        self.parts = []
        for group in range(n_groups):
            phi = GaussianProjection().draw(Y.shape[1], self.q, random_state=seed + 1000 * group)
            parameters = {**self.parameters, "random_state": seed + 1000 * group}
            forest = weald.RandomForestRegressor(self.n_estimators // n_groups, **parameters).fit(X, Y @ phi.T)
            self.parts.append((forest, np.linalg.pinv(phi)))
        return self

    def predict(self, X: Any) -> np.ndarray:
        return sum(self._decoded(forest, inverse, X) for forest, inverse in self.parts) / len(self.parts)

    @staticmethod
    def _decoded(forest: Any, inverse: np.ndarray, X: Any) -> np.ndarray:
        z = forest.predict(X)
        return z.reshape(len(z), -1) @ inverse.T


def grid(name: str) -> list[int]:
    """Numbers of projections: ⌊½ + ln d⌋, 25, 100, as far as they are below d."""
    d = SIZES[name][2]
    return list(dict.fromkeys(q for q in (log_of(d), 25, 100) if q < d))


def cell(name: str, q: int, way: str, trees: int, seed: int) -> dict[str, float]:
    n_train, n_test, _ = SIZES[name]
    data = split(name, n_train, n_test, seed)
    parameters = {"max_features": "sqrt", "random_state": seed, "n_jobs": 1}
    model: Any
    if way.startswith("decoded"):
        model = DecodedForest(q, way.endswith("each"), trees, **parameters)
    else:
        if way != "none":
            scope = "tree" if way.endswith("each") else "forest"
            parameters |= {"output_projection": "gaussian", "n_projections": q, "projection_scope": scope}
        model = weald.RandomForestClassifier(trees, **parameters)
    start = time.perf_counter()
    model.fit(data.X, data.y)
    fitted = time.perf_counter()
    score = lrap(model, data)
    found = {"score": score, "fit_s": fitted - start, "predict_s": time.perf_counter() - fitted}
    return {**found, "mib": len(pickle.dumps(model.parts if way.startswith("decoded") else model)) / 2**20}


def summary(cells: Cells, trees: int) -> list[dict[str, Any]]:
    """A line for each data set and q, of the splits on which all ways have been measured."""
    rows = []
    for name in SETS:
        for q in grid(name):
            keys = {way: (name, "0" if way == "none" else str(q), way, str(trees)) for way in WAYS}
            seeds = set.intersection(*({k[-1] for k in cells.done if k[:-1] == key} for key in keys.values()))
            if not seeds:
                continue
            row: dict[str, Any] = {"dataset": name, "d": SIZES[name][2], "q": q, "splits": len(seeds)}
            for way, key in keys.items():
                found = [cells.done[*key, seed] for seed in sorted(seeds)]
                row[way], row[f"{way}, std"] = mean_std([values["score"] for values in found])
                for value, unit in (("mib", "MiB"), ("fit_s", "fit s"), ("predict_s", "predict s")):
                    row[f"{way}, {unit}"] = mean_std([values[value] for values in found])[0]
            rows.append(row)
    return rows


def main() -> None:
    args = options(__doc__.splitlines()[0], repeat=5)
    greet(__doc__.splitlines()[0])
    keys = ("dataset", "q", "way", "trees", "seed")
    cells = Cells(args.out / "ch5_decoded_cells.csv", keys, ("score", "fit_s", "predict_s", "mib"), args.fresh)
    wanted = [
        (name, 0 if way == "none" else q, way, args.trees, seed)
        for seed in range(args.repeat)
        for name in SETS
        if at_hand(name) and args.only in name
        for q in grid(name)
        for way in WAYS
    ]
    cells.run(dict.fromkeys(wanted), cell, args.n_jobs)
    if rows := summary(cells, args.trees):
        write_table(args.out / "ch5_decoded.csv", rows)
        print_table([{k: v for k, v in row.items() if not k.endswith(("std", " s"))} for row in rows])


if __name__ == "__main__":
    main()
