"""Ensembles of independent trees of any kind: bootstrap samples, warm starts and out-of-bag scores."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from contextlib import nullcontext
from itertools import pairwise
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.metrics import r2_score

from weald import _weald
from weald._fit import stored_samples, updates
from weald._fit.base import BaseEnsemble
from weald._fit.predictions import BaseClassifier, BaseRegressor
from weald._fit.samples import Samples, prepare
from weald._fitted.at_once import fitted_at_once
from weald._fitted.fits import HERE, Fits
from weald._fitted.proof import OF_CONTAINER, OF_SEED, Proof, Row, integer, must, numbers, sparse_or_numbers
from weald._input import digest as _digest
from weald._input import masks, warned
from weald._input.checks import MOST, Float, Number, draw_seed, is_float, named, shown
from weald._input.described import described
from weald._input.sklearn_private import Interval, RealNotInt
from weald._input.sparse import csr_of, is_sparse, r2
from weald._input.targets import Target
from weald._parameters.types import MatrixLike, OobScore, RandomState
from weald._ranking.ranks import ranking_precision
from weald._rounds import callbacks as _callbacks
from weald._rounds.progress import Progress

if TYPE_CHECKING:
    from weald._weald import _ForestConfig

# Constraints of the parameters that all of them have.
BAGGING_CONSTRAINTS: dict[str, list[Any]] = {
    "n_estimators": [Interval(Integral, 1, MOST, closed="both")],
    "bootstrap": ["boolean"],
    "oob_score": ["boolean", callable],
    "n_jobs": [Integral, None],
    "verbose": ["verbose"],
    "warm_start": ["boolean"],
    "keep_rows": ["boolean"],
    "max_samples": [
        None,
        Number(RealNotInt, 0.0, None, closed="neither"),
        Interval(Integral, 1, MOST, closed="both"),
    ],
}

# With callbacks, trees are grown in this number of blocks. Each block prepares X again, so that it must not be large.
_N_BLOCKS = 10
# With more labels, hardly any sample has all labels right, and the out-of-bag score is a ranking score.
_FEW_LABELS = 10


def _known_numbers(target: Target) -> Float:
    """The numerical outputs, with NaN for unknown values."""
    found: Float = target.original if target.container is None else target.original.toarray()
    return found if target.known is None else np.where(masks.dense(target.mask), np.nan, found)


def _trees_of(model: Any) -> int:
    """The number of trees of each output. Centroid trees have all outputs."""
    return int(getattr(model, "n_trees_of_an_output", model.n_trees))


def _fault_of_draws(draws: Any, _: object) -> str | None:
    if type(draws) is not tuple or len(draws) != 2 or type(draws[0]) is not bool:
        return f"must be a pair of bootstrap and max_samples, got {described(draws)}"
    size = draws[1]
    positive = size is None or (type(size) in (int, float) and 0 < size < math.inf)
    return None if positive else f"must have a positive number of samples, got {described(size)}"


class BaggedProof(Proof):
    """The fitted attributes of forests under validation."""

    own: ClassVar[dict[str, Row]] = {
        **OF_CONTAINER,
        **OF_SEED,
        "_draws": (True, _fault_of_draws),
        "oob_score_": (False, must("be a number", lambda score, _: isinstance(score, Real))),
        "oob_decision_function_": (False, sparse_or_numbers),
        "oob_prediction_": (
            False,
            lambda value, model: numbers(value, (-1,) if model.width == 1 else (-1, model.width)),
        ),
        **dict.fromkeys(stored_samples.ATTRIBUTES, (False,)),
        updates.PART: (False, lambda part, model: updates.fault_of_part(part, "trees", _trees_of(model))),
        updates.GROWN: (False, lambda n, model: integer(_trees_of(model), 2**32 - 1)(n, model)),
    }
    of_training = frozenset({"oob_decision_function_", "oob_prediction_", *stored_samples.ATTRIBUTES})

    def of_kind(self) -> None:
        if any(attribute in self.state for attribute in stored_samples.ATTRIBUTES):
            separate = getattr(self.model, "by_output", False)
            self.need(not separate, stored_samples.LEAVES, "is not supported for trees of one output each")
            node_counts = [self.model.tree(i).node_count for i in range(self.model.n_trees)]
            stored_samples.prove(self.name, self.state, node_counts, self.model.n_outputs)


class BaseBagging(_callbacks.CallbackSupportMixin, BaseEnsemble):
    """Fits of ensembles of independent trees."""

    _proof = BaggedProof
    _masks_y = True
    _keeps_sparse_y = True
    # Attributes of a fit with `oob_score`, which a fit without it deletes.
    _oob_attributes: ClassVar[tuple[str, ...]] = ("oob_score_",)

    n_estimators: int
    bootstrap: bool
    max_samples: float | None
    oob_score: OobScore
    random_state: RandomState
    verbose: int
    warm_start: bool
    keep_rows: bool

    # The settings of the bootstrap samples: bootstrap, max_samples.
    _draws: tuple[bool, float | None]

    def _fit_as_task(
        self,
        X: MatrixLike,
        y: MatrixLike,
        sample_weight: object,
        y_weight: MatrixLike | None,
        label_names: object,
        trees: object,
    ) -> None:
        """Fit the forest, or its trees in the range `trees`, and tell scikit-learn's callbacks."""
        n_grown = self._n_trees(self._forest) if self.warm_start and hasattr(self, "_forest") else 0
        n_more = len(trees) if isinstance(trees, range) else max(0, int(self.n_estimators) - n_grown)
        tasks = _callbacks.tasks_of(self, min(n_more, _N_BLOCKS), X, y, sample_weight, "trees")
        with fitted_at_once(self, anew=not self.warm_start) as new:
            new._fit(X, y, sample_weight, y_weight, label_names, trees, tasks)
        if tasks is not None:
            tasks.end()

    def _fit(
        self,
        X: MatrixLike,
        y: MatrixLike | None,
        sample_weight: object,
        y_weight: MatrixLike | None,
        label_names: object,
        trees: object = None,
        tasks: _callbacks.Tasks | None = None,
    ) -> tuple[Samples, Any]:
        """Fit the forest, or its trees in the range `trees`; return the checked samples and the configuration."""
        self._check_parameters()
        part = None if trees is None else updates.checked_range(self, "trees", trees, int(self.n_estimators))
        grown = self._forest if self.warm_start and hasattr(self, "_forest") else None
        if grown is not None and (other := sorted({updates.PART, updates.GROWN} & self.__dict__.keys())):
            what = "a part of a forest" if other[0] == updates.PART else "a forest that was updated"
            raise ValueError(f"warm_start=True is not supported for {what}: set warm_start=False, or call update")
        before = dict(self.__dict__)
        samples = prepare(self, X, y, sample_weight, y_weight, label_names)
        return samples, self._fit_samples(samples, part, grown, before, tasks)

    def _parts_for(self, n_labels: int) -> tuple[Literal["trees", "labels"], int]:
        return "trees", int(self.n_estimators)

    def _put_together(self, parts: list[BaseBagging]) -> None:
        self._forest = type(self._forest).merge([part._forest for part in parts])
        stored_samples.merge(self, parts)

    def _check_parameters(self) -> None:
        if self.oob_score and not self.bootstrap:
            raise ValueError(
                "oob_score is not supported with bootstrap=False, which leaves out no samples: set bootstrap=True"
            )
        if self.max_samples is not None and not self.bootstrap:
            raise ValueError(
                "max_samples is not supported with bootstrap=False: it must be None, or bootstrap True, got "
                f"{self.max_samples!r}"
            )

    def _fit_samples(
        self,
        samples: Samples,
        part: tuple[int, int] | None = None,
        grown: _weald.Forest | None = None,
        before: dict[str, Any] | None = None,
        tasks: _callbacks.Tasks | None = None,
    ) -> Any:
        """Grow trees on checked samples, and return the configuration.

        These are the trees of a `part`, or those that a forest `grown` with the attributes `before` lacks, or all.
        Callbacks of `tasks` may end the growth before.
        """
        X, target = samples.X, samples.target
        digest = None if part is None else _digest.of_data(X, target, samples.weights)
        n_grown = 0 if grown is None else self._n_trees(grown)
        n_grown, end = part or (n_grown, int(self.n_estimators))
        n_more = end - n_grown
        if n_more < 0:
            raise ValueError(
                f"n_estimators must be at least {n_grown} with warm_start=True, the number of trees of the fitted "
                f"forest, got {self.n_estimators}"
            )
        if grown is None:
            self._seed = draw_seed(self.random_state)
        self._set_outputs(target)
        if grown is not None:
            self._check_goes_on(before or {})
            self._check_grown_with(grown, target)
        n_threads = self._n_threads()
        config = self._forest_config(samples, (n_grown, end))
        if n_more == 0:
            warned.warn("Warm-start fitting without increasing n_estimators does not fit new trees.")
        else:
            each = self._trees_at_a_time(target)
            of_all = type(self).__name__, "tree", end * each, self.verbose, n_grown * each
            with Progress(*of_all) if self.verbose else nullcontext() as progress:
                if tasks is None or not tasks.has_callbacks:
                    more = self._grow(samples, config, n_threads, _beyond(progress, n_grown * each))
                    self._forest = more if grown is None else type(grown).merge([grown, more])
                else:
                    self._grow_in_blocks(samples, (n_grown, end), n_threads, progress, grown, tasks)
                    if part is not None:
                        part = n_grown, n_grown + self._n_trees(self._forest)
        for name in stored_samples.ATTRIBUTES:
            self.__dict__.pop(name, None)
        if self.keep_rows:
            leaves, numbers = self._forest.apply(X, n_threads), None
            if target.kind == "numbers":
                numbers = _known_numbers(target)
            stored_samples.keep(self, leaves, samples.row_weights[0], numbers)
        draws = (config["bootstrap"], config["max_samples"])
        for name in (updates.PART, updates.GROWN):
            self.__dict__.pop(name, None)
        if part is not None:
            setattr(self, updates.PART, (*part, digest))
        if self.oob_score and part is None and (n_more > 0 or not hasattr(self, "oob_score_")):
            if grown is not None and draws != self._draws:
                raise ValueError(
                    "max_samples and bootstrap must be those of the previous fit with warm_start=True and oob_score"
                )
            self._set_oob(samples, config)
        elif not self.oob_score or part is not None:
            for name in self._oob_attributes:
                self.__dict__.pop(name, None)
        self._draws = draws
        return config

    def _grow_in_blocks(
        self,
        samples: Samples,
        trees: tuple[int, int],
        n_threads: int,
        progress: Progress | None,
        grown: Any,
        tasks: _callbacks.Tasks,
    ) -> None:
        """Grow the trees block by block, until all are grown or a callback ends the fit."""
        first, end = trees
        cuts = [first + (end - first) * i // tasks.n_parts for i in range(tasks.n_parts + 1)]
        for start, stop in pairwise(cuts):
            tasks.begin_part()
            config = self._forest_config(samples, (start, stop))
            n_before = start * self._trees_at_a_time(samples.target)
            more = self._grow(samples, config, n_threads, _beyond(progress, n_before))
            grown = more if grown is None else type(grown).merge([grown, more])
            self._forest = grown
            if tasks.end_part(self._grown_so_far):
                return

    def _grown_so_far(self) -> dict[str, Any]:
        """The fitted attributes of an estimator with the trees so far."""
        of_whole = {*self._oob_attributes, *stored_samples.ATTRIBUTES, updates.PART, updates.GROWN}
        left_out = {*of_whole, *_callbacks.OF_A_FIT, *self._get_param_names()}
        fitted = {name: value for name, value in self.__dict__.items() if name not in left_out}
        return fitted | {"_draws": (bool(self.bootstrap), self._n_draws())}

    def _n_trees(self, forest: Any) -> int:
        """The number of trees of each output."""
        n_trees: int = forest.n_trees
        return n_trees

    def _trees_at_a_time(self, target: Target) -> int:
        """The number of trees that belong together: one, or one for each output."""
        return 1

    def _check_grown_with(self, grown: _weald.Forest, target: Target) -> None:
        """Raise if the existing trees were grown with another criterion."""

    @abstractmethod
    def _forest_config(self, samples: Samples, trees: tuple[int, int]) -> Any:
        """The parameters of the trees of this range, in the engine's form."""

    @abstractmethod
    def _grow(self, samples: Samples, config: Any, n_threads: int, progress: Callable[[int], object] | None) -> Any:
        """Grow the trees of a configuration."""

    def _n_draws(self) -> float | None:
        """`max_samples` in the engine's form."""
        if self.max_samples is None:
            return None
        return int(self.max_samples) if isinstance(self.max_samples, Integral) else float(self.max_samples)

    def _set_oob(self, samples: Samples, config: _ForestConfig) -> None:
        target, weights = samples.target, samples.row_weights[0]
        if target.mask is not None and callable(self.oob_score):
            raise ValueError(
                "oob_score does not support y with masked entries if it is a callable: it must be True, got a function"
            )
        scores, n_trees = self._oob_predict(config, samples)
        scored = n_trees > 0
        exists = np.ones(len(scored), dtype=np.bool_) if weights is None else weights > 0
        if not scored[exists].all():
            warned.warn(
                "Some inputs do not have OOB scores. This probably means too few trees were used to compute any "
                "reliable OOB estimates."
            )
        rows = np.flatnonzero(scored & exists)
        self._set_oob_attributes(scores, target, rows)

    def _oob_predict(self, config: Any, samples: Samples) -> tuple[Any, NDArray[np.uint32]]:
        """Out-of-bag predictions, and the number of trees that each is the mean of."""
        found: tuple[Any, NDArray[np.uint32]] = self._forest.oob_predict(config, samples.in_engine, self._n_threads())
        return found

    def _fit_and_read(
        self,
        X: MatrixLike,
        y: MatrixLike | None,
        sample_weight: ArrayLike | None,
        y_weight: MatrixLike | None,
        read: Callable[[Any, Samples, Any], Any],
        fits: Fits,
    ) -> Any:
        """Fit the forest, and return what `read` makes of it, of its checked samples and of its configuration."""
        found = fits.in_parts(self, X, y, sample_weight, y_weight)
        if found is not None:
            self._become(found[0])
            return read(*self._of_its_samples(X, y, sample_weight, y_weight))
        with fitted_at_once(self, anew=not self.warm_start) as new:
            samples, config = new._fit(X, y, sample_weight, y_weight, None)
            return read(new, samples, config)

    def _of_its_samples(
        self, X: MatrixLike | None, y: MatrixLike | None, sample_weight: object, y_weight: MatrixLike | None
    ) -> tuple[Self, Samples, Any]:
        """A twin, the samples that the forest was fitted to, checked again, and the configuration of its trees."""
        checked = self._twin()
        samples = prepare(checked, X, y, sample_weight, y_weight, goes_on=True)
        return checked, samples, checked._forest_config(samples, (0, int(self.n_estimators)))

    @abstractmethod
    def _set_oob_attributes(self, scores: Any, target: Target, rows: NDArray[np.intp]) -> None:
        """Set the out-of-bag predictions of all samples and the score over `rows`, the samples that have some."""


def _beyond(progress: Progress | None, n_grown: int) -> Callable[[int], object] | None:
    """What the engine calls with the number of trees that it has grown, in addition to those before."""
    return None if progress is None else lambda n_done: progress(n_grown + n_done)


def score_of(score: Callable[..., Any], truth: MatrixLike, predicted: object) -> float:
    """The result of a callable `oob_score`, which must be a number."""
    with named("oob_score"):
        found = score(truth, predicted)
    if not isinstance(found, Real) or not is_float(found):
        raise ValueError(f"oob_score must return a number, but returned {shown(found)}")
    return float(found)


class BaseBaggingClassifier(BaseBagging, BaseClassifier):
    """Ensembles of independent trees for classes and labels."""

    _oob_attributes: ClassVar[tuple[str, ...]] = ("oob_score_", "oob_decision_function_")

    oob_score_: float
    oob_decision_function_: Float | sparse.csr_array

    def _oob_predict(self, config: Any, samples: Samples) -> tuple[Any, NDArray[np.uint32]]:
        form = samples.target.label_format
        if form is None or form.container is None:
            return super()._oob_predict(config, samples)
        return self._oob_at_least(config, samples, 0.0)

    def _oob_at_least(self, config: Any, samples: Samples, floor: float) -> tuple[Any, NDArray[np.uint32]]:
        """Out-of-bag scores of labels that are positive and at least the floor, as CSR."""
        target = samples.target
        arrays, n_trees = self._forest.oob_at_least(config, samples.in_engine, floor, self._n_threads())
        assert target.label_format is not None
        container = target.label_format.container or sparse.csr_array
        return container(csr_of(arrays, target.original.shape)), n_trees

    def _fit_out_of_bag(
        self,
        X: MatrixLike,
        y: MatrixLike | None,
        sample_weight: ArrayLike | None,
        min_score: float,
        y_weight: MatrixLike | None = None,
        fits: Fits = HERE,
    ) -> tuple[Any, NDArray[np.uint32]]:
        """Fit the forest to labels; return out-of-bag scores of at least `min_score` and the number of their trees."""
        read = lambda new, samples, config: new._oob_at_least(config, samples, min_score)  # noqa: E731
        found: tuple[Any, NDArray[np.uint32]] = self._fit_and_read(X, y, sample_weight, y_weight, read, fits)
        return found

    def _set_oob_attributes(self, scores: Float | sparse.csr_array, target: Target, rows: NDArray[np.intp]) -> None:
        if target.kind == "classes" and target.n_outputs > 1:
            raise ValueError(
                "oob_score does not support y with several outputs of classes: it must be False, or y one output of "
                "classes, or labels"
            )
        self.oob_decision_function_ = scores
        found = scores[rows]
        if target.kind == "labels":
            self.oob_score_ = self._oob_score_of_labels(found, target, rows)
            return
        truth, predicted = target.original[rows, 0], self.classes_.take(found.argmax(axis=1))
        if callable(self.oob_score):
            self.oob_score_ = score_of(self.oob_score, truth, predicted)
        else:
            self.oob_score_ = float(np.mean(truth == predicted)) if len(rows) else np.nan

    def _oob_score_of_labels(self, found: Any, target: Target, rows: NDArray[np.intp]) -> float:
        truth = target.original[rows]
        mask = None if target.mask is None else target.mask[rows]
        if callable(self.oob_score):
            return score_of(self.oob_score, truth if is_sparse(found) else truth.toarray(), found > 0.5)
        if not len(rows):
            return np.nan
        if target.n_outputs > _FEW_LABELS:
            return float(ranking_precision(found, truth, mask, self._n_threads()))
        return float(masks.accuracy(truth != sparse.csr_array(found > 0.5), mask))


class BaseBaggingRegressor(BaseBagging, BaseRegressor):
    """Ensembles of independent trees for numerical outputs."""

    _oob_attributes: ClassVar[tuple[str, ...]] = ("oob_score_", "oob_prediction_")

    oob_score_: float
    oob_prediction_: Float

    def _set_oob_attributes(self, scores: Float, target: Target, rows: NDArray[np.intp]) -> None:
        truth = target.original
        if target.container is not None:
            self.oob_prediction_ = scores
            if target.known is not None:
                found: Any = scores[rows]
                found = found.toarray() if is_sparse(found) else found
                self.oob_score_ = float(masks.r2(truth[rows].toarray(), found, target.known.rows(rows)))
            elif callable(self.oob_score):
                self.oob_score_ = score_of(self.oob_score, truth[rows].toarray(), scores[rows])
            else:
                self.oob_score_ = r2(truth[rows], lambda part: scores[rows[part]], len(rows)) if len(rows) else np.nan
            return
        if target.n_outputs == 1:
            scores, truth = scores[:, 0], truth[:, 0]
        self.oob_prediction_ = scores
        if target.known is not None:
            known = target.known.rows(rows)
            self.oob_score_ = float(masks.r2(target.original[rows], scores[rows].reshape(known.shape), known))
            return
        if callable(self.oob_score):
            self.oob_score_ = score_of(self.oob_score, truth[rows], scores[rows])
        else:
            self.oob_score_ = float(r2_score(truth[rows], scores[rows])) if len(rows) else np.nan
