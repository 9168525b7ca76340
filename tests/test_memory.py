"""If memory runs out, a MemoryError is raised: the estimator stays as it was, and the process continues."""

from __future__ import annotations

import sys

import children
import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of memory as Linux has them")

# `limit(n)` limits the memory to n bytes more than are in use.
LIMIT = """
import ctypes, resource, numpy as np, weald
import weald.projection as p
from scipy import sparse
rng = np.random.default_rng(0)


def limit(n):
    with open("/proc/self/statm") as pages:
        used = int(pages.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + n, resource.RLIM_INFINITY))
"""

WORK = """
from sklearn.frozen import FrozenEstimator
import sys
what = sys.argv[1]
room = 400_000_000
X, y = rng.random((300, 5), dtype=np.float32), rng.random(300)
Y = rng.random((300, 1000))
labels = sparse.csr_array((np.ones(300), np.arange(300), np.arange(301)), shape=(300, 1_000_000))
many = np.zeros((400_000, 5), dtype=np.float32)
forest = weald.ExtraTreesRegressor(20, random_state=0)
zeros = lambda *shape: np.zeros(shape, dtype=np.float32)

if what == "tree":
    model, args = weald.DecisionTreeRegressor().fit(X, y), (zeros(60_000_000, 5), np.zeros(60_000_000))
elif what == "forest":
    model, args = weald.RandomForestRegressor(20, n_jobs=8).fit(X, y), (zeros(10_000_000, 5), np.zeros(10_000_000))
elif what == "wide leaves":
    model = weald.ExtraTreesRegressor(200).fit(X, y)
    args = (rng.random((2_000, 5), dtype=np.float32), np.zeros((2_000, 2_000)) + np.arange(2_000)[:, None])
elif what == "csr":
    model = weald.DecisionTreeRegressor().fit(X, y)
    n = 40_000_000
    ones = np.ones(n, np.float32), np.zeros(n, np.int32), np.arange(n + 1)
    args = (sparse.csr_array(ones, shape=(n, 5)), np.zeros(n))
elif what == "float64":
    model, args = weald.DecisionTreeRegressor().fit(X, y), (np.zeros((3_000_000, 50)), np.zeros(3_000_000))
elif what == "one-hot":
    model = weald.GradientBoostingClassifier(n_estimators=2).fit(X, np.arange(300) % 3)
    args = (zeros(20_000, 5), np.arange(20_000) % 10_000)
elif what == "boosting":
    model = weald.GradientBoostingRegressor(n_estimators=2).fit(X, y)
    args = (zeros(100_000, 5), np.zeros((100_000, 1000)))
elif what == "compression":
    forest.set_params(n_estimators=1000, n_jobs=2).fit(rng.random((2_000, 5)), rng.random(2_000))
    model = weald.CompressedForestRegressor(FrozenEstimator(forest), l1_norm=None, max_steps=2).fit(X, y)
    args = (zeros(500_000, 5), np.zeros(500_000))
elif what == "folds":
    model = weald.CompressedForestRegressor(forest, cv=2, max_steps=2).fit(X, y)
    model.set_params(estimator=weald.ExtraTreesRegressor(1000, max_depth=2))
    args = (rng.random((60_000, 5), dtype=np.float32), rng.random(60_000))
elif what == "predict":
    model, args = weald.DecisionTreeRegressor().fit(X, Y), None
    work = lambda: model.predict(many)
elif what == "predict_proba":
    model, args = weald.ExtraTreesClassifier(1).fit(X, labels), None
    work = lambda: model.predict_proba(many)
elif what == "staged":
    model, args = weald.GradientBoostingRegressor(n_estimators=2).fit(X, Y), None
    work = lambda: list(model.staged_predict(many))
elif what == "apply":
    model, args = weald.ExtraTreesRegressor(1000).fit(X, y), None
    work = lambda: model.apply(many)
elif what == "path":
    model, args = weald.ExtraTreesRegressor(100).fit(X, y), None
    work = lambda: model.decision_path(many)
elif what == "csc rows":
    model, args, n = weald.DecisionTreeRegressor().fit(X, y), None, 30_000_000
    ends = np.arange(6) * (n // 5)
    rows = np.concatenate([np.arange(n // 5, dtype=np.int32)] * 5)
    x = sparse.csc_array((np.ones(n, np.float32), rows, ends), shape=(n // 5, 5))
    work = lambda: model.predict(x)

if args is not None:
    work = lambda: model.fit(*args)
before = dict(model.__dict__)
limit(room)
try:
    work()
    print("finished")
except MemoryError as error:
    same = model.__dict__.keys() == before.keys() and all(model.__dict__[key] is before[key] for key in before)
    weald.RandomForestRegressor(5, n_jobs=2).fit(X, y).predict(X)
    print("MemoryError", same, str(error) != "")
"""

