"""Label trees in C."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

import numpy as np

from weald.export import _c_linear
from weald.export._label_trees import SHARE_OF_PATH, LabelTree, LabelTrees

Array = Callable[[str, Iterable[str]], Iterator[str]]

HEAD = """\
/* {estimator} of weald, {n_trees} trees of labels: written by weald.export.to_c.

   Rows are float32; margins are sums of doubles in the order of the features. Do not compile with -ffast-math. */

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>

"""

DECLARATION = """\
/* Writes the k labels or classes with the largest probabilities, with the largest first and of equal ones the lower, and these
   probabilities. Returns how many it has written, fewer than k if the search finds fewer: the others have the probability 0. */
uint32_t {name}_topk(const float *x, uint32_t k, uint32_t *labels, double *probabilities);

"""

# The most labels that a search may find: each takes some 40 bytes on the stack.
MOST_FOUND = 2**16

_SEARCH = """\
#define {NAME}_BEAM {beam}
#define {NAME}_MOST_COLUMNS {most_columns}
#define {NAME}_MOST_FOUND {most_found}
#define {NAME}_SLOTS {slots}

/* A node that is followed, and the logarithm of its path. */
struct {name}_node {{
    double log;
    uint32_t node;
}};

/* A label that was found, the largest logarithm of its paths, or later its score, and the sum of the paths divided by the
   largest of them. */
struct {name}_found {{
    double log, sum;
    uint32_t label;
}};

{prepared}{length}/* The margins of the columns of a node. */
static void {name}_margins(const float *x, double length, uint32_t node, double *margins)
{{
    uint32_t c, f, w, first = {name}_column_ends[node];
    for (c = first; c < {name}_column_ends[node + 1]; c++)
        margins[c - first] = {name}_intercepts[c];
    for (f = {name}_feature_ends[node]; f < {name}_feature_ends[node + 1]; f++) {{
        uint32_t j = {name}_features[f];
        float value;
        if (x[j] == 0.0f)
            continue;
        value = {value};
        for (w = {name}_weight_ends[f]; w < {name}_weight_ends[f + 1]; w++)
            margins[{name}_weight_columns[w]] += (double)value * {name}_weights[w];
    }}
{no_length}}}

/* The logarithm of a column with this margin, of a node with this logarithm. */
static double {name}_below(double log, double margin)
{{
    double rest = margin < 1.0 ? 1.0 - margin : 0.0;
    return log - {name}_product({name}_product(rest, rest), rest);
}}

/* Adds a node to those that are kept, the best {NAME}_BEAM ones in their order; returns how many there are. */
static uint32_t {name}_keep(struct {name}_node *kept, uint32_t n, double log, uint32_t node)
{{
    uint32_t at = n < {NAME}_BEAM ? n : n - 1;
    if (n == {NAME}_BEAM && (kept[at].log > log || (kept[at].log == log && kept[at].node < node)))
        return n;
    for (; at > 0 && (kept[at - 1].log < log || (kept[at - 1].log == log && kept[at - 1].node > node)); at--)
        kept[at] = kept[at - 1];
    kept[at].log = log;
    kept[at].node = node;
    return n < {NAME}_BEAM ? n + 1 : n;
}}

/* Adds a path to a label; returns how many labels there are. The slots of labels hold their places, counted from 1. */
static uint32_t {name}_add(struct {name}_found *found, uint32_t *slots, uint32_t n, double log, uint32_t label)
{{
    uint32_t slot = label * 2654435769u % {NAME}_SLOTS;
    struct {name}_found *old;
    while (slots[slot] != 0 && found[slots[slot] - 1].label != label)
        slot = (slot + 1) % {NAME}_SLOTS;
    if (slots[slot] == 0) {{
        found[n].label = label;
        found[n].log = log;
        found[n].sum = 1.0;
        slots[slot] = n + 1;
        return n + 1;
    }}
    old = &found[slots[slot] - 1];
    if (log > old->log) {{
        old->sum = {name}_product(old->sum, exp(old->log - log)) + 1.0;
        old->log = log;
    }} else {{
        old->sum += exp(log - old->log);
    }}
    return n;
}}

