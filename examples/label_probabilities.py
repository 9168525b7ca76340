"""
Calibrated probabilities of labels
==================================

Of the labels for which a model predicts a probability of 0.3, three in ten should be true. A reliability curve shows
whether this is so, and ``CalibratedLabels`` corrects probabilities that are too low or too high.
"""

# %%
# Data with twenty labels
# -----------------------

import matplotlib.pyplot as plt
import numpy as np
import weald
from sklearn.datasets import make_multilabel_classification
from sklearn.model_selection import train_test_split
from weald.multilabel import CalibratedLabels, LabelReliabilityDisplay

# sphinx_gallery_start_ignore
try:
    import pictures  # without a display, plt.show writes files
except ImportError:
    pictures = None  # a copy of this file alone
# sphinx_gallery_end_ignore

print(
    "Calibrated probabilities of labels: of the labels with a probability of 0.3, "
    "three in ten\n"
    "should be true. How near to this is a forest, as it is and calibrated?"
)
plt.rcParams["axes.prop_cycle"] = plt.cycler(color=["#0072B2", "#D55E00"])

X, Y = make_multilabel_classification(
    4000, n_features=60, n_classes=20, n_labels=3, random_state=0
)
X_train, X_test, Y_train, Y_test = train_test_split(X, Y, random_state=0)

# %%
# A forest, as it is and calibrated
# ---------------------------------

forest = weald.ExtraTreesClassifier(random_state=0, n_jobs=-1)
models = {
    "forest": forest.fit(X_train, Y_train),
    "calibrated": CalibratedLabels(
        weald.ExtraTreesClassifier(random_state=0, n_jobs=-1), random_state=0
    ).fit(X_train, Y_train),
}

# %%
# The calibration error is how far the curve is from the diagonal, on average over all predicted probabilities.

figure, ax = plt.subplots(figsize=(5.5, 5.2), layout="constrained")
curves = {
    name: LabelReliabilityDisplay.from_estimator(
        model, X_test, Y_test, name=name, ax=ax
    )
    for name, model in models.items()
}

errors = {}
print(f"\n{'model':12s}{'probability':>13s}{'share that is true':>21s}{'labels':>9s}")
for name, curve in curves.items():
    cells = [
        values[0]
        for values in (curve.mean_probability, curve.fraction_true, curve.n_cells)
    ]
    for probability, true, n in zip(*cells, strict=True):
        print(f"{name:12s}{probability:13.2f}{true:21.2f}{n:9.0f}")
    errors[name] = np.average(np.abs(cells[0] - cells[1]), weights=cells[2])
    print(f"{name:12s}   calibration error {errors[name]:.3f}")

ax.set_aspect("equal")
ax.legend(loc="lower right")
ax.set_title(
    f"Calibration error {errors['calibrated']:.3f} instead of {errors['forest']:.3f}"
)
plt.show()

print(
    f"\nConclusion: calibrated probabilities are {errors['calibrated']:.3f} away "
    "from the shares that are true,"
    f" those of the forest {errors['forest']:.3f}."
)
