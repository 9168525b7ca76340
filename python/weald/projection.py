"""Random projections of the outputs, and projections of outputs of any kind by a kernel.

With the parameter `output_projection`, each tree chooses its splits by the variance of Z = Y Φᵀ, q random linear
combinations of the d outputs (or of all classes, one-hot encoded); leaves store the original outputs. It is the name of
a family ("achlioptas" and "sparse" are `RademacherProjection("achlioptas")` and `RademacherProjection("sqrt")`) or an
instance of a class of this module; a matrix Φ of shape (q, d), which all trees use; or a callable with the arguments
(n_outputs, n_projections, random_state) that returns such a matrix, is called once for each tree before the trees are
grown, and should depend on its arguments alone.

"gaussian" is a good default, "rademacher" as accurate, and "achlioptas" and "sparse" save time if Y is sparse or d is
many thousands. "subsample" ignores outputs, "hadamard" has orthogonal rows if d is a power of two, and "pca", the
directions of largest variance, is a baseline. `docs/projections.md` says when to use projections, and how many.

References: A. Joly, *Exploiting random projections and sparsity*, PhD thesis, Liège 2016, chapter 5; A. Joly, P.
Geurts, L. Wehenkel, *Random forests with random projections of the output space*, ECML PKDD 2014; D. Achlioptas, JCSS
2003, and P. Li, T. Hastie, K. Church, KDD 2006, for sparse signs; P. Geurts, L. Wehenkel, F. d'Alché-Buc, *Kernelizing
the output of tree-based methods*, ICML 2006.

>>> import weald, numpy as np
>>> X = np.random.default_rng(0).random((300, 5))
>>> forest = weald.RandomForestRegressor(output_projection="rademacher", n_projections=3, random_state=0)
>>> forest.fit(X, np.sin(3 * X[:, [0]] + np.arange(200) / 50)).predict(X).shape
(300, 200)
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from weald import _weald
from weald._input import checks, registry, targets
from weald._input.checks import Float, Matrix
from weald._input.messages import kind_of
from weald._input.sklearn_private import Interval, RealNotInt, StrOptions, num_samples, safe_indexing
from weald._input.sparse import is_sparse

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from weald._parameters.types import MatrixLike, NProjections, RandomState

__all__ = [
    "GaussianProjection",
    "HadamardProjection",
    "KernelProjection",
    "PCAProjection",
    "Projected",
    "Projection",
    "RademacherProjection",
    "SubsampleProjection",
    "johnson_lindenstrauss_dim",
]


def count_projections(n_projections: object, n_outputs: int) -> int:
    """The number of rows of Φ if it has `n_outputs` columns."""
    if isinstance(n_projections, str) and n_projections == "log":
        return _weald.count_projections(n_outputs)
    if checks.is_integer(n_projections) and int(n_projections) >= 1:
        return _weald.count_projections(n_outputs, count=min(int(n_projections), sys.maxsize))
    if isinstance(n_projections, RealNotInt) and 0 < float(n_projections) <= 1:
        return _weald.count_projections(n_outputs, share=float(n_projections))
    raise ValueError(
        'n_projections must be "log", an integer of at least 1, or a fraction in (0, 1], got '
        f"{checks.shown(n_projections)}"
    )


class Projection:
    """Base class of the projection families. Instances are immutable and hashable, and compare by their parameters."""

    def _family(self) -> _weald._ProjectionFamily:
        raise TypeError(
            f"output_projection must be a projection of weald, a callable or a matrix, got {type(self).__name__}"
        )

    def draw(
        self, n_outputs: int, n_projections: NProjections = "log", random_state: RandomState = None
    ) -> Float | sparse.csr_array:
        """Draw the matrix Φ that a tree, or a forest with `projection_scope="forest"`, uses with the same `random_state`.

        Parameters
        ----------
        n_outputs : int
            Number of columns d of the matrix: the number of regression targets, of labels, or of all classes of all
            outputs.
        n_projections : int, float or "log", default="log"
            Number of rows q of the matrix, at least 1: an integer, a fraction of `n_outputs`, or "log" for ⌊½ + ln d⌋.
        random_state : int, RandomState instance or None, default=None
            Controls the random entries. One seed is drawn from it.

        Returns
        -------
        {float64 ndarray, CSR array} of shape (n_projections, n_outputs)
            The matrix, as a CSR array for families of sparse matrices.
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

    >>> from weald.projection import GaussianProjection
    >>> GaussianProjection().draw(1000, random_state=0).shape
    (7, 1000)
    """

    def _family(self) -> _weald._ProjectionFamily:
        return {"name": "gaussian", "sparsity": None, "replacement": False}


@dataclass(frozen=True)
class RademacherProjection(Projection):
    """Projection by random signs, dense or sparse.

    Each entry is √(s/q) or -√(s/q) with probability 1/(2s) each, and 0 otherwise, in q/s additions for each stored
    entry of Y. Rows in which all entries are zero are drawn again.

    >>> from weald.projection import RademacherProjection
    >>> abs(RademacherProjection().draw(3, 4, random_state=0))[0]
    array([0.5, 0.5, 0.5])

    Parameters
    ----------
    sparsity : float, "achlioptas" or "sqrt", default=1
        The sparsity s, at least 1: on average one in s entries is not zero. "achlioptas" is 3, and "sqrt" is √d.
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

    def _family(self) -> _weald._ProjectionFamily:
        s = None if isinstance(self.sparsity, str) else float(self.sparsity)
        return {"name": "rademacher", "sparsity": s, "replacement": False}


