"""The first turns of an episode, in which the broker acts in place of the seats.  Pure."""

from __future__ import annotations

from typing import Any

from mypy_extensions import mypyc_attr

from dovetail.broker.rules.account import SeatAccount
from dovetail.broker.rules.legality import allowed, chosen, refusal
from dovetail.protocol.messages import Turn
from dovetail.protocol.seeds import derive


@mypyc_attr(allow_interpreted_subclasses=True)  # a snapshot makes it without its arguments
class Opening:
    """How an episode begins.

    Args:
        seed: the environment's; it decides what is drawn.
        turns: in how many turns an action is drawn for each seat, if there is no line.
        line: the joint action of each turn; None draws them.
    """

    __slots__ = ("_line", "_seed", "turns")

    def __init__(self, seed: int, turns: int, line: list[list[Any]] | None) -> None:
        self._seed = seed
        self._line = line
        self.turns = turns if line is None else len(line)
        """In how many first turns the broker acts."""

    def act(self, turn: Turn, seats: list[SeatAccount]) -> str:
        """Give each seat its action; return why that is impossible, empty if it is not."""
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
                return f"opening, turn {turn.turn}: {refusal(account.action, legal)}"
        return ""
