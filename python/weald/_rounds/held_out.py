"""What the stages of boosting are judged by: folds, validation samples and evaluation sets."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import check_cv
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from weald import _weald
from weald._input import checks, masks, messages, registry, targets
from weald._input.checks import Float, Matrix, Number, floats, named, renamed
from weald._input.masks import KnownCells, weights_of_known
from weald._input.sklearn_private import safe_indexing
from weald._input.sparse import Raw, has_sparse_columns, is_sparse, of_sparse_columns
from weald._input.targets import Target
from weald._parameters.growing import derived_seed
from weald._rounds.rounds import Progress, Rounds

if TYPE_CHECKING:
    from weald._fit.base import Samples
    from weald._fit.boosting import BaseBoosting


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


# The training and the test samples of a fold.
Split: TypeAlias = tuple[NDArray[np.uint32], NDArray[np.uint32]]


def folds_of(
    cv: object, X: Matrix, target: Target, weights: Float | None, seed: int, margins: Float | None = None
) -> list[Split]:
    """The training and the test samples of each fold, all with positive weight. An integer asks for dealt folds.

    The only sample of a class, and samples without a known y, are training samples of each fold.
    """
    exists = np.ones(X.shape[0], dtype=np.bool_) if weights is None else weights > 0
    if not isinstance(cv, Integral):
        y = target.original
        y = y[:, 0] if target.kind == "classes" and target.n_outputs == 1 else y
        return given_folds(check_cv(cv), np.arange(X.shape[0]), y, exists, cv)
    with renamed(n_folds="cv"):
        return _weald.folds_of_samples(_in_engine(X, target, weights), int(cv), seed, margins)


def samples_held_out(X: Matrix, target: Target, weights: Float | None, share: float, seed: int) -> NDArray[np.uint32]:
    """The sorted indices of the samples to hold out: as large a share of each class or rare label. No class is lost."""
    return _weald.held_out_samples(_in_engine(X, target, weights), share, seed)


def _in_engine(X: Matrix, target: Target, weights: Float | None) -> Any:
    return _of_engine(X), target.engine, (weights, None), target.known_in_engine


def given_folds(checked: Any, rows: NDArray[np.intp], y: Any, exists: NDArray[np.bool_], cv: object) -> list[Split]:
    """The folds of `rows`, whose targets are y, by `checked`, the splitter of `cv`."""
    try:
        with messages.at_user():
            splits = [(rows[train], rows[test]) for train, test in checked.split(np.zeros((len(rows), 1)), y)]
    except (ValueError, TypeError, IndexError) as error:
        raise ValueError(f"cv must split the samples into folds, got {cv!r}: {error}") from error
    if len(splits) < 2:
        raise ValueError(f"cv must have at least 2 folds, got {cv!r} with {len(splits)} folds")
    return [_fold_rows(split, number, exists) for number, split in enumerate(splits)]


def _fold_rows(fold: tuple[NDArray[np.intp], NDArray[np.intp]], number: int, exists: NDArray[np.bool_]) -> Split:
    """Training and test samples of a fold: those with positive weight, each once, and none in both."""
    train, test = (np.unique(rows[exists[rows]]).astype(np.uint32) for rows in fold)
    for rows, side in ((train, "training"), (test, "test")):
        if not len(rows):
            raise ValueError(f"cv must have {side} samples of positive weight in each fold, got none in fold {number}")
    if len(shared := np.intersect1d(train, test)):
        raise ValueError(
            f"cv must have disjoint training and test samples, got sample {shared[0]} in both of fold {number}"
        )
    return train, test


@dataclass(frozen=True)
class Dealt:
    """`cv` of estimators around another one whose X may be anything that the other one accepts, such as texts."""

    n_splits: int
    seed: int

    def of(self, X: Raw, target: Target, weights: Float | None) -> list[Split]:
        """The folds of these samples, as of the function `of`."""
        return folds_of(self.n_splits, told_apart(X, target.original.shape[0]), target, weights, self.seed)


def told_apart(X: Raw, n_samples: int) -> Matrix:
    """X as numbers, of which samples that differ have others: texts and other objects by a hash."""
    X = of_sparse_columns(X) if has_sparse_columns(X) else X
    with np.errstate(over="ignore"):
        if is_sparse(X):
            return X.tocsr().astype(np.float32)
        try:
            cells = np.asarray(X)
        except ValueError:  # samples of several lengths
            cells = np.array([str(row) for row in X])
        cells = cells.reshape(n_samples, -1)
        if cells.dtype.kind in "biuf":
            return np.ascontiguousarray(cells, dtype=np.float32)
    return np.array([[_hashed(cell) for cell in row] for row in cells], dtype=np.float32)


def _hashed(cell: object) -> float:
    return float(cell) if isinstance(cell, float | int) else float(zlib.crc32(str(cell).encode()) >> 8)


def different_samples(X: Matrix, weights: Float | None) -> NDArray[np.uint64]:
    """The hashes of the samples of positive weight that differ in X, in order."""
    hashes = _weald.hashes_of_samples(_of_engine(X))
    return np.unique(hashes if weights is None else hashes[weights > 0])


def _of_engine(X: Matrix) -> Matrix:
    """X as the engine takes it, although that of models of other libraries has other types."""
    return X if X.dtype == np.float32 else told_apart(X, X.shape[0])


# The stage, the samples, their targets and their weights; predictions of all training samples and of held-out ones.
_FitPredict: TypeAlias = Callable[[int, NDArray[np.uint32], Float, Float], tuple[Float, Float | None]]


def fitted_weak_models(
    boosting: BaseBoosting,
    X: Matrix,
    target: Target,
    weights: Float | None,
    config: _weald._BoostConfig,
    validation: tuple[Matrix, _weald._Targets, Float | None] | None,
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
    fit_predict = _weak_models(boosting, X, target, None if validation is None else validation[0], weak)
    held_out = None if validation is None else validation[1:]

    def after(stage: int, train: float, validation: float | None, out_of_bag: tuple[float, float] | None) -> None:
        if observer is not None and stage >= n_grown:
            observer(stage, train, validation, out_of_bag, None, None)

    told = None if observer is None else after
    model = _weald.fit_boosting_with(
        fit_predict, X.shape, target.engine, weights, config, held_out, progress, told, grown
    )
    return model, weak[: model.n_stages]


def fold_of_weak_models(boosting: BaseBoosting, samples: Samples, split: Split) -> tuple[_FitPredict, Float, Any]:
    """A fold of a search: what fits its weak models, the weights of all samples, and y and weights of the held-out ones."""
    X, target, weights = samples.X, samples.target, samples.row_weights[0]
    train, test = split
    kept = np.zeros(samples.n)
    kept[train] = 1.0 if weights is None else weights[train]
    held_out = target.rows(test), None if weights is None else weights[test]
    return _weak_models(boosting, X, target, _rows_of(X, test), []), kept, held_out


def _weak_models(
    boosting: BaseBoosting, X: Matrix, target: Target, X_held: Matrix | None, weak: list[Any]
) -> _FitPredict:
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
        held = None if X_held is None else of_weak(weak[stage], X_held, targets.shape[1])
        return of_weak(weak[stage], X, targets.shape[1]), held

    return fit_predict


def of_weak(estimator: BaseEstimator, X: Matrix, n_targets: int) -> Float:
    """The checked predictions of the weak model of a stage, with a column for each target."""
    name = type(estimator).__name__
    with named("estimator"):
        found = floats(estimator.predict(X), f"the predictions of estimator, {name},")
    found = found[:, np.newaxis] if found.ndim == 1 else found
    if found.shape != (X.shape[0], n_targets):
        raise ValueError(
            f"estimator must predict {n_targets} columns for each of {X.shape[0]} samples, got an array of shape "
            f"{found.shape} from {name}"
        )
    if not np.isfinite(found).all():
        raise ValueError(f"estimator must predict finite numbers, got NaN or infinity from {name}")
    return found


def _rows_of(X: Matrix, rows: NDArray[np.uint32]) -> Matrix:
    return X.tocsr()[rows] if is_sparse(X) else X[rows]


def _seeded(estimator: BaseEstimator, seed: int, stage: int) -> BaseEstimator:
    """`estimator` with every `random_state`, including those of nested estimators, set for the stage."""
    names = [name for name in estimator.get_params() if name == "random_state" or name.endswith("__random_state")]
    estimator.set_params(**{name: derived_seed(seed, (stage, i)) for i, name in enumerate(sorted(names))})
    return estimator


@dataclass(frozen=True)
class GivenValidation:
    """The arguments of `fit` on validation samples."""

    X: Any
    y: Any
    weights: Any
    margins: Any


@dataclass(frozen=True)
class Held:
    """Samples that stages are judged by, in the engine's form."""

    X: Matrix
    y: _weald._Targets
    weights: Float | None
    # The initial scores.
    margins: Float | None
    # What is known of y, in the engine's form; None if all is known.
    known: Any
    # y as it was passed, which scorers take.
    given: Any = None

    @property
    def in_engine(self) -> Any:
        """The samples as an argument of the engine."""
        return (self.X, self.y, (self.weights, None), self.known), self.margins


