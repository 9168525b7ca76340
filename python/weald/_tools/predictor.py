"""Predictions of one sample at a time, for services: `Predictor`."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import partial
from importlib import import_module
from inspect import unwrap
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, is_classifier
from sklearn.pipeline import Pipeline

from weald import _weald
from weald._fit.base import BaseModel
from weald._fit.predictions import BaseClassifier, best_of_scores
from weald._fitted.at_once import FittedAsOne
from weald._fitted.proof import check_fitted
from weald._input import checks, frames
from weald._input.checks import Float, Matrix, renamed
from weald._input.frames import check_collected
from weald._input.messages import cut
from weald._input.schema import Schema
from weald._input.sparse import is_sparse
from weald._parameters.types import Estimator, MatrixLike, Prediction, Scores
from weald._ranking.outputs import apart
from weald._rounds.linear_start import in_unit_of_stages

if TYPE_CHECKING:
    from weald._around.base import AroundOne
    from weald.voting import BaseVoting


class Row(NamedTuple):
    """A sample as the only row of a CSR matrix, for the engine alone: it has the attributes that the engine reads."""

    data: NDArray[np.float32]
    indices: NDArray[Any]
    indptr: NDArray[Any]
    shape: tuple[int, int]
    format: str = "csr"


def as_row(sample: Any) -> Any:
    """A sparse array of one dimension, such as a row of a CSR array, as a matrix with one row; others unchanged."""
    if type(sample) is np.ndarray or getattr(sample, "ndim", 0) != 1 or not is_sparse(sample):
        return sample
    return sample.reshape(1, -1).tocsr()


def row_of(sample: Any, n_features: int) -> Row | None:
    """The row of a CSR matrix of one sample; None for other matrices. The engine checks indices and values."""
    if getattr(sample, "format", None) != "csr" or sample.shape != (1, n_features):
        return None
    values = sample.data
    if values.dtype != np.float32:
        if values.dtype.kind not in "fiub":
            return None
        with np.errstate(over="ignore"):  # the engine refuses infinity
            values = values.astype(np.float32)
    return Row(values, sample.indices, sample.indptr, sample.shape)


def row_of_entries(places: list[int], values: list[Any], n_features: int) -> Row | None:
    """The row with these values of these features, each once, in any order; None for what are no numbers."""
    listed = np.array(values)
    if listed.ndim != 1 or (listed.dtype.kind not in "fiub" and len(listed)):
        return None
    order = np.argsort(places)
    with np.errstate(over="ignore"):
        data = listed[order].astype(np.float32)
    width = np.int32 if n_features < 2**31 else np.int64
    return Row(data, np.array(places, dtype=width)[order], np.array([0, len(data)], dtype=width), (1, n_features))


class Parts(NamedTuple):
    """What the engine computes of a sample by weights of features, and by trees on top of them.

    Functions return None for samples in forms that the engine does not read, and for those that the model has to look at.
    """

    # (1, n_scores)
    scores: Callable[[Any], Float | None]
    # The best labels of a sample and their probabilities or margins: of a sample, their number, and whether margins are meant.
    topk: Callable[[Any, int, bool], tuple[NDArray[np.int64], Float] | None] | None

    @classmethod
    def of(cls, model: BaseModel, names: dict[str, int] | None) -> Parts | None:
        """None if the model has no weights of features. With `names`, samples can be dictionaries with some of them."""
        found = model._linear_part()
        if found is None:
            return None
        linear, added = found
        one = _weald.OneSample(linear, names)
        if not model._has_trees:
            return cls(one.scores, None if model._label_format is None else one.topk)
        trees = _weald.OneSample(model._engine).scores

        def both(sample: Any) -> Float | None:
            if (of_trees := trees(sample)) is None or (start := one.scores(sample)) is None:
                return None
            return of_trees + in_unit_of_stages(linear, start, added)

        return cls(both, None)


class Predictor:
    """Predict one sample at a time with a fitted model, in microseconds.

    Everything that does not depend on the sample is checked once. The results are those of the model's own methods, bit
    for bit, and several threads can use the same predictor. A sample is an array, list or tuple of shape (n_features,)
    or (1, n_features), a frame or sparse matrix with one row, or, by names of features, a mapping, named tuple, record
    or Series; for a pipeline, what its first step takes for a row. Contiguous arrays of float32 or float64, lists,
    tuples and CSR rows are the fastest; centroid forests, label trees, pipelines and meta-estimators take a slower
    path. See `docs/faq.md#serving-predictions`.

    >>> import weald
    >>> forest = weald.RandomForestClassifier(random_state=0).fit([[0.0], [1.0]] * 5, [0, 1] * 5)
    >>> int(weald.Predictor(forest).predict([1.0]))
    1

    Parameters
    ----------
    estimator : fitted estimator of weald or Pipeline
        A tree, forest, centroid forest, linear model, label tree, boosted or compressed model; `TunedThresholds` or
        `CalibratedLabels`; a `VotingClassifier` or `VotingRegressor`; or a `sklearn.pipeline.Pipeline` that ends in one
        of these, whose steps are copied. Fitting `estimator` again later does not change the predictor.
    absent : {"error", "zero"}, default="error"
        What a mapping means that does not name all features of the model: an error, or that the others are zero, as
        words are that a text does not have. "zero" is not for pipelines.

    Attributes
    ----------
    n_features_in_ : int
        Number of features that a sample must have.
    feature_names_in_ : ndarray of shape (`n_features_in_`,) of str
        Names of the features, if the model was fitted with feature names that are all strings.
    """

    def __init__(self, estimator: BaseEstimator, *, absent: Literal["error", "zero"] = "error") -> None:
        checks.choice("absent", absent, "error", "zero")
        self._absent = absent
        estimator, before = apart(estimator)
        if isinstance(estimator, FittedAsOne):
            # All that follows belongs to one fit, also if another thread fits the estimator meanwhile.
            estimator = estimator._twin()
        self._steps: _AfterSteps | _AroundModel | _OfMembers | None = None
        if before is not None:
            if absent == "zero":
                raise ValueError("absent must be 'error' for a pipeline, whose first step reads the sample, got 'zero'")
            self._steps = _AfterSteps(before, Predictor(estimator))
        elif hasattr(estimator, "_inside") and not isinstance(estimator, type):
            self._steps = _AroundModel(cast("AroundOne", estimator), absent)
        elif getattr(estimator, "_held", None) == "estimators_" and not isinstance(estimator, type):
            self._steps = _OfMembers(cast("BaseVoting", estimator), absent)
        if self._steps is not None:
            first = estimator if before is None else before
            for name in ("n_features_in_", "feature_names_in_"):
                if hasattr(first, name):
                    setattr(self, name, getattr(first, name))
            return
        if not isinstance(estimator, BaseModel):
            raise TypeError(f"estimator must be a fitted estimator of weald, got a {type(estimator).__name__}")
        check_fitted(estimator)
        self._model = estimator
        self._model.__dict__.pop(frames.OUTPUT, None)
        self.n_features_in_: int = estimator.n_features_in_
        # The position of each name, in the order of the features.
        self._names: dict[str, int] | None = None
        if hasattr(estimator, "feature_names_in_"):
            self.feature_names_in_: NDArray[np.object_] = estimator.feature_names_in_
            self._names = {str(name): at for at, name in enumerate(estimator.feature_names_in_)}
        self._schema = Schema.of(estimator)
        self._has_categories = self._schema.known is not None
        # The predictor checks the sample itself.
        self._model.__dict__["_check_X"] = _as_it_is
        # Functions of the engine for a sample in any form, of trees alone or with weights of features.
        self._scores_of = _scores_of(self._model)
        self._parts = Parts.of(self._model, self._names if absent == "zero" and not self._has_categories else None)
        self._of_scores = self._model._twin()
        k_best = partial(best_of_scores, cast(BaseClassifier, self._of_scores))
        self._of_scores.__dict__ |= {"_scores": _as_it_is, "_k_best": k_best}
        self._methods: dict[str, Callable[..., Any]] = {}
        self._local = threading.local()
        self._predict = self._from_scores("predict")
        self._predict_proba = self._from_scores("predict_proba")
        self._predict_topk = self._from_scores("predict_topk")

    def __repr__(self) -> str:
        return f"Predictor({self._estimator()!r})"

    def __reduce__(self) -> tuple[Any, tuple[Any]]:
        return partial(Predictor, absent=self._absent), (self._estimator(),)

    def _estimator(self) -> Estimator:
        """The estimator that this object was made from."""
        if self._steps is not None:
            return self._steps.estimator()
        model = self._model._twin()
        model.__dict__.pop("_check_X", None)
        return model

    def predict(self, sample: object) -> Any:
        """Predict one sample.

        Parameters
        ----------
        sample : array-like of shape (n_features,) or (1, n_features), mapping, data frame or sparse matrix
            The sample to predict.

        Returns
        -------
        scalar, ndarray of shape (n_outputs,) or sparse matrix of shape (1, n_outputs)
            The first sample of what the model's `predict` returns.
        """
        sample = as_row(sample)
        if self._steps is not None:
            return self._steps.call("predict", sample)
        if self._predict is not None and (scores := self._scores(sample)) is not None:
            found = self._predict(self._of_scores, scores)
        else:
            found = self._call("predict", sample)
        # A row of a sparse array has one dimension; one of a sparse matrix has two.
        return found[[0]] if is_sparse(found) else found[0]

    def predict_proba(self, sample: object) -> Prediction:
        """Predict the class or label probabilities of one sample. Models without probabilities raise an AttributeError.

        Parameters
        ----------
        sample : array-like of shape (n_features,) or (1, n_features), mapping, data frame or sparse matrix
            The sample to predict.

        Returns
        -------
        ndarray of shape (n_classes,) or (n_labels,), or list of ndarray of shape (n_classes,)
            The first sample of what the model's `predict_proba` returns.
        """
        sample = as_row(sample)
        if self._steps is not None:
            return self._steps.call("predict_proba", sample)
        if self._predict_proba is not None and (scores := self._scores(sample)) is not None:
            found = self._predict_proba(self._of_scores, scores)
        else:
            found = self._call("predict_proba", sample)
        return [part[0] for part in found] if isinstance(found, list) else found[0]

    def predict_topk(
        self,
        sample: object,
        k: int,
        *,
        names: bool = False,
        scores: Scores = "auto",
        min_score: float | None = None,
        exclude: object = None,
    ) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Predict the `k` labels or classes of one sample that have the largest scores.

        Parameters
        ----------
        sample : array-like of shape (n_features,) or (1, n_features), mapping, data frame or sparse matrix
            The sample to predict.
        k : int
            Number of labels or classes, at least 1 and at most the number of labels or classes of the model.
        names : bool, default=False
            Whether names are returned in place of indices: those in `target_names_in_`, or classes of one output.
        scores : {"auto", "probability", "margin"}, default="auto"
            The scores that are returned: those of `predict_proba` or of `decision_function`, which for the first of two
            classes is the negative one of the second. "auto" are probabilities if there are any.
        min_score : float or None, default=None
            Labels with a lower score, in the unit of the scores, are not returned. None returns all.
        exclude : {array-like, sparse matrix} of shape (n_samples, n_labels), list of int or None, default=None
            Labels that are not returned, such as those that a sample has already: True or 1 in a matrix, or entries of
            a sparse one that are not zero; or a list of labels for all samples. Classes of one output are given by
            positions.

        Returns
        -------
        indices : ndarray of shape (k,), int64, or of objects with `names=True`
            The labels, with the largest score first: the only row of what the model's `predict_topk` returns.
        scores : ndarray of shape (k,), float64
            Scores of these labels or classes.

        Raises
        ------
        AttributeError
            If the model does not have a `predict_topk`.
        ValueError, TypeError
            If `k` is out of range, and as in `predict`.
        """
        options = {"names": names, "scores": scores, "min_score": min_score, "exclude": exclude}
        sample = as_row(sample)
        if self._steps is not None:
            pair: tuple[NDArray[Any], NDArray[np.float64]] = self._steps.call("predict_topk", sample, k=k, **options)
            return pair
        is_plain = names is False and min_score is None and exclude is None
        if is_plain and self._parts is not None and self._parts.topk is not None:
            is_valid = type(k) is int and 0 < k <= self._model.n_outputs_ and type(scores) is str and scores in _KINDS
            if is_valid and (best := self._parts.topk(sample, k, scores == "margin")) is not None:
                return best
        if self._predict_topk is not None and (of_labels := self._scores(sample)) is not None:
            indices, found = self._predict_topk(self._of_scores, of_labels, k, **options)
        else:
            indices, found = self._call("predict_topk", sample, k=k, **options)[:2]
        return indices[0], found[0]

    # --- scores by the engine ----------------------------------------------------------------------------------------

    def _from_scores(self, name: str) -> Callable[..., Any] | None:
        """The model's method `name`, if its result is a function of the dense scores of the engine alone."""
        model = self._model
        if not hasattr(model, name) or (name == "predict_topk" and (self._parts is None or not is_classifier(model))):
            return None
        if self._parts is not None:
            return _decided if name == "predict" else _method(model, name)
        if self._scores_of is None:
            return None
        if name == "predict" and (_is_sparse(model, "_is_sparse_numbers") or _is_sparse(model, "_is_sparse_labels")):
            return None
        if name == "predict_proba" and isinstance(model._engine, _weald.Compressed):
            return None  # it is computed from other values than the scores
        return _method(model, name)

    def _scores(self, sample: object) -> NDArray[np.float64] | None:
        """Scores of shape (1, n_scores); None for samples of other types and for invalid samples."""
        if self._parts is not None:
            return self._scores_of_parts(sample, self._parts)
        assert self._scores_of is not None
        if type(sample) in _PLAIN and not self._has_categories:
            return self._scores_of(sample)
        if _is_table(sample):
            return None if self._has_categories else self._scores_of(sample)
        return self._scores_of(self._checked(sample))

    def _scores_of_parts(self, sample: object, parts: Parts) -> NDArray[np.float64] | None:
        if not self._has_categories and (scores := parts.scores(sample)) is not None:
            return scores
        X: Row | Matrix | None
        if _is_table(sample):
            X = row_of(sample, self.n_features_in_)
        elif isinstance(sample, Mapping) and self._absent == "zero":
            X = self._row_of_mapping(sample)
        else:
            X = self._checked(sample)
        # Without scores, the model says what is wrong.
        return None if X is None else parts.scores(X)

    def _row_of_mapping(self, sample: Mapping[Any, Any]) -> Row | None:
        names = self._names
        if names is None or self._has_categories or not sample.keys() <= names.keys():
            return None
        return row_of_entries([names[name] for name in sample], list(sample.values()), self.n_features_in_)

    # --- everything else by the model's methods ----------------------------------------------------------------------

    def _call(self, name: str, sample: object, **options: object) -> Prediction:
        method = self._methods.get(name)
        if method is None:
            if not hasattr(self._model, name):
                raise AttributeError(f"{type(self._model).__name__} has no {name}")
            method = self._methods[name] = _method(self._model, name)
        return method(self._model, self._checked(sample), **options)

    def _checked(self, sample: object) -> Matrix:
        """The sample as float32 of shape (1, n_features), checked."""
        if _is_table(sample):
            return self._checked_by_model(sample)
        sample = self._of_record(sample)
        if self._has_categories:
            sample = self._coded(sample)
        buffer: NDArray[np.float32] | None = getattr(self._local, "sample", None)
        if buffer is None:
            buffer = self._local.sample = np.empty((1, self.n_features_in_), np.float32)
        values = sample if type(sample) is np.ndarray and sample.dtype != object else self._array_of(sample)
        if values.ndim == 2 and values.shape[0] == 1:
            values = values[0]
        if values.shape != (self.n_features_in_,):
            raise ValueError(
                f"sample must have shape ({self.n_features_in_},) or (1, {self.n_features_in_}), got {values.shape}"
            )
        if values.dtype.kind not in "fiub":
            raise ValueError(f"sample must have numbers, got dtype {values.dtype}")
        with np.errstate(over="ignore"):  # values that are too large for float32 are found below
            buffer[0] = values
        if not np.isfinite(buffer).all() and np.isinf(buffer).any():
            raise ValueError(
                "sample must have finite values, or NaN for missing values, got infinity or a value too large for "
                "float32"
            )
        return buffer

    def _checked_by_model(self, sample: Any) -> Matrix:
        if sample.shape[0] != 1:
            raise ValueError(f"sample must be a single sample, got shape {sample.shape}")
        with renamed(X="sample"):
            return type(self._model)._check_X(self._model, sample, reset=False)

    def _coded(self, sample: object) -> list[float]:
        """The values of a sample with categories by value as numbers."""
        values = sample if type(sample) is np.ndarray else np.array(sample, dtype=object)
        if values.shape not in ((self.n_features_in_,), (1, self.n_features_in_)):
            raise ValueError(
                f"sample must have shape ({self.n_features_in_},) or (1, {self.n_features_in_}), got {values.shape}"
            )
        return self._schema.row(list(values.reshape(-1)))

    def _array_of(self, sample: object) -> NDArray[Any]:
        try:
            found = np.asarray(sample)
            # NumPy converts dates and durations to numbers without asking.
            dates = np.datetime64 | np.timedelta64
            has_dates = found.dtype == object and any(isinstance(value, dates) for value in found.flat)
            if found.dtype.kind not in "mM" and not has_dates:
                return np.asarray(sample, dtype=np.float64)
        except OverflowError as error:
            raise ValueError("sample must have numbers that float32 can represent, got a larger integer") from error
        except (TypeError, ValueError) as error:
            if isinstance(sample, list | tuple) and len(sample) == self.n_features_in_:
                return np.array(self._schema.row(sample))
            raise TypeError(f"sample must have numbers, got a {type(sample).__name__} with other values") from error
        raise ValueError("sample must have numbers, got dates or durations")

    def _of_record(self, sample: Any) -> Any:
        """The values in the order of the features if the sample has names, or else the sample."""
        if isinstance(sample, Mapping):
            return self._of_mapping(sample)
        if isinstance(sample, np.ndarray) and sample.dtype.names is not None and sample.size == 1:
            sample = sample.reshape(-1)[0]
        names = _names_of(sample)
        if names is None:
            return sample
        if self._names is None:
            return list(sample)
        if len(set(names)) < len(names):
            raise ValueError(f"sample must have every feature once, got the names {cut(str(names))}")
        return self._of_mapping(dict(zip(names, sample, strict=True)))

    def _of_mapping(self, sample: Mapping[Any, Any]) -> list[Any]:
        """The values in the order of the features."""
        if self._names is None:
            raise TypeError("sample must be an array, since the model has no feature names, got a mapping")
        if sample.keys() != self._names.keys():
            for name in sample:
                if name not in self._names:
                    raise ValueError(f"sample must have names of features of the model as keys, got {name!r}")
            if self._absent == "zero":
                return [sample.get(name, 0.0) for name in self._names]
            missing = next(name for name in self._names if name not in sample)
            raise ValueError(
                f"sample must have all features of the model, with NaN for missing values, got none for {missing!r}"
            )
        return [sample[name] for name in self._names]


