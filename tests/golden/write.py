"""Writes the model files of this folder, which later versions must load: `python tests/golden/write.py`.

One folder for each version of the format, of small models of every kind and form of leaves, with rows and what the
engine predicts for them: the bits of float64, as integers. Rust (`crates/weald/tests/golden.rs`) and Python
(`tests/test_golden.py`) load them, compare the bits, and save the same bytes again. Predictions are sums, products and
quotients alone, which have the same bits on every machine.

Files of a format that was released are never written again: a reader that fails on them is wrong, not they.
"""

import argparse
import json
import sys
from functools import partial
from pathlib import Path

import numpy as np
import weald
from conftest import unless
from scipy import sparse
from weald.projection import Projected

HERE = Path(__file__).parent
FORMAT = 1
# Formats of versions of weald that users have: their files stay as they are.
RELEASED: set[int] = set()


def data() -> tuple[np.ndarray, dict[str, object]]:
    """Rows in halves, and y of every kind."""
    rng = np.random.default_rng(7)
    X = rng.integers(-4, 5, size=(40, 4)) / 2.0
    score = X @ rng.integers(-2, 3, size=(4, 6))
    labels = sparse.random_array((40, 60), density=0.06, random_state=rng, format="csr")
    labels.data[:] = 1
    return X, {
        "classes": np.array(["no", "perhaps", "yes"])[np.digitize(score[:, 0], [-2, 2])],
        "outputs": np.digitize(score[:, :2], [-1, 3]),
        "numbers": score / 3,
        "labels": (score > 1).astype(np.int8),
        "sparse": labels.astype(np.int64),
    }


def models() -> dict[str, object]:
    """Fitted estimators by name."""
    X, y = data()
    small = {"n_estimators": 3, "max_leaf_nodes": 6, "random_state": 0}
    rf, et = weald.RandomForestClassifier, weald.ExtraTreesRegressor
    numbers = weald.RandomForestRegressor(**small).fit(X, y["numbers"])
    labels = rf(**small).fit(X, y["sparse"])
    # Steps of all leaves together, the rule that these files were first written with.
    searched = {"leaf_estimation": "line_search", "l2_regularization": 0.0}
    boosting = partial(weald.GradientBoostingClassifier, **searched)
    regression = partial(weald.GradientBoostingRegressor, **searched)
    compact = weald.compression.compact_leaves
    # Of most labels and numbers little is known, so that leaves share values.
    rng = np.random.default_rng(1)
    mask = rng.random((40, 24)) < 0.92
    mask[0] = False
    wide = np.where(mask, np.nan, rng.integers(-9, 10, size=(40, 24)) / 4)
    masked = et(n_estimators=2, random_state=0).fit(X, wide)
    return {
        "tree": weald.DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y["classes"]),
        "forest_classes": rf(class_weight={"no": 2.0, "yes": 1.0, "perhaps": 1.0}, **small).fit(X, y["classes"]),
        "forest_outputs": rf(criterion="entropy", **small).fit(X, y["outputs"]),
        "forest_numbers": numbers,
        "forest_sparse_labels": labels,
        "forest_single_target": rf(output_strategy="single_target", **small).fit(X, y["labels"]),
        "forest_float16": compact(numbers, dtype="float16")[0],
        "forest_rows": compact(labels, training_data=(X, y["sparse"]))[0],
        "forest_rows_of_numbers": compact(numbers, training_data=(X, y["numbers"]))[0],
        "forest_masked_labels": weald.ExtraTreesClassifier(n_estimators=2, random_state=0).fit(
            X, (np.nan_to_num(wide) > -1.5).astype(np.int8), y_weight=unless(mask)
        ),
        "forest_masked_numbers": masked,
        "forest_masked_float16": compact(masked, dtype="float16")[0],
        "forest_projected": et(output_projection=weald.projection.RademacherProjection("sqrt"), **small).fit(
            X, y["numbers"]
        ),
        "boosting_relabelled": regression(**small).fit(X, y["numbers"]),
        "boosting_softmax": boosting(output_strategy="joint", **small).fit(X, y["classes"]),
        "boosting_low_rank": boosting(output_strategy=Projected(relabel_leaves=False), **small).fit(X, y["labels"]),
        "boosting_single_target": regression(output_strategy="single_target", **small).fit(X, y["numbers"][:, :2]),
        "centroid_labels": weald.CentroidForestClassifier(3, max_leaf_samples=3, random_state=0).fit(X, y["sparse"]),
        "centroid_numbers": weald.CentroidForestRegressor(3, random_state=0).fit(X, y["numbers"]),
        # Logarithms have other bits on other machines: not tf-idf.
        "linear_labels": weald.LinearClassifier(
            0.3, features="given", calibrate=False, max_iter=500, random_state=0
        ).fit(X, y["labels"]),
        "linear_classes": weald.LinearClassifier(0.3, features="normalized", calibrate=False, random_state=0).fit(
            X, y["classes"]
        ),
        "linear_log_loss": weald.LinearClassifier(
            3.0, loss="log_loss", features="given", max_iter=500, random_state=0
        ).fit(X, y["labels"]),
        "linear_calibrated": weald.LinearClassifier(features="normalized", random_state=0).fit(X, y["outputs"]),
        # Of one tree, whose scores no logarithm touches.
        "label_tree": weald.LinearClassifier(
            strategy="tree",
            features="given",
            n_estimators=1,
            max_children=2,
            max_leaf_labels=4,
            beam_width=3,
            random_state=0,
        ).fit(X, y["sparse"]),
        "compressed": weald.CompressedForestRegressor(et(n_estimators=5), l1_norm=None, step_size=0.2, max_test_nodes=9)
        .set_params(random_state=0)
        .fit(X, y["numbers"][:, 0]),
        "compressed_labels": weald.CompressedForestClassifier(
            l1_norm=None, step_size=0.2, max_test_nodes=9, loss="log_loss", random_state=0
        ).fit(X, y["labels"]),
    }


