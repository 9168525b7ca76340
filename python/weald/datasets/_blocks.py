"""Matrices on disk that are written block by block, and used as memory-mapped files."""

from __future__ import annotations

import errno
import json
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from weald._input import checks
from weald._input.frames import Columns, StoredFrame, check_distinct
from weald._input.messages import described
from weald._input.schema import as_categories, is_by_value, numbers_of
from weald._input.sparse import Matrix, Raw, is_sparse

__all__ = ["dump_blocks", "load_blocks"]

FilePath: TypeAlias = str | os.PathLike[str]

# The files of a folder: those of a dense matrix, and those of a CSC matrix.
_DENSE = ("X.npy",)
_SPARSE = ("data.npy", "indices.npy", "indptr.npy", "shape.npy")
# The names of columns and the categories of a dense matrix, if it was one of frames.
_COLUMNS = "columns.json"
# The number of codes of a column that are replaced at once.
_CODES_AT_ONCE = 1 << 20
# Blocks of an iterator, of which each one is seen once, wait in this folder for the second pass.
_WAITING = "blocks"
# The number of bytes that are written at once to reserve the space of a file.
_AT_ONCE = 1 << 24


def dump_blocks(blocks: Any, folder: FilePath) -> Any:
    """Write blocks of samples to a folder, as one matrix for which no memory is needed.

    The matrix is in memory-mapped files, and a model that is fitted to it is the same, byte for byte, as with a float32
    matrix in memory. One block at a time is in memory, and for sparse blocks 16 bytes for each feature; dense files
    have 4 bytes for each value, sparse ones 8, or 12 beyond 2**31 values. Names of columns and categories of frames are
    kept. After any error the folder is as it was before; errors of a block have its number. See
    `docs/memory.md#x-on-disk`.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import weald
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     weald.datasets.dump_blocks([[[0.0, 1.0]], [[2.0, 3.0]]], Path(folder) / "X").tolist()
    [[0.0, 1.0], [2.0, 3.0]]

    Parameters
    ----------
    blocks : iterable of {array-like, frame, sparse matrix, path}, or file or data set of pyarrow
        The blocks in the order of their samples, of shape (n_samples_of_the_block, n_features), all dense or all
        sparse; a path is that of a `.npy`, or of a `.npz` of `scipy.sparse.save_npz`. Values must be finite or NaN;
        columns of frames may be texts and categories. A list is read twice; the blocks of an iterator are written twice.
    folder : str or path-like
        The folder to write. It must not exist, or be empty, and the folder that contains it must exist.

    Returns
    -------
    X : memmap of shape (n_samples, n_features), frame over one, or csc_array of this shape
        The matrix, float32: an array in Fortran order, or a CSC array over memory-mapped arrays. It cannot be written.
        If the blocks are frames, it has their `columns`, and is for `fit` and `predict` a frame with their categories.

    Raises
    ------
    FileExistsError, OSError
        If `folder` contains something, or a file cannot be read or written, for example because the disk is full.
    RuntimeError
        If an iterable gives blocks of other sizes when it is read again.
    """
    # Those of pyarrow: a file, and a data set, scanner or table.
    if callable(batches := getattr(blocks, "iter_batches", getattr(blocks, "to_batches", None))):
        blocks = batches()
    is_one = is_sparse(blocks) or hasattr(blocks, "columns") or (isinstance(blocks, np.ndarray) and blocks.ndim == 2)
    if is_one or isinstance(blocks, str | bytes | os.PathLike | Mapping | Set) or not isinstance(blocks, Iterable):
        how = "; the list [X] has a matrix X as its only block" if is_one else ""
        raise TypeError(
            f"blocks must be an iterable of arrays, sparse matrices and paths of files, got {described(blocks)}{how}"
        )
    folder = _path(folder).absolute()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileExistsError(f"folder must not exist, or be empty, got {str(folder)!r}")
    if not folder.parent.is_dir():
        raise FileNotFoundError(f"folder must be in a folder that exists, got {str(folder)!r}")
    written = folder.with_name(f"{folder.name}.{secrets.token_hex(4)}.part")
    written.mkdir()
    try:
        _write(blocks, written)
        if folder.exists():
            folder.rmdir()
        written.rename(folder)
    except BaseException:
        shutil.rmtree(written, ignore_errors=True)
        raise
    return load_blocks(folder)


