"""Tables whose y is a class."""

from __future__ import annotations

from typing import Any

import numpy as np

from plain.draws import (
    blobs,
    changed,
    codes,
    customers,
    dates,
    grid,
    line,
    pixels,
    rings,
    settings,
    smooth,
    squares,
    survey,
    texts,
    wave,
    wide,
    yes_no,
)
from plain.of_numbers import WEIGHTS
from plain.tables import Spec, by_y, spec

Rng = np.random.Generator


def cut(
    rng: Rng,
    n: int,
    x: Any = smooth,
    k: int = 2,
    noise: float = 0.3,
    rare: float | None = None,
    flipped: float = 0.0,
    names: str = "",
    weight: str = "",
    **options: Any,
) -> Any:
    """Classes by where the signal with noise lies, as many of each, or few of the last one; some are drawn anew."""
    X, signal, groups = x(rng, n, **options)
    noisy = signal + noise * rng.normal(size=n)
    edges = np.quantile(noisy, [1 - rare] if rare else np.arange(1, k) / k)
    return named(rng, X, np.digitize(noisy, edges), groups, flipped, names, weight)


def kinds(
    rng: Rng, n: int, x: Any = blobs, flipped: float = 0.0, names: str = "", weight: str = "", **options: Any
) -> Any:
    """The class is the number of the cloud, the picture or the topic."""
    X, at, groups = x(rng, n, **options)
    return named(rng, X, at, groups, flipped, names, weight)


def of_code(
    rng: Rng,
    n: int,
    levels: int = 50,
    k: int = 2,
    sure: float = 0.85,
    how: str = "numbers",
    names: str = "",
    sides: tuple[int, ...] = (),
    weight: str = "",
) -> Any:
    """Each code, or cell of a table of codes, has a class that most of its samples have."""
    X, _, code = grid(rng, n, sides, how=how) if sides else codes(rng, n, levels, how=how)
    most = rng.permutation(np.arange(code.max() + 1) % k)
    return named(rng, X, most[code], code, (1 - sure) * k / (k - 1) if k > 1 else 0.0, names, weight)


def noise(rng: Rng, n: int, x: Any = smooth, k: int = 2, **options: Any) -> Any:
    X, _, groups = x(rng, n, **options)
    return X, rng.integers(0, k, n), groups


def named(rng: Rng, X: Any, y: np.ndarray, groups: Any, flipped: float, names: str, weight: str) -> Any:
    y = np.where(rng.random(len(y)) < flipped, rng.integers(0, int(y.max()) + 1, len(y)), y)
    y = {
        "texts": lambda: np.array([f"class {c}" for c in y]),
        "bool": lambda: y > 0,
        "odd": lambda: 7 - 3 * y,
        "": lambda: y,
    }[names]()
    return (X, y, groups, WEIGHTS[weight](rng, len(y))) if weight else (X, y, groups)


