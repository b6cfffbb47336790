"""The rules of an episode: the seats to act, their rewards and breaches, and the ending.

Pure, and without knowledge of peers and runs: turns, actions and the time go in; decisions, steps
and endings come out.  With the tables of ``dovetail.protocol.states`` and the clocks of ``clocks``
these are the rules of Dovetail.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from mypy_extensions import mypyc_attr

from dovetail.broker.rules import ending as endings
from dovetail.broker.rules import legality
from dovetail.broker.rules.account import SeatAccount
from dovetail.broker.rules.clocks import FOREVER
from dovetail.broker.rules.ending import Ending
from dovetail.protocol import messages as m
from dovetail.protocol.seeds import derive
from dovetail.protocol.states import MATCH, SEAT, Machine, MatchPhase, column

# Needed every turn: compiled, a `Final` name is a C variable, while any other is looked up.
TURN: Final = column(MATCH, "turn")
STEP: Final = column(MATCH, "step")
ASKED_FIRST: Final = column(SEAT, "start")
ASKED: Final = column(SEAT, "step")
ACTED: Final = column(SEAT, "action")
NIL: Final = m.NIL
AgentStep: Final = m.AgentStep
EnvironmentStep: Final = m.EnvironmentStep


@mypyc_attr(allow_interpreted_subclasses=True)  # a snapshot makes it without its arguments
class Episode:
    """An episode in progress.

    Args:
        number: its number at the broker.
        match: the number of its match.
        index: its index in the run.
        seed, spec: the environment's.
        rules: the run's.
        machine: the match's, in ``transition``: the environment was asked for the first turn.
        seats: the seats' accounts, in order.
        now: the time of that request.
        line: the joint actions of the opening; None to draw as many as the rules say.
    """

    __slots__ = (
        *("_line", "_patience", "breached", "deadline", "history", "index", "latest", "machine"),
        *("match", "number", "opening", "owing", "rules", "seats", "seed", "spec", "think"),
        *("thoughts", "to_act", "turn"),
    )

    def __init__(
        self,
        number: int,
        match: int,
        index: int,
        seed: int,
        rules: m.RunRules,
        spec: m.Spec,
        machine: Machine[MatchPhase],
        seats: list[SeatAccount],
        now: float,
        line: list[list[Any]] | None = None,
    ) -> None:
        self.number = number
        self.match = match
        self.index = index
        self.seed = seed
        self.rules = rules
        self.spec = spec
        self.machine = machine
        self.seats = seats
        self._patience = rules.patience
        self.deadline = now + self._patience
        """The deadline of the first pending answer, of the environment or a seat."""
        self.latest = m.Turn(turn=-1)
        # Two of its fields again: compiled, a message's field takes forty times as long to read.
        self.turn = -1
        """The number of the latest turn."""
        self.to_act: list[int] = []
        """The seats to act in that turn."""
        self.owing = 0
        """The number of seats whose answer is pending."""
        self.history: list[list[tuple[int, Any]]] = []
        """The (seat, action) pairs of each turn."""
        self.breached: list[list[int]] = []
        """``[turn, seat]`` of each action that the broker chose."""
        self.think = False
        """True if a watcher may see agents' thoughts."""
        self.thoughts: list[tuple[int, m.Thoughts]] = []
        """The thoughts of the seats that acted last."""
        self._line = line
        self.opening = rules.opening_turns if line is None else len(line)
        """The number of turns at the beginning in which the broker acts in place of the seats."""

    def awaits(self, turn: int) -> bool:
        return self.machine.state == "transition" and turn == self.turn + 1

    def turned(self, turn: m.Turn) -> Ending | None:
        """Handle the pending turn, crediting its rewards; return the ending, if any.  Raises
        ProtocolError (``invalid``): the turn contradicts itself or the spec."""
        seats = self.seats
        earned = legality.check_views(turn, self.spec, len(seats))
        if self.rules.check:
            legality.check(turn, self.spec)
        if earned:
            for view in turn.seats:
                seats[view.seat].credit(view.reward)
        self.latest = turn
        self.turn += 1
        self.to_act = turn.to_act
        self.deadline = FOREVER
        if not self.to_act:
            self.machine.on("last turn")
            reason: m.Reason = "terminated" if turn.terminated else "truncated"
            return Ending(reason, turn.blame, turn.outcome)
        self.machine.move(TURN)
        limit = self.rules.max_turns
        return None if limit is None or self.turn < limit else endings.too_long(limit)

    def refused(self, seat: int | None, message: str) -> Ending:
        """Handle a seat's last action, refused by the environment; return the ending."""
        self.machine.on("error")
        if self.turn < self.opening:  # no seat chose it
            message = f"opening, turn {self.turn}: {message}"
            return Ending("environment-failed", message=message)
        if seat is None or seat not in self.to_act:
            return Ending("environment-failed", message=message)
        account = self.seats[seat]
        account.breaches += 1
        return endings.breach(self.rules.on_illegal, seat, "illegal-action", message, self.forfeit)

    def failed(self, message: str) -> Ending:
        """Handle a failure of the environment; return the ending."""
        self.machine.on("error")
        return Ending("environment-failed", message=message)

    def open(self) -> Ending | None:
        """Choose the seats' actions in a turn of the opening; return the ending, if any."""
        turn, to_act = self.turn, self.to_act
        joint = None if self._line is None else self._line[turn]
        if joint is not None and len(joint) != len(to_act):
            text = f"the opening has {len(joint)} actions for {len(to_act)} seats"
            return Ending("environment-failed", message=f"turn {turn}: {text}")
        views = {view.seat: view for view in self.latest.seats}
        for number, seat in enumerate(to_act):
            account, legal = self.seats[seat], views[seat].legal
            if joint is None:
                draw = derive(self.seed, "opening", turn, seat)
                account.action = legality.chosen(draw, legal, account.space)
            else:
                account.action = joint[number]
            if account.action is None or not legality.allowed(account.action, legal, account.space):
                text = legality.refusal(account.action, legal, account.space)
                return Ending("environment-failed", message=f"opening, turn {turn}: {text}")
        return None

    def decide(self, now: float) -> list[m.AgentStart | m.AgentStep]:
        """Return the decisions of all seats to act, and start their clocks."""
        self.owing = len(self.to_act)
        return self.decisions(self.to_act, now)

    def decisions(self, to_act: list[int], now: float) -> list[m.AgentStart | m.AgentStep]:
        """Return the decisions of some seats to act, and start their clocks."""
        decisions: list[m.AgentStart | m.AgentStep] = []
        turn, there = self.turn, self.latest.seats
        think = self.think
        views = {view.seat: view for view in there} if len(there) > 1 else None
        for number in to_act:
            view = there[0] if views is None else views[number]
            account = self.seats[number]
            clock = account.clock
            reward, account.pending = account.pending, 0.0
            legal = view.legal
            account.legal = legal
            account.decisions += 1
            shown = clock.ask(now)
            if clock.deadline < self.deadline:
                self.deadline = clock.deadline
            afterstates = None if view.afterstates is NIL else view.afterstates
            scene = None if view.scene is NIL else view.scene
            if account.machine.state == "waiting":
                account.machine.move(ASKED)
                step = AgentStep(
                    self.number,
                    number,
                    turn,
                    reward,
                    view.observation,
                    legal,
                    afterstates,
                    view.text,
                    scene,
                    shown,
                )
                if think:
                    step.think = True
                decisions.append(step)
            else:
                account.machine.move(ASKED_FIRST)
                start = m.AgentStart(
                    *(self.number, self.match, number, turn, account.seed, account.mode),
                    *(view.observation, legal, afterstates, view.text, scene, shown),
                    reward=reward,
                    think=think,
                )
                decisions.append(start)
        return decisions

    def owes(self, seat: int, turn: int) -> bool:
        """Return whether a seat owes its decision of a turn."""
        return (
            turn == self.turn
            and 0 <= seat < len(self.seats)
            and self.seats[seat].machine.state == "deciding"
        )

    def acted(self, seat: int, action: m.Action, now: float) -> Ending | None:
        """Handle a seat's pending answer; return the ending, if any."""
        account = self.seats[seat]
        account.machine.move(ACTED)
        if action.refused:
            account.refuse(action.refused)
        if action.measures:
            account.measure(action.measures)
        if action.thoughts is not None and self.think:
            self.thoughts.append((seat, action.thoughts))
        ending = None
        if not account.clock.answer(now):
            ending = self._breach(account, "timeout", f"answered after {account.clock.last:.3f} s")
        elif action.resign:
            ending = endings.resigned(seat, self.turn, self.forfeit)
        elif legality.allowed(choice := action.action, account.legal, account.space):
            account.action = choice
        else:
            what = legality.refusal(choice, account.legal, account.space)
            ending = self._breach(account, "illegal-action", what)
        self.owing -= 1
        if self.owing:
            self.wait()
        return ending

    def crashed(self, seat: int, error: m.Error, now: float) -> Ending | None:
        """Handle an agent that failed at its decision, or whose player was too slow."""
        if error.code != "timeout" and (wrong := legality.unreadable(self.latest, seat)):
            return Ending("environment-failed", message=wrong)
        account = self.seats[seat]
        if error.code != "timeout":
            account.crash()
            return endings.crash(self.rules.on_crash, seat, error, self.forfeit)
        account.machine.move(ACTED)
        account.clock.answer(now)
        ending = self._breach(account, "timeout", error.message)
        self.owing -= 1
        if self.owing:
            self.wait()
        return ending

    def overdue(self, now: float) -> Ending | None:
        """Handle seats whose answers are overdue; return the ending, if any."""
        for number in self.to_act:
            account = self.seats[number]
            if account.machine.state != "deciding" or now < account.clock.deadline:
                continue
            account.machine.on("overdue")
            took = now - account.clock.sent
            account.clock.answer(now)
            if account.clock.timed:
                ending = self._breach(account, "timeout", f"no answer within {took:.3f} s")
            else:
                ending = self.forfeit(number, "stalled", f"no answer within {took:.0f} s")
            if ending is not None:
                return ending
            self.owing -= 1
        self.wait()
        return None

    def step(self, now: float) -> m.EnvironmentStep:
        """Return the environment's step, once every seat has answered."""
        actions = []
        for number in self.to_act:  # until Python 3.12 a comprehension costs a call
            actions.append((number, self.seats[number].action))  # noqa: PERF401
        self.history.append(actions)
        self.machine.move(STEP)
        self.deadline = now + self._patience
        return EnvironmentStep(self.number, self.turn, actions)

    def wait(self) -> None:
        """Set the deadline to that of the first pending answer of a seat."""
        clocks = [self.seats[number].clock for number in self.to_act]
        self.deadline = min((clock.deadline for clock in clocks), default=FOREVER)

    def restart(self, now: float) -> None:
        """Give the environment its full time again."""
        self.deadline = now + self._patience

    def _breach(self, account: SeatAccount, reason: m.Reason, what: str) -> Ending | None:
        """Apply the run's rule for a timeout or an illegal action; return the ending, if any."""
        account.breaches += 1
        price = self.rules.on_timeout if reason == "timeout" else self.rules.on_illegal
        turn = self.turn
        choice = legality.replacement(price, account.seed, turn, account.legal, account.space)
        if choice is not None:
            self.breached.append([turn, account.number])
            account.action = choice
            return None
        message = endings.where(account.number, turn, what)
        return endings.breach(price, account.number, reason, message, self.forfeit)

    def forfeit(self, seat: int, reason: m.Reason, message: str) -> Ending:
        """Credit the forfeit rewards, and return the ending."""
        if self.spec.forfeit is not None:
            blamed, other = self.spec.forfeit
            for each in self.seats:
                each.credit(blamed if each.number == seat else other)
        return Ending(reason, seat, endings.others_win(len(self.seats), seat), message)

    def end(self, ending: Ending) -> Iterator[m.End]:
        """Yield each seat's ``end``."""
        if self.machine.takes("give up"):
            self.machine.on("give up")
        self.deadline = FOREVER
        final = {view.seat: view for view in self.latest.seats}
        unseen = m.View(0)
        ruled = not self.to_act and ending.reason in endings.SEAT_REASONS
        for account in self.seats:
            view = final.get(account.number, unseen)
            account.machine.on("end")
            reason = ending.reason
            if ruled and view.truncated is not None:
                reason = endings.SEAT_REASONS[view.truncated]
            yield m.End(
                *(self.number, account.number, self.match, account.pending, view.observation),
                *(ending.outcome, reason, ending.blame, account.total, account.decisions),
                *(view.text, view.scene, account.mode),
            )