@dataclass(frozen=True)
class SubsampleProjection(Projection):
    """Random subset of the outputs: unscaled rows of the identity matrix, drawn uniformly.

    >>> from weald.projection import SubsampleProjection
    >>> SubsampleProjection().draw(4, 4, random_state=0).sum(axis=0)  # every output once
    array([1., 1., 1., 1.])

    Parameters
    ----------
    replacement : bool, default=False
        Whether outputs are drawn with replacement. If False, `n_projections` is at most `n_outputs`.
    """

    replacement: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.replacement, bool):
            raise ValueError(f"replacement must be True or False, got {self.replacement!r}")

    def _family(self) -> _weald._ProjectionFamily:
        return {"name": "subsample", "sparsity": None, "replacement": self.replacement}


@dataclass(frozen=True)
class HadamardProjection(Projection):
    """Projection by random rows of a Hadamard matrix, drawn without replacement.

    The size D of the Hadamard matrix is the smallest power of two that is not below d, and the largest q. All entries
    are ±1/√q, and the rows are orthogonal if d = D. It costs D log D for each sample with many non-zero outputs, and q
    for each stored entry of samples with few.

    >>> from weald.projection import HadamardProjection
    >>> HadamardProjection().draw(8, 2, random_state=0).shape
    (2, 8)
    """

    def _family(self) -> _weald._ProjectionFamily:
        return {"name": "hadamard", "sparsity": None, "replacement": False}


