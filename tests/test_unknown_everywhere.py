"""Unknown values of y mean the same at every door: what is under a mask is never looked at, and NaN is a mask.

`DOORS` lists the ways in which y with unknown values comes in. `REFUSED` lists the estimators and settings for which it
is refused, with the reason in words; everything else must give one result, however unknown values are told.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn.metrics as theirs
import sklearn.model_selection as validation
import weald
from conftest import unless
from every import EVERY
from scipy import sparse
from sklearn.base import clone
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV, KFold, RandomizedSearchCV
from weald import inspection, metrics, model_selection
from weald._ranking.scorers import _OF_LABELS, _OF_NUMBERS, KnownScorer
from weald.multilabel import CalibratedLabels, TunedThresholds

NAN = np.nan
KINDS = ("labels", "classes", "numbers")
N = 72


def problem(kind: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """X, y, a mask that leaves known values of each output in each fold, and y with other values under the mask."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(N, 5)).round(1)
    score = X[:, :3] + rng.normal(scale=0.4, size=(N, 3))
    y = {"labels": (score > 0.3) * 1.0, "classes": 2.0 + np.digitize(score, [-0.5, 0.5]), "numbers": score}[kind]
    mask = rng.random(y.shape) < 0.25
    mask[:, 0] &= np.arange(N) % 2 == 0
    return X, y, mask, np.where(mask, y[::-1], y)


def ways(kind: str) -> dict[str, tuple[Any, Any]]:
    """The ways to tell which values of y are unknown: y and y_mask."""
    _, y, mask, junk = problem(kind)
    found: dict[str, tuple[Any, Any]] = {
        "NaN": (np.where(mask, NAN, y), None),
        "y_weight": unless((y, mask)),
        "other values under y_mask": (junk, mask),
        "sparse y_mask": (junk, sparse.coo_array(mask)),
        "NaN and y_mask": (np.where(mask & (np.arange(3) > 0), NAN, junk), mask),
        "a code under y_mask": (np.where(mask, -1, y), mask),
        "infinity under y_mask": (np.where(mask, np.inf, y), mask),
        "text under y_mask": (np.where(mask, "unknown", y.astype(object)), mask),
        "None under y_mask": (np.where(mask, None, y.astype(object)), mask),
        "frames with columns in another order": (
            pd.DataFrame(np.where(mask, -1, y), columns=["a", "b", "c"]),
            pd.DataFrame(mask, columns=["a", "b", "c"])[["c", "a", "b"]],
        ),
    }
    if kind == "labels":
        found["sparse y"] = (sparse.csr_array(junk), sparse.csc_matrix(mask))
        found["sparse y with a code under y_mask"] = (sparse.csr_array(np.where(mask, -1, y)), sparse.csc_matrix(mask))
    return found


def forest(kind: str, **parameters: Any) -> Any:
    cls = weald.RandomForestRegressor if kind == "numbers" else weald.RandomForestClassifier
    return cls(**{"n_estimators": 3, "max_depth": 4, "random_state": 0, **parameters})


def boosting(kind: str, **parameters: Any) -> Any:
    cls = weald.GradientBoostingRegressor if kind == "numbers" else weald.GradientBoostingClassifier
    return cls(**{"n_estimators": 3, "max_leaf_nodes": 4, "random_state": 0, **parameters})


def predictions(model: Any, X: np.ndarray) -> np.ndarray:
    if hasattr(model, "predict_proba"):
        found = model.predict_proba(X)
        return np.column_stack(found) if isinstance(found, list) else np.asarray(found)
    return np.asarray(model.predict(X))


def dense(found: Any) -> Any:
    return found.toarray() if sparse.issparse(found) else found


Door = Callable[[str, np.ndarray, Any, Any], Any]


def of_validation(name: str, pick: Callable[[Any], Any] = np.asarray, **options: Any) -> Door:
    """A function of `weald.model_selection` with folds by number."""

    def door(kind: str, X: np.ndarray, y: Any, y_mask: Any) -> Any:
        given = {"cv": 2, "error_score": "raise", **options}
        if "predict" in name:
            del given["error_score"]
        return pick(getattr(model_selection, name)(forest(kind), X, y, y_weight=unless(y_mask), **given))

    return door