/* Finds labels in all trees, with their scores as logarithms; returns how many. */
static uint32_t {name}_search(const float *x, struct {name}_found *found)
{{
    uint32_t slots[{NAME}_SLOTS];
    struct {name}_node kept[{NAME}_BEAM], next[{NAME}_BEAM];
    double margins[{NAME}_MOST_COLUMNS], length = {of_length};
    uint32_t t, c, at, n, n_next, n_inner, n_found = 0;
    for (c = 0; c < {NAME}_SLOTS; c++)
        slots[c] = 0;
    for (t = 0; t < {n_trees}u; t++) {{
        kept[0].log = 0.0;
        kept[0].node = {name}_roots[t];
        n = 1;
        for (;;) {{
            n_inner = n_next = 0;
            for (at = 0; at < n; at++)
                n_inner += !{name}_is_leaf[kept[at].node];
            if (n_inner == 0)
                break;
            for (at = 0; at < n; at++) {{
                uint32_t node = kept[at].node, first = {name}_column_ends[node];
                if ({name}_is_leaf[node]) {{
                    n_next = {name}_keep(next, n_next, kept[at].log, node);
                    continue;
                }}
                {name}_margins(x, length, node, margins);
                for (c = first; c < {name}_column_ends[node + 1]; c++)
                    n_next = {name}_keep(next, n_next, {name}_below(kept[at].log, margins[c - first]), {name}_targets[c]);
            }}
            for (at = 0; at < n_next; at++)
                kept[at] = next[at];
            n = n_next;
        }}
        for (at = 0; at < n; at++) {{
            uint32_t node = kept[at].node, first = {name}_column_ends[node];
            double path = {name}_product({share_of_path!r}, kept[at].log);
            {name}_margins(x, length, node, margins);
            for (c = first; c < {name}_column_ends[node + 1]; c++)
                n_found = {name}_add(found, slots, n_found, {name}_below(path, margins[c - first]), {name}_targets[c]);
        }}
    }}
    for (c = 0; c < n_found; c++)
        found[c].log += log(found[c].sum / {divisor!r});
    return n_found;
}}

"""

_LABELS = """\
/* What probabilities are divided by: exp(*largest) times the result. */
static double {name}_total(struct {name}_found *found, uint32_t n, double *largest)
{{
    (void)found;
    (void)n;
    *largest = 0.0;
    return 1.0;
}}

"""

_CLASSES = """\
/* What probabilities are divided by: exp(*largest) times the result. Sorts the classes that were found. */
static double {name}_total(struct {name}_found *found, uint32_t n, double *largest)
{{
    uint32_t gap, c, at;
    double total = 0.0;
    for (gap = n / 2; gap > 0; gap /= 2)
        for (c = gap; c < n; c++) {{
            struct {name}_found moved = found[c];
            for (at = c; at >= gap && found[at - gap].label > moved.label; at -= gap)
                found[at] = found[at - gap];
            found[at] = moved;
        }}
    *largest = found[0].log;
    for (c = 1; c < n; c++)
        if (found[c].log > *largest)
            *largest = found[c].log;
    for (c = 0; c < n; c++)
        total += exp(found[c].log - *largest);
    return total;
}}

"""

_PREDICTIONS = """\
void {name}_scores(const float *x, double *scores)
{{
    struct {name}_found found[{NAME}_MOST_FOUND];
    uint32_t c, n = {name}_search(x, found);
    double largest, total = {name}_total(found, n, &largest);
    for (c = 0; c < {NAME}_N_SCORES; c++)
        scores[c] = 0.0;
    for (c = 0; c < n; c++)
        scores[found[c].label] = exp(found[c].log - largest) / total;
}}

uint32_t {name}_topk(const float *x, uint32_t k, uint32_t *labels, double *probabilities)
{{
    struct {name}_found found[{NAME}_MOST_FOUND];
    uint32_t c, at, n_best = 0, n = {name}_search(x, found);
    double largest, total = {name}_total(found, n, &largest);
    for (c = 0; c < n && k > 0; c++) {{
        double score = found[c].log;
        uint32_t label = found[c].label;
        at = n_best < k ? n_best : k - 1;
        if (n_best == k && (probabilities[at] > score || (probabilities[at] == score && labels[at] < label)))
            continue;
        for (; at > 0 && (probabilities[at - 1] < score || (probabilities[at - 1] == score && labels[at - 1] > label)); at--) {{
            probabilities[at] = probabilities[at - 1];
            labels[at] = labels[at - 1];
        }}
        probabilities[at] = score;
        labels[at] = label;
        n_best += n_best < k;
    }}
    for (c = 0; c < n_best; c++)
        probabilities[c] = exp(probabilities[c] - largest) / total;
    return n_best;
}}

