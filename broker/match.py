"""One match: an environment, its seats, and the turn alternation of the episode in progress.

Pure: messages and the time go in, messages come out through ``send``.  A match knows neither
sessions nor runs; it says ``Over`` when an episode is over and leaves the rest to its caller.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from msgspec.msgpack import Ext

from dovetail.broker.peers import Instance, Peer
from dovetail.protocol import codec, legal
from dovetail.protocol.errors import ProtocolError
from dovetail.protocol.messages import (
    NIL,
    Action,
    AgentStart,
    AgentStep,
    Breach,
    Clock,
    ClockRule,
    End,
    EnvironmentStart,
    EnvironmentStep,
    Init,
    Legal,
    Message,
    Mode,
    Open,
    Reason,
    SeatResult,
    Spec,
    Turn,
    View,
)
from dovetail.protocol.seeds import derive
from dovetail.protocol.spaces import Discrete, Space
from dovetail.protocol.states import MATCH, SEAT, follow

LONGEST = 60
"""Characters of a value that a message quotes."""

Send = Callable[[Peer, Message, bool], None]
"""Send a message to a peer; True for what must arrive even over a reconnection."""

FOREVER = math.inf


@dataclass(frozen=True, slots=True)
class Rules:
    """What a run asks of every one of its matches."""

    mode: Mode
    clock: ClockRule
    patience: float | None
    max_turns: int | None
    on_timeout: Breach
    on_illegal: Breach
    check: bool
    stepwise: bool
    lookahead: bool

    @property
    def timed(self) -> bool:
        """Whether any clock runs."""
        return self.clock.decision is not None or self.clock.episode is not None


@dataclass(slots=True)
class Over:
    """How an episode ended."""

    reason: Reason
    blame: int | None = None
    outcome: list[float] | None = None
    message: str = ""

    @property
    def scored(self) -> bool:
        """Whether it counts; an interrupted episode does not."""
        return self.reason not in ("disconnected", "crashed", "cancelled", "environment-failed")


@dataclass(eq=False, slots=True)
class Seat:
    """A place in a match and its account of the episode in progress."""

    number: int
    instance: Instance | None = None
    state: str = "free"
    seed: int = 0
    started: bool = False
    """Whether its first decision of this episode was sent."""
    pending: float = 0.0
    """Reward since its last decision."""
    total: float = 0.0
    decisions: int = 0
    seconds: float = 0.0
    last: float | None = None
    """What its last answer took."""
    left: float | None = None
    """What its clock has left."""
    sent: float = 0.0
    deadline: float = FOREVER
    legal: Legal = None
    action: Any = None
    decision: AgentStart | AgentStep | None = None
    """The decision that it was sent last."""
    breaches: int = 0
    ignored: int = 0

    def reset(self, seed: int, left: float | None) -> None:
        """Begin an episode."""
        self.seed = seed
        self.left = left
        self.started = False
        self.pending = self.total = self.seconds = 0.0
        self.decisions = self.breaches = self.ignored = 0
        self.last = None
        self.deadline = FOREVER
        self.decision = None

    def result(self) -> SeatResult:
        """Return its account."""
        assert self.instance is not None
        return SeatResult(
            agent=self.instance.agent,
            instance=self.instance.number,
            total=self.total,
            decisions=self.decisions,
            seconds=self.seconds,
            breaches=self.breaches,
            ignored=self.ignored,
        )


@dataclass(eq=False, slots=True)
class Match:
    """An environment with agents seated."""

    number: int
    run: Any
    environment: Peer
    rules: Rules
    open: Open
    """What opened it, to be sent again after a reconnection."""
    send: Send
    resend: Callable[[Peer, Message], None]
    """Send a message once more should the peer's session be resumed."""
    state: str = "opening"
    spec: Spec | None = None
    seats: list[Seat] = field(default_factory=list)
    episode: int = 0
    index: int = 0
    seed: int = 0
    turn: int = -1
    """The number of the last turn that came, -1 before the first."""
    to_act: list[int] = field(default_factory=list)
    owing: int = 0
    """Seats that still have to answer."""
    deadline: float = FOREVER
    """When the first answer that is owed is overdue."""
    timer: float = FOREVER
    """The earliest time at which the caller will look at this match again."""
    asked: EnvironmentStart | EnvironmentStep | None = None
    """What the environment was sent last, to be sent again after a reconnection."""
    latest: Turn | None = None
    history: list[list[tuple[int, Any]]] = field(default_factory=list)
    """The actions of each turn of this episode."""
    breached: list[list[int]] = field(default_factory=list)
    """``[turn, seat]`` of every action that the broker chose for a seat."""

    # -- opening ---------------------------------------------------------------------------------

    def opened(self, spec: Spec) -> str | None:
        """Take the environment's answer to ``open``; return what is wrong with it, if something is."""
        for what, spaces in (
            ("observation", spec.observation_spaces),
            ("action", spec.action_spaces),
        ):
            if len(spaces) not in (1, spec.seats):
                return f"{len(spaces)} {what} spaces for {spec.seats} seats; give one, or one each"
        self.state = "idle"
        self.spec = spec
        spec.match = self.number
        self.seats = [Seat(number) for number in range(spec.seats)]
        return None

    # -- an episode ----------------------------------------------------------------------------------

    def begin(
        self,
        episode: int,
        index: int,
        seed: int,
        instances: list[Instance],
        seating: list[int],
        watched: bool,
        now: float,
    ) -> None:
        """Seat the instances, by seat a place in their list; ask for the first turn."""
        self.episode, self.index, self.seed = episode, index, seed
        self.turn = -1
        self.history, self.breached = [], []
        self.latest = None
        self.to_act = []
        wants: list[list[Any]] = []
        for seat, place in zip(self.seats, seating, strict=True):
            instance = instances[place]
            if seat.instance is not instance:
                self.sit(seat, instance)
            # By place, not by seat: in a round that shares a seed nobody repeats another's luck.
            seat.reset(derive(seed, "seat", place), self.rules.clock.episode)
            wants.append(instance.offer.wants)
        if not any(wants):
            wants = []
        self.state = "transition"
        self._ask(EnvironmentStart(self.number, episode, seed, wants, watched), now)

    def sit(self, seat: Seat, instance: Instance) -> None:
        """Give a seat to an instance."""
        assert self.spec is not None
        seat.instance = instance
        seat.state = "seated"
        instance.matches.add(self)
        init = Init(self.number, seat.number, instance.number, self.spec, self.rules.lookahead)
        self.send(instance.peer, init, True)

    def _ask(self, message: EnvironmentStart | EnvironmentStep, now: float) -> None:
        self.asked = message
        patience = self.rules.patience
        self.deadline = FOREVER if patience is None else now + patience
        self.send(self.environment, message, False)

    def transition(self, turn: Turn, now: float) -> Over | None:
        """Take a turn of the environment: credit rewards, then ask the seats or end the episode.

        Raises:
            ProtocolError: code ``invalid``: the turn contradicts itself or the spec.
        """
        seats = self.seats
        to_act = turn.to_act
        over = turn.terminated or turn.truncated
        if over is bool(to_act):
            raise ProtocolError(
                "invalid", "to_act must be empty if and only if terminated or truncated"
            )
        views: dict[int, View] = {}
        for view in turn.seats:
            number = view.seat
            if number >= len(seats) or number in views:
                raise ProtocolError("invalid", f"seat {number} is foreign or twice in `seats`")
            if not math.isfinite(view.reward):
                raise ProtocolError("invalid", f"reward of seat {number} is {view.reward}")
            views[number] = view
        for number in to_act:
            if number not in views:
                raise ProtocolError("invalid", f"seat {number} is to act but not in `seats`")
            allowed = views[number].legal
            if isinstance(allowed, bytes):
                wrong = legal.problem(allowed, self._space(seats[number]))
                if wrong is not None:
                    raise ProtocolError("invalid", f"the mask of seat {number} {wrong}")
            elif allowed is not None and not allowed:
                raise ProtocolError("invalid", f"seat {number} is to act without a legal action")
        if len(to_act) > 1 and len(set(to_act)) != len(to_act):
            raise ProtocolError("invalid", "a seat is twice in `to_act`")
        if turn.outcome is not None and not (
            len(turn.outcome) == len(seats) and all(map(math.isfinite, turn.outcome))
        ):
            raise ProtocolError(
                "invalid", f"`outcome` needs a finite score for each of {len(seats)} seats"
            )
        if self.rules.check:
            self._check(turn)
        for number, view in views.items():
            if view.reward:
                seats[number].pending += view.reward
                seats[number].total += view.reward
        self.turn = turn.turn
        self.latest = turn
        self.to_act = to_act
        self.asked = None
        if over:
            return Over("terminated" if turn.terminated else "truncated", None, turn.outcome)
        limit = self.rules.max_turns
        if limit is not None and turn.turn >= limit:
            return Over("truncated", message=f"the run allows {limit} turns")
        self.state = "decision"
        self.owing = len(to_act)
        self.deadline = FOREVER
        if not self.rules.stepwise:
            self.decide(now)
        return None

    def decide(self, now: float) -> None:
        """Send its decision to each seat that must act."""
        turn = self.latest
        assert turn is not None
        rules = self.rules
        views = {view.seat: view for view in turn.seats} if len(turn.seats) > 1 else None
        for number in self.to_act:
            seat = self.seats[number]
            instance = seat.instance
            assert instance is not None
            view = turn.seats[0] if views is None else views[number]
            clock = None
            if rules.timed:
                clock = Clock(rules.clock.decision, seat.left, seat.last)
            seat.sent = now
            seat.legal = view.legal
            reward = seat.pending
            seat.pending = 0.0
            message: AgentStart | AgentStep
            if seat.started:
                message = AgentStep(
                    self.episode,
                    number,
                    turn.turn,
                    reward,
                    view.observation,
                    view.legal,
                    None if view.afterstates is NIL else view.afterstates,
                    view.text,
                    None if view.scene is NIL else view.scene,
                    clock,
                )
            else:
                seat.started = True
                message = AgentStart(
                    self.episode,
                    self.number,
                    number,
                    turn.turn,
                    seat.seed,
                    rules.mode,
                    view.observation,
                    view.legal,
                    None if view.afterstates is NIL else view.afterstates,
                    view.text,
                    None if view.scene is NIL else view.scene,
                    clock,
                    reward,
                )
            seat.state = "deciding"
            seat.decision = message
            seat.deadline = now + self._allowance(seat)
            if seat.deadline < self.deadline:
                self.deadline = seat.deadline
            self.send(instance.peer, message, False)

    def _allowance(self, seat: Seat) -> float:
        clock = self.rules.clock
        if not self.rules.timed:
            return FOREVER if self.rules.patience is None else self.rules.patience
        limits = [limit for limit in (clock.decision, seat.left) if limit is not None]
        return max(0.0, min(limits)) + clock.margin

    def answer(self, seat: Seat, action: Action, now: float) -> Over | None:
        """Take the answer of a seat that owes it; the caller has matched episode and turn."""
        took = now - seat.sent
        seat.last = took
        seat.seconds += took
        seat.decisions += 1
        if seat.left is not None:
            seat.left += self.rules.clock.increment - took
        if self.rules.timed and now > seat.deadline:
            return self.breach(seat, "timeout", f"answered after {took:.3f} s", now)
        value = action.action
        allowed = seat.legal
        if isinstance(allowed, list):
            fits = type(value) is int and value in allowed
        elif allowed is not None:
            fits = type(value) is int and legal.in_mask(allowed, value)
        else:
            fits = self._space(seat).contains(value)
        if not fits:
            what = f"action {_short(value)} is not legal{_allowed(allowed)}"
            return self.breach(seat, "illegal-action", what, now)
        self._settle(seat, value, now)
        return None

    def _settle(self, seat: Seat, value: Any, now: float) -> None:
        seat.action = value
        seat.state = "waiting"
        seat.deadline = FOREVER
        self.owing -= 1
        if self.owing:
            self.deadline = min(self.seats[number].deadline for number in self.to_act)
            return
        actions = [(number, self.seats[number].action) for number in self.to_act]
        self.history.append(actions)
        self.state = "transition"
        self._ask(EnvironmentStep(self.episode, self.turn, actions), now)

    def overdue(self, now: float) -> Over | None:
        """Act upon the answers of seats that are overdue."""
        for number in self.to_act:
            seat = self.seats[number]
            if seat.state != "deciding" or now < seat.deadline:
                continue
            took = now - seat.sent
            if self.rules.timed:
                seat.seconds += took
                seat.decisions += 1
                seat.last = took
                if seat.left is not None:
                    seat.left = max(0.0, seat.left - took) + self.rules.clock.increment
                over = self.breach(seat, "timeout", f"no answer within {took:.3f} s", now)
            else:
                assert seat.instance is not None
                seat.instance.stalled = True
                over = self._forfeit(seat, "stalled", f"no answer within {took:.0f} s")
            if over is not None:
                return over
        return None

    # -- breaches -----------------------------------------------------------------------------------

    def breach(self, seat: Seat, reason: Reason, what: str, now: float) -> Over | None:
        """Charge a seat the run's price for a timeout or an illegal action."""
        seat.breaches += 1
        price = self.rules.on_timeout if reason == "timeout" else self.rules.on_illegal
        message = f"seat {seat.number}, turn {self.turn}: {what}"
        if price == "random":
            choice = self._choose(seat)
            if choice is not None:
                self.breached.append([self.turn, seat.number])
                self._settle(seat, choice, now)
                return None
        if price == "forfeit":
            return self._forfeit(seat, reason, message)
        return Over("truncated", seat.number, message=f"{reason}: {message}")

    def failed(self, code: str, seat: int | None, message: str) -> Over:
        """Take the environment's word that it cannot go on, or that the rules refuse an action."""
        if code == "illegal" and seat is not None and seat in self.to_act:
            blamed = self.seats[seat]
            blamed.breaches += 1
            if self.rules.on_illegal == "truncate":
                return Over("truncated", seat, message=f"illegal-action: {message}")
            return self._forfeit(blamed, "illegal-action", message)
        return Over("environment-failed", message=message)

    def _forfeit(self, seat: Seat, reason: Reason, message: str) -> Over:
        assert self.spec is not None
        others = len(self.seats) - 1
        if self.spec.forfeit is not None:
            blamed, other = self.spec.forfeit
            for each in self.seats:
                reward = blamed if each is seat else other
                each.pending += reward
                each.total += reward
        outcome = None
        if others:
            outcome = [0.0 if each is seat else 1.0 / others for each in self.seats]
        return Over(reason, seat.number, outcome, message)

    def _choose(self, seat: Seat) -> int | None:
        number = derive(seat.seed, "breach", self.turn)
        allowed = seat.legal
        if allowed is None:
            space = self._space(seat)
            return space.start + number % space.n if isinstance(space, Discrete) else None
        if isinstance(allowed, bytes):
            return legal.nth(allowed, number % legal.count(allowed))
        return allowed[number % len(allowed)]

    # -- the end ---------------------------------------------------------------------------------------

    def end(self, over: Over) -> list[SeatResult]:
        """Tell every seat that the episode is over; return the accounts."""
        final: dict[int, View] = {}
        if self.latest is not None:
            final = {view.seat: view for view in self.latest.seats}
        for seat in self.seats:
            assert seat.instance is not None
            view = final.get(seat.number)
            if seat.decision is not None and seat.state == "deciding":
                # It may have been lost on the way, and the reward in it with it.
                self.resend(seat.instance.peer, seat.decision)
            self.send(
                seat.instance.peer,
                End(
                    self.episode,
                    seat.number,
                    self.number,
                    seat.pending,
                    NIL if view is None else view.observation,
                    over.outcome,
                    over.reason,
                    over.blame,
                    seat.total,
                    seat.decisions,
                    None if view is None else view.text,
                    None if view is None or view.scene is NIL else view.scene,
                    self.rules.mode,
                ),
                True,
            )
            seat.state = "seated"
            seat.decision = None
            seat.deadline = FOREVER
        self.deadline = FOREVER
        self.asked = None
        if self.state != "closed":
            self.state = "idle"
        return [seat.result() for seat in self.seats]

    @property
    def playing(self) -> bool:
        """Whether an episode is in progress."""
        return self.state in ("transition", "decision")

    def allows(self, event: str) -> bool:
        """Whether the environment may say this now."""
        return follow(MATCH, self.state, event) is not None

    def seat_allows(self, seat: Seat, event: str) -> bool:
        """Whether the seat's agent may say this now."""
        return follow(SEAT, seat.state, event) is not None

    # -- spaces ----------------------------------------------------------------------------------------

    def _space(self, seat: Seat) -> Space:
        assert self.spec is not None
        spaces = self.spec.action_spaces
        return spaces[seat.number if len(spaces) > 1 else 0]

    def _check(self, turn: Turn) -> None:
        assert self.spec is not None
        spaces = self.spec.observation_spaces
        for view in turn.seats:
            if self.spec.reward_range is not None:
                low, high = self.spec.reward_range
                if not low <= view.reward <= high:
                    raise ProtocolError(
                        "invalid",
                        f"reward {view.reward:g} of seat {view.seat} is not in {low:g} .. {high:g}",
                    )
            observation = codec.opened(view.observation)
            if observation is None and view.seat not in turn.to_act:
                continue
            space = spaces[view.seat if len(spaces) > 1 else 0]
            if not space.contains(observation):
                raise ProtocolError(
                    "invalid",
                    f"observation {_short(observation)} of seat {view.seat} is not in {_short(space)}",
                )


def _allowed(actions: list[int] | bytes | None) -> str:
    """Return what would have been legal, as the end of a sentence; the first few of many."""
    if actions is None:
        return "; it is not in the action space"
    return f"; legal: {legal.shown(actions)}"


class _Brief(reprlib.Repr):
    """Represents the beginning of a value, which may be as large as a frame."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 3
        self.maxlist = self.maxtuple = self.maxdict = 12
        self.maxstring = self.maxother = 2 * LONGEST

    def repr_instance(self, x: Any, level: int) -> str:
        if isinstance(x, bytes | bytearray):
            return repr(x[:LONGEST])
        if isinstance(x, Ext):
            return f"Ext({x.code}, {bytes(memoryview(x.data)[:LONGEST])!r})"
        return super().repr_instance(x, level)


_brief = _Brief()


def _short(value: Any) -> str:
    text = " ".join(_brief.repr(value).split())
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
