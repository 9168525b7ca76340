"""
Compress a forest
=================

Extra-trees are grown, a sparse linear model over all their nodes is fitted, and the nodes that it does not use are
removed. The fit computes a whole path, from a single node to many; cross-validation finds where to cut it, and
smaller models can be cut from it afterwards. An induced forest is the other way: it is grown node by node, within the
nodes of the same extra-trees, until its number of nodes is reached.
"""

# %%
# Two forests, three cuts of each path, and an induced forest
# -----------------------------------------------------------
# The induced forest gets as many nodes as the cross-validated model has coefficients.

import pickle

import matplotlib.pyplot as plt
import weald
from sklearn.datasets import load_diabetes, load_digits
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split
from weald.inspection import CompressionPathDisplay

# sphinx_gallery_start_ignore
try:
    import pictures  # without a display, plt.show writes files
except ImportError:
    pictures = None  # a copy of this file alone
# sphinx_gallery_end_ignore

print(
    "Compress a forest: a sparse linear model over the nodes of extra-trees keeps "
    "the few that\n"
    "matter, so that predictions need a small part of the splits."
)
plt.rcParams["axes.prop_cycle"] = plt.cycler(color=["#0072B2", "#D55E00"])
problems = {
    "diabetes": (
        load_diabetes,
        weald.ExtraTreesRegressor,
        weald.CompressedForestRegressor,
        weald.InducedForestRegressor,
        "R²",
    ),
    "digits": (
        load_digits,
        weald.ExtraTreesClassifier,
        weald.CompressedForestClassifier,
        weald.InducedForestClassifier,
        "accuracy",
    ),
}

compressed, scores = {}, {}
for problem, (load, Forest, Compressed, Induced, measure) in problems.items():
    X, y = load(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    forest = Forest(50, random_state=0, n_jobs=-1).fit(X_train, y_train)
    model = Compressed(FrozenEstimator(forest), cv=3, random_state=0, n_jobs=-1).fit(
        X_train, y_train
    )
    compressed[problem] = model
    rows = {
        "50 extra-trees": (forest, sum(tree.tree_.node_count // 2 for tree in forest)),
        "cross-validated": (model, model.n_test_nodes_),
    }
    for share in (2, 4):
        smaller = model.at(model.l1_norm_ / share)
        rows[f"1/{share} of its norm"] = smaller, smaller.n_test_nodes_
    n_nodes = int(model.path_["n_nonzero"][model.step_])
    induced = Induced(FrozenEstimator(forest), n_nodes=n_nodes, random_state=0)
    induced.fit(X_train, y_train)
    rows["induced, its nodes"] = induced, induced.n_test_nodes_
    print(f"\n{problem:24s}{measure:>10s}{'splits':>9s}{'model':>12s}")
    for name, (found, n_splits) in rows.items():
        kilobytes = len(pickle.dumps(found)) / 1000
        score = scores[problem, name] = found.score(X_test, y_test)
        print(f"   {name:21s}{score:10.3f}{n_splits:9d}{kilobytes:9.0f} kB")

# %%
# Error against size
# ------------------
# The vertical line is where cross-validation cuts the path; the band is one standard deviation over the folds on each
# side.

figure, axes = plt.subplots(1, 2, figsize=(7.2, 3.8), layout="constrained")
for ax, (problem, model) in zip(axes, compressed.items(), strict=True):
    CompressionPathDisplay.from_estimator(model, against="n_test_nodes", ax=ax)
    ax.set_ylabel("squared error")
    ax.get_legend().remove()
    ax.set_title(
        f"{problem}: one of {model.compression_ratio_:.0f} splits is left", fontsize=10
    )
figure.legend(
    *axes[0].get_legend_handles_labels(),
    loc="outside lower center",
    ncols=4,
    frameon=False,
)
plt.show()

# %%
# The same path against the norm of the coefficients shows how error and size go together.

figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
CompressionPathDisplay.from_estimator(compressed["digits"], ax=ax)
ax.set_ylabel("squared error of the classes' indicators")
ax.set_title(
    "digits: cross-validation cuts the path at "
    f"{compressed['digits'].n_test_nodes_} splits",
    fontsize=10,
)
plt.show()

found = [
    f"{problem}: one of {model.compression_ratio_:.0f} splits is left, "
    f"{problems[problem][-1]}"
    f" {scores[problem, 'cross-validated']:.3f} instead of "
    f"{scores[problem, '50 extra-trees']:.3f}"
    for problem, model in compressed.items()
]
print(f"\nConclusion: {'; '.join(found)}.")
