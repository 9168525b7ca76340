"""Fitted estimators taken apart into what a model file contains, and put together again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator

from weald import _weald
from weald._files import archives
from weald._files.state import Decoder, Encoder
from weald._input import registry
from weald._input.messages import described, kind_and_module
from weald._rounds.rounds import CALLBACKS
from weald.loss import get

if TYPE_CHECKING:
    from weald._around.base import Around
    from weald._fit.base import BaseModel

_KEYS = {"class", "params", "fitted"}
# For fitted meta-estimators also the fitted estimators inside, and whether each was frozen.
_KEYS_AROUND = _KEYS | {"members"}


def is_of_weald(model: object) -> bool:
    return (registry.ESTIMATORS | registry.META_ESTIMATORS).get(type(model).__name__) is type(model)


def apart(encoder: Encoder, model: Any, prefix: str) -> tuple[Any, dict[str, Any]]:
    """The result of `_taken_apart`, also for meta-estimators: the model of the first one inside is that of the file."""
    name = type(model).__name__
    if name not in registry.META_ESTIMATORS:
        return _taken_apart(encoder, model._twin(), prefix)
    members, params, fitted = model._parts()
    encoded = _encoded(encoder, name, prefix, params, fitted)
    found, first = [], None
    for i, (inner, is_frozen) in enumerate(members):
        where = f"{prefix}{model._held}" + f"[{i}]" * (model._held == "estimators_")
        _check_own(inner, f"{name}: {where}")
        engine, content = apart(encoder, inner, f"{where}.")
        if i == 0:
            first = engine
        elif engine is not None:
            content["model"] = encoder.named("model", f"{name}: {where}", np.frombuffer(engine.to_bytes(), np.uint8))
        found.append({"inner": content, "frozen": is_frozen})
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


def put_together(decoder: Decoder, content: object, engine: _weald._Model | None) -> BaseEstimator:
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
    estimator: BaseModel = cls(**params)
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


def _put_around(decoder: Decoder, content: dict[str, Any], engine: _weald._Model | None) -> BaseEstimator:
    """The same for a meta-estimator, which is not fitted if there are no estimators inside."""
    cls = registry.META_ESTIMATORS[content["class"]]
    name = cls.__name__
    is_fitted = content.keys() == _KEYS_AROUND
    if not is_fitted and (content.keys() != _KEYS or content["fitted"] != {}):
        raise ValueError(f"{name} must be an object with the keys {sorted(_KEYS_AROUND)}, got {described(content)}")
    if not all(isinstance(content[part], dict) for part in ("params", "fitted")):
        raise ValueError("params and fitted must be objects, got something else")
    params, fitted = (
        {n: decoder.decode(value) for n, value in sorted(content[part].items())} for part in ("params", "fitted")
    )
    if params.keys() != (expected := set(cls._get_param_names())):
        raise ValueError(f"{name} must have the parameters {sorted(expected)}, got {sorted(params)}")
    members: list[tuple[Any, bool]] = []
    of_file = content["members"] if is_fitted else []
    if not isinstance(of_file, list) or is_fitted > len(of_file):
        raise ValueError(f"{name}: members must be a list of estimators, got {described(of_file)}")
    for i, member in enumerate(of_file):
        if not isinstance(member, dict) or member.keys() != {"inner", "frozen"} or type(member["frozen"]) is not bool:
            raise ValueError(f"{name} must have members with an estimator, and true or false as frozen")
        inner = member["inner"]
        model = put_together(decoder, inner, engine) if i == 0 else _estimator_again(decoder, inner)
        members.append((model, member["frozen"]))
    around: Around = cls._of_parts(members, params, fitted)
    return around


def _estimator_again(decoder: Decoder, content: object) -> BaseEstimator:
    if not isinstance(content, dict):
        raise ValueError(f"an estimator must be an object, got {described(content)}")
    rest = dict(content)
    engine = None
    if "model" in rest:
        data = _bytes_of(decoder, rest.pop("model"))
        engine = _class_named(_innermost(rest).get("class"))._proof.read(data)
    return put_together(decoder, rest, engine)


def _innermost(content: dict[str, Any]) -> dict[str, Any]:
    """The content of the estimator whose model is that of a meta-estimator: the first one inside."""
    while True:
        members = content.get("members")
        first = members[0] if isinstance(members, list) and members else None
        inside = first.get("inner") if isinstance(first, dict) else None
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
