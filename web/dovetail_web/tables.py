"""Tables: the games that people start on the page, with their history for taking back moves."""

from __future__ import annotations

import queue
import secrets
import threading
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from dovetail.peer.options import describe
from dovetail.protocol import json_text as jsontext
from dovetail.protocol import messages as m
from dovetail_web.chairs import Chair
from dovetail_web.games import LONGEST_NAME

if TYPE_CHECKING:
    from dovetail_web.mirrors import Mirror

HINT = "hint"
"""The label of runs for hints."""
PACE = 0.3
"""Minimum seconds between two turns of a game of agents alone."""
SHOWN = "showcase"
"""The label of the games that the page plays for visitors."""


@dataclass(frozen=True)
class Sitter:
    """The occupant of a seat at a table."""

    kind: str
    """``person`` or ``agent``."""
    name: str
    """The person's name, or the name of the agent's offer."""
    parameters: dict[str, Any] = field(default_factory=dict)
    """The agent's options that differ from its defaults."""
    level: str = ""
    """The strength that it was chosen by, if any."""
    trained: tuple[str, ...] = ()
    """The states that it starts from, by seat."""
    peer: str = ""
    """The program that creates it; empty for any."""

    @property
    def called(self) -> str:
        """The name for watchers, which distinguishes agents that differ in their options."""
        if self.level:
            return f"{self.name} ({self.level})"
        options = ", ".join(
            f"{name} {value if isinstance(value, str) else jsontext.option(value)}"
            for name, value in self.parameters.items()
        )
        return f"{self.name} ({options})"[:LONGEST_NAME] if options else self.name


_HELP = {
    "max_turns": "The turn after which a game is cut short; empty for no limit.",
    "on_timeout": "A player who answers too late loses (forfeit), gets a random move (random), or "
    "cuts the game short (truncate).",
    "on_illegal": "The same for a player who makes an illegal move.",
    "on_crash": "If a player's program fails, the game does not count (interrupt), the player "
    "loses (forfeit), or the game is cut short (truncate).",
}
_TITLES = {
    "max_turns": "Longest game, in turns",
    "on_timeout": "If a player answers too late",
    "on_illegal": "If a player makes an illegal move",
    "on_crash": "If a player's program fails",
}
RULES = {
    name: {"title": _TITLES.get(name, ""), "description": _HELP.get(name, ""), **each}
    for name, each in describe(m.GameRules).items()
    if name not in ("clock", "lookahead")
}
"""The rules of play that the form lists as options, explained to visitors; the clock has its own
field, and lookahead is always allowed."""


@dataclass(frozen=True)
class Plan:
    """The game and the seats of a table."""

    environment: str
    """The name of an offered environment."""
    configuration: dict[str, Any]
    seats: tuple[Sitter, ...]
    seed: int
    clock: m.ClockRule
    rules: dict[str, Any] = field(default_factory=dict)
    """The rules of play that differ from the defaults, by name."""
    helped: bool = False
    """True if people may take back moves and ask for hints even against other people."""
    patience: float | None = None
    """Seconds for which people wait for an agent before another decides in its place."""

    @property
    def names(self) -> list[str]:
        """Return the names by seat."""
        return [each.called for each in self.seats]

    @property
    def hints(self) -> bool:
        """True if a person may ask an agent for a hint."""
        return self.helped or [each.kind for each in self.seats].count("person") == 1

    @property
    def undo(self) -> bool:
        """True if moves may be taken back; never with a clock, whose time would come back, too."""
        return self.hints and self.clock == m.ClockRule()

    def seated(self, seat: int, sitter: Sitter) -> Plan:
        """Return the same plan with another occupant of a seat."""
        return replace(self, seats=(*self.seats[:seat], sitter, *self.seats[seat + 1 :]))

    def run(self, agents: list[int | str], line: list[list[Any]], **more: Any) -> m.Run:
        """Return the run of one game.

        Args:
            agents: the instances or names, by seat.
            line: the joint actions of the opening.
            more: other fields of the run.
        """
        return m.Run(
            *(0, self.environment, agents, self.configuration),
            seed=self.seed,
            mode="evaluate",
            retries=0,
            lookahead=True,
            check=True,
            openings=[line] if line else [],
            **{**self.rules, **more},
        )


