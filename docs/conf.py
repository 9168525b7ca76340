"""How the documentation site is built: `make docs`."""

from __future__ import annotations

import os
import re
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import weald
from docutils import nodes
from PIL import Image
from sphinx_gallery.directives import imgsgnode

HERE = Path(__file__).resolve().parent
# gallery_order.py, and demo.py, which has the order
sys.path[:0] = [str(HERE), str(HERE.parent / "examples")]

project = "weald"
author = "weald contributors"
version = release = weald.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery/GALLERY_HEADER.rst"]

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    # Shown, but not run: they need a cluster or Annif. `make demo` and the tests run them where these are.
    "filename_pattern": r"/(?!annif_|fit_)\w+\.py$",
    "ignore_pattern": r"^(?:demo|pictures)\.py$",
    "within_subsection_order": "gallery_order.GalleryOrder",
    "default_thumb_file": str(HERE / "_static" / "code.svg"),
    # Pages of the reference list the examples that use what they describe.
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("weald",),
    "run_stale_examples": True,  # the engine may have changed
    "abort_on_example_error": True,
    "write_computation_times": False,
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "capture_repr": (),
    "matplotlib_animations": False,
    "image_srcset": ["2x"],
    "thumbnail_size": (560, 350),
}

autosummary_generate = True
autodoc_typehints = (
    "none"  # docstrings have shapes and dtypes, which types do not contain
)
autodoc_inherit_docstrings = True
numpydoc_show_class_members = False
# Each public function and class says what its parameters and results are. Sections "Examples" and "See Also" and an
# extended summary are not required, results may have a name or not, and a summary may begin with a name ("Newton").
# Methods inherit docstrings, which it does not see; ruff and tests/test_docstrings.py look for those that are missing.
numpydoc_validation_checks = {"all", "EX01", "ES01", "SA01", "RT02", "SS05", "GL08"}
numpydoc_validation_exclude = {
    # Their parameters are those of another class, which they name (tests/test_docstrings.py).
    r"weald\.ExtraTree\w+$",
    # Options that are handed on to scikit-learn, whose documentation describes them.
    r"\.(cross_val_predict|cross_validate)$",
    r"\.partial_dependence$",
}
highlight_language = "text"  # a block without a language is no program; examples of docstrings begin with >>>
toc_object_entries_show_parents = "hide"
templates_path = ["_templates"]

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

# Docstrings that are inherited from scikit-learn link to its glossary.
suppress_warnings = ["ref.ref", "ref.term"]

html_theme = "pydata_sphinx_theme"
html_title = "weald"
html_theme_options = {
    "show_prev_next": True,
    "navigation_with_keys": False,
    # The tables of the migration page need the room.
    "secondary_sidebar_items": {"**": ["page-toc"], "migration": []},
    "header_links_before_dropdown": 8,
    "logo": {"text": f"weald {release}"},
}
# A release writes its address into pyproject.toml (tools/public_address.py). The
# reference has links to the source in any case.
_project = tomllib.loads((HERE.parent / "pyproject.toml").read_text())["project"]
if _address := _project.get("urls", {}).get("Repository"):
    html_theme_options["icon_links"] = [
        {"name": "Source", "url": _address, "icon": "fa-solid fa-code-branch"}
    ]
# The list of versions whose pages the host keeps (RELEASING.md).
if _versions := os.environ.get("WEALD_DOCS_VERSIONS"):
    html_theme_options |= {
        "switcher": {"json_url": _versions, "version_match": release},
        "check_switcher": False,
        "navbar_end": ["version-switcher", "theme-switcher", "navbar-icon-links"],
    }
html_favicon = "_static/favicon.svg"
html_context = {"default_mode": "auto"}
html_static_path = ["_static"]
html_css_files = ["weald.css"]
# They have no pages below them, so that the menu would be empty.
html_sidebars = {page: [] for page in ("index", "install", "start", "faq")}
html_search_scorer = str(HERE / "search_order.js")
html_show_sourcelink = False
html_copy_source = False

EXAMPLES = HERE.parent / "examples"
WIDEST_OF_ONE_PANEL = 640  # pixels: the default of matplotlib
# Files of the repository that are also pages.
PAGES = {
    "benchmarks": HERE.parent / "benches" / "README.md",
    "changelog": HERE.parent / "CHANGELOG.md",
    "contributing": HERE.parent / "CONTRIBUTING.md",
    "defaults": HERE.parent / "benches" / "defaults" / "README.md",
    "tables": HERE.parent / "benches" / "tables" / "README.md",
    "security": HERE.parent / "SECURITY.md",
}

