"""What predictions are judged by. Larger is better in each score, and .05 less than the best peer of its kind is a failure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import average_precision_score, f1_score, label_ranking_average_precision_score

from plain.tables import Table

BEHIND = 0.05
LEVELS = (0.1, 0.5, 0.9)
# The share of the rarest of two classes up to which its average precision counts.
RARE = 0.06


@dataclass
class Predicted:
    """What a model says about the test samples; each kind of score reads some of it."""

    values: Any = None
    """Numbers (n,) or (n, d), classes (n,), or labels (n, d)."""
    chances: Any = None
    """Chances of classes or labels, or other scores of labels."""
    classes: Any = None
    quantiles: Any = None
    low: Any = None
    high: Any = None
    sets: Any = None
    warned: list[str] = field(default_factory=list)


def of_numbers(table: Table, said: Predicted) -> dict[str, float]:
    """The mean r² of the outputs; that of a constant is 1 if it is predicted to ten digits, and 0 otherwise."""
    y, p = np.asarray(table.y_test, dtype=np.float64), np.asarray(said.values, dtype=np.float64)
    y, p = y.reshape(len(y), -1), p.reshape(len(p), -1)
    error, spread = ((y - p) ** 2).mean(axis=0), y.var(axis=0)
    constant = spread <= 1e-24 * (y**2).mean(axis=0)
    exact = error <= 1e-20 * (y**2).mean(axis=0)
    return {"r2": float(np.where(constant, exact, 1 - error / np.where(constant, 1.0, spread)).mean())}


def of_classes(floor: float) -> Callable[[Table, Predicted], dict[str, float]]:
    """Accuracy, minus the mean log loss in nats with chances of at least `floor`, and the average precision of a rare class.

    Chances of forests are often zero, and one more such sample would then decide; so their floor is higher.
    """

    def scores(table: Table, said: Predicted) -> dict[str, float]:
        y = np.asarray(table.y_test)
        found = {"accuracy": float((np.asarray(said.values) == y).mean())}
        if said.chances is None:
            return found
        chances, classes = np.asarray(said.chances, dtype=np.float64), list(said.classes)
        place = np.array([classes.index(c) if c in classes else -1 for c in y.tolist()])
        right = np.where(place < 0, 0.0, chances[np.arange(len(y)), place])
        found["log loss"] = float(np.log(np.clip(right, floor, 1.0)).mean())
        shares = [(np.asarray(table.y) == c).mean() for c in classes]
        if len(classes) == 2 and min(shares) <= RARE:
            rare = int(np.argmin(shares))
            found["average precision"] = float(average_precision_score(y == classes[rare], chances[:, rare]))
        return found

    return scores


def dense(Y: Any) -> np.ndarray:
    return Y.toarray() if sparse.issparse(Y) else np.asarray(Y)


def of_labels(table: Table, said: Predicted) -> dict[str, float]:
    """Micro F1, and where there are scores their label ranking average precision."""
    Y = dense(table.y_test)
    found = {"micro F1": float(f1_score(Y, dense(said.values), average="micro", zero_division=0))}
    if said.chances is not None:
        some = Y.any(axis=1)
        found["LRAP"] = float(label_ranking_average_precision_score(Y[some], dense(said.chances)[some]))
    return found


def of_chances(table: Table, said: Predicted) -> dict[str, float]:
    """As of labels, and minus the mean log loss of a label, in nats, with chances of at least .001."""
    found, Y = of_labels(table, said), dense(table.y_test)
    if said.chances is not None:
        right = np.where(Y == 1, dense(said.chances), 1 - dense(said.chances))
        found["log loss"] = float(np.log(np.clip(right, 1e-3, 1)).mean())
    return found


def of_thresholds(table: Table, said: Predicted) -> dict[str, float]:
    """Micro F1 and the mean F1 of labels."""
    Y = dense(table.y_test)
    return {
        f"{mean} F1": float(f1_score(Y, dense(said.values), average=mean, zero_division=0))
        for mean in ("micro", "macro")
    }


def of_quantiles(table: Table, said: Predicted) -> dict[str, float]:
    """One minus the mean pinball loss as a share of that of the quantiles of the training samples; of a constant, as r²."""
    y = np.asarray(table.y_test, dtype=np.float64)
    constant = np.quantile(np.asarray(table.y, dtype=np.float64), LEVELS)
    loss, plain = pinball(y, np.asarray(said.quantiles, dtype=np.float64)), pinball(y, constant[None, :])
    tiny = 1e-10 * np.abs(y).mean()
    return {"pinball": 1 - loss / plain if plain > tiny else float(loss <= tiny)}


def pinball(y: np.ndarray, quantiles: np.ndarray) -> float:
    over, levels = y[:, None] - quantiles, np.array(LEVELS)
    return float(np.where(over > 0, levels * over, (levels - 1) * over).mean())


def of_intervals(table: Table, said: Predicted) -> dict[str, float]:
    """The share of values inside, up to the .9 that are asked for, and how much narrower intervals are than around the mean."""
    y, before = np.asarray(table.y_test, dtype=np.float64), np.asarray(table.y, dtype=np.float64)
    inside = (said.low <= y) & (y <= said.high)
    plain, width = 2 * np.quantile(np.abs(before - before.mean(axis=0)), 0.9), np.mean(said.high - said.low)
    tiny = 1e-10 * np.abs(y).mean()
    return {
        "coverage": min(0.9, float(inside.mean())),
        "size": float(1 - width / plain) if plain > tiny else float(width <= tiny),
    }


def of_sets(table: Table, said: Predicted) -> dict[str, float]:
    """The share of classes that are in their sets, up to the .9 that are asked for, and minus the size as a share of all."""
    classes = list(said.classes)
    place = np.array([classes.index(c) if c in classes else -1 for c in np.asarray(table.y_test).tolist()])
    inside = np.where(place < 0, False, np.asarray(said.sets)[np.arange(len(place)), place])
    return {"coverage": min(0.9, float(inside.mean())), "size": -float(np.asarray(said.sets).mean())}
