"""The order of the gallery: what most readers come for is first."""

from __future__ import annotations

_ORDER = [
    "tag_documents.py",
    "digits_completion.py",
    "early_stopping.py",
    "multi_output_boosting.py",
    "compress_forest.py",
    "output_projections.py",
    "explain_predictions.py",
    "label_probabilities.py",
    "serve_samples.py",
    "fit_with_dask.py",
    "fit_samples_with_dask.py",
    "annif_backend.py",
]


class GalleryOrder:
    """A sorting key: the position in the list; files that are not in the list come last, by name."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, name: str) -> tuple[int, str]:
        return (_ORDER.index(name) if name in _ORDER else len(_ORDER), name)
