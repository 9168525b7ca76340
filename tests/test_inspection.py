"""`weald.inspection.feature_importances`, and what all displays have in common."""

from __future__ import annotations

import numpy as np
import pytest
import weald
from conftest import ALL, BOOSTING, CLASSIFIERS, COMPRESSED, make, make_data
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from weald.inspection import BoostingCurveDisplay, CompressionPathDisplay, feature_importances
from weald.multilabel import LabelReliabilityDisplay
from weald.projection import Projected


@pytest.mark.parametrize("name", ALL + BOOSTING + COMPRESSED)
def test_by_default_they_are_those_of_the_attribute(name):
    X, y = make_data(name)
    model = make(name).fit(X, y)
    np.testing.assert_array_equal(feature_importances(model), model.feature_importances_)


@pytest.mark.parametrize("outputs", ["all", [0], [0, 1], np.array([1]), range(2)], ids=str)
@pytest.mark.parametrize("name", ["GradientBoostingRegressor", "CompressedForestRegressor"])
def test_models_of_scores_have_none_of_the_columns_of_y(name, outputs):
    X, y = make_data(name)
    model = make(name).fit(X, np.column_stack([y, -y]))
    with pytest.raises(
        ValueError, match=rf"^outputs must be None, since the trees of {name} have other outputs than y, got "
    ):
        feature_importances(model, outputs=outputs)


def test_weak_models_that_are_no_trees_have_none():
    X, y = make_data("GradientBoostingRegressor")
    model = make(
        "GradientBoostingRegressor", estimator=Ridge(), output_strategy=Projected(relabel_leaves=False), n_estimators=2
    ).fit(X, y)
    for outputs in (None, "all"):
        with pytest.raises(ValueError, match=r"^estimator must have trees, got a GradientBoosting.* with estimator="):
            feature_importances(model, outputs=outputs)


@pytest.mark.parametrize("model", [Ridge(), None, "forest", weald.RandomForestRegressor, np.zeros(3)], ids=str)
def test_foreign_objects_are_refused_by_their_names(model):
    with pytest.raises(TypeError, match=r"^estimator must be a fitted estimator of weald, got (a|the class) "):
        feature_importances(model)


def test_a_model_that_is_not_fitted_says_so():
    with pytest.raises(NotFittedError, match="RandomForestRegressor"):
        feature_importances(weald.RandomForestRegressor())


@pytest.mark.parametrize("bad", [-1, 2, 10**400, 1.0, True, "0", None, np.float64(1), np.int64(-3)], ids=str)
def test_columns_that_are_not_in_y_are_refused(bad):
    X, y = make_data("RandomForestRegressor")
    model = make("RandomForestRegressor").fit(X, np.column_stack([y, y]))
    with pytest.raises(
        ValueError, match=r'^outputs must be columns of y, each an integer from 0 to 1, "all" or None, got '
    ):
        feature_importances(model, outputs=[bad])
    with pytest.raises(ValueError, match=r"^outputs must be .*got 'some'"):
        feature_importances(model, outputs="some")
    with pytest.raises(TypeError, match=r"^outputs must be .*got 3"):
        feature_importances(model, outputs=3)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_columns_of_classes_are_those_of_y(name):
    X, y = make_data(name)
    model = make(name).fit(X, np.column_stack([y, y]))
    if isinstance(model._engine, weald._weald.Forest):
        # One of two equal outputs has the importances of both; sums of twice as many terms are rounded differently.
        np.testing.assert_allclose(
            feature_importances(model, [np.int64(0)]), feature_importances(model, "all"), rtol=1e-12
        )


# Numbers of splits


def splits_of(tree):
    """The features of the splits of a tree, found by a walk from its root."""
    found, nodes = [], [0]
    while nodes:
        node = nodes.pop()
        if tree.children_left[node] != -1:
            found.append(tree.feature[node])
            nodes += [tree.children_left[node], tree.children_right[node]]
    return found


def trees_of(model):
    return [model.tree_] if hasattr(model, "tree_") else [member.tree_ for member in model.estimators_]


