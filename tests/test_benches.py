"""Benchmarks: what their records say, and that records which are not comparable never come into one file."""

import json
import re
from pathlib import Path

import _boosters
import _records
import pytest
import real_data
import spinney
from sklearn.ensemble import RandomForestRegressor
from sklearn.multioutput import MultiOutputRegressor

BENCHES = real_data.REPOSITORY / "benches"


def about(**changes):
    return {**_records.environment(), **changes}


def test_a_record_says_where_it_comes_from():
    now = _records.environment()
    assert re.fullmatch("[0-9a-f]{16}", now["engine"])
    assert re.fullmatch("[0-9a-f]{12}", now["machine"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", now["date"])
    assert now["cores"] >= 1
    assert {"commit", "dirty", "cpu", "memory_gib", "python", "spinney", "load"} <= set(now)
    assert {"scikit-learn", "numpy", "scipy"} <= set(now["packages"])
    text = _records.heading(now)
    assert all(str(now[key]) in text for key in ("engine", "machine", "date", "cpu", "python"))


def test_records_name_no_host():
    import platform

    host = platform.node()
    assert host == "" or host not in json.dumps(_records.environment()).split('"')


def test_a_commit_is_that_of_the_folder_itself(tmp_path):
    # A copy of the sources without history, inside another repository or in none.
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
    cache.put("forest | spinney on one thread | 0", {"seconds": 1.0}, ours=True)
    again = _records.PeersCache(path)
    assert again.get("forest | spinney on one thread | 0", ours=True) == {"seconds": 1.0}
    other_build = _records.PeersCache(path, lambda: about(engine="other"))
    assert other_build.get("forest | peer | 0") == {"seconds": 2.0}
    assert other_build.get("forest | spinney on one thread | 0", ours=True) is None
    for changes in ({"machine": "other"}, {"packages": {"scikit-learn": "0.1"}}):
        with pytest.raises(_records.MixedRecordsError):
            _records.PeersCache(path, lambda changes=changes: about(**changes))


def test_a_cache_of_the_former_form_is_refused(tmp_path):
    path = tmp_path / "peers.json"
    path.write_text(json.dumps({"forest | peer | 0": {"seconds": 2.0}}))
    with pytest.raises(_records.MixedRecordsError, match="does not say"):
        _records.PeersCache(path)


def test_sides_that_may_run_spinney_are_told_from_those_that_cannot():
    class Wrapper:
        def fit(self):
            return self

    assert _records.runs_spinney(spinney.RandomForestRegressor())
    assert _records.runs_spinney(MultiOutputRegressor(spinney.RandomForestRegressor()))
    assert _records.runs_spinney(Wrapper())
    assert not _records.runs_spinney(RandomForestRegressor())
    assert not _records.runs_spinney(_boosters.LightGBM())


def test_the_harness_writes_such_records():
    text = (BENCHES / "peers" / "_harness.py").read_text()
    assert "append(args.json, record)" in text
    writing = [p for p in BENCHES.rglob("*.py") if re.search(r"json\.dumps\(.*\) \+ \"\\n\"", p.read_text())]
    assert [p.name for p in writing] == ["_records.py"]
    assert Path(_records.REPOSITORY) == real_data.REPOSITORY