class _AfterSteps:
    """The last step of a pipeline, after copies of the steps before it."""

    def __init__(self, before: Estimator, last: Predictor) -> None:
        self._before, self._last = deepcopy(before), last
        self._names = getattr(before, "feature_names_in_", None)

    def call(self, name: str, sample: Any, **options: Any) -> Any:
        row = _one_row(sample, self._names)
        with renamed(X="sample"):
            X = self._before.transform(row)
        return getattr(self._last, name)(X, **options)

    def estimator(self) -> Any:
        return Pipeline([*self._before.steps, ("estimator", self._last._estimator())])


class _OnCopy:
    """Calls of methods of a copy of a meta-estimator."""

    _model: Any

    @abstractmethod
    def _row(self, sample: object) -> Any:
        """The sample as the methods take it."""

    def call(self, name: str, sample: object, **options: object) -> Any:
        if not hasattr(self._model, name):
            raise AttributeError(f"{type(self._model).__name__} has no {name}")
        X = self._row(sample)
        # The options keep their names.
        with renamed(X="sample", **{option: option for option in options}):
            found = getattr(self._model, name)(X, **options)
        if isinstance(found, tuple | list):
            return type(found)(part[0] for part in found)
        return found[[0]] if is_sparse(found) else found[0]


class _AroundModel(_OnCopy):
    """A copy of a meta-estimator, around a model whose samples are checked here if it is not in a pipeline."""

    def __init__(self, estimator: AroundOne, absent: Literal["error", "zero"]) -> None:
        inside = estimator._inside()
        model, before = apart(inside)
        self._model, self._inner = estimator, None
        self._model.__dict__.pop(frames.OUTPUT, None)
        self._names = getattr(inside, "feature_names_in_", None)
        if before is None and isinstance(model, BaseModel):
            self._inner = Predictor(model, absent=absent)
            self._model.estimator_ = self._inner._model
        elif absent == "zero":
            raise ValueError("absent must be 'error' for a pipeline, whose first step reads the sample, got 'zero'")

    def _row(self, sample: object) -> Any:
        return _one_row(sample, self._names) if self._inner is None else self._inner._checked(sample)

    def estimator(self) -> Any:
        estimator = self._model._twin()
        if self._inner is not None:
            estimator.estimator_ = self._inner._estimator()
        return estimator


