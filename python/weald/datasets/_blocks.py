"""Matrices on disk that are written block by block, and used as memory-mapped files."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from weald._input import checks
from weald._input.frames import Columns
from weald._input.messages import described
from weald._input.sparse import Matrix, Raw, is_sparse

__all__ = ["dump_blocks", "load_blocks"]

FilePath: TypeAlias = str | os.PathLike[str]

# The files of a folder: those of a dense matrix, and those of a CSC matrix.
_DENSE = ("X.npy",)
_SPARSE = ("data.npy", "indices.npy", "indptr.npy", "shape.npy")
# Blocks of an iterator, of which each one is seen once, wait in this folder for the second pass.
_WAITING = "blocks"
# The number of bytes that are written at once to reserve the space of a file.
_AT_ONCE = 1 << 24


def dump_blocks(blocks: Iterable[Any], folder: FilePath) -> Matrix:
    """Write blocks of samples to a folder, as one matrix for which no memory is needed.

    The matrix is in memory-mapped files, and a model that is fitted to it is the same, byte for byte, as with a float32
    matrix in memory. One block at a time is in memory, and for sparse blocks 16 bytes for each feature; dense files
    have 4 bytes for each value, sparse ones 8, or 12 beyond 2**31 values. After any error the folder is as it was
    before; errors of a block have its number. See `docs/memory.md#x-on-disk`.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import weald
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     weald.datasets.dump_blocks([[[0.0, 1.0]], [[2.0, 3.0]]], Path(folder) / "X").tolist()
    [[0.0, 1.0], [2.0, 3.0]]

    Parameters
    ----------
    blocks : iterable of {array-like, sparse matrix, path}
        The blocks in the order of their samples, of shape (n_samples_of_the_block, n_features), all dense or all
        sparse; a path is that of a `.npy`, or of a `.npz` of `scipy.sparse.save_npz`. Values must be finite or NaN, and
        frames numerical. A list is read twice; the blocks of an iterator are written twice.
    folder : str or path-like
        The folder to write. It must not exist, or be empty, and the folder that contains it must exist.

    Returns
    -------
    X : memmap of shape (n_samples, n_features) or csc_array of this shape
        The matrix, float32: an array in Fortran order, or a CSC array over memory-mapped arrays. It cannot be written.

    Raises
    ------
    FileExistsError, OSError
        If `folder` contains something, or a file cannot be read or written, for example because the disk is full.
    RuntimeError
        If an iterable gives blocks of other sizes when it is read again.
    """
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


def load_blocks(folder: FilePath) -> Matrix:
    """Open the matrix that `dump_blocks` has written to a folder.

    Parameters
    ----------
    folder : str or path-like
        The folder. Its files must not be changed as long as the matrix is used.

    Returns
    -------
    X : memmap of shape (n_samples, n_features) or csc_array of this shape
        The matrix, float32, which cannot be written; see `dump_blocks`. Nothing is read yet.

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
            return X
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
    """What all blocks must have in common: the format, the number of features, and the names of columns, if any."""

    is_sparse: bool
    n_features: int
    names: list[Any] | None

    @classmethod
    def of(cls, block: Raw, what: str) -> _Form:
        columns = Columns.of(block, what)
        names = None
        if columns is not None:
            names = columns.labels()
            for j in range(columns.count):
                if columns.kind(j) in ("categories", "text"):
                    raise ValueError(
                        f"{what} must have numerical columns, got {columns.dtype(j)} in column {columns.label(j)!r}: "
                        "write codes of its categories, and name the feature in categorical_features of the estimator"
                    )
        shape = np.shape(block)
        if len(shape) != 2:
            raise ValueError(f"{what} must have shape (n_samples, n_features), got shape {shape}")
        return cls(is_sparse(block), int(shape[1]), names)

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


def _read(block: Any, what: str) -> Raw:
    """A block as it is, or that of a file."""
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


def _checked(blocks: Iterable[Any]) -> Iterator[Matrix]:
    """The blocks that have samples, as float32: C or Fortran arrays, or CSC in canonical form."""
    form = None
    for i, given in enumerate(blocks):
        what = f"blocks[{i}]"
        block = _read(given, what)
        found = _Form.of(block, what)
        form = form or found
        form.check(found, what)
        if block.shape[0] == 0:
            continue
        with checks.renamed(X=what):
            block = checks.check_rows(block)
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
    sizes = _Sizes()
    n_blocks = 0
    if once:
        waiting.mkdir()
    for block in _checked(blocks):
        sizes.add(block)
        if once:
            _keep(block, waiting / str(n_blocks))
        n_blocks += 1
    if sizes.n_samples == 0:
        raise ValueError("blocks must contain at least one sample, got none")
    again = _kept(waiting, n_blocks) if once else _checked(blocks)
    (_write_sparse if sizes.is_sparse else _write_dense)(again, sizes, folder)
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


def _write_dense(blocks: Iterable[Matrix], sizes: _Sizes, folder: Path) -> None:
    with _array(folder / _DENSE[0], np.float32, (sizes.n_samples, sizes.n_features)) as X:
        start = 0
        for block in _checking(blocks, sizes):
            X[start : start + block.shape[0]] = block
            start += block.shape[0]


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
