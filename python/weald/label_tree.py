"""Label trees: linear models of more than some thousand labels, of which a sample only visits those that are near it.

A tree clusters the labels. Each node has a linear model of its children, and each leaf one of its labels, fitted to the
samples that have a label there and to those whose search for labels comes there. Searches follow the best nodes of each tree.

Sources: Prabhu, Kag, Harsola, Agrawal and Varma, "Parabel: partitioned label trees for extreme classification with
application to dynamic search advertising", WWW 2018; Khandagale, Xiao and Babbar, "Bonsai: diverse and shallow trees for
extreme multi-label classification", Machine Learning 2020; Zhang, Chang, Yu and Dhillon, "Fast multi-resolution transformer
fine-tuning for extreme multi-label text classification", NeurIPS 2021, for the samples of a node.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from weald import _weald
from weald._fit import memory, updates
from weald._fit.base import as_size, keep
from weald._fit.finite import Absent, OfPreparedX
from weald._fit.samples import Samples
from weald._fitted.at_once import fitted_at_once, of_one_fit
from weald._fitted.proof import OF_SEED, Proof, Row
from weald._input.checks import MOST, Float, Matrix, Number
from weald._input.sklearn_private import Interval, StrOptions
from weald._input.sparse import csr_of, is_sparse
from weald._input.targets import Target
from weald._parameters.types import MatrixLike, MultiLabel, Prediction, RandomState, fit_context
from weald._ranking import ranks
from weald._rounds.progress import Progress

if TYPE_CHECKING:
    from weald._weald import _LabelTreeConfig

__all__ = ["LabelTreeClassifier"]

_FEATURES = {"given", "normalized", "tfidf"}
# Samples of dense X that are looked at together.
_AT_ONCE = 4096


class LabelTreeProof(Proof):
    """The fitted attributes of label trees under validation."""

    attribute = "_model"
    engine = _weald.LabelTreeModel
    own: ClassVar[dict[str, Row]] = {
        **OF_SEED,
        updates.PART: (False, lambda part, model: updates.fault_of_part(part, "trees", model.n_trees)),
    }


class LabelTreeClassifier(OfPreparedX):
    """Trees of linear models, for text with more than some thousand labels or classes.

    Each tree clusters the labels. Each of its nodes has a linear model of its children, and each leaf one of its labels,
    which are fitted to the samples with a label there and to those whose search comes there: a fit takes time for the labels
    that a sample is near, and not for all of them. Searches, in the fit as in predictions, follow the best nodes of each tree.

    Parameters
    ----------
    C : float, default=0.2
        Inverse strength of the L2 penalty, from 1e-9 to 1e9: the loss of each sample is multiplied by it.
    features : {"auto", "given", "normalized", "tfidf"}, default="auto"
        What is done with X, in `fit` and in predictions. What is learned for it is part of the model:

        - "given": nothing;
        - "normalized": each sample is divided by its length √(Σ x²);
        - "tfidf": for counts of words x, sign(x) ln(1 + abs(x)) times the inverse document frequency of the word,
          1 + ln((1 + n) / (1 + n with the word)), and then each sample is divided by its length;
        - "auto": "tfidf" if all values of X are whole numbers and none is negative, and otherwise "normalized".
    n_estimators : int, default=1
        Number of trees, which differ by the random centres from which the clusters of labels start.
    max_children : int, default=100
        Maximum number of children of a node, from 2 to 65,536. With 2, each child has half of the labels of its node.
    max_leaf_labels : int, default=400
        Maximum number of labels of a leaf, from 1 to 65,536. Nodes with more labels are divided. Larger leaves rank labels better
        and take longer.
    beam_width : int, default=20
        Number of nodes of each tree that searches follow at each depth. In the fit, a node learns to tell its labels from those of
        all samples whose search comes there; in predictions, labels of other nodes have the probability 0. More nodes rank
        labels better and take longer.
    intercept_scaling : float, default=0.3
        The value of a constant feature whose weight is the intercept: 0, or from 0.001 to 1000. Intercepts are drawn towards
        -1, which says that a sample does not have the label, and the less so, the larger this value is. With 0 all intercepts
        are -1.
    tol : float, default=0.3
        A child or label is fitted when the gradient of no sample is larger than this.
    max_iter : int, default=1000
        Maximum number of passes over the samples of a node. If it does not suffice, `fit` warns.
    min_weight : float, default=0.01
        Weights that are smaller in magnitude are dropped after the fit, as if samples of X, prepared as `features` says, had a mean
        square of their lengths of one: of X as it is given, those below `min_weight` divided by the root of that mean. Of labels
        whose largest weight is below one, it is this share of it. Models are then several times smaller, with hardly any
        difference in predictions.
    weight_dtype : {"float32", "float16"}, default="float32"
        The precision of the weights. With "float16", they are rounded after the fit, for predictions too, and
        model files take about a third less; memory stays the same. Weights below 2⁻¹⁴ or above 65,504 in magnitude are not
        rounded: with one of them, for example with a `min_weight` of 0, a file has all weights in float32.
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
        Controls the clusters of labels, and the order in which samples are visited. Each call of `fit` draws one seed from it.
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
    features_ : {"given", "normalized", "tfidf"}
        What is done with X.
    n_iter_ : int
        The largest number of passes over the samples, of all columns of nodes.
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
    LinearClassifier : A linear model of all labels, which ranks up to some thousand labels better.
    CentroidForestClassifier : A forest for text, which clusters samples and not labels.

    Notes
    -----
    A fit depends on the content of the samples alone: not on their order or that of the labels, on the layout of X, or on
    `n_jobs`. The order of labels that samples with the same X have is the exception. A sample of weight 2 is the same as
    two samples.

    The probability of a label in a tree is exp(-max(0, 1 - margin)³) with the margin of the label in its leaf, times the
    twentieth root of the product of this over the nodes on the path there, and 0 if the search does not reach the label.
    The trees are averaged. It ranks the labels of a sample, and is not calibrated: see
    `weald.multilabel.CalibratedLabels`. Of classes, the probabilities are divided by their sum.

    With no more than `max_leaf_labels` labels, a tree is a linear model of all labels.

    Examples
    --------
    >>> import weald
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from sklearn.preprocessing import MultiLabelBinarizer
    >>> texts = ["the cat sat on the mat", "the dog chased the cat", "snow fell on the hills", "rain and snow"] * 5
    >>> tags = [["cat"], ["cat", "dog"], ["weather"], ["weather"]] * 5
    >>> vectorizer, binarizer = CountVectorizer(), MultiLabelBinarizer(sparse_output=True)
    >>> X, Y = vectorizer.fit_transform(texts), binarizer.fit_transform(tags)
    >>> model = weald.LabelTreeClassifier(random_state=0).fit(X, Y, label_names=binarizer.classes_)
    >>> model.topk_names(vectorizer.transform(["the cat sleeps", "snow on a mat"]), k=1).tolist()
    [['cat'], ['weather']]
    """

    _proof = LabelTreeProof
    _memory_of_fit = staticmethod(memory.of_label_tree)
    _inspected_by = None
    _part_of = "trees"
    _why_no_tests = "it has a linear model of many features at each node of its trees"
    _exported_by = "to_json or to_c, or "
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "C": [Number(Real, 1e-9, 1e9, closed="both")],
        "features": [StrOptions(_FEATURES | {"auto"})],
        "n_estimators": [Interval(Integral, 1, MOST, closed="both")],
        "max_children": [Interval(Integral, 2, 2**16, closed="both")],
        "max_leaf_labels": [Interval(Integral, 1, 2**16, closed="both")],
        "beam_width": [Interval(Integral, 1, 2**32 - 1, closed="both")],
        **OfPreparedX._parameter_constraints,
    }

    C: float
    features: Literal["auto", "given", "normalized", "tfidf"]
    n_estimators: int
    max_children: int
    max_leaf_labels: int
    beam_width: int

    _model: _weald.LabelTreeModel

    feature_importances_ = Absent(
        "each node has weights of its own for each of its children or labels; see weald.inspection.permutation_importance"
    )

    def __init__(
        self,
        C: float = 0.2,
        *,
        features: Literal["auto", "given", "normalized", "tfidf"] = "auto",
        n_estimators: int = 1,
        max_children: int = 100,
        max_leaf_labels: int = 400,
        beam_width: int = 20,
        intercept_scaling: float = 0.3,
        tol: float = 0.3,
        max_iter: int = 1000,
        min_weight: float = 0.01,
        weight_dtype: Literal["float32", "float16"] = "float32",
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
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_labels)
            Labels, or one output of classes. Labels are several columns of 0 and 1, or any sparse matrix of 0 and 1, which is
            never made dense; see also the parameter `multi_label`. If y has several columns of floats, NaN marks an unknown
            value. Several outputs of classes are not supported.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Sample weights: finite, not negative, and at least one of them positive. None: all samples have weight 1. The
            loss of a sample is multiplied by its weight: a sample with weight 2 counts exactly as two samples.

            A sample with weight zero is treated as if it were absent: its y is not read, and its features have no effect, but must
            not be infinite.
        y_mask : {array-like, sparse matrix} of the shape of y or None, default=None
            Marks unknown values of y by True or 1, in addition to those that are NaN. The entries of y at these places are
            not read. A sample has no part in the fit of a label that is unknown for it, nor of the nodes above, unless it has
            another label there. A sample without any known value is treated as if it were absent, and a label without any
            known value raises a ValueError.
        label_names : array-like of shape (n_labels,) of str or None, default=None
            Distinct names of the labels. They become `target_names_in_`, which `topk_names`, `export_rules` and frames use and
            which model files contain. If y is a frame, they must be the names of its columns. Only for labels.
        trees : range or None, default=None
            Fit only these trees of `range(n_estimators)`. The result is a part of the model, and predicts as the model of these
            trees does. Parts can be fitted in several processes or on several machines and put together by `weald.merge`.
            `random_state` must then be an integer.

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
            If some columns of nodes were not fitted to the tolerance `tol` within `max_iter` passes.
        UserWarning
            If the sample weights are so small together that `C` decides the model. The message names a factor for them.

        Notes
        -----
        If `fit` raises, or is interrupted by Ctrl-C, the estimator stays as it was.
        """
        with fitted_at_once(self, anew=True) as new:
            new._fit(X, y, sample_weight, y_mask, label_names, trees)
        return self

    def _fit_columns(
        self, samples: Samples, told: Progress | None, part: tuple[int, int] | None, with_folds: bool
    ) -> None:
        data = samples.X, samples.target.engine, samples.row_weights
        features = chosen_features(samples.X, samples.row_weights[0]) if self.features == "auto" else self.features
        config = self._config(self._seed, features, part)
        self._model = _weald.fit_label_tree(*data, config, self._n_threads(), told, samples.mask)

    def _columns(self) -> str:
        return f"{self._model.n_columns} columns of nodes"

    def _check_y(
        self, y: MatrixLike | None, weights: Float | None, n_samples: int, y_mask: MatrixLike | None = None
    ) -> Target:
        target = super()._check_y(y, weights, n_samples, y_mask)
        if target.kind == "classes" and target.n_outputs > 1:
            raise ValueError(
                f"y must be labels, several columns of 0 and 1, or one output of classes, got {target.n_outputs} outputs of "
                f"classes, which {type(self).__name__} does not support: fit one model for each output, or a LinearClassifier"
            )
        return target

    def _n_of_parts(self) -> int:
        return int(self.n_estimators)

    def _put_together(self, parts: list[LabelTreeClassifier]) -> None:
        self._model = _weald.LabelTreeModel.merge([part._model for part in parts])

    def _config(self, seed: int, features: str, trees: tuple[int, int] | None = None) -> _LabelTreeConfig:
        """The parameters in the engine's form, of the trees of a part or of all."""
        first, end = trees or (0, as_size(self.n_estimators) or 1)
        return {
            "c": float(self.C),
            "features": features,
            "n_trees": end - first,
            "first_tree": first,
            "max_children": int(self.max_children),
            "max_leaf_labels": int(self.max_leaf_labels),
            "beam_width": int(self.beam_width),
            **self._config_of_columns(seed),
        }

    # --- predictions -------------------------------------------------------------------------------------------------

    def _scores_of(self, X: Matrix) -> Float:
        scores: Float = self._at_least(X, 0.0).toarray()
        return scores

    def _at_least(self, X: Matrix, floor: float) -> sparse.csr_array:
        arrays = self._model.predict_at_least(X, floor, self._n_threads(X))
        return csr_of(arrays, (X.shape[0], self._model.width))

    @of_one_fit
    def predict(self, X: MatrixLike) -> Prediction:
        """Predict classes or labels: labels with a probability above one half, or the class with the largest one.

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
        if not self._is_sparse_labels():
            return super().predict(X)
        assert self._label_format is not None
        return self._label_format.build(self._at_least(self._check_predict(X), self._threshold) > self._threshold)

    @of_one_fit
    def predict_proba(self, X: MatrixLike) -> Prediction:
        """Predict probabilities, which are 0 for labels that the search does not reach.

        They are not calibrated. The result is dense: with very many labels use `predict_topk` or `predict_sparse`, which take
        neither time nor memory for labels that the search does not reach.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples, as in `predict`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            For classes, in the order of `classes_`: those of a sample have the sum 1.
        ndarray of shape (n_samples, n_labels)
            For labels: the probability that each label is 1.
        """
        return self._scores(X)

    def _k_best(self, X: Matrix, k: int, marked: Any, *, as_margins: bool) -> tuple[NDArray[np.uint32], Float]:
        indices, found = self._model.predict_topk(X, k, self._n_threads(X), ranks.cells_of(marked))
        return indices, found - 0.5 if as_margins else found


def chosen_features(X: Matrix, weights: Float | None) -> str:
    """What is done with X by `features="auto"`: "tfidf" if all values of samples of positive weight are counts."""
    there = None if weights is None else weights > 0

    def are_counts(values: NDArray[np.float32]) -> bool:
        return bool((values >= 0).all() and (np.floor(values) == values).all())

    if not is_sparse(X):
        blocks = (slice(start, start + _AT_ONCE) for start in range(0, X.shape[0], _AT_ONCE))
        rows = (X[block] if there is None else X[block][there[block]] for block in blocks)
        return "tfidf" if all(map(are_counts, rows)) else "normalized"
    values = X.data
    if there is not None:
        values = values[np.repeat(there, np.diff(X.indptr)) if X.format == "csr" else there[X.indices]]
    return "tfidf" if are_counts(values) else "normalized"
