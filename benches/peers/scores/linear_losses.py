"""Linear models by squared hinge and by log loss, with weights in float32 and float16, on held-out training samples.

    python benches/peers/scores/linear_losses.py [--only bibtex]

A random quarter of the training samples of each set of text is held out; test samples are not read. Precision at 1, and the
log loss of a sample, summed over labels; processor seconds of the fit, at the defaults and of one fit with the C and features
of the first and without calibration; stored weights and bytes of the model file.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import weald

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _data import named
from _harness import Table, options, parser, timed

SETS = ("bibtex", "yahoo_arts", "reuters21578_r90", "medical", "rcv1sub1", "goemotions", "delicious")
WAYS = [("squared_hinge", "float32"), ("squared_hinge", "float16"), ("log_loss", "float32"), ("log_loss", "float16")]


def scores(model: Any, X: Any, Y: Any) -> tuple[float, float]:
    """Precision at 1, and the log loss of a sample."""
    labels, _ = model.predict_topk(X, 1)
    first = np.asarray(Y[np.arange(Y.shape[0]), labels[:, 0]]).ravel() > 0
    p = np.clip(model.predict_proba(X), 1e-15, 1 - 1e-15)
    found = -np.where(Y.toarray() > 0, np.log(p), np.log1p(-p)).sum(axis=1)
    return float(first.mean()), float(found.mean())


def fitted(X: Any, Y: Any, **params: Any) -> tuple[float, Any]:
    return timed(lambda: weald.LinearClassifier(random_state=0, **params).fit(X, Y))


def rows(name: str, table: Table) -> None:
    data = named(name)
    X, Y = sp.csr_matrix(data.X), sp.csr_matrix(data.y)
    rows = np.random.default_rng(0).permutation(X.shape[0])
    held, kept = rows[: len(rows) // 4], rows[len(rows) // 4 :]
    for loss, dtype in WAYS:
        seconds, model = fitted(X[kept], Y[kept], loss=loss, weight_dtype=dtype)
        chosen = {"C": model.C_, "features": model.features_}
        of_one, alone = fitted(X[kept], Y[kept], loss=loss, weight_dtype=dtype, calibrate=False, **chosen)
        precision, log_loss = scores(model, X[held], Y[held])
        _, without = scores(alone, X[held], Y[held])
        table.row(
            name,
            f"{loss}, {dtype}",
            f"{seconds:.2f} / {of_one:.2f}",
            f"{len(weald.dumps(model)) / 1e6:.3g}",
            f"{precision:.4f}"[1:],
            f"{log_loss:.4f} / {without:.4f}",
            f"{model.features_} {model.C_:g}",
            alone.n_iter_,
            len(model._model.arrays()[2]),
        )


def main() -> None:
    args = options(parser(__doc__ or ""))
    columns = "case | side | fit / one fit, s | model, MB | precision at 1 | log loss / not calibrated | features, C"
    table = Table(f"{columns} | passes | weights", texts=2)
    for name in (name for name in SETS if args.only in name):
        rows(name, table)


if __name__ == "__main__":
    main()
