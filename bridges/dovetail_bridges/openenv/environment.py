"""An OpenEnv server as an environment of Dovetail."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from dovetail.peer.environments.environment import IllegalAction, Spec, Turn, View
from dovetail.peer.presets import local
from dovetail.protocol import spaces
from dovetail.protocol.display_text import line
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.outside import LimitedNatural, LimitedPositive
from dovetail_bridges.conversion import as_json, from_returns
from dovetail_bridges.foreign import Unforkable
from dovetail_bridges.openenv.client import (
    OpenEnvClient,
    RequestRefused,
    ServerFault,
    addresses,
    schema,
)

HEADERS = "DOVETAIL_OPENENV_HEADERS"
"""The environment variable with the headers of a handshake, as a JSON object."""
LONGEST = 1 << 20
"""Maximum characters of an observation or action as text."""
LISTED = ("legal_actions", "legal_moves")
"""Keys of observations for legal actions."""


class Options(Struct, frozen=True, forbid_unknown_fields=True):
    """The options of ``OpenEnv``."""

    url: Annotated[
        str, Meta(description="Base URL of the server, such as http://127.0.0.1:8000.")
    ] = ""
    action: Annotated[
        str,
        Meta(
            description="The property of an action that a seat chooses; empty for the only one "
            "that is required. `json`: the whole action, as JSON."
        ),
    ] = ""
    fixed: Annotated[dict[str, Any], Meta(description="Other properties of every action.")] = {}
    actions: Annotated[
        LimitedNatural,
        Meta(
            description="The number of actions, counted from 0; 0 for what the schema or the first "
            "position says."
        ),
    ] = 0
    legal: Annotated[
        str,
        Meta(
            description="The key of an observation that lists the legal actions; empty for "
            "legal_actions or legal_moves. `none`: all actions are legal."
        ),
    ] = ""
    observe: Annotated[
        str,
        Meta(description="`json`: the observation as text; or the key of a text or list in it."),
    ] = "json"
    player: Annotated[
        str,
        Meta(
            description="The key that says who must act, with dots, such as metadata.next_player, "
            "where one client plays all seats."
        ),
    ] = ""
    players: Annotated[
        list[Any], Meta(description="The values of that key, by seat; without it, [0, 1].")
    ] = []
    reward_of: Annotated[
        Literal["mover", "all"],
        Meta(
            description="With player: a reward belongs to the seat that acted, and of two seats "
            "the other gets its negative at the end; or each seat gets it."
        ),
    ] = "mover"
    reset: Annotated[dict[str, Any], Meta(description="Further parameters of reset.")] = {}
    sessions: Annotated[
        LimitedNatural, Meta(description="Matches at a time; 0 for any number.")
    ] = 1
    timeout: Annotated[float, Meta(gt=0, description="Seconds for an answer.")] = 60.0
    max_turns: Annotated[
        LimitedPositive, Meta(description="Turns after which an episode is truncated.")
    ] = 1000


class OpenEnv(Unforkable[Options]):
    """Any environment of an OpenEnv server; a match is a session.

    Only the local user can choose the server, with ``--set url=...``.  In OpenEnv one client plays
    an environment; where it plays all sides, ``player`` assigns them to seats.
    """

    name = "openenv"
    packages = ("websockets",)
    whose = "OpenEnv's servers"

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.matches = int(local(cls, "sessions") or 0)

    def init(self) -> Spec:
        options = self.configuration
        if not options.url or options.url != local(type(self), "url"):
            raise DovetailError(
                "environment openenv: only the program that serves it names the server; start it "
                "with --set url=http://HOST:PORT"
            )
        headers = _headers()
        page, base = addresses(options.url)
        self._fields = _Action(schema(page, headers, options.timeout)["action"], options)
        self._players: list[Any] = (options.players or [0, 1]) if options.player else [None]
        try:
            self._open = partial(OpenEnvClient, base, headers, options.timeout)
            self.client = self._open()
            first = self._begun(0)
            self._tools = self._listed_tools() if self._fields.calls else ""
        except ServerFault as fault:
            raise DovetailError(f"environment openenv: {fault}") from None
        self._fields.measure(_legal(first, options))
        self._seen_as = _observed_as(first, options.observe)
        return Spec(
            name=line(page.removeprefix("http://").removeprefix("https://"))[:100],
            seats=len(self._players),
            observation_spaces=[self._seen_as],
            action_spaces=[self._fields.space],
            perfect_information=False,  # OpenEnv does not say
            chance=True,
        )

    def start(self, seed: int) -> Turn:
        self._turn = 0
        self._shown = ""
        self._totals = [0.0] * len(self._players)
        return self._ask(self._begun(seed), [0.0] * len(self._players))

    def _begun(self, seed: int) -> dict[str, Any]:
        """Start an episode; return the answer."""
        if self.client.broken:  # the match continues in another session
            self.client.close()
            self.client = self._open()
        try:
            return self.client.ask("reset", {**self.configuration.reset, "seed": seed})
        except RequestRefused as refusal:
            raise ServerFault(f"reset is refused: {refusal}") from None

    def _listed_tools(self) -> str:
        """Return a description of the tools of a server whose actions are tool calls."""
        try:
            tools = _inner(self.client.ask("step", {"type": "list_tools"})).get("tools")
        except RequestRefused as refusal:
            raise ServerFault(f"its list of tools is refused: {refusal}") from None
        listed = tools if isinstance(tools, list) else []
        lines = [as_json(each) for each in listed]
        return "\n".join(["Tools, by name, description and arguments:", *lines])[:LONGEST]

    def step(self, actions: Mapping[int, Any]) -> Turn:
        [(seat, action)] = actions.items()
        try:
            data = self.client.ask("step", self._fields.written(action, seat))
        except RequestRefused as refusal:
            # An action that the server itself has listed is not the seat's fault.
            if refusal.code == "EXECUTION_ERROR" and self._listed is not None:
                raise ServerFault(f"the server fails at a legal action: {refusal}") from None
            raise IllegalAction(str(refusal), seat) from None
        self._turn += 1
        if not isinstance(data.get("done"), bool | None):
            raise ServerFault(f"done is {str(data['done'])[:40]!r}, not true or false")
        rewards = self._earned(data, seat)
        for each, reward in enumerate(rewards):
            self._totals[each] += reward
        if data.get("done"):
            return self._end(data, rewards)
        if self._turn >= self.configuration.max_turns:
            seen = [self._observed(data)] * len(self._players)
            return Turn.end(seen, rewards, truncated=True)
        return self._ask(data, rewards)

    def _earned(self, data: dict[str, Any], mover: int) -> list[float]:
        """Return each seat's reward in a transition."""
        reward, earned = data.get("reward"), math.nan
        if isinstance(reward, bool | int | float | None):
            with suppress(OverflowError):
                earned = float(reward or 0.0)
        if not math.isfinite(earned):
            raise ServerFault(f"the reward {str(reward)[:40]!r} is not a number")
        seats = len(self._players)
        if seats == 1 or self.configuration.reward_of == "all":
            return [earned] * seats
        rewards = [0.0] * seats
        rewards[mover] = earned
        if seats == 2 and data.get("done"):
            rewards[1 - mover] = -rewards[mover]
        return rewards

    def _ask(self, data: dict[str, Any], rewards: list[float]) -> Turn:
        """Return the turn of the seat to act."""
        seat = self._to_act(data)
        seen = self._observed(data)
        self._listed = legal = self._fields.numbers(_legal(data, self.configuration))
        others = [
            View(each, seen, None, reward)
            for each, reward in enumerate(rewards)
            if reward and each != seat
        ]
        return Turn.ask(seat, seen, legal, rewards[seat], others=others)

    def _to_act(self, data: dict[str, Any]) -> int:
        if not self.configuration.player:
            return 0
        value = _at(data, self.configuration.player)
        if value not in self._players:
            raise ServerFault(
                f"{self.configuration.player} is {str(value)[:40]!r}; expected one of "
                f"{self._players}, which the option players lists by seat"
            )
        return self._players.index(value)

    def _end(self, data: dict[str, Any], rewards: list[float]) -> Turn:
        seen = [self._observed(data)] * len(self._players)
        metadata = data.get("metadata") or _inner(data).get("metadata")
        cut = isinstance(metadata, dict) and metadata.get("truncated") is True
        outcome = None if cut else from_returns(self._totals)
        return Turn.end(seen, rewards, outcome=outcome, truncated=cut)

    def text(self, seat: int | None = None) -> str:
        """Return a seat's last observation, preceded by the tools if actions are tool calls."""
        if seat is None:  # OpenEnv does not say what is public
            return ""
        return "\n".join(filter(None, (self._tools, self._shown)))

    def _observed(self, data: dict[str, Any]) -> Any:
        self._shown = as_json(data.get("observation"))[:LONGEST]
        return _value(data, self.configuration.observe, self._seen_as)

    def cleanup(self) -> None:
        """End the session."""
        if hasattr(self, "client"):
            self.client.close()


