"""What the documents promise runs."""

import re

import pytest
import real_data


@pytest.mark.parametrize(
    "path",
    [
        "README.md",
        "docs/sparse-labels.md",
        "docs/centroid-forests.md",
        "docs/explanations.md",
        "docs/export.md",
        "docs/many-machines.md",
    ],
)
def test_examples_run(path: str) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (real_data.REPOSITORY / path).read_text(), re.DOTALL)
    assert blocks
    # A reader goes from top to bottom: what one block has made, the next ones know.
    known: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, path, "exec"), known)


def test_every_benchmark_that_the_readme_names_exists() -> None:
    named = re.findall(r"`(benches/peers/\w+\.py)`", (real_data.REPOSITORY / "README.md").read_text())
    assert named
    for path in named:
        assert (real_data.REPOSITORY / path).is_file(), path
