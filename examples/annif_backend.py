"""
Linear models, label trees and forests in Annif
===============================================

`Annif <https://annif.org>`_ is the toolkit of libraries for subject indexing. This file is a backend for it (tried with
Annif 1.4.3). The command ::

    python annif_backend.py train my-project documents.tsv

does what the command ``annif`` does, with this backend. To install it, copy the file to ``annif/backend/weald.py``
where Annif is installed, and add ``"weald": _weald`` to the table of backends in ``annif/backend/__init__.py``,
with ::

    def _weald():
        from . import weald

        return weald.WealdBackend

A project in ``projects.cfg``::

    [my-project]
    name=Subjects by a linear model
    language=en
    backend=weald
    analyzer=snowball(english)
    vocab=my-vocabulary
    model=linear

Parameters of the backend:

* ``model``: linear, label_tree (for more than some thousand subjects), centroid_forest, forest or boosting (from a
  linear start if that helps);
* ``C``: inverse strength of the penalty of linear, which chooses it by default, and of label_tree;
* ``trees``: number of trees of label_tree and forests, or of stages of boosting;
* ``label_weight``: balanced or propensity, of forest and boosting;
* ``min_df`` and ``ngram``: of the words;
* ``limit``: maximum number of suggestions.

The model is a file of ``weald.save``, which runs no code when it is loaded. The vectorizer is Annif's own, saved by
joblib. The backend does not learn: ``annif learn`` is refused, and ``annif train`` with all documents is the way.
"""

# sphinx_gallery_thumbnail_path = "_static/subjects.svg"

from __future__ import annotations

import os
import sys
from typing import Any, ClassVar

import numpy as np
import weald
from scipy import sparse

try:
    import annif.backend
    from annif.backend import backend, mixins
    from annif.exception import NotInitializedException, NotSupportedException
    from annif.suggestion import SubjectSuggestion, SuggestionBatch
except ImportError:
    if __name__ != "__main__":
        raise
    print(
        "Linear models, label trees and forests in Annif. "
        "Left out: it needs pip install annif"
    )
    sys.exit(0)


# The models, with the parameters that suit words whose weights are tf-idf.
MODELS: dict[str, tuple[Any, dict[str, Any]]] = {
    "linear": (
        weald.LinearClassifier,
        {"strategy": "one_vs_rest", "features": "given"},
    ),
    "label_tree": (weald.LinearClassifier, {"strategy": "tree", "features": "given"}),
    "centroid_forest": (weald.CentroidForestClassifier, {"idf": False}),
    "forest": (weald.RandomForestClassifier, {}),
    "boosting": (weald.GradientBoostingClassifier, {"init": "auto"}),
}
# Parameters of the models by the names that they have in projects.
OPTIONS = {
    "C": ("C", float),
    "trees": ("n_estimators", int),
    "label_weight": ("label_weight", str),
}