class _Property(Struct, rename="camel"):
    """The part that matters of the JSON Schema of an action's property."""

    type: str | list[str] = ""
    enum: list[Any] | None = None
    any_of: list[_Property] | None = None
    minimum: Any = 0
    maximum: Any = None


class _Schema(Struct):
    """The part that matters of the JSON Schema of an action."""

    properties: dict[str, _Property | bool] = {}
    required: list[str] = []


class _Action:
    """A seat's actions and their form in requests.

    Raises:
        DovetailError: the schema is malformed, or does not determine the property that a seat
            chooses.
    """

    def __init__(self, found: dict[str, Any], options: Options) -> None:
        self._options = options
        try:
            schema = msgspec.convert(found, _Schema)
        except (msgspec.ValidationError, RecursionError) as error:
            raise DovetailError(
                f"environment openenv: the server's schema of an action is malformed: "
                f"{line(str(error))[:200]}"
            ) from None
        self._properties = schema.properties
        self.calls = not options.action and {"tool_name", "arguments"} <= self._properties.keys()
        """True if an action is a tool call."""
        required = [each for each in schema.required if each not in options.fixed]
        if self.calls:
            required = []  # the name alone calls nothing
        self.field = options.action or (required[0] if len(required) == 1 else "json")
        if self.field != "json" and self.field not in self._properties:
            raise DovetailError(
                f"environment openenv, option 'action': an action has no {self.field!r}; it has "
                f"{', '.join(self._properties) or 'no properties'}"
            )
        self.space: spaces.Space = spaces.Text(LONGEST)
        self._names: list[Any] | None = None
        self._low = 0

    def measure(self, legal: list[Any] | None) -> None:
        """Determine the space from the options, the schema and a first position.

        Raises:
            DovetailError: the number of actions is unknown.
        """
        if self.field == "json":
            return
        kinds = self._kinds()
        names = next((each.enum for each in kinds if each.enum), None)
        if names is not None:
            self._names = list(names)
            self.space = spaces.Discrete(len(names))
            return
        whole = next((each for each in kinds if each.type == "integer"), None)
        if whole is None:
            return  # text
        low, high = whole.minimum, whole.maximum
        if self._options.actions:
            low, high = 0, self._options.actions - 1
        elif high is None and legal and all(type(each) is int for each in legal):
            high = max(legal)
        if high is None:
            raise DovetailError(
                "environment openenv: neither the schema nor the first position says how "
                "many actions there are; give --set actions=N"
            )
        try:
            self._low = int(low)
            self.space = spaces.Discrete(int(high) - self._low + 1, self._low)
        except (TypeError, ValueError, OverflowError):
            shown = f"{str(low)[:40]} to {str(high)[:40]}"
            raise DovetailError(
                f"environment openenv: the actions of the server, {shown}, cannot be numbered; "
                "give --set actions=N"
            ) from None

    def _kinds(self) -> list[_Property]:
        found = self._properties[self.field]
        if isinstance(found, bool):  # it allows anything, or nothing
            return []
        return found.any_of or [found]

    def numbers(self, legal: list[Any] | None) -> list[int] | None:
        """Return the legal actions as ascending numbers of the space; None for all.

        Raises:
            ServerFault: one is outside the space.
        """
        if legal is None or not isinstance(self.space, spaces.Discrete):
            return None
        if self._names is not None:
            legal = [self._names.index(each) if each in self._names else each for each in legal]
        for each in legal:
            if not self.space.contains(each):
                raise ServerFault(
                    f"the legal action {str(each)[:40]!r} is not among the actions, "
                    f"{self._low} to {self._low + self.space.n - 1}; give --set actions=N"
                )
        return sorted(set(legal))

    def written(self, action: Any, seat: int) -> dict[str, Any]:
        """Return the data of a ``step``.

        Raises:
            IllegalAction: a text is not the JSON of an object.
        """
        fixed = self._options.fixed
        if self.field == "json":
            try:
                whole = json.loads(action)
            except (ValueError, RecursionError):
                whole = None
            if not isinstance(whole, dict):
                text = f"{str(action)[:40]!r} is not a JSON object with the fields of an action"
                raise IllegalAction(text, seat)
            return {**whole, **fixed}
        if self._names is not None:
            action = self._names[action]
        return {**fixed, self.field: action}


