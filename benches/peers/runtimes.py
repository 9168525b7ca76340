"""Predictions of one model by weald and by runtimes that it was exported to: 1 sample to 100 000 samples.

`python benches/peers/runtimes.py`: for each model, number of samples and number of threads the microseconds of a call,
and how many times as long as weald the other runtimes take (as its `Predictor`, for one sample). Medians of `--repeat`
rounds, in which the sides take turns in one process, with the least and the greatest in brackets.

Sides are the estimator, `weald.Predictor` (one sample), onnxruntime, treelite's GTIL, treelite compiled by tl2cgen
and gcc (the time to make its `DMatrix` included), lleaves, and scikit-learn's own forest of the same trees. lleaves
compiles models of LightGBM alone: it predicts a model of LightGBM with as many trees and leaves, fitted to the same
data. Sides that are not installed are left out.

Samples are float32, dense, and of the text CSR where a runtime reads it. Calls predict different samples one after the
other: where they repeat the same few, processors remember their paths down the trees, and branches cost nothing.
"""

from __future__ import annotations

import contextlib
import itertools
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import weald
from _harness import PLAIN_BOOSTING, Table, options, parser, ratios, spread, timed, told
from scipy import sparse
from weald.export import to_onnx, to_sklearn, to_treelite

N_SAMPLES = [1, 100, 10_000, 100_000]
CASES = ["forest, one output", "forest, 20 labels", "forest, text", "boosting"]
# Compilers take minutes for more leaves than this.
MOST_COMPILED_LEAVES = 30_000
# The maximum size of a dense copy of the text.
MOST_DENSE_VALUES = 30_000_000

# Seconds before each measurement: threads of the runtime before wait in a loop for a while after their last call.
PAUSE = 0.05

Call = Callable[[Any], Any]


