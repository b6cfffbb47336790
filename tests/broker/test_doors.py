"""One judgement at every door: what a program says counts in process as it does over a socket."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.broker.remote import served

from dovetail import Agent, Decision, Environment, Experiment, InProcess, Spec, Turn, spaces
from dovetail.broker.core.core import Settings
from dovetail.broker.core.intake import light
from dovetail.protocol import codec
from dovetail.protocol import messages as m
from dovetail.protocol.scenes import Cell, Choice, Piece, Scene, Seated

pytestmark = pytest.mark.processes


class Shows(Environment):
    """One decision; a class attribute is what the seat sees."""

    name = "shows"
    seen: Any = 0
    legal: Any = None

    def init(self) -> Spec:
        return Spec(
            seats=1,
            observation_spaces=[spaces.Discrete(2)],
            action_spaces=[spaces.Discrete(2)],
        )

    def start(self, seed: int) -> Turn:
        return Turn.ask(0, type(self).seen, type(self).legal)

    def step(self, actions: Any) -> Turn:
        return Turn.end([0], [1.0])

    def message(self, body: Any) -> Any:
        return type(self).seen


class Notes(Agent):
    """Keeps what it saw, and answers what a class attribute says."""

    name = "notes"
    saw: Any = None
    action: Any = 0

    def step(self, decision: Any) -> Any:
        type(self).saw = decision.observation
        return type(self).action

    def message(self, body: Any) -> Any:
        return Shows.seen

    def save(self) -> Any:
        return Shows.seen


@contextmanager
def door(kind: str) -> Iterator[Experiment]:
    if kind == "process":
        with InProcess([Shows], [Notes]) as experiment:
            yield experiment
        return
    with served([Shows], [Notes]) as address, Experiment.connect(address) as experiment:
        experiment.expect(["shows"], ["notes"])
        yield experiment


def nested(depth: int) -> Any:
    value: Any = 0
    for _ in range(depth):
        value = [value]
    return value


class Text(str):
    """Text of a class of its own."""


VALUES: dict[str, Any] = {
    "number": 7,
    "large": (1 << 64) - 1,
    "too-large": 1 << 64,
    "too-small": -(1 << 63) - 1,
    "nothing": None,
    "bool": True,
    "float": 0.5,
    "text": "a",
    "text-class": Text("a"),
    "surrogate": "\ud800",
    "bytes": b"a",
    "bytearray": bytearray(b"a"),
    "array": np.arange(4, dtype=np.int16).reshape(2, 2),
    "big-endian": np.arange(3, dtype=">f4"),
    "transposed": np.arange(6).reshape(2, 3).T,
    "read-only": np.frombuffer(b"abc", np.uint8),
    "zero-dimensions": np.array(2.5),
    "empty": np.zeros((0, 3)),
    "bools": np.array([True, False]),
    "matrix": np.matrix([[1, 2]]),
    "complex": np.zeros(2, complex),
    "object": np.array([1, None], object),
    "words": np.array(["a"]),
    "records": np.zeros(2, [("a", int)]),
    "longdouble": np.zeros(2, np.longdouble),
    "dates": np.array(["2020-01-01"], "datetime64[D]"),
    "scalar": np.float32(0.5),
    "numbers": [1, np.int64(2), (3, 4)],
    "sets": {"a": frozenset([1])},
    "keys": {"a": {"b": (1, 2.0)}},
    "deep": nested(29),
    "too-deep": nested(40),
    "many": list(range(120_000)),
    "too-many-bytes": np.zeros((2160, 3840, 3), np.uint8),
    "type": object,
    "class": object(),
    "range": range(3),
    "32-dimensions": np.zeros((1,) * 32),
    "33-dimensions": np.zeros((1,) * 33),
    "masked": np.ma.array([1, 2], mask=[False, True]),
    "date": datetime.date(2026, 1, 1),
}


def described(value: Any) -> Any:
    """Return a value in a form that can be compared, with the types of all that is in it."""
    if isinstance(value, np.ndarray):
        return ("array", value.dtype.str, value.shape, value.tolist(), value.flags.writeable)
    if isinstance(value, dict):
        return {key: described(each) for key, each in value.items()}
    if isinstance(value, list):
        return [described(each) for each in value]
    return type(value).__name__, value


def counted(text: str) -> str:
    """Return a line without the numbers of peers and of bytes of names."""
    return re.sub(r"\d[\d,]*", "N", text)


def seen(experiment: Experiment) -> Any:
    """Return how an episode ended and what the agent saw."""
    Notes.saw = "nothing yet"
    run = experiment.run("shows", [experiment.create("notes")], retries=0, check=False)
    try:
        [episode] = run
    except Exception as error:
        return str(error)
    return episode.reason, counted(episode.message), described(Notes.saw)


def everything(experiment: Experiment) -> list[Any]:
    """Return what comes of the present value in every place."""
    found = [seen(experiment)]
    run = experiment.run("shows", [experiment.create("notes")], stepwise=True)
    agent = experiment.create("notes")
    asked: list[Callable[[], Any]] = [lambda: agent.message(1), lambda: run.message(1), agent.save]
    for ask in asked:
        try:
            found.append(described(ask()))
        except Exception as error:
            found.append(counted(str(error)))
    run.cancel()
    return found


@pytest.fixture(scope="module")
def remote() -> Iterator[Experiment]:
    with door("socket") as experiment:
        yield experiment


@pytest.mark.parametrize("name", VALUES)
def test_a_value_counts_in_process_as_over_a_socket(
    remote: Experiment, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(Shows, "seen", VALUES[name])
    expected = everything(remote)
    with door("process") as experiment:
        assert everything(experiment) == expected


@pytest.mark.parametrize("name", VALUES)
def test_an_action_counts_in_process_as_over_a_socket(
    remote: Experiment, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(Notes, "action", VALUES[name])
    expected = seen(remote)
    with door("process") as experiment:
        assert seen(experiment) == expected


def test_an_action_of_another_dtype_hears_which_is_expected() -> None:
    class Steers(Environment):
        def init(self) -> Spec:
            box = spaces.Box([2], 0, 1, "float32")
            return Spec(seats=1, observation_spaces=[spaces.Discrete(1)], action_spaces=[box])

        def start(self, seed: int) -> Turn:
            return Turn.ask(0, 0)

        def step(self, actions: Any) -> Turn:
            return Turn.end([0], [0.0])

    class Doubles(Agent):
        def step(self, decision: Decision) -> Any:
            return np.array([0.25, 0.5])

    with InProcess([Steers], [Doubles]) as experiment:
        [episode] = experiment.run("steers", [experiment.create("doubles")])
    assert episode.reason == "illegal-action"
    assert "array([0.25, 0.5 ]) of dtype float64 is not legal; it is not in Box(" in episode.message
    assert "dtype='float32'" in episode.message


def test_an_array_is_what_it_was_when_it_was_handed_out() -> None:
    class Reuses(Environment):
        """Writes every observation into the same array, and its legal actions into the same
        list."""

        name = "reuses"

        def init(self) -> Spec:
            self.board, self.open = np.zeros(2, np.int8), [0, 1]
            space: list[spaces.Space] = [spaces.Box([2], 0, 9, "int8")]
            return Spec(seats=1, observation_spaces=space, action_spaces=[spaces.Discrete(2)])

        def start(self, seed: int) -> Turn:
            self.board[:] = 1
            return Turn.ask(0, self.board, self.open)

        def step(self, actions: Any) -> Turn:
            self.board += 1
            self.open.reverse()
            over = self.board[0] == 4
            return Turn.end([self.board], [1.0]) if over else Turn.ask(0, self.board, self.open)

    kept: list[Any] = []

    class Keeps(Agent):
        """Keeps what it sees, and tries to write into it."""

        def step(self, decision: Any) -> int:
            kept.append((decision.observation, decision.legal))
            with pytest.raises(ValueError, match="read-only"):
                decision.observation[0] = 9
            return 0

    with InProcess([Reuses], [Keeps]) as experiment:
        [episode] = experiment.run("reuses", [experiment.create("keeps")], check=False)
    assert episode.reason == "terminated"
    assert [(array.tolist(), legal) for array, legal in kept] == [
        ([1, 1], [0, 1]),
        ([2, 2], [1, 0]),
        ([3, 3], [0, 1]),
    ]


@pytest.mark.parametrize("size", [900, 1100])
def test_a_frame_in_process_has_the_limits_of_the_broker(size: int) -> None:
    limits = m.Limits(frame=1000 + 1024)
    with InProcess([Shows], [Notes], settings=Settings(limits=limits)) as experiment:
        Shows.seen = np.zeros(1000 + size, np.uint8)
        try:
            reason, message, _ = seen(experiment)
        finally:
            Shows.seen = 0
    assert (reason == "terminated") == (size == 900)
    assert ("the broker accepts at most N" in message) == (size == 1100)


NUMBERS = st.one_of(
    st.integers(-(1 << 65), 1 << 65), st.booleans(), st.none(), st.floats(), st.text()
)
LOOSE = st.one_of(
    NUMBERS,
    st.lists(NUMBERS, max_size=3),
    st.lists(NUMBERS, max_size=3).map(tuple),
    st.text(max_size=3),
    st.sampled_from([np.zeros((2, 3), np.int8), np.zeros(2, ">i4"), np.float64(1), np.array(3)]),
)

SCENES: list[Any] = [
    *(m.NIL, None, {}, Scene(), Scene(2.0, 1.0, [Cell(0.0, 0.0, name="é")], [Piece(0, "disc", 1)])),
    Scene(choices=[Choice(3, "c", [0])], seats=[Seated("A", np.float64(2))]),
    Scene(choices=[Choice([3], "c"), Choice({1: 2}, "d")]),
    Scene(choices=[Choice(1 << 65, "c")]),
    *(Scene(paths=np.zeros((1, 2), np.int64)), Scene(paths=[[{}]])),
    *(Scene(caption=4), Scene(caption="\ud800"), Scene(palette={1: []})),  # type: ignore[arg-type, dict-item]
]


@settings(max_examples=400, deadline=None)
@given(
    seen=st.lists(LOOSE, max_size=3),
    text=st.one_of(NUMBERS, st.sampled_from(["x o", "é"])),
    scene=st.sampled_from(SCENES),
    after=st.one_of(st.just(m.NIL), LOOSE),
    legal=st.one_of(st.none(), st.binary(max_size=3), st.lists(NUMBERS, max_size=3)),
    reward=st.one_of(st.floats(), NUMBERS),
    over=NUMBERS,
    outcome=st.one_of(st.none(), st.lists(st.one_of(st.floats(), NUMBERS), max_size=3)),
)
def test_a_turn_that_goes_through_no_frame_arrives_as_through_one(
    seen: list[Any],
    text: Any,
    scene: Any,
    after: Any,
    legal: Any,
    reward: Any,
    over: Any,
    outcome: Any,
) -> None:
    views: list[Any] = [m.View(seat, one, legal, reward) for seat, one in enumerate(seen)]
    for view in views[:1]:
        view.text, view.scene, view.afterstates = text, scene, after
    turn = m.Turn(seats=views, to_act=[0], terminated=over, outcome=outcome)
    before = [view.observation for view in views]
    found = light(turn, m.Limits())
    assert all(view.observation is one for view, one in zip(views, before, strict=True))
    if found is None:
        return
    whole: m.Turn = codec.Decoder(m.Turn).decode(codec.encode(turn))
    for view in whole.seats:
        view.observation = codec.opened(view.observation)
    expected = [described(view.observation) for view in whole.seats]
    assert [described(view.observation) for view in found.seats] == expected or "nan" in str(
        expected
    )
    for view in (*whole.seats, *found.seats):
        view.observation = m.NIL
    assert codec.encode(found) == codec.encode(whole)


@pytest.mark.parametrize("name", ["observation", "afterstates"])
@pytest.mark.parametrize("kept", [True, False])
def test_an_array_that_rules_keep_is_copied_and_one_that_they_gave_away_is_not(
    kept: bool, name: str
) -> None:
    board = np.zeros((3, 4))
    turn = Turn.ask(0, 1)
    setattr(turn.seats[0], name, board)
    place = board.ctypes.data
    whole = board[:] if kept else None
    del board
    found = light(turn, m.Limits())
    assert found is not None  # through no frame
    seen = getattr(found.seats[0], name)
    assert (seen.ctypes.data != place) is kept
    assert not seen.flags.writeable
    if whole is not None:
        whole[0, 0] = 1.0  # rules go on with their board
        assert seen[0, 0] == 0.0


@pytest.mark.parametrize(
    "shown",
    [lambda board: board.T, lambda board: board[::-1], lambda board: np.asfortranarray(board)],
    ids=["transposed", "reversed", "fortran"],
)
def test_an_array_in_another_order_arrives_in_c_order(shown: Callable[[Any], Any]) -> None:
    board = np.arange(6).reshape(2, 3)
    found = light(Turn.ask(0, shown(board)), m.Limits())
    assert found is not None
    seen = found.seats[0].observation
    assert seen.flags.c_contiguous
    assert (seen == shown(board)).all()


def test_a_scene_goes_through_no_frame_unless_something_else_lies_in_it() -> None:
    def lightly(scene: Any, text: str | None = "x", limits: m.Limits | None = None) -> bool:
        view = m.View(0, 1, text=text, scene=scene)
        return light(Turn(seats=[view], to_act=[0]), limits or m.Limits()) is not None

    drawn = Scene(1.0, 1.0, [Cell(0.0, 0.0)], choices=[Choice(3, "c", [0])])
    assert lightly(drawn)
    assert lightly(Scene(paths=np.zeros((1, 2), np.int64)))
    assert not lightly(drawn, limits=m.Limits(depth=7))
    assert not lightly(drawn, "é")
    assert not lightly(Scene(choices=[Choice([3], "c")]))
    assert not lightly(Scene(caption=4))  # type: ignore[arg-type]


def test_legal_actions_and_scores_of_a_turn_are_those_that_a_frame_carries() -> None:
    turn = Turn.ask(0, 0, [np.int64(1), 2])  # type: ignore[list-item]
    found = light(turn, m.Limits())
    assert found is not None
    assert [type(each) for each in found.seats[0].legal or ()] == [int, int]
    assert found.seats[0].legal is not turn.seats[0].legal
    assert light(Turn.ask(0, 0, [True]), m.Limits()) is None
    assert light(Turn.ask(0, 0, [1 << 64]), m.Limits()) is None
    assert light(Turn.end([0], [1.0], winners=[0]), m.Limits()) is not None
    assert light(m.Turn(terminated=True, outcome=["1"]), m.Limits()) is None  # type: ignore[list-item]
