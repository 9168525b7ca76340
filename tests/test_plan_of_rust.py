"""The defaults of the crate are those of the package: `boost/tests/auto.rs` fits the same data to the same bits."""

from __future__ import annotations

import re
from functools import reduce
from pathlib import Path

import numpy as np
import weald
from scipy import sparse

SOURCE = Path(__file__).resolve().parents[1] / "crates" / "weald" / "src" / "boost" / "tests" / "auto.rs"


def test_fits_of_the_crate_are_those_of_the_package(monkeypatch):
    rows, columns = np.arange(90)[:, np.newaxis], np.arange(12)
    X = (rows * (7 + 4 * np.arange(4)) % 13).astype(np.float32)
    y = X[:, columns % 4].astype(float) + (rows * 31 % 17) / 4
    labels = sparse.csr_array((rows * 5 + columns * 3) % 7 == 0, dtype=np.int8)
    classes = (y[:, 0] / 6).astype(int)
    monkeypatch.setattr("weald._fit.boosting.draw_seed", lambda _: 5)
    regressor, classifier = weald.GradientBoostingRegressor, weald.GradientBoostingClassifier
    found = []
    for estimator, targets in ((regressor, y[:, 0]), (classifier, classes), (regressor, y), (classifier, labels)):
        model = estimator().fit(X, targets)
        predict = model.predict if estimator is regressor else model.predict_proba
        predicted = np.atleast_1d(np.asarray(predict(X)[7], dtype=np.float64))
        mixed = reduce(lambda a, b: (a << 5 | a >> 59) & (1 << 64) - 1 ^ int(b), predicted.view(np.uint64), 0)
        found.append((model.n_estimators_, mixed))
    text = " ".join(SOURCE.read_text(encoding="utf-8").split())
    [pairs] = re.findall(r"\(found\.1, found\.2\)\), (\[.*?\]) \);", text)
    assert found == [tuple(map(int, pair)) for pair in re.findall(r"\((\d+), ([\d_]+)\)", pairs)]
