"""The program that serves a submitted agent inside its sandbox; its arguments are ``FILE NAME``."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

from dovetail.peer.agents.agent import Agent
from dovetail.peer.agents.serve import serve
from dovetail.peer.plugins import module
from dovetail.protocol.errors import DovetailError


def agent_of(file: Path) -> type[Agent]:
    """Return the only agent class that a file defines.

    Raises:
        DovetailError: the file defines none or several, or cannot be imported.
    """
    made = module("agent", str(file), str(file))
    found = [
        each
        for each in vars(made).values()
        if inspect.isclass(each)
        and issubclass(each, Agent)
        and each.__module__ == made.__name__
        and not inspect.isabstract(each)
    ]
    # Leave out base classes of the agent.
    last = [each for each in found if not any(each in other.__mro__[1:] for other in found)]
    if len(last) != 1:
        names = ", ".join(each.__name__ for each in last) or "none"
        raise DovetailError(
            f"{file.name} must define one agent, a subclass of dovetail.Agent; it has {names}"
        )
    return last[0]


def main() -> None:
    """Serve the agent until the broker disconnects."""
    file, name = Path(sys.argv[1]), sys.argv[2]
    sys.path.insert(0, str(file.parent))
    try:
        agent = agent_of(file)
        agent.name = name
        serve(agent)
    except DovetailError as error:
        raise SystemExit(f"dovetail: {error}") from None


if __name__ == "__main__":
    main()
