"""Linear models of labels and classes, for text above all: a weight of each word for each label.

Each label, or each class of an output, has a model of its own: the squared hinge loss, or the log loss, of its samples
against all others, with an L2 penalty, by dual coordinate descent for sixteen labels at a time. Counts of words are enough
as X: whether they are used as they are, scaled to length one, or weighted by inverse document frequency, is part of the
fit.

Sources: Hsieh, Chang, Lin, Keerthi and Sundararajan, "A dual coordinate descent method for large-scale linear SVM", ICML
2008; Yu, Huang and Lin, "Dual coordinate descent methods for logistic regression and maximum entropy models", Machine
Learning 2011.
"""

from __future__ import annotations

from copy import copy
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from weald import _weald
from weald._fit import memory, updates
from weald._fit.base import keep
from weald._fit.finite import Absent, OfPreparedX
from weald._fit.predictions import label_probabilities
from weald._fit.samples import Samples
from weald._fitted.at_once import fitted_at_once, of_one_fit
from weald._fitted.fits import HERE, Fits
from weald._fitted.proof import Proof, check_fitted
from weald._input.checks import Float, Matrix, Number
from weald._input.described import described
from weald._input.sklearn_private import StrOptions
from weald._input.sparse import csr_of
from weald._parameters.types import ClassWeight, MatrixLike, MultiLabel, Prediction, RandomState, fit_context
from weald._ranking import best, ranks
from weald._rounds.linear_start import Added, of_folds
from weald._rounds.progress import Progress

if TYPE_CHECKING:
    from weald._weald import _LinearConfig

__all__ = ["LinearClassifier"]

_FEATURES = {"given", "normalized", "tfidf", "standardized"}
# The C of each loss with which a choice begins.


class LinearProof(Proof):
    """The fitted attributes of linear models under validation."""

    attribute = "_model"
    engine = _weald.LinearModel
    own: ClassVar[dict[str, bool]] = {"_seed": True, "C_": True, updates.PART: False}

    def of_kind(self) -> None:
        self.seed()
        C = self.state["C_"]
        is_positive = type(C) is float and 0 < C < np.inf
        self.need(is_positive, "C_", f"must be a positive number, got {described(C)}")
        if updates.PART in self.state:
            updates.prove_part(self.need, self.state[updates.PART], "labels", self.model.n_outputs)


