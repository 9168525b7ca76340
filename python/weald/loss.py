"""Losses of boosting as objects: those of the engine with their parameters, and losses of your own.

Where an estimator has the parameter `loss`, it takes the name of a loss or an object: `loss="huber"` is
`loss=weald.loss.Huber()`, and `loss=weald.loss.Huber(delta=0.5)` has another parameter. Loss objects are immutable and
hashable and compare by their parameters, so that grid searches can list them; they are part of pickles and model files.

{table}

y is a number, or stands for a label or class that a sample has or lacks: 1 and -1 where the table says ±1, and 1 and 0
otherwise. f is the score.

Every loss has these attributes
    `name`
        The name, which `loss=` accepts for losses of the engine. Models and their files keep it.
    `domain`
        Which y the loss is defined for: "numbers", "not_negative" (numbers of at least 0) or "positive"; "signs" for
        labels and classes only, as -1 and +1; "numbers_and_signs" for both.
    `link`
        The function of the prediction that scores are: "identity"; "log", the logarithm of a number; "half_logit", half
        the log-odds of a label or class, so that its probability is 1 / (1 + exp(-2f)). None: scores of labels and
        classes are no such function. A label is predicted if its score is positive, and there are no probabilities.
    `targets`
        The kinds of y that the loss is for: "numbers", "labels" (and classes) or both.

A loss of your own is an object with two methods, `loss(y, scores)` and `gradient_hessian(y, scores)`, which is passed
as it is, or in a `CustomLoss`, which gives it a name, a domain and a link.

Examples
--------
>>> import numpy as np
>>> import weald
>>> from weald.loss import Quantile
>>> X = np.arange(200.0)[:, np.newaxis]
>>> y = X[:, 0] % 20
>>> upper = weald.GradientBoostingRegressor(loss=Quantile(0.9), n_estimators=20)
>>> upper = upper.fit(X, y)
>>> bool(0.8 < (upper.predict(X) >= y).mean() < 1.0)
True
>>> Quantile(0.9).loss([1.0, 1.0], [0.0, 2.0])
array([0.9, 0.1])
"""

from __future__ import annotations

import itertools
import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field, make_dataclass
from inspect import isclass
from numbers import Real
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from weald import _weald
from weald._input import registry
from weald._input.checks import Float, floats, is_float, shown
from weald._input.messages import did_you_mean

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


_METHODS = ("loss", "gradient_hessian")
_LINKS = (None, "identity", "log", "half_logit")
# Levels of quantiles that differ by less are the same one: 1 - 0.1 / 2 and 0.95 are.
SAME_LEVEL = 1e-9
# The largest absolute value of y, as in the engine.
_LARGEST_Y = 1e150
# For each domain: whether y may be numbers, whether it may be labels, and the lower bound of numbers with whether they
# may be equal to it.
_DOMAINS: dict[str, tuple[bool, bool, float, bool]] = {
    "numbers": (True, True, -np.inf, True),
    "not_negative": (True, False, 0.0, True),
    "positive": (True, False, 0.0, False),
    "signs": (False, True, -np.inf, True),
    "numbers_and_signs": (True, True, -np.inf, True),
}


class Loss:
    """Base class of losses. See the module for what they have in common."""

    name: str
    domain: str
    link: str | None
    targets: tuple[str, ...]

    @property
    def _levels(self) -> tuple[float, ...]:
        """The levels of the quantiles of each output, in increasing order; none for other losses."""
        return ()

    def _of_columns(self, shape: tuple[int, ...]) -> float | tuple[float, ...] | None:
        """The parameter for y of this shape, one for each column if it is a tuple; None for a loss without one."""
        return None

    def loss(self, y: ArrayLike, scores: ArrayLike) -> Float:
        """Compute the loss of each pair of a target and a score.

        Parameters
        ----------
        y : array-like of shape (n,) or (n, n_outputs)
            Targets in the domain of the loss; labels and classes as numbers.
        scores : array-like of the same shape
            Scores.

        Returns
        -------
        float64 ndarray of the same shape
            The losses, not weighted.
        """
        return self._values(y, scores)

    def gradient_hessian(self, y: ArrayLike, scores: ArrayLike) -> tuple[Float, Float]:
        """Compute the derivatives of the loss with respect to the score.

        Parameters
        ----------
        y, scores : array-like
            As in `loss`.

        Returns
        -------
        gradient, hessian : float64 ndarray
            The first and the second derivatives, which are 0 where there are none.
        """
        return self._derivatives(y, scores)

    def _values(self, y: ArrayLike, scores: ArrayLike) -> Float:
        raise NotImplementedError

    def _derivatives(self, y: ArrayLike, scores: ArrayLike) -> tuple[Float, Float]:
        raise NotImplementedError

    def _refused(self, y: Float) -> tuple[float, str] | None:
        """A number for which the loss is not defined, and what is accepted; None if there is none."""
        if (large := np.abs(y) > _LARGEST_Y).any():
            return float(y[large][0]), "at most 1e150 in magnitude"
        *_, least, is_least_in = _DOMAINS[self.domain]
        outside = y < least if is_least_in else y <= least
        return (float(y[outside][0]), "at least 0" if is_least_in else "above 0") if outside.any() else None


