"""Predictions with names: frames of the outputs, and the names of the highest-scoring labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from weald._fitted.at_once import of_one_fit
from weald._fitted.proof import check_fitted
from weald._input import frames
from weald._input.checks import Float
from weald._parameters.types import MatrixLike, available_if


class NamedOutputs:
    """Estimators whose predictions can be frames."""

    def set_output(
        self,
        *,
        transform: Literal["default", "pandas", "polars"] | None = None,
        predict: Literal["default", "pandas", "polars"] | None = None,
    ) -> Self:
        """Set the container of predictions: arrays, or frames of pandas or polars with the names of the outputs.

        A frame has a column for each output, named as in `target_names_in_` or "y0", "y1" and so on; scores of one
        output of classes have one for each class, those of several are a list of frames, and a single column is a
        Series. pandas keeps the index of X and sparse labels; polars has no sparse columns, and raises a ValueError for
        them. Copies, pickles and model files keep the setting; `sklearn.base.clone` does not keep that of `predict`, as
        scorers need arrays.

        >>> from sklearn.datasets import load_linnerud
        >>> import weald
        >>> X, Y = load_linnerud(return_X_y=True, as_frame=True)
        >>> tree = weald.DecisionTreeRegressor(max_depth=1, random_state=0).fit(X, Y)
        >>> tree.set_output(predict="pandas").predict(X[:2]).columns.tolist()
        ['Weight', 'Waist', 'Pulse']

        Parameters
        ----------
        transform : {"default", "pandas", "polars"} or None, default=None
            The container of the result of `transform`, if there is one: only "default", a sparse matrix, is supported;
            with the others, which a pipeline may set, `transform` raises a ValueError. None: no change.
        predict : {"default", "pandas", "polars"} or None, default=None
            The container of the results of `predict`, `predict_proba`, `predict_log_proba` and `decision_function`.
            "default": arrays, which other methods always return. None: no change.

        Returns
        -------
        self : object
            This estimator.
        """
        chosen: dict[str, Any] = {}
        if transform is not None and hasattr(self, "transform"):
            chosen[frames.TRANSFORM] = {"transform": frames.check_name(transform, "transform")}
        elif transform is not None and not (isinstance(transform, str) and transform == "default"):
            raise ValueError(
                f"transform must be None, since {type(self).__name__} has no method transform, got {transform!r}; "
                "use predict=... for predictions as frames"
            )
        if predict is not None:
            frames.check_container(predict)
            chosen[frames.OUTPUT] = str(predict)
        self.__dict__.update(chosen)
        if predict == "default":
            del self.__dict__[frames.OUTPUT]
        return self


def has_labels(estimator: BaseEstimator) -> bool:
    check_fitted(estimator)
    return estimator._label_format is not None


class NamedLabels:
    """Classifiers whose labels can have names."""

    predict_topk: Callable[..., tuple[NDArray[np.int64], Float]]

    @available_if(has_labels)
    @of_one_fit
    def topk_names(self, X: MatrixLike, k: int, **options: object) -> NDArray[np.object_]:
        """Predict the names of the `k` labels that `predict_topk` returns. Only after a fit on labels with names.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples, as in `predict`.
        k : int
            Number of labels to return, from 1 to the number of labels.
        **options
            Other parameters of `predict_topk`.

        Returns
        -------
        ndarray of shape (n_samples, k), of strings as objects
            Names from `target_names_in_`, the best label first; None where `predict_topk` returns -1.
        """
        names: NDArray[np.object_] | None = getattr(self, "target_names_in_", None)
        if names is None:
            raise ValueError(
                "label_names must be passed to fit, or y must be a frame with column names, for labels that have names"
            )
        indices, _ = self.predict_topk(X, k, **options)
        found: NDArray[np.object_] = names[indices]
        found[indices < 0] = None
        return found
