"""Gradient boosting with many outputs against XGBoost, CatBoost, LightGBM and forests.

Goals for the seconds of a round on delicious (983 labels, logistic loss, depth 6): 50 times as fast as XGBoost's vector
leaf and CatBoost, 5 times as fast as XGBoost on a projected gradient. Goal for the time to a score: 5 times as fast as
the fastest peer that reaches it, each library with the fastest of its settings below; the numbers of rounds come from a
search without a time measurement (`_reach.py`) and are fitted here. Single outputs: the same trees (31 leaves, best
first, 20 samples in a leaf, no penalty).

Leaves hold Newton steps, as they do by default and as in the other libraries; line searches have cases, and settings in
the comparisons of time to a score, of their own.

XGBoost gets X as CSR and dense. It treats entries that a CSR matrix does not store as missing, which leads to other
trees, and to fewer seconds with a vector in each leaf. CatBoost takes most of a minute for a round on delicious and is
left out of the time to a score there. Models are compared in their smallest form: `save_raw("ubj")` of XGBoost, the
pickle of weald. With `--quick` a peer gets X as CSR alone, and a round is the second; CatBoost and
cases without a goal are left out.

Softmax of 100 and 300 classes, at the defaults of both (31 leaves): not slower than LightGBM, which grows a tree for each
class; 20 000 samples with 50 features, 30 of them informative, and one cluster for each class.
"""

from __future__ import annotations

import argparse
import itertools
import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import sklearn.ensemble
import weald
from _boosters import CatBoost, Hessboost, LightGBM, PerOutput, Softmax, XGBoost, scores
from _data import (
    by_column,
    by_row,
    delicious,
    dense_x,
    dense_y,
    fortran,
    named,
    one_against_rest,
    plain,
    rf1,
    scm20d,
    smooth,
    standard_y,
)
from _harness import PLAIN_BOOSTING, Case, Data, Side, is_absent, main, n_trees
from _reach import Contender, Curve, curve
from _scores import macro_r2, ranking_precision
from scipy.special import expit
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss, mean_squared_error
from weald.projection import Projected

Make = Callable[[], Any]

# Leaves by default, and those of releases before 0.1.0.
NEWTON: dict[str, Any] = {"leaf_estimation": "newton", "min_weight_leaf": 2.0, "l2_regularization": 1.0}
LOW_RANK = Projected(relabel_leaves=False)
LINE_SEARCH: dict[str, Any] = {"leaf_estimation": "line_search", "min_weight_leaf": 0.0}


def defaults(regressor: bool = False, **parameters: Any) -> Make:
    """weald at its defaults."""
    kind = weald.GradientBoostingRegressor if regressor else weald.GradientBoostingClassifier
    return lambda: kind(**({"random_state": 0, "n_jobs": 1} | parameters))


def ours(regressor: bool = False, **parameters: Any) -> Make:
    """All parameters that determine the work of a round, independently of the defaults."""
    said = PLAIN_BOOSTING | NEWTON | {"max_depth": 6, "max_leaf_nodes": None, "output_strategy": "projected"}
    return defaults(regressor, **(said | parameters))


def forest(library: Any, kind: str, **parameters: Any) -> Make:
    return lambda: getattr(library, kind)(**({"max_features": "sqrt", "random_state": 0, "n_jobs": 1} | parameters))


def precision(model: Any, data: Data) -> float:
    return ranking_precision(scores(model, data.X_test), data.y_test)


def r2(model: Any, data: Data) -> float:
    return macro_r2(model.predict(data.X_test), data.y_test)


# ---- seconds per round, memory


