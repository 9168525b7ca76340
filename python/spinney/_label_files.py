"""Files of label data: from paths, bytes and file objects to the engine's readers, and back."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import xml.etree.ElementTree as ElementTree
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array

from spinney import _spinney, _validation
from spinney._sparse import is_sparse

__all__ = ["LabelData", "Mulan", "dump_xmc", "load_mulan", "load_svmlight_multilabel", "load_xmc"]

# How files of these names are opened.
_OPEN: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


class LabelData(NamedTuple):
    """X and labels of a file."""

    X: sparse.csr_array
    Y: sparse.csr_array


class Mulan(NamedTuple):
    """X and labels of a data set of Mulan, and what its files call them."""

    X: Any
    Y: sparse.csr_array
    feature_names: list[str]
    label_names: list[str]
    categories: dict[str, list[str]]


def load_xmc(path_or_buffer: Any) -> LabelData:
    r"""Read a file in the text format of the Extreme Classification Repository.

    Its first line is `n_samples n_features n_labels`; then each sample has a line `l1,l2,... f1:v1 f2:v2 ...`, where
    labels and features count from 0. The line of a sample without labels begins with a blank, or with a feature.

    Parameters
    ----------
    path_or_buffer : path, bytes or file object
        Files whose names end with `.gz`, `.bz2` or `.xz` are decompressed. A file object is one of bytes, and is read
        to its end.

    Returns
    -------
    X : csr_array of shape (n_samples, n_features), float32
        The float32 nearest to each number; zeros of the file are stored. `nan` is NaN, as in
        `sklearn.datasets.load_svmlight_file`; infinity, which fits refuse, is refused.
    Y : csr_array of shape (n_samples, n_labels), float32
        Ones.

    Raises
    ------
    ValueError
        For text of another form, indices out of range or twice in a line, infinite values, and other numbers of samples
        than the first line says; with the number of the line, what came and what is expected.
    OSError
        When the file cannot be read.

    See Also
    --------
    dump_xmc : The way back.

    Notes
    -----
    One pass on one thread, some hundred MB/s (`benches/peers/label_files.py`). Memory is that of the bytes and of what
    is returned, whatever the first line says. Lines may end with `\r\n`; features and labels of a line may come in any
    order.

    References
    ----------
    K. Bhatia, K. Dahiya, H. Jain, P. Kar, A. Mittal, Y. Prabhu and M. Varma, The extreme classification repository:
    multi-label datasets and code (2016).

    Examples
    --------
    >>> from spinney.datasets import load_xmc
    >>> X, Y = load_xmc(b"2 4 3\n0,2 1:0.5 3:2\n 0:1\n")
    >>> X.toarray()
    array([[0. , 0.5, 0. , 2. ],
           [1. , 0. , 0. , 0. ]], dtype=float32)
    >>> Y.toarray()
    array([[1., 0., 1.],
           [0., 0., 0.]], dtype=float32)
    """
    text, name = _bytes_of(path_or_buffer, "path_or_buffer")
    with _naming(name):
        return _label_data(*_spinney.read_xmc(text))


def dump_xmc(X: Any, Y: Any, path_or_buffer: Any) -> None:
    """Write X and labels in the text format of the Extreme Classification Repository.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Finite numbers and NaN, as float32, with as many digits as tell them from others. Of dense X what is not zero
        is written, of sparse X what is stored.
    Y : {array-like, sparse matrix} of shape (n_samples, n_labels)
        Labels, 0 and 1.
    path_or_buffer : path or file object
        Files whose names end with `.gz`, `.bz2` or `.xz` are compressed. A file object takes bytes.

    Raises
    ------
    ValueError
        For infinity in X, other values in Y, and other numbers of rows.
    OSError
        When the file cannot be written.

    See Also
    --------
    load_xmc : Returns the same X and Y.

    Examples
    --------
    >>> import io
    >>> from spinney.datasets import dump_xmc
    >>> file = io.BytesIO()
    >>> dump_xmc([[0, 0.5], [1, 0]], [[1, 1, 0], [0, 0, 0]], file)
    >>> print(file.getvalue().decode(), end="")
    2 2 3
    0,1 1:0.5
     0:1
    """
    X = _rows_of(X)
    labels = _labels_of(Y, X.shape[0])
    text = _spinney.write_xmc(X, (labels.indptr, labels.indices, labels.shape[1]))
    if hasattr(path_or_buffer, "write"):
        path_or_buffer.write(text)
        return
    path = _path_of(path_or_buffer, "path_or_buffer", "paths and file objects")
    with _OPEN.get(path.suffix.lower(), open)(path, "wb") as file:
        file.write(text)


def load_svmlight_multilabel(
    path_or_buffer: Any,
    *,
    n_features: int | None = None,
    n_labels: int | None = None,
    zero_based: bool | str = "auto",
) -> LabelData:
    r"""Read labels and features in the format of svmlight and libsvm, with several labels for each sample.

    A sample is a line `l1,l2,... f1:v1 f2:v2 ...`. As `sklearn.datasets.load_svmlight_file(multilabel=True)`, with
    labels as a sparse matrix in place of tuples.

    Parameters
    ----------
    path_or_buffer : path, bytes or file object
        As in `load_xmc`.
    n_features : int, default=None
        Columns of X. By default one more than the largest feature; files of one data set, such as a test file, may have
        fewer than others.
    n_labels : int, default=None
        Columns of Y; by default one more than the largest label.
    zero_based : bool or "auto", default="auto"
        Whether features count from 0. "auto" is False unless a feature 0 occurs: say which for files that may lack the
        first. Labels count from 0 in any case: the label 3 is the fourth column.

    Returns
    -------
    X : csr_array of shape (n_samples, n_features), float32
        As in `load_xmc`.
    Y : csr_array of shape (n_samples, n_labels), float32
        Ones.

    Raises
    ------
    ValueError
        For text of another form, labels that are no whole numbers, indices out of range or twice in a line and infinite
        values; with the number of the line, what came and what is expected.
    OSError
        When the file cannot be read.

    Notes
    -----
    What follows `#` is a comment. Lines of blanks alone are no samples, as in scikit-learn. `qid:` and its number,
    which may follow the labels, are ignored. Cost: as of `load_xmc`.

    Examples
    --------
    >>> from spinney.datasets import load_svmlight_multilabel
    >>> X, Y = load_svmlight_multilabel(b"0,2 1:0.5 3:2 # the first\n1:1\n", n_labels=4)
    >>> X.shape, Y.shape, Y.indices.tolist()
    ((2, 3), (2, 4), [0, 2])
    """
    n_features, n_labels = _count(n_features, "n_features"), _count(n_labels, "n_labels")
    if isinstance(zero_based, str):
        if zero_based != "auto":
            raise ValueError(f'zero_based is {zero_based!r}, accepted: True, False and "auto"')
        base = None
    elif isinstance(zero_based, bool | np.bool_):
        base = bool(zero_based)
    else:
        raise TypeError(f'zero_based is {zero_based!r}, accepted: True, False and "auto"')
    text, name = _bytes_of(path_or_buffer, "path_or_buffer")
    with _naming(name):
        return _label_data(*_spinney.read_svmlight(text, n_features, n_labels, base))


def load_mulan(arff_path: Any, xml_path: Any) -> Mulan:
    r"""Read a data set of Mulan: an ARFF file, and an XML file that says which of its attributes are labels.

    Parameters
    ----------
    arff_path : path, bytes or file object
        As in `load_xmc`. Attributes are `numeric`, `real`, `integer` or lists of categories; rows are all dense or all
        sparse, `{i v, j w}`. Text is UTF-8.
    xml_path : path, bytes or file object
        `<labels><label name="..."/>...</labels>`, where labels may hold labels. Files with a document type, which may
        declare entities, are refused.

    Returns
    -------
    X : ndarray or csr_array of shape (n_samples, n_features), float32
        Sparse where the rows of the file are. Categories are their codes, their places among the categories that are
        declared, from 0; `?` is NaN.
    Y : csr_array of shape (n_samples, n_labels), float32
        Ones.
    feature_names, label_names : list of str
        In the order of the ARFF file, which is that of the columns.
    categories : dict of list of str
        Of each feature that has categories, by its name: what its codes mean. Its keys say which features to pass as
        `categorical_features`.

    Raises
    ------
    ValueError
        For files of another form, with the number of the line, what came and what is expected; for labels that are not
        0 or 1, or missing; for a label that is no attribute.
    OSError
        When a file cannot be read.

    Notes
    -----
    Strings, dates and relations are refused. Quotes may be single or double; a backslash before a character is that
    character, but for `\n`, `\r`, `\t` and `\uXXXX`. One pass on one thread; memory is that of the bytes and of what
    is returned.

    References
    ----------
    G. Tsoumakas, E. Spyromitros-Xioufis, J. Vilcek and I. Vlahavas, Mulan: a Java library for multi-label learning
    (Journal of Machine Learning Research 12, 2011).

    Examples
    --------
    >>> from spinney.datasets import load_mulan
    >>> arff = b'''@relation tiny
    ... @attribute size numeric
    ... @attribute colour {red, 'dark blue'}
    ... @attribute sweet {0, 1}
    ... @data
    ... 2.5, 'dark blue', 1
    ... ?, red, 0
    ... '''
    >>> data = load_mulan(arff, b'<labels><label name="sweet"/></labels>')
    >>> data.X
    array([[2.5, 1. ],
           [nan, 0. ]], dtype=float32)
    >>> data.Y.toarray().tolist(), data.label_names, data.categories
    ([[1.0], [0.0]], ['sweet'], {'colour': ['red', 'dark blue']})
    """
    names = _label_names(*_bytes_of(xml_path, "xml_path"))
    text, name = _bytes_of(arff_path, "arff_path")
    with _naming(name):
        found = _spinney.read_mulan(text, names)
    Y = _ones(*found["labels"])
    if "sparse" in found:
        X: Any = _csr(*found["sparse"])
    else:
        values, n_features = found["dense"]
        X = values.reshape(Y.shape[0], n_features)
    pairs = zip(found["feature_names"], found["categories"], strict=True)
    categories = {feature: names for feature, names in pairs if names is not None}
    return Mulan(X, Y, found["feature_names"], found["label_names"], categories)


# ---- in


def _bytes_of(source: Any, what: str) -> tuple[bytes, str | None]:
    """The bytes of a file, and its name where it has one."""
    if isinstance(source, bytes | bytearray | memoryview):
        return bytes(source), None
    if hasattr(source, "read"):
        found = source.read()
        if not isinstance(found, bytes):
            raise TypeError(f"{what} reads {type(found).__name__}, accepted: files opened in binary mode")
        return found, None
    path = _path_of(source, what, "paths, bytes and file objects")
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
        raise TypeError(f"{what} is a {type(source).__name__}, accepted: {accepted}") from error


@contextmanager
def _naming(name: str | None) -> Iterator[None]:
    """Names the file in what the engine says of its lines."""
    try:
        yield
    except ValueError as error:
        if name is None:
            raise
        raise ValueError(f"{name}: {error}") from None


def _count(count: Any, what: str) -> int | None:
    if count is None:
        return None
    if isinstance(count, bool) or not isinstance(count, Integral) or not 0 <= int(count) <= _validation.MOST:
        raise ValueError(f"{what} is {count!r}, accepted: an integer from 0 to {_validation.MOST}, or None")
    return int(count)


class _LabelNames:
    """Takes what a parser of XML finds, and keeps the names of labels."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        kind = tag.rpartition("}")[2]
        if kind == "label":
            if "name" not in attributes:
                raise ValueError("a label has no name, expected <label name=...>")
            self.names.append(attributes["name"])
        elif kind != "labels":
            raise ValueError(f"there is an element {kind!r}, expected labels and label")

    def doctype(self, name: str, public: str | None, system: str | None) -> NoReturn:
        raise ValueError("there is a document type, which may declare entities, expected none")

    def close(self) -> None:
        """Asked for by parsers."""


