"""Reading and writing of multi-label text formats, from and to paths, bytes and file objects."""

from __future__ import annotations

import bz2
import gzip
import lzma
import math
import os
import re
import xml.etree.ElementTree as ElementTree
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array

from weald import _weald
from weald._input import checks, targets
from weald._input.checks import Float
from weald._input.sparse import Raw, is_sparse
from weald._input.targets import check_array_of_y
from weald._parameters.types import MatrixLike

__all__ = ["dump_xmc", "load_mulan", "load_svmlight_multilabel", "load_xmc"]


# A text between quotes where a value or a name may begin. Without a second quote, it is the rest of the line.
_QUOTED = re.compile(
    rb"""(^[ \t]*(?:@[A-Za-z]+[ \t]+)?|[,{][ \t]*(?:\d+[ \t]+)?)('(?:[^'\\]|\\.)*(?:'|$)|"(?:[^"\\]|\\.)*(?:"|$))""",
    re.DOTALL,
)
_DATA = re.compile(rb"^[ \t]*@data[ \t]*(?:%[^\n]*)?\r?$", re.MULTILINE | re.IGNORECASE)
_ATTRIBUTE = re.compile(rb"^[ \t]*@attribute[ \t]", re.MULTILINE | re.IGNORECASE)
# A brace that may follow something else in its line.
_LATER_BRACE = re.compile(rb"[}, \t]\{")
_COMMENT = re.compile(rb"[ \t]%")
_BRACE = re.compile(rb"[ \t,][ \t]*\{")
# What follows the values of a row, if it is a weight.
_WEIGHT = re.compile(rb"[ \t]*,?[ \t]*\{([^{}]*)\}[ \t]*")
_MOST_SHOWN = 40


def plain_arff(text: bytes) -> tuple[bytes, Float | None]:
    """The text of a file without comments behind other text and without weights, and the weights if rows have some.

    Lines keep their numbers. A row without a weight has the weight 1. Other lines are not changed: the engine says what is
    wrong with them. The text itself is returned if there is nothing to take out.
    """
    found = _DATA.search(text)
    if found is None:
        return text, None
    header, data = text[: found.end()], text[found.end() :]
    are_plain = b"%" not in data and (b"{" not in data or _LATER_BRACE.search(data) is None)
    if are_plain and b"%" not in header:
        return text, None
    n_attributes = len(_ATTRIBUTE.findall(header.removeprefix(b"\xef\xbb\xbf")))
    lines = header.split(b"\n")
    lines = [_without_comment(line) if b"%" in line else line for line in lines]
    if are_plain:
        return b"\n".join(lines) + data, None
    weights, are_given = [], False
    for number, line in enumerate(data.split(b"\n")[1:], len(lines) + 1):
        content = line.lstrip(b" \t\r")
        if not content or content.startswith(b"%"):
            lines.append(line)
            continue
        weight = None
        if b"%" in line or b"{" in content[1:]:
            line, weight = _row(line, n_attributes, number)
        lines.append(line)
        are_given |= weight is not None
        weights.append(1.0 if weight is None else weight)
    return b"\n".join(lines), np.array(weights) if are_given else None


def _masked(line: bytes) -> bytes:
    """The line with other bytes in place of those between quotes."""
    if b"'" not in line and b'"' not in line:
        return line
    return _QUOTED.sub(lambda found: found[1] + b"q" * len(found[2]), line)


def _without_comment(line: bytes) -> bytes:
    """A line of the header."""
    masked = _masked(line)
    if not masked.lstrip(b" \t").startswith(b"@"):
        return line
    found = _COMMENT.search(masked)
    brace = masked.find(b"{", 0, found.start() if found is not None else None)
    if brace >= 0:  # categories, which may have percent signs
        end = masked.find(b"}", brace) + 1
        if end == 0:
            return line
        if masked.startswith(b"%", end):
            return line[:end]
        found = _COMMENT.search(masked, end)
    return line if found is None else line[: found.start()]


