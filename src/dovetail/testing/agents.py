"""Checks of every agent: legal play, reproducible from seeds, with complete saved states."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import update_wrapper
from typing import Any

from dovetail.client.client import Experiment
from dovetail.client.inprocess import InProcess
from dovetail.peer import plugins
from dovetail.peer.agents.agent import Agent, End
from dovetail.peer.agents.random_agent import Random
from dovetail.peer.environments.environment import Environment
from dovetail.peer.presets import declared
from dovetail.peer.registry import one_line, type_name
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.messages import Mode
from dovetail.testing.problem import CheckFailed, no_error, short

GUIDE = "docs/agents.md"
TRYING = f"{GUIDE}#trying-it-in-process"
LEARNER = f"{GUIDE}#a-learner"
WRONG = f"{GUIDE}#when-something-is-wrong"
OPPONENT = "the-other"


class Opponent(Random):
    """Plays a random legal action, under a name that no agent takes."""

    name = OPPONENT


@dataclass(frozen=True)
class AgentSubject:
    """The agent that is checked, and its game."""

    kind: type[Agent]
    parameters: dict[str, Any]
    game: type[Environment]
    configuration: dict[str, Any]
    episodes: int


class AgentTrial:
    """The agent in the first seat and random players in the others."""

    def __init__(self, subject: AgentSubject, state: bytes | None = None) -> None:
        self.subject = subject
        agent, game = subject.kind, subject.game
        self.failures = failures = list[str]()
        """Errors raised in ``end``, which would otherwise only show at the next decision."""

        class Heard(agent):  # type: ignore[misc, valid-type]
            def end(self, end: End) -> None:
                try:
                    super().end(end)
                except Exception as error:
                    failures.append(one_line(error))
                    raise

        Heard.name = type_name(agent)
        update_wrapper(Heard, agent, updated=())  # errors and its ``repr`` show the user's class
        self._process = InProcess([game], [Heard, Opponent])
        self.experiment: Experiment = self._process.experiment()
        given: dict[str, Any] = {"parameters": subject.parameters, "seed": 1, "state": state}
        self.agent = self.experiment.create(Heard.name, **given)
        seats = declared(game(game.Configuration(**subject.configuration))).seats
        self.seats = [self.agent, *[self.experiment.create(OPPONENT, seed=2)] * (seats - 1)]

    def __enter__(self) -> AgentTrial:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.close()

    def play(self, check: str, *, first: int = 0, mode: Mode = "learn", seed: int = 3) -> list[str]:
        """Play the episodes; return a digest of the actions of each.

        Raises:
            CheckFailed: one ends early through the agent.
        """
        run = self.experiment.run(
            type_name(self.subject.game),
            self.seats,
            configuration=self.subject.configuration,
            episodes=self.subject.episodes,
            first_index=first,
            seed=seed,
            mode=mode,
            max_turns=400,
            retries=0,
            lookahead=True,
        )
        results = list(run)  # even if none could be played
        if self.failures:
            wrong = f"`end` raised {short(self.failures[0], 300)}"
            raise CheckFailed(check, wrong, "an `end` that returns", WRONG)
        for each in results:
            if each.reason not in ("terminated", "truncated"):
                wrong = f"episode {each.index} ended as {each.reason}: {short(each.message, 300)}"
                raise CheckFailed(check, wrong, "a legal action for each decision", WRONG)
        return [each.digest for each in results]

    def state(self, check: str) -> bytes:
        try:
            return self.experiment.save(self.agent)
        except DovetailError as error:
            wrong = f"save failed: {short(str(error), 300)}"
            raise CheckFailed(check, wrong, "bytes", LEARNER) from error


def it_plays(subject: AgentSubject, name: str) -> None:
    """The agent answers each decision with a legal action and is told every end."""
    with AgentTrial(subject) as table:
        table.play(name)
        table.play(name, first=subject.episodes, mode="evaluate")


def seeds_decide_everything(subject: AgentSubject, name: str) -> None:
    """The same seeds give the same actions and the same state."""
    found = []
    before = random.getstate()
    try:
        for other in (1, 2):
            random.seed(other)  # which it must not look at
            with AgentTrial(subject) as table:
                found.append((table.play(name), table.state(name)))
    finally:
        random.setstate(before)
    if found[0][0] != found[1][0]:
        wrong = "it acts differently when the same seeds are played again"
        raise CheckFailed(name, wrong, "all chance to come from decision.rng or seed", TRYING)
    if found[0][1] != found[1][1]:
        wrong = "save returns other bytes when the same seeds are played again"
        raise CheckFailed(name, wrong, "all chance to come from decision.rng or seed", LEARNER)


def evaluation_changes_nothing(subject: AgentSubject, name: str) -> None:
    """The saved state is the same before and after episodes in ``evaluate``."""
    with AgentTrial(subject) as table:
        table.play(name)
        before = table.state(name)
        table.play(name, mode="evaluate", seed=5)
        if table.state(name) != before:
            wrong = "save returns other bytes after episodes in the mode evaluate"
            raise CheckFailed(name, wrong, "no change there", LEARNER)


def states_say_everything(subject: AgentSubject, name: str) -> None:
    """After loading a state the agent saves the same bytes and plays on identically."""
    with AgentTrial(subject) as whole:
        whole.play(name)
        middle = whole.state(name)
        expected = (whole.play(name, first=subject.episodes), whole.state(name))
    try:
        again = AgentTrial(subject, middle or None)
    except DovetailError as error:
        wrong = f"load refuses what save returned: {short(str(error), 300)}"
        raise CheckFailed(name, wrong, "the agent as it was", LEARNER) from error
    with again:
        if again.state(name) != middle:
            wrong = "save after load returns other bytes"
            raise CheckFailed(name, wrong, "the bytes that were loaded", LEARNER)
        found = (again.play(name, first=subject.episodes), again.state(name))
    if found != expected:
        what = "acts" if found[0] != expected[0] else "learns"
        wrong = f"loaded from a state it {what} differently than without the break"
        raise CheckFailed(name, wrong, "save to return everything that counts", LEARNER)


def wrong_states_are_refused(subject: AgentSubject, name: str) -> None:
    """An agent that saves refuses bytes that are not such a state, and is unchanged."""
    with AgentTrial(subject) as table:
        table.play(name)
        before = table.state(name)
        if not before:
            return
        for what, state in (
            ("no bytes", b""),
            ("bytes of something else", b"no state"),
            ("a state without its last three bytes", before[:-3]),
        ):
            try:
                table.experiment.load(table.agent, state)
            except DovetailError as error:
                if "Error:" in str(error) or "\n" in str(error):
                    wrong = f"load of {what} raised {short(str(error), 200)}"
                    raise CheckFailed(name, wrong, "DovetailError, in one line", LEARNER) from error
            else:
                raise CheckFailed(name, f"load takes {what}", "DovetailError", LEARNER)
            if table.state(name) != before:
                wrong = f"load refused {what} and changed the agent"
                raise CheckFailed(name, wrong, "the agent as it was", LEARNER)


CHECKS: dict[str, Callable[[AgentSubject, str], None]] = {
    each.__name__: each
    for each in (
        *(it_plays, seeds_decide_everything, evaluation_changes_nothing),
        *(states_say_everything, wrong_states_are_refused),
    )
}
"""All checks by name, in the order in which they run."""


def check_agent(
    cls: type[Agent],
    parameters: Mapping[str, Any] | None = None,
    *,
    environment: type[Environment] | str = "connect_four",
    configuration: Mapping[str, Any] | None = None,
    episodes: int = 4,
    only: str = "",
) -> None:
    """Check an agent in a game against random players; raise an error if a check fails.

    Args:
        cls: the agent's class.
        parameters: by name; the others keep their defaults.
        environment: the class or name of a game that the agent plays.
        configuration: the game's options by name.
        episodes: the number of episodes per playing; enough for a learner to change.
        only: the name of a check in ``CHECKS``; empty runs all.

    Raises:
        CheckFailed: a check fails; one line says what is wrong and where the guide explains it.
        DovetailError: the agent cannot play this game, or a parameter is invalid.
    """
    if only and only not in CHECKS:
        raise DovetailError(f"no check {only!r}; there are {', '.join(CHECKS)}")
    game = plugins.find("environment", environment) if isinstance(environment, str) else environment
    subject = AgentSubject(cls, dict(parameters or {}), game, dict(configuration or {}), episodes)
    for name in [only] if only else CHECKS:
        with no_error(name, "the agent", WRONG):
            CHECKS[name](subject, name)
