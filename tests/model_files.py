"""Functions that tests of model files share."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import weald
from conftest import make, make_data, model_bytes
from scipy import sparse


def fitted(name, outputs="single", **params):
    X, y = make_data(name, outputs=outputs)
    return make(name, **params).fit(X, y), X


def again(model, path, **options):
    weald.save(model, path)
    return weald.load(path, **options)


def assert_same(one, other, X):
    """Check that two estimators have the same parameters, fitted attributes and predictions."""
    assert type(one) is type(other)
    assert model_bytes(one) == model_bytes(other)
    assert re.sub(" at 0x[0-9A-F]+", "", repr(one)) == re.sub(" at 0x[0-9A-F]+", "", repr(other))
    found, expected = (model.predict(X) for model in (one, other))
    assert type(found) is type(expected)
    assert found.dtype == expected.dtype
    if sparse.issparse(found):
        found, expected = found.toarray(), expected.toarray()
    np.testing.assert_array_equal(found, expected)
    states = [model.__getstate__() for model in (one, other)]
    assert states[0].keys() == states[1].keys()
    for key in states[0]:
        assert type(states[0][key]) is type(states[1][key]), key
    for key in ("classes_", "n_classes_", "feature_names_in_", "path_", "oob_score_", "train_score_"):
        if key in states[0]:
            np.testing.assert_equal(states[0][key], states[1][key])


def loads(path):
    """All functions that read a file."""
    return (
        lambda: weald.load(path),
        lambda: weald.load(path, mmap_mode="r"),
        lambda: weald.inspect_model(path),
    )


def taken_apart(path):
    data = Path(path).read_bytes()
    end = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:end])
    return header, json.loads(header["__metadata__"]["estimator"]), data[end:]


def put_together(path, header, estimator, data):
    text = estimator if isinstance(estimator, str) else json.dumps(estimator)
    header["__metadata__"]["estimator"] = text
    encoded = json.dumps(header).encode()
    Path(path).write_bytes(len(encoded).to_bytes(8, "little") + encoded + data)