def _row(line: bytes, n_attributes: int, number: int) -> tuple[bytes, float | None]:
    """A row without its comment and its weight, and the weight."""
    masked = _masked(line)
    if masked.lstrip(b" \t").startswith(b"{"):
        end = masked.find(b"}") + 1
        return (line, None) if end == 0 else _split(line, masked, end, number)
    ends = [at for pattern in (_COMMENT, _BRACE) if (at := _after_last(masked, pattern, n_attributes)) is not None]
    return _split(line, masked, min(ends), number) if ends else (line, None)


def _after_last(masked: bytes, pattern: re.Pattern[bytes], n_attributes: int) -> int | None:
    """Where the pattern first occurs behind the last value of a dense row."""
    for found in pattern.finditer(masked):
        at = found.start()
        # Between a comma and what follows it is no value, so that this is one.
        has_value = masked[masked.rfind(b",", 0, at) + 1 : at].strip(b" \t")
        if has_value and masked.count(b",", 0, at) >= n_attributes - 1:
            return at
    return None


def _split(line: bytes, masked: bytes, end: int, number: int) -> tuple[bytes, float | None]:
    """The row up to `end`, and the weight that follows; the whole line if something else follows."""
    rest = masked[end:].rstrip(b"\r")
    found = _WEIGHT.match(rest)
    after = rest[found.end() :] if found is not None else rest.lstrip(b" \t")
    if after and not after.startswith(b"%"):
        return line, None
    if found is None:
        return line[:end], None
    return line[:end], _weight(found[1].strip(b" \t"), number)


def _weight(text: bytes, number: int) -> float:
    try:
        # Python accepts more than numbers: digits with underscores between them.
        value = math.nan if b"_" in text else float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        shown = text[:_MOST_SHOWN].decode("ascii", "backslashreplace") + "..." * (len(text) > _MOST_SHOWN)
        raise ValueError(f"line {number}: the weight '{shown}', expected a finite number of at least 0 between braces")
    return value


# The functions that open files with these extensions.
_OPEN: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}

# A file by its path, its content, or an object with a method `read`.
Source: TypeAlias = str | os.PathLike[str] | bytes | bytearray | memoryview | BinaryIO


class LabelData(NamedTuple):
    """X and labels of a file, as a named tuple."""

    X: sparse.csr_array
    Y: sparse.csr_array


class Mulan(NamedTuple):
    """X, labels and weights of a Mulan data set, with names of features, labels and categories, as a named tuple."""

    X: NDArray[np.float32] | sparse.csr_array
    Y: sparse.csr_array
    feature_names: list[str]
    label_names: list[str]
    categories: dict[str, list[str]]
    sample_weight: NDArray[np.float64] | None


def load_xmc(path_or_buffer: Source) -> LabelData:
    r"""Load a file in the text format of the Extreme Classification Repository (Bhatia et al. 2016).

    The first line is `n_samples n_features n_labels`. Each following line is one sample, `l1,l2,... f1:v1 f2:v2 ...`,
    in any order, with indices from 0; a sample without labels starts with a space or with a feature. The text is parsed
    in one pass by a single thread, at some hundred MB/s; memory is that of the content and of the result. Faults of the
    text raise a ValueError with the number of the line.

    >>> from weald.datasets import load_xmc
    >>> X, Y = load_xmc(b"2 4 3\n0,2 1:0.5 3:2\n 0:1\n")
    >>> Y.toarray()
    array([[1., 0., 1.],
           [0., 0., 0.]], dtype=float32)

    Parameters
    ----------
    path_or_buffer : str, path-like, bytes or binary file object
        The file or its content. Files whose names end with `.gz`, `.bz2` or `.xz` are decompressed. A file object must
        be opened in binary mode, and is read to its end.

    Returns
    -------
    X : csr_array of shape (n_samples, n_features)
        The features, float32. Each number is rounded to the nearest float32, zeros in the file are stored, and `nan` is
        NaN.
    Y : csr_array of shape (n_samples, n_labels)
        The labels, float32. All stored entries are 1.

    Raises
    ------
    OSError
        If the file cannot be read.
    """
    text, name = _bytes_of(path_or_buffer, "path_or_buffer")
    with _naming(name):
        return _label_data(*_weald.read_xmc(text))


