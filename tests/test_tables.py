"""The tables of the benchmarks: what is input and output, which are for judging, splits, scores, and a whole run."""

import json
import os
import subprocess
import sys

import _tables
import measure
import numpy as np
import pandas as pd
import pytest
import real_data
import report
from _methods import PerOutput
from _more_numbers import MORE_NUMBERS
from _tables import ALL, CHOOSING, JUDGED_BEFORE, JUDGING, KEEL, MULAN, TABLES, Table, chosen
from sklearn.metrics import log_loss

SCRIPTS = real_data.REPOSITORY / "benches" / "tables"


def loaded(table):
    try:
        return table.load()
    except _tables.AbsentPackageError as error:
        pytest.skip(str(error))


def made(**changes):
    frame = pd.DataFrame({
        "id": range(6), "size": [1.0, np.nan, 3, 4, 5, 6], "plot": [2, 2, 1, 1, 3, 3],
        "who": ["b", "a", None, "b ", "c", "a"], "y": [1.0, 2, np.nan, 4, np.nan, 6], "z": [1.0, 2, np.nan, np.nan, 5, 6],
    })  # fmt: skip
    about = {
        "name": "made", "kind": _tables.NUMBERS, "rows": 5, "source": lambda: frame, "outputs": ("y", "z"), "drop": ("id",),
        "codes": ("plot",),
    }  # fmt: skip
    return Table(**{**about, **changes})


def test_inputs_and_outputs():
    X, y = made().load()
    # The third row has no known output.
    assert list(X) == ["size", "plot", "who"]
    assert list(y["y"].isna()) == [False, False, False, True, False]
    assert list(X["size"].isna()) == [False, True, False, False, False]
    assert list(X["plot"].cat.categories) == ["1", "2", "3"]
    # Blanks at the end make no level of their own.
    assert list(X["who"]) == ["b", "a", "b", "c", "a"]


def test_one_output_keep_and_classes():
    X, y = made(kind=_tables.NUMBER, outputs=("y",), rows=4, keep=("size",)).load()
    assert list(X) == ["size"]
    assert y.tolist() == [1, 2, 4, 6]
    _, y = made(kind=_tables.MANY, outputs=("plot",), rows=6, codes=()).load()
    assert y.tolist() == [1, 1, 0, 0, 2, 2]
    _, y = made(kind=_tables.TWO, outputs=("who",), rows=2, codes=(), rarest=2).load()
    assert y.tolist() == [0, 0]


def test_fewer_rows_are_always_the_same():
    first, second = made(rows=3).load(), made(rows=3).load()
    pd.testing.assert_frame_equal(first[0], second[0])
    pd.testing.assert_frame_equal(first[1], second[1])


def test_another_number_of_rows_is_an_error():
    with pytest.raises(ValueError, match="made has 5 rows in place of 9"):
        made(rows=9).load()


def test_a_third_is_for_choosing():
    assert len(TABLES) == len(ALL) == len(CHOOSING) + len(JUDGING)
    assert not set(CHOOSING) & set(JUDGED_BEFORE)
    assert set(JUDGED_BEFORE) < set(JUDGING)
    for kind in _tables.KINDS:
        of_kind = [table for table in ALL if table.kind == kind]
        here = [table for table in of_kind if table.name in CHOOSING]
        assert len(here) == len(of_kind) // 3
        # Of each three by size one: their order does not matter.
        assert chosen(of_kind[::-1]) == sorted(table.name for table in here)


@pytest.mark.parametrize("name", [*TABLES, *KEEL, *MORE_NUMBERS])
def test_tables_load(name):
    table = (TABLES | KEEL | MORE_NUMBERS)[name]
    X, y = loaded(table)
    assert len(X) == len(y) == table.rows
    assert not set(X) & {*table.outputs, *table.drop}
    assert all(isinstance(dtype, pd.CategoricalDtype) or dtype == np.float64 for dtype in X.dtypes)
    if table.classes:
        n_classes = y.nunique()
        assert sorted(y.unique()) == list(range(n_classes))
        assert (n_classes == 2) == (table.kind == _tables.TWO)
    else:
        assert (np.ndim(y) > 1) == (table.kind == _tables.NUMBERS)
        # No input is an output under another name, up to a shift and a factor.
        numbers = X.select_dtypes("number")
        for output in np.atleast_2d(y.to_numpy().T):
            assert not (numbers.corrwith(pd.Series(output)).abs() >= 0.999).any()


def test_no_table_of_numbers_is_for_choosing_and_judging():
    assert not set(TABLES | KEEL | MULAN) & set(MORE_NUMBERS)
    for name, table in MORE_NUMBERS.items():
        assert table.name == name
        assert not table.classes


@pytest.mark.parametrize(("rows", "number"), [(60, 15), (500, 15), (501, 5), (5_001, 3), (20_001, 2)])
@pytest.mark.parametrize("kind", [_tables.NUMBER, _tables.TWO])
def test_splits(rows, number, kind):
    y = (np.arange(rows) % 4 == 0).astype(float)
    table = made(rows=rows, kind=kind)
    parts = list(measure.splits(table, y))
    assert len(parts) == number
    for fitted, held in parts:
        assert sorted([*fitted, *held]) == list(range(rows))
        # A fifth, and for classes a fifth of each, up to one sample.
        assert abs(len(held) - rows / 5) <= 1
        assert kind != _tables.TWO or abs(y[held].sum() - y.sum() / 5) <= 1
    assert all(np.array_equal(a[1], b[1]) for a, b in zip(parts, measure.splits(table, y), strict=True))


def test_splits_of_mulan():
    assert len(list(measure.splits(MULAN["edm"], np.zeros((154, 2))))) == 10


