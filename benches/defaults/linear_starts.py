"""Boosting from a linear start: with margins of its own training samples, and of samples left out.

    python benches/defaults/linear_starts.py --rounds 50
    python benches/defaults/linear_starts.py --numbers

Models are fitted to three quarters of the training part of each data set of labelled text (at most 4000 samples) and
scored on the other quarter by label ranking average precision and precision at 1. The test parts are never used.
Samples are scaled to unit length; the linear model is scikit-learn's logistic regression (liblinear, C = 10), one for
each label. With `--numbers`, the sets are those of numerical outputs, the score is the mean over the outputs of the root mean
squared error relative to that of the mean of y, the linear model is scikit-learn's ridge regression with a strength for each
output, and boosting has 100 rounds. One thread.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))

from _scores import ranking_precision
from scipy.special import logit
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, normalize
from study import NUMBERS, parts


class LeftOut(BaseEstimator):
    """Boosting whose training samples start from linear models of the other folds."""

    def __init__(self, boosting: Any, linear: Any, n_folds: int) -> None:
        self.boosting, self.linear, self.n_folds = boosting, linear, n_folds

    def margins(self, predicted: Any) -> Any:
        return logit(np.clip(predicted, 1e-6, 1 - 1e-6)) if hasattr(self.linear, "predict_proba") else predicted

    def fit(self, X: Any, y: Any) -> LeftOut:
        method = "predict_proba" if hasattr(self.linear, "predict_proba") else "predict"
        folds = KFold(self.n_folds, shuffle=True, random_state=0)
        margins = self.margins(cross_val_predict(self.linear, X, y, cv=folds, method=method))
        self.linear_ = clone(self.linear).fit(X, y)
        self.boosting_ = clone(self.boosting).fit(X, y, base_margin=margins)
        return self

    def predict(self, X: Any) -> Any:
        return self.boosting_.predict(X, base_margin=self.linear_.predict(X))

    def predict_proba(self, X: Any) -> Any:
        return self.boosting_.predict_proba(X, base_margin=self.margins(self.linear_.predict_proba(X)))


SETS = ("medical", "bibtex", "yahoo_arts", "rcv1sub1", "reuters21578_r90")


def numbers() -> None:
    """Ridge regression as a start of boosting."""
    import weald

    ridge = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-1, 4, 11), alpha_per_target=True))
    boosting = weald.GradientBoostingRegressor(random_state=0, n_jobs=1)
    print("| set | ridge alone | boosting alone | three folds |\n|---|--:|--:|--:|")
    for name in NUMBERS:
        X, y, X_scored, y_scored = parts(name)
        cells = []
        for model in (ridge, boosting, LeftOut(boosting, ridge, 3)):
            error = y_scored - model.fit(X, y).predict(X_scored)
            of_mean = y_scored - y.mean(axis=0)
            cells.append(f"{np.sqrt((error**2).sum(axis=0) / (of_mean**2).sum(axis=0)).mean():.3f}")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    import weald
    from weald.metrics import precision_at_k

    warnings.simplefilter("ignore")  # labels that no sample of a fold has
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--numbers", action="store_true")
    args = parser.parse_args()
    if args.numbers:
        numbers()
        return
    ways = ("init", "two folds", "five folds")
    print("| set | linear model alone | boosting alone |" + "".join(f" {way} |" for way in ways))
    print("|---|" + "--:|" * (len(ways) + 2))
    for name in args.sets:
        X, y, X_scored, y_scored = parts(name)
        X, X_scored = (normalize(rows).astype(np.float32) for rows in (X, X_scored))
        linear = OneVsRestClassifier(LogisticRegression(C=10, solver="liblinear"))
        boosting = weald.GradientBoostingClassifier(n_estimators=args.rounds, random_state=0, n_jobs=1)
        models = [linear, boosting, clone(boosting).set_params(init=linear)]
        models += [LeftOut(boosting, linear, n_folds) for n_folds in (2, 5)]
        cells = []
        for model in models:
            begin = time.process_time()
            model.fit(X, y)
            seconds = time.process_time() - begin
            scores = model.predict_proba(X_scored)
            found = ranking_precision(scores, y_scored), precision_at_k(y_scored, scores, 1)
            cells.append(f"{found[0]:.3f} / {found[1]:.3f}, {seconds:.2g} s")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