@dataclass(eq=False)
class Table:
    """A game that was started on the page."""

    plan: Plan
    chairs: list[Chair | None]
    key: str = field(default_factory=lambda: secrets.token_urlsafe(9))
    run: int | None = None
    instances: list[int] = field(default_factory=list)
    agents: list[int | str] = field(default_factory=list)
    """The instances, or the names of single agents, by seat."""
    mirror: Mirror | None = None
    """The local copy of the game; None unless it has hidden hands and is installed here."""
    problem: str = ""
    done: bool = False
    begun: threading.Event = field(default_factory=threading.Event)
    """Set at the first turn, or when it is clear that there will be none."""
    by: str = ""
    """The address of the visitor who started it."""
    seen: float = field(default_factory=time.monotonic)
    """The time at which a player was last seen."""
    ended: str = ""
    """The person who ended the game early."""
    abandoned: bool = False
    """True if the game was ended because no one came back."""
    again: Table | None = None
    """The same people's next game."""
    moves: int = 0
    """The number of seats that everyone moves on to the next game: 1 after *Swap seats*, 0 after
    *Play again*."""
    following: threading.Lock = field(default_factory=threading.Lock)
    """Guards the next game, which two people can ask for at the same moment."""
    heard_at: float = field(default_factory=time.monotonic)
    """The time of the newest turn."""
    stepped: int = 0
    """The number of turns after which a game of agents alone was last continued."""
    hurried: int = -1
    """The latest turn in which a stand-in was asked to decide."""
    _acting: list[list[int]] = field(default_factory=list)
    """The seats to act, by turn."""
    _joint: list[dict[int, Any]] = field(default_factory=list)
    """The actions taken, by turn."""

    @property
    def people(self) -> list[Chair]:
        """The chairs of the people playing."""
        return [each for each in self.chairs if each is not None]

    def heard(self, turn: m.WatchedTurn) -> None:
        """Record a turn of the game; a repeated one changes nothing."""
        if turn.turn == len(self._acting):
            if turn.turn:
                self._joint.append(dict(turn.actions))
            self._acting.append(list(turn.to_act))
            self.heard_at = time.monotonic()
            self.begun.set()

    def line(self, turn: int) -> list[list[Any]]:
        """Return the joint actions up to a turn, in the form of ``run.openings``."""
        return [
            [joint[seat] for seat in acting]
            for acting, joint in zip(self._acting[:turn], self._joint[:turn], strict=True)
        ]

    def due(self, now: float) -> bool:
        """Return whether to continue a game of agents alone, at a pace that one can follow."""
        known = len(self._acting)
        if self.people or self.done or known == self.stepped or now < self.heard_at + PACE:
            return False
        self.stepped = known
        return True

    def awaited(self) -> tuple[int, int] | None:
        """Return the turn and seat of the agent that people are waiting for; None if none is."""
        turn = len(self._acting) - 1
        acting = [] if self.done or turn < 0 else self._acting[turn]
        if len(acting) != 1 or self.chairs[acting[0]] is not None or not self.people:
            return None
        return turn, acting[0]

    def acts_alone(self, seat: int, turn: int) -> bool:
        """Return whether a seat is known to be the only one to act in a turn."""
        return self._acting[turn : turn + 1] == [[seat]]

    def decided(self, seat: int | None) -> int | None:
        """Return the latest turn in which a seat acted; None if there is none."""
        acted = [at for at, joint in enumerate(self._joint) if seat in joint]
        return acted[-1] if acted else None

    def restart(self) -> None:
        """Clear the history of a game that is restarted."""
        self.mirror = None
        self.run, self.done, self.problem, self.abandoned = None, False, "", False
        self.stepped = 0
        self.ended, self.hurried, self.heard_at = "", -1, time.monotonic()
        for chair in self.people:
            chair.resigned = False
        self._acting.clear()
        self._joint.clear()

    def after(self, chair: Chair) -> int:
        """Return a person's seat in the next game."""
        return (self.chairs.index(chair) + self.moves) % len(self.chairs)

    def next(self) -> Plan:
        """Return the plan of the next game."""
        first = len(self.plan.seats) - self.moves
        seats = (*self.plan.seats[first:], *self.plan.seats[:first])
        return replace(self.plan, seats=seats, seed=secrets.randbelow(1 << 53))


@dataclass(eq=False)
class Replaying:
    """A recorded episode being replayed at the broker."""

    chair: Chair
    instance: int = 0
    turns: list[m.WatchedTurn] = field(default_factory=list)
    problem: str = ""
    done: threading.Event = field(default_factory=threading.Event)


@dataclass(eq=False)
class Hint:
    """A request for an agent's action in a position, by a person or for a stand-in."""

    chair: Chair | None
    """The person's chair; None for a stand-in."""
    number: int
    """The number of the position that the person saw."""
    seat: int
    turn: int
    agent: str
    instances: list[int] = field(default_factory=list)
    """The agent that is asked, and those in the other seats."""
    found: queue.SimpleQueue[list[Any]] = field(default_factory=queue.SimpleQueue)
    """The action, or an empty list if there is none."""
    idle: Chair | None = None
    """The chair in the other seats, if the agent is a single one that cannot be created twice."""
