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
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from weald import _weald
from weald._fit import stored_samples, updates
from weald._fit.arrays import Tree
from weald._input import schema
from weald._input.described import cut, described
from weald._input.frames import CONTAINERS, OUTPUT
from weald._input.targets import CONTAINER, LabelFormat, label_classes
from weald.loss import LOSSES, CustomLoss, EngineLoss, Loss, names, supporting

if TYPE_CHECKING:
    from weald._weald import _Model, _ModelSummary

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
    schema.LABELS: False,
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
    **dict.fromkeys(stored_samples.ATTRIBUTES, False),
    updates.PART: False,
    updates.GROWN: False,
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
        "n_nodes_": False,
        "n_test_nodes_": True,
        "path_": False,
        "step_": False,
    },
}
_CURVES = {"train", "validation", "out_of_bag", "score"}
_SHARED = {"output_strategy", "loss", "learning_rate", "relabel_leaves", "estimator"}
_STRATEGIES = {"projected", "joint", "single_target"}
_OF_TRAINING = {
    "oob_decision_function_",
    "oob_prediction_",
    "path_",
    "_curves",
    "_eval_curves",
    "_init",
    "_knots",
    "_weak",
    *stored_samples.ATTRIBUTES,
}
_OF_LABELS = {"classes_", "threshold_", "is_calibrated_"}
_PATH = {"l1_norm": "f", "train_loss": "f", "n_test_nodes": "i", "n_nonzero": "i"}
_TESTED = {"test_loss_mean": "f", "test_loss_std": "f"}


_ENGINES: dict[Kind, Any] = {
    "tree": _weald.Forest,
    "forest": _weald.Forest,
    "centroid": _weald.CentroidForest,
    "boosting": _weald.Boosted,
    "compressed": _weald.Compressed,
}


def engine_of(value: Any) -> Any:
    """The model of the engine in an attribute, or None if the attribute is something else."""
    value = value._forest if type(value) is Tree else value
    return value if type(value) in _ENGINES.values() else None


def engine_from(kind: Kind, data: bytes) -> _Model | Tree:
    """The value of the attribute of the engine's model, from its bytes, which the engine validates."""
    return attribute_of(kind, _ENGINES[kind].from_bytes(data))


def attribute_of(kind: Kind, model: _Model) -> _Model | Tree:
    """The value of the attribute, from the model of the engine."""
    if kind != "tree":
        return model
    if type(model) is not _weald.Forest or model.n_trees != 1:
        trees = f"{model.n_trees} trees" if type(model) is _weald.Forest else described(model)
        raise ValueError(f"the model must be a single tree, got {trees}")
    return Tree(model)


