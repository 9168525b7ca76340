"""How well random projections keep distances, against the number of projections.

A. Joly, Exploiting random projections and sparsity with random forests and gradient boosting methods (Liège, 2016),
chapter 2, figure on distortion: 2 000 samples of a Gaussian distribution in 500 dimensions; q random projections keep
the squared distance of a pair up to a factor 1 ± ε. The published curve has no numbers. The lemma of Johnson and
Lindenstrauss gives q ≥ 8 ε⁻² ln n for all pairs at once.

Here: all pairs, four families of projections as weald draws them. A cell is one matrix Φ; it has the mean of ε over
pairs, the 95th percentile and the greatest. As ‖Φy‖² / ‖y‖² of a Gaussian Φ is a mean of q squares of standard normal
numbers, the mean of ε is close to √(4 / (π q)) for q that are not small.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from _common import Cells, greet, mean_std, options, print_table, write_table
from _pictures import BLUE, GREEN, ORANGE, counts, faint, heading, name_lines, picture
from scipy.spatial.distance import pdist
from weald.projection import GaussianProjection, RademacherProjection, SubsampleProjection

N, D = 2_000, 500
COUNTS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000)
FAMILIES = {
    "gaussian": GaussianProjection(),
    "achlioptas": RademacherProjection("achlioptas"),
    "sparse": RademacherProjection("sqrt"),
    "subsample": SubsampleProjection(),
}
VALUES = ("mean", "percentile_95", "greatest")


@functools.cache
def points(samples: int) -> tuple[np.ndarray, np.ndarray]:
    """The samples and the squared distances of their pairs."""
    y = np.random.default_rng(0).standard_normal((samples, D))
    return y, pdist(y, "sqeuclidean")


def cell(family: str, q: int, samples: int, seed: int) -> dict[str, float]:
    y, before = points(samples)
    phi = FAMILIES[family].draw(D, q, seed)
    # Lengths are preserved on average; a constant factor, which trees do not depend on, is removed.
    phi = phi.toarray() if hasattr(phi, "toarray") else np.asarray(phi)
    phi = phi * np.sqrt(D / (phi**2).sum())
    distortion = np.abs(pdist(y @ phi.T, "sqeuclidean") / before - 1)
    return {
        "mean": float(distortion.mean()),
        "percentile_95": float(np.quantile(distortion, 0.95)),
        "greatest": float(distortion.max()),
    }


def bound(q: np.ndarray, samples: int) -> np.ndarray:
    """The ε of the lemma for q projections."""
    return np.sqrt(8 * np.log(samples) / q)


def plot(rows: list[dict[str, Any]], samples: int, path: Any) -> None:
    def draw(plt: Any) -> Any:
        figure, axis = plt.subplots(figsize=(7, 4))
        mine = [row for row in rows if row["family"] == "gaussian"]
        qs = np.array([row["q"] for row in mine])
        axis.set(xscale="log", yscale="log")
        names = (("largest of all pairs", "greatest", ORANGE), ("95 % of the pairs", "percentile_95", GREEN))
        lines = []
        for name, value, colour in (*names, ("mean of the pairs", "mean", BLUE)):
            (line,) = axis.plot(qs, [row[value] for row in mine], "o-", color=colour)
            lines.append((line, name))
        (line,) = axis.plot(qs, bound(qs, samples), "--", color=faint(plt), linewidth=1)
        lines.append((line, "√(8 ln n ∕ q), the lemma"))
        counts(axis, "x", COUNTS)
        counts(axis, "y", (0.05, 0.1, 0.2, 0.5, 1, 2, 5))
        name_lines(axis, lines)
        axis.set(xlabel="number q of Gaussian projections", ylabel="distortion ε of a squared distance")
        heading(figure, f"Random projections keep distances: {samples} samples in {D} dimensions")
        return figure

    picture(path, draw)


def main() -> None:
    args = options(__doc__.splitlines()[0], repeat=3)
    greet(__doc__.splitlines()[0])
    samples = 200 if args.quick else N
    keys = ("family", "q", "samples", "seed")
    cells = Cells(args.out / "ch2_distortion_cells.csv", keys, VALUES, args.fresh)
    # At most as many outputs as there are can be drawn.
    wanted = [
        (family, q, samples, seed)
        for seed in range(args.repeat)
        for q in (COUNTS[::3] if args.quick else COUNTS)
        for family in FAMILIES
        if args.only in f"{family} {q}" and (family != "subsample" or q <= D)
    ]
    cells.run(wanted, cell, args.n_jobs)
    rows = [
        {"family": family, "q": q, "draws": len(cells.of("mean", family=family, q=q, samples=samples))}
        | {v: mean_std(cells.of(v, family=family, q=q, samples=samples))[0] for v in VALUES}
        | {"lemma": float(bound(np.array(q), samples))}
        for family in FAMILIES
        for q in COUNTS
        if cells.of("mean", family=family, q=q, samples=samples)
    ]
    if rows:
        write_table(args.out / "ch2_distortion.csv", rows)
        print_table(rows)
        plot(rows, samples, args.out / "ch2_distortion.png")


if __name__ == "__main__":
    main()
