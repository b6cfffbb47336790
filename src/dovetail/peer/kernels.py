"""``njit`` for Dovetail's kernels: recompiles them after a change in any module they import.

numba checks its cache only against the function's own file, so an updated checkout would run the
old version of what its kernels call.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import caching

from dovetail.peer import provenance

F = TypeVar("F", bound=Callable[..., Any])

# numba's type hints lack its kernels' options and this configuration.
_numba: Any = numba
_PACKAGE = __name__.partition(".")[0]
_IMPORTS = re.compile(rf"^from ({_PACKAGE}[\w.]*) import (\([^)]*\)|.*)$", re.MULTILINE)


def njit(*signature: str, **options: Any) -> Callable[[F], F]:
    """Return a decorator that compiles a function as ``numba.njit`` does."""

    def compiled(function: F) -> F:
        before = _numba.config.CACHE_LOCATOR_CLASSES
        _numba.config.CACHE_LOCATOR_CLASSES = before or _LOCATORS
        try:
            return cast(F, _numba.njit(*signature, **options)(function))
        finally:
            _numba.config.CACHE_LOCATOR_CLASSES = before  # for the kernels of others

    return compiled


@cache
def stamp(module: str) -> str:
    """Return a digest of one of Dovetail's modules and of all of them that it imports."""
    return provenance.digest(module, _source)


@cache
def _source(module: str) -> tuple[bytes, tuple[str, ...]]:
    """Return a digest of a module's file, and the modules that it imports."""
    data = Path(sys.modules[module].__file__ or "").read_bytes()
    named = [
        each
        for source, names in _IMPORTS.findall(data.decode("utf-8", "replace"))
        for each in (source, *(f"{source}.{name}" for name in re.findall(r"\w+", names)))
    ]
    # The rest are names within a module, and imports for types only.
    return hashlib.sha256(data).digest(), tuple(each for each in named if each in sys.modules)


class _Stamped:
    """A cache whose file names include the ``stamp`` of the function's module.

    A stamp inside the file would be too late: numba unpickles the whole index before it compares
    stamps, and an old index may name a class that no longer exists.
    """

    module = ""

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> Any:
        found = super().from_function(py_func, py_file)  # type: ignore[misc]
        if found is not None:
            found.module = py_func.__module__
        return found

    def get_disambiguator(self) -> str:
        named: str = super().get_disambiguator()  # type: ignore[misc]
        return f"{named}-{stamp(self.module)[:16]}"


class NamedCache(_Stamped, caching.UserProvidedCacheLocator):
    """The cache in the folder ``NUMBA_CACHE_DIR``."""


class Beside(_Stamped, caching.InTreeCacheLocator):
    """The cache in ``__pycache__`` beside the file."""


class Home(_Stamped, caching.UserWideCacheLocator):
    """The cache in the user's folder, if the one beside the file cannot be written."""


_LOCATORS = ",".join(f"{__name__}.{each.__name__}" for each in (NamedCache, Beside, Home))
