"""The effect of scaling outputs to unit variance in the search of splits, with outputs in any units.

    python benches/defaults/output_scaling.py results.jsonl          # appends the missing results
    python benches/defaults/output_scaling.py results.jsonl --report

Data sets with several numerical outputs, split as in `study.py` (a quarter of the training part is scored, test parts
are never used), and a generated one; with outputs in their original units, and with one output multiplied by 10⁴.
Random forests, extra-trees, and extra-trees on Gaussian projections have 50 trees and at least two samples in a leaf;
boosting has 100 rounds, with joint trees and with one projection in each round. The score is the mean r² of the
outputs, which does not depend on their units; if one output is multiplied by 10⁴, it is the mean r² of the others.
One thread.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))

import _records
from _scores import r2_of_each
from study import NUMBERS, parts, read

MADE = "made, 8 outputs"
SETS = [*NUMBERS, MADE]
UNITS = ["as they are", "one times 10^4"]


def models(seed: int) -> Iterator[tuple[str, Any]]:
    import weald

    forest: dict[str, Any] = {"n_estimators": 50, "min_samples_leaf": 2, "random_state": seed}
    yield "random forest", weald.RandomForestRegressor(max_features=0.5, **forest)
    yield "extra-trees", weald.ExtraTreesRegressor(**forest)
    yield "projected", weald.ExtraTreesRegressor(output_projection="gaussian", **forest)
    for name, strategy in (("boosting, joint", "joint"), ("boosting, projected", "projected")):
        yield name, weald.GradientBoostingRegressor(output_strategy=strategy, random_state=seed)


def made() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """1 500 samples with 20 features, and 8 outputs with scales from 1 to 2, each of which depends on four features of
    its own."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 20)).astype(np.float32)
    of_output = [X[:, (2 * j) % 17 : (2 * j) % 17 + 4] for j in range(8)]
    y = np.column_stack([np.sin(Z[:, 0] * 2) + Z[:, 1] * Z[:, 2] + np.abs(Z[:, 3]) for Z in of_output])
    y = (y + 0.3 * rng.normal(size=y.shape)) * np.linspace(1, 2, 8)
    return X[:1500], y[:1500], X[1500:], y[1500:]


def in_units(y: np.ndarray, y_scored: np.ndarray, units: str) -> tuple[np.ndarray, np.ndarray, int]:
    """Outputs in other units, and the one that is multiplied: that with the median deviation."""
    blown = int(np.argsort(y.std(axis=0))[y.shape[1] // 2])
    factor = np.ones(y.shape[1])
    if units == "one times 10^4":
        factor[blown] = 1e4
    return y * factor, y_scored * factor, blown


def run(path: Path, sets: list[str], n_seeds: int) -> None:
    done = {(row["set"], row["units"], row["model"], row["seed"]) for row in _records.read(path)}
    for name in sets:
        X, y, X_scored, y_scored = made() if name == MADE else parts(name)
        for units in UNITS:
            fitted, scored, blown = in_units(np.asarray(y, float), np.asarray(y_scored, float), units)
            for seed in range(n_seeds):
                for kind, model in models(seed):
                    if (name, units, kind, seed) in done:
                        continue
                    row: dict[str, Any] = {"set": name, "units": units, "model": kind, "seed": seed}
                    for scaling in (None, "variance"):
                        begin = time.process_time()
                        model.set_params(output_scaling=scaling).fit(X, fitted)
                        seconds = time.process_time() - begin
                        r2 = r2_of_each(model.predict(X_scored), scored)
                        found = {"r2": float(r2.mean()), "others": float(np.delete(r2, blown).mean())}
                        row[str(scaling)] = found | {"seconds": seconds}
                    _records.append(path, row)
        print(name, flush=True)


def report(path: Path) -> None:
    """Mean r² with None and "variance", over seeds, for each data set and model."""
    rows = read(path)
    names = list(dict.fromkeys(row["model"] for row in rows))
    for units in UNITS:
        key = "others" if units == "one times 10^4" else "r2"
        of = ": r² of the others" if key == "others" else ""
        print(f'\nOutputs {units}{of}: None / "variance"\n')
        print("| set | " + " | ".join(names) + " |")
        print("|---|" + "--:|" * len(names))
        gains: dict[str, list[float]] = {name: [] for name in names}
        models_of = {(r["set"], r["model"]) for r in rows if r["units"] == units}
        for set_name in [s for s in SETS if all((s, name) in models_of for name in names)]:
            cells = []
            for name in names:
                chosen = [r for r in rows if (r["set"], r["units"], r["model"]) == (set_name, units, name)]
                means = [np.mean([r[scaling][key] for r in chosen]) for scaling in ("None", "variance")]
                gains[name].append(means[1] - means[0])
                cells.append(" / ".join(f"{mean:.3f}" for mean in means))
            print(f"| {set_name} | " + " | ".join(cells) + " |")
        print("| mean gain, least | " + " | ".join(f"{np.mean(g):+.3f}, {min(g):+.3f}" for g in gains.values()) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--only", choices=SETS, nargs="+", default=SETS)
    parser.add_argument("--seeds", type=int, default=2)
    arguments = parser.parse_args()
    if not arguments.report:
        run(arguments.results, arguments.only, arguments.seeds)
    report(arguments.results)


if __name__ == "__main__":
    main()
