"""`weald.conformal`: quantile rules against slow twins, coverage by simulation, weights, unknown values, files, bad input."""

from __future__ import annotations

import pickle
import warnings

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import weald
from conftest import dealt, unless
from estimator_checks import OF_VALUES, name_of
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse, stats
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.datasets import load_digits
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks
from weald._around import calibrated
from weald._fitted.fits import Fit
from weald.conformal import (
    ConformalClassifier,
    ConformalLabels,
    ConformalRegressor,
    CoverageDisplay,
    coverage,
    make_coverage_scorer,
    make_size_scorer,
    size,
)
from weald.model_selection import cross_validate


def forest(n_estimators=12, **params):
    return weald.RandomForestRegressor(n_estimators, random_state=0, **params)


def trees_of_classes(**params):
    return weald.RandomForestClassifier(**{"n_estimators": 12, "random_state": 0, **params})


def numbers(n=80, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    return X, X[:, :d] + rng.normal(size=(n, d)) * (0.2 + np.abs(X[:, [3]]))


def test_the_forest_in_the_place_of_none_has_300_trees():
    X, y = numbers(40, 1)
    for around, target in ((ConformalRegressor, y[:, 0]), (ConformalClassifier, y[:, 0] > 0)):
        assert len(around(random_state=0).fit(X, target).estimator_.estimators_) == 300


def labels(n=120, d=8, seed=0):
    X, _ = numbers(n, 1, seed)
    score = X @ np.random.default_rng(1).normal(size=(5, d))
    return X, sparse.csr_array((score > np.linspace(0.2, 3.0, d)).astype(np.int64))


def checks_of_estimators():
    """scikit-learn's checks: all of them for the defaults, those of values for other settings."""
    defaults = [ConformalRegressor(forest(), random_state=0), ConformalClassifier(trees_of_classes(), random_state=0)]
    variations = [
        ConformalRegressor(forest(), cv=3, random_state=0),
        ConformalRegressor(forest(), conformity_score="normalized"),
        ConformalClassifier(trees_of_classes(), method="aps", randomized=True, cv=3, random_state=0),
    ]
    for estimator in defaults + variations:
        for _, check in estimator_checks.estimator_checks_generator(estimator):
            if any(estimator is one for one in defaults) or check.func.__name__ in OF_VALUES:
                name = type(estimator).__name__ + ("" if estimator in defaults else "-other")
                yield pytest.param(estimator, check, id=f"{name}-{name_of(check)}")


@pytest.mark.parametrize(("estimator", "check"), list(checks_of_estimators()))
def test_checks_of_scikit_learn(estimator, check):
    check(clone(estimator))


@pytest.mark.parametrize(
    "check",
    [
        estimator_checks.check_parameters_default_constructible,
        estimator_checks.check_no_attributes_set_in_init,
        estimator_checks.check_get_params_invariance,
        estimator_checks.check_set_params,
        estimator_checks.check_estimator_repr,
        estimator_checks.check_classifiers_multilabel_representation_invariance,
        estimator_checks.check_classifiers_multilabel_output_format_predict,
    ],
)
def test_checks_of_scikit_learn_for_labels(check):
    # The other checks take classes of one output, as for all meta-estimators of labels.
    check("ConformalLabels", ConformalLabels(trees_of_classes(), alpha=0.3, random_state=0))


# --- quantiles --------------------------------------------------------------------------------------------------------


def plain_quantile(scores, counts, alpha):
    """The score at position ⌈(n + 1)(1 − alpha)⌉, of a list with each score as often as it counts."""
    every = sorted(s for s, n in zip(scores, counts, strict=True) for _ in range(n))
    # Levels of the tests are hundredths, so that this product of integers has no rounding.
    position = -((len(every) + 1) * (100 - alpha) // -100)
    return every[position - 1] if position <= len(every) else None


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from([-1.0, 0.0, 0.5, 2.0, 7.0]), st.integers(0, 3)), min_size=1, max_size=30),
    st.integers(1, 99),
)
def test_the_quantile_is_that_of_all_copies_in_order(cells, alpha):
    scores, counts = map(np.array, zip(*cells, strict=True))
    expected = plain_quantile(scores, counts, alpha)
    found = calibrated.ranked([(scores, counts.astype(float))])
    if expected is None:
        with pytest.raises(ValueError, match="needs at least"):
            found.quantile(0, alpha / 100, "", "")
    else:
        assert found.quantile(0, alpha / 100, "", "") == expected
    copies = calibrated.ranked([(np.repeat(scores, counts), np.ones(counts.sum()))])
    for one, two in zip(vars(found).values(), vars(copies).values(), strict=True):
        np.testing.assert_array_equal(one, two)
    turned = calibrated.ranked([(scores[::-1], counts[::-1].astype(float))])
    np.testing.assert_array_equal(turned.score, found.score)


