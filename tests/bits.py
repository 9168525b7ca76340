"""Small fits whose bits are the same on every machine: `python tests/bits.py` writes `tests/bits.json` anew.

For each fit, the file has the SHA-256 of the model's arrays, as `weald.dumps` writes them, and of what the model predicts.
Parameters are not part of it, so that a new one changes nothing. Data are integers and multiples of ¼, and parameters
that shape a fit are given, so that no default changes it either.

The file is written anew where the changelog says that models change. It names the version that wrote it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import weald
from scipy import sparse
from weald.multilabel import CalibratedLabels, TunedThresholds
from weald.projection import Projected

PINS = Path(__file__).parent / "bits.json"
N, P, D = 90, 8, 12


class Data:
    """X and y of every kind, from integers."""

    def __init__(self) -> None:
        draw = np.random.default_rng(20161028).integers
        self.X = draw(-8, 9, size=(N, P)) / 4.0
        self.X[draw(0, 3, size=(N, P)) == 0] = 0.0
        self.scores = (4 * self.X).astype(np.int64) @ draw(-2, 3, size=(P, D)) + draw(-4, 5, size=(N, D))
        self.binary = np.array(["no", "yes"])[(self.scores[:, 0] > 0).astype(int)]
        self.classes = np.digitize(self.scores[:, 1], [-9, -3, 3, 9])
        self.outputs = np.stack([self.classes, np.digitize(self.scores[:, 2], [-5, 5])], axis=1)
        self.labels = (self.scores > 6).astype(np.int8)
        self.sparse_labels = sparse.csr_array(self.labels)
        self.numbers = self.scores / 8.0
        self.counts = np.maximum(self.scores[:, :3], 0)
        self.positive = 0.25 + np.abs(self.scores[:, 0]) / 4.0
        self.mask = draw(0, 8, size=(N, D)) > 0
        self.mask[0] = True
        self.known = ~self.mask
        self.weights = draw(0, 4, size=N) / 2.0
        self.missing = np.where(draw(0, 6, size=(N, P)) == 0, np.nan, self.X)
        self.categories = np.column_stack([draw(0, 9, size=N), self.X[:, 1:]])
        words = draw(0, 6, size=(N, 40))
        self.words = sparse.csr_array(np.where(words < 5, 0, draw(1, 4, size=(N, 40))).astype(np.float32))


data = cache(Data)

FOREST = {
    "n_estimators": 3,
    "max_features": 3,
    "max_leaf_nodes": 9,
    "min_samples_leaf": 1,
    "min_samples_split": 2,
    "random_state": 1,
}
BOOSTING = {
    "n_estimators": 5,
    "learning_rate": 0.3,
    "max_leaf_nodes": 5,
    "max_depth": None,
    "max_bins": 255,
    "min_samples_leaf": 1,
    "min_samples_split": 2,
    "min_weight_leaf": 2.0,
    "l2_regularization": 1.0,
    "leaf_estimation": "newton",
    "subsample": 1.0,
    "max_features": None,
    "output_strategy": "joint",
    "random_state": 1,
}
LINEAR = {"C": 1.0, "max_iter": 100, "random_state": 1}
PATH = {"random_state": 1}
FITS: dict[str, Callable[[], tuple[Any, Any]]] = {}


def fit(name: str, build: Callable[[], Any], y: str, X: str = "X", **options: Any) -> None:
    """Adds the fit of an estimator: of X and y of these names, the result and the X that it predicts."""

    def made() -> tuple[Any, Any]:
        d = data()
        given = {key: getattr(d, value) for key, value in options.items()}
        return build().fit(getattr(d, X), getattr(d, y), **given), getattr(d, X)

    FITS[name] = made


def rf(**params: Any) -> Any:
    return weald.RandomForestClassifier(**{**FOREST, **params})


def et(**params: Any) -> Any:
    return weald.ExtraTreesRegressor(**{**FOREST, **params})


numbers = partial(weald.RandomForestRegressor, **FOREST)
boost = partial(weald.GradientBoostingClassifier, **BOOSTING)
regression = partial(weald.GradientBoostingRegressor, **BOOSTING)
single = {"output_strategy": "single_target"}

fit("tree, entropy", partial(weald.DecisionTreeClassifier, criterion="entropy", max_depth=4, random_state=1), "classes")
fit("tree, Poisson", partial(weald.DecisionTreeRegressor, criterion="poisson", max_depth=4, random_state=1), "counts")
fit("extra tree", partial(weald.ExtraTreeRegressor, max_depth=4, random_state=1), "numbers")
fit("forest, classes", rf, "outputs")
fit("extra trees, classes", partial(weald.ExtraTreesClassifier, **FOREST), "outputs")
fit("forest, entropy with weights", partial(rf, criterion="entropy", class_weight="balanced"), "classes")
fit("forest, sparse labels", rf, "sparse_labels", X="words")
fit("forest, numbers with weights", numbers, "numbers", sample_weight="weights")
fit("forest, missing values", numbers, "numbers", X="missing")
fit("forest, categories", partial(numbers, categorical_features=[0]), "numbers", X="categories")
fit("forest, masked labels", partial(rf, criterion="entropy"), "labels", y_weight="known")
fit("forest, masked numbers", numbers, "numbers", y_weight="known")
fit("forest, bins", partial(numbers, max_bins=16), "numbers")
for name, projection in {
    "Gaussian": weald.projection.GaussianProjection(),
    "PCA": weald.projection.PCAProjection(),
    "Rademacher": weald.projection.RademacherProjection(4.0),
}.items():
    fit(f"forest, {name} projection", partial(et, output_projection=projection, n_projections=3), "numbers")
fit("boosting, two classes", boost, "binary")
fit("boosting, softmax", boost, "classes")
fit("boosting, labels", boost, "labels", sample_weight="weights")
fit("boosting, masked labels", boost, "labels", y_weight="known")
fit("boosting, line search", partial(boost, leaf_estimation="line_search"), "labels")
fit(
    "boosting, low rank",
    partial(boost, output_strategy=Projected(relabel_leaves=False)),
    "sparse_labels",
    X="words",
)
fit("boosting, exponential", partial(boost, loss="exponential", **single), "binary")
fit("boosting, squared error", regression, "numbers", X="missing")
for loss, y in {"poisson": "counts", "gamma": "positive", "huber": "numbers", "quantile": "numbers"}.items():
    fit(f"boosting, {loss}", partial(regression, loss=loss), y)
fit("boosting, Tweedie", lambda: regression(loss=weald.loss.Tweedie(1.4)), "counts")
fit(
    "centroids, labels", partial(weald.CentroidForestClassifier, 3, max_leaf_samples=6, random_state=1), "sparse_labels"
)
fit("centroids, numbers", partial(weald.CentroidForestRegressor, 3, max_leaf_samples=6, random_state=1), "numbers")
fit("linear, hinge", partial(weald.LinearClassifier, features="tfidf", **LINEAR), "labels", X="words")
fit("linear, log loss", partial(weald.LinearClassifier, loss="log_loss", features="given", **LINEAR), "labels")
fit(
    "label tree",
    partial(
        weald.LinearClassifier,
        C=1.0,
        strategy="tree",
        n_estimators=2,
        max_children=3,
        max_leaf_labels=4,
        random_state=1,
    ),
    "sparse_labels",
    X="words",
)
fit("induced forest", partial(weald.InducedForestClassifier, max_test_nodes=12, random_state=1), "labels")
fit("compression, lasso path", lambda: weald.CompressedForestRegressor(et(n_estimators=5), **PATH), "numbers")
few = {"n_estimators": 2, "max_leaf_nodes": 5}
fit("compression, log loss", lambda: weald.CompressedForestClassifier(rf(**few), loss="log_loss", **PATH), "labels")
fit("boosting, linear start", lambda: boost(init="linear"), "labels")
fit("sigmoids", lambda: CalibratedLabels(rf(), method="sigmoid", cv=3, random_state=1), "labels")
fit("thresholds", lambda: TunedThresholds(rf(), cv=3, random_state=1), "labels")


def digest(model: Any, X: Any) -> str:
    """SHA-256 of the arrays of a model and of its predictions."""
    found = hashlib.sha256()
    for part in _arrays(weald.dumps(model)):
        found.update(part)
    for name in ("predict", "predict_proba"):
        if hasattr(model, name):
            predicted = getattr(model, name)(X)
            for part in predicted if isinstance(predicted, list) else [predicted]:
                found.update(_plain(part))
    return found.hexdigest()


def _arrays(file: bytes) -> Iterator[bytes]:
    """The name, type, shape and content of each array of a model file, and of those of the files that are inside of it."""
    end = 8 + int.from_bytes(file[:8], "little")
    header = json.loads(file[8:end])
    # Parameters, and the release that wrote the file.
    del header["__metadata__"]
    for name, about in sorted(header.items()):
        content = file[end:][slice(*about["data_offsets"])]
        if about["dtype"] == "U8" and content[8:9] == b"{":
            yield name.encode()
            yield from _arrays(content)
        else:
            yield json.dumps([name, about["dtype"], about["shape"]]).encode()
            yield content


def _plain(array: Any) -> bytes:
    """The values, whatever the types of indices and of strings."""
    if sparse.issparse(array):
        array = array.toarray()
    if array.dtype.kind not in "if":
        return json.dumps(array.tolist()).encode()
    return np.ascontiguousarray(array, "<f8" if array.dtype.kind == "f" else "<i8").tobytes()


def main() -> None:
    found = {name: digest(*made()) for name, made in FITS.items()}
    PINS.write_text(json.dumps({"weald": weald.__version__, "sha256": found}, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
