"""What parameters of other libraries are called, and what is meant by a name that is not known."""

from __future__ import annotations

import inspect
import re

import pytest
import weald
from sklearn.base import clone
from weald._input import messages

CLASSES = [
    weald.DecisionTreeClassifier,
    weald.ExtraTreesRegressor,
    weald.RandomForestClassifier,
    weald.GradientBoostingClassifier,
    weald.GradientBoostingRegressor,
    weald.LinearClassifier,
]


@pytest.mark.parametrize("cls", CLASSES)
def test_names_of_other_libraries_are_answered_with_ours(cls):
    known = list(inspect.signature(cls).parameters)
    for name, ours in messages._OTHER_NAMES.items():
        has = [one for one in ours if one in known]
        if name in known or not has:
            continue
        message = f"{cls.__name__}.__init__() got an unexpected keyword argument '{name}': its name is {has[0]} here"
        with pytest.raises(TypeError, match=f"^{re.escape(message)}, see docs/migration.md"):
            cls(**{name: 3})


@pytest.mark.parametrize("cls", CLASSES)
def test_constructors_are_those_of_scikit_learn_estimators(cls):
    known = list(inspect.signature(cls).parameters)
    assert sorted(known) == sorted(cls().get_params(deep=False)) == cls._get_param_names()
    assert clone(cls()).get_params(deep=False) == cls().get_params(deep=False)
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'xyz'$"):
        cls(xyz=1)
    name = known[1]
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{name[:-1]}': did you mean {name}\\?$"):
        cls(**{name[:-1]: 1})

    class Own(cls):
        def __init__(self, *, iterations=3):
            super().__init__()
            self.iterations = iterations

    assert Own(iterations=4).iterations == 4
    with pytest.raises(
        TypeError, match=r"Own.__init__.. got an unexpected keyword argument 'iteration': did you mean it"
    ):
        Own(iteration=4)


def test_devices_and_the_like_have_sentences():
    for name, told in messages._ALONE.items():
        cls = weald.RandomForestClassifier if name == "base_estimator" else weald.GradientBoostingClassifier
        with pytest.raises(TypeError, match=re.escape(f"'{name}': {told}")):
            cls(**{name: 1})
    with pytest.raises(TypeError, match="'coverage': its name is alpha here"):
        weald.conformal.ConformalRegressor(coverage=0.9)
    with pytest.raises(TypeError, match=r"RandomForestClassifier.fit.* 'verbose': set the parameter verbose of the"):
        weald.RandomForestClassifier().fit([[0]], [0], verbose=1)
    with pytest.raises(TypeError, match="'device': fits run on processors, with n_jobs threads"):
        weald.RandomForestClassifier(device="cuda")
    with pytest.raises(
        TypeError, match=r"\.fit\(\) got an unexpected keyword argument 'eval_set': pass X_val and y_val"
    ):
        weald.GradientBoostingClassifier().fit([[0]], [0], eval_set=[])


@pytest.mark.parametrize(
    ("params", "told"),
    [
        (
            {"output_strategy": "project"},
            "among {'auto', 'joint', 'projected', 'single_target'} .* Did you mean 'projected'",
        ),
        ({"loss": "deviance"}, "Did you mean 'log_loss'"),
        ({"loss": "L2"}, "Did you mean 'squared_error'"),
        ({"loss": "logloss"}, "among {'exponential', 'hinge', 'log_loss', 'squared_error'} .* Did you mean 'log_loss'"),
        ({"max_features": "sqr"}, "among {'half', 'log2', 'sqrt'}.* Did you mean 'sqrt'"),
        ({"early_stopping": "no"}, r"'early_stopping' parameter .* instead\.$"),
    ],
)
def test_choices_are_sorted_and_the_one_that_is_meant_is_named(params, told):
    with pytest.raises(ValueError, match=told):
        weald.GradientBoostingClassifier(**params).fit([[0.0], [1.0]], [0, 1])


def test_losses_that_are_meant_are_named():
    with pytest.raises(ValueError, match=r"got 'hubber'\. Did you mean 'huber'"):
        weald.loss.get("hubber")
