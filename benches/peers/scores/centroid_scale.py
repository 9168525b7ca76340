"""How the time of a centroid forest grows, what a large fit takes, and what a plain version in NumPy takes.

`python benches/peers/scores/centroid_scale.py growth`: processor seconds of ten trees on generated documents, against the number of
samples, of labels, and of words in a document; and the slopes of the logarithms, by least squares over medians of
`--repeat` fits.

`python centroid_scale.py large`: ten trees on 200 000 documents with 100 000 words and 10 000 labels: seconds and the
peak memory of the process.

`python centroid_scale.py slow SET`: ten trees of the plain method (spherical k-means of projected labels, centroids
that are means, nearest child, unsmoothed leaves) with NumPy and SciPy, and with the engine: seconds for a tree, and
precision at 1, 3 and 5. The engine's defaults are listed for comparison.

One thread each, also for BLAS.
"""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path
from statistics import median
from typing import Any

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import numpy as np
import scipy.sparse as sp
import weald
from weald.metrics import precision_at_k

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _data import named
from _harness import Table, options, parser, spread, timed
from text_labels import as_tfidf

SIZES = {"samples": (10_000, 80_000), "labels": (100, 6_400), "words": (20, 160)}
PLAIN = {"refine": False, "soft_routing": False, "smoothing": 0.0, "idf": False, "min_centroid_weight": 0.0}


