"""`weald.inspection.feature_importances`, and what all displays have in common."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import weald
from conftest import ALL, BOOSTING, CLASSIFIERS, COMPRESSED, make, make_data
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from weald.inspection import (
    BoostingCurveDisplay,
    CompressionPathDisplay,
    FeatureImportanceDisplay,
    ThresholdDisplay,
    TreeDisplay,
    feature_importances,
)
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


RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "colour": pd.Categorical(RNG.choice(["blue", "green", "red"], 90)),
        "n": RNG.integers(0, 9, 90),
        "x": RNG.random(90),
    }
)
TABLE.loc[::5, "x"] = np.nan
NUMBERS = (TABLE.colour == "red") * 20.0 + TABLE.n + TABLE.x.isna() * 9


def names_of_bars(ax):
    return [text.get_text() for text in ax.get_yticklabels()][::-1]


def test_trees_are_drawn_with_the_names_of_features_and_categories(pyplot):
    tree = weald.DecisionTreeRegressor(random_state=0).fit(TABLE, NUMBERS)
    shown = TreeDisplay.from_estimator(tree, max_depth=2, decimals=1)
    assert shown.texts[0] == "colour in {red}"
    assert "x is known" in shown.texts
    assert shown.parents == [-1, 0, 1, 1, 0, 4, 4]
    # The leaves of a whole tree are those of the rules, from left to right, and each box is below another one.
    whole = TreeDisplay.from_estimator(tree, max_depth=30)
    rules = weald.inspection.export_rules(tree, top_k=1).splitlines()
    leaves = [text.partition("\n")[0] for at, text in enumerate(whole.texts) if at not in whole.parents]
    assert leaves == [rule.rpartition(": ")[2].partition(" (")[0] for rule in rules]
    places = [box.xy for box in whole.boxes_]
    assert len(set(places)) == len(places)
    assert all(places[parent][1] > place[1] for place, parent in zip(places[1:], whole.parents[1:], strict=True))


def test_bars_are_in_order_and_have_names(pyplot):
    words = ["apple", "pear", "plum", "fig"]
    X = sparse.csr_array(RNG.poisson(1, (60, 4)).astype(float))
    forest = weald.RandomForestRegressor(5, random_state=0).fit(X, X.toarray() @ [0, 9, 1, 3])
    for kind in ("gain", "count"):
        drawn = FeatureImportanceDisplay.from_estimator(forest, kind=kind, feature_names=words, max_bars=3)
        order = np.argsort(-feature_importances(forest, kind=kind), kind="stable")[:3]
        assert names_of_bars(drawn.ax_) == [words[j] for j in order]
        assert len(drawn.bars_) == 3
    repeats = FeatureImportanceDisplay(np.array([[1.0, 3.0], [5.0, 5.0]])).plot(bar_kw={"color": "red"})
    assert names_of_bars(repeats.ax_) == ["feature_1", "feature_0"]
    assert [bar.get_width() for bar in repeats.bars_] == [2.0, 5.0]
    assert repeats.bars_.errorbar is not None
    found = weald.inspection.shap_values(forest, X[:3])
    assert names_of_bars(found.plot(2, feature_names=words, max_features=1)) == ["pear"]
    assert names_of_bars(found.plot(2, max_features=1)) == ["feature_1"]
    thresholds = ThresholdDisplay(np.array([0.1, 0.4, 0.2]), ["a", "b", "c"]).plot(max_bars=2)
    assert names_of_bars(thresholds.ax_) == ["b", "c"]


def test_values_of_each_output_are_drawn(pyplot):
    X = RNG.random((40, 2))
    model = weald.RandomForestRegressor(5, random_state=0).fit(X, X)
    for layout in (np.asarray, sparse.csr_array):
        values = weald.inspection.shap_values(model, layout(X[:5]))
        found = weald.inspection.Explanation(values.values, values.base_values, None, ["left", "right"], None)
        assert [names_of_bars(found.plot(0, output))[0] for output in (0, 1)] == ["left", "right"]
        with pytest.raises(ValueError, match=r"^output must be an integer from 0 to 1, got 2"):
            found.plot(0, 2)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (
            lambda: ThresholdDisplay.from_estimator(Ridge()),
            "^estimator must be a fitted TunedThresholds of weald, got a Ridge",
        ),
        (lambda: ThresholdDisplay([0.5]).plot(max_bars=0), "^max_bars must be a positive integer, got 0"),
        (
            lambda: FeatureImportanceDisplay([0.5], ["a", "b"]).plot(),
            "^feature_names must have length 1, one for each feature",
        ),
        (lambda: FeatureImportanceDisplay([0.5]).plot(bar_kw=3), "^bar_kw must be a dict"),
        (lambda: TreeDisplay.from_estimator(Ridge()), "^estimator must be a tree or forest of weald"),
        (
            lambda: TreeDisplay.from_estimator(weald.RandomForestRegressor(2).fit(TABLE, NUMBERS), max_depth=-1),
            "^max_depth must be",
        ),
    ],
)
def test_what_cannot_be_drawn_is_said_and_leaves_no_figure(pyplot, make, told):
    with pytest.raises((TypeError, ValueError), match=told):
        make()
    assert not pyplot.get_fignums()


def test_modules_show_what_is_public():
    for module in (weald, weald.inspection, weald.metrics, weald.export, weald.tree):
        assert dir(module) == sorted(module.__all__)
