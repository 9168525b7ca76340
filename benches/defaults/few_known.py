"""Boosting of many numbers of which few are known: r² on a held-out quarter, by stages, and processor time.

    python benches/defaults/few_known.py folder [--seeds 0]

`folder` has X_train.npz and Y_train.npz, CSR matrices; the stored entries of Y are the known values. One thread.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import weald

SETTINGS: list[dict[str, float]] = [
    {},
    {"learning_rate": 0.1, "n_estimators": 600},
    {"l2_regularization": 8.0, "learning_rate": 0.1, "n_estimators": 600},
    {"l2_regularization": 8.0, "learning_rate": 0.1, "n_estimators": 600, "subsample": 1.0},
]


def with_gaps(known: sp.csr_array) -> np.ndarray:
    """NaN where nothing is stored."""
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
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    given = parser.parse_args()
    X, Y = (sp.csr_array(sp.load_npz(given.folder / f"{name}_train.npz")) for name in "XY")
    for seed in given.seeds:
        held = np.random.default_rng(seed).random(X.shape[0]) < 0.25
        y, y_held = with_gaps(Y[~held]), with_gaps(Y[held])
        there = ~np.isnan(y).all(axis=0)
        y, y_held = y[:, there], y_held[:, there]
        for setting in SETTINGS:
            start = time.process_time()
            model = weald.GradientBoostingRegressor(random_state=0, n_jobs=1, **setting).fit(X[~held], y)  # type: ignore[arg-type]
            seconds = time.process_time() - start
            at = [k for k in (100, 200, 300, 400, 600) if k <= model.n_estimators_]
            scores = [f"{k}: {r2(y_held, model.predict(X[held], n_stages=k), np.nanmean(y, axis=0)):.4f}" for k in at]
            print(seed, setting, f"{seconds:.1f} s", *scores, flush=True)


if __name__ == "__main__":
    main()
