"""``njit`` for Dovetail's kernels: a change of any module that they import has them compiled again.

numba compares what it keeps on disk with the file of the function alone. A checkout that was
brought up to date would play by the old version of what its kernels call.
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

# Its types know neither the options of its own kernels nor this one of its configuration.
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
    """Return a digest of a module of Dovetail and of all modules of Dovetail that it imports."""
    return provenance.digest(module, _source)


@cache
def _source(module: str) -> tuple[bytes, tuple[str, ...]]:
    """Return a digest of a module's file, and the modules that it names in its imports."""
    data = Path(sys.modules[module].__file__ or "").read_bytes()
    named = [
        each
        for source, names in _IMPORTS.findall(data.decode("utf-8", "replace"))
        for each in (source, *(f"{source}.{name}" for name in re.findall(r"\w+", names)))
    ]
    # The rest are names within a module, and imports for types only.
    return hashlib.sha256(data).digest(), tuple(each for each in named if each in sys.modules)


class _Stamped:
    """A cache whose files are named after the code, too: its module and what that imports.

    A stamp inside the file is too late: numba unpickles the whole index before it compares stamps,
    and an index of older code may name a class that is there no longer.
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
    """The folder that ``NUMBA_CACHE_DIR`` names."""


class Beside(_Stamped, caching.InTreeCacheLocator):
    """The folder ``__pycache__`` beside the file."""


class Home(_Stamped, caching.UserWideCacheLocator):
    """The user's folder for caches, if the one beside the file cannot be written."""


_LOCATORS = ",".join(f"{__name__}.{each.__name__}" for each in (NamedCache, Beside, Home))
