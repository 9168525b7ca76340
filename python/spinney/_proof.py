"""Validation of the fitted attributes of an estimator, and of their consistency with the model of the engine.

Pickles, copies and model files set the attributes of an estimator by name. The model of the engine validates itself.
This module validates the other attributes, so that methods of an estimator never index out of bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from spinney import _categories, _kept_rows, _parts, _spinney, _updates
from spinney._arrays import Tree
from spinney._frames import CONTAINERS, OUTPUT
from spinney._losses import CUSTOM
from spinney._validation import CONTAINER, LabelFormat, label_classes

if TYPE_CHECKING:
    from spinney._spinney import _ModelSummary

Kind: TypeAlias = Literal["tree", "forest", "centroid", "boosting", "compressed"]

# The attribute that contains the model of the engine.
ENGINE: dict[Kind, str] = {
    "tree": "tree_",
    "forest": "_forest",
    "centroid": "_forest",
    "boosting": "_model",
    "compressed": "_model",
}

_OF_ALL = {
    "n_features_in_": True,
    "n_outputs_": True,
    "feature_names_in_": False,
    "target_names_in_": False,
    "categories_": False,
    OUTPUT: False,
}
_OF_CLASSIFIERS = {"classes_": True, "n_classes_": True, "_label_format": True}
_OF_FORESTS = {
    CONTAINER: False,
    "_seed": True,
    "_draws": True,
    "oob_score_": False,
    "oob_decision_function_": False,
    "oob_prediction_": False,
    **dict.fromkeys(_kept_rows.ATTRIBUTES, False),
    _parts.PART: False,
    _updates.GROWN: False,
}
# Fitted attributes of each kind of model, except the model of the engine, and whether every fit sets them.
_OF_KIND: dict[Kind, dict[str, bool]] = {
    "tree": {"max_features_": True, CONTAINER: False},
    "forest": _OF_FORESTS,
    "centroid": _OF_FORESTS,
    "boosting": {
        "_seed": True,
        "_shared": True,
        "_weak": True,
        "max_features_": True,
        "n_estimators_": True,
        "_curves": False,
        "_eval_curves": False,
        "_init": False,
    },
    "compressed": {
        "_loss": True,
        "compression_ratio_": True,
        "full_loss_": False,
        "l1_norm_": True,
        "n_test_nodes_": True,
        "path_": True,
        "step_": True,
    },
}
_CURVES = {"train", "validation", "out_of_bag", "score"}
_SHARED = {"output_strategy", "loss", "learning_rate", "relabel_leaves", "estimator"}
_LOSSES = {
    True: {"log_loss", "exponential", "hinge", "squared_error", CUSTOM},
    False: {"squared_error", "absolute_error", "quantile", "huber", "poisson", "gamma", "tweedie", CUSTOM},
}
# Losses whose scores are the logarithms of predictions.
WITH_LOG_LINK = {"poisson", "gamma", "tweedie"}
# The parameter of a loss, in `_SHARED` of its models.
LOSS_PARAMETERS = {"quantile": "quantile", "huber": "huber_delta", "tweedie": "tweedie_power"}
_STRATEGIES = {"projected", "joint", "single_target"}
_OF_TRAINING = {
    "oob_decision_function_",
    "oob_prediction_",
    "path_",
    "_curves",
    "_eval_curves",
    "_init",
    "_knots",
    *_kept_rows.ATTRIBUTES,
}
_OF_LABELS = {"classes_", "threshold_", "is_calibrated_"}
_PATH = {"l1_norm": "f", "train_loss": "f", "n_test_nodes": "i", "n_nonzero": "i"}
_TESTED = {"test_loss_mean": "f", "test_loss_std": "f"}


_ENGINES: dict[Kind, Any] = {
    "tree": _spinney.Forest,
    "forest": _spinney.Forest,
    "centroid": _spinney.CentroidForest,
    "boosting": _spinney.Boosted,
    "compressed": _spinney.Compressed,
}


def engine_of(value: Any) -> Any:
    """The model of the engine in an attribute, or None if the attribute is something else."""
    value = value._forest if type(value) is Tree else value
    return value if type(value) in _ENGINES.values() else None


def engine_from(kind: Kind, data: bytes) -> Any:
    """The value of the attribute of the engine's model, from its bytes, which the engine validates."""
    return attribute_of(kind, _ENGINES[kind].from_bytes(data))