@pytest.mark.parametrize(("n", "alpha"), [(9, 0.1), (19, 0.05), (30, 0.1), (57, 0.3), (200, 0.25)])
def test_coverage_of_the_rule_is_that_of_the_beta_binomial(n, alpha):
    """The coverage of m further samples has a Beta-binomial law, whatever the distribution (Vovk 2012)."""
    rng, m, n_times = np.random.default_rng(n), 50, 10_000
    scores, further = rng.exponential(size=(n_times, n)), rng.exponential(size=(n_times, m))
    position = int(np.ceil((n + 1) * (1 - alpha) - 1e-9))
    at = np.array([calibrated.ranked([(row, np.ones(n))]).quantile(0, alpha, "", "") for row in scores[:50]])
    np.testing.assert_array_equal(at, np.sort(scores[:50], axis=1)[:, position - 1])
    at = np.partition(scores, position - 1, axis=1)[:, position - 1]
    covered = (further <= at[:, None]).sum(axis=1)
    law = stats.betabinom(m, position, n + 1 - position)
    # Four standard errors of the mean of independent repetitions: one seed of 16 000 fails by chance.
    assert abs(covered.mean() - law.mean()) < 4 * law.std() / np.sqrt(n_times)
    assert law.mean() / m >= 1 - alpha
    for k in (m // 2, m - 5, m - 1):
        share, expected = (covered <= k).mean(), law.cdf(k)
        assert abs(share - expected) < 4 * np.sqrt(expected * (1 - expected) / n_times) + 1e-12


def test_too_few_samples_are_told_with_both_numbers():
    X, y = numbers(30, 1)
    with pytest.raises(ValueError, match=r"alpha=0.02 needs at least 49 calibration samples, got 30 sample\(s\): "):
        ConformalRegressor(forest(), alpha=0.02).fit(X, y[:, 0])
    model = ConformalRegressor(forest(50)).fit(X, y[:, 0])
    with pytest.raises(ValueError, match=r"intervals would be infinite.*must be at least 0.03226"):
        model.predict_interval(X, 0.01)
    assert model.predict_interval(X, 0.04).shape == (30, 2)
    with pytest.raises(ValueError, match=r"got 3 sample.*A weight of 2 counts"):
        ConformalRegressor(forest()).fit(X, y[:, 0], sample_weight=np.full(30, 0.1))
    with pytest.raises(ValueError, match="sets would hold every class"):
        ConformalClassifier(trees_of_classes(), alpha=0.02).fit(X, y[:, 0] > 0)


@pytest.mark.parametrize("alpha", [1e-300, 1e-320, 5e-324])
def test_levels_of_any_size_are_refused_in_few_words(alpha):
    X, Y = numbers(30, 2)
    labels = sparse.csr_array((Y > 0).astype(np.int64))
    for model, y in (
        (ConformalRegressor(forest(), alpha=alpha), Y),
        (ConformalClassifier(trees_of_classes(), alpha=alpha), Y[:, 0] > 0),
        (ConformalLabels(trees_of_classes(), alpha=alpha), labels),
    ):
        with pytest.raises(ValueError, match=f"alpha={alpha:g} needs at least 1") as caught:
            model.fit(X, y)
        assert len(str(caught.value)) < 300
    with pytest.raises(ValueError, match="needs at least"):
        ConformalRegressor(forest()).fit(X, Y).predict_interval(X, alpha)


@pytest.mark.parametrize("control", ["recall", "precision"])
@pytest.mark.parametrize("unit", [1e16, 1e20, 1e300, 1.7e308])
def test_labels_with_weights_of_any_size(control, unit):
    X, Y = labels(60, 3)
    model = ConformalLabels(trees_of_classes(), control=control, alpha=0.4).fit(X, Y, sample_weight=np.full(60, unit))
    assert np.isfinite([model.threshold_, model.n_calibration_, model.score(X, Y)]).all()


# --- whole fits -------------------------------------------------------------------------------------------------------


@pytest.mark.slow("python/weald/conformal.py", "python/weald/_around")
def test_coverage_of_whole_fits_on_held_out_samples():
    """A frozen model covers further samples with probability 1 − alpha or more, at most 1 / (n + 1) above."""
    alpha, n = 0.2, 24
    model = FrozenEstimator(LinearRegression().fit(*numbers(50, 2)))
    found = []
    for seed in range(400):
        X, Y = numbers(n + 20, 2, seed + 1)
        fitted = ConformalRegressor(model, alpha=alpha).fit(X[:n], Y[:n])
        bounds = fitted.predict_interval(X[n:])
        found.append([coverage(Y[n:], bounds), fitted.contains(X[n:], Y[n:]).mean()])
    mean, error = np.mean(found, axis=0), np.std(found, axis=0) / 20
    assert (1 - alpha - 4 * error[0] <= mean[0]) & (mean[0] <= 1 - alpha + 1 / (n + 1) + 4 * error[0])
    # Scales of boxes come from the same n samples: they may cost up to 1 / n for each output.
    assert mean[1] >= 1 - alpha - 2 / n - 4 * error[1]


@pytest.mark.slow("python/weald/conformal.py", "python/weald/_around")
@pytest.mark.parametrize("params", [{}, {"cv": 4}, {"conformity_score": "normalized"}])
def test_coverage_of_whole_fits_without_held_out_samples(params):
    found = []
    for seed in range(60):
        X, Y = numbers(160, 1, seed)
        model = ConformalRegressor(forest(25, min_samples_leaf=3), alpha=0.2, random_state=0, **params)
        found.append(coverage(Y[60:, 0], model.fit(X[:60], Y[:60, 0]).predict_interval(X[60:])))
    error = np.std(found) / np.sqrt(len(found))
    # No proof holds here; 0.05 is what leaving out a sample changes with 60 samples.
    assert abs(np.mean(found) - 0.8) < 0.05 + 4 * error


def assert_outwards(found, expected):
    """The bounds are those that are expected, rounded outwards by a few last bits."""
    assert (found[..., 0] <= expected[..., 0]).all()
    assert (found[..., 1] >= expected[..., 1]).all()
    # Eight times the rounding of the largest number in a bound, which is below 8 here.
    np.testing.assert_allclose(found, expected, rtol=0, atol=64 * np.finfo(float).eps)


def plain_intervals(model, estimator, X, y, X_new, alpha):
    """Intervals by folds, sample by sample."""
    residuals = []
    for train, test in dealt(4, X, y):
        residuals += np.abs(y[test] - clone(estimator).fit(X[train], y[train]).predict(X[test])).tolist()
    at = plain_quantile(residuals, [1] * len(residuals), round(100 * alpha))
    center = clone(estimator).fit(X, y).predict(X_new)
    return np.column_stack([center - at, center + at])


@pytest.mark.parametrize(
    "estimator", [LinearRegression(), weald.GradientBoostingRegressor(n_estimators=3, random_state=0)]
)
def test_intervals_by_folds_are_those_of_the_twin(estimator):
    X, Y = numbers()
    y = Y[:, 0]
    model = ConformalRegressor(estimator, cv=4, random_state=0).fit(X, y)
    for alpha in (0.1, 0.35):
        expected = plain_intervals(model, estimator, X, y, X[:9], alpha)
        assert_outwards(model.predict_interval(X[:9], alpha), expected)
    np.testing.assert_array_equal(model.predict(X), clone(estimator).fit(X, y).predict(X))


def test_out_of_bag_intervals_are_those_of_oob_prediction():
    X, Y = numbers()
    plain = forest(30, oob_score=True).fit(X, Y)
    residuals = np.abs(Y - plain.oob_prediction_)
    model = ConformalRegressor(forest(30)).fit(X, Y)
    bounds = model.predict_interval(X[:5], 0.2)
    for j in range(3):
        at = plain_quantile(residuals[:, j], [1] * len(Y), 20)
        expected = np.stack([plain.predict(X[:5])[:, j] - at, plain.predict(X[:5])[:, j] + at], axis=1)
        assert_outwards(bounds[:, j], expected)
    assert model.n_calibration_.tolist() == [80.0] * 3


def unseen_by_trees(model, samples, config):
    """Whether each tree has not drawn each sample, by the out-of-bag predictions of trees with rows of a unit matrix."""
    marks = np.eye(model.n_estimators)
    trees = [weald.DecisionTreeRegressor().fit(samples.X[:1], row[None])._forest for row in marks]
    found, _ = type(model._forest).merge(trees).oob_predict(config, samples.in_engine)
    return np.nan_to_num(found) > 0


@pytest.mark.parametrize("weights", [None, np.arange(80) % 3])
def test_the_spread_is_that_of_the_trees_that_have_not_drawn_a_sample(weights):
    X, Y = numbers()
    model = forest(15)
    samples, config = model._fit(Fit(X, Y, weights))
    unseen = unseen_by_trees(model, samples, config)
    center, n_trees, spread = model._forest.oob_spread(config, samples.in_engine)
    np.testing.assert_array_equal(unseen.sum(axis=1), n_trees)
    members = np.stack([tree.predict(X) for tree in model.estimators_], axis=1)
    for i in np.flatnonzero(n_trees > 1):
        own = members[i, unseen[i]]
        # Sums of the same terms in another order.
        np.testing.assert_allclose(center[i], own.mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(spread[i], own.std(axis=0, ddof=1), rtol=1e-9, atol=1e-12)
    everything = members.std(axis=1, ddof=1)
    np.testing.assert_allclose(model._forest.spread(samples.X), everything, rtol=1e-9, atol=1e-12)


def test_normalized_intervals_are_wide_where_trees_disagree():
    X, Y = numbers(300)
    model = ConformalRegressor(forest(40), conformity_score="normalized").fit(X, Y)
    widths = np.ptp(model.predict_interval(X), axis=2)
    own = np.stack([tree.predict(X) for tree in model.estimator_.estimators_]).std(axis=0, ddof=1)
    ratio = widths / (own + model._offset)
    np.testing.assert_allclose(ratio, np.broadcast_to(ratio[0], ratio.shape), rtol=1e-9)  # rounding of the spread


def test_conformalized_quantiles():
    X, Y = numbers(120)
    inner = forest(20, keep_rows=True, min_samples_leaf=4)
    model = ConformalRegressor(inner, conformity_score="quantile", cv=3, random_state=0, alpha=0.2).fit(X, Y[:, 0])
    low, high = clone(inner).fit(X, Y[:, 0]).predict_quantiles(X, [0.1, 0.9]).T
    scores = np.zeros(120)
    for train, test in dealt(3, X, Y[:, 0]):
        q = clone(inner).fit(X[train], Y[train, 0]).predict_quantiles(X[test], [0.1, 0.9])
        scores[test] = np.maximum(q[:, 0] - Y[test, 0], Y[test, 0] - q[:, 1])
    at = plain_quantile(scores, [1] * 120, 20)
    middle = (low + high) / 2
    expected = np.column_stack([np.minimum(low - at, middle), np.maximum(high + at, middle)])
    assert_outwards(model.predict_interval(X), expected)


# --- regions ----------------------------------------------------------------------------------------------------------


def test_boxes_and_ellipsoids_are_those_of_their_definitions():
    X, Y = numbers(100)
    X_new, Y_new = numbers(60, seed=9)
    held = LinearRegression().fit(*numbers(40, seed=5))
    model = ConformalRegressor(FrozenEstimator(held), alpha=0.15).fit(X, Y)
    residuals = Y - held.predict(X)
    scale = np.sqrt((residuals**2).mean(axis=0))
    # The package adds up in another order.
    np.testing.assert_allclose(model.scale_, scale, rtol=1e-12)
    at = plain_quantile((np.abs(residuals) / model.scale_).max(axis=1), [1] * 100, 15)
    center = held.predict(X_new)
    expected = np.stack([center - at * model.scale_, center + at * model.scale_], axis=2)
    np.testing.assert_allclose(model.predict_region(X_new), expected, rtol=1e-12)
    moments = residuals.T @ residuals / 100
    shrunk = (100 * moments + 3 * np.diag(np.diag(moments))) / 103
    np.testing.assert_allclose(model.covariance_, shrunk, rtol=1e-12)

    def lengths(r):
        return np.sqrt(np.einsum("ij,jk,ik->i", r, np.linalg.inv(shrunk), r))

    radius = plain_quantile(lengths(residuals), [1] * 100, 15)
    np.testing.assert_allclose(model.ellipsoid_radius(), radius, rtol=1e-9)
    np.testing.assert_array_equal(
        model.contains(X_new, Y_new, region="ellipsoid"), lengths(Y_new - center) <= model.ellipsoid_radius()
    )
    box = model.predict_region(X_new)
    inside = ((box[..., 0] <= Y_new) & (Y_new <= box[..., 1])).all(axis=1)
    np.testing.assert_array_equal(model.contains(X_new, Y_new), inside)
    assert coverage(Y_new, box, joint=True) == inside.mean()
    np.testing.assert_allclose(model.log_volume(X_new), np.log(np.ptp(box, axis=2)).sum(axis=1), rtol=1e-12)
    # The share of a box around the ellipsoid that random points in the ellipsoid fill is the ratio of volumes.
    half = radius * np.sqrt(np.diag(shrunk))
    points = np.random.default_rng(0).uniform(-1, 1, size=(200_000, 3)) * half
    share = (lengths(points) <= radius).mean()
    volume = np.log(share) + np.log(2 * half).sum()
    # Four standard errors of the share.
    assert abs(model.log_volume(X_new[:1], region="ellipsoid")[0] - volume) < 4 / np.sqrt(200_000 * share)


def test_regions_with_unknown_outputs():
    X, Y = numbers(100)
    model = ConformalRegressor(forest(30)).fit(X, Y)
    mask = np.random.default_rng(1).random(Y.shape) < 0.4
    mask[:, 0] &= ~mask.all(axis=1)
    gaps = np.where(mask, np.nan, Y)
    box = model.predict_region(X)
    inside = ((box[..., 0] <= Y) & (box[..., 1] >= Y)) | mask
    np.testing.assert_array_equal(model.contains(X, gaps), inside.all(axis=1))
    np.testing.assert_array_equal(model.contains(X, Y, y_weight=unless(mask)), inside.all(axis=1))
    # A shadow holds a point if the nearest values of the unknown outputs are in the ellipsoid.
    found = model.contains(X, gaps, region="ellipsoid")
    C, r = model.covariance_, Y - model.predict(X)
    for i in range(len(X)):
        known, rest = ~mask[i], mask[i]
        best = r[i].copy()
        best[rest] = C[np.ix_(rest, known)] @ np.linalg.solve(C[np.ix_(known, known)], r[i, known])
        length = np.sqrt(best @ np.linalg.solve(C, best))
        if abs(length - model.ellipsoid_radius()) > 1e-9:
            assert found[i] == (length <= model.ellipsoid_radius())


def test_an_output_that_never_varies_has_no_width():
    X, Y = numbers(60, 2)
    Y = np.column_stack([Y, np.full(60, 4.0)])
    model = ConformalRegressor(forest(30)).fit(X, Y)
    assert np.ptp(model.predict_region(X)[:, 2], axis=1).max() == 0
    assert model.contains(X, Y).mean() > 0.85
    assert model.contains(X, Y, region="ellipsoid").mean() > 0.85
    assert not model.contains(X, Y + np.array([0, 0, 1e-6]), region="ellipsoid").any()
    assert np.isneginf(model.log_volume(X, region="ellipsoid")).all()


@pytest.mark.parametrize("factor", [1e-150, 1e150])
def test_outputs_of_any_unit(factor):
    X, Y = numbers(60, 2)
    one, other = (ConformalRegressor(LinearRegression(), cv=3, random_state=0).fit(X, y) for y in (Y, Y * [1, factor]))
    np.testing.assert_allclose(other.predict_region(X) / [[1], [factor]], one.predict_region(X), rtol=1e-6)
    np.testing.assert_allclose(calibrated.scales(Y * factor, np.ones(60)), calibrated.scales(Y, np.ones(60)) * factor)


@pytest.mark.parametrize("size", [1e-320, 1e-308, 1e-200, 1e-160, 1e160])
@pytest.mark.parametrize("columns", [1, 2])
def test_residuals_whose_squares_are_beyond_float64_are_refused(size, columns):
    X, Y = numbers(60, 2)
    Y = Y[:, 0] * size if columns == 1 else Y * [1.0, size]
    of_output = "of output 1: " if columns > 1 else ": "
    with pytest.raises(ValueError, match=f"^y must have residuals from 1.5e-154 to 6.7e.153 on average.*{of_output}"):
        ConformalRegressor(FrozenEstimator(LinearRegression().fit(X, Y * 0)), cv=None).fit(X, Y)


@pytest.mark.parametrize("weight", [1e16, 1e300, 1.7e308])
def test_equal_outputs_have_a_region_with_any_weights(weight):
    X, Y = numbers(60, 1)
    model = ConformalRegressor(forest(), random_state=0).fit(X, Y[:, [0, 0]], sample_weight=np.full(60, weight))
    assert np.isfinite(model.ellipsoid_radius())
    np.testing.assert_allclose(model.scale_, ConformalRegressor(forest(), random_state=0).fit(X, Y[:, [0, 0]]).scale_)


# --- laws: weights, order, unknown values, containers ----------------------------------------------------------------------


def models_of_numbers():
    yield ConformalRegressor(FrozenEstimator(LinearRegression().fit(*numbers(40, seed=5))))
    yield ConformalRegressor(FrozenEstimator(forest().fit(*numbers(40, seed=5))), conformity_score="normalized")
    yield ConformalRegressor(
        FrozenEstimator(forest(keep_rows=True).fit(*numbers(40, seed=5))), conformity_score="quantile"
    )


@pytest.mark.parametrize("at", range(3))
def test_weights_are_counts_and_order_does_not_matter(at):
    X, Y = numbers(90)
    model = list(models_of_numbers())[at]
    weights = np.random.default_rng(0).integers(0, 3, 90)
    expected = clone(model).fit(X, Y, sample_weight=weights)
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(90), weights))
    copies = clone(model).fit(X[rows], Y[rows])
    order = np.random.default_rng(2).permutation(90)
    turned = clone(model).fit(X[order], Y[order], sample_weight=weights[order])
    kept = weights > 0
    left = clone(model).fit(X[kept], Y[kept], sample_weight=weights[kept])
    for found in (copies, turned, left):
        # Sums of weighted squares differ in the last bit where copies are added up.
        np.testing.assert_allclose(found.scale_, expected.scale_, rtol=1e-14)
        np.testing.assert_array_equal(found.predict_interval(X), expected.predict_interval(X))
        np.testing.assert_allclose(found.predict_region(X), expected.predict_region(X), rtol=1e-12)
        np.testing.assert_allclose(found.ellipsoid_radius(), expected.ellipsoid_radius(), rtol=1e-9)
    assert weald.dumps(turned) == weald.dumps(expected) if at else True


