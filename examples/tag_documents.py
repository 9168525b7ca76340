"""
Tag documents
=============

Texts in, tags out, with reasons, and a comparison with scikit-learn's forest. The documents are the descriptions of the
functions and classes of NumPy, SciPy and scikit-learn; the tags of a document are the names of its parameters, and its
module. There are several hundred tags, most of them rare.
"""

# %%
# The documents
# -------------
# The section that describes the parameters is left out of the texts, so that tags have to be predicted from the rest.

import importlib
import inspect
import pickle
import re
import time

import matplotlib.pyplot as plt
import numpy as np
import sklearn.ensemble
import weald
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MultiLabelBinarizer
from weald.metrics import precision_at_k, recall_at_k

# sphinx_gallery_start_ignore
try:
    import pictures  # without a display, plt.show writes files
except ImportError:
    pictures = None  # a copy of this file alone
# sphinx_gallery_end_ignore

plt.rcParams["axes.prop_cycle"] = plt.cycler(color=["#0072B2", "#D55E00"])
print(
    "Tag documents: the parameters and the module of functions of NumPy, SciPy and\n"
    "scikit-learn are predicted from their descriptions, by forests of weald and "
    "scikit-learn."
)

# fmt: off
MODULES = [
    "numpy", "numpy.fft", "numpy.linalg", "numpy.ma", "numpy.polynomial",
    "numpy.random", "scipy.cluster.hierarchy", "scipy.fft", "scipy.integrate",
    "scipy.interpolate", "scipy.linalg", "scipy.ndimage", "scipy.optimize",
    "scipy.signal", "scipy.sparse", "scipy.sparse.linalg", "scipy.spatial",
    "scipy.spatial.distance", "scipy.special", "scipy.stats", "sklearn.cluster",
    "sklearn.datasets", "sklearn.decomposition", "sklearn.ensemble",
    "sklearn.feature_extraction.text", "sklearn.feature_selection",
    "sklearn.linear_model", "sklearn.manifold", "sklearn.metrics",
    "sklearn.neighbors", "sklearn.neural_network", "sklearn.preprocessing",
    "sklearn.svm", "sklearn.tree", "sklearn.utils",
]
# fmt: on


def without_parameters(text):
    """The summary and the notes of a docstring."""
    text = re.sub(r"\A\w+\(.*\n", "", text)  # the line that shows a call
    first, *sections = re.split(r"\n(?=[A-Z][A-Za-z ]+\n-{3,}\n)", text)
    return "\n".join(
        [first, *(section for section in sections if section.startswith("Notes\n"))]
    )


def parameters(thing):
    """Names of parameters, as far as Python knows them."""
    try:
        names = list(inspect.signature(thing).parameters)
    except (TypeError, ValueError):
        return []
    return [
        f"{name}="
        for name in names
        if len(name) > 1 and name not in ("self", "args", "kwargs", "kwds")
    ]


titles, texts, tags = [], [], []
for module in map(importlib.import_module, MODULES):
    for name in sorted(getattr(module, "__all__", dir(module))):
        thing = getattr(module, name, None)
        text = (
            inspect.getdoc(thing)
            if callable(thing) and not name.startswith("_")
            else None
        )
        text = without_parameters(text) if text and len(text) >= 300 else None
        if text and text not in texts:
            titles.append(f"{module.__name__}.{name}")
            texts.append(text)
            tags.append([module.__name__, *parameters(thing)])

# %%
# Sparse features and sparse labels
# ---------------------------------
# Words become tf-idf features and tags a sparse matrix of 0 and 1. Tags of fewer than five documents are left out.

binarizer = MultiLabelBinarizer(sparse_output=True)
Y = binarizer.fit_transform(tags).tocsc()
frequent = np.flatnonzero(np.diff(Y.indptr) >= 5)
Y, tag_names = Y[:, frequent].tocsr(), binarizer.classes_[frequent]

train, test = train_test_split(np.arange(len(texts)), random_state=0)
vectorizer = TfidfVectorizer(
    sublinear_tf=True, stop_words="english", token_pattern=r"[A-Za-z]{3,}", min_df=2
)
X_train = vectorizer.fit_transform(texts[i] for i in train)
X_test = vectorizer.transform(texts[i] for i in test)
print(
    f"\n{len(texts)} documents, {X_train.shape[1]} words, {Y.shape[1]} tags,",
    f"{Y.nnz / len(texts):.1f} tags per document",
)

# %%
# Beside scikit-learn
# -------------------
# Two forests with the same parameters, each fitted on one thread. The labels are sparse for weald; scikit-learn needs
# them dense, and each of its leaves has a number for every tag.

