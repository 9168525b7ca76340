"""Predictions of one model by spinney and by runtimes that it was exported to: one sample to 100 000 samples.

`python benches/peers/runtimes.py` prints for each model and number of samples the microseconds of a call, as medians of
`--repeat` rounds in which the sides alternate in one process, and the ratio of the fastest other side to spinney. The
sides are the estimator, `spinney.Predictor` (one sample), onnxruntime and treelite's GTIL, each with `--threads`
threads, and for forests scikit-learn's own forest with the same trees. All sides are warm, samples are dense float32,
and all predictions are compared.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
import spinney
from _records import environment, heading
from spinney.export import to_onnx, to_sklearn, to_treelite

ROWS = [1, 100, 10_000, 100_000]


def models(seed: int) -> dict[str, tuple[Any, Any]]:
    """Fitted models by name, and rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(100_000, 30)).astype(np.float32)
    signal = np.sin(X[:, :8]) @ rng.normal(size=(8, 20)) + 0.3 * rng.normal(size=(100_000, 20))
    fitted = slice(0, 10_000)
    options = {"random_state": 0, "n_jobs": 1}
    numbers = spinney.RandomForestRegressor(100, max_depth=8, **options).fit(X[fitted], signal[fitted, 0])
    labels = spinney.RandomForestClassifier(50, max_depth=8, **options).fit(X[fitted], (signal > 0.5)[fitted])
    boosted = spinney.GradientBoostingRegressor(n_estimators=100, **options).fit(X[fitted], signal[fitted, 0])
    return {"forest, one number": (numbers, X), "forest, 20 labels": (labels, X), "boosting": (boosted, X)}


def sides(model: Any, n_threads: int) -> dict[str, Callable[[Any], Any]]:
    """What predicts, by name; each returns scores."""
    model.set_params(n_jobs=n_threads)
    is_classifier = hasattr(model, "predict_proba")
    ours = model.predict_proba if is_classifier else model.predict
    found: dict[str, Callable[[Any], Any]] = {"spinney": ours}
    predictor = spinney.Predictor(model)
    one = predictor.predict_proba if is_classifier else predictor.predict
    found["Predictor"] = lambda X: [one(X[0])] if len(X) == 1 else None
    try:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = n_threads
        session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString(), options)
        output = "probabilities" if is_classifier else session.get_outputs()[0].name
        found["onnxruntime"] = lambda X: session.run([output], {"X": X})[0]
    except ImportError:
        print("onnxruntime is not installed")
    try:
        import treelite

        theirs = to_treelite(model)
        found["treelite GTIL"] = lambda X: treelite.gtil.predict(theirs, X, nthread=n_threads)
    except ImportError:
        print("treelite is not installed")
    try:
        forest = to_sklearn(model).set_params(n_jobs=n_threads)
        found["scikit-learn"] = forest.predict_proba if is_classifier else forest.predict
    except ValueError:
        pass  # which has no such model
    return found


def seconds(call: Callable[[Any], Any], X: Any) -> float:
    """Of one call, the mean of as many as take a few milliseconds."""
    n = max(1, 2000 // len(X))
    start = time.perf_counter()
    for _ in range(n):
        call(X)
    return (time.perf_counter() - start) / n


def check(name: str, found: Any, expected: Any) -> None:
    """Runtimes add in float32, or in another order."""
    if name == "scikit-learn" and isinstance(found, list):
        found = np.stack([part[:, 1] for part in found], axis=1)
    gap = np.abs(np.asarray(found, float).reshape(expected.shape) - expected).max()
    assert gap < 1e-4 * max(1.0, np.abs(expected).max()), (name, gap)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="one round, at most 10 000 samples: indicative only")
    options, _ = parser.parse_known_args()
    if options.quick:
        options.repeat = 1
    print(f"{heading(environment())}\n", flush=True)
    print("| model | rows | microseconds | times spinney's |\n|---|--:|---|--:|")
    for name, (model, rows) in models(0).items():
        every = sides(model, options.threads)
        for n in ROWS[:3] if options.quick else ROWS:
            X = np.ascontiguousarray(rows[:n])
            expected = np.asarray(every["spinney"](X))
            some = {side: call for side, call in every.items() if n == 1 or side != "Predictor"}
            if n > 10_000:
                some.pop("scikit-learn", None)
            for side, call in some.items():
                check(side, call(X), expected)
            times: dict[str, list[float]] = {side: [] for side in some}
            for turn in range(options.repeat):
                for side in list(some)[:: 1 if turn % 2 == 0 else -1]:
                    times[side].append(1e6 * seconds(some[side], X))
            found = {side: median(of_side) for side, of_side in times.items()}
            others = [took for side, took in found.items() if side not in ("spinney", "Predictor")]
            ours = min(found["spinney"], found.get("Predictor", np.inf))
            told = ", ".join(f"{side} {took:.3g}" for side, took in found.items())
            print(f"| {name} | {n} | {told} | {min(others) / ours:.2f} |", flush=True)


if __name__ == "__main__":
    main()
