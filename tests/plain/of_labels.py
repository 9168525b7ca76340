"""Tables whose y is a set of labels: a matrix of zeros and ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from plain.draws import changed, codes, customers, grid, line, settings, smooth, survey, texts, yes_no
from plain.of_numbers import WEIGHTS
from plain.tables import Spec, spec

Rng = np.random.Generator


def where_high(
    rng: Rng,
    n: int,
    x: Any = line,
    labels: int = 5,
    noise: float = 0.3,
    share: float = 0.3,
    rare: bool = False,
    as_sparse: bool = False,
    given: tuple[int, ...] = (),
    weight: str = "",
    **options: Any,
) -> Any:
    """A label is where its signal with noise is high.

    With `rare`, the last labels are ten times rarer than the first. The second label and those behind it are as `given`.
    """
    X, signal, groups = x(rng, n, outputs=labels, **options)
    noisy = signal + noise * rng.normal(size=signal.shape)
    shares = share * (np.geomspace(1, 0.1, labels) if rare else np.ones(labels))
    Y = np.column_stack([column > np.quantile(column, 1 - part) for column, part in zip(noisy.T, shares, strict=True)])
    Y[:, 1 : 1 + len(given)] = given
    Y = sparse.csr_array(Y.astype(np.int64)) if as_sparse else Y.astype(np.int64)
    return (X, Y, groups, WEIGHTS[weight](rng, n)) if weight else (X, Y, groups)


def of_topics(rng: Rng, n: int, labels: int = 12, noise: float = 0.02, **options: Any) -> Any:
    """Each topic has some labels."""
    X, at, groups = texts(rng, n, **options)
    of_topic = rng.random((int(at.max()) + 1, labels)) < 0.25
    return X, (of_topic[at] ^ (rng.random((n, labels)) < noise)).astype(np.int64), groups


def noise(rng: Rng, n: int, labels: int = 5, share: float = 0.3) -> Any:
    X, _, _ = line(rng, n)
    return X, (rng.random((n, labels)) < share).astype(np.int64), None


TABLES: dict[str, Spec] = {
    "labels: 3 of a line": spec(where_high, labels=3),
    "labels: 5 smooth": spec(where_high, x=smooth),
    "labels: 12 of a line": spec(where_high, 600, labels=12),
    "labels: 40 of a line": spec(where_high, 600, labels=40, share=0.1),
    "labels: 40, some rare": spec(where_high, 1000, labels=40, rare=True, as_sparse=True),
    "labels: 5 of 50 codes": spec(where_high, x=codes),
    "labels: 5 of 50 codes as categories": spec(where_high, x=codes, how="categories"),
    "labels: 5 of 50 codes as 50 columns": spec(where_high, x=codes, how="onehot"),
    "labels: 12 of 50 codes as 50 columns": spec(where_high, x=codes, how="onehot", labels=12),
    "labels: 5 of 10 x 10 codes": spec(where_high, x=grid),
    "labels: 5 of 8 yes or no": spec(where_high, x=yes_no),
    "labels: 12 of 60 settings": spec(where_high, x=settings, labels=12),
    "labels: every row five times": spec(where_high, 200, repeat=5),
    "labels: a survey": spec(where_high, x=survey),
    "labels: 12 of short texts": spec(of_topics, tfidf=True),
    "labels: 12 of short texts that repeat": spec(of_topics, different=150),
    "labels: 40 of short texts": spec(of_topics, labels=40, topics=20),
    "labels: wide and sparse": spec(of_topics, words=1000, topics=20, length=15),
    "labels: 40 samples": spec(where_high, 40, labels=3, columns=4, useful=4),
    "labels: 100 samples": spec(where_high, 100, labels=5),
    "labels: one never, one always": spec(where_high, labels=4, given=(0, 1)),
    "labels: 24 samples of 4 codes": spec(where_high, 24, x=codes, levels=4, labels=3),
    "labels: customers": spec(where_high, x=customers, labels=4),
    "labels: columns in units from 1e-6 to 1e6": spec(where_high, x=changed, draw=line, change="units", to=6),
    "labels: 5000 samples": spec(where_high, 5000, x=smooth, labels=12),
    "labels: weights of 0.7": spec(where_high, x=smooth, weight="0.7"),
    "labels: weights of 1e-6": spec(where_high, x=codes, weight="1e-6"),
    "labels: no noise": spec(where_high, x=smooth, noise=0),
    "labels: only noise": spec(noise),
    "labels: X plus 1e6": spec(where_high, x=changed, draw=line, change="plus", to=1e6),
    "labels: half missing": spec(where_high, x=changed, draw=line, change="missing", to=0.5),
    "labels: weights from 1 to 5": spec(where_high, weight="counts"),
    "labels: weights of 1/n": spec(where_high, weight="1/n"),
}  # fmt: skip
