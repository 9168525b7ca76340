"""Microseconds of the five best of 1 000 labels of one text, by `weald.Predictor` and by the model itself.

    python benches/one_text.py [--repeat 21]

Texts have 83 different words out of 20 000, frequent ones more often. The models differ in the share of weights that are
kept, so that a text has a few thousand or tens of thousands of products. Processor time: medians of rounds of 500 calls, each
with another text, with the least and the greatest.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import weald

sys.path.insert(0, str(Path(__file__).resolve().parent / "peers"))

from _harness import Table, options, parser, spread, timed

N_TEXTS, N_WORDS, N_LABELS, LENGTH = 4000, 20_000, 1000, 83
N_CALLS = 500


def texts(seed: int) -> sp.csr_array:
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(10, N_WORDS + 10)
    share /= share.sum()
    rows = [np.sort(rng.choice(N_WORDS, LENGTH, replace=False, p=share)) for _ in range(N_TEXTS)]
    counts = rng.integers(1, 4, size=N_TEXTS * LENGTH).astype(float)
    return sp.csr_array((counts, np.concatenate(rows), LENGTH * np.arange(N_TEXTS + 1)), shape=(N_TEXTS, N_WORDS))


def labels(X: sp.csr_array) -> sp.csr_array:
    """Each label is that of texts with one of its words, and of some others."""
    rng = np.random.default_rng(1)
    of_words = sp.random_array((N_WORDS, N_LABELS), density=2e-3, rng=rng, data_sampler=rng.random, format="csr")
    found = (X > 0).astype(float) @ of_words
    found.data = (found.data + 0.2 * rng.normal(size=found.nnz) > 1).astype(np.int8)
    found.eliminate_zeros()
    return found.astype(np.int8)


def measured(calls: list[Callable[[], Any]], repeat: int) -> str:
    """Microseconds of a call."""
    for call in calls[:100]:
        call()
    return spread([timed(lambda: [call() for call in calls])[0] for _ in range(repeat)], 1e-6 * len(calls))


def main() -> None:
    args = options(parser(__doc__ or "", repeat=21))
    X = texts(0)
    y = labels(X)
    new = texts(2)[:N_CALLS]
    words = np.array([f"w{j}" for j in range(N_WORDS)])
    table = Table("case | side | microseconds", texts=2)
    for min_weight in (0.03, 0.0):
        model = weald.LinearClassifier(1.0, features="tfidf", min_weight=min_weight, random_state=0).fit(X, y)
        model.feature_names_in_ = words.astype(object)
        predictor = weald.Predictor(model, absent="zero")
        n_weights = np.diff(sp.csc_array(model.coef_).indptr)
        rows = [sp.csr_array(new[[i]]) for i in range(N_CALLS)]
        n_products = np.mean([n_weights[row.indices].sum() for row in rows])
        case = f"{y.nnz / N_TEXTS:.1f} labels a text, min_weight={min_weight}, {n_products:.0f} products"
        forms = {
            "CSR, float64": rows,
            "CSR, int64": [row.astype(np.int64) for row in rows],
            "dictionary": [dict(zip(words[row.indices].tolist(), row.data.tolist(), strict=True)) for row in rows],
        }
        for name, samples in forms.items():
            for method in ("predict_topk", "predict_proba"):
                served = getattr(predictor, method)
                calls = [lambda sample=sample, served=served: served(sample) for sample in samples]
                table.row(case, f"{method}, {name}", measured(calls, args.repeat))
        engine = model._model
        singles = [row.astype(np.float32) for row in rows]
        calls = [lambda row=row, engine=engine: engine.predict_topk(row, 5) for row in singles]
        table.row(case, "engine, many samples", measured(calls, args.repeat))


if __name__ == "__main__":
    main()
