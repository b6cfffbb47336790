"""A client's session: a seat at a table, played through OpenEnv's requests."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Literal

from msgspec import Struct

from dovetail.peer.agents.agent import Decision, End
from dovetail_bridges.choices import chosen, is_legal
from dovetail_bridges.openenv import wire
from dovetail_bridges.openenv.wire import Observe, Request, WireError
from dovetail_bridges.table import CallRefused, OpenTable

LONGEST = 50.0
"""Maximum seconds for an answer; OpenEnv's clients give up after 60."""
EARLY = 0.01
"""Seconds by which an event loop's timer may fire early."""
Illegal = Literal["observe", "forfeit", "error"]


class Rules(Struct, frozen=True):
    """The rules of sessions."""

    illegal: Illegal = "observe"
    """The effect of an illegal action: a refusal in the observation, loss of the game, or an
    error."""
    tries: int = 3
    """Refused actions in a decision after which the next one costs the game."""
    observe: Observe = "both"
    """The forms of the position in an observation."""
    longest: float = LONGEST
    """Maximum seconds for an answer."""


class Session:
    """A seat at a table.

    Args:
        table: the table, with ``together`` set.
    """

    def __init__(self, table: OpenTable, seat: int, rules: Rules) -> None:
        self.table, self.seat, self.rules = table, seat, rules
        self.episode: str | None = None
        self.steps = 0
        self._before = 0
        """The last game that ended before this session, or whose end it has seen."""
        self._begun = False
        """True once the client has heard of the game that it asked for."""
        self._tried = 0
        self._changed = asyncio.Event()
        self._replaced = False
        """True if the client has sent another request since the one that is being answered."""

    @contextmanager
    def attending(self) -> Iterator[None]:
        """Receive the table's notifications in the running event loop, for the context."""
        loop = asyncio.get_running_loop()

        def told() -> None:  # by the table's thread
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(self._changed.set)

        with self.table.watch(self.seat, told):
            yield

    def replace(self) -> None:
        """Leave a request unanswered if others must act first: the client has sent another."""
        self._replaced = True
        self._changed.set()

    async def answer(self, request: Request) -> str | None:
        """Return the answer to a request; None if it has none, or the next one has replaced it.

        Raises:
            WireError: the request is refused.
        """
        self._replaced = False
        try:
            match request.kind:
                case "reset":
                    return await self._reset(*wire.reset_options(request.data))
                case "step":
                    return await self._step(wire.action(request.data))
                case "state":
                    return wire.state(self.episode, self.steps)
                case "mcp":
                    return wire.no_tools(request.data)
                case "close":
                    return None
        except CallRefused as refused:
            raise WireError("EXECUTION_ERROR", str(refused)) from None

    def leave(self) -> None:
        """Resign a game in progress, and free the seat."""
        game, _, end = self.table.look(self.seat)
        if game > self._before and end is None:
            self.table.resign(self.seat)

    async def _reset(self, seed: int | None, episode: str | None) -> str | None:
        limit = self._limit()
        game, _, end = self.table.look(self.seat)
        if game and end is None and self._begun:  # in mid-game: it is lost
            self.table.resign(self.seat)
            game, _, end = await self._look(limit)
            if end is None and self._replaced:
                return None
        resumed = bool(game) and end is None and not self._begun
        self._begun = False
        if not resumed:
            self._before = game
            self.table.again(self.seat, seed=seed, wait=0.0)
        self.episode = episode or secrets.token_hex(8)
        self.steps = self._tried = 0
        seen = await self._view(limit, reward=False)
        self._begun = seen is not None
        return seen

    async def _step(self, action: Any) -> str | None:
        if not self._begun:
            raise WireError("EXECUTION_ERROR", "no episode has begun; send reset first")
        limit = self._limit()
        _, decision, end = self.table.look(self.seat, since=self._before)
        if end is not None:
            raise WireError("EXECUTION_ERROR", "the episode is over; send reset")
        if action is None:
            return await self._view(limit)
        if decision is None:
            text = 'others must act; step with {"action": null} waits for your turn'
            return self._seen(None, None, 0.0, text)
        action = chosen(decision, action)
        legal = is_legal(decision, action)
        if not legal and self.rules.illegal == "error":
            raise WireError("EXECUTION_ERROR", _wrong(decision, action))
        if not legal and self.rules.illegal == "observe" and self._tried < self.rules.tries:
            self._tried += 1
            return self._seen(decision, None, 0.0, _wrong(decision, action))
        self.table.act(self.seat, action, decision.turn, force=not legal)
        self._tried = 0
        self.steps += 1
        return await self._view(limit)

    async def _view(self, limit: float, *, reward: bool = True) -> str | None:
        """Return the seat's next decision or the end, or after a while that others must act; None
        if another request replaces this one before."""
        _, decision, end = await self._look(limit)
        if decision is None and end is None and self._replaced:
            return None
        earned = decision.reward if decision is not None else 0.0
        return self._seen(decision, end, earned if reward else None)

    def _limit(self) -> float:
        """Return the deadline of an answer by the event loop's clock."""
        return asyncio.get_running_loop().time() + self.rules.longest

    async def _look(self, limit: float) -> tuple[int, Decision | None, End | None]:
        """Return what the table says as soon as the seat must act or its game is over, another
        request replaces this one, or at the limit."""
        loop = asyncio.get_running_loop()
        late = loop.call_at(limit, self._changed.set)
        try:
            while True:
                self._changed.clear()  # a change after the look sets it again
                seen = self.table.look(self.seat, since=self._before)
                told = seen[1] is not None or seen[2] is not None
                if told or self._replaced or loop.time() > limit - EARLY:
                    return seen
                await self._changed.wait()
        finally:
            late.cancel()

    def _seen(
        self,
        decision: Decision | None,
        end: End | None,
        reward: float | None,
        wrong: str | None = None,
    ) -> str:
        return wire.observation(
            self.seat, decision, end, self.rules.observe, reward=reward, wrong=wrong
        )


def _wrong(decision: Decision, action: Any) -> str:
    legal = wire.legal_actions(decision)
    more = f" and {len(legal) - 20} more" if len(legal) > 20 else ""
    listed = ", ".join(map(str, legal[:20])) or "see the action's schema"
    return f"{str(action)[:60]!r} is not legal; legal: {listed}{more}"
