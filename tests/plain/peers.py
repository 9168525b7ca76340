"""Fit simple models of other libraries to the plain tables and store their scores with the versions of the libraries.

    python tests/plain/peers.py [--only TEXT]

with `tests` in `PYTHONPATH`, in an environment with LightGBM and, for the lists of kinds, weald. A table that is drawn in
another way, or a new one, needs its peers again; the others keep what is stored.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
import warnings
from collections.abc import Callable
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import scipy
import sklearn
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from plain import board, models, scores
from plain.scores import Predicted
from plain.tables import Table, everything, load

# Seeds of forests on small tables, where they matter; the first one alone decides on others.
SEEDS = (0, 1, 2)
SMALL = 300
# A peer has one view of a table and says what it can of it.
Peer = Callable[[Table], Predicted]


def fit(model: Any, table: Table, y: Any = None) -> Any:
    """Weights are divided by their mean, so that a peer's own constants do not matter; those of scikit-learn's calibration
    matter to weald's forests in it too."""
    mean = 1 if table.weight is None or isinstance(model, CalibratedClassifierCV) else table.weight.mean()
    weight = {} if table.weight is None else {"sample_weight": table.weight / mean}
    return model.fit(table.X, table.y if y is None else y, **weight)


def columns(Y: Any) -> list[np.ndarray]:
    return list(scores.dense(Y).T)


def lgb_form(table: Table) -> Table:
    """LightGBM takes no texts, no nullable columns, and no sparse matrices of whole numbers."""
    if isinstance(table.X, pd.DataFrame):
        return Table(
            *(form for X, y in ((table.X, table.y), (table.X_test, table.y_test)) for form in (frame(table, X), y)),
            table.weight,
        )
    if sparse.issparse(table.X):
        return Table(sparse.csr_matrix(table.X), table.y, sparse.csr_matrix(table.X_test), table.y_test, table.weight)
    return table


def frame(table: Table, X: pd.DataFrame) -> pd.DataFrame:
    found = {}
    for name in X:
        if pd.api.types.is_numeric_dtype(X[name]):
            found[name] = X[name].astype("float64")
        else:
            levels = sorted(set(table.X[name].dropna()))
            found[name] = X[name].astype(pd.CategoricalDtype(levels))
    return pd.DataFrame(found)


def hist_form(table: Table) -> Table:
    """scikit-learn's histograms take up to 255 levels of a category, and no sparse matrices."""
    if isinstance(table.X, pd.DataFrame):
        table = lgb_form(table)
        wide = [name for name in table.X if table.X[name].dtype == "category" and table.X[name].nunique() > 255]
        of = {name: lambda X, name=name: X[name].cat.codes.astype("float64") for name in wide}
        X, X_test = (X.assign(**{name: code(X) for name, code in of.items()}) for X in (table.X, table.X_test))
        return Table(X, table.y, X_test, table.y_test, table.weight)
    return Table(scores.dense(table.X), table.y, scores.dense(table.X_test), table.y_test, table.weight)


def as_is(table: Table) -> Table:
    return table


def numeric(table: Table) -> Table:
    """Codes in place of categories, float32 as scikit-learn's trees read them, within its range."""
    return table.coded()


def filled(table: Table) -> Table:
    """As encoded, for those that take no missing values, dense."""
    return hist_form(table.encoded())


def numbers(make: Callable[[int], Any], form: Any, seeds: Any = (0,), together: bool = False) -> list[Peer]:
    def say(seed: int) -> Peer:
        def peer(table: Table) -> Predicted:
            seen = form(table)
            if together or np.ndim(seen.y) == 1:
                return Predicted(fit(make(seed), seen).predict(seen.X_test))
            return Predicted(np.column_stack([fit(make(seed), seen, y).predict(seen.X_test) for y in columns(seen.y)]))

        return peer

    return [say(seed) for seed in seeds]


