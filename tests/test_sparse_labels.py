"""Every row of the tables of docs/sparse-labels.md: what works with sparse labels, and what raises an error."""

from __future__ import annotations

import re

import numpy as np
import pytest
import real_data
import sklearn.metrics as metrics
import sklearn.model_selection as theirs
import weald
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import RFE, RFECV, SelectFromModel, SelectKBest, SequentialFeatureSelector, chi2
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import permutation_importance
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from weald import model_selection
from weald.metrics import coverage_error, make_topk_scorer, ndcg_at_k, precision_at_k

TEXT = (real_data.REPOSITORY / "docs" / "sparse-labels.md").read_text()
ROWS = {
    name: (verdict, use)
    for name, verdict, use in re.findall(
        r"^\| (.+?) \| (works|error|error, dense too) \| (.*?) ?\|$", TEXT, re.MULTILINE
    )
}

RNG = np.random.default_rng(0)
X = sparse.csr_array(np.where(RNG.random((60, 10)) < 0.4, RNG.random((60, 10)), 0).astype(np.float32))
Y = sparse.csr_array((X[:, :4].toarray() + 0.3 * RNG.random((60, 4)) > 0.4).astype(float))
GROUPS = np.arange(60) % 5
FOREST = weald.RandomForestClassifier(3, random_state=0)
FITTED = weald.RandomForestClassifier(3, random_state=0).fit(X, Y)
GRID = {"max_depth": [1, 3]}
CURVE = {"param_name": "max_depth", "param_range": [1, 3]}


def of_same_name(name, **options):
    return lambda module, y: getattr(module, name)(FOREST, X, y, cv=3, **options)


def split(cv, y, **groups):
    return list(cv.split(X, y, **groups))


def halving(y, **options):
    return theirs.HalvingGridSearchCV(FOREST, GRID, cv=3, **options).fit(X, y)


SCORERS = [
    *("accuracy", "f1_micro", "f1_macro", "f1_samples", "precision_micro", "recall_micro", "jaccard_samples"),
    *("roc_auc", "average_precision", "neg_log_loss"),
]

