"""The base class of `Mean`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
from joblib import parallel_config
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import MetaEstimatorMixin, clone, is_classifier, is_regressor
from sklearn.frozen import FrozenEstimator

from weald._fit.named_outputs import BestLabels, NamedOutputs
from weald._fit.predictions import known_target
from weald._fitted.around import prove_names
from weald._fitted.at_once import FittedAsOne, fitted_at_once, of_one_fit
from weald._fitted.fits import HERE, Fits
from weald._fitted.proof import check_fitted, is_label_format
from weald._input import checks, frames, registry, targets
from weald._input.checks import Float, is_integer
from weald._input.described import described, kind_of
from weald._input.frames import CONTAINERS, OUTPUT
from weald._input.sklearn_private import BaseComposition, safe_indexing
from weald._input.sparse import is_sparse
from weald._input.targets import LabelFormat, Target, label_classes
from weald._input.y_columns import kind_of_classes
from weald._labels import label_scores
from weald._labels.around import LabelsAround
from weald._mean.members import check_takes_weights, is_dropped, is_own, mean_of, of_member
from weald._ranking import outputs
from weald._ranking.outputs import classes_of
from weald._ranking.pipelines import apart

_ACCEPTED = "a list of pairs (name, estimator)"
# Attributes that a fitted estimator may have.
_OPTIONAL = {"target_names_in_", OUTPUT}


class BaseMean(BestLabels, NamedOutputs, MetaEstimatorMixin, FittedAsOne, BaseComposition):  # type: ignore[misc]
    """What `Mean` computes."""

    estimators: Sequence[tuple[str, Any]]
    weights: ArrayLike | None
    n_jobs: int | None

    estimators_: list[Any]
    weights_: Float
    classes_: Any
    n_classes_: Any
    n_outputs_: int
    _label_format: LabelFormat | None
    # The names of the fitted estimators.
    _names: list[str]

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        registry.add(registry.META_ESTIMATORS, cls)

    def _validate_params(self) -> None:
        kept = self._kept()
        self._checked_weights(kept)
        if self.n_jobs is not None and not is_integer(self.n_jobs):
            raise ValueError(f"n_jobs must be an integer or None, got {described(self.n_jobs)}")
        if self.n_jobs == 0:
            raise ValueError("n_jobs must not be 0: 1 is one thread, and -1 are all processors")
        self._multi_label(kept)

    def _kept(self) -> list[tuple[str, Any]]:
        """The checked pairs of `estimators` that are not dropped."""
        given = self.estimators
        if not isinstance(given, list | tuple) or not given:
            raise ValueError(f"estimators must be {_ACCEPTED}, got {described(given)}")
        for pair in given:
            if not isinstance(pair, list | tuple) or len(pair) != 2 or not isinstance(pair[0], str):
                raise ValueError(f"estimators must be {_ACCEPTED}, got the item {described(pair)}")
        self._validate_names([name for name, _ in given])
        kept = [(name, estimator) for name, estimator in given if not is_dropped(estimator)]
        if not kept:
            raise ValueError("estimators must have one that is not 'drop'")
        for name, estimator in kept:
            if isinstance(estimator, type) or not hasattr(estimator, "fit"):
                raise TypeError(f"estimators must be instances with a method fit, got {kind_of(estimator)} as {name!r}")
            if not is_classifier(estimator) and not is_regressor(estimator):
                raise TypeError(
                    f"estimators must be classifiers or regressors, got {kind_of(apart(estimator)[0])} as {name!r}"
                )
            final = apart(estimator)[0]
            # Whether estimators of weald have probabilities may depend on y.
            if is_classifier(estimator) and not is_own(final) and not hasattr(estimator, "predict_proba"):
                raise TypeError(f"estimators must have predict_proba, which {kind_of(final)} as {name!r} has not")
        first = kept[0]
        for name, estimator in kept:
            if is_classifier(estimator) != is_classifier(first[1]):
                one, other = (name, first[0]) if is_classifier(estimator) else (first[0], name)
                raise ValueError(
                    "estimators must all be classifiers or all be regressors, got "
                    f"the classifier {one!r} and the regressor {other!r}"
                )
        return kept

    def _checked_weights(self, kept: list[tuple[str, Any]]) -> Float:
        """The weights of the estimators that are not dropped, divided by the largest one."""
        if self.weights is None:
            return np.ones(len(kept))
        found = checks.floats(self.weights, "weights", "a list of numbers")
        n = len(self.estimators)
        if found.shape != (n,):
            raise ValueError(f"weights must have shape ({n},), one weight for each estimator, got {found.shape}")
        if not np.isfinite(found).all() or (found < 0).any():
            wrong = found[~(np.isfinite(found) & (found >= 0))][0]
            raise ValueError(f"weights must be finite numbers that are not negative, got {wrong:g}")
        found = found[[not is_dropped(estimator) for _, estimator in self.estimators]]
        if not found.any():
            raise ValueError("weights must be positive for at least one estimator, got zero for every one")
        weights: Float = found / found.max()
        return weights

    def _multi_label(self, kept: list[tuple[str, Any]]) -> Any:
        """The parameter `multi_label` of all estimators that have it; True if one of them takes labels alone."""
        found: dict[Any, str] = {}
        for name, estimator in kept:
            final = apart(estimator)[0]
            if isinstance(final, LabelsAround):
                return True
            if (value := getattr(final, "multi_label", None)) is not None:
                found.setdefault(value if isinstance(value, str) else bool(value), name)
        if len(found) > 1:
            (one, first), (other, second) = list(found.items())[:2]
            raise ValueError(
                f"estimators must have the same multi_label, got {one!r} in {first!r} and {other!r} in {second!r}"
            )
        return next(iter(found), "auto")

    @property
    def _masks_y(self) -> bool:
        """Whether all estimators that are fitted support unknown values of y."""
        return self._without_masks() is None

    def _without_masks(self) -> str | None:
        """The name of an estimator that is fitted and does not support unknown values of y."""
        for name, estimator in self._kept():
            if not isinstance(estimator, FrozenEstimator) and not getattr(apart(estimator)[0], "_masks_y", False):
                return name
        return None

    def _without_out_of_bag(self, n_labels: int) -> str | None:
        """Why there are no out-of-bag scores of the mean, or None."""
        kept = self._kept()
        for (_, estimator), weight in zip(kept, self._checked_weights(kept), strict=True):
            if weight and (why := label_scores.without_out_of_bag(estimator, n_labels)) is not None:
                return why
        return None

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: object,
        y_mask: Any,
        label_names: object,
        fit: Callable[..., Any],
    ) -> Target:
        """Fit all members by `fit`, which returns the fitted estimator, and set the attributes."""
        name = type(self).__name__
        checks.check_is_given(y, name)
        kept = self._kept()
        n = checks.count_samples(X)
        weights = checks.check_weights(sample_weight, n)
        if is_classifier(self):
            options: dict[str, Any] = {"warn_column": False, "multi_label": self._multi_label(kept)}
            target = targets.classes(y, weights, n, name, masks=True, y_mask=y_mask, **options)
        else:
            rules: dict[str, Any] = {"warn_column": False, "weights": weights, "keeps_sparse": True}
            target = targets.numbers(y, n, name, masks=True, y_mask=y_mask, **rules)
        target = targets.with_label_names(target, label_names, y_mask)
        if target.mask is None:
            y_mask = None
        elif (which := self._without_masks()) is not None:
            raise ValueError(
                f"{kind_of(apart(dict(kept)[which])[0])} as {which!r} does not support y with masked entries: estimators "
                "must be of weald and support them, or be fitted ones in FrozenEstimator"
            )
        members = []
        for which, estimator in kept:
            with of_member(which), self._threads():
                rows, own = None, is_own(apart(estimator)[0])
                values = y
                if not own and target.label_format is not None and target.n_outputs == 1:
                    # Others take a single label for two classes.
                    values = target.original.toarray()[:, 0].astype(target.label_format.dtype)
                if weights is not None and not own and not isinstance(estimator, FrozenEstimator):
                    check_takes_weights(which, estimator)
                    rows = checks.rows_there(weights)
                if isinstance(estimator, FrozenEstimator):
                    # Whether it takes such samples.
                    estimator.predict(safe_indexing(X.tocsr() if is_sparse(X) else X, [0]))
                if rows is None or weights is None:
                    members.append(fit(estimator, X, values, weights, y_mask))
                else:
                    there = [safe_indexing(part.tocsr() if is_sparse(part) else part, rows) for part in (X, values)]
                    members.append(fit(estimator, *there, weights[rows], None))
        self.estimators_, self._names = members, [which for which, _ in kept]
        self.weights_ = self._checked_weights(kept)
        self.n_outputs_, self._label_format = target.n_outputs, target.label_format
        self.__dict__.pop("target_names_in_", None)
        if target.names is not None:
            self.target_names_in_ = target.names
        self._check_members()
        if is_classifier(self):
            self._set_classes(self._classes_of_all(target.classes) if target.kind == "classes" else None)
        return target

    def _fit_out_of_bag(
        self, X: Any, y: Any, sample_weight: object, min_score: float, y_mask: Any = None, fits: Fits = HERE
    ) -> tuple[sparse.csr_array, NDArray[np.intp]]:
        """Fit to labels; return out-of-bag scores of at least `min_score`, and whether each sample has any, as a number."""
        found: list[tuple[sparse.csr_array, NDArray[np.bool_]]] = []
        kept = self._kept()
        used = iter(self._checked_weights(kept) > 0)

        def fit(estimator: Any, X: Any, y: Any, weights: object, mask: object) -> Any:
            if not next(used):
                return fits.start(estimator, X, y, weights, mask)()
            model, scores, known = label_scores.out_of_bag(fits, estimator, X, y, weights, 0.0, mask)
            found.append((scores, known))
            return model

        with fitted_at_once(self, anew=True) as new:
            new._fit(X, y, sample_weight, y_mask, None, fit)
            weights = new.weights_[new.weights_ > 0]
        mean = mean_of([scores for scores, _ in found], weights)
        mean.data[mean.data < min_score] = 0.0
        mean.eliminate_zeros()
        mean.sort_indices()
        return mean, np.all([known for _, known in found], axis=0).astype(np.intp)

    def _set_classes(self, classes: list[NDArray[Any]] | None) -> None:
        """Set the attributes of classes, or of labels for None."""
        if classes is None:
            self.classes_, self.n_classes_ = label_classes(self.n_outputs_), self.n_outputs_
            return
        single = self.n_outputs_ == 1
        self.classes_ = classes[0] if single else classes
        self.n_classes_ = len(classes[0]) if single else [len(found) for found in classes]

    def _classes_of_all(self, classes: list[NDArray[Any]]) -> list[NDArray[Any]]:
        """The classes of y, with those that estimators have in addition, which were fitted before."""
        for name, model in zip(self._names, self.estimators_, strict=True):
            known = classes_of(model)
            if len(known) != len(classes):
                raise ValueError(
                    f"y must have {len(known)} outputs, as in the fit of the estimator {name!r}, got {len(classes)}"
                )
            for j, (one, other) in enumerate(zip(known, classes, strict=True)):
                if np.array_equal(one, other):
                    continue
                # NumPy would make texts of numbers beside texts.
                if kind_of_classes(one) != kind_of_classes(other):
                    raise ValueError(
                        f"y must have classes of the type of those of the estimator {name!r}, {one[:1].tolist()[0]!r}, "
                        f"got {other[:1].tolist()[0]!r}"
                    )
                classes = [*classes[:j], np.union1d(other, one), *classes[j + 1 :]]
        return classes

    def _check_members(self) -> None:
        """Raise for fitted estimators whose outputs are not those of y."""
        for name, model in zip(self._names, self.estimators_, strict=True):
            final = apart(model)[0]
            if is_classifier(model) and not hasattr(model, "predict_proba"):
                raise TypeError(
                    f"estimators must have predict_proba, which {kind_of(final)} as {name!r} has not after its fit"
                )
            if not is_own(final):
                continue
            if final.n_outputs_ != self.n_outputs_:
                raise ValueError(
                    f"y must have {final.n_outputs_} outputs, as in the fit of the estimator {name!r}, got "
                    f"{self.n_outputs_}"
                )
            has_label_format = getattr(final, "_label_format", None) is not None
            if has_label_format != (self._label_format is not None):
                there, here = ("labels", "classes") if has_label_format else ("classes", "labels")
                raise ValueError(f"y must have {there}, as in the fit of the estimator {name!r}, got {here}")
            own = getattr(final, "target_names_in_", None)
            if (where := frames.different(getattr(self, "target_names_in_", None), own)) is not None:
                raise ValueError(f"y must have {where}: outputs must be those of the fit of the estimator {name!r}")

    @contextmanager
    def _threads(self) -> Iterator[None]:
        """Gives this number of threads to estimators that leave theirs open."""
        with nullcontext() if self.n_jobs is None else parallel_config(n_jobs=int(self.n_jobs)):
            yield

    def _used(self) -> Iterator[tuple[Any, str]]:
        """The estimators with a positive weight, and their names."""
        for model, name, weight in zip(self.estimators_, self._names, self.weights_, strict=True):
            if weight > 0:
                yield model, name

    def _mean(self, X: Any) -> Any:
        """The mean of the probabilities, in the form of `predict_proba`, or of the predicted numbers as columns."""
        check_fitted(self)
        of_members = self._probabilities if hasattr(self, "classes_") else self._numbers
        with self._threads():
            found = [of_members(model, name, X) for model, name in self._used()]
        weights = self.weights_[self.weights_ > 0]
        if isinstance(found[0], list):
            return [mean_of(list(parts), weights) for parts in zip(*found, strict=True)]
        return mean_of(found, weights)

    def _probabilities(self, model: Any, name: str, X: Any) -> Any:
        if self._label_format is not None:
            return self._of_labels(model, name, X)
        classes = [self.classes_] if self.n_outputs_ == 1 else self.classes_
        found = outputs.probabilities(model, X, self._n_samples(X))
        wide = [
            outputs.in_columns(part, known, wanted, f"estimator {name!r}")
            for (part, known), wanted in zip(found, classes, strict=True)
        ]
        return wide[0] if self.n_outputs_ == 1 else wide

    def _of_labels(self, model: Any, name: str, X: Any) -> Any:
        n = self._n_samples(X)
        if self.n_outputs_ == 1 and getattr(apart(model)[0], "_label_format", None) is None:
            # As above, of others.
            [(found, classes)] = outputs.probabilities(model, X, n)
            return outputs.of_one_label(found, classes, outputs.called(model, "predict_proba")).reshape(-1, 1)
        return self._checked_width(outputs.of_labels(model, "predict_proba", X, n), name)

    def _numbers(self, model: Any, name: str, X: Any) -> Any:
        found = model.predict(X)
        if is_sparse(found):
            outputs.check_values(found.data, outputs.called(model, "predict"), is_proba=False)
            return self._checked_width(found, name)
        found = outputs.checked(model, "predict", found, self._n_samples(X))
        return self._checked_width(found.reshape(len(found), -1), name)

    def _checked_width(self, found: Any, name: str) -> Any:
        if found.shape[1] != self.n_outputs_:
            raise ValueError(
                f"estimators must have {self.n_outputs_} outputs, the number of columns of y, got {found.shape[1]} from "
                f"{name!r}"
            )
        return found

    def _blocks(self, X: Any) -> Iterator[Any]:
        """Blocks of samples with about eight million scores."""
        return label_scores.blocks_of(X, self.n_outputs_)

    def _n_samples(self, X: Any) -> int:
        return checks.count_samples(X)

    def _known_target(self) -> Target:
        return known_target(self)

    def _fitted_names(self) -> Set[str]:
        own = {"estimators_", "_names", "weights_", "classes_", "n_classes_", "n_outputs_", "_label_format"}
        return own | {"target_names_in_"}

    @of_one_fit
    def _parts_of_members(self) -> tuple[list[tuple[str, Any, bool]], dict[str, Any], dict[str, Any]]:
        """Names and fitted estimators, and whether these were frozen; the parameters, and the fitted attributes.

        Parameters that are frozen estimators are None in the list.
        """
        members = []
        for name, model in zip(self._names, self.estimators_, strict=True):
            inner = model
            while isinstance(inner, FrozenEstimator):
                inner = inner.estimator
            members.append((name, inner, inner is not model))
        params = self.get_params(deep=False)
        params["estimators"] = [
            (name, None if isinstance(found, FrozenEstimator) else found if is_dropped(found) else clone(found))
            for name, found in params["estimators"]
        ]
        fitted: dict[str, Any] = {"n_outputs_": self.n_outputs_, "weights_": self.weights_.tolist()}
        if hasattr(self, "classes_"):
            fitted["_label_format"] = self._label_format
            if self._label_format is None:
                fitted["classes_"] = self.classes_
        fitted |= {name: self.__dict__[name] for name in _OPTIONAL if name in self.__dict__}
        return members, params, fitted

    def _put_together(self, members: list[tuple[str, Any, bool]], fitted: dict[str, Any]) -> None:
        """Set the attributes from parts of `_parts_of_members` that a file contains, after validation."""

        def need(holds: object, attribute: str, why: str) -> None:
            if not holds:
                raise ValueError(f"{type(self).__name__}: {attribute} {why}")

        need(members, "estimators_", "must have at least one estimator")
        names = [name for name, _, _ in members]
        need(all(type(name) is str for name in names), "estimators_", "must have strings as names")
        need(len(set(names)) == len(names), "estimators_", "must have distinct names, got a name twice")
        kind = is_classifier if is_classifier(members[0][1]) else is_regressor
        for _, inner, _ in members:
            final = apart(inner)[0]
            is_fitted = kind(inner) and (not is_own(final) or hasattr(final, "n_outputs_"))
            need(is_fitted, "estimators_", f"must be fitted classifiers or fitted regressors, got {described(inner)}")
        expected = {"n_outputs_", "weights_", *(("_label_format",) if kind is is_classifier else ())}
        form = fitted.get("_label_format")
        if kind is is_classifier and form is None:
            expected |= {"classes_"}
        wrong = sorted(expected ^ (fitted.keys() - _OPTIONAL))
        need(not wrong, "attributes", f"must be {sorted(expected)}, got {sorted(fitted)}")
        n_outputs, weights = fitted["n_outputs_"], fitted["weights_"]
        need(
            type(n_outputs) is int and n_outputs > 0,
            "n_outputs_",
            f"must be a positive integer, got {described(n_outputs)}",
        )
        are_weights = (
            isinstance(weights, list)
            and len(weights) == len(members)
            and all(type(weight) is float and 0 <= weight <= 1 for weight in weights)
            and max(weights) == 1
        )
        need(are_weights, "weights_", f"must be {len(members)} floats from 0 to 1, the largest of them 1")
        need(
            form is None or is_label_format(form), "_label_format", f"must be a format of labels, got {described(form)}"
        )
        if "target_names_in_" in fitted:
            prove_names(need, "target_names_in_", fitted["target_names_in_"], n_outputs)
        if OUTPUT in fitted:
            container = fitted[OUTPUT]
            is_known = type(container) is str and container in CONTAINERS
            need(is_known, OUTPUT, f"must be one of {', '.join(CONTAINERS)}, got {described(container)}")
        self.__dict__.update({name: fitted[name] for name in _OPTIONAL if name in fitted})
        self.estimators_ = [FrozenEstimator(inner) if is_frozen else inner for _, inner, is_frozen in members]
        self._names, self.weights_ = names, np.array(weights)
        self.n_outputs_, self._label_format = n_outputs, form
        try:
            self._check_members()
            if kind is is_classifier:
                self._set_classes(None if form is not None else self._proven_classes(need, fitted["classes_"]))
        except TypeError as error:
            raise ValueError(f"{type(self).__name__}: {error}") from error

    def _proven_classes(self, need: Callable[[Any, str, str], None], found: Any) -> list[NDArray[Any]]:
        classes = [found] if self.n_outputs_ == 1 else found
        are_arrays = (
            isinstance(classes, list)
            and len(classes) == self.n_outputs_
            and all(isinstance(part, np.ndarray) and part.ndim == 1 and len(part) for part in classes)
        )
        need(are_arrays, "classes_", f"must have {self.n_outputs_} arrays of classes, got {described(found)}")
        for j, part in enumerate(classes):
            need(np.array_equal(np.unique(part), part), "classes_", "must be distinct and in increasing order")
            known = [classes_of(model) for model in self.estimators_]
            fits = all(len(of_model) == len(classes) and np.isin(of_model[j], part).all() for of_model in known)
            need(fits, "classes_", "must have all classes of the estimators")
        return list(classes)

    def __setstate__(self, state: dict[str, Any]) -> None:
        # States from pickle, joblib and skops come from an untrusted source.
        if "estimators_" in state:
            proven = object.__new__(type(self))
            proven.__dict__.update(state)
            members, _, fitted = proven._parts_of_members()
            proven._put_together(members, fitted)
        super().__setstate__(state)