def load_blocks(folder: FilePath) -> Any:
    """Open the matrix that `dump_blocks` has written to a folder.

    Parameters
    ----------
    folder : str or path-like
        The folder. Its files must not be changed as long as the matrix is used.

    Returns
    -------
    X : memmap of shape (n_samples, n_features), frame over one, or csc_array of this shape
        The matrix, float32, which cannot be written; see `dump_blocks`. Only columns of categories are read already.

    Raises
    ------
    FileNotFoundError
        If the folder does not exist, or has none of the files.
    """
    folder = _path(folder)
    is_dense = (folder / _DENSE[0]).exists()
    names = _DENSE if is_dense else _SPARSE
    if not is_dense and not (folder / _SPARSE[0]).exists():
        raise FileNotFoundError(f"folder must be one that dump_blocks has written, got {str(folder)!r}")

    def refused(how: object) -> ValueError:
        return ValueError(f"folder must have files that dump_blocks has written, got {str(folder)!r}: {how}")

    try:
        arrays = [_loaded(folder / name) for name in names]
        X: Any
        if is_dense:
            [X] = arrays
            if X.ndim != 2 or X.dtype != np.float32:
                raise refused(f"{names[0]} has shape {X.shape} and dtype {X.dtype}")
            return _framed(X, folder / _COLUMNS) if (folder / _COLUMNS).exists() else X
        data, indices, indptr, shape = arrays
        if data.dtype != np.float32 or shape.shape != (2,) or shape.dtype != np.int64:
            raise refused(f"data.npy has dtype {data.dtype}, and shape.npy has shape {shape.shape}")
        X = sparse.csc_array((data, indices, indptr), shape=tuple(shape.tolist()), copy=False)
        X.check_format(full_check=False)
    except FileNotFoundError as error:
        raise refused(error) from error
    except ValueError as error:
        raise error if str(error).startswith("folder must") else refused(error) from error
    # Each block was in this form.
    X.has_canonical_format = True
    opened: Matrix = X
    return opened


def _framed(X: NDArray[Any], path: Path) -> StoredFrame:
    """The matrix with the names of its columns and its categories. Raises a ValueError for a file that is none of these."""
    content = json.loads(path.read_text())
    if not isinstance(content, dict) or content.keys() != {"names", "categories", "declared"}:
        raise ValueError(f"{path.name} has other content")
    names, categories, declared = content.values()
    of_columns = [(names, str), (categories, list | None), (declared, bool)]
    if not all(isinstance(part, list) and len(part) == X.shape[1] for part, _ in of_columns) or not all(
        isinstance(value, kind) for part, kind in of_columns for value in part
    ):
        raise ValueError(f"{path.name} must have a name and categories or null for each of {X.shape[1]} columns")
    check_distinct(names)
    for j, known in enumerate(categories):
        if known is not None and as_categories(known, names[j]).tolist() != known:
            raise ValueError(f"{path.name} must have texts or numbers as categories")
        if known is not None and len(X) and not (np.isnan(X[:, j]) | np.isin(X[:, j], np.arange(len(known)))).all():
            raise ValueError(
                f"{path.name} must have the {len(known)} categories of column {names[j]!r}, got other codes"
            )
    return StoredFrame(X, names, categories, declared)


def _loaded(path: Path) -> Any:
    """The array of a file `.npy`, which is not read yet. Raises a ValueError for a file that is none."""
    with whole_file():
        return np.load(path, mmap_mode="r", allow_pickle=False)


@contextmanager
def whole_file() -> Iterator[None]:
    """Raise a ValueError in place of what the readers of NumPy, SciPy and Python raise for damaged headers and archives.

    Headers are Python's syntax, so that these are errors of many types.
    """
    try:
        yield
    except (OSError, ValueError):
        raise
    except Exception as error:
        raise ValueError(f"the file is damaged: {type(error).__name__}: {error}") from error


def _path(folder: object) -> Path:
    if not isinstance(folder, str | os.PathLike):
        raise TypeError(f"folder must be a path, got {described(folder)}")
    return Path(folder)


class _Form(NamedTuple):
    """What all blocks must have in common: the format, the number of features, and names and kinds of columns, if any."""

    is_sparse: bool
    n_features: int
    names: list[Any] | None
    # Whether each column has categories, and whether its dtype declares them.
    kinds: list[tuple[bool, bool]] | None

    @classmethod
    def of(cls, block: Raw, columns: Columns | None, what: str) -> _Form:
        shape = np.shape(block)
        if len(shape) != 2:
            raise ValueError(f"{what} must have shape (n_samples, n_features), got shape {shape}")
        names = kinds = None
        if columns is not None and columns.have_types:
            names = columns.labels()
            check_distinct(names or (), what)
            kinds = [(is_by_value(columns, j), columns.declares(j)) for j in range(columns.count)]
        return cls(is_sparse(block), int(shape[1]), names, kinds)

    def check(self, other: _Form, what: str) -> None:
        """Raise if the other block has another form."""
        if other.is_sparse != self.is_sparse:
            kinds = {True: "sparse", False: "dense"}
            raise ValueError(
                f"{what} must be {kinds[self.is_sparse]} like blocks[0], got a {kinds[other.is_sparse]} one"
            )
        if other.n_features != self.n_features:
            raise ValueError(f"{what} must have {self.n_features} features like blocks[0], got {other.n_features}")
        if other.names != self.names:
            raise ValueError(f"{what} must have the columns of blocks[0], {self.names}, got {other.names}")
        if other.kinds != self.kinds:
            j = next(j for j, kind in enumerate(self.kinds or ()) if [kind] != (other.kinds or [])[j : j + 1])
            raise ValueError(
                f"{what} must have a column of the dtype in blocks[0] in feature {(self.names or [])[j]!r}"
            )


