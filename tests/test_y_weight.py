"""`y_weight`: what its forms mean, what its weights do, and what is refused."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn.exceptions
import sklearn.metrics
import weald
from conftest import model_bytes
from scipy import sparse
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from weald.model_selection import cross_validate

RNG = np.random.default_rng(7)
X = RNG.random((80, 5), dtype=np.float32)
NUMBERS = RNG.normal(size=(80, 4)) + X[:, :1]
LABELS = (NUMBERS > 0.4).astype(float)
KNOWN = RNG.random(NUMBERS.shape) < 0.6
KNOWN[:2] = True
KNOWN[3] = False


def compressed(kind: Any, forest: Any, y: np.ndarray) -> Any:
    """A model whose forest is fitted before, so that its samples only determine the coefficients of the nodes."""
    forest.set_params(random_state=0).fit(X, y)
    return kind(FrozenEstimator(forest), l1_norm=None, max_steps=40, cv=None, random_state=0)


KINDS = {
    "tree": (weald.DecisionTreeRegressor(max_depth=4, random_state=0), NUMBERS),
    "forest": (weald.RandomForestRegressor(4, random_state=0), NUMBERS),
    "boosting": (weald.GradientBoostingRegressor(n_estimators=4, random_state=0), NUMBERS),
    "tree of labels": (weald.DecisionTreeClassifier(max_depth=4, random_state=0), LABELS),
    "forest of labels": (weald.ExtraTreesClassifier(4, random_state=0), LABELS),
    "boosting of labels": (weald.GradientBoostingClassifier(n_estimators=4, random_state=0), LABELS),
    "linear": (weald.LinearClassifier(random_state=0), LABELS),
    "centroids": (weald.CentroidForestClassifier(4, random_state=0), LABELS),
    "compressed": (compressed(weald.CompressedForestRegressor, weald.ExtraTreesRegressor(9), NUMBERS), NUMBERS),
    "compressed labels": (compressed(weald.CompressedForestClassifier, weald.ExtraTreesClassifier(9), LABELS), LABELS),
}


def stored(y: np.ndarray, known: np.ndarray) -> sparse.csr_array:
    """Sparse y that stores what is known, zeros too."""
    rows, columns = np.nonzero(known)
    return sparse.csr_array((y[known], (rows, columns)), shape=y.shape)


@pytest.mark.parametrize("kind", KINDS)
def test_all_ways_to_say_what_is_known_give_the_same_bytes(kind: str) -> None:
    model, y = KINDS[kind]
    expected = model_bytes(fit(model, np.where(KNOWN, y, np.nan)))
    junk = np.where(KNOWN, y, 5.0)
    ways: list[Any] = [KNOWN, KNOWN.astype(int), KNOWN.tolist(), pd.DataFrame(KNOWN), sparse.coo_array(KNOWN)]
    ways += [sparse.csc_matrix(KNOWN.astype(float)), sparse.csr_array(np.where(KNOWN, 1.0, 0.0))]
    for weight in ways:
        assert model_bytes(fit(model, junk, y_weight=weight)) == expected
    both = np.where(np.arange(4) < 2, np.where(KNOWN, y, np.nan), junk)
    assert model_bytes(fit(model, both, y_weight=np.where(np.arange(4) < 2, True, KNOWN))) == expected
    if y is LABELS:
        given = stored(y, KNOWN)
        other = fit(model, given, y_weight="stored")
        np.testing.assert_array_equal(other.predict_proba(X), fit(model, junk, y_weight=KNOWN).predict_proba(X))
        same = fit(model, sparse.csr_array(np.where(KNOWN, y, 0)), y_weight=sparse.csr_array(KNOWN))
        assert model_bytes(same) == model_bytes(other)
    else:
        found = fit(model, stored(y, KNOWN), y_weight="stored")
        predicted = found.predict(X)
        predicted = predicted.toarray() if sparse.issparse(predicted) else predicted
        np.testing.assert_array_equal(predicted, fit(model, junk, y_weight=KNOWN).predict(X))


def fit(model: Any, y: Any, *args: Any, **told: Any) -> Any:
    return clone(model).fit(X, y, *args, **told)


@pytest.mark.parametrize("kind", KINDS)
def test_one_weight_in_a_sample_is_the_weight_of_the_sample(kind: str) -> None:
    model, y = KINDS[kind]
    weight = RNG.integers(0, 4, 80).astype(float)
    weight[:2] = 1
    cells = weight[:, None] * np.ones(4)
    assert model_bytes(fit(model, y, y_weight=cells)) == model_bytes(fit(model, y, weight))
    assert model_bytes(fit(model, y, y_weight=sparse.csr_array(cells))) == model_bytes(fit(model, y, weight))
    hidden = np.where(KNOWN, cells, 0)
    expected = model_bytes(fit(model, y, weight, y_weight=KNOWN))
    assert model_bytes(fit(model, y, y_weight=hidden)) == expected
    assert model_bytes(fit(model, y, weight, y_weight=np.where(KNOWN, 1.0, 0.0))) == expected
    assert model_bytes(fit(model, y, y_weight=np.ones_like(y))) == model_bytes(fit(model, y))


# Fits without anything that is drawn, or decided by the data.
PLAIN: dict[str, Any] = {
    "n_estimators": 6,
    "min_weight_leaf": 0.01,
    "learning_rate": 0.3,
    "max_leaf_nodes": 8,
    "subsample": 1.0,
    "max_features": None,
}
# Of any size, so that no two splits are as good as each other.
GRADED = np.where(KNOWN, 0.25 + 2 * RNG.random(KNOWN.shape), 0)


@pytest.mark.parametrize(
    "told", [{}, {"loss": "absolute_error"}, {"loss": "poisson"}, {"loss": weald.loss.Quantile(0.3)}]
)
def test_trees_of_one_output_are_those_of_a_fit_with_its_weights(told: dict[str, Any]) -> None:
    model = weald.GradientBoostingRegressor(**PLAIN, output_strategy="single_target", random_state=0, **told)
    y = np.exp(NUMBERS)
    found = fit(model, y, y_weight=GRADED)
    for j in range(4):
        # Thresholds are between the values of all samples, so that only samples with a known value are alike.
        there = KNOWN[:, j]
        alone = fit(model, y[:, j], GRADED[:, j]).predict(X[there])
        np.testing.assert_allclose(found.predict(X)[there, j], alone, rtol=1e-10)  # sums are rounded to other units
    np.testing.assert_allclose(
        found.train_score_, np.mean([fit(model, y[:, j], GRADED[:, j]).train_score_ for j in range(4)], axis=0)
    )
    whole = np.where(KNOWN, RNG.integers(1, 4, KNOWN.shape), 0)
    drawn = model.set_params(subsample=0.5)
    assert model_bytes(fit(drawn, y, y_weight=whole)) == model_bytes(fit(drawn, y, y_weight=sparse.csr_array(whole)))


def test_trees_of_one_label_are_those_of_a_fit_with_its_weights() -> None:
    model = weald.GradientBoostingClassifier(**PLAIN, output_strategy="single_target", random_state=0)
    found = fit(model, LABELS, y_weight=GRADED)
    for j in range(4):
        there = KNOWN[:, j]
        alone = fit(model, LABELS[:, j], GRADED[:, j]).predict_proba(X[there])[:, 1]
        np.testing.assert_allclose(np.asarray(found.predict_proba(X))[there, j], alone, rtol=1e-5)  # float32 scores


@pytest.mark.parametrize("known", [KNOWN, np.ones_like(KNOWN)], ids=["some known", "all known"])
def test_leaves_for_all_outputs_are_weighted_means(known: np.ndarray) -> None:
    weight = np.where(known, RNG.choice([0.25, 1.0, 1.7], known.shape), 0)
    options = {"n_estimators": 1, "learning_rate": 1.0, "subsample": 1.0, "l2_regularization": 0.5}
    model = weald.GradientBoostingRegressor(**options, output_strategy="projected", max_leaf_nodes=4, random_state=0)
    found = fit(model, NUMBERS, y_weight=weight)
    leaves = found.apply(X)[:, 0]
    means = np.average(NUMBERS, axis=0, weights=weight)
    for leaf in np.unique(leaves):
        w, y = weight[leaves == leaf], NUMBERS[leaves == leaf]
        expected = means + (w * (y - means)).sum(axis=0) / (w.sum(axis=0) + 0.5)
        np.testing.assert_allclose(found.predict(X)[leaves == leaf], np.tile(expected, (len(w), 1)), rtol=1e-6)


def of_several_weights() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Weights that differ within samples; and as samples of one weight: their rows, weights and known cells."""
    weight = np.where(KNOWN, RNG.choice([0.5, 1.0, 3.0], KNOWN.shape), 0)
    pairs = [(row, value) for row in range(80) for value in np.unique(weight[row]) if value]
    rows, values = (np.array(found) for found in zip(*pairs, strict=True))
    return weight, rows, values, weight[rows] == values[:, None]


