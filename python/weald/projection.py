"""Random projections of the outputs.

With the parameter `output_projection`, each tree chooses its splits on q random linear combinations of the d outputs
instead of the outputs themselves: its structure is grown on Z = Y Φᵀ with the variance criterion, where the rows of the
matrix Φ are drawn for this tree. Leaves store the means or class frequencies of the original outputs, so predictions
need no decoding. Classes are one-hot encoded: d is then the total number of classes of all outputs.

Accepted values of `output_projection`
    * The name of a family, or an instance of a class of this module. "achlioptas" is
      `RademacherProjection("achlioptas")`, "sparse" is `RademacherProjection("sqrt")`, and the other names are those of
      the classes with their default parameters.
    * A matrix Φ of shape (q, d), dense or sparse, which all trees use. `n_projections` must then be q or "log".
    * A callable with the arguments (n_outputs, n_projections, random_state) that returns such a matrix. It is called
      before the trees are grown, once for each tree, or with `projection_scope="forest"` once for all of them.
      `random_state` is an integer below 2³² that is derived from the seed of the fit and the index of the tree. With
      `warm_start=True` it is called for the new trees only, or for the whole forest again with the same arguments as
      before, so its result should only depend on its arguments.

Choosing a family
    * "gaussian" is a good default. "rademacher" (random signs) is as accurate and has fewer distinct values.
    * "achlioptas" and "sparse" equal "gaussian" on average, but two thirds of the entries are zero, or for "sparse" all
      except a fraction of 1/√d. They save time if Y is sparse or d is many thousands. If each sample has few non-zero
      outputs, many samples have an all-zero projection with "sparse".
    * "subsample" draws q outputs and ignores the others. It is the cheapest, and suits redundant outputs.
    * "hadamard" has orthogonal rows if d is a power of two, so that projections are not redundant. q is at most the
      smallest power of two that is not below d.
    * "pca" is not random: it uses the directions of largest variance of the outputs. All trees of a fit share them
      independently of `projection_scope`, and so are less diverse. It is meant as a baseline.

Choosing the number of projections
    "log", which is ⌊½ + ln d⌋, is enough for forests in which every tree has its own projection. A single tree, or a
    forest with `projection_scope="forest"`, needs more: a fraction of d, or some tens. `johnson_lindenstrauss_dim` is
    the number that is enough for any data; in practice far fewer are needed.

When to use projections
    * They save time with many dense outputs, in particular regression targets: the cost of a split search for each
      sample is then proportional to q instead of d.
    * On sparse labels, projections mostly increase tree diversity; they save little time, since the cost without
      projections is proportional to the labels that are present, and projected outputs are dense. Whether accuracy
      improves has to be measured.
    * With few outputs there is nothing to reduce. A single output of classes is not supported.
    * Impurities of the fitted trees are those of the projected outputs. Use
      `weald.inspection.feature_importances(model, outputs="all")` for importances on the original outputs.

References: A. Joly, *Exploiting random projections and sparsity with random forests and gradient boosting methods*, PhD
thesis, Liège 2016, chapter 5; A. Joly, P. Geurts, L. Wehenkel, *Random forests with random projections of the output
space for high dimensional multi-label classification*, ECML PKDD 2014. Sparse signs: D. Achlioptas, *Database-friendly
random projections*, JCSS 2003; P. Li, T. Hastie, K. Church, *Very sparse random projections*, KDD 2006.

Examples
--------
>>> import numpy as np
>>> import weald
>>> from weald.projection import RademacherProjection
>>> rng = np.random.default_rng(0)
>>> X = rng.random((300, 5))
>>> Y = np.sin(3 * X[:, [0]] + np.arange(200) / 50)  # 200 outputs
>>> forest = weald.RandomForestRegressor(
...     n_estimators=20, output_projection=RademacherProjection(), n_projections=3, random_state=0
... )
>>> forest.fit(X[:200], Y[:200]).predict(X[200:]).shape
(100, 200)
>>> forest.score(X[200:], Y[200:]) > 0.9
True
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from math import isfinite
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal

from scipy import sparse

from weald import _weald
from weald._input import checks, targets
from weald._input.checks import Float, Matrix
from weald._input.sklearn_private import RealNotInt, num_samples
from weald._input.sparse import is_sparse

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from weald._parameters.types import MatrixLike, NProjections, RandomState
    from weald._weald import _ProjectionFamily

__all__ = [
    "GaussianProjection",
    "HadamardProjection",
    "PCAProjection",
    "Projection",
    "RademacherProjection",
    "SubsampleProjection",
    "johnson_lindenstrauss_dim",
]


def count_projections(n_projections: object, n_outputs: int) -> int:
    """The number of rows of Φ if it has `n_outputs` columns."""
    if isinstance(n_projections, str) and n_projections == "log":
        return _weald.count_projections(n_outputs)
    if not isinstance(n_projections, bool):
        if isinstance(n_projections, Integral) and int(n_projections) >= 1:
            return _weald.count_projections(n_outputs, count=min(int(n_projections), sys.maxsize))
        if isinstance(n_projections, RealNotInt) and 0 < float(n_projections) <= 1:
            return _weald.count_projections(n_outputs, share=float(n_projections))
    raise ValueError(
        'n_projections must be "log", an integer of at least 1, or a fraction in (0, 1], got '
        f"{checks.shown(n_projections)}"
    )


class Projection:
    """Base class of the projection families. Instances are immutable and hashable, and compare by their parameters."""

    def _family(self) -> _ProjectionFamily:
        raise TypeError(
            f"output_projection must be a projection of weald, a callable or a matrix, got {type(self).__name__}"
        )

    def draw(
        self, n_outputs: int, n_projections: NProjections = "log", random_state: RandomState = None
    ) -> Float | sparse.csr_array:
        """Draw the matrix Φ that a tree would use.

        With an integer `random_state`, this is exactly the matrix that a single tree with the same `random_state` uses,
        and that a forest with the same `random_state` and `projection_scope="forest"` uses.

        Parameters
        ----------
        n_outputs : int
            Number of columns d of the matrix: the number of regression targets, of labels, or of all classes of all
            outputs.
        n_projections : int, float or "log", default="log"
            Number of rows q of the matrix: an integer, a fraction of `n_outputs`, or "log" for ⌊½ + ln d⌋. It is at
            least 1.
        random_state : int, RandomState instance or None, default=None
            Controls the random entries. One seed is drawn from it.

        Returns
        -------
        {float64 ndarray, CSR array} of shape (n_projections, n_outputs)
            The matrix, as a CSR array for families of sparse matrices.

        Raises
        ------
        ValueError
            If a parameter is out of range, or the family does not support this number of projections.
        """
        return self._draw(n_outputs, n_projections, random_state, None, None)

    def _draw(
        self, n_outputs: Any, n_projections: Any, random_state: RandomState, y: Matrix, sample_weight: Float | None
    ) -> Float | sparse.csr_array:
        most = checks.MOST
        d = checks.integer("n_outputs", n_outputs, 1, most)
        q = count_projections(n_projections, d)
        seed = checks.draw_seed(random_state)
        drawn = _weald.draw_projection(self._family(), d, q, seed, y, sample_weight)
        if not isinstance(drawn, tuple):
            return drawn
        indptr, indices, values = drawn
        return sparse.csr_array((values, indices, indptr), shape=(q, d))


@dataclass(frozen=True)
class GaussianProjection(Projection):
    """Projection by independent normally distributed entries, N(0, 1/q).

    Squared lengths and distances are preserved on average. Applying the projection costs q multiplications for each
    stored entry of Y.

    Examples
    --------
    >>> from weald.projection import GaussianProjection
    >>> GaussianProjection().draw(1000, random_state=0).shape
    (7, 1000)
    """

    def _family(self) -> _ProjectionFamily:
        return {"name": "gaussian", "sparsity": None, "replacement": False}


@dataclass(frozen=True)
class RademacherProjection(Projection):
    """Projection by random signs, dense or sparse.

    Each entry is √(s/q) or -√(s/q) with probability 1/(2s) each, and 0 otherwise. Rows in which all entries are zero
    are drawn again.

    Parameters
    ----------
    sparsity : float, "achlioptas" or "sqrt", default=1
        The sparsity s, at least 1: on average one in s entries is not zero. With 1 the matrix is dense. "achlioptas" is
        3, and "sqrt" is √d for d outputs.

    Raises
    ------
    ValueError
        If `sparsity` has another value.

    Notes
    -----
    Applying the projection costs q/s additions for each stored entry of Y.

    Examples
    --------
    >>> from weald.projection import RademacherProjection
    >>> abs(RademacherProjection().draw(3, 4, random_state=0))[0]
    array([0.5, 0.5, 0.5])
    >>> RademacherProjection("achlioptas") == RademacherProjection(sparsity=3)
    True
    >>> RademacherProjection("sqrt").draw(10000, 5, random_state=0).format
    'csr'
    """

    sparsity: float | Literal["achlioptas", "sqrt"] = 1

    def __post_init__(self) -> None:
        s = self.sparsity
        if isinstance(s, str):
            if s == "achlioptas":
                object.__setattr__(self, "sparsity", 3)  # the same value whichever way it is written
                return
            known = s == "sqrt"
        else:
            known = (
                isinstance(s, Real) and not isinstance(s, bool) and checks.is_float(s) and isfinite(s) and float(s) >= 1
            )
        if not known:
            raise ValueError(
                f'sparsity must be a finite number of at least 1, "achlioptas" (3) or "sqrt" (√d), got '
                f"{checks.shown(s)}"
            )

    def _family(self) -> _ProjectionFamily:
        s = None if isinstance(self.sparsity, str) else float(self.sparsity)
        return {"name": "rademacher", "sparsity": s, "replacement": False}


@dataclass(frozen=True)
class SubsampleProjection(Projection):
    """Random subset of the outputs: unscaled rows of the identity matrix, drawn uniformly.

    Parameters
    ----------
    replacement : bool, default=False
        Whether outputs are drawn with replacement. If False, `n_projections` is at most `n_outputs`.

    Raises
    ------
    ValueError
        If `replacement` is not a bool. `draw` and `fit` raise it if there are more projections than outputs and
        `replacement` is False.

    Examples
    --------
    >>> from weald.projection import SubsampleProjection
    >>> SubsampleProjection().draw(4, 4, random_state=0).sum(axis=0)  # every output once
    array([1., 1., 1., 1.])
    """

    replacement: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.replacement, bool):
            raise ValueError(f"replacement must be True or False, got {self.replacement!r}")

    def _family(self) -> _ProjectionFamily:
        return {"name": "subsample", "sparsity": None, "replacement": self.replacement}


@dataclass(frozen=True)
class HadamardProjection(Projection):
    """Projection by random rows of a Hadamard matrix, drawn without replacement.

    The size D of the Hadamard matrix is the smallest power of two that is not below d. Its first d columns are used.
    All entries are ±1/√q. If d is a power of two, the rows are orthogonal. At most D rows can be drawn. Applying the
    projection costs D log D, independently of q, for each sample with many non-zero outputs, and q for each stored
    entry of samples with few.

    Examples
    --------
    >>> from weald.projection import HadamardProjection
    >>> phi = HadamardProjection().draw(8, 4, random_state=0)
    >>> (phi @ phi.T).round(12)
    array([[2., 0., 0., 0.],
           [0., 2., 0., 0.],
           [0., 0., 2., 0.],
           [0., 0., 0., 2.]])
    """

    def _family(self) -> _ProjectionFamily:
        return {"name": "hadamard", "sparsity": None, "replacement": False}


@dataclass(frozen=True)
class PCAProjection(Projection):
    """Projection on the principal components of the training outputs, those of the largest variance first.

    Outputs are centered and weighted by the sample weights. The projection is not random. It is meant as a baseline
    that shows what the best linear summary of the outputs achieves. There are at most `n_outputs` rows, and those
    beyond the rank of y are arbitrary. All trees of a fit use the same projection, independently of `projection_scope`.

    Examples
    --------
    >>> import numpy as np
    >>> from weald.projection import PCAProjection
    >>> y = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
    >>> np.abs(PCAProjection().draw(2, 1, y=y)).round(3)
    array([[0.707, 0.707]])
    """

    def draw(
        self,
        n_outputs: int,
        n_projections: NProjections = "log",
        random_state: RandomState = None,
        *,
        y: MatrixLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Float | sparse.csr_array:
        """Compute the matrix Φ that a tree grown on `y` would use.

        Parameters
        ----------
        n_outputs : int
            Number of outputs of y.
        n_projections : int, float or "log", default="log"
            Number of rows of the matrix, at most `n_outputs`: an integer, a fraction of `n_outputs`, or "log" for
            ⌊½ + ln d⌋.
        random_state : int, RandomState instance or None, default=None
            As in the other families.
        y : {array-like, sparse matrix} of shape (n_samples, n_outputs)
            Dense regression targets, or sparse labels of 0 and 1. This parameter is required.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights. They must not be negative, and not all zero.

        Returns
        -------
        float64 ndarray of shape (n_projections, n_outputs)
            The matrix Φ.

        Raises
        ------
        ValueError
            If `y` is not given or does not have `n_outputs` outputs, or a parameter is out of range.
        """
        if y is None:
            raise ValueError(
                "y must be given for the principal directions of y, got None: PCAProjection().draw(..., y=y)"
            )
        name = type(self).__name__
        with checks.named("y"):
            n_samples = num_samples(y)
        weights = checks.check_weights(sample_weight, n_samples)
        if is_sparse(y):
            target = targets.classes(y, weights, n_samples, name, warn_column=False)
        else:
            target = targets.numbers(y, n_samples, name, warn_column=False, weights=weights)
        if target.n_outputs != n_outputs:
            raise ValueError(f"n_outputs must be {target.n_outputs}, the number of outputs of y, got {n_outputs!r}")
        return self._draw(n_outputs, n_projections, random_state, target.engine, weights)

    def _family(self) -> _ProjectionFamily:
        return {"name": "pca", "sparsity": None, "replacement": False}


def johnson_lindenstrauss_dim(n_samples: int, eps: float) -> int:
    """Number of projections that preserve all squared distances between samples within a factor of 1 ± eps.

    The number is ⌈8 ln n / eps²⌉, and at least 1. For any n samples there is a projection to this number of dimensions
    with that property (W. Johnson and J. Lindenstrauss, 1984; Joly 2016, chapter 5), and it also preserves the variance
    in every node within a factor of 1 ± eps. The number does not depend on the number of outputs. It is a bound for the
    worst case: forests need far fewer projections.

    Parameters
    ----------
    n_samples : int
        Number of samples, at least 1.
    eps : float
        Maximum relative distortion of squared distances, greater than 0 and less than 1.

    Returns
    -------
    int
        The number of projections.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Examples
    --------
    >>> from weald.projection import johnson_lindenstrauss_dim
    >>> johnson_lindenstrauss_dim(1000, 0.5)
    222
    """
    n_samples = checks.integer("n_samples", n_samples, 1, sys.maxsize)
    eps = checks.number("eps", eps, lambda _: True, "a number greater than 0 and less than 1")
    return _weald.johnson_lindenstrauss_dim(n_samples, eps)
