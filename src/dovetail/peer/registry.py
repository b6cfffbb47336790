"""What peers, saved states and journals may name: things that this program has registered.

``registered`` is the one place where a name from outside becomes a thing.  It looks the name up and
never imports by it, so the worst that a name can do is not to be found.  A thing is registered

- by the code that asks for it, as one of its built-in choices;
- by this program, with ``register`` or ``dovetail agent --register``;
- by an installed package, as an entry point of the kind's group.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal

from dovetail.peer.extras import absent
from dovetail.protocol.errors import DovetailError

Kind = Literal["environment", "agent", "encoder", "evaluation", "reward", "algorithm", "policy"]

GROUPS: dict[Kind, str] = {
    "environment": "dovetail.environments",
    "agent": "dovetail.agents",
    "encoder": "dovetail.encoders",
    "evaluation": "dovetail.evaluations",
    "reward": "dovetail.rewards",
    "algorithm": "dovetail.algorithms",
    "policy": "dovetail.policies",
}
"""The group of entry points of each kind."""

_registered: dict[tuple[Kind, str], Any] = {}


def register(kind: Kind, name: str, thing: Any) -> None:
    """Let peers and saved states name a thing of this program.

    Args:
        kind: what it is.
        name: how they name it; a second thing of the same name replaces the first.
        thing: an environment or agent class, a function that encodes or evaluates, a reward or a
            function that returns one, a class of algorithm, or the path of a policy's file.
    """
    _registered[kind, name] = thing


def registered(
    kind: Kind, name: str, built_in: Mapping[str, Any] | None = None, *, who: str = ""
) -> Any:
    """Return what was registered under a name that may come from anywhere.

    Args:
        kind: what is wanted.
        name: its name.
        built_in: choices of the caller's own, by name; nothing else can take their names.
        who: who asks, as errors begin.

    Raises:
        DovetailError: nothing has that name, or an installed package fails to load it; one line
            names what is there.
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
        where = "FILE.zip" if kind == "policy" else "FILE.py:NAME"
        text += f"; `dovetail agent --register {kind}:NAME={where}` adds one"
    raise DovetailError(f"{who}: {text}" if who else text)


def names(kind: Kind) -> list[str]:
    """Return every name that is registered or installed, in order."""
    return sorted({*_installed(kind), *(name for each, name in _registered if each == kind)})


def unknown(kind: str, name: str, known: Iterable[str]) -> str:
    """Return one line that says that there is no such name, and what there is."""
    known = list(known)
    short = name if len(name) <= 60 else f"{name[:57]}..."
    near = difflib.get_close_matches(short, known, n=1)
    hint = f" did you mean {near[0]!r}?" if near else ""
    there = f"there are {', '.join(known)}" if known else "none is registered"
    return f"no {kind} {short!r};{hint} {there}"


def one_line(error: Exception) -> str:
    """Return an exception in one line: what to install, or its type and text."""
    missing = absent(error)
    if missing is not None:
        return missing
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]


def _installed(kind: Kind) -> dict[str, EntryPoint]:
    return {each.name: each for each in entry_points(group=GROUPS[kind])}
