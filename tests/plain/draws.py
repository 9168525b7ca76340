"""Where the values of X come from: one function for each form that people's tables have.

Each takes a generator and a number of samples and returns X, the signal (n,) or (n, d) that y is made of, of mean 0 and
variance about 1 in each column, and the groups of samples that have one signal, or None.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

Rng = np.random.Generator


def scaled(signal: np.ndarray) -> np.ndarray:
    return (signal - signal.mean(axis=0)) / np.maximum(signal.std(axis=0), 1e-12)


def mixed(rng: Rng, parts: np.ndarray, outputs: int | None) -> np.ndarray:
    """Combinations of parts (n, k), one for each output; the first part alone where there is one output."""
    return scaled(parts[:, 0] if outputs is None else parts @ rng.normal(size=(parts.shape[1], outputs)))


def as_categories(X: np.ndarray, how: str) -> Any:
    """Codes as numbers, as categories of pandas, or as texts."""
    if how == "numbers":
        return X.astype(np.float64)
    if how == "onehot":
        return np.hstack([np.eye(int(c.max()) + 1)[c.astype(int)] for c in X.T])
    frame = pd.DataFrame({f"c{j}": [f"v{value}" for value in column] for j, column in enumerate(X.T)})
    return frame.astype("category") if how == "categories" else frame


def codes(
    rng: Rng, n: int, levels: int = 50, outputs: int | None = None, how: str = "numbers", zipf: bool = False
) -> Any:
    """One column of codes, each with an effect of its own."""
    share = 1 / np.arange(1, levels + 1) if zipf else np.ones(levels)
    code = rng.choice(levels, size=n, p=share / share.sum())
    effects = rng.normal(size=(levels, outputs or 1))
    return as_categories(code[:, None], how), scaled(effects[code] if outputs else effects[code, 0]), code


def grid(
    rng: Rng,
    n: int,
    sides: tuple[int, ...] = (10, 10),
    outputs: int | None = None,
    how: str = "numbers",
    sums: bool = False,
) -> Any:
    """A table of codes: each cell has an effect of its own, or the sum of those of its rows and columns."""
    X = np.column_stack([rng.integers(0, side, n) for side in sides])
    cell = np.ravel_multi_index(tuple(X.T), sides)
    if sums:
        effects = [rng.normal(size=(side, outputs or 1)) for side in sides]
        signal = sum(effect[column] for effect, column in zip(effects, X.T, strict=True))
        return as_categories(X, how), scaled(signal if outputs else signal[:, 0]), None
    effects = rng.normal(size=(int(np.prod(sides)), outputs or 1))
    return as_categories(X, how), scaled(effects[cell] if outputs else effects[cell, 0]), cell


def yes_no(
    rng: Rng, n: int, columns: int = 8, sums: bool = False, dtype: Any = np.float64, outputs: int | None = None
) -> Any:
    """Columns of yes and no: each combination has an effect of its own, or each column."""
    X, signal, cell = grid(rng, n, (2,) * columns, outputs, sums=sums)
    return X.astype(dtype), signal, cell


def settings(rng: Rng, n: int, different: int = 60, columns: int = 5, outputs: int | None = None) -> Any:
    """An experiment: some settings, each measured many times."""
    X, signal, _ = smooth(rng, different, columns, outputs=outputs)
    at = rng.integers(0, different, n)
    return X[at], signal[at], at


def smooth(rng: Rng, n: int, columns: int = 8, outputs: int | None = None) -> Any:
    """A curve, a product and a slope in normal columns, four of which count."""
    X = rng.normal(size=(n, max(columns, 4)))
    whole = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3]
    parts = np.column_stack([whole, np.sin(2 * X[:, 0]), X[:, 1] * X[:, 2], X[:, 3], np.abs(X[:, 1])])
    return X, mixed(rng, parts, outputs), None


def line(rng: Rng, n: int, columns: int = 8, outputs: int | None = None, useful: int = 6) -> Any:
    """A linear combination of normal columns."""
    X = rng.normal(size=(n, columns))
    slopes = np.zeros((columns, outputs or 1))
    slopes[:useful] = rng.normal(size=(useful, outputs or 1))
    return X, scaled(X @ slopes if outputs else X @ slopes[:, 0]), None


def squares(rng: Rng, n: int, side: int = 4) -> Any:
    """A chess board in two columns."""
    X = rng.uniform(0, side, size=(n, 2))
    return X, 2.0 * (np.floor(X).sum(axis=1) % 2) - 1, None


def rings(rng: Rng, n: int) -> Any:
    X = rng.normal(size=(n, 2))
    return X, scaled(np.hypot(*X.T)), None


def wave(rng: Rng, n: int) -> Any:
    X = rng.uniform(0, 3, size=(n, 1))
    return X, scaled(np.sin(2 * np.pi * X[:, 0])), None


def series(rng: Rng, n: int, lags: int = 4) -> Any:
    """A series that returns to its mean: the last values, of which the next one follows."""
    shocks, line = rng.normal(size=n + lags), np.zeros(n + lags)
    for t in range(2, n + lags):
        line[t] = 1.2 * line[t - 1] - 0.5 * line[t - 2] + shocks[t]
    X = np.column_stack([line[lag : n + lag] for lag in range(lags)])
    at = rng.permutation(n)
    return X[at], scaled(1.2 * X[:, -1] - 0.5 * X[:, -2])[at], None


def survey(rng: Rng, n: int, questions: int = 12, answers: int = 5, outputs: int | None = None) -> Any:
    """Answers from 1 to 5 that go together, and what they are about."""
    about = rng.normal(size=(n, 3))
    heard = about @ rng.normal(size=(3, questions)) + rng.normal(size=(n, questions))
    X = np.clip(np.round(heard / 2 + (answers + 1) / 2), 1, answers)
    return X.astype(np.int64), mixed(rng, about, outputs), None


def blobs(rng: Rng, n: int, centres: int = 10, columns: int = 6, spread: float = 0.5) -> Any:
    """Clouds of points; the signal is the number of the cloud."""
    at = rng.integers(0, centres, n)
    return rng.normal(size=(centres, columns))[at] + spread * rng.normal(size=(n, columns)), at, None


def pixels(rng: Rng, n: int, pictures: int = 10, side: int = 8, noise: float = 40) -> Any:
    """Pictures of 8-bit pixels; the signal is the number of the picture."""
    drawn = np.kron(rng.integers(0, 256, size=(pictures, side // 2, side // 2)), np.ones((2, 2))).reshape(pictures, -1)
    at = rng.integers(0, pictures, n)
    X = np.clip(drawn[at] * rng.uniform(0.6, 1, size=(n, 1)) + noise * rng.normal(size=(n, side * side)), 0, 255)
    return X.astype(np.uint8), at, None


def texts(
    rng: Rng,
    n: int,
    words: int = 400,
    topics: int = 8,
    length: int = 8,
    different: int | None = None,
    tfidf: bool = False,
) -> Any:
    """Counts of words of short texts, which repeat where only some are different; the signal is the topic."""
    m = different or n
    at = rng.integers(0, topics, m)
    chances = rng.dirichlet(np.full(words, 0.1), size=topics) * 0.7 + 0.3 / words
    X = sparse.csr_array(np.array([rng.multinomial(length, chances[topic]) for topic in at], dtype=np.float64))
    if tfidf:
        seen = np.bincount(X.indices, minlength=words)
        X = X.multiply(np.log((1 + m) / (1 + seen)) + 1).tocsr()
        X = sparse.csr_array(sparse.diags_array(1 / np.sqrt(X.multiply(X).sum(axis=1))) @ X)
    rows = rng.integers(0, m, n) if different else np.arange(n)
    return X[rows], at[rows], rows if different else None


def wide(rng: Rng, n: int, columns: int = 800, share: float = 0.02, useful: int = 20) -> Any:
    """Many sparse columns, some of which count."""
    X = sparse.csr_array((rng.random((n, columns)) < share) * rng.exponential(size=(n, columns)))
    slopes = rng.normal(size=useful)
    first = sparse.csr_array((rng.random((n, useful)) < 0.2).astype(np.float64))
    X = sparse.csr_array(sparse.hstack([first, X]))
    return X, scaled(first @ slopes), None


def dates(rng: Rng, n: int, dtype: str = "days") -> Any:
    """A day, an hour and a shop: the season, the day of the week and the hour count."""
    day, hour, shop = rng.integers(0, 1400, n), rng.integers(0, 24, n), rng.integers(0, 8, n)
    signal = np.sin(day / 365 * 2 * np.pi) + 0.5 * np.cos(hour / 24 * 2 * np.pi) + 0.3 * rng.normal(size=8)[shop]
    when = pd.Timestamp("2021-01-01") + pd.to_timedelta(day, "D") + pd.to_timedelta(hour, "h")
    if dtype == "seconds":
        return np.column_stack([when.astype("datetime64[s]").astype(np.int64), hour, shop]), scaled(signal), None
    X = pd.DataFrame({"day": day, "weekday": when.day_name(), "month": when.month, "hour": hour, "shop": shop})
    return X, scaled(signal), None


def customers(rng: Rng, n: int, nullable: bool = False, missing: float = 0.1, outputs: int | None = None) -> Any:
    """Numbers, categories and yes or no in one frame, some of them missing."""
    age, income = rng.integers(18, 90, n).astype(np.float64), rng.lognormal(10, 1, n)
    town, job, owner = rng.integers(0, 40, n), rng.integers(0, 6, n), rng.random(n) < 0.3
    parts = [np.log(income) - 10, 0.03 * (age - 50), rng.normal(size=40)[town], rng.normal(size=6)[job], 1.0 * owner]
    signal = mixed(rng, np.column_stack([sum(parts), *parts]), outputs)
    X = pd.DataFrame({"age": age, "income": income, "town": town, "job": job, "owner": owner})
    X["town"] = ("town " + X["town"].astype(str)).astype("category")
    X["job"] = ("job " + X["job"].astype(str)).astype("category")
    X["age"] = X["age"].where(rng.random(n) >= missing)
    X["job"] = X["job"].where(rng.random(n) >= missing)
    if nullable:
        X = X.astype({"age": "Int64", "income": "Float64", "owner": "boolean"})
    return X, signal, None


def changed(rng: Rng, n: int, draw: Any = smooth, change: str = "", to: float = 0.0, **options: Any) -> Any:
    """What `draw` gives, with X written in another way."""
    X, signal, groups = draw(rng, n, **options)
    return CHANGES[change](rng, X, signal, to), signal, groups


def missing_where(X: np.ndarray, unknown: np.ndarray) -> np.ndarray:
    return np.where(unknown, np.nan, X)


CHANGES: dict[str, Any] = {
    "plus": lambda rng, X, signal, to: X + to,
    "times": lambda rng, X, signal, to: X * to,
    "units": lambda rng, X, signal, to: X * 10.0 ** np.linspace(-to, to, X.shape[1]),
    "dtype float16": lambda rng, X, signal, to: X.astype(np.float16),
    "float32 plus": lambda rng, X, signal, to: (X + to).astype(np.float32),
    "rounded": lambda rng, X, signal, to: np.round(X / to) * to,
    "integers": lambda rng, X, signal, to: np.round(X * to).astype(np.int32),
    "exponential": lambda rng, X, signal, to: np.exp(to * X),
    "missing": lambda rng, X, signal, to: missing_where(X, rng.random(X.shape) < to),
    "missing above": lambda rng, X, signal, to: missing_where(X, to < X),
    "constants": lambda rng, X, signal, to: np.hstack([X, np.full((len(X), 3), to), np.zeros((len(X), 2))]),
    "only constants": lambda rng, X, signal, to: np.full_like(X, to),
    "seldom": lambda rng, X, signal, to: (to < X).astype(np.int64),
    "twice": lambda rng, X, signal, to: np.hstack([X, X, X]),
    "ids": lambda rng, X, signal, to: np.column_stack([rng.permutation(len(X)) + to, X]),
    "leak": lambda rng, X, signal, to: np.column_stack([X, signal]),
    "zeros": lambda rng, X, signal, to: np.where(rng.random(X.shape) < to, 0.0, X),
    "negative zeros": lambda rng, X, signal, to: np.where(
        np.abs(X) < to, np.where(rng.random(X.shape) < 0.5, 0.0, -0.0), X
    ),
    "outliers": lambda rng, X, signal, to: np.where(rng.random(X.shape) < 0.01, to, X),
    "reversed": lambda rng, X, signal, to: X[:, ::-1],
    "fortran": lambda rng, X, signal, to: np.asfortranarray(X),
    "sparse": lambda rng, X, signal, to: sparse.csr_array(np.where(rng.random(X.shape) < to, 0.0, X)),
    "more columns": lambda rng, X, signal, to: np.hstack([X, rng.normal(size=(len(X), int(to)))]),
}
