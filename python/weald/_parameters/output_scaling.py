"""The parameters `output_scaling` and `output_weights`: the units of numerical outputs in the search for splits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from weald._input.checks import floats
from weald._input.sklearn_private import StrOptions

if TYPE_CHECKING:
    from weald._fit.base import BaseModel

# The constraints for scikit-learn's validation of parameters.
CONSTRAINTS: dict[str, list[Any]] = {
    "output_scaling": [StrOptions({"variance"}), "array-like", None],
    "output_weights": ["array-like", None],
}


class OutputFactors(TypedDict):
    """Both parameters in the engine's form."""

    output_scaling: str | list[float] | None
    output_weights: list[float] | None


def are_given(model: BaseModel) -> bool:
    """Whether outputs are scaled or weighted. False for classifiers."""
    return any(getattr(model, name, None) is not None for name in CONSTRAINTS)


def to_engine(model: BaseModel, criterion: str) -> OutputFactors:
    """The parameters of a regressor in the engine's form, None for other models. The engine checks the values."""
    scaling, weights = (getattr(model, name, None) for name in CONSTRAINTS)
    given = [name for name, value in zip(CONSTRAINTS, (scaling, weights), strict=True) if value is not None]
    if given and criterion != "squared_error":
        raise ValueError(
            f"criterion must be 'squared_error' with {given[0]}, which scales variances, got {criterion!r}"
        )
    return {
        "output_scaling": scaling if isinstance(scaling, str) else numbers("output_scaling", scaling),
        "output_weights": numbers("output_weights", weights),
    }


def numbers(name: str, values: object) -> list[float] | None:
    """A list of one number for each output; None if there are none."""
    if values is None:
        return None
    array = floats(values, name, "a list of numbers")
    if array.ndim != 1:
        raise ValueError(f"{name} must have shape (n_outputs,), one value for each output, got {array.shape}")
    return [float(value) for value in array]
