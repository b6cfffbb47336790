"""A legacy agent in a seat: what it hears, and what its answers cost."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterator
from typing import Any

import pytest
from tests.bridges.rlglue.legacy import AGENT, Nim, Program, adt, text

from dovetail import Agent, InProcess
from dovetail.client.client import Experiment
from dovetail.protocol.errors import DovetailError
from dovetail_bridges.rlglue.agent import Joined, JoinOptions
from dovetail_bridges.rlglue.listener import Port
from dovetail_bridges.rlglue.seat import SeatOptions


class TakesOne(Agent):
    """Takes one."""

    name = "one"
    capacity = 0

    def step(self, decision: Any) -> int:
        return 1


def reward(value: float) -> bytes:
    return struct.pack(">d", value)


SPEC = (
    "VERSION RL-Glue-3.0 PROBLEMTYPE episodic DISCOUNTFACTOR 1.0 OBSERVATIONS INTS (0 {most}) "
    "ACTIONS INTS (0 2) REWARDS (-1.0 1.0) EXTRA dovetail game=nim seats=2 seat={seat}"
)


@contextlib.contextmanager
def table(options: JoinOptions | None = None) -> Iterator[tuple[Port, Experiment]]:
    port = Port(number=0, roles=["agent"], patience=10.0)
    agent = Joined(port, options)
    try:
        with InProcess([Nim], [TakesOne, agent]) as experiment:
            yield port, experiment
    finally:
        port.close()


def takes(*numbers: int) -> dict[int, Any]:
    """Answers that take these numbers in turn, then one each time."""
    left = list(numbers)

    def act(_: bytes) -> bytes:
        return adt([(left.pop(0) if left else 1) - 1])

    return {5: act, 6: act, 10: lambda body: text("message understood")}


def test_opponents_are_part_of_its_environment() -> None:
    with table() as (port, experiment):
        program = Program(port, AGENT, takes(3, 1))
        one = experiment.create("one")
        heap = {"heap": 5}
        (won,) = experiment.run("nim", ["rlglue", one], configuration=heap).wait()
        assert won.outcome == [1.0, 0.0]
        (lost,) = experiment.run("nim", [one, "rlglue"], configuration={"heap": 3}).wait()
        assert lost.outcome == [1.0, 0.0]
    assert program.heard[:5] == [
        (4, text(SPEC.format(most=5, seat=0))),
        (5, adt([5])),
        (6, reward(0.0) + adt([1])),
        (7, reward(1.0)),
        (8, b""),
    ]
    assert program.heard[5:8] == [
        (4, text(SPEC.format(most=3, seat=1))),
        (5, adt([2])),
        (7, reward(-1.0)),
    ]
    assert program.codes()[8:] == [8, 35]


def test_an_equal_task_is_heard_once_and_a_change_of_seat_is_no_new_task() -> None:
    with table() as (port, experiment):
        program = Program(port, AGENT, takes())
        one = experiment.create("one")
        experiment.run("nim", ["rlglue", one], episodes=4, rotate=True).wait()
        experiment.run("nim", [one, "rlglue"]).wait()
        assert program.codes().count(4) == 1
        assert program.codes().count(5) == 5
        assert program.codes().count(7) == 5


def test_a_seat_that_never_acts_hears_nothing() -> None:
    with table() as (port, experiment):
        program = Program(port, AGENT, takes())
        assert port.wait("agent", 10)
        one = experiment.create("one")
        experiment.run("nim", [one, "rlglue"], configuration={"heap": 1}).wait()
        assert program.codes() == [4]


@pytest.mark.parametrize("told", [False, True])
def test_a_cut_off_is_not_heard_unless_asked_for(told: bool) -> None:
    with table(JoinOptions(end_truncated=told)) as (port, experiment):
        program = Program(port, AGENT, takes())
        one = experiment.create("one")
        experiment.run("nim", ["rlglue", one], max_turns=3).wait()
        assert program.codes() == [4, 5, 6, *[7] * told]


def refused(episode: Any) -> int:
    count: int = episode.seats[0].refused
    return count


def test_an_illegal_action_is_answered_by_a_penalty_and_the_same_observation() -> None:
    with table() as (port, experiment):
        program = Program(port, AGENT, takes(3, 3, 2, 1))
        one = experiment.create("one")
        (episode,) = experiment.run("nim", ["rlglue", one], configuration={"heap": 5}).wait()
        assert episode.outcome == [1.0, 0.0]
        assert episode.seats[0].total == 1.0
        assert refused(episode) == 2
        assert program.heard[2:5] == [
            (6, reward(0.0) + adt([1])),
            (6, reward(-1.0) + adt([1])),
            (6, reward(-1.0) + adt([1])),
        ]


def test_after_so_many_tries_the_broker_judges() -> None:
    with table(JoinOptions(SeatOptions(tries=3, penalty=-5.0))) as (port, experiment):
        program = Program(port, AGENT, takes(*[3] * 20))
        one = experiment.create("one")
        heap = {"heap": 2}
        (episode,) = experiment.run("nim", ["rlglue", one], configuration=heap).wait()
        assert episode.reason == "illegal-action"
        assert refused(episode) == 3
        assert program.heard[2:] == [
            *[(6, reward(-5.0) + adt([2]))] * 3,
            (7, reward(0.0)),
        ]


@pytest.mark.parametrize(
    ("illegal", "reason", "asked_again"),
    [("judge", "illegal-action", 0), ("random", "terminated", 1), ("nearest", "terminated", 1)],
)
def test_other_ways_with_illegal_actions(illegal: Any, reason: str, asked_again: int) -> None:
    with table(JoinOptions(SeatOptions(illegal=illegal))) as (port, experiment):
        Program(port, AGENT, takes(3))
        one = experiment.create("one")
        heap = {"heap": 2}
        (episode,) = experiment.run("nim", ["rlglue", one], configuration=heap).wait()
        assert (episode.reason, refused(episode)) == (reason, asked_again)


@pytest.mark.parametrize("answer", [adt([3]), adt([-1]), adt([0, 0]), adt(), adt(doubles=[1.0])])
def test_an_action_of_another_form_is_a_crash(answer: bytes) -> None:
    with table() as (port, experiment):
        Program(port, AGENT, {5: answer})
        one = experiment.create("one")
        (episode,) = experiment.run("nim", ["rlglue", one], retries=0).wait()
        assert (episode.reason, episode.blame) == ("crashed", 0)
        assert "the legacy agent answered ints [" in episode.message


def test_evaluation_freezes_and_learning_unfreezes() -> None:
    with table() as (port, experiment):
        program = Program(port, AGENT, takes())
        one = experiment.create("one")
        for mode in ("learn", "evaluate", "evaluate", "learn"):
            experiment.run("nim", ["rlglue", one], mode=mode).wait()
        said = [payload[4:].decode() for code, payload in program.heard if code == 10]
        assert said == [
            "freeze learning",
            "freeze exploring",
            "unfreeze learning",
            "unfreeze exploring",
        ]


def test_an_agent_that_cannot_freeze_is_asked_once() -> None:
    with table() as (port, experiment):
        program = Program(port, AGENT, {**takes(), 10: text("what?")})
        one = experiment.create("one")
        for mode in ("evaluate", "learn", "evaluate"):
            experiment.run("nim", ["rlglue", one], mode=mode).wait()
        assert program.codes().count(10) == 1


def test_observations_are_numbered_and_masked() -> None:
    options = JoinOptions(SeatOptions(index=50, mask="chars"))
    with table(options) as (port, experiment):
        program = Program(port, AGENT, takes(1, 1))
        one = experiment.create("one")
        experiment.run("nim", ["rlglue", one], configuration={"heap": 4}).wait()
        spec = program.heard[0][1][4:].decode()
        assert "OBSERVATIONS INTS (0 49) CHARCOUNT 3 ACTIONS INTS (0 2)" in spec
        assert spec.endswith("legal=chars")
        assert program.heard[1:3] == [
            (5, adt([0], (), b"111")),
            (6, reward(0.0) + adt([1], (), b"110")),
        ]


def test_too_many_observations_end_the_run_in_one_line() -> None:
    with table(JoinOptions(SeatOptions(index=1))) as (port, experiment):
        Program(port, AGENT, takes())
        one = experiment.create("one")
        (episode,) = experiment.run("nim", ["rlglue", one], retries=0).wait()
        assert "more than 1 observations; give --observe index:SIZE" in episode.message


def test_a_policy_is_saved_and_loaded_with_the_numbers_of_observations() -> None:
    options = JoinOptions(
        SeatOptions(index=50), save="save_policy {file}", load="load_policy {file}"
    )

    def keeper(policies: list[bytes]) -> Any:
        def answer(payload: bytes) -> bytes:
            verb, _, path = payload[4:].decode().partition(" ")
            if verb == "save_policy":
                with open(path, "wb") as file:
                    file.write(b"all I know")
            else:
                with open(path, "rb") as file:
                    policies.append(file.read())
            return text("message understood")

        return answer

    loaded: list[bytes] = []
    with table(options) as (port, experiment):
        Program(port, AGENT, {**takes(), 10: keeper(loaded)})
        one = experiment.create("one")
        experiment.run("nim", ["rlglue", one], configuration={"heap": 7}).wait()
        (number,) = (
            each["instance"]
            for each in experiment.catalogue()["instances"]
            if each["agent"] == "rlglue"
        )
        state = experiment.save(number)
    with table(options) as (port, experiment):
        program = Program(port, AGENT, {**takes(), 10: keeper(loaded)})
        one = experiment.create("one")
        experiment.run("nim", ["rlglue", one], configuration={"heap": 3}).wait()
        (number,) = (
            each["instance"]
            for each in experiment.catalogue()["instances"]
            if each["agent"] == "rlglue"
        )
        experiment.load(number, state)
        assert loaded == [b"all I know"]
        experiment.run("nim", ["rlglue", one], configuration={"heap": 5}).wait()
        # 7, 5, 3 and 1 had the numbers 0 to 3.
        assert [payload for code, payload in program.heard if code == 5][-1] == adt([1])


def test_without_messages_for_it_nothing_is_saved() -> None:
    with table() as (port, experiment):
        Program(port, AGENT, takes())
        one = experiment.create("one")
        experiment.run("nim", ["rlglue", one]).wait()
        (number,) = (
            each["instance"]
            for each in experiment.catalogue()["instances"]
            if each["agent"] == "rlglue"
        )
        with pytest.raises(DovetailError, match="--save gives its message"):
            experiment.save(number)
        assert experiment.message(number, "are you there?") == "message understood"
        with pytest.raises(DovetailError, match="takes texts; got dict"):
            experiment.message(number, {"no": "text"})


def test_a_program_that_dies_may_come_back() -> None:
    with table(JoinOptions(grace=5.0)) as (port, experiment):

        def dies(_: bytes) -> bytes:
            raise EOFError

        first = Program(port, AGENT, {**takes(), 6: dies})
        one = experiment.create("one")
        run = experiment.run("nim", ["rlglue", one], retries=0, episodes=2)
        results = run.poll()
        while not results:
            results = run.poll()
        assert (results[0].reason, results[0].blame) == ("stalled", 0)
        assert results[0].scored
        assert "the legacy agent closed its connection" in results[0].message
        assert first.ended.wait(30)
    # The next decision waits for the one that comes back, which hears the task again.
    with table(JoinOptions(grace=20.0)) as (port, experiment):
        Program(port, AGENT, {**takes(), 5: dies})
        one = experiment.create("one")
        (episode,) = experiment.run("nim", ["rlglue", one], retries=0).wait()
        assert (episode.reason, episode.blame) == ("stalled", 0)
        second = Program(port, AGENT, takes())
        (episode,) = experiment.run("nim", ["rlglue", one], retries=0).wait()
        assert episode.reason == "terminated"
        assert second.codes()[:2] == [4, 5]


def test_a_program_that_hangs_is_dropped() -> None:
    port = Port(number=0, roles=["agent"], patience=2.0)
    try:
        with InProcess([Nim], [TakesOne, Joined(port, JoinOptions(grace=0.1))]) as experiment:
            import threading

            gate = threading.Event()

            def hangs(_: bytes) -> bytes:
                gate.wait(20)
                return adt([0])

            Program(port, AGENT, {5: hangs})
            one = experiment.create("one")
            (episode,) = experiment.run("nim", ["rlglue", one], retries=0).wait()
            gate.set()
            assert "did not answer within 2 s" in episode.message
            assert (episode.reason, episode.blame, episode.scored) == ("timeout", 0, True)
    finally:
        port.close()


def test_a_program_that_cannot_read_its_task_is_named_with_the_task() -> None:
    def exits(_: bytes) -> bytes:
        raise EOFError

    with table() as (port, experiment):
        Program(port, AGENT, {**takes(), 4: exits})
        one = experiment.create("one")
        assert port.wait("agent", 10)  # so that it hears the task when it is seated
        with pytest.raises(DovetailError, match="closed its connection at the task spec: VERSION"):
            experiment.run("nim", ["rlglue", one], retries=0).wait()


def test_one_agent_cannot_hold_two_seats_of_an_episode() -> None:
    with table() as (port, experiment):
        Program(port, AGENT, takes())
        (episode,) = experiment.run("nim", ["rlglue", "rlglue"], retries=0).wait()
        assert "one seat of an episode at a time" in episode.message
