"""Files of others: whatever is in them costs little, and what is wrong is one line."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec import inspect

from dovetail.broker.peers import access_file
from dovetail.broker.peers.access import Access
from dovetail.peer import options, plugins
from dovetail.protocol import outside
from dovetail.protocol.errors import DovetailError
from dovetail.transport import keys
from dovetail_bridges.gdl import environment as gdl
from dovetail_experiments.arena import description
from dovetail_experiments.files import file as experiments
from dovetail_experiments.files import openings, sweep

HOSTILE = {
    "deep lists": ("x = " + "[" * 100_000, "levels"),
    "deep tables": ("x = " + "{a = " * 100_000, "levels"),
    "a key of many parts": (".".join("a" * 20_000) + " = 1", "levels"),
    "a header of many parts": ("[" + " . ".join('"b c"' for _ in range(20_000)) + "]", "levels"),
    "just too deep": (".".join("a" * 60) + " = 1", "levels"),
    "a number of many digits": ("x = " + "9" * 100_000, "is not valid TOML"),
    "an integer of 100 digits": ("x = [{a = " + "9" * 100 + "}]", "an integer of 333 bits"),
    "no TOML": ("x = = 1", "is not valid TOML"),
}
READERS: dict[str, Callable[[Path], object]] = {
    "experiment": experiments.read,
    "arena": description.read,
    "access": access_file.read,
    "key": keys.read,
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_table_is_one_line_soon(tmp_path: Path, reader: str, what: str) -> None:
    text, why = HOSTILE[what]
    path = tmp_path / "given.toml"
    path.write_text(text[: outside.SHORT])
    path.chmod(0o600)
    began = time.process_time()
    with pytest.raises(DovetailError, match=why) as failed:
        READERS[reader](path)
    assert "\n" not in str(failed.value)
    assert time.process_time() - began < 5  # the parser alone takes minutes for many parts


def test_a_file_that_is_not_utf_8_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "given.toml"
    path.write_bytes(b'x = "\xff"')
    with pytest.raises(DovetailError, match="is not valid TOML"):
        experiments.read(path)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "[1]", "{"])
def test_hostile_json_is_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "given.json"
    path.write_text(text)
    with pytest.raises(DovetailError, match=r"is not valid JSON|levels") as failed:
        experiments.read(path)
    assert "\n" not in str(failed.value)


def integers(kind: inspect.Type, seen: set[type]) -> Iterator[inspect.IntType]:
    """Yield the integers in a type, those in structs and lists included."""
    match kind:
        case inspect.IntType():
            yield kind
        case inspect.StructType() if kind.cls not in seen:
            seen.add(kind.cls)
            for field in kind.fields:
                yield from integers(field.type, seen)
        case inspect.UnionType():
            for each in kind.types:
                yield from integers(each, seen)
        case inspect.ListType():
            yield from integers(kind.item_type, seen)
        case inspect.TupleType():
            for each in kind.item_types:
                yield from integers(each, seen)
        case inspect.DictType():
            yield from integers(kind.value_type, seen)
        case inspect.Metadata():
            yield from integers(kind.type, seen)


FILES = {
    "experiment": experiments.ExperimentFile,
    "seeds and sweep": sweep.Keys,
    "arena": description.Arena,
    "access": Access,
}


@pytest.mark.parametrize("name", FILES)
def test_every_integer_of_a_file_has_bounds(name: str) -> None:
    """Those that a database, and arithmetic with a few of them, can hold."""
    seen: set[type] = set()
    found = 0
    for kind in (FILES[name], *FILES[name].__subclasses__()):
        for each in integers(inspect.type_info(kind), seen):
            found += 1
            assert (-math.inf if each.ge is None else each.ge) >= -(2**63), seen
            assert (math.inf if each.le is None else each.le) < 2**63, seen
    assert found


OFFERED = [
    (kind, name) for kind in ("agent", "environment") for name in plugins.names(cast("Any", kind))
]


@pytest.mark.parametrize(("kind", "name"), OFFERED)
def test_every_integer_of_an_option_has_an_upper_bound(kind: Any, name: str) -> None:
    found = plugins.find(kind, name)
    struct = found.Configuration if kind == "environment" else found.Parameters
    for each in integers(inspect.type_info(struct), set()):
        assert (math.inf if each.le is None else each.le) < 2**63, each


COUNTED = {
    "alpha-beta": {"nodes"},
    "amazons-player": {"snapshot_every", "halving"},
    "dominion-q": {"min_visits", "table_mib"},
    "dots-perfect": {"rows"},
    "dots-player": {"snapshot_every", "most_positions"},
    "gymnasium": set(),
    "kaggle": {"in_a_row", "players"},
    "language-model": {"tokens", "answer_tokens"},
    "openenv": {"actions", "sessions", "max_turns"},
    "openspiel-mcts": {"simulations"},
    "q-learning": {"min_visits", "table_mib"},
    "recorded": {"episode"},
    "rlgame": {"max_moves"},
    "rollouts": {"candidates", "rollout_actions"},
    "td": {"averaging"},
    "td-batch": {"averaging"},
    "td-rlgame": {"averaging"},
    "tetris": {"max_pieces"},
    "textarena": {"max_turns"},
    "uci": {"nodes", "depth", "options"},
}
"""Options beyond a million: counts of what is not kept, and sizes that the learner checks."""


@pytest.mark.parametrize(("kind", "name"), OFFERED)
def test_an_option_that_sizes_memory_has_a_low_bound(kind: Any, name: str) -> None:
    found = plugins.find(kind, name)
    struct = found.Configuration if kind == "environment" else found.Parameters
    (fields,) = [
        each.fields for each in [inspect.type_info(struct)] if isinstance(each, inspect.StructType)
    ]
    large = {
        field.name
        for field in fields
        for each in integers(field.type, set())
        if each.le is None or each.le > 1_000_000
    }
    assert large <= COUNTED.get(name, set())


@pytest.mark.parametrize("number", [2**63, 2**64 - 1])
@pytest.mark.parametrize("key", ["episodes", "max_turns", "concurrency", "openings", "save_every"])
def test_an_integer_too_large_names_its_line(tmp_path: Path, key: str, number: int) -> None:
    path = tmp_path / "given.toml"
    path.write_text(f"""
        name = "x"
        environment = {{ name = "connect_four" }}
        agents = {{ a = {{ type = "random" }} }}
        [[phases]]
        name = "p"
        seats = ["a", "a"]
        {key} = {number}
        """)
    with pytest.raises(DovetailError, match=f"line 8: .*{key} must be an integer <= "):
        experiments.read(path)


def test_more_stages_than_fit_are_one_line_soon(tmp_path: Path) -> None:
    path = tmp_path / "given.toml"
    path.write_text("""
        name = "x"
        environment = { name = "connect_four" }
        agents = { a = { type = "random" } }
        [[phases]]
        name = "p"
        seats = ["a", "a"]
        episodes = 1_000_000_000_000
        save_every = 1
        """)
    with pytest.raises(DovetailError, match=r"line 9: 'p': .* are 1000000000000 stages; at most"):
        experiments.read(path)


def test_what_never_ends_is_not_read_to_its_end() -> None:
    endless = Path("/dev/zero")
    for read in (
        lambda: outside.text(endless),
        lambda: keys.read(endless),
        lambda: experiments.read(endless),
        lambda: access_file.read(endless),
        lambda: gdl.read_file(str(endless)),
    ):
        with pytest.raises(DovetailError, match=r"has more than [\d,]+ bytes, the most"):
            read()


def test_openings_are_read_within_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outside, "LIST", 100)
    path = tmp_path / "book"
    path.write_text("0 1 2\n" * 10)
    assert openings.read(path)
    path.write_text("0 1 2\n" * 20)
    with pytest.raises(DovetailError, match="has more than 100 bytes"):
        openings.read(path)


def test_a_table_as_deep_as_any_that_is_needed_is_read(tmp_path: Path) -> None:
    path = tmp_path / "given.toml"
    path.write_text(f"{'.'.join('a' * 40)} = 1\nb = '{'a.' * 49}'\n# {'a.' * 40}\n")
    found = outside.table(path)
    assert found["b"] == "a." * 49
    for _ in range(39):
        (found,) = [each for each in found.values() if isinstance(each, dict)]
    assert found == {"a": 1}


@pytest.mark.parametrize("count", [4_000, 15_000])
def test_a_mistake_in_a_long_statement_is_reported_soon(tmp_path: Path, count: int) -> None:
    path = tmp_path / "given.toml"
    lines = ",\n".join(['"x"'] * count)
    path.write_text(f"name = 3\nwrong = [\n{lines}\n]\n")
    began = time.process_time()
    with pytest.raises(DovetailError):
        experiments.read(path)
    assert time.process_time() - began < 20


@pytest.mark.parametrize(("kind", "name"), OFFERED)
def test_no_option_is_not_a_number(kind: Any, name: str) -> None:
    found = plugins.find(kind, name)
    struct = found.Configuration if kind == "environment" else found.Parameters
    for key in struct.__struct_fields__:
        for value in (math.nan, [0.5, math.nan], {"a": [math.nan]}):
            with pytest.raises(DovetailError) as refused:
                options.read(struct, {key: value}, name)
            assert "\n" not in str(refused.value)
