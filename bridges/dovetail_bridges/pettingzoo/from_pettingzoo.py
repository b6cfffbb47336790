"""PettingZoo's environments as environments of Dovetail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from dovetail.peer.environments.environment import Spec, Turn, View
from dovetail.peer.registry import one_line
from dovetail.protocol import spaces
from dovetail.protocol.errors import DovetailError
from dovetail_bridges import arguments, conversion
from dovetail_bridges.conversion import from_returns
from dovetail_bridges.foreign import DictKeys, Foreign

MASK = "action_mask"


class Options(DictKeys, Struct, frozen=True, forbid_unknown_fields=True):
    """The options of ``PettingZoo``."""

    id: Annotated[
        str, Meta(description="PettingZoo's id of the environment, such as classic/tictactoe-v3.")
    ] = "classic/tictactoe-v3"
    api: Annotated[
        Literal["aec", "parallel"], Meta(description="One agent after the other, or all at once.")
    ] = "aec"
    arguments: Annotated[
        dict[str, Any], Meta(description="Arguments of pettingzoo.make, by name.")
    ] = {}
    outcome: Annotated[
        Literal["returns", "none"],
        Meta(description="Score the seats by their returns, or give episodes no outcome."),
    ] = "returns"
    fresh: Annotated[
        bool,
        Meta(
            description="Make it again for each episode, if its reset leaves something behind, as "
            "that of knights_archers_zombies-v11 does."
        ),
    ] = False
    seed_bits: Annotated[
        int,
        Meta(
            ge=1,
            le=63,
            description="Reduce seeds to this many bits; some games take only small ones.",
        ),
    ] = 31


class PettingZoo(Foreign[Options]):
    """Any environment registered with PettingZoo; its possible agents are the seats.

    Agents act while they are present.  A mask in the observation or the info becomes the legal
    actions.  Other programs can use registered ids; an id of the form ``module:function`` imports
    the module, and is reserved for the local user, as are arguments that name files.
    """

    name = "pettingzoo"
    packages = ("pettingzoo",)

    def init(self) -> Spec:
        options = self.configuration
        try:
            self.env = self._make()
        except DovetailError:
            raise
        except Exception as error:
            raise DovetailError(
                f"environment pettingzoo, option 'id': {options.id} cannot be made: "
                f"{one_line(error)}"
            ) from error
        self.agents = list(self.env.possible_agents)
        self.seat_of = {agent: seat for seat, agent in enumerate(self.agents)}
        self._parallel = options.api == "parallel"
        self._foreign, self._whole, self._observations, self._actions = [], [], [], []
        shown = [self.env.observation_space(agent) for agent in self.agents]
        if options.changed:
            shown = options.spaces(f"environment pettingzoo, {options.id}", shown)
        for agent, seen in zip(self.agents, shown, strict=True):
            acted = self.env.action_space(agent)
            whole = conversion.from_space(seen, f"the observation space of {agent}")
            self._whole.append(whole)
            self._foreign.append((seen, acted))
            self._observations.append(_without_mask(whole))
            self._actions.append(conversion.from_space(acted, f"the action space of {agent}"))
        return Spec(
            name=options.id,
            seats=len(self.agents),
            observation_spaces=_once(self._observations),
            action_spaces=_once(self._actions),
            perfect_information=False,  # PettingZoo does not say
            chance=True,
        )

    def _make(self) -> Any:
        import pettingzoo

        options = self.configuration
        arguments.check_id(type(self), options.id)
        arguments.check(type(self), options.arguments)
        if ":" not in options.id:
            return pettingzoo.make(options.api, options.id, **options.arguments)
        from dovetail.peer import plugins

        return plugins.function(options.id, "environment pettingzoo, option 'id'")(
            **options.arguments
        )

    def begin(self, seed: int) -> Turn:
        if self.configuration.fresh:
            self.env.close()
            self.env = self._make()
        narrow = conversion.narrow(seed, self.configuration.seed_bits)
        seats = len(self.agents)
        self._totals = [0.0] * seats
        self._seen = [
            conversion.from_value(space, conversion.zeros(space)) for space in self._observations
        ]
        self._masks: dict[int, Any] = {}
        self._ends: dict[str, bool] = {}
        """True for an agent whose episode the rules ended, False if a limit did."""
        rewards = [0.0] * seats
        if not self._parallel:
            self.env.reset(seed=narrow)
            return self._aec(rewards)
        seen, infos = self.env.reset(seed=narrow)
        return self._all(seen, infos, rewards, {}, {})

    def advance(self, actions: Mapping[int, Any]) -> Turn:
        rewards = [0.0] * len(self.agents)
        if self._parallel:
            chosen = {self.agents[seat]: self._act(seat, each) for seat, each in actions.items()}
            seen, earned, terminated, truncated, infos = self.env.step(chosen)
            self._earn(earned, rewards)
            return self._all(seen, infos, rewards, terminated, truncated)
        for seat, action in actions.items():
            self.env.step(self._act(seat, action))
            self._earn(self.env.rewards, rewards)
        return self._aec(rewards)

    # -- one after the other ---------------------------------------------------------------------

    def _aec(self, rewards: list[float]) -> Turn:
        """Return the turn of the selected agent, or the end."""
        env = self.env
        self._note(env.terminations, env.truncations)
        ended = {agent: env.terminations[agent] or env.truncations[agent] for agent in env.agents}
        if all(ended.values()):
            terminated = any(env.terminations[agent] for agent in env.agents)
            for agent in env.agents:
                self._show(self.seat_of[agent], env.observe(agent), env.infos[agent])
            return self._end(rewards, truncated=bool(env.agents) and not terminated)
        while ended[env.agent_selection]:  # the dead leave first
            env.step(None)
        agent = env.agent_selection
        seat = self.seat_of[agent]
        self._show(seat, env.observe(agent), env.infos[agent])
        return self._ask([seat], rewards)

    # -- all at once -----------------------------------------------------------------------------

    def _all(
        self,
        seen: Mapping[str, Any],
        infos: Mapping[str, Any],
        rewards: list[float],
        terminated: Mapping[str, Any],
        truncated: Mapping[str, Any],
    ) -> Turn:
        self._note(terminated, truncated)
        for agent, observation in seen.items():
            if agent in self.seat_of:
                self._show(self.seat_of[agent], observation, infos.get(agent, {}))
        live = [
            agent
            for agent in self.env.agents
            if not (terminated.get(agent) or truncated.get(agent))
        ]
        if live:
            return self._ask([self.seat_of[agent] for agent in live], rewards)
        cut = any(truncated.values()) and not any(terminated.values())
        return self._end(rewards, truncated=cut)

    # -- both ------------------------------------------------------------------------------------

    def _act(self, seat: int, action: Any) -> Any:
        return conversion.to_action(self._foreign[seat][1], self._actions[seat], action)

    def _earn(self, earned: Mapping[str, Any], rewards: list[float]) -> None:
        for agent, reward in earned.items():
            if agent in self.seat_of:
                seat = self.seat_of[agent]
                rewards[seat] += float(reward)
                self._totals[seat] += float(reward)

    def _show(self, seat: int, observation: Any, info: Mapping[str, Any]) -> None:
        """Record a seat's observation, and its mask, which can be in the info instead."""
        if observation is None:
            return
        if self.configuration.changed and isinstance(observation, dict):
            observation = self.configuration.values(observation)
        mask = info.get(MASK)
        if isinstance(observation, dict) and MASK in observation:
            mask = observation[MASK]
        seen = conversion.from_value(self._whole[seat], observation, self._foreign[seat][0])
        if self._whole[seat] is not self._observations[seat]:
            seen = _unmasked(seen)
        self._seen[seat] = seen
        self._masks[seat] = mask

    def _ask(self, to_act: list[int], rewards: list[float]) -> Turn:
        views = [
            View(
                seat,
                self._seen[seat],
                conversion.from_mask(self._masks.get(seat), self._actions[seat]),
                rewards[seat],
            )
            for seat in to_act
        ]
        views += [
            View(seat, self._seen[seat], None, reward)
            for seat, reward in enumerate(rewards)
            if reward and seat not in to_act
        ]
        return Turn(to_act=to_act, seats=views)

    def _note(self, terminated: Mapping[str, Any], truncated: Mapping[str, Any]) -> None:
        """Record the ends of agents whose flags are set."""
        for agent in self.agents:
            if terminated.get(agent) or truncated.get(agent):
                self._ends.setdefault(agent, bool(terminated.get(agent)))

    def _end(self, rewards: list[float], *, truncated: bool) -> Turn:
        scored = self.configuration.outcome == "returns"
        outcome = from_returns(self._totals) if scored else None
        turn = Turn.end(self._seen, rewards, outcome=outcome, truncated=truncated)
        for view, agent in zip(turn.seats, self.agents, strict=True):
            if self._ends.get(agent, not truncated) is truncated:
                view.truncated = not truncated
        return turn

    def text(self, seat: int | None = None) -> str:
        """Return the environment's rendering as text, if it has render_mode ansi."""
        if seat is not None or getattr(self.env, "render_mode", None) != "ansi":
            return ""
        return str(self.env.render())


def _without_mask(space: spaces.Space) -> spaces.Space:
    """Return an observation space without its mask."""
    if not isinstance(space, spaces.Dict) or MASK not in space.spaces:
        return space
    rest = {key: each for key, each in space.spaces.items() if key != MASK}
    return rest["observation"] if list(rest) == ["observation"] else spaces.Dict(rest)


def _unmasked(observation: dict[str, Any]) -> Any:
    rest = {key: each for key, each in observation.items() if key != MASK}
    return rest["observation"] if list(rest) == ["observation"] else rest


def _once(each: list[spaces.Space]) -> list[spaces.Space]:
    """Return a single space if all seats have the same, else all of them."""
    return each[:1] if all(space == each[0] for space in each) else each
