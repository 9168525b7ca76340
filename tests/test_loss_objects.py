"""Losses as objects: what they say, their values, and what happens to them as parameters of estimators."""

from __future__ import annotations

import copy
import pickle
import re
from typing import Any

import numpy as np
import pytest
import weald
from boosting_twin import LOSSES as TWINS
from boosting_twin import OBJECTS, in_domain
from conftest import BOOSTING, COMPRESSED, check_refused, make, make_data, model_bytes
from exports import HalfSquares
from model_files import taken_apart
from sklearn._loss.loss import HalfPoissonLoss
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from weald import _weald
from weald.loss import LOSSES, CustomLoss, Huber, LogLoss, Loss, Poisson, Quantile, SquaredError, Tweedie, get

CLASSIFIER, REGRESSOR = BOOSTING
OF_EACH = [Quantile([0.1, 0.9]), Huber((1, 2.5)), Tweedie(np.array([1.25, 1.75], dtype=np.float32))]
ALL: list[Any] = [cls() for cls in LOSSES.values()] + list(OBJECTS.values()) + OF_EACH


class Deviance:
    """Half the Poisson deviance up to a constant, with the attributes that weald reads."""

    name = "deviance"
    domain = "not_negative"
    link = "log"

    def loss(self, y, scores):
        return np.exp(scores) - y * scores

    def gradient_hessian(self, y, scores):
        return np.exp(scores) - y, np.exp(scores)


class HalfLogit:
    """The exponential loss of y = -1 and +1."""

    def loss(self, y, scores):
        return np.exp(-y * scores)

    def gradient_hessian(self, y, scores):
        return -y * np.exp(-y * scores), np.exp(-y * scores)


OWN = CustomLoss(Deviance())
OF_SIGNS = CustomLoss(HalfLogit(), name="exp", domain="signs", link="half_logit")


def test_the_table_of_the_engine_is_the_module():
    rows = _weald.losses()
    assert [row["name"] for row in rows] == list(LOSSES)
    for row in rows:
        cls = getattr(weald.loss, row["type"])
        assert cls is LOSSES[row["name"]]
        assert row["type"] in weald.loss.__all__
        loss = cls()
        assert (loss.name, loss.domain, loss.link) == (row["name"], row["domain"], row["link"])
        assert get(row["name"]) == loss
        # What is between bars is called abs in Python.
        assert cls.__doc__.startswith(" ".join(row["about"].split()).partition("|")[0][:40])
        assert f'"{row["name"]}"' in weald.loss.__doc__
        # Estimators take those of their y.
        for name, kind in ((REGRESSOR, "numbers"), (CLASSIFIER, "labels")):
            X, y = make_data(name)
            y = in_domain(row["name"], y) if kind == "numbers" else y
            model = make(name, loss=row["name"])
            if kind in loss.targets:
                assert model_bytes(model.fit(X, y)) == model_bytes(make(name, loss=loss).fit(X, y))
            else:
                with pytest.raises(ValueError, match="'loss'"):
                    model.fit(X, y)
    links = {row["link"] for row in rows}
    assert links == {"identity", "log", "half_logit", None}


