"""Validation of the fitted attributes of an estimator, and of their consistency with the model of the engine.

Pickles, copies and model files set the attributes of an estimator by name. The model of the engine validates itself.
This module validates the other attributes, so that methods of an estimator never index out of bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from weald import _weald
from weald._input import schema
from weald._input.checks import MOST
from weald._input.frames import CONTAINERS, OUTPUT, SETTINGS, TRANSFORM
from weald._input.messages import cut, described
from weald._input.targets import CONTAINER, LabelFormat, label_classes
from weald.loss import LOSSES, CustomLoss, EngineLoss, Loss, names, supporting

_MODELS = (
    _weald.Forest,
    _weald.CentroidForest,
    _weald.LinearModel,
    _weald.LabelTreeModel,
    _weald.Boosted,
    _weald.Compressed,
)

# What is wrong with the value of an attribute, told the model of the engine; None if nothing is.
Check = Callable[[Any, Any], str | None]
# Whether every fit sets an attribute, and its checks in order.
Row = tuple[bool, *tuple[Check, ...]]


def must(be: str, holds: Callable[[Any, Any], object]) -> Check:
    """That a value is this, which `holds` says of the value and the model; {0} in `be` is the model."""
    return lambda value, model: None if holds(value, model) else f"must {be.format(model)}, got {described(value)}"


def integer(least: int, most: float) -> Check:
    return must(f"be an integer from {least} to {most}", lambda value, _: type(value) is int and least <= value <= most)


def equal(of_model: str) -> Check:
    """That a value is that of the model, of the same type."""

    def holds(value: Any, model: Any) -> bool:
        expected = getattr(model, of_model)
        return type(value) is type(expected) and bool(value == expected)

    return must(f"be {{0.{of_model}}}, as in the model", holds)


def texts(names: Any, n: object, what: str) -> str | None:
    """What is wrong with the names of `n` features or outputs."""
    if not (isinstance(names, np.ndarray) and names.dtype == object and names.shape == (n,)):
        return f"must be an object array of length {n}, one name for each {what}, got {described(names)}"
    others = [name for name in names if not isinstance(name, str)]
    return f"must have strings as names, got {described(others[0])}" if others else None


def numbers(value: Any, *shapes: tuple[int, ...]) -> str | None:
    """What is wrong with a float64 array of one of these shapes, where −1 stands for any length."""
    if not (isinstance(value, np.ndarray) and value.dtype == np.float64):
        return f"must be a float64 array, got {described(value)}"

    def fits(shape: tuple[int, ...]) -> bool:
        return len(shape) == value.ndim and all(a in (-1, b) for a, b in zip(shape, value.shape, strict=True))

    accepted = " or ".join(str(shape).replace("-1", "n_samples") for shape in shapes)
    return None if any(map(fits, shapes)) else f"must have shape {accepted}, got {value.shape}"


def sparse_or_numbers(value: Any, model: Any) -> str | None:
    """What is wrong with a float64 array or a float64 CSR matrix with the columns of predictions."""
    if not isinstance(value, sparse.csr_array | sparse.csr_matrix):
        return numbers(value, (-1, model.width))
    if value.ndim != 2 or value.shape[1] != model.width or value.dtype != np.float64:
        return f"must be a float64 CSR matrix with {model.width} columns, got {described(value)}"
    with np.errstate(invalid="ignore"):
        try:
            value.check_format(full_check=True)
        except ValueError as error:
            return f"must be a valid CSR matrix: {error}"
    return None


def _features(names: Any, model: Any) -> str | None:
    return texts(names, model.n_features, "feature")


def _is_transform(value: Any, _: object) -> bool:
    is_known = type(value) is dict and set(value) <= {"transform"}
    return is_known and all(type(of) is str and of in ("default", *CONTAINERS) for of in value.values())


_ONE_OF = must(f"be one of {', '.join(CONTAINERS)}", lambda value, _: type(value) is str and value in CONTAINERS)
_OF_ALL: dict[str, Row] = {
    "n_features_in_": (True, equal("n_features")),
    "n_outputs_": (True,),  # which `Proof.outputs` checks, with names
    "feature_names_in_": (False, _features),
    "target_names_in_": (False, must("have distinct names", lambda names, _: len(set(names)) == len(names))),
    "categories_": (False,),  # which `schema.prove` checks
    schema.LABELS: (False, _features),
    OUTPUT: (False, _ONE_OF),
    TRANSFORM: (False, must("have a container of transform", _is_transform)),
}
# `Proof.classes` checks them together.
_OF_CLASSIFIERS: dict[str, Row] = {"classes_": (True,), "n_classes_": (True,), "_label_format": (True,)}
# Rows of several classes.
OF_SEED: dict[str, Row] = {"_seed": (True, integer(0, 2**64 - 1))}
OF_DRAWN: dict[str, Row] = {
    "max_features_": (True, lambda value, model: integer(1, max(1, model.n_features))(value, model))
}
OF_CONTAINER: dict[str, Row] = {
    CONTAINER: (
        False,
        must("be 'array' or 'matrix'", lambda value, _: isinstance(value, str) and value in ("array", "matrix")),
        lambda _, model: None if model.kind == "numbers" else f"is not supported for a model of {model.kind}",
    )
}


def check_fitted(estimator: object) -> None:
    """A fast `check_is_fitted`. That of scikit-learn inspects all attributes, which is slow for single samples."""
    attribute = estimator._proof.attribute if hasattr(estimator, "_proof") else "estimator_"
    if attribute not in estimator.__dict__:
        check_is_fitted(estimator)


class Proof:
    """The fitted attributes of an estimator under validation. Each kind of model has a subclass.

    Raises a ValueError if an attribute in `state` of an estimator of the class `name` is not valid. The attributes of
    an estimator that is not fitted are not validated.
    """

    # The attribute that contains the model of the engine, and its class.
    attribute: ClassVar[str] = "_forest"
    engine: ClassVar[type[_weald._Model]] = _weald.Forest
    # The other fitted attributes.
    own: ClassVar[Mapping[str, Row]] = {}
    # Attributes whose arrays depend on the number of training samples, rounds or steps of a path.
    of_training: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def rows(cls, classifier: bool) -> dict[str, Row]:
        """The fitted attributes except the model."""
        return _OF_ALL | (_OF_CLASSIFIERS if classifier else {}) | dict(cls.own)

    @classmethod
    def model_of(cls, value: object) -> _weald._Model | None:
        """The model of the engine in the attribute, or None if the attribute is something else."""
        return value if isinstance(value, _MODELS) else None

    @classmethod
    def holding(cls, model: _weald._Model) -> object:
        """The value of the attribute, from the model of the engine."""
        return model

    @classmethod
    def read(cls, data: bytes) -> _weald._Model:
        """The model of the engine, from its bytes, which the engine validates."""
        return cls.engine.from_bytes(data)

    def __init__(self, name: str, classifier: bool, state: dict[str, Any]) -> None:
        self.name, self.classifier, self.state = name, classifier, state
        self.model: Any = None
        rows = self.rows(classifier)
        schema.prove(name, state)
        if self.attribute not in state:
            # Estimators that are not fitted may have a number of features, and what `set_output` sets.
            found = sorted(rows.keys() & state.keys() - {"n_features_in_", "feature_names_in_"} - SETTINGS)
            self.need(not found, self.attribute, f"is missing, but {''.join(found[:1])} is given")
            self.check({name: rows[name] for name in SETTINGS})
            if "feature_names_in_" in state:
                fault = texts(state["feature_names_in_"], state.get("n_features_in_"), "feature")
                self.need(fault is None, "feature_names_in_", fault)
            return
        for attribute, (always, *_) in rows.items():
            self.need(not always or attribute in state, attribute, f"is missing, but {self.attribute} is given")
        self.of_engine()
        self.outputs()
        self.check(_OF_ALL)
        if classifier:
            self.classes()
        self.check(self.own)
        self.of_kind()

    def check(self, rows: Mapping[str, Row]) -> None:
        """Check the values of attributes that are there."""
        for attribute, (_, *checks) in rows.items():
            for check in checks if attribute in self.state else ():
                fault = check(self.state[attribute], self.model)
                self.need(fault is None, attribute, fault)

    def need(self, holds: object, attribute: str, why: str | None) -> None:
        if not holds:
            raise ValueError(f"{self.name}: {attribute} {why}")

    # --- attributes of all models ------------------------------------------------------------------------------------

    def of_engine(self) -> None:
        """Check the model."""
        attribute, model, expected = self.attribute, self.state[self.attribute], self.engine
        self.need(
            type(model) is expected, attribute, f"must be a {expected.__name__} of the engine, got {described(model)}"
        )
        self.of_y(model)

    def of_y(self, model: _weald._Model) -> None:
        """Check that the model is one of this kind of y."""
        self.model = model
        accepted = ("classes", "labels") if self.classifier else ("numbers",)
        self.need(model.kind in accepted, self.attribute, f"must predict {' or '.join(accepted)}, got {model.kind}")

    def n_levels(self) -> int:
        """The number of quantiles that the model has of each output."""
        return 1

    def outputs(self) -> None:
        """Check the number of outputs, and their names."""
        n_outputs, rest = divmod(self.model.n_outputs, self.n_levels())
        found = self.state["n_outputs_"]
        must_be = f"must be {n_outputs}, as in the model, got {described(found)}"
        self.need(type(found) is int and found == n_outputs and not rest, "n_outputs_", must_be)
        if "target_names_in_" in self.state:
            fault = texts(self.state["target_names_in_"], n_outputs, "output")
            self.need(fault is None, "target_names_in_", fault)

    def of_kind(self) -> None:
        """Check the attributes of this kind of model that depend on each other."""

    def classes(self) -> None:
        classes, n_classes, form = (self.state[a] for a in ("classes_", "n_classes_", "_label_format"))
        n_outputs = self.model.n_outputs
        is_labels = self.model.kind == "labels"
        if is_labels:
            self.need(is_label_format(form), "_label_format", f"must be a format of labels, got {described(form)}")
            forms = (np.arange(n_outputs), label_classes(n_outputs))
            numbers = isinstance(classes, np.ndarray) and any(np.array_equal(classes, form) for form in forms)
            self.need(numbers, "classes_", f"must be the indices of {n_outputs} labels, got {described(classes)}")
            self.n_classes(n_classes, n_outputs)
            return
        self.need(form is None, "_label_format", f"must be None for a model of classes, got {described(form)}")
        single = n_outputs == 1
        if not single:
            for attribute, value in (("classes_", classes), ("n_classes_", n_classes)):
                is_list = type(value) is list and len(value) == n_outputs
                self.need(is_list, attribute, f"must be a list of length {n_outputs}, got {described(value)}")
        expected = self.model.n_classes.tolist()
        pairs = [(classes, n_classes)] if single else zip(classes, n_classes, strict=True)
        for (found, n), wanted in zip(pairs, expected, strict=True):
            self.n_classes(n, wanted)
            is_list = isinstance(found, np.ndarray) and found.shape == (wanted,)
            self.need(is_list, "classes_", f"must be an array of {wanted} classes, got {described(found)}")
            has_type = found.dtype.kind in "biufUSO"
            self.need(has_type, "classes_", f"must have numbers, strings or objects, got dtype {found.dtype}")
            self.need(_rises(found), "classes_", "must be in strictly ascending order, got another order")

    def n_classes(self, n: object, expected: int) -> None:
        is_equal = type(n) is int and n == expected
        self.need(is_equal, "n_classes_", f"must be {expected}, as in the model, got {described(n)}")


def is_label_format(form: Any) -> bool:
    """Whether a value is a `LabelFormat` for dense or CSR labels."""
    known = type(form) is LabelFormat and isinstance(form.dtype, np.dtype) and form.dtype.kind in "biuf"
    return known and form.container in (None, sparse.csr_array, sparse.csr_matrix)


def _rises(classes: NDArray[Any]) -> bool:
    try:
        return bool(np.all(classes[:-1] < classes[1:]))
    except TypeError:
        return False


_PATH = {"l1_norm": "f", "train_loss": "f", "n_test_nodes": "i", "n_nonzero": "i"}
_TESTED = {"test_loss_mean": "f", "test_loss_std": "f"}


def _fault_of_path(path: Any, _: object) -> str | None:
    keys = path.keys() if type(path) is dict else set()
    if keys != _PATH.keys() and keys != _PATH.keys() | _TESTED.keys():
        return f"must be a dict with the keys {sorted(_PATH)}, got {described(path)}"
    n_points = len(path["l1_norm"]) if isinstance(path["l1_norm"], np.ndarray) and path["l1_norm"].ndim else 0
    for key, values in path.items():
        kind = (_PATH | _TESTED)[key]
        fits = isinstance(values, np.ndarray) and values.dtype.kind == kind and values.shape == (n_points,)
        if not fits or n_points == 0:
            return f"must have arrays of one positive length, got {described(values)} as {key}"
    return None


class CompressedProof(Proof):
    """Those of compressed forests."""

    attribute = "_model"
    engine = _weald.Compressed
    own: ClassVar[dict[str, Row]] = {
        "_loss": (True,),
        "l1_norm_": (True, equal("l1_norm")),
        "n_test_nodes_": (True, equal("n_test_nodes")),
        "compression_ratio_": (True, must("be a positive number", lambda n, _: type(n) in (int, float) and n > 0)),
        "full_loss_": (False, must("be a float", lambda loss, _: type(loss) is float)),
        "n_nodes_": (False, integer(0, 2**63 - 1)),
        "path_": (False, _fault_of_path),
        "step_": (False,),
    }
    of_training = frozenset({"path_"})

    def of_kind(self) -> None:
        loss, losses = self.state["_loss"], compressing(self.classifier)
        is_known = isinstance(loss, str) and loss in losses
        self.need(is_known, "_loss", f"must be one of {sorted(losses)}, got {described(loss)}")
        same_loss = (LOSSES[loss].link == "half_logit") == self.model.has_log_odds
        self.need(same_loss, "_loss", f"must be the loss of the model, got {described(loss)}")
        self.need(("path_" in self.state) == ("step_" in self.state), "path_", "must be given if and only if step_ is")
        if "path_" in self.state:
            fault = integer(0, len(self.state["path_"]["l1_norm"]) - 1)(self.state["step_"], self.model)
            self.need(fault is None, "step_", fault)


def compressing(classifier: bool) -> list[str]:
    """The names of the losses that compression supports."""
    of_y = names("labels" if classifier else "numbers")
    return [name for name in supporting("compresses") if name in of_y]


_CURVES = {"train", "validation", "out_of_bag", "score"}
_SHARED = {"output_strategy", "loss", "learning_rate", "relabel_leaves", "estimator"}
# What a plan decides, as `plan_` has it.
PLANNED = (
    "output_strategy",
    "learning_rate",
    "max_leaf_nodes",
    "max_features",
    "subsample",
    "l2_regularization",
    "n_estimators",
    "n_iter_no_change",
    "cv",
)
_STRATEGIES = {"projected", "joint", "single_target"}


def _fault_of_curves(curves: Any, model: Any) -> str | None:
    if type(curves) is not dict or not curves.keys() <= _CURVES:
        return f"must be a dict with keys of {sorted(_CURVES)}, got {described(curves)}"
    for curve in curves.values():
        is_list = isinstance(curve, np.ndarray) and curve.dtype == np.float64 and curve.ndim == 1
        if not is_list or len(curve) < model.n_stages:
            return f"must have float64 arrays of length {model.n_stages} or longer, got {described(curve)}"
    return None


def _fault_of_eval_curves(curves: Any, model: Any) -> str | None:
    if type(curves) is not tuple or not all(type(curve) is tuple and len(curve) == 3 for curve in curves):
        return f"must be a tuple of (name, losses, scores), got {described(curves)}"
    names = [name for name, _, _ in curves]
    if not all(type(name) is str for name in names) or len(set(names)) != len(names):
        return f"must have distinct strings as names, got {cut(str(names))}"
    n_stages = model.n_stages
    for values in (values for _, loss, score in curves for values in (loss, score)[: 1 + (score is not None)]):
        if not isinstance(values, np.ndarray) or values.dtype != np.float64 or values.shape != (n_stages,):
            one = f"{n_stages}, one value for each stage"
            return f"must have float64 arrays of length {one}, got {described(values)}"
    return None


def _fault_of_weak(weak: Any, model: Any) -> str | None:
    if weak is None:
        return None if model.forest is not None else "must be a list of models, got None for a model without trees"
    if model.forest is not None:
        return f"must be None for a model with trees, got {described(weak)}"
    if type(weak) is not list or len(weak) != model.n_stages:
        return f"must be a list of length {model.n_stages}, got {described(weak)}"
    for part in weak:
        if not hasattr(part, "predict") or getattr(part, "n_features_in_", model.n_features) != model.n_features:
            return f"must have models of {model.n_features} features, got {described(part)}"
    return None


def _fault_of_shared(shared: Any, model: Any) -> str | None:
    if type(shared) is not dict or shared.keys() != _SHARED:
        return f"must be a dict with the keys {sorted(_SHARED)}, got {described(shared)}"
    rate, strategy = shared["learning_rate"], shared["output_strategy"]
    relabel, name = shared["relabel_leaves"], shared["estimator"]
    if not isinstance(rate, Real) or rate != model.learning_rate:
        return f"must have the learning rate {model.learning_rate}, got {described(rate)}"
    if not isinstance(strategy, str) or strategy not in _STRATEGIES:
        return f"must have an output strategy of {sorted(_STRATEGIES)}, got {described(strategy)}"
    if not isinstance(relabel, bool | np.bool_):
        return f"must have True or False as relabel_leaves, got {described(relabel)}"
    return (
        None
        if name is None or isinstance(name, str)
        else f"must have None or a name as estimator, got {described(name)}"
    )


def _is_plan(plan: object, _: object) -> bool:
    # Plans of the first files lack what was always given then.
    return type(plan) is dict and plan.keys() | {"subsample", "l2_regularization"} == set(PLANNED)


def _is_of_fit(found: Any, _: object) -> bool:
    is_pair = type(found) is tuple and len(found) == 2 and all(isinstance(text, str) for text in found)
    return is_pair and len(found[1]) == 16 and set(found[1]) <= set("0123456789abcdef")


class BoostedProof(Proof):
    """Those of boosted models."""

    attribute = "_model"
    engine = _weald.Boosted
    own: ClassVar[dict[str, Row]] = {
        **OF_SEED,
        **OF_DRAWN,
        "max_leaf_nodes_": (True, lambda n, model: None if n is None else integer(2, MOST)(n, model)),
        "n_estimators_": (True, equal("n_stages")),
        "_turns": (False, integer(1, MOST)),
        "_shared": (True, _fault_of_shared),
        "plan_": (True, must(f"be a dict of {', '.join(PLANNED)}", _is_plan)),
        "_weak": (True, _fault_of_weak),
        "_init": (False, must("be a model or None", lambda init, _: init is None or hasattr(init, "predict"))),
        "_curves": (False, _fault_of_curves),
        "_eval_curves": (False, _fault_of_eval_curves),
        "_checkpoint": (False, must("be a release and 16 hexadecimal digits", _is_of_fit)),
    }
    of_training = frozenset({"_checkpoint", "_curves", "_eval_curves", "_init", "_weak"})

    def n_levels(self) -> int:
        shared = self.state["_shared"]
        loss = shared.get("loss") if type(shared) is dict else None
        return len(loss._levels) or 1 if isinstance(loss, EngineLoss) else 1

    def of_kind(self) -> None:
        shared, weak = self.state["_shared"], self.state["_weak"]
        self.loss(shared["loss"])
        fits = (shared["estimator"] is None) == (weak is None)
        got = f"{described(weak)} with {shared['estimator']!r:.80}"
        self.need(fits, "_weak", f"must be None if and only if estimator is, got {got}")

    def loss(self, kept: object) -> None:
        """Check that the loss is one of y, with the link of the model."""
        kind = "labels" if self.classifier else "numbers"
        loss: Loss | None = kept if isinstance(kept, EngineLoss) else None
        if isinstance(kept, str) and kept in LOSSES:
            loss = LOSSES[kept]()
        elif type(kept) is CustomLoss and kept.functions is None:
            loss = kept
        is_known = loss is not None and kind in loss.targets
        accepted = f"a loss of {names(kind)}, or a custom loss of {kind} without methods"
        self.need(is_known, "_shared", f"must have {accepted}, got {described(kept)}")
        assert loss is not None
        same = self.model.has_probabilities == (loss.link == "half_logit")
        same = same and self.model.has_log_link == (loss.link == "log")
        self.need(same, "_shared", f"must have the loss of the model, got {loss.name!r}")
        values = getattr(loss, "_parameter", None)
        fits = not isinstance(values, tuple) or loss._levels or len(values) == self.model.n_outputs
        self.need(fits, "_shared", f"must have a loss for each of {self.model.n_outputs} outputs, got {loss!r:.80}")
