"""Watchers: the peers that watch runs, and the turns shown to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from dovetail.broker.matches.match import Interest, Pace, Play
from dovetail.broker.matches.run import RunState
from dovetail.broker.peers.outbox import Audience, Out, Outbox
from dovetail.broker.peers.peers import Peer
from dovetail.broker.peers.state import BrokerPart
from dovetail.broker.rules.ending import Ending
from dovetail.broker.rules.episode import Episode
from dovetail.protocol import messages as m

NO_INTEREST = Interest([], False, False, None, (False, False))


class Watching(BrokerPart):
    """The watching peers, and all that decides what they are shown."""

    STATE = ("peers",)

    def __init__(self, out: Out) -> None:
        self._out = out
        self.peers: list[Peer] = []
        """The peers that watch any run."""
        self._attended: bool | None = None
        """True if any of them is connected; None if that may have changed."""
        self._interests: dict[int, Interest] = {}  # a cache of interests, by run

    def watch(self, peer: Peer, asked: m.Watch) -> bool:
        """Start or stop showing a peer a run, or all; return whether it begins to see turns."""
        watching = peer.watching
        before = watching.get(asked.run)
        if before is not None and not before.on:
            before = None
        begins = asked.on and (before is None or before.every > asked.every == 0)
        if asked.on:
            watching[asked.run] = asked
            if peer not in self.peers:
                self.peers.append(peer)
        elif asked.run is not None and None in watching:
            watching[asked.run] = asked  # shown all runs but this
        else:
            watching.pop(asked.run, None)
            if asked.run is None:
                for run in [run for run, each in watching.items() if not each.on]:
                    del watching[run]
        self._changed()
        return begins

    def asked(self, peer: Peer, run: RunState) -> m.Watch | None:
        """Return a peer's ``watch`` that applies to a run; None if it does not watch it."""
        if run.asked.secret:
            return None
        found = peer.watching.get(run.number) or peer.watching.get(None)
        return found if found is not None and found.on else None

    def of(self, run: RunState) -> Interest:
        """Return a run's watchers and their wishes."""
        found = self._interests.get(run.number)
        if found is None:
            both = [(peer, self.asked(peer, run)) for peer in self.peers]
            found = _interest(run, [(peer, asked) for peer, asked in both if asked is not None])
            self._interests[run.number] = found
        return found

    def wishes(self, run: RunState) -> Interest:
        """Return a run's watchers and their wishes; none while no watcher is connected."""
        return self.of(run) if self.attended else NO_INTEREST

    @property
    def attended(self) -> bool:
        """True if any watcher is connected.  While none is, no turns are made; a watcher that comes
        back is shown the current ones."""
        if self._attended is None:
            self._attended = any(peer.outbox.present for peer in self.peers)
        return self._attended

    def moved(self) -> None:
        """Note that a peer was lost or has come back."""
        self._attended = None

    def shows(self, play: Play, last: bool = False) -> bool:
        """Return whether any watcher is shown the latest turn of an episode; all see its last."""
        if not self.attended or (self._out.crowded and not last):
            return False
        interest = self.of(play.match.run)
        return interest.all or (play.due and interest.pace is not None)

    def show(
        self,
        play: Play,
        ending: Ending | None = None,
        now: float | None = None,
        thoughts: Sequence[tuple[int, Any]] = (),
    ) -> m.WatchedTurn:
        """Send each watcher the parts of an episode's latest turn that it wants and may see; return
        the whole turn.  Arguments are those of ``shown``."""
        out, run = self._out, play.match.run
        begun = 0.0 if out.clock is None else out.clock()
        turn = shown(play, ending, now, thoughts)
        interest, there = self.of(run), (turn.scene is not None, bool(turn.thoughts), play.due)
        audiences = interest.audiences.get(there)
        if audiences is None:
            asked = [each for each in interest.asked if play.due or not each[1].every]
            audiences = interest.audiences[there] = _by_kind(run, asked, *there[:2])
        for wants_scene, wants_thoughts, audience in audiences:
            self._show(turn, wants_scene, wants_thoughts, audience)
        if out.clock is not None:
            out.spent += out.clock() - begun
        return turn

    def show_one(self, peer: Peer, asked: m.Watch, run: RunState, turn: m.WatchedTurn) -> None:
        """Send one watcher the parts of a turn that it wants and may see."""
        there = turn.scene is not None, bool(turn.thoughts)
        for wants_scene, wants_thoughts, audience in _by_kind(run, [(peer, asked)], *there):
            self._show(turn, wants_scene, wants_thoughts, audience)

    def _show(self, turn: m.WatchedTurn, scene: bool, thoughts: bool, audience: Audience) -> None:
        if (turn.scene is not None and not scene) or (turn.thoughts and not thoughts):
            seen, thought = turn.scene if scene else None, turn.thoughts if thoughts else []
            turn = replace(turn, scene=seen, thoughts=thought)
        self._out.messages.append((audience, turn))

    def tell(
        self, run: RunState, message: m.Progress | m.Done | m.Episode, *, seen: bool = True
    ) -> None:
        """Send a message that may be lost to a run's watchers, the paced ones if ``seen``, except
        its own experiment.  The seed, which other episodes may share, is hidden."""
        interest = self.wishes(run)
        if not interest.all and not (seen and interest.asked):
            return
        if isinstance(message, m.Episode):
            message = replace(message, seed=0)
        others = interest.others.get(seen)
        if others is None:
            others = interest.others[seen] = Audience(
                peer.outbox
                for peer, asked in interest.asked
                if peer is not run.experiment and (seen or not asked.every)
            )
        self._out.messages.append((others, message))

    def over(self, run: RunState) -> None:
        for peer in self.peers:
            peer.watching.pop(run.number, None)
        self._changed()

    def forget(self, peer: Peer) -> None:
        if peer.watching:
            peer.watching.clear()
            self._changed()

    def _changed(self) -> None:
        self.peers = [peer for peer in self.peers if peer.watching]
        self._attended = None
        self._interests.clear()


