"""
Labels in a hierarchy
=====================

A penguin is a bird, and a bird is an animal. A model that knows nothing of this may find a penguin more probable than a
bird. ``HierarchicalLabels`` makes probabilities consistent, and predicts closed sets of labels.
"""

# %%
# Forty labels below one another
# ------------------------------
#
# Each label has one parent or two among the labels before it. A sample can only have a label if it has all its parents.

import matplotlib.pyplot as plt
import numpy as np
import weald
from sklearn.model_selection import train_test_split
from weald.metrics import fmax, hierarchical_f1
from weald.multilabel import HierarchicalLabels, LabelHierarchy

# sphinx_gallery_start_ignore
try:
    import pictures  # without a display, plt.show writes files
except ImportError:
    pictures = None  # a copy of this file alone
# sphinx_gallery_end_ignore

print(
    "Labels in a hierarchy: a sample with a label has all labels above it. How often do\n"
    "probabilities of boosting break this rule, and what do consistent ones gain?"
)

rng = np.random.default_rng(0)
n_samples, n_labels, n_roots = 1000, 40, 3
parents = {
    label: rng.choice(
        label, size=min(label, rng.integers(1, 3)), replace=False
    ).tolist()
    for label in range(n_roots, n_labels)
}
hierarchy = LabelHierarchy(parents, n_labels=n_labels)

X = rng.normal(size=(n_samples, 20))
hints = X @ rng.normal(size=(20, n_labels)) / np.sqrt(20)
Y = hints + rng.normal(scale=0.7, size=hints.shape) > -0.4
for label in range(n_roots, n_labels):
    Y[:, label] &= Y[:, parents[label]].all(axis=1)
hierarchy.check(Y)
X_train, X_test, Y_train, Y_test = train_test_split(X, Y.astype(int), random_state=0)

# %%
# Three ways to consistent probabilities
# --------------------------------------
#
# The largest probability below a label, the smallest above it, or the nearest consistent ones.

boosting = weald.GradientBoostingClassifier(
    n_estimators=30, output_strategy="single_target", random_state=0
)
flat = boosting.fit(X_train, Y_train).predict_proba(X_test)
scores = {"flat": flat}
for method in ("max", "min", "isotonic"):
    model = HierarchicalLabels(boosting, hierarchy, method=method)
    scores[method] = model.fit(X_train, Y_train).predict_proba(X_test)

figures = {}
print(
    f"\n{'probabilities':15s}{'rises':>8s}{'sets not closed':>17s}{'Fmax':>8s}{'hF1':>8s}"
)
for name, found in scores.items():
    labels = (found > 0.5).astype(int)
    open_sets = np.any(labels != hierarchy.closure(labels), axis=1).sum()
    figures[name] = (hierarchy.n_violations(found), fmax(Y_test, found))
    f1 = hierarchical_f1(Y_test, labels, hierarchy)
    rises, best = figures[name]
    print(f"{name:15s}{rises:8d}{open_sets:17d}{best:8.3f}{f1:8.3f}")

# %%
# One sample
# ----------
#
# The sample in which boosting breaks the rule most often. An edge is orange where the probability rises from the parent
# to the child.

edges = np.column_stack(hierarchy.parents_.nonzero())
rises = flat[:, edges[:, 0]] > flat[:, edges[:, 1]]
sample = int(rises.sum(axis=1).argmax())
places = np.zeros((n_labels, 2))
for depth in range(hierarchy.depth_.max() + 1):
    level = np.flatnonzero(hierarchy.depth_ == depth)
    places[level] = np.column_stack(
        [(np.arange(len(level)) + 0.5) / len(level), np.full(len(level), -depth)]
    )

figure, axes = plt.subplots(1, 2, figsize=(7.2, 4.2), layout="constrained", sharey=True)
for ax, name in zip(axes, ("flat", "isotonic"), strict=True):
    found = scores[name][sample]
    for child, parent in edges:
        is_wrong = found[child] > found[parent]
        ax.plot(
            *places[[child, parent]].T,
            color="#D55E00" if is_wrong else "0.75",
            linewidth=2 if is_wrong else 1,
            zorder=1,
        )
    dots = ax.scatter(
        *places.T,
        c=found,
        cmap="Blues",
        vmin=0,
        vmax=1,
        s=90,
        edgecolor="k",
        zorder=2,
    )
    n_wrong = int(np.sum(found[edges[:, 0]] > found[edges[:, 1]]))
    ax.set_title(f"{name}: it rises on {n_wrong} edges", fontsize=10)
    ax.set_xticks([])
axes[0].set_yticks(
    range(0, -hierarchy.depth_.max() - 1, -1),
    [f"depth {depth}" for depth in range(hierarchy.depth_.max() + 1)],
)
figure.colorbar(dots, ax=axes, label="predicted probability", shrink=0.8)
plt.show()

best = max(("max", "min", "isotonic"), key=lambda name: figures[name][1])
print(
    f"\nConclusion: the probability rises {figures['flat'][0]} times "
    f"in {len(X_test)} samples; "
    f"consistent ones never rise, and have an Fmax of {figures[best][1]:.3f} ({best}) "
    f"in place of {figures['flat'][1]:.3f}."
)
