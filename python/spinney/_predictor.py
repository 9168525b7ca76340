"""One row at a time, for services: `Predictor`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney import _frames, _validation
from spinney._base import BaseModel
from spinney._proof import check_fitted
from spinney._sparse import is_sparse

__all__ = ["Predictor"]


class Predictor:
    """Predictions of a fitted model for one row at a time, in microseconds.

    What does not depend on the row is checked once, when the object is made, and the memory of a row is used again. The
    results are the bits of the model's own methods.

    Parameters
    ----------
    model : fitted estimator of spinney
        A tree, forest, centroid forest, boosted or compressed model. Nothing is copied, and a later fit of `model` does
        not change this object.

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (`n_features_in_`,) of str
        Where the model was fitted to a frame.

    Raises
    ------
    TypeError
        For anything but an estimator of spinney, pipelines among them: transform rows before.
    sklearn.exceptions.NotFittedError
        For a model that is not fitted.

    Notes
    -----
    A row is an array or a sequence of `n_features_in_` numbers, (n_features,) or (1, n_features); a mapping from all
    names of features to numbers, where the model has names; or a sparse matrix of one row. float32 and float64 are read
    where they lie. Rows of models with categories go through all checks of the model, and take as long.

    Several threads may call one object: each has memory of its own.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import spinney
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = spinney.RandomForestClassifier(random_state=0).fit(X, y)
    >>> predictor = spinney.Predictor(forest)
    >>> int(predictor.predict([5.1, 3.5, 1.4, 0.2]))
    0
    >>> predictor.predict_proba(X[0]).shape
    (3,)
    """

    def __init__(self, model: Any) -> None:
        if not isinstance(model, BaseModel):
            raise TypeError(f"model is a {type(model).__name__}, accepted: fitted estimators of spinney")
        check_fitted(model)
        self._model = model._twin()
        self._model.__dict__.pop(_frames.OUTPUT, None)
        self.n_features_in_: int = model.n_features_in_
        self._places: dict[str, int] | None = None
        if hasattr(model, "feature_names_in_"):
            self.feature_names_in_: NDArray[np.object_] = model.feature_names_in_
            self._places = {str(name): place for place, name in enumerate(model.feature_names_in_)}
        self._has_categories = hasattr(model, "categories_")
        if not self._has_categories:
            # What is handed over is checked here.
            self._model.__dict__["_check_X"] = _as_it_is
        self._methods: dict[str, Callable[..., Any]] = {}
        self._local = threading.local()

    def __repr__(self) -> str:
        return f"Predictor({self._model!r})"

    def __reduce__(self) -> tuple[Any, tuple[Any]]:
        model = self._model._twin()
        model.__dict__.pop("_check_X", None)
        return Predictor, (model,)

    def predict(self, row: Any) -> Any:
        """Predict one row.

        Parameters
        ----------
        row : array-like of shape (n_features,) or (1, n_features), mapping, or sparse matrix of one row

        Returns
        -------
        scalar or ndarray of shape (n_outputs,), or sparse row
            The row of what the model's `predict` returns.

        Raises
        ------
        ValueError, TypeError
            For another number of features, names that are missing or unknown, infinity, or what is no row of numbers.
        """
        return self._call("predict", row)[0]

    def predict_proba(self, row: Any) -> Any:
        """Predict the probabilities of one row.

        Parameters
        ----------
        row : array-like of shape (n_features,) or (1, n_features), mapping, or sparse matrix of one row

        Returns
        -------
        ndarray of shape (n_classes,), or list of such arrays for several outputs
            The row of what the model's `predict_proba` returns.

        Raises
        ------
        AttributeError
            For models that have no probabilities.
        ValueError, TypeError
            As `predict`.
        """
        found = self._call("predict_proba", row)
        return [part[0] for part in found] if isinstance(found, list) else found[0]

    def predict_topk(self, row: Any, k: int = 5) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The `k` labels or classes of largest score of one row.

        Parameters
        ----------
        row : array-like of shape (n_features,) or (1, n_features), mapping, or sparse matrix of one row
        k : int, default=5

        Returns
        -------
        indices : ndarray of shape (k,)
        scores : ndarray of shape (k,), float64
            The rows of what the model's `predict_topk` returns.

        Raises
        ------
        AttributeError
            For models that rank nothing.
        ValueError, TypeError
            As `predict`; for `k` below 1 or above the number of labels.
        """
        indices, scores = self._call("predict_topk", row, k=k)[:2]
        return indices[0], scores[0]

    def _call(self, name: str, row: Any, **options: Any) -> Any:
        method = self._methods.get(name)
        if method is None:
            if not hasattr(self._model, name):
                raise AttributeError(f"{type(self._model).__name__} has no {name}")
            method = getattr(type(self._model), name)
            # Past the wrapper that makes a twin: nothing of this one changes.
            method = self._methods[name] = getattr(method, "__wrapped__", method)
        return method(self._model, self._checked(row), **options)

    def _checked(self, row: Any) -> Any:
        """The row as float32 of shape (1, n_features), checked."""
        if is_sparse(row) or self._has_categories or hasattr(row, "columns"):
            return self._checked_by_model(row)
        if isinstance(row, Mapping):
            row = self._of_mapping(row)
        buffer: NDArray[np.float32] | None = getattr(self._local, "row", None)
        if buffer is None:
            buffer = self._local.row = np.empty((1, self.n_features_in_), np.float32)
        values = row if type(row) is np.ndarray else _array_of(row)
        if values.ndim == 2 and values.shape[0] == 1:
            values = values[0]
        if values.shape != (self.n_features_in_,):
            raise ValueError(
                f"row has the shape {values.shape}, accepted: ({self.n_features_in_},) or (1, {self.n_features_in_})"
            )
        if values.dtype.kind not in "fiub":
            raise ValueError(f"row has the dtype {values.dtype}, accepted: numbers")
        buffer[0] = values
        if not np.isfinite(buffer).all() and np.isinf(buffer).any():
            raise ValueError("row contains infinity or a value too large for float32, accepted: finite values, and NaN")
        return buffer

    def _checked_by_model(self, row: Any) -> Any:
        table = row if hasattr(row, "shape") and len(row.shape) == 2 else np.asarray(row, dtype=object).reshape(1, -1)
        if table.shape[0] != 1:
            raise ValueError(f"row has the shape {table.shape}, accepted: one row")
        if self._has_categories:
            return table
        return _validation.check_X(self._model, table, reset=False)

    def _of_mapping(self, row: Mapping[Any, Any]) -> NDArray[np.float64]:
        if self._places is None:
            raise TypeError("row is a mapping, accepted where the model was fitted to a frame with names of columns")
        if unknown := [name for name in row if name not in self._places]:
            raise ValueError(f"row has {unknown[0]!r}, which is no name of a feature of the model")
        if missing := [name for name in self._places if name not in row]:
            raise ValueError(f"row has no {missing[0]!r}, accepted: all features of the model, NaN for a missing value")
        return _array_of([row[name] for name in self._places])


def _as_it_is(X: Any, *, reset: bool) -> Any:  # noqa: ARG001
    return X


def _array_of(row: Any) -> NDArray[Any]:
    try:
        return np.asarray(row, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"row is {type(row).__name__} with values that are no numbers, accepted: numbers") from error