@pytest.mark.parametrize("cv", ["oob", 3])
def test_unknown_values_are_left_out(cv):
    X, Y = numbers(100)
    mask = np.random.default_rng(0).random(Y.shape) < 0.2
    gaps, other = np.where(mask, np.nan, Y), np.where(mask, 7.0, Y)
    made = lambda: ConformalRegressor(forest(30), cv=cv, random_state=0)  # noqa: E731
    expected = made().fit(X, gaps)
    for y, y_mask in ((other, mask), (Y, sparse.csr_array(mask))):
        found = made().fit(X, y, y_weight=unless(y_mask))
        assert weald.dumps(found) == weald.dumps(expected)
        assert found.score(X, y, y_weight=unless(y_mask)) == expected.score(X, gaps)
    np.testing.assert_array_equal(expected.n_calibration_, (~mask).sum(axis=0))
    # Each output alone, by the same model.
    held = FrozenEstimator(expected.estimator_)
    frozen = ConformalRegressor(held).fit(X, gaps)
    for j in range(3):
        known = ~mask[:, j]
        residuals = np.abs(Y[known, j] - held.predict(X[known])[:, j])
        at = plain_quantile(residuals, [1] * known.sum(), 10)
        center = held.predict(X)[:, j]
        assert_outwards(frozen.predict_interval(X)[:, j], np.column_stack([center - at, center + at]))
    complete = ~mask.any(axis=1)
    alone = ConformalRegressor(held).fit(X[complete], Y[complete])
    assert frozen._ranks.n_samples(3) == complete.sum() == alone._ranks.n_samples(3)
    none_complete = gaps.copy()
    none_complete[np.arange(100), np.arange(100) % 3] = np.nan
    few = ConformalRegressor(held).fit(X, none_complete)
    with pytest.raises(ValueError, match=r"got 0 sample\(s\) in which all outputs are known"):
        few.predict_region(X)


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_threads_and_layouts_do_not_matter(n_jobs):
    X, Y = numbers(70)
    X[np.abs(X) < 0.4] = 0
    made = lambda n_jobs=None: ConformalRegressor(forest(n_jobs=n_jobs), conformity_score="normalized")  # noqa: E731
    expected = made().fit(X, Y).predict_region(X)
    np.testing.assert_array_equal(made(n_jobs).fit(X, Y).predict_region(X), expected)
    for layout in (sparse.csr_array, sparse.csc_array, np.asfortranarray, pd.DataFrame):
        np.testing.assert_array_equal(made().fit(layout(X), Y).predict_region(layout(X)), expected)


