"""The text of a model file and the arrays that it refers to: JSON, and checks of what a text states."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Never

import numpy as np

from weald._input.messages import cut, described

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


def only_item(encoded: object) -> tuple[str, Any]:
    if not isinstance(encoded, dict) or len(encoded) != 1:
        raise ValueError(f"an object must have a single key, its tag, got {described(encoded)}")
    return next(iter(encoded.items()))


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
