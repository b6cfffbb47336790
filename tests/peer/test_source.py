"""Where a file says something: the line of a key, whatever form of TOML it is written in."""

from __future__ import annotations

from pathlib import Path

import pytest

from dovetail.peer.config_location import ConfigSource, Step

TEXT = '''# of no matter
name = "x"
text = """
[not.a.table]
seed = 1
"""
seats = [
    "a",
    "b",
]

[agents."the first"]
type = "td"
parameters.hidden = 3
parameters."learning rate" = { start = 1, end = 2 }

[[phases]]
name = "one"
[phases.clock]
decision = 1

[[phases]]
name = "two"
[phases.clock]
decision = 2

[sweep.parameters]
"agents.the first.parameters.hidden" = [
    1,
    2,
]
'''


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a.toml"
    path.write_text(TEXT)
    return path


@pytest.mark.parametrize(
    ("steps", "line"),
    [
        (("name",), 2),
        (("text",), 3),
        (("seats", 1), 7),
        (("agents",), 12),
        (("agents", "the first", "seed"), 12),
        (("agents", "the first", "parameters"), 14),
        (("agents", "the first", "parameters", "learning rate", "end"), 15),
        (("phases", 0, "clock", "decision"), 20),
        (("phases", 1), 22),
        (("phases", 1, "clock", "decision"), 25),
        (("phases", 2), 17),
        (("sweep", "parameters", "agents.the first.parameters.hidden"), 28),
    ],
)
def test_the_line_of_a_place(path: Path, steps: tuple[Step, ...], line: int) -> None:
    assert ConfigSource(path).at(*steps) == f"{path}, line {line}"


def test_what_the_file_does_not_have(path: Path) -> None:
    assert ConfigSource(path).at("nothing") == ConfigSource(path).at() == str(path)
    missing = path.parent / "b.toml"
    assert ConfigSource(missing).at("name") == str(missing)
    json = path.parent / "a.json"
    json.write_text('{"name": "x"}')
    assert ConfigSource(json).at("name") == str(json)


def test_what_was_set_from_elsewhere(path: Path) -> None:
    hidden = "agents.the first.parameters.hidden"
    steps = hidden.split(".")
    assert ConfigSource(path, (hidden,)).at(*steps) == f"{path}, --set {hidden}"
    assert ConfigSource(path, (hidden,)).at(*steps[:-1]) == f"{path}, line 14"
    assert (
        ConfigSource(path, swept={hidden: ("sweep", "parameters", hidden)}).at(*steps)
        == f"{path}, line 28"
    )
    made = "agents.second.parameters.hidden"
    assert ConfigSource(path, (made,)).at("agents", "second") == f"{path}, --set {made}"
    assert ConfigSource(path, (made,)).at("agents", "third") == f"{path}, line 12"