@pytest.mark.parametrize("cv", [None, "oob", 5, KFold(3)])
def test_groups_that_would_not_be_kept_together_are_refused(cv):
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(90, 4)), np.arange(90) // 9
    y = X[:, :2] > 0
    forest = weald.RandomForestClassifier(10, random_state=0)
    kinds = [
        (ConformalLabels(forest, cv=cv), y),
        (ConformalClassifier(forest, cv=cv), y[:, 0]),
        (ConformalRegressor(weald.RandomForestRegressor(10, random_state=0), cv=cv), X[:, 0]),
    ]
    for estimator, target in kinds:
        with pytest.raises(ValueError, match=r"groups require a cv that keeps them together, such as .*, got "):
            estimator.fit(X, target, groups=groups)
        assert not hasattr(estimator, "estimator_")
    frozen = ConformalLabels(FrozenEstimator(forest.fit(X, y)), cv=cv)
    with pytest.raises(ValueError, match=r"groups require .*, got a frozen estimator"):
        frozen.fit(X, y, groups=groups)


def test_names_groups_frames_and_pipelines():
    X, Y = numbers(90)
    frame = pd.DataFrame(Y, columns=["a", "b", "c"])
    model = ConformalRegressor(forest(30)).fit(pd.DataFrame(X, columns=list("pqrst")), frame)
    assert model.target_names_in_.tolist() == ["a", "b", "c"]
    assert model.feature_names_in_.tolist() == list("pqrst")
    assert model.set_output(predict="pandas").predict(pd.DataFrame(X, columns=list("pqrst"))).columns.tolist() == [
        "a",
        "b",
        "c",
    ]
    with pytest.raises(ValueError, match="y must have the name 'a' at position 0"):
        model.score(pd.DataFrame(X, columns=list("pqrst")), frame[["b", "a", "c"]])
    groups = np.arange(90) // 9
    grouped = ConformalRegressor(LinearRegression(), cv=GroupKFold(5)).fit(X, Y, groups=groups)
    listed = ConformalRegressor(LinearRegression(), cv=list(GroupKFold(5).split(X, groups=groups))).fit(X, Y)
    np.testing.assert_array_equal(grouped.predict_interval(X), listed.predict_interval(X))
    piped = ConformalRegressor(make_pipeline(StandardScaler(), forest(30)), conformity_score="normalized").fit(X, Y)
    scaled = StandardScaler().fit_transform(X)
    plain = ConformalRegressor(forest(30), conformity_score="normalized").fit(scaled, Y)
    np.testing.assert_array_equal(piped.predict_interval(X), plain.predict_interval(scaled))
    outer = make_pipeline(StandardScaler(), ConformalRegressor(forest(30))).fit(X, Y)
    assert 0.5 < coverage(Y, outer[-1].predict_interval(outer[:-1].transform(X))) <= 1


# --- classes ----------------------------------------------------------------------------------------------------------


def classes(n=120, seed=0):
    X, y = numbers(n, 1, seed)
    return X, np.array(["a", "b", "c", "d"])[np.digitize(y[:, 0], [-0.8, 0.2, 1.0])]


def plain_scores(p, method, share=1.0):
    if method == "lac":
        return [1 - q for q in p]
    return [sum(other for other in p if other > q) + share * q if q else 2.0 for q in p]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.integers(0, 5), min_size=4, max_size=4), min_size=1, max_size=8), st.booleans())
def test_scores_of_classes_are_those_of_the_twin(rows, randomized):
    proba = np.array(rows, dtype=float) / 8
    for method in calibrated.CLASS_METHODS:
        found = calibrated.class_scores(proba, method, 3 if randomized else None)
        shares = calibrated.uniform(proba, 3) if randomized and method == "aps" else np.ones(len(proba))
        for p, share, one in zip(proba, shares, found, strict=True):
            # Probabilities of eighths are added up without rounding; shares of them are rounded once more or less.
            np.testing.assert_allclose(one, plain_scores(p, method, share), rtol=1e-14, atol=1e-16)


def test_shares_are_uniform_and_depend_on_nothing_else():
    proba = np.random.default_rng(0).dirichlet(np.ones(3), size=20_000)
    found = calibrated.uniform(proba, 7)
    assert stats.kstest(found, "uniform").pvalue > 1e-4
    np.testing.assert_array_equal(calibrated.uniform(proba[::-1], 7)[::-1], found)
    assert abs(np.corrcoef(found, calibrated.uniform(proba, 8))[0, 1]) < 0.04  # five standard errors


@pytest.mark.parametrize("params", [{}, {"method": "aps", "randomized": False}, {"method": "aps"}])
@pytest.mark.parametrize("cv", ["oob", 4])
def test_sets_of_classes_are_those_of_the_twin(params, cv):
    X, y = classes()
    inner = trees_of_classes(n_estimators=25, oob_score=cv == "oob")
    model = ConformalClassifier(inner, cv=cv, random_state=0, **params).fit(X, y)
    names = model.classes_
    full = clone(inner).fit(X, y)
    if cv == "oob":
        proba = full.oob_decision_function_
    else:
        proba = np.zeros((120, 4))
        for train, test in dealt(4, X, y):
            fold = clone(inner).fit(X[train], y[train])
            proba[np.ix_(test, np.searchsorted(names, fold.classes_))] = fold.predict_proba(X[test])
    method, seed = params.get("method", "lac"), model._seed
    shares = calibrated.uniform(proba, seed) if model.randomized else np.ones(120)
    place = np.searchsorted(names, y)
    scores = [plain_scores(p, method, u)[at] for p, u, at in zip(proba, shares, place, strict=True)]
    for alpha in (0.1, 0.4):
        at = plain_quantile(scores, [1] * 120, round(100 * alpha))
        new = full.predict_proba(X[:20])
        shares_new = calibrated.uniform(new, seed) if model.randomized else np.ones(20)
        found = model.predict_sets(X[:20], alpha)
        for p, u, one in zip(new, shares_new, found, strict=True):
            for score, is_in in zip(plain_scores(p, method, u), one, strict=True):
                assert is_in == (score <= at) or abs(score - at) < 1e-12  # sums in another order
    sets = model.predict_sets(X)
    missed = 1 - coverage(y, sets, classes=names)
    assert model.score(X, y) == pytest.approx(-size(sets) - max(0, missed - 0.1) / 0.1, rel=1e-12)
    np.testing.assert_array_equal(model.predict(X), full.predict(X))


