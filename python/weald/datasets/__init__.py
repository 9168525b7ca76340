"""Loading and generating data sets."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from weald._input.checks import generator, named
from weald.datasets._blocks import dump_blocks, load_blocks, whole_file
from weald.datasets._label_files import LabelData as LabelData
from weald.datasets._label_files import Mulan as Mulan
from weald.datasets._label_files import dump_xmc, load_mulan, load_svmlight_multilabel, load_xmc

__all__ = [
    "dump_blocks",
    "dump_xmc",
    "load_blocks",
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
    """A data set with a training part and a test part, and its metadata."""

    X_train: npt.NDArray[Any] | sparse.sparray | sparse.spmatrix
    X_test: npt.NDArray[Any] | sparse.sparray | sparse.spmatrix
    Y_train: npt.NDArray[Any] | sparse.sparray | sparse.spmatrix
    Y_test: npt.NDArray[Any] | sparse.sparray | sparse.spmatrix
    meta: dict[str, Any]


def load_npz_folder(path: str | os.PathLike[str]) -> Split:
    """Load a data set from a folder of `.npz` files.

    Parameters
    ----------
    path : str or path-like
        Path of the folder, with `X_train.npz`, `X_test.npz`, `Y_train.npz` and `Y_test.npz`, each a sparse matrix saved
        by `scipy.sparse.save_npz` or a single array named `a`, and `meta.json` with a JSON object.

    Returns
    -------
    Split
        The named tuple `(X_train, X_test, Y_train, Y_test, meta)`. Sparse matrices are not made dense.

    Raises
    ------
    FileNotFoundError
        If one of the files does not exist.
    """
    with named("path"):
        folder = Path(path)
    parts = {name: _load(folder / f"{name}.npz") for name in Split._fields if name != "meta"}
    return Split(**parts, meta=json.loads((folder / "meta.json").read_text(encoding="utf-8")))


def _load(path: Path) -> Any:
    # NumPy does not close files that are damaged.
    with whole_file(), path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        if "a" in archive:
            return archive["a"]
        if "format" not in archive:
            raise ValueError(
                f"{path} must contain a scipy sparse matrix, or one array named 'a', got {sorted(archive)}"
            )
        file.seek(0)
        return sparse.load_npz(file)


# ---- Friedman's first problem, with many outputs

Numbers = npt.NDArray[np.float64]
Seed = int | np.random.RandomState | None


def make_friedman1_chain(
    n_samples: int = 100, n_outputs: int = 16, noisy_outputs: int = 0, random_state: Seed = None
) -> tuple[Numbers, Numbers]:
    """Generate Friedman's first regression problem with a chain of outputs.

    Each output is the one before it plus additional noise. With x uniform on [0, 1]⁵ and independent standard normal
    ε::

        f(x) = 10 sin(π x₁ x₂) + 20 (x₃ − ½)² + 10 x₄ + 5 x₅
        y₁ = f(x) + ε₁,    y_j = y_{j−1} + ε_j

    Source: Joly 2016, chapter 6, after J. Friedman, *Multivariate adaptive regression splines*, Annals of Statistics
    1991.

    >>> from weald.datasets import make_friedman1_chain
    >>> X, y = make_friedman1_chain(300, n_outputs=16, noisy_outputs=4, random_state=0)
    >>> X.shape, y.shape
    ((300, 5), (300, 20))

    Parameters
    ----------
    n_samples : int, default=100
        Number of samples.
    n_outputs : int, default=16
        Number of outputs of the chain.
    noisy_outputs : int, default=0
        Number of additional outputs that are independent of x: copies of the outputs of the chain, from the first on,
        each with its samples in a separate random order.
    random_state : int, RandomState or None, default=None
        Controls the random numbers. Generate training and test samples in one call, and split them.

    Returns
    -------
    X : ndarray of shape (n_samples, 5)
        The input samples.
    y : ndarray of shape (n_samples, n_outputs + noisy_outputs)
        The outputs. The additional outputs that are independent of x are the last ones.
    """
    rng = _checked(n_samples, n_outputs, noisy_outputs, random_state)
    X = rng.uniform(size=(n_samples, 5))
    noise = rng.standard_normal((n_samples, n_outputs))
    return X, _with_noisy_outputs(_friedman1(X)[:, None] + noise.cumsum(axis=1), noisy_outputs, rng)


def make_friedman1_group(
    n_samples: int = 100, n_outputs: int = 16, noisy_outputs: int = 0, random_state: Seed = None
) -> tuple[Numbers, Numbers]:
    """Generate Friedman's first regression problem with outputs y_j = f(x) + ε_j that share one function.

    x, f and ε, and the source, are those of `make_friedman1_chain`.

    Parameters
    ----------
    n_samples, n_outputs, noisy_outputs, random_state : as in `make_friedman1_chain`
        Numbers of samples, outputs, and outputs that are independent of x and have no features of their own.

    Returns
    -------
    X : ndarray of shape (n_samples, 5)
        The input samples.
    y : ndarray of shape (n_samples, n_outputs + noisy_outputs)
        The outputs. The additional outputs that are independent of x are the last ones.
    """
    rng = _checked(n_samples, n_outputs, noisy_outputs, random_state)
    X = rng.uniform(size=(n_samples, 5))
    noise = rng.standard_normal((n_samples, n_outputs))
    return X, _with_noisy_outputs(_friedman1(X)[:, None] + noise, noisy_outputs, rng)


def make_friedman1_ind(
    n_samples: int = 100, n_outputs: int = 16, noisy_outputs: int = 0, random_state: Seed = None
) -> tuple[Numbers, Numbers]:
    """Generate Friedman's first regression problem with outputs y_j = f(x_{5j+1}, …, x_{5j+5}) + ε_j of separate features.

    f and ε, and the source, are those of `make_friedman1_chain`; x is uniform on [0, 1]^(5 n_outputs).

    Parameters
    ----------
    n_samples, n_outputs, noisy_outputs, random_state : as in `make_friedman1_chain`
        Numbers of samples, outputs, and outputs that are independent of x and have no features of their own.

    Returns
    -------
    X : ndarray of shape (n_samples, 5 * n_outputs)
        The input samples. The first five features belong to the first output, and so on.
    y : ndarray of shape (n_samples, n_outputs + noisy_outputs)
        The outputs. The additional outputs that are independent of x are the last ones.
    """
    rng = _checked(n_samples, n_outputs, noisy_outputs, random_state)
    X = rng.uniform(size=(n_samples, 5 * n_outputs))
    noise = rng.standard_normal((n_samples, n_outputs))
    return X, _with_noisy_outputs(_friedman1(X.reshape(n_samples, n_outputs, 5)) + noise, noisy_outputs, rng)


def _friedman1(x: Numbers) -> Numbers:
    """Friedman's function of the five features along the last axis."""
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
    rng: np.random.RandomState = generator(random_state)
    return rng


