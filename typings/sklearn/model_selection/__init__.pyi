from collections.abc import Callable, Iterator
from typing import Any

class BaseCrossValidator:
    split: Callable[..., Iterator[tuple[Any, Any]]]
    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int: ...

def __getattr__(name: str) -> Any: ...
