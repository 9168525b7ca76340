"""Matrices of scipy, as annotations of types see them."""

from __future__ import annotations

from typing import Any

from scipy import sparse


def is_sparse(matrix: Any) -> bool:
    """Whether it is a sparse matrix or array of scipy.

    As `issparse`, whose annotations know no more of a matrix afterwards than that it is one.
    """
    return bool(sparse.issparse(matrix))
