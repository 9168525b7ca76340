"""Outputs drawn by what is left of their variance, against outputs drawn alike: is an adaptive projection worth building?

Chapter 9 proposes projections that follow the residuals. Each stage of gradient boosting for squared error grows one tree
of depth 3 on the residuals of one output. That output is drawn at random: all alike ("uniform", `SubsampleProjection`), or
with probability in proportion to the share of its variance that is not explained yet ("residual", known after the stage
before). "relabelled": leaves have the mean residuals of all outputs; "steps": the tree is multiplied by a coefficient for each
output. Learning rate 0.1, 240 stages, in NumPy around `DecisionTreeRegressor`. Both draws share their random numbers.

`ch9_residual.csv`: mean r² over the outputs on other samples, means over seeds, and the difference with its standard
deviation. Made problems have 300 training samples, 16 outputs and, with "noise", 16 more that are noise. Data sets are halves
of a part of the training samples; the test parts are never used.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import weald
from _common import Cells, at_hand, greet, mean_std, options, original, print_table, write_table
from weald import datasets

MADE = {
    "Friedman 1, chain": datasets.make_friedman1_chain,
    "Friedman 1, groups": datasets.make_friedman1_group,
    "Friedman 1, independent": datasets.make_friedman1_ind,
}
# Data sets, and the number of samples to learn from.
REAL = {"scm20d": 600, "rf1": 600, "emotions": 190, "CAL500": 160}
PROBLEMS = [name + noise for name in MADE for noise in ("", ", noise")] + list(REAL)
LEAVES = ("relabelled", "steps")
RATE, DEPTH, STAGES = 0.1, 3, 240


def dense(array: Any) -> np.ndarray:
    return np.asarray(array.toarray() if sp.issparse(array) else array, dtype=float)


def problem(name: str, seed: int) -> tuple[np.ndarray, ...]:
    """X and y to learn from, and to be scored."""
    if name in REAL:
        data, n = original(name), REAL[name]
        rows = np.random.default_rng(seed).permutation(data.X.shape[0])[: 2 * n]
        X, Y = np.nan_to_num(dense(data.X[rows])), dense(data.y[rows])
        return X[:n], Y[:n], X[n:], Y[n:]
    kind = name.removesuffix(", noise")
    X, Y = MADE[kind](1300, 16, noisy_outputs=0 if name == kind else 16, random_state=seed)[:2]
    return X[:300], Y[:300], X[300:], Y[300:]


def r2(Y: np.ndarray, predicted: np.ndarray) -> float:
    total = ((Y - Y.mean(axis=0)) ** 2).sum(axis=0)
    return float((1 - ((Y - predicted) ** 2).sum(axis=0)[total > 0] / total[total > 0]).mean())


def boosted(data: tuple[np.ndarray, ...], leaves: str, by: str, seed: int) -> float:
    X, Y, X_test, Y_test = data
    rng = np.random.default_rng(seed)
    F, F_test = np.tile(Y.mean(axis=0), (len(X), 1)), np.tile(Y.mean(axis=0), (len(X_test), 1))
    total = ((Y - F) ** 2).sum(axis=0)
    for stage in range(STAGES):
        R = Y - F
        left = (R**2).sum(axis=0) if by == "residual" else np.ones(Y.shape[1])
        share = np.divide(left, total, out=np.zeros(len(total)), where=total > 0) if by == "residual" else left
        output = rng.choice(len(share), p=share / share.sum())
        tree = weald.DecisionTreeRegressor(max_depth=DEPTH, random_state=seed * 1000 + stage).fit(X, R[:, output])
        if leaves == "steps":
            found, found_test = tree.predict(X), tree.predict(X_test)
            if square := found @ found:
                factors = R.T @ found / square
                F += RATE * np.outer(found, factors)
                F_test += RATE * np.outer(found_test, factors)
            continue
        at, at_test = tree.apply(X), tree.apply(X_test)
        sums = np.zeros((tree.tree_.node_count, Y.shape[1]))
        np.add.at(sums, at, R)
        means = sums / np.maximum(np.bincount(at, minlength=len(sums)), 1)[:, None]
        F += RATE * means[at]
        F_test += RATE * means[at_test]
    return r2(Y_test, F_test)


def cell(name: str, leaves: str, seed: int) -> dict[str, float]:
    data = problem(name, seed)
    return {by: boosted(data, leaves, by, seed) for by in ("uniform", "residual")}


def main() -> None:
    args = options(__doc__.splitlines()[0], repeat=5)
    greet(__doc__.splitlines()[0])
    cells = Cells(
        args.out / "ch9_residual_cells.csv", ("problem", "leaves", "seed"), ("uniform", "residual"), args.fresh
    )
    wanted = [
        (name, leaves, seed)
        for name in PROBLEMS
        if args.only in name and (name not in REAL or at_hand(name))
        for leaves in LEAVES
        for seed in range(args.repeat)
    ]
    cells.run(wanted, cell, args.n_jobs)
    rows: list[dict[str, Any]] = []
    for name in PROBLEMS:
        for leaves in LEAVES:
            where = {"problem": name, "leaves": leaves}
            if not (uniform := cells.of("uniform", **where)):
                continue
            residual = cells.of("residual", **where)
            row: dict[str, Any] = {**where, "uniform": mean_std(uniform)[0], "residual": mean_std(residual)[0]}
            gains = [b - a for a, b in zip(uniform, residual, strict=True)]
            row["difference"], row["difference, std"] = mean_std(gains)
            rows.append(row)
    if rows:
        write_table(args.out / "ch9_residual.csv", rows)
        print_table(rows)


if __name__ == "__main__":
    main()
