"""Boosting on 100 000 labels: square loss, projected without relabelling, never an array of samples × labels.

Generated data: 20 000 samples, 100 features, 5 of 100 000 labels for each sample. Samples belong to 200 topics; a
topic has 500 labels of its own, with a Zipf distribution. One array of samples × labels would take 8 GB as float32;
the peak memory must stay below a twentieth of that. The residual is the sparse labels minus what the rounds have
added, a product of two vectors for each round, so that memory grows with samples × rounds and labels × rounds. The
case with a tenth of the labels shows how time and memory depend on them. Score: precision of the five best labels, on
1000 other samples.
"""

from __future__ import annotations

import argparse
import functools
from typing import Any

import numpy as np
import scipy.sparse as sp
import weald
from _data import fortran
from _harness import PLAIN_BOOSTING, Case, Data, Side, main, n_trees
from weald.projection import Projected

N, N_TEST, P, TOPICS, LABELS_OF_TOPIC, LABELS_OF_ROW = 20_000, 1000, 100, 200, 500, 5


def topics(d: int) -> Data:
    """Samples near the center of their topic; the labels of a topic are `LABELS_OF_TOPIC` of d."""
    rng = np.random.default_rng(0)
    n = N + N_TEST
    topic = rng.integers(0, TOPICS, n)
    X = (rng.normal(size=(TOPICS, P))[topic] + 0.5 * rng.normal(size=(n, P))).astype(np.float32)
    own = np.array([rng.choice(d, LABELS_OF_TOPIC, replace=False) for _ in range(TOPICS)])
    share = 1 / np.arange(1, LABELS_OF_TOPIC + 1)
    # The five largest values of log p + Gumbel noise: five draws without replacement.
    noise = rng.gumbel(size=(n, LABELS_OF_TOPIC)) + np.log(share)
    drawn = np.argpartition(noise, -LABELS_OF_ROW, axis=1)[:, -LABELS_OF_ROW:]
    columns = np.sort(own[topic[:, None], drawn], axis=1)
    indptr = np.arange(0, columns.size + 1, LABELS_OF_ROW)
    Y = sp.csr_matrix((np.ones(columns.size), columns.ravel(), indptr), shape=(n, d))
    return Data(X[:N], Y[:N], X[N:], Y[N:])


def precision_of_five(model: Any, data: Data) -> float:
    indices, _ = model.predict_topk(data.X_test, LABELS_OF_ROW)
    return float(np.mean([np.isin(i, data.y_test[r].indices).mean() for r, i in enumerate(indices)]))


def cases(args: argparse.Namespace) -> list[Case]:
    m = n_trees(args, usual=100, quick=10)

    def model() -> Any:
        return weald.GradientBoostingClassifier(
            **PLAIN_BOOSTING | {"learning_rate": 0.5},
            loss="squared_error",
            output_strategy=Projected(relabel_leaves=False),
            n_estimators=m,
            max_depth=6,
            max_leaf_nodes=None,
            min_weight_leaf=0.0,
            leaf_estimation="line_search",
            random_state=0,
            n_jobs=1,
        )

    return [
        Case(
            name=f"low rank, {d} labels",
            data=functools.partial(topics, d),
            sides={"weald": Side(model, fortran)},
            aims={"model_bytes": None},
            score=precision_of_five,
            peak_limit=lambda data: 4 * data.y.shape[0] * data.y.shape[1] / 20,
            notes=f"{N} rows, {m} rounds",
        )
        for d in (10_000, 100_000)
    ]


if __name__ == "__main__":
    main(__doc__ or "", cases)
