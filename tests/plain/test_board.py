"""No default is far behind the best simple peer of its kind on a plain table, see `board.py`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from plain import board, models, scores
from plain.tables import everything, load

# The tables of `make test`, each with the models of QUICK_KINDS for its y.
QUICK_TABLES = [
    "numbers: 50 codes",
    "numbers: 10 x 10 codes as categories",
    "numbers: 8 yes or no, sums",
    "numbers: 60 settings with replicates",
    "numbers: every row five times",
    "numbers: rounded to halves",
    "numbers: X plus 1e6 as float32",
    "numbers: y in 1e12",
    "numbers: half of y are zeros",
    "numbers: half missing",
    "numbers: a constant y",
    "numbers: 24 samples",
    "numbers: no noise",
    "numbers: only noise",
    "numbers: 12 of 50 codes",
    "numbers: weights of 1/n",
    "numbers: customers with nullable columns",
    "classes: 2 of 50 codes",
    "classes: 60 of 60 codes",
    "classes: 12 settings with replicates",
    "classes: every row five times",
    "classes: rare, 5 % of 100 samples",
    "classes: X in 1e-9",
    "classes: 24 samples, 3 classes",
    "classes: short texts that repeat",
    "classes: a line without noise",
    "classes: weights of 0.7",
    "labels: 5 of 50 codes as 50 columns",
    "labels: 12 of short texts that repeat",
    "labels: 40 samples",
]
QUICK_KINDS = {
    "numbers": ["boosting", "forest", "conformal"],
    "classes": ["boosting", "linear", "conformal"],
    "labels": ["boosting", "calibrated linear", "thresholds"],
}


def quick(name: str, kind: str) -> bool:
    return name in QUICK_TABLES and kind in QUICK_KINDS[everything()[name][0]]


def case(name: str, kind: str) -> object:
    return pytest.param(name, kind, marks=[pytest.mark.quick] if quick(name, kind) else [], id=f"{name}-{kind}")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "kind"), [case(*pair) for pair in board.cases()])
def test_a_default_is_not_far_behind_the_best_peer_of_its_kind(name, kind):
    behind = [str(line) for line in board.judged(name, kind) if line.fails]
    listed = (name, kind) in board.EXCEPTIONS or (name, kind) in board.behind()
    assert listed or not behind, "; ".join(behind)


def test_peers_are_stored_for_all_tables_as_they_are_drawn():
    assert list(board.peers()["tables"]) == list(everything())
    assert [name for name in everything() if board.stale(name)] == []


def test_there_are_enough_tables_and_few_exceptions_each_of_which_the_pages_name():
    assert len(everything()) >= 120
    assert len(board.EXCEPTIONS) <= 4
    assert board.behind() <= set(board.cases())
    # Of some 1500; the number when the board was made, and never more.
    assert len(board.behind()) <= 29
    assert len(QUICK_TABLES) == 30
    assert set(QUICK_TABLES) <= set(everything())
    page = (Path(__file__).parents[2] / "docs" / "when-not.md").read_text(encoding="utf-8")
    for (name, kind), reason in board.EXCEPTIONS.items():
        assert (name, kind) in board.cases()
        assert " ".join(reason.split()) in " ".join(page.split())


def test_scores_know_what_is_good_and_what_is_behind():
    table = load("numbers: 50 codes")
    exact = scores.of_numbers(table, scores.Predicted(table.y_test))
    constant = scores.of_numbers(table, scores.Predicted(np.full_like(table.y_test, table.y_test.mean())))
    assert exact == {"r2": 1.0}
    assert constant["r2"] == pytest.approx(0, abs=1e-12)
    (line,) = board.compared(constant, {"a": exact, "b": constant})
    assert line.fails
    assert line.peer == "a"
    (line,) = board.compared(constant, {"b": {"r2": 0.049}})
    assert not line.fails
    (line,) = board.compared({"r2": float("nan")}, {"b": constant})
    assert line.fails


@pytest.mark.parametrize(
    "text", ["they are tiny: multiply sample_weight by 1e+06.", "Multiply them all by 1000000, so that"]
)
def test_the_factor_that_a_warning_about_weights_names_is_read(text):
    assert models.factor_named(["something else", text]) == 1e6
    assert models.factor_named(["something else"]) is None
