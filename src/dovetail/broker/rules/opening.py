"""Openings: first turns in which the broker acts in place of the seats.  Pure."""

from __future__ import annotations

from typing import Any

from mypy_extensions import mypyc_attr

from dovetail.broker.rules.account import SeatAccount
from dovetail.broker.rules.legality import allowed, chosen, refusal
from dovetail.protocol.messages import Turn
from dovetail.protocol.seeds import derive


@mypyc_attr(allow_interpreted_subclasses=True)  # a snapshot makes it without its arguments
class Opening:
    """The opening of an episode.

    Args:
        seed: the environment's seed, from which actions are drawn.
        turns: the number of turns to draw, unless there is a line.
        line: the joint action of each turn; None to draw them.
    """

    __slots__ = ("_line", "_seed", "turns")

    def __init__(self, seed: int, turns: int, line: list[list[Any]] | None) -> None:
        self._seed = seed
        self._line = line
        self.turns = turns if line is None else len(line)
        """The number of turns in which the broker acts."""

    def act(self, turn: Turn, seats: list[SeatAccount]) -> str:
        """Set each seat's action; return why that is impossible, or an empty string."""
        joint = None if self._line is None else self._line[turn.turn]
        if joint is not None and len(joint) != len(turn.to_act):
            text = f"the opening has {len(joint)} actions for {len(turn.to_act)} seats"
            return f"turn {turn.turn}: {text}"
        views = {view.seat: view for view in turn.seats}
        for number, seat in enumerate(turn.to_act):
            account, legal = seats[seat], views[seat].legal
            if joint is None:
                draw = derive(self._seed, "opening", turn.turn, seat)
                account.action = chosen(draw, legal, account.space)
            else:
                account.action = joint[number]
            if account.action is None or not allowed(account.action, legal, account.space):
                return f"opening, turn {turn.turn}: {refusal(account.action, legal, account.space)}"
        return ""
