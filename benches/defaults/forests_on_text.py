"""How many features should a node of a forest draw on sparse text?

    python benches/defaults/forests_on_text.py --trees 50

Models are fitted to three quarters of the training part of each multi-label data set (at most 4000 samples) and
scored on the other quarter by label ranking average precision. The test parts are never used. For random forests and
extra-trees, with √p features at each node and with shares of p, the script prints the score and the processor seconds
of the fit, on one thread.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))

from _scores import ranking_precision
from study import parts

SETS = ("medical", "bibtex", "yahoo_arts", "rcv1sub1", "reuters21578_r90")
DRAWS: tuple[str | float, ...] = ("sqrt", 0.02, 0.05, 0.1, 0.2)


def main() -> None:
    import weald

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--trees", type=int, default=50)
    args = parser.parse_args()
    kinds = {"random forest": weald.RandomForestClassifier, "extra-trees": weald.ExtraTreesClassifier}
    print("| set | forest |" + "".join(f" {draw} |" for draw in DRAWS))
    print("|---|---|" + "--:|" * len(DRAWS))
    for name in args.sets:
        X, y, X_scored, y_scored = parts(name)
        for kind, forest in kinds.items():
            cells = []
            for draw in DRAWS:
                model = forest(args.trees, max_features=draw, random_state=0, n_jobs=1)
                begin = time.process_time()
                model.fit(X, y)
                seconds = time.process_time() - begin
                score = ranking_precision(model.predict_proba(X_scored), y_scored)
                cells.append(f"{score:.3f}, {seconds:.2g} s")
            print(f"| {name} | {kind} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
