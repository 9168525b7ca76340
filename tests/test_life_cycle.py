"""What holds for every estimator from its first fit to its file: tests that go through the table `EVERY`."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from every import CLASSES, EVERY, MASKED, NUMBERS, PAIRS, Entry, mask_of, problem, public_classes, with_categories
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


# --- signatures -------------------------------------------------------------------------------------------------------


def public_methods(cls) -> dict[str, inspect.Signature]:
    names = [name for name in dir(cls) if not name.startswith("_") and callable(getattr(cls, name, None))]
    return {name: inspect.signature(getattr(cls, name)) for name in names}


def by_position(signature) -> list[str]:
    accepted = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [name for name, parameter in signature.parameters.items() if parameter.kind in accepted]


CLASSES_OF_TABLE = list(dict.fromkeys(entry.cls for entry in EVERY.values()))


@pytest.mark.parametrize("cls", CLASSES_OF_TABLE)
def test_fit_and_score_have_one_signature(cls):
    methods = public_methods(cls)
    for name in ("fit", "score"):
        assert by_position(methods[name]) == ["self", "X", "y", "sample_weight"]
        assert list(methods[name].parameters)[4] == "y_mask"
        assert methods[name].parameters["y_mask"].kind is inspect.Parameter.KEYWORD_ONLY
        assert methods[name].parameters["y_mask"].default is methods[name].parameters["sample_weight"].default is None


def test_an_argument_by_position_is_the_same_in_every_estimator():
    positions = {}
    for cls in CLASSES_OF_TABLE:
        for name, signature in public_methods(cls).items():
            positions.setdefault(name, {}).setdefault(tuple(by_position(signature)), []).append(cls.__name__)
    assert {name: found for name, found in positions.items() if len(found) > 1} == {}


@pytest.mark.parametrize("name", EVERY)
def test_a_mask_by_position_is_refused(name):
    X, y = problem(EVERY[name].outputs[-1])
    model = EVERY[name].build()
    mask = np.ones(y.shape, dtype=bool)
    with pytest.raises(TypeError, match="positional"):
        model.fit(X, y, None, mask)
    with pytest.raises(TypeError, match="positional"):
        model.fit(X, y).score(X, y, None, mask)


@pytest.mark.parametrize(("name", "kind"), [pair for pair in PAIRS if pair[1] in MASKED])
def test_entries_that_are_masked_are_not_scored(name, kind):
    X, y = problem(kind)
    dense = y.toarray() if sparse.issparse(y) else y
    model, mask = EVERY[name].build().fit(X, y), mask_of(y)
    # Where y is masked, it may have any other value of y.
    other = np.where(mask, dense[::-1], dense)
    given = [(other, mask), (dense, sparse.csr_array(mask))]
    if kind == "labels":
        given += [(np.where(mask, np.nan, dense), None), (sparse.csr_array(other), mask)]
    scores = [model.score(X, y, y_mask=y_mask) for y, y_mask in given]
    assert len(set(scores)) == 1
    if kind == "classes":
        return  # scikit-learn has no score of several outputs of classes without unknown values
    nothing = np.zeros_like(mask)
    assert model.score(X, y, y_mask=nothing) == model.score(X, y)
    # The mask has whole samples: without these the score is the same.
    rows = np.repeat(np.arange(len(X))[:, None] % 3 == 0, y.shape[1], axis=1)
    kept = np.flatnonzero(~rows[:, 0])
    # The same terms are added up in another order, or with zeros between them.
    assert model.score(X, y, y_mask=rows) == pytest.approx(model.score(X[kept], y[kept]), rel=1e-12)
