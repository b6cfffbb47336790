"""The names of our games in the registries of Gymnasium and PettingZoo."""

from __future__ import annotations

from importlib.metadata import entry_points

from dovetail.peer import registry

VERSIONS: dict[str, int] = {}
"""The version in a game's id, by default 1, to be raised when the rules change."""
FOREIGN = "dovetail_bridges."
"""The prefix of modules whose environments come from other libraries, and are not offered back."""


def ids() -> dict[str, str]:
    """Return the id of each installed or registered game by its name.

    >>> ids()["connect_four"]
    'dovetail/ConnectFour-v1'
    """
    installed = {each.name: each.value for each in entry_points(group="dovetail.environments")}
    found = {}
    for name in registry.names("environment"):
        where = installed.get(name, name)
        if not where.startswith(FOREIGN):
            title = name if name.isdigit() else where.rpartition(":")[2]
            found[name] = f"dovetail/{title}-v{VERSIONS.get(name, 1)}"
    return found
