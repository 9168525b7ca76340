"""What should trees be grown on for the absolute error and for quantiles? Errors with two builds of the engine.

    python benches/defaults/distances.py run one.jsonl          # appends the missing results of the build that is installed
    python benches/defaults/distances.py report one.jsonl another.jsonl

The tables of one number of `benches/tables/_more_numbers.py` and the first column of those of several, of at most 6 000
samples: three quarters are fitted, the other quarter judges, three draws of tables of less than 1 000 samples. Errors are
relative to those of constants of the fitted samples: the pinball loss of the quantiles .05, .5 and .95, and the absolute
error. One thread, processor seconds.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tables"))

import _records
from _more_numbers import MORE_NUMBERS
from _tables import Table

LEVELS = np.array([0.05, 0.5, 0.95])
LOSSES = ("quantiles", "absolute_error")
MOST_SAMPLES = 6_000


def pinball(y: np.ndarray, quantiles: np.ndarray) -> float:
    over = y[:, None] - quantiles
    return float(np.maximum(LEVELS * over, (LEVELS - 1) * over).mean())


def error(loss: str, X: Any, y: np.ndarray, fitted: np.ndarray, held: np.ndarray) -> float:
    import weald

    asked = weald.loss.Quantile(LEVELS.tolist()) if loss == "quantiles" else loss
    model = weald.GradientBoostingRegressor(loss=asked, random_state=0, n_jobs=1)
    model.fit(X.iloc[fitted].reset_index(drop=True), y[fitted])
    X_held = X.iloc[held].reset_index(drop=True)
    if loss == "quantiles":
        constant = np.quantile(y[fitted], LEVELS)[None, :]
        return pinball(y[held], model.predict_quantiles(X_held)) / pinball(y[held], constant)
    return float(abs(y[held] - model.predict(X_held)).sum() / abs(y[held] - np.median(y[fitted])).sum())


def known(table: Table) -> tuple[Any, np.ndarray]:
    X, y = table.load()
    y = np.asarray(y, dtype=np.float64).reshape(len(X), -1)[:, 0]
    return X[np.isfinite(y)].reset_index(drop=True), y[np.isfinite(y)]


def run(path: Path) -> None:
    warnings.simplefilter("ignore")
    done = {(row["loss"], row["table"], row["draw"]) for row in _records.read(path)}
    for name, table in MORE_NUMBERS.items():
        X, y = known(table)
        for draw in range(3 if len(y) < 1000 else 1):
            order = np.random.default_rng(100 + draw).permutation(len(y))[:MOST_SAMPLES]
            held, fitted = np.split(order, [len(order) // 4])
            for loss in LOSSES:
                if (loss, name, draw) not in done:
                    begin = time.process_time()
                    row = {"loss": loss, "table": name, "draw": draw, "error": error(loss, X, y, fitted, held)}
                    _records.append(path, row | {"samples": len(fitted), "seconds": time.process_time() - begin})
        print(name, flush=True)


def report(paths: list[Path]) -> None:
    # Those of two builds, which `_records` does not read together.
    rows = ([json.loads(line) for line in path.read_text().splitlines()] for path in paths)
    first, second = ({(row["loss"], row["table"], row["draw"]): row for row in found} for found in rows)
    print("| loss | samples | tables | error, ratio | better | worst | seconds |\n|---|---|--:|--:|--:|--:|--:|")
    for loss in LOSSES:
        for told, least, most in (("up to 300", 0, 300), ("up to 1 000", 301, 1000), ("more", 1001, MOST_SAMPLES)):
            names = sorted({n for (of, n, _), r in first.items() if of == loss and least <= r["samples"] <= most})

            def ratios(what: str, names: list[str] = names, loss: str = loss) -> np.ndarray:
                def mean(rows: dict[Any, Any], name: str) -> float:
                    return float(np.mean([row[what] for key, row in rows.items() if key[:2] == (loss, name)]))

                return np.array([mean(second, name) / mean(first, name) for name in names])

            errors, times = ratios("error"), ratios("seconds")
            cells = [loss, told, len(names), f"{np.exp(np.log(errors).mean()):.3f}", int((errors < 1).sum())]
            print("|", " | ".join(map(str, cells)), f"| {errors.max():.3f} | {np.exp(np.log(times).mean()):.2f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "report"])
    parser.add_argument("paths", type=Path, nargs="+")
    args = parser.parse_args()
    if args.what == "run":
        run(args.paths[0])
    else:
        report(args.paths)


if __name__ == "__main__":
    main()
