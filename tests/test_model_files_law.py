"""What `save`, `dumps`, pickle and copy write, `load`, `loads` and unpickling read: the same model and the same bytes.

The law is tested for every public estimator, for samples and parameters of any kind, and for every length of a header.
A model that could not be read is refused by `fit` or `dumps`, with the reason.
"""

from __future__ import annotations

import copy
import pickle
import re

import joblib
import numpy as np
import pandas as pd
import pytest
import weald
from conftest import BOOSTING, make
from every import EVERY, PAIRS, problem
from scipy import sparse
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Ridge
from sklearn.metrics import f1_score, get_scorer
from sklearn.model_selection import KFold, ShuffleSplit
from weald.projection import Projected

# One entry for each class and kind of settings whose parameters lead to different code.
CLASSES = sorted({entry.cls.__name__: name for name, entry in reversed(EVERY.items())}.values())

# Weights of any size, against which regularization decides.
pytestmark = pytest.mark.filterwarnings("ignore:sample_weight sums to")


def dense(values):
    return values.toarray() if sparse.issparse(values) else np.asarray(values)


def predictions(model, X):
    """All predictions of a model as arrays."""
    for method in ("predict", "predict_proba", "decision_function"):
        if hasattr(model, method):
            found = getattr(model, method)(X)
            yield from map(dense, found if isinstance(found, list) else [found])


def copies(model):
    yield "copy", copy.deepcopy(model)
    yield "pickle", pickle.loads(pickle.dumps(model))
    data = weald.dumps(model)
    assert weald.dumps(model) == data
    yield "loads", weald.loads(data)


def assert_law(model, X, *, bytes_of_pickle=True):
    """Check that all copies of a model are the same, and return its bytes."""
    data = weald.dumps(model)
    expected = list(predictions(model, X))
    for way, other in copies(model):
        for found, wanted in zip(predictions(other, X), expected, strict=True):
            assert found.dtype == wanted.dtype or (way == "pickle" and not bytes_of_pickle), way
            np.testing.assert_array_equal(found, wanted, err_msg=way)
        # NumPy changes the byte order of some arrays in pickles.
        if way != "pickle" or bytes_of_pickle:
            assert weald.dumps(other) == data, way
    return data


@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_every_estimator_is_read_again(name, kind):
    X, y = problem(kind)
    model = EVERY[name].build().fit(X, y)
    assert_law(model, X)
    if hasattr(model, "set_output"):
        assert_law(model.set_output(predict="pandas"), X)