def test_randomized_sets_are_nearer_to_the_level():
    found = {False: [], True: []}
    for seed in range(30):
        X, y = classes(260, seed)
        held = FrozenEstimator(trees_of_classes(n_estimators=5, max_depth=3).fit(X[:60], y[:60]))
        for randomized, values in found.items():
            model = ConformalClassifier(held, method="aps", alpha=0.2, randomized=randomized, random_state=seed)
            sets = model.fit(X[60:160], y[60:160]).predict_sets(X[160:])
            values.append(coverage(y[160:], sets, classes=model.classes_))
    mean = {key: np.mean(values) for key, values in found.items()}
    # Four standard errors: of 100 calibration and 100 further samples, coverage deviates by 0.057.
    assert 0.8 - 0.042 < mean[True] < 0.8 + 1 / 101 + 0.042
    assert mean[False] > mean[True]


def test_several_outputs_of_classes_with_unknown_values():
    X, Y = numbers(120)
    Y = np.digitize(Y, [-0.5, 0.5]).astype(float)
    mask = np.random.default_rng(0).random(Y.shape) < 0.2
    gaps = np.where(mask, np.nan, Y)
    model = ConformalClassifier(trees_of_classes(n_estimators=30)).fit(X, gaps)
    other = ConformalClassifier(trees_of_classes(n_estimators=30)).fit(X, np.where(mask, 1, Y), y_weight=unless(mask))
    sets = model.predict_sets(X)
    assert [part.shape for part in sets] == [(120, 3)] * 3
    for one, two in zip(sets, other.predict_sets(X), strict=True):
        np.testing.assert_array_equal(one, two)
    shares = coverage(gaps, sets, classes=model.classes_, multioutput="raw_values")
    sizes = [np.mean(part.sum(axis=1)[known]) for part, known in zip(sets, ~mask.T, strict=True)]
    expected = -np.mean(sizes + np.maximum(0.9 - shares, 0) / 0.1)
    assert model.score(X, gaps) == other.score(X, Y, y_weight=unless(mask)) == pytest.approx(expected, rel=1e-12)
    np.testing.assert_array_equal(model.n_calibration_, (~mask).sum(axis=0))
    assert size(sets, multioutput="raw_values").shape == (3,)


def test_classes_that_a_fold_lacks_and_unknown_ones():
    X, y = classes(60)
    y = np.where(np.arange(60) == 7, "rare", y)
    model = ConformalClassifier(LogisticRegression(), cv=3, random_state=0).fit(X, y)
    assert model.classes_.tolist() == ["a", "b", "c", "d", "rare"]
    unknown = np.full(60, "other")
    assert coverage(unknown, model.predict_sets(X), classes=model.classes_) == 0
    # All is missed, nine times the fraction alpha too much.
    assert model.score(X, unknown) == pytest.approx(-size(model.predict_sets(X)) - 9, rel=1e-12)
    held = FrozenEstimator(LogisticRegression().fit(*classes(60)))
    with pytest.raises(ValueError, match="y must have classes of the estimator, got 'rare'"):
        ConformalClassifier(held).fit(X, y)


# --- labels -----------------------------------------------------------------------------------------------------------


def hostile_labels(seed, n=40, d=6):
    rng = np.random.default_rng(seed)
    truth = rng.random((n, d)) < rng.uniform(0.05, 0.5, d)
    scores = np.where(rng.random((n, d)) < 0.6, rng.integers(0, 9, (n, d)) / 8, 0.0)
    return scores, truth, rng.integers(0, 3, n).astype(float)


def risk_of_recall(named, truth, weights):
    """The weighted sum of the fractions of true labels that are missed, and the weight of samples with a label."""
    used = truth.any(axis=1)
    missed = (truth & ~named).sum(axis=1)[used] / truth.sum(axis=1)[used]
    return (weights[used] * missed).sum(), weights[used].sum()


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**20), st.sampled_from([0.1, 0.25, 0.5, 0.8]))
def test_the_threshold_of_recall_is_the_largest_with_a_small_risk(seed, alpha):
    scores, truth, weights = hostile_labels(seed)
    frequency = calibrated.frequencies(sparse.csr_array(truth), None, weights)
    args = sparse.csr_array(scores), sparse.csr_array(truth), weights, frequency, alpha
    n = risk_of_recall(scores > 0, truth, weights)[1]
    if (n + 1) * alpha < 1:
        with pytest.raises(ValueError, match="all labels would be predicted"):
            calibrated.recall_thresholds(*args)
        return
    threshold, least = calibrated.recall_thresholds(*args)

    def within(named):
        risk, n = risk_of_recall(named, truth, weights)
        return risk + 1 <= alpha * (n + 1) + 1e-9  # sums in another order

    frequent = np.flatnonzero(frequency >= least)
    found = calibrated.named_by(args[0], threshold, frequent).toarray()
    expected = (scores > 0) & (scores >= threshold)
    expected[:, frequent] = True
    np.testing.assert_array_equal(found, expected)
    assert within(found)
    # The next sets that are smaller have a larger risk.
    if np.isfinite(least):
        fewer = (scores > 0) | (frequency > least)
        assert not within(fewer)
    else:
        assert not within(scores > threshold)


@pytest.mark.parametrize("alpha", [0.1, 0.4])
def test_risk_control_holds_on_average(alpha):
    rng, n, risks = np.random.default_rng(0), 20, []
    for _ in range(1500):
        truth = rng.random((n + 10, 4)) < 0.4
        truth[:, 0] |= ~truth.any(axis=1)
        scores = np.clip(truth * 0.3 + rng.random(truth.shape) * 0.7, 1e-3, 1)
        own = sparse.csr_array(scores[:n]), sparse.csr_array(truth[:n])
        threshold, least = calibrated.recall_thresholds(*own, np.ones(n), np.ones(4), alpha)
        named = (scores[n:] >= threshold) | (least <= 1.0)
        risks.append(((truth[n:] & ~named).sum(axis=1) / truth[n:].sum(axis=1)).mean())
    # Four standard errors of the mean.
    error = 4 * np.std(risks) / np.sqrt(1500)
    # Above alpha − 2 / (n + 1), as Angelopoulos et al. prove for scores without ties.
    assert alpha - 2 / (n + 1) - error <= np.mean(risks) <= alpha + error


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**20))
def test_false_discoveries_are_those_of_the_twin(seed):
    scores, truth, weights = hostile_labels(seed)
    tested = calibrated.tested_thresholds(0.1)
    found = calibrated.false_discoveries(sparse.csr_array(scores), sparse.csr_array(truth), weights, tested)
    for threshold, one in zip(tested, found, strict=True):
        named = (scores > 0) & (scores >= threshold)
        wrong = (named & ~truth).sum(axis=1) / np.maximum(named.sum(axis=1), 1)
        np.testing.assert_allclose(one, (weights * wrong).sum(), rtol=1e-12, atol=1e-12)


def test_p_values_are_valid():
    """Under the hypothesis at its border, a p-value is at most u with probability at most u."""
    rng = np.random.default_rng(0)
    for n, alpha in ((20, 0.1), (100, 0.3)):
        found = np.array([calibrated.p_value(k / n, n, alpha) for k in rng.binomial(n, alpha, 4000)])
        for u in (0.01, 0.05, 0.1, 0.3):
            assert (found <= u).mean() <= u + 4 * np.sqrt(u * (1 - u) / 4000)
    assert calibrated.p_value(0.0, 100, 0.1) < 1e-3
    assert calibrated.p_value(0.5, 100, 0.1) == 1.0


def test_precision_is_reached_and_what_cannot_be_is_told():
    X, Y = labels(500)
    inner = FrozenEstimator(trees_of_classes(n_estimators=30).fit(X[:100], Y[:100]))
    model = ConformalLabels(inner, control="precision", alpha=0.3).fit(X[100:300], Y[100:300])
    named, truth = model.predict(X[300:]).toarray(), Y[300:].toarray()
    shares = np.where(named.any(axis=1), (named & truth).sum(axis=1) / np.maximum(named.sum(axis=1), 1), 1.0)
    recall = (named & truth).sum(axis=1)[truth.any(axis=1)] / truth.sum(axis=1)[truth.any(axis=1)]
    expected = recall.mean() - max(0, 0.7 - shares.mean()) / 0.3
    assert model.score(X[300:], Y[300:]) == pytest.approx(expected, rel=1e-12)
    assert shares.mean() > 0.7 - 4 * shares.std() / np.sqrt(200)  # four standard errors
    assert named.any()
    with pytest.warns(UserWarning, match=r"No threshold is sure to have a precision of 0\.99"):
        none = ConformalLabels(inner, control="precision", alpha=0.01).fit(X[100:120], Y[100:120])
    assert np.isinf(none.threshold_)
    assert not none.predict(X).nnz