class _OfMembers(_OnCopy):
    """A copy of a meta-estimator with several members, each of which predicts the sample by a predictor of its own.

    If members are not of weald, the sample becomes the only row of what they take.
    """

    def __init__(self, estimator: BaseVoting, absent: Literal["error", "zero"]) -> None:
        check_fitted(estimator)
        self._given = estimator
        self._names = getattr(estimator, "feature_names_in_", None)
        self._model = estimator._twin()
        self._model.__dict__.pop(frames.OUTPUT, None)
        self._are_own = all(isinstance(apart(member)[0], FittedAsOne) for member in estimator.estimators_)
        if self._are_own:
            self._model.estimators_ = [_Member(Predictor(member, absent=absent)) for member in estimator.estimators_]
            self._model.__dict__ |= {"_blocks": lambda sample: [sample], "_n_samples": lambda _: 1}
        elif absent == "zero":
            raise ValueError("absent must be 'error' with estimators of scikit-learn, got 'zero'")

    def _row(self, sample: object) -> Any:
        return sample if self._are_own else _one_row(sample, self._names)

    def estimator(self) -> Any:
        return self._given._twin()


class _Member:
    """A member of a meta-estimator that predicts a single sample, with the attributes of the fitted estimator."""

    def __init__(self, predictor: Predictor) -> None:
        self._predictor = predictor
        self._fitted = predictor._estimator()

    def __getattr__(self, name: str) -> Any:
        if name in ("_fitted", "_predictor"):  # as in copies, before they have any attribute
            raise AttributeError(name)
        return getattr(self._fitted, name)

    def predict(self, sample: object) -> Any:
        found = self._predictor.predict(sample)
        return found if is_sparse(found) else np.asarray(found)[None]

    def predict_proba(self, sample: object) -> Any:
        found = self._predictor.predict_proba(sample)
        return [part[None] for part in found] if isinstance(found, list) else found[None]