@dataclass(frozen=True)
class PCAProjection(Projection):
    """Projection on the principal components of the training outputs, those of the largest variance first: a baseline.

    Outputs are centered and weighted by the sample weights. There are at most `n_outputs` rows, and those beyond the
    rank of y are arbitrary. All trees of a fit use the same projection.

    >>> from weald.projection import PCAProjection
    >>> abs(PCAProjection().draw(2, 1, y=[[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])).round(3)
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
            Number of rows of the matrix, at most `n_outputs`, as in the other families.
        random_state : int, RandomState instance or None, default=None
            As in the other families.
        y : {array-like, sparse matrix} of shape (n_samples, n_outputs)
            Dense regression targets, or sparse labels of 0 and 1. This parameter is required.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Sample weights. They must not be negative, and not all zero.

        Returns
        -------
        float64 ndarray of shape (n_projections, n_outputs)
            The matrix Φ.
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

    def _family(self) -> _weald._ProjectionFamily:
        return {"name": "pca", "sparsity": None, "replacement": False}


def johnson_lindenstrauss_dim(n_samples: int, eps: float) -> int:
    """Number of projections that preserve all squared distances between samples within a factor of 1 ± eps.

    It is ⌈8 ln n / eps²⌉, whatever the number of outputs (W. Johnson and J. Lindenstrauss, 1984; Joly 2016, chapter 5),
    and preserves the variance in every node within the same factor: a bound for the worst case. Forests need far fewer.

    >>> from weald.projection import johnson_lindenstrauss_dim
    >>> johnson_lindenstrauss_dim(1000, 0.5)
    222

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
    """
    n_samples = checks.integer("n_samples", n_samples, 1, sys.maxsize)
    eps = checks.number("eps", eps, lambda _: True, "a number greater than 0 and less than 1")
    return _weald.johnson_lindenstrauss_dim(n_samples, eps)


# The parameters of kernels by name. "additive_chi2" of scikit-learn is missing: it is not positive semidefinite.
_KERNELS = {
    "chi2": {"gamma"},
    "cosine": set[str](),
    "laplacian": {"gamma"},
    "linear": set[str](),
    "poly": {"gamma", "degree", "coef0"},
    "polynomial": {"gamma", "degree", "coef0"},
    "rbf": {"gamma"},
    "sigmoid": {"gamma", "coef0"},
}
# Kernels of which random features are known.
_SHIFT_INVARIANT = ("rbf", "laplacian")
# About this number of values of a kernel, or of distances, is held at once, which is 32 MiB.
_CELLS = 1 << 22
# Distances of equal outputs differ by their rounding.
_EQUALLY_NEAR = 1e-12


FAMILIES: dict[str, Projection] = {
    "achlioptas": RademacherProjection("achlioptas"),
    "gaussian": GaussianProjection(),
    "hadamard": HadamardProjection(),
    "pca": PCAProjection(),
    "rademacher": RademacherProjection(),
    "sparse": RademacherProjection("sqrt"),
    "subsample": SubsampleProjection(),
}
CONSTRAINTS: dict[str, list[Any]] = {
    "output_projection": [StrOptions(set(FAMILIES)), Projection, "array-like", "sparse matrix", callable, None],
    "n_projections": [
        Interval(Integral, 1, None, closed="left"),
        checks.Number(RealNotInt, 0.0, 1.0, closed="right"),
        StrOptions({"log"}),
    ],
}


@registry.stored(registry.PARTS)
@dataclass(frozen=True, eq=False)
class Projected(registry.Settings):
    """Stages of boosting that fit one tree to projections of the gradients: a value of `output_strategy`.

    `output_strategy="projected"` is `output_strategy=Projected()`. Objects are immutable except by `set_params`, and compare
    by their fields.

    Parameters
    ----------
    projection : str, Projection, callable or matrix of shape (q, n_columns), default="gaussian"
        The family of the random combinations, or what this module describes. Each stage has a projection of its own. There is
        a column of scores for each numerical output, label, or single output of two classes, and for each class of other
        outputs of classes.
    n_projections : int, float or "log", default=1
        Number q of combinations: a number, a fraction of the columns of scores, or for "log" the number ⌊½ + ln d⌋ for d
        columns.
    relabel_leaves : bool, default=True
        Whether leaves hold values for every output. If False, a leaf holds one value, which each output multiplies by a step
        size of its own. A stage then takes memory for n_leaves + n_columns numbers instead of their product.

    See Also
    --------
    weald.GradientBoostingClassifier, weald.GradientBoostingRegressor : The estimators.

    Examples
    --------
    >>> import numpy as np
    >>> import weald
    >>> from weald.projection import Projected
    >>> X = np.arange(100.0)[:, np.newaxis]
    >>> Y = np.sin(X / 10 + np.arange(30))  # 30 outputs
    >>> strategy = Projected("rademacher", relabel_leaves=False)
    >>> boosting = weald.GradientBoostingRegressor(output_strategy=strategy, n_estimators=10, random_state=0).fit(X, Y)
    >>> boosting.step_sizes_.shape
    (10, 30)
    """

    projection: Any = "gaussian"
    n_projections: int | float | Literal["log"] = 1
    relabel_leaves: bool = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "projection": CONSTRAINTS["output_projection"][:-1],
        "relabel_leaves": ["boolean"],
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        count_projections(self.n_projections, 1)


class KernelProjection(BaseEstimator):
    """Numerical targets for outputs of any kind, by a kernel over outputs, and back.

    Use it for texts, sets or graphs as outputs. `transform` maps each output to q numbers whose inner products
    approximate the kernel, so that a tree grown on them is an output-kernel tree (Geurts, Wehenkel, d'Alché-Buc 2006),
    and `inverse_transform` returns the known output that is nearest to a prediction. `fit` takes time O(q³),
    `transform` q evaluations of the kernel and q² operations for each output, decoding O(q) for each candidate. See
    `docs/projections.md#outputs-that-are-not-numbers`.

    >>> import weald
    >>> targets = weald.projection.KernelProjection("rbf").fit([[0.0], [1.0], [5.0]])
    >>> targets.decode(targets.transform([[4.0]]))
    array([2])

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        The kernel k over outputs: "chi2", "cosine", "laplacian", "linear", "poly" or "polynomial", "rbf", "sigmoid" of
        `sklearn.metrics.pairwise` for rows of numbers; a callable that returns k(a, b) of (A, B), parts of what was
        passed, as an array of shape (len(A), len(B)); or "precomputed", for values of the kernel with all outputs of
        `fit`.
    method : {"nystroem", "random_features"}, default="nystroem"
        "nystroem" compares outputs with some outputs of `fit`, which are drawn without replacement (Williams and
        Seeger, NIPS 2000). "random_features" draws random cosines (Rahimi and Recht, NIPS 2007), for "rbf" and
        "laplacian" only.
    n_components : int, default=100
        The number q of random features, or of outputs of `fit` that are drawn. If `fit` has fewer outputs, all are
        used.
    kernel_params : dict or None, default=None
        Parameters of a kernel with a name: "gamma", "degree" and "coef0" with the defaults of
        `sklearn.metrics.pairwise`, or 1 / (number of columns of Y) as "gamma" of random features. Keyword arguments of
        a callable.
    random_state : int, RandomState instance or None, default=None
        Controls which outputs or which random features are drawn.

    Attributes
    ----------
    outputs_ : list, ndarray or CSR, as passed to `fit`
        A copy of the outputs of `fit`, among which predictions are decoded. It does not exist with "precomputed".
    landmarks_ : int64 ndarray of shape (n_landmarks,)
        The indices of the outputs that were drawn, in increasing order. It exists only with "nystroem".
    n_components_ : int
        The number of columns of the targets. With "nystroem" it is the rank of the kernel among the drawn outputs.
    """

    outputs_: Any
    landmarks_: NDArray[np.int64]
    n_components_: int
    _features: _Features
    _stored: Float

    def __init__(
        self,
        kernel: str | Callable[..., Any] = "rbf",
        *,
        method: Literal["nystroem", "random_features"] = "nystroem",
        n_components: int = 100,
        kernel_params: Mapping[str, Any] | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.kernel = kernel
        self.method = method
        self.n_components = n_components
        self.kernel_params = kernel_params
        self.random_state = random_state

    def fit(self, Y: Any, ignored: None = None) -> Self:
        """Draw the landmarks or the random features, and store the outputs for decoding.

        Parameters
        ----------
        Y : array-like or sparse matrix of shape (n_samples, n_columns), sequence of n_samples outputs, or square array
            The outputs, which are copied: rows of numbers for a kernel with a name, any sequence for a callable, and
            values of the kernel of shape (n_samples, n_samples) for "precomputed".
        ignored : None
            Not used. Pipelines pass it.

        Returns
        -------
        KernelProjection
            This projection.
        """
        self._fit(Y)
        return self

    def fit_transform(self, Y: Any, ignored: None = None) -> Float:
        """Fit to the outputs and return their targets.

        Parameters
        ----------
        Y : as in `fit`
            The outputs.
        ignored : None
            Not used. Pipelines pass it.

        Returns
        -------
        float64 ndarray of shape (n_samples, `n_components_`)
            The targets, as `transform` returns them.
        """
        return self._fit(Y).copy()

    def transform(self, Y: Any) -> Float:
        """The targets of outputs.

        Parameters
        ----------
        Y : as in `fit`
            The outputs. With "precomputed": the values of the kernel of shape (n_samples, number of outputs of `fit`).

        Returns
        -------
        float64 ndarray of shape (n_samples, `n_components_`)
            The targets: inner products of its rows approximate the kernel.
        """
        check_is_fitted(self)
        return self._features.of(self._features.checked(Y, "Y"))

    def decode(self, Z: ArrayLike, candidates: Any = None) -> NDArray[np.int64]:
        """The indices of the outputs that are nearest to predicted targets.

        Parameters
        ----------
        Z : array-like of shape (n_samples, `n_components_`)
            Predictions of a regressor that was fitted to the targets.
        candidates : as Y in `transform`, or None, default=None
            The outputs among which to choose. None: those of `fit`.

        Returns
        -------
        int64 ndarray of shape (n_samples,)
            For each sample, the index of the candidate whose target is nearest to the prediction; of those that are
            equally near up to 10⁻¹² of the squared lengths, the first.
        """
        check_is_fitted(self)
        known = self._stored
        if candidates is not None:
            known = self._features.of(self._features.checked(candidates, "candidates"))
        # A regressor of one output predicts a vector.
        checks.check_real(Z, "Z")
        with checks.named("Z"):
            column = np.reshape(Z, (-1, 1)) if self.n_components_ == 1 and np.ndim(Z) == 1 else Z
            predicted: Float = check_array(column, dtype=np.float64, input_name="Z", ensure_min_samples=0)
        if predicted.shape[1] != self.n_components_:
            raise ValueError(f"Z must have {self.n_components_} columns, as the targets have, got {predicted.shape[1]}")
        lengths = np.einsum("ij,ij->i", known, known)
        near = np.einsum("ij,ij->i", predicted, predicted) + lengths.max()
        found = np.empty(len(predicted), dtype=np.int64)
        for rows in _blocks(len(predicted), len(known)):
            distances = lengths - 2 * (predicted[rows] @ known.T)
            most = distances.min(axis=1) + _EQUALLY_NEAR * near[rows]
            found[rows] = (distances <= most[:, None]).argmax(axis=1)
        return found

    def inverse_transform(self, Z: ArrayLike) -> Any:
        """The outputs of `fit` that are nearest to predicted targets.

        Parameters
        ----------
        Z : array-like of shape (n_samples, `n_components_`)
            Predictions of a regressor that was fitted to the targets.

        Returns
        -------
        list, ndarray or CSR, as passed to `fit`
            For each sample, the output `outputs_[decode(Z)]`. With "precomputed" there are no outputs, and ValueError is
            raised: use `decode`.
        """
        check_is_fitted(self)
        if not hasattr(self, "outputs_"):
            raise ValueError('kernel="precomputed" has no outputs: decode(Z) returns their indices')
        return safe_indexing(self.outputs_, self.decode(Z))

    def _fit(self, Y: Any) -> Float:
        """Fit, and return the targets, which are stored: all attributes change at the end or not at all."""
        kernel, params = self._checked_kernel()
        q = checks.integer("n_components", self.n_components, 1, sys.maxsize)
        random = checks.generator(self.random_state)
        outputs = _Features(kernel, params).checked(Y, "Y")
        landmarks = None
        features: _Features
        if self.method == "nystroem":
            landmarks = np.sort(random.permutation(num_samples(outputs))[:q]).astype(np.int64)
            features = _Landmarks.among(outputs, landmarks, kernel, params)
        else:
            features = _Cosines.drawn(outputs.shape[1], q, kernel, params, random)
        stored = features.of(outputs)
        kept = None if kernel == "precomputed" else _copied(outputs)
        for name in ("landmarks_", "outputs_"):
            if hasattr(self, name):
                delattr(self, name)
        self._features, self._stored, self.n_components_ = features, stored, stored.shape[1]
        if landmarks is not None:
            self.landmarks_ = landmarks
        if kept is not None:
            self.outputs_ = kept
        return stored

    def _checked_kernel(self) -> tuple[str | Callable[..., Any], dict[str, Any]]:
        """The kernel and its parameters."""
        kernel, params = self.kernel, self.kernel_params
        if not callable(kernel) and not (isinstance(kernel, str) and kernel in {*_KERNELS, "precomputed"}):
            raise ValueError(
                f'kernel must be a callable, "precomputed" or one of {", ".join(_KERNELS)}, got {checks.shown(kernel)}'
            )
        if self.method not in ("nystroem", "random_features"):
            raise ValueError(f'method must be "nystroem" or "random_features", got {checks.shown(self.method)}')
        if self.method == "random_features" and kernel not in _SHIFT_INVARIANT:
            raise ValueError(
                f'method="random_features" supports the kernels "rbf" and "laplacian", got {checks.shown(kernel)}'
            )
        if params is not None and not isinstance(params, Mapping):
            raise ValueError(f"kernel_params must be a dict or None, got {kind_of(params)}")
        params = dict(params or {})
        if not callable(kernel):
            known = _KERNELS.get(kernel, set())
            if unknown := [name for name in params if name not in known]:
                accepted = ", ".join(sorted(known)) or "none"
                raise ValueError(
                    f"kernel_params of {kernel} must be of these: {accepted}; got {checks.shown(unknown[0])}"
                )
            if params.get("gamma", 0) is None:
                del params["gamma"]
            for name in params:
                params[name] = checks.number(f"kernel_params[{name!r}]", params[name], isfinite, "a finite number")
            if kernel not in ("poly", "polynomial", "sigmoid") and params.get("gamma", 1.0) <= 0:
                raise ValueError(f"kernel_params['gamma'] must be positive, got {params['gamma']}")
        return kernel, params


class _Features:
    """Numbers whose inner products approximate a kernel. Its parameters are those at the time of the fit."""

    def __init__(self, kernel: str | Callable[..., Any], params: dict[str, Any], width: int | None = None) -> None:
        self.kernel, self.params = kernel, params
        # The number of columns of outputs that are numbers; None before it is known, and for other outputs.
        self.width = width

    def checked(self, Y: Any, name: str) -> Any:
        """Outputs as the kernel takes them, after a check."""
        if callable(self.kernel):
            if checks.count_samples(Y, name) == 0:
                raise ValueError(f"{name} must have at least one output, got none")
            return Y
        accepted = False if self.kernel in ("precomputed", "chi2") else "csr"
        checks.check_real(Y, name)
        with checks.named(name):
            if self.kernel != "precomputed" and not is_sparse(Y) and np.ndim(Y) == 1:
                Y = np.reshape(Y, (-1, 1))
            Y = check_array(Y, accept_sparse=accepted, dtype=np.float64, input_name=name)
        if self.width is not None and Y.shape[1] != self.width:
            raise ValueError(f"{name} must have {self.width} columns, as in fit, got {Y.shape[1]}")
        if self.width is None and self.kernel == "precomputed" and Y.shape[0] != Y.shape[1]:
            raise ValueError(f"{name} must be a square array of the values of the kernel, got shape {Y.shape}")
        if self.kernel == "chi2" and Y.min() < 0:
            raise ValueError(f"{name} must not have negative values with the kernel chi2, got {Y.min()}")
        return Y

    def of(self, outputs: Any) -> Float:
        """The features of checked outputs, in blocks of them."""
        n_samples = num_samples(outputs)
        parts = (self._of(safe_indexing(outputs, np.arange(b.start, b.stop))) for b in _blocks(n_samples, self._held()))
        return np.concatenate(list(parts))

    def _held(self) -> int:
        """The number of values that are held at once for each output."""
        raise NotImplementedError

    def _of(self, outputs: Any) -> Float:
        raise NotImplementedError


class _Landmarks(_Features):
    """Nyström features: the kernel with some outputs, times a root of the pseudo-inverse of the kernel among them."""

    landmarks: Any
    root: Float

    @classmethod
    def among(cls, outputs: Any, indices: NDArray[np.int64], kernel: Any, params: dict[str, Any]) -> Self:
        """Features of the outputs with these indices as landmarks."""
        new = cls(kernel, params, None if callable(kernel) else outputs.shape[1])
        own = safe_indexing(outputs, indices)
        new.landmarks = indices if kernel == "precomputed" else _copied(own)
        new.root = _root(new._gram(own, len(indices)))
        return new

    def _held(self) -> int:
        return len(self.root)

    def _of(self, outputs: Any) -> Float:
        features: Float = self._gram(outputs, len(self.root)) @ self.root
        return features

    def _gram(self, outputs: Any, n_landmarks: int) -> NDArray[Any]:
        """The values of the kernel between outputs and landmarks, in float32 if the caller's kernel returns them so."""
        if self.kernel == "precomputed":
            return np.asarray(outputs[:, self.landmarks])
        if callable(self.kernel):
            values = self.kernel(outputs, self.landmarks, **self.params)
        else:
            values = pairwise_kernels(outputs, self.landmarks, metric=self.kernel, **self.params)
        with checks.named("kernel"):
            values = np.asarray(values.toarray() if is_sparse(values) else values)
            values = values.astype(np.float32 if values.dtype in (np.float16, np.float32) else np.float64, copy=False)
        if values.shape != (num_samples(outputs), n_landmarks):
            raise ValueError(
                f"kernel must return values of shape {(num_samples(outputs), n_landmarks)}, got {values.shape}"
            )
        if not np.isfinite(values).all():
            raise ValueError("kernel must return finite values, got NaN or infinity")
        return values


class _Cosines(_Features):
    """Random Fourier features: cosines of random frequencies and phases."""

    frequencies: Float
    phases: Float

    @classmethod
    def drawn(cls, d: int, q: int, kernel: Any, params: dict[str, Any], random: np.random.RandomState) -> Self:
        """Features of outputs with d columns: q of them."""
        new = cls(kernel, params, d)
        gamma = params.get("gamma", 1 / d)
        if kernel == "rbf":
            new.frequencies = np.sqrt(2 * gamma) * random.standard_normal((d, q))
        else:
            new.frequencies = gamma * random.standard_cauchy((d, q))
        new.phases = random.uniform(0, 2 * np.pi, q)
        return new

    def _held(self) -> int:
        return len(self.phases)

    def _of(self, outputs: Any) -> Float:
        features: Float = np.cos(outputs @ self.frequencies + self.phases) * np.sqrt(2 / len(self.phases))
        return features


def _blocks(n_samples: int, width: int) -> list[slice]:
    """Slices of the samples with about `_CELLS` values of this width."""
    step = max(1, _CELLS // max(width, 1))
    return [slice(start, min(start + step, n_samples)) for start in range(0, n_samples, step)]


def _root(gram: NDArray[Any]) -> Float:
    """The map M of a Gram matrix G of landmarks with M Mᵀ = G⁺: its columns are directions of positive eigenvalues."""
    precision = np.finfo(gram.dtype).eps
    gram = gram.astype(np.float64)
    largest = np.abs(gram).max()
    if np.abs(gram - gram.T).max() > np.sqrt(precision) * largest:
        raise ValueError("kernel must be symmetric, got values k(a, b) that differ from k(b, a)")
    values, vectors = np.linalg.eigh((gram + gram.T) / 2)
    # Smaller ones are those of zero after rounding.
    kept = np.flatnonzero(values > len(gram) * precision * np.abs(values).max())[::-1]
    if len(kept) == 0:
        if largest > 0:
            raise ValueError("kernel must be positive semidefinite, got no direction of positive inertia")
        return np.zeros((len(gram), 1))
    root: Float = vectors[:, kept] / np.sqrt(values[kept])
    return root


def _copied(outputs: Any) -> Any:
    """The outputs in memory of their own; objects of a sequence are those of the caller."""
    if isinstance(outputs, np.ndarray):
        return np.array(outputs)
    if is_sparse(outputs):
        return sparse.csr_array(outputs, copy=True)
    return (
        list(outputs) if isinstance(outputs, list | tuple) else safe_indexing(outputs, np.arange(num_samples(outputs)))
    )
