"""
Categories and missing values
=============================

A table has a column of cities, and numbers of which some are missing. Trees of weald take both as they are: a split
sends any set of cities to one side, and missing values to the side that suits them. What is that worth beside one-hot
columns, codes and medians in place of missing values?
"""

# %%
# Rents in 24 cities
# ------------------
#
# Cities are expensive or cheap, in no order. The age of a house is missing more often where the house is old.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import weald
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

# sphinx_gallery_start_ignore
try:
    import pictures  # without a display, plt.show writes files
except ImportError:
    pictures = None  # a copy of this file alone
# sphinx_gallery_end_ignore

print(
    "Categories and missing values: rents by city, age and size. As they are, or\n"
    "encoded and filled in before? R² of one tree on test samples, 1 is best."
)
plt.rcParams["axes.prop_cycle"] = plt.cycler(
    color=["#0072B2", "#D55E00", "#009E73", "#B2558F"]
)

rng = np.random.default_rng(0)
n = 3000
cities = np.array(list("ABCDEFGHIJKLMNOPQRSTUVWX"))
level = rng.choice([0.0, 4.0, 8.0], size=24)
city, age, size = (
    rng.integers(24, size=n),
    rng.uniform(0, 100, n),
    rng.uniform(20, 120, n),
)
rent = 10 + level[city] - 0.05 * age - 0.02 * size + rng.normal(scale=1.5, size=n)
is_missing = rng.random(n) < (age / 100) ** 2
X = pd.DataFrame(
    {
        "city": pd.Categorical(cities[city]),
        "age": np.where(is_missing, np.nan, age),
        "size": size,
    }
)
X_train, X_test, y_train, y_test = train_test_split(X, rent, random_state=0)

# %%
# Four ways
# ---------


def first(*transformers):
    """Steps before a tree that encode columns and leave the others as they are."""
    columns = make_column_transformer(*transformers, remainder="passthrough")
    return columns.set_output(transform="pandas")


before = {
    "as they are": (),
    "one-hot cities": (first((OneHotEncoder(sparse_output=False), ["city"])),),
    "codes of cities": (first((OrdinalEncoder(), ["city"])),),
    "median for missing": (first((SimpleImputer(strategy="median"), ["age"])),),
}
n_leaves = [2, 4, 8, 16, 32, 64]
scores = {way: [] for way in before}
print(f"\n{'leaves':>20s}", *(f"{n:6d}" for n in n_leaves))
for way, steps in before.items():
    for leaves in n_leaves:
        tree = weald.DecisionTreeRegressor(max_leaf_nodes=leaves, random_state=0)
        model = make_pipeline(*steps, tree).fit(X_train, y_train)
        scores[way].append(model.score(X_test, y_test))
    print(f"{way:>20s}", *(f"{score:6.3f}" for score in scores[way]))

# %%
# One split on a set of cities does what takes many splits on single cities, and the order of codes means nothing.
# Medians in place of missing values cost little: a tree can find the houses that have exactly this age. A tree shows
# which cities are alike, and where houses of unknown age go:

tree = weald.DecisionTreeRegressor(max_leaf_nodes=4, random_state=0)
print()
print(weald.inspection.export_rules(tree.fit(X_train, y_train)))

# %%

figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
for marker, (way, found) in zip("osd^", scores.items(), strict=True):
    ax.plot(n_leaves, found, marker=marker, label=way)
ax.set_xscale("log", base=2)
ax.set_xticks(n_leaves, [str(n) for n in n_leaves])
ax.set_xlabel("leaves of the tree")
ax.set_ylabel("R² on test samples")
ax.legend(loc="lower right")
at = n_leaves.index(16)
ax.set_title(
    f"R² of {n_leaves[at]} leaves: {scores['as they are'][at]:.2f} as they are, "
    f"{scores['one-hot cities'][at]:.2f} with one-hot cities",
    fontsize=11,
)
plt.show()

others = ", ".join(
    f"{found[at]:.3f} with {way}" for way, found in list(scores.items())[1:]
)
plain = scores["as they are"][at]
print(
    f"\nConclusion: a tree of {n_leaves[at]} leaves has an R² of {plain:.3f} "
    f"on the columns as they are, {others}."
)