first_right, fit_seconds, megabytes = {}, {}, {}
print(f"\n{'20 trees':16s}{'fit':>9s}{'model':>12s}{'first tag is right':>21s}")
for library in (weald, sklearn.ensemble):
    name = library.__name__.removesuffix(".ensemble")
    labels = Y[train] if library is weald else Y[train].toarray()
    forest = library.RandomForestClassifier(20, random_state=0, n_jobs=1)
    start = time.perf_counter()
    forest.fit(X_train, labels)
    fit_seconds[name] = time.perf_counter() - start
    megabytes[name] = len(pickle.dumps(forest)) / 1e6
    if library is weald:
        first = forest.predict_topk(X_test, 1)[0]
    else:
        # Tags that no training document has are in one class only.
        scores = [
            p[:, 1] if p.shape[1] > 1 else 0 * p[:, 0]
            for p in forest.predict_proba(X_test)
        ]
        first = np.argmax(scores, axis=0)[:, np.newaxis]
    first_right[name] = precision_at_k(Y[test], first, 1)
    print(
        f"{name:16s}{fit_seconds[name]:7.2f} s{megabytes[name]:9.1f} MB"
        f"{first_right[name]:21.1%}"
    )

# %%
# The best tags of each document
# ------------------------------
# One random forest of 100 trees is fitted to all tags. With ``label_weight="balanced"``, rare tags influence the
# splits, too, and ``keep_rows=True`` makes it possible to ask later which training samples a prediction comes from.

forest = weald.RandomForestClassifier(
    label_weight="balanced", keep_rows=True, random_state=0, n_jobs=-1
)
forest.fit(X_train, Y[train], label_names=tag_names)
best = forest.predict_topk(X_test, 10)

ks = np.arange(1, 11)
precision = [precision_at_k(Y[test], best, k) for k in ks]
recall = [recall_at_k(Y[test], best, k) for k in ks]

figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
ax.plot(ks, precision, "o-", color="C0")
ax.plot(ks, recall, "s-", color="C1")
ax.text(
    1.3, 0.88, "precision: share of the predicted tags that are correct", color="C0"
)
ax.text(1.7, 0.33, "recall: share of the correct tags that are predicted", color="C1")
ax.set(
    xlabel="number of predicted tags for each document",
    ylabel=f"mean over {len(test)} test documents",
    xticks=ks,
    ylim=(0, 1),
    title=(
        f"The best of {Y.shape[1]} tags is right for {precision[0]:.0%} of the "
        "documents"
    ),
)
plt.show()

# %%
# How many tags to predict
# ------------------------
# ``predict`` returns the tags with a probability above one half, which rare tags seldom reach. With thresholds that are
# tuned on out-of-bag scores, more of them are predicted.

models, macro_f1, untagged = {"probability above 1/2": forest}, {}, {}
for objective in ("f1", "micro_f1"):
    untuned = weald.RandomForestClassifier(
        label_weight="balanced", random_state=0, n_jobs=-1
    )
    tuned = weald.multilabel.TunedThresholds(untuned, objective=objective)
    models[f"tuned for {objective}"] = tuned.fit(X_train, Y[train])

print(
    f"\n{'thresholds':24s}{'micro F1':>10s}{'macro F1':>10s}"
    f"{'documents without a tag':>26s}"
)
for name, model in models.items():
    named = model.predict(X_test)
    micro_f1, macro_f1[name] = (
        f1_score(Y[test], named, average=average, zero_division=0)
        for average in ("micro", "macro")
    )
    untagged[name] = np.mean(np.diff(named.tocsr().indptr) == 0)
    print(f"{name:24s}{micro_f1:10.3f}{macro_f1[name]:10.3f}{untagged[name]:26.0%}")

# %%
# Why a document has its tags
# ---------------------------
# For three documents, one with a high, one with a medium and one with a low probability of its first tag: the best
# tags (an asterisk marks the right ones), the training documents from which they come, and the words that are most
# important for the first tag. A tag that ends with = is a parameter.

words = vectorizer.get_feature_names_out()
by_probability = np.argsort(best[1][:, 0])
shown = by_probability[[-len(test) // 4, len(test) // 2, len(test) // 4]]
weights = weald.inspection.similar_rows(forest, X_test[shown], k=3)
print("\nReasons for the tags of three documents (* marks a right tag)")
for line, named in enumerate(forest.predict_topk(X_test[shown], 5, names=True)[0]):
    i = shown[line]
    right = set(tag_names[Y[[test[i]]].indices])
    similar = weights[[line]]
    important = np.argsort(
        -weald.inspection.feature_importances(forest, outputs=[named[0]])
    )[:6]
    print(titles[test[i]])
    print("   tags:", ", ".join(f"{tag}{'*' * (tag in right)}" for tag in named))
    print(
        "   as in:",
        ", ".join(titles[train[j]] for j in similar.indices[np.argsort(-similar.data)]),
    )
    print(f"   words for {named[0]}:", ", ".join(words[important]))

usual, tuned = "probability above 1/2", "tuned for f1"
print(
    f"\nConclusion: weald fits {fit_seconds['sklearn'] / fit_seconds['weald']:.0f} "
    "times as fast as scikit-learn, the"
    f" model takes {megabytes['weald'] / megabytes['sklearn']:.1%} of the bytes; "
    "tuned thresholds:"
    f" macro F1 {macro_f1[tuned]:.2f}, not {macro_f1[usual]:.2f}."
)