KINDS = ["tree", "forest", "wide leaves", "csr", "float64", "one-hot", "boosting", "compression", "folds"]
KINDS += ["predict", "predict_proba", "staged", "apply", "path", "csc rows"]


@pytest.mark.slow("crates")
@pytest.mark.parametrize("what", KINDS)
def test_memory_that_cannot_be_had_is_a_memory_error(what):
    done = children.forked(LIMIT + WORK, what)
    assert done.stdout == "MemoryError True True\n", (done.stdout, done.stderr[-2000:], done.returncode)


SWEEP = """
from sklearn.frozen import FrozenEstimator
import sys
what = sys.argv[1]
X, Y = rng.random((2_000, 40), dtype=np.float32), rng.random((2_000, 200))
one = {"n_jobs": 1, "random_state": 0}
if what == "histograms":
    model = weald.GradientBoostingRegressor(n_estimators=2, output_strategy="joint", **one)
    args, rooms = (X, Y), range(3_000_000, 200_000_000, 3_000_000)
elif what == "leaves":
    model = weald.ExtraTreesRegressor(2, **one)
    args, rooms = (X, Y), range(1_000_000, 60_000_000, 250_000)
elif what == "path":
    forest = weald.ExtraTreesRegressor(20, max_leaf_nodes=200, **one).fit(X, Y[:, :4])
    model = weald.CompressedForestRegressor(FrozenEstimator(forest), l1_norm=None, max_steps=3, **one)
    args, rooms = (X.repeat(40, axis=0), Y[:, :4].repeat(40, axis=0)), range(1_000_000, 60_000_000, 250_000)
elif what == "absolute error":
    model = weald.GradientBoostingRegressor(n_estimators=2, loss="absolute_error", max_bins=4, **one)
    args, rooms = (X[:, :2].repeat(100, axis=0), Y[:, :2].repeat(100, axis=0)), range(1_000_000, 100_000_000, 500_000)
elif what == "hinge":
    model = weald.GradientBoostingClassifier(n_estimators=2, loss="hinge", max_bins=4, **one)
    args, rooms = (X[:, :2].repeat(100, axis=0), (Y[:, 0] > 0.5).repeat(100)), range(1_000_000, 100_000_000, 500_000)
elif what == "line search":
    model = weald.GradientBoostingClassifier(n_estimators=2, leaf_estimation="line_search", max_bins=4, **one)
    args, rooms = (X[:, :2].repeat(100, axis=0), (Y[:, 0] > 0.5).repeat(100)), range(1_000_000, 100_000_000, 500_000)
elif what == "softmax":
    model = weald.GradientBoostingClassifier(n_estimators=1, max_leaf_nodes=2, **one)
    args, rooms = (X[:, :2], np.arange(2_000) // 2), range(1_000_000, 100_000_000, 1_000_000)
n_refused = 0
# The C library ends the process if the thread-local data of a shared library cannot be allocated at their first use.
model.fit(*args)
for room in rooms:
    # A fit first takes what the C library kept of freed memory. How much this is depends on what ran before.
    getattr(ctypes.CDLL(None), "malloc_trim", int)(0)
    limit(room)
    try:
        model.fit(*args)
        break
    except MemoryError as error:
        assert str(error)
        n_refused += 1
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
else:
    n_refused = 0
print("MemoryError", n_refused)
"""


@pytest.mark.slow("crates")
@pytest.mark.parametrize("what", ["histograms", "leaves", "path", "absolute error", "hinge", "line search", "softmax"])
def test_with_more_and_more_memory_a_fit_is_refused_until_it_succeeds(what):
    done = children.forked(LIMIT + SWEEP, what)
    word, _, n_refused = done.stdout.partition(" ")
    assert word == "MemoryError", (done.stdout, done.stderr[-2000:], done.returncode)
    assert int(n_refused) >= 3, n_refused


