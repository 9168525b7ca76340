"""Five classes of generated data at the defaults against HistGradientBoosting; 20 features, 10 informative, 100 rounds.

    python benches/defaults/made_classes.py [--seeds 2]

Prints means over seeds of the scores on the test half, and of the paired differences with their standard errors.
`rare_class.py` does this for a rare class.
"""

from __future__ import annotations

import argparse

import numpy as np
import weald
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss


def five(seed: int) -> dict[str, tuple[float, float]]:
    X, y = make_classification(6000, 20, n_informative=10, n_classes=5, random_state=seed)
    models = {"HistGradientBoosting": HistGradientBoostingClassifier(random_state=0, early_stopping=False)}
    for strategy in ("auto", "joint", "projected"):
        models[f"weald, {strategy}"] = weald.GradientBoostingClassifier(random_state=0, output_strategy=strategy)
    found = {}
    for name, model in models.items():
        model.fit(X[:3000], y[:3000])
        loss = log_loss(y[3000:], model.predict_proba(X[3000:]))
        found[name] = model.score(X[3000:], y[3000:]), loss
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=2)
    args = parser.parse_args()
    found: dict[str, list[tuple[float, float]]] = {}
    for seed in range(args.seeds):
        for name, scores in five(seed).items():
            found.setdefault(name, []).append(scores)
    base = np.array(found["HistGradientBoosting"])
    for name, values in found.items():
        gap = np.array(values) - base
        mean, error = np.mean(values, axis=0), gap.std(axis=0, ddof=1) / np.sqrt(len(gap))
        print(
            f"five classes, {args.seeds} seeds: {name}: "
            f"accuracy {mean[0]:.4f} ({gap[:, 0].mean():+.4f} ± {error[0]:.4f}), "
            f"log loss {mean[1]:.4f} ({gap[:, 1].mean():+.4f} ± {error[1]:.4f})"
        )


if __name__ == "__main__":
    main()
