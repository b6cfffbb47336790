"""Dovetail's games as PettingZoo's environments."""

from __future__ import annotations

from typing import Any, ClassVar

from pettingzoo import AECEnv, ParallelEnv
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from dovetail.peer.environments.environment import Environment
from dovetail.protocol.errors import DovetailError
from dovetail_bridges.pettingzoo.table import Illegal, RulesTable, Seeds

MODES = ["ansi", "human"]


class _Shown:
    """The base of both interfaces."""

    metadata: ClassVar[dict[str, Any]]
    table: RulesTable
    render_mode: str | None

    def __init__(
        self,
        game: str | type[Environment],
        configuration: dict[str, Any] | None = None,
        *,
        illegal: Illegal = "forfeit",
        max_cycles: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        super().__init__()
        if render_mode not in (None, *MODES):
            raise DovetailError(
                f"render_mode {render_mode!r} does not exist; there are ansi and human"
            )
        if max_cycles is not None and (type(max_cycles) is not int or max_cycles < 1):
            raise DovetailError(
                f"max_cycles must be an integer >= 1, or None for no limit, not {max_cycles!r}"
            )
        self.table = RulesTable(game, configuration, illegal)
        self.render_mode = render_mode
        self.max_cycles = max_cycles
        self.metadata = {  # type: ignore[misc]
            "name": f"dovetail_{self.table.name}",
            "render_modes": MODES,
            "is_parallelizable": False,
            "render_fps": 4,
        }
        self.possible_agents = list(self.table.agents)
        self.agents: list[str] = []
        self.observation_spaces = self.table.observation_spaces
        self.action_spaces = self.table.action_spaces
        self._seeds = Seeds()

    def observation_space(self, agent: str) -> Any:
        """Return an agent's observation space, a dictionary with ``observation`` and
        ``action_mask`` if actions are numbers."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Any:
        """Return an agent's action space."""
        return self.action_spaces[agent]

    def render(self) -> Any:
        """Return the position as text, or print it."""
        if self.render_mode == "ansi":
            return self.table.text()
        if self.render_mode == "human":
            print(self.table.text())
        return None

    def close(self) -> None:
        """Release the game."""
        self.table.environment.cleanup()

    def __str__(self) -> str:
        return str(self.metadata["name"])


class AEC(_Shown, AECEnv):
    """A game whose agents ``seat_0``, ``seat_1``, ... act one after another.

    In a simultaneous turn the seats are asked in order without seeing each other's actions, and
    rewards follow the last one.

    Args:
        game: an environment's name or class.
        configuration: its options.
        illegal: the effect of an illegal action: ``forfeit``, ``random`` or ``raise``.
        max_cycles: truncate after this many cycles, in each of which every agent is asked once.  A
            seat not to act is asked with a mask of zeros, and its action is ignored.
        render_mode: ``ansi`` or ``human``.

    Raises:
        DovetailError: the game does not exist, or the options are invalid.
    """

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start an episode; a seed starts the series of a run with that master seed."""
        table = self.table
        table.start(self._seeds.next(seed))
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict(zip(self.agents, table.rewards, strict=True))
        self._asked = [0] * len(self.agents)
        self._chosen: dict[int, Any] = {}
        self.agent_selection = self.agents[0]
        self._follow()

    def observe(self, agent: str) -> Any:
        """Return an agent's latest observation."""
        return self.table.observe(self.possible_agents.index(agent))

    def step(self, action: Any) -> None:
        """Apply the action of ``agent_selection``.

        Raises:
            IllegalAction: it is not legal and ``illegal`` is ``raise``; the episode is as before.
        """
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        table = self.table
        seat = self.possible_agents.index(agent)
        chosen: dict[int, Any] = {}
        waiting: list[int] = []
        if seat in table.to_act:
            chosen = self._chosen | {seat: action}
            waiting = [each for each in table.to_act if each not in chosen]
            if waiting:
                table.check(seat, action)
            else:
                table.step(chosen)
        # Nothing has changed before: a refused action leaves the episode as it was.
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        self._asked[seat] += 1
        if waiting:
            self._chosen = chosen
            self.agent_selection = self.possible_agents[waiting[0]]
            return
        if chosen:
            self._chosen = {}
            self.rewards = dict(zip(self.agents, table.rewards, strict=True))
            self._accumulate_rewards()
        self._follow()
        if chosen and self.render_mode == "human":
            self.render()

    def _follow(self) -> None:
        """Select the next agent to ask, or let all agents see the end."""
        table, asked = self.table, self._asked
        behind: list[int] = []
        if self.max_cycles is not None and not table.over:
            low = min(asked)
            if any(asked[seat] > low for seat in table.to_act):
                behind = [
                    seat
                    for seat, count in enumerate(asked)
                    if count == low and seat not in table.to_act
                ]
            if not behind and any(asked[seat] >= self.max_cycles for seat in table.to_act):
                table.cut()
        self.terminations = dict(zip(self.agents, table.terminations(), strict=True))
        self.truncations = dict(zip(self.agents, table.truncations(), strict=True))
        self.infos = {agent: table.info() for agent in self.agents}
        if table.over:
            self.agent_selection = self.agents[0]
        else:
            self.agent_selection = self.possible_agents[(behind or table.to_act)[0]]


class Parallel(_Shown, ParallelEnv):
    """A game whose agents all act in every step.

    The mask of a seat not to act is all zeros, and its action is ignored.

    Args:
        game: an environment's name or class.
        configuration: its options.
        illegal: the effect of an illegal action: ``forfeit``, ``random`` or ``raise``.
        max_cycles: truncate after this many steps.
        render_mode: ``ansi`` or ``human``.

    Raises:
        DovetailError: the game does not exist, or the options are invalid.
    """

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Start an episode; a seed starts the series of a run with that master seed."""
        self.table.start(self._seeds.next(seed))
        self.agents = list(self.possible_agents)
        self._steps = 0
        return self._observed(), {agent: self.table.info() for agent in self.agents}

    def step(self, actions: dict[str, Any]) -> tuple[dict[str, Any], ...]:
        """Apply the actions of the seats to act."""
        table, agents = self.table, self.agents
        if not agents:
            return {}, {}, {}, {}, {}
        table.step({seat: actions[self.possible_agents[seat]] for seat in table.to_act})
        self._steps += 1
        if not table.over and self.max_cycles is not None and self._steps >= self.max_cycles:
            table.cut()
        if table.over:
            self.agents = []
        if self.render_mode == "human":
            self.render()
        return (
            self._observed(),
            dict(zip(agents, table.rewards, strict=True)),
            dict(zip(agents, table.terminations(), strict=True)),
            dict(zip(agents, table.truncations(), strict=True)),
            {agent: table.info() for agent in agents},
        )

    def _observed(self) -> dict[str, Any]:
        return {agent: self.table.observe(n) for n, agent in enumerate(self.possible_agents)}


def env(game: str | type[Environment], *arguments: Any, **more: Any) -> Any:
    """Return the AEC form of a game, wrapped to detect calls in the wrong order."""
    return OrderEnforcingWrapper(AEC(game, *arguments, **more))


raw_env = AEC
parallel_env = Parallel