def odd_samples():
    """Samples at the limits of what a fit accepts, and their weights."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3)).round(1)
    yield "one sample", X[:1], None
    yield "two samples", X[:2], None
    yield "constant features", np.ones((30, 3)), None
    yield "one empty feature", np.zeros((30, 1)), None
    yield "largest floats", np.float32(X * 1e38), None
    yield "smallest floats", np.float32(X * 1e-44), None
    yield "missing values", np.where(rng.random(X.shape) < 0.3, np.nan, X), None
    yield "weights of zero", X, np.arange(30) % 2.0
    yield "weights over decades", X, 10 ** rng.uniform(-12, 12, 30)
    yield "weights over all decades", X, 10 ** rng.uniform(-290, 290, 30)
    yield "small weights", X, np.full(30, 1e-300)
    yield "large weights", X, np.full(30, 1e300)
    yield "smallest weights", X, np.full(30, 5e-324)
    yield "largest weights", X, np.full(30, np.finfo(np.float64).max)
    yield "smallest and largest weights", X, np.where(rng.random(30) < 0.5, 5e-324, 1.7e308)


ODD = {name: (X, weights) for name, X, weights in odd_samples()}


def odd_targets(name, n):
    rng = np.random.default_rng(1)
    z = rng.normal(size=n)
    if name.endswith("Regressor"):
        yield z
        yield np.zeros(n)
        yield z * 1e149
        yield z * 1e-200
        yield z * 1e-310
        yield z * 10 ** rng.uniform(-100, 100, n)
        yield rng.normal(size=(n, 3)) * [1e-100, 1, 1e100]
    else:
        yield np.zeros(n, int)
        yield np.arange(n) % 3 + 2**62
        yield np.stack([np.arange(n) % 3, np.arange(n) % 2], axis=1)
        yield np.zeros((n, 3), int)
        yield sparse.csr_matrix((z[:, None] > [-1, 0, 1]).astype(np.int8))


MODELS = sorted({entry.cls.__name__ for entry in EVERY.values() if not entry.is_meta})


@pytest.mark.filterwarnings("ignore:cv is 3, but there are only 2 samples")
# Weights over decades need more passes.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("samples", ODD)
@pytest.mark.parametrize("name", MODELS)
def test_models_of_odd_samples_are_read_again_or_refused_by_fit(name, samples):
    X, weights = ODD[samples]
    n_fitted = 0
    for y in odd_targets(name, len(X)):
        model = make(name)
        try:
            model.fit(X, y, sample_weight=weights)
        except ValueError as error:
            assert re.search(r"^(X|y|cv|sample_weight)\b", str(error)), error  # noqa: PT017
            continue
        n_fitted += 1
        assert_law(model, X)
        assert all(np.isfinite(p).all() for p in predictions(model, X) if p.dtype.kind == "f")
    takes_gaps = not name.startswith(("Centroid", "Linear"))
    assert n_fitted or (samples == "missing values" and not takes_gaps) or samples == "one sample"


EXTREME = {
    "smallest weights": (5e-324, 1.0),
    "largest weights": (1.7e308, 1.0),
    "smallest and largest weights": (None, 1.0),
    "smallest y": (1.0, 1e-310),
    "squares vanish": (1.0, 1e-200),
    "squares overflow": (1.7e308, 1e200),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:No threshold is sure")
# Of estimators of scikit-learn inside.
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("case", EXTREME)
@pytest.mark.parametrize("name", EVERY)
def test_every_estimator_of_extreme_numbers_is_read_again_or_refused_by_fit(name, case):
    entry, (weight, size) = EVERY[name], EXTREME[case]
    if (weight != 1.0 and not entry.weights) or (size != 1.0 and entry.is_classifier):
        return
    X, y = problem(entry.outputs[0])
    weights = np.where(np.arange(len(X)) % 2, 5e-324, 1.7e308) if weight is None else np.full(len(X), weight)
    model = entry.build()
    try:
        model.fit(X, y if entry.is_classifier else y * size, **({"sample_weight": weights} if entry.weights else {}))
    except ValueError as error:
        # Those around estimators of scikit-learn refuse what these refuse.
        of_others = "others" in name or name.endswith("-linear")
        assert of_others or re.search(r"^(X|y|sample_weight|alpha)\b", str(error)), error  # noqa: PT017
        return
    assert_law(model, X)
    assert all(np.isfinite(p).all() for p in predictions(model, X) if p.dtype.kind == "f")


RATES = [0.1, 1.0, 2.0, 3.0, 5.0, 1e10, 1e300]


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("name", BOOSTING)
def test_boosting_that_diverges_is_refused_and_the_estimator_is_as_before(name, rate):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = np.abs(X[:, 0]) + 0.1 if name.endswith("Regressor") else (X[:, 0] > 0).astype(int)
    losses = ["log_loss", "exponential", "hinge", "squared_error"]
    if name.endswith("Regressor"):
        losses = ["squared_error", "absolute_error", "huber", "quantile", "poisson", "gamma", "tweedie"]
    for loss in losses:
        options = {"loss": loss, "n_estimators": 300 if loss == "squared_error" else 30, "max_depth": 2}
        model = make(name, learning_rate=0.1, **options).fit(X, y)
        before = dict(model.__dict__)
        model.set_params(learning_rate=rate)
        try:
            model.fit(X, y)
        except ValueError as error:
            assert str(error).startswith("learning_rate must be lower, as the loss grew"), error  # noqa: PT017
            assert rate > 2.5
            assert all(model.__dict__[key] is before[key] for key in before if key != "learning_rate")
            continue
        assert np.isfinite(model.train_score_).all()
        assert_law(model, X)
        assert loss != "squared_error" or rate <= 3


def test_diverging_weak_models_refits_and_warm_starts_are_refused():
    X = np.random.default_rng(0).normal(size=(40, 3))
    y = X[:, 0]
    weak = make("GradientBoostingRegressor", estimator=Ridge(), learning_rate=50.0, n_estimators=500)
    with pytest.raises(ValueError, match="learning_rate must be lower"):
        weak.fit(X, y)
    model = make("GradientBoostingRegressor", learning_rate=5.0, n_estimators=5, warm_start=True).fit(X, y)
    trees = model._model
    with pytest.raises(ValueError, match=r"learning_rate must be lower, .*got 5"):
        model.set_params(n_estimators=1000).fit(X, y)
    assert model._model is trees
    assert model.n_estimators_ == 5
    with pytest.raises(ValueError, match="base_margin and sample_weight must leave the loss a finite float"):
        make("GradientBoostingRegressor").fit(X, y, base_margin=np.full(40, 1e200))


def test_light_samples_that_move_heavy_ones_far_from_a_large_y_are_named():
    params = {"learning_rate": 0.7, "subsample": 0.6, "min_weight_leaf": 0.0, "l2_regularization": 0.0, "max_depth": 2}
    texts = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.integers(-2, 3, (8, 4))
        y = rng.normal(size=(8, 4)) * 10 ** rng.uniform(-145, 149, (8, 1))
        weights = 10 ** rng.uniform(-3, 3, 8)
        model = make("GradientBoostingRegressor", **params, n_estimators=100, random_state=seed)
        model.set_params(output_strategy=Projected(relabel_leaves=False))
        try:
            model.fit(X, y, sample_weight=weights)
        except ValueError as error:
            texts.append(str(error))
        else:
            assert np.isfinite(model.train_score_).all()
    assert texts
    assert all(text.startswith("base_margin and sample_weight must leave the loss a finite float") for text in texts)


def test_fits_whose_predictions_are_certain_go_on():
    """Where every second derivative is next to nothing, negative gradients cannot be divided by them."""
    weights = [1.0, 1e5, 30.0, 3e8, 2e-14, 1.0, 3e-11, 1e12, 0.0, 3e7]
    y = [0, 0, 0, 1, 0, 0, 1, 0, 1, 1]
    params = {"learning_rate": 0.7, "subsample": 0.6, "min_weight_leaf": 0.0, "n_estimators": 8}
    for seed in range(30):
        X = np.random.default_rng(seed).normal(size=(10, 3))
        model = make("GradientBoostingClassifier", **params, random_state=seed).fit(X, y, sample_weight=weights)
        assert np.isfinite(model.train_score_).all()
        assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize("size", [30.0, 150.0, 180.0, 340.0, 360.0, 700.0, 1e4, 1e20])
@pytest.mark.parametrize("loss", ["log_loss", "exponential"])
def test_margins_that_are_certain_are_corrected_where_they_are_wrong(loss, size):
    X, signs = np.arange(8.0)[:, None], np.array([-1, -1, -1, -1, 1, 1, 1, 1])
    whole = {"learning_rate": 1.0, "n_estimators": 3, "min_weight_leaf": 0.0}
    for wrong in ([], [2], [5, 6], [0, 7]):
        margins = size * signs
        margins[wrong] *= -1
        model = make("GradientBoostingClassifier", loss=loss, **whole).fit(X, signs, base_margin=margins)
        assert np.isfinite(model.train_score_).all()
        moved = model.decision_function(X)
        assert (np.sign(moved[wrong]) == signs[wrong]).all()


# --- parameters and attributes of any kind ---------------------------------------------------------------------------


def named(values):
    return pd.DataFrame(values, columns=pd.Index(["\ud800", "", "\U0001f600\n"], dtype=object))


def odd_parameters():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    number, numbers, code = X[:, 0], np.stack([X[:, 0], -X[:, 1], X[:, 2]], axis=1), (X[:, 0] > 0).astype(int)
    labels = (X > 0).astype(int)
    counts = np.abs(X.round())
    forest, boosting, compressed = "RandomForest", "GradientBoosting", "CompressedForest"
    state = np.random.RandomState(3)
    state.normal()  # the other half of a pair of draws is part of the state
    yield forest, X, number, {"random_state": state, "max_features": np.int64(2), "n_jobs": np.int8(1)}
    yield forest, X, number, {"max_leaf_nodes": 2**70, "min_samples_leaf": np.uint16(2), "ccp_alpha": np.float32(0)}
    yield forest, X, number, {"monotonic_cst": np.array([1, 0, -1])}
    yield forest, named(X), number, {"monotonic_cst": {"": 1}}
    yield forest, X, number, {"interaction_cst": [{0, 1}, frozenset([2])]}
    yield forest, named(X), number, {"interaction_cst": ({"\ud800", ""}, ("\U0001f600\n",))}
    yield forest, counts, number, {"categorical_features": [True, np.False_, False]}
    yield forest, counts, number, {"categorical_features": np.array([0])}
    yield forest, named(X), pd.DataFrame(numbers, columns=pd.Index(["\ud83d", "b", "\n"], dtype=object)), {}
    yield forest, named(X), pd.Series(number, name="\ud83d"), {}
    yield forest, X, numbers, {"output_projection": np.array([[1, 0, -1]], dtype=">f4")}
    yield forest, X, numbers, {"output_projection": sparse.csr_array([[1.0, 0.0, -1.0]])}
    yield boosting, X, numbers, {"output_strategy": Projected(np.array([[1, 0, -1]], dtype=">f4"))}
    yield forest, X, numbers, {"output_weights": (1, 2, np.float32(3)), "output_scaling": "variance"}
    for dtype in ("S3", "U40", ">i2", "u8", "f2", "?"):
        yield forest, X, np.array([0, 20]).astype(dtype)[code], {}
    # Arrays of more than 64 values are not part of the text.
    for dtype in ("S3", "U40", ">i2"):
        yield forest, np.vstack([X, X, X]), np.arange(70).astype(dtype)[np.arange(180) % 70], {}
    for dtype in ("f2", ">i2", "?", "u8"):
        yield forest, X, labels.astype(dtype), {}
    for form in ("coo_matrix", "lil_array", "csr_matrix", "csc_array", "dok_array"):
        yield forest, X, getattr(sparse, form)(labels), {}
    yield forest, X, code, {"class_weight": {np.int64(0): np.float32(2), 1: 3}}
    yield forest, X, np.stack([code, 1 - code], axis=1) + 5, {"class_weight": [{5: 1, 6: 2}, {6: 1.5, 5: 1}]}
    yield forest, X, code, {"oob_score": f1_score, "n_estimators": 30}
    yield boosting, X, number, {"scoring": "r2", "n_iter_no_change": 2}
    yield boosting, X, number, {"scoring": get_scorer("neg_mean_squared_error"), "n_iter_no_change": 2}
    yield boosting, X, numbers, {"loss": weald.loss.Quantile((0.1, np.float32(0.5), 0.9))}
    yield boosting, X, labels, {"label_weight": [1, 2, 3], "output_strategy": Projected(relabel_leaves=np.False_)}
    yield boosting, X, number, {"estimator": weald.DecisionTreeRegressor(max_depth=2)}
    yield boosting, X, numbers, {"estimator": weald.RandomForestRegressor(2), "output_strategy": "joint"}
    yield boosting, X, number, {"estimator": weald.GradientBoostingRegressor(n_estimators=2), "subsample": 0.5}
    yield boosting, X, labels, {"estimator": weald.ExtraTreeRegressor(max_depth=2)}
    yield boosting, X, number, {"estimator": FrozenEstimator(Ridge().fit(X, number))}
    yield compressed, X, number, {"cv": KFold(2)}
    yield compressed, X, number, {"cv": ShuffleSplit(2, random_state=np.random.RandomState(0))}
    yield compressed, X, labels, {"cv": weald.model_selection.MultilabelStratifiedKFold(2)}


ODD_PARAMETERS = list(odd_parameters())


@pytest.mark.parametrize("case", range(len(ODD_PARAMETERS)))
def test_parameters_and_attributes_of_any_kind_are_read_again(case):
    name, X, y, params = ODD_PARAMETERS[case]
    needs_skops = "oob_score" in params or any(type(v).__module__.startswith("sklearn") for v in params.values())
    if needs_skops or "MultilabelStratifiedKFold" in str(params):
        pytest.importorskip("skops.io")
    is_number = np.asarray(y.toarray() if sparse.issparse(y) else y).dtype.kind == "f" and np.unique(dense(y)).size > 9
    kind = "Regressor" if is_number else "Classifier"
    model = make(name + kind, **params).fit(X, y)
    # The byte order of some arrays differs after a pickle of NumPy.
    assert_law(model, X, bytes_of_pickle=">" not in str(getattr(y, "dtype", "")) + repr(params))
    loaded = weald.loads(weald.dumps(model))
    assert {key: type(value) for key, value in loaded.get_params(deep=False).items()} == {
        key: type(value) for key, value in model.get_params(deep=False).items()
    }


@pytest.mark.parametrize("name", CLASSES)
def test_files_of_any_number_of_threads_differ_in_the_parameter_alone(name):
    entry = EVERY[name]
    X, y = problem(entry.outputs[0])
    found = set()
    for n_jobs in (None, 1, 3):
        model = entry.build()
        ours = [key for key in model.get_params() if key.split("__")[-1] == "n_jobs"]
        model.set_params(**dict.fromkeys(ours, n_jobs)).fit(X, y)
        for part in (
            model,
            getattr(model, "estimator_", model),
            *(model.estimators_ if hasattr(model, "named_estimators_") else ()),
        ):
            part.set_params(**{key: None for key in part.get_params() if key.split("__")[-1] == "n_jobs"})
        found.add(weald.dumps(model))
    assert len(found) == 1


# --- what a file is ---------------------------------------------------------------------------------------------------


@pytest.mark.slow("python/weald/_files", "crates/weald/src/model_file", "crates/weald-py/src/model_file.rs")
def test_headers_of_every_length_are_read(tmp_path):
    """The length of the header comes first in a file, and some lengths are how a pickle or an archive starts."""
    model = weald.DecisionTreeRegressor(random_state=0).fit(pd.DataFrame({"a": [0.0, 1.0]}), [0.0, 1.0])
    lengths = set()
    for n in range(1, 2001):
        model.feature_names_in_ = np.array(["x" * n], dtype=object)
        data = weald.dumps(model)
        lengths.add(int.from_bytes(data[:8], "little"))
        assert weald.loads(data).feature_names_in_[0] == "x" * n
        if data[0] == 0x80:
            (tmp_path / "model").write_bytes(data)
            assert weald.load(tmp_path / "model").feature_names_in_[0] == "x" * n
            # A damaged model is not taken for something else.
            with pytest.raises(ValueError, match=r"^not a valid weald model: data: (?!.*pickle)"):
                weald.loads(data[:-1])
    assert {1408, 1664, 2048, 2176} & lengths
    assert len(lengths) > 240


def test_what_starts_like_a_header_of_any_length_is_told_apart(tmp_path):
    for n in [*range(1, 2001), int.from_bytes(b"PK\x03\x04", "little")]:
        with pytest.raises(ValueError, match=r"^not a valid weald model: data: (?!.*pickle)"):
            weald.loads(n.to_bytes(8, "little") + b'{"a":1}')
    model = weald.DecisionTreeRegressor().fit([[0.0], [1.0]], [0, 1])
    for value in (model, 3, None, "text", [1.5], {"a": np.arange(9)}, b"\x00" * 300):
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            path = tmp_path / "pickle"
            path.write_bytes(pickle.dumps(value, protocol))
            for read in (lambda path=path: weald.load(path), lambda path=path: weald.loads(path.read_bytes())):
                with pytest.raises(ValueError, match=r"got a pickle, which runs code when it is loaded"):
                    read()
    joblib.dump(model, tmp_path / "joblib")
    with pytest.raises(ValueError, match=r"got a pickle"):
        weald.load(tmp_path / "joblib")


@pytest.mark.parametrize("name", ["RandomForestClassifier", "CentroidForestClassifier", "ExtraTreesClassifier"])
def test_files_with_changed_bytes_predict_probabilities_or_are_refused(name):
    """The engine's tests change all bytes of all forms of files; here a few are read as estimators."""
    X, Y = problem("labels")
    data = weald.dumps(make(name, n_estimators=2, max_depth=3).fit(X, Y))
    start = 8 + int.from_bytes(data[:8], "little")
    rng = np.random.default_rng(0)
    n_read = 0
    for place in rng.choice(np.arange(start, len(data)), min(400, len(data) - start), replace=False):
        for value in (0, 1, 127, 255):
            changed = bytearray(data)
            changed[place] = value
            try:
                model = weald.loads(bytes(changed))
            except ValueError:
                continue
            n_read += 1
            found = model.predict_proba(X)
            # Shares of samples that reach two children are float32.
            assert 0 <= found.min() <= found.max() <= 1 + 1e-6
    assert n_read