def raw_predictions(model: object, X: np.ndarray) -> np.ndarray:
    """What the engine predicts: no logarithm or exponential has touched it."""
    engine = getattr(model, "_model", None)
    X = X.astype(np.float32)
    if engine is None:
        return model._forest.predict(X)
    scores = engine.predict_scores(X)
    if not isinstance(scores, tuple):
        return scores
    # Labels that a label tree does not find.
    ptr, labels, values = scores
    found = np.full((len(X), engine.width), -np.inf)
    found[np.repeat(np.arange(len(X)), np.diff(ptr.astype(np.int64))), labels] = values
    return found


def bits(numbers: np.ndarray) -> list[list[int]]:
    """The bits of float64, row by row."""
    return np.ascontiguousarray(numbers, np.float64).view(np.uint64).tolist()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--replace", action="store_true", help="replace files of a format that is not released")
    parser.add_argument("--add", action="store_true", help="write the files that are not there, and leave the others")
    args = parser.parse_args()
    folder = HERE / f"v{FORMAT}"
    if FORMAT in RELEASED:
        sys.exit(f"{folder}: format {FORMAT} was released, its files stay as they are")
    if folder.exists() and not args.replace and not args.add:
        sys.exit(f"{folder} is there; --add for files that are missing, --replace to write all of it anew")
    folder.mkdir(exist_ok=True)
    X = data()[0][::4]
    predictions = json.loads((folder / "predictions.json").read_text())["predictions"] if args.add else {}
    for name, model in models().items():
        if name in predictions:
            continue
        weald.save(model, folder / f"{name}.safetensors")
        predictions[name] = bits(raw_predictions(model, X))
    about = {"X": X.tolist(), "predictions": predictions}
    (folder / "predictions.json").write_text(json.dumps(about, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
