"""Shapley values of fitted models: what they explain, in whose names, and in which form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from spinney import _frames, _spinney
from spinney._boosting_fit import BaseBoosting
from spinney._readable import check_trees, fitted
from spinney._sparse import csr_of, is_sparse
from spinney._validation import Float, Matrix
from spinney.compression import BaseCompressed

__all__ = ["Explanation", "shap_interaction_values", "shap_values"]


@dataclass(frozen=True)
class Explanation:
    """Shapley values with what they belong to; the attributes are those of `shap.Explanation`.

    Attributes
    ----------
    values : ndarray of shape (n_samples, n_features) or (n_samples, n_features, n_outputs)
        Of sparse X a CSR array of shape (n_samples, n_features), or a list of these, one for each output.
    base_values : float64 ndarray of shape (n_samples,) or (n_samples, n_outputs)
        What the values of a row are added to. All rows are equal, and share their memory where X is sparse.
    data : ndarray of shape (n_samples, n_features) or sparse matrix
        X as it was given.
    feature_names : list of str or None
        `feature_names_in_` of the model.
    output_names : list of str or None
        A name for each output, where `values` has several.
    """

    values: Any
    base_values: Float
    data: Any
    feature_names: list[str] | None
    output_names: list[str] | None


def shap_values(model: Any, X: Any, outputs: Any = None, *, background: Any = None) -> Any:
    """Shapley values of scores: by how much each feature of a row moves its score away from the mean.

    Exact, at any depth of the trees. The values of a row and `base_values` add up to its score, which is what `predict`
    says of trees and forests for numbers, `predict_proba` of those for classes and labels, `decision_function` of
    boosted and compressed classifiers, and `predict` of boosted and compressed regressors before the link: of boosting
    with the losses "poisson", "gamma" and "tweedie" the logarithm of the prediction.

    Parameters
    ----------
    model : a fitted estimator of spinney
        Any but centroid forests, whose nodes test no single feature, and boosting with `estimator`, whose weak models
        are no trees. Of boosting with `init`, the values are those of the trees alone.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows to explain; used and converted as in `predict`. Missing values and categories go where they go in
        predictions.
    outputs : int, str, or list of them, default=None
        Scores to explain, by position or name: of numbers and labels columns of y, with their names in
        `target_names_in_` or "y0" and so on; of one output of classes their positions in `classes_` or the classes as
        str (of two classes boosting has one score, that of the second); of several outputs of classes "y0=class" and so
        on. One that is no list gives values without an axis for outputs. None explains all.
    background : {array-like, sparse matrix} of shape (n_background, n_features), default=None
        Rows to explain against (*interventional* values): a feature left out has the values of these rows, on average.
        By default a split on a feature left out sends a row to both sides, in the proportion of their training weight
        (*path-dependent* values).

    Returns
    -------
    shap.Explanation or Explanation
        The first where shap is installed and X is dense, so that its plots can be drawn of it; both have the attributes
        `values`, `base_values`, `data`, `feature_names` and `output_names`, see `Explanation`. `values` is a new
        float64 array of shape (n_samples, n_features), of several outputs (n_samples, n_features, n_outputs). Of sparse
        X it is a CSR array of shape (n_samples, n_features), of several outputs a list of these: only features that a
        path of a tree tests have values.

    Raises
    ------
    ValueError
        For rows of other features, of the background as well, an output that there is not, an output twice, a
        background without rows, and boosting with `estimator`.
    TypeError
        For any other model, centroid forests included.
    MemoryError
        When the values cannot be had in memory: explain fewer rows or outputs at a time.

    Notes
    -----
    A numerical integral along each path, with as many nodes as make it exact, or more exact than float64: O(nodes ·
    √depth) for a row and one output. Of more than four outputs at a time the weights of leaves are computed once for
    all of them: O(leaves · depth · (√depth + stored values of the leaf)), so that sparse leaves of labels cost little.
    With a background, a block of samples and the whole background go down each tree together. The cost is that of the
    leaves that are reached by mixtures of a sample and one of the background, for each pair of these; for leaves with
    up to ten features on their paths it is at most a number of steps for each sample that does not depend on the size
    of the background. The values do not depend on the layout of X or on the number of threads; those of an output
    explained alone and of one explained among many may differ in the last digits.

    Sources: S. Lundberg et al., *From local explanations to global understanding with explainable AI for trees*, Nature
    Machine Intelligence 2020, for the two games; P. Yu et al., *Linear TreeShap*, NeurIPS 2022, for sums over subtrees;
    G. Owen, *Multilinear extensions of games*, 1972, for the integral; A. Zern et al., AAAI 2023, and A. Nadel and R.
    Wettenstein, 2025, for counts of the background that are shared by all samples.

    Examples
    --------
    >>> import numpy as np
    >>> import spinney
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> tree = spinney.DecisionTreeRegressor(random_state=0).fit(X, 3 * X[:, 0] + X[:, 1])
    >>> found = spinney.inspection.shap_values(tree, X)
    >>> found.values
    array([[-1.5, -0.5],
           [-1.5,  0.5],
           [ 1.5, -0.5],
           [ 1.5,  0.5]])
    >>> bool(np.allclose(found.base_values + found.values.sum(axis=1), tree.predict(X)))
    True
    """
    model = fitted(model)
    check_trees(model)
    names = _score_names(model)
    columns, is_one = _columns(outputs, names)
    checked = model._check_predict(X)
    against = None if background is None else _checked_background(model, background)
    engine, n_threads = _engine(model), model._n_threads()
    unit, threshold = _unit_and_threshold(model)
    with _named_memory():
        base = _spinney.shap_base_values(engine, against, columns, n_threads)
        base = (base - threshold) * unit
        values: Any
        if is_sparse(checked):
            found = _spinney.shap_values_sparse(engine, checked, against, columns, n_threads)
            values = [csr_of(arrays, checked.shape) for arrays in found]
            for part in values:
                part.data *= unit
            values = values[0] if is_one else values
        else:
            values = _spinney.shap_values(engine, checked, against, columns, n_threads)
            values *= unit
            values = values[:, :, 0] if is_one else values
    shape = (checked.shape[0],) if is_one else (checked.shape[0], len(columns))
    base_values: Float = np.broadcast_to(base[0] if is_one else base, shape)
    parts: dict[str, Any] = {
        "values": values,
        "base_values": base_values if is_sparse(checked) else base_values.copy(),
        "data": X if is_sparse(X) else np.asarray(X),
        "feature_names": getattr(model, "feature_names_in_", np.array([])).tolist() or None,
        "output_names": None if is_one else [names[j] for j in columns],
    }
    return _explanation(checked, parts)


def _explanation(checked: Matrix, parts: dict[str, Any]) -> Any:
    """Of shap's type where it is installed; it has no sparse values."""
    if not is_sparse(checked):
        try:
            from shap import Explanation as OfShap
        except ImportError:
            pass
        else:
            return OfShap(parts.pop("values"), **parts)
    return Explanation(**parts)


