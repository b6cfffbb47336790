"""A seat in the caller's own loop plays the episodes that a run would play, in process and at a
broker."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from dovetail import (
    Agent,
    DovetailError,
    Environment,
    Experiment,
    IllegalAction,
    InProcess,
    Spec,
    Turn,
)
from dovetail.broker.core.core import Settings
from dovetail.client.sitting import Opponent, Sitting, sit
from dovetail.peer.agents.agent import Decision
from dovetail.peer.agents.agent import End as Ended
from dovetail.peer.agents.random_agent import Random
from dovetail.protocol.messages import Episode
from dovetail.protocol.spaces import Discrete
from dovetail_games.connect_four import ConnectFour

pytestmark = pytest.mark.processes

SMALL = {"rows": 4, "columns": 4, "connect": 3}


class First(Agent):
    """Plays the first legal action."""

    def step(self, decision: Decision) -> Any:
        return (decision.legal or [1])[0]


class Witness(First):
    """Remembers how its episodes ended."""

    name = "witness"

    def __init__(self, parameters: Any = None, seed: int = 0) -> None:
        super().__init__(parameters, seed)
        self.ends: list[Ended] = []

    def end(self, end: Ended) -> None:
        self.ends.append(end)


class Fragile(First):
    """Fails at its second episode's first decision."""

    name = "fragile"

    def __init__(self, parameters: Any = None, seed: int = 0) -> None:
        super().__init__(parameters, seed)
        self.starts = 0

    def start(self, decision: Decision) -> Any:
        self.starts += 1
        if self.starts == 2:
            raise RuntimeError("I have fallen")
        return self.step(decision)


class Slow(First):
    """Answers once it may."""

    name = "slow"
    may = threading.Event()

    def step(self, decision: Decision) -> Any:
        self.may.wait(20)
        return super().step(decision)


class Guess(Environment):
    """Both name a number at once, twice; the higher one earns a point."""

    def init(self) -> Spec:
        return Spec(seats=2, observation_spaces=[Discrete(3)], action_spaces=[Discrete(4, start=1)])

    def start(self, seed: int) -> Turn:
        self.round = 0
        return Turn.simultaneous({0: 0, 1: 0})

    def step(self, actions: Mapping[int, Any]) -> Turn:
        self.round += 1
        rewards = [float(actions[0] > actions[1]), float(actions[1] > actions[0])]
        if self.round == 2:
            return Turn.end([2, 2], rewards)
        return Turn.simultaneous({0: 1, 1: 1}, rewards=dict(enumerate(rewards)))


class Late(Environment):
    """Seat 1 alone decides, and only in every second episode."""

    def init(self) -> Spec:
        return Spec(seats=2, observation_spaces=[Discrete(5)], action_spaces=[Discrete(2)])

    def __init__(self, configuration: Any = None) -> None:
        super().__init__(configuration)
        self.episodes = 0

    def start(self, seed: int) -> Turn:
        self.episodes += 1
        return Turn.ask(self.episodes % 2, 0, [0, 1])

    def step(self, actions: Mapping[int, Any]) -> Turn:
        return Turn.end([4, 4], [3.0, 1.0])


def play(game: Sitting, rng: random.Random, seed: int | None = None) -> tuple[float, Episode]:
    _, info = game.reset(seed=seed)
    total = 0.0
    while not info["over"]:
        _, reward, _, _, info = game.step(rng.choice(info["legal"]))
        total += reward
    assert game.result is not None
    return total, game.result


def test_the_episodes_are_those_of_a_run() -> None:
    with InProcess([ConnectFour], [First, Random]) as experiment:
        first, other = experiment.create("first"), experiment.create("random", seed=9)
        run = experiment.run("connect_four", [first, other], seed=4, episodes=30, mode="evaluate")
        expected = run.wait()
        with experiment.sit("connect_four", [other], seed=4) as game:
            for each in expected:
                observation, info = game.reset()
                total = 0.0
                while not info["over"]:
                    observation, reward, terminated, truncated, info = game.step(info["legal"][0])
                    total += reward
                    assert terminated is info["over"]
                    assert not truncated
                assert observation.shape == (2, 6, 7)
                assert game.result is not None
                assert (game.result.seed, game.result.turns) == (each.seed, each.turns)
                assert game.result.outcome == each.outcome == info["outcome"]
                assert total == each.seats[0].total == info["return"]


