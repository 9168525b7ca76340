"""Should each of many numbers have trees of its own? Errors of boosting with shared trees and with a tree for each output.

    python benches/defaults/own_trees.py run results.jsonl          # appends the missing results
    python benches/defaults/own_trees.py report results.jsonl

The numbers of `leaves.py` and made ones that are mostly noise, with its draws: three quarters of the training samples are
fitted, the other quarter judges, and test parts are never used. Outputs with a single value in the quarter are left out.
The error is

* squared error: the root of the squared errors ÷ those of the mean of the fitted samples, a mean over outputs;
* absolute error: the absolute errors ÷ those of the median, a mean over outputs;
* quantiles: .05, .5 and .95 of the first twelve outputs, in units of their standard deviation, as the mean pinball loss.

One thread, processor seconds.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))

import _records
from leaves import KINDS, MOST_ROWS, draws, geometric_mean, taken
from sklearn.metrics import mean_pinball_loss

LEVELS, MOST_WITH_LEVELS = (0.05, 0.5, 0.95), 12
LOSSES = ("squared_error", "absolute_error", "quantiles")


OWN = {"output_strategy": "single_target", "learning_rate": 0.07}
# `run` adds the leaves of the default where trees have one output.
SETTINGS: dict[str, dict[str, Any]] = {
    "shared": {"output_strategy": "projected"},
    "own, 100 stages": OWN | {"n_estimators": 100},
    "own, folds up to 100": OWN | {"n_estimators": 100, "cv": 3},
    "own, folds up to 1 000": OWN | {"n_estimators": 1000, "cv": 3},
    "own, one fold up to 200": {},
}
DEFAULT = "own, one fold up to 200"
# What is measured with each loss, and with how many samples at most.
MEASURED = {loss: list(SETTINGS) if loss == "squared_error" else ["shared", DEFAULT] for loss in LOSSES}
MOST_SAMPLES = {"shared": MOST_ROWS, "own, 100 stages": MOST_ROWS, "own, folds up to 1 000": 1_000}
MOST_BY_DEFAULT = 5_000


def noisy(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Twenty outputs of which fifteen features tell a twentieth of the variance."""
    rng = np.random.default_rng(n)
    X, weights = rng.normal(size=(n, 15)), rng.normal(size=(15, 20)) * (rng.random((15, 20)) < 0.3)
    return X, 0.15 * (np.tanh(X) @ weights) + rng.normal(size=(n, 20))


NOISY = {f"made, {n} rows": lambda n=n: noisy(n) for n in (80, 270, 1300, 4000)}


def relative(errors: np.ndarray, of_constant: np.ndarray) -> np.ndarray:
    return errors.sum(axis=0) / of_constant.sum(axis=0)


def error(loss: str, parameters: dict[str, Any], X: Any, y: np.ndarray, fitted: np.ndarray, held: np.ndarray) -> float:
    import weald

    boosting = weald.GradientBoostingRegressor(random_state=0, n_jobs=1, **parameters)
    X_fitted, y_fitted, X_held, y_held = taken(X, fitted), y[fitted], taken(X, held), y[held]
    if loss == "quantiles":
        model = boosting.set_params(loss=weald.loss.Quantile(LEVELS)).fit(X_fitted, y_fitted)
        found = model.predict_quantiles(X_held)
        pinball = [mean_pinball_loss(y_held, found[..., i], alpha=level) for i, level in enumerate(LEVELS)]
        return float(np.mean(pinball))
    errors = y_held - boosting.set_params(loss=loss).fit(X_fitted, y_fitted).predict(X_held)
    if loss == "absolute_error":
        return float(relative(abs(errors), abs(y_held - np.median(y_fitted, axis=0))).mean())
    return float(np.sqrt(relative(errors**2, (y_held - y_fitted.mean(axis=0)) ** 2)).mean())


