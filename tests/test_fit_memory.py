"""The estimated memory of a fit against what the fit takes, and fits that raise an error before they grow a tree."""

from __future__ import annotations

import re
import sys

import children
import numpy as np
import pandas as pd
import pytest
import weald
from conftest import ALL, BOOSTING, CENTROIDS, COMPRESSED, FORESTS, LABEL_TREES, LINEAR, make, make_data, unless
from scipy import sparse

linux = pytest.mark.skipif(sys.platform != "linux", reason="measures memory as Linux tells it")

MEASURED = """
from sklearn.frozen import FrozenEstimator
import sys, numpy as np, weald
from scipy import sparse
rng = np.random.default_rng(0)


def labels(n, d):
    return sparse.csr_array(rng.random((n, d)) < 0.03)


def gaps(y):
    # In two cells of five.
    y[rng.random(y.shape, dtype=np.float32) < 0.4] = np.nan
    return y


def masked_labels(n, d):
    return labels(n, d), rng.random((n, d)) >= 0.02


def compressed():
    X, y = rng.random((20_000, 5), dtype=np.float32), rng.random(20_000)
    forest = weald.ExtraTreesRegressor(100, max_depth=8, random_state=0).fit(X, y)
    return weald.CompressedForestRegressor(FrozenEstimator(forest), l1_norm=None, max_steps=2), X, y


def from_words():
    words = sparse.random_array((4_000, 20_000), density=0.0025, random_state=rng, format="csr", dtype=np.float32)
    model = weald.GradientBoostingClassifier(n_estimators=3, random_state=0, n_jobs=1)
    of_samples = sparse.csr_array(rng.random((4_000, 300)) < 0.01)
    # Each label has three words of its own: of labels that no words tell apart, nearly all words keep a small weight.
    own = sparse.csr_array((np.ones(900), (np.arange(900) // 3, np.arange(900))), shape=(300, 20_000))
    return model, sparse.csr_array(0.2 * words + of_samples.astype(float) @ own, dtype=np.float32), of_samples


cases = {
    "dense wide": lambda: (
        weald.RandomForestRegressor(2, max_depth=3, n_jobs=2), rng.random((4_000, 1_000)), rng.random(4_000)
    ),
    "dense random": lambda: (
        weald.ExtraTreesRegressor(60, max_features=1), rng.random((20_000, 100), dtype=np.float32), rng.random(20_000)
    ),
    "many outputs": lambda: (
        weald.ExtraTreesRegressor(5), rng.random((1_000, 10), dtype=np.float32), rng.random((1_000, 1_000))
    ),
    "sparse labels": lambda: (
        weald.ExtraTreesClassifier(10),
        sparse.csr_array(sparse.random_array((5_000, 2_000), density=0.05, random_state=rng), dtype=np.float32),
        labels(5_000, 500),
    ),
    "centroids": lambda: (
        weald.CentroidForestClassifier(7, max_leaf_samples=5),
        sparse.csr_array(sparse.random_array((5_000, 5_000), density=0.01, random_state=rng), dtype=np.float32),
        labels(5_000, 500),
    ),
    "centroids of numbers": lambda: (
        weald.CentroidForestRegressor(2), rng.random((2_500, 50), dtype=np.float32), rng.random((2_500, 300)),
    ),
    "boosting": lambda: (
        weald.GradientBoostingRegressor(n_estimators=10), rng.random((20_000, 20)), rng.random((20_000, 200))
    ),
    "watched": lambda: (
        weald.GradientBoostingRegressor(n_estimators=3, output_strategy="joint"),
        rng.random((500, 20)),
        rng.random((500, 100)),
    ),
    "compression": compressed,
    "gaps in numbers": lambda: (
        weald.ExtraTreesRegressor(2, max_depth=3), rng.random((10_000, 5), dtype=np.float32),
        gaps(rng.random((10_000, 500))),
    ),
    "gaps in labels": lambda: (
        weald.ExtraTreesClassifier(2, max_depth=3), rng.random((20_000, 5), dtype=np.float32),
        gaps((rng.random((20_000, 200)) < 0.03).astype(float)),
    ),
    "masked labels": lambda: (
        weald.ExtraTreesClassifier(2, max_depth=3), rng.random((20_000, 5), dtype=np.float32),
        *masked_labels(20_000, 1_000),
    ),
    "gaps in boosting": lambda: (
        weald.GradientBoostingRegressor(n_estimators=2), rng.random((20_000, 5)), gaps(rng.random((20_000, 200))),
    ),
    "gaps in boosting of labels": lambda: (
        weald.GradientBoostingClassifier(n_estimators=3, output_strategy="joint"), rng.random((20_000, 10)),
        gaps((rng.random((20_000, 100)) < 0.03).astype(float)),
    ),
    "rows that are kept": lambda: (
        weald.ExtraTreesRegressor(400, max_depth=2, keep_rows=True), rng.random((30_000, 3), dtype=np.float32),
        rng.random(30_000),
    ),
    "text": lambda: (
        weald.ExtraTreesRegressor(2, max_depth=3, categorical_features=range(20)),
        np.array([f"value {i}" for i in range(200)], dtype=object)[rng.integers(0, 200, (80_000, 20))],
        rng.random(80_000),
    ),
    "a linear start": lambda: (*from_words(), "linear"),
    "a linear start if it helps": lambda: (*from_words(), "auto"),
    "many categories": lambda: (
        weald.ExtraTreesRegressor(20, categorical_features=[0, 1], random_state=0),
        rng.integers(0, 5_000, (20_000, 2)).astype(np.float32), rng.random(20_000),
    ),
}
model, X, y, *mask = cases[sys.argv[1]]()
if mask and isinstance(mask[0], str):
    model.set_params(init=mask.pop())
fit = {"y_weight": mask[0]} if mask else {}
if sys.argv[1] == "watched":
    fit["eval_sets"] = [(rng.random((40_000, 20)), rng.random((40_000, 100))) for _ in range(2)]
weald.DecisionTreeRegressor().fit(np.ones((9, 2)), np.ones(9))
estimate = weald.estimate_fit_memory(model, X, y, **fit)


def kilobytes(what):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(what))


with open("/proc/self/clear_refs", "w") as refs:
    refs.write("5")  # the high-water mark starts anew
before = kilobytes("VmRSS")
model.fit(X, y, **fit)
print(estimate, 1024 * (kilobytes("VmHWM") - before))
"""


