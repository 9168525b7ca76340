"""
Early stopping of boosting
==========================

The fit holds out some training samples, stops when their loss no longer decreases, and keeps the stages up to the
best one. The losses of other sets are recorded during the fit.
"""

import time

import matplotlib.pyplot as plt
import weald
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from weald.inspection import BoostingCurveDisplay

# sphinx_gallery_start_ignore
try:
    import pictures  # without a display, plt.show writes files
except ImportError:
    pictures = None  # a copy of this file alone
# sphinx_gallery_end_ignore

plt.rcParams["axes.prop_cycle"] = plt.cycler(color=["#0072B2", "#D55E00", "#009E73"])

print(
    "Early stopping of boosting: a fit of at most 500 stages holds out some "
    "training samples\n"
    "and stops when their loss no longer decreases."
)

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

accuracies, seconds = {}, {}
print(f"\n{'':16s}{'stages kept':>12s}{'fit':>9s}{'test accuracy':>16s}")
for name, early_stopping in (("all stages", False), ("early stopping", True)):
    model = weald.GradientBoostingClassifier(
        n_estimators=500,
        learning_rate=0.3,
        early_stopping=early_stopping,
        n_iter_no_change=20,
        random_state=0,
    )
    start = time.perf_counter()
    model.fit(X_train, y_train, eval_sets={"test": (X_test, y_test)})
    seconds[name] = time.perf_counter() - start
    accuracies[name] = model.score(X_test, y_test)
    print(
        f"{name:16s}{model.n_estimators_:12d}{seconds[name]:7.2f} s"
        f"{accuracies[name]:16.3f}"
    )

# %%
# The losses of the fit that stopped. The log scale shows the changes below 0.1.

figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
display = BoostingCurveDisplay.from_estimator(model, ax=ax)
ax.set_yscale("log")
ax.set_title(f"{model.n_estimators_} of at most 500 stages are kept")
plt.show()

print(
    "\nConclusion: with early stopping the fit takes "
    f"{seconds['early stopping'] / seconds['all stages']:.0%}"
    f" of the time; the accuracy is {accuracies['early stopping']:.3f} beside "
    f"{accuracies['all stages']:.3f}."
)
