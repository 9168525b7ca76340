"""Model files and the operating system: full disks, links, killed processes, files of more than 4 GB, and memory."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time

import numpy as np
import pytest
import weald
from model_files import again, assert_same, fitted, loads, put_together, taken_apart


@pytest.mark.skipif(os.geteuid() == 0 if hasattr(os, "geteuid") else True, reason="root writes everywhere")
def test_a_folder_that_must_not_be_written(tmp_path):
    model, _ = fitted("DecisionTreeRegressor")
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError):
        weald.save(model, tmp_path / "model")


LIMITED = """
import os, resource, signal, sys
import numpy as np, weald

X = np.random.default_rng(0).normal(size=(3000, 5))
path = sys.argv[1]
small = weald.RandomForestRegressor(n_estimators=1, random_state=0).fit(X[:20], X[:20, 0])
weald.save(small, path)
before = open(path, "rb").read()
large = weald.RandomForestRegressor(n_estimators=20, random_state=0).fit(X, X[:, 0])
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    weald.save(large, path)
except OSError as error:
    print(type(error).__name__, error.errno == 27)
assert open(path, "rb").read() == before
assert os.listdir(os.path.dirname(path)) == [os.path.basename(path)]
assert (weald.load(path).predict(X) == small.predict(X)).all()
print("old file is whole")
"""


@pytest.mark.slow("python/weald/_files", "crates/weald/src/model_file", "crates/weald-py/src/model_file.rs")
@pytest.mark.skipif(sys.platform == "win32", reason="limits of files are POSIX")
def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path):
    command = [sys.executable, "-c", LIMITED, str(tmp_path / "model")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:2] == ["OSError True", "old file is whole"]


def test_a_map_can_be_closed_and_the_file_removed(tmp_path):
    model, X = fitted("RandomForestClassifier")
    path = tmp_path / "model"
    loaded = again(model, path, mmap_mode="r")
    path.write_bytes(bytes(path.stat().st_size))  # would break a model that still used the file
    path.unlink()
    assert_same(loaded, model, X)


def test_links_stay_and_the_file_that_they_lead_to_is_written(tmp_path):
    model, X = fitted("RandomForestClassifier")
    (tmp_path / "far" / "below").mkdir(parents=True)
    (tmp_path / "near").mkdir()
    file = tmp_path / "far" / "below" / "model"
    first, second = tmp_path / "near" / "first", tmp_path / "near" / "second"
    try:
        first.symlink_to("second")
        second.symlink_to(os.path.join("..", "far", "below", "model"))
    except (OSError, NotImplementedError) as error:
        pytest.skip(f"no symbolic links here: {error}")
    for old in (None, b"old"):  # the link may also lead to a file that does not exist yet
        if old is not None:
            file.write_bytes(old)
        weald.save(model, first)
        assert first.is_symlink()
        assert second.is_symlink()
        assert not file.is_symlink()
        assert_same(weald.load(file), model, X)
        assert_same(weald.load(first), model, X)
        # The temporary file is written to the same folder and is gone afterwards.
        assert os.listdir(file.parent) == ["model"]
        assert sorted(os.listdir(first.parent)) == ["first", "second"]
    # The link is given by its name alone, from the folder that contains it.
    here = os.getcwd()
    try:
        os.chdir(first.parent)
        file.unlink()
        weald.save(model, "second")
    finally:
        os.chdir(here)
    assert second.is_symlink()
    assert_same(weald.load(file), model, X)


def test_links_that_lead_nowhere_are_told(tmp_path):
    model, _ = fitted("RandomForestClassifier")
    one, other, lost = (tmp_path / name for name in ("one", "other", "lost"))
    try:
        one.symlink_to("other")
        other.symlink_to("one")
        lost.symlink_to(os.path.join("missing", "model"))
    except (OSError, NotImplementedError) as error:
        pytest.skip(f"no symbolic links here: {error}")
    with pytest.raises(OSError, match=re.escape(str(one))):
        weald.save(model, one)
    with pytest.raises(FileNotFoundError):
        weald.save(model, lost)
    assert sorted(os.listdir(tmp_path)) == ["lost", "one", "other"]
    assert all(path.is_symlink() for path in (one, other, lost))


def _state(name):
    """The state of a file without its access time, which resolving a link may change."""
    kept = ("st_mode", "st_ino", "st_dev", "st_nlink", "st_uid", "st_gid", "st_size", "st_mtime_ns", "st_ctime_ns")
    return [getattr(os.lstat(name), field) for field in kept]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are POSIX")
def test_pipes_and_sockets_are_neither_replaced_nor_read(tmp_path, monkeypatch):
    model, _ = fitted("DecisionTreeRegressor")
    monkeypatch.chdir(tmp_path)  # paths of sockets must be short
    os.mkfifo("pipe")
    os.symlink("pipe", "link")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        for name in ("pipe", "socket", "link"):
            before = _state(name)
            for call in (lambda path: weald.save(model, path), weald.load, weald.inspect_model):
                with pytest.raises(OSError, match=f"^{name}: must be a regular file, got a device"):
                    call(name)
            assert _state(name) == before
    assert sorted(os.listdir()) == ["link", "pipe", "socket"]


@pytest.mark.skipif(sys.platform == "win32", reason="modes are POSIX")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o444, 0o777])
def test_a_file_keeps_its_mode(mode, tmp_path):
    path = tmp_path / "model"
    path.touch()
    path.chmod(mode)
    model, X = fitted("DecisionTreeRegressor")
    before = path.stat()
    weald.save(model, path)
    after = path.stat()
    assert (stat.S_IMODE(after.st_mode), after.st_uid, after.st_gid) == (mode, before.st_uid, before.st_gid)
    assert_same(weald.load(path), model, X)


@pytest.mark.skipif(sys.platform == "win32", reason="owners are POSIX")
@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() != 0, reason="only root gives files away")
def test_a_file_keeps_its_owner(tmp_path):
    path = tmp_path / "model"
    path.touch()
    os.chown(path, 12345, 23456)
    path.chmod(0o640)
    model, _ = fitted("DecisionTreeRegressor")
    weald.save(model, path)
    after = path.stat()
    assert (stat.S_IMODE(after.st_mode), after.st_uid, after.st_gid) == (0o640, 12345, 23456)


@pytest.mark.skipif(sys.platform == "win32", reason="modes are POSIX")
@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_a_new_file_has_the_mode_of_the_umask(umask, tmp_path):
    model, _ = fitted("DecisionTreeRegressor")
    before = os.umask(umask)
    try:
        weald.save(model, tmp_path / "model")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "model").stat().st_mode) == 0o666 & ~umask


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are killed the POSIX way")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_process_that_is_killed_while_it_saves_leaves_the_old_file_or_the_new_one(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 8)).astype(np.float32)
    models = [
        weald.ExtraTreesRegressor(n_estimators=40, random_state=seed).fit(X, rng.normal(size=2000)) for seed in (0, 1)
    ]
    path, temporary = tmp_path / "model", re.compile(r"\.weald-\d+-\d+\.tmp")
    whole = set()
    for model in models:
        weald.save(model, path)
        whole.add(path.read_bytes())
    assert len(whole) == 2
    found, n_left, n_rounds, end = set(), 0, 0, time.monotonic() + 6.0
    # There are at least ten rounds, and more for up to about six seconds, until both models and an unfinished file are
    # found.
    while n_rounds < 10 or ((n_left == 0 or len(found) < 2) and time.monotonic() < end):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.write(writer, b"x")
                while True:
                    for model in models:
                        weald.save(model, path)
            finally:
                os._exit(1)
        try:
            os.close(writer)
            assert os.read(reader, 1) == b"x"
            time.sleep(rng.uniform(0.0, 0.08))
        finally:
            os.close(reader)
            os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
        assert os.WTERMSIG(status) == signal.SIGKILL
        content = path.read_bytes()
        assert content in whole
        found.add(content)
        others = [name for name in os.listdir(tmp_path) if name != "model"]
        assert all(temporary.fullmatch(name) for name in others), others
        n_left += len(others)
        for name in others:
            (tmp_path / name).unlink()
        n_rounds += 1
    kept = weald.load(path).predict(X[:5])
    assert any((kept == model.predict(X[:5])).all() for model in models)


def with_array(path, name, n_bytes, *, first, change=None):
    """Put an array of `n_bytes` zeros into a model file, before or after the other arrays, as a hole in the file.

    `change` may modify the dictionary of fitted attributes.
    """
    header, estimator, data = taken_apart(path)
    if change is not None:
        change(estimator["fitted"])
    for info in header.values():
        if "data_offsets" in info and first:
            info["data_offsets"] = [place + n_bytes for place in info["data_offsets"]]
    start = 0 if first else len(data)
    header[name] = {"dtype": "U8", "shape": [n_bytes], "data_offsets": [start, start + n_bytes]}
    put_together(path, header, estimator, b"")
    n_header = path.stat().st_size
    with open(path, "r+b") as file:
        file.truncate(n_header + n_bytes + len(data))
        file.seek(n_header + (n_bytes if first else 0))
        file.write(data)
    if not hasattr(os.stat_result, "st_blocks") or path.stat().st_blocks * 512 > n_bytes // 2:
        path.unlink()
        pytest.skip("this file system has no files with holes")


SMALL = """
import resource, sys
import weald

