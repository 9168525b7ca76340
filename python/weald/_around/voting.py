"""What `VotingClassifier` and `VotingRegressor` compute: means of what their estimators predict."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import is_classifier, is_regressor

from weald._around.members import BaseVoting, is_own, mean_of
from weald._fit.named_outputs import NamedLabels
from weald._fitted.at_once import fitted_at_once, of_one_fit
from weald._fitted.fits import HERE, Fits
from weald._fitted.proof import is_label_format
from weald._input import targets
from weald._input.checks import Float
from weald._input.described import described, kind_of
from weald._input.sparse import is_sparse
from weald._input.targets import LabelFormat, Target, label_classes
from weald._input.y_columns import kind_of_classes
from weald._labels import label_scores
from weald._labels.around import LabelsAround
from weald._ranking import outputs
from weald._ranking.outputs import classes_of
from weald._ranking.pipelines import apart


class BaseVotingRegressor(BaseVoting):
    """What `VotingRegressor` computes."""

    _is_kind = staticmethod(is_regressor)
    _kind = "regressors"
    _other = "VotingClassifier is for classifiers"

    def _target(self, kept: list[tuple[str, Any]], y: Any, weights: Float | None, n_samples: int, mask: Any) -> Target:
        rules: dict[str, Any] = {"warn_column": False, "weights": weights, "keeps_sparse": True}
        return targets.numbers(y, n_samples, type(self).__name__, masks=True, y_mask=mask, **rules)

    def _of_member(self, model: Any, name: str, X: Any) -> Any:
        found = model.predict(X)
        if is_sparse(found):
            outputs.check_values(found.data, outputs.called(model, "predict"), is_proba=False)
            return self._checked_width(found, name)
        found = outputs.checked(model, "predict", found, self._n_samples(X))
        return self._checked_width(found.reshape(len(found), -1), name)


class BaseVotingClassifier(NamedLabels, BaseVoting):
    """What `VotingClassifier` computes."""

    _is_kind = staticmethod(is_classifier)
    _kind = "classifiers"
    _other = "VotingRegressor is for regressors"

    voting: str

    # The classes of each output, or None for labels.
    _classes: list[NDArray[Any]] | None
    _label_format: LabelFormat | None

    _stored = ("n_outputs_", "_classes", "_label_format")

    def _validate_params(self) -> None:
        super()._validate_params()
        if not isinstance(self.voting, str) or self.voting != "soft":
            raise ValueError(
                f"voting must be 'soft', as probabilities are averaged, got {self.voting!r}: sklearn.ensemble.VotingClassifier "
                "counts votes"
            )
        self._multi_label(self._kept())

    def _check_kind(self, name: str, estimator: Any) -> None:
        super()._check_kind(name, estimator)
        final = apart(estimator)[0]
        # Whether estimators of weald have probabilities may depend on y.
        if not is_own(final) and not hasattr(estimator, "predict_proba"):
            raise TypeError(f"estimators must have predict_proba, which {kind_of(final)} as {name!r} has not")

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

    def _target(self, kept: list[tuple[str, Any]], y: Any, weights: Float | None, n_samples: int, mask: Any) -> Target:
        rules: dict[str, Any] = {"warn_column": False, "multi_label": self._multi_label(kept)}
        return targets.classes(y, weights, n_samples, type(self).__name__, masks=True, y_mask=mask, **rules)

    def _set_columns(self, target: Target) -> None:
        self._label_format = target.label_format
        super()._set_columns(target)
        self._classes = self._classes_of_all(target.classes) if target.kind == "classes" else None

    def _classes_of_all(self, classes: list[NDArray[Any]]) -> list[NDArray[Any]]:
        """The classes of y, with those that estimators have in addition, which were fitted before."""
        for name, model in self._members():
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
        for name, model in self._members():
            final = apart(model)[0]
            if not hasattr(model, "predict_proba"):
                raise TypeError(
                    f"estimators must have predict_proba, which {kind_of(final)} as {name!r} has not after its fit"
                )
            has_label_format = getattr(final, "_label_format", None) is not None
            if is_own(final) and has_label_format != (self._label_format is not None):
                there, here = ("labels", "classes") if has_label_format else ("classes", "labels")
                raise ValueError(f"y must have {there}, as in the fit of the estimator {name!r}, got {here}")
        super()._check_members()

    @property
    @of_one_fit
    def classes_(self) -> Any:
        """The classes, for several outputs a list of them; or the indices of the labels."""
        self._of_first("classes_", lambda _: None)
        if self._classes is None:
            return label_classes(self.n_outputs_)
        return self._classes[0] if self.n_outputs_ == 1 else list(self._classes)

    @property
    @of_one_fit
    def n_classes_(self) -> Any:
        """The number of classes, for several outputs a list of them; or the number of labels."""
        self._of_first("n_classes_", lambda _: None)
        if self._classes is None:
            return self.n_outputs_
        sizes = [len(found) for found in self._classes]
        return sizes[0] if self.n_outputs_ == 1 else sizes

    def _without_out_of_bag(self) -> str | None:
        """Why there are no out-of-bag scores of the mean, or None."""
        kept = self._kept()
        for (_, estimator), weight in zip(kept, self._checked_weights(kept), strict=True):
            if weight and (why := label_scores.without_out_of_bag(estimator)) is not None:
                return why
        return None

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
            weights = new.weights_[new.weights_ > 0].tolist()
        mean = mean_of([scores for scores, _ in found], weights)
        mean.data[mean.data < min_score] = 0.0
        mean.eliminate_zeros()
        mean.sort_indices()
        return mean, np.all([known for _, known in found], axis=0).astype(np.intp)

    def _of_member(self, model: Any, name: str, X: Any) -> Any:
        n = self._n_samples(X)
        if self._classes is None:
            if self.n_outputs_ == 1 and getattr(apart(model)[0], "_label_format", None) is None:
                # Others take a single label for two classes.
                [(found, classes)] = outputs.probabilities(model, X, n)
                return outputs.of_one_label(found, classes, outputs.called(model, "predict_proba")).reshape(-1, 1)
            return self._checked_width(outputs.of_labels(model, "predict_proba", X, n), name)
        pairs = zip(outputs.probabilities(model, X, n), self._classes, strict=True)
        wide = [outputs.in_columns(part, known, wanted, f"estimator {name!r}") for (part, known), wanted in pairs]
        return wide[0] if self.n_outputs_ == 1 else wide

    def _blocks(self, X: Any) -> Iterator[Any]:
        """Blocks of samples with about eight million scores."""
        return label_scores.blocks_of(X, self.n_outputs_)

    def _prove_columns(self) -> None:
        form, classes, need = self._label_format, self._classes, self._need
        need(
            form is None or is_label_format(form), "_label_format", f"must be a format of labels, got {described(form)}"
        )
        if form is not None:
            need(classes is None, "_classes", f"must be None for labels, got {described(classes)}")
            return
        are_arrays = (
            isinstance(classes, list)
            and len(classes) == self.n_outputs_
            and all(isinstance(part, np.ndarray) and part.ndim == 1 and len(part) for part in classes)
        )
        need(are_arrays, "_classes", f"must have {self.n_outputs_} arrays of classes, got {described(classes)}")
        assert classes is not None
        known = [classes_of(model) for model in self.estimators_]
        for j, part in enumerate(classes):
            need(np.array_equal(np.unique(part), part), "_classes", "must be distinct and in increasing order")
            fits = all(len(of_model) == len(classes) and np.isin(of_model[j], part).all() for of_model in known)
            need(fits, "_classes", "must have all classes of the estimators")