def shap_interaction_values(model: Any, X: Any, output: Any = None, *, background: Any = None) -> Float:
    """Shapley interaction values of one score: what pairs of features do together, beyond what each does alone.

    Parameters
    ----------
    model : a fitted estimator of spinney
        As of `shap_values`.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Samples to explain.
    output : int or str, default=None
        The score to explain, as one of `outputs` of `shap_values`. None where the model has one.
    background : {array-like, sparse matrix} of shape (n_background, n_features), default=None
        Samples to explain against, as in `shap_values`. None: the path-dependent values.

    Returns
    -------
    float64 ndarray of shape (n_samples, n_features, n_features)
        A new array, dense for any X. Symmetric: the interaction of two features is shared by both places. What is left
        of the value of a feature is on the diagonal, so that each row of the matrix of a sample sums to the value that
        `shap_values` has for the feature with the same background.

    Raises
    ------
    ValueError, TypeError, MemoryError
        As of `shap_values`; ValueError also for `output=None` of several scores.

    Notes
    -----
    O(leaves · depth² · √depth) for a sample. With a background, the square of the number of features in which a sample
    and one of the background differ, for each leaf that mixtures of the two reach. Source: S. Lundberg et al., Nature
    Machine Intelligence 2020, after K. Fujimoto, I. Kojadinovic and J.-L. Marichal, *Axiomatic characterizations of
    probabilistic and cardinal-probabilistic interaction indices*, 2006.

    Examples
    --------
    >>> import numpy as np
    >>> import spinney
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> tree = spinney.DecisionTreeRegressor(random_state=0).fit(X, X[:, 0] * X[:, 1])
    >>> spinney.inspection.shap_interaction_values(tree, X[3:]).round(3)
    array([[[0.25 , 0.125],
            [0.125, 0.25 ]]])
    """
    model = fitted(model)
    check_trees(model)
    names = _score_names(model)
    if output is None and len(names) > 1:
        raise ValueError(f"output must be one of the {len(names)} scores of the model, got None")
    columns, is_one = _columns(output, names, "output")
    if not is_one:
        raise TypeError(f"output must be an integer or a name, got {output!r}")
    checked = model._check_predict(X)
    against = None if background is None else _checked_background(model, background)
    with _named_memory():
        found = _spinney.shap_interaction_values(_engine(model), checked, columns[0], against, model._n_threads())
    found *= _unit_and_threshold(model)[0]
    return found


