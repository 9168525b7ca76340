"""A rare class, 100 rounds at the defaults, against LightGBM with equal leaves: average precision, AUC, over seeds.

    python benches/defaults/rare_class.py [--seeds 10] [--rows 10000] [--variants]

Generated data with 2 % positive samples (30 features, 8 of them informative), and sparse binary data similar to w8a:
300 features with Zipf frequencies, twelve of them in a sample, 3 % positive samples by a linear score with products
of pairs. Half of the samples are for the test. `--variants` adds settings of both libraries that show where a
difference comes from. Prints means over seeds, and the mean paired difference from LightGBM with its standard error.
"""

from __future__ import annotations

import argparse
from typing import Any

import lightgbm
import numpy as np
import scipy.sparse as sp
import weald
from sklearn.datasets import make_classification
from sklearn.metrics import average_precision_score, roc_auc_score


def made(seed: int, rows: int) -> tuple[Any, np.ndarray]:
    return make_classification(2 * rows, 30, n_informative=8, weights=[0.98], flip_y=0.005, random_state=seed)


def words(seed: int, rows: int) -> tuple[Any, np.ndarray]:
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(3.0, 303)
    share *= 12 / share.sum()
    X = (rng.random((2 * rows, 300)) < share).astype(np.float32)
    score = X @ (rng.normal(size=300) * (rng.random(300) < 0.3))
    for a, b in rng.integers(0, 60, (15, 2)):
        score += 2 * rng.normal() * X[:, a] * X[:, b]
    score += rng.logistic(size=len(score))
    return sp.csr_matrix(X), (score > np.quantile(score, 0.97)).astype(int)


def models(variants: bool) -> dict[str, Any]:
    light: dict[str, Any] = {"n_jobs": 1, "verbose": -1, "random_state": 0}
    ours: dict[str, Any] = {"n_jobs": 1, "random_state": 0}
    found = {
        "LightGBM": lightgbm.LGBMClassifier(**light),
        "weald": weald.GradientBoostingClassifier(**ours),
        # The defaults of LightGBM; its minimum weight of a leaf is a sum of second derivatives.
        "weald, 20 rows a leaf, no penalty": weald.GradientBoostingClassifier(
            min_samples_leaf=20, min_weight_leaf=0, l2_regularization=0, **ours
        ),
    }
    if variants:
        found["LightGBM, penalty 1, 2 rows a leaf"] = lightgbm.LGBMClassifier(
            reg_lambda=1, min_child_samples=2, **light
        )
        for name, settings in {
            "penalty 4": {"l2_regularization": 4},
            "penalty 4, 2 rows a leaf": {"l2_regularization": 4, "min_samples_leaf": 2, "min_weight_leaf": 0},
            "penalty 4, 20 rows a leaf": {"l2_regularization": 4, "min_samples_leaf": 20, "min_weight_leaf": 0},
            "weight of 20 a leaf": {"min_weight_leaf": 20},
            "no penalty": {"l2_regularization": 0},
            "every value": {"max_bins": None},
        }.items():
            found[f"weald, {name}"] = weald.GradientBoostingClassifier(**(ours | settings))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--variants", action="store_true")
    args = parser.parse_args()
    for problem, make in (("2 % positives", made), ("sparse binary, 3 % positives", words)):
        found: dict[str, list[tuple[float, float]]] = {}
        for seed in range(args.seeds):
            X, y = make(seed, args.rows)
            half = args.rows
            for name, model in models(args.variants).items():
                p = model.fit(X[:half], y[:half]).predict_proba(X[half:])[:, 1]
                scores = average_precision_score(y[half:], p), roc_auc_score(y[half:], p)
                found.setdefault(name, []).append(scores)
        print(f"{problem}, {args.seeds} seeds")
        base = np.array(found["LightGBM"])
        for name, values in found.items():
            mean, gap = np.mean(values, axis=0), np.array(values) - base
            error = gap.std(axis=0, ddof=1) / np.sqrt(len(gap))
            print(
                f"  {name:40s} AP {mean[0]:.4f} ({gap[:, 0].mean():+.4f} ± {error[0]:.4f})   "
                f"AUC {mean[1]:.4f} ({gap[:, 1].mean():+.4f} ± {error[1]:.4f})",
                flush=True,
            )


if __name__ == "__main__":
    main()
