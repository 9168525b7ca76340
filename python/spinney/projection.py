"""Random projections of the outputs: families, what they draw, and how many projections are enough.

With `output_projection`, a tree chooses its splits by q combinations of the d outputs, the rows of a matrix Φ drawn for
that tree, and not by the outputs themselves: the structure is grown on Z = Y Φᵀ with the variance criterion. Leaves
hold the outputs as they are, means or frequencies, so predictions need no decoding. Classes enter as their one-hot
columns: d is then the number of all classes of all outputs.

What `output_projection` takes
    * The name of a family, or an object of it: "achlioptas" is `RademacherProjection("achlioptas")`, "sparse" is
      `RademacherProjection("sqrt")`, the other names are those of the classes, with their defaults.
    * A matrix Φ of shape (q, d), dense or sparse, for all trees. `n_projections` is then its number of rows, or "log".
    * A callable of (n_outputs, n_projections, random_state) that returns such a matrix. It is called before growth, for
      each tree or, with `projection_scope="forest"`, once; `random_state` is an integer below 2³² made from the seed of
      the fit and the index of the tree. Under `warm_start` it is called for the new trees, or once again with what it
      was called with before: let it be a function of its arguments.

Which family
    * "gaussian": the default choice. "rademacher" (signs) is as good and has fewer distinct values.
    * "achlioptas", "sparse": as "gaussian" on average, two thirds (all but a share of 1/√d) of their entries zero. They
      save time where Y is sparse or d is many thousands; where each row of Y has few entries, the smaller share leaves
      many rows without any sign of their labels.
    * "subsample": q outputs drawn, the others not looked at. Cheapest, and right where outputs repeat each other.
    * "hadamard": orthogonal rows; no two of them measure the same. q is at most the next power of two from d.
    * "pca": not random, the directions in which the outputs vary most. All trees of a fit share them, whatever the
      scope, and lack the variety that forests live on: a baseline.

How many
    "log", ⌊½ + ln d⌋, is enough for forests, where every tree has a projection of its own: the forest sees many.
    A single tree, or `projection_scope="forest"`, wants more: a share of d, or tens. `johnson_lindenstrauss_dim` is the
    number that suffices for any data; in practice far fewer do.

When not
    * With sparse labels the engine's cost is that of the labels that are there. Projected rows are dense: projections
      save little time on such data. What they may buy is accuracy, as trees differ more; measure it.
    * With one output or a few there is nothing to reduce; a single output of classes is refused.
    * Where impurities of the tree are read: they are those of the projected outputs. Importances on the outputs
      themselves are `spinney.inspection.feature_importances(model, outputs="all")`.

They save time with many dense outputs, numbers above all: a search then costs q for each row and not d.

References: A. Joly, *Exploiting random projections and sparsity with random forests and gradient boosting methods*, PhD
thesis, Liège 2016, chapter 5; A. Joly, P. Geurts, L. Wehenkel, *Random forests with random projections of the output
space for high dimensional multi-label classification*, ECML PKDD 2014. Sparse signs: D. Achlioptas, *Database-friendly
random projections*, JCSS 2003; P. Li, T. Hastie, K. Church, *Very sparse random projections*, KDD 2006.

Examples
--------
>>> import numpy as np
>>> import spinney
>>> from spinney.projection import RademacherProjection
>>> rng = np.random.default_rng(0)
>>> X = rng.random((300, 5))
>>> Y = np.sin(3 * X[:, [0]] + np.arange(200) / 50)  # 200 outputs
>>> forest = spinney.RandomForestRegressor(
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
from typing import TYPE_CHECKING, Any

from scipy import sparse
from sklearn.utils._param_validation import RealNotInt

from spinney import _spinney, _validation
from spinney._sparse import is_sparse
from spinney._validation import Float

if TYPE_CHECKING:
    from spinney._spinney import _ProjectionFamily

__all__ = [
    "GaussianProjection",
    "HadamardProjection",
    "PCAProjection",
    "Projection",
    "RademacherProjection",
    "SubsampleProjection",
    "johnson_lindenstrauss_dim",
]


def count_projections(n_projections: Any, n_outputs: int) -> int:
    """Number of rows of Φ for `n_outputs` columns."""
    if isinstance(n_projections, str) and n_projections == "log":
        return _spinney.count_projections(n_outputs)
    if not isinstance(n_projections, bool):
        if isinstance(n_projections, Integral) and int(n_projections) >= 1:
            return _spinney.count_projections(n_outputs, count=min(int(n_projections), sys.maxsize))
        if isinstance(n_projections, RealNotInt) and 0 < float(n_projections) <= 1:
            return _spinney.count_projections(n_outputs, share=float(n_projections))
    raise ValueError(f'n_projections is {n_projections!r}, accepted: "log", an integer from 1, a share in (0, 1]')


class Projection:
    """Base of the families. Objects are values: immutable, equal when they mean the same, hashable."""

    def _family(self) -> _ProjectionFamily:
        raise TypeError(f"{type(self).__name__} is no family of the engine: pass a callable instead")

    def draw(self, n_outputs: int, n_projections: Any = "log", random_state: Any = None) -> Any:
        """Draw the matrix Φ that a tree would use.

        With an integer `random_state` it is exactly the matrix of a single tree with that `random_state`, and of a
        forest with it and `projection_scope="forest"`.

        Parameters
        ----------
        n_outputs : int
            Number of columns d: outputs that are numbers, labels, or all classes of all outputs.
        n_projections : int, float or "log", default="log"
            Number of rows q: a number, a share of `n_outputs`, or ⌊½ + ln d⌋; at least 1.
        random_state : int, RandomState instance or None, default=None
            Source of the one seed that is drawn.

        Returns
        -------
        float64 ndarray, or CSR array for families whose matrices are sparse, of shape (n_projections, n_outputs)

        Raises
        ------
        ValueError
            Where numbers are out of range, of the family or at all.
        """
        return self._draw(n_outputs, n_projections, random_state, None, None)

    def _draw(
        self, n_outputs: Any, n_projections: Any, random_state: Any, y: Any, sample_weight: Float | None
    ) -> Float | sparse.csr_array:
        most = _validation.MOST
        if isinstance(n_outputs, bool) or not isinstance(n_outputs, Integral) or not 1 <= int(n_outputs) <= most:
            raise ValueError(f"n_outputs is {n_outputs!r}, accepted: an integer from 1 to {most}")
        d = int(n_outputs)
        q = count_projections(n_projections, d)
        seed = _validation.draw_seed(random_state)
        drawn = _spinney.draw_projection(self._family(), d, q, seed, y, sample_weight)
        if not isinstance(drawn, tuple):
            return drawn
        indptr, indices, values = drawn
        return sparse.csr_array((values, indices, indptr), shape=(q, d))


@dataclass(frozen=True)
class GaussianProjection(Projection):
    """Independent normal entries, N(0, 1/q): squared lengths and distances are kept on average.

    Applying it costs q multiplications for each stored entry of Y.

    Examples
    --------
    >>> from spinney.projection import GaussianProjection
    >>> GaussianProjection().draw(1000, random_state=0).shape
    (7, 1000)
    """

    def _family(self) -> _ProjectionFamily:
        return {"name": "gaussian", "sparsity": None, "replacement": False}


@dataclass(frozen=True)
class RademacherProjection(Projection):
    """Signs: ±√(s/q) with probability 1/(2s) each, else 0. Rows without any sign are drawn again.

    Parameters
    ----------
    sparsity : float, "achlioptas" or "sqrt", default=1
        s, at least 1: one entry in s is not zero. 1 is dense, "achlioptas" is 3, "sqrt" is √d for d outputs.

    Notes
    -----
    Applying it costs q/s additions for each stored entry of Y.

    Raises
    ------
    ValueError
        When `sparsity` is none of these.

    Examples
    --------
    >>> from spinney.projection import RademacherProjection
    >>> abs(RademacherProjection().draw(3, 4, random_state=0))[0]
    array([0.5, 0.5, 0.5])
    >>> RademacherProjection("achlioptas") == RademacherProjection(sparsity=3)
    True
    >>> RademacherProjection("sqrt").draw(10000, 5, random_state=0).format
    'csr'
    """

    sparsity: Any = 1

    def __post_init__(self) -> None:
        s = self.sparsity
        if isinstance(s, str):
            if s == "achlioptas":
                object.__setattr__(self, "sparsity", 3)  # the same value whichever way it is written
                return
            known = s == "sqrt"
        else:
            known = (
                isinstance(s, Real)
                and not isinstance(s, bool)
                and _validation.is_float(s)
                and isfinite(s)
                and float(s) >= 1
            )
        if not known:
            raise ValueError(f'sparsity is {s!r}, accepted: a finite number from 1, "achlioptas" (3), "sqrt" (√d)')

    def _family(self) -> _ProjectionFamily:
        s = None if isinstance(self.sparsity, str) else float(self.sparsity)
        return {"name": "rademacher", "sparsity": s, "replacement": False}


@dataclass(frozen=True)
class SubsampleProjection(Projection):
    """Outputs drawn uniformly: rows of the identity, unscaled.

    Parameters
    ----------
    replacement : bool, default=False
        Whether an output may be drawn twice. If not, at most `n_outputs` rows can be drawn.

    Raises
    ------
    ValueError
        When `replacement` is no bool; at the draw, when there are more projections than outputs to draw.

    Examples
    --------
    >>> from spinney.projection import SubsampleProjection
    >>> SubsampleProjection().draw(4, 4, random_state=0).sum(axis=0)  # every output once
    array([1., 1., 1., 1.])
    """

    replacement: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.replacement, bool):
            raise ValueError(f"replacement is {self.replacement!r}, accepted: True or False")

    def _family(self) -> _ProjectionFamily:
        return {"name": "subsample", "sparsity": None, "replacement": self.replacement}


@dataclass(frozen=True)
class HadamardProjection(Projection):
    """Rows of the Hadamard matrix of size D, the next power of two from d, without replacement; d columns, over √q.

    All entries are ±1/√q; where d is a power of two, rows are orthogonal. At most D rows can be drawn. Applying it
    costs D log D for each row of Y with many entries, whatever q, and q for each stored entry of rows with few.

    Examples
    --------
    >>> from spinney.projection import HadamardProjection
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
    """Principal directions of the training outputs, weighted and centred, those of the largest variance first.

    Not random: a baseline that shows what the best linear summary of the outputs gives. At most `n_outputs` rows; those
    beyond the rank of y are arbitrary. All trees of a fit have the same, whatever the scope.

    Examples
    --------
    >>> import numpy as np
    >>> from spinney.projection import PCAProjection
    >>> y = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
    >>> np.abs(PCAProjection().draw(2, 1, y=y)).round(3)
    array([[0.707, 0.707]])
    """

    def draw(
        self,
        n_outputs: int,
        n_projections: Any = "log",
        random_state: Any = None,
        *,
        y: Any = None,
        sample_weight: Any = None,
    ) -> Any:
        """Compute the matrix Φ that a tree grown on `y` would use.

        Parameters
        ----------
        n_outputs : int
            Number of columns of y.
        n_projections : int, float or "log", default="log"
            Number of rows, at most `n_outputs`.
        random_state : int, RandomState instance or None, default=None
            As in the other families.
        y : {array-like, sparse matrix} of shape (n_samples, n_outputs)
            Numbers, or sparse 0/1 labels. Required.
        sample_weight : array-like of shape (n_samples,), default=None
            Not negative, not all zero.

        Returns
        -------
        float64 ndarray of shape (n_projections, n_outputs)

        Raises
        ------
        ValueError
            Without y, or when its columns are not `n_outputs`.
        """
        if y is None:
            raise ValueError("y is None, but principal directions are those of y: PCAProjection().draw(..., y=y)")
        name = type(self).__name__
        n_samples = y.shape[0] if is_sparse(y) else len(y)
        weights = _validation.check_weights(sample_weight, n_samples)
        if is_sparse(y):
            target = _validation.classes(y, weights, n_samples, name, warn_column=False)
        else:
            target = _validation.numbers(y, n_samples, name, warn_column=False, weights=weights)
        if target.n_outputs != n_outputs:
            raise ValueError(f"n_outputs is {n_outputs!r}, but y has {target.n_outputs} columns")
        return self._draw(n_outputs, n_projections, random_state, target.engine, weights)

    def _family(self) -> _ProjectionFamily:
        return {"name": "pca", "sparsity": None, "replacement": False}


