"""Fitted estimators taken apart into what a model file contains, and put together again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator

from weald._files import archives
from weald._files.state import Decoder, Encoder
from weald._input import registry
from weald._input.described import described, kind_and_module
from weald._rounds.callbacks import CALLBACKS
from weald.loss import get

if TYPE_CHECKING:
    from weald._fit.base import BaseModel
    from weald._weald import _Model

_KEYS = {"class", "params", "fitted"}
# For multi-label meta-estimators also the fitted estimator that they wrap, and whether it was frozen.
_KEYS_AROUND = _KEYS | {"inner", "frozen"}
# For a meta-estimator with several members the same of each of them.
_KEYS_OF_MEMBERS = _KEYS | {"members"}


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
    names = model._get_param_names()
    known = proof.rows(isinstance(model, ClassifierMixin))
    values = {n: state.pop(n) for n in sorted(names)}
    # A frozen model that stages start from is both a parameter and an attribute, which is stored once.
    if isinstance(state.get("_init"), FrozenEstimator) and values["init"] is state["_init"]:
        del values["init"]
    if not isinstance(values.get("loss", ""), str):
        # Losses of users have methods, which no file contains.
        values["loss"] = get(values["loss"])
    params = {n: encoder.named(n, f"{name}: the parameter {prefix}{n}", value) for n, value in values.items()}
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
    proof, name, names = cls._proof, content["class"], set(cls._get_param_names())
    shared = {"init"} if "_init" in content["fitted"] else set()
    missing, unknown = names - shared - content["params"].keys(), content["params"].keys() - names
    if missing:
        raise ValueError(f"{name} must have the parameter {min(missing)!r}, which is missing in the file")
    if unknown:
        raise ValueError(f"{name} does not support the parameter {min(unknown)[:80]!r}")
    params = {n: decoder.decode(value) for n, value in sorted(content["params"].items())}
    estimator = cls(**params)
    if strange := sorted(content["fitted"].keys() - proof.rows(isinstance(estimator, ClassifierMixin)).keys()):
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
    return estimator


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
