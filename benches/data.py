"""The data sets of the benchmarks: what they are, where they come from, and whether a copy holds the same values.

    python benches/data.py list                       # every data set, its source and terms, and whether a copy is here
    python benches/data.py check [NAME ...]           # compares the copies on this machine with the checksums
    python benches/data.py fetch NAME [--folder DIR]  # downloads and converts; --files DIR reads files from DIR instead

A data set is a folder that `weald.datasets.load_npz_folder` reads, inside the folder that `WEALD_DATA` names. The
project distributes none of the data. The terms are those that the source states; if it states none, ask there.

Checksums are computed from values, not from files, so that they hold for any compression and for sparse and dense
storage. The digest of a sample covers the positions and values (float32, little-endian) of its non-zero features,
then those of its outputs. `contents` covers the digests in order, `samples` the same digests sorted within each part,
so that a copy with the same samples in another order can be told from one with other values.
"""

from __future__ import annotations

import argparse
import bz2
import hashlib
import io
import json
import re
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import real_data

TABLE = Path(__file__).resolve().with_name("checksums.json")
NOT_STATED = "not stated"
SECONDS = 120


class Parts(NamedTuple):
    """A data set, not yet in files."""

    X_train: Any
    X_test: Any
    Y_train: Any
    Y_test: Any


# Converts the files of a source, by their names, into parts.
Convert = Callable[[dict[str, bytes], "Shape"], Parts]


@dataclass(frozen=True)
class Shape:
    """The entry of a data set in `checksums.json`."""

    task: str
    n_train: int
    n_test: int
    p: int
    d: int
    sparse: bool
    density: float
    labels_a_sample: float
    n_classes: int
    contents: str
    samples: str


@dataclass(frozen=True)
class Source:
    """The source of a data set, and its conversion to a folder."""

    site: str
    terms: str = NOT_STATED
    urls: tuple[str, ...] = ()
    convert: Convert | None = None
    how: str = ""
    """Of a set that is not fetched: how a reader comes by it."""
    scikit_learn: Callable[[], Parts] | None = None
    """Of a set that one of scikit-learn's fetchers downloads."""


class AbsentError(Exception):
    """A data set is missing and cannot be fetched."""


# ---- conversions


def arff(raw: bytes) -> Any:
    """All attributes of an ARFF file as one matrix: CSR if its samples are sparse (`{i v, j w}`), else an array.

    Categories are numbers if all declared ones are numbers, and otherwise their positions in the declaration. `?` is
    NaN.
    """
    kinds: list[dict[str, float] | None] = []
    samples: list[dict[int, float]] | list[list[float]] = []
    in_data = sparse = False
    for line in io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8", errors="replace"):
        text = line.strip()
        if not text or text.startswith("%"):
            continue
        if not in_data:
            if found := re.match(r"@attribute\s+(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\S+)\s+(.*)", text, re.I):
                kinds.append(_categories(found[1].strip()))
            in_data = text.lower().startswith("@data")
            continue
        sparse = text.startswith("{")
        if sparse:
            cells = (cell.split(None, 1) for cell in text.strip("{} \t").split(",") if cell.strip())
            samples.append({int(i): _value(kinds[int(i)], value) for i, value in cells})  # type: ignore[arg-type]
        else:
            values = text.split(",")
            if len(values) != len(kinds):
                raise ValueError(f"a sample has {len(values)} values, expected one for each of {len(kinds)} attributes")
            samples.append([_value(k, v) for k, v in zip(kinds, values, strict=True)])  # type: ignore[arg-type]
    if not sparse:
        return np.array(samples, dtype=np.float32)
    indptr = np.cumsum([0, *map(len, samples)])
    indices = np.array([i for sample in samples for i in sample], dtype=np.int32)
    values32 = np.array([v for sample in samples for v in sample.values()], dtype=np.float32)  # type: ignore[union-attr]
    return sp.csr_matrix((values32, indices, indptr), shape=(len(samples), len(kinds)))


def _categories(kind: str) -> dict[str, float] | None:
    if not kind.startswith("{"):
        return None
    names = [name.strip().strip("'\"") for name in kind.strip("{} \t").split(",")]
    try:
        return {name: float(name) for name in names}
    except ValueError:
        return {name: float(i) for i, name in enumerate(names)}


