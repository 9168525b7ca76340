"""Fitted estimators taken apart into what a model file contains, and put together again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator

from weald._files import archives
from weald._files.state import Decoder, Encoder
from weald._fitted.boosted_proof import BoostedProof
from weald._fitted.compressed_proof import CompressedProof
from weald._input import registry
from weald._input.described import described, kind_and_module
from weald._rounds.callbacks import CALLBACKS
from weald.loss import LOSSES, get, kept

if TYPE_CHECKING:
    from weald._fit.base import BaseModel
    from weald._weald import _Model

_KEYS = {"class", "params", "fitted"}
# For multi-label meta-estimators also the fitted estimator that they wrap, and whether it was frozen.
_KEYS_AROUND = _KEYS | {"inner", "frozen"}
# For a meta-estimator with several members the same of each of them.
_KEYS_OF_MEMBERS = _KEYS | {"members"}

# Parameters that were added after the first version of the format. A file contains them only if they differ from these
# values, which give the behavior of the estimator before the parameter was added. Those of a single class are in its
# `_later_parameters`.
ADDED: dict[str, Any] = {
    "multi_label": "auto",
    "leaf_estimation": "line_search",
    "l2_regularization": 0.0,
    "min_sum_hessian_in_leaf": 0.0,
    "early_stopping": "auto",
    "scoring": None,
    "callbacks": None,
    "init": None,
    "init_cv": None,
    "max_features_by_tree": None,
    "min_weight_leaf": 0.0,
    "categorical_features": "from_dtype",
    "monotonic_cst": None,
    "interaction_cst": None,
    "keep_rows": False,
    "output_scaling": None,
    "output_weights": None,
    "label_weight": None,
    "keep_path": True,
}
# The same for multi-label meta-estimators.
_ADDED_AROUND = {"verbose": 0}
# Parameters that files may contain and that no longer exist. They do not affect predictions.
_REMOVED = {"prefit", "method", "learning_rate", "candidate_window"}
# Of former versions, compressed forests with method="grow" are induced forests today: names of their parameters, and
# parameters that they do not have.
_OF_INDUCED = {"l1_norm": "n_nodes", "max_steps": "max_nodes"}
_NOT_OF_INDUCED = {"prefit", "method", "solver", "step_size", "step_outputs", "standardize"}
# Parameters that are part of losses today, by the name of the loss. The same names are in `_shared`.
_OF_LOSSES = {"quantile": "quantile", "huber": "huber_delta", "tweedie": "tweedie_power"}


def is_of_weald(model: BaseEstimator) -> bool:
    return (registry.ESTIMATORS | registry.META_ESTIMATORS).get(type(model).__name__) is type(model)


def apart(encoder: Encoder, model: BaseModel, prefix: str) -> tuple[Any, dict[str, Any]]:
    """The result of `_taken_apart`, also for multi-label meta-estimators."""
    if type(model).__name__ not in registry.META_ESTIMATORS:
        return _taken_apart(encoder, model._twin(), prefix)
    name = type(model).__name__
    if hasattr(model, "_parts_of_members"):
        return _apart_with_members(encoder, model, prefix)
    inner, is_frozen, params, fitted = model._parts()
    params = {n: value for n, value in params.items() if n not in _ADDED_AROUND or value != _ADDED_AROUND[n]}
    _check_own(inner, f"{name}: {prefix}estimator_")
    encoded = _encoded(encoder, name, prefix, params, fitted)
    engine, content = apart(encoder, inner, f"{prefix}estimator_.")
    return engine, {"class": name, **encoded, "inner": content, "frozen": is_frozen}


def _apart_with_members(encoder: Encoder, model: Any, prefix: str) -> tuple[Any, dict[str, Any]]:
    """The same for a meta-estimator with several members: the model of the first one is that of the file."""
    name = type(model).__name__
    members, params, fitted = model._parts_of_members()
    encoded = _encoded(encoder, name, prefix, params, fitted)
    found, first = [], None
    for i, (member, inner, is_frozen) in enumerate(members):
        where = f"{prefix}estimators_[{i}]"
        _check_own(inner, f"{name}: {where}")
        engine, content = apart(encoder, inner, f"{where}.")
        if i == 0:
            first = engine
        elif engine is not None:
            content["model"] = encoder.named("model", f"{name}: {where}", np.frombuffer(engine.to_bytes(), np.uint8))
        found.append({"name": member, "inner": content, "frozen": is_frozen})
    return first, {"class": name, **encoded, "members": found}


def _check_own(inner: object, what: str) -> None:
    if not is_of_weald(inner):
        raise TypeError(
            f"{what} must be an estimator of weald or scikit-learn, got {kind_and_module(inner)}; "
            f"{archives.ELSEWHERE}; nothing was written"
        )


def _encoded(
    encoder: Encoder, name: str, prefix: str, params: dict[str, Any], fitted: dict[str, Any]
) -> dict[str, dict[str, Any]]:
    """The parameters and the fitted attributes of a meta-estimator, for JSON."""
    return {
        part: {n: encoder.named(n, f"{name}: the {what} {prefix}{n}", values[n]) for n in sorted(values)}
        for part, what, values in (("params", "parameter", params), ("fitted", "attribute", fitted))
    }


def _taken_apart(encoder: Encoder, model: BaseModel, prefix: str) -> tuple[Any, dict[str, Any]]:
    """The model of the engine, or None if not fitted, and the rest for JSON. `prefix` is the path in messages."""
    name = type(model).__name__
    state = model._state()
    proof = model._proof
    engine = proof.model_of(state.pop(proof.attribute, None))
    _prove_names(f"{name}: {prefix}", state)
    names, added = model._get_param_names(), ADDED | model._later_parameters
    known = proof.names(isinstance(model, ClassifierMixin))
    values = {n: state.pop(n) for n in sorted(names)}
    # A frozen model that stages start from is both a parameter and an attribute, which is stored once.
    is_shared = isinstance(state.get("_init"), FrozenEstimator)
    if is_shared and values["init"] is state["_init"]:
        values["init"] = None
        is_shared = False
    if not isinstance(values.get("loss", ""), str):
        # Losses of users have methods, which no file contains.
        values["loss"] = get(values["loss"])
    params = {
        n: encoder.named(n, f"{name}: the parameter {prefix}{n}", value)
        for n, value in values.items()
        if n not in added or type(value) is not type(added[n]) or value != added[n] or (n == "init" and is_shared)
    }
    for attribute in sorted(state):
        if attribute == CALLBACKS:
            raise TypeError(
                f"{name}: callbacks are not supported in model files, which contain no code: call "
                f"{prefix}set_callbacks() first, which removes them, or pickle the estimator; nothing was written"
            )
        if attribute not in known:
            raise TypeError(
                f"{name}: the attribute {prefix}{attribute} is not supported in model files, which contain those of "
                f"weald alone: delete it; {archives.ELSEWHERE}; nothing was written"
            )
    fitted = {n: encoder.named(n, f"{name}: the attribute {prefix}{n}", state[n]) for n in sorted(state)}
    return engine, {"class": name, "params": params, "fitted": fitted}


def _prove_names(prefix: str, state: dict[str, Any]) -> None:
    """Check that the names of features are distinct."""
    names = state.get("feature_names_in_")
    if not isinstance(names, np.ndarray):
        return  # validated with the other attributes
    seen: set[str] = set()
    for name in names.ravel().tolist():
        if isinstance(name, str) and name in seen:
            raise ValueError(
                f"{prefix}feature_names_in_ must have distinct names in model files, got {name[:80]!r} twice: rename "
                "one of the columns of X"
            )
        if isinstance(name, str):
            seen.add(name)


def trusted() -> list[str]:
    """The types of weald that an archive may contain."""
    return archives.trusted_types()


def nested(encoder: Encoder, value: Any) -> dict[str, Any]:
    """An object that is a parameter or a part of an estimator, for JSON."""
    if isinstance(value, list) or archives.is_of_others(value):
        data = archives.dumps(value, encoder.what, trusted())
        return {"archive": encoder.encode(np.frombuffer(data, dtype=np.uint8))}
    if registry.META_ESTIMATORS.get(type(value).__name__) is type(value) and not value.__sklearn_is_fitted__():
        params = value.get_params(deep=False)
        named = {n: encoder.named(n, f"{encoder.what}: the parameter {n}", params[n]) for n in sorted(params)}
        return {"estimator": {"class": type(value).__name__, "params": named, "fitted": {}}}
    if registry.ESTIMATORS.get(type(value).__name__) is not type(value):
        raise encoder.refused(value)
    engine, content = _taken_apart(encoder, value, f"{encoder.attribute}.")
    if engine is not None:
        content["model"] = encoder.encode(np.frombuffer(engine.to_bytes(), dtype=np.uint8))
    return {"estimator": content}


def _class_named(name: object) -> Any:
    """The class of an estimator, by its name in a file."""
    cls = registry.ESTIMATORS.get(name) if isinstance(name, str) else None
    if cls is None:
        raise ValueError(f"class must be the name of an estimator of weald, got {described(name)}")
    return cls


def put_together(decoder: Decoder, content: object, engine: _Model | None) -> BaseEstimator:
    """The estimator from the result of `_taken_apart`, after validation of all parts."""
    if (
        isinstance(content, dict)
        and isinstance(content.get("class"), str)
        and content["class"] in registry.META_ESTIMATORS
    ):
        return _put_around(decoder, content, engine)
    if not isinstance(content, dict) or content.keys() != _KEYS:
        raise ValueError(f"an estimator must be an object with the keys {sorted(_KEYS)}, got {described(content)}")
    cls = _class_named(content["class"])
    if not all(isinstance(content[part], dict) for part in ("params", "fitted")):
        raise ValueError("params and fitted must be objects, got something else")
    if issubclass(cls._proof, BoostedProof):
        content = _with_loss(decoder, content)
    elif issubclass(cls._proof, CompressedProof):
        content = _by_method(content)
        cls = _class_named(content["class"])
    proof, name, names, added = cls._proof, content["class"], set(cls._get_param_names()), ADDED | cls._later_parameters
    missing, unknown = names - added.keys() - content["params"].keys(), content["params"].keys() - names
    if missing:
        raise ValueError(f"{name} must have the parameter {min(missing)!r}, which is missing in the file")
    if unknown:
        raise ValueError(f"{name} does not support the parameter {min(unknown)[:80]!r}")
    params = {n: decoder.decode(value) for n, value in sorted(content["params"].items())}
    absent = {n: value for n, value in added.items() if n in names}
    estimator = cls(**absent | params)
    if strange := sorted(content["fitted"].keys() - proof.names(isinstance(estimator, ClassifierMixin)).keys()):
        raise ValueError(f"{name} does not support the attribute {strange[0][:80]!r}")
    estimator._validate_params()
    state = dict(estimator.__dict__)
    state.update((n, decoder.decode(value)) for n, value in sorted(content["fitted"].items()))
    _prove_names(f"{name}: ", state)
    if engine is not None:
        state[proof.attribute] = proof.holding(engine)
    if "init" not in content["params"] and isinstance(state.get("_init"), FrozenEstimator):
        state["init"] = state["_init"]
    estimator.__setstate__(state)
    if "n_nodes" in names and "n_nodes_" not in state and "path_" in state:
        estimator.n_nodes_ = int(state["path_"]["n_nonzero"][state["step_"]])  # of a former version
    return estimator


def _with_loss(decoder: Decoder, content: dict[str, Any]) -> dict[str, Any]:
    """The content of boosting with a loss object, in place of the parameters of losses of former versions."""
    params, shared = dict(content["params"]), content["fitted"].get("_shared")
    given = {loss: params.pop(name) for loss, name in _OF_LOSSES.items() if name in params}
    if isinstance(params.get("loss"), str) and (name := params["loss"]) in given:
        params["loss"] = _encoded_loss(decoder, name, given[name])
    fitted = content["fitted"]
    items = shared["dict"] if isinstance(shared, dict) and isinstance(shared.get("dict"), list) else []
    if all(isinstance(item, list) and len(item) == 2 and isinstance(item[0], str) for item in items):
        kept = dict(items)
        name = kept.get("loss")
        if isinstance(name, str) and _OF_LOSSES.get(name) in kept:
            kept["loss"] = _encoded_loss(decoder, name, kept.pop(_OF_LOSSES[name]))
            fitted = fitted | {"_shared": {"dict": list(map(list, kept.items()))}}
    return content | {"params": params, "fitted": fitted}


def _by_method(content: dict[str, Any]) -> dict[str, Any]:
    """The content of a compressed forest, of the class that has its former parameter `method` today."""
    params = content["params"]
    if params.get("method") != "grow" or not content["class"].startswith("Compressed"):
        removed = _REMOVED - set(_class_named(content["class"])._get_param_names())
        return content | {"params": {n: value for n, value in params.items() if n not in removed}}
    kept = {_OF_INDUCED.get(n, n): value for n, value in params.items() if n not in _NOT_OF_INDUCED}
    # A norm is no number of nodes; the model that was cut there is in the file.
    kept["n_nodes"] = kept.get("n_nodes") if kept.get("n_nodes") == "cv" else None
    return content | {"class": content["class"].replace("Compressed", "Induced"), "params": kept}


def _encoded_loss(decoder: Decoder, name: str, value: object) -> object:
    """A loss as files contain it, by its name and its parameter."""
    return Encoder(nested).encode(kept(LOSSES[name](decoder.decode(value))))


def _put_around(decoder: Decoder, content: dict[str, Any], engine: _Model | None) -> BaseEstimator:
    """The same for a multi-label meta-estimator, which is not fitted if it has no inner estimator."""
    cls = registry.META_ESTIMATORS[content["class"]]
    if hasattr(cls, "_parts_of_members"):
        return _put_with_members(decoder, cls, content, engine)
    is_fitted = content.keys() == _KEYS_AROUND
    if not is_fitted and (content.keys() != _KEYS or content["fitted"] != {}):
        accepted = f"an object with the keys {sorted(_KEYS_AROUND)}"
        raise ValueError(f"{cls.__name__} must be {accepted}, got {described(content)}")
    if not all(isinstance(content[part], dict) for part in ("params", "fitted")):
        raise ValueError("params and fitted must be objects, got something else")
    is_frozen = content.get("frozen", False)
    names = set(cls._get_param_names()) - ({"estimator"} if is_frozen else set())
    params = {n: decoder.decode(value) for n, value in sorted(content["params"].items())}
    if type(is_frozen) is not bool:
        raise ValueError(f"{cls.__name__} must have true or false as frozen, got {described(is_frozen)}")
    params = {n: value for n, value in _ADDED_AROUND.items() if n in names} | params
    if params.keys() != names:
        raise ValueError(f"{cls.__name__} must have the parameters {sorted(names)}, got {sorted(params)}")
    inner = put_together(decoder, content["inner"], engine) if is_fitted else None
    estimator = cls(**params | ({"estimator": FrozenEstimator(inner)} if is_frozen else {}))
    estimator._validate_params()
    if is_fitted:
        fitted = {n: decoder.decode(value) for n, value in sorted(content["fitted"].items())}
        estimator._put_together(inner, is_frozen, fitted)
    return estimator


def _put_with_members(decoder: Decoder, cls: Any, content: dict[str, Any], engine: _Model | None) -> BaseEstimator:
    """The same for a meta-estimator with several members."""
    is_fitted = content.keys() == _KEYS_OF_MEMBERS
    name = cls.__name__
    if not is_fitted and (content.keys() != _KEYS or content["fitted"] != {}):
        accepted = f"an object with the keys {sorted(_KEYS_OF_MEMBERS)}"
        raise ValueError(f"{name} must be {accepted}, got {described(content)}")
    if not all(isinstance(content[part], dict) for part in ("params", "fitted")):
        raise ValueError("params and fitted must be objects, got something else")
    params = {n: decoder.decode(value) for n, value in sorted(content["params"].items())}
    if params.keys() != (expected := set(cls._get_param_names())):
        raise ValueError(f"{name} must have the parameters {sorted(expected)}, got {sorted(params)}")
    members: list[tuple[str, Any, bool]] = []
    for i, member in enumerate(_list_of(content["members"]) if is_fitted else ()):
        if not isinstance(member, dict) or member.keys() != {"name", "inner", "frozen"}:
            raise ValueError(f"{name} must have members with a name, an estimator and whether it is frozen")
        which, inner, is_frozen = member["name"], member["inner"], member["frozen"]
        if type(which) is not str or type(is_frozen) is not bool:
            raise ValueError(f"{name} must have members with a string as name, and true or false as frozen")
        model = put_together(decoder, inner, engine) if i == 0 else _estimator_again(decoder, inner)
        members.append((which, model, is_frozen))
    params["estimators"] = _with_frozen(name, params["estimators"], members)
    estimator = cls(**params)
    estimator._validate_params()
    if is_fitted:
        fitted = {n: decoder.decode(value) for n, value in sorted(content["fitted"].items())}
        estimator._put_together(members, fitted)
    return estimator


def _with_frozen(name: str, pairs: object, members: list[tuple[str, Any, bool]]) -> list[tuple[str, Any]]:
    """The parameter `estimators` of a file, with the frozen members in their places."""
    are_pairs = isinstance(pairs, list) and all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs)
    if not are_pairs or not isinstance(pairs, list):
        raise ValueError(f"{name}: estimators must be a list of pairs, got {described(pairs)}")
    frozen = {which: model for which, model, is_frozen in members if is_frozen}
    found = []
    for which, value in pairs:
        if value is None and (not isinstance(which, str) or which not in frozen):
            raise ValueError(
                f"{name}: estimators must have an estimator for each name, got none for {described(which)}"
            )
        found.append((which, FrozenEstimator(frozen[which]) if value is None else value))
    return found


def _list_of(content: object) -> list[Any]:
    if not isinstance(content, list):
        raise ValueError(f"members must be a list, got {described(content)}")
    return content


def _estimator_again(decoder: Decoder, content: object) -> BaseEstimator:
    if not isinstance(content, dict):
        raise ValueError(f"an estimator must be an object, got {described(content)}")
    rest = dict(content)
    engine = None
    if "model" in rest:
        data = _bytes_of(decoder, rest.pop("model"))
        engine = _class_named(_innermost(rest).get("class"))._proof.engine.from_bytes(data)
    return put_together(decoder, rest, engine)


def _innermost(content: dict[str, Any]) -> dict[str, Any]:
    """The content of the estimator whose model is that of a meta-estimator: the first one inside."""
    while True:
        members = content.get("members")
        inside = content.get("inner")
        if isinstance(members, list) and members and isinstance(members[0], dict):
            inside = members[0].get("inner")
        if not isinstance(inside, dict):
            return content
        content = inside


def _bytes_of(decoder: Decoder, content: object) -> bytes:
    data = decoder.decode(content)
    if type(data) is not np.ndarray or data.dtype != np.uint8 or data.ndim != 1:
        raise ValueError(f"the model of an estimator must be an array of bytes, got {described(data)}")
    return data.tobytes()


def _archive_again(decoder: Decoder, content: object) -> object:
    value = archives.loads(_bytes_of(decoder, content), "archive of scikit-learn's objects", trusted())
    if not all(map(archives.is_of_others, value if type(value) is list else [value])):
        raise ValueError(f"an archive must have objects of scikit-learn, got {described(value)}")
    return value


# The decoders of what `nested` encodes, by tag.
NESTED: dict[str, Callable[[Decoder, Any], Any]] = {"estimator": _estimator_again, "archive": _archive_again}
