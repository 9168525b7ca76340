"""Conversion of models to a C source file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice

from sklearn.base import BaseEstimator

from weald.export import _c_centroids, _c_label_trees, _c_linear
from weald.export._centroids import Centroids, centroids_of
from weald.export._ensemble import Ensemble, Head, ensemble_of
from weald.export._label_trees import LabelTrees, label_trees_of
from weald.export._links import LINKS

# Keywords up to C23. A name that is one of them, or starts with a reserved prefix, might not compile.
_KEYWORDS = re.compile(
    "alignas|alignof|auto|bool|break|case|char|const|constexpr|continue|default|do|double|else|"
    "enum|extern|false|float|for|goto|if|inline|int|long|main|nullptr|register|restrict|return|"
    "short|signed|sizeof|static|static_assert|struct|switch|thread_local|true|typedef|typeof|"
    "typeof_unqual|union|unsigned|void|volatile|while"
)
_NONE = 2**32 - 1
_PER_LINE = 16

_TYPES = """\
/* A split: values up to `threshold` go left, to the next node, and others to node `right`. Where `set` is not 0
   those go left that are among the categories of that set in place of these. Of a leaf `feature` is -1, and `right`
   its number. */
struct {name}_node {{
    float threshold;
    int32_t feature;
    uint32_t right;
    uint32_t set;
    uint8_t missing_left;
}};
"""

_WALK = """\
static int {name}_goes_left(const struct {name}_node *node, float value)
{{
    if (value != value)
        return node->missing_left;
{sets}    return value <= node->threshold;
}}

/* The number of the leaf that a sample reaches. */
static uint32_t {name}_leaf(uint32_t at, const float *x)
{{
    while ({name}_nodes[at].feature >= 0)
        at = {name}_goes_left(&{name}_nodes[at], x[{name}_nodes[at].feature]) ? at + 1 : {name}_nodes[at].right;
    return {name}_nodes[at].right;
}}
"""

_IN_SET = """\
/* Whether a value is among the categories of a set, which rise. */
static int {name}_is_in(uint32_t set, float value)
{{
    uint32_t low = {name}_set_ends[set - 1], high = {name}_set_ends[set], code;
    if (!(value >= 0.0f && value < 65536.0f) || value != (float)(uint32_t)value)
        return 0;
    code = (uint32_t)value;
    while (low < high) {{
        uint32_t middle = low + (high - low) / 2;
        if ({name}_sets[middle] < code)
            low = middle + 1;
        else
            high = middle;
    }}
    return low < {name}_set_ends[set] && {name}_sets[low] == code;
}}

"""

_SCORES = """\
void {name}_scores(const float *x, double *scores)
{{
    uint32_t t, c, leaf;
{linear}{start}
    for (t = 0; t < {n_trees}u; t++) {{
        leaf = {name}_leaf({name}_roots[t], x);
        for (c = {name}_leaf_ends[leaf]; c < {name}_leaf_ends[leaf + 1]; c++)
{add}
    }}
{divide}}}
"""

_SCORES_OF_LINEAR = """\
void {name}_scores(const float *x, double *scores)
{{
    {name}_linear(x, scores);
}}
"""

_PRODUCT = """\
/* Not fused with an addition, which would round another time. */
static double {name}_product(double a, double b)
{{
    volatile double product = a * b;
    return product;
}}

"""

_NORMALIZE = """\
    for (o = 0; o < {n_outputs}u; o++) {{
        double total = 0.0;
        for (j = {name}_outputs[o]; j < {name}_outputs[o + 1]; j++)
            total += out[j];
        for (j = {name}_outputs[o]; j < {name}_outputs[o + 1]; j++)
            out[j] = total > 0.0 ? out[j] / total : 1.0 / ({name}_outputs[o + 1] - {name}_outputs[o]);
    }}