weald.inspect_model(sys.argv[1])
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
try:
    weald.load(sys.argv[1])
except MemoryError as error:
    print("MemoryError")
"""


@pytest.mark.slow("python/weald/_files", "crates/weald/src/model_file", "crates/weald-py/src/model_file.rs")
@pytest.mark.parametrize("first", [True, False])
def test_files_of_more_than_four_gigabytes_open(first, tmp_path):
    path, n_bytes = tmp_path / "model", 5_000_000_000
    model, _ = fitted("RandomForestClassifier")
    weald.save(model, path)
    before = weald.inspect_model(path)
    # The number of out-of-bag predictions may be any number: only the size of the file limits this attribute.
    array = {"array": {"dtype": "|u1", "shape": [n_bytes], "tensor": "more"}}
    with_array(
        path, "estimator.more", n_bytes, first=first, change=lambda fitted: fitted.update(oob_decision_function_=array)
    )
    found = weald.inspect_model(path)
    assert found["n_bytes"] == path.stat().st_size > n_bytes
    arrays = {tensor["name"]: tensor for tensor in found["tensors"]}
    assert arrays["estimator.more"]["shape"] == (n_bytes,)
    assert arrays["estimator.more"]["n_bytes"] == n_bytes
    assert found["n_nodes"] == before["n_nodes"]
    # With less memory than the array takes, a MemoryError is raised, and the process continues.
    if sys.platform == "linux":
        command = [sys.executable, "-c", SMALL, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stdout.strip()) == (0, "MemoryError"), done.stderr


def test_arrays_beyond_four_gigabytes_that_no_tree_can_have_are_refused_unread(tmp_path):
    path = tmp_path / "model"
    weald.save(fitted("RandomForestClassifier")[0], path)
    with_array(path, "leaf_amounts_", 5_000_000_000, first=True)
    for call in loads(path):
        with pytest.raises(ValueError, match="`leaf_amounts_`, which is not known"):
            call()


UNREAD = """
import resource, sys
import pytest, weald

