"""Values whose meaning is plain are taken; where it is not, one line says what to write."""

from __future__ import annotations

import enum
import itertools
from typing import Any

import numpy as np
import pytest

from dovetail import (
    Agent,
    BatchAgent,
    DovetailError,
    Environment,
    InProcess,
    Spec,
    Turn,
    spaces,
)
from dovetail.client.sitting import sit
from dovetail.peer import coercion as given
from dovetail.peer.agents.random_agent import Random
from dovetail.peer.environments.lookahead import Walk
from dovetail.testing import check_environment
from dovetail_bridges.pettingzoo.table import RulesTable
from dovetail_games.connect_four import ConnectFour


class Three(enum.IntEnum):
    """A number of a class of its own."""

    three = 3


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.int64(3), 3),
        (np.array(3), 3),
        (np.array([3], np.uint8), 3),
        (np.array([[3]]), 3),
        (Three.three, 3),
        (True, True),
        (np.bool_(True), True),
        (3.0, 3.0),
        ("3", "3"),
        (None, None),
    ],
)
def test_a_number_is_taken_where_it_is_plainly_one(value: Any, expected: Any) -> None:
    found = given.number(value)
    assert (found, type(found) is int) == (expected, type(expected) is int)


@pytest.mark.parametrize("value", [np.array(1.0), np.array([True]), np.array([1, 2])])
def test_other_arrays_are_no_numbers(value: Any) -> None:
    assert given.number(value) is value


LEGAL: list[tuple[Any, list[int] | bytes | None]] = [
    (None, None),
    (b"\x03", b"\x03"),
    (bytearray(b"\x03"), b"\x03"),
    ((1, 3), [1, 3]),
    (range(1, 3), [1, 2]),
    ([np.array(1), np.array(3)], [1, 3]),
    ({3, 1}, [1, 3]),
    ({1: "a", 3: "b"}.keys(), [1, 3]),
    ((each for each in (1, 3)), [1, 3]),
    (np.array([1, 3]), [1, 3]),
    (np.array([False, True, False, True]), [1, 3]),
]


@pytest.mark.parametrize(("value", "expected"), LEGAL)
def test_legal_actions_are_taken_in_any_form_that_is_plain(value: Any, expected: Any) -> None:
    assert given.legal(value) == expected


@pytest.mark.parametrize(
    "value",
    ["13", {1: 2}, 7, np.array([0, 1, 0], np.int8), np.array([[1, 3]]), np.array([1.0, 3.0])],
)
def test_other_legal_actions_are_refused_with_what_to_write(value: Any) -> None:
    with pytest.raises(DovetailError, match="give a list of actions, or a mask"):
        given.legal(value)


def test_an_endless_list_is_refused() -> None:
    with pytest.raises(DovetailError, match="give fewer"):
        given.plain({"seeds": itertools.count()})


class Loose(Environment):
    """One turn; a class attribute says what is legal."""

    name = "loose"
    legal: Any = None
    last: Any = None
    actions: spaces.Space = spaces.Discrete(5)

    def init(self) -> Spec:
        return Spec(
            seats=1, observation_spaces=[spaces.Discrete(2)], action_spaces=[type(self).actions]
        )

    def start(self, seed: int) -> Turn:
        return Turn.ask(0, 0, type(self).legal)

    def step(self, actions: Any) -> Turn:
        type(self).last = actions[0]
        return Turn.end([0], [1.0])


class Says(Agent):
    """Answers what a class attribute says."""

    name = "says"
    action: Any = None

    def step(self, decision: Any) -> Any:
        return type(self).action


class SaysTogether(BatchAgent):
    """The same for decisions together."""

    name = "together"

    def step_batch(self, decisions: Any) -> Any:
        return [Says.action for _ in decisions]