class _Coder:
    """The codes of the categories in the columns of frames: their places in the order in which they are found."""

    def __init__(self) -> None:
        self.form: _Form | None = None
        self.places: dict[int, dict[Any, int]] = {}

    def coded(self, block: Raw, columns: Columns | None, form: _Form) -> Raw:
        """The block with codes in place of categories."""
        self.form = self.form or form
        codes = {}
        for j, (is_category, _) in enumerate(form.kinds or ()):
            if columns is not None and is_category:
                known = self.places.setdefault(j, {})
                for value in columns.categories(j):
                    known.setdefault(value, len(known))
                distinct, places = columns.factors(j)
                codes[j] = np.array([*map(known.__getitem__, distinct), np.nan], dtype=np.float32)[places]
        return block if columns is None else numbers_of(columns, block, codes)

    def finish(self, X: NDArray[np.float32], folder: Path) -> None:
        """Bring categories that no dtype declares into their order, and write the names of columns and the categories."""
        names = None if self.form is None else self.form.names
        if self.form is None or names is None or not all(isinstance(name, str) for name in names):
            if self.places:
                raise ValueError(f"blocks must have strings as names of columns, if they have categories, got {names}")
            return
        kinds = self.form.kinds or []
        found: list[list[Any] | None] = [None] * len(names)
        for j, known in self.places.items():
            values = list(known) if kinds[j][1] else sorted(known, key=str)
            found[j] = as_categories(values, names[j]).tolist()
            if values != list(known):
                order = np.array([*map(values.index, known), np.nan], dtype=np.float32)
                for start in range(0, len(X), _CODES_AT_ONCE):
                    column = X[start : start + _CODES_AT_ONCE, j]
                    column[:] = order[np.nan_to_num(column, nan=len(known)).astype(np.intp)]
        content = {"names": names, "categories": found, "declared": [kind for _, kind in kinds]}
        (folder / _COLUMNS).write_text(json.dumps(content))


def _read(block: Any, what: str) -> Raw:
    """A block as it is, or that of a file, or the frame of a batch of pyarrow."""
    if type(block).__name__ == "RecordBatch" and hasattr(block, "schema"):
        return import_module("pyarrow").Table.from_batches([block])
    if not isinstance(block, str | os.PathLike):
        return block if hasattr(block, "shape") else np.asarray(block)
    path = Path(block)
    if path.suffix not in (".npy", ".npz"):
        raise ValueError(f"{what} must be the path of a file .npy or .npz, got {str(path)!r}")
    try:
        if path.suffix == ".npz":
            # NumPy does not close files that are damaged.
            with whole_file(), path.open("rb") as file:
                return sparse.load_npz(file)
        return _loaded(path)
    except ValueError as error:
        raise ValueError(f"{what} must be a file .npy or .npz with a matrix, got {str(path)!r}: {error}") from error


def _checked(blocks: Iterable[Any], coder: _Coder) -> Iterator[Matrix]:
    """The blocks that have samples, as float32: C or Fortran arrays, or CSC in canonical form."""
    form = None
    for i, given in enumerate(blocks):
        what = f"blocks[{i}]"
        block = _read(given, what)
        columns = None if is_sparse(block) else Columns.of(block, what)
        found = _Form.of(block, columns, what)
        form = form or found
        form.check(found, what)
        if block.shape[0] == 0:
            continue
        with checks.renamed(X=what):
            block = checks.check_rows(coder.coded(block, columns, found))
        yield block.tocsc() if is_sparse(block) else block
    if form is None:
        raise ValueError("blocks must contain at least one block, got none")


class _Sizes:
    """The sizes of the matrix, of which some or all blocks were seen."""

    def __init__(self) -> None:
        self.n_samples = self.n_features = 0
        self.is_sparse = False
        # The stored entries of each feature; those of dense blocks are not counted.
        self.n_stored: NDArray[np.int64] = np.zeros(0, dtype=np.int64)

    def add(self, block: Matrix) -> None:
        if self.n_samples == 0:
            self.n_features, self.is_sparse = block.shape[1], is_sparse(block)
            self.n_stored = np.zeros(self.n_features if self.is_sparse else 0, dtype=np.int64)
        self.n_samples += block.shape[0]
        if self.is_sparse:
            self.n_stored += np.diff(block.indptr)

    def may_be_part_of(self, other: _Sizes) -> bool:
        """Whether these blocks may be the first ones of those of `other`."""
        same_form = (self.n_features, self.is_sparse) == (other.n_features, other.is_sparse)
        return same_form and self.n_samples <= other.n_samples and bool((self.n_stored <= other.n_stored).all())


