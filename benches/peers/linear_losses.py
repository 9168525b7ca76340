"""Linear models by squared hinge and by log loss, with weights in float32 and float16, on held-out training samples.

    python benches/peers/linear_losses.py [--only bibtex]

A random quarter of the training samples of each set of text is held out; test samples are not read. Precision at 1, and the
log loss of a sample, summed over labels; processor seconds of the fit, at the defaults and of one fit with the C and features
of the first and without calibration; stored weights and bytes of the model file.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import _data
import numpy as np
import scipy.sparse as sp
import weald
from _records import environment, heading

SETS = ("bibtex", "yahoo_arts", "reuters21578_r90", "medical", "rcv1sub1", "goemotions", "delicious")
WAYS = [("squared_hinge", "float32"), ("squared_hinge", "float16"), ("log_loss", "float32"), ("log_loss", "float16")]


def scores(model: Any, X: Any, Y: Any) -> tuple[float, float]:
    """Precision at 1, and the log loss of a sample."""
    labels, _ = model.predict_topk(X, 1)
    first = np.asarray(Y[np.arange(Y.shape[0]), labels[:, 0]]).ravel() > 0
    p = np.clip(model.predict_proba(X), 1e-15, 1 - 1e-15)
    found = -np.where(Y.toarray() > 0, np.log(p), np.log1p(-p)).sum(axis=1)
    return float(first.mean()), float(found.mean())


def fitted(X: Any, Y: Any, **params: Any) -> tuple[Any, float]:
    start = time.process_time()
    model = weald.LinearClassifier(random_state=0, **params).fit(X, Y)
    return model, time.process_time() - start


def lines(name: str) -> list[str]:
    data = _data.named(name)
    X, Y = sp.csr_matrix(data.X), sp.csr_matrix(data.y)
    rows = np.random.default_rng(0).permutation(X.shape[0])
    held, kept = rows[: len(rows) // 4], rows[len(rows) // 4 :]
    found = []
    for loss, dtype in WAYS:
        model, seconds = fitted(X[kept], Y[kept], loss=loss, weight_dtype=dtype)
        chosen = {"C": model.C_, "features": model.features_}
        alone, of_one = fitted(X[kept], Y[kept], loss=loss, weight_dtype=dtype, calibrate=False, **chosen)
        precision, log_loss = scores(model, X[held], Y[held])
        _, without = scores(alone, X[held], Y[held])
        cells = (
            name,
            f"{loss}, {dtype}",
            f"{model.features_} {model.C_:g}",
            f"{precision:.4f}"[1:],
            f"{log_loss:.4f} / {without:.4f}",
            f"{seconds:.2f} / {of_one:.2f}",
            f"{alone.n_iter_}",
            f"{len(model._model.arrays()[2])}",
            f"{len(weald.dumps(model))}",
        )
        found.append(f"| {' | '.join(cells)} |")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", choices=SETS, help="measure this data set alone")
    only = parser.parse_args().only
    print(heading(environment()))
    print(
        "| set | loss | features, C | P@1 | log loss / not calibrated | fit / one fit, s | passes | weights | bytes |"
    )
    print("|---|---|---|--:|--:|--:|--:|--:|--:|")
    for name in (only,) if only else SETS:
        for line in lines(name):
            print(line, flush=True)


if __name__ == "__main__":
    main()