def rounds(args: argparse.Namespace) -> Iterator[Case]:
    def xgboost(k: int = 0, few: int = 2, more: int = 4, **parameters: Any) -> dict[str, Side]:
        make = lambda: XGBoost(n_projections=k, **parameters)  # noqa: E731
        layouts = {"CSR": by_row} if args.quick else {"CSR": by_row, "dense X": plain}
        few, more = (1, 2) if args.quick else (few, more)
        return {
            f"XGBoost, {name}": Side(make, arrange, rounds=(few, more), needs="xgboost")
            for name, arrange in layouts.items()
        }

    def hessboost(**parameters: Any) -> dict[str, Side]:
        make = lambda: Hessboost(objective="binary:logistic", **parameters)  # noqa: E731
        return {"hessboost, CSR": Side(make, by_row, rounds=(1, 2) if args.quick else (2, 4), needs="hessboost")}

    def projected(q: int, leaves: int | None = None, **parameters: Any) -> dict[str, Side]:
        shape: dict[str, Any] = {
            "output_strategy": Projected(n_projections=q),
            "max_leaf_nodes": leaves,
            "max_depth": None if leaves else 6,
        }
        between = (2, 12 if args.quick else 52)
        return {"weald": Side(ours(**shape, **parameters), by_column, rounds=between)}

    def one(
        name: str, arrange: Callable[[Data], Data] = by_column, few: int = 2, more: int = 22, **parameters: Any
    ) -> dict[str, Side]:
        return {name: Side(ours(**parameters), arrange, rounds=(few, more))}

    rows: list[tuple[str, dict[str, Side], float | None]] = [
        ("projected, vector leaf", projected(1) | xgboost() | hessboost(), 30),
        ("projected, vector leaf, line search", projected(1, **LINE_SEARCH) | xgboost(), None),
        (
            "projected, 64 leaves",
            projected(1, 64) | xgboost(max_leaves=64, max_depth=0) | hessboost(max_leaves=64, max_depth=0),
            50,
        ),
        (
            "projected, 64 leaves, line search",
            projected(1, 64, **LINE_SEARCH) | xgboost(max_leaves=64, max_depth=0),
            None,
        ),
        *((f"q = {k}, reduced gradient", projected(k) | xgboost(k, more=22), 5) for k in (1, 5)),
        ("joint", one("weald", output_strategy="joint", more=12) | xgboost(), None),
        (
            "single target",
            one("weald", output_strategy="single_target", few=1, more=3)
            | xgboost(few=1, more=3, strategy="one_output_per_tree"),
            None,
        ),
        (
            "layouts",
            projected(1) | one("weald, dense X", dense_x) | one("weald, not relabelled", output_strategy=LOW_RANK),
            None,
        ),
    ]
    # Two minutes for each measurement.
    catboost = {"CatBoost, CSR": Side(CatBoost, by_row, rounds=(1, 2), warm_up=False, needs="catboost")}
    rows.insert(1, ("projected, CatBoost", projected(1) | catboost, 50))
    if args.quick:
        rows = [row for row in rows if row[2] is not None and "CatBoost" not in row[0]]
    for name, sides, aim in rows:
        yield Case(f"round, delicious, {name}", delicious, sides, {"seconds": aim}, work="round")


def memory(args: argparse.Namespace) -> Iterator[Case]:
    m = n_trees(args, usual=20, quick=3)
    yield Case(
        "memory, delicious",
        data=delicious,
        sides={
            "weald": Side(ours(n_estimators=m), by_column),
            "XGBoost reduced, CSR": Side(lambda: XGBoost(m, n_projections=1), by_row, needs="xgboost"),
        },
        aims={"peak_bytes": None},
        peak_limit=lambda data: 4 * 4 * data.y.shape[0] * data.y.shape[1] + 200e6,
        score=precision,
        notes=f"{m} rounds",
    )


# ---- time to a score


