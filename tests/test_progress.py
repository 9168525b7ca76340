"""`verbose`: a bar on a terminal and lines elsewhere, of all estimators and functions, and never an error of a fit."""

from __future__ import annotations

import inspect
import io
import os
import re
from concurrent.futures import ThreadPoolExecutor

import children
import numpy as np
import pytest
import weald
from conftest import ALL, BOOSTING, CENTROIDS, COMPRESSED, LABEL_TREES, LINEAR, TREES, make, make_data, model_bytes
from every import public_classes
from sklearn.linear_model import Ridge
from weald._rounds.rounds import Progress

ESTIMATORS = [name for name in ALL + CENTROIDS + BOOSTING + COMPRESSED + LINEAR + LABEL_TREES if name not in TREES]


def labels(outputs="labels"):
    X, Y = make_data("RandomForestClassifier", n=200, outputs=outputs)
    return X, Y


def estimator_work(name, **params):
    # Four hundred trees take longer than the time between two reports of the engine.
    n_trees = {} if name in BOOSTING + COMPRESSED + CENTROIDS + LINEAR + LABEL_TREES else {"n_estimators": 400}
    X, y = make_data(name, n=300)
    return lambda verbose: make(name, verbose=verbose, **n_trees, **params).fit(X, y)


def induced_work(task):
    cls, forest = getattr(weald, f"InducedForest{task}"), f"RandomForest{task}"
    return lambda verbose: cls(make(forest), cv=2, verbose=verbose, random_state=0).fit(*make_data(forest, n=200))


def voting(task):
    name = f"RandomForest{task}"
    cls, members = getattr(weald, f"Voting{task}"), [("one", make(name)), ("other", make(name))]
    return lambda verbose: cls(members, verbose=verbose).fit(*make_data(name, n=200))


def around(kind, outputs="labels", **params):
    X, Y = labels(outputs)
    return lambda verbose: kind(make("RandomForestClassifier"), verbose=verbose, **params).fit(X, Y)


def on_executor(name):
    X, y = make_data("RandomForestClassifier", n=200)
    forest = make("RandomForestClassifier", n_estimators=20)

    def work(verbose):
        with ThreadPoolExecutor(2) as executor:
            if name == "fit":
                return weald.distribute.fit(forest.set_params(verbose=verbose), X, y, executor, n_parts=3)
            if name == "predict_topk":
                fitted = make("RandomForestClassifier").fit(X, y)
                return weald.distribute.predict(
                    fitted, X, executor, method="predict_topk", k=2, n_parts=3, verbose=verbose
                )
            if name == "predict":
                fitted = make("RandomForestClassifier").fit(X, y)
                return weald.distribute.predict(fitted, X, executor, n_parts=3, verbose=verbose)
            if name == "fit of folds":
                around = weald.conformal.ConformalClassifier(forest.set_params(verbose=0), cv=3, verbose=verbose)
                return weald.distribute.fit(around, X, y, executor)
            return weald.distribute.cross_validate(forest.set_params(verbose=0), X, y, executor, cv=3, verbose=verbose)

    return work


def chunks(verbose):
    X, Y = labels()
    model = make("RandomForestClassifier").fit(X, Y)
    return weald.topk(model, X, 2, chunk_size=60, verbose=verbose)


