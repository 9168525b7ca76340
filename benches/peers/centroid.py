"""Centroid forests compared with a random forest, omikuji and napkinXC, on seven data sets of tagged text, one thread.

    python benches/peers/centroid.py results.jsonl [--only bibtex] [--ways "centroid forest"] [--seeds 3]

X is tf-idf if the data set has counts, and unchanged otherwise, the same for all models; centroid forests are fitted
with `idf=False`. Each model is fitted to the training part and ranks the labels of the test part: precision at 1, 3 and
5; processor seconds of the fit and of the predictions (`predict_topk` of five labels if the model has it); bytes of the
pickle, or of the files that the library writes. Each model and seed runs in its own process; the table has medians over
the seeds. omikuji and napkinXC are at their defaults: three trees, and one. Models whose library is not installed are
left out, results that `results.jsonl` has are not measured again, and nothing is tuned.
"""

from __future__ import annotations

import argparse
import json
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection
from pathlib import Path
from statistics import median
from typing import Any

import _data
import numpy as np
import scipy.sparse as sp
import weald
from _records import append, read
from sklearn.feature_extraction.text import TfidfTransformer
from weald.metrics import precision_at_k

SETS = ["delicious", "bibtex", "rcv1sub1", "yahoo_arts", "reuters21578_r90", "goemotions", "medical"]
WAYS = ["random forest", "centroid forest", "centroid forest, 25 trees", "omikuji", "napkinXC"]
SEEDED = WAYS[:3]
K = (1, 3, 5)


def wealds(way: str, seed: int) -> Any:
    """A model of weald."""
    if way == "random forest":
        return weald.RandomForestClassifier(random_state=seed, n_jobs=1)
    return weald.CentroidForestClassifier(25 if "25" in way else 50, idf=False, random_state=seed, n_jobs=1)


def of_weald(way: str, seed: int, X: Any, Y: Any, X_test: Any) -> dict[str, Any]:
    start = time.process_time()
    model = wealds(way, seed).fit(X, Y)
    fitted = time.process_time()
    labels, _scores = model.predict_topk(X_test, k=max(K))
    end = time.process_time()
    return {"fit": fitted - start, "predict": end - fitted, "bytes": len(pickle.dumps(model, 5)), "labels": labels}


def of_omikuji(X: Any, Y: Any, X_test: Any, folder: Path) -> dict[str, Any]:
    import omikuji

    weald.datasets.dump_xmc(X, Y, folder / "train.txt")
    start = time.process_time()
    model = omikuji.Model.train_on_data(str(folder / "train.txt"), n_threads=1)
    fitted = time.process_time()
    rows = (list(zip(row.indices.tolist(), row.data.tolist(), strict=True)) for row in sp.csr_array(X_test))
    best = [[label for label, _ in model.predict(row, top_k=max(K))] for row in rows]
    end = time.process_time()
    (folder / "train.txt").unlink()
    model.save(str(folder))
    return {"fit": fitted - start, "predict": end - fitted, "labels": best}


def of_napkin(X: Any, Y: Any, X_test: Any, folder: Path) -> dict[str, Any]:
    from napkinxc.models import PLT

    start = time.process_time()
    model = PLT(str(folder), threads=1, seed=0)
    model.fit(sp.csr_matrix(X), sp.csr_matrix(Y, dtype=np.float32))
    fitted = time.process_time()
    best = model.predict(sp.csr_matrix(X_test), top_k=max(K))
    return {"fit": fitted - start, "predict": time.process_time() - fitted, "labels": best}


PEERS = {"omikuji": of_omikuji, "napkinXC": of_napkin}


def of_peer(way: str, X: Any, Y: Any, X_test: Any) -> dict[str, Any]:
    """A model of another library, with the bytes of its files."""
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        found = PEERS[way](X, Y, X_test, folder)
        return found | {"bytes": sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())}


def as_tfidf(X: Any, X_test: Any) -> tuple[Any, Any]:
    """Counts as tf-idf; other X as it is."""
    if (X.data % 1 != 0).any():
        return X, X_test
    words = TfidfTransformer(sublinear_tf=True).fit(X)
    return words.transform(X).astype(np.float32), words.transform(X_test).astype(np.float32)


def precision(labels: Any, Y_test: Any) -> list[float]:
    """Precision at 1, 3 and 5 of lists of the best labels."""
    scores = np.zeros((len(labels), Y_test.shape[1]))
    for row, best in enumerate(labels):
        for place, label in enumerate(best):
            scores[row, label] = max(K) - place
    return [precision_at_k(Y_test, scores, k) for k in K]


def measured(name: str, way: str, seed: int) -> dict[str, Any]:
    """One method on one data set, in this process."""
    data = _data.named(name)
    X, X_test, Y, Y_test = (sp.csr_matrix(part) for part in (data.X, data.X_test, data.y, data.y_test))
    X, X_test = as_tfidf(X, X_test)
    found = of_weald(way, seed, X, Y, X_test) if way in SEEDED else of_peer(way, X, Y, X_test)
    return {"set": name, "way": way, "seed": seed, "precision": precision(found.pop("labels"), Y_test), **found}


def table(lines: list[dict[str, Any]]) -> None:
    """Medians over the seeds."""
    print("| set | way | precision at 1 / 3 / 5 | fit / predict, s | MB |\n|---|---|--:|--:|--:|")
    for name in SETS:
        for way in WAYS:
            runs = [line for line in lines if (line["set"], line["way"]) == (name, way)]
            if not runs:
                continue
            at = [median(run["precision"][i] for run in runs) for i in range(len(K))]
            fit, predict, size = (median(run[key] for run in runs) for key in ("fit", "predict", "bytes"))
            precision = " / ".join(f"{p:.3f}"[1:] for p in at)
            print(f"| {name} | {way} | {precision} | {fit:.3g} / {predict:.2g} | {size / 1e6:.3g} |")


def run(
    script: str,
    ways: list[str],
    seeded: Collection[str],
    n_seeds: int,
    measured: Callable[[str, str, int], dict[str, Any]],
    table: Callable[[list[dict[str, Any]]], None],
    sets: list[str] = SETS,
) -> None:
    """Runs the requested measurements of a script, each in a process of its own, and prints the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("results", type=Path)
    parser.add_argument("--only", action="append", choices=sets)
    parser.add_argument("--ways", action="append", choices=ways)
    parser.add_argument("--seeds", type=int, default=n_seeds)
    parser.add_argument("--one", nargs=3, metavar=("SET", "WAY", "SEED"), help="used by the script itself")
    options = parser.parse_args()
    if options.one:
        name, way, seed = options.one
        print(json.dumps(measured(name, way, int(seed))))
        return
    lines = read(options.results)
    known = {(line["set"], line["way"], line["seed"]) for line in lines}
    for name in options.only or sets:
        for way in options.ways or ways:
            for seed in range(options.seeds if way in seeded else 1):
                if (name, way, seed) in known:
                    continue
                command = [sys.executable, script, str(options.results), "--one", name, way, str(seed)]
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                if done.returncode:
                    print(f"{name}, {way}: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
                    break
                line = done.stdout.strip().splitlines()[-1]
                lines.append(json.loads(line))
                append(options.results, lines[-1])
    table(lines)


if __name__ == "__main__":
    run(__file__, WAYS, SEEDED, 3, measured, table)