def _one_row(sample: Any, names: NDArray[np.object_] | None) -> Any:
    """A sample as the only row of what the first step of a pipeline takes, whose features may have names."""
    if _is_table(sample) or (isinstance(sample, np.ndarray) and sample.ndim == 2):
        if sample.shape[0] != 1:
            raise ValueError(f"sample must be a single sample, got shape {sample.shape}")
        return sample
    of_sample = list(sample) if isinstance(sample, Mapping) else _names_of(sample)
    if names is not None and of_sample is not None:
        values = dict(sample) if isinstance(sample, Mapping) else dict(zip(of_sample, sample, strict=True))
        if missing := [name for name in names if name not in values]:
            raise ValueError(f"sample must have all features of the model, got none for {missing[0]!r}")
        return import_module("pandas").DataFrame({name: [values[name]] for name in names})
    return [list(sample)] if isinstance(sample, tuple | np.ndarray) else [sample]


def _scores_of(model: BaseModel) -> Callable[[Any], NDArray[np.float64] | None] | None:
    """The function of the engine that computes the scores of a sample; None if scores are not computed by it alone."""
    return _weald.OneSample(model._engine).scores if model._scored_by_engine else None


def _decided(model: BaseClassifier, scores: NDArray[np.float64]) -> Prediction:
    """What `predict` returns for these scores."""
    return model._decided(scores)


