"""Completes handwritten digits: the lower half of each from its upper half, spinney beside scikit-learn.

    python examples/digits_completion.py               32 pixels in, 32 pixels out: a table and a picture
    DATA=folder python examples/digits_completion.py   a table for your data set: labels, classes or numbers

Environment: DATA (a folder with X_train, X_test, Y_train, Y_test as .npz and meta.json), TREES (50),
JOBS (1), REPEAT (3, with DATA 1), PEER=0 leaves scikit-learn out, PEER=1 insists on it.
"""

from __future__ import annotations

import os
import pickle
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import sklearn.ensemble
import spinney
from sklearn.datasets import load_digits
from sklearn.metrics import (
    accuracy_score,
    label_ranking_average_precision_score,
    mean_squared_error,
    r2_score,
)
from spinney.datasets import load_npz_folder
from spinney.metrics import precision_at_k

OUT = Path(__file__).resolve().parent / "out"
TREES = int(os.environ.get("TREES", "50"))
JOBS = int(os.environ.get("JOBS", "1"))
# scikit-learn holds every label of every node: beyond this many bytes for the forest it is left out.
PEER_BYTES = 2.5e9


@dataclass
class Run:
    """One forest, fitted and asked."""

    name: str
    model: Any
    output: np.ndarray
    fit_seconds: float
    predict_seconds: float
    model_bytes: int


