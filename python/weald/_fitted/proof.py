"""Validation of the fitted attributes of an estimator, and of their consistency with the model of the engine.

Pickles, copies and model files set the attributes of an estimator by name. The model of the engine validates itself.
This module validates the other attributes, so that methods of an estimator never index out of bounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from weald import _weald
from weald._input import schema
from weald._input.described import described
from weald._input.frames import CONTAINERS, OUTPUT, SETTINGS, TRANSFORM
from weald._input.targets import CONTAINER, LabelFormat, label_classes

if TYPE_CHECKING:
    from weald._weald import _Model

_OF_ALL = {
    "n_features_in_": True,
    "n_outputs_": True,
    "feature_names_in_": False,
    "target_names_in_": False,
    "categories_": False,
    schema.LABELS: False,
    OUTPUT: False,
    TRANSFORM: False,
}
_OF_CLASSIFIERS = {"classes_": True, "n_classes_": True, "_label_format": True}
_MODELS = (
    _weald.Forest,
    _weald.CentroidForest,
    _weald.LinearModel,
    _weald.LabelTreeModel,
    _weald.Boosted,
    _weald.Compressed,
)


def check_fitted(estimator: BaseEstimator) -> None:
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
    engine: ClassVar[type[_Model]] = _weald.Forest
    # The other fitted attributes, and whether every fit sets them.
    own: ClassVar[Mapping[str, bool]] = {}
    # Attributes whose arrays depend on the number of training samples, rounds or steps of a path.
    of_training: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def names(cls, classifier: bool) -> dict[str, bool]:
        """The names of the fitted attributes except the model, and whether every fit sets them."""
        return _OF_ALL | (_OF_CLASSIFIERS if classifier else {}) | dict(cls.own)

    @classmethod
    def model_of(cls, value: object) -> _Model | None:
        """The model of the engine in the attribute, or None if the attribute is something else."""
        return value if isinstance(value, _MODELS) else None

    @classmethod
    def holding(cls, model: _Model) -> object:
        """The value of the attribute, from the model of the engine."""
        return model

    @classmethod
    def read(cls, data: bytes) -> _Model:
        """The model of the engine, from its bytes, which the engine validates."""
        return cls.engine.from_bytes(data)

    def __init__(self, name: str, classifier: bool, state: dict[str, Any]) -> None:
        self.name, self.classifier, self.state = name, classifier, state
        self.model: Any = None
        known = self.names(classifier)
        schema.prove(name, state)
        if OUTPUT in state:
            value = state[OUTPUT]
            is_known = type(value) is str and value in CONTAINERS
            self.need(is_known, OUTPUT, f"must be one of {', '.join(CONTAINERS)}, got {described(value)}")
        if TRANSFORM in state:
            value = state[TRANSFORM]
            is_known = type(value) is dict and set(value) <= {"transform"}
            is_known = is_known and all(type(of) is str and of in ("default", *CONTAINERS) for of in value.values())
            self.need(is_known, TRANSFORM, f"must have a container of transform, got {described(value)}")
        if self.attribute not in state:
            # Estimators that are not fitted may have a number of features, and what `set_output` sets.
            found = sorted(known.keys() & state.keys() - {"n_features_in_", "feature_names_in_"} - SETTINGS)
            self.need(not found, self.attribute, f"is missing, but {''.join(found[:1])} is given")
            if "feature_names_in_" in state:
                self.texts("feature_names_in_", state.get("n_features_in_"), "feature")
            return
        for attribute, always in known.items():
            self.need(not always or attribute in state, attribute, f"is missing, but {self.attribute} is given")
        self.of_engine()
        self.of_all()
        if classifier:
            self.classes()
        self.of_kind()

    def need(self, holds: object, attribute: str, why: str) -> None:
        if not holds:
            raise ValueError(f"{self.name}: {attribute} {why}")

    def equal(self, attribute: str, value: object, expected: object) -> None:
        """Check that a value is that of the model, of the same type."""
        is_equal = type(value) is type(expected) and value == expected
        self.need(is_equal, attribute, f"must be {expected}, as in the model, got {described(value)}")

    def integer(self, attribute: str, least: int, most: float) -> None:
        value = self.state[attribute]
        is_valid = type(value) is int and least <= value <= most
        self.need(is_valid, attribute, f"must be an integer from {least} to {most}, got {described(value)}")

    def numbers(self, attribute: str, shapes: list[tuple[int, ...]]) -> None:
        """Check that an attribute is a float64 array of one of these shapes, where −1 stands for any length."""
        value = self.state[attribute]
        is_float = isinstance(value, np.ndarray) and value.dtype == np.float64
        self.need(is_float, attribute, f"must be a float64 array, got {described(value)}")

        def fits(shape: tuple[int, ...]) -> bool:
            return len(shape) == value.ndim and all(a in (-1, b) for a, b in zip(shape, value.shape, strict=True))

        accepted = " or ".join(str(shape).replace("-1", "n_samples") for shape in shapes)
        self.need(any(map(fits, shapes)), attribute, f"must have shape {accepted}, got {value.shape}")

    def sparse_or_numbers(self, attribute: str, width: int) -> None:
        """Check that an attribute is a float64 array or a float64 CSR matrix with `width` columns."""
        value = self.state[attribute]
        if not isinstance(value, sparse.csr_array | sparse.csr_matrix):
            self.numbers(attribute, [(-1, width)])
            return
        fits = value.ndim == 2 and value.shape[1] == width and value.dtype == np.float64
        self.need(fits, attribute, f"must be a float64 CSR matrix with {width} columns, got {described(value)}")
        with np.errstate(invalid="ignore"):
            try:
                value.check_format(full_check=True)
            except ValueError as error:
                self.need(False, attribute, f"must be a valid CSR matrix: {error}")

    # --- attributes of all models ------------------------------------------------------------------------------------

    def of_engine(self) -> None:
        """Check the model."""
        attribute, model, expected = self.attribute, self.state[self.attribute], self.engine
        self.need(
            type(model) is expected, attribute, f"must be a {expected.__name__} of the engine, got {described(model)}"
        )
        self.of_y(model)

    def of_y(self, model: _Model) -> None:
        """Check that the model is one of this kind of y."""
        self.model = model
        accepted = ("classes", "labels") if self.classifier else ("numbers",)
        self.need(model.kind in accepted, self.attribute, f"must predict {' or '.join(accepted)}, got {model.kind}")

    def of_all(self) -> None:
        for attribute, expected in (("n_features_in_", self.model.n_features), ("n_outputs_", self.model.n_outputs)):
            value = self.state[attribute]
            self.equal(attribute, value, expected)
        if "feature_names_in_" in self.state:
            self.texts("feature_names_in_", self.model.n_features, "feature")
        if schema.LABELS in self.state:
            self.texts(schema.LABELS, self.model.n_features, "feature")
        if "target_names_in_" in self.state:
            self.texts("target_names_in_", self.model.n_outputs, "output")
            names = self.state["target_names_in_"]
            self.need(len(set(names)) == len(names), "target_names_in_", "must have distinct names, got a name twice")
        if CONTAINER in self.state:
            value = self.state[CONTAINER]
            is_known = isinstance(value, str) and value in ("array", "matrix")
            self.need(is_known, CONTAINER, f"must be 'array' or 'matrix', got {described(value)}")
            self.need(self.model.kind == "numbers", CONTAINER, f"is not supported for a model of {self.model.kind}")

    def texts(self, attribute: str, expected: object, what: str) -> None:
        names = self.state[attribute]
        is_list = isinstance(names, np.ndarray) and names.dtype == object and names.shape == (expected,)
        self.need(
            is_list,
            attribute,
            f"must be an object array of length {expected}, one name for each {what}, got {described(names)}",
        )
        others = [name for name in names if not isinstance(name, str)]
        self.need(not others, attribute, f"must have strings as names, got {described(others[0] if others else None)}")

    def of_kind(self) -> None:
        """Check the attributes of this kind of model."""

    def drawn_features(self) -> None:
        self.integer("max_features_", 1, max(1, self.model.n_features))

    def classes(self) -> None:
        classes, n_classes, form = (self.state[a] for a in ("classes_", "n_classes_", "_label_format"))
        n_outputs = self.model.n_outputs
        is_labels = self.model.kind == "labels"
        if is_labels:
            self.need(is_label_format(form), "_label_format", f"must be a format of labels, got {described(form)}")
            forms = (np.arange(n_outputs), label_classes(n_outputs))
            numbers = isinstance(classes, np.ndarray) and any(np.array_equal(classes, form) for form in forms)
            self.need(numbers, "classes_", f"must be the indices of {n_outputs} labels, got {described(classes)}")
            self.equal("n_classes_", n_classes, n_outputs)
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
            self.equal("n_classes_", n, wanted)
            is_list = isinstance(found, np.ndarray) and found.shape == (wanted,)
            self.need(is_list, "classes_", f"must be an array of {wanted} classes, got {described(found)}")
            has_type = found.dtype.kind in "biufUSO"
            self.need(has_type, "classes_", f"must have numbers, strings or objects, got dtype {found.dtype}")
            self.need(_rises(found), "classes_", "must be in strictly ascending order, got another order")

    def seed(self) -> None:
        self.integer("_seed", 0, 2**64 - 1)


def is_label_format(form: Any) -> bool:
    """Whether a value is a `LabelFormat` for dense or CSR labels."""
    known = type(form) is LabelFormat and isinstance(form.dtype, np.dtype) and form.dtype.kind in "biuf"
    return known and form.container in (None, sparse.csr_array, sparse.csr_matrix)


def _rises(classes: NDArray[Any]) -> bool:
    try:
        return bool(np.all(classes[:-1] < classes[1:]))
    except TypeError:
        return False
