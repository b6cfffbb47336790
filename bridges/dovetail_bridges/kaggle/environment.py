"""Kaggle's environments as environments of Dovetail."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any

from msgspec import Meta, Struct

from dovetail.peer.environments.environment import IllegalAction, Spec, Turn, View
from dovetail.peer.presets import local
from dovetail.peer.registry import one_line
from dovetail.protocol import spaces
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.outside import LimitedNatural
from dovetail.protocol.scenes import Card, Choice, Scene
from dovetail_bridges import arguments, conversion
from dovetail_bridges.conversion import as_json, from_returns
from dovetail_bridges.foreign import ForeignCalls, Unforkable

LONGEST = 1 << 20
"""Maximum characters of an observation or action as text."""
SEEDS = ("seed", "randomSeed")
"""Names of the seed in an environment's configuration."""
COUNTS = ("columns", "signs", "banditCount")
"""Names of the number of actions in a configuration; a schema's maximum may be larger."""
ALONE = ("lux_ai_2021",)
"""Environments that keep their match in a module: two in one program change each other."""
FAULTS = ("INVALID", "ERROR", "TIMEOUT")


class Options(Struct, frozen=True, forbid_unknown_fields=True):
    """The options of ``KaggleEnvironment``."""

    id: Annotated[str, Meta(description="Kaggle's name of the environment, such as connectx.")] = (
        "connectx"
    )
    players: Annotated[
        LimitedNatural,
        Meta(
            description="Number of agents, the seats; 0 for the fewest.",
            extra_json_schema={"x-seats": True},
        ),
    ] = 0
    arguments: Annotated[
        dict[str, Any], Meta(description="Configuration of the environment, by name.")
    ] = {}


class KaggleEnvironment(Unforkable[Options]):
    """Any environment of the package kaggle-environments; its agents are the seats.

    An observation is JSON with the agent's view in Kaggle, and the configuration.  The run's clock
    replaces Kaggle's time limits.  An action that Kaggle finds invalid is refused, and the position
    stays.
    """

    name = "kaggle"
    packages = ("kaggle_environments",)
    whose = "Kaggle's environments"

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.matches = int(local(cls, "id") in ALONE)

    def init(self) -> Spec:
        options = self.configuration
        if options.id in ALONE and not self.matches:
            raise DovetailError(
                f"environment kaggle, option 'id': {options.id} has room for one match in a "
                f"program; start one with --set id={options.id}"
            )
        arguments.check(type(self), options.arguments)
        self._call = ForeignCalls()
        self.env = self._made({})
        counts = list(self.env.specification.agents)
        self._seats = options.players or counts[0]
        if self._seats not in counts:
            raise DovetailError(
                f"environment kaggle, option 'players': {options.id} takes "
                f"{' or '.join(map(str, counts))}, not {self._seats}"
            )
        return self.around(self.env)

    def around(self, env: Any) -> Spec:
        """Return the spec of an environment of Kaggle's."""
        specification, configuration = env.specification, env.configuration
        self._seed = next((each for each in SEEDS if each in specification.configuration), None)
        self._names, space = _actions(specification.action, configuration)
        self._discrete = isinstance(space, spaces.Discrete)
        return Spec(
            name=env.name,
            seats=self._seats,
            observation_spaces=[spaces.Text(LONGEST)],
            action_spaces=[space],
            perfect_information=False,  # Kaggle does not say
            chance=True,
            max_turns=int(configuration.episodeSteps),
        )

    def _made(self, seed: Mapping[str, int]) -> Any:
        """Return Kaggle's environment, with a seed in its configuration."""
        options = self.configuration
        given = {**options.arguments, **seed}
        try:
            return self._call(lambda: _library().make(options.id, configuration=given))
        except Exception as error:
            raise DovetailError(
                f"environment kaggle, option 'id': {options.id} cannot be made: {one_line(error)}"
            ) from error

    def start(self, seed: int) -> Turn:
        narrow = conversion.narrow(seed)
        self._call.seed(narrow)
        # Many keep the seed of their first episode, each in another place; so a new one is made.
        self.env = self._made({} if self._seed is None else {self._seed: narrow})
        self._call(lambda: self.env.reset(self._seats))
        self._totals = [float(each.reward or 0.0) for each in self.env.state]
        return self._turn([0.0] * self._seats)

    def step(self, actions: Mapping[int, Any]) -> Turn:
        given: list[Any] = [None] * self._seats
        for seat, action in actions.items():
            given[seat] = self.written(action, seat)
        kept, steps = copy.deepcopy(self.env.state), list(self.env.steps)
        self._call(lambda: self.env.step(given))
        for seat in actions:
            if (status := self.env.state[seat].status) in FAULTS:
                self.env.state, self.env.steps = kept, steps
                raise IllegalAction(
                    f"{self.env.name} answers {status} to {given[seat]!r:.60}", seat
                )
        return self._turn(self._earned())

    def written(self, action: Any, seat: int) -> Any:
        """Return an action in Kaggle's form.

        Raises:
            IllegalAction: a text is not JSON.
        """
        if self._discrete:
            return action if self._names is None else self._names[action]
        try:
            return json.loads(action)
        except (ValueError, RecursionError):
            raise IllegalAction(f"{action!r:.40} is not JSON", seat) from None

    def _earned(self) -> list[float]:
        """Return each seat's reward, as the difference of Kaggle's totals."""
        found = []
        for seat, state in enumerate(self.env.state):
            total = state.reward
            if not isinstance(total, bool | int | float) or not math.isfinite(total):
                raise ValueError(
                    f"{self.env.name} gives agent {seat} the reward {total!r}, "
                    f"status {state.status}; expected a number"
                )
            found.append(float(total) - self._totals[seat])
            self._totals[seat] = float(total)
        return found

    def _turn(self, rewards: Sequence[float]) -> Turn:
        seen = [as_json(self._shown(seat))[:LONGEST] for seat in range(self._seats)]
        if self.env.done:
            return Turn.end(seen, rewards, outcome=from_returns(self._totals))
        active = [seat for seat, each in enumerate(self.env.state) if each.status == "ACTIVE"]
        views = [
            View(seat, seen[seat], self._legal() if seat in active else None, rewards[seat])
            for seat in range(self._seats)
            if seat in active or rewards[seat]
        ]
        return Turn(to_act=active, seats=views)

    def _shown(self, seat: int) -> dict[str, Any]:
        """Return an agent's view in Kaggle, with the configuration."""
        state = self.env.state
        schema = self.env.specification.observation
        found = shown(schema, state[seat].observation, state[0].observation)
        return with_configuration(found, self.env.configuration)

    def _legal(self) -> list[int] | None:
        """Return the columns of connectx that are not full; Kaggle lists no legal actions."""
        if self.env.name != "connectx":
            return None
        columns = int(self.env.configuration.columns)
        top = self.env.state[0].observation.board[:columns]
        return [column for column, disc in enumerate(top) if not disc]

    def text(self, seat: int | None = None) -> str:
        """Return Kaggle's rendering as text, or by default the seat's observation."""
        if seat is not None:
            return as_json(self._shown(seat))
        with suppress(Exception):  # some draw only in a browser
            return str(self._call(lambda: self.env.render(mode="ansi")) or "")
        return ""

    def scene(self, seat: int | None = None) -> Scene | None:
        """Return a card for each action that has a name."""
        acts = seat is not None and self.env.state[seat].status == "ACTIVE"
        return named(self._names if acts else None, self.text(seat))


