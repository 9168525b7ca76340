"""X as weights of features and centroids take it: a copy of what the engine does before it predicts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from weald._input.elementary import log1p
from weald._input.sparse import Matrix

_LARGEST = float(np.finfo(np.float32).max)


def prepared(
    X: Matrix, idf: NDArray[np.float32] | None, *, are_counts: bool = False, normalize: bool = False
) -> sparse.csr_array:
    """Float32 values: sign(x) · ln(1 + |x|) of counts, times a factor of each feature, divided by the length of the sample.

    Those of length one are multiples of 2⁻²⁴. X is float32, and finite. Bits are those of the engine.
    """
    X = sparse.csr_array(X)
    values = X.data.astype(np.float64)
    if are_counts:
        values = np.copysign(log1p(np.abs(values)), values)
    if idf is not None:
        values = values * idf[X.indices]
    single = np.clip(values, -_LARGEST, _LARGEST).astype(np.float32)
    if normalize:
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        # Sums in the order of the features.
        lengths = np.sqrt(np.bincount(rows, values * values, minlength=X.shape[0]))
        multiples = np.rint(single.astype(np.float64) / np.where(lengths > 0, lengths, 1)[rows] * 2.0**24)
        single = multiples.astype(np.float32) / np.float32(2**24)
    return sparse.csr_array((single, X.indices, X.indptr), shape=X.shape)