def label_contenders(args: argparse.Namespace) -> dict[str, Contender]:
    most = 100 if args.quick else 3000
    found: dict[str, Contender] = {}
    # The defaults, and another learning rate.
    for rate in (0.1, 0.3):
        found[f"weald defaults rate {rate}"] = Contender(Side(defaults(learning_rate=rate), by_column), most, ours=True)
    # Squared loss on many projections, larger trees: few steps, each of which takes longer.
    for leaves, rows, few in itertools.product((128,) if args.quick else (64, 128, 256), (5, 10), (None, "sqrt")):
        shape = {"max_depth": None, "max_leaf_nodes": leaves, "learning_rate": 0.3, "max_features": few}
        make = ours(
            loss="squared_error",
            output_strategy=Projected(n_projections=25),
            min_samples_leaf=rows,
            **shape,
            **LINE_SEARCH,
        )
        name = f"weald square loss q 25 leaves {leaves} of {rows} rows features {few or 'all'}"
        found[name] = Contender(Side(make, by_column), min(most, 500), ours=True)
    for rate in (0.3,) if args.quick else (0.3, 0.6):
        for leaves in (16,) if args.quick else (64, 16, 6):
            shape = {"max_depth": None, "max_leaf_nodes": leaves, "learning_rate": rate}
            if leaves in (64, 16) and rate == 0.3:
                for q in (1, 5):
                    of_q = {"output_strategy": Projected(n_projections=q)}
                    make = ours(**of_q, **shape)
                    found[f"weald q {q} leaves {leaves} rate {rate}"] = Contender(
                        Side(make, by_column), most, ours=True
                    )
                    make = ours(**of_q, min_samples_leaf=10, **shape, **LINE_SEARCH)
                    found[f"weald line search q {q} leaves {leaves} of 10 rows rate {rate}"] = Contender(
                        Side(make, by_column), most, ours=True
                    )
                make = ours(output_strategy=LOW_RANK, min_samples_leaf=10, **shape, **LINE_SEARCH)
                name = f"weald not relabelled leaves {leaves} of 10 rows rate {rate}"
                found[name] = Contender(Side(make, by_column), most, ours=True)
            # With dense X it takes longer (see the rounds above).
            for k, name in ((1, "reduced k 1"), (5, "reduced k 5"), (0, "vector leaf")):

                def peer(k: int = k, rate: float = rate, leaves: int = leaves) -> XGBoost:
                    return XGBoost(learning_rate=rate, n_projections=k, max_depth=0, max_leaves=leaves)

                text = f"XGBoost {name} leaves {leaves} rate {rate}"
                found[text] = Contender(Side(peer, by_row), most)
    for q in (None, 25):
        projection = {"output_projection": "gaussian", "n_projections": q} if q else {}
        for kind in ("RandomForestClassifier", "ExtraTreesClassifier"):
            make = forest(weald, kind, **projection)
            name = f"weald forest {kind}{f' q {q}' if q else ''}"
            found[name] = Contender(Side(make, by_column), min(most, 500), ours=True)
    # Each of its trees stores 983 values in each node: a hundred trees take ten gigabytes.
    make = forest(sklearn.ensemble, "RandomForestRegressor")
    found["scikit-learn forest RandomForest"] = Contender(
        Side(make, lambda data: dense_y(dense_x(data))), min(most, 64)
    )
    return found


# The best score of another library is that of the best fit within this number of seconds.
SEARCH_SECONDS = 20.0


