"""Tables of texts for docstrings, as one string each."""

from __future__ import annotations


def texts(table: str, **words: str) -> dict[str, str]:
    """The texts of a table by name, with words in place of their `{name}`.

    Texts are separated by blank lines. The name of a text is its first line if that begins with `#`, or else what is
    before the colon of its entry.
    """
    for name, word in words.items():
        table = table.replace(f"{{{name}}}", word)
    found = {}
    for text in table.strip("\n").split("\n\n"):
        first, _, rest = text.partition("\n")
        name, body = (first[2:], rest) if first.startswith("# ") else (first.partition(" : ")[0], text)
        assert name not in found, name
        found[name] = body
    return found
