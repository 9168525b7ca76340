"""Texts on arguments that methods share, each written once."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from typing import Any, TypeVar

_Method = TypeVar("_Method", bound=Callable[..., Any])


def documented(method: _Method) -> _Method:
    """The method with its docstring composed: a line `{name}` of it stands for the text of that name."""
    if method.__doc__ is not None:  # Python may run without docstrings
        method.__doc__ = re.sub(r"^( *){(\w+)}$", _indented, method.__doc__, flags=re.MULTILINE)
    return method


def _indented(found: re.Match[str]) -> str:
    return textwrap.indent(_TEXTS[found[2]].strip("\n"), found[1])


_TEXTS = {
    "y": """
y : array-like of shape (n_samples,) or (n_samples, n_outputs), or sparse matrix
    Numbers for a regressor. For a classifier classes, or labels: several columns of 0 and 1, or any sparse matrix of
    them, which is never made dense. NaN among several columns of floats is a cell that is not known, see `y_mask`.
""",
    "y_mask": """
y_mask : {array-like, sparse matrix} of the shape of y, default=None
    Cells of y that are not known, beside those that are NaN: True or 1 there. What y holds there is not looked at. The
    impurity of a node is that of the known cells; a leaf has the mean of its known cells of each output, without any
    that of the nearest node above that has some. A row without a known cell is a row of weight zero, and an output
    without one is refused. Projections and out-of-bag scores, see there, go by the known cells as well. Not with
    `criterion="poisson"`, `class_weight`, `ccp_alpha`, nor for `output_projection="pca"` of classes and labels. Costs
    the number of outputs for each sample that a search moves, where labels without a mask cost those that a sample has.
""",
    "y_mask_of_boosting": """
y_mask : {array-like, sparse matrix} of the shape of y, default=None
    Cells of y that are not known, beside those that are NaN: True or 1 there. What y holds there is not looked at.
    Their gradient and curvature are zero; constants that stages start from, steps, leaves and losses are those of the
    known cells, in rows that are held out as well. A row without a known cell is a row of weight zero, with
    "single_target" for its output alone; an output without a known cell is refused. Not with `estimator`, `init`,
    `scoring`, `class_weight`, several outputs of classes, nor `output_projection="pca"`. In `y_val` NaN tells such
    cells; `eval_sets` have none. Leaves are found one by one, so that a fit takes some times as long as without, and y
    is held as (n_samples, n_outputs) float64.
""",
    "y_mask_of_score": """
y_mask : {array-like, sparse matrix} of the shape of y, default=None
    Cells of y that are left out, beside those that are NaN: True or 1 there. Where any are, the attribute `n_cells` of
    the score is the number of the cells that it is of.
""",
}
