"""Centroid forests in C."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from weald.export._centroids import Centroids

Array = Callable[[str, Iterable[str]], Iterator[str]]

HEAD = """\
/* {estimator} of weald, {n_trees} trees of centroids: written by weald.export.to_c.

   Rows are float32; products are sums of floats in the order of the features, and scores are sums of doubles in
   the order of the trees. Do not compile with -ffast-math. */

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>

"""

_PRODUCTS = """\
/* Not fused with additions, which would round another time. */
static double {name}_product(double a, double b)
{{
    volatile double product = a * b;
    return product;
}}

static float {name}_single_product(float a, float b)
{{
    volatile float product = a * b;
    return product;
}}

"""

_VALUE = """\
/* A feature as centroids take it; `length` is that of the sample. */
static float {name}_value(const float *x, uint32_t j, double length)
{{
    double value = {weighted};
    float single = (float)(value > FLT_MAX ? FLT_MAX : value < -FLT_MAX ? -FLT_MAX : value);
    {result}
}}

/* The product of a sample and the centroid of a node. */
static float {name}_similarity(const float *x, double length, uint32_t node)
{{
    float total = 0.0f;
    uint32_t c;
    for (c = {name}_centroid_ends[node]; c < {name}_centroid_ends[node + 1]; c++) {{
        uint32_t j = {name}_centroid_features[c];
        if (x[j] != 0.0f)
            total += {name}_single_product({name}_value(x, j, length), {name}_centroid_weights[c]);
    }}
    return total;
}}

"""

_EXP = """\
/* exp(x) for x up to 0, with the bits of weald. */
static double {name}_exp(double x)
{{
    static const double c[13] = {{
        {coefficients}
    }};
    double shifted, n, r, r2, r4, low, high;
    x = x > -700.0 ? x : -700.0;
    shifted = {name}_product(x, {log2_e}) + {round};
    n = shifted - {round};
    r = x - {name}_product(n, {ln_2});
    r = r - {name}_product(n, {ln_2_rest});
    r2 = r * r;
    r4 = r2 * r2;
    low = c[4] + {name}_product(c[5], r);
    low = (c[2] + {name}_product(c[3], r)) + {name}_product(low, r2);
    high = (c[10] + {name}_product(c[11], r)) + {name}_product(c[12], r2);
    high = ((c[6] + {name}_product(c[7], r)) + {name}_product(c[8] + {name}_product(c[9], r), r2))
         + {name}_product(high, r4);
    low = low + {name}_product(high, r4);
    return ldexp(1.0 + (r + {name}_product(r2, low)), (int)n);
}}

"""

_ADD = """\
/* Add the values of a leaf{and_parent}. */
static void {name}_add(double *scores, uint32_t leaf, double share)
{{
    uint32_t c;
    double own = {own};
    for (c = {name}_leaf_ends[leaf]; c < {name}_leaf_ends[leaf + 1]; c++)
        scores[{name}_leaf_scores[c]] += {name}_product(own, {name}_leaf_values[c]);
{parents}}}

"""

_PARENTS = """\
    own = share * (1.0 - {name}_own[leaf]);
    leaf = {name}_parent_of[leaf];
    for (c = {name}_parent_ends[leaf]; c < {name}_parent_ends[leaf + 1]; c++)
        scores[{name}_parent_scores[c]] += {name}_product(own, {name}_parent_values[c]);