# What people type into the search, by page or by page#heading: entries of its index,
# which come before the pages that only contain the words.
SEARCHED = {
    "annif": ["annif"],
    "boosting": ["gradient boosting"],
    "boosting#How many stages": [
        *("early stopping", "number of trees", "number of rounds", "number of stages"),
    ],
    "categories": ["categorical features", "categories", "one-hot encoding"],
    "categories#Missing values of numbers": [
        *("missing values", "missing values in X", "nan in X", "missing features"),
    ],
    "choosing": ["which estimator", "which model", "choose an estimator"],
    "compression": ["compress a forest"],
    "determinism": ["reproducible results", "reproducibility", "random seed"],
    "explanations": ["feature importance", "explain predictions", "shap values"],
    "export": ["onnx", "deploy a model", "c code"],
    "faq#Errors that one meets first": ["valueerror", "error messages"],
    "faq#GPU": ["gpu", "cuda"],
    "faq#Imbalanced labels, rare classes": ["imbalanced labels", "imbalanced classes"],
    "faq#Number of threads": ["number of threads", "set threads", "multithreading"],
    "faq#Probabilities": ["probabilities", "calibrated probabilities"],
    "faq#Serving predictions": ["serve a model", "latency", "predict one sample"],
    "hierarchies": ["hierarchical labels", "label hierarchy"],
    "how-it-works": ["how it works", "algorithms"],
    "install": ["install", "installation", "pip install", "wheels", "conda"],
    "intervals": ["prediction intervals", "quantile regression", "uncertainty"],
    "many-machines": ["dask", "distributed training", "cluster"],
    "memory": ["memory error", "out of memory"],
    "memory#Making a model smaller": ["model size", "smaller model", "model too big"],
    "migration": ["xgboost", "lightgbm", "catboost", "napkinxc"],
    "missing-labels": [
        *("missing labels", "unknown labels", "missing targets", "unknown targets"),
        *("nan in y", "missing values in y"),
    ],
    "model-files": ["save a model", "load a model", "pickle", "joblib"],
    "scikit-learn": ["scikit-learn", "sklearn"],
    "sparse-data": ["sparse matrix", "csr matrix"],
    "sparse-labels": ["sparse labels", "grid search", "cross validation"],
    "tagging": [
        "text classification",
        "multi-label text classification",
        "tag documents",
    ],
    "tutorials/activities": ["chembl", "drug discovery", "bioactivity"],
    "tutorials/assays": ["active learning", "what to measure next"],
    "tutorials/flights": ["tutorial"],
    "tutorials/ratings": [
        *("recommender", "recommendations", "ratings", "collaborative filtering"),
    ],
    "tutorials/survival": [
        *("survival analysis", "censored data", "time to event", "competing risks"),
        *("kaplan-meier", "hazards"),
    ],
    "tutorials/service#The container": ["docker", "container", "web service"],
    "tutorials/service#Watch the data": [
        *("drift", "monitoring", "population stability index"),
    ],
    "tuning": ["hyperparameters", "tune parameters", "optuna"],
}


def _read(app: Any, name: str, source: list[str]) -> None:
    """Insert the files of `PAGES`. Links in them lead to pages if the linked files are pages."""
    page_file = Path(app.env.doc2path(name))
    if page_file.suffix != ".md":
        return
    here = folder = page_file.parent
    if name in PAGES:
        app.env.note_dependency(os.fspath(PAGES[name]))  # a changed file is read again
        # After its first line, which is a comment, a page may have a text that follows the file.
        added = source[0].partition("\n")[2]
        folder, source[0] = (
            PAGES[name].parent,
            PAGES[name].read_text(encoding="utf-8") + added,
        )
    pages = {path: f"{page}.md" for page, path in PAGES.items()}

    def linked(match: re.Match[str]) -> str:
        mark, text, path, anchor = (part or "" for part in match.groups())
        if not path or re.match(r"\w+:", path):
            return match[0]
        target = (folder / path).resolve()
        if not mark and target.parent == EXAMPLES:
            target = HERE / "gallery" / f"{target.stem}.rst"
        # Links to files that are not pages are replaced by their text.
        elif not mark and HERE not in target.parents:
            if target not in pages:
                return text
            target = HERE / pages[target]
        return f"{mark}[{text}]({os.path.relpath(target, here)}{anchor})"

    text = re.sub(r"(!?)\[([^\]]*)\]\(([^)#\s]*)(#[^)\s]*)?\)", linked, source[0])
    text = re.sub(
        r"^!\[([^\]]*)\]\((\S+)\.png\)$", _in_two_themes(here), text, flags=re.M
    )
    # Code between fences stays as it is.
    parts = re.split(r"(^```.*?^```$)", text, flags=re.DOTALL | re.MULTILINE)
    parts[::2] = map(_unbroken, parts[::2])
    text = "".join(parts)
    for place, words in SEARCHED.items():
        page, _, heading = place.partition("#")
        if page == name:
            entries = "\n".join(f"   ! single: {one}" for one in words)
            directive = f"\n\n```{{eval-rst}}\n.. index::\n{entries}\n```\n"
            pattern = rf"^#+ {re.escape(heading) or '.*'}$"
            text, found = re.subn(
                pattern,
                lambda line, directive=directive: line[0] + directive,
                text,
                count=1,
                flags=re.MULTILINE,
            )
            if not found:
                raise ValueError(f"{page} has no heading {heading!r}")
    source[0] = text