def _interest(run: RunState, asked: list[tuple[Peer, m.Watch]]) -> Interest:
    always = [each for each in asked if not each[1].every]
    paced = [each for _, each in asked if each.every]
    pace = None
    if paced:
        pace = Pace(min(each.every for each in paced), any(each.scenes for each in paced))
    scenes = any(asked.scenes for _, asked in always)
    thoughts, some = (any(_thoughts_for(*e, run) for e in each) for each in (always, asked))
    return Interest(asked, bool(always), scenes, pace, (thoughts, some))


def _by_kind(
    run: RunState, watchers: list[tuple[Peer, m.Watch]], scene: bool, thoughts: bool
) -> list[tuple[bool, bool, Audience]]:
    """Return the audiences of a turn: whether each sees the scene, the thoughts, and its peers."""
    kinds: dict[tuple[bool, bool], list[Outbox]] = {}
    for peer, asked in watchers:
        kind = (scene and asked.scenes, thoughts and _thoughts_for(peer, asked, run))
        kinds.setdefault(kind, []).append(peer.outbox)
    return [(*kind, Audience(boxes)) for kind, boxes in kinds.items()]


def _thoughts_for(peer: Peer, asked: m.Watch, run: RunState) -> bool:
    return asked.thoughts and (run.asked.thoughts or peer is run.experiment)


def _acting(episode: Episode) -> list[int]:
    """Return the seats that have yet to act in the latest turn."""
    if not 0 < episode.owing < len(episode.to_act):
        return episode.to_act
    return [each for each in episode.to_act if episode.seats[each].machine.state == "deciding"]


def shown(
    play: Play,
    ending: Ending | None = None,
    now: float | None = None,
    thoughts: Sequence[tuple[int, Any]] = (),
) -> m.WatchedTurn:
    """Return the latest turn of an episode for watchers: ``ending`` is None while it continues,
    ``now`` the time for the clocks, None to leave them out, ``thoughts`` those of the seats whose
    actions led to it."""
    episode, run = play.episode, play.match.run
    turn = episode.latest
    rewards = [0.0] * len(episode.seats)
    observations: list[tuple[int, Any]] = []
    perfect = episode.spec.perfect_information
    for view in turn.seats:
        rewards[view.seat] = view.reward
        if perfect:
            observations.append((view.seat, view.observation))
    clocks: list[m.Clock] = []
    running: list[int] = []
    if now is not None and episode.seats[0].clock.timed:
        clocks = [seat.clock.shown(now) for seat in episode.seats]
        running = [seat.number for seat in episode.seats if seat.clock.runs]
    # The latest may be on their way.
    actions = episode.history[turn.turn - 1] if turn.turn > 0 else []
    agents = [seat.instance.agent for seat in play.match.seats]
    if names := run.asked.names:
        agents = [names[number] for number in run.schedule.seating(episode.index)]
    return m.WatchedTurn(
        run=run.number,
        match=episode.match,
        index=episode.index,
        episode=episode.number,
        turn=turn.turn,
        to_act=_acting(episode) if ending is None else [],
        actions=actions,
        rewards=rewards,
        observations=observations,
        agents=agents,
        terminated=turn.terminated,
        truncated=turn.truncated,
        outcome=turn.outcome if ending is None else ending.outcome,
        reason=None if ending is None else ending.reason,
        text=turn.text,
        scene=None if turn.scene is m.NIL else turn.scene,
        thoughts=list(thoughts),
        environment=run.asked.environment,
        clocks=clocks,
        running=running,
    )
