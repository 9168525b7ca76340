"""Tags of documents: forests and boosting compared with linear models, on six data sets of text, in one table.

    python benches/defaults/tagging.py results.jsonl [--only bibtex] [--ways forest]

Each model is fitted to the training part and ranks the labels of the test part: precision and propensity-scored
precision at 1, 3 and 5. For micro and macro F1 it is fitted once more, to four fifths of the training part;
thresholds are tuned on the last fifth (`TunedThresholds` of a frozen estimator) and applied to the test part. X is
tf-idf if the data set has counts, and unchanged otherwise, the same for all models. Each model runs in its own
process; wall-clock seconds, one thread; peak memory above that after loading the data; bytes of the pickle, or of the
files that the library writes. Only thresholds are tuned. Models whose library is not installed are left out. Results
that `results.jsonl` has are not measured again; the table is printed at the end.
"""

from __future__ import annotations

import argparse
import json
import pickle
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import weald
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.multiclass import OneVsRestClassifier
from weald.metrics import precision_at_k, propensities, psp_at_k
from weald.multilabel import TunedThresholds

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))

import _data
import _records

SETS = ["bibtex", "rcv1sub1", "goemotions", "yahoo_arts", "reuters21578_r90", "delicious"]
# The number of labels that a library is asked for; all others have the score zero.
MOST = 100


