"""Linear models, label trees, and boosting from a linear start, on tagged text, against omikuji and napkinXC, one thread.

    python benches/peers/linear.py results.jsonl [--only bibtex] [--ways linear] [--seeds 3]

weald gets X as it is, at its defaults: what is done with words, and how strong the penalty is, is part of the fit. The
peers are at their defaults, on tf-idf if the data set has counts, and "best of eight" with the settings and features of
`text_recipe.py` that have the best precision at 1 on a quarter of the training samples (fitted to the rest). Each model is
fitted to the training part and ranks the labels of the test part: precision at 1, 3 and 5, and the label ranking average
precision of weald's models; processor seconds of the fit and of the predictions; bytes of the model file, or of the files
that the library writes. Each model and seed runs in its own process; the table has medians over the seeds. Models whose
library is not installed are left out, results that `results.jsonl` has are not measured again, and nothing else is tuned.
"""

from __future__ import annotations

import time
from statistics import median
from typing import Any

import _data
import scipy.sparse as sp
import weald
from _records import environment, heading
from _scores import ranking_precision
from centroid import PEERS, SETS, K, as_tfidf, of_peer, precision, run
from text_recipe import chosen, measure

MODELS = {
    "linear": lambda seed: weald.LinearClassifier(random_state=seed),
    "label tree": lambda seed: weald.LabelTreeClassifier(random_state=seed),
    "boosting": lambda seed: weald.GradientBoostingClassifier(random_state=seed),
    'boosting, init="linear"': lambda seed: weald.GradientBoostingClassifier(init="linear", random_state=seed),
    'boosting, init="auto"': lambda seed: weald.GradientBoostingClassifier(init="auto", random_state=seed),
}
BEST_OF_EIGHT = {"omikuji, best of eight": "omikuji", "napkinXC, best of eight": "napkinxc"}
WAYS = [*MODELS, *PEERS, *BEST_OF_EIGHT]
# Titles of a library with 15 942 subjects come last: give the ways for them, since boosting takes hours there.
ALL_SETS = [*SETS, "finna_en"]
# Above this number of scores, the label ranking average precision is not measured.
MOST_SCORES = 50_000_000


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
    if isinstance(model, weald.LabelTreeClassifier):
        found["chosen"] = f"{model.features_} {model.C:g}"
    if X_test.shape[0] * Y.shape[1] <= MOST_SCORES:
        found["scores"] = model.decision_function(X_test)
    return found


def of_best_of_eight(way: str, X: Any, Y: Any, X_test: Any, Y_test: Any) -> dict[str, Any]:
    """A peer with the best of eight settings. Its time is that of the last fit, without that of the choice."""
    best, fit = chosen(BEST_OF_EIGHT[way], sp.csr_array(X), sp.csr_array(Y), say=False)
    found = measure(fit, *(sp.csr_array(part) for part in (X, Y, X_test, Y_test)))
    return {"precision": [found[f"p{k}"] for k in K], "fit": found["seconds"], "chosen": best.partition(", ")[2]}


def measured(name: str, way: str, seed: int) -> dict[str, Any]:
    """One model on one data set, in this process."""
    data = _data.named(name)
    X, X_test, Y, Y_test = (sp.csr_matrix(part) for part in (data.X, data.X_test, data.y, data.y_test))
    if way in MODELS:
        found = of_weald(way, seed, X, Y, X_test)
        if "scores" in found:
            found["lrap"] = ranking_precision(found.pop("scores"), Y_test)
    elif way in BEST_OF_EIGHT:
        return {"set": name, "way": way, "seed": seed, **of_best_of_eight(way, X, Y, X_test, Y_test)}
    else:
        X, X_test = as_tfidf(X, X_test)
        found = of_peer(way, X, Y, X_test)
    return {"set": name, "way": way, "seed": seed, "precision": precision(found.pop("labels"), Y_test), **found}


def table(lines: list[dict[str, Any]]) -> None:
    """Medians over the seeds."""
    print(heading(environment()))
    print("| set | way | precision at 1 / 3 / 5 | LRAP | fit / predict, s | MB | features, C |")
    print("|---|---|--:|--:|--:|--:|---|")
    for name in ALL_SETS:
        for way in WAYS:
            runs = [line for line in lines if (line["set"], line["way"]) == (name, way)]
            if not runs:
                continue
            at = " / ".join(f"{median(run['precision'][i] for run in runs):.4f}"[1:] for i in range(len(K)))
            lrap = f"{median(run['lrap'] for run in runs):.4f}"[1:] if "lrap" in runs[0] else ""
            seconds = f"{median(run['fit'] for run in runs):.3g}"
            size = ""
            if "predict" in runs[0]:
                seconds += f" / {median(run['predict'] for run in runs):.2g}"
                size = f"{median(run['bytes'] for run in runs) / 1e6:.3g}"
            cells = (name, way, at, lrap, seconds, size, runs[0].get("chosen", ""))
            print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    run(__file__, WAYS, MODELS, 1, measured, table, ALL_SETS)