def of_scikit_learn(name: str, pick: Callable[[Any], Any] = np.asarray, **options: Any) -> Door:
    """A function of scikit-learn, to which unknown values are NaN, with folds that are made beforehand."""
    return lambda kind, X, y, _: pick(
        getattr(validation, name)(forest(kind), X, y, cv=model_selection.check_cv(2, y), **options)
    )


def of_score(scoring: str | Callable[..., float]) -> Door:
    return of_validation("cross_validate", lambda found: found["test_score"], scoring=scoring)


def of_search(search: Any, **options: Any) -> Door:
    """A search of scikit-learn, whose scorers are told unknown values by NaN alone."""

    def door(kind: str, X: np.ndarray, y: Any, _: Any) -> Any:
        given = {"cv": KFold(2), "error_score": "raise", **options}
        if given["cv"] == "checked":
            given["cv"] = model_selection.check_cv(2, y, classifier=True)
        return search(forest(kind), {"max_depth": [2, 3]}, **given).fit(X, y).cv_results_["mean_test_score"]

    return door


def of_meta(cls: Any, **options: Any) -> Door:
    def door(_: str, X: np.ndarray, y: Any, y_mask: Any) -> Any:
        model = cls(forest("labels", n_estimators=6), random_state=0, **options).fit(X, y, y_weight=unless(y_mask))
        return [dense(model.predict_proba(X)), model.score(X, y, y_weight=unless(y_mask))]

    return door


def of_boosting(attribute: str, **options: Any) -> Door:
    return lambda kind, X, y, y_mask: getattr(boosting(kind, **options).fit(X, y, y_weight=unless(y_mask)), attribute)


def of_held(kind: str, X: np.ndarray, y: Any, _: Any) -> Any:
    model = boosting(kind, n_iter_no_change=2, scoring="r2" if kind == "numbers" else "roc_auc")
    known = problem(kind)[1]
    model.fit(X, known, X_val=X, y_val=y, eval_sets=[(X, y)])
    return [model.validation_score_, model.validation_metric_, *model.eval_results_["eval_0"].values()]


def of_metric(name: str, **options: Any) -> Door:
    def door(_: str, X: np.ndarray, y: Any, y_mask: Any) -> Any:
        scores = np.random.default_rng(0).random((N, 3)).round(1)
        return getattr(metrics, name)(y, scores > 0.5 if "f1" in name else scores, y_weight=unless(y_mask), **options)

    return door