def test_a_sample_of_several_weights_is_several_samples_of_one_weight() -> None:
    weight, rows, values, known = of_several_weights()
    models = {
        "joint": (weald.GradientBoostingRegressor(**PLAIN, output_strategy="joint", random_state=0), NUMBERS),
        "joint labels": (weald.GradientBoostingClassifier(**PLAIN, output_strategy="joint", random_state=0), LABELS),
        # Calibration holds out samples, with all their parts.
        "linear": (weald.LinearClassifier(C=1.0, features="given", calibrate=False, random_state=0), LABELS),
        "trees of labels": (weald.LinearClassifier(C=1.0, features="given", strategy="tree", random_state=0), LABELS),
        **{name: KINDS[name] for name in ("compressed", "compressed labels")},
    }
    for name, (model, y) in models.items():
        apart = clone(model).fit(X[rows], y[rows], values, y_weight=known)
        assert model_bytes(fit(model, y, y_weight=weight)) == model_bytes(apart), name


def test_held_out_samples_of_several_weights_are_several_samples() -> None:
    weight, rows, values, known = of_several_weights()
    folds = [(of != 0, of == 0) for of in (np.arange(80) % 3, np.arange(80) // 20 % 2)]
    of_all = [tuple(np.flatnonzero(side) for side in fold) for fold in folds]
    of_parts = [tuple(np.flatnonzero(side[rows]) for side in fold) for fold in folds]
    told = {**PLAIN, "n_estimators": 100, "output_strategy": "joint", "random_state": 0}
    numbers = 4 * X[:, :4] + NUMBERS
    for kind, y in (weald.GradientBoostingRegressor, numbers), (weald.GradientBoostingClassifier, 1.0 * (numbers > 2)):
        one = fit(kind(**told, early_stopping=weald.EarlyStopping(cv=of_all)), y, y_weight=weight)
        other = kind(**told, early_stopping=weald.EarlyStopping(cv=of_parts))
        other.fit(X[rows], y[rows], values, y_weight=known)
        assert 1 < one.n_estimators_ < 100
        assert one.n_estimators_ == other.n_estimators_
        np.testing.assert_array_equal(one.predict(X), other.predict(X))


def test_linear_models_weigh_each_label() -> None:
    model = weald.LinearClassifier(C=1.0, features="given", loss="log_loss", tol=1e-6, calibrate=False, min_weight=0.0)
    found = np.asarray(fit(model, LABELS, y_weight=GRADED).decision_function(X))
    for j in range(4):
        alone = fit(model, LABELS[:, j], GRADED[:, j]).decision_function(X)
        np.testing.assert_allclose(found[:, j], alone, atol=5e-3)  # both are up to the tolerance of the solver


def test_linear_starts_take_several_weights_in_a_sample_in_any_order() -> None:
    weight, *_ = of_several_weights()
    model = weald.GradientBoostingClassifier(n_estimators=2, init="linear", random_state=0)
    found = fit(model, LABELS, y_weight=weight)
    order = RNG.permutation(80)
    unknown_others = np.where(weight > 0, LABELS, 1 - LABELS)
    other = clone(model).fit(X[order], unknown_others[order], y_weight=weight[order])
    np.testing.assert_array_equal(other.predict_proba(X), found.predict_proba(X))
    assert not np.array_equal(fit(model, LABELS, y_weight=weight > 0).predict_proba(X), found.predict_proba(X))


REFUSED = {
    "classes of several outputs": (weald.RandomForestClassifier(2), LABELS.astype(int).astype(str), "for classes"),
    "entropy": (weald.RandomForestClassifier(2, criterion="entropy"), LABELS, "by other criteria than the Gini index"),
    "centroids": (weald.CentroidForestClassifier(2), LABELS, "for classes, and for labels"),
    "a score of shared trees": (
        weald.GradientBoostingRegressor(
            n_estimators=2, output_strategy="joint", early_stopping=True, scoring="r2", random_state=0
        ),
        NUMBERS,
        "with scoring",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_takes_one_weight_in_a_sample_says_so(case: str) -> None:
    model, y, message = REFUSED[case]
    with pytest.raises(ValueError, match=f"y_weight with several weights in a sample is not supported .*{message}"):
        fit(model, y, y_weight=GRADED)


def test_a_single_output_has_the_weights_of_its_samples() -> None:
    weight = RNG.integers(0, 4, 80).astype(float)
    for model, y in (
        (weald.DecisionTreeRegressor(random_state=0), NUMBERS[:, 0]),
        (weald.DecisionTreeClassifier(random_state=0), LABELS[:, 0]),
    ):
        one, other = fit(model, y, y_weight=weight), fit(model, y, weight)
        np.testing.assert_array_equal(one.predict(X), other.predict(X))
        np.testing.assert_array_equal(fit(model, y, y_weight=weight[:, None]).predict(X), other.predict(X))


def test_r2_weighs_what_is_known() -> None:
    model = KINDS["tree"][0].fit(X, NUMBERS)
    weight = np.where(KNOWN, RNG.random(KNOWN.shape), 0)
    scores = []
    for j, predicted in enumerate(model.predict(X).T):
        mean = np.average(NUMBERS[:, j], weights=weight[:, j])
        left, all_ = (np.average((NUMBERS[:, j] - other) ** 2, weights=weight[:, j]) for other in (predicted, mean))
        scores.append(1 - left / all_)
    assert model.score(X, NUMBERS, y_weight=weight) == pytest.approx(np.mean(scores))
    assert model.score(X, NUMBERS, y_weight=3.0 * KNOWN) == pytest.approx(model.score(X, NUMBERS, y_weight=KNOWN))
    assert model.score(X, NUMBERS, y_weight=weight).n_cells == KNOWN.sum()


def test_r2_leaves_out_outputs_of_one_known_value() -> None:
    model = KINDS["tree"][0].fit(X, NUMBERS)
    known = KNOWN.copy()
    known[1:, 0] = False
    known[0, 0] = True
    others = known.copy()
    others[:, 0] = False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.score(X, NUMBERS, y_weight=known) == model.score(X, NUMBERS, y_weight=others)
    known[1:] = False
    with pytest.warns(sklearn.exceptions.UndefinedMetricWarning):
        assert np.isnan(model.score(X, NUMBERS, y_weight=known))


@pytest.mark.parametrize("average", [None, "macro", "weighted", "micro", "samples"])
@pytest.mark.parametrize("name", ["roc_auc", "average_precision", "log_loss", "brier"])
def test_metrics_weigh_each_entry(name: str, average: Any) -> None:
    of_sklearn = {
        "roc_auc": sklearn.metrics.roc_auc_score,
        "average_precision": sklearn.metrics.average_precision_score,
        "log_loss": lambda y, p, sample_weight: sklearn.metrics.log_loss(
            y, p, sample_weight=sample_weight, labels=[0, 1]
        ),
        "brier": sklearn.metrics.brier_score_loss,
    }[name]
    proba = np.round(RNG.random(LABELS.shape), 1)
    of_rows, of_cells = RNG.random(len(X)) + 0.1, np.where(KNOWN, RNG.random(KNOWN.shape) + 0.1, 0)
    # The weight of a sample is that of its score where scores are averaged over samples.
    cells = (LABELS, proba, of_cells * (1.0 if average == "samples" else of_rows[:, None]))
    if average == "samples":
        groups = list(zip(*cells, strict=True))
    elif average == "micro":
        groups = [tuple(cell.ravel() for cell in cells)]
    else:
        groups = list(zip(*(cell.T for cell in cells), strict=True))
    needs_both = name in ("roc_auc", "average_precision")

    def expected_of(y: Any, p: Any, w: Any) -> float:
        is_defined = len(np.unique(y[w > 0])) > 1 if needs_both else w.any()
        return of_sklearn(y[w > 0], p[w > 0], sample_weight=w[w > 0]) if is_defined else np.nan

    expected = np.array([expected_of(*group) for group in groups])
    there = ~np.isnan(expected)
    factors = None
    if average == "weighted":
        factors = np.array([w[y > 0].sum() for y, _, w in groups])[there]
    elif average == "samples":
        factors = of_rows[there]
    if average is not None:
        expected = np.average(expected[there], weights=factors)
    metric = getattr(weald.metrics, name)
    found = metric(LABELS, proba, average=average, sample_weight=of_rows, y_weight=of_cells)
    # Weights are rounded to 2**-52 of the largest one.
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    of_sparse = metric(
        sparse.csr_array(LABELS),
        sparse.csr_array(proba),
        average=average,
        sample_weight=of_rows,
        y_weight=sparse.csr_array(of_cells),
    )
    np.testing.assert_array_equal(of_sparse, found)


def test_accuracy_and_ranks_take_weights_of_zero_and_one_alone() -> None:
    model = KINDS["tree of labels"][0].fit(X, LABELS)
    with pytest.raises(ValueError, match=r"^y_weight must be 0 or 1 for accuracy"):
        model.score(X, LABELS, y_weight=KNOWN / 2)
    message = r"^y_weight must be 0 or 1 for scores of rankings and of predicted labels, got other weights$"
    with pytest.raises(ValueError, match=message):
        weald.metrics.precision_at_k(LABELS, model.predict_proba(X), 2, y_weight=KNOWN / 2)


def test_folds_carry_what_is_unknown() -> None:
    model = KINDS["tree"][0]
    expected = cross_validate(model, X, np.where(KNOWN, NUMBERS, np.nan), cv=3)["test_score"]
    np.testing.assert_array_equal(cross_validate(model, X, NUMBERS, cv=3, y_weight=KNOWN)["test_score"], expected)


BAD = {
    "negative": (-1.0 * KNOWN, r"^y_weight must be finite and not negative, got -1\.0$"),
    "negative and sparse": (sparse.csr_array(-1.0 * KNOWN), r"^y_weight must be finite and not negative, got -1\.0$"),
    "NaN": (np.where(KNOWN, 1.0, np.nan), r"^y_weight must be finite and not negative, got nan$"),
    "infinity": (np.where(KNOWN, np.inf, 0.0), r"^y_weight must be finite and not negative, got inf$"),
    "another shape": (KNOWN[:, :3], r"^y_weight must have shape \(80, 4\), that of y, .*, got \(80, 3\)$"),
    "of samples": (KNOWN[:, 0], r"^y_weight must have shape \(80, 4\), that of y, .*, got \(80,\)$"),
    "texts": (KNOWN.astype(str), r"^y_weight must be numbers, or True where y is known, got dtype <U5$"),
    "another word": ("known", r'^y_weight must be weights, or "stored" for sparse y, got \'known\'$'),
    "stored and dense": ("stored", r'^y_weight must be weights, or "stored" for sparse y, got \'stored\', which is'),
    "nothing": (
        np.zeros(KNOWN.shape),
        r"^y must have a known value in columns 0, 1, 2, 3 for a sample of positive weight",
    ),
    "an output without": (KNOWN * (np.arange(4) != 2), r"^y must have a known value in column 2 for a sample of pos"),
    "other names": (pd.DataFrame(KNOWN, columns=list("abcx")), r"^y_weight must have the names of the columns of y"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_weights_are_refused_by_name_and_change_nothing(case: str) -> None:
    model = weald.RandomForestRegressor(2, random_state=0).fit(X, NUMBERS)
    before = model_bytes(model)
    weight, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        model.fit(X, pd.DataFrame(NUMBERS, columns=list("abcd")) if case == "other names" else NUMBERS, y_weight=weight)
    assert model_bytes(model) == before


def test_entries_of_one_value_are_summed_and_booleans_are_not() -> None:
    tree = KINDS["tree"][0]
    rows, columns = np.nonzero(KNOWN)
    twice = sparse.coo_array((np.full(2 * len(rows), 0.5), (np.tile(rows, 2), np.tile(columns, 2))), shape=KNOWN.shape)
    assert model_bytes(fit(tree, NUMBERS, y_weight=twice)) == model_bytes(fit(tree, NUMBERS, y_weight=KNOWN))
    told = sparse.coo_array(
        (np.ones(2 * len(rows), dtype=bool), (np.tile(rows, 2), np.tile(columns, 2))), shape=KNOWN.shape
    )
    assert model_bytes(fit(tree, NUMBERS, y_weight=told)) == model_bytes(fit(tree, NUMBERS, y_weight=KNOWN))


def test_models_without_weights_of_values_say_so() -> None:
    model = weald.InducedForestRegressor(weald.RandomForestRegressor(2), random_state=0)
    weight = np.ones(NUMBERS.shape)
    fit(model, NUMBERS, y_weight=weight)
    weight[0, 0] = 0
    with pytest.raises(ValueError, match=r"^y_weight must be None, or 1 everywhere: InducedForestRegressor does not"):
        fit(model, NUMBERS, y_weight=weight)


def test_a_fit_that_goes_on_keeps_what_was_decided_for_few_known_values() -> None:
    y = np.tile(NUMBERS, 30)  # so many numbers share trees
    model = weald.GradientBoostingRegressor(n_estimators=2, random_state=0, warm_start=True)
    model.fit(X, y, y_weight=RNG.random(y.shape) < 0.4)
    decided = {name: model.plan_[name] for name in ("l2_regularization", "subsample")}
    assert decided == {"l2_regularization": 8.0, "subsample": 1.0}
    model.set_params(n_estimators=3).fit(X, y)
    assert {name: model.plan_[name] for name in decided} == decided