@pytest.mark.parametrize("seat", [0, 1])
def test_a_seed_repeats_its_episodes(seat: int) -> None:
    with sit(ConnectFour, Random, seat=seat, configuration=SMALL, seed=7) as game:
        assert game.seat == seat

        def some(seed: int | None) -> list[tuple[int, int]]:
            rng = random.Random(2)
            results = [play(game, rng, seed if n == 0 else None)[1] for n in range(5)]
            return [(each.index, each.seed, each.turns) for each in results]  # type: ignore[misc]

        first = some(None)
        assert some(7) == first
        assert some(8) != first
        assert [index for index, *_ in first] == [0, 1, 2, 3, 4]


def test_reset_abandons_the_episode_in_progress() -> None:
    witness = Witness()
    with sit(ConnectFour, witness, configuration=SMALL) as game:
        game.reset()
        game.step(1)
        game.reset()
        assert [end.reason for end in witness.ends] == ["truncated"]
        _, result = play(game, random.Random(1))
        assert (result.index, result.reason) == (2, "terminated")
    assert [end.reason for end in witness.ends] == ["truncated", "truncated", "terminated"]


def test_an_illegal_action_leaves_the_decision_open_and_is_counted() -> None:
    with sit(ConnectFour, First, seed=1) as game:
        game.reset()
        for wrong in (7, "a", None):
            with pytest.raises(IllegalAction, match="is not legal; legal: 0, 1, 2"):
                game.step(wrong)
        info: dict[str, Any] = {"over": False, "legal": [3]}
        while not info["over"]:
            *_, info = game.step(info["legal"][-1])
        assert game.result is not None
        assert game.result.seats[0].refused == 3
        assert game.result.seats[0].breaches == 0


@pytest.mark.parametrize(
    ("illegal", "reason", "cut"),
    [("forfeit", "illegal-action", False), ("truncate", "truncated", True)],
)
def test_an_illegal_action_may_end_the_episode(illegal: Any, reason: str, cut: bool) -> None:
    with sit(ConnectFour, First, illegal=illegal) as game:
        game.reset()
        _, reward, terminated, truncated, info = game.step(9)
        assert (terminated, truncated, info["reason"]) == (not cut, cut, reason)
        assert reward == (0.0 if cut else -1.0)
        with pytest.raises(DovetailError, match="the episode is over; call reset first"):
            game.step(0)


def test_seats_that_act_at_once() -> None:
    with sit(Guess, First) as game:
        observation, info = game.reset()
        assert (observation, info["legal"]) == (0, None)
        assert game.step(2)[:2] == (1, 1.0)
        with pytest.raises(IllegalAction, match="any action of the space"):
            game.step(0)
        assert game.step(1)[:3] == (2, 0.0, True)


def test_a_game_of_one_seat() -> None:
    with sit("2048", seed=3, wants=["text"]) as game:
        assert game.spec.seats == 1
        assert game.action_space == Discrete(4)
        total, result = play(game, random.Random(1))
        assert total == result.seats[0].total > 0
        assert "\n" in game.reset()[1]["text"]


def test_an_episode_in_which_the_seat_never_acts() -> None:
    with sit(Late, First) as game:
        totals = []
        for _ in range(4):
            observation, info = game.reset()
            assert observation == (4 if info["over"] else 0)
            *_, end = game.step(0)
            totals.append((info["over"], game.end.reward if game.end else None, end["decisions"]))
    assert totals == [(True, 3.0, 0), (False, 3.0, 1), (True, 3.0, 0), (False, 3.0, 1)]


def test_seats_alternate() -> None:
    with sit(ConnectFour, Random, seat="alternate", configuration=SMALL, seed=5) as game:
        seats, seeds = [], []
        for _ in range(4):
            _, info = game.reset()
            assert info["seat"] == game.seat
            seats.append(game.seat)
            while not info["over"]:
                *_, info = game.step(info["legal"][0])
            assert game.result is not None
            assert game.result.seats[game.seat].agent != "random"
            seeds.append(game.result.seed)
    assert seats == [0, 1, 0, 1]
    assert seeds[0] == seeds[1] != seeds[2] == seeds[3]


def test_an_opponent_that_fails_interrupts_and_the_next_episode_begins() -> None:
    with sit(ConnectFour, Fragile, configuration=SMALL) as game:
        play(game, random.Random(1))
        game.reset()
        with pytest.raises(
            DovetailError, match=r"interrupted: .*raised RuntimeError: I have fallen"
        ):
            game.step(0)
        _, result = play(game, random.Random(1))
        assert result.reason == "terminated"


