"""The state machines are closed, reachable, and name messages that exist."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import pytest

from dovetail.protocol import states
from dovetail.protocol.errors import ProtocolError
from dovetail.protocol.states import LocalStateError, Machine, RemoteStateError, column
from dovetail_generate import document, examples

Table = Mapping[Any, Mapping[str, str]]

TABLES = [
    pytest.param(states.SESSION, "new", id="session"),
    pytest.param(states.MATCH, "opening", id="match"),
    pytest.param(states.SEAT, "free", id="seat"),
    pytest.param(states.RUN, "running", id="run"),
]


@pytest.mark.parametrize(("table", "first"), TABLES)
def test_every_next_state_is_a_state(table: Table, first: str) -> None:
    assert {each for row in table.values() for each in row.values()} <= table.keys()


@pytest.mark.parametrize(("table", "first"), TABLES)
def test_every_state_is_reachable(table: Table, first: str) -> None:
    reached, new = {first}, [first]
    while new:
        for state in table[new.pop()].values():
            if state not in reached:
                reached.add(state)
                new.append(state)
    assert reached == table.keys()


@pytest.mark.parametrize(("table", "first"), TABLES)
def test_every_message_of_a_table_exists(table: Table, first: str) -> None:
    known = {examples.tag(kind) for _, _, kinds in examples.directions() for kind in kinds}
    assert {event for row in table.values() for event in row} <= known | document.EVENTS.keys()


def test_every_event_of_the_broker_is_in_a_table() -> None:
    events = {
        event for table, _ in document.TABLES.values() for row in table.values() for event in row
    }
    assert events >= document.EVENTS.keys()


def test_every_table_is_in_the_spec() -> None:
    broker = [each for name, each in vars(states).items() if name.isupper()]
    assert broker == [table for table, _ in document.TABLES.values()]


def test_the_named_states_are_those_of_the_tables() -> None:
    assert set(get_args(states.MatchPhase)) == states.MATCH.keys()
    assert set(get_args(states.SeatPhase)) == states.SEAT.keys()
    assert set(get_args(states.SessionPhase)) == states.SESSION.keys()
    assert set(get_args(states.RunPhase)) == states.RUN.keys()


def test_an_end_is_always_possible_for_a_seat_that_plays() -> None:
    for state in ("seated", "deciding", "waiting"):
        assert states.SEAT[state]["end"] == "seated"


def test_what_a_table_does_not_name_leads_nowhere() -> None:
    assert "action" not in states.SEAT["waiting"]
    assert "cancel" not in states.RUN["over"]
    assert states.MATCH["decision"]["step"] == "transition"


def test_a_machine_moves_by_its_table_and_not_otherwise() -> None:
    machine = Machine(states.MATCH, "opening")
    assert machine.takes("spec")
    machine.on("spec")
    assert machine.state == "idle"
    assert not machine.takes("turn")
    with pytest.raises(LocalStateError, match=r"^cannot turn a match that is idle$"):
        machine.on("turn")
    assert machine.state == "idle"


@pytest.mark.parametrize(
    ("role", "table", "state", "event"),
    [
        ("session", states.SESSION, "gone", "hello"),
        ("match", states.MATCH, "decision", "turn"),
        ("seat", states.SEAT, "waiting", "action"),
        ("run", states.RUN, "over", "pause"),
    ],
)
def test_a_refusal_names_event_role_and_state(
    role: str, table: Table, state: str, event: str
) -> None:
    """A mistake of this program's is told from one of a peer's, which the peer is told of."""
    said = f"cannot {event} a {role} that is {state}"
    machine = Machine(table, state)
    with pytest.raises(LocalStateError) as local:
        machine.on(event)
    with pytest.raises(LocalStateError) as looked_up:
        machine.move(column(table, event))
    with pytest.raises(RemoteStateError) as remote:
        machine.ask(event)
    assert [str(each.value) for each in (local, looked_up, remote)] == [said] * 3
    assert remote.value.code == "wrong-state"
    assert not isinstance(local.value, ProtocolError)
    assert machine.state == state


def test_what_a_peer_asks_for_moves_a_machine() -> None:
    machine = Machine(states.RUN, "running")
    machine.ask("pause")
    assert machine.state == "paused"


@pytest.mark.parametrize(("table", "first"), TABLES)
def test_a_column_leads_where_the_table_does(table: Table, first: str) -> None:
    events = {event for row in table.values() for event in row}
    for event in events:
        for state in table:
            one, other = Machine(table, state), Machine(table, state)
            if one.takes(event):
                one.on(event)
                other.move(column(table, event))
                assert one.state == other.state
            else:
                with pytest.raises(LocalStateError):
                    other.move(column(table, event))


def assigned(path: Path) -> bool:
    """Return whether a module assigns an attribute called ``state``."""
    return any(
        isinstance(node, ast.Attribute) and node.attr == "state" and isinstance(node.ctx, ast.Store)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    )


def test_only_one_module_assigns_a_state() -> None:
    top = Path(__file__).parents[2]
    files = list((top / "src/dovetail/broker").rglob("*.py")) + list(
        (top / "src/dovetail/protocol").rglob("*.py")
    )
    assert len(files) > 30
    found = {path.relative_to(top).as_posix() for path in files if assigned(path)}
    assert found == {"src/dovetail/protocol/states.py"}
