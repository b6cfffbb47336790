"""Plugins: classes and functions that the local user names, installed or in a module or file.

A package offers plugins through entry points (``registry.GROUPS``); others are named
``module:Class`` or ``path/to/file.py:Class`` and imported.  Never pass a name here that came over
the wire or from a saved state or journal; pass those to ``registry.registered``.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import os
import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from dovetail.peer import registry
from dovetail.peer.registry import one_line, registered
from dovetail.peer.validation_messages import meant
from dovetail.protocol.errors import DovetailError

Kind = Literal["environment", "agent"]

_STRUCT: dict[Kind, str] = {"environment": "Configuration", "agent": "Parameters"}
"""The attribute that identifies a class of each kind."""


def names(kind: Kind) -> list[str]:
    """Return the names of the environments or agents that are installed or registered, in order."""
    return registry.names(kind)


def find(kind: Kind, name: str) -> type[Any]:
    """Return the class of an environment or agent.

    Args:
        kind: ``environment`` or ``agent``.
        name: an installed name, ``module:Class`` or ``path/to/file.py:Class``, which is imported;
            from the local user, never from a peer.

    Raises:
        DovetailError: it does not exist, cannot be imported, or is abstract.
    """
    if ":" in name:
        where, _, attribute = name.rpartition(":")
        found = _attribute(kind, module(kind, name, where), where, attribute)
    else:
        known = names(kind)
        if name not in known:
            raise DovetailError(_unknown(kind, name, known))
        found = registered(kind, name)
    if not isinstance(found, type) or not all(
        hasattr(found, each) for each in ("step", _STRUCT[kind])
    ):
        raise DovetailError(f"{name!r} is not a subclass of {kind.title()}")
    complete(found, name)
    return found


def rules(name: str, configuration: Mapping[str, Any] | None = None) -> str:
    """Return the rules of an installed or registered game for players to read; empty if unknown.

    Args:
        name: the game's name; may come from a peer, since only installed packages are imported.
        configuration: the game's options, by name.
    """
    if name not in names("environment"):
        return ""
    from dovetail.peer import options

    try:
        kind = find("environment", name)
        given = options.read(kind.Configuration, dict(configuration or {}), f"environment {name}")
        return str(kind.rules(given))
    except DovetailError:  # a missing package or a wrong option is reported elsewhere
        return ""


def complete(found: type[Any], name: str) -> None:
    """Check that a class defines all abstract methods.

    Raises:
        DovetailError: it does not; the line names those that it lacks.
    """
    if inspect.isabstract(found):
        methods: frozenset[str] = vars(found)["__abstractmethods__"]
        lacking = ", ".join(sorted(methods))
        raise DovetailError(f"{name!r} cannot be served: the class must define {lacking}")


def function(name: str, what: str) -> Callable[..., Any]:
    """Import a function named ``module:function`` or ``path/to/file.py:function``.

    Args:
        name: the function's name; from the local user, never from a peer.
        what: its purpose, as errors name it.

    Raises:
        DovetailError: it does not exist.
    """
    where, colon, attribute = name.rpartition(":")
    if not colon:
        raise DovetailError(f"{what}: {name!r} is not module:function or path/to/file.py:function")
    found = getattr(module(what, name, where), attribute, None)
    if not callable(found):
        raise DovetailError(f"{what}: {where} has no function {attribute!r}")
    return found  # type: ignore[no-any-return]


def register(text: str) -> None:
    """Register what ``KIND:NAME=module:thing`` or ``KIND:NAME=path/to/file.py:thing`` imports.

    Args:
        text: from the local user, never from a peer.  A policy is a file, which is
            not imported; an engine is a command line.

    Raises:
        DovetailError: the text has the wrong form, or the object does not exist.
    """
    head, _, where = text.partition("=")
    kind, _, name = head.partition(":")
    if not (name and where and kind in registry.GROUPS):
        kinds = ", ".join(registry.GROUPS)
        raise DovetailError(
            f"{text!r} cannot be registered; give KIND:NAME=FILE.py:NAME, where KIND is "
            f"one of {kinds}"
        )
    thing: Any
    match kind:
        case "environment" | "agent":
            thing = find(kind, where)
        case "policy":
            thing = str(Path(where).expanduser().resolve())
        case "engine":
            thing = shlex.split(where)
        case _:
            thing = function(where, kind)
    registry.register(kind, name, thing)


def _unknown(kind: Kind, name: str, known: list[str]) -> str:
    if Path(name).suffix == ".py":
        return f"{name!r} is a file; name the class in it too, as in {name}:Class"
    return f"{registry.unknown(kind, name, known)}, or give module:Class or path/to/file.py:Class"


def module(kind: str, name: str, where: str) -> ModuleType:
    """Import a module or a file.

    Args:
        kind: the kind of object wanted, for errors.
        name: the object's name as given by the local user, never by a peer.
        where: ``package.module`` or ``path/to/file.py``; the current folder comes first.

    Raises:
        DovetailError: it does not exist, or importing it fails.
    """
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
        raise DovetailError(f"{kind} {name!r} cannot be loaded: {one_line(error)}") from error
    except Exception as error:
        raise DovetailError(f"{kind} {name!r} cannot be loaded: {one_line(error)}") from error


def _file(kind: str, name: str, path: Path) -> ModuleType:
    path = path.expanduser().resolve()
    if not path.is_file():
        raise DovetailError(f"{kind} {name!r}: there is no file {path}")
    digest = hashlib.sha256(str(path).encode()).hexdigest()[:8]
    key = f"user_{path.stem}_{digest}"
    if key in sys.modules:
        return sys.modules[key]
    spec = importlib.util.spec_from_file_location(key, path)
    if spec is None or spec.loader is None:
        raise DovetailError(f"{kind} {name!r}: {path} is not a Python file")
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    module = sys.modules[key] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[key]
        raise DovetailError(f"{kind} {name!r} cannot be loaded: {one_line(error)}") from error
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
    hint = meant(attribute, mine) or (f"; it has {', '.join(mine)}" if mine else "")
    raise DovetailError(f"{where} has no class {attribute!r}{hint}")