@linux
@pytest.mark.parametrize(
    "kind",
    [
        "dense wide",
        "dense random",
        "many outputs",
        "sparse labels",
        "centroids",
        "centroids of numbers",
        "boosting",
        "watched",
        "compression",
        "gaps in numbers",
        "gaps in labels",
        "masked labels",
        "gaps in boosting",
        "gaps in boosting of labels",
        "rows that are kept",
        "text",
        "a linear start",
        "a linear start if it helps",
        "many categories",
    ],
)
def test_the_estimate_is_right_within_a_factor_of_three(kind):
    done = children.forked(MEASURED, kind)
    assert done.returncode == 0, done.stderr[-2000:]
    estimate, measured = map(int, done.stdout.split())
    assert measured > 10_000_000
    assert measured / 3 < estimate < 3 * measured, (estimate / 1e6, measured / 1e6)


REFUSED = """
from sklearn.frozen import FrozenEstimator
import resource, sys, numpy as np, weald
n = 2_000_000
X = {
    "tree": np.zeros((n, 50), dtype=np.float32),
    "forest": np.zeros((n, 50), dtype=np.float32, order="F"),
    "boosting": np.zeros((n // 10, 5), dtype=np.float32),
    "compression": np.zeros((n, 2), dtype=np.float32, order="F"),
}[sys.argv[1]]
y = np.zeros((len(X), 500)) if sys.argv[1] == "boosting" else np.zeros(len(X))
small = np.random.default_rng(0).random((100, 2)), np.arange(100.0)
if sys.argv[1] == "compression":
    forest = weald.ExtraTreesRegressor(200, max_depth=1).fit(*small)
    model = weald.CompressedForestRegressor(FrozenEstimator(forest))
else:
    model = {
        "tree": weald.DecisionTreeRegressor(),
        "forest": weald.RandomForestRegressor(n_jobs=2),
        "boosting": weald.GradientBoostingRegressor(),
    }[sys.argv[1]]

with open("/proc/self/statm") as pages:
    used = int(pages.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 500_000_000, resource.RLIM_INFINITY))
try:
    model.fit(X, y)
except MemoryError as error:
    print(error)
    assert not hasattr(model, "n_features_in_")
"""


@linux
@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("tree", "The largest part is the sorted columns of X, 800 MB: draw fewer features .* with max_features"),
        ("forest", "The largest part is the sorted columns of X, 800 MB: draw fewer features"),
        ("boosting", "The largest part is the scores of all samples, 800 MB: fit fewer outputs"),
        ("compression", "The largest part is the samples of nodes, 3200 MB: compress a forest of fewer trees"),
    ],
)
def test_what_cannot_be_had_is_refused_before_anything_is_grown(kind, message):
    done = children.forked(REFUSED, kind)
    assert done.returncode == 0, done.stderr[-2000:]
    assert re.search(
        r"fit needs about \d+ MB in addition to X and y, \d+ MB of it at the same time, which are not available",
        done.stdout,
    )
    assert re.search(message, done.stdout), done.stdout


