"""Readers and makers of data sets."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import check_random_state

from spinney._label_files import LabelData, Mulan, dump_xmc, load_mulan, load_svmlight_multilabel, load_xmc

__all__ = [
    "LabelData",
    "Mulan",
    "Split",
    "dump_xmc",
    "load_mulan",
    "load_npz_folder",
    "load_svmlight_multilabel",
    "load_xmc",
    "make_friedman1_chain",
    "make_friedman1_group",
    "make_friedman1_ind",
    "make_twonorm",
]


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


# ---- Friedman's first problem, with many outputs

Numbers = npt.NDArray[np.float64]
Seed = int | np.random.RandomState | None


def make_friedman1_chain(
    n_samples: int = 100, n_outputs: int = 16, noisy_outputs: int = 0, random_state: Seed = None
) -> tuple[Numbers, Numbers]:
    """Outputs in a chain, each the one before with more noise.

    With x uniform on [0, 1]⁵ and independent standard normal ε::

        f(x) = 10 sin(π x₁ x₂) + 20 (x₃ − ½)² + 10 x₄ + 5 x₅
        y₁ = f(x) + ε₁,    y_j = y_{j−1} + ε_j

    Parameters
    ----------
    n_samples : int, default=100
        Rows.
    n_outputs : int, default=16
        Outputs of the chain.
    noisy_outputs : int, default=0
        Further outputs that x says nothing about: copies of the chain's, from the first on and round again, each
        with its rows in an order of its own.
    random_state : int, RandomState or None, default=None
        Seed. To split one draw into parts, draw all rows at once: noisy outputs are then noise in every part.

    Returns
    -------
    X : ndarray of shape (n_samples, 5)
        Features.
    y : ndarray of shape (n_samples, n_outputs + noisy_outputs)
        Outputs, noisy ones last.

    See Also
    --------
    make_friedman1_group : The same function with independent noise.
    make_friedman1_ind : Independent problems.

    References
    ----------
    A. Joly, Exploiting random projections and sparsity with random forests and gradient boosting methods (PhD thesis,
    Liège, 2016), chapter 6; the function is that of J. Friedman, Multivariate adaptive regression splines (Annals of
    Statistics 19, 1991).

    Examples
    --------
    >>> from spinney.datasets import make_friedman1_chain
    >>> X, y = make_friedman1_chain(300, n_outputs=16, noisy_outputs=4, random_state=0)
    >>> X.shape, y.shape
    ((300, 5), (300, 20))
    """
    rng = _checked(n_samples, n_outputs, noisy_outputs, random_state)
    X = rng.uniform(size=(n_samples, 5))
    noise = rng.standard_normal((n_samples, n_outputs))
    return X, _with_noisy_outputs(_friedman1(X)[:, None] + noise.cumsum(axis=1), noisy_outputs, rng)


def make_friedman1_group(
    n_samples: int = 100, n_outputs: int = 16, noisy_outputs: int = 0, random_state: Seed = None
) -> tuple[Numbers, Numbers]:
    """One function behind all outputs, noise of its own on each.

    With x uniform on [0, 1]⁵, independent standard normal ε, and f as for `make_friedman1_chain`::

        y_j = f(x) + ε_j

    Parameters
    ----------
    n_samples : int, default=100
        Rows.
    n_outputs : int, default=16
        Outputs that share f.
    noisy_outputs : int, default=0
        Further outputs that x says nothing about, as for `make_friedman1_chain`.
    random_state : int, RandomState or None, default=None
        Seed.

    Returns
    -------
    X : ndarray of shape (n_samples, 5)
        Features.
    y : ndarray of shape (n_samples, n_outputs + noisy_outputs)
        Outputs, noisy ones last.

    See Also
    --------
    make_friedman1_chain : Noise adds up from output to output; says where the problem comes from.
    make_friedman1_ind : Independent problems.

    Examples
    --------
    >>> from spinney.datasets import make_friedman1_group
    >>> X, y = make_friedman1_group(300, n_outputs=16, random_state=0)
    >>> X.shape, y.shape
    ((300, 5), (300, 16))
    """
    rng = _checked(n_samples, n_outputs, noisy_outputs, random_state)
    X = rng.uniform(size=(n_samples, 5))
    noise = rng.standard_normal((n_samples, n_outputs))
    return X, _with_noisy_outputs(_friedman1(X)[:, None] + noise, noisy_outputs, rng)


def make_friedman1_ind(
    n_samples: int = 100, n_outputs: int = 16, noisy_outputs: int = 0, random_state: Seed = None
) -> tuple[Numbers, Numbers]:
    """Independent outputs, each with five features of its own.

    With x uniform on [0, 1]^(5 n_outputs), independent standard normal ε, and f as for `make_friedman1_chain`::

        y_j = f(x_{5j+1}, …, x_{5j+5}) + ε_j,    j = 0, 1, …

    Parameters
    ----------
    n_samples : int, default=100
        Rows.
    n_outputs : int, default=16
        Independent problems.
    noisy_outputs : int, default=0
        Further outputs that x says nothing about, as for `make_friedman1_chain`; they bring no features.
    random_state : int, RandomState or None, default=None
        Seed.

    Returns
    -------
    X : ndarray of shape (n_samples, 5 * n_outputs)
        Features, five for each output in turn.
    y : ndarray of shape (n_samples, n_outputs + noisy_outputs)
        Outputs, noisy ones last.

    See Also
    --------
    make_friedman1_chain : Noise adds up from output to output; says where the problem comes from.
    make_friedman1_group : One function behind all outputs.

    Examples
    --------
    >>> from spinney.datasets import make_friedman1_ind
    >>> X, y = make_friedman1_ind(300, n_outputs=16, random_state=0)
    >>> X.shape, y.shape
    ((300, 80), (300, 16))
    """
    rng = _checked(n_samples, n_outputs, noisy_outputs, random_state)
    X = rng.uniform(size=(n_samples, 5 * n_outputs))
    noise = rng.standard_normal((n_samples, n_outputs))
    return X, _with_noisy_outputs(_friedman1(X.reshape(n_samples, n_outputs, 5)) + noise, noisy_outputs, rng)


def _friedman1(x: Numbers) -> Numbers:
    """The function of the five features along the last axis."""
    values: Numbers = (
        10 * np.sin(np.pi * x[..., 0] * x[..., 1]) + 20 * (x[..., 2] - 0.5) ** 2 + 10 * x[..., 3] + 5 * x[..., 4]
    )
    return values


def _with_noisy_outputs(y: Numbers, noisy_outputs: int, rng: np.random.RandomState) -> Numbers:
    copies = [rng.permutation(y[:, j % y.shape[1]]) for j in range(noisy_outputs)]
    return np.column_stack([y, *copies])


def _checked(n_samples: int, n_outputs: int, noisy_outputs: int, random_state: Seed) -> np.random.RandomState:
    _check_count("n_samples", n_samples, 1)
    _check_count("n_outputs", n_outputs, 1)
    _check_count("noisy_outputs", noisy_outputs, 0)
    rng: np.random.RandomState = check_random_state(random_state)
    return rng


def _check_count(name: str, value: int, least: int) -> None:
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or not least <= value <= sys.maxsize:
        raise ValueError(f"{name} is {value!r}, accepted: an integer of at least {least}")


# ---- Breiman's Two-norm


def make_twonorm(
    n_samples: int = 100, n_features: int = 20, random_state: Seed = None
) -> tuple[Numbers, npt.NDArray[np.int64]]:
    """Two classes of equal prior, each a normal cloud around a mean of its own.

    Features are independent with variance 1; their mean is +a in class 1 and −a in class 0, a = 2/√n_features. The
    best error is Φ(−2), 2.3 %.

    Parameters
    ----------
    n_samples : int, default=100
        Rows.
    n_features : int, default=20
        Features.
    random_state : int, RandomState or None, default=None
        Seed.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Features.
    y : ndarray of shape (n_samples,), int64
        Classes 0 and 1.

    References
    ----------
    L. Breiman, Bias, variance, and arcing classifiers (technical report 460, Berkeley, 1996).

    Examples
    --------
    >>> from spinney.datasets import make_twonorm
    >>> X, y = make_twonorm(300, random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((300, 20), [0, 1])
    """
    _check_count("n_samples", n_samples, 1)
    _check_count("n_features", n_features, 1)
    rng = check_random_state(random_state)
    y = rng.randint(2, size=n_samples).astype(np.int64)
    X = rng.standard_normal((n_samples, n_features)) + (2 * y[:, None] - 1) * 2 / np.sqrt(n_features)
    return X, y
