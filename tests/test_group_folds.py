"""Folds of groups with labels: groups stay together, and labels are as frequent in all folds as groups allow."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import sklearn.model_selection as theirs
import weald
from conftest import unless
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from weald import model_selection
from weald.model_selection import (
    MultilabelStratifiedGroupKFold,
    MultilabelStratifiedKFold,
    cross_val_predict,
    cross_validate,
)


def loss(Y, fold, n_splits):
    """The sum of the squared differences of the shares of folds in labels and in samples from those of equal folds."""
    columns = [column for column in np.column_stack([Y, np.ones(len(Y))]).T if column.any()]
    shares = [[column[fold == j].sum() / column.sum() for column in columns] for j in range(n_splits)]
    return float(((np.array(shares) - 1 / n_splits) ** 2).sum())


def fold_of(splits, n):
    fold = np.full(n, -1)
    for j, (train, test) in enumerate(splits):
        assert (fold[test] < 0).all()
        fold[test] = j
        np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(n))
        assert (np.diff(train) > 0).all()
        assert (np.diff(test) > 0).all()
    assert (fold >= 0).all()
    return fold


def best_after_a_move(Y, group, fold, n_splits):
    """The smallest loss of folds in which one group is in another fold, and no fold is empty."""
    losses = []
    for g in set(group):
        for j in range(n_splits):
            other = np.where(group == g, j, fold)
            if len(set(other)) == n_splits:
                losses.append(loss(Y, other, n_splits))
    return min(losses)


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_splits = draw(st.integers(2, 4))
    n_groups = draw(st.integers(n_splits, 12))
    n, d = draw(st.integers(n_groups, 40)), draw(st.integers(1, 5))
    group = np.concatenate([np.arange(n_groups), (n_groups * rng.random(n - n_groups) ** 2).astype(int)])
    Y = (rng.random((n, d)) < rng.choice([0.0, 0.1, 0.5, 1.0], d)).astype(int)
    return Y, rng.permutation(group), n_splits, rng


@settings(max_examples=80, deadline=None)
@given(problem=problems())
def test_groups_stay_together_and_labels_are_no_less_balanced_than_by_size_alone(problem):
    Y, group, n_splits, rng = problem
    cv = MultilabelStratifiedGroupKFold(n_splits)
    fold = fold_of(cv.split(None, Y, group), len(Y))
    assert all(len(set(fold[group == g])) == 1 for g in set(group))
    assert set(fold) == set(range(n_splits))
    equal = fold_of(theirs.GroupKFold(n_splits).split(Y, Y, group), len(Y))
    found = loss(Y, fold, n_splits)
    # The same terms in another order.
    assert found <= loss(Y, equal, n_splits) + 1e-12
    # No move of one group makes the loss smaller, unless folds of equal size are better still.
    assert found <= best_after_a_move(Y, group, fold, n_splits) + 1e-9 or (fold == equal).all()
    # Neither the order of the samples, nor the form of y, nor the names of groups in the same order matter.
    order = rng.permutation(len(Y))
    shuffled = fold_of(cv.split(None, sparse.coo_array(Y[order]), group[order]), len(Y))
    np.testing.assert_array_equal(shuffled, fold[order])
    names = np.array([f"patient {g:02}" for g in group])
    np.testing.assert_array_equal(fold_of(cv.split(Y, Y, names.tolist()), len(Y)), fold)


def test_the_loss_of_shares():
    # Each of three labels has its one group in one of two folds.
    assert model_selection._loss_of_folds(sparse.csr_array(np.eye(3)), np.array([0, 1, 1]), 2) == pytest.approx(
        3 * 2 * 0.25
    )
    Y = (np.random.default_rng(3).random((20, 4)) < 0.4).astype(float)
    counts, fold = sparse.csr_array(np.column_stack([Y, np.ones(20)])), np.arange(20) % 3
    # The same terms in another order.
    assert model_selection._loss_of_folds(counts, fold, 3) == pytest.approx(loss(Y, fold, 3), rel=1e-12)


def test_known_positives_and_negatives_are_balanced():
    rng = np.random.default_rng(0)
    n = 300
    group, Y = rng.integers(0, 100, n), (rng.random((n, 3)) < [0.5, 0.2, 0.1]).astype(float)
    mask = rng.random(Y.shape) < [0.0, 0.5, 0.7]
    gaps = np.where(mask, np.nan, Y)
    cv = MultilabelStratifiedGroupKFold(4)
    fold = fold_of(cv.split(None, gaps, group), n)
    for form in (Y, sparse.csc_array(Y), np.where(mask, 1 - Y, Y)):
        for unknown in (mask, sparse.csr_array(mask)):
            np.testing.assert_array_equal(fold_of(cv.split(None, form, group, y_weight=unless(unknown)), n), fold)
    by_size = fold_of(theirs.GroupKFold(4).split(Y, Y, group), n)

    def deviation(found):
        return sum(
            np.abs(
                [np.mean(gaps[found == j] == value, axis=0) / np.mean(gaps == value, axis=0) - 1 for j in range(4)]
            ).sum()
            for value in (0, 1)
        )

    assert deviation(fold) < 0.5 * deviation(by_size)


def test_seeds():
    group, Y = np.arange(30) // 2, np.tile(np.eye(3, dtype=int), (10, 1))
    one = MultilabelStratifiedGroupKFold(3, shuffle=True, random_state=1)
    first = fold_of(one.split(None, Y, group), 30)
    np.testing.assert_array_equal(fold_of(pickle.loads(pickle.dumps(one)).split(None, Y, group), 30), first)
    others = [
        fold_of(MultilabelStratifiedGroupKFold(3, shuffle=True, random_state=seed).split(None, Y, group), 30)
        for seed in range(2, 7)
    ]
    assert any((other != first).any() for other in others)
    assert one.get_n_splits() == 3


def test_groups_of_one_sample_are_samples():
    rng = np.random.default_rng(0)
    Y = (rng.random((40, 4)) < 0.4).astype(int)
    fold = fold_of(MultilabelStratifiedGroupKFold(4).split(None, Y, np.arange(40)), 40)
    apart = fold_of(MultilabelStratifiedKFold(4).split(None, Y), 40)
    assert loss(Y, fold, 4) <= loss(Y, apart, 4)
    alone = fold_of(MultilabelStratifiedGroupKFold(2).split(None, Y[:2], ["b", "a"]), 2)
    assert set(alone) == {0, 1}


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (None, "^groups must be given: one value for each sample"),
        ([0, 0, 1, 1, 0, 1], "^n_splits must be at most the number of groups, 2, got 3$"),
        ([0, 1, 2], r"^groups must have shape \(6,\), one value for each sample of y, got \(3,\)$"),
        (np.zeros((6, 1)), r"^groups must have shape \(6,\), one value for each sample of y, got \(6, 1\)$"),
        ([0, 1, 2, np.nan, 1, 2], "^Input groups contains NaN"),
    ],
)
def test_bad_groups(groups, message):
    Y = np.ones((6, 2), dtype=int)
    with pytest.raises(ValueError, match=message):
        next(MultilabelStratifiedGroupKFold(3).split(None, Y, groups))


def test_bad_parameters():
    with pytest.raises(ValueError, match=r"^n_splits"):
        MultilabelStratifiedGroupKFold(1)
    with pytest.raises(ValueError, match=r"^random_state must be None with shuffle=False"):
        MultilabelStratifiedGroupKFold(2, random_state=0)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        next(MultilabelStratifiedGroupKFold(2).split(np.ones((5, 1)), np.ones((4, 2)), [0, 1, 0, 1]))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_cross_validation_passes_groups(form):
    rng = np.random.default_rng(0)
    X, group = rng.random((40, 3)), np.arange(40) // 3
    Y = (X[:, :2] > 0.5).astype(int)
    cv, tree = MultilabelStratifiedGroupKFold(3), weald.DecisionTreeClassifier(random_state=0)
    found = cross_val_predict(tree, X, form(Y), cv=cv, groups=group)
    for train, test in cv.split(X, Y, group):
        expected = tree.fit(X[train], Y[train]).predict(X[test])
        np.testing.assert_array_equal(
            np.asarray(found[test].todense() if sparse.issparse(found) else found[test]), expected
        )


def test_series_in_time_need_no_other_folds():
    """scikit-learn's TimeSeriesSplit keeps the order, with sparse y and unknown values."""
    rng = np.random.default_rng(0)
    X = rng.random((40, 3))
    Y, mask = (X[:, :2] > 0.5).astype(float), rng.random((40, 2)) < 0.2
    cv, tree = theirs.TimeSeriesSplit(3), weald.DecisionTreeClassifier(random_state=0)
    expected = [
        tree.fit(X[train], Y[train], y_weight=unless(mask[train])).score(X[test], Y[test], y_weight=unless(mask[test]))
        for train, test in cv.split(X)
    ]
    for y, y_mask in ((Y, mask), (np.where(mask, np.nan, Y), None), (sparse.csr_array(Y), sparse.csr_array(mask))):
        np.testing.assert_array_equal(
            cross_validate(tree, X, y, cv=cv, y_weight=unless(y_mask))["test_score"], expected
        )