def test_opponents_have_parameters_and_instances_stay() -> None:
    with InProcess([ConnectFour], [Random, First]) as experiment:
        number = experiment.create("first")
        with experiment.sit("connect_four", [number]) as game:
            play(game, random.Random(1))
        assert experiment.message(number, None) is None  # it is not ours to end
        before = len(experiment.catalogue()["instances"])
        with experiment.sit("connect_four", Opponent("random", seed=3)) as game:
            play(game, random.Random(1))
        assert len(experiment.catalogue()["instances"]) == before


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"configuration": {"rows": "many"}}, "it must be an integer, not 'many'"),
        ({"against": "nothing"}, "no agent 'nothing'"),
        ({"seat": "x"}, "seat 'x' does not exist; give a number, from 0, or 'alternate'"),
        (
            {"illegal": "forfeits"},
            "illegal 'forfeits' does not exist; did you mean 'forfeit'\\? there are raise, forfeit, random "
            "and truncate",
        ),
        ({"mode": "train"}, "mode 'train' does not exist; there are learn and evaluate"),
        ({"max_turns": "2"}, "option 'max_turns': it must be an integer"),
        ({"seat": 2}, "seat 2 does not exist: with 1 opponents the seats are 0 to 1"),
        ({"against": [First, First]}, "connect_four has 2 seats as configured"),
        ({"against": None}, "connect_four has 2 seats as configured"),
    ],
)
def test_mistakes_cost_one_line(options: dict[str, Any], line: str) -> None:
    with pytest.raises(DovetailError, match=line) as caught:
        sit("connect_four", **{"against": First, **options})
    assert "\n" not in str(caught.value)


def test_what_is_closed_says_so() -> None:
    with InProcess([ConnectFour], [Random]) as experiment:
        player = experiment.create("random")
    for use in (lambda: experiment.create("random"), lambda: experiment.save(player)):
        with pytest.raises(DovetailError, match="this connection is closed; open another"):
            use()
    game = sit("2048", seed=1)
    game.reset()
    game.close()
    with pytest.raises(DovetailError, match="this game is closed; open another"):
        game.step(0)
    with pytest.raises(DovetailError, match="this connection is closed; open another"):
        game.reset()


def test_a_step_before_reset_is_refused() -> None:
    with sit("connect_four", First) as game:
        with pytest.raises(DovetailError, match="call reset first"):
            game.step(0)
        game.reset()
        game.step(0)


@contextmanager
def broker(**settings: float) -> Iterator[str]:
    """A broker with games and players, in a thread of this program; yields its address."""
    place = InProcess(
        [ConnectFour, Guess],
        [Random, First, Fragile, Slow],
        bind="tcp://127.0.0.1:*",
        settings=Settings(**settings),  # type: ignore[arg-type]
    )
    stop = threading.Event()

    def run() -> None:
        while not stop.is_set():
            place.server.pump(0.05)
        place.close()

    thread = threading.Thread(target=run)
    thread.start()
    assert place.server.address is not None
    try:
        yield place.server.address
    finally:
        stop.set()
        thread.join()


def test_a_broker_plays_the_same() -> None:
    def some(game: Sitting) -> list[tuple[int, int, float]]:
        rng = random.Random(1)
        played = [play(game, rng) for _ in range(5)]
        return [(each.seed, each.turns, total) for total, each in played]

    with sit(ConnectFour, Random, seat=1, configuration=SMALL, seed=3) as game:
        expected = some(game)
    with broker() as address:
        options: dict[str, Any] = {"configuration": SMALL, "seed": 3}
        with sit("connect_four", "random", connect=address, seat=1, **options) as game:
            assert some(game) == expected
            game.reset()
        with sit("guess", "first", connect=address) as game:
            game.reset()
            assert game.step(3)[1] == 1.0


def test_patience_with_an_opponent_ends() -> None:
    Slow.may.clear()
    with (
        broker() as address,
        sit("connect_four", "slow", connect=address, configuration=SMALL, patience=2.0) as game,
    ):
        game.reset()
        with pytest.raises(DovetailError, match=r"no answer of the game or an opponent within 2"):
            game.step(0)
        Slow.may.set()
        _, result = play(game, random.Random(1))
        assert (result.index, result.reason) == (1, "terminated")


def test_a_seat_that_was_lost_in_a_long_break_sits_down_again() -> None:
    with (
        broker(heartbeat=0.1, peer_timeout=2.0, grace=0.1) as address,
        sit("connect_four", "random", connect=address, configuration=SMALL, seed=1) as game,
    ):
        _, first = play(game, random.Random(1))
        name = first.seats[0].agent
        with Experiment.connect(address) as other:
            end = time.monotonic() + 60
            while any(each["agent"] == name for each in other.catalogue()["instances"]):
                assert time.monotonic() < end
                other.wait(0.05)
        _, second = play(game, random.Random(1))
        assert (second.index, second.reason) == (1, "terminated")
