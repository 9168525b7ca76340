"""How the documentation site is built: `make docs`."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

import spinney

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))  # gallery_order.py

project = "spinney"
author = "spinney contributors"
version = release = spinney.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery/GALLERY_HEADER.rst"]

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    # Shown, but not run: they need a cluster or Annif. `make demo` and the tests run them.
    "filename_pattern": r"/(?!annif_|fit_)\w+\.py$",
    "ignore_pattern": r"__init__\.py|/out/",
    "within_subsection_order": "gallery_order.GalleryOrder",
    "default_thumb_file": str(HERE / "_static" / "code.svg"),
    # Pages of the reference list the examples that use what they describe.
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("spinney",),
    "run_stale_examples": True,  # the engine may have changed
    "abort_on_example_error": True,
    "write_computation_times": False,
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "capture_repr": (),
    "matplotlib_animations": False,
    "image_srcset": ["2x"],
}

autosummary_generate = True
autodoc_typehints = "none"  # docstrings have shapes and dtypes, which types do not contain
autodoc_inherit_docstrings = True
numpydoc_show_class_members = False
add_module_names = False
toc_object_entries_show_parents = "hide"
templates_path = ["_templates"]

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

# Docstrings that are inherited from scikit-learn link to its glossary.
suppress_warnings = ["ref.ref", "ref.term"]

html_theme = "pydata_sphinx_theme"
html_title = "spinney"
html_theme_options = {
    "show_prev_next": True,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "header_links_before_dropdown": 6,
    "logo": {"text": "spinney"},
}
html_favicon = "_static/favicon.svg"
html_context = {"default_mode": "auto"}
html_static_path = ["_static"]
html_css_files = ["spinney.css"]
html_sidebars = {"index": []}
html_show_sourcelink = False
html_copy_source = False

# Files of the repository that are also pages.
PAGES = {
    "benchmarks": HERE.parent / "benches" / "README.md",
    "changelog": HERE.parent / "CHANGELOG.md",
    "contributing": HERE.parent / "CONTRIBUTING.md",
    "defaults": HERE.parent / "benches" / "defaults" / "README.md",
    "security": HERE.parent / "SECURITY.md",
}


def _read(app: Any, name: str, source: list[str]) -> None:
    """Insert the files of `PAGES`. Links in them lead to pages if the linked files are pages."""
    if not os.fspath(app.env.doc2path(name)).endswith(".md"):
        return
    folder = HERE
    if name in PAGES:
        # After its first line, which is a comment, a page may have a text that follows the file.
        added = source[0].partition("\n")[2]
        folder, source[0] = PAGES[name].parent, PAGES[name].read_text(encoding="utf-8") + added
    pages = {path: f"{page}.md" for page, path in PAGES.items()}

    def linked(match: re.Match[str]) -> str:
        mark, text, path, anchor = (part or "" for part in match.groups())
        if not path or re.match(r"\w+:", path):
            return match[0]
        target = (folder / path).resolve()
        if mark or target.parent == HERE:
            return f"{mark}[{text}]({os.path.relpath(target, HERE)}{anchor})"
        # Links to files that are not pages are replaced by their text.
        return f"[{text}]({pages[target]}{anchor})" if target in pages else text

    source[0] = re.sub(r"(!?)\[([^\]]*)\]\(([^)#\s]*)(#[^)\s]*)?\)", linked, source[0])


def _is_left_out(app: Any, what: str, name: str, member: Any, is_skipped: bool, options: Any) -> bool | None:
    """Leave out the methods that scikit-learn adds to every estimator for the routing of metadata."""
    return True if re.fullmatch(r"set_\w+_request|get_metadata_routing", name) else None


def setup(app: Any) -> None:
    app.connect("source-read", _read)
    app.connect("autodoc-skip-member", _is_left_out)