TABLES: dict[str, Spec] = {
    "classes: 2 of 50 codes": spec(of_code),
    "classes: 2 of 50 codes as categories": spec(of_code, how="categories"),
    "classes: 2 of 50 codes as texts": spec(of_code, how="texts", names="texts"),
    "classes: 2 of 50 codes, no noise": spec(of_code, sure=1.0),
    "classes: 2 of 50 codes as 50 columns": spec(of_code, how="onehot"),
    "classes: 2 of 300 codes as categories": spec(of_code, levels=300, how="categories", train=1500),
    "classes: 2 of 1000 codes as categories": spec(of_code, levels=1000, how="categories", train=2000),
    "classes: 3 of 50 codes": spec(of_code, k=3),
    "classes: 2 of 50 codes, five samples each": spec(of_code, 250),
    "classes: 2 of 20 codes in 60 samples": spec(of_code, 60, levels=20, how="categories"),
    "classes: 100 codes, some rare": spec(cut, x=codes, levels=100, zipf=True, how="categories", k=3),
    "classes: 10 of 30 codes as categories": spec(of_code, levels=30, k=10, how="categories"),
    "classes: 60 of 60 codes": spec(of_code, levels=60, k=60, train=1500),
    "classes: 60 of 60 codes as 60 columns": spec(of_code, levels=60, k=60, how="onehot", train=1500),
    "classes: 2 of 10 x 10 codes": spec(of_code, sides=(10, 10)),
    "classes: 5 of 10 x 10 codes as categories": spec(of_code, sides=(10, 10), k=5, how="categories"),
    "classes: 20 x 20 codes, sums": spec(cut, x=grid, sides=(20, 20), sums=True, how="categories"),
    "classes: 2 of 8 yes or no": spec(of_code, sides=(2,) * 8),
    "classes: 8 yes or no, sums": spec(cut, x=yes_no, sums=True, dtype=bool, names="bool"),
    "classes: 16 yes or no, sums": spec(cut, x=yes_no, columns=16, sums=True, k=3),
    "classes: 60 settings with replicates": spec(cut, x=settings),
    "classes: 5 of 60 settings": spec(cut, x=settings, k=5),
    "classes: 12 settings with replicates": spec(cut, x=settings, different=12, columns=3, train=120),
    "classes: 100 subjects, no noise": spec(cut, x=settings, different=100, noise=0),
    "classes: every row five times": spec(cut, 300, repeat=5),
    "classes: every row five times, no noise": spec(cut, 300, repeat=5, noise=0),
    "classes: every row twice, 4 classes": spec(cut, 800, repeat=2, k=4),
    "classes: rounded to halves": spec(cut, x=changed, change="rounded", to=0.5),
    "classes: a survey": spec(cut, x=survey, k=3),
    "classes: a survey of three questions": spec(cut, x=survey, questions=3, noise=0.5),
    "classes: rare, 5 %": spec(cut, 2000, 5000, rare=0.05),
    "classes: rare, 2 %": spec(cut, 2000, 6000, rare=0.02),
    "classes: rare, 1 %": spec(cut, 3000, 8000, rare=0.01),
    "classes: rare, 0.5 %": spec(cut, 4000, 12000, rare=0.005),
    "classes: rare, 1 % of a line": spec(cut, 3000, 8000, x=line, rare=0.01),
    "classes: rare, 2 % in 50 codes": spec(cut, 2000, 6000, x=codes, rare=0.02, noise=0.1),
    "classes: rare, 2 % of categories": spec(cut, 2000, 6000, x=grid, how="categories", rare=0.02, noise=0.1),
    "classes: rare, 5 % of 100 samples": spec(cut, 100, 5000, x=line, columns=4, useful=4, rare=0.05),
    "classes: rare, 2 % of a survey": spec(cut, 2000, 6000, x=survey, rare=0.02),
    "classes: rare, one in 200 by chance": spec(cut, 4000, 12000, x=line, rare=0.005, noise=1),
    "classes: X plus 1e6": spec(cut, x=changed, change="plus", to=1e6),
    "classes: a line, X plus 1e6": spec(cut, x=changed, draw=line, change="plus", to=1e6),
    "classes: X in 1e-9": spec(cut, x=changed, change="times", to=1e-9),
    "classes: X in 1e12": spec(cut, x=changed, change="times", to=1e12),
    "classes: a line, columns in units from 1e-6 to 1e6": spec(cut, x=changed, draw=line, change="units", to=6),
    "classes: log-normal X": spec(cut, x=changed, change="exponential", to=2, k=3),
    "classes: half missing": spec(cut, x=changed, change="missing", to=0.5),
    "classes: missing where large": spec(cut, x=changed, change="missing above", to=0.5, k=3),
    "classes: sorted by y": spec(cut, order=by_y, k=3),
    "classes: 50 codes sorted by y": spec(of_code, order=by_y),
    "classes: constant columns": spec(cut, x=changed, change="constants", to=5),
    "classes: only constant columns": spec(cut, x=changed, change="only constants", to=5, k=3),
    "classes: more columns than rows": spec(cut, 100, x=line, columns=300, useful=3),
    "classes: 24 samples": spec(cut, 24, x=line, columns=3, useful=3),
    "classes: 24 samples, 3 classes": spec(kinds, 24, centres=3, columns=3),
    "classes: 48 samples of 4 codes": spec(of_code, 48, levels=4),
    "classes: 100 samples": spec(cut, 100, x=line, k=3, columns=4, useful=4),
    "classes: 200 samples": spec(cut, 200),
    "classes: 5000 samples": spec(cut, 5000),
    "classes: 5000 samples, 7 classes": spec(cut, 5000, k=7),
    "classes: no noise": spec(cut, noise=0),
    "classes: a line": spec(cut, x=line),
    "classes: a line without noise": spec(cut, x=line, noise=0),
    "classes: a line with much noise": spec(cut, 2000, x=line, noise=2),
    "classes: one in ten is wrong": spec(cut, flipped=0.2),
    "classes: only noise": spec(noise),
    "classes: only noise in 50 codes": spec(noise, x=codes),
    "classes: only noise, 10 classes": spec(noise, k=10),
    "classes: dates": spec(cut, x=dates),
    "classes: seconds since 1970": spec(cut, x=dates, dtype="seconds", k=3),
    "classes: short texts that repeat": spec(kinds, x=texts, different=150),
    "classes: short texts": spec(kinds, x=texts, tfidf=True),
    "classes: two topics": spec(kinds, x=texts, topics=2, length=4, names="odd"),
    "classes: pixels": spec(kinds, 300, x=pixels),
    "classes: pixels, 2 classes": spec(kinds, x=pixels, pictures=2, noise=120),
    "classes: wide and sparse": spec(cut, x=wide),
    "classes: half zeros, sparse": spec(cut, x=changed, draw=line, change="sparse", to=0.5),
    "classes: 10 clouds": spec(kinds),
    "classes: 60 clouds": spec(kinds, centres=60, columns=10, train=2000),
    "classes: 10 clouds plus 1e6": spec(kinds, x=changed, draw=blobs, change="plus", to=1e6),
    "classes: float16": spec(cut, x=changed, change="dtype float16"),
    "classes: with an identifier": spec(cut, x=changed, change="ids", to=1e7),
    "classes: each column three times": spec(cut, x=changed, draw=line, change="twice"),
    "classes: a column that knows y": spec(cut, x=changed, change="leak", noise=0.0),
    "classes: outliers in X": spec(cut, x=changed, change="outliers", to=1e15),
    "classes: a chess board": spec(cut, x=squares),
    "classes: one class": spec(cut, 100, k=1),
    "classes: one column": spec(cut, 300, x=wave),
    "classes: seven marks": spec(cut, x=survey, k=7),
    "classes: 200 columns that are seldom yes": spec(cut, x=changed, draw=line, columns=200, useful=30, change="seldom", to=1.5),
    "classes: rings": spec(cut, x=rings, k=3),
    "classes: customers": spec(cut, x=customers, train=1500, names="texts"),
    "classes: customers with nullable columns": spec(cut, x=customers, nullable=True, train=1500, k=4),
    "classes: weights of 0.7": spec(cut, weight="0.7"),
    "classes: weights of 1/n": spec(cut, weight="1/n"),
    "classes: weights of 1e-6": spec(cut, weight="1e-6", k=3),
    "classes: weights from 1 to 5": spec(cut, weight="counts"),
    "classes: 50 codes, weights of 0.7": spec(of_code, weight="0.7"),
    "classes: 50 codes, weights from 1 to 5": spec(of_code, weight="counts"),
}  # fmt: skip
