"""Unknown values in y: trees against the slow oracle, laws, invalid input, and scores."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import weald
from conftest import unless
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracle import REAL_CRITERIA, Arrays, Limits, MaskedOracle, check_tree
from test_oracle import LIMITS, SETTINGS, matrices, numbers, weights, weights_within, with_stored_zeros

NAN = np.nan
CRITERIA = [
    ("numbers", "squared_error"),
    ("labels", "gini"),
    ("labels", "entropy"),
    ("classes", "gini"),
    ("classes", "entropy"),
]
TREES = [weald.DecisionTreeClassifier, weald.ExtraTreeClassifier]
FORESTS = [weald.RandomForestClassifier, weald.ExtraTreesClassifier]


@st.composite
def problems(draw: st.DrawFn, kind: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    """X, y of two or three outputs, a mask that leaves a value of each output, and weights."""
    X = draw(matrices())
    n, d = len(X), draw(st.integers(2, 3))
    if kind == "numbers":
        y = np.column_stack([np.resize(draw(numbers(n)), n) for _ in range(d)]).astype(float)
    else:
        most = 1 if kind == "labels" else 2
        y = np.array(draw(st.lists(st.integers(0, most), min_size=n * d, max_size=n * d))).reshape(n, d)
    w = draw(weights(n))
    rare = st.sampled_from([0.1, 0.5, 0.8])
    bits = draw(st.lists(st.floats(0, 1), min_size=n * d, max_size=n * d))
    mask = np.array(bits).reshape(n, d) < draw(rare)
    there = np.flatnonzero(np.ones(n) if w is None else w)
    mask[there[0]] = False
    if kind == "classes":
        y[there[0], 0] = 2  # with more than two classes, y is a table of classes
    return X, y, mask, w


def grow(X: Any, y: Any, mask: Any, w: Any, criterion: str, splitter: str = "best", **parameters: Any) -> Any:
    kind = weald.DecisionTreeRegressor if criterion in REAL_CRITERIA else weald.DecisionTreeClassifier
    tree = kind(criterion=criterion, splitter=splitter, random_state=parameters.pop("seed", 0), **parameters)
    return tree.fit(X, y, sample_weight=w, y_weight=unless(mask))


def values(tree: Any, X: Any) -> np.ndarray:
    """Predictions as one two-dimensional array."""
    if not hasattr(tree, "predict_proba"):
        return np.asarray(tree.predict(X)).reshape(X.shape[0], -1)
    proba = tree.predict_proba(X)
    return np.column_stack(proba) if isinstance(proba, list) else proba


def same(one: Any, other: Any, X: Any) -> None:
    """Checks that two trees are equal to the last bit."""
    for name in Arrays.__annotations__:
        np.testing.assert_array_equal(getattr(one.tree_, name), getattr(other.tree_, name), err_msg=name)
    np.testing.assert_array_equal(values(one, X), values(other, X))


def check_values(tree: Any, arrays: Arrays, oracle: MaskedOracle, X: np.ndarray) -> None:
    """Each leaf predicts the mean of its known values, or that of its nearest ancestor that has some."""
    rows = arrays.rows_of_nodes(oracle.X)
    parents = {int(child): node for node in range(len(rows)) for child in children(arrays, node)}
    got = values(tree, X)
    for i, leaf in enumerate(tree.apply(X)):
        expected: list[float] = []
        for j in range(oracle.n_outputs):
            node = int(leaf)
            while (found := oracle.value(rows[node], j)) is None:
                node = parents[node]
            if isinstance(found, dict):
                is_labels = tree._label_format is not None
                expected += [found.get(1, 0.0)] if is_labels else [found[c] for c in tree.classes_[j]]
            else:
                expected.append(found)
        scale = np.abs(oracle.y.astype(float)).max()
        # Means are computed from float64 sums; where numbers cancel, the rounding error of the largest one remains.
        np.testing.assert_allclose(got[i], expected, rtol=1e-12, atol=1e-12 * scale)


def children(arrays: Arrays, node: int) -> list[int]:
    pair = [int(arrays.children_left[node]), int(arrays.children_right[node])]
    return [] if arrays.is_leaf(node) else pair


@pytest.mark.parametrize("splitter", ["best", "random"])
@pytest.mark.parametrize(("kind", "criterion"), CRITERIA)
@SETTINGS
@given(data=st.data())
def test_every_split_is_the_best_of_all_cuts(kind: str, criterion: str, splitter: str, data: st.DataObject) -> None:
    X, y, mask, w = data.draw(problems(kind))
    oracle = MaskedOracle(X, y, mask, w, criterion)
    tree = grow(X, y, mask, w, criterion, splitter, seed=data.draw(st.integers(0, 5)))
    check_values(tree, check_tree(tree, oracle, splitter=splitter), oracle, X)


@pytest.mark.parametrize(("kind", "criterion"), CRITERIA[:2])
@SETTINGS
@given(data=st.data())
def test_limits_hold(kind: str, criterion: str, data: st.DataObject) -> None:
    X, y, mask, w = data.draw(problems(kind))
    limits = data.draw(LIMITS)
    w = weights_within(limits, w)
    parameters = {name: getattr(limits, name) for name in Limits.__annotations__}
    oracle = MaskedOracle(X, y, mask, w, criterion)
    check_tree(grow(X, y, mask, w, criterion, **parameters), oracle, limits)


@pytest.mark.parametrize(("kind", "criterion"), CRITERIA)
@SETTINGS
@given(data=st.data())
def test_trees_do_not_depend_on_the_layout_of_X_or_the_form_of_the_mask(
    kind: str, criterion: str, data: st.DataObject
) -> None:
    X, y, mask, w = data.draw(problems(kind))
    tree = grow(X, y, mask, w, criterion)
    same(tree, grow(X, y, sp.csc_array(mask), w, criterion), X)
    same(tree, grow(X, y, mask.astype(int), w, criterion), X)
    with_gaps = np.where(mask, NAN, y)
    same(tree, grow(X, with_gaps, None, w, criterion), X)
    other = np.where(mask, data.draw(st.sampled_from([0, 1])), y)
    same(tree, grow(X, other, mask, w, criterion), X)
    for layout in (sp.csr_array, sp.csc_array):
        same(tree, grow(with_stored_zeros(X, layout), y, mask, w, criterion), X)
    if kind == "labels":
        same(tree, grow(X, sp.csr_array(y), sp.coo_array(mask), w, criterion), X)


@pytest.mark.parametrize(("kind", "criterion"), CRITERIA)
@SETTINGS
@given(data=st.data())
def test_samples_without_known_outputs_are_ignored_and_weights_are_counts(
    kind: str, criterion: str, data: st.DataObject
) -> None:
    X, y, mask, w = data.draw(problems(kind))
    w = np.ones(len(X)) if w is None else np.ceil(w)
    mask[data.draw(st.integers(0, len(X) - 1))] = True
    exists = (w > 0) & ~mask.all(axis=1)
    assume((exists[:, None] & ~mask).any(axis=0).all() and (kind != "classes" or (y[exists, 0] == 2).any()))
    assume(kind != "classes" or (~mask[:, 0] & exists & (y[:, 0] == 2)).any())
    tree = grow(X, y, mask, w, criterion)
    same(tree, grow(X[exists], y[exists], mask[exists], w[exists], criterion), X)
    same(tree, grow(X, y, mask & exists[:, None], np.where(exists, w, 0), criterion), X)
    times = w.astype(int)
    twice = grow(
        np.repeat(X, times, axis=0), np.repeat(y, times, axis=0), np.repeat(mask, times, axis=0), None, criterion
    )
    np.testing.assert_array_equal(tree.tree_.impurity, twice.tree_.impurity)
    np.testing.assert_array_equal(values(tree, X), values(twice, X))


def problem(kind: str, n: int = 120, d: int = 5, share: float = 0.4) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(n, 6)).round(1)
    scores = X @ rng.normal(size=(6, d)) + rng.normal(size=(n, d))
    y = {"numbers": scores, "labels": (scores > 0.5).astype(int), "classes": np.digitize(scores, [-0.7, 0.7])}[kind]
    return X, y, rng.random((n, d)) < share


MODELS = [
    ("numbers", weald.DecisionTreeRegressor(random_state=0)),
    ("numbers", weald.ExtraTreeRegressor(random_state=0)),
    ("numbers", weald.RandomForestRegressor(n_estimators=5, random_state=0)),
    ("numbers", weald.ExtraTreesRegressor(n_estimators=5, random_state=0)),
    ("labels", weald.DecisionTreeClassifier(random_state=0)),
    ("labels", weald.ExtraTreeClassifier(random_state=0)),
    ("labels", weald.RandomForestClassifier(n_estimators=5, random_state=0)),
    ("labels", weald.ExtraTreesClassifier(n_estimators=5, random_state=0)),
]


@pytest.mark.parametrize(("kind", "model"), MODELS)
def test_nothing_masked_is_the_model_without_a_mask(kind: str, model: Any) -> None:
    X, y, mask = problem(kind)
    plain = pickle.dumps(model.fit(X, y))
    for nothing in (np.zeros_like(mask), sp.csr_array(mask.shape), np.zeros(mask.shape)):
        assert pickle.dumps(model.fit(X, y, y_weight=unless(nothing))) == plain
    # A sample whose outputs are all masked counts as a sample of weight zero.
    rows = np.zeros_like(mask)
    rows[[3, 50]] = True
    weight = np.where(rows.all(axis=1), 0.0, 1.0)
    np.testing.assert_array_equal(
        values(model.fit(X, y, y_weight=unless(rows)), X), values(model.fit(X, y, sample_weight=weight), X)
    )


@pytest.mark.parametrize(("kind", "model"), MODELS)
def test_masked_models_are_kept_by_files_and_do_not_depend_on_threads(kind: str, model: Any, tmp_path: Any) -> None:
    X, y, mask = problem(kind)
    model.fit(X, y, y_weight=unless(mask))
    expected = values(model, X)
    assert np.isfinite(expected).all()
    path = tmp_path / "model"
    weald.save(model, path)
    np.testing.assert_array_equal(values(weald.load(path), X), expected)
    if hasattr(model, "n_jobs"):
        threads = model.set_params(n_jobs=2).fit(X, y, y_weight=unless(mask))
        np.testing.assert_array_equal(values(threads, X), expected)
        model.set_params(n_jobs=None)


@pytest.mark.parametrize(("kind", "model"), MODELS[2:4] + MODELS[6:])
def test_projected_growth_counts_unknown_cells_as_means(kind: str, model: Any) -> None:
    X, y, mask = problem(kind)
    mask[mask.all(axis=1), 0] = False
    forest = model.__class__(n_estimators=4, random_state=0, bootstrap=False, output_projection=np.eye(y.shape[1]))
    masked = forest.fit(X, y, y_weight=unless(mask))
    means = [np.mean(y[~mask[:, j], j]) for j in range(y.shape[1])]
    filled = np.where(mask, means, y)
    regressor = weald.ExtraTreesRegressor if "Extra" in model.__class__.__name__ else weald.RandomForestRegressor
    parameters = {"n_estimators": 4, "random_state": 0, "bootstrap": False, "max_features": forest.max_features}
    twin = regressor(output_projection=np.eye(y.shape[1]), **parameters).fit(X, filled)
    for tree, other in zip(masked.estimators_, twin.estimators_, strict=True):
        # Means of exact sums may differ from numpy's in the last bit, so that only features and thresholds are
        # compared.
        np.testing.assert_array_equal(tree.tree_.feature, other.tree_.feature)
        np.testing.assert_array_equal(tree.tree_.threshold, other.tree_.threshold)


def test_projections_of_every_family_take_masks() -> None:
    for kind, model in (MODELS[2], MODELS[6]):
        X, y, mask = problem(kind)
        for family in ("gaussian", "rademacher", "achlioptas", "sparse", "subsample", "hadamard"):
            forest = model.__class__(n_estimators=3, random_state=0, output_projection=family)
            assert np.isfinite(values(forest.fit(X, y, y_weight=unless(mask)), X)).all()
    forest = weald.RandomForestRegressor(n_estimators=3, random_state=0, output_projection="pca")
    X, y, mask = problem("numbers")
    assert np.isfinite(forest.fit(X, y, y_weight=unless(mask)).predict(X)).all()
    forest = weald.RandomForestClassifier(n_estimators=3, random_state=0, output_projection="pca")
    X, y, mask = problem("labels")
    with pytest.raises(
        ValueError, match="output_projection must be another family if classes or labels have masked cells, got 'pca'"
    ):
        forest.fit(X, y, y_weight=unless(mask))


def test_out_of_bag_scores_are_of_known_cells(tmp_path: Any) -> None:
    X, y, mask = problem("numbers")
    forest = weald.RandomForestRegressor(n_estimators=30, oob_score=True, random_state=0).fit(
        X, y, y_weight=unless(mask)
    )
    truth, found = np.where(mask, NAN, y), forest.oob_prediction_
    # Both sides add up the same terms in a different order.
    assert forest.oob_score_ == pytest.approx(masked_r2(truth, found), rel=1e-12)
    weald.save(forest, tmp_path / "model")
    assert weald.load(tmp_path / "model").oob_score_ == forest.oob_score_
    X, y, mask = problem("labels")
    forest = weald.RandomForestClassifier(n_estimators=30, oob_score=True, random_state=0).fit(
        X, y, y_weight=unless(mask)
    )
    right = ((forest.oob_decision_function_ > 0.5) == y) | mask
    some = ~mask.all(axis=1)
    assert forest.oob_score_ == right.all(axis=1)[some].mean()
    assert weald.loads(weald.dumps(forest)).oob_score_ == forest.oob_score_
    with pytest.raises(ValueError, match=r"oob_score does not support.*got a function"):
        weald.RandomForestClassifier(oob_score=lambda a, b: 0.0).fit(X, y, y_weight=unless(mask))


def masked_r2(truth: np.ndarray, found: np.ndarray) -> float:
    residual = np.nansum((truth - found) ** 2, axis=0)
    return float(np.mean(1 - residual / np.nansum((truth - np.nanmean(truth, axis=0)) ** 2, axis=0)))


@pytest.mark.parametrize(("kind", "model"), MODELS)
def test_scores_leave_masked_cells_out_and_say_how_many_are_left(kind: str, model: Any) -> None:
    X, y, mask = problem(kind)
    model.fit(X[:60], y[:60])
    X, y, mask = X[60:], y[60:], mask[60:]
    score = model.score(X, y, y_weight=unless(mask))
    assert score.n_cells == np.count_nonzero(~mask)
    assert pickle.loads(pickle.dumps(score)).n_cells == score.n_cells
    predicted = model.predict(X)
    if kind == "numbers":
        # Both sides add up the same terms in a different order.
        assert score == pytest.approx(masked_r2(np.where(mask, NAN, y), predicted), rel=1e-12)
    else:
        assert score == ((predicted == y) | mask).all(axis=1)[~mask.all(axis=1)].mean()
        assert score == model.score(X, sp.csr_array(y), y_weight=unless(sp.csr_array(mask)))
    assert model.score(X, np.where(mask, NAN, y)) == score
    assert model.score(X, y, y_weight=unless(np.zeros_like(mask))) == model.score(X, y)
    with pytest.raises(ValueError, match=r"^y_weight must have shape \(60, 5\), that of y, .*, got \(60, 1\)$"):
        model.score(X, y, y_weight=unless(mask[:, :1]))


@pytest.mark.parametrize(("kind", "model"), MODELS)
def test_bad_masks_are_refused_by_name_and_leave_the_model(kind: str, model: Any) -> None:
    X, y, mask = problem(kind)
    model.fit(X, y, y_weight=unless(mask))
    before = values(model, X)
    hidden = mask.copy()
    hidden[:, 3] = True
    bad = [
        (mask[:, 1:], r"^y_weight must have shape \(120, 5\), that of y, .*, got \(120, 4\)$"),
        (mask[1:], r"^y_weight must have shape \(120, 5\), that of y, .*, got \(119, 5\)$"),
        (sp.csr_array(mask[1:]), r"^y_weight must have shape \(120, 5\), that of y, .*, got \(119, 5\)$"),
        (np.full(mask.shape, 3), "y_weight must be finite and not negative, got -2.0"),
        (sp.csr_array(np.full(mask.shape, np.nan)), "y_weight must be finite and not negative, got nan"),
        (np.full(mask.shape, "x"), "y_weight must be numbers, or True where y is known, got dtype"),
        (hidden, "y must have a known value in column 3"),
        (sp.csr_array(hidden), "y must have a known value in column 3"),
    ]
    for y_mask, message in bad:
        with pytest.raises(ValueError, match=message):
            model.fit(X, y, y_weight=unless(y_mask))
        np.testing.assert_array_equal(values(model, X), before)
    weight = np.where(mask[:, 2], 1.0, 0.0)
    with pytest.raises(ValueError, match="y must have a known value in column 2"):
        model.fit(X, y, sample_weight=weight, y_weight=unless(mask))


def test_names_of_outputs_are_in_messages() -> None:
    pd = pytest.importorskip("pandas")
    X, y, _ = problem("numbers", d=2)
    y[:, 1] = NAN
    with pytest.raises(ValueError, match="y must have a known value in output 'b'"):
        weald.DecisionTreeRegressor().fit(X, pd.DataFrame(y, columns=["a", "b"]))


def test_what_does_not_support_masks_says_so() -> None:
    X, y, mask = problem("labels")
    with pytest.raises(ValueError, match="class_weight must be a list of dicts for several outputs"):
        FORESTS[0](class_weight={0: 1, 1: 2}).fit(X, y, y_weight=unless(mask))
    with pytest.raises(ValueError, match=r"ccp_alpha must be 0 if y has masked cells, got 0\.1"):
        TREES[0](ccp_alpha=0.1).fit(X, y, y_weight=unless(mask))
    X, y, mask = problem("numbers")
    with pytest.raises(ValueError, match=r"criterion must be 'squared_error' .*got 'poisson'"):
        weald.DecisionTreeRegressor(criterion="poisson").fit(X, np.exp(y), y_weight=unless(mask))
    with pytest.raises(ValueError, match="Input y contains infinity"):
        weald.DecisionTreeRegressor().fit(X, np.where(mask, np.inf, y))
    with pytest.raises(ValueError, match="does not support y with masked entries"):
        weald.CompressedForestRegressor(solver="lasso").fit(X, np.where(mask, NAN, y))


def test_one_output_that_is_masked_is_a_sample_of_weight_zero_and_is_not_told_by_nan() -> None:
    X, y, mask = problem("numbers", d=1)
    y, mask = y[:, 0], mask[:, 0]
    model = weald.RandomForestRegressor(n_estimators=3, random_state=0)
    masked = model.fit(X, np.where(mask, NAN, y), y_weight=unless(mask)).predict(X)
    np.testing.assert_array_equal(masked, model.fit(X, y, sample_weight=np.where(mask, 0.0, 1.0)).predict(X))
    np.testing.assert_array_equal(masked, model.fit(X, y, y_weight=unless(mask)).predict(X))
    # Both sides add up the same terms in a different order.
    assert model.score(X, y, y_weight=unless(mask)) == pytest.approx(model.score(X[~mask], y[~mask]), rel=1e-12)
    with pytest.raises(ValueError, match="Input y contains NaN and has one output: samples with unknown y m"):
        model.fit(X, np.where(mask, NAN, y))
    with pytest.raises(ValueError, match="NaN"):
        model.score(X, np.where(mask, NAN, y))


@settings(deadline=None, max_examples=30)
@given(
    seed=st.integers(0, 10_000), share=st.sampled_from([0.05, 0.5, 0.95]), kind=st.sampled_from(["numbers", "labels"])
)
def test_what_lies_under_the_mask_is_not_looked_at(seed: int, share: float, kind: str) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, size=(25, 3)).astype(float)
    y = rng.integers(0, 2, size=(25, 3)).astype(float)
    mask = rng.random(y.shape) < share
    mask[0] = False
    model = weald.RandomForestRegressor if kind == "numbers" else weald.RandomForestClassifier
    forest = model(n_estimators=3, random_state=0)
    one = values(forest.fit(X, y, y_weight=unless(mask)), X)
    other = values(forest.fit(X, np.where(mask, 1 - y, y), y_weight=unless(mask)), X)
    np.testing.assert_array_equal(one, other)
