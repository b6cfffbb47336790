"""Recreates agents lost with their program, from their latest save."""

from __future__ import annotations

from dataclasses import dataclass, field

from dovetail.broker.matches.instances import Instance, Instances
from dovetail.broker.matches.match import Match, Play
from dovetail.broker.matches.run import RunState
from dovetail.broker.peers import limits
from dovetail.broker.peers.state import BrokerPart, BrokerState
from dovetail.broker.requests.requests import Request, Requests
from dovetail.broker.rules.clocks import SeatClock
from dovetail.broker.rules.ending import Ending
from dovetail.broker.runs.runs import Runs
from dovetail.protocol import messages as m

LOSSES = 10
"""Maximum times that an agent is recreated; one that always dies would never end its run."""


@dataclass(eq=False)
class AgentRecovery(BrokerPart):
    """The lost agents, and the saves that they are recreated from."""

    STATE = ("lost",)

    _broker: BrokerState
    _instances: Instances
    _runs: Runs
    _requests: Requests
    lost: dict[int, Instance] = field(default_factory=dict)
    """Lost agents by number."""

    def ended(self, run: RunState, match: Match | None, now: float) -> None:
        """Count an ended episode, and request a save of each agent that is due for one."""
        if not (run.asked.save_every or run.waits):
            return
        for instance, mode in dict(zip(run.agents, run.modes(), strict=True)).items():
            if mode == "evaluate" or instance.lost:
                continue
            instance.unsaved += 1
            every = run.asked.save_every
            if every and instance.unsaved >= every and not instance.saving and self._pays(run):
                instance.saving = instance.unsaved
                save = m.Save(self._broker.number(), instance.number)
                self._requests.internal(instance.peer, save)

    def _pays(self, run: RunState) -> bool:
        """Return whether the debt of the run's experiment allows another save now."""
        self._broker.charge(run.experiment, 0.0)
        return run.experiment.outbox.reliable or not limits.rest(run.experiment)

    def _keep(self, instance: Instance, state: bytes) -> str:
        """Keep an agent's save; return why not, if it is refused."""
        paying = next((run for run in self._runs.of(instance) if run.asked.save_every), None)
        if paying is not None:
            self._broker.charge(paying.experiment, len(state) // limits.SAVED_BYTES)
        owner, before = instance.owner, instance.held
        more = len(state) - len(instance.saved or b"")
        if instance.size and owner.held + more > limits.HELD:
            return f"your offers, requests, agents and runs may hold {limits.HELD:,} bytes"
        instance.saved = state
        owner.held += instance.held - before
        return ""

    def gone(self, instance: Instance, what: str, now: float) -> None:
        """Handle an agent that will not come back, for the runs that wait for it."""
        waiting = [run for run in self._runs.of(instance) if run.waits]
        if not waiting:
            return
        instance.losses += 1
        if instance.losses > LOSSES:
            for run in waiting:
                text = f"{what}, for the {instance.losses}th time; its log says why"
                self._runs.finish(run, "failed", text, now)
            return
        instance.lost, instance.saving = True, 0
        self.lost[instance.number] = instance
        since = "its beginning" if instance.saved is None else "its last save"
        text = (
            f"{what}; it is made again from {since}, without its last {instance.unsaved} episodes"
        )
        for run in waiting:
            self._continue(run, instance, text, now)
        instance.unsaved = 0
        self.arrived(now)

    def _continue(self, run: RunState, lost: Instance, text: str, now: float) -> None:
        """Continue a run with the substitutes of a lost agent, or end its episodes in progress."""
        pairs = zip(run.agents, run.substitutes, strict=False)  # without substitutes none
        for each in dict.fromkeys(other.agent for agent, other in pairs if agent is lost):
            text += f"; until then {each} plays in its place"
        _remark(run, text)
        for match, play in list(run.playing.items()):
            seat = play.seat_of(lost)
            if seat is None:  # a substitute has it
                continue
            if run.substitutes and _substitute(play, lost, now):
                self._runs.matches.watch(match)
                continue
            run.schedule.forgive(play.episode.index)
            ending = Ending("disconnected", seat, message=text)
            self._runs.episodes.finish(play, ending)
            self.ended(run, match, now)
            self._runs.go_on(run, match, now)
        for match in run.matches.values():
            match.unseat(lost)
        self._runs.advance(run, now)

    def arrived(self, now: float) -> None:
        """Recreate the lost agents for which a program is available."""
        for instance in list(self.lost.values()):
            runs = self._runs.of(instance)
            if not runs:
                del self.lost[instance.number]
            elif instance.offer.instance:
                self._adopt(instance, runs, now)
            else:
                self._create(instance)

    def _adopt(self, lost: Instance, runs: list[RunState], now: float) -> None:
        """Replace a lost single agent by another program of the same name."""
        found = self._instances.called(lost.agent)
        if found is None:
            return
        del self.lost[lost.number]
        found.losses = lost.losses
        before, found.saved = found.held, lost.saved
        found.owner.held += found.held - before
        for run in runs:
            run.agents = [found if each is lost else each for each in run.agents]
            run.substitutes = [found if each is lost else each for each in run.substitutes]
        found.runs |= lost.runs
        lost.runs.clear()
        if found.saved is not None:
            found.lost = True
            load = m.Load(self._broker.number(), found.number, found.saved)
            self._requests.internal(found.peer, load)
        else:
            self._runs.wake([found], now)

    def _create(self, instance: Instance) -> None:
        made = instance.made
        assert made is not None
        maker = self._requests.maker(made)
        if maker is None:
            return
        del self.lost[instance.number]
        instance.peer, instance.offer = maker, maker.offers[instance.agent]
        self._instances.add(instance)
        state = made.state if instance.saved is None else instance.saved
        create = m.Create(
            *(self._broker.number(), instance.number, made.agent, made.parameters, made.seed, state)
        )
        self._requests.internal(maker, create)

    def answered(self, request: Request, state: bytes | None, failure: str, now: float) -> None:
        """Handle the answer to a request of the broker's own."""
        message = request.message
        assert isinstance(message, m.Create | m.Load | m.Save)
        instance = self._instances.get(message.instance)
        if instance is None:
            return
        if isinstance(message, m.Save):
            failure = failure or self._keep(instance, state or b"")
            if failure:  # one that cannot be saved is not asked again: ``saving`` stays
                text = f"{instance.agent} could not be saved, and is not asked again: {failure}"
                for run in self._runs.of(instance):
                    if run.asked.save_every:
                        _remark(run, text)
                return
            instance.unsaved -= instance.saving
            instance.saving = 0
            return
        if failure:
            for run in self._runs.of(instance):
                text = f"{instance.agent} could not be made again: {failure}"
                self._runs.finish(run, "failed", text, now)
            return
        instance.lost = False
        self._runs.wake([instance], now)


def _remark(run: RunState, text: str) -> None:
    """Tell a run's experiment of a loss, now and again when the run ends."""
    run.remarks.append(text)
    run.experiment.complain("unavailable", text)


def _substitute(play: Play, lost: Instance, now: float) -> bool:
    """Give a lost agent's seats to its substitutes; return whether they were free."""
    seats = {
        assignment: found.instance
        for assignment, found in enumerate(play.match.run.assignments(play.episode.index))
        if play.match.seats[assignment].instance is lost
    }
    if not all(found.free() for found in seats.values()):
        return False
    match, episode = play.match, play.episode
    before = play.instances()
    asked = [seat for seat in seats if match.seats[seat].machine.state == "deciding"]
    for number, found in seats.items():
        seat = match.seats[number]
        legal, action = seat.legal, seat.action
        clock = SeatClock(episode.rules.clock, episode.rules.answer_timeout)
        since = episode.turn + (number not in asked)
        seat.begin(seat.seed, clock, seat.space, "evaluate", lost.number, since)
        seat.legal, seat.action = legal, action
        seat.machine.on("leave")
        seat.sit(match.number, found, match.spec, episode.rules)
    after = play.instances()
    for each in {*before, *after}:
        each.busy += (each in after) - (each in before)
    if asked:
        play.ask(episode.decisions(asked, now))
        episode.wait()
        if play.stopped:
            play.stop(now)
    return True