@pytest.mark.parametrize("legal", [[1, 3], (1, 3), np.array([1, 3]), range(1, 4, 2), None])
@pytest.mark.parametrize("stacked", [False, True])
@pytest.mark.parametrize("player", [Says, SaysTogether])
@pytest.mark.parametrize("action", [3, np.array(3), np.array([3]), np.int32(3)])
def test_an_array_of_one_integer_is_an_action(
    monkeypatch: pytest.MonkeyPatch, legal: Any, stacked: bool, player: type[Agent], action: Any
) -> None:
    monkeypatch.setattr(Loose, "legal", legal)
    monkeypatch.setattr(Says, "action", action)
    with InProcess([Loose], [player]) as experiment:
        agent = experiment.create(player.name)
        [episode] = experiment.run("loose", [agent], stacked=stacked, retries=0)
    assert (episode.reason, episode.message, episode.seats[0].breaches) == ("terminated", "", 0)
    assert Loose.last == 3


def test_numbers_in_nested_actions_are_taken_and_boxes_stay_arrays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    space = spaces.Dict({"pair": spaces.Tuple([spaces.Discrete(4), spaces.Box([1], 0.0, 1.0)])})
    monkeypatch.setattr(Loose, "actions", space)
    amount = np.array([0.5], np.float32)
    monkeypatch.setattr(Says, "action", {"pair": (np.array(3), amount)})
    with InProcess([Loose], [Says]) as experiment:
        [episode] = experiment.run("loose", [experiment.create("says")], check=True)
    assert (episode.reason, episode.message) == ("terminated", "")
    number, box = Loose.last["pair"]
    assert (number, type(number)) == (3, int)
    assert isinstance(box, np.ndarray)


def test_a_seat_in_the_callers_loop_takes_them_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Loose, "legal", np.array([1, 3]))
    for action in (np.array([3]), np.int64(3)):
        with sit(Loose) as game:
            game.reset()
            assert game.step(action)[1:3] == (1.0, True)
        assert Loose.last == 3


def test_lookahead_tables_and_the_checker_take_numpys_legal_actions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    both: Any = np.array([1, 3])

    class Twice(Loose):
        """A second turn has them, too."""

        name = "twice"

        def step(self, actions: Any) -> Turn:
            first, self.second = not hasattr(self, "second"), True
            return Turn.ask(0, 0, both) if first else super().step(actions)

        def start(self, seed: int) -> Turn:
            self.__dict__.pop("second", None)
            return Turn.ask(0, 0, both)

    environment = Twice()
    environment.start(0)
    [preview] = Walk(environment, [0], 1).previews([[[1]]])
    assert preview.seats[0].legal == [1, 3]
    table = RulesTable(Twice)
    table.start(0)
    assert table.observe(0)["action_mask"].tolist() == [0, 1, 0, 1, 0]
    check_environment(Twice, episodes=2)


@pytest.mark.parametrize("seeds", [range(3, 5), np.arange(3, 5), (3, 4), iter([3, 4])])
def test_seeds_may_be_any_list(seeds: Any) -> None:
    with InProcess([ConnectFour], [Random]) as experiment:
        agents = [experiment.create("random"), experiment.create("random")]
        run = experiment.run("connect_four", agents, episodes=2, seeds=seeds)
        assert [each.seed for each in run] == [3, 4]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"seeds": 5}, "run, option 'seeds': it must be a list or nothing, not 5"),
        ({"seeds": [1 << 70]}, "run, option 'seeds': a number in it is too large"),
        ({"configuration": {"rows": object()}}, "run, option 'configuration': .*cannot travel"),
        ({"label": "\ud800"}, "run, option 'label': a text in it has half of a surrogate pair"),
    ],
)
def test_a_line_names_the_option_that_is_wrong(options: Any, expected: str) -> None:
    with InProcess([ConnectFour], [Random]) as experiment:
        agents = [experiment.create("random"), experiment.create("random")]
        with pytest.raises(DovetailError, match=expected):
            experiment.run("connect_four", agents, **options)
        with pytest.raises(DovetailError, match=r"message, option 'body': .*cannot travel"):
            experiment.message(agents[0], object())
        with pytest.raises(DovetailError, match=r"create, option 'parameters': .*cannot travel"):
            experiment.create("random", parameters={"a": object()})