def johnson_lindenstrauss_dim(n_samples: int, eps: float) -> int:
    """Number of projections that keep every squared distance between `n_samples` rows within 1 ± eps.

    ⌈8 ln n / eps²⌉, at least 1: some projection to so many dimensions does it for any rows (W. Johnson and J.
    Lindenstrauss, 1984; thesis, ch. 5), and then keeps every variance in every node within 1 ± eps too. It does not
    depend on the number of outputs, and is a bound for the worst case: forests do with far fewer.

    Parameters
    ----------
    n_samples : int
        At least 1.
    eps : float
        Above 0, below 1.

    Returns
    -------
    int

    Raises
    ------
    ValueError
        When a number is out of range.

    Examples
    --------
    >>> from spinney.projection import johnson_lindenstrauss_dim
    >>> johnson_lindenstrauss_dim(1000, 0.5)
    222
    """
    if isinstance(n_samples, bool) or not isinstance(n_samples, Integral) or not 1 <= n_samples <= sys.maxsize:
        raise ValueError(f"n_samples is {n_samples!r}, accepted: an integer from 1")
    if isinstance(eps, bool) or not isinstance(eps, Real) or not _validation.is_float(eps):
        raise ValueError(f"eps is {eps!r}, accepted: a number above 0 and below 1")
    return _spinney.johnson_lindenstrauss_dim(int(n_samples), float(eps))