def _check_count(name: str, value: int, least: int) -> None:
    is_count = isinstance(value, (int, np.integer)) and not isinstance(value, bool | np.timedelta64)
    if not is_count or not least <= value <= sys.maxsize:
        raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}")


# ---- Breiman's Two-norm


def make_twonorm(
    n_samples: int = 100, n_features: int = 20, random_state: Seed = None
) -> tuple[Numbers, npt.NDArray[np.int64]]:
    """Generate Breiman's two-norm problem: two normally distributed classes with equal priors and different means.

    The features are independent with variance 1. Their mean is a in class 1 and −a in class 0, with a = 2/√n_features.
    The error of the Bayes classifier is Φ(−2), about 2.3 %. Source: L. Breiman, *Bias, variance, and arcing
    classifiers*, 1996.

    Parameters
    ----------
    n_samples : int, default=100
        Number of samples.
    n_features : int, default=20
        Number of features.
    random_state : int, RandomState or None, default=None
        Controls the random numbers.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The input samples.
    y : int64 ndarray of shape (n_samples,)
        The classes, 0 or 1.
    """
    _check_count("n_samples", n_samples, 1)
    _check_count("n_features", n_features, 1)
    rng = generator(random_state)
    y = rng.randint(2, size=n_samples).astype(np.int64)
    X = rng.standard_normal((n_samples, n_features)) + (2 * y[:, None] - 1) * 2 / np.sqrt(n_features)
    return X, y
