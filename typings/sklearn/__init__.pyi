"""Types of the classes of scikit-learn that the package derives from. All else of it is not checked: `Any`."""

from typing import Any

def __getattr__(name: str) -> Any: ...
