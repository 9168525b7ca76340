"""The scores of a linear model in C."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from weald._rounds.linear_start import LEAST_PROBABILITY
from weald.export._linear import Linear, Single

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
/* The scores of the linear model{what}. */
static void {name}_linear(const float *x, double *out)
{{
    uint32_t {used};
{length}    for (c = 0; c < {n_scores}u; c++)
        out[c] = {name}_intercepts[c];
    for (j = 0; j < {n_features}u; j++) {{
        float value;
        if (x[j] == 0.0f)
            continue;
        value = {value};
        for (c = {name}_ends[j]; c < {name}_ends[j + 1]; c++)
            out[{name}_columns[c]] += (double)value * {name}_weights[c];
    }}
    for (c = 0; c < {n_scores}u; c++)
        out[c] = {score};
{added}}}

"""

_LENGTH = """\
    for (j = 0; j < {n_features}u; j++) {{
        double value = {name}_prepared(x, j);
        length += {name}_product(value, value);
    }}
    length = sqrt(length);
"""


def tables(model: Linear, name: str, array: Callable[[str, Iterable[str]], Iterator[str]]) -> Iterator[str]:
    """The tables; `array` writes one."""

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


def has_products(model: Linear) -> bool:
    """Whether the functions use products that must not be fused with sums."""
    return model.features != "given" or model.is_calibrated


def preparation(features: str, n_features: int, name: str) -> tuple[str, str, str]:
    """Functions, statements that compute `length` from 0, and the value of feature `j` as weights take it.

    Nothing is computed of X as it is given.
    """
    if features == "given":
        return "", "", "x[j]"
    steps = f"    value = copysign(log1p(fabs(value)), value) * {name}_idf[j];\n" if features == "tfidf" else ""
    # Of the length one, in multiples of 2^-24.
    single = f"{name}_single({name}_prepared(x, j))"
    value = f"(float)rint((double){single} / length * 16777216.0) / 16777216.0f"
    return _PREPARED.format(name=name, steps=steps), _LENGTH.format(name=name, n_features=n_features), value


def functions(model: Linear, name: str, softmax: str) -> Iterator[str]:
    """The function that computes what is added to scores; `softmax` makes probabilities of `out`."""
    prepared, of_length, value = preparation(model.features, model.n_features, name)
    yield prepared
    length = f"    double length = 0.0;\n{of_length}" if of_length else ""
    score = f"{model.unit!r} * out[c]"
    if model.is_calibrated:
        score = f"{model.unit!r} * ({name}_product({name}_slopes[c], out[c]) + {name}_offsets[c])"
    what = {
        "scores": "",
        "log": ", as logarithms of probabilities",
        "half_logit": ", as half the log-odds of probabilities",
    }
    yield _SCORES.format(
        name=name,
        what=what[model.added],
        used="j, c, o" if model.added != "scores" and model.link == "softmax" else "j, c",
        length=length,
        value=value,
        score=score,
        added=_added(model, softmax),
        n_scores=model.n_scores,
        n_features=model.n_features,
    )


def _added(model: Linear, softmax: str) -> str:
    """What turns the scores in `out` into what is added."""
    if model.added == "scores":
        return ""
    each = f"    for (c = 0; c < {model.n_scores}u; c++) {{\n"
    text = softmax
    if model.link == "logistic":
        text = f"{each}        out[c] = 1.0 / (1.0 + exp(-2.0 * out[c]));\n    }}\n"
    least, most = LEAST_PROBABILITY, 1 - LEAST_PROBABILITY
    result = "log(p)" if model.added == "log" else "0.5 * (log(p) - log1p(-p))"
    return (
        f"{text}{each}        double p = out[c];\n"
        f"        p = p < {least!r} ? {least!r} : p > {most!r} ? {most!r} : p;\n"
        f"        out[c] = {result};\n    }}\n"
    )


def check_size(model: Linear, most: int) -> None:
    """Raise for models whose weights have more places than 32 bits can count."""
    if len(model.values) > most:
        raise ValueError(f"to_c does not support models of more than {most} weights, got {len(model.values)}")
