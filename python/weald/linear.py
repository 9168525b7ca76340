"""Linear models of labels and classes, for text above all: a weight of each word for each label.

Each label, or each class of an output, has a model of its own: the squared hinge loss, or the log loss, of its samples
against all others, with an L2 penalty, by dual coordinate descent for sixteen labels at a time. Trees of labels, for more than
some ten thousand, have such models of clusters of labels, and of labels against those that a search finds near them.

Sources: Hsieh, Chang, Lin, Keerthi and Sundararajan, "A dual coordinate descent method for large-scale linear SVM", ICML
2008; Yu, Huang and Lin, "Dual coordinate descent methods for logistic regression and maximum entropy models", Machine
Learning 2011. Of trees: Prabhu, Kag, Harsola, Agrawal and Varma, "Parabel: partitioned label trees for extreme classification
with application to dynamic search advertising", WWW 2018; Khandagale, Xiao and Babbar, "Bonsai: diverse and shallow trees for
extreme multi-label classification", Machine Learning 2020; Zhang, Chang, Yu and Dhillon, "Fast multi-resolution transformer
fine-tuning for extreme multi-label text classification", NeurIPS 2021, for the samples of a node.
"""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from weald import _weald
from weald._fit.base import keep
from weald._fit.linear import BaseLinear, Strategy
from weald._fit.predictions import Absent, label_probabilities
from weald._fitted.at_once import fitted_at_once, of_one_fit
from weald._fitted.proof import check_fitted
from weald._input.checks import Float, Matrix
from weald._input.sparse import csr_of
from weald._parameters.types import (
    ClassWeight,
    MatrixLike,
    MultiLabel,
    Prediction,
    RandomState,
    available_if,
    fit_context,
)
from weald._ranking import best, ranks
from weald._rounds.linear_start import Added

__all__ = ["LinearClassifier"]


def _has_margins(model: LinearClassifier) -> bool:
    """Whether there are margins: not of classes in trees."""
    return not model._is_tree or getattr(model, "_label_format", None) is not None


