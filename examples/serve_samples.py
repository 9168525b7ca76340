"""
Serve predictions for single samples
====================================

A model is fitted, written to a file and loaded by a service, as it would be on another machine. Four threads ask for
one sample each, as the handlers of a web server do.
"""

# %%
# The model and the service
# -------------------------

import json
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import weald
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, _ = train_test_split(X, y, random_state=0)
model = weald.RandomForestClassifier(max_depth=4, random_state=0, n_jobs=1).fit(
    X_train, y_train
)

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "model.safetensors"
    weald.save(model, path)
    predictor = weald.Predictor(weald.load(path))


def answer(request):
    """A JSON object of features in, one with a probability out; and the time."""
    sample = json.loads(request)
    start = time.perf_counter()
    probability = predictor.predict_proba(sample)[1]
    return json.dumps({"benign": probability}), 1e6 * (time.perf_counter() - start)


# %%
# Requests from four threads
# --------------------------
# The answers are those of the model, bit for bit.

requests = [json.dumps(sample) for sample in X_test.to_dict("records")] * 5
with ThreadPoolExecutor(4) as threads:
    answers = list(threads.map(answer, requests))

expected = model.predict_proba(X_test)[:, 1].tolist() * 5
assert [json.loads(text)["benign"] for text, _ in answers] == expected
by_name = np.array([microseconds for _, microseconds in answers])
print(
    f"{len(answers)} samples of {X.shape[1]} named features, "
    f"{len(model.estimators_)} trees, 4 threads"
)

# %%
# How long a sample takes
# -----------------------
# A sample that is an array takes less time than one whose features have to be found by name.

sample = X_test.to_numpy()[0]
from_array = np.empty(2000)
for i in range(len(from_array)):
    start = time.perf_counter()
    predictor.predict(sample)
    from_array[i] = 1e6 * (time.perf_counter() - start)

figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
for times, name, color in (
    (from_array, "array", "#0072B2"),
    (by_name, "features by name", "#D55E00"),
):
    ax.ecdf(times, color=color)
    median = np.median(times)
    ax.annotate(
        f"{name}:\nmedian {median:.0f} µs",
        (median, 0.5),
        (8, -12),
        textcoords="offset points",
        color=color,
    )
    print(f"{name}: median {median:.1f} microseconds")
ax.set(
    xscale="log",
    xlabel="time of one prediction, µs (log scale)",
    ylabel="share of samples that take less",
)
plt.show()
