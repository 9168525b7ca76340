"""What models without tests of single features share: X is finite and has no categories, and some attributes are absent."""

from __future__ import annotations

from contextlib import nullcontext
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags

from weald._fit import updates
from weald._fit.base import BaseModel, as_size
from weald._fit.predictions import BaseClassifier
from weald._fit.samples import Samples, prepare
from weald._fitted.at_once import of_one_fit
from weald._input import digest, schema, warned
from weald._input.checks import Matrix, Number, draw_seed
from weald._input.sklearn_private import Interval, StrOptions
from weald._input.sparse import Raw, has_nan
from weald._parameters.types import MatrixLike, RandomState
from weald._rounds.progress import Progress

if TYPE_CHECKING:
    from weald._weald import _ColumnsConfig


class Absent:
    """An attribute of other estimators that these do not have. Its error says what to use instead."""

    def __init__(self, instead: str) -> None:
        self._instead = instead

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        name = type(instance).__name__ if owner is None else owner.__name__
        raise AttributeError(f"{name} has no {self._name}: {self._instead}")


class OfFiniteX(BaseModel):
    """Estimators for X without missing values and without categories."""

    _tests_features = False
    # The function of `weald.inspection` that shows their content, if there is one.
    _inspected_by: ClassVar[str | None]
    # Why missing values are not supported.
    _why_finite: ClassVar[str]
    # Why formats for tests of single features do not represent them, and the exporters that take them all the same.
    _why_no_tests: ClassVar[str]
    _exported_by: ClassVar[str] = ""

    def _check_X(self, X: Raw, *, reset: bool, **options: Any) -> Matrix:
        if reset and (columns := schema.by_value(X)):
            raise ValueError(
                f"{type(self).__name__} does not support text or categories, got feature {columns[0]!r} of X; "
                "use for example sklearn.preprocessing.OneHotEncoder for categories and "
                "sklearn.feature_extraction.text.CountVectorizer for texts"
            )
        return super()._check_X(X, reset=reset, **options)

    def _to_matrix(self, X: Raw, *, reset: bool, fitting: bool) -> Matrix:
        X = super()._to_matrix(X, reset=reset, fitting=fitting)
        if has_nan(X):
            raise ValueError(
                f"X contains NaN, which {type(self).__name__} does not support, since {self._why_finite}: X must be "
                "finite. Impute missing values, or use a random forest, which splits on missing values"
            )
        return X

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        return tags


# With less weight times C, the penalty holds most weights of features near zero.
_LEAST_LOSSES = 30.0


class OfPreparedX(OfFiniteX, BaseClassifier):
    """Classifiers with weights of features that are prepared: columns of weights, fitted sixteen at a time."""

    _has_trees = False
    _scored_by_engine = False
    _masks_y = True
    _why_finite = "a weight times a missing value is unknown"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "intercept_scaling": [Number(Real, 0.0, 1e3, closed="both")],
        "tol": [Number(Real, 1e-9, 1e9, closed="both")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "min_weight": [Number(Real, 0.0, None, closed="left")],
        "weight_dtype": [StrOptions({"float32", "float16"})],
        **BaseClassifier._parameter_constraints,
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }
    intercept_scaling: float
    tol: float
    max_iter: int
    min_weight: float
    weight_dtype: Literal["float32", "float16"]
    C: Any
    random_state: RandomState
    verbose: int

    _model: Any
    _seed: int
    _part: tuple[int, int, str]

    def _least_weights(self, n_samples: int) -> dict[str, float]:
        strength = 1.0 if isinstance(self.C, str) else float(self.C)
        return {f"C={self.C}": _LEAST_LOSSES / strength}

    def _fit(
        self,
        X: MatrixLike,
        y: MatrixLike,
        sample_weight: object,
        y_mask: MatrixLike | None,
        label_names: object,
        part: object = None,
        *,
        with_folds: bool = False,
    ) -> tuple[Samples, Any]:
        """Fit; return the checked samples, and what `_fit_columns` returns."""
        if 0 < self.intercept_scaling < 1e-3:
            raise ValueError(f"intercept_scaling must be 0, or from 0.001 to 1000, got {self.intercept_scaling!r}")
        samples = prepare(self, X, y, sample_weight, y_mask, label_names)
        self._seed = draw_seed(self.random_state)
        self._set_outputs(samples.target)
        of_part = None if part is None else updates.checked_range(self, part, self._n_of_parts())
        with (
            Progress(type(self).__name__, "block of columns", None, self.verbose)
            if self.verbose
            else nullcontext() as told
        ):
            folds = self._fit_columns(samples, told, of_part, with_folds)
        if of_part is not None:
            self._part = (*of_part, digest.of_data(samples.X, samples.target, samples.weights))
        if n := self._model.n_unfinished:
            warned.warn(
                f"{n} of {self._columns()} did not reach tol={self.tol!r} within "
                f"max_iter={self.max_iter} passes: set a larger max_iter or tol, or a smaller C",
                ConvergenceWarning,
            )
        return samples, folds

    def _fit_columns(
        self, samples: Samples, told: Progress | None, part: tuple[int, int] | None, with_folds: bool
    ) -> Any:
        """Set `_model`, to that of a part or of all, and what was chosen by the fit; return the models of its folds."""
        raise NotImplementedError

    def _columns(self) -> str:
        """How many columns the model has, and what they are."""
        raise NotImplementedError

    def _config_of_columns(self, seed: int) -> _ColumnsConfig:
        """The parameters that all these models have, in the engine's form."""
        return {
            "intercept_scaling": float(self.intercept_scaling),
            "tol": float(self.tol),
            "max_iter": as_size(self.max_iter) or 1,
            "min_weight": float(self.min_weight),
            "half_precision": self.weight_dtype == "float16",
            "seed": seed,
        }

    def _fitted(self, attribute: str) -> Any:
        """The engine's model. Before a fit, `attribute` does not exist, as for any estimator of scikit-learn."""
        if "_model" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has no {attribute} before it is fitted")
        return self._model

    @property
    @of_one_fit
    def n_iter_(self) -> int:
        """The largest number of passes over the samples, of all columns."""
        n_iter: int = self._fitted("n_iter_").n_iter
        return n_iter

    @property
    @of_one_fit
    def features_(self) -> str:
        """What is done with X: one of the values of `features`, and not "auto"."""
        features: str = self._fitted("features_").features
        return features

    @property
    @of_one_fit
    def idf_(self) -> NDArray[np.float32]:
        """The inverse document frequency of each feature: a copy, of shape (n_features,). Only with "tfidf"."""
        idf: NDArray[np.float32] | None = self._fitted("idf_").idf()
        if idf is None:
            raise AttributeError(f"{type(self).__name__} has no idf_ with features_={self._model.features!r}")
        return idf