@pytest.mark.parametrize("control", ["recall", "precision"])
def test_sets_of_labels_keep_the_form_of_y(control):
    X, Y = labels(160)
    rules = {"control": control, "alpha": 0.4, "delta": 0.4}
    expected = ConformalLabels(trees_of_classes(), **rules).fit(X, Y)
    for y in (Y.toarray(), sparse.csr_matrix(Y), Y.astype(bool)):
        model = ConformalLabels(trees_of_classes(), **rules).fit(X, y)
        found = model.predict(X)
        assert type(found) is type(y)
        assert found.dtype == y.dtype
        np.testing.assert_array_equal(sparse.csr_array(found).toarray(), expected.predict(X).toarray())
    assert expected.predict(X).toarray().sum() > 0
    np.testing.assert_array_equal(expected.predict_proba(X), expected.estimator_.predict_proba(X))


def test_labels_that_scores_cannot_reach_are_taken_by_frequency():
    X, Y = labels(200)
    # Trees of depth 1 give no score to most true labels if only large scores are stored.
    model = ConformalLabels(trees_of_classes(max_depth=1), alpha=0.02, min_score=0.6).fit(X, Y)
    assert model.threshold_ == 0
    assert len(model.frequent_) > 0
    assert model.predict(X).toarray()[:, model.frequent_].all()
    named, truth = model.predict(X).toarray(), Y.toarray()
    there = truth.any(axis=1)
    assert ((named & truth).sum(axis=1)[there] / truth.sum(axis=1)[there]).mean() > 0.98
    assert model.score(X, Y) == -named.sum(axis=1).mean()
    again = weald.loads(weald.dumps(model))
    np.testing.assert_array_equal(again.predict(X).toarray(), model.predict(X).toarray())


def test_masked_labels_are_left_out():
    X, Y = labels(200)
    mask = np.random.default_rng(0).random(Y.shape) < 0.3
    dense = Y.toarray()
    gaps, other = np.where(mask, np.nan, dense), np.where(mask, 1 - dense, dense)
    for control in ("recall", "precision"):
        rules = {"control": control, "alpha": 0.4, "delta": 0.4}
        one = ConformalLabels(trees_of_classes(), **rules).fit(X, gaps)
        two = ConformalLabels(trees_of_classes(), **rules).fit(X, other, y_weight=unless(mask))
        assert (one.threshold_, one.n_calibration_) == (two.threshold_, two.n_calibration_)
        assert one.score(X, gaps) == two.score(X, dense, y_weight=unless(mask))
        # Samples of which nothing is known are as removed.
        nothing = np.where(np.arange(200)[:, None] % 3 == 0, np.nan, gaps)
        kept = np.flatnonzero(np.arange(200) % 3)
        assert one.score(X, nothing) == pytest.approx(one.score(X[kept], gaps[kept]), rel=1e-12)
        assert np.isnan(one.score(X, np.full_like(gaps, np.nan)))


def test_many_labels_make_no_dense_array():
    # A dense array of booleans would have 4 GB.
    rng = np.random.default_rng(0)
    n, d = 100_000, 40_000
    truth = sparse.csr_array(
        (np.ones(2 * n, dtype=bool), rng.integers(0, d, 2 * n), np.arange(n + 1) * 2), shape=(n, d)
    )
    truth.sum_duplicates()
    scores = sparse.csr_array(truth.astype(float) * 0.5)
    frequency = calibrated.frequencies(truth, None, np.ones(n))
    assert calibrated.recall_thresholds(scores, truth, np.ones(n), frequency, 0.1) == (0.5, np.inf)
    found = calibrated.precision_threshold(scores, truth, np.ones(n), 0.1, 0.1, 0.01)
    assert found == calibrated.tested_thresholds(0.01)[-1]


# --- files ------------------------------------------------------------------------------------------------------------


def fitted_models():
    X, Y = numbers()
    yield from (clone(model).fit(X, Y) for model in list(models_of_numbers())[1:])
    yield ConformalRegressor(forest()).fit(X, pd.DataFrame(Y, columns=["a", "b", "c"]))
    yield ConformalRegressor(weald.GradientBoostingRegressor(n_estimators=2), cv=3, random_state=1).fit(X, Y[:, 0])
    yield ConformalClassifier(trees_of_classes(), method="aps", randomized=True).fit(*classes())
    yield ConformalLabels(trees_of_classes(), alpha=0.3).fit(*labels())


def predictions(model, X):
    for method in ("predict", "predict_interval", "predict_region", "predict_sets", "predict_proba"):
        if hasattr(model, method):
            found = getattr(model, method)(X)
            yield method, found.toarray() if sparse.issparse(found) else np.asarray(found)


@pytest.mark.parametrize("at", range(6))
def test_files_and_pickles_give_the_same_bytes_and_predictions(at, tmp_path):
    model, (X, _) = list(fitted_models())[at], numbers()
    weald.save(model, tmp_path / "model")
    data = (tmp_path / "model").read_bytes()
    for again in (weald.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert weald.dumps(again) == data
        for (method, found), (_, expected) in zip(predictions(again, X), predictions(model, X), strict=True):
            np.testing.assert_array_equal(found, expected, err_msg=method)
    assert clone(model).get_params().keys() == model.get_params().keys()


def test_models_of_scikit_learn_are_saved_as_archives(tmp_path):
    pytest.importorskip("skops")
    X, Y = numbers()
    model = ConformalRegressor(LinearRegression(), cv=3, random_state=0).fit(X, Y)
    weald.save(model, tmp_path / "model")
    np.testing.assert_array_equal(weald.load(tmp_path / "model").predict_region(X), model.predict_region(X))


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("scale_", np.ones(2)),
        ("scale_", np.full(3, np.nan)),
        ("covariance_", -np.eye(3)),
        ("covariance_", np.ones((3, 3)) - 2 * np.eye(3)),
        ("_offset", np.zeros(3)),
        ("n_outputs_", 4),
        ("_ranks", calibrated.Ranked(np.array([0, 9]), np.ones(1), np.ones(1))),
        ("_ranks", calibrated.Ranked(np.zeros(6, dtype=np.int64), np.ones(1), np.ones(1))),
    ],
)
def test_states_that_are_not_valid_are_refused(name, wrong):
    model = ConformalRegressor(forest(), conformity_score="normalized").fit(*numbers())
    model.__dict__[name] = wrong
    with pytest.raises(ValueError, match="ConformalRegressor: "):
        pickle.loads(pickle.dumps(model))


# --- measures and displays --------------------------------------------------------------------------------------------


def test_samples_of_weight_zero_do_not_count_in_coverage_and_size():
    intervals, weight = np.array([[0.0, np.inf], [0.0, 1.0], [1.0, 1.0], [0.0, 2.0]]), [0, 1, 0, 1]
    y = np.array([np.nan, 0.5, np.inf, 3.0])
    assert size(intervals, weight) == size(intervals[[1, 3]]) == 1.5
    assert size(intervals, weight, joint=True) == size(intervals[[1, 3]], joint=True)
    assert coverage(y, intervals, weight) == coverage(y[[1, 3]], intervals[[1, 3]]) == 0.5
    sets = np.array([[True, False], [True, True]])
    assert coverage(np.array(["a", "?"]), sets, [1, 0], classes=["a", "b"]) == 1.0


