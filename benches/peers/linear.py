"""Linear models, and boosting from a linear start, on tagged text, against omikuji and napkinXC, one thread.

    python benches/peers/linear.py results.jsonl [--only bibtex] [--ways linear] [--seeds 3]

weald gets X as it is, at its defaults: what is done with words, and how strong the penalty is, is part of the fit. The
peers are at their defaults, on tf-idf if the data set has counts. Each model is fitted to the training part and ranks the
labels of the test part: precision at 1, 3 and 5, and the label ranking average precision of weald's models; processor
seconds of the fit and of the predictions; bytes of the model file, or of the files that the library writes. Each model and
seed runs in its own process; the table has medians over the seeds. Models whose library is not installed are left out,
results that `results.jsonl` has are not measured again, and nothing is tuned.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import _data
import numpy as np
import scipy.sparse as sp
import weald
from _records import append, environment, heading, read
from _scores import ranking_precision
from centroid import SETS, K, of_napkin, of_omikuji, scores_of
from sklearn.feature_extraction.text import TfidfTransformer
from weald.metrics import precision_at_k

MODELS = {
    "linear": lambda seed: weald.LinearClassifier(random_state=seed),
    "boosting": lambda seed: weald.GradientBoostingClassifier(random_state=seed),
    'boosting, init="linear"': lambda seed: weald.GradientBoostingClassifier(init="linear", random_state=seed),
    'boosting, init="auto"': lambda seed: weald.GradientBoostingClassifier(init="auto", random_state=seed),
}
PEERS = {"omikuji": of_omikuji, "napkinXC": of_napkin}
WAYS = [*MODELS, *PEERS]


def of_weald(way: str, seed: int, X: Any, Y: Any, X_test: Any) -> dict[str, Any]:
    start = time.process_time()
    model = MODELS[way](seed).fit(X, Y)
    fitted = time.process_time()
    labels, _ = model.predict_topk(X_test, k=max(K))
    end = time.process_time()
    found = {"fit": fitted - start, "predict": end - fitted, "bytes": len(weald.dumps(model)), "labels": labels}
    linear = getattr(model, "_init", model)
    if isinstance(linear, weald.LinearClassifier):
        found["chosen"] = f"{linear.features_} {linear.C_:g}"
    return found | {"scores": model.decision_function(X_test)}


def measured(name: str, way: str, seed: int) -> dict[str, Any]:
    """One model on one data set, in this process."""
    data = _data.named(name)
    X, X_test, Y, Y_test = (sp.csr_matrix(part) for part in (data.X, data.X_test, data.y, data.y_test))
    if way in MODELS:
        found = of_weald(way, seed, X, Y, X_test)
        found["lrap"] = ranking_precision(found.pop("scores"), Y_test)
    else:
        if (X.data % 1 == 0).all():
            words = TfidfTransformer(sublinear_tf=True).fit(X)
            X, X_test = (words.transform(part).astype(np.float32) for part in (X, X_test))
        with tempfile.TemporaryDirectory() as text:
            folder = Path(text)
            found = PEERS[way](X, Y, X_test, folder)
            found["bytes"] = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    scores = scores_of(found.pop("labels"), Y.shape[1])
    return {"set": name, "way": way, "seed": seed, "precision": [precision_at_k(Y_test, scores, k) for k in K], **found}


def table(lines: list[dict[str, Any]]) -> None:
    """Medians over the seeds."""
    print("| set | way | precision at 1 / 3 / 5 | LRAP | fit / predict, s | MB | features, C |")
    print("|---|---|--:|--:|--:|--:|---|")
    for name in SETS:
        for way in WAYS:
            runs = [line for line in lines if (line["set"], line["way"]) == (name, way)]
            if not runs:
                continue
            precision = " / ".join(f"{median(run['precision'][i] for run in runs):.4f}"[1:] for i in range(len(K)))
            lrap = f"{median(run['lrap'] for run in runs):.4f}"[1:] if "lrap" in runs[0] else ""
            fit, predict, size = (median(run[key] for run in runs) for key in ("fit", "predict", "bytes"))
            cells = (
                name,
                way,
                precision,
                lrap,
                f"{fit:.3g} / {predict:.2g}",
                f"{size / 1e6:.3g}",
                runs[0].get("chosen", ""),
            )
            print(f"| {' | '.join(cells)} |")


def main() -> None:
    """Runs the requested measurements, and prints the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("results", type=Path)
    parser.add_argument("--only", action="append", choices=SETS)
    parser.add_argument("--ways", action="append", choices=WAYS)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--one", nargs=3, metavar=("SET", "WAY", "SEED"), help="used by the script itself")
    options = parser.parse_args()
    if options.one:
        name, way, seed = options.one
        print(json.dumps(measured(name, way, int(seed))))
        return
    print(heading(environment()))
    lines = read(options.results)
    known = {(line["set"], line["way"], line["seed"]) for line in lines}
    for name in options.only or SETS:
        for way in options.ways or WAYS:
            for seed in range(options.seeds if way in MODELS else 1):
                if (name, way, seed) in known:
                    continue
                command = [sys.executable, __file__, str(options.results), "--one", name, way, str(seed)]
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                if done.returncode:
                    print(f"{name}, {way}: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
                    break
                lines.append(json.loads(done.stdout.strip().splitlines()[-1]))
                append(options.results, lines[-1])
    table(lines)


if __name__ == "__main__":
    main()
