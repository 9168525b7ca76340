"""Readers and generators of data sets."""

from __future__ import annotations

import json

import numpy as np
import pytest
import real_data
from scipy import sparse
from scipy.stats import norm
from weald.datasets import (
    load_npz_folder,
    make_friedman1_chain,
    make_friedman1_group,
    make_friedman1_ind,
    make_twonorm,
)

MAKERS = (make_friedman1_chain, make_friedman1_group, make_friedman1_ind)


def test_what_is_missing_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="X_train"):
        load_npz_folder(tmp_path)


def test_other_archives_are_refused(tmp_path):
    np.savez(tmp_path / "X_train.npz", b=np.zeros(3))
    with pytest.raises(ValueError, match=r"X_train\.npz must contain a scipy sparse matrix"):
        load_npz_folder(tmp_path)


def test_nothing_is_unpickled(tmp_path):
    np.savez(tmp_path / "X_train.npz", a=np.array([{}], dtype=object))
    with pytest.raises(ValueError, match="pickle"):
        load_npz_folder(tmp_path)


def test_forms_are_kept(tmp_path):
    dense, labels = np.arange(6, dtype=np.float32).reshape(3, 2), sparse.csr_array(np.eye(3))
    for part in ("train", "test"):
        np.savez(tmp_path / f"X_{part}.npz", a=dense)
        sparse.save_npz(tmp_path / f"Y_{part}.npz", labels)
    (tmp_path / "meta.json").write_text(json.dumps({"task": "multilabel"}))
    split = load_npz_folder(tmp_path)
    np.testing.assert_array_equal(split.X_test, dense)
    assert (split.Y_train != labels).nnz == 0
    assert split.meta == {"task": "multilabel"}


def test_a_real_one():
    if reason := real_data.missing("emotions"):
        pytest.skip(reason)
    split = load_npz_folder(real_data.root() / "emotions")
    assert split.X_train.shape == (391, 72)
    assert split.Y_test.shape == (202, 6)


# ---- Friedman's first problem, with many outputs


def friedman1(x):
    """The function of Friedman's first problem, written out independently."""
    a, b, c, d, e = x.T
    return 10 * np.sin(np.pi * a * b) + 20 * (c - 0.5) ** 2 + 10 * d + 5 * e


@pytest.mark.parametrize("make", MAKERS)
def test_made_data_have_the_shape_asked_for_and_follow_from_the_seed(make):
    X, y = make(50, n_outputs=4, noisy_outputs=6, random_state=3)
    assert X.shape == (50, 20 if make is make_friedman1_ind else 5)
    assert y.shape == (50, 10)
    assert X.dtype == y.dtype == np.float64
    assert X.min() >= 0
    assert X.max() <= 1
    again = make(50, n_outputs=4, noisy_outputs=6, random_state=np.random.RandomState(3))
    np.testing.assert_array_equal(X, again[0])
    np.testing.assert_array_equal(y, again[1])
    assert (make(50, n_outputs=4, noisy_outputs=6, random_state=4)[1] != y).all()


def test_noise_adds_up_along_the_chain():
    X, y = make_friedman1_chain(20_000, n_outputs=5, random_state=0)
    steps = np.column_stack([y[:, 0] - friedman1(X), np.diff(y, axis=1)])
    # Variances of 20 000 normal deviates have a standard deviation of √(2/20 000) = 0.010, covariances and means of
    # 0.007.
    np.testing.assert_allclose(np.cov(steps.T), np.eye(5), atol=0.05)
    np.testing.assert_allclose(steps.mean(axis=0), 0, atol=0.05)


def test_outputs_of_the_group_share_the_function():
    X, y = make_friedman1_group(20_000, n_outputs=5, random_state=0)
    # The standard deviations are those above: 0.010 for a variance, 0.007 for a covariance.
    np.testing.assert_allclose(np.cov((y - friedman1(X)[:, None]).T), np.eye(5), atol=0.05)


def test_independent_outputs_have_features_of_their_own():
    X, y = make_friedman1_ind(20_000, n_outputs=3, random_state=0)
    noise = np.column_stack([y[:, j] - friedman1(X[:, 5 * j : 5 * j + 5]) for j in range(3)])
    # The standard deviations are those above; that of a correlation of zero is 0.007.
    np.testing.assert_allclose(np.cov(noise.T), np.eye(3), atol=0.05)
    np.testing.assert_allclose(np.corrcoef(y.T), np.eye(3), atol=0.05)


@pytest.mark.parametrize("make", MAKERS)
def test_noisy_outputs_are_the_others_in_orders_of_their_own(make):
    X, y = make(2000, n_outputs=2, noisy_outputs=4, random_state=0)
    clean = make(2000, n_outputs=2, random_state=0)
    np.testing.assert_array_equal(X, clean[0])
    np.testing.assert_array_equal(y[:, :2], clean[1])
    for j in range(4):
        np.testing.assert_array_equal(np.sort(y[:, 2 + j]), np.sort(y[:, j % 2]))
    # The noisy outputs are permuted copies, which are not correlated with any other output.
    related = np.abs(np.corrcoef(y.T)) > 0.1
    np.testing.assert_array_equal(related[2:], np.eye(6, dtype=bool)[2:])


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    "wrong", [{"n_samples": 0}, {"n_outputs": 0}, {"noisy_outputs": -1}, {"n_outputs": 2.5}, {"noisy_outputs": True}]
)
def test_sizes_that_make_no_sense_are_named(make, wrong):
    (name,) = wrong
    with pytest.raises(ValueError, match=rf"{name} must be an integer of at least .*, got "):
        make(**wrong)


# ---- Two-norm


def test_twonorm_is_what_breiman_says():
    X, y = make_twonorm(40_000, random_state=1)
    assert X.shape == (40_000, 20)
    assert y.dtype == np.int64
    assert abs(y.mean() - 0.5) < 0.01
    # With 20 000 samples of each class, means have a standard deviation of 0.007, and standard deviations one of 0.005.
    np.testing.assert_allclose(X[y == 1].mean(axis=0), 2 / np.sqrt(20), atol=0.03)
    np.testing.assert_allclose(X[y == 0].mean(axis=0), -2 / np.sqrt(20), atol=0.03)
    np.testing.assert_allclose(X[y == 0].std(axis=0), 1, atol=0.03)
    # The best rule uses the sign of the sum of the features, and errs where a standard normal deviate is below −2.
    assert abs(np.mean((X.sum(axis=1) > 0) != y) - norm.cdf(-2)) < 0.003


def test_twonorm_is_a_function_of_its_seed():
    first, again = make_twonorm(10, 3, random_state=5), make_twonorm(10, 3, random_state=5)
    np.testing.assert_array_equal(first[0], again[0])
    np.testing.assert_array_equal(first[1], again[1])


@pytest.mark.parametrize("wrong", [{"n_samples": 0}, {"n_features": 0}, {"n_features": 1.5}])
def test_twonorm_says_what_is_wrong(wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be .*got "):
        make_twonorm(**wrong)
