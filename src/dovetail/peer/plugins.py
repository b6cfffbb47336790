"""Plugins: environments and agents found by name, built in or of third parties.

A package offers its own through the entry-point groups ``dovetail.environments`` and
``dovetail.agents``; what is in no package is named ``module:Class`` or ``path/to/file.py:Class``.
"""

from __future__ import annotations

import difflib
import hashlib
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from dovetail.protocol.errors import DovetailError

Kind = Literal["environment", "agent"]

_STRUCT: dict[Kind, str] = {"environment": "Configuration", "agent": "Parameters"}
"""The attribute by which a class of each kind is known."""


def names(kind: Kind) -> list[str]:
    """Return the names of the environments or agents that are installed, in order."""
    return sorted(_installed(kind))


def find(kind: Kind, name: str) -> type[Any]:
    """Return the class of an environment or agent.

    Args:
        kind: which of the two.
        name: an installed name, ``module:Class`` or ``path/to/file.py:Class``.

    Raises:
        DovetailError: there is none; one line says what there is, or what failed.
    """
    if ":" in name:
        where, _, attribute = name.rpartition(":")
        found = _attribute(kind, _module(kind, name, where), where, attribute)
    else:
        installed = _installed(kind)
        if name not in installed:
            raise DovetailError(_unknown(kind, name, sorted(installed)))
        try:
            found = installed[name].load()
        except Exception as error:
            raise DovetailError(f"{kind} {name!r} cannot be loaded: {_line(error)}") from error
    if not isinstance(found, type) or not all(
        hasattr(found, each) for each in ("step", _STRUCT[kind])
    ):
        raise DovetailError(f"{name!r} is no {kind}; a class that derives from {kind.title()} is")
    return found


def function(name: str, what: str) -> Callable[..., Any]:
    """Return a function named ``module:function`` or ``path/to/file.py:function``.

    Args:
        name: of the function.
        what: it is for, as errors put it.

    Raises:
        DovetailError: there is none.
    """
    where, colon, attribute = name.rpartition(":")
    if not colon:
        raise DovetailError(f"{what}: {name!r} is not module:function or path/to/file.py:function")
    found = getattr(_module(what, name, where), attribute, None)
    if not callable(found):
        raise DovetailError(f"{what}: {where} has no function {attribute!r}")
    return found  # type: ignore[no-any-return]


def _installed(kind: Kind) -> dict[str, EntryPoint]:
    return {each.name: each for each in entry_points(group=f"dovetail.{kind}s")}


def _unknown(kind: Kind, name: str, known: list[str]) -> str:
    if Path(name).suffix == ".py":
        return f"{name!r} is a file; name the class in it too, as {name}:Class"
    near = difflib.get_close_matches(name, known, n=1)
    hint = f" did you mean {near[0]!r}?" if near else ""
    there = f"there are {', '.join(known)}" if known else "none is installed"
    return f"no {kind} {name!r};{hint} {there}, or give module:Class or path/to/file.py:Class"


def _module(kind: str, name: str, where: str) -> ModuleType:
    if where.endswith(".py") or os.sep in where:
        return _file(kind, name, Path(where))
    if "" not in sys.path and os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        return importlib.import_module(where)
    except ModuleNotFoundError as error:
        missing = error.name or where
        if where == missing or where.startswith(f"{missing}."):
            raise DovetailError(
                f"{kind} {name!r}: there is no module {missing!r} here or installed"
            ) from None
        raise DovetailError(f"{kind} {name!r} cannot be loaded: {_line(error)}") from error
    except Exception as error:
        raise DovetailError(f"{kind} {name!r} cannot be loaded: {_line(error)}") from error


def _file(kind: str, name: str, path: Path) -> ModuleType:
    path = path.expanduser().resolve()
    if not path.is_file():
        raise DovetailError(f"{kind} {name!r}: there is no file {path}")
    digest = hashlib.sha256(str(path).encode()).hexdigest()[:8]
    key = f"dovetail_plugin_{path.stem}_{digest}"
    if key in sys.modules:
        return sys.modules[key]
    spec = importlib.util.spec_from_file_location(key, path)
    if spec is None or spec.loader is None:
        raise DovetailError(f"{kind} {name!r}: {path} is no Python file")
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    module = sys.modules[key] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[key]
        raise DovetailError(f"{kind} {name!r} cannot be loaded: {_line(error)}") from error
    return module


def _attribute(kind: Kind, module: ModuleType, where: str, attribute: str) -> Any:
    found = getattr(module, attribute, None)
    if found is not None:
        return found
    mine = [
        each
        for each, value in vars(module).items()
        if isinstance(value, type)
        and value.__module__ == module.__name__
        and hasattr(value, _STRUCT[kind])
    ]
    near = difflib.get_close_matches(attribute, mine, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    there = f"; it has {', '.join(mine)}" if mine and not near else ""
    raise DovetailError(f"{where} has no class {attribute!r}{hint}{there}")


def _line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]
