"""What boosting with samples on several workers sends in a stage: counted in `all_reduce`, on the shape of delicious.

One worker with all samples sends what each of many workers sends: the buffers do not grow with the number of samples.
The stages after the first are counted, and separately the bins before it. A second table has the bytes for each bin of
histograms of one target, which depend on the bits of weights and targets.
"""

import argparse

import numpy as np
import weald
from scipy import sparse

N_FEATURES, N_LABELS = 500, 983


class Counter:
    def __init__(self):
        self.n_bytes = self.n_calls = 0
        self.sizes = []

    def __call__(self, buffer, op):
        self.n_bytes += buffer.nbytes
        self.n_calls += 1
        self.sizes.append(buffer.nbytes)


def sent(X, Y, n_stages, **parameters):
    counter = Counter()
    model = weald.GradientBoostingClassifier(n_estimators=n_stages, max_features=None, random_state=0, **parameters)
    weald.distribute.fit_part(model, X, Y, counter, n_samples=X.shape[0])
    return np.array([counter.n_bytes, counter.n_calls])


def bytes_of_a_bin(estimator, X, y):
    """The mean over the histograms of two stages: the buffers that have as many values as there are bins."""
    sizes = []
    for n_stages in (1, 3):
        counter = Counter()
        model = estimator(n_estimators=n_stages, max_leaf_nodes=31, random_state=0)
        weald.distribute.fit_part(model, X, y, counter, n_samples=len(X))
        sizes.append(counter.sizes)
    n_bins = 255 * X.shape[1]
    # A number that is the same for all workers is sent with each buffer.
    found = [size - 8 for size in sizes[1][len(sizes[0]) :] if size > 8 * n_bins]
    return np.mean(found) / n_bins


def print_bytes_of_bins(n_samples):
    rng = np.random.default_rng(0)
    print("| samples | numbers, bytes a bin | two classes |")
    print("|---|---|---|")
    for n in n_samples:
        X = rng.normal(size=(n, 10)).astype(np.float32)
        numbers = X[:, 0] + X[:, 1] * X[:, 2] + np.abs(X[:, 3]) + rng.normal(size=n)
        of_numbers = bytes_of_a_bin(weald.GradientBoostingRegressor, X, numbers)
        of_classes = bytes_of_a_bin(weald.GradientBoostingClassifier, X, numbers > 1)
        print(f"| {n} | {of_numbers:.1f} | {of_classes:.1f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer samples")
    is_quick = parser.parse_args().quick
    n = 500 if is_quick else 4000
    rng = np.random.default_rng(0)
    # Binary words, as in delicious; and the same with 255 bins each.
    words = (rng.random((n, N_FEATURES)) < 0.04).astype(np.float32)
    numbers = rng.normal(size=(n, N_FEATURES)).astype(np.float32)
    factors = words @ rng.normal(size=(N_FEATURES, 20)) @ rng.normal(size=(20, N_LABELS))
    Y = sparse.csr_matrix((factors > np.quantile(factors, 0.98)).astype(int))
    print("| X | strategy | MB a stage | calls a stage | MB before |")
    print("|---|---|---|---|---|")
    for name, X in [("0 and 1, sparse", sparse.csr_array(words)), ("255 bins", numbers)]:
        for strategy, parameters in [
            ("projected, relabelled", {"output_strategy": "projected"}),
            ("projected", {"output_strategy": "projected", "loss": "squared_error", "relabel_leaves": False}),
            ("joint", {"output_strategy": "joint"}),
        ]:
            if strategy == "joint" and name == "255 bins":
                continue  # a histogram of 1 GB for each node
            one, three = sent(X, Y, 1, **parameters), sent(X, Y, 3, **parameters)
            stage = (three - one) / 2
            before = (one - stage)[0]
            print(f"| {name} | {strategy} | {stage[0] / 1e6:.1f} | {stage[1]:.0f} | {max(before, 0) / 1e6:.1f} |")
    print()
    print_bytes_of_bins([4000] if is_quick else [4_000, 100_000, 1_000_000])


if __name__ == "__main__":
    main()
