"""Sparse text, labels: boosting from a cross-fitted linear start against omikuji, napkinXC, its start, boosting alone.

The recipe is the same for all data sets. If X has whole numbers, they are treated as word counts and become tf-idf;
other samples are scaled to unit length. One logistic regression for each label (`Linear`) is fitted to all training
samples, for new samples, and to each half of the training samples, for the margins of the other half, from which the
trees start (`base_margin`). Its strength is the one of two whose margins of the other half rank labels better. What is
chosen for the recipe, and the settings of the peers, come from a quarter of the training samples (`--choose` prints
them); the test part is scored once.

Seconds are processor seconds of everything from X as stored to the fitted model, one thread, medians of `--repeat`
turns. omikuji reads a file: parsing it counts, writing it does not. Samples without features, which it cannot read, and
samples without labels are left out of its training. Peers that are not installed are left out.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import weald
from threadpoolctl import threadpool_limits
from weald.datasets import dump_xmc
from weald.metrics import precision_at_k

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _data import named
from _harness import PLAIN_BOOSTING, Table, is_absent, options, parser, ratios, spread, told
from _linear_start import Linear, Words, halves
from _records import append
from _scores import ranking_precision

SETS = ("medical", "rcv1sub1", "yahoo_arts", "reuters21578_r90", "goemotions")
STRENGTHS = (3.0, 10.0)
ROUNDS = 60

Fitted = Callable[[Any], np.ndarray]
"""Scores of every label for rows of X, or for peers that give a few labels alone, ranks from 5 down to 0."""


def recipe(X: Any, y: Any, *, rounds: int = ROUNDS, strengths: tuple[float, ...] = STRENGTHS) -> Fitted:
    words = Words().fit(X)
    A = words.transform(X)
    margins = {C: halves(A, y, C) for C in strengths}
    C = max(strengths, key=lambda C: precision_at_k(y, margins[C], k=1)) if len(strengths) > 1 else strengths[0]
    linear = Linear(C).fit(A, y)
    boosting = weald.GradientBoostingClassifier(
        **PLAIN_BOOSTING, n_estimators=rounds, output_strategy="projected", n_jobs=1, random_state=0
    )
    boosting.fit(X, y, base_margin=margins[C])
    return lambda X: boosting.decision_function(X, base_margin=linear.decision_function(words.transform(X)))


def start_alone(X: Any, y: Any) -> Fitted:
    """The linear model of the recipe, with the chosen strength."""
    words = Words().fit(X)
    A = words.transform(X)
    C = max(STRENGTHS, key=lambda C: precision_at_k(y, halves(A, y, C), k=1))
    linear = Linear(C).fit(A, y)
    return lambda X: linear.decision_function(words.transform(X))


def boosting(rounds: int) -> Callable[[Any, Any], Fitted]:
    def fit(X: Any, y: Any) -> Fitted:
        model = weald.GradientBoostingClassifier(**PLAIN_BOOSTING, n_estimators=rounds, n_jobs=1, random_state=0)
        return model.fit(X, y).decision_function

    return fit


# ---- peers


def ranks(found: list[list[int]], n_labels: int) -> np.ndarray:
    """Scores of the listed labels, best first; all others are 0."""
    scores = np.zeros((len(found), n_labels))
    for row, labels in zip(scores, found, strict=True):
        row[labels] = range(len(labels), 0, -1)
    return scores


def on(features: bool, fit: Callable[[Any, Any], Fitted]) -> Callable[[Any, Any], Fitted]:
    """Another library on the tf-idf of the recipe, or on X as it is stored."""
    if not features:
        return fit

    def fit_words(X: Any, y: Any) -> Fitted:
        words = Words().fit(X)
        predict = fit(words.transform(X), y)
        return lambda X: predict(words.transform(X))

    return fit_words


FILE_SECONDS = [0.0]


def omikuji(**parameters: Any) -> Callable[[Any, Any], Fitted]:
    def fit(X: Any, y: Any) -> Fitted:
        import omikuji

        start = time.process_time()
        kept = np.flatnonzero((np.diff(y.indptr) > 0) & (np.diff(X.indptr) > 0))
        settings = omikuji.Model.default_hyper_param()
        for name, value in parameters.items():
            setattr(settings, name, value)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "train.txt"
            dump_xmc(X[kept], y[kept], path)
            FILE_SECONDS[0] += time.process_time() - start
            model = omikuji.Model.train_on_data(str(path), settings, 1)

        def predict(X: Any) -> np.ndarray:
            found = []
            for i in range(X.shape[0]):
                inside = slice(X.indptr[i], X.indptr[i + 1])
                row = [(int(j), float(v)) for j, v in zip(X.indices[inside], X.data[inside], strict=True)]
                found.append([label for label, _ in model.predict(row, beam_size=10, top_k=5)])
            return ranks(found, y.shape[1])

        return predict

    return fit


def napkinxc(kind: str = "PLT", **parameters: Any) -> Callable[[Any, Any], Fitted]:
    def fit(X: Any, y: Any) -> Fitted:
        import napkinxc.models

        folder = tempfile.TemporaryDirectory()
        model = getattr(napkinxc.models, kind)(folder.name, threads=1, **parameters)
        labels = [y.indices[a:b].tolist() for a, b in zip(y.indptr[:-1], y.indptr[1:], strict=True)]
        model.fit(sp.csr_matrix(X), labels)

        def predict(X: Any) -> np.ndarray:
            with folder:
                return ranks(model.predict(sp.csr_matrix(X), top_k=5), y.shape[1])

        return predict

    return fit


PEERS: dict[str, dict[str, Callable[..., Any]]] = {
    "omikuji": {
        "defaults": omikuji(),
        "16 wide": omikuji(cluster_k=16),
        "one tree": omikuji(n_trees=1),
        "all weights": omikuji(linear_weight_threshold=0.01),
    },
    "napkinxc": {
        "defaults": napkinxc(),
        "C 1": napkinxc(liblinear_c=1),
        "arity 16": napkinxc(arity=16),
        "BR": napkinxc("BR"),
    },
}


# ---- measurements


@contextmanager
def quiet() -> Any:
    """Progress bars of other libraries write to the file descriptors."""
    kept = [os.dup(1), os.dup(2)]
    with Path(os.devnull).open("w") as nothing:
        sys.stdout.flush()
        os.dup2(nothing.fileno(), 1)
        os.dup2(nothing.fileno(), 2)
        try:
            yield
        finally:
            sys.stdout.flush()
            for fd, old in zip((1, 2), kept, strict=True):
                os.dup2(old, fd)
                os.close(old)


def measure(fit: Callable[[Any, Any], Fitted], X: Any, y: Any, X_test: Any, y_test: Any) -> dict[str, float]:
    FILE_SECONDS[0] = 0.0
    with quiet():
        start = time.process_time()
        predict = fit(X, y)
        seconds = time.process_time() - start - FILE_SECONDS[0]
        scores = predict(X_test)
    found = {f"p{k}": precision_at_k(y_test, scores, k=k) for k in (1, 3, 5)}
    # The other libraries rank five labels only.
    lrap = ranking_precision(scores, y_test) if fit in OURS.values() else np.nan
    return found | {"lrap": lrap, "seconds": seconds}


OURS: dict[str, Callable[[Any, Any], Fitted]] = {
    "recipe": recipe,
    "its linear start": start_alone,
    "boosting, 100 rounds": boosting(100),
}


def parts(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Three quarters of the training samples, and the quarter on which choices are made."""
    rows = np.random.default_rng(0).permutation(n)
    return np.sort(rows[n // 4 :]), np.sort(rows[: n // 4])


def chosen(peer: str, X: Any, y: Any, table: Table | None = None) -> tuple[str, Callable[[Any, Any], Fitted]]:
    """The setting, and the features, with the best precision at 1 on a quarter of the training samples."""
    kept, held = parts(X.shape[0])
    found = {}
    for name, fit in PEERS[peer].items():
        for words in (False, True):
            key = f"{peer}, {name}, {'tf-idf' if words else 'as it comes'}"
            found[key] = measure(on(words, fit), X[kept], y[kept], X[held], y[held]), on(words, fit)
            if table is not None:
                row(table, "held out", key, [found[key][0]])
    best = max(found, key=lambda key: found[key][0]["p1"])
    return best, found[best][1]


def row(
    table: Table, name: str, side: str, runs: list[dict[str, float]], first: list[dict[str, float]] | None = None
) -> None:
    seconds = [run["seconds"] for run in runs]
    compared = told(ratios(seconds, [run["seconds"] for run in first])) if first else ""
    scores = " / ".join(f"{runs[0][key]:.4f}"[1:] for key in ("p1", "p3", "p5"))
    lrap = "" if np.isnan(runs[0]["lrap"]) else f"{runs[0]['lrap']:.4f}"[1:]
    table.row(name, side, spread(seconds), compared, scores, lrap)


def main() -> None:
    common = parser(__doc__ or "", repeat=3)
    common.add_argument("--choose", action="store_true", help="print what choices on a quarter of the rows come from")
    args = options(common)
    threadpool_limits(1)
    table = Table("case | side | seconds | ratio | precision at 1 / 3 / 5 | LRAP", texts=2)
    for name in SETS[:1] if args.quick else SETS:
        if args.only not in name:
            continue
        data = named(name)
        X, X_test, y, y_test = (sp.csr_array(part) for part in (data.X, data.X_test, data.y, data.y_test))
        if args.choose:
            kept, held = parts(X.shape[0])
            for rounds in (20, 40, 60, 100):
                fit = lambda X, y, m=rounds: recipe(X, y, rounds=m)  # noqa: E731
                found = measure(fit, X[kept], y[kept], X[held], y[held])
                row(table, f"{name}, held out", f"recipe, {rounds} rounds", [found])
        sides: dict[str, Callable[[Any, Any], Fitted]] = dict(OURS)
        for peer in PEERS:
            if args.no_peer:
                continue
            if is_absent(peer):
                table.row(name, peer, "not installed")
                continue
            sides[f"{peer}, defaults, as it comes"] = PEERS[peer]["defaults"]
            if not args.quick:
                best, fit = chosen(peer, X, y, table if args.choose else None)
                sides[best] = fit
        runs: dict[str, list[dict[str, float]]] = {side: [] for side in sides}
        for turn in range(args.repeat):
            for side in sides if turn % 2 == 0 else reversed(sides):
                runs[side].append(measure(sides[side], X, y, X_test, y_test))
        for side, of_side in runs.items():
            row(table, name, side, of_side, None if side == "recipe" else runs["recipe"])
        if args.json:
            append(args.json, {"set": name, "runs": runs})


if __name__ == "__main__":
    main()
