"""The problems of the benchmarks, and the layouts that suit each library."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from _harness import AbsentDataError, Data, replaced
from weald.datasets import load_npz_folder

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import data as data_sets
import real_data


def named(name: str) -> Data:
    """A data set of the data folder, with X sparse or dense as stored.

    If `WEALD_MADE` is set, as `--made` does, it is generated data of the same shape.
    """
    data_sets.known(name)
    if os.environ.get("WEALD_MADE"):
        replaced.add(name)
        return made_like(data_sets.shapes()[name])
    if reason := real_data.missing(name):
        raise AbsentDataError(f"{reason}; python benches/data.py fetch {name}")
    X, X_test, y, y_test, *_ = load_npz_folder(real_data.root() / name)
    return Data(X, y, X_test, y_test)


def text() -> Data:
    """20newsgroup: 11 314 posts, counts of 130 107 words, 20 classes."""
    return named("20newsgroup")


def delicious() -> Data:
    """delicious: 12 920 bookmarked pages, 500 words, 983 tags."""
    return named("delicious")


def scm20d() -> Data:
    """scm20d: 7 463 days of a supply chain, 61 prices, 16 outputs."""
    return named("scm20d")


def rf1() -> Data:
    """rf1: 6 083 hours of a river network, 64 measurements, 8 flows as outputs; missing values become the mean of their
    column."""
    return filled(named("rf1"))


def one_against_rest() -> Data:
    """20newsgroup, the posts on hockey against all others."""
    data = text()
    return replace(data, y=(data.y == 10).astype(np.float64), y_test=(data.y_test == 10).astype(np.float64))


def smooth(classes: int = 0) -> Data:
    """100 000 samples with 50 independent normal features; y depends on fifteen of them, with noise. 20 000 test
    samples."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120_000, 50)).astype(np.float32)
    y = np.sin(X[:, :10]) @ rng.normal(size=10) + X[:, 10] * X[:, 11] + np.abs(X[:, 12:15]).sum(axis=1)
    y += rng.normal(size=len(y))
    if classes:
        y = (y > np.median(y)).astype(np.float64)
    return Data(X[:100_000], y[:100_000], X[100_000:], y[100_000:])


