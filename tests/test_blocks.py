"""Matrices that are written to disk block by block."""

import errno
import json
import os
import pickle
import sys
from contextlib import suppress
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import children
import numpy as np
import pandas as pd
import polars as pl
import pytest
import weald
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import cross_val_predict
from weald.datasets import dump_blocks, load_blocks

N, P = 41, 5


def values(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, P)) * (rng.random((N, P)) < 0.6)
    X[rng.random((N, P)) < 0.05] = np.nan
    # A constant feature, and one without any value.
    X[:, 3] = 2.0
    X[:, 4] = 0
    return X


def cut(X, n_blocks):
    """Blocks of very different lengths, of which one has no samples."""
    ends = sorted({0, N, *np.random.default_rng(n_blocks).integers(1, N, n_blocks - 1).tolist()})
    found = [X[start:end] for start, end in pairwise(ends)]
    return [*found[:1], X[:0], *found[1:]]


def as_npy(blocks, folder):
    for i, block in enumerate(blocks):
        np.save(folder / f"{i}.npy", block)
        yield str(folder / f"{i}.npy")


def as_npz(blocks, folder):
    for i, block in enumerate(blocks):
        sparse.save_npz(folder / f"{i}.npz", sparse.csr_array(block))
        yield folder / f"{i}.npz"


class Unsorted:
    """A CSR matrix with unsorted indices and entries that occur twice."""

    def __new__(cls, block):
        rows, columns = np.nonzero(block)
        order = np.lexsort((-columns, rows))
        rows, columns = np.repeat(rows[order], 2), np.repeat(columns[order], 2)
        ptr = np.searchsorted(rows, np.arange(len(block) + 1))
        return sparse.csr_array((block[rows, columns] / 2, columns, ptr), shape=block.shape)


# How blocks may be given; the second group becomes a sparse matrix.
DENSE = {
    "arrays": lambda blocks, _: blocks,
    "arrays in Fortran order": lambda blocks, _: [np.asfortranarray(block) for block in blocks],
    "lists": lambda blocks, _: [block.tolist() if len(block) else block for block in blocks],
    "objects": lambda blocks, _: [block.astype(object) for block in blocks],
    "tuple": lambda blocks, _: tuple(blocks),
    "generator": lambda blocks, _: (block for block in blocks),
    "paths": lambda blocks, folder: list(as_npy(blocks, folder)),
    "generator of paths": lambda blocks, folder: as_npy(blocks, folder),
    "pandas": lambda blocks, _: [pd.DataFrame(block, columns=list("abcde")) for block in blocks],
    "polars": lambda blocks, _: [pl.DataFrame(block, schema=list("abcde")) for block in blocks],
}
SPARSE = {
    "csr": lambda blocks, _: [sparse.csr_array(block) for block in blocks],
    "csc": lambda blocks, _: [sparse.csc_matrix(block) for block in blocks],
    "coo, csr": lambda blocks, _: [
        (sparse.coo_array if i % 2 else sparse.csr_array)(block) for i, block in enumerate(blocks)
    ],
    "unsorted": lambda blocks, _: [Unsorted(block) for block in blocks],
    "generator of csr": lambda blocks, _: (sparse.csr_array(block) for block in blocks),
    "paths of npz": lambda blocks, folder: list(as_npz(blocks, folder)),
    "generator of paths of npz": lambda blocks, folder: as_npz(blocks, folder),
}


@pytest.mark.parametrize("n_blocks", [1, 2, 7])
@pytest.mark.parametrize("way", [*DENSE, *SPARSE])
def test_blocks_are_one_matrix(way, n_blocks, tmp_path):
    X = values()
    blocks = (DENSE | SPARSE)[way](cut(X, n_blocks), tmp_path)
    found = dump_blocks(blocks, tmp_path / "X")
    again = load_blocks(str(tmp_path / "X"))
    assert [path.name for path in tmp_path.iterdir() if path.suffix not in (".npy", ".npz")] == ["X"]
    for matrix in (found, again):
        assert matrix.dtype == np.float32
        if way in DENSE:
            if hasattr(matrix, "columns"):
                assert matrix.columns == list("abcde")
                matrix = matrix.values
            assert isinstance(matrix, np.memmap)
            assert matrix.flags.f_contiguous
            assert not matrix.flags.writeable
            assert_array_equal(matrix, X.astype(np.float32))
        else:
            expected = sparse.csc_array(X.astype(np.float32))
            for name in ("data", "indices", "indptr"):
                assert_array_equal(getattr(matrix, name), getattr(expected, name))
                assert getattr(matrix, name).dtype == getattr(expected, name).dtype
            # Over the same memory, and not a copy of it.
            assert not matrix.data.flags.writeable
            assert not matrix.indices.flags.writeable


