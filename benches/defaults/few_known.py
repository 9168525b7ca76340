"""Many numbers of which few are known: r² on a held-out quarter, of boosting by stages or of forests, and processor time.

    python benches/defaults/few_known.py folder [--known 0.1] [--seeds 0 1] [--forests 30]

`folder` has X_train.npz and Y_train.npz, sparse or dense; the stored entries of sparse Y are the known values, and `--known` hides
others at random. One thread.
"""

from __future__ import annotations

import argparse
import functools
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import weald

BEFORE = {"output_strategy": "projected", "learning_rate": 0.05, "n_estimators": 300, "l2_regularization": 1.0}
BEFORE |= {"subsample": 0.7, "max_features": "half"}
SETTINGS: dict[str, dict[str, Any]] = {
    "before, 31 leaves": BEFORE | {"max_leaf_nodes": 31},
    "before, 127 leaves": BEFORE | {"max_leaf_nodes": 127},
    "default": {},
    "half of the features at a node": {"max_features": "half"},
    "lambda 1": {"l2_regularization": 1.0},
    "lambda 4": {"l2_regularization": 4.0},
    "lambda 16": {"l2_regularization": 16.0},
    "64 leaves": {"max_leaf_nodes": 64},
    "rate .05": {"learning_rate": 0.05},
    "subsample .7": {"subsample": 0.7},
}
FORESTS: dict[str, dict[str, Any]] = {
    "default": {},
    "a third of the features": {"max_features": 0.33},
    "√p features": {"max_features": "sqrt"},
    "all samples, a third of the features": {"bootstrap": False, "max_features": 0.33},
    "all samples, √p features": {"bootstrap": False, "max_features": "sqrt"},
}


def matrix(path: Path) -> Any:
    try:
        return sp.csr_array(sp.load_npz(path))
    except ValueError:  # of a dense array
        return next(iter(np.load(path).values()))


def with_gaps(known: Any) -> np.ndarray:
    """NaN where nothing is stored."""
    if not sp.issparse(known):
        return np.asarray(known, dtype=float)
    y = np.full(known.shape, np.nan)
    y[np.repeat(np.arange(known.shape[0]), np.diff(known.indptr)), known.indices] = known.data
    return y


def r2(y: np.ndarray, predicted: np.ndarray, means: np.ndarray) -> float:
    """1 − Σ squared errors / Σ squared deviations from the training means, over the known values."""
    known = ~np.isnan(y)
    return float(1 - ((y - predicted)[known] ** 2).sum() / ((y - means)[known] ** 2).sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--known", type=float)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--forests", type=int, metavar="TREES")
    given = parser.parse_args()
    X, Y = (matrix(given.folder / f"{name}_train.npz") for name in "XY")
    if given.known is not None:
        whole = Y.toarray() if sp.issparse(Y) else Y
        scaled = (whole - whole.mean(axis=0)) / whole.std(axis=0)
        Y = np.where(np.random.default_rng(5).random(Y.shape) < given.known, scaled, np.nan)
    Y = with_gaps(Y)
    for seed in given.seeds:
        held = np.random.default_rng(seed).random(X.shape[0]) < 0.25
        y, y_held = Y[~held], Y[held]
        there = ~np.isnan(y).all(axis=0)
        y, y_held = y[:, there], y_held[:, there]
        means = np.nanmean(y, axis=0)
        for name, setting in (FORESTS if given.forests else SETTINGS).items():
            kind: Any = weald.GradientBoostingRegressor
            if given.forests:
                kind = functools.partial(weald.RandomForestRegressor, given.forests)
            start = time.process_time()
            model = kind(random_state=0, n_jobs=1, **setting).fit(X[~held], y)
            seconds = time.process_time() - start
            if given.forests:
                scores = [f"{r2(y_held, model.predict(X[held]), means):.4f}"]
            else:
                at = [k for k in (100, 200, 300, 400, 600) if k <= model.n_estimators_]
                scores = [f"{k}: {r2(y_held, model.predict(X[held], n_stages=k), means):.4f}" for k in at]
            print(f"seed {seed}, {name}: {seconds:.1f} s", *scores, flush=True)


if __name__ == "__main__":
    main()