# For each door: the kinds of y that come through it, and whether unknown values can be told by NaN alone.
DOORS: dict[str, tuple[tuple[str, ...], bool, Door]] = {
    "fit": (KINDS, False, lambda kind, X, y, m: predictions(forest(kind).fit(X, y, y_weight=unless(m)), X)),
    "score": (
        KINDS,
        False,
        lambda kind, X, y, m: forest(kind).fit(X, problem(kind)[1]).score(X, y, y_weight=unless(m)),
    ),
    "oob_score": (
        ("labels", "numbers"),
        False,
        lambda kind, X, y, m: forest(kind, n_estimators=25, oob_score=True).fit(X, y, y_weight=unless(m)).oob_score_,
    ),
    "cross_validate": (KINDS, False, of_validation("cross_validate", lambda found: found["test_score"])),
    "cross_val_score": (KINDS, True, of_scikit_learn("cross_val_score")),
    "cross_val_predict": (KINDS, False, of_validation("cross_val_predict", dense)),
    "cross_val_predict, proba": (
        ("labels", "classes"),
        False,
        of_validation("cross_val_predict", lambda found: np.hstack(found), method="predict_proba"),
    ),
    "cross_val_predict, best labels": (
        ("labels",),
        False,
        of_validation("cross_val_predict", list, method="predict_topk", k=2),
    ),
    "learning_curve": (KINDS, True, of_scikit_learn("learning_curve", lambda found: found[2], train_sizes=[0.7, 1.0])),
    "validation_curve": (
        KINDS,
        True,
        of_scikit_learn("validation_curve", lambda found: found[1], param_name="max_depth", param_range=[2]),
    ),
    "permutation_test_score": (
        KINDS,
        True,
        of_scikit_learn("permutation_test_score", lambda found: found[1], n_permutations=2, random_state=0),
    ),
    "GridSearchCV, KFold": (KINDS, True, of_search(GridSearchCV)),
    "GridSearchCV, check_cv": (KINDS, True, of_search(GridSearchCV, cv="checked")),
    "RandomizedSearchCV": (KINDS, True, of_search(RandomizedSearchCV, n_iter=1, random_state=0)),
    "HalvingGridSearchCV": (KINDS, True, of_search(HalvingGridSearchCV, min_resources=N // 2, random_state=0)),
    **{f"scoring={name}": (("labels",), False, of_score(name)) for name in ("accuracy", "f1_macro", "f1_micro")},
    **{f"scoring={name}": (("labels",), False, of_score(name)) for name in ("roc_auc", "average_precision")},
    **{
        f"scoring={name}": (("numbers",), False, of_score(name))
        for name in ("r2", "neg_mean_squared_error", "neg_root_mean_squared_error", "neg_mean_absolute_error")
    },
    "make_label_scorer": (("labels",), False, of_score(metrics.make_label_scorer("brier"))),
    "make_topk_scorer": (("labels",), False, of_score(metrics.make_topk_scorer("ndcg_at_k", k=2))),
    "several scorers": (
        ("labels",),
        False,
        of_validation("cross_validate", lambda found: found["test_roc_auc"], scoring=["roc_auc", "f1_micro"]),
    ),
    "permutation_importance": (
        KINDS,
        False,
        lambda kind, X, y, m: (
            inspection.permutation_importance(
                forest(kind).fit(X, problem(kind)[1]), X, y, y_weight=unless(m), n_repeats=2, random_state=0
            ).importances
        ),
    ),
    "TunedThresholds": (("labels",), False, of_meta(TunedThresholds)),
    "TunedThresholds, folds": (("labels",), False, of_meta(TunedThresholds, cv=2)),
    "CalibratedLabels": (("labels",), False, of_meta(CalibratedLabels, min_positives=1)),
    "CalibratedLabels, folds": (("labels",), False, of_meta(CalibratedLabels, min_positives=1, cv=2)),
    "early_stopping": (
        ("labels", "numbers"),
        False,
        of_boosting("validation_score_", early_stopping=True, validation_fraction=0.3),
    ),
    "X_val and eval_sets": (("labels", "numbers"), True, of_held),
    "MultilabelStratifiedKFold": (
        ("labels",),
        False,
        lambda _, X, y, m: [
            test for _, test in model_selection.MultilabelStratifiedKFold(3).split(X, y, y_weight=unless(m))
        ],
    ),
    "MultilabelStratifiedGroupKFold": (
        ("labels",),
        False,
        lambda _, X, y, m: np.concatenate(
            [
                test
                for _, test in model_selection.MultilabelStratifiedGroupKFold(3).split(
                    X, y, np.arange(N) // 4, y_weight=unless(m)
                )
            ]
        ),
    ),
    **{name: (("labels",), False, of_metric(name)) for name in ("roc_auc", "average_precision", "log_loss", "brier")},
    **{name: (("labels",), False, of_metric(name)) for name in ("micro_f1", "macro_f1", "coverage_error", "one_error")},
    **{name: (("labels",), False, of_metric(name, k=2)) for name in ("precision_at_k", "recall_at_k", "ndcg_at_k")},
}


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize(
    ("name", "kind"), [(name, kind) for name, (kinds, _, _) in DOORS.items() for kind in kinds], ids=str
)
def test_functions_give_one_result_for_NaN_and_for_every_form_of_y_mask(name: str, kind: str) -> None:
    X, y, mask, _ = problem(kind)
    _, only_nan, door = DOORS[name]
    expected = door(kind, X, np.where(mask, NAN, y), None)
    for way, (told, y_mask) in ways(kind).items():
        if only_nan and y_mask is not None:
            continue
        found = door(kind, X, told, y_mask)
        parts = zip(found, expected, strict=True) if isinstance(expected, list) else [(found, expected)]
        for one, other in parts:
            np.testing.assert_array_equal(one, other, err_msg=way)
    # The values that are hidden would matter if they were known: the law above is not empty.
    plain = door(kind, X, y, None)
    same = [np.array_equal(a, b) for a, b in zip(plain, expected, strict=True)] if isinstance(plain, list) else None
    assert not (np.array_equal(plain, expected) if same is None else all(same))


# Estimators that refuse unknown values, for all of the kinds of y that they take, and how they say so.
REFUSED = {
    # Their paths and budgets need all entries of a sample, in the engine.
    r"InducedForest(Classifier|Regressor)": "does not support y with masked entries",
    r"CompressedForest(Classifier|Regressor)-lasso": 'solver="lasso" does not support y with masked entries',
    # Estimators of other libraries take no mask.
    r"GradientBoosting(Classifier|Regressor)-linear": "estimator does not support y with masked entries",
    r"(TunedThresholds|CalibratedLabels|HierarchicalLabels|Conformal\w+)-others": "does not support y with masked entries",
    # Their members are estimators of these kinds.
    r"Voting\w+-(others|numbers of others)": "mask",
}


def refusal(name: str) -> str | None:
    for pattern, message in REFUSED.items():
        if re.fullmatch(pattern, name):
            return message
    return None


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize(
    ("name", "kind"),
    [(name, kind) for name, entry in EVERY.items() for kind in KINDS if kind in entry.outputs],
    ids=str,
)
def test_every_estimator_learns_from_known_values_or_says_that_it_does_not(name: str, kind: str) -> None:
    X, y, mask, junk = problem(kind)
    if name.endswith("frozen"):
        X = np.column_stack([X, X[:, 0]])  # it was fitted to six features
    model, message = EVERY[name].build(), refusal(name)
    if message is not None:
        with pytest.raises(ValueError, match=message):
            model.fit(X, y, y_weight=unless(mask))
        with pytest.raises(ValueError, match=r"NaN|does not support|masked entries"):
            model.fit(X, np.where(mask, NAN, y))
        return
    expected = predictions(model.fit(X, np.where(mask, NAN, y)), X)
    np.testing.assert_array_equal(predictions(model.fit(X, junk, y_weight=unless(sparse.csr_array(mask))), X), expected)
    coded = np.where(mask, -1, y)
    np.testing.assert_array_equal(predictions(model.fit(X, coded, y_weight=unless(mask)), X), expected)
    score = model.score(X, np.where(mask, NAN, y))
    assert score == model.score(X, junk, y_weight=unless(mask))


@pytest.mark.parametrize("kind", ["classes", "labels"])
@pytest.mark.parametrize("class_weight", ["balanced", "by class"])
def test_class_weights_of_one_output_count_known_samples(kind: str, class_weight: str) -> None:
    X, y, _, _ = problem(kind)
    one, hidden = y[:, 0] if kind == "classes" else y[:, :1], np.arange(N) % 4 == 0
    values = np.unique(one)
    weight = "balanced" if class_weight == "balanced" else dict(zip(values, [1.0, 3.0, 2.0], strict=False))
    extra = {"multi_label": True} if kind == "labels" else {}
    build = lambda: weald.DecisionTreeClassifier(class_weight=weight, max_depth=3, random_state=0, **extra)  # noqa: E731
    told = build().fit(X, one, y_weight=unless(hidden if kind == "classes" else hidden[:, None]))
    without = build().fit(X[~hidden], one[~hidden])
    np.testing.assert_array_equal(predictions(told, X), predictions(without, X))


def by_hand(y: np.ndarray, mask: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The products of balanced weights over the known outputs of each sample."""
    product = np.ones(len(y))
    for column, known in zip(y.T, ~mask.T, strict=True):
        there = known & (weight > 0)
        values = np.unique(column[there])
        for value in values:
            at = known & (column == value)
            product[at] *= weight[there].sum() / (len(values) * weight[there & at].sum())
    return product


# Learners with class weights; compression takes those of its forest.
WEIGHTED: dict[str, Callable[[Any], Any]] = {
    "tree": lambda given: weald.DecisionTreeClassifier(class_weight=given, max_depth=4, random_state=0),
    "forest": lambda given: weald.ExtraTreesClassifier(3, class_weight=given, max_depth=4, random_state=0),
    "boosting": lambda given: boosting("classes", class_weight=given),
    "boosting, projected": lambda given: boosting("classes", class_weight=given, output_strategy="projected"),
    "boosting, single target": lambda given: boosting("classes", class_weight=given, output_strategy="single_target"),
    "linear": lambda given: weald.LinearClassifier(
        C=0.01, class_weight=given, tol=1e-3, max_iter=100_000, random_state=0
    ),
}


@pytest.mark.parametrize("kind", ["classes", "labels"])
@pytest.mark.parametrize("name", WEIGHTED)
def test_class_weights_of_several_outputs_count_known_samples(kind: str, name: str) -> None:
    X, y, mask, junk = problem(kind)
    weight = np.arange(N) % 3.0
    build = WEIGHTED[name]
    balanced = build("balanced").fit(X, junk, weight, y_weight=unless(mask))
    told = build(None).fit(X, y, weight * by_hand(y, mask, weight), y_weight=unless(mask))
    # Balanced weights have 30 bits; the steps of a linear model that these change end within its tolerance.
    rtol = 1e-3 if name == "linear" else 1e-7
    np.testing.assert_allclose(predictions(balanced, X), predictions(told, X), rtol=rtol)
    given = [{value: 1.0 + j + 2 * value for value in np.unique(y[:, j])} for j in range(3)]
    factors = np.ones(N)
    for j in range(3):
        factors *= np.where(mask[:, j], 1.0, [given[j][value] for value in y[:, j]])
    for y_given, y_mask in ways(kind).values():
        by_class = build(given).fit(X, y_given, weight, y_weight=unless(y_mask))
        told = build(None).fit(X, y_given, weight * factors, y_weight=unless(y_mask))
        np.testing.assert_array_equal(predictions(by_class, X), predictions(told, X))


@pytest.mark.parametrize("kind", ["classes", "labels"])
@pytest.mark.parametrize("name", WEIGHTED)
def test_class_weights_do_not_depend_on_the_order_of_samples_or_on_what_is_masked(kind: str, name: str) -> None:
    X, y, mask, junk = problem(kind)
    order = np.random.default_rng(0).permutation(N)
    fit = lambda y, order: WEIGHTED[name]("balanced").fit(X[order], y[order], y_weight=unless(mask[order]))  # noqa: E731
    expected = predictions(fit(y, np.arange(N)), X)
    np.testing.assert_array_equal(predictions(fit(junk, order), X), expected)


@pytest.mark.parametrize("kind", ["classes", "labels"])
def test_compression_counts_known_samples_in_the_class_weights_of_its_forest(kind: str) -> None:
    X, y, mask, junk = problem(kind)
    grow = weald.ExtraTreesClassifier(3, max_depth=3, random_state=0)
    build = lambda given: weald.CompressedForestClassifier(  # noqa: E731
        clone(grow).set_params(class_weight=given), l1_norm=5.0, random_state=0
    )
    balanced = build("balanced").fit(X, junk, y_weight=unless(mask))
    told = build(None).fit(X, y, by_hand(y, mask, np.ones(N)), y_weight=unless(mask))
    # Balanced weights have 30 bits.
    np.testing.assert_allclose(predictions(balanced, X), predictions(told, X), rtol=1e-6)


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize("parameter", ["class_weight", "label_weight", "balanced_subsample"])
def test_laws_of_weights_with_unknown_values(parameter: str) -> None:
    X, y, mask, _ = problem("labels")
    y[:, 1] = X[:, 1] > 1.2
    junk = np.where(mask, 1 - y, y)
    given = {"class_weight": "balanced_subsample"} if parameter == "balanced_subsample" else {parameter: "balanced"}
    build = lambda **more: weald.RandomForestClassifier(5, random_state=0, **given, **more)  # noqa: E731
    for expected, X_given, told in [
        (
            build().fit(X, y, y_weight=unless(mask)),
            sparse.csr_array(X),
            {"y": sparse.csr_array(junk), "y_weight": unless(mask)},
        ),
        (build(bootstrap=False).fit(X, y, y_weight=unless(mask)), sparse.csc_array(X), {"y": np.where(mask, NAN, y)}),
    ]:
        other = build(bootstrap=expected.bootstrap, n_jobs=2).fit(X_given, **told)
        np.testing.assert_array_equal(predictions(other, X), predictions(expected, X))
    counts = np.where(np.arange(N) < 9, 1, np.arange(N) % 3)
    rows = np.repeat(np.arange(N), counts)
    weighted = build(bootstrap=False).fit(X, y, counts, y_weight=unless(mask))
    repeated = build(bootstrap=False).fit(X[rows], y[rows], y_weight=unless(mask[rows]))
    np.testing.assert_array_equal(predictions(weighted, X), predictions(repeated, X))
    plain = weald.RandomForestClassifier(5, random_state=0, bootstrap=False).fit(X, y, counts, y_weight=unless(mask))
    assert not np.array_equal(predictions(plain, X), predictions(weighted, X))


@pytest.mark.parametrize("rule", ["balanced", "propensity", "array"])
def test_splits_of_weighted_labels_are_those_of_known_numbers(rule: str) -> None:
    """A label is a number, times the root of its share of the weights."""
    X, y, mask, _ = problem("labels")
    weight = np.arange(N) % 4 * 0.3
    known = weight[:, None] * ~mask
    total, positive = known.sum(axis=0), (known * y).sum(axis=0)
    share = positive / total
    weights = {
        "balanced": 1 / (share * (1 - share)),
        "propensity": 1 + np.maximum(0, np.log(total) - 1) * (2.5 / (positive + 1.5)) ** 0.55,
        "array": np.array([0.25, 4.0, 1.0]),
    }[rule]
    labels = weald.DecisionTreeClassifier(label_weight=weights if rule == "array" else rule, random_state=0)
    labels.fit(X, y, weight, y_weight=unless(mask))
    numbers = weald.DecisionTreeRegressor(output_weights=weights, random_state=0)
    numbers.fit(X, np.where(mask, NAN, y), weight)
    assert labels.tree_.feature.tolist() == numbers.tree_.feature.tolist()
    np.testing.assert_array_equal(labels.tree_.threshold, numbers.tree_.threshold)
    # Means are rounded, and so are quotients of counts.
    np.testing.assert_allclose(predictions(labels, X), numbers.predict(X), rtol=0, atol=1e-15)
    equal = weald.DecisionTreeClassifier(label_weight=np.full(3, 7.25), random_state=0).fit(
        X, y, weight, y_weight=unless(mask)
    )
    plain = weald.DecisionTreeClassifier(random_state=0).fit(X, y, weight, y_weight=unless(mask))
    np.testing.assert_array_equal(predictions(equal, X), predictions(plain, X))


# What is refused for several outputs, whatever the estimator: the engine has no statistics for it.
SETTINGS = [
    (weald.DecisionTreeClassifier, {"class_weight": {0: 1, 1: 2}}, "class_weight must be a list of dicts for several"),
    (weald.DecisionTreeClassifier, {"ccp_alpha": 0.1}, "ccp_alpha must be 0 if y has masked cells"),
]


@pytest.mark.parametrize(("cls", "parameters", "message"), SETTINGS)
def test_settings_that_need_all_values_say_so(cls: Any, parameters: dict[str, Any], message: str) -> None:
    X, y, mask, _ = problem("labels")
    with pytest.raises(ValueError, match=message):
        cls(random_state=0, **parameters).fit(X, y, y_weight=unless(mask))


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")
def test_searches_and_scorers_of_scikit_learn_refuse_NaN_in_y() -> None:
    """Its searches make folds from an integer themselves, and its scorers by name read all of y."""
    X, y, mask, _ = problem("labels")
    gaps = np.where(mask, NAN, y)
    with pytest.raises(ValueError, match="contains NaN"):
        GridSearchCV(forest("labels"), {"max_depth": [2]}, cv=2).fit(X, gaps)
    with pytest.raises(ValueError, match="NaN"):
        GridSearchCV(forest("labels"), {"max_depth": [2]}, cv=KFold(2), scoring="roc_auc", error_score="raise").fit(
            X, gaps
        )
    with pytest.raises(
        ValueError, match=r"^scoring must be one of \['accuracy', .* for y with unknown values, got 'f1_sam"
    ):
        model_selection.cross_validate(forest("labels"), X, gaps, cv=2, scoring="f1_samples")
    with pytest.raises(ValueError, match=r"^scoring must be one of \['neg_mean_abs.* got 'max_error'$"):
        model_selection.cross_validate(forest("numbers"), X, gaps, cv=2, scoring={"error": "max_error"})
    # One column of y has no unknown values: such samples are left out. Names of classes cannot be NaN.
    with pytest.raises(ValueError, match="samples with unknown y must be left out"):
        model_selection.cross_validate(forest("classes"), X, y[:, 0], cv=2, y_weight=unless(mask[:, 0]))
    with pytest.raises(ValueError, match="names of classes must be replaced by numbers"):
        model_selection.cross_validate(forest("classes"), X, y.astype(str), cv=2, y_weight=unless(mask))


def test_scores_by_name_are_those_of_known_values() -> None:
    X, y, mask, _ = problem("numbers")
    gaps, model = np.where(mask, NAN, y), forest("numbers").fit(X, y)
    w = np.arange(N) % 3 + 0.5
    residual, known = model.predict(X) - y, ~mask
    of_outputs = {
        "neg_mean_absolute_error": [-np.average(np.abs(residual[k, j]), weights=w[k]) for j, k in enumerate(known.T)],
        "neg_mean_squared_error": [-np.average(residual[k, j] ** 2, weights=w[k]) for j, k in enumerate(known.T)],
        "neg_root_mean_squared_error": [
            -np.sqrt(np.average(residual[k, j] ** 2, weights=w[k])) for j, k in enumerate(known.T)
        ],
        "r2": [theirs.r2_score(y[k, j], model.predict(X)[k, j], sample_weight=w[k]) for j, k in enumerate(known.T)],
    }
    for name, expected in of_outputs.items():
        # The same terms in another order.
        assert KnownScorer(name)(model, X, gaps, w) == pytest.approx(np.mean(expected), rel=1e-12)
    X, y, mask, _ = problem("labels")
    gaps, model = np.where(mask, NAN, y), forest("labels").fit(X, y)
    right = (model.predict(X) == y) | mask
    assert KnownScorer("accuracy")(model, X, gaps) == np.mean(right.all(axis=1)[~mask.all(axis=1)])
    for weights in (None, w):
        of = np.ones(len(y)) if weights is None else weights
        f1 = [theirs.f1_score(y[k, j], model.predict(X)[k, j], sample_weight=of[k]) for j, k in enumerate((~mask).T)]
        assert KnownScorer("f1_macro")(model, X, gaps, weights) == pytest.approx(np.mean(f1), rel=1e-12)
        known, predicted = np.nonzero(~mask), model.predict(X)
        micro = theirs.f1_score(y[known], predicted[known], sample_weight=of[known[0]])
        assert KnownScorer("f1_micro")(model, X, gaps, weights) == pytest.approx(micro, rel=1e-12)


@pytest.mark.parametrize(
    ("kind", "name"),
    [("labels", name) for name in sorted(_OF_LABELS)] + [("numbers", name) for name in sorted(_OF_NUMBERS)],
)
def test_boosting_stops_by_every_score_of_known_values(kind, name):
    X, y, mask, _ = problem(kind)
    model = boosting(kind).set_params(early_stopping=True, scoring=name, n_estimators=3)
    given = [model.fit(X, np.where(mask, NAN, y)).predict(X), model.fit(X, y, y_weight=~mask).predict(X)]
    np.testing.assert_array_equal(*given)
    assert len(model.validation_metric_) == 3


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (name, kind)
        for name, entry in EVERY.items()
        for kind in KINDS
        if kind in entry.outputs and kind in entry.masks and entry.weights and not name.endswith("frozen")
    ],
    ids=str,
)
def test_samples_of_weight_zero_do_not_get_what_is_under_the_mask_of_another(name: str, kind: str) -> None:
    X, y, mask, _ = problem(kind)
    mask[0] = [True, False, False]
    weights = np.where(np.arange(N) % 6 == 1, 0.0, 1.0)
    model = EVERY[name].build()
    expected = predictions(model.fit(X, y, weights, y_weight=unless(mask)), X)
    for under in (-1.0, np.inf):
        found = model.fit(X, np.where(mask, under, y), weights, y_weight=unless(mask))
        np.testing.assert_array_equal(predictions(found, X), expected)


@pytest.mark.parametrize("kind", KINDS)
def test_masks_go_by_the_names_of_their_columns(kind: str) -> None:
    X, y, mask, _ = problem(kind)
    names = ["a", "b", "c"]
    frame, told = pd.DataFrame(y, columns=names), pd.DataFrame(mask, columns=names)
    model = forest(kind).fit(X, frame, y_weight=unless(told))
    expected = predictions(model, X)
    score = model.score(X, frame, y_weight=unless(mask))
    for other in (told[["b", "c", "a"]], told[["c", "b", "a"]].astype(int)):
        np.testing.assert_array_equal(predictions(forest(kind).fit(X, frame, y_weight=unless(other)), X), expected)
        # Without names of y, those of the fit.
        assert model.score(X, frame, y_weight=unless(other)) == model.score(X, y, y_weight=unless(other)) == score
    strange = told.rename(columns={"b": "other"})
    for call in (
        lambda: forest(kind).fit(X, frame, y_weight=unless(strange)),
        lambda: model.score(X, frame, y_weight=unless(strange)),
    ):
        with pytest.raises(
            ValueError, match="y_weight must have the names of the columns of y, got the column 'other'"
        ):
            call()
    if kind == "labels":
        with pytest.raises(ValueError, match="y_weight must have the name 'a' at position 0, got 'c'"):
            forest(kind).fit(X, y, y_weight=unless(told[["c", "a", "b"]]), label_names=names)
    # By place, where one of them has no names.
    unnamed = forest(kind).fit(X, y, y_weight=unless(told[["c", "b", "a"]]))
    np.testing.assert_array_equal(
        predictions(unnamed, X), predictions(forest(kind).fit(X, y, y_weight=unless(mask[:, ::-1])), X)
    )


@pytest.mark.parametrize("under", [None, NAN, "?", -1])
def test_one_output_with_anything_under_the_mask(under: Any) -> None:
    X, y, mask, _ = problem("classes")
    names, hidden = np.array(["a", "b", "c"])[y[:, 0].astype(int) - 2].astype(object), mask[:, 0]
    expected = predictions(forest("classes").fit(X[~hidden], names[~hidden]), X)
    coded = names.copy()
    coded[hidden] = under
    model = forest("classes").fit(X, coded, y_weight=unless(hidden))
    np.testing.assert_array_equal(predictions(model, X), expected)
    assert model.score(X, coded, y_weight=unless(hidden)) == model.score(X[~hidden], names[~hidden])
    numbers = X[:, 0].astype(object)
    numbers[hidden] = under
    found = predictions(forest("numbers").fit(X, numbers, y_weight=unless(hidden)), X)
    np.testing.assert_array_equal(found, predictions(forest("numbers").fit(X[~hidden], X[~hidden, 0]), X))
