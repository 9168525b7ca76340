"""What holds for every estimator from its first fit to its file: tests that go through the table `EVERY`."""

from __future__ import annotations

import numpy as np
import pytest
from every import CLASSES, EVERY, NUMBERS, Entry, mask_of, problem, public_classes, with_categories
from scipy import sparse


def test_the_table_has_every_public_class_with_fit():
    assert {entry.cls for entry in EVERY.values()} == set(public_classes())


def attempt(entry: Entry, X, y, **fit) -> bool:
    """Whether the fit ends without a refusal of the input."""
    try:
        entry.build(**fit.pop("params", {})).fit(X, y, **fit)
    except (TypeError, ValueError):
        return False
    return True


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores", "ignore:X has feature names")
@pytest.mark.parametrize("name", EVERY)
def test_what_the_table_says_is_true(name):
    entry = EVERY[name]
    for kind in CLASSES + NUMBERS:
        X, y = problem(kind)
        # Regressors take labels and classes that are numbers for numerical outputs.
        if kind in entry.outputs or entry.is_classifier or kind in ("class", "classes"):
            assert attempt(entry, X, y) == (kind in entry.outputs), kind
        if kind in entry.outputs and kind not in ("class", "number"):
            assert attempt(entry, X, y, y_mask=mask_of(y)) == (kind in entry.masks), kind
    X, y = problem(entry.outputs[0])
    assert attempt(entry, sparse.csr_array(X), y) == attempt(entry, sparse.csc_array(X), y) == entry.sparse
    assert attempt(entry, np.where(X > 1, np.nan, X), y) == entry.missing
    assert attempt(entry, X, y, sample_weight=np.arange(len(X)) % 3) == entry.weights
    assert attempt(entry, with_categories(X), y) == entry.categories