def _value(kind: dict[str, float] | None, text: str) -> float:
    text = text.strip().strip("'\"")
    if text == "?":
        return np.nan
    return float(text) if kind is None else kind[text]


def _outputs_last(table: Any, shape: Shape) -> tuple[Any, Any]:
    """X and Y of a table whose last attributes are the outputs."""
    X, Y = table[:, : shape.p], table[:, shape.p :]
    if table.shape[1] != shape.p + shape.d:
        raise ValueError(f"the file has {table.shape[1]} attributes, expected {shape.p} features and {shape.d} outputs")
    X = sp.csr_matrix(X) if shape.sparse else np.asarray(X.toarray() if sp.issparse(X) else X)
    if shape.task == "multilabel":
        return X, sp.csr_matrix(Y)
    return X, np.asarray(Y)


def two_arff(files: dict[str, bytes], shape: Shape) -> Parts:
    """A file with the training part and a file with the test part, in this order."""
    (X, Y), (X_test, Y_test) = (_outputs_last(arff(raw), shape) for raw in files.values())
    return Parts(X, X_test, Y, Y_test)


def seeded_arff(files: dict[str, bytes], shape: Shape) -> Parts:
    """A file without a published split: a random part is the training part, and both parts are in the order of the
    file."""
    (raw,) = files.values()
    X, Y = _outputs_last(arff(raw), shape)
    train, test = seeded_split(shape)
    return Parts(X[train], X[test], Y[train], Y[test])


def seeded_split(shape: Shape) -> tuple[np.ndarray, np.ndarray]:
    order = np.random.RandomState(0).permutation(shape.n_train + shape.n_test)
    return np.sort(order[: shape.n_train]), np.sort(order[shape.n_train :])


def first_arff(files: dict[str, bytes], shape: Shape) -> Parts:
    """A file whose first samples are the training part."""
    (raw,) = files.values()
    X, Y = _outputs_last(arff(raw), shape)
    return Parts(X[: shape.n_train], X[shape.n_train :], Y[: shape.n_train], Y[shape.n_train :])


def svmlight(zero_based: bool) -> Convert:
    """Two files in LIBSVM format; the smaller of two classes becomes 0, the larger one 1."""

    def convert(files: dict[str, bytes], shape: Shape) -> Parts:
        from sklearn.datasets import load_svmlight_file

        (X, y), (X_test, y_test) = (
            load_svmlight_file(io.BytesIO(raw), n_features=shape.p, dtype=np.float32, zero_based=zero_based)
            for raw in files.values()
        )
        if shape.task == "binary":
            least = min(y.min(), y_test.min())
            y, y_test = (y > least).astype(np.float32), (y_test > least).astype(np.float32)
        return Parts(X, X_test, y.astype(np.float32), y_test.astype(np.float32))

    return convert


def comments(files: dict[str, bytes], shape: Shape) -> Parts:
    """GoEmotions: counts of words of at least two comments. The training part includes the development part."""
    from sklearn.feature_extraction.text import CountVectorizer

    train, dev, test = ([line.split("\t") for line in raw.decode().split("\n") if line] for raw in files.values())
    words = CountVectorizer(min_df=2, dtype=np.float32)
    X, X_test = words.fit_transform([text for text, *_ in train + dev]), words.transform([text for text, *_ in test])

    def labels(lines: list[list[str]]) -> sp.csr_matrix:
        found = [[int(label) for label in line[1].split(",")] for line in lines]
        rows = np.repeat(np.arange(len(found)), [len(of) for of in found])
        columns = np.concatenate(found)
        return sp.csr_matrix((np.ones(len(rows), np.float32), (rows, columns)), shape=(len(found), shape.d))

    return Parts(X, X_test, labels(train + dev), labels(test))


def newsgroups() -> Parts:
    """Word counts of whole posts, including headers, footers and quotes."""
    from sklearn.datasets import fetch_20newsgroups
    from sklearn.feature_extraction.text import CountVectorizer

    train, test = (fetch_20newsgroups(subset=subset, shuffle=False) for subset in ("train", "test"))
    words = CountVectorizer(dtype=np.float32)
    X = words.fit_transform(train.data)
    y, y_test = (part.target.astype(np.float32) for part in (train, test))
    return Parts(X, words.transform(test.data), y, y_test)


