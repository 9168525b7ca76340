"""Tables whose y is a number, or several."""

from __future__ import annotations

from typing import Any

import numpy as np

from plain.draws import (
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
    wide,
    yes_no,
)
from plain.tables import Spec, by_y, spec

Rng = np.random.Generator


def values(
    rng: Rng,
    n: int,
    x: Any = smooth,
    noise: float = 0.3,
    form: str = "",
    by: float = 1.0,
    weight: str = "",
    **options: Any,
) -> Any:
    """The signal with noise, in the form of y that the table has."""
    X, signal, groups = x(rng, n, **options)
    y = FORMS[form](rng, signal + noise * rng.normal(size=signal.shape), by)
    return (X, y, groups, WEIGHTS[weight](rng, n)) if weight else (X, y, groups)


def topics(rng: Rng, n: int, x: Any = texts, noise: float = 0.3, **options: Any) -> Any:
    """A value for each topic or picture."""
    X, at, groups = x(rng, n, **options)
    return X, rng.normal(size=int(at.max()) + 1)[at] + noise * rng.normal(size=n), groups


FORMS: dict[str, Any] = {
    "": lambda rng, y, by: y,
    "plus": lambda rng, y, by: y + by,
    "times": lambda rng, y, by: y * by,
    "one times": lambda rng, y, by: y * np.where(np.arange(y.shape[1]) == 1, by, 1.0),
    "noise": lambda rng, y, by: rng.normal(size=y.shape),
    "constant": lambda rng, y, by: np.full_like(y, by),
    "counts": lambda rng, y, by: rng.poisson(np.exp(y / 2) * by),
    "zeros": lambda rng, y, by: np.where(rng.random(y.shape) < by, 0.0, np.exp(y)),
    "below zero is zero": lambda rng, y, by: np.maximum(y - by, 0.0),
    "log-normal": lambda rng, y, by: np.exp(by * y),
    "heavy tails": lambda rng, y, by: y + by * rng.standard_t(2.5, size=y.shape),
    "rounded": lambda rng, y, by: np.round(y / by) * by,
    "marks": lambda rng, y, by: np.clip(np.round(y + 3), 1, 5).astype(np.int64),
    "zero or one": lambda rng, y, by: (y > 0).astype(np.float64),
    "spread": lambda rng, y, by: y + by * rng.normal(size=y.shape) * (1 + y**2) / 2,
    "float32": lambda rng, y, by: y.astype(np.float32),
}
WEIGHTS: dict[str, Any] = {
    "0.7": lambda rng, n: np.full(n, 0.7),
    "1/n": lambda rng, n: np.full(n, 2 / n),
    "1e-6": lambda rng, n: np.full(n, 1e-6),
    "1e6": lambda rng, n: np.full(n, 1e6),
    "counts": lambda rng, n: rng.integers(1, 6, n).astype(np.float64),
    "fractions": lambda rng, n: rng.uniform(0.1, 2, n),
    "half zero": lambda rng, n: (rng.random(n) < 0.5).astype(np.float64),
}


def several(x: Any, outputs: int, train: int = 600, **options: Any) -> Spec:
    return spec(values, train, 600, x=x, outputs=outputs, **options)


