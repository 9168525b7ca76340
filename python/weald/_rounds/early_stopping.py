"""The object that `early_stopping` of boosting takes, with what scikit-learn has no parameter for."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

from weald._input import registry
from weald._input.checks import Number


@registry.stored(registry.PARTS, "weald")
@dataclass(frozen=True, eq=False)
class EarlyStopping(registry.Settings):
    """Early stopping of boosting by folds, or with a last fit to all samples: a value of `early_stopping`.

    It stops the fit as `early_stopping=True` does; `n_iter_no_change`, `validation_fraction`, `tol` and `scoring` are
    parameters of the estimator. Objects are immutable except by `set_params`, and compare by their fields.

    >>> import numpy as np
    >>> import weald
    >>> X, stops = np.arange(200.0)[:, np.newaxis], weald.EarlyStopping(cv=3)
    >>> weald.GradientBoostingRegressor(early_stopping=stops).fit(X, X[:, 0] % 20).n_estimators_ < 1000
    True

    Parameters
    ----------
    cv : int, splitter, iterable of (train, test) or None, default=None
        Folds, in place of one part of the samples that is set aside: their number, at least 2, or what scikit-learn's
        `check_cv` takes. Each fold is held out in turn, and the number of stages with the best mean of their losses (or
        scores) is fitted to all samples. An integer deals rows, stratified by class or by the rarest label of each sample.
        See `docs/boosting.md`.
    refit : bool, default=False
        Whether another fit, to all samples, with the number of stages that was found ends the fit. Folds always end so.
    patience_share : float, default=0.2
        With `cv`, the search waits for this share of the best number of rounds so far, if that is more than 30 rounds (see
        `benches/tables`). It needs `cv`, and `n_iter_no_change=None`.

    See Also
    --------
    weald.GradientBoostingClassifier, weald.GradientBoostingRegressor : The estimators.

    Notes
    -----
    The search by folds takes the time of a fit for each fold, and up to half as long again, as rounds are grown in blocks.
    `refit` takes at most the time of the search once more.
    """

    cv: Any = None
    refit: bool = False
    patience_share: float = 0.2

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "cv": ["cv_object"],
        "refit": ["boolean"],
        "patience_share": [Number(Real, 0.0, None, closed="left")],
    }