class WealdBackend(mixins.TfidfVectorizerMixin, backend.AnnifBackend):
    """Documents as TF-IDF, one model for all subjects."""

    name = "weald"
    MODEL_FILE = "weald-model.safetensors"
    DEFAULT_PARAMETERS: ClassVar[dict[str, Any]] = {
        "model": "linear",
        "min_df": 1,
        "ngram": 1,
    }

    _model: Any = None

    # --- training --------------------------------------------------------------------

    def _train(self, corpus: Any, params: dict[str, Any], jobs: int = 0) -> None:
        if corpus == "cached":
            raise NotSupportedException(
                "weald keeps no training data: pass the documents again"
            )
        if corpus.is_empty():
            raise NotSupportedException("there are no documents to train on")
        texts, subjects = self._texts_and_subjects(corpus)
        if not texts:
            raise NotSupportedException("no document has a subject")
        model = self._unfitted(params, jobs)
        words = {
            "min_df": int(params["min_df"]),
            "ngram_range": (1, int(params["ngram"])),
            "tokenizer": self.project.analyzer.tokenize_words,
            "sublinear_tf": True,
            "dtype": np.float32,
        }
        X = self.create_vectorizer(texts, words)
        y, names = _labels(subjects)
        self.info(
            f"training {type(model).__name__} on {y.shape[0]} documents"
            f" with {y.shape[1]} subjects"
        )
        self._model = model.fit(X, y, label_names=names)
        weald.save(self._model, self._path)

    def _texts_and_subjects(self, corpus: Any) -> tuple[list[str], list[list[int]]]:
        """The texts and subjects of the documents that have subjects."""
        known = [
            (document.text, list(document.subject_set))
            for document in corpus.documents
            if document.subject_set
        ]
        return [text for text, _ in known], [subjects for _, subjects in known]

    def _unfitted(self, params: dict[str, Any], jobs: int) -> Any:
        if params["model"] not in MODELS:
            raise NotSupportedException(
                f"model must be one of {', '.join(MODELS)}, got {params['model']!r}"
            )
        kind, chosen = MODELS[params["model"]]
        # In Annif, 0 stands for the number of processors.
        n_jobs = jobs if jobs > 0 else -1
        model = kind(n_jobs=n_jobs, random_state=0, multi_label=True, **chosen)
        for name in OPTIONS.keys() & params.keys():
            parameter, read = OPTIONS[name]
            of_trees = (params["model"], name) == ("linear", "trees")
            if of_trees or parameter not in model.get_params():
                raise NotSupportedException(
                    f"model={params['model']} has no parameter {name}"
                )
            model.set_params(**{parameter: read(params[name])})
        return model

    # --- suggestions -----------------------------------------------------------------

    @property
    def _path(self) -> str:
        return os.path.join(self.datadir, self.MODEL_FILE)

    def initialize(self, parallel: bool = False) -> None:
        self.initialize_vectorizer()
        if self._model is None:
            if not os.path.exists(self._path):
                raise NotInitializedException(
                    f"model {self._path} not found", backend_id=self.backend_id
                )
            self._model = weald.load(self._path)
        if parallel:
            # Other processes use the other processors.
            self._model.set_params(n_jobs=1)

    def _suggest_batch(self, documents: list[Any], params: dict[str, Any]) -> Any:
        limit = int(params["limit"])
        X = self.vectorizer.transform([document.text for document in documents])
        n_labels = self._model.n_outputs_
        k = max(1, min(limit, n_labels))
        found, scores = self._model.predict_topk(X, k, names=True)
        # Documents with unknown words only have no suggestions.
        found[np.diff(X.indptr) == 0] = None
        return SuggestionBatch.from_sequence(
            [
                [
                    SubjectSuggestion(int(name), float(score))
                    for name, score in zip(*row, strict=True)
                    if name is not None
                ]
                for row in zip(found, scores, strict=True)
            ],
            self.project.subjects,
            limit=limit,
        )


def _labels(subjects: list[list[int]]) -> tuple[sparse.csr_array, list[str]]:
    """A column for each subject of a document, and its number in the vocabulary."""
    ptr = np.cumsum([0, *map(len, subjects)])
    used, columns = np.unique(np.concatenate(subjects), return_inverse=True)
    y = sparse.csr_array(
        (np.ones(ptr[-1], dtype=np.int8), columns, ptr),
        shape=(len(subjects), len(used)),
    )
    y.sort_indices()
    return y, [str(subject) for subject in used]


def register() -> None:
    """Register `backend=weald` in Annif in this process."""
    annif.backend._backend_fns[WealdBackend.name] = lambda: WealdBackend


if __name__ == "__main__":
    register()
    if len(sys.argv) > 1:
        from annif.cli import cli

        cli()
    else:
        print(
            "Linear models, label trees and forests in Annif: this file is a backend "
            "for Annif, the\n"
            "toolkit of libraries for subject indexing. With arguments it does what "
            "the command\n"
            "annif does."
        )
        known = annif.backend._backend_fns
        print(
            f"\nConclusion: backend={WealdBackend.name} is number"
            f" {[*known].index(WealdBackend.name) + 1} of {len(known)} in Annif;"
            " try the arguments train my-project documents.tsv"
        )
