"""What an installed wheel has to do: fit, predict, save and load, with no other file of the repository."""

import json
import sys
import sysconfig
import tempfile
from importlib.metadata import files
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import weald

X = sp.random(200, 500, density=0.05, format="csr", random_state=0)
y = (X[:, :3].toarray() > 0).astype(int)
forest = weald.RandomForestClassifier(20, random_state=0, n_jobs=2).fit(X, y)
with tempfile.TemporaryDirectory() as folder:
    weald.save(forest, Path(folder) / "model.safetensors")
    loaded = weald.load(Path(folder) / "model.safetensors")
assert np.array_equal(forest.predict(X), loaded.predict(X))
assert (forest.predict(X) == y).mean() > 0.9
if sysconfig.get_config_var("Py_GIL_DISABLED"):
    assert not sys._is_gil_enabled(), "an import switched the GIL on"
# The bill of materials names the crates that the wheel is built of.
[bill] = [file for file in files("weald") if file.name.endswith(".cyclonedx.json")]
assert bill.parent.name == "sboms"
assert {"pyo3", "weald"} <= {part["name"] for part in json.loads(bill.read_text())["components"]}
print("weald", weald.__version__, "on Python", sys.version, ":", weald.build_info())
