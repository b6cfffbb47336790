"""Gymnasium's environments as environments of Dovetail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta, Struct

from dovetail.peer.environments.environment import Spec, Turn
from dovetail.peer.presets import local
from dovetail.peer.quoting import command
from dovetail.peer.registry import one_line
from dovetail.protocol.errors import DovetailError
from dovetail_bridges import arguments, conversion
from dovetail_bridges.foreign import DictKeys, Foreign

MODULE = "; an id that another package registers has its module before it, as in module:id"


class Options(DictKeys, Struct, frozen=True, forbid_unknown_fields=True):
    """The options of ``Gymnasium``."""

    id: Annotated[
        str, Meta(description="Gymnasium's id of the environment, such as CartPole-v1.")
    ] = "FrozenLake-v1"
    arguments: Annotated[
        dict[str, Any], Meta(description="Arguments of gymnasium.make, by name.")
    ] = {}
    wrappers: Annotated[
        tuple[str, ...],
        Meta(
            description="Wrappers, innermost first, such as minigrid.wrappers:ImgObsWrapper; only "
            "for the program that serves the environment."
        ),
    ] = ()
    mask: Annotated[
        str, Meta(description="The key of info that has the mask of legal actions, if any has.")
    ] = "action_mask"
    seed_bits: Annotated[
        int,
        Meta(ge=1, le=63, description="Reduce seeds to this many bits; 31 for the Atari games."),
    ] = 63


class Gymnasium(Foreign[Options]):
    """Any environment registered with Gymnasium, as a game with one seat.

    Its time limit truncates; observations are copied.  Other programs can use registered ids; an id
    of the form ``module:id`` imports the module, and is reserved for the local user, as are
    wrappers and arguments that name files, modules or addresses.
    """

    name = "gymnasium"
    packages = ("gymnasium",)

    def init(self) -> Spec:
        options = self.configuration
        arguments.check_id(type(self), options.id)
        arguments.check(type(self), options.arguments)
        where, _, name = options.id.rpartition(":")
        if where:  # the local user's
            from dovetail.peer import plugins

            plugins.module("environment gymnasium, option 'id':", options.id, where)
        try:
            import gymnasium

            known = gymnasium.spec(name)
            modes = _modes(known)
            extra = {"render_mode": "ansi"} if "ansi" in modes else {}
            self.env = gymnasium.make(
                name, disable_env_checker=True, **{**extra, **dict(options.arguments)}
            )
        except Exception as error:
            raise DovetailError(
                f"environment gymnasium, option 'id': {options.id} cannot be made: "
                f"{one_line(error)}"
                f"{MODULE if type(error).__name__.endswith('NotFound') else ''}"
            ) from error
        for name in options.wrappers:
            self.env = self._wrapped(name)
        self.env = self._keyed()
        self._foreign = self.env.action_space
        self._observations = conversion.from_space(
            self.env.observation_space, f"the observation space of {options.id}"
        )
        self._action = conversion.from_space(
            self.env.action_space, f"the action space of {options.id}"
        )
        self._actions = [self._action]
        self._renders = self.env.render_mode == "ansi"
        return Spec(
            name=options.id,
            seats=1,
            observation_spaces=[self._observations],
            action_spaces=[self._action],
            chance=True,  # Gymnasium does not say; it is so for most
            max_turns=known.max_episode_steps,
        )

    def _wrapped(self, name: str) -> Any:
        """Return the environment inside a wrapper."""
        from dovetail.peer import plugins

        if name not in (local(type(self), "wrappers") or ()):
            raise DovetailError(
                f"wrapper {name!r} is imported, which only the program that serves the environment "
                f"may choose: {command('env', self.name, '--set', f'wrappers={name}')}"
            )
        try:
            return plugins.function(name, "environment gymnasium, option 'wrappers'")(self.env)
        except DovetailError:
            raise
        except Exception as error:
            raise DovetailError(
                f"environment gymnasium, option 'wrappers': {name} cannot wrap "
                f"{self.configuration.id}: {one_line(error)}"
            ) from error

    def _keyed(self) -> Any:
        """Return the environment with keys of its observations dropped and renamed."""
        options = self.configuration
        if not options.changed:
            return self.env
        from gymnasium.wrappers import TransformObservation

        owner = f"environment gymnasium, {options.id}"
        [space] = options.spaces(owner, [self.env.observation_space])
        return TransformObservation(self.env, options.values, space)

    def begin(self, seed: int) -> Turn:
        narrow = conversion.narrow(seed, self.configuration.seed_bits)
        observation, info = self.env.reset(seed=narrow)
        return self._ask(observation, info, 0.0)

    def advance(self, actions: Mapping[int, Any]) -> Turn:
        action = conversion.to_action(self._foreign, self._action, actions[0])
        observation, reward, terminated, truncated, info = self.env.step(action)
        if not (terminated or truncated):
            return self._ask(observation, info, float(reward))
        return Turn.end([self._observed(observation)], [float(reward)], truncated=not terminated)

    def _ask(self, observation: Any, info: Mapping[str, Any], reward: float) -> Turn:
        legal = conversion.from_mask(info.get(self.configuration.mask), self._action)
        return Turn.ask(0, self._observed(observation), legal, reward)

    def _observed(self, observation: Any) -> Any:
        return conversion.from_value(self._observations, observation, self.env.observation_space)

    def text(self, seat: int | None = None) -> str:
        """Return the environment's rendering as text, if it has one."""
        if not self._renders:
            return ""
        drawn = self.env.render()
        return drawn if isinstance(drawn, str) else str(drawn.getvalue())


def _modes(spec: Any) -> list[str]:
    """Return the render modes of a registered environment."""
    from gymnasium.envs.registration import load_env_creator

    entry = spec.entry_point
    creator = load_env_creator(entry) if isinstance(entry, str) else entry
    modes: list[str] = getattr(creator, "metadata", {}).get("render_modes", [])
    return modes