def shown(
    schema: Mapping[str, Any], own: Mapping[str, Any], first: Mapping[str, Any]
) -> dict[str, Any]:
    """Return an agent's observation: its own fields and the first agent's shared ones, none hidden.

    Fields of only the first agent that are not marked as shared are that agent's secrets.

    >>> schema = {"board": {"shared": True}, "hand": {}, "log": {"hidden": True}}
    >>> shown(schema, {"hand": 2, "log": 0}, {"board": [0], "hand": 1, "log": 9, "secret": 3})
    {'hand': 2, 'board': [0]}
    """
    found = {key: value for key, value in own.items() if not _marked(schema, key, "hidden")}
    for key, each in schema.items():
        if _marked(schema, key, "hidden"):
            continue
        if _marked(schema, key, "shared") and key in first:
            found[key] = first[key]
        elif isinstance(each, Mapping) and isinstance(each.get("properties"), Mapping):
            parts = own.get(key), first.get(key)
            if all(isinstance(part, Mapping) for part in parts):
                found[key] = shown(each["properties"], *parts)  # type: ignore[arg-type]
    return found


def named(names: Sequence[Any] | None, caption: str) -> Scene:
    """Return a scene with a card for each action that has a name."""
    cards = [Card("actions", str(name)) for name in names or ()]
    choices = [Choice(number, card.name, cards=[number]) for number, card in enumerate(cards)]
    return Scene(cards=cards, choices=choices, caption=caption)


def with_configuration(
    observation: Mapping[str, Any], configuration: Mapping[str, Any]
) -> dict[str, Any]:
    """Return an observation with the configuration, which is an agent's second argument.

    The seeds are left out, since they tell what is hidden.
    """
    told = {key: value for key, value in configuration.items() if key not in SEEDS}
    return {**observation, "configuration": told}


def _marked(schema: Mapping[str, Any], key: str, mark: str) -> bool:
    return isinstance(each := schema.get(key), Mapping) and each.get(mark) is True


def _actions(
    schema: Mapping[str, Any], configuration: Mapping[str, Any]
) -> tuple[list[Any] | None, spaces.Space]:
    """Return the names of the actions, if any, and their space."""
    if schema.get("enum"):
        return list(schema["enum"]), spaces.Discrete(len(schema["enum"]))
    low, high = schema.get("minimum", 0), schema.get("maximum")
    if schema.get("type") == "integer":
        highs = [low + int(configuration[each]) - 1 for each in COUNTS if each in configuration]
        high = min([*highs, *([] if high is None else [high])], default=None)
        if high is not None:
            return None, spaces.Discrete(int(high - low + 1), int(low))
    return None, spaces.Text(LONGEST)


def _library() -> Any:
    try:
        import kaggle_environments
    except ModuleNotFoundError as error:
        raise DovetailError(
            "environment kaggle needs Kaggle's environments; "
            "pip install --no-deps kaggle-environments, and jsonschema and requests"
        ) from error
    return kaggle_environments