@pytest.mark.parametrize("loss", ALL, ids=repr)
def test_values_and_derivatives_are_those_of_the_twin_and_of_differences(loss):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(50, 2))
    y = np.abs(scores) + rng.uniform(0.1, 2, (50, 2)) if loss.domain != "signs" else rng.choice([-1.0, 1.0], (50, 2))
    values, (gradient, hessian) = loss.loss(y, scores), loss.gradient_hessian(y, scores)
    assert values.shape == gradient.shape == hessian.shape == (50, 2)
    if loss in OBJECTS.values() or not hasattr(loss, "__dataclass_fields__") or not loss.__dataclass_fields__:
        # The twin computes the same formulas in another order, some of them with cancellation.
        np.testing.assert_allclose(values, TWINS[loss.name].value(y, scores), rtol=1e-11, atol=1e-13)
    step = 1e-6
    away = np.abs(np.abs(y - scores) - getattr(loss, "delta", 0.0)) > 1e-3  # from kinks
    away &= np.abs(1 - y * scores) > 1e-3
    # Differences of values near one, which are rounded to 1e-16, over a step of 1e-6.
    slope = (loss.loss(y, scores + step) - loss.loss(y, scores - step)) / (2 * step)
    np.testing.assert_allclose(gradient[away], slope[away], atol=1e-6, rtol=1e-5)
    change = (loss.gradient_hessian(y, scores + step)[0] - loss.gradient_hessian(y, scores - step)[0]) / (2 * step)
    np.testing.assert_allclose(hessian[away], change[away], atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("loss", [*ALL, OWN, OF_SIGNS], ids=lambda loss: repr(loss) if loss in ALL else loss.name)
def test_objects_are_values(loss):
    for other in (pickle.loads(pickle.dumps(loss)), copy.copy(loss), copy.deepcopy(loss)):
        if not isinstance(loss, CustomLoss):  # whose object compares by identity
            assert other == loss
            assert hash(other) == hash(loss)
        assert repr(other).split("object at")[0] == repr(loss).split("object at")[0]
    assert loss == loss
    assert len({loss, loss}) == 1
    assert loss != SquaredError() or loss.name == "squared_error"
    with pytest.raises(AttributeError):
        loss.delta = 2.0
    with pytest.raises(AttributeError):
        del loss.name
    assert get(loss) is loss
    if not isinstance(loss, CustomLoss):
        assert eval(repr(loss), vars(weald.loss)) == loss
    with pytest.raises(ValueError, match="state of"):
        copy.copy(loss).__setstate__({"other": 1})


@pytest.mark.parametrize(
    ("cls", "bad", "accepted"),
    [
        (Quantile, [0, 1, 0.0, 1.0, -0.5, np.nan, np.inf, "0.5", None, True, 10**400], "quantile must be above 0 and"),
        (
            Quantile,
            [[], [0.1, 1.0], [0.1, np.nan], [[0.1, 0.2]], ["a"], np.eye(2) / 3, (0.5, None)],
            "quantile must be",
        ),
        (Huber, [0, -1.0, np.nan, np.inf, None, {1.0}, b"1"], "delta must be finite and positive: a number, or a list"),
        (
            Tweedie,
            [1, 2, 1.0, 2.0, 0, 3, np.nan, None],
            "power must be above 1 and below 2: a number, or a list with one",
        ),
    ],
)
def test_parameters_are_checked_where_they_are_given(cls, bad, accepted):
    for value in bad:
        with pytest.raises(ValueError, match=accepted):
            cls(value)
    with pytest.raises(ValueError, match=accepted):
        cls(0.5 + (cls is Tweedie)).__setstate__({cls._row["parameter"]["name"]: bad[0]})


def test_what_is_no_loss_is_refused():
    with pytest.raises(ValueError, match=r"loss must be one of \['absolute_error', .*got 'cubes'"):
        get("cubes")
    with pytest.raises(ValueError, match="loss must be a name or an instance, got the class Huber"):
        get(Huber)
    with pytest.raises(TypeError, match="functions must have the methods loss and gradient_hessian, got 3"):
        get(3)
    with pytest.raises(ValueError, match="y must be at least 0 with loss='poisson', got -1"):
        Poisson().loss([-1.0], [0.0])
    with pytest.raises(ValueError, match=r"y must have 2 columns, one for each output of Huber.*got \(2, 4\)"):
        Huber([0.1, 0.9]).loss(np.zeros((2, 4)), np.zeros((2, 4)))
    for shape in ((3,), (2, 3), (2, 0)):
        with pytest.raises(ValueError, match=r"y must have 2 columns, one for each level of Quantile.*got \("):
            Quantile([0.1, 0.9]).loss(np.zeros(shape), np.zeros(shape))
    for params, message in [
        ({"name": "huber"}, "name must be a string that is not the name of a loss of weald, got 'huber'"),
        ({"name": ""}, "name must be a string"),
        ({"domain": "reals"}, r"domain must be one of \['not_negative', 'numbers'.*got 'reals'"),
        ({"link": "logit"}, r"link must be one of \[None, 'identity', 'log', 'half_logit'\], got 'logit'"),
        ({"link": "log", "domain": "signs"}, "link must not be 'log' with the domain 'signs', which has no numbers"),
        ({"link": "half_logit", "domain": "positive"}, "link must not be 'half_logit' with the domain 'positive'"),
    ]:
        with pytest.raises(ValueError, match=message):
            CustomLoss(HalfSquares(), **params)
    with pytest.raises(ValueError, match="functions must be an instance, got the class HalfSquares"):
        CustomLoss(HalfSquares)


def test_attributes_of_the_object_are_those_of_the_loss():
    assert (OWN.name, OWN.domain, OWN.link, OWN.targets) == ("deviance", "not_negative", "log", ("numbers",))
    assert CustomLoss(Deviance(), name="other").name == "other"
    plain = get(HalfSquares())
    assert (plain.name, plain.domain, plain.link) == ("HalfSquares", "numbers", None)
    assert plain.targets == ("numbers", "labels")
    assert get(HalfPoissonLoss()).link is None  # scikit-learn's link is not one of these names


@pytest.mark.parametrize("leaf_estimation", ["newton", "line_search"])
def test_a_loss_with_a_link_predicts_what_the_loss_of_the_engine_predicts(leaf_estimation):
    X, y = make_data(REGRESSOR)
    y = in_domain("poisson", y)
    params = {"leaf_estimation": leaf_estimation, "l2_regularization": 0.0}
    ours, own = (make(REGRESSOR, loss=loss, **params).fit(X, y) for loss in ("poisson", OWN))
    # The engine's loss sums on grids, and starts from a constant in closed form.
    np.testing.assert_allclose(own.predict(X), ours.predict(X), rtol=1e-5)
    assert own._model.link == "log"
    with pytest.raises(ValueError, match="y must be at least 0"):
        make(REGRESSOR, loss=OWN).fit(X, y - y.max())
    started = make(REGRESSOR, loss=OWN, init=make("DecisionTreeRegressor", max_depth=1), **params).fit(X, y + 1)
    assert (started.predict(X) > 0).all()


@pytest.mark.parametrize("outputs", ["single", "labels"])
def test_a_loss_with_the_link_half_logit_has_probabilities(outputs):
    X, y = make_data(CLASSIFIER, outputs=outputs)
    params = {"output_strategy": "single_target", "l2_regularization": 0.0}
    ours, own = (make(CLASSIFIER, loss=loss, **params).fit(X, y) for loss in ("exponential", OF_SIGNS))
    # As above; the derivatives of the engine's loss have the same values.
    np.testing.assert_allclose(own.predict_proba(X), ours.predict_proba(X), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(own.decision_function(X), ours.decision_function(X), rtol=1e-5, atol=1e-6)
    held = make(CLASSIFIER, loss=OF_SIGNS, **params).fit(X, y, X_val=X, y_val=y, eval_sets=[(X, y)])
    # Means of the same values in another order.
    np.testing.assert_allclose(held.eval_results_["eval_0"]["loss"], held.validation_score_, rtol=1e-9)
    with pytest.raises(AttributeError) as raised:
        make(CLASSIFIER, loss=HalfSquares()).predict_proba(X)
    message = "loss='HalfSquares' has no probabilities: loss must be 'log_loss' or 'exponential'"
    assert message in str(raised.value.__cause__)
    with pytest.raises(ValueError, match="loss must be a loss of numbers, such as squared_error"):
        make(REGRESSOR, loss=OF_SIGNS).fit(X, np.arange(len(X)))


@pytest.mark.parametrize("loss", [OWN, CustomLoss(HalfSquares(), name="squares")], ids=["link", "plain"])
def test_files_hold_the_name_and_the_link_of_a_loss_and_no_code(loss, tmp_path):
    X, y = make_data(REGRESSOR)
    model = make(REGRESSOR, loss=loss).fit(X, np.abs(y))
    path = tmp_path / "model"
    weald.save(model, path)
    loaded = weald.load(path)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert weald.dumps(loaded) == path.read_bytes()
    kept = loaded.loss
    assert (kept.name, kept.domain, kept.link, kept.functions) == (loss.name, loss.domain, loss.link, None)
    _, estimator, _ = taken_apart(path)
    assert "Deviance" not in str(estimator)
    message = f"loss must have the methods .*has the name '{loss.name}' .*no code: set the parameter loss"
    check_refused(loaded, ValueError, message, X, np.abs(y))
    with pytest.raises(ValueError, match="no code"):
        kept.loss([1.0], [1.0])
    again = loaded.set_params(loss=loss).fit(X, np.abs(y))
    assert model_bytes(again) == model_bytes(model)
    with pytest.raises(ValueError, match=re.escape(f"loss must be {kept!r} with warm_start=True")):
        model.set_params(warm_start=True, n_estimators=9, loss=HalfSquares()).fit(X, np.abs(y))


@pytest.mark.parametrize("loss", [*OBJECTS.values(), Quantile([0.1, 0.5, 0.9]), Huber()], ids=repr)
def test_files_pickles_clones_and_pipelines_keep_objects(loss, tmp_path):
    X, Y = make_data(REGRESSOR, outputs="several")
    Y = in_domain("tweedie", Y)
    model = make(REGRESSOR, loss=loss).fit(X, Y)
    for again in (weald.loads(weald.dumps(model)), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert again.loss == loss
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        assert weald.dumps(again) == weald.dumps(model)
    assert clone(model).get_params()["loss"] == loss
    assert clone(model).set_params(loss="gamma").loss == "gamma"
    weald.save(make_pipeline(MaxAbsScaler(), model).fit(X, Y), tmp_path / "pipeline")
    assert weald.load(tmp_path / "pipeline")[-1].loss == loss


def test_grids_list_objects():
    X, y = make_data(REGRESSOR, n=90)
    grid = [Quantile(0.1), Quantile(0.5), "absolute_error", Huber(0.3)]
    search = GridSearchCV(make(REGRESSOR), {"loss": grid}, cv=3, n_jobs=2).fit(X, y)
    assert search.best_params_["loss"] in grid
    apart = [cross_val_score(make(REGRESSOR, loss=loss), X, y, cv=3).mean() for loss in grid]
    np.testing.assert_array_equal(search.cv_results_["mean_test_score"], apart)


@pytest.mark.parametrize("name", [*COMPRESSED, "InducedForestRegressor"])
def test_compression_takes_objects(name):
    X, y = make_data(name)
    loss = LogLoss() if name.endswith("Classifier") else SquaredError()
    model = make(name, loss=loss, **({"l1_norm": 0.5} if name in COMPRESSED else {"n_nodes": 5})).fit(X, y)
    assert model_bytes(clone(model).set_params(loss=loss.name).fit(X, y)) == model_bytes(model)
    assert weald.loads(weald.dumps(model)).loss == loss
    message = "loss must be 'squared_error'.*, got Huber"
    check_refused(clone(model).fit(X, y).set_params(loss=Huber()), ValueError, message, X, y)


def test_the_base_class_is_public():
    assert all(isinstance(loss, Loss) for loss in [*ALL, OWN])