def _label_names(text: bytes, name: str | None) -> list[str]:
    """The names of labels in a file of XML, in its order."""
    name = "xml_path" if name is None else name
    found = _LabelNames()
    parser = ElementTree.XMLParser(target=found)
    try:
        parser.feed(text)
        parser.close()
    except ElementTree.ParseError as error:
        raise ValueError(f"{name} is no XML: {error}") from error
    except (ValueError, LookupError) as error:  # LookupError for encodings that are not known
        raise ValueError(f"{name}: {error}") from error
    names = found.names
    if not names:
        raise ValueError(f"{name} has no labels, expected at least one <label name=...>")
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise ValueError(f"{name} has the label {twice!r} twice, expected names that differ")
    return names


def _label_data(rows: Any, labels: Any) -> LabelData:
    return LabelData(_csr(*rows), _ones(*labels))


def _csr(values: NDArray[np.float32], indices: Any, indptr: Any, n_columns: int) -> sparse.csr_array:
    matrix = sparse.csr_array((values, indices, indptr), shape=(len(indptr) - 1, n_columns))
    matrix.has_canonical_format = True  # strictly rising, as the engine has proven
    return matrix


def _ones(indices: Any, indptr: Any, n_labels: int) -> sparse.csr_array:
    return _csr(np.ones(len(indices), dtype=np.float32), indices, indptr, n_labels)


# ---- out


def _rows_of(X: Any) -> sparse.csr_array:
    """X as float32 CSR in canonical form."""
    with np.errstate(over="ignore"):  # what overflows is infinite, which the engine refuses
        if is_sparse(X):
            X = _validation.canonical(X, "X").tocsr()
            return sparse.csr_array(X.astype(np.float32, copy=False))
        X = check_array(X, dtype=np.float32, ensure_all_finite=False, ensure_min_samples=0, ensure_min_features=0)
        return sparse.csr_array(X)


def _labels_of(Y: Any, n_samples: int) -> sparse.csr_array:
    """The pattern of the ones of Y."""
    if not is_sparse(Y):
        Y = check_array(Y, dtype=None, input_name="Y", ensure_min_samples=0, ensure_min_features=0)
        if not _validation.is_binary(Y):
            raise ValueError("Y holds other values than the numbers 0 and 1, accepted: labels")
        Y = sparse.csr_array(Y)
    return _validation.sparse_labels(Y, n_samples)
