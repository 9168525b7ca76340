"""Fits have the same bits on every machine: the arrays of models and their predictions are those of `bits.json`.

The test suite runs on Linux (x86-64 and arm64), macOS (arm64) and Windows (x86-64), and all compare with one file.
"""

from __future__ import annotations

import json

import bits
import pytest

PINNED = json.loads(bits.PINS.read_text())["sha256"]


def test_every_fit_is_pinned():
    assert list(PINNED) == list(bits.FITS)
    assert len(PINNED) >= 30
    # Fits that differ by their loss alone differ.
    assert len(set(PINNED.values())) == len(PINNED)


@pytest.mark.parametrize("name", bits.FITS)
def test_bits_are_those_of_every_machine(name):
    assert bits.digest(*bits.FITS[name]()) == PINNED[name]