def test_scores_of_numbers():
    y, fitted = np.array([[1.0, 2], [3, np.nan], [5, 4]]), np.array([[0.0, np.nan], [2, 1]])
    predicted = np.array([[1.0, 1], [3, 7], [4, 4]])
    found = measure.scores_of_numbers(predicted, y, fitted)
    # Means of the fitted samples: 1 and 1. Errors 1 of 0 + 4 + 16, and 1 of 1 + 9.
    assert found["RRMSE"] == pytest.approx([np.sqrt(1 / 20), np.sqrt(1 / 10)])
    assert found["aRRMSE"] == pytest.approx(np.mean(found["RRMSE"]))
    assert measure.scores_of_numbers(np.ones((3, 2)), y, fitted)["aRRMSE"] == 1
    assert measure.scores_of_numbers(y[:, 0] - 1, y[:, 0], fitted[:, 0])["aRRMSE"] == pytest.approx(np.sqrt(3 / 20))


def test_scores_of_classes():
    y = np.array([0, 1, 1, 0])
    p = np.array([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3], [0.8, 0.2]])
    found = measure.scores_of_classes(p, np.array([0, 1]), y, 2)
    assert found == {"log loss": pytest.approx(log_loss(y, p)), "accuracy": 0.75, "AUC": 1.0}
    # Class 1 was not among the fitted samples.
    found = measure.scores_of_classes(np.array([[1.0, 0], [0, 1]]), np.array([0, 2]), np.array([1, 2]), 3)
    assert found["accuracy"] == 0.5
    assert found["log loss"] == pytest.approx(-np.log(measure.LEAST_PROBABILITY) / 2, rel=1e-5)
    assert "AUC" not in found


def test_a_model_for_each_output_sees_its_known_samples():
    class Mean:
        def fit(self, X, y):
            assert len(X) == len(y)
            self.mean = y.mean()
            return self

        def predict(self, X):
            return np.full(len(X), self.mean)

    y = np.array([[1.0, np.nan], [3, 4], [np.nan, 6]])
    model = PerOutput(Mean).fit(pd.DataFrame({"x": range(3)}), y)
    assert model.predict(np.zeros((2, 1))).tolist() == [[2, 5], [2, 5]]


def rows_of(scores, table="cars93", kind=_tables.NUMBERS):
    """Lines of two splits each, with errors around the given ones."""
    return [
        {
            "table": table,
            "kind": kind,
            "split": split,
            "method": method,
            "seconds": 1.0,
            "scores": {"aRRMSE": score + shift},
        }
        for method, score in scores.items()
        for split, shift in enumerate((-0.01, 0.01))
    ]


def test_report_ranks_pairs_and_leaves_out_what_is_not_finished():
    rows = [*rows_of({"a": 0.5, "b": 0.25, "c": 0.5}), *rows_of({"a": 0.2, "b": 0.4, "c": 0.4}, "hawks")]
    rows += rows_of({"a": 0.1, "b": 0.2}, "meats")
    found = report.Results(rows, ["cars93", "hawks", "meats", "star"], "log loss", ["a", "b", "c"])
    assert found.tables == ["cars93", "hawks"]
    assert found.absent == 2
    assert found.errors == pytest.approx(np.array([[0.5, 0.25, 0.5], [0.2, 0.4, 0.4]]))
    text = report.ranking(found, np.array([True, True]))
    assert "| a | 1.75 ± " in text
    assert "| b | 1.75 ± " in text
    assert "| c | 2.50 ± " in text
    lines = [json.loads(line) for line in report.pairs(found, np.array([True, True]), "a").splitlines()]
    assert [(line["method"], line["better"], line["worse"]) for line in lines] == [("b", 1, 1), ("c", 0, 1)]
    assert lines[0]["ratio"] == pytest.approx(1, abs=1e-4)


def test_report_names_failures():
    rows = [*rows_of({"a": 0.5, "b": 0.5})]
    rows[0] = {**rows[0], "failed": "ValueError: no"}
    found = report.Results(rows, ["cars93"], "log loss", ["a", "b"])
    assert found.tables == []
    assert found.failed == ["a on cars93"]


def test_errors_of_classes():
    scores = {"log loss": 0.4, "accuracy": 0.9, "AUC": 0.75}
    assert [report.error(scores, name) for name in ("log loss", "accuracy", "AUC")] == pytest.approx([0.4, 0.1, 0.25])
    assert report.error({"log loss": 0.4, "accuracy": 0.9}, "AUC") == 0.4


@pytest.mark.slow("benches/tables")
def test_a_run_is_continued_and_reported(tmp_path):
    path = tmp_path / "results.jsonl"
    settings = ["--methods", "^weald random", "--weald", '{"n_estimators": 2}']

    def run(script, *arguments):
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, str(SCRIPTS / script), str(path), *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    run("measure.py", "--tables", "diabetes", *settings)
    lines = path.read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    names = ["weald random forest", 'weald boosting {"n_estimators": 2}']
    assert [(row["method"], row["split"]) for row in rows] == [(name, split) for name in names for split in range(15)]
    assert all(0 < row["scores"]["aRRMSE"] < 1.5 and "failed" not in row for row in rows)
    # An interrupted run: the missing line is measured again, and no other.
    path.write_text("\n".join([*lines[:3], *lines[4:]]) + "\n")
    run("measure.py", "--tables", "diabetes", *settings)
    again = path.read_text().splitlines()
    assert again[:-1] == [*lines[:3], *lines[4:]]
    assert json.loads(again[-1])["scores"] == rows[3]["scores"]
    text = run("report.py", "--against", names[0])
    assert json.loads(text.splitlines()[-1])["tables"] == 1
