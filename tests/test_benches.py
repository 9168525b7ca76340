"""Benchmarks: the contents of their records, and that records which are not comparable never share a file."""

import ast
import bz2
import csv
import importlib.util
import itertools
import json
import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import _boosters
import _data
import _harness
import _records
import data
import instructions
import numpy as np
import pytest
import real_data
import scipy.sparse as sp
import weald
from sklearn.ensemble import RandomForestRegressor
from sklearn.multioutput import MultiOutputRegressor
from weald.datasets import load_npz_folder

BENCHES = real_data.REPOSITORY / "benches"


def about(**changes):
    return {**_records.environment(), **changes}


def test_a_record_says_where_it_comes_from():
    now = _records.environment()
    assert re.fullmatch("[0-9a-f]{16}", now["engine"])
    assert re.fullmatch("[0-9a-f]{12}", now["machine"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", now["date"])
    assert now["cores"] >= 1
    assert {"commit", "dirty", "cpu", "memory_gib", "python", "weald", "load"} <= set(now)
    assert {"scikit-learn", "numpy", "scipy"} <= set(now["packages"])
    text = _records.heading(now)
    assert all(str(now[key]) in text for key in ("engine", "machine", "date", "cpu", "python"))


def test_records_name_no_host():
    host = platform.node()
    assert host == "" or host not in json.dumps(_records.environment()).split('"')


def test_no_script_is_named_like_a_module_of_python():
    # Python looks in the folder of a script first: `compression` is a package of Python 3.14 that bz2 imports.
    names = {path.stem for path in BENCHES.rglob("*.py")}
    assert not names & (sys.stdlib_module_names | {"compression"})


def test_a_commit_is_that_of_the_folder_itself(tmp_path):
    # The sources were copied without their history, into a folder inside another repository or outside of any.
    assert _records.commit(tmp_path) == {"commit": None, "dirty": None}
    assert _records.commit(BENCHES) == {"commit": None, "dirty": None}


def test_the_id_of_a_machine_depends_on_each_part():
    ids = {_records.machine(*kind) for kind in [("a", 2, 4), ("b", 2, 4), ("a", 4, 4), ("a", 2, 8)]}
    assert len(ids) == 4
    assert _records.machine("a", 2, 4) in ids


@pytest.mark.parametrize(
    "changes",
    [{"machine": "other"}, {"engine": "other"}, {"python": "3.0"}, {"packages": {"numpy": "0.1"}}],
    ids=lambda changes: next(iter(changes)),
)
def test_a_file_takes_records_of_one_kind_only(tmp_path, changes):
    path = tmp_path / "records.jsonl"
    _records.append(path, {"case": "a"})
    _records.append(path, {"case": "b"}, lambda: about(load=99.0, date="2000-01-01", commit="0"))
    before = path.read_bytes()
    with pytest.raises(_records.MixedRecordsError, match="other measurements"):
        _records.append(path, {"case": "c"}, lambda: about(**changes))
    with pytest.raises(_records.MixedRecordsError, match=next(iter(changes.get("packages", changes)))):
        _records.read(path, lambda: about(**changes))
    assert path.read_bytes() == before
    assert [record["case"] for record in _records.read(path)] == ["a", "b"]


def test_records_without_their_environment_are_refused(tmp_path):
    path = tmp_path / "old.jsonl"
    path.write_text(json.dumps({"case": "a"}) + "\n")
    with pytest.raises(_records.MixedRecordsError, match="does not say"):
        _records.append(path, {"case": "b"})


def test_a_package_that_one_side_lacks_is_no_difference():
    now = about(packages={"numpy": "2", "xgboost": "3.2"})
    assert _records.differences(about(packages={"numpy": "2"}), now) == []
    assert _records.differences(about(packages={"numpy": "2", "xgboost": "3.1"}), now) == ["xgboost 3.1, now 3.2"]


def test_measurements_of_peers_outlive_a_build_but_not_a_machine(tmp_path):
    path = tmp_path / "peers.json"
    cache = _records.PeersCache(path)
    cache.put("forest | peer | 0", {"seconds": 2.0})
    cache.put("forest | weald on one thread | 0", {"seconds": 1.0}, ours=True)
    again = _records.PeersCache(path)
    assert again.get("forest | weald on one thread | 0", ours=True) == {"seconds": 1.0}
    other_build = _records.PeersCache(path, lambda: about(engine="other"))
    assert other_build.get("forest | peer | 0") == {"seconds": 2.0}
    assert other_build.get("forest | weald on one thread | 0", ours=True) is None
    for changes in ({"machine": "other"}, {"packages": {"scikit-learn": "0.1"}}):
        with pytest.raises(_records.MixedRecordsError):
            _records.PeersCache(path, lambda changes=changes: about(**changes))


def test_a_cache_of_the_former_form_is_refused(tmp_path):
    path = tmp_path / "peers.json"
    path.write_text(json.dumps({"forest | peer | 0": {"seconds": 2.0}}))
    with pytest.raises(_records.MixedRecordsError, match="does not say"):
        _records.PeersCache(path)


def test_sides_that_may_run_weald_are_told_from_those_that_cannot():
    class Wrapper:
        def fit(self):
            return self

    assert _records.runs_weald(weald.RandomForestRegressor())
    assert _records.runs_weald(MultiOutputRegressor(weald.RandomForestRegressor()))
    assert _records.runs_weald(Wrapper())
    assert not _records.runs_weald(RandomForestRegressor())
    assert not _records.runs_weald(_boosters.LightGBM())


def test_the_harness_writes_such_records():
    text = (BENCHES / "peers" / "_harness.py").read_text()
    assert "append(args.json, record)" in text
    writing = [p for p in BENCHES.rglob("*.py") if re.search(r"json\.dumps\(.*\) \+ \"\\n\"", p.read_text())]
    assert [p.name for p in writing] == ["_records.py"]
    assert Path(_records.REPOSITORY) == real_data.REPOSITORY


# ---- scripts and what they print


def commands() -> dict[str, list[str]]:
    """The rows of the list of scripts: the file of the command, and the other cells."""
    found: dict[str, list[str]] = {}
    text = (BENCHES / "README.md").read_text()
    part = text[text.index("\n## All scripts\n") : text.index("\n## Data\n")]
    for line in part.splitlines():
        if row := re.match(r"\| `(\S+\.(?:py|rs))[^`]*` \|", line):
            path = row[1]
            assert path not in found, f"{path} has two rows"
            found[path] = [cell.strip() for cell in line.split("|")[2:-1]]
    return found


def scripts() -> set[str]:
    python = {path for path in BENCHES.rglob("*.py") if not path.name.startswith("_")}
    rust = {path for path in BENCHES.glob("rust/*.rs") if path.name != "lib.rs"}
    return {path.relative_to(BENCHES).as_posix() for path in python | rust if "out" not in path.parts}


def test_the_list_has_a_row_for_each_script_and_no_other():
    listed = commands()
    assert scripts() - set(listed) == set()
    assert set(listed) - scripts() == set()
    # What it answers, data, packages, time.
    assert {path: row for path, row in listed.items() if len(row) != 4 or not all(row)} == {}


@pytest.mark.parametrize("script", sorted(path for path in scripts() if path.endswith(".py")))
def test_a_script_imports_what_there_is(script, monkeypatch):
    monkeypatch.setattr(sys, "path", [str((BENCHES / script).parent), *sys.path])
    monkeypatch.setattr(os, "environ", dict(os.environ))
    known = set(sys.modules)
    spec = importlib.util.spec_from_file_location("script_of_benches", BENCHES / script)
    module = importlib.util.module_from_spec(spec)
    # Classes with postponed annotations look their module up.
    monkeypatch.setitem(sys.modules, spec.name, module)
    try:
        spec.loader.exec_module(module)
    except ModuleNotFoundError as absent:
        if list(BENCHES.rglob(f"{absent.name}.py")) or absent.name.startswith("weald"):
            raise
        pytest.skip(str(absent))
    finally:
        # Scripts of two folders may have helpers of the same name.
        for name in set(sys.modules) - known:
            file = str(getattr(sys.modules[name], "__file__", ""))
            if file.startswith((str(BENCHES), str(real_data.REPOSITORY / "tests"))):
                del sys.modules[name]
    assert module.__doc__


def test_a_table_is_markdown_whose_rows_have_all_cells(capsys):
    table = _harness.Table("case | side | seconds | ratio", texts=2)
    assert capsys.readouterr().out == ""
    table.row("a", "weald", _harness.spread([0.2, 0.1, 0.4]))
    table.row("", "peer", _harness.spread([1.0]), _harness.told(_harness.ratios([2, 4, 3], [1, 2, 1])))
    assert capsys.readouterr().out.splitlines() == [
        "| case | side | seconds | ratio |",
        "|---|---|--:|--:|",
        "| a | weald | 0.2 [0.1 .. 0.4] |  |",
        "|  | peer | 1 | 3 [1 .. 4] |",
    ]


def test_a_report_names_each_ratio_and_whether_aims_are_met(capsys):
    runs = {"weald": [1.0, 1.0], "slow": [9.0, 9.0], "fast": [4.0, 4.0]}
    results = {
        name: _harness.Results([{"seconds": s, "peak_bytes": 2e6, "score": 0.5} for s in seconds])
        for name, seconds in runs.items()
    }
    case = _harness.Case("a case", lambda: None, {}, {"seconds": 5.0}, notes="2 trees")
    table = _harness.Table("case | side | seconds | peak, MB | model, MB | score | ratio | aim", texts=2)
    _harness.report(case, results, table)
    _, _, first, slow, fast = capsys.readouterr().out.splitlines()
    # The aim is that of the fastest peer.
    assert first == "| a case (2 trees) | weald | 1 [1 .. 1] | 2 [2 .. 2] |  | 0.5000 |  | 5: MISSED |"
    assert slow.endswith("| 9 |  |")
    assert fast.endswith("| 4 |  |")


def test_calls_in_turns_change_their_order():
    order = []
    found = _harness.in_turns({name: lambda name=name: order.append(name) for name in "ab"}, 3)
    assert order == list("abbaab")
    assert {name: len(seconds) for name, seconds in found.items()} == {"a": 3, "b": 3}


# ---- data sets


# Tables with the same names hold data sets in other scripts, but something else in these two scripts.
OTHER_TABLES = {("ch5_table.py", "SIZES"), ("study.py", "LABELS")}


def names_in(path: Path) -> set[str]:
    """Names of data sets in a script: in calls of `named`, and in tables whose names show that they list data sets."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        inside: list[ast.AST] = []
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "named":
            inside = list(node.args)
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            table = ast.unparse(targets[0])
            if re.fullmatch("(.*_)?SETS|CLASSES|NUMBERS", table) or (path.name, table) in OTHER_TABLES:
                value = node.value
                inside = list(value.keys) if isinstance(value, ast.Dict) else [value]
        for part in inside:
            found |= {n.value for n in ast.walk(part) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    return found


def test_every_data_set_that_benchmarks_name_is_known():
    # Names of generated data sets, and strings in the tables that are not names of data sets.
    others = {"made", "friedman1-ind", "friedman1-chain", "friedman1-group"}
    named = {path.name: names_in(path) for path in BENCHES.rglob("*.py")}
    assert {"delicious", "20newsgroup", "scm20d", "rf1"} <= named["_data.py"]
    assert {"bibtex", "medical"} <= named["tagging.py"] | named["text_recipe.py"]
    unknown = {name: rest for name, of in named.items() if (rest := of - set(data.SOURCES) - others)}
    assert unknown == {}


def test_every_data_set_has_a_source_a_shape_and_checksums():
    shapes = data.shapes()
    assert shapes.keys() == data.SOURCES.keys()
    for name, source in data.SOURCES.items():
        assert source.site
        assert source.terms
        # Each data set has exactly one source: downloads, scikit-learn, or instructions for obtaining it by hand.
        ways = [bool(source.urls and source.convert), source.scikit_learn is not None, bool(source.how)]
        assert sum(ways) == 1, name
        assert all(url.startswith("https://") for url in source.urls)
        assert re.fullmatch("[0-9a-f]{64}", shapes[name].contents)
        assert re.fullmatch("[0-9a-f]{64}", shapes[name].samples)


def small(seed: int = 0, n: int = 9) -> data.Parts:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).astype(np.float32)
    X[rng.random(X.shape) < 0.4] = 0
    X[0, 0] = np.nan
    Y = (rng.random((n, 3)) < 0.4).astype(np.float32)
    return data.Parts(X[:6], X[6:], Y[:6], Y[6:])


def test_checksums_do_not_depend_on_storage():
    parts = small()
    expected = data.checksums(parts)
    assert data.checksums(data.Parts(*map(sp.csr_matrix, parts))) == expected
    assert data.checksums(data.Parts(*map(sp.csc_array, parts))) == expected
    assert data.checksums(data.Parts(*(part.astype(np.float64) for part in parts))) == expected
    assert data.checksums(data.Parts(*map(np.asfortranarray, parts))) == expected
    # Checksums do not depend on stored zeros, on entries that are split into two summands, or on the bits of NaN.
    X = sp.csr_matrix(parts.X_train)
    doubled = sp.vstack([X, X]).tocoo()
    halves = sp.coo_matrix((doubled.data / 2, (doubled.row % 6, doubled.col)), shape=(6, 4))
    assert data.checksums(parts._replace(X_train=halves)) == expected
    stored = X.copy()
    stored.data[1] = 0
    plain = stored.toarray()
    assert data.checksums(parts._replace(X_train=stored)) == data.checksums(parts._replace(X_train=plain)) != expected
    other = parts.X_train.copy()
    other[0, 0] = np.frombuffer(np.uint32(0x7FC00001).tobytes(), np.float32)[0]
    assert data.checksums(parts._replace(X_train=other)) == expected


def test_checksums_tell_order_from_values():
    parts = small()
    shape = data.describe(parts, "multilabel")
    assert data.verdict(parts, shape) == "same"
    order = [3, 1, 2, 0, 5, 4]
    turned = parts._replace(X_train=parts.X_train[order], Y_train=parts.Y_train[order])
    assert data.verdict(turned, shape) == "same samples in another order"
    # Permuting only the inputs, exchanging the training and test parts, or changing a single value is detected.
    assert data.verdict(parts._replace(X_train=parts.X_train[order]), shape) == "other values"
    exchanged = data.Parts(parts.X_test, parts.X_train, parts.Y_test, parts.Y_train)
    assert data.verdict(exchanged, shape) == "other values"
    changed = parts.Y_test.copy()
    changed[2, 1] = 1 - changed[2, 1]
    assert data.verdict(parts._replace(Y_test=changed), shape) == "other values"


def as_arff(X, Y, sparse: bool) -> bytes:
    table = np.hstack([X, Y])
    kinds = ["numeric"] * X.shape[1] + ["{0,1}"] * Y.shape[1]
    head = "% a comment\n@relation 'made: -C 3'\n\n"
    head += "".join(f"@ATTRIBUTE 'a {{b}} \\'{j}' {kind}\n" for j, kind in enumerate(kinds)) + "\n@data\n"

    def word(value: float) -> str:
        return "?" if np.isnan(value) else f"{value:.9g}"

    if sparse:
        cells = ["{" + ",".join(f"{j} {word(v)}" for j, v in enumerate(row) if v != 0) + "}" for row in table]
    else:
        cells = [",".join(map(word, row)) for row in table]
    return (head + "\n".join(cells) + "\n").encode()


@pytest.mark.parametrize("sparse", [False, True])
def test_arff_is_read_as_it_was_written(sparse):
    parts = small()
    found = data.arff(as_arff(parts.X_train, parts.Y_train, sparse))
    assert sp.issparse(found) == sparse
    found = found.toarray() if sparse else found
    # Nine significant digits determine a float32 exactly.
    assert np.array_equal(found, np.hstack([parts.X_train, parts.Y_train]), equal_nan=True)


def test_categories_that_are_not_numbers_become_their_places():
    text = b"@relation r\n@attribute c {red, 'light blue'}\n@attribute n {3, 7}\n@data\n'light blue',3\nred,7\n"
    assert data.arff(text).tolist() == [[1, 3], [0, 7]]
    with pytest.raises(ValueError, match="1 values, expected one for each of 2"):
        data.arff(text + b"red\n")


def registered(monkeypatch, name: str, source: data.Source, shape: data.Shape) -> None:
    monkeypatch.setitem(data.SOURCES, name, source)
    monkeypatch.setattr(data, "shapes", lambda: {name: shape})


def test_a_set_is_fetched_from_addresses_and_converted(monkeypatch, tmp_path):
    parts = small()
    for part in ("train", "test"):
        X, Y = getattr(parts, f"X_{part}"), getattr(parts, f"Y_{part}")
        (tmp_path / f"{part}.arff").write_bytes(as_arff(X, Y, sparse=True))
    urls = tuple((tmp_path / f"{part}.arff").as_uri() for part in ("train", "test"))
    registered(
        monkeypatch, "tiny", data.Source("here", urls=urls, convert=data.two_arff), data.describe(parts, "multilabel")
    )
    assert data.main(["fetch", "tiny", "--folder", str(tmp_path / "out")]) == 0
    split = load_npz_folder(tmp_path / "out" / "tiny")
    assert np.array_equal(split.X_train, parts.X_train, equal_nan=True)
    assert np.array_equal(split.Y_test.toarray(), parts.Y_test)
    assert split.meta["checksum"] == "same"
    assert split.meta["terms"] == data.NOT_STATED
    # Files are taken from a folder by their names; afterwards one of them is missing.
    assert data.fetch("tiny", tmp_path / "again", files=tmp_path) == "same"
    (tmp_path / "test.arff").unlink()
    with pytest.raises(data.AbsentError, match=r"no file test\.arff"):
        data.fetch("tiny", tmp_path / "third", files=tmp_path)
    with pytest.raises(data.AbsentError, match=r"cannot be read .* use --files"):
        data.fetch("tiny", tmp_path / "third")
    assert not (tmp_path / "third").exists()


def test_a_source_that_has_changed_is_noticed(monkeypatch, tmp_path, capsys):
    parts, other = small(), small(seed=1)
    for part in ("train", "test"):
        X, Y = getattr(other, f"X_{part}"), getattr(other, f"Y_{part}")
        (tmp_path / f"{part}.arff").write_bytes(as_arff(X, Y, sparse=False))
    urls = tuple((tmp_path / f"{part}.arff").as_uri() for part in ("train", "test"))
    registered(
        monkeypatch, "tiny", data.Source("here", urls=urls, convert=data.two_arff), data.describe(parts, "multilabel")
    )
    assert data.main(["fetch", "tiny", "--folder", str(tmp_path)]) == 1
    assert "other values" in capsys.readouterr().out


def test_compressed_svmlight_files_are_converted(monkeypatch, tmp_path):
    (tmp_path / "a.bz2").write_bytes(bz2.compress(b"-1 1:0.5 3:2\n+1 2:1\n"))
    (tmp_path / "a.t").write_bytes(b"+1 4:3\n")
    X, X_test = np.array([[0.5, 0, 2, 0], [0, 1, 0, 0]]), np.array([[0, 0, 0, 3.0]])
    parts = data.Parts(sp.csr_matrix(X), sp.csr_matrix(X_test), np.array([0.0, 1.0]), np.array([1.0]))
    urls = ("https://no.invalid/a.bz2", "https://no.invalid/a.t")
    source = data.Source("here", urls=urls, convert=data.svmlight(zero_based=False))
    registered(monkeypatch, "tiny", source, data.describe(parts, "binary"))
    assert data.fetch("tiny", tmp_path / "out", files=tmp_path) == "same"


def test_comments_are_converted():
    files = {"train": b"a dog\t1\tx\na\x85cat dog\t0,2\ty\n", "dev": b"cat\t2\tz\n", "test": b"dog dog bird\t1\tw\n"}
    shape = data.Shape("multilabel", 3, 1, 2, 3, True, 0.5, 1.0, 0, "", "")
    parts = data.comments({k: v.replace(b"\x85", "\u2028".encode()) for k, v in files.items()}, shape)
    # The vocabulary holds the words that occur in at least two comments, in alphabetical order: cat, dog.
    assert parts.X_train.toarray().tolist() == [[0, 1], [1, 1], [1, 0]]
    assert parts.X_test.toarray().tolist() == [[0, 2]]
    assert parts.Y_train.toarray().tolist() == [[0, 1, 0], [1, 0, 1], [0, 0, 1]]


def test_sets_that_are_not_fetched_say_why(capsys):
    assert data.main(["fetch", "mediamill_sample"]) == 1
    assert "is not fetched" in capsys.readouterr().err
    assert data.main(["check", "nothing"]) == 1
    assert "not a data set of the benchmarks" in capsys.readouterr().err


def test_the_list_names_every_set(capsys):
    assert data.main(["list"]) == 0
    text = capsys.readouterr().out
    assert all(re.search(rf"^{name} ", text, re.MULTILINE) for name in data.SOURCES)


@pytest.mark.parametrize("name", ["emotions", "edm", "medical"])
def test_copies_at_hand_are_those_of_the_figures(name):
    if reason := real_data.missing(name):
        pytest.skip(reason)
    assert data.verdict(data.copy_at_hand(name), data.shapes()[name]) == "same"


@pytest.mark.parametrize("name", ["edm", "CAL500"])
def test_the_split_of_one_file_is_the_one_of_the_copies(name):
    if reason := real_data.missing(name):
        pytest.skip(reason)
    parts, shape = data.copy_at_hand(name), data.shapes()[name]
    train, test = data.seeded_split(shape)
    X, Y = (np.empty((len(train) + len(test), width), np.float32) for width in (shape.p, shape.d))
    for rows, x, y in ((train, parts.X_train, parts.Y_train), (test, parts.X_test, parts.Y_test)):
        X[rows], Y[rows] = x, y.toarray() if sp.issparse(y) else y
    raw = as_arff(X, Y, sparse=False) if shape.task == "multilabel" else as_numeric_arff(X, Y)
    assert data.verdict(data.seeded_arff({"file": raw}, shape), shape) == "same"


def as_numeric_arff(X, Y) -> bytes:
    return as_arff(np.hstack([X, Y]), np.empty((len(X), 0)), sparse=False)


# ---- generated data in place of real data


@pytest.mark.parametrize("name", ["emotions", "medical", "edm"])
def test_made_data_have_the_shape_of_the_real_set(name, monkeypatch):
    monkeypatch.setenv("WEALD_MADE", "1")
    shape = data.shapes()[name]
    made = _data.named(name)
    assert made.X.shape == (shape.n_train, shape.p)
    assert made.X_test.shape == (shape.n_test, shape.p)
    assert sp.issparse(made.X) == shape.sparse
    assert made.y.shape == (shape.n_train, shape.d)
    if shape.task == "multilabel":
        labels = (made.y.sum() + made.y_test.sum()) / (shape.n_train + shape.n_test)
        # Frequencies are rounded to whole samples, and no label is positive in more than nine tenths of the samples.
        assert labels == pytest.approx(shape.labels_a_sample, rel=0.15)
    assert _records.environment()["made_data"]
    assert "not comparable" in _records.heading(_records.environment())
    _harness.replaced.clear()


def test_data_that_are_absent_end_a_script_with_the_reason(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("WEALD_DATA", str(tmp_path))
    monkeypatch.delenv("WEALD_MADE", raising=False)
    with pytest.raises(_harness.AbsentDataError) as error:
        _data.named("emotions")
    assert error.value.code == _harness.ABSENT
    assert "data.py fetch emotions" in error.value.caught()
    with pytest.raises(data.AbsentError, match="not a data set"):
        _data.named("no such set")


@pytest.mark.slow("benches")
def test_a_script_runs_without_real_data_and_leaves_out_what_needs_them(tmp_path):
    environment = os.environ | {"WEALD_DATA": str(tmp_path), "PYTHONWARNINGS": "ignore"}
    environment.pop("WEALD_MADE", None)
    command = [
        sys.executable,
        str(BENCHES / "peers" / "forests.py"),
        "--quick",
        "--no-peer",
        "--only",
        "forest, delicious",
    ]
    left = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert "left out: no data set delicious" in left.stdout
    path = tmp_path / "records.jsonl"
    command += ["--made", "--json", str(path)]
    subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    (record,) = [json.loads(line) for line in path.read_text().splitlines()]
    assert record["case"] == "random forest, delicious"
    assert record["made_data"]
    assert record["environment"]["engine"] == _records.engine()
    # A file with records of generated data does not accept records of real data.
    with pytest.raises(_records.MixedRecordsError, match="made_data"):
        _records.read(path, lambda: about(made_data=False))


# ---- the thesis

THESIS = BENCHES / "thesis"


def run_thesis(script: str, out: Path, *options: str) -> str:
    pytest.importorskip("matplotlib")
    command = [sys.executable, str(THESIS / f"{script}.py"), "--quick", "--n-jobs", "1", "--out", str(out), *options]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.slow("benches")
@pytest.mark.parametrize(
    "script", ["ch2_distortion", "ch3_importances", "ch4_bias_variance", "ch7_induced", "ch8_density"]
)
def test_a_script_of_the_thesis_writes_its_table_and_picture_and_goes_on_from_its_cells(script, tmp_path):
    run_thesis(script, tmp_path)
    files = {path.name for path in tmp_path.iterdir()}
    assert {f"{script}{end}" for end in ("_cells.csv", ".csv", ".png", "-dark.png")} | {"runs.csv"} <= files
    log, cells, table = ((tmp_path / name).read_text() for name in ("runs.csv", f"{script}_cells.csv", f"{script}.csv"))
    (line,) = csv.DictReader(log.splitlines())
    assert line["engine"] == _records.engine()
    assert int(line["cells"]) == len(cells.splitlines()) - 1
    # A second run has nothing left to do: the cells, the table and the log stay as they are.
    run_thesis(script, tmp_path)
    assert (tmp_path / "runs.csv").read_text() == log
    assert (tmp_path / f"{script}_cells.csv").read_text() == cells
    assert (tmp_path / f"{script}.csv").read_text() == table


@pytest.mark.slow("benches")
def test_cells_that_an_interruption_left_out_are_done_next_time(tmp_path):
    run_thesis("ch3_importances", tmp_path)
    path = tmp_path / "ch3_importances_cells.csv"
    whole = path.read_text()
    first, last = whole.splitlines()[1:]
    # The last line is cut, as if the run had been interrupted while it was written.
    path.write_text(whole.replace(last, last[: len(last) // 2]))
    run_thesis("ch3_importances", tmp_path, "--draw")
    assert first in path.read_text()
    assert last not in path.read_text()
    run_thesis("ch3_importances", tmp_path)
    assert path.read_text() == whole


@pytest.mark.slow("benches")
@pytest.mark.parametrize(("script", "data_set"), [("ch8_tables", "mushrooms"), ("ch8_20newsgroup", "20newsgroup")])
def test_scripts_of_chapter_8_put_published_values_beside_ours(script, data_set, tmp_path):
    if reason := real_data.missing(data_set):
        pytest.skip(reason)
    only = ["--only", "naive"] if script == "ch8_20newsgroup" else []
    run_thesis(script, tmp_path, *only)
    rows = list(csv.DictReader((tmp_path / f"{script}.csv").read_text().splitlines()))
    if script == "ch8_tables":
        assert [row["model"] for row in rows] == ["stump", "full tree"]
        assert [float(row["published fortran"]) for row in rows] == [0.02, 0.05]
        assert all(float(row["weald sparse"]) > 0 for row in rows)
    else:
        (row,) = rows
        assert row["estimator"] == "multinomial naive Bayes"
        # The fit in scikit-learn is deterministic; the tolerance allows for differences between its versions.
        assert float(row["accuracy"]) == pytest.approx(float(row["published_accuracy"]), abs=0.02)


def test_every_picture_of_the_thesis_has_both_themes_and_every_script_a_line_in_the_docs():
    pictures = {path.stem for path in (THESIS / "results").glob("*.png")}
    light = {name for name in pictures if not name.endswith("-dark")}
    assert light
    assert pictures == light | {f"{name}-dark" for name in light}
    text = (real_data.REPOSITORY / "docs" / "thesis-tables.md").read_text()
    scripts = {path.stem for path in THESIS.glob("ch*.py")}
    assert {name for name in scripts if f"`{name}.py" not in text} == set()
    assert {name for name in light if f"results/{name}.png" not in text} == set()


def test_a_search_counts_as_many_settings_as_three_splits_have(monkeypatch):
    monkeypatch.syspath_prepend(str(THESIS))
    from _ch6 import leading, whole_searches

    assert whole_searches({0: 7, 1: 5, 2: 4, 3: 4, 4: 1}) == (4, [0, 1, 2, 3])
    assert whole_searches({0: 2, 2: 3}) == (2, [0, 2])
    assert whole_searches({}) == (0, [])
    assert leading([True, True, False, True]) == 2


def test_names_of_lines_do_not_meet(monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.syspath_prepend(str(THESIS))
    import _pictures

    figure, axis = _pictures.pyplot().subplots()
    lines = [(axis.plot([0, 1], [0, y])[0], f"line {y}") for y in (1, 1.001, 1.002, 0.5)]
    _pictures.name_lines(axis, lines)
    _pictures.move_names_apart(figure)
    figure.draw_without_rendering()
    boxes = sorted((text.get_window_extent() for text in axis.texts), key=lambda box: box.y0)
    assert len(boxes) == 4
    assert all(below.y1 <= above.y0 + 1 for below, above in itertools.pairwise(boxes))  # one pixel of rounding


# Counts of instructions


def counts(commit, **instructions):
    return {"commit": commit, "rustc": "rustc 1", "valgrind": "valgrind-3", "instructions": instructions}


@pytest.fixture
def counted(monkeypatch):
    """Run the script on counts that are given in place of builds."""

    def run(base, head, *flags):
        monkeypatch.setattr(instructions.shutil, "which", lambda tool: tool)
        monkeypatch.setattr(instructions, "output", lambda *command, **_: "a commit\n")
        monkeypatch.setattr(instructions, "count_commit", lambda commit, profile: counts("before", **base))
        monkeypatch.setattr(instructions, "count", lambda root, profile: counts("now", **head))
        return instructions.main("main", *flags)

    return run


def test_instructions_may_rise_by_a_little_and_no_more(counted, capsys):
    base = {"tree": 1_000_000, "forest": 2_000_000}
    assert counted(base, {"tree": 1_020_000, "forest": 1_000_000}) == 0
    assert "| tree | 1 000 000 | 1 020 000 | +2.00 % |" in capsys.readouterr().out
    assert counted(base, {"tree": 1_040_000, "forest": 2_000_000}) == 1
    found = capsys.readouterr()
    assert "| tree | 1 000 000 | 1 040 000 | +4.00 %, **above the limit** |" in found.out
    assert "| forest | 2 000 000 | 2 000 000 | +0.00 % |" in found.out
    assert found.err.split(": ")[1].strip() == "tree"
    assert counted(base, {"tree": 1_040_000, "forest": 2_000_000}, "--limit", "5") == 0


def test_work_that_only_one_commit_has_is_told(counted, capsys):
    assert counted({"old": 5, "tree": 7}, {"tree": 7, "boosting": 1234}) == 0
    found = capsys.readouterr().out
    assert "| boosting |  | 1 234 | new |" in found
    assert "| old | 5 |  | gone |" in found
    # A commit from before there were counts.
    assert counted({}, {"tree": 7}) == 0


def test_counts_are_written(counted, tmp_path):
    table, found = tmp_path / "table.md", tmp_path / "counts.json"
    flags = ["--markdown", str(table), "--json", str(found)]
    for _ in range(2):
        counted({"tree": 100}, {"tree": 200}, *flags)
    # Tables are appended, as to the summary of a job.
    assert table.read_text().count("| tree | 100 | 200 |") == 2
    records = [(record["commit"], record["instructions"]["tree"]) for record in json.loads(found.read_text())]
    assert records == [("before", 100), ("now", 200)]


def test_counts_are_read_from_files_of_callgrind():
    head = "# callgrind format\nversion: 1\nevents: Ir\n"
    assert instructions.count_of(head + "fn=(1) main\n16 400\ntotals: 123456\n") == 123456
    assert instructions.count_of(head + "summary: 5\nfn=(1) main\n16 400\ntotals: 5\n") == 5
    with pytest.raises(ValueError, match="counted nothing"):
        instructions.count_of(head + "totals: 0\n")


def test_the_script_of_counts_names_what_exists():
    source = (instructions.REPOSITORY / instructions.SOURCE).read_text()
    assert "fn counted(" in source
    cargo = (BENCHES / "rust" / "Cargo.toml").read_text()
    assert 'name = "instructions"\npath = "instructions.rs"' in cargo


def record(commit, date, **instructions):
    return counts(commit, **instructions) | {"date": date, "title": f"title|of {commit}", "profile": "local"}


def test_a_commit_of_the_history_is_counted_once_more_in_its_place(monkeypatch, tmp_path, capsys):
    made = {"b": record("b", "2026-02-01", tree=5), "a": record("a", "2026-01-01", tree=7)}

    def count_commit(commit, profile, work):
        if commit not in made:
            raise subprocess.CalledProcessError(101, "cargo")
        return dict(made[commit])

    monkeypatch.setattr(instructions, "count_commit", count_commit)
    file = tmp_path / "history.json"
    assert instructions.add_to_history(["b"], "0.1.0", file) == 0
    assert instructions.add_to_history(["a", "old"], None, file) == 1
    assert "old is left out" in capsys.readouterr().err
    made["b"]["instructions"] = {"tree": 6}
    assert instructions.add_to_history(["b"], None, file) == 0
    # In the order of their dates, and a release remains one.
    assert json.loads(file.read_text()) == [made["a"], made["b"] | {"release": "0.1.0"}]


def test_a_commit_without_work_is_counted_with_that_of_now(monkeypatch, tmp_path):
    def output(*command, **_):
        if "add" in command:
            (tmp_path / "base").mkdir()
        return ""

    def count(root, profile):
        has_work = (root / instructions.SOURCE).exists()
        return {"commit": "a-dirty" if has_work else "a", "has work": has_work}

    monkeypatch.setattr(instructions, "FOLDER", tmp_path)
    monkeypatch.setattr(instructions, "output", output)
    monkeypatch.setattr(instructions, "count", count)
    # A comparison counts what the commit has.
    assert instructions.count_commit("a", "local") == {"commit": "a", "has work": False}
    (tmp_path / "base").rmdir()
    assert instructions.count_commit("a", "local", BENCHES / "rust") == {"commit": "a", "has work": True}


def test_a_release_is_one_commit_of_the_history(counted, capsys):
    for arguments in (["main"], ["--history", "a", "b"]):
        with pytest.raises(SystemExit):
            instructions.main(*arguments, "--release", "0.1.0")
        assert "--release needs" in capsys.readouterr().err


@pytest.fixture
def page(monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.syspath_prepend(str(BENCHES.parent / "docs"))
    import instruction_counts

    return instruction_counts


HISTORY = [
    record("a" * 12, "2026-01-01 09:00:00", tree=8_000_000, gone=1),
    record("b" * 12, "2026-02-01 09:00:00", tree=1_234_567_890, new=50_000_000),
    record("c" * 12, "2026-02-01 10:00:00", tree=10_000_000, new=40_000_000) | {"release": "0.1.0"},
]


def test_the_page_has_a_row_for_each_work_and_each_commit(page):
    lines = page.tables(HISTORY).splitlines()
    assert "| work | aaaaaaaa | bbbbbbbb | 0.1.0 | first to last |" in lines
    assert "| tree | 8.00 | 1 235 | 10.0 | +25.0 % |" in lines
    assert "| new |  | 50.0 | 40.0 | -20.0 % |" in lines
    assert "| gone | 0.00 |  |  | +0.0 % |" in lines
    assert "| aaaaaaaa | 2026-01-01 | title\\|of aaaaaaaaaaaa | 1 | 3 |" in lines
    assert "| 0.1.0 (cccccccc) | 2026-02-01 | title\\|of cccccccccccc | 1 | 3 |" in lines
    # The rows of each table have the same number of cells.
    cells = [re.sub(r"\\\|", "", line).count("|") for line in lines]
    assert set(cells) == {0, 6}


def test_the_picture_has_percents_of_the_first_count(page, tmp_path):
    page.picture(tmp_path / "drawn.png", lambda plt: page.draw(plt, HISTORY))
    assert {path.name for path in tmp_path.iterdir()} == {"drawn.png", "drawn-dark.png"}
    import matplotlib.pyplot as plt

    figure = page.draw(plt, HISTORY)
    plt.close(figure)
    panels = {axis.get_title(): axis.lines[-1] for axis in figure.axes if axis.lines}
    assert set(panels) == {"tree  +25.0 %", "new  -20.0 %", "gone  +0.0 %"}
    assert [list(line) for line in panels["new  -20.0 %"].get_data()] == [[1, 2], [100, 80]]


def test_the_page_has_the_history_that_is_recorded(page):
    records = json.loads(instructions.HISTORY.read_text())
    assert f"{page.BEGIN}\n{page.tables(records)}\n{page.END}" in page.PAGE.read_text(encoding="utf-8")
    assert records == sorted(records, key=lambda record: record["date"])
    assert {record["profile"] for record in records} == {instructions.HISTORY_PROFILE}
    assert len({record["commit"] for record in records}) == len(records)