def progress(text: str) -> None:
    """One line, on a terminal only."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def run(name: str, model: Any, X: Any, y: Any, X_test: Any, method: str, repeat: int) -> Run:
    """Fits and predicts `repeat` times; medians of the times."""
    fits, predictions, output = [], [], None
    for turn in range(repeat):
        progress(f"{name}: {turn + 1} of {repeat}")
        start = time.perf_counter()
        model.fit(X, y)
        fits.append(time.perf_counter() - start)
        start = time.perf_counter()
        output = getattr(model, method)(X_test)
        predictions.append(time.perf_counter() - start)
    progress("")
    size = len(pickle.dumps(model, protocol=5))
    return Run(name, model, np.asarray(output), statistics.median(fits), statistics.median(predictions), size)


def table(header: list[str], rows: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = []
    for cells in [header, ["-" * w for w in widths], *rows]:
        first, *others = (c.rjust(w) for c, w in zip(cells, widths, strict=True))
        lines.append("  ".join([first.strip().ljust(widths[0]), *others]))
    return "\n".join(lines)


def costs(r: Run) -> list[str]:
    return [
        f"{r.fit_seconds:.3f} s",
        f"{1000 * r.predict_seconds:.1f} ms",
        f"{r.model_bytes:,}".replace(",", " "),
    ]


COSTS = ["fit", "predict", "bytes"]


def forests(task: str) -> list[tuple[str, Any]]:
    """Random forest and extra-trees from both libraries, same parameters."""
    params = {"n_estimators": TREES, "n_jobs": JOBS, "random_state": 0}
    return [
        (f"{library.__name__.split('.')[0]} {kind}", getattr(library, kind + task)(**params))
        for library in (spinney, sklearn.ensemble)
        for kind in ("RandomForest", "ExtraTrees")
    ]


def explained(y: np.ndarray, output: np.ndarray) -> float:
    """R2 of all pixels together: those at the border hardly vary, and would drown the others in a plain mean."""
    return r2_score(y, output, multioutput="variance_weighted")


def digits() -> None:
    images, classes = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(images))
    images, classes = (images[order] / 16).astype(np.float32), classes[order]
    X, y = images[:, :32], images[:, 32:].astype(float)
    train, test = slice(0, 1200), slice(1200, None)
    repeat = int(os.environ.get("REPEAT", "3"))
    runs = [run(n, m, X[train], y[train], X[test], "predict", repeat) for n, m in forests("Regressor")]
    rows = [
        [
            r.name,
            f"{mean_squared_error(y[test], r.output):.5f}",
            f"{explained(y[test], r.output):.4f}",
            *costs(r),
        ]
        for r in runs
    ]
    print(f"Lower half of a digit from its upper half: 1200 digits to learn from, {len(X[test])} to complete,")
    print(f"{TREES} trees, n_jobs={JOBS}, median of {repeat} runs\n")
    print(table(["forest", "squared error", "R2", *COSTS], rows))
    print(f"\ncompleted digits: {picture(X[test], y[test], runs, classes[test])}")


def picture(X: np.ndarray, y: np.ndarray, runs: list[Run], classes: np.ndarray) -> Path:
    """One test digit of each class: truth, then what each forest made of its upper half."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    shown = [int(np.flatnonzero(classes == c)[0]) for c in range(10)]
    columns = [("truth", y), *((r.name.replace(" ", "\n"), r.output) for r in runs)]
    figure, axes = plt.subplots(len(shown), len(columns), figsize=(1.5 * len(columns), 1.35 * len(shown)))
    for line, i in zip(axes, shown, strict=True):
        for axis, (title, lower) in zip(line, columns, strict=True):
            axis.imshow(np.concatenate([X[i], lower[i]]).reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
            axis.axhline(3.5, color="tab:red", linewidth=0.8)
            axis.set_xticks([]), axis.set_yticks([])
            if i == shown[0]:
                axis.set_title(title, fontsize=9)
    OUT.mkdir(exist_ok=True)
    path = OUT / "digits_completion.png"
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    return path


def peers_wanted(X: Any, n_outputs: int) -> str | None:
    """Why scikit-learn is left out; None when it runs."""
    wish = os.environ.get("PEER", "")
    if wish == "0":
        return "PEER=0"
    # A fully grown tree has up to two nodes for each row, 8 bytes for each of their outputs.
    expected = 2 * X.shape[0] * n_outputs * 8 * TREES
    if wish != "1" and expected > PEER_BYTES:
        return f"its forests may take {expected / 1e9:.0f} GB each (fewer TREES help, PEER=1 insists)"
    return None


def data_set(folder: Path) -> None:
    X, X_test, y, y_test, meta, *_ = load_npz_folder(folder)
    repeat = int(os.environ.get("REPEAT", "1"))
    if not hasattr(X, "indptr") and np.isnan(X).any():
        complete = ~(np.isnan(X).any(axis=0) | np.isnan(X_test).any(axis=0))
        print(f"{int((~complete).sum())} of {X.shape[1]} features have missing values and are left out")
        X, X_test = X[:, complete], X_test[:, complete]
    task, sparse_y = meta["task"], hasattr(y, "indptr")
    n_outputs = y.shape[1] if y.ndim == 2 else len(np.unique(y)) if task != "regression" else 1
    regression = task == "regression"
    method = "predict_proba" if sparse_y else "predict"
    reason = peers_wanted(X, n_outputs)
    runs = []
    for name, model in forests("Regressor" if regression else "Classifier"):
        if name.startswith("spinney"):
            runs.append(run(name, model, X, y, X_test, method, repeat))
        elif reason is None and sparse_y:
            # The peer takes dense labels only, and is faster when it regresses on them.
            make = getattr(sklearn.ensemble, name.split()[1] + "Regressor")
            peer = make(max_features="sqrt", n_estimators=TREES, n_jobs=JOBS, random_state=0)
            runs.append(run(name, peer, X, y.toarray().astype(float), X_test, "predict", repeat))
        elif reason is None:
            runs.append(run(name, model, X, y, X_test, method, repeat))
    print(f"{meta['name']}: {X.shape[0]} rows, {X.shape[1]} features, {n_outputs} outputs ({task}),")
    print(f"{TREES} trees, n_jobs={JOBS}, median of {repeat} run(s)")
    if reason:
        print(f"scikit-learn is left out: {reason}")
    print()
    if sparse_y:
        truth = y_test.toarray()
        header = ["LRAP", "precision@1", "@3", "@5"]
        rows = [
            [f"{label_ranking_average_precision_score(truth, r.output):.4f}"]
            + [f"{precision_at_k(y_test, r.output, k=k):.4f}" for k in (1, 3, 5)]
            for r in runs
        ]
    else:
        header, score = ("R2", r2_score) if regression else ("accuracy", accuracy_score)
        header, rows = [header], [[f"{score(y_test, r.output):.4f}"] for r in runs]
    print(
        table(
            ["forest", *header, *COSTS],
            [[r.name, *row, *costs(r)] for r, row in zip(runs, rows, strict=True)],
        )
    )
    if sparse_y:
        show_labels(runs[0], X_test, y_test)
    elif not regression:
        print(f"\nfirst rows: true {y_test[:10].tolist()}, predicted {runs[0].output[:10].tolist()}")


def show_labels(r: Run, X_test: Any, y_test: Any) -> None:
    print(f"\nfive first labels of {r.name} (score; * marks a true one), and the true labels")
    indices, scores = r.model.predict_topk(X_test[:5], 5)
    for i, (labels, values) in enumerate(zip(indices, scores, strict=True)):
        true = set(y_test[[i]].indices.tolist())
        shown = "  ".join(f"{j}{'*' if j in true else ''} ({v:.2f})" for j, v in zip(labels, values, strict=True))
        print(f"  row {i}: {shown}   true: {sorted(true)}")


if __name__ == "__main__":
    folder = os.environ.get("DATA")
    data_set(Path(folder)) if folder else digits()
