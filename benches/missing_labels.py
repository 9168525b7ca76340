"""Labels of which some are unknown: one forest of all labels, or one model for each label on its known samples.

    python benches/missing_labels.py [--trees 200] [--only forest] [--hidden 0 0.8] [--jobs 1]

Tox21: 6 432 compounds with 12 assays, of which 17 % of the results are unknown, and 1 608 compounds to test. With
`--hidden 0.8`, four in five of the known results of the training part are hidden at random. Prints the mean area under
the ROC curve of the 12 assays on the test part and the seconds of fit and predictions. The settings of `one forest` are
those of docs/missing-labels.md, which were chosen by folds of the training part. `unrelated` are made data whose 20 labels
depend on different features, where one forest for each label is better, and `assays` are 1 000 such labels of 8 000 samples
with 100 features, of which 95 % are unknown; `--data assays` runs these alone. The bytes are those of the saved model.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import weald
from sklearn.ensemble import RandomForestClassifier
from weald.datasets import load_npz_folder
from weald.metrics import roc_auc

sys.path.insert(0, str(Path(__file__).resolve().parent / "peers"))

from _data import real_data
from _harness import Table, is_absent, n_trees, options, parser, timed

Labels = np.ndarray[Any, Any]
# The probabilities, and the megabytes of the model.
Predict = Callable[[Any, Labels, Any], tuple[Labels, str]]


def hidden(Y: Labels, share: float) -> Labels:
    """A copy of Y in which a share of the known entries is unknown too."""
    found = Y.copy()
    found[np.random.default_rng(0).random(Y.shape) < share] = np.nan
    return found


def unrelated() -> tuple[Any, Labels, Any, Labels]:
    """Labels that depend on three features each, which no other label depends on; 80 % of them are unknown."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 60)).astype(np.float32)
    score = X.reshape(4000, 20, 3).sum(axis=2) + rng.normal(size=(4000, 20))
    Y = (score > 1.5).astype(np.float32)
    return X[:3000], hidden(Y[:3000], 0.8), X[3000:], Y[3000:]


def assays() -> tuple[Any, Labels, Any, Labels]:
    """A thousand labels that depend on three features each, drawn at random; 95 % of them are unknown."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_000, 100)).astype(np.float32)
    score = np.empty((10_000, 1_000))
    for j in range(score.shape[1]):
        score[:, j] = X[:, rng.choice(100, 3, replace=False)] @ rng.choice([-1.0, 1.0], 3)
    Y = (score + rng.normal(size=score.shape) > 1.5).astype(np.float32)
    return X[:8_000], hidden(Y[:8_000], 0.95), X[8_000:], Y[8_000:]


def together(model: Any) -> Predict:
    """Probabilities of a model of all labels, without the samples of which no label is known."""

    def predicted(X: Any, Y: Labels, X_test: Any) -> tuple[Labels, str]:
        there = np.flatnonzero(~np.isnan(Y).all(axis=1))
        proba = np.asarray(model.fit(X[there], Y[there]).predict_proba(X_test))
        return proba, f"{len(weald.dumps(model)) / 1e6:.1f}"

    return predicted


def apart(make: Callable[[], Any]) -> Predict:
    """Probabilities of a model for each label, on the samples for which it is known."""

    def predicted(X: Any, Y: Labels, X_test: Any) -> tuple[Labels, str]:
        columns = []
        for y in Y.T:
            known = np.flatnonzero(~np.isnan(y))
            model = make().fit(X[known], y[known].astype(int))
            columns.append(model.predict_proba(X_test)[:, -1])
        return np.column_stack(columns), ""

    return predicted


def models(trees: int, jobs: int) -> Iterator[tuple[str, Predict]]:
    common = {"n_estimators": trees, "random_state": 0, "n_jobs": jobs}
    advised = {**common, "criterion": "entropy", "min_samples_leaf": 2}
    yield "one forest", together(weald.RandomForestClassifier(**advised))
    yield "one forest, defaults", together(weald.RandomForestClassifier(**common))
    yield (
        "one forest, single_target",
        together(weald.RandomForestClassifier(output_strategy="single_target", **advised)),
    )
    yield "weald, a forest for each label", apart(lambda: weald.RandomForestClassifier(**advised))
    yield "scikit-learn, a forest for each label", apart(lambda: RandomForestClassifier(**common))
    yield "scikit-learn, the same settings", apart(lambda: RandomForestClassifier(**advised))
    if is_absent("lightgbm"):
        return
    from lightgbm import LGBMClassifier

    yield "LightGBM, a model for each label", apart(lambda: LGBMClassifier(random_state=0, n_jobs=jobs, verbose=-1))


def main() -> None:
    common = parser(__doc__ or "", repeat=1)
    common.add_argument("--jobs", type=int, default=1)
    common.add_argument("--hidden", type=float, nargs="+", default=[0.0, 0.8])
    common.add_argument("--data", default="", help="only data whose name contains this text")
    args = options(common)
    table = Table("case | side | seconds | model, MB | AUC | labels", texts=2)
    problems = {}
    if reason := real_data.missing("tox21"):
        table.row("tox21", f"left out: {reason}")
    else:
        X, X_test, Y, Y_test, *_ = load_npz_folder(real_data.root() / "tox21")
        problems = {f"tox21, {share:.0%} hidden": (X, hidden(Y, share), X_test, Y_test) for share in args.hidden}
    for what, (X, Y, X_test, Y_test) in {**problems, "unrelated": unrelated(), "assays": assays()}.items():
        if args.data not in what:
            continue
        for name, predicted in models(n_trees(args, usual=200, quick=20), args.jobs):
            if args.only in name:
                fit = lambda p=predicted, given=(X, Y, X_test): p(*given)  # noqa: E731
                seconds, (proba, size) = timed(fit, time.perf_counter)
                auc, n_labels = roc_auc(Y_test, proba, return_counts=True)
                table.row(what, name, f"{seconds:.3g}", size, f"{auc:.4f}", n_labels)
        if is_absent("lightgbm"):
            table.row(what, "LightGBM", "lightgbm is not installed")


if __name__ == "__main__":
    main()
