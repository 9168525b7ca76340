"""Files of label data against slow readers that are obviously correct, and against scikit-learn's and scipy's."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
from fractions import Fraction

import numpy as np
import pytest
import real_data
import weald
from hypothesis import assume, example, given
from hypothesis import strategies as st
from scipy import sparse
from scipy.io import arff
from sklearn.datasets import dump_svmlight_file, load_svmlight_file
from weald.datasets import dump_xmc, load_mulan, load_npz_folder, load_svmlight_multilabel, load_xmc

# ---- slow twins

LARGEST = Fraction(float(np.finfo(np.float32).max))
# From this bound on, a number rounds to infinity: it lies halfway between the largest float32 and the next power of
# two.
BEYOND = LARGEST + Fraction(2) ** 103


class RefusedError(Exception):
    """Raised by the slow readers for a text that is not a valid file."""


def nearest(text: str) -> np.float32:
    """The float32 that is nearest to a decimal number; of two equally near ones, the one whose last bit is even."""
    if re.fullmatch(r"[-+]?nan", text, re.IGNORECASE):
        return np.float32(np.nan)
    if not re.fullmatch(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[-+]?[0-9]+)?", text, re.IGNORECASE):
        raise RefusedError(text)
    about = float(text)
    if abs(about) > 1e40:
        raise RefusedError(text)
    if abs(about) < 1e-60:
        return np.float32(-0.0 if text.startswith("-") else 0.0)
    exact = Fraction(text)
    if abs(exact) >= BEYOND:
        raise RefusedError(text)
    guess = np.clip(np.float64(about), -float(LARGEST), float(LARGEST)).astype(np.float32)
    # The upper neighbour of the largest float32 is infinity, which is removed below.
    with np.errstate(over="ignore"):
        candidates = [guess, np.nextafter(guess, np.float32(np.inf)), np.nextafter(guess, np.float32(-np.inf))]
    candidates = [number for number in candidates if np.isfinite(number)]
    best = min(candidates, key=lambda number: (abs(Fraction(float(number)) - exact), number.view(np.uint32) & 1))
    return np.copysign(best, np.float32(about))


def lines_of(text: bytes) -> list[str]:
    found = text.decode("latin-1").removeprefix("\xef\xbb\xbf").split("\n")
    if found[-1] == "":
        found.pop()
    return [line.removesuffix("\r") for line in found]


def index(text: str, limit: int) -> int:
    if not re.fullmatch("[0-9]{1,19}", text) or int(text) >= limit:
        raise RefusedError(text)
    return int(text)


def words_of(text: str) -> list[str]:
    return [word for word in re.split("[ \t]", text) if word]


def sample(words, n_features: int, n_labels: int, *, blank: bool = False, query: bool = False) -> tuple[list, dict]:
    labels = []
    if words and ":" not in words[0] and not blank:
        labels = [index(label, n_labels) for label in words.pop(0).split(",")]
    if query and words and words[0].startswith("qid:"):
        words.pop(0)
    entries = {}
    for word in words:
        feature, colon, value = word.partition(":")
        if not colon or (found := index(feature, n_features)) in entries:
            raise RefusedError(word)
        entries[found] = nearest(value)
    if len(set(labels)) < len(labels):
        raise RefusedError(labels)
    return sorted(labels), dict(sorted(entries.items()))


NO_LIMIT = 2**32 - 1


def twin_of_xmc(text: bytes) -> tuple[list, int, int]:
    """The samples, the number of features and the number of labels of an XMC file."""
    lines = lines_of(text)
    header = words_of(lines[0]) if lines else []
    if len(header) != 3:
        raise RefusedError(header)
    n_samples = index(header[0], 10**19)
    n_features, n_labels = (index(count, 2**32) for count in header[1:])
    if len(lines) - 1 < n_samples or any(words_of(line) for line in lines[1 + n_samples :]):
        raise RefusedError(lines)
    samples = [
        sample(words_of(line), n_features, n_labels, blank=line.startswith((" ", "\t")))
        for line in lines[1 : 1 + n_samples]
    ]
    return samples, n_features, n_labels


def twin_of_svmlight(text: bytes, zero_based: bool | str) -> tuple[list, int, int]:
    told = [words for line in lines_of(text) if (words := words_of(line.partition("#")[0]))]
    samples = [sample(words, NO_LIMIT, NO_LIMIT, query=True) for words in told]
    features = [feature for _, entries in samples for feature in entries]
    if zero_based is False and 0 in features:
        raise RefusedError("zero")
    offset = int(zero_based is False or (zero_based == "auto" and 0 not in features and bool(features)))
    samples = [(labels, {f - offset: value for f, value in entries.items()}) for labels, entries in samples]
    n_labels = max((label + 1 for labels, _ in samples for label in labels), default=0)
    return samples, max((f - offset + 1 for f in features), default=0), n_labels


def check_same(found, samples, n_features, n_labels):
    X, Y = found
    assert X.shape == (len(samples), n_features)
    assert Y.shape == (len(samples), n_labels)
    assert X.dtype == Y.dtype == np.float32
    X.check_format()
    Y.check_format()
    assert X.has_canonical_format
    assert (Y.data == 1).all()
    for i, (labels, entries) in enumerate(samples):
        assert Y.indices[Y.indptr[i] : Y.indptr[i + 1]].tolist() == labels
        row = slice(X.indptr[i], X.indptr[i + 1])
        assert X.indices[row].tolist() == list(entries)
        check_bits(X.data[row], np.array(list(entries.values()), dtype=np.float32))


def check_bits(found, expected):
    """Checks that both arrays have the same bits, except that any NaN equals any other NaN."""
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    known = ~np.isnan(expected)
    np.testing.assert_array_equal(found[known].view(np.uint32), expected[known].view(np.uint32))


def check_like(read, twin):
    try:
        expected = twin()
    except RefusedError:
        with pytest.raises(ValueError, match=r"^line \d+: .*, expected "):
            read()
    else:
        check_same(read(), *expected)


PIECES = ["\n", "\n\t,:1", "0", "2", "9", "1:1", "0,1", "3:2.5", ".", "-", "+", "e", "nan", "inf", "Infinity", "\r\n"]
PIECES += ["#", "qid:", "qid:3", "1_0", "0x1", "a", "\0", "\xe9", "4294967295", "4294967294", "1e-46", "1e39"]
PIECES += ["3.4028236e38", "16777217", "00"]
TEXTS = st.lists(st.sampled_from([*PIECES, " ", " ", "\n", "1:1 ", "2:3 ", "1 ", "0,2 "]), max_size=25).map("".join)


@given(st.sampled_from(["", "2 9 9\n", "1 4 3\n", "0 0 0\n", "3 4294967295 4294967295\n"]), TEXTS)
def test_xmc_is_read_as_its_twin_reads_it(header, text):
    text = (header + text).encode("latin-1")
    check_like(lambda: load_xmc(text), lambda: twin_of_xmc(text))


@given(TEXTS, st.sampled_from([True, False, "auto"]))
def test_svmlight_is_read_as_its_twin_reads_it(text, zero_based):
    text = text.encode("latin-1")
    read = lambda: load_svmlight_multilabel(text, zero_based=zero_based)  # noqa: E731
    check_like(read, lambda: twin_of_svmlight(text, zero_based))


DECIMALS = st.one_of(
    st.from_regex(r"\A-?[0-9]{1,12}\.[0-9]{0,12}\Z"),
    st.from_regex(r"\A[0-9]{1,20}(e-?[0-9]{1,2})?\Z"),
    st.floats(width=32).map(str),
    st.floats().map(str),
    # Numbers halfway between two float32 values, and numbers close to the halfway point.
    st.integers(2**24, 2**25).flatmap(
        lambda m: st.sampled_from([f"{2 * m + 1}", f"{2 * m + 1}.0000000001", f"{2 * m}.9"])
    ),
)


@given(DECIMALS)
@example("3.4028234663852886e+38")  # the largest float32
@example("-3.4028234663852886e+38")
def test_values_are_the_nearest_float32(text):
    line = f"1 1 0\n 0:{text}\n".encode()
    try:
        expected = nearest(text)
    except RefusedError:
        with pytest.raises(
            ValueError, match=r"line 2: the value '.*' of the feature 0, expected a number that float32"
        ):
            load_xmc(line)
    else:
        check_bits(load_xmc(line).X.data, np.array([expected]))


# ---- round trips

VALUES = st.one_of(
    st.floats(width=32, allow_infinity=False), st.sampled_from([0.0, -0.0, 1.0, 0.5, 1e-45, 3.4028235e38])
)


@st.composite
def matrices(draw):
    n, p, d = draw(st.tuples(st.integers(0, 6), st.integers(1, 8), st.integers(1, 5)))
    places = draw(st.lists(st.tuples(st.integers(0, max(n - 1, 0)), st.integers(0, p - 1)), unique=True)) if n else []
    values = [draw(VALUES) for _ in places]
    X = sparse.csr_array((np.array(values, np.float32), ([i for i, _ in places], [j for _, j in places])), shape=(n, p))
    Y = sparse.csr_array(np.array(draw(st.lists(st.booleans(), min_size=n * d, max_size=n * d))).reshape(n, d))
    return X, Y


def check_equal(found, X, Y):
    check_same(
        found,
        [
            (
                Y.indices[Y.indptr[i] : Y.indptr[i + 1]].tolist(),
                dict(zip(X.indices[row := slice(X.indptr[i], X.indptr[i + 1])].tolist(), X.data[row], strict=True)),
            )
            for i in range(X.shape[0])
        ],
        X.shape[1],
        Y.shape[1],
    )


@given(matrices())
def test_what_is_dumped_is_loaded_again(data):
    X, Y = data
    file = io.BytesIO()
    dump_xmc(X, Y, file)
    check_equal(load_xmc(file.getvalue()), X, Y)
    again = io.BytesIO()
    dump_xmc(*load_xmc(file.getvalue()), again)
    assert again.getvalue() == file.getvalue()


@pytest.mark.parametrize("form", [sparse.csc_array, sparse.coo_array, sparse.csr_matrix, lambda m: m.toarray()])
def test_every_form_of_x_and_y_is_dumped_alike(form):
    rng = np.random.default_rng(0)
    X = sparse.random_array((9, 7), density=0.4, random_state=rng, format="csr")
    Y = sparse.csr_array(rng.random((9, 5)) < 0.4)
    expected, found = io.BytesIO(), io.BytesIO()
    dump_xmc(X, Y, expected)
    dump_xmc(form(X), form(Y.astype(np.int64)), found)
    assert found.getvalue() == expected.getvalue()
    check_equal(load_xmc(found.getvalue()), X.astype(np.float32), Y)


NAMES = ("bibtex", "delicious", "rcv1sub1", "emotions", "mediamill_sample", "corel5k")


@pytest.mark.parametrize("name", NAMES)
def test_real_data_are_the_same_after_a_file(name, tmp_path):
    if reason := real_data.missing(name):
        pytest.skip(reason)
    split = load_npz_folder(real_data.root() / name)
    for X, Y in ((split.X_train, split.Y_train), (split.X_test, split.Y_test)):
        dump_xmc(X, Y, tmp_path / "data.txt")
        X, Y = (sparse.csr_array(part) for part in (X, Y))
        for part in (X, Y):
            part.sum_duplicates()
        Y.eliminate_zeros()
        found = load_xmc(tmp_path / "data.txt")
        assert (found.X.shape, found.Y.shape) == (X.shape, Y.shape)
        np.testing.assert_array_equal(found.X.indptr, X.indptr)
        np.testing.assert_array_equal(found.X.indices, X.indices)
        np.testing.assert_array_equal(found.X.data, X.data)
        np.testing.assert_array_equal(found.Y.indptr, Y.indptr)
        np.testing.assert_array_equal(found.Y.indices, Y.indices)


@pytest.mark.parametrize("zero_based", [True, False])
def test_svmlight_files_of_scikit_learn_are_read_as_it_reads_them(zero_based, tmp_path):
    rng = np.random.default_rng(0)
    # X is float32 from the start: values that scikit-learn writes in float64 would be rounded twice on its side.
    # From a dense array: SciPy before 1.13 draws 64-bit indices, which scikit-learn's writer does not support.
    X = sparse.csr_array(sparse.random_array((60, 30), density=0.2, random_state=rng, dtype=np.float32).toarray())
    Y = sparse.csr_array(rng.random((60, 8)) < 0.2)
    dump_svmlight_file(X, Y, str(tmp_path / "data"), multilabel=True, zero_based=zero_based, comment="from nowhere")
    theirs, tuples = load_svmlight_file(str(tmp_path / "data"), n_features=30, multilabel=True, zero_based=zero_based)
    ours = load_svmlight_multilabel(tmp_path / "data", n_features=30, n_labels=8, zero_based=zero_based)
    np.testing.assert_array_equal(ours.X.toarray(), theirs.toarray().astype(np.float32))
    labels = [tuple(np.flatnonzero(row).astype(float)) for row in ours.Y.toarray()]
    assert labels == tuples
    by_itself = load_svmlight_multilabel(tmp_path / "data")
    assert (by_itself.X[:, :29] != ours.X[:, :29]).nnz == 0


# ---- files

TEXT = b"2 4 3\n0,2 1:0.5 3:2\n 0:1\n"


@pytest.mark.parametrize(
    ("end", "compress"), [("", bytes), (".gz", gzip.compress), (".BZ2", bz2.compress), (".xz", lzma.compress)]
)
def test_files_are_opened_by_their_names(end, compress, tmp_path):
    path = tmp_path / f"data.txt{end}"
    path.write_bytes(compress(TEXT))
    expected = load_xmc(TEXT)
    with path.open("rb") as file:
        opened = [load_xmc(path), load_xmc(str(path))]
        if not end:
            opened += [
                load_xmc(file),
                load_xmc(bytearray(TEXT)),
                load_xmc(memoryview(TEXT)),
                load_xmc(io.BytesIO(TEXT)),
            ]
    for found in opened:
        check_equal(found, *expected)
    dump_xmc(*expected, tmp_path / f"again{end}")
    check_equal(load_xmc(tmp_path / f"again{end}"), *expected)
    if end:
        assert (tmp_path / f"again{end}").read_bytes()[:2] == path.read_bytes()[:2] != TEXT[:2]
        path.write_bytes(compress(TEXT)[:-9])
        with pytest.raises(ValueError, match=r"data\.txt.* cannot be decompressed: "):
            load_xmc(path)
        path.write_bytes(b"nothing of the kind")
        with pytest.raises(ValueError, match=r"data\.txt.* cannot be decompressed: "):
            load_xmc(path)


def test_what_is_no_file_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="absent"):
        load_xmc(tmp_path / "absent")
    with pytest.raises(TypeError, match="path_or_buffer must be a path, bytes or a file object, got a list"):
        load_xmc([1])
    with pytest.raises(TypeError, match=r"path_or_buffer must be opened in binary mode, but read\(\) returned str"):
        load_xmc(io.StringIO("1 1 1\n"))
    with pytest.raises(TypeError, match="path_or_buffer must be a path or a file object, got a int"):
        dump_xmc([[1.0]], [[1]], 7)
    (tmp_path / "data.txt").write_text("1 1 1\n0 1:1\n")
    with pytest.raises(ValueError, match=r"data\.txt: line 2: the feature '1', expected a whole number from 0 to 0"):
        load_xmc(tmp_path / "data.txt")


def test_counts_of_the_header_cost_nothing():
    with pytest.raises(ValueError, match=r"line 3: the end of the file after 1 samples, expected 1000000000000000000,"):
        load_xmc(b"1000000000000000000 4294967295 4294967295\n0 0:1\n")
    X, Y = load_xmc(b"1 4294967295 4294967295\n4294967294 4294967294:1\n")
    assert X.shape == Y.shape == (1, 2**32 - 1)
    assert X.indices.tolist() == Y.indices.tolist() == [2**32 - 2]


@pytest.mark.parametrize(
    ("X", "Y", "message"),
    [
        ([[np.inf]], [[1]], "X must have finite values or NaN, got inf at sample 0, feature 0"),
        (sparse.csr_array([[0, -1e300]]), [[1]], "X must have finite values or NaN, got -inf at sample 0, feature 1"),
        ([[1.0]], [[2]], "Y must have the values 0 and 1 for labels, got 2"),
        ([[1.0]], [[1], [0]], "X has 1 rows, Y has 2"),
        ([[1.0]], sparse.csr_array([[2]]), "must have the values 0 and 1 for labels, got 2"),
    ],
)
def test_what_is_no_label_data_is_not_dumped(X, Y, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        dump_xmc(X, Y, tmp_path / "data.txt")
    assert not (tmp_path / "data.txt").exists()


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"n_features": -1}, ValueError),
        ({"n_labels": 2.5}, ValueError),
        ({"n_labels": True}, ValueError),
        ({"n_features": 2**32}, ValueError),
        ({"zero_based": "yes"}, ValueError),
        ({"zero_based": None}, TypeError),
    ],
)
def test_parameters_that_make_no_sense_are_named(wrong, error):
    with pytest.raises(error, match=rf"{next(iter(wrong))} must be .*got "):
        load_svmlight_multilabel(b"1 1:1\n", **wrong)


def test_columns_that_are_reported_are_those_of_x_and_y():
    X, Y = load_svmlight_multilabel(b"1 1:1 3:2\n", n_features=5, n_labels=4)
    assert X.toarray().tolist() == [[1, 0, 2, 0, 0]]
    assert Y.toarray().tolist() == [[0, 1, 0, 0]]
    with pytest.raises(ValueError, match="line 1: the feature 3, expected one of 2 features, counted from 1"):
        load_svmlight_multilabel(b"1 1:1 3:2\n", n_features=2)
    with pytest.raises(ValueError, match="line 1: the label '1', expected a whole number from 0 to 0"):
        load_svmlight_multilabel(b"1 1:1 3:2\n", n_labels=1)


# ---- Mulan

XML = b'<?xml version="1.0" encoding="utf-8"?>\n<labels xmlns="http://mulan.sourceforge.net/labels">%s</labels>'


def quoted(name: str) -> str:
    """The name in quotes, with the same escape sequences as in Weka."""
    inside = re.sub(r"([\\'\"%])", r"\\\1", name)
    return "'" + inside.replace("\n", r"\n").replace("\r", r"\r").replace("\t", r"\t") + "'"


def named(names) -> bytes:
    from xml.sax.saxutils import quoteattr

    entities = {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}
    return XML % "".join(f"<label name={quoteattr(name, entities)}></label>" for name in names).encode()


NAME = st.one_of(
    st.text(st.sampled_from("ab %,'\"{}\\?u0041:\n\t\r\xe9\u20ac"), min_size=1, max_size=6),
    st.sampled_from(["?", "@data", "%"]),
)
LABEL_KINDS = ["numeric", "{0,1}", "{1, 0}", "{ '0' , \"1\" }", "INTEGER", "{1}", "{0}"]


@st.composite
def mulan_files(draw):
    """The text of a file, its attributes, the values of its samples, and whether it is sparse."""
    is_sparse = draw(st.booleans())
    names = draw(st.lists(NAME, min_size=1, max_size=6, unique=True))
    kinds = [draw(st.sampled_from(["label", "label", "real", "Numeric", "nominal"])) for _ in names]
    header, columns = [f"@{draw(st.sampled_from(['relation', 'RELATION']))} 'a relation'", "% comment", ""], []
    for name, kind in zip(names, kinds, strict=True):
        if kind == "nominal":
            categories = draw(st.lists(NAME, min_size=1, max_size=4, unique=True))
            told = "{" + draw(st.sampled_from([",", " , "])).join(map(quoted, categories)) + "}"
        else:
            categories = None
            usable = [k for k in LABEL_KINDS if not (is_sparse and k.startswith("{1"))]
            told = draw(st.sampled_from(usable)) if kind == "label" else kind
        columns.append((name, kind, categories, told))
        header.append(f"@{draw(st.sampled_from(['attribute', 'Attribute']))} {quoted(name)}\t{told}")
    rows, lines = [], ["@data"]
    for _ in range(draw(st.integers(0, 4))):
        values, told = [], []
        for j, (_, kind, categories, of_label) in enumerate(columns):
            if kind == "label":
                values.append({"{1}": 1, "{0}": 0}.get(of_label, draw(st.integers(0, 1))))
                text = str(values[-1])
            elif draw(st.integers(0, 5)) == 0:
                values.append(np.nan)
                text = "?"
            elif kind == "nominal":
                values.append(draw(st.integers(0, len(categories) - 1)))
                text = quoted(categories[values[-1]])
            else:
                values.append(draw(st.integers(-9, 9)) / 4)
                text = repr(values[-1])
            if not is_sparse or values[-1] != 0 or draw(st.booleans()):
                told.append(f"{j} {text}" if is_sparse else text)
        rows.append(values)
        if is_sparse:
            told = draw(st.permutations(told))
        line = draw(st.sampled_from([",", ", "])).join(told)
        lines.append(f"{{{line}}}" if is_sparse else line)
    end = draw(st.sampled_from(["\n", "\r\n"]))
    return end.join(header + lines).encode(), columns, rows, is_sparse


@given(mulan_files())
def test_mulan_files_hold_what_was_put_into_them(data):
    text, columns, rows, is_sparse = data
    labels = [name for name, kind, *_ in columns if kind == "label"]
    if not labels:
        with pytest.raises(ValueError, match=r"xml_path must have at least one <label name=\.\.\.>, got none"):
            load_mulan(text, named(labels))
        return
    found = load_mulan(text, named(reversed(labels)))
    assert found.label_names == labels
    assert found.feature_names == [name for name, kind, *_ in columns if kind != "label"]
    assert found.categories == {name: categories for name, _, categories, _ in columns if categories is not None}
    whole = np.array(rows, dtype=np.float32).reshape(len(rows), len(columns))
    is_label = np.array([kind == "label" for _, kind, *_ in columns])
    assert sparse.issparse(found.X) == (is_sparse and len(rows) > 0)
    X = found.X.toarray() if sparse.issparse(found.X) else found.X
    assert X.dtype == np.float32
    np.testing.assert_array_equal(X, whole[:, ~is_label])
    np.testing.assert_array_equal(found.Y.toarray(), whole[:, is_label])


# What may stand behind the text of a line, with percent signs, quotes, commas and braces.
ENDINGS = ["", " % told", "\t%", " %it's {5}", ' % , "a" } {3}, {', "   % 50 % of 'all'"]


@given(mulan_files(), st.data())
def test_comments_and_weights_are_taken_out_of_any_file(data, more):
    text, columns, *_ = data
    labels = [name for name, kind, *_ in columns if kind == "label"]
    assume(labels)
    plain = load_mulan(text, named(labels))
    assert plain.sample_weight is None
    end = b"\r\n" if b"\r\n" in text else b"\n"
    lines, weights, is_row = [], [], False
    for line in text.split(end):
        comment = more.draw(st.sampled_from(ENDINGS)).encode()
        if is_row:
            weight = more.draw(st.sampled_from([None, 0.0, 0.25, 3.0, 1e-3]))
            weights.append(1.0 if weight is None else weight)
            if weight is not None:
                comma = more.draw(st.sampled_from([b", ", b",", b" ", b"\t,\t"]))
                line += comma + f"{{{weight!r}}}".encode() if more.draw(st.booleans()) else comma + b"{ %r }" % weight
                is_given = True
        if line.strip().lower() == b"@data":
            is_row, is_given = True, False
        lines.append(line + comment if line.strip() and not line.strip().startswith(b"%") else line)
    found = load_mulan(end.join(lines), named(labels))
    assert_same = np.testing.assert_array_equal
    dense = [part.toarray() if sparse.issparse(part) else part for part in (plain.X, found.X)]
    assert_same(*dense)
    assert_same(found.Y.toarray(), plain.Y.toarray())
    assert found[2:5] == plain[2:5]
    if is_given:
        assert_same(found.sample_weight, weights)
        assert found.sample_weight.dtype == np.float64
    else:
        assert found.sample_weight is None


OF_TEXT = b"@relation r\n@attribute a {'%', '50 % of', 'x, {2}', 'it\\'s %', b%c}\n@attribute y {0,1}\n@data\n"


@pytest.mark.parametrize(
    ("row", "code", "weight"),
    [
        (b"'%', 1 % '%'", 0, None),
        (b"%, 1", None, None),  # a line that begins with a percent sign is a comment
        (b" '%',1%", None, "line 5: the value '1%' of 'y', expected 0 or 1"),
        (b"'50 % of', 1", 1, None),
        (b"50 % of, 1 %", 1, None),  # the value that is not the last one
        (b"'x, {2}', 1, {2} % {3}", 2, 2.0),
        (b"'x, {2}', 1", 2, None),
        (b'"x, {2}", 1 {2}', 2, 2.0),
        (b"'it\\'s %', 1 % it's", 3, None),
        (b"b%c, 1\t%", 4, None),
        (b"b%c, 1, {.5}", 4, 0.5),
        (b"b%c, 1, {5} 3", None, "line 5: "),
        (b"b%c, 1, {5}, {6}", None, "line 5: "),
        (b"b%c, {5}", None, r"line 5: the value '\{5}' of 'y', expected 0 or 1"),
        (b"b%c, % 1", None, "line 5: the value '% 1' of 'y', expected 0 or 1"),
        (b"b%c % 1", None, "line 5: the value 'b%c % 1' of 'a', expected one of its categories"),
        (b"'b%c % 1", None, "line 5: .* after a quote, expected a second '"),
        (b"b%c, 1, {-1}", None, "line 5: the weight '-1', expected a finite number of at least 0 between braces"),
        (b"b%c, 1, {}", None, "line 5: the weight '', expected a finite number"),
        (b"b%c, 1, {inf}", None, "line 5: the weight 'inf', expected a finite number"),
        (b"b%c, 1, {1_0}", None, "line 5: the weight '1_0', expected a finite number"),
        (b"b%c, 1, {\xff}", None, r"line 5: the weight '\\xff', expected a finite number"),
        (b"b%c, 1, {1", None, "line 5: "),
        (b"{0 '%', 1 1} % '%'", 0, None),
        (b"{0 '50 % of', 1 1}, {7}", 1, 7.0),
        (b"{0 'x, {2}', 1 1} {7}%", 2, 7.0),
        (b"{0 '}', 1 1} {7}%", None, "line 5: the value '}' of 'a', expected one of its categories"),
        (b"{0 b%c, 1 1}%", 4, None),
        (b"{0 b%c, 1 1} 7", None, "line 5: '} 7', expected a comma, or a closing brace at the end of the line"),
        (b"{0 b%c % 1 1", None, "line 5: "),
        (b"{0 b%c, 1 1}, {x} % no number", None, "line 5: the weight 'x', expected a finite number"),
    ],
)
def test_percent_signs_and_braces_in_values(row, code, weight):
    for end in (b"", b"\n", b"\r\n"):
        text = OF_TEXT.replace(b"\n", end or b"\n") + row + end
        if isinstance(weight, str):
            with pytest.raises(ValueError, match=weight):
                load_mulan(text, named(["y"]))
            continue
        found = load_mulan(text, named(["y"]))
        X = found.X.toarray() if sparse.issparse(found.X) else found.X
        assert X.tolist() == ([] if code is None else [[code]])
        assert found.Y.sum() == len(X)
        assert found.sample_weight is None if weight is None else found.sample_weight.tolist() == [weight]


def test_comments_in_the_header_keep_the_numbers_of_lines():
    text = (
        b"% one\n@relation 'a % b' % two\n@attribute 'x %' real % three\n@attribute z {'a }', %}% four\n"
        b"@attribute y {0, 1} % {5}\n\n@data % five\n% six\n1, %, 1 % seven\n\n2, 'a }', 0, {0}\n3, b, 0 % eight\n"
    )
    with pytest.raises(ValueError, match="line 12: the value 'b' of 'z', expected one of its categories"):
        load_mulan(text, named(["y"]))
    found = load_mulan(text.replace(b"3, b", b"3, ?"), named(["y"]))
    assert found.feature_names == ["x %", "z"]
    assert found.categories == {"z": ["a }", "%"]}
    np.testing.assert_array_equal(found.X, [[1, 1], [2, 0], [3, np.nan]])
    assert found.sample_weight.tolist() == [1, 0, 1]


def test_dense_files_are_read_as_scipy_reads_them():
    rng = np.random.default_rng(0)
    names = ["red", "green", "blue"]
    rows = [
        f"{a:.4g},{names[b]},{c}"
        for a, b, c in zip(rng.normal(size=50), rng.integers(3, size=50), rng.integers(2, size=50), strict=True)
    ]
    text = "@relation r\n@attribute a real\n@attribute b {red,green,blue}\n@attribute c {0,1}\n@data\n" + "\n".join(
        rows
    )
    ours = load_mulan(text.encode(), named(["c"]))
    theirs, _ = arff.loadarff(io.StringIO(text))
    np.testing.assert_array_equal(ours.X[:, 0], theirs["a"].astype(np.float32))
    assert [names[int(code)].encode() for code in ours.X[:, 1]] == theirs["b"].tolist()
    np.testing.assert_array_equal(ours.Y.toarray()[:, 0], theirs["c"].astype(np.float32))


SMALL = b"@attribute x real\n@attribute a {0,1}\n@attribute b {0,1}\n@data\n1,1,0\n2,0,1\n"


def test_labels_of_xml_may_hold_labels():
    nested = b"<labels><label name='b'><label name='a'/></label></labels>"
    assert load_mulan(SMALL, nested).label_names == ["a", "b"]
    in_utf_16 = '<?xml version="1.0" encoding="UTF-16"?><labels><label name="b"/></labels>'.encode("utf-16")
    assert load_mulan(SMALL, in_utf_16).feature_names == ["x", "a"]


BOMB = '<!DOCTYPE labels [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]><labels><label name="&b;"/></labels>'


@pytest.mark.parametrize(
    ("xml", "message"),
    [
        (BOMB.encode(), "document type"),
        (('<?xml version="1.0" encoding="UTF-16"?>' + BOMB).encode("utf-16"), "document type"),
        (b'<!DOCTYPE labels SYSTEM "file:///etc/passwd"><labels><label name="a"/></labels>', "document type"),
        (b"<labels>", "must be XML: .*line 1"),
        (b"", "must be XML"),
        (b"<labels/>", r"xml_path must have at least one <label name=\.\.\.>, got none"),
        (b"<labels><label/></labels>", r"xml_path: each label must have a name, <label name=\.\.\.>, got one without"),
        (b"<labels><feature name='a'/></labels>", "xml_path: elements must be labels or label, got 'feature'"),
        (
            b"<labels><label name='a'/><label name='a'/></labels>",
            "xml_path must have distinct names of labels, got 'a' twice",
        ),
        (b"<?xml version='1.0' encoding='unheard-of'?><labels/>", "unheard-of|unknown encoding"),
        (b"<labels><label name='c'/></labels>", "label must be names of attributes, each named once, got 'c'"),
    ],
)
def test_xml_of_another_form_is_refused(xml, message):
    with pytest.raises(ValueError, match=message):
        load_mulan(SMALL, xml)


def test_files_of_mulan_are_named(tmp_path):
    (tmp_path / "a.arff").write_bytes(SMALL + b"3,2,1\n")
    (tmp_path / "a.xml").write_bytes(b"<labels><label name='a'/></labels>")
    with pytest.raises(ValueError, match=r"a\.arff: line 7: the value '2' of 'a', expected 0 or 1"):
        load_mulan(tmp_path / "a.arff", tmp_path / "a.xml")
    (tmp_path / "b.xml.gz").write_bytes(gzip.compress(b"<labels/>"))
    with pytest.raises(ValueError, match=r"b\.xml\.gz must have at least one <label name="):
        load_mulan(tmp_path / "a.arff", tmp_path / "b.xml.gz")


def test_a_data_set_goes_from_its_file_to_names():
    data = load_mulan(SMALL, b"<labels><label name='a'/><label name='b'/></labels>")
    model = weald.DecisionTreeClassifier(random_state=0).fit(data.X, data.Y, label_names=data.label_names)
    assert model.predict_topk(data.X, 1, names=True)[0].tolist() == [["a"], ["b"]]