class EngineLoss(registry.Value, Loss):
    """Base class of the losses of the engine, whose classes are made from its table."""

    _row: ClassVar[_weald._LossRow]

    if TYPE_CHECKING:

        def __init__(self, parameter: object = ...) -> None: ...

    def __post_init__(self) -> None:
        if (parameter := self._row["parameter"]) is not None:
            value = _checked(parameter, getattr(self, parameter["name"]))
            value = _increasing(value) if self.name == "quantile" and isinstance(value, tuple) else value
            object.__setattr__(self, parameter["name"], value)

    @property
    def _parameter(self) -> float | tuple[float, ...] | None:
        """The value of the parameter, one for each output if it is a tuple; None for a loss without a parameter."""
        parameter = self._row["parameter"]
        value: float | tuple[float, ...] | None = None if parameter is None else getattr(self, parameter["name"])
        return value

    @property
    def _levels(self) -> tuple[float, ...]:
        value: Any = self._parameter if self.name == "quantile" else ()
        return value if isinstance(value, tuple) else (value,)

    def _of_columns(self, shape: tuple[int, ...]) -> float | tuple[float, ...] | None:
        value = self._parameter
        if not isinstance(value, tuple):
            return value
        n_columns = shape[1] if len(shape) == 2 else 0
        n_times = n_columns // len(value) if self._levels else 1
        if not n_columns or n_columns != n_times * len(value):
            one = "level" if self._levels else "output"
            raise ValueError(f"y must have {len(value)} columns, one for each {one} of {self!r}, got {shape}")
        return value * n_times

    def _values(self, y: ArrayLike, scores: ArrayLike) -> Float:
        return self._cells(y, scores)[0]

    def _derivatives(self, y: ArrayLike, scores: ArrayLike) -> tuple[Float, Float]:
        _, gradient, hessian = self._cells(y, scores)
        return gradient, hessian

    def _cells(self, y: ArrayLike, scores: ArrayLike) -> tuple[Float, Float, Float]:
        cells = _broadcast(y, scores)
        if (refused := self._refused(cells[0])) is not None:
            raise ValueError(f"y must be {refused[1]} with loss={self.name!r}, got {refused[0]:g}")
        value = self._of_columns(cells[0].shape)
        if not isinstance(value, tuple):
            found = _weald.loss_cells(self.name, value, *(part.ravel() for part in cells))
            first, gradient, hessian = (part.reshape(cells[0].shape) for part in found)
            return first, gradient, hessian
        columns = [_weald.loss_cells(self.name, one, *(c[:, j] for c in cells)) for j, one in enumerate(value)]
        first, gradient, hessian = (np.stack(parts, axis=1) for parts in zip(*columns, strict=True))
        return first, gradient, hessian


