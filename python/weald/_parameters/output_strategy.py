"""The parameter `output_strategy` of forests: trees of all outputs, or trees of each output alone."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any

from weald._input.targets import Target, label_classes
from weald._parameters import label_weight, output_scaling

if TYPE_CHECKING:
    from weald import _weald
    from weald._fit.forest import BaseForest
    from weald._fit.tree import BaseTree

ASKED = "output_strategy='single_target'"


def is_asked(forest: Any) -> bool:
    """Whether each output of a forest is to have trees of its own. False for models without the parameter."""
    return getattr(forest, "output_strategy", "joint") == "single_target"


def separates(forest: BaseForest, target: Target) -> bool:
    """Whether each output gets trees of its own: there is nothing to separate for one output."""
    return is_asked(forest) and target.n_outputs > 1


def check_parameters(forest: BaseForest) -> None:
    """Raise for parameters that trees of one output do not support."""
    if not is_asked(forest):
        return
    if forest.output_projection is not None:
        raise ValueError(f"output_projection must be None with {ASKED}, whose trees have one output each")
    if forest.keep_rows:
        raise ValueError(f"keep_rows must be False with {ASKED}, since each output is known for samples of its own")
    if (given := getattr(forest, "class_weight", None)) is not None:
        raise ValueError(f"class_weight must be None with {ASKED}, got {given!r}")
    if label_weight.is_given(forest):
        raise ValueError(f"label_weight must be None with {ASKED}, whose trees have one label each")
    if output_scaling.are_given(forest):
        raise ValueError(
            f"output_scaling and output_weights must be None with {ASKED}, whose trees have one output each"
        )


def check_samples(forest: BaseForest, target: Target) -> None:
    """Raise if y cannot be divided into outputs."""
    if not separates(forest, target):
        return
    if target.kind == "classes":
        raise ValueError(
            f"{ASKED} does not support y with several outputs of classes: y must be labels, numbers or one output, or "
            "output_strategy 'joint'"
        )
    if target.mask is None:
        return
    for name in ("min_samples_split", "min_samples_leaf"):
        value = getattr(forest, name)
        if not isinstance(value, Integral):
            raise ValueError(
                f"{name} must be an integer with {ASKED} and y with masked entries, since outputs have different "
                f"numbers of samples, got {value!r}"
            )


def check_grown_with(grown: _weald.Forest, forest: BaseForest, target: Target) -> None:
    """Raise if trees of one output would be added to trees of all outputs, or the other way round."""
    if grown.by_output != separates(forest, target):
        before = "single_target" if grown.by_output else "joint"
        raise ValueError(
            f"output_strategy must be {before!r}, as in the previous fit, to go on with it, got {forest.output_strategy!r}"
        )


def describe_member(member: BaseTree, output: int) -> None:
    """Give a tree, which has the attributes of the forest, those of its output alone."""
    if "target_names_in_" in member.__dict__:
        member.target_names_in_ = member.target_names_in_[output : output + 1]
    if "classes_" in member.__dict__:
        member.classes_, member.n_classes_ = label_classes(1), 1