"""

_SCORES = """\
void {name}_scores(const float *x, double *scores)
{{
    uint32_t t, c, at, n, n_next;
    /* The nodes of a level that a sample reaches, and its share of each. */
    uint32_t nodes[{most}], next[{most}];
    float shares[{most}], next_shares[{most}];
    double length = 0.0;
{length}    for (c = 0; c < {n_scores}u; c++)
        scores[c] = 0.0;
    for (t = 0; t < {n_trees}u; t++) {{
        nodes[0] = {name}_roots[t];
        shares[0] = 1.0f;
        for (n = 1; n > 0; n = n_next) {{
            n_next = 0;
            for (at = 0; at < n; at++) {{
                uint32_t child = {name}_first_child[nodes[at]], end = {name}_end_child[nodes[at]];
                uint32_t first = child, second = child;
                float best = -INFINITY, next_best = -INFINITY, part = 0.0f;
                if (end == 0) {{
                    {name}_add(scores, child, shares[at]);
                    continue;
                }}
                for (; child < end; child++) {{
                    float similarity = {name}_similarity(x, length, child);
                    if (similarity > best) {{
                        next_best = best;
                        second = first;
                        best = similarity;
                        first = child;
                    }} else if (similarity > next_best) {{
                        next_best = similarity;
                        second = child;
                    }}
                }}
{part}                if (part > 0.0f && second < first) {{
                    next[n_next] = second;
                    next_shares[n_next++] = part;
                }}
                next[n_next] = first;
                next_shares[n_next++] = shares[at] - part;
                if (part > 0.0f && second > first) {{
                    next[n_next] = second;
                    next_shares[n_next++] = part;
                }}
            }}
            for (at = 0; at < n_next; at++) {{
                nodes[at] = next[at];
                shares[at] = next_shares[at];
            }}
        }}
    }}
    for (c = 0; c < {n_scores}u; c++) {{
        scores[c] /= {divisor!r};
{limit}    }}
}}

"""

_PART = """\
                if (best - next_best > 0.0f) {{
                    double odds = {name}_exp(-{name}_product({sharpness}, (double)(best - next_best)));
                    part = {name}_single_product(shares[at], (float)(odds / (1.0 + odds)));
                    part = part < {least}f ? 0.0f : part;
                }}
"""

_LENGTH = """\
    for (c = 0; c < {n_features}u; c++) {{
        double value = {weighted};
        length += {name}_product(value, value);
    }}
    length = sqrt(length);
