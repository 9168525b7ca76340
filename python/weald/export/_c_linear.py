"""The scores of a linear model in C."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from weald.export._linear import Linear, Single

_HEAD = """\
/* {estimator} of weald, {n_scores} columns: written by weald.export.to_c.

   Rows are float32; scores are sums of doubles in the order of the features. Do not compile with
   -ffast-math. */

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>

"""

_PRODUCT = """\
/* Not fused with an addition, which would round another time. */
static double {name}_product(double a, double b)
{{
    volatile double product = a * b;
    return product;
}}

"""

_PREPARED = """\
static double {name}_prepared(const float *x, uint32_t j)
{{
    double value = x[j];
{steps}    return value;
}}

static float {name}_single(double value)
{{
    return (float)(value > FLT_MAX ? FLT_MAX : value < -FLT_MAX ? -FLT_MAX : value);
}}

"""

_SCORES = """\
void {name}_scores(const float *x, double *scores)
{{
    uint32_t j, c;
{length}    for (c = 0; c < {n_scores}u; c++)
        scores[c] = {name}_intercepts[c];
    for (j = 0; j < {n_features}u; j++) {{
        float value;
        if (x[j] == 0.0f)
            continue;
        value = {value};
        for (c = {name}_ends[j]; c < {name}_ends[j + 1]; c++)
            scores[{name}_columns[c]] += (double)value * {name}_weights[c];
    }}
    for (c = 0; c < {n_scores}u; c++)
        scores[c] = {score};
}}

"""

_LENGTH = """\
    double length = 0.0;
    for (j = 0; j < {n_features}u; j++) {{
        double value = {name}_prepared(x, j);
        length += {name}_product(value, value);
    }}
    length = sqrt(length);
"""


def tables_and_scores(model: Linear, name: str, array: Callable[[str, Iterable[str]], Iterator[str]]) -> Iterator[str]:
    """The tables of a file, and the function that computes scores; `array` writes a table."""

    def floats(what: str, values: Single) -> Iterator[str]:
        return array(f"float {name}_{what}", (f"{float.hex(value)}f" for value in values.tolist()))

    yield from array(f"uint32_t {name}_ends", map(str, model.ptr.tolist()))
    yield from array(f"uint32_t {name}_columns", map(str, model.columns.tolist()))
    yield from floats("weights", model.values)
    yield from floats("intercepts", model.intercepts)
    if model.idf is not None:
        yield from floats("idf", model.idf)
    if model.is_calibrated:
        yield from floats("slopes", model.slopes)
        yield from floats("offsets", model.offsets)
    is_scaled = model.features != "given"
    yield "\n"
    if is_scaled or model.is_calibrated:
        yield _PRODUCT.format(name=name)
    value, length = "x[j]", ""
    if is_scaled:
        steps = f"    value = copysign(log1p(fabs(value)), value) * {name}_idf[j];\n" if model.idf is not None else ""
        yield _PREPARED.format(name=name, steps=steps)
        # Of the length one, in multiples of 2^-24.
        single = f"{name}_single({name}_prepared(x, j))"
        value = f"(float)rint((double){single} / length * 16777216.0) / 16777216.0f"
        length = _LENGTH.format(name=name, n_features=model.n_features)
    score = f"{model.unit!r} * scores[c]"
    if model.is_calibrated:
        score = f"{model.unit!r} * ({name}_product({name}_slopes[c], scores[c]) + {name}_offsets[c])"
    sizes = {"n_scores": model.n_scores, "n_features": model.n_features}
    yield _SCORES.format(name=name, length=length, value=value, score=score, **sizes)


def head(model: Linear) -> str:
    """The first lines of a file."""
    return _HEAD.format(estimator=model.estimator, n_scores=model.n_scores)


def check_size(model: Linear, most: int) -> None:
    """Raise for models whose weights have more places than 32 bits can count."""
    if len(model.values) > most:
        raise ValueError(f"to_c does not support models of more than {most} weights, got {len(model.values)}")
