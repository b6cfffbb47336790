"""Commands of experiments and observers: start, pause, drain, cancel, step and watch runs."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec import structs

from dovetail.broker.matches.instances import Instances
from dovetail.broker.matches.run import RunState, begun, fixed, problem
from dovetail.broker.peers import limits
from dovetail.broker.peers.holdings import check_room, weight
from dovetail.broker.peers.peers import Peer
from dovetail.broker.peers.state import BrokerState
from dovetail.broker.requests.catalogue import catalogue, unoffered
from dovetail.broker.requests.requests import Requests
from dovetail.broker.rules.ending import Ending
from dovetail.broker.runs.events import Ended
from dovetail.broker.runs.runs import SHUTDOWN, Runs
from dovetail.broker.watch.watching import Watching
from dovetail.protocol import codec
from dovetail.protocol import messages as m
from dovetail.protocol.display_text import UNNAMED, UNNAMED_TEXT
from dovetail.protocol.errors import ProtocolError


@dataclass(eq=False)
class Commands:
    """Executes commands, or refuses them with a reason."""

    _broker: BrokerState
    _instances: Instances
    _runs: Runs
    _requests: Requests
    _watching: Watching

    def on_run(self, peer: Peer, asked: m.Run, now: float) -> None:
        for what, each in (("agents", asked.agents), ("substitutes", asked.substitutes)):
            if len(each) > limits.RUN_SEATS:
                raise ProtocolError(
                    "limit", f"{len(each):,} {what}; a run may name {limits.RUN_SEATS:,}"
                )
        named = [("label", asked.label), *(("name of an agent", each) for each in asked.names)]
        if text := limits.overlong(
            named
        ):  # they are told, and the label is recorded, with each episode
            raise ProtocolError("limit", text)
        if any(UNNAMED.search(each) for _, each in named):
            raise ProtocolError("invalid", f"the label or a name {UNNAMED_TEXT}")
        agents = [self._instances.find(name) for name in [*asked.agents, *asked.substitutes]]
        found = [agent for agent in agents if agent is not None]
        foreign = next((agent for agent in found if not agent.open_to(peer, self._broker)), None)
        if foreign is not None:
            raise ProtocolError("access", foreign.closed)
        if self._broker.stopping:
            raise ProtocolError("unknown", SHUTDOWN)
        for name, agent in zip([*asked.agents, *asked.substitutes], agents, strict=True):
            if agent is None:
                raise ProtocolError("unknown", f"there is no agent {limits.quoted(name)}")
        offering = self._runs.matches.offering(asked)
        if not offering:
            text = unoffered(self._broker, "environment", asked.environment, asked.peer)
            raise ProtocolError("unknown", text)
        if wrong := problem(asked):
            raise ProtocolError("unknown", wrong)
        own = [run for run in self._runs if run.experiment is peer]
        if len(own) >= limits.RUNS:
            text = f"you have {limits.RUNS:,} runs in progress, and may not have more; wait for one"
            raise ProtocolError("limit", text)
        most = peer.allowance.matches
        opened = [sum(match.slots or 1 for match in run.matches.values()) for run in own]
        room = most - sum(opened)
        if room <= 0:
            text = f"your runs have {most:,} matches open, and may not have more; wait for a run"
            raise ProtocolError("limit", text)
        open_seats = sum(each * len(run.agents) for each, run in zip(opened, own, strict=True))
        room = min(room, (limits.OPEN_SEATS - open_seats) // len(asked.agents))
        if room <= 0:
            text = f"your runs have {open_seats:,} seats in open matches, and may have"
            raise ProtocolError("limit", f"{text} {limits.OPEN_SEATS:,}; wait for a run")
        offers = {each.name: each.offers[asked.environment] for each in offering}
        configuration = fixed(asked, offers)
        asked = structs.replace(asked, configuration=configuration)
        written = len(codec.encode([configuration, asked.names, asked.label]))
        if written > limits.RECORDED:
            text = f"configuration and names have {written:,} bytes; they are recorded with each"
            raise ProtocolError("limit", f"{text} episode, and may have {limits.RECORDED:,}")
        if text := self._broker.recorded_too_much(peer):
            raise ProtocolError("limit", text)
        check_room(self._broker, peer)
        run = begun(self._broker.number(), peer, asked, found)
        run.written = written
        run.size = weight(self._broker, peer)
        matches = min(asked.concurrency, asked.episodes, room)
        self._broker.charge(peer, limits.MATCH * matches + limits.BESIDE * len(own))
        self._runs.add(run, matches, now)
        peer.reply(asked.id, {"run": run.number})

    def on_command(self, peer: Peer, command: m.Pause | m.Drain, now: float) -> None:
        run = self._own(peer, command.run)
        event = "drain"
        if isinstance(command, m.Pause):
            event = "pause" if command.paused else "unpause"
        run.machine.ask(event)
        peer.reply(command.id)
        self._runs.advance(run, now)

    def on_cancel(self, peer: Peer, cancel: m.Cancel, now: float) -> None:
        if cancel.run is not None:
            run = self._own(peer, cancel.run)
            peer.reply(cancel.id)
            self._runs.finish(run, "cancelled", "the experiment cancelled the run", now)
        elif cancel.request is None:
            raise ProtocolError("invalid", "name the `run` or the `request` to be cancelled")
        elif self._requests.cancel(peer, cancel.request):
            peer.reply(cancel.id)
        else:
            raise ProtocolError("unknown", f"you have no open request {cancel.request}")

    def _own(self, peer: Peer, number: int) -> RunState:
        """Return a run that an experiment may control; refuse the request if there is none."""
        run = self._runs.get(number)
        if run is None or not self._broker.may_use(peer, run.experiment):
            raise ProtocolError("unknown", f"you have no run {number}")
        return run

    def _stepped(self, peer: Peer, command: m.RunCommand) -> RunState:
        """Return a run for stepping, which only the experiment that started it may do."""
        run = self._own(peer, command.run)
        if run.experiment is not peer:
            text = f"run {run.number} was begun by another experiment, which alone steps it"
            raise ProtocolError("wrong-state", text)
        return run

    def on_start(self, peer: Peer, command: m.ExperimentStart, now: float) -> None:
        run = self._stepped(peer, command)
        abandoned = list(run.playing) if command.abandon and run.rules.stepwise else []
        for match in abandoned:
            ending = Ending("truncated", message="the experiment abandoned the episode")
            self._runs.episodes.finish(run.playing[match], ending)
        if not run.rules.stepwise or run.playing or run.request is not None or run.permits:
            text = "start begins an episode of a stepwise run, once the last one is over"
            peer.refuse(command.id, "wrong-state", text)
        elif run.schedule:
            run.request = command.id
            run.permits = 1
        else:
            peer.refuse(command.id, "wrong-state", "that was the last episode of the run")
        self._broker.events.extend(Ended(run, match) for match in abandoned)
        if not abandoned:
            self._runs.advance(run, now)

    def on_step(self, peer: Peer, command: m.ExperimentStep, now: float) -> None:
        run = self._stepped(peer, command)
        plays = [play for play in run.playing.values() if play.match.machine.state == "decision"]
        if not run.rules.stepwise or not plays or run.request is not None:
            text = "step continues an episode of a stepwise run that `start` began"
            raise ProtocolError("wrong-state", text)
        run.request = command.id
        self._runs.episodes.decide(plays[0], now)

    def on_watch(self, peer: Peer, watch: m.Watch, now: float) -> None:
        if watch.run is not None:
            run = self._runs.get(watch.run)
            if run is None:
                raise ProtocolError("unknown", f"there is no run {watch.run}")
            if run.asked.secret:
                raise ProtocolError("access", f"run {watch.run} is secret; it is not shown")
        begins = self._watching.watch(peer, watch)
        peer.reply(watch.id)
        if begins:
            self._runs.episodes.watched(peer, watch, now)

    def on_catalogue(self, peer: Peer, asked: m.Catalogue, now: float) -> None:
        body, units = catalogue(self._broker, self._instances, self._runs, asked.start)
        self._broker.charge(peer, units)
        peer.reply(asked.id, body)
