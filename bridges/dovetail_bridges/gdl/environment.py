"""A game description as an environment, with joint moves as turns."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from dovetail.peer.environments.environment import Environment, Scene, Spec, Turn
from dovetail.protocol import outside
from dovetail.protocol.errors import DovetailError, IllegalAction
from dovetail.protocol.scenes import Card, Choice
from dovetail.protocol.spaces import Box, Discrete, Space, Text
from dovetail_bridges.conversion import from_returns
from dovetail_bridges.gdl.beliefs import History, resample
from dovetail_bridges.gdl.game import RANDOM, Game
from dovetail_bridges.gdl.kif import Term, order, show

LONGEST = 1 << 16
"""Maximum characters of a text observation."""
MOST_MOVES = 1 << 16
"""Maximum actions of a seat whose moves are numbered as they appear."""


class Configuration(Struct, frozen=True, forbid_unknown_fields=True):
    """The options of a game description."""

    game: Annotated[str, Meta(description="the name of a description that comes with Dovetail")] = (
        "tic_tac_toe"
    )
    rules: Annotated[
        str,
        Meta(max_length=1 << 20, description="the description itself, in KIF, instead of `game`"),
    ] = ""
    file: Annotated[
        str,
        Meta(
            description="a file with the description, instead of `game`; only for the program that "
            "serves the environment: dovetail env gdl --set file=FILE"
        ),
    ] = ""
    observe: Annotated[
        Literal["auto", "bits", "text"],
        Meta(description="auto: bits if nothing is hidden, else text; see docs/bridges/gdl.md"),
    ] = "auto"
    passes: Annotated[
        tuple[str, ...],
        Meta(description="a role whose only legal move is one of these words is not asked"),
    ] = ("noop",)
    afterstates: Annotated[
        bool,
        Meta(
            description="offer afterstates, for games without hidden information and chance in "
            "which one role at a time has a choice"
        ),
    ] = False
    max_steps: Annotated[
        int, Meta(ge=1, le=100_000, description="joint moves after which an episode is truncated")
    ] = 10_000


class GDL(Environment[Configuration]):
    """A game in the Game Description Language, GDL or GDL-II; every role but `random` is a seat.

    Observation: int8 of shape (n,), a bit for each of ``Game.propositions`` (in GDL-II for the
    seat's percepts and moves so far), or text.  Actions: indices of the role's ``moves``.  Rewards:
    at the end, the goal divided by 100.  Chance: the role `random` draws uniformly among its moves.
    """

    name = "gdl"

    def __init__(self, configuration: Any = None) -> None:
        super().__init__(configuration)
        self.game = _game(_text(self.configuration, type(self).Configuration))
        self.roles = self.game.roles
        passes = self.configuration.passes
        listed = self.game.moves
        self._appearing = listed is None
        """True if moves are numbered in the order in which they become legal in an episode."""
        self.moves: list[list[Term]] = [
            sorted((listed or {}).get(role, ()), key=lambda move: move in passes)
            for role in self.roles
        ]
        """The moves of each seat by number: sorted with passes last, or as they appear."""
        self._number()
        self._bits = self._observed_as_bits()
        if self.configuration.afterstates and (
            self.game.hidden or self.game.chance or not self._bits
        ):
            raise DovetailError(
                "gdl: afterstates=true needs observe=bits, and a game without `sees` and without "
                "chance"
            )
        self._rng = random.Random(0)
        self.rewind()

    def _number(self) -> None:
        self._numbers = [{move: at for at, move in enumerate(moves)} for moves in self.moves]

    def _observed_as_bits(self) -> bool:
        kind, game = self.configuration.observe, self.game
        if kind == "text" or (kind == "auto" and game.hidden):
            return False
        if (game.percepts if game.hidden else game.propositions) is not None and not (
            game.hidden and self._appearing
        ):
            return True
        if kind == "auto":
            return False
        raise DovetailError(
            "gdl: too many facts can become true to list them, so observe=bits needs a "
            "description with `base` and `input`; use observe=text"
        )

    @classmethod
    def rules(cls, configuration: Configuration | None = None) -> str:
        """Return the description."""
        given = configuration or cls.Configuration()
        return f"```\n{_text(given, cls.Configuration).strip()}\n```\n"

    def rewind(self) -> None:
        """Return to the initial state."""
        self.state = self.game.start()
        if self._appearing:
            self.moves = [[] for _ in self.roles]
            self._number()
        self.history = History(self.game)
        self.steps = 0
        self.to_act: list[int] = self._acting()

    def init(self) -> Spec:
        count, options = len(self.roles), self.configuration
        seen: list[Space] = [Text(LONGEST)]
        if self._bits:
            seen = [Box([len(self._things(seat))], 0, 1, "int8") for seat in range(count)]
        return Spec(
            # Not the game's own name: agents that know that game expect another observation.
            name=self.name if options.rules or options.file else f"gdl-{options.game}",
            seats=count,
            observation_spaces=seen,
            action_spaces=[
                Discrete(MOST_MOVES if self._appearing else len(moves)) for moves in self.moves
            ],
            reward_range=(0.0, 1.0),
            perfect_information=not self.game.hidden,
            chance=self.game.chance,
            afterstates=options.afterstates,
            forfeit=(0.0, 1.0),
        )

    def start(self, seed: int) -> Turn:
        self._rng = random.Random(seed)
        self.rewind()
        return self._advance()

    def step(self, actions: Mapping[int, Any]) -> Turn:
        if sorted(actions) != self.to_act or not self.to_act:
            raise IllegalAction(
                f"the seats {self.to_act} are to act, and only they; got actions of "
                f"{sorted(actions)}"
            )
        chosen = {self.roles[seat]: self._move(seat, actions[seat]) for seat in self.to_act}
        self._apply(chosen)
        return self._advance()

    def _move(self, seat: int, action: Any) -> Term:
        role = self.roles[seat]
        moves = self.moves[seat]
        if not isinstance(action, int) or isinstance(action, bool) or not 0 <= action < len(moves):
            raise IllegalAction(f"{action!r:.60} is not one of {len(moves)} moves", seat)
        if moves[action] not in self.state.legal[role]:
            raise IllegalAction(f"{show(moves[action])} is not legal for {show(role)}", seat)
        return moves[action]

    def _apply(self, chosen: Mapping[Term, Term]) -> None:
        """Make a joint move; ``chosen`` may omit chance and roles without a choice."""
        legal = self.state.legal
        moves = {
            role: chosen[role]
            if role in chosen
            else self._rng.choice(legal[role])
            if role == RANDOM
            else legal[role][0]
            for role in self.game.everyone
        }
        self._apply_all(moves)

    def _apply_all(self, moves: Mapping[Term, Term]) -> None:
        self.state, seen = self.state.after(moves)
        self.history.add(moves, seen)
        self.steps += 1

    def follow(self, moves: Mapping[Term, Term]) -> None:
        """Make a joint move decided elsewhere, with a move for every role including chance.

        Raises:
            NoSuchMove: one is missing or not legal.
        """
        self._apply_all(moves)
        self.to_act = self._acting()

    def perceive(self, role: Term, move: Term, percepts: Sequence[Term]) -> None:
        """Continue as a GDL-II player, which knows only its own move and its percepts.

        The state becomes one that is consistent with the player's knowledge.

        Raises:
            DovetailError: none was found.
        """
        self.history.add({role: move}, {role: sorted(percepts, key=order)})
        self.state, _ = resample(self.history, role, None, self._rng)
        self.steps += 1
        self.to_act = self._acting()

    def _acting(self) -> list[int]:
        """Return the seats with a choice: all but those whose only legal move is a pass."""
        if self.state.terminal:
            return []
        legal, passes = self.state.legal, self.configuration.passes
        return [
            seat
            for seat, role in enumerate(self.roles)
            if len(legal[role]) > 1 or legal[role][0] not in passes
        ]

    def _advance(self) -> Turn:
        """Advance until a seat has a choice or the episode ends."""
        while not self.state.terminal:
            self.to_act = self._acting()
            if self.steps >= self.configuration.max_steps:
                self.to_act = []
                return Turn.end(self._all(), [0.0] * len(self.roles), truncated=True)
            if self.to_act:
                return Turn.simultaneous(
                    {seat: self.observation(seat) for seat in self.to_act},
                    {seat: self.legal(seat) for seat in self.to_act},
                )
            self._apply({})
        self.to_act = []
        rewards = [self.state.goal(role) / 100 for role in self.roles]
        return Turn.end(self._all(), rewards, outcome=from_returns(rewards))

    def _all(self) -> list[Any]:
        return [self.observation(seat) for seat in range(len(self.roles))]

    def legal(self, seat: int) -> list[int]:
        """Return the numbers of a seat's legal moves in ascending order.

        Raises:
            DovetailError: one is missing from the description's `input`, or too many have appeared.
        """
        role = self.roles[seat]
        numbers, moves = self._numbers[seat], self.moves[seat]
        for move in self.state.legal[role] if self._appearing else ():
            if move not in numbers:
                numbers[move] = len(moves)
                moves.append(move)
        if len(moves) > MOST_MOVES:
            raise DovetailError(
                f"{show(role)} had more than {MOST_MOVES:,} different moves in this episode"
            )
        try:
            return sorted(numbers[move] for move in self.state.legal[role])
        except KeyError as error:
            raise DovetailError(
                f"{show(error.args[0])} is legal for {show(role)}, but not among its `input` moves"
            ) from None

    def afterstates(self, seat: int) -> NDArray[np.int8]:
        """Return the seat's observation after each legal action: int8, shape (actions, bits).

        Raises:
            DovetailError: other roles have a choice, too.
        """
        if self.to_act != [seat]:
            raise DovetailError("gdl: several roles move at once here, so there are no afterstates")
        legal, role = self.state.legal, self.roles[seat]
        rows = []
        bits = self._things(seat)
        for number in self.legal(seat):
            chosen = {role: self.moves[seat][number]}
            state, _ = self.state.after({each: legal[each][0] for each in self.roles} | chosen)
            rows.append([each in state.true for each in bits])
        return np.array(rows, np.int8)

    def _things(self, seat: int) -> list[Term]:
        """Return the meanings of an observation's bits."""
        if not self.game.hidden:
            return self.game.propositions or []
        role = self.roles[seat]
        seen: list[Term] = [("sees", each) for each in (self.game.percepts or {}).get(role, ())]
        return seen + [("did", each) for each in self.moves[seat]]

    def observation(self, seat: int) -> NDArray[np.int8] | str:
        """Return a seat's observation of the current state."""
        if not self._bits:
            return self._words(seat)[-LONGEST:]
        true = self.history.known(self.roles[seat]) if self.game.hidden else self.state.true
        return np.array([each in true for each in self._things(seat)], np.int8)

    def _words(self, seat: int | None) -> str:
        if not self.game.hidden:
            return str(self.state)
        if seat is None:
            return ""
        return self.history.text(self.roles[seat])

    def text(self, seat: int | None = None) -> str:
        lines = [f"Step {self.steps}."]
        if seat is not None:
            lines[0] += f" You are {show(self.roles[seat])}."
        if not self.game.hidden:
            lines += board(self.state.true, self.game.propositions or self.state.true)
        lines.append(self._words(seat))
        return "\n".join(each for each in lines if each)

    def scene(self, seat: int | None = None) -> Scene | None:
        choices: list[Choice] = []
        if seat is not None and seat in self.to_act:
            moves = self.moves[seat]
            choices = [
                Choice(number, show(moves[number]), cards=[place])
                for place, number in enumerate(self.legal(seat))
            ]
        # A description says nothing about looks, so each move is a card to be pointed at.
        cards = [Card("moves", each.label) for each in choices]
        return Scene(cards=cards, choices=choices, caption=self.text(seat))

    def fork(self, seat: int, seed: int) -> Self:
        """Return a copy in which hidden facts are drawn consistently with the seat's knowledge.

        Each step is drawn at random among its moves, which is not uniform over consistent states.

        Raises:
            DovetailError: none was found in time.
        """
        other = self._twin()
        other._rng = random.Random(seed)
        if not self.game.hidden:
            other.history = self.history.copy()
        else:
            role = self.roles[seat]
            known = self.state.legal[role]
            other.state, other.history = resample(self.history, role, known, other._rng)
            other.to_act = other._acting()
        return other

    def _twin(self) -> Self:
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        if self._appearing:
            other.moves = [each.copy() for each in self.moves]
            other._number()
        return other

    def __deepcopy__(self, memo: Any) -> Self:
        """Return a copy that shares the rules and the states, which are immutable."""
        other = self._twin()
        other.history = self.history.copy()
        other._rng = random.Random()
        other._rng.setstate(self._rng.getstate())
        return other


@lru_cache(maxsize=8)
def _game(text: str) -> Game:
    """Return the game of a text; it is immutable, so matches share it."""
    return Game(text)


def bundled() -> list[str]:
    """Return the names of the bundled descriptions."""
    folder = resources.files("dovetail_bridges.gdl") / "games"
    return sorted(
        each.name.removesuffix(".kif") for each in folder.iterdir() if each.name.endswith(".kif")
    )


def rules_of(game: str) -> str:
    """Return a bundled description.

    Raises:
        DovetailError: there is none of that name; the text lists the names.
    """
    known = bundled()
    if game not in known:
        raise DovetailError(f"gdl: no description {game!r:.60}; there are {', '.join(known)}")
    folder = resources.files("dovetail_bridges.gdl") / "games"
    return (folder / f"{game}.kif").read_text("utf-8")


def read_file(name: str) -> str:
    """Return the text of a description's file.

    Args:
        name: the file's name, from the local user, never from a peer.

    Raises:
        DovetailError: it cannot be read.
    """
    try:
        return outside.text(Path(name).expanduser())
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise DovetailError(f"gdl: cannot read file={name!r}: {why}") from None


def _text(options: Configuration, own: type[Configuration]) -> str:
    """Return the description that the options name.

    Raises:
        DovetailError: there is none, or a peer names a file.
    """
    if options.rules:
        return options.rules
    if not options.file:
        return rules_of(options.game)
    if options.file != own().file:
        raise DovetailError(
            "gdl: only the program that serves the environment can name a file (dovetail env gdl "
            "--set file=FILE); send its text as `rules`"
        )
    return read_file(options.file)


def board(true: frozenset[Term], possible: Iterable[Term]) -> list[str]:
    """Return lines that draw the facts of the form (NAME NUMBER NUMBER WORD).

    Args:
        true: the facts of a state.
        possible: the possible facts, which determine the size of the board.

    >>> fact = ("cell", "1", "1", "x")
    >>> board(frozenset([fact]), [fact, ("cell", "1", "2", "empty")])
    ['cell 1 2', '   1 x .']
    """
    places: dict[str, list[tuple[int, int]]] = {}
    for fact in possible:
        if (found := _placed(fact)) is not None:
            places.setdefault(found[0], []).append(found[1:3])
    marks = {each[:3]: each[3] for each in map(_placed, true) if each is not None}
    lines = []
    for name, cells in sorted(places.items()):
        rows = range(min(r for r, _ in cells), max(r for r, _ in cells) + 1)
        columns = range(min(c for _, c in cells), max(c for _, c in cells) + 1)
        if len(rows) > 40 or len(columns) > 40:
            continue
        lines.append(f"{name} " + " ".join(str(each)[-1] for each in columns))
        for row in rows:
            shown = " ".join(marks.get((name, row, column), ".") for column in columns)
            lines.append(f"{row:>{len(name)}} {shown}")
    return lines


def _placed(fact: Term) -> tuple[str, int, int, str] | None:
    """Return the name, row, column and mark of a fact about a board."""
    match fact:
        case (str(name), str(row), str(column), str(word)) if (
            (row + column).isascii() and row.isdigit() and column.isdigit()
        ):
            mark = "." if word in ("empty", "blank", "b") else word[0]
            return name, int(row), int(column), mark
    return None
