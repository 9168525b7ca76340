"""
Explain predictions
===================

Feature importances say which features matter to a model as a whole; Shapley values say which features move the
prediction of one sample away from the mean. The package shap is not needed.
"""

# %%
# A forest for the progress of diabetes
# -------------------------------------

import matplotlib.pyplot as plt
import numpy as np
import weald
from sklearn.datasets import load_diabetes
from sklearn.inspection import permutation_importance
from sklearn.model_selection import train_test_split

# sphinx_gallery_start_ignore
try:
    import pictures  # without a display, plt.show writes files
except ImportError:
    pictures = None  # a copy of this file alone
# sphinx_gallery_end_ignore

print(
    "Explain predictions: which features matter to a forest that predicts the "
    "progress of\n"
    "diabetes, and which move the prediction of one patient away from the mean."
)
X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
forest = weald.RandomForestRegressor(min_samples_leaf=5, random_state=0).fit(
    X_train, y_train
)
print(f"\nR² on {len(X_test)} test samples: {forest.score(X_test, y_test):.2f}")

# %%
# Feature importances
# -------------------
# ``feature_importances_`` is how much the splits on a feature decrease the impurity of the training samples, as a share
# of the whole decrease. Permutation importance is how much the score on test samples decreases if the values of a
# feature are shuffled: it is in the unit of the score, and near zero for a feature that does not help with new samples.
# For sparse ``X``, use ``weald.inspection.permutation_importance``.

shuffled = permutation_importance(forest, X_test, y_test, n_repeats=30, random_state=0)
names = np.array(forest.feature_names_in_)
order = np.argsort(shuffled.importances_mean)

figure, axes = plt.subplots(1, 2, figsize=(7.2, 4), sharey=True, layout="constrained")
figure.suptitle(f"The forest needs {names[order[-1]]} and {names[order[-2]]} most")
axes[0].barh(names[order], forest.feature_importances_[order], color="#0072B2")
axes[0].set(xlabel="share of the decrease of impurity")
axes[0].set_title("training samples", fontsize=10)
axes[1].barh(
    names[order],
    shuffled.importances_mean[order],
    xerr=shuffled.importances_std[order],
    color="#0072B2",
    ecolor="0.1",
)
axes[1].axvline(0, color="0.35", linewidth=0.8)
axes[1].set(xlabel="decrease of R² (bar: ± 1 std)")
axes[1].set_title("test samples, shuffled", fontsize=10)
plt.show()

# %%
# Shapley values
# --------------
# They are in the unit of the target, and together with the base value, the mean prediction, they add up to the
# prediction.

found = weald.inspection.shap_values(forest, X_test)
predicted = forest.predict(X_test)
sums = found.base_values + found.values.sum(axis=1)
base, first = float(np.ravel(found.base_values)[0]), found.values[0]
mean = np.abs(found.values).mean(axis=0)

print(
    f"\n{'feature':10s}{'impurity':>10s}{'decrease of R²':>17s}"
    f"{'mean |Shapley|':>17s}{'Shapley, one sample':>22s}"
)
for j in np.argsort(-mean):
    print(
        f"{names[j]:10s}{forest.feature_importances_[j]:10.1%}"
        f"{shuffled.importances_mean[j]:17.3f}{mean[j]:17.1f}{first[j]:+22.1f}"
    )
print(f"{'base value':54s}{base:22.1f}\n{'prediction':54s}{predicted[0]:22.1f}")

order = np.argsort(mean)
figure, axes = plt.subplots(1, 2, figsize=(7.2, 3.8), layout="constrained")
figure.suptitle(
    f"{names[order[-1]]} moves predictions most, by {mean.max():.0f} on average"
)
axes[0].barh(names[order], mean[order], color="#0072B2")
axes[0].set(xlabel="mean of |Shapley value|, units of the target")
axes[0].set_title(f"all {len(X_test)} test samples", fontsize=10)

axes[1].barh(
    names[order], first[order], color=np.where(first[order] > 0, "#D55E00", "#0072B2")
)
axes[1].axvline(0, color="0.35", linewidth=0.8)
axes[1].set(xlabel="Shapley value, units of the target")
axes[1].set_title(
    f"one sample: mean {base:.0f}, predicted {predicted[0]:.0f}", fontsize=10
)
plt.show()

# %%
# Partial dependence
# ------------------
# The mean prediction for given values of one feature, by one walk over the trees.

dependence = weald.inspection.partial_dependence(forest, X_train, ["bmi"])
averages = dependence["average"][0]
figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
ax.plot(dependence["grid_values"][0], averages, color="#0072B2")
ax.set(
    xlabel="body mass index, kg/m²",
    ylabel="mean predicted progress of diabetes",
    title=(
        f"From the least to the greatest bmi: {averages[0]:.0f} to {averages[-1]:.0f}"
    ),
)
plt.show()

print(
    f"\nConclusion: {names[order[-1]]} moves predictions most, by {mean.max():.1f} "
    "on average;"
    " base value and Shapley values add up to each prediction, within "
    f"{np.abs(sums - predicted).max():.0e}."
)