"""

_SOFTMAX = """\
    for (o = 0; o < {n_outputs}u; o++) {{
        double most = out[{name}_outputs[o]], total = 0.0;
        for (j = {name}_outputs[o]; j < {name}_outputs[o + 1]; j++)
            if (out[j] > most)
                most = out[j];
        for (j = {name}_outputs[o]; j < {name}_outputs[o + 1]; j++)
            total += out[j] = exp(out[j] - most);
        for (j = {name}_outputs[o]; j < {name}_outputs[o + 1]; j++)
            out[j] /= total;
    }}
"""


def to_c(estimator: BaseEstimator, name: str = "model") -> str:
    """Convert a fitted model to a C99 source file, which allocates no memory and only depends on `math.h`.

    For equal float32 features, scores are exactly those of the model if the compiler conforms to IEEE 754 (not with
    `-ffast-math`), up to the rounding of `exp` and `log` of the C library. Code and time to compile are O(nodes +
    stored leaf values). The functions can be called by several threads. What is supported, and more about bits and
    memory, is in `docs/export.md#c`.

    >>> import weald
    >>> tree = weald.DecisionTreeRegressor(max_depth=2).fit([[0.0], [1.0]], [0.0, 1.0])
    >>> "void steps_predict(const float *x, double *out)" in weald.export.to_c(tree, name="steps")
    True

    Parameters
    ----------
    estimator : estimator
        A fitted tree, forest, centroid forest, label tree, boosting model, compressed forest or linear model of weald.
    name : str, default="model"
        Prefix of all names in the file. Must be a C identifier.

    Returns
    -------
    str
        The source code, with `name_scores(const float *x, double *scores)`, which writes NAME_N_SCORES sums over the
        trees, `name_predict(const float *x, double *out)`, which writes NAME_N_COLUMNS predictions or probabilities,
        and for label trees `name_topk`. `x` has the features of one sample; NAN is missing, categories are positions in
        `categories_`.
    """
    if not isinstance(name, str):
        raise TypeError(f"name must be a string, got a {type(name).__name__}")
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name, flags=re.ASCII) or _KEYWORDS.fullmatch(name):
        raise ValueError(f"name must be a C identifier that is not a keyword and starts with a letter, got {name!r}")
    centroids = centroids_of(estimator)
    if centroids is not None:
        return "".join(_parts_of_centroids(centroids, name))
    label_trees = label_trees_of(estimator)
    if label_trees is not None:
        return "".join(_parts_of_label_trees(label_trees, name))
    return "".join(_parts(ensemble_of(estimator, "to_c"), name))


def _parts_of_centroids(model: Centroids, name: str) -> Iterator[str]:
    yield _c_centroids.HEAD.format(estimator=model.estimator, n_trees=model.n_trees)
    yield from _declarations(model, name)
    yield from _c_centroids.parts(model, name, _array, _NONE - 1)
    yield from _outputs(model, name)
    yield _predict(model, name)


def _parts_of_label_trees(model: LabelTrees, name: str) -> Iterator[str]:
    yield _c_label_trees.HEAD.format(estimator=model.estimator, n_trees=model.n_trees)
    yield from _declarations(model, name)
    yield _c_label_trees.DECLARATION.format(name=name)
    yield from _c_label_trees.parts(model, name, _PRODUCT.format(name=name), _array, _NONE - 1)
    yield _predict(model, name)


def _parts(model: Ensemble, name: str) -> Iterator[str]:
    has_trees, linear = model.n_trees > 0, model.linear
    has_factors = has_trees and next(model.trees()).factors is not None
    tables = _Tables(model)
    if linear is not None:
        _c_linear.check_size(linear, _NONE - 1)
    kinds = [f"{model.n_trees} trees"] if has_trees else []
    kinds += [] if linear is None else [f"{linear.n_scores} columns of weights"]
    orders = ["trees"] if has_trees else []
    orders += [] if linear is None else ["features"]
    yield f"/* {model.estimator} of weald, {', '.join(kinds)}: written by weald.export.to_c.\n\n"
    yield f"   Rows are float32; scores are sums of doubles in the order of the {' and the '.join(orders)}.\n"
    yield "   Do not compile with -ffast-math. */\n\n"
    yield "" if linear is None else "#include <float.h>\n"
    yield "#include <math.h>\n#include <stddef.h>\n#include <stdint.h>\n\n"
    yield from _declarations(model, name)
    if has_trees:
        yield from _tables_of_trees(model, tables, name, has_factors)
    if linear is not None:
        yield from _c_linear.tables(linear, name, _array)
    yield from _outputs(model, name)
    yield "\n"
    if has_factors or (linear is not None and _c_linear.has_products(linear)):
        yield _PRODUCT.format(name=name)
    if linear is not None:
        softmax = _SOFTMAX.format(name=name, n_outputs=len(model.blocks()))
        yield from _c_linear.functions(linear, name, softmax)
    if has_trees:
        has_sets = len(tables.set_ends) > 1
        yield _IN_SET.format(name=name) if has_sets else ""
        lists = f"    if (node->set)\n        return {name}_is_in(node->set, value);\n" if has_sets else ""
        yield _WALK.format(name=name, sets=lists) + "\n"
    yield (_scores(model, name, has_factors) if has_trees else _SCORES_OF_LINEAR.format(name=name)) + "\n"
    yield _predict(model, name)


def _tables_of_trees(ensemble: Ensemble, tables: _Tables, name: str, has_factors: bool) -> Iterator[str]:
    yield _TYPES.format(name=name)
    yield from _array(f"struct {name}_node {name}_nodes", tables.nodes, per_line=4)
    yield from _array(f"uint32_t {name}_roots", map(str, tables.roots))
    yield from _array(f"uint32_t {name}_leaf_ends", map(str, tables.leaf_ends))
    if not has_factors:
        yield from _array(f"uint32_t {name}_leaf_scores", map(str, tables.columns))
    yield from _array(f"double {name}_leaf_values", map(float.hex, tables.values), per_line=6)
    if ensemble.start.any():
        yield from _array(f"double {name}_start", map(float.hex, ensemble.start.tolist()), per_line=6)
    if has_factors:
        factors = chain.from_iterable(tree.factors.tolist() for tree in ensemble.trees() if tree.factors is not None)
        yield from _array(f"double {name}_factors", map(float.hex, factors), per_line=6)
    if tables.sets:
        yield from _array(f"uint16_t {name}_sets", map(str, tables.sets))
        yield from _array(f"uint32_t {name}_set_ends", map(str, tables.set_ends))


def _declarations(model: Head, name: str) -> Iterator[str]:
    for what in ("n_features", "n_scores", "n_columns"):
        yield f"#define {name.upper()}_{what.upper()} {getattr(model, what)}\n"
    yield f"\nvoid {name}_scores(const float *x, double *scores);\n"
    yield f"void {name}_predict(const float *x, double *out);\n\n"


def _outputs(model: Head, name: str) -> Iterator[str]:
    """The table of the scores of each output, if predictions are divided by their sums."""
    if model.blocks() and LINKS[model.link].has_probabilities:
        ends = [0, *(block.stop for block in model.blocks())]
        yield from _array(f"uint32_t {name}_outputs", map(str, ends))


class _Tables:
    """The trees, concatenated, in the form of the tables of the file."""

    def __init__(self, ensemble: Ensemble) -> None:
        self.nodes: list[str] = []
        self.roots: list[int] = []
        self.leaf_ends = [0]
        self.columns: list[int] = []
        self.values: list[float] = []
        self.sets: list[int] = []
        self.set_ends = [0]
        for tree in ensemble.trees():
            first = len(self.nodes)
            self.roots.append(first)
            set_of = {}
            for node, codes in tree.categories.items():
                self.sets += codes.tolist()
                self.set_ends.append(len(self.sets))
                set_of[node] = len(self.set_ends) - 1
            thresholds, missing = tree.threshold.tolist(), tree.missing_left.astype(int).tolist()
            for node, (feature, right) in enumerate(zip(tree.feature.tolist(), tree.right.tolist(), strict=True)):
                if feature < 0:
                    columns, values = tree.leaf(node)
                    self.nodes.append(f"{{0,-1,{len(self.leaf_ends) - 1},0,0}}")
                    self.columns += columns.tolist()
                    self.values += values.tolist()
                    self.leaf_ends.append(len(self.values))
                    continue
                # The left child is the next node, as in the engine.
                assert tree.left[node] == node + 1
                of_set, threshold = set_of.get(node, 0), float.hex(thresholds[node])
                self.nodes.append(f"{{{threshold}f,{feature},{first + right},{of_set},{missing[node]}}}")
        if max(len(self.nodes), len(self.values), len(self.sets)) >= _NONE:
            raise ValueError(f"to_c does not support models of more than {_NONE - 1} nodes or values in leaves")


def _array(declaration: str, items: Iterable[str], per_line: int = _PER_LINE) -> Iterator[str]:
    """A table. It has at least one item, since C does not support empty arrays."""
    items = iter(items)
    yield f"static const {declaration}[] = {{\n"
    line = list(islice(items, per_line)) or ["0"] * (1 if "struct" not in declaration else 0) or ["{0,0,0,0,0}"]
    while line:
        yield f"    {', '.join(line)},\n"
        line = list(islice(items, per_line))
    yield "};\n"


def _scores(ensemble: Ensemble, name: str, has_factors: bool) -> str:
    n = ensemble.n_scores
    value = f"{name}_start[c]" if ensemble.start.any() else "0.0"
    add = f"            scores[{name}_leaf_scores[c]] += {name}_leaf_values[c];"
    if has_factors:
        # The leaf stores at most one value.
        product = f"{name}_product({name}_leaf_values[c], {name}_factors[(size_t)t * {n}u + j])"
        add = f"            for (j = 0; j < {n}u; j++)\n                scores[j] += {product};"
    divide = (
        f"    for (c = 0; c < {n}u; c++)\n        scores[c] /= {ensemble.divisor!r};\n" if ensemble.divisor != 1 else ""
    )
    of_linear = f"    double linear[{n}];\n" if ensemble.linear is not None else ""
    if of_linear:
        divide += f"    {name}_linear(x, linear);\n"
        divide += f"    for (c = 0; c < {n}u; c++)\n        scores[c] += linear[c];\n"
    text = _SCORES.format(
        name=name,
        n_trees=ensemble.n_trees,
        linear=of_linear,
        start=f"    for (c = 0; c < {n}u; c++)\n        scores[c] = {value};",
        add=add,
        divide=divide,
    )
    return text.replace("uint32_t t, c, leaf;", "uint32_t t, c, j, leaf;") if has_factors else text


def _predict(ensemble: Head, name: str) -> str:
    link, n = ensemble.link, ensemble.n_scores
    text = ""
    of_score = LINKS[link].in_c
    if of_score is not None:
        text = f"static double {name}_of_score(double score)\n{{\n    return {of_score};\n}}\n\n"
    text += f"void {name}_predict(const float *x, double *out)\n{{\n"
    if ensemble.is_of_two_classes and link != "margin":
        first = "1.0 - out[1]" if link == "share" else f"{name}_of_score(-score)"
        body = f"    double score;\n    {name}_scores(x, &score);\n    out[1] = {name}_of_score(score);\n"
        return f"{text}{body}    out[0] = {first};\n}}\n"
    parts = {"name": name, "n_outputs": len(ensemble.blocks())}
    body = f"    {name}_scores(x, out);\n"
    if link == "margin" and ensemble.threshold:
        body += f"    for (j = 0; j < {n}u; j++)\n        out[j] -= {ensemble.threshold!r};\n"
    if of_score is not None:
        body += f"    for (j = 0; j < {n}u; j++)\n        out[j] = {name}_of_score(out[j]);\n"
    divided = bool(ensemble.blocks()) and LINKS[link].has_probabilities
    if divided:
        body += (_SOFTMAX if link == "softmax" else _NORMALIZE).format(**parts)
    used = ("o, j" if divided else "j") if "j" in body.replace(f"{name}_", "") else ""
    declared = f"    uint32_t {used};\n" if used else ""
    return f"{text}{declared}{body}}}\n"
