"""Data frames with sparse columns of every type, as X and as y, give the same results as dense arrays."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from conftest import ALL, BOOSTING, COMPRESSED, make, make_data, model_bytes, unless
from scipy import sparse

EVERY = [*ALL, *BOOSTING, *COMPRESSED]
NAMES = ["gene0", "gene1", "gene2"]

TYPES = [bool, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
FLOATS = [np.float16, np.float32, np.float64]


@pytest.fixture(params=EVERY)
def name(request):
    return request.param


def small(name, **params):
    """An estimator that is fitted within milliseconds."""
    return make(name, **({"l1_norm": 0.5} if name in COMPRESSED else {}), **params)


def several(name):
    """X, and y of three outputs: numerical outputs or labels."""
    return make_data(name, outputs="labels")


def sparse_frame(values, fill):
    """A data frame of sparse columns, which do not store the value `fill`."""
    columns = {f"c{j}": pd.arrays.SparseArray(values[:, j], fill_value=fill) for j in range(values.shape[1])}
    return pd.DataFrame(columns)


@pytest.mark.parametrize("dtype", [*TYPES, *FLOATS])
def test_sparse_frames_of_every_type_are_their_dense_arrays(name, dtype):
    X, y = make_data(name, p=4)
    X = np.abs(np.round(X)).astype(dtype)
    expected = small(name).fit(X, y)
    for fill in X.dtype.type(0), X.dtype.type(1):
        frame = sparse_frame(X, fill)
        assert {column.fill_value for column in frame.dtypes} == {fill}
        model = small(name).fit(frame, y)
        assert model_bytes(model) == model_bytes(expected)
        np.testing.assert_array_equal(model.predict(frame), expected.predict(X))


def test_sparse_frames_of_several_types_and_with_dense_columns(name):
    X, y = make_data(name, p=5)
    X = np.abs(np.round(X))
    expected = small(name).fit(X, y)
    dtypes = [bool, np.int8, np.float16, np.float64, np.uint64]
    X[:, 0] = X[:, 0] > 0
    expected = small(name).fit(X, y)
    parts = [sparse_frame(X[:, j : j + 1].astype(dtype), X.astype(dtype)[0, j]) for j, dtype in enumerate(dtypes)]
    mixed = pd.concat(parts, axis=1, ignore_index=True)
    partly = mixed.copy()
    partly[1] = X[:, 1]
    for frame in (mixed, partly):
        if frame is partly:
            with pytest.warns(UserWarning, match="sparse columns found"):
                model = small(name).fit(frame, y)
        else:
            model = small(name).fit(frame, y)
        assert model_bytes(model) == model_bytes(expected)


@pytest.mark.parametrize("dtype", FLOATS)
def test_nan_that_is_not_stored_is_missing(name, dtype):
    X, y = make_data(name, p=4)
    X = np.round(X, 1).astype(dtype)
    X[np.random.default_rng(1).random(X.shape) < 0.3] = np.nan
    expected = small(name).fit(X, y)
    for fill in np.nan, 0.0, 0.5:
        frame = sparse_frame(X, dtype(fill))
        model = small(name).fit(frame, y)
        assert model_bytes(model) == model_bytes(expected), fill
        np.testing.assert_array_equal(model.predict(frame), expected.predict(X), err_msg=str(fill))


@pytest.mark.parametrize("dtype", [*TYPES, *FLOATS])
def test_sparse_frames_and_series_of_every_type_as_y(name, dtype):
    X, Y = several(name)
    Y = (Y > 0).astype(dtype)
    expected = small(name).fit(X, Y)
    for fill in Y.dtype.type(0), Y.dtype.type(1):
        model = small(name).fit(X, sparse_frame(Y, fill))
        assert model.target_names_in_.tolist() == ["c0", "c1", "c2"]
        assert model_bytes(model) == model_bytes(expected)
        found = model.predict(X)
        found = found.toarray() if sparse.issparse(found) else found
        np.testing.assert_array_equal(found, expected.predict(X))
    one = small(name).fit(X, Y[:, 0])
    series = pd.Series(pd.arrays.SparseArray(Y[:, 0], fill_value=Y.dtype.type(0)), name="first")
    model = small(name).fit(X, series)
    assert model_bytes(model) == model_bytes(one)
    assert model.target_names_in_.tolist() == ["first"]


def test_sparse_targets_with_another_value_that_is_not_stored():
    X, Y = make_data("RandomForestRegressor", outputs="several")
    Y = np.round(Y)
    expected = make("RandomForestRegressor").fit(X, Y)
    mixed = pd.concat([sparse_frame(Y[:, :1], 1.0), sparse_frame(Y[:, 1:].astype(np.int8), np.int8(-1))], axis=1)
    mixed.columns = NAMES
    for frame in (sparse_frame(Y, 2.0), mixed):
        assert model_bytes(make("RandomForestRegressor").fit(X, frame)) == model_bytes(expected)


def with_gaps(name):
    """X, y of three outputs with NaN and a sample that has NaN only, and weights, some of which are zero."""
    X, Y = several(name)
    Y = np.where(np.random.default_rng(2).random(Y.shape) < 0.3, np.nan, Y)
    Y[4] = np.nan
    return X, Y, (np.arange(len(X)) % 4).astype(float)


@pytest.mark.parametrize("dtype", FLOATS)
def test_nan_in_sparse_y_is_a_cell_that_is_not_known_as_in_dense_y(name, dtype):
    X, Y, w = with_gaps(name)
    Y = Y.astype(dtype)
    for weights in (None, w):
        expected = small(name).fit(X, Y, weights)
        for fill in (np.nan, 0.0, 1.0):
            model = small(name).fit(X, sparse_frame(Y, dtype(fill)), weights)
            assert model_bytes(model) == model_bytes(expected), fill
    # A mask marks further values as unknown.
    told = np.zeros(Y.shape, dtype=bool)
    told[:9, 1] = True
    expected = small(name).fit(X, Y, y_weight=unless(told))
    for mask in (told, sparse.csr_array(told)):
        assert model_bytes(small(name).fit(X, sparse_frame(Y, dtype(0)), y_weight=unless(mask))) == model_bytes(
            expected
        )


def test_nan_in_samples_without_weight_is_ignored(name):
    X, Y = several(name)
    w = (np.arange(len(X)) % 4).astype(float)
    expected = small(name).fit(X, Y.astype(float), w)
    hostile = np.where(w[:, None] > 0, Y, np.nan)
    for fill in (np.nan, 0.0):
        assert model_bytes(small(name).fit(X, sparse_frame(hostile, fill), w)) == model_bytes(expected)


@pytest.mark.filterwarnings("ignore:A column-vector y was passed")
def test_nan_in_one_sparse_output_is_refused(name):
    X, Y = several(name)
    column = np.where(np.arange(len(X)) == 3, np.nan, Y[:, 0])
    frames = [sparse_frame(column[:, None], np.nan), sparse_frame(column[:, None], 0.0)]
    for y in (*frames, pd.Series(pd.arrays.SparseArray(column))):
        with pytest.raises(ValueError, match=r"y contains NaN|y must have the values 0 and 1 for labels, got nan"):
            small(name).fit(X, y)


@pytest.mark.parametrize("name", BOOSTING)
def test_nan_in_sparse_frames_of_other_samples_is_a_cell_that_is_not_known(name):
    X, Y = several(name)
    _, gaps, _ = with_gaps(name)
    model = small(name, output_strategy="joint")
    expected = model.fit(X, Y, X_val=X, y_val=gaps).validation_score_
    for fill in (np.nan, 0.0):
        frame = sparse_frame(gaps, fill).set_axis([0, 1, 2], axis=1)
        model.fit(X, Y, X_val=X, y_val=frame, eval_sets=[(X, frame)])
        np.testing.assert_array_equal(model.validation_score_, expected)
        # Scores of labels are float32 in the engine; losses of numerical outputs are summed in a different order.
        np.testing.assert_allclose(model.eval_results_["eval_0"]["loss"], expected, rtol=1e-5)


def test_nan_in_a_sparse_matrix_of_labels_is_refused():
    X, Y, _ = with_gaps("RandomForestClassifier")
    with pytest.raises(ValueError, match=r"y must have the values 0 and 1 for labels, .*got nan"):
        make("RandomForestClassifier").fit(X, sparse.csr_array(Y))