# ---- the data sets

MULAN = "https://raw.githubusercontent.com/tsoumakas/mulan/master/data"
LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets"
# Copies of two files of Mulan, at a commit that contains them.
PCP = (
    "https://raw.githubusercontent.com/Zhendong-Wang/Probabilistic-Conformal-Prediction/"
    "e6f505beaf07f208cb496f85ac91fd37482677c6/data"
)
AGARICUS = "https://raw.githubusercontent.com/dmlc/xgboost/master/demo/data/agaricus.txt"
EMOTIONS = "https://raw.githubusercontent.com/google-research/google-research/master/goemotions/data"
HIERARCHIES = "repository EGiunchiglia/C-HMCNN on GitHub, folder HMC_data"
HIERARCHICAL = (
    "convert the ARFF files of {files}: one label for each node of the hierarchy below its root, a sample has the "
    "labels that its line names and all their ancestors; the parts for training and validation together are trained on"
)
R_DATA = (
    "load {name} in R with the package mldr.datasets, write its sparse table, and split it by "
    "numpy.random.RandomState(0).permutation(n): the first {n_train} samples are trained on"
)


def _labels(folder: str, stem: str, suffix: str = "") -> Source:
    urls = tuple(f"{MULAN}/multi-label/{folder}/{stem}-{part}{suffix}.arff" for part in ("train", "test"))
    return Source("Mulan", urls=urls, convert=two_arff)


def _targets(name: str) -> Source:
    return Source("Mulan", urls=(f"{MULAN}/multi-target/{name}.arff",), convert=seeded_arff)


SOURCES: dict[str, Source] = {
    "20newsgroup": Source("20 Newsgroups, by scikit-learn's fetch_20newsgroups", scikit_learn=newsgroups),
    "mnist": Source(
        "LIBSVM data sets",
        urls=(f"{LIBSVM}/multiclass/mnist.bz2", f"{LIBSVM}/multiclass/mnist.t.bz2"),
        convert=svmlight(zero_based=False),
    ),
    "a9a": Source(
        "LIBSVM data sets",
        urls=(f"{LIBSVM}/binary/a9a", f"{LIBSVM}/binary/a9a.t"),
        convert=svmlight(zero_based=False),
    ),
    "mushrooms": Source(
        "demonstrations of XGBoost (UCI Mushroom, one feature for each category)",
        urls=(f"{AGARICUS}.train", f"{AGARICUS}.test"),
        convert=svmlight(zero_based=True),
    ),
    **{name: _targets(name) for name in ("atp1d", "edm", "enb", "jura", "oes10", "oes97", "osales", "wq")},
    "rf1": Source("Mulan, from a copy", urls=(f"{PCP}/rf1.arff",), convert=seeded_arff),
    "scm20d": Source("Mulan, from a copy", urls=(f"{PCP}/scm20d.arff",), convert=first_arff),
    **{name: _labels(name, name) for name in ("bibtex", "delicious", "emotions", "medical", "scene")},
    "corel5k": _labels("corel5k", "Corel5k", "-sparse"),
    "CAL500": Source("Mulan", urls=(f"{MULAN}/multi-label/cal500/cal500.arff",), convert=seeded_arff),
    "goemotions": Source(
        "GoEmotions (Google Research)",
        terms="Apache-2.0 (dataset card of google-research-datasets/go_emotions on Hugging Face)",
        urls=tuple(f"{EMOTIONS}/{part}.tsv" for part in ("train", "dev", "test")),
        convert=comments,
    ),
    "diatoms": Source(HIERARCHIES, "see LICENSE of that repository", how=HIERARCHICAL.format(files="others/Diatoms")),
    "eisen_go": Source(
        HIERARCHIES, "see LICENSE of that repository", how=HIERARCHICAL.format(files="datasets_GO/eisen_GO")
    ),
    "seq_go": Source(
        HIERARCHIES, "see LICENSE of that repository", how=HIERARCHICAL.format(files="datasets_GO/seq_GO")
    ),
    "rcv1sub1": Source("repository fcharte/mldr.datasets on GitHub", how=R_DATA.format(name="rcv1sub1", n_train=3000)),
    "yahoo_arts": Source(
        "repository fcharte/mldr.datasets on GitHub", how=R_DATA.format(name="yahoo_arts", n_train=4989)
    ),
    "reuters21578_r90": Source(
        "Reuters-21578, Distribution 1.0",
        terms="copyright of Reuters Ltd; free distribution for research purposes only (its README)",
        how="split it by ModApte, count words of titles and bodies with scikit-learn's CountVectorizer(min_df=2), and "
        "keep the 90 topics that both parts have",
    ),
    "finna_en": Source(
        "corpora of Annif: subjects/yso-finna-en, English titles of the Finna catalogue with subjects of YSO",
        how="draw 24 000 titles for training and 6 000 for testing, and make sublinear tf-idf of their words and pairs of "
        "words, fitted to the part for training",
    ),
    "finna_en_large": Source(
        "as finna_en",
        how="draw 300 000 titles for training and 30 000 for testing, and make sublinear tf-idf of their words with three "
        "digits, fitted to the part for training",
    ),
    "mediamill_sample": Source(
        "MediaMill challenge",
        how="nothing can be done: it is a union of random samples (4 386 of 43 907) that no single source holds",
    ),
}