def documents(n: int, n_words: int, n_labels: int, length: int, seed: int = 0) -> tuple[Any, Any]:
    """Counts of words, and labels, of generated documents: each has three labels, which half of its words belong to.

    Words and labels follow Zipf's law. Each label has forty words.
    """
    rng = np.random.default_rng(seed)

    def zipf(size: int, shape: tuple[int, ...]) -> Any:
        return np.minimum(np.exp(rng.random(shape) * np.log(size)).astype(np.int64), size) - 1

    labels = zipf(n_labels, (n, 3))
    words_of = rng.integers(0, n_words, size=(n_labels, 40))
    own = words_of[labels[:, rng.integers(0, 3, size=length // 2)], rng.integers(0, 40, size=(n, length // 2))]
    words = np.concatenate([own, zipf(n_words, (n, length - length // 2))], axis=1)
    rows = np.repeat(np.arange(n), length)
    X = sp.csr_array((np.ones(n * length, np.float32), (rows, words.ravel())), shape=(n, n_words))
    Y = sp.csr_array((np.ones(3 * n, np.int8), (np.repeat(np.arange(n), 3), labels.ravel())), shape=(n, n_labels))
    Y.data[:] = 1
    return X, Y


def forest(**settings: Any) -> Any:
    return weald.CentroidForestClassifier(10, random_state=0, n_jobs=1, **settings)


def growth(repeat: int) -> None:
    """Prints the slopes."""
    table = Table("case | side | seconds | power of the size", texts=2)
    for name, (least, most) in SIZES.items():
        sizes = np.geomspace(least, most, 4).astype(int)
        times = []
        for size in sizes:
            shape = {"samples": 20_000, "labels": 1_000, "words": 60, name: int(size)}
            X, Y = documents(shape["samples"], 20_000, shape["labels"], shape["words"])
            runs = [timed(lambda X=X, Y=Y: forest().fit(X, Y))[0] for _ in range(repeat)]
            times.append(median(runs))
            table.row(name, size, spread(runs))
        table.row(name, "all", "", f"{np.polyfit(np.log(sizes), np.log(times), 1)[0]:.2f}")


def large() -> None:
    """Prints time and memory of a large fit."""
    X, Y = documents(200_000, 100_000, 10_000, 60)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    took, _ = timed(lambda: forest().fit(X, Y))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    table = Table("case | side | seconds | peak of the process, GB | before the fit, GB", texts=2)
    table.row(f"{X.nnz} entries", "weald", f"{took:.1f}", f"{peak / 2**20:.2f}", f"{before / 2**20:.2f}")


class SlowTree:
    """A tree of the plain method."""

    def __init__(self, X: Any, Y: Any, rng: Any, rows: Any = None) -> None:
        rows = np.arange(X.shape[0]) if rows is None else rows
        self.values = np.asarray(Y[rows].mean(axis=0)).ravel()
        self.children: list[SlowTree] = []
        if len(rows) <= 10:
            return
        of = self.clusters(Y[rows], rng)
        sums = sp.csr_matrix((np.ones(len(rows)), (of, np.arange(len(rows)))), (of.max() + 1, len(rows))) @ X[rows]
        lengths = np.sqrt(np.asarray(sums.multiply(sums).sum(axis=1)).ravel())
        self.centroids = sp.csr_matrix(sp.diags(1 / np.maximum(lengths, 1e-12)) @ sums)
        nearest = np.asarray((X[rows] @ self.centroids.T).todense()).argmax(axis=1)
        parts = [rows[nearest == child] for child in range(sums.shape[0])]
        if max(map(len, parts)) < len(rows):
            kept = [child for child, part in enumerate(parts) if len(part)]
            self.centroids = self.centroids[kept]
            self.children = [SlowTree(X, Y, rng, parts[child]) for child in kept]

    @staticmethod
    def clusters(Y: Any, rng: Any) -> Any:
        """Spherical k-means with ten clusters, started by k-means++, in three passes."""
        points = np.asarray(Y @ rng.choice([-1.0, 1.0], size=(Y.shape[1], 128)))
        points /= np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1e-12)
        centres = points[rng.integers(len(points))][None]
        while len(centres) < 10:
            away = np.maximum(1 - (points @ centres.T).max(axis=1), 0)
            if away.sum() < 1e-9:
                break
            centres = np.vstack([centres, points[rng.choice(len(points), p=away / away.sum())]])
        for _ in range(3):
            of = (points @ centres.T).argmax(axis=1)
            sums = np.zeros_like(centres)
            np.add.at(sums, of, points)
            centres = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-12)
        return (points @ centres.T).argmax(axis=1)

    def predict(self, X: Any, out: Any, rows: Any) -> None:
        if not self.children:
            out[rows] += self.values
            return
        nearest = np.asarray((X[rows] @ self.centroids.T).todense()).argmax(axis=1)
        for child, below in enumerate(self.children):
            below.predict(X, out, rows[nearest == child])


def slow(name: str, table: Table) -> None:
    """Seconds for a tree, and precision at 1, 3 and 5 of ten trees."""
    data = named(name)
    X, X_test, Y, Y_test = (sp.csr_matrix(part) for part in (data.X, data.X_test, data.y, data.y_test))
    X32, Xt32 = as_tfidf(X, X_test)
    X, X_test = (sp.csr_matrix(part, dtype=np.float64) for part in (X32, Xt32))
    rng = np.random.default_rng(0)
    took, trees = timed(lambda: [SlowTree(X, sp.csr_matrix(Y, dtype=np.float64), rng) for _ in range(10)])
    scores = np.zeros(Y_test.shape)
    for tree in trees:
        tree.predict(X_test, scores, np.arange(len(scores)))
    found = {"NumPy": (took, scores)}
    for way, settings in [("the same by the engine", PLAIN), ("defaults", {"idf": False})]:
        took, model = timed(lambda settings=settings: forest(**settings).fit(X32, Y))
        scores = model.predict_proba(Xt32)
        found[way] = took, scores if isinstance(scores, np.ndarray) else np.stack([p[:, 1] for p in scores], axis=1)
    for way, (took, scores) in found.items():
        precision = " / ".join(f"{precision_at_k(Y_test, scores, k):.3f}"[1:] for k in (1, 3, 5))
        table.row(name, way, f"{took / 10:.3g}", precision)


def main() -> None:
    """Runs the requested measurements."""
    common = parser(__doc__ or "", repeat=3)
    common.add_argument("what", choices=["growth", "large", "slow"])
    common.add_argument("sets", nargs="*", default=["bibtex", "delicious"])
    args = options(common)
    if args.what == "growth":
        growth(args.repeat)
    elif args.what == "large":
        large()
    else:
        table = Table("case | side | seconds a tree | precision at 1 / 3 / 5", texts=2)
        for name in args.sets:
            slow(name, table)


if __name__ == "__main__":
    main()
