"""Plans of boosting by the engine, for numbers of samples that tests do not draw."""

from __future__ import annotations

from typing import Any

import pytest
from weald import _weald


def plan(kind: str, n_outputs: int, n_samples: int, **given: Any) -> dict[str, Any]:
    """The plan for y of a kind, of samples of which none are equal, where nothing else is given."""
    asked = {
        "kind": kind,
        "n_outputs": 1 if kind == "classes" else n_outputs,
        "n_columns": n_outputs,
        "n_features": 5,
        **dict.fromkeys(("output_strategy", "kept", "learning_rate", "n_estimators", "max_leaf_nodes", "patience")),
        **dict.fromkeys(("has_projection", "has_directions", "has_weak_models", "has_init", "is_linear_init"), False),
        "is_free": True,
    }
    return _weald.plan_of_boosting(asked | given, (n_samples, n_samples, n_samples, True, False))


def most_in_folds(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """Let folds decide for at most so many samples."""
    real = _weald.plan_of_boosting

    def planned(asked: Any, counts: Any) -> Any:
        return real({**asked, "is_free": asked["is_free"] and counts[1] <= most}, counts)

    monkeypatch.setattr(_weald, "plan_of_boosting", planned)