def _write(blocks: Iterable[Any], folder: Path) -> None:
    waiting = folder / _WAITING
    once = isinstance(blocks, Iterator)
    sizes, coder = _Sizes(), _Coder()
    n_blocks = 0
    if once:
        waiting.mkdir()
    for block in _checked(blocks, coder):
        sizes.add(block)
        if once:
            _keep(block, waiting / str(n_blocks))
        n_blocks += 1
    if sizes.n_samples == 0:
        raise ValueError("blocks must contain at least one sample, got none")
    again = _kept(waiting, n_blocks) if once else _checked(blocks, coder)
    if sizes.is_sparse:
        _write_sparse(again, sizes, folder)
    else:
        _write_dense(again, sizes, coder, folder)
    if once:
        shutil.rmtree(waiting)


def _keep(block: Matrix, path: Path) -> None:
    if is_sparse(block):
        sparse.save_npz(path.with_suffix(".npz"), block, compressed=False)
    else:
        np.save(path.with_suffix(".npy"), block)


def _kept(folder: Path, n_blocks: int) -> Iterator[Matrix]:
    for i in range(n_blocks):
        path = folder / f"{i}.npy"
        yield np.load(path, mmap_mode="r") if path.exists() else sparse.load_npz(folder / f"{i}.npz")
        # The space is free for the matrix where the system allows to remove a file that is open.
        for used in (path, path.with_suffix(".npz")):
            with suppress(OSError):
                used.unlink(missing_ok=True)


@contextmanager
def _array(path: Path, dtype: type, shape: tuple[int, ...]) -> Iterator[NDArray[Any]]:
    """A new array in a file, in Fortran order, whose space on disk is reserved."""
    array = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape, fortran_order=len(shape) == 2)
    _reserve(path)
    try:
        yield array
        array.flush()
    finally:
        del array


def _reserve(path: Path) -> None:
    """Reserve the space of a file: a full disk ends the process when a page of a mapped file is written to it."""
    size = path.stat().st_size
    with path.open("r+b") as file:
        if hasattr(os, "posix_fallocate"):
            try:
                os.posix_fallocate(file.fileno(), 0, size)
                return
            except OSError as error:
                # Some file systems cannot reserve space.
                if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):
                    raise
        start = file.read(4096)
        file.seek(len(start))
        while (left := size - file.tell()) > 0:
            file.write(bytes(min(left, _AT_ONCE)))


def _checking(blocks: Iterable[Matrix], sizes: _Sizes) -> Iterator[Matrix]:
    """The blocks again, which must have the sizes of the first pass."""
    found = _Sizes()
    for block in blocks:
        found.add(block)
        if not found.may_be_part_of(sizes):
            raise _other_blocks()
        yield block
    if not sizes.may_be_part_of(found):
        raise _other_blocks()


def _other_blocks() -> RuntimeError:
    return RuntimeError("blocks must give the same blocks each time they are iterated, got others the second time")


def _write_dense(blocks: Iterable[Matrix], sizes: _Sizes, coder: _Coder, folder: Path) -> None:
    with _array(folder / _DENSE[0], np.float32, (sizes.n_samples, sizes.n_features)) as X:
        start = 0
        for block in _checking(blocks, sizes):
            X[start : start + block.shape[0]] = block
            start += block.shape[0]
        coder.finish(X, folder)


def _write_sparse(blocks: Iterable[Matrix], sizes: _Sizes, folder: Path) -> None:
    ends = np.concatenate([[0], np.cumsum(sizes.n_stored)])
    n_stored = int(ends[-1])
    kind = np.int32 if max(n_stored, sizes.n_samples) < 2**31 else np.int64
    data_file, indices_file, indptr_file, shape_file = (folder / name for name in _SPARSE)
    np.save(indptr_file, ends.astype(kind))
    np.save(shape_file, np.array([sizes.n_samples, sizes.n_features], dtype=np.int64))
    with _array(data_file, np.float32, (n_stored,)) as data, _array(indices_file, kind, (n_stored,)) as indices:
        start, next_of = 0, ends[:-1].copy()
        for block in _checking(blocks, sizes):
            lengths = np.diff(block.indptr)
            # The entries of a feature follow those of the blocks before.
            places = np.repeat(next_of - block.indptr[:-1], lengths) + np.arange(block.nnz)
            data[places] = block.data
            indices[places] = block.indices + kind(start)
            next_of += lengths
            start += block.shape[0]
