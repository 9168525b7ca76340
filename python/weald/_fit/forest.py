"""Ensembles of independent trees: bootstrap samples, warm starts, out-of-bag scores; and forests for all kinds of y."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from copy import copy
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.metrics import r2_score

from weald import _weald
from weald._fit import memory, updates
from weald._fit import updates as _updates
from weald._fit.base import (
    PRUNING_CONSTRAINTS,
    BaseEnsemble,
    BaseModel,
    Members,
    Samples,
    TreeParameters,
    WithPaths,
    n_drawn_features,
    prepare,
)
from weald._fit.predictions import BaseClassifier, BaseRegressor
from weald._fit.tree import BaseTree
from weald._fitted.at_once import fitted_at_once, of_one_fit
from weald._fitted.fits import Fit
from weald._fitted.proof import (
    OF_CONTAINER,
    OF_SEED,
    Proof,
    Row,
    check_fitted,
    integer,
    must,
    numbers,
    sparse_or_numbers,
)
from weald._input import checks, masks, messages
from weald._input.checks import MOST, Float, Number, draw_seed, is_float, named, shown
from weald._input.messages import described
from weald._input.sklearn_private import Interval, RealNotInt, StrOptions
from weald._input.sparse import csr_of, is_sparse, r2
from weald._input.targets import CONTAINER, Target, label_classes
from weald._parameters import growing as _growing
from weald._parameters import weighting as _weighting
from weald._parameters.growing import (
    ASKED,
    CLASSIFIER_CRITERIA,
    REGRESSOR_CRITERIA,
    SCOPE_CONSTRAINTS,
    Growth,
    check_criterion_of_grown,
)
from weald._parameters.types import (
    ForestClassWeight,
    LabelNames,
    LabelWeight,
    MatrixLike,
    OobScore,
    OutputScaling,
    OutputStrategy,
    RandomState,
    SampleWeight,
    YWeight,
    fit_context,
)
from weald._ranking.ranks import ranking_precision
from weald._rounds import rounds as _rounds
from weald._rounds.rounds import Progress

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
        **dict.fromkeys(updates.OF_ROWS, (False,)),
        updates.PART: (False, lambda part, model: updates.fault_of_part(part, "trees", _trees_of(model))),
        updates.GROWN: (False, lambda n, model: integer(_trees_of(model), 2**32 - 1)(n, model)),
    }
    of_training = frozenset({"oob_decision_function_", "oob_prediction_", *updates.OF_ROWS})

    def of_kind(self) -> None:
        if any(attribute in self.state for attribute in updates.OF_ROWS):
            separate = getattr(self.model, "by_output", False)
            self.need(not separate, updates.LEAVES, "is not supported for trees of one output each")
            node_counts = [self.model.tree(i).node_count for i in range(self.model.n_trees)]
            updates.prove_rows(self.name, self.state, node_counts, self.model.n_outputs)


class BaseBagging(_rounds.CallbackSupportMixin, BaseEnsemble):
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

    def _fit_as_task(self, given: Fit, trees: object) -> None:
        """Fit the forest, or its trees in the range `trees`, and tell scikit-learn's callbacks."""
        n_grown = self._n_trees(self._forest) if self.warm_start and hasattr(self, "_forest") else 0
        n_more = len(trees) if isinstance(trees, range) else max(0, int(self.n_estimators) - n_grown)
        tasks = _rounds.tasks_of(self, min(n_more, _N_BLOCKS), given, "trees")
        with fitted_at_once(self, anew=not self.warm_start) as new:
            new._fit(given, trees, tasks)
        if tasks is not None:
            tasks.end()

    def _fit(self, given: Fit, trees: object = None, tasks: _rounds.Tasks | None = None) -> tuple[Samples, Any]:
        """Fit the forest, or its trees in the range `trees`; return the checked samples and the configuration."""
        self._check_parameters()
        part = None if trees is None else updates.checked_range(self, "trees", trees, int(self.n_estimators))
        grown = self._forest if self.warm_start and hasattr(self, "_forest") else None
        if grown is not None and (other := sorted({updates.PART, updates.GROWN} & self.__dict__.keys())):
            what = "a part of a forest" if other[0] == updates.PART else "a forest that was updated"
            raise ValueError(f"warm_start=True is not supported for {what}: set warm_start=False, or call update")
        before = dict(self.__dict__)
        samples = prepare(self, given)
        return samples, self._fit_samples(samples, part, grown, before, tasks)

    def _parts_for(self, n_labels: int) -> tuple[Literal["trees", "labels"], int]:
        return "trees", int(self.n_estimators)

    def _put_together(self, parts: list[BaseBagging]) -> None:
        self._forest = type(self._forest).merge([part._forest for part in parts])
        updates.merge_rows(self, parts)

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
        tasks: _rounds.Tasks | None = None,
    ) -> Any:
        """Grow trees on checked samples, and return the configuration.

        These are the trees of a `part`, or those that a forest `grown` with the attributes `before` lacks, or all.
        Callbacks of `tasks` may end the growth before.
        """
        X, target = samples.X, samples.target
        digest = None if part is None else _updates.digest_of_data(X, target, samples.weights)
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
            messages.warn("Warm-start fitting without increasing n_estimators does not fit new trees.")
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
        for name in updates.OF_ROWS:
            self.__dict__.pop(name, None)
        if self.keep_rows:
            leaves, numbers = self._forest.apply(X, n_threads), None
            if target.kind == "numbers":
                numbers = _known_numbers(target)
            updates.keep_rows(self, leaves, samples.row_weights[0], numbers)
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
        tasks: _rounds.Tasks,
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
        of_whole = {*self._oob_attributes, *updates.OF_ROWS, updates.PART, updates.GROWN}
        left_out = {*of_whole, *_rounds.OF_A_FIT, *self._get_param_names()}
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

    def _set_oob(self, samples: Samples, config: _weald._ForestConfig) -> None:
        target, weights = samples.target, samples.row_weights[0]
        if target.mask is not None and callable(self.oob_score):
            raise ValueError(
                "oob_score does not support y with masked entries if it is a callable: it must be True, got a function"
            )
        scores, n_trees = self._oob_predict(config, samples)
        scored = n_trees > 0
        exists = np.ones(len(scored), dtype=np.bool_) if weights is None else weights > 0
        if not scored[exists].all():
            messages.warn(
                "Some inputs do not have OOB scores. This probably means too few trees were used to compute any "
                "reliable OOB estimates."
            )
        rows = np.flatnonzero(scored & exists)
        self._set_oob_attributes(scores, target, rows)

    def _oob_predict(self, config: Any, samples: Samples) -> tuple[Any, NDArray[np.uint32]]:
        """Out-of-bag predictions, and the number of trees that each is the mean of."""
        found: tuple[Any, NDArray[np.uint32]] = self._forest.oob_predict(config, samples.in_engine, self._n_threads())
        return found

    def _fit_and_read(self, given: Fit, read: Callable[[Any, Samples, Any], Any]) -> Any:
        """Fit the forest, and return what `read` makes of it, of its checked samples and of its configuration."""
        found = given.fits.in_parts(self, given)
        if found is not None:
            self._become(found[0])
            return read(*self._of_its_samples(given))
        with fitted_at_once(self, anew=not self.warm_start) as new:
            return read(new, *new._fit(Fit(*given.data)))

    def _of_its_samples(self, given: Fit) -> tuple[Self, Samples, Any]:
        """A twin, the samples that the forest was fitted to, checked again, and the configuration of its trees."""
        checked = self._twin()
        samples = prepare(checked, given, goes_on=True)
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

    def _fit_out_of_bag(self, given: Fit, min_score: float) -> tuple[Any, NDArray[np.uint32]]:
        """Fit the forest to labels; return out-of-bag scores of at least `min_score` and the number of their trees."""
        read = lambda new, samples, config: new._oob_at_least(config, samples, min_score)  # noqa: E731
        found: tuple[Any, NDArray[np.uint32]] = self._fit_and_read(given, read)
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
        is_dense, truth, known = target.container is None, target.original[rows], target.known
        self.oob_prediction_ = scores[:, 0] if is_dense and target.n_outputs == 1 else scores
        found: Any = self.oob_prediction_[rows]
        if known is not None:
            truth, found = (part.toarray() if is_sparse(part) else part.reshape(truth.shape) for part in (truth, found))
            self.oob_score_ = float(masks.r2(truth, found, known.rows(rows)))
        elif callable(self.oob_score):
            told = truth.reshape(found.shape) if is_dense else truth.toarray()
            self.oob_score_ = score_of(self.oob_score, told, found)
        elif not len(rows):
            self.oob_score_ = np.nan
        elif is_dense:
            self.oob_score_ = float(r2_score(truth, found))
        else:
            self.oob_score_ = r2(truth, lambda part: found[part], len(rows))