def run(path: Path) -> None:
    warnings.simplefilter("ignore")
    done = {(row["loss"], row["set"], row["setting"], row["draw"]) for row in _records.read(path)}
    for name, load in (NOISY | KINDS["numbers"]).items():
        for draw, X, y, fitted, held in draws(load):
            varies = (y[held].std(axis=0) > 0) & (y[fitted].std(axis=0) > 0)
            for loss in LOSSES:
                Y = y[:, varies]
                if loss == "quantiles":
                    Y = Y[:, :MOST_WITH_LEVELS] / Y[fitted, :MOST_WITH_LEVELS].std(axis=0)
                for setting in MEASURED[loss]:
                    most = MOST_SAMPLES.get(setting, MOST_BY_DEFAULT) if loss == "squared_error" else MOST_BY_DEFAULT
                    if (loss, name, setting, draw) in done or len(fitted) > most:
                        continue
                    parameters = SETTINGS[setting]
                    if parameters.get("output_strategy") == "single_target":
                        n_leaves = 8 if len(fitted) <= 1000 else 15 if len(fitted) <= 2000 else 31
                        parameters = parameters | {"max_leaf_nodes": n_leaves}
                    begin = time.process_time()
                    found = error(loss, parameters, X, Y, fitted, held)
                    row = {"loss": loss, "set": name, "setting": setting, "draw": draw, "samples": len(fitted)}
                    row |= {"outputs": Y.shape[1], "error": found, "seconds": time.process_time() - begin}
                    _records.append(path, row)
        print(name, flush=True)


def report(path: Path) -> None:
    found: dict[str, dict[str, dict[str, list[Any]]]] = {
        loss: defaultdict(lambda: defaultdict(list)) for loss in LOSSES
    }
    for row in _records.read(path):
        found[row["loss"]][row["set"]][row["setting"]].append(row)

    def mean(loss: str, name: str, setting: str, what: str) -> float:
        return float(np.mean([row[what] for row in found[loss][name][setting]]))

    def ratios(loss: str, setting: str, what: str, names: list[str]) -> list[float]:
        return [mean(loss, name, setting, what) / mean(loss, name, "shared", what) for name in names]

    print("| set | samples | outputs | error, shared | own, ratio | seconds |\n|---|--:|--:|--:|--:|--:|")
    squared = found["squared_error"]
    compared = [name for name in squared if DEFAULT in squared[name]]
    for name in sorted(compared, key=lambda name: squared[name]["shared"][0]["samples"]):
        first = squared[name]["shared"][0]
        shared = mean("squared_error", name, "shared", "error")
        [ratio] = ratios("squared_error", DEFAULT, "error", [name])
        times = [mean("squared_error", name, told, "seconds") for told in ("shared", DEFAULT)]
        cells = [name, f"{first['samples']:,}".replace(",", " "), first["outputs"], f"{shared:.3g}", f"{ratio:.3f}"]
        print("|", " | ".join(map(str, cells)), f"| {times[0]:.2g} / {times[1]:.2g} |")
    print("\n| loss | setting | samples | sets | error, ratio | worst | seconds |\n|---|---|---|--:|--:|--:|--:|")
    for loss in LOSSES:
        for setting in MEASURED[loss][1:]:
            for told, least, most in (("up to 1 000", 0, 1000), ("up to 5 000", 1001, 5000), ("more", 5001, MOST_ROWS)):
                names = [
                    name
                    for name in found[loss]
                    if found[loss][name].get(setting) and least <= found[loss][name][setting][0]["samples"] <= most
                ]
                if not names:
                    continue
                errors = ratios(loss, setting, "error", names)
                times = np.exp(np.log(ratios(loss, setting, "seconds", names)).mean())
                cells = [
                    loss,
                    setting,
                    told,
                    len(names),
                    geometric_mean(errors),
                    f"{max(errors):.3f}",
                    f"× {times:.1f}",
                ]
                print("|", " | ".join(map(str, cells)), "|")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "report"])
    parser.add_argument("path", type=Path)
    args = parser.parse_args()
    {"run": run, "report": report}[args.what](args.path)


if __name__ == "__main__":
    main()