def continuous(classes: int = 0, n_outputs: int = 1) -> Data:
    """50 000 samples with 30 independent normal features; y depends on ten of them, with noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60_000, 30)).astype(np.float32)
    mix = rng.normal(size=(10, n_outputs))
    y = np.sin(X[:, :10]) @ mix + X[:, [0]] * X[:, [1]] + rng.normal(size=(60_000, n_outputs))
    if classes:
        y = np.digitize(y[:, 0], np.quantile(y[:, 0], np.linspace(0, 1, classes + 1)[1:-1]))
    y = np.ascontiguousarray(y.squeeze())
    return Data(X[:50_000], y[:50_000], X[50_000:], y[50_000:])


def wide_video() -> Data:
    """A generated problem of the size of mediamill: 30 993 samples, 120 features in [0, 1], 101 labels, 4.4 for each
    sample.

    Samples belong to 40 scenes of a 12-dimensional space; features are smooth functions of the position, with noise. A
    sample has a label if a linear score of the position, with noise, is among its largest; the frequency of a label
    decreases with its rank as (r + 2)⁻¹·¹, from 0.62 to 0.008.
    """
    rng = np.random.default_rng(0)
    n_train, n, d = 30_993, 34_000, 101
    place = rng.normal(size=(40, 12))[rng.integers(0, 40, n)] + 0.5 * rng.normal(size=(n, 12))
    X = 1 / (1 + np.exp(-place @ rng.normal(scale=0.5, size=(12, 120)) - 0.5 * rng.normal(size=(n, 120))))
    score = place @ rng.normal(size=(12, d)) + 1.5 * rng.normal(size=(n, d))
    share = np.arange(2.0, d + 2) ** -1.1
    share *= 4.4 / share.sum()
    on = [score[:, j] > np.quantile(score[:, j], 1 - share[j]) for j in range(d)]
    Y = sp.csr_matrix(np.column_stack(on).astype(np.float64))
    return Data(X[:n_train].astype(np.float32), Y[:n_train], X[n_train:].astype(np.float32), Y[n_train:])


def made_like(shape: data_sets.Shape) -> Data:
    """Generated data with as many samples, features, outputs and labels as a real set, as sparse, and with much to
    learn.

    Sparse features are indicators whose frequencies decrease as 1/(rank + 10). Entries that coincide make them store
    somewhat fewer entries than the real set. Dense features are uniform. Each output is a linear score of 60 frequent
    features, with noise; frequencies of labels decrease with their rank.
    """
    rng = np.random.default_rng(0)
    n, p, d = shape.n_train + shape.n_test, shape.p, shape.d
    if shape.sparse:
        share = 1 / np.arange(10.0, p + 10)
        counts = rng.poisson(shape.density * p, n).clip(1, p)
        columns = rng.choice(p, counts.sum(), p=share / share.sum())
        rows = np.repeat(np.arange(n), counts)
        X = sp.csr_matrix((np.ones(len(rows), np.float32), (rows, columns)), shape=(n, p))
        X.data[:] = 1
    else:
        X = rng.random((n, p), dtype=np.float32)
        X[rng.random((n, p)) > shape.density] = 0
    used = rng.permutation(min(p, 600))[:60]
    place = X[:, used].toarray() if shape.sparse else X[:, used]
    score = place @ rng.normal(size=(len(used), max(d, shape.n_classes)))
    score += 0.5 * score.std() * rng.normal(size=score.shape)
    y: Any
    if shape.task == "multilabel":
        on = np.arange(2.0, d + 2) ** -0.8
        on = np.minimum(on * shape.labels_a_sample / on.sum(), 0.9)
        limits = [np.quantile(score[:, j], 1 - on[j]) for j in range(d)]
        y = sp.csr_matrix((score > np.array(limits)).astype(np.float32))
    elif shape.n_classes:
        y = score.argmax(axis=1).astype(np.float32)
    else:
        y = np.ascontiguousarray(score, dtype=np.float32)
    m = shape.n_train
    return Data(X[:m], y[:m], X[m:], y[m:])


def filled(data: Data) -> Data:
    """Missing values of X become the mean of their column in the training part, or 0 if the column has no value."""
    if not np.isnan(data.X).any() and not np.isnan(data.X_test).any():
        return data
    known = ~np.isnan(data.X)
    mean = np.where(known, data.X, 0).sum(axis=0, dtype=np.float64) / np.maximum(known.sum(axis=0), 1)
    X, X_test = (np.where(np.isnan(a), mean, a).astype(np.float32) for a in (data.X, data.X_test))
    return replace(data, X=X, X_test=X_test)


def standard_y(data: Data) -> Data:
    """Outputs with mean 0 and deviation 1 on the training part, so that no output outweighs the others."""
    mean, std = data.y.mean(axis=0, dtype=np.float64), data.y.std(axis=0, dtype=np.float64)
    std[std == 0] = 1
    return replace(data, y=(data.y - mean) / std, y_test=(data.y_test - mean) / std)


def by_row(data: Data) -> Data:
    """X as CSR on both sides, labels as a dense array."""
    return replace(data, X=sp.csr_matrix(data.X), X_test=sp.csr_matrix(data.X_test), y=_dense32(data.y))


def plain(data: Data) -> Data:
    """X dense and row by row on both sides, labels as a dense array."""
    X, X_test = (np.ascontiguousarray(a.toarray() if sp.issparse(a) else a) for a in (data.X, data.X_test))
    return replace(data, X=X, X_test=X_test, y=_dense32(data.y))


def _dense32(y: object) -> np.ndarray:
    return np.asarray(y.toarray() if sp.issparse(y) else y, dtype=np.float32)


def by_column(data: Data) -> Data:
    """Fit on CSC, predict on CSR."""
    return replace(data, X=sp.csc_matrix(data.X), X_test=sp.csr_matrix(data.X_test))


def fortran(data: Data) -> Data:
    return replace(data, X=np.asfortranarray(data.X))


def dense_x(data: Data) -> Data:
    return replace(data, X=np.asfortranarray(data.X.toarray()), X_test=data.X_test.toarray())


def dense_y(data: Data) -> Data:
    """Labels as the numerical outputs of another library's regressor."""
    return replace(data, y=data.y.toarray().astype(np.float64))
