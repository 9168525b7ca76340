"""
Tag documents
=============

Texts in, tags out, with reasons. The documents are the descriptions of the functions and classes of NumPy, SciPy and
scikit-learn; the tags of a document are the names of its parameters, and its module. There are several hundred tags,
most of them rare.
"""

# %%
# The documents
# -------------
# The section that describes the parameters is left out of the texts, so that tags have to be predicted from the rest.

import importlib
import inspect
import re

import matplotlib.pyplot as plt
import numpy as np
import weald
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MultiLabelBinarizer
from weald.metrics import precision_at_k, recall_at_k

plt.style.use("tableau-colorblind10")

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
    f"{len(texts)} documents, {X_train.shape[1]} words, {Y.shape[1]} tags,",
    f"{Y.nnz / len(texts):.1f} tags per document",
)

# %%
# The best tags of each document
# ------------------------------
# One random forest is fitted to all tags. With ``label_weight="balanced"``, rare tags influence the splits, too, and
# ``keep_rows=True`` makes it possible to ask later which training samples a prediction comes from.

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
ax.plot(ks, recall, "s-", color="C5")
ax.text(
    1.3, 0.86, "precision: share of the predicted tags that are correct", color="C0"
)
ax.text(1.7, 0.33, "recall: share of the correct tags that are predicted", color="C5")
ax.set(
    xlabel="number of predicted tags for each document",
    ylabel="mean over the test documents",
    xticks=ks,
    ylim=(0, 1),
    title=f"{len(test)} test documents, {Y.shape[1]} tags",
)
plt.show()

# %%
# How many tags to predict
# ------------------------
# ``predict`` returns the tags with a probability above one half, which rare tags seldom reach. With thresholds that are
# tuned on out-of-bag scores, more of them are predicted.

models = {"probability above 1/2": forest}
for objective in ("f1", "micro_f1"):
    untuned = weald.RandomForestClassifier(
        label_weight="balanced", random_state=0, n_jobs=-1
    )
    tuned = weald.multilabel.TunedThresholds(untuned, objective=objective)
    models[f"tuned for {objective}"] = tuned.fit(X_train, Y[train])

print(
    f"{'thresholds':24s}{'micro F1':>10s}{'macro F1':>10s}"
    f"{'documents without a tag':>26s}"
)
for name, model in models.items():
    named = model.predict(X_test)
    f1 = [
        f1_score(Y[test], named, average=average, zero_division=0)
        for average in ("micro", "macro")
    ]
    without = np.mean(np.diff(named.tocsr().indptr) == 0)
    print(f"{name:24s}{f1[0]:10.3f}{f1[1]:10.3f}{without:26.0%}")

# %%
# Why a document has its tags
# ---------------------------
# For three documents: the best tags (an asterisk marks the right ones), the training documents from which they come,
# and the words that are most important for the first tag.

words = vectorizer.get_feature_names_out()
weights = weald.inspection.similar_rows(forest, X_test[:3], k=3)
for i, named in enumerate(forest.topk_names(X_test[:3], 5)):
    right = set(tag_names[Y[[test[i]]].indices])
    similar = weights[[i]]
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