def number_contenders(args: argparse.Namespace) -> dict[str, Contender]:
    most = 50 if args.quick else 2000
    found: dict[str, Contender] = {}

    def add(name: str, make: Make, arrange: Callable[[Data], Data] = fortran) -> None:
        found[name] = Contender(Side(make, arrange), most, SEARCH_SECONDS, ours=name.startswith("weald"))

    # The defaults, and another learning rate.
    for rate in (0.1, 0.3):
        add(f"weald defaults rate {rate}", defaults(True, learning_rate=rate))
    # Leaves, learning rate, samples in a leaf, fraction of the features: few splits for noisy data, many for smooth
    # data.
    drawn = ((16, 0.15, 20, 0.3), (16, 0.1, 20, 0.3), (256, 0.1, 1, 0.3), (1000, 0.3, 1, 0.2))
    for leaves, rate, rows, features in ((32, 0.3, 1, None), (128, 0.3, 1, None), *drawn)[: 1 if args.quick else None]:
        shape = {"max_depth": None, "max_leaf_nodes": leaves, "learning_rate": rate}
        shape |= LINE_SEARCH | {"min_samples_leaf": rows, "max_features": features}
        text = f"leaves {leaves} of {rows} rows rate {rate} features {features or 'all'}"
        for q in (1, 5):
            add(f"weald q {q} {text}", ours(True, output_strategy=Projected(n_projections=q), **shape))
        for strategy in ("joint", "single_target"):
            add(f"weald {strategy} {text}", ours(True, output_strategy=strategy, **shape))
        add(f"weald subsample {text}", ours(True, output_strategy=Projected("subsample"), **shape))
        add(f"weald not relabelled {text}", ours(True, output_strategy=LOW_RANK, **shape))
    # By default, LightGBM requires 20 samples in a leaf.
    plainly = [(leaves, rate, None, None) for rate in (0.3, 0.1) for leaves in (32, 128)]
    for leaves, rate, rows, features in (*plainly, *drawn)[: 1 if args.quick else None]:
        text = f"leaves {leaves} rate {rate}"
        shape = {"learning_rate": rate, "max_leaves": leaves}
        extreme: dict[str, Any] = {"objective": "reg:squarederror", "max_depth": 0, **shape}
        if rows is not None:
            text += f" of {rows} rows features {features}"
            shape |= {"min_samples_leaf": rows, "max_features": features}
            extreme |= {"min_child_weight": rows, "max_features": features}
        for name, extra in (
            ("vector leaf", {}),
            ("reduced k 1", {"n_projections": 1}),
            ("reduced k 5", {"n_projections": 5}),
            ("single target", {"strategy": "one_output_per_tree"}),
        ):
            add(f"XGBoost {name} {text}", lambda p=extreme | extra: XGBoost(**p), plain)
        add(f"LightGBM {text}", lambda p=shape: LightGBM(**p), plain)
    for rate in (0.3,) if args.quick else (0.3, 0.1):
        add(f"CatBoost depth 6 rate {rate}", lambda r=rate: CatBoost(learning_rate=r, loss="MultiRMSE"), plain)
    hist = sklearn.ensemble.HistGradientBoostingRegressor(max_leaf_nodes=128, early_stopping=False)
    add("scikit-learn HistGradientBoosting leaves 128 rate 0.1", lambda: PerOutput(hist))
    for library, name in ((weald, "weald forest"), (sklearn.ensemble, "scikit-learn forest")):
        for kind in ("RandomForestRegressor", "ExtraTreesRegressor"):
            found[f"{name} {kind}"] = Contender(
                Side(forest(library, kind, max_features=1 / 3), fortran), min(most, 200), ours=library is weald
            )
    return found


def family(name: str) -> str:
    """The library of a contender, and how it is used."""
    words = name.split()
    return " ".join(words[:2] if words[0] in ("XGBoost", "scikit-learn") or words[1:2] == ["forest"] else words[:1])


def reached(curves: dict[str, Curve], target: float) -> dict[str, tuple[str, int]]:
    """For each family, ours first: the contender that reaches the target in the fewest seconds, and its number of
    rounds."""
    best: dict[str, tuple[float, str, int]] = {}
    for name, found in curves.items():
        if m := found.rounds_to(target):
            entry = (m * found.pace, name, m)
            best[family(name)] = min(best.get(family(name), entry), entry)
    order = sorted(best, key=lambda f: f != "weald")
    return {f: best[f][1:] for f in order}