@registry.stored(registry.PARTS)
@dataclass(frozen=True)
class CustomLoss(registry.Value, Loss):
    """A loss of your own, with a name, a domain and a link. The initial constant of each output is searched from 0.

    >>> import numpy as np
    >>> import weald
    >>> class Deviance:
    ...     def loss(self, y, scores):
    ...         return np.exp(scores) - y * scores
    ...
    ...     def gradient_hessian(self, y, scores):
    ...         return np.exp(scores) - y, np.exp(scores)
    >>> X, loss = np.arange(100.0)[:, np.newaxis], weald.loss.CustomLoss(Deviance(), domain="not_negative", link="log")
    >>> boosting = weald.GradientBoostingRegressor(loss=loss, random_state=0).fit(X, X[:, 0] // 10)
    >>> bool((boosting.predict(X) > 0).all())
    True

    Parameters
    ----------
    functions : object
        An object with the methods `loss(y, scores)` and `gradient_hessian(y, scores)`, called one at a time from the
        threads of the fit on pairs of any samples and outputs. They return the losses, and first and second
        derivatives, as finite float64 arrays of shape (n,). None for a loss from a file, which cannot be fitted.
    name : str or None, default=None
        The name that models and their files keep. None: the attribute `name` of `functions`, or the name of its class.
    domain : {"numbers", "not_negative", "positive", "signs", "numbers_and_signs"} or None, default=None
        Which y the loss is defined for; a label or class is 1 if it is present, and if it is absent -1 where the domain
        contains signs, and 0 otherwise. None: the attribute `domain` of `functions` if it is a string, or "numbers".
    link : {"identity", "log", "half_logit"} or None, default=None
        What scores are, see the module. None: the attribute `link` of `functions` if it is a string; without one,
        scores are predictions, and positive for the labels and classes that are predicted.
    """

    functions: object
    name: str = field(default=None, kw_only=True)  # type: ignore[assignment]
    domain: str = field(default=None, kw_only=True)  # type: ignore[assignment]
    link: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        given = self.functions
        if isclass(given):
            raise ValueError(f"functions must be an instance, got the class {given.__name__}")
        if given is not None and not all(callable(getattr(given, method, None)) for method in _METHODS):
            raise TypeError(f"functions must have the methods {' and '.join(_METHODS)}, got {shown(given)}")
        if given is None and self.name is None:
            raise TypeError("functions must have the methods loss and gradient_hessian, got None")
        defaults = {"name": type(given).__qualname__, "domain": "numbers", "link": None}
        for attribute, default in defaults.items():
            value = getattr(self, attribute)
            if value is None:
                own = getattr(given, attribute, None)
                # The losses of scikit-learn have links of another type.
                value = own if isinstance(own, str) else default
            object.__setattr__(self, attribute, value)
        if not isinstance(self.name, str) or not self.name or self.name in LOSSES:
            raise ValueError(f"name must be a string that is not the name of a loss of weald, got {shown(self.name)}")
        if not isinstance(self.domain, str) or self.domain not in _DOMAINS:
            raise ValueError(f"domain must be one of {sorted(_DOMAINS)}, got {shown(self.domain)}")
        if not (self.link is None or isinstance(self.link, str)) or self.link not in _LINKS:
            raise ValueError(f"link must be one of {list(_LINKS)}, got {shown(self.link)}")
        kinds = {"log": "numbers", "half_logit": "labels"}
        if (kind := kinds.get(self.link or "")) is not None and kind not in self.targets:
            raise ValueError(f"link must not be {self.link!r} with the domain {self.domain!r}, which has no {kind}")

    @property
    def targets(self) -> tuple[str, ...]:  # type: ignore[override]
        """The kinds of y that the loss is for."""
        of_numbers, of_labels, *_ = _DOMAINS[self.domain]
        of_numbers = of_numbers and self.link != "half_logit"
        of_labels = of_labels and self.link != "log"
        return ("numbers",) * of_numbers + ("labels",) * of_labels

    def _values(self, y: ArrayLike, scores: ArrayLike) -> Float:
        (values,) = self._computed("loss", y, scores)
        return values

    def _derivatives(self, y: ArrayLike, scores: ArrayLike) -> tuple[Float, Float]:
        gradient, hessian = self._computed("gradient_hessian", y, scores)
        return gradient, hessian

    def _computed(self, method: str, y: ArrayLike, scores: ArrayLike) -> list[Float]:
        if self.functions is None:
            raise ValueError(self._without_methods())
        cells = _broadcast(y, scores)
        with np.errstate(all="ignore"):
            # The methods take vectors, which they may change.
            found = getattr(self.functions, method)(*(part.flatten() for part in cells))
        parts = (found,) if method == "loss" else found
        return [np.array(part, dtype=np.float64).reshape(cells[0].shape) for part in parts]

    def _without_methods(self) -> str:
        return (
            f"loss must have the methods {' and '.join(_METHODS)}, got that of a model from a file, which has the name "
            f"{self.name!r} of the loss and no code: set the parameter loss to the loss again"
        )

    def _kept(self) -> CustomLoss:
        """What models and their files keep: the same without the methods."""
        return CustomLoss(None, name=self.name, domain=self.domain, link=self.link)


def _broadcast(y: ArrayLike, scores: ArrayLike) -> tuple[Float, Float]:
    one, other = np.broadcast_arrays(floats(y, "y"), floats(scores, "scores"))
    return one, other


