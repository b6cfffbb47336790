"""``with`` for classes that have ``close``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self


class Closing(ABC):
    """A base whose ``with`` block yields the object itself and closes it at the end."""

    @abstractmethod
    def close(self) -> None:
        """Release what it holds; once is enough."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
