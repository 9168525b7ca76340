"""The fits of meta-estimators, and where they are carried out: in this process, or by the workers of an executor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline

from weald._input.masks import rows_of
from weald._input.sklearn_private import safe_indexing
from weald._input.sparse import is_sparse
from weald._parameters.types import MatrixLike
from weald._ranking.outputs import apart
from weald._rounds.rounds import Progress

# What is made of a fitted model and of X. Executors send it to their workers.
Read = Callable[[Any, Any], Any]
# The samples that a model is fitted to, and those of the fold, which it predicts.
Fold = tuple[NDArray[np.intp], NDArray[np.intp]]


class Fits:
    """Fits in this process, one after another. `weald.distribute` has those on the workers of an executor.

    A meta-estimator leaves all of its fits to the `fits` of the `Fit` that it is given. What
    `start` and `start_folds` return waits for the result; nothing is fitted here before that.
    """

    def start(
        self, estimator: BaseEstimator, given: Fit, told: Callable[[], object] = lambda: None
    ) -> Callable[[], Any]:
        """The fit of a clone to all samples; `told` is called after it."""

        def fit() -> Any:
            model = fitted(estimator, given)
            told()
            return model

        return fit

    def start_folds(
        self, estimator: BaseEstimator, given: Fit, folds: list[Fold], read: Read, told: Callable[[], object]
    ) -> Callable[[], list[Any]]:
        """What `read` makes of each fold by a clone that is fitted to the other folds; `told` is called after each."""

        def fit() -> list[Any]:
            found = []
            for train, test in folds:
                found.append(of_fold(estimator, given, train, test, read))
                told()
            return found

        return fit

    def in_parts(
        self, model: Any, given: Fit, fit_part: Callable[..., Any] | None = None
    ) -> tuple[Any, list[Any]] | None:
        """The fit of a model that has parts, put together, and what `fit_part` returns of each; None to fit it here."""
        return None

    def read(self, model: BaseEstimator, X: MatrixLike, read: Read) -> list[Any]:
        """What `read` makes of a fitted model and of blocks of samples that are X together."""
        return [read(model, X)]


@dataclass(frozen=True)
class Fit:
    """The arguments of `fit`, and where its fits are carried out. Checks replace them by what the estimator is fitted to."""

    X: Any
    y: Any
    sample_weight: Any = None
    y_weight: Any = None
    label_names: Any = None
    groups: Any = None
    fits: Fits = Fits()  # noqa: RUF009  # it has no state
    # Checked y, and where predictions of unseen samples come from.
    target: Any = None
    cv: Any = None

    @property
    def data(self) -> tuple[Any, Any, Any, Any]:
        """The samples, as a `Fit` takes them."""
        return self.X, self.y, self.sample_weight, self.y_weight


def fitted(estimator: BaseEstimator, given: Fit) -> BaseEstimator:
    """A fitted clone. Sample weights and `y_weight` are only passed to `fit` if they are not None."""
    model = clone(estimator)
    told = {"sample_weight": given.sample_weight, "y_weight": given.y_weight}
    step = f"{model.steps[-1][0]}__" if isinstance(model, Pipeline) else ""
    return model.fit(given.X, given.y, **{f"{step}{name}": value for name, value in told.items() if value is not None})


def fitted_last(estimator: BaseEstimator, given: Fit, fit: Callable[[Any, Fit], Any]) -> tuple[Any, Any]:
    """A clone whose last step `fit` fits to X as the steps before it, fitted too, transform it; and what `fit` returns."""
    model: Any = clone(estimator)
    final, before = apart(model)
    # What the decorator of `fit` does.
    final._validate_params()
    if before is None:
        return model, fit(final, given)
    found = fit(final, replace(given, X=before.fit_transform(given.X, given.y)))
    steps = [*before.steps, (model.steps[-1][0], final)]
    return Pipeline(steps, memory=model.memory, verbose=model.verbose), found


def of_fold(estimator: BaseEstimator, given: Fit, train: NDArray[np.intp], test: NDArray[np.intp], read: Read) -> Any:
    """What `read` makes of the X of a fold and of a clone that is fitted to the samples `train`."""
    X, y, weights, y_weight = given.data
    w, known = None if weights is None else weights[train], rows_of(y_weight, y.shape[0], train)
    return read(fitted(estimator, Fit(safe_indexing(X, train), y[train], w, known)), safe_indexing(X, test))


def with_folds(
    estimator: BaseEstimator, given: Fit, folds: list[Fold], read: Read, progress: Progress
) -> tuple[Any, list[Any], NDArray[np.intp]]:
    """The fit to all samples, what `read` makes of each fold by a fit to the others, and the samples in this order."""
    X, fits, told = given.X, given.fits, lambda: progress(progress.n_done + 1)
    of_rows = replace(given, X=X.tocsr() if is_sparse(X) else X if hasattr(X, "__getitem__") else np.asarray(X))
    if hasattr(apart(estimator)[0], "_chosen_parameters"):
        # The fit to all samples chooses parameters, and the others take them.
        model = fits.start(estimator, given, told)()
        estimator = clone(estimator)
        final, learned = apart(estimator)[0], cast(Any, apart(model)[0])
        final.set_params(**learned._chosen_parameters())
        found = fits.start_folds(estimator, of_rows, folds, read, told)()
    else:
        started = fits.start_folds(estimator, of_rows, folds, read, told)
        model = fits.start(estimator, given, told)()
        found = started()
    order = np.concatenate([test for _, test in folds])
    if len(np.unique(order)) < len(order):
        raise ValueError("cv must have disjoint test folds, got a sample that is in more than one")
    return model, found, order
