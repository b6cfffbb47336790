"""A legacy environment as a Dovetail environment of one seat."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from msgspec import Meta, Struct

from dovetail.peer.environments.environment import Environment, Spec, Turn, sole_action
from dovetail.protocol.errors import DovetailError
from dovetail_bridges.rlglue import taskspec, wire
from dovetail_bridges.rlglue.core import TERMINAL
from dovetail_bridges.rlglue.layout import Layout, legacy
from dovetail_bridges.rlglue.listener import Port
from dovetail_bridges.rlglue.peer import LegacyEnvironment
from dovetail_bridges.rlglue.taskspec import TaskSpec

log = logging.getLogger("dovetail.rlglue")


class HostOptions(Struct, frozen=True):
    """Messages to a legacy environment beyond RL-Glue's calls."""

    task_spec: str = ""
    """A replacement for the environment's own task spec."""
    seed_message: str = ""
    """The message that seeds the environment; ``{seed}`` stands for the seed (0 to 2**31 - 1)."""
    grace: Annotated[float, Meta(ge=0)] = 10.0
    """Seconds that a lost program has to reconnect before a match."""


class MatchOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """The options of a match."""

    messages: Annotated[
        list[str], Meta(description="Texts sent to the environment (env_message) after env_init.")
    ] = []


def spec_of(task: TaskSpec, observations: Layout, actions: Layout, name: str) -> Spec:
    """Return the spec of the one-seat game that a task spec declares."""
    rewards = task.rewards
    return Spec(
        name=name,
        seats=1,
        observation_spaces=[observations.space],
        action_spaces=[actions.space],
        reward_range=(rewards.low, rewards.high)
        if rewards.finite and rewards.low is not None and rewards.high is not None
        else None,
        discount=task.discount,
        chance=True,
    )


class Hosted(Environment[MatchOptions]):
    """A legacy RL-Glue environment."""

    port: ClassVar[Port]
    options: ClassVar[HostOptions]
    taken: ClassVar[list[Hosted]]
    """The match that is using the program, if any."""
    configuration: MatchOptions

    def init(self) -> Spec:
        if self.taken:
            raise DovetailError(
                f"{self.name} is one legacy program and plays one match at a time; use concurrency "
                "1"
            )
        claimed = self.port.claim(["environment"], self.options.grace)
        if claimed is None:
            raise DovetailError(
                f"no legacy environment is connected at port {self.port.number}; start it with "
                f"RLGLUE_PORT={self.port.number}"
            )
        self._over = True
        self._warned = False
        environment = self._environment = LegacyEnvironment(claimed["environment"])
        self.taken.append(self)
        text = wire.text_of(environment.init())
        try:
            task = taskspec.read(self.options.task_spec or text)
            self._observations = legacy(task.observations)
            self._actions = legacy(task.actions)
        except DovetailError as error:
            raise DovetailError(
                f"{error}; the whole task spec is {text[:500]!r} (--task-spec replaces it)"
            ) from None
        if task.problem != "episodic":
            log.warning("%s is %s: give its runs max_turns", self.name, task.problem)
        for body in self.configuration.messages:
            environment.message(wire.text(body))
        return spec_of(task, self._observations, self._actions, self.name)

    def start(self, seed: int) -> Turn:
        if self.options.seed_message:
            body = self.options.seed_message.replace("{seed}", str(seed % 2**31))
            self._environment.message(wire.text(body))
        elif not self._warned:
            self._warned = True
            log.warning(
                "RL-Glue has no seeds: episodes of %s do not repeat (--seed-message if it knows "
                "one)",
                self.name,
            )
        self._over = False
        return Turn.ask(0, self._observations.unpack(wire.unpacked(self._environment.start())))

    def step(self, actions: Mapping[int, Any]) -> Turn:
        action = self._actions.pack(sole_action(actions, 0, over=self._over))
        outcome = self._environment.step(wire.packed(action))
        terminal, reward = wire.OUTCOME.unpack_from(outcome)
        seen = wire.unpacked(outcome, wire.OUTCOME.size)
        if terminal == TERMINAL:
            self._over = True
            return Turn.end([self._last(seen)], [reward])
        if terminal:
            log.warning("%s says terminal %d; only 1 ends an episode", self.name, terminal)
        return Turn.ask(0, self._observations.unpack(seen), reward=reward)

    def _last(self, seen: wire.Adt) -> Any:
        """Return the observation at an episode's end, which many environments leave empty."""
        try:
            return self._observations.unpack(seen)
        except DovetailError:
            return None

    def message(self, body: Any) -> Any:
        if not isinstance(body, str):
            raise DovetailError(f"a legacy environment takes texts; got {type(body).__name__}")
        return wire.text_of(self._environment.message(wire.text(body)))

    def cleanup(self) -> None:
        if self in self.taken:
            self.taken.remove(self)
            if not self._environment.peer.gone:
                self._environment.cleanup()


def hosted(name: str, port: Port, options: HostOptions | None = None) -> type[Hosted]:
    """Return the environment type of the legacy program at a port."""
    return type(
        "HostedHere",
        (Hosted,),
        {
            "__doc__": Hosted.__doc__,
            "name": name,
            "port": port,
            "options": options or HostOptions(),
            "taken": [],
        },
    )