def table(n=300):
    """A frame with numbers, texts of which one appears late, and missing values."""
    rng = np.random.default_rng(3)
    city = rng.choice(["rome", "oslo", "bern"], n).astype(object)
    city[-40:] = np.where(np.arange(40) % 2, "aix", city[-40:])
    city[::17] = None
    found = pd.DataFrame({"size": rng.normal(size=n), "city": city, "rooms": rng.integers(1, 6, n)})
    found.loc[::13, "size"] = np.nan
    return found, np.nan_to_num(found["size"]) + 2 * (city == "aix") - (city == "oslo")


def of_pandas(frame, folder):
    return [frame[:90], frame[90:90], frame[90:]]


def of_polars(frame, folder):
    whole = pl.from_pandas(frame)
    return (whole[start : start + 70] for start in range(0, len(whole), 70))


def of_categories(frame, folder):
    return of_pandas(frame.astype({"city": pd.CategoricalDtype(["rome", "unseen", "bern", "oslo", "aix"])}), folder)


def of_file(frame, folder, **options):
    pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    pq.write_table(
        import_module("pyarrow").Table.from_pandas(frame), folder / "table.parquet", row_group_size=64, **options
    )
    return pq.ParquetFile(folder / "table.parquet")


def of_data_set(frame, folder):
    of_file(frame, folder)
    return import_module("pyarrow.dataset").dataset(folder / "table.parquet")


def of_dictionaries(frame, folder):
    of_file(frame, folder)
    pq = import_module("pyarrow.parquet")
    return pq.ParquetFile(folder / "table.parquet", read_dictionary=["city"]).iter_batches(50)


@pytest.mark.parametrize("way", [of_pandas, of_polars, of_categories, of_file, of_data_set, of_dictionaries])
def test_names_and_categories_of_frames_are_kept(way, tmp_path):
    frame, y = table()
    given = way(frame, tmp_path)
    whole = pd.concat(given, ignore_index=True) if way is of_categories else frame
    dump_blocks(given, tmp_path / "X")
    model = weald.GradientBoostingRegressor(n_estimators=3, random_state=0)
    expected = weald.dumps(model.fit(whole, y))
    assert model.feature_names_in_.tolist() == ["size", "city", "rooms"]
    predictions = model.predict(whole)
    for X in (load_blocks(tmp_path / "X"), pickle.loads(pickle.dumps(load_blocks(tmp_path / "X")))):
        assert X.shape == frame.shape
        assert weald.dumps(clone(model).fit(X, y)) == expected
        # Models of frames in memory know them, and the other way round.
        assert_array_equal(model.predict(X), predictions)
        assert_array_equal(clone(model).fit(X, y).predict(whole), predictions)
        # So do samples of it, in folds and with weights of zero.
        assert_array_equal(model.predict(X[5:20]), predictions[5:20])
        assert_array_equal(cross_val_predict(model, X, y, cv=2), cross_val_predict(model, whole, y, cv=2))
        weights = np.arange(len(y)) % 2
        assert weald.dumps(clone(model).fit(X, y, weights)) == weald.dumps(clone(model).fit(whole, y, weights))
        forest = weald.RandomForestRegressor(2, random_state=0)
        assert weald.dumps(forest.fit(X, y)) == weald.dumps(forest.fit(whole, y))
    by_name = weald.GradientBoostingRegressor(n_estimators=2, random_state=0, categorical_features=["rooms", "city"])
    assert weald.dumps(clone(by_name).fit(X, y)) == weald.dumps(by_name.fit(whole, y))
    with pytest.raises(ValueError, match="X must have numbers in feature 'city', got"):
        clone(model).set_params(categorical_features=None).fit(X, y)