def attribute_of(kind: Kind, model: Any) -> Any:
    """The value of the attribute, from the model of the engine."""
    if kind != "tree":
        return model
    if type(model) is not _spinney.Forest or model.n_trees != 1:
        raise ValueError("the model is not one tree")
    return Tree(model)


def check_fitted(estimator: Any) -> None:
    """A fast `check_is_fitted`. That of scikit-learn inspects all attributes, which is slow for single samples."""
    if ENGINE[estimator._kind] not in estimator.__dict__:
        check_is_fitted(estimator)


def fitted_names(kind: Kind, classifier: bool) -> dict[str, bool]:
    """The names of the fitted attributes, and whether every fit sets them."""
    return _OF_ALL | (_OF_CLASSIFIERS if classifier else {}) | _OF_KIND[kind]


def most_values(attribute: str, summary: _ModelSummary) -> float:
    """The maximum number of values in arrays of a fitted attribute, by the header of its model.

    Arrays that depend on the number of training samples, rounds or steps of a path are only limited by the file.
    """
    if attribute in _OF_TRAINING:
        return math.inf
    # The arrays of other attributes are written as JSON, since they contain names or few values.
    return summary["width"] if attribute in _OF_LABELS else 0


def prove(name: str, kind: Kind, classifier: bool, state: dict[str, Any]) -> None:
    """Validate the fitted attributes in `state` of an estimator of the class `name`.

    Raises
    ------
    ValueError
        If an attribute is not valid. The attributes of an estimator that is not fitted are not validated.
    """
    known = fitted_names(kind, classifier)
    _categories.prove(name, state)
    if OUTPUT in state and (type(state[OUTPUT]) is not str or state[OUTPUT] not in CONTAINERS):
        raise ValueError(f"{name}: {OUTPUT} is none of {', '.join(CONTAINERS)}")
    if ENGINE[kind] not in state:
        # Estimators that are not fitted may have a number of features, and the attribute that `set_output` sets.
        found = sorted(known.keys() & state.keys() - {"n_features_in_", "feature_names_in_", OUTPUT})
        if found:
            raise ValueError(f"{name}: there is {found[0]}, but no model")
        if "feature_names_in_" in state:
            _Proof(name, kind, classifier, state).names("feature_names_in_", state.get("n_features_in_"), "feature")
        return
    missing = [attribute for attribute, always in known.items() if always and attribute not in state]
    if missing:
        raise ValueError(f"{name}: there is a model, but no {missing[0]}")
    proof = _Proof(name, kind, classifier, state)
    proof.engine()
    proof.of_all()
    if classifier:
        proof.classes()
    of_kind: dict[Kind, Callable[[], None]] = {
        "tree": proof.drawn_features,
        "forest": proof.forest,
        "centroid": proof.forest,
        "boosting": proof.boosting,
        "compressed": proof.compressed,
    }
    of_kind[kind]()


def is_label_format(form: Any) -> bool:
    """Whether a value is a `LabelFormat` for dense or CSR labels."""
    known = type(form) is LabelFormat and isinstance(form.dtype, np.dtype) and form.dtype.kind in "biuf"
    return known and form.container in (None, sparse.csr_array, sparse.csr_matrix)