"""
ROUND, LN_2 = 1.5 * 2.0**52, (6.931471803691238e-1, 1.9082149292705877e-10)


def exp_coefficients() -> list[float]:
    """1/k!, each from the previous one."""
    found = [1.0]
    for k in range(1, 13):
        found.append(found[-1] / k)
    return found


def parts(model: Centroids, name: str, array: Array, most_items: int) -> Iterator[str]:
    """The tables, and the function that computes scores."""
    tables = _Tables(model)
    if max(map(len, tables.arrays.values())) > most_items:
        raise ValueError(f"to_c does not support models of more than {most_items} nodes, weights or values in leaves")
    rules, has_parents = model.rules, bool(tables.arrays["double", "own"])
    for (kind, what), values in tables.arrays.items():
        if has_parents or not what.startswith(("own", "parent")):
            yield from array(f"{kind} {name}_{what}", (_WRITTEN[kind](value) for value in values))
    if model.rules.idf is not None:
        yield from array(f"float {name}_idf", map(_WRITTEN["float"], model.rules.idf.tolist()))
    yield "\n" + _PRODUCTS.format(name=name)
    weighted = f"x[{{j}}] * (double){name}_idf[{{j}}]" if rules.idf is not None else "x[{j}]"
    result = "return single;"
    if rules.normalize:
        # Of the length one, in multiples of 2^-24.
        result = "return (float)rint((double)single / length * 16777216.0) / 16777216.0f;"
    else:
        result = f"(void)length;\n    {result}"
    yield _VALUE.format(name=name, weighted=weighted.format(j="j"), result=result)
    part, most = "", 1
    if rules.sharpness > 0:
        coefficients = ", ".join(map(float.hex, exp_coefficients()))
        constants = {"log2_e": math.log2(math.e).hex(), "round": float.hex(ROUND)}
        ln_2, rest = map(float.hex, LN_2)
        yield _EXP.format(name=name, coefficients=coefficients, ln_2=ln_2, ln_2_rest=rest, **constants)
        part = _PART.format(name=name, sharpness=float.hex(rules.sharpness), least=float.hex(rules.least))
        # All shares are at least this one.
        most = int(1 / rules.least) + 2 if rules.least > 0 else tables.largest_level
    yield _ADD.format(
        name=name,
        and_parent=" and of its parent" if has_parents else "",
        own=f"share * {name}_own[leaf]" if has_parents else "share",
        parents=_PARENTS.format(name=name) if has_parents else "",
    )
    length = _LENGTH.format(name=name, n_features=model.n_features, weighted=weighted.format(j="c"))
    yield _SCORES.format(
        name=name,
        most=max(most, 1),
        length=length if rules.normalize else "",
        part=part,
        n_scores=model.n_scores,
        n_trees=model.n_trees,
        divisor=model.divisor,
        limit="" if model.kind == "numbers" else "        scores[c] = scores[c] < 1.0 ? scores[c] : 1.0;\n",
    )


# How numbers of each type are written.
_WRITTEN: dict[str, Callable[[Any], str]] = {
    "uint32_t": str,
    "float": lambda value: f"{float.hex(value)}f",
    "double": float.hex,
}


class _Tables:
    """The trees, concatenated, in the form of the tables of the file."""

    def __init__(self, model: Centroids) -> None:
        ints = ("roots", "first_child", "end_child", "centroid_ends", "centroid_features", "leaf_ends", "leaf_scores")
        self.arrays: dict[tuple[str, str], list[Any]] = {("uint32_t", what): [] for what in ints}
        for key in (("float", "centroid_weights"), ("double", "leaf_values"), ("double", "own")):
            self.arrays[key] = []
        for key in (("uint32_t", "parent_of"), ("uint32_t", "parent_ends"), ("uint32_t", "parent_scores")):
            self.arrays[key] = []
        self.arrays["double", "parent_values"] = []
        self.largest_level = 1
        has_parents = model.rules.leaf_shrinkage > 0
        self._ints("centroid_ends", [0])
        self._ints("leaf_ends", [0])
        if has_parents:
            # The first row is that of leaves without a parent.
            self._ints("parent_ends", [0, 0])
        for tree in model.trees():
            first, n_nodes = len(self.arrays["uint32_t", "first_child"]), len(tree.starts) - 1
            is_leaf = tree.starts[1:] == tree.starts[:-1]
            n_leaves = len(self.arrays["uint32_t", "leaf_ends"]) - 1
            leaf_of = n_leaves + np.cumsum(is_leaf) - 1
            self._ints("roots", [first])
            self._ints("first_child", np.where(is_leaf, leaf_of, first + tree.starts[:-1]).tolist())
            self._ints("end_child", np.where(is_leaf, 0, first + tree.starts[1:]).tolist())
            at = len(self.arrays["uint32_t", "centroid_features"])
            self._ints("centroid_ends", (at + tree.ptr[1:]).tolist())
            self._ints("centroid_features", tree.features.tolist())
            self.arrays["float", "centroid_weights"] += tree.weights.tolist()
            self._table("leaf", tree.leaves)
            self.largest_level = max(self.largest_level, n_nodes)
            if has_parents:
                n_rows = len(self.arrays["uint32_t", "parent_ends"]) - 1
                own = tree.own if tree.parents is not None else np.ones(1)
                self.arrays["double", "own"] += own.tolist()
                self._ints("parent_of", (n_rows + tree.parent_of).tolist() if tree.parents is not None else [0])
                if tree.parents is not None:
                    self._table("parent", tree.parents)

    def _ints(self, what: str, values: list[int]) -> None:
        self.arrays["uint32_t", what] += values

    def _table(self, what: str, table: Any) -> None:
        at = len(self.arrays["double", f"{what}_values"])
        self._ints(f"{what}_ends", (at + table.ptr[1:]).tolist())
        self._ints(f"{what}_scores", table.columns.tolist())
        self.arrays["double", f"{what}_values"] += table.values.tolist()
