"""The edges of a hierarchy of labels, in any of the forms that `LabelHierarchy` accepts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from weald._input import checks
from weald._input.checks import Matrix
from weald._input.messages import cut
from weald._input.sparse import is_sparse
from weald._labels.label_graph import Index

# Indices of sparse matrices have 32 bits.
MOST_LABELS = 2**31 - 1
_EDGES = (
    "a sparse matrix (n_labels, n_labels) with an entry for each child and parent, a list of pairs (child, parent), or a "
    "dict from children to parents"
)


def read(edges: Any, n_labels: int | None, names: NDArray[np.object_] | None) -> tuple[Index, Index, int]:
    """Children, parents, and the number of labels."""
    if is_sparse(edges):
        return _of_matrix(edges, n_labels)
    pairs = list(_pairs_of(edges))
    ends = [end for pair in pairs for end in pair]
    # The keys of a dict are labels, also those without parents.
    given = [*ends, *edges] if isinstance(edges, Mapping) else ends
    if given and all(isinstance(end, str) for end in given):
        if names is None:
            raise TypeError("label_names must be the names of the columns of the labels if edges have names, got None")
        place = {name: j for j, name in enumerate(names.tolist())}
        if unknown := sorted({str(end) for end in given} - place.keys()):
            more = ", …" if len(unknown) > 5 else ""
            shown = ", ".join(cut(repr(name)) for name in unknown[:5])
            raise ValueError(f"edges must have labels of label_names, got {len(unknown)} others: {shown}{more}")
        found = np.array([place[end] for end in ends], dtype=np.int64).reshape(-1, 2)
        return found[:, 0], found[:, 1], len(names)
    for end in given:
        if not checks.is_integer(end):
            raise TypeError(f"edges must have indices of labels, or names of all labels, got {checks.shown(end)}")
    indices = [int(end) for end in given]
    if n_labels is None:
        if not indices:
            raise ValueError("n_labels or label_names must be given if there are no edges, got None")
        n_labels = min(max(indices) + 1, MOST_LABELS)
    for label in indices:
        if not 0 <= label < n_labels:
            accepted = f"edges must have labels from 0 to {n_labels - 1}, as there are n_labels={n_labels}"
            raise ValueError(f"{accepted}, got {checks.shown(label)}")
    found = np.array(indices[: len(ends)], dtype=np.int64).reshape(-1, 2)
    return found[:, 0], found[:, 1], n_labels


def _of_matrix(edges: Matrix, n_labels: int | None) -> tuple[Index, Index, int]:
    if edges.ndim != 2 or edges.shape[0] != edges.shape[1] or not edges.shape[0]:
        raise ValueError(f"edges must be {_EDGES}, got a sparse matrix of shape {edges.shape}")
    if n_labels not in (None, edges.shape[0]):
        raise ValueError(f"edges must have {n_labels} rows, the number of labels, got {edges.shape[0]}")
    stored = checks.canonical(edges, "edges").tocoo()
    if stored.data.dtype.kind not in "biuf" or (stored.data.dtype.kind == "f" and np.isnan(stored.data).any()):
        raise ValueError("edges must have bools or numbers as entries, got others")
    there = stored.data != 0
    return stored.row[there].astype(np.int64), stored.col[there].astype(np.int64), edges.shape[0]


def _pairs_of(edges: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(edges, Mapping):
        for child, parents in edges.items():
            if parents is None:
                continue
            is_list = isinstance(parents, list | tuple | set | frozenset | np.ndarray)
            for parent in parents if is_list else (parents,):
                yield child, parent
        return
    if isinstance(edges, np.ndarray):
        edges = edges.tolist()
    if isinstance(edges, str | bytes) or not hasattr(edges, "__iter__"):
        _raise_for_form(edges)
    for pair in edges:
        is_pair = isinstance(pair, list | tuple | np.ndarray) and len(pair) == 2
        if not is_pair:
            _raise_for_form(pair, " with an item ")
        yield pair[0], pair[1]


def _raise_for_form(got: object, where: str = " ") -> NoReturn:
    raise TypeError(f"edges must be {_EDGES}, got something else{where if where != ' ' else ': '}{checks.shown(got)}")
