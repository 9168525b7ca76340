"""Label trees in JSON, and prediction by the result."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald import _weald
from weald._input.checks import Float, Matrix
from weald._input.described import described
from weald._input.sparse import csr_of, has_nan
from weald.export._ensemble import Head
from weald.export._json_centroids import Reading
from weald.export._label_trees import LabelTree, LabelTrees

# Keys of a tree, the attributes that they hold, and the numbers below which they are; None for float32 numbers.
_KEYS = {
    "is_leaf": ("is_leaf", 2),
    "column_ptr": ("column_ptr", 2**32),
    "targets": ("targets", 2**32),
    "intercepts": ("intercepts", None),
    "feature_ptr": ("feature_ptr", 2**32),
    "features": ("features", 2**32),
    "weight_ptr": ("weight_ptr", 2**32),
    "weight_columns": ("columns", 2**16),
    "weights": ("values", None),
}


def rules_to_json(model: LabelTrees) -> dict[str, Any]:
    return {
        "features": model.features,
        "idf": None if model.idf is None else model.idf.tolist(),
        "beam_width": model.beam_width,
    }


def tree_to_json(tree: LabelTree) -> dict[str, Any]:
    arrays = {key: getattr(tree, name) for key, (name, _) in _KEYS.items()}
    return {key: (values.astype(int) if values.dtype == bool else values).tolist() for key, values in arrays.items()}


def read(content: Any, trees: list[Any], head: Head, reading: Reading) -> LabelTreePredictor:
    """The model of a text, whose arrays the engine checks."""
    need = reading.need
    need(isinstance(content, dict), f'"label_trees" must be an object, got {described(content)}')
    is_plain = head.link == "identity" and len(head.start) == 0 and head.divisor == head.n_trees > 0
    need(is_plain, '"link" must be "identity", "start" empty and "divisor" the number of trees with "label_trees"')
    features, beam_width = content.get("features"), content.get("beam_width")
    accepted = ("given", "normalized", "tfidf")
    need(
        isinstance(features, str) and features in accepted,
        f'"features" must be "given", "normalized" or "tfidf", got {described(features)}',
    )
    need(
        type(beam_width) is int and 0 < beam_width < 2**32,
        f'"beam_width" must be an integer from 1 to 2**32 - 1, got {described(beam_width)}',
    )
    idf = None if content.get("idf") is None else reading.singles(content, "idf")
    arrays = [_read_tree(tree, f"tree {t}", reading) for t, tree in enumerate(trees)]
    of_y = (head.n_features, head.kind, head.n_outputs, head.n_classes)
    return LabelTreePredictor(_weald.LabelTreeModel.of_arrays(*of_y, features, idf, beam_width, arrays))


def _read_tree(content: Any, where: str, reading: Reading) -> tuple[list[Any], ...]:
    reading.need(isinstance(content, dict), f"{where} must be an object, got {described(content)}")
    found: list[NDArray[Any]] = []
    for key, (_, below) in _KEYS.items():
        if below is None:
            found.append(reading.singles(content, key))
            continue
        numbers = reading.integers(content, key, where)
        in_range = ((numbers >= 0) & (numbers < below)).all()
        reading.need(in_range, f'"{key}" of {where} must have integers from 0 to {below - 1}')
        found.append(numbers.astype(bool) if key == "is_leaf" else numbers)
    return tuple(values.tolist() for values in found)


class LabelTreePredictor:
    """Prediction by label trees of the engine."""

    def __init__(self, engine: _weald.LabelTreeModel) -> None:
        self._engine = engine

    def predict_scores(self, X: Matrix) -> Float:
        """(n_samples, n_scores): the probabilities."""
        if has_nan(X):
            raise ValueError("X must be finite, since a weight times a missing value is unknown")
        found: NDArray[np.float64] = csr_of(
            self._engine.predict_at_least(X, 0.0), (X.shape[0], self._engine.width)
        ).toarray()
        return found

    predict = predict_proba = predict_scores