class LinearClassifier(BaseLinear):
    """A linear classifier for labels or classes, for text above all.

    For each label, or for each class, it fits a weight of each feature, so that samples with the label have positive
    scores and the others negative ones (squared hinge loss or log loss, L2 penalty). Probabilities are a logistic function
    of the scores. Very many labels are clustered into trees, whose nodes have such weights of their children: a fit takes time
    for the labels that a sample is near, and not for all of them.

    Parameters
    ----------
    C : float or "auto", default="auto"
        Inverse strength of the L2 penalty, from 1e-9 to 1e9: the loss of each sample is multiplied by it. "auto" is 0.2 in
        trees, and otherwise one of 0.1, 0.3, 1, 3 and 10, or of ten times these numbers with `loss` "log_loss", by the log loss
        of held-out samples. `C_` is the choice.
    strategy : {"auto", "one_vs_rest", "tree"}, default="auto"
        "one_vs_rest" fits a model of each label or class to all samples. "tree" clusters the labels, or the classes of one
        output, and fits models of clusters and of labels to the samples near them: many labels take far less time. "auto" is
        "tree" for more than 20,000 labels. Setting a parameter that has no effect with the strategy raises a ValueError: see
        `docs/linear.md`.
    loss : {"squared_hinge", "log_loss"}, default="squared_hinge"
        What a sample loses by its margin m, the score if it has the label and the negative score otherwise: max(0, 1 - m)², or
        ln(1 + exp(-m)), which is logistic regression, whose margins are log-odds without calibration. "log_loss" has better
        probabilities of text as a rule, and its best label is right a little less often. Only with "one_vs_rest".
    features : {"auto", "given", "normalized", "tfidf", "standardized"}, default="auto"
        What is done with X, in `fit` and in predictions: nothing, samples are divided by their length, counts of words become
        tf-idf and are then divided, or features are standardised, for which X becomes dense in the fit (not in trees). "auto"
        is the one that suits held-out samples best; in trees it is "tfidf" for whole numbers that are not negative, and
        otherwise "normalized". See `docs/linear.md` for formulas.
    n_estimators : int, default=1
        Number of trees, which differ by the random centres from which the clusters of labels start. Only with "tree".
    max_children : int, default=100
        Maximum number of children of a node, from 2 to 65,536. With 2, each child has half of the labels of its node. Only with
        "tree".
    max_leaf_labels : int, default=400
        Maximum number of labels of a leaf, from 1 to 65,536. Nodes with more labels are divided. Larger leaves rank labels
        better and take longer. Only with "tree".
    beam_width : int, default=20
        Number of nodes of each tree that searches follow at each depth. In the fit, a node learns to tell its labels from those
        of all samples whose search comes there; in predictions, labels of other nodes have the probability 0. More nodes rank
        labels better and take longer. Only with "tree".
    intercept_scaling : float, default=0.3
        The value of a constant feature whose weight is the intercept: 0, or from 0.001 to 1000. The larger it is, the less
        intercepts are drawn towards -1, which says that a sample does not have the label; with 0 all are -1. With `loss`
        "log_loss" it is ln((P + ½) / (N + ½)) in place of -1, of the weights P and N of samples with and without the label.
    tol : float or "auto", default="auto"
        A label is fitted when the gradient of no sample is larger than this; with `loss` "log_loss", when the duality gap, a
        bound of what the objective is above its least value, is at most this times the loss of the samples. "auto" is 0.1, and
        0.3 in trees.
    max_iter : int, default=1000
        Maximum number of passes over the samples for each label. If it does not suffice, `fit` warns.
    min_weight : float, default=0.01
        Weights that are smaller in magnitude are dropped after the fit, as if samples of X, prepared as `features` says, had a
        mean square of their lengths of one. Of labels whose largest weight is below one, it is this share of it. Models are
        then several times smaller, with hardly any difference in predictions.
    weight_dtype : {"float32", "float16"}, default="float32"
        The precision of the weights. With "float16", they are rounded after the fit, for predictions too, and model files take
        about a third less; memory stays the same. Weights below 2⁻¹⁴ or above 65,504 in magnitude are not rounded: with one of
        them, for example with a `min_weight` of 0, a file has all weights in float32.
    calibrate : bool, default=True
        Whether margins are turned into log-odds by a slope and an intercept for each label, fitted to the margins of held-out
        samples: those of three or more classes together, by the log loss of their softmax. If False, the margins are the
        log-odds, and with a given `C` and `features` a fit takes about a third of the time. Only with "one_vs_rest".
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
        Controls the order in which samples are visited, and the clusters of labels. Each call of `fit` draws one seed from it.
        With "one_vs_rest", results with different seeds differ by less than `tol` allows.
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
    strategy_ : {"one_vs_rest", "tree"}
        The strategy of the fit.
    C_ : float
        The inverse strength of the penalty that the model was fitted with.
    features_ : {"given", "normalized", "tfidf", "standardized"}
        What is done with X.
    coef_ : sparse array of shape (n_columns, n_features)
        The weights of features, as CSR: of X as `features_` prepares it, and of X as it is given if these are "standardized".
        There is a row for each label, one for an output of two classes, and otherwise one for each class of each output. Each
        access makes a copy. Trees have no `coef_`.
    intercept_ : ndarray of shape (n_columns,)
        The intercepts. Trees have no `intercept_`.
    n_iter_ : int
        The largest number of passes over the samples, of all labels, classes and clusters.
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
    `n_jobs`. In trees, the order of labels that samples with the same X have is the exception. A sample of weight 2 is the same
    as two samples.

    Held-out samples choose C and features, and calibrate the probabilities, of "one_vs_rest". Folds hold out rows (see
    `docs/determinism.md`).

    A fit takes time in proportion to the stored entries of X, times the number of labels divided by sixteen; labels
    without samples cost nothing, and get the lowest scores.

    The probability of a label in a tree is exp(-max(0, 1 - margin)³) with the margin of the label in its leaf, times the
    twentieth root of the product of this over the nodes on the path there, and 0 if the search does not reach the label.
    The trees are averaged. It ranks the labels of a sample, and is not calibrated: see
    `weald.multilabel.CalibratedLabels`. Of classes, the probabilities are divided by their sum.

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

    feature_importances_ = Absent(
        "each label has weights of its own; see weald.inspection.permutation_importance, or without trees coef_ and "
        "weald.inspection.top_features"
    )

    def __init__(
        self,
        C: float | Literal["auto"] = "auto",
        *,
        strategy: Literal["auto", "one_vs_rest", "tree"] = "auto",
        loss: Literal["squared_hinge", "log_loss"] = "squared_hinge",
        features: Literal["auto", "given", "normalized", "tfidf", "standardized"] = "auto",
        n_estimators: int = 1,
        max_children: int = 100,
        max_leaf_labels: int = 400,
        beam_width: int = 20,
        intercept_scaling: float = 0.3,
        tol: float | Literal["auto"] = "auto",
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
        trees: range | None = None,
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
            not read. A sample has no part in the fit of the labels that are unknown for it, nor, in trees, of the nodes above that
            have none of its labels. A sample without any known value is treated as if it were absent, and an output without any
            known value raises a ValueError.
        label_names : array-like of shape (n_labels,) of str or None, default=None
            Distinct names of the labels. They become `target_names_in_`, which `topk_names`, `export_rules` and frames use and
            which model files contain. If y is a frame, they must be the names of its columns. Only for labels.
        labels : range or None, default=None
            Fit only these columns of y, which must be labels, with the strategy "one_vs_rest". The result is a part of the model,
            in which the others have no weights. Parts can be fitted on several machines, each to all samples and columns, and put
            together by `weald.merge`; `random_state` must then be an integer. Each part chooses `C` and `features`, and calibrates,
            by the same labels.
        trees : range or None, default=None
            Fit only these trees of `range(n_estimators)`, with the strategy "tree": a part of the model in the same way.

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
            If some labels, classes or clusters were not fitted to the tolerance `tol` within `max_iter` passes.
        UserWarning
            If the sample weights are so small together that `C` decides the model. The message names a factor for them.

        Notes
        -----
        If `fit` raises, or is interrupted by Ctrl-C, the estimator stays as it was.
        """
        with fitted_at_once(self, anew=True) as new:
            new._fit(X, y, sample_weight, y_mask, label_names, labels=labels, trees=trees)
        return self

    # --- what was fitted -----------------------------------------------------------------------------------------------

    def _fitted(self, attribute: str, *, of_weights: bool = False) -> Any:
        """The engine's model. Without it, `attribute` does not exist, as for any estimator of scikit-learn."""
        if "_model" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has no {attribute} before it is fitted")
        if of_weights and self._is_tree:
            raise AttributeError(f"{type(self).__name__} has no {attribute} with strategy_='tree'")
        return self._model

    @property
    @of_one_fit
    def strategy_(self) -> Strategy:
        """The strategy of the fit: one of the values of `strategy`, and not "auto"."""
        return "tree" if isinstance(self._fitted("strategy_"), _weald.LabelTreeModel) else "one_vs_rest"

    @property
    @of_one_fit
    def n_iter_(self) -> int:
        """The largest number of passes over the samples, of all columns."""
        n_iter: int = self._fitted("n_iter_").n_iter
        return n_iter

    @property
    @of_one_fit
    def features_(self) -> str:
        """What is done with X: one of the values of `features`, and not "auto"."""
        features: str = self._fitted("features_").features
        return features

    @property
    @of_one_fit
    def idf_(self) -> NDArray[np.float32]:
        """The inverse document frequency of each feature: a copy, of shape (n_features,). Only with "tfidf"."""
        idf: NDArray[np.float32] | None = self._fitted("idf_").idf()
        if idf is None:
            raise AttributeError(f"{type(self).__name__} has no idf_ with features_={self._model.features!r}")
        return idf

    @property
    @of_one_fit
    def coef_(self) -> sparse.csr_array:
        """The weight of each feature in each column of `decision_function`: a copy, CSR of shape (n_columns, n_features).

        There is a row for each label, one for an output of two classes, and otherwise one for each class of each output.
        They are weights of features after they were prepared as `features_` says. Trees have none.
        """
        model = self._fitted("coef_", of_weights=True)
        ptr, columns, values = model.weights()
        by_feature = csr_of((ptr, columns, values), (model.n_features, model.width))
        return sparse.csr_array(by_feature.T)

    @property
    @of_one_fit
    def intercept_(self) -> Float:
        """The intercept of each column of `decision_function`: a copy, of shape (n_columns,). Trees have none."""
        found: Float = self._fitted("intercept_", of_weights=True).intercepts()
        return found

    def _linear_part(self) -> tuple[_weald.LinearModel, Added] | None:
        return None if self._is_tree else (self._model, "scores")

    @property
    def _inspected_by(self) -> str | None:  # type: ignore[override]
        return None if self._is_tree else "top_features"

    # --- predictions ---------------------------------------------------------------------------------------------------

    @property
    def _threshold(self) -> float:  # type: ignore[override]
        # The scores of trees are probabilities.
        return 0.5 if self._is_tree else 0.0

    def _unit(self) -> float:
        # Scores of the logistic link are half the logits.
        return 1.0 if self._is_tree or self._model.link == "softmax" else 2.0

    def _scores_of(self, X: Matrix) -> Float:
        scores: Float = (
            self._at_least(X, 0.0).toarray() if self._is_tree else self._model.predict_scores(X, self._n_threads(X))
        )
        return scores

    def _probabilities(self, scores: Float) -> Prediction:
        return self._by_output(scores if self._is_tree else self._model.to_predictions(scores))

    def _at_least(self, X: Matrix, floor: float) -> Matrix:
        if self._is_tree:
            # Of labels that the search reaches.
            return csr_of(self._model.predict_at_least(X, floor, self._n_threads(X)), (X.shape[0], self._model.width))
        of_block = lambda rows: best.at_least(self._probabilities(self._scores_of(rows)), floor)  # noqa: E731
        return best.stacked(X, self.n_outputs_, of_block)

    def _positive(self, X: Matrix) -> Any:
        return self._at_least(X, self._threshold) > self._threshold if self._is_tree else super()._positive(X)

    @of_one_fit
    def predict_proba(self, X: MatrixLike) -> Prediction:
        """Predict probabilities: with the score f of `decision_function`, 1 / (1 + exp(-f)), or the softmax of classes.

        The softmax is that over the classes of an output with three or more classes, and of each of several outputs. Trees have
        probabilities of their own, which rank labels and are not calibrated: 0 for labels that the search does not reach. The
        result is dense: with very many labels use `predict_topk` or `predict_sparse`.

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

    @available_if(_has_margins)
    @of_one_fit
    def decision_function(self, X: MatrixLike) -> Prediction:
        """Compute the scores. A label, or the second of two classes, is predicted if its score is positive.

        They are the weights `coef_` times the features of a sample, plus `intercept_`: the logits of the probabilities. Trees
        have scores of labels alone: the probabilities minus one half.

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
        if self._label_format is None and not self._is_tree:
            of_scores = self._decisions if as_margins else self._probabilities
            of_block = lambda rows: best.by_class(of_scores(self._scores_of(rows)), width)  # noqa: E731
            return best.ranked_blocks(X, k, width, marked, n_threads, of_block)
        indices, scores = self._model.predict_topk(X, k, n_threads, ranks.cells_of(marked))
        return indices, self._of_ranked(scores, as_margins=as_margins)

    def _of_ranked(self, scores: Float, *, as_margins: bool) -> Float:
        """The margins or probabilities of scores of any labels."""
        if as_margins:
            return (scores - self._threshold) * self._unit()
        return scores if self._is_tree else label_probabilities(scores)