def check_fitted(estimator: BaseEstimator) -> None:
    """A fast `check_is_fitted`. That of scikit-learn inspects all attributes, which is slow for single samples."""
    attribute = ENGINE[estimator._kind] if hasattr(estimator, "_kind") else "estimator_"
    if attribute not in estimator.__dict__:
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
    schema.prove(name, state)
    if OUTPUT in state and (type(state[OUTPUT]) is not str or state[OUTPUT] not in CONTAINERS):
        raise ValueError(f"{name}: {OUTPUT} must be one of {', '.join(CONTAINERS)}, got {described(state[OUTPUT])}")
    if ENGINE[kind] not in state:
        # Estimators that are not fitted may have a number of features, and the attribute that `set_output` sets.
        found = sorted(known.keys() & state.keys() - {"n_features_in_", "feature_names_in_", OUTPUT})
        if found:
            raise ValueError(f"{name}: {ENGINE[kind]} is missing, but {found[0]} is given")
        if "feature_names_in_" in state:
            _Proof(name, kind, classifier, state).names("feature_names_in_", state.get("n_features_in_"), "feature")
        return
    missing = [attribute for attribute, always in known.items() if always and attribute not in state]
    if missing:
        raise ValueError(f"{name}: {missing[0]} is missing, but {ENGINE[kind]} is given")
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

    def equal(self, attribute: str, value: Any, expected: Any) -> None:
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

    def engine(self) -> None:
        attribute = ENGINE[self.kind]
        model = self.state[attribute]
        if self.kind == "tree":
            is_tree = type(model) is Tree and type(model._forest) is _weald.Forest
            self.need(is_tree, attribute, f"must be a tree, got {described(model)}")
            model = model._forest
            self.need(model.n_trees == 1, attribute, f"must be a single tree, got {model.n_trees} trees")
        else:
            cls = _ENGINES[self.kind]
            self.need(type(model) is cls, attribute, f"must be a {cls.__name__} of the engine, got {described(model)}")
        self.model = model
        accepted = ("classes", "labels") if self.classifier else ("numbers",)
        self.need(model.kind in accepted, attribute, f"must predict {' or '.join(accepted)}, got {model.kind}")

    def of_all(self) -> None:
        for attribute, expected in (("n_features_in_", self.model.n_features), ("n_outputs_", self.model.n_outputs)):
            value = self.state[attribute]
            self.equal(attribute, value, expected)
        if "feature_names_in_" in self.state:
            self.names("feature_names_in_", self.model.n_features, "feature")
        if schema.LABELS in self.state:
            self.names(schema.LABELS, self.model.n_features, "feature")
        if "target_names_in_" in self.state:
            self.names("target_names_in_", self.model.n_outputs, "output")
            names = self.state["target_names_in_"]
            self.need(len(set(names)) == len(names), "target_names_in_", "must have distinct names, got a name twice")
        if CONTAINER in self.state:
            value = self.state[CONTAINER]
            is_known = isinstance(value, str) and value in ("array", "matrix")
            self.need(is_known, CONTAINER, f"must be 'array' or 'matrix', got {described(value)}")
            self.need(self.model.kind == "numbers", CONTAINER, f"is not supported for a model of {self.model.kind}")

    def names(self, attribute: str, expected: Any, what: str) -> None:
        names = self.state[attribute]
        is_list = isinstance(names, np.ndarray) and names.dtype == object and names.shape == (expected,)
        self.need(
            is_list,
            attribute,
            f"must be an object array of length {expected}, one name for each {what}, got {described(names)}",
        )
        others = [name for name in names if not isinstance(name, str)]
        self.need(not others, attribute, f"must have strings as names, got {described(others[0] if others else None)}")

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

    # --- attributes of each kind of model ----------------------------------------------------------------------------

    def forest(self) -> None:
        self.seed()
        draws = self.state["_draws"]
        is_pair = type(draws) is tuple and len(draws) == 2 and type(draws[0]) is bool
        self.need(is_pair, "_draws", f"must be a pair of bootstrap and max_samples, got {described(draws)}")
        size = draws[1]
        positive = size is None or (type(size) in (int, float) and 0 < size < math.inf)
        self.need(positive, "_draws", f"must have a positive number of samples, got {described(size)}")
        if updates.GROWN in self.state:
            self.integer(updates.GROWN, self.model.n_trees, 2**32 - 1)
        if updates.PART in self.state:
            updates.prove_part(self.need, self.state[updates.PART], self.model.n_trees)
        if "oob_score_" in self.state:
            score = self.state["oob_score_"]
            self.need(isinstance(score, Real), "oob_score_", f"must be a number, got {described(score)}")
        if "oob_decision_function_" in self.state:
            self.sparse_or_numbers("oob_decision_function_", self.model.width)
        if "oob_prediction_" in self.state:
            self.numbers("oob_prediction_", [(-1,) if self.model.width == 1 else (-1, self.model.width)])
        if any(attribute in self.state for attribute in stored_samples.ATTRIBUTES):
            node_counts = [self.model.tree(i).node_count for i in range(self.model.n_trees)]
            stored_samples.prove(self.name, self.state, node_counts, self.model.n_outputs)

    def boosting(self) -> None:
        self.seed()
        self.drawn_features()
        model = self.model
        self.equal("n_estimators_", self.state["n_estimators_"], model.n_stages)
        shared, weak = self.state["_shared"], self.state["_weak"]
        has_keys = type(shared) is dict and shared.keys() == _SHARED
        self.need(has_keys, "_shared", f"must be a dict with the keys {sorted(_SHARED)}, got {described(shared)}")
        rate, name = shared["learning_rate"], shared["estimator"]
        same_rate = isinstance(rate, Real) and rate == model.learning_rate
        self.need(same_rate, "_shared", f"must have the learning rate {model.learning_rate}, got {described(rate)}")
        self.loss(shared["loss"])
        strategy = shared["output_strategy"]
        has_strategy = isinstance(strategy, str) and strategy in _STRATEGIES
        self.need(
            has_strategy,
            "_shared",
            f"must have an output strategy of {sorted(_STRATEGIES)}, got {described(strategy)}",
        )
        relabel = shared["relabel_leaves"]
        is_bool = isinstance(relabel, bool | np.bool_)
        self.need(is_bool, "_shared", f"must have True or False as relabel_leaves, got {described(relabel)}")
        is_name = name is None or isinstance(name, str)
        self.need(is_name, "_shared", f"must have None or a name as estimator, got {described(name)}")
        if weak is None:
            self.need(model.forest is not None, "_weak", "must be a list of models, got None for a model without trees")
        else:
            self.need(model.forest is None, "_weak", f"must be None for a model with trees, got {described(weak)}")
            is_list = type(weak) is list and len(weak) == model.n_stages
            self.need(is_list, "_weak", f"must be a list of length {model.n_stages}, got {described(weak)}")
            for part in weak:
                fits = (
                    hasattr(part, "predict") and getattr(part, "n_features_in_", model.n_features) == model.n_features
                )
                self.need(fits, "_weak", f"must have models of {model.n_features} features, got {described(part)}")
        init = self.state.get("_init")
        self.need(init is None or hasattr(init, "predict"), "_init", f"must be a model or None, got {described(init)}")
        fits = (name is None) == (weak is None)
        self.need(fits, "_weak", f"must be None if and only if estimator is, got {described(weak)} with {name!r:.80}")
        curves = self.state.get("_curves", {})
        has_keys = type(curves) is dict and curves.keys() <= _CURVES
        self.need(has_keys, "_curves", f"must be a dict with keys of {sorted(_CURVES)}, got {described(curves)}")
        for curve in curves.values():
            is_list = isinstance(curve, np.ndarray) and curve.dtype == np.float64 and curve.ndim == 1
            self.need(
                is_list and len(curve) >= model.n_stages,
                "_curves",
                f"must have float64 arrays of length {model.n_stages} or longer, got {described(curve)}",
            )
        if "_eval_curves" in self.state:
            self.eval_curves()

    def loss(self, kept: Any) -> None:
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
        fits = not isinstance(values, tuple) or len(values) == self.model.n_outputs
        self.need(fits, "_shared", f"must have a loss for each of {self.model.n_outputs} outputs, got {loss!r:.80}")

    def eval_curves(self) -> None:
        curves = self.state["_eval_curves"]
        is_known = type(curves) is tuple and all(type(curve) is tuple and len(curve) == 3 for curve in curves)
        self.need(is_known, "_eval_curves", f"must be a tuple of (name, losses, scores), got {described(curves)}")
        names = [name for name, _, _ in curves]
        is_named = all(type(name) is str for name in names) and len(set(names)) == len(names)
        self.need(is_named, "_eval_curves", f"must have distinct strings as names, got {cut(str(names))}")
        for _, loss, score in curves:
            for values in (loss,) if score is None else (loss, score):
                n_stages = self.model.n_stages
                is_list = isinstance(values, np.ndarray) and values.dtype == np.float64
                is_list = is_list and values.shape == (n_stages,)
                self.need(
                    is_list,
                    "_eval_curves",
                    f"must have float64 arrays of length {n_stages}, one value for each stage, got {described(values)}",
                )

    def compressed(self) -> None:
        model, state = self.model, self.state
        loss = state["_loss"]
        losses = compressing(self.classifier)
        is_known = isinstance(loss, str) and loss in losses
        self.need(is_known, "_loss", f"must be one of {sorted(losses)}, got {described(loss)}")
        same_loss = (LOSSES[loss].link == "half_logit") == model.has_log_odds
        self.need(same_loss, "_loss", f"must be the loss of the model, got {described(loss)}")
        for attribute in ("l1_norm", "n_test_nodes"):
            self.equal(f"{attribute}_", state[f"{attribute}_"], getattr(model, attribute))
        ratio = state["compression_ratio_"]
        is_positive = type(ratio) in (int, float) and ratio > 0
        self.need(is_positive, "compression_ratio_", f"must be a positive number, got {described(ratio)}")
        if "full_loss_" in state:
            full = state["full_loss_"]
            self.need(type(full) is float, "full_loss_", f"must be a float, got {described(full)}")
        if "n_nodes_" in state:
            self.integer("n_nodes_", 0, 2**63 - 1)
        self.need(("path_" in state) == ("step_" in state), "path_", "must be given if and only if step_ is")
        if "path_" in state:
            self.path(state["path_"])

    def path(self, path: Any) -> None:
        keys = path.keys() if type(path) is dict else set()
        has_keys = keys == _PATH.keys() or keys == _PATH.keys() | _TESTED.keys()
        self.need(has_keys, "path_", f"must be a dict with the keys {sorted(_PATH)}, got {described(path)}")
        n_points = len(path["l1_norm"]) if isinstance(path["l1_norm"], np.ndarray) and path["l1_norm"].ndim else 0
        for key, values in path.items():
            kind = (_PATH | _TESTED)[key]
            fits = isinstance(values, np.ndarray) and values.dtype.kind == kind and values.shape == (n_points,)
            self.need(
                fits and n_points > 0,
                "path_",
                f"must have arrays of one positive length, got {described(values)} as {key}",
            )
        self.integer("step_", 0, n_points - 1)


def compressing(classifier: bool) -> list[str]:
    """The names of the losses that compression supports."""
    of_y = names("labels" if classifier else "numbers")
    return [name for name in supporting("compresses") if name in of_y]


def _rises(classes: Any) -> bool:
    try:
        return bool(np.all(classes[:-1] < classes[1:]))
    except TypeError:
        return False