with pytest.raises(ValueError, match=sys.argv[2]):
    weald.load(sys.argv[1], mmap_mode="r")
# Less memory than the array takes, and than a map of the file does.
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
with pytest.raises(ValueError, match=sys.argv[2]):
    weald.load(sys.argv[1])
print("refused")
"""


@pytest.mark.slow("python/weald/_files", "crates/weald/src/model_file", "crates/weald-py/src/model_file.rs")
@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory as Linux has them")
@pytest.mark.parametrize(
    ("attribute", "told", "message"),
    [
        (None, {}, "must be part of an attribute"),
        ("classes_", {}, "classes_ must have at most . values in arrays, got 5000000000"),
        ("_seed", {}, "_seed must have at most 0 values in arrays, got 5000000000"),
        ("other", {}, "other must have at most 0 values in arrays, got 5000000000"),
        ("oob_decision_function_", {"dtype": "<f8"}, "must have dtype <f8"),
        ("oob_decision_function_", {"shape": [7]}, "must have dtype .u1 and shape .7., "),
    ],
)
def test_arrays_beyond_four_gigabytes_that_no_attribute_can_have_are_refused_unread(attribute, told, message, tmp_path):
    path, n_bytes = tmp_path / "model", 5_000_000_000
    weald.save(fitted("RandomForestClassifier")[0], path)
    array = {"array": {"dtype": "|u1", "shape": [n_bytes], "tensor": "more"} | told}
    added = {} if attribute is None else {attribute: array}
    with_array(path, "estimator.more", n_bytes, first=False, change=lambda fitted: fitted.update(added))
    command = [sys.executable, "-c", UNREAD, str(path), message]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "refused"), done.stderr


# --- faults -----------------------------------------------------------------------------------------------------------


GROWTH = """
import resource, sys
import weald

