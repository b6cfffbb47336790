"""Names that come over the wire or out of a saved state are looked up, never imported.

Every text that a peer can choose is tried with names of modules and files: each parameter of each
agent, each option of each environment, each text of each saved state, and the name of a game.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dovetail.peer import options, plugins
from dovetail.peer.agents.host import AgentHost
from dovetail.peer.environments.host import EnvironmentHost
from dovetail.protocol import messages as m
from dovetail.protocol.spaces import Box, Discrete

MODULES = ("cProfile:run", "os:system", "bdb:Bdb")
REQUIRED: dict[str, dict[str, Any]] = {
    "recorded": {"journal": "none"},
    "sb3": {"policy": "none"},
    "kaggle": {"policy": "none"},
    "scripted": {"actions": [0]},
}
"""The options that some agents need."""
NOT_MADE = {"recorded", "sb3", "kaggle", "language-model"}
"""Agents that cannot be made without a journal or a registered policy."""
NAMING = {
    "q-learning": "encoder",
    "alpha-beta": "evaluation",
    "rollouts": "evaluation",
    "dominion-q": "reward",
    "sb3": "algorithm",
    "kaggle": "policy",
}
"""Some texts of agents that must be among those that are tried, lest the walk miss them all."""
GAMES = {"gdl": "file", "amazons": "position", "kaggle": "id"}
"""The same of environments."""


class Watch:
    """Sees what is imported and loaded while it is there."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.marker = folder / "imported"
        self.file = folder / "x.py"
        self.file.write_text(
            f"open({str(self.marker)!r}, 'w').close()\ndef f(*a): open({str(self.marker)!r}, 'w')\n"
        )
        self.seen: list[str] = []
        wanted = {"cProfile", "os", "bdb", "x", str(self.file), str(self.file.with_suffix(""))}

        def watched(function: Any, place: int) -> Any:
            def call(*args: Any, **named: Any) -> Any:
                if str(args[place]) in wanted:
                    self.seen.append(str(args[place]))
                return function(*args, **named)

            return call

        patch.setattr(importlib, "import_module", watched(importlib.import_module, 0))
        locate = importlib.util.spec_from_file_location
        patch.setattr(importlib.util, "spec_from_file_location", watched(locate, 1))
        patch.setattr(os, "system", lambda *a: self.seen.append("os.system"))
        for name in ("cProfile", "bdb"):
            patch.delitem(sys.modules, name, raising=False)

    @property
    def names(self) -> list[str]:
        return [*MODULES, f"{self.file}:f", str(self.file)]

    def check(self, what: str) -> None:
        loaded = {"cProfile", "bdb", "x"} & sys.modules.keys()
        ran = ["the file"] if self.marker.exists() else []
        assert [*self.seen, *loaded, *ran] == [], what


@pytest.fixture
def watch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Watch:
    monkeypatch.chdir(tmp_path)
    return Watch(tmp_path, monkeypatch)


def texts(schema: dict[str, Any], name: str) -> Iterator[Any]:
    """Yield values with ``name`` as each text that a schema has room for."""
    for form in schema.get("anyOf", [schema]):
        match form.get("type"):
            case "string" if "enum" not in form:
                yield name
            case "array":
                items = form.get("items") or {"type": "string"}
                yield from ([each] for each in texts(items if items is not True else {}, name))
            case "object":
                yield {name: 1}
                yield {"name": name}
            case None if "enum" not in form:
                yield name


def parameters(kind: plugins.Kind, name: str, hostile: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield an option, and parameters in which it names something hostile."""
    struct = plugins.find(kind, name)
    schema = options.describe(struct.Parameters if kind == "agent" else struct.Configuration)
    for option, each in schema.items():
        for value in texts(each, hostile):
            yield option, {**REQUIRED.get(name, {}), option: value}


def spoiled(value: Any, hostile: str) -> Iterator[Any]:
    """Yield copies of a decoded state, each with another one of its texts replaced."""
    if isinstance(value, str):
        yield hostile
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from ({**value, key: other} for other in spoiled(part, hostile))
    elif isinstance(value, list):
        for place, part in enumerate(value[:50]):
            for other in spoiled(part, hostile):
                yield [*value[:place], other, *value[place + 1 :]]


def init(game: str, instance: int) -> list[m.Message]:
    """Return messages that seat an agent in a game of such a name and ask it for an action."""
    spec = m.Spec(
        name=game, seats=2, observation_spaces=[Box([2, 3], 0, 9)], action_spaces=[Discrete(4)]
    )
    start = m.AgentStart(1, instance, 0, 0, 1, "learn", observation="import this", legal=[0, 1])
    return [m.Init(instance, 0, instance, spec, True), start]


@pytest.mark.rule("S13.4")
@pytest.mark.parametrize("name", plugins.names("agent"))
def test_no_parameter_state_or_game_of_an_agent_names_an_import(name: str, watch: Watch) -> None:
    host = AgentHost([plugins.find("agent", name)])
    number = 0
    tried = set()
    for hostile in watch.names:
        for option, given in parameters("agent", name, hostile):
            number += 1
            host.handle([m.Create(number, number, name, given, 1), *init("toy", number)])
            watch.check(f"{option} = {hostile}")
            tried.add(option)
        number += 1
        made = host.handle([m.Create(number, number, name, REQUIRED.get(name, {}), 1)])
        if isinstance(made[0], m.Error):
            if "needs the program" in made[0].message and not os.environ.get("CI"):
                pytest.skip(made[0].message)  # .ci/run installs the engines
            assert name in NOT_MADE, made[0].message
            continue
        if name != "human":  # it would ask the terminal
            host.handle(init(hostile, number))
            watch.check(f"a game named {hostile}")
        (saved,) = host.handle([m.Save(10_000 + number, number)])
        if not isinstance(saved, m.Saved) or not saved.state:
            continue
        for codec in (msgspec.msgpack, msgspec.json):
            try:
                state = codec.decode(saved.state)
            except msgspec.DecodeError:
                continue
            for other in spoiled(state, hostile):
                number += 1
                data = codec.encode(other)
                create = m.Create(number, number, name, REQUIRED.get(name, {}), 1, data)
                host.handle([create, *init("toy", number)])
                watch.check(f"a state with {hostile}")
            break
    assert NAMING.get(name) in {*tried, None}


@pytest.mark.rule("S13.4")
@pytest.mark.parametrize("name", plugins.names("environment"))
def test_no_option_of_an_environment_names_an_import(name: str, watch: Watch) -> None:
    host = EnvironmentHost([plugins.find("environment", name)])
    match = 0
    tried = set()
    for hostile in watch.names:
        for option, given in parameters("environment", name, hostile):
            match += 1
            host.handle([m.Open(match, name, given)])
            tried.add(option)
            watch.check(f"{option} = {hostile}")
        host.handle([m.Open(10_000 + match, hostile)])
        watch.check(f"an environment named {hostile}")
    assert GAMES.get(name) in {*tried, None}


@pytest.mark.rule("S13.4")
def test_an_agent_named_like_a_file_is_not_imported(watch: Watch) -> None:
    host = AgentHost([plugins.find("agent", "random")])
    for number, hostile in enumerate(watch.names):
        (said,) = host.handle([m.Create(number, number, hostile)])
        assert isinstance(said, m.Error)
        watch.check(f"an agent named {hostile}")
