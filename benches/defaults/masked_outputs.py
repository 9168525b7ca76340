"""Missing values in y: learning with a mask compared with filling them in, and with one model for each output.

    python benches/defaults/masked_outputs.py results.jsonl [--only bibtex] [--rows 3000] [--trees 50]

Hides 50 % or 80 % of the values of the training y, at random or sample by sample (each sample keeps a block of
neighbouring outputs, so that no sample is fully known), and fits extra-trees: with the mask; with the hidden values
replaced by zeros (labels) or by the means of the known values (numerical outputs); and one model for each of `--single`
randomly chosen outputs, on the samples for which the output is known. For numerical outputs, boosting of weald and of
CatBoost with the mask is fitted too, both at their defaults. A training y without hidden values gives the upper bound.
Scores are from the whole test part: label ranking average precision, or the mean r² of the outputs; and for the chosen
outputs the mean area under the ROC curve, or mean r², of all methods. Appends a line for each fit, and does not repeat
fits that the file already has. One thread.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import weald
from sklearn.metrics import roc_auc_score

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))

import _data
import _records
from _scores import macro_r2, ranking_precision

SETS = ["bibtex", "delicious", "eisen_go", "scm20d"]
NUMBERS = {"scm20d"}


def hidden_cells(shape: tuple[int, int], share: float, by_row: bool, seed: int) -> np.ndarray:
    """True for hidden values: each value independently, or all but a block of neighbouring outputs of each sample."""
    rng = np.random.default_rng(seed)
    if not by_row:
        return rng.random(shape) < share
    n, d = shape
    n_kept = max(1, round((1 - share) * d))
    return ((np.arange(d) - rng.integers(0, d, n)[:, None]) % d) >= n_kept


def dense(y: Any) -> np.ndarray:
    """Labels or numerical outputs as an array."""
    return np.asarray(y.toarray() if sp.issparse(y) else y, dtype=np.float64).reshape(y.shape[0], -1)


class Problem:
    """One data set, and the models that are fitted to it."""

    def __init__(self, name: str, rows: int, trees: int) -> None:
        data = _data.named(name)
        self.is_numbers = name in NUMBERS
        if self.is_numbers:
            data = _data.standard_y(data)
        keep = np.sort(np.random.default_rng(0).permutation(data.X.shape[0])[:rows])
        self.X, self.X_test = data.X[keep], data.X_test
        self.y, self.y_test = dense(data.y)[keep], dense(data.y_test)
        # Outputs that vary in both parts, since others have no score.
        varies = (np.ptp(self.y, axis=0) > 0) & (np.ptp(self.y_test, axis=0) > 0)
        self.y, self.y_test = self.y[:, varies], self.y_test[:, varies]
        kind = weald.ExtraTreesRegressor if self.is_numbers else weald.ExtraTreesClassifier
        self.kind, self.trees = kind, trees

    def fitted(self, y: np.ndarray, mask: np.ndarray | None = None, X: Any = None) -> np.ndarray:
        """Scores on the test part."""
        # An output with classes has two columns of probabilities; labels are passed as labels.
        extra = {} if self.is_numbers else {"multi_label": True}
        model = self.kind(n_estimators=self.trees, random_state=0, min_samples_leaf=2, **extra)
        model.fit(self.X if X is None else X, y, y_weight=None if mask is None else ~mask)
        found = model.predict(self.X_test) if self.is_numbers else model.predict_proba(self.X_test)
        return np.asarray(found).reshape(self.X_test.shape[0], -1)

    def score(self, found: np.ndarray, outputs: np.ndarray | None = None) -> float:
        """The score of all outputs, or of some."""
        if self.is_numbers:
            outputs = np.arange(self.y.shape[1]) if outputs is None else outputs
            return float(macro_r2(found, self.y_test[:, outputs]))
        if outputs is None:
            return float(ranking_precision(found, sp.csr_matrix(self.y_test)))
        return float(roc_auc_score(self.y_test[:, outputs], found, average="macro"))


def filled(problem: Problem, mask: np.ndarray) -> np.ndarray:
    """Hidden labels replaced by zeros, hidden numerical outputs by the means of the known values."""
    if not problem.is_numbers:
        return np.where(mask, 0.0, problem.y)
    return np.where(mask, np.nanmean(np.where(mask, np.nan, problem.y), axis=0), problem.y)


def boosted(problem: Problem, mask: np.ndarray) -> np.ndarray:
    """Boosting at its defaults, with the mask."""
    model = weald.GradientBoostingRegressor(random_state=0).fit(
        problem.X, problem.y, y_weight=None if mask is None else ~mask
    )
    return np.asarray(model.predict(problem.X_test))


def catboost(problem: Problem, mask: np.ndarray) -> np.ndarray:
    """CatBoost at its defaults, with the loss that supports missing values."""
    from catboost import CatBoostRegressor

    loss = "MultiRMSEWithMissingValues"
    model = CatBoostRegressor(loss_function=loss, random_seed=0, thread_count=1, verbose=0, allow_writing_files=False)
    return np.asarray(model.fit(problem.X, np.where(mask, np.nan, problem.y)).predict(problem.X_test))


def single(problem: Problem, mask: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    """One model for each output, fitted to the samples for which it is known."""
    columns = []
    for j in outputs:
        known = np.flatnonzero(~mask[:, j])
        y = problem.y[known][:, [j]]
        columns.append(problem.fitted(y[:, 0] if problem.is_numbers else y, X=problem.X[known])[:, 0])
    return np.column_stack(columns)


def run(name: str, arguments: argparse.Namespace, done: set[tuple[Any, ...]]) -> None:
    """All fits of one data set."""
    problem = Problem(name, arguments.rows, arguments.trees)
    d = problem.y.shape[1]
    sampled = np.sort(np.random.default_rng(1).permutation(d)[: arguments.single])

    def record(way: str, share: float, by_row: bool, fit: Any, *, alone: bool = False) -> None:
        key = (name, way, share, by_row)
        if key in done:
            return
        start = time.process_time()
        found = fit()
        seconds = time.process_time() - start
        line = {"set": name, "way": way, "share": share, "by_row": by_row, "seconds": seconds}
        line["score"] = None if alone else problem.score(found)
        line["sampled"] = problem.score(found if alone else found[:, sampled], sampled)
        line["n_sampled"], line["n_outputs"], line["n_rows"] = len(sampled), d, problem.X.shape[0]
        _records.append(arguments.results, line)
        print(line, flush=True)

    record("nothing hidden", 0.0, False, lambda: problem.fitted(problem.y))
    for share in (0.5, 0.8):
        for by_row in (False, True):
            mask = hidden_cells(problem.y.shape, share, by_row, seed=2)
            # A sample keeps at least one known value.
            for j in np.flatnonzero(mask.all(axis=0)):
                mask[0, j] = False
            record("mask", share, by_row, lambda mask=mask: problem.fitted(problem.y, mask))
            record("filled", share, by_row, lambda mask=mask: problem.fitted(filled(problem, mask)))
            if problem.is_numbers:
                record("boosting", share, by_row, lambda mask=mask: boosted(problem, mask))
                record("CatBoost", share, by_row, lambda mask=mask: catboost(problem, mask))
            record("single", share, by_row, lambda mask=mask: single(problem, mask, sampled), alone=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--only", choices=SETS)
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--trees", type=int, default=50)
    parser.add_argument("--single", type=int, default=10, help="outputs that get models of their own")
    arguments = parser.parse_args()
    lines = _records.read(arguments.results)
    done = {(line["set"], line["way"], line["share"], line["by_row"]) for line in lines}
    for name in SETS if arguments.only is None else [arguments.only]:
        run(name, arguments, done)


if __name__ == "__main__":
    main()