def dump_xmc(X: MatrixLike, Y: MatrixLike, path_or_buffer: str | os.PathLike[str] | BinaryIO) -> None:
    """Write X and labels to a file in the text format of the Extreme Classification Repository, see `load_xmc`.

    >>> import io
    >>> from weald.datasets import dump_xmc
    >>> file = io.BytesIO()
    >>> dump_xmc([[0, 0.5], [1, 0]], [[1, 1, 0], [0, 0, 0]], file)
    >>> print(file.getvalue().decode(), end="")
    2 2 3
    0,1 1:0.5
     0:1

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The features, finite or NaN. They are converted to float32, and written with enough digits to be restored
        exactly: the non-zero values of dense X, or the stored entries of sparse X.
    Y : {array-like, sparse matrix} of shape (n_samples, n_labels)
        The labels, 0 or 1.
    path_or_buffer : str, path-like or binary file object
        The file. Files whose names end with `.gz`, `.bz2` or `.xz` are compressed. A file object must be opened in
        binary mode.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    X = _rows_of(X)
    labels = _labels_of(Y, X.shape[0])
    text = _weald.write_xmc(X, (labels.indptr, labels.indices, labels.shape[1]))
    if hasattr(path_or_buffer, "write"):
        path_or_buffer.write(text)
        return
    path = _path_of(path_or_buffer, "path_or_buffer", "a path or a file object")
    with _OPEN.get(path.suffix.lower(), open)(path, "wb") as file:
        file.write(text)


def load_svmlight_multilabel(
    path_or_buffer: Source,
    *,
    n_features: int | None = None,
    n_labels: int | None = None,
    zero_based: bool | Literal["auto"] = "auto",
) -> LabelData:
    r"""Load a multi-label file in the svmlight / libsvm format, with labels as a sparse matrix.

    Each line is one sample, `l1,l2,... f1:v1 f2:v2 ...`, as for `sklearn.datasets.load_svmlight_file(multilabel=True)`:
    text after `#` is a comment, blank lines are no samples, and `qid:` is ignored. Cost and errors are those of
    `load_xmc`.

    >>> from weald.datasets import load_svmlight_multilabel
    >>> X, Y = load_svmlight_multilabel(b"0,2 1:0.5 3:2 # the first\n1:1\n", n_labels=4)
    >>> X.shape, Y.shape, Y.indices.tolist()
    ((2, 3), (2, 4), [0, 2])

    Parameters
    ----------
    path_or_buffer : str, path-like, bytes or binary file object
        The file or its content, as in `load_xmc`.
    n_features : int or None, default=None
        Number of features. None: from the largest index, which may differ between files for training and test.
    n_labels : int or None, default=None
        Number of labels. If None, it is inferred from the largest index.
    zero_based : bool or "auto", default="auto"
        Whether the indices of features in the file are zero-based. "auto" assumes one-based indices unless the index 0
        occurs. Labels are always zero-based.

    Returns
    -------
    X : csr_array of shape (n_samples, n_features)
        The features, float32, as in `load_xmc`.
    Y : csr_array of shape (n_samples, n_labels)
        The labels, float32. All stored entries are 1.
    """
    n_features, n_labels = _count(n_features, "n_features"), _count(n_labels, "n_labels")
    if isinstance(zero_based, str):
        if zero_based != "auto":
            raise ValueError(f'zero_based must be True, False or "auto", got {zero_based!r}')
        base = None
    elif isinstance(zero_based, bool | np.bool_):
        base = bool(zero_based)
    else:
        raise TypeError(f'zero_based must be True, False or "auto", got {zero_based!r}')
    text, name = _bytes_of(path_or_buffer, "path_or_buffer")
    with _naming(name):
        return _label_data(*_weald.read_svmlight(text, n_features, n_labels, base))


def load_mulan(arff_path: Source, xml_path: Source) -> Mulan:
    r"""Load a Mulan data set: an ARFF file, and an XML file that lists the attributes that are labels.

    The text is parsed in one pass by a single thread, in memory for its content and the result; comments behind other
    text, and weights, take a pass before, in which the content is copied. A backslash stands before a character, or in
    `\n`, `\r`, `\t` and `\uXXXX`. Errors are those of `load_xmc`. Source: G. Tsoumakas et al., *Mulan: a Java library
    for multi-label learning*, JMLR 12, 2011.

    >>> from weald.datasets import load_mulan
    >>> arff = b"@relation tiny\n@attribute size numeric\n@attribute sweet {0, 1}\n@data\n2.5, 1\n?, 0\n"
    >>> data = load_mulan(arff, b'<labels><label name="sweet"/></labels>')
    >>> data.X.tolist(), data.Y.toarray().tolist(), data.label_names
    ([[2.5], [nan]], [[1.0], [0.0]], ['sweet'])

    Parameters
    ----------
    arff_path : str, path-like, bytes or binary file object
        The ARFF file or its content, in UTF-8. Attributes are `numeric`, `real`, `integer` or lists of categories; rows
        are all dense or all sparse, `{i v, j w}`, and may end with a weight, `{2.5}`. A percent sign begins a comment
        at the beginning of a line, after a blank behind a dense row or a declaration, and after a sparse row.
    xml_path : str, path-like, bytes or binary file object
        The XML file or its content, `<labels><label name="..."/>...</labels>`, in which labels may be nested. Document
        type declarations are not supported, since they may declare entities.

    Returns
    -------
    X : {ndarray, csr_array} of shape (n_samples, n_features)
        The features, float32, sparse if the rows of the file are. Categories are codes from 0 in the order of the
        declaration. `?` is NaN.
    Y : csr_array of shape (n_samples, n_labels)
        The labels, float32. All stored entries are 1.
    feature_names, label_names : list of str
        Names of the columns of X and Y, in the order of the ARFF file.
    categories : dict of list of str
        The categories of each categorical feature, by its name and in the order of their codes. The keys can be passed
        as `categorical_features`.
    sample_weight : ndarray of shape (n_samples,)
        The weights of the rows, float64; rows without a weight have the weight 1. None if no row has a weight.
    """
    names = _label_names(*_bytes_of(xml_path, "xml_path"))
    text, name = _bytes_of(arff_path, "arff_path")
    with _naming(name):
        text, weights = plain_arff(text)
        found = _weald.read_mulan(text, names)
    Y = _ones(*found["labels"])
    if "sparse" in found:
        X: Any = _csr(*found["sparse"])
    else:
        values, n_features = found["dense"]
        X = values.reshape(Y.shape[0], n_features)
    pairs = zip(found["feature_names"], found["categories"], strict=True)
    categories = {feature: names for feature, names in pairs if names is not None}
    return Mulan(X, Y, found["feature_names"], found["label_names"], categories, weights)


# ---- reading


def _bytes_of(source: object, what: str) -> tuple[bytes, str | None]:
    """The bytes of a file, and its name if it has one."""
    if isinstance(source, bytes | bytearray | memoryview):
        return bytes(source), None
    if hasattr(source, "read"):
        found = source.read()
        if not isinstance(found, bytes):
            raise TypeError(f"{what} must be opened in binary mode, but read() returned {type(found).__name__}")
        return found, None
    path = _path_of(source, what, "a path, bytes or a file object")
    with _OPEN.get(path.suffix.lower(), open)(path, "rb") as file:
        try:
            return file.read(), str(path)
        except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
            if getattr(error, "errno", None) is not None:
                raise
            raise ValueError(f"{path} cannot be decompressed: {error}") from error


def _path_of(source: Any, what: str, accepted: str) -> Path:
    try:
        return Path(os.fspath(source))
    except TypeError as error:
        raise TypeError(f"{what} must be {accepted}, got a {type(source).__name__}") from error


@contextmanager
def _naming(name: str | None) -> Iterator[None]:
    """Add the name of the file to error messages of the engine."""
    try:
        yield
    except ValueError as error:
        if name is None:
            raise
        raise ValueError(f"{name}: {error}") from None


def _count(count: object, what: str) -> int | None:
    if count is None:
        return None
    return checks.integer(what, count, 0, checks.MOST, also=", or None")


class _LabelNames:
    """Target of an XML parser that collects the names of labels."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        kind = tag.rpartition("}")[2]
        if kind == "label":
            if "name" not in attributes:
                raise ValueError("each label must have a name, <label name=...>, got one without")
            self.names.append(attributes["name"])
        elif kind != "labels":
            raise ValueError(f"elements must be labels or label, got {kind!r}")

    def doctype(self, name: str, public: str | None, system: str | None) -> NoReturn:
        raise ValueError("the file must not have a document type declaration, which may declare entities")

    def close(self) -> None:
        """Do nothing; XML parsers require this method."""


