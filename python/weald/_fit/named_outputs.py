"""Predictions with names: frames of the outputs, and the highest-scoring labels."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from weald._fitted.at_once import of_one_fit
from weald._fitted.proof import check_fitted
from weald._input import frames
from weald._input.checks import Float, boolean, count_samples
from weald._input.targets import LabelFormat
from weald._parameters.types import MatrixLike, Scores, available_if
from weald._ranking import ranks


class NamedOutputs:
    """Estimators whose predictions can be frames."""

    n_outputs_: int
    # After a fit on classes or labels.
    n_classes_: Any
    classes_: Any
    _label_format: LabelFormat | None

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


def has_labels(estimator: NamedOutputs) -> bool:
    check_fitted(estimator)
    return estimator._label_format is not None


def ranks_columns(estimator: NamedOutputs) -> bool:
    """Whether columns of scores can be ranked: after a fit on labels or on one output of classes."""
    check_fitted(estimator)
    return is_classifier(estimator) and (estimator.n_outputs_ == 1 or estimator._label_format is not None)


class BestLabels:
    """Classifiers that rank their labels, or the classes of one output."""

    n_outputs_: int
    n_classes_: Any
    classes_: Any
    _label_format: Any

    @available_if(ranks_columns)
    @of_one_fit
    def predict_topk(
        self,
        X: MatrixLike,
        k: int,
        *,
        names: bool = False,
        scores: Scores = "auto",
        min_score: float | None = None,
        exclude: MatrixLike | None = None,
    ) -> tuple[NDArray[Any], Float]:
        """Predict the `k` labels, or classes of one output, with the largest scores.

        The scores of all labels are never held at once. Thresholds are not used.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples, as in `predict`.
        k : int
            Number of labels to return, from 1 to the number of labels or classes.
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
        indices : ndarray of shape (n_samples, k), int64 or with `names=True` of objects
            Indices of labels, positions in `classes_`, or their names, in decreasing order of the score; of equal ones,
            the lower index comes first. If `min_score` and `exclude` leave fewer than `k`, the last places are -1, or
            None for names.
        scores : float64 ndarray of shape (n_samples, k)
            Their scores. Where there is no label, the probability 0 or the margin minus infinity.

        Raises
        ------
        ValueError, TypeError
            If `k` or `min_score` is out of range, if there are no such `scores` or names, or if `exclude` does not have a valid
            shape, type or values.
        """
        check_fitted(self)
        X, n_samples = self._to_rank(X)
        width = self.n_classes_ if self._label_format is None else self.n_outputs_
        has_probabilities, has_margins = hasattr(self, "predict_proba"), hasattr(self, "decision_function")
        as_margins = ranks.are_margins(scores, has_probabilities, has_margins, type(self).__name__)
        k, floor = ranks.checked_k(k, width), ranks.checked_floor(min_score, as_margins)
        of_columns = self._names_to_rank() if boolean("names", names) else None
        given = None if exclude is None else frames.names_of(exclude, "exclude")
        if (where := frames.different(given, getattr(self, "target_names_in_", None))) is not None:
            raise ValueError(f"exclude must have {where}: its columns must be the labels, in the order of y")
        marked = ranks.excluded(exclude, n_samples, width)
        indices, found = self._k_best(X, k, marked, as_margins=as_margins)
        labels, found = ranks.padded_by_floor(indices, found, floor, are_margins=as_margins)
        return labels if of_columns is None else ranks.named_labels(labels, of_columns), found

    def _to_rank(self, X: MatrixLike) -> tuple[Any, int]:
        """Samples as `_k_best` takes them, and their number."""
        return X, count_samples(X)

    @abstractmethod
    def _k_best(self, X: Any, k: int, marked: Any, *, as_margins: bool) -> tuple[NDArray[np.uint32], Float]:
        """The `k` best labels or classes of samples, without the marked ones, and their scores."""

    def _names_to_rank(self) -> NDArray[Any]:
        """What columns of scores are: the classes, or the names of the labels."""
        if self._label_format is None:
            return np.asarray(self.classes_)
        found: NDArray[np.object_] | None = getattr(self, "target_names_in_", None)
        if found is None:
            raise ValueError(
                "names must be False for labels without names: label_names must be passed to fit, or y must be a frame "
                "with column names"
            )
        return found