def shapes() -> dict[str, Shape]:
    return {name: Shape(**row) for name, row in json.loads(TABLE.read_text()).items()}


def known(name: str) -> Source:
    if name not in SOURCES:
        raise AbsentError(f"{name!r} is not a data set of the benchmarks; these are: {', '.join(sorted(SOURCES))}")
    return SOURCES[name]


# ---- checksums


def sample_digests(X: Any, Y: Any) -> list[bytes]:
    """For each sample, a digest of its features and outputs."""
    columns = []
    for part in (X, Y):
        matrix = sp.csr_matrix(np.asarray(part).reshape(len(part), -1) if isinstance(part, np.ndarray) else part)
        matrix = matrix.astype(np.float32)
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        # All NaN have the same bits here, which may differ between sources.
        values = np.where(np.isnan(matrix.data), np.float32(np.nan), matrix.data).astype("<f4")
        columns.append((matrix.indptr, matrix.indices.astype("<i4"), values))
    digests = []
    for i in range(len(columns[0][0]) - 1):
        digest = hashlib.sha256()
        for indptr, indices, values in columns:
            entries = slice(indptr[i], indptr[i + 1])
            digest.update(np.array([indptr[i + 1] - indptr[i]], "<i4").tobytes())
            digest.update(indices[entries].tobytes())
            digest.update(values[entries].tobytes())
        digests.append(digest.digest())
    return digests


def checksums(parts: Parts) -> tuple[str, str]:
    """`contents` and `samples` of a data set."""
    train, test = sample_digests(parts.X_train, parts.Y_train), sample_digests(parts.X_test, parts.Y_test)
    n_outputs = 1 if len(parts.Y_train.shape) == 1 else parts.Y_train.shape[1]
    head = f"{len(train)} {len(test)} {parts.X_train.shape[1]} {n_outputs}\n".encode()

    def digest(parts: list[list[bytes]]) -> str:
        return hashlib.sha256(head + b"".join(b"".join(part) for part in parts)).hexdigest()

    return digest([train, test]), digest([sorted(train), sorted(test)])


def verdict(parts: Parts, shape: Shape) -> str:
    """`same`, `same samples in another order`, or `other values`."""
    contents, samples = checksums(parts)
    if contents == shape.contents:
        return "same"
    return "same samples in another order" if samples == shape.samples else "other values"


def describe(parts: Parts, task: str) -> Shape:
    """The row of `checksums.json` of a data set."""
    X, Y = parts.X_train, parts.Y_train
    stored = sum(m.count_nonzero() if sp.issparse(m) else np.count_nonzero(m) for m in (X, parts.X_test))
    n = X.shape[0] + parts.X_test.shape[0]
    labels = (Y.sum() + parts.Y_test.sum()) / n if task == "multilabel" else 0.0
    d = 1 if len(Y.shape) == 1 else Y.shape[1]
    density = round(float(stored / (n * X.shape[1])), 6)
    n_classes = len(np.unique(Y)) if task in ("binary", "multiclass") else 0
    rest = (X.shape[1], d, bool(sp.issparse(X)), density, round(float(labels), 4), n_classes)
    return Shape(task, X.shape[0], parts.X_test.shape[0], *rest, *checksums(parts))