def _headers() -> dict[str, str]:
    given = os.environ.get(HEADERS)
    if not given:
        return {}
    try:
        found = json.loads(given)
    except ValueError:
        found = None
    if not isinstance(found, dict) or not all(isinstance(each, str) for each in found.values()):
        raise DovetailError(f"{HEADERS} is not a JSON object of texts")
    return found


def _inner(data: dict[str, Any]) -> dict[str, Any]:
    found = data.get("observation")
    return found if isinstance(found, dict) else {}


def _at(data: dict[str, Any], path: str) -> Any:
    """Return an answer's value at a path, looking in the observation first."""
    for place in (_inner(data), data):
        value: Any = place
        for key in path.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        if value is not None:
            return value
    return None


def _legal(data: dict[str, Any], options: Options) -> list[Any] | None:
    """Return the legal actions listed in an answer; None if there is no list."""
    keys: Sequence[str] = [options.legal] if options.legal else LISTED
    if options.legal == "none":
        return None
    seen = _inner(data)
    found = next((seen[key] for key in keys if isinstance(seen.get(key), list)), None)
    return found or None


def _observed_as(data: dict[str, Any], observe: str) -> spaces.Space:
    """Return the observation space, determined from a first answer.

    Raises:
        DovetailError: the key is missing, or its value is neither text nor numbers.
    """
    if observe == "json":
        return spaces.Text(LONGEST)
    found = _at(data, observe)
    if isinstance(found, str):
        return spaces.Text(LONGEST)
    shape = list(_array(found).shape)
    if not shape:
        keys = ", ".join(_inner(data)) or "nothing"
        raise DovetailError(
            f"environment openenv, option 'observe': {observe!r} is not a text or a list of "
            f"numbers in the first observation, which has {keys}"
        )
    return spaces.Box(shape, -math.inf, math.inf, "float32")


def _value(data: dict[str, Any], observe: str, space: spaces.Space) -> Any:
    """Return an observation.

    Raises:
        ServerFault: its form differs from the first one's.
    """
    if observe == "json":
        return as_json(data.get("observation"))[:LONGEST]
    found = _at(data, observe)
    if isinstance(space, spaces.Text):
        return str(found if found is not None else "")[:LONGEST]
    made = _array(found)
    if list(made.shape) != space.shape:  # type: ignore[union-attr]
        raise ServerFault(f"{observe} has the shape {list(made.shape)}; it began otherwise")
    if np.isnan(made).any():
        raise ServerFault(f"{observe} has NaN among its numbers")
    return made


def _array(found: Any) -> NDArray[np.float32]:
    """Return numbers as an array; one without dimensions if they are not numbers."""
    try:
        with np.errstate(over="ignore"):
            return np.asarray(found, np.float32)
    except (ValueError, TypeError, OverflowError):
        return np.zeros((), np.float32)
