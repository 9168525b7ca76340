"""Each message that docs/faq.md quotes is raised by what a newcomer does, and nothing that is tried here is left out there."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
import real_data
import scipy.sparse as sp
import weald

N = 40
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 5))
Y = (X[:, :3] > 0).astype(int)
NUMBERS = X[:, 0]
HOLES = np.where(X > 1.5, np.nan, X)
FRAME = pd.DataFrame({"size": NUMBERS, "colour": ["a", "b"] * (N // 2)})


def classifier(**parameters):
    return weald.RandomForestClassifier(n_estimators=2, random_state=0, **parameters)


def load_something_else(folder):
    path = folder / "model.pickle"
    path.write_bytes(b"a pickle, or anything else" * 4)
    return weald.load(path)


# By the beginning of the message.
TRIED = {
    "y must be an array, a frame or a sparse matrix of numbers, classes or 0/1 labels, got lists or sets of tags": (
        lambda _: classifier().fit(X, [["a", "b"], ["a"]] * (N // 2))
    ),
    "X must have shape (n_samples, n_features) and numbers or categories, got texts": (
        lambda _: weald.LinearClassifier().fit(["cats purr"] * N, Y)
    ),
    "X must have numbers in feature 0, got 'a'": lambda _: classifier().fit(np.array([["a", 1.0]] * N, object), Y),
    "X contains NaN, which LinearClassifier does not support": lambda _: weald.LinearClassifier().fit(HOLES, Y),
    "LinearClassifier does not support text or categories": lambda _: weald.LinearClassifier().fit(FRAME, Y),
    "Input X contains infinity or a value too large for dtype('float32')": lambda _: classifier().fit(X * 1e300, Y),
    "Input y contains NaN and has one output": (
        lambda _: weald.RandomForestRegressor(n_estimators=2).fit(X, np.where(NUMBERS > 0, np.nan, NUMBERS))
    ),
    "Input y contains NaN or None among other values than numbers": (
        lambda _: classifier().fit(X, ["cat", "dog", None, "cat"] * (N // 4))
    ),
    "y must be classes, or labels of 0 and 1. Unknown label type: continuous": (lambda _: classifier().fit(X, NUMBERS)),
    "y must have numbers, got 'a'": lambda _: weald.RandomForestRegressor(n_estimators=2).fit(X, ["a", "b"] * (N // 2)),
    "y must have the values 0 and 1 for labels, got 3": lambda _: classifier().fit(X, sp.csr_array(3 * Y)),
    "Found input variables with inconsistent numbers of samples": lambda _: classifier().fit(X, Y[1:]),
    "X has 3 features, but RandomForestClassifier is expecting 5 features as input": (
        lambda _: classifier().fit(X, Y).predict(X[:, :3])
    ),
    "The feature names should match those that were passed during fit": (
        lambda _: classifier().fit(FRAME, Y).predict(FRAME.rename(columns={"size": "area"}))
    ),
    "k must be an integer from 1 to 3": lambda _: classifier().fit(X, Y).predict_topk(X, k=10),
    "class_weight='balanced' supports at most 10 labels": (
        lambda _: classifier(class_weight="balanced").fit(X, np.hstack([Y] * 4))
    ),
    "The 'loss' parameter of GradientBoostingRegressor must be a str among": (
        lambda _: weald.GradientBoostingRegressor(loss="mse").fit(X, NUMBERS)
    ),
    "GradientBoostingClassifier.fit() got an unexpected keyword argument 'eval_set'": (
        lambda _: weald.GradientBoostingClassifier().fit(X, Y, eval_set=[(X, Y)])
    ),
    "This RandomForestClassifier instance is not fitted yet": lambda _: classifier().predict(X),
    "not a valid weald model": load_something_else,
}


@pytest.mark.parametrize("message", TRIED)
def test_a_newcomer_meets_the_message_that_the_page_quotes(message, tmp_path):
    with pytest.raises((ValueError, TypeError), match="^" + re.escape(message)):
        TRIED[message](tmp_path)


def test_the_page_quotes_what_is_tried():
    page = (real_data.REPOSITORY / "docs" / "faq.md").read_text(encoding="utf-8")
    quoted = re.findall(r"^\| `([^`]+)` \|", page.partition("## Errors that one meets first")[2], re.MULTILINE)
    assert quoted == list(TRIED)
