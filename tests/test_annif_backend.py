"""The backend for Annif in `examples/annif_backend.py`, tested against a stub of the parts of Annif that it uses."""

from __future__ import annotations

import importlib.util
import sys
import types
from collections import namedtuple
from pathlib import Path
from typing import ClassVar

import joblib
import numpy as np
import pytest
import weald
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer

SOURCE = Path(__file__).resolve().parents[1] / "examples" / "annif_backend.py"
Document = namedtuple("Document", "text subject_set")


class RefusalError(Exception):
    def __init__(self, message, backend_id=None):
        super().__init__(message)


class NotInitializedError(RefusalError):
    pass


class Backend:
    """A stub of `annif.backend.backend.AnnifBackend` with the methods that callers of a backend use."""

    DEFAULT_PARAMETERS: ClassVar[dict] = {}

    def __init__(self, backend_id, config_params, project):
        self.backend_id, self.config_params, self.project = backend_id, config_params, project
        self.datadir = project.datadir

    def _all(self, params):
        return {"limit": 100, **self.DEFAULT_PARAMETERS, **self.config_params, **(params or {})}

    def train(self, corpus, params=None, jobs=0):
        self._train(corpus, params=self._all(params), jobs=jobs)

    def suggest(self, documents, params=None):
        self.initialize()
        return self._suggest_batch(documents, params=self._all(params))

    def info(self, message):
        pass


class Vectors:
    """A stub of `annif.backend.mixins.TfidfVectorizerMixin`."""

    vectorizer = None

    def create_vectorizer(self, texts, params):
        self.vectorizer = TfidfVectorizer(**params, token_pattern=None)
        X = self.vectorizer.fit_transform(texts)
        joblib.dump(self.vectorizer, Path(self.datadir) / "vectorizer")
        return X

    def initialize_vectorizer(self):
        if self.vectorizer is None:
            path = Path(self.datadir) / "vectorizer"
            if not path.exists():
                raise NotInitializedError("no vectorizer")
            self.vectorizer = joblib.load(path)


class Batch:
    """A stub of `annif.suggestion.SuggestionBatch`: a CSR matrix of scores with one row for each document."""

    @classmethod
    def from_sequence(cls, results, subjects, limit=None):
        batch = cls()
        batch.array = sparse.lil_array((len(results), len(subjects)))
        for i, result in enumerate(results):
            for suggestion in list(result)[:limit]:
                batch.array[i, suggestion.subject_id] = suggestion.score
        return batch


class Analyzer:
    def tokenize_words(self, text):
        return text.split()


class Corpus:
    def __init__(self, documents):
        self.documents = documents

    def is_empty(self):
        return not self.documents


@pytest.fixture
def backend_class(monkeypatch):
    """The backend class of the example, imported with the stub in place of Annif."""
    parts = {
        "annif": {},
        "annif.backend": {"_backend_fns": {}},
        "annif.backend.backend": {"AnnifBackend": Backend},
        "annif.backend.mixins": {"TfidfVectorizerMixin": Vectors},
        "annif.exception": {"NotInitializedException": NotInitializedError, "NotSupportedException": RefusalError},
        "annif.suggestion": {
            "SubjectSuggestion": namedtuple("SubjectSuggestion", "subject_id score"),
            "SuggestionBatch": Batch,
        },
    }
    for name, content in parts.items():
        module = types.ModuleType(name)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], child, module)
    spec = importlib.util.spec_from_file_location("annif_backend", SOURCE)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    example.register()
    return sys.modules["annif.backend"]._backend_fns["weald"]()


WORDS = ["forest", "tree", "leaf", "river", "lake", "sea", "rail", "road", "bridge"]


def documents(n=200, seed=0):
    """Documents with subjects 2, 5 or 7 out of ten; their words are drawn from three words for each subject."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n):
        topics = rng.permutation(3)[: rng.integers(1, 3)]
        words = [WORDS[3 * topic + rng.integers(3)] for topic in topics for _ in range(4)]
        found.append(Document(" ".join(rng.permutation(words)), [[2, 5, 7][topic] for topic in topics]))
    return found


def made(backend_class, folder, **params):
    project = types.SimpleNamespace(datadir=str(folder), analyzer=Analyzer(), subjects=range(10))
    return backend_class("weald", {name: str(value) for name, value in params.items()}, project)


PARAMS = [
    {},
    {"C": 3, "ngram": 2},
    {"model": "label_tree", "trees": 2},
    {"model": "centroid_forest", "trees": 20},
    {"model": "forest", "label_weight": "balanced", "trees": 20, "min_df": 2},
    {"model": "boosting", "trees": 30, "ngram": 2},
]


@pytest.mark.parametrize("params", PARAMS, ids=str)
def test_subjects_are_learned_and_suggested_by_another_process(backend_class, params, tmp_path):
    train, test = documents(), documents(50, seed=1)
    train += [Document("forest lake", []), Document("", [2])]
    made(backend_class, tmp_path, **params).train(Corpus(train), jobs=1)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"vectorizer", "weald-model.safetensors"}
    assert weald.inspect_model(tmp_path / "weald-model.safetensors")["n_outputs"] == 3
    again = made(backend_class, tmp_path, **params)
    scores = again.suggest([*test, Document("words nobody knows", [])]).array.toarray()
    assert scores.shape == (51, 10)
    assert not scores[:, [0, 1, 3, 4, 6, 8, 9]].any()
    assert not scores[50].any()
    truth = np.array([[subject in document.subject_set for subject in (2, 5, 7)] for document in test])
    found = scores[:50, [2, 5, 7]]
    # The words determine the subjects, so that nearly all of them must be found.
    assert ((found > 0.5) == truth).mean() > 0.95
    few = again.suggest(test, {"limit": "1"}).array.toarray()
    np.testing.assert_array_equal(np.count_nonzero(few, axis=1), 1)
    np.testing.assert_array_equal(few.max(axis=1), scores[:50].max(axis=1))
    again.initialize(parallel=True)
    np.testing.assert_array_equal(again.suggest(test).array.toarray(), scores[:50])


def test_what_it_cannot_do_is_said(backend_class, tmp_path):
    backend = made(backend_class, tmp_path)
    with pytest.raises(NotInitializedError):
        backend.suggest(documents(1))
    for corpus, message in [
        ("cached", "keeps no training data"),
        (Corpus([]), "no documents to train on"),
        (Corpus([Document("forest", [])]), "no document has a subject"),
    ]:
        with pytest.raises(RefusalError, match=message):
            backend.train(corpus)
    known = "linear, label_tree, centroid_forest, forest, boosting"
    for params, message in [
        ({"model": "svm"}, f"model must be one of {known}, got 'svm'"),
        ({"trees": 5}, "model=linear has no parameter trees"),
        ({"model": "label_tree", "label_weight": "balanced"}, "model=label_tree has no parameter label_weight"),
    ]:
        with pytest.raises(RefusalError, match=message):
            made(backend_class, tmp_path, **params).train(Corpus(documents()))
    backend.train(Corpus(documents()))
    (tmp_path / "weald-model.safetensors").unlink()
    with pytest.raises(NotInitializedError, match="not found"):
        made(backend_class, tmp_path).suggest(documents(1))
