"""Models of tagged text, on one thread: weald's linear models, label trees, boosting and forests, omikuji and napkinXC.

    python benches/peers/scores/text_labels.py results.jsonl [--only bibtex] [--ways "label tree"] [--seeds 3]

weald gets X as it is, at its defaults: what is done with words, and how strong the penalty is, is part of the fit. Forests
get tf-idf if the data set has counts, centroid forests with `idf=False`; so do the peers, at their defaults, and "best of
eight" with the settings and features of `text_recipe.py` that have the best precision at 1 on a quarter of the training
samples (fitted to the rest). Each model is fitted to the training part and ranks the labels of the test part: precision at
1, 3 and 5, and the label ranking average precision of weald's models; processor seconds of the fit and of the predictions
(`predict_topk` of five labels); bytes of the model file, or of the files that the library writes. Each model and seed runs
in its own process; the table has medians over the seeds, of which the ways with a random state have `--seeds`. Models whose
library is not installed are left out, results that `results.jsonl` has are not measured again, and nothing else is tuned.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import scipy.sparse as sp
import weald
from sklearn.feature_extraction.text import TfidfTransformer
from weald.metrics import precision_at_k

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _data import named
from _harness import AbsentDataError, Table, in_fresh_process, options, parser, spread, timed
from _records import append, read
from _scores import ranking_precision
from text_recipe import chosen, measure

# Titles of a library with 15 942 subjects come last: give the ways for them, since boosting takes hours there.
SETS = ["delicious", "bibtex", "rcv1sub1", "yahoo_arts", "reuters21578_r90", "goemotions", "medical", "finna_en"]
K = (1, 3, 5)
# Above this number of scores, the label ranking average precision is not measured.
MOST_SCORES = 50_000_000


def centroids(n_estimators: int) -> Callable[[int], Any]:
    return lambda seed: weald.CentroidForestClassifier(n_estimators, idf=False, random_state=seed, n_jobs=1)


PLAIN: dict[str, Callable[[int], Any]] = {
    "linear": lambda seed: weald.LinearClassifier(random_state=seed),
    "label tree": lambda seed: weald.LinearClassifier(strategy="tree", random_state=seed),
    "boosting": lambda seed: weald.GradientBoostingClassifier(random_state=seed),
    'boosting, init="linear"': lambda seed: weald.GradientBoostingClassifier(init="linear", random_state=seed),
    'boosting, init="auto"': lambda seed: weald.GradientBoostingClassifier(init="auto", random_state=seed),
}
TFIDF: dict[str, Callable[[int], Any]] = {
    "random forest": lambda seed: weald.RandomForestClassifier(random_state=seed, n_jobs=1),
    "centroid forest": centroids(50),
    "centroid forest, 25 trees": centroids(25),
}
BEST_OF_EIGHT = {"omikuji, best of eight": "omikuji", "napkinXC, best of eight": "napkinxc"}


def of_weald(model: Any, X: Any, Y: Any, X_test: Any) -> dict[str, Any]:
    fit, _ = timed(lambda: model.fit(X, Y))
    predict, (labels, _) = timed(lambda: model.predict_topk(X_test, k=max(K)))
    found = {"fit": fit, "predict": predict, "bytes": len(weald.dumps(model)), "labels": labels}
    linear = getattr(model, "_init", model)
    if isinstance(linear, weald.LinearClassifier):
        found["chosen"] = f"{linear.features_} {linear.C_:g}"
    if X_test.shape[0] * Y.shape[1] <= MOST_SCORES:
        ranked = model.decision_function if hasattr(model, "decision_function") else model.predict_proba
        found["scores"] = ranked(X_test)
    return found


def of_omikuji(X: Any, Y: Any, X_test: Any, folder: Path) -> dict[str, Any]:
    import omikuji

    weald.datasets.dump_xmc(X, Y, folder / "train.txt")
    fit, model = timed(lambda: omikuji.Model.train_on_data(str(folder / "train.txt"), n_threads=1))
    rows = (list(zip(row.indices.tolist(), row.data.tolist(), strict=True)) for row in sp.csr_array(X_test))
    predict, best = timed(lambda: [[label for label, _ in model.predict(row, top_k=max(K))] for row in rows])
    (folder / "train.txt").unlink()
    model.save(str(folder))
    return {"fit": fit, "predict": predict, "labels": best}


def of_napkin(X: Any, Y: Any, X_test: Any, folder: Path) -> dict[str, Any]:
    from napkinxc.models import PLT

    model = PLT(str(folder), threads=1, seed=0)
    fit, _ = timed(lambda: model.fit(sp.csr_matrix(X), sp.csr_matrix(Y, dtype=np.float32)))
    predict, best = timed(lambda: model.predict(sp.csr_matrix(X_test), top_k=max(K)))
    return {"fit": fit, "predict": predict, "labels": best}


PEERS = {"omikuji": of_omikuji, "napkinXC": of_napkin}
WAYS = [*PLAIN, *TFIDF, *PEERS, *BEST_OF_EIGHT]


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
    """One model on one data set, in this process."""
    data = named(name)
    X, X_test, Y, Y_test = (sp.csr_matrix(part) for part in (data.X, data.X_test, data.y, data.y_test))
    about = {"set": name, "way": way, "seed": seed}
    if way in BEST_OF_EIGHT:
        # The time is that of the last fit, without that of the choice.
        best, fit = chosen(BEST_OF_EIGHT[way], sp.csr_array(X), sp.csr_array(Y))
        found = measure(fit, *(sp.csr_array(part) for part in (X, Y, X_test, Y_test)))
        scored = {"precision": [found[f"p{k}"] for k in K], "fit": found["seconds"]}
        return about | scored | {"chosen": best.partition(", ")[2]}
    if way not in PLAIN:
        X, X_test = as_tfidf(X, X_test)
    if way in PEERS:
        with tempfile.TemporaryDirectory() as text:
            folder = Path(text)
            found = PEERS[way](X, Y, X_test, folder)
            found["bytes"] = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    else:
        found = of_weald((PLAIN | TFIDF)[way](seed), X, Y, X_test)
        if "scores" in found:
            found["lrap"] = ranking_precision(found.pop("scores"), Y_test)
    return about | {"precision": precision(found.pop("labels"), Y_test)} | found


def report(lines: list[dict[str, Any]]) -> None:
    """Medians over the seeds."""
    table = Table(
        "case | side | fit, s | predict, s | model, MB | precision at 1 / 3 / 5 | LRAP | features, C", texts=2
    )
    for name in SETS:
        for way in WAYS:
            runs = [line for line in lines if (line["set"], line["way"]) == (name, way)]
            if not runs:
                continue

            def of(key: str, unit: float = 1.0, runs: list[dict[str, Any]] = runs) -> str:
                return spread([run[key] for run in runs], unit) if key in runs[0] else ""

            at = " / ".join(f"{median(run['precision'][i] for run in runs):.4f}"[1:] for i in range(len(K)))
            lrap = f"{median(run['lrap'] for run in runs):.4f}"[1:] if "lrap" in runs[0] else ""
            chosen = runs[0].get("chosen", "")
            table.row(name, way, of("fit"), of("predict"), of("bytes", 1e6), at, lrap, chosen)


def main() -> None:
    common = parser(__doc__ or "")
    common.add_argument("results", type=Path)
    common.add_argument("--ways", action="append", choices=WAYS)
    common.add_argument("--seeds", type=int, default=1)
    args = options(common)
    if args.worker:
        name, way, seed = args.worker
        print(json.dumps(measured(name, way, int(seed))))
        return
    lines = read(args.results)
    known = {(line["set"], line["way"], line["seed"]) for line in lines}
    for name in (name for name in SETS if args.only in name):
        for way in args.ways or WAYS:
            for seed in range(args.seeds if way in (PLAIN | TFIDF) else 1):
                if (name, way, seed) in known:
                    continue
                try:
                    lines.append(in_fresh_process(name, way, str(seed)))
                except (AbsentDataError, SystemExit) as failed:
                    reason = failed.caught() if isinstance(failed, AbsentDataError) else str(failed)
                    print(f"{name}, {way}: {reason.strip().splitlines()[-1]}", file=sys.stderr)
                    break
                append(args.results, lines[-1])
    report(lines)


if __name__ == "__main__":
    main()