def test_coverage_and_size_are_those_of_their_definitions():
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(30, 2))
    bounds = np.sort(rng.normal(size=(30, 2, 2)), axis=2)
    weights = rng.integers(0, 3, 30).astype(float)
    mask = rng.random((30, 2)) < 0.3
    inside = (bounds[..., 0] <= Y) & (bounds[..., 1] >= Y)
    expected = [np.average(inside[~mask[:, j], j], weights=weights[~mask[:, j]]) for j in range(2)]
    gaps = np.where(mask, np.nan, Y)
    np.testing.assert_allclose(coverage(gaps, bounds, weights, multioutput="raw_values"), expected, rtol=1e-12)
    np.testing.assert_allclose(coverage(Y, bounds, weights, y_weight=unless(mask)), np.mean(expected), rtol=1e-12)
    some = ~mask.all(axis=1)
    joint = np.average((inside | mask).all(axis=1)[some], weights=weights[some])
    np.testing.assert_allclose(coverage(gaps, bounds, weights, joint=True), joint, rtol=1e-12)
    np.testing.assert_allclose(size(bounds, multioutput="raw_values"), np.ptp(bounds, axis=2).mean(axis=0))
    np.testing.assert_allclose(size(bounds, joint=True), np.log(np.ptp(bounds, axis=2)).sum(axis=1).mean())
    for bad, message in (
        (np.zeros((30, 3)), "predicted must be intervals"),
        (bounds[:10], "inconsistent numbers of samples"),
        (bounds[:, 0], "y_true must have 1 outputs, as predicted has, got 2"),
    ):
        with pytest.raises(ValueError, match=message):
            coverage(Y, bad)
    with pytest.raises(ValueError, match="classes must have one name"):
        coverage([0, 1], np.ones((2, 3), dtype=bool), classes=["a"])
    with pytest.raises(ValueError, match="multioutput must be"):
        size(bounds, multioutput="other")


def test_scorers_are_those_of_cross_validation():
    X, Y = numbers(150)
    scoring = {
        "coverage": make_coverage_scorer(0.3),
        "size": make_size_scorer(0.3),
        "joint": make_coverage_scorer(joint=True),
    }
    found = cross_validate(ConformalRegressor(forest(20)), X, Y, cv=3, scoring=scoring, return_estimator=True)
    for k, (_, test) in enumerate(KFold(3).split(X)):
        model = found["estimator"][k]
        bounds = model.predict_interval(X[test], 0.3)
        assert found["test_coverage"][k] == coverage(Y[test], bounds)
        assert found["test_size"][k] == -size(bounds)
        assert found["test_joint"][k] == model.contains(X[test], Y[test]).mean()
    X, y = classes(150)
    model = make_pipeline(StandardScaler(), ConformalClassifier(trees_of_classes(), alpha=0.2)).fit(X, y)
    inner = model[-1]
    sets = inner.predict_sets(model[:-1].transform(X))
    assert make_coverage_scorer()(model, X, y) == coverage(y, sets, classes=inner.classes_)
    assert repr(make_size_scorer(0.3)) == "make_size_scorer(alpha=0.3, joint=False)"
    with pytest.raises(TypeError, match="estimator must be a ConformalRegressor"):
        make_size_scorer()(LinearRegression(), X, y)


def test_the_display_has_the_coverage_of_each_level():
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    X, Y = numbers(120)
    model = ConformalRegressor(forest(20)).fit(X[:80], Y[:80])
    display = CoverageDisplay.from_estimator(model, X[80:], Y[80:], alphas=[0.1, 0.5], line_kw={"c": "red"})
    assert display.level.tolist() == [0.5, 0.9]
    for alpha, covered, width in zip((0.5, 0.1), display.coverage, display.size, strict=True):
        bounds = model.predict_interval(X[80:], alpha)
        assert (covered, width) == (coverage(Y[80:], bounds), pytest.approx(size(bounds), rel=1e-12))
    again = CoverageDisplay.from_estimator(model, X[80:], Y[80:], joint=True, ax=display.axes_, name="joint")
    assert [text.get_text() for text in again.axes_[0].get_legend().get_texts()] == ["ConformalRegressor", "joint"]
    assert display.lines_[0].get_color() == "red"
    with pytest.raises(ValueError, match="ax must be two Axes"):
        display.plot(display.axes_[:1])
    with pytest.raises(ValueError, match=r"alpha must be a number above 0 and below 1, got 1\.5"):
        CoverageDisplay.from_estimator(model, X, Y, alphas=[1.5])
    with pytest.raises(TypeError, match="ConformalRegressor or a ConformalClassifier"):
        CoverageDisplay.from_estimator(model.estimator_, X, Y)
    plt.close("all")


# --- bad input --------------------------------------------------------------------------------------------------------


def refused(model, error, message, X, y, **fit):
    before = dict(vars(model))
    with pytest.raises(error, match=message):
        model.fit(X, y, **fit)
    assert vars(model) == before


def test_bad_input_is_named():
    X, Y = numbers()
    kept = {"keep_rows": True}
    for params, error, message in (
        ({"alpha": 0}, ValueError, "alpha must be a number above 0 and below 1, got 0"),
        ({"alpha": 1.0}, ValueError, "alpha must be a number above 0 and below 1, got 1.0"),
        ({"alpha": "a"}, ValueError, "alpha must be a number above 0 and below 1, got 'a'"),
        (
            {"conformity_score": "other"},
            ValueError,
            "'conformity_score' parameter .* must be a str .*'quantile'.* Got 'other'",
        ),
        ({"cv": "prefit"}, ValueError, "cv must be 'oob', an integer of at least 2"),
        ({"cv": "oob", "estimator": forest(bootstrap=False)}, ValueError, "cv='oob' requires bootstrap=True"),
        ({"cv": "oob", "estimator": LinearRegression()}, ValueError, "cv='oob' requires a forest"),
        ({"estimator": trees_of_classes()}, TypeError, "must be a regressor, got RandomForestClassifier; ConformalCl"),
        ({"estimator": weald.RandomForestRegressor}, TypeError, "estimator must be an instance"),
        (
            {"conformity_score": "normalized", "estimator": LinearRegression()},
            TypeError,
            "conformity_score='normalized' requires",
        ),
        ({"conformity_score": "quantile", "estimator": LinearRegression()}, TypeError, "which has predict_quantiles"),
        ({"conformity_score": "quantile", "cv": 3}, ValueError, "requires keep_rows=True"),
        ({"conformity_score": "quantile", "estimator": forest(**kept)}, ValueError, "does not support cv='oob'"),
        ({"verbose": -1}, ValueError, "verbose"),
    ):
        refused(ConformalRegressor(**{"estimator": forest(), **params}), error, message, X, Y)
    for y, fit, message in (
        (None, {}, "requires y to be passed"),
        (np.full(80, "a"), {}, "y must have numbers, got 'a'"),
        (np.where(Y > 2, np.nan, Y)[:, 0], {}, "contains NaN and has one output"),
        (Y, {"label_names": ["a", "b", "c"]}, "label_names is only supported for y of labels"),
        (Y, {"y_weight": unless(np.ones((2, 2)))}, "y_weight must have shape"),
    ):
        refused(ConformalRegressor(forest()), ValueError, message, X, y, **fit)
    gaps = np.where(np.arange(240).reshape(80, 3) % 7 == 0, np.nan, Y)
    refused(ConformalRegressor(LinearRegression()), ValueError, "does not support y with masked entries", X, gaps)
    model = ConformalRegressor(forest()).fit(X, Y)
    with pytest.raises(ValueError, match="region must be 'box' or 'ellipsoid', got 'ball'"):
        model.log_volume(X, region="ball")
    X, y = classes()
    for params, error, message in (
        ({"method": "raps"}, ValueError, "'method' parameter .* must be a str among {.*'aps'.*}. Got 'raps'"),
        (
            {"randomized": 1},
            ValueError,
            "'randomized' parameter .* must be .* 'bool' or .*. Got 1",
        ),
        ({"estimator": forest()}, TypeError, "must be a classifier, got RandomForestRegressor; ConformalRegressor"),
        ({"estimator": RidgeClassifier()}, TypeError, "must be a classifier with predict_proba, got RidgeClassifier"),
    ):
        refused(ConformalClassifier(**{"estimator": trees_of_classes(), **params}), error, message, X, y)
    X, Y = labels()
    refused(ConformalClassifier(trees_of_classes()), ValueError, "ConformalLabels is for labels", X, Y)
    for params, message in (
        ({"control": "f1"}, "'control' parameter .* must be a str among {.*'recall'.*}. Got 'f1'"),
        ({"delta": 0}, "delta must be a number above 0 and below 1, got 0"),
        ({"alpha": 0.001}, "that have a label: all labels would be predicted"),
        ({"min_score": 2}, "min_score must be 'auto' or a number from 0 to 1"),
    ):
        refused(ConformalLabels(trees_of_classes(), **params), ValueError, message, X, Y)


