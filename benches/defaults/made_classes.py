"""Classes of made data at every library's defaults: five of them, and one that is rare. Prints scores on the test half.

python benches/defaults/made_classes.py
"""

from __future__ import annotations

import lightgbm
import spinney
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import average_precision_score, log_loss, roc_auc_score


def five(seed: int) -> None:
    X, y = make_classification(6000, 20, n_informative=10, n_classes=5, random_state=seed)
    models = {"HistGradientBoosting": HistGradientBoostingClassifier(random_state=0, early_stopping=False)}
    for strategy in ("auto", "joint", "projected"):
        models[f"spinney, {strategy}"] = spinney.GradientBoostingClassifier(random_state=0, output_strategy=strategy)
    for name, model in models.items():
        model.fit(X[:3000], y[:3000])
        loss = log_loss(y[3000:], model.predict_proba(X[3000:]))
        print(f"five classes, seed {seed}: {name}: accuracy {model.score(X[3000:], y[3000:]):.3f}, log loss {loss:.3f}")


def rare() -> None:
    X, y = make_classification(20_000, 30, n_informative=8, weights=[0.98], flip_y=0.005, random_state=0)
    models = {"LightGBM": lightgbm.LGBMClassifier(verbose=-1), "spinney": spinney.GradientBoostingClassifier()}
    for name, model in models.items():
        p = model.set_params(random_state=0).fit(X[:10_000], y[:10_000]).predict_proba(X[10_000:])[:, 1]
        truth = y[10_000:]
        scores = f"average precision {average_precision_score(truth, p):.3f}, AUC {roc_auc_score(truth, p):.3f}"
        print(f"2 % positives: {name}: {scores}")


if __name__ == "__main__":
    five(0)
    five(1)
    rare()
