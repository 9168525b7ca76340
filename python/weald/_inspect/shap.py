"""Shapley values of fitted models: the scores that are explained, their names, and the form of the result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.validation import check_is_fitted

from weald import _weald
from weald._fit.base import BaseModel
from weald._fit.boosting import BoostedModel
from weald._input import checks, frames
from weald._input.checks import Float, Matrix, integer, is_integer
from weald._input.elementary import log1p
from weald._input.messages import kind_of
from weald._input.sparse import csr_of, has_nan, is_sparse
from weald._inspect.displays import bars, checked_names
from weald._parameters.types import MatrixLike, Prediction
from weald._ranking.outputs import apart, innermost, names_of_features, transformed

_LARGEST = float(np.finfo(np.float32).max)


def prepared(
    X: Matrix, idf: NDArray[np.float32] | None, *, are_counts: bool = False, normalize: bool = False
) -> sparse.csr_array:
    """Float32 values: sign(x) · ln(1 + |x|) of counts, times a factor of each feature, divided by the length of the sample.

    Those of length one are multiples of 2⁻²⁴. X is float32, and finite. Bits are those of the engine.
    """
    X = sparse.csr_array(X)
    values = X.data.astype(np.float64)
    if are_counts:
        values = np.copysign(log1p(np.abs(values)), values)
    if idf is not None:
        values = values * idf[X.indices]
    single = np.clip(values, -_LARGEST, _LARGEST).astype(np.float32)
    if normalize:
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        # Sums in the order of the features.
        lengths = np.sqrt(np.bincount(rows, values * values, minlength=X.shape[0]))
        multiples = np.rint(single.astype(np.float64) / np.where(lengths > 0, lengths, 1)[rows] * 2.0**24)
        single = multiples.astype(np.float32) / np.float32(2**24)
    return sparse.csr_array((single, X.indices, X.indptr), shape=X.shape)


_Model = TypeVar("_Model", bound=BaseModel)


def fitted(estimator: BaseEstimator) -> tuple[BaseModel, list[Any]]:
    """A copy of the fitted model, which does not change if it is fitted again, and the steps before it.

    The model is that inside meta-estimators of weald and at the end of pipelines.
    """
    model, before = innermost(estimator)
    if not isinstance(model, BaseModel):
        inside = "" if model is estimator else f", around {kind_of(model)}"
        raise TypeError(f"estimator must be a fitted estimator of weald, got {kind_of(estimator)}{inside}")
    return named_twin(model, estimator), before


def named_twin(model: _Model, estimator: BaseEstimator) -> _Model:
    """A copy of the fitted model inside `estimator`, with the names of outputs that the latter knows."""
    check_is_fitted(model)
    twin = model._twin()
    names = getattr(apart(estimator)[0], "target_names_in_", None)
    if names is not None:
        twin.target_names_in_ = names
    return twin


def check_trees(model: BaseModel) -> None:
    check_tests_features(model)
    if not model._has_trees:
        name = type(model).__name__
        raise ValueError(f"estimator must have trees, got a {name} with estimator=, which has none")


def check_tests_features(model: BaseModel) -> None:
    if not model._tests_features:
        own = f"weald.inspection.{model._inspected_by}, and " if model._inspected_by else ""
        raise TypeError(
            f"estimator must have nodes that test single features, got a {type(model).__name__}; see "
            f"{own}weald.inspection.permutation_importance, or for dense X partial_dependence(method='brute') of "
            "sklearn.inspection"
        )


@dataclass(frozen=True)
class LinearPart:
    """The weights of a model in the unit of `decision_function`."""

    engine: _weald.LinearModel
    # (n_features, n_columns)
    weights: sparse.csc_array
    # (n_columns,)
    intercepts: Float

    @staticmethod
    def of(model: BaseModel) -> LinearPart | None:
        """The weights that are added to what trees add, or to nothing; None if there are none, or a function of them is."""
        found = model._linear_part()
        if found is None or found[1] != "scores":
            return None
        engine = found[0]
        # From log-odds to scores of the engine, and on to the result of `decision_function`.
        unit = (1.0 if engine.link == "softmax" else 0.5) * model._unit()
        weights = csr_of(engine.weights(), (engine.n_features, engine.width))
        return LinearPart(engine, sparse.csc_array(weights * unit), engine.intercepts() * unit)

    def means(self, background: Matrix) -> Float:
        """The mean of each feature over the background."""
        prepared = self.prepared(background, "background")
        found: Float = np.asarray(prepared.sum(axis=0)).ravel() / prepared.shape[0]
        return found

    def base(self, means: Float, columns: list[int]) -> Float:
        """The mean score of the background, of shape (n_columns,)."""
        found: Float = self.intercepts[columns] + self.weights[:, columns].T @ means
        return found

    def added(self, values: Any, X: Matrix, means: Float, columns: list[int]) -> Any:
        """`values`, with those of the weights added: an array (n_samples, n_features, n_columns), or a list of CSR."""
        prepared = self.prepared(X, "X")
        if not is_sparse(X):
            differences = prepared.toarray() - means
            for at, column in enumerate(columns):
                values[:, :, at] += differences * self.weights[:, [column]].toarray()[:, 0]
            return values
        found = []
        for part, column in zip(values, columns, strict=True):
            weights = sparse.csr_array(self.weights[:, [column]].T)
            at_means = sparse.csr_array(weights.multiply(means))
            everywhere = sparse.kron(np.ones((prepared.shape[0], 1)), at_means, format="csr")
            found.append(sparse.csr_array(part + sparse.csr_array(prepared.multiply(weights.toarray())) - everywhere))
        return found

    def prepared(self, X: Matrix, name: str) -> sparse.csr_array:
        """X as the weights take it."""
        if has_nan(X):
            raise ValueError(f"{name} must be finite, since a weight times a missing value is unknown, got NaN")
        features = self.engine.features
        are_scaled = features in ("normalized", "tfidf")
        found = prepared(X, self.engine.idf(), are_counts=features == "tfidf", normalize=are_scaled)
        return sparse.csr_array(found.astype(np.float64))


@dataclass(frozen=True)
class Explanation:
    """What `shap_values` returns without shap, and for sparse X; its attributes are those of `shap.Explanation`."""

    values: Any
    base_values: Float
    data: Any
    feature_names: list[str] | None
    output_names: list[str] | None

    def plot(
        self,
        sample: int = 0,
        output: int = 0,
        *,
        feature_names: Sequence[str] | None = None,
        max_features: int = 10,
        ax: Any = None,
        bar_kw: dict[str, Any] | None = None,
    ) -> Any:
        """Plot the values of a sample, those of largest magnitude on top; this requires matplotlib.

        Parameters
        ----------
        sample, output : int, default=0
            The indices of the sample, and of the output if there are several.
        feature_names : sequence of str or None, default=None
            The name of each feature. None: the attribute of this name, or "feature_0" and so on.
        max_features : int, default=10
            The maximum number of features.
        ax, bar_kw : matplotlib Axes and dict, or None, default=None
            Axes to plot on, or a new figure, and keyword arguments of its method `barh`.

        Returns
        -------
        matplotlib Axes
        """
        part = self.values
        if isinstance(part, list) or part.ndim == 3:
            outputs = part if isinstance(part, list) else np.moveaxis(part, 2, 0)
            part = outputs[integer("output", output, 0, len(outputs) - 1)]
        at = integer("sample", sample, 0, part.shape[0] - 1)
        row = part[[at]].toarray()[0] if is_sparse(part) else part[at]
        names = checked_names("feature_names", feature_names, len(row), "one for each feature") or self.feature_names
        drawn = bars("Explanation.plot", row, names, ("max_features", max_features), ax, bar_kw)
        axes = drawn[0].axes
        axes.set_xlabel("contribution to the score")
        return axes


def shap_values(estimator: BaseEstimator, X: MatrixLike, outputs: object = None, *, background: object = None) -> Any:
    """Compute Shapley values: how much each feature of a sample contributes to the difference of its score to the mean.

    They are exact, and with `base_values` sum to the score of the sample, the result of `predict`, `predict_proba` or
    `decision_function`, before the link of boosted and compressed regressors. The time is O(nodes · √depth) for a
    sample and an output without a background, and else that of the leaves that mixtures of samples reach. Methods, and
    sources such as Lundberg et al. (2020), are in `docs/explanations.md`. Too little memory raises a MemoryError:
    explain fewer samples or outputs.

    >>> import weald
    >>> X = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    >>> tree = weald.DecisionTreeRegressor(random_state=0).fit(X, [0.0, 1.0, 3.0, 4.0])
    >>> weald.inspection.shap_values(tree, X[:2]).values
    array([[-1.5, -0.5],
           [-1.5,  0.5]])

    Parameters
    ----------
    estimator : fitted estimator of weald
        A tree, forest, boosting model, compressed forest or linear model, a pipeline that ends in one, or
        `TunedThresholds` or `CalibratedLabels` around one. Of boosting with an `init`, the trees alone are explained,
        except with a linear start of labels or two classes. Centroid forests and boosting with `estimator` are not
        supported.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Samples to explain, which are converted as in `predict`.
    outputs : int, str, list of them or None, default=None
        The scores to explain, by index, or by names in `target_names_in_` ("y0" and so on without names), classes as
        str, or "y0=class" of several outputs of classes. None explains all. If it is no list, the values have no axis
        for outputs.
    background : {array-like, sparse matrix} of shape (n_background, n_features) or None, default=None
        Background samples for *interventional* values: features that are left out have their values. None computes
        *path-dependent* values: left out, both sides of a split count by their training weight. Weights of features
        need a background, such as training samples, or an empty text ``scipy.sparse.csr_array((1, n_features))``.

    Returns
    -------
    shap.Explanation or Explanation
        The former if shap is installed and X is dense. `values` is a new float64 array of shape (n_samples,
        n_features), with an axis for several outputs; for sparse X a CSR array, or a list of these, see `Explanation`.
    """
    model, before = fitted(estimator)
    weights = _weights_of(model, background)
    names = _score_names(model)
    columns, is_one = _columns(outputs, names)
    X = transformed(before, X)
    checked = model._check_predict(X)
    against = None if background is None else _checked_background(model, before, background)
    with _named_memory():
        base, values = _of_trees(model, checked, against, columns)
        if weights is not None:
            means = weights.means(against)
            base = base + weights.base(means, columns)
            values = weights.added(values, checked, means, columns)
    if is_one:
        values = values[0] if is_sparse(checked) else values[:, :, 0]
    shape = (checked.shape[0],) if is_one else (checked.shape[0], len(columns))
    base_values: Float = np.broadcast_to(base[0] if is_one else base, shape)
    parts: dict[str, Any] = {
        "values": values,
        "base_values": base_values if is_sparse(checked) else base_values.copy(),
        "data": X if is_sparse(X) else np.asarray(X),
        "feature_names": names_of_features(model, before),
        "output_names": None if is_one else [names[j] for j in columns],
    }
    return _explanation(checked, parts)


def _weights_of(model: BaseModel, background: object) -> LinearPart | None:
    """The weights of features to explain; raises for models that have neither these nor trees."""
    weights = LinearPart.of(model)
    if weights is None:
        check_trees(model)
    elif background is None:
        raise ValueError(
            f"background must be samples for a {type(model).__name__} with weights of features, which does not keep their means, "
            "got None: pass training samples, or a single sample without words"
        )
    return weights


def _of_trees(model: BaseModel, checked: Matrix, against: Matrix | None, columns: list[int]) -> tuple[Float, Any]:
    """The base values and values of the trees: an array for dense X, otherwise a list of CSR."""
    if not model._has_trees:
        shape = checked.shape
        none = [sparse.csr_array(shape) for _ in columns] if is_sparse(checked) else np.zeros((*shape, len(columns)))
        return np.zeros(len(columns)), none
    engine, n_threads = model._explained, model._n_threads()
    unit, threshold = _unit_and_threshold(model)
    base = (_weald.shap_base_values(engine, against, columns, n_threads) - threshold) * unit
    if not is_sparse(checked):
        values = _weald.shap_values(engine, checked, against, columns, n_threads)
        values *= unit
        return base, values
    found = _weald.shap_values_sparse(engine, checked, against, columns, n_threads)
    parts = [csr_of(arrays, checked.shape) for arrays in found]
    for part in parts:
        part.data *= unit
    return base, parts


def _explanation(checked: Matrix, parts: dict[str, Any]) -> Prediction:
    """The result as a `shap.Explanation` if shap is installed and X is dense: shap does not support sparse values."""
    if not is_sparse(checked):
        try:
            from shap import Explanation as OfShap
        except ImportError:
            pass
        else:
            return OfShap(parts.pop("values"), **parts)
    return Explanation(**parts)


def shap_interaction_values(
    estimator: BaseEstimator, X: MatrixLike, output: object = None, *, background: object = None
) -> Float:
    """Compute Shapley interaction values of one score: the joint effect of pairs of features, beyond their own effects.

    The time is O(leaves · depth² · √depth) for each sample; with a background, it grows with the squared number of
    features in which samples differ. Sources are in `docs/explanations.md`. Errors are those of `shap_values`.

    >>> import weald
    >>> X = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    >>> tree = weald.DecisionTreeRegressor(random_state=0).fit(X, [0.0, 0.0, 0.0, 1.0])
    >>> weald.inspection.shap_interaction_values(tree, X[3:]).round(3)
    array([[[0.25 , 0.125],
            [0.125, 0.25 ]]])

    Parameters
    ----------
    estimator : fitted estimator of weald
        A model that `shap_values` supports.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Samples to explain.
    output : int, str or None, default=None
        The score to explain, as in `outputs` of `shap_values`. It may be None if the model has a single score.
    background : {array-like, sparse matrix} of shape (n_background, n_features) or None, default=None
        Background samples, as in `shap_values`. None computes path-dependent values.

    Returns
    -------
    float64 ndarray of shape (n_samples, n_features, n_features)
        A new symmetric array, in which each of the two entries for a pair has half of their interaction. The diagonal
        has the rest of the effect of each feature, so that each row sums to the value of `shap_values`.
    """
    model, before = fitted(estimator)
    weights = _weights_of(model, background)
    names = _score_names(model)
    if output is None and len(names) > 1:
        raise ValueError(f"output must be one of the {len(names)} scores of the model, got None")
    columns, is_one = _columns(output, names, "output")
    if not is_one:
        raise TypeError(f"output must be an integer or a name, got {output!r}")
    checked = model._check_predict(transformed(before, X))
    against = None if background is None else _checked_background(model, before, background)
    found: Float
    with _named_memory():
        if model._has_trees:
            found = _weald.shap_interaction_values(model._explained, checked, columns[0], against, model._n_threads())
            found *= _unit_and_threshold(model)[0]
        else:
            found = np.zeros((*checked.shape, checked.shape[1]))
        if weights is not None:
            # Weights of features have no joint effects.
            dense = checked.toarray() if is_sparse(checked) else checked
            alone = weights.added(np.zeros((*dense.shape, 1)), dense, weights.means(against), columns)
            found += np.eye(dense.shape[1]) * alone
    return found


def _unit_and_threshold(model: BaseModel) -> tuple[float, float]:
    """The factor from scores of the engine to `decision_function`, and the score that becomes zero there."""
    is_frequency = isinstance(model._engine, _weald.Forest)
    return model._unit(), 0.0 if is_frequency else float(getattr(model, "_threshold", 0.0))


def _score_names(model: BaseModel) -> list[str]:
    """A name for each column of scores."""
    outputs = frames.output_names(model)
    levels = model._loss._levels if isinstance(model, BoostedModel) else ()
    if len(levels) > 1:
        return [f"{output}={level:g}" for output in outputs for level in levels]
    if not is_classifier(model) or model._label_format is not None:
        return outputs
    if model.n_outputs_ > 1:
        pairs = zip(outputs, model.classes_, strict=True)
        return [f"{output}={name}" for output, classes in pairs for name in classes]
    classes = [str(name) for name in model.classes_]
    width = model._explained.width if model._has_trees else model._engine.width
    return classes[-1:] if width == 1 else classes


def _columns(outputs: Any, names: Sequence[str], what: str = "outputs") -> tuple[list[int], bool]:
    """The requested columns of scores, and whether the result is a single one without an axis for outputs."""
    if outputs is None:
        return list(range(len(names))), len(names) == 1
    place = {name: j for j, name in enumerate(names)}
    last = f", such as {names[0]!r}" if names else ""
    accepted = f"columns of scores, each an integer from 0 to {len(names) - 1} or a name{last}"

    def column(of: object) -> int:
        if isinstance(of, str) and of in place:
            return place[of]
        if not is_integer(of) or not 0 <= int(of) < len(names):
            raise ValueError(f"{what} must be {accepted}, got {of!r}")
        return int(of)

    if isinstance(outputs, str | Integral):
        return [column(outputs)], True
    try:
        listed = list(outputs)
    except TypeError as error:
        raise TypeError(f"{what} must be {accepted}, or a list of them, got {outputs!r}") from error
    columns = [column(of) for of in listed]
    if len(set(columns)) < len(columns):
        twice = next(of for at, of in enumerate(listed) if columns[at] in columns[:at])
        raise ValueError(f"{what} must be distinct {accepted}, got {twice!r} twice")
    return columns, False


def _checked_background(model: BaseModel, before: list[Any], background: Matrix) -> Matrix:
    """Background samples, validated as X; errors name the argument."""
    with checks.renamed(X="background"):
        checked: Matrix = model._check_predict(transformed(before, background))
    return checked


@contextmanager
def _named_memory() -> Iterator[None]:
    try:
        yield
    except MemoryError as error:
        raise MemoryError(
            f"{error}; explain fewer samples at a time, or only some outputs, with outputs=[...]"
        ) from error
