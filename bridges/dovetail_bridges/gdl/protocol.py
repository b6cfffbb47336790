"""The General Game Playing protocol: messages of a game manager, answered by one agent.

Sans I/O: text in, text out.  Source: Genesereth and Thielscher, "General Game Playing" (2014),
chapter 3 (INFO, START, PLAY, STOP, ABORT), and the form of GDL-II, in which PLAY and STOP carry the
player's own move and what it saw instead of the joint move (Thielscher, "A General Game Description
Language for Incomplete Information Games", AAAI 2010).
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, TimeoutError
from contextlib import suppress
from typing import Any

from dovetail.peer.agents.agent import Agent
from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError
from dovetail_bridges.conversion import from_returns
from dovetail_bridges.gdl.environment import GDL
from dovetail_bridges.gdl.kif import Term, one, show
from dovetail_bridges.local_agent import LocalAgent

log = logging.getLogger("dovetail.ggp")

MARGIN = 1.0
"""Seconds of a move's clock reserved for transmission; at most half of the clock."""
FORGOTTEN = 60.0
"""Seconds of silence, or ten moves if longer, after which a match counts as abandoned."""


class _Match:
    """A match in progress."""

    def __init__(self, name: str, role: Term, rules: Term, play: float, afterstates: bool) -> None:
        text = "\n".join(map(show, rules)) if isinstance(rules, tuple) else rules
        self.name = name
        self.play = play
        self.environment = GDL(GDL.Configuration(rules=text, afterstates=afterstates))
        game = self.environment.game
        if role not in game.roles:
            raise DovetailError(f"the rules have no role {show(role)}")
        self.role = role
        self.seat = game.roles.index(role)
        self.spec = self.environment.init()
        self.steps = 0

    def follow(self, arguments: Sequence[Term]) -> None:
        """Apply the manager's report of the last step.

        Args:
            arguments: the joint move, or nil; in GDL-II the number of the step, the player's own
                move, and its percepts.

        Raises:
            DovetailError: a move is not legal here.
        """
        game = self.environment.game
        if len(arguments) == 3:
            _, move, percepts = arguments
            if move == "nil":
                return
            seen = percepts if isinstance(percepts, tuple) else ()
            self.environment.perceive(self.role, move, seen)
        elif len(arguments) == 1:
            moves = arguments[0]
            if moves == "nil":
                return
            if not isinstance(moves, tuple) or len(moves) != len(game.everyone):
                raise DovetailError(
                    f"{show(moves):.60} is not a move of each of {len(game.everyone)} roles"
                )
            self.environment.follow(dict(zip(game.everyone, moves, strict=True)))
        else:
            raise DovetailError(f"expected one argument, or three of GDL-II, not {len(arguments)}")
        self.steps += 1


