"""TextArena's games as environments with texts for observations and actions."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Annotated, Any

from msgspec import Meta, Struct

from dovetail.peer.environments.environment import Spec, Turn
from dovetail.peer.registry import one_line
from dovetail.protocol import spaces
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.outside import LimitedPositive
from dovetail_bridges import arguments, conversion
from dovetail_bridges.conversion import from_returns
from dovetail_bridges.foreign import ForeignCalls, Unforkable

SEEN = 1 << 16
"""Maximum characters of an observation; a longer one loses its beginning."""
SAID = 4096
"""Maximum characters of an action."""
PLAYERS = (2, 1, 3, 4, 5, 6, 7, 8)
"""Numbers of players in the order in which they are tried."""
_STYLES = re.compile("\x1b\\[[0-9;]*m")
_CORPUS = re.compile(r"Resource '?([\w.-]+)'? not found")
_SUFFIX = re.compile(r"-(?:raw|train)\Z")


class Options(Struct, frozen=True, forbid_unknown_fields=True):
    """The options of ``TextArena``."""

    id: Annotated[str, Meta(description="TextArena's id of the game, such as TicTacToe-v0.")] = (
        "TicTacToe-v0"
    )
    players: Annotated[
        int,
        Meta(
            ge=0,
            le=64,
            description="Number of players, the seats; 0 for the first that the game takes, of "
            "two, one, three and more.",
            extra_json_schema={"x-seats": True},
        ),
    ] = 0
    arguments: Annotated[
        dict[str, Any], Meta(description="Arguments of textarena.make, by name.")
    ] = {}
    max_turns: Annotated[
        LimitedPositive, Meta(description="Turns after which an episode is truncated.")
    ] = 1000


class TextArena(Unforkable[Options]):
    """Any game of TextArena; each player is a seat that reads and writes text.

    The game judges what a seat writes: after a text that it cannot use, it may ask again, and after
    a second one it ends to that seat's cost.  An observation holds the messages to the seat since
    its previous one, each after the speaker's role; further lines of a message are indented, so
    that no player can speak in another's name.
    """

    name = "textarena"
    packages = ("textarena",)
    whose = "TextArena's games"

    def init(self) -> Spec:
        options = self.configuration
        arguments.check(type(self), options.arguments)
        self._call = ForeignCalls()
        self.env = self._made()
        self._seats = self._counted()
        return Spec(
            name=_SUFFIX.sub("", options.id),
            seats=self._seats,
            observation_spaces=[spaces.Text(SEEN)],
            action_spaces=[spaces.Text(SAID)],
            perfect_information=False,  # TextArena does not say
            chance=True,
        )

    def _made(self) -> Any:
        """Make the game without wrappers, which keep histories and format text for one model."""
        try:
            import textarena
        except ModuleNotFoundError as error:
            raise DovetailError(
                "environment textarena needs TextArena; pip install 'dovetail[textarena]'"
            ) from error
        options = self.configuration
        plain = _SUFFIX.sub("", options.id)
        try:
            with _offline():
                return self._call(lambda: textarena.make(f"{plain}-raw", **options.arguments))
        except Exception as error:
            raise DovetailError(
                f"environment textarena, option 'id': {plain} cannot be made: {_cause(error)}"
            ) from error

    def _counted(self) -> int:
        """Return the number of players that the game accepts."""
        options = self.configuration
        tried = (options.players,) if options.players else PLAYERS
        last: Exception | None = None
        for players in tried:
            try:
                self._call(partial(self.env.reset, num_players=players, seed=0))
            except Exception as error:
                last = error
            else:
                return players
        assert last is not None
        raise DovetailError(
            f"environment textarena, option 'players': {options.id} does not begin with "
            f"{' or '.join(map(str, tried))} players: {_cause(last)}"
        ) from last

    def start(self, seed: int) -> Turn:
        narrow = conversion.narrow(seed)
        self._call.seed(narrow)
        # Some leave things behind, such as KuhnPoker its shuffled deck; so a new one is made.
        self.env = self._made()
        self._turn = 0
        self._said: list[list[str]] = [[] for _ in range(self._seats)]
        """All messages to each seat, by seat."""
        self._new: list[list[str]] = [[] for _ in range(self._seats)]
        """The messages to each seat since its last observation, by seat."""
        self._shared: list[str] = []
        """The messages sent to all seats at once."""
        self._call(lambda: self.env.reset(num_players=self._seats, seed=narrow))
        return self._ask()

    def step(self, actions: Mapping[int, Any]) -> Turn:
        [(seat, action)] = actions.items()
        done, _ = self._call(lambda: self.env.step(str(action)))
        self._turn += 1
        if done:
            return self._end(seat)
        if self._turn >= self.configuration.max_turns:
            self._collect(self.env.state.observations)
            return Turn.end(self._observed(), [0.0] * self._seats, truncated=True)
        return self._ask()

    def _ask(self) -> Turn:
        """Return the turn of the player to move."""
        player, box = self._call(self.env.get_observation)  # which empties the box
        if player not in range(self._seats):
            raise ValueError(f"the game asks player {player!r}; expected 0 to {self._seats - 1}")
        self._collect({**self.env.state.observations, player: box})
        return Turn.ask(player, self._seen(player))

    def _end(self, seat: int) -> Turn:
        """Return the final turn, after a seat's action."""
        self._collect(self.env.state.observations)
        rewards, told = self._call(self.env.close)
        if not isinstance(rewards, Mapping):
            raise ValueError(
                f"the game ends with the rewards {rewards!r}; expected one for each player"
            )
        earned = [_reward(rewards.get(each, 0.0), each) for each in range(self._seats)]
        broke = isinstance(told, Mapping) and told.get(seat, {}).get("invalid_move")
        return Turn.end(
            self._observed(), earned, outcome=from_returns(earned), blame=seat if broke else None
        )

    # -- what seats are told ---------------------------------------------------------------------

    def _collect(self, boxes: Mapping[int, list[Any]]) -> None:
        """Move each player's new messages out of the boxes."""
        lines = {
            seat: [self._line(each) for each in boxes.get(seat, ())] for seat in range(self._seats)
        }
        self._shared += [line for line in lines[0] if all(line in told for told in lines.values())]
        for seat, told in lines.items():
            self._said[seat] += told
            self._new[seat] += told
        for seat in self.env.state.observations:
            self.env.state.observations[seat] = []

    def _line(self, message: Any) -> str:
        """Return a message preceded by its speaker's role."""
        try:
            speaker, text, _ = message
            role = self.env.state.role_mapping.get(speaker, f"Player {speaker}")
        except (TypeError, ValueError, AttributeError):
            raise ValueError(
                f"the game says {message!r}; expected speaker, text and kind"
            ) from None
        if not isinstance(text, str) or not isinstance(speaker, int):
            raise ValueError(f"the game says {message!r}; expected speaker, text and kind")
        lines = text.strip("\n").splitlines()
        if len(lines) > 1:  # a board keeps its shape
            lines.insert(0, "")
        return f"{role}: " + "\n  ".join(lines)

    def _seen(self, seat: int) -> str:
        """Return the messages to a seat since its last observation."""
        told, self._new[seat] = self._new[seat], []
        return "\n".join(told)[-SEEN:]

    def _observed(self) -> list[str]:
        return [self._seen(seat) for seat in range(self._seats)]

    def text(self, seat: int | None = None) -> str:
        """Return all messages to a seat; without a seat, those sent to all seats at once."""
        return "\n".join(self._shared if seat is None else self._said[seat])


@contextlib.contextmanager
def _offline() -> Iterator[None]:
    """Keep games from downloading corpora, since other programs choose the game."""
    try:
        import nltk
    except ImportError:
        yield
        return
    download, nltk.download = nltk.download, lambda *_, **__: False
    try:
        yield
    finally:
        nltk.download = download


def _reward(given: Any, seat: int) -> float:
    if isinstance(given, bool | int | float) and math.isfinite(given):
        return float(given)
    raise ValueError(
        f"the game ends with the reward {given!r} for player {seat}; expected a number"
    )


def _cause(error: Exception) -> str:
    """Return one line of an error; some fill a page about a missing nltk corpus."""
    text = _STYLES.sub("", str(error))
    if missing := _CORPUS.search(text):
        return (
            f"it needs the corpus {missing[1]} of nltk; install it with: "
            f"python -m nltk.downloader {missing[1]}"
        )
    return one_line(error)