def test_frames_on_disk_have_the_columns_of_the_fit(tmp_path):
    frame, y = table()
    model = weald.GradientBoostingRegressor(n_estimators=3, random_state=0).fit(frame, y)
    other = dump_blocks([frame[["city", "size", "rooms"]]], tmp_path / "other")
    with pytest.raises(ValueError, match="X must have the columns of fit, size, city, rooms, got city, size, rooms"):
        model.predict(other)
    # Categories of another order, and others.
    fewer = frame[frame["city"].isin(["oslo", "aix"])].replace({"city": {"oslo": "york"}})
    assert_array_equal(model.predict(dump_blocks([fewer], tmp_path / "fewer")), model.predict(fewer))
    numbers = frame[["size", "rooms"]]
    found = dump_blocks([numbers], tmp_path / "numbers")
    assert weald.dumps(clone(model).fit(found, y)) == weald.dumps(clone(model).fit(numbers, y))
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        model.fit(numbers, y).predict(numbers.to_numpy())
    with pytest.warns(UserWarning, match="X has feature names, but"):
        model.fit(numbers.to_numpy(), y).predict(found)
    # Arrays of it, for other libraries.
    assert_array_equal(np.asarray(found), numbers.astype(np.float32))
    assert_array_equal(found[3, 1], np.float32(numbers.iloc[3, 1]))
    assert type(found[:, 1]) is np.memmap


def test_batches_are_in_memory_one_at_a_time(tmp_path):
    n_alive, most = [0], [0]

    class Block(pd.DataFrame):
        def __del__(self):
            n_alive[0] -= 1

    def blocks():
        for i in range(20):
            n_alive[0] += 1
            most[0] = max(most[0], n_alive[0])
            yield Block({"a": [f"{i}", "x"], "b": [1.0, i]})

    assert dump_blocks(blocks(), tmp_path / "X").shape == (40, 2)
    assert most[0] <= 3


def models():
    rng = np.random.default_rng(1)
    numbers, labels = rng.normal(size=(N, 3)), (rng.random((N, 4)) < 0.4).astype(int)
    yield "boosting of numbers", weald.GradientBoostingRegressor(n_estimators=5, random_state=0), numbers
    yield "boosting of labels", weald.GradientBoostingClassifier(n_estimators=5, random_state=0), labels
    yield "boosting of classes", weald.GradientBoostingClassifier(n_estimators=5, random_state=0), np.arange(N) % 3
    huber = weald.GradientBoostingRegressor(n_estimators=5, loss="huber", random_state=0)
    yield "another loss", huber, numbers[:, 0]
    stopped = weald.GradientBoostingRegressor(n_estimators=50, early_stopping=True, random_state=0)
    yield "early stopping", stopped, numbers
    yield "random forest", weald.RandomForestClassifier(n_estimators=5, random_state=0), labels
    yield "extra-trees", weald.ExtraTreesRegressor(n_estimators=5, random_state=0), numbers
    categories = weald.GradientBoostingRegressor(n_estimators=5, categorical_features=[3], random_state=0)
    yield "categories", categories, numbers


MODELS = {name: (model, y) for name, model, y in models()}


@pytest.mark.parametrize("n_blocks", [1, 2, 7])
@pytest.mark.parametrize("way", ["arrays", "csr"])
@pytest.mark.parametrize("name", MODELS)
def test_models_are_those_of_a_matrix_in_memory(name, way, n_blocks, tmp_path):
    model, y = MODELS[name]
    X = values()
    on_disk = dump_blocks((DENSE | SPARSE)[way](cut(X, n_blocks), tmp_path), tmp_path / "X")
    weights = np.arange(N) % 3
    for w in (None, weights):
        expected = model.fit(X if way == "arrays" else sparse.csr_array(X), y, w)
        expected, predicted = weald.dumps(expected), expected.predict(X)
        model.fit(on_disk, y, w)
        assert weald.dumps(model) == expected
        assert_array_equal(model.predict(on_disk), predicted)


def test_sparse_blocks_may_store_nothing(tmp_path):
    found = dump_blocks([sparse.csr_array((3, 2)), sparse.csr_array((1, 2))], tmp_path / "X")
    assert found.shape == (4, 2)
    assert found.nnz == 0
    assert load_blocks(tmp_path / "X").shape == (4, 2)


