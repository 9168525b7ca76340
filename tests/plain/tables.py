"""What a plain table is, and how models take it."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

Draw = Callable[..., tuple[Any, ...]]


@dataclass(frozen=True)
class Table:
    """The samples of a table, of which models see the first part."""

    X: Any
    y: Any
    X_test: Any
    y_test: Any
    weight: np.ndarray | None = None
    groups: np.ndarray | None = None
    groups_test: np.ndarray | None = None
    """What a mean by groups goes by, where there is something of the kind: one code for each sample."""

    def encoded(self) -> Table:
        """Categories as columns of zeros and ones, and what is missing as the mean, as linear models and distances need it."""
        if sparse.issparse(self.X):
            return self
        both = pd.DataFrame(self.X) if not isinstance(self.X, pd.DataFrame) else self.X
        both = pd.concat([both, pd.DataFrame(self.X_test, columns=both.columns)], ignore_index=True)
        both = pd.get_dummies(both, dtype=np.float64).astype(np.float64)
        both = both.fillna(both.mean()).fillna(0.0).to_numpy()
        return Table(both[: len(self.X)], self.y, both[len(self.X) :], self.y_test, self.weight)

    def coded(self) -> Table:
        """Categories as their numbers."""
        return Table(numbers(self.X), self.y, numbers(self.X_test), self.y_test, self.weight)

    def mark(self) -> float:
        """A number by which tests know that peers have seen the same samples."""
        y = self.y.toarray() if sparse.issparse(self.y) else np.asarray(self.y)
        if y.dtype.kind not in "biuf":
            y = np.unique(y, return_inverse=True)[1]
        columns = y.reshape(len(y), -1).astype(np.float64)
        x = self.X.sum(axis=1) if sparse.issparse(self.X) else np.nan_to_num(numbers(self.X)).sum(axis=1)
        places = np.cos(np.arange(len(y)))
        return float(places @ columns.sum(axis=1) + places @ np.asarray(x, dtype=np.float64).ravel())


def numbers(X: Any) -> Any:
    if not isinstance(X, pd.DataFrame):
        return X
    names = [name for name in X if not pd.api.types.is_numeric_dtype(X[name])]
    codes = {name: X[name].astype("category").cat.codes.astype(np.float64) for name in names}
    return X.assign(**codes).astype(np.float64).to_numpy()


@dataclass(frozen=True)
class Spec:
    """A row of the list of tables: what is drawn, how many of its samples train, and what is done to them afterwards."""

    draw: Draw
    options: Mapping[str, Any]
    train: int = 1000
    test: int = 1000
    repeat: int = 1
    """How often each training sample stands in the table."""
    order: Callable[[Table], np.ndarray] | None = None

    def table(self, name: str) -> Table:
        rng = np.random.default_rng(zlib.crc32(name.encode()))
        drawn = self.draw(rng, self.train + self.test, **self.options)
        X, y, groups = (*drawn, None)[:3]
        here = np.repeat(np.arange(self.train), self.repeat)
        there = np.arange(self.train, self.train + self.test)
        seen = Table(take(X, here), take(y, here), take(X, there), take(y, there))
        if self.order is not None:
            here = here[self.order(seen)]
        known = [None, None] if groups is None else [np.asarray(groups)[here], np.asarray(groups)[there]]
        weight = drawn[3][here] if len(drawn) > 3 else None
        return Table(take(X, here), take(y, here), seen.X_test, seen.y_test, weight, *known)


def take(rows: Any, positions: np.ndarray) -> Any:
    return rows.iloc[positions].reset_index(drop=True) if isinstance(rows, pd.DataFrame) else rows[positions]


def spec(
    draw: Draw, /, train: int = 1000, test: int = 1000, *, repeat: int = 1, order: Any = None, **options: Any
) -> Spec:
    return Spec(draw, options, train, test, repeat, order)


def by_y(table: Table) -> np.ndarray:
    """The order of y: of its first column, where there are several."""
    y = np.asarray(table.y)
    return np.argsort(y if y.ndim == 1 else y[:, 0], kind="stable")


@cache
def everything() -> dict[str, tuple[str, Spec]]:
    """All tables: the kind of y, and the row of the list."""
    from plain import of_classes, of_labels, of_numbers

    lists = {"numbers": of_numbers.TABLES, "classes": of_classes.TABLES, "labels": of_labels.TABLES}
    return {name: (kind, row) for kind, rows in lists.items() for name, row in rows.items()}


@cache
def load(name: str) -> Table:
    return everything()[name][1].table(name)
