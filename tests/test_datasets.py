"""Readers."""

from __future__ import annotations

import json

import numpy as np
import pytest
import real_data
from scipy import sparse
from spinney.datasets import load_npz_folder


def test_what_is_missing_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="X_train"):
        load_npz_folder(tmp_path)


def test_other_archives_are_refused(tmp_path):
    np.savez(tmp_path / "X_train.npz", b=np.zeros(3))
    with pytest.raises(ValueError, match=r"X_train\.npz holds"):
        load_npz_folder(tmp_path)


def test_nothing_is_unpickled(tmp_path):
    np.savez(tmp_path / "X_train.npz", a=np.array([{}], dtype=object))
    with pytest.raises(ValueError, match="pickle"):
        load_npz_folder(tmp_path)


def test_forms_are_kept(tmp_path):
    dense, labels = np.arange(6, dtype=np.float32).reshape(3, 2), sparse.csr_array(np.eye(3))
    for part in ("train", "test"):
        np.savez(tmp_path / f"X_{part}.npz", a=dense)
        sparse.save_npz(tmp_path / f"Y_{part}.npz", labels)
    (tmp_path / "meta.json").write_text(json.dumps({"task": "multilabel"}))
    split = load_npz_folder(tmp_path)
    np.testing.assert_array_equal(split.X_test, dense)
    assert (split.Y_train != labels).nnz == 0
    assert split.meta == {"task": "multilabel"}


def test_a_real_one():
    if reason := real_data.missing("emotions"):
        pytest.skip(reason)
    split = load_npz_folder(real_data.root() / "emotions")
    assert split.X_train.shape == (391, 72)
    assert split.Y_test.shape == (202, 6)
