"""RL-Glue's core between agent, environment and experiment; pure except for the two sides.

Observations, actions and task specs are passed on as the bytes received, so that a core between
three legacy programs relays them exactly.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from typing import Protocol

from dovetail_bridges.rlglue import wire
from dovetail_bridges.rlglue.wire import Code, WireError

log = logging.getLogger("dovetail.rlglue")

RL_STEP = Code.RL_STEP
OFTEN = 1024
"""Steps of an episode between two checks that the experiment is still connected."""
TERMINAL = 1
"""The only value of ``terminal`` that ends an episode for the agent."""


class AgentSide(Protocol):
    """The agent, legacy or native.  Arguments and answers are payloads."""

    def init(self, spec: bytes) -> None:
        """Receive the task spec, a text."""
        ...

    def start(self, observation: bytes) -> bytes:
        """Return the first action of an episode."""
        ...

    def step(self, percept: bytes) -> bytes:
        """Return the next action; ``percept`` is a reward and an observation."""
        ...

    def end(self, reward: bytes) -> None:
        """Receive the last reward of an episode."""
        ...

    def cleanup(self) -> None:
        """Release resources."""
        ...

    def message(self, body: bytes) -> bytes:
        """Answer a text with a text."""
        ...


class EnvironmentSide(Protocol):
    """The environment, legacy or native.  Arguments and answers are payloads."""

    def init(self) -> bytes:
        """Return the task spec (a text)."""
        ...

    def start(self) -> bytes:
        """Return the first observation of an episode."""
        ...

    def step(self, action: bytes) -> bytes:
        """Return terminal, reward and observation."""
        ...

    def cleanup(self) -> None:
        """Release resources."""
        ...

    def message(self, body: bytes) -> bytes:
        """Answer a text with a text."""
        ...


class Pair:
    """An agent and an environment, of which either may be legacy, as an experiment drives them.

    Payloads are as in its frames.
    """

    def __init__(self, agent: AgentSide, environment: EnvironmentSide) -> None:
        self.agent = agent
        self.environment = environment
        self._action = wire.EMPTY
        self._stepped = False
        """True once any step was not terminal; before, the answer to a terminal step has no action,
        as in the original."""

    def init(self) -> bytes:
        """Return the task spec (a text)."""
        spec = self.environment.init()
        self.agent.init(spec)
        return spec

    def start(self) -> bytes:
        """Start an episode, dropping any in progress; return observation and action."""
        observation = self.environment.start()
        self._action = self.agent.start(observation)
        return observation + self._action

    def step(self) -> tuple[int, float, bytes]:
        """Return terminal, reward, and the whole payload: these two, observation and action."""
        outcome = self.environment.step(self._action)
        terminal, reward = wire.OUTCOME.unpack_from(outcome)
        if terminal == TERMINAL:
            self.agent.end(outcome[4:12])
        else:
            if terminal:
                log.warning(
                    "the environment says terminal %d; only 1 ends an episode for the agent",
                    terminal,
                )
            self._action = self.agent.step(outcome[4:])
            self._stepped = True
        return terminal, reward, outcome + (self._action if self._stepped else wire.EMPTY)

    def cleanup(self) -> None:
        self.environment.cleanup()
        self.agent.cleanup()

    def close(self) -> None:
        """Disconnect native sides from the broker."""
        for side in (self.agent, self.environment):
            close = getattr(side, "close", None)
            if close is not None:
                close()

    def half(self, code: int, payload: bytes) -> bytes:
        """Call the agent or the environment alone (codes 36 to 40)."""
        if code == Code.RL_ENV_START:
            return self.environment.start()
        if code == Code.RL_ENV_STEP:
            return self.environment.step(wire.check_adt(payload))
        if code == Code.RL_AGENT_START:
            action = self.agent.start(wire.check_adt(payload))
        elif code == Code.RL_AGENT_STEP:
            action = self.agent.step(wire.check_adt(payload, 8))
        else:
            if len(payload) != 8:
                raise WireError(
                    f"the end of an episode has a reward of 8 bytes; got {len(payload)}"
                )
            self.agent.end(payload)
            return b""
        self._action = action
        return action


class Glue:
    """The experiment's calls and the counters that they share.

    Args:
        world: the agent and environment that the experiment drives.
        left: returns true if the experiment has disconnected; called periodically in long episodes.
    """

    def __init__(self, world: Pair, left: Callable[[], bool] = lambda: False) -> None:
        self.world = world
        self._left = left
        self.steps = 0
        self.episodes = 0
        self.total = 0.0

    def handle(self, code: int, payload: bytes) -> bytes:
        """Return the payload of the answer to an experiment's frame.

        Raises:
            WireError: experiments do not send such a frame.
        """
        if code == RL_STEP:
            return self._step()[1]
        match code:
            case Code.RL_EPISODE:
                return self._episode(payload)
            case Code.RL_START:
                return self._start()
            case Code.RL_INIT:
                self.steps = self.episodes = 0
                self.total = 0.0
                return self.world.init()
            case Code.RL_CLEANUP:
                self.world.cleanup()
                return b""
            case Code.RL_RETURN:
                return wire.REWARD.pack(self.total)
            case Code.RL_NUM_STEPS:
                return wire.INTEGER.pack(self.steps)
            case Code.RL_NUM_EPISODES:
                return wire.INTEGER.pack(self.episodes)
            case Code.RL_AGENT_MESSAGE:
                return self.world.agent.message(wire.check_text(payload))
            case Code.RL_ENV_MESSAGE:
                return self.world.environment.message(wire.check_text(payload))
            case Code.RL_ENV_START | Code.RL_AGENT_START | Code.RL_AGENT_STEP | Code.RL_AGENT_END:
                if code == Code.RL_ENV_START:
                    self._begin()
                return self.world.half(code, payload)
            case Code.RL_ENV_STEP:
                outcome = self.world.half(code, payload)
                self._count(*wire.OUTCOME.unpack_from(outcome))
                return outcome
        raise WireError(f"an experiment does not send code {code}")

    def _begin(self) -> None:
        self.steps, self.total = 1, 0.0

    def _count(self, terminal: int, reward: float) -> None:
        self.total += reward
        if terminal == TERMINAL:
            self.episodes += 1
        else:
            self.steps += 1

    def _start(self) -> bytes:
        answer = self.world.start()
        self._begin()
        return answer

    def _step(self) -> tuple[int, bytes]:
        terminal, reward, answer = self.world.step()
        self._count(terminal, reward)
        return terminal, answer

    def _episode(self, payload: bytes) -> bytes:
        """Play an episode; if it is cut off, neither side is told, as in the original."""
        if len(payload) != 4:
            raise WireError(f"RL_episode has a limit of 4 bytes; got {len(payload)}")
        most = wire.LENGTH.unpack(payload)[0] or math.inf
        self._start()
        terminal = 0
        while not terminal and self.steps < most:
            terminal = self._step()[0]
            if self.steps % OFTEN == 0 and self._left():
                raise WireError("the experiment left during an episode")
        return wire.INTEGER.pack(terminal)