class BaseForest(TreeParameters, WithPaths, BaseBagging):
    """What forests for all kinds of y share."""

    _memory_of_fit = staticmethod(memory.of_forest)
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseModel._parameter_constraints,
        **BAGGING_CONSTRAINTS,
        **SCOPE_CONSTRAINTS,
        **PRUNING_CONSTRAINTS,
        "output_strategy": [StrOptions({"joint", "single_target"})],
    }

    output_strategy: OutputStrategy
    projection_scope: Literal["tree", "forest"]

    @_rounds.with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: MatrixLike,
        y: MatrixLike,
        sample_weight: SampleWeight = None,
        *,
        y_weight: YWeight = None,
        label_names: LabelNames = None,
        trees: range | None = None,
    ) -> Self:
        """Fit the forest to training samples.

        Tree i is a function of the data, the parameters, the seed and i. Callbacks of scikit-learn (`set_callbacks`)
        are called after each tenth of the trees.
        A wrong argument or parameter raises a ValueError or TypeError that names it, and too little memory a
        MemoryError before the fit starts. The estimator then stays as it was, as after Ctrl-C.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The training samples; NaN marks a missing value, and what sparse X does not store is zero. Dense float32 X
            in Fortran order and float32 CSR or CSC are used without a copy, other X is converted to float32 once.
            Infinite values raise a ValueError, and a `DataConversionWarning` names features whose values float32 cannot
            distinguish.
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_outputs)
            Numbers for regressors; for classifiers classes, or labels: several columns of 0 and 1, or a sparse matrix
            of them, which stays sparse (see `multi_label`). NaN in several columns of floats is an unknown value. Which
            numerical y stay sparse is in `docs/scikit-learn.md#labels-and-outputs`.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Sample weights: finite, not negative, one of them positive. None: all are 1. Of a sample with weight zero
            nothing is read, and one with weight 2 counts as two: exactly for multiples of 1/64, and otherwise up to the
            rounding and with the exceptions in `docs/determinism.md#sample-weights-are-counts`.
        y_weight : {array-like, sparse matrix} of the shape of y or None, default=None
            Weights of the values of y, by which they multiply the weight of their sample: 0 for unknown values, which
            are not read, as NaN is. "stored": the stored entries of sparse y are what is known. A sample without a
            known value is left out, an output without any raises a ValueError. See `docs/missing-labels.md`.
        label_names : array-like of shape (n_labels,) of str or None, default=None
            Distinct names of the labels, which become `target_names_in_`. If y is a frame, they must be those of its
            columns.
        trees : range or None, default=None
            Grow only these trees of `range(n_estimators)`, in the same way, without out-of-bag scores. Such parts can
            be fitted on several machines and put together by `weald.merge`. `random_state` must then be an integer, and
            `warm_start` False.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._fit_as_task(Fit(X, y, sample_weight, y_weight, label_names), trees)
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.output_strategy != "single_target":
            return
        told = f"with {ASKED}, whose trees have one"
        if self.output_projection is not None:
            raise ValueError(f"output_projection must be None {told} output each")
        if self.keep_rows:
            raise ValueError(f"keep_rows must be False with {ASKED}, since each output is known for samples of its own")
        if (given := getattr(self, "class_weight", None)) is not None:
            raise ValueError(f"class_weight must be None with {ASKED}, got {given!r}")
        if _weighting.weighs_labels(self):
            raise ValueError(f"label_weight must be None {told} label each")
        if any(getattr(self, name, None) is not None for name in _growing.OUTPUT_FACTORS):
            raise ValueError(f"output_scaling and output_weights must be None {told} output each")

    def _separates(self, target: Target) -> bool:
        """Whether each output gets trees of its own: there is nothing to separate for one output."""
        return self.output_strategy == "single_target" and target.n_outputs > 1

    def _check_separable(self, target: Target) -> None:
        """Raise if y cannot be divided into outputs."""
        if target.kind == "classes":
            raise ValueError(
                f"{ASKED} does not support y with several outputs of classes: y must be labels, numbers or one output, "
                "or output_strategy 'joint'"
            )
        for name in ("min_samples_split", "min_samples_leaf"):
            value = getattr(self, name)
            if target.mask is not None and not isinstance(value, Integral):
                raise ValueError(
                    f"{name} must be an integer with {ASKED} and y with masked entries, since outputs have different "
                    f"numbers of samples, got {value!r}"
                )

    def _forest_config(self, samples: Samples, trees: tuple[int, int]) -> _weald._ForestConfig:
        if self._separates(samples.target):
            self._check_separable(samples.target)
        growth = Growth(self._seed, range(*trees), shared=self.projection_scope == "forest")
        return {
            "tree": self._tree_config(samples, growth),
            "trees": trees,
            "bootstrap": bool(self.bootstrap),
            "max_samples": self._n_draws(),
            "by_output": self.output_strategy == "single_target",
        }

    def _config_again(self, samples: Samples, seed: int) -> _weald._ForestConfig:
        """The configuration of a forest with as many trees on other samples."""
        return self._forest_config(samples, (0, self._n_trees(self._forest)))

    def _n_trees(self, forest: Any) -> int:
        return int(forest.n_trees_of_an_output)

    def _trees_at_a_time(self, target: Target) -> int:
        return target.n_outputs if self._separates(target) else 1

    def _check_grown_with(self, grown: _weald.Forest, target: Target) -> None:
        if grown.by_output != self._separates(target):
            before = "single_target" if grown.by_output else "joint"
            raise ValueError(
                f"output_strategy must be {before!r}, as in the previous fit, to go on with it, got {self.output_strategy!r}"
            )
        if _weighting.weighs_labels(self) and self.output_projection is None:
            if grown.criterion != "squared_error":
                raise ValueError("label_weight must be None with warm_start=True, as in the previous fit, got weights")
        else:
            check_criterion_of_grown(grown.criterion, self.criterion, self.output_projection, target.kind)

    def _grow(
        self, samples: Samples, config: _weald._ForestConfig, n_threads: int, progress: Callable[[int], object] | None
    ) -> _weald.Forest:
        return _weald.fit_forest(samples.in_engine, config, n_threads, progress)

    @property
    def estimators_(self) -> Sequence[BaseTree]:
        """The trees as estimators, which are created when they are accessed and share the memory of the forest.

        With `output_strategy="single_target"`, the first trees of all outputs are first. Trees predict classes, and not
        their positions in `classes_` as those of scikit-learn's forests.
        """
        check_fitted(self)
        return Members(self._twin())

    def _member(self, index: int) -> BaseTree:
        shared = set(self._member_class._get_param_names()) & set(self.get_params(deep=False)) - {"random_state"}
        params = {name: getattr(self, name) for name in shared}
        member = self._as_member(index, params, n_drawn_features(self.max_features, self.n_features_in_))
        if getattr(member, "class_weight", None) == "balanced_subsample":
            member.set_params(class_weight="balanced")
        for name in ("target_names_in_", "classes_", "n_classes_", "_label_format", CONTAINER):
            if name in self.__dict__:
                setattr(member, name, self.__dict__[name])
        if self._forest.by_output:
            # The attributes of its output alone.
            if "target_names_in_" in member.__dict__:
                member.target_names_in_ = member.target_names_in_[index % self.n_outputs_ :][:1]
            if "classes_" in member.__dict__:
                member.classes_, member.n_classes_ = label_classes(1), 1
        return member

    def update(
        self,
        X: MatrixLike,
        y: MatrixLike,
        sample_weight: SampleWeight = None,
        *,
        y_weight: YWeight = None,
        retire: int = 10,
    ) -> Self:
        """Replace the oldest trees by trees that are grown on new samples, in the time of a fit of that many trees.

        The forest averages trees of different ages: it follows a drift with a lag of n_estimators / retire updates, and
        loses rare classes or labels of old samples with their trees. Each new tree is a function of its samples, the
        parameters, the seed of `fit` and the number of trees before. Out-of-bag scores and kept samples are deleted.
        Errors are those of `fit`, and leave the forest as it was.

        >>> from sklearn.datasets import load_iris
        >>> import weald
        >>> X, y = load_iris(return_X_y=True)
        >>> forest = weald.RandomForestClassifier(n_estimators=50, random_state=0).fit(X[::2], y[::2])
        >>> len(forest.update(X[1::2], y[1::2], retire=25).estimators_)
        50

        Parameters
        ----------
        X, y, sample_weight, y_weight : as in `fit`
            The new samples, with the features and outputs of `fit`, a known value of each output, and some of its
            classes. Other categories are unknown.
        retire : int, default=10
            Number of trees to replace, from 1 to the number of trees.

        Returns
        -------
        self : object
            The updated estimator.
        """
        check_fitted(self)
        checks.integer("retire", retire, 1, self._n_trees(self._forest), also=", the number of trees")
        with fitted_at_once(self) as new:
            updates.update(new, Fit(X, y, sample_weight, y_weight), int(retire))
        return self

    @of_one_fit
    def prune_reduced_error(
        self, X_val: MatrixLike, y_val: MatrixLike, sample_weight: SampleWeight = None, *, y_weight: YWeight = None
    ) -> Self:
        """Prune each tree on validation samples, as `DecisionTreeClassifier.prune_reduced_error` does.

        The pruned forest is smaller, and not always better, because a forest averages the errors of trees that are too
        large.

        Parameters
        ----------
        X_val, y_val, sample_weight, y_weight : as X, y, sample_weight and y_weight in `fit`
            The validation samples. Unknown values have no loss.

        Returns
        -------
        pruned : estimator of the same class
            A new fitted estimator, without out-of-bag scores and kept samples. This estimator does not change.
        """
        forest = self._reduced_error_pruned(X_val, y_val, sample_weight, y_weight)
        pruned = copy(self)
        pruned._forest = forest
        updates.drop_rows(pruned)
        for name in self._oob_attributes:
            pruned.__dict__.pop(name, None)
        return pruned


class BaseForestClassifier(BaseForest, BaseBaggingClassifier):
    """What forests for classes and labels share."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseForest._parameter_constraints,
        "criterion": [StrOptions(CLASSIFIER_CRITERIA)],
        **_weighting.LABEL_WEIGHT,
        "class_weight": [dict, list, StrOptions({"balanced", "balanced_subsample"}), None],
        **BaseClassifier._parameter_constraints,
    }

    class_weight: ForestClassWeight
    label_weight: LabelWeight


