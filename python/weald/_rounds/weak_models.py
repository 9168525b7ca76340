"""Boosting of weak models other than trees: regressors of scikit-learn, which are fitted stage by stage."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from weald import _weald
from weald._input.checks import Float, Matrix, named
from weald._input.sparse import is_sparse
from weald._input.targets import Target
from weald._parameters.projections import derived_seed
from weald._rounds.rounds import Rounds

if TYPE_CHECKING:
    from weald._fit.boosting import BaseBoosting
    from weald._fit.samples import Samples
    from weald._rounds.folds import Split
    from weald._weald import _BoostConfig, _Targets

# The stage, the samples, their targets and their weights; predictions of all training samples and of held-out ones.
_FitPredict: TypeAlias = Callable[[int, NDArray[np.uint32], Float, Float], tuple[Float, Float | None]]


def fitted(
    boosting: BaseBoosting,
    X: Matrix,
    target: Target,
    weights: Float | None,
    config: _BoostConfig,
    validation: tuple[Matrix, _Targets, Float | None] | None,
    progress: Callable[[int], object] | None,
    n_grown: int,
    observer: Rounds | None = None,
    grown: _weald.Boosted | None = None,
) -> tuple[_weald.Boosted, list[Any]]:
    """The model and its weak models, of which the first `n_grown` exist; `observer` is called after other stages.

    The steps of the weak models that exist are those of the model `grown`.
    """
    # Existing weak models predict again and are not fitted again.
    weak: list[Any] = [] if n_grown == 0 else list(boosting._weak or [])
    fit_predict = _fits(boosting, X, target, None if validation is None else validation[0], weak)
    held_out = None if validation is None else validation[1:]

    def after(stage: int, train: float, validation: float | None, out_of_bag: tuple[float, float] | None) -> None:
        if observer is not None and stage >= n_grown:
            observer(stage, train, validation, out_of_bag, None, None)

    told = None if observer is None else after
    model = _weald.fit_boosting_with(
        fit_predict, X.shape, target.engine, weights, config, held_out, progress, told, grown
    )
    return model, weak[: model.n_stages]


def fold_of(boosting: BaseBoosting, samples: Samples, split: Split) -> tuple[_FitPredict, Float, Any]:
    """A fold of a search: what fits its weak models, the weights of all samples, and y and weights of the held-out ones."""
    X, target, weights = samples.X, samples.target, samples.row_weights[0]
    train, test = split
    kept = np.zeros(samples.n)
    kept[train] = 1.0 if weights is None else weights[train]
    held_out = target.rows(test), None if weights is None else weights[test]
    return _fits(boosting, X, target, _rows_of(X, test), []), kept, held_out


def _fits(boosting: BaseBoosting, X: Matrix, target: Target, X_held: Matrix | None, weak: list[Any]) -> _FitPredict:
    """What fits the weak model of a stage, keeps it in `weak`, and predicts; it only predicts by those that exist."""
    name = type(boosting.estimator).__name__
    n_columns = boosting._n_columns(target)
    if (
        boosting._shared["output_strategy"] == "joint"
        and n_columns > 1
        and not get_tags(boosting.estimator).target_tags.multi_output
    ):
        raise ValueError(
            f"estimator must support {n_columns} outputs with output_strategy='joint', got {name}, which supports one: "
            "use another estimator, or output_strategy='projected'"
        )

    def predict(estimator: BaseEstimator, X: Matrix, n_targets: int) -> Float:
        with named("estimator"):
            found = np.asarray(estimator.predict(X), dtype=np.float64).reshape(X.shape[0], -1)
        if found.shape[1] != n_targets:
            raise ValueError(f"estimator must predict {n_targets} columns, got {found.shape[1]} from {name}")
        if not np.isfinite(found).all():
            raise ValueError(f"estimator must predict finite numbers, got NaN or infinity from {name}")
        return found

    def fit_predict(stage: int, rows: NDArray[np.uint32], targets: Float, w: Float) -> tuple[Float, Float | None]:
        if stage == len(weak):
            assert boosting.estimator is not None
            estimator = _seeded(clone(boosting.estimator), boosting._seed, stage)
            extra = {}
            if (w != 1).any():
                if not has_fit_parameter(estimator, "sample_weight"):
                    raise ValueError(
                        f"estimator must support sample_weight in fit, since samples have weights, got {name}"
                    )
                extra = {"sample_weight": w}
            all_rows = len(rows) == X.shape[0]
            y = targets[:, 0] if targets.shape[1] == 1 else targets
            with named("estimator"):
                estimator.fit(X if all_rows else _rows_of(X, rows), y, **extra)
            weak.append(estimator)
        held = None if X_held is None else predict(weak[stage], X_held, targets.shape[1])
        return predict(weak[stage], X, targets.shape[1]), held

    return fit_predict


def _rows_of(X: Matrix, rows: NDArray[np.uint32]) -> Matrix:
    return X.tocsr()[rows] if is_sparse(X) else X[rows]


def _seeded(estimator: BaseEstimator, seed: int, stage: int) -> BaseEstimator:
    """`estimator` with every `random_state`, including those of nested estimators, set for the stage."""
    names = [name for name in estimator.get_params() if name == "random_state" or name.endswith("__random_state")]
    estimator.set_params(**{name: derived_seed(seed, (stage, i)) for i, name in enumerate(sorted(names))})
    return estimator
