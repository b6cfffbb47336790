"""An agent in this program that plays over a foreign protocol instead of a broker.

The bridge keeps the game, and sends the agent the messages of a broker.  It is the reverse of a
``RemoteSeat``: the agent is local and the game is elsewhere.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from dovetail.peer.agents.agent import Agent
from dovetail.peer.agents.host import AgentHost, agent_name
from dovetail.peer.environments.environment import Environment
from dovetail.peer.environments.lookahead import Walk
from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError


class LocalAgent:
    """An agent in a seat.

    Args:
        agent: the agent, which can play episodes of different games in turn.
    """

    def __init__(self, agent: Agent, seed: int = 0, mode: m.Mode = "evaluate") -> None:
        self.agent = agent
        self.mode: m.Mode = mode
        self._seed = seed
        self._host = AgentHost(single=agent)
        self._seq = itertools.count(1)
        self._episode = 0
        self._environment: Environment | None = None
        self._spec = m.Spec()
        self._seat = 0
        self._total = 0.0
        self._decisions = 0
        self._reward = 0.0
        self.thoughts: m.Thoughts | None = None
        """The agent's thoughts at its last answer, if it gives any."""

    def sit(self, environment: Environment, spec: m.Spec, seat: int) -> None:
        """Take a seat for one episode.

        Args:
            environment: the bridge's own copy of the game, used for lookahead.

        Raises:
            DovetailError: the agent does not play this game.
        """
        self._episode += 1
        spec.match = self._episode
        spec.name = spec.name or environment.name
        self._environment, self._spec, self._seat = environment, spec, seat
        self._total = self._reward = 0.0
        self._decisions = 0
        init = m.Init(self._episode, seat, 0, spec, True, agent_name(self.agent), next(self._seq))
        self._refused(self._host.handle([init]))

    def earn(self, reward: float) -> None:
        """Add a reward to the agent's next decision or end."""
        self._reward += reward
        self._total += reward

    def decide(
        self,
        turn: int,
        to_act: Sequence[int],
        observation: Any,
        legal: m.Legal,
        clock: m.Clock | None = None,
    ) -> Any:
        """Return the agent's action.

        Args:
            turn: a number that increases within the episode.
            to_act: the seats to act, including this one.
            legal: its legal actions; None allows its whole action space.
            clock: its remaining time, for information.

        Raises:
            DovetailError: the agent failed.
        """
        seq = next(self._seq)
        assert self._environment is not None
        more = self._wanted()
        if self.agent.needs.afterstates:
            more["afterstates"] = self._environment.afterstates(self._seat)
        reward, self._reward = self._reward, 0.0
        message: m.Message
        if self._decisions == 0:
            message = m.AgentStart(
                self._episode, self._episode, self._seat, turn,
                self._seed + self._episode, self.mode, observation, legal, clock=clock,
                reward=reward, seq=seq, think=True, **more,
            )  # fmt: skip
        else:
            message = m.AgentStep(
                self._episode,
                self._seat,
                turn,
                reward,
                observation,
                legal,
                clock=clock,
                seq=seq,
                think=True,
                **more,
            )
        self._decisions += 1
        return self._answer(self._host.handle([message]), list(to_act))

    def _answer(self, answers: list[m.Message], to_act: list[int]) -> Any:
        walk, seed = None, 0
        while True:
            self._refused(answers)
            answer = answers[-1] if answers else None
            if isinstance(answer, m.Action):
                self.thoughts = answer.thoughts
                if answer.resign:
                    raise DovetailError(
                        f"{agent_name(self.agent)} resigned, which cannot be passed on here"
                    )
                return answer.action
            if not isinstance(answer, m.AgentLookahead):
                raise DovetailError(f"{agent_name(self.agent)} gave no action")
            assert self._environment is not None
            reply: m.Message
            try:
                if walk is None or seed != answer.seed:
                    seed = answer.seed
                    root = self._environment.fork(self._seat, seed)
                    walk = Walk(root, to_act, self._spec.seats)
                found = walk.previews(answer.lines)
                reply = m.Reply(answer.id, found)
            except DovetailError as error:
                walk = None
                reply = m.Error("unavailable", str(error), id=answer.id)
            answers = self._host.handle([reply])

    def end(
        self,
        observation: Any,
        outcome: list[float] | None = None,
        reason: m.Reason = "terminated",
        reward: float = 0.0,
    ) -> None:
        """Tell the agent that the episode is over.

        Args:
            observation: the seat's final observation.
            outcome: the scores by seat; None if the game is not scored.
            reward: the seat's reward in the last transition.
        """
        self.earn(reward)
        more = self._wanted()
        end = m.End(
            self._episode, self._seat, self._episode, self._reward, observation, outcome, reason,
            None, self._total, self._decisions, mode=self.mode, seq=next(self._seq), **more,
        )  # fmt: skip
        self._host.handle([end, m.Leave(self._episode, seq=next(self._seq))])
        self._environment = None

    def _wanted(self) -> dict[str, Any]:
        environment, wants = self._environment, self.agent.wants
        if environment is None:
            return {}
        found: dict[str, Any] = {}
        if "text" in wants:
            found["text"] = environment.text(self._seat)
        if "scene" in wants:
            found["scene"] = environment.scene(self._seat)
        return found

    def _refused(self, answers: list[m.Message]) -> None:
        for answer in answers:
            if isinstance(answer, m.Error):
                raise DovetailError(answer.message)