"""


def parts(model: LabelTrees, name: str, product: str, array: Array, most_items: int) -> Iterator[str]:
    """The tables, and the functions; `product` is the text of one that multiplies."""
    tables = _Tables(model)
    if max(map(len, tables.arrays.values())) > most_items:
        raise ValueError(f"to_c does not support models of more than {most_items} nodes, columns or weights")
    if tables.most_found > MOST_FOUND:
        raise ValueError(
            f"to_c does not support a search that may find {tables.most_found} labels, more than {MOST_FOUND}, which would "
            "be too many for the stack: set a smaller beam_width"
        )
    for (kind, what), values in tables.arrays.items():
        yield from array(f"{kind} {name}_{what}", map(_WRITTEN[kind], values))
    if model.idf is not None:
        yield from array(f"float {name}_idf", map(_WRITTEN["float"], model.idf.tolist()))
    yield "\n" + product
    names = {"name": name, "NAME": name.upper()}
    prepared, length, value = _c_linear.preparation(model.features, model.n_features, name)
    has_length = bool(length)
    function = ""
    if has_length:
        function = f"static double {name}_length(const float *x)\n{{\n    uint32_t j;\n    double length = 0.0;\n"
        function += f"{length}    return length;\n}}\n\n"
    yield _SEARCH.format(
        **names,
        beam=tables.most_kept,
        most_columns=tables.most_columns,
        most_found=tables.most_found,
        slots=_power_of_two(2 * tables.most_found),
        prepared=prepared,
        length=function,
        value=value,
        of_length=f"{name}_length(x)" if has_length else "1.0",
        no_length="" if has_length else "    (void)length;\n",
        n_trees=model.n_trees,
        divisor=model.divisor,
        share_of_path=SHARE_OF_PATH,
    )
    yield (_CLASSES if model.kind == "classes" else _LABELS).format(**names)
    yield _PREDICTIONS.format(**names)


# How numbers of each type are written.
_WRITTEN: dict[str, Callable[[Any], str]] = {
    "uint8_t": str,
    "uint16_t": str,
    "uint32_t": str,
    "float": lambda value: f"{float.hex(value)}f",
}


def _power_of_two(least: int) -> int:
    return 1 << (least - 1).bit_length()


class _Tables:
    """The trees, concatenated, in the form of the tables of the file."""

    def __init__(self, model: LabelTrees) -> None:
        trees = list(model.trees())
        firsts = np.cumsum([0, *(len(tree.is_leaf) for tree in trees)])
        self.arrays: dict[tuple[str, str], list[Any]] = {
            ("uint32_t", "roots"): firsts[:-1].tolist(),
            ("uint8_t", "is_leaf"): _joined(tree.is_leaf.astype(int) for tree in trees),
            ("uint32_t", "column_ends"): _ends(tree.column_ptr for tree in trees),
            ("uint32_t", "targets"): _joined(
                tree.targets + first * ~np.repeat(tree.is_leaf, np.diff(tree.column_ptr))
                for tree, first in zip(trees, firsts.tolist(), strict=False)
            ),
            ("float", "intercepts"): _joined(tree.intercepts for tree in trees),
            ("uint32_t", "feature_ends"): _ends(tree.feature_ptr for tree in trees),
            ("uint32_t", "features"): _joined(tree.features for tree in trees),
            ("uint32_t", "weight_ends"): _ends(tree.weight_ptr for tree in trees),
            ("uint16_t", "weight_columns"): _joined(tree.columns for tree in trees),
            ("float", "weights"): _joined(tree.values for tree in trees),
        }
        self.most_kept = min(model.beam_width, max(len(tree.is_leaf) for tree in trees))
        self.most_columns = max(int(np.diff(tree.column_ptr).max()) for tree in trees)
        # Of each tree, labels of as many leaves as are followed.
        found = sum(_largest_leaves(tree, model.beam_width) for tree in trees)
        self.most_found = min(found, model.n_scores)


def _largest_leaves(tree: LabelTree, n: int) -> int:
    """The number of labels of the `n` leaves with the most labels."""
    sizes = np.sort(np.diff(tree.column_ptr)[tree.is_leaf])
    return int(sizes[max(len(sizes) - n, 0) :].sum())


def _joined(arrays: Iterable[Any]) -> list[Any]:
    return list(chain.from_iterable(values.tolist() for values in arrays))


def _ends(offsets: Iterable[Any]) -> list[int]:
    """Offsets of lists that follow one another."""
    found = [0]
    for of_tree in offsets:
        found += (found[-1] + of_tree[1:]).tolist()
    return found
