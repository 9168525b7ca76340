"""
Complete handwritten digits
===========================

Regression with many outputs: the 32 pixels of the lower half of a digit are predicted from the 32 pixels of the upper
half, by forests of weald and of scikit-learn with the same parameters.
"""

# %%
# Data
# ----

import pickle
import time

import matplotlib.pyplot as plt
import numpy as np
import sklearn.ensemble
import weald
from sklearn.datasets import load_digits
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import train_test_split

# sphinx_gallery_start_ignore
try:
    import pictures  # without a display, plt.show writes files
except ImportError:
    pictures = None  # a copy of this file alone
# sphinx_gallery_end_ignore

print(
    "Complete handwritten digits: the 32 pixels of the lower half are predicted "
    "from those of\n"
    "the upper half, by forests of weald and of scikit-learn with the same parameters."
)
images, classes = load_digits(return_X_y=True)
images = images / 16
X_train, X_test, y_train, y_test, _, classes_test = train_test_split(
    images[:, :32].astype(np.float32),
    images[:, 32:],
    classes,
    train_size=1200,
    random_state=0,
)

# %%
# Forests
# -------
# Each is fitted three times on one thread; the table has the median time.

predictions = {"truth": y_test}
errors, megabytes = {}, {}
print(f"\n{'50 trees':30s}{'squared error':>15s}{'fit':>9s}{'model':>11s}")
for library in (weald, sklearn.ensemble):
    for kind in ("RandomForestRegressor", "ExtraTreesRegressor"):
        seconds = []
        for _ in range(3):
            start = time.perf_counter()
            forest = getattr(library, kind)(
                n_estimators=50, n_jobs=1, random_state=0
            ).fit(X_train, y_train)
            seconds.append(time.perf_counter() - start)
        name = f"{library.__name__.split('.')[0]}\n{kind.removesuffix('Regressor')}"
        predictions[name] = forest.predict(X_test)
        errors[name] = mean_squared_error(y_test, predictions[name])
        megabytes[name] = len(pickle.dumps(forest)) / 1e6
        print(
            f"{name.replace(chr(10), ' '):30s}{errors[name]:15.5f}"
            f"{np.median(seconds):7.2f} s{megabytes[name]:8.1f} MB"
        )

# %%
# Pictures
# --------
# One test digit of each class. What is below the line is predicted.

ours, theirs = "weald\nExtraTrees", "sklearn\nExtraTrees"
share = megabytes[ours] / megabytes[theirs]
shown = [np.flatnonzero(classes_test == c)[0] for c in range(10)]
figure, axes = plt.subplots(
    len(predictions), len(shown), figsize=(8, 4.6), layout="constrained"
)
figure.suptitle(
    "Lower halves, predicted equally well by a model that takes "
    f"{share:.0%} of the bytes"
    if errors[ours] <= 1.01 * errors[theirs]
    else "Lower halves that are predicted from the upper halves"
)
for line, (name, lower) in zip(axes, predictions.items(), strict=True):
    for ax, i in zip(line, shown, strict=True):
        ax.imshow(
            np.concatenate([X_test[i], lower[i]]).reshape(8, 8),
            cmap="gray_r",
            vmin=0,
            vmax=1,
        )
        ax.axhline(3.5, color="#D55E00", linewidth=1)
        ax.set(xticks=[], yticks=[])
    line[0].set_ylabel(name, rotation=0, ha="right", va="center")
plt.show()

print(
    f"\nConclusion: weald's extra-trees take {share:.0%} of the bytes of "
    "scikit-learn's;"
    f" their squared error is {errors[ours]:.5f} beside {errors[theirs]:.5f}."
)