def race(
    args: argparse.Namespace,
    problem: str,
    data: Callable[[], Data],
    contenders: dict[str, Contender],
    target: float | None,
    score: Callable[[Any, Data], float],
    staged_score: Callable[[Any, Any], float],
    aims: dict[str, float | None],
    among: str = "",
) -> Iterator[Case]:
    """Time to a score, given or the best of another library: once against other libraries, once against our forests."""
    title = f"time to score, {problem}{among}"
    if args.only not in title:
        return
    if args.made:
        return  # the search takes long, and scores are those of the real set
    contenders = {name: c for name, c in contenders.items() if re.search(args.contenders, name)}
    if not contenders:
        print(f"{title}: no contender is named so", file=sys.stderr)
        return
    if target is None and all(contender.ours for contender in contenders.values()):
        print(f"{title}: no peer among the contenders, so no score to reach", file=sys.stderr)
        return
    goal = np.inf if target is None else target
    curves: dict[str, Curve] = {}
    # Other libraries first: ours must reach their best score if no score is given.
    for name, contender in sorted(contenders.items(), key=lambda item: item[1].ours):
        if args.no_peer and target is not None and not contender.ours:
            continue
        if contender.ours and goal == np.inf:
            goal = np.floor(1000 * max(found.best() for found in curves.values())) / 1000
        # The search stops for a contender that is already twice as slow as another one of its side.
        rivals = [found.seconds_to(goal) for other, found in curves.items() if contenders[other].ours == contender.ours]
        limit = max(2 * min(rivals, default=np.inf), 5)
        curves[name] = curve(problem, name, contender, data, staged_score, goal, limit)
    target = goal
    chosen = reached(curves, target)
    if "weald" not in chosen:
        best = max(found.best() for found in curves.values())
        print(f"{title}: {target:g} is not reached by weald; best {best:.4f}", file=sys.stderr)
        return

    def fixed(name: str, m: int) -> Side:
        side = contenders[name].side
        return Side(lambda: side.estimator().set_params(n_estimators=m), side.arrange)

    sides = {f"{name}, {m} rounds": fixed(name, m) for name, m in chosen.values()}
    forests = {s for s in sides if s.startswith("weald forest")}
    names = {"": sides.keys() - forests, ", our forests": {next(iter(sides)), *forests}}
    for suffix, kept in names.items():
        if len(kept) > 1:
            yield Case(
                title + suffix,
                data=data,
                sides={name: side for name, side in sides.items() if name in kept},
                aims=aims,
                score=score,
                notes=f"score {target:g}",
            )


def races(args: argparse.Namespace) -> Iterator[Case]:
    if absent := [name for name in ("xgboost", "lightgbm", "catboost") if is_absent(name)]:
        print(f"times to a score are left out: {', '.join(absent)} not installed", file=sys.stderr)
        return
    labels = label_contenders(args)
    for problem, target in (("delicious", 0.38), ("bibtex", 0.58)):
        goal = target - 0.05 * args.quick
        load = lambda problem=problem: named(problem)  # noqa: E731
        yield from race(args, problem, load, labels, goal, precision, ranking_precision, {"seconds": 5})
    # Bytes at equal precision: the model that stores one value for each leaf and d for each tree, against vector
    # leaves.
    small = {
        name: contender
        for name, contender in labels.items()
        if "leaves 16" in name and ("not relabelled" in name or name == "XGBoost vector leaf leaves 16 rate 0.3")
    }
    goal = 0.38 - 0.05 * args.quick
    yield from race(
        args,
        "delicious, bytes",
        delicious,
        small,
        goal,
        precision,
        ranking_precision,
        {"model_bytes": 20, "seconds": None},
    )
    numbers = number_contenders(args)
    for problem, load in (("scm20d", scm20d), ("rf1", rf1)):
        made = lambda load=load: standard_y(load())  # noqa: E731
        yield from race(args, problem, made, numbers, None, r2, macro_r2, {"seconds": 5})
        # If forests have a better score than any boosting, the best score of boosting is the target.
        boosting = {name: c for name, c in numbers.items() if "forest" not in name}
        yield from race(args, problem, made, boosting, None, r2, macro_r2, {"seconds": 5}, ", boosting alone")


# ---- classes


def made_classes(n_classes: int) -> Data:
    X, y = make_classification(
        20_000, 50, n_informative=30, n_classes=n_classes, n_clusters_per_class=1, random_state=0
    )
    X = np.asfortranarray(X, dtype=np.float32)
    return Data(X, y, X[:0], y[:0])