def _label_names(text: bytes, name: str | None) -> list[str]:
    """The names of labels in an XML file, in their order."""
    name = "xml_path" if name is None else name
    found = _LabelNames()
    parser = ElementTree.XMLParser(target=found)
    try:
        parser.feed(text)
        parser.close()
    except ElementTree.ParseError as error:
        raise ValueError(f"{name} must be XML: {error}") from error
    except (ValueError, LookupError) as error:  # LookupError for unknown encodings
        raise ValueError(f"{name}: {error}") from error
    names = found.names
    if not names:
        raise ValueError(f"{name} must have at least one <label name=...>, got none")
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise ValueError(f"{name} must have distinct names of labels, got {twice!r} twice")
    return names


def _label_data(rows: Any, labels: Any) -> LabelData:
    return LabelData(_csr(*rows), _ones(*labels))


def _csr(values: NDArray[np.float32], indices: NDArray[Any], indptr: NDArray[Any], n_columns: int) -> sparse.csr_array:
    matrix = sparse.csr_array((values, indices, indptr), shape=(len(indptr) - 1, n_columns))
    matrix.has_canonical_format = True  # indices are strictly ascending, as the engine has checked
    return matrix


def _ones(indices: NDArray[Any], indptr: NDArray[Any], n_labels: int) -> sparse.csr_array:
    return _csr(np.ones(len(indices), dtype=np.float32), indices, indptr, n_labels)


# ---- writing


def _rows_of(X: Raw) -> sparse.csr_array:
    """X as float32 CSR in canonical form."""
    with np.errstate(over="ignore"):  # overflow gives infinity, for which the engine raises an error
        if is_sparse(X):
            X = checks.canonical(X, "X").tocsr()
            return sparse.csr_array(X.astype(np.float32, copy=False))
        with checks.named("X"):
            X = check_array(X, dtype=np.float32, ensure_all_finite=False, ensure_min_samples=0, ensure_min_features=0)
        return sparse.csr_array(X)


def _labels_of(Y: Raw, n_samples: int) -> sparse.csr_array:
    """The labels that are 1, as a sparse matrix."""
    check_array_of_y(Y, "Y")
    if not is_sparse(Y) and np.size(Y) == 0:
        Y = sparse.csr_array(np.zeros(np.shape(Y), dtype=np.bool_))
    found: sparse.csr_array = targets.labels(Y, n_samples, what="Y", masks=False).original
    return found