def _is_sparse(model: BaseEstimator, name: str) -> bool:
    asks = getattr(model, name, None)
    return asks is not None and bool(asks())


def _method(model: BaseEstimator, name: str) -> Callable[..., Any]:
    """The method without the wrappers that copy the model, since the predictor's model never changes."""
    method: Callable[..., Any] = unwrap(getattr(type(model), name))
    return method


def _is_table(sample: object) -> bool:
    """Whether the sample is a frame or a sparse matrix."""
    check_collected(sample, "sample")
    return is_sparse(sample) or (hasattr(sample, "columns") and not isinstance(sample, Mapping))


# Kinds of scores that models with a margin and a probability of each label have.
_KINDS = ("auto", "probability", "margin")

# Samples without names of their values.
_PLAIN = (np.ndarray, list, tuple)


def _as_it_is(X: MatrixLike, **_: object) -> Matrix:
    return X


def _names_of(sample: object) -> list[str] | None:
    """The names of the values of a named tuple, a record of NumPy or a Series of pandas, or None."""
    if isinstance(sample, tuple) and hasattr(sample, "_fields"):
        return list(sample._fields)
    if isinstance(sample, np.void) and sample.dtype.names is not None:
        return list(sample.dtype.names)
    index = getattr(sample, "index", None)
    if hasattr(sample, "iloc") and index is not None and all(isinstance(name, str) for name in index):
        return list(index)
    return None


# The name in pickles.
Predictor.__module__ = "weald"
