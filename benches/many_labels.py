"""Fits to very many labels, weald only: `python benches/many_labels.py`, made samples of up to 100 000 labels.

Each label has ten words of its own, drawn as rare and frequent words are; a sample has one to five labels, rare and
frequent ones, two words of each, and eight others. Prints the processor seconds and the peak memory of a fit, bytes of the
model, the precision of the best label, and by which powers of the numbers of samples and of labels seconds grow.
`--settings` chooses sizes as `samples x labels`, `--threads` the number of threads.
"""

import json
import math
import resource
import sys
import time
from pathlib import Path

import numpy as np
import weald
from scipy import sparse

sys.path.insert(0, str(Path(__file__).resolve().parent / "peers"))

from _harness import Table, in_fresh_process, options, parser

N_WORDS = 200_000
N_TEST = 5_000
OWN, TAKEN, OTHERS = 10, 2, 8


def made(n_samples, n_labels, seed=0):
    """X as CSR with tf-idf-like weights, and Y."""
    rng = np.random.default_rng(seed)
    drawn = lambda of, shape: np.minimum(of ** rng.random(shape), of - 1).astype(np.int64)  # noqa: E731
    own = drawn(N_WORDS, (n_labels, OWN))
    n_tags = 1 + rng.binomial(4, 0.4, n_samples)
    sample_of_tag = np.repeat(np.arange(n_samples), n_tags)
    # Half of the labels of samples are frequent ones, so that each label has some samples and a few have thousands.
    rare = rng.integers(n_labels, size=len(sample_of_tag))
    tags = np.where(rng.random(len(rare)) < 0.5, rare, drawn(n_labels, rare.shape))
    words = own[tags[:, None], rng.integers(OWN, size=(len(tags), TAKEN))]
    columns = np.concatenate([words.ravel(), drawn(N_WORDS, n_samples * OTHERS)])
    rows = np.concatenate([np.repeat(sample_of_tag, TAKEN), np.repeat(np.arange(n_samples), OTHERS)])
    X = sparse.csr_array(
        (np.ones(len(rows), dtype=np.float32), (rows.astype(np.int32), columns.astype(np.int32))), (n_samples, N_WORDS)
    )
    X.sum_duplicates()
    Y = sparse.csr_array(
        (np.ones(len(tags), dtype=np.int8), (sample_of_tag.astype(np.int32), tags.astype(np.int32))),
        (n_samples, n_labels),
    )
    Y.sum_duplicates()
    Y.data[:] = 1
    return X, Y


def fit(strategy, n_samples, n_labels, threads):
    X, Y = made(n_samples + N_TEST, n_labels)
    before = _peak()
    model = weald.LinearClassifier(strategy=strategy, random_state=0, n_jobs=threads)
    wall, processor = time.perf_counter(), time.process_time()
    model.fit(X[:n_samples], Y[:n_samples])
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    peak = max(before, _peak())
    best, _ = model.predict_topk(X[n_samples:], 1)
    precision = np.mean([Y[n_samples + i, label] for i, label in enumerate(best[:, 0])])
    return wall, processor, peak / 1e9, len(weald.dumps(model)) / 1e6, float(precision)


def _peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    common = parser(__doc__ or "", repeat=1)
    fixed = [f"{n}x100000" for n in (125_000, 250_000, 500_000, 1_000_000)]
    common.add_argument("--settings", nargs="+", default=[*fixed, *(f"250000x{d}" for d in (12_500, 25_000, 50_000))])
    common.add_argument("--strategy", default="tree")
    common.add_argument("--threads", type=int, default=2)
    args = options(common)
    if args.worker:
        print(json.dumps(fit(args.strategy, *map(int, args.worker), args.threads)))
        return
    if args.quick:
        args.settings = ["10000x4000", "20000x4000", "20000x8000"]
    table = Table("case | side | seconds | processor seconds | peak, GB | model, MB | precision at 1", texts=2)
    seconds = {}
    for setting in args.settings:
        n, d = setting.split("x")
        wall, processor, peak, size, precision = in_fresh_process(n, d)
        seconds[int(n), int(d)] = processor
        cells = f"{wall:.1f}", f"{processor:.1f}", f"{peak:.2f}", f"{size:.0f}", f"{precision:.3f}"
        table.row(f"{n} samples, {d} labels", args.strategy, *cells)
    print()
    for what, index in (("samples", 0), ("labels", 1)):
        # Of sizes that differ in this number alone, the largest against the smallest.
        groups = {}
        for size in seconds:
            groups.setdefault(size[1 - index], []).append(size)
        for group in groups.values():
            low, high = min(group), max(group)
            if len(group) > 1:
                power = math.log(seconds[high] / seconds[low]) / math.log(high[index] / low[index])
                print(f"seconds grow by the power {power:.2f} of the number of {what}, {low} to {high}")


if __name__ == "__main__":
    main()