def test_an_empty_folder_is_used(tmp_path):
    (tmp_path / "X").mkdir()
    assert dump_blocks([np.ones((2, 2))], tmp_path / "X").shape == (2, 2)


# What is wrong, the error, and words of its message.
WRONG = {
    "no blocks": (list, ValueError, "at least one block"),
    "no samples": (lambda: [np.ones((0, 2))], ValueError, "at least one sample"),
    "a matrix": (lambda: np.ones((2, 2)), TypeError, r"the list \[X\]"),
    "a frame": (lambda: pd.DataFrame({"a": [1, 2]}), TypeError, r"the list \[X\]"),
    "a sparse matrix": (lambda: sparse.eye_array(3), TypeError, r"the list \[X\]"),
    "a path": (lambda: "X.npy", TypeError, "blocks must be an iterable"),
    "a dict": (lambda: {"a": np.ones((2, 2))}, TypeError, "blocks must be an iterable"),
    "a number": (lambda: 3, TypeError, "blocks must be an iterable"),
    "None": (lambda: [np.ones((2, 2)), None], ValueError, r"blocks\[1\] must have shape"),
    "one axis": (lambda: [np.ones((2, 2)), np.ones(2)], ValueError, r"blocks\[1\] must have shape"),
    "features": (lambda: [np.ones((2, 2)), np.ones((2, 3))], ValueError, r"blocks\[1\] must have 2 features"),
    "formats": (lambda: [np.ones((2, 2)), sparse.eye_array(2)], ValueError, r"blocks\[1\] must be dense"),
    "infinity": (lambda: [np.ones((2, 2)), np.full((2, 2), np.inf)], ValueError, r"blocks\[1\] contains infinity"),
    "too large": (lambda: [np.full((2, 2), 1e300)], ValueError, r"blocks\[0\] contains infinity"),
    "texts": (lambda: [np.array([["a", "b"]])], ValueError, r"blocks\[0\]"),
    "complex": (lambda: [np.ones((2, 2), dtype=complex)], ValueError, r"blocks\[0\] must have real numbers"),
    "file of another kind": (lambda: ["X.csv"], ValueError, r"blocks\[0\] must be the path of a file .npy or .npz"),
    "names": (
        lambda: [pd.DataFrame({"a": [1], "b": [2]}), pd.DataFrame({"b": [1], "a": [2]})],
        ValueError,
        r"blocks\[1\] must have the columns of blocks\[0\]",
    ),
    "numbers, then texts": (
        lambda: [pd.DataFrame({"a": [1.0]}), pd.DataFrame({"a": ["x"]})],
        ValueError,
        r"blocks\[1\] must have a column of the dtype in blocks\[0\] in feature 'a'",
    ),
    "texts and numbers": (
        lambda: [pd.DataFrame({"a": ["x", 1]}, dtype=object)],
        ValueError,
        r"X must have either texts or numbers as categories in feature 'a'",
    ),
    "dates": (
        lambda: [pd.DataFrame({"a": pd.date_range("2020", periods=2)})],
        ValueError,
        r"blocks\[0\] must have numbers",
    ),
    "categories of columns without names": (
        lambda: [pd.DataFrame({0: ["x", "y"]})],
        ValueError,
        "blocks must have strings as names of columns, if they have categories",
    ),
}


@pytest.mark.parametrize("as_generator", [False, True])
@pytest.mark.parametrize("what", WRONG)
def test_wrong_blocks_are_refused_and_leave_nothing(what, as_generator, tmp_path):
    make, error, words = WRONG[what]
    blocks = make()
    if as_generator and isinstance(blocks, list):
        blocks = iter(blocks)
    with pytest.raises(error, match=words):
        dump_blocks(blocks, tmp_path / "X")
    assert not list(tmp_path.iterdir())


def test_missing_files_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"absent\.npy"):
        dump_blocks([tmp_path / "absent.npy"], tmp_path / "X")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["a.npy", "a.npz"])