def test_threads_that_cannot_start_are_a_memory_error():
    code = """
X, y = rng.random((3_000, 20), dtype=np.float32), rng.random(3_000)
model, told = weald.RandomForestRegressor(40, n_jobs=40, random_state=0), set()
message = "cannot start 40 threads: lower n_jobs, or leave more memory or threads to the process"
for room in range(4_000_000, 600_000_000, 8_000_000):
    limit(room)
    try:
        model.fit(X, y)
        break
    except MemoryError as error:
        told.add(str(error))
        if message in told:
            # With more room threads start, and what they then lack is another matter.
            break
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(message in told)
"""
    done = children.forked(LIMIT + code)
    assert done.stdout == "True\n", (done.stdout, done.stderr[-2000:], done.returncode)


@pytest.mark.parametrize(
    "work",
    [
        "tree('gaussian').fit(X, X)",
        "tree('sparse').fit(X, X)",
        "tree(p.SubsampleProjection(replacement=True)).fit(X, X)",
        "tree(lambda d, q, seed: np.broadcast_to(1.0, (q, d))).fit(X, X)",
        "p.GaussianProjection().draw(3, n)",
        "p.RademacherProjection('sqrt').draw(3, n)",
        "p.SubsampleProjection(replacement=True).draw(3, n)",
        "p.SubsampleProjection().draw(n, n)",
        "p.HadamardProjection().draw(n, 1000)",
        "p.HadamardProjection().draw(n, n)",
        "p.PCAProjection().draw(n, 8, y=sparse.eye_array(50, n, format='csr'))",
        # The memory suffices for one block of vectors, but not for a second one.
        "p.PCAProjection().draw(n >> 8, 8, y=sparse.eye_array(50, n >> 8, format='csr'))",
    ],
)
def test_projections_that_memory_does_not_hold(work):
    code = f"""
X, n = rng.random((50, 3)), 1 << 28
tree = lambda phi: weald.DecisionTreeRegressor(output_projection=phi, n_projections=n)
tree("gaussian").set_params(n_projections=1).fit(X, X)
limit(400_000_000)
try:
    {work}
    print("finished")
except MemoryError as error:
    print("MemoryError", error)
"""
    done = children.forked(LIMIT + code)
    assert done.stdout.startswith("MemoryError"), (done.stdout, done.stderr[-2000:], done.returncode)


TEXTS = """
import os, sys, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads of numpy
what, path = sys.argv[1:]
X, y = rng.random((50_000, 5), dtype=np.float32), rng.integers(0, 3, 50_000)
if what == "export_rules":
    tree = weald.ExtraTreeRegressor(max_features=1, random_state=0).fit(X, rng.random(50_000))
    work = lambda: weald.inspection.export_rules(tree)
else:
    model = weald.DecisionTreeClassifier(class_weight={i: 1.0 for i in range(150_000)}).fit(X[:100], y[:100])
    weald.save(model, path)
    work = {
        "save": lambda: weald.save(model, path),
        "load": lambda: weald.load(path),
        "load a map": lambda: weald.load(path, mmap_mode="r"),
        "inspect_model": lambda: weald.inspect_model(path),
    }[what]
found = set()
for room in range(2_000_000, 400_000_000, 4_000_000):
    child = os.fork()
    if child == 0:
        limit(room)
        try:
            work()
            os._exit(0)
        except MemoryError:
            os._exit(1)
        except BaseException:
            os._exit(2)
    found.add(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    if 0 in found:
        break
print(sorted(found))
"""


@pytest.mark.slow("crates")
@pytest.mark.parametrize("what", ["export_rules", "save", "load", "load a map", "inspect_model"])
def test_long_texts_that_memory_does_not_hold_are_a_memory_error(what, tmp_path):
    # Freed blocks go back to the system, so that child processes cannot use memory that their parent freed.
    done = children.run(
        LIMIT + TEXTS, what, str(tmp_path / "model"), MALLOC_MMAP_THRESHOLD_="65536", MALLOC_ARENA_MAX="1"
    )
    assert done.stdout == "[0, 1]\n", (done.stdout, done.stderr[-2000:], done.returncode)