# The work as a function of `verbose`, the name and the unit in its lines, and the last number of units.
WORKS = {name: (estimator_work(name), name, "tree", 400) for name in ESTIMATORS if name not in BOOSTING + COMPRESSED}
WORKS |= {name: (estimator_work(name), name, "tree", 5) for name in CENTROIDS}
WORKS |= {name: (estimator_work(name), *LINEAR, "block of columns", None) for name in LINEAR + LABEL_TREES}
WORKS |= {name: (estimator_work(name), name, "round", 5) for name in BOOSTING}
WORKS |= {name: (estimator_work(name), name, "step", None) for name in COMPRESSED}
WORKS |= {
    f"induced {task}": (induced_work(task), f"InducedForest{task}", "step", None)
    for task in ("Classifier", "Regressor")
}
WORKS |= {
    "lasso": (estimator_work("CompressedForestRegressor", solver="lasso"), "CompressedForestRegressor", "step", None),
    "one path": (estimator_work("CompressedForestRegressor", l1_norm=1.0), "CompressedForestRegressor", "step", None),
    "weak": (estimator_work("GradientBoostingRegressor", estimator=Ridge()), "GradientBoostingRegressor", "round", 5),
    "thresholds": (around(weald.multilabel.TunedThresholds, cv=3), "TunedThresholds", "fit", 4),
    "thresholds out of bag": (around(weald.multilabel.TunedThresholds), "TunedThresholds", "fit", 1),
    "calibration": (around(weald.multilabel.CalibratedLabels, cv=3, too_few="keep"), "CalibratedLabels", "fit", 4),
    "hierarchy": (around(weald.multilabel.HierarchicalLabels), "HierarchicalLabels", "fit", 1),
    "label sets": (around(weald.conformal.ConformalLabels, cv=3), "ConformalLabels", "fit", 4),
    "sets": (around(weald.conformal.ConformalClassifier, "single", cv=3), "ConformalClassifier", "fit", 4),
    "intervals": (
        lambda verbose: weald.conformal.ConformalRegressor(
            make("RandomForestRegressor"), cv=3, verbose=verbose, random_state=0
        ).fit(*make_data("RandomForestRegressor", n=200)),
        "ConformalRegressor",
        "fit",
        4,
    ),
    "mean of classifiers": (voting("Classifier"), "VotingClassifier", "fit", 2),
    "mean of regressors": (voting("Regressor"), "VotingRegressor", "fit", 2),
    "distribute.fit": (on_executor("fit"), "RandomForestClassifier", "tree", 20),
    "distribute.fit of folds": (on_executor("fit of folds"), "ConformalClassifier", "fit", 4),
    "distribute.predict": (on_executor("predict"), "RandomForestClassifier", "sample", 200),
    "distribute.predict of the best labels": (on_executor("predict_topk"), "RandomForestClassifier", "sample", 200),
    "distribute.cross_validate": (on_executor("cross_validate"), "RandomForestClassifier", "fit", 3),
    "topk in chunks": (chunks, "RandomForestClassifier", "sample", 200),
}


def test_all_classes_that_take_verbose_are_here():
    asked = {cls.__name__ for cls in public_classes() if "verbose" in inspect.signature(cls).parameters}
    assert asked == {name for _, name, *_ in WORKS.values()} & asked


def without_plan(out, unit):
    """What is printed, of boosting without the first line, which is the plan."""
    plan, end, rest = out.partition("\n") if unit == "round" else ("", "", out)
    assert not end or ": output_strategy=" in plan
    return rest


class Terminal(io.StringIO):
    """A stream that is a terminal of this number of columns."""

    def __init__(self, monkeypatch, columns):
        super().__init__()
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setattr("weald._rounds.rounds._columns", lambda stream: columns)
        monkeypatch.setattr("sys.stderr", self)

    def isatty(self):
        return True


@pytest.mark.parametrize("kind", WORKS)
def test_lines_off_a_terminal_and_nothing_for_zero(kind, capfd):
    work, name, unit, total = WORKS[kind]
    work(0)
    assert capfd.readouterr() == ("", "")
    n_lines = []
    for verbose in (1, 2):
        work(verbose)
        out, err = capfd.readouterr()
        assert err == ""
        lines = without_plan(out, unit).splitlines()
        n_lines.append(len(lines))
        form = rf"{name}: {unit} (\d+)( of (?:about )?(\d+))?(, [\w ]+ \S+)*, \d+\.\d s(, \d+\.\d s left)?"
        found = [re.fullmatch(form, line) for line in lines]
        assert all(found), lines
        done = [int(match[1]) for match in found]
        assert done == sorted(set(done))
        if unit == "block of columns":
            # How many candidates a choice tries is only known in the end.
            assert all(int(match[3] or 0) >= int(match[1]) and match[0].endswith(" s left") for match in found), lines
        if total is not None:
            assert {int(match[3]) for match in found} == {total}
            assert done[-1] == total
            assert lines[-1].endswith(" s left")
    # How many lines others have depends on the time that they take.
    if unit in ("round", "fit"):
        assert n_lines == [total, total]