class LinearClassifier(OfPreparedX):
    """A linear classifier for labels or classes, for text above all.

    For each label, or for each class, it fits a weight of each feature (squared hinge loss or log loss, L2 penalty), in
    time in proportion to the stored entries of X times the labels over sixteen. Held-out samples choose C and features,
    and calibrate probabilities. For dense data with few labels, use a `GradientBoostingClassifier`;
    `weald.inspection.top_features` shows the weights. See `docs/linear.md`.

    >>> import weald
    >>> X, Y = [[2, 0], [1, 0], [0, 1], [0, 3]] * 5, [[1, 0], [1, 0], [0, 1], [0, 1]] * 5  # words and tags
    >>> weald.LinearClassifier(random_state=0).fit(X, Y).predict([[1, 0]])
    array([[1, 0]])

    Parameters
    ----------
    C : float or "auto", default="auto"
        Inverse strength of the L2 penalty, from 1e-9 to 1e9: the loss of each sample is multiplied by it. "auto": one
        of 0.1, 0.3, 1, 3 and 10, or with "log_loss" of ten times these, by the log loss of held-out samples; `C_` is
        the choice.
    loss : {"squared_hinge", "log_loss"}, default="squared_hinge"
        What a sample loses by its margin m, which is its score if it has the label, and the negative score otherwise:
        max(0, 1 - m)², or ln(1 + exp(-m)), which is logistic regression: its margins are log-odds without calibration
        too. The second has better probabilities of text as a rule, the first is faster for many labels: see
        `docs/linear.md`.
    features : {"auto", "given", "normalized", "tfidf", "standardized"}, default="auto"
        What is done with X, in `fit` and in predictions: "normalized" divides each sample by its length; "tfidf" takes
        logarithms of counts of words times inverse document frequencies, then the same; "standardized" gives features,
        dense, mean 0 and variance 1 / n_features. "auto": the best for held-out samples. See
        `docs/linear.md#what-is-done-with-x`.
    intercept_scaling : float, default=0.3
        The value of a constant feature whose weight is the intercept: 0, or from 0.001 to 1000. Intercepts are drawn
        towards -1, which says that a sample does not have the label, the less, the larger this value is. With 0 all are
        -1. With "log_loss", they are drawn towards ln((P + ½) / (N + ½)), for weights P and N of samples with and
        without it.
    tol : float, default=0.1
        A label is fitted when the gradient of no sample is larger than this; with `loss` "log_loss", when the duality
        gap, a bound of what its objective is above its least value, is at most this times the loss of the samples.
    max_iter : int, default=1000
        Maximum number of passes over the samples for each label. If it does not suffice, `fit` warns.
    min_weight : float, default=0.01
        Smaller weights are dropped after the fit, so that models are several times smaller and predict about the same:
        smaller than this share of the label's largest weight or of one, for prepared samples with a mean square length
        of one.
    weight_dtype : {"float32", "float16"}, default="float32"
        The precision of the weights. With "float16", they are rounded after the fit, for predictions too, and files
        take about a third less; memory stays the same. Weights below 2⁻¹⁴ or above 65,504 in magnitude keep a file in
        float32.
    calibrate : bool, default=True
        Whether margins become log-odds by a slope and an intercept for each label, fitted to held-out samples: those of
        three or more classes together, by their softmax. If False, margins are log-odds, `predict` does not change, and
        with given `C` and `features` a fit takes about a third of the time.
    class_weight : "balanced", dict, list of dict or None, default=None
        Weights of the classes, which multiply `sample_weight`. For several outputs, a list of one dict for each output.
        "balanced" raises a ValueError for more than 10 labels.
    multi_label : {"auto", True, False}, default="auto"
        What several columns of y are: labels of 0 and 1 (True), outputs of classes (False), or labels if y is sparse or
        has 0 and 1 alone ("auto"), which a fold may change. See `docs/scikit-learn.md#labels-and-outputs`.
    n_jobs : int or None, default=None
        Number of threads: None is 1, or that of a joblib context, -1 all processors. Results do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Controls the order in which samples are visited. Each call of `fit` draws one seed from it. Results with
        different seeds differ by less than `tol` allows.
    verbose : int, default=0
        Report of the progress: 0, none; 1, a bar or lines; 2, lines. See `docs/faq.md#progress-of-a-fit`.

    Attributes
    ----------
    C_ : float
        The inverse strength of the penalty that the model was fitted with.
    features_ : {"given", "normalized", "tfidf", "standardized"}
        What is done with X.
    n_iter_ : int
        The largest number of passes over the samples, of all labels or classes.
    idf_ : ndarray of shape (n_features,)
        The inverse document frequencies. They exist only with `features_` "tfidf".
    classes_, n_classes_ : ndarray and int, or list of ndarray and list of int
        The classes in increasing order, or the indices of labels, and their number; for several outputs, of each.
    n_outputs_, n_features_in_ : int
        The numbers of outputs and of features.
    feature_names_in_, target_names_in_ : ndarray of str
        The names of features and outputs, if the columns of X and y are strings. `label_names` of `fit` are names of y.
    """

    _proof = LinearProof
    _memory_terms = staticmethod(memory.of_linear)
    _inspected_by = "top_features"
    _threshold = 0.0
    _part_of = "labels"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "loss": [StrOptions({"squared_hinge", "log_loss"})],
        "C": [StrOptions({"auto"}), Number(Real, 1e-9, 1e9, closed="both")],
        "features": [StrOptions(_FEATURES | {"auto"})],
        "calibrate": ["boolean"],
        "class_weight": [dict, list, StrOptions({"balanced"}), None],
        **OfPreparedX._parameter_constraints,
    }

    loss: Literal["squared_hinge", "log_loss"]
    C: float | Literal["auto"]
    features: Literal["auto", "given", "normalized", "tfidf", "standardized"]
    calibrate: bool
    class_weight: ClassWeight

    C_: float
    _model: _weald.LinearModel

    feature_importances_ = Absent(
        "each label has weights of its own; see coef_, weald.inspection.top_features, or "
        "weald.inspection.permutation_importance"
    )

    def __init__(
        self,
        C: float | Literal["auto"] = "auto",
        *,
        loss: Literal["squared_hinge", "log_loss"] = "squared_hinge",
        features: Literal["auto", "given", "normalized", "tfidf", "standardized"] = "auto",
        intercept_scaling: float = 0.3,
        tol: float = 0.1,
        max_iter: int = 1000,
        min_weight: float = 0.01,
        weight_dtype: Literal["float32", "float16"] = "float32",
        calibrate: bool = True,
        class_weight: ClassWeight = None,
        multi_label: MultiLabel = "auto",
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        keep(self, locals())

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: MatrixLike,
        y: MatrixLike,
        sample_weight: ArrayLike | None = None,
        *,
        y_mask: MatrixLike | None = None,
        label_names: ArrayLike | None = None,
        labels: range | None = None,
    ) -> Self:
        """Fit the model to training samples.

        A `ConvergenceWarning` says that some labels were not fitted to the tolerance `tol` within `max_iter` passes,
        and a `UserWarning` that the sample weights are so small together that `C` decides the model, with a factor for
        them.
        A wrong argument or parameter raises a ValueError or TypeError that names it, and too little memory a
        MemoryError before the fit starts. The estimator then stays as it was, as after Ctrl-C.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The training samples: finite numbers such as counts of words. Float32 X that is dense or CSR is used without
            a copy, other X is converted once. Categories raise an error: see `sklearn.preprocessing.OneHotEncoder`.
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_outputs)
            Numbers for regressors; for classifiers classes, or labels: several columns of 0 and 1, or a sparse matrix
            of them, which stays sparse (see `multi_label`). NaN in several columns of floats is an unknown value. Which
            numerical y stay sparse is in `docs/scikit-learn.md#labels-and-outputs`.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Sample weights: finite, not negative, one of them positive. None: all are 1. Of a sample with weight zero
            nothing is read, and one with weight 2 counts exactly as two.
        y_mask : {array-like, sparse matrix} of the shape of y or None, default=None
            True or 1 marks unknown values of y, besides those that are NaN; they are not read. A sample has no part in
            the fit of the labels that are unknown for it. An output without any known value raises a ValueError.
        label_names : array-like of shape (n_labels,) of str or None, default=None
            Distinct names of the labels, which become `target_names_in_`. If y is a frame, they must be those of its
            columns.
        labels : range or None, default=None
            Fit only these columns of y, which must be labels; the others have no weights. Such parts, each fitted to
            all of X and y, can be fitted on several machines and put together by `weald.merge`. `random_state` must
            then be an integer. See `docs/many-machines.md#linear-models`.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        with fitted_at_once(self, anew=True) as new:
            new._fit(X, y, sample_weight, y_mask, label_names, labels)
        return self

    def _fit_columns(
        self, samples: Samples, told: Progress | None, part: tuple[int, int] | None, with_folds: bool
    ) -> _weald._FoldModels | None:
        data, config = (samples.X, samples.target.engine, samples.row_weights), self._config(self._seed)
        found = _weald.fit_linear(*data, config, self._n_threads(), told, samples.mask, part, with_folds)
        self._model, self.C_, folds = found
        return folds

    def _without_out_of_bag(self) -> str | None:
        return None

    def _fit_out_of_bag(
        self,
        X: MatrixLike,
        y: MatrixLike,
        sample_weight: ArrayLike | None,
        min_score: float,
        y_mask: MatrixLike | None = None,
        fits: Fits = HERE,
    ) -> tuple[sparse.csr_array, NDArray[np.intp]]:
        """Fit to labels; return scores of at least `min_score` by models without the fold of each sample, and ones."""
        fit_part = partial(_fit_labels_out_of_bag, min_score=min_score)
        found = fits.in_parts(self, X, y, sample_weight, y_mask, fit_part)
        if found is None:
            scores = fit_part(self, X, y, sample_weight, y_mask, None)
        else:
            self._become(found[0])
            scores = sparse.csr_array(sparse.hstack(found[1], format="csr"))
            scores.sort_indices()
        return scores, np.ones(scores.shape[0], dtype=np.intp)

    def _fit_with_folds(
        self,
        X: MatrixLike,
        y: MatrixLike,
        sample_weight: ArrayLike | None,
        y_mask: MatrixLike | None,
        labels: range | None = None,
    ) -> tuple[Samples, _weald._FoldModels]:
        """Fit; return the checked samples, and the models without each fold, most of which the fit has anyway."""
        with fitted_at_once(self, anew=True) as new:
            found: tuple[Samples, _weald._FoldModels] = new._fit(
                X, y, sample_weight, y_mask, None, labels, with_folds=True
            )
        return found

    def _n_of_parts(self) -> int:
        if self._label_format is None:
            raise ValueError(
                "labels must be None if y has classes: a part of a fit is a range of the columns of y, which must be labels"
            )
        return self.n_outputs_

    def _put_together(self, parts: list[LinearClassifier]) -> None:
        self._model = _weald.LinearModel.merge([(part._model, *part._part[:2]) for part in parts])

    def _columns(self) -> str:
        return f"{self._model.width} labels or classes"

    def _config(self, seed: int) -> _LinearConfig:
        """The parameters in the engine's form."""
        return {
            "loss": self.loss,
            "c": None if self.C == "auto" else float(self.C),
            "features": None if self.features == "auto" else self.features,
            "calibration": bool(self.calibrate),
            **self._config_of_columns(seed),
        }

    def _chosen_parameters(self) -> dict[str, Any]:
        """The parameters that held-out samples have chosen."""
        return {"C": self.C_, "features": self.features_}

    def _config_of_fit(self) -> _LinearConfig:
        """The parameters with what was chosen, in the engine's form."""
        return self._config(self._seed) | {"c": self.C_, "features": self.features_}

    # --- weights -----------------------------------------------------------------------------------------------------

    @property
    @of_one_fit
    def coef_(self) -> sparse.csr_array:
        """The weight of each feature in each column of `decision_function`: a copy, CSR of shape (n_columns, n_features).

        There is a row for each label, one for an output of two classes, and otherwise one for each class of each output.
        They are weights of features after they were prepared as `features_` says.
        """
        model = self._fitted("coef_")
        ptr, columns, values = model.weights()
        by_feature = csr_of((ptr, columns, values), (model.n_features, model.width))
        return sparse.csr_array(by_feature.T)

    @property
    @of_one_fit
    def intercept_(self) -> Float:
        """The intercept of each column of `decision_function`: a copy, of shape (n_columns,)."""
        found: Float = self._fitted("intercept_").intercepts()
        return found

    # --- predictions -------------------------------------------------------------------------------------------------

    def _unit(self) -> float:
        # Scores of the logistic link are half the logits.
        return 1.0 if self._model.link == "softmax" else 2.0

    def _scores_of(self, X: Matrix) -> Float:
        return self._model.predict_scores(X, self._n_threads(X))

    def _decisions(self, scores: Float) -> Prediction:
        found = self._by_output(scores * self._unit())
        is_single = self._label_format is None and self.n_outputs_ == 1 and self.n_classes_ <= 2
        return found[:, 0] if is_single else found

    def _probabilities(self, scores: Float) -> Prediction:
        return self._by_output(self._model.to_predictions(scores))

    @of_one_fit
    def predict_proba(self, X: MatrixLike) -> Prediction:  # noqa: D102  # inherited
        return self._probabilities(self._scores(X))

    @of_one_fit
    def decision_function(self, X: MatrixLike) -> Prediction:  # noqa: D102  # inherited
        check_fitted(self)
        return self._decisions(self._scores(X))

    def _k_best(self, X: Matrix, k: int, marked: Any, *, as_margins: bool) -> tuple[NDArray[np.uint32], Float]:
        n_threads, width = self._n_threads(X), self.n_classes_
        if self._label_format is None:
            of_scores = self._decisions if as_margins else self._probabilities
            of_block = lambda rows: best.by_class(of_scores(self._scores_of(rows)), width)  # noqa: E731
            return best.ranked_blocks(X, k, width, marked, n_threads, of_block)
        indices, scores = self._model.predict_topk(X, k, n_threads, ranks.cells_of(marked))
        return indices, self._of_ranked(scores, as_margins=as_margins)

    def _of_ranked(self, scores: Float, *, as_margins: bool) -> Float:
        """The margins or probabilities of scores of any labels."""
        return scores * self._unit() if as_margins else label_probabilities(scores)

    def _linear_part(self) -> tuple[_weald.LinearModel, Added]:
        return self._model, "scores"

    def _at_least(self, X: Matrix, floor: float) -> Matrix:
        def of_block(rows: Matrix) -> sparse.csr_array:
            return best.at_least(self._probabilities(self._scores_of(rows)), floor)

        return best.stacked(X, self.n_outputs_, of_block)


def _fit_labels_out_of_bag(
    model: LinearClassifier,
    X: MatrixLike,
    y: MatrixLike,
    sample_weight: ArrayLike | None,
    y_mask: MatrixLike | None,
    labels: range | None,
    *,
    min_score: float,
) -> sparse.csr_array:
    """Fit some labels, or all for None; return their scores by the models without the fold of each sample."""
    samples, folds = model._fit_with_folds(X, y, sample_weight, y_mask, labels)
    found, rows = [], []
    for without_fold, of_fold, X_of_fold in of_folds(samples.X, folds):
        without = copy(model)
        without._model = without_fold
        scores = without._at_least(X_of_fold, min_score)
        found.append(scores if labels is None else scores[:, labels.start : labels.stop])
        rows.append(of_fold)
    scores = sparse.csr_array(sparse.vstack(found, format="csr")[np.argsort(np.concatenate(rows))])
    scores.sort_indices()
    return scores
