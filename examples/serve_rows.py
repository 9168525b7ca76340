"""A service that predicts one row at a time, from several threads.

    python examples/serve_rows.py

A model is fitted, written to a file and loaded by the service, as it would be on another machine. Threads ask for one
row each, as the handlers of a web server do. Printed: how long a row takes. The answers are those of the model.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import spinney
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, _ = train_test_split(X, y, random_state=0)
model = spinney.RandomForestClassifier(max_depth=4, random_state=0, n_jobs=1).fit(X_train, y_train)

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "model.spinney"
    spinney.save(model, path)
    predictor = spinney.Predictor(spinney.load(path))


def answer(request: str) -> tuple[str, float]:
    """JSON of a row to JSON of a probability, and the microseconds of the prediction."""
    row = json.loads(request)
    start = time.perf_counter()
    probability = predictor.predict_proba(row)[1]
    return json.dumps({"benign": probability}), 1e6 * (time.perf_counter() - start)


requests = [json.dumps(row) for row in X_test.to_dict("records")] * 5
with ThreadPoolExecutor(4) as threads:
    answers = list(threads.map(answer, requests))

expected = model.predict_proba(X_test)[:, 1].tolist() * 5
assert [json.loads(text)["benign"] for text, _ in answers] == expected
print(f"{len(answers)} rows of {X.shape[1]} named features, {len(model.estimators_)} trees, 4 threads")
print(f"median {statistics.median(took for _, took in answers):.0f} microseconds a row, JSON not counted")

row = X_test.to_numpy()[0]
times = []
for _ in range(2000):
    start = time.perf_counter()
    predictor.predict(row)
    times.append(1e6 * (time.perf_counter() - start))
print(f"median {statistics.median(times):.1f} microseconds for a row that is an array, one thread")