class BaseForestRegressor(BaseForest, BaseBaggingRegressor):
    """What forests for numerical outputs share."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseForest._parameter_constraints,
        "criterion": [StrOptions(REGRESSOR_CRITERIA)],
        **_growing.OUTPUT_FACTORS,
    }

    output_scaling: OutputScaling
    output_weights: ArrayLike | None

    @of_one_fit
    def predict_quantiles(self, X: MatrixLike, q: ArrayLike = 0.5) -> Float:
        """Predict conditional quantiles of each output, from the training samples in the leaves that a sample reaches.

        The weight of a training sample is the average over the trees of its fraction of the weight of the leaf that is
        reached (Meinshausen, *Quantile regression forests*, 2006). It takes time in proportion to the training samples
        in these leaves, for each output. Requires `keep_rows=True`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples, as in `predict`.
        q : float or array-like of shape (n_quantiles,), default=0.5
            Quantile levels, from 0 to 1.

        Returns
        -------
        ndarray of shape (n_samples, n_outputs, n_quantiles), float64
            The quantiles, without the axis of a single output or of a `q` that is a number. Each is the smallest target
            value of a training sample at which the weights reach the level.
        """
        check_fitted(self)
        updates.check_kept(self)
        shares = updates.check_quantiles(q)
        found = updates.quantiles_of_rows(self, self.apply(X), np.atleast_1d(shares))
        found = found[:, :, 0] if shares.ndim == 0 else found
        return found[:, 0] if self.n_outputs_ == 1 else found

    @of_one_fit
    def sample_y(self, X: MatrixLike, n_samples: int = 1, random_state: RandomState = 0) -> Float:
        """Draw target values from the training samples in the leaves that a sample reaches.

        All outputs of a draw come from the same training sample, so that draws follow the joint distribution. Weights
        and time are those of `predict_quantiles` for one output. Requires `keep_rows=True`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features)
            The samples to draw for.
        n_samples : int, default=1
            Number of draws for each sample of X.
        random_state : int, RandomState instance or None, default=0
            Controls the draws.

        Returns
        -------
        ndarray of shape (n_queries, n_outputs, n_samples), float64
            The drawn target values, without the axis of outputs if there is one output.
        """
        check_fitted(self)
        updates.check_kept(self)
        found = updates.draws_of_rows(self, self.apply(X), n_samples, random_state)
        return found[:, 0] if self.n_outputs_ == 1 else found