def classes(make: Callable[[int], Any], form: Any, seeds: Any = (0,), margins: bool = False) -> list[Peer]:
    def say(seed: int) -> Peer:
        def peer(table: Table) -> Predicted:
            seen = form(table)
            model = fit(make(seed), seen)
            chances = None if margins else model.predict_proba(seen.X_test)
            return Predicted(model.predict(seen.X_test), chances, model.classes_.tolist())

        return peer

    return [say(seed) for seed in seeds]


def labels(
    make: Callable[[int], Any], form: Any, seeds: Any = (0,), together: bool = False, margins: bool = False
) -> list[Peer]:
    def say(seed: int) -> Peer:
        def peer(table: Table) -> Predicted:
            seen = form(table)
            Y, X = scores.dense(seen.y), seen.X_test
            if together:
                found = fit(make(seed), seen, Y).predict_proba(X)
                found = np.column_stack(
                    [c[:, 1] if c.shape[1] == 2 else np.full(len(c), Y[:, j].max()) for j, c in enumerate(found)]
                )
                return Predicted((found > 0.5).astype(int), found)
            parts = []
            for y in Y.T:
                if len(np.unique(y)) < 2:
                    parts.append(np.full(X.shape[0], float(y[0])))
                    continue
                model = fit(make(seed), seen, y)
                parts.append(model.decision_function(X) if margins else model.predict_proba(X)[:, 1])
            found = np.column_stack(parts)
            return Predicted((found > (0 if margins else 0.5)).astype(int), found)

        return peer

    return [say(seed) for seed in seeds]


def group_means(table: Table) -> np.ndarray:
    """The mean of y by groups, that of all samples for a group without any."""
    y = scores.dense(table.y).astype(np.float64)
    weight = np.ones(len(y)) if table.weight is None else table.weight
    whole, found = np.average(y, axis=0, weights=weight), []
    for group in table.groups_test:
        here = (table.groups == group) & (weight > 0)
        found.append(np.average(y[here], axis=0, weights=weight[here]) if here.any() else whole)
    return np.array(found)


def group_shares(table: Table) -> Predicted:
    """The share of each class in the group, with one sample in all more that is drawn from all groups."""
    kinds = np.unique(table.y)
    one = np.asarray(table.y)[:, None] == kinds
    weight = np.ones(len(one)) if table.weight is None else table.weight / table.weight.mean()
    prior, found = np.average(one, axis=0, weights=weight), []
    for group in table.groups_test:
        here = table.groups == group
        found.append((weight[here] @ one[here] + prior) / (weight[here].sum() + 1))
    return Predicted(kinds[np.argmax(found, axis=1)], np.array(found), kinds.tolist())


def means(table: Table) -> Predicted:
    y = np.asarray(table.y, dtype=np.float64)
    whole = np.average(y, axis=0, weights=table.weight)
    return Predicted(np.broadcast_to(whole, (table.X_test.shape[0], *whole.shape)))


def shares(table: Table) -> Predicted:
    kinds, count = np.unique(table.y, return_counts=True)
    n = table.X_test.shape[0]
    return Predicted(np.full(n, kinds[np.argmax(count)]), np.tile(count / count.sum(), (n, 1)), kinds.tolist())


def lgb(classifier: bool, **parameters: Any) -> Callable[[int], Any]:
    kind = lightgbm.LGBMClassifier if classifier else lightgbm.LGBMRegressor
    return lambda seed: kind(random_state=seed, n_jobs=1, verbose=-1, **parameters)


def by_levels(make: Callable[[float], Any], form: Any) -> Peer:
    def peer(table: Table) -> Predicted:
        seen = form(table)
        found = [fit(make(level), seen).predict(seen.X_test) for level in scores.LEVELS]
        return Predicted(quantiles=np.sort(np.column_stack(found), axis=1))

    return peer


def group_quantiles(table: Table) -> Predicted:
    y = np.asarray(table.y, dtype=np.float64)
    found = {g: np.quantile(y[table.groups == g], scores.LEVELS) for g in np.unique(table.groups)}
    whole = np.quantile(y, scores.LEVELS)
    return Predicted(quantiles=np.array([found.get(g, whole) for g in table.groups_test]))


