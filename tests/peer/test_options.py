"""Options: what is wrong with one is said in a line that names it; and where a file says something:
the line of a key, whatever form of TOML it is written in."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeVar

import pytest
from msgspec import Meta, Struct

from dovetail.peer import options
from dovetail.peer.config_location import ConfigSource, Step
from dovetail.peer.environments.environment import Environment, NoConfiguration
from dovetail.peer.options import named_struct
from dovetail.peer.presets import preset, tried
from dovetail.protocol.errors import DovetailError


class Board(Struct, frozen=True):
    """A board."""

    rows: Annotated[int, Meta(ge=4, le=20)] = 6
    first: Literal["x", "o"] = "x"
    rates: list[float] = []


class Nothing(Struct):
    pass


def test_options_are_read_with_their_defaults() -> None:
    assert options.read(Board, {"rows": 8}, "environment board") == Board(8, "x", [])
    assert options.read(Nothing, {}, "agent nobody") == Nothing()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"row": 8},
            "environment board has no option 'row'; did you mean 'rows'? it has first, rates, rows",
        ),
        ({"rows": "8"}, "environment board, option 'rows': it must be an integer, not '8'"),
        ({"rows": 3}, "environment board, option 'rows': it must be an integer >= 4, not 3"),
        (
            {"first": "z"},
            "environment board, option 'first': it must be one of x, o, not 'z'",
        ),
        ({"rates": [1, "a"]}, "environment board, option 'rates[1]': it must be a number, not 'a'"),
        ({"rows": None}, "environment board, option 'rows': it must be an integer, not None"),
        ({"rates": [None]}, "environment board, option 'rates[0]': it must be a number, not None"),
    ],
)
def test_a_wrong_option_is_named(given: dict[str, object], said: str) -> None:
    with pytest.raises(DovetailError) as caught:
        options.read(Board, given, "environment board")
    assert str(caught.value) == said


class Open(Struct):
    value: Any = None
    value_of: float = 0.0


def test_only_an_option_of_any_value_may_be_not_a_number() -> None:
    read = options.read(Open, {"value": [math.nan, 1]}, "agent open").value
    assert math.isnan(read[0])
    with pytest.raises(DovetailError, match="option 'value_of': it must be a number, not NaN"):
        options.read(Open, {"value_of": math.nan}, "agent open")


class Needy(Struct):
    path: str
    size: Literal["half"] | int = 1


def test_what_is_missing_or_one_of_several_kinds_is_named() -> None:
    with pytest.raises(DovetailError, match=r"^agent needy needs its option 'path'$"):
        options.read(Needy, {}, "agent needy")
    for given, said in (("haf", "'haf'; did you mean 'half'?"), (1.5, "1.5")):
        with pytest.raises(DovetailError) as caught:
            options.read(Needy, {"path": "x", "size": given}, "agent needy")
        wanted = {"'half'", "an integer"}
        text = str(caught.value).removeprefix("agent needy, option 'size': it must be ")
        assert set(text.partition(", not ")[0].split(" or ")) == wanted
        assert text.partition(", not ")[2] == said


def test_options_that_experiments_still_give_may_be_missing_from_a_preset() -> None:
    class Two(Struct, frozen=True):
        size: Annotated[int, Meta(ge=2)]
        name: str

    class Game:
        Configuration = Two

    found = preset(Game, {"size": 3}, "game")
    assert options.read(found.Configuration, {"name": "x"}, "game") == found.Configuration(
        size=3, name="x"
    )
    tried(found, "game")  # it cannot be made yet, which is no mistake
    with pytest.raises(
        DovetailError, match="game, option 'size': it must be an integer >= 2, not 1"
    ):
        preset(Game, {"size": 1}, "game")
    with pytest.raises(DovetailError, match=r"game cannot be made: AttributeError: .*'init'"):
        tried(preset(Game, {"size": 3, "name": "x"}, "game"), "game")


def test_a_game_that_cannot_be_made_is_released() -> None:
    held: list[Any] = []

    class Game:
        Configuration = Nothing

        def init(self) -> None:
            held.append(self)
            raise DovetailError("the board is too small")

        def cleanup(self) -> None:
            held.remove(self)
            self.board.close()  # type: ignore[attr-defined]  # as one may that expects an init

    with pytest.raises(DovetailError, match="the board is too small"):
        tried(Game, "game")
    assert held == []


def test_an_owner_without_options_says_so() -> None:
    with pytest.raises(DovetailError, match="agent nobody has no option 'x'; it has none"):
        options.read(Nothing, {"x": 1}, "agent nobody")


def test_options_are_described_as_json_schema() -> None:
    described = options.describe(Board)
    assert described["rows"] == {"type": "integer", "minimum": 4, "maximum": 20, "default": 6}
    assert described["first"] == {"enum": ["o", "x"], "default": "x"}
    assert list(described) == ["rows", "first", "rates"]
    assert options.describe(Nothing) == {}


def test_the_argument_of_a_base_names_the_options() -> None:
    bound = TypeVar("bound", bound=Board)
    free = TypeVar("free")
    other = TypeVar("other")

    class Family(Environment[bound], Generic[bound, other]):
        """Its options are at least these."""

    class Open(Environment[free], Generic[free]):  # type: ignore[type-var]
        """It says nothing of its options."""

    class One(Family[Nothing, int]):  # type: ignore[type-var]
        """It has other options."""

    assert named_struct(Family, Environment) is Board
    assert named_struct(Open, Environment) is None
    assert (Family.Configuration, Open.Configuration) == (Board, NoConfiguration)
    assert One.Configuration is Nothing
    assert type("Two", (One,), {}).Configuration is Nothing  # type: ignore[attr-defined]
    assert type("Three", (One,), {"Configuration": Board}).Configuration is Board  # type: ignore[attr-defined]


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
