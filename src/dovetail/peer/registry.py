"""The registry: objects of this program that peers, saved states and journals may name.

``registered`` is the only function that resolves an external name, and it only looks the name up:
the worst that a malicious name can be is unknown.  An object is registered

- by the code that requests it, as one of its built-in choices;
- by this program, with ``register`` or ``dovetail agent --register``;
- by an installed package, as an entry point of the kind's group.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal

from dovetail.peer.error_origin import place
from dovetail.peer.extras import absent
from dovetail.peer.quoting import command
from dovetail.peer.validation_messages import among
from dovetail.protocol.errors import DovetailError

Kind = Literal[
    "environment", "agent", "encoder", "evaluation", "reward", "algorithm", "policy", "engine"
]

GROUPS: dict[Kind, str] = {
    "environment": "dovetail.environments",
    "agent": "dovetail.agents",
    "encoder": "dovetail.encoders",
    "evaluation": "dovetail.evaluations",
    "reward": "dovetail.rewards",
    "algorithm": "dovetail.algorithms",
    "policy": "dovetail.policies",
    "engine": "dovetail.engines",
}
"""The entry-point group of each kind."""

_registered: dict[tuple[Kind, str], Any] = {}


def type_name(kind: type[Any]) -> str:
    """Return the public name of an environment or agent class."""
    return str(kind.name or kind.__name__.lower())


def register(kind: Kind, name: str, thing: Any) -> None:
    """Make an object of this program available by name to peers and saved states.

    Args:
        kind: the kind of object.
        name: its name; a second object with the same name replaces the first.
        thing: an environment or agent class, an encoder or evaluation function, a reward or a
            function that returns one, an algorithm class, the path of a policy file, or the words
            of an engine's command.
    """
    _registered[kind, name] = thing


def registered(
    kind: Kind, name: str, built_in: Mapping[str, Any] | None = None, *, who: str = ""
) -> Any:
    """Return the object registered under a name, which may be untrusted; ``built_in`` takes
    precedence.

    Raises:
        DovetailError: the name is unknown, or an installed package fails to load it.
    """
    if built_in is not None and name in built_in:
        return built_in[name]
    if (kind, name) in _registered:
        return _registered[kind, name]
    installed = _installed(kind)
    if name in installed:
        try:
            return installed[name].load()
        except Exception as error:
            raise DovetailError(f"{kind} {name!r} cannot be loaded: {one_line(error)}") from error
    text = unknown(kind, name, sorted({*(built_in or ()), *names(kind)}))
    if kind not in ("environment", "agent"):
        where = {"policy": "FILE.zip|FILE.py", "engine": "COMMAND"}.get(kind, "FILE.py:NAME")
        text += f"; `{command('agent', '--register')} {kind}:NAME={where}` adds one"
    raise DovetailError(f"{who}: {text}" if who else text)


def names(kind: Kind) -> list[str]:
    """Return every name that is registered or installed, in order."""
    return sorted({*_installed(kind), *(name for each, name in _registered if each == kind)})


def unknown(kind: str, name: str, known: Iterable[str]) -> str:
    """Return the error for an unknown name, which lists the known ones."""
    known = list(known)
    short = name if len(name) <= 60 else f"{name[:57]}..."
    there = f"there are {', '.join(known)}" if known else "none is registered"
    return f"no {kind} {short!r}{among(short, known, there)}"


def one_line(error: Exception) -> str:
    """Return an exception in one line: the package to install, or its type, text and place."""
    missing = absent(error)
    if missing is not None:
        return missing
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:300] + place(error)


def _installed(kind: Kind) -> dict[str, EntryPoint]:
    return {each.name: each for each in entry_points(group=GROUPS[kind])}