def _engine(model: Any) -> _spinney.Forest | _spinney.Boosted:
    """The engine's model; the trees of a compressed forest hold scores."""
    engine: _spinney.Forest | _spinney.Boosted = model._model if isinstance(model, BaseBoosting) else model._forest
    return engine


def _unit_and_threshold(model: Any) -> tuple[float, float]:
    """What a score of the engine is in `decision_function`, of classifiers that have scores."""
    if not is_classifier(model) or not isinstance(model, BaseBoosting | BaseCompressed):
        return 1.0, 0.0
    unit = model._unit() if isinstance(model, BaseBoosting) else 1.0
    return unit, float(model._threshold)


def _score_names(model: Any) -> list[str]:
    """A name for each column of scores."""
    outputs = _frames.output_names(model)
    if not is_classifier(model) or model._label_format is not None:
        return outputs
    if model.n_outputs_ > 1:
        pairs = zip(outputs, model.classes_, strict=True)
        return [f"{output}={name}" for output, classes in pairs for name in classes]
    classes = [str(name) for name in model.classes_]
    width = _engine(model).width
    return classes[-1:] if width == 1 else classes


def _columns(outputs: Any, names: Sequence[str], what: str = "outputs") -> tuple[list[int], bool]:
    """The columns of scores that are asked for, and whether they are one that was not in a list."""
    if outputs is None:
        return list(range(len(names))), len(names) == 1
    place = {name: j for j, name in enumerate(names)}
    last = f", such as {names[0]!r}" if names else ""
    accepted = f"columns of scores, each an integer from 0 to {len(names) - 1} or a name{last}"

    def column(of: Any) -> int:
        if isinstance(of, str) and of in place:
            return place[of]
        if isinstance(of, bool | np.bool_ | str) or not isinstance(of, Integral) or not 0 <= int(of) < len(names):
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


def _checked_background(model: Any, background: Any) -> Matrix:
    """Background samples, validated as X; errors name the argument."""
    try:
        checked: Matrix = model._check_predict(background)
    except (ValueError, TypeError) as error:
        kind = ValueError if isinstance(error, ValueError) else TypeError
        raise kind(f"background must be valid samples, as X: {error}") from error
    return checked


@contextmanager
def _named_memory() -> Iterator[None]:
    try:
        yield
    except MemoryError as error:
        raise MemoryError(
            f"{error}; explain fewer samples at a time, or only some outputs, with outputs=[...]"
        ) from error
