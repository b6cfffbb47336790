"""A small game manager, which plays matches between players of the General Game Playing
protocol."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as Late
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Literal

from dovetail.protocol.errors import DovetailError
from dovetail_bridges.gdl.game import RANDOM, Game
from dovetail_bridges.gdl.http import post
from dovetail_bridges.gdl.kif import Term, one, show

Post = Callable[[str, str, float], str]
Fault = Literal["random", "forfeit"]
LATE = 1.0
"""Seconds beyond the clock for an answer's transmission."""


@dataclass
class MatchResult:
    """The result of a match."""

    goals: dict[Term, int]
    """Each player's goal value, 0 to 100."""
    moves: list[list[Term]] = field(default_factory=list)
    """The joint moves, including chance, in the order of the roles."""
    errors: list[str] = field(default_factory=list)
    """The players' errors, each of which cost a random legal move."""


def play(
    rules: str,
    players: Sequence[str],
    *,
    start_clock: int = 10,
    play_clock: int = 10,
    seed: int = 0,
    match: str = "",
    max_steps: int = 10_000,
    fault: Fault = "random",
    send: Post = post,
) -> MatchResult:
    """Play a match.

    Args:
        rules: the description, in KIF.
        players: the address of each role's player, in the description's order, without chance.
        start_clock: seconds before the first move.
        play_clock: seconds per move.
        seed: the seed of chance, and of the moves of failing players.
        match: the match's name; derived from the seed if empty.
        max_steps: the maximum number of joint moves.
        fault: the cost of a late, illegal or missing answer: a random legal move, or the match,
            with goal 0 for the player and 100 for the others.
        send: sends a message, as ``post`` does.

    Raises:
        DovetailError: the description is invalid, the number of players is wrong, a player does not
            accept the match, or it has no end.
    """
    game = Game(rules)
    if len(players) != len(game.roles):
        named = ", ".join(map(show, game.roles))
        raise DovetailError(
            f"the game has {len(game.roles)} roles ({named}); got {len(players)} players"
        )
    rng = random.Random(seed)
    name = match or f"dovetail.{seed}"
    where = dict(zip(game.roles, players, strict=True))
    state = game.start()
    result = MatchResult({})
    pool = ThreadPoolExecutor(len(players))
    with ExitStack() as stack:
        # Not the pool's own end: it waits for players that have not answered.
        stack.callback(pool.shutdown, wait=False, cancel_futures=True)

        def each(messages: Mapping[Term, str], clock: float) -> dict[Term, str | DovetailError]:
            asked = {
                role: pool.submit(send, where[role], text, clock + LATE)
                for role, text in messages.items()
            }
            end = time.monotonic() + clock + LATE
            found: dict[Term, str | DovetailError] = {}
            for role, future in asked.items():
                try:
                    found[role] = future.result(max(0.0, end - time.monotonic()))
                except DovetailError as error:
                    found[role] = error
                except Late:
                    future.cancel()
                    found[role] = DovetailError(f"{where[role]} did not answer within {clock} s")
            return found

        text = " ".join(show(each) for each in one(f"({rules}\n)"))
        starts = {
            r: f"(START {name} {show(r)} ({text}) {start_clock} {play_clock})" for r in game.roles
        }
        for role, answer in each(starts, start_clock).items():
            if isinstance(answer, DovetailError) or answer.strip().lower() != "ready":
                each(dict.fromkeys(game.roles, f"(ABORT {name})"), 1)
                raise DovetailError(
                    f"the player of {show(role)} does not accept the match: {answer}"
                )
        last = dict.fromkeys(game.roles, "NIL" if not game.hidden else "0 NIL NIL")
        for step in range(max_steps):
            asked = {role: f"(PLAY {name} {last[role]})" for role in game.roles}
            answers = each(asked, play_clock)
            moves: dict[Term, Term] = {}
            for role in game.everyone:
                legal = state.legal[role]
                moves[role] = rng.choice(legal)  # always drawn, so that chance is the same for all
                if role == RANDOM:
                    continue
                try:
                    moves[role] = _move(answers[role], legal)
                except DovetailError as error:
                    result.errors.append(f"step {step + 1}, {show(role)}: {error}")
                    if fault == "forfeit":
                        each(dict.fromkeys(game.roles, f"(ABORT {name})"), 1)
                        result.goals = {other: 100 * (other != role) for other in game.roles}
                        return result
            state, seen = state.after(moves)
            result.moves.append([moves[role] for role in game.everyone])
            joint = show(tuple(result.moves[-1]))
            for role in game.roles:
                percepts = show(tuple(seen[role]))
                last[role] = f"{step + 1} {show(moves[role])} {percepts}" if game.hidden else joint
            if state.terminal:
                break
        else:
            each(dict.fromkeys(game.roles, f"(ABORT {name})"), play_clock)
            raise DovetailError(f"the match has no end after {max_steps:,} steps")
        each({r: f"(STOP {name} {last[r]})" for r in game.roles}, play_clock)
    result.goals = {role: state.goal(role) for role in game.roles}
    return result


def _move(answer: str | DovetailError, legal: Sequence[Term]) -> Term:
    if isinstance(answer, DovetailError):
        raise answer
    move = one(answer)
    if move not in legal:
        raise DovetailError(f"{show(move):.60} is not legal")
    return move