def _in_two_themes(folder: Path) -> Callable[[re.Match[str]], str]:
    """A picture on a line of its own, beside which there is a dark one, is shown by theme."""

    def both(match: re.Match[str]) -> str:
        alt, path = match.groups()
        if not (folder / f"{path}-dark.png").is_file():
            return match[0]
        with Image.open(folder / f"{path}.png") as opened:
            width = (
                ":width: 560px\n" if opened.width < 1.1 * WIDEST_OF_ONE_PANEL else ""
            )
        return "\n".join(
            f":::{{image}} {path}{theme}.png\n:alt: {alt}\n:class: {kind}\n{width}:::"
            for theme, kind in (("", "only-light"), ("-dark", "only-dark"))
        )

    return both


def _unbroken(text: str) -> str:
    """No-break spaces inside of numbers such as 12 920, and in tables of groups such as .6 / .4 / .3."""
    text = re.sub(r"(?<![\d.])(\d{1,3}) (?=\d{3}(?!\d))", "\\1\u202f", text)
    return re.sub(r"^\|.*", _unbroken_groups, text, flags=re.MULTILINE)


def _unbroken_groups(line: re.Match[str]) -> str:
    # Tables of many columns need the room.
    after = " " if line[0].count("|") > 8 else "\u00a0"
    return re.sub(r"(?<=[\d*–]) / (?=[\d.*–])", f"\u00a0/{after}", line[0])


def _link_names(app: Any, doctree: nodes.document, page: str) -> None:
    """Let code that names a public object lead to the reference, and long names in tables break after their signs."""
    objects = app.env.get_domain("py").objects
    for literal in [*doctree.findall(nodes.literal)]:
        name = literal.astext()
        full = name if name.startswith("weald.") else f"weald.{name}"
        is_linked = any(
            isinstance(parent, nodes.reference) for parent in _parents(literal)
        )
        if (
            full in objects
            and not is_linked
            and objects[full].docname != page
            and not page.startswith("generated/")
        ):
            uri = (
                app.builder.get_relative_uri(page, objects[full].docname)
                + f"#{objects[full].node_id}"
            )
            link = nodes.reference("", "", refuri=uri, internal=True)
            literal.replace_self(link)
            link += literal
        if len(name) > 12 and any(
            isinstance(parent, nodes.entry) for parent in _parents(literal)
        ):
            pieces = re.split(r"(?<=[_.(=,:])(?=\w)", name)
            literal.clear()
            for i, piece in enumerate(pieces):
                literal += [nodes.raw("", "<wbr>", format="html"), nodes.Text(piece)][
                    i == 0 :
                ]


def _link_pages(app: Any, doctree: nodes.document, page: str) -> None:
    """Let `docs/page.md#heading` in a docstring lead to the page."""
    for named in [
        *doctree.findall(nodes.title_reference),
        *doctree.findall(nodes.literal),
    ]:
        found = re.fullmatch(r"docs/([\w/-]+)\.md(#[\w-]+)?", named.astext())
        if found and found[1] in app.env.found_docs:
            uri = app.builder.get_relative_uri(page, found[1]) + (found[2] or "")
            link = nodes.reference("", "", refuri=uri, internal=True)
            named.replace_self(link)
            link += named


def _let_pictures_scroll(app: Any, doctree: nodes.document, page: str) -> None:
    """On a phone, the pictures of several panels keep the size at which they can be read, in a box that scrolls."""
    for image in [*doctree.findall(nodes.image)]:
        if re.search(r"benches/thesis/|_static/(how_|instructions)", image["uri"]):
            _put_in_box(image)
    for image in [*doctree.findall(imgsgnode)]:
        with Image.open(HERE / image["uri"].lstrip("/")) as opened:
            if opened.width > WIDEST_OF_ONE_PANEL:
                _put_in_box(image)


def _put_in_box(image: nodes.Element) -> None:
    box = nodes.container("", classes=["wide-picture"])
    image.replace_self(box)
    box += image


def _parents(node: nodes.Element) -> Iterator[nodes.Element]:
    while node.parent is not None:
        node = node.parent
        yield node


def _is_left_out(
    app: Any, what: str, name: str, member: Any, is_skipped: bool, options: Any
) -> bool | None:
    """Leave out the methods that scikit-learn adds to every estimator for the routing of metadata."""
    return True if re.fullmatch(r"set_\w+_request|get_metadata_routing", name) else None


def setup(app: Any) -> None:
    app.connect("source-read", _read)
    app.connect("autodoc-skip-member", _is_left_out)
    app.connect("doctree-resolved", _link_names)
    app.connect("doctree-resolved", _link_pages)
    app.connect("doctree-resolved", _let_pictures_scroll)
