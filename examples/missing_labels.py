"""
An unknown label is not a zero
==============================

A compound was measured in some of twelve assays, a patient had some of the tests, people tagged a part of the
pictures. It is tempting to count what is unknown as 0. What does that cost, and what do labels that are left out
(NaN) give instead?
"""

# %%
# Twelve labels, known here and there
# -----------------------------------
#
# Which labels are known is no accident: samples with a large last feature were looked at more often, as some families
# of compounds are. The labels themselves do not depend on it.

import time

import matplotlib.pyplot as plt
import numpy as np
import weald
from weald.metrics import roc_auc

# sphinx_gallery_start_ignore
try:
    import pictures  # without a display, plt.show writes files
except ImportError:
    pictures = None  # a copy of this file alone
# sphinx_gallery_end_ignore

print(
    "An unknown label is not a zero: twelve labels, of which many are unknown,\n"
    "counted as 0 or left out. Area under the ROC curve (1 is best) and mean\n"
    "probability on test samples."
)
plt.rcParams["axes.prop_cycle"] = plt.cycler(color=["#0072B2", "#D55E00", "#009E73"])

rng = np.random.default_rng(0)
X = rng.normal(size=(2000, 12))
properties = np.column_stack([X[:, :3].sum(axis=1), X[:, 3:6].sum(axis=1)])
scores = properties @ rng.normal(size=(2, 12)) + rng.normal(size=(2000, 12))
Y = (scores > 1).astype(float)
X_train, X_test, Y_train, Y_test = X[:1000], X[1000:], Y[:1000], Y[1000:]
interest = 1 / (1 + np.exp(-2 * X_train[:, -1:]))  # .5 on average

# %%
# Three ways
# ----------


def forest():
    return weald.RandomForestClassifier(
        n_estimators=30, criterion="entropy", min_samples_leaf=3, random_state=0
    )


def as_zeros(known):
    return forest().fit(X_train, np.nan_to_num(known)).predict_proba(X_test)


def as_nan(known):
    return forest().fit(X_train, known).predict_proba(X_test)


def label_by_label(known):
    columns = []
    for y in known.T:
        there = ~np.isnan(y)
        one = forest().fit(X_train[there], y[there].astype(int))
        columns.append(one.predict_proba(X_test)[:, 1])
    return np.column_stack(columns)


ways = {
    "unknown is 0": as_zeros,
    "unknown is NaN": as_nan,
    "a forest for each label": label_by_label,
}
nan, zero = "unknown is NaN", "unknown is 0"
shares = [1.0, 0.5, 0.2, 0.1]
areas = {way: [] for way in ways}
means = {way: [] for way in ways}
seconds = dict.fromkeys(ways, 0.0)
heads = map("{:>25s}".format, ways)
print(f"\n{'known labels':>13s}{'whole samples':>15s}", *heads)
for share in shares:
    chance = 1 if share == 1 else 2 * share * interest
    is_known = rng.random(Y_train.shape) < chance
    known = np.where(is_known, Y_train, np.nan)
    cells = []
    for way, predict in ways.items():
        begun = time.perf_counter()
        found = predict(known)
        seconds[way] += time.perf_counter() - begun
        areas[way].append(roc_auc(Y_test, found))
        means[way].append(found.mean())
        cells.append(f"{areas[way][-1]:17.3f}{means[way][-1]:8.3f}")
    print(f"{is_known.mean():13.0%}{is_known.all(axis=1).sum():15d}", *cells)
print(f"{'frequency of labels':>28s}", f"{Y_test.mean():25.3f}" * len(ways))
print(f"{'seconds':>28s}", *(f"{seconds[way]:25.1f}" for way in ways))

# %%
# Counted as 0, unknown labels teach the forest who was looked at: probabilities shrink with the share of known
# labels, and samples are ranked worse, too. If they are left out, the forest lacks only what they would have told. A
# forest for each label, on the samples for which it is known, ranks about as well here, and is twelve models in place
# of one. Keeping only the samples of which all labels are known is no way: soon there are none.

figure, axes = plt.subplots(1, 2, figsize=(7.2, 4.2), layout="constrained")
for values, ax in ((areas, axes[0]), (means, axes[1])):
    for marker, way in zip("sod", ways, strict=True):
        ax.plot(shares, values[way], marker=marker, markersize=8, label=way)
    ax.set_xscale("log")
    ax.set_xlim(1.15, 0.085)
    ax.set_xticks(shares, [f"{share:.0%}" for share in shares])
    ax.minorticks_off()
    ax.set_xlabel("labels that are known")
axes[0].set_ylabel("area under the ROC curve, test samples")
axes[1].set_ylabel("mean probability, test samples")
frequency = Y_test.mean()
axes[1].axhline(frequency, color="0.3", linestyle=":", label="frequency of labels")
axes[1].set_ylim(0)
figure.legend(
    *axes[1].get_legend_handles_labels(),
    loc="outside lower center",
    ncols=2,
    frameon=False,
)
figure.suptitle(
    f"With {shares[-1]:.0%} of the labels known: an area of "
    f"{areas[nan][-1]:.2f} with NaN, {areas[zero][-1]:.2f} with 0",
    fontsize=11,
)
plt.show()

area, mean = ({way: found[way][-1] for way in ways} for found in (areas, means))
print(
    f"\nConclusion: with {shares[-1]:.0%} of the labels known, the area is "
    f"{area[nan]:.3f} with NaN and {area[zero]:.3f} with 0, and the mean "
    f"probability {mean[nan]:.3f} and {mean[zero]:.3f}; "
    f"{frequency:.3f} of the labels are 1."
)