def get(loss: object) -> Loss:
    """Return a loss as an object.

    >>> import weald
    >>> weald.loss.get("huber")
    Huber(delta=1.0)

    Parameters
    ----------
    loss : str or object
        The name of a loss of this module, one of its objects, or an object with the methods of `CustomLoss`.

    Returns
    -------
    Loss
        The object itself, the loss of that name with its default parameter, or the object as a `CustomLoss`.
    """
    if isinstance(loss, Loss):
        return loss
    if isclass(loss):
        raise ValueError(f"loss must be a name or an instance, got the class {loss.__name__}")
    if not isinstance(loss, str):
        return CustomLoss(loss)
    if loss not in LOSSES:
        raise ValueError(f"loss must be one of {sorted(LOSSES)}, got {shown(loss)}{did_you_mean(loss, LOSSES)}")
    return LOSSES[loss]()


def names(kind: str) -> list[str]:
    """The names of the losses of the engine for "numbers" or "labels"."""
    return [name for name, cls in LOSSES.items() if kind in cls.targets]


def kept(loss: Loss) -> str | Loss:
    """What models and their files keep of a loss: its name if its parameter has the default value, and no methods."""
    if isinstance(loss, CustomLoss):
        return loss._kept()
    return loss.name if loss == LOSSES[loss.name]() else loss


def supporting(what: str) -> list[str]:
    """The names of the losses with this property in the engine's table."""
    return [name for name, cls in LOSSES.items() if cls._row[what]]  # type: ignore[literal-required]


def _checked(parameter: _weald._LossParameter, value: Any) -> float | tuple[float, ...]:
    """The value of a parameter: a number in its range, or a tuple with one for each output."""

    def fits(one: Any) -> bool:
        is_number = isinstance(one, Real) and not isinstance(one, bool | np.bool_) and is_float(one)
        return is_number and parameter["above"] < float(one) < parameter["below"]

    if isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim == 1):
        if len(value) and all(map(fits, value)):
            return tuple(map(float, value))
    elif fits(value):
        return float(value)
    raise ValueError(
        f"{parameter['name']} must {parameter['must']}: a number, or a list with "
        f"{'several levels' if parameter['name'] == 'quantile' else 'one for each output'}, got {shown(value)}"
    )


def _increasing(levels: tuple[float, ...]) -> tuple[float, ...]:
    """Different levels of quantiles in increasing order."""
    found = tuple(sorted(levels))
    for one, other in itertools.pairwise(found):
        if other - one <= SAME_LEVEL:
            raise ValueError(f"quantile must have different levels, got {other:g} twice")
    return found


def _made(row: _weald._LossRow) -> type[EngineLoss]:
    """The class of a row of the engine's table."""
    parameter = row["parameter"]
    about = _text(row["about"])
    if parameter is not None:
        of_levels = row["name"] == "quantile"
        shape = "n_levels" if of_levels else "n_outputs"
        value = f"{parameter['name']} : float or array-like of shape ({shape},), default={parameter['default']}"
        said = _text(parameter["about"]) + " A list or an array has a value for each output." * (not of_levels)
        about += f"\n\nParameters\n----------\n{value}\n{textwrap.indent(textwrap.fill(said, 116), '    ')}\n"
    own_fields = [] if parameter is None else [(parameter["name"], Any, field(default=parameter["default"]))]
    targets = ("numbers",) * row["of_numbers"] + ("labels",) * row["of_labels"]
    own = {"name": row["name"], "domain": row["domain"], "link": row["link"], "targets": targets, "_row": row}
    namespace = {**own, "__doc__": about, "__module__": __name__}
    cls = make_dataclass(row["type"], own_fields, bases=(EngineLoss,), frozen=True, namespace=namespace)
    return registry.stored(registry.PARTS)(cls)


def _text(text: str) -> str:
    """A text of the engine in lines. Between bars is a magnitude there, and a substitution in docstrings."""
    return textwrap.fill(re.sub(r"\|([^|]+)\|", r"abs(\1)", " ".join(text.split())), 116)


def _table() -> str:
    """The losses and their formulas, for the documentation of the module."""
    lines = []
    for name, cls in LOSSES.items():
        lines += [f'`{cls.__name__}`, "{name}", for {" and ".join(cls.targets)}']
        lines += [textwrap.indent(_text(cls._row["about"]), "    ")]
    return "\n".join(lines)


# The losses of the engine, by name: a class of this module for each.
LOSSES: Mapping[str, type[EngineLoss]] = MappingProxyType({row["name"]: _made(row) for row in _weald.losses()})
globals().update({cls.__name__: cls for cls in LOSSES.values()})
if __doc__ is not None:  # Python may run without docstrings
    __doc__ = __doc__.replace("{table}", _table())

__all__ = ["CustomLoss", "Loss", "get", *(cls.__name__ for cls in LOSSES.values())]
