"""Means of models of different kinds: do they rank labels better than each of the models?

`python benches/defaults/mean_of_models.py` prints precision at 1, 3 and 5 on a fifth of the training samples of each data
set, for models that are fitted to the other samples, and for `weald.VotingClassifier` of these models with equal weights.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import weald
from sklearn.frozen import FrozenEstimator
from weald.metrics import precision_at_k

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))
import _data

SETS = ["bibtex", "delicious"]
MODELS: dict[str, Any] = {
    "linear start": weald.GradientBoostingClassifier(init="linear", random_state=0, n_jobs=2),
    "random forest": weald.RandomForestClassifier(random_state=0, n_jobs=2),
    "centroid forest": weald.CentroidForestClassifier(random_state=0, n_jobs=2),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=SETS, nargs="+", default=SETS)
    arguments = parser.parse_args()
    print(f"weald {weald.__version__}\n\n| set | model | precision at 1 / 3 / 5 |\n|---|---|--:|", flush=True)
    for name in arguments.only:
        data = _data.named(name)
        X, Y = sp.csr_matrix(data.X), sp.csr_matrix(data.y)
        held, kept = np.split(np.random.default_rng(1).permutation(X.shape[0]), [X.shape[0] // 5])
        fitted = [(told, FrozenEstimator(model.fit(X[kept], Y[kept]))) for told, model in MODELS.items()]
        for size in range(1, len(fitted) + 1):
            for some in itertools.combinations(fitted, size):
                mean = weald.VotingClassifier(list(some)).fit(X[kept], Y[kept])
                found, _ = mean.predict_topk(X[held], 5)
                scores = " / ".join(f"{precision_at_k(Y[held], found, k):.3f}"[1:] for k in (1, 3, 5))
                print(f"| {name} | {', '.join(told for told, _ in some)} | {scores} |", flush=True)


if __name__ == "__main__":
    main()