# ---- fetching


def download(url: str, files: Path | None) -> bytes:
    """The bytes of an address, or of the file of that name in `files`, decompressed if the name ends in .bz2."""
    name = url.rsplit("/", 1)[1]
    if files is not None:
        if not (files / name).is_file():
            raise AbsentError(f"no file {name} in {files}; it is at {url}")
        raw = (files / name).read_bytes()
    else:
        try:
            with urllib.request.urlopen(url, timeout=SECONDS) as answer:
                raw = answer.read()
        except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
            raise AbsentError(f"{url} cannot be read ({error}); get {name} elsewhere and use --files FOLDER") from error
    return bz2.decompress(raw) if name.endswith(".bz2") else raw


def fetch(name: str, folder: Path, files: Path | None = None) -> str:
    """Downloads a data set, converts it to `folder`/`name`, and prints how it compares with the checksums."""
    source, shape = known(name), shapes()[name]
    if source.scikit_learn is not None:
        try:
            parts = source.scikit_learn()
        except OSError as error:
            raise AbsentError(f"{name}: scikit-learn's fetcher failed ({error})") from error
    elif source.convert is not None:
        parts = source.convert({url: download(url, files) for url in source.urls}, shape)
    else:
        raise AbsentError(f"{name} is not fetched; it is of: {source.site}. To have it, {source.how}")
    found = verdict(parts, shape)
    target = folder / name
    target.mkdir(parents=True, exist_ok=True)
    for part, array in parts._asdict().items():
        if sp.issparse(array):
            sp.save_npz(target / f"{part}.npz", sp.csr_matrix(array, dtype=np.float32))
        else:
            np.savez_compressed(target / f"{part}.npz", a=np.asarray(array, dtype=np.float32))
    meta = {"name": name, "task": shape.task, "source": source.site, "terms": source.terms, "urls": source.urls}
    meta |= {"checksum": found, "n_train": shape.n_train, "n_test": shape.n_test, "p": shape.p, "d": shape.d}
    # Last, since a folder without this file counts as missing.
    (target / "meta.json").write_text(json.dumps(meta, indent=1))
    return found


def copy_at_hand(name: str) -> Parts:
    from weald.datasets import load_npz_folder

    return Parts(*load_npz_folder(real_data.root() / name)[:4])


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list")
    commands.add_parser("check").add_argument("names", nargs="*")
    fetching = commands.add_parser("fetch")
    fetching.add_argument("names", nargs="+", metavar="NAME", help="or `all`: all that can be fetched")
    fetching.add_argument("--folder", type=Path, default=None, help="where to put them (WEALD_DATA)")
    fetching.add_argument("--files", type=Path, help="a folder of files already downloaded, by their names")
    options = parser.parse_args(arguments)
    table = shapes()
    failed = 0
    if options.command == "list":
        for name, source in sorted(SOURCES.items()):
            shape, here = table[name], "at hand" if real_data.missing(name) is None else "absent"
            how = "fetched" if source.urls or source.scikit_learn else "by hand"
            size = f"{shape.n_train} + {shape.n_test} samples, {shape.p} features, {shape.d} outputs"
            print(
                f"{name:17s} {here:8s} {how:8s} {shape.task:10s} {size}\n{'':17s} {source.site}; terms: {source.terms}"
            )
    elif options.command == "check":
        for name in options.names or sorted(SOURCES):
            try:
                known(name)
            except AbsentError as error:
                print(error, file=sys.stderr)
                failed += 1
                continue
            if reason := real_data.missing(name):
                failed += bool(options.names)
                print(f"{name:17s} absent: {reason}")
                continue
            found = verdict(copy_at_hand(name), table[name])
            failed += found == "other values"
            print(f"{name:17s} {found}", flush=True)
    else:
        folder = options.folder or real_data.root()
        wanted = options.names
        if wanted == ["all"]:
            wanted = [name for name, source in SOURCES.items() if source.urls or source.scikit_learn]
        for name in wanted:
            try:
                found = fetch(name, folder, options.files)
            except (AbsentError, ValueError) as error:
                print(f"{name}: {error}", file=sys.stderr)
                failed += 1
                continue
            print(f"{name}: {folder / name}, {found}", flush=True)
            failed += found == "other values"
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