def validation_set(
    boosting: BaseBoosting, samples: Samples, y: Raw, given: GivenValidation, start: Float | None
) -> tuple[Float | None, Held | None]:
    """Weights of the training samples, and the validation samples.

    Training samples that are set aside for validation get the weight zero.
    """
    X, target, weights = samples.X, samples.target, samples.row_weights[0]
    X_val, y_val, w_val = given.X, given.y, given.weights
    if (X_val is None) != (y_val is None):
        missing, there = ("X_val", "y_val") if X_val is None else ("y_val", "X_val")
        raise ValueError(f"{missing} must be given if {there} is, got None: pass both or none")
    if X_val is not None:
        names = {name: f"{name}_val" for name in ("X", "y", "sample_weight")}
        with checks.renamed(**names, base_margin_val="base_margin_val"):
            X_val = boosting._check_X(X_val, reset=False, fitting=True)
            w_val = checks.check_weights(w_val, X_val.shape[0])
            start_val = boosting._start_margins(X_val, given.margins, "base_margin_val", target)
            if start_val is not None and (rows := checks.rows_there(w_val)) is not None:
                start_val = start_val[rows]
            X_val, y_val, w_val = checks.without_absent(X_val, y_val, w_val)
            held, known = target.like_with_gaps(y_val, X_val.shape[0], type(boosting).__name__)
        if start is not None and start_val is None:
            raise ValueError("base_margin_val must be given if base_margin and X_val are, got None: pass both")
        if start is None and start_val is not None:
            raise ValueError("base_margin must be given if base_margin_val is, got None: pass both")
        return weights, Held(X_val, held, w_val, start_val, target.in_engine(known), y_val)
    for name, value in (("sample_weight_val", w_val), ("base_margin_val", given.margins)):
        if value is not None:
            raise ValueError(f"X_val and y_val must be given if {name} is, got None: pass all or none")
    if boosting._patience() is None or boosting._folds() is not None:
        return weights, None
    try:
        counted = boosting._counted(target)
        held_rows = samples_held_out(X, counted, weights, float(boosting.validation_fraction), boosting._seed)
    except ValueError as error:
        raise ValueError(
            f"validation_fraction must allow a split of the samples, got {boosting.validation_fraction}: {error}"
        ) from error
    check_domain(boosting, target, held_rows)  # the engine would name y_val in its error
    return apart(boosting, X, y, target, weights, start, held_rows)


