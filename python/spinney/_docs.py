"""Texts on parameters and attributes that classes and methods share, each written once."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

_Described = TypeVar("_Described", bound=Callable[..., Any])


def documented(described: _Described) -> _Described:
    """The method or class with its docstring composed: a line `{name}` of it stands for the text of that name."""
    return composed(described, TEXTS)


def composed(described: _Described, texts: Mapping[str, str]) -> _Described:
    """The same with other texts."""
    if described.__doc__ is not None:  # Python may run without docstrings

        def indented(found: re.Match[str]) -> str:
            return textwrap.indent(texts[found[2]].strip("\n"), found[1])

        described.__doc__ = re.sub(r"^( *){(\w+)}$", indented, described.__doc__, flags=re.MULTILINE)
    return described


TEXTS = {
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
    "categorical_features": """
categorical_features : "from_dtype", array-like or None, default="from_dtype"
    Which features are unordered categories, whose splits send a set of them left: a mask (n_features,), indices, or
    names of columns. "from_dtype" are the categorical and the text columns of frames of pandas and polars; None are
    none. Text and categories of a type are known by value, see `categories_`; columns of numbers hold codes, whole
    numbers from 0, which in sparse X are 0 where nothing is stored. At most 65,535 categories. Missing categories,
    and at prediction unknown ones, go where a split sends those that it has not seen. Of one output or two classes
    the best set is found (Fisher 1958), of several outputs the best along the direction in which their means differ
    most, or of all sets of up to 8 categories.
""",
    "categories_": """
categories_ : list of length n_features
    The categories of each feature that is one, in the order of their codes, and None for the others; there only
    where some feature is a category. `is_categorical_` is a mask of them.
""",
    "keep_rows": """
keep_rows : bool, default=False
    Keep the leaf of each training row in each tree, its weight and, for numbers, its targets: four bytes for each
    row and tree. `spinney.inspection.similar_rows` and the conditional quantiles and draws of regressors ask for
    them. Model files have them too.
""",
}
