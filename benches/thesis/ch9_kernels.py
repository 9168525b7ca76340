"""Output-kernel trees by Nyström targets, against trees on the exact Gram matrix.

Chapter 9 proposes to combine output-kernel trees (Geurts, Wehenkel, d'Alché-Buc 2006) with projections. The exact tree
here takes all sums of the kernel from the Gram matrix: n² operations for each feature of a node of n samples, in NumPy.
The other is `DecisionTreeRegressor` on the targets of `KernelProjection` with q landmarks, its time with that of the
targets. Both have at most 64 leaves of at least 5 samples, on at most 1 000 training samples and, of more than 300
features, the 100 of the largest variance. "explained" is the share of the inertia of the kernel that the leaves explain,
1 - Σ n_leaf inertia(leaf) / (n inertia), with the exact Gram matrix of the training samples for both.

`ch9_kernels.csv`: means over draws of the landmarks. "loss" is the share of the exact tree's explained inertia that is
lost, negative where the greedy exact tree explains less than the other.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import scipy.sparse as sp
import weald
from _common import Cells, at_hand, greet, mean_std, options, original, print_table, write_table
from sklearn.metrics.pairwise import pairwise_kernels
from weald.projection import KernelProjection

CASES = {
    "emotions, rbf": ("emotions", "rbf", {}),
    "CAL500, cosine": ("CAL500", "cosine", {}),
    "CAL500, rbf 0.05": ("CAL500", "rbf", {"gamma": 0.05}),
    "mediamill_sample, rbf 0.3": ("mediamill_sample", "rbf", {"gamma": 0.3}),
    "yahoo_arts, cosine": ("yahoo_arts", "cosine", {}),
    "medical, Tanimoto": ("medical", "tanimoto", {}),
    "scm20d, rbf 0.05": ("scm20d", "rbf", {"gamma": 0.05}),
    "scm20d, laplacian 0.2": ("scm20d", "laplacian", {"gamma": 0.2}),
    "rf1, rbf": ("rf1", "rbf", {}),
}
Q = (25, 100)
N_SAMPLES, DEPTH, LEAST = 1000, 6, 5


def tanimoto(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """The share of the labels of either that both have."""
    both = A @ B.T
    return both / np.maximum(A.sum(axis=1)[:, None] + B.sum(axis=1) - both, 1)


def problem(case: str) -> tuple[np.ndarray, np.ndarray, Any, dict[str, float]]:
    name, kernel, params = CASES[case]
    data = original(name)
    X, Y = (np.asarray(a[:N_SAMPLES].toarray() if sp.issparse(a) else a[:N_SAMPLES]) for a in (data.X, data.y))
    X, Y = np.nan_to_num(X.astype(np.float32)), Y.astype(float)
    if X.shape[1] > 300:
        X = X[:, np.sort(np.argsort(-X.var(axis=0), kind="stable")[:100])]
    if name in ("scm20d", "rf1"):
        Y = (Y - Y.mean(axis=0)) / Y.std(axis=0)
    return X, Y, tanimoto if kernel == "tanimoto" else kernel, params


def exact_leaves(X: np.ndarray, K: np.ndarray) -> np.ndarray:
    """The leaf of each sample in a tree that is grown on the Gram matrix."""
    leaf, n_leaves = np.zeros(len(X), dtype=int), 1

    def grow(rows: np.ndarray, depth: int) -> None:
        nonlocal n_leaves
        n, best, split = len(rows), 1e-12, None
        if depth == DEPTH or n < 2 * LEAST:
            return
        gram = K[np.ix_(rows, rows)]
        left = np.arange(1, n)
        for feature in range(X.shape[1]):
            x = X[rows, feature]
            order = np.argsort(x, kind="stable")
            x = x[order]
            sums = gram[np.ix_(order, order)].cumsum(axis=0).cumsum(axis=1)
            inside, total = np.diag(sums)[:-1], sums[-1, -1]
            outside = total - 2 * sums[:-1, -1] + inside
            gain = inside / left + outside / (n - left) - total / n
            gain[(x[1:] == x[:-1]) | (left < LEAST) | (n - left < LEAST)] = -1
            if gain.max() > best:
                place = int(gain.argmax())
                best, split = gain[place], (feature, x[place])
        if split is None:
            return
        goes = X[rows, split[0]] <= split[1]
        leaf[rows[~goes]] = n_leaves
        n_leaves += 1
        grow(rows[goes], depth + 1)
        grow(rows[~goes], depth + 1)

    grow(np.arange(len(X)), 0)
    return leaf


def explained(K: np.ndarray, leaf: np.ndarray) -> float:
    def total(gram: np.ndarray) -> float:
        return float(np.trace(gram) - gram.sum() / len(gram))

    inside = (np.flatnonzero(leaf == one) for one in np.unique(leaf))
    return 1 - sum(total(K[np.ix_(rows, rows)]) for rows in inside) / total(K)


def cell(case: str, q: int, seed: int) -> dict[str, float]:
    X, Y, kernel, params = problem(case)
    K = kernel(Y, Y) if callable(kernel) else pairwise_kernels(Y, metric=kernel, **params)
    start = time.perf_counter()
    if q == 0:
        leaf = exact_leaves(X, K)
    else:
        Z = KernelProjection(kernel, n_components=q, kernel_params=params, random_state=seed).fit_transform(Y)
        tree = weald.DecisionTreeRegressor(max_depth=DEPTH, min_samples_leaf=LEAST, random_state=seed)
        leaf = tree.fit(X, Z).apply(X)
    seconds = time.perf_counter() - start
    return {"explained": explained(K, leaf), "seconds": seconds, "leaves": float(len(np.unique(leaf)))}


def main() -> None:
    args = options(__doc__.splitlines()[0], repeat=5)
    greet(__doc__.splitlines()[0])
    cells = Cells(
        args.out / "ch9_kernels_cells.csv", ("case", "q", "seed"), ("explained", "seconds", "leaves"), args.fresh
    )
    wanted = [
        (case, q, seed)
        for case, (name, *_) in CASES.items()
        if at_hand(name) and args.only in case
        for q in (0, *Q)
        for seed in range(args.repeat if q else 1)
    ]
    cells.run(wanted, cell, args.n_jobs)
    rows: list[dict[str, Any]] = []
    for case in CASES:
        if not (exact := cells.of("explained", case=case, q=0)):
            continue
        row: dict[str, Any] = {"case": case, "exact": exact[0], "exact s": cells.of("seconds", case=case, q=0)[0]}
        for q in Q:
            if found := cells.of("explained", case=case, q=q):
                row[f"q={q}"], row[f"q={q}, std"] = mean_std(found)
                row[f"q={q}, loss"] = 1 - row[f"q={q}"] / row["exact"]
                row[f"q={q}, times"] = row["exact s"] / mean_std(cells.of("seconds", case=case, q=q))[0]
        rows.append(row)
    if rows:
        write_table(args.out / "ch9_kernels.csv", rows)
        print_table(rows)


if __name__ == "__main__":
    main()