@pytest.mark.parametrize("kind", WORKS)
def test_a_bar_on_a_terminal_fits_into_its_line(kind, monkeypatch, capsys):
    work, name, unit, total = WORKS[kind]
    terminal = Terminal(monkeypatch, 100)
    monkeypatch.setattr("weald._rounds.rounds._BETWEEN_BARS", 0.0)
    work(1)
    assert without_plan(capsys.readouterr().out, unit) == ""
    assert terminal.getvalue().endswith("\n")
    assert terminal.getvalue().count("\n") == 1
    drawn = terminal.getvalue()[:-1].split("\r")[1:]
    assert {len(text) for text in drawn} == {99}
    assert f"{name}: {unit} " in drawn[-1]
    if total is not None:
        assert drawn[-1].startswith(f"[{'#' * 20}] {name}: {unit} {total} of {total}, ")
    # Above 1 lines are printed even there.
    terminal.seek(0)
    terminal.truncate()
    if kind != "topk in chunks":
        work(2)
        assert terminal.getvalue() == ""
        assert without_plan(capsys.readouterr().out, unit).startswith(f"{name}: {unit} ")


@pytest.mark.parametrize("columns", [2, 20, 40, 300])
def test_narrow_and_wide_terminals(columns, monkeypatch):
    terminal = Terminal(monkeypatch, columns)
    with Progress("RandomForestClassifier", "tree", 100, 1):
        pass
    make("RandomForestClassifier", n_estimators=30, verbose=1).fit(*make_data("RandomForestClassifier"))
    drawn = re.split(r"[\r\n]+", terminal.getvalue())[1:-1]
    assert {len(text) for text in drawn} == {columns - 1}
    if columns == 20:
        assert drawn[-1].startswith("tree 30 of 30, ")


@pytest.mark.parametrize("room", [-1, 0, 1])
def test_the_bar_is_drawn_where_it_just_fits(room, monkeypatch):
    Clock(monkeypatch)
    text = "Forest: tree 5 of 5, 0.0 s, 0.0 s left"
    # The bar with its brackets and a space, and the last column, which stays free.
    terminal = Terminal(monkeypatch, len(text) + 20 + 3 + 1 + room)
    with Progress("Forest", "tree", 5, 1) as progress:
        progress(5)
    assert terminal.getvalue().strip() == (text if room < 0 else f"[{'#' * 20}] {text}")


def test_terminals_that_cannot_draw_a_line_again_get_lines(monkeypatch, capsys):
    terminal = Terminal(monkeypatch, 80)
    monkeypatch.setenv("TERM", "dumb")
    WORKS["thresholds"][0](1)
    assert terminal.getvalue() == ""
    assert len(capsys.readouterr().out.splitlines()) == 4


def test_after_an_error_the_next_text_has_a_line_of_its_own(monkeypatch):
    terminal = Terminal(monkeypatch, 80)
    monkeypatch.setattr("weald._rounds.rounds._BETWEEN_BARS", 0.0)

    def fail():
        with Progress("RandomForestClassifier", "tree", 100, 1) as progress:
            progress(7)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert terminal.getvalue().endswith("\n")
    assert "tree 7 of 100" in terminal.getvalue()


class Broken(io.StringIO):
    """A stream each of whose methods may raise an error."""

    def __init__(self, error, is_terminal):
        super().__init__()
        self.error, self.is_terminal = error, is_terminal

    def isatty(self):
        if self.is_terminal is None:
            raise self.error
        return self.is_terminal

    def write(self, text):
        raise self.error


def closed(error, is_terminal):
    stream = io.StringIO()
    stream.close()
    return stream


def absent(error, is_terminal):
    return None


@pytest.mark.parametrize("stream", [Broken, closed, absent])
@pytest.mark.parametrize("is_terminal", [True, False, None])
@pytest.mark.parametrize("error", [BrokenPipeError(), UnicodeEncodeError("ascii", "x", 0, 1, ""), RuntimeError("own")])
def test_a_stream_that_fails_ends_no_fit(stream, is_terminal, error, monkeypatch):
    X, y = make_data("RandomForestClassifier")
    for name in ("RandomForestClassifier", "GradientBoostingClassifier"):
        expected = make(name).fit(X, y)
        for verbose in (1, 2):
            with monkeypatch.context() as patched:
                for which in ("stdout", "stderr"):
                    patched.setattr(f"sys.{which}", stream(error, is_terminal))
                found = make(name, verbose=verbose).fit(X, y)
            assert model_bytes(found) == model_bytes(expected)


