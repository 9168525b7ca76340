"""`LabelHierarchy`: a directed acyclic graph of labels, and what it says about label sets and scores."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import check_array

from weald._input import checks, frames, registry, targets
from weald._input.checks import Float, Matrix, named
from weald._input.elementary import log2
from weald._input.messages import cut
from weald._input.sparse import is_sparse
from weald._labels import label_graph
from weald._labels.label_graph import Index
from weald._parameters.types import LabelNames, MatrixLike, Prediction, SampleWeight, YWeight
from weald._ranking import ranks

WEIGHTS = ("depth", "information_content", "information_accretion")


@registry.stored(registry.PARTS, "weald.multilabel")
class LabelHierarchy:
    """Directed acyclic graph of labels, in which a sample with a label also has all labels above it.

    A graph may have any number of roots, and labels without edges. In time proportional to the edges it is proven to
    have no circle, when it is made and when files are loaded: a ValueError names its labels. It does not change
    afterwards. See `docs/hierarchies.md`.

    >>> from weald.multilabel import LabelHierarchy
    >>> hierarchy = LabelHierarchy({"bird": "animal", "cat": "animal"}, label_names=["animal", "bird", "cat"])
    >>> hierarchy.closure([[0, 0, 1]])
    array([[1, 0, 1]])

    Parameters
    ----------
    edges : sparse matrix, list of pairs, or dict
        The edges from children to their parents: the entries of a sparse matrix of shape (n_labels, n_labels), with a
        row for each child; pairs (child, parent), or an array of them; or a dict of children, whose values are a parent
        or a list. Labels are indices of columns, or names if `label_names` is given.
    n_labels : int or None, default=None
        The number of labels. None is the number of `label_names`, or of rows of the matrix, or the largest index plus
        one.
    label_names : array-like of shape (n_labels,) of str or None, default=None
        Distinct names of the labels, in the order of the columns of the label matrix. Required if the edges name
        labels.

    Attributes
    ----------
    n_labels, label_names : int, and ndarray of shape (n_labels,) of str or None
        The number and the names of the labels.
    parents_ : CSR array of shape (n_labels, n_labels) of bool
        The parents of each label, one row for each child.
    ancestors_, descendants_ : CSR array of shape (n_labels, n_labels) of bool
        All labels above, or below, each label, without the label itself, computed when they are first used.
    depth_ : ndarray of shape (n_labels,) of int64
        The number of edges on the longest path from a root to each label. It is 0 for roots.
    """

    n_labels: int
    label_names: NDArray[np.object_] | None
    parents_: sparse.csr_array
    depth_: Index

    def __init__(self, edges: Any, *, n_labels: int | None = None, label_names: LabelNames = None) -> None:
        if n_labels is not None:
            n_labels = checks.integer("n_labels", n_labels, 1, label_graph.MOST_LABELS)
        names = None
        if label_names is not None:
            with named("label_names"):
                n_names = len(label_names)  # type: ignore[arg-type]
            if not n_names:
                raise ValueError("label_names must have a name for each label, got none")
            names = frames.label_names(label_names, n_names if n_labels is None else n_labels)
            n_labels = len(names)
        child, parent, n_labels = label_graph.edges_of(edges, n_labels, names)
        self._prove(child, parent, n_labels, names)

    def _prove(self, child: ArrayLike, parent: ArrayLike, n_labels: int, names: NDArray[np.object_] | None) -> None:
        parents = label_graph.matrix_of(child, parent, n_labels)
        self.n_labels, self.label_names, self.parents_ = n_labels, names, parents
        self.depth_ = label_graph.levels(parents, self._shown)
        _read_only(parents)
        self.depth_.flags.writeable = False
        if names is not None:
            names.flags.writeable = False

    @classmethod
    def from_labels(
        cls,
        Y: MatrixLike,
        *,
        sample_weight: SampleWeight = None,
        y_weight: YWeight = None,
        min_samples: float = 5.0,
        kind: Literal["dag", "tree"] = "dag",
        label_names: LabelNames = None,
    ) -> Self:
        """Infer a hierarchy from the label sets of samples: a label is above another if all samples with that have it.

        Such implications may be due to chance, above all for rare labels: a hierarchy that is known is better. It takes
        time proportional to the sum over the samples of the squared number of their labels.

        >>> from weald.multilabel import LabelHierarchy
        >>> LabelHierarchy.from_labels([[1, 1, 0], [1, 0, 1], [1, 1, 0]], min_samples=2).depth_
        array([0, 1, 0])

        Parameters
        ----------
        Y : {array-like, sparse matrix} of shape (n_samples, n_labels)
            Labels, 0 or 1.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Sample weights, which count as numbers of samples. Samples of weight zero are left out.
        y_weight : {array-like, sparse matrix} of the shape of Y or None, default=None
            0 marks unknown entries of Y, besides those that are NaN. They count as 0.
        min_samples : float, default=5
            The least number of samples with a label, or their least total weight, for the label to have parents.
        kind : {"dag", "tree"}, default="dag"
            "dag": the parents of a label are those that it implies and that are not implied by another one of these.
            "tree" keeps the one of them that the fewest samples have, and among these the one with the lower index.
        label_names : array-like of shape (n_labels,) of str or None, default=None
            Distinct names of the labels. If None and Y is a frame, the names of its columns.

        Returns
        -------
        LabelHierarchy
            The hierarchy. Of labels that the same samples have, each is the parent of the next one.
        """
        least = checks.number("min_samples", min_samples, lambda found: 0 <= found < np.inf, "a number of at least 0")
        checks.choice("kind", kind, "dag", "tree")
        target = targets.with_label_names(targets.labels(Y, what="Y", y_weight=y_weight), label_names)
        weights = checks.check_weights(sample_weight, target.original.shape[0])
        return cls._inferred(target, weights, least, kind)

    @classmethod
    def _inferred(cls, target: targets.Target, weights: Float | None, least: float, kind: str) -> Self:
        labels = target.original
        weights = np.ones(labels.shape[0]) if weights is None else checks.count_weights(weights)
        found = label_graph.reduced_relation(label_graph.implied(labels, weights, least))
        if kind == "tree":
            counts = np.bincount(labels.indices, np.repeat(weights, np.diff(labels.indptr)), minlength=target.n_outputs)
            # Parents in the order of their samples and indices, of which the first one of each row stays.
            child, parent = found.nonzero()
            order = np.lexsort((parent, counts[parent], child))
            child, first = np.unique(child[order], return_index=True)
            found = label_graph.matrix_of(child, parent[order][first], target.n_outputs)
        made = object.__new__(cls)
        made._prove(*found.nonzero(), target.n_outputs, target.names)
        return made

    # --- the graph ---------------------------------------------------------------------------------------------------

    @cached_property
    def ancestors_(self) -> sparse.csr_array:
        """All labels above each label."""
        return _read_only(label_graph.closed_relation(self.parents_))

    @cached_property
    def descendants_(self) -> sparse.csr_array:
        """All labels below each label."""
        found = sparse.csr_array(self.ancestors_.T)
        found.sort_indices()
        return _read_only(found)

    def _shown(self, label: int) -> str:
        return str(label) if self.label_names is None else cut(repr(self.label_names[label]))

    def label_weight(
        self,
        kind: Literal["depth", "information_content", "information_accretion"] = "depth",
        *,
        Y: MatrixLike | None = None,
        y_weight: YWeight = None,
        base: float = 0.75,
    ) -> Float:
        """Weights of labels by their place in the hierarchy or by their information, for `label_weight` of estimators.

        >>> from weald.multilabel import LabelHierarchy
        >>> LabelHierarchy([(1, 0), (2, 1)]).label_weight("depth")
        array([1.    , 0.75  , 0.5625])

        Parameters
        ----------
        kind : {"depth", "information_content", "information_accretion"}, default="depth"
            "depth": 1 for roots, and else `base` times the mean weight of the parents (CLUS-HMC, Vens et al. 2008);
            "information_content": -log2 of the fraction of samples that have the label; "information_accretion": the
            same among those that have all its parents (Clark and Radivojac 2013).
        Y : {array-like, sparse matrix} of shape (n_samples, n_labels) or None, default=None
            Labels of the training samples, which are closed first, for the information. A label without samples counts
            as with one.
        y_weight : {array-like, sparse matrix} of the shape of Y or None, default=None
            0 marks unknown entries of Y, besides those that are NaN. They count as 0.
        base : float, default=0.75
            Positive factor from parents to children for "depth". Below 1, labels at the top weigh most.

        Returns
        -------
        ndarray of shape (n_labels,)
            The weights, which are finite and not negative. The information of a label that all samples have is 0.
        """
        checks.choice("kind", kind, *WEIGHTS)
        base = checks.number("base", base, lambda found: 0 < found < np.inf, "a finite number above 0")
        if kind == "depth":
            return self._by_depth(base)
        if Y is None:
            raise ValueError(f"Y must be the labels of the training samples for kind={kind!r}, got None")
        target = self._labels(Y, y_weight)
        return self._information(self._closed(target.original)[0], None, kind)

    def _by_depth(self, base: float) -> Float:
        found = np.ones(self.n_labels)
        n_parents = np.maximum(np.diff(self.parents_.indptr), 1)
        for level in range(1, int(self.depth_.max()) + 1):
            now = np.flatnonzero(self.depth_ == level)
            found[now] = base * (self.parents_[now] @ found) / n_parents[now]
        return found

    def _information(self, closed: sparse.csr_array, weights: Float | None, kind: str) -> Float:
        """The information of closed labels, with a weight for each sample."""
        n, d = closed.shape
        weights = np.ones(n) if weights is None else checks.count_weights(weights)
        of_label = np.bincount(closed.indices, np.repeat(weights, np.diff(closed.indptr)), minlength=d)
        among = np.full(d, weights.sum())
        if kind == "information_accretion":
            n_parents = np.diff(self.parents_.indptr)
            # A sample has all parents of a label if as many of them as there are.
            n_there = sparse.csr_array(closed.astype(np.int32) @ self.parents_.T.astype(np.int32))
            has_all = n_there.data == n_parents[n_there.indices]
            counts = np.bincount(n_there.indices, np.repeat(weights, np.diff(n_there.indptr)) * has_all, minlength=d)
            among = np.where(n_parents > 0, counts, among)
        of_label = np.where(of_label > 0, of_label, 1.0)
        return np.asarray(-log2(np.minimum(1.0, of_label / np.maximum(among, of_label)))) + 0.0

    # --- label sets --------------------------------------------------------------------------------------------------

    def closure(self, Y: MatrixLike, *, y_weight: YWeight = None) -> Any:
        """Close label sets upwards: a sample with a label gets all labels above it.

        All labels above one that is known to be 1 become 1. Then all labels below one that is known to be 0 become 0 if
        they are unknown.

        >>> import numpy as np
        >>> from weald.multilabel import LabelHierarchy
        >>> LabelHierarchy([(1, 0), (2, 1)]).closure([[0.0, np.nan, np.nan], [np.nan, 1.0, np.nan]])
        array([[ 0.,  0.,  0.],
               [ 1.,  1., nan]])

        Parameters
        ----------
        Y : {array-like, sparse matrix} of shape (n_samples, n_labels)
            Labels, 0 or 1. NaN in a dense array marks an unknown entry.
        y_weight : {array-like, sparse matrix} of the shape of Y or None, default=None
            0 marks unknown entries of Y, besides those that are NaN.

        Returns
        -------
        closed : {ndarray, CSR matrix} of shape (n_samples, n_labels)
            The closed label sets, a copy; sparse if Y is sparse, and with the dtype of Y. Entries that are still
            unknown are NaN in dense arrays of floats, and 0 otherwise.
        known : {ndarray, CSR array} of shape (n_samples, n_labels) of bool
            False where entries are still unknown. Only returned if `y_weight` is given, and sparse if it is.
        """
        target = self._labels(Y, y_weight)
        closed, mask = self._closed(target.original, target.mask)
        assert target.label_format is not None
        found: Any = _built(closed, mask, target.label_format)
        if y_weight is None:
            return found
        known = np.ones(closed.shape, dtype=np.bool_) if mask is None else ~mask.toarray()
        return found, sparse.csr_array(known) if is_sparse(y_weight) else known

    def check(self, Y: MatrixLike, *, y_weight: YWeight = None) -> None:
        """Check that label sets are closed: a ValueError names a sample, its label, and the label above that is missing.

        Parameters
        ----------
        Y : {array-like, sparse matrix} of shape (n_samples, n_labels)
            Labels, 0 or 1. NaN in a dense array marks an unknown entry.
        y_weight : {array-like, sparse matrix} of the shape of Y or None, default=None
            0 marks unknown entries of Y, besides those that are NaN, which break no rule.
        """
        target = self._labels(Y, y_weight)
        self._check(target.original, target.mask, "Y")

    def _check(self, labels: sparse.csr_array, mask: sparse.csr_array | None, what: str) -> None:
        closed, _ = self._closed(labels, mask)
        added = ranks.without(closed, labels)
        if mask is not None:
            added = ranks.without(added, mask)
        if not added.nnz:
            return
        n_samples = int(np.count_nonzero(np.diff(added.indptr)))
        sample = int(np.flatnonzero(np.diff(added.indptr))[0])
        above = int(added.indices[added.indptr[sample]])
        own = labels.indices[labels.indptr[sample] : labels.indptr[sample + 1]]
        below = self.descendants_.indices[self.descendants_.indptr[above] : self.descendants_.indptr[above + 1]]
        raise ValueError(
            f"{what} must have closed label sets, but {n_samples} sample(s) have a label without one above it: the sample "
            f"{sample} has the label {self._shown(int(np.intersect1d(own, below)[0]))} and not the label "
            f"{self._shown(above)} above it; LabelHierarchy.closure adds what is missing"
        )

    def _labels(self, Y: MatrixLike, y_weight: YWeight, what: str = "Y") -> targets.Target:
        target = targets.labels(Y, what=what, y_weight=y_weight)
        self._check_columns(target.n_outputs, target.names, what)
        return target

    def _check_columns(self, n_columns: int, names: Any, what: str) -> None:
        why = "labels must be those of the hierarchy, in the same order"
        frames.check_same_names(names, self.label_names, what, why)
        if n_columns != self.n_labels:
            raise ValueError(
                f"{what} must have {self.n_labels} columns, one for each label of the hierarchy, got {n_columns}"
            )

    def _closed(
        self, labels: sparse.csr_array, mask: sparse.csr_array | None = None
    ) -> tuple[sparse.csr_array, sparse.csr_array | None]:
        """The closed label sets, and the pattern of what is still unknown; all in canonical form."""
        labels = labels.astype(np.bool_)
        closed = sparse.csr_array(labels + labels @ self.ancestors_).astype(np.bool_)
        closed.sort_indices()
        if mask is None:
            return closed, None
        mask = label_graph.still_unknown(closed, mask, self.parents_, self.depth_)
        return closed, mask if mask.nnz else None

    # --- scores ------------------------------------------------------------------------------------------------------

    def consistent(self, scores: MatrixLike, method: Literal["max", "min", "isotonic"] = "max") -> Any:
        """Change scores such that no label has a larger one than a label above it.

        "max" and "min" take time proportional to the number of samples times that of edges. "isotonic" finds a minimum
        cut for each division of the labels of a sample whose scores rise somewhere; 3 600 labels of random noise take
        50 ms. Samples are processed in blocks, with memory for a few times 64 MiB of scores, or 256 MiB for "isotonic".

        >>> from weald.multilabel import LabelHierarchy
        >>> LabelHierarchy([(1, 0), (2, 0)]).consistent([[0.25, 0.75, 0.125]], "isotonic")
        array([[0.5  , 0.5  , 0.125]])

        Parameters
        ----------
        scores : {array-like, sparse matrix} of shape (n_samples, n_labels)
            Scores, such as probabilities or margins. Entries that a sparse matrix does not store have score 0. Infinite
            scores are accepted, except by "isotonic".
        method : {"max", "min", "isotonic"}, default="max"
            "max" raises the score of each label to the largest one of its descendants; "min" lowers it to the smallest
            one of its ancestors; "isotonic" finds the consistent scores with the least sum of squared differences from
            the scores.

        Returns
        -------
        {ndarray, CSR array} of shape (n_samples, n_labels)
            The scores, a copy, of float32 if the scores are, and of float64 otherwise; CSR if they are sparse, with the
            same bits.
        """
        return self._consistent(
            self._scores(scores, checks.choice("method", method, *label_graph.CONSISTENT) == "isotonic"), method
        )

    def _consistent(self, scores: Matrix, method: str) -> Any:
        return label_graph.consistent(scores, self.parents_, self.ancestors_, self.depth_, method)

    def n_violations(self, scores: MatrixLike) -> int:
        """Count the pairs of a sample and an edge at which the score of the child is larger than that of the parent.

        Parameters
        ----------
        scores : {array-like, sparse matrix} of shape (n_samples, n_labels)
            Scores or labels. Entries that a sparse matrix does not store have score 0.

        Returns
        -------
        int
            The number, which is 0 for consistent scores and for closed label sets.
        """
        return label_graph.count_rises(self._scores(scores, False), self.parents_)

    def topk(
        self, scores: MatrixLike, k: int, *, method: Literal["max", "min", "isotonic"] = "max"
    ) -> tuple[Index, Float]:
        """Select the closed set of `k` labels with the largest sum of consistent scores for each sample.

        The `k` largest scores that `consistent` returns are a closed set, in decreasing order; of equal ones the label
        of smaller depth comes first, then that of lower index. So the first labels are a closed set, too.

        >>> from weald.multilabel import LabelHierarchy
        >>> LabelHierarchy([(1, 0), (3, 2)]).topk([[0.1, 0.2, 0.6, 0.7]], k=3)
        (array([[2, 3, 0]]), array([[0.7, 0.7, 0.2]]))

        Parameters
        ----------
        scores : {array-like, sparse matrix} of shape (n_samples, n_labels)
            Scores, as in `consistent`.
        k : int
            The number of labels per sample, from 1 to the number of labels.
        method : {"max", "min", "isotonic"}, default="max"
            How scores are made consistent, as in `consistent`.

        Returns
        -------
        indices : int64 ndarray of shape (n_samples, k)
            Indices of labels, best first.
        scores : float64 ndarray of shape (n_samples, k)
            Their consistent scores.
        """
        k = ranks.checked_k(k, self.n_labels)
        found = self._scores(scores, checks.choice("method", method, *label_graph.CONSISTENT) == "isotonic")
        indices, values = self._k_best(self._consistent(found, method), k, None)
        return ranks.padded_by_floor(indices, values, -np.inf, are_margins=True)

    def _k_best(self, scores: Matrix, k: int, marked: sparse.csr_array | None) -> tuple[NDArray[np.uint32], Float]:
        """The k largest consistent scores without marked labels, parents before children, as `ranks.k_best`."""
        order = label_graph.by_depth(self.depth_)
        scores = _with_columns(scores, order) if is_sparse(scores) else np.ascontiguousarray(scores[:, order])
        indices, found = ranks.k_best(scores, k, None if marked is None else _with_columns(marked, order))
        there = indices != ranks.NONE
        indices[there] = order[indices[there]]
        return indices, found

    def _ordered(self, thresholds: Float, method: str) -> Float:
        """Thresholds that never fall from a parent to a child: raised to those above with "max", or lowered with "min"."""
        found: Float = -self._consistent(-thresholds[None], "min" if method == "max" else "max")[0]
        return found

    def _scores(self, scores: MatrixLike, finite: bool) -> Any:
        """Checked scores, dense or as canonical CSR, of float32 or float64."""
        checks.check_real(scores, "scores")
        with named("scores"):
            found = check_array(scores, accept_sparse=True, dtype=None, ensure_all_finite=False, input_name="scores")
            if found.dtype not in (np.float32, np.float64):
                found = found.astype(np.float64)
        self._check_columns(found.shape[1], frames.names_of(scores, "scores"), "scores")
        if is_sparse(found):
            found = checks.canonical(found, "scores").tocsr()
            found = sparse.csr_array((found.data, found.indices, found.indptr), shape=found.shape)
        values = found.data if is_sparse(found) else found
        if np.isnan(values).any():
            raise ValueError("scores must be numbers, got NaN")
        if finite and np.isinf(values).any():
            raise ValueError("scores must be finite with method='isotonic', got infinity")
        return found

    # --- the object --------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        n_roots = int(np.count_nonzero(self.depth_ == 0))
        return (
            f"LabelHierarchy(n_labels={self.n_labels}, n_edges={self.parents_.nnz}, n_roots={n_roots}, "
            f"depth={int(self.depth_.max())})"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LabelHierarchy):
            return NotImplemented
        mine, others = self.__getstate__(), other.__getstate__()
        return all(np.array_equal(mine[name], others[name]) for name in mine)

    def __hash__(self) -> int:
        return hash((self.n_labels, self.parents_.indices.tobytes()))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        # It never changes, so that clones of estimators share it.
        return self

    def __getstate__(self) -> dict[str, Any]:
        """The parents and names, as pickles and model files hold them."""
        ends, labels = (part.astype(np.int64) for part in (self.parents_.indptr, self.parents_.indices))
        return {"indptr": ends, "indices": labels, "label_names": self.label_names}

    def __setstate__(self, state: Any) -> None:
        # States come from an untrusted source, too.
        if not isinstance(state, dict) or state.keys() != {"indptr", "indices", "label_names"}:
            raise ValueError("a LabelHierarchy must have indptr, indices and label_names, got something else")
        ends, parent = state["indptr"], state["indices"]
        for name, array in (("indptr", ends), ("indices", parent)):
            if not isinstance(array, np.ndarray) or array.dtype != np.int64 or array.ndim != 1:
                raise ValueError(
                    f"{name} of a LabelHierarchy must be an int64 array of one dimension, got something else"
                )
        is_ascending = len(ends) > 1 and ends[0] == 0 and ends[-1] == len(parent) and (np.diff(ends) >= 0).all()
        if not is_ascending:
            raise ValueError(f"indptr of a LabelHierarchy must ascend from 0 to {len(parent)}, got something else")
        n_labels = len(ends) - 1
        if len(parent) and not (parent.min() >= 0 and parent.max() < n_labels):
            raise ValueError(f"indices of a LabelHierarchy must be labels from 0 to {n_labels - 1}, got others")
        names = None if state["label_names"] is None else frames.label_names(state["label_names"], n_labels)
        self._prove(np.repeat(np.arange(n_labels), np.diff(ends)), parent, n_labels, names)


def _read_only(matrix: sparse.csr_array) -> sparse.csr_array:
    for array in (matrix.data, matrix.indices, matrix.indptr):
        array.flags.writeable = False
    return matrix


def _built(closed: sparse.csr_array, mask: sparse.csr_array | None, form: targets.LabelFormat) -> Prediction:
    labels: Any = closed if form.container is not None else closed.toarray()
    found = form.build(labels)
    if mask is not None and form.container is None and form.dtype.kind == "f":
        found[ranks.rows_of(mask), mask.indices] = np.nan
    return found


def _with_columns(matrix: sparse.csr_array, order: Index) -> sparse.csr_array:
    """The columns of a CSR matrix in an order, in canonical form."""
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    found = sparse.csr_array((matrix.data, place[matrix.indices], matrix.indptr), shape=matrix.shape)
    found.sort_indices()
    return found