# The order is that of the document. Uses of functions that `weald.model_selection` also has take a module and y, all
# others y alone.
BOTH = {
    "`cross_validate`": of_same_name("cross_validate"),
    '`cross_val_predict(method="predict")`': of_same_name("cross_val_predict", method="predict"),
    '`cross_val_predict(method="predict_proba")`': of_same_name("cross_val_predict", method="predict_proba"),
    '`cross_val_predict(method="predict_topk")`': lambda module, y: module.cross_val_predict(
        FOREST, X, y, method="predict_topk", **({"k": 2} if module is model_selection else {})
    ),
}
CALLS = {
    "`cross_val_score`": lambda y: theirs.cross_val_score(FOREST, X, y, cv=3),
    "`learning_curve`": lambda y: theirs.learning_curve(FOREST, X, y, cv=3),
    "`validation_curve`": lambda y: theirs.validation_curve(FOREST, X, y, cv=3, **CURVE),
    "`permutation_test_score`": lambda y: theirs.permutation_test_score(FOREST, X, y, cv=3, n_permutations=2),
    "`GridSearchCV`": lambda y: theirs.GridSearchCV(FOREST, GRID, cv=3).fit(X, y).score(X, y),
    "`RandomizedSearchCV`": lambda y: theirs.RandomizedSearchCV(FOREST, GRID, n_iter=2, cv=3).fit(X, y).score(X, y),
    "`HalvingGridSearchCV`": halving,
    "`HalvingGridSearchCV(min_resources=20)`": lambda y: halving(y, min_resources=20),
    '`HalvingGridSearchCV(resource="n_estimators")`': lambda y: halving(y, resource="n_estimators", max_resources=6),
    "`Pipeline.fit` and `Pipeline.score`": lambda y: make_pipeline(MaxAbsScaler(), FOREST).fit(X, y).score(X, y),
    "`Pipeline.predict_topk`": lambda y: make_pipeline(MaxAbsScaler(), FOREST).fit(X, y).predict_topk(X, 2),
    "`train_test_split`": lambda y: theirs.train_test_split(X, y),
    "`train_test_split(stratify=Y)`": lambda y: theirs.train_test_split(X, y, stratify=y),
    "`KFold`": lambda y: split(theirs.KFold(3), y),
    "`RepeatedKFold`": lambda y: split(theirs.RepeatedKFold(n_splits=3, n_repeats=2), y),
    "`ShuffleSplit`": lambda y: split(theirs.ShuffleSplit(2), y),
    "`GroupKFold`": lambda y: split(theirs.GroupKFold(3), y, groups=GROUPS),
    "`GroupShuffleSplit`": lambda y: split(theirs.GroupShuffleSplit(2), y, groups=GROUPS),
    "`LeaveOneGroupOut`": lambda y: split(theirs.LeaveOneGroupOut(), y, groups=GROUPS),
    "`TimeSeriesSplit`": lambda y: split(theirs.TimeSeriesSplit(3), y),
    "`PredefinedSplit`": lambda y: split(theirs.PredefinedSplit(GROUPS), y),
    "`StratifiedKFold`": lambda y: split(theirs.StratifiedKFold(3), y),
    "`StratifiedShuffleSplit`": lambda y: split(theirs.StratifiedShuffleSplit(3), y),
    "`StratifiedGroupKFold`": lambda y: split(theirs.StratifiedGroupKFold(3), y, groups=GROUPS),
    **{f'`scoring="{name}"`': lambda y, name=name: metrics.get_scorer(name)(FITTED, X, y) for name in SCORERS},
    "`accuracy_score`": lambda y: metrics.accuracy_score(y, FITTED.predict(X)),
    "`f1_score`": lambda y: metrics.f1_score(y, FITTED.predict(X), average="micro"),
    "`hamming_loss`": lambda y: metrics.hamming_loss(y, FITTED.predict(X)),
    "`classification_report`": lambda y: metrics.classification_report(y, FITTED.predict(X), zero_division=0),
    "`label_ranking_average_precision_score`": lambda y: metrics.label_ranking_average_precision_score(
        y, FITTED.predict_proba(X)
    ),
    "`label_ranking_loss`": lambda y: metrics.label_ranking_loss(y, FITTED.predict_proba(X)),
    "`coverage_error`": lambda y: metrics.coverage_error(y, FITTED.predict_proba(X)),
    "`ndcg_score`": lambda y: metrics.ndcg_score(y, FITTED.predict_proba(X)),
    "`top_k_accuracy_score`": lambda y: metrics.top_k_accuracy_score(y, FITTED.predict_proba(X)),
    "`OneVsRestClassifier`": lambda y: OneVsRestClassifier(FOREST).fit(X, y).predict(X),
    "`MultiOutputClassifier`": lambda y: MultiOutputClassifier(FOREST).fit(X, y),
    "`ClassifierChain`": lambda y: ClassifierChain(FOREST).fit(X, y),
    "`FrozenEstimator`": lambda y: FrozenEstimator(FITTED).fit(X, y).score(X, y),
    "`RFE`": lambda y: RFE(FOREST, n_features_to_select=4).fit(X, y).score(X, y),
    "`RFECV`": lambda y: RFECV(FOREST, cv=2).fit(X, y).score(X, y),
    "`SelectFromModel`": lambda y: SelectFromModel(FOREST).fit(X, y).transform(X),
    "`SelectKBest`": lambda y: SelectKBest(chi2, k=3).fit(X, y).transform(X),
    "`SequentialFeatureSelector`": lambda y: SequentialFeatureSelector(FOREST, n_features_to_select=2, cv=2).fit(X, y),
    "`permutation_importance`": lambda y: permutation_importance(FITTED, X.toarray(), y, n_repeats=1),
    "`TransformedTargetRegressor`": lambda y: TransformedTargetRegressor(weald.RandomForestRegressor(2)).fit(X, y),
    "`BaggingClassifier`": lambda y: BaggingClassifier(FOREST).fit(X, y),
    "`VotingClassifier`": lambda y: VotingClassifier([("one", FOREST), ("other", FOREST)]).fit(X, y),
    "`StackingClassifier`": lambda y: StackingClassifier([("one", FOREST)], final_estimator=FOREST).fit(X, y),
    "`CalibratedClassifierCV`": lambda y: CalibratedClassifierCV(FOREST).fit(X, y),
    "`TunedThresholdClassifierCV`": lambda y: theirs.TunedThresholdClassifierCV(FOREST).fit(X, y),
}