CLOSED = """
import os, sys, weald
from conftest import make, make_data
X, y = make_data("RandomForestClassifier")
kept = os.dup(1)
if sys.argv[1] == "closed":
    os.close(1), os.close(2)
else:
    reader, writer = os.pipe()
    os.close(reader)
    os.dup2(writer, 1), os.dup2(writer, 2)
for name in ("RandomForestClassifier", "GradientBoostingClassifier"):
    for verbose in (1, 2):
        make(name, verbose=verbose).fit(X, y).predict(X)
os.write(kept, b"fitted")
os._exit(0)
"""


@pytest.mark.skipif(os.name != "posix", reason="needs the pipes of POSIX")
@pytest.mark.parametrize("how", ["closed", "broken pipe"])
def test_closed_descriptors_and_broken_pipes_end_no_fit(how):
    found = children.forked(CLOSED, how)
    assert (found.returncode, found.stdout) == (0, "fitted"), found.stderr


# The class itself, on a clock of its own


class Clock:
    def __init__(self, monkeypatch):
        self.now = 0.0
        monkeypatch.setattr("weald._rounds.rounds.time.monotonic", lambda: self.now)


def test_several_units_at_once_have_one_line(monkeypatch, capsys):
    clock = Clock(monkeypatch)
    with Progress("Forest", "tree", 3000, 1, first=1000) as progress:
        for n_done in (1001, 1001, 1007, 1009, 1015, 1017, 1100, 1101, 1199, 1250, 2999, 3000):
            clock.now += 0.05
            progress(n_done)
    found = [int(line.split()[2]) for line in capsys.readouterr().out.splitlines()]
    assert found == [1001, 1007, 1009, 1015, 1100, 1250, 2999, 3000]


def test_the_time_left_is_that_of_the_rest_at_the_speed_so_far(monkeypatch, capsys):
    clock = Clock(monkeypatch)
    with Progress("Forest", "tree", 30, 2, first=10) as progress:
        clock.now = 5.0
        progress(20)
    assert capsys.readouterr().out == "Forest: tree 20 of 30, 5.0 s, 5.0 s left\n"


def test_work_that_ends_early_and_work_of_unknown_length(monkeypatch, capsys):
    clock = Clock(monkeypatch)
    with Progress("Boosting", "round", 1000, 1) as progress:
        for n_done in range(1, 38):
            progress(n_done, f"loss {n_done}")
    assert capsys.readouterr().out.splitlines()[-1] == "Boosting: round 37 of 1000, loss 37, 0.0 s"
    with Progress("Compressed", "step", None, 2) as progress:
        clock.now = 2.0
        progress(10)
        progress.expect(40)
        clock.now = 4.0
        progress(20)
        progress(21)
    assert capsys.readouterr().out.splitlines() == [
        "Compressed: step 10, 2.0 s",
        "Compressed: step 20 of about 40, 4.0 s, 4.0 s left",
        "Compressed: step 21 of about 40, 4.0 s, 3.6 s left",
    ]


def test_bars_are_drawn_ten_times_in_a_second_at_most(monkeypatch):
    clock, terminal = Clock(monkeypatch), Terminal(monkeypatch, 80)
    with Progress("Boosting", "round", 1000, 1) as progress:
        for n_done in range(1, 1001):
            clock.now += 0.001
            progress(n_done)
    assert 9 <= terminal.getvalue().count("\r") <= 11


@pytest.mark.parametrize("bad", [-1, 1.5, "loud", None, np.nan])
def test_verbose_that_is_no_number_is_refused(bad):
    X, Y = labels()
    message = r"verbose.* must be an int"
    for model in (weald.multilabel.TunedThresholds(make("RandomForestClassifier"), verbose=bad),):
        with pytest.raises(ValueError, match=message):
            model.fit(X, Y)
    for name in ESTIMATORS:
        with pytest.raises(ValueError, match=r"verbose"):
            make(name, verbose=bad).fit(*make_data(name))
    with ThreadPoolExecutor(1) as executor, pytest.raises(ValueError, match=message):
        weald.distribute.cross_validate(make("RandomForestClassifier"), X, Y, executor, verbose=bad)
