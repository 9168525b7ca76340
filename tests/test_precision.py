"""A warning names the features whose values float32 cannot distinguish."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import weald
from conftest import ALL, BOOSTING, CENTROIDS, COMPRESSED, INDUCED, LABEL_TREES, LINEAR, make, make_data, model_bytes
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import DataConversionWarning
from sklearn.linear_model import Ridge
from weald._input import checks
from weald.projection import Projected

EVERY = [*ALL, *BOOSTING, *CENTROIDS, *LINEAR, *LABEL_TREES, *COMPRESSED, *INDUCED]


def small(name, **params):
    return make(name, **({"l1_norm": 0.5} if name in COMPRESSED else {}), **params)


def with_ids(first=2**24, n=60):
    """Three features, the second of which holds ids."""
    X = np.random.default_rng(0).normal(size=(n, 3))
    X[:, 1] = first + np.arange(n)
    return X


def said(fit):
    """The warnings about float32 that a fit gives."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        fit()
    return [str(warning.message) for warning in found if "float32" in str(warning.message)]


FORMS = {
    "C": lambda X: X,
    "Fortran": np.asfortranarray,
    "longdouble": lambda X: X.astype(np.longdouble),
    "list": lambda X: X.tolist(),
    "csr": sparse.csr_array,
    "csc": sparse.csc_matrix,
    "coo": sparse.coo_array,
    "pandas": lambda X: pd.DataFrame(X, columns=["a", "id", "c"]),
    "polars": lambda X: pl.DataFrame(X, schema=["a", "id", "c"]),
    "sparse pandas": lambda X: pd.DataFrame(X, columns=["a", "id", "c"]).astype(pd.SparseDtype(np.float64, 0.0)),
    "integers": lambda X: pd.DataFrame(X, columns=["a", "id", "c"]).astype({"id": np.int64}),
    "nullable": lambda X: pd.DataFrame(X, columns=["a", "id", "c"]).astype({"id": "Int64"}),
    "objects": lambda X: pd.DataFrame(X, columns=["a", "id", "c"]).astype({"id": object}),
}


@pytest.mark.parametrize("form", FORMS)
def test_ids_above_two_to_the_24_are_named_once(form):
    X = FORMS[form](with_ids())
    y = np.arange(60.0)
    messages = said(lambda: make("RandomForestRegressor").fit(X, y))
    which = "'id'" if hasattr(X, "columns") else "1"
    # Of 60 consecutive numbers, 31 remain: an odd number lies halfway between two float32 values and is rounded to a
    # multiple of four.
    assert len(messages) == 1
    assert f"cannot distinguish: {which} (60 values become 31). " in messages[0]
    with pytest.warns(DataConversionWarning, match="number the values of such a feature 0, 1, 2"):
        make("RandomForestRegressor").fit(X, y)


def test_every_estimator_warns_at_fit_and_at_no_prediction():
    X, y = with_ids(), np.arange(60) % 2
    for estimator in EVERY:
        model = small(estimator)
        assert len(said(lambda model=model: model.fit(X, y))) == 1, estimator
        assert (
            said(lambda model=model: [getattr(model, name)(X) for name in ("predict", "apply") if hasattr(model, name)])
            == []
        )
        codes = np.unique(X[:, 1], return_inverse=True)[1]
        assert said(lambda codes=codes, estimator=estimator: small(estimator).fit(codes[:, None], y)) == []


def test_weak_models_get_float64():
    X, y = with_ids(), np.arange(60.0)
    assert (
        said(
            lambda: make(
                "GradientBoostingRegressor", estimator=Ridge(), output_strategy=Projected(relabel_leaves=False)
            ).fit(X, y)
        )
        == []
    )


def test_missing_and_stored_zeros_are_no_values():
    X = with_ids()
    X[::2, 1] = np.nan
    X[:, 2] = np.nan
    for form in (X, sparse.csr_array(X), sparse.csc_array(X)):
        # Only every second number is given: all are odd, and they are rounded to multiples of four.
        (message,) = said(lambda form=form: make("DecisionTreeRegressor").fit(form, np.arange(60.0)))
        assert "distinguish: 1 (30 values become 15)" in message or "distinguish: 1 (30 values become 16)" in message
    for frame in (pd.DataFrame(with_ids()).convert_dtypes(), pl.DataFrame(with_ids()).cast({"column_1": pl.Int64})):
        if isinstance(frame, pd.DataFrame):
            frame.iloc[3, 1] = pd.NA
        else:
            frame[3, 1] = None
        (message,) = said(lambda frame=frame: make("DecisionTreeRegressor").fit(frame, np.arange(60.0)))
        assert "(59 values become 31)" in message
    rng = np.random.default_rng(0)
    ordinary = np.where(rng.random((60, 3)) < 0.3, np.nan, rng.normal(size=(60, 3)))
    assert said(lambda: make("DecisionTreeRegressor").fit(ordinary, np.arange(60.0))) == []


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (1.7e9 + np.arange(500.0), True),  # timestamps in seconds
        (1.7e9 + np.arange(500) / 3, True),  # timestamps with fractions of a second
        (1.7e18 + 1e9 * np.arange(500.0), True),  # timestamps in nanoseconds, which float64 rounds too
        (-1.7e9 - np.arange(500.0), True),
        (2.0**24 - np.arange(500.0), False),  # float32 represents all of them exactly
        (2.0**30 * np.arange(500.0), False),
        (np.repeat([2.0**24, 2.0**24 + 1], 250), True),
        (np.full(500, 2.0**24 + 1), False),  # rounded, but it is the only value
        (np.random.default_rng(0).lognormal(20, 1, 500), False),  # amounts
        (np.random.default_rng(0).normal(size=500) * 1e30, False),
        (np.r_[np.random.default_rng(0).normal(size=499), 1e20], False),
        (np.random.default_rng(0).normal(size=500), False),
        (1 + 1e-9 * np.arange(500), False),  # small values, however many are lost
    ],
)
def test_what_is_warned_of(column, expected):
    y = np.arange(len(column)) % 7.0
    for X in (column[:, None], sparse.csc_array(column[:, None])):
        assert bool(said(lambda X=X: make("DecisionTreeRegressor").fit(X, y))) == expected


