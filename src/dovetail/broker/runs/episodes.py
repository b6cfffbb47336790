"""The episodes in progress: passes turns, actions and the time to the rules of ``episode``."""

from __future__ import annotations

from hashlib import sha256

from msgspec.structs import replace

from dovetail.broker.matches.match import Match, Pace, Play
from dovetail.broker.matches.matches import Matches
from dovetail.broker.peers.holdings import grow, grown
from dovetail.broker.peers.limits import ACTIONS, COUNTED, PASSED, SHOWN
from dovetail.broker.peers.peers import Peer
from dovetail.broker.peers.state import BrokerPart, BrokerState
from dovetail.broker.rules.ending import Ending
from dovetail.broker.runs.episode_migration import EpisodeMigrations
from dovetail.broker.runs.events import Ended, EnvironmentFailed, Heard
from dovetail.broker.watch.watching import Watching, shown
from dovetail.protocol import codec
from dovetail.protocol import messages as m
from dovetail.protocol.errors import ProtocolError


class Episodes(BrokerPart):
    """The episodes in progress."""

    STATE = ("_all",)

    def __init__(self, broker: BrokerState, watching: Watching, matches: Matches) -> None:
        self._broker = broker
        self._watching = watching
        self._matches = matches
        self._all: dict[int, Play] = {}
        self.migrations = EpisodeMigrations(broker, matches)

    def __len__(self) -> int:
        return len(self._all)

    def get(self, number: int) -> Play | None:
        """Return an episode by number; None if it is not in progress."""
        return self._all.get(number)

    def begin(self, match: Match, now: float) -> None:
        """Start the next episode of a run in an idle match."""
        run = match.run
        index, rules = run.schedule.take(), run.rules
        if rules.check is None and index == run.asked.first_index:
            rules = replace(rules, check=True)
        number = self._broker.number()
        play = match.begin(number, index, rules, self._watching.wishes(run), now)
        self._all[number] = run.playing[match] = play
        self._matches.watch(match)

    def on_turn(self, peer: Peer, turn: m.Turn, now: float) -> None:
        play = self._all.get(turn.episode)
        if play is None or play.match.environment is not peer:
            self._broker.ignore(peer, turn)
            return
        match, episode = play.match, play.episode
        number = turn.turn
        if match.moving:
            self.migrations.turned(match, turn, now)
            return
        if episode.machine.state != "transition" or number != episode.turn + 1:
            self._broker.ignore(peer, turn)
            return
        run = match.run
        self._broker.counters["turns"] += 1
        peer.outbox.answered(play.asked)
        try:
            ending = episode.turned(turn)
        except ProtocolError as error:
            text = f"{peer.name} sent an invalid turn {number}: {error}"
            peer.complain(error.code, text)
            self._end(play, Ending("environment-failed", message=text))
            return
        if peer.size > COUNTED or play.latest:
            play.latest = grown(turn, peer.size) if peer.size > COUNTED else 0
            ending = ending or self._counted(play)
        if ending is None and number < episode.opening:
            self._open(play, now)
            return
        interest = self._watching.of(run) if self._watching.attended else None
        if interest is not None or episode.think:
            episode.think = interest is not None and interest.thoughts[play.seen]
        if ending is None and not episode.rules.stepwise:
            play.decide(now)
        if run.request is not None or (interest is not None and (play.due or interest.all)):
            self._show(play, ending, now if ending is None else None)
        if episode.thoughts:
            episode.thoughts.clear()
        if ending is not None:
            self._end(play, ending)
        elif episode.deadline < match.timer:
            self._matches.watch(match)

    def _open(self, play: Play, now: float) -> None:
        """Act in place of the seats in a turn of the opening."""
        if self._watching.shows(play):
            self._watching.show(play, now=now)
        ending = play.episode.open()
        if ending is not None:
            self._end(play, ending)
            return
        play.step(now, self._pace(play, now))
        if play.episode.deadline < play.match.timer:
            self._matches.watch(play.match)

    def on_action(self, peer: Peer, action: m.Action, now: float) -> None:
        play = self._all.get(action.episode)
        if play is None:
            self._broker.ignore(peer, action)
            self._broker.events.append(Heard(peer))
            return
        seats = play.match.seats
        number = action.seat
        if not (0 <= number < len(seats) and seats[number].instance.peer is peer):
            self._broker.ignore(peer, action)
            peer.complain("illegal", f"seat {number} of episode {action.episode} is not yours")
            return
        seat, episode = seats[number], play.episode
        if seat.machine.state != "deciding" or action.turn != episode.turn:
            self._broker.ignore(peer, action)
            episode.seats[number].ignored += 1
            return
        peer.outbox.answered(seat.asked)
        if seat.init:
            peer.outbox.answered(seat.init)
            seat.init = 0
        ending = episode.acted(number, action, now)
        if peer.size:  # else a number of an agent in this program
            ending = self._kept(play, action, peer.size, ending)
        self._answered(play, ending, now)

    def _kept(
        self, play: Play, action: m.Action, size: int, ending: Ending | None
    ) -> Ending | None:
        """Count the bytes kept of an action of ``size`` bytes; return the ending, if any."""
        if action.thoughts is not None:  # they are not kept, and may be much
            size = len(codec.encode(action.action))
        play.size += size
        many = size > COUNTED or type(action.action) in (list, dict)
        play.actions += grown(action.action, size) if many else size
        if ending is None and play.size > ACTIONS:
            text = (
                f"its actions have {play.size:,} bytes; the broker keeps {ACTIONS:,} of an episode"
            )
            ending = Ending("truncated", message=text)
        if play.latest + play.actions - play.held > COUNTED:
            ending = ending or self._counted(play)
        return ending

    def _counted(self, play: Play) -> Ending | None:
        """Count the bytes kept of an episode; return its ending if they are too many."""
        more = play.latest + play.actions - play.held
        play.held += more
        text = grow(self._broker, play.match.run.experiment, more)
        return Ending("truncated", message=text) if text else None

    def _answered(self, play: Play, ending: Ending | None, now: float) -> None:
        """Continue after a seat's answer."""
        episode = play.episode
        if ending is not None:
            self._end(play, ending)
            return
        if not episode.owing:
            play.step(now, self._pace(play, now))
        elif self._watching.peers:
            self._timed(play, now)
        if episode.deadline < play.match.timer:
            self._matches.watch(play.match)

    def failed(
        self,
        asked: m.EnvironmentStart | m.EnvironmentStep | m.AgentStart | m.AgentStep,
        error: m.Error,
        now: float,
    ) -> None:
        """Handle an error in answer to an episode's request."""
        play = self._all[asked.episode]
        episode = play.episode
        if play.match.moving and isinstance(asked, m.EnvironmentStart | m.EnvironmentStep):
            self._broker.events.append(EnvironmentFailed(play.match, error.message))
            return
        if isinstance(asked, m.AgentStart | m.AgentStep):
            self._answered(play, episode.crashed(asked.seat, error, now), now)
            return
        if error.code == "illegal":
            ending = episode.refused(error.seat, error.message)
        else:
            ending = episode.failed(error.message)
        self._end(play, ending)

    def watched(self, peer: Peer, asked: m.Watch, now: float) -> None:
        """Show a new watcher the current turns; texts and scenes follow from the next turn on."""
        units = PASSED * len(self._all)
        for play in self._all.values():
            run = play.match.run
            if self._watching.asked(peer, run) is not asked:
                continue
            start = play.start
            if not asked.every and (not start.watched or (asked.scenes and not start.scenes)):
                # The start is sent again where an episode moves to another environment.
                play.start = replace(start, watched=True, scenes=start.scenes or asked.scenes)
                play.late = True
            play.episode.think = self._watching.wishes(run).thoughts[play.seen]
            if asked.scenes and play.episode.turn >= 0:
                self._watching.show_one(peer, asked, run, shown(play, now=now))
                units += SHOWN
        self._broker.charge(peer, units)

    def restarted(self, now: float) -> None:
        """Stop the clocks of the peers that have yet to come back."""
        for play in self._all.values():
            play.stop(now)

    def back(self, peer: Peer, now: float) -> None:
        """Resume the clocks of a peer that has come back, and show it what it watches."""
        self._broker.charge(peer, PASSED * len(self._all))
        for play in self._all.values():
            if play.stopped and play.go(peer, now):
                self._matches.watch(play.match)
                self._timed(play, now)
        for asked in peer.watching.values():
            self.watched(peer, asked, now)

    def decide(self, play: Play, now: float) -> None:
        """Ask the seats of a stepwise run for one turn's decisions."""
        play.decide(now)
        self._matches.watch(play.match)
        self._timed(play, now)

    def finish(self, play: Play, ending: Ending) -> None:
        """End an episode: tell the seats, record it, tell the experiment and the watchers."""
        run, episode = play.match.run, play.episode
        seats = play.end(ending)
        run.experiment.held -= play.held
        del self._all[episode.number]
        del run.playing[play.match]
        again = run.ended(episode.index, play.instances(), scored=ending.scored)
        self._broker.counters["episodes"] += 1
        actions, seeds = episode.history, [seat.seed for seat in episode.seats]
        result = m.Episode(
            *(run.number, episode.index, episode.number, episode.seed, ending.reason, seats),
            *(ending.outcome, ending.blame, len(actions)),
            ending.scored and all(seat.stands_for is None for seat in seats),
            again,
            ending.message,
            digest=sha256(codec.encode(actions)).hexdigest()[:16],
            opening=[[action for _, action in joint] for joint in actions[: episode.opening]],
        )
        record = run.record(result, actions, episode.breached, seeds)
        self._broker.record(run.experiment, record, run.written + play.size)
        run.experiment.outbox.deliver(replace(result))
        judged = ending.blame is None or not episode.to_act
        ruled = ending.reason in ("terminated", "truncated") and judged
        if not ruled and episode.turn >= 0:
            self._show(play, ending)
        self._watching.tell(run, result, seen=play.seen)
        if run.request is not None:
            number, run.request = run.request, None
            run.experiment.refuse(number, "wrong-state", f"{ending.reason}: {ending.message}")

    def _end(self, play: Play, ending: Ending) -> None:
        self.finish(play, ending)
        self._broker.events.append(Ended(play.match.run, play.match))

    def overdue(self, play: Play, now: float) -> None:
        match = play.match
        if play.episode.machine.state == "transition":
            if not match.moving:
                what = f"was silent for {match.run.rules.answer_timeout} s"
                text = f"environment {match.environment.name} {what}"
                self._broker.events.append(EnvironmentFailed(match, text))
            return
        ending = play.overdue(now, self._pace(play, now))
        if ending is not None:
            self._end(play, ending)

    def _pace(self, play: Play, now: float) -> Pace | None:
        """Return the pace of paced watchers if they are shown the next turn, else None."""
        return self._watching.wishes(play.match.run).pace if now >= play.rest else None

    def _timed(self, play: Play, now: float) -> None:
        """Show the latest turn again, since clocks have started or stopped."""
        turn = play.episode.turn
        if turn >= 0 and play.episode.seats[0].clock.timed and self._watching.shows(play):
            self._watching.show(play, now=now)

    def _show(self, play: Play, ending: Ending | None, now: float | None = None) -> None:
        """Show the latest turn to watchers and to an experiment that requested it."""
        run = play.match.run
        if run.request is None and not self._watching.shows(play, ending is not None):
            return
        turn = self._watching.show(play, ending, now, play.episode.thoughts)
        if run.request is not None:
            number, run.request = run.request, None
            run.experiment.reply(number, turn)
