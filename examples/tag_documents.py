"""Tags documents: text in, tags out, with thresholds, and what speaks for them.

    python examples/tag_documents.py     a table, three documents with their tags and why, and a plot

The documents are descriptions of the functions and classes of numpy, scipy and scikit-learn, without the part that
describes the parameters. The tags of a document are the names of its parameters, and the module that it is in: some
hundred tags, of which most are rare.

Environment: TREES (100), JOBS (-1).
"""

from __future__ import annotations

import importlib
import inspect
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import spinney
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import f1_score
from sklearn.preprocessing import MultiLabelBinarizer
from spinney.inspection import feature_importances, similar_rows
from spinney.metrics import precision_at_k, recall_at_k
from spinney.multilabel import TunedThresholds

OUT = Path(__file__).resolve().parent / "out"
TREES = int(os.environ.get("TREES", "100"))
JOBS = int(os.environ.get("JOBS", "-1"))
MODULES = [
    "numpy",
    "numpy.fft",
    "numpy.linalg",
    "numpy.ma",
    "numpy.polynomial",
    "numpy.random",
    "scipy.cluster.hierarchy",
    "scipy.fft",
    "scipy.integrate",
    "scipy.interpolate",
    "scipy.linalg",
    "scipy.ndimage",
    "scipy.optimize",
    "scipy.signal",
    "scipy.sparse",
    "scipy.sparse.linalg",
    "scipy.spatial",
    "scipy.spatial.distance",
    "scipy.special",
    "scipy.stats",
    "sklearn.cluster",
    "sklearn.datasets",
    "sklearn.decomposition",
    "sklearn.ensemble",
    "sklearn.feature_extraction.text",
    "sklearn.feature_selection",
    "sklearn.linear_model",
    "sklearn.manifold",
    "sklearn.metrics",
    "sklearn.neighbors",
    "sklearn.neural_network",
    "sklearn.preprocessing",
    "sklearn.svm",
    "sklearn.tree",
    "sklearn.utils",
]
# Tags of fewer documents are left out.
LEAST = 5


def documents() -> tuple[list[str], list[str], list[list[str]]]:
    """Names, texts and tags."""
    names, texts, tags, seen = [], [], [], set()
    for module in map(importlib.import_module, MODULES):
        for name in sorted(getattr(module, "__all__", dir(module))):
            thing = getattr(module, name, None)
            described = inspect.getdoc(thing) if callable(thing) and not name.startswith("_") else None
            if described is None or len(described) < 300 or described in seen:
                continue
            seen.add(described)
            names.append(f"{module.__name__}.{name}")
            texts.append(without_parameters(described))
            tags.append([module.__name__, *parameters(thing)])
    return names, texts, tags


def without_parameters(text: str) -> str:
    """What comes before the first section, but for a line of the call, and the notes."""
    text = re.sub(r"\A\w+\(.*\n", "", text)
    sections = re.split(r"\n(?=[A-Z][A-Za-z ]+\n-{3,}\n)", text)
    return "\n".join([sections[0], *(part for part in sections[1:] if part.startswith("Notes\n"))])


def parameters(thing: Any) -> list[str]:
    """Names of parameters, where they are told."""
    try:
        names = list(inspect.signature(thing).parameters)
    except (TypeError, ValueError):
        return []
    return [f"{name}=" for name in names if len(name) > 1 and name not in ("self", "args", "kwargs", "kwds")]


def plot(precision: list[float], recall: list[float]) -> Path:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(5, 3.4))
    places = np.arange(1, len(precision) + 1)
    axis.plot(places, precision, "o-", label="precision: tags that are right")
    axis.plot(places, recall, "s-", label="recall: tags of a document that are named")
    axis.set(xlabel="tags named of each document", ylim=(0, 1), title="Documents of the test part")
    axis.legend(fontsize=8)
    figure.tight_layout()
    OUT.mkdir(exist_ok=True)
    path = OUT / "tag_documents.png"
    figure.savefig(path, dpi=120)
    return path


def main() -> None:
    names, texts, tags = documents()
    binarizer = MultiLabelBinarizer(sparse_output=True)
    Y = binarizer.fit_transform(tags).tocsc()
    kept = np.flatnonzero(np.diff(Y.indptr) >= LEAST)
    Y, tag_names = Y[:, kept].tocsr(), binarizer.classes_[kept]

    order = np.random.default_rng(0).permutation(len(names))
    train, test = np.split(order, [len(names) * 3 // 4])
    words = TfidfVectorizer(sublinear_tf=True, stop_words="english", token_pattern=r"[A-Za-z]{3,}", min_df=2)
    X = words.fit_transform([texts[i] for i in train])
    X_test = words.transform([texts[i] for i in test])
    print(f"{len(names)} documents, {X.shape[1]} words, {Y.shape[1]} tags; a document has {Y.nnz / len(names):.1f}")

    params = {"n_estimators": TREES, "n_jobs": JOBS, "random_state": 0}
    print("\nprecision at 1, 3, 5   without and with label_weight")
    for weight in (None, "balanced"):
        forest = spinney.RandomForestClassifier(**params, label_weight=weight, keep_rows=True)
        forest.fit(X, Y[train], label_names=tag_names)
        found = forest.predict_topk(X_test, 10)
        print("   ".join(f"{precision_at_k(Y[test], found, k):.3f}" for k in (1, 3, 5)), f"   {weight}")

    print("\nwhich tags to name     micro F1   macro F1   documents without a tag")
    ways = {"scores above 1/2": forest}
    for objective in ("f1", "micro_f1"):
        tuned = TunedThresholds(spinney.RandomForestClassifier(**params, label_weight="balanced"), objective=objective)
        ways[f"tuned for {objective}"] = tuned.fit(X, Y[train])
    for way, model in ways.items():
        named = model.predict(X_test)
        f1 = [f1_score(Y[test], named, average=average, zero_division=0) for average in ("micro", "macro")]
        empty = np.mean(np.diff(named.tocsr().indptr) == 0)
        print(f"{way:20s}   {f1[0]:8.3f}   {f1[1]:8.3f}   {empty:8.0%}")

    weights = similar_rows(forest, X_test[:3], k=3)
    vocabulary = words.get_feature_names_out()
    for row, its_tags in enumerate(forest.topk_names(X_test[:3], 5)):
        right = set(tag_names[Y[[test[row]]].indices])
        print(f"\n{names[test[row]]}: {' '.join(texts[test[row]].split()[:12])} ...")
        print("   tags (* is right):", ", ".join(f"{tag}{'*' * (tag in right)}" for tag in its_tags))
        of_row = weights[[row]]
        nearest = of_row.indices[np.argsort(-of_row.data)]
        print("   as in:", ", ".join(names[train[i]] for i in nearest))
        strong = np.argsort(-feature_importances(forest, outputs=[its_tags[0]]))[:6]
        print(f"   words that tell {its_tags[0]}:", ", ".join(vocabulary[strong]))

    places = range(1, 11)
    precision = [precision_at_k(Y[test], found, k) for k in places]
    print(f"\nplot: {plot(precision, [recall_at_k(Y[test], found, k) for k in places])}")


if __name__ == "__main__":
    main()
