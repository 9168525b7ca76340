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
from weald._fitted.proof import OF_SEED, Proof, Row, check_fitted, must
from weald._input.checks import Float, Matrix, Number
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
    own: ClassVar[dict[str, Row]] = {
        **OF_SEED,
        "C_": (True, must("be a positive number", lambda C, _: type(C) is float and 0 < C < np.inf)),
        updates.PART: (False, lambda part, model: updates.fault_of_part(part, "labels", model.n_outputs)),
    }


class LinearClassifier(OfPreparedX):
    """A linear classifier for labels or classes, for text above all.

    For each label, or for each class, it fits a weight of each feature, so that samples with the label have positive
    scores and the others negative ones (squared hinge loss or log loss, L2 penalty). Probabilities are a logistic function
    of the scores.

    Parameters
    ----------
    C : float or "auto", default="auto"
        Inverse strength of the L2 penalty, from 1e-9 to 1e9: the loss of each sample is multiplied by it. "auto": one of
        0.1, 0.3, 1, 3 and 10, or of ten times these numbers with `loss` "log_loss", by the log loss of held-out samples; `C_` is
        the choice.
    loss : {"squared_hinge", "log_loss"}, default="squared_hinge"
        What a sample loses by its margin m, which is its score if it has the label, and the negative score otherwise:

        - "squared_hinge": max(0, 1 - m)²;
        - "log_loss": ln(1 + exp(-m)), which is logistic regression: the margins are log-odds, also without calibration.
          Probabilities of text are better as a rule, and the best label is right a little less often. Each sample has its say
          about each label, so that fits with many rare labels take longer, and models are larger.
    features : {"auto", "given", "normalized", "tfidf", "standardized"}, default="auto"
        What is done with X, in `fit` and in predictions. What is learned for it is part of the model:

        - "given": nothing;
        - "normalized": each sample is divided by its length √(Σ x²);
        - "tfidf": for counts of words x, sign(x) ln(1 + abs(x)) times the inverse document frequency of the word,
          1 + ln((1 + n) / (1 + n with the word)), and then each sample is divided by its length;
        - "standardized": for numbers of different units, the difference from the mean of a feature divided by its standard
          deviation and by √n_features. X becomes dense during the fit;
        - "auto": the one with the least log loss of held-out samples, or that ranks their labels best (nDCG of the five best) if
          there are more than 256, among those that suit X. Standardised features are tried only if at least a tenth of the cells
          of X are not zero; tf-idf, if at most a quarter are not, and none is negative; X as it is given, if its samples are not
          long (a mean square of their lengths of at most 100), nor of length one.
    intercept_scaling : float, default=0.3
        The value of a constant feature whose weight is the intercept: 0, or from 0.001 to 1000. Intercepts are drawn towards
        -1, which says that a sample does not have the label, and the less so, the larger this value is. With 0 all intercepts
        are -1.
        With `loss` "log_loss" they are drawn towards ln((P + ½) / (N + ½)) instead, where P and N are the weights of the samples
        with and without the label.
    tol : float, default=0.1
        A label is fitted when the gradient of no sample is larger than this. With `loss` "log_loss", when the duality gap of its
        objective is at most this times the loss of the samples; the gap is a bound of what the objective is above its least value.
    max_iter : int, default=1000
        Maximum number of passes over the samples for each label. If it does not suffice, `fit` warns.
    min_weight : float, default=0.01
        Weights that are smaller in magnitude are dropped after the fit, as if samples of X, prepared as `features` says, had a mean
        square of their lengths of one: of X as it is given, those below `min_weight` divided by the root of that mean. Of labels
        whose largest weight is below one, it is this share of it. Models are then several times smaller, with hardly any
        difference in predictions.
    weight_dtype : {"float32", "float16"}, default="float32"
        The precision of the weights. With "float16", they are rounded after the fit, for predictions too, and
        model files take about a third less; memory stays the same. Weights below 2⁻¹⁴ or above 65,504 in magnitude are not
        rounded: with one of them, for example with a `min_weight` of 0, a file has all weights in float32.
    calibrate : bool, default=True
        Whether margins are turned into log-odds by a slope and an intercept for each label, fitted to the margins of held-out
        samples: those of three or more classes together, by the log loss of their softmax. If False, the margins are the
        log-odds, `predict` is not affected by held-out samples, and with a given `C` and `features` a fit takes about a third of
        the time.
    class_weight : "balanced", dict, list of dict or None, default=None
        Weights of the classes, which multiply `sample_weight`. For several outputs, a list of one dict for each output.
        "balanced" raises a ValueError for more than 10 labels.
    multi_label : {"auto", True, False}, default="auto"
        How y with several columns is interpreted:

        - True: each column is a label and holds 0 or 1. A single column of shape (n_samples, 1) is then one label.
        - False: each column is an output of classes.
        - "auto": labels if y is sparse, or if y has several columns of dtype bool, integer or float whose values are all 0
          or 1. This is what `sklearn.utils.multiclass.type_of_target` calls "multilabel-indicator", except that only the
          values 0 and 1 count. The answer depends on the samples: pass True or False if a fold may lack a class.
    n_jobs : int or None, default=None
        Number of threads. None means 1, unless a joblib context sets another number; -1 means all processors. The results
        do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Controls the order in which samples are visited. Each call of `fit` draws one seed from it. Results with different
        seeds differ by less than `tol` allows.
    verbose : int, default=0
        How the progress of `fit` is reported:

        - 0: not at all.
        - 1: on standard error by a bar, with the estimated time left, if that is a terminal (other than TERM=dumb).
          Elsewhere, in logs and notebooks for example, by lines on standard output: for each of the first ten trees, rounds
          or steps, then for every tenth, from the hundredth for every hundredth, and so on, for the last one, and after ten
          seconds or a tenth of the time so far without a line.
        - Above 1: by lines alone. Boosting prints one for each round; forests print one whenever there are new trees, at
          most twenty in a second.

        A line contains the estimator, what is done of how much, the losses of boosting (and the last value of
        `oob_improvement_` if `subsample` is below 1), the time so far and the estimated time left. An error of the stream,
        such as that of a broken pipe, ends the report and not the fit.

    Attributes
    ----------
    C_ : float
        The inverse strength of the penalty that the model was fitted with.
    features_ : {"given", "normalized", "tfidf", "standardized"}
        What is done with X.
    coef_ : sparse array of shape (n_columns, n_features)
        The weights of features, as CSR: of X as `features_` prepares it, and of X as it is given if these are "standardized".
        There is a row for each label, one for an output of two classes, and otherwise one for each class of each output. Each
        access makes a copy.
    intercept_ : ndarray of shape (n_columns,)
        The intercepts.
    n_iter_ : int
        The largest number of passes over the samples, of all labels or classes.
    idf_ : ndarray of shape (n_features,)
        The inverse document frequencies. They exist only with `features_` "tfidf".
    classes_ : ndarray or list of ndarray
        The classes in increasing order; for several outputs, a list of one array for each output. For labels, the array of
        their indices; for one or two labels, an array of shape (n_labels, 2) with 0 and 1 in each row.
    n_classes_ : int or list of int
        The number of classes; for several outputs, a list with that of each output. For labels, the number of labels.
    n_outputs_ : int
        The number of outputs.
    n_features_in_ : int
        The number of features of X.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        The feature names of X. It exists only if X has feature names that are all strings. For data frames of polars 2 or
        later, this requires scikit-learn 1.9 or later.
    target_names_in_ : ndarray of shape (`n_outputs_`,)
        The names of the outputs. It exists only if y is a frame whose column names are all strings, if y is a Series with a
        name, or if `label_names` was passed to `fit` of a classifier.

    See Also
    --------
    CentroidForestClassifier : A forest for text, which is not linear in words.
    GradientBoostingClassifier : For dense data, and for features of different kinds.
    weald.inspection.top_features : The words with the largest weights for a label.

    Notes
    -----
    A fit depends on the content of the samples alone: not on their order or that of the labels, on the layout of X, or on
    `n_jobs`. A sample of weight 2 is the same as two samples.

    Held-out samples choose C and features, and calibrate the probabilities. Folds hold out rows (see
    `docs/determinism.md`).

    A fit takes time in proportion to the stored entries of X, times the number of labels divided by sixteen; labels
    without samples cost nothing, and get the lowest scores.

    Examples
    --------
    >>> import weald
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from sklearn.preprocessing import MultiLabelBinarizer
    >>> texts = ["the cat sat on the mat", "the dog chased the cat", "snow fell on the hills", "rain and snow"] * 5
    >>> tags = [["cat"], ["cat", "dog"], ["weather"], ["weather"]] * 5
    >>> vectorizer, binarizer = CountVectorizer(), MultiLabelBinarizer(sparse_output=True)
    >>> X, Y = vectorizer.fit_transform(texts), binarizer.fit_transform(tags)
    >>> model = weald.LinearClassifier(random_state=0).fit(X, Y, label_names=binarizer.classes_)
    >>> model.topk_names(vectorizer.transform(["the cat sleeps", "snow on a mat"]), k=1).tolist()
    [['cat'], ['weather']]
    """

    _proof = LinearProof
    _memory_of_fit = staticmethod(memory.of_linear)
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

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The training samples, dense or sparse: finite numbers such as counts of words. X is read once without a copy if
            it is float32 and dense or CSR; otherwise it is converted first.

            Categorical features are not supported. String and categorical columns raise an error, and codes are treated
            as numbers: convert categories with `sklearn.preprocessing.OneHotEncoder`.
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_outputs)
            Classes, or labels. Labels are several columns of 0 and 1, or any sparse matrix of 0 and 1, which is never made
            dense; see also the parameter `multi_label`. If y has several columns of floats, NaN marks an unknown value.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Sample weights: finite, not negative, and at least one of them positive. None: all samples have weight 1. The
            loss of a sample is multiplied by its weight: a sample with weight 2 counts exactly as two samples.

            A sample with weight zero is treated as if it were absent: its y is not read, and its features have no effect, but must
            not be infinite.
        y_mask : {array-like, sparse matrix} of the shape of y or None, default=None
            Marks unknown values of y by True or 1, in addition to those that are NaN. The entries of y at these places are
            not read. A sample has no part in the fit of the labels that are unknown for it. A sample without any known
            value is treated as if it were absent, and an output without any known value raises a ValueError.
        label_names : array-like of shape (n_labels,) of str or None, default=None
            Distinct names of the labels. They become `target_names_in_`, which `topk_names`, `export_rules` and frames use and
            which model files contain. If y is a frame, they must be the names of its columns. Only for labels.
        labels : range or None, default=None
            Fit only these columns of y, which must be labels. The result is a part of the model, in which the other labels have
            no weights. Parts can be fitted in several processes or on several machines, each to all samples and all columns of
            y, and put together by `weald.merge`. `random_state` must then be an integer. Each part chooses `C` and `features` by
            up to 256 labels of y or a sixteenth of them, and calibrates by up to 2,048, whichever it fits; with given `C` and
            `features` and `calibrate=False` nothing is done twice.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError, TypeError
            If an argument or a parameter is invalid. The message names it.
        MemoryError
            Before the fit starts, if the memory that it needs for certain (see `weald.estimate_fit_memory`) is not
            available; later, if the engine cannot allocate more.

        Warns
        -----
        ConvergenceWarning
            If some labels or classes were not fitted to the tolerance `tol` within `max_iter` passes.
        UserWarning
            If the sample weights are so small together that `C` decides the model. The message names a factor for them.

        Notes
        -----
        If `fit` raises, or is interrupted by Ctrl-C, the estimator stays as it was.
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
    def predict(self, X: MatrixLike) -> Prediction:
        """Predict classes or labels: those with a positive `decision_function`, or the class with the largest score.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples, with the features of `fit`. X is used without a copy if it is float32 and dense or CSR. Other X is
            converted once, and CSC is transposed.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs), or CSR of shape (n_samples, n_labels)
            The predicted classes, or the predicted labels as 0 and 1. Labels have the dtype of y, and are sparse if y was. A
            sparse result is computed in blocks of samples, so that no dense array of all samples is held.
        """
        return super().predict(X)

    @of_one_fit
    def predict_proba(self, X: MatrixLike) -> Prediction:
        """Predict probabilities: with the score f of `decision_function`, 1 / (1 + exp(-f)), or the softmax of classes.

        The softmax is that over the classes of an output with three or more classes, and of each of several outputs.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples, as in `predict`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            For one output of classes. Columns are in the order of `classes_`.
        ndarray of shape (n_samples, n_labels)
            For labels: the probability that each label is 1.
        list of ndarray of shape (n_samples, n_classes)
            For several outputs of classes: one array for each output, as in scikit-learn.
        """
        return self._probabilities(self._scores(X))

    @of_one_fit
    def decision_function(self, X: MatrixLike) -> Prediction:
        """Compute the scores. A label, or the second of two classes, is predicted if its score is positive.

        They are the weights `coef_` times the features of a sample, plus `intercept_`: the logits of the probabilities.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples, as in `predict`.

        Returns
        -------
        ndarray of shape (n_samples,)
            For two classes.
        ndarray of shape (n_samples, n_classes) or (n_samples, n_labels)
            For one output of more classes, in the order of `classes_`; for labels.
        list of ndarray of shape (n_samples, n_classes)
            For several outputs of classes: one array for each output.
        """
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
