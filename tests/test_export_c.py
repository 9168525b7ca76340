"""Models exported to C and compiled by the system's compiler: their scores are those of the engine to the bit."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
from pathlib import Path

import exports
import numpy as np
import pytest
from conftest import make, make_data
from exports import CASES, N_RANDOM, fitted, random_model, scores_of
from hypothesis import given, settings
from hypothesis import strategies as st
from test_export_json import any_model
from weald.export import to_c
from weald.projection import Projected

COMPILER = shutil.which(os.environ.get("CC", "cc"))
pytestmark = pytest.mark.skipif(COMPILER is None or os.name != "posix", reason="no C compiler")
# Every warning is an error, and nothing is optimised, since optimising takes the larger part of the time.
FLAGS = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-shared", "-fPIC"]


def compiled(text, folder, *flags, name="model"):
    """The functions of a compiled file: they map samples to scores, and samples to predictions."""
    source, library = folder / f"{name}.c", folder / f"{name}.so"
    source.write_text(text)
    subprocess.run([COMPILER, *FLAGS, *(flags or ["-O0"]), source, "-o", library, "-lm"], check=True)
    functions = ctypes.CDLL(str(library))

    def run(function, width):
        def of_rows(X):
            X = np.ascontiguousarray(X, dtype=np.float32)
            found = np.full((len(X), width), np.nan)
            for row, out in zip(X, found, strict=True):
                function(row.ctypes.data_as(ctypes.c_void_p), out.ctypes.data_as(ctypes.c_void_p))
            return found

        return of_rows

    def size(what):
        return int(text.split(f"#define {name.upper()}_{what} ")[1].split()[0])

    scores, predict = getattr(functions, f"{name}_scores"), getattr(functions, f"{name}_predict")
    return run(scores, size("N_SCORES")), run(predict, size("N_COLUMNS"))


def check_same(model, X, folder):
    scores, predict = compiled(to_c(model), folder)
    # Sums are the same to the bit; the functions for exponentials round in their own ways.
    exports.check_same(model, X, scores=scores(X), columns=predict(X))


@pytest.mark.parametrize("name", ["common", "linear_alone", "trees", "centroids", "label_trees", "predict"])
def test_the_functions_of_exports_are_c_as_they_stand(name):
    """With none and with all of the flags that a model may have."""
    folder = Path(__file__).parents[1] / "crates/weald/src/export/c"
    flags = sorted({flag for file in folder.glob("*.c") for flag in re.findall("#ifdef (MODEL_.*)", file.read_text())})
    unused = ["-Wno-unused-function", "-Wno-unused-const-variable", "-fsyntax-only"]
    for some in (["MODEL_HAS_PRODUCTS"], flags):
        defined = [f"-D{flag}=" for flag in some]
        subprocess.run([COMPILER, *FLAGS, *unused, *defined, folder / f"{name}.c"], check=True)


@pytest.mark.parametrize("case", CASES)
def test_scores_are_those_of_the_engine_to_the_bit(case, tmp_path):
    check_same(*fitted(case), tmp_path)


@pytest.mark.parametrize("seed", range(N_RANDOM))
def test_random_models(seed, tmp_path):
    check_same(*random_model(seed), tmp_path)


@pytest.mark.parametrize(
    "strategy", [{"output_strategy": Projected(relabel_leaves=False)}, {"output_strategy": "projected"}]
)
def test_a_compiler_that_may_fuse_products_with_sums_changes_no_bit(strategy, tmp_path):
    X, y = make_data("GradientBoostingRegressor", outputs="several")
    model = make("GradientBoostingRegressor", n_estimators=20, **strategy).fit(X, y)
    text = to_c(model)
    source = tmp_path / "model.c"
    source.write_text(text)
    flags = ["-O3", "-march=native", "-ffp-contract=fast"]
    tried = subprocess.run([COMPILER, *FLAGS, *flags, source, "-o", tmp_path / "tried.so", "-lm"], capture_output=True)
    if tried.returncode:
        pytest.skip("the compiler has not these flags")
    scores, _ = compiled(text, tmp_path, *flags)
    np.testing.assert_array_equal(scores(X), scores_of(model, X))


@settings(deadline=None, max_examples=12)
@given(st.data())
def test_any_forest(tmp_path_factory, data):
    outputs = data.draw(st.sampled_from(["single", "several", "labels", "two", "wide"]))
    name = data.draw(st.sampled_from(["RandomForestClassifier", "GradientBoostingClassifier"]))
    seed, has_categories = data.draw(st.integers(0, 2**31)), data.draw(st.booleans())
    model, X = any_model(name, outputs, seed, has_categories, data.draw(st.integers(2, 40)))
    check_same(model, X, tmp_path_factory.mktemp("c"))


def test_the_file_allocates_nothing_and_names_are_the_users(tmp_path):
    model, X = fitted("GradientBoostingClassifier-several-categories")
    text = to_c(model, name="risk_2")
    assert "alloc" not in text
    assert text.count("#include") == 3
    scores, _ = compiled(text, tmp_path, name="risk_2")
    np.testing.assert_array_equal(scores(X), scores_of(model, X))


def test_what_is_no_identifier_is_refused():
    model, _ = fitted("DecisionTreeRegressor-single-missing")
    for name in ["", "1a", "a b", "_a", "while", "a-b", "ä", "a\n", "a;"]:
        with pytest.raises(ValueError, match=r"name must be a C identifier.*got "):
            to_c(model, name=name)
    with pytest.raises(TypeError, match="name must be a string, got a int"):
        to_c(model, name=3)