def test_damaged_files_and_pickles_are_refused(name, tmp_path):
    path = tmp_path / name
    path.write_bytes(b"nothing")
    with pytest.raises(ValueError, match=r"blocks\[0\] must be a file"):
        dump_blocks([path], tmp_path / "X")
    with path.open("wb") as file:
        np.save(file, np.array([[{}]], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match=r"blocks\[0\] must be a file"):
        dump_blocks([path], tmp_path / "X")
    assert list(tmp_path.iterdir()) == [path]


def test_folders_with_content_stay_as_they_are(tmp_path):
    (tmp_path / "notes").write_text("mine")
    with pytest.raises(FileExistsError, match="must not exist, or be empty"):
        dump_blocks([np.ones((2, 2))], tmp_path)
    with pytest.raises(FileExistsError, match="must not exist, or be empty"):
        dump_blocks([np.ones((2, 2))], tmp_path / "notes")
    with pytest.raises(FileNotFoundError, match="in a folder that exists"):
        dump_blocks([np.ones((2, 2))], tmp_path / "a" / "b")
    with pytest.raises(TypeError, match="folder must be a path"):
        dump_blocks([np.ones((2, 2))], 3)
    assert (tmp_path / "notes").read_text() == "mine"
    assert len(list(tmp_path.iterdir())) == 1


class Changing:
    """An iterable that gives other blocks each time."""

    def __init__(self, *each_time):
        self.left = list(each_time)

    def __iter__(self):
        return iter(self.left.pop(0))


OTHERS = {
    "none": lambda block: [],
    "fewer": lambda block: [block],
    "more": lambda block: [block, block, block],
    "shorter": lambda block: [block, block[:1]],
    "narrower": lambda block: [block[:, :1], block[:, :1]],
}


@pytest.mark.parametrize("other", [*OTHERS, "other entries"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_iterables_must_give_the_same_blocks_again(kind, other, tmp_path):
    block = np.array([[1.0, 0, 2], [3, 0, 0]])
    if other == "other entries":
        # Other values of dense blocks of the same shape are not noticed: they are what is written.
        kind, again = sparse.csr_array, [block, block[:, ::-1]]
    else:
        again = OTHERS[other](block)
    blocks = Changing([kind(block), kind(block)], [kind(block) for block in again])
    with pytest.raises((RuntimeError, ValueError), match=r"same blocks each time|at least one block"):
        dump_blocks(blocks, tmp_path / "X")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
@pytest.mark.parametrize("as_generator", [False, True])
def test_after_an_error_nothing_is_left(error, as_generator, tmp_path):
    class Failing:
        def __iter__(self):
            yield np.ones((2, 2))
            raise error

    with pytest.raises(error):
        dump_blocks(iter(Failing()) if as_generator else Failing(), tmp_path / "X")
    assert not list(tmp_path.iterdir())


@pytest.mark.slow("python/weald/datasets", "python/weald/_distribute", "python/weald/_files")
def test_a_disk_that_is_full_is_noticed_before_anything_is_written(tmp_path):
    code = """
import resource, signal, sys
import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import cross_val_predict
from weald.datasets import dump_blocks
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
for blocks in ([np.ones((500, 100))] * 2, [sparse.csr_array(np.ones((500, 100)))] * 2):
    try:
        dump_blocks(blocks, sys.argv[1])
    except OSError as error:
        print(error.errno)
"""
    if sys.platform != "linux":
        pytest.skip("limits of the sizes of files are tested on Linux")
    found = children.run(code, str(tmp_path / "X"))
    assert found.stdout.split() == [str(errno.EFBIG)] * 2, found.stderr
    assert not list(tmp_path.iterdir())


def test_file_systems_that_cannot_reserve_space_get_zeros(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.EOPNOTSUPP, "not supported")

    monkeypatch.setattr(os, "posix_fallocate", refuse, raising=False)
    X = values()
    assert_array_equal(dump_blocks(cut(X, 3), tmp_path / "X"), X.astype(np.float32))
    monkeypatch.delattr(os, "posix_fallocate")
    assert_array_equal(dump_blocks(cut(X, 3), tmp_path / "Y"), X.astype(np.float32))


def damaged(folder: Path):
    """The files of a folder, each changed in some ways."""
    for path in sorted(folder.iterdir()):
        yield path, None
        content = path.read_bytes()
        yield path, content[: len(content) // 2]
        yield path, b""
        yield path, b"no array at all"
        for array in (np.zeros(3), np.zeros((2, 2, 2), dtype=np.float32), np.array([{}], dtype=object)):
            with (folder.parent / "other.npy").open("wb") as file:
                np.save(file, array, allow_pickle=True)
            yield path, (folder.parent / "other.npy").read_bytes()


@pytest.mark.parametrize("way", ["arrays", "csr", "pandas"])
def test_other_files_are_refused(way, tmp_path):
    dump_blocks((DENSE | SPARSE)[way](cut(values(), 2), tmp_path), tmp_path / "X")
    for path, content in damaged(tmp_path / "X"):
        if path.name == "columns.json" and content is None:
            continue  # a matrix without names
        before = path.read_bytes()
        path.unlink()
        if content is not None:
            path.write_bytes(content)
        with pytest.raises((ValueError, FileNotFoundError), match="folder must"):
            load_blocks(tmp_path / "X")
        path.write_bytes(before)
    assert load_blocks(tmp_path / "X").shape == (N, P)
    with pytest.raises(FileNotFoundError, match="folder must be one that dump_blocks has written"):
        load_blocks(tmp_path / "absent")


@pytest.mark.parametrize(
    "change",
    [
        {"names": ["size", "size", "rooms"]},
        {"names": ["size", 1, "rooms"]},
        {"names": ["size"]},
        {"categories": [None, ["aix"], None]},
        {"categories": [None, ["aix", 1, "oslo", "rome"], None]},
        {"categories": [None, ["aix", "aix", "oslo", "rome"], None]},
        {"categories": [["a"], None, None]},
        {"categories": 3},
        {"declared": [0, 1, 0]},
        {"more": 1},
    ],
)
def test_columns_that_are_not_those_of_the_matrix_are_refused(change, tmp_path):
    dump_blocks([table()[0]], tmp_path / "X")
    path = tmp_path / "X" / "columns.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(ValueError, match=r"folder must have files .*'"):
        load_blocks(tmp_path / "X")


def test_entries_outside_the_matrix_are_refused_by_a_fit(tmp_path):
    dump_blocks([sparse.csr_array(np.ones((4, 3)))], tmp_path / "X")
    indices = np.load(tmp_path / "X" / "indices.npy")
    indices[2] = 7
    np.save(tmp_path / "X" / "indices.npy", indices)
    with pytest.raises(ValueError, match="not a valid sparse matrix"):
        weald.GradientBoostingRegressor(n_estimators=1).fit(load_blocks(tmp_path / "X"), np.arange(4))


@pytest.mark.parametrize("name", ["X.npy", "a.npz"])
def test_headers_with_a_wrong_byte_raise_a_value_error(name, tmp_path):
    folder, path = tmp_path / "X", tmp_path / name
    if name == "X.npy":
        dump_blocks([np.ones((3, 2))], folder)
        path = folder / name
    else:
        sparse.save_npz(path, sparse.csr_array(np.eye(3)), compressed=False)
    good = path.read_bytes()
    n_refused = 0
    for at in range(0, min(len(good), 400), 1 if name == "X.npy" else 7):
        for byte in (b"(", b"[", b"{", b"'", b"\\", b"\n", b"\x00", b"\xff", b"9"):
            path.write_bytes(good[:at] + byte + good[at + 1 :])
            calls = [lambda: list(weald.datasets._blocks._checked([path], weald.datasets._blocks._Coder()))]
            if name == "X.npy":
                calls.append(lambda: load_blocks(folder))
            for call in calls:
                try:
                    call()
                except (ValueError, OSError):
                    n_refused += 1
    assert n_refused > 100
    for name in ("X_train", "X_test", "Y_train", "Y_test"):
        np.savez(tmp_path / f"{name}.npz", a=np.eye(2))
    (tmp_path / "meta.json").write_text("{}")
    assert_array_equal(weald.datasets.load_npz_folder(tmp_path).X_train, np.eye(2))
    content = (tmp_path / "X_test.npz").read_bytes()
    for at in range(0, len(content), 5):
        (tmp_path / "X_test.npz").write_bytes(content[:at] + b"(" + content[at + 1 :])
        with suppress(ValueError, OSError):
            weald.datasets.load_npz_folder(tmp_path)
