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

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
forest = weald.RandomForestRegressor(min_samples_leaf=5, random_state=0).fit(
    X_train, y_train
)
print(f"R² on the test samples: {forest.score(X_test, y_test):.2f}")

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

figure, axes = plt.subplots(1, 2, figsize=(7.2, 3.8), sharey=True, layout="constrained")
axes[0].barh(names[order], forest.feature_importances_[order], color="#0072B2")
axes[0].set(xlabel="share of the decrease of impurity", title="training samples")
axes[1].barh(
    names[order],
    shuffled.importances_mean[order],
    xerr=shuffled.importances_std[order],
    color="#0072B2",
    ecolor="0.35",
)
axes[1].axvline(0, color="0.35", linewidth=0.8)
axes[1].set(xlabel="decrease of R² (bar: ± 1 std)", title="test samples, shuffled")
plt.show()

# %%
# Shapley values
# --------------
# They are in the unit of the target, and together with the base value, the mean prediction, they add up to the
# prediction.

found = weald.inspection.shap_values(forest, X_test)
assert np.allclose(found.base_values + found.values.sum(axis=1), forest.predict(X_test))

order = np.argsort(np.abs(found.values).mean(axis=0))
figure, axes = plt.subplots(1, 2, figsize=(7.2, 3.6), layout="constrained")
axes[0].barh(names[order], np.abs(found.values).mean(axis=0)[order], color="#0072B2")
axes[0].set(xlabel="mean of |Shapley value|", title=f"all {len(X_test)} test samples")

first = found.values[0]
axes[1].barh(
    names[order], first[order], color=np.where(first[order] > 0, "#D55E00", "#0072B2")
)
axes[1].axvline(0, color="0.35", linewidth=0.8)
axes[1].set(
    xlabel="Shapley value",
    title=f"one sample, predicted {forest.predict(X_test[:1])[0]:.0f}",
)
plt.show()

# %%
# Partial dependence
# ------------------
# The mean prediction for given values of one feature, by one walk over the trees.

dependence = weald.inspection.partial_dependence(forest, X_train, ["bmi"])
figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
ax.plot(dependence["grid_values"][0], dependence["average"][0], color="#0072B2")
ax.set(xlabel="body mass index, kg/m²", ylabel="mean predicted progress of diabetes")
plt.show()