TOO_MANY = """
import resource, sys, numpy as np, weald
X = np.random.default_rng(0).normal(size=(60, 5))
y = (X[:, 0] > 0).astype(int) if sys.argv[1].endswith("Classifier") else X[:, 0]
model = getattr(weald, sys.argv[1].rpartition(" ")[2])
if "Compressed" in sys.argv[1] or "Induced" in sys.argv[1]:
    kind = "Classifier" if sys.argv[1].endswith("Classifier") else "Regressor"
    model = model(getattr(weald, "ExtraTrees" + kind)(10**9))
else:
    strategy = {"strategy": "tree"} if sys.argv[1].startswith("trees") else {}
    model = model(n_estimators=10**9, **strategy)
for given in (None, np.full(60, 0.3)):
    resource.setrlimit(resource.RLIMIT_AS, (4 * 10**9, resource.RLIM_INFINITY))
    try:
        model.fit(X, y, sample_weight=given)
    except MemoryError as error:
        print(error)
"""


@linux
@pytest.mark.parametrize(
    "name",
    [
        *(name for name in ALL if "Tree" not in name or "ExtraTrees" in name),
        *BOOSTING,
        *CENTROIDS,
        *LABEL_TREES,
        *("CompressedForestClassifier", "CompressedForestRegressor", "InducedForestRegressor"),
    ],
)
def test_a_number_of_trees_that_memory_does_not_hold_is_named(name):
    done = children.forked(TOO_MANY, name)
    assert done.returncode == 0, done.stderr[-2000:]
    told = done.stdout.splitlines()
    assert len(told) == 2, done.stdout
    assert all("fewer trees" in line or "n_estimators" in line for line in told), told


@pytest.mark.parametrize("name", [*ALL, *BOOSTING, *CENTROIDS, *LINEAR, *LABEL_TREES, *COMPRESSED])
def test_every_estimator_and_layout_has_an_estimate(name):
    X, y = make_data(name)
    sizes = [weald.estimate_fit_memory(make(name), Z, y) for Z in (X, X.tolist(), sparse.csr_array(X), X[:, :6])]
    assert all(isinstance(size, int) and size > 0 for size in sizes)
    assert sizes[3] < sizes[0]
    more = np.tile(X, (10, 1)), np.tile(y, 10)
    assert weald.estimate_fit_memory(make(name), *more) > 5 * sizes[0]


@pytest.mark.parametrize("name", BOOSTING)
def test_sets_that_are_watched_count(name):
    X, y = make_data(name)
    model = make(name)
    plain = weald.estimate_fit_memory(model, X, y)
    assert weald.estimate_fit_memory(model, X, y, eval_sets=[]) == plain
    # A set takes at least X as float32 and, for each sample, 8 bytes for y as float64 or codes, and for scores.
    least = 4 * X.size + 8 * len(X)
    sizes = [weald.estimate_fit_memory(model, X, y, eval_sets=[(X, y)] * n) for n in (1, 2, 3)]
    assert sizes[0] > plain + least
    assert sizes[2] - sizes[1] == sizes[1] - sizes[0] >= least
    by_name = {"a": (sparse.csc_array(X), y, np.ones(len(X)))}
    assert weald.estimate_fit_memory(model, X, y, eval_sets=by_name) > plain
    with pytest.raises(TypeError, match=r"eval_sets\[0\] must be \(X, y\) .*got a ndarray"):
        weald.estimate_fit_memory(model, X, y, eval_sets=[X])
    with pytest.raises(TypeError, match="RandomForestRegressor does not support eval_sets: it must be None"):
        weald.estimate_fit_memory(weald.RandomForestRegressor(), X, X[:, 0], eval_sets=[(X, X[:, 0])])


@pytest.mark.parametrize("name", [*ALL, *BOOSTING])
def test_cells_that_are_not_known_count(name):
    X, y = make_data(name, n=600, outputs="labels")
    model, y = make(name), y.astype(float)
    plain = weald.estimate_fit_memory(model, X, y)
    mask = np.random.default_rng(0).random(y.shape) < 0.3
    assert weald.estimate_fit_memory(model, X, y, y_weight=unless(np.zeros_like(mask))) == plain
    # The fit keeps the mask and, for numerical outputs, a copy of y.
    least = y.size * (9 if name.endswith("Regressor") else 1)
    told = weald.estimate_fit_memory(model, X, y, y_weight=unless(mask))
    assert told > plain + least
    assert weald.estimate_fit_memory(model, X, y, y_weight=unless(sparse.csr_array(mask))) == told
    assert weald.estimate_fit_memory(model, X, np.where(mask, np.nan, y)) == told
    half = mask & (np.arange(len(y)) % 2 > 0)[:, None]
    assert weald.estimate_fit_memory(model, X, np.where(half, np.nan, y), y_weight=unless(mask)) == told
    # Trees on numbers list what is known, others what is not.
    lists_known = name in ALL and name.endswith("Regressor")
    assert (weald.estimate_fit_memory(model, X, np.where(half, np.nan, y)) > told) == lists_known
    if name.endswith("Classifier"):
        labels, gaps = sparse.csr_array(np.where(mask, 0, y)), sparse.csr_array(mask)
        without = weald.estimate_fit_memory(model, X, labels)
        assert weald.estimate_fit_memory(model, X, labels, y_weight=unless(gaps)) > without + 4 * mask.sum()
        # The classes are those of the known entries.
        classes = np.where(mask, np.nan, y + 3)
        assert weald.estimate_fit_memory(model, X, classes) > 0
    with pytest.raises(ValueError, match=r"y_weight must have shape \(600, 3\).*got \(600, 2\)"):
        weald.estimate_fit_memory(model, X, y, y_weight=unless(mask[:, :2]))


