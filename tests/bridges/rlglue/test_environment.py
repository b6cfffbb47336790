"""A legacy environment that Dovetail's agents play."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
from tests.bridges.rlglue.legacy import ENVIRONMENT, SPEC, Program, adt, chain, text

from dovetail import Agent, InProcess
from dovetail.client.client import Experiment
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.spaces import Discrete
from dovetail_bridges.rlglue.environment import HostOptions, hosted
from dovetail_bridges.rlglue.listener import Port


class Ones(Agent):
    """Always answers 1."""

    name = "ones"
    capacity = 0
    seen: list[Any] = []  # noqa: RUF012

    def step(self, decision: Any) -> int:
        Ones.seen.append((decision.seat.spec, decision.observation, decision.reward))
        return 1


@contextlib.contextmanager
def table(options: HostOptions | None = None) -> Iterator[tuple[Port, Experiment]]:
    Ones.seen.clear()
    port = Port(number=0, roles=["environment"], patience=10.0)
    try:
        kind = hosted("chain", port, options or HostOptions(grace=0.2))
        with InProcess([kind], [Ones]) as experiment:
            yield port, experiment
    finally:
        port.close()


def test_native_agents_play_it() -> None:
    with table() as (port, experiment):
        program = Program(port, ENVIRONMENT, chain(3))
        ones = experiment.create("ones")
        run = experiment.run("chain", [ones], episodes=2, check=True)
        results = run.wait()
        assert [each.seats[0].total for each in results] == [6.0, 6.0]
        assert [each.reason for each in results] == ["terminated"] * 2
        spec = Ones.seen[0][0]
        assert (spec.seats, spec.reward_range) == (1, (0.0, 5.0))
        assert spec.observation_spaces == [Discrete(21)]
        assert [(seen, reward) for _, seen, reward in Ones.seen[:3]] == [(0, 0), (1, 1), (2, 2)]
    assert program.codes() == [11, *[12, 13, 13, 13] * 2, 14, 35]
    assert program.heard[2] == (13, adt([1]))


def test_a_value_of_terminal_other_than_1_ends_nothing() -> None:
    with table() as (port, experiment):
        Program(port, ENVIRONMENT, chain(2, terminal=2))
        ones = experiment.create("ones")
        (episode,) = experiment.run("chain", [ones], max_turns=5).wait()
        assert episode.reason == "truncated"


def test_messages_and_seeds() -> None:
    with table(HostOptions(seed_message="set-seed {seed}", grace=0.2)) as (port, experiment):
        program = Program(port, ENVIRONMENT, chain())
        ones = experiment.create("ones")
        configuration = {"messages": ["set-start-state 2 3"]}
        experiment.run("chain", [ones], configuration=configuration, seeds=[2**40 + 5]).wait()
        said = [payload[4:].decode() for code, payload in program.heard if code == 19]
        assert said == ["set-start-state 2 3", "set-seed 5"]


@pytest.mark.parametrize("spec", ["", "sample task spec"])
def test_what_says_nothing_is_no_game_unless_the_user_says_what_it_is(spec: str) -> None:
    with table() as (port, experiment):
        Program(port, ENVIRONMENT, {**chain(), 11: text(spec)})
        ones = experiment.create("ones")
        with pytest.raises(DovetailError, match="--task-spec replaces it"):
            experiment.run("chain", [ones]).wait()
    with table(HostOptions(task_spec=SPEC)) as (port, experiment):
        Program(port, ENVIRONMENT, {**chain(), 11: text(spec)})
        ones = experiment.create("ones")
        (episode,) = experiment.run("chain", [ones]).wait()
        assert episode.reason == "terminated"


def test_one_program_plays_one_match() -> None:
    with table() as (port, experiment):
        Program(port, ENVIRONMENT, chain())
        ones = experiment.create("ones")
        other = experiment.create("ones")
        with pytest.raises(DovetailError, match="use concurrency 1"):
            experiment.run("chain", [ones], episodes=4, concurrency=2).wait()
        del other


def test_a_match_that_cannot_be_made_leaves_the_program_to_the_next() -> None:
    with table() as (port, experiment):
        ones = experiment.create("ones")
        Program(port, ENVIRONMENT, {**chain(), 19: b"no text"})
        configuration = {"messages": ["hello"]}
        with pytest.raises(DovetailError, match="sent no text"):
            experiment.run("chain", [ones], configuration=configuration).wait()
        Program(port, ENVIRONMENT, chain())
        (episode,) = experiment.run("chain", [ones]).wait()
        assert episode.reason == "terminated"
    with table() as (port, experiment):
        ones = experiment.create("ones")
        program = Program(port, ENVIRONMENT, {**chain(), 11: text("")})
        for _ in range(2):
            with pytest.raises(DovetailError, match="--task-spec replaces it"):
                experiment.run("chain", [ones]).wait()
    assert program.codes() == [11, 14, 11, 14, 35]


def test_no_program_is_one_line() -> None:
    with table() as (port, experiment):
        ones = experiment.create("ones")
        with pytest.raises(DovetailError, match=f"RLGLUE_PORT={port.number}"):
            experiment.run("chain", [ones]).wait()


@pytest.mark.parametrize("code", [12, 13])
def test_a_program_that_dies_fails_the_episode(code: int) -> None:
    def dies(_: bytes) -> bytes:
        raise EOFError

    with table() as (port, experiment):
        Program(port, ENVIRONMENT, {**chain(), code: dies})
        ones = experiment.create("ones")
        (episode,) = experiment.run("chain", [ones], retries=0).wait()
        assert episode.reason == "environment-failed"
        assert "the legacy environment closed its connection" in episode.message