TABLES: dict[str, Spec] = {
    "numbers: 50 codes": spec(values, x=codes),
    "numbers: 50 codes, no noise": spec(values, x=codes, noise=0),
    "numbers: 50 codes as categories": spec(values, x=codes, how="categories"),
    "numbers: 50 codes as texts": spec(values, x=codes, how="texts"),
    "numbers: 50 codes, much noise": spec(values, x=codes, noise=2, train=2000),
    "numbers: 50 codes as 50 columns": spec(values, x=codes, how="onehot"),
    "numbers: 5 codes": spec(values, x=codes, levels=5),
    "numbers: 150 codes": spec(values, x=codes, levels=150, train=1500),
    "numbers: 300 codes as categories": spec(values, x=codes, levels=300, how="categories", train=1500),
    "numbers: 1000 codes as categories": spec(values, x=codes, levels=1000, how="categories", train=2000),
    "numbers: 100 codes, some rare": spec(values, x=codes, levels=100, zipf=True, how="categories"),
    "numbers: 10 x 10 codes": spec(values, x=grid),
    "numbers: 10 x 10 codes as categories": spec(values, x=grid, how="categories"),
    "numbers: 20 x 20 codes, sums": spec(values, x=grid, sides=(20, 20), sums=True),
    "numbers: 20 x 20 codes as categories, sums": spec(values, x=grid, sides=(20, 20), sums=True, how="categories"),
    "numbers: 4 x 5 x 6 codes": spec(values, x=grid, sides=(4, 5, 6)),
    "numbers: 8 yes or no": spec(values, x=yes_no),
    "numbers: 8 yes or no, sums": spec(values, x=yes_no, sums=True, dtype=bool),
    "numbers: 3 yes or no": spec(values, x=yes_no, columns=3, train=200),
    "numbers: 16 yes or no, sums": spec(values, x=yes_no, columns=16, sums=True, dtype=np.int8),
    "numbers: 60 settings with replicates": spec(values, x=settings),
    "numbers: 12 settings with replicates": spec(values, x=settings, different=12, columns=3, train=120),
    "numbers: 200 settings, no noise": spec(values, x=settings, different=200, noise=0),
    "numbers: every row five times": spec(values, 300, repeat=5),
    "numbers: every row five times, no noise": spec(values, 300, repeat=5, noise=0),
    "numbers: every row twice": spec(values, 800, repeat=2),
    "numbers: 300 rows many times": spec(values, x=settings, different=300, columns=8, train=1500),
    "numbers: rounded to halves": spec(values, x=changed, change="rounded", to=0.5),
    "numbers: rounded to whole": spec(values, x=changed, change="rounded", to=1.0),
    "numbers: whole numbers": spec(values, x=changed, change="integers", to=100),
    "numbers: a survey": spec(values, x=survey),
    "numbers: a survey of three questions": spec(values, x=survey, questions=3, noise=0.5),
    "numbers: a survey with marks": spec(values, x=survey, form="marks", noise=0.5),
    "numbers: X plus 1e6": spec(values, x=changed, change="plus", to=1e6),
    "numbers: X plus 1e6 as float32": spec(values, x=changed, change="float32 plus", to=1e6),
    "numbers: y plus 1e6": spec(values, form="plus", by=1e6),
    "numbers: 50 codes, y plus 1e6": spec(values, x=codes, form="plus", by=1e6),
    "numbers: X in 1e-9": spec(values, x=changed, change="times", to=1e-9),
    "numbers: X in 1e12": spec(values, x=changed, change="times", to=1e12),
    "numbers: columns in units from 1e-9 to 1e9": spec(values, x=changed, change="units", to=9),
    "numbers: y in 1e-9": spec(values, form="times", by=1e-9),
    "numbers: y in 1e12": spec(values, form="times", by=1e12),
    "numbers: 50 codes, y in 1e-9": spec(values, x=codes, form="times", by=1e-9),
    "numbers: one y 1e9 times the others": several(smooth, 3, form="one times", by=1e9),
    "numbers: one of 30 y 1e9 times the others": several(smooth, 30, form="one times", by=1e9),
    "numbers: counts": spec(values, form="counts", noise=0),
    "numbers: large counts": spec(values, form="counts", noise=0, by=300),
    "numbers: rare counts": spec(values, form="counts", noise=0, by=0.1, train=2000),
    "numbers: half of y are zeros": spec(values, x=line, form="zeros", by=0.5, train=2000),
    "numbers: y is never below zero": spec(values, form="below zero is zero", by=0.5),
    "numbers: log-normal y": spec(values, x=line, form="log-normal"),
    "numbers: log-normal X": spec(values, x=changed, change="exponential", to=2),
    "numbers: heavy tails": spec(values, form="heavy tails", by=0.5, test=3000),
    "numbers: noise that grows": spec(values, form="spread", by=0.3),
    "numbers: half missing": spec(values, x=changed, change="missing", to=0.5),
    "numbers: missing where large": spec(values, x=changed, change="missing above", to=0.5),
    "numbers: sorted by y": spec(values, order=by_y),
    "numbers: 50 codes sorted by y": spec(values, x=codes, order=by_y),
    "numbers: a constant y": spec(values, form="constant", by=7.3),
    "numbers: a constant large y": spec(values, form="constant", by=1e12),
    "numbers: constant columns": spec(values, x=changed, change="constants", to=5),
    "numbers: only constant columns": spec(values, x=changed, change="only constants", to=5),
    "numbers: more columns than rows": spec(values, 100, x=line, columns=300, useful=3),
    "numbers: many useless columns": spec(values, 500, x=changed, change="more columns", to=100),
    "numbers: 24 samples": spec(values, 24, x=line, columns=3, useful=3),
    "numbers: 24 samples of 4 codes": spec(values, 24, x=codes, levels=4),
    "numbers: 48 samples": spec(values, 48, x=line, columns=4, useful=4),
    "numbers: 100 samples": spec(values, 100),
    "numbers: 200 samples": spec(values, 200),
    "numbers: 100 samples of 10 codes": spec(values, 100, x=codes, levels=10, how="categories"),
    "numbers: 5000 samples": spec(values, 5000),
    "numbers: no noise": spec(values, noise=0),
    "numbers: a line without noise": spec(values, x=line, noise=0),
    "numbers: a line": spec(values, x=line),
    "numbers: only noise": spec(values, form="noise"),
    "numbers: only noise in 50 codes": spec(values, x=codes, form="noise"),
    "numbers: only noise in 60 samples": spec(values, 60, form="noise"),
    "numbers: dates": spec(values, x=dates),
    "numbers: seconds since 1970": spec(values, x=dates, dtype="seconds"),
    "numbers: short texts that repeat": spec(topics, different=150),
    "numbers: short texts": spec(topics, tfidf=True),
    "numbers: pixels": spec(topics, x=pixels),
    "numbers: wide and sparse": spec(values, x=wide),
    "numbers: half zeros": spec(values, x=changed, change="zeros", to=0.5),
    "numbers: half zeros, sparse": spec(values, x=changed, change="sparse", to=0.5),
    "numbers: float16": spec(values, x=changed, change="dtype float16"),
    "numbers: y as float32": spec(values, form="float32"),
    "numbers: negative zeros": spec(values, x=changed, change="negative zeros", to=0.5),
    "numbers: with an identifier": spec(values, x=changed, change="ids", to=1e7),
    "numbers: each column three times": spec(values, x=changed, change="twice"),
    "numbers: a column that knows y": spec(values, x=changed, change="leak", noise=0.0),
    "numbers: outliers in X": spec(values, x=changed, change="outliers", to=1e15),
    "numbers: columns in the order of Fortran": spec(values, x=changed, change="fortran"),
    "numbers: a chess board": spec(values, x=squares),
    "numbers: rings": spec(values, x=rings),
    "numbers: zero or one": spec(values, form="zero or one"),
    "numbers: rounded y": spec(values, form="rounded", by=0.5),
    "numbers: customers": spec(values, x=customers, train=1500),
    "numbers: customers with nullable columns": spec(values, x=customers, nullable=True, train=1500),
    "numbers: 2 of 50 codes": several(codes, 2),
    "numbers: 5 of a line": several(line, 5),
    "numbers: 12 of 50 codes": several(codes, 12),
    "numbers: 12 smooth": several(smooth, 12),
    "numbers: 30 of 50 codes": several(codes, 30),
    "numbers: 30 of 60 settings": several(settings, 30),
    "numbers: 150 of 50 codes": several(codes, 150),
    "numbers: 150 smooth": several(smooth, 150),
    "numbers: 12 of 8 yes or no": several(yes_no, 12),
    "numbers: 12 of 100 samples": several(line, 12, train=100),
    "numbers: weights of 0.7": spec(values, weight="0.7"),
    "numbers: weights of 1/n": spec(values, weight="1/n"),
    "numbers: weights of 1e-6": spec(values, weight="1e-6"),
    "numbers: weights of 1e6": spec(values, weight="1e6"),
    "numbers: weights from 1 to 5": spec(values, weight="counts"),
    "numbers: weights that are fractions": spec(values, weight="fractions"),
    "numbers: 50 codes, weights of 0.7": spec(values, x=codes, weight="0.7"),
    "numbers: 50 codes, weights from 1 to 5": spec(values, x=codes, weight="counts"),
    "numbers: half of the weights are zero": spec(values, 2000, weight="half zero"),
}  # fmt: skip
