"""Names of labels are passed to a fit, returned by predictions, shown in rules and data frames, and kept in files."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
import weald
from conftest import (
    ALL,
    BOOSTING,
    CENTROIDS,
    COMPRESSED,
    LABEL_TREES,
    LINEAR,
    check_refused,
    make,
    make_data,
    model_bytes,
)
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import cross_validate
from sklearn.preprocessing import MultiLabelBinarizer

EVERY = [*ALL, *BOOSTING, *CENTROIDS, *LINEAR, *LABEL_TREES, *COMPRESSED]
CLASSIFIERS = [name for name in EVERY if name.endswith("Classifier")]
AROUND = {
    "TunedThresholds": {"random_state": 0},
    "CalibratedLabels": {"random_state": 0, "min_positives": 1},
    "HierarchicalLabels": {},
}
NAMES = ["one", "two words", "µ"]


@pytest.fixture(params=[*CLASSIFIERS, *AROUND])
def name(request):
    return request.param


def small(name, **params):
    """An estimator that is fitted within milliseconds."""
    if name in AROUND:
        forest = weald.RandomForestClassifier(20, random_state=0)
        return getattr(weald.multilabel, name)(forest, **AROUND[name])
    return make(name, **({"l1_norm": 0.5} if name in COMPRESSED else {}), **params)


@pytest.fixture
def data(name):
    return make_data(name, outputs="labels")


@pytest.mark.parametrize("given", [list, tuple, np.array, lambda names: np.array(names, object), pd.Index, pd.Series])
def test_names_given_are_the_names_of_a_frame(name, data, given, tmp_path):
    X, Y = data
    model = small(name).fit(X, Y, label_names=given(NAMES))
    framed = small(name).fit(X, pd.DataFrame(Y, columns=NAMES))
    assert model.target_names_in_.tolist() == NAMES
    assert model.target_names_in_.dtype == object
    assert all(type(n) is str for n in model.target_names_in_)
    if name not in AROUND:
        assert model_bytes(model) == model_bytes(framed) == model_bytes(small(name).fit(X, Y))
    weald.save(model, tmp_path / "model")
    weald.save(framed, tmp_path / "framed")
    assert (tmp_path / "model").read_bytes() == (tmp_path / "framed").read_bytes()


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csc_matrix, pd.DataFrame])
def test_best_labels_have_names(name, data, form):
    X, Y = data
    model = small(name).fit(X, form(Y), label_names=NAMES)
    indices, _ = model.predict_topk(X, 2)
    found = model.predict_topk(X, 2, names=True)[0]
    assert found.shape == (len(X), 2)
    assert found.tolist() == [[NAMES[label] for label in row] for row in indices]
    one = weald.Predictor(model).predict_topk(X[0], k=2, names=True)
    assert one[0].tolist() == found[0].tolist()
    np.testing.assert_array_equal(one[1], model.predict_topk(X[:1], 2)[1][0])
    assert (
        model.predict_topk(sparse.csr_array(X), k=3, names=True)[0].tolist()
        == model.predict_topk(X, 3, names=True)[0].tolist()
    )
    for k in (0, 4, 1.5):
        with pytest.raises(ValueError, match=r"k must be an integer from 1 to 3, got "):
            model.predict_topk(X, k, names=True)


def test_where_no_label_is_left_there_is_no_name(name, data):
    X, Y = data
    model = small(name).fit(X, Y, label_names=NAMES)
    exclude = pd.DataFrame(np.arange(len(X))[:, None] % 4 != np.arange(3), columns=NAMES)
    for given in (exclude, exclude.to_numpy(), sparse.coo_array(exclude)):
        found, scores = model.predict_topk(X, 2, names=True, exclude=given)
        assert found.dtype == object
        assert found.tolist() == [[[*NAMES, None][i % 4], None] for i in range(len(X))]
        np.testing.assert_array_equal(scores, model.predict_topk(X, 2, exclude=given)[1])
    with pytest.raises(ValueError, match="exclude must have the name 'one' at position 0, got 'µ'"):
        model.predict_topk(X, 1, exclude=exclude[NAMES[::-1]])


def test_without_names_there_are_none_to_predict(name, data):
    X, Y = data
    model = small(name).fit(X, Y)
    with pytest.raises(
        ValueError, match=r"^names must be False for labels without names: label_names must be passed to"
    ):
        model.predict_topk(X, 1, names=True)
    for bad in (1, "yes", None):
        with pytest.raises(TypeError, match=r"^names must be True or False, got "):
            model.predict_topk(X, 1, names=bad)
    assert not hasattr(small(name), "predict_topk")
    if name in CLASSIFIERS and name not in LINEAR + LABEL_TREES:
        regressor = small(name.replace("Classifier", "Regressor")).fit(X, Y)
        with pytest.raises(ValueError, match=r"^names must be False for outputs without names: y must be a frame"):
            regressor.predict_topk(X, 1, names=True)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_names_of_classes_are_the_classes(name, data):
    X, Y = data
    y = np.array(["no", "yes"])[Y[:, 0].astype(int)]
    model = small(name).fit(X, y)
    found, scores = model.predict_topk(X, 2, names=True, scores="probability")
    np.testing.assert_array_equal(found, model.classes_.astype(object)[model.predict_topk(X, 2)[0]])
    np.testing.assert_array_equal(scores, -np.sort(-model.predict_proba(X)))


def test_names_go_with_copies_and_not_with_the_next_fit(name, data, tmp_path):
    X, Y = data
    model = small(name).fit(X, Y, label_names=NAMES)
    weald.save(model, tmp_path / "model")
    for other in (weald.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert other.predict_topk(X, 1, names=True)[0].tolist() == model.predict_topk(X, 1, names=True)[0].tolist()
    assert not hasattr(clone(model), "target_names_in_")
    assert not hasattr(model.fit(X, Y), "target_names_in_")


@pytest.mark.parametrize(
    ("names", "error", "message"),
    [
        (NAMES[:2], ValueError, "label_names must have length 3, one name for each label, got length 2"),
        ([], ValueError, "label_names must have length 3, .*got length 0"),
        (["a", "b", "a"], ValueError, "label_names must be distinct, got 'a' at positions 0 and 2"),
        (["a", "b", 3], TypeError, "label_names must be a list or an array of strings.*got 3 at position 2"),
        (np.arange(3), TypeError, "label_names must be .*at position 0"),
        (np.array([["a"], ["b"], ["c"]]), TypeError, "label_names must be .*at position 0"),
        ("abc", TypeError, "label_names must be .*got a str"),
        ({"a", "b", "c"}, TypeError, "label_names must be .*got a set"),
        (dict.fromkeys("abc"), TypeError, "label_names must be .*got a dict"),
        (3, TypeError, "label_names must be .*got 3"),
    ],
)
def test_names_that_are_none_are_refused(name, data, names, error, message):
    X, Y = data
    check_refused(small(name).fit(X, Y, label_names=NAMES), error, message, X, Y, label_names=names)


def test_names_are_of_labels_and_those_of_the_frame(name, data):
    X, Y = data
    model = small(name).fit(X, Y)
    frame = pd.DataFrame(Y, columns=NAMES)
    check_refused(
        model, ValueError, "y must have the name 'µ' at position 0, got 'one'", X, frame, label_names=NAMES[::-1]
    )
    assert model.fit(X, frame, label_names=NAMES).target_names_in_.tolist() == NAMES
    if name in AROUND:
        return
    message = "label_names is only supported for y of labels, got y of classes"
    check_refused(model, ValueError, message, X, Y[:, 0], label_names=["a"])
    if name in LINEAR + LABEL_TREES:
        return
    regressor = small(name.replace("Classifier", "Regressor"))
    with pytest.raises(ValueError, match="label_names is only supported for y of labels, got y of numbers"):
        regressor.fit(X, Y, label_names=NAMES)


def test_names_are_in_frames(name, data):
    X, Y = data
    model = small(name).fit(X, Y, label_names=NAMES).set_output(predict="pandas")
    assert model.predict(X).columns.tolist() == NAMES
    assert model.predict_topk(X, 1, names=True)[0].shape == (len(X), 1)


@pytest.mark.parametrize(
    "name", [name for name in CLASSIFIERS if name not in BOOSTING + CENTROIDS + LINEAR + LABEL_TREES]
)
def test_names_are_in_rules(name, data):
    X, Y = data
    model = small(name).fit(X, Y, label_names=NAMES)
    assert any(f"{label} " in weald.inspection.export_rules(model, top_k=3) for label in NAMES)


@pytest.mark.parametrize("name", [name for name in ALL if name.endswith("Classifier")])
def test_importances_are_of_labels_by_name(name, data):
    X, Y = data
    model = small(name).fit(X, Y, label_names=NAMES)
    importances = weald.inspection.feature_importances
    np.testing.assert_array_equal(importances(model, ["µ"]), importances(model, [2]))
    with pytest.raises(ValueError, match=r"outputs must be .* or a name in target_names_in_.*got 'four'"):
        importances(model, ["four"])


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in CLASSIFIERS
        if ("Tree" not in name or name.startswith("ExtraTrees")) and name not in LINEAR + LABEL_TREES
    ],
)
def test_members_and_fits_that_go_on_know_the_names(name, data):
    X, Y = data
    model = small(name).fit(X, Y, label_names=NAMES)
    if "Forest" in name and name not in COMPRESSED:
        assert model[0].predict_topk(X, 1, names=True)[0].shape == (len(X), 1)
    if name in COMPRESSED:
        assert model.estimator_.target_names_in_.tolist() == NAMES
        return
    model.set_params(warm_start=True, n_estimators=7)
    check_refused(
        model,
        ValueError,
        "y must have the name 'one' at position 0, got 'µ': warm_start=True requires",
        X,
        Y,
        label_names=NAMES[::-1],
    )
    assert model.fit(X, Y, label_names=NAMES).predict_topk(X, 1, names=True)[0].shape == (len(X), 1)


def test_names_are_routed_through_cross_validation(name, data):
    X, Y = data
    with sklearn.config_context(enable_metadata_routing=True):
        model = small(name).set_fit_request(label_names=True)
        found = cross_validate(model, X, Y, cv=2, params={"label_names": NAMES}, return_estimator=True)
    assert all(fitted.target_names_in_.tolist() == NAMES for fitted in found["estimator"])


def test_lists_of_tags_go_in_and_names_come_out(name):
    texts = [["cat", "pet"], ["dog", "pet"], ["lion"], ["cat", "pet"], ["dog", "pet"], ["lion"]]
    X = [[0.0, 1.0], [1.0, 1.0], [0.0, 0.0]] * 2
    tags = MultiLabelBinarizer(sparse_output=True)
    model = small(name).fit(X, tags.fit_transform(texts), label_names=tags.classes_)
    assert model.target_names_in_.tolist() == ["cat", "dog", "lion", "pet"]
    found = model.predict_topk(X, 1, names=True)[0]
    assert {row[0] for row in found.tolist()} <= {"cat", "dog", "lion", "pet"}
    if name == "DecisionTreeClassifier":
        best = [sorted(names) for names in model.predict_topk(X[:2], 2, names=True)[0].tolist()]
        assert best == [["cat", "pet"], ["dog", "pet"]]