class _Proof:
    """The attributes of an estimator under validation."""

    def __init__(self, name: str, kind: Kind, classifier: bool, state: dict[str, Any]) -> None:
        self.name, self.kind, self.classifier, self.state = name, kind, classifier, state
        self.model: Any = None

    def need(self, holds: Any, attribute: str, why: str) -> None:
        if not holds:
            raise ValueError(f"{self.name}: {attribute} {why}")

    def integer(self, attribute: str, least: int, most: float) -> None:
        value = self.state[attribute]
        self.need(type(value) is int and least <= value <= most, attribute, f"is no integer from {least} to {most}")

    def numbers(self, attribute: str, shapes: list[tuple[int, ...]]) -> None:
        """Check that an attribute is a float64 array of one of these shapes, where −1 stands for any length."""
        value = self.state[attribute]
        self.need(isinstance(value, np.ndarray) and value.dtype == np.float64, attribute, "is no array of float64")

        def fits(shape: tuple[int, ...]) -> bool:
            return len(shape) == value.ndim and all(a in (-1, b) for a, b in zip(shape, value.shape, strict=True))

        self.need(any(map(fits, shapes)), attribute, f"has the shape {value.shape}, which does not fit the model")

    def sparse_or_numbers(self, attribute: str, width: int) -> None:
        """Check that an attribute is a float64 array or a float64 CSR matrix with `width` columns."""
        value = self.state[attribute]
        if not isinstance(value, sparse.csr_array | sparse.csr_matrix):
            self.numbers(attribute, [(-1, width)])
            return
        fits = value.ndim == 2 and value.shape[1] == width and value.dtype == np.float64
        self.need(fits, attribute, f"is no CSR of float64 of {width} columns")
        with np.errstate(invalid="ignore"):
            try:
                value.check_format(full_check=True)
            except ValueError as error:
                self.need(False, attribute, f"is no valid CSR: {error}")

    # --- attributes of all models ------------------------------------------------------------------------------------

    def engine(self) -> None:
        attribute = ENGINE[self.kind]
        model = self.state[attribute]
        if self.kind == "tree":
            self.need(type(model) is Tree and type(model._forest) is _spinney.Forest, attribute, "is no tree")
            model = model._forest
            self.need(model.n_trees == 1, attribute, f"has {model.n_trees} trees")
        else:
            cls = _ENGINES[self.kind]
            self.need(type(model) is cls, attribute, f"is no {cls.__name__} of the engine")
        self.model = model
        accepted = {"classes", "labels"} if self.classifier else {"numbers"}
        self.need(model.kind in accepted, attribute, f"is a model of {model.kind}")

    def of_all(self) -> None:
        for attribute, expected in (("n_features_in_", self.model.n_features), ("n_outputs_", self.model.n_outputs)):
            value = self.state[attribute]
            self.need(type(value) is int and value == expected, attribute, f"is not {expected}, as the model has it")
        if "feature_names_in_" in self.state:
            self.names("feature_names_in_", self.model.n_features, "feature")
        if "target_names_in_" in self.state:
            self.names("target_names_in_", self.model.n_outputs, "output")
            names = self.state["target_names_in_"]
            self.need(len(set(names)) == len(names), "target_names_in_", "has a name twice")
        if CONTAINER in self.state:
            is_known = self.model.kind == "numbers" and self.state[CONTAINER] in ("array", "matrix")
            self.need(is_known, CONTAINER, "is none of array and matrix of numbers")

    def names(self, attribute: str, expected: Any, what: str) -> None:
        names = self.state[attribute]
        is_list = isinstance(names, np.ndarray) and names.dtype == object and names.shape == (expected,)
        self.need(is_list, attribute, f"has not a name for each {what}")
        self.need(all(isinstance(n, str) for n in names), attribute, "has names that are no strings")

    def drawn_features(self) -> None:
        self.integer("max_features_", 1, max(1, self.model.n_features))

    def classes(self) -> None:
        classes, n_classes, form = (self.state[a] for a in ("classes_", "n_classes_", "_label_format"))
        n_outputs = self.model.n_outputs
        is_labels = self.model.kind == "labels"
        self.need((form is not None) == is_labels, "_label_format", f"does not fit a model of {self.model.kind}")
        if is_labels:
            self.need(is_label_format(form), "_label_format", "is none of dense or CSR labels")
            forms = (np.arange(n_outputs), label_classes(n_outputs))
            numbers = isinstance(classes, np.ndarray) and any(np.array_equal(classes, form) for form in forms)
            self.need(numbers, "classes_", "are not the numbers of the labels")
            self.need(type(n_classes) is int and n_classes == n_outputs, "n_classes_", "is not the number of labels")
            return
        single = n_outputs == 1
        if not single:
            for attribute, value in (("classes_", classes), ("n_classes_", n_classes)):
                is_list = type(value) is list and len(value) == n_outputs
                self.need(is_list, attribute, f"is no list of one entry for each of {n_outputs} outputs")
        expected = self.model.n_classes.tolist()
        pairs = [(classes, n_classes)] if single else zip(classes, n_classes, strict=True)
        for (found, n), wanted in zip(pairs, expected, strict=True):
            self.need(type(n) is int and n == wanted, "n_classes_", f"is not {wanted}, as the model has it")
            is_list = isinstance(found, np.ndarray) and found.shape == (wanted,)
            self.need(is_list, "classes_", f"is no array of {wanted} classes, as the model has them")
            self.need(found.dtype.kind in "biufUSO", "classes_", f"has the dtype {found.dtype}")
            self.need(_rises(found), "classes_", "does not rise strictly")

    def seed(self) -> None:
        self.integer("_seed", 0, 2**64 - 1)

    # --- attributes of each kind of model ----------------------------------------------------------------------------

    def forest(self) -> None:
        self.seed()
        draws = self.state["_draws"]
        self.need(type(draws) is tuple and len(draws) == 2 and type(draws[0]) is bool, "_draws", "is no pair")
        size = draws[1]
        positive = size is None or (type(size) in (int, float) and 0 < size < math.inf)
        self.need(positive, "_draws", "has a number of rows that is not positive")
        if _updates.GROWN in self.state:
            self.integer(_updates.GROWN, self.model.n_trees, 2**32 - 1)
        if _parts.PART in self.state:
            _parts.prove(self.need, self.state[_parts.PART], self.model.n_trees)
        if "oob_score_" in self.state:
            self.need(isinstance(self.state["oob_score_"], Real), "oob_score_", "is no number")
        if "oob_decision_function_" in self.state:
            self.sparse_or_numbers("oob_decision_function_", self.model.width)
        if "oob_prediction_" in self.state:
            self.numbers("oob_prediction_", [(-1,) if self.model.width == 1 else (-1, self.model.width)])
        if any(attribute in self.state for attribute in _kept_rows.ATTRIBUTES):
            node_counts = [self.model.tree(i).node_count for i in range(self.model.n_trees)]
            _kept_rows.prove(self.name, self.state, node_counts, self.model.n_outputs)

    def boosting(self) -> None:
        self.seed()
        self.drawn_features()
        model = self.model
        n = self.state["n_estimators_"]
        self.need(
            type(n) is int and n == model.n_stages, "n_estimators_", f"is not {model.n_stages}, as the model has it"
        )
        shared, weak = self.state["_shared"], self.state["_weak"]
        loss = shared.get("loss") if type(shared) is dict else None
        parameter = LOSS_PARAMETERS.get(loss) if isinstance(loss, str) else None
        parameter = "loss_class" if loss == CUSTOM else parameter
        keys = _SHARED if parameter is None else _SHARED | {parameter}
        self.need(type(shared) is dict and shared.keys() == keys, "_shared", "has other keys")
        if loss == CUSTOM:
            self.need(isinstance(shared[parameter], str), "_shared", "has a loss without a name")
        elif parameter is not None:
            value = shared[parameter]
            of_each = parameter == "quantile" and type(value) is list and len(value) == model.n_outputs
            known = all(type(part) is float and math.isfinite(part) for part in (value if of_each else [value]))
            self.need(known, "_shared", f"has no number {parameter}")
        rate, name = shared["learning_rate"], shared["estimator"]
        self.need(isinstance(rate, Real) and rate == model.learning_rate, "_shared", "has another learning rate")
        has_loss = isinstance(loss, str) and loss in _LOSSES[self.classifier]
        self.need(has_loss, "_shared", "has a loss that is not known")
        probable = loss in ("log_loss", "exponential")
        self.need(probable == model.has_probabilities, "_shared", "has another loss than the model")
        self.need((loss in WITH_LOG_LINK) == model.has_log_link, "_shared", "has another loss than the model")
        strategy = shared["output_strategy"]
        self.need(isinstance(strategy, str) and strategy in _STRATEGIES, "_shared", "has a strategy that is not known")
        self.need(isinstance(shared["relabel_leaves"], bool | np.bool_), "_shared", "says nothing of leaves")
        self.need(name is None or isinstance(name, str), "_shared", "has an estimator without a name")
        if weak is None:
            self.need(model.forest is not None, "_weak", "is None, but the model has no trees")
        else:
            is_list = type(weak) is list and len(weak) == model.n_stages
            self.need(is_list and model.forest is None, "_weak", "has not a model for each stage")
        self.need((name is None) == (weak is None), "_weak", "does not fit the estimator that is named")
        curves = self.state.get("_curves", {})
        self.need(type(curves) is dict and curves.keys() <= _CURVES, "_curves", "has other keys")
        for curve in curves.values():
            is_list = isinstance(curve, np.ndarray) and curve.dtype == np.float64 and curve.ndim == 1
            self.need(is_list and len(curve) >= model.n_stages, "_curves", "has not a number for each round")
        if "_eval_curves" in self.state:
            self.eval_curves()

    def eval_curves(self) -> None:
        curves = self.state["_eval_curves"]
        is_known = type(curves) is tuple and all(type(curve) is tuple and len(curve) == 3 for curve in curves)
        self.need(is_known, "_eval_curves", "is no tuple of names, losses and scores")
        names = [name for name, _, _ in curves]
        is_named = all(type(name) is str for name in names) and len(set(names)) == len(names)
        self.need(is_named, "_eval_curves", "has names that are no strings, or one twice")
        for _, loss, score in curves:
            for values in (loss,) if score is None else (loss, score):
                is_list = isinstance(values, np.ndarray) and values.dtype == np.float64
                is_list = is_list and values.shape == (self.model.n_stages,)
                self.need(is_list, "_eval_curves", "has not a number for each stage")

    def compressed(self) -> None:
        model, state = self.model, self.state
        loss = state["_loss"]
        losses = {"squared_error", "log_loss"} if self.classifier else {"squared_error"}
        self.need(isinstance(loss, str) and loss in losses, "_loss", "is not known")
        self.need((loss == "log_loss") == model.has_log_odds, "_loss", "is another than that of the model")
        for attribute in ("l1_norm", "n_test_nodes"):
            value, expected = state[f"{attribute}_"], getattr(model, attribute)
            same = type(value) is type(expected) and value == expected
            self.need(same, f"{attribute}_", f"is not {expected}, as the model has it")
        ratio = state["compression_ratio_"]
        self.need(type(ratio) in (int, float) and ratio > 0, "compression_ratio_", "is not positive")
        path = state["path_"]
        keys = path.keys() if type(path) is dict else set()
        self.need(keys == _PATH.keys() or keys == _PATH.keys() | _TESTED.keys(), "path_", "has other keys")
        n_points = len(path["l1_norm"]) if isinstance(path["l1_norm"], np.ndarray) and path["l1_norm"].ndim else 0
        for key, values in path.items():
            kind = (_PATH | _TESTED)[key]
            fits = isinstance(values, np.ndarray) and values.dtype.kind == kind and values.shape == (n_points,)
            self.need(fits and n_points > 0, "path_", f"has no array {key!r} of the length of the others")
        self.integer("step_", 0, n_points - 1)
        if "full_loss_" in state:
            self.need(type(state["full_loss_"]) is float, "full_loss_", "is no number")


def _rises(classes: Any) -> bool:
    try:
        return bool(np.all(classes[:-1] < classes[1:]))
    except TypeError:
        return False