@pytest.mark.parametrize(
    ("name", "params"),
    [(name, {}) for name in ALL + COMPRESSED]
    + [
        (name, {"n_estimators": 4, **params})
        for name in BOOSTING
        for params in (
            {"output_strategy": "single_target"},
            {"output_strategy": "joint"},
            {"output_strategy": Projected(relabel_leaves=False)},
        )
    ],
)
def test_counts_are_those_of_a_walk_over_all_trees(name, params):
    X, y = make_data(name, outputs="several" if name in BOOSTING else "single")
    # The last feature, on which there is no split, has a count as well.
    X = np.column_stack([X, np.zeros(len(X))])
    model = make(name, **params).fit(X, y)
    expected = [0] * X.shape[1]
    for tree in trees_of(model):
        for feature in splits_of(tree):
            expected[feature] += 1
    found = feature_importances(model, kind="count")
    assert found.dtype == np.int64
    assert found.tolist() == expected
    assert found.sum() > 0
    assert found[-1] == 0


def test_counts_of_trees_without_a_split_are_zero():
    model = make("RandomForestRegressor").fit(np.zeros((9, 3)), np.arange(9.0))
    found = feature_importances(model, kind="count")
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, np.zeros(3))


def test_counts_differ_from_gains():
    """There are many splits on one feature with small gains, and one split on another feature with the largest gain."""
    rng = np.random.default_rng(0)
    X = np.column_stack([np.arange(200) % 2, rng.random(200)])
    model = make("DecisionTreeRegressor").fit(X, 100 * X[:, 0] + rng.random(200))
    gains, counts = feature_importances(model), feature_importances(model, kind="count")
    assert gains.argmax() == 0
    assert counts.argmax() == 1
    np.testing.assert_array_equal(feature_importances(model, kind="gain"), gains)


@pytest.mark.parametrize("kind", ["weight", "", None, 1, ["gain"]], ids=str)
def test_other_kinds_are_refused(kind):
    X, y = make_data("RandomForestRegressor")
    model = make("RandomForestRegressor").fit(X, y)
    with pytest.raises(ValueError, match=r"^kind must be 'gain' or 'count', got "):
        feature_importances(model, kind=kind)


@pytest.mark.parametrize("outputs", ["all", [0], []], ids=str)
@pytest.mark.parametrize("name", ["RandomForestRegressor", *BOOSTING])
def test_counts_are_of_no_output(name, outputs):
    X, y = make_data(name)
    model = make(name).fit(X, y)
    with pytest.raises(ValueError, match=r"^outputs must be None with kind='count', which counts splits .*, got "):
        feature_importances(model, outputs, kind="count")


def test_weak_models_and_foreign_objects_have_no_counts():
    X, y = make_data("GradientBoostingRegressor")
    model = make(
        "GradientBoostingRegressor", estimator=Ridge(), output_strategy=Projected(relabel_leaves=False), n_estimators=2
    ).fit(X, y)
    with pytest.raises(ValueError, match=r"^estimator must have trees, got a GradientBoosting.* with estimator="):
        feature_importances(model, kind="count")
    with pytest.raises(TypeError, match=r"^estimator must be a fitted estimator of weald, got a Ridge"):
        feature_importances(Ridge(), kind="count")
    with pytest.raises(NotFittedError):
        feature_importances(weald.RandomForestRegressor(), kind="count")


# Displays


@pytest.fixture
def pyplot():
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    yield plt
    plt.close("all")


@pytest.fixture(scope="module")
def boosting():
    X, y = make_data("GradientBoostingRegressor")
    return make("GradientBoostingRegressor", n_estimators=5).fit(X, y, eval_sets={"again": (X, y)})


@pytest.fixture(scope="module")
def compressed():
    X, y = make_data("CompressedForestRegressor")
    return make("CompressedForestRegressor", l1_norm="cv", cv=2).fit(X, y)