def apart(
    boosting: BaseBoosting,
    X: Matrix,
    y: Raw,
    target: Target,
    weights: Float | None,
    start: Float | None,
    rows: NDArray[np.integer],
) -> tuple[Float, Held]:
    """The result of `validation_set` for these training samples, in place of others that are drawn."""
    kept, X_held, held, known = set_aside(X, target, weights, rows)
    y_held = None if boosting.scoring is None else y_of(target, y, rows)
    # An output may have known values in the validation samples only.
    masks.weights_of_known(target.known, kept, target.names)
    in_engine = None if known is None or known.hides_nothing else target.in_engine(known)
    w_held, start_held = (None if values is None else values[rows] for values in (weights, start))
    return kept, Held(X_held, held, w_held, start_held, in_engine, y_held)


def y_of(target: Target, y: Raw, rows: NDArray[np.integer]) -> Any:
    """Y of samples as it was passed, with NaN for what is unknown."""
    y_held = safe_indexing(y.tocsr() if is_sparse(y) else y, rows)
    known = None if target.known is None else target.known.rows(rows)
    return y_held if known is None or known.hides_nothing else targets.with_gaps(y_held, KnownCells(known.mask))


def check_domain(boosting: BaseBoosting, target: Target, rows: NDArray[np.integer]) -> None:
    """Raise for known numbers of these samples for which the loss is not defined."""
    if target.kind != "numbers":
        return
    y = target.original[rows]
    known = y.data if target.container is not None else y if target.known is None else y[~target.mask[rows]]
    loss = boosting._loss
    if (refused := loss._refused(known)) is not None:
        raise ValueError(f'y must be {refused[1]}, got {refused[0]:g} with loss="{loss.name}"')


def set_aside(
    X: Matrix, target: Target, weights: Float | None, rows: NDArray[np.integer]
) -> tuple[Float, Matrix, Any, KnownCells | None]:
    """The weights of all samples, with zeros for those of `rows`, and X, y in the engine's form, and what is known of it."""
    kept = np.ones(X.shape[0]) if weights is None else weights.copy()
    kept[rows] = 0
    X_held = X.tocsr()[rows] if is_sparse(X) else X[rows]
    return kept, X_held, target.rows(rows), None if target.known is None else target.known.rows(rows)