class Scores(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A library that ranks labels, as a classifier with probabilities."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def table(self, n: int, best: Any) -> np.ndarray:
        """Dense scores from the labels and scores that are listed for each sample."""
        scores = np.zeros((n, self.n_labels_))
        for row, pairs in enumerate(best):
            for label, score in pairs:
                scores[row, label] = score
        return scores

    def fit(self, X: Any, Y: Any) -> Scores:
        """Fit on CSR."""
        self.n_labels_, self.classes_ = Y.shape[1], np.arange(Y.shape[1])
        self.train(X, sp.csr_matrix(Y))
        return self


class Omikuji(Scores):
    """Parabel: three trees of linear models, at omikuji's defaults."""

    def train(self, X: Any, Y: Any) -> None:
        import omikuji

        path = Path(self.folder) / "train.txt"
        weald.datasets.dump_xmc(X, Y, path)
        self.model_ = omikuji.Model.train_on_data(str(path), n_threads=1)
        path.unlink()
        self.model_.save(self.folder)

    def predict_proba(self, X: Any) -> np.ndarray:
        rows = (zip(row.indices.tolist(), row.data.tolist(), strict=True) for row in sp.csr_array(X))
        return self.table(X.shape[0], (self.model_.predict(list(row), top_k=MOST) for row in rows))


class Napkin(Scores):
    """A probabilistic label tree, at napkinXC's defaults."""

    def train(self, X: Any, Y: Any) -> None:
        from napkinxc.models import PLT

        self.model_ = PLT(self.folder, threads=1, seed=0)
        self.model_.fit(sp.csr_matrix(X), sp.csr_matrix(Y, dtype=np.float32))

    def predict_proba(self, X: Any) -> np.ndarray:
        return self.table(X.shape[0], self.model_.predict_proba(sp.csr_matrix(X), top_k=min(MOST, self.n_labels_)))


def forest(**params: Any) -> Callable[[str], Any]:
    return lambda _: weald.RandomForestClassifier(random_state=0, n_jobs=1, **params)


def linear_start(_: str) -> Any:
    linear = OneVsRestClassifier(LogisticRegression(solver="liblinear"))
    return weald.GradientBoostingClassifier(init=linear, random_state=0)


def boomer(_: str) -> Any:
    """Boosted rules for all labels, at the defaults of mlrl-boomer, which stops when further rules do not help."""
    from mlrl.boosting import BoomerClassifier

    return Boomer(BoomerClassifier())


class Boomer(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """An adapter for mlrl-boomer, which takes labels as they are stored and has no `classes_`."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: Any, Y: Any) -> Boomer:
        self.classes_ = np.arange(Y.shape[1])
        self.model.fit(sp.csr_matrix(X, dtype=np.float32), sp.csr_matrix(Y, dtype=np.uint8))
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        return np.asarray(self.model.predict_proba(sp.csr_matrix(X, dtype=np.float32)))


WAYS: dict[str, Callable[[str], Any]] = {
    "random forest": forest(),
    "balanced labels": forest(label_weight="balanced"),
    "boosting, linear start": linear_start,
    "logistic regression": lambda _: OneVsRestClassifier(LogisticRegression(solver="liblinear")),
    "omikuji": Omikuji,
    "napkinXC": Napkin,
    "BOOMER": boomer,
}


def measured(name: str, way: str) -> dict[str, Any]:
    """One method on one data set, in this process."""
    data = _data.named(name)
    X, X_test, Y, Y_test = (sp.csr_matrix(part) for part in (data.X, data.X_test, data.y, data.y_test))
    if (X.data % 1 == 0).all():
        weights = TfidfTransformer(sublinear_tf=True).fit(X)
        X, X_test = (weights.transform(part).astype(np.float32) for part in (X, X_test))
    p = propensities(Y)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found: dict[str, Any] = {"set": name, "way": way}
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
        start = time.perf_counter()
        model = WAYS[way](folder).fit(X, Y)
        found["fit"] = time.perf_counter() - start
        start = time.perf_counter()
        scores = np.asarray(model.predict_proba(X_test))
        found["predict"] = time.perf_counter() - start
        found["peak"] = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        files = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
        found["bytes"] = files or len(pickle.dumps(model, protocol=5))
        found["precision"] = [precision_at_k(Y_test, scores, k) for k in (1, 3, 5)]
        found["propensity"] = [psp_at_k(Y_test, scores, k, propensities=p) for k in (1, 3, 5)]
        order = np.random.default_rng(0).permutation(X.shape[0])
        train, held = order[len(order) // 5 :], order[: len(order) // 5]
        part = WAYS[way](other).fit(X[train], Y[train])
        tuned = TunedThresholds(FrozenEstimator(part)).fit(X[held], Y[held])
        named = tuned.predict(X_test)
        found["f1"] = [f1_score(Y_test, named, average=average, zero_division=0) for average in ("micro", "macro")]
    return found


def table(lines: list[dict[str, Any]]) -> None:
    columns = ["set", "way", "precision at 1 / 3 / 5", "propensity-scored", "micro / macro F1"]
    print("|", " | ".join([*columns, "fit / predict, s", "MB, file / peak"]), "|")
    print("|---|---|--:|--:|--:|--:|--:|")
    for line in sorted(lines, key=lambda line: (SETS.index(line["set"]), list(WAYS).index(line["way"]))):
        scores = [" / ".join(f"{x:.3f}".lstrip("0") for x in line[part]) for part in ("precision", "propensity", "f1")]
        seconds, size = f"{line['fit']:.3g} / {line['predict']:.2g}", f"{line['bytes'] / 1e6:.2g} / {line['peak']:.3g}"
        print(f"| {line['set']} | {line['way']} | {' | '.join(scores)} | {seconds} | {size} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--only", choices=SETS)
    parser.add_argument("--ways", default="", help="ways whose name contains this")
    parser.add_argument("--seconds", type=float, default=900, help="the longest that a way may take on a set")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measured(*arguments.one)))
        return
    lines = _records.read(arguments.results)
    done = {(line["set"], line["way"]) for line in lines}
    for name in SETS if arguments.only is None else [arguments.only]:
        for way in (way for way in WAYS if arguments.ways in way and (name, way) not in done):
            call = [sys.executable, __file__, str(arguments.results), "--one", name, way]
            try:
                run = subprocess.run(call, capture_output=True, text=True, timeout=arguments.seconds)
            except subprocess.TimeoutExpired:
                print(f"{name}, {way}: more than {arguments.seconds:g} s", file=sys.stderr)
                continue
            if run.returncode:
                print(f"{name}, {way}: {run.stderr.strip().splitlines()[-1]}", file=sys.stderr)
                continue
            lines.append(json.loads(run.stdout.splitlines()[-1]))
            _records.append(arguments.results, lines[-1])
    table(lines)


if __name__ == "__main__":
    main()