# --- ties, and what searches choose ------------------------------------------------------------------------------------


class Gauge(RegressorMixin, BaseEstimator):
    """Predicts the first features, in tenths."""

    def __init__(self, outputs=1):
        self.outputs = outputs

    def fit(self, X, y):
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        found = np.asarray(X, dtype=float)[:, : self.outputs]
        return found[:, 0] if self.outputs == 1 else found


def tenths(seed, n, outputs=1):
    """Readings that are too low by the same tenths, for most samples."""
    rng = np.random.default_rng(seed)
    low, offset = (np.round(rng.uniform(-4, 4, outputs), 1) for _ in range(2))
    X = np.tile(low, (n, 1)) * (1 + (outputs > 1) * rng.integers(0, 3, (n, 1)))
    Y = np.round(X + np.where(rng.random((n, 1)) < 0.97, offset, 0.0), 1)
    return X.round(1), Y if outputs > 1 else Y[:, 0]


@pytest.mark.parametrize("seed", range(12))
def test_values_whose_score_is_the_quantile_are_inside(seed):
    X, y = tenths(seed, 400)
    model = ConformalRegressor(FrozenEstimator(Gauge().fit(X, y)), alpha=0.1).fit(X[:200], y[:200])
    assert coverage(y[200:], model.predict_interval(X[200:])) > 0.9
    assert coverage(y[200:], model.predict_region(X[200:])) > 0.9
    X, Y = tenths(seed, 400, 3)
    model = ConformalRegressor(FrozenEstimator(Gauge(3).fit(X, Y)), alpha=0.1).fit(X[:200], Y[:200])
    assert (coverage(Y[200:], model.predict_interval(X[200:]), multioutput="raw_values") > 0.9).all()
    for region in ("box", "ellipsoid"):
        # One sample at a time, too: matrix products round otherwise.
        inside = [model.contains(X[[i]], Y[[i]], region=region)[0] for i in range(200, 400)]
        assert np.mean(inside) > 0.9
        assert model.contains(X[200:], Y[200:], region=region).mean() > 0.9


@pytest.mark.parametrize("score", ["absolute", "normalized", "quantile"])
def test_ties_of_forests_are_inside(score):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (400, 2)).astype(float)
    y = (X[:, 0] + 0.1 * rng.integers(-2, 3, 400)).round(1)
    inner = forest(10, keep_rows=True, min_samples_leaf=5).fit(X[:100], y[:100])
    model = ConformalRegressor(FrozenEstimator(inner), conformity_score=score, alpha=0.2).fit(X[100:], y[100:])
    # The samples of the calibration: more than the fraction have a score up to the quantile.
    for rows in (slice(100, 400), slice(100, 131)):
        bounds = model.predict_interval(X[rows])
        parts = model._parts_of(X[rows])
        lower, upper, unit = model._around(parts)
        scores = (np.maximum(lower[:, 0] - y[rows], y[rows] - upper[:, 0]) / unit[:, 0]).ravel()
        inside = (bounds[:, 0] <= y[rows]) & (y[rows] <= bounds[:, 1])
        assert inside[scores <= model._quantiles(None)[0]].all()
    assert coverage(y[100:], model.predict_interval(X[100:])) >= 0.8


def test_equal_samples_in_other_blocks_have_the_same_sets_and_labels():
    rng = np.random.default_rng(0)
    X = np.tile(rng.normal(size=(1, 30)), (300, 1))
    y = np.array(["a", "b"])[(rng.random(300) < 0.03).astype(int)]
    fitted = LogisticRegression().fit(rng.normal(size=(50, 30)), np.resize(["a", "b"], 50))
    model = ConformalClassifier(FrozenEstimator(fitted), alpha=0.1).fit(X[:150], y[:150])
    # Libraries of linear algebra round products of one row and of many otherwise.
    for rows in (X[:1], X[:2], X[:7], X):
        assert model.predict_sets(rows)[:, 0].all()
    Y = np.column_stack([np.ones(300), rng.random(300) < 0.5]).astype(int)
    others = OneVsRestClassifier(LogisticRegression()).fit(rng.normal(size=(60, 30)), rng.integers(0, 2, (60, 2)))
    labelled = ConformalLabels(FrozenEstimator(others), alpha=0.3).fit(X[:150], Y[:150])
    assert {labelled.predict(rows)[0].tobytes() for rows in (X[:1], X[:2], X[:7], X)} == {
        labelled.predict(X)[0].tobytes()
    }


def test_the_interval_score_is_that_of_its_definition():
    X, Y = numbers(100)
    mask = np.random.default_rng(0).random(Y.shape) < 0.3
    weights = np.arange(100) % 3 + 1.0
    model = ConformalRegressor(forest(20), alpha=0.2).fit(X, Y)
    bounds = model.predict_interval(X)
    expected = []
    for j in range(3):
        values = []
        for i in np.flatnonzero(~mask[:, j]):
            low, high = bounds[i, j]
            value = (
                high - low + 2 / 0.2 * (low - Y[i, j]) * (Y[i, j] < low) + 2 / 0.2 * (Y[i, j] - high) * (Y[i, j] > high)
            )
            values.append((value, weights[i]))
        expected.append(np.average(*np.transpose(values)[:1], weights=np.transpose(values)[1]))
    assert model.score(X, Y, weights, y_weight=unless(mask)) == pytest.approx(-np.mean(expected), rel=1e-12)
    assert model.score(X, np.where(mask, np.nan, Y), weights) == model.score(X, Y, weights, y_weight=unless(mask))


@pytest.mark.parametrize("seed", range(3))
def test_searches_choose_the_model_with_the_smaller_intervals_and_sets(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(240, 4))
    y = 3 * X[:, 0] + 0.2 * rng.normal(size=240)
    grid = {"estimator__min_samples_leaf": [2, 70]}
    found = GridSearchCV(ConformalRegressor(forest(20), random_state=0), grid, cv=3).fit(X, y)
    assert found.best_params_["estimator__min_samples_leaf"] == 2
    labels = (X[:, :3] + 0.2 * rng.normal(size=(240, 3)) > 0.3).astype(int)
    classes = np.digitize(y, [-2, 0, 2])
    trees = trees_of_classes(n_estimators=20)
    for method in ("lac", "aps"):
        model = ConformalClassifier(trees, method=method, random_state=0)
        assert GridSearchCV(model, grid, cv=3).fit(X, classes).best_params_["estimator__min_samples_leaf"] == 2
    for control in ("recall", "precision"):
        model = ConformalLabels(trees, control=control, alpha=0.3, random_state=0)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "No threshold is sure")
            search = GridSearchCV(model, grid, cv=3).fit(X, labels)
        assert search.best_params_["estimator__min_samples_leaf"] == 2


def test_sets_that_miss_more_than_was_asked_for_do_not_win():
    X, y = classes(300)
    held = FrozenEstimator(trees_of_classes(n_estimators=30).fit(X[:100], y[:100]))
    honest = ConformalClassifier(held, alpha=0.1).fit(X[100:200], y[100:200])
    # The scores of the samples of the fit are too good: its sets are small, and miss too much.
    fooled = ConformalClassifier(held, alpha=0.1).fit(X[:100], y[:100])
    assert size(fooled.predict_sets(X[200:])) < size(honest.predict_sets(X[200:]))
    assert fooled.score(X[200:], y[200:]) < honest.score(X[200:], y[200:])


@pytest.mark.parametrize("randomized", [False, True])
def test_no_class_of_probability_zero_is_in_a_set_beside_a_sure_one(randomized):
    X, y = load_digits(return_X_y=True)
    inner = trees_of_classes(n_estimators=40)
    model = ConformalClassifier(inner, alpha=0.05, method="aps", randomized=randomized, random_state=0)
    sets = model.fit(X[:800], y[:800]).predict_sets(X[800:])
    proba = model.predict_proba(X[800:])
    assert not sets[(proba == 0) & (proba.sum(axis=1, keepdims=True) > 0.999)].any()
    assert coverage(y[800:], sets, classes=model.classes_) > 0.95 - 0.03  # four standard errors
    assert ConformalClassifier(inner, method="aps").randomized is True