_SETS = "a list of (X, y) or (X, y, sample_weight), or a dict of such tuples by name"


@dataclass(frozen=True)
class EvalSet:
    """A checked set."""

    name: str
    # Its name in error messages.
    what: str
    samples: Held
    # The mean loss as a function of raw scores, which is NaN if no value of y is known.
    loss: Callable[[Float], float]

    def curve(self, staged: Iterator[Float], score: Callable[[Float], float] | None) -> tuple[str, Float, Float | None]:
        """The name, the losses and the scores of the stages, from their raw scores."""
        losses, scores = [], []
        for raw in staged:
            losses.append(self.loss(raw))
            if score is not None:
                try:
                    scores.append(score(raw))
                except ValueError as error:
                    raise ValueError(f"{self.what}: {error}") from error
        return self.name, np.array(losses), None if score is None else np.array(scores)


def named_sets(eval_sets: object) -> list[tuple[str, str, Any]]:
    """For each set: its name, its name in error messages, and its value."""
    if eval_sets is None:
        return []
    if isinstance(eval_sets, dict):
        for name in eval_sets:
            if not isinstance(name, str):
                raise TypeError(f"eval_sets must have strings as names, got {name!r}")
        # A plain string, since strings of numpy have another type in model files.
        sets = [(str(name), f"eval_sets[{str(name)!r}]", given) for name, given in eval_sets.items()]
    elif isinstance(eval_sets, list):
        sets = [(f"eval_{i}", f"eval_sets[{i}]", given) for i, given in enumerate(eval_sets)]
    else:
        hint = ": put it into a list" if isinstance(eval_sets, tuple) else ""
        raise TypeError(f"eval_sets must be {_SETS}, got a {type(eval_sets).__name__}{hint}")
    for _, what, given in sets:
        if not isinstance(given, tuple | list):
            raise TypeError(f"{what} must be (X, y) or (X, y, sample_weight), got a {type(given).__name__}")
        if len(given) not in (2, 3):
            raise ValueError(f"{what} must be (X, y) or (X, y, sample_weight), got a tuple of length {len(given)}")
    return sets


def checked_sets(
    estimator: BaseBoosting, eval_sets: object, target: Target, config: _weald._BoostConfig
) -> list[EvalSet]:
    """The checked sets for a model of `target`, whose loss is that of `config`. Errors name the set."""
    found = []
    for name, what, given in named_sets(eval_sets):
        try:
            found.append(_checked_set(estimator, (name, what), given, target, config))
        except (TypeError, ValueError) as error:
            raise type(error)(f"{what}: {error}") from error
    return found


def _checked_set(
    estimator: BaseBoosting, names: tuple[str, str], given: Sequence[Any], target: Target, config: _weald._BoostConfig
) -> EvalSet:
    X = estimator._check_X(given[0], reset=False, fitting=True)
    weights = checks.check_weights(given[2] if len(given) == 3 else None, X.shape[0])
    X, y, weights = checks.without_absent(X, given[1], weights)
    engine, known = target.like_with_gaps(y, X.shape[0], type(estimator).__name__, what="its y")
    y_weight, n_threads = target.in_engine(known), estimator._n_threads()
    with checks.renamed(y="its y"):
        _weald.mean_loss(engine, weights, config, y_weight=y_weight)

    def loss(scores: Float) -> float:
        found = _weald.mean_loss(engine, weights, config, scores, n_threads, y_weight)
        return np.nan if found is None else found

    X = X.tocsr() if is_sparse(X) and estimator.estimator is None else X
    return EvalSet(*names, Held(X, engine, weights, None, y_weight, y), loss)


# The scorer of a stage, for X, weights and y of the samples that it scores.
_ScoreOf = Callable[[Any, Float | None, Any], Callable[[_weald.Boosted, Float], float]]


def n_folds(cv: Any) -> int:
    """The number of folds of an integer or a list, or what a splitter tells."""
    if isinstance(cv, Integral):
        return int(cv)
    return len(cv) if hasattr(cv, "__len__") else int(getattr(cv, "n_splits", 1))


def n_copies(cv: object, n_bytes: int) -> int:
    """How many copies of X the folds have together: one of held-out samples, and those of training samples if X is small."""
    return n_folds(cv) if n_folds(cv) * n_bytes <= _weald.MOST_COPIED else 1