REFUSALS = (TypeError, ValueError, IndexError, AttributeError, NotImplementedError)


def run(name, y):
    return BOTH[name](theirs, y) if name in BOTH else CALLS[name](y)


def test_the_tables_have_these_rows():
    assert [*BOTH, *CALLS] == list(ROWS)
    n_rows = sum(line.startswith("| `") for line in TEXT.splitlines())
    assert len(ROWS) == n_rows


@pytest.mark.filterwarnings("ignore:.*ill-defined")
@pytest.mark.parametrize("name", [*BOTH, *CALLS])
def test_what_works_and_what_is_refused(name):
    verdict, _ = ROWS[name]
    if verdict == "works":
        run(name, Y)
        return
    with pytest.raises(REFUSALS):
        run(name, Y)


@pytest.mark.parametrize("name", BOTH)
def test_the_same_functions_of_weald_take_sparse_labels(name):
    verdict, use = ROWS[name]
    assert (verdict != "works") == use.startswith("the same")
    BOTH[name](model_selection, Y)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name, (verdict, _) in ROWS.items() if verdict != "works"])
def test_what_is_refused_for_being_sparse_takes_dense_labels(name):
    # Labels are repeated, so that each combination of labels, which some functions take as a class, has several
    # samples.
    y = Y.toarray().astype(int)[:, [0, 1, 0, 1]]
    verdict, use = ROWS[name]
    if verdict == "error":
        run(name, y)
        return
    assert "dense" not in use
    with pytest.raises(REFUSALS):
        run(name, y)


def test_what_is_said_to_take_the_place_of_others_does():
    train, test = next(model_selection.MultilabelStratifiedKFold(4).split(X, Y))
    assert len(train) + len(test) == 60
    pipeline = make_pipeline(MaxAbsScaler(), FOREST).fit(X, Y)
    labels, scores = model_selection.cross_val_predict(pipeline, X, Y, method="predict_topk", k=2)
    for metric in (ndcg_at_k, precision_at_k):
        assert metric(Y, (labels, scores), 2) > 0
        assert make_topk_scorer(metric, 2)(pipeline, X, Y) > 0
    curve = theirs.validation_curve(FOREST, X, Y.toarray(), cv=3, **CURVE)[1].T
    found = theirs.GridSearchCV(FOREST, GRID, cv=3).fit(X, Y).cv_results_
    assert np.array_equal([found[f"split{i}_test_score"] for i in range(3)], curve)
    for n in (20, 40):
        cv = theirs.ShuffleSplit(2, train_size=n, random_state=0)
        assert [
            len(train)
            for train in model_selection.cross_validate(FOREST, X, Y, cv=cv, return_indices=True)["indices"]["train"]
        ] == [n, n]
    assert model_selection.cross_validate(FOREST, X, Y[np.random.default_rng(0).permutation(60)])[
        "test_score"
    ].shape == (5,)
    assert coverage_error(Y, FITTED.predict_proba(X)) == metrics.coverage_error(Y.toarray(), FITTED.predict_proba(X))


def test_one_column():
    y = Y[:, [0]]
    fitted = FOREST.fit(X, y)
    with pytest.raises(TypeError):
        metrics.accuracy_score(y, fitted.predict(X))
    assert fitted.score(X, y) == (fitted.predict(X).toarray() == y.toarray()).mean()
    assert weald.metrics.micro_f1(y, fitted.predict(X)) > 0


def test_cv_of_a_number_is_kfold():
    found = model_selection.cross_validate(FOREST, X, Y, cv=3, return_indices=True)["indices"]["test"]
    assert all(map(np.array_equal, found, (test for _, test in theirs.KFold(3).split(X))))