def peak():
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

weald.load(sys.argv[2])
before = peak()
model = weald.load(sys.argv[1])
print(peak() - before)
"""


@pytest.mark.slow("python/weald/_files", "crates/weald/src/model_file", "crates/weald-py/src/model_file.rs")
@pytest.mark.skipif(sys.platform != "linux", reason="the largest memory of a process is told in other units elsewhere")
@pytest.mark.parametrize("kind", ["bytes", "floats", "classes"])
def test_memory_of_loading_is_a_small_multiple_of_the_file(kind, tmp_path):
    # No array grows more than one of one-byte integers, which a model holds as eight-byte integers.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 4)).astype(np.float32)
    if kind == "classes":
        model = weald.ExtraTreesClassifier(n_estimators=60, random_state=0).fit(X, rng.integers(2, size=4000))
    else:
        y = rng.integers(1, 200, size=(4000, 100)) if kind == "bytes" else rng.normal(size=(4000, 100))
        model = weald.ExtraTreesRegressor(n_estimators=10, random_state=0).fit(X, y.astype(float))
    small = weald.DecisionTreeRegressor(max_depth=1).fit(X, X[:, 0])
    weald.save(model, tmp_path / "model")
    weald.save(small, tmp_path / "small")
    size = (tmp_path / "model").stat().st_size
    dtypes = {tensor["name"]: tensor["dtype"] for tensor in weald.inspect_model(tmp_path / "model")["tensors"]}
    assert dtypes["leaf_amounts"] == ("F64" if kind == "floats" else "U8")
    command = [sys.executable, "-c", GROWTH, str(tmp_path / "model"), str(tmp_path / "small")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    times = {"bytes": 8.0, "floats": 1.5, "classes": 8.0}[kind]
    assert int(done.stdout) <= times * size + 4e6, (int(done.stdout), size)


CRAFTED = """
import os, resource, sys
import weald

path = sys.argv[1]
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for call in (weald.load, lambda path: weald.load(path, mmap_mode="r")):
    try:
        call(path)
    except ValueError as error:
        assert "must have at most" in str(error), error
    else:
        raise AssertionError("it loads")
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(peak * 1024 < 8 * os.path.getsize(path))
"""


@pytest.mark.slow("python/weald/_files", "crates/weald/src/model_file", "crates/weald-py/src/model_file.rs")
@pytest.mark.skipif(sys.platform != "linux", reason="counts in kilobytes, as Linux does")
@pytest.mark.parametrize(("value", "n"), [("[]", 5_000_000), ('{"tuple":[]}', 2_000_000), ('{"a":0}', 2_000_000)])
def test_texts_that_make_far_more_values_than_they_have_bytes_are_refused_before_that(value, n, tmp_path):
    path = tmp_path / "model"
    model, _ = fitted("DecisionTreeClassifier")
    weald.save(model, path)
    header, estimator, data = taken_apart(path)
    estimator["params"]["class_weight"] = "here"
    text = json.dumps(estimator).replace('"here"', "[" + ",".join([value] * n) + "]")
    put_together(path, header, text, data)
    command = [sys.executable, "-c", CRAFTED, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "True\n", (done.stdout, done.stderr[-2000:])


@pytest.mark.slow("python/weald/_files", "crates/weald/src/model_file", "crates/weald-py/src/model_file.rs")
def test_more_values_than_can_be_loaded_are_not_saved(tmp_path):
    model, _ = fitted("DecisionTreeClassifier")
    model.class_weight = {f"[[[[[{i}": 1.0 for i in range(800_000)}
    with pytest.raises(
        ValueError, match=r"parameters and attributes must have at most .* lists as JSON, got .*nothing was written"
    ):
        weald.save(model, tmp_path / "model")
    assert not os.listdir(tmp_path)