def test_integers_of_other_types():
    ids = 2**24 + np.arange(60)[:, None]
    y = np.arange(60.0)
    for dtype in (np.int32, np.uint32, np.int64, np.uint64):
        for X in (
            ids.astype(dtype),
            sparse.csr_array(ids.astype(dtype)),
            pd.DataFrame({"id": ids[:, 0].astype(dtype)}),
        ):
            assert len(said(lambda X=X: make("DecisionTreeRegressor").fit(X, y))) == 1, dtype
    huge = (2**62 + np.arange(60))[:, None]  # float64 cannot distinguish them either
    assert "(60 values become 1)" in said(lambda: make("DecisionTreeRegressor").fit(huge, y))[0]
    for X in (ids.astype(np.float32), np.arange(60, dtype=np.int16)[:, None], ids > 0):
        assert said(lambda X=X: make("DecisionTreeRegressor").fit(X, y)) == []


def test_at_most_five_columns_are_named():
    X = np.tile(with_ids()[:, 1:2], (1, 9))
    (message,) = said(lambda: make("DecisionTreeRegressor").fit(X, np.arange(60.0)))
    assert [f"{j} (60 values" in message for j in range(9)] == [True] * 5 + [False] * 4


def test_a_warning_that_is_an_error_leaves_the_estimator_as_it_was():
    X, y = make_data("RandomForestRegressor")
    model = make("RandomForestRegressor").fit(X, y)
    before = model_bytes(model)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataConversionWarning)
        with pytest.raises(DataConversionWarning):
            model.fit(with_ids(), np.arange(60.0))
    assert model_bytes(model) == before
    assert model.n_features_in_ == X.shape[1]


def plainly(values):
    """Distinct values before and after, if any integer or more than a tenth of other values is lost; otherwise None."""
    values = [float(v) for v in values if np.isfinite(v)]
    singles = {float(np.float32(v)) for v in values}
    lost = len(set(values)) - len(singles)
    is_whole = all(v.is_integer() and abs(v) <= 2**53 for v in values)
    return (len(set(values)), len(singles)) if lost > (0 if is_whole else 0.1 * len(set(values))) else None


large = st.integers(2**24 - 4, 2**24 + 40) | st.integers(2**53 - 2, 2**53 + 8) | st.integers(-(2**25), 2**25)


@given(st.lists(large.map(float) | st.floats(width=64, min_value=-1e38, max_value=1e38) | st.just(np.nan), max_size=30))
def test_the_rule_against_sets(values):
    assert checks._lost(np.array(values, dtype=np.float64)) == plainly(values)


@given(
    st.lists(
        st.lists(st.sampled_from([0.0, 1.5, np.nan, 2.0**24 + 1, -(2.0**24), 2.0**24 - 1]), min_size=4, max_size=4)
    )
)
def test_columns_that_are_looked_at_in_every_layout(rows):
    X = np.array(rows, dtype=np.float32).reshape(-1, 4)
    expected = np.flatnonzero([(np.abs(column[~np.isnan(column)]) >= 2**24).any() for column in X.T])
    for form in (X, np.asfortranarray(X), sparse.csr_array(X), sparse.csc_array(X)):
        np.testing.assert_array_equal(checks._large_columns(form), expected)


def test_estimators_named_by_the_package_are_covered():
    assert {name for name in weald.__all__ if name.endswith(("Classifier", "Regressor"))} == {
        *(name.rpartition(" ")[2] for name in EVERY),
        "VotingClassifier",
        "VotingRegressor",
    }


@pytest.mark.parametrize("form", [form for form in FORMS if form not in ("integers", "nullable")])
def test_values_that_become_zero_or_lose_their_digits_are_named(form):
    X = np.random.default_rng(0).normal(size=(300, 3))
    X[:, 2] = 0  # constant before and after
    small = np.array([1.0, 2.0**-10, 1.0])
    for factor, expected in ((2.0**-100, False), (2.0**-142, True), (1e-60, True)):
        found = said(lambda factor=factor: small_forest().fit(FORMS[form](X * small * factor), X[:, 0]))
        assert bool(found) == expected
        if expected:
            assert "multiply it if its values are tiny" in found[0]


def small_forest():
    return weald.RandomForestRegressor(n_estimators=2, max_depth=2, random_state=0)