def labels_of(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_styles_of_boosting_curves_take_the_place_of_the_defaults(pyplot, boosting):
    display = BoostingCurveDisplay.from_estimator(
        boosting, name="first", line_kw={"lw": 3, "linestyle": "-."}, kept_kw={"color": "red", "label": "size"}
    )
    curves = [display.lines_["training"], display.eval_lines_["again"]]
    assert [(line.get_linewidth(), line.get_linestyle()) for line in curves] == [(3, "-.")] * 2
    assert display.lines_["kept"].get_color() == "red"
    assert labels_of(display.ax_) == ["first, training", "first, again", "size"]
    _, ax = pyplot.subplots()
    again = display.plot(ax, name="second")
    assert again.ax_ is ax
    assert labels_of(ax) == ["second, training", "second, again", "second, 5 stages kept"]
    assert again.lines_["training"].get_linestyle() == ":"


def test_styles_of_paths_take_the_place_of_the_defaults(pyplot, compressed):
    display = CompressionPathDisplay.from_estimator(
        compressed,
        name="small",
        line_kw={"c": "green"},
        fill_between_kw={"alpha": 0.5},
        size_line_kw={"color": "black", "ls": "--"},
    )
    lines = display.lines_
    assert {lines[key].get_color() for key in ("train_loss", "test_loss", "full_loss")} == {"green"}
    assert (lines["train_loss"].get_linestyle(), lines["test_loss"].get_linestyle()) == (":", "-")
    assert lines["test_loss_std"].get_alpha() == 0.5
    assert (lines["n_test_nodes"].get_color(), lines["n_test_nodes"].get_linestyle()) == ("black", "--")
    assert display.size_ax_.yaxis.label.get_color() == "black"
    assert labels_of(display.ax_) == [
        f"small, {what}" for what in ("training", "cross-validation", "forest", "chosen", "size")
    ]


def test_a_path_against_the_size_has_the_last_loss_of_each_size(pyplot, compressed):
    display = CompressionPathDisplay.from_estimator(compressed, against="n_test_nodes")
    path = compressed.path_
    last = {n: loss for n, loss in zip(path["n_test_nodes"], path["test_loss_mean"], strict=True) if n > 0}
    line = display.lines_["test_loss"]
    assert dict(zip(line.get_xdata(), line.get_ydata(), strict=True)) == last
    assert len(last) > 2
    assert display.size_ax_ is None
    assert "n_test_nodes" not in display.lines_
    assert (display.ax_.get_xscale(), display.ax_.get_xlabel()) == ("log", "number of test nodes (log scale)")
    assert list(display.lines_["chosen"].get_xdata()) == [compressed.n_test_nodes_] * 2
    for against in ("size", None, ["l1_norm"]):
        with pytest.raises(ValueError, match=r"^against must be 'l1_norm' or 'n_test_nodes', got "):
            CompressionPathDisplay.from_estimator(compressed, against=against)


def test_reliability_curves_share_one_diagonal(pyplot):
    Y = np.array([[1, 0], [1, 1], [0, 0], [0, 1]])
    P = np.array([[0.9, 0.1], [0.8, 0.8], [0.2, 0.1], [0.2, 0.9]])
    display = LabelReliabilityDisplay.from_predictions(Y, P, name="one", ref_line_kw={"c": "red"}, line_kw={"lw": 4})
    again = LabelReliabilityDisplay.from_predictions(Y, P, name="two", ax=display.ax_)
    assert labels_of(again.ax_) == ["perfectly calibrated", "one", "two"]
    assert again.ax_.get_lines()[0].get_color() == "red"
    assert display.lines_[0].get_linewidth() == 4
    alone = LabelReliabilityDisplay.from_predictions(Y, P, name="three", ref_line=False)
    assert [line.get_label() for line in alone.ax_.get_lines()] == ["three"]
    model = weald.RandomForestClassifier(n_estimators=2, random_state=0).fit(Y, Y)
    fitted = LabelReliabilityDisplay.from_estimator(model, Y, Y, ref_line=False, line_kw={"color": "black"})
    assert [(line.get_label(), line.get_color()) for line in fitted.ax_.get_lines()] == [
        ("RandomForestClassifier", "black")
    ]


@pytest.mark.parametrize("bad", [[], "red", 1], ids=str)
def test_styles_are_dicts_and_an_error_leaves_no_figure(pyplot, boosting, compressed, bad):
    Y = np.eye(2, dtype=int)
    calls = [
        ("line_kw", lambda kw: BoostingCurveDisplay.from_estimator(boosting, **kw)),
        ("kept_kw", lambda kw: BoostingCurveDisplay.from_estimator(boosting, **kw)),
        ("line_kw", lambda kw: CompressionPathDisplay.from_estimator(compressed, **kw)),
        ("fill_between_kw", lambda kw: CompressionPathDisplay.from_estimator(compressed, **kw)),
        ("size_line_kw", lambda kw: CompressionPathDisplay.from_estimator(compressed, **kw)),
        ("line_kw", lambda kw: LabelReliabilityDisplay.from_predictions(Y, Y, **kw)),
        ("ref_line_kw", lambda kw: LabelReliabilityDisplay.from_predictions(Y, Y, **kw)),
    ]
    for name, call in calls:
        with pytest.raises(TypeError, match=rf"^{name} must be a dict .*, got a {type(bad).__name__}$"):
            call({name: bad})
    assert not pyplot.get_fignums()
