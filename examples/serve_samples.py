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
import sklearn.ensemble
import weald
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

# sphinx_gallery_start_ignore
try:
    import pictures  # without a display, plt.show writes files
except ImportError:
    pictures = None  # a copy of this file alone
# sphinx_gallery_end_ignore

print(
    "Serve predictions for single samples: a forest of 100 trees is saved, loaded "
    "and asked for\n"
    "one sample at a time by four threads, and beside scikit-learn's forest."
)
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
    f"\n{len(answers)} samples of {X.shape[1]} named features, "
    f"{len(model.estimators_)} trees, 4 threads: the answers of the model, bit for bit"
)

# %%
# How long a sample takes
# -----------------------
# A sample that is an array takes less time than one whose features have to be found by name. scikit-learn's forest has
# the same parameters, and one thread as well.


def microseconds(predict, sample, n_calls):
    """The time of each call."""
    times = np.empty(n_calls)
    for i in range(n_calls):
        start = time.perf_counter()
        predict(sample)
        times[i] = 1e6 * (time.perf_counter() - start)
    return times


peer = sklearn.ensemble.RandomForestClassifier(max_depth=4, random_state=0, n_jobs=1)
peer.fit(X_train.to_numpy(), y_train)
sample = X_test.to_numpy()[0]
times = {
    "Predictor, array": microseconds(predictor.predict_proba, sample, 2000),
    "Predictor, features by name": by_name,
    "model.predict_proba": microseconds(model.predict_proba, X_test[:1], 200),
    "scikit-learn": microseconds(peer.predict_proba, sample[np.newaxis], 200),
}
medians = {name: np.median(values) for name, values in times.items()}

figure, ax = plt.subplots(figsize=(7.2, 4.2), layout="constrained")
print(f"\n{'one sample':30s}{'median':>12s}{'99 of 100 below':>19s}")
for (name, values), color in zip(
    times.items(), ("#0072B2", "#D55E00", "#009E73", "#AA4499"), strict=True
):
    median = medians[name]
    ax.ecdf(values, color=color, label=f"{name}: median {median:.0f} µs")
    print(f"{name:30s}{median:9.1f} µs{np.quantile(values, 0.99):16.1f} µs")
ax.set(
    xscale="log",
    xlabel="time of one prediction, µs (log scale)",
    ylabel="share of predictions that take less",
    title=f"The median prediction takes {medians['Predictor, array']:.0f} µs",
)
figure.legend(
    loc="outside lower center", ncols=2, frameon=False, labelcolor="linecolor"
)
plt.show()

print(
    f"\nConclusion: a Predictor takes {medians['Predictor, array']:.1f} µs for a "
    "sample, scikit-learn's forest"
    f" {medians['scikit-learn']:.0f} µs."
)