def search(
    boosting: BaseBoosting,
    samples: Samples,
    y: Raw,
    start: Float | None,
    config: _weald._BoostConfig,
    callbacks: tuple[Any, ...],
    scoring: tuple[str, _ScoreOf] | None,
    gain: float | None,
) -> tuple[int, dict[str, Float], bool]:
    """The number of stages, the mean losses and scores of the folds after each stage up to the end of the search, and
    whether nodes take all features, which is tried if they are to gain this share of the loss.
    """
    name, score_of = ("score", None) if scoring is None else scoring
    share = 0.0 if boosting.n_iter_no_change is not None else float(boosting._stops().patience_share)
    splits, starts, scorers = _searched_folds(boosting, samples, y, start, score_of)
    n_rounds, n_parts, n_threads = config["n_estimators"], len(splits), boosting._n_threads()
    is_ended = False

    def found(callbacks: tuple[Any, ...]) -> tuple[int, dict[str, Float]]:
        title = f"{type(boosting).__name__}, {n_parts} fold{'s' * (n_parts > 1)}"
        with Progress(title, "round", n_rounds, boosting.verbose) as progress:
            lines = progress if progress.has_lines else None
            bar = progress if progress.has_bar else None
            rounds = Rounds(n_rounds, callbacks=callbacks, lines=lines, scoring=name)

            def observer(stage: int, train: float, held: float, score: float | None) -> bool:
                nonlocal is_ended
                is_ended = rounds.after(stage, train, held, None, score)
                return is_ended

            told = observer if callbacks or lines else None
            told_bar = bar and (lambda n_done: bar(n_done // n_parts))
            if boosting.estimator is not None:
                weak = [fold_of_weak_models(boosting, samples, split) for split in splits]
                shape, y_engine = samples.X.shape, samples.target.engine
                curves = _weald.search_stages_with(shape, y_engine, config, weak, share, told_bar, told)
            else:
                data = samples.in_engine, config, splits, share, n_threads
                curves = _weald.search_stages(*data, told_bar, start, starts, told, scorers)
        *kept, n_stages = curves
        of_names = zip(("train", "validation", "score"), kept, strict=True)
        return n_stages, {curve: values for curve, values in of_names if len(values)}

    n_stages, curves = found(callbacks)
    if gain is None or is_ended:
        return n_stages, curves, False
    drawn, config["tree"]["max_features"] = config["tree"]["max_features"], boosting.n_features_in_
    n_all, with_all = found(())
    least = curves["validation"].min()
    if with_all["validation"].min() < least - gain * abs(least):
        return n_all, with_all, True
    config["tree"]["max_features"] = drawn
    return n_stages, curves, False


def _searched_folds(
    boosting: BaseBoosting, samples: Samples, y: Raw, start: Float | None, score_of: _ScoreOf | None
) -> tuple[list[Split], list[Float], list[Any]]:
    """The samples of each fold, the initial scores if they differ between folds, and the scorers."""
    target, weights, cv = samples.target, samples.row_weights[0], boosting._folds()
    X = samples.X
    if score_of is not None:  # which takes rows
        X, y = (part.tocsr() if is_sparse(part) else part for part in (X, y))
    check_domain(boosting, target, np.arange(X.shape[0]) if weights is None else np.flatnonzero(weights))
    counted = boosting._counted(target)
    assert boosting._plan is not None
    splits = folds_of(cv, X, counted, weights, boosting._seed, start)[: boosting._plan["n_grown"]]
    starts, scorers = [], []
    for train, test in splits:
        try:
            of_fold = _start_without(boosting, samples, y, train)
            if target.known is not None:
                weights_of_known(target.known.rows(train), None, target.names)
        except ValueError as error:
            raise ValueError(f"cv must allow a fit without each fold, got {cv!r}: {error}") from error
        if of_fold is not None:
            starts.append(of_fold)
        if score_of is not None:
            y_held = y_of(target, y, test)
            scorers.append(score_of(X[test], None if weights is None else weights[test], y_held))
    return splits, starts, scorers


def _start_without(boosting: BaseBoosting, samples: Samples, y: Raw, train: NDArray[np.uint32]) -> Float | None:
    """The initial scores of all samples by a model that does not know the samples of a fold, where `init` is one."""
    if boosting._init is None or isinstance(boosting.init, str | FrozenEstimator):
        return None
    X, weights = samples.X, samples.weights
    X = X.tocsr() if is_sparse(X) else X
    w = None if weights is None else weights[train]
    init = boosting._fitted_init(X[train], safe_indexing(y, train), w)
    assert init is not None
    return np.ascontiguousarray(boosting._margins_of_init(init, X, boosting._n_columns(samples.target)))
