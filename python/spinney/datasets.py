"""Readers of data sets."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

__all__ = ["Split", "load_npz_folder"]


class Split(NamedTuple):
    """A data set in two parts, and what its folder says about it."""

    X_train: Any
    X_test: Any
    Y_train: Any
    Y_test: Any
    meta: dict[str, Any]


def load_npz_folder(path: str | os.PathLike[str]) -> Split:
    """Read a data set that is kept as one folder of `.npz` files.

    Parameters
    ----------
    path : path of a folder
        It holds `X_train.npz`, `X_test.npz`, `Y_train.npz`, `Y_test.npz`, each either a scipy sparse matrix
        (`scipy.sparse.save_npz`) or one array named `a`, and `meta.json`, an object.

    Returns
    -------
    Split
        `(X_train, X_test, Y_train, Y_test, meta)`; sparse matrices stay sparse.

    Raises
    ------
    FileNotFoundError
        When one of the files is not there.
    ValueError
        When a file holds neither form. Nothing is unpickled.

    Examples
    --------
    >>> import json, tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from spinney.datasets import load_npz_folder
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for part in ("train", "test"):
    ...         sparse.save_npz(Path(folder, f"X_{part}.npz"), sparse.eye_array(3, format="csr"))
    ...         np.savez(Path(folder, f"Y_{part}.npz"), a=np.arange(3))
    ...     _ = Path(folder, "meta.json").write_text(json.dumps({"name": "tiny"}))
    ...     X_train, X_test, Y_train, Y_test, meta = load_npz_folder(folder)
    >>> X_train.format, Y_test.tolist(), meta["name"]
    ('csr', [0, 1, 2], 'tiny')
    """
    folder = Path(path)
    parts = {name: _load(folder / f"{name}.npz") for name in Split._fields if name != "meta"}
    return Split(**parts, meta=json.loads((folder / "meta.json").read_text(encoding="utf-8")))


def _load(path: Path) -> Any:
    with np.load(path, allow_pickle=False) as archive:
        if "a" in archive:
            return archive["a"]
        if "format" not in archive:
            raise ValueError(f"{path} holds {sorted(archive)}, accepted: a scipy sparse matrix, or one array named 'a'")
    return sparse.load_npz(path)