def softmax(args: argparse.Namespace) -> Iterator[Case]:
    for n_classes in (100,) if args.quick else (100, 300):
        sides = {
            "weald": Side(defaults(**PLAIN_BOOSTING), rounds=(2, 12)),
            "LightGBM": Side(Softmax, rounds=(1, 2), warm_up=False, needs="lightgbm"),
        }
        yield Case(
            f"round, softmax, {n_classes} classes",
            partial(made_classes, n_classes),
            sides,
            {"seconds": 1},
            work="round",
        )


# ---- single outputs


def negative_error(values: np.ndarray, y: np.ndarray) -> float:
    return -float(mean_squared_error(y, values))


def negative_loss(log_odds: np.ndarray, y: np.ndarray) -> float:
    return -float(log_loss(y, expit(np.asarray(log_odds, dtype=np.float64))))


def single(args: argparse.Namespace) -> Iterator[Case]:
    """The same number of rounds; then the time to the smallest loss of another library within this number."""
    m = n_trees(args, usual=100, quick=10)
    # No penalty, and no limit except the samples in a leaf: the rules of LightGBM.
    shape: dict[str, Any] = {"max_depth": None, "max_leaf_nodes": 31, "min_samples_leaf": 20}
    shape |= {"min_weight_leaf": 0.0, "l2_regularization": 0.0}
    rows = [
        ("numbers 100 000 x 50", smooth, True, fortran, plain, 1.3),
        ("two classes 100 000 x 50", lambda: smooth(2), False, fortran, plain, 1.2),
        ("20newsgroup, one against rest", one_against_rest, False, by_column, by_row, 1.0),
    ]
    for name, data, regressor, layout, theirs, aim in rows:
        # XGBoost limits the sum of second derivatives in a leaf, which is at most a quarter for each sample with this
        # loss.
        light, extreme, weight = (
            ("regression", "reg:squarederror", 20) if regressor else ("binary", "binary:logistic", 5)
        )
        alike: dict[str, Any] = {"max_depth": 0, "max_leaves": 31, "reg_lambda": 0, "min_child_weight": weight}

        def peers(
            rate: float, theirs: Any = theirs, light: str = light, p: dict[str, Any] = alike | {"objective": extreme}
        ) -> dict[str, Side]:
            return {
                "LightGBM": Side(lambda: LightGBM(m, rate, objective=light), theirs, needs="lightgbm"),
                "XGBoost": Side(lambda: XGBoost(m, rate, **p), theirs, needs="xgboost"),
                "hessboost": Side(lambda: Hessboost(m, rate, **p), theirs, needs="hessboost"),
            }

        judge = negative_error if regressor else negative_loss

        def score(model: Any, data: Data, judge: Any = judge) -> float:
            return judge(scores(model, data.X_test), data.y_test)

        def mine(rate: float, regressor: bool = regressor, layout: Any = layout) -> Side:
            return Side(ours(regressor, output_strategy="joint", learning_rate=rate, n_estimators=m, **shape), layout)

        yield Case(
            f"single output, {name}",
            data=data,
            sides={"weald": mine(0.1)} | peers(0.1),
            aims={"seconds": aim},
            score=score,
            notes=f"{m} rounds; score: minus the loss on the test part",
        )
        # The same learning rate gives steps of different lengths in different libraries: each has the choice of three.
        contenders: dict[str, Contender] = {}
        for rate in (0.1, 0.2, 0.3):
            contenders[f"weald rate {rate}"] = Contender(mine(rate), 5 * m, ours=True)
            there = {name: side for name, side in peers(rate).items() if not is_absent(side.needs)}
            contenders |= {f"{name} rate {rate}": Contender(side, m) for name, side in there.items()}
        yield from race(args, f"single output, {name}", data, contenders, None, score, judge, {"seconds": aim})


def cases(args: argparse.Namespace) -> Iterator[Case]:
    """One after the other, since the searches take their own time measurements."""
    for part in (rounds, softmax, memory, single, races):
        yield from part(args)


if __name__ == "__main__":
    main(__doc__ or "", cases)