class Protocol:
    """A player's side of the protocol.

    Args:
        agent: the agent, which plays one match at a time.
        mode: whether it learns from its matches.
        pool: an executor with one worker for the agent, so that a move is answered in time even if
            the agent is too slow.
        clock: returns the time in seconds.
    """

    def __init__(
        self,
        agent: Agent,
        seed: int = 0,
        mode: m.Mode = "evaluate",
        name: str = "dovetail",
        pool: Executor | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = name
        self.problems = 0
        """Moves drawn at random because the agent failed or was late."""
        self._player = LocalAgent(agent, seed, mode)
        self._rng = random.Random(seed)
        self._pool, self._clock = pool, clock
        self._match: _Match | None = None
        self._heard = 0.0

    def answer(self, text: str) -> str:
        """Return the answer to a message.

        Raises:
            DovetailError: it is not a message of the protocol, or does not fit the match.
        """
        message = one(text)
        parts = message if isinstance(message, tuple) else (message,)
        verb, arguments = parts[0] if parts else "", parts[1:]
        if verb == "info":
            status = "available" if self._match is None else "busy"
            return f"((name {self.name}) (status {status}))"
        if verb == "preview":
            return "ready"
        if verb == "start" and len(arguments) == 5:
            return self._start(arguments)
        if verb in ("play", "stop") and len(arguments) in (2, 4):
            match = self._known(arguments[0])
            self._heard = self._clock()
            try:
                match.follow(arguments[1:])
            except DovetailError:
                self._end("cancelled")
                raise
            if verb == "play":
                return self._play(match)
            self._end("terminated" if match.environment.state.terminal else "truncated")
            return "done"
        if verb == "abort" and len(arguments) == 1:
            self._known(arguments[0])
            self._end("cancelled")
            return "aborted"
        raise DovetailError(
            f"{show(message):.60} is not a message of the protocol; expected INFO, START, PLAY, "
            "STOP or ABORT"
        )

    def close(self) -> None:
        """End a match in progress."""
        if self._match is not None:
            self._end("cancelled")

    def _known(self, name: Term) -> _Match:
        if self._match is None or self._match.name != show(name):
            raise DovetailError(f"match {show(name):.60} is not in progress")
        return self._match

    def _start(self, arguments: Sequence[Term]) -> str:
        name, role, rules, start, play = arguments
        now = self._clock()
        if self._match is not None:
            if now - self._heard < max(FORGOTTEN, 10 * self._match.play):
                return "busy"
            self._end("cancelled")
        needed = self._player.agent.needs.afterstates
        match = _Match(show(name), role, rules, _seconds(play), needed)
        try:
            self._run(_seconds(start), self._player.sit, match.environment, match.spec, match.seat)
        except TimeoutError:
            return "busy"
        self._match, self._heard = match, now
        return "ready"

    def _play(self, match: _Match) -> str:
        environment = match.environment
        if environment.state.terminal:
            raise DovetailError(f"match {match.name} is over; expected STOP")
        legal = environment.state.legal[match.role]
        if match.seat not in environment.to_act:
            return show(legal[0])
        budget = match.play - min(MARGIN, match.play / 2)
        try:
            action = self._ask(match, budget)
            move = environment.moves[match.seat][action]
        except TimeoutError:
            move = self._instead(legal, f"thought for longer than {budget:g} s")
        except DovetailError as error:
            move = self._instead(legal, str(error))
        except (IndexError, TypeError):
            move = self._instead(legal, f"answered {action!r:.60}, which is not a move")
        if move not in legal:
            move = self._instead(legal, f"chose {show(move)}, which is not legal")
        return show(move)

    def _ask(self, match: _Match, budget: float) -> Any:
        environment, seat = match.environment, match.seat
        seen, legal = environment.observation(seat), environment.legal(seat)
        clock = m.Clock(decision=budget)
        return self._run(
            budget, self._player.decide, match.steps, environment.to_act, seen, legal, clock
        )

    def _run(self, limit: float, call: Callable[..., Any], *arguments: Any) -> Any:
        """Call the agent, after any earlier call; raise TimeoutError after ``limit`` seconds."""
        if self._pool is None:
            return call(*arguments)
        return self._pool.submit(call, *arguments).result(limit)

    def _instead(self, legal: Sequence[Term], why: str) -> Term:
        self.problems += 1
        move = self._rng.choice(legal)
        log.warning("the agent %s; played %s at random", why, show(move))
        return move

    def _end(self, reason: m.Reason) -> None:
        match, self._match = self._match, None
        assert match is not None
        environment, seat = match.environment, match.seat
        reward, outcome = 0.0, None
        if reason == "terminated":
            rewards = [environment.state.goal(each) / 100 for each in environment.roles]
            reward, outcome = rewards[seat], from_returns(rewards)
        with suppress(TimeoutError):  # the agent hears it when it has finished thinking
            end = self._player.end
            self._run(match.play, end, environment.observation(seat), outcome, reason, reward)


def _seconds(term: Term) -> float:
    try:
        found = float(term) if isinstance(term, str) else -1.0
    except ValueError:
        found = -1.0
    if not 0 < found <= 86_400:
        raise DovetailError(f"{show(term):.60} is not a clock; expected seconds from 1 to 86400")
    return found
