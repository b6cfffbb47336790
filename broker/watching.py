"""Who watches which runs, and what there is to see."""

from __future__ import annotations

from msgspec.structs import replace

from dovetail.broker.episode import Ending
from dovetail.broker.match import Play
from dovetail.broker.outbox import Audience, Out, Outbox
from dovetail.broker.peers import Peer
from dovetail.broker.run import Run
from dovetail.protocol import messages as m


class Watching:
    """The peers that watch; nothing else changes what they see."""

    def __init__(self, out: Out) -> None:
        self._out = out
        self.peers: list[Peer] = []
        """Those who watch any run."""
        self._of: dict[int, list[Peer]] = {}
        """Who watches a run, by its number; as far as it was asked since that changed."""
        self._audiences: dict[tuple[int, bool, bool], list[tuple[bool, bool, Audience]]] = {}
        """Who is shown scenes or thoughts where there are any, by the run and what there is."""
        self._others: dict[int, Audience] = {}
        """Who watches a run, but its own experiment."""

    def watch(self, peer: Peer, asked: m.Watch) -> None:
        """Begin or end to send a peer the turns of a run, or of all runs."""
        run = asked.run
        if asked.on:
            peer.watching.add(run)
            peer.scenes, peer.thoughts = asked.scenes, asked.thoughts
            if peer not in self.peers:
                self.peers.append(peer)
        else:
            peer.watching.discard(run)
        self._changed()

    def of(self, run: Run) -> list[Peer]:
        """Return who watches a run."""
        if not self.peers or run.asked.secret:
            return []
        found = self._of.get(run.number)
        if found is None:
            wanted = (None, run.number)
            found = [peer for peer in self.peers if not peer.watching.isdisjoint(wanted)]
            self._of[run.number] = found
        return found

    def scenes(self, run: Run) -> bool:
        """Return whether anyone who watches a run wants scenes."""
        return any(peer.scenes for peer in self.of(run))

    def thoughts(self, run: Run) -> bool:
        """Return whether anyone who watches a run wants thoughts and may see them."""
        return any(_thoughts_for(peer, run) for peer in self.of(run))

    def show(self, run: Run, turn: m.WatchedTurn) -> None:
        """Send each watcher what it asked for of a turn, and may see."""
        there = (run.number, turn.scene is not None, bool(turn.thoughts))
        audiences = self._audiences.get(there)
        if audiences is None:
            kinds = _by_kind(run, self.of(run), *there[1:])
            audiences = self._audiences[there] = kinds
        for scene, thoughts, audience in audiences:
            self._show(turn, scene, thoughts, audience)

    def show_one(self, peer: Peer, run: Run, turn: m.WatchedTurn) -> None:
        """Send one of the watchers what it asked for of a turn, and may see."""
        for scene, thoughts, audience in _by_kind(
            run, [peer], turn.scene is not None, bool(turn.thoughts)
        ):
            self._show(turn, scene, thoughts, audience)

    def _show(self, turn: m.WatchedTurn, scene: bool, thoughts: bool, audience: Audience) -> None:
        shown = replace(
            turn,
            scene=turn.scene if scene else None,
            thoughts=turn.thoughts if thoughts else [],
        )
        self._out.messages.append((audience, shown))

    def tell(self, run: Run, message: m.Progress | m.Done | m.Episode) -> None:
        """Tell those who watch a run, but its own experiment; it may be lost."""
        if not self.of(run):
            return
        others = self._others.get(run.number)
        if others is None:
            boxes = [peer.outbox for peer in self.of(run) if peer is not run.experiment]
            others = self._others[run.number] = Audience(boxes)
        self._out.messages.append((others, message))

    def over(self, run: Run) -> None:
        """Take a run off everybody's list."""
        for peer in self.peers:
            peer.watching.discard(run.number)
        self._changed()

    def forget(self, peer: Peer) -> None:
        """Send a peer nothing any more."""
        if peer.watching:
            peer.watching.clear()
            self._changed()

    def _changed(self) -> None:
        self.peers = [peer for peer in self.peers if peer.watching]
        self._of.clear()
        self._audiences.clear()
        self._others.clear()


def _by_kind(
    run: Run, peers: list[Peer], scene: bool, thoughts: bool
) -> list[tuple[bool, bool, Audience]]:
    """Return the peers that are shown the same of a turn that has a scene, or thoughts."""
    kinds: dict[tuple[bool, bool], list[Outbox]] = {}
    for peer in peers:
        kind = (scene and peer.scenes, thoughts and _thoughts_for(peer, run))
        kinds.setdefault(kind, []).append(peer.outbox)
    return [(*kind, Audience(boxes)) for kind, boxes in kinds.items()]


def _thoughts_for(peer: Peer, run: Run) -> bool:
    return peer.thoughts and (run.asked.thoughts or peer is run.experiment)


def shown(run: Run, play: Play, ending: Ending | None) -> m.WatchedTurn:
    """Return the latest turn of an episode as a watcher may see it."""
    episode = play.episode
    turn = episode.latest
    rewards = [0.0] * len(episode.places)
    for view in turn.seats:
        rewards[view.seat] = view.reward
    seen = turn.seats if episode.spec.perfect_information else []
    return m.WatchedTurn(
        run=run.number,
        match=episode.match,
        index=episode.index,
        episode=episode.number,
        turn=turn.turn,
        to_act=turn.to_act if ending is None else [],
        actions=episode.history[-1] if episode.history else [],
        rewards=rewards,
        observations=[(view.seat, view.observation) for view in seen],
        agents=[sitter.instance.agent for sitter in play.match.sitters],
        terminated=turn.terminated,
        truncated=turn.truncated,
        outcome=turn.outcome if ending is None else ending.outcome,
        reason=None if ending is None else ending.reason,
        text=turn.text,
        scene=None if turn.scene is m.NIL else turn.scene,
        thoughts=list(episode.thoughts),
    )