def dense(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Samples of 30 features, and 20 numerical outputs."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(100_000, 30)).astype(np.float32)
    return X, np.sin(X[:, :8]) @ rng.normal(size=(8, 20)) + 0.3 * rng.normal(size=(100_000, 20))


def text(seed: int) -> tuple[sparse.csr_matrix, np.ndarray]:
    """Counts of 2000 words, about 60 in each sample, and 20 classes with words of their own."""
    rng = np.random.default_rng(seed)
    n, n_words, n_classes = 100_000, 2000, 20
    y = rng.integers(n_classes, size=n)
    common = np.minimum(rng.zipf(1.3, size=(n, 60)) - 1, n_words - 1)
    own = (97 * y[:, None] + rng.integers(80, size=(n, 10))) % n_words
    words = np.concatenate([common, own], axis=1)
    rows = np.repeat(np.arange(n), words.shape[1])
    # scikit-learn refuses the 64-bit indices of a csr_array.
    X = sparse.csr_matrix((np.ones(words.size, np.float32), (rows, words.ravel())), shape=(n, n_words))
    X.sum_duplicates()
    return X, y


def fitted(name: str) -> tuple[Any, Any, Any]:
    """A model, samples, and a model of LightGBM of the same shape if it is compared."""
    options = {"random_state": 0, "n_jobs": 1}
    some = slice(0, 10_000)
    if name == "forest, text":
        X, y = text(0)
        return weald.RandomForestClassifier(50, max_depth=30, **options).fit(X[some], y[some]), X, None
    X, Y = dense(0)
    few, one, labels = X[some], Y[some, 0], (Y > 0.5)[some]
    if name == "forest, 20 labels":
        return weald.RandomForestClassifier(50, max_depth=8, **options).fit(few, labels), X, None
    if name == "forest, one output":
        model = weald.RandomForestRegressor(100, max_depth=8, **options).fit(few, one)
        shape = {"boosting_type": "rf", "max_depth": 8, "num_leaves": 256, "subsample": 0.6, "subsample_freq": 1}
        return model, X, lightgbm(few, one, min_child_samples=1, **shape)
    model = weald.GradientBoostingRegressor(**PLAIN_BOOSTING, n_estimators=100, **options).fit(few, one)
    return model, X, lightgbm(few, one, num_leaves=31)


def lightgbm(X: Any, y: Any, **options: Any) -> Any:
    """A model of LightGBM with 100 trees; None if LightGBM is not installed."""
    try:
        import lightgbm as installed
    except ImportError:
        return None
    return installed.LGBMRegressor(n_estimators=100, n_jobs=1, verbose=-1, **options).fit(X, y).booster_


def leaves(model: Any) -> int:
    """The number of leaves of all trees."""
    engine = model._model.forest if hasattr(model, "_model") else model._forest
    return sum(engine.tree(t).n_leaves for t in range(engine.n_trees))


class Sides:
    """The sides that predict with a model, by name. What does not depend on the number of threads is created once."""

    def __init__(self, model: Any, is_text: bool, booster: Any, folder: Path) -> None:
        self.model, self.is_text, self.booster = model, is_text, booster
        self.onnx = self.treelite = self.library = self.lleaves = self.sklearn = None
        self.is_classifier = hasattr(model, "predict_proba")
        self.onnx = to_onnx(model).SerializeToString() if installed("onnxruntime") else None
        self.treelite = to_treelite(model) if installed("treelite") else None
        if self.treelite is not None and installed("tl2cgen") and leaves(model) <= MOST_COMPILED_LEAVES:
            import tl2cgen

            self.library = folder / "model.so"
            options = {"parallel_comp": 16}
            tl2cgen.export_lib(self.treelite, toolchain="gcc", libpath=self.library, params=options, nthread=2)
        if booster is not None and installed("lleaves"):
            import lleaves

            booster.save_model(folder / "model.txt")
            self.lleaves = lleaves.Model(str(folder / "model.txt"))
            self.lleaves.compile()
        with contextlib.suppress(ValueError):  # scikit-learn has no such model
            self.sklearn = to_sklearn(model)

    def of(self, n_threads: int) -> dict[str, Call]:
        """Calls that return scores."""
        model = self.model.set_params(n_jobs=n_threads)
        found: dict[str, Call] = {"weald": model.predict_proba if self.is_classifier else model.predict}
        predictor = weald.Predictor(model)
        one = predictor.predict_proba if self.is_classifier else predictor.predict
        found["Predictor"] = lambda X: [one(X if self.is_text else X[0])]
        if self.onnx is not None:
            import onnxruntime

            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = n_threads
            session = onnxruntime.InferenceSession(self.onnx, options)
            output = "probabilities" if self.is_classifier else session.get_outputs()[0].name
            found["onnxruntime"] = lambda X: session.run([output], {"X": X})[0]
        if self.treelite is not None:
            import treelite

            found["treelite GTIL"] = lambda X: treelite.gtil.predict(self.treelite, X, nthread=n_threads)
        if self.library is not None:
            import tl2cgen

            compiled = tl2cgen.Predictor(self.library, nthread=n_threads)
            found["tl2cgen"] = lambda X: compiled.predict(tl2cgen.DMatrix(X))
        if self.lleaves is not None:
            found["lleaves"] = lambda X: self.lleaves.predict(X, n_jobs=n_threads)
        if self.sklearn is not None:
            forest = self.sklearn.set_params(n_jobs=n_threads)
            found["scikit-learn"] = forest.predict_proba if self.is_classifier else forest.predict
        return found

    def reads(self, side: str, n: int, n_features: int) -> bool:
        """Whether the side predicts this number of samples, in acceptable time and memory."""
        if side == "Predictor":
            return n == 1
        if side == "scikit-learn":
            return n <= 10_000
        if side == "tl2cgen" and self.is_text:
            return False  # version 1.0.0 cannot read CSR matrices with NumPy 2
        return not (self.is_text and self.needs_dense(side)) or n * n_features <= MOST_DENSE_VALUES

    def needs_dense(self, side: str) -> bool:
        """Whether a side gets dense arrays: to treelite, what CSR does not store is a missing value."""
        return not self.is_text or side in ("onnxruntime", "treelite GTIL")


def installed(name: str) -> bool:
    """Whether the module can be imported; prints a message if it cannot."""
    try:
        __import__(name)
    except ImportError:
        print(f"{name} is not installed", flush=True)
        return False
    return True


def blocks(X: Any, n: int, is_dense: bool) -> list[Any]:
    """Different samples, `n` at a time, for consecutive calls."""
    n_blocks = min(X.shape[0] // n, 2000 if n == 1 else max(1, 20_000 // n))
    parts = [X[i * n : (i + 1) * n] for i in range(n_blocks)]
    if not is_dense:
        return parts
    return [np.ascontiguousarray(part.toarray() if sparse.issparse(part) else part) for part in parts]


def seconds(call: Call, samples: Any, n: int) -> float:
    """The mean time of a call, over calls that predict 2000 samples together, or over a single call."""
    n_calls = max(1, 2000 // n)
    some = list(itertools.islice(samples, n_calls))
    time.sleep(PAUSE)
    return timed(lambda: [call(X) for X in some], time.perf_counter)[0] / n_calls


def check(name: str, found: Any, expected: Any) -> None:
    """Check that predictions agree up to the rounding of runtimes, which add in float32 or in another order."""
    if name == "scikit-learn" and isinstance(found, list):
        found = np.stack([part[:, 1] for part in found], axis=1)
    gap = np.abs(np.asarray(found, float).reshape(expected.shape) - expected).max()
    assert gap < 1e-4 * max(1.0, np.abs(expected).max()), (name, gap)


def measure(sides: Sides, X: Any, n: int, n_threads: int, repeat: int) -> dict[str, list[float]]:
    """The seconds of a call of each side."""
    calls = {side: call for side, call in sides.of(n_threads).items() if sides.reads(side, n, X.shape[1])}
    # For the text, onnxruntime gets dense arrays, whose creation is not measured, and the others get CSR.
    is_dense = {side: sides.needs_dense(side) for side in calls}
    parts = {dense_too: blocks(X, n, dense_too) for dense_too in set(is_dense.values())}
    expected = np.asarray(calls["weald"](parts[is_dense["weald"]][0]))
    for side, call in calls.items():
        if side != "lleaves":  # which predicts another model
            check(side, call(parts[is_dense[side]][0]), expected)
        else:
            call(parts[True][0])
    turns = {side: itertools.cycle(parts[is_dense[side]]) for side in calls}
    times: dict[str, list[float]] = {side: [] for side in calls}
    for turn in range(repeat):
        for side in list(calls)[:: 1 if turn % 2 == 0 else -1]:
            times[side].append(seconds(calls[side], turns[side], n))
    return times


def main() -> None:
    """Prints the table."""
    common = parser(__doc__ or "", repeat=7)
    common.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    common.add_argument("--samples", type=int, nargs="+", default=N_SAMPLES)
    args = options(common)
    if args.quick:
        args.samples = [n for n in args.samples if n <= 10_000]
    table = Table("case | side | microseconds | ratio", texts=2)
    for name in (name for name in CASES if args.only in name):
        model, X, booster = fitted(name)
        with tempfile.TemporaryDirectory() as folder:
            sides = Sides(model, sparse.issparse(X), booster, Path(folder))
            for n in args.samples:
                # A single sample cannot be divided among threads.
                for n_threads in args.threads[:1] if n == 1 else args.threads:
                    times = measure(sides, X, n, n_threads, args.repeat)
                    ours = times.get("Predictor", times["weald"])
                    for side, found in times.items():
                        ratio = "" if found is ours else told(ratios(found, ours))
                        table.row(f"{name}, {n} samples, {n_threads} threads", side, spread(found, 1e-6), ratio)


if __name__ == "__main__":
    main()