def test_masks_are_for_those_that_take_them():
    X, y = make_data("InducedForestClassifier", outputs="labels")
    with pytest.raises(TypeError, match=r"^InducedForestClassifier does not support y_weight: it must be None$"):
        weald.estimate_fit_memory(make("InducedForestClassifier"), X, y, y_weight=unless(y > 0))


@pytest.mark.parametrize("name", [*ALL, *BOOSTING])
def test_categories_count(name):
    _, y = make_data(name, n=600)
    codes = np.random.default_rng(0).integers(0, 300, (600, 4)).astype(float)
    codes[0] = [299, 299, 299, np.nan]

    def size(X, features="from_dtype"):
        return weald.estimate_fit_memory(make(name, categorical_features=features), X, y)

    plain = size(codes)
    one, two = size(codes, [1]), size(codes, [1, 3])
    assert plain < one < two
    assert size(codes, [False, True, False, True]) == two
    frame = pd.DataFrame(codes, columns=list("abcd"))
    assert size(frame) == plain
    # Categories that are text are matched by their values, and their codes take one more column for each feature.
    frame["b"] = frame["b"].astype(str).astype("category")
    assert size(frame) >= one + 4 * len(codes)
    assert size(frame, None) == plain
    words = np.array([f"word {code:g}" for code in codes[:, 1]], dtype=object)
    table = np.column_stack([codes[:, [0]], words]).astype(object)
    assert size(table, [1]) > size(codes[:, :2], [1]) + 8 * table.size
    for to_sparse in (sparse.csc_array, sparse.csr_array, sparse.coo_array, sparse.lil_array):
        assert size(to_sparse(codes), [1]) > size(to_sparse(codes))
    few = np.minimum(codes, 9)
    assert size(few, [1]) < one
    with pytest.raises(ValueError, match=r"categorical_features must have indices from 0 to 3, got 4"):
        size(codes, [4])
    model = make(name, categorical_features=[1])
    before = dict(model.__dict__)
    weald.estimate_fit_memory(model, frame, y)
    assert model.__dict__ == before


@pytest.mark.parametrize("name", FORESTS)
def test_samples_that_are_kept_count(name):
    X, y = make_data(name, n=600, outputs="several")
    for n_trees in (5, 50):
        kept, dropped = (
            weald.estimate_fit_memory(make(name, n_estimators=n_trees, keep_rows=keep), X, y) for keep in (True, False)
        )
        # The fit keeps the leaves that samples reach, the weights and, for regressors, y.
        least = len(X) * (4 * n_trees + 8) + (8 * y.size if name.endswith("Regressor") else 0)
        assert kept >= dropped + least


@pytest.mark.parametrize("name", ["ExtraTreesClassifier", "GradientBoostingClassifier", "CompressedForestClassifier"])
def test_labels_have_one_estimate_dense_or_sparse(name):
    X, Y = make_data(name, outputs="labels")
    dense, stored = (weald.estimate_fit_memory(make(name), X, y) for y in (Y, sparse.csr_array(Y)))
    assert dense == stored


def test_parameters_lower_the_estimate():
    X, Y = np.zeros((10_000, 20)), np.ones((10_000, 100))

    def size(**params):
        return weald.estimate_fit_memory(weald.RandomForestRegressor(**params), X, Y)

    base = size()
    assert size(max_depth=3) < base
    assert size(max_leaf_nodes=10) < base
    assert size(n_estimators=10) < base
    assert size(min_samples_leaf=20) < base
    # A tenth of the samples: leaves are the largest part.
    assert size(max_samples=0.1) == size(max_samples=1_000) < base / 2
    assert size(max_samples=0.1) < size(max_samples=0.5) < base
    assert size(output_projection="gaussian", n_projections=1) < base
    assert size(n_jobs=4) > base


def test_only_estimators_of_weald_have_an_estimate():
    with pytest.raises(TypeError, match="estimator must be an estimator of weald, got a list"):
        weald.estimate_fit_memory([], np.zeros((3, 2)), np.zeros(3))
