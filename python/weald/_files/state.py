"""Conversion of Python values to JSON text and arrays, and back: the part of a model file that is not trees.

The set of types is small and closed, and a value is recognized by its exact type. Decoding looks up nothing by name and
calls only functions of this module. Numbers and strings are those of JSON; any other value is an object with one key,
its tag. Large arrays are tensors of the file, to which the text refers.

| tag | value |
|---|---|
| `float` | "nan", "inf", "-inf" |
| `int` | in hexadecimal, if it has more than 53 bits |
| `tuple`, `set`, `frozenset`, `dict` | list of items, those of sets and [key, value] in the order of their texts |
| `scalar` | dtype and value of a numpy scalar |
| `array` | dtype, shape, and `values` or the name of a `tensor` |
| `sparse` | format, container, shape, and three arrays; formats other than CSC are stored, and come back, as CSR |
| `projection` | class and fields of a value of `weald.projection` |
| `loss` | class and fields of a value of `weald.loss` |
| `random_state` | state of a Mersenne twister |
| `label_format` | dtype and container |
| `hierarchy` | parents of each label as a sparse matrix, and names, of a `LabelHierarchy` |
| `part` | class and fields of another part of a model: calibration functions, ranked scores |
| `estimator` | class, parameters, fitted attributes, and bytes of the engine's model, of an estimator of weald |
| `archive` | array of the bytes in which skops stores an object of scikit-learn, or a list of such objects |
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Never

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from weald import loss, projection
from weald._files.archives import ELSEWHERE, is_of_others
from weald._input import registry
from weald._input.checks import Matrix
from weald._input.messages import cut, described
from weald._input.sparse import is_sparse
from weald._input.targets import LabelFormat
from weald._labels.hierarchy import LabelHierarchy
from weald._rounds.held_out import EarlyStopping

# The maximum numbers of lists and objects of a text, which take far more memory than their text. Brackets are counted
# before decoding, including those within strings.
_MOST_BRACKETS = {"[": 1 << 22, "{": 1 << 20}
# The dtypes of tensors; arrays of other types are stored as bytes.
TENSOR_TYPES = {"|b1", "|u1", "<i4", "<i8", "<u4", "<u8", "<f4", "<f8"}
DTYPE = re.compile(r"[<>|](?:b1|[iu][1248]|f[248]|[US][1-9][0-9]{0,8})")
# The kinds of dtypes that arrays may have.
KINDS = "biufUS"


def to_text(encoded: object) -> str:
    """The JSON of an encoded value as ASCII, which does not depend on the order of keys."""
    return json.dumps(encoded, allow_nan=False, sort_keys=True, separators=(",", ":"))


def prove_size(text: str) -> None:
    """Check that a text does not contain too many lists and objects."""
    for bracket, most in _MOST_BRACKETS.items():
        what = "lists" if bracket == "[" else "objects"
        if (n := text.count(bracket)) > most:
            raise ValueError(f"the parameters and attributes must have at most {most} {what} as JSON, got {n}")


def arrays_of(encoded: object) -> Iterator[tuple[Any, np.dtype[Any], list[int]]]:
    """Name, type and shape of each tensor that a text refers to, as stated in the text."""
    to_come = [encoded]
    while to_come:
        part = to_come.pop()
        if isinstance(part, dict):
            array = part.get("array")
            if isinstance(array, dict) and "tensor" in array:
                yield array["tensor"], dtype_of(array.get("dtype"), KINDS), shape_of(array.get("shape"))
            to_come.extend(part.values())
        elif isinstance(part, list):
            to_come.extend(part)


def prove_arrays(encoded: object, arrays: Mapping[str, tuple[str, tuple[int, ...]]]) -> None:
    """Check, before any array is read, that a text uses each array once, with its type and shape."""
    left = dict(arrays)
    for name, dtype, shape in arrays_of(encoded):
        array = left.pop(name, None) if isinstance(name, str) else None
        if array is None:
            raise ValueError(f"a tensor must be an array of the file that is not used elsewhere, got {described(name)}")
        _prove_tensor(name, dtype, shape, *array)
    if left:
        raise ValueError(f"the array {min(left)!r} must be part of an attribute, got an array that is not used")


def _prove_tensor(
    name: str, dtype: np.dtype[Any], shape: list[int], found_dtype: str, found_shape: tuple[int, ...]
) -> None:
    """Check that an array of the file has the type and the shape that the text states."""
    little, n_bytes = dtype.newbyteorder("<"), math.prod(shape) * dtype.itemsize
    if little.str in TENSOR_TYPES:
        if found_dtype != little.str or list(found_shape) != shape:
            raise ValueError(
                f"the array {name!r} must have dtype {little.str} and shape {shape}, as stated in the text, got dtype "
                f"{found_dtype} and shape {list(found_shape)}"
            )
    elif found_dtype != "|u1" or found_shape != (n_bytes,):
        raise ValueError(
            f"the array {name!r} must be {n_bytes} bytes, for dtype {dtype.str} and shape {shape}, got dtype "
            f"{found_dtype} and shape {list(found_shape)}"
        )


def shape_of(value: object) -> list[int]:
    shape = list_of(value)
    if len(shape) > 32 or not all(type(size) is int and 0 <= size < 2**62 for size in shape):
        raise ValueError(f"the shape of an array must be a list of at most 32 sizes, got {cut(str(shape))}")
    return shape


def list_of(value: object, length: int | None = None) -> list[Any]:
    if not isinstance(value, list) or length not in (None, len(value)):
        of_length = "" if length is None else f" of length {length}"
        raise ValueError(f"the content must be a list{of_length}, got {described(value)}")
    return value


def dtype_of(text: object, kinds: str) -> np.dtype[Any]:
    if not isinstance(text, str) or not DTYPE.fullmatch(text):
        raise ValueError(f"a dtype must be a string such as '<f8', got {described(text)}")
    dtype = np.dtype(text)
    if dtype.kind not in kinds:
        raise ValueError(f"a dtype must be of kind {', '.join(kinds)}, got {dtype.str}")
    return dtype


def from_text(text: str) -> object:
    """Parse the JSON of a text, after checks of its size and for duplicate keys."""

    def no_constant(name: str) -> Never:
        raise ValueError(f"numbers must be JSON, got {name}")

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ValueError("an object must have distinct names, got a name twice")
        return found

    prove_size(text)
    try:
        return json.loads(text, object_pairs_hook=once, parse_constant=no_constant)
    except RecursionError as error:
        raise ValueError("values must be nested less deeply, got more levels than can be read") from error


_VALUES = {
    cls.__name__: cls
    for cls in (
        projection.GaussianProjection,
        projection.HadamardProjection,
        projection.PCAProjection,
        projection.Projected,
        projection.RademacherProjection,
        projection.SubsampleProjection,
        EarlyStopping,
    )
}
_LOSSES = {name: cls for name, cls in registry.PARTS.items() if issubclass(cls, loss.Loss)}
_SPARSE = {
    f"{name}_{kind}": getattr(sparse, f"{name}_{kind}") for name in ("csc", "csr") for kind in ("array", "matrix")
}
_LABEL_CONTAINERS = {None: None, "csr_array": sparse.csr_array, "csr_matrix": sparse.csr_matrix}

# Arrays with at most this number of values and bytes are part of the text.
_SMALL, _SMALL_BYTES = 64, 1 << 16
# The maximum size in memory of an array in the text.
_MOST_BYTES = 1 << 24
# After this number of tensors, all arrays are part of the text; the engine supports 4032.
_MOST_TENSORS = 3000
# The maximum depth of nested values; `json` itself has a larger limit.
_MOST_LEVELS = 100
_EXACT = 2**53


class Encoder:
    """Converts values to a text and its arrays."""

    def __init__(self, objects: Callable[[Encoder, Any], dict[str, Any]]) -> None:
        self.arrays: dict[str, NDArray[Any]] = {}
        # Encodes estimators and objects of scikit-learn, with their tag.
        self._objects = objects
        # The attribute that is being encoded, for names of tensors and for error messages.
        self.attribute = ""
        self.what = ""
        self._level = 0
        self._n_arrays: dict[str, int] = {}

    def named(self, attribute: str, what: str, value: object) -> Any:
        """Encode the value of an attribute; `what` is its name in error messages."""
        before = self.attribute, self.what
        self.attribute, self.what = attribute, what
        try:
            return self.encode(value)
        finally:
            self.attribute, self.what = before

    def encode(self, value: object) -> object:
        """Encode a value for `json.dumps`."""
        self._level += 1
        try:
            if self._level > _MOST_LEVELS:
                raise self._refused(f"must be nested at most {_MOST_LEVELS} levels deep, and must not contain itself")
            return self._encode(value)
        finally:
            self._level -= 1

    def _encode(self, value: Any) -> Any:
        kind = type(value)
        if value is None or kind is bool or kind is str:
            return value
        if kind is int:
            return value if abs(value) < _EXACT else {"int": hex(value)}
        if kind is float:
            return value if math.isfinite(value) else {"float": str(value)}
        if kind is list and not (value and all(map(is_of_others, value))):
            return [self.encode(item) for item in value]
        if kind is tuple:
            return {"tuple": [self.encode(item) for item in value]}
        if kind is set or kind is frozenset:
            return {kind.__name__: sorted((self.encode(item) for item in value), key=to_text)}
        if kind is dict:
            keys = [(self.encode(key), key) for key in value]
            # Values get their tensors in this order, too.
            keys.sort(key=lambda pair: to_text(pair[0]))
            return {"dict": [[encoded, self.encode(value[key])] for encoded, key in keys]}
        if isinstance(value, np.generic):
            return {"scalar": self._scalar(value)}
        if kind is np.ndarray or kind is np.memmap:
            return {"array": self._array(value)}
        if is_sparse(value) and kind.__module__.startswith("scipy.sparse."):
            return {"sparse": self._sparse(value if value.format == "csc" else value.tocsr())}
        if _VALUES.get(kind.__name__) is kind:
            return {"value": [kind.__name__, self.encode(_fields(value))]}
        if isinstance(value, loss.Loss) and registry.PARTS.get(kind.__name__) is kind:
            # Model files contain no code.
            stored = value._kept() if isinstance(value, loss.CustomLoss) else value
            return {"loss": [kind.__name__, self.encode(_fields(stored))]}
        if kind is np.random.RandomState:
            state = value.get_state(legacy=True)
            if state[0] != "MT19937":
                raise self._refused(f"must be a RandomState of MT19937, got {state[0]}")
            return {"random_state": [self.encode(part) for part in state[1:]]}
        if kind is LabelFormat:
            container = None if value.container is None else value.container.__name__
            return {"label_format": [self._dtype(value.dtype), container]}
        if kind is LabelHierarchy:
            return {"hierarchy": self.encode(value.__getstate__())}
        if dataclasses.is_dataclass(kind) and registry.PARTS.get(kind.__name__) is kind:
            return {"part": [kind.__name__, self.encode(_fields(value))]}
        return self._objects(self, value)

    def _dtype(self, dtype: np.dtype[Any]) -> str:
        if dtype.str != "|O" and not DTYPE.fullmatch(dtype.str):
            raise self._refused(f"must have numbers, bools or strings, got dtype {dtype}")
        return dtype.str

    def _scalar(self, value: Any) -> object:
        if isinstance(value, np.str_):
            return ["str", str(value)]
        return [self._dtype(value.dtype), self.encode(value.item())]

    def _array(self, array: NDArray[Any]) -> Any:
        dtype, shape = self._dtype(array.dtype), list(array.shape)
        about: dict[str, Any] = {"dtype": dtype, "shape": shape}
        if dtype == "|O":
            items = [self.encode(item) for item in array.ravel().tolist()]
            if not all(isinstance(item, str | int | float | bool | None) for item in items):
                raise self._refused("must have strings, numbers and None alone, got an array of other objects")
            return about | {"values": items}
        is_small = array.size <= _SMALL and array.nbytes <= _SMALL_BYTES
        if is_small or (len(self.arrays) >= _MOST_TENSORS and array.nbytes <= _MOST_BYTES):
            return about | {"values": [self.encode(item) for item in _plain(array.ravel())]}
        little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        if little.dtype.str not in TENSOR_TYPES:
            little = little.reshape(-1).view(np.uint8)
        number = self._n_arrays.get(self.attribute, 0)
        self._n_arrays[self.attribute] = number + 1
        name = f"{self.attribute}.{number}"
        self.arrays[name] = little
        return about | {"tensor": name}

    def _sparse(self, matrix: Matrix) -> list[Any]:
        parts = (matrix.indptr, matrix.indices, matrix.data)
        return [type(matrix).__name__, list(matrix.shape), [self.encode(part) for part in parts]]

    def _refused(self, why: str) -> TypeError:
        return TypeError(
            f"{self.what} {why}; model files contain plain values, arrays and objects of weald and scikit-learn, and "
            f"no code; {ELSEWHERE}; nothing was written"
        )

    def refused(self, value: object) -> TypeError:
        """The error for a value that model files do not support."""
        return self._refused(f"is not supported in model files, got {described(value)}")


def _fields(value: Any) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}


class Decoder:
    """Converts a text and its arrays, which `prove_arrays` has checked, to values. Every error is a `ValueError`."""

    def __init__(self, arrays: dict[str, NDArray[Any]], objects: dict[str, Callable[[Decoder, Any], Any]]) -> None:
        self._arrays = arrays
        # Decodes estimators and objects of scikit-learn, by tag.
        self._objects = objects
        self._level = 0

    def decode(self, encoded: object) -> Any:
        """Decode a value."""
        self._level += 1
        try:
            if self._level > _MOST_LEVELS:
                raise ValueError(f"values must be nested at most {_MOST_LEVELS} levels deep, got more levels")
            return self._decode(encoded)
        finally:
            self._level -= 1

    def _decode(self, encoded: object) -> object:
        if isinstance(encoded, float) and not math.isfinite(encoded):
            raise ValueError("numbers must be finite floats, got one that is too large")
        if encoded is None or isinstance(encoded, bool | int | float | str):
            return encoded
        if isinstance(encoded, list):
            return [self.decode(item) for item in encoded]
        if not isinstance(encoded, dict) or len(encoded) != 1:
            raise ValueError(f"an object must have a single key, its tag, got {described(encoded)}")
        [(tag, content)] = encoded.items()
        known: dict[str, Callable[[Any], Any]] = {
            "float": self._float,
            "int": self._int,
            "tuple": lambda items: tuple(self.decode(item) for item in list_of(items)),
            "set": lambda items: self._set(items, set),
            "frozenset": lambda items: self._set(items, frozenset),
            "dict": self._dict,
            "scalar": self._scalar,
            "array": self._array,
            "sparse": self._sparse,
            "value": lambda content: self._made(
                content, _VALUES, f"a value must be one of {', '.join(_VALUES)} with its parameters"
            ),
            "loss": lambda content: self._made(
                content,
                _LOSSES,
                "a loss must be a class of weald.loss with its parameters",
            ),
            "random_state": self._random_state,
            "label_format": self._label_format,
            "hierarchy": self._hierarchy,
            "part": lambda content: self._made(
                content, registry.PARTS, "a part must be of a known class with its fields"
            ),
            **{tag: partial(decode, self) for tag, decode in self._objects.items()},
        }
        if tag not in known:
            raise ValueError(f"the tag of a value must be one of {', '.join(known)}, got {described(tag)}")
        return known[tag](content)

    def _float(self, text: object) -> float:
        if text not in ("nan", "inf", "-inf"):
            raise ValueError(f"a float must be a number, 'nan', 'inf' or '-inf', got {described(text)}")
        return float(text)

    def _int(self, text: object) -> int:
        if not isinstance(text, str) or not re.fullmatch(r"-?0x[0-9a-f]+", text):
            raise ValueError(f"an integer must be a hexadecimal string, got {described(text)}")
        return int(text, 16)

    def _set(self, items: object, kind: type) -> object:
        values = [self.decode(item) for item in list_of(items)]
        try:
            found = kind(values)
        except TypeError as error:
            raise ValueError(f"items of a set must be hashable, got {described(values)}") from error
        if len(found) != len(values):
            raise ValueError(f"a set must have distinct items, got {described(values)}")
        return found

    def _dict(self, items: object) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for item in list_of(items):
            key, value = map(self.decode, list_of(item, 2))
            try:
                if key in found:
                    raise ValueError(f"a dict must have distinct keys, got {described(key)} twice")
                found[key] = value
            except TypeError as error:
                raise ValueError(f"keys of a dict must be hashable, got {described(key)}") from error
        return found

    def _scalar(self, content: object) -> object:
        dtype, value = list_of(content, 2)
        if dtype == "str":
            if not isinstance(value, str):
                raise ValueError(f"a scalar of type str must be a string, got {described(value)}")
            return np.str_(value)
        return self._values(dtype_of(dtype, "biuf"), [self.decode(value)])[0]

    def _values(self, dtype: np.dtype[Any], items: list[Any]) -> NDArray[Any]:
        """An array of items, after a check that the type represents them exactly."""
        if dtype.kind == "S":
            try:
                items = [item.encode("latin-1") for item in items]
            except (AttributeError, UnicodeEncodeError) as error:
                raise ValueError(f"values of an array must be of its type {dtype}, got others") from error
        kinds: dict[str, Any] = {"b": bool, "i": int, "u": int, "f": float, "U": str, "S": bytes}
        if not all(type(item) is kinds[dtype.kind] for item in items):
            raise ValueError(f"values of an array must be of its type {dtype}, got others")
        beyond = f"values of an array must be within the range of its type {dtype}, got others"
        if dtype.kind in "iu":
            # Checked here, because NumPy 1 wraps such integers and warns.
            limits = np.iinfo(dtype)
            if not all(limits.min <= item <= limits.max for item in items):
                raise ValueError(beyond)
        try:
            with np.errstate(over="ignore"):
                array = np.array(items, dtype=dtype)
        except ValueError as error:
            raise ValueError(beyond) from error
        same = [item == found or item != item for item, found in zip(items, array.tolist(), strict=True)]
        if not all(same):
            raise ValueError(f"values of an array must be representable by its type {dtype}, got others")
        return array

    def _array(self, content: object) -> NDArray[Any]:
        if not isinstance(content, dict) or content.keys() not in (
            {"dtype", "shape", "values"},
            {"dtype", "shape", "tensor"},
        ):
            raise ValueError(f"an array must have dtype, shape, and values or tensor, got {described(content)}")
        shape = shape_of(content["shape"])
        size = math.prod(shape)
        if "tensor" in content:
            return self._tensor(dtype_of(content["dtype"], KINDS), content["tensor"], shape)
        items = [self.decode(item) for item in list_of(content["values"])]
        if len(items) != size:
            raise ValueError(f"an array of shape {tuple(shape)} must have {size} values, got {len(items)}")
        if content["dtype"] == "|O":
            if not all(item is None or type(item) in (str, int, float, bool) for item in items):
                raise ValueError("an array of objects must have strings, numbers and None alone, got others")
            array = np.empty(size, dtype=object)
            array[:] = items
            return array.reshape(shape)
        dtype = dtype_of(content["dtype"], KINDS)
        if size * dtype.itemsize > _MOST_BYTES:
            raise ValueError(
                f"arrays in the text must have at most {_MOST_BYTES} bytes, got {size} values of type {dtype}"
            )
        return self._values(dtype, items).reshape(shape)

    def _tensor(self, dtype: np.dtype[Any], name: Any, shape: list[int]) -> NDArray[Any]:
        array = self._arrays[name]
        little = dtype.newbyteorder("<")
        if little.str not in TENSOR_TYPES:
            if dtype.kind == "U" and array.size and array.view("<u4").max() > 0x10FFFF:
                raise ValueError(f"the array {name!r} must have valid characters, got others")
            array = array.view(little).reshape(shape)
        return array.astype(dtype, copy=False)

    def _sparse(self, content: object) -> object:
        name, shape, parts = list_of(content, 3)
        cls = _SPARSE.get(name) if isinstance(name, str) else None
        if cls is None:
            raise ValueError(f"a sparse matrix must be one of {', '.join(_SPARSE)}, got {described(name)}")
        shape = tuple(list_of(shape))
        if not all(type(size) is int and 0 <= size < 2**62 for size in shape):
            raise ValueError(f"the shape of a sparse matrix must be a list of sizes, got {cut(str(shape))}")
        ptr, indices, data = map(self.decode, list_of(parts, 3))
        integers = all(type(a) is np.ndarray and a.ndim == 1 and a.dtype.kind == "i" for a in (ptr, indices))
        if not integers or type(data) is not np.ndarray or data.ndim != 1 or data.dtype.kind not in "biuf":
            raise ValueError("a sparse matrix must have two arrays of integers and an array of numbers, got others")
        matrix = cls((data, indices, ptr), shape=shape)
        matrix.check_format(full_check=True)
        return matrix

    def _made(self, content: object, classes: Mapping[str, Any], what: str) -> Any:
        """An object of one of these classes with these fields; `what` it must be is for messages."""
        name, fields = list_of(content, 2)
        cls: Any = classes.get(name) if isinstance(name, str) else None
        fields = self.decode(fields)
        known = {f.name for f in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else None
        if type(fields) is not dict or fields.keys() != known:
            raise ValueError(f"{what}, got {described(name)} with {described(fields)}")
        if cls is loss.CustomLoss and fields["functions"] is not None:
            raise ValueError(f"a custom loss must have no methods, got {described(fields['functions'])}")
        try:
            return cls(**fields)
        except TypeError as error:
            raise ValueError(str(error)) from error

    def _random_state(self, content: object) -> np.random.RandomState:
        keys, pos, has_gauss, cached = map(self.decode, list_of(content, 4))
        # numpy does not check these values itself.
        is_array = type(keys) is np.ndarray and keys.dtype == np.uint32 and keys.shape == (624,)
        is_place = type(pos) is int and 0 <= pos <= 624 and type(has_gauss) is int and has_gauss in (0, 1)
        if not is_array or not is_place or type(cached) is not float or not math.isfinite(cached):
            raise ValueError("a random state must have the state of a Mersenne twister, got other values")
        state = np.random.RandomState(0)
        state.set_state(("MT19937", keys, pos, has_gauss, cached))
        return state

    def _label_format(self, content: object) -> LabelFormat:
        dtype, container = list_of(content, 2)
        if (container is not None and not isinstance(container, str)) or container not in _LABEL_CONTAINERS:
            raise ValueError(
                f"the container of labels must be csr_array, csr_matrix or None, got {described(container)}"
            )
        return LabelFormat(dtype_of(dtype, "biuf"), _LABEL_CONTAINERS[container])

    def _hierarchy(self, content: object) -> LabelHierarchy:
        found = object.__new__(LabelHierarchy)
        found.__setstate__(self.decode(content))
        return found


def _plain(array: NDArray[Any]) -> list[Any]:
    """The values of an array as JSON has them: bytes are characters."""
    values: list[Any] = array.tolist()
    return [value.decode("latin-1") for value in values] if array.dtype.kind == "S" else values