def oob_intervals(seed: int) -> Peer:
    def peer(table: Table) -> Predicted:
        seen = numeric(table)
        model = fit(RandomForestRegressor(oob_score=True, random_state=seed), seen)
        errors = np.sort(np.abs(np.asarray(seen.y) - model.oob_prediction_))
        width = errors[min(len(errors), int(np.ceil((len(errors) + 1) * 0.9))) - 1]
        middle = model.predict(seen.X_test)
        return Predicted(low=middle - width, high=middle + width)

    return peer


def oob_sets(seed: int) -> Peer:
    def peer(table: Table) -> Predicted:
        seen = numeric(table)
        model = fit(RandomForestClassifier(oob_score=True, random_state=seed), seen)
        place = np.searchsorted(model.classes_, seen.y)
        errors = np.sort(1 - np.nan_to_num(model.oob_decision_function_)[np.arange(len(place)), place])
        most = errors[min(len(errors), int(np.ceil((len(errors) + 1) * 0.9))) - 1]
        return Predicted(sets=1 - model.predict_proba(seen.X_test) <= most, classes=model.classes_.tolist())

    return peer


def tuned_forest(seed: int) -> Peer:
    """Each label has the threshold with the best F1 out of bag."""

    def peer(table: Table) -> Predicted:
        seen, said = (
            numeric(table),
            labels(lambda s: RandomForestClassifier(random_state=s), numeric, (seed,), True)[0](table),
        )
        Y = scores.dense(seen.y)
        model = fit(RandomForestClassifier(oob_score=True, random_state=seed), seen, Y)
        unseen = np.nan_to_num(model.oob_decision_function_)
        unseen = unseen[:, 1, :] if unseen.ndim == 3 else unseen
        values = np.zeros(said.chances.shape, dtype=int)
        for j, y in enumerate(Y.T):
            tried = np.unique(unseen[:, j])[:: max(1, len(np.unique(unseen[:, j])) // 50)]
            best = max(tried, key=lambda t, y=y, j=j: f1_score(y, unseen[:, j] >= t, zero_division=0))
            values[:, j] = said.chances[:, j] >= best
        return Predicted(values)

    return peer


def logistic(seed: int) -> Any:
    return LogisticRegression(max_iter=500)


def svc(seed: int) -> Any:
    return LinearSVC(random_state=seed)


def scaled(model: Callable[[int], Any]) -> Callable[[int], Any]:
    return lambda seed: Weighted(make_pipeline(StandardScaler(with_mean=False), model(seed)))


class Weighted:
    """A pipeline of a scaler and a model that gets the weights; X is centred first where it is dense."""

    def __init__(self, pipeline: Any) -> None:
        self.pipeline = pipeline

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Weighted:
        self.centre = 0.0 if sparse.issparse(X) else np.asarray(X, dtype=np.float64).mean(axis=0)
        last = self.pipeline.steps[-1][0]
        extra = {} if sample_weight is None else {f"{last}__sample_weight": sample_weight}
        self.pipeline.fit(self.centred(X), y, **extra)
        self.classes_ = self.pipeline.classes_
        return self

    def centred(self, X: Any) -> Any:
        return X if sparse.issparse(X) else np.asarray(X, dtype=np.float64) - self.centre

    def __getattr__(self, name: str) -> Any:
        return lambda X: getattr(self.pipeline, name)(self.centred(X))


def encoded(table: Table) -> Table:
    return table.encoded()


def near(kind: Any) -> dict[str, Callable[[int], Any]]:
    """Distances to ten neighbours, and angles to them. They take no weights."""
    return {
        "KNeighbors": lambda seed: Unweighted(kind(10)),
        "KNeighbors, cosine": lambda seed: Unweighted(kind(10, metric="cosine")),
    }


class Unweighted:
    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        self.model.n_neighbors = min(self.model.n_neighbors, X.shape[0])
        return self.model.fit(X, y)


def lgb_quantile(level: float) -> Any:
    return lgb(False, objective="quantile", alpha=level)(0)


def hist_quantile(level: float) -> Any:
    return HistGradientBoostingRegressor(loss="quantile", quantile=level, random_state=0)


def exact_quantile(level: float) -> Any:
    return GradientBoostingRegressor(loss="quantile", alpha=level, random_state=0)


def forest(seed: int) -> Any:
    return RandomForestClassifier(random_state=seed)


def quantiles_of_all(table: Table) -> Predicted:
    return Predicted(quantiles=np.quantile(np.asarray(table.y), scores.LEVELS)[None, :])


# The peers of each kind of model; the scores of those with several seeds are means.
Peers = dict[str, dict[str, list[Peer]]]


def of_numbers(table: Table, grouped: bool, quick: bool) -> Peers:
    boosting = {
        "LightGBM": numbers(lgb(False), lgb_form),
        "HistGradientBoosting": numbers(lambda s: HistGradientBoostingRegressor(random_state=s), hist_form),
        "mean": [means],
    }
    quantiles = {
        "LightGBM": [by_levels(lgb_quantile, lgb_form)],
        "HistGradientBoosting": [by_levels(hist_quantile, hist_form)],
        "quantiles of all": [quantiles_of_all],
    }
    if quick:
        boosting["GradientBoosting"] = numbers(lambda s: GradientBoostingRegressor(random_state=s), filled)
        quantiles["GradientBoosting"] = [by_levels(exact_quantile, filled)]
    if grouped:
        boosting["group means"] = [lambda t: Predicted(group_means(t))]
        quantiles["group quantiles"] = [group_quantiles]
    found: Peers = {
        "boosting": boosting,
        "forest": {"RandomForest": numbers(lambda s: RandomForestRegressor(random_state=s), numeric, SEEDS, True)},
        "extra-trees": {"ExtraTrees": numbers(lambda s: ExtraTreesRegressor(random_state=s), numeric, SEEDS, True)},
        "centroid": {name: numbers(make, encoded, together=True) for name, make in near(KNeighborsRegressor).items()},
    }
    if models.outputs(table) == 1:
        found["quantiles"] = quantiles
        found["conformal"] = {"RandomForest out of bag": [oob_intervals(seed) for seed in SEEDS]}
    return found


def of_classes(table: Table, grouped: bool, quick: bool) -> Peers:
    boosting = {
        "LightGBM": classes(lgb(True), lgb_form),
        "HistGradientBoosting": classes(lambda s: HistGradientBoostingClassifier(random_state=s), hist_form),
        "shares": [shares],
    }
    if quick:
        boosting["GradientBoosting"] = classes(lambda s: GradientBoostingClassifier(random_state=s), filled)
    if grouped:
        boosting["group shares"] = [group_shares]
    return {
        "boosting": boosting,
        "forest": {"RandomForest": classes(forest, numeric, SEEDS)},
        "extra-trees": {"ExtraTrees": classes(lambda s: ExtraTreesClassifier(random_state=s), numeric, SEEDS)},
        "linear": {
            "LogisticRegression": classes(logistic, encoded),
            "LogisticRegression, scaled": classes(scaled(logistic), encoded),
            "LinearSVC": classes(svc, encoded, margins=True),
            "LinearSVC, scaled": classes(scaled(svc), encoded, margins=True),
            "shares": [shares],
        },
        "centroid": {name: classes(make, encoded) for name, make in near(KNeighborsClassifier).items()},
        "conformal": {"RandomForest out of bag": [oob_sets(seed) for seed in SEEDS]},
        "calibrated": {"CalibratedClassifierCV": classes(lambda s: CalibratedClassifierCV(forest(s)), numeric)},
    }


def of_labels(table: Table, grouped: bool, quick: bool) -> Peers:
    boosting = {
        "LightGBM": labels(lgb(True), lgb_form),
        "HistGradientBoosting": labels(lambda s: HistGradientBoostingClassifier(random_state=s), hist_form),
    }
    if quick:
        boosting["GradientBoosting"] = labels(lambda s: GradientBoostingClassifier(random_state=s), filled)
    if grouped:
        boosting["group means"] = [lambda t: Predicted((group_means(t) > 0.5).astype(int), group_means(t))]
    forests = {"RandomForest": labels(forest, numeric, SEEDS, True)}
    linear = {
        "LogisticRegression": labels(logistic, encoded),
        "LogisticRegression, scaled": labels(scaled(logistic), encoded),
    }
    margins = {
        "LinearSVC": labels(svc, encoded, margins=True),
        "LinearSVC, scaled": labels(scaled(svc), encoded, margins=True),
    }
    return {
        "boosting": boosting,
        "forest": forests,
        "extra-trees": {"ExtraTrees": labels(lambda s: ExtraTreesClassifier(random_state=s), numeric, SEEDS, True)},
        "linear": linear | margins,
        "centroid": {name: labels(make, encoded, together=True) for name, make in near(KNeighborsClassifier).items()},
        "calibrated": forests,
        "calibrated linear": linear,
        "thresholds": forests | {"RandomForest, thresholds": [tuned_forest(0)]},
        "linear thresholds": linear,
    }


PEERS = {"numbers": of_numbers, "classes": of_classes, "labels": of_labels}


def peers_of(of_y: str, table: Table) -> Peers:
    """Those that need a dense X, and much time for each column of y, only where this is not much."""
    columns = len(np.unique(table.y)) if of_y == "classes" else models.outputs(table)
    cells = columns * table.X.shape[1]
    found = PEERS[of_y](table, table.groups is not None, columns <= 12 and cells <= 300)
    if cells > 1500:
        found = {
            kind: {peer: run for peer, run in rivals.items() if "Hist" not in peer} for kind, rivals in found.items()
        }
    return found


def measured(name: str, of_y: str) -> dict[str, Any]:
    table, kinds = load(name), models.KINDS[of_y]
    found: dict[str, Any] = {}
    judged = models.kinds(of_y, table)
    for kind, rivals in peers_of(of_y, table).items():
        if kind not in judged:
            continue
        for peer, runs in rivals.items():
            try:
                runs = runs if table.X.shape[0] <= SMALL else runs[:1]
                said = [kinds[kind].scores(table, run(table)) for run in runs]
            except (ValueError, TypeError) as error:
                print(f"  {name}, {kind}, {peer}: {type(error).__name__}: {str(error)[:150]}")
                continue
            means = {score: round(float(np.mean([one[score] for one in said])), 4) for score in said[0]}
            found.setdefault(kind, {})[peer] = means
    return {"mark": table.mark(), "peers": found}


def write(name: str, found: dict[str, Any]) -> None:
    """One line for each table, in the order of the lists; what another process has stored in the meantime is kept."""
    board.peers.cache_clear()
    stored = board.peers()["tables"] | {name: found}
    tables = {name: stored[name] for name in everything() if name in stored}
    packages = {"numpy": np, "scipy": scipy, "pandas": pd, "scikit-learn": sklearn, "LightGBM": lightgbm}
    versions = {"Python": platform.python_version()} | {name: module.__version__ for name, module in packages.items()}
    rows = ",\n".join(f"    {json.dumps(name)}: {json.dumps(row)}" for name, row in tables.items())
    new = board.PEERS.with_suffix(".new")
    new.write_text(f'{{\n  "versions": {json.dumps(versions)},\n  "tables": {{\n{rows}\n  }}\n}}\n')
    new.replace(board.PEERS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="only tables whose name contains this, also those that are stored")
    only = parser.parse_args().only
    warnings.simplefilter("ignore")
    for name, (of_y, _) in everything().items():
        if board.stale(name) if only is None else only in name:
            start = time.process_time()
            found = measured(name, of_y)
            write(name, found)
            print(f"{name} {time.process_time() - start:.1f}", flush=True)


if __name__ == "__main__":
    main()
